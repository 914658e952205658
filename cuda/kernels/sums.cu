/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Boxes by running sums, ../sums.h. The cost hardly depends on the radius: a task of the march finds its first sums
 * ready, made of parts that a pass over the frame sums up before. */
#include "march.cuh"

/* ---- parts ---- */

/* Four bytes of a row, from byte 4 k on. */
__device__ inline uint32_t
load_word (const uint8_t *row, uint32_t k, uint32_t row_bytes, bool aligned)
{
  uint32_t word = 0;

  if (aligned && 4 * k + 4 <= row_bytes)
    return __ldg (reinterpret_cast<const uint32_t *> (row) + k);
  for (uint32_t i = 0; i < 4 && 4 * k + i < row_bytes; i++)
    word |= (uint32_t)__ldg (row + 4 * k + i) << 8 * i;
  return word;
}

/* The sums of a word's samples: of bytes 0 and 2, 1 and 3 as halves, or of two words. */
template <int S> struct Sums {
  uint32_t even = 0, odd = 0;
  int shift;
  uint32_t mask;

  __device__ explicit Sums (const ConvolveLaunchPicture &p)
  {
    shift = p.component[0].shift;
    mask = (1u << p.component[0].depth) - 1;
  }
  __device__ void add (uint32_t word, uint32_t times)
  {
    if (S == CONVOLVE_SAMPLES_U8) {
      even += (word & 0x00ff00ff) * times;
      odd += (word >> 8 & 0x00ff00ff) * times;
    } else {
      even += (word >> shift & mask) * times;
      odd += (word >> 16 >> shift & mask) * times;
    }
  }
  /* In the order of the samples. */
  __device__ uint2 words () const
  {
    return S == CONVOLVE_SAMPLES_U8 ? make_uint2 (__byte_perm (even, odd, 0x5410), __byte_perm (even, odd, 0x7632))
                                    : make_uint2 (even, odd);
  }
};

/* The sums of 16 bytes, as four words'. */
template <int S> struct QuadSums {
  Sums<S> word[4];

  __device__ explicit QuadSums (const ConvolveLaunchPicture &p)
      : word{Sums<S> (p), Sums<S> (p), Sums<S> (p), Sums<S> (p)}
  {
  }
  /* Of a row, from byte 16 k on. */
  template <bool WIDE>
  __device__ void add (const ConvolveLaunchPicture &p, const uint8_t *row, uint32_t k, uint32_t times)
  {
    if (WIDE) {
      uint4 q = __ldg (reinterpret_cast<const uint4 *> (row) + k);

      word[0].add (q.x, times);
      word[1].add (q.y, times);
      word[2].add (q.z, times);
      word[3].add (q.w, times);
    } else {
      uint32_t row_bytes = (uint32_t)p.width * p.pixel_step;
      bool aligned = (((uint32_t)p.src | (uint32_t)p.src_stride) & 3) == 0;

      for (int i = 0; i < 4; i++)
        word[i].add (load_word (row, 4 * k + i, row_bytes, aligned), times);
    }
  }
};

/* Adds 16 bytes of n rows from row y on, which may be outside. */
template <int S, bool WIDE>
__device__ inline void
add_rows (const ConvolveSums &s, int64_t y, int n, uint32_t k, QuadSums<S> &sums)
{
  const ConvolveLaunchPicture &p = s.picture;
  const uint8_t *src = reinterpret_cast<const uint8_t *> (p.src);

  if (y >= 0 && y + n <= p.height) {
    const uint8_t *row = src + y * p.src_stride;

#pragma unroll(WIDE ? 8 : 1)
    for (int i = 0; i < n; i++, row += p.src_stride)
      sums.template add<WIDE> (p, row, k, 1);
    return;
  }
  /* All the same. */
  if (s.border == 0 && n > 0 && (y + n <= 0 || y >= p.height)) {
    sums.template add<WIDE> (p, src + (y < 0 ? 0 : (ptrdiff_t)(p.height - 1) * p.src_stride), k, n);
    return;
  }
  for (int i = 0; i < n; i++) {
    int row = border_index (s.border, (int)(y + i), p.height);

    if (row >= 0)
      sums.template add<WIDE> (p, src + (ptrdiff_t)row * p.src_stride, k, 1);
    else
      for (int j = 0; j < 4; j++)
        sums.word[j].add (edge_word<S> (p, 4 * k + j), 1);
  }
}

/* Eight bytes of sums a word, those of the row's words alone. */
template <int S>
__device__ inline void
store_sums (uint64_t to, size_t at, uint32_t words, const QuadSums<S> &sums)
{
#pragma unroll
  for (uint32_t i = 0; i < 4; i++)
    if (i < words)
      reinterpret_cast<uint2 *> (to)[at + i] = sums.word[i].words ();
}

template <int S, bool WIDE>
__device__ inline void
make_part (const ConvolveSums &s, uint32_t part, uint32_t k, uint32_t words)
{
  int first = (2 * s.reach_y + 1) % s.task_rows;
  int64_t y = s.picture.row_begin - s.reach_y + (int64_t)part * s.task_rows;
  size_t at = (size_t)part * s.pitch * (S == CONVOLVE_SAMPLES_U8 ? 2 : 4) / 8 + 4 * k;
  QuadSums<S> sums (s.picture);

#pragma unroll 1
  for (int i = 0; i < 2; i++) {
    add_rows<S, WIDE> (s, i ? y + first : y, i ? s.task_rows - first : first, k, sums);
    store_sums<S> (i ? s.full : s.first, at, words, sums);
  }
}

template <int S>
__device__ inline void
make_parts (const ConvolveSums &s)
{
  const ConvolveLaunchPicture &p = s.picture;
  uint32_t row_bytes = (uint32_t)p.width * p.pixel_step, quads = (row_bytes + 15) / 16;
  uint32_t blocks = (quads + blockDim.x - 1) / blockDim.x, part = blockIdx.x / blocks;
  uint32_t k = blockIdx.x % blocks * blockDim.x + threadIdx.x;

  if (k >= quads)
    return;
  if (is_wide (p.src, p.src_stride) && 16 * k + 16 <= row_bytes)
    make_part<S, true> (s, part, k, 4);
  else
    make_part<S, false> (s, part, k, (row_bytes + 3) / 4 - 4 * k);
}

/* ---- starts ---- */

/* Two sums of a row of parts. */
template <int S>
__device__ inline uint2
load_pair (uint64_t parts, size_t at)
{
  if (S == CONVOLVE_SAMPLES_U8) {
    uint32_t pair = __ldg (reinterpret_cast<const uint32_t *> (parts) + at);

    return make_uint2 (pair & 0xffff, pair >> 16);
  }
  return __ldg (reinterpret_cast<const uint2 *> (parts) + at);
}

__device__ inline void
add_pair (uint2 &to, uint2 a)
{
  to.x += a.x;
  to.y += a.y;
}

template <int S>
__device__ inline void
make_starts (const ConvolveSums &s)
{
  uint32_t pairs = s.pitch / 2, blocks = (pairs + blockDim.x - 1) / blockDim.x;
  uint32_t i = blockIdx.x % blocks * blockDim.x + threadIdx.x;
  uint32_t k0 = blockIdx.x / blocks * CONVOLVE_SUMS_CHUNK, k1 = min (k0 + CONVOLVE_SUMS_CHUNK, s.n_tasks);
  uint32_t parts = (2 * s.reach_y + 1) / s.task_rows, n = s.picture.n_components, samples = s.picture.width * n;
  uint32_t *starts = reinterpret_cast<uint32_t *> (s.starts) + (size_t)k0 * s.pitch;
  uint32_t at[2];
  uint2 sum = make_uint2 (0, 0);

  /* Behind the last sample lies nothing. */
  if (2 * i >= samples)
    return;
#pragma unroll
  for (int j = 0; j < 2; j++)
    at[j] = convolve_sums_start (S == CONVOLVE_SAMPLES_U8 ? 1 : 2, n, s.pitch, (2 * i + j) / n) + (2 * i + j) % n;
#pragma unroll 8
  for (uint32_t k = 0; k < parts; k++)
    add_pair (sum, load_pair<S> (s.full, (size_t)(k0 + k) * pairs + i));
#pragma unroll 8
  for (uint32_t k = k0; k < k1; k++, starts += s.pitch) {
    uint2 start = sum, leaves = load_pair<S> (s.full, (size_t)k * pairs + i);
    size_t last = (size_t)(k + parts) * pairs + i;

    add_pair (start, load_pair<S> (s.first, last));
    if (n % 2 == 0) {
      *reinterpret_cast<uint2 *> (starts + at[0]) = start;
    } else {
      starts[at[0]] = start.x;
      if (2 * i + 1 < samples)
        starts[at[1]] = start.y;
    }
    add_pair (sum, load_pair<S> (s.full, last));
    sum.x -= leaves.x;
    sum.y -= leaves.y;
  }
}

/* ---- kernels ---- */

#define CONVOLVE_SUMS_BODY_SUMS_PARTS(samples, n, mean) make_parts<CONVOLVE_SAMPLES_##samples> (sums)
#define CONVOLVE_SUMS_BODY_SUMS_STARTS(samples, n, mean) make_starts<CONVOLVE_SAMPLES_##samples> (sums)
#define CONVOLVE_SUMS_BODY_SUMS(samples, n, mean) march_any<CONVOLVE_SAMPLES_##samples, n, mean> (sums)
#define CONVOLVE_SUMS_BOUND_SUMS_PARTS CONVOLVE_BLOCK_THREADS
#define CONVOLVE_SUMS_BOUND_SUMS_STARTS CONVOLVE_BLOCK_THREADS
#define CONVOLVE_SUMS_BOUND_SUMS CONVOLVE_SUMS_THREADS
#define CONVOLVE_SUMS_KERNEL(name, source, route, samples, n, mean)             \
  extern "C" __global__ void __launch_bounds__ (CONVOLVE_SUMS_BOUND_##route, 1) \
      name (const __grid_constant__ ConvolveSums sums)                          \
  {                                                                             \
    CONVOLVE_SUMS_BODY_##route (samples, n, mean);                              \
  }

CONVOLVE_VARIANTS_SUMS (CONVOLVE_SUMS_KERNEL)
