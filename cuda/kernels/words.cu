/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Rows and columns of samples of 16 bits, in one pass over the frame: see words.cuh. */
#include "words.cuh"

#if CONVOLVE_HAS_TENSOR

/* The tasks of a picture that are this block's: a working warp. */
template <int N, int R, int WARPS>
__device__ __forceinline__ void
filter_picture (const ConvolveLaunch &l, const ConvolveLaunchPicture &p, uint32_t &block, Stages &stages, int warp)
{
  using T = Tile<N, R>;
  constexpr int pitch = convolve_banded_pitch (N, 2, 2 * R + 1, WARPS);
  constexpr int at_once = WORDS_AT_ONCE (R, WARPS);
  bool wide = (((uint32_t)p.dst | (uint32_t)p.dst_stride) & (N == 1 ? 7 : 15)) == 0;

  walk_words<N, R, WARPS, false> (
      l, p, block, stages, warp,
      [&] (const auto &w, const WordFormat &format, const auto &edges, uint32_t offset, int lane, auto &h,
           int newest) {
        uint32_t from = stages.at () + offset;

        barrier_wait (stages.full (), stages.turn);
        edges.apply (stages, pitch, lane);
        move_blocks<N, R> (h);
#pragma unroll
        for (int k = 0; k < 2; k += at_once) {
          Quad sum[at_once][T::units];

          start_rows (w, sum);
          add_rows<N, R, at_once> (w, format, from + 8 * k * pitch, pitch, sum);
          split_rows (sum, h + newest + k);
        }
        __syncwarp ();
        if (lane == 0)
          barrier_arrive (stages.empty ());
        stages.next ();
      },
      [&] (const auto &w, const auto &h, int x, int y, int y1, int t, auto phase) {
#pragma unroll
        for (int part = 0; part < 2; part += at_once) {
          Quad sum[at_once][4];

          filter_columns<N, R, decltype (phase)::value, at_once> (w, h, part, sum);
#pragma unroll
          for (int k = 0; k < at_once; k++)
            store_part (w, p, x, y, y1, t, part + k, sum[k],
                        [&] (uint8_t *to, int left, const auto &words) { store_words (to, left, wide, words); });
        }
      });
}

template <int R, int WARPS>
__device__ __forceinline__ void
filter_all (const ConvolveLaunch &l)
{
  /* No format has three words side by side. */
  part_work<WARPS> (
      l,
      [&] (auto n, const ConvolveLaunchPicture &p, uint32_t &block, Stages &stages, uint32_t &landed_turns) {
        if constexpr (decltype (n)::value != 3)
          feed_picture<decltype (n)::value, 2, R, WARPS> (l, p, block, stages, landed_turns);
      },
      [&] (auto n, const ConvolveLaunchPicture &p, uint32_t &block, Stages &stages, int warp) {
        if constexpr (decltype (n)::value != 3)
          filter_picture<decltype (n)::value, R, WARPS> (l, p, block, stages, warp);
      });
}

#endif

#define KERNEL(name, source, route, samples, terms, taps) \
  CONVOLVE_STRIP_KERNEL (name, CONVOLVE_WORDS_WARPS (taps), filter_all<taps / 2, CONVOLVE_WORDS_WARPS (taps)>)
CONVOLVE_VARIANTS_WORDS (KERNEL)
