/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The plan: what has to be done to a frame, as immutable data. It names operations and needs, never an
 * implementation; every backend makes a program of its own from it.
 *
 * For an output sample of component c:
 *   value  = combine (terms)                         (filter.h; over input samples, border rule outside)
 *   result = clamp (round (offset + gain x value), lo, hi)
 * rounding to nearest, ties to even, once. With iterations > 1 value becomes offset + gain x value, unrounded and
 * unclamped, and is the input of the next one. Only the first of them sums over frames. */
#pragma once

#include "filter.h"
#include "format.h"

G_BEGIN_DECLS

typedef enum {
  CONVOLVE_ACTION_FILTER,
  CONVOLVE_ACTION_COPY,         /* the input sample, unchanged */
  CONVOLVE_ACTION_FILL,         /* the value fill */
} ConvolveAction;

/* All numbers are in steps of the sample's own depth (0 .. 2^depth - 1). */
typedef struct {
  ConvolveAction action;
  gdouble gain, offset;
  gdouble lo, hi;               /* integers: the clamp */
  gdouble edge;                 /* integer: what stands outside the picture with the constant border */
  gdouble fill;                 /* integer */
  gdouble threshold;            /* for CONVOLVE_COMBINE_UNSHARP, _DIFFUSE and _DETAIL */
} ConvolvePassComponent;

typedef enum {
  CONVOLVE_PRECISION_SINGLE,    /* float arithmetic keeps the contract (within 1 of the exact result) */
  CONVOLVE_PRECISION_DOUBLE,    /* large weights or many taps: float does not */
} ConvolvePrecision;

/* Colours weighted by alpha:
 *   value = sum x (sum of k a v) / (sum of k a), where sum is the operation's;
 * the sample is copied where the divisor is not positive. Only with CONVOLVE_COMBINE_SUM. Alpha components
 * themselves are always filtered straight. */
typedef struct {
  gboolean weighted;
  ConvolveLayout layout;        /* where alpha lies: this pass's own layout or another plane's */
  guint component;              /* in that layout */
  gint width, height;           /* of alpha's grid, of one field */
  guint w_sub, h_sub;           /* log2 of this pass's subsampling against alpha's: the weight of a pixel is the mean of
                                 * the alpha samples that it covers (those inside the picture) */
  gdouble edge;                 /* alpha outside the picture with the constant border */
} ConvolvePassAlpha;

/* One layout of one picture (a frame or a field). Passes are independent of each other. */
typedef struct {
  ConvolveLayout layout;
  gint width, height;           /* pixels of the layout's grid, of one field if row_step is 2; at least 1 */
  guint row_first, row_step;    /* row y of the picture is row row_first + y * row_step of the memory plane */
  const ConvolveOperation *operation;   /* owned by the plan; NULL if no component is filtered */
  ConvolvePassComponent component[CONVOLVE_MAX_COMPONENTS];
  ConvolvePassAlpha alpha;
  ConvolveBorder border;
  guint iterations;
  guint n_levels;               /* of a pyramid, for CONVOLVE_COMBINE_DETAIL: as many as the picture has */
  ConvolvePrecision precision;
  gboolean coarse;              /* the operation's grid is near enough, and is to be taken by backends that can ... */
  gdouble coarse_error;         /* ... which puts results wrong by this before they are rounded, at most */
} ConvolvePass;

typedef struct _ConvolvePlan ConvolvePlan;

struct _ConvolvePlan {
  gint ref_count;               /* atomic */
  GstVideoInfo info;
  gboolean fields;
  gboolean identity;            /* every sample is copied: the element may pass buffers through */
  /* Whether samples are sums over frames: of so many that are older than the one that is written, and newer. */
  gboolean windowed;
  guint before, after;
  guint n_passes;
  ConvolvePass *pass;           /* owned */
  guint n_operations;
  ConvolveOperation **operations;       /* owned */
};

/* Makes the plan of settings for frames of info; fields: each field is a picture of its own. NULL with an error that
 * names the property to change. */
ConvolvePlan *convolve_plan_new (const GstVideoInfo * info, const ConvolveSettings * settings, gboolean fields,
    GError ** error);
ConvolvePlan *convolve_plan_ref (ConvolvePlan * plan);
void convolve_plan_unref (ConvolvePlan * plan);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (ConvolvePlan, convolve_plan_unref)
/* Readable, one line a pass; the caller frees it. */
gchar *convolve_plan_describe (const ConvolvePlan * plan);

G_END_DECLS
