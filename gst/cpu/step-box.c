/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Boxes (core/box.h). With integers in place of weights and of samples all sums
 * are exact, so a running sum may run down a whole band, and its cost does not
 * depend on the radius.
 *
 * Bytes whose result is their mean need no more than 16 bits after the sum: it
 * is taken to at most 16 bits, t = sum >> down, then to result x 2^bits by a
 * 16-bit reciprocal. t x reciprocal / 2^16 is rounded down and the reciprocal
 * wrong by a half at most: less than a unit too small, half a unit too large.
 * t is rounded down, too, where it is at least 14 bits of a sum of at most 255
 * means, so the result is at most 1/64 lower. With 3 bits, and half a unit
 * added, no result is off by 1/8 + 1/64. */
#include "config.h"

#include <math.h>

#include "step.h"

/* The least taps along both axes for which this is worth while: of bytes to
 * bytes, and of all else. */
#define MIN_TAPS_BYTES 7
#define MIN_TAPS 9
/* Where running sums are asked for. */
#define MIN_TAPS_ASKED 3
#define ALIKE 1e-9
#define MAX_LONG 4294967295.0
#define MAX_DOUBLE 9007199254740992.0
#define MIN_BITS 3
#define MAX_BITS 7

static gdouble
largest_sample (const CpuStep * step)
{
  guint depth = 0;

  for (guint c = 0; c < step->lanes; c++)
    depth = MAX (depth, step->pass->layout.component[c].depth);
  return (1u << depth) - 1;
}

static gdouble
largest_sum (const CpuStep * step)
{
  return largest_sample (step) * convolve_box_sum (&step->box_x)
      * convolve_box_sum (&step->box_y);
}

/* The sums are exact whatever the pass's precision; what follows them is float,
 * which is good enough where results are no larger than samples. */
static gboolean
results_are_small (const CpuStep * step)
{
  gdouble top = 2 * largest_sample (step);

  for (guint c = 0; c < step->lanes; c++) {
    const ConvolvePassComponent *component = &step->pass->component[c];

    if (component->action == CONVOLVE_ACTION_FILTER
        && !(fabs (component->gain * step->pass->operation->sum) <= 2
            && fabs (component->offset) <= top))
      return FALSE;
  }
  return TRUE;
}

void
convolve_cpu_step_find_box (CpuStep * step)
{
  const ConvolveOperation *operation = step->pass->operation;
  const ConvolveTerm *term = &operation->term[0];
  gboolean asked = operation->method == CONVOLVE_METHOD_SUMS;
  guint least = asked ? MIN_TAPS_ASKED : MIN_TAPS_BYTES;
  gdouble unit_x, unit_y;

  /* Another method that is asked for is another way. */
  step->box = (asked || operation->method == CONVOLVE_METHOD_AUTO)
      && step->n_levels == 1 && !step->pass->alpha.weighted
      && !convolve_operation_is_windowed (operation)
      && operation->n_terms == 1 && operation->combine == CONVOLVE_COMBINE_SUM
      && term->matrix == NULL
      && convolve_box_find (term->x, &step->box_x, &unit_x)
      && convolve_box_find (term->y, &step->box_y, &unit_y)
      && MIN (step->box_x.taps, step->box_y.taps) >= least
      && largest_sum (step) <= MAX_DOUBLE && results_are_small (step);
  if (!step->box)
    return;
  step->box_unit = unit_x * unit_y;
}

/* The numbers for bytes; FALSE if they cannot be had. */
static gboolean
init_bytes (CpuStep * step, gdouble gain)
{
  const gfloat *offset = step->sink.offset, *lo = step->sink.lo;
  const gfloat *hi = step->sink.hi;
  gdouble sum =
      convolve_box_sum (&step->box_x) * convolve_box_sum (&step->box_y);
  gdouble mean = gain * step->box_unit * sum;
  gint bits = MAX_BITS, down = 0;
  gdouble t;

  if (!step->samples.dense || step->samples.bytes != 1 || !step->sink.uniform
      || fabs (mean - 1) > ALIKE || offset[0] != 0 || lo[0] != 0
      || hi[0] != 255 || 255 * convolve_box_sum (&step->box_x) > G_MAXUINT16
      || largest_sum (step) > MAX_LONG)
    return FALSE;
  for (t = largest_sum (step); t > G_MAXUINT16; t /= 2)
    down++;
  step->sink.box_small = down == 0;
  step->sink.box_wide = 255 * convolve_box_sum (&step->box_x) > G_MAXINT16;
  /* What sums are multiplied with has to be a positive 16-bit number. */
  step->sink.box_up = MIN (16 - down, 14);
  if (down > 0)
    down = 16 - step->sink.box_up;
  while (bits > 0 && rint (ldexp (1 / sum, 16 + bits + down)) > G_MAXUINT16)
    bits--;
  step->sink.box_factor = (guint16) rint (ldexp (1 / sum, 16 + bits + down));
  step->sink.shift = bits;
  step->sink.low = (1 << bits) / 2;
  return bits >= MIN_BITS;
}

void
convolve_cpu_step_use_box (CpuStep * step, gdouble gain)
{
  step->sink.scale = (gfloat) (gain * step->box_unit);
  if (init_bytes (step, gain)) {
    step->kernels = &step->isa->box_bytes;
  } else if (MIN (step->box_x.taps, step->box_y.taps) < MIN_TAPS
      && step->pass->operation->method != CONVOLVE_METHOD_SUMS
      && step->pass->precision == CONVOLVE_PRECISION_SINGLE) {
    step->box = FALSE;
  } else if (largest_sum (step) <= MAX_LONG) {
    step->sink.box_wide = largest_sum (step) > G_MAXINT32;
    step->kernels = &step->isa->box_longs;
  } else {
    step->kernels = &step->isa->box_doubles;
  }
}
