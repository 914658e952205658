/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Sums over frames, then rows and columns, of colours that count as much as they are opaque, each frame's as its own
 * alpha says: the sums of weighted.cuh, with the weights w of frames,
 *
 *   colour = S x (128 + 16 x sum of w k p / sum of w k a)
 *
 * and alpha itself summed as it is. Where the divisor is 0 stands the colour of the picture's own frame. A stage of
 * shared memory holds CONVOLVE_BANDED_ROWS rows of one frame; a warp's sums wait in registers for the next. */
#include "frames.cuh"
#include "weighted.cuh"

#if CONVOLVE_HAS_TENSOR

/* Where fragments lie, by rising address: those of load_weights () for alpha, for colours, then Tx of the frames
 * beside the first, for alpha, for colours. */
template <int R, int WARPS>
__device__ __forceinline__ void
load_shares (const ConvolveLaunch &l, const ConvolveLaunchPicture &p, const Stages &stages, int lane, int warp,
             Shares<R, WARPS> &shares)
{
  constexpr int row = 512 * Tile<4, R>::depth;
  const ConvolveLaunchTerm &term = l.set[p.weights].term[0];
  const float *w = reinterpret_cast<const float *> (l.weights) + term.first;
  int frames = l.n_frames;

  load_frame_weights<4, R, WARPS> (frames, w, term, lane, warp, stages.end (), 2 * row, shares.alpha);
  load_frame_weights<4, R, WARPS> (frames, w + frames * term.nx + term.ny + 2, term, lane, warp,
                                   stages.end () + convolve_banded_table_bytes (0, 1, 2 * R + 1, 0),
                                   (frames - 1) * row, shares.color);
  shares.clear ();
}

/* Sixteen rows along x, of each frame those of the next stage. */
template <int R, int WARPS>
__device__ __forceinline__ void
add_frames (const ConvolveLaunch &l, const Shares<R, WARPS> &s, const Order &order, Stages &stages, uint32_t offset,
            int lane, Quad (&sum)[2][UNITS])
{
  constexpr int pitch = convolve_banded_pitch (4, 1, 2 * R + 1, WARPS), row = 512 * Tile<4, R>::depth;
  uint32_t alpha = s.alpha.at, color = s.color.at;

#pragma unroll
  for (int k = 0; k < 2; k++)
#pragma unroll
    for (int u = 0; u < UNITS; u++)
      sum[k][u] = start_shares (s, u);
#pragma unroll 1
  for (int f = l.n_frames; f > 0; f--) {
    uint32_t from = stages.at () + offset;

    barrier_wait (stages.full (), stages.turn);
    s.edges.apply (stages, pitch, lane);
#pragma unroll
    for (int k = 0; k < 2; k++)
      add_shares<R> (
          from + 8 * k * pitch, lane % 4, order,
          [&] (int i, uint32_t (&a)[4], uint32_t (&own)[4]) {
            load_words<4> (color + 512 * i, a);
            load_words<4> (alpha + 512 * i, own);
          },
          [&] (int u) { return sum[k][u]; }, sum[k]);
    __syncwarp ();
    if (lane == 0)
      barrier_arrive (stages.empty ());
    stages.next ();
    /* Those of the other frames lie behind. */
    alpha = f == (int)l.n_frames ? s.color.at + 2 * row : alpha + row;
    color = alpha + (l.n_frames - 1) * row;
  }
}

/* Step s of a task whose rows are y0 .. y1 - 1. */
template <int R, int WARPS, int PHASE>
__device__ __forceinline__ void
fold_step (const ConvolveLaunch &l, const ConvolveLaunchPicture &p, Shares<R, WARPS> &shares, const Order &order,
           Stages &stages, int s, uint32_t offset, int lane, int y0, int y1)
{
  using T = Tile<4, R>;
  constexpr int newest = T::odd ? T::blocks - 2 : 2 * PHASE;
  Quad sum[2][UNITS];

  shares.move_on ();
  add_frames<R, WARPS> (l, shares, order, stages, offset, lane, sum);
  pack_shares (sum[0], shares.h[newest]);
  pack_shares (sum[1], shares.h[newest + 1]);
  if (s < T::fill)
    return;

  int y = y0 + CONVOLVE_BANDED_ROWS * (s - T::fill);
  uint32_t bits = (uint32_t)p.dst | (uint32_t)p.dst_stride;

  share_results<R, WARPS, PHASE> (p, shares, order, y, y1, lane, [&] (uint8_t *to, int left, const auto &words) {
    if ((bits & 3) == 0)
      store_words (to, left, (bits & 15) == 0, words);
    else
      store_bytes (to, left, words);
  });
}

template <int R, int WARPS>
__device__ __forceinline__ void
fold_all (const ConvolveLaunch &l)
{
  share_all<R, WARPS, FrameByFrame<4, 1>> (l, [&] (const ConvolveLaunchPicture &p, Shares<R, WARPS> &shares,
                                                   const Order &order, Stages &stages, int s, uint32_t offset,
                                                   int lane, int y0, int y1, auto phase) {
    fold_step<R, WARPS, decltype (phase)::value> (l, p, shares, order, stages, s, offset, lane, y0, y1);
  });
}

#endif

#define KERNEL(name, source, route, samples, terms, taps) \
  CONVOLVE_STRIP_KERNEL (name, CONVOLVE_WEIGHTED_WARPS (taps), fold_all<taps / 2, CONVOLVE_WEIGHTED_WARPS (taps)>)
CONVOLVE_VARIANTS_FOLDED_WEIGHTED (KERNEL)
