/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The way of pixels into shared memory for kernels whose blocks have a warp that does nothing else. It runs ahead of
 * the working warps, from task to task, as many stages as there are. A stage holds CONVOLVE_BANDED_ROWS rows of a
 * strip and its halo as they lie in memory, with the border rule applied: the others never ask where they are. */
#pragma once

#include "../banded.h"
#include "pixel.cuh"
#include "tensor.cuh"

#if CONVOLVE_HAS_TENSOR

/* Stages in a ring at the start of shared memory, then their barriers; each user walks through all of them. Two
 * registers: the rest is the launch's. */
struct Stages {
  const ConvolveLaunch &l;
  int slot = 0;
  uint32_t turn = 0; /* parity of the ring's round */

  __device__ static uint32_t
  base ()
  {
    extern __shared__ uint4 shared[];

    return shared_address (shared);
  }
  __device__ uint32_t
  at () const
  {
    return base () + slot * l.stage_bytes;
  }
  __device__ uint32_t
  full () const
  {
    return base () + l.stages * l.stage_bytes + 8 * slot;
  }
  __device__ uint32_t
  empty () const
  {
    return full () + 8 * l.stages;
  }
  /* What lies behind. */
  __device__ uint32_t
  end () const
  {
    return base () + l.stages * (l.stage_bytes + 16);
  }
  __device__ void
  next ()
  {
    if (++slot == l.stages) {
      slot = 0;
      turn ^= 1;
    }
  }
};

/* Arrivals that make a stage full: each lane when its copies are there, and one lane more when all have asked. */
#define CONVOLVE_FEED_ARRIVALS 33

/* By one thread, before a barrier of the block. */
__device__ inline void
init_stages (const ConvolveLaunch &l, int workers)
{
  for (Stages stages = {l}; stages.turn == 0; stages.next ()) {
    barrier_init (stages.full (), CONVOLVE_FEED_ARRIVALS);
    barrier_init (stages.empty (), workers);
  }
  fence_copies ();
}

/* What a task reads: of each row the pixels from .. to - 1, of the picture or outside it. Byte 0 of a stage's row is
 * byte origin of the picture's (a multiple of 16, negative at the left edge). */
struct Window {
  int from, to, origin, pitch;
};

/* Pixels from .. to - 1 of the stage's rows y .. with the border rule, one by one. Four are asked for at a time. */
template <int N>
__device__ inline void
patch_pixels (const ConvolveLaunch &l, const ConvolveLaunchPicture &p, const Window &w, int lane, uint32_t stage, int y,
              uint32_t rows, int from, int to)
{
  constexpr int batch = 4;
  int columns = to - from, n = columns * CONVOLVE_BANDED_ROWS;

  for (int i = lane; i < n; i += 32 * batch) {
    int q[batch][N] = {};
    uint32_t at[batch];

#pragma unroll
    for (int k = 0; k < batch; k++) {
      int j = i + 32 * k, r = j / columns, x = from + j % columns;

      at[k] = 0;
      if (j >= n || !(rows >> r & 1))
        continue;

      int row = border_index (l.border, y + r, p.height), column = border_index (l.border, x, p.width);

      at[k] = stage + r * w.pitch + x * N - w.origin;
      if (row >= 0 && column >= 0)
        load_pixel<CONVOLVE_SAMPLES_U8, N> (
            p, reinterpret_cast<const uint8_t *> (p.src) + (ptrdiff_t)row * p.src_stride, column, q[k]);
      else
#pragma unroll
        for (int c = 0; c < N; c++)
          q[k][c] = (int)p.component[c].edge;
    }
#pragma unroll
    for (int k = 0; k < batch; k++)
      if (at[k])
#pragma unroll
        for (int c = 0; c < N; c++)
          store_byte (at[k] + c, q[k][c]);
  }
}

/* The bytes begin .. end - 1 of a row, multiples of BYTES, by all lanes. */
template <int BYTES>
__device__ inline void
copy_row (uint32_t to, const uint8_t *from, int begin, int end, int lane)
{
  for (int i = begin + lane * BYTES; i < end; i += 32 * BYTES)
    copy_async<BYTES> (to + i, from + i);
}

/* Asks for rows y .. y + CONVOLVE_BANDED_ROWS - 1, those that rows has a bit of. grain: what rows are aligned to, 4, 8
 * or 16. */
template <int N>
__device__ inline void
feed_stage (const ConvolveLaunch &l, const ConvolveLaunchPicture &p, const Window &w, int lane, const Stages &stages,
            int y, uint32_t rows, int grain)
{
  const uint8_t *src = reinterpret_cast<const uint8_t *> (p.src);
  uint32_t stage = stages.at (), full = stages.full ();
  int row_bytes = p.width * N;
  /* Whole grains inside the row, as far as they are wanted; the rest, and all that is outside, pixel by pixel. */
  int begin = max (w.from, 0) * N & -grain;
  int end = min (min (w.to * N + grain - 1, row_bytes) & -grain, row_bytes);
  uint32_t outside = 0;
  int expected = 0;

  end = max (begin, end);
  if (lane < CONVOLVE_BANDED_ROWS && (rows >> lane & 1)) {
    int row = border_index (l.border, y + lane, p.height);

    if (row < 0) {
      outside = 1;
    } else {
#if CONVOLVE_HAS_BULK
      if (grain == 16 && end > begin) {
        copy_bulk (stage + lane * w.pitch + begin - w.origin, src + (ptrdiff_t)row * p.src_stride + begin, end - begin,
                   full);
        expected = end - begin;
      }
#endif
    }
  }
  outside = __ballot_sync (~0u, outside);
#if CONVOLVE_HAS_BULK
  expected = __popc (__ballot_sync (~0u, expected > 0)) * (end - begin);
#endif
  if (!CONVOLVE_HAS_BULK || grain < 16)
    for (int r = 0; r < CONVOLVE_BANDED_ROWS; r++) {
      if (!((rows & ~outside) >> r & 1))
        continue;

      const uint8_t *from = src + (ptrdiff_t)border_index (l.border, y + r, p.height) * p.src_stride;
      uint32_t to = stage + r * w.pitch - w.origin;

      if (grain == 16)
        copy_row<16> (to, from, begin, end, lane);
      else if (grain == 8)
        copy_row<8> (to, from, begin, end, lane);
      else
        copy_row<4> (to, from, begin, end, lane);
    }
  if (outside)
    patch_pixels<N> (l, p, w, lane, stage, y, outside, w.from, w.to);
  if (w.from < 0)
    patch_pixels<N> (l, p, w, lane, stage, y, rows, w.from, 0);
  if (end < w.to * N)
    patch_pixels<N> (l, p, w, lane, stage, y, rows, end / N, w.to);
  fence_copies ();
  __syncwarp ();
  barrier_arrive_after_copies (full);
  if (lane == 0) {
#if CONVOLVE_HAS_BULK
    barrier_arrive_expecting (full, expected);
#else
    barrier_arrive (full);
#endif
  }
}

/* The largest of 4, 8, 16 that all rows of the picture are aligned to. */
__device__ inline int
grain_of (const ConvolveLaunchPicture &p)
{
  uint32_t bits = (uint32_t)p.src | (uint32_t)p.src_stride;

  return bits & 7 ? 4 : bits & 15 ? 8 : 16;
}

#endif
