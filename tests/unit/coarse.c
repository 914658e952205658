/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Coarse grids for large Gaussians: the bound of the error holds, worked out
 * here from the definition alone, and plans take them where they may. */
#include <math.h>
#include <string.h>

#include "coretest.h"
#include "core/plan.h"

static ConvolveSettings
settings_for (gdouble sigma)
{
  ConvolveSettings settings;

  convolve_settings_init (&settings);
  settings.filter = CONVOLVE_FILTER_GAUSSIAN;
  settings.sigma = sigma;
  settings.alpha_mode = CONVOLVE_ALPHA_STRAIGHT;
  settings.costs = CONVOLVE_COSTS_CUDA;
  return settings;
}

/* ---- the bound ---- */

/* A line of samples, all but one 0, goes down, over the grid and up again; the
 * grid's values are numbered from -margin on. */
typedef struct
{
  gint step, margin, n;
  gdouble *down, *filtered;
  const ConvolveMatrix *weights;
} Line;

static gdouble
spline (gdouble t)
{
  t = fabs (t);
  return t <= 0.5 ? 0.75 - t * t : t < 1.5 ? (1.5 - t) * (1.5 - t) / 2 : 0;
}

/* What sample k is to each value, and then the grid's filter. */
static void
put_one_sample (Line * line, gint k)
{
  gint half = line->weights->width / 2, step = line->step;

  for (gint i = 0; i < line->n; i++) {
    gint begin = (i - line->margin - 1) * step + 1, ways = 0;

    for (gint a = 0; a < step; a++)
      for (gint b = 0; b < step; b++) {
        gint rest = k - begin - a - b;

        ways += rest >= 0 && rest < step;
      }
    line->down[i] = ways / pow (step, 3);
  }
  for (gint i = 0; i < line->n; i++) {
    line->filtered[i] = 0;
    for (gint j = MAX (i - half, 0); j <= MIN (i + half, line->n - 1); j++)
      line->filtered[i] += line->weights->weights[j - i + half]
          * line->down[j];
  }
}

static gdouble
take_sample (const Line * line, gint p)
{
  gdouble sum = 0;

  for (gint i = -1; i <= 1; i++)
    sum += spline ((p + 0.5) / line->step - 0.5 - i)
        * line->filtered[line->margin + i];
  return sum;
}

/* The largest sum of magnitudes of wrong weights, over the places in a step. */
static gdouble
measure_error (gdouble sigma, const ConvolveCoarse * coarse)
{
  gint half = ceil (3 * sigma), step = coarse->step;
  gint margin = coarse->x->width / 2 + 2;
  g_autofree gdouble *down = g_new (gdouble, 2 * margin + 1);
  g_autofree gdouble *filtered = g_new (gdouble, 2 * margin + 1);
  g_autofree gdouble *errors = g_new0 (gdouble, step);
  Line line = { step, margin, 2 * margin + 1, down, filtered, coarse->x };
  gdouble total = 0, most = 0;

  for (gint i = -half; i <= half; i++)
    total += exp (-i * i / (2 * sigma * sigma));
  for (gint k = -margin * step; k < (margin + 1) * step; k++) {
    put_one_sample (&line, k);
    for (gint p = 0; p < step; p++) {
      gint i = k - p;
      gdouble exact = ABS (i) > half ? 0 :
          exp (-i * i / (2 * sigma * sigma)) / total;

      errors[p] += fabs (take_sample (&line, p) - exact);
    }
  }
  for (gint p = 0; p < step; p++)
    most = MAX (most, errors[p]);
  return most;
}

static void
test_bound (void)
{
  static const struct
  {
    gdouble sigma;
    guint step;
  } cases[] = { {11, 2}, {16, 2}, {25, 4}, {36.5, 4}, {50, 8}, {75, 8},
  {100, 16}, {300, 16}
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    ConvolveSettings settings = settings_for (cases[i].sigma);
    g_autoptr (ConvolveOperation) operation = make (&settings, 0, 0);
    gdouble line = measure_error (cases[i].sigma, &operation->coarse);
    gdouble both = line + line + line * line;

    g_assert_cmpuint (operation->coarse.step, ==, cases[i].step);
    g_assert_cmpfloat (both, <=, operation->coarse.error + 1e-9);
    g_assert_cmpfloat (both, >=, operation->coarse.error - 1e-5);
    g_assert_cmpfloat (127.5 * operation->coarse.error, <=, 0.25);
  }
}

/* ---- plans ---- */

static ConvolvePlan *
plan_for (GstVideoFormat format, const ConvolveSettings * settings,
    GError ** error)
{
  GstVideoInfo info;

  gst_video_info_set_format (&info, format, 1920, 1080);
  return convolve_plan_new (&info, settings, FALSE, error);
}

static gboolean
is_taken (GstVideoFormat format, const ConvolveSettings * settings)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (ConvolvePlan) plan = plan_for (format, settings, &error);

  g_assert_no_error (error);
  return plan->pass[0].coarse;
}

static void
test_auto (void)
{
  ConvolveSettings settings = settings_for (50);

  g_assert_true (is_taken (GST_VIDEO_FORMAT_RGBA, &settings));
  g_assert_true (is_taken (GST_VIDEO_FORMAT_NV12, &settings));
  g_assert_false (is_taken (GST_VIDEO_FORMAT_GRAY16_LE, &settings));
  g_assert_false (is_taken (GST_VIDEO_FORMAT_YUY2, &settings));
  settings.alpha_mode = CONVOLVE_ALPHA_AUTO;
  g_assert_false (is_taken (GST_VIDEO_FORMAT_RGBA, &settings));
  g_assert_true (is_taken (GST_VIDEO_FORMAT_RGBx, &settings));
  settings.scale = 2;
  g_assert_false (is_taken (GST_VIDEO_FORMAT_RGBx, &settings));
  settings.scale = 1;
  settings.iterations = 2;
  g_assert_false (is_taken (GST_VIDEO_FORMAT_RGBx, &settings));
  settings.border = CONVOLVE_BORDER_REFLECT;    /* which composes them */
  g_assert_true (is_taken (GST_VIDEO_FORMAT_RGBx, &settings));
  settings.iterations = 1;
  settings.method = CONVOLVE_METHOD_SEPARABLE;
  g_assert_false (is_taken (GST_VIDEO_FORMAT_RGBx, &settings));
}

/* Where rows and columns are quicker, a grid is not taken. */
static void
test_costs (void)
{
  ConvolveSettings settings = settings_for (10.2);

  /* A kernel of its own. */
  g_assert_false (is_taken (GST_VIDEO_FORMAT_RGBx, &settings));
  settings.sigma = 16;
  g_assert_true (is_taken (GST_VIDEO_FORMAT_RGBx, &settings));
  settings.costs = CONVOLVE_COSTS_CPU;
  g_assert_true (is_taken (GST_VIDEO_FORMAT_RGBx, &settings));
  settings.sigma = 13;          /* 16-bit integers */
  g_assert_false (is_taken (GST_VIDEO_FORMAT_RGBx, &settings));
}

static void
check_refused (GstVideoFormat format, const ConvolveSettings * settings,
    const gchar * words)
{
  g_autoptr (GError) error = NULL;

  g_assert_null (plan_for (format, settings, &error));
  g_assert_error (error, CONVOLVE_ERROR, CONVOLVE_ERROR_UNSUPPORTED);
  g_assert_nonnull (strstr (error->message, "method=pyramid"));
  g_assert_nonnull (strstr (error->message, words));
}

static void
test_refused (void)
{
  static const gdouble thirds[] = { 1, 1, 1 };
  ConvolveSettings settings = settings_for (50);

  settings.method = CONVOLVE_METHOD_PYRAMID;
  g_assert_true (is_taken (GST_VIDEO_FORMAT_GRAY8, &settings));
  check_refused (GST_VIDEO_FORMAT_P010_10LE, &settings, "bytes side by side");
  settings.iterations = 2;
  check_refused (GST_VIDEO_FORMAT_GRAY8, &settings, "iterations");
  settings.iterations = 1;
  settings.scale = -3;
  check_refused (GST_VIDEO_FORMAT_GRAY8, &settings, "scale");
  settings.scale = -1;
  g_assert_true (is_taken (GST_VIDEO_FORMAT_GRAY8, &settings));
  settings.alpha_mode = CONVOLVE_ALPHA_WEIGHTED;
  check_refused (GST_VIDEO_FORMAT_RGBA, &settings, "alpha-mode=straight");
  settings.kernel_t = convolve_matrix_new (3, 1, thirds);
  check_refused (GST_VIDEO_FORMAT_GRAY8, &settings, "frames");
  convolve_settings_clear (&settings);
  settings.sigma = 16;
  g_assert_true (is_taken (GST_VIDEO_FORMAT_GRAY8, &settings));
  check_refused (GST_VIDEO_FORMAT_I420, &settings, "subsampled");
  settings.filter = CONVOLVE_FILTER_BOX;
  check_refused (GST_VIDEO_FORMAT_GRAY8, &settings, "detail and gaussian");
}

static void
test_print (void)
{
  ConvolveSettings settings = settings_for (50);
  g_autoptr (ConvolvePlan) plan = plan_for (GST_VIDEO_FORMAT_GRAY8, &settings,
      NULL);
  g_autofree gchar *text = convolve_plan_describe (plan);

  g_assert_cmpstr (text, ==, "plane 0 grey 1920x1080 u8: separable 301x301 "
      "by a grid of 8 x 8, within 0.19, replicate, single");
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/coarse/bound", test_bound);
  g_test_add_func ("/coarse/auto", test_auto);
  g_test_add_func ("/coarse/costs", test_costs);
  g_test_add_func ("/coarse/refused", test_refused);
  g_test_add_func ("/coarse/print", test_print);
  return g_test_run ();
}
