/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Counts bytes and multiply-adds from a pass's geometry and weights. What
 * iterations and terms keep between them is not counted: a pass that keeps it
 * on the chip moves no more than its input and its output. */
#include "config.h"

#include "work.h"

/* A neighbour's flow: difference, 1 + its square, division, sum. */
#define DIFFUSE_OPERATIONS (4 * 4)
/* Of a coarser level's sample, from and to the four that it stands for. */
#define PYRAMID_TAPS 25

/* ---- bytes ---- */

static guint
count_components (const ConvolvePass * pass, ConvolveAction action)
{
  guint n = 0;

  for (guint c = 0; c < pass->layout.n_components; c++)
    n += pass->component[c].action == action;
  return n;
}

/* Samples that are filtered are read from n frames, copied ones from one. */
static guint64
pixel_bytes_read (const ConvolvePass * pass, guint frames)
{
  guint filtered = count_components (pass, CONVOLVE_ACTION_FILTER);
  guint copied = count_components (pass, CONVOLVE_ACTION_COPY);

  if (pass->layout.type == CONVOLVE_SAMPLE_BITS32LE)
    return 4 * (filtered > 0 ? frames : copied > 0);
  return ((guint64) filtered * frames + copied)
      * convolve_layout_sample_bytes (&pass->layout);
}

static guint64
pixel_bytes_written (const ConvolveLayout * layout)
{
  if (layout->type == CONVOLVE_SAMPLE_BITS32LE)
    return 4;
  return convolve_layout_sample_bytes (layout) * layout->n_components;
}

static gboolean
alpha_is_apart (const ConvolvePass * pass)
{
  return pass->alpha.weighted && pass->alpha.layout.plane != pass->layout.plane;
}

/* ---- arithmetic ---- */

static guint64
matrix_multiply_adds (const ConvolveMatrix * matrix)
{
  return convolve_matrix_is_identity (matrix) ? 0 :
      convolve_matrix_count (matrix);
}

static guint64
term_multiply_adds (const ConvolveTerm * term)
{
  if (term->matrix != NULL)
    return matrix_multiply_adds (term->matrix);
  return matrix_multiply_adds (term->x) + matrix_multiply_adds (term->y);
}

/* Of a sample of each component that is filtered, in one iteration. */
static guint64
sample_multiply_adds (const ConvolveOperation * operation)
{
  guint64 n = 0;

  if (operation->combine == CONVOLVE_COMBINE_DIFFUSE)
    return DIFFUSE_OPERATIONS;
  for (guint t = 0; t < operation->n_terms; t++)
    n += term_multiply_adds (&operation->term[t]);
  return n;
}

/* Down and up again, of one component: each coarser sample is summed up once,
 * and spread twice, as picture and as correction (of which the coarsest level
 * has none); each finer one gets its difference times a gain. */
static guint64
pyramid_multiply_adds (const ConvolvePass * pass)
{
  guint64 width = pass->width, height = pass->height, n = 0;

  for (guint l = 1; l <= pass->n_levels; l++) {
    n += 2 * width * height;
    width = (width + 1) / 2;
    height = (height + 1) / 2;
    n += width * height * PYRAMID_TAPS * (l < pass->n_levels ? 3 : 2);
  }
  return n;
}

/* Down, over the grid, and up again, of one component. */
static guint64
coarse_multiply_adds (const ConvolvePass * pass)
{
  const ConvolveCoarse *coarse = &pass->operation->coarse;
  guint64 values = (guint64) convolve_coarse_length (coarse, coarse->x,
      pass->width) * convolve_coarse_length (coarse, coarse->y, pass->height);
  guint64 line = 3 * coarse->step;

  return values * (line * (coarse->step + 1) + coarse->x->width
      + coarse->y->height) + (guint64) pass->width * pass->height * 6;
}

/* Sums that a pixel needs: those of filtered samples, and of weighing alpha
 * unless it is one of them. */
static guint
count_sums (const ConvolvePass * pass)
{
  guint n = count_components (pass, CONVOLVE_ACTION_FILTER);

  if (!pass->alpha.weighted)
    return n;
  for (guint c = 0; c < pass->layout.n_components; c++)
    if (pass->layout.component[c].role == CONVOLVE_ROLE_ALPHA
        && pass->component[c].action == CONVOLVE_ACTION_FILTER)
      return n;
  return n + 1;
}

void
convolve_pass_work (const ConvolvePass * pass, ConvolveWork * work)
{
  const ConvolveOperation *operation = pass->operation;
  guint64 pixels = (guint64) pass->width * pass->height;
  guint frames = operation != NULL ? convolve_operation_frames (operation) : 1;
  guint64 once;

  work->bytes_read = pixels * pixel_bytes_read (pass, frames);
  work->bytes_written = pixels * pixel_bytes_written (&pass->layout);
  work->multiply_adds = 0;
  if (operation == NULL)
    return;
  if (alpha_is_apart (pass))
    work->bytes_read += (guint64) pass->alpha.width * pass->alpha.height
        * convolve_layout_sample_bytes (&pass->alpha.layout) * frames;

  once = pass->coarse ? coarse_multiply_adds (pass) :
      operation->combine == CONVOLVE_COMBINE_DETAIL ?
      pyramid_multiply_adds (pass) : pixels * sample_multiply_adds (operation);
  work->multiply_adds = once * pass->iterations;
  if (operation->t != NULL)
    work->multiply_adds += pixels * frames;
  work->multiply_adds *= count_sums (pass);
}

void
convolve_plan_work (const ConvolvePlan * plan, ConvolveWork * work)
{
  *work = (ConvolveWork) {
  0};
  for (guint i = 0; i < plan->n_passes; i++) {
    ConvolveWork pass;

    convolve_pass_work (&plan->pass[i], &pass);
    work->bytes_read += pass.bytes_read;
    work->bytes_written += pass.bytes_written;
    work->multiply_adds += pass.multiply_adds;
  }
}
