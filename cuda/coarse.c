/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Passes by a coarse grid (ConvolveCoarse): samples are summed up to its
 * values, these are filtered as rows and columns, and made samples again. No
 * picture of the frame's size lies between. */
#include "config.h"

#include "program.h"

/* Of GROW for each multiprocessor, at most: threads loop over what is more. */
#define BLOCKS 64
/* The grid's two pictures: before and between rows and columns, and after. */
#define N_PICTURES 2

static const struct
{
  guint step;
  guint8 shrink, grow;
} variants[] = {
  {2, CUDA_VARIANT_coarse_shrink_n2, CUDA_VARIANT_coarse_grow_n2},
  {4, CUDA_VARIANT_coarse_shrink_n4, CUDA_VARIANT_coarse_grow_n4},
  {8, CUDA_VARIANT_coarse_shrink_n8, CUDA_VARIANT_coarse_grow_n8},
  {16, CUDA_VARIANT_coarse_shrink_n16, CUDA_VARIANT_coarse_grow_n16},
};

void
cuda_coarse_init (CudaStaged * staged, const ConvolvePass * pass,
    GArray * weights)
{
  const ConvolveCoarse *coarse = &pass->operation->coarse;
  gsize width = convolve_coarse_length (coarse, coarse->x, pass->width);
  gsize height = convolve_coarse_length (coarse, coarse->y, pass->height);

  cuda_picture_init (&staged->base.picture, pass);
  staged->coarse = coarse;
  staged->weights[0][0] = cuda_append_weights (weights, coarse->x, FALSE);
  staged->weights[0][1] = cuda_append_weights (weights, coarse->y, FALSE);
  staged->n_pictures = N_PICTURES;
  staged->picture_bytes = (width * height * pass->layout.n_components
      * sizeof (float) + 255) / 256 * 256;
}

/* Between samples and the grid. */
static gboolean
launch_step (CudaDevice * device, const ConvolveStage * stage, guint step,
    guint blocks, GError ** error)
{
  const ConvolveLaunchPicture *p = &stage->picture;
  guint64 work = cuda_pixel_work (p, step, FALSE) * p->width * p->height;
  guint n, i = 0;

  while (variants[i].step != step)
    i++;
  return cuda_throttle (device, work, error)
      && cuda_launch (device, &cuda_variant_list (&n)[stage->op
          == CONVOLVE_STAGE_SHRINK ? variants[i].shrink : variants[i].grow],
      blocks, 0, stage, error);
}

static gboolean
shrink (CudaDevice * device, const ConvolveStage * placed, guint step,
    CUdeviceptr grid, GError ** error)
{
  ConvolveStage stage = *placed;

  stage.op = CONVOLVE_STAGE_SHRINK;
  stage.out = grid;
  return launch_step (device, &stage, step,
      cuda_divide_up (stage.other_width, CONVOLVE_SHRINK_COLUMNS)
      * cuda_divide_up (stage.other_height, CONVOLVE_SHRINK_ROWS), error);
}

static gboolean
grow (CudaDevice * device, const ConvolveStage * placed, guint step,
    CUdeviceptr grid, GError ** error)
{
  ConvolveStage stage = *placed;

  stage.op = CONVOLVE_STAGE_GROW;
  stage.in = grid;
  return launch_step (device, &stage, step,
      MIN (cuda_divide_up (cuda_divide_up (stage.picture.width, 4)
              * cuda_divide_up (stage.picture.height, CONVOLVE_GROW_ROWS),
              CONVOLVE_BLOCK_THREADS),
          BLOCKS * (guint64) device->n_multiprocessors), error);
}

/* Rows, or columns, of the grid: all components as one picture, since what they
 * make of a grid's edge is never looked at. */
static gboolean
filter_grid (CudaDevice * device, const ConvolveStage * placed,
    const ConvolveMatrix * weights, CUdeviceptr at, CUdeviceptr from,
    CUdeviceptr to, GError ** error)
{
  ConvolveStage stage = *placed;
  gboolean rows = weights->height == 1;
  guint n;

  stage.op = rows ? CONVOLVE_STAGE_LONG_ROWS : CONVOLVE_STAGE_LONG_COLUMNS;
  stage.picture.width = stage.other_width;
  stage.picture.height = stage.other_height * stage.picture.n_components;
  stage.picture.n_components = 1;
  stage.border = CONVOLVE_BORDER_REPLICATE;
  stage.in = from;
  stage.out = to;
  stage.weights = at;
  stage.sum = 1;
  stage.nx = weights->width;
  stage.ny = weights->height;
  stage.ax = weights->anchor_x;
  stage.ay = weights->anchor_y;
  return cuda_stage_launch (device, &cuda_variant_list (&n)[rows ?
          CUDA_VARIANT_lines_rows : CUDA_VARIANT_lines_columns], &stage, error);
}

gboolean
cuda_coarse_run (CudaProgram * program, const CudaStaged * staged,
    const CudaFrame * in, const CudaFrame * out, const ConvolveRect * cut,
    GError ** error)
{
  const ConvolvePass *pass = &program->parent.plan->pass[staged->pass];
  const ConvolveCoarse *coarse = staged->coarse;
  CudaDevice *device = cuda_program_device (program);
  CUdeviceptr grid = program->scratch, other = grid + staged->picture_bytes;
  ConvolveStage stage = staged->base;

  cuda_picture_place (&stage.picture, pass, in, out);
  if (cut != NULL)
    cuda_picture_cut (&stage.picture, cut);
  stage.border = pass->border;
  stage.ax = convolve_coarse_margin (coarse->x);
  stage.ay = convolve_coarse_margin (coarse->y);
  stage.other_width =
      convolve_coarse_length (coarse, coarse->x, stage.picture.width);
  stage.other_height =
      convolve_coarse_length (coarse, coarse->y, stage.picture.height);
  return shrink (device, &stage, coarse->step, grid, error)
      && filter_grid (device, &stage, coarse->x, program->weights
      + staged->weights[0][0] * sizeof (float), grid, other, error)
      && filter_grid (device, &stage, coarse->y, program->weights
      + staged->weights[0][1] * sizeof (float), other, grid, error)
      && grow (device, &stage, coarse->step, grid, error);
}
