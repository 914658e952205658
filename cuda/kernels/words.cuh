/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Rows and columns as products of matrices, as in banded.cuh, of samples of 16 bits: high bytes and low bytes are
 * factors of their own, and so are what half floats hold of a weight and what they leave of it. For each component
 *
 *   H^T = Tx x Xh^T + tx x Xh^T + Tx x Xl^T      X = Xh + Xl, weights T + t
 *   Y = Ty x Hh + Ty x Hl + ty x Hh              H = Hh + Hl
 *
 * What is left out, a rest times a rest, is less than a twentieth of a step. Xh is the high byte less that of the
 * middle of all values, Xl is 4 + the low byte / 256: one byte permutation or one logical instruction for two
 * samples. Weights are held 16 times as large, so that H is a sixteenth of the samples' words and neither leaves the
 * range of half floats nor gets where they are coarse.
 *
 * With four components pixels along x are in their order; with fewer they are numbered as in banded.cuh. */
#pragma once

#include "strip.cuh"

#if CONVOLVE_HAS_TENSOR

template <int N> constexpr bool natural_order = N == 4;

/* Blocks of rows along x, and parts of results, that registers suffice for at once. */
#define WORDS_AT_ONCE(radius, warps) ((radius) < 16 && (warps) < 15 ? 2 : 1)

/* What the arithmetic needs to know of a picture: each holds two samples' worth. */
struct WordFormat {
  uint32_t middle;    /* half floats: 1024 + the high byte of the middle */
  uint32_t high, low; /* which bits count, and those of the half floats above them */

  __device__ explicit WordFormat (const ConvolveLaunchComponent &c)
  {
    uint32_t bits = ((1u << c.depth) - 1) << c.shift, centre = 1u << (c.depth + c.shift - 1) >> 8;

    middle = (0x6400 | centre) * 0x10001;
    high = (0x6400 | bits >> 8) * 0x10001;
    low = (bits & 255) * 0x10001;
  }
};

/* Two samples, as the factors that they become. */
struct WordPair {
  uint32_t high, low;

  /* Bits above the samples are taken away if TOP says that there may be such. */
  template <bool TOP> __device__ __forceinline__ void set (uint32_t pair, const WordFormat &format)
  {
    uint32_t h = __byte_perm (pair, 0x64646464, 0x4341) & (TOP ? format.high : ~0u);
    __half2 centred =
        __hsub2 (*reinterpret_cast<__half2 *> (&h), *reinterpret_cast<const __half2 *> (&format.middle));

    high = *reinterpret_cast<uint32_t *> (&centred);
    low = (pair & format.low) | 0x44004400;
  }
};

/* The lane's four pixels of a fragment at address, of each component two pairs. FIRST: the first two pixels alone,
 * where pixels are in their order. */
template <int N, bool FIRST>
__device__ __forceinline__ void
load_pairs (uint32_t address, const WordFormat &format, WordPair (&b)[N][2])
{
  uint32_t raw[2 * N];

  if constexpr (natural_order<N>) {
    uint32_t four[4];

    load_words<4> (address, four);
#pragma unroll
    for (int k = 0; k < 4; k++)
      raw[k] = four[k];
    if (!FIRST)
      load_words<4> (address + 16 * N, four);
#pragma unroll
    for (int k = 0; k < 4; k++)
      raw[N + k] = four[k];
  } else {
    load_words<2 * N> (address, raw);
  }
#pragma unroll
  for (int i = 0; i < (FIRST ? 1 : 2); i++)
#pragma unroll
    for (int c = 0; c < N; c++) {
      uint32_t pair =
          N == 1 ? raw[i]
                 : __byte_perm (raw[(2 * i * N + c) / 2], raw[((2 * i + 1) * N + c) / 2], c % 2 ? 0x7632 : 0x5410);

      b[c][i].template set<N == 1> (pair, format);
    }
}

/* Tables in shared memory, in fragments: Tx, Ty, tx, ty, what sums along x start from, for each component what comes
 * after the sums, and 2^shift. FRAMES: Tx and tx are those of several frames, and lie behind all else, one frame
 * after the other. */
template <int N, int R, bool FRAMES = false> struct WordTables {
  static constexpr int depth = Tile<N, R>::depth, rows = FRAMES ? 0 : depth;
  static constexpr int rest = rows + depth, start = 2 * rest, finish = start + 1, shift = finish + 4;
  static constexpr int count = shift + 1;
  uint32_t at;   /* of the lane's words of fragment 0 */
  uint32_t base; /* the same for all lanes */

  __device__ void x (int f, int part, uint32_t (&a)[4]) const { load_words<4> (at + 512 * (f + rest * part), a); }
  __device__ void y (int f, int part, uint32_t (&a)[4]) const { x (rows + f, part, a); }
  __device__ Quad first () const
  {
    uint32_t words[4];
    Quad q;

    load_words<4> (at + 512 * start, words);
#pragma unroll
    for (int k = 0; k < 4; k++)
      q.v[k] = __uint_as_float (words[k]);
    return q;
  }
};

/* What makes a sample of a sum: it is limited where 0 .. 1 stands for the limits, at no cost, then it is rounded to
 * an integer's lowest bits. */
__device__ inline void
make_finish (const ConvolveLaunchComponent &c, float sums, uint32_t (&words)[4])
{
  bool filter = c.action == CONVOLVE_DO_FILTER; /* or all weights are those of a copy */
  float gain = filter ? c.gain : 1.f, offset = filter ? c.offset : 0.f;
  float lo = filter ? c.lo : 0.f, range = filter ? c.hi - lo : (float)((1 << c.depth) - 1);
  float middle = (float)(1u << (c.depth + c.shift - 1) >> 8 << 8) / (1 << c.shift);

  words[0] = __float_as_uint (gain / (1 << c.shift) / fmaxf (range, 1.f));
  words[1] = __float_as_uint ((fmaf (gain * middle, sums, offset) - lo) / fmaxf (range, 1.f));
  words[2] = __float_as_uint (range);
  words[3] = __float_as_uint (8388608.f + lo);
}

/* By all working warps. */
template <int N, int R, int WARPS, bool FRAMES>
__device__ __forceinline__ void
load_tables (const ConvolveLaunch &l, const ConvolveLaunchPicture &p, int lane, int warp, uint32_t table,
             WordTables<N, R, FRAMES> &to)
{
  using T = WordTables<N, R, FRAMES>;
  const int frames = FRAMES ? l.n_frames : 1, count = T::count + (FRAMES ? frames * 2 * T::depth : 0);
  const ConvolveLaunchTerm &term = l.set[p.weights].term[0];
  const float *w = reinterpret_cast<const float *> (l.weights) + term.first;
  const float *sums = w + frames * term.nx + term.ny, *rests = sums + 2;

  to.at = table + 16 * lane;
  to.base = table;
  /* Nobody may still use the last picture's, and all need all of these. */
  worker_barrier (32 * WARPS);
  for (int f = warp; f < count; f += WARPS) {
    uint32_t a[4];

    if (FRAMES && f >= T::count) {
      int frame = (f - T::count) / (2 * T::depth), i = (f - T::count) % (2 * T::depth);

      make_fragment<N, R, natural_order<N>> ((i < T::depth ? w : rests) + frame * term.nx, term, lane, i % T::depth,
                                             a, CONVOLVE_WORDS_SCALE);
    } else if (f < T::start)
      make_fragment<N, R, natural_order<N>> ((f < T::rest ? w : rests) + (frames - 1) * term.nx, term, lane,
                                             T::depth - T::rows + f % T::rest, a, CONVOLVE_WORDS_SCALE);
    else if (f == T::start)
      a[0] = a[1] = a[2] = a[3] = __float_as_uint (-4.f * CONVOLVE_WORDS_SCALE * __ldg (sums));
    else if (f < T::shift)
      make_finish (p.component[min (f - T::finish, N - 1)], __ldg (sums + 1), a);
    else
      a[0] = a[1] = a[2] = a[3] = 1u << p.component[0].shift;
    store_quad (to.at + 512 * f, a);
  }
  worker_barrier (32 * WARPS);
}

/* Blocks of H, high and low parts. */
template <int N, int R> struct WordBlock {
  uint32_t high[2 * Tile<N, R>::units], low[2 * Tile<N, R>::units];

  /* Pair j, from two floats. */
  __device__ __forceinline__ void set (int j, float a, float b)
  {
    uint32_t pair = half_pair (a, b);
    float2 held = __half22float2 (*reinterpret_cast<__half2 *> (&pair));

    high[j] = pair;
    low[j] = half_pair (a - held.x, b - held.y);
  }
};

/* Adds blocks of eight rows along x, from those at address (the lane's row, the lane's bytes of its first fragment):
 * more than one at once, so that a weight that is loaded serves them all. w.x () gives the weights. */
template <int N, int R, int BLOCKS, class Rows>
__device__ __forceinline__ void
add_rows (const Rows &w, const WordFormat &format, uint32_t address, int pitch, Quad (*sum)[Tile<N, R>::units])
{
  using T = Tile<N, R>;
  WordPair b[BLOCKS][T::tiles][N][2]; /* fragment i is number i % tiles */

#pragma unroll
  for (int k = 0; k < BLOCKS; k++)
#pragma unroll
    for (int i = 0; i < T::tiles - 1; i++)
      load_pairs<N, false> (address + 8 * k * pitch + 32 * N * i, format, b[k][i]);
#pragma unroll
  for (int f = 0; f < T::depth; f++) {
    uint32_t a[4], rest[4];
    const bool thin = T::thin && f == T::depth - 1;

    w.x (f, 0, a);
    w.x (f, 1, rest);
#pragma unroll
    for (int k = 0; k < BLOCKS; k++) {
      WordPair (&last)[N][2] = b[k][(f + T::tiles - 1) % T::tiles];

      if (thin)
        load_pairs<N, T::thin> (address + 8 * k * pitch + 32 * N * f, format, last);
      else
        load_pairs<N, false> (address + 8 * k * pitch + 32 * N * (f + T::tiles - 1), format, last);
    }
#pragma unroll
    for (int i = 0; i < 3; i++)
#pragma unroll
      for (int k = 0; k < BLOCKS; k++)
#pragma unroll
        for (int u = 0; u < T::units; u++) {
          const WordPair (&from)[2] = b[k][(u / N + f) % T::tiles][u % N];
          const uint32_t (&weight)[4] = i == 1 ? rest : a;
          Quad &to = sum[k][u];

          to = thin     ? product8 (weight, i == 0 ? from[0].low : from[0].high, to)
               : i == 0 ? product (weight, from[0].low, from[1].low, to)
                        : product (weight, from[0].high, from[1].high, to);
        }
  }
}

/* What sums of rows start from. */
template <int N, int R, int BLOCKS, bool FRAMES>
__device__ __forceinline__ void
start_rows (const WordTables<N, R, FRAMES> &w, Quad (&sum)[BLOCKS][Tile<N, R>::units])
{
  Quad first = w.first ();

#pragma unroll
  for (int k = 0; k < BLOCKS; k++)
#pragma unroll
    for (int u = 0; u < Tile<N, R>::units; u++)
      sum[k][u] = first;
}

/* From sums of rows to blocks of H. */
template <int N, int R, int BLOCKS>
__device__ __forceinline__ void
split_rows (const Quad (&sum)[BLOCKS][Tile<N, R>::units], WordBlock<N, R> *block)
{
#pragma unroll
  for (int k = 0; k < BLOCKS; k++)
#pragma unroll
    for (int u = 0; u < Tile<N, R>::units; u++) {
      block[k].set (2 * u, sum[k][u].v[0], sum[k][u].v[1]);
      block[k].set (2 * u + 1, sum[k][u].v[2], sum[k][u].v[3]);
    }
}

/* Results come in two parts, so that few registers hold sums at a time: half of the lane's words of 16 rows, four
 * quads. Which of the lane's 2 x units columns of H quad q of a part is. */
template <int N>
__device__ constexpr int
part_column (int part, int q)
{
  return natural_order<N> ? 2 * q + part : 4 * part + q;
}

/* Of PARTS parts from the given one on. PHASE: where the newest blocks are. */
template <int N, int R, int PHASE, int PARTS, bool FRAMES>
__device__ __forceinline__ void
filter_columns (const WordTables<N, R, FRAMES> &w, const WordBlock<N, R> (&h)[Tile<N, R>::blocks], int part,
                Quad (&sum)[PARTS][4])
{
  using T = Tile<N, R>;
  const Quad zero = {};

#pragma unroll
  for (int f = 0; f < T::depth; f++) {
    uint32_t a[4], rest[4];
    /* The oldest come first. */
    const bool half = T::odd && f == 0;
    const int upper = half ? 0 : T::odd ? 2 * f - 1 : 2 * ((PHASE + 1 + f) % T::depth), lower = upper + 1;

    w.y (f, 0, a);
    w.y (f, 1, rest);
#pragma unroll
    for (int i = 0; i < 3; i++)
#pragma unroll
      for (int k = 0; k < PARTS; k++)
#pragma unroll
        for (int q = 0; q < 4; q++) {
          const int j = part_column<N> (part + k, q);
          const Quad &start = f == 0 && i == 0 ? zero : sum[k][q];
          const uint32_t (&weight)[4] = i == 1 ? rest : a;

          sum[k][q] = half     ? product8 (weight, i == 0 ? h[upper].low[j] : h[upper].high[j], start)
                      : i == 0 ? product (weight, h[upper].low[j], h[lower].low[j], start)
                               : product (weight, h[upper].high[j], h[lower].high[j], start);
        }
  }
}

/* From a sum to a float whose lowest bits are the sample. */
__device__ __forceinline__ void
finish_word (const uint32_t (&k)[4], float &v)
{
  float limited = __saturatef (fmaf (v, __uint_as_float (k[0]), __uint_as_float (k[1])));

  v = fmaf (limited, __uint_as_float (k[2]), __uint_as_float (k[3]));
}

/* A part's sums to memory: rows y and y + 8 of the lane. store (to, left, words) stores neighbouring words to a row
 * of which left bytes remain. */
template <int N, int R, bool FRAMES, class Store>
__device__ __forceinline__ void
store_part (const WordTables<N, R, FRAMES> &w, const ConvolveLaunchPicture &p, int x, int y, int y1, int t, int part,
            Quad (&sum)[4], Store store)
{
  /* The lane's bytes within the warp's row; with one component half of them lie a tile further. */
  int offset = (N == 1 ? 64 : 16 * 4) * part + (N == 1 ? 8 : 16) * t, left = (p.width - x) * 2 * N - offset;
  uint8_t *row = reinterpret_cast<uint8_t *> (p.dst) + (ptrdiff_t)y * p.dst_stride + (ptrdiff_t)x * 2 * N + offset;
  uint32_t factor[1];

#pragma unroll
  for (int q = 0; q < 4; q++) {
    uint32_t k[4];

    load_words<4> (w.base + 512 * (w.finish + (N == 1 ? 0 : N == 2 ? q / 2 : q)), k);
#pragma unroll
    for (int e = 0; e < 4; e++)
      finish_word (k, sum[q].v[e]);
  }
  load_words<1> (w.base + 512 * w.shift, factor);
#pragma unroll
  for (int half = 0; half < 2; half++) {
    uint32_t words[4];

#pragma unroll
    for (int k = 0; k < 4; k++) {
      float a, b;

      if constexpr (N == 1) {
        a = sum[k].v[2 * half];
        b = sum[k].v[2 * half + 1];
      } else if constexpr (N == 2) {
        a = sum[k / 2].v[2 * half + k % 2];
        b = sum[2 + k / 2].v[2 * half + k % 2];
      } else {
        a = sum[2 * (k % 2)].v[2 * half + k / 2];
        b = sum[2 * (k % 2) + 1].v[2 * half + k / 2];
      }
      words[k] = __byte_perm (__float_as_uint (a), __float_as_uint (b), 0x5410) * factor[0];
    }
    if (y + 8 * half < y1) {
      uint8_t *to = row + (half ? 8 * (ptrdiff_t)p.dst_stride : 0);

      if constexpr (N == 1) {
        const uint32_t near[2] = {words[0], words[1]}, far[2] = {words[2], words[3]};

        if (left > 0)
          store (to, left, near);
        if (left > 32)
          store (to + 32, left - 32, far);
      } else if (left > 0) {
        store (to, left, words);
      }
    }
  }
}

/* The tasks of a picture that are this block's: a working warp. rows (w, format, edges, offset, lane, h, newest)
 * filters the next sixteen rows along x into the blocks from newest on; columns (w, h, x, y, y1, t, phase) makes
 * results of them: the lane's from pixel x of the warp's first and row y on. */
template <int N, int R, int WARPS, bool FOLDED, class Rows, class Columns>
__device__ __forceinline__ void
walk_words (const ConvolveLaunch &l, const ConvolveLaunchPicture &p, uint32_t &block, Stages &stages, int warp,
            Rows rows, Columns columns)
{
  using T = Tile<N, R>;
  constexpr int pitch = convolve_banded_pitch (N, 2, 2 * R + 1, WARPS), pixels = CONVOLVE_BANDED_PIXELS (N);
  int lane = lane_index (), g = lane / 4, t = lane % 4;
  uint32_t tasks = p.blocks_x * p.blocks_y;
  uint32_t offset = g * pitch + (-2 * R * N & 15) + warp * pixels * 2 * N + (natural_order<N> ? 16 : 8 * N) * t;
  WordTables<N, R, FOLDED> w;
  WordBlock<N, R> h[T::blocks] = {};

  if (block - p.first_block >= tasks)
    return;
  load_tables<N, R, WARPS> (l, p, lane, warp, stages.end (), w);

  const WordFormat format (p.component[0]);

  for (; block - p.first_block < tasks; block += gridDim.x) {
    Task<N, 2, R, WARPS> task (p, block - p.first_block);
    typename Task<N, 2, R, WARPS>::StripEdges edges;
    int x = task.x0 + warp * pixels;

    task.set_edges (stages, p, lane, warp, edges);

    walk_steps<T::phases> (task.steps, [&] (int s, auto phase) {
      constexpr int PHASE = decltype (phase)::value, newest = T::odd ? T::blocks - 2 : 2 * PHASE;

      rows (w, format, edges, offset, lane, h, newest);
      if (s >= T::fill)
        columns (w, h, x, task.y0 + CONVOLVE_BANDED_ROWS * (s - T::fill) + g, task.y1, t, phase);
    });
  }
}

/* Makes room for two blocks of rows, where they move on. */
template <int N, int R>
__device__ __forceinline__ void
move_blocks (WordBlock<N, R> (&h)[Tile<N, R>::blocks])
{
  if constexpr (Tile<N, R>::odd)
#pragma unroll
    for (int i = 0; i < Tile<N, R>::blocks - 2; i++)
      h[i] = h[i + 2];
}

#endif
