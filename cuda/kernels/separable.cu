/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Rows and columns in one pass over the frame: one read, one write.
 *
 * A block marches down a strip. Its warps load lines of it, filter them along x and put them into a ring of float
 * rows in shared memory; as soon as the ring holds the window of the next CONVOLVE_STEP_ROWS output rows, each warp
 * filters CONVOLVE_WARP_ROWS of them down the columns, loading every ring row once for all of them. Only a task's
 * first rows are filtered twice (by this task and the one above). See docs/kernels.md. */
#include "tile.cuh"

struct Rings {
  float *line; /* this warp's first */
  int pitch;   /* floats from a line to the next */
  float *ring[2];
  const float *wx[2], *wy[2];
  int rows; /* of a ring: CONVOLVE_STEP_ROWS + the tallest term - 1 */
};

/* Lays out shared memory and copies the weights there, zeros around the columns' for the sliding window. */
template <int N, int T>
__device__ inline Rings
lay_out (const ConvolveLaunch &l, const ConvolveLaunchSet &set, float *shared, int warp, int nx, int ny)
{
  Rings r;
  float *at = shared + CONVOLVE_BLOCK_WARPS * CONVOLVE_WARP_LINES * convolve_line_floats (N, nx);

  r.pitch = convolve_line_floats (N, nx);
  r.line = shared + warp * CONVOLVE_WARP_LINES * r.pitch;
  r.rows = CONVOLVE_STEP_ROWS + ny - 1;
  for (int t = 0; t < T; t++, at += r.rows * Lane<N>::strip * N)
    r.ring[t] = at;
  for (int t = 0; t < T; t++) {
    const float *w = reinterpret_cast<const float *> (l.weights) + set.term[t].first;
    int tx = set.term[t].nx, ty = set.term[t].ny;
    float *wx = at, *wy = at + nx;

    at = wy + ny + 2 * CONVOLVE_WARP_ROWS;
    r.wx[t] = wx;
    r.wy[t] = wy + CONVOLVE_WARP_ROWS;
    if (!l.weights)
      continue;
    for (int i = threadIdx.x; i < tx; i += CONVOLVE_BLOCK_THREADS)
      wx[i] = w[i];
    for (int i = threadIdx.x; i < ty + 2 * CONVOLVE_WARP_ROWS; i += CONVOLVE_BLOCK_THREADS)
      wy[i] = i >= CONVOLVE_WARP_ROWS && i < ty + CONVOLVE_WARP_ROWS ? w[tx + i - CONVOLVE_WARP_ROWS] : 0.f;
  }
  return r;
}

/* A filtered line into ring row slot. */
template <int N>
__device__ inline void
put_row (float *ring, int slot, int lane, const float (&acc)[Lane<N>::samples])
{
  float *to = ring + (slot * 32 + lane) * Lane<N>::samples;

  if constexpr (Lane<N>::samples == 4) {
    *reinterpret_cast<float4 *> (to) = make_float4 (acc[0], acc[1], acc[2], acc[3]);
  } else {
#pragma unroll
    for (int e = 0; e < Lane<N>::samples; e++)
      to[e] = acc[e];
  }
}

/* The warp's lines along x, all at once: a weight is loaded once for them. n of them count, and become ring rows row,
 * row + CONVOLVE_BLOCK_WARPS, ... Terms whose anchors differ from the lines' start later. */
template <int N, int T, int TAPS>
__device__ inline void
filter_lines (const ConvolveLaunch &l, const ConvolveLaunchSet &set, const Rings &r, int lane, int row, int n, int ax)
{
#pragma unroll
  for (int t = 0; t < T; t++) {
    const ConvolveLaunchTerm &term = set.term[t];
    float acc[CONVOLVE_WARP_LINES][Lane<N>::samples] = {};
    const float *w = TAPS ? l.weight + term.first : r.wx[t];
    auto add = [&] (int k, int q, const float *v) {
#pragma unroll
      for (int e = 0; e < Lane<N>::samples; e++)
        acc[q][e] = fmaf (w[k], v[e], acc[q][e]);
    };

    if (TAPS || ax == term.ax) {
      walk_lines<N, TAPS, CONVOLVE_WARP_LINES> (r.line, r.pitch, lane, term.nx, add);
    } else {
      const float *from = r.line + (ax - term.ax) * N + lane * Lane<N>::samples;

      for (int k = 0; k < term.nx; k++)
#pragma unroll
        for (int q = 0; q < CONVOLVE_WARP_LINES; q++)
          add (k, q, from + q * r.pitch + k * N);
    }
#pragma unroll
    for (int q = 0; q < CONVOLVE_WARP_LINES; q++)
      if (q < n)
        put_row<N> (r.ring[t], (row + q * CONVOLVE_BLOCK_WARPS) % r.rows, lane, acc[q]);
  }
}

/* Down the columns: CONVOLVE_WARP_ROWS outputs from ring rows start .. start + ny + CONVOLVE_WARP_ROWS - 2. */
template <int N, int TAPS>
__device__ inline void
filter_columns (const float *ring, int rows, const float *w, int lane, int start, int ny,
                float (&acc)[CONVOLVE_WARP_ROWS][Lane<N>::samples])
{
  constexpr int unrolled = TAPS ? TAPS + CONVOLVE_WARP_ROWS : 1;
  const int taps = TAPS ? TAPS : ny;
  int slot = start >= rows ? start - rows : start;

#pragma unroll(unrolled)
  for (int j = 0; j < taps + CONVOLVE_WARP_ROWS - 1; j++) {
    const float *from = ring + (slot * 32 + lane) * Lane<N>::samples;
    float v[Lane<N>::samples];

    if constexpr (Lane<N>::samples == 4) {
      float4 f = *reinterpret_cast<const float4 *> (from);

      v[0] = f.x, v[1] = f.y, v[2] = f.z, v[3] = f.w;
    } else {
#pragma unroll
      for (int e = 0; e < Lane<N>::samples; e++)
        v[e] = from[e];
    }
#pragma unroll
    for (int q = 0; q < CONVOLVE_WARP_ROWS; q++) {
      if (TAPS && (j - q < 0 || j - q >= TAPS))
        continue;

      float k = w[j - q];

#pragma unroll
      for (int e = 0; e < Lane<N>::samples; e++)
        acc[q][e] = fmaf (k, v[e], acc[q][e]);
    }
    slot = slot + 1 == rows ? 0 : slot + 1;
  }
}

template <int S, int N, int T, int TAPS>
__device__ void
run_task (const ConvolveLaunch &l, const ConvolveLaunchPicture &p, uint32_t task, float *shared)
{
  const ConvolveLaunchSet &set = l.set[p.weights];
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  int nx = set.term[0].nx, ny = set.term[0].ny, ax = set.term[0].ax, ay = set.term[0].ay;

  if (T == 2 && !TAPS) { /* the box that holds both terms */
    int right = max (nx - ax, set.term[1].nx - set.term[1].ax),
        below = max (ny - ay, set.term[1].ny - set.term[1].ay);

    ax = max (ax, (int)set.term[1].ax);
    ay = max (ay, (int)set.term[1].ay);
    nx = ax + right;
    ny = ay + below;
  }

  Rings r = lay_out<N, T> (l, set, shared, warp, nx, ny);
  int x0 = task % p.blocks_x * Lane<N>::strip;
  int y0 = p.row_begin + (int)(task / p.blocks_x) * p.task_rows, y1 = min (y0 + p.task_rows, p.row_end);
  bool input = needs_input (l, p);
  int have = 0; /* ring rows made so far; row i is picture row y0 - ay + i, in slot i % r.rows */

  __syncthreads ();
  for (int y = y0; y < y1; y += CONVOLVE_STEP_ROWS) {
    /* All that a warp's rows reach, also those of them that nobody wants: a value that was never written may be no
     * number, and 0 x that is no number either. */
    int last = (y1 - y0 + CONVOLVE_WARP_ROWS - 1) / CONVOLVE_WARP_ROWS * CONVOLVE_WARP_ROWS;
    int need = min (y - y0 + CONVOLVE_STEP_ROWS, last) + ny - 1;

    for (int i = have + warp; i < need; i += CONVOLVE_WARP_LINES * CONVOLVE_BLOCK_WARPS) {
      int lines = min (CONVOLVE_WARP_LINES, (need - i + CONVOLVE_BLOCK_WARPS - 1) / CONVOLVE_BLOCK_WARPS);

      load_lines<S, N, CONVOLVE_WARP_LINES> (l, p, lane, x0 - ax, y0 - ay + i, CONVOLVE_BLOCK_WARPS, lines,
                                             Lane<N>::strip + nx - 1, r.line, r.pitch);
      __syncwarp ();
      filter_lines<N, T, TAPS> (l, set, r, lane, i, lines, ax);
      __syncwarp ();
    }
    have = need;
    __syncthreads ();

    int first = y + warp * CONVOLVE_WARP_ROWS;

    if (first < y1) {
      float sum[T][CONVOLVE_WARP_ROWS][Lane<N>::samples] = {};

#pragma unroll
      for (int t = 0; t < T; t++) {
        const ConvolveLaunchTerm &term = set.term[t];
        int later = TAPS ? 0 : ay - term.ay;

        filter_columns<N, TAPS> (r.ring[t], r.rows, TAPS ? l.weight + term.first + TAPS : r.wy[t], lane,
                                 (first - y0 + later) % r.rows, term.ny, sum[t]);
      }
#pragma unroll
      for (int q = 0; q < CONVOLVE_WARP_ROWS; q++)
#pragma unroll
        for (int i = 0; i < Lane<N>::pixels; i++) {
          int x = x0 + lane * Lane<N>::pixels + i;

          if (x < p.width && first + q < y1)
            finish_pixel<S, N, T> (l, p, input, x, first + q, sum[0][q] + i * N, sum[T - 1][q] + i * N);
        }
    }
    __syncthreads ();
  }
}

template <int N, int S, int T, int TAPS> struct Task {
  __device__ static void run (const ConvolveLaunch &l, const ConvolveLaunchPicture &p, uint32_t task, float *shared)
  {
    run_task<S, N, T, TAPS> (l, p, task, shared);
  }
};

CONVOLVE_VARIANTS_SEPARABLE (CONVOLVE_TASK_KERNEL)
