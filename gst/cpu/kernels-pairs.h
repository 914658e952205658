/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Part of kernels.c: sums of pairs of 16-bit products in 32 bits, over bytes (see kernels.h and step-fixed.c). */

static void
load_u8_p (const guint8 * raw, void *x, gsize n)
{
  gint16 *to = x;
  gsize i = 0;

  for (; i + VEC_LANES_S <= n; i += VEC_LANES_S)
    vec_store_s (to + i, vec_widen_s (raw + i) - vec_splat_s (128));
  for (; i < n; i++)
    to[i] = (gint16) (raw[i] - 128);
}

static void
pair_p (const void *x, void *out, gsize n, guint step)
{
  const gint16 *from = x;
  gint32 *to = out;

  for (gsize i = 0; i < n; i += VEC_LANES_F) {
    VecI a = vec_widen_u16 ((const guint8 *) (from + i)), b = vec_widen_u16 ((const guint8 *) (from + i + step));

    a |= b << 16;
    memcpy (to + i, &a, sizeof (a));
  }
}

VEC_INLINE VecI
load_pairs (const void *row, gsize i)
{
  VecI v;

  memcpy (&v, (const gint32 *) row + i, sizeof (v));
  return v;
}

VEC_INLINE VecI
multiply_pairs (VecI v, VecI w)
{
  return vec_madd ((VecS) v, (VecS) w);
}

VEC_INLINE void
sum_block_p (const CpuTaps * taps, gsize i, VecI * s, VecI * t)
{
  const void *const *at = taps->at;
  const gint32 *w = taps->weights;
  guint both = taps->n0 + taps->n01, all = both + taps->n1, k = 0;

#pragma GCC unroll 4
  for (gint j = 0; j < 4; j++)
    s[j] = t[j] = (VecI) { 0 };
  for (; k < taps->n0; k++) {
    VecI w0 = vec_splat_i (w[2 * k]);

#pragma GCC unroll 4
    for (gint j = 0; j < 4; j++)
      s[j] += multiply_pairs (load_pairs (at[k], i + j * VEC_LANES_F), w0);
  }
  for (; k < both; k++) {
    VecI w0 = vec_splat_i (w[2 * k]), w1 = vec_splat_i (w[2 * k + 1]);

#pragma GCC unroll 4
    for (gint j = 0; j < 4; j++) {
      VecI v = load_pairs (at[k], i + j * VEC_LANES_F);

      s[j] += multiply_pairs (v, w0);
      t[j] += multiply_pairs (v, w1);
    }
  }
  for (; k < all; k++) {
    VecI w1 = vec_splat_i (w[2 * k + 1]);

#pragma GCC unroll 4
    for (gint j = 0; j < 4; j++)
      t[j] += multiply_pairs (load_pairs (at[k], i + j * VEC_LANES_F), w1);
  }
}

static void
sum_p (const CpuTaps * taps, void *const out[2], gsize n, gboolean add)
{
  for (gsize i = 0; i < n; i += BLOCK_F) {
    VecI v[2][4];

    sum_block_p (taps, i, v[0], v[1]);
#pragma GCC unroll 2
    for (gint y = 0; y < 2; y++) {
#pragma GCC unroll 4
      for (gint j = 0; j < 4; j++) {
        gint32 *to = (gint32 *) out[y] + i + j * VEC_LANES_F;

        if (add)
          v[y][j] += load_pairs (to, 0);
        memcpy (to, &v[y][j], sizeof (VecI));
      }
    }
  }
}

VEC_INLINE void
put_p (VecI * s, guint8 * dst, gsize i, gsize n, const CpuSink * sink)
{
  VecI low = vec_splat_i (sink->low), least = vec_splat_i (sink->least), most = vec_splat_i (sink->most);
  guint8 rest[BLOCK_F], *to = i + BLOCK_F <= n ? dst + i : rest;

#pragma GCC unroll 4
  for (gint j = 0; j < 4; j++) {
    VecI v = (s[j] + low) >> sink->shift, under = v < least, over = v > most;

    v = (least & under) | (v & ~under);
    s[j] = (most & over) | (v & ~over);
  }
  vec_pack_u8 (to, s);
  if (to == rest)
    memcpy (dst + i, rest, n - i);
}

static void
sum_store_p (const CpuTaps * taps, const void *const part[2], guint8 * const dst[2], gsize n, const CpuSink * sink)
{
  for (gsize i = 0; i < n; i += BLOCK_F) {
    VecI s[4], t[4];

    sum_block_p (taps, i, s, t);
    if (part != NULL) {
#pragma GCC unroll 4
      for (gint j = 0; j < 4; j++) {
        s[j] += load_pairs (part[0], i + j * VEC_LANES_F);
        t[j] += load_pairs (part[1], i + j * VEC_LANES_F);
      }
    }
    put_p (s, dst[0], i, n, sink);
    put_p (t, dst[1], i, n, sink);
  }
}
