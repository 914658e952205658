/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <string.h>

#include "engine.h"
#include "coarse.h"
#include "pyramid.h"

#define MIN_LOT 32              /* rows; even */

static inline guint8 *
at (const CpuPiece * piece, gsize place)
{
  return piece->memory + place;
}

/* Asked as often as some milliseconds of work are done: a frame of thousands of
 * taps a pixel takes minutes. */
static inline gboolean
is_cancelled (const CpuPiece * piece)
{
  return g_atomic_int_get (piece->cancelled);
}

/* ---- the ring ---- */

static inline guint8 *
ring_row (const CpuPiece * piece, const CpuTerm * term, guint slot)
{
  return at (piece, term->ring) + slot * term->ring_pitch;
}

/* Row y, once loaded, goes to slot of the rings of all terms. */
static void
fill_slot (const CpuPiece * piece, gint y, guint slot)
{
  const CpuStep *step = piece->step;
  const CpuKernels *kernels = step->kernels;
  gsize pixel = step->sum_lanes * kernels->real_bytes;
  gsize samples = (gsize) (piece->x1 - piece->x0) * step->sum_lanes;
  guint8 *row, *shared = NULL;

  /* Direct terms share a ring of the rows themselves, or of their pairs. */
  for (guint i = 0; i < step->n_terms; i++)
    if (!step->term[i].separable && !step->term[i].streamed)
      shared = ring_row (piece, &step->term[i], slot);
  row = shared != NULL && kernels->pair == NULL ? shared :
      at (piece, step->memory.padded);
  convolve_cpu_piece_load_window_row (piece, y, row);
  if (kernels->pair != NULL)
    kernels->pair (row, shared, samples
        + (gsize) (step->left + step->right) * step->sum_lanes,
        step->sum_lanes);

  for (guint i = 0; i < step->n_terms; i++) {
    const CpuTerm *term = &step->term[i];

    if (step->box)
      kernels->box_row (row, ring_row (piece, term, slot), samples,
          step->sum_lanes, &step->box_x);
    else if (term->separable)
      kernels->row (row + term->x_first * pixel, ring_row (piece, term, slot),
          samples, step->sum_lanes, term->x_weights, term->x_taps);
  }
}

static gboolean
has_ring (const CpuStep * step)
{
  for (guint i = 0; i < step->n_terms; i++)
    if (!step->term[i].streamed)
      return TRUE;
  return FALSE;
}

/* Slot of row y of the window. The slot after the picture's rows holds the
 * constant where the ring holds the whole picture. */
static guint
slot_of (const CpuPiece * piece, gint y)
{
  const CpuStep *step = piece->step;
  const ConvolvePass *pass = step->pass;

  if (!step->whole)
    return (guint) (y - (piece->y0 - (gint) step->above)) % step->slots;
  y = convolve_border_map (pass->border, y, pass->height);
  return y < 0 ? pass->height : y;
}

/* Loads rows from *next to the last one that is wanted. */
static void
advance (const CpuPiece * piece, gint * next, gint last)
{
  for (; *next <= last && !is_cancelled (piece); (*next)++)
    fill_slot (piece, *next, slot_of (piece, *next));
}

static void
fill_whole (const CpuPiece * piece)
{
  const ConvolvePass *pass = piece->step->pass;

  for (gint y = 0; y < pass->height && !is_cancelled (piece); y++)
    fill_slot (piece, y, y);
  if (pass->border == CONVOLVE_BORDER_CONSTANT)
    fill_slot (piece, -1, pass->height);
}

/* ---- sums ---- */

static void
set_taps (const CpuPiece * piece, const CpuTerm * term, const CpuGroup * group,
    const void *const *window, CpuTaps * taps)
{
  gsize bytes = piece->step->kernels->tap_bytes;
  const CpuTapPlace *tap = term->tap + group->first;
  const void **places = (const void **) at (piece, piece->step->memory.at);
  guint n = group->n0 + group->n01 + group->n1;

  for (guint i = 0; i < n; i++)
    places[i] = (const guint8 *) window[tap[i].row] + tap[i].offset * bytes;
  taps->n0 = group->n0;
  taps->n01 = group->n01;
  taps->n1 = group->n1;
  taps->at = places;
  taps->weights = (const guint8 *) term->weights
      + 2 * (gsize) group->first * piece->step->kernels->weight_bytes;
}

/* The term's sums for rows y and y + 1, to sums; dst, if not NULL, takes the
 * finished samples instead. */
static void
sum_term (const CpuPiece * piece, const CpuTerm * term, gint y,
    void *const sums[2], gboolean add, guint8 * const *dst)
{
  const CpuStep *step = piece->step;
  gsize samples = (gsize) (piece->x1 - piece->x0) * step->sum_lanes;
  const void **window = (const void **) at (piece, step->memory.window);
  guint rows = step->above + step->below + 2, loaded = rows;
  gint first = y - (gint) step->above;

  for (guint k = 0; k < rows; k++)
    window[k] = term->streamed ? at (piece, step->memory.padded) :
        ring_row (piece, term, slot_of (piece, first + (gint) k));
  for (guint g = 0; g < term->n_groups; g++) {
    const CpuGroup *group = &term->group[g];
    CpuTaps taps;

    if (term->streamed && group->row != loaded) {
      if (is_cancelled (piece))
        return;
      loaded = group->row;
      convolve_cpu_piece_load_window_row (piece, first + (gint) loaded,
          at (piece, step->memory.padded));
    }
    set_taps (piece, term, group, window, &taps);
    if (dst != NULL && g + 1 == term->n_groups)
      step->kernels->sum_store (&taps, add ? (const void *const *) sums : NULL,
          dst, samples, &step->sink);
    else
      step->kernels->sum (&taps, sums, samples, add);
    add = TRUE;
  }
}

/* In place of the sums: rows y and y + 1 after a step of diffusion. */
static void
diffuse_rows (const CpuPiece * piece, gint y, void *const sums[2])
{
  const CpuStep *step = piece->step;
  gsize real = step->kernels->real_bytes;
  gsize samples = (gsize) (piece->x1 - piece->x0) * step->sum_lanes;

  for (gint i = 0; i < 2; i++) {
    const void *rows[3];

    for (gint k = 0; k < 3; k++)
      rows[k] = ring_row (piece, &step->term[0], slot_of (piece,
              y + i + k - 1)) + step->left * step->sum_lanes * real;
    step->kernels->diffuse (&step->join, rows, sums[i], samples);
  }
}

/* ---- output rows ---- */

static gboolean
writes_frame (const CpuPiece * piece)
{
  return piece->level + 1 == piece->step->n_levels;
}

static guint8 *
frame_pixels (const CpuPiece * piece, const ConvolveFrame * frame, gint y)
{
  const ConvolvePass *pass = piece->step->pass;

  return convolve_cpu_frame_row (pass, frame, pass->layout.plane, y)
      + (gsize) piece->x0 * pass->layout.pixel_step;
}

/* Where kernels put the samples of output row y + i. */
static guint8 *
store_row (const CpuPiece * piece, gint y, guint i)
{
  if (piece->step->samples.dense && y + (gint) i < piece->y1)
    return frame_pixels (piece, piece->out, y + i);
  return at (piece, piece->step->memory.words[1 + i]);
}

/* What is not filtered, and what kernels cannot write in place. */
static void
complete_row (const CpuPiece * piece, gint y, guint i)
{
  const CpuStep *step = piece->step;
  const ConvolvePass *pass = step->pass;
  gsize pixels = piece->x1 - piece->x0;
  const guint8 *in = frame_pixels (piece, piece->in, y + i);
  guint8 *out = frame_pixels (piece, piece->out, y + i);

  if (!step->samples.dense) {
    convolve_cpu_samples_scatter (&step->samples, pass->component,
        (const guint16 *) at (piece, step->memory.words[1 + i]), in, out,
        pixels);
  } else if (step->masks != NULL) {
    const guint8 *keep = step->masks
        + (gsize) piece->x0 * pass->layout.pixel_step;

    step->isa->blend (out, in, keep, keep + step->row_bytes,
        keep + 2 * step->row_bytes, pixels * pass->layout.pixel_step);
  }
}

void
convolve_cpu_piece_store_row (const CpuPiece * piece, gint y,
    const void *result)
{
  const CpuStep *step = piece->step;

  step->kernels->store (result, store_row (piece, y, 0),
      (gsize) (piece->x1 - piece->x0) * step->lanes, &step->sink);
  complete_row (piece, y, 0);
}

/* From the terms' sums to a row of the frame or of the next iteration. */
static void
finish_row (const CpuPiece * piece, gint y, guint i)
{
  const CpuStep *step = piece->step;
  const CpuMemory *memory = &step->memory;
  gsize pixels = piece->x1 - piece->x0;
  const void *t0 = at (piece, memory->sum[0][i]);
  const void *t1 = step->join.kind == CPU_JOIN_MAGNITUDE ?
      at (piece, memory->sum[1][i]) : t0;
  void *input = at (piece, memory->input[i]);
  void *result = at (piece, memory->result[i]);

  if (step->wants_input)
    convolve_cpu_piece_load_input (piece, y + i, input);
  step->kernels->join (&step->join, t0, t1, input, result, pixels);
  if (writes_frame (piece)) {
    step->kernels->store (result, store_row (piece, y, i),
        pixels * step->lanes, &step->sink);
    complete_row (piece, y, i);
  } else {
    gsize pixel = step->lanes * step->kernels->real_bytes;

    memcpy (convolve_cpu_picture_row (step, piece->level, y + i)
        + piece->x0 * pixel, result, pixels * pixel);
  }
}

static const void *
box_row (const CpuPiece * piece, gint y)
{
  return ring_row (piece, &piece->step->term[0], slot_of (piece, y));
}

/* The running sums before row y. Kernels have an order of their own for the
 * elements of a vector. */
static void
start_box (CpuPiece * piece, gint y, gint above, gint below)
{
  const CpuStep *step = piece->step;
  gsize samples = (gsize) (piece->x1 - piece->x0) * step->sum_lanes;
  gsize bytes = (samples + CPU_SLACK) * step->kernels->sum_bytes;
  void *sum = at (piece, step->memory.sum[0][0]);

  memset (sum, 0, bytes);
  memset (at (piece, step->memory.sum[0][1]), 0, bytes);
  for (gint k = -above; k < below; k++)
    step->kernels->box_add (sum, box_row (piece, y + k), samples, &step->sink);
}

/* A box's output rows y and y + 1. */
static void
run_box (CpuPiece * piece, gint y, guint8 * const *dst)
{
  const CpuStep *step = piece->step;
  const ConvolveBoxLine *axis = &step->box_y;
  gsize samples = (gsize) (piece->x1 - piece->x0) * step->sum_lanes;
  gboolean ends = axis->end != axis->inner;
  gint above = (gint) step->above - ends, below = (gint) step->below - ends;
  CpuBoxRows rows = { {NULL} };

  if (!piece->summed)
    start_box (piece, y, above, below);
  for (gint i = 0; i < 2; i++) {
    rows.enter[i] = box_row (piece, y + i + below);
    rows.leave[i] = box_row (piece, y + i - above - 1);
    if (ends) {
      rows.first[i] = box_row (piece, y + i - (gint) step->above);
      rows.last[i] = box_row (piece, y + i + (gint) step->below);
    }
  }
  /* Nothing leaves yet: a row of zeros. */
  if (!piece->summed)
    rows.leave[0] = at (piece, step->memory.sum[0][1]);
  piece->summed = TRUE;
  step->kernels->box_store (at (piece, step->memory.sum[0][0]), &rows, axis,
      dst, samples, &step->sink);
}

static void
run_rows (CpuPiece * piece, gint y)
{
  const CpuStep *step = piece->step;
  guint rows = MIN (2, piece->y1 - y);
  guint8 *dst[2] = { NULL, NULL };

  if (step->fused)
    for (guint i = 0; i < 2; i++)
      dst[i] = store_row (piece, y, i);
  if (step->box)
    run_box (piece, y, dst);
  for (guint t = 0; t < step->n_terms && !step->box; t++) {
    gboolean first = t == 0 || !step->add_terms;
    gboolean last = t + 1 == step->n_terms;
    const gsize *sum = step->memory.sum[step->add_terms ? 0 : t];
    void *sums[2] = { at (piece, sum[0]), at (piece, sum[1]) };

    if (step->diffuses)
      diffuse_rows (piece, y, sums);
    else
      sum_term (piece, &step->term[t], y, sums, !first,
          step->fused && last ? dst : NULL);
  }
  for (guint i = 0; i < rows; i++) {
    if (step->fused)
      complete_row (piece, y, i);
    else
      finish_row (piece, y, i);
  }
}

/* Rows are filled and summed by step from y on; *next: the first that is to be
 * loaded. */
static void
start (CpuPiece * piece, const CpuStep * step, gint y, gint * next)
{
  piece->step = step;
  piece->summed = FALSE;
  *next = y - (gint) step->above;
  convolve_cpu_piece_map_borders (piece);
  if (step->whole && has_ring (step))
    fill_whole (piece);
}

static void
run_filter (CpuPiece * piece)
{
  const CpuStep *step = piece->step, *straight = step->straight;
  gint next = 0, end, rows = piece->y1 - piece->y0;

  /* The twin takes rows in lots, since changing costs a window's rows. */
  if (straight != NULL && !step->whole)
    rows = MAX (MIN_LOT, (gint) ((step->above + step->below + 2) & ~1u));
  piece->step = NULL;
  for (gint from = piece->y0; from < piece->y1; from = end) {
    const CpuStep *wanted = step;

    end = MIN (from + rows, piece->y1);
    if (straight != NULL && convolve_cpu_piece_is_even (piece, step, from, end))
      wanted = straight;
    if (wanted != piece->step)
      start (piece, wanted, from, &next);
    for (gint y = from; y < end && !is_cancelled (piece); y += 2) {
      if (has_ring (wanted) && !wanted->whole)
        advance (piece, &next, MIN (y + 1, piece->y1 - 1)
            + (gint) wanted->below);
      run_rows (piece, y);
    }
  }
}

static void
run_copy (const CpuPiece * piece)
{
  const CpuStep *step = piece->step;
  const ConvolvePass *pass = step->pass;
  gsize pixels = piece->x1 - piece->x0;

  for (gint y = piece->y0; y < piece->y1; y++) {
    if (!step->samples.dense)
      convolve_cpu_samples_scatter (&step->samples, pass->component, NULL,
          frame_pixels (piece, piece->in, y),
          frame_pixels (piece, piece->out, y), pixels);
    else
      complete_row (piece, y, 0);
  }
}

void
convolve_cpu_engine_run (const CpuStep * step, guint level,
    const ConvolveRect * part, const CpuJob * job, guint8 * memory)
{
  CpuPiece piece = {
    .step = step,
    .level = level,
    .in = job->in,
    .out = job->out,
    .frames = job->frames,
    .memory = memory,
    .x0 = part->x0,
    .x1 = part->x1,
    .y0 = part->y0,
    .y1 = part->y1,
    .even.value = -1,
    .cancelled = job->cancelled,
  };

  if (is_cancelled (&piece))
    return;
  if (step->pyramid != NULL)
    convolve_cpu_pyramid_run (&piece);
  else if (step->coarse != NULL)
    convolve_cpu_coarse_run (&piece);
  else if (step->n_terms > 0)
    run_filter (&piece);
  else
    run_copy (&piece);
}
