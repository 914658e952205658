/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Pixels in and out: one vocabulary for every way in which samples are stored, so that the kernels only know
 * components. S is one of CONVOLVE_SAMPLES_U8, _U16 (components side by side, aligned: one wide access a pixel) and
 * _ANY (byte by byte, wherever they lie); N is the number of components. */
#pragma once

#include "../params.h"
#include "variants.h"

/* Calls f (x, y) for this thread's share of the pixels of rows row_begin .. row_end - 1. Pixels are dealt out in
 * reading order; a thread divides but once, since divisions take longer than most of what it does with a pixel. */
template <typename F>
__device__ inline void
each_pixel (int width, int row_begin, int row_end, F f)
{
  uint64_t first = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x, step = gridDim.x * (uint64_t)blockDim.x;
  int x = (int)(first % width), dx = (int)(step % width);
  int64_t y = row_begin + (int64_t)(first / width), dy = (int64_t)(step / width);

  for (; y < row_end; y += dy) {
    f (x, (int)y);
    x += dx;
    if (x >= width) {
      x -= width;
      y++;
    }
  }
}

/* The index that stands for i in a line of n samples, or -1 for the constant: the rules of docs/filters.md. */
__device__ inline int
border_index (int border, int i, int n)
{
  if (i >= 0 && i < n)
    return i;
  switch (border) {
    case 0: /* replicate */
      return i < 0 ? 0 : n - 1;
    case 1: { /* reflect */
      long long period = 2ll * n, m = i % period;

      m = m < 0 ? m + period : m;
      return (int)(m < n ? m : period - 1 - m);
    }
    case 2: { /* mirror */
      long long period = 2ll * n - 2, m;

      if (period == 0)
        return 0;
      m = i % period;
      m = m < 0 ? m + period : m;
      return (int)(m < n ? m : period - m);
    }
    case 3: { /* wrap */
      int m = i % n;

      return m < 0 ? m + n : m;
    }
    default:
      return -1;
  }
}

__device__ inline int
field (uint32_t word, const ConvolveLaunchComponent &c)
{
  return (word >> c.shift) & ((1u << c.depth) - 1);
}

/* The words of pixel x. */
template <int S, int N>
__device__ inline void
load_pixel (const ConvolveLaunchPicture &p, const uint8_t *row, int x, int (&q)[N])
{
  if constexpr (S == CONVOLVE_SAMPLES_U8) {
    if constexpr (N == 4) {
      uint32_t w = __ldg (reinterpret_cast<const uint32_t *> (row) + x);

      q[0] = w & 255, q[1] = w >> 8 & 255, q[2] = w >> 16 & 255, q[3] = w >> 24;
    } else if constexpr (N == 2) {
      uint32_t w = __ldg (reinterpret_cast<const uint16_t *> (row) + x);

      q[0] = w & 255, q[1] = w >> 8;
    } else {
#pragma unroll
      for (int c = 0; c < N; c++)
        q[c] = __ldg (row + (size_t)x * N + c);
    }
  } else if constexpr (S == CONVOLVE_SAMPLES_U16) {
    uint32_t w[N];

    if constexpr (N == 4) {
      uint2 v = __ldg (reinterpret_cast<const uint2 *> (row) + x);

      w[0] = v.x & 0xffff, w[1] = v.x >> 16, w[2] = v.y & 0xffff, w[3] = v.y >> 16;
    } else if constexpr (N == 2) {
      uint32_t v = __ldg (reinterpret_cast<const uint32_t *> (row) + x);

      w[0] = v & 0xffff, w[1] = v >> 16;
    } else {
#pragma unroll
      for (int c = 0; c < N; c++)
        w[c] = __ldg (reinterpret_cast<const uint16_t *> (row) + (size_t)x * N + c);
    }
#pragma unroll
    for (int c = 0; c < N; c++)
      q[c] = field (w[c], p.component[c]);
  } else {
    const uint8_t *at = row + (size_t)x * p.pixel_step;

    if (p.store == CONVOLVE_STORE_BITS32) {
      uint32_t w = __ldg (at) | __ldg (at + 1) << 8 | __ldg (at + 2) << 16 | (uint32_t)__ldg (at + 3) << 24;

#pragma unroll
      for (int c = 0; c < N; c++)
        q[c] = field (w, p.component[c]);
      return;
    }
#pragma unroll
    for (int c = 0; c < N; c++) {
      const uint8_t *b = at + p.component[c].at;

      if (p.store == CONVOLVE_STORE_U8)
        q[c] = __ldg (b);
      else
        q[c] = field (__ldg (b + p.swap) | __ldg (b + 1 - p.swap) << 8, p.component[c]);
    }
  }
}

template <int S, int N>
__device__ inline void
store_pixel (const ConvolveLaunchPicture &p, uint8_t *row, int x, const int (&q)[N])
{
  if constexpr (S == CONVOLVE_SAMPLES_U8) {
    if constexpr (N == 4) {
      reinterpret_cast<uint32_t *> (row)[x] = q[0] | q[1] << 8 | q[2] << 16 | (uint32_t)q[3] << 24;
    } else if constexpr (N == 2) {
      reinterpret_cast<uint16_t *> (row)[x] = q[0] | q[1] << 8;
    } else {
#pragma unroll
      for (int c = 0; c < N; c++)
        row[(size_t)x * N + c] = q[c];
    }
  } else if constexpr (S == CONVOLVE_SAMPLES_U16) {
    uint32_t w[N];

#pragma unroll
    for (int c = 0; c < N; c++)
      w[c] = (uint32_t)q[c] << p.component[c].shift;
    if constexpr (N == 4) {
      reinterpret_cast<uint2 *> (row)[x] = make_uint2 (w[0] | w[1] << 16, w[2] | w[3] << 16);
    } else if constexpr (N == 2) {
      reinterpret_cast<uint32_t *> (row)[x] = w[0] | w[1] << 16;
    } else {
#pragma unroll
      for (int c = 0; c < N; c++)
        reinterpret_cast<uint16_t *> (row)[(size_t)x * N + c] = w[c];
    }
  } else {
    uint8_t *at = row + (size_t)x * p.pixel_step;

    if (p.store == CONVOLVE_STORE_BITS32) {
      uint32_t w = 0;

#pragma unroll
      for (int c = 0; c < N; c++)
        w |= (uint32_t)q[c] << p.component[c].shift;
#pragma unroll
      for (int i = 0; i < 4; i++)
        at[i] = w >> 8 * i;
      return;
    }
#pragma unroll
    for (int c = 0; c < N; c++) {
      uint8_t *b = at + p.component[c].at;
      uint32_t w = (uint32_t)q[c] << p.component[c].shift;

      if (p.store == CONVOLVE_STORE_U8) {
        *b = w;
      } else {
        b[p.swap] = w;
        b[1 - p.swap] = w >> 8;
      }
    }
  }
}

/* One rounding, to nearest and ties to even, then the clamp; a value that is no number becomes the lower limit. */
__device__ inline int
finish_sample (const ConvolveLaunchComponent &c, float value)
{
  return __float2int_rn (fminf (fmaxf (fmaf (c.gain, value, c.offset), c.lo), c.hi));
}

/* Whether pixels of this picture need their input at the end. */
__device__ inline bool
needs_input (const ConvolveLaunch &l, const ConvolveLaunchPicture &p)
{
  bool copies = l.combine == CONVOLVE_DO_UNSHARP;

  for (int c = 0; c < p.n_components; c++)
    copies |= p.component[c].action == CONVOLVE_DO_COPY;
  return copies;
}

/* Colours x alpha, where they are to count so. v: the values of a pixel, of the picture or outside it. */
template <int N>
__device__ inline void
weigh (const ConvolveLaunchPicture &p, float (&v)[N])
{
  if (N < 2 || !p.weighted)
    return;

  bool first = p.alpha == 0;
  float head = v[0], tail = v[N - 1], a = first ? head : tail;

#pragma unroll
  for (int c = 0; c < N; c++)
    v[c] *= a;
  v[0] = first ? head : v[0];
  v[N - 1] = first ? v[N - 1] : tail;
}

/* From the terms' sums of pixel (x, y) to its samples. */
template <int S, int N, int T>
__device__ inline void
finish_pixel (const ConvolveLaunch &l, const ConvolveLaunchPicture &p, bool input, int x, int y, const float *sum0,
              const float *sum1)
{
  int in[N] = {}, q[N];
  float divisor = 1.f, share = 1.f;

  if (N > 1 && p.weighted) {
    float head = sum0[0], tail = sum0[N - 1];

    divisor = p.alpha == 0 ? head : tail;
    input |= !(divisor > 0.f);
    share = p.sum / divisor;
  }
  if (input)
    load_pixel<S, N> (p, reinterpret_cast<const uint8_t *> (p.src) + (ptrdiff_t)y * p.src_stride, x, in);
#pragma unroll
  for (int c = 0; c < N; c++) {
    const ConvolveLaunchComponent &k = p.component[c];
    float value = sum0[c];

    if (T == 2) {
      if (l.combine == CONVOLVE_DO_MAGNITUDE)
        value = sqrtf (fmaf (value, value, sum1[c] * sum1[c]));
      else
        value += sum1[c];
    } else if (l.combine == CONVOLVE_DO_UNSHARP) {
      float d = in[c] - value;

      value = in[c] + (fabsf (d) > k.threshold ? l.amount * d : 0.f);
    }
    if (N > 1 && p.weighted && p.alpha != c) {
      value *= share;
      if (!(divisor > 0.f)) {
        q[c] = k.action == CONVOLVE_DO_FILL   ? (int)k.fill
               : k.action == CONVOLVE_DO_COPY ? in[c]
                                              : (int)fminf (fmaxf ((float)in[c], k.lo), k.hi);
        continue;
      }
    }
    q[c] = k.action == CONVOLVE_DO_FILTER ? finish_sample (k, value)
           : k.action == CONVOLVE_DO_COPY ? in[c]
                                          : (int)k.fill;
  }
  store_pixel<S, N> (p, reinterpret_cast<uint8_t *> (p.dst) + (ptrdiff_t)y * p.dst_stride, x, q);
}

template <int N> struct Number {
  static constexpr int value = N;
};

/* Calls f (Number<n>). */
template <typename F>
__device__ inline void
with_count (int n, F f)
{
  switch (n) {
    case 1:
      return f (Number<1> ());
    case 2:
      return f (Number<2> ());
    case 3:
      return f (Number<3> ());
    default:
      return f (Number<4> ());
  }
}

/* Calls f (Number<components>, picture, task) for what block b has to do. */
template <typename F>
__device__ inline void
with_components (const ConvolveLaunch &l, uint32_t b, F f)
{
  int i = 0;

  while (i + 1 < (int)l.n_pictures && b >= l.picture[i + 1].first_block)
    i++;

  const ConvolveLaunchPicture &p = l.picture[i];

  with_count (p.n_components, [&] (auto n) { f (n, p, b - p.first_block); });
}
