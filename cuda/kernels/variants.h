/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The one list of compiled kernels. The .cu files instantiate from it, module.c looks up from it, the backend chooses
 * from it, the simulated device, the tests and the benchmarks walk it: a kernel cannot exist unloaded or untested.
 *
 * X (name, source, route, samples, terms, taps):
 *   name     the GPU function, also the word in plans and logs
 *   source   the .cu file, and the fatbin of that name
 *   route    STENCIL    one thread a pixel, straight from memory: the baseline of tests and benchmarks
 *            SEPARABLE  rows and columns in one pass over the frame
 *            MATRIX     a whole matrix from a shared-memory tile
 *            BANDED     rows and columns in one pass as products of matrices (compute capability 8.0 or more)
 *            PLAIN      the same where nothing but rounding comes after the sums; U16: gain, offset and limits too
 *            WEIGHTED   PLAIN for four components of which one is alpha, and colours count as much as they are opaque
 *            DIRECT     a whole matrix as products of matrices (8.0 or more)
 *            FOLDED     rows and columns of a sum over frames, as products of matrices (8.0 or more); U16: as PLAIN
 *            FOLDED_WEIGHTED  the same as WEIGHTED
 *            SUMS...    boxes by running sums, in three launches (../sums.h)
 *            STAGE_...  steps over float pictures in scratch memory: whatever the others cannot; STAGE_STEPS and
 *                       STAGE_DIFFUSE_STEPS do several iterations in one; STAGE_SHRINK and STAGE_GROW go from samples
 *                       to a coarse grid and back
 *   samples  U8, U16: components side by side, native byte order; ANY: everything else (packed 4:2:2, 10:10:10:2,
 *            other byte order, unaligned rows); FLOAT, WIDE: scratch pictures of one or two floats a sample
 *   terms    terms that it sums or combines; SUMS: components of a pixel
 *   taps     both sides of the matrix, at compile time (weights in the launch, smaller matrices padded with zeros by
 *            the host); 0: any, told by the launch (weights in device memory); BANDED to FOLDED_WEIGHTED: the most of
 *            a side (weights in device memory); STAGE_STEPS: the most that a side may have with its anchor in the
 *            middle; STAGE_SHRINK, STAGE_GROW: pixels from a value of the grid to the next; SUMS: 1 where the mean is
 *            all that is asked for */
#ifndef CONVOLVE_CUDA_VARIANTS_H
#define CONVOLVE_CUDA_VARIANTS_H

#define CONVOLVE_VARIANTS_STENCIL(X) \
  X (stencil, stencil, STENCIL, ANY, 2, 0)

#define CONVOLVE_VARIANTS_SEPARABLE(X) \
  X (separable_u8_t1_n3, separable, SEPARABLE, U8, 1, 3) \
  X (separable_u8_t1_n5, separable, SEPARABLE, U8, 1, 5) \
  X (separable_u8_t1_n7, separable, SEPARABLE, U8, 1, 7) \
  X (separable_u8_t1_n9, separable, SEPARABLE, U8, 1, 9) \
  X (separable_u8_t1, separable, SEPARABLE, U8, 1, 0) \
  X (separable_u8_t2_n3, separable, SEPARABLE, U8, 2, 3) \
  X (separable_u8_t2, separable, SEPARABLE, U8, 2, 0) \
  X (separable_u16_t1_n3, separable, SEPARABLE, U16, 1, 3) \
  X (separable_u16_t1_n5, separable, SEPARABLE, U16, 1, 5) \
  X (separable_u16_t1_n7, separable, SEPARABLE, U16, 1, 7) \
  X (separable_u16_t1_n9, separable, SEPARABLE, U16, 1, 9) \
  X (separable_u16_t1, separable, SEPARABLE, U16, 1, 0) \
  X (separable_u16_t2_n3, separable, SEPARABLE, U16, 2, 3) \
  X (separable_u16_t2, separable, SEPARABLE, U16, 2, 0) \
  X (separable_any_t1, separable, SEPARABLE, ANY, 1, 0) \
  X (separable_any_t2, separable, SEPARABLE, ANY, 2, 0)

#define CONVOLVE_VARIANTS_MATRIX(X) \
  X (matrix_u8_t1_n3, matrix, MATRIX, U8, 1, 3) \
  X (matrix_u8_t1_n5, matrix, MATRIX, U8, 1, 5) \
  X (matrix_u8_t1_n7, matrix, MATRIX, U8, 1, 7) \
  X (matrix_u8_t1, matrix, MATRIX, U8, 1, 0) \
  X (matrix_u8_t2_n3, matrix, MATRIX, U8, 2, 3) \
  X (matrix_u8_t2, matrix, MATRIX, U8, 2, 0) \
  X (matrix_u16_t1_n3, matrix, MATRIX, U16, 1, 3) \
  X (matrix_u16_t1_n5, matrix, MATRIX, U16, 1, 5) \
  X (matrix_u16_t1_n7, matrix, MATRIX, U16, 1, 7) \
  X (matrix_u16_t1, matrix, MATRIX, U16, 1, 0) \
  X (matrix_u16_t2_n3, matrix, MATRIX, U16, 2, 3) \
  X (matrix_u16_t2, matrix, MATRIX, U16, 2, 0) \
  X (matrix_any_t1, matrix, MATRIX, ANY, 1, 0) \
  X (matrix_any_t2, matrix, MATRIX, ANY, 2, 0)

#define CONVOLVE_VARIANTS_BANDED(X) \
  X (banded_u8_t1_n9, banded, BANDED, U8, 1, 9) \
  X (banded_u8_t1_n17, banded, BANDED, U8, 1, 17) \
  X (banded_u8_t1_n33, banded, BANDED, U8, 1, 33) \
  X (banded_u8_t1_n65, banded, BANDED, U8, 1, 65)

#define CONVOLVE_VARIANTS_PLAIN(X) \
  X (plain_u8_n9, plain, PLAIN, U8, 1, 9) \
  X (plain_u8_n17, plain, PLAIN, U8, 1, 17) \
  X (plain_u8_n33, plain, PLAIN, U8, 1, 33) \
  X (plain_u8_n65, plain, PLAIN, U8, 1, 65)

#define CONVOLVE_VARIANTS_WORDS(X) \
  X (plain_u16_n9, words, PLAIN, U16, 1, 9) \
  X (plain_u16_n17, words, PLAIN, U16, 1, 17) \
  X (plain_u16_n33, words, PLAIN, U16, 1, 33) \
  X (plain_u16_n49, words, PLAIN, U16, 1, 49)

#define CONVOLVE_VARIANTS_WEIGHTED(X) \
  X (weighted_u8_n9, weighted, WEIGHTED, U8, 1, 9) \
  X (weighted_u8_n17, weighted, WEIGHTED, U8, 1, 17) \
  X (weighted_u8_n33, weighted, WEIGHTED, U8, 1, 33) \
  X (weighted_u8_n65, weighted, WEIGHTED, U8, 1, 65)

#define CONVOLVE_VARIANTS_DIRECT(X) \
  X (direct_u8_n9, direct, DIRECT, U8, 1, 9) \
  X (direct_u8_n17, direct, DIRECT, U8, 1, 17) \
  X (direct_u8_n33, direct, DIRECT, U8, 1, 33)

#define CONVOLVE_VARIANTS_FOLDED(X) \
  X (folded_u8_n9, folded, FOLDED, U8, 1, 9) \
  X (folded_u8_n17, folded, FOLDED, U8, 1, 17) \
  X (folded_u8_n33, folded, FOLDED, U8, 1, 33)

#define CONVOLVE_VARIANTS_FOLDED_WORDS(X) \
  X (folded_u16_n9, folded_words, FOLDED, U16, 1, 9) \
  X (folded_u16_n17, folded_words, FOLDED, U16, 1, 17) \
  X (folded_u16_n33, folded_words, FOLDED, U16, 1, 33)

#define CONVOLVE_VARIANTS_FOLDED_WEIGHTED(X) \
  X (folded_weighted_u8_n9, folded_weighted, FOLDED_WEIGHTED, U8, 1, 9) \
  X (folded_weighted_u8_n17, folded_weighted, FOLDED_WEIGHTED, U8, 1, 17) \
  X (folded_weighted_u8_n33, folded_weighted, FOLDED_WEIGHTED, U8, 1, 33)

#define CONVOLVE_VARIANTS_SUMS(X) \
  X (sums_parts_u8, sums, SUMS_PARTS, U8, 1, 0) \
  X (sums_parts_u16, sums, SUMS_PARTS, U16, 1, 0) \
  X (sums_starts_u8, sums, SUMS_STARTS, U8, 1, 0) \
  X (sums_starts_u16, sums, SUMS_STARTS, U16, 1, 0) \
  X (sums_u8_n1, sums, SUMS, U8, 1, 0) \
  X (sums_u8_n2, sums, SUMS, U8, 2, 0) \
  X (sums_u8_n3, sums, SUMS, U8, 3, 0) \
  X (sums_u8_n4, sums, SUMS, U8, 4, 0) \
  X (sums_mean_u8_n1, sums, SUMS, U8, 1, 1) \
  X (sums_mean_u8_n2, sums, SUMS, U8, 2, 1) \
  X (sums_mean_u8_n3, sums, SUMS, U8, 3, 1) \
  X (sums_mean_u8_n4, sums, SUMS, U8, 4, 1) \
  X (sums_u16_n1, sums, SUMS, U16, 1, 0) \
  X (sums_u16_n2, sums, SUMS, U16, 2, 0) \
  X (sums_u16_n4, sums, SUMS, U16, 4, 0) \
  X (sums_mean_u16_n1, sums, SUMS, U16, 1, 1) \
  X (sums_mean_u16_n2, sums, SUMS, U16, 2, 1) \
  X (sums_mean_u16_n4, sums, SUMS, U16, 4, 1)

#define CONVOLVE_VARIANTS_STAGE(X) \
  X (stage_load, stage, STAGE_LOAD, FLOAT, 1, 0) \
  X (stage_rows, stage, STAGE_ROWS, FLOAT, 1, 0) \
  X (stage_columns, stage, STAGE_COLUMNS, FLOAT, 1, 0) \
  X (stage_matrix, stage, STAGE_MATRIX, FLOAT, 1, 0) \
  X (stage_finish, stage, STAGE_FINISH, FLOAT, 2, 0) \
  X (stage_fold, stage, STAGE_FOLD, FLOAT, 1, 0) \
  X (stage_diffuse, stage, STAGE_DIFFUSE, FLOAT, 1, 0) \
  X (stage_reduce, stage, STAGE_REDUCE, FLOAT, 1, 0) \
  X (stage_correct, stage, STAGE_CORRECT, FLOAT, 1, 0) \
  X (stage_load_wide, stage, STAGE_LOAD, WIDE, 1, 0) \
  X (stage_rows_wide, stage, STAGE_ROWS, WIDE, 1, 0) \
  X (stage_columns_wide, stage, STAGE_COLUMNS, WIDE, 1, 0) \
  X (stage_matrix_wide, stage, STAGE_MATRIX, WIDE, 1, 0) \
  X (stage_finish_wide, stage, STAGE_FINISH, WIDE, 2, 0) \
  X (stage_fold_wide, stage, STAGE_FOLD, WIDE, 1, 0) \
  X (stage_diffuse_wide, stage, STAGE_DIFFUSE, WIDE, 1, 0) \
  X (stage_reduce_wide, stage, STAGE_REDUCE, WIDE, 1, 0) \
  X (stage_correct_wide, stage, STAGE_CORRECT, WIDE, 1, 0)

#define CONVOLVE_VARIANTS_STEPS(X) \
  X (steps_n3, steps, STAGE_STEPS, FLOAT, 1, 3) \
  X (steps_n5, steps, STAGE_STEPS, FLOAT, 1, 5) \
  X (steps_diffuse, steps, STAGE_DIFFUSE_STEPS, FLOAT, 1, 3)

#define CONVOLVE_VARIANTS_LINES(X) \
  X (lines_rows, lines, STAGE_LONG_ROWS, FLOAT, 1, 0) \
  X (lines_columns, lines, STAGE_LONG_COLUMNS, FLOAT, 1, 0)

#define CONVOLVE_VARIANTS_COARSE(X) \
  X (coarse_shrink_n2, coarse, STAGE_SHRINK, U8, 1, 2) \
  X (coarse_shrink_n4, coarse, STAGE_SHRINK, U8, 1, 4) \
  X (coarse_shrink_n8, coarse, STAGE_SHRINK, U8, 1, 8) \
  X (coarse_shrink_n16, coarse, STAGE_SHRINK, U8, 1, 16) \
  X (coarse_grow_n2, coarse, STAGE_GROW, U8, 1, 2) \
  X (coarse_grow_n4, coarse, STAGE_GROW, U8, 1, 4) \
  X (coarse_grow_n8, coarse, STAGE_GROW, U8, 1, 8) \
  X (coarse_grow_n16, coarse, STAGE_GROW, U8, 1, 16)

#define CONVOLVE_VARIANTS(X) \
  CONVOLVE_VARIANTS_STENCIL (X) \
  CONVOLVE_VARIANTS_SEPARABLE (X) \
  CONVOLVE_VARIANTS_MATRIX (X) \
  CONVOLVE_VARIANTS_BANDED (X) \
  CONVOLVE_VARIANTS_PLAIN (X) \
  CONVOLVE_VARIANTS_WORDS (X) \
  CONVOLVE_VARIANTS_WEIGHTED (X) \
  CONVOLVE_VARIANTS_DIRECT (X) \
  CONVOLVE_VARIANTS_FOLDED (X) \
  CONVOLVE_VARIANTS_FOLDED_WORDS (X) \
  CONVOLVE_VARIANTS_FOLDED_WEIGHTED (X) \
  CONVOLVE_VARIANTS_SUMS (X) \
  CONVOLVE_VARIANTS_STAGE (X) \
  CONVOLVE_VARIANTS_STEPS (X) \
  CONVOLVE_VARIANTS_LINES (X) \
  CONVOLVE_VARIANTS_COARSE (X)

/* The sources, each a fatbin of its own. */
#define CONVOLVE_SOURCES(X) \
  X (stencil) X (separable) X (matrix) X (banded) X (plain) X (words) X (weighted) X (direct) X (folded) \
  X (folded_words) X (folded_weighted) X (sums) X (stage) X (steps) X (lines) X (coarse)

enum {
  CONVOLVE_ROUTE_STENCIL,
  CONVOLVE_ROUTE_SEPARABLE,
  CONVOLVE_ROUTE_MATRIX,
  CONVOLVE_ROUTE_BANDED,
  CONVOLVE_ROUTE_PLAIN,
  CONVOLVE_ROUTE_WEIGHTED,
  CONVOLVE_ROUTE_DIRECT,
  CONVOLVE_ROUTE_FOLDED,
  CONVOLVE_ROUTE_FOLDED_WEIGHTED,
  CONVOLVE_ROUTE_SUMS_PARTS,
  CONVOLVE_ROUTE_SUMS_STARTS,
  CONVOLVE_ROUTE_SUMS,
  CONVOLVE_ROUTE_STAGE_LOAD,
  CONVOLVE_ROUTE_STAGE_ROWS,
  CONVOLVE_ROUTE_STAGE_COLUMNS,
  CONVOLVE_ROUTE_STAGE_MATRIX,
  CONVOLVE_ROUTE_STAGE_FINISH,
  CONVOLVE_ROUTE_STAGE_FOLD,
  CONVOLVE_ROUTE_STAGE_DIFFUSE,
  CONVOLVE_ROUTE_STAGE_REDUCE,
  CONVOLVE_ROUTE_STAGE_CORRECT,
  CONVOLVE_ROUTE_STAGE_STEPS,
  CONVOLVE_ROUTE_STAGE_DIFFUSE_STEPS,
  CONVOLVE_ROUTE_STAGE_LONG_ROWS,
  CONVOLVE_ROUTE_STAGE_LONG_COLUMNS,
  CONVOLVE_ROUTE_STAGE_SHRINK,
  CONVOLVE_ROUTE_STAGE_GROW,
};

enum {
  CONVOLVE_SAMPLES_U8,
  CONVOLVE_SAMPLES_U16,
  CONVOLVE_SAMPLES_ANY,
  CONVOLVE_SAMPLES_FLOAT,
  CONVOLVE_SAMPLES_WIDE,
};

#endif
