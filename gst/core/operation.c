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
check_gains (const ConvolveMatrix * gains)
{
  return gains == NULL || (gains->height == 1 && gains->depth == 1
      && gains->width <= CONVOLVE_MAX_LEVELS);
}

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
    {"method", (guint) settings->method < CONVOLVE_N_METHODS},
    {"levels", settings->levels >= 1
          && settings->levels <= CONVOLVE_MAX_LEVELS},
    {"detail-gains", check_gains (settings->detail_gains)},
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

void
convolve_term_clear (ConvolveTerm * term)
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

guint
convolve_term_width (const ConvolveTerm * term)
{
  return term->matrix != NULL ? term->matrix->width : term->x->width;
}

guint
convolve_term_height (const ConvolveTerm * term)
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
gboolean
convolve_term_has_negative (const ConvolveTerm * term)
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
gboolean
convolve_operation_has_negative (const ConvolveOperation * operation,
    const ConvolveTerm * term)
{
  if (operation->t == NULL)
    return convolve_term_has_negative (term);
  return (convolve_term_has_negative (term) && has_positive (operation->t))
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

static void
operation_trim (ConvolveOperation * operation)
{
  /* Its matrix says what it reads, whatever the weights. */
  if (operation->combine == CONVOLVE_COMBINE_DIFFUSE)
    return;
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

/* A level's detail is a sample less a mean of samples; low-pass and E are
 * means. Level l reads 3 pixels of its own around, each 1 << l of the
 * picture's. */
static void
operation_measure_levels (ConvolveOperation * operation)
{
  guint reach = 4u << operation->n_levels;

  operation->l1 = 1;
  for (guint l = 0; l < operation->n_levels; l++)
    operation->l1 += 2 * fabs (operation->level[l]);
  operation->has_negative = TRUE;
  operation->left = operation->right = reach;
  operation->above = operation->below = reach;
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
    guint width = convolve_term_width (term);
    guint height = convolve_term_height (term);
    gdouble norm = term_l1 (term);

    sum += term_sum (term);
    l1 += norm;
    square += norm * norm;
    if (!operation->split)
      operation->has_negative |=
          convolve_operation_has_negative (operation, term);
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
    case CONVOLVE_COMBINE_DIFFUSE:
      /* No value leaves the range of its neighbours'. The slope of f is in
       * -1/8 .. 1, so an error is passed on times 1 + 8 x amount / 8 at
       * most. */
      operation->sum = tidy_sum (sum_t, l1_t);
      operation->l1 = l1_t;
      operation->growth = (1 + operation->amount) * l1_t;
      operation->has_negative = TRUE;
      return;
    case CONVOLVE_COMBINE_DETAIL:
      operation_measure_levels (operation);
      operation->sum = tidy_sum (sum_t, l1_t);
      operation->l1 *= l1_t;
      break;
  }
  operation->growth = operation->l1;
}

/* Gaussians alone: of all other filters none is long, smooth and a mean. */
static gboolean
operation_find_coarse (ConvolveOperation * operation,
    const ConvolveSettings * settings, GError ** error)
{
  gboolean forced = settings->method == CONVOLVE_METHOD_PYRAMID;

  if (settings->filter != CONVOLVE_FILTER_GAUSSIAN
      || (!forced && settings->method != CONVOLVE_METHOD_AUTO))
    return TRUE;
  if (convolve_coarse_find (&operation->coarse, &operation->term[0],
          CONVOLVE_COARSE_MAX_ERROR) || !forced)
    return TRUE;
  g_set_error_literal (error, CONVOLVE_ERROR, CONVOLVE_ERROR_UNSUPPORTED,
      "method=pyramid cannot be had: it wants a sigma and sigma-y of more than "
      "10 pixels of each plane, subsampled ones too: choose larger ones or "
      "method=auto");
  return FALSE;
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
  if (!convolve_operation_apply_method (operation, settings, error))
    return NULL;
  operation_trim (operation);   /* what became 0 in a sum or a product */
  operation_measure (operation);
  if (convolve_operation_compose (operation, settings)) {
    operation->left = operation->right = 0;
    operation->above = operation->below = 0;
    operation_trim (operation);
    operation_measure (operation);
  }
  if (!operation_find_coarse (operation, settings, error))
    return NULL;
  return g_steal_pointer (&operation);
}

void
convolve_operation_free (ConvolveOperation * operation)
{
  if (operation == NULL)
    return;
  for (guint i = 0; i < CONVOLVE_MAX_TERMS; i++)
    convolve_term_clear (&operation->term[i]);
  g_clear_pointer (&operation->t, convolve_matrix_unref);
  convolve_coarse_clear (&operation->coarse);
  g_free (operation->why);
  g_free (operation);
}

guint
convolve_operation_levels (const ConvolveOperation * operation, gint width,
    gint height)
{
  gint side = MAX (width, height);
  guint n = 0;

  for (; n < operation->n_levels && side > 1; n++)
    side -= side / 2;
  return n;
}

gboolean
convolve_operation_is_identity (const ConvolveOperation * operation)
{
  if (operation->t != NULL || convolve_operation_frames (operation) > 1)
    return FALSE;
  if (operation->combine == CONVOLVE_COMBINE_DETAIL)
    return operation->n_levels == 0;
  if (operation->n_terms != 1)
    return FALSE;
  switch (operation->combine) {
    case CONVOLVE_COMBINE_SUM:
      return term_is_identity (&operation->term[0]);
    case CONVOLVE_COMBINE_UNSHARP:
      return operation->amount == 0 || term_is_identity (&operation->term[0]);
    case CONVOLVE_COMBINE_DIFFUSE:
      return operation->amount == 0;
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
    [CONVOLVE_COMBINE_DIFFUSE] = "diffusion of ",
  };
  GString *string = g_string_new (NULL);

  if (convolve_operation_frames (operation) > 1)
    g_string_append_printf (string, "%u frames, ",
        convolve_operation_frames (operation));
  if (operation->combine == CONVOLVE_COMBINE_DETAIL) {
    g_string_append_printf (string, "pyramid of %u level%s",
        operation->n_levels, operation->n_levels == 1 ? "" : "s");
    return g_string_free (string, FALSE);
  }

  if (operation->combine != CONVOLVE_COMBINE_SUM || operation->n_terms > 1)
    g_string_append (string, combines[operation->combine]);
  for (guint i = 0; i < operation->n_terms; i++) {
    const ConvolveTerm *term = &operation->term[i];

    g_string_append_printf (string, "%s%s %ux%u", i > 0 ? ", " : "",
        term->matrix != NULL ? "direct" : "separable",
        convolve_term_width (term), convolve_term_height (term));
  }
  return g_string_free (string, FALSE);
}
