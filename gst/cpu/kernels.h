/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The vector code of the CPU backend: loops over the samples of rows, once for each instruction set and precision.
 *
 * A working row holds samples of "real" type (float or double, by the precision), the components of a pixel side by
 * side: its lanes. Working rows are CPU_SLACK samples longer than their content, before the end of which kernels may
 * read and write as they like; what they read from and write to pictures is never more than n samples. */
#pragma once

#include "core/box.h"

G_BEGIN_DECLS

/* The widest step of any kernel, in samples. */
#define CPU_SLACK 128
/* Patterns (one number a lane, repeated) are lanes x CPU_PATTERN long. */
#define CPU_PATTERN 64
#define CPU_MAX_LANES 5         /* four components, and alpha of another plane */
/* Bytes of a pattern of alpha: a whole number of pixels of any layout. */
#define CPU_MASK 64
/* So many products of floats are added up in one go at most; longer sums are sums of such sums, since the roundings of
 * n equal terms all go the same way and come to n / 2 times the last bit. */
#define CPU_GROUP 80
/* Integers have no such reason, but the taps of a go should stay in the first level cache. */
#define CPU_GROUP_INTEGERS 320

/* What the samples of a working row are. */
typedef enum {
  CPU_REAL_NONE,
  CPU_REAL_FLOAT,
  CPU_REAL_DOUBLE,
  CPU_REAL_FIXED,               /* gint16: (v - 127.5) x 256 */
  CPU_REAL_FOLDED,              /* gint16: (v - 127.5) x 128 */
  CPU_REAL_CENTRED,             /* gint16: v - 128 */
  CPU_REAL_WORD,                /* guint16 */
  CPU_REAL_LONG,                /* guint32 */
} CpuReal;

/* How words of 16 bits are stored: value = ((swapped word) >> shift) & mask. */
typedef struct {
  guint16 mask;
  guint8 shift;
  guint8 swap;                  /* bytes in the other order than the machine's */
} CpuWord;

/* A sum over samples at any places, for two output rows at a time:
 *   out0[i] = sum of weights[2 t] x at[t][i],  out1[i] = sum of weights[2 t + 1] x at[t][i]
 * Taps are sorted: n0 that only out0 needs, then n01 for both, then n1 for out1 alone. */
typedef struct {
  guint n0, n01, n1;
  const void *const *at;
  const void *weights;
} CpuTaps;

/* From a working row to samples of a picture. */
typedef struct {
  guint bytes;                  /* of a sample: 1 or 2 */
  CpuWord word;                 /* for 2 bytes */
  guint period;                 /* lanes x CPU_PATTERN */
  gboolean uniform;             /* all patterns have the same numbers for all lanes, gain is 1 */
  const void *gain, *offset, *lo, *hi;  /* patterns */
  gint shift, low, high;        /* fixed point: sample = ((sum + low) >> shift) + high */
  gint least, most;             /* pairs: the clamp; high is not used */
  gfloat scale;                 /* boxes: sample = offset + gain x scale x sum */
  /* Boxes of words: t = sum, if that fits into 16 bits (small), or the upper half of sum x 2^box_up;
   * sample = ((t x box_factor >> 16) + low) >> shift. wide: words may have more than 15 bits, sums of others more
   * than 31. */
  gboolean box_small, box_wide;
  gint box_up;
  guint16 box_factor;
} CpuSink;

/* Rows of which running sums for two output rows are made: sum + enter[0] - leave[0] is the first, with enter[1] and
 * leave[1] it becomes the second. */
typedef struct {
  const void *enter[2], *leave[2];
  const void *first[2], *last[2];       /* the rows with the weight end, or NULL if all weights are alike */
} CpuBoxRows;

/* What joins the sums of the terms, for the operations that are not one plain sum. */
typedef enum {
  CPU_JOIN_SUM,                 /* t0 */
  CPU_JOIN_MAGNITUDE,
  CPU_JOIN_UNSHARP,
  CPU_JOIN_WEIGHTED,            /* sum x t0 / t0[alpha] */
} CpuJoinKind;

typedef struct {
  CpuJoinKind kind;
  guint lanes, sum_lanes;       /* of v and out; of t0 and t1 */
  guint alpha;                  /* WEIGHTED: the lane of t0 that is the divisor */
  gdouble amount, sum;
  guint period;
  const void *gain, *offset, *threshold;
  guint8 keep[CPU_MAX_LANES];   /* lanes that stay v */
  gboolean keeps;
} CpuJoin;

typedef struct {
  CpuReal real;
  guint real_bytes;
  guint sum_bytes;              /* of a sum between two goes, or of a running sum */
  guint weight_bytes;           /* of a weight; fixed point has each twice in a 32-bit word */
  guint tap_bytes;              /* of what a direct term's taps lie on: a sample, or a pair of them */
  guint group;                  /* so many taps in one go */

  /* n samples of a picture to a working row. */
  void (*load_u8) (const guint8 * raw, void *x, gsize n);
  void (*load_u16) (const guint8 * raw, void *x, gsize n, const CpuWord * word);
  /* out[i] = sum of w[k] x x[i + k step], k = 0 .. taps - 1. */
  void (*row) (const void *x, void *out, gsize n, guint step, const void *w, guint taps);
  /* out[i] = the pair x[i], x[i + step], where direct terms want that. */
  void (*pair) (const void *x, void *out, gsize n, guint step);
  /* The sum of taps to two working rows; plus these rows if add. */
  void (*sum) (const CpuTaps * taps, void *const out[2], gsize n, gboolean add);
  /* The same with part (two working rows, or NULL) added, then gain, offset, clamp, rounding, to two picture rows. */
  void (*sum_store) (const CpuTaps * taps, const void *const part[2], guint8 * const dst[2], gsize n,
      const CpuSink * sink);
  /* Clamp and rounding of a working row; gain and offset have been applied. */
  void (*store) (const void *x, guint8 * dst, gsize n, const CpuSink * sink);
  /* out = offset + gain x joined terms, for n pixels; lanes kept and samples without weight are v. */
  void (*join) (const CpuJoin * join, const void *t0, const void *t1, const void *v, void *out, gsize n);
  /* Every lane but alpha times alpha, in place; like the loading ones and weigh it writes n pixels exactly. */
  void (*premultiply) (void *x, gsize n, guint lanes, guint alpha);
  /* out = v x a in lanes 0 .. lanes - 1, a in lane lanes. */
  void (*weigh) (const void *v, const void *a, void *out, gsize n, guint lanes);
  /* out[i] = the mean of covers samples from x[i covers] on, over rows; plus out[i] if add. */
  void (*mean) (const void *x, void *out, gsize n, guint covers, guint rows, gboolean add);

  /* For boxes, in integers, so that nothing is rounded however long a sum runs. */
  /* out[i] = the box of x[i], x[i + step], ...; x is overwritten. */
  void (*box_row) (void *x, void *out, gsize n, guint step, const ConvolveBoxLine * axis);
  void (*box_add) (void *sum, const void *row, gsize n, const CpuSink * sink);
  void (*box_store) (void *sum, const CpuBoxRows * rows, const ConvolveBoxLine * axis, guint8 * const dst[2], gsize n,
      const CpuSink * sink);

  /* The following write n samples, or n pixels of lanes samples, exactly. */
  /* out = rows[1] + amount x what flows to it from above, below, and one pixel to both sides; join's threshold is 1 /
   * k. */
  void (*diffuse) (const CpuJoin * join, const void *const rows[3], void *out, gsize n);
  /* out[i] = sum of weights[k] x rows[k][i]; 2, 3 or 5 rows. out may be one of 2 rows. */
  void (*mix) (const void *const *rows, const gdouble * weights, guint n_rows, void *out, gsize n);
  /* Pixel i of out is the low-pass of the pixels 2 i .. 2 i + 4 of x. */
  void (*halve) (const void *x, void *out, gsize n, guint lanes);
  /* Twice as many pixels; the first of out is pixel 2 (odd: 2 + 1) of what x as a whole becomes. */
  void (*twice) (const void *x, void *out, gsize n, gboolean odd, guint lanes);
  /* sum += amount x what v - mean exceeds join's threshold by. */
  void (*enlarge) (const CpuJoin * join, gdouble amount, const void *v, const void *mean, void *sum, gsize n);
  /* For a grid of one pixel for step (2, 4, 8 or 16) of x. sums[k][i] += w[(2 - k) step + row] x x[i]. */
  void (*share) (const void *x, const void *w, guint row, guint step, void *const sums[3], gsize n);
  /* Pixel i of out is the sum of pixels step i + k of x times w[k], k < 3 step; n pixels of out. */
  void (*gather) (const void *x, void *out, gsize n, guint lanes, guint step, const void *w);
  /* Pixel step i + p of out is the sum of pixels i + m of x times w[m step + p], m < 3; step n pixels of out. */
  void (*spread) (const void *x, void *out, gsize n, guint lanes, guint step, const void *w);
} CpuKernels;

typedef struct {
  const gchar *name;            /* "AVX2" */
  CpuKernels single, full;      /* float, double */
  /* 16-bit fixed point, for the sums of step-fixed.c over bytes: samples are (v - 127.5) x 256, a product is a
   * rounding multiply-high, sums may overflow on the way. Has load_u8, row, sum and sum_store, or (CPU_REAL_NONE)
   * nothing. */
  CpuKernels fixed;
  /* The same with samples of half the size, so that two can be added before they are multiplied: for separable terms
   * that are symmetric along both axes. Of n weights there are n / 2 + 1, from the middle on, which counts half. row
   * has them, and sum_store: its taps are all n01 rows of the windows of both output rows, in order. */
  CpuKernels folded;
  /* Samples in pairs, a weight for each, and sums of 32 bits: for direct terms of bytes; or CPU_REAL_NONE. */
  CpuKernels pairs;
  /* Boxes alone, see step-box.c: of bytes to bytes, and of all that fits into 32 bits or into 53. */
  CpuKernels box_bytes, box_longs, box_doubles;
  /* d = (d & keep) | (s & copy) | fill, byte by byte. */
  void (*blend) (guint8 * d, const guint8 * s, const guint8 * keep, const guint8 * copy, const guint8 * fill,
      gsize n);
  /* Whether bytes differ in the bits of mask from the pattern; pattern and mask repeat after CPU_MASK bytes. */
  gboolean (*differ) (const guint8 * bytes, const guint8 * pattern, const guint8 * mask, gsize n);
} CpuIsa;

/* The best that this machine runs; the environment variable CONVOLVE_CPU (baseline, avx2 or avx512) may ask for a
 * lesser one. */
const CpuIsa *convolve_cpu_isa (void);

/* Those of this build. */
extern const CpuIsa convolve_cpu_isa_baseline;
extern const CpuIsa convolve_cpu_isa_avx2;
extern const CpuIsa convolve_cpu_isa_avx512;

G_END_DECLS
