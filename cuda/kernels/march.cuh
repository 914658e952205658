/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Boxes by running sums, ../sums.h: the march. A block walks down a strip of the picture with a sum for each column,
 * which the row that enters is added to and the one that leaves is subtracted from. Along a row results are
 * differences of sums from the warp's first pixel on, so that all warps meet but once a row. */
#pragma once

#include "columns.cuh"

/* ---- along a row ---- */

/* Writes sums up to and with each pixel, from the warp's first on. base: those before the thread's first. */
template <int S, int N, bool ENDS>
__device__ __forceinline__ void
sum_row (const ConvolveSums &s, const Columns<S, N, ENDS> &columns, uint32_t *row, uint32_t *total, int lane,
         uint32_t (&base)[N])
{
  using L = Lane<S, N>;
  uint32_t own[N] = {}, all[N], sum[N];

#pragma unroll
  for (int i = 0; i < L::samples; i++)
    own[i % N] += columns.get (s, i);
#pragma unroll
  for (int c = 0; c < N; c++)
    all[c] = own[c];
#pragma unroll
  for (int d = 1; d < 32; d *= 2)
#pragma unroll
    for (int c = 0; c < N; c++) {
      uint32_t left = __shfl_up_sync (~0u, all[c], d);

      all[c] += lane >= d ? left : 0;
    }
#pragma unroll
  for (int c = 0; c < N; c++)
    sum[c] = base[c] = all[c] - own[c];
  if (lane == 31)
    store_values<N> (total, all);
#pragma unroll
  for (int j = 0; j < L::pixels; j++) {
#pragma unroll
    for (int c = 0; c < N; c++)
      sum[c] += columns.get (s, j * N + c);
    store_values<N> (row + (j * blockDim.x + threadIdx.x) * N, sum);
  }
}

/* Sums up to and with the pixels that lie offset right of the thread's. */
template <int S, int N> struct Ahead {
  using L = Lane<S, N>;
  const uint32_t *row;
  int offset;
  uint32_t
      more[N]; /* what the thread's own warp and those behind it hold, up to that of the first of the pixels ... */
  uint32_t delta[N]; /* ... and what comes in at pixel cross: for all threads the same, but for most of them 0 */
  int cross;

  __device__ __forceinline__ Ahead (const Shared<S, N> &shared, int turn, int warp, int lane, int pixels)
  {
    int warps = pixels / L::warp, left = L::warp - pixels % L::warp;
    uint32_t next[N];

    row = shared.row (turn) + threadIdx.x * N;
    offset = pixels;
    cross = left % L::pixels;
#pragma unroll
    for (int c = 0; c < N; c++)
      more[c] = 0;
    for (int k = 0; k < warps; k++) {
      load_values<N> (shared.total (turn, warp + k), next);
#pragma unroll
      for (int c = 0; c < N; c++)
        more[c] += next[c];
    }
    load_values<N> (shared.total (turn, warp + warps), next);
#pragma unroll
    for (int c = 0; c < N; c++) {
      more[c] += lane > left / L::pixels ? next[c] : 0;
      delta[c] = lane == left / L::pixels ? next[c] : 0;
    }
  }
  /* From its warp's first pixel on. */
  __device__ __forceinline__ void load (int j, uint32_t (&v)[N]) const
  {
    int k = offset + j;

    load_values<N> (row + (k % L::pixels * blockDim.x + k / L::pixels) * N, v);
  }
};

/* The sums of windows behind one place up to another. OWN: they begin at the thread's own pixel, before which the row
 * sums to base. */
template <int S, int N, bool OWN> struct Windows {
  using L = Lane<S, N>;
  Ahead<S, N> right, left;
  uint32_t less[N];

  __device__ __forceinline__ Windows (const Shared<S, N> &shared, int turn, int warp, int lane, int first, int last,
                                      const uint32_t (&base)[N])
      : right (shared, turn, warp, lane, last), left (shared, turn, warp, lane, first)
  {
#pragma unroll
    for (int c = 0; c < N; c++)
      less[c] = (OWN ? base[c] : left.more[c]) - right.more[c];
  }
  /* A group of pixels from first on; groups come one after the other. */
  template <int GROUP, bool ENDS>
  __device__ __forceinline__ void get (const ConvolveSums &s, const Columns<S, N, ENDS> &columns, int first,
                                       uint32_t (&v)[GROUP * N])
  {
    /* Loads of several pixels come first. */
    constexpr int ahead = OWN ? GROUP : N == 3 ? 1 : 4 / N;

#pragma unroll
    for (int i = 0; i < GROUP; i += ahead) {
      uint32_t r[ahead][N], l[ahead][N] = {};

#pragma unroll
      for (int j = 0; j < ahead; j++) {
        right.load (first + i + j, r[j]);
        if (!OWN)
          left.load (first + i + j, l[j]);
      }
#pragma unroll
      for (int j = 0; j < ahead; j++) {
        cross (first + i + j);
#pragma unroll
        for (int c = 0; c < N; c++) {
          v[(i + j) * N + c] = r[j][c] - l[j][c] - less[c];
          if (OWN)
            less[c] += columns.get (s, (first + i + j) * N + c);
        }
      }
    }
  }
  __device__ __forceinline__ void cross (int j)
  {
    if (j == right.cross)
#pragma unroll
      for (int c = 0; c < N; c++)
        less[c] -= right.delta[c];
    if (!OWN && j == left.cross)
#pragma unroll
      for (int c = 0; c < N; c++)
        less[c] += left.delta[c];
  }
};

/* ---- results ---- */

/* From four sums, or two of words, to a word of samples. */
template <int S, int N>
__device__ __forceinline__ uint32_t
plain_word (const ConvolveSums &s, const uint32_t *v)
{
  uint32_t q[4];

#pragma unroll
  for (int i = 0; i < 4 / Lane<S, N>::bytes; i++)
    q[i] = (uint32_t)(((uint64_t)v[i] * s.factor + (0x80ull << 32)) >> 32);
  if (S == CONVOLVE_SAMPLES_U8)
    return __byte_perm (__byte_perm (q[0], q[1], 0x0051), __byte_perm (q[2], q[3], 0x0051), 0x5410);
  return __byte_perm (q[0], q[1], 0x6521) << s.picture.component[0].shift;
}

/* A sample of component c; in: where its input lies. */
template <int S>
__device__ inline uint32_t
finished (const ConvolveSums &s, const ConvolveLaunchComponent &c, uint32_t v, const uint8_t *in)
{
  if (c.action == CONVOLVE_DO_FILTER)
    return finish_sample (c, (float)v * s.scale) << c.shift;
  if (c.action == CONVOLVE_DO_FILL)
    return (uint32_t)c.fill << c.shift;
  return S == CONVOLVE_SAMPLES_U8 ? __ldg (in)
                                  : (uint32_t)field (__ldg (reinterpret_cast<const uint16_t *> (in)), c) << c.shift;
}

/* A group of pixels of row y from x on, of which left are in the picture. */
template <int S, int N, int GROUP, bool PLAIN>
__device__ __forceinline__ void
store_group (const ConvolveSums &s, int x, int y, int left, bool wide, const uint32_t *v)
{
  using L = Lane<S, N>;
  constexpr int per_word = 4 / L::bytes, words = GROUP * N / per_word;
  const ConvolveLaunchPicture &p = s.picture;
  ptrdiff_t at = (ptrdiff_t)x * N * L::bytes;
  uint8_t *to = reinterpret_cast<uint8_t *> (p.dst) + (ptrdiff_t)y * p.dst_stride + at;
  const uint8_t *in = reinterpret_cast<const uint8_t *> (p.src) + (ptrdiff_t)y * p.src_stride + at;
  uint32_t w[words];

#pragma unroll
  for (int k = 0; k < words; k++) {
    if constexpr (PLAIN) {
      w[k] = plain_word<S, N> (s, v + per_word * k);
      continue;
    }
    w[k] = 0;
#pragma unroll
    for (int i = 0; i < per_word; i++) {
      int sample = per_word * k + i;

      if (sample / N < left)
        w[k] |= finished<S> (s, p.component[sample % N], v[sample], in + sample * L::bytes) << 32 / per_word * i;
    }
  }
  if (wide && left >= GROUP) {
    if constexpr (words % 4 == 0) {
#pragma unroll
      for (int k = 0; k < words; k += 4)
        __stcs (reinterpret_cast<uint4 *> (to) + k / 4, make_uint4 (w[k], w[k + 1], w[k + 2], w[k + 3]));
    } else {
#pragma unroll
      for (int k = 0; k < words; k += 2)
        __stcs (reinterpret_cast<uint2 *> (to) + k / 2, make_uint2 (w[k], w[k + 1]));
    }
    return;
  }
#pragma unroll
  for (int i = 0; i < GROUP * N; i++) {
    uint32_t sample = w[i / per_word] >> 32 / per_word * (i % per_word);

    if (i / N >= left)
      return;
    if (S == CONVOLVE_SAMPLES_U8)
      to[i] = sample;
    else
      reinterpret_cast<uint16_t *> (to)[i] = sample;
  }
}

/* Where a thread is, and which row it makes. */
struct Place {
  int turn, warp, lane;
  int at;   /* pixels from the thread's first to the left end of its first window */
  int x, y; /* of the first pixel that it makes ... */
  int left; /* ... of so many that remain in the strip */
  bool wide;
};

template <int S, int N, bool ENDS, bool PLAIN, bool OWN>
__device__ __forceinline__ void
make_pixels (const ConvolveSums &s, const Columns<S, N, ENDS> &columns, const Shared<S, N> &shared,
             const uint32_t (&base)[N], const Place &to)
{
  using L = Lane<S, N>;
  /* Results come in groups, so that few registers hold them at a time. */
  constexpr int bytes = L::bytes * N, group = ENDS                  ? 8 / bytes
                                              : bytes < 4 || N == 3 ? L::pixels
                                                                    : ((PLAIN && OWN) || bytes == 8 ? 16 : 8) / bytes;
  int last = to.at + 2 * s.reach_x;
  Windows<S, N, OWN> all (shared, to.turn, to.warp, to.lane, OWN ? 0 : to.at - 1, last, base);
  Windows<S, N, false> inner (shared, to.turn, to.warp, to.lane, to.at, last - 1, base);

#pragma unroll(OWN ? L::pixels : 1)
  for (int first = 0; first < L::pixels; first += group) {
    uint32_t v[group * N];

    all.template get<group> (s, columns, first, v);
    if constexpr (ENDS) {
      uint32_t w[group * N];

      inner.template get<group> (s, columns, first, w);
#pragma unroll
      for (int i = 0; i < group * N; i++)
        v[i] = s.end_x * v[i] + (s.inner_x - s.end_x) * w[i];
    }
    store_group<S, N, group, PLAIN> (s, to.x + first, to.y, to.left - first, to.wide, v);
  }
}

/* OWN: windows begin where the pixels of threads do. */
template <int S, int N, bool ENDS, bool PLAIN, bool OWN>
__device__ __forceinline__ void
march (const ConvolveSums &s)
{
  using L = Lane<S, N>;
  const ConvolveLaunchPicture &p = s.picture;
  uint32_t strips = (p.width + s.strip - 1) / s.strip, task = blockIdx.x / strips;
  int pixel = threadIdx.x * L::pixels, x0 = blockIdx.x % strips * s.strip;
  int lead = convolve_sums_lead (L::bytes, N, s.reach_x, ENDS), x = x0 - lead + pixel;
  int y0 = p.row_begin + task * s.task_rows, y1 = min (y0 + (int)s.task_rows, p.row_end);
  bool wide = is_wide (p.src, p.src_stride) && x >= 0 && x + L::pixels <= p.width &&
              x % CONVOLVE_SUMS_ALIGNED (L::bytes, N) == 0;
  Shared<S, N> shared;
  int32_t *column = shared.column + pixel;
  Columns<S, N, ENDS> columns;
  Place to = {0,
              (int)threadIdx.x / 32,
              (int)threadIdx.x % 32,
              lead - s.reach_x,
              x0 + pixel,
              y0,
              min ((int)s.strip, p.width - x0) - pixel,
              is_wide (p.dst, p.dst_stride)};

  shared.find_places (s, x - pixel, y0, ENDS);
  if (ENDS)
    columns.fetch (s, shared, column, x, wide, 0);
  columns.start (s, shared, task, column);
  for (;; to.y++, to.turn ^= 1) {
    bool more = to.y + 1 < y1;
    uint32_t base[N];

    if (more)
      columns.fetch (s, shared, column, x, wide, to.y + 1 - y0);
    sum_row (s, columns, shared.row (to.turn), shared.total (to.turn, to.warp), to.lane, base);
    __syncthreads ();
    if (to.left > 0)
      make_pixels<S, N, ENDS, PLAIN, OWN> (s, columns, shared, base, to);
    if (!more)
      return;
    columns.move (s, shared);
  }
}

template <int S, int N, bool PLAIN>
__device__ __forceinline__ void
march_any (const ConvolveSums &s)
{
  /* Three and four components are never subsampled. */
  if constexpr (N < 3)
    if (s.inner_x != s.end_x || s.inner_y != s.end_y)
      return march<S, N, true, PLAIN, false> (s);
  if constexpr (Lane<S, N>::pixel_words == 0)
    if (s.reach_x % CONVOLVE_SUMS_ALIGNED (S == CONVOLVE_SAMPLES_U8 ? 1 : 2, N) != 0)
      return march<S, N, false, PLAIN, false> (s);
  return march<S, N, false, PLAIN, true> (s);
}
