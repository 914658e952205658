/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Part of kernels.c: pixels of four floats of which the first or the last is alpha, as vectors hold a whole number of
 * them. All functions have alpha as a constant. */

G_STATIC_ASSERT (VEC_LANES_F % 4 == 0 && CPU_SLACK >= BLOCK_F);

VEC_INLINE VecF
choose_f (VecI mask, VecF yes, VecF no)
{
  return (VecF) ((mask & (VecI) yes) | (~mask & (VecI) no));
}

/* The bits of that lane of each pixel. */
VEC_INLINE VecI
lane_mask (gint lane)
{
  VecI mask;

  for (gint i = 0; i < VEC_LANES_F; i++)
    mask[i] = i % 4 == lane ? -1 : 0;
  return mask;
}

/* Pixels may lie between others: no more than n are written. */
VEC_INLINE void
premultiply_lane (gfloat * x, gsize n, gint alpha)
{
  VecI at_alpha = lane_mask (alpha);
  VecF one = vec_splat_f (1);
  gsize i = 0;

  for (; i + VEC_LANES_F <= 4 * n; i += VEC_LANES_F) {
    VecF v = vec_load_f (x + i);

    vec_store_f (x + i, v * choose_f (at_alpha, one, vec_spread (v, alpha)));
  }
  for (; i < 4 * n; i += 4)
    for (gint c = 0; c < 4; c++)
      x[i + c] *= c == alpha ? 1 : x[i + alpha];
}

/* Divisions are slow: there is one for four vectors, of which each gives its alphas to one lane of the divisor. */
VEC_INLINE void
join_lane (const CpuJoin * join, const gfloat * t, const gfloat * v, gfloat * out, gsize n, gint alpha)
{
  VecF gain = vec_load_f (join->gain), offset = vec_load_f (join->offset);
  VecF sum = vec_splat_f ((gfloat) join->sum), one = vec_splat_f (1);
  VecI at_alpha = lane_mask (alpha);

  for (gsize i = 0; i < 4 * n; i += BLOCK_F) {
    VecF s[4], divisor = { 0 }, quotient;
    VecI positive;

#pragma GCC unroll 4
    for (gint j = 0; j < 4; j++) {
      s[j] = vec_load_f (t + i + j * VEC_LANES_F);
      divisor = choose_f (lane_mask (j), vec_spread (s[j], alpha), divisor);
    }
    quotient = sum / divisor;
    positive = divisor > 0;
#pragma GCC unroll 4
    for (gint j = 0; j < 4; j++) {
      VecF factor = choose_f (at_alpha, one, vec_spread (quotient, j));
      VecI good = at_alpha | (VecI) vec_spread ((VecF) positive, j);
      VecF kept = vec_load_f (v + i + j * VEC_LANES_F);

      vec_store_f (out + i + j * VEC_LANES_F, choose_f (good, offset + gain * (s[j] * factor), kept));
    }
  }
}

/* FALSE: the pixels are other ones. */
static gboolean
premultiply_four_f (gfloat * x, gsize n, guint lanes, guint alpha)
{
  if (lanes != 4 || (alpha != 0 && alpha != 3))
    return FALSE;
  if (alpha == 0)
    premultiply_lane (x, n, 0);
  else
    premultiply_lane (x, n, 3);
  return TRUE;
}

static gboolean
join_four_f (const CpuJoin * join, const gfloat * t, const gfloat * v, gfloat * out, gsize n)
{
  if (join->lanes != 4 || join->sum_lanes != 4 || (join->alpha != 0 && join->alpha != 3))
    return FALSE;
  if (join->alpha == 0)
    join_lane (join, t, v, out, n, 0);
  else
    join_lane (join, t, v, out, n, 3);
  return TRUE;
}
