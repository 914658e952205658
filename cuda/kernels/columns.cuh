/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Boxes by running sums, ../sums.h: what a thread and a block of the march hold, the sums of a thread's columns, and
 * the samples that move them down a row. */
#pragma once

#include "../sums.h"
#include "pixel.cuh"

/* Four bytes of a row outside with the constant border, from byte 4 k on. */
template <int S>
__device__ inline uint32_t
edge_word (const ConvolveLaunchPicture &p, uint32_t k)
{
  constexpr int samples = S == CONVOLVE_SAMPLES_U8 ? 4 : 2;
  uint32_t word = 0;

  for (int i = 0; i < samples; i++) {
    const ConvolveLaunchComponent &c = p.component[(samples * k + i) % p.n_components];

    word |= (uint32_t)c.edge << c.shift << 32 / samples * i;
  }
  return word;
}

/* Rows can be read and written in the widest way. */
__device__ inline bool
is_wide (uint64_t address, int32_t stride)
{
  return (((uint32_t)address | (uint32_t)stride) & 15) == 0;
}

template <int S, int N> struct Lane {
  static constexpr int bytes = S == CONVOLVE_SAMPLES_U8 ? 1 : 2; /* of a sample */
  static constexpr int pixels = CONVOLVE_SUMS_PIXELS (bytes, N);
  static constexpr int warp = 32 * pixels;
  static constexpr int samples = pixels * N;
  static constexpr int words = samples * bytes / 4;
  static constexpr int pixel_words = CONVOLVE_SUMS_WORDS (bytes, N);
};

/* What a block has in shared memory. */
template <int S, int N> struct Shared {
  uint32_t *rows;   /* two of sums from the warp's first pixel on: pixel j of all threads, then their next ... */
  uint32_t *totals; /* twice those of warps */
  int32_t *column;  /* of each pixel in the picture */
  int32_t *row_of;  /* for each row of the task that which leaves, then that which enters */
  uint32_t *leaves; /* samples that do so next: words of all threads, then their next ... */
  uint32_t *enters;

  __device__ Shared ()
  {
    extern __shared__ uint4 shared[];

    rows = reinterpret_cast<uint32_t *> (shared);
    totals = rows + 2 * blockDim.x * Lane<S, N>::samples;
    column = reinterpret_cast<int32_t *> (totals + 2 * CONVOLVE_SUMS_TOTALS * N);
    row_of = column + blockDim.x * Lane<S, N>::pixels;
    leaves = reinterpret_cast<uint32_t *> (row_of + 2 * CONVOLVE_SUMS_TASK_ROWS);
    enters = leaves + blockDim.x * Lane<S, N>::words;
  }
  /* x, y: of the block's first pixel. */
  __device__ void find_places (const ConvolveSums &s, int x, int y, bool ends) const
  {
    int pixels = blockDim.x * Lane<S, N>::pixels;

    /* One place in the code for both: what runs but once is hardly worth its way into the cache. */
#pragma unroll 1
    for (int i = threadIdx.x; i < pixels + 2 * CONVOLVE_SUMS_TASK_ROWS; i += blockDim.x) {
      bool is_row = i >= pixels, enter = i >= pixels + CONVOLVE_SUMS_TASK_ROWS;
      int row = i - pixels - (enter ? CONVOLVE_SUMS_TASK_ROWS : 0);

      row += enter ? y + s.reach_y : y - s.reach_y - (ends ? 0 : 1);
      column[i] = border_index (s.border, is_row ? row : x + i, is_row ? s.picture.height : s.picture.width);
    }
    __syncthreads ();
  }
  __device__ uint32_t *row (int turn) const { return rows + turn * blockDim.x * Lane<S, N>::samples; }
  __device__ uint32_t *total (int turn, int warp) const { return totals + (turn * CONVOLVE_SUMS_TOTALS + warp) * N; }
};

template <int N>
__device__ __forceinline__ void
store_values (uint32_t *to, const uint32_t (&v)[N])
{
  if constexpr (N == 4) {
    *reinterpret_cast<uint4 *> (to) = make_uint4 (v[0], v[1], v[2], v[3]);
  } else if constexpr (N == 2) {
    *reinterpret_cast<uint2 *> (to) = make_uint2 (v[0], v[1]);
  } else {
#pragma unroll
    for (int c = 0; c < N; c++)
      to[c] = v[c];
  }
}

/* Sums of a pixel in global memory. */
template <int N>
__device__ __forceinline__ void
load_global (const uint32_t *from, uint32_t (&v)[N])
{
  if constexpr (N == 4) {
    uint4 q = __ldg (reinterpret_cast<const uint4 *> (from));

    v[0] = q.x, v[1] = q.y, v[2] = q.z, v[3] = q.w;
  } else if constexpr (N == 2) {
    uint2 q = __ldg (reinterpret_cast<const uint2 *> (from));

    v[0] = q.x, v[1] = q.y;
  } else {
#pragma unroll
    for (int c = 0; c < N; c++)
      v[c] = __ldg (from + c);
  }
}

template <int N>
__device__ __forceinline__ void
load_values (const uint32_t *from, uint32_t (&v)[N])
{
  if constexpr (N == 4) {
    uint4 q = *reinterpret_cast<const uint4 *> (from);

    v[0] = q.x, v[1] = q.y, v[2] = q.z, v[3] = q.w;
  } else if constexpr (N == 2) {
    uint2 q = *reinterpret_cast<const uint2 *> (from);

    v[0] = q.x, v[1] = q.y;
  } else {
#pragma unroll
    for (int c = 0; c < N; c++)
      v[c] = from[c];
  }
}

/* From global to shared memory, without registers where the device can. */
template <int WORDS>
__device__ __forceinline__ void
fetch_words (uint32_t *to, const uint8_t *from)
{
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"((uint32_t)__cvta_generic_to_shared (to)), "l"(from),
               "n"(4 * WORDS)
               : "memory");
#else
#pragma unroll
  for (int i = 0; i < WORDS; i++)
    to[i] = __ldg (reinterpret_cast<const uint32_t *> (from) + i);
#endif
}

__device__ __forceinline__ void
fetch_wait ()
{
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

/* A thread's samples of a row as they lie in memory. */
template <int S, int N> struct Samples {
  using L = Lane<S, N>;
  uint32_t w[L::words];

  /* Words that are fetched at a time. */
  static constexpr int wide = L::words % 4 == 0 ? 4 : 2;

  /* To a place in shared memory that is the thread's own: the samples are there after fetch_wait. row: NULL stands
   * for the constant. column: where the thread's pixels are in the picture; side_by_side: from the first on, aligned.
   */
  static __device__ __forceinline__ void fetch (const ConvolveLaunchPicture &p, const uint8_t *row,
                                                const int32_t *column, int x, bool side_by_side, uint32_t *to)
  {
    to += threadIdx.x * wide;
    if (side_by_side && row) {
#pragma unroll
      for (int k = 0; k < L::words; k += wide)
        fetch_words<wide> (to + k * blockDim.x, row + (ptrdiff_t)x * N * L::bytes + 4 * k);
      return;
    }

    fetch_pixels (p, row, column, to);
  }
  /* Pixel by pixel, without waiting where these are whole words: at the picture's edge few warps do it, but all wait
   * for them. */
  static __device__ __forceinline__ void fetch_pixels (const ConvolveLaunchPicture &p, const uint8_t *row,
                                                       const int32_t *column, uint32_t *to)
  {
    if constexpr (L::pixel_words > 0) {
#pragma unroll
      for (int k = 0; k < L::words; k++) {
        int x = column[k / L::pixel_words];
        uint32_t *at = to + k / wide * wide * blockDim.x + k % wide;

        if (row && x >= 0)
          fetch_words<1> (at, row + ((ptrdiff_t)x * L::pixel_words + k % L::pixel_words) * 4);
        else
          *at = edge_word<S> (p, k);
      }
    } else {
      uint32_t v[L::samples];

#pragma unroll
      for (int i = 0; i < L::samples; i++) {
        const ConvolveLaunchComponent &c = p.component[i % N];
        int x = column[i / N];
        ptrdiff_t at = (ptrdiff_t)x * N + i % N;

        v[i] = (uint32_t)c.edge << c.shift;
        if (row && x >= 0)
          v[i] = S == CONVOLVE_SAMPLES_U8 ? __ldg (row + at) : __ldg (reinterpret_cast<const uint16_t *> (row) + at);
      }
#pragma unroll
      for (int k = 0; k < L::words; k++) {
        uint32_t word = 0;

#pragma unroll
        for (int i = 0; i < 4 / L::bytes; i++)
          word |= v[4 / L::bytes * k + i] << 8 * L::bytes * i;
        to[k / wide * wide * blockDim.x + k % wide] = word;
      }
    }
  }
  __device__ __forceinline__ void take (const uint32_t *from)
  {
    from += threadIdx.x * wide;
#pragma unroll
    for (int k = 0; k < L::words; k += wide) {
      uint32_t q[wide];

      load_values<wide> (from + k * blockDim.x, q);
#pragma unroll
      for (int i = 0; i < wide; i++)
        w[k + i] = q[i];
    }
  }
  __device__ __forceinline__ uint32_t get (const ConvolveLaunchPicture &p, int i) const
  {
    if (S == CONVOLVE_SAMPLES_U8)
      return w[i / 4] >> 8 * (i % 4) & 255;
    return w[i / 2] >> 16 * (i % 2) >> p.component[0].shift & ((1u << p.component[0].depth) - 1);
  }
};

/* a + the bytes of w x those of weights, which are signed. */
__device__ __forceinline__ uint32_t
dot (uint32_t w, uint32_t weights, uint32_t a)
{
  asm("dp4a.u32.s32 %0, %1, %2, %0;" : "+r"(a) : "r"(w), "r"(weights));
  return a;
}

/* A thread's columns. ENDS: outermost weights differ. */
template <int S, int N, bool ENDS> struct Columns {
  using L = Lane<S, N>;
  uint32_t sum[L::samples];
  Samples<S, N> last_before, last_after; /* ENDS */

  /* The samples that are to leave and enter for row i of the task. */
  __device__ __forceinline__ void fetch (const ConvolveSums &s, const Shared<S, N> &shared, const int32_t *column,
                                         int x, bool side_by_side, int i) const
  {
    const ConvolveLaunchPicture &p = s.picture;
    int leaves = shared.row_of[i], enters = shared.row_of[CONVOLVE_SUMS_TASK_ROWS + i];
    const uint8_t *src = reinterpret_cast<const uint8_t *> (p.src);

    Samples<S, N>::fetch (p, leaves < 0 ? nullptr : src + (ptrdiff_t)leaves * p.src_stride, column, x, side_by_side,
                          shared.leaves);
    Samples<S, N>::fetch (p, enters < 0 ? nullptr : src + (ptrdiff_t)enters * p.src_stride, column, x, side_by_side,
                          shared.enters);
  }
  __device__ __forceinline__ void start (const ConvolveSums &s, const Shared<S, N> &shared, uint32_t task,
                                         const int32_t *column)
  {
    const uint32_t *starts = reinterpret_cast<const uint32_t *> (s.starts) + (size_t)task * s.pitch;

#pragma unroll
    for (int j = 0; j < L::pixels; j++) {
      int x = column[j];
      uint32_t v[N];

      if (x >= 0)
        load_global<N> (starts + convolve_sums_start (L::bytes, N, s.pitch, x), v);
#pragma unroll
      for (int c = 0; c < N; c++)
        sum[j * N + c] = x < 0 ? (uint32_t)s.picture.component[c].edge * (2 * s.reach_y + 1) : v[c];
    }
    if constexpr (ENDS) {
      fetch_wait ();
      last_before.take (shared.leaves);
      last_after.take (shared.enters);
#pragma unroll
      for (int i = 0; i < L::samples; i++)
        sum[i] = s.inner_y * sum[i] -
                 (s.inner_y - s.end_y) * (last_before.get (s.picture, i) + last_after.get (s.picture, i));
    }
  }
  __device__ __forceinline__ void move (const ConvolveSums &s, const Shared<S, N> &shared)
  {
    Samples<S, N> before, after;

    fetch_wait ();
    before.take (shared.leaves);
    after.take (shared.enters);
    if constexpr (ENDS) {
      uint32_t end = s.end_y, step = s.inner_y - s.end_y;

#pragma unroll
      for (int i = 0; i < L::samples; i++)
        sum[i] += end * (after.get (s.picture, i) - last_before.get (s.picture, i)) +
                  step * (last_after.get (s.picture, i) - before.get (s.picture, i));
      last_before = before;
      last_after = after;
    } else if constexpr (S == CONVOLVE_SAMPLES_U8) {
#pragma unroll
      for (int k = 0; k < L::words; k++) {
        uint32_t lower = __byte_perm (after.w[k], before.w[k], 0x5140);
        uint32_t upper = __byte_perm (after.w[k], before.w[k], 0x7362);

        sum[4 * k] = dot (lower, 0x0000ff01, sum[4 * k]);
        sum[4 * k + 1] = dot (lower, 0xff010000, sum[4 * k + 1]);
        sum[4 * k + 2] = dot (upper, 0x0000ff01, sum[4 * k + 2]);
        sum[4 * k + 3] = dot (upper, 0xff010000, sum[4 * k + 3]);
      }
    } else {
#pragma unroll
      for (int i = 0; i < L::samples; i++)
        sum[i] += after.get (s.picture, i) - before.get (s.picture, i);
    }
  }
  /* A column's sum as rows of sums take it. */
  __device__ __forceinline__ uint32_t get (const ConvolveSums &s, int i) const
  {
    if (ENDS || S == CONVOLVE_SAMPLES_U16)
      return (sum[i] + (1u << s.down >> 1)) >> s.down;
    return sum[i];
  }
};
