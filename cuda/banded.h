/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Geometry of the banded and plain routes: what host, kernels and the simulated device must agree on, beside params.h.
 *
 * A block has CONVOLVE_BANDED_WARPS (plain, taps) working warps side by side, and one more that loads for them; taps are
 * the variant's. Its strip is CONVOLVE_BANDED_PIXELS (n) pixels a warp wide; task_rows is a multiple of
 * CONVOLVE_BANDED_ROWS. Blocks, tasks and grid are counted as for the other routes. Terms have at most taps weights a
 * side, of which at most taps / 2 lie on either side of the anchor, and they are half floats' values. */
#ifndef CONVOLVE_CUDA_BANDED_H
#define CONVOLVE_CUDA_BANDED_H

#include "params.h"

#define CONVOLVE_BANDED_ROWS 16
#define CONVOLVE_BANDED_MAX_TAPS 65
#define CONVOLVE_BANDED_WARPS(plain, taps) ((plain) ? ((taps) > 33 ? 11 : 15) : ((taps) > 33 ? 7 : 11))
/* Blocks that a multiprocessor holds at a time: the grid is so many times larger than it has of those. */
#define CONVOLVE_BANDED_BLOCKS(plain, taps) 1
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

/* What a block needs beside its stages: three barriers for each of them (24 bytes; more, so that what follows is
 * aligned), and a table of weights. */
#define CONVOLVE_BANDED_BARRIER_BYTES 32
#define CONVOLVE_BANDED_EXTRA_BYTES (CONVOLVE_BANDED_BARRIER_BYTES * CONVOLVE_BANDED_MAX_STAGES + 12 * 512)

#endif
