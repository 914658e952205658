/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Geometry of the banded, plain and direct routes (plain: bytes, and words of 16 bits): what host, kernels and the
 * simulated device must agree on, beside params.h.
 *
 * A block has CONVOLVE_BANDED_WARPS (plain, taps) working warps side by side, and one more that loads for them; taps
 * are the variant's; direct counts as plain here. Its strip is CONVOLVE_BANDED_PIXELS (n) pixels a warp wide; task_rows
 * is a multiple of CONVOLVE_BANDED_ROWS. Blocks, tasks and grid are counted as for the other routes. Terms have at most
 * taps weights a side, of which at most taps / 2 lie on either side of the anchor, and they are half floats' values.
 * Behind a term's weights lie their sums: of the row and of the column, or of the matrix.
 *
 * Weighted (plain, four components): behind the sums lie the weights of colours, half floats' values too, each the
 * nearest to the exact one. Their fragments lie behind the others in shared memory.
 *
 * Words: weights x CONVOLVE_WORDS_SCALE are half floats' values, and behind the sums lies for each weight what is left
 * of it, such a value too: a weight is the sum of both. In place of the column's sum stands the product of the row's
 * sum and the column's, with what is left.
 *
 * Folded (sums over frames): a row of weights is one for each frame, one after the other, each times the frame's
 * weight; behind them lies the column, and the row's sum is that of all. What lies behind the sums, of words and of
 * weighted, is as long. A stage holds 16 rows of each frame; with words, and weighted, 16 rows of one, and a step takes
 * a stage of each, the oldest first. */
#ifndef CONVOLVE_CUDA_BANDED_H
#define CONVOLVE_CUDA_BANDED_H

#include "params.h"

#define CONVOLVE_BANDED_ROWS 16
/* The largest terms that there are variants for: rows and columns, and whole matrices. */
#define CONVOLVE_BANDED_MAX_TAPS 65
#define CONVOLVE_BANDED_MAX_MATRIX 33
#define CONVOLVE_FOLDED_MAX_TAPS 33
#define CONVOLVE_WORDS_MAX_TAPS 49
#define CONVOLVE_BANDED_WARPS(plain, taps) ((plain) ? ((taps) > 17 ? 11 : 15) : (taps) > 33 ? 7 : 11)
/* The same where samples have 16 bits. */
#define CONVOLVE_WORDS_WARPS(taps) ((taps) > 17 ? 7 : (taps) > 9 ? 11 : 15)
/* ... and where colours are weighted by alpha. */
#define CONVOLVE_WEIGHTED_WARPS(taps) ((taps) > 33 ? 7 : (taps) > 9 ? 11 : 15)
/* The same of sums over frames of bytes. 99 KiB of shared memory hold two stages of three frames for 11 warps: there
 * those of few taps, too, take a variant for more. */
#define CONVOLVE_FOLDED_WARPS(taps) ((taps) > 9 ? 11 : 15)
/* A multiprocessor holds one block. */
#define CONVOLVE_BANDED_THREADS(warps) (32 * (warps) + 32)
#define CONVOLVE_WORDS_SCALE 16
#define CONVOLVE_BANDED_PIXELS(n) ((n) == 1 ? 64 : (n) == 2 ? 32 : 16)
/* Stages of rows of one frame: as many for each frame. */
#define CONVOLVE_BANDED_MAX_STAGES 6

/* Bytes from a row of a stage to the next: a strip, its halo in whole fragments of 16 pixels, up to 12 bytes before
 * them; and such that rows of a fragment lie in different banks. n components of sample_bytes. */
static inline CONVOLVE_HOST_DEVICE uint32_t
convolve_banded_pitch (uint32_t n, uint32_t sample_bytes, uint32_t taps, uint32_t warps)
{
  uint32_t halo = (taps / 2 * 2 + 15) / 16 * 16;
  uint32_t bytes = (warps * CONVOLVE_BANDED_PIXELS (n) + halo) * n * sample_bytes + 12;
  uint32_t beyond = n * sample_bytes == 8 ? 64 : 16 * n * sample_bytes;

  return (bytes - beyond + 127) / 128 * 128 + beyond;
}

/* What a block needs for each stage beside the rows: three barriers, and room so that what follows is aligned. */
#define CONVOLVE_BANDED_BARRIER_BYTES 32
/* Fragments of 16 x 16 weights, and the bytes of one. */
#define CONVOLVE_BANDED_DEPTH(taps) ((16 + (taps) / 2 * 2 + 15) / 16)
#define CONVOLVE_BANDED_FRAGMENT_BYTES 512
/* A word of each thread, with the most taps. */
#define CONVOLVE_BANDED_EDGE_BYTES(taps) ((taps) > 49 ? 2048 : 0)

/* Bytes of weights in shared memory; ny: rows of the highest matrix, direct only. */
static inline CONVOLVE_HOST_DEVICE uint32_t
convolve_banded_table_bytes (uint32_t direct, uint32_t sample_bytes, uint32_t taps, uint32_t ny)
{
  return CONVOLVE_BANDED_FRAGMENT_BYTES * (direct ? ny * CONVOLVE_BANDED_DEPTH (taps) + 1 :
      2 * sample_bytes * CONVOLVE_BANDED_DEPTH (taps) + (sample_bytes == 1 ? 2 : 6))
      + CONVOLVE_BANDED_EDGE_BYTES (taps);
}

/* What weighted adds for colours. */
static inline CONVOLVE_HOST_DEVICE uint32_t
convolve_weighted_table_bytes (uint32_t taps)
{
  return 2 * CONVOLVE_BANDED_FRAGMENT_BYTES * CONVOLVE_BANDED_DEPTH (taps);
}

/* What folded adds for frames beside the first; twice: words, and weighted, which have two rows for each. */
static inline CONVOLVE_HOST_DEVICE uint32_t
convolve_folded_table_bytes (uint32_t twice, uint32_t taps, uint32_t frames)
{
  return frames > 1 ? CONVOLVE_BANDED_FRAGMENT_BYTES * (twice ? 2 : 1) * (frames - 1) * CONVOLVE_BANDED_DEPTH (taps) :
      0;
}

/* Stages that a block needs at least: direct holds all the rows that a step's results see. */
static inline CONVOLVE_HOST_DEVICE uint32_t
convolve_banded_least_stages (uint32_t direct, uint32_t ny)
{
  return direct ? (ny - 1 + CONVOLVE_BANDED_ROWS - 1) / CONVOLVE_BANDED_ROWS + 2 : 2;
}

#endif
