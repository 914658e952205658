/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the kernels on the tensor cores share: how a block shares out a strip, weights as fragments of banded
 * matrices, the way to memory. */
#pragma once

#include "feed.cuh"

#if CONVOLVE_HAS_TENSOR

/* What a warp owns: tiles of 16 pixels side by side, N components each. R: half of the most taps. */
template <int N, int R> struct Tile {
  static constexpr int tiles = CONVOLVE_BANDED_PIXELS (N) / 16;
  static constexpr int units = tiles * N;              /* tiles of one component */
  static constexpr int depth = (16 + 2 * R + 15) / 16; /* fragments of 16 that a sum runs over */
  static constexpr bool odd = (16 + 2 * R) % 16 == 8;  /* ... one of which is half empty */
  static constexpr bool thin = odd && N == 4;          /* along x: then it is loaded and multiplied as one of 8 */
  static constexpr int blocks = 2 + R / 4;             /* rows of H that are kept, in blocks of 8 */
  static constexpr int fill = (2 * R + 15) / 16;       /* steps before the first result */
  /* Steps after which H's blocks are where they were; an odd number of blocks moves on instead. */
  static constexpr int phases = odd ? 1 : depth;
};

/* Half floats of taps i and i + 1, times scale. */
__device__ inline uint32_t
tap_pair (const float *w, int n, int i, float scale = 1.f)
{
  return half_pair (i >= 0 && i < n ? scale * __ldg (w + i) : 0.f,
                    i + 1 >= 0 && i + 1 < n ? scale * __ldg (w + i + 1) : 0.f);
}

/* The lane's words of fragment f: of Tx for f < depth, then of Ty. NATURAL: pixels along x are in their order too. */
template <int N, int R, bool NATURAL = false>
__device__ inline void
make_fragment (const float *w, const ConvolveLaunchTerm &term, int lane, int f, uint32_t (&a)[4], float scale = 1.f)
{
  using T = Tile<N, R>;
  int g = lane / 4, t = lane % 4;

  if (f < T::depth) {
    bool thin = T::thin && f == T::depth - 1;
    /* Row g is pixel m, row g + 8 is pixel m + apart. */
    int m = NATURAL ? g : 4 * (g / 2) + g % 2, apart = NATURAL ? 8 : 2;
    int i = 16 * f + (thin || NATURAL ? 2 : 4) * t - R + term.ax - m;

    a[0] = tap_pair (w, term.nx, i, scale);
    a[1] = tap_pair (w, term.nx, i - apart, scale);
    a[2] = thin ? 0 : tap_pair (w, term.nx, i + apart, scale);
    a[3] = thin ? 0 : a[0];
  } else {
    /* Rows in their order; of an odd number of blocks the first is a fragment of its own. */
    bool thin = T::odd && f == T::depth;
    int j = 16 * (f - T::depth) - (T::odd && !thin ? 8 : 0) + 2 * t - R + term.ay - g;

    w += term.nx;
    a[0] = tap_pair (w, term.ny, j, scale);
    a[1] = tap_pair (w, term.ny, j - 8, scale);
    a[2] = thin ? 0 : tap_pair (w, term.ny, j + 8, scale);
    a[3] = thin ? 0 : a[0];
  }
}

/* WORDS neighbouring words to a row of which left bytes remain; wide: the row is aligned for that. */
template <int WORDS>
__device__ inline void
store_words (uint8_t *to, int left, bool wide, const uint32_t (&w)[WORDS])
{
  if (WORDS == 4 && wide && left >= 16) {
    *reinterpret_cast<uint4 *> (to) = make_uint4 (w[0], w[1], w[WORDS - 2], w[WORDS - 1]);
    return;
  }
  if (WORDS == 2 && wide && left >= 8) {
    *reinterpret_cast<uint2 *> (to) = make_uint2 (w[0], w[1]);
    return;
  }
#pragma unroll
  for (int k = 0; k < WORDS; k++) {
    if (left >= 4 * k + 4)
      reinterpret_cast<uint32_t *> (to)[k] = w[k];
    else
#pragma unroll 1
      for (int i = 4 * k; i < left; i++)
        to[i] = w[k] >> 8 * (i % 4);
  }
}

/* The same to a row that begins anywhere. */
template <int WORDS>
__device__ inline void
store_bytes (uint8_t *to, int left, const uint32_t (&w)[WORDS])
{
#pragma unroll
  for (int k = 0; k < WORDS; k++)
#pragma unroll 1
    for (int i = 4 * k; i < 4 * k + 4 && i < left; i++)
      to[i] = w[k] >> 8 * (i % 4);
}

/* ---- the march ---- */

/* Calls step (s, phase as a type) for s = 0 .. steps - 1: s modulo PHASES is known at compile time. */
template <int PHASES, int PHASE, class Step>
__device__ __forceinline__ bool
walk_round (int s, int steps, Step &step)
{
  if (s + PHASE >= steps)
    return false;
  step (s + PHASE, Number<PHASE> ());
  if constexpr (PHASE + 1 < PHASES)
    return walk_round<PHASES, PHASE + 1> (s, steps, step);
  return true;
}

template <int PHASES, class Step>
__device__ __forceinline__ void
walk_steps (int steps, Step step)
{
  for (int s = 0; s < steps; s += PHASES)
    if (!walk_round<PHASES, 0> (s, steps, step))
      break;
}

/* A task in numbers. */
template <int N, int BYTES, int R, int WARPS> struct Task {
  static constexpr int pixels = CONVOLVE_BANDED_PIXELS (N), strip = WARPS * pixels;
  int x0, y0, y1, steps;

  __device__ Task (const ConvolveLaunchPicture &p, uint32_t task)
  {
    x0 = task % p.blocks_x * strip;
    y0 = p.row_begin + (int)(task / p.blocks_x) * p.task_rows;
    y1 = min (y0 + p.task_rows, p.row_end);
    steps = (y1 - y0 + CONVOLVE_BANDED_ROWS - 1) / CONVOLVE_BANDED_ROWS + Tile<N, R>::fill;
  }
  __device__ Columns columns (const ConvolveLaunchPicture &p, const ConvolveLaunchTerm &term) const
  {
    return {x0 - term.ax, min (x0 + strip, p.width) + term.nx - 1 - term.ax, (x0 - R) * N * BYTES & ~15};
  }
  /* With the most taps registers are short. */
  using StripEdges = Edges < N *BYTES,
        R<32 ? 0
             : (int)convolve_banded_table_bytes (0, BYTES, 2 * R + 1, 0) - CONVOLVE_BANDED_EDGE_BYTES (2 * R + 1)>;
  __device__ __forceinline__ void set_edges (const Stages &stages, const ConvolveLaunchPicture &p, int lane, int warp,
                                             StripEdges &edges) const
  {
    using T = Tile<N, R>;
    constexpr int span = 16 * (T::tiles + T::depth - 1) - (T::thin ? 8 : 0) - R;

    edges.set (stages, p, columns (p, stages.l.set[p.weights].term[0]), lane, warp, WARPS, x0, pixels, R, span);
  }
};

/* The tasks of a picture that are this block's, block counting on: the warp that loads. */
template <int N, int BYTES, int R, int WARPS, class From = Feed<N, BYTES>>
__device__ __forceinline__ void
feed_picture (const ConvolveLaunch &l, const ConvolveLaunchPicture &p, uint32_t &block, Stages &stages,
              uint32_t &landed_turns)
{
  int lane = lane_index ();
  const ConvolveLaunchTerm &term = l.set[p.weights].term[0];
  uint32_t tasks = p.blocks_x * p.blocks_y;
  From feed (l, p, lane);

  feed.pitch = convolve_banded_pitch (N, BYTES, 2 * R + 1, WARPS);
  for (; block - p.first_block < tasks; block += gridDim.x) {
    Task<N, BYTES, R, WARPS> task (p, block - p.first_block);

    feed.set_columns (task.columns (p, term));
    feed.first = task.y0 - term.ay;
    feed.end_row = task.y1 + term.ny - 1 - term.ay;
    feed_task (feed, stages, landed_turns, task.y0 + R - CONVOLVE_BANDED_ROWS * Tile<N, R>::fill, task.steps);
  }
}

/* All pictures of a launch: feed (n, picture, block, stages, landed turns) is what the loading warp does, filter (n,
 * picture, block, stages, warp) what the others do; n is the number of components, as a type. */
template <int WARPS, class Feed, class Filter>
__device__ __forceinline__ void
part_work (const ConvolveLaunch &l, Feed feed, Filter filter)
{
  /* Through a shuffle, so that the compiler knows that a warp agrees on it. */
  int warp = __shfl_sync (~0u, threadIdx.x / 32, 0);
  uint32_t block = blockIdx.x, landed_turns = 0;
  Stages stages = {l};

  if (threadIdx.x == 0)
    init_stages (l, WARPS);
  __syncthreads ();
  if (warp == WARPS)
    for (uint32_t i = 0; i < l.n_pictures; i++)
      with_count (l.picture[i].n_components, [&] (auto n) { feed (n, l.picture[i], block, stages, landed_turns); });
  else
    for (uint32_t i = 0; i < l.n_pictures; i++)
      with_count (l.picture[i].n_components, [&] (auto n) { filter (n, l.picture[i], block, stages, warp); });
}

#endif

/* A kernel of so many working warps, and one that loads, which calls the function that is named last. Older GPUs take
 * other routes: for them there is nothing inside. */
#if CONVOLVE_HAS_TENSOR
#define CONVOLVE_STRIP_CALL(...) __VA_ARGS__ (launch)
#else
#define CONVOLVE_STRIP_CALL(...)
#endif
#define CONVOLVE_STRIP_KERNEL(name, warps, ...)                                     \
  extern "C" __global__ void __launch_bounds__ (CONVOLVE_BANDED_THREADS (warps), 1) \
      name (const __grid_constant__ ConvolveLaunch launch)                          \
  {                                                                                 \
    CONVOLVE_STRIP_CALL (__VA_ARGS__);                                              \
  }
