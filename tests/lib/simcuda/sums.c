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

/* The same of a sum over frames: a row has weights for each. */
static double
folded_sum (const ConvolveLaunch * launch, const ConvolveLaunchPicture * p,
    const ConvolveLaunchTerm * term, const float *w, gint x, gint y, guint c)
{
  const float *column = w + launch->n_frames * term->nx;
  double sum = 0, all = 0, sy = 0;

  for (guint j = 0; j < term->ny; j++) {
    double row = 0, sx = 0;

    for (guint f = 0; f < launch->n_frames; f++) {
      ConvolveLaunchPicture frame = *p;

      frame.src += launch->frame[f];
      for (guint i = 0; i < term->nx; i++) {
        row += w[f * term->nx + i] * (tap (launch, &frame,
                (gint64) x + i - term->ax, (gint64) y + j - term->ay, c) - 128);
        sx += w[f * term->nx + i];
      }
    }
    sum += column[j] * sim_to_half (row);
    sy += column[j];
    all = sx;
  }
  return sum + 128 * all * sy;
}

/* Frames that a launch sums over, and the picture of one. */
static guint
count_frames (const ConvolveLaunch * launch)
{
  return MAX (launch->n_frames, 1);
}

static ConvolveLaunchPicture
frame_picture (const ConvolveLaunch * launch, const ConvolveLaunchPicture * p,
    guint f)
{
  ConvolveLaunchPicture frame = *p;

  if (launch->n_frames > 0)
    frame.src += launch->frame[f];
  return frame;
}

/* The same of words: weights are the sums of two, and so is what is kept of a
 * row's sum. */
static double
words_sum (const ConvolveLaunch * launch, const ConvolveLaunchPicture * p,
    const ConvolveLaunchTerm * term, const float *w, gint x, gint y, guint c)
{
  const ConvolveLaunchComponent *k = &p->component[c];
  guint frames = count_frames (launch), n = frames * term->nx;
  const float *rest = w + n + term->ny + 2;
  double sum = 0, sx = 0, sy = 0, centre = 1u << (k->depth + k->shift - 1);

  for (guint i = 0; i < n; i++)
    sx += (double) w[i] + rest[i];
  for (guint j = 0; j < term->ny; j++) {
    double row = 0, kept;

    for (guint f = 0; f < frames; f++) {
      ConvolveLaunchPicture frame = frame_picture (launch, p, f);

      for (guint i = 0; i < term->nx; i++)
        row += ((double) w[f * term->nx + i] + rest[f * term->nx + i])
            * (ldexp (tap (launch, &frame, (gint64) x + i - term->ax,
                    (gint64) y + j - term->ay, c), k->shift) - centre)
            / CONVOLVE_WORDS_SCALE;
    }
    kept = sim_to_half (row);
    kept += sim_to_half (row - kept);
    sum += ((double) w[n + j] + rest[n + j]) * kept * CONVOLVE_WORDS_SCALE;
    sy += (double) w[n + j] + rest[n + j];
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
  guint frames = count_frames (launch), n = frames * term->nx;
  const float *k = w + n + term->ny + 2;
  double sum = 0;

  for (guint j = 0; j < term->ny; j++) {
    gint64 line = (gint64) y + j - term->ay;
    double row = 0;

    for (guint f = 0; f < frames; f++) {
      ConvolveLaunchPicture frame = frame_picture (launch, p, f);

      for (guint i = 0; i < term->nx; i++) {
        gint64 column = (gint64) x + i - term->ax;
        double a = tap (launch, &frame, column, line, p->alpha);

        row += k[f * term->nx + i] * (c == p->alpha ? a :
            sim_to_half ((tap (launch, &frame, column, line, c) - 128)
                * a / 16));
      }
    }
    sum += k[n + j] * sim_to_half (row);
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
  if (sim_kernel_is_folded (kernel) && !sim_kernel_has_words (kernel))
    return folded_sum (launch, p, term, w, x, y, c);
  if (!sim_kernel_is_banded (kernel) || sim_kernel_is_direct (kernel))
    return sim_term_sum (launch, p, term, w, x, y, c);
  return (sim_kernel_has_words (kernel) ? words_sum : banded_sum)
      (launch, p, term, w, x, y, c);
}
