/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Passes that are pyramids (CONVOLVE_COMBINE_DETAIL). Each application of the filter is a number of phases, which the
 * program's levels count through: the frame becomes level 0 (the first time alone), level 1 .. n are made from it, then
 * the corrections of level n - 1 .. 0. The last phase writes the frame, or what the next application begins with. */
#pragma once

#include "parts.h"
#include "engine.h"

G_BEGIN_DECLS

typedef struct {
  gint width, height;
  gsize pitch;                  /* bytes from a row to the next, of both pictures */
  guint8 *picture;              /* real, lanes: the level itself */
  guint8 *correction;           /* of levels 1 .. n - 1, else NULL */
} CpuPyramidLevel;

struct _CpuPyramid {
  guint n_levels;               /* steps down: level 0 .. n_levels exist */
  guint n_phases;               /* of one application */
  CpuPyramidLevel level[CONVOLVE_MAX_LEVELS + 1];
  guint8 *edge, *zero;          /* a pixel outside with the constant border: of a level, of a correction */
  /* Places in a thread's memory: a row that is being made from a level's, twice; means; corrections. */
  gsize row, mean, sum;
};

/* Makes step->pyramid, its memory and what engine.c needs to write rows. FALSE if memory runs out. */
gboolean convolve_cpu_pyramid_init (CpuStep * step, guint n_threads);
void convolve_cpu_pyramid_free (CpuPyramid * pyramid);
/* Appends to parts->part what a phase has to make; regions: NULL is the whole frame. */
void convolve_cpu_pyramid_list (CpuParts * parts, const CpuStep * step, const ConvolveRegions * regions, guint level);
void convolve_cpu_pyramid_run (CpuPiece * piece);

G_END_DECLS
