/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which pieces of which steps make a frame, or a part of it, one list for each iteration. */
#pragma once

#include "core/region.h"

#include "step.h"

G_BEGIN_DECLS

typedef struct {
  const CpuStep *step;
  ConvolveRect rect;            /* of the pass's picture, at most step->cut.strip wide */
} CpuPart;

typedef struct {
  const ConvolvePlan *plan;
  guint n_steps;
  CpuStep **step;               /* of each pass */
  CpuStep **copy;               /* the same pass, with everything copied */
  guint n_threads;
  guint n_levels;
  gboolean whole_levels;        /* iterations before the last are made whole: others than their own pass read them */

  GArray *part;                 /* CpuPart, of the level in work */
  GArray *rest;                 /* ConvolveRect: what regions leave out */
  GArray *level;                /* ConvolveRect: of one pass */
} CpuParts;

/* The lists alone. */
void convolve_cpu_parts_init (CpuParts * parts);
void convolve_cpu_parts_clear (CpuParts * parts);
/* For phases that cut their pictures themselves: pieces of rect to parts->part, a few a thread, at most strip wide and,
 * but for the last, at least rows high. */
void convolve_cpu_parts_append (CpuParts * parts, const CpuStep * step, const ConvolveRect * rect, gint strip,
    gint rows);
/* Fills parts->part for a level; regions: NULL is the whole frame. Levels go up from 0. */
void convolve_cpu_parts_list (CpuParts * parts, const ConvolveRegions * regions, guint level);

G_END_DECLS
