/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which part of a picture is filtered: lists of rectangles, from what users and detectors name to what backends can
 * walk. */
#pragma once

#include "plan.h"

G_BEGIN_DECLS

/* Pixels x0 <= x < x1, y0 <= y < y1. */
typedef struct {
  gint x0, y0, x1, y1;
} ConvolveRect;

/* Rectangles of luma pixels of the whole frame: none is empty, all lie inside the picture, no two overlap, and their
 * sides are at whole samples of every plane (and field), or at the picture's edge. */
typedef struct {
  guint n;
  const ConvolveRect *rect;
} ConvolveRegions;

/* Regions of a frame up to which each is exact; more of them grow outward to a grid of that many columns and rows. */
#define CONVOLVE_REGIONS_EXACT 256
#define CONVOLVE_REGIONS_GRID 64

/* Appends a rectangle of any place and size to rects, an array of ConvolveRect. */
void convolve_rects_add (GArray * rects, gint64 x, gint64 y, gint64 width, gint64 height);
/* Makes any rectangles what ConvolveRegions wants, for frames of the plan: they grow outward to whole samples, and what
 * is outside the picture or empty is dropped. invert: those that cover the rest of the picture. */
void convolve_plan_fit_rects (const ConvolvePlan * plan, GArray * rects, gboolean invert);
/* The same for any picture, exact for any number: sides at multiples of align_x and align_y, or at the edge. */
void convolve_rects_fit (GArray * rects, gint width, gint height, gint align_x, gint align_y, gboolean invert);
/* TRUE if they are the whole picture. */
gboolean convolve_plan_is_covered (const ConvolvePlan * plan, const GArray * rects);

/* The pixels of a pass (of its grid, of its field) that belong to a rectangle of regions; may be empty: a rectangle of
 * one row has none in the other field. */
ConvolveRect convolve_pass_rect (const ConvolvePass * pass, const ConvolveRect * rect);
/* The pixels that must be known of what is `times` iterations earlier to filter those of rect. */
ConvolveRect convolve_pass_reach (const ConvolvePass * pass, const ConvolveRect * rect, guint times);

static inline gboolean
convolve_rect_is_empty (const ConvolveRect * rect)
{
  return rect->x0 >= rect->x1 || rect->y0 >= rect->y1;
}

G_END_DECLS
