/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Each method that a filter can have gives the picture that direct gives, and
 * the one that the reference gives. The backend is the first argument. */
#include "compare.h"
#include "runner.h"
#include "testmain.h"

#define SIDE 11

static ConvolveDevice *device;
static Random random_state;

/* A matrix of that rank. */
static ConvolveMatrix *
matrix_of_rank (guint rank)
{
  gdouble w[SIDE * SIDE] = { 0 };

  for (guint n = 0; n < rank; n++) {
    gdouble x[SIDE], y[SIDE];

    for (guint i = 0; i < SIDE; i++) {
      x[i] = random_between (&random_state, -1, 1.5);
      y[i] = random_between (&random_state, -1, 1.5);
    }
    for (guint i = 0; i < SIDE * SIDE; i++)
      w[i] += x[i % SIDE] * y[i / SIDE] / 20;
  }
  return convolve_matrix_new (SIDE, SIDE, w);
}

static RandomFrame *
filter (const GstVideoInfo * info, ConvolveSettings * settings,
    ConvolveMethod method, const RandomFrame * in)
{
  RandomFrame *out = random_frame_new (info, &random_state, FALSE);
  g_autoptr (GError) error = NULL;

  settings->method = method;
  runner_filter (device, info, settings, FALSE, NULL, in, out, &error);
  g_assert_no_error (error);
  return out;
}

/* Both are within 0.6 or so of the same number, and rounding may part them. */
static void
assert_close (const RandomFrame * a, const RandomFrame * b)
{
  for (guint i = 0; i < a->n_maps; i++)
    for (gint y = 0; y < sample_map_height (&a->map[i], a->info.height); y++)
      for (gint x = 0; x < sample_map_width (&a->map[i], a->info.width); x++)
        g_assert_cmpint (ABS ((gint) random_frame_get (a, i, x, y)
                - (gint) random_frame_get (b, i, x, y)), <=, 1);
}

static void
check_methods (ConvolveSettings * settings, const ConvolveMethod * methods,
    guint n)
{
  static const GstVideoFormat formats[] = { GST_VIDEO_FORMAT_GRAY8,
    GST_VIDEO_FORMAT_NV12, GST_VIDEO_FORMAT_RGBx, GST_VIDEO_FORMAT_Y444_16LE
  };

  for (guint f = 0; f < G_N_ELEMENTS (formats); f++) {
    GstVideoInfo info;
    RandomFrame *in, *direct;
    Reference *reference;

    gst_video_info_set_format (&info, formats[f], 45, 32);
    in = random_frame_new (&info, &random_state, FALSE);
    random_frame_fill (in, &random_state, FILL_EXTREMES, NULL, NULL);
    random_frame_seal (in);
    direct = filter (&info, settings, CONVOLVE_METHOD_DIRECT, in);
    reference = reference_new (&info, in->frame.data, in->frame.stride,
        settings, FALSE);
    for (guint m = 0; m < n; m++) {
      RandomFrame *out = filter (&info, settings, methods[m], in);
      g_autofree gchar *fault = NULL;

      assert_close (direct, out);
      if (!compare_frames (reference, in, out, &fault))
        g_error ("method %u: %s", methods[m], fault);
      random_frame_free (out);
    }
    reference_free (reference);
    random_frame_free (direct);
    random_frame_free (in);
  }
}

static const ConvolveMethod separable_methods[] = {
  CONVOLVE_METHOD_DIRECT, CONVOLVE_METHOD_SEPARABLE, CONVOLVE_METHOD_LOWRANK,
  CONVOLVE_METHOD_AUTO
};

static const ConvolveMethod box_methods[] = {
  CONVOLVE_METHOD_DIRECT, CONVOLVE_METHOD_SUMS, CONVOLVE_METHOD_SEPARABLE,
  CONVOLVE_METHOD_AUTO
};

static const ConvolveMethod matrix_methods[] = {
  CONVOLVE_METHOD_DIRECT, CONVOLVE_METHOD_LOWRANK, CONVOLVE_METHOD_AUTO
};

static const ConvolveMethod any_methods[] = {
  CONVOLVE_METHOD_DIRECT, CONVOLVE_METHOD_AUTO
};

static void
test_filters (void)
{
  static const ConvolveFilter separable[] = { CONVOLVE_FILTER_GAUSSIAN,
    CONVOLVE_FILTER_BOX, CONVOLVE_FILTER_UNSHARP, CONVOLVE_FILTER_DOG,
    CONVOLVE_FILTER_LOG, CONVOLVE_FILTER_SOBEL, CONVOLVE_FILTER_SCHARR
  };
  static const ConvolveFilter any[] = { CONVOLVE_FILTER_DISK,
    CONVOLVE_FILTER_MOTION, CONVOLVE_FILTER_DIFFUSE
  };
  ConvolveSettings settings;

  convolve_settings_init (&settings);
  settings.angle = 33;
  for (guint i = 0; i < G_N_ELEMENTS (separable); i++) {
    settings.filter = separable[i];
    check_methods (&settings, separable_methods,
        G_N_ELEMENTS (separable_methods));
  }
  for (guint i = 0; i < G_N_ELEMENTS (any); i++) {
    settings.filter = any[i];
    check_methods (&settings, any_methods, G_N_ELEMENTS (any_methods));
  }
}

static void
test_boxes (void)
{
  ConvolveSettings settings;

  convolve_settings_init (&settings);
  settings.filter = CONVOLVE_FILTER_BOX;
  for (settings.radius = 1; settings.radius <= 40; settings.radius *= 3)
    check_methods (&settings, box_methods, G_N_ELEMENTS (box_methods));
}

/* By the costs of both backends: each takes what was chosen for the other. */
static void
test_ranks (void)
{
  for (guint rank = 1; rank <= CONVOLVE_MAX_TERMS; rank++) {
    ConvolveSettings settings;

    convolve_settings_init (&settings);
    settings.filter = CONVOLVE_FILTER_CUSTOM;
    settings.normalize = FALSE;
    settings.kernel = matrix_of_rank (rank);
    for (guint costs = 0; costs < CONVOLVE_N_COSTS; costs++) {
      settings.costs = costs;
      check_methods (&settings, matrix_methods, G_N_ELEMENTS (matrix_methods));
    }
    convolve_settings_clear (&settings);
  }
}

int
main (int argc, char **argv)
{
  int result;

  gst_init (&argc, &argv);
  g_test_init (&argc, &argv, NULL);
  random_state.state = test_seed (NULL);
  result = runner_open (argc > 1 ? argv[1] : "cpu", 2, 2, &device);
  if (result != TEST_PASSED)
    return result;
  g_test_add_func ("/methods/filters", test_filters);
  g_test_add_func ("/methods/boxes", test_boxes);
  g_test_add_func ("/methods/ranks", test_ranks);
  result = g_test_run ();
  convolve_device_close (device);
  return result;
}
