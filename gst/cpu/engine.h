/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Runs one piece of a step. */
#pragma once

#include "core/frame.h"

#include "step.h"

G_BEGIN_DECLS

/* A piece on its thread. */
typedef struct {
  const CpuStep *step;
  guint level;                  /* which of the iterations, from 0 */
  const ConvolveFrame *in, *out;
  guint8 *memory;               /* step->memory.size bytes */
  gint x0, x1, y0, y1;          /* what is to be written */
} CpuPiece;

/* memory: step->memory.size bytes of this thread alone, aligned to cache lines. */
void convolve_cpu_engine_run (const CpuStep * step, guint level, guint item, const ConvolveFrame * in,
    const ConvolveFrame * out, guint8 * memory);

/* rows.c */

/* Works out what stands left and right of the strip; once a piece. */
void convolve_cpu_piece_map_borders (const CpuPiece * piece);
/* Row y, also outside the picture, with the pixels that the window reaches left and right of the strip: real,
 * sum_lanes, weighed by alpha if the step wants it. */
void convolve_cpu_piece_load_window_row (const CpuPiece * piece, gint y, void *to);
/* The strip of row y of the picture as it is: real, lanes. */
void convolve_cpu_piece_load_input (const CpuPiece * piece, gint y, void *to);

static inline guint8 *
convolve_cpu_frame_row (const ConvolvePass * pass, const ConvolveFrame * frame, guint plane, gint y)
{
  gssize row = (gssize) pass->row_first + (gssize) y * pass->row_step;

  return frame->data[plane] + row * frame->stride[plane];
}

static inline guint8 *
convolve_cpu_picture_row (const CpuStep * step, guint level, gint y)
{
  return (guint8 *) step->picture[level & 1] + (gsize) y * step->picture_pitch;
}

G_END_DECLS
