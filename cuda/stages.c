/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Passes that go through float pictures in scratch memory: long rows and
 * columns, iterations, weighted alpha, double precision. params.h says what
 * each stage computes.
 *
 * Scratch pictures: 0 holds what the iteration filters, 1 what lies between
 * rows and columns and then the iteration's result, 2 and 3 the terms (those of
 * longer sums by turns, each added to the one before), and the last one the
 * frame itself, where it is wanted beside a sum over frames. Behind them the
 * levels of a pyramid.
 *
 * Frames are summed first, by their weights, colours times alpha already; the
 * stages that follow then take them for straight. A deep matrix is a matrix
 * for each frame, added up. */
#include "config.h"

#include "program.h"

typedef struct _Run Run;

struct _Run
{
  CudaProgram *program;
  const CudaStaged *staged;
  const ConvolvePass *pass;
  ConvolveStage placed;         /* the base, with the frame's addresses */
  ConvolveRect cut;             /* what of the pass's picture is one here */
  CUdeviceptr picture[CUDA_MAX_SCRATCH];
  CUdeviceptr pyramid;
  struct
  {
    gint width, height;
  } level[CONVOLVE_MAX_LEVELS + 1];
  Run *alpha;                   /* that of staged->alpha, or NULL */
  gboolean folded;              /* BEFORE is a sum over frames */
};

/* From so many taps on rows and columns have kernels that are made for many. */
#define LONG_TAPS 8

/* Replaces ROWS and COLUMNS where there are many taps. */
static void
lengthen (const Run * run, ConvolveStage * stage)
{
  const CudaDevice *device = cuda_program_device (run->program);
  ConvolveStage longer = *stage;
  guint variant = CUDA_VARIANT_lines_columns, taps = stage->ny;

  longer.op = CONVOLVE_STAGE_LONG_COLUMNS;
  if (stage->op == CONVOLVE_STAGE_ROWS) {
    longer.op = CONVOLVE_STAGE_LONG_ROWS;
    variant = CUDA_VARIANT_lines_rows;
    taps = stage->nx;
  }
  if (taps >= LONG_TAPS && !stage->wide && !run->program->plain_stages
      && cuda_stage_shared_bytes (&longer) <= device->shared_bytes[variant])
    *stage = longer;
}

static gboolean
launch_stage (const Run * run, const ConvolveStage * stage, GError ** error)
{
  static const guint8 ids[][2] = {
    [CONVOLVE_STAGE_LOAD] = {CUDA_VARIANT_stage_load,
        CUDA_VARIANT_stage_load_wide},
    [CONVOLVE_STAGE_ROWS] = {CUDA_VARIANT_stage_rows,
        CUDA_VARIANT_stage_rows_wide},
    [CONVOLVE_STAGE_COLUMNS] = {CUDA_VARIANT_stage_columns,
        CUDA_VARIANT_stage_columns_wide},
    [CONVOLVE_STAGE_MATRIX] = {CUDA_VARIANT_stage_matrix,
        CUDA_VARIANT_stage_matrix_wide},
    [CONVOLVE_STAGE_FINISH] = {CUDA_VARIANT_stage_finish,
        CUDA_VARIANT_stage_finish_wide},
    [CONVOLVE_STAGE_FOLD] = {CUDA_VARIANT_stage_fold,
        CUDA_VARIANT_stage_fold_wide},
    [CONVOLVE_STAGE_DIFFUSE] = {CUDA_VARIANT_stage_diffuse,
        CUDA_VARIANT_stage_diffuse_wide},
    [CONVOLVE_STAGE_REDUCE] = {CUDA_VARIANT_stage_reduce,
        CUDA_VARIANT_stage_reduce_wide},
    [CONVOLVE_STAGE_CORRECT] = {CUDA_VARIANT_stage_correct,
        CUDA_VARIANT_stage_correct_wide},
    [CONVOLVE_STAGE_LONG_ROWS] = {CUDA_VARIANT_lines_rows},
    [CONVOLVE_STAGE_LONG_COLUMNS] = {CUDA_VARIANT_lines_columns},
  };
  guint n;

  return cuda_stage_launch (cuda_program_device (run->program),
      &cuda_variant_list (&n)[ids[stage->op][stage->wide]], stage, error);
}

/* Several iterations in one. */
static gboolean
launch_steps (const Run * run, const ConvolveStage * stage, GError ** error)
{
  CudaDevice *device = cuda_program_device (run->program);
  const CudaVariant *variant = run->staged->steps_variant;
  const ConvolveLaunchPicture *p = &stage->picture;
  guint64 tiles = cuda_steps_tiles (stage, variant->taps / 2);
  guint64 work = cuda_pixel_work (p, stage->steps
      * (guint64) variant->taps * variant->taps, FALSE);

  return cuda_throttle (device, work * p->width * p->height, error)
      && cuda_launch (device, variant,
      MIN (tiles, 64 * (guint64) device->n_multiprocessors),
      CONVOLVE_STEPS_SHARED_BYTES, stage, error);
}

static CUdeviceptr
weights_at (const Run * run, guint32 first)
{
  return run->program->weights + first * (guint64) sizeof (float);
}

static void
set_matrix (ConvolveStage * stage, const ConvolveMatrix * matrix)
{
  stage->nx = matrix->width;
  stage->ny = matrix->height;
  stage->ax = matrix->anchor_x;
  stage->ay = matrix->anchor_y;
}

/* Where the sum of the terms 0 .. t is, or term t of two. */
static CUdeviceptr
term_picture (const Run * run, guint t)
{
  return run->picture[CUDA_PICTURE_TERM + t % 2];
}

/* Of sums over frames: nothing is to be multiplied any more, and outside lies
 * what the sum makes of the edge. */
static void
take_for_straight (const Run * run, ConvolveStage * stage)
{
  gdouble sum = convolve_matrix_sum (run->pass->operation->t);
  guint n = stage->picture.n_components;

  for (guint c = 0; c < n; c++) {
    gboolean colour = stage->weighted && !(stage->straight & 1 << c);

    stage->edge[c] *= sum * (colour ? stage->edge[n] : 1);
  }
  stage->edge[n] *= sum;
  stage->straight = G_MAXUINT8;
}

static gboolean
run_term (const Run * run, const ConvolveTerm * term, guint t, GError ** error)
{
  ConvolveStage stage = run->placed;
  gboolean many = run->pass->operation->n_terms > 2;

  if (run->folded)
    take_for_straight (run, &stage);
  stage.in = run->picture[CUDA_PICTURE_BEFORE];
  stage.weights = weights_at (run, run->staged->weights[t][0]);
  if (term->matrix != NULL) {
    stage.op = CONVOLVE_STAGE_MATRIX;
    stage.out = term_picture (run, t);
    set_matrix (&stage, term->matrix);
    return launch_stage (run, &stage, error);
  }
  stage.op = CONVOLVE_STAGE_ROWS;
  stage.out = run->picture[CUDA_PICTURE_BETWEEN];
  set_matrix (&stage, term->x);
  lengthen (run, &stage);
  if (!launch_stage (run, &stage, error))
    return FALSE;
  stage.op = CONVOLVE_STAGE_COLUMNS;
  stage.in = stage.out;
  stage.out = term_picture (run, t);
  if (many && t > 0)
    stage.second = term_picture (run, t - 1);
  stage.weights = weights_at (run, run->staged->weights[t][1]);
  stage.sum = convolve_matrix_sum (term->x);
  set_matrix (&stage, term->y);
  lengthen (run, &stage);
  return launch_stage (run, &stage, error);
}

static void
place_alpha (const Run * run, const CudaFrame * in, ConvolveStage * stage)
{
  const ConvolvePass *pass = run->pass;
  guint plane = pass->alpha.layout.plane;
  gint x0 = run->cut.x0 << pass->alpha.w_sub;
  gint y0 = run->cut.y0 << pass->alpha.h_sub;

  if (!pass->alpha.weighted)
    return;
  stage->alpha_stride = in->stride[plane] * (gint) pass->row_step;
  stage->alpha = in->data[plane]
      + (gint64) pass->row_first * in->stride[plane]
  + (gint64) y0 *stage->alpha_stride + (gint64) x0 *stage->alpha_step;
  stage->alpha_width = MIN (run->cut.x1 << pass->alpha.w_sub,
      pass->alpha.width) - x0;
  stage->alpha_height = MIN (run->cut.y1 << pass->alpha.h_sub,
      pass->alpha.height) - y0;
}

/* The place in frame of what is at that place of in. */
static guint64
same_place (const CudaFrame * in, const CudaFrame * frame, guint plane,
    guint64 place)
{
  return place + (frame->data[plane] - in->data[plane]);
}

/* frame: in itself, or one of its window. */
static gboolean
run_load (const Run * run, const CudaFrame * in, const CudaFrame * frame,
    guint picture, GError ** error)
{
  const ConvolvePass *pass = run->pass;
  ConvolveStage stage = run->placed;

  stage.op = CONVOLVE_STAGE_LOAD;
  stage.out = run->picture[picture];
  place_alpha (run, in, &stage);
  stage.picture.src = same_place (in, frame, pass->layout.plane,
      stage.picture.src);
  stage.alpha = same_place (in, frame, pass->alpha.layout.plane, stage.alpha);
  return launch_stage (run, &stage, error);
}

/* As many frames a launch as it holds addresses. */
static gboolean
run_fold (const Run * run, const CudaFrame * in, GError ** error)
{
  const ConvolvePass *pass = run->pass;
  const ConvolveOperation *operation = pass->operation;
  guint n = convolve_operation_frames (operation);
  ConvolveStage stage = run->placed;

  stage.op = CONVOLVE_STAGE_FOLD;
  stage.out = run->picture[CUDA_PICTURE_BEFORE];
  place_alpha (run, in, &stage);
  for (guint first = 0; first < n; first += CONVOLVE_STAGE_FRAMES) {
    stage.nx = MIN (n - first, CONVOLVE_STAGE_FRAMES);
    stage.add = first > 0;
    stage.own = operation->before >= first ? operation->before - first :
        G_MAXUINT16;
    stage.weights = weights_at (run, run->staged->t_weights
        + first * (stage.wide ? 2 : 1));
    for (guint f = 0; f < stage.nx; f++) {
      const CudaFrame *frame = &in->window[first + f];

      stage.frame[f] = same_place (in, frame, pass->layout.plane,
          stage.picture.src);
      stage.frame_alpha[f] = same_place (in, frame, pass->alpha.layout.plane,
          stage.alpha);
    }
    if (!launch_stage (run, &stage, error))
      return FALSE;
  }
  return TRUE;
}

/* The sum of all frames' matrices; the own frame's is last, so that it stays
 * loaded. */
static gboolean
run_deep (const Run * run, const CudaFrame * in, GError ** error)
{
  const ConvolveOperation *operation = run->pass->operation;
  const ConvolveMatrix *matrix = operation->term[0].matrix;
  guint n = convolve_operation_frames (operation);
  guint size = matrix->width * matrix->height * (run->staged->base.wide ? 2 :
      1);

  for (guint i = 1; i <= n; i++) {
    guint f = (operation->before + i) % n;
    ConvolveStage stage = run->placed;

    if (!run_load (run, in, &in->window[f], CUDA_PICTURE_BEFORE, error))
      return FALSE;
    stage.op = CONVOLVE_STAGE_MATRIX;
    stage.in = run->picture[CUDA_PICTURE_BEFORE];
    stage.out = run->picture[CUDA_PICTURE_TERM];
    stage.weights = weights_at (run, run->staged->weights[0][0] + f * size);
    stage.add = i > 1;
    set_matrix (&stage, matrix);
    if (!launch_stage (run, &stage, error))
      return FALSE;
  }
  return TRUE;
}

static gboolean
is_deep (const Run * run)
{
  const ConvolveOperation *operation = run->pass->operation;

  return operation != NULL && operation->t == NULL
      && convolve_operation_frames (operation) > 1;
}

/* What the first iteration filters. */
static gboolean
run_begin (Run * run, const CudaFrame * in, GError ** error)
{
  const ConvolveOperation *operation = run->pass->operation;

  run->folded = operation != NULL && operation->t != NULL;
  if (is_deep (run))
    return run_deep (run, in, error);
  if (!run->folded)
    return run_load (run, in, in, CUDA_PICTURE_BEFORE, error);
  return run_fold (run, in, error) && (!run->placed.weighted
      || run_load (run, in, in, CUDA_PICTURE_TERM + operation->n_terms, error));
}

/* Nothing but the sum over frames is to be done. */
static gboolean
is_only_folded (const Run * run)
{
  const ConvolveOperation *operation = run->pass->operation;
  const ConvolveTerm *term = &operation->term[0];

  return run->folded && operation->combine == CONVOLVE_COMBINE_SUM
      && operation->n_terms == 1 && (term->matrix != NULL ?
      convolve_matrix_is_identity (term->matrix) :
      convolve_matrix_is_identity (term->x)
      && convolve_matrix_is_identity (term->y));
}

/* Diffusion divides by thresholds: these are their inverses. */
static void
invert_thresholds (ConvolveStage * stage)
{
  for (guint c = 0; c < CONVOLVE_MAX_COMPONENTS; c++)
    stage->threshold[c] = stage->threshold[c] > 0 ? 1 / stage->threshold[c] : 0;
}

static gboolean
run_diffuse (const Run * run, GError ** error)
{
  ConvolveStage stage = run->placed;

  if (run->folded)
    take_for_straight (run, &stage);
  stage.op = CONVOLVE_STAGE_DIFFUSE;
  stage.in = run->picture[CUDA_PICTURE_BEFORE];
  stage.out = run->picture[CUDA_PICTURE_TERM];
  invert_thresholds (&stage);
  return launch_stage (run, &stage, error);
}

static CUdeviceptr
level_picture (const Run * run, guint l)
{
  return l == 0 ? run->picture[CUDA_PICTURE_BEFORE] :
      run->pyramid + run->staged->level[l].at;
}

static CUdeviceptr
level_correction (const Run * run, guint l)
{
  return l == 0 ? run->picture[CUDA_PICTURE_TERM] :
      run->pyramid + run->staged->level[l].correction;
}

/* A stage that makes a picture of level l from one of level other. */
static void
set_levels (const Run * run, ConvolveStage * stage, guint l, guint other)
{
  stage->picture.width = run->level[l].width;
  stage->picture.height = stage->picture.row_end = run->level[l].height;
  stage->other_width = run->level[other].width;
  stage->other_height = run->level[other].height;
}

static gboolean
run_pyramid (const Run * run, GError ** error)
{
  guint n = run->pass->n_levels;

  for (guint l = 1; l <= n; l++) {
    ConvolveStage stage = run->placed;

    if (run->folded)
      take_for_straight (run, &stage);
    stage.op = CONVOLVE_STAGE_REDUCE;
    set_levels (run, &stage, l, l - 1);
    stage.in = level_picture (run, l - 1);
    stage.out = level_picture (run, l);
    if (!launch_stage (run, &stage, error))
      return FALSE;
  }
  for (guint l = n; l-- > 0;) {
    ConvolveStage stage = run->placed;

    if (run->folded)
      take_for_straight (run, &stage);
    stage.op = CONVOLVE_STAGE_CORRECT;
    set_levels (run, &stage, l, l + 1);
    stage.amount = run->pass->operation->level[l];
    stage.in = level_picture (run, l);
    stage.before = level_picture (run, l + 1);
    stage.second = l + 1 < n ? level_correction (run, l + 1) : 0;
    stage.out = level_correction (run, l);
    if (!launch_stage (run, &stage, error))
      return FALSE;
  }
  return TRUE;
}

/* What an operation's combination is made of. */
static gboolean
run_parts (const Run * run, GError ** error)
{
  const ConvolveOperation *operation = run->pass->operation;

  if (operation == NULL || is_deep (run) || is_only_folded (run))
    return TRUE;
  if (operation->combine == CONVOLVE_COMBINE_DIFFUSE)
    return run_diffuse (run, error);
  if (operation->combine == CONVOLVE_COMBINE_DETAIL)
    return run_pyramid (run, error);
  for (guint t = 0; t < operation->n_terms; t++)
    if (!run_term (run, &operation->term[t], t, error))
      return FALSE;
  return TRUE;
}

static gboolean
run_finish (const Run * run, gboolean last, GError ** error)
{
  const ConvolveOperation *operation = run->pass->operation;
  ConvolveStage stage = run->placed;

  stage.op = CONVOLVE_STAGE_FINISH;
  stage.before = stage.in = run->picture[CUDA_PICTURE_BEFORE];
  if (run->folded && stage.weighted)
    stage.before = run->picture[CUDA_PICTURE_TERM + operation->n_terms];
  if (operation != NULL) {
    if (!is_only_folded (run))
      stage.in = run->picture[CUDA_PICTURE_TERM];
    stage.sum = operation->sum;
    if (operation->n_terms > 2)
      stage.in = term_picture (run, operation->n_terms - 1);
    /* A picture of one pixel has no level: it is as it was. */
    if (operation->combine == CONVOLVE_COMBINE_DETAIL
        && run->pass->n_levels == 0) {
      stage.combine = CONVOLVE_DO_SUM;
      stage.in = stage.before;
    }
    if (operation->n_terms == 2)
      stage.second = run->picture[CUDA_PICTURE_TERM + 1];
  }
  stage.last = last;
  if (!last)
    stage.out = run->picture[CUDA_PICTURE_BETWEEN];
  if (!last && run->alpha != NULL)
    stage.alpha = run->alpha->picture[CUDA_PICTURE_BEFORE];
  return launch_stage (run, &stage, error);
}

/* Afterwards picture BEFORE is what the next iteration filters. */
static gboolean
run_iteration (Run * run, gboolean last, GError ** error)
{
  CUdeviceptr result = run->picture[CUDA_PICTURE_BETWEEN];

  if (run->alpha != NULL && !last && !run_iteration (run->alpha, FALSE, error))
    return FALSE;
  if (!run_parts (run, error) || !run_finish (run, last, error))
    return FALSE;
  run->folded = FALSE;
  run->picture[CUDA_PICTURE_BETWEEN] = run->picture[CUDA_PICTURE_BEFORE];
  run->picture[CUDA_PICTURE_BEFORE] = result;
  return TRUE;
}

/* What is filtered goes from picture 0 to 1 and back, a launch at a time. */
static gboolean
run_steps (const Run * run, GError ** error)
{
  const ConvolveOperation *operation = run->pass->operation;
  const ConvolveTerm *term = &operation->term[0];
  guint left = run->pass->iterations, at = CUDA_PICTURE_BEFORE;
  ConvolveStage stage = run->placed;

  if (operation->combine == CONVOLVE_COMBINE_DIFFUSE) {
    stage.op = CONVOLVE_STAGE_DIFFUSE_STEPS;
    invert_thresholds (&stage);
  } else {
    stage.op = CONVOLVE_STAGE_STEPS;
    stage.weights = weights_at (run, run->staged->steps_weights);
    set_matrix (&stage, term->matrix != NULL ? term->matrix : term->x);
    if (term->matrix == NULL) {
      stage.ny = term->y->height;
      stage.ay = term->y->anchor_y;
    }
  }
  for (; left > 0; left -= stage.steps, at = CUDA_PICTURE_BETWEEN - at) {
    stage.steps = MIN (run->staged->steps, left);
    stage.last = stage.steps == left;
    stage.in = run->picture[at];
    stage.out = run->picture[CUDA_PICTURE_BETWEEN - at];
    if (!launch_steps (run, &stage, error))
      return FALSE;
  }
  stage = run->placed;
  stage.op = CONVOLVE_STAGE_FINISH;
  stage.before = stage.in = run->picture[at];
  stage.last = TRUE;
  return launch_stage (run, &stage, error);
}

static void
run_init (Run * run, CudaProgram * program, const CudaStaged * staged,
    CUdeviceptr scratch, const CudaFrame * in, const CudaFrame * out,
    const ConvolveRect * cut)
{
  run->program = program;
  run->staged = staged;
  run->pass = &program->parent.plan->pass[staged->pass];
  run->placed = staged->base;
  cuda_picture_place (&run->placed.picture, run->pass, in, out);
  run->cut = (ConvolveRect) {
  0, 0, run->pass->width, run->pass->height};
  if (cut != NULL) {
    run->cut = *cut;
    cuda_picture_cut (&run->placed.picture, cut);
  }
  for (guint i = 0; i < staged->n_pictures; i++)
    run->picture[i] = scratch + i * staged->picture_bytes;
  run->pyramid = scratch + staged->n_pictures * staged->picture_bytes;
  run->level[0].width = run->cut.x1 - run->cut.x0;
  run->level[0].height = run->cut.y1 - run->cut.y0;
  for (guint l = 0; l < run->pass->n_levels; l++) {
    run->level[l + 1].width = (run->level[l].width + 1) / 2;
    run->level[l + 1].height = (run->level[l].height + 1) / 2;
  }
}

gboolean
cuda_staged_run (CudaProgram * program, const CudaStaged * staged,
    const CudaFrame * in, const CudaFrame * out, const ConvolveRect * cut,
    GError ** error)
{
  Run run = { 0 }, alpha = { 0 };
  guint iterations;

  if (staged->coarse != NULL)
    return cuda_coarse_run (program, staged, in, out, cut, error);
  /* Alpha that is filtered on another grid has a reach of its own: the whole
   * picture is right for both. */
  if (staged->alpha != NULL)
    cut = NULL;
  run_init (&run, program, staged, program->scratch, in, out, cut);
  if (cuda_sums_can (staged, &run.placed.picture))
    return cuda_sums_run (cuda_program_device (program), staged,
        &run.placed.picture, program->scratch, error);
  if (staged->alpha != NULL) {
    run_init (&alpha, program, staged->alpha, program->scratch
        + staged->n_pictures * staged->picture_bytes, in, out, NULL);
    run.alpha = &alpha;
    if (!run_begin (&alpha, in, error))
      return FALSE;
  }
  if (!run_begin (&run, in, error))
    return FALSE;
  if (staged->steps > 0)
    return run_steps (&run, error);
  iterations = run.pass->operation != NULL ? run.pass->iterations : 1;
  for (guint i = 0; i < iterations; i++)
    if (!run_iteration (&run, i + 1 == iterations, error))
      return FALSE;
  return TRUE;
}
