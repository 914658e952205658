/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Several iterations in one pass over memory. A block loads a tile of a float picture with as much around it as all
 * the steps read, and goes from one half of its shared memory to the other and back, a step at a time; what is right
 * shrinks by the filter's reach with each step, until the tile itself is left. params.h says what is computed. */
#include "pixel.cuh"
#include "wide.cuh"

/* What of the picture a tile has in shared memory: width x height pixels from (x, y) on, which may be outside. */
struct TileArea {
  int x, y, width, height;
};

/* What a thread knows of its component. */
struct StepComponent {
  float gain, offset, edge, threshold;
  bool filtered;
};

template <int N>
__device__ inline StepComponent
step_component (const ConvolveStage &s, int c)
{
  StepComponent k;

  k.gain = number<Single> (s.gain[c]).v;
  k.offset = number<Single> (s.offset[c]).v;
  k.edge = number<Single> (s.edge[c]).v;
  k.threshold = number<Single> (s.threshold[c]).v;
  k.filtered = s.picture.component[c].action == CONVOLVE_DO_FILTER;
  return k;
}

__device__ inline float
step_flow (float d, float inverse)
{
  float q = d * inverse;

  return __fdividef (d, 1.f + q * q);
}

/* A weighted sum of side x side values, side = 2 R + 1. */
template <int R> struct StepSum {
  static constexpr int reach = R, side = 2 * R + 1;
  float weight[side][side];
  float part[side];

  __device__ StepSum (const ConvolveStage &s)
  {
    const float *w = reinterpret_cast<const float *> (s.weights);

#pragma unroll
    for (int j = 0; j < side; j++) {
      part[j] = 0.f;
#pragma unroll
      for (int i = 0; i < side; i++) {
        int row = j - R + s.ay, column = i - R + s.ax;
        bool inside = row >= 0 && row < s.ny && column >= 0 && column < s.nx;

        weight[j][i] = inside ? __ldg (w + row * s.nx + column) : 0.f;
      }
    }
  }
  /* Row y of a column has come; the sum of the row R above it is complete. Sums move up by one. */
  template <int N> __device__ float down (const float *at, const StepComponent &)
  {
    float v[side];

#pragma unroll
    for (int i = 0; i < side; i++)
      v[i] = at[(i - R) * N];
#pragma unroll
    for (int j = 0; j < side; j++) {
      float sum = j == side - 1 ? 0.f : part[j + 1];

#pragma unroll
      for (int i = 0; i < side; i++)
        sum = fmaf (weight[side - 1 - j][i], v[i], sum);
      part[j] = sum;
    }
    return part[0];
  }
  template <int N> __device__ float single (const float *at, int pitch, const StepComponent &) const
  {
    float sum = 0.f;

#pragma unroll
    for (int j = 0; j < side; j++)
#pragma unroll
      for (int i = 0; i < side; i++)
        sum = fmaf (weight[j][i], at[(j - R) * pitch + (i - R) * N], sum);
    return sum;
  }
};

/* A step of diffusion. Opposite neighbours are added first, as stage_diffuse does. */
struct StepDiffuse {
  static constexpr int reach = 1;
  float amount, above, middle, across;

  __device__ StepDiffuse (const ConvolveStage &s)
  {
    amount = number<Single> (s.amount).v;
    above = middle = across = 0.f;
  }
  template <int N> __device__ float down (const float *at, const StepComponent &k)
  {
    float below = at[0];
    float flows = step_flow (above - middle, k.threshold) + step_flow (below - middle, k.threshold);
    float result = fmaf (amount, across + flows, middle);

    above = middle;
    middle = below;
    across = step_flow (at[-N] - middle, k.threshold) + step_flow (at[N] - middle, k.threshold);
    return result;
  }
  template <int N> __device__ float single (const float *at, int pitch, const StepComponent &k) const
  {
    float v = at[0];
    float sideways = step_flow (at[-N] - v, k.threshold) + step_flow (at[N] - v, k.threshold);
    float flows = step_flow (at[-pitch] - v, k.threshold) + step_flow (at[pitch] - v, k.threshold);

    return fmaf (amount, sideways + flows, v);
  }
};

template <int N> struct StepTile {
  static constexpr int columns = CONVOLVE_STEPS_COLUMNS (N), rows = CONVOLVE_STEPS_ROWS (N);
  static constexpr int groups = CONVOLVE_BLOCK_THREADS / columns;
};

template <int N>
__device__ inline void
load_tile (const ConvolveStage &s, const TileArea &area, float *to)
{
  using T = StepTile<N>;
  const float *in = reinterpret_cast<const float *> (s.in);
  int column = threadIdx.x % T::columns, c = column % N;
  int x = border_index (s.border, area.x + column / N, s.picture.width);
  float edge = number<Single> (s.edge[c]).v;

  if (column >= area.width * N)
    return;
  for (int row = threadIdx.x / T::columns; row < area.height; row += T::groups) {
    int y = border_index (s.border, area.y + row, s.picture.height);

    to[row * T::columns + column] = x < 0 || y < 0 ? edge : __ldg (in + ((size_t)y * s.picture.width + x) * N + c);
  }
}

/* One step where no row or column of the tile lies outside the picture, or the picture repeats there. A thread walks
 * down a column, so that what rows have in common stays in registers. margin: what is not right any more. */
template <int N, typename STEP>
__device__ inline void
march (const TileArea &area, int margin, bool scaled, const StepComponent &k, STEP step, const float *from, float *to)
{
  using T = StepTile<N>;
  int column = threadIdx.x % T::columns, n_rows = area.height - 2 * margin;
  int share = (n_rows + T::groups - 1) / T::groups, first = margin + (int)(threadIdx.x / T::columns) * share;
  int end = min (first + share, area.height - margin);

  if (column < margin * N || column >= (area.width - margin) * N || first >= end)
    return;
#pragma unroll
  for (int j = 0; j < 2 * STEP::reach; j++)
    step.template down<N> (from + (first - STEP::reach + j) * T::columns + column, k);
#pragma unroll 4
  for (int row = first; row < end; row++) {
    float v = step.template down<N> (from + (row + STEP::reach) * T::columns + column, k);

    if (!k.filtered)
      v = from[row * T::columns + column];
    else if (scaled)
      v = fmaf (k.gain, v, k.offset);
    to[row * T::columns + column] = v;
  }
}

/* The same anywhere: what stands outside is what the border rule takes from inside, anew with each step. */
template <int N, typename STEP>
__device__ inline void
march_at_edge (const ConvolveStage &s, const TileArea &area, int margin, bool scaled, const StepComponent &k,
               const STEP &step, const float *from, float *to)
{
  using T = StepTile<N>;
  int column = threadIdx.x % T::columns, c = column % N;
  int x = border_index (s.border, area.x + column / N, s.picture.width);
  int at_x = (x - area.x) * N + c;

  if (column < margin * N || column >= (area.width - margin) * N)
    return;
  for (int row = margin + threadIdx.x / T::columns; row < area.height - margin; row += T::groups) {
    int y = border_index (s.border, area.y + row, s.picture.height);
    float v = k.edge;

    if (x >= 0 && y >= 0) {
      const float *at = from + (y - area.y) * T::columns + at_x;

      v = at[0];
      if (k.filtered) {
        v = step.template single<N> (at, T::columns, k);
        if (scaled)
          v = fmaf (k.gain, v, k.offset);
      }
    }
    to[row * T::columns + column] = v;
  }
}

template <int N>
__device__ inline void
store_tile (const ConvolveStage &s, const TileArea &area, int margin, const float *from)
{
  using T = StepTile<N>;
  float *out = reinterpret_cast<float *> (s.out);
  int column = threadIdx.x % T::columns;

  if (column < margin * N || column >= (area.width - margin) * N)
    return;
  for (int row = margin + threadIdx.x / T::columns; row < area.height - margin; row += T::groups)
    out[((size_t)(area.y + row) * s.picture.width + area.x) * N + column] = from[row * T::columns + column];
}

template <int N, typename STEP>
__device__ inline void
run_tile (const ConvolveStage &s, const TileArea &area, const StepComponent &k, const STEP &step, float *tile)
{
  using T = StepTile<N>;
  int reach = STEP::reach;
  bool inner = s.border == 3 /* wrap */ || (area.x >= 0 && area.y >= 0 && area.x + area.width <= s.picture.width &&
                                            area.y + area.height <= s.picture.height);
  float *from = tile, *to = tile + T::columns * T::rows;

  load_tile<N> (s, area, from);
  __syncthreads ();
  for (int i = 1; i <= s.steps; i++) {
    bool scaled = i < s.steps || !s.last;

    if (inner)
      march<N> (area, i * reach, scaled, k, step, from, to);
    else
      march_at_edge<N> (s, area, i * reach, scaled, k, step, from, to);
    __syncthreads ();

    float *other = from;

    from = to;
    to = other;
  }
  store_tile<N> (s, area, s.steps * reach, from);
  __syncthreads ();
}

template <int N, typename STEP>
__device__ inline void
run_steps (const ConvolveStage &s)
{
  extern __shared__ float tile[];
  int reach = s.steps * STEP::reach;
  int own_width = convolve_steps_own_columns (N, reach), own_height = convolve_steps_own_rows (N, reach);
  int across = (s.picture.width + own_width - 1) / own_width;
  int64_t tiles = (int64_t)across * ((s.picture.height + own_height - 1) / own_height);
  STEP step (s);
  StepComponent k = step_component<N> (s, threadIdx.x % StepTile<N>::columns % N);

  for (int64_t i = blockIdx.x; i < tiles; i += gridDim.x) {
    int x = (int)(i % across) * own_width, y = (int)(i / across) * own_height;

    run_tile<N> (s,
                 {x - reach, y - reach, min (own_width, s.picture.width - x) + 2 * reach,
                  min (own_height, s.picture.height - y) + 2 * reach},
                 k, step, tile);
  }
}

template <int ROUTE, int TAPS> struct Step {
  using type = StepSum<TAPS / 2>;
};
template <int TAPS> struct Step<CONVOLVE_ROUTE_STAGE_DIFFUSE_STEPS, TAPS> {
  using type = StepDiffuse;
};

template <typename STEP>
__device__ inline void
run (const ConvolveStage &s)
{
  switch (s.picture.n_components) {
    case 1:
      run_steps<1, STEP> (s);
      break;
    case 2:
      run_steps<2, STEP> (s);
      break;
    case 3:
      run_steps<3, STEP> (s);
      break;
    default:
      run_steps<4, STEP> (s);
  }
}

/* Left to itself the compiler spills registers from 10.0 on, for more blocks than shared memory has room for. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1000
#define BOUNDS __launch_bounds__ (CONVOLVE_BLOCK_THREADS, 2)
#else
#define BOUNDS __launch_bounds__ (CONVOLVE_BLOCK_THREADS)
#endif

#define KERNEL(name, source, route, samples, terms, taps)                              \
  extern "C" __global__ void BOUNDS name (const __grid_constant__ ConvolveStage stage) \
  {                                                                                    \
    run<Step<CONVOLVE_ROUTE_##route, taps>::type> (stage);                             \
  }
CONVOLVE_VARIANTS_STEPS (KERNEL)
