/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Launches: addresses, rows and blocks of a band, in as many pieces as its work
 * needs. */
#include "config.h"

#include <string.h>

#include "program.h"
#include "ranges.h"

/* Blocks of the looping kernels, for each multiprocessor: enough to fill it
 * twice. */
#define LOOP_BLOCKS 16
#define STAGE_BLOCKS 64
/* Blocks that keep a multiprocessor busy. */
#define BUSY_BLOCKS 2
/* Tasks that the separable kernel has at least, for each multiprocessor,
 * before tasks grow: a task filters its first rows along x once more than a
 * taller one would. */
#define MIN_TASKS 8
#define MAX_TASK_ROWS 1024

/* ---- shared memory ---- */

static void
set_box (const ConvolveLaunchSet * set, guint * nx, guint * ny)
{
  guint left = 0, right = 0, above = 0, below = 0;

  for (guint t = 0; t < set->n_terms; t++) {
    const ConvolveLaunchTerm *term = &set->term[t];

    left = MAX (left, term->ax);
    above = MAX (above, term->ay);
    right = MAX (right, (guint) term->nx - term->ax);
    below = MAX (below, (guint) term->ny - term->ay);
  }
  *nx = left + right;
  *ny = above + below;
}

guint
cuda_launch_shared_bytes (const CudaVariant * variant,
    const ConvolveLaunch * launch)
{
  guint most = 0;

  if (cuda_variant_is_banded (variant))
    return cuda_banded_shared_bytes (variant, launch);
  for (guint i = 0; i < launch->n_pictures; i++) {
    const ConvolveLaunchPicture *p = &launch->picture[i];
    guint nx, ny, bytes = 0;

    set_box (&launch->set[p->weights], &nx, &ny);
    if (variant->route == CONVOLVE_ROUTE_SEPARABLE) {
      bytes = convolve_separable_shared_bytes (p->n_components, nx, ny,
          variant->terms);
    } else if (variant->route == CONVOLVE_ROUTE_MATRIX) {
      if (variant->taps == 0) {
        nx = MIN (nx, CONVOLVE_MATRIX_PIECE_COLUMNS);
        ny = MIN (ny, CONVOLVE_MATRIX_PIECE_ROWS);
      }
      bytes = convolve_matrix_shared_bytes (p->n_components, nx, ny,
          variant->terms);
    }
    most = MAX (most, bytes);
  }
  return most;
}

/* ---- geometry ---- */

/* Rows of a separable task: as many as leave enough tasks for the device. */
static guint
choose_task_rows (const CudaDevice * device, const ConvolveLaunch * launch)
{
  guint64 tasks = 0;
  guint rows = CONVOLVE_STEP_ROWS;

  for (guint i = 0; i < launch->n_pictures; i++) {
    const ConvolveLaunchPicture *p = &launch->picture[i];

    tasks += (guint64) cuda_divide_up (p->width,
        CONVOLVE_WARP_PIXELS (p->n_components))
        * cuda_divide_up (p->row_end - p->row_begin, CONVOLVE_STEP_ROWS);
  }
  while (tasks > 2 * MIN_TASKS * (guint64) device->n_multiprocessors
      && rows < MAX_TASK_ROWS) {
    tasks /= 2;
    rows *= 2;
  }
  return rows;
}

/* Numbers the blocks of all pictures. */
static guint
count_task_blocks (const CudaDevice * device, const CudaVariant * variant,
    ConvolveLaunch * launch)
{
  guint task_rows = variant->route == CONVOLVE_ROUTE_SEPARABLE ?
      choose_task_rows (device, launch) : CONVOLVE_STEP_ROWS;
  guint n = 0;

  for (guint i = 0; i < launch->n_pictures; i++) {
    ConvolveLaunchPicture *p = &launch->picture[i];

    p->task_rows = task_rows;
    p->first_block = n;
    p->blocks_x =
        cuda_divide_up (p->width, CONVOLVE_WARP_PIXELS (p->n_components));
    p->blocks_y = cuda_divide_up (p->row_end - p->row_begin, task_rows);
    n += p->blocks_x * p->blocks_y;
  }
  return n;
}

static guint
count_loop_blocks (const CudaDevice * device, const ConvolveLaunch * launch)
{
  guint64 most = 0;

  for (guint i = 0; i < launch->n_pictures; i++) {
    const ConvolveLaunchPicture *p = &launch->picture[i];

    most = MAX (most, (guint64) p->width * (p->row_end - p->row_begin));
  }
  return MIN (cuda_divide_up (most, CONVOLVE_BLOCK_THREADS),
      LOOP_BLOCKS * device->n_multiprocessors);
}

/* ---- launches ---- */

/* Whether the variant may access all rows of the picture in the widest way. */
static gboolean
is_aligned (const CudaVariant * variant, const ConvolveLaunchPicture * p)
{
  static const guint8 byte_alignment[] = { 1, 4, 4, 1, 4 };
  static const guint8 word_alignment[] = { 1, 2, 4, 2, 8 };
  guint64 mask = (p->store == CONVOLVE_STORE_U8 ? byte_alignment :
      word_alignment)[p->n_components] - 1;

  if (cuda_variant_is_banded (variant))
    mask = 3;
  return ((p->src | p->dst | (guint64) (gint64) p->src_stride
          | (guint64) (gint64) p->dst_stride) & mask) == 0;
}

gboolean
cuda_launch_threads (CudaDevice * device, const CudaVariant * variant,
    guint n_blocks, guint threads, guint shared_bytes,
    gconstpointer parameters, GError ** error)
{
  gpointer list[] = { (gpointer) parameters };
  g_auto (CudaRange) range = cuda_range_begin (variant->name);

  return CU_CHECK (error, cuLaunchKernel, device->function[variant->id],
      n_blocks, 1, 1, threads, 1, 1, shared_bytes, device->compute, list, NULL);
}

gboolean
cuda_launch (CudaDevice * device, const CudaVariant * variant, guint n_blocks,
    guint shared_bytes, gconstpointer parameters, GError ** error)
{
  return cuda_launch_threads (device, variant, n_blocks,
      cuda_variant_is_banded (variant) ? cuda_banded_threads (variant) :
      CONVOLVE_BLOCK_THREADS, shared_bytes, parameters, error);
}

/* Weights that a pixel of the picture is multiplied by. */
static guint64
count_taps (const ConvolveLaunch * launch, const ConvolveLaunchPicture * p)
{
  const ConvolveLaunchSet *set = &launch->set[p->weights];
  guint64 taps = 0;

  for (guint t = 0; t < set->n_terms; t++)
    taps += launch->separable ?
        set->term[t].nx * MAX (launch->n_frames, 1) + set->term[t].ny :
        (guint64) set->term[t].nx * set->term[t].ny;
  return taps;
}

static guint64
picture_pixel_work (const ConvolveLaunch * launch,
    const ConvolveLaunchPicture * p)
{
  return cuda_pixel_work (p, count_taps (launch, p), FALSE);
}

/* How many launches the rows are divided among. */
static guint
count_pieces (const CudaDevice * device, const ConvolveLaunch * launch)
{
  guint n = 1;

  for (guint i = 0; i < launch->n_pictures; i++) {
    const ConvolveLaunchPicture *p = &launch->picture[i];
    guint rows = cuda_piece_rows (device, p->width,
        picture_pixel_work (launch, p), BUSY_BLOCKS * CONVOLVE_STEP_ROWS
        * CONVOLVE_WARP_PIXELS (p->n_components));

    n = MAX (n, cuda_divide_up (MAX (p->row_end - p->row_begin, 0), rows));
  }
  return n;
}

/* Where part i of n begins: blocks of the task kernels are STEP_ROWS high. */
static gint64
part_row (gint64 rows, guint i, guint n)
{
  gint64 row = rows * i / n;

  return i < n && rows / n >= CONVOLVE_STEP_ROWS ?
      row - row % CONVOLVE_STEP_ROWS : row;
}

/* Rows of part i of n. */
static gboolean
launch_part (CudaDevice * device, const CudaLaunch * chosen,
    const ConvolveLaunch * all, guint i, guint n, GError ** error)
{
  ConvolveLaunch launch = *all;
  guint64 work = 0;
  guint grid;

  for (guint k = 0; k < launch.n_pictures; k++) {
    ConvolveLaunchPicture *p = &launch.picture[k];
    gint64 begin = p->row_begin, rows = MAX (p->row_end - begin, 0);

    p->row_begin = begin + part_row (rows, i, n);
    p->row_end = begin + part_row (rows, i + 1, n);
    work += picture_pixel_work (&launch, p) * p->width
        * (p->row_end - p->row_begin);
  }
  if (work == 0)
    return TRUE;
  if (!cuda_throttle (device, work, error))
    return FALSE;
  if (cuda_variant_is_banded (chosen->variant))
    grid = cuda_banded_geometry (device, chosen->variant, &launch);
  else if (chosen->variant->route == CONVOLVE_ROUTE_STENCIL)
    grid = launch.n_blocks = count_loop_blocks (device, &launch);
  else
    grid = launch.n_blocks =
        count_task_blocks (device, chosen->variant, &launch);
  return cuda_launch (device, chosen->variant, grid, chosen->shared_bytes,
      &launch, error);
}

gboolean
cuda_group_run (CudaProgram * program, const CudaGroup * group,
    const CudaFrame * in, const CudaFrame * out, const CudaBand * band,
    GError ** error)
{
  CudaDevice *device = cuda_program_device (program);
  const CudaLaunch *chosen = &group->wide;
  ConvolveLaunch launch = chosen->launch;
  guint n;

  for (guint i = 0; i < group->n_passes; i++) {
    ConvolveLaunchPicture *p = &launch.picture[i];
    guint pass = group->pass[i];

    cuda_picture_place (p, &program->parent.plan->pass[pass], in, out);
    if (band->cuts != NULL)
      cuda_picture_cut (p, &band->cuts[pass]);
    p->row_begin = band->begin[pass];
    p->row_end = band->end[pass];
    if (!is_aligned (group->wide.variant, p))
      chosen = &group->any;
  }
  if (chosen == &group->any) {
    /* The pictures are the same; the weights lie elsewhere. */
    launch.weights = chosen->launch.weights;
    memcpy (launch.set, chosen->launch.set, sizeof (launch.set));
  }
  if (!cuda_folded_place (&launch, in, error))
    return FALSE;
  n = count_pieces (device, &launch);
  for (guint i = 0; i < n; i++)
    if (!launch_part (device, chosen, &launch, i, n, error))
      return FALSE;
  return TRUE;
}

/* ---- stages ---- */

/* Values that one of the stage's is made from. */
static guint64
count_stage_taps (const ConvolveStage * stage)
{
  switch (stage->op) {
    case CONVOLVE_STAGE_ROWS:
    case CONVOLVE_STAGE_LONG_ROWS:
    case CONVOLVE_STAGE_FOLD:
      return stage->nx;
    case CONVOLVE_STAGE_COLUMNS:
    case CONVOLVE_STAGE_LONG_COLUMNS:
      return stage->ny;
    case CONVOLVE_STAGE_MATRIX:
      return (guint64) stage->nx * stage->ny;
    default:
      return 1;
  }
}

guint
cuda_stage_shared_bytes (const ConvolveStage * stage)
{
  switch (stage->op) {
    case CONVOLVE_STAGE_LONG_ROWS:
      return convolve_lines_shared_bytes (stage->nx, TRUE);
    case CONVOLVE_STAGE_LONG_COLUMNS:
      return convolve_lines_shared_bytes (stage->ny, FALSE);
    default:
      return 0;
  }
}

gboolean
cuda_stage_launch (CudaDevice * device, const CudaVariant * variant,
    const ConvolveStage * stage, GError ** error)
{
  ConvolveStage piece = *stage;
  ConvolveLaunchPicture *p = &piece.picture;
  guint64 work = cuda_pixel_work (p, count_stage_taps (stage), stage->wide);
  gint rows = cuda_piece_rows (device, p->width, work,
      2 * BUSY_BLOCKS * CONVOLVE_BLOCK_THREADS);

  for (p->row_begin = 0; p->row_begin < p->height; p->row_begin = p->row_end) {
    guint64 pixels, blocks;

    p->row_end = p->row_begin + MIN (rows, p->height - p->row_begin);
    pixels = (guint64) p->width * (p->row_end - p->row_begin);
    blocks = (pixels + CONVOLVE_BLOCK_THREADS - 1) / CONVOLVE_BLOCK_THREADS;
    /* Threads loop over what is more. */
    if (!cuda_throttle (device, pixels * work, error)
        || !cuda_launch (device, variant, MIN (blocks,
                STAGE_BLOCKS * (guint64) device->n_multiprocessors),
            cuda_stage_shared_bytes (stage), &piece, error))
      return FALSE;
  }
  return TRUE;
}
