/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Included by kernels-box.h once a type of working rows, with ELEMENT, VEC, LANES, NAME, LOAD, STORE and SPLAT
 * defined. Loops take four vectors at a time and run past their ends, into the slack of rows. */

/* Sums of m samples become sums of 4 m: x[i] = x[i] + x[i + m] + x[i + 2 m] + x[i + 3 m], with m the distance. The
 * sums of m, or of 2 m or 3 m if digit is 2 or 3, go to out; with 0 nothing does. */
VEC_INLINE void
NAME (box_quadruple_by) (ELEMENT * x, ELEMENT * out, gsize first, gsize end, gsize distance, guint digit)
{
  for (gsize i = first; i < end; i += 4 * LANES) {
    VEC s[4], part[4];

#pragma GCC unroll 4
    for (gint j = 0; j < 4; j++) {
      const ELEMENT *from = x + i + j * LANES;
      VEC one = LOAD (from), two = one + LOAD (from + distance), three = two + LOAD (from + 2 * distance);

      s[j] = three + LOAD (from + 3 * distance);
      part[j] = digit == 1 ? one : digit == 2 ? two : three;
    }
#pragma GCC unroll 4
    for (gint j = 0; j < 4; j++) {
      STORE (x + i + j * LANES, s[j]);
      if (digit > 0)
        STORE (out + i + j * LANES, part[j]);
    }
  }
}

static void
NAME (box_quadruple) (ELEMENT * x, ELEMENT * out, gsize n, gsize all, gsize distance, guint digit)
{
  /* To whole steps: what was overwritten must not be read as if it was not. */
  gsize end = digit > 0 ? (n + 4 * LANES - 1) / (4 * LANES) * (4 * LANES) : 0;

  if (digit == 1)
    NAME (box_quadruple_by) (x, out, 0, end, distance, 1);
  else if (digit == 2)
    NAME (box_quadruple_by) (x, out, 0, end, distance, 2);
  else if (digit == 3)
    NAME (box_quadruple_by) (x, out, 0, end, distance, 3);
  NAME (box_quadruple_by) (x, out, end, all, distance, 0);
}

/* out[i] = x[i] + x[i + m] + ..., digit of them, plus out[i] if add. */
VEC_INLINE void
NAME (box_take_by) (const ELEMENT * x, ELEMENT * out, gsize n, gsize distance, guint digit, gboolean add)
{
  for (gsize i = 0; i < n; i += 4 * LANES) {
#pragma GCC unroll 4
    for (gint j = 0; j < 4; j++) {
      const ELEMENT *from = x + i + j * LANES;
      VEC s = LOAD (from);

      if (digit > 1)
        s += LOAD (from + distance);
      if (digit > 2)
        s += LOAD (from + 2 * distance);
      if (digit > 3)
        s += LOAD (from + 3 * distance);
      STORE (out + i + j * LANES, add ? s + LOAD (out + i + j * LANES) : s);
    }
  }
}

static void
NAME (box_take) (const ELEMENT * x, ELEMENT * out, gsize n, gsize distance, guint digit, gboolean add)
{
  switch (digit) {
    case 0:
      break;
    case 1:
      NAME (box_take_by) (x, out, n, distance, 1, add);
      break;
    case 2:
      NAME (box_take_by) (x, out, n, distance, 2, add);
      break;
    case 3:
      NAME (box_take_by) (x, out, n, distance, 3, add);
      break;
    default:
      NAME (box_take_by) (x, out, n, distance, 4, add);
      break;
  }
}

/* out = the samples with the weight end; x times the weight of the others. */
static void
NAME (box_ends) (ELEMENT * x, ELEMENT * out, gsize n, gsize distance, const ConvolveBoxLine * axis)
{
  VEC inner = SPLAT ((ELEMENT) axis->inner), end = SPLAT ((ELEMENT) axis->end);

  for (gsize i = 0; i < n; i += LANES)
    STORE (out + i, end * (LOAD (x + i) + LOAD (x + i + distance)));
  for (gsize i = 0; i < n + distance; i += LANES)
    STORE (x + i, inner * LOAD (x + i));
}

/* Sums of 1, 4, 16, ... samples, of which those that make up taps are added, one after the other: as the digits to
 * base 4 say, but that the last may be 4. */
static void
NAME (box_row) (void *row, void *out, gsize n, guint step, const ConvolveBoxLine *axis)
{
  ELEMENT *x = row, *to = out;
  gsize taps = axis->taps, taken = 0, m = 1;
  gboolean add = FALSE;

  if (axis->end != axis->inner) {
    NAME (box_ends) (x, to, n, (taps - 1) * step, axis);
    x += step;
    taps -= 2;
    add = TRUE;
  }
  for (; taps - taken > 4 * m; m *= 4) {
    guint digit = taps / m % 4;

    if (add)
      NAME (box_take) (x + taken * step, to, n, m * step, digit, TRUE);
    NAME (box_quadruple) (x, to, n, n + (taps - 4 * m) * step, m * step, add ? 0 : digit);
    add |= digit > 0;
    taken += digit * m;
  }
  NAME (box_take) (x + taken * step, to, n, m * step, (taps - taken) / m, add);
}
