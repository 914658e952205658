/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Runs one piece of a step. */
#pragma once

#include "core/frame.h"
#include "core/region.h"

#include "step.h"

G_BEGIN_DECLS

/* What is known of alpha in the rows of a piece. */
typedef struct {
  gdouble value;                /* that rows are compared with; less than 0: none yet */
  guint8 pattern[CPU_MASK];     /* pixels that have it */
  gint scanned;                 /* rows before this one have been compared */
  gint uneven;                  /* the last of them that has another value anywhere */
} CpuEven;

/* A piece on its thread. */
typedef struct {
  const CpuStep *step;          /* or its straight twin, whichever the rows in work take */
  guint level;                  /* which of the iterations, from 0 */
  const ConvolveFrame *in, *out;
  const ConvolveFrame *const *frames;   /* that the first level sums over */
  guint8 *memory;               /* step->memory.size bytes */
  gint x0, x1, y0, y1;          /* what is to be written */
  CpuEven even;
  const gint *cancelled;        /* atomic: when set, the rest need not be made */
  gboolean summed;              /* the running sums of a box are those of the rows before the next */
} CpuPiece;

/* What pieces of a frame have in common. */
typedef struct {
  const ConvolveFrame *in, *out;
  const ConvolveFrame *const *frames;   /* the window, of which in is one; NULL: in alone */
  const gint *cancelled;
} CpuJob;

/* part: of the pass's picture, at most step->strip wide. memory: step->memory.size bytes of this thread alone, aligned
 * to cache lines. */
void convolve_cpu_engine_run (const CpuStep * step, guint level, const ConvolveRect * part, const CpuJob * job,
    guint8 * memory);

/* rows.c */

/* Works out what stands left and right of the strip; once a piece. */
void convolve_cpu_piece_map_borders (const CpuPiece * piece);
/* Row y, also outside the picture, with the pixels that the window reaches left and right of the strip: real,
 * sum_lanes, weighed by alpha if the step wants it. Of several frames it is their sum, or, for a deep term, the rows of
 * all, frame_samples apart. */
void convolve_cpu_piece_load_window_row (const CpuPiece * piece, gint y, void *to);
/* The strip of row y of the picture as it is: real, lanes. Where the operation works on the input itself, the sum over
 * frames. */
void convolve_cpu_piece_load_input (const CpuPiece * piece, gint y, void *to);

/* The same of any operation; straight. */
void convolve_cpu_piece_load_sum (const CpuPiece * piece, gint y, void *to);

/* even.c */

/* Whether all alpha samples that rows y .. end - 1 of the piece see have the same positive value. To be asked for rows
 * further down each time. */
gboolean convolve_cpu_piece_is_even (CpuPiece * piece, const CpuStep * step, gint y, gint end);

/* Writes a row of results (real, lanes) to the frame, with what is not filtered. */
void convolve_cpu_piece_store_row (const CpuPiece * piece, gint y, const void *result);

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
