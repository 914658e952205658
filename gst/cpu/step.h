/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A step is what the engine does for one pass of the plan, worked out once: weights in the order in which they are
 * used, the pieces that the picture is cut into, and where everything lies in a thread's memory.
 *
 * A piece is a strip of columns of a band of rows. Its rows are read one after the other (rows.c), extended by the
 * border, and kept in a ring as long as the window of the operation needs them: filtered along x already where a term
 * is separable, as they are where it is direct. Two output rows at a time are then sums over the ring's rows. */
#pragma once

#include "samples.h"

G_BEGIN_DECLS

/* One weight of each of two output rows, on a sample of the window. */
typedef struct {
  guint row;                    /* of the window: 0 is y - above */
  guint offset;                 /* samples from the start of the ring's row */
} CpuTapPlace;

/* Taps that are added up in one go. */
typedef struct {
  guint first;
  guint n0, n01, n1;            /* as in CpuTaps */
  guint row;                    /* of the first tap; the only one if the term is streamed */
} CpuGroup;

typedef struct {
  gboolean separable;
  gboolean streamed;            /* direct, and too large for a ring: each output row reads its rows anew */
  guint x_first;                /* separable: pixels from a row's start to the first tap */
  guint x_taps;
  void *x_weights;
  guint n_taps, n_groups;
  CpuTapPlace *tap;
  void *weights;                /* real, two a tap */
  CpuGroup *group;
  gsize ring;                   /* where its rows are, in a thread's memory */
  gsize ring_pitch;             /* bytes from a row to the next */
} CpuTerm;

/* Places in a thread's memory, in bytes from its start. */
typedef struct {
  gsize index;                  /* gint: what stands in place of the pixels outside */
  gsize words[3];               /* guint16: a gathered row, two rows to be scattered (or dropped) */
  gsize padded;                 /* real, sum_lanes: an input row with its borders */
  gsize plain;                  /* real, lanes: the same before weighing */
  gsize frames;                 /* real, sum_lanes: the same of each frame of a sum, frame_samples apart */
  gsize folded;                 /* real, sum_lanes: their sum */
  gsize alpha;                  /* real: alpha of another plane, and a row of it before the mean */
  gsize alpha_raw;
  gsize window;                 /* pointers: the rows of the ring in order */
  gsize at;                     /* pointers: where the taps lie */
  gsize sum[CONVOLVE_MAX_TERMS][2];     /* real, sum_lanes */
  gsize input[2];               /* real, lanes: the input samples, where the operation wants them */
  gsize result[2];              /* real, lanes */
  gsize size;
} CpuMemory;

/* Into which pieces a picture, or a part of it, is cut. */
typedef struct {
  guint strip, n_strips;        /* pixels */
  guint band, n_bands;          /* rows */
} CpuCut;

typedef struct _CpuStep CpuStep;
typedef struct _CpuPyramid CpuPyramid;   /* pyramid.h */
typedef struct _CpuCoarse CpuCoarse;     /* coarse.h */

struct _CpuStep {
  const ConvolvePass *pass;
  const CpuIsa *isa;
  const CpuKernels *kernels;
  CpuSamples samples;
  guint lanes;                  /* components */
  guint sum_lanes;              /* one more where alpha of another plane weighs */
  guint n_levels;               /* iterations; 1 where nothing is filtered */

  /* Alpha that weighs: its lane among sum_lanes, and where it is read if it is another plane's. */
  gboolean weighted, alpha_apart;
  guint alpha_lane;
  CpuSamples alpha_samples;
  guint8 alpha_mask[CPU_MASK];  /* the bits of alpha in the bytes of its pixels */
  const CpuStep *alpha_step;    /* the step that filters it too, or NULL */

  /* The same operation with no weights: what comes to the same where alpha is the same positive value all over the
   * window. Cut into the same pieces; NULL if there is none. */
  CpuStep *straight;
  ConvolvePass *own_pass;       /* a twin's */

  /* Frames that the first level sums over: when rows are loaded, by these weights, or where there are none by the only
   * term, which is deep. */
  guint n_frames;
  void *t_weights;
  gsize frame_samples;          /* from a frame's row to that of the next */

  guint left, right, above, below;
  guint n_terms;
  CpuTerm term[CONVOLVE_MAX_TERMS];
  ConvolveTerm weights[CONVOLVE_MAX_TERMS];     /* the operation's, or as integers; references */
  gboolean add_terms;           /* the sums of all terms are one sum */
  gboolean fused;               /* sums go to the picture at once, with no row of results between */
  gboolean box;                 /* the only term is a box, for running sums */
  ConvolveBoxLine box_x, box_y;
  gdouble box_unit;             /* what their integers are times */
  gboolean wants_input;
  gboolean diffuses;            /* the only term is not summed, see CpuKernels.diffuse */
  CpuPyramid *pyramid;          /* in place of all terms; n_levels then counts its phases */
  CpuCoarse *coarse;            /* likewise */
  CpuJoin join;
  CpuSink sink;
  void *patterns;
  void *edge;                   /* real, sum_lanes: a pixel outside with the constant border */
  gint *outside;                /* pixel for x = -left .. -1, then width .. width + right - 1 */
  guint8 *masks;                /* keep, copy, fill: a row each; NULL if all is kept */
  gsize row_bytes;              /* of masks */

  gboolean whole;               /* the ring holds every row of the picture, at its own number */
  guint slots;                  /* rows of the ring */
  CpuCut cut;                   /* of the whole picture; no piece is wider */
  CpuMemory memory;

  void *picture[2];             /* between iterations: real, lanes */
  gsize picture_pitch;
};

/* NULL with an error if memory runs out. The pass must outlive the step. */
CpuStep *convolve_cpu_step_new (const ConvolvePass * pass, const CpuIsa * isa, guint n_threads, GError ** error);
/* The step that copies all samples of a pass. */
CpuStep *convolve_cpu_step_new_copy (const ConvolvePass * pass, const CpuIsa * isa, guint n_threads, GError ** error);
void convolve_cpu_step_free (CpuStep * step);
/* Finds the step whose result weighs this one's colours in later iterations. */
void convolve_cpu_step_link_alpha (CpuStep * step, CpuStep * const *steps, guint n_steps);
/* "separable 13x13, float, AVX2, ring of 14 rows, 1 x 6 pieces"; the caller frees it. */
gchar *convolve_cpu_step_describe (const CpuStep * step);

/* step-weights.c: the terms' weights, multiplied by gain, in their order of use. */
void convolve_cpu_step_init_terms (CpuStep * step, gdouble gain);
void convolve_cpu_step_clear_terms (CpuStep * step);
/* weights: n numbers as the step's kernels want them. */
void *convolve_cpu_step_weights (const CpuStep * step, const gdouble * weights, gsize n);
/* step-fixed.c: whether 16-bit fixed point is exact enough for the step; if so, sets its kernels, the sink's numbers
 * and *x and *y, or *matrix, to the only term's weights as integers (gain included). */
gboolean convolve_cpu_step_try_fixed (CpuStep * step, gdouble gain, ConvolveMatrix ** matrix, ConvolveMatrix ** x,
    ConvolveMatrix ** y);
/* The same for pairs: gives back the matrix with two weights in each element, the number of which is a 32-bit word;
 * NULL if it may not be. */
ConvolveMatrix *convolve_cpu_step_try_pairs (CpuStep * step, gdouble gain);
/* step-box.c: whether the only term is a box that running sums do faster; then sets box, its axes and the unit. */
void convolve_cpu_step_find_box (CpuStep * step);
/* Chooses the kernels of a box and sets the sink's numbers, or gives it up where it is too small to gain. */
void convolve_cpu_step_use_box (CpuStep * step, gdouble gain);
/* step-layout.c: cuts the picture into pieces, or into those of another step for the same picture, chooses the ring
 * and lays out a thread's memory. FALSE if sizes overflow. */
gboolean convolve_cpu_step_init_layout (CpuStep * step, guint n_threads, const CpuStep * like);

/* How to cut a part of that size. */
CpuCut convolve_cpu_step_cut (const CpuStep * step, guint width, guint height, guint n_threads);

/* Stores a sample as the step's kernels have it. */
static inline void
convolve_cpu_real_set (const CpuKernels * kernels, void *array, gsize i, gdouble value)
{
  switch (kernels->real) {
    case CPU_REAL_FIXED:
      ((gint16 *) array)[i] = (gint16) ((value - 127.5) * 256);
      break;
    case CPU_REAL_FOLDED:
      ((gint16 *) array)[i] = (gint16) ((value - 127.5) * 128);
      break;
    case CPU_REAL_CENTRED:
      ((gint16 *) array)[i] = (gint16) (value - 128);
      break;
    case CPU_REAL_WORD:
      ((guint16 *) array)[i] = (guint16) value;
      break;
    case CPU_REAL_LONG:
      ((guint32 *) array)[i] = (guint32) value;
      break;
    case CPU_REAL_FLOAT:
      ((gfloat *) array)[i] = (gfloat) value;
      break;
    default:
      ((gdouble *) array)[i] = value;
      break;
  }
}

G_END_DECLS
