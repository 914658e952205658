/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Vectors of the instruction set that this translation unit is compiled for: the compiler's own vector types, and the
 * few operations that these have no operator for, as inline functions. One body is chosen by the compiler's macros.
 * Loads read exactly the samples that they return. */
#pragma once

#include <math.h>
#include <string.h>
#include <glib.h>

#if defined(__SSE2__)
#include <immintrin.h>
#elif defined(__aarch64__) && G_BYTE_ORDER == G_LITTLE_ENDIAN
#include <arm_neon.h>
#define VEC_NEON 1
#endif
#ifndef VEC_NEON
#define VEC_NEON 0
#endif

#if defined(__AVX512BW__) && defined(__AVX512VL__) && defined(__AVX512DQ__)
#define VEC_BYTES 64
#elif defined(__AVX2__)
#define VEC_BYTES 32
#else
#define VEC_BYTES 16
#endif

#define VEC_INLINE static inline __attribute__((always_inline))
#define VEC_LANES_F (VEC_BYTES / 4)
#define VEC_LANES_D (VEC_BYTES / 8)
#define VEC_LANES_S (VEC_BYTES / 2)
#define VEC_FIXED (VEC_BYTES > 16 || VEC_NEON)
/* Elsewhere a sum of two products is no single instruction. */
#if defined(__SSE2__)
#define VEC_PAIRS 1
#else
#define VEC_PAIRS 0
#endif

typedef gfloat VecF __attribute__((vector_size (VEC_BYTES)));
typedef gdouble VecD __attribute__((vector_size (VEC_BYTES)));
typedef gint32 VecI __attribute__((vector_size (VEC_BYTES)));
typedef gint16 VecS __attribute__((vector_size (VEC_BYTES)));
typedef guint16 VecW __attribute__((vector_size (VEC_BYTES)));
typedef guint32 VecU __attribute__((vector_size (VEC_BYTES)));

VEC_INLINE VecF
vec_load_f (const gfloat * p)
{
  VecF v;

  memcpy (&v, p, sizeof (v));
  return v;
}

VEC_INLINE VecD
vec_load_d (const gdouble * p)
{
  VecD v;

  memcpy (&v, p, sizeof (v));
  return v;
}

VEC_INLINE void
vec_store_f (gfloat * p, VecF v)
{
  memcpy (p, &v, sizeof (v));
}

VEC_INLINE void
vec_store_d (gdouble * p, VecD v)
{
  memcpy (p, &v, sizeof (v));
}

VEC_INLINE VecF
vec_splat_f (gfloat x)
{
  return x - (VecF) { 0 };
}

VEC_INLINE VecD
vec_splat_d (gdouble x)
{
  return x - (VecD) { 0 };
}

VEC_INLINE VecI
vec_splat_i (gint32 x)
{
  return x - (VecI) { 0 };
}

VEC_INLINE VecS
vec_load_s (const gint16 * p)
{
  VecS v;

  memcpy (&v, p, sizeof (v));
  return v;
}

VEC_INLINE void
vec_store_s (gint16 * p, VecS v)
{
  memcpy (p, &v, sizeof (v));
}

VEC_INLINE VecS
vec_splat_s (gint16 x)
{
  return x - (VecS) { 0 };
}

VEC_INLINE VecW
vec_load_w (const guint16 * p)
{
  VecW v;

  memcpy (&v, p, sizeof (v));
  return v;
}

VEC_INLINE void
vec_store_w (guint16 * p, VecW v)
{
  memcpy (p, &v, sizeof (v));
}

VEC_INLINE VecW
vec_splat_w (guint16 x)
{
  return x - (VecW) { 0 };
}

VEC_INLINE VecU
vec_load_u (const guint32 * p)
{
  VecU v;

  memcpy (&v, p, sizeof (v));
  return v;
}

VEC_INLINE void
vec_store_u (guint32 * p, VecU v)
{
  memcpy (p, &v, sizeof (v));
}

VEC_INLINE VecU
vec_splat_u (guint32 x)
{
  return x - (VecU) { 0 };
}

/* Whether any bit is set. */
VEC_INLINE gboolean
vec_any (VecI v)
{
  guint64 part[VEC_BYTES / 8], any = 0;

  memcpy (part, &v, sizeof (v));
  for (guint i = 0; i < G_N_ELEMENTS (part); i++)
    any |= part[i];
  return any != 0;
}

/* What each set defines:
 * vec_widen_u8, vec_widen_u16: VEC_LANES_F samples to 32 bits
 * vec_spread: in each four, lane 0 or lane 3 to all
 * vec_spread: of each four lanes, one to all four
 * vec_round: to integers, nearest, ties to even (the default rounding mode)
 * vec_min_f, vec_max_f
 * vec_pack_u8: four vectors of 0..255 to 4 x VEC_LANES_F bytes; vec_pack_u16: two of 0..65535
 * vec_widen_s: VEC_LANES_S bytes to 16 bits
 * vec_mulhi: a b / 2^16, rounded down
 * vec_madd: the sums of the products of two neighbours
 * vec_pack_s: twice VEC_LANES_S numbers to bytes, clamped to 0..255
 * and where VEC_FIXED is 1, for 16-bit fixed point:
 * vec_mulhrs: round (a b / 2^15), halves upwards */

/* An operand of the instruction has to be a constant where it is not inlined, too. */
#define SPREAD(permute, v, lane) \
  ((lane) == 0 ? permute (v, 0x00) : (lane) == 1 ? permute (v, 0x55) : \
      (lane) == 2 ? permute (v, 0xaa) : permute (v, 0xff))

#if VEC_BYTES == 64

VEC_INLINE VecI
vec_widen_u8 (const guint8 * p)
{
  return (VecI) _mm512_cvtepu8_epi32 (_mm_loadu_si128 ((const __m128i *) p));
}

VEC_INLINE VecI
vec_widen_u16 (const guint8 * p)
{
  return (VecI) _mm512_cvtepu16_epi32 (_mm256_loadu_si256 ((const __m256i *) p));
}

VEC_INLINE VecF
vec_spread (VecF v, gint lane)
{
  return (VecF) SPREAD (_mm512_permute_ps, (__m512) v, lane);
}

VEC_INLINE VecI
vec_round (VecF v)
{
  return (VecI) _mm512_cvtps_epi32 ((__m512) v);
}

VEC_INLINE VecF
vec_min_f (VecF a, VecF b)
{
  return (VecF) _mm512_min_ps ((__m512) a, (__m512) b);
}

VEC_INLINE VecF
vec_max_f (VecF a, VecF b)
{
  return (VecF) _mm512_max_ps ((__m512) a, (__m512) b);
}

VEC_INLINE void
vec_pack_u8 (guint8 * p, const VecI * v)
{
  for (gint i = 0; i < 4; i++)
    _mm_storeu_si128 ((__m128i *) (p + 16 * i), _mm512_cvtepi32_epi8 ((__m512i) v[i]));
}

VEC_INLINE void
vec_pack_u16 (guint8 * p, const VecI * v)
{
  for (gint i = 0; i < 2; i++)
    _mm256_storeu_si256 ((__m256i *) (p + 32 * i), _mm512_cvtepi32_epi16 ((__m512i) v[i]));
}

VEC_INLINE VecS
vec_widen_s (const guint8 * p)
{
  return (VecS) _mm512_cvtepu8_epi16 (_mm256_loadu_si256 ((const __m256i *) p));
}

VEC_INLINE VecS
vec_mulhrs (VecS a, VecS b)
{
  return (VecS) _mm512_mulhrs_epi16 ((__m512i) a, (__m512i) b);
}

VEC_INLINE VecI
vec_madd (VecS a, VecS b)
{
  return (VecI) _mm512_madd_epi16 ((__m512i) a, (__m512i) b);
}

VEC_INLINE VecW
vec_mulhi (VecW a, VecW b)
{
  return (VecW) _mm512_mulhi_epu16 ((__m512i) a, (__m512i) b);
}

VEC_INLINE void
vec_pack_s (guint8 * p, VecS a, VecS b)
{
  __m512i order = _mm512_setr_epi64 (0, 2, 4, 6, 1, 3, 5, 7);
  __m512i packed = _mm512_packus_epi16 ((__m512i) a, (__m512i) b);

  _mm512_storeu_si512 (p, _mm512_permutexvar_epi64 (order, packed));
}

#elif VEC_BYTES == 32

VEC_INLINE VecI
vec_widen_u8 (const guint8 * p)
{
  return (VecI) _mm256_cvtepu8_epi32 (_mm_loadl_epi64 ((const __m128i *) p));
}

VEC_INLINE VecI
vec_widen_u16 (const guint8 * p)
{
  return (VecI) _mm256_cvtepu16_epi32 (_mm_loadu_si128 ((const __m128i *) p));
}

VEC_INLINE VecF
vec_spread (VecF v, gint lane)
{
  return (VecF) SPREAD (_mm256_permute_ps, (__m256) v, lane);
}

VEC_INLINE VecI
vec_round (VecF v)
{
  return (VecI) _mm256_cvtps_epi32 ((__m256) v);
}

VEC_INLINE VecF
vec_min_f (VecF a, VecF b)
{
  return (VecF) _mm256_min_ps ((__m256) a, (__m256) b);
}

VEC_INLINE VecF
vec_max_f (VecF a, VecF b)
{
  return (VecF) _mm256_max_ps ((__m256) a, (__m256) b);
}

/* Packing works within 128-bit halves; the permutation puts the pieces in order. */
VEC_INLINE void
vec_pack_u8 (guint8 * p, const VecI * v)
{
  __m256i ab = _mm256_packs_epi32 ((__m256i) v[0], (__m256i) v[1]);
  __m256i cd = _mm256_packs_epi32 ((__m256i) v[2], (__m256i) v[3]);
  __m256i order = _mm256_setr_epi32 (0, 4, 1, 5, 2, 6, 3, 7);

  _mm256_storeu_si256 ((__m256i *) p, _mm256_permutevar8x32_epi32 (_mm256_packus_epi16 (ab, cd), order));
}

VEC_INLINE void
vec_pack_u16 (guint8 * p, const VecI * v)
{
  __m256i ab = _mm256_packus_epi32 ((__m256i) v[0], (__m256i) v[1]);

  _mm256_storeu_si256 ((__m256i *) p, _mm256_permute4x64_epi64 (ab, 0xd8));
}

VEC_INLINE VecS
vec_widen_s (const guint8 * p)
{
  return (VecS) _mm256_cvtepu8_epi16 (_mm_loadu_si128 ((const __m128i *) p));
}

VEC_INLINE VecS
vec_mulhrs (VecS a, VecS b)
{
  return (VecS) _mm256_mulhrs_epi16 ((__m256i) a, (__m256i) b);
}

VEC_INLINE VecI
vec_madd (VecS a, VecS b)
{
  return (VecI) _mm256_madd_epi16 ((__m256i) a, (__m256i) b);
}

VEC_INLINE VecW
vec_mulhi (VecW a, VecW b)
{
  return (VecW) _mm256_mulhi_epu16 ((__m256i) a, (__m256i) b);
}

VEC_INLINE void
vec_pack_s (guint8 * p, VecS a, VecS b)
{
  __m256i packed = _mm256_packus_epi16 ((__m256i) a, (__m256i) b);

  _mm256_storeu_si256 ((__m256i *) p, _mm256_permute4x64_epi64 (packed, 0xd8));
}

#elif defined(__SSE2__)

VEC_INLINE VecI
vec_widen_u8 (const guint8 * p)
{
  __m128i zero = _mm_setzero_si128 ();
  gint32 x;

  memcpy (&x, p, sizeof (x));
  return (VecI) _mm_unpacklo_epi16 (_mm_unpacklo_epi8 (_mm_cvtsi32_si128 (x), zero), zero);
}

VEC_INLINE VecI
vec_widen_u16 (const guint8 * p)
{
  return (VecI) _mm_unpacklo_epi16 (_mm_loadl_epi64 ((const __m128i *) p), _mm_setzero_si128 ());
}

#define permute_ps(v, order) _mm_shuffle_ps (v, v, order)

VEC_INLINE VecF
vec_spread (VecF v, gint lane)
{
  return (VecF) SPREAD (permute_ps, (__m128) v, lane);
}

#undef permute_ps

VEC_INLINE VecI
vec_round (VecF v)
{
  return (VecI) _mm_cvtps_epi32 ((__m128) v);
}

VEC_INLINE VecF
vec_min_f (VecF a, VecF b)
{
  return (VecF) _mm_min_ps ((__m128) a, (__m128) b);
}

VEC_INLINE VecF
vec_max_f (VecF a, VecF b)
{
  return (VecF) _mm_max_ps ((__m128) a, (__m128) b);
}

VEC_INLINE void
vec_pack_u8 (guint8 * p, const VecI * v)
{
  __m128i ab = _mm_packs_epi32 ((__m128i) v[0], (__m128i) v[1]);
  __m128i cd = _mm_packs_epi32 ((__m128i) v[2], (__m128i) v[3]);

  _mm_storeu_si128 ((__m128i *) p, _mm_packus_epi16 (ab, cd));
}

/* SSE2 packs signed words only: move the range there and back. */
VEC_INLINE void
vec_pack_u16 (guint8 * p, const VecI * v)
{
  VecI low = vec_splat_i (32768);
  __m128i packed = _mm_packs_epi32 ((__m128i) (v[0] - low), (__m128i) (v[1] - low));

  _mm_storeu_si128 ((__m128i *) p, _mm_xor_si128 (packed, _mm_set1_epi16 (-32768)));
}

VEC_INLINE VecS
vec_widen_s (const guint8 * p)
{
  return (VecS) _mm_unpacklo_epi8 (_mm_loadl_epi64 ((const __m128i *) p), _mm_setzero_si128 ());
}

VEC_INLINE VecI
vec_madd (VecS a, VecS b)
{
  return (VecI) _mm_madd_epi16 ((__m128i) a, (__m128i) b);
}

VEC_INLINE VecW
vec_mulhi (VecW a, VecW b)
{
  return (VecW) _mm_mulhi_epu16 ((__m128i) a, (__m128i) b);
}

VEC_INLINE void
vec_pack_s (guint8 * p, VecS a, VecS b)
{
  _mm_storeu_si128 ((__m128i *) p, _mm_packus_epi16 ((__m128i) a, (__m128i) b));
}

#elif VEC_NEON

VEC_INLINE VecI
vec_widen_u8 (const guint8 * p)
{
  guint32 x;

  memcpy (&x, p, sizeof (x));
  return (VecI) vmovl_u16 (vget_low_u16 (vmovl_u8 (vcreate_u8 (x))));
}

VEC_INLINE VecI
vec_widen_u16 (const guint8 * p)
{
  guint64 x;

  memcpy (&x, p, sizeof (x));
  return (VecI) vmovl_u16 (vcreate_u16 (x));
}

VEC_INLINE VecF
vec_spread (VecF v, gint lane)
{
  return (VecF) vdupq_n_f32 (v[lane]);
}

VEC_INLINE VecI
vec_round (VecF v)
{
  return (VecI) vcvtnq_s32_f32 ((float32x4_t) v);
}

VEC_INLINE VecF
vec_min_f (VecF a, VecF b)
{
  return (VecF) vminq_f32 ((float32x4_t) a, (float32x4_t) b);
}

VEC_INLINE VecF
vec_max_f (VecF a, VecF b)
{
  return (VecF) vmaxq_f32 ((float32x4_t) a, (float32x4_t) b);
}

VEC_INLINE void
vec_pack_u8 (guint8 * p, const VecI * v)
{
  uint16x8_t ab = vcombine_u16 (vmovn_u32 ((uint32x4_t) v[0]), vmovn_u32 ((uint32x4_t) v[1]));
  uint16x8_t cd = vcombine_u16 (vmovn_u32 ((uint32x4_t) v[2]), vmovn_u32 ((uint32x4_t) v[3]));

  vst1q_u8 (p, vcombine_u8 (vmovn_u16 (ab), vmovn_u16 (cd)));
}

VEC_INLINE void
vec_pack_u16 (guint8 * p, const VecI * v)
{
  uint16x8_t ab = vcombine_u16 (vmovn_u32 ((uint32x4_t) v[0]), vmovn_u32 ((uint32x4_t) v[1]));

  memcpy (p, &ab, sizeof (ab));
}

VEC_INLINE VecS
vec_widen_s (const guint8 * p)
{
  return (VecS) vmovl_u8 (vld1_u8 (p));
}

VEC_INLINE VecS
vec_mulhrs (VecS a, VecS b)
{
  return (VecS) vqrdmulhq_s16 ((int16x8_t) a, (int16x8_t) b);
}

VEC_INLINE VecI
vec_madd (VecS a, VecS b)
{
  int16x8_t x = (int16x8_t) a, y = (int16x8_t) b;

  return (VecI) vpaddq_s32 (vmull_s16 (vget_low_s16 (x), vget_low_s16 (y)),
      vmull_s16 (vget_high_s16 (x), vget_high_s16 (y)));
}

VEC_INLINE VecW
vec_mulhi (VecW a, VecW b)
{
  uint16x8_t x = (uint16x8_t) a, y = (uint16x8_t) b;
  uint16x4_t low = vshrn_n_u32 (vmull_u16 (vget_low_u16 (x), vget_low_u16 (y)), 16);
  uint16x4_t high = vshrn_n_u32 (vmull_u16 (vget_high_u16 (x), vget_high_u16 (y)), 16);

  return (VecW) vcombine_u16 (low, high);
}

VEC_INLINE void
vec_pack_s (guint8 * p, VecS a, VecS b)
{
  vst1q_u8 (p, vcombine_u8 (vqmovun_s16 ((int16x8_t) a), vqmovun_s16 ((int16x8_t) b)));
}

#else /* any other processor */

VEC_INLINE VecI
vec_widen_u8 (const guint8 * p)
{
  return (VecI) { p[0], p[1], p[2], p[3] };
}

VEC_INLINE VecI
vec_widen_u16 (const guint8 * p)
{
  guint16 x[4];

  memcpy (x, p, sizeof (x));
  return (VecI) { x[0], x[1], x[2], x[3] };
}

VEC_INLINE VecF
vec_spread (VecF v, gint lane)
{
  return vec_splat_f (v[lane]);
}

VEC_INLINE VecI
vec_round (VecF v)
{
  VecI r;

  for (gint i = 0; i < VEC_LANES_F; i++)
    r[i] = (gint32) lrintf (v[i]);
  return r;
}

VEC_INLINE VecF
vec_min_f (VecF a, VecF b)
{
  for (gint i = 0; i < VEC_LANES_F; i++)
    a[i] = a[i] < b[i] ? a[i] : b[i];
  return a;
}

VEC_INLINE VecF
vec_max_f (VecF a, VecF b)
{
  for (gint i = 0; i < VEC_LANES_F; i++)
    a[i] = a[i] > b[i] ? a[i] : b[i];
  return a;
}

VEC_INLINE void
vec_pack_u8 (guint8 * p, const VecI * v)
{
  for (gint i = 0; i < 16; i++)
    p[i] = (guint8) v[i / 4][i % 4];
}

VEC_INLINE void
vec_pack_u16 (guint8 * p, const VecI * v)
{
  guint16 x[8];

  for (gint i = 0; i < 8; i++)
    x[i] = (guint16) v[i / 4][i % 4];
  memcpy (p, x, sizeof (x));
}

VEC_INLINE VecS
vec_widen_s (const guint8 * p)
{
  VecS v;

  for (gint i = 0; i < VEC_LANES_S; i++)
    v[i] = p[i];
  return v;
}

VEC_INLINE VecI
vec_madd (VecS a, VecS b)
{
  VecI v;

  for (gint i = 0; i < VEC_LANES_F; i++)
    v[i] = a[2 * i] * b[2 * i] + a[2 * i + 1] * b[2 * i + 1];
  return v;
}

VEC_INLINE VecW
vec_mulhi (VecW a, VecW b)
{
  for (gint i = 0; i < VEC_LANES_S; i++)
    a[i] = (guint16) ((guint32) a[i] * b[i] >> 16);
  return a;
}

VEC_INLINE void
vec_pack_s (guint8 * p, VecS a, VecS b)
{
  for (gint i = 0; i < VEC_LANES_S; i++) {
    p[i] = (guint8) CLAMP (a[i], 0, 255);
    p[VEC_LANES_S + i] = (guint8) CLAMP (b[i], 0, 255);
  }
}

#endif
