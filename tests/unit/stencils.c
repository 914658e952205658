/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What is no single weighted sum: methods by cost, sums of pairs, iterations
 * at once, pyramids, diffusion. */
#include <math.h>
#include <string.h>

#include "core/plan.h"
#include "coretest.h"
#include "random.h"
#include "testmain.h"

static Random random_state;

static ConvolveSettings
settings_for (ConvolveFilter filter)
{
  ConvolveSettings settings;

  convolve_settings_init (&settings);
  settings.filter = filter;
  return settings;
}

static ConvolveMatrix *
matrix_of_rank (guint rank, guint width, guint height)
{
  g_autofree gdouble *w = g_new0 (gdouble, width * height);

  for (guint n = 0; n < rank; n++) {
    g_autofree gdouble *x = g_new (gdouble, width);

    for (guint i = 0; i < width; i++)
      x[i] = random_between (&random_state, -1, 1);
    for (guint j = 0; j < height; j++) {
      gdouble y = random_between (&random_state, -1, 1);

      for (guint i = 0; i < width; i++)
        w[j * width + i] += x[i] * y;
    }
  }
  return convolve_matrix_new (width, height, w);
}

/* ---- ranks ---- */

static void
test_low_rank (void)
{
  for (guint rank = 0; rank <= 6; rank++) {
    g_autoptr (ConvolveMatrix) matrix = matrix_of_rank (rank, 13, 8);
    ConvolveMatrix *x[8], *y[8];
    guint n = convolve_matrix_low_rank (matrix, 8, x, y);

    g_assert_cmpuint (n, ==, MAX (rank, 1));
    for (guint i = 0; i < 13 * 8; i++) {
      gdouble sum = 0;

      for (guint t = 0; t < n; t++)
        sum += x[t]->weights[i % 13] * y[t]->weights[i / 13];
      g_assert_cmpfloat_with_epsilon (sum, matrix->weights[i], 1e-11);
    }
    for (guint t = 0; t < n; t++) {
      convolve_matrix_unref (x[t]);
      convolve_matrix_unref (y[t]);
    }
    if (rank > 1)
      g_assert_cmpuint (convolve_matrix_low_rank (matrix, rank - 1, x, y), ==,
          0);
  }
}

/* Which form a matrix of that rank takes: pairs, 0 for one matrix. */
static guint
pairs_of (guint rank, guint side, ConvolveCosts costs)
{
  ConvolveSettings settings = settings_for (CONVOLVE_FILTER_CUSTOM);
  g_autoptr (ConvolveOperation) operation = NULL;
  guint n;

  settings.normalize = FALSE;
  settings.kernel = matrix_of_rank (rank, side, side);
  settings.costs = costs;
  operation = make (&settings, 0, 0);
  n = operation->term[0].matrix != NULL ? 0 : operation->n_terms;
  convolve_settings_clear (&settings);
  return n;
}

static void
test_costs (void)
{
  g_assert_cmpuint (pairs_of (1, 3, CONVOLVE_COSTS_CPU), ==, 1);
  g_assert_cmpuint (pairs_of (2, 3, CONVOLVE_COSTS_CPU), ==, 0);
  g_assert_cmpuint (pairs_of (2, 7, CONVOLVE_COSTS_CPU), ==, 0);
  g_assert_cmpuint (pairs_of (2, 11, CONVOLVE_COSTS_CPU), ==, 2);
  g_assert_cmpuint (pairs_of (3, 31, CONVOLVE_COSTS_CPU), ==, 3);
  g_assert_cmpuint (pairs_of (2, 5, CONVOLVE_COSTS_CUDA), ==, 2);
  /* Through memory: worth it for larger matrices only. */
  g_assert_cmpuint (pairs_of (3, 11, CONVOLVE_COSTS_CUDA), ==, 0);
  g_assert_cmpuint (pairs_of (3, 31, CONVOLVE_COSTS_CUDA), ==, 3);
  g_assert_cmpuint (pairs_of (CONVOLVE_MAX_TERMS + 1, 63, CONVOLVE_COSTS_CPU),
      ==, 0);
}

/* A slanting line is a list of taps to a backend that leaves zeros out. */
static void
test_sparse (void)
{
  ConvolveSettings settings = settings_for (CONVOLVE_FILTER_MOTION);
  g_autoptr (ConvolveOperation) operation = NULL;

  settings.radius = 30;
  settings.angle = 30;
  operation = make (&settings, 0, 0);
  g_assert_nonnull (operation->term[0].matrix);
  g_assert_cmpuint (convolve_matrix_count (operation->term[0].matrix), <, 250);
  g_assert_nonnull (strstr (operation->why, "cost "));
}

/* Parts of a matrix may be negative where the matrix is not. */
static void
test_split_is_the_matrix (void)
{
  static const gdouble w[49] = {
    9, 1, 1, 1, 1, 1, 9, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 9, 1, 1, 1, 1, 1, 9
  };
  ConvolveSettings settings = settings_for (CONVOLVE_FILTER_CUSTOM);
  g_autoptr (ConvolveOperation) operation = NULL;

  settings.kernel = convolve_matrix_new (7, 7, w);
  settings.method = CONVOLVE_METHOD_LOWRANK;
  operation = make (&settings, 0, 0);
  g_assert_cmpuint (operation->n_terms, ==, 2);
  g_assert_true (operation->split);
  g_assert_false (operation->has_negative);
  g_assert_cmpfloat (operation->sum, ==, 1);
  convolve_settings_clear (&settings);
}

/* ---- iterations at once ---- */

static guint
composed (ConvolveFilter filter, ConvolveBorder border)
{
  ConvolveSettings settings = settings_for (filter);
  g_autoptr (ConvolveOperation) operation = NULL;

  settings.radius = 2;
  settings.iterations = 3;
  settings.border = border;
  operation = make (&settings, 0, 0);
  return operation->composed;
}

static void
test_compose (void)
{
  ConvolveSettings settings = settings_for (CONVOLVE_FILTER_CUSTOM);
  g_autoptr (ConvolveOperation) even = NULL;

  for (guint border = 0; border < CONVOLVE_N_BORDERS; border++) {
    gboolean can = border == CONVOLVE_BORDER_WRAP
        || border == CONVOLVE_BORDER_REFLECT
        || border == CONVOLVE_BORDER_MIRROR;

    g_assert_cmpuint (composed (CONVOLVE_FILTER_BOX, border), ==, can ? 3 : 0);
    g_assert_cmpuint (composed (CONVOLVE_FILTER_GAUSSIAN, border), ==,
        can ? 3 : 0);
    g_assert_cmpuint (composed (CONVOLVE_FILTER_DISK, border), ==, 0);
    g_assert_cmpuint (composed (CONVOLVE_FILTER_SHARPEN, border), ==, 0);
    g_assert_cmpuint (composed (CONVOLVE_FILTER_DIFFUSE, border), ==, 0);
  }

  /* An even row, whose anchor is not its middle: 1 4 6 4 1 from -4 to 0. */
  settings.kernel_x = convolve_matrix_new (2, 1, (const gdouble[]) { 1, 1 });
  settings.iterations = 4;
  settings.border = CONVOLVE_BORDER_REFLECT;
  even = make (&settings, 0, 0);
  g_assert_cmpuint (even->composed, ==, 0);
  g_clear_pointer (&even, convolve_operation_free);
  settings.border = CONVOLVE_BORDER_WRAP;
  even = make (&settings, 0, 0);
  g_assert_cmpuint (even->composed, ==, 4);
  g_assert_cmpuint (even->left, ==, 4);
  for (guint i = 0; i <= 4; i++)
    g_assert_cmpfloat (even->term[0].x->weights[i], ==,
        ((const gdouble[]) { 1, 4, 6, 4, 1 })[i] / 16);
  convolve_settings_clear (&settings);
}

/* What scale and bias come to in three iterations: luma's zero is 16. */
static void
test_compose_numbers (void)
{
  ConvolveSettings settings = settings_for (CONVOLVE_FILTER_BOX);
  g_autoptr (ConvolvePlan) plan = NULL;
  g_autoptr (GError) error = NULL;
  GstVideoInfo info;
  gdouble flat = 100;

  gst_video_info_set_format (&info, GST_VIDEO_FORMAT_I420, 16, 16);
  info.colorimetry.range = GST_VIDEO_COLOR_RANGE_16_235;
  settings.iterations = 3;
  settings.border = CONVOLVE_BORDER_MIRROR;
  settings.scale = 0.75;
  settings.bias = 0.1;
  plan = convolve_plan_new (&info, &settings, FALSE, &error);
  g_assert_no_error (error);
  for (guint i = 0; i < 3; i++)
    flat = 16 + 21.9 + 0.75 * (flat - 16);
  g_assert_cmpuint (plan->pass[0].iterations, ==, 1);
  g_assert_cmpfloat_with_epsilon (plan->pass[0].component[0].offset
      + plan->pass[0].component[0].gain * 100, flat, 1e-9);
}

/* Alpha is another one in each iteration. */
static void
test_compose_weighted (void)
{
  ConvolveSettings settings = settings_for (CONVOLVE_FILTER_BOX);
  g_autoptr (GError) error = NULL;
  GstVideoInfo info;

  gst_video_info_set_format (&info, GST_VIDEO_FORMAT_RGBA, 16, 16);
  settings.iterations = 3;
  settings.border = CONVOLVE_BORDER_WRAP;
  for (guint straight = 0; straight < 2; straight++) {
    g_autoptr (ConvolvePlan) plan = NULL;

    settings.alpha_mode =
        straight ? CONVOLVE_ALPHA_STRAIGHT : CONVOLVE_ALPHA_AUTO;
    plan = convolve_plan_new (&info, &settings, FALSE, &error);
    g_assert_no_error (error);
    g_assert_cmpuint (plan->pass[0].iterations, ==, straight ? 1 : 3);
  }
}

/* ---- pyramids and diffusion ---- */

static void
test_levels (void)
{
  static const struct
  {
    gint width, height;
    guint levels;
  } cases[] = {
    {1, 1, 0}, {2, 1, 1}, {1, 2, 1}, {3, 3, 2}, {4, 4, 2}, {5, 1, 3},
    {64, 64, 6}, {65, 3, 7}, {1920, 1080, 8},
  };
  ConvolveSettings settings = settings_for (CONVOLVE_FILTER_DETAIL);
  g_autoptr (ConvolveOperation) operation = NULL;

  settings.levels = 8;
  operation = make (&settings, 0, 0);
  g_assert_cmpuint (operation->n_levels, ==, 8);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    g_assert_cmpuint (convolve_operation_levels (operation, cases[i].width,
            cases[i].height), ==, cases[i].levels);
}

static void
test_gains (void)
{
  static const gdouble gains[3] = { 3, 1, 0.5 };
  ConvolveSettings settings = settings_for (CONVOLVE_FILTER_DETAIL);
  g_autoptr (ConvolveOperation) luma = NULL;
  g_autoptr (ConvolveOperation) chroma = NULL;

  settings.detail_gains = convolve_matrix_new (3, 1, gains);
  settings.levels = 5;
  settings.amount = 2;
  luma = make (&settings, 0, 0);
  chroma = make (&settings, 1, 0);
  g_assert_cmpuint (luma->n_levels, ==, 5);
  g_assert_cmpuint (chroma->n_levels, ==, 4);
  for (guint l = 0; l < 5; l++)
    g_assert_cmpfloat (luma->level[l], ==,
        ((const gdouble[]) { 4, 0, -1, -1, -1 })[l]);
  for (guint l = 0; l < 4; l++)
    g_assert_cmpfloat (chroma->level[l], ==, luma->level[l + 1]);
  convolve_settings_clear (&settings);
}

/* 4:2:0 chroma has no finest level; levels that add nothing are not made. */
static void
test_unneeded_levels (void)
{
  ConvolveSettings settings = settings_for (CONVOLVE_FILTER_DETAIL);
  g_autoptr (ConvolveOperation) operation = NULL;

  settings.levels = 1;
  operation = make (&settings, 1, 1);
  g_assert_true (convolve_operation_is_identity (operation));
  g_clear_pointer (&operation, convolve_operation_free);

  settings.levels = 16;
  settings.detail_gains =
      convolve_matrix_new (3, 1, (const gdouble[]) { 2, 2, 1 });
  operation = make (&settings, 0, 0);
  g_assert_cmpuint (operation->n_levels, ==, 2);
  convolve_settings_clear (&settings);
}

static void
check_refused (const ConvolveSettings * settings, const gchar * words)
{
  g_autoptr (GError) error = NULL;

  g_assert_null (convolve_operation_new (settings, 0, 0, &error));
  g_assert_nonnull (strstr (error->message, words));
}

static void
test_refused (void)
{
  static const gdouble gains[17] = { 1 };
  ConvolveSettings settings = settings_for (CONVOLVE_FILTER_DETAIL);

  settings.levels = 0;
  check_refused (&settings, "levels");
  settings.levels = 17;
  check_refused (&settings, "levels");
  settings.levels = 4;
  settings.detail_gains = convolve_matrix_new (17, 1, gains);
  check_refused (&settings, "detail-gains");
  convolve_settings_clear (&settings);
  settings.detail_gains = convolve_matrix_new (1, 3, gains);
  check_refused (&settings, "detail-gains");
  convolve_settings_clear (&settings);
  settings.method = CONVOLVE_METHOD_SEPARABLE;
  check_refused (&settings, "method=separable");
  settings.filter = CONVOLVE_FILTER_DIFFUSE;
  check_refused (&settings, "method=separable");
  settings.filter = CONVOLVE_FILTER_DISK;
  settings.radius = 30;
  settings.method = CONVOLVE_METHOD_LOWRANK;
  check_refused (&settings, "method=lowrank");
  settings.method = CONVOLVE_METHOD_SUMS;
  check_refused (&settings, "method=sums");
  settings.filter = CONVOLVE_FILTER_GAUSSIAN;
  check_refused (&settings, "method=sums");
  settings.method = CONVOLVE_METHOD_PYRAMID;
  check_refused (&settings, "method=pyramid");
}

/* ---- across frames ---- */

static const gdouble thirds[] = { 1, 1, 1 };

/* The first of several applications alone sums over frames. */
static void
test_compose_window (void)
{
  ConvolveSettings settings = settings_for (CONVOLVE_FILTER_GAUSSIAN);
  GstVideoInfo info;

  gst_video_info_set_format (&info, GST_VIDEO_FORMAT_GRAY8, 16, 16);
  settings.border = CONVOLVE_BORDER_WRAP;
  settings.iterations = 3;
  for (guint windowed = 0; windowed < 2; windowed++) {
    g_autoptr (ConvolvePlan) plan = NULL;

    if (windowed)
      settings.kernel_t = convolve_matrix_new (3, 1, thirds);
    plan = convolve_plan_new (&info, &settings, FALSE, NULL);
    g_assert_nonnull (plan);
    g_assert_cmpuint (plan->pass[0].iterations, ==, windowed ? 3 : 1);
    g_assert_cmpuint (plan->operations[0]->composed, ==, windowed ? 0 : 3);
  }
  convolve_settings_clear (&settings);
}

/* Weights of frames leave a matrix the forms that it has; several matrices that
 * are no multiples of one have one form. */
static void
test_deep_methods (void)
{
  gdouble weights[2 * 81] = { 0 };
  ConvolveSettings settings = settings_for (CONVOLVE_FILTER_CUSTOM);

  settings.normalize = FALSE;
  for (guint i = 0; i < 81; i++) {
    weights[i] = 1 + i % 9 * (i / 9);
    weights[81 + i] = -2 * weights[i];
  }
  for (guint product = 2; product-- > 0;) {
    g_autoptr (ConvolveOperation) operation = NULL;

    if (!product)
      weights[3] += 1;
    g_clear_pointer (&settings.kernel, convolve_matrix_unref);
    settings.kernel = convolve_matrix_new_deep (9, 9, 2, weights, NULL);
    settings.method = CONVOLVE_METHOD_AUTO;
    operation = convolve_operation_new (&settings, 0, 0, NULL);
    g_assert_nonnull (operation);
    g_assert_cmpuint (operation->n_terms, ==, product ? 2 : 1);
    g_assert_true (operation->split == !!product);
    g_assert_true (operation->has_negative);
    g_assert_true ((operation->t != NULL) == !!product);
  }
  settings.method = CONVOLVE_METHOD_SEPARABLE;
  check_refused (&settings, "method=separable");
  settings.method = CONVOLVE_METHOD_LOWRANK;
  check_refused (&settings, "method=lowrank");
  settings.method = CONVOLVE_METHOD_SUMS;
  check_refused (&settings, "method=sums");
  settings.method = CONVOLVE_METHOD_PYRAMID;
  check_refused (&settings, "method=pyramid");
  convolve_settings_clear (&settings);
}

/* What does nothing to a frame is no identity across several, and what is flat
 * becomes the sum of weights. */
static void
test_stencil_windows (void)
{
  static const ConvolveFilter filters[] = { CONVOLVE_FILTER_DETAIL,
    CONVOLVE_FILTER_DIFFUSE
  };

  for (guint i = 0; i < G_N_ELEMENTS (filters); i++) {
    ConvolveSettings settings = settings_for (filters[i]);
    g_autoptr (ConvolveOperation) one = NULL, three = NULL;

    settings.amount = 0;
    settings.normalize = FALSE;
    one = convolve_operation_new (&settings, 0, 0, NULL);
    g_assert_true (convolve_operation_is_identity (one));
    settings.kernel_t = convolve_matrix_new (3, 1, thirds);
    three = convolve_operation_new (&settings, 0, 0, NULL);
    g_assert_false (convolve_operation_is_identity (three));
    g_assert_cmpfloat (three->sum, ==, 3);
    g_assert_cmpfloat (three->l1, >=, 3);
    g_assert_cmpfloat (three->growth, >=, 3);
    convolve_settings_clear (&settings);
  }
}

/* Float carries a few steps; errors grow in each, so many want double. */
static void
test_diffuse_precision (void)
{
  static const struct
  {
    guint iterations;
    ConvolvePrecision precision;
  } cases[] = {
    {1, CONVOLVE_PRECISION_SINGLE}, {20, CONVOLVE_PRECISION_SINGLE},
    {100, CONVOLVE_PRECISION_DOUBLE}, {1024, CONVOLVE_PRECISION_DOUBLE},
  };
  ConvolveSettings settings = settings_for (CONVOLVE_FILTER_DIFFUSE);
  GstVideoInfo info;

  gst_video_info_set_format (&info, GST_VIDEO_FORMAT_GRAY8, 16, 16);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (ConvolvePlan) plan = NULL;

    settings.iterations = cases[i].iterations;
    plan = convolve_plan_new (&info, &settings, FALSE, NULL);
    g_assert_cmpint (plan->pass[0].precision, ==, cases[i].precision);
    g_assert_cmpfloat_with_epsilon (plan->pass[0].component[0].threshold,
        0.04 * 255, 1e-9);
  }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  random_state.state = test_seed (NULL);
  g_test_add_func ("/stencils/low-rank", test_low_rank);
  g_test_add_func ("/stencils/costs", test_costs);
  g_test_add_func ("/stencils/sparse", test_sparse);
  g_test_add_func ("/stencils/split", test_split_is_the_matrix);
  g_test_add_func ("/stencils/compose", test_compose);
  g_test_add_func ("/stencils/compose-numbers", test_compose_numbers);
  g_test_add_func ("/stencils/compose-weighted", test_compose_weighted);
  g_test_add_func ("/stencils/levels", test_levels);
  g_test_add_func ("/stencils/gains", test_gains);
  g_test_add_func ("/stencils/unneeded-levels", test_unneeded_levels);
  g_test_add_func ("/stencils/compose-window", test_compose_window);
  g_test_add_func ("/stencils/deep-methods", test_deep_methods);
  g_test_add_func ("/stencils/windows", test_stencil_windows);
  g_test_add_func ("/stencils/refused", test_refused);
  g_test_add_func ("/stencils/diffuse-precision", test_diffuse_precision);
  return g_test_run ();
}
