/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <string.h>

#include "coarse.h"

#define LINE 64                 /* bytes of a cache line */
#define MIN_ROWS 4              /* of the grid, or of the picture */
/* Samples of a strip: a row and its three sums stay in the first level
 * cache. */
#define STRIP_SAMPLES 2048

enum
{ PHASE_SHRINK, PHASE_ROWS, PHASE_COLUMNS, PHASE_GROW, N_PHASES };

/* ---- setup ---- */

static gsize
pixel_bytes (const CpuStep * step)
{
  return step->lanes * step->kernels->real_bytes;
}

static void *
reals (const CpuStep * step, const gdouble * values, gsize n)
{
  guint8 *array = g_malloc ((n + CPU_SLACK) * step->kernels->real_bytes);

  for (gsize i = 0; i < n; i++)
    convolve_cpu_real_set (step->kernels, array, i, values[i]);
  return array;
}

static void
init_weights (const CpuStep * step, CpuCoarse * coarse)
{
  const ConvolveMatrix *x = coarse->grid->x, *y = coarse->grid->y;
  gint n = coarse->grid->step;
  g_autofree gdouble *down = g_new0 (gdouble, 3 * n);
  g_autofree gdouble *up = g_new (gdouble, 3 * n);
  g_autofree gdouble *twice = g_new (gdouble, 2 * y->height);

  for (gint a = 0; a < n; a++)
    for (gint b = 0; b < n; b++)
      for (gint c = 0; c < n; c++)
        down[1 + a + b + c] += 1.0 / ((gdouble) n * n * n);
  for (gint p = 0; p < n; p++) {
    gdouble t = (p + 0.5) / n - 0.5;

    up[p] = (0.5 - t) * (0.5 - t) / 2;
    up[n + p] = 0.75 - t * t;
    up[2 * n + p] = (0.5 + t) * (0.5 + t) / 2;
  }
  for (guint i = 0; i < y->height; i++)
    twice[2 * i] = twice[2 * i + 1] = y->weights[i];
  coarse->down = reals (step, down, 3 * n);
  coarse->up = reals (step, up, 3 * n);
  coarse->x_weights = reals (step, x->weights, x->width);
  coarse->y_weights = reals (step, twice, 2 * y->height);
}

static gsize
place (CpuMemory * memory, gsize n, gsize element_bytes)
{
  gsize at = memory->size;

  memory->size += ((n + CPU_SLACK) * element_bytes + LINE - 1) / LINE * LINE;
  return at;
}

/* Values of the grid that a strip has. */
static gint
strip_values (const CpuStep * step)
{
  guint each = step->coarse->grid->step * step->lanes;

  return CLAMP (STRIP_SAMPLES / each, 8, (guint) step->coarse->width);
}

static void
init_memory (CpuStep * step)
{
  CpuCoarse *coarse = step->coarse;
  CpuMemory *memory = &step->memory;
  gsize n = coarse->grid->step, lanes = step->lanes;
  gsize real = step->kernels->real_bytes;
  gsize width = step->pass->width + 2 * n, grid = coarse->width * lanes;

  coarse->samples = (strip_values (step) + 2) * n * lanes;
  for (guint i = 0; i < G_N_ELEMENTS (memory->words); i++)
    memory->words[i] = place (memory, MAX (width * lanes, coarse->samples), 2);
  coarse->row = place (memory, coarse->samples, real);
  for (guint i = 0; i < G_N_ELEMENTS (coarse->sums); i++)
    coarse->sums[i] = place (memory, coarse->samples, real);
  coarse->line = place (memory, grid, real);
  memory->sum[0][1] = place (memory, grid, real);
  memory->at = place (memory, step->kernels->group, sizeof (gpointer));
  memory->result[0] = place (memory, width * lanes, real);
}

gboolean
convolve_cpu_coarse_init (CpuStep * step)
{
  const ConvolvePass *pass = step->pass;
  const ConvolveCoarse *grid = &pass->operation->coarse;
  CpuCoarse *coarse = g_new0 (CpuCoarse, 1);
  gsize bytes;

  step->coarse = coarse;
  step->n_levels = N_PHASES;
  step->cut = (CpuCut) {
  .strip = pass->width,.n_strips = 1,.band = pass->height,.n_bands = 1};
  coarse->grid = grid;
  coarse->width = convolve_coarse_length (grid, grid->x, pass->width);
  coarse->height = convolve_coarse_length (grid, grid->y, pass->height);
  coarse->margin_x = convolve_coarse_margin (grid->x);
  coarse->margin_y = convolve_coarse_margin (grid->y);
  if (!g_size_checked_mul (&coarse->pitch, coarse->width, pixel_bytes (step))
      || !g_size_checked_mul (&bytes, coarse->pitch, coarse->height)
      || !g_size_checked_add (&bytes, bytes, CPU_SLACK * sizeof (gdouble)))
    return FALSE;
  for (guint i = 0; i < G_N_ELEMENTS (coarse->values); i++)
    if ((coarse->values[i] = g_try_malloc (bytes)) == NULL)
      return FALSE;
  init_weights (step, coarse);
  step->edge = g_malloc0 (CPU_MAX_LANES * step->kernels->real_bytes);
  for (guint c = 0; c < step->lanes; c++)
    convolve_cpu_real_set (step->kernels, step->edge, c,
        pass->component[c].edge);
  init_memory (step);
  return step->memory.size < G_MAXSSIZE / 1024;
}

void
convolve_cpu_coarse_free (CpuCoarse * coarse)
{
  g_free (coarse->values[0]);
  g_free (coarse->values[1]);
  g_free (coarse->x_weights);
  g_free (coarse->y_weights);
  g_free (coarse->down);
  g_free (coarse->up);
  g_free (coarse);
}

/* ---- phases ---- */

/* Of rows and columns what the filter has all values for. */
void
convolve_cpu_coarse_list (CpuParts * parts, const CpuStep * step,
    const ConvolveRegions * regions, guint level)
{
  const CpuCoarse *coarse = step->coarse;
  ConvolveRect rect = { 0, 0, coarse->width, coarse->height };
  gint strip = level == PHASE_SHRINK ? strip_values (step) : G_MAXINT / 2;

  if (regions != NULL && regions->n == 0)
    return;
  if (level == PHASE_GROW) {
    const ConvolveRect whole = { 0, 0, step->pass->width, step->pass->height };

    if (regions == NULL)
      convolve_cpu_parts_append (parts, step, &whole, strip, MIN_ROWS);
    for (guint i = 0; regions != NULL && i < regions->n; i++) {
      rect = convolve_pass_rect (step->pass, &regions->rect[i]);
      convolve_cpu_parts_append (parts, step, &rect, strip, MIN_ROWS);
    }
    return;
  }
  if (level >= PHASE_ROWS) {
    rect.x0 = coarse->margin_x - 1;
    rect.x1 -= coarse->margin_x - 1;
  }
  if (level == PHASE_COLUMNS) {
    rect.y0 = coarse->margin_y - 1;
    rect.y1 -= coarse->margin_y - 1;
  }
  convolve_cpu_parts_append (parts, step, &rect, strip, MIN_ROWS);
}

static guint8 *
value_at (const CpuPiece * piece, guint which, gint x, gint y)
{
  const CpuCoarse *coarse = piece->step->coarse;

  return coarse->values[which] + (gsize) y *coarse->pitch
      + (gsize) x *pixel_bytes (piece->step);
}

/* ---- down ---- */

static void
load_pixels (const CpuPiece * piece, gint y, gint x, gint n, guint8 * to)
{
  const CpuStep *step = piece->step;
  const ConvolveLayout *layout = &step->pass->layout;

  convolve_cpu_samples_load (&step->samples, step->kernels,
      convolve_cpu_frame_row (step->pass, piece->in, layout->plane, y)
      + (gsize) x * layout->pixel_step, n, to,
      (guint16 *) (piece->memory + step->memory.words[0]));
}

/* n pixels of row y from x on, all of which may be outside. */
static void
load_row (const CpuPiece * piece, gint y, gint x, gint n, guint8 * to)
{
  const CpuStep *step = piece->step;
  const ConvolvePass *pass = step->pass;
  gsize pixel = pixel_bytes (step);
  gint first = CLAMP (x, 0, pass->width);
  gint end = CLAMP (x + n, first, pass->width);

  y = convolve_border_map (pass->border, y, pass->height);
  if (y >= 0 && end > first)
    load_pixels (piece, y, first, end - first, to + (first - x) * pixel);
  for (gint i = 0; i < n; i++) {
    guint8 *here = to + i * pixel;
    gint column = x + i;

    if (y >= 0 && column == first && end > first) {
      i += end - first - 1;
      continue;
    }
    column = convolve_border_map (pass->border, column, pass->width);
    if (y < 0 || column < 0)
      memcpy (here, step->edge, pixel);
    else if (column >= first && column < end)
      memcpy (here, to + (column - x) * pixel, pixel);
    else
      load_pixels (piece, y, column, 1, here);
  }
}

/* A row of the picture is part of three rows of the grid, of which the first
 * then is complete. */
static void
shrink (const CpuPiece * piece)
{
  const CpuStep *step = piece->step;
  const CpuCoarse *coarse = step->coarse;
  const CpuKernels *kernels = step->kernels;
  gint n = coarse->grid->step, values = piece->x1 - piece->x0;
  gint x = (piece->x0 - coarse->margin_x - 1) * n;
  gsize samples = (gsize) (values + 2) * n * step->lanes;
  guint8 *row = piece->memory + coarse->row;
  guint8 *sums[3];

  for (guint i = 0; i < 3; i++) {
    sums[i] = piece->memory + coarse->sums[i];
    memset (sums[i], 0, samples * kernels->real_bytes);
  }
  for (gint cell = piece->y0 - 1; cell <= piece->y1; cell++) {
    guint8 *done = sums[0];

    if (g_atomic_int_get (piece->cancelled))
      return;
    for (gint r = 0; r < n; r++) {
      load_row (piece, (cell - coarse->margin_y) * n + r, x, (values + 2) * n,
          row);
      kernels->share (row, coarse->down, r, n, (void *const *) sums, samples);
    }
    if (cell > piece->y0)
      kernels->gather (done, value_at (piece, 0, piece->x0, cell - 1), values,
          step->lanes, n, coarse->down);
    sums[0] = sums[1];
    sums[1] = sums[2];
    sums[2] = done;
    memset (done, 0, samples * kernels->real_bytes);
  }
}

/* ---- the grid ---- */

static void
filter_rows (const CpuPiece * piece)
{
  const CpuStep *step = piece->step;
  const CpuCoarse *coarse = step->coarse;
  gsize samples = (gsize) (piece->x1 - piece->x0) * step->lanes;
  guint8 *line = piece->memory + coarse->line;

  for (gint y = piece->y0; y < piece->y1; y++) {
    /* Kernels may write more than samples, and rows lie side by side. */
    step->kernels->row (value_at (piece, 0, piece->x0 + 1 - coarse->margin_x,
            y), line, samples, step->lanes, coarse->x_weights,
        coarse->grid->x->width);
    memcpy (value_at (piece, 1, piece->x0, y), line,
        samples * step->kernels->real_bytes);
  }
}

/* Gain and offset keep sums with a sum of weights of 1 as they are, so that
 * they can come before the way up. */
static void
scale_row (const CpuStep * step, gfloat * values, gsize samples)
{
  const ConvolvePassComponent *component = step->pass->component;

  for (guint c = 0; c < step->lanes; c++) {
    gfloat gain = component[c].gain, offset = component[c].offset;

    for (gsize i = c; i < samples; i += step->lanes)
      values[i] = offset + gain * values[i];
  }
}

static void
filter_columns (const CpuPiece * piece)
{
  const CpuStep *step = piece->step;
  const CpuCoarse *coarse = step->coarse;
  const CpuKernels *kernels = step->kernels;
  gsize samples = (gsize) (piece->x1 - piece->x0) * step->lanes;
  const void **at = (const void **) (piece->memory + step->memory.at);
  guint taps = coarse->grid->y->height;
  void *out[2] = { piece->memory + coarse->line,
    piece->memory + step->memory.sum[0][1]
  };

  for (gint y = piece->y0; y < piece->y1; y++) {
    gint top = y + 1 - coarse->margin_y;

    for (guint first = 0; first < taps; first += kernels->group) {
      guint n = MIN (kernels->group, taps - first);
      CpuTaps go = { n, 0, 0, at, (const guint8 *) coarse->y_weights
            + 2 * (gsize) first * kernels->weight_bytes
      };

      for (guint i = 0; i < n; i++)
        at[i] = value_at (piece, 1, piece->x0, top + first + i);
      kernels->sum (&go, out, samples, first > 0);
    }
    scale_row (step, out[0], samples);
    memcpy (value_at (piece, 0, piece->x0, y), out[0],
        samples * kernels->real_bytes);
  }
}

/* ---- up ---- */

static void
grow (const CpuPiece * piece)
{
  const CpuStep *step = piece->step;
  const CpuCoarse *coarse = step->coarse;
  const CpuKernels *kernels = step->kernels;
  gint n = coarse->grid->step, first = piece->x0 / n;
  gint cells = (piece->x1 - 1) / n - first + 1;
  guint8 *line = piece->memory + coarse->line;
  guint8 *result = piece->memory + step->memory.result[0];

  for (gint y = piece->y0; y < piece->y1; y++) {
    const gfloat *up = (const gfloat *) coarse->up + y % n;
    gdouble weights[3] = { up[0], up[n], up[2 * n] };
    const void *rows[3];

    if (g_atomic_int_get (piece->cancelled))
      return;
    for (gint k = 0; k < 3; k++)
      rows[k] = value_at (piece, 0, first + coarse->margin_x - 1,
          y / n + coarse->margin_y - 1 + k);
    kernels->mix (rows, weights, 3, line, (gsize) (cells + 2) * step->lanes);
    kernels->spread (line, result, cells, step->lanes, n, coarse->up);
    convolve_cpu_piece_store_row (piece, y,
        result + (piece->x0 - first * n) * pixel_bytes (step));
  }
}

void
convolve_cpu_coarse_run (CpuPiece * piece)
{
  switch (piece->level) {
    case PHASE_SHRINK:
      shrink (piece);
      break;
    case PHASE_ROWS:
      filter_rows (piece);
      break;
    case PHASE_COLUMNS:
      filter_columns (piece);
      break;
    default:
      grow (piece);
      break;
  }
}
