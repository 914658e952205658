/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Gaussians over many pixels, by a coarse grid: SHRINK and GROW of params.h, on bytes that lie side by side. Both are
 * bound by memory as long as a sample costs few instructions. So SHRINK sums whole numbers, four pixels an
 * instruction, and GROW sums across once for each row of the grid, of which a row of the picture needs three. */
#include "pixel.cuh"

/* ---- down ---- */

/* Weight i of the 3 D of one axis of SHRINK: in how many ways three whole numbers below D sum up to i - 1. */
template <int D>
__device__ constexpr uint32_t
box_weight (int i)
{
  int k = i < 3 * D / 2 ? i - 1 : 3 * D - 2 - i;

  return (k + 1) * (k + 2) / 2 - (k < D ? 0 : 3 * (k - D + 1) * (k - D + 2) / 2);
}

/* Those of four neighbours, in a word. */
template <int D>
__device__ constexpr uint32_t
four_weights (int i)
{
  uint32_t word = 0;

  for (int b = 0; b < 4 && i + b < 3 * D; b++)
    word |= box_weight<D> (i + b) << 8 * b;
  return word;
}

/* Bytes from an address of which a multiple of ALIGN is known. */
template <int BYTES, int ALIGN>
__device__ inline void
load_bytes (const uint8_t *from, uint32_t *words)
{
  if constexpr (ALIGN == 16) {
#pragma unroll
    for (int i = 0; i < BYTES / 16; i++) {
      uint4 v = __ldg (reinterpret_cast<const uint4 *> (from) + i);

      words[4 * i] = v.x, words[4 * i + 1] = v.y, words[4 * i + 2] = v.z, words[4 * i + 3] = v.w;
    }
  } else if constexpr (ALIGN == 8) {
#pragma unroll
    for (int i = 0; i < BYTES / 8; i++) {
      uint2 v = __ldg (reinterpret_cast<const uint2 *> (from) + i);

      words[2 * i] = v.x, words[2 * i + 1] = v.y;
    }
  } else if constexpr (ALIGN == 4) {
#pragma unroll
    for (int i = 0; i < BYTES / 4; i++)
      words[i] = __ldg (reinterpret_cast<const uint32_t *> (from) + i);
  } else {
#pragma unroll
    for (int i = 0; i < BYTES / 2; i++)
      words[i / 2] |= (uint32_t)__ldg (reinterpret_cast<const uint16_t *> (from) + i) << 16 * (i % 2);
  }
}

/* Four pixels of N bytes become a word for each component. */
template <int N>
__device__ inline void
part_components (const uint32_t *w, uint32_t (&to)[N])
{
  if constexpr (N == 1) {
    to[0] = w[0];
  } else if constexpr (N == 2) {
    to[0] = __byte_perm (w[0], w[1], 0x6420);
    to[1] = __byte_perm (w[0], w[1], 0x7531);
  } else if constexpr (N == 3) {
    to[0] = __byte_perm (__byte_perm (w[0], w[1], 0x0630), w[2], 0x5210);
    to[1] = __byte_perm (__byte_perm (w[0], w[1], 0x0741), w[2], 0x6210);
    to[2] = __byte_perm (__byte_perm (w[0], w[1], 0x0052), __byte_perm (w[2], 0, 0x0030), 0x5410);
  } else {
    uint32_t a = __byte_perm (w[0], w[1], 0x5140), b = __byte_perm (w[0], w[1], 0x7362);
    uint32_t c = __byte_perm (w[2], w[3], 0x5140), d = __byte_perm (w[2], w[3], 0x7362);

    to[0] = __byte_perm (a, c, 0x5410);
    to[1] = __byte_perm (a, c, 0x7632);
    to[2] = __byte_perm (b, d, 0x5410);
    to[3] = __byte_perm (b, d, 0x7632);
  }
}

/* Along the row, from column x on: all columns are in the picture, and aligned. */
template <int D, int N>
__device__ inline void
sum_inside (const uint8_t *row, int x, uint32_t (&sum)[N])
{
  constexpr int groups = (3 * D + 3) / 4, step = D * N, align = step % 16 == 0 ? 16 : step & -step;
  uint32_t words[groups * N] = {};

  load_bytes<3 * D * N, align> (row + (ptrdiff_t)x * N, words);
#pragma unroll
  for (int g = 0; g < groups; g++) {
    uint32_t four[N];

    part_components<N> (words + g * N, four);
#pragma unroll
    for (int c = 0; c < N; c++)
      sum[c] = __dp4a (four[c], four_weights<D> (4 * g), sum[c]);
  }
}

/* Where the tile's columns lie in shared memory: threads at a distance of D do not meet in a bank. */
__device__ inline int
column_place (int i)
{
  return i + i / 32;
}

/* The same anywhere: columns says which pixel stands in each column of the tile, or -1; first is the one of x.
 * weights: those of each four pixels. */
template <int D, int N>
__device__ inline void
sum_anywhere (const ConvolveLaunchPicture &p, const uint8_t *row, const int *columns, int first,
              const uint32_t *weights, bool words_aligned, uint32_t (&sum)[N])
{
#pragma unroll 2
  for (int g = 0; g < (3 * D + 3) / 4; g++) {
    uint32_t words[N] = {}, four[N];

#pragma unroll
    for (int b = 0; b < 4; b++) {
      int column = 4 * g + b < 3 * D ? columns[column_place (first + 4 * g + b)] : 0;

      if (N == 4 && words_aligned && column >= 0) {
        words[b % N] = __ldg (reinterpret_cast<const uint32_t *> (row) + column);
        continue;
      }
#pragma unroll
      for (int c = 0; c < N; c++)
        words[(b * N + c) / 4] |=
            (column < 0 ? (uint32_t)p.component[c].edge : (uint32_t)__ldg (row + (size_t)column * N + c))
            << 8 * ((b * N + c) % 4);
    }
    part_components<N> (words, four);
#pragma unroll
    for (int c = 0; c < N; c++)
      sum[c] = __dp4a (four[c], weights[g], sum[c]);
  }
}

/* What D rows from y on are to the row of the grid that is a cell above them, at them and below. */
template <int D, int N, bool INSIDE>
__device__ inline void
sum_cell (const ConvolveStage &s, int x, int y, const uint32_t *weights, const int *columns, uint32_t (&part)[3][N])
{
  const ConvolveLaunchPicture &p = s.picture;
  const uint32_t address = (uint32_t)p.src | (uint32_t)p.src_stride;

#pragma unroll(INSIDE &&D >= 4 ? 4 : 2)
  for (int r = 0; r < D; r++) {
    int line = border_index (s.border, y + r, p.height);
    const uint8_t *row = reinterpret_cast<const uint8_t *> (p.src) + (ptrdiff_t)line * p.src_stride;
    uint32_t sum[N] = {};

    if (line < 0) {
#pragma unroll
      for (int c = 0; c < N; c++)
        sum[c] = D * D * D * (uint32_t)p.component[c].edge;
    } else if constexpr (INSIDE) {
      sum_inside<D, N> (row, x, sum);
    } else {
      sum_anywhere<D, N> (p, row, columns, threadIdx.x % CONVOLVE_SHRINK_COLUMNS * D, weights + 3 * D,
                          address % 4 == 0, sum);
    }
#pragma unroll
    for (int k = 0; k < 3; k++)
#pragma unroll
      for (int c = 0; c < N; c++)
        part[k][c] += weights[(2 - k) * D + r] * sum[c];
  }
}

/* A block makes CONVOLVE_SHRINK_COLUMNS x CONVOLVE_SHRINK_ROWS values of the grid; a warp sums up rows of cells. */
template <int D, int N>
__device__ inline void
shrink_tile (const ConvolveStage &s, int left, int top, const uint32_t *weights, const int *columns, uint32_t *parts)
{
  constexpr int lanes = CONVOLVE_SHRINK_COLUMNS, cells = CONVOLVE_SHRINK_ROWS + 2;
  constexpr int step = D * N, align = step % 16 == 0 ? 16 : step & -step;
  const ConvolveLaunchPicture &p = s.picture;
  int lane = threadIdx.x % lanes, first = (left - s.ax - 1) * D, x = first + lane * D;
  bool inside = first >= 0 && first + (lanes + 2) * D <= p.width &&
                (((uint32_t)p.src | (uint32_t)p.src_stride) & (align - 1)) == 0;

  for (int cell = threadIdx.x / lanes; cell < cells; cell += CONVOLVE_BLOCK_WARPS) {
    int y = (top + cell - 1 - s.ay) * D;
    uint32_t part[3][N] = {};

    if (inside)
      sum_cell<D, N, true> (s, x, y, weights, columns, part);
    else
      sum_cell<D, N, false> (s, x, y, weights, columns, part);
#pragma unroll
    for (int k = 0; k < 3; k++)
#pragma unroll
      for (int c = 0; c < N; c++)
        parts[((cell * 3 + k) * N + c) * lanes + lane] = part[k][c];
  }
}

template <int D, int N>
__device__ inline void
shrink (const ConvolveStage &s, uint32_t *weights, int *columns, uint32_t *parts)
{
  constexpr int lanes = CONVOLVE_SHRINK_COLUMNS, rows = CONVOLVE_SHRINK_ROWS, cell = 3 * N * lanes;
  uint32_t across = (s.other_width + lanes - 1) / lanes;
  float *out = reinterpret_cast<float *> (s.out);

  if (threadIdx.x < 3 * D)
    weights[threadIdx.x] = box_weight<D> (threadIdx.x);
  if (threadIdx.x < (3 * D + 3) / 4)
    weights[3 * D + threadIdx.x] = four_weights<D> (4 * threadIdx.x);
  uint32_t left = blockIdx.x % across * lanes, top = blockIdx.x / across * rows;

  for (int i = threadIdx.x; i < (lanes + 2) * D; i += CONVOLVE_BLOCK_THREADS)
    columns[column_place (i)] = border_index (s.border, ((int)left - s.ax - 1) * D + i, s.picture.width);
  __syncthreads ();
  shrink_tile<D, N> (s, left, top, weights, columns, parts);
  __syncthreads ();
  for (int i = threadIdx.x; i < rows * lanes * N; i += CONVOLVE_BLOCK_THREADS) {
    int lane = i % lanes, c = i / lanes % N, row = i / (lanes * N), at = c * lanes + lane;
    /* Of the cell row below what is for the row above it, and so on. */
    uint32_t sum = parts[row * cell + 2 * N * lanes + at] + parts[(row + 1) * cell + N * lanes + at] +
                   parts[(row + 2) * cell + at];

    if (left + lane < s.other_width && top + row < s.other_height)
      out[((size_t)c * s.other_height + top + row) * s.other_width + left + lane] =
          (float)sum * (1.f / ((float)D * D * D * D * D * D));
  }
}

/* ---- up ---- */

#define GROW_PIXELS 4
/* Rows that are made at once: two, where registers are enough for them. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 900
constexpr int grow_rows_at_once = 2;
#else
constexpr int grow_rows_at_once = 1;
#endif

/* What the three nearest values of the grid are to pixel p of a cell: a quadratic B-spline. */
template <int D>
__device__ inline void
spline_weights (int p, float (&w)[3])
{
  float t = ((float)p + 0.5f) * (1.f / D) - 0.5f;

  w[0] = 0.5f * (0.5f - t) * (0.5f - t);
  w[1] = 0.75f - t * t;
  w[2] = 0.5f * (0.5f + t) * (0.5f + t);
}

/* GROW_PIXELS pixels between the values of one row of the grid, gain and offset applied. at: the first value; plane:
 * from a component to the next. */
template <int D, int N>
__device__ inline void
across_row (const ConvolveLaunchPicture &p, const float *at, size_t plane, const float (&w)[GROW_PIXELS][3],
            float (&to)[GROW_PIXELS][N])
{
  constexpr int values = 2 + (GROW_PIXELS + D - 1) / D;
  float v[values][N];

#pragma unroll
  for (int i = 0; i < values; i++)
#pragma unroll
    for (int c = 0; c < N; c++)
      v[i][c] = fmaf (p.component[c].gain, __ldg (at + c * plane + i), p.component[c].offset);
#pragma unroll
  for (int k = 0; k < GROW_PIXELS; k++)
#pragma unroll
    for (int c = 0; c < N; c++)
      to[k][c] = fmaf (w[k][2], v[k / D + 2][c], fmaf (w[k][1], v[k / D + 1][c], w[k][0] * v[k / D][c]));
}

/* To nearest even, as the lowest bits of a float; limits are whole numbers. */
__device__ inline uint32_t
rounded_bits (const ConvolveLaunchComponent &k, float v)
{
  return __float_as_uint (fminf (fmaxf (v, k.lo), k.hi) + 12582912.f);
}

template <int N>
__device__ inline void
pack (const ConvolveLaunchPicture &p, const float (&v)[GROW_PIXELS][N], uint32_t (&words)[N])
{
#pragma unroll
  for (int i = 0; i < N; i++) {
    uint32_t q[4];

#pragma unroll
    for (int b = 0; b < 4; b++)
      q[b] = rounded_bits (p.component[(4 * i + b) % N], v[(4 * i + b) / N][(4 * i + b) % N]);
    words[i] = __byte_perm (__byte_perm (q[0], q[1], 0x0040), __byte_perm (q[2], q[3], 0x0040), 0x5410);
  }
}

template <int N>
__device__ inline void
store_words (uint8_t *to, const uint32_t (&words)[N])
{
  if constexpr (N == 4)
    *reinterpret_cast<uint4 *> (to) = make_uint4 (words[0], words[1], words[2], words[3]);
  else if constexpr (N == 2)
    *reinterpret_cast<uint2 *> (to) = make_uint2 (words[0], words[1]);
  else
#pragma unroll
    for (int i = 0; i < N; i++)
      reinterpret_cast<uint32_t *> (to)[i] = words[i];
}

/* Writes what is filtered, and of the rest what was there. pixels: how many are in the picture. */
template <int N>
__device__ inline void
put_pixels (const ConvolveLaunchPicture &p, int x, int y, int pixels, bool aligned, bool copies, uint32_t (&words)[N])
{
  const uint8_t *from = reinterpret_cast<const uint8_t *> (p.src) + (ptrdiff_t)y * p.src_stride + (size_t)x * N;
  uint8_t *to = reinterpret_cast<uint8_t *> (p.dst) + (ptrdiff_t)y * p.dst_stride + (size_t)x * N;

  if (copies) {
#pragma unroll
    for (int i = 0; i < GROW_PIXELS * N; i++)
      if (p.component[i % N].action == CONVOLVE_DO_COPY && i < pixels * N)
        words[i / 4] = (words[i / 4] & ~(255u << 8 * (i % 4))) | (uint32_t)__ldg (from + i) << 8 * (i % 4);
  }
  if (aligned && pixels == GROW_PIXELS) {
    store_words<N> (to, words);
    return;
  }
#pragma unroll
  for (int i = 0; i < GROW_PIXELS * N; i++)
    if (i < pixels * N)
      to[i] = words[i / 4] >> 8 * (i % 4);
}

/* A thread makes GROW_PIXELS columns of CONVOLVE_GROW_ROWS rows. */
template <int D, int N>
__device__ inline void
grow_pixels (const ConvolveStage &s, int x, int top, bool aligned, bool copies)
{
  const ConvolveLaunchPicture &p = s.picture;
  const size_t pitch = s.other_width, plane = pitch * s.other_height;
  const float *at = reinterpret_cast<const float *> (s.in) + (top / D + s.ay - 1) * pitch + (x / D + s.ax - 1);
  int bottom = min (top + CONVOLVE_GROW_ROWS, p.height), pixels = min (GROW_PIXELS, p.width - x);
  float w[GROW_PIXELS][3], above[GROW_PIXELS][N], here[GROW_PIXELS][N], below[GROW_PIXELS][N];

#pragma unroll
  for (int k = 0; k < GROW_PIXELS; k++)
    spline_weights<D> ((x + k) % D, w[k]);
  across_row<D, N> (p, at, plane, w, here);
  across_row<D, N> (p, at + pitch, plane, w, below);
  at += 2 * pitch;
#pragma unroll 1
  for (int y = top; y < bottom; at += pitch) {
    int end = min (y + D, bottom);

#pragma unroll
    for (int k = 0; k < GROW_PIXELS; k++)
#pragma unroll
      for (int c = 0; c < N; c++)
        above[k][c] = here[k][c], here[k][c] = below[k][c];
    across_row<D, N> (p, at, plane, w, below);
#pragma unroll(grow_rows_at_once)
    for (; y < end; y++) {
      float down[3], v[GROW_PIXELS][N];
      uint32_t words[N];

      spline_weights<D> (y % D, down);
#pragma unroll
      for (int k = 0; k < GROW_PIXELS; k++)
#pragma unroll
        for (int c = 0; c < N; c++)
          v[k][c] = fmaf (down[2], below[k][c], fmaf (down[1], here[k][c], down[0] * above[k][c]));
      pack<N> (p, v, words);
      put_pixels<N> (p, x, y, pixels, aligned, copies, words);
    }
  }
}

template <int D, int N>
__device__ inline void
grow (const ConvolveStage &s)
{
  constexpr int align = N == 3 ? 4 : 4 * N;
  const ConvolveLaunchPicture &p = s.picture;
  bool aligned = ((p.dst | (uint64_t)(int64_t)p.dst_stride) & (align - 1)) == 0, copies = false;
  int across = (p.width + GROW_PIXELS - 1) / GROW_PIXELS;
  int64_t tasks = (int64_t)across * ((p.height + CONVOLVE_GROW_ROWS - 1) / CONVOLVE_GROW_ROWS);

#pragma unroll
  for (int c = 0; c < N; c++)
    copies |= p.component[c].action == CONVOLVE_DO_COPY;
  for (int64_t task = (int64_t)blockIdx.x * CONVOLVE_BLOCK_THREADS + threadIdx.x; task < tasks;
       task += (int64_t)gridDim.x * CONVOLVE_BLOCK_THREADS)
    grow_pixels<D, N> (s, (int)(task % across) * GROW_PIXELS, (int)(task / across) * CONVOLVE_GROW_ROWS, aligned,
                       copies);
}

template <int ROUTE, int D>
__device__ inline void
run (const ConvolveStage &s)
{
  if constexpr (ROUTE == CONVOLVE_ROUTE_STAGE_SHRINK) {
    __shared__ uint32_t weights[4 * D]; /* of each pixel, then of each four */
    __shared__ int columns[(CONVOLVE_SHRINK_COLUMNS + 2) * D / 32 * 33 + 33];
    __shared__ uint32_t parts[(CONVOLVE_SHRINK_ROWS + 2) * 3 * CONVOLVE_SHRINK_COLUMNS * 4];

    with_count (s.picture.n_components,
                [&] (auto n) { shrink<D, decltype (n)::value> (s, weights, columns, parts); });
  } else {
    with_count (s.picture.n_components, [&] (auto n) { grow<D, decltype (n)::value> (s); });
  }
}

/* Blocks of a multiprocessor: SHRINK waits for memory, GROW keeps three rows of pixels in registers. */
__host__ __device__ constexpr int
resident_blocks (int route)
{
  return route == CONVOLVE_ROUTE_STAGE_SHRINK ? 3 : 2;
}

#define KERNEL(name, source, route, samples, terms, taps)                                                         \
  extern "C" __global__ void __launch_bounds__ (CONVOLVE_BLOCK_THREADS, resident_blocks (CONVOLVE_ROUTE_##route)) \
      name (const __grid_constant__ ConvolveStage stage)                                                          \
  {                                                                                                               \
    run<CONVOLVE_ROUTE_##route, taps> (stage);                                                                    \
  }
CONVOLVE_VARIANTS_COARSE (KERNEL)
