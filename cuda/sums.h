/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Boxes by running sums: what host, kernels and the simulated device must agree on, beside params.h.
 *
 * Weights are whole numbers: along each axis reach pixels to both sides count, the two outermost end, all between them
 * inner, times unit in all. A picture is filtered in three launches. Rows are those of the picture and, above and below
 * it, those that the border rule says; sample i of a row is component i % n of pixel i / n.
 *
 *   SUMS_PARTS   Part k is task_rows rows from row_begin - reach_y + k x task_rows on; full[k][i] is the sum of sample
 *                i of them all, first[k][i] that of the first (2 reach_y + 1) % task_rows of them; k < n_parts. 16 bits
 *                a sum for bytes, else 32.
 *   SUMS_STARTS  starts[k][i], 32 bits, is the sum of sample i of the 2 reach_y + 1 rows around row
 *                row_begin + k x task_rows, each once: k < n_tasks. Pixels lie as convolve_sums_start says.
 *   SUMS         With column sums C = (sum of weights_y x samples), C' = C / 2^down rounded, and V = the sum of
 *                weights_x x C' in 32 bits: t = scale x V, and then what FINISH says of FILTER, COPY and FILL for a sum
 *                that is last. plain: that is factor x V / 2^40 rounded, for each component, and within limits.
 *
 * Pixels of source and target are aligned to their size, and to 2 bytes at least where samples are words. */
#ifndef CONVOLVE_CUDA_SUMS_H
#define CONVOLVE_CUDA_SUMS_H

#include "params.h"

typedef struct {
  ConvolveLaunchPicture picture;
  uint64_t full, first, starts; /* device addresses */
  uint32_t pitch;               /* samples from a row of sums to its next: those of a multiple of 8 pixels */
  uint32_t task_rows;           /* at most CONVOLVE_SUMS_TASK_ROWS */
  uint32_t n_tasks, n_parts;
  uint32_t strip;               /* pixels of a row that a block makes, a multiple of a thread's */
  int32_t reach_x, reach_y;
  uint32_t factor;
  float scale;
  uint8_t inner_x, end_x, inner_y, end_y;
  uint8_t border, plain, down, reserved;
} ConvolveSums;

/* 255 x 256 rows of bytes fit in 16 bits. */
#define CONVOLVE_SUMS_TASK_ROWS 256
/* Starts that a thread makes, one after the other. */
#define CONVOLVE_SUMS_CHUNK 8
/* The most threads of a block of SUMS: a multiple of 32. The other two have CONVOLVE_BLOCK_THREADS. */
#define CONVOLVE_SUMS_THREADS 640
/* Pixels of a thread of SUMS: n components of so many bytes. */
#define CONVOLVE_SUMS_PIXELS(bytes, n) ((bytes) == 2 && (n) != 1 ? 4 : 8)
/* Pixels that are a whole number of widest accesses: of 16 bytes, or of 8. */
#define CONVOLVE_SUMS_ALIGNED(bytes, n) ((n) == 3 || (bytes) * (n) == 1 ? 8 : 16 / ((bytes) * (n)))
/* Warps of a block, and those that lie right of the last one and count for nothing. */
#define CONVOLVE_SUMS_TOTALS 64

/* Whole words of a pixel. */
#define CONVOLVE_SUMS_WORDS(bytes, n) ((n) == 3 ? 0 : (bytes) * (n) / 4)

/* Pixels before the strip's first that a block looks at: fetched one by one, or as many as make the first one aligned.
 * ends: outermost weights differ, and then there is one before the first window. */
static inline CONVOLVE_HOST_DEVICE uint32_t
convolve_sums_lead (uint32_t bytes, uint32_t n, uint32_t reach, uint32_t ends)
{
  uint32_t aligned = CONVOLVE_SUMS_WORDS (bytes, n) > 0 ? 1 : CONVOLVE_SUMS_ALIGNED (bytes, n);

  return (reach + ends + aligned - 1) / aligned * aligned;
}

/* Threads of a block: they hold all pixels that the strip's windows reach. */
static inline CONVOLVE_HOST_DEVICE uint32_t
convolve_sums_threads (uint32_t bytes, uint32_t n, uint32_t strip, uint32_t reach, uint32_t ends)
{
  uint32_t pixels = strip + convolve_sums_lead (bytes, n, reach, ends) + reach;
  uint32_t warp = 32 * CONVOLVE_SUMS_PIXELS (bytes, n);

  return (pixels + warp - 1) / warp * 32;
}

/* Where the starts of pixel x lie in their row: neighbouring threads of SUMS find theirs side by side. */
static inline CONVOLVE_HOST_DEVICE uint32_t
convolve_sums_start (uint32_t bytes, uint32_t n, uint32_t pitch, uint32_t x)
{
  uint32_t pixels = CONVOLVE_SUMS_PIXELS (bytes, n);

  return (x % pixels * (pitch / n / pixels) + x / pixels) * n;
}

/* SUMS: two rows of sums along x, those of warps, each pixel's column, rows of the task, and the samples that leave and
 * enter next. */
static inline CONVOLVE_HOST_DEVICE uint32_t
convolve_sums_shared_bytes (uint32_t bytes, uint32_t n, uint32_t threads)
{
  uint32_t pixels = threads * CONVOLVE_SUMS_PIXELS (bytes, n);

  return 4 * (2 * pixels * n + 2 * CONVOLVE_SUMS_TOTALS * n + pixels + 2 * CONVOLVE_SUMS_TASK_ROWS) +
      2 * pixels * n * bytes;
}

#endif
