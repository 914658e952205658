/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How many iterations of a pass go into one launch (temporal blocking). Each
 * launch reads and writes the picture once, however many steps it does; but a
 * tile needs as much around it as all its steps reach, which is loaded and
 * filtered again by its neighbours. */
#include "config.h"

#include <math.h>

#include "program.h"

/* What things take, in picoseconds on the device this was tuned on; only their
 * ratios count. A value in global memory, a step of a value in shared memory
 * for each row of weights, and a launch. */
#define VALUE_COST 1.1
#define ROW_COST 0.45
#define DIFFUSE_COST 2.5
#define LAUNCH_COST 4e6

/* How far a term reaches from a pixel, to the farthest side. */
static guint
term_reach (const ConvolveTerm * term)
{
  const ConvolveMatrix *x = term->matrix != NULL ? term->matrix : term->x;
  const ConvolveMatrix *y = term->matrix != NULL ? term->matrix : term->y;

  return MAX (MAX (x->anchor_x, x->width - 1 - x->anchor_x),
      MAX (y->anchor_y, y->height - 1 - y->anchor_y));
}

/* The variant that makes several steps of the pass; -1: none does. */
static gint
find_variant (const CudaStaged * staged, const ConvolvePass * pass)
{
  const ConvolveOperation *operation = pass->operation;

  if (operation == NULL || pass->iterations < 2 || staged->base.weighted
      || staged->base.wide || convolve_operation_frames (operation) > 1)
    return -1;
  if (operation->combine == CONVOLVE_COMBINE_DIFFUSE)
    return CUDA_VARIANT_steps_diffuse;
  if (operation->combine != CONVOLVE_COMBINE_SUM || operation->n_terms > 1)
    return -1;
  switch (term_reach (&operation->term[0])) {
    case 0:
    case 1:
      return CUDA_VARIANT_steps_n3;
    case 2:
      return CUDA_VARIANT_steps_n5;
    default:
      return -1;
  }
}

/* A launch of so many steps on a picture of that size; infinite if a tile is
 * too small for them. */
static gdouble
launch_cost (const ConvolvePass * pass, guint reach, gdouble step_cost,
    guint steps)
{
  guint n = pass->layout.n_components;
  gdouble width = convolve_steps_own_columns (n, steps * reach);
  gdouble height = convolve_steps_own_rows (n, steps * reach), cost;

  if (width < 1 || height < 1)
    return INFINITY;
  cost = VALUE_COST * (width + 2 * reach * steps)
      * (height + 2 * reach * steps) + VALUE_COST * width * height;
  for (guint i = 0; i < steps; i++)
    cost += step_cost * (width + 2 * reach * i) * (height + 2 * reach * i);
  return LAUNCH_COST + cost * n * ceil (pass->width / width)
      * ceil (pass->height / height);
}

static guint
choose_steps (const ConvolvePass * pass, guint reach, gdouble step_cost)
{
  gdouble least = INFINITY;
  guint best = 1;

  for (guint k = 1; k <= MIN (pass->iterations, CUDA_MAX_STEPS); k++) {
    gdouble cost = pass->iterations / k
        * launch_cost (pass, reach, step_cost, k);

    if (pass->iterations % k != 0)
      cost += launch_cost (pass, reach, step_cost, pass->iterations % k);
    if (cost < least) {
      least = cost;
      best = k;
    }
  }
  return best;
}

void
cuda_staged_init_steps (CudaStaged * staged, CudaProgram * program,
    GArray * weights)
{
  const ConvolvePass *pass = &program->parent.plan->pass[staged->pass];
  gint variant = find_variant (staged, pass);
  gboolean diffuse = variant == CUDA_VARIANT_steps_diffuse;
  const ConvolveTerm *term;
  const CudaVariant *list;
  guint n, reach;

  if (variant < 0 || cuda_program_device (program)->shared_bytes[variant] <
      CONVOLVE_STEPS_SHARED_BYTES)
    return;
  list = cuda_variant_list (&n);
  reach = list[variant].taps / 2;
  staged->steps = choose_steps (pass, reach,
      diffuse ? DIFFUSE_COST : ROW_COST * list[variant].taps);
  if (program->forced_steps >= 0)
    staged->steps = program->forced_steps;
  if (staged->steps > 0 && isinf (launch_cost (pass, reach, 0, staged->steps)))
    staged->steps = 1;
  staged->steps_variant = &list[variant];
  if (diffuse || staged->steps == 0)
    return;
  term = &pass->operation->term[0];
  staged->steps_weights = staged->weights[0][0];
  if (term->matrix == NULL) {
    ConvolveMatrix *outer = convolve_matrix_outer (term->x, term->y);

    staged->steps_weights = cuda_append_weights (weights, outer, FALSE);
    convolve_matrix_unref (outer);
  }
}

guint64
cuda_steps_tiles (const ConvolveStage * stage, guint reach)
{
  guint n = stage->picture.n_components;
  guint64 width = convolve_steps_own_columns (n, stage->steps * reach);
  guint64 height = convolve_steps_own_rows (n, stage->steps * reach);

  return (stage->picture.width + width - 1) / width
      * ((stage->picture.height + height - 1) / height);
}
