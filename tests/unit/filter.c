/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The filters' weights, against the definitions of docs/filters.md worked out
 * in another way, or typed by hand. */
#include <math.h>
#include <string.h>

#include "coretest.h"

static ConvolveSettings
settings_for (ConvolveFilter filter)
{
  ConvolveSettings settings;

  convolve_settings_init (&settings);
  settings.filter = filter;
  return settings;
}

/* The weight of the term at (x, y) from the anchor, whatever its form. */
static gdouble
term_weight (const ConvolveTerm * term, gint x, gint y)
{
  if (term->matrix != NULL) {
    const ConvolveMatrix *m = term->matrix;

    x += m->anchor_x;
    y += m->anchor_y;
    if (x < 0 || y < 0 || x >= (gint) m->width || y >= (gint) m->height)
      return 0;
    return m->weights[y * m->width + x];
  }
  x += term->x->anchor_x;
  y += term->y->anchor_y;
  if (x < 0 || y < 0 || x >= (gint) term->x->width
      || y >= (gint) term->y->height)
    return 0;
  return term->x->weights[x] * term->y->weights[y];
}

static gdouble
weight (const ConvolveOperation * operation, gint x, gint y)
{
  gdouble sum = 0;

  for (guint i = 0; i < operation->n_terms; i++)
    sum += term_weight (&operation->term[i], x, y);
  return sum;
}

static void
check_description (const ConvolveSettings * settings, const gchar * expected)
{
  g_autoptr (ConvolveOperation) operation = make (settings, 0, 0);
  g_autofree gchar *text = convolve_operation_describe (operation);

  g_assert_cmpstr (text, ==, expected);
}

static void
test_gaussian (void)
{
  static const gdouble sigmas[] = { 0.3, 1, 2, 7.7, 500 };

  for (guint s = 0; s < G_N_ELEMENTS (sigmas); s++) {
    ConvolveSettings settings = settings_for (CONVOLVE_FILTER_GAUSSIAN);
    g_autoptr (ConvolveOperation) operation = NULL;
    gint half = (gint) ceil (3 * sigmas[s]);
    gdouble sum = 0, base = pow (G_E, -0.5 / (sigmas[s] * sigmas[s]));

    settings.sigma = 2 * sigmas[s];
    settings.sigma_y = 0;
    operation = make (&settings, 1, 0);
    for (gint i = -half; i <= half; i++)
      sum += pow (base, (gdouble) i * i);
    for (gint i = -half; i <= half; i++)
      g_assert_cmpfloat_with_epsilon (weight (operation, i, 0),
          pow (base, (gdouble) i * i) / sum, 1e-10);
    g_assert_cmpfloat (operation->sum, ==, 1);
    g_assert_cmpfloat_with_epsilon (operation->l1, 1, 1e-12);
    g_assert_cmpuint (operation->left, ==, half);
    g_assert_cmpuint (operation->right, ==, half);
    g_assert_cmpuint (operation->above, ==, 0);
    g_assert_false (operation->has_negative);
    g_assert_true (convolve_matrix_is_symmetric (operation->term[0].x));
  }
}

static void
test_identities (void)
{
  ConvolveSettings settings = settings_for (CONVOLVE_FILTER_IDENTITY);
  static const struct
  {
    ConvolveFilter filter;
    gdouble sigma, amount;
    gint radius;
    gboolean identity;
  } cases[] = {
    {CONVOLVE_FILTER_IDENTITY, 2, 1, -1, TRUE},
    {CONVOLVE_FILTER_CUSTOM, 2, 1, -1, TRUE},
    {CONVOLVE_FILTER_GAUSSIAN, 0, 1, -1, TRUE},
    {CONVOLVE_FILTER_GAUSSIAN, 1e-300, 1, -1, TRUE},
    {CONVOLVE_FILTER_GAUSSIAN, 0.5, 1, -1, FALSE},
    {CONVOLVE_FILTER_BOX, 2, 1, 0, TRUE},
    {CONVOLVE_FILTER_DISK, 2, 1, 0, TRUE},      /* inside its pixel */
    {CONVOLVE_FILTER_MOTION, 2, 1, 0, TRUE},
    {CONVOLVE_FILTER_SHARPEN, 2, 0, -1, TRUE},
    {CONVOLVE_FILTER_SHARPEN, 2, 1, -1, FALSE},
    {CONVOLVE_FILTER_UNSHARP, 2, 0, -1, TRUE},
    {CONVOLVE_FILTER_UNSHARP, 0, 3, -1, TRUE},
    {CONVOLVE_FILTER_LAPLACIAN, 2, 0, -1, FALSE},
    {CONVOLVE_FILTER_SOBEL, 2, 1, -1, FALSE},
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (ConvolveOperation) operation = NULL;

    settings.filter = cases[i].filter;
    settings.sigma = cases[i].sigma;
    settings.amount = cases[i].amount;
    settings.radius = cases[i].radius;
    operation = make (&settings, 0, 0);
    g_assert_true (convolve_operation_is_identity (operation) ==
        cases[i].identity);
  }
}

static void
test_box (void)
{
  ConvolveSettings settings = settings_for (CONVOLVE_FILTER_BOX);
  g_autoptr (ConvolveOperation) full = NULL, half = NULL, quarter = NULL;

  settings.radius = 2;
  full = make (&settings, 0, 0);
  half = make (&settings, 1, 0);
  quarter = make (&settings, 2, 0);
  for (gint y = -2; y <= 2; y++)
    for (gint x = -2; x <= 2; x++)
      g_assert_cmpfloat_with_epsilon (weight (full, x, y), 0.04, 1e-16);
  g_assert_cmpuint (full->left, ==, 2);
  /* 5 luma pixels are 2.5 of a plane of half the width: 0.75 1 0.75. */
  g_assert_cmpfloat_with_epsilon (weight (half, -1, 0), 0.75 / 2.5 / 5, 1e-16);
  g_assert_cmpfloat_with_epsilon (weight (half, 0, 2), 1 / 2.5 / 5, 1e-16);
  g_assert_cmpuint (half->right, ==, 1);
  /* And 1.25 of a quarter: 0.125 1 0.125. */
  g_assert_cmpfloat_with_epsilon (weight (quarter, 1, 0), 0.02, 1e-16);
  g_assert_cmpuint (quarter->right, ==, 1);

  /* radius from sigma: the standard deviation of 2r + 1 equal weights. */
  settings.radius = -1;
  settings.sigma = sqrt (((2 * 7 + 1) * (2 * 7 + 1) - 1) / 12.0);
  check_description (&settings, "separable 15x15");
}

/* The area of disk(r) in [x0,x1] x [y0,y1] by many thin strips. */
static gdouble
strips (gdouble rx, gdouble ry, gdouble x0, gdouble x1, gdouble y0, gdouble y1)
{
  const gint n = 20000;
  gdouble area = 0;

  for (gint i = 0; i < n; i++) {
    gdouble x = x0 + (x1 - x0) * (i + 0.5) / n, u = x / rx;
    gdouble y = u < 1 ? ry * sqrt (1 - u * u) : 0;

    area += MAX (MIN (y, y1) - y0, 0) * (x1 - x0) / n;
  }
  return area;
}

static void
test_ellipse (void)
{
  static const gdouble radii[][2] = { {0.5, 0.5}, {1.5, 1.5}, {3.5, 1.75},
  {0.25, 4.5}, {0.3, 0.2}, {7.5, 7.5}
  };

  for (guint k = 0; k < G_N_ELEMENTS (radii); k++) {
    gdouble rx = radii[k][0], ry = radii[k][1], sum = 0;

    for (gint j = 0; j < 9; j++) {
      for (gint i = 0; i < 9; i++) {
        gdouble x0 = MAX (i - 0.5, 0), y0 = MAX (j - 0.5, 0);
        gdouble area = convolve_ellipse_area (rx, ry, x0, i + 0.5, y0,
            j + 0.5);

        g_assert_cmpfloat_with_epsilon (area, strips (rx, ry, x0, i + 0.5, y0,
                j + 0.5), 2e-6);
        sum += area;
      }
    }
    /* The pixels part the quadrant among them. */
    g_assert_cmpfloat_with_epsilon (sum, G_PI * rx * ry / 4, 1e-12);
  }
}

static void
test_disk (void)
{
  ConvolveSettings settings = settings_for (CONVOLVE_FILTER_DISK);
  g_autoptr (ConvolveOperation) small = NULL, large = NULL;
  const ConvolveMatrix *m;
  gint64 start;

  settings.radius = 6;
  small = make (&settings, 0, 0);
  for (gint y = -6; y <= 6; y++) {
    for (gint x = -6; x <= 6; x++) {
      g_assert_cmpfloat (weight (small, x, y), ==, weight (small, -x, y));
      g_assert_cmpfloat (weight (small, x, y), ==, weight (small, x, -y));
      g_assert_cmpfloat_with_epsilon (weight (small, x, y),
          weight (small, y, x), 1e-15);
    }
  }
  /* A whole pixel's share. */
  g_assert_cmpfloat_with_epsilon (weight (small, 0, 0), 1 / (G_PI * 6.5 * 6.5),
      1e-15);
  g_assert_cmpuint (small->left, ==, 6);

  settings.radius = 1024;
  start = g_get_monotonic_time ();
  large = make (&settings, 0, 0);
  g_test_message ("radius 1024 took %" G_GINT64_FORMAT " us",
      g_get_monotonic_time () - start);
  m = large->term[0].matrix;
  g_assert_cmpuint (m->width, ==, 2049);
  g_assert_cmpfloat (large->sum, ==, 1);
  g_assert_cmpfloat_with_epsilon (weight (large, 0, 0) * G_PI * 1024.5 * 1024.5,
      1, 1e-12);
}

static void
test_motion (void)
{
  ConvolveSettings settings = settings_for (CONVOLVE_FILTER_MOTION);
  static const gdouble angles[] = { 0, 180, -360, 90, -90, 450 };
  g_autoptr (ConvolveOperation) diagonal = NULL, steep = NULL, chroma = NULL;
  gdouble r = sqrt (0.5), low;

  settings.radius = 3;
  for (guint i = 0; i < G_N_ELEMENTS (angles); i++) {
    settings.angle = angles[i];
    check_description (&settings, i < 3 ? "separable 7x1" : "separable 1x7");
  }
  settings.angle = 0;
  chroma = make (&settings, 1, 1);
  /* At -1.5 .. 1.5 in halves: 0 and its neighbours' halves, and so on. */
  g_assert_cmpfloat_with_epsilon (weight (chroma, 0, 0), 2.0 / 7, 1e-15);
  g_assert_cmpfloat_with_epsilon (weight (chroma, 1, 0), 2.0 / 7, 1e-15);
  g_assert_cmpfloat_with_epsilon (weight (chroma, 2, 0), 0.5 / 7, 1e-15);

  settings.angle = 45;
  settings.radius = 1;
  diagonal = make (&settings, 0, 0);
  low = (1 - r) * (1 - r);
  g_assert_cmpfloat_with_epsilon (weight (diagonal, 0, 0), (1 + 2 * low) / 3,
      1e-15);
  /* Counter-clockwise: to the right and up. */
  g_assert_cmpfloat_with_epsilon (weight (diagonal, 1, -1), r * r / 3, 1e-15);
  g_assert_cmpfloat_with_epsilon (weight (diagonal, -1, 1), r * r / 3, 1e-15);
  g_assert_cmpfloat_with_epsilon (weight (diagonal, 1, 0), r * (1 - r) / 3,
      1e-15);
  g_assert_cmpfloat (weight (diagonal, 1, 1), ==, 0);

  settings.angle = 73.2;
  settings.radius = 40;
  steep = make (&settings, 0, 0);
  g_assert_cmpfloat (steep->sum, ==, 1);
  g_assert_false (steep->has_negative);
  g_assert_true (convolve_matrix_is_symmetric (steep->term[0].matrix));
}

/* One operation per row: a filter, its gradient and angle, and the matrix. */
static void
test_fixed (void)
{
  static const struct
  {
    ConvolveFilter filter;
    ConvolveGradient gradient;
    gdouble angle;
    gdouble weights[9];
  } cases[] = {
    {CONVOLVE_FILTER_SHARPEN, 0, 0, {0, -2, 0, -2, 9, -2, 0, -2, 0}},
    {CONVOLVE_FILTER_LAPLACIAN, 0, 0, {0, 2, 0, 2, -8, 2, 0, 2, 0}},
    {CONVOLVE_FILTER_LAPLACIAN8, 0, 0, {2, 2, 2, 2, -16, 2, 2, 2, 2}},
    {CONVOLVE_FILTER_SOBEL, CONVOLVE_GRADIENT_X, 0, {-1, 0, 1, -2, 0, 2, -1, 0,
            1}},
    {CONVOLVE_FILTER_SOBEL, CONVOLVE_GRADIENT_Y, 0, {-1, -2, -1, 0, 0, 0, 1, 2,
            1}},
    {CONVOLVE_FILTER_SCHARR, CONVOLVE_GRADIENT_X, 0, {-3, 0, 3, -10, 0, 10, -3,
            0, 3}},
    {CONVOLVE_FILTER_PREWITT, CONVOLVE_GRADIENT_Y, 0, {-1, -1, -1, 0, 0, 0, 1,
            1, 1}},
    {CONVOLVE_FILTER_ROBERTS, CONVOLVE_GRADIENT_X, 0, {1, 0, 0, 0, -1, 0, 0, 0,
            0}},
    {CONVOLVE_FILTER_ROBERTS, CONVOLVE_GRADIENT_Y, 0, {0, 1, 0, -1, 0, 0, 0, 0,
            0}},
    {CONVOLVE_FILTER_EMBOSS, 0, 0, {-.5, 0, .5, -1, 0, 1, -.5, 0, .5}},
    /* Up: bright where it gets brighter upwards. */
    {CONVOLVE_FILTER_EMBOSS, 0, 90, {.5, 1, .5, 0, 0, 0, -.5, -1, -.5}},
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    ConvolveSettings settings = settings_for (cases[i].filter);
    g_autoptr (ConvolveOperation) operation = NULL;

    settings.gradient = cases[i].gradient;
    settings.angle = cases[i].angle;
    settings.amount = 2;
    operation = make (&settings, 1, 1);
    for (gint k = 0; k < 9; k++)
      g_assert_cmpfloat_with_epsilon (weight (operation, k % 3 - 1, k / 3 - 1),
          cases[i].weights[k], 1e-15);
    g_assert_cmpfloat (operation->sum, ==,
        cases[i].filter == CONVOLVE_FILTER_SHARPEN ? 1 : 0);
    g_assert_true (operation->has_negative);
  }
}

static void
test_log_dog (void)
{
  ConvolveSettings settings = settings_for (CONVOLVE_FILTER_LOG);
  g_autoptr (ConvolveOperation) log = NULL, dog = NULL, direct = NULL;
  g_autoptr (ConvolveOperation) narrow = NULL;
  gdouble second = 0;

  settings.sigma = 3;
  settings.amount = 0.5;
  log = make (&settings, 0, 0);
  check_description (&settings, "sum of separable 25x25, separable 25x25");
  g_assert_cmpfloat (log->sum, ==, 0);
  /* On x^2 / 2, whose second derivative is 1, a Laplacian of unit gain gives 1;
   * the cut at 4 sigma costs a little. */
  for (gint y = -12; y <= 12; y++)
    for (gint x = -12; x <= 12; x++)
      second += weight (log, x, y) * x * x / 2;
  g_assert_cmpfloat_with_epsilon (second, 0.5, 0.005);

  settings.method = CONVOLVE_METHOD_DIRECT;
  direct = make (&settings, 0, 0);
  g_assert_cmpuint (direct->n_terms, ==, 1);
  for (gint y = -13; y <= 13; y++)
    for (gint x = -13; x <= 13; x++)
      g_assert_cmpfloat_with_epsilon (weight (log, x, y),
          weight (direct, x, y), 1e-17);

  settings.method = CONVOLVE_METHOD_AUTO;
  settings.sigma_y = 0;
  check_description (&settings, "direct 3x3");
  settings.sigma_y = 1e-200;
  settings.sigma = 1e-200;
  narrow = make (&settings, 0, 0);
  g_assert_cmpfloat (narrow->l1, ==, 0);

  settings = settings_for (CONVOLVE_FILTER_DOG);
  settings.sigma = 1;
  dog = make (&settings, 0, 0);
  g_assert_cmpfloat (dog->sum, ==, 0);
  g_assert_cmpuint (dog->left, ==, 5);
  g_assert_cmpfloat (weight (dog, 0, 0), >, 0);
  g_assert_cmpfloat (weight (dog, 4, 0), <, 0);
}

static void
test_magnitude_unsharp (void)
{
  ConvolveSettings settings = settings_for (CONVOLVE_FILTER_SOBEL);
  g_autoptr (ConvolveOperation) sobel = make (&settings, 0, 0);
  g_autoptr (ConvolveOperation) unsharp = NULL;

  check_description (&settings, "magnitude of separable 3x3, separable 3x3");
  g_assert_cmpfloat (sobel->sum, ==, 0);
  g_assert_cmpfloat_with_epsilon (sobel->l1, sqrt (128), 1e-12);
  settings.method = CONVOLVE_METHOD_DIRECT;
  check_description (&settings, "magnitude of direct 3x3, direct 3x3");

  settings = settings_for (CONVOLVE_FILTER_ROBERTS);
  check_description (&settings, "magnitude of direct 2x2, direct 2x2");
  settings = settings_for (CONVOLVE_FILTER_UNSHARP);
  settings.amount = 1.5;
  unsharp = make (&settings, 0, 0);
  check_description (&settings, "unsharp of separable 13x13");
  g_assert_cmpfloat (unsharp->sum, ==, 1);
  g_assert_cmpfloat_with_epsilon (unsharp->l1, 4, 1e-12);
  g_assert_cmpfloat (unsharp->amount, ==, 1.5);
  g_assert_true (unsharp->has_negative);
}

static ConvolveMatrix *
parse (const gchar * text)
{
  ConvolveMatrix *matrix = convolve_matrix_parse (text, NULL);

  g_assert_nonnull (matrix);
  return matrix;
}

static void
test_custom (void)
{
  ConvolveSettings settings = settings_for (CONVOLVE_FILTER_CUSTOM);
  g_autoptr (ConvolveOperation) full = NULL, raw = NULL, even = NULL;
  g_autoptr (ConvolveOperation) line = NULL, zero = NULL;

  settings.kernel = parse ("1 2 3\n4 5 6");
  full = make (&settings, 1, 1);
  g_assert_cmpfloat_with_epsilon (weight (full, 1, 0), 6 / 21.0, 1e-15);
  g_assert_cmpuint (full->above, ==, 1);
  g_assert_cmpuint (full->below, ==, 0);
  settings.normalize = FALSE;
  raw = make (&settings, 0, 0);
  g_assert_cmpfloat (raw->sum, ==, 21);
  g_assert_cmpfloat (weight (raw, -1, -1), ==, 1);
  convolve_settings_clear (&settings);

  settings.kernel = parse ("1 1 1 1");
  even = make (&settings, 0, 0);
  g_assert_cmpuint (even->left, ==, 2);
  g_assert_cmpuint (even->right, ==, 1);
  convolve_settings_clear (&settings);

  settings.kernel = parse ("1 2\n2 4");
  check_description (&settings, "separable 2x2");
  convolve_settings_clear (&settings);

  settings.normalize = TRUE;
  settings.kernel_x = parse ("1 2 1");
  line = make (&settings, 0, 0);
  g_assert_cmpfloat (weight (line, 0, 0), ==, 0.5);
  settings.kernel_y = parse ("-1\n0\n1");
  zero = make (&settings, 0, 0);
  g_assert_cmpfloat (weight (zero, 0, 1), ==, 2);       /* not normalised */
  g_assert_cmpfloat (zero->sum, ==, 0);
  convolve_settings_clear (&settings);
}

static void
check_refused (const ConvolveSettings * settings, gint code,
    const gchar * words)
{
  g_autoptr (GError) error = NULL;

  g_assert_null (convolve_operation_new (settings, 0, 0, &error));
  g_assert_error (error, CONVOLVE_ERROR, code);
  g_assert_nonnull (strstr (error->message, words));
}

static void
test_refused (void)
{
  ConvolveSettings settings = settings_for (CONVOLVE_FILTER_GAUSSIAN);

  settings.method = CONVOLVE_METHOD_DIRECT;
  settings.sigma = 1000;
  check_refused (&settings, CONVOLVE_ERROR_UNSUPPORTED, "method");
  settings.filter = CONVOLVE_FILTER_DOG;
  check_refused (&settings, CONVOLVE_ERROR_UNSUPPORTED, "method");
  settings.method = CONVOLVE_METHOD_SEPARABLE;
  settings.filter = CONVOLVE_FILTER_LAPLACIAN;
  check_refused (&settings, CONVOLVE_ERROR_UNSUPPORTED, "method=separable");

  settings.method = CONVOLVE_METHOD_AUTO;
  settings.sigma = NAN;
  check_refused (&settings, CONVOLVE_ERROR_INVALID, "sigma");
  settings.sigma = 1001;
  check_refused (&settings, CONVOLVE_ERROR_INVALID, "sigma");
  settings.sigma = 1;
  settings.radius = 1025;
  check_refused (&settings, CONVOLVE_ERROR_INVALID, "radius");
  settings.radius = 1;
  settings.angle = INFINITY;
  check_refused (&settings, CONVOLVE_ERROR_INVALID, "angle");
  settings = settings_for (CONVOLVE_FILTER_CUSTOM);
  settings.kernel_x = parse ("1\n2");
  check_refused (&settings, CONVOLVE_ERROR_INVALID, "kernel-x");
  convolve_settings_clear (&settings);
}

static void
test_settings (void)
{
  ConvolveSettings a, b;

  convolve_settings_init (&a);
  a.kernel = parse ("1 2 3");
  convolve_settings_copy (&b, &a);
  g_assert_true (convolve_settings_equal (&a, &b));
  convolve_settings_clear (&a);
  g_assert_false (convolve_settings_equal (&a, &b));
  g_assert_cmpfloat (b.kernel->weights[2], ==, 3);
  convolve_settings_clear (&b);
  g_assert_true (convolve_settings_equal (&a, &b));
  b.sigma_y = 1;
  g_assert_false (convolve_settings_equal (&a, &b));
}

static void
test_names (void)
{
  for (gint i = 0; i < CONVOLVE_N_FILTERS; i++)
    g_assert_nonnull (convolve_filter_name (i));
  for (gint i = 0; i < CONVOLVE_N_BORDERS; i++)
    g_assert_nonnull (convolve_border_name (i));
  g_assert_null (convolve_filter_name (CONVOLVE_N_FILTERS));
  g_assert_cmpstr (convolve_filter_name (CONVOLVE_FILTER_EMBOSS), ==, "emboss");
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/filter/gaussian", test_gaussian);
  g_test_add_func ("/filter/identities", test_identities);
  g_test_add_func ("/filter/box", test_box);
  g_test_add_func ("/filter/ellipse", test_ellipse);
  g_test_add_func ("/filter/disk", test_disk);
  g_test_add_func ("/filter/motion", test_motion);
  g_test_add_func ("/filter/fixed", test_fixed);
  g_test_add_func ("/filter/log-dog", test_log_dog);
  g_test_add_func ("/filter/magnitude-unsharp", test_magnitude_unsharp);
  g_test_add_func ("/filter/custom", test_custom);
  g_test_add_func ("/filter/refused", test_refused);
  g_test_add_func ("/filter/settings", test_settings);
  g_test_add_func ("/filter/names", test_names);
  return g_test_run ();
}
