/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Every format, filter and border of a backend against the reference. Case N is
 * format, filter and border by its number; everything else about it is drawn
 * from the seed and N, so that a failure can be run again alone. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compare.h"
#include "draw.h"
#include "runner.h"
#include "testmain.h"

/* ---- options ---- */

static struct
{
  gchar *backend, *family, *format, *filter, *border, *seed, *size;
  gchar *families_are;
  gint64 only;
  gint repeat, max_failures;
  gboolean verbose, regions, time, whole;
} options = {.only = -1,.repeat = 1,.max_failures = 5 };

/* *INDENT-OFF* */
static const GOptionEntry entries[] = {
  {"backend", 0, 0, G_OPTION_ARG_STRING, &options.backend,
      "cpu (default) or cuda", "NAME"},
  {"family", 0, 0, G_OPTION_ARG_STRING, &options.family,
      "formats of these families only", "NAMES"},
  {"format", 0, 0, G_OPTION_ARG_STRING, &options.format,
      "these formats only", "NAMES"},
  {"filter", 0, 0, G_OPTION_ARG_STRING, &options.filter,
      "these filters only", "NAMES"},
  {"border", 0, 0, G_OPTION_ARG_STRING, &options.border,
      "these borders only", "NAMES"},
  {"size", 0, 0, G_OPTION_ARG_STRING, &options.size,
      "pictures of that size", "WxH"},
  {"seed", 0, 0, G_OPTION_ARG_STRING, &options.seed,
      "instead of TEST_SEED or the time", "N"},
  {"case", 0, 0, G_OPTION_ARG_INT64, &options.only,
      "that case only", "N"},
  {"repeat", 0, 0, G_OPTION_ARG_INT, &options.repeat,
      "walk that often, each time another way (or CHECK_REPEAT)", "N"},
  {"max-failures", 0, 0, G_OPTION_ARG_INT, &options.max_failures,
      "stop after that many", "N"},
  {"families-are", 0, 0, G_OPTION_ARG_STRING, &options.families_are,
      "only check that these (parted by commas) are all families", "LIST"},
  {"regions", 0, 0, G_OPTION_ARG_NONE, &options.regions,
      "regions in every case, not in some", NULL},
  {"time", 0, 0, G_OPTION_ARG_NONE, &options.time,
      "across frames in every case, not in some", NULL},
  {"whole", 0, 0, G_OPTION_ARG_NONE, &options.whole,
      "frames in one piece only", NULL},
  {"verbose", 'v', 0, G_OPTION_ARG_NONE, &options.verbose,
      "print each case", NULL},
  {NULL}
};
/* *INDENT-ON* */

/* ---- families ---- */

/* How a format's samples lie: a failure is likely to be common to a family. */
static const gchar *
format_family (GstVideoFormat format)
{
  const GstVideoFormatInfo *info = gst_video_format_get_info (format);
  SampleMap maps[SAMPLE_MAX_MAPS];
  guint n_planes = GST_VIDEO_FORMAT_INFO_N_PLANES (info);

  sample_maps (info, maps);
  if (GST_VIDEO_FORMAT_INFO_IS_GRAY (info))
    return "grey";
  if (maps[0].word == 4)
    return "words";
  if (GST_VIDEO_FORMAT_INFO_IS_RGB (info))
    return n_planes > 1 ? "rgb-planar" :
        maps[0].word == 1 ? "rgb-packed-8" : "rgb-packed-16";
  if (n_planes == 2)
    return "yuv-semi-planar";
  if (n_planes == 1)
    return maps[1].w_sub > 0 ? "yuv-packed-422" : "yuv-packed-444";
  if (n_planes == 4)
    return "yuv-planar-alpha";
  return maps[0].word == 1 ? "yuv-planar-8" : "yuv-planar-16";
}

static int
check_families (void)
{
  g_auto (GStrv) list = g_strsplit (options.families_are, ",", -1);
  guint n;
  const ConvolveFormat *formats = convolve_format_list (&n);

  for (guint i = 0; i < n; i++) {
    const gchar *family = format_family (formats[i].format);

    if (!g_strv_contains ((const gchar * const *) list, family)) {
      g_printerr ("no test walks the family %s of %s\n", family,
          gst_video_format_to_string (formats[i].format));
      return TEST_FAILED;
    }
  }
  return TEST_PASSED;
}

/* ---- one case ---- */

/* More than are exact. */
#define MAX_REGIONS 300

typedef struct
{
  guint64 number;
  GstVideoInfo info;
  ConvolveSettings settings;
  gboolean fields;
  guint device;
  Fill fill;
  DrawnAlpha alpha;
  gboolean spoil;
  gboolean has_regions, outside;
  RefRect rects[MAX_REGIONS];
  guint n_rects;
  guint n_frames, own;          /* of the stream */
} Case;

#define N_DEVICES 2
static const guint device_threads[N_DEVICES] = { 1, 3 };
static const guint device_bands[N_DEVICES] = { 0, 3 };

static ConvolveDevice *devices[N_DEVICES];

static gint
matched_sign (gpointer data, const SampleMap * map, gint dx, gint dy)
{
  RefFilter **filters = data, **filter = &filters[map->w_sub * 3 + map->h_sub];
  gdouble w;

  w = ref_term_weight (&(*filter)->term[0], dx, dy);
  return (w > 0) - (w < 0);
}

static void
fill_frame (const Case * c, RandomFrame * frame, Random * random)
{
  RefFilter *filters[9] = { NULL };

  for (guint i = 0; c->fill == FILL_MATCHED && i < frame->n_maps; i++) {
    RefFilter **filter =
        &filters[frame->map[i].w_sub * 3 + frame->map[i].h_sub];

    if (*filter == NULL)
      *filter = ref_filter_new (&c->settings, frame->map[i].w_sub,
          frame->map[i].h_sub);
  }
  random_frame_fill (frame, random, c->fill, matched_sign, filters);
  draw_alpha_samples (random, c->alpha, frame);
  if (c->spoil)
    random_frame_spoil_unused_bits (frame, random);
  for (guint i = 0; i < G_N_ELEMENTS (filters); i++)
    g_clear_pointer (&filters[i], ref_filter_free);
}

static void
print_case (const Case * c, guint64 seed)
{
  static const gchar *const alphas[N_ALPHAS] =
      { "", " even alpha", " dotted alpha", " halved alpha" };
  g_autofree gchar *text = describe_settings (&c->settings);

  g_print ("case %" G_GUINT64_FORMAT ": %s %dx%d %s filter=%s %s fields=%d "
      "range=%d matrix=%d fill=%s threads=%u bands=%u%s%s\n"
      "  again: --backend %s --seed %"
      G_GUINT64_FORMAT " --case %" G_GUINT64_FORMAT "%s%s\n", c->number,
      GST_VIDEO_INFO_NAME (&c->info), c->info.width, c->info.height,
      GST_VIDEO_INFO_HAS_ALPHA (&c->info) ? "alpha" : "",
      convolve_filter_name (c->settings.filter), text, c->fields,
      c->info.colorimetry.range, c->info.colorimetry.matrix,
      fill_name (c->fill), device_threads[c->device], device_bands[c->device],
      c->spoil ? " spoiled" : "", alphas[c->alpha], options.backend, seed,
      c->number, options.size ? " --size " : "",
      options.size ? options.size : "");
  if (c->n_frames > 1)
    g_print ("  frame %u of %u\n", c->own, c->n_frames);
  if (c->has_regions)
    g_print ("  %s %u regions:", c->outside ? "outside" : "inside", c->n_rects);
  for (guint i = 0; c->has_regions && i < MIN (c->n_rects, 8); i++)
    g_print (" %" G_GINT64_FORMAT ",%" G_GINT64_FORMAT " %" G_GINT64_FORMAT
        "x%" G_GINT64_FORMAT, c->rects[i].x, c->rects[i].y, c->rects[i].width,
        c->rects[i].height);
  if (c->has_regions)
    g_print ("\n");
}

static void
mask_reference (const Case * c, const RandomFrame * in, Reference * reference)
{
  g_autofree guint8 *mask = ref_mask_new (&c->info, c->rects, c->n_rects,
      c->fields, c->outside);

  reference_apply_mask (reference, mask, &c->info, in->frame.data,
      in->frame.stride);
}

static gboolean
run_case (const Case * c, guint64 seed, Random * random)
{
  RandomFrame *out = random_frame_new (&c->info, random, FALSE);
  RandomFrame *in[DRAW_MAX_FRAMES];
  RunnerStream stream = { in, c->n_frames, c->own };
  RefFrame frames[DRAW_MAX_FRAMES];
  g_autoptr (GError) error = NULL;
  g_autofree gchar *fault = NULL;
  RunnerRegions where = { c->n_rects, c->rects, c->outside };
  gboolean ok;

  if (options.verbose)
    print_case (c, seed);
  for (guint i = 0; i < c->n_frames; i++) {
    in[i] = random_frame_new (&c->info, random, FALSE);
    fill_frame (c, in[i], random);
    random_frame_seal (in[i]);
    memcpy (frames[i].data, in[i]->frame.data, sizeof (frames[i].data));
    memcpy (frames[i].stride, in[i]->frame.stride, sizeof (frames[i].stride));
  }
  ok = runner_filter_stream (devices[c->device], &c->info, &c->settings,
      c->fields, c->has_regions ? &where : NULL, &stream, out, &error);
  if (ok) {
    Reference *reference = reference_new_stream (&c->info, frames, c->n_frames,
        c->own, &c->settings, c->fields);

    if (c->has_regions)
      mask_reference (c, in[c->own], reference);
    ok = compare_frames (reference, in[c->own], out, &fault);
    reference_free (reference);
  } else {
    fault = g_strdup_printf ("  refused: %s\n", error->message);
  }
  if (!ok) {
    print_case (c, seed);
    g_print ("%s", fault);
  }
  for (guint i = 0; i < c->n_frames; i++)
    random_frame_free (in[i]);
  random_frame_free (out);
  return ok;
}

/* ---- the walk ---- */

static gboolean
has_time (void)
{
  return devices[0]->backend->history_new != NULL;
}

static void
draw_case (Case * c, Random * random, const ConvolveFormat * format,
    ConvolveFilter filter, ConvolveBorder border)
{
  gint width, height;

  draw_size (random, &width, &height);
  if (options.size != NULL
      && sscanf (options.size, "%dx%d", &width, &height) != 2) {
    g_printerr ("a size is like 17x13, not '%s'\n", options.size);
    exit (TEST_USAGE);
  }
  gst_video_info_set_format (&c->info, format->format, width, height);
  draw_colorimetry (random, &c->info);
  convolve_settings_init (&c->settings);
  c->settings.filter = filter;
  c->settings.border = border;
  draw_settings (random, width, height, &c->settings);
  c->fields = random_one_in (random, 5);
  c->device = random_below (random, N_DEVICES);
  if (options.whole)
    c->device = 0;
  c->fill = random_below (random, N_FILLS);
  c->spoil = random_one_in (random, 3);
  c->alpha = draw_alpha (random, &c->info, options.size == NULL, &c->settings);
  c->has_regions = random_one_in (random, 4) || options.regions;
  c->outside = random_one_in (random, 3);
  c->n_frames = 1;
  if (options.time || (random_one_in (random, 6) && has_time ()))
    draw_time (random, &c->settings, &c->n_frames, &c->own);
  c->n_rects = draw_regions (random, c->info.width, c->info.height, c->rects,
      MAX_REGIONS);
}

/* option: NULL, or names with commas between. */
static gboolean
is_wanted (const gchar * option, const gchar * name)
{
  g_auto (GStrv) names = NULL;

  if (option == NULL)
    return TRUE;
  names = g_strsplit (option, ",", -1);
  return g_strv_contains ((const gchar * const *) names, name);
}

static gboolean
case_is_wanted (const ConvolveFormat * format, guint filter, guint border)
{
  return is_wanted (options.family, format_family (format->format))
      && is_wanted (options.format, gst_video_format_to_string (format->format))
      && is_wanted (options.filter, convolve_filter_name (filter))
      && is_wanted (options.border, convolve_border_name (border));
}

static int
walk (guint64 seed)
{
  guint n_formats, failures = 0;
  const ConvolveFormat *formats = convolve_format_list (&n_formats);
  guint64 n = (guint64) n_formats * CONVOLVE_N_FILTERS * CONVOLVE_N_BORDERS;
  guint64 first = options.only >= 0 ? (guint64) options.only : 0, done = 0;
  guint64 end = options.only >= 0 ? first + 1 : n * options.repeat;

  for (guint64 i = first; i < end; i++) {
    guint border = i % CONVOLVE_N_BORDERS;
    guint filter = i / CONVOLVE_N_BORDERS % CONVOLVE_N_FILTERS;
    const ConvolveFormat *format =
        &formats[i % n / (CONVOLVE_N_BORDERS * CONVOLVE_N_FILTERS)];
    Random random = { seed + i * G_GUINT64_CONSTANT (0xd1342543de82ef95) };
    Case c = {.number = i };

    if (options.only < 0 && !case_is_wanted (format, filter, border))
      continue;
    draw_case (&c, &random, format, filter, border);
    failures += !run_case (&c, seed, &random);
    convolve_settings_clear (&c.settings);
    done++;
    if (failures >= (guint) options.max_failures) {
      g_print ("stopped after %u failures\n", failures);
      break;
    }
  }
  g_print ("%" G_GUINT64_FORMAT " cases, %u failures\n", done, failures);
  if (done == 0) {
    g_printerr ("no case was asked for\n");
    return TEST_USAGE;
  }
  return failures > 0 ? TEST_FAILED : TEST_PASSED;
}

int
main (int argc, char **argv)
{
  g_autoptr (GOptionContext) context =
      g_option_context_new ("- checks a backend against the reference");
  g_autoptr (GError) error = NULL;
  const gchar *repeat = g_getenv ("CHECK_REPEAT");
  guint64 seed;
  int result = TEST_PASSED;

  if (repeat != NULL)
    options.repeat = atoi (repeat);
  g_option_context_add_main_entries (context, entries, NULL);
  if (!g_option_context_parse (context, &argc, &argv, &error)) {
    g_printerr ("%s\n", error->message);
    return TEST_USAGE;
  }
  gst_init (NULL, NULL);
  if (options.families_are != NULL)
    return check_families ();
  if (options.backend == NULL)
    options.backend = g_strdup ("cpu");
  seed = test_seed (options.seed);
  for (guint i = 0; i < N_DEVICES && result == TEST_PASSED; i++)
    result = runner_open (options.backend, device_threads[i], device_bands[i],
        &devices[i]);
  if (result == TEST_PASSED)
    result = walk (seed);
  for (guint i = 0; i < N_DEVICES; i++)
    g_clear_pointer (&devices[i], convolve_device_close);
  return result;
}
