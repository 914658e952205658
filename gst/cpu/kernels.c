/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The vector code of one instruction set: this file is compiled once for each,
 * with CPU_ISA naming the set. */
#include "config.h"

#include "kernels.h"
#include "vec.h"

#define PASTE_(a, b) a##b
#define PASTE(a, b) PASTE_ (a, b)

/* Samples a step of the summing loops: four vectors. */
#define BLOCK_F (4 * VEC_LANES_F)

G_STATIC_ASSERT (CPU_PATTERN % BLOCK_F == 0);
G_STATIC_ASSERT (CPU_SLACK >= 2 * BLOCK_F);

/* ---- double ---- */

#define REAL gdouble
#define VEC VecD
#define LANES VEC_LANES_D
#define NAME(name) name##_d
#define LOAD vec_load_d
#define STORE vec_store_d
#define SPLAT vec_splat_d
#define ABS_REAL fabs
#define SQRT_REAL sqrt

VEC_INLINE gboolean
premultiply_four_d (gdouble * x, gsize n, guint lanes, guint alpha)
{
  return FALSE;
}

VEC_INLINE gboolean
join_four_d (const CpuJoin * join, const gdouble * t, const gdouble * v,
    gdouble * out, gsize n)
{
  return FALSE;
}

#include "kernels-template.h"
#include "kernels-stencil.h"

static void
load_u8_d (const guint8 * raw, void *x, gsize n)
{
  gdouble *to = x;

  for (gsize i = 0; i < n; i++)
    to[i] = raw[i];
}

static void
load_u16_d (const guint8 * raw, void *x, gsize n, const CpuWord * word)
{
  gdouble *to = x;

  for (gsize i = 0; i < n; i++) {
    guint16 v;

    memcpy (&v, raw + 2 * i, 2);
    if (word->swap)
      v = GUINT16_SWAP_LE_BE (v);
    to[i] = (v >> word->shift) & word->mask;
  }
}

static void
store_d (const void *x, guint8 * dst, gsize n, const CpuSink * sink)
{
  const gdouble *from = x, *lo = sink->lo, *hi = sink->hi;
  gsize at = 0;

  for (gsize i = 0; i < n; i++) {
    gdouble v = from[i];

    /* Bounds are integers, so that rounding may come last. NaN becomes hi. */
    v = v < hi[at] ? v : hi[at];
    v = v > lo[at] ? v : lo[at];
    if (sink->bytes == 1) {
      dst[i] = (guint8) lrint (v);
    } else {
      guint16 w = (guint16) (lrint (v) << sink->word.shift);

      if (sink->word.swap)
        w = GUINT16_SWAP_LE_BE (w);
      memcpy (dst + 2 * i, &w, 2);
    }
    if (++at == sink->period)
      at = 0;
  }
}

#undef REAL
#undef VEC
#undef LANES
#undef NAME
#undef LOAD
#undef STORE
#undef SPLAT
#undef ABS_REAL
#undef SQRT_REAL

/* ---- float ---- */

#define REAL gfloat
#define VEC VecF
#define LANES VEC_LANES_F
#define NAME(name) name##_f
#define LOAD vec_load_f
#define STORE vec_store_f
#define SPLAT vec_splat_f
#define ABS_REAL fabsf
#define SQRT_REAL sqrtf
#include "kernels-four.h"
#include "kernels-template.h"
#include "kernels-stencil.h"

static void
load_u8_f (const guint8 * raw, void *x, gsize n)
{
  gfloat *to = x;
  gsize i = 0;

  for (; i + VEC_LANES_F <= n; i += VEC_LANES_F)
    vec_store_f (to + i, __builtin_convertvector (vec_widen_u8 (raw + i),
            VecF));
  for (; i < n; i++)
    to[i] = raw[i];
}

VEC_INLINE VecI
swap_words (VecI v)
{
  return ((v & 0xff) << 8) | (v >> 8);
}

/* VEC_LANES_F samples of 16-bit words, and one. */
VEC_INLINE VecI
get_words (const guint8 * raw, const CpuWord * word)
{
  VecI v = vec_widen_u16 (raw);

  if (word->swap)
    v = swap_words (v);
  return (v >> (gint) word->shift) & (gint) word->mask;
}

VEC_INLINE guint
get_word (const guint8 * raw, const CpuWord * word)
{
  guint16 v;

  memcpy (&v, raw, 2);
  if (word->swap)
    v = GUINT16_SWAP_LE_BE (v);
  return (v >> word->shift) & word->mask;
}

static void
load_u16_f (const guint8 * raw, void *x, gsize n, const CpuWord * word)
{
  gfloat *to = x;
  gsize i = 0;

  for (; i + VEC_LANES_F <= n; i += VEC_LANES_F)
    vec_store_f (to + i, __builtin_convertvector (get_words (raw + 2 * i,
                word), VecF));
  for (; i < n; i++)
    to[i] = get_word (raw + 2 * i, word);
}

/* Four vectors, lying at place at of the pattern, to integers in lo..hi. */
VEC_INLINE void
finish (const VecF * s, VecI * out, const CpuSink * sink, gsize at,
    gboolean affine)
{
  const gfloat *gain = sink->gain, *offset = sink->offset;
  const gfloat *lo = sink->lo, *hi = sink->hi;

#pragma GCC unroll 4
  for (gint j = 0; j < 4; j++) {
    VecF v = s[j];

    if (sink->uniform) {
      if (affine)
        v += vec_splat_f (offset[0]);
      v = vec_max_f (vec_min_f (v, vec_splat_f (hi[0])), vec_splat_f (lo[0]));
    } else {
      gsize k = at + j * VEC_LANES_F;

      if (affine)
        v = v * vec_load_f (gain + k) + vec_load_f (offset + k);
      v = vec_max_f (vec_min_f (v, vec_load_f (hi + k)), vec_load_f (lo + k));
    }
    out[j] = vec_round (v);
  }
}

VEC_INLINE void
pack (VecI * v, guint8 * dst, const CpuSink * sink)
{
  if (sink->bytes == 1) {
    vec_pack_u8 (dst, v);
    return;
  }
#pragma GCC unroll 4
  for (gint j = 0; j < 4; j++) {
    v[j] <<= (gint) sink->word.shift;
    if (sink->word.swap)
      v[j] = swap_words (v[j]) & 0xffff;
  }
  vec_pack_u16 (dst, v);
  vec_pack_u16 (dst + 4 * VEC_LANES_F, v + 2);
}

/* Samples i .. i + BLOCK_F - 1 of a picture row of n: the last block goes
 * through memory of its own, as nothing past the row may be written. */
VEC_INLINE void
put (const VecF * s, guint8 * dst, gsize i, gsize n, const CpuSink * sink,
    gsize at, gboolean affine)
{
  guint8 rest[2 * BLOCK_F];
  VecI v[4];

  finish (s, v, sink, at, affine);
  if (G_LIKELY (i + BLOCK_F <= n)) {
    pack (v, dst + i * sink->bytes, sink);
  } else {
    pack (v, rest, sink);
    memcpy (dst + i * sink->bytes, rest, (n - i) * sink->bytes);
  }
}

static void
sum_store_f (const CpuTaps * taps, const void *const part[2],
    guint8 * const dst[2], gsize n, const CpuSink * sink)
{
  gsize at = 0;

  for (gsize i = 0; i < n; i += BLOCK_F) {
    VecF s[4], t[4];

    sum_block_f (taps, i, s, t);
    if (part != NULL) {
#pragma GCC unroll 4
      for (gint j = 0; j < 4; j++) {
        s[j] += vec_load_f ((const gfloat *) part[0] + i + j * VEC_LANES_F);
        t[j] += vec_load_f ((const gfloat *) part[1] + i + j * VEC_LANES_F);
      }
    }
    put (s, dst[0], i, n, sink, at, TRUE);
    put (t, dst[1], i, n, sink, at, TRUE);
    at += BLOCK_F;
    if (at == sink->period)
      at = 0;
  }
}

static void
store_f (const void *x, guint8 * dst, gsize n, const CpuSink * sink)
{
  const gfloat *from = x;
  gsize at = 0;

  for (gsize i = 0; i < n; i += BLOCK_F) {
    VecF s[4];

#pragma GCC unroll 4
    for (gint j = 0; j < 4; j++)
      s[j] = vec_load_f (from + i + j * VEC_LANES_F);
    put (s, dst, i, n, sink, at, FALSE);
    at += BLOCK_F;
    if (at == sink->period)
      at = 0;
  }
}

#if VEC_FIXED
#include "kernels-fixed.h"
#define FIXED { \
    .real = CPU_REAL_FIXED, \
    .real_bytes = sizeof (gint16), \
    .sum_bytes = sizeof (gint16), \
    .weight_bytes = sizeof (gint32), \
    .tap_bytes = sizeof (gint16), \
    .group = CPU_GROUP_INTEGERS, \
    .load_u8 = load_u8_s, \
    .row = row_s, \
    .sum = sum_s, \
    .sum_store = sum_store_s, \
  }
#define FOLDED { \
    .real = CPU_REAL_FOLDED, \
    .real_bytes = sizeof (gint16), \
    .sum_bytes = sizeof (gint16), \
    .weight_bytes = sizeof (gint32), \
    .tap_bytes = sizeof (gint16), \
    .group = CPU_GROUP_INTEGERS, \
    .load_u8 = load_u8_h, \
    .row = row_h, \
    .sum_store = sum_store_h, \
  }
#else
#define FIXED { 0 }
#define FOLDED { 0 }
#endif

#if VEC_PAIRS
#include "kernels-pairs.h"
#define PAIRS { \
    .real = CPU_REAL_CENTRED, \
    .real_bytes = sizeof (gint16), \
    .sum_bytes = sizeof (gint32), \
    .weight_bytes = sizeof (gint32), \
    .tap_bytes = 2 * sizeof (gint16), \
    .group = CPU_GROUP_INTEGERS, \
    .load_u8 = load_u8_p, \
    .pair = pair_p, \
    .sum = sum_p, \
    .sum_store = sum_store_p, \
  }
#else
#define PAIRS { 0 }
#endif

#include "kernels-box.h"

static void
blend (guint8 * restrict d, const guint8 * restrict s,
    const guint8 * restrict keep, const guint8 * restrict copy,
    const guint8 * restrict fill, gsize n)
{
  for (gsize i = 0; i < n; i++)
    d[i] = (d[i] & keep[i]) | (s[i] & copy[i]) | fill[i];
}

static gboolean
differ (const guint8 * bytes, const guint8 * pattern, const guint8 * mask,
    gsize n)
{
  guint8 rest = 0;
  gsize i = 0;

  for (; i + CPU_MASK <= n; i += CPU_MASK) {
    VecI any = { 0 };

#pragma GCC unroll 4
    for (gsize k = 0; k < CPU_MASK; k += VEC_BYTES) {
      VecI v, p, m;

      memcpy (&v, bytes + i + k, VEC_BYTES);
      memcpy (&p, pattern + k, VEC_BYTES);
      memcpy (&m, mask + k, VEC_BYTES);
      any |= (v ^ p) & m;
    }
    if (vec_any (any))
      return TRUE;
  }
  for (gsize k = 0; i + k < n; k++)
    rest |= (bytes[i + k] ^ pattern[k]) & mask[k];
  return rest != 0;
}

#if VEC_BYTES == 64
#define ISA_NAME "AVX-512"
#elif VEC_BYTES == 32
#define ISA_NAME "AVX2"
#elif defined(__SSE2__)
#define ISA_NAME "SSE2"
#elif VEC_NEON
#define ISA_NAME "NEON"
#else
#define ISA_NAME "plain C"
#endif

#define KERNELS(suffix, type, name, fused) { \
    .real = name, \
    .real_bytes = sizeof (type), \
    .sum_bytes = sizeof (type), \
    .weight_bytes = sizeof (type), \
    .tap_bytes = sizeof (type), \
    .group = CPU_GROUP, \
    .load_u8 = load_u8_##suffix, \
    .load_u16 = load_u16_##suffix, \
    .row = row_##suffix, \
    .sum = sum_##suffix, \
    .sum_store = fused, \
    .store = store_##suffix, \
    .join = join_##suffix, \
    .premultiply = premultiply_##suffix, \
    .weigh = weigh_##suffix, \
    .mean = mean_##suffix, \
    .diffuse = diffuse_##suffix, \
    .mix = mix_##suffix, \
    .halve = halve_##suffix, \
    .twice = twice_##suffix, \
    .enlarge = enlarge_##suffix, \
    .share = share_##suffix, \
    .gather = gather_##suffix, \
    .spread = spread_##suffix, \
  }

#define BOX(suffix, type, name, sum) { \
    .real = name, \
    .real_bytes = sizeof (type), \
    .sum_bytes = sizeof (sum), \
    .weight_bytes = sizeof (type), \
    .tap_bytes = sizeof (type), \
    .group = CPU_GROUP, \
    .load_u8 = load_u8_##suffix, \
    .load_u16 = load_u16_##suffix, \
    .box_row = box_row_##suffix, \
    .box_add = box_add_##suffix, \
    .box_store = box_store_##suffix, \
  }

const CpuIsa PASTE (convolve_cpu_isa_, CPU_ISA) = {
  .name = ISA_NAME,
  .single = KERNELS (f, gfloat, CPU_REAL_FLOAT, sum_store_f),
  .full = KERNELS (d, gdouble, CPU_REAL_DOUBLE, NULL),
  .fixed = FIXED,
  .folded = FOLDED,
  .pairs = PAIRS,
  .box_bytes = BOX (w, guint16, CPU_REAL_WORD, guint32),
  .box_longs = BOX (l, guint32, CPU_REAL_LONG, guint32),
  .box_doubles = BOX (d, gdouble, CPU_REAL_DOUBLE, gdouble),
  .blend = blend,
  .differ = differ,
};
