/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Part of kernels.c: 16-bit fixed point over bytes (see kernels.h and step-fixed.c). */

/* Samples a step. */
#define BLOCK_S (4 * VEC_LANES_S)

G_STATIC_ASSERT (CPU_SLACK >= BLOCK_S);

static void
load_u8_s (const guint8 * raw, void *x, gsize n)
{
  gint16 *to = x;
  gsize i = 0;

  /* (v << 8) - 32768 + 128 */
  for (; i + VEC_LANES_S <= n; i += VEC_LANES_S)
    vec_store_s (to + i, (vec_widen_s (raw + i) << 8) ^ vec_splat_s ((gint16) 0x8080));
  for (; i < n; i++)
    to[i] = (gint16) (raw[i] * 256 - 32640);
}

/* Both halves of the word are the weight. */
VEC_INLINE VecS
splat_weight (gint32 w)
{
  return (VecS) vec_splat_i (w);
}

VEC_INLINE void
sum_block_s (const CpuTaps * taps, gsize i, VecS * s, VecS * t)
{
  const void *const *at = taps->at;
  const gint32 *w = taps->weights;
  guint both = taps->n0 + taps->n01, all = both + taps->n1, k = 0;

#pragma GCC unroll 4
  for (gint j = 0; j < 4; j++)
    s[j] = t[j] = (VecS) { 0 };
  for (; k < taps->n0; k++) {
    const gint16 *x = (const gint16 *) at[k] + i;
    VecS w0 = splat_weight (w[2 * k]);

#pragma GCC unroll 4
    for (gint j = 0; j < 4; j++)
      s[j] += vec_mulhrs (vec_load_s (x + j * VEC_LANES_S), w0);
  }
  for (; k < both; k++) {
    const gint16 *x = (const gint16 *) at[k] + i;
    VecS w0 = splat_weight (w[2 * k]), w1 = splat_weight (w[2 * k + 1]);

#pragma GCC unroll 4
    for (gint j = 0; j < 4; j++) {
      VecS v = vec_load_s (x + j * VEC_LANES_S);

      s[j] += vec_mulhrs (v, w0);
      t[j] += vec_mulhrs (v, w1);
    }
  }
  for (; k < all; k++) {
    const gint16 *x = (const gint16 *) at[k] + i;
    VecS w1 = splat_weight (w[2 * k + 1]);

#pragma GCC unroll 4
    for (gint j = 0; j < 4; j++)
      t[j] += vec_mulhrs (vec_load_s (x + j * VEC_LANES_S), w1);
  }
}

static void
sum_s (const CpuTaps * taps, void *const out[2], gsize n, gboolean add)
{
  gint16 *out0 = out[0], *out1 = out[1];

  for (gsize i = 0; i < n; i += BLOCK_S) {
    VecS s[4], t[4];

    sum_block_s (taps, i, s, t);
#pragma GCC unroll 4
    for (gint j = 0; j < 4; j++) {
      gsize at = i + j * VEC_LANES_S;

      if (add) {
        s[j] += vec_load_s (out0 + at);
        t[j] += vec_load_s (out1 + at);
      }
      vec_store_s (out0 + at, s[j]);
      vec_store_s (out1 + at, t[j]);
    }
  }
}

static void
row_s (const void *x, void *out, gsize n, guint step, const void *w, guint taps)
{
  const gint32 *weights = w;
  gint16 *to = out;

  for (gsize i = 0; i < n; i += BLOCK_S) {
    const gint16 *from = (const gint16 *) x + i;
    VecS s[4];

#pragma GCC unroll 4
    for (gint j = 0; j < 4; j++)
      s[j] = (VecS) { 0 };
    for (guint k = 0; k < taps; k++, from += step) {
      VecS wk = splat_weight (weights[k]);

#pragma GCC unroll 4
      for (gint j = 0; j < 4; j++)
        s[j] += vec_mulhrs (vec_load_s (from + j * VEC_LANES_S), wk);
    }
#pragma GCC unroll 4
    for (gint j = 0; j < 4; j++)
      vec_store_s (to + i + j * VEC_LANES_S, s[j]);
  }
}

/* Samples i .. i + BLOCK_S - 1 of a picture row of n. */
VEC_INLINE void
put_s (VecS * s, guint8 * dst, gsize i, gsize n, const CpuSink * sink)
{
  guint8 rest[BLOCK_S], *to = i + BLOCK_S <= n ? dst + i : rest;

#pragma GCC unroll 4
  for (gint j = 0; j < 4; j++)
    s[j] = ((s[j] + vec_splat_s (sink->low)) >> sink->shift) + vec_splat_s (sink->high);
  vec_pack_s (to, s[0], s[1]);
  vec_pack_s (to + 2 * VEC_LANES_S, s[2], s[3]);
  if (to == rest)
    memcpy (dst + i, rest, n - i);
}

static void
sum_store_s (const CpuTaps * taps, const void *const part[2], guint8 * const dst[2], gsize n, const CpuSink * sink)
{
  for (gsize i = 0; i < n; i += BLOCK_S) {
    VecS s[4], t[4];

    sum_block_s (taps, i, s, t);
    if (part != NULL) {
#pragma GCC unroll 4
      for (gint j = 0; j < 4; j++) {
        s[j] += vec_load_s ((const gint16 *) part[0] + i + j * VEC_LANES_S);
        t[j] += vec_load_s ((const gint16 *) part[1] + i + j * VEC_LANES_S);
      }
    }
    put_s (s, dst[0], i, n, sink);
    put_s (t, dst[1], i, n, sink);
  }
}

/* ---- folded ---- */

static void
load_u8_h (const guint8 * raw, void *x, gsize n)
{
  gint16 *to = x;
  gsize i = 0;

  for (; i + VEC_LANES_S <= n; i += VEC_LANES_S)
    vec_store_s (to + i, (vec_widen_s (raw + i) << 7) - vec_splat_s (16320));
  for (; i < n; i++)
    to[i] = (gint16) (raw[i] * 128 - 16320);
}

/* The sum of taps that lie k x apart from the middle, both ways; half is how many there are on either side. */
VEC_INLINE void
row_block_h (const gint16 * middle, gsize apart, const gint32 * w, guint half, VecS * s)
{
  const gint16 *a = middle, *b = middle;

#pragma GCC unroll 4
  for (gint j = 0; j < 4; j++)
    s[j] = (VecS) { 0 };
#pragma GCC unroll 3
  for (guint k = 0; k <= half; k++, a -= apart, b += apart) {
    VecS wk = splat_weight (w[k]);

#pragma GCC unroll 4
    for (gint j = 0; j < 4; j++)
      s[j] += vec_mulhrs (vec_load_s (a + j * VEC_LANES_S) + vec_load_s (b + j * VEC_LANES_S), wk);
  }
}

VEC_INLINE void
row_by_h (const gint16 * middle, gint16 * out, gsize n, guint step, const gint32 * w, guint half)
{
  for (gsize i = 0; i < n; i += BLOCK_S) {
    VecS s[4];

    row_block_h (middle + i, step, w, half, s);
#pragma GCC unroll 4
    for (gint j = 0; j < 4; j++)
      vec_store_s (out + i + j * VEC_LANES_S, s[j]);
  }
}

static void
row_h (const void *x, void *out, gsize n, guint step, const void *w, guint taps)
{
  guint half = taps / 2;
  const gint16 *middle = (const gint16 *) x + (gsize) half * step;

  if (half == 1)
    row_by_h (middle, out, n, step, w, 1);
  else if (half == 2)
    row_by_h (middle, out, n, step, w, 2);
  else
    row_by_h (middle, out, n, step, w, half);
}

VEC_INLINE VecS
load_row (const void *const *at, gsize k, gsize i)
{
  return vec_load_s ((const gint16 *) at[k] + i);
}

/* The same for the rows of two output rows' windows, with half rows above and below of each. */
VEC_INLINE void
sum_by_h (const void *const *at, const gint32 * w, guint half, guint8 * const dst[2], gsize n, const CpuSink * sink)
{
  for (gsize i = 0; i < n; i += BLOCK_S) {
    VecS s[4], t[4];

#pragma GCC unroll 4
    for (gint j = 0; j < 4; j++)
      s[j] = t[j] = (VecS) { 0 };
#pragma GCC unroll 3
    for (guint k = 0; k <= half; k++) {
      VecS wk = splat_weight (w[k]);

#pragma GCC unroll 4
      for (gint j = 0; j < 4; j++) {
        gsize x = i + j * VEC_LANES_S;

        s[j] += vec_mulhrs (load_row (at, half - k, x) + load_row (at, half + k, x), wk);
        t[j] += vec_mulhrs (load_row (at, half + 1 - k, x) + load_row (at, half + 1 + k, x), wk);
      }
    }
    put_s (s, dst[0], i, n, sink);
    put_s (t, dst[1], i, n, sink);
  }
}

static void
sum_store_h (const CpuTaps * taps, const void *const part[2], guint8 * const dst[2], gsize n, const CpuSink * sink)
{
  guint half = taps->n01 / 2 - 1;

  if (half == 1)
    sum_by_h (taps->at, taps->weights, 1, dst, n, sink);
  else if (half == 2)
    sum_by_h (taps->at, taps->weights, 2, dst, n, sink);
  else
    sum_by_h (taps->at, taps->weights, half, dst, n, sink);
}
