/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What kernels that sum over frames share: the way of the frames' rows into shared memory, and weights of all frames.
 * Frames lie alike, so that what is found of one holds for all. */
#pragma once

#include "strip.cuh"

#if CONVOLVE_HAS_TENSOR

/* Where rows of a frame are. */
struct FrameRows {
  int64_t behind = 0; /* the picture's, in bytes */

  __device__ uint64_t start (const ConvolveLaunchPicture &p) const { return p.src + behind; }
};

/* Feeds the rows of all frames to one stage, one frame behind the other. */
template <int N> struct StackedFrames : Feed<N, 1, FrameRows> {
  using Feed<N, 1, FrameRows>::Feed;

  __device__ void ask (uint32_t stage, uint32_t barrier, int y)
  {
    int bytes = 0;

    if (CONVOLVE_HAS_BULK && this->grain == 16 && this->is_usual (this->rows_at (y), y)) {
      this->announce (barrier, copy_usual (stage, barrier, y));
      return;
    }
    for (int f = 0; f < (int)this->l.n_frames; f++) {
      this->behind = this->l.frame[f];
      bytes += this->copy (stage + f * CONVOLVE_BANDED_ROWS * this->pitch, barrier, y);
    }
    this->announce (barrier, bytes);
  }
  __device__ void patch (uint32_t stage, int y)
  {
    for (int f = 0; f < (int)this->l.n_frames; f++) {
      this->behind = this->l.frame[f];
      Feed<N, 1, FrameRows>::patch (stage + f * CONVOLVE_BANDED_ROWS * this->pitch, y);
    }
  }

private:
  /* What copy_bulk_rows () does, for all frames: what they have in common is found once. */
  __device__ int copy_usual (uint32_t stage, uint32_t barrier, int y)
  {
    this->behind = 0;

    const uint8_t *from = this->row (y) + this->begin;
    uint32_t low = __shfl_sync (~0u, (uint32_t)(uintptr_t)from, 0);
    uint32_t high = __shfl_sync (~0u, (uint32_t)((uintptr_t)from >> 32), 0);
    uint32_t to = __shfl_sync (~0u, stage - this->origin + this->begin, 0);
    int stride = __shfl_sync (~0u, this->p.src_stride, 0), bytes = __shfl_sync (~0u, this->end - this->begin, 0);

    barrier = __shfl_sync (~0u, barrier, 0);
    from = reinterpret_cast<const uint8_t *> ((uintptr_t)high << 32 | low);
    for (int f = 0; f < (int)this->l.n_frames; f++)
      if (bytes > 0 && elect_lane ())
#pragma unroll
        for (int r = 0; r < CONVOLVE_BANDED_ROWS; r++)
          copy_bulk (to + (f * CONVOLVE_BANDED_ROWS + r) * this->pitch,
                     from + this->l.frame[f] + (ptrdiff_t)r * stride, bytes, barrier);
    return this->l.n_frames * CONVOLVE_BANDED_ROWS * max (bytes, 0);
  }
};

/* Feeds the rows of each frame to a stage of its own: those of a step come one after the other. So two stages are
 * enough, however many frames there are. */
template <int N, int BYTES> struct FrameByFrame : Feed<N, BYTES, FrameRows> {
  using Feed<N, BYTES, FrameRows>::Feed;
  int top; /* the first row of the task's first stage */

  __device__ void ask (uint32_t stage, uint32_t barrier, int y)
  {
    y = find (y);
    Feed<N, BYTES, FrameRows>::ask (stage, barrier, y);
  }
  __device__ void patch (uint32_t stage, int y)
  {
    y = find (y);
    Feed<N, BYTES, FrameRows>::patch (stage, y);
  }

private:
  /* Stages are numbered by rows, as if there were one frame: from that to the frame and its row. */
  __device__ int find (int y)
  {
    int stage = (y - top) / CONVOLVE_BANDED_ROWS, step = stage / (int)this->l.n_frames;

    this->behind = this->l.frame[stage - step * this->l.n_frames];
    return top + step * CONVOLVE_BANDED_ROWS;
  }
};

/* What feed_picture () calls for such a feed: a stage for each frame of a step. */
template <int N, int BYTES>
__device__ inline void
feed_task (FrameByFrame<N, BYTES> &feed, Stages &stages, uint32_t &landed_turns, int y, int steps)
{
  feed.top = y;
  feed_task<FrameByFrame<N, BYTES>> (feed, stages, landed_turns, y, steps * (int)feed.l.n_frames);
}

/* By all working warps, as load_weights () does: Tx of the first frame, Ty and the starts (if there are such), and
 * gap bytes behind them Tx of the other frames, which stay in shared memory. w: rows of weights, one for each frame,
 * then the column. */
template <int N, int R, int WARPS, class Table>
__device__ __forceinline__ void
load_frame_weights (int frames, const float *w, const ConvolveLaunchTerm &term, int lane, int warp, uint32_t table,
                    uint32_t gap, Table &to)
{
  constexpr int depth = Tile<N, R>::depth;
  int last = frames - 1, count = to.count + last * depth;
  const float *sums = w + frames * term.nx + term.ny;

  to.at = table + 16 * lane;
  worker_barrier (32 * WARPS);
  for (int f = warp; f < count; f += WARPS) {
    uint32_t a[4];

    if (f < depth)
      make_fragment<N, R> (w, term, lane, f, a);
    else if (f < 2 * depth)
      make_fragment<N, R> (w + last * term.nx, term, lane, f, a);
    else if (f < to.count)
      a[0] = a[1] = a[2] = a[3] =
          __float_as_uint (f == 2 * depth ? -1152.f * __ldg (sums) : 128.f * __ldg (sums) * __ldg (sums + 1));
    else
      make_fragment<N, R> (w + (1 + (f - to.count) / depth) * term.nx, term, lane, (f - to.count) % depth, a);
    store_quad (to.at + 512 * f + (f < to.count ? 0 : gap), a);
  }
  worker_barrier (32 * WARPS);
  to.init ();
}

#endif
