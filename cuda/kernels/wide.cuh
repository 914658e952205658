/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The two arithmetics of the stages: a float, and a pair of floats whose sum is the value (about 48 bits), for
 * filters whose weights or taps are too many for 24. No double-precision instruction: those are 1/64 as fast on most
 * GPUs. The pair follows Dekker, "A floating-point technique for extending the available precision", 1971, and
 * Knuth's branch-free sum; __f..._rn keep the compiler from contracting the error terms away. */
#pragma once

#include <stdint.h>

struct Single {
  float v;

  static constexpr int floats = 1;
  static __device__ Single of (float a) { return {a}; }
  static __device__ Single load (const float *p, size_t i) { return {__ldg (p + i)}; }
  __device__ void store (float *p, size_t i) const { p[i] = v; }
  __device__ float top () const { return v; }
  __device__ float rest () const { return 0.f; }
};

struct Pair {
  float hi, lo;

  static constexpr int floats = 2;
  static __device__ Pair of (float a) { return {a, 0.f}; }
  static __device__ Pair load (const float *p, size_t i)
  {
    float2 f = __ldg (reinterpret_cast<const float2 *> (p) + i);

    return {f.x, f.y};
  }
  __device__ void store (float *p, size_t i) const { reinterpret_cast<float2 *> (p)[i] = make_float2 (hi, lo); }
  __device__ float top () const { return hi; }
  __device__ float rest () const { return lo; }
};

/* The bits of a double, as a number of the arithmetic, without a double-precision instruction. */
__device__ inline Pair
pair_of_double (double d)
{
  uint64_t bits = __double_as_longlong (d), fraction = (bits & 0xfffffffffffffull) | 1ull << 52;
  int exponent = (int)(bits >> 52 & 2047) - 1023;

  if (exponent < -120)
    return {0.f, 0.f};

  /* the upper 24 bits exactly, the lower 29 rounded to 24 */
  float scale = exponent > 126 ? __int_as_float (0x7f800000) : __int_as_float ((exponent + 127) << 23);
  float sign = bits >> 63 ? -scale : scale;
  uint32_t upper = (uint32_t)(fraction >> 29), lower = (uint32_t)(fraction & 0x1fffffff);

  return {__fmul_rn ((float)upper * 0x1p-23f, sign), __fmul_rn (__uint2float_rn (lower) * 0x1p-52f, sign)};
}

template <typename A> __device__ inline A number (double d);
template <>
__device__ inline Pair
number<Pair> (double d)
{
  return pair_of_double (d);
}
template <>
__device__ inline Single
number<Single> (double d)
{
  Pair p = pair_of_double (d);

  return {p.hi + p.lo};
}

__device__ inline Pair
quick_sum (float a, float b)
{
  float s = __fadd_rn (a, b);

  return {s, __fsub_rn (b, __fsub_rn (s, a))};
}

__device__ inline Pair
exact_sum (float a, float b)
{
  float s = __fadd_rn (a, b), t = __fsub_rn (s, a);

  return {s, __fadd_rn (__fsub_rn (a, __fsub_rn (s, t)), __fsub_rn (b, t))};
}

__device__ inline Single
operator+ (Single a, Single b)
{
  return {a.v + b.v};
}
__device__ inline Single
operator- (Single a, Single b)
{
  return {a.v - b.v};
}
__device__ inline Single
operator* (Single a, Single b)
{
  return {a.v * b.v};
}
__device__ inline Single
multiply_add (Single a, Single b, Single c)
{
  return {fmaf (a.v, b.v, c.v)};
}
__device__ inline Single
divide (Single a, Single b)
{
  return {a.v / b.v};
}
__device__ inline Single
root (Single a)
{
  return {sqrtf (a.v)};
}

__device__ inline Pair
operator+ (Pair a, Pair b)
{
  Pair s = exact_sum (a.hi, b.hi), t = exact_sum (a.lo, b.lo);

  s = quick_sum (s.hi, __fadd_rn (s.lo, t.hi));
  return quick_sum (s.hi, __fadd_rn (s.lo, t.lo));
}

__device__ inline Pair
operator- (Pair a, Pair b)
{
  return a + Pair{-b.hi, -b.lo};
}

__device__ inline Pair
operator* (Pair a, Pair b)
{
  float p = __fmul_rn (a.hi, b.hi), e = __fmaf_rn (a.hi, b.hi, -p);

  return quick_sum (p, __fmaf_rn (a.hi, b.lo, __fmaf_rn (a.lo, b.hi, e)));
}

__device__ inline Pair
multiply_add (Pair a, Pair b, Pair c)
{
  return c + a * b;
}

__device__ inline Pair
divide (Pair a, Pair b)
{
  float q = __fdiv_rn (a.hi, b.hi);
  Pair rest = a - b * Pair::of (q);

  return quick_sum (q, __fdiv_rn (rest.hi, b.hi));
}

__device__ inline Pair
root (Pair a)
{
  if (!(a.hi > 0.f))
    return {0.f, 0.f};

  float r = __fsqrt_rn (a.hi);
  Pair rest = a - Pair::of (r) * Pair::of (r);

  return quick_sum (r, __fdiv_rn (rest.hi, 2.f * r));
}

/* To nearest, ties to even, limited to lo .. hi. */
template <typename A>
__device__ inline int
round_clamped (A a, float lo, float hi)
{
  float top = fminf (fmaxf (a.top (), lo - 1.f), hi + 1.f), q = rintf (top), part = top - q;

  if (part == 0.5f && a.rest () > 0.f)
    q += 1.f;
  else if (part == -0.5f && a.rest () < 0.f)
    q -= 1.f;
  return (int)fminf (fmaxf (q, lo), hi);
}
