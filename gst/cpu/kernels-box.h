/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Part of kernels.c: running sums (see kernels.h and step-box.c). Words stand for bytes, with sums of 32 bits; "longs"
 * and doubles for all else. */

G_STATIC_ASSERT (CPU_SLACK >= 4 * VEC_LANES_S);

#undef VEC
#undef LANES
#undef NAME
#undef LOAD
#undef STORE
#undef SPLAT

#define ELEMENT guint16
#define VEC VecW
#define LANES VEC_LANES_S
#define NAME(name) name##_w
#define LOAD vec_load_w
#define STORE vec_store_w
#define SPLAT vec_splat_w
#include "kernels-box-template.h"
#undef ELEMENT
#undef VEC
#undef LANES
#undef NAME
#undef LOAD
#undef STORE
#undef SPLAT

#define ELEMENT guint32
#define VEC VecU
#define LANES VEC_LANES_F
#define NAME(name) name##_l
#define LOAD vec_load_u
#define STORE vec_store_u
#define SPLAT vec_splat_u
#include "kernels-box-template.h"
#undef ELEMENT
#undef VEC
#undef LANES
#undef NAME
#undef LOAD
#undef STORE
#undef SPLAT

#define ELEMENT gdouble
#define VEC VecD
#define LANES VEC_LANES_D
#define NAME(name) name##_d
#define LOAD vec_load_d
#define STORE vec_store_d
#define SPLAT vec_splat_d
#include "kernels-box-template.h"
#undef ELEMENT
#undef VEC
#undef LANES
#undef NAME
#undef LOAD
#undef STORE
#undef SPLAT

/* ---- loads ---- */

static void
load_u8_w (const guint8 * raw, void *x, gsize n)
{
  guint16 *to = x;
  gsize i = 0;

  for (; i + VEC_LANES_S <= n; i += VEC_LANES_S)
    vec_store_w (to + i, (VecW) vec_widen_s (raw + i));
  for (; i < n; i++)
    to[i] = raw[i];
}

/* Of samples of 8 bits that were gathered into words. */
static void
load_u16_w (const guint8 * raw, void *x, gsize n, const CpuWord * word)
{
  memcpy (x, raw, n * sizeof (guint16));
}

static void
load_u8_l (const guint8 * raw, void *x, gsize n)
{
  guint32 *to = x;
  gsize i = 0;

  for (; i + VEC_LANES_F <= n; i += VEC_LANES_F)
    vec_store_u (to + i, (VecU) vec_widen_u8 (raw + i));
  for (; i < n; i++)
    to[i] = raw[i];
}

static void
load_u16_l (const guint8 * raw, void *x, gsize n, const CpuWord * word)
{
  guint32 *to = x;
  gsize i = 0;

  for (; i + VEC_LANES_F <= n; i += VEC_LANES_F)
    vec_store_u (to + i, (VecU) get_words (raw + 2 * i, word));
  for (; i < n; i++)
    to[i] = get_word (raw + 2 * i, word);
}

/* ---- bytes to bytes ---- */

VEC_INLINE VecW
box_word (const void *row, gsize i)
{
  return vec_load_w ((const guint16 *) row + i);
}

static void
box_add_w (void *sum, const void *row, gsize n, const CpuSink * sink)
{
  guint32 *s = sum;

  for (gsize i = 0; i < n; i += VEC_LANES_S) {
    VecW v = box_word (row, i);

    if (sink->box_small) {
      vec_store_w ((guint16 *) sum + i, box_word (sum, i) + v);
    } else {
      vec_store_u (s + i, vec_load_u (s + i) + (((VecU) v & 0xffff) << sink->box_up));
      vec_store_u (s + i + VEC_LANES_F, vec_load_u (s + i + VEC_LANES_F) + ((VecU) v >> 16 << sink->box_up));
    }
  }
}

/* From 16 bits of the sum to samples, by a reciprocal. */
VEC_INLINE VecS
scale_words (VecW v, const CpuSink * sink)
{
  v = vec_mulhi (v, vec_splat_w (sink->box_factor)) + vec_splat_w ((guint16) sink->low);
  return (VecS) (v >> sink->shift);
}

/* Sums of 16 bits. */
VEC_INLINE void
box_small_words (guint16 * sum, const CpuBoxRows * rows, const ConvolveBoxLine * axis, gsize i, const CpuSink * sink,
    VecS * out, gboolean ends)
{
  VecW s = vec_load_w (sum + i);

#pragma GCC unroll 2
  for (gint y = 0; y < 2; y++) {
    VecW all = s = s + box_word (rows->enter[y], i) - box_word (rows->leave[y], i);

    if (ends)
      all = s * vec_splat_w ((guint16) axis->inner)
          + (box_word (rows->first[y], i) + box_word (rows->last[y], i)) * vec_splat_w ((guint16) axis->end);
    out[y] = scale_words (all, sink);
  }
  vec_store_w (sum + i, s);
}

/* Sums of 32 bits, of the even words of a vector and of its odd ones, times 2^box_up, so that the upper half is what
 * goes on. wide: words may have more than 15 bits; they are then moved by half their range, which cancels out. */
VEC_INLINE void
box_words (guint32 * sum, const CpuBoxRows * rows, const ConvolveBoxLine * axis, gsize i, const CpuSink * sink,
    VecS * out, gboolean ends, gboolean wide)
{
  VecS even = (VecS) vec_splat_i (1 << sink->box_up), odd = (VecS) vec_splat_i (1 << (sink->box_up + 16));
  VecU s[2] = { vec_load_u (sum + i), vec_load_u (sum + i + VEC_LANES_F) };

#pragma GCC unroll 2
  for (gint y = 0; y < 2; y++) {
    VecW in = box_word (rows->enter[y], i), away = box_word (rows->leave[y], i);
    VecU all[2];

    if (wide) {
      in ^= 0x8000;
      away ^= 0x8000;
      s[0] += (VecU) vec_madd ((VecS) in, even) - (VecU) vec_madd ((VecS) away, even);
      s[1] += (VecU) vec_madd ((VecS) in, odd) - (VecU) vec_madd ((VecS) away, odd);
    } else {
      s[0] += (VecU) vec_madd ((VecS) (in - away), even);
      s[1] += (VecU) vec_madd ((VecS) (in - away), odd);
    }
    all[0] = s[0];
    all[1] = s[1];
    if (ends) {
      VecU a = (VecU) box_word (rows->first[y], i), b = (VecU) box_word (rows->last[y], i);
      guint32 end = axis->end << sink->box_up;

      all[0] = s[0] * axis->inner + ((a & 0xffff) + (b & 0xffff)) * end;
      all[1] = s[1] * axis->inner + ((a >> 16) + (b >> 16)) * end;
    }
    out[y] = scale_words ((VecW) (all[0] >> 16 | (all[1] & 0xffff0000)), sink);
  }
  vec_store_u (sum + i, s[0]);
  vec_store_u (sum + i + VEC_LANES_F, s[1]);
}

VEC_INLINE void
box_store_words (void *sum, const CpuBoxRows * rows, const ConvolveBoxLine * axis, guint8 * const dst[2], gsize n,
    const CpuSink * sink, gboolean ends, gboolean small, gboolean wide)
{
  const gsize block = 2 * VEC_LANES_S;

  for (gsize i = 0; i < n; i += block) {
    VecS v[2][2];

#pragma GCC unroll 2
    for (gint k = 0; k < 2; k++) {
      if (small)
        box_small_words (sum, rows, axis, i + k * VEC_LANES_S, sink, v[k], ends);
      else
        box_words (sum, rows, axis, i + k * VEC_LANES_S, sink, v[k], ends, wide);
    }
#pragma GCC unroll 2
    for (gint y = 0; y < 2; y++) {
      guint8 rest[2 * VEC_LANES_S], *to = i + block <= n ? dst[y] + i : rest;

      vec_pack_s (to, v[0][y], v[1][y]);
      if (to == rest)
        memcpy (dst[y] + i, rest, n - i);
    }
  }
}

static void
box_store_w (void *sum, const CpuBoxRows * rows, const ConvolveBoxLine * axis, guint8 * const dst[2], gsize n,
    const CpuSink * sink)
{
  if (rows->first[0] != NULL && sink->box_small)
    box_store_words (sum, rows, axis, dst, n, sink, TRUE, TRUE, FALSE);
  else if (rows->first[0] != NULL)
    box_store_words (sum, rows, axis, dst, n, sink, TRUE, FALSE, TRUE);
  else if (sink->box_small)
    box_store_words (sum, rows, axis, dst, n, sink, FALSE, TRUE, FALSE);
  else if (sink->box_wide)
    box_store_words (sum, rows, axis, dst, n, sink, FALSE, FALSE, TRUE);
  else
    box_store_words (sum, rows, axis, dst, n, sink, FALSE, FALSE, FALSE);
}

/* ---- all else ---- */

static void
box_add_l (void *sum, const void *row, gsize n, const CpuSink * sink)
{
  guint32 *restrict s = sum;
  const guint32 *restrict from = row;

  for (gsize i = 0; i < n; i++)
    s[i] += from[i];
}

static void
box_add_d (void *sum, const void *row, gsize n, const CpuSink * sink)
{
  gdouble *restrict s = sum;
  const gdouble *restrict from = row;

  for (gsize i = 0; i < n; i++)
    s[i] += from[i];
}

VEC_INLINE VecU
box_long (const void *row, gsize i)
{
  return vec_load_u ((const guint32 *) row + i);
}

/* wide: with the highest bit set it is not a negative number. */
VEC_INLINE VecF
longs_to_float (VecU v, gboolean wide)
{
  if (!wide)
    return __builtin_convertvector ((VecI) v, VecF);
  return __builtin_convertvector ((VecI) (v ^ 0x80000000), VecF) + vec_splat_f (2147483648.0f);
}

VEC_INLINE void
box_store_longs (void *sum, const CpuBoxRows * rows, const ConvolveBoxLine * axis, guint8 * const dst[2], gsize n,
    const CpuSink * sink, gboolean wide)
{
  VecF scale = vec_splat_f (sink->scale);
  gsize at = 0;

  for (gsize i = 0; i < n; i += BLOCK_F) {
    VecF out[2][4];

#pragma GCC unroll 4
    for (gint j = 0; j < 4; j++) {
      gsize k = i + j * VEC_LANES_F;
      VecU s = vec_load_u ((guint32 *) sum + k);

#pragma GCC unroll 2
      for (gint y = 0; y < 2; y++) {
        VecU all = s = s + box_long (rows->enter[y], k) - box_long (rows->leave[y], k);

        if (rows->first[y] != NULL)
          all = s * axis->inner + (box_long (rows->first[y], k) + box_long (rows->last[y], k)) * axis->end;
        out[y][j] = longs_to_float (all, wide) * scale;
      }
      vec_store_u ((guint32 *) sum + k, s);
    }
    put (out[0], dst[0], i, n, sink, at, TRUE);
    put (out[1], dst[1], i, n, sink, at, TRUE);
    at = at + BLOCK_F == sink->period ? 0 : at + BLOCK_F;
  }
}

static void
box_store_l (void *sum, const CpuBoxRows * rows, const ConvolveBoxLine * axis, guint8 * const dst[2], gsize n,
    const CpuSink * sink)
{
  if (sink->box_wide)
    box_store_longs (sum, rows, axis, dst, n, sink, TRUE);
  else
    box_store_longs (sum, rows, axis, dst, n, sink, FALSE);
}

/* BLOCK_F samples of both output rows. */
VEC_INLINE void
box_doubles (gdouble * restrict sum, const CpuBoxRows * rows, const ConvolveBoxLine * axis, gsize i, gfloat scale,
    gfloat out[2][BLOCK_F])
{
  for (gint y = 0; y < 2; y++) {
    const gdouble *enter = (const gdouble *) rows->enter[y] + i, *leave = (const gdouble *) rows->leave[y] + i;
    const gdouble *first = rows->first[y], *last = rows->last[y];

    for (gint k = 0; k < BLOCK_F; k++) {
      gdouble all = sum[k] + enter[k] - leave[k];

      sum[k] = all;
      if (first != NULL)
        all = all * axis->inner + (first[i + k] + last[i + k]) * axis->end;
      out[y][k] = (gfloat) all * scale;
    }
  }
}

static void
box_store_d (void *sum, const CpuBoxRows * rows, const ConvolveBoxLine * axis, guint8 * const dst[2], gsize n,
    const CpuSink * sink)
{
  gsize at = 0;

  for (gsize i = 0; i < n; i += BLOCK_F) {
    gfloat out[2][BLOCK_F];

    box_doubles ((gdouble *) sum + i, rows, axis, i, sink->scale, out);
    for (gint y = 0; y < 2; y++) {
      VecF v[4];

      for (gint j = 0; j < 4; j++)
        v[j] = vec_load_f (out[y] + j * VEC_LANES_F);
      put (v, dst[y], i, n, sink, at, TRUE);
    }
    at = at + BLOCK_F == sink->period ? 0 : at + BLOCK_F;
  }
}
