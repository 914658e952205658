/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Long rows and columns over float pictures: ROWS and COLUMNS of params.h with many taps. What counts here is that a
 * value that was loaded serves many sums: eight along a row, sixteen down a column, all in registers. */
#include "pixel.cuh"
#include "wide.cuh"

/* ---- rows ---- */

#define ROW_OUTPUTS 8

/* Threads of a warp read at a distance of ROW_OUTPUTS: with a hole after as many floats no two meet in a bank. */
__device__ inline int
spread (int i)
{
  return i + i / ROW_OUTPUTS;
}

/* Value c of the pixel in column x, which may be outside, as ROWS counts it. */
__device__ inline float
row_value (const ConvolveStage &s, const float *row, int values, int x, int c, bool multiply)
{
  int column = border_index (s.border, x, s.picture.width);
  float v = column < 0 ? number<Single> (s.edge[c]).v : __ldg (row + (size_t)column * values + c);

  if (multiply)
    v *= column < 0 ? number<Single> (s.edge[values - 1]).v : __ldg (row + (size_t)column * values + values - 1);
  return v;
}

/* One value of CONVOLVE_LINES_PIXELS pixels from x on; a thread makes ROW_OUTPUTS of them. at: its first, in line. */
__device__ inline void
sum_row (const float *line, const float *weights, int taps, int at, float (&sum)[ROW_OUTPUTS])
{
  float v[ROW_OUTPUTS];

#pragma unroll
  for (int p = 0; p < ROW_OUTPUTS; p++) {
    sum[p] = 0.f;
    v[p] = line[spread (at + p)];
  }
  for (int first = 0; first < taps; first += ROW_OUTPUTS) {
    float part[ROW_OUTPUTS] = {};

#pragma unroll
    for (int j = 0; j < ROW_OUTPUTS; j++) {
      float w = weights[first + j];

#pragma unroll
      for (int p = 0; p < ROW_OUTPUTS; p++)
        part[p] = fmaf (w, v[(j + p) % ROW_OUTPUTS], part[p]);
      v[j] = line[spread (at + first + j + ROW_OUTPUTS)];
    }
    /* In parts, which keeps the rounding of thousands of taps small. */
#pragma unroll
    for (int p = 0; p < ROW_OUTPUTS; p++)
      sum[p] += part[p];
  }
}

__device__ inline void
filter_rows (const ConvolveStage &s, float *shared)
{
  int values = s.picture.n_components + (s.weighted ? 1 : 0), taps = convolve_lines_taps (s.nx);
  int line_floats = convolve_lines_floats (s.nx), group = threadIdx.x / CONVOLVE_LINES_THREADS;
  int lane = threadIdx.x % CONVOLVE_LINES_THREADS, at = lane * ROW_OUTPUTS;
  float *weights = shared, *line = shared + taps + group * line_floats;
  int across = (s.picture.width + CONVOLVE_LINES_PIXELS - 1) / CONVOLVE_LINES_PIXELS;
  int64_t bands = (s.picture.row_end - s.picture.row_begin + CONVOLVE_LINES_GROUPS - 1) / CONVOLVE_LINES_GROUPS;

  for (int i = threadIdx.x; i < taps; i += blockDim.x)
    weights[i] = i < s.nx ? __ldg (reinterpret_cast<const float *> (s.weights) + i) : 0.f;
  for (int64_t block = blockIdx.x; block < across * bands; block += gridDim.x) {
    int x0 = (int)(block % across) * CONVOLVE_LINES_PIXELS;
    int y = s.picture.row_begin + (int)(block / across) * CONVOLVE_LINES_GROUPS + group;
    int pixels = min (CONVOLVE_LINES_PIXELS, s.picture.width - x0);
    bool mine = y < s.picture.row_end;
    const float *in = reinterpret_cast<const float *> (s.in) + (size_t)y * s.picture.width * values;
    float *out = reinterpret_cast<float *> (s.out) + ((size_t)y * s.picture.width + x0) * values;

    for (int c = 0; c < values; c++) {
      bool multiply = s.weighted && c < values - 1 && !(s.straight >> c & 1);
      float sum[ROW_OUTPUTS];

      __syncthreads ();
      /* Beyond the last tap stand zeros: their weights are zeros, but what memory holds may be no number. */
      for (int i = lane; i < CONVOLVE_LINES_PIXELS + taps + ROW_OUTPUTS; i += CONVOLVE_LINES_THREADS)
        line[spread (i)] =
            mine && i < pixels + s.nx - 1 ? row_value (s, in, values, x0 + i - s.ax, c, multiply) : 0.f;
      __syncthreads ();
      sum_row (line, weights, taps, at, sum);
      __syncthreads ();
#pragma unroll
      for (int p = 0; p < ROW_OUTPUTS; p++)
        line[spread (at + p)] = sum[p];
      __syncthreads ();
      for (int i = lane; mine && i < pixels; i += CONVOLVE_LINES_THREADS)
        out[(size_t)i * values + c] = line[spread (i)];
    }
  }
}

/* ---- columns ---- */

#define COLUMN_OUTPUTS 16

/* The float at column of row y, which may be outside, as COLUMNS counts it. */
__device__ inline float
column_value (const ConvolveStage &s, int floats, int y, int column, float edge)
{
  int row = border_index (s.border, y, s.picture.height);

  return row < 0 ? edge : __ldg (reinterpret_cast<const float *> (s.in) + (size_t)row * floats + column);
}

/* sum[p] is that of row y + p. Of the reversed weights a window moves along with the rows. */
__device__ inline void
sum_column (const ConvolveStage &s, const float *weights, int taps, int floats, int y, int column, float edge,
            float (&sum)[COLUMN_OUTPUTS])
{
  float w[COLUMN_OUTPUTS];

#pragma unroll
  for (int p = 0; p < COLUMN_OUTPUTS; p++)
    w[p] = sum[p] = 0.f;
  for (int first = 0; first < taps + COLUMN_OUTPUTS; first += COLUMN_OUTPUTS) {
    float part[COLUMN_OUTPUTS] = {}, v[COLUMN_OUTPUTS];

#pragma unroll
    for (int j = 0; j < COLUMN_OUTPUTS; j++)
      v[j] =
          first + j < s.ny + COLUMN_OUTPUTS - 1 ? column_value (s, floats, y + first + j - s.ay, column, edge) : 0.f;
#pragma unroll
    for (int j = 0; j < COLUMN_OUTPUTS; j++) {
      w[j] = first + j < taps ? weights[first + j] : 0.f;
      /* Row first + j meets weight first + j - p in sum p. */
#pragma unroll
      for (int p = 0; p < COLUMN_OUTPUTS; p++)
        part[p] = fmaf (w[(j - p + COLUMN_OUTPUTS) % COLUMN_OUTPUTS], v[j], part[p]);
    }
#pragma unroll
    for (int p = 0; p < COLUMN_OUTPUTS; p++)
      sum[p] += part[p];
  }
}

__device__ inline void
filter_columns (const ConvolveStage &s, float *weights)
{
  int values = s.picture.n_components + (s.weighted ? 1 : 0), taps = convolve_lines_taps (s.ny);
  int floats = s.picture.width * values, across = (floats + CONVOLVE_BLOCK_THREADS - 1) / CONVOLVE_BLOCK_THREADS;
  int64_t bands = (s.picture.row_end - s.picture.row_begin + COLUMN_OUTPUTS - 1) / COLUMN_OUTPUTS;

  for (int i = threadIdx.x; i < taps; i += blockDim.x)
    weights[i] = i < s.ny ? __ldg (reinterpret_cast<const float *> (s.weights) + i) : 0.f;
  __syncthreads ();
  for (int64_t block = blockIdx.x; block < across * bands; block += gridDim.x) {
    int column = (int)(block % across) * CONVOLVE_BLOCK_THREADS + threadIdx.x, c = column % values;
    int y = s.picture.row_begin + (int)(block / across) * COLUMN_OUTPUTS;
    float edge, sum[COLUMN_OUTPUTS];

    if (column >= floats)
      continue;
    edge = number<Single> (s.edge[c]).v * number<Single> (s.sum).v;
    if (s.weighted && c < values - 1 && !(s.straight >> c & 1))
      edge *= number<Single> (s.edge[values - 1]).v;
    sum_column (s, weights, taps, floats, y, column, edge, sum);
#pragma unroll
    for (int p = 0; p < COLUMN_OUTPUTS; p++) {
      size_t at = (size_t)(y + p) * floats + column;

      if (y + p < s.picture.row_end)
        reinterpret_cast<float *> (s.out)[at] =
            sum[p] + (s.second ? __ldg (reinterpret_cast<const float *> (s.second) + at) : 0.f);
    }
  }
}

template <int ROUTE>
__device__ inline void
run (const ConvolveStage &s)
{
  extern __shared__ float shared[];

  if constexpr (ROUTE == CONVOLVE_ROUTE_STAGE_LONG_ROWS)
    filter_rows (s, shared);
  else
    filter_columns (s, shared);
}

#define KERNEL(name, source, route, samples, terms, taps)                  \
  extern "C" __global__ void __launch_bounds__ (CONVOLVE_BLOCK_THREADS, 2) \
      name (const __grid_constant__ ConvolveStage stage)                   \
  {                                                                        \
    run<CONVOLVE_ROUTE_##route> (stage);                                   \
  }
CONVOLVE_VARIANTS_LINES (KERNEL)
