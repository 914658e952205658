/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A whole matrix on the tensor cores. Row j of the matrix is a banded matrix Tj, as in banded.cuh; a warp's 16 rows
 * of 16, 32 or 64 pixels are
 *
 *   Y (16 rows x 16 columns) = sum over j of X (rows j .. j + 15, 16 + 2 R columns) x Tj (16 + 2 R x 16)
 *
 * for each component. The rows wait in shared memory as bytes, and become half floats again for each j: a lane's rows
 * move on by one. All Tj lie in shared memory, in fragments of 16 x 16, two products wide. */
#include "banded.cuh"

#if CONVOLVE_HAS_TENSOR

/* Of rows g and g + 8 of a fragment at two addresses, those of component c: the four words of the left factor. */
template <int N>
__device__ __forceinline__ void
load_left (uint32_t upper, uint32_t lower, uint32_t (&a)[N][4])
{
  uint32_t b[2][N][2];

  load_fragment<N> (upper, b[0]);
  load_fragment<N> (lower, b[1]);
#pragma unroll
  for (int c = 0; c < N; c++) {
    a[c][0] = b[0][c][0];
    a[c][1] = b[1][c][0];
    a[c][2] = b[0][c][1];
    a[c][3] = b[1][c][1];
  }
}

/* A lane's way down the stages' rows. */
struct RowWalk {
  uint32_t at;
  int row;

  __device__ void down (const ConvolveLaunch &l, int pitch)
  {
    at += pitch;
    if ((++row & (CONVOLVE_BANDED_ROWS - 1)) == 0) {
      at += l.stage_bytes - CONVOLVE_BANDED_ROWS * pitch;
      if (at >= Stages::base () + l.stages * l.stage_bytes)
        at -= l.stages * l.stage_bytes;
    }
  }
};

/* The lane's words of fragment f of Tj: (k, n) is the weight of pixel k's to column n's, for two products. */
template <int N, int R>
__device__ inline void
make_right (const float *w, const ConvolveLaunchTerm &term, int lane, int j, int f, uint32_t (&b)[4])
{
  int g = lane / 4, t = lane % 4, n = 4 * (g / 2) + g % 2; /* the second product's column is pixel n + 2 */
  bool thin = Tile<N, R>::thin && f == Tile<N, R>::depth - 1;
  int i = 16 * f + (thin ? 2 : 4) * t - R + term.ax - n;

  w += j * term.nx;
  b[0] = tap_pair (w, term.nx, i);
  b[1] = thin ? 0 : tap_pair (w, term.nx, i + 2);
  b[2] = tap_pair (w, term.nx, i - 2);
  b[3] = thin ? 0 : tap_pair (w, term.nx, i);
}

/* By all working warps: the picture's Tj, and behind them what sums start from. */
template <int N, int R, int WARPS>
__device__ __forceinline__ void
load_matrix (const ConvolveLaunch &l, const ConvolveLaunchTerm &term, int lane, int warp, uint32_t table)
{
  constexpr int depth = Tile<N, R>::depth;
  const float *w = reinterpret_cast<const float *> (l.weights) + term.first;
  int count = term.ny * depth;

  worker_barrier (32 * WARPS);
  for (int f = warp; f <= count; f += WARPS) {
    uint32_t b[4];

    if (f < count)
      make_right<N, R> (w, term, lane, f / depth, f % depth, b);
    else
      b[0] = b[1] = b[2] = b[3] = __float_as_uint (-1024.f * __ldg (w + term.nx * term.ny));
    store_quad (table + 512 * f + 16 * lane, b);
  }
  worker_barrier (32 * WARPS);
}

/* Sixteen rows: sum[2 u + h] is unit u's pixels of product h. upper, lower: the lane's rows for j = 0. */
template <int N, int R>
__device__ __forceinline__ void
filter_matrix (const ConvolveLaunch &l, int ny, uint32_t table, RowWalk upper, RowWalk lower, int pitch, int t,
               Quad (&sum)[2 * Tile<N, R>::units])
{
  using T = Tile<N, R>;

#pragma unroll 1
  for (int j = 0; j < ny; j++) {
    uint32_t a[T::tiles][N][4]; /* fragment i is number i % tiles */

#pragma unroll
    for (int i = 0; i < T::tiles - 1; i++)
      load_left<N> (upper.at + 16 * N * i, lower.at + 16 * N * i, a[i]);
#pragma unroll
    for (int f = 0; f < T::depth; f++, table += 512) {
      bool thin = T::thin && f == T::depth - 1;
      uint32_t b[4];

      load_words<4> (table, b);
      if constexpr (T::thin)
        if (thin) {
          uint32_t raw[2][2], four[4], x[2][4][2];

          load_words<2> (upper.at + 16 * N * f - 2 * N * t, raw[0]);
          load_words<2> (lower.at + 16 * N * f - 2 * N * t, raw[1]);
#pragma unroll
          for (int h = 0; h < 2; h++) {
#pragma unroll
            for (int k = 0; k < 4; k++)
              four[k] = raw[h][k % 2];
            half_bytes<4> (four, x[h]);
          }
#pragma unroll
          for (int c = 0; c < N; c++) {
            a[0][c][0] = x[0][c][0];
            a[0][c][1] = x[1][c][0];
          }
        }
      if (!thin)
        load_left<N> (upper.at + 16 * N * (f + T::tiles - 1), lower.at + 16 * N * (f + T::tiles - 1),
                      a[(f + T::tiles - 1) % T::tiles]);
#pragma unroll
      for (int u = 0; u < T::units; u++) {
        const uint32_t (&from)[4] = a[(u / N + f) % T::tiles][u % N];

        if (thin) {
          sum[2 * u] = product8 (from, b[0], sum[2 * u]);
          sum[2 * u + 1] = product8 (from, b[2], sum[2 * u + 1]);
        } else {
          sum[2 * u] = product (from, b[0], b[1], sum[2 * u]);
          sum[2 * u + 1] = product (from, b[2], b[3], sum[2 * u + 1]);
        }
      }
    }
    upper.down (l, pitch);
    lower.down (l, pitch);
  }
}

/* Stages that a step's rows reach beyond its own. */
__device__ inline int
stages_beyond (int ny)
{
  return (ny - 1 + CONVOLVE_BANDED_ROWS - 1) / CONVOLVE_BANDED_ROWS;
}

/* The loading warp. */
template <int N, int R, int WARPS>
__device__ __forceinline__ void
feed_direct (const ConvolveLaunch &l, const ConvolveLaunchPicture &p, uint32_t &block, Stages &stages,
             uint32_t &landed_turns)
{
  const ConvolveLaunchTerm &term = l.set[p.weights].term[0];
  uint32_t tasks = p.blocks_x * p.blocks_y;
  Feed<N, 1> feed (l, p, lane_index ());

  feed.pitch = convolve_banded_pitch (N, 1, 2 * R + 1, WARPS);
  for (; block - p.first_block < tasks; block += gridDim.x) {
    Task<N, 1, R, WARPS> task (p, block - p.first_block);

    feed.set_columns (task.columns (p, term));
    feed.first = task.y0 - term.ay;
    feed.end_row = task.y1 + term.ny - 1 - term.ay;
    feed_task (feed, stages, landed_turns, feed.first, task.steps - Tile<N, R>::fill + stages_beyond (term.ny));
  }
}

/* A working warp. */
template <int N, int R, int WARPS>
__device__ __forceinline__ void
filter_direct (const ConvolveLaunch &l, const ConvolveLaunchPicture &p, uint32_t &block, Stages &stages, int warp)
{
  constexpr int pitch = convolve_banded_pitch (N, 1, 2 * R + 1, WARPS);
  const ConvolveLaunchTerm &term = l.set[p.weights].term[0];
  uint32_t tasks = p.blocks_x * p.blocks_y, table = stages.end ();
  int lane = lane_index (), g = lane / 4, t = lane % 4, ny = term.ny, beyond = stages_beyond (ny);
  uint32_t offset = g * pitch + (-R * N & 15) + warp * CONVOLVE_BANDED_PIXELS (N) * N + 4 * N * t;
  bool plain = p.plain, input = !plain && needs_input (l, p);

  if (block - p.first_block >= tasks)
    return;
  load_matrix<N, R, WARPS> (l, term, lane, warp, table);
  table += 16 * lane;
  for (; block - p.first_block < tasks; block += gridDim.x) {
    Task<N, 1, R, WARPS> task (p, block - p.first_block);
    typename Task<N, 1, R, WARPS>::StripEdges edges;
    int steps = task.steps - Tile<N, R>::fill;
    Stages ahead = stages;

    task.set_edges (stages, p, lane, warp, edges);
    for (int s = -beyond; s < steps + beyond; s++) {
      if (s < steps) {
        barrier_wait (ahead.full (), ahead.turn);
        edges.apply (ahead, pitch, lane);
        ahead.next ();
      }
      if (s < 0)
        continue;
      if (s < steps) {
        Quad sum[2 * Tile<N, R>::units];
        uint32_t start[4];
        Output<N, R> out;
        int x = task.x0 + warp * CONVOLVE_BANDED_PIXELS (N), y = task.y0 + CONVOLVE_BANDED_ROWS * s;

        load_words<4> (table + 512 * ny * Tile<N, R>::depth, start);
#pragma unroll
        for (int q = 0; q < 2 * Tile<N, R>::units; q++)
#pragma unroll
          for (int k = 0; k < 4; k++)
            sum[q].v[k] = __uint_as_float (start[k]);
        filter_matrix<N, R> (l, ny, table, {stages.at () + offset, g}, {stages.at () + offset + 8 * pitch, g + 8},
                             pitch, t, sum);
#pragma unroll
        for (int part = 0; part < Part<N, R>::parts; part++) {
          Quad some[Part<N, R>::quads];

#pragma unroll
          for (int q = 0; q < Part<N, R>::quads; q++)
            some[q] = sum[Part<N, R>::column (part, q)];
          if (plain)
            out.template finish<true> (l, p, false, x, y, task.y1, lane, part, some);
          else
            out.template finish<false> (l, p, input, x, y, task.y1, lane, part, some);
        }
        out.store (p, x, y, task.y1, lane);
      }
      __syncwarp ();
      if (lane == 0)
        barrier_arrive (stages.empty ());
      stages.next ();
    }
  }
}

template <int R, int WARPS>
__device__ __forceinline__ void
direct_all (const ConvolveLaunch &l)
{
  part_work<WARPS> (
      l,
      [&] (auto n, const ConvolveLaunchPicture &p, uint32_t &block, Stages &stages, uint32_t &landed_turns) {
        feed_direct<decltype (n)::value, R, WARPS> (l, p, block, stages, landed_turns);
      },
      [&] (auto n, const ConvolveLaunchPicture &p, uint32_t &block, Stages &stages, int warp) {
        filter_direct<decltype (n)::value, R, WARPS> (l, p, block, stages, warp);
      });
}

#endif

#define WARPS(taps) CONVOLVE_BANDED_WARPS (true, taps)
#define KERNEL(name, source, route, samples, terms, taps) \
  CONVOLVE_STRIP_KERNEL (name, WARPS (taps), direct_all<taps / 2, WARPS (taps)>)
CONVOLVE_VARIANTS_DIRECT (KERNEL)
