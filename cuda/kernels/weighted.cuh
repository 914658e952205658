/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The banded products for pixels of three colours and alpha, colours counting as much as they are opaque. Beside what
 * plain.cu does for alpha there are four more sums: with shares of weights k,
 *
 *   colour = S x (128 + 16 x sum of k p / sum of k a),   p = (v - 128) x a / 16
 *
 * All of k, p and a are half floats, and a is exact; k and p are off by at most 1 / 2048 of their size, and so is
 * what a row's sums become between the two directions. Since p is at most 8 a and no weight is negative, so is the
 * quotient: cuda/banded.c has the bound. Alpha itself has weights of its own, whose sum is exact, and every product
 * that it has in plain.cu: it is the same bit for bit. */
#pragma once

#include "banded.cuh"

#if CONVOLVE_HAS_TENSOR

#define COLORS 3
#define UNITS 5 /* sums of a tile: three colours x alpha, alpha for them, alpha itself */
#define SHARE 3
#define ALPHA 4

__device__ inline uint32_t
half_add (uint32_t a, uint32_t b)
{
  uint32_t d;

  asm("add.rn.f16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
  return d;
}

__device__ inline uint32_t
half_multiply (uint32_t a, uint32_t b)
{
  uint32_t d;

  asm("mul.rn.f16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
  return d;
}

__device__ inline uint32_t
half_fma (uint32_t a, uint32_t b, uint32_t c)
{
  uint32_t d;

  asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
  return d;
}

/* Where alpha lies: how bytes of two pixels become pairs of a component, alpha's last, and how results go back. */
struct Order {
  uint32_t lower, upper, back, alpha; /* alpha: the bits of a pixel */

  __device__ Order (const ConvolveLaunchPicture &p)
  {
    bool first = p.alpha == 0;

    lower = first ? 0x6251 : 0x5140;
    upper = first ? 0x4073 : 0x7362;
    back = first ? 0x2103 : 0x3210;
    alpha = first ? 0x000000ff : 0xff000000;
  }
};

/* Four pixels as two pairs of half floats for each of the sums. */
__device__ __forceinline__ void
share_pixels (const uint32_t (&raw)[4], const Order &order, uint32_t (&b)[UNITS][2])
{
  constexpr uint32_t minus_1024 = 0xe400e400, minus_1152 = 0xe480e480, sixteenth = 0x2c002c00, minus_64 = 0xd400d400;

#pragma unroll
  for (int i = 0; i < 2; i++) {
    uint32_t lower = __byte_perm (raw[2 * i], raw[2 * i + 1], order.lower);
    uint32_t upper = __byte_perm (raw[2 * i], raw[2 * i + 1], order.upper);
    uint32_t alpha = __byte_perm (upper, 0x64646464, 0x4342), scale = half_fma (alpha, sixteenth, minus_64);

    b[0][i] = __byte_perm (lower, 0x64646464, 0x4140);
    b[1][i] = __byte_perm (lower, 0x64646464, 0x4342);
    b[2][i] = __byte_perm (upper, 0x64646464, 0x4140);
#pragma unroll
    for (int c = 0; c < COLORS; c++)
      b[c][i] = half_multiply (half_add (b[c][i], minus_1152), scale);
    b[SHARE][i] = half_add (alpha, minus_1024);
    b[ALPHA][i] = alpha;
  }
}

template <int R, int WARPS> struct Shares {
  Weights<4, R> alpha;
  Weights<4, R, 0> color;
  uint32_t h[Tile<4, R>::blocks][2 * UNITS];
  typename Task<4, 1, R, WARPS>::StripEdges edges;
  int x; /* pixel of the warp's first */

  __device__ __forceinline__ void clear ()
  {
#pragma unroll
    for (int i = 0; i < Tile<4, R>::blocks; i++)
#pragma unroll
      for (int j = 0; j < 2 * UNITS; j++)
        h[i][j] = 0;
  }
  /* Makes room for two blocks, where blocks move on. */
  __device__ __forceinline__ void move_on ()
  {
    if constexpr (Tile<4, R>::odd)
#pragma unroll
      for (int i = 0; i < Tile<4, R>::blocks - 2; i++)
#pragma unroll
        for (int j = 0; j < 2 * UNITS; j++)
          h[i][j] = h[i + 2][j];
  }
};

__device__ inline Quad
no_start ()
{
  return {{0.f, 0.f, 0.f, 0.f}};
}

/* What a row's sum starts from. */
template <int R, int WARPS>
__device__ __forceinline__ Quad
start_shares (const Shares<R, WARPS> &s, int u)
{
  return u == ALPHA ? s.alpha.first (0) : no_start ();
}

/* Adds eight rows along x, from those at address. weights (f, a, own) gives fragment f for colours and for alpha;
 * start (u) what sum u starts from. */
template <int R, class Load, class Start>
__device__ __forceinline__ void
add_shares (uint32_t address, int t, const Order &order, Load weights, Start start, Quad (&sum)[UNITS])
{
  using T = Tile<4, R>;

#pragma unroll
  for (int f = 0; f < T::depth; f++) {
    uint32_t a[4], own[4], raw[4], b[UNITS][2];
    bool thin = T::thin && f == T::depth - 1;

    if (thin) {
      uint32_t two[2];

      load_words<2> (address + 64 * f - 8 * t, two);
      raw[0] = raw[2] = two[0];
      raw[1] = raw[3] = two[1];
    } else {
      load_words<4> (address + 64 * f, raw);
    }
    share_pixels (raw, order, b);
    weights (f, a, own);
#pragma unroll
    for (int u = 0; u < UNITS; u++) {
      const uint32_t (&with)[4] = u == ALPHA ? own : a;
      Quad from = f > 0 ? sum[u] : start (u);

      sum[u] = thin ? product8 (with, b[u][0], from) : product (with, b[u][0], b[u][1], from);
    }
  }
}

__device__ __forceinline__ void
pack_shares (const Quad (&sum)[UNITS], uint32_t (&block)[2 * UNITS])
{
#pragma unroll
  for (int u = 0; u < UNITS; u++) {
    block[2 * u] = half_pair (sum[u].v[0], sum[u].v[1]);
    block[2 * u + 1] = half_pair (sum[u].v[2], sum[u].v[3]);
  }
}

/* As filter_columns. */
template <int R, int WARPS, int PHASE>
__device__ __forceinline__ void
share_columns (const Shares<R, WARPS> &s, int part, Quad (&sum)[UNITS])
{
  using T = Tile<4, R>;

#pragma unroll
  for (int f = 0; f < T::depth; f++) {
    uint32_t a[4], own[4];

    s.color.y (f, a);
    s.alpha.y (f, own);
#pragma unroll
    for (int u = 0; u < UNITS; u++) {
      const uint32_t (&with)[4] = u == ALPHA ? own : a;
      const int j = 2 * u + part;
      Quad start = f > 0 ? sum[u] : u == ALPHA ? s.alpha.first (1) : no_start ();

      if (T::odd && f == 0) {
        sum[u] = product8 (with, s.h[0][j], start);
      } else {
        const int i = T::odd ? 2 * f - 1 : 2 * ((PHASE + 1 + f) % T::depth); /* the oldest come first */

        sum[u] = product (with, s.h[i][j], s.h[i + 1][j], start);
      }
    }
  }
}

/* Pixel e of the lane's two, row g + 8 half, as it lies in memory; colours of nothing but transparent ones are left
 * out. */
__device__ __forceinline__ uint32_t
share_result (const Quad (&sum)[UNITS], int half, int e, float total, const Order &order)
{
  const int i = 2 * half + e;
  float scale = __fdividef (16.f * total, sum[SHARE].v[i]), v[COLORS];

#pragma unroll
  for (int c = 0; c < COLORS; c++)
    v[c] = fmaf (sum[c].v[i], scale, 128.f * total);
  return __byte_perm (byte_quad (v[0], v[1], v[2], sum[ALPHA].v[i]), 0, order.back);
}

/* Sixteen rows of results, from row y on, to memory. store (to, left, words) stores neighbouring words to a row of
 * which left bytes remain. */
template <int R, int WARPS, int PHASE, class Store>
__device__ __forceinline__ void
share_results (const ConvolveLaunchPicture &p, const Shares<R, WARPS> &shares, const Order &order, int y, int y1,
               int lane, Store store)
{
  int x = shares.x + 4 * (lane % 4);
  uint32_t words[2][4];
  uint32_t kept = 0; /* bit 4 half + k: no pixel around is opaque at all */

#pragma unroll
  for (int part = 0; part < 2; part++) {
    Quad sum[UNITS];

    share_columns<R, WARPS, PHASE> (shares, part, sum);
#pragma unroll
    for (int half = 0; half < 2; half++)
#pragma unroll
      for (int e = 0; e < 2; e++) {
        words[half][2 * part + e] = share_result (sum, half, e, p.sum, order);
        kept |= sum[SHARE].v[2 * half + e] > 0.f ? 0 : 1 << (4 * half + 2 * part + e);
      }
  }
#pragma unroll
  for (int half = 0; half < 2; half++) {
    int row = y + lane / 4 + 8 * half, left = 4 * (p.width - x);

    if (row >= y1 || left <= 0)
      continue;
    if (kept >> 4 * half & 15) {
      const uint8_t *in =
          reinterpret_cast<const uint8_t *> (p.src) + (ptrdiff_t)row * p.src_stride + 4 * (ptrdiff_t)x;

#pragma unroll
      for (int k = 0; k < 4; k++)
        if (kept >> (4 * half + k) & 1)
          words[half][k] = (words[half][k] & order.alpha) | (load_word (in + 4 * k, left - 4 * k) & ~order.alpha);
    }
    store (reinterpret_cast<uint8_t *> (p.dst) + (ptrdiff_t)row * p.dst_stride + 4 * (ptrdiff_t)x, left, words[half]);
  }
}

/* The tasks of a picture that are this block's: a working warp. step (picture, shares, order, stages, s, offset,
 * lane, y0, y1, phase) does step s of a task whose rows are y0 .. y1 - 1. */
template <int R, int WARPS, class Step>
__device__ __forceinline__ void
share_picture (const ConvolveLaunch &l, const ConvolveLaunchPicture &p, uint32_t &block, Stages &stages, int warp,
               Step step)
{
  int lane = lane_index ();
  uint32_t tasks = p.blocks_x * p.blocks_y;
  constexpr int pitch = convolve_banded_pitch (4, 1, 2 * R + 1, WARPS);
  uint32_t offset = lane / 4 * pitch + (-R * 4 & 15) + warp * 64 + 16 * (lane % 4);
  Shares<R, WARPS> shares;
  Order order (p);

  if (block - p.first_block >= tasks)
    return;
  load_shares (l, p, stages, lane, warp, shares);
  for (; block - p.first_block < tasks; block += gridDim.x) {
    Task<4, 1, R, WARPS> task (p, block - p.first_block);

    task.set_edges (stages, p, lane, warp, shares.edges);
    shares.x = task.x0 + warp * CONVOLVE_BANDED_PIXELS (4);
    walk_steps<Tile<4, R>::phases> (task.steps, [&] (int s, auto phase) {
      step (p, shares, order, stages, s, offset, lane, task.y0, task.y1, phase);
    });
  }
}

/* All of a launch; From is what loads. */
template <int R, int WARPS, class From, class Step>
__device__ __forceinline__ void
share_all (const ConvolveLaunch &l, Step step)
{
  part_work<WARPS> (
      l,
      [&] (auto n, const ConvolveLaunchPicture &p, uint32_t &block, Stages &stages, uint32_t &landed_turns) {
        if constexpr (decltype (n)::value == 4)
          feed_picture<4, 1, R, WARPS, From> (l, p, block, stages, landed_turns);
      },
      [&] (auto n, const ConvolveLaunchPicture &p, uint32_t &block, Stages &stages, int warp) {
        if constexpr (decltype (n)::value == 4)
          share_picture<R, WARPS> (l, p, block, stages, warp, step);
      });
}

#endif
