/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The weights of every filter, as docs/filters.md defines them. */
#include "config.h"

#include <math.h>

#include "filter-builders.h"
#include "filter-private.h"

typedef gboolean (*FilterBuilder) (const ConvolveSettings * settings,
    const ConvolvePlaneScale * scale, ConvolveOperation * operation,
    GError ** error);

/* ---- helpers ---- */

static ConvolveMatrix *
matrix_one (void)
{
  return convolve_matrix_new (1, 1, &(const gdouble) { 1 });
}

static void
matrix_multiply (ConvolveMatrix ** matrix, gdouble factor)
{
  ConvolveMatrix *scaled = convolve_matrix_scale (*matrix, factor);

  convolve_matrix_unref (*matrix);
  *matrix = scaled;
}

void
convolve_make_sum_one (ConvolveMatrix ** matrix)
{
  ConvolveMatrix *normal = convolve_matrix_normalize (*matrix);

  convolve_matrix_unref (*matrix);
  *matrix = normal;
}

void
convolve_cos_sin_degrees (gdouble degrees, gdouble * cosine, gdouble * sine)
{
  static const gint8 quarter_cos[4] = { 1, 0, -1, 0 };
  gdouble turn = fmod (degrees, 360.0), quarter;

  if (turn < 0)
    turn += 360.0;
  quarter = turn / 90.0;
  if (quarter == floor (quarter)) {
    guint i = (guint) quarter % 4;

    *cosine = quarter_cos[i];
    *sine = quarter_cos[(i + 3) % 4];
  } else {
    *cosine = cos (turn * G_PI / 180.0);
    *sine = sin (turn * G_PI / 180.0);
  }
}

/* ---- gaussians ---- */

/* exp (-i^2 / 2 s^2) for abs (i) <= half, sum 1. Squaring i / s, not s, keeps
 * the tiniest s from dividing 0 by 0. */
static ConvolveMatrix *
gaussian_line (gdouble s, guint half, gboolean column)
{
  g_autofree gdouble *weights = convolve_line_new (half);
  ConvolveMatrix *line;

  for (guint i = 0; i <= half; i++) {
    gdouble u = s > 0 ? i / s : 0;

    weights[half + i] = weights[half - i] = exp (-0.5 * u * u);
  }
  line = convolve_line_matrix (column, 2 * half + 1, weights);
  convolve_make_sum_one (&line);
  return line;
}

static void
add_gaussian (ConvolveOperation * operation, gdouble sigma_x, gdouble sigma_y)
{
  convolve_add_separable (operation,
      gaussian_line (sigma_x, (guint) ceil (3 * sigma_x), FALSE),
      gaussian_line (sigma_y, (guint) ceil (3 * sigma_y), TRUE));
}

static gboolean
build_gaussian (const ConvolveSettings * settings,
    const ConvolvePlaneScale * scale, ConvolveOperation * operation,
    GError ** error)
{
  add_gaussian (operation, scale->sigma_x, scale->sigma_y);
  return TRUE;
}

static gboolean
build_unsharp (const ConvolveSettings * settings,
    const ConvolvePlaneScale * scale, ConvolveOperation * operation,
    GError ** error)
{
  operation->combine = CONVOLVE_COMBINE_UNSHARP;
  operation->amount = settings->amount;
  add_gaussian (operation, scale->sigma_x, scale->sigma_y);
  return TRUE;
}

static gboolean
build_dog (const ConvolveSettings * settings, const ConvolvePlaneScale * scale,
    ConvolveOperation * operation, GError ** error)
{
  add_gaussian (operation, scale->sigma_x, scale->sigma_y);
  add_gaussian (operation, 1.6 * scale->sigma_x, 1.6 * scale->sigma_y);
  matrix_multiply (&operation->term[0].x, settings->amount);
  matrix_multiply (&operation->term[1].x, -settings->amount);
  return TRUE;
}

/* The second derivative of a gaussian, with exactly no sum: what the cut
 * leaves is spread over it in the gaussian's own shape. */
static ConvolveMatrix *
gaussian_curvature_line (const ConvolveMatrix * gaussian, gdouble s,
    gboolean column)
{
  guint n = gaussian->width * gaussian->height, half = n / 2;
  g_autofree gdouble *weights = convolve_line_new (half);
  g_autoptr (ConvolveMatrix) raw = NULL;
  gdouble sum;

  /* So narrow that the gaussian is a single 1: all of it is taken off again,
   * and the formula would divide by nothing. */
  if (s < 1.0 / 64)
    return convolve_line_matrix (column, n, weights);

  for (guint i = 0; i < n; i++) {
    gdouble u = ((gdouble) i - half) / s;

    weights[i] = (u * u - 1) / (s * s) * gaussian->weights[i];
  }
  raw = convolve_line_matrix (column, n, weights);
  sum = convolve_matrix_sum (raw);
  for (guint i = 0; i < n; i++)
    weights[i] -= gaussian->weights[i] * sum;
  return convolve_line_matrix (column, n, weights);
}

static gboolean build_laplacian (const ConvolveSettings * settings,
    const ConvolvePlaneScale * scale, ConvolveOperation * operation,
    GError ** error);

static gboolean
build_log (const ConvolveSettings * settings, const ConvolvePlaneScale * scale,
    ConvolveOperation * operation, GError ** error)
{
  gdouble sx = scale->sigma_x, sy = scale->sigma_y;
  ConvolveMatrix *gx, *gy, *hx, *hy;

  if (sx == 0 || sy == 0)
    return build_laplacian (settings, scale, operation, error);

  gx = gaussian_line (sx, (guint) ceil (4 * sx), FALSE);
  gy = gaussian_line (sy, (guint) ceil (4 * sy), TRUE);
  hx = gaussian_curvature_line (gx, sx, FALSE);
  hy = gaussian_curvature_line (gy, sy, TRUE);
  convolve_add_separable (operation, hx, gy);
  convolve_add_separable (operation, gx, hy);
  matrix_multiply (&operation->term[0].x, settings->amount);
  matrix_multiply (&operation->term[1].x, settings->amount);
  return TRUE;
}

/* ---- fixed matrices ---- */

static gboolean
build_identity (const ConvolveSettings * settings,
    const ConvolvePlaneScale * scale, ConvolveOperation * operation,
    GError ** error)
{
  convolve_add_separable (operation, matrix_one (), matrix_one ());
  return TRUE;
}

/* amount x the matrix of a centre, its 4 neighbours and the 4 corners, plus
 * base at the centre. */
static void
add_star (ConvolveOperation * operation, gdouble amount, gdouble base,
    gdouble centre, gdouble side, gdouble corner)
{
  gdouble a = amount, c = a * corner, s = a * side;
  const gdouble weights[9] = { c, s, c, s, base + a * centre, s, c, s, c };

  convolve_add_direct (operation, convolve_matrix_new (3, 3, weights));
}

static gboolean
build_sharpen (const ConvolveSettings * settings,
    const ConvolvePlaneScale * scale, ConvolveOperation * operation,
    GError ** error)
{
  add_star (operation, settings->amount, 1, 4, -1, 0);
  return TRUE;
}

static gboolean
build_laplacian (const ConvolveSettings * settings,
    const ConvolvePlaneScale * scale, ConvolveOperation * operation,
    GError ** error)
{
  add_star (operation, settings->amount, 0, -4, 1, 0);
  return TRUE;
}

static gboolean
build_laplacian8 (const ConvolveSettings * settings,
    const ConvolvePlaneScale * scale, ConvolveOperation * operation,
    GError ** error)
{
  add_star (operation, settings->amount, 0, -8, 1, 1);
  return TRUE;
}

/* Which of the two directions a gradient filter adds. */
static gboolean
gradient_has (const ConvolveSettings * settings, ConvolveGradient direction)
{
  return settings->gradient == CONVOLVE_GRADIENT_MAGNITUDE
      || settings->gradient == direction;
}

/* Sobel and its like: a difference along one axis, smoothed by (side,
 * middle, side) along the other. */
static gboolean
build_gradient (const ConvolveSettings * settings, ConvolveOperation *
    operation, gdouble side, gdouble middle)
{
  const gdouble difference[3] = { -1, 0, 1 };
  const gdouble smooth[3] = { side, middle, side };

  if (settings->gradient == CONVOLVE_GRADIENT_MAGNITUDE)
    operation->combine = CONVOLVE_COMBINE_MAGNITUDE;
  if (gradient_has (settings, CONVOLVE_GRADIENT_X))
    convolve_add_separable (operation, convolve_line_matrix (FALSE, 3,
            difference), convolve_line_matrix (TRUE, 3, smooth));
  if (gradient_has (settings, CONVOLVE_GRADIENT_Y))
    convolve_add_separable (operation, convolve_line_matrix (FALSE, 3, smooth),
        convolve_line_matrix (TRUE, 3, difference));
  return TRUE;
}

static gboolean
build_sobel (const ConvolveSettings * settings,
    const ConvolvePlaneScale * scale, ConvolveOperation * operation,
    GError ** error)
{
  return build_gradient (settings, operation, 1, 2);
}

static gboolean
build_scharr (const ConvolveSettings * settings,
    const ConvolvePlaneScale * scale, ConvolveOperation * operation,
    GError ** error)
{
  return build_gradient (settings, operation, 3, 10);
}

static gboolean
build_prewitt (const ConvolveSettings * settings,
    const ConvolvePlaneScale * scale, ConvolveOperation * operation,
    GError ** error)
{
  return build_gradient (settings, operation, 1, 1);
}

static gboolean
build_roberts (const ConvolveSettings * settings,
    const ConvolvePlaneScale * scale, ConvolveOperation * operation,
    GError ** error)
{
  const gdouble gx[4] = { 1, 0, 0, -1 }, gy[4] = { 0, 1, -1, 0 };

  if (settings->gradient == CONVOLVE_GRADIENT_MAGNITUDE)
    operation->combine = CONVOLVE_COMBINE_MAGNITUDE;
  if (gradient_has (settings, CONVOLVE_GRADIENT_X))
    convolve_add_direct (operation, convolve_matrix_new (2, 2, gx));
  if (gradient_has (settings, CONVOLVE_GRADIENT_Y))
    convolve_add_direct (operation, convolve_matrix_new (2, 2, gy));
  return TRUE;
}

static gboolean
build_emboss (const ConvolveSettings * settings,
    const ConvolvePlaneScale * scale, ConvolveOperation * operation,
    GError ** error)
{
  static const gdouble gx[9] = { -1, 0, 1, -2, 0, 2, -1, 0, 1 };
  gdouble weights[9], cosine, sine;

  convolve_cos_sin_degrees (settings->angle, &cosine, &sine);
  for (guint i = 0; i < 9; i++)
    weights[i] = settings->amount / 4
        * (cosine * gx[i] - sine * gx[i % 3 * 3 + i / 3]);
  convolve_add_direct (operation, convolve_matrix_new (3, 3, weights));
  return TRUE;
}

/* ---- not weighted sums ---- */

static gboolean
build_detail (const ConvolveSettings * settings,
    const ConvolvePlaneScale * scale, ConvolveOperation * operation,
    GError ** error)
{
  const ConvolveMatrix *gains = settings->detail_gains;
  gdouble coarser = MAX (scale->sub_x, scale->sub_y);
  gint first = 0;

  operation->combine = CONVOLVE_COMBINE_DETAIL;
  for (; coarser > 1; coarser /= 2)
    first++;
  for (gint l = first; l < settings->levels; l++) {
    gdouble gain = 2, *level = &operation->level[l - first];

    if (gains != NULL)
      gain = gains->weights[MIN ((guint) l, gains->width - 1)];
    *level = settings->amount * (gain - 1);
    /* Coarser ones that add nothing need not be made. */
    if (*level != 0)
      operation->n_levels = l - first + 1;
  }
  return TRUE;
}

#define MAX_DIFFUSE_AMOUNT 1.25
/* Less counts as 0: it would move a sample by less than anybody can see, in any
 * number of steps. */
#define MIN_DIFFUSE_THRESHOLD 1e-9

static gboolean
build_diffuse (const ConvolveSettings * settings,
    const ConvolvePlaneScale * scale, ConvolveOperation * operation,
    GError ** error)
{
  gdouble step = CLAMP (settings->amount, 0, MAX_DIFFUSE_AMOUNT) / 5;

  if (convolve_settings_threshold (settings) <= MIN_DIFFUSE_THRESHOLD)
    step = 0;
  operation->combine = CONVOLVE_COMBINE_DIFFUSE;
  operation->amount = step;
  convolve_add_direct (operation, convolve_matrix_new (3, 3, (const gdouble[]) {
            0, step, 0, step, 1 - 4 * step, step, 0, step, 0
          }));
  return TRUE;
}

/* ---- custom ---- */

/* The rule is about the product's sum: a zero-sum row is not made up for by a
 * column that has one. */
static void
normalize_product (ConvolveMatrix ** factor[], guint n)
{
  gdouble share = 1;

  for (guint i = 0; i < n; i++) {
    gdouble l1 = convolve_matrix_l1 (*factor[i]);

    share *= l1 > 0 ? fabs (convolve_matrix_sum (*factor[i])) / l1 : 0;
  }
  for (guint i = 0; i < n && share > 1e-9; i++)
    convolve_make_sum_one (factor[i]);
}

static gboolean
build_custom (const ConvolveSettings * settings,
    const ConvolvePlaneScale * scale, ConvolveOperation * operation,
    GError ** error)
{
  ConvolveMatrix *x = settings->kernel_x, *y = settings->kernel_y;
  ConvolveTerm *term = &operation->term[0];
  ConvolveMatrix **factor[3];
  guint n = 0;

  if ((x != NULL && x->height != 1) || (y != NULL && y->width != 1)) {
    g_set_error_literal (error, CONVOLVE_ERROR, CONVOLVE_ERROR_INVALID,
        "kernel-x must be one row and kernel-y one column");
    return FALSE;
  }
  if (settings->kernel != NULL) {
    convolve_add_direct (operation, convolve_matrix_ref (settings->kernel));
    factor[n++] = &term->matrix;
  } else {
    convolve_add_separable (operation,
        x != NULL ? convolve_matrix_ref (x) : matrix_one (),
        y != NULL ? convolve_matrix_ref (y) : matrix_one ());
    factor[n++] = &term->x;
    factor[n++] = &term->y;
  }
  if (operation->t != NULL)
    factor[n++] = &operation->t;
  if (settings->normalize)
    normalize_product (factor, n);
  return TRUE;
}

/* ---- the table ---- */

static const struct
{
  const gchar *name;
  FilterBuilder build;
} filters[CONVOLVE_N_FILTERS] = {
  [CONVOLVE_FILTER_IDENTITY] = {"identity", build_identity},
  [CONVOLVE_FILTER_CUSTOM] = {"custom", build_custom},
  [CONVOLVE_FILTER_GAUSSIAN] = {"gaussian", build_gaussian},
  [CONVOLVE_FILTER_BOX] = {"box", convolve_build_box},
  [CONVOLVE_FILTER_DISK] = {"disk", convolve_build_disk},
  [CONVOLVE_FILTER_MOTION] = {"motion", convolve_build_motion},
  [CONVOLVE_FILTER_SHARPEN] = {"sharpen", build_sharpen},
  [CONVOLVE_FILTER_UNSHARP] = {"unsharp", build_unsharp},
  [CONVOLVE_FILTER_LAPLACIAN] = {"laplacian", build_laplacian},
  [CONVOLVE_FILTER_LAPLACIAN8] = {"laplacian8", build_laplacian8},
  [CONVOLVE_FILTER_LOG] = {"log", build_log},
  [CONVOLVE_FILTER_DOG] = {"dog", build_dog},
  [CONVOLVE_FILTER_SOBEL] = {"sobel", build_sobel},
  [CONVOLVE_FILTER_SCHARR] = {"scharr", build_scharr},
  [CONVOLVE_FILTER_PREWITT] = {"prewitt", build_prewitt},
  [CONVOLVE_FILTER_ROBERTS] = {"roberts", build_roberts},
  [CONVOLVE_FILTER_EMBOSS] = {"emboss", build_emboss},
  [CONVOLVE_FILTER_DETAIL] = {"detail", build_detail},
  [CONVOLVE_FILTER_DIFFUSE] = {"diffuse", build_diffuse},
};

static const gchar *const border_names[CONVOLVE_N_BORDERS] = {
  [CONVOLVE_BORDER_REPLICATE] = "replicate",
  [CONVOLVE_BORDER_REFLECT] = "reflect",
  [CONVOLVE_BORDER_MIRROR] = "mirror",
  [CONVOLVE_BORDER_WRAP] = "wrap",
  [CONVOLVE_BORDER_CONSTANT] = "constant",
};

const gchar *
convolve_filter_name (ConvolveFilter filter)
{
  return (guint) filter < CONVOLVE_N_FILTERS ? filters[filter].name : NULL;
}

const gchar *
convolve_border_name (ConvolveBorder border)
{
  return (guint) border < CONVOLVE_N_BORDERS ? border_names[border] : NULL;
}

gdouble
convolve_settings_threshold (const ConvolveSettings * settings)
{
  if (settings->filter == CONVOLVE_FILTER_DIFFUSE)
    return settings->threshold < 0 ? 0.04 :
        MAX (settings->threshold, MIN_DIFFUSE_THRESHOLD);
  return MAX (settings->threshold, 0);
}

gboolean
convolve_filter_build (const ConvolveSettings * settings, guint w_sub,
    guint h_sub, ConvolveOperation * operation, GError ** error)
{
  ConvolvePlaneScale scale = { 1u << w_sub, 1u << h_sub };

  if (settings->kernel_t != NULL) {
    operation->t = convolve_matrix_new_deep (1, 1, settings->kernel_t->width,
        settings->kernel_t->weights, error);
    if (operation->t == NULL)
      return FALSE;
    if (settings->normalize && settings->filter != CONVOLVE_FILTER_CUSTOM)
      convolve_make_sum_one (&operation->t);
  }
  scale.sigma_x = settings->sigma / scale.sub_x;
  scale.sigma_y = (settings->sigma_y < 0 ? settings->sigma :
      settings->sigma_y) / scale.sub_y;
  return filters[settings->filter].build (settings, &scale, operation, error);
}
