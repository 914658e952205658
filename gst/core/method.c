/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The form of an operation's terms: what method asks for, or what costs the
 * backend least.
 *
 * Costs are multiplications a sample. They are compared, never taken for
 * times. */
#include "config.h"

#include <math.h>

#include "filter-private.h"

static const struct
{
  /* Direct sums leave out weights that are 0: a line of a motion blur is a list
   * of taps. */
  gboolean skips_zeros;
  /* Of rows and columns longer than fused_side, and of sums of more than
   * fused_terms: on CUDA they go through pictures in memory between; on the CPU
   * sums of pairs are made in float, all else in 16-bit integers where that is
   * exact enough. */
  guint fused_side, fused_terms;
  gdouble unfused_factor, unfused;
  gdouble term;                 /* of each pair of a sum but the first */
  gdouble shrink, grid_factor, grow;    /* of a coarse grid, see below */
} costs[CONVOLVE_N_COSTS] = {
  [CONVOLVE_COSTS_CPU] = {TRUE, G_MAXUINT, 1, 2, 0, 2, 30, 3.4, 55},
  [CONVOLVE_COSTS_CUDA] = {FALSE, 65, 2, 4, 60, 2, 20, 4, 60},
};

static const gchar *const method_names[CONVOLVE_N_METHODS] = {
  [CONVOLVE_METHOD_AUTO] = "auto",
  [CONVOLVE_METHOD_DIRECT] = "direct",
  [CONVOLVE_METHOD_SEPARABLE] = "separable",
  [CONVOLVE_METHOD_LOWRANK] = "lowrank",
  [CONVOLVE_METHOD_SUMS] = "sums",
  [CONVOLVE_METHOD_PYRAMID] = "pyramid",
};

/* ---- costs ---- */

static guint64
term_taps (const ConvolveTerm * term)
{
  return (guint64) convolve_term_width (term) * convolve_term_height (term)
      * (term->matrix != NULL ? term->matrix->depth : 1);
}

static gdouble
cost_direct (const ConvolveTerm * term, ConvolveCosts of)
{
  if (!costs[of].skips_zeros)
    return term_taps (term);
  if (term->matrix != NULL)
    return convolve_matrix_count (term->matrix);
  return (gdouble) convolve_matrix_count (term->x)
      * convolve_matrix_count (term->y);
}

/* Of a sum of n pairs of a row and a column of that size. */
static gdouble
cost_pairs (guint n, guint width, guint height, ConvolveCosts of)
{
  gdouble cost = n * ((gdouble) width + height) + (n - 1) * costs[of].term;

  if (n > costs[of].fused_terms || MAX (width, height) > costs[of].fused_side)
    cost = cost * costs[of].unfused_factor + costs[of].unfused;
  return cost;
}

gdouble
convolve_operation_cost (const ConvolveOperation * operation, ConvolveCosts of)
{
  gdouble cost = 0;
  guint width = 1, height = 1;

  for (guint t = 0; t < operation->n_terms; t++) {
    const ConvolveTerm *term = &operation->term[t];

    if (term->matrix != NULL)
      return cost_direct (term, of) * operation->n_terms;
    width = MAX (width, convolve_term_width (term));
    height = MAX (height, convolve_term_height (term));
    cost += cost_pairs (1, convolve_term_width (term),
        convolve_term_height (term), of);
  }
  return operation->n_terms > 1 ?
      cost_pairs (operation->n_terms, width, height, of) : cost;
}

/* Of the same by a grid, in a picture of that size. The grid reaches beyond the
 * picture; along each axis a sample becomes part of three values, and is made
 * of three. */
gdouble
convolve_coarse_cost (const ConvolveCoarse * coarse, gint width, gint height,
    ConvolveCosts of)
{
  gdouble values = (gdouble) convolve_coarse_length (coarse, coarse->x, width)
      * convolve_coarse_length (coarse, coarse->y, height)
      / ((gdouble) width * height);
  gdouble taps = coarse->x->width + coarse->y->height;

  return costs[of].grow + values * (costs[of].shrink * coarse->step
      * coarse->step + costs[of].grid_factor * taps);
}

/* ---- forms ---- */

static gboolean
check_direct (guint64 taps, GError ** error)
{
  if (taps <= CONVOLVE_DIRECT_MAX_TAPS)
    return TRUE;
  g_set_error (error, CONVOLVE_ERROR, CONVOLVE_ERROR_UNSUPPORTED,
      "method=direct would take %" G_GUINT64_FORMAT " weights and can have %d:"
      " choose method=auto or a smaller sigma or radius", taps,
      CONVOLVE_DIRECT_MAX_TAPS);
  return FALSE;
}

static gboolean
term_make_direct (ConvolveTerm * term, GError ** error)
{
  ConvolveMatrix *matrix;

  if (term->matrix != NULL)
    return TRUE;
  if (!check_direct (term_taps (term), error))
    return FALSE;
  matrix = convolve_matrix_outer (term->x, term->y);
  convolve_term_clear (term);
  term->matrix = matrix;
  return TRUE;
}

/* Adds the weights of term to a larger matrix, anchor upon anchor. */
static void
add_term (ConvolveMatrix * to, const ConvolveTerm * term)
{
  guint width = convolve_term_width (term);
  guint height = convolve_term_height (term);
  guint x = to->anchor_x - width / 2, y = to->anchor_y - height / 2;

  for (guint j = 0; j < height; j++) {
    gdouble *row = to->weights + (gsize) (y + j) * to->width + x;

    for (guint i = 0; i < width; i++)
      row[i] += term->matrix != NULL ?
          term->matrix->weights[(gsize) j * width + i] :
          term->y->weights[j] * term->x->weights[i];
  }
}

/* Several terms of a sum become one matrix. */
static gboolean
operation_merge (ConvolveOperation * operation, GError ** error)
{
  guint width = 1, height = 1;
  g_autofree gdouble *zeros = NULL;
  ConvolveMatrix *matrix;

  /* Odd sizes have room for an even one of one less on either side. */
  for (guint i = 0; i < operation->n_terms; i++) {
    width = MAX (width, convolve_term_width (&operation->term[i]) | 1);
    height = MAX (height, convolve_term_height (&operation->term[i]) | 1);
  }
  if (!check_direct ((guint64) width * height, error))
    return FALSE;

  zeros = g_new0 (gdouble, (gsize) width * height);
  matrix = convolve_matrix_new (width, height, zeros);
  for (guint i = 0; i < operation->n_terms; i++) {
    /* Where terms cancel out, the method must not change what they are. */
    operation->has_negative |= convolve_operation_has_negative (operation,
        &operation->term[i]);
    add_term (matrix, &operation->term[i]);
    convolve_term_clear (&operation->term[i]);
  }
  operation->n_terms = 1;
  operation->term[0].matrix = matrix;
  return TRUE;
}

/* Whether the rank test is worth its time: for lines, and up to what a user's
 * own matrix may be. A matrix of several frames that is no product of weights
 * of frames and one matrix stays whole. */
static gboolean
term_may_separate (const ConvolveTerm * term)
{
  guint width = convolve_term_width (term);
  guint height = convolve_term_height (term);

  if (term->matrix != NULL && term->matrix->depth > 1)
    return FALSE;
  return width == 1 || height == 1 || (width <= CONVOLVE_MATRIX_MAX_SIDE
      && height <= CONVOLVE_MATRIX_MAX_SIDE);
}

/* One matrix becomes a sum of pairs; FALSE if that takes too many. */
static gboolean
operation_split (ConvolveOperation * operation, guint most)
{
  ConvolveMatrix *x[CONVOLVE_MAX_TERMS], *y[CONVOLVE_MAX_TERMS];
  ConvolveTerm *first = &operation->term[0];
  guint n;

  if (!term_may_separate (first))
    return FALSE;
  n = convolve_matrix_low_rank (first->matrix, most, x, y);
  if (n == 0)
    return FALSE;
  operation->has_negative = convolve_operation_has_negative (operation, first);
  operation->split = n > 1;
  convolve_term_clear (first);
  for (guint t = 0; t < n; t++) {
    operation->term[t].x = x[t];
    operation->term[t].y = y[t];
  }
  operation->n_terms = n;
  return TRUE;
}

static gboolean
term_separate (ConvolveTerm * term)
{
  ConvolveMatrix *x, *y;

  if (term->matrix == NULL)
    return TRUE;
  if (!term_may_separate (term)
      || !convolve_matrix_separate (term->matrix, &x, &y))
    return FALSE;
  convolve_term_clear (term);
  term->x = x;
  term->y = y;
  return TRUE;
}

/* ---- methods ---- */

static gboolean
refuse (const ConvolveSettings * settings, const gchar * why, GError ** error)
{
  g_set_error (error, CONVOLVE_ERROR, CONVOLVE_ERROR_UNSUPPORTED,
      "method=%s cannot be had: the filter %s with these values is not %s",
      method_names[settings->method], convolve_filter_name (settings->filter),
      why);
  return FALSE;
}

static gboolean
apply_direct (ConvolveOperation * operation, GError ** error)
{
  if (operation->combine == CONVOLVE_COMBINE_SUM && operation->n_terms > 1)
    return operation_merge (operation, error);
  for (guint t = 0; t < operation->n_terms; t++)
    if (!term_make_direct (&operation->term[t], error))
      return FALSE;
  return TRUE;
}

static gboolean
apply_separable (ConvolveOperation * operation)
{
  for (guint t = 0; t < operation->n_terms; t++)
    if (!term_separate (&operation->term[t]))
      return FALSE;
  return TRUE;
}

/* All weights alike, but for the outermost ones, which are alike too. */
static gboolean
is_box_line (const ConvolveMatrix * line)
{
  guint n = line->width * line->height;
  const gdouble *w = line->weights;
  gdouble inner = n > 2 ? w[1] : w[0];

  for (guint i = 1; i + 1 < n; i++)
    if (fabs (w[i] - inner) > 1e-9 * fabs (inner))
      return FALSE;
  return fabs (w[n - 1] - w[0]) <= 1e-9 * fabs (inner);
}

static gboolean
apply_sums (ConvolveOperation * operation)
{
  const ConvolveTerm *term = &operation->term[0];

  return operation->combine == CONVOLVE_COMBINE_SUM && operation->n_terms == 1
      && apply_separable (operation) && is_box_line (term->x)
      && is_box_line (term->y);
}

static gboolean
is_one_matrix (const ConvolveOperation * operation)
{
  return operation->combine == CONVOLVE_COMBINE_SUM && operation->n_terms == 1
      && operation->term[0].matrix != NULL;
}

static gboolean
apply_low_rank (ConvolveOperation * operation)
{
  return apply_separable (operation) || (is_one_matrix (operation)
      && operation_split (operation, CONVOLVE_MAX_TERMS));
}

/* The most pairs that are cheaper than the matrix itself. */
static guint
affordable_pairs (const ConvolveTerm * term, ConvolveCosts of)
{
  gdouble direct = cost_direct (term, of);
  guint n = 0;

  while (n < CONVOLVE_MAX_TERMS && cost_pairs (n + 1,
          convolve_term_width (term), convolve_term_height (term),
          of) <= direct)
    n++;
  return n;
}

/* Rows and columns where that is cheaper, at the price of the same; a sum of
 * them where one matrix stands alone. */
static void
apply_cheapest (ConvolveOperation * operation, ConvolveCosts of)
{
  for (guint t = 0; t < operation->n_terms; t++) {
    ConvolveTerm *term = &operation->term[t];
    gboolean line = convolve_term_width (term) == 1
        || convolve_term_height (term) == 1;

    if (line || affordable_pairs (term, of) > 0)
      term_separate (term);
  }
  if (is_one_matrix (operation)) {
    guint pairs = affordable_pairs (&operation->term[0], of);

    if (pairs > 1)
      operation_split (operation, pairs);
  }
}

/* Why it came out so: costs of what it is and of what it might have been. */
static void
explain (ConvolveOperation * operation, const ConvolveSettings * settings,
    gdouble direct)
{
  gdouble cost = convolve_operation_cost (operation, settings->costs);

  if (settings->method != CONVOLVE_METHOD_AUTO)
    operation->why = g_strdup_printf ("method=%s, cost %g",
        method_names[settings->method], cost);
  else if (operation->n_terms > 0 && operation->term[0].matrix == NULL)
    operation->why = g_strdup_printf ("cost %g, direct %g", cost, direct);
  else
    operation->why = g_strdup_printf ("cost %g", cost);
}

gboolean
convolve_operation_apply_method (ConvolveOperation * operation,
    const ConvolveSettings * settings, GError ** error)
{
  ConvolveMethod method = settings->method;
  gboolean auto_or_pyramid = method == CONVOLVE_METHOD_AUTO
      || method == CONVOLVE_METHOD_PYRAMID;
  gdouble direct = 0;

  operation->method = method;
  if (operation->combine == CONVOLVE_COMBINE_DETAIL)
    return auto_or_pyramid || refuse (settings, "a weighted sum, but a pyramid",
        error);
  if (operation->combine == CONVOLVE_COMBINE_DIFFUSE)
    return method == CONVOLVE_METHOD_AUTO || method == CONVOLVE_METHOD_DIRECT
        || refuse (settings, "a weighted sum", error);

  for (guint t = 0; t < operation->n_terms; t++)
    direct += cost_direct (&operation->term[t], settings->costs);
  switch (method) {
    case CONVOLVE_METHOD_DIRECT:
      if (!apply_direct (operation, error))
        return FALSE;
      break;
    case CONVOLVE_METHOD_SEPARABLE:
      if (!apply_separable (operation))
        return refuse (settings, "the product of a row and a column", error);
      break;
    case CONVOLVE_METHOD_LOWRANK:
      if (!apply_low_rank (operation))
        return refuse (settings, "a sum of few products of a row and a column",
            error);
      break;
    case CONVOLVE_METHOD_SUMS:
      if (!apply_sums (operation))
        return refuse (settings, "a box", error);
      break;
    case CONVOLVE_METHOD_PYRAMID:
      if (settings->filter != CONVOLVE_FILTER_GAUSSIAN)
        return refuse (settings, "a pyramid, which detail and gaussian can be",
            error);
      /* Whether there is a grid for these weights is for later. */
      break;
    default:
      apply_cheapest (operation, settings->costs);
  }
  explain (operation, settings, direct);
  return TRUE;
}
