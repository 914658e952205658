/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which variant does which pass. Everything that a fused variant can do goes
 * there, passes that agree in all but their weights in one launch; what is
 * left goes through stages. */
#include "config.h"

#include <string.h>

#include "banded.h"
#include "program.h"

/* What a pass's operation asks for. */
typedef struct
{
  guint route;                  /* CONVOLVE_ROUTE_...; STAGE_LOAD: by stages */
  guint samples;                /* CONVOLVE_SAMPLES_... */
  guint n_terms;
  gboolean banded;              /* the tensor cores can do it ... */
  gboolean plain;               /* ... and then nothing is left to do */
  gboolean weighted;            /* by its own alpha */
} Need;

/* ---- weights ---- */

/* The size of a term and its anchor, whichever way it is held. */
static void
term_size (const ConvolveTerm * term, ConvolveLaunchTerm * size)
{
  const ConvolveMatrix *x = term->matrix != NULL ? term->matrix : term->x;
  const ConvolveMatrix *y = term->matrix != NULL ? term->matrix : term->y;

  size->nx = x->width;
  size->ny = y->height;
  size->ax = x->anchor_x;
  size->ay = y->anchor_y;
}

/* The side of the smallest square of weights, anchored at its middle, that
 * holds the term. */
static guint
padded_taps (const ConvolveLaunchTerm * size)
{
  guint n = 1;

  while (size->ax > n / 2 || size->ay > n / 2
      || size->nx + n / 2 > n + size->ax || size->ny + n / 2 > n + size->ay)
    n++;
  return n;
}

static guint
set_taps (const ConvolveOperation * operation)
{
  guint taps = 1;

  for (guint t = 0; operation != NULL && t < operation->n_terms; t++) {
    ConvolveLaunchTerm size;

    term_size (&operation->term[t], &size);
    taps = MAX (taps, padded_taps (&size));
  }
  return taps;
}

/* Weights inside the launch: taps x taps, or taps + taps, zeros around. */
static void
pad_term (float *to, const ConvolveTerm * term, guint taps, gboolean separable)
{
  ConvolveLaunchTerm size;

  term_size (term, &size);
  to += taps / 2 - size.ax;
  if (separable) {
    for (guint i = 0; i < size.nx; i++)
      to[i] = term->x->weights[i];
    to += size.ax + taps - size.ay;
    for (guint j = 0; j < size.ny; j++)
      to[j] = term->y->weights[j];
    return;
  }
  to += (gsize) (taps / 2 - size.ay) * taps;
  for (guint j = 0; j < size.ny; j++)
    for (guint i = 0; i < size.nx; i++)
      to[(gsize) j * taps + i] = term->matrix->weights[(gsize) j * size.nx + i];
}

static void
append_matrix (GArray * weights, const ConvolveMatrix * matrix)
{
  for (gsize i = 0; i < (gsize) matrix->width * matrix->height; i++) {
    float w = matrix->weights[i];

    g_array_append_val (weights, w);
  }
}

/* The weights of a picture that is only copied. */
static void
append_identity (GArray * weights, guint n)
{
  const float one = 1;

  for (guint i = 0; i < n; i++)
    g_array_append_val (weights, one);
}

/* The set of weights of operation (NULL: identity) in a launch of any taps;
 * banded: the variant, if it is one of banded.c's. */
static void
set_init_any (ConvolveLaunchSet * set, const ConvolveOperation * operation,
    gboolean separable, const CudaVariant * banded, guint n_terms,
    GArray * weights)
{
  set->n_terms = n_terms;
  for (guint t = 0; t < n_terms; t++) {
    const ConvolveTerm *term = operation == NULL ? NULL : &operation->term[t];

    set->term[t].first = weights->len;
    set->term[t].nx = set->term[t].ny = 1;
    set->term[t].ax = set->term[t].ay = 0;
    if (term != NULL)
      term_size (term, &set->term[t]);
    if (banded != NULL && cuda_variant_is_folded (banded)) {
      cuda_folded_append_term (weights, operation, banded);
    } else if (banded != NULL) {
      cuda_banded_append_term (weights, term, banded);
    } else if (term == NULL) {
      append_identity (weights, separable ? 2 : 1);
    } else if (separable) {
      append_matrix (weights, term->x);
      append_matrix (weights, term->y);
    } else {
      append_matrix (weights, term->matrix);
    }
  }
}

/* The same in a launch of taps known at compile time; *used counts floats of
 * the launch. */
static void
set_init_padded (ConvolveLaunch * launch, ConvolveLaunchSet * set,
    const ConvolveOperation * operation, guint taps, guint n_terms,
    guint * used)
{
  set->n_terms = n_terms;
  for (guint t = 0; t < n_terms; t++) {
    ConvolveLaunchTerm *term = &set->term[t];

    term->first = *used;
    term->nx = term->ny = taps;
    term->ax = term->ay = taps / 2;
    if (operation != NULL)
      pad_term (launch->weight + *used, &operation->term[t], taps,
          launch->separable);
    *used += launch->separable ? 2 * taps : taps * taps;
  }
}

/* ---- choice of the route ---- */

/* Shared memory of a device that the pass would need alone. */
static gboolean
fits_shared_memory (CudaDevice * device, const ConvolvePass * pass,
    const CudaVariant * variant)
{
  ConvolveLaunch launch = { 0 };
  const ConvolveOperation *operation = pass->operation;

  launch.n_pictures = 1;
  cuda_picture_init (&launch.picture[0], pass);
  launch.set[0].n_terms = operation->n_terms;
  for (guint t = 0; t < operation->n_terms; t++)
    term_size (&operation->term[t], &launch.set[0].term[t]);
  return cuda_launch_shared_bytes (variant, &launch)
      <= device->shared_bytes[variant->id];
}

/* The variant with the fewest compile-time taps that are enough, or the one for
 * any number. */
static const CudaVariant *
find_variant (const Need * need, guint taps)
{
  guint n;
  const CudaVariant *all = cuda_variant_list (&n), *best = NULL;

  if (need->route == CONVOLVE_ROUTE_STENCIL)
    return &all[CUDA_VARIANT_stencil];
  for (guint i = 0; i < n; i++) {
    const CudaVariant *v = &all[i];

    if (v->route != need->route || v->samples != need->samples
        || v->terms != need->n_terms || (v->taps != 0 && v->taps < taps))
      continue;
    if (best == NULL || (v->taps != 0 && (best->taps == 0
                || v->taps < best->taps)))
      best = v;
  }
  return best;
}

static guint
operation_route (const ConvolveOperation * operation)
{
  guint matrices = 0, longest = 0;

  for (guint t = 0; t < operation->n_terms; t++) {
    ConvolveLaunchTerm size;

    term_size (&operation->term[t], &size);
    longest = MAX (longest, MAX (size.nx, size.ny));
    matrices += operation->term[t].matrix != NULL;
  }
  if (matrices == operation->n_terms)
    return CONVOLVE_ROUTE_MATRIX;
  if (matrices == 0 && longest <= CONVOLVE_SEPARABLE_MAX_TAPS)
    return CONVOLVE_ROUTE_SEPARABLE;
  return CONVOLVE_ROUTE_STAGE_LOAD;
}

/* What the pass needs; route STENCIL with 0 terms: nothing is filtered. */
static Need
pass_need (CudaDevice * device, const ConvolvePass * pass, CudaForce force)
{
  Need need = {.route = CONVOLVE_ROUTE_STAGE_LOAD,
    .samples = cuda_samples_of (&pass->layout)
  };
  Need any;

  if (force == CUDA_FORCE_STAGE)
    return need;
  if (pass->operation != NULL
      && convolve_operation_is_windowed (pass->operation)) {
    if (force == CUDA_FORCE_NONE && need.samples != CONVOLVE_SAMPLES_ANY
        && (!pass->alpha.weighted || cuda_weighs_itself (pass))
        && cuda_folded_takes (device, pass)) {
      need.route = cuda_folded_route (pass);
      need.n_terms = 1;
      need.weighted = pass->alpha.weighted;
    }
    return need;
  }
  if (pass->operation == NULL) {
    need.route = CONVOLVE_ROUTE_STENCIL;
    return need;
  }
  if ((pass->alpha.weighted && !cuda_weighs_itself (pass))
      || pass->iterations > 1 || (pass->coarse && force == CUDA_FORCE_NONE)
      || pass->precision != CONVOLVE_PRECISION_SINGLE
      || pass->operation->n_terms > 2
      || pass->operation->combine == CONVOLVE_COMBINE_DIFFUSE
      || pass->operation->combine == CONVOLVE_COMBINE_DETAIL)
    return need;
  if (force == CUDA_FORCE_NONE && cuda_sums_takes (device, pass))
    return need;
  need.n_terms = pass->operation->n_terms;
  need.route = operation_route (pass->operation);
  if (need.route == CONVOLVE_ROUTE_STAGE_LOAD)
    return need;
  any = need;
  any.samples = CONVOLVE_SAMPLES_ANY;
  if (force == CUDA_FORCE_STENCIL)
    need.route = CONVOLVE_ROUTE_STENCIL;
  else if (!fits_shared_memory (device, pass, find_variant (&any, G_MAXUINT16)))
    need.route = CONVOLVE_ROUTE_STAGE_LOAD;
  if (force != CUDA_FORCE_FLOAT && need.samples != CONVOLVE_SAMPLES_ANY
      && (need.route == CONVOLVE_ROUTE_SEPARABLE
          || need.route == CONVOLVE_ROUTE_MATRIX)) {
    need.banded = cuda_banded_takes (device, pass);
    need.plain = cuda_banded_is_plain (pass);
    need.weighted = pass->alpha.weighted;
  }
  return need;
}

/* ---- groups ---- */

static gboolean
is_folded (const Need * need)
{
  return need->route == CONVOLVE_ROUTE_FOLDED
      || need->route == CONVOLVE_ROUTE_FOLDED_WEIGHTED;
}

typedef struct
{
  Need need;
  const ConvolveOperation *operation[CONVOLVE_MAX_LAYOUTS];
  guint n_operations;
} Sets;

/* The number of the pass's weights in the group, a new one if need be. */
static guint
sets_add (Sets * sets, const ConvolveOperation * operation)
{
  guint i;

  for (i = 0; i < sets->n_operations; i++)
    if (sets->operation[i] == operation)
      return i;
  g_assert (i < G_N_ELEMENTS (sets->operation));
  sets->operation[i] = operation;
  sets->n_operations++;
  return i;
}

static gboolean
passes_agree (const ConvolvePass * a, const ConvolvePass * b)
{
  return a->operation == b->operation
      || (convolve_operation_frames (a->operation)
      == convolve_operation_frames (b->operation)
      && a->operation->combine == b->operation->combine
      && a->operation->amount == b->operation->amount
      && (a->operation->term[0].matrix == NULL)
      == (b->operation->term[0].matrix == NULL));
}

/* The group that the pass can join: passes that only copy join any. */
static CudaGroup *
find_group (CudaProgram * program, Sets * sets, const Need * need,
    const ConvolvePass * pass, guint * index)
{
  const ConvolvePlan *plan = program->parent.plan;

  for (guint g = 0; g < program->n_groups; g++) {
    const ConvolvePass *first = &plan->pass[program->group[g].pass[0]];

    if (sets[g].need.samples != need->samples
        || sets[g].need.weighted != need->weighted
        || (is_folded (&sets[g].need) && !is_folded (need)))
      continue;
    if (pass->operation != NULL && (sets[g].need.route != need->route
            || sets[g].need.n_terms != need->n_terms
            || sets[g].need.banded != need->banded
            || first->operation == NULL || !passes_agree (first, pass)))
      continue;
    *index = g;
    return &program->group[g];
  }
  return NULL;
}

static void
group_add (CudaProgram * program, Sets * sets, const Need * need, guint pass)
{
  const ConvolvePass *p = &program->parent.plan->pass[pass];
  guint g = program->n_groups;
  CudaGroup *group = find_group (program, sets, need, p, &g);
  ConvolveLaunchPicture *picture;

  if (group == NULL) {
    group = &program->group[program->n_groups++];
    sets[g].need = *need;
  }
  sets[g].need.plain &= need->plain;
  picture = &group->any.launch.picture[group->n_passes];
  cuda_picture_init (picture, p);
  picture->weights = sets_add (&sets[g], p->operation);
  group->pass[group->n_passes++] = pass;
}

/* Pictures and what combines them, the same for both launches. */
static void
launch_init (CudaLaunch * to, const CudaGroup * group,
    const ConvolvePass * first, const CudaVariant * variant)
{
  const ConvolveOperation *operation = first->operation;
  ConvolveLaunch *launch = &to->launch;

  to->variant = variant;
  launch->n_pictures = group->n_passes;
  launch->combine = CONVOLVE_DO_SUM;
  if (operation != NULL) {
    launch->combine = operation->combine;
    launch->amount = operation->amount;
    launch->separable = operation->term[0].matrix == NULL;
  }
  launch->border = first->border;
}

static guint
padded_floats (const Sets * sets, guint taps, gboolean separable)
{
  return sets->n_operations * MAX (sets->need.n_terms, 1)
      * (separable ? 2 * taps : taps * taps);
}

/* FALSE if the device has too little shared memory for it. */
static gboolean
group_try_banded (CudaDevice * device, CudaGroup * group, const Sets * sets,
    guint taps, GArray * weights)
{
  Need need = sets->need;
  const CudaVariant *variant;
  ConvolveLaunch *launch = &group->wide.launch;

  need.route = is_folded (&need) ? need.route :
      !launch->separable ? CONVOLVE_ROUTE_DIRECT :
      need.weighted ? CONVOLVE_ROUTE_WEIGHTED :
      need.plain || need.samples == CONVOLVE_SAMPLES_U16 ?
      CONVOLVE_ROUTE_PLAIN : CONVOLVE_ROUTE_BANDED;
  variant = find_variant (&need, taps);
  while (!cuda_banded_stages (device, variant, launch)) {
    /* Variants for more taps have fewer warps. */
    if (!is_folded (&need)
        || variant->taps == CONVOLVE_FOLDED_MAX_TAPS)
      return FALSE;
    variant = find_variant (&need, variant->taps + 1);
  }
  group->wide.variant = variant;
  for (guint i = 0; i < sets->n_operations; i++)
    set_init_any (&launch->set[i], sets->operation[i], launch->separable,
        variant, MAX (need.n_terms, 1), weights);
  return TRUE;
}

/* Of sums over frames, whose rows are always aligned: there is but one way. */
static void
group_finish_folded (CudaDevice * device, CudaGroup * group,
    const ConvolvePass * first, const Sets * sets, GArray * weights)
{
  ConvolveLaunch *launch = &group->wide.launch;
  guint taps = 1;

  *launch = group->any.launch;
  launch_init (&group->wide, group, first, NULL);
  launch->separable = TRUE;
  launch->n_frames = convolve_operation_frames (first->operation);
  launch->weights = TRUE;
  for (guint i = 0; i < sets->n_operations; i++)
    taps = MAX (taps, set_taps (sets->operation[i]));
  group_try_banded (device, group, sets, taps, weights);
  group->any = group->wide;
}

static void
group_finish (CudaProgram * program, CudaGroup * group, Sets * sets,
    GArray * weights)
{
  CudaDevice *device = cuda_program_device (program);
  const ConvolvePass *first = &program->parent.plan->pass[group->pass[0]];
  Need any = sets->need;
  guint taps = 1, used = 0, n_terms = MAX (any.n_terms, 1);
  const CudaVariant *variant;
  ConvolveLaunch *launch = &group->any.launch;

  if (is_folded (&any)) {
    group_finish_folded (device, group, first, sets, weights);
    return;
  }
  any.samples = CONVOLVE_SAMPLES_ANY;
  launch_init (&group->any, group, first, find_variant (&any, G_MAXUINT16));
  for (guint i = 0; i < sets->n_operations; i++) {
    set_init_any (&launch->set[i], sets->operation[i], launch->separable,
        NULL, n_terms, weights);
    taps = MAX (taps, set_taps (sets->operation[i]));
  }
  launch->weights = TRUE;       /* the address comes when all are together */

  group->wide = group->any;
  if (sets->need.samples == CONVOLVE_SAMPLES_ANY
      || (sets->need.banded && group_try_banded (device, group, sets, taps,
              weights)))
    return;
  variant = find_variant (&sets->need, taps);
  if (variant->taps != 0 && padded_floats (sets, variant->taps,
          launch->separable) > CONVOLVE_LAUNCH_WEIGHTS)
    variant = find_variant (&sets->need, G_MAXUINT16);
  group->wide.variant = variant;
  if (variant->taps == 0)
    return;
  group->wide.launch.weights = 0;
  for (guint i = 0; i < sets->n_operations; i++)
    set_init_padded (&group->wide.launch, &group->wide.launch.set[i],
        sets->operation[i], variant->taps, n_terms, &used);
}

static gboolean
check_sizes (const ConvolvePass * pass, GError ** error)
{
  for (guint t = 0; pass->operation != NULL && t < pass->operation->n_terms;
      t++) {
    const ConvolveTerm *term = &pass->operation->term[t];
    guint nx = term->matrix != NULL ? term->matrix->width : term->x->width;
    guint ny = term->matrix != NULL ? term->matrix->height : term->y->height;

    if (MAX (nx, ny) > G_MAXUINT16) {
      g_set_error (error, CONVOLVE_ERROR, CONVOLVE_ERROR_UNSUPPORTED,
          "a matrix of %u x %u weights is too large for the CUDA backend: "
          "choose a smaller sigma or radius, or backend=cpu", nx, ny);
      return FALSE;
    }
  }
  return TRUE;
}

/* Filtering passes first: those that only copy then find a group to join. */
gboolean
cuda_program_map (CudaProgram * program, CudaForce force, GArray * weights,
    GError ** error)
{
  const ConvolvePlan *plan = program->parent.plan;
  Sets sets[CUDA_MAX_PASSES];

  memset (sets, 0, sizeof (sets));
  program->group = g_new0 (CudaGroup, plan->n_passes);
  for (guint copies = 0; copies < 2; copies++) {
    for (guint i = 0; i < plan->n_passes; i++) {
      const ConvolvePass *pass = &plan->pass[i];
      Need need;

      if ((pass->operation == NULL) != copies)
        continue;
      if (!check_sizes (pass, error))
        return FALSE;
      need = pass_need (cuda_program_device (program), pass, force);
      if (need.route == CONVOLVE_ROUTE_STAGE_LOAD)
        cuda_staged_init (&program->staged[program->n_staged++], program, i,
            weights);
      else
        group_add (program, sets, &need, i);
    }
  }
  for (guint g = 0; g < program->n_groups; g++) {
    CudaGroup *group = &program->group[g];

    group_finish (program, group, &sets[g], weights);
    group->wide.shared_bytes = cuda_launch_shared_bytes (group->wide.variant,
        &group->wide.launch);
    group->any.shared_bytes = cuda_launch_shared_bytes (group->any.variant,
        &group->any.launch);
  }
  return TRUE;
}
