/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* When 16-bit fixed point may stand for float, and with which integers.
 *
 * A byte v is x = (v - m) 2^8 with m = 127.5. A weight w is the integer q =
 * w 2^s, and a product round (x q 2^-15), so a sum over weights has s - 7
 * fractional bits. It is wrong by at most half a unit for each product, and by
 * m times the sum of abs (w - q 2^-s). In a separable term the sums along x
 * have f bits, the weights of y take them from f to g bits, and the errors of
 * the first pass grow with the l1 norm of the second.
 *
 * If all this stays below a half, then every result is within 1 of the exact
 * one, and a result that is an integer is exact. What a flat area becomes is
 * one if the sum of weights and the offset are integers; so nothing else is
 * taken. The integers of each pass add up to the rounded sum, so that flat
 * areas lose nothing beyond the products' halves. */
#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "step.h"

#define MIDDLE 127.5
/* Fractional bits of a sample, and the most of a sum. */
#define SAMPLE_BITS 8
#define MAX_ERROR 0.45          /* the rest is for the doubles here */
/* The error that is to be expected: so that hardly a sample is not the nearest
 * integer unless the exact result is near a half anyway. */
#define MAX_EXPECTED 0.035
#define ALIKE_WEIGHTS 1e-12
#define ALIKE 32                /* weights this near each other, as integers */
#define MAX_SUM 32767.0
#define MAX_WEIGHT 32766.5
#define MAX_TAPS 128            /* nothing larger passes the bound */
#define MAX_PAIR_BITS 24
#define MAX_PAIR_SUM 2147483647.0

static gdouble
largest (const ConvolveMatrix * matrix)
{
  gdouble m = 0;

  for (guint i = 0; i < matrix->width * matrix->height; i++)
    m = MAX (m, fabs (matrix->weights[i]));
  return m;
}

/* Integers near weights x 2^bits that add up to the rounded sum: those that
 * were rounded furthest are moved. *error is the sum of what they are off, in
 * weights. NULL if a weight would not fit. */
static ConvolveMatrix *
to_integers (const ConvolveMatrix * matrix, gint bits, gdouble * error)
{
  guint n = matrix->width * matrix->height;
  ConvolveMatrix *q;
  gint64 missing;

  if (!(ldexp (largest (matrix), bits) <= MAX_WEIGHT))
    return NULL;
  q = convolve_matrix_scale (matrix, ldexp (1, bits));
  missing = llrint (ldexp (convolve_matrix_sum (matrix), bits));
  for (guint i = 0; i < n; i++) {
    q->weights[i] = rint (q->weights[i]);
    missing -= (gint64) q->weights[i];
  }
  while (missing != 0) {
    gint step = missing > 0 ? 1 : -1;
    gdouble most = -G_MAXDOUBLE;
    guint best = 0;

    for (guint i = 0; i < n; i++) {
      gdouble gap = (ldexp (matrix->weights[i], bits) - q->weights[i]) * step;

      if (gap > most) {
        most = gap;
        best = i;
      }
    }
    q->weights[best] += step;
    missing -= step;
  }
  *error = 0;
  for (guint i = 0; i < n; i++)
    *error += fabs (matrix->weights[i] - ldexp (q->weights[i], -bits));
  if (largest (q) <= MAX_SUM)
    return q;
  convolve_matrix_unref (q);
  return NULL;
}

/* The integers of a pass over numbers of in_bits fractional bits and of at most
 * that peak (in units): they give *out_bits, as many as its sums have room for
 * if half a unit of the result is added, or not. NULL if there are none. */
static ConvolveMatrix *
fit (const ConvolveMatrix * weights, gint in_bits, gint most_bits,
    gdouble * peak, gboolean add_half, gint * out_bits, gdouble * off)
{
  guint taps = weights->width * weights->height;

  for (gint bits = most_bits; bits > 0; bits--) {
    ConvolveMatrix *q = to_integers (weights, 15 - in_bits + bits, off);
    gdouble top;

    if (q == NULL)
      continue;
    top = ldexp (*peak * convolve_matrix_l1 (q), -15) + taps / 2.0;
    if (top + (add_half ? ldexp (0.5, bits) : 0) <= MAX_SUM) {
      *peak = top;
      *out_bits = bits;
      return q;
    }
    convolve_matrix_unref (q);
  }
  return NULL;
}

/* The square of the error that is to be expected of a pass, in steps of the
 * sample. Roundings wander, a twelfth of a unit squared each; but where a
 * picture has few values, those of products with nearly the same weight are the
 * same, and their sum grows with their number. */
static gdouble
expected_square (const ConvolveMatrix * q, gdouble range, gint in_bits,
    gint out_bits)
{
  guint n = q->width * q->height;
  gdouble unit = ldexp (1, -out_bits), pairs = 0;
  gdouble weight = range * ldexp (1, in_bits - out_bits - 15);

  for (guint i = 0; i < n; i++)
    for (guint k = 0; k < n; k++)
      pairs += fabs (fabs (q->weights[i]) - fabs (q->weights[k])) < ALIKE;
  return (pairs * unit * unit + n * weight * weight) / 12;
}

/* Half a unit of that many fractional bits for each of n roundings. */
static gdouble
halves (gdouble n, gint bits)
{
  return ldexp (0.5 * n, -bits);
}

/* The numbers of the last step: the middle, the offset and a half are added,
 * what is below 1 before the shift. Sum and offset are integers, so that is a
 * half, or nothing if the sum is odd. */
static gboolean
set_sink (CpuStep * step, gdouble sum, gdouble offset, gdouble peak, gint bits)
{
  gdouble bias = MIDDLE * sum + offset + 0.5;

  if (!(fabs (bias) + ldexp (peak, -bits) + 2 <= MAX_SUM))
    return FALSE;
  step->sink.shift = bits;
  step->sink.high = (gint) floor (bias);
  step->sink.low = (gint) ldexp (bias - floor (bias), bits);
  return TRUE;
}

static gboolean
is_odd (gdouble sum)
{
  return fmod (sum, 2) != 0;
}

static gboolean
try_direct (CpuStep * step, const ConvolveMatrix * weights, gdouble sum,
    gdouble offset, ConvolveMatrix ** matrix)
{
  guint64 taps = (guint64) weights->width * weights->height;
  gdouble peak = ldexp (MIDDLE, SAMPLE_BITS), off, expected;
  gint bits;

  if (taps > MAX_TAPS)
    return FALSE;
  *matrix = fit (weights, SAMPLE_BITS, SAMPLE_BITS, &peak, !is_odd (sum), &bits,
      &off);
  if (*matrix == NULL || !(halves (taps, bits) + MIDDLE * off < MAX_ERROR))
    return FALSE;
  expected = expected_square (*matrix, MIDDLE, SAMPLE_BITS, bits);
  return sqrt (expected) < MAX_EXPECTED
      && set_sink (step, sum, offset, peak, bits);
}

/* The two passes of a separable term. Folded ones take sums of two numbers
 * that lie as far from the middle, which then have one bit less and twice the
 * range. */
static gboolean
fit_passes (CpuStep * step, const ConvolveMatrix * wx,
    const ConvolveMatrix * wy, gboolean folded, gdouble sum, gdouble offset,
    ConvolveMatrix ** x, ConvolveMatrix ** y)
{
  gdouble parts = folded ? 2 : 1, range = MIDDLE * parts;
  gdouble lx = parts * convolve_matrix_l1 (wx);
  gdouble ly = parts * convolve_matrix_l1 (wy);
  gint in_bits = SAMPLE_BITS - folded, bits_x, bits_y;
  gdouble peak = ldexp (range, in_bits), off_x, off_y, error, expected;

  *x = fit (wx, in_bits, in_bits, &peak, FALSE, &bits_x, &off_x);
  if (*x == NULL || parts * peak > MAX_SUM)
    return FALSE;
  peak *= parts;
  *y = fit (wy, bits_x, SAMPLE_BITS, &peak, !is_odd (sum), &bits_y, &off_y);
  if (*y == NULL)
    return FALSE;
  off_x *= parts;
  off_y *= parts;
  error = halves (wx->width, bits_x) * (ly + off_y)
      + halves (wy->height, bits_y)
      + MIDDLE * (off_x * (ly + off_y) + lx * off_y);
  expected = expected_square (*x, range, in_bits, bits_x) * ly * ly
      + expected_square (*y, range, bits_x, bits_y);
  return error < MAX_ERROR && sqrt (expected) < MAX_EXPECTED
      && set_sink (step, sum, offset, peak, bits_y);
}

/* Half of an odd number of weights that are the same both ways: half the middle
 * one, and those after it. */
static ConvolveMatrix *
fold (const ConvolveMatrix * weights)
{
  guint n = weights->width * weights->height, half = n / 2;
  g_autofree gdouble *folded = g_new (gdouble, half + 1);

  if (n % 2 == 0)
    return NULL;
  for (guint i = 0; i <= half; i++) {
    gdouble a = weights->weights[half - i], b = weights->weights[half + i];

    if (fabs (a - b) > ALIKE_WEIGHTS * fabs (a))
      return NULL;
    folded[i] = i == 0 ? a / 2 : a;
  }
  return weights->width > 1 ? convolve_matrix_new (half + 1, 1, folded) :
      convolve_matrix_new (1, half + 1, folded);
}

static gboolean
try_separable (CpuStep * step, const ConvolveMatrix * wx,
    const ConvolveMatrix * wy, gdouble sum, gdouble offset,
    ConvolveMatrix ** x, ConvolveMatrix ** y)
{
  g_autoptr (ConvolveMatrix) fx = fold (wx);
  g_autoptr (ConvolveMatrix) fy = fold (wy);

  if (wx->width > MAX_TAPS || wy->height > MAX_TAPS)
    return FALSE;
  step->kernels = &step->isa->folded;
  if (fx != NULL && fy != NULL
      && fit_passes (step, fx, fy, TRUE, sum, offset, x, y))
    return TRUE;
  g_clear_pointer (x, convolve_matrix_unref);
  g_clear_pointer (y, convolve_matrix_unref);
  step->kernels = &step->isa->fixed;
  return fit_passes (step, wx, wy, FALSE, sum, offset, x, y);
}

gboolean
convolve_cpu_step_try_fixed (CpuStep * step, gdouble gain,
    ConvolveMatrix ** matrix, ConvolveMatrix ** x, ConvolveMatrix ** y)
{
  const ConvolveTerm *term = &step->pass->operation->term[0];
  gdouble sum = gain * step->pass->operation->sum;
  gdouble offset = ((const gfloat *) step->sink.offset)[0];
  const gfloat *lo = step->sink.lo, *hi = step->sink.hi;
  g_autoptr (ConvolveMatrix) scaled = NULL;
  gboolean ok;

  *matrix = *x = *y = NULL;
  if (step->isa->fixed.real == CPU_REAL_NONE || !step->fused
      || !step->sink.uniform || step->kernels != &step->isa->single
      || !step->samples.dense || step->samples.bytes != 1
      || step->pass->operation->n_terms != 1
      || convolve_operation_is_windowed (step->pass->operation)
      || sum != rint (sum) || offset != rint (offset)
      || lo[0] != 0 || hi[0] != 255)
    return FALSE;

  step->kernels = &step->isa->fixed;
  if (term->matrix != NULL) {
    scaled = convolve_matrix_scale (term->matrix, gain);
    ok = try_direct (step, scaled, sum, offset, matrix);
  } else if (term->x->width == 1 || term->y->height == 1) {
    g_autoptr (ConvolveMatrix) outer = convolve_matrix_outer (term->x, term->y);

    scaled = convolve_matrix_scale (outer, gain);
    ok = try_direct (step, scaled, sum, offset, matrix);
  } else {
    scaled = convolve_matrix_scale (term->y, gain);
    ok = try_separable (step, term->x, scaled, sum, offset, x, y);
  }
  if (!ok) {
    step->kernels = &step->isa->single;
    g_clear_pointer (matrix, convolve_matrix_unref);
    g_clear_pointer (x, convolve_matrix_unref);
    g_clear_pointer (y, convolve_matrix_unref);
  }
  return ok;
}

/* ---- pairs ---- */

/* Two weights a word; the column that an odd number lacks is 0. */
static ConvolveMatrix *
to_pairs (const ConvolveMatrix * q)
{
  guint width = (q->width + 1) / 2;
  g_autofree gdouble *words = g_new0 (gdouble, (gsize) width * q->height);
  ConvolveMatrix *pairs;

  for (guint j = 0; j < q->height; j++)
    for (guint i = 0; i < q->width; i++) {
      guint32 half = (guint16) (gint16) q->weights[j * q->width + i];

      words[j * width + i / 2] += i % 2 ? half << 16 : half;
    }
  pairs = convolve_matrix_new (width, q->height, words);
  pairs->anchor_x = q->anchor_x;
  pairs->anchor_y = q->anchor_y;
  return pairs;
}

/* Samples are v - 128 without a fraction, weights have as many bits as fit, and
 * sums 32, so only the weights are off. */
static ConvolveMatrix *
fit_pairs (CpuStep * step, const ConvolveMatrix * weights, gdouble offset)
{
  gdouble sum = convolve_matrix_sum (weights), middle = 128, off;
  guint taps = weights->width * weights->height;

  for (gint bits = MAX_PAIR_BITS; bits > 0; bits--) {
    g_autoptr (ConvolveMatrix) q = to_integers (weights, bits, &off);
    gdouble bias = ldexp (middle * sum + offset + 0.5, bits);

    if (q == NULL || !(middle * convolve_matrix_l1 (q) + fabs (bias)
            < MAX_PAIR_SUM))
      continue;
    if (!(middle * off < MAX_ERROR
            && middle * ldexp (sqrt (taps / 12.0), -bits) < MAX_EXPECTED))
      return NULL;
    step->sink.shift = bits;
    step->sink.low = (gint) rint (bias);
    step->kernels = &step->isa->pairs;
    return to_pairs (q);
  }
  return NULL;
}

ConvolveMatrix *
convolve_cpu_step_try_pairs (CpuStep * step, gdouble gain)
{
  const ConvolveTerm *term = &step->pass->operation->term[0];
  const gfloat *offset = step->sink.offset, *lo = step->sink.lo;
  const gfloat *hi = step->sink.hi;
  g_autoptr (ConvolveMatrix) scaled = NULL;

  if (step->isa->pairs.real == CPU_REAL_NONE || !step->fused
      || !step->sink.uniform || step->kernels != &step->isa->single
      || !step->samples.dense || step->samples.bytes != 1
      || convolve_operation_is_windowed (step->pass->operation)
      || step->pass->operation->n_terms != 1 || term->matrix == NULL
      || MAX (term->matrix->width, term->matrix->height) > MAX_TAPS)
    return NULL;
  step->sink.least = (gint) lo[0];
  step->sink.most = (gint) hi[0];
  scaled = convolve_matrix_scale (term->matrix, gain);
  return fit_pairs (step, scaled, offset[0]);
}
