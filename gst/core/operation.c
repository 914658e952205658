/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* From a filter's terms to an operation: which form each term takes, and the
 * figures that plans and backends need of it. */
#include "config.h"

#include <math.h>

#include "filter-private.h"

/* A sum this close to 0 or to 1, against the l1 norm, is meant to be it: the
 * offset of a plan then comes out exact. */
#define SUM_TOLERANCE 1e-12

static gboolean
check_settings (const ConvolveSettings * settings, GError ** error)
{
  const struct
  {
    const gchar *name;
    gboolean ok;
  } checks[] = {
    {"filter", (guint) settings->filter < CONVOLVE_N_FILTERS},
    {"sigma", convolve_in_range (settings->sigma, 0, 1000)},
    {"sigma-y", convolve_in_range (settings->sigma_y, -G_MAXDOUBLE, 1000)},
    {"radius", convolve_in_range (settings->radius, -1, 1024)},
    {"amount", convolve_in_range (settings->amount, -CONVOLVE_MATRIX_MAX_WEIGHT,
            CONVOLVE_MATRIX_MAX_WEIGHT)},
    {"angle", isfinite (settings->angle)},
    {"gradient", (guint) settings->gradient <= CONVOLVE_GRADIENT_Y},
    {"method", (guint) settings->method <= CONVOLVE_METHOD_SEPARABLE},
    {"temporal-mode",
        (guint) settings->temporal_mode <= CONVOLVE_TEMPORAL_CAUSAL},
    {"kernel-t", settings->kernel_t == NULL || (settings->kernel_t->height == 1
              && settings->kernel_t->depth == 1
              && settings->kernel_t->width <= CONVOLVE_MATRIX_MAX_DEPTH)},
  };

  for (guint i = 0; i < G_N_ELEMENTS (checks); i++) {
    if (!checks[i].ok) {
      g_set_error (error, CONVOLVE_ERROR, CONVOLVE_ERROR_INVALID,
          "%s has a value that cannot be used", checks[i].name);
      return FALSE;
    }
  }
  return TRUE;
}

static void
term_clear (ConvolveTerm * term)
{
  g_clear_pointer (&term->matrix, convolve_matrix_unref);
  g_clear_pointer (&term->x, convolve_matrix_unref);
  g_clear_pointer (&term->y, convolve_matrix_unref);
}

static void
trim (ConvolveMatrix ** matrix)
{
  ConvolveMatrix *trimmed;

  if (*matrix == NULL || (*matrix)->depth > 1)
    return;
  trimmed = convolve_matrix_trim (*matrix);
  convolve_matrix_unref (*matrix);
  *matrix = trimmed;
}

/* ---- the figures of one term ---- */

static guint
term_width (const ConvolveTerm * term)
{
  return term->matrix != NULL ? term->matrix->width : term->x->width;
}

static guint
term_height (const ConvolveTerm * term)
{
  return term->matrix != NULL ? term->matrix->height : term->y->height;
}

static gdouble
term_sum (const ConvolveTerm * term)
{
  return term->matrix != NULL ? convolve_matrix_sum (term->matrix) :
      convolve_matrix_sum (term->x) * convolve_matrix_sum (term->y);
}

static gdouble
term_l1 (const ConvolveTerm * term)
{
  return term->matrix != NULL ? convolve_matrix_l1 (term->matrix) :
      convolve_matrix_l1 (term->x) * convolve_matrix_l1 (term->y);
}

static gboolean
has_positive (const ConvolveMatrix * matrix)
{
  for (gsize i = 0; i < (gsize) matrix->width * matrix->height * matrix->depth;
      i++)
    if (matrix->weights[i] > 0)
      return TRUE;
  return FALSE;
}

/* A product of a row and a column is negative where their signs differ. */
static gboolean
term_has_negative (const ConvolveTerm * term)
{
  if (term->matrix != NULL)
    return convolve_matrix_has_negative (term->matrix);
  return (convolve_matrix_has_negative (term->x) && has_positive (term->y))
      || (has_positive (term->x) && convolve_matrix_has_negative (term->y));
}

static gboolean
term_has_positive (const ConvolveTerm * term)
{
  if (term->matrix != NULL)
    return has_positive (term->matrix);
  return (has_positive (term->x) && has_positive (term->y))
      || (convolve_matrix_has_negative (term->x)
      && convolve_matrix_has_negative (term->y));
}

/* Of a term's weights times those of frames. */
static gboolean
operation_has_negative (const ConvolveOperation * operation,
    const ConvolveTerm * term)
{
  if (operation->t == NULL)
    return term_has_negative (term);
  return (term_has_negative (term) && has_positive (operation->t))
      || (term_has_positive (term)
      && convolve_matrix_has_negative (operation->t));
}

static gboolean
term_is_identity (const ConvolveTerm * term)
{
  if (term->matrix != NULL)
    return convolve_matrix_is_identity (term->matrix);
  return convolve_matrix_is_identity (term->x)
      && convolve_matrix_is_identity (term->y);
}

/* ---- forms ---- */

static guint64
term_taps (const ConvolveTerm * term)
{
  return (guint64) term_width (term) * term_height (term);
}

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
  term_clear (term);
  term->matrix = matrix;
  return TRUE;
}

/* Adds the weights of term to a larger matrix, anchor upon anchor. */
static void
add_term (ConvolveMatrix * to, const ConvolveTerm * term)
{
  guint width = term_width (term), height = term_height (term);
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
    width = MAX (width, term_width (&operation->term[i]) | 1);
    height = MAX (height, term_height (&operation->term[i]) | 1);
  }
  if (!check_direct ((guint64) width * height, error))
    return FALSE;

  zeros = g_new0 (gdouble, (gsize) width * height);
  matrix = convolve_matrix_new (width, height, zeros);
  for (guint i = 0; i < operation->n_terms; i++) {
    /* Where terms cancel out, the method must not change what they are. */
    operation->has_negative |= operation_has_negative (operation,
        &operation->term[i]);
    add_term (matrix, &operation->term[i]);
    term_clear (&operation->term[i]);
  }
  operation->n_terms = 1;
  operation->term[0].matrix = matrix;
  return TRUE;
}

/* Whether the rank test is worth its time: for lines, and up to what a user's
 * own matrix may be. */
static gboolean
term_may_separate (const ConvolveTerm * term)
{
  guint width = term_width (term), height = term_height (term);

  if (term->matrix != NULL && term->matrix->depth > 1)
    return FALSE;
  return width == 1 || height == 1 || (width <= CONVOLVE_MATRIX_MAX_SIDE
      && height <= CONVOLVE_MATRIX_MAX_SIDE);
}

static void
term_try_separate (ConvolveTerm * term)
{
  ConvolveMatrix *x, *y;

  if (term->matrix == NULL || !term_may_separate (term)
      || !convolve_matrix_separate (term->matrix, &x, &y))
    return;
  term_clear (term);
  term->x = x;
  term->y = y;
}

static gboolean
operation_apply_method (ConvolveOperation * operation,
    const ConvolveSettings * settings, GError ** error)
{
  if (settings->method == CONVOLVE_METHOD_DIRECT
      && operation->combine == CONVOLVE_COMBINE_SUM && operation->n_terms > 1)
    return operation_merge (operation, error);

  for (guint i = 0; i < operation->n_terms; i++) {
    ConvolveTerm *term = &operation->term[i];

    if (settings->method == CONVOLVE_METHOD_DIRECT) {
      if (!term_make_direct (term, error))
        return FALSE;
      continue;
    }
    term_try_separate (term);
    if (settings->method == CONVOLVE_METHOD_SEPARABLE && term->matrix != NULL) {
      g_set_error (error, CONVOLVE_ERROR, CONVOLVE_ERROR_UNSUPPORTED,
          "method=separable cannot be had: the filter %s with these values is "
          "not the product of a row and a column",
          convolve_filter_name (settings->filter));
      return FALSE;
    }
  }
  return TRUE;
}

static void
operation_trim (ConvolveOperation * operation)
{
  for (guint i = 0; i < operation->n_terms; i++) {
    trim (&operation->term[i].matrix);
    trim (&operation->term[i].x);
    trim (&operation->term[i].y);
  }
}

/* ---- frames ---- */

static gboolean
is_zero (const ConvolveMatrix * matrix, guint frame)
{
  gsize n = (gsize) matrix->width * matrix->height;

  for (gsize i = 0; i < n; i++)
    if (matrix->weights[frame * n + i] != 0)
      return FALSE;
  return TRUE;
}

/* Finds the frames that count, and leaves out the others' weights. */
static void
operation_set_frames (ConvolveOperation * operation,
    const ConvolveSettings * settings, ConvolveMatrix ** weights)
{
  guint n = (*weights)->depth, first = 0, last = n - 1, own = last;
  ConvolveMatrix *part;

  if (settings->temporal_mode == CONVOLVE_TEMPORAL_CENTERED)
    own -= n / 2;
  while (first < own && is_zero (*weights, first))
    first++;
  while (last > own && is_zero (*weights, last))
    last--;
  operation->before = own - first;
  operation->after = last - own;
  part = convolve_matrix_frames (*weights, first, last - first + 1);
  convolve_matrix_unref (*weights);
  *weights = part;
}

/* A deep matrix that is a product of weights of frames and of one matrix
 * becomes these two. */
static gboolean
operation_find_frames (ConvolveOperation * operation,
    const ConvolveSettings * settings, GError ** error)
{
  ConvolveTerm *term = &operation->term[0];
  ConvolveMatrix *frame;

  if (term->matrix != NULL && term->matrix->depth > 1) {
    if (operation->t != NULL) {
      g_set_error_literal (error, CONVOLVE_ERROR, CONVOLVE_ERROR_INVALID,
          "kernel-t and a kernel of several frames exclude each other");
      return FALSE;
    }
    operation_set_frames (operation, settings, &term->matrix);
    if (term->matrix->depth > 1 && settings->method != CONVOLVE_METHOD_DIRECT
        && convolve_matrix_separate_frames (term->matrix, &operation->t,
            &frame)) {
      convolve_matrix_unref (term->matrix);
      term->matrix = frame;
    }
  } else if (operation->t != NULL) {
    operation_set_frames (operation, settings, &operation->t);
    if (convolve_matrix_is_identity (operation->t))
      g_clear_pointer (&operation->t, convolve_matrix_unref);
  }
  return TRUE;
}

/* ---- the figures of the whole ---- */

static gdouble
tidy_sum (gdouble sum, gdouble l1)
{
  if (fabs (sum) <= SUM_TOLERANCE * l1)
    return 0;
  return fabs (sum - 1) <= SUM_TOLERANCE * l1 ? 1 : sum;
}

static void
operation_measure (ConvolveOperation * operation)
{
  gdouble sum = 0, l1 = 0, square = 0, sum_t = 1, l1_t = 1;

  if (operation->t != NULL) {
    sum_t = convolve_matrix_sum (operation->t);
    l1_t = convolve_matrix_l1 (operation->t);
  }
  for (guint i = 0; i < operation->n_terms; i++) {
    const ConvolveTerm *term = &operation->term[i];
    guint width = term_width (term), height = term_height (term);
    gdouble norm = term_l1 (term);

    sum += term_sum (term);
    l1 += norm;
    square += norm * norm;
    operation->has_negative |= operation_has_negative (operation, term);
    operation->left = MAX (operation->left, width / 2);
    operation->right = MAX (operation->right, width - 1 - width / 2);
    operation->above = MAX (operation->above, height / 2);
    operation->below = MAX (operation->below, height - 1 - height / 2);
  }
  switch (operation->combine) {
    case CONVOLVE_COMBINE_SUM:
      /* For two terms l1 is a bound: they may cancel in part. */
      operation->sum = tidy_sum (sum * sum_t, l1 * l1_t);
      operation->l1 = l1 * l1_t;
      break;
    case CONVOLVE_COMBINE_MAGNITUDE:
      operation->sum = 0;
      operation->l1 = sqrt (square) * l1_t;
      operation->has_negative = TRUE;
      break;
    case CONVOLVE_COMBINE_UNSHARP:
      operation->sum = tidy_sum (sum_t, l1_t);
      operation->l1 = (1 + fabs (operation->amount) * (1 + l1)) * l1_t;
      operation->has_negative = TRUE;
      break;
  }
}

ConvolveOperation *
convolve_operation_new (const ConvolveSettings * settings, guint w_sub,
    guint h_sub, GError ** error)
{
  g_autoptr (ConvolveOperation) operation = NULL;

  if (!check_settings (settings, error))
    return NULL;
  operation = g_new0 (ConvolveOperation, 1);
  if (!convolve_filter_build (settings, w_sub, h_sub, operation, error))
    return NULL;
  if (!operation_find_frames (operation, settings, error))
    return NULL;
  operation_trim (operation);
  if (!operation_apply_method (operation, settings, error))
    return NULL;
  operation_trim (operation);   /* what became 0 in a sum or a product */
  operation_measure (operation);
  return g_steal_pointer (&operation);
}

void
convolve_operation_free (ConvolveOperation * operation)
{
  if (operation == NULL)
    return;
  for (guint i = 0; i < CONVOLVE_MAX_TERMS; i++)
    term_clear (&operation->term[i]);
  g_clear_pointer (&operation->t, convolve_matrix_unref);
  g_free (operation);
}

gboolean
convolve_operation_is_identity (const ConvolveOperation * operation)
{
  if (operation->n_terms != 1 || operation->t != NULL
      || convolve_operation_frames (operation) > 1)
    return FALSE;
  switch (operation->combine) {
    case CONVOLVE_COMBINE_SUM:
      return term_is_identity (&operation->term[0]);
    case CONVOLVE_COMBINE_UNSHARP:
      return operation->amount == 0 || term_is_identity (&operation->term[0]);
    default:
      return FALSE;
  }
}

gchar *
convolve_operation_describe (const ConvolveOperation * operation)
{
  static const gchar *const combines[] = {
    [CONVOLVE_COMBINE_SUM] = "sum of ",
    [CONVOLVE_COMBINE_MAGNITUDE] = "magnitude of ",
    [CONVOLVE_COMBINE_UNSHARP] = "unsharp of ",
  };
  GString *string = g_string_new (NULL);

  if (convolve_operation_frames (operation) > 1)
    g_string_append_printf (string, "%u frames, ",
        convolve_operation_frames (operation));
  if (operation->combine != CONVOLVE_COMBINE_SUM || operation->n_terms > 1)
    g_string_append (string, combines[operation->combine]);
  for (guint i = 0; i < operation->n_terms; i++) {
    const ConvolveTerm *term = &operation->term[i];

    g_string_append_printf (string, "%s%s %ux%u", i > 0 ? ", " : "",
        term->matrix != NULL ? "direct" : "separable", term_width (term),
        term_height (term));
  }
  return g_string_free (string, FALSE);
}
