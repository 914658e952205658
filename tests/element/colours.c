/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Ranges and channels: what limits results, what is left alone, and that a
 * filter looks the same whatever the format. */
#include "pictures.h"

#include <math.h>

#define SIZE "width=40,height=30,framerate=25/1"

static gchar *
caps_for (const gchar * format, const gchar * colorimetry)
{
  return g_strdup_printf ("video/x-raw,format=%s," SIZE ",colorimetry=%s",
      format, colorimetry);
}

/* ---- range ---- */

/* Range, matrix, transfer, primaries: full range, then limited. */
#define FULL_601 "1:4:0:0"
#define FULL_RGB "sRGB"
#define LIMITED_RGB "2:1:7:1"
#define LIMITED_GREY "2:4:7:1"

static const struct
{
  const gchar *format, *colorimetry;
  gdouble lo, hi, chroma_hi;    /* of clamp=nominal, in steps of 8 bits */
} ranges[] = {
  {"NV12", "bt601", 16, 235, 240}, {"I420", "bt709", 16, 235, 240},
  {"YUY2", "bt601", 16, 235, 240}, {"AYUV", "bt709", 16, 235, 240},
  {"P010_10LE", "bt2020", 16, 235, 240}, {"Y444_12LE", "bt709", 16, 235, 240},
  {"I420", FULL_601, 0, 256, 256}, {"AYUV", FULL_601, 0, 256, 256},
  {"RGB", FULL_RGB, 0, 256, 256}, {"RGBA", LIMITED_RGB, 16, 235, 235},
  {"ARGB64", LIMITED_RGB, 16, 235, 235}, {"GRAY8", LIMITED_GREY, 16, 235, 235},
};

/* The smallest and largest sample of a component, in steps of 8 bits. */
static void
find_extremes (const RandomFrame * frame, guint component, gdouble * lo,
    gdouble * hi)
{
  const SampleMap *map = &frame->map[component];
  gdouble unit = pow (2, (gdouble) map->depth - 8);

  *lo = 1e9;
  *hi = -1;
  for (gint y = 0; y < sample_map_height (map, frame->info.height); y++) {
    for (gint x = 0; x < sample_map_width (map, frame->info.width); x++) {
      gdouble v = random_frame_get (frame, component, x, y) / unit;

      *lo = MIN (*lo, v);
      *hi = MAX (*hi, v);
    }
  }
}

static RandomFrame *
filter (Pictures * pictures, const gchar * launch, const gchar * caps,
    const RandomFrame * in)
{
  GstHarness *h = element_harness (launch, caps);
  RandomFrame *out;

  gst_harness_push (h, picture_to_buffer (pictures, in, 0));
  gst_harness_push_event (h, gst_event_new_eos ());
  out = picture_from_buffer (pictures, gst_harness_pull (h));
  gst_harness_teardown (h);
  return out;
}

/* Sharpened noise is everywhere; with clamp=nominal it stays in the range of
 * the caps and reaches its ends, but for alpha. */
GST_START_TEST (test_nominal)
{
  const gchar *format = ranges[__i__].format;
  gchar *caps = caps_for (format, ranges[__i__].colorimetry);
  RandomFrame *in, *out;
  ConvolveSettings settings;
  Pictures pictures;

  convolve_settings_init (&settings);
  settings.filter = CONVOLVE_FILTER_SHARPEN;
  settings.amount = 4;
  check_launch ("videoconvolve filter=sharpen amount=4", caps, &settings,
      FALSE);
  settings.clamp = CONVOLVE_CLAMP_NOMINAL;
  check_launch ("videoconvolve filter=sharpen amount=4 clamp=nominal", caps,
      &settings, FALSE);

  pictures_init (&pictures, caps);
  in = picture_new (&pictures);
  out = filter (&pictures, "videoconvolve filter=sharpen amount=4 "
      "clamp=nominal", caps, in);
  for (guint i = 0; i < out->n_maps; i++) {
    SampleRole role = out->map[i].role;
    gboolean chroma = role == SAMPLE_U || role == SAMPLE_V;
    gdouble top = 256 - pow (2, 8 - (gdouble) out->map[i].depth), lo, hi;

    find_extremes (out, i, &lo, &hi);
    if (role == SAMPLE_ALPHA) {
      fail_unless (lo == 0 && hi == top);
    } else {
      fail_unless (lo == ranges[__i__].lo && hi == MIN (top,
              chroma ? ranges[__i__].chroma_hi : ranges[__i__].hi),
          "%s of %s: %g to %g", sample_role_name (role), format, lo, hi);
    }
  }
  random_frame_free (in);
  random_frame_free (out);
  g_free (caps);
}

GST_END_TEST;

/* ---- channels ---- */

static const gchar *const formats[] = { "GRAY8", "NV12", "I420", "YUY2",
  "UYVY", "AYUV", "VUYA", "A420", "RGB", "BGRx", "ARGB", "GBRA", "P010_10LE",
  "Y410", "RGBA64_LE", "RGB10A2_LE"
};

GST_START_TEST (test_channels)
{
  static const gchar *const texts[] = { "luma", "chroma", "rgb", "alpha",
    "luma+chroma", "rgb+alpha", "luma+alpha"
  };
  gchar *caps = g_strdup_printf ("video/x-raw,format=%s," SIZE,
      formats[__i__]);

  for (guint i = 0; i < G_N_ELEMENTS (texts); i++) {
    gchar *launch = g_strdup_printf ("videoconvolve filter=box radius=2 "
        "alpha-mode=straight channels=%s", texts[i]);
    ConvolveSettings settings;

    convolve_settings_init (&settings);
    settings.filter = CONVOLVE_FILTER_BOX;
    settings.radius = 2;
    settings.alpha_mode = CONVOLVE_ALPHA_STRAIGHT;
    settings.channels = (strstr (texts[i], "luma") ? CONVOLVE_CHANNEL_LUMA : 0)
        | (strstr (texts[i], "chroma") ? CONVOLVE_CHANNEL_CHROMA : 0)
        | (strstr (texts[i], "rgb") ? CONVOLVE_CHANNEL_RGB : 0)
        | (strstr (texts[i], "alpha") ? CONVOLVE_CHANNEL_ALPHA : 0);
    check_launch (launch, caps, &settings, FALSE);
    g_free (launch);
  }
  g_free (caps);
}

GST_END_TEST;

/* ---- neutral ---- */

/* All samples of a component. */
static void
fill_component (RandomFrame * frame, guint component, gdouble part)
{
  const SampleMap *map = &frame->map[component];

  for (gint y = 0; y < sample_map_height (map, frame->info.height); y++)
    for (gint x = 0; x < sample_map_width (map, frame->info.width); x++)
      random_frame_set (frame, component, x, y,
          part * ((1u << map->depth) - 1));
}

static void
assert_chroma (const RandomFrame * frame, const gchar * what)
{
  for (guint i = 0; i < frame->n_maps; i++) {
    const SampleMap *map = &frame->map[i];
    gdouble lo, hi;

    if (map->role != SAMPLE_U && map->role != SAMPLE_V)
      continue;
    find_extremes (frame, i, &lo, &hi);
    fail_unless (lo == 128 && hi == 128, "%s, %s: %s is %g to %g", what,
        GST_VIDEO_INFO_NAME (&frame->info), sample_role_name (map->role), lo,
        hi);
  }
}

/* A colour is no edge: zero-sum filters make it grey. A gradient's length has
 * no colour, whatever the picture. */
GST_START_TEST (test_neutral)
{
  static const struct
  {
    const gchar *launch;
    gboolean any_picture;
  } cases[] = {
    {"videoconvolve filter=laplacian bias=0.5", FALSE},
    {"videoconvolve filter=laplacian8", FALSE},
    {"videoconvolve filter=log", FALSE},
    {"videoconvolve filter=dog", FALSE},
    {"videoconvolve filter=emboss angle=45", FALSE},
    {"videoconvolve filter=sobel gradient=y bias=0.5", FALSE},
    {"videoconvolve kernel=\"<<-1,1>>\"", FALSE},
    {"videoconvolve filter=sobel", TRUE},
    {"videoconvolve filter=scharr", TRUE},
    {"videoconvolve filter=prewitt bias=0.1", TRUE},
    {"videoconvolve filter=roberts scale=2", TRUE},
  };
  static const gchar *const yuv[] = { "NV12", "I420", "YUY2", "AYUV",
    "P010_10LE", "Y444_12LE", "Y410"
  };

  for (guint f = 0; f < G_N_ELEMENTS (yuv); f++) {
    for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
      gchar *caps = caps_for (yuv[f], "bt709");
      RandomFrame *in, *out;
      Pictures pictures;

      pictures_init (&pictures, caps);
      in = picture_new (&pictures);
      for (guint k = 0; k < in->n_maps && !cases[i].any_picture; k++)
        fill_component (in, k, 0.2 + 0.2 * k);
      random_frame_seal (in);
      out = filter (&pictures, cases[i].launch, caps, in);
      assert_chroma (out, cases[i].launch);
      random_frame_free (in);
      random_frame_free (out);
      g_free (caps);
    }
  }
}

GST_END_TEST;

/* ---- the same picture in NV12 and RGB ---- */

/* A smooth picture, so that halving chroma loses next to nothing; coloured or
 * grey, away from the ends of the range. */
static GstBuffer *
smooth_rgb (const GstVideoInfo * info, gboolean coloured)
{
  GstBuffer *buffer = filled_buffer (GST_VIDEO_INFO_SIZE (info), 0, 0);
  GstMapInfo map;

  gst_buffer_map (buffer, &map, GST_MAP_WRITE);
  for (gint y = 0; y < info->height; y++) {
    for (gint x = 0; x < info->width; x++) {
      guint8 *pixel = map.data + y * info->stride[0] + 3 * x;

      for (gint c = 0; c < 3; c++) {
        gdouble k = coloured ? c : 0;

        pixel[c] = 128 + 32 * sin ((x + 9 * k) * 0.11) * cos ((y - 5 * k)
            * 0.09) + 20 * sin ((x + y + 20 * k) * 0.05);
      }
    }
  }
  gst_buffer_unmap (buffer, &map);
  return buffer;
}

static GstBuffer *
convert (GstBuffer * from, const GstVideoInfo * from_info,
    const GstVideoInfo * to_info)
{
  GstVideoConverter *converter = gst_video_converter_new (from_info, to_info,
      gst_structure_new ("options", GST_VIDEO_CONVERTER_OPT_DITHER_METHOD,
          GST_TYPE_VIDEO_DITHER_METHOD, GST_VIDEO_DITHER_NONE, NULL));
  GstBuffer *to = filled_buffer (GST_VIDEO_INFO_SIZE (to_info), 0, 0);
  GstVideoFrame in, out;

  fail_unless (converter != NULL);
  fail_unless (gst_video_frame_map (&in, from_info, from, GST_MAP_READ));
  fail_unless (gst_video_frame_map (&out, to_info, to, GST_MAP_WRITE));
  gst_video_converter_frame (converter, &in, &out);
  gst_video_frame_unmap (&in);
  gst_video_frame_unmap (&out);
  gst_video_converter_free (converter);
  gst_buffer_unref (from);
  return to;
}

static GstBuffer *
filter_buffer (const gchar * launch, const GstVideoInfo * info,
    GstBuffer * buffer)
{
  GstHarness *h = element_harness (launch, NULL);

  gst_harness_set_src_caps (h, gst_video_info_to_caps ((GstVideoInfo *) info));
  gst_harness_push (h, buffer);
  gst_harness_push_event (h, gst_event_new_eos ());
  buffer = gst_harness_pull (h);
  gst_harness_teardown (h);
  return buffer;
}

static void
info_for (GstVideoInfo * info, const gchar * format, const gchar * colorimetry)
{
  gchar *text = g_strdup_printf ("video/x-raw,format=%s,width=128,height=96,"
      "framerate=25/1,colorimetry=%s", format, colorimetry);
  GstCaps *caps = gst_caps_from_string (text);

  fail_unless (gst_video_info_from_caps (info, caps));
  gst_caps_unref (caps);
  g_free (text);
}

/* The mean and the largest difference of two RGB pictures. */
static void
measure (GstBuffer * a, GstBuffer * b, gdouble * mean, guint * worst)
{
  GstMapInfo ma, mb;

  gst_buffer_map (a, &ma, GST_MAP_READ);
  gst_buffer_map (b, &mb, GST_MAP_READ);
  fail_unless_equals_int (ma.size, mb.size);
  *mean = *worst = 0;
  for (gsize i = 0; i < ma.size; i++) {
    guint d = ABS ((gint) ma.data[i] - (gint) mb.data[i]);

    *mean += (gdouble) d / ma.size;
    *worst = MAX (*worst, d);
  }
  gst_buffer_unmap (a, &ma);
  gst_buffer_unmap (b, &mb);
}

/* Filtered in RGB and converted to NV12, or converted and filtered there: what
 * a person then sees is alike. Conversion of 8 bits rounds, and filters that
 * sharpen enlarge that; black in the wrong place would be 5 off. */
#define MEAN_TOLERANCE 2.5
#define WORST_TOLERANCE 8

/* Filters with a length are the same in all planes. Those of 3x3 pixels see
 * twice as far in halved chroma: they agree where there is no colour. */
static const struct
{
  const gchar *launch;
  gboolean coloured;
} looks[] = {
  {"videoconvolve filter=gaussian sigma=3", TRUE},
  {"videoconvolve filter=box radius=4", TRUE},
  {"videoconvolve filter=disk radius=5", TRUE},
  {"videoconvolve filter=motion radius=7 angle=40", TRUE},
  {"videoconvolve filter=unsharp sigma=3 amount=0.8", TRUE},
  {"videoconvolve filter=gaussian sigma=3 scale=0.7 bias=0.1", TRUE},
  {"videoconvolve filter=gaussian sigma=2 scale=-1 bias=1", TRUE},
  {"videoconvolve filter=gaussian sigma=3 border=constant "
        "border-color=0xff8060c0", TRUE},
  {"videoconvolve filter=sharpen amount=2", FALSE},
  {"videoconvolve filter=laplacian amount=2 bias=0.5", FALSE},
  {"videoconvolve filter=sobel", FALSE},
  {"videoconvolve filter=scharr gradient=x scale=0.2 bias=0.5", FALSE},
  {"videoconvolve filter=emboss angle=120", FALSE},
  {"videoconvolve filter=dog sigma=2 amount=4 bias=0.3", FALSE},
};

static const gchar *const colorimetries[] = { "bt601", "bt709", FULL_601 };

GST_START_TEST (test_looks_the_same)
{
  for (guint c = 0; c < G_N_ELEMENTS (colorimetries); c++) {
    GstVideoInfo rgb, nv12;
    GstBuffer *in, *direct, *through;
    gdouble mean;
    guint worst;

    info_for (&rgb, "RGB", FULL_RGB);
    info_for (&nv12, "NV12", colorimetries[c]);
    in = smooth_rgb (&rgb, looks[__i__].coloured);
    direct = convert (convert (filter_buffer (looks[__i__].launch, &rgb,
                gst_buffer_ref (in)), &rgb, &nv12), &nv12, &rgb);
    through = convert (filter_buffer (looks[__i__].launch, &nv12,
            convert (in, &rgb, &nv12)), &nv12, &rgb);
    measure (direct, through, &mean, &worst);
    fail_unless (mean <= MEAN_TOLERANCE && worst <= WORST_TOLERANCE,
        "%s, %s: %g off on average, %u at most", looks[__i__].launch,
        colorimetries[c], mean, worst);
    gst_buffer_unref (direct);
    gst_buffer_unref (through);
  }
}

GST_END_TEST;

static Suite *
colours_suite (void)
{
  Suite *s = suite_create ("colours");
  TCase *tc = tcase_create ("colours");

  suite_add_tcase (s, tc);
  tcase_add_loop_test (tc, test_nominal, 0, G_N_ELEMENTS (ranges));
  tcase_add_loop_test (tc, test_channels, 0, G_N_ELEMENTS (formats));
  tcase_add_test (tc, test_neutral);
  tcase_add_loop_test (tc, test_looks_the_same, 0, G_N_ELEMENTS (looks));
  return s;
}

GST_CHECK_MAIN (colours);
