/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a kernel is told: one struct a launch, shared by the host (C), the kernels (CUDA C) and the simulated device of
 * the tests. Fixed-width types, no pointers of the host; the size is asserted on both sides. */
#ifndef CONVOLVE_CUDA_PARAMS_H
#define CONVOLVE_CUDA_PARAMS_H

#include <stdint.h>

#ifdef __CUDACC__
#define CONVOLVE_HOST_DEVICE __host__ __device__ constexpr
#else
#define CONVOLVE_HOST_DEVICE
#endif

/* Pictures a launch can hold: 4 layouts x 2 fields. */
#define CONVOLVE_LAUNCH_PICTURES 8
/* Weights that travel inside the launch (they reach the kernel through the constant bank); what does not fit lies in
 * the program's own device memory. */
#define CONVOLVE_LAUNCH_WEIGHTS 352
/* Frames that a launch can sum over; more go through stages. */
#define CONVOLVE_FOLDED_MAX_FRAMES 5

/* How a sample is stored, as the kernels tell them apart. */
enum {
  CONVOLVE_STORE_U8,            /* bytes */
  CONVOLVE_STORE_U16,           /* 16-bit words, value << shift; swapped if swap is set */
  CONVOLVE_STORE_BITS32,        /* fields of a 32-bit word a pixel */
};

/* What happens to a component (ConvolveAction's numbers). */
enum { CONVOLVE_DO_FILTER, CONVOLVE_DO_COPY, CONVOLVE_DO_FILL };

/* How terms combine (ConvolveCombine's numbers). */
enum { CONVOLVE_DO_SUM, CONVOLVE_DO_MAGNITUDE, CONVOLVE_DO_UNSHARP, CONVOLVE_DO_DIFFUSE, CONVOLVE_DO_DETAIL };

/* Borders: ConvolveBorder's numbers. */

typedef struct {
  float gain, offset;           /* result = clamp (round (offset + gain x value), lo, hi) */
  float lo, hi;
  float edge;                   /* outside the picture with the constant border */
  float fill;
  float threshold;              /* unsharp */
  uint8_t action;               /* CONVOLVE_DO_FILTER ... */
  uint8_t at;                   /* bytes from the pixel's first byte to the sample's word; 0 for BITS32 */
  uint8_t shift;                /* bits below the sample in its word */
  uint8_t depth;                /* bits of the sample */
} ConvolveLaunchComponent;      /* 32 bytes */

/* One pass of the plan: samples that share a grid. */
typedef struct {
  uint64_t src, dst;            /* device addresses of the picture's row 0 */
  int32_t src_stride, dst_stride;       /* bytes from a row of the picture to its next; may be negative */
  int32_t width, height;        /* pixels */
  int32_t row_begin, row_end;   /* the output rows that this launch makes: a band; the border is still the picture's */
  uint32_t first_block;         /* blocks of this picture are first_block .. first_block + blocks_x * blocks_y - 1 */
  uint32_t blocks_x, blocks_y;
  uint8_t store;                /* CONVOLVE_STORE_U8 ... */
  uint8_t swap;                 /* 16-bit words are in the other byte order */
  uint8_t pixel_step;           /* bytes from a pixel to the next */
  uint8_t n_components;
  uint8_t contiguous;           /* component c lies at c * sample size and pixel_step is all of them: wide access */
  uint8_t weights;              /* which set of weights (launch.set) */
  uint16_t task_rows;           /* rows of a block's task: see the geometry below */
  uint8_t weighted;             /* colours count as much as they are opaque: a sum of k a v, divided by that of k a */
  uint8_t alpha;                /* weighted: the component that is a, first or last, filtered as it is; one term */
  uint8_t plain;                /* nothing but rounding comes after the sums */
  uint8_t reserved;
  float sum;                    /* weighted: of the weights; value = sum x (sum of k a v) / (sum of k a), or the input's
                                 * sample where the divisor is not positive */
  ConvolveLaunchComponent component[4];
} ConvolveLaunchPicture;        /* 200 bytes */

/* One term of a set: nx x ny weights (direct, row by row), or nx of the row, then ny of the column (separable). */
typedef struct {
  uint32_t first;               /* index of its first weight in launch.weight or in the memory at launch.weights */
  uint16_t nx, ny;
  uint16_t ax, ay;              /* anchor */
} ConvolveLaunchTerm;           /* 12 bytes */

typedef struct {
  ConvolveLaunchTerm term[2];
  uint32_t n_terms;
} ConvolveLaunchSet;            /* 28 bytes */

typedef struct {
  ConvolveLaunchPicture picture[CONVOLVE_LAUNCH_PICTURES];
  ConvolveLaunchSet set[4];     /* distinct subsamplings have sets of their own */
  uint64_t weights;             /* variants of any taps: device address of all weights, as float; else 0 */
  float amount;                 /* unsharp */
  uint32_t n_pictures;
  uint32_t n_blocks;            /* blocks of all pictures; the grid may be smaller: blocks then loop */
  uint8_t combine;              /* CONVOLVE_DO_SUM ... */
  uint8_t border;
  uint8_t separable;            /* terms are rows and columns */
  uint8_t stages;               /* banded: stages of shared memory, at least 2 ... */
  uint32_t stage_bytes;         /* ... and the bytes of one, enough for every picture */
  float weight[CONVOLVE_LAUNCH_WEIGHTS];
  /* folded: the sum is over so many frames; rows of frame f, the oldest first, are frame[f] bytes (a multiple of 16)
   * behind those of the pictures' src, which are in the frame that is copied from. 0: src alone. */
  uint32_t n_frames;
  uint32_t reserved;
  int64_t frame[CONVOLVE_FOLDED_MAX_FRAMES];
} ConvolveLaunch;

/* The staged route: samples become float pictures in scratch memory, stages go from one to another, and the last makes
 * samples again. It does whatever a plan can hold.
 *
 * A float picture has width x height pixels of K values, tightly packed, from address in: value c of pixel (x, y) is
 * float (y x width + x) x K + c. K is picture.n_components, plus one if weighted: the last value is then alpha. Wide
 * pictures hold two floats a value, hi at 2 i and lo at 2 i + 1, value = hi + lo exactly; so do wide weights. Stages
 * make rows row_begin .. row_end - 1 of their picture, and all K values of a pixel, whatever their action.
 *
 *   LOAD      out[c] = the sample of picture.src; weighted: out[n] = the mean of the alpha samples that it covers:
 *             columns x << alpha_w_sub .. ((x + 1) << alpha_w_sub) - 1, rows likewise, those inside alpha_width x
 *             alpha_height. Nothing is multiplied here.
 *   ROWS      out = sum over i < nx of weights[i] x in(x + i - ax, y)
 *   MATRIX    out = sum over j < ny, i < nx of weights[j x nx + i] x in(x + i - ax, y + j - ay)
 *             both, weighted: in(...)[c] counts as in[c] x in[n] for c < n where component c is not alpha (bit c of
 *             straight is clear); straight ones and in[n] count as they are. Outside with the constant border stands
 *             edge[c] (x edge[n] likewise).
 *   COLUMNS   out = sum over j < ny of weights[j] x in(x, y + j - ay); nothing is multiplied. Outside with the constant
 *             border stands what ROWS makes of a row outside: edge[c] (x edge[n] likewise) x sum, sum being that of the
 *             row's weights. If there is a second, second is added: sums of more than two terms.
 *             MATRIX with add set: the same, added to what out holds.
 *   FOLD      out[c] = sum over f < nx of weights[f] x the sample of frame f, whose picture's row 0 is at frame[f] (all
 *             frames lie as picture.src does), plus what out holds if add is set. Weighted: colours count as sample x
 *             alpha, and out[n] = the sum of weights[f] x alpha, the mean as in LOAD, from frame_alpha[f]. Components
 *             that are copied get the sample of frame own, if own is less than nx, and weigh nothing.
 *   DIFFUSE   out = in + amount x sum of f (in(q) - in) over the 4 neighbours q; f (d) = d / (1 + (d x
 *             threshold[c])^2), threshold being the inverse of the filter's. Never weighted; nor are the next two.
 *   REDUCE    out = sum over i, j = -2 .. 2 of c[i] c[j] in(2 x + i, 2 y + j), c = (1 4 6 4 1) / 16; in has
 *             other_width x other_height pixels
 *   CORRECT   out = E (second) + amount x soft (in - E (before)), soft (d) = d less what of it lies in -threshold[c] ..
 *             threshold[c]; second and before have other_width x other_height pixels. Along each axis E (p) is at 2 x
 *             (p(x - 1) + 6 p(x) + p(x + 1)) / 8, at 2 x + 1 (p(x) + p(x + 1)) / 2. No second: 0. Outside with the
 *             constant border stand edge[c] for before, 0 for second.
 *   STEPS     MATRIX and FINISH (SUM, not last) steps times, without add, of what FILTER says; other components stay as
 *             they are. If last is set the last MATRIX's sums are left as they are. Neither side of the matrix reaches
 *             farther than the variant's taps / 2 from its anchor. Never weighted.
 *   DIFFUSE_STEPS  the same with DIFFUSE
 *   LONG_ROWS, LONG_COLUMNS  the same as ROWS and COLUMNS, never wide
 *   SHRINK    From samples to a grid of one value for each D x D of them, D being the variant's taps: float pictures of
 *             other_width x other_height pixels and one value each, one below the other for each component, of which
 *             pixel (ax, ay) stands for pixels 0 .. D - 1 of rows 0 .. D - 1.
 *             Along each axis value X sums pixels D (X - 1) .. D (X + 2) - 1 of those, with weights box (3) / D^3: box
 *             (3) is a line of D ones convolved with itself twice, a 0 put on either side. What is outside of picture
 *             is by the border rule, edge being picture.component's; all of the grid is made. Bytes that are
 *             contiguous alone; never weighted; nor is the next.
 *   GROW      The way back: in is the grid. Along each axis pixel D X + p is made of the values X - 1, X, X + 1, by
 *             (1/2 - t)^2 / 2, 3/4 - t^2, (1/2 + t)^2 / 2, where t = (p + 1/2) / D - 1/2. Then FILTER or COPY is done
 *             as FINISH does with last set; copies are of picture.src.
 *   FINISH    For each component, t = in[c], + second[c] if there is a second (SUM), or sqrt (in[c]^2 + second[c]^2)
 *             (MAGNITUDE), or with d = before[c] - t: before[c] + (|d| > threshold[c] ? amount x d : 0) (UNSHARP).
 *             Weighted and not straight: D = in[n] (+ second[n]); if D > 0 then t = sum x t / D, else the component is
 *             kept as with COPY. DIFFUSE: t = in[c]; DETAIL: t = before[c] + in[c].
 *             FILTER: r = offset[c] + gain[c] x t; COPY: r = before[c]; FILL: r = fill.
 *             last: the sample is round (r) to nearest even, limited to lo .. hi (COPY: to 0 .. 2^depth - 1), and
 *             written to picture.dst. Not last: out[c] = r, unrounded, unlimited; weighted: out[n] is D if
 *             alpha_filtered is 1; if it is 2, the mean, as in LOAD, of what it covers of the float picture at alpha
 *             (one value a pixel, alpha_width x alpha_height); else before[n].
 * before is the picture that this iteration filtered: what LOAD or the FINISH before it wrote. out never overlaps in,
 * second or before. */
#define CONVOLVE_STAGE_FRAMES 16

typedef struct {
  ConvolveLaunchPicture picture;        /* src: LOAD, SHRINK, GROW; dst: FINISH with last, GROW */
  uint64_t in, out, second, before;     /* device addresses of float pictures; 0 where there is none */
  uint64_t weights;             /* device address of this stage's weights */
  uint64_t alpha;               /* LOAD, weighted: device address of alpha's row 0; FINISH: see there */
  double gain[4], offset[4], threshold[4];      /* as in picture.component, unrounded */
  double edge[5];               /* outside with the constant border, for each value of a pixel */
  double amount, sum;
  uint64_t frame[CONVOLVE_STAGE_FRAMES], frame_alpha[CONVOLVE_STAGE_FRAMES];    /* FOLD: device addresses */
  int32_t alpha_stride, alpha_width, alpha_height;
  int32_t other_width, other_height;    /* REDUCE, CORRECT, SHRINK, GROW */
  uint16_t nx, ny, ax, ay;
  uint16_t own;                 /* FOLD */
  uint8_t add;                  /* FOLD, MATRIX */
  uint8_t op;                   /* CONVOLVE_STAGE_... */
  uint8_t combine, border;
  uint8_t alpha_store, alpha_swap, alpha_step, alpha_at, alpha_shift, alpha_depth;
  uint8_t alpha_w_sub, alpha_h_sub;
  uint8_t wide;
  uint8_t weighted;             /* float pictures carry one more value: alpha */
  uint8_t straight;             /* weighted: bit c says that component c is not multiplied (it is alpha itself) */
  uint8_t alpha_filtered;       /* which alpha the next iteration weighs with */
  uint8_t last;                 /* FINISH makes samples */
  uint8_t steps;                /* STEPS, DIFFUSE_STEPS: at least 1 */
} ConvolveStage;

enum {
  CONVOLVE_STAGE_LOAD,
  CONVOLVE_STAGE_ROWS,
  CONVOLVE_STAGE_COLUMNS,
  CONVOLVE_STAGE_MATRIX,
  CONVOLVE_STAGE_FINISH,
  CONVOLVE_STAGE_FOLD,
  CONVOLVE_STAGE_DIFFUSE,
  CONVOLVE_STAGE_REDUCE,
  CONVOLVE_STAGE_CORRECT,
  CONVOLVE_STAGE_STEPS,
  CONVOLVE_STAGE_DIFFUSE_STEPS,
  CONVOLVE_STAGE_LONG_ROWS,
  CONVOLVE_STAGE_LONG_COLUMNS,
  CONVOLVE_STAGE_SHRINK,
  CONVOLVE_STAGE_GROW,
};

/* ---- Geometry: what host and kernels must agree on ---------------------------------------------------------------
 *
 * Every kernel of this product runs in one-dimensional grids (a picture may be two million rows high) of
 * CONVOLVE_BLOCK_THREADS threads. stencil and the stages loop: thread t of T takes pixels (stage: see stage.cu) t,
 * t + T, ... of the rows row_begin .. row_end - 1; any grid size is right for them.
 *
 * separable and matrix: a block owns a strip of CONVOLVE_WARP_PIXELS (n_components) pixels and task_rows rows; block b
 * of a picture is strip b % blocks_x, rows row_begin + (b / blocks_x) * task_rows and on; blocks_y =
 * ceil ((row_end - row_begin) / task_rows). Blocks
 * beyond n_blocks end at once; a grid smaller than n_blocks loops. Dynamic shared memory as said by the two
 * functions below, for the largest term and picture of the launch. */
#define CONVOLVE_BLOCK_THREADS 256
#define CONVOLVE_BLOCK_WARPS 8
/* Rows that a block finishes before it moves on: each of its warps makes CONVOLVE_WARP_ROWS of them. */
#define CONVOLVE_WARP_ROWS 4
#define CONVOLVE_STEP_ROWS (CONVOLVE_BLOCK_WARPS * CONVOLVE_WARP_ROWS)
/* Pixels of a lane and of a warp: four samples a lane, three with three components. */
#define CONVOLVE_LANE_PIXELS(n) ((n) == 1 ? 4 : (n) == 2 ? 2 : 1)
#define CONVOLVE_WARP_PIXELS(n) (32 * CONVOLVE_LANE_PIXELS (n))
/* Lines that a warp loads at once. */
#define CONVOLVE_WARP_LINES 4
/* The widest and highest terms that the fused separable route takes; the rest goes through stages. */
#define CONVOLVE_SEPARABLE_MAX_TAPS 65
/* The matrix route takes any size: it walks the matrix in pieces of at most this many rows and columns. */
#define CONVOLVE_MATRIX_PIECE_ROWS 8
#define CONVOLVE_MATRIX_PIECE_COLUMNS 32

/* Floats of a line of shared memory that holds a strip and the halo of taps pixels: whole 16-byte vectors, and one more
 * that the last lane may load without using it. */
static inline CONVOLVE_HOST_DEVICE uint32_t
convolve_line_floats (uint32_t n, uint32_t taps)
{
  return ((CONVOLVE_WARP_PIXELS (n) + taps - 1) * n + 3) / 4 * 4 + 4;
}

/* separable: for each warp its lines of the strip and its halo (n components), then for each term a ring of
 * CONVOLVE_STEP_ROWS + ny - 1 filtered rows, then the weights padded for the sliding window; floats. */
static inline CONVOLVE_HOST_DEVICE uint32_t
convolve_separable_shared_bytes (uint32_t n, uint32_t nx, uint32_t ny, uint32_t n_terms)
{
  uint32_t ring = (CONVOLVE_STEP_ROWS + ny - 1) * CONVOLVE_WARP_PIXELS (n) * n;

  return 4 * (CONVOLVE_BLOCK_WARPS * CONVOLVE_WARP_LINES * convolve_line_floats (n, nx) + n_terms * ring +
      n_terms * (nx + ny + 2 * CONVOLVE_WARP_ROWS));
}

/* matrix: the tile of the strip, a piece's halo and CONVOLVE_STEP_ROWS rows; then the piece's weights, a row of zeros
 * before and after; floats. piece_x, piece_y: columns and rows of the largest piece. */
static inline CONVOLVE_HOST_DEVICE uint32_t
convolve_matrix_shared_bytes (uint32_t n, uint32_t piece_x, uint32_t piece_y, uint32_t n_terms)
{
  return 4 * (convolve_line_floats (n, piece_x) * (CONVOLVE_STEP_ROWS + piece_y - 1) +
      n_terms * piece_x * (piece_y + 2 * CONVOLVE_WARP_ROWS));
}

/* lines: along rows a block makes CONVOLVE_LINES_PIXELS pixels of CONVOLVE_LINES_GROUPS rows at a time, down columns
 * CONVOLVE_BLOCK_THREADS floats of 16 rows; it loops over what is more. Shared memory holds the weights, zeros behind
 * them up to a multiple of 16, and for rows as many lines as there are groups, with a hole after each 8 floats. */
#define CONVOLVE_LINES_PIXELS 512
#define CONVOLVE_LINES_THREADS (CONVOLVE_LINES_PIXELS / 8)
#define CONVOLVE_LINES_GROUPS (CONVOLVE_BLOCK_THREADS / CONVOLVE_LINES_THREADS)

static inline CONVOLVE_HOST_DEVICE uint32_t
convolve_lines_taps (uint32_t taps)
{
  return (taps + 15) / 16 * 16;
}

static inline CONVOLVE_HOST_DEVICE uint32_t
convolve_lines_floats (uint32_t taps)
{
  /* As many more as are loaded beyond the last tap. */
  return (CONVOLVE_LINES_PIXELS + convolve_lines_taps (taps) + 8) / 8 * 9;
}

static inline CONVOLVE_HOST_DEVICE uint32_t
convolve_lines_shared_bytes (uint32_t taps, int rows)
{
  return 4 * (convolve_lines_taps (taps) + (rows ? CONVOLVE_LINES_GROUPS * convolve_lines_floats (taps) : 0));
}

/* coarse: a block of SHRINK makes CONVOLVE_SHRINK_COLUMNS x CONVOLVE_SHRINK_ROWS pixels of the grid, there
 * is one for each, in reading order. A thread of GROW makes four columns of CONVOLVE_GROW_ROWS rows, and loops over
 * what is more. Both make all of their picture. */
#define CONVOLVE_SHRINK_COLUMNS 32
#define CONVOLVE_SHRINK_ROWS 14
#define CONVOLVE_GROW_ROWS 16

/* steps: a block has a tile of so many floats a row and so many rows, twice. What is its own, without the reach that
 * all steps of the launch have together, is the smaller the farther they reach: in pixels of n components, and in rows;
 * 0: none. It is at least as wide and high as the reach, so that the border rule needs nothing beyond the tile. Block b
 * makes the tiles b, b + blocks, ... in reading order. */
#define CONVOLVE_STEPS_COLUMNS(n) ((n) <= 2 ? 128 : 256)
#define CONVOLVE_STEPS_ROWS(n) ((n) <= 2 ? 64 : 32)
#define CONVOLVE_STEPS_SHARED_BYTES (2 * 4 * 8192)

static inline CONVOLVE_HOST_DEVICE int32_t
convolve_steps_own_columns (uint32_t n, int32_t reach)
{
  int32_t own = (int32_t)(CONVOLVE_STEPS_COLUMNS (n) / n) - 2 * reach;

  return own < reach ? 0 : own;
}

static inline CONVOLVE_HOST_DEVICE int32_t
convolve_steps_own_rows (uint32_t n, int32_t reach)
{
  int32_t own = CONVOLVE_STEPS_ROWS (n) - 2 * reach;

  return own < reach ? 0 : own;
}

#if defined(__cplusplus)
static_assert (sizeof (ConvolveLaunchComponent) == 32, "shared struct");
static_assert (sizeof (ConvolveLaunch) <= 4096, "kernel parameters are at most 4 KiB");
static_assert (sizeof (ConvolveStage) <= 4096, "kernel parameters are at most 4 KiB");
#else
_Static_assert (sizeof (ConvolveLaunchComponent) == 32, "shared struct");
_Static_assert (sizeof (ConvolveLaunch) <= 4096, "kernel parameters are at most 4 KiB");
_Static_assert (sizeof (ConvolveStage) <= 4096, "kernel parameters are at most 4 KiB");
#endif

#endif
