/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Rows and columns of colours that count as much as they are opaque, in one pass over the frame: see weighted.cuh. */
#include "weighted.cuh"

#if CONVOLVE_HAS_TENSOR

template <int R, int WARPS>
__device__ __forceinline__ void
load_shares (const ConvolveLaunch &l, const ConvolveLaunchPicture &p, const Stages &stages, int lane, int warp,
             Shares<R, WARPS> &shares)
{
  const ConvolveLaunchTerm &term = l.set[p.weights].term[0];
  const float *w = reinterpret_cast<const float *> (l.weights) + term.first;

  load_weights<4, R, WARPS> (w, term, lane, warp, stages.end (), shares.alpha);
  load_weights<4, R, WARPS> (w + term.nx + term.ny + 2, term, lane, warp,
                             stages.end () + convolve_banded_table_bytes (0, 1, 2 * R + 1, 0), shares.color);
  shares.clear ();
}

/* As filter_rows. */
template <int R, int WARPS>
__device__ __forceinline__ void
share_rows (const Shares<R, WARPS> &s, uint32_t address, int t, const Order &order, uint32_t (&block)[2 * UNITS])
{
  Quad sum[UNITS];

  add_shares<R> (
      address, t, order,
      [&] (int f, uint32_t (&a)[4], uint32_t (&own)[4]) {
        s.color.x (f, a);
        s.alpha.x (f, own);
      },
      [&] (int u) { return start_shares (s, u); }, sum);
  pack_shares (sum, block);
}

/* As step. */
template <int R, int WARPS, int PHASE>
__device__ __forceinline__ void
share_step (const ConvolveLaunchPicture &p, Shares<R, WARPS> &shares, const Order &order, Stages &stages, int s,
            uint32_t offset, int lane, int y0, int y1)
{
  using T = Tile<4, R>;
  constexpr int pitch = convolve_banded_pitch (4, 1, 2 * R + 1, WARPS);
  constexpr int newest = T::odd ? T::blocks - 2 : 2 * PHASE;
  uint32_t from = stages.at () + offset;

  barrier_wait (stages.full (), stages.turn);
  shares.edges.apply (stages, pitch, lane);
  shares.move_on ();
  share_rows<R, WARPS> (shares, from, lane % 4, order, shares.h[newest]);
  share_rows<R, WARPS> (shares, from + 8 * pitch, lane % 4, order, shares.h[newest + 1]);
  __syncwarp ();
  if (lane == 0)
    barrier_arrive (stages.empty ());
  stages.next ();
  if (s < T::fill)
    return;

  int y = y0 + CONVOLVE_BANDED_ROWS * (s - T::fill);
  bool wide = (((uint32_t)p.dst | (uint32_t)p.dst_stride) & 15) == 0;

  share_results<R, WARPS, PHASE> (p, shares, order, y, y1, lane, [&] (uint8_t *to, int left, const auto &words) {
    store_words (to, left, wide, words);
  });
}

/* As filter_picture. */
template <int R, int WARPS>
__device__ __forceinline__ void
share_picture (const ConvolveLaunch &l, const ConvolveLaunchPicture &p, uint32_t &block, Stages &stages, int warp)
{
  int lane = lane_index ();
  uint32_t tasks = p.blocks_x * p.blocks_y;
  constexpr int pitch = convolve_banded_pitch (4, 1, 2 * R + 1, WARPS);
  uint32_t offset = lane / 4 * pitch + (-R * 4 & 15) + warp * 64 + 16 * (lane % 4);
  Shares<R, WARPS> shares;
  Order order (p);

  if (block - p.first_block >= tasks)
    return;
  load_shares (l, p, stages, lane, warp, shares);
  for (; block - p.first_block < tasks; block += gridDim.x) {
    Task<4, 1, R, WARPS> task (p, block - p.first_block);

    task.set_edges (stages, p, lane, warp, shares.edges);
    shares.x = task.x0 + warp * CONVOLVE_BANDED_PIXELS (4);
    walk_steps<Tile<4, R>::phases> (task.steps, [&] (int s, auto phase) {
      share_step<R, WARPS, decltype (phase)::value> (p, shares, order, stages, s, offset, lane, task.y0, task.y1);
    });
  }
}

template <int R, int WARPS>
__device__ __forceinline__ void
share_all (const ConvolveLaunch &l)
{
  part_work<WARPS> (
      l,
      [&] (auto n, const ConvolveLaunchPicture &p, uint32_t &block, Stages &stages, uint32_t &landed_turns) {
        if constexpr (decltype (n)::value == 4)
          feed_picture<4, 1, R, WARPS> (l, p, block, stages, landed_turns);
      },
      [&] (auto n, const ConvolveLaunchPicture &p, uint32_t &block, Stages &stages, int warp) {
        if constexpr (decltype (n)::value == 4)
          share_picture<R, WARPS> (l, p, block, stages, warp);
      });
}

#endif

#define KERNEL(name, source, route, samples, terms, taps) \
  CONVOLVE_STRIP_KERNEL (name, CONVOLVE_WEIGHTED_WARPS (taps), share_all<taps / 2, CONVOLVE_WEIGHTED_WARPS (taps)>)
CONVOLVE_VARIANTS_WEIGHTED (KERNEL)
