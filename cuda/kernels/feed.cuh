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

  __device__ static uint32_t base ()
  {
    extern __shared__ uint4 shared[];

    return shared_address (shared);
  }
  __device__ uint32_t at () const { return base () + slot * l.stage_bytes; }
  __device__ uint32_t full () const { return base () + l.stages * l.stage_bytes + 8 * slot; }
  __device__ uint32_t empty () const { return full () + 8 * l.stages; }
  /* Where copies report to before pixels outside the picture are added. */
  __device__ uint32_t landed () const { return full () + 16 * l.stages; }
  /* What lies behind. */
  __device__ uint32_t end () const { return base () + l.stages * (l.stage_bytes + CONVOLVE_BANDED_BARRIER_BYTES); }
  __device__ void next ()
  {
    if (++slot == l.stages) {
      slot = 0;
      turn ^= 1;
    }
  }
};

/* Arrivals that make a stage full (or landed): each lane when its copies are there, and one lane when all have asked.
 */
#define CONVOLVE_FEED_ARRIVALS 33

/* By one thread, before a barrier of the block. */
__device__ inline void
init_stages (const ConvolveLaunch &l, int workers)
{
  for (Stages stages = {l}; stages.turn == 0; stages.next ()) {
    barrier_init (stages.full (), CONVOLVE_FEED_ARRIVALS);
    barrier_init (stages.empty (), workers);
    barrier_init (stages.landed (), CONVOLVE_FEED_ARRIVALS);
  }
  fence_copies ();
}

/* Which of a stage's rows are what, a bit each. */
struct Rows {
  uint32_t inside;  /* copied */
  uint32_t outside; /* not of the picture: the constant stands there */
  uint32_t last;    /* the picture's last, behind which memory may end */
};

/* Pixels left or right of a picture that repeat some of it, by the border rule. A lane moves one of each row or two
 * or more of them: as many rows at a time as lanes allow. */
struct Side {
  int columns;    /* a power of two; 0: there are none, or they are not that near */
  int to, source; /* bytes from byte 0 of the picture's row */
};

/* What a task reads, and from where. Byte 0 of a stage's row is byte origin of the picture's (a multiple of 16,
 * negative at the left edge). */
template <int N> struct Feed {
  const ConvolveLaunch &l;
  const ConvolveLaunchPicture &p;
  int lane, pitch, origin;
  int from, to;       /* pixels wanted of each row, of the picture or outside it */
  int first, end_row; /* rows wanted: first .. end_row - 1 */
  int grain;          /* what rows are aligned to: 4, 8 or 16 bytes */
  int begin, end; /* bytes of the row that are copied, multiples of grain: from the picture's edge on, but perhaps a
                   * few more than a row has, if there is room in its stride ... */
  int last_end;   /* ... which the last row may not have */
  Side left, right;

  __device__ Feed (const ConvolveLaunch &launch, const ConvolveLaunchPicture &picture, int lane_index)
      : l (launch), p (picture), lane (lane_index)
  {
    uint32_t bits = (uint32_t)p.src | (uint32_t)p.src_stride;

    grain = bits & 7 ? 4 : bits & 15 ? 8 : 16;
  }

  __device__ void set_columns (int from_pixel, int to_pixel)
  {
    int bytes = p.width * N, whole = (bytes + grain - 1) & -grain, wanted = (to_pixel * N + grain - 1) & -grain;

    from = from_pixel;
    to = to_pixel;
    begin = max (from, 0) * N & -grain;
    last_end = max (min (wanted, bytes & -grain), begin);
    end = whole <= abs (p.src_stride) ? min (wanted, whole) : last_end;
    left = side (from, 0);
    right = side (p.width, to);
  }
  /* Pixels start .. stop - 1, at most 32. */
  __device__ Side side (int start, int stop) const
  {
    Side s = {1, 0, 0};

    while (s.columns < stop - start)
      s.columns *= 2;

    int x = start + (lane & (s.columns - 1)), at = border_index (l.border, x, p.width);

    s.to = x * N;
    s.source = at * N;
    /* A lane too many does what the last one does. */
    if (x >= stop) {
      s.to = (stop - 1) * N;
      s.source = border_index (l.border, stop - 1, p.width) * N;
    }
    if (stop <= start || !__all_sync (~0u, s.source >= max (from, 0) * N && s.source < min (to, p.width) * N))
      s.columns = 0;
    return s;
  }
  /* Whether anything but copies is needed. */
  __device__ bool patches () const
  {
    bool beyond = first < 0 || end_row > p.height - 1, constant = border_index (l.border, -1, 1) < 0;

    return from < 0 || to > p.width || min (to, p.width) * N > (beyond ? last_end : end) || (beyond && constant);
  }
  __device__ const uint8_t *row (int y) const
  {
    return reinterpret_cast<const uint8_t *> (p.src) + (ptrdiff_t)y * p.src_stride;
  }
  __device__ Rows rows_at (int y) const
  {
    int skip = min (max (first - y, 0), CONVOLVE_BANDED_ROWS),
        keep = min (max (end_row - y, 0), CONVOLVE_BANDED_ROWS);
    Rows rows = {((1u << keep) - 1) & ~((1u << skip) - 1), 0, 0};

    if (y >= 0 && y + CONVOLVE_BANDED_ROWS < p.height)
      return rows;

    bool wanted = lane < CONVOLVE_BANDED_ROWS && (rows.inside >> lane & 1);
    int at = wanted ? border_index (l.border, y + lane, p.height) : 0;

    rows.outside = __ballot_sync (~0u, wanted && at < 0);
    rows.last = __ballot_sync (~0u, wanted && at == p.height - 1);
    rows.inside &= ~rows.outside;
    return rows;
  }

  /* Asks for rows y .. of a stage; barrier gets the arrivals. */
  __device__ void ask (uint32_t stage, uint32_t barrier, int y) const
  {
    Rows rows = rows_at (y);
    int bytes = 0;

    stage -= origin;
    if (CONVOLVE_HAS_BULK && grain == 16 && is_usual (rows, y)) {
      bytes = CONVOLVE_BANDED_ROWS * (end - begin);
      copy_bulk_rows (stage + begin, row (y) + begin, barrier);
    } else if (CONVOLVE_HAS_BULK && grain == 16) {
      int stop = rows.last >> lane & 1 ? last_end : end;

      bytes =
          __popc (rows.inside & ~rows.last) * (end - begin) + __popc (rows.inside & rows.last) * (last_end - begin);
      if ((rows.inside >> lane & 1) && stop > begin)
        copy_bulk (stage + lane * pitch + begin, row (border_index (l.border, y + lane, p.height)) + begin,
                   stop - begin, barrier);
    } else if (grain == 16) {
      copy_rows<16> (stage, y, rows);
    } else if (grain == 8) {
      copy_rows<8> (stage, y, rows);
    } else {
      copy_rows<4> (stage, y, rows);
    }
    barrier_arrive_after_copies (barrier);
    if (lane == 0)
      barrier_arrive_expecting (barrier, bytes);
  }

  /* Adds what is not copied to a stage that has landed. */
  __device__ void patch (uint32_t stage, int y) const
  {
    Rows rows = rows_at (y);

    stage -= origin;
    if (rows.last && last_end < min (to, p.width) * N)
      patch_from_memory (stage, y, rows.last, last_end / N, min (to, p.width));
    if (end < min (to, p.width) * N)
      patch_from_memory (stage, y, rows.inside & ~rows.last, end / N, min (to, p.width));
    __syncwarp ();
    if (left.columns)
      move_pixels (stage, left);
    else if (from < 0)
      patch_from_memory (stage, y, rows.inside, from, 0);
    if (right.columns)
      move_pixels (stage, right);
    else if (to > p.width)
      patch_from_memory (stage, y, rows.inside, p.width, to);
    if (rows.outside)
      patch_from_memory (stage, y, rows.outside, from, to);
    fence_copies ();
    __syncwarp ();
  }

  /* All rows y .. wanted, and one after the other in the picture. */
  __device__ bool is_usual (const Rows &rows, int y) const
  {
    return rows.inside == (1u << CONVOLVE_BANDED_ROWS) - 1 && !rows.last && y >= 0 &&
           y + CONVOLVE_BANDED_ROWS <= p.height;
  }

  /* The same bytes of all rows. All that the copies need goes through a shuffle: then the compiler knows that the
   * warp agrees on it, and a copy is three instructions instead of a loop over lanes. */
  __device__ void copy_bulk_rows (uint32_t to, const uint8_t *from, uint32_t barrier) const
  {
    uint32_t low = __shfl_sync (~0u, (uint32_t)(uintptr_t)from, 0);
    uint32_t high = __shfl_sync (~0u, (uint32_t)((uintptr_t)from >> 32), 0);
    int stride = __shfl_sync (~0u, p.src_stride, 0), bytes = __shfl_sync (~0u, end - begin, 0);

    to = __shfl_sync (~0u, to, 0);
    barrier = __shfl_sync (~0u, barrier, 0);
    from = reinterpret_cast<const uint8_t *> ((uintptr_t)high << 32 | low);
    if (bytes > 0 && elect_lane ())
#pragma unroll
      for (int r = 0; r < CONVOLVE_BANDED_ROWS; r++)
        copy_bulk (to + r * pitch, from + (ptrdiff_t)r * stride, bytes, barrier);
  }

  /* BYTES (4, 8, 16) at a time. */
  template <int BYTES> __device__ void copy_rows (uint32_t stage, int y, const Rows &rows) const
  {
    const uint8_t *src = row (y);
    bool usual = is_usual (rows, y);

    for (int i = begin + lane * BYTES; i < end; i += 32 * BYTES) {
      const uint8_t *from = src + i;
      uint32_t to = stage + i;

      if (usual) {
#pragma unroll
        for (int r = 0; r < CONVOLVE_BANDED_ROWS; r++, from += p.src_stride, to += pitch)
          copy_async<BYTES> (to, from);
      } else {
        for (int r = 0; r < CONVOLVE_BANDED_ROWS; r++, to += pitch)
          if ((rows.inside >> r & 1) && (i < last_end || !(rows.last >> r & 1)))
            copy_async<BYTES> (to, row (border_index (l.border, y + r, p.height)) + i);
      }
    }
  }

  /* Pixels start .. stop - 1 of rows by the border rule, four rows of a lane's at a time. */
  __device__ void patch_from_memory (uint32_t stage, int y, uint32_t rows, int start, int stop) const
  {
    constexpr int batch = 4;
    int columns = 1;

    while (columns < stop - start && columns < 32)
      columns *= 2;
    for (int x = start + (lane & (columns - 1)); x < stop; x += columns) {
      int column = border_index (l.border, x, p.width), step = 32 / columns;

      for (int first_row = lane / columns; first_row < CONVOLVE_BANDED_ROWS; first_row += batch * step) {
        int q[batch][N];

#pragma unroll
        for (int k = 0; k < batch; k++) {
          int r = first_row + k * step, at = border_index (l.border, y + r, p.height);

          if (r < CONVOLVE_BANDED_ROWS && (rows >> r & 1) && at >= 0 && column >= 0)
            load_pixel<CONVOLVE_SAMPLES_U8, N> (p, row (at), column, q[k]);
          else
#pragma unroll
            for (int c = 0; c < N; c++)
              q[k][c] = (int)p.component[c].edge;
        }
#pragma unroll
        for (int k = 0; k < batch; k++) {
          int r = first_row + k * step;

          if (r < CONVOLVE_BANDED_ROWS && (rows >> r & 1))
            store_pixel_shared<N> (stage + r * pitch + x * N, q[k]);
        }
      }
    }
  }

  /* In all rows: where there is nothing of the picture, nothing is read later. */
  __device__ void move_pixels (uint32_t stage, const Side &s) const
  {
    int step = 32 / s.columns;
    uint32_t row = stage + lane / s.columns * pitch;

#pragma unroll 4
    for (int r = lane / s.columns; r < CONVOLVE_BANDED_ROWS; r += step, row += step * pitch)
      move_pixel<N> (row + s.to, row + s.source);
  }
};

/* Stages of a task from row y on, one after the other. */
template <int N>
__device__ inline void
feed_task (const Feed<N> &feed, Stages &stages, uint32_t &landed_turns, int y, int steps)
{
  /* Copies of so many stages are on their way before the oldest is patched. */
  int lag = feed.patches () ? min ((int)feed.l.stages - 1, 2) : 0;
  Stages behind = stages;

  for (int s = 0; s < steps + lag; s++) {
    if (s < steps) {
      barrier_wait (stages.empty (), stages.turn ^ 1);
      feed.ask (stages.at (), lag ? stages.landed () : stages.full (), y + CONVOLVE_BANDED_ROWS * s);
      stages.next ();
    }
    if (lag && s >= lag) {
      barrier_wait (behind.landed (), landed_turns >> behind.slot & 1);
      landed_turns ^= 1u << behind.slot;
      feed.patch (behind.at (), y + CONVOLVE_BANDED_ROWS * (s - lag));
      barrier_arrive_after_copies (behind.full ());
      if (feed.lane == 0)
        barrier_arrive (behind.full ());
      behind.next ();
    }
  }
}

#endif
