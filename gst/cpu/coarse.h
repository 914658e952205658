/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Passes by a coarse grid (ConvolveCoarse). They are made in phases, which the program's levels count through: samples
 * are summed up to the grid, its rows are filtered, then its columns, and the last phase writes the frame. */
#pragma once

#include "parts.h"
#include "engine.h"

G_BEGIN_DECLS

struct _CpuCoarse {
  const ConvolveCoarse *grid;   /* the operation's */
  gint width, height;           /* values of the grid */
  gint margin_x, margin_y;      /* of these before the value of the first samples */
  gsize pitch;                  /* bytes from a row to the next, of both */
  guint8 *values[2];            /* real, lanes: the grid itself; its filtered rows */
  void *x_weights, *y_weights;  /* real; the column's twice each, as CpuTaps has them */
  void *down;                   /* real: 3 x step weights */
  void *up;                     /* real: step places for each of three values */
  gsize row, sums[3];           /* places in a thread's memory: a row with its borders, what it adds to */
  gsize line;                   /* a row between those of the grid */
  gsize samples;                /* of row and each of sums, without slack */
};

/* Makes step->coarse and its memory. FALSE if memory runs out. */
gboolean convolve_cpu_coarse_init (CpuStep * step);
void convolve_cpu_coarse_free (CpuCoarse * coarse);
/* Appends to parts->part what a phase has to make; regions: NULL is the whole frame. */
void convolve_cpu_coarse_list (CpuParts * parts, const CpuStep * step, const ConvolveRegions * regions, guint level);
void convolve_cpu_coarse_run (CpuPiece * piece);

G_END_DECLS
