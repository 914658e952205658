/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A part of a frame. Kernels know pictures, not parts of them, so a region with
 * as much around it as its filter reads is a picture of its own: a cut, whose
 * edges are the picture's where it reaches these. What kernels make of a cut
 * goes to a frame of the program's own, since it is right in the region alone,
 * and from there the region goes to the output, where everything else has been
 * copied before. */
#include "config.h"

#include <string.h>

#include "program.h"

/* Cuts begin at these columns, or rows may no longer be aligned as wide access
 * wants it. */
#define CUT_COLUMNS 16
#define COPY_BLOCKS 16          /* for each multiprocessor */

/* ---- from frame to frame ---- */

static gboolean
copy_rows (CudaDevice * device, CUdeviceptr from, gint64 from_stride,
    CUdeviceptr to, gint64 to_stride, gsize bytes, guint rows, GError ** error)
{
  /* Copies know no negative strides: these go row by row. */
  guint n = from_stride > 0 && to_stride > 0 ? 1 : rows;

  for (guint i = 0; i < n; i++) {
    CUDA_MEMCPY2D copy = { 0 };

    copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.srcDevice = from + i * from_stride;
    copy.dstDevice = to + i * to_stride;
    copy.srcPitch = n == 1 ? (gsize) from_stride : bytes;
    copy.dstPitch = n == 1 ? (gsize) to_stride : bytes;
    copy.WidthInBytes = bytes;
    copy.Height = n == 1 ? rows : 1;
    if (!CU_CHECK (error, cuMemcpy2DAsync, &copy, device->compute))
      return FALSE;
  }
  return TRUE;
}

/* The bytes of a pass's rectangle that are samples. */
static gboolean
copy_rect (CudaProgram * program, const ConvolvePass * pass,
    const ConvolveRect * rect, const CudaFrame * from, const CudaFrame * to,
    GError ** error)
{
  const CudaPlane *plane = &program->plane[pass->layout.plane];
  guint p = pass->layout.plane;
  gint64 row = pass->row_first + (gint64) rect->y0 * pass->row_step;
  gint64 from_stride = (gint64) from->stride[p] * pass->row_step;
  gint64 to_stride = (gint64) to->stride[p] * pass->row_step;

  for (guint r = 0; r < plane->n_runs; r++) {
    guint begin = MAX ((guint) rect->x0 * pass->layout.pixel_step,
        plane->run[r].begin);
    guint end = MIN ((guint) rect->x1 * pass->layout.pixel_step,
        plane->run[r].begin + plane->run[r].bytes);

    if (begin < end
        && !copy_rows (cuda_program_device (program),
            from->data[p] + row * from->stride[p] + begin, from_stride,
            to->data[p] + row * to->stride[p] + begin, to_stride, end - begin,
            rect->y1 - rect->y0, error))
      return FALSE;
  }
  return TRUE;
}

/* ---- what is not filtered ---- */

/* Every bit of a row belongs to a sample. */
static gboolean
is_all_samples (const ConvolveLaunchPicture * p)
{
  guint bits = p->store == CONVOLVE_STORE_U8 ? 8 : 16;

  for (guint c = 0; c < p->n_components; c++)
    if (p->component[c].depth != bits)
      return FALSE;
  return p->contiguous && p->src_stride > 0 && p->dst_stride > 0;
}

static void
init_copies (ConvolveLaunch * launch)
{
  memset (launch, 0, sizeof (*launch));
  launch->set[0].n_terms = 1;
  launch->set[0].term[0].nx = launch->set[0].term[0].ny = 1;
  launch->weight[0] = 1;
}

/* The frame as it is. What is more than samples goes by the plain stencil,
 * which knows every format, clears the bits that no sample has and leaves
 * padding alone. */
static gboolean
copy_frame (CudaProgram * program, const CudaFrame * in, const CudaFrame * out,
    GError ** error)
{
  const ConvolvePlan *plan = program->parent.plan;
  CudaDevice *device = cuda_program_device (program);
  const CudaVariant *variants;
  ConvolveLaunch launch;
  guint64 pixels = 1;
  guint n;

  init_copies (&launch);
  for (guint i = 0; i < plan->n_passes; i++) {
    const ConvolvePass *pass = &plan->pass[i];
    const ConvolveRect whole = { 0, 0, pass->width, pass->height };
    ConvolveLaunchPicture *p = &launch.picture[launch.n_pictures];

    cuda_picture_init (p, pass);
    cuda_picture_place (p, pass, in, out);
    if (is_all_samples (p)) {
      if (!copy_rect (program, pass, &whole, in, out, error))
        return FALSE;
      continue;
    }
    p->weighted = FALSE;
    for (guint c = 0; c < p->n_components; c++)
      p->component[c].action = CONVOLVE_DO_COPY;
    pixels = MAX (pixels, (guint64) p->width * p->height);
    launch.n_pictures++;
  }
  if (launch.n_pictures == 0)
    return TRUE;
  launch.n_blocks = MIN ((pixels + CONVOLVE_BLOCK_THREADS - 1)
      / CONVOLVE_BLOCK_THREADS,
      COPY_BLOCKS * (guint64) device->n_multiprocessors);
  variants = cuda_variant_list (&n);
  return cuda_launch (device, &variants[CUDA_VARIANT_stencil],
      launch.n_blocks, 0, &launch, error);
}

/* ---- cuts ---- */

void
cuda_picture_cut (ConvolveLaunchPicture * picture, const ConvolveRect * cut)
{
  picture->src += (gint64) cut->y0 * picture->src_stride
      + (gint64) cut->x0 * picture->pixel_step;
  picture->dst += (gint64) cut->y0 * picture->dst_stride
      + (gint64) cut->x0 * picture->pixel_step;
  picture->width = cut->x1 - cut->x0;
  picture->height = cut->y1 - cut->y0;
  picture->row_begin = 0;
  picture->row_end = picture->height;
}

/* The levels of a pyramid begin where those of the picture have a pixel. */
static void
align_cut (const ConvolvePass * pass, ConvolveRect * cut)
{
  gint pixels = 1 << pass->n_levels;

  cut->x0 -= cut->x0 % MAX (pixels, CUT_COLUMNS);
  cut->y0 -= cut->y0 % pixels;
}

/* A region as a band of the cuts that it needs of each pass. */
static void
cut_passes (const ConvolvePlan * plan, const ConvolveRect * region,
    CudaBand * band, ConvolveRect * cuts)
{
  memset (band, 0, sizeof (*band));
  band->cuts = cuts;
  for (guint i = 0; i < plan->n_passes; i++) {
    const ConvolvePass *pass = &plan->pass[i];
    ConvolveRect rect = convolve_pass_rect (pass, region);

    /* One row has none in the other field. */
    if (convolve_rect_is_empty (&rect)) {
      cuts[i] = (ConvolveRect) {
      0, 0, 1, 1};
      continue;
    }
    cuts[i] = convolve_pass_reach (pass, &rect, pass->iterations);
    align_cut (pass, &cuts[i]);
    band->begin[i] = rect.y0 - cuts[i].y0;
    band->end[i] = rect.y1 - cuts[i].y0;
  }
}

/* ---- a frame ---- */

static gboolean
run_region (CudaProgram * program, const ConvolveRect * region,
    const CudaFrame * in, const CudaFrame * own, const CudaFrame * out,
    GError ** error)
{
  const ConvolvePlan *plan = program->parent.plan;
  ConvolveRect cuts[CUDA_MAX_PASSES];
  CudaBand band;

  cut_passes (plan, region, &band, cuts);
  for (guint g = 0; g < program->n_groups; g++)
    if (!cuda_group_run (program, &program->group[g], in, own, &band, error))
      return FALSE;
  for (guint i = 0; i < program->n_staged; i++) {
    const CudaStaged *staged = &program->staged[i];

    if (band.begin[staged->pass] < band.end[staged->pass]
        && !cuda_staged_run (program, staged, in, own, &cuts[staged->pass],
            error))
      return FALSE;
  }
  for (guint i = 0; i < plan->n_passes; i++) {
    ConvolveRect rect = convolve_pass_rect (&plan->pass[i], region);

    if (!convolve_rect_is_empty (&rect)
        && !copy_rect (program, &plan->pass[i], &rect, own, out, error))
      return FALSE;
  }
  return TRUE;
}

gboolean
cuda_regions_ensure (CudaProgram * program, GError ** error)
{
  return program->region_planes != 0
      || CU_CHECK (error, cuMemAlloc, &program->region_planes,
      program->frame_bytes);
}

gboolean
cuda_regions_run (CudaProgram * program, const ConvolveRegions * regions,
    const CudaFrame * in, const CudaFrame * out, GError ** error)
{
  CudaFrame own = { {0}, {0}, NULL };

  for (guint p = 0; p < CONVOLVE_MAX_PLANES; p++) {
    own.data[p] = program->region_planes + program->plane[p].offset;
    own.stride[p] = program->plane[p].pitch;
  }
  if (!copy_frame (program, in, out, error))
    return FALSE;
  for (guint i = 0; i < regions->n; i++)
    if (!run_region (program, &regions->rect[i], in, &own, out, error))
      return FALSE;
  return TRUE;
}
