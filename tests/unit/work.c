/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Bytes and multiply-adds of passes, against numbers worked out by hand. */
#include "core/work.h"

#define W 100
#define H 60

static void
count (const gchar * format, const ConvolveSettings * settings,
    ConvolveWork * work)
{
  GstVideoInfo info;
  g_autoptr (GError) error = NULL;
  g_autoptr (ConvolvePlan) plan = NULL;

  g_assert_true (gst_video_info_set_format (&info,
          gst_video_format_from_string (format), W, H));
  plan = convolve_plan_new (&info, settings, FALSE, &error);
  g_assert_no_error (error);
  convolve_plan_work (plan, work);
}

static void
check (const gchar * format, const ConvolveSettings * settings,
    guint64 bytes_read, guint64 bytes_written, guint64 multiply_adds)
{
  ConvolveWork work;

  count (format, settings, &work);
  g_assert_cmpuint (work.bytes_read, ==, bytes_read);
  g_assert_cmpuint (work.bytes_written, ==, bytes_written);
  g_assert_cmpuint (work.multiply_adds, ==, multiply_adds);
}

/* A box by rows and columns. */
static void
box_init (ConvolveSettings * s, gint radius, ConvolveAlphaMode alpha_mode)
{
  convolve_settings_init (s);
  s->filter = CONVOLVE_FILTER_BOX;
  s->radius = radius;
  s->method = CONVOLVE_METHOD_SEPARABLE;
  s->alpha_mode = alpha_mode;
}

static void
test_formats (void)
{
  ConvolveSettings s;
  const guint n = W * H;

  box_init (&s, 2, CONVOLVE_ALPHA_STRAIGHT);
  check ("GRAY8", &s, n, n, 10 * n);
  check ("GRAY16_LE", &s, 2 * n, 2 * n, 10 * n);
  check ("RGBA", &s, 4 * n, 4 * n, 40 * n);
  /* Padding is copied. */
  check ("RGBx", &s, 4 * n, 4 * n, 30 * n);
  check ("RGB10A2_LE", &s, 4 * n, 4 * n, 40 * n);
  /* Lengths are luma pixels: 3 taps on chroma of half the size both ways, whose
   * outer ones weigh less. */
  check ("NV12", &s, n * 3 / 2, n * 3 / 2, 10 * n + 6 * n / 2);
  s.method = CONVOLVE_METHOD_DIRECT;
  check ("GRAY8", &s, n, n, 25 * n);
  s.channels = CONVOLVE_CHANNEL_ALPHA;
  check ("RGBA", &s, 4 * n, 4 * n, 25 * n);
  check ("A420", &s, n * 5 / 2, n * 5 / 2, 25 * n);
}

static void
test_alpha (void)
{
  ConvolveSettings s;
  const guint n = W * H;

  box_init (&s, 1, CONVOLVE_ALPHA_WEIGHTED);
  check ("RGBA", &s, 4 * n, 4 * n, 6 * 4 * n);
  /* Alpha is summed, but not written. */
  s.channels = CONVOLVE_CHANNEL_RGB;
  check ("RGBA", &s, 4 * n, 4 * n, 6 * 4 * n);
  /* In a plane of its own it is read for each of the three colours too. */
  check ("GBRA", &s, 7 * n, 4 * n, 6 * 2 * 3 * n);
}

static void
test_iterations_and_zeros (void)
{
  ConvolveSettings s;
  const guint n = W * H;

  convolve_settings_init (&s);
  s.filter = CONVOLVE_FILTER_LAPLACIAN;
  s.method = CONVOLVE_METHOD_DIRECT;
  check ("GRAY8", &s, n, n, 5 * n);
  s.iterations = 8;
  check ("GRAY8", &s, n, n, 8 * 5 * n);
  convolve_settings_init (&s);
  s.filter = CONVOLVE_FILTER_DIFFUSE;
  s.iterations = 3;
  check ("GRAY8", &s, n, n, 3 * 16 * n);
}

static void
test_time (void)
{
  const gdouble weights[] = { 1, 2, 1 };
  ConvolveSettings s;
  const guint n = W * H;

  box_init (&s, 1, CONVOLVE_ALPHA_AUTO);
  s.kernel_t = convolve_matrix_new (3, 1, weights);
  check ("GRAY8", &s, 3 * n, n, (6 + 3) * n);
  /* The sum alone: nothing is multiplied after it. */
  s.filter = CONVOLVE_FILTER_IDENTITY;
  check ("GRAY8", &s, 3 * n, n, 3 * n);
  /* Frames are summed once. */
  s.filter = CONVOLVE_FILTER_DIFFUSE;
  s.method = CONVOLVE_METHOD_AUTO;
  s.iterations = 2;
  check ("GRAY8", &s, 3 * n, n, (2 * 16 + 3) * n);
  convolve_settings_clear (&s);
}

static void
test_pyramid (void)
{
  ConvolveSettings s;
  const guint l1 = 50 * 30, l2 = 25 * 15;

  convolve_settings_init (&s);
  s.filter = CONVOLVE_FILTER_DETAIL;
  s.levels = 2;
  /* Down: 25 products for each coarser sample. Up: as many for spreading it,
   * once as picture and, but for the last level, as correction. */
  check ("GRAY8", &s, W * H, W * H, 25 * (l1 + l2) + 25 * (2 * l1 + l2)
      + 2 * (W * H + l1));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/counts/formats", test_formats);
  g_test_add_func ("/counts/alpha", test_alpha);
  g_test_add_func ("/counts/iterations-and-zeros", test_iterations_and_zeros);
  g_test_add_func ("/counts/time", test_time);
  g_test_add_func ("/counts/pyramid", test_pyramid);
  return g_test_run ();
}
