/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the user asked for, as plain data: one field for each property that says what a pixel becomes. */
#pragma once

#include "border.h"
#include "matrix.h"

G_BEGIN_DECLS

typedef enum {
  CONVOLVE_FILTER_IDENTITY,
  CONVOLVE_FILTER_CUSTOM,
  CONVOLVE_FILTER_GAUSSIAN,
  CONVOLVE_FILTER_BOX,
  CONVOLVE_FILTER_DISK,
  CONVOLVE_FILTER_MOTION,
  CONVOLVE_FILTER_SHARPEN,
  CONVOLVE_FILTER_UNSHARP,
  CONVOLVE_FILTER_LAPLACIAN,
  CONVOLVE_FILTER_LAPLACIAN8,
  CONVOLVE_FILTER_LOG,
  CONVOLVE_FILTER_DOG,
  CONVOLVE_FILTER_SOBEL,
  CONVOLVE_FILTER_SCHARR,
  CONVOLVE_FILTER_PREWITT,
  CONVOLVE_FILTER_ROBERTS,
  CONVOLVE_FILTER_EMBOSS,
  CONVOLVE_FILTER_DETAIL,
  CONVOLVE_FILTER_DIFFUSE,
  CONVOLVE_N_FILTERS
} ConvolveFilter;

typedef enum {
  CONVOLVE_GRADIENT_MAGNITUDE,
  CONVOLVE_GRADIENT_X,
  CONVOLVE_GRADIENT_Y,
} ConvolveGradient;

typedef enum {
  CONVOLVE_CHANNEL_LUMA = 1 << 0,       /* also grey */
  CONVOLVE_CHANNEL_CHROMA = 1 << 1,
  CONVOLVE_CHANNEL_RGB = 1 << 2,
  CONVOLVE_CHANNEL_ALPHA = 1 << 3,
  CONVOLVE_CHANNEL_ALL = 15
} ConvolveChannels;

typedef enum {
  CONVOLVE_ALPHA_AUTO,          /* weighted unless the filter has negative weights */
  CONVOLVE_ALPHA_STRAIGHT,
  CONVOLVE_ALPHA_WEIGHTED,
} ConvolveAlphaMode;

typedef enum {
  CONVOLVE_CLAMP_FORMAT,        /* to what the format holds */
  CONVOLVE_CLAMP_NOMINAL,       /* to 16-235 and 16-240 (times 2^(depth - 8)) where the caps say limited range */
} ConvolveClamp;

/* Levels of a pyramid: more than any picture of GStreamer's has. */
#define CONVOLVE_MAX_LEVELS 16

typedef enum {
  CONVOLVE_METHOD_AUTO,         /* the plan chooses */
  CONVOLVE_METHOD_DIRECT,       /* one sum over the whole matrix */
  CONVOLVE_METHOD_SEPARABLE,    /* row and column passes; an error where the filter is not separable */
  CONVOLVE_METHOD_LOWRANK,      /* a sum of such pairs; an error where that takes too many */
  CONVOLVE_METHOD_SUMS,         /* rows and columns that are boxes, by running sums where the backend has them */
  CONVOLVE_METHOD_PYRAMID,      /* for detail, and for large gaussians of bytes */
  CONVOLVE_N_METHODS
} ConvolveMethod;

/* What CONVOLVE_METHOD_AUTO goes by: the costs of which backend. Each runs every plan. */
typedef enum {
  CONVOLVE_COSTS_CPU,
  CONVOLVE_COSTS_CUDA,
  CONVOLVE_N_COSTS
} ConvolveCosts;

typedef enum {
  CONVOLVE_TEMPORAL_CENTERED,   /* of n frames, n / 2 are newer than the one that is written */
  CONVOLVE_TEMPORAL_CAUSAL,     /* none is */
} ConvolveTemporalMode;

typedef struct {
  ConvolveFilter filter;
  ConvolveMatrix *kernel;       /* custom: the matrix, of one frame or several, or NULL; owned */
  ConvolveMatrix *kernel_x;     /* custom separable: row (n x 1) or NULL; owned. Used when kernel is NULL */
  ConvolveMatrix *kernel_y;     /* custom separable: column (1 x n) or NULL (then 1); owned */
  ConvolveMatrix *kernel_t;     /* a row of weights of frames, the oldest first, or NULL; owned; with any filter, but
                                 * not with a kernel of several frames */
  ConvolveTemporalMode temporal_mode;
  gboolean normalize;           /* custom, kernel_t: divide by the sum of weights unless that is 0 */
  gdouble scale, bias;          /* bias in nominal ranges: -1..1 and beyond */
  gdouble sigma, sigma_y;       /* luma pixels, 0..1000; sigma_y < 0: as sigma */
  gint radius;                  /* luma pixels, -1..1024; -1: the radius with sigma's standard deviation */
  gdouble amount;               /* factor */
  gdouble threshold;            /* in nominal ranges, 0..1; < 0: what suits the filter */
  gdouble angle;                /* degrees, counter-clockwise, 0 points right */
  ConvolveGradient gradient;
  ConvolveBorder border;
  guint32 border_color;         /* 0xAARRGGBB, full-range R'G'B' */
  ConvolveChannels channels;
  ConvolveAlphaMode alpha_mode;
  ConvolveClamp clamp;
  guint iterations;             /* 1..1024 */
  gint levels;                  /* detail: 1..CONVOLVE_MAX_LEVELS */
  ConvolveMatrix *detail_gains; /* detail: a row of at most CONVOLVE_MAX_LEVELS, from the finest level on; owned. NULL:
                                 * 2 for each level */
  ConvolveMethod method;
  ConvolveCosts costs;          /* not the user's: whoever makes a plan for a backend says so */
} ConvolveSettings;

void convolve_settings_init (ConvolveSettings * settings);      /* the defaults of the design */
/* to is overwritten, not cleared. */
void convolve_settings_copy (ConvolveSettings * to, const ConvolveSettings * from);
void convolve_settings_clear (ConvolveSettings * settings);     /* drops the matrices */
gboolean convolve_settings_equal (const ConvolveSettings * a, const ConvolveSettings * b);

G_END_DECLS
