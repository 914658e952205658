/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Long smooth lines of weights by a coarse grid (ConvolveCoarse): samples are
 * summed up to one value for each `step` of them, these are filtered with few
 * weights, and splines lead back. What comes of it is, for each place p within
 * a step, one line of weights, so its distance from the line that was asked for
 * is a bound that holds for every picture.
 *
 * The weights of the grid are those of the least squares over all of these
 * lines. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "filter-private.h"

/* Of samples that are summed up to a value; of values that a sample is made
 * of. */
#define DOWN_STEPS 3
#define UP_TAPS 3
/* A weight of the grid reaches so many samples, in steps, from two before its
 * own on. */
#define REACH (DOWN_STEPS + UP_TAPS - 1)
#define FIRST (-2)
#define MAX_STEP 16
/* Sums that are not 1 but for rounding. */
#define SUM_TOLERANCE 1e-9

typedef struct
{
  gint step;
  /* Of places 0 .. step / 2 - 1 within a step, the rest being their mirror
   * images: what a weight of the grid is to the samples that it reaches. */
  gdouble basis[MAX_STEP / 2][REACH * MAX_STEP];
  const gdouble *line;          /* that is wanted: its middle, ... */
  gint half;                    /* ... and so many weights on either side */
  gint n;                       /* unknown weights: the middle one, a side */
} Fit;

/* A line of step ones, convolved with itself twice, and a 0 on either side;
 * sum 1. */
static void
down_weights (gint step, gdouble * weights)
{
  memset (weights, 0, DOWN_STEPS * step * sizeof (gdouble));
  for (gint a = 0; a < step; a++)
    for (gint b = 0; b < step; b++)
      for (gint c = 0; c < step; c++)
        weights[1 + a + b + c] += 1.0 / ((gdouble) step * step * step);
}

/* A quadratic B-spline at place p of the step. */
static void
up_weights (gint step, gint p, gdouble * weights)
{
  gdouble t = (p + 0.5) / step - 0.5;

  weights[0] = (0.5 - t) * (0.5 - t) / 2;
  weights[1] = 0.75 - t * t;
  weights[2] = (0.5 + t) * (0.5 + t) / 2;
}

static void
fit_init (Fit * fit, const ConvolveMatrix * line, gint step)
{
  gdouble down[DOWN_STEPS * MAX_STEP], up[UP_TAPS];

  memset (fit, 0, sizeof (*fit));
  fit->step = step;
  fit->half = (line->width * line->height) / 2;
  fit->line = line->weights + fit->half;
  fit->n = (fit->half + step - 1) / step + 2;
  down_weights (step, down);
  for (gint p = 0; p < step / 2; p++) {
    up_weights (step, p, up);
    for (gint m = 0; m < UP_TAPS; m++)
      for (gint i = 0; i < DOWN_STEPS * step; i++)
        fit->basis[p][m * step + i] += up[m] * down[i];
  }
}

static gdouble
wanted (const Fit * fit, gint i)
{
  return ABS (i) <= fit->half ? fit->line[i] : 0;
}

/* The weights of the grid that reach sample k, of those that there are: from
 * *first to *last. */
static void
reaching (const Fit * fit, gint k, gint * first, gint * last)
{
  /* k - step x g is in FIRST x step .. (FIRST + REACH) x step - 1. What is
   * divided is not negative. */
  gint above = fit->n + FIRST + REACH;
  gint g = (k + above * fit->step) / fit->step - above - FIRST;

  *last = MIN (g, fit->n - 1);
  *first = MAX (g - REACH + 1, 1 - fit->n);
}

static gdouble
basis_at (const Fit * fit, gint p, gint k, gint g)
{
  return fit->basis[p][k - fit->step * (g + FIRST)];
}

/* Samples from -limit on, before limit, are all that anything reaches. */
static gint
fit_limit (const Fit * fit)
{
  return (fit->n - 1 + FIRST + REACH) * fit->step;
}

/* The normal equations; a row of them has n coefficients and a right side. */
static void
fit_equations (const Fit * fit, gdouble * rows)
{
  gint limit = fit_limit (fit), pitch = fit->n + 1, first, last;

  for (gint p = 0; p < fit->step / 2; p++) {
    for (gint k = -limit; k < limit; k++) {
      reaching (fit, k, &first, &last);
      for (gint g = first; g <= last; g++) {
        gdouble b = basis_at (fit, p, k, g);
        gdouble *row = rows + ABS (g) * pitch;

        for (gint h = first; h <= last; h++)
          row[ABS (h)] += b * basis_at (fit, p, k, h);
        row[fit->n] += b * wanted (fit, k - p);
      }
    }
  }
}

/* Elimination without pivots, which a matrix of least squares does not need;
 * rows farther apart than REACH have nothing in common. FALSE if the weights
 * are not determined. */
static gboolean
solve (gdouble * rows, gint n, gdouble * x)
{
  gint pitch = n + 1;

  for (gint i = 0; i < n; i++) {
    const gdouble *row = rows + i * pitch;
    gint end = MIN (i + REACH, n);

    if (!(row[i] > 1e-12 * rows[0]))
      return FALSE;
    for (gint j = i + 1; j < end; j++) {
      gdouble *other = rows + j * pitch;
      gdouble factor = other[i] / row[i];

      for (gint k = i; k < end; k++)
        other[k] -= factor * row[k];
      other[n] -= factor * row[n];
    }
  }
  for (gint i = n - 1; i >= 0; i--) {
    const gdouble *row = rows + i * pitch;

    x[i] = row[n];
    for (gint j = i + 1; j < MIN (i + REACH, n); j++)
      x[i] -= row[j] * x[j];
    x[i] /= row[i];
  }
  return TRUE;
}

/* Makes the sum 1; weights as floats have them. */
static void
round_weights (gdouble * x, gint n)
{
  gdouble sum = x[0];

  for (gint i = 1; i < n; i++)
    sum += 2 * x[i];
  for (gint i = 0; i < n; i++)
    x[i] = (gfloat) (x[i] / sum);
}

/* The most, over the places p, that the sum of magnitudes of what is wrong
 * comes to. Sums that differ count too: a picture is bounded around its
 * middle. */
static gdouble
fit_error (const Fit * fit, const gdouble * x)
{
  gint limit = fit_limit (fit), first, last;
  gdouble most = 0;

  for (gint p = 0; p < fit->step / 2; p++) {
    gdouble error = 0, sum = 0;

    for (gint k = -limit; k < limit; k++) {
      gdouble w = 0;

      reaching (fit, k, &first, &last);
      for (gint g = first; g <= last; g++)
        w += x[ABS (g)] * basis_at (fit, p, k, g);
      error += fabs (w - wanted (fit, k - p));
      sum += w;
    }
    most = MAX (most, error + fabs (sum - 1));
  }
  return most;
}

/* The weights of the grid for line, or NULL if its error is above most. */
static ConvolveMatrix *
fit_line (const ConvolveMatrix * line, gint step, gdouble most, gdouble * error)
{
  g_autofree Fit *fit = g_new (Fit, 1);
  g_autofree gdouble *rows = NULL, *x = NULL, *weights = NULL;
  gint n;

  fit_init (fit, line, step);
  n = fit->n;
  rows = g_new0 (gdouble, (gsize) n * (n + 1));
  x = g_new0 (gdouble, n);
  fit_equations (fit, rows);
  if (!solve (rows, n, x))
    return NULL;
  round_weights (x, n);
  *error = fit_error (fit, x);
  if (!(*error <= most))
    return NULL;
  weights = g_new (gdouble, 2 * n - 1);
  for (gint i = 0; i < 2 * n - 1; i++)
    weights[i] = x[ABS (i - n + 1)];
  return convolve_matrix_new (line->width > 1 ? 2 * n - 1 : 1,
      line->width > 1 ? 1 : 2 * n - 1, weights);
}

/* What a coarse grid can be for at all. */
static gboolean
is_mean (const ConvolveMatrix * line)
{
  guint n = line->width * line->height;

  if (n < 3 || n % 2 == 0
      || !(fabs (convolve_matrix_sum (line) - 1) <= SUM_TOLERANCE))
    return FALSE;
  for (guint i = 0; i < n / 2; i++)
    if (line->weights[i] != line->weights[n - 1 - i])
      return FALSE;
  return TRUE;
}

static gboolean
same_weights (const ConvolveMatrix * a, const ConvolveMatrix * b)
{
  guint n = a->width * a->height;

  return n == b->width * b->height
      && memcmp (a->weights, b->weights, n * sizeof (gdouble)) == 0;
}

/* The column of the grid, which is mostly its row. */
static ConvolveMatrix *
fit_column (const ConvolveCoarse * coarse, const ConvolveTerm * term,
    gint step, gdouble most, gdouble ex, gdouble * ey)
{
  if (!same_weights (term->x, term->y))
    return fit_line (term->y, step, most, ey);
  *ey = ex;
  return convolve_matrix_new (1, coarse->x->width, coarse->x->weights);
}

void
convolve_coarse_clear (ConvolveCoarse * coarse)
{
  g_clear_pointer (&coarse->x, convolve_matrix_unref);
  g_clear_pointer (&coarse->y, convolve_matrix_unref);
  coarse->step = 0;
}

/* The cut of a gaussian at 3 sigma is a step that a grid blurs: no grid of a
 * fourth of sigma or more comes near enough, so those are not tried. */
gboolean
convolve_coarse_find (ConvolveCoarse * coarse, const ConvolveTerm * term,
    gdouble most)
{
  if (term->x == NULL || !is_mean (term->x) || !is_mean (term->y))
    return FALSE;
  for (guint step = MAX_STEP; step > 1; step /= 2) {
    gdouble ex, ey;

    if (MIN (term->x->width, term->y->height) < 24 * step)
      continue;
    coarse->x = fit_line (term->x, step, most, &ex);
    coarse->y = coarse->x == NULL ? NULL :
        fit_column (coarse, term, step, most, ex, &ey);
    if (coarse->y != NULL && ex + ey + ex * ey <= most) {
      coarse->step = step;
      coarse->error = ex + ey + ex * ey;
      return TRUE;
    }
    convolve_coarse_clear (coarse);
  }
  return FALSE;
}

/* The grid's values before the one of the first samples, which may be outside:
 * those that the filter needs, and one more for the way back. */
guint
convolve_coarse_margin (const ConvolveMatrix * line)
{
  return (line->width * line->height) / 2 + 1;
}

gint
convolve_coarse_length (const ConvolveCoarse * coarse,
    const ConvolveMatrix * line, gint length)
{
  gint step = coarse->step;

  return (length - 1) / step + 1 + 2 * (gint) convolve_coarse_margin (line);
}
