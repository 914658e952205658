/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The sums of terms, each in the way of its kernels: in double, but what those
 * keep as half floats is rounded to them. */
#include <math.h>

#include "cuda/banded.h"
#include "samples.h"
#include "sim.h"

/* The nearest half float's value. */
double
sim_to_half (double value)
{
  int exponent;

  frexp (value, &exponent);
  exponent = MAX (exponent - 11, -24);
  return ldexp (rint (ldexp (value, -exponent)), exponent);
}

static double
tap (const ConvolveLaunch * launch, const ConvolveLaunchPicture * p, gint64 x,
    gint64 y, guint c)
{
  gint column = sim_outside (launch->border, x, p->width);
  gint row = sim_outside (launch->border, y, p->height);

  return column < 0 || row < 0 ? p->component[c].edge :
      sim_read_sample (p, column, row, c);
}

/* The same as it counts: a colour as much as it is opaque. */
static double
weighed_tap (const ConvolveLaunch * launch, const ConvolveLaunchPicture * p,
    gint64 x, gint64 y, guint c)
{
  double v = tap (launch, p, x, y, c);

  return p->weighted && c != p->alpha ? v * tap (launch, p, x, y, p->alpha) : v;
}

double
sim_term_sum (const ConvolveLaunch * launch, const ConvolveLaunchPicture * p,
    const ConvolveLaunchTerm * term, const float *w, gint x, gint y, guint c)
{
  double sum = 0;

  for (guint j = 0; j < term->ny; j++)
    for (guint i = 0; i < term->nx; i++)
      sum += (launch->separable ? (double) w[i] * w[term->nx + j] :
          w[j * term->nx + i])
          * weighed_tap (launch, p, (gint64) x + i - term->ax,
          (gint64) y + j - term->ay, c);
  return sum;
}

/* What the products make of it: a row's sum, of samples less 128, becomes a
 * half float. */
static double
banded_sum (const ConvolveLaunch * launch, const ConvolveLaunchPicture * p,
    const ConvolveLaunchTerm * term, const float *w, gint x, gint y, guint c)
{
  double sum = 0, sx = 0, sy = 0;

  for (guint i = 0; i < term->nx; i++)
    sx += w[i];
  for (guint j = 0; j < term->ny; j++) {
    double row = 0;

    for (guint i = 0; i < term->nx; i++)
      row += w[i] * (tap (launch, p, (gint64) x + i - term->ax,
              (gint64) y + j - term->ay, c) - 128);
    sum += w[term->nx + j] * sim_to_half (row);
    sy += w[term->nx + j];
  }
  return sum + 128 * sx * sy;
}

/* The same of words: weights are the sums of two, and so is what is kept of a
 * row's sum. */
static double
words_sum (const ConvolveLaunch * launch, const ConvolveLaunchPicture * p,
    const ConvolveLaunchTerm * term, const float *w, gint x, gint y, guint c)
{
  const ConvolveLaunchComponent *k = &p->component[c];
  const float *rest = w + term->nx + term->ny + 2;
  double sum = 0, sx = 0, sy = 0, centre = 1u << (k->depth + k->shift - 1);

  for (guint i = 0; i < term->nx; i++)
    sx += (double) w[i] + rest[i];
  for (guint j = 0; j < term->ny; j++) {
    double row = 0, kept;

    for (guint i = 0; i < term->nx; i++)
      row += ((double) w[i] + rest[i]) * (ldexp (tap (launch, p,
                  (gint64) x + i - term->ax, (gint64) y + j - term->ay, c),
              k->shift) - centre) / CONVOLVE_WORDS_SCALE;
    kept = sim_to_half (row);
    kept += sim_to_half (row - kept);
    sum += ((double) w[term->nx + j] + rest[term->nx + j]) * kept
        * CONVOLVE_WORDS_SCALE;
    sy += (double) w[term->nx + j] + rest[term->nx + j];
  }
  return ldexp (sum + centre * sx * sy, -(gint) k->shift);
}

/* The same of colours times alpha: the quotient's numerator, and of alpha for
 * them: its divisor. Weights of their own lie behind those of alpha. Colours
 * are less 128, which the quotient gets back from the divisor. */
static double
share_sum (const ConvolveLaunch * launch, const ConvolveLaunchPicture * p,
    const ConvolveLaunchTerm * term, const float *w, gint x, gint y, guint c)
{
  const float *k = w + term->nx + term->ny + 2;
  double sum = 0;

  for (guint j = 0; j < term->ny; j++) {
    double row = 0;

    for (guint i = 0; i < term->nx; i++) {
      gint64 column = (gint64) x + i - term->ax, line = (gint64) y + j
          - term->ay;
      double a = tap (launch, p, column, line, p->alpha);

      row += k[i] * (c == p->alpha ? a : sim_to_half ((tap (launch, p, column,
                      line, c) - 128) * a / 16));
    }
    sum += k[term->nx + j] * sim_to_half (row);
  }
  return sum;
}

/* Of a colour's quotient. */
double
sim_divisor (const SimKernel * kernel, const ConvolveLaunch * launch,
    const ConvolveLaunchPicture * p, const ConvolveLaunchTerm * term,
    const float *w, gint x, gint y)
{
  return (sim_kernel_is_weighted (kernel) ? share_sum : sim_term_sum)
      (launch, p, term, w, x, y, p->alpha);
}

double
sim_sum (const SimKernel * kernel, const ConvolveLaunch * launch,
    const ConvolveLaunchPicture * p, const ConvolveLaunchTerm * term,
    const float *w, gint x, gint y, guint c)
{
  if (sim_kernel_is_weighted (kernel) && c != p->alpha)
    return 16 * share_sum (launch, p, term, w, x, y, c)
        + 128 * share_sum (launch, p, term, w, x, y, p->alpha);
  if (!sim_kernel_is_banded (kernel) || sim_kernel_is_direct (kernel))
    return sim_term_sum (launch, p, term, w, x, y, c);
  return (sim_kernel_has_words (kernel) ? words_sum : banded_sum)
      (launch, p, term, w, x, y, c);
}
