/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The rows that go into a window: read from the frame or from the iteration
 * before, weighed by alpha, and continued outside the picture. */
#include "config.h"

#include <string.h>

#include "engine.h"

/* What stands for a pixel outside: a pixel of the row that was loaded, the
 * constant, or one of the picture that was not loaded, FAR - x. */
enum
{ CONSTANT = -1, FAR = -2 };

static inline guint8 *
at (const CpuPiece * piece, gsize place)
{
  return piece->memory + place;
}

/* Pixels x .. x + n - 1 of row y of a frame, or of the level before, as they
 * are. */
static void
load_pixels (const CpuPiece * piece, const ConvolveFrame * frame, gint y,
    gint x, gsize n, void *to)
{
  const CpuStep *step = piece->step;
  gsize pixel = step->lanes * step->kernels->real_bytes;

  if (piece->level > 0) {
    memcpy (to, convolve_cpu_picture_row (step, piece->level - 1, y)
        + x * pixel, n * pixel);
    return;
  }
  convolve_cpu_samples_load (&step->samples, step->kernels,
      convolve_cpu_frame_row (step->pass, frame, step->pass->layout.plane,
          y) + (gsize) x * step->pass->layout.pixel_step, n, to,
      (guint16 *) at (piece, step->memory.words[0]));
}

/* ---- alpha of another plane ---- */

/* Samples x .. x + n - 1 of row y of the alpha picture, as doubles. */
static void
load_alpha_row (const CpuPiece * piece, const ConvolveFrame * frame, gint y,
    gint x, gsize n, gdouble * to)
{
  const CpuStep *step = piece->step, *other = step->alpha_step;
  const ConvolvePassAlpha *alpha = &step->pass->alpha;
  const guint8 *row;

  if (piece->level == 0 || other == NULL) {
    row = convolve_cpu_frame_row (step->pass, frame, alpha->layout.plane, y);
    convolve_cpu_samples_load_component (&step->alpha_samples,
        alpha->component, sizeof (gdouble),
        row + (gsize) x * alpha->layout.pixel_step, n, to);
    return;
  }
  row = convolve_cpu_picture_row (other, piece->level - 1, y);
  for (gsize i = 0; i < n; i++) {
    gsize k = (x + i) * other->lanes + alpha->component;

    to[i] = other->kernels->real == CPU_REAL_FLOAT ?
        ((const gfloat *) row)[k] : ((const gdouble *) row)[k];
  }
}

/* The mean of the alpha samples that each pixel covers, where alpha is a plane
 * of its own. */
static void
load_plain_alpha (const CpuPiece * piece, const ConvolveFrame * frame, gint y,
    gint x, gsize n, void *to)
{
  const CpuStep *step = piece->step;
  const CpuKernels *kernels = step->kernels;
  const ConvolvePassAlpha *alpha = &step->pass->alpha;
  gint first = x << alpha->w_sub, y_first = y << alpha->h_sub;
  gint last = MIN ((gint) (x + n) << alpha->w_sub, alpha->width);
  gint y_last = MIN ((y + 1) << alpha->h_sub, alpha->height);
  gboolean finer = alpha->w_sub > 0 || alpha->h_sub > 0;
  guint8 *raw = finer ? at (piece, step->memory.alpha_raw) : to;
  gsize real = kernels->real_bytes, loaded = last - first;

  for (gint row = y_first; row < y_last; row++) {
    convolve_cpu_samples_load (&step->alpha_samples, kernels,
        convolve_cpu_frame_row (step->pass, frame, alpha->layout.plane,
            row) + (gsize) first * alpha->layout.pixel_step, loaded, raw, NULL);
    if (!finer)
      return;
    /* Where there is but one sample, it twice has the same mean. */
    for (gsize i = loaded; i < n << alpha->w_sub; i++)
      memcpy (raw + i * real, raw + (loaded - 1) * real, real);
    kernels->mean (raw, to, n, 1u << alpha->w_sub, y_last - y_first,
        row > y_first);
  }
}

/* The same for any alpha. */
static void
load_alpha (const CpuPiece * piece, const ConvolveFrame * frame, gint y,
    gint x, gsize n, void *to)
{
  const CpuStep *step = piece->step;
  const ConvolvePassAlpha *alpha = &step->pass->alpha;
  gdouble *raw = (gdouble *) at (piece, step->memory.alpha_raw);
  gint first = x << alpha->w_sub, y_first = y << alpha->h_sub;
  gint last = MIN ((gint) (x + n) << alpha->w_sub, alpha->width);
  gint y_last = MIN ((y + 1) << alpha->h_sub, alpha->height);
  gint covers = 1 << alpha->w_sub;

  for (gsize i = 0; i < n; i++)
    convolve_cpu_real_set (step->kernels, to, i, 0);
  for (gint row = y_first; row < y_last; row++) {
    load_alpha_row (piece, frame, row, first, last - first, raw);
    for (gsize i = 0; i < n; i++) {
      gint from = i << alpha->w_sub, end = MIN (from + covers, last - first);
      gdouble sum = 0;

      for (gint k = from; k < end; k++)
        sum += raw[k];
      sum /= (gdouble) (end - from) * (y_last - y_first);
      if (step->kernels->real == CPU_REAL_FLOAT)
        ((gfloat *) to)[i] += (gfloat) sum;
      else
        ((gdouble *) to)[i] += sum;
    }
  }
}

/* ---- rows with borders ---- */

/* Pixels x .. x + n - 1 of row y of a frame as the window wants them. */
static void
load_weighed (const CpuPiece * piece, const ConvolveFrame * frame, gint y,
    gint x, gsize n, void *to)
{
  const CpuStep *step = piece->step;
  const CpuKernels *kernels = step->kernels;

  if (step->alpha_apart) {
    void *plain = at (piece, step->memory.plain);
    void *alpha = at (piece, step->memory.alpha);

    load_pixels (piece, frame, y, x, n, plain);
    if (step->alpha_samples.dense && step->alpha_samples.lanes == 1
        && (piece->level == 0 || step->alpha_step == NULL))
      load_plain_alpha (piece, frame, y, x, n, alpha);
    else
      load_alpha (piece, frame, y, x, n, alpha);
    kernels->weigh (plain, alpha, to, n, step->lanes);
    return;
  }
  load_pixels (piece, frame, y, x, n, to);
  if (step->weighted)
    kernels->premultiply (to, n, step->lanes, step->alpha_lane);
}

static inline gboolean
is_folded (const CpuPiece * piece)
{
  return piece->level == 0 && piece->step->t_weights != NULL;
}

/* The same, or the sum over all frames if there is one: the row kernel finds
 * each frame's sample at one distance from that of the frame before. It writes
 * more than n pixels. */
static void
load_folded (const CpuPiece * piece, const ConvolveFrame * frame, gint y,
    gint x, gsize n, void *to)
{
  const CpuStep *step = piece->step;
  const CpuKernels *kernels = step->kernels;
  gsize samples = n * step->sum_lanes, real = kernels->real_bytes;
  guint8 *frames = at (piece, step->memory.frames);
  void *folded = at (piece, step->memory.folded);

  if (!is_folded (piece)) {
    load_weighed (piece, frame, y, x, n, to);
    return;
  }
  for (guint f = 0; f < step->n_frames; f++)
    load_weighed (piece, piece->frames[f], y, x, n,
        frames + f * step->frame_samples * real);
  kernels->row (frames, folded, samples, step->frame_samples, step->t_weights,
      step->n_frames);
  memcpy (to, folded, samples * real);
}

void
convolve_cpu_piece_map_borders (const CpuPiece * piece)
{
  const CpuStep *step = piece->step;
  gint width = step->pass->width, left = step->left, right = step->right;
  gint first = MAX (piece->x0 - left, 0), end = MIN (piece->x1 + right, width);
  gint *index = (gint *) at (piece, step->memory.index);

  for (gint i = 0; i < left + right; i++) {
    gint x = i < left ? piece->x0 - left + i : piece->x1 + i - left;

    if (x < 0)
      x = step->outside[left + x];
    else if (x >= width)
      x = step->outside[left + x - width];
    if (x < 0)
      index[i] = CONSTANT;
    else if (x >= first && x < end)
      index[i] = x - piece->x0 + left;
    else
      index[i] = FAR - x;
  }
}

/* Pixels that stand for others of the row; how many there are before one that
 * does not. With a size that is known there is no call for each. */
static inline gint
copy_pixels (guint8 * row, guint8 * to, const gint * index, gint n, gsize pixel)
{
  gint i = 0;

  for (; i < n && index[i] >= 0; i++)
    memcpy (to + i * pixel, row + index[i] * pixel, pixel);
  return i;
}

static gint
copy_known (guint8 * row, guint8 * to, const gint * index, gint n, gsize pixel)
{
  switch (pixel) {
    case 2:
      return copy_pixels (row, to, index, n, 2);
    case 4:
      return copy_pixels (row, to, index, n, 4);
    case 8:
      return copy_pixels (row, to, index, n, 8);
    case 16:
      return copy_pixels (row, to, index, n, 16);
    default:
      return copy_pixels (row, to, index, n, pixel);
  }
}

/* Fills the pixels at place .. place + n - 1 of a loaded row, which lie outside
 * the picture, by the index that starts at index. */
static void
extend (const CpuPiece * piece, const ConvolveFrame * frame, gint y,
    guint8 * row, gint place, const gint * index, gint n)
{
  const CpuStep *step = piece->step;
  gsize pixel = step->sum_lanes * step->kernels->real_bytes;

  for (gint i = 0; i < n;) {
    guint8 *to = row + (place + i) * pixel;
    gint run = 1;

    if (index[i] >= 0) {
      run = copy_known (row, to, index + i, n - i, pixel);
    } else if (index[i] == CONSTANT) {
      memcpy (to, step->edge, pixel);
    } else {
      while (i + run < n && index[i + run] == index[i] - run)
        run++;
      load_folded (piece, frame, y, FAR - index[i], run, to);
    }
    i += run;
  }
}

static void
load_frame_row (const CpuPiece * piece, const ConvolveFrame * frame, gint y,
    void *to)
{
  const CpuStep *step = piece->step;
  const ConvolvePass *pass = step->pass;
  gsize pixel = step->sum_lanes * step->kernels->real_bytes;
  gint left = step->left, right = step->right, strip = piece->x1 - piece->x0;
  gint first = MAX (piece->x0 - left, 0);
  gint end = MIN (piece->x1 + right, pass->width);
  const gint *index = (const gint *) at (piece, step->memory.index);
  gint before = first - (piece->x0 - left);
  gint after = piece->x1 + right - end;

  y = convolve_border_map (pass->border, y, pass->height);
  if (y < 0) {
    for (gint i = 0; i < left + strip + right; i++)
      memcpy ((guint8 *) to + i * pixel, step->edge, pixel);
    return;
  }
  load_folded (piece, frame, y, first, end - first,
      (guint8 *) to + before * pixel);
  extend (piece, frame, y, to, 0, index, before);
  extend (piece, frame, y, to, left + strip + right - after,
      index + left + right - after, after);
}

void
convolve_cpu_piece_load_window_row (const CpuPiece * piece, gint y, void *to)
{
  const CpuStep *step = piece->step;

  if (step->n_frames == 1 || step->t_weights != NULL) {
    load_frame_row (piece, piece->in, y, to);
    return;
  }
  for (guint f = 0; f < step->n_frames; f++)
    load_frame_row (piece, piece->frames[f], y, (guint8 *) to
        + f * step->frame_samples * step->kernels->real_bytes);
}

void
convolve_cpu_piece_load_sum (const CpuPiece * piece, gint y, void *to)
{
  load_folded (piece, piece->in, y, piece->x0, piece->x1 - piece->x0, to);
}

void
convolve_cpu_piece_load_input (const CpuPiece * piece, gint y, void *to)
{
  gsize n = piece->x1 - piece->x0;

  /* Nothing is weighed where the operation is unsharp. */
  if (piece->step->join.kind == CPU_JOIN_UNSHARP)
    load_folded (piece, piece->in, y, piece->x0, n, to);
  else
    load_pixels (piece, piece->in, y, piece->x0, n, to);
}
