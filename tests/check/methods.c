/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Each method that a filter can have gives the picture that direct (or auto)
 * gives, and the one that the reference gives, of one frame and across frames.
 * The backend is the first argument. */
#include <string.h>

#include "compare.h"
#include "runner.h"
#include "testmain.h"

#define SIDE 11
#define N_FRAMES 4
#define OWN 1

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
    ConvolveMethod method, RandomFrame * const *in)
{
  RandomFrame *out = random_frame_new (info, &random_state, FALSE);
  RunnerStream stream = { in, N_FRAMES, OWN };
  g_autoptr (GError) error = NULL;

  settings->method = method;
  runner_filter_stream (device, info, settings, FALSE, NULL, &stream, out,
      &error);
  g_assert_no_error (error);
  return out;
}

static void
fill (const GstVideoInfo * info, RandomFrame ** in, RefFrame * frames)
{
  for (guint i = 0; i < N_FRAMES; i++) {
    in[i] = random_frame_new (info, &random_state, FALSE);
    random_frame_fill (in[i], &random_state, FILL_EXTREMES, NULL, NULL);
    random_frame_seal (in[i]);
    memcpy (frames[i].data, in[i]->frame.data, sizeof (frames[i].data));
    memcpy (frames[i].stride, in[i]->frame.stride, sizeof (frames[i].stride));
  }
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

/* The first method is what the others are compared with. */
static void
check_methods (ConvolveSettings * settings, const ConvolveMethod * methods,
    guint n)
{
  static const GstVideoFormat formats[] = { GST_VIDEO_FORMAT_GRAY8,
    GST_VIDEO_FORMAT_NV12, GST_VIDEO_FORMAT_RGBx, GST_VIDEO_FORMAT_Y444_16LE
  };

  for (guint f = 0; f < G_N_ELEMENTS (formats); f++) {
    GstVideoInfo info;
    RandomFrame *in[N_FRAMES], *first;
    RefFrame frames[N_FRAMES];
    Reference *reference;

    gst_video_info_set_format (&info, formats[f], 45, 32);
    fill (&info, in, frames);
    first = filter (&info, settings, methods[0], in);
    reference = reference_new_stream (&info, frames, N_FRAMES, OWN, settings,
        FALSE);
    for (guint m = 0; m < n; m++) {
      RandomFrame *out = filter (&info, settings, methods[m], in);
      g_autofree gchar *fault = NULL;

      assert_close (first, out);
      if (!compare_frames (reference, in[OWN], out, &fault))
        g_error ("method %u: %s", methods[m], fault);
      random_frame_free (out);
    }
    reference_free (reference);
    random_frame_free (first);
    for (guint i = 0; i < N_FRAMES; i++)
      random_frame_free (in[i]);
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

/* Running sums of one frame, wherever the picture ends against the radius. */
static void
check_sums (const GstVideoInfo * info, const ConvolveSettings * settings)
{
  RandomFrame *in = random_frame_new (info, &random_state, TRUE);
  RandomFrame *out = random_frame_new (info, &random_state, TRUE);
  Reference *reference;
  g_autoptr (GError) error = NULL;
  g_autofree gchar *fault = NULL;

  random_frame_fill (in, &random_state, FILL_EXTREMES, NULL, NULL);
  random_frame_seal (in);
  runner_filter (device, info, settings, FALSE, NULL, in, out, &error);
  g_assert_no_error (error);
  reference = reference_new (info, in->frame.data, in->frame.stride, settings,
      FALSE);
  if (!compare_frames (reference, in, out, &fault))
    g_error ("%s, %d x %d, radius %d, border %d: %s",
        GST_VIDEO_INFO_NAME (info), info->width, info->height,
        settings->radius, settings->border, fault);
  reference_free (reference);
  random_frame_free (in);
  random_frame_free (out);
}

static void
test_sums (void)
{
  static const gint radii[] = { 1, 5, 33, 64, 200, 512 };
  static const gint sizes[][2] = { {1, 1}, {37, 21}, {150, 70} };
  static const GstVideoFormat formats[] = { GST_VIDEO_FORMAT_GRAY8,
    GST_VIDEO_FORMAT_NV12, GST_VIDEO_FORMAT_RGB, GST_VIDEO_FORMAT_RGBA,
    GST_VIDEO_FORMAT_BGRx, GST_VIDEO_FORMAT_GRAY16_LE,
    GST_VIDEO_FORMAT_P010_10LE, GST_VIDEO_FORMAT_AYUV64
  };
  ConvolveSettings settings;

  convolve_settings_init (&settings);
  settings.filter = CONVOLVE_FILTER_BOX;
  settings.method = CONVOLVE_METHOD_SUMS;
  settings.alpha_mode = CONVOLVE_ALPHA_STRAIGHT;
  for (guint r = 0; r < G_N_ELEMENTS (radii); r++)
    for (guint s = 0; s < G_N_ELEMENTS (sizes); s++)
      for (guint f = 0; f < G_N_ELEMENTS (formats); f++) {
        GstVideoInfo info;

        settings.radius = radii[r];
        settings.border = (r + s + f) % CONVOLVE_N_BORDERS;
        settings.scale = f % 2 == 0 && s == 1 ? 0.75 : 1;
        gst_video_info_set_format (&info, formats[f], sizes[s][0], sizes[s][1]);
        check_sums (&info, &settings);
      }
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

/* ---- across frames ---- */

static const ConvolveMethod pyramid_methods[] = {
  CONVOLVE_METHOD_AUTO, CONVOLVE_METHOD_PYRAMID
};

static const gdouble weights_t[] = { 1, 3, -2 };

static void
test_windows (void)
{
  static const struct
  {
    ConvolveFilter filter;
    const ConvolveMethod *methods;
    guint n;
  } cases[] = {
    {CONVOLVE_FILTER_GAUSSIAN, separable_methods,
        G_N_ELEMENTS (separable_methods)},
    {CONVOLVE_FILTER_BOX, box_methods, G_N_ELEMENTS (box_methods)},
    {CONVOLVE_FILTER_DOG, separable_methods, G_N_ELEMENTS (separable_methods)},
    {CONVOLVE_FILTER_UNSHARP, separable_methods,
        G_N_ELEMENTS (separable_methods)},
    {CONVOLVE_FILTER_SOBEL, separable_methods,
        G_N_ELEMENTS (separable_methods)},
    {CONVOLVE_FILTER_DISK, any_methods, G_N_ELEMENTS (any_methods)},
    {CONVOLVE_FILTER_DIFFUSE, any_methods, G_N_ELEMENTS (any_methods)},
    {CONVOLVE_FILTER_DETAIL, pyramid_methods, G_N_ELEMENTS (pyramid_methods)},
  };

  for (guint i = 0; i < 2 * G_N_ELEMENTS (cases); i++) {
    ConvolveSettings settings;

    convolve_settings_init (&settings);
    settings.filter = cases[i / 2].filter;
    settings.kernel_t =
        convolve_matrix_new (G_N_ELEMENTS (weights_t), 1, weights_t);
    settings.iterations = 1 + i % 2;
    settings.border = i % 4 < 2 ? CONVOLVE_BORDER_CONSTANT :
        CONVOLVE_BORDER_WRAP;
    check_methods (&settings, cases[i / 2].methods, cases[i / 2].n);
    convolve_settings_clear (&settings);
  }
}

/* A matrix for each frame, all multiples of one, and one that is not: in
 * space no product then, and of one form alone. */
static void
check_deep (guint rank, gboolean product)
{
  g_autoptr (ConvolveMatrix) one = matrix_of_rank (rank);
  g_autofree gdouble *w =
      g_new (gdouble, G_N_ELEMENTS (weights_t) * SIDE * SIDE);
  ConvolveSettings settings;

  for (guint t = 0; t < G_N_ELEMENTS (weights_t); t++)
    for (guint i = 0; i < SIDE * SIDE; i++)
      w[t * SIDE * SIDE + i] = weights_t[t] * one->weights[i];
  if (!product)
    w[SIDE] += 0.1;
  convolve_settings_init (&settings);
  settings.filter = CONVOLVE_FILTER_CUSTOM;
  settings.normalize = FALSE;
  settings.kernel = convolve_matrix_new_deep (SIDE, SIDE,
      G_N_ELEMENTS (weights_t), w, NULL);
  if (product)
    check_methods (&settings, matrix_methods, G_N_ELEMENTS (matrix_methods));
  else
    check_methods (&settings, any_methods, G_N_ELEMENTS (any_methods));
  convolve_settings_clear (&settings);
}

static void
test_deep (void)
{
  check_deep (1, TRUE);
  check_deep (3, TRUE);
  check_deep (2, FALSE);
}

static void
add_tests (void)
{
  g_test_add_func ("/methods/filters", test_filters);
  g_test_add_func ("/methods/boxes", test_boxes);
  g_test_add_func ("/methods/sums", test_sums);
  g_test_add_func ("/methods/ranks", test_ranks);
  g_test_add_func ("/methods/windows", test_windows);
  g_test_add_func ("/methods/deep", test_deep);
}

int
main (int argc, char **argv)
{
  return runner_main (argc, argv, &device, &random_state.state, add_tests);
}
