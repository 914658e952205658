/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What passes through float pictures need before the first frame: weights,
 * scratch pictures, levels. stages.c runs them and says what is where. */
#include "config.h"

#include "program.h"

/* Appends weights, as pairs hi and lo whose sum is the weight if wide. */
guint32
cuda_append_weights (GArray * weights, const ConvolveMatrix * matrix,
    gboolean wide)
{
  const float zero = 0;
  guint32 first;

  /* Pairs are read at once. */
  if (wide && weights->len % 2 != 0)
    g_array_append_val (weights, zero);
  first = weights->len;
  for (gsize i = 0; i < (gsize) matrix->width * matrix->height
      * matrix->depth; i++) {
    float hi = matrix->weights[i], lo = matrix->weights[i] - hi;

    g_array_append_val (weights, hi);
    if (wide)
      g_array_append_val (weights, lo);
  }
  return first;
}

/* The pass that filters the alpha that pass weighs with; -1 if none does. */
static gint
find_alpha_pass (const ConvolvePlan * plan, const ConvolvePass * pass)
{
  for (guint i = 0; i < plan->n_passes; i++) {
    const ConvolvePass *p = &plan->pass[i];
    guint c = pass->alpha.component;

    if (p->layout.plane == pass->alpha.layout.plane
        && p->row_first == pass->row_first && p->layout.n_components > c
        && p->layout.component[c].role == CONVOLVE_ROLE_ALPHA)
      return p->component[c].action == CONVOLVE_ACTION_FILTER ? (gint) i : -1;
  }
  return -1;
}

static void
init_alpha (ConvolveStage * stage, const ConvolvePass * pass)
{
  const ConvolvePassAlpha *alpha = &pass->alpha;
  ConvolvePass alone = { 0 };
  ConvolveLaunchPicture picture;

  /* Alpha's storage is told as that of any component. */
  alone.layout = alpha->layout;
  cuda_picture_init (&picture, &alone);
  stage->weighted = TRUE;
  stage->alpha_width = alpha->width;
  stage->alpha_height = alpha->height;
  stage->alpha_store = picture.store;
  stage->alpha_swap = picture.swap;
  stage->alpha_step = picture.pixel_step;
  stage->alpha_at = picture.component[alpha->component].at;
  stage->alpha_shift = picture.component[alpha->component].shift;
  stage->alpha_depth = picture.component[alpha->component].depth;
  stage->alpha_w_sub = alpha->w_sub;
  stage->alpha_h_sub = alpha->h_sub;
  stage->edge[pass->layout.n_components] = alpha->edge;
  for (guint c = 0; c < pass->layout.n_components; c++)
    if (pass->layout.component[c].role == CONVOLVE_ROLE_ALPHA)
      stage->straight |= 1 << c;
}

static void
init_terms (CudaStaged * staged, const ConvolveOperation * operation,
    GArray * weights)
{
  gboolean wide = staged->base.wide;

  staged->base.combine = operation->combine;
  staged->base.amount = operation->amount;
  staged->n_pictures = CUDA_PICTURE_TERM + MIN (operation->n_terms, 2);
  if (operation->t != NULL) {
    staged->t_weights = cuda_append_weights (weights, operation->t, wide);
    staged->n_pictures += staged->base.weighted;
  }
  for (guint t = 0; t < operation->n_terms; t++) {
    const ConvolveTerm *term = &operation->term[t];

    if (term->matrix != NULL) {
      staged->weights[t][0] = cuda_append_weights (weights, term->matrix, wide);
    } else {
      staged->weights[t][0] = cuda_append_weights (weights, term->x, wide);
      staged->weights[t][1] = cuda_append_weights (weights, term->y, wide);
    }
  }
}

static gsize
picture_bytes (gint width, gint height, guint values, gboolean wide)
{
  return ((gsize) width * height * values * (wide ? 2 : 1) * sizeof (float)
      + 255) / 256 * 256;
}

/* Each level is half as wide and high as the one before. */
static void
init_levels (CudaStaged * staged, const ConvolvePass * pass)
{
  gint width = pass->width, height = pass->height;

  staged->n_pictures = CUDA_PICTURE_TERM + 1;   /* the picture's corrections */
  for (guint l = 0; l <= pass->n_levels; l++) {
    gsize bytes = picture_bytes (width, height, pass->layout.n_components,
        staged->base.wide);

    if (l > 0) {
      staged->level[l].at = staged->pyramid_bytes;
      staged->level[l].correction = staged->level[l].at + bytes;
      staged->pyramid_bytes += 2 * bytes;
    }
    width = (width + 1) / 2;
    height = (height + 1) / 2;
  }
}

static void
staged_init (CudaStaged * staged, const ConvolvePlan * plan, guint pass,
    gboolean wide, GArray * weights)
{
  const ConvolvePass *p = &plan->pass[pass];
  ConvolveStage *base = &staged->base;
  guint values = p->layout.n_components + (p->alpha.weighted ? 1 : 0);

  staged->pass = pass;
  cuda_picture_init (&base->picture, p);
  base->border = p->border;
  base->wide = wide;
  for (guint c = 0; c < p->layout.n_components; c++) {
    base->gain[c] = p->component[c].gain;
    base->offset[c] = p->component[c].offset;
    base->threshold[c] = p->component[c].threshold;
    base->edge[c] = p->component[c].edge;
  }
  if (p->alpha.weighted)
    init_alpha (base, p);
  staged->n_pictures = 1;
  if (p->operation != NULL)
    init_terms (staged, p->operation, weights);
  staged->picture_bytes = picture_bytes (p->width, p->height, values, wide);
  if (p->operation != NULL && p->operation->combine == CONVOLVE_COMBINE_DETAIL)
    init_levels (staged, p);
}

/* Alpha of the pass's own grid is filtered with the colours. That of another
 * grid (subsampled chroma) is filtered on its own, with its own weights. */
static void
follow_alpha (CudaStaged * staged, const ConvolvePlan * plan,
    const ConvolvePass * pass, GArray * weights)
{
  gint alpha = find_alpha_pass (plan, pass);

  if (alpha < 0)
    return;
  staged->base.alpha_filtered = 1;
  if (pass->alpha.w_sub == 0 && pass->alpha.h_sub == 0)
    return;
  staged->base.alpha_filtered = 2;
  staged->alpha = g_new0 (CudaStaged, 1);
  staged_init (staged->alpha, plan, alpha, staged->base.wide, weights);
}

void
cuda_staged_init (CudaStaged * staged, CudaProgram * program, guint pass,
    GArray * weights)
{
  const ConvolvePlan *plan = program->parent.plan;
  const ConvolvePass *p = &plan->pass[pass];

  if (p->coarse && !program->plain_stages) {
    staged->pass = pass;
    cuda_coarse_init (staged, p, weights);
    return;
  }
  staged_init (staged, plan, pass, p->precision == CONVOLVE_PRECISION_DOUBLE,
      weights);
  if (p->alpha.weighted && p->iterations > 1)
    follow_alpha (staged, plan, p, weights);
  cuda_staged_init_steps (staged, program, weights);
  cuda_sums_init (staged, program);
}

gsize
cuda_staged_scratch_bytes (const CudaStaged * staged)
{
  gsize stages = staged->picture_bytes * staged->n_pictures
      + staged->pyramid_bytes
      + (staged->alpha != NULL ? cuda_staged_scratch_bytes (staged->alpha) : 0);

  return MAX (stages, cuda_sums_scratch_bytes (staged));
}
