/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A whole matrix from a tile in shared memory.
 *
 * A block makes CONVOLVE_STEP_ROWS rows of a strip at a time. Its warps load the tile and its halo line by line
 * (border applied, converted to float once), then each warp makes CONVOLVE_WARP_ROWS output rows: every value that it
 * loads from the tile serves all of them. A matrix larger than a piece is walked piece by piece with the sums kept in
 * registers, so that any size fits any device's shared memory; each piece sums apart before it joins, which also
 * keeps the rounding of thousands of taps small. See docs/kernels.md. */
#include "tile.cuh"

template <int N> using Sums = float[CONVOLVE_WARP_ROWS][Lane<N>::samples];

/* Adds a piece of columns x rows weights; tile row 0 is the first output row's first tap. */
template <int N, int TAPS>
__device__ inline void
add_piece (const float *tile, int pitch, const float *weights, int lane, int columns, int rows, Sums<N> &sum)
{
  const int ny = TAPS ? TAPS : rows, nx = TAPS ? TAPS : columns;
  constexpr int unrolled = TAPS ? TAPS + CONVOLVE_WARP_ROWS : 1;
  Sums<N> part = {};

#pragma unroll(unrolled)
  for (int j = 0; j < ny + CONVOLVE_WARP_ROWS - 1; j++)
    walk_lines<N, TAPS, 1> (tile + j * pitch, pitch, lane, nx, [&] (int k, int, const float *v) {
#pragma unroll
      for (int q = 0; q < CONVOLVE_WARP_ROWS; q++) {
        if (TAPS && (j - q < 0 || j - q >= TAPS))
          continue;

        float w = weights[(j - q) * nx + k];

#pragma unroll
        for (int e = 0; e < Lane<N>::samples; e++)
          part[q][e] = fmaf (w, v[e], part[q][e]);
      }
    });
#pragma unroll
  for (int q = 0; q < CONVOLVE_WARP_ROWS; q++)
#pragma unroll
    for (int e = 0; e < Lane<N>::samples; e++)
      sum[q][e] += part[q][e];
}

/* One term over the whole matrix for the block's rows from y on. */
template <int S, int N, int TAPS>
__device__ inline void
add_term (const ConvolveLaunch &l, const ConvolveLaunchPicture &p, const ConvolveLaunchTerm &term, float *shared,
          int x0, int y, Sums<N> &sum)
{
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  int nx = TAPS ? TAPS : term.nx, ny = TAPS ? TAPS : term.ny;
  const float *all = TAPS ? l.weight + term.first : reinterpret_cast<const float *> (l.weights) + term.first;

  for (int j = 0; j < ny; j += TAPS ? TAPS : CONVOLVE_MATRIX_PIECE_ROWS)
    for (int i = 0; i < nx; i += TAPS ? TAPS : CONVOLVE_MATRIX_PIECE_COLUMNS) {
      int rows = TAPS ? TAPS : min (CONVOLVE_MATRIX_PIECE_ROWS, ny - j);
      int columns = TAPS ? TAPS : min (CONVOLVE_MATRIX_PIECE_COLUMNS, nx - i);
      int pitch = convolve_line_floats (N, columns), lines = CONVOLVE_STEP_ROWS + rows - 1;
      float *weights = shared + pitch * lines;
      int pad = CONVOLVE_WARP_ROWS * columns;

      __syncthreads ();
      for (int r = warp; r < lines; r += CONVOLVE_WARP_LINES * CONVOLVE_BLOCK_WARPS)
        load_lines<S, N, CONVOLVE_WARP_LINES> (
            l, p, lane, x0 + i - term.ax, y + j - term.ay + r, CONVOLVE_BLOCK_WARPS,
            min (CONVOLVE_WARP_LINES, (lines - r + CONVOLVE_BLOCK_WARPS - 1) / CONVOLVE_BLOCK_WARPS),
            Lane<N>::strip + columns - 1, shared + r * pitch, CONVOLVE_BLOCK_WARPS * pitch);
      if (!TAPS)
        for (int k = threadIdx.x; k < rows * columns + 2 * pad; k += CONVOLVE_BLOCK_THREADS) {
          int at = k - pad;

          weights[k] = at >= 0 && at < rows * columns ? all[(size_t)(j + at / columns) * nx + i + at % columns] : 0.f;
        }
      __syncthreads ();
      add_piece<N, TAPS> (shared + warp * CONVOLVE_WARP_ROWS * pitch, pitch, TAPS ? all : weights + pad, lane,
                          columns, rows, sum);
    }
}

template <int S, int N, int T, int TAPS>
__device__ void
run_task (const ConvolveLaunch &l, const ConvolveLaunchPicture &p, uint32_t task, float *shared)
{
  const ConvolveLaunchSet &set = l.set[p.weights];
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  int x0 = task % p.blocks_x * Lane<N>::strip;
  int y0 = p.row_begin + (int)(task / p.blocks_x) * p.task_rows, y1 = min (y0 + p.task_rows, p.row_end);
  bool input = needs_input (l, p);

  for (int y = y0; y < y1; y += CONVOLVE_STEP_ROWS) {
    float sum[T][CONVOLVE_WARP_ROWS][Lane<N>::samples] = {};

#pragma unroll
    for (int t = 0; t < T; t++)
      add_term<S, N, TAPS> (l, p, set.term[t], shared, x0, y, sum[t]);
#pragma unroll
    for (int q = 0; q < CONVOLVE_WARP_ROWS; q++)
#pragma unroll
      for (int i = 0; i < Lane<N>::pixels; i++) {
        int x = x0 + lane * Lane<N>::pixels + i, row = y + warp * CONVOLVE_WARP_ROWS + q;

        if (x < p.width && row < y1)
          finish_pixel<S, N, T> (l, p, input, x, row, sum[0][q] + i * N, sum[T - 1][q] + i * N);
      }
  }
}

template <int N, int S, int T, int TAPS> struct Task {
  __device__ static void run (const ConvolveLaunch &l, const ConvolveLaunchPicture &p, uint32_t task, float *shared)
  {
    run_task<S, N, T, TAPS> (l, p, task, shared);
  }
};

CONVOLVE_VARIANTS_MATRIX (CONVOLVE_TASK_KERNEL)
