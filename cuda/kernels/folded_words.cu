/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Sums over frames, then rows and columns, of samples of 16 bits: the products of words.cuh. For row y of a component
 *
 *   H^T = sum over frames f of Tx(f) x Xh(f)^T + tx(f) x Xh(f)^T + Tx(f) x Xl(f)^T
 *
 * where Tx(f) + tx(f) are the row's weights times the frame's. Only then H becomes two parts, so that frames round no
 * more than products do. A stage of shared memory holds CONVOLVE_BANDED_ROWS rows of one frame; a warp's sums wait in
 * registers for the next. */
#include "frames.cuh"
#include "words.cuh"

#if CONVOLVE_HAS_TENSOR

/* Blocks of rows along x that registers suffice for at once, where sums of both wait. */
#define FOLDED_WORDS_AT_ONCE(radius) ((radius) < 16 && (radius) > 4 ? 2 : 1)

/* Tx and tx of a frame. */
template <int DEPTH> struct FrameWeights {
  uint32_t at; /* the lane's words of the first fragment */

  __device__ __forceinline__ void x (int f, int rest, uint32_t (&a)[4]) const
  {
    load_words<4> (at + 512 * (f + DEPTH * rest), a);
  }
};

/* Sixteen rows along x, of each frame those of the next stage. */
template <int N, int R, int WARPS>
__device__ __forceinline__ void
add_frames (const ConvolveLaunch &l, const WordTables<N, R, true> &w, const WordFormat &format, Stages &stages,
            const typename Task<N, 2, R, WARPS>::StripEdges &edges, uint32_t offset, int lane,
            Quad (&sum)[2][Tile<N, R>::units])
{
  using T = WordTables<N, R, true>;
  constexpr int pitch = convolve_banded_pitch (N, 2, 2 * R + 1, WARPS);
  constexpr int at_once = FOLDED_WORDS_AT_ONCE (R);
  FrameWeights<T::depth> weights = {w.at + 512 * T::count};

  start_rows (w, sum);
#pragma unroll 1
  for (int f = l.n_frames; f > 0; f--) {
    uint32_t from = stages.at () + offset;

    barrier_wait (stages.full (), stages.turn);
    edges.apply (stages, pitch, lane);
#pragma unroll
    for (int k = 0; k < 2; k += at_once)
      add_rows<N, R, at_once> (weights, format, from + 8 * k * pitch, pitch, sum + k);
    __syncwarp ();
    if (lane == 0)
      barrier_arrive (stages.empty ());
    stages.next ();
    weights.at += 1024 * T::depth;
  }
}

template <int N, int R, int WARPS>
__device__ __forceinline__ void
fold_picture (const ConvolveLaunch &l, const ConvolveLaunchPicture &p, uint32_t &block, Stages &stages, int warp)
{
  walk_words<N, R, WARPS, true> (
      l, p, block, stages, warp,
      [&] (const auto &w, const WordFormat &format, const auto &edges, uint32_t offset, int lane, auto &h,
           int newest) {
        Quad rows[2][Tile<N, R>::units];

        move_blocks<N, R> (h);
        add_frames<N, R, WARPS> (l, w, format, stages, edges, offset, lane, rows);
        split_rows (rows, h + newest);
      },
      [&] (const auto &w, const auto &h, int x, int y, int y1, int t, auto phase) {
#pragma unroll
        for (int part = 0; part < 2; part++) {
          Quad sum[1][4];

          filter_columns<N, R, decltype (phase)::value, 1> (w, h, part, sum);
          store_part (w, p, x, y, y1, t, part, sum[0], [&] (uint8_t *to, int left, const auto &words) {
            uint32_t bits = (uint32_t)p.dst | (uint32_t)p.dst_stride;

            if ((bits & 3) == 0)
              store_words (to, left, (bits & (N == 1 ? 7 : 15)) == 0, words);
            else
              store_bytes (to, left, words);
          });
        }
      });
}

template <int R, int WARPS>
__device__ __forceinline__ void
fold_all (const ConvolveLaunch &l)
{
  /* No format has three words side by side. */
  part_work<WARPS> (
      l,
      [&] (auto n, const ConvolveLaunchPicture &p, uint32_t &block, Stages &stages, uint32_t &landed_turns) {
        constexpr int N = decltype (n)::value;

        if constexpr (N != 3)
          feed_picture<N, 2, R, WARPS, FrameByFrame<N, 2>> (l, p, block, stages, landed_turns);
      },
      [&] (auto n, const ConvolveLaunchPicture &p, uint32_t &block, Stages &stages, int warp) {
        if constexpr (decltype (n)::value != 3)
          fold_picture<decltype (n)::value, R, WARPS> (l, p, block, stages, warp);
      });
}

#endif

#define KERNEL(name, source, route, samples, terms, taps) \
  CONVOLVE_STRIP_KERNEL (name, CONVOLVE_WORDS_WARPS (taps), fold_all<taps / 2, CONVOLVE_WORDS_WARPS (taps)>)
CONVOLVE_VARIANTS_FOLDED_WORDS (KERNEL)
