/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Laplacian pyramids, as docs/filters.md defines them. Rows are mixed before
 * pixels are, so that a row outside the picture costs nothing and a pixel
 * outside one mix more. */
#include "config.h"

#include <string.h>

#include "pyramid.h"

#define LINE 64                 /* bytes of a cache line */
#define MIN_ROWS 8              /* of a piece */

static const gdouble halve_weights[] =
    { 1 / 16.0, 4 / 16.0, 6 / 16.0, 4 / 16.0, 1 / 16.0 };
static const gdouble even_weights[] = { 1 / 8.0, 6 / 8.0, 1 / 8.0 };
static const gdouble odd_weights[] = { 1 / 2.0, 1 / 2.0 };

/* ---- setup ---- */

static gsize
pixel_bytes (const CpuStep * step)
{
  return step->lanes * step->kernels->real_bytes;
}

static gboolean
level_init (const CpuStep * step, CpuPyramidLevel * level, gint width,
    gint height, gboolean corrected)
{
  gsize bytes;

  level->width = width;
  level->height = height;
  if (!g_size_checked_mul (&level->pitch, width, pixel_bytes (step))
      || !g_size_checked_mul (&bytes, level->pitch, height)
      || !g_size_checked_add (&bytes, bytes, CPU_SLACK * sizeof (gdouble)))
    return FALSE;
  level->picture = g_try_malloc (bytes);
  if (corrected)
    level->correction = g_try_malloc (bytes);
  return level->picture != NULL && (!corrected || level->correction != NULL);
}

static gsize
place (CpuMemory * memory, gsize pixels, gsize bytes)
{
  gsize at = memory->size;

  memory->size += (pixels * bytes + CPU_SLACK * sizeof (gdouble) + LINE - 1)
      / LINE * LINE;
  return at;
}

static void
init_memory (CpuStep * step)
{
  CpuPyramid *pyramid = step->pyramid;
  CpuMemory *memory = &step->memory;
  gsize width = step->pass->width, pixel = pixel_bytes (step);

  for (guint i = 0; i < G_N_ELEMENTS (memory->words); i++)
    memory->words[i] = place (memory, width, 2 * step->lanes);
  if (step->t_weights != NULL) {
    step->frame_samples = width * step->lanes + CPU_SLACK;
    memory->frames = place (memory, step->frame_samples * step->n_frames,
        step->kernels->real_bytes);
    memory->folded = place (memory, step->frame_samples,
        step->kernels->real_bytes);
  }
  memory->result[0] = place (memory, width, pixel);
  pyramid->row = place (memory, width + 8, pixel);
  pyramid->mean = place (memory, width, pixel);
  pyramid->sum = place (memory, width, pixel);
}

gboolean
convolve_cpu_pyramid_init (CpuStep * step, guint n_threads)
{
  const ConvolvePass *pass = step->pass;
  const ConvolveMatrix *t = pass->operation->t;
  gdouble sum_t = t != NULL ? convolve_matrix_sum (t) : 1;
  CpuPyramid *pyramid = g_new0 (CpuPyramid, 1);
  gint width = pass->width, height = pass->height;

  step->pyramid = pyramid;
  pyramid->n_levels = pass->n_levels;
  pyramid->n_phases = 2 * pass->n_levels + 1;
  /* A picture of one pixel has no detail: it is just written. */
  if (pass->n_levels == 0)
    pyramid->n_phases = 2;
  step->n_levels = pass->iterations * (pyramid->n_phases - 1) + 1;
  step->cut = (CpuCut) {
  .strip = width,.n_strips = 1,.band = height,.n_bands = 1};
  for (guint l = 0; l <= pyramid->n_levels; l++) {
    if (!level_init (step, &pyramid->level[l], width, height,
            l > 0 && l < pyramid->n_levels))
      return FALSE;
    width = (width + 1) / 2;
    height = (height + 1) / 2;
  }
  pyramid->edge = g_malloc0 (CPU_MAX_LANES * sizeof (gdouble));
  pyramid->zero = g_malloc0 (CPU_MAX_LANES * sizeof (gdouble));
  for (guint c = 0; c < step->lanes; c++)
    convolve_cpu_real_set (step->kernels, pyramid->edge, c,
        sum_t * pass->component[c].edge);
  init_memory (step);
  return TRUE;
}

void
convolve_cpu_pyramid_free (CpuPyramid * pyramid)
{
  for (guint l = 0; l <= CONVOLVE_MAX_LEVELS; l++) {
    g_free (pyramid->level[l].picture);
    g_free (pyramid->level[l].correction);
  }
  g_free (pyramid->edge);
  g_free (pyramid->zero);
  g_free (pyramid);
}

/* ---- phases ---- */

typedef enum
{ PHASE_LOAD, PHASE_REDUCE, PHASE_CORRECT } PhaseKind;

/* What phase number `phase` of all does, and the level that it makes. */
static PhaseKind
find_phase (const CpuPyramid * pyramid, guint phase, guint * level)
{
  guint n = pyramid->n_levels;

  *level = 0;
  if (phase == 0)
    return PHASE_LOAD;
  phase = (phase - 1) % (pyramid->n_phases - 1);
  if (phase < n) {
    *level = phase + 1;
    return PHASE_REDUCE;
  }
  if (n > 0)
    *level = 2 * n - 1 - phase;
  return PHASE_CORRECT;
}

/* All of a picture's pixels meet in the coarse levels, so regions are of no use
 * before the last phase. */
void
convolve_cpu_pyramid_list (CpuParts * parts, const CpuStep * step,
    const ConvolveRegions * regions, guint level)
{
  const CpuPyramidLevel *made;
  ConvolveRect rect = { 0 };
  guint number;

  if (level >= step->n_levels || (regions != NULL && regions->n == 0))
    return;
  if (regions != NULL && level + 1 == step->n_levels) {
    for (guint i = 0; i < regions->n; i++) {
      rect = convolve_pass_rect (step->pass, &regions->rect[i]);
      convolve_cpu_parts_append (parts, step, &rect, G_MAXINT / 2, MIN_ROWS);
    }
    return;
  }
  find_phase (step->pyramid, level, &number);
  made = &step->pyramid->level[number];
  rect.x1 = made->width;
  rect.y1 = made->height;
  convolve_cpu_parts_append (parts, step, &rect, G_MAXINT / 2, MIN_ROWS);
}

/* ---- rows of a level ---- */

/* A picture whose rows are mixed: a level's own, or its corrections. */
typedef struct
{
  const CpuPiece *piece;
  const CpuPyramidLevel *level;
  const guint8 *pixels, *outside;
  const gdouble *weights;
  guint n_rows;
  const guint8 *rows[5];        /* NULL: outside, with the constant border */
} Mix;

static void
mix_init (Mix * mix, const CpuPiece * piece, guint level, gboolean corrections)
{
  const CpuPyramid *pyramid = piece->step->pyramid;

  mix->piece = piece;
  mix->level = &pyramid->level[level];
  mix->pixels = corrections ? mix->level->correction : mix->level->picture;
  mix->outside = corrections ? pyramid->zero : pyramid->edge;
}

/* The rows from y on. */
static void
mix_set_rows (Mix * mix, gint y, const gdouble * weights, guint n_rows)
{
  ConvolveBorder border = mix->piece->step->pass->border;

  mix->weights = weights;
  mix->n_rows = n_rows;
  for (guint k = 0; k < n_rows; k++) {
    gint row = convolve_border_map (border, y + (gint) k, mix->level->height);

    mix->rows[k] = row < 0 ? NULL : mix->pixels + row * mix->level->pitch;
  }
}

/* Pixels x .. x + n - 1, inside the picture. */
static void
mix_pixels (const Mix * mix, gint x, gint n, guint8 * to)
{
  const CpuStep *step = mix->piece->step;
  const CpuKernels *kernels = step->kernels;
  gsize pixel = pixel_bytes (step);
  const void *rows[5];
  guint8 *constant = mix->piece->memory + step->memory.result[0];
  gboolean outside = FALSE;

  for (guint k = 0; k < mix->n_rows; k++) {
    outside |= mix->rows[k] == NULL;
    rows[k] = mix->rows[k] != NULL ? mix->rows[k] + x * pixel : constant;
  }
  if (outside)
    for (gint i = 0; i < n; i++)
      memcpy (constant + i * pixel, mix->outside, pixel);
  kernels->mix (rows, mix->weights, mix->n_rows, to, n * step->lanes);
}

/* The same with what the border puts outside. */
static void
mix_row (const Mix * mix, gint x, gint n, guint8 * to)
{
  const CpuStep *step = mix->piece->step;
  gsize pixel = pixel_bytes (step);
  gint width = mix->level->width;
  gint first = CLAMP (x, 0, width), end = CLAMP (x + n, first, width);

  if (end > first)
    mix_pixels (mix, first, end - first, to + (first - x) * pixel);
  for (gint i = 0; i < n; i++) {
    gint column = x + i;

    if (column >= first && column < end) {
      i += end - column - 1;
      continue;
    }
    column = convolve_border_map (step->pass->border, column, width);
    if (column < 0)
      memcpy (to + i * pixel, mix->outside, pixel);
    else
      mix_pixels (mix, column, 1, to + i * pixel);
  }
}

/* ---- what phases do with a row ---- */

static void
load_row (const CpuPiece * piece, gint y)
{
  const CpuStep *step = piece->step;
  const CpuPyramidLevel *level = &step->pyramid->level[0];

  convolve_cpu_piece_load_sum (piece, y, level->picture
      + (gsize) y * level->pitch);
}

static void
reduce_row (const CpuPiece * piece, guint level, gint y)
{
  const CpuStep *step = piece->step;
  const CpuPyramidLevel *to = &step->pyramid->level[level];
  guint8 *row = piece->memory + step->pyramid->row;
  Mix mix;

  mix_init (&mix, piece, level - 1, FALSE);
  mix_set_rows (&mix, 2 * y - 2, halve_weights, G_N_ELEMENTS (halve_weights));
  mix_row (&mix, -2, 2 * to->width + 3, row);
  step->kernels->halve (row, to->picture + (gsize) y * to->pitch, to->width,
      step->lanes);
}

/* E of a coarser level, or of its corrections: pixels x0 .. x1 - 1 of row y. */
static void
expand_row (const CpuPiece * piece, guint level, gboolean corrections, gint y,
    guint8 * to)
{
  const CpuStep *step = piece->step;
  guint8 *row = piece->memory + step->pyramid->row;
  gint first = piece->x0 / 2 - 1, end = (piece->x1 - 1) / 2 + 2;
  Mix mix;

  mix_init (&mix, piece, level, corrections);
  if (y % 2 == 0)
    mix_set_rows (&mix, y / 2 - 1, even_weights, G_N_ELEMENTS (even_weights));
  else
    mix_set_rows (&mix, y / 2, odd_weights, G_N_ELEMENTS (odd_weights));
  mix_row (&mix, first, end - first, row);
  step->kernels->twice (row, to, piece->x1 - piece->x0, piece->x0 % 2,
      step->lanes);
}

/* The correction of a level: pixels x0 .. x1 - 1 of row y, to sum. */
static void
correct_row (const CpuPiece * piece, guint level, gint y, guint8 * sum)
{
  const CpuStep *step = piece->step;
  const CpuPyramid *pyramid = step->pyramid;
  const CpuPyramidLevel *here = &pyramid->level[level];
  guint8 *mean = piece->memory + pyramid->mean;
  gsize samples = (gsize) (piece->x1 - piece->x0) * step->lanes;

  if (level + 1 < pyramid->n_levels)
    expand_row (piece, level + 1, TRUE, y, sum);
  else
    memset (sum, 0, samples * step->kernels->real_bytes);
  expand_row (piece, level + 1, FALSE, y, mean);
  step->kernels->enlarge (&step->join, step->pass->operation->level[level],
      here->picture + (gsize) y * here->pitch + piece->x0 * pixel_bytes (step),
      mean, sum, samples);
}

/* The value of row y, finished: to the frame, or in place of level 0, of which
 * nothing else but this row is looked at. */
static void
finish_row (const CpuPiece * piece, gint y, gboolean last)
{
  static const gdouble both[] = { 1, 1 };
  const CpuStep *step = piece->step;
  const CpuPyramidLevel *level = &step->pyramid->level[0];
  guint8 *sum = piece->memory + step->pyramid->sum;
  guint8 *result = piece->memory + step->memory.result[0];
  gsize pixels = piece->x1 - piece->x0, pixel = pixel_bytes (step);
  guint8 *here = level->picture + (gsize) y * level->pitch + piece->x0 * pixel;

  if (step->pyramid->n_levels > 0)
    correct_row (piece, 0, y, sum);
  else
    memset (sum, 0, pixels * pixel);
  step->kernels->mix ((const void *const[]) { here, sum }, both, 2, sum,
      pixels * step->lanes);
  step->kernels->join (&step->join, sum, sum, here, result, pixels);
  if (last)
    convolve_cpu_piece_store_row (piece, y, result);
  else
    memcpy (here, result, pixels * pixel);
}

void
convolve_cpu_pyramid_run (CpuPiece * piece)
{
  const CpuStep *step = piece->step;
  gboolean last = piece->level + 1 == step->n_levels;
  guint number;
  PhaseKind kind = find_phase (step->pyramid, piece->level, &number);
  const CpuPyramidLevel *level = &step->pyramid->level[number];

  for (gint y = piece->y0; y < piece->y1; y++) {
    if (g_atomic_int_get (piece->cancelled))
      return;
    if (kind == PHASE_LOAD)
      load_row (piece, y);
    else if (kind == PHASE_REDUCE)
      reduce_row (piece, number, y);
    else if (number == 0)
      finish_row (piece, y, last);
    else
      correct_row (piece, number, y, level->correction
          + (gsize) y * level->pitch + piece->x0 * pixel_bytes (step));
  }
}
