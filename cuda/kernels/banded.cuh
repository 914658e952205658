/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Rows and columns as products of matrices on the tensor cores, in one pass over the frame.
 *
 * Filtering along a line is a product with a banded matrix: row m of it holds the weights from column m on. A warp
 * marches down a strip of 16, 32 or 64 pixels, CONVOLVE_BANDED_ROWS rows at a time, and works on the transposed
 * picture: for each component
 *
 *   H^T (16 columns x 8 rows) = Tx (16 x 16 + 2 R) x X^T (16 + 2 R columns x 8 rows)
 *   Y (16 rows x 8 columns) = Ty (16 x 16 + 2 R) x H (16 + 2 R rows x 8 columns)
 *
 * Tx and Ty stay in registers. X comes from shared memory as bytes; the half float 0x6400 | byte is 1024 + byte. What
 * a lane holds of H^T is, packed to half floats, what it needs of H, register for register; the last 16 + 2 R rows of
 * H stay in registers, so that nothing is filtered along x twice. H holds value - 128: half floats are finer there.
 *
 * Pixels within a fragment are numbered so that a lane's bytes are four neighbours, on both ends: index k (or m) of a
 * fragment is pixel 4 (k % 8 / 2) + 2 (k / 8) + k % 2. See docs/kernels.md. */
#pragma once

#include "strip.cuh"

#if CONVOLVE_HAS_TENSOR

/* Tx and Ty, and what their products start from, as fragments: Tx has depth of them, then Ty, then come the STARTS
 * (two, or none where sums start from 0). They lie in shared memory; the smaller ones are kept in registers. (Made
 * there at once, the compiler would see that words of them are equal, keep one, and copy it before every product.) */
template <int N, int R, int STARTS = 2> struct Weights {
  static constexpr int depth = Tile<N, R>::depth;
  static constexpr int count = 2 * depth + STARTS;
  static constexpr bool keep = R < 8;
  uint32_t kept[keep ? count : 1][4];
  uint32_t at; /* of the lane's words of fragment 0 */

  __device__ void init ()
  {
    if constexpr (keep)
#pragma unroll
      for (int i = 0; i < count; i++)
        load_words<4> (at + 512 * i, kept[i]);
  }
  __device__ void get (int i, uint32_t (&a)[4]) const
  {
    if constexpr (keep) {
#pragma unroll
      for (int k = 0; k < 4; k++)
        a[k] = kept[i][k];
    } else {
      load_words<4> (at + 512 * i, a);
    }
  }
  __device__ void x (int f, uint32_t (&a)[4]) const { get (f, a); }
  __device__ void y (int f, uint32_t (&a)[4]) const { get (depth + f, a); }
  /* 0: of Tx, 1: of Ty. */
  __device__ Quad first (int i) const
  {
    uint32_t words[4];
    Quad q;

    get (2 * depth + i, words);
#pragma unroll
    for (int k = 0; k < 4; k++)
      q.v[k] = __uint_as_float (words[k]);
    return q;
  }
};

/* By all working warps. w: the term's weights; behind them lie their sums. table: where the fragments are to lie. */
template <int N, int R, int WARPS, int STARTS>
__device__ __forceinline__ void
load_weights (const float *w, const ConvolveLaunchTerm &term, int lane, int warp, uint32_t table,
              Weights<N, R, STARTS> &to)
{
  constexpr int depth = Tile<N, R>::depth;
  const float *sums = w + term.nx + term.ny;

  to.at = table + 16 * lane;
  /* Nobody may still use the last picture's, and all need all of these. */
  worker_barrier (32 * WARPS);
  for (int f = warp; f < to.count; f += WARPS) {
    uint32_t a[4];

    if (f < 2 * depth)
      make_fragment<N, R> (w, term, lane, f, a);
    else
      a[0] = a[1] = a[2] = a[3] =
          __float_as_uint (f == 2 * depth ? -1152.f * __ldg (sums) : 128.f * __ldg (sums) * __ldg (sums + 1));
    store_quad (to.at + 512 * f, a);
  }
  worker_barrier (32 * WARPS);
  to.init ();
}

/* Of the lane's four pixels, those of component c: two pairs of half floats 1024 + byte. */
template <int N>
__device__ inline void
half_bytes (const uint32_t (&w)[N], uint32_t (&b)[N][2])
{
  if constexpr (N == 1) {
    b[0][0] = __byte_perm (w[0], 0x64646464, 0x4140);
    b[0][1] = __byte_perm (w[0], 0x64646464, 0x4342);
  } else if constexpr (N == 2) {
#pragma unroll
    for (int i = 0; i < 2; i++) {
      b[0][i] = (w[i] & 0x00ff00ff) | 0x64006400;
      b[1][i] = __byte_perm (w[i], 0x64646464, 0x4341);
    }
  } else if constexpr (N == 3) {
    /* r g b r, g b r g, b r g b */
    b[0][0] = __byte_perm (w[0], 0x64646464, 0x4340);
    b[0][1] = __byte_perm (__byte_perm (w[1], w[2], 0x0052), 0x64646464, 0x4140);
    b[1][0] = __byte_perm (__byte_perm (w[0], w[1], 0x0041), 0x64646464, 0x4140);
    b[1][1] = __byte_perm (__byte_perm (w[1], w[2], 0x0063), 0x64646464, 0x4140);
    b[2][0] = __byte_perm (__byte_perm (w[0], w[1], 0x0052), 0x64646464, 0x4140);
    b[2][1] = __byte_perm (w[2], 0x64646464, 0x4340);
  } else {
#pragma unroll
    for (int i = 0; i < 2; i++) {
      uint32_t lower = __byte_perm (w[2 * i], w[2 * i + 1], 0x5140);
      uint32_t upper = __byte_perm (w[2 * i], w[2 * i + 1], 0x7362);

      b[0][i] = __byte_perm (lower, 0x64646464, 0x4140);
      b[1][i] = __byte_perm (lower, 0x64646464, 0x4342);
      b[2][i] = __byte_perm (upper, 0x64646464, 0x4140);
      b[3][i] = __byte_perm (upper, 0x64646464, 0x4342);
    }
  }
}

/* The lane's four pixels at address. */
template <int N>
__device__ __forceinline__ void
load_fragment (uint32_t address, uint32_t (&b)[N][2])
{
  uint32_t raw[N];

  load_words<N> (address, raw);
  half_bytes<N> (raw, b);
}

/* Eight rows along x, from those at address (the lane's row, the lane's bytes of its first fragment) to a block. */
template <int N, int R>
__device__ __forceinline__ void
filter_rows (const Weights<N, R> &w, uint32_t address, int t, uint32_t (&block)[2 * Tile<N, R>::units])
{
  using T = Tile<N, R>;
  uint32_t b[T::tiles][N][2]; /* fragment i is number i % tiles */
  Quad sum[T::units], first = w.first (0);

#pragma unroll
  for (int i = 0; i < T::tiles - 1; i++)
    load_fragment<N> (address + 16 * N * i, b[i]);
#pragma unroll
  for (int f = 0; f < T::depth; f++) {
    uint32_t a[4];
    bool thin = T::thin && f == T::depth - 1;

    w.x (f, a);
    if constexpr (T::thin) {
      if (thin) {
        uint32_t two[2];

        load_words<2> (address + 16 * N * f - 2 * N * t, two);

        const uint32_t raw[4] = {two[0], two[1], two[0], two[1]};

        half_bytes<N> (raw, b[0]);
      }
    }
    if (!thin)
      load_fragment<N> (address + 16 * N * (f + T::tiles - 1), b[(f + T::tiles - 1) % T::tiles]);
#pragma unroll
    for (int u = 0; u < T::units; u++) {
      const uint32_t (&from)[2] = b[(u / N + f) % T::tiles][u % N];
      const Quad &start = f == 0 ? first : sum[u];

      sum[u] = thin ? product8 (a, from[0], start) : product (a, from[0], from[1], start);
    }
  }
#pragma unroll
  for (int u = 0; u < T::units; u++) {
    block[2 * u] = half_pair (sum[u].v[0], sum[u].v[1]);
    block[2 * u + 1] = half_pair (sum[u].v[2], sum[u].v[3]);
  }
}

/* Results come in parts, so that few registers hold sums at a time. A part is some of the lane's words of 16 rows. */
template <int N, int R> struct Part {
  /* One where H leaves the fewest registers and the word needs but half of what two do. */
  static constexpr int words = N == 3 ? 3 : N < 3 && R >= 32 ? 1 : 2;
  static constexpr int parts = Tile<N, R>::units / words;
  static constexpr int quads = 2 * words;

  /* Which of the lane's 2 x units columns of H quad q of a part is. */
  __device__ static constexpr int column (int part, int q)
  {
    if (N == 4)
      return 2 * q + part;
    return N == 2 && words == 1 ? 4 * (part / 2) + 2 * q + part % 2 : quads * part + q;
  }
  __device__ static constexpr int quad (int column)
  {
    return N == 4 ? column / 2 : N == 2 && words == 1 ? column / 2 % 2 : column % quads;
  }
};

/* PHASE: where the newest blocks are. */
template <int N, int R, int PHASE>
__device__ __forceinline__ void
filter_columns (const Weights<N, R> &w, const uint32_t (&h)[Tile<N, R>::blocks][2 * Tile<N, R>::units], int part,
                Quad (&sum)[Part<N, R>::quads])
{
  using T = Tile<N, R>;
  Quad first = w.first (1);

#pragma unroll
  for (int f = 0; f < T::depth; f++) {
    uint32_t a[4];

    w.y (f, a);
#pragma unroll
    for (int q = 0; q < Part<N, R>::quads; q++) {
      const int j = Part<N, R>::column (part, q);

      if (T::odd && f == 0) {
        sum[q] = product8 (a, h[0][j], first);
      } else {
        const int i = T::odd ? 2 * f - 1 : 2 * ((PHASE + 1 + f) % T::depth); /* the oldest come first */

        sum[q] = product (a, h[i][j], h[i + 1][j], f == 0 ? first : sum[q]);
      }
    }
  }
}

/* ---- results ---- */

/* Byte b of the lane's word k, row g + 8 half: of k's part. */
template <int N, int R>
__device__ inline float
result (const Quad (&sum)[Part<N, R>::quads], int k, int b, int half)
{
  int e = k % N * 4 + b, pixel = e / N, unit = k / N * N + e % N;

  return sum[Part<N, R>::quad (2 * unit + pixel / 2)].v[2 * half + pixel % 2];
}

/* Where word k of lane t lies in the warp's row, in bytes. */
template <int N>
__device__ inline int
word_offset (int k, int t)
{
  return 16 * N * (k / N) + 4 * N * t + 4 * (k % N);
}

/* The word at byte offset of a row, of which left bytes remain there. */
__device__ inline uint32_t
load_word (const uint8_t *from, int left)
{
  uint32_t word = 0;

  if (left >= 4)
    return __ldg (reinterpret_cast<const uint32_t *> (from));
  for (int i = 0; i < left; i++)
    word |= (uint32_t)__ldg (from + i) << 8 * i;
  return word;
}

/* gain, offset, limits, what is copied or filled: the four samples of a word whose first is of component k % N. */
template <int N>
__device__ inline uint32_t
finish_word (const ConvolveLaunch &l, const ConvolveLaunchPicture &p, int k, uint32_t in, float (&v)[4])
{
#pragma unroll
  for (int b = 0; b < 4; b++) {
    const ConvolveLaunchComponent &c = p.component[(4 * k + b) % N];
    float was = (float)(in >> 8 * b & 255);

    if (l.combine == CONVOLVE_DO_UNSHARP) {
      float d = was - v[b];

      v[b] = was + (fabsf (d) > c.threshold ? l.amount * d : 0.f);
    }
    v[b] = fminf (fmaxf (fmaf (c.gain, v[b], c.offset), c.lo), c.hi);
    v[b] = c.action == CONVOLVE_DO_FILTER ? v[b] : c.action == CONVOLVE_DO_COPY ? was : c.fill;
  }
  return byte_quad (v[0], v[1], v[2], v[3]);
}

/* Among the four lanes of a row: lanes that differ in bit swap a for b. */
__device__ inline void
swap_words (uint32_t &a, uint32_t &b, bool upper, int bit)
{
  uint32_t got = __shfl_xor_sync (~0u, upper ? a : b, bit);

  a = upper ? got : a;
  b = upper ? b : got;
}

/* A warp's row of words to memory, 16 bytes a lane where it can: with one or two components the lanes first trade
 * words, since a lane has 4 N bytes of each tile. */
template <int N, int R>
__device__ inline void
store_row (uint32_t (&w)[Tile<N, R>::units], uint8_t *row, int left, int t, bool row_counts, bool wide)
{
  int offset = 4 * N * t;

  if constexpr (N == 1) {
    swap_words (w[0], w[1], t & 1, 1);
    swap_words (w[2], w[3], t & 1, 1);
    swap_words (w[0], w[2], t & 2, 2);
    swap_words (w[1], w[3], t & 2, 2);
    offset = 16 * t;
  } else if constexpr (N == 2) {
    swap_words (w[0], w[2], t & 1, 1);
    swap_words (w[1], w[3], t & 1, 1);
    offset = 32 * (t & 1) + 8 * (t & 2);
  }
  if (row_counts && left > offset)
    store_words<Tile<N, R>::units> (row + offset, left - offset, wide, w);
}

/* Sixteen rows of a warp's results on their way: rows y .. of the columns from pixel x on. */
template <int N, int R> struct Output {
  using P = Part<N, R>;
  uint32_t words[2][Tile<N, R>::units];

  /* From a part's sums to its words. PLAIN: nothing but rounding. */
  template <bool PLAIN>
  __device__ __forceinline__ void finish (const ConvolveLaunch &l, const ConvolveLaunchPicture &p, bool input, int x,
                                          int y, int y1, int lane, int part, const Quad (&sum)[P::quads])
  {
#pragma unroll
    for (int i = 0; i < 2 * P::words; i++) {
      int half = i / P::words, k = part * P::words + i % P::words;
      float v[4];

#pragma unroll
      for (int b = 0; b < 4; b++)
        v[b] = result<N, R> (sum, k, b, half);
      if constexpr (PLAIN) {
        words[half][k] = byte_quad (v[0], v[1], v[2], v[3]);
      } else {
        int offset = word_offset<N> (k, lane % 4), row = y + lane / 4 + 8 * half;
        uint32_t in = 0;

        if (input && row < y1)
          in = load_word (reinterpret_cast<const uint8_t *> (p.src) + (ptrdiff_t)row * p.src_stride +
                              (ptrdiff_t)x * N + offset,
                          (p.width - x) * N - offset);
        words[half][k] = finish_word<N> (l, p, k, in, v);
      }
    }
  }
  __device__ __forceinline__ void store (const ConvolveLaunchPicture &p, int x, int y, int y1, int lane)
  {
    bool wide = (((uint32_t)p.dst | (uint32_t)p.dst_stride) & 15) == 0;

#pragma unroll
    for (int half = 0; half < 2; half++) {
      int row = y + lane / 4 + 8 * half;

      store_row<N, R> (words[half],
                       reinterpret_cast<uint8_t *> (p.dst) + (ptrdiff_t)row * p.dst_stride + (ptrdiff_t)x * N,
                       (p.width - x) * N, lane % 4, row < y1, wide);
    }
  }
};

/* ---- the march ---- */

template <int N, int R, int WARPS> struct Walk {
  Weights<N, R> w;
  uint32_t h[Tile<N, R>::blocks][2 * Tile<N, R>::units];
  typename Task<N, 1, R, WARPS>::StripEdges edges;
  bool input;
  int x; /* pixel of the warp's first */
};

/* Step s of a task whose rows are y0 .. y1 - 1. */
template <int N, int R, int WARPS, bool PLAIN, int PHASE>
__device__ __forceinline__ void
step (const ConvolveLaunch &l, const ConvolveLaunchPicture &p, Walk<N, R, WARPS> &walk, Stages &stages, int s,
      uint32_t offset, int lane, int y0, int y1)
{
  using T = Tile<N, R>;
  constexpr int pitch = convolve_banded_pitch (N, 1, 2 * R + 1, WARPS);
  constexpr int newest = T::odd ? T::blocks - 2 : 2 * PHASE;
  int t = lane % 4;
  uint32_t from = stages.at () + offset;

  barrier_wait (stages.full (), stages.turn);
  walk.edges.apply (stages, pitch, lane);
  if constexpr (T::odd)
#pragma unroll
    for (int i = 0; i < T::blocks - 2; i++)
#pragma unroll
      for (int j = 0; j < 2 * T::units; j++)
        walk.h[i][j] = walk.h[i + 2][j];
  filter_rows<N, R> (walk.w, from, t, walk.h[newest]);
  filter_rows<N, R> (walk.w, from + 8 * pitch, t, walk.h[newest + 1]);
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
    out.template finish<PLAIN> (l, p, walk.input, walk.x, y, y1, lane, part, sum);
  }
  out.store (p, walk.x, y, y1, lane);
}

/* The tasks of a picture that are this block's: a working warp. */
template <int N, int R, int WARPS, bool PLAIN>
__device__ __forceinline__ void
filter_picture (const ConvolveLaunch &l, const ConvolveLaunchPicture &p, uint32_t &block, Stages &stages, int warp)
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

  load_weights<N, R, WARPS> (reinterpret_cast<const float *> (l.weights) + term.first, term, lane, warp,
                             stages.end (), walk.w);
  walk.input = !PLAIN && needs_input (l, p);
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
      step<N, R, WARPS, PLAIN, decltype (phase)::value> (l, p, walk, stages, s, offset, lane, task.y0, task.y1);
    });
  }
}

template <int R, int WARPS, bool PLAIN>
__device__ __forceinline__ void
filter_all (const ConvolveLaunch &l)
{
  part_work<WARPS> (
      l,
      [&] (auto n, const ConvolveLaunchPicture &p, uint32_t &block, Stages &stages, uint32_t &landed_turns) {
        feed_picture<decltype (n)::value, 1, R, WARPS> (l, p, block, stages, landed_turns);
      },
      [&] (auto n, const ConvolveLaunchPicture &p, uint32_t &block, Stages &stages, int warp) {
        filter_picture<decltype (n)::value, R, WARPS, PLAIN> (l, p, block, stages, warp);
      });
}

#endif

/* plain: nothing but rounding comes after the sums. */
#define CONVOLVE_BANDED_KERNEL(name, plain, taps)                   \
  CONVOLVE_STRIP_KERNEL (name, CONVOLVE_BANDED_WARPS (plain, taps), \
                         filter_all<taps / 2, CONVOLVE_BANDED_WARPS (plain, taps), plain>)
