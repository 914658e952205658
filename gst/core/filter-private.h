/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Between filter.c, filter-means.c, coarse.c, compose.c, ellipse.c, method.c, operation.c, pass.c and plan.c alone (and
 * for their tests). */
#pragma once

#include "filter.h"

G_BEGIN_DECLS

/* FALSE for NaN. */
static inline gboolean
convolve_in_range (gdouble value, gdouble lo, gdouble hi)
{
  return value >= lo && value <= hi;
}

/* Fills combine, the terms, t and amount of an operation that is all zero, for a plane of that subsampling: each
 * term as its definition is written, separable or not, neither trimmed nor measured. The settings' numbers have been
 * checked. FALSE with an error for custom matrices of the wrong shape. */
gboolean convolve_filter_build (const ConvolveSettings * settings, guint w_sub, guint h_sub,
    ConvolveOperation * operation, GError ** error);

/* operation.c: a term's figures, and its end. */
guint convolve_term_width (const ConvolveTerm * term);
guint convolve_term_height (const ConvolveTerm * term);
gboolean convolve_term_has_negative (const ConvolveTerm * term);
void convolve_term_clear (ConvolveTerm * term);
/* Of a term's weights times those of frames. */
gboolean convolve_operation_has_negative (const ConvolveOperation * operation, const ConvolveTerm * term);

/* method.c: gives the terms the form that settings ask for, or the cheapest. FALSE with an error where it cannot be
 * had. */
gboolean convolve_operation_apply_method (ConvolveOperation * operation, const ConvolveSettings * settings,
    GError ** error);

/* What an operation costs a sample, as method.c counts it; and by its grid. */
gdouble convolve_operation_cost (const ConvolveOperation * operation, ConvolveCosts of);
gdouble convolve_coarse_cost (const ConvolveCoarse * coarse, gint width, gint height, ConvolveCosts of);

/* compose.c: makes one operation of all iterations, where that comes to the same. It has been measured, and has to be
 * again if TRUE. */
gboolean convolve_operation_compose (ConvolveOperation * operation, const ConvolveSettings * settings);

/* coarse.c: finds the largest step whose error is at most `most`. */
gboolean convolve_coarse_find (ConvolveCoarse * coarse, const ConvolveTerm * term, gdouble most);
void convolve_coarse_clear (ConvolveCoarse * coarse);

/* The area of the part of [x0, x1] x [y0, y1] (0 <= x0 < x1, 0 <= y0 < y1) inside the ellipse of radii rx, ry around
 * the origin; to about 1e-12. */
gdouble convolve_ellipse_area (gdouble rx, gdouble ry, gdouble x0, gdouble x1, gdouble y0, gdouble y1);

G_END_DECLS
