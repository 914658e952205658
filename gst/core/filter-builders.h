/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Between filter.c and filter-means.c alone: what the functions that make weights share. */
#pragma once

#include "filter.h"

G_BEGIN_DECLS

/* Lengths on a plane's own grid. Subsampling divides by 1, 2 or 4, so nothing is rounded here. */
typedef struct {
  gdouble sub_x, sub_y;
  gdouble sigma_x, sigma_y;
} ConvolvePlaneScale;

/* Both take the matrices. */
static inline void
convolve_add_separable (ConvolveOperation * operation, ConvolveMatrix * x,
    ConvolveMatrix * y)
{
  ConvolveTerm *term = &operation->term[operation->n_terms++];

  term->x = x;
  term->y = y;
}

static inline void
convolve_add_direct (ConvolveOperation * operation, ConvolveMatrix * matrix)
{
  operation->term[operation->n_terms++].matrix = matrix;
}

/* The line of weights as a row, or as a column. */
static inline ConvolveMatrix *
convolve_line_matrix (gboolean column, guint n, const gdouble * weights)
{
  return convolve_matrix_new (column ? 1 : n, column ? n : 1, weights);
}

/* Room for a line of 2 half + 1 weights. */
static inline gdouble *
convolve_line_new (guint half)
{
  return g_new0 (gdouble, 2 * (gsize) half + 1);
}

/* Divides a matrix by its sum, if that is not 0. */
void convolve_make_sum_one (ConvolveMatrix ** matrix);
/* Cosine and sine of an angle in degrees. Multiples of 90 are exact, so that a line along an axis has no weights beside
 * that axis. */
void convolve_cos_sin_degrees (gdouble degrees, gdouble * cosine, gdouble * sine);

/* filter-means.c */
gboolean convolve_build_box (const ConvolveSettings * settings, const ConvolvePlaneScale * scale,
    ConvolveOperation * operation, GError ** error);
gboolean convolve_build_disk (const ConvolveSettings * settings, const ConvolvePlaneScale * scale,
    ConvolveOperation * operation, GError ** error);
gboolean convolve_build_motion (const ConvolveSettings * settings, const ConvolvePlaneScale * scale,
    ConvolveOperation * operation, GError ** error);

G_END_DECLS
