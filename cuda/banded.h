/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Geometry of the banded, plain and direct routes: what host, kernels and the simulated device must agree on, beside
 * params.h.
 *
 * A block has CONVOLVE_BANDED_WARPS (plain, taps) working warps side by side, and one more that loads for them; taps
 * are the variant's; direct counts as plain here. Its strip is CONVOLVE_BANDED_PIXELS (n) pixels a warp wide; task_rows
 * is a multiple of CONVOLVE_BANDED_ROWS. Blocks, tasks and grid are counted as for the other routes. Terms have at most
 * taps weights a side, of which at most taps / 2 lie on either side of the anchor, and they are half floats' values.
 * Behind a term's weights lie their sums: of the row and of the column, or of the matrix. */
#ifndef CONVOLVE_CUDA_BANDED_H
#define CONVOLVE_CUDA_BANDED_H

#include "params.h"

#define CONVOLVE_BANDED_ROWS 16
/* The largest terms that there are variants for: rows and columns, and whole matrices. */
#define CONVOLVE_BANDED_MAX_TAPS 65
#define CONVOLVE_BANDED_MAX_MATRIX 33
#define CONVOLVE_BANDED_WARPS(plain, taps) ((plain) ? ((taps) > 17 ? 11 : 15) : (taps) > 33 ? 7 : 11)
/* A multiprocessor holds one block. */
#define CONVOLVE_BANDED_THREADS(plain, taps) (32 * CONVOLVE_BANDED_WARPS (plain, taps) + 32)
#define CONVOLVE_BANDED_PIXELS(n) ((n) == 1 ? 64 : (n) == 2 ? 32 : 16)
#define CONVOLVE_BANDED_MAX_STAGES 6

/* Bytes from a row of a stage to the next: a strip, its halo in whole fragments of 16 pixels, up to 12 bytes before
 * them; and such that rows of a fragment lie in different banks. */
static inline CONVOLVE_HOST_DEVICE uint32_t
convolve_banded_pitch (uint32_t n, uint32_t taps, uint32_t warps)
{
  uint32_t halo = (taps / 2 * 2 + 15) / 16 * 16;
  uint32_t bytes = (warps * CONVOLVE_BANDED_PIXELS (n) + halo) * n + 12;

  return (bytes - 16 * n + 127) / 128 * 128 + 16 * n;
}

/* What a block needs for each stage beside the rows: three barriers, and room so that what follows is aligned. */
#define CONVOLVE_BANDED_BARRIER_BYTES 32
/* Fragments of 16 x 16 weights, and the bytes of one. */
#define CONVOLVE_BANDED_DEPTH(taps) ((16 + (taps) / 2 * 2 + 15) / 16)
#define CONVOLVE_BANDED_FRAGMENT_BYTES 512

/* Bytes of weights in shared memory; ny: rows of the highest matrix, direct only. */
static inline CONVOLVE_HOST_DEVICE uint32_t
convolve_banded_table_bytes (uint32_t direct, uint32_t taps, uint32_t ny)
{
  return CONVOLVE_BANDED_FRAGMENT_BYTES * (direct ? ny * CONVOLVE_BANDED_DEPTH (taps) + 1 :
      2 * CONVOLVE_BANDED_DEPTH (taps) + 2);
}

/* Stages that a block needs at least: direct holds all the rows that a step's results see. */
static inline CONVOLVE_HOST_DEVICE uint32_t
convolve_banded_least_stages (uint32_t direct, uint32_t ny)
{
  return direct ? (ny - 1 + CONVOLVE_BANDED_ROWS - 1) / CONVOLVE_BANDED_ROWS + 2 : 2;
}

#endif
