/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Sums over frames, then rows and columns, in one pass over all of them: the banded kernels (banded.cuh), whose rows
 * of weights are longer. For row y of component c
 *
 *   H (x, y) = sum over frames f, taps i of w(f) wx(i) x sample of frame f (x + i - ax, y)
 *
 * is a product with the rows of all frames side by side, so that frames cost products along x and nothing else: no
 * value is rounded between the sum over frames and that along x. A stage of shared memory holds CONVOLVE_BANDED_ROWS
 * rows of each frame, one frame behind the other. */
#include "banded.cuh"
#include "frames.cuh"

#if CONVOLVE_HAS_TENSOR

/* Adds 16 rows of one frame along x, from those at address; weights are those of the frame. */
template <int N, int R, int WARPS>
__device__ __forceinline__ void
add_frame (uint32_t address, uint32_t weights, int t, Quad (&sum)[2][Tile<N, R>::units])
{
  using T = Tile<N, R>;
  constexpr int pitch = convolve_banded_pitch (N, 1, 2 * R + 1, WARPS);
  uint32_t b[2][T::tiles][N][2];

#pragma unroll
  for (int i = 0; i < 2 * (T::tiles - 1); i++)
    load_fragment<N> (address + i % 2 * 8 * pitch + 16 * N * (i / 2), b[i % 2][i / 2]);
#pragma unroll
  for (int f = 0; f < T::depth; f++) {
    uint32_t a[4];

    load_words<4> (weights + 512 * f, a);
#pragma unroll
    for (int half = 0; half < 2; half++) {
      uint32_t at = address + half * 8 * pitch + 16 * N * f;
      bool thin = T::thin && f == T::depth - 1;

      if (thin) {
        uint32_t two[2];

        load_words<2> (at - 2 * N * t, two);

        const uint32_t raw[4] = {two[0], two[1], two[0], two[1]};

        if constexpr (N == 4)
          half_bytes<N> (raw, b[half][0]);
      } else {
        load_fragment<N> (at + 16 * N * (T::tiles - 1), b[half][(f + T::tiles - 1) % T::tiles]);
      }
#pragma unroll
      for (int u = 0; u < T::units; u++) {
        const uint32_t (&from)[2] = b[half][(u / N + f) % T::tiles][u % N];
        Quad &to = sum[half][u];

        to = thin ? product8 (a, from[0], to) : product (a, from[0], from[1], to);
      }
    }
  }
}

/* Sixteen rows along x, all frames: from those of the first at address to two blocks. */
template <int N, int R, int WARPS>
__device__ __forceinline__ void
filter_frames (const ConvolveLaunch &l, const Weights<N, R> &w, uint32_t address, int t,
               uint32_t (&lower)[2 * Tile<N, R>::units], uint32_t (&upper)[2 * Tile<N, R>::units])
{
  using T = Tile<N, R>;
  constexpr int frame = CONVOLVE_BANDED_ROWS * convolve_banded_pitch (N, 1, 2 * R + 1, WARPS);
  /* Those of the second frame. */
  uint32_t weights = w.at + 512 * Weights<N, R>::count;
  Quad sum[2][T::units];

#pragma unroll
  for (int u = 0; u < 2 * T::units; u++)
    sum[u % 2][u / 2] = w.first (0);
  add_frame<N, R, WARPS> (address, w.at, t, sum);
  if (l.n_frames == 3) {
    /* One frame's loads can overlap with another's products. */
    add_frame<N, R, WARPS> (address + frame, weights, t, sum);
    add_frame<N, R, WARPS> (address + 2 * frame, weights + 512 * T::depth, t, sum);
  } else {
#pragma unroll 1
    for (int f = l.n_frames; f > 1; f--, weights += 512 * T::depth)
      add_frame<N, R, WARPS> (address += frame, weights, t, sum);
  }
#pragma unroll
  for (int u = 0; u < T::units; u++)
#pragma unroll
    for (int k = 0; k < 2; k++) {
      lower[2 * u + k] = half_pair (sum[0][u].v[2 * k], sum[0][u].v[2 * k + 1]);
      upper[2 * u + k] = half_pair (sum[1][u].v[2 * k], sum[1][u].v[2 * k + 1]);
    }
}

/* To rows of any alignment, byte by byte. */
template <int N, int R>
__device__ __forceinline__ void
store_bytes (const Output<N, R> &out, const ConvolveLaunchPicture &p, int x, int y, int y1, int lane)
{
  int left = (p.width - x) * N;

#pragma unroll
  for (int i = 0; i < 2 * Tile<N, R>::units; i++) {
    int row = y + lane / 4 + 8 * (i % 2), offset = word_offset<N> (i / 2, lane % 4);
    uint8_t *to = reinterpret_cast<uint8_t *> (p.dst) + (ptrdiff_t)row * p.dst_stride + (ptrdiff_t)x * N + offset;

#pragma unroll 1
    for (int b = 0; b < 4 && row < y1 && offset + b < left; b++)
      to[b] = out.words[i % 2][i / 2] >> 8 * b;
  }
}

/* Step s of a task whose rows are y0 .. y1 - 1. */
template <int N, int R, int WARPS, int PHASE>
__device__ __forceinline__ void
fold_step (const ConvolveLaunch &l, const ConvolveLaunchPicture &p, Walk<N, R, WARPS> &walk, Stages &stages, int s,
           uint32_t offset, int lane, int y0, int y1)
{
  using T = Tile<N, R>;
  constexpr int pitch = convolve_banded_pitch (N, 1, 2 * R + 1, WARPS);
  constexpr int newest = T::odd ? T::blocks - 2 : 2 * PHASE;

  barrier_wait (stages.full (), stages.turn);
  walk.edges.apply (stages, pitch, lane, CONVOLVE_BANDED_ROWS * l.n_frames);
  if constexpr (T::odd)
#pragma unroll
    for (int i = 0; i < T::blocks - 2; i++)
#pragma unroll
      for (int j = 0; j < 2 * T::units; j++)
        walk.h[i][j] = walk.h[i + 2][j];
  filter_frames<N, R, WARPS> (l, walk.w, stages.at () + offset, lane % 4, walk.h[newest], walk.h[newest + 1]);
  __syncwarp ();
  if (lane == 0)
    barrier_arrive (stages.empty ());
  stages.next ();
  if (s < T::fill)
    return;

  int y = y0 + CONVOLVE_BANDED_ROWS * (s - T::fill);
  Output<N, R> out;

#pragma unroll
  for (int part = 0; part < Part<N, R>::parts; part++) {
    Quad sum[Part<N, R>::quads];

    filter_columns<N, R, PHASE> (walk.w, walk.h, part, sum);
    if (p.plain)
      out.template finish<true> (l, p, false, walk.x, y, y1, lane, part, sum);
    else
      out.template finish<false> (l, p, walk.input, walk.x, y, y1, lane, part, sum);
  }
  if ((((uint32_t)p.dst | (uint32_t)p.dst_stride) & 3) == 0)
    out.store (p, walk.x, y, y1, lane);
  else
    store_bytes<N, R> (out, p, walk.x, y, y1, lane);
}

/* The tasks of a picture that are this block's: a working warp. */
template <int N, int R, int WARPS>
__device__ __forceinline__ void
fold_picture (const ConvolveLaunch &l, const ConvolveLaunchPicture &p, uint32_t &block, Stages &stages, int warp)
{
  int lane = lane_index ();
  uint32_t tasks = p.blocks_x * p.blocks_y;
  Walk<N, R, WARPS> walk;
  int g = lane / 4, t = lane % 4;
  constexpr int pitch = convolve_banded_pitch (N, 1, 2 * R + 1, WARPS);
  uint32_t offset = g * pitch + (-R * N & 15) + warp * CONVOLVE_BANDED_PIXELS (N) * N + 4 * N * t;

  if (block - p.first_block >= tasks)
    return;

  const ConvolveLaunchTerm &term = l.set[p.weights].term[0];

  load_frame_weights<N, R, WARPS> (l.n_frames, reinterpret_cast<const float *> (l.weights) + term.first, term, lane,
                                   warp, stages.end (), 0, walk.w);
  walk.input = !p.plain && needs_input (l, p);
#pragma unroll
  for (int i = 0; i < Tile<N, R>::blocks; i++)
#pragma unroll
    for (int j = 0; j < 2 * Tile<N, R>::units; j++)
      walk.h[i][j] = 0;
  for (; block - p.first_block < tasks; block += gridDim.x) {
    Task<N, 1, R, WARPS> task (p, block - p.first_block);

    task.set_edges (stages, p, lane, warp, walk.edges);
    walk.x = task.x0 + warp * CONVOLVE_BANDED_PIXELS (N);
    walk_steps<Tile<N, R>::phases> (task.steps, [&] (int s, auto phase) {
      fold_step<N, R, WARPS, decltype (phase)::value> (l, p, walk, stages, s, offset, lane, task.y0, task.y1);
    });
  }
}

template <int R, int WARPS>
__device__ __forceinline__ void
fold_all (const ConvolveLaunch &l)
{
  part_work<WARPS> (
      l,
      [&] (auto n, const ConvolveLaunchPicture &p, uint32_t &block, Stages &stages, uint32_t &landed_turns) {
        constexpr int N = decltype (n)::value;

        feed_picture<N, 1, R, WARPS, StackedFrames<N>> (l, p, block, stages, landed_turns);
      },
      [&] (auto n, const ConvolveLaunchPicture &p, uint32_t &block, Stages &stages, int warp) {
        fold_picture<decltype (n)::value, R, WARPS> (l, p, block, stages, warp);
      });
}

#endif

#define KERNEL(name, source, route, samples, terms, taps) \
  CONVOLVE_STRIP_KERNEL (name, CONVOLVE_FOLDED_WARPS (taps), fold_all<taps / 2, CONVOLVE_FOLDED_WARPS (taps)>)
CONVOLVE_VARIANTS_FOLDED (KERNEL)
