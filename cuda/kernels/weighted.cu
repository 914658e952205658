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

template <int R, int WARPS>
__device__ __forceinline__ void
filter_all (const ConvolveLaunch &l)
{
  share_all<R, WARPS, Feed<4, 1>> (l, [&] (const ConvolveLaunchPicture &p, Shares<R, WARPS> &shares,
                                           const Order &order, Stages &stages, int s, uint32_t offset, int lane,
                                           int y0, int y1, auto phase) {
    share_step<R, WARPS, decltype (phase)::value> (p, shares, order, stages, s, offset, lane, y0, y1);
  });
}

#endif

#define KERNEL(name, source, route, samples, terms, taps) \
  CONVOLVE_STRIP_KERNEL (name, CONVOLVE_WEIGHTED_WARPS (taps), filter_all<taps / 2, CONVOLVE_WEIGHTED_WARPS (taps)>)
CONVOLVE_VARIANTS_WEIGHTED (KERNEL)
