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

/* What a task reads of each row: pixels from .. to - 1, of the picture or outside it. Byte 0 of a stage's row is byte
 * origin of the picture's (a multiple of 16, negative at the left edge). */
struct Columns {
  int from, to, origin;
};

/* Pixels start .. stop - 1 (at most 32) left or right of a picture that repeat some of it by the border rule, if the
 * stage holds all of what they repeat; else 0. Each lane moves one of each row, or of every second, fourth ... row:
 * as many rows at a time as lanes allow. The lane's word: where to, from where, in bytes of a stage's row (12 bits
 * each), and log2 of the columns. */
template <int PIXEL>
__device__ inline uint32_t
near_pixels (const ConvolveLaunch &l, const ConvolveLaunchPicture &p, const Columns &held, int lane, int start,
             int stop)
{
  int shift = 0;

  if (stop <= start)
    return 0;
  while (1 << shift < stop - start)
    shift++;

  /* A lane too many does what the last one does. */
  int x = min (start + (lane & ((1 << shift) - 1)), stop - 1), at = border_index (l.border, x, p.width);

  if (!__all_sync (~0u, at >= max (held.from, 0) && at < min (held.to, p.width)))
    return 0;
  return (uint32_t)shift << 24 | (uint32_t)(at * PIXEL - held.origin) << 12 | (x * PIXEL - held.origin);
}

/* The same pixels as the working warps see them: those that read them wait for each other while the first warp moves
 * what is left of the picture and the last one what is right of it. (The loading warp would hold up all of them.)
 * Who waits differs from task to task, but the barrier is one: before a task in which several wait all have ended
 * those before.
 * PLACE: where behind the stages the warps' words lie; 0: in a register. */
template <int PIXEL, int PLACE> struct Edges {
  /* The lane's word, and in its highest five bits the warps that wait; 0: this warp reads nothing that is moved. */
  uint32_t kept;

  __device__ __forceinline__ static uint32_t place (const Stages &stages)
  {
    return stages.end () + PLACE + 4 * threadIdx.x;
  }

  /* Warp w reads pixels x0 + w x pixels - reach .. x0 + w x pixels + span - 1. */
  __device__ __forceinline__ void set (const Stages &stages, const ConvolveLaunchPicture &p, const Columns &held,
                                       int lane, int warp, int warps, int x0, int pixels, int reach, int span)
  {
    uint32_t word = find (stages.l, p, held, lane, warp, warps, x0, pixels, reach, span);

    if (PLACE)
      store_word (place (stages), word);
    else
      kept = word;
  }
  __device__ __forceinline__ static uint32_t find (const ConvolveLaunch &l, const ConvolveLaunchPicture &p,
                                                   const Columns &held, int lane, int warp, int warps, int x0,
                                                   int pixels, int reach, int span)
  {
    int n_left = min (max ((reach - x0 + pixels - 1) / pixels, 0), warps);
    int first_right = min (max ((p.width - span - x0 + pixels) / pixels, n_left), warps);

    /* Where registers are short always: to tell takes some. */
    if (PLACE || (n_left + warps - first_right > 1 && border_index (l.border, -1, 1) >= 0))
      worker_barrier (32 * warps);
    if (warp >= n_left && warp < first_right)
      return 0;

    uint32_t left = near_pixels<PIXEL> (l, p, held, lane, held.from, min (0, held.to));
    uint32_t right = near_pixels<PIXEL> (l, p, held, lane, max (p.width, held.from), held.to);

    if (!(left | right))
      return 0;
    return (uint32_t)(n_left + warps - first_right) << 27 | (warp == 0 ? left : warp == warps - 1 ? right : 0);
  }
  /* In the stage that has come. */
  __device__ __forceinline__ void apply (const Stages &stages, int pitch, int lane,
                                         int rows = CONVOLVE_BANDED_ROWS) const
  {
    uint32_t word = kept, stage = stages.at ();

    if (PLACE) {
      uint32_t words[1];

      load_words<1> (place (stages), words);
      word = words[0];
    }
    if (word == 0)
      return;
    if (word << 5) {
      int shift = word >> 24 & 7, step = 32 >> shift;
      uint32_t row = stage + (lane >> shift) * pitch;

#pragma unroll 4
      for (int r = lane >> shift; r < rows; r += step, row += step * pitch)
        move_pixel<PIXEL> (row + (word & 0xfff), row + (word >> 12 & 0xfff));
      fence_copies ();
    }
    if (word >> 27 > 1)
      edge_barrier (32 * (word >> 27));
    else
      __syncwarp ();
  }
};

/* Where the picture's rows are: in the picture. */
struct PictureRows {
  __device__ static uint64_t start (const ConvolveLaunchPicture &p) { return p.src; }
};

/* What a task reads, and from where. */
template <int N, int BYTES, class Place = PictureRows> struct Feed : Place {
  static constexpr int pixel = N * BYTES; /* bytes of one; samples have BYTES */
  const ConvolveLaunch &l;
  const ConvolveLaunchPicture &p;
  int lane, pitch, from, to, origin; /* as in Columns */
  int first, end_row;                /* rows wanted: first .. end_row - 1 */
  int grain;                         /* what rows are aligned to: 4, 8 or 16 bytes */
  int begin, end;   /* bytes of the row that are copied, multiples of grain: from the picture's edge on, but perhaps a
                     * few more than a row has, if there is room in its stride ... */
  int last_end;     /* ... which the last row may not have */
  bool left, right; /* pixels outside are left to those who read them */

  __device__ Feed (const ConvolveLaunch &launch, const ConvolveLaunchPicture &picture, int lane_index)
      : l (launch), p (picture), lane (lane_index)
  {
    uint32_t bits = (uint32_t)p.src | (uint32_t)p.src_stride;

    grain = bits & 7 ? 4 : bits & 15 ? 8 : 16;
  }

  __device__ void set_columns (const Columns &wanted_columns)
  {
    from = wanted_columns.from;
    to = wanted_columns.to;
    origin = wanted_columns.origin;

    int bytes = p.width * pixel, whole = (bytes + grain - 1) & -grain, wanted = (to * pixel + grain - 1) & -grain;

    begin = max (from, 0) * pixel & -grain;
    last_end = max (min (wanted, bytes & -grain), begin);
    end = whole <= abs (p.src_stride) ? min (wanted, whole) : last_end;
    left = near_pixels<pixel> (l, p, wanted_columns, lane, from, min (0, to)) != 0;
    right = near_pixels<pixel> (l, p, wanted_columns, lane, max (p.width, from), to) != 0;
  }
  /* Whether anything but copies is needed. */
  __device__ bool patches () const
  {
    bool beyond = first < 0 || end_row > p.height - 1, constant = border_index (l.border, -1, 1) < 0;

    return (from < 0 && !left) || (to > p.width && !right) || min (to, p.width) * pixel > (beyond ? last_end : end) ||
           (beyond && constant);
  }
  __device__ const uint8_t *row (int y) const
  {
    return reinterpret_cast<const uint8_t *> (this->start (p)) + (ptrdiff_t)y * p.src_stride;
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
    announce (barrier, copy (stage, barrier, y));
  }
  /* Tells the barrier of the copies, bytes of which are of the copy engine. */
  __device__ void announce (uint32_t barrier, int bytes) const
  {
    barrier_arrive_after_copies (barrier);
    if (lane == 0)
      barrier_arrive_expecting (barrier, bytes);
  }
  /* Starts the copies; gives back the bytes that come by the copy engine. */
  __device__ int copy (uint32_t stage, uint32_t barrier, int y) const
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
    return bytes;
  }

  /* Adds what is not copied to a stage that has landed. */
  __device__ void patch (uint32_t stage, int y) const
  {
    Rows rows = rows_at (y);

    stage -= origin;
    if (rows.last && last_end < min (to, p.width) * pixel)
      patch_from_memory (stage, y, rows.last, last_end / pixel, min (to, p.width));
    if (end < min (to, p.width) * pixel)
      patch_from_memory (stage, y, rows.inside & ~rows.last, end / pixel, min (to, p.width));
    __syncwarp ();
    if (from < 0 && !left)
      patch_from_memory (stage, y, rows.inside, from, 0);
    if (to > p.width && !right)
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

  /* GRAIN (4, 8, 16) bytes at a time. */
  template <int GRAIN> __device__ void copy_rows (uint32_t stage, int y, const Rows &rows) const
  {
    const uint8_t *src = row (y);
    bool usual = is_usual (rows, y);

    for (int i = begin + lane * GRAIN; i < end; i += 32 * GRAIN) {
      const uint8_t *from = src + i;
      uint32_t to = stage + i;

      if (usual) {
#pragma unroll
        for (int r = 0; r < CONVOLVE_BANDED_ROWS; r++, from += p.src_stride, to += pitch)
          copy_async<GRAIN> (to, from);
      } else {
        for (int r = 0; r < CONVOLVE_BANDED_ROWS; r++, to += pitch)
          if ((rows.inside >> r & 1) && (i < last_end || !(rows.last >> r & 1)))
            copy_async<GRAIN> (to, row (border_index (l.border, y + r, p.height)) + i);
      }
    }
  }

  /* The samples of a pixel as they lie in memory. */
  __device__ static void load_raw (const uint8_t *at, int (&q)[N])
  {
    if constexpr (BYTES == 1 && N == 4) {
      uint32_t w = __ldg (reinterpret_cast<const uint32_t *> (at));

      q[0] = w & 255, q[1] = w >> 8 & 255, q[2] = w >> 16 & 255, q[3] = w >> 24;
    } else {
#pragma unroll
      for (int c = 0; c < N; c++)
        q[c] = BYTES == 1 ? __ldg (at + c) : __ldg (reinterpret_cast<const uint16_t *> (at) + c);
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
            load_raw (row (at) + (size_t)column * pixel, q[k]);
          else
#pragma unroll
            for (int c = 0; c < N; c++)
              q[k][c] = (int)p.component[c].edge << p.component[c].shift;
        }
#pragma unroll
        for (int k = 0; k < batch; k++) {
          int r = first_row + k * step;

          if (r < CONVOLVE_BANDED_ROWS && (rows >> r & 1))
            store_pixel_shared<N, BYTES> (stage + r * pitch + x * pixel, q[k]);
        }
      }
    }
  }
};

/* Stages of a task from row y on, one after the other. */
template <class Feed>
__device__ inline void
feed_task (Feed &feed, Stages &stages, uint32_t &landed_turns, int y, int steps)
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
