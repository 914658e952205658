/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Large Gaussians by a coarse grid against the reference: every step of the
 * grid, number of components and border rule, pictures that are smaller than
 * the filter and than a cell of the grid, parts of pictures, and those that
 * the grid gets wrong most. The backend is the first argument. */
#include <math.h>
#include <string.h>

#include "compare.h"
#include "runner.h"
#include "testmain.h"

static ConvolveDevice *device;
static Random random_state;

typedef struct
{
  GstVideoFormat format;
  gint width, height;
  Fill fill;
  const RunnerRegions *where;
} Case;

static void
init_settings (ConvolveSettings * settings, gdouble sigma)
{
  convolve_settings_init (settings);
  settings->filter = CONVOLVE_FILTER_GAUSSIAN;
  settings->sigma = sigma;
  settings->alpha_mode = CONVOLVE_ALPHA_STRAIGHT;
  settings->method = CONVOLVE_METHOD_PYRAMID;
  settings->costs = CONVOLVE_COSTS_CUDA;
}

/* The samples that are filtered alone, if not all are. */
static void
apply_regions (Reference * reference, const GstVideoInfo * info,
    const RunnerRegions * where, const RandomFrame * in)
{
  g_autofree guint8 *mask = NULL;

  if (where == NULL)
    return;
  mask = ref_mask_new (info, where->rect, where->n, FALSE, where->outside);
  reference_apply_mask (reference, mask, info, in->frame.data,
      in->frame.stride);
}

static void
check_case (const ConvolveSettings * settings, const Case * c)
{
  GstVideoInfo info;
  RandomFrame *in, *out;
  Reference *reference;
  g_autoptr (GError) error = NULL;
  g_autofree gchar *fault = NULL;

  gst_video_info_set_format (&info, c->format, c->width, c->height);
  in = random_frame_new (&info, &random_state, FALSE);
  out = random_frame_new (&info, &random_state, FALSE);
  random_frame_fill (in, &random_state, c->fill, NULL, NULL);
  random_frame_seal (in);
  random_frame_seal (out);
  runner_filter (device, &info, settings, FALSE, c->where, in, out, &error);
  g_assert_no_error (error);
  reference = reference_new (&info, in->frame.data, in->frame.stride, settings,
      FALSE);
  apply_regions (reference, &info, c->where, in);
  if (!compare_frames (reference, in, out, &fault))
    g_error ("sigma %g, border %u, %s %dx%d, %s: %s", settings->sigma,
        settings->border, gst_video_format_to_string (c->format), c->width,
        c->height, fill_name (c->fill), fault);
  reference_free (reference);
  random_frame_free (in);
  random_frame_free (out);
}

/* From one to four components; of NV12 two grids of two steps. */
static const GstVideoFormat formats[] = { GST_VIDEO_FORMAT_GRAY8,
  GST_VIDEO_FORMAT_NV12, GST_VIDEO_FORMAT_RGB, GST_VIDEO_FORMAT_RGBA
};

static const gdouble sigmas[] = { 21, 34, 50, 100, 200 };

static void
test_borders (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (sigmas) * CONVOLVE_N_BORDERS; i++) {
    ConvolveSettings settings;

    init_settings (&settings, sigmas[i % G_N_ELEMENTS (sigmas)]);
    settings.border = i / G_N_ELEMENTS (sigmas);
    settings.border_color = 0x80ff4010;
    for (guint f = 0; f < 2; f++) {
      Case c = { formats[(i / 2 + 2 * f) % G_N_ELEMENTS (formats)], 45, 33,
        (i + f) % FILL_MATCHED, NULL
      };

      check_case (&settings, &c);
    }
  }
}

/* Pictures of whole tiles and beyond them, as wide as alignment wants it. */
static void
test_sizes (void)
{
  static const gint sizes[][2] = { {1, 1}, {2, 3}, {1, 70}, {70, 1}, {64, 64},
  {320, 48}, {203, 131}
  };

  for (guint i = 0; i < G_N_ELEMENTS (sizes) * G_N_ELEMENTS (formats); i++) {
    ConvolveSettings settings;
    Case c = { formats[i / G_N_ELEMENTS (sizes)],
      sizes[i % G_N_ELEMENTS (sizes)][0], sizes[i % G_N_ELEMENTS (sizes)][1],
      FILL_RANDOM, NULL
    };

    init_settings (&settings, 21 + random_below (&random_state, 70));
    settings.border = random_below (&random_state, CONVOLVE_N_BORDERS);
    check_case (&settings, &c);
  }
}

/* Longer along one axis; some components alone; both ways to clamp. */
static void
test_settings (void)
{
  ConvolveSettings settings;
  Case c = { GST_VIDEO_FORMAT_RGBA, 61, 47, FILL_STEPS, NULL };

  init_settings (&settings, 60);
  settings.sigma_y = 11;
  check_case (&settings, &c);
  settings.channels = CONVOLVE_CHANNEL_RGB;
  settings.scale = -1;
  settings.bias = 1;
  check_case (&settings, &c);
  c.format = GST_VIDEO_FORMAT_BGRx;
  check_case (&settings, &c);
  init_settings (&settings, 40);
  settings.clamp = CONVOLVE_CLAMP_NOMINAL;
  c.format = GST_VIDEO_FORMAT_I420;
  c.fill = FILL_EXTREMES;
  check_case (&settings, &c);
}

static void
test_regions (void)
{
  static const RefRect rects[] = { {30, 10, 40, 33}, {120, 70, 200, 200} };
  static const RunnerRegions inside = { 2, rects, FALSE };
  static const RunnerRegions outside = { 2, rects, TRUE };
  ConvolveSettings settings;

  for (guint f = 0; f < G_N_ELEMENTS (formats); f++) {
    Case c = { formats[f], 160, 90, FILL_EXTREMES, &inside };

    init_settings (&settings, 22);
    check_case (&settings, &c);
    c.where = &outside;
    check_case (&settings, &c);
  }
}

static void
add_tests (void)
{
  g_test_add_func ("/coarse/borders", test_borders);
  g_test_add_func ("/coarse/sizes", test_sizes);
  g_test_add_func ("/coarse/settings", test_settings);
  g_test_add_func ("/coarse/regions", test_regions);
}

int
main (int argc, char **argv)
{
  return runner_main (argc, argv, &device, &random_state.state, add_tests);
}
