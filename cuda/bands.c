/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The frame's planes in memory of the program's own, and the bands that
 * transfers and kernels overlap by. */
#include "config.h"

#include "core/border.h"
#include "program.h"

#define PITCH 256
/* A frame whose upload takes t is down again after about t + t / n + n * c with
 * n bands, where c is what a band costs: n = sqrt (t / c) is best. This is what
 * a bus moves in c. */
#define BAND_COST_BYTES (256 * 1024)

/* ---- planes ---- */

/* The hole: bytes of the last pixel that are of no sample. A layout's samples
 * are side by side or, in packed 4:2:2, taken in turns with those of the other
 * layout; only the last pixels of an odd width leave out bytes. */
static void
find_hole (const ConvolvePlan * plan, guint index, CudaPlane * plane)
{
  guint window = MIN (plane->row_bytes, 16), start = plane->row_bytes - window;
  guint8 used[16] = { 0 };
  guint begin, end;

  for (guint i = 0; i < plan->n_passes; i++) {
    const ConvolvePass *pass = &plan->pass[i];
    const ConvolveLayout *layout = &pass->layout;
    guint bytes = layout->type == CONVOLVE_SAMPLE_U8 ? 1 :
        layout->type == CONVOLVE_SAMPLE_BITS32LE ? 4 : 2;

    for (gint x = MAX (0, pass->width - 16);
        layout->plane == index && x < pass->width; x++) {
      for (guint c = 0; c < layout->n_components; c++) {
        gsize at = (gsize) x * layout->pixel_step
            + (bytes == 4 ? 0 : layout->component[c].offset);

        for (guint b = 0; b < bytes; b++)
          if (at + b >= start)
            used[at + b - start] = TRUE;
      }
    }
  }
  for (begin = 0; begin < window && used[begin]; begin++);
  for (end = begin; end < window && !used[end]; end++);
  plane->n_runs = begin < window ? 2 : 1;
  plane->run[0].begin = 0;
  plane->run[0].bytes = start + begin;
  plane->run[1].begin = start + end;
  plane->run[1].bytes = window - end;
}

void
cuda_planes_init (CudaProgram * program)
{
  const ConvolvePlan *plan = program->parent.plan;

  for (guint i = 0; i < plan->n_passes; i++) {
    const ConvolvePass *pass = &plan->pass[i];
    CudaPlane *plane = &program->plane[pass->layout.plane];
    guint rows = pass->row_first + (pass->height - 1) * pass->row_step + 1;

    plane->rows = MAX (plane->rows, rows);
    plane->row_bytes = MAX (plane->row_bytes,
        convolve_layout_row_bytes (&pass->layout, pass->width));
  }
  for (guint p = 0; p < CONVOLVE_MAX_PLANES; p++) {
    CudaPlane *plane = &program->plane[p];

    if (plane->rows == 0)
      continue;
    plane->pitch = (plane->row_bytes + PITCH - 1) / PITCH * PITCH;
    plane->offset = program->frame_bytes;
    program->frame_bytes += (gsize) plane->pitch * plane->rows;
    find_hole (plan, p, plane);
    program->sample_bytes += (gsize) plane->rows * (plane->run[0].bytes
        + (plane->n_runs == 2 ? plane->run[1].bytes : 0));
  }
}

/* ---- bands ---- */

static guint
isqrt (guint64 a)
{
  guint root = 0;

  while ((guint64) (root + 1) * (root + 1) <= a)
    root++;
  return root;
}

/* With several frames in flight others fill the gaps, and fewer bands cost
 * less. */
static guint
choose_bands (const CudaProgram * program, guint wanted)
{
  guint rows = 0, n = wanted;

  for (guint p = 0; p < CONVOLVE_MAX_PLANES; p++)
    rows = MAX (rows, program->plane[p].rows);
  if (wanted == 0) {
    n = isqrt (program->sample_bytes / BAND_COST_BYTES);
    if (((CudaDevice *) program->parent.device)->frames_in_flight > 1)
      n = (n + 2) / 3;
  }
  return CLAMP (n, 1, MIN (rows, CUDA_MAX_BANDS));
}

/* Rows of the picture that come before row of the memory plane. */
static gint
picture_row (const ConvolvePass * pass, guint row)
{
  gint rows = ((gint) row - (gint) pass->row_first + (gint) pass->row_step - 1)
      / (gint) pass->row_step;

  return CLAMP (rows, 0, pass->height);
}

/* The last picture row that output rows begin .. end - 1 read. */
static gint
last_row_read (const ConvolvePass * pass, gint begin, gint end)
{
  gint above = 0, below = 0, last = end - 1;

  if (pass->operation != NULL) {
    above = pass->operation->above;
    below = pass->operation->below;
  }
  /* Only rows outside can stand for other ones than themselves. */
  for (gint y = begin - above; y < 0; y++)
    last = MAX (last, convolve_border_map (pass->border, y, pass->height));
  for (gint y = MAX (end, pass->height); y < end + below; y++)
    last = MAX (last, convolve_border_map (pass->border, y, pass->height));
  return MAX (last, MIN (end - 1 + below, pass->height - 1));
}

static void
band_find_needs (CudaProgram * program, CudaBand * band)
{
  const ConvolvePlan *plan = program->parent.plan;

  for (guint i = 0; i < plan->n_passes; i++) {
    const ConvolvePass *pass = &plan->pass[i];
    guint row;

    if (band->begin[i] >= band->end[i])
      continue;
    row = pass->row_first + pass->row_step
        * last_row_read (pass, band->begin[i], band->end[i]);
    while (program->band[band->needs].up.end[pass->layout.plane] <= row)
      band->needs++;
  }
}

/* Rows of a memory plane that its passes read below the one they make. */
static guint
plane_lag (const ConvolvePlan * plan, guint plane)
{
  guint lag = 0;

  for (guint i = 0; i < plan->n_passes; i++) {
    const ConvolvePass *pass = &plan->pass[i];

    if (pass->layout.plane == plane && pass->operation != NULL)
      lag = MAX (lag, pass->operation->below * pass->row_step);
  }
  return lag;
}

/* The output rows that rows of input, all but the last ones of the plane, are
 * enough for: whole steps of the kernels where bands are large. */
static guint
output_row (guint row, guint lag, guint band_rows)
{
  row = row > lag ? row - lag : 0;
  if (band_rows >= 2 * CONVOLVE_STEP_ROWS)
    row = row / CONVOLVE_STEP_ROWS * CONVOLVE_STEP_ROWS;
  return row;
}

static void
band_init (CudaProgram * program, guint b, guint n)
{
  const ConvolvePlan *plan = program->parent.plan;
  CudaBand *band = &program->band[b];

  for (guint p = 0; p < CONVOLVE_MAX_PLANES; p++) {
    guint64 rows = program->plane[p].rows;
    guint lag = plane_lag (plan, p);

    band->up.begin[p] = rows * b / n;
    band->up.end[p] = rows * (b + 1) / n;
    band->down.begin[p] = output_row (band->up.begin[p], lag, rows / n);
    band->down.end[p] = b == n - 1 ? rows :
        output_row (band->up.end[p], lag, rows / n);
  }
  for (guint i = 0; i < plan->n_passes; i++) {
    const ConvolvePass *pass = &plan->pass[i];

    band->begin[i] = picture_row (pass, band->down.begin[pass->layout.plane]);
    band->end[i] = picture_row (pass, band->down.end[pass->layout.plane]);
  }
}

void
cuda_bands_init (CudaProgram * program, guint wanted)
{
  const ConvolvePlan *plan = program->parent.plan;
  guint n = choose_bands (program, wanted);

  program->n_bands = n;
  for (guint b = 0; b < n; b++)
    band_init (program, b, n);
  for (guint b = 0; b < n; b++)
    band_find_needs (program, &program->band[b]);
  program->whole = program->band[0];
  program->whole.needs = n - 1;
  for (guint p = 0; p < CONVOLVE_MAX_PLANES; p++)
    program->whole.up.end[p] = program->whole.down.end[p] =
        program->plane[p].rows;
  for (guint i = 0; i < plan->n_passes; i++)
    program->whole.end[i] = plan->pass[i].height;
}
