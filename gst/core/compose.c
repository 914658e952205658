/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Several applications of a filter as one. A row and a column without negative
 * weights, applied n times, are a longer row and column; the border rule
 * allows that where what stands outside the picture stays outside of what was
 * filtered: wrap, and for symmetric weights reflect and mirror. A sum over
 * frames is left as it is: it belongs to the first application alone. */
#include "config.h"

#include <math.h>

#include "filter-private.h"

/* Longer lines are left as iterations. */
#define MAX_COMPOSED 4097
/* What scale may come to. */
#define MAX_SCALE 1e6

static gboolean
is_symmetric_line (const ConvolveMatrix * line)
{
  guint n = line->width * line->height;

  for (guint i = 0; i < n / 2; i++)
    if (line->weights[i] != line->weights[n - 1 - i])
      return FALSE;
  return n % 2 == 1;
}

static gboolean
border_allows (ConvolveBorder border, const ConvolveTerm * term)
{
  switch (border) {
    case CONVOLVE_BORDER_WRAP:
      return TRUE;
    case CONVOLVE_BORDER_REFLECT:
    case CONVOLVE_BORDER_MIRROR:
      return is_symmetric_line (term->x) && is_symmetric_line (term->y);
    default:
      return FALSE;
  }
}

/* So that lines of n times the length are anchored at their middle. */
static guint
composed_half (guint length, guint n)
{
  return n * (length / 2);
}

static gboolean
can_compose (const ConvolveOperation * operation,
    const ConvolveSettings * settings)
{
  const ConvolveTerm *term = &operation->term[0];
  gdouble scale = pow (fabs (settings->scale), settings->iterations);

  return settings->iterations > 1 && settings->method == CONVOLVE_METHOD_AUTO
      && !convolve_operation_is_windowed (operation)
      && operation->combine == CONVOLVE_COMBINE_SUM && operation->n_terms == 1
      && term->x != NULL && !operation->has_negative && operation->sum > 0
      && border_allows (settings->border, term)
      && convolve_in_range (scale, 1 / MAX_SCALE, MAX_SCALE)
      && 2 * (guint64) composed_half (MAX (term->x->width, term->y->height),
      settings->iterations) < MAX_COMPOSED;
}

/* The line applied n times. */
static ConvolveMatrix *
line_power (const ConvolveMatrix * line, guint n)
{
  guint length = line->width * line->height;
  guint anchor = length / 2, half = composed_half (length, n);
  guint full = 2 * half + 1;
  g_autofree gdouble *sum = g_new0 (gdouble, full);
  g_autofree gdouble *next = g_new0 (gdouble, full);

  sum[half] = 1;
  for (guint k = 0; k < n; k++) {
    for (guint i = 0; i < full; i++) {
      next[i] = 0;
      for (guint j = 0; j < length; j++) {
        gint64 from = (gint64) i + anchor - j;

        if (from >= 0 && from < full)
          next[i] += line->weights[j] * sum[from];
      }
    }
    for (guint i = 0; i < full; i++)
      sum[i] = next[i];
  }
  return convolve_matrix_new (line->width > 1 ? full : 1,
      line->width > 1 ? 1 : full, sum);
}

gboolean
convolve_operation_compose (ConvolveOperation * operation,
    const ConvolveSettings * settings)
{
  ConvolveTerm *term = &operation->term[0];
  ConvolveMatrix *x, *y;
  gchar *why;

  if (!can_compose (operation, settings))
    return FALSE;
  operation->composed = settings->iterations;
  operation->step_sum = operation->sum;
  x = line_power (term->x, settings->iterations);
  y = line_power (term->y, settings->iterations);
  convolve_term_clear (term);
  term->x = x;
  term->y = y;
  why = g_strdup_printf ("%s, %u times at once", operation->why,
      settings->iterations);
  g_free (operation->why);
  operation->why = why;
  return TRUE;
}
