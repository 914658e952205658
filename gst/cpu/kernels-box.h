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
  gint shift = word->shift, mask = word->mask;
  gsize i = 0;

  for (; i + VEC_LANES_F <= n; i += VEC_LANES_F) {
    VecI v = vec_widen_u16 (raw + 2 * i);

    if (word->swap)
      v = swap_words (v);
    vec_store_u (to + i, (VecU) ((v >> shift) & mask));
  }
  for (; i < n; i++) {
    guint16 v;

    memcpy (&v, raw + 2 * i, 2);
    if (word->swap)
      v = GUINT16_SWAP_LE_BE (v);
    to[i] = (v >> shift) & mask;
  }
}

/* ---- bytes to bytes ---- */

/* Sums of a vector of words are kept as its even words and its odd ones. */
VEC_INLINE void
split_words (const void *row, gsize i, VecU * out)
{
  VecU v = (VecU) vec_load_w ((const guint16 *) row + i);

  out[0] = v & 0xffff;
  out[1] = v >> 16;
}

static void
box_add_w (void *sum, const void *row, gsize n)
{
  guint32 *s = sum;

  for (gsize i = 0; i < n; i += VEC_LANES_S) {
    VecU v[2];

    split_words (row, i, v);
    vec_store_u (s + i, vec_load_u (s + i) + v[0]);
    vec_store_u (s + i + VEC_LANES_F, vec_load_u (s + i + VEC_LANES_F) + v[1]);
  }
}

/* From sums to samples: as 16-bit numbers, times a reciprocal. */
VEC_INLINE VecS
scale_words (VecU even, VecU odd, const CpuSink * sink)
{
  VecW v = (VecW) (even >> sink->box_down | odd >> sink->box_down << 16);

  v = vec_mulhi (v, vec_splat_w (sink->box_factor)) + vec_splat_w ((guint16) sink->low);
  return (VecS) (v >> sink->shift);
}

/* One vector of words of both output rows. */
VEC_INLINE void
box_words (guint32 * sum, const CpuBoxRows * rows, const CpuBoxAxis * axis, gsize i, const CpuSink * sink, VecS * out)
{
  VecU s[2] = { vec_load_u (sum + i), vec_load_u (sum + i + VEC_LANES_F) };

#pragma GCC unroll 2
  for (gint y = 0; y < 2; y++) {
    VecU in[2], away[2], all[2];

    split_words (rows->enter[y], i, in);
    split_words (rows->leave[y], i, away);
    for (gint k = 0; k < 2; k++)
      all[k] = s[k] += in[k];
    if (rows->first[y] != NULL) {
      VecU a[2], b[2];

      split_words (rows->first[y], i, a);
      split_words (rows->last[y], i, b);
      for (gint k = 0; k < 2; k++)
        all[k] = s[k] * axis->inner + (a[k] + b[k]) * axis->end;
    }
    out[y] = scale_words (all[0], all[1], sink);
    for (gint k = 0; k < 2; k++)
      s[k] -= away[k];
  }
  vec_store_u (sum + i, s[0]);
  vec_store_u (sum + i + VEC_LANES_F, s[1]);
}

static void
box_store_w (void *sum, const CpuBoxRows * rows, const CpuBoxAxis * axis, guint8 * const dst[2], gsize n,
    const CpuSink * sink)
{
  const gsize block = 2 * VEC_LANES_S;

  for (gsize i = 0; i < n; i += block) {
    VecS a[2], b[2];

    box_words (sum, rows, axis, i, sink, a);
    box_words (sum, rows, axis, i + VEC_LANES_S, sink, b);
    for (gint y = 0; y < 2; y++) {
      guint8 rest[2 * VEC_LANES_S], *to = i + block <= n ? dst[y] + i : rest;

      vec_pack_s (to, a[y], b[y]);
      if (to == rest)
        memcpy (dst[y] + i, rest, n - i);
    }
  }
}

/* ---- all else ---- */

static void
box_add_l (void *sum, const void *row, gsize n)
{
  guint32 *restrict s = sum;
  const guint32 *restrict from = row;

  for (gsize i = 0; i < n; i++)
    s[i] += from[i];
}

static void
box_add_d (void *sum, const void *row, gsize n)
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

static void
box_store_l (void *sum, const CpuBoxRows * rows, const CpuBoxAxis * axis, guint8 * const dst[2], gsize n,
    const CpuSink * sink)
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
        VecU all = s += box_long (rows->enter[y], k);

        if (rows->first[y] != NULL)
          all = s * axis->inner + (box_long (rows->first[y], k) + box_long (rows->last[y], k)) * axis->end;
        out[y][j] = __builtin_convertvector ((VecI) all, VecF) * scale;
        s -= box_long (rows->leave[y], k);
      }
      vec_store_u ((guint32 *) sum + k, s);
    }
    put (out[0], dst[0], i, n, sink, at, TRUE);
    put (out[1], dst[1], i, n, sink, at, TRUE);
    at = at + BLOCK_F == sink->period ? 0 : at + BLOCK_F;
  }
}

/* BLOCK_F samples of both output rows. */
VEC_INLINE void
box_doubles (gdouble * restrict sum, const CpuBoxRows * rows, const CpuBoxAxis * axis, gsize i, gfloat scale,
    gfloat out[2][BLOCK_F])
{
  for (gint y = 0; y < 2; y++) {
    const gdouble *enter = (const gdouble *) rows->enter[y] + i, *leave = (const gdouble *) rows->leave[y] + i;
    const gdouble *first = rows->first[y], *last = rows->last[y];

    for (gint k = 0; k < BLOCK_F; k++) {
      gdouble all = sum[k] + enter[k];

      sum[k] = all - leave[k];
      if (first != NULL)
        all = all * axis->inner + (first[i + k] + last[i + k]) * axis->end;
      out[y][k] = (gfloat) all * scale;
    }
  }
}

static void
box_store_d (void *sum, const CpuBoxRows * rows, const CpuBoxAxis * axis, guint8 * const dst[2], gsize n,
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
