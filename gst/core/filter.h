/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The filters' weights (docs/filters.md): from settings and a plane's subsampling to an operation. filter.c and
 * filter-means.c make matrices, method.c chooses their form, operation.c puts them together. */
#pragma once

#include "settings.h"

G_BEGIN_DECLS

/* One weighted sum over a neighbourhood. Either matrix, or x and y, are set. */
typedef struct {
  ConvolveMatrix *matrix;       /* direct: the whole matrix, for each frame if it is deep; owned */
  ConvolveMatrix *x;            /* separable: the row of weights (n x 1); owned */
  ConvolveMatrix *y;            /* separable: the column of weights (1 x n); owned */
} ConvolveTerm;

/* A way of computing a term that is a long and smooth mean, by a grid of one value for each step x step samples: along
 * each axis value X is the sum of samples step (X - 1) .. step (X + 2) - 1 times box (3) / step^3 (a line of step ones
 * convolved with itself twice, and a 0 put on either side); the grid is filtered with x and y; sample step X + p is
 * made of values X - 1, X, X + 1 by a quadratic B-spline at t = (p + 1/2) / step - 1/2. The border rule holds for what
 * samples are summed up. */
typedef struct {
  guint step;                   /* 2, 4, 8 or 16; 0: none */
  ConvolveMatrix *x, *y;        /* the grid's row and column of weights; owned */
  gdouble error;                /* at most, for samples of -1 .. 1, whatever the picture */
} ConvolveCoarse;

/* What an error of samples of -1 .. 1 may come to: a fourth of a step of 8-bit samples, which are 127.5 from their
 * middle at most. */
#define CONVOLVE_COARSE_MAX_ERROR (0.25 / 127.5)

/* How the terms t0, t1, ... and the input sample v make one value. */
typedef enum {
  CONVOLVE_COMBINE_SUM,         /* t0 + t1 + ... */
  CONVOLVE_COMBINE_MAGNITUDE,   /* sqrt (t0^2 + t1^2); two terms */
  CONVOLVE_COMBINE_UNSHARP,     /* d = v - t0; v + (|d| > threshold ? amount x d : 0); one term */
  CONVOLVE_COMBINE_DIFFUSE,     /* v + amount x sum over the 4 neighbours q of f (q - v), f (d) = d / (1 + (d /
                                 * threshold)^2); t0 is what that is where threshold is infinite: a 3 x 3 matrix. One
                                 * term, threshold is not 0 */
  CONVOLVE_COMBINE_DETAIL,      /* v + the corrections of a Laplacian pyramid, see level; no term */
} ConvolveCombine;

/* Across frames, the input sample v (and all others) are sums over before + 1 + after frames, the oldest first. Where t
 * is NULL but there are several frames the only term's matrix is deep, and the sum is over all of it. */
#define CONVOLVE_MAX_TERMS 8

typedef struct {
  ConvolveCombine combine;
  guint n_terms;
  ConvolveTerm term[CONVOLVE_MAX_TERMS];
  guint before, after;          /* frames that are older and newer than the one that is written */
  ConvolveMatrix *t;            /* their weights (1 x 1, before + 1 + after deep), or NULL; owned */
  gdouble amount;               /* for CONVOLVE_COMBINE_UNSHARP and CONVOLVE_COMBINE_DIFFUSE */
  /* For CONVOLVE_COMBINE_DETAIL, as docs/filters.md has it: value = G (0) + Q (0), where Q (n_levels) = 0 and Q (l) =
   * E (Q (l + 1)) + level[l] x soft (G (l) - E (G (l + 1))). Outside with the constant border Q is 0. */
  guint n_levels;
  gdouble level[CONVOLVE_MAX_LEVELS];
  gdouble sum;                  /* what a flat area of 1 becomes: the sum of weights, 0 for magnitude, 1 for unsharp */
  gdouble l1;                   /* the largest magnitude that input samples of magnitude 1 can give */
  gdouble growth;               /* how much larger than in its input an error can be; l1 where the filter is linear */
  gboolean has_negative;        /* some weight is negative (always for magnitude and unsharp) */
  guint left, right, above, below;      /* pixels that the filter reaches beyond the output pixel */
  ConvolveMethod method;        /* that was asked for */
  guint composed;               /* 0, or the iterations that this is all at once */
  gdouble step_sum;             /* sum of one of them */
  gboolean split;               /* the terms of a sum are parts of one matrix, whose has_negative and sum these are */
  ConvolveCoarse coarse;        /* another way of the only term, if there is one */
  gchar *why;                   /* owned: why the terms have the form that they have, in words; NULL: no choice */
} ConvolveOperation;

/* Makes the operation of settings for a plane whose pixels are 1 << w_sub by 1 << h_sub luma pixels; scale and bias are
 * not in it. NULL with an error where method cannot be had (direct with more than CONVOLVE_DIRECT_MAX_TAPS,
 * separable for a filter that is not). */
#define CONVOLVE_DIRECT_MAX_TAPS (4100 * 4100)
ConvolveOperation *convolve_operation_new (const ConvolveSettings * settings, guint w_sub, guint h_sub,
    GError ** error);
void convolve_operation_free (ConvolveOperation * operation);
static inline guint
convolve_operation_frames (const ConvolveOperation * operation)
{
  return operation->before + 1 + operation->after;
}

/* Whether it has weights of frames, be it of one. */
static inline gboolean
convolve_operation_is_windowed (const ConvolveOperation * operation)
{
  return operation->t != NULL || convolve_operation_frames (operation) > 1;
}

G_DEFINE_AUTOPTR_CLEANUP_FUNC (ConvolveOperation, convolve_operation_free)
/* The levels that the pyramid of a picture has, at most the operation's. */
guint convolve_operation_levels (const ConvolveOperation * operation, gint width, gint height);
/* The threshold of settings, or what suits the filter; above 0 for diffuse. */
gdouble convolve_settings_threshold (const ConvolveSettings * settings);
/* TRUE if it gives back its input, exactly. */
gboolean convolve_operation_is_identity (const ConvolveOperation * operation);
/* Short: "separable 13x13", "direct 3x3", "magnitude of separable 3x3, separable 3x3", "3 frames, direct 3x3". */
gchar *convolve_operation_describe (const ConvolveOperation * operation);

/* Of a picture's line of so many samples, how many values its grid has, and how many of these come before that of the
 * first samples; line: the grid's weights along it. */
gint convolve_coarse_length (const ConvolveCoarse * coarse, const ConvolveMatrix * line, gint length);
guint convolve_coarse_margin (const ConvolveMatrix * line);

/* The name that properties, plans and tests use: "gaussian". */
const gchar *convolve_filter_name (ConvolveFilter filter);
const gchar *convolve_border_name (ConvolveBorder border);

G_END_DECLS
