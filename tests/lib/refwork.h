/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Between reference.c and refwork.c alone: the samples of one component as doubles, and the filter over them. */
#pragma once

#include "reference.h"

G_BEGIN_DECLS

/* A picture of one component: a frame's or a field's. */
typedef struct {
  gint w, h;
  gdouble *v;
} RefGrid;

/* Where the samples around a line come from. */
typedef struct {
  gint first;
  gint *index;
} RefBorder;

/* What is worked on: one component of one picture. */
typedef struct {
  const GstVideoInfo *info;
  const ConvolveSettings *settings;
  const SampleMap *map;
  const RefTime *time;
  gboolean again;               /* an iteration after the first: of one frame */
  RefBorder x, y;
  gdouble zero, nominal, middle, max, edge;
  gdouble bias, scale;
  gboolean unsure;              /* a jump before the last iteration */
} RefWork;

RefGrid ref_grid_new (gint w, gint h);
gsize ref_grid_size (const RefGrid * grid);
void ref_grids_free (RefGrid * grids, guint n);

/* x and y, for pictures of the grid's size; settings and time are set. */
void ref_work_init_borders (RefWork * work, const RefGrid * grid);
void ref_work_clear (RefWork * work);
/* The sample at x, y, inside the picture or as far outside as the filter reaches. */
gdouble ref_work_get (const RefWork * work, const RefGrid * in, gdouble edge, gint x, gint y);
/* The frames that this iteration sums over. */
guint ref_work_frames (const RefWork * work);
/* cur, the own frame or what came of it, becomes the next iteration's input. in: all frames of the first one, else cur.
 * a: alpha of each of them, as it weighs, and what is outside; NULL: straight. other: as in RefComponent. */
void ref_work_iterate (RefWork * work, RefGrid * cur, const RefGrid * in, const RefGrid * a, gdouble a_edge,
    gdouble * other);

G_END_DECLS
