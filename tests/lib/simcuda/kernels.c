/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the GPU functions compute, written from cuda/params.h alone: slow, plain
 * and in double. Before a kernel runs, everything that the host must have got
 * right is checked: geometry, memory, alignment, the room for weights. */
#include <math.h>
#include <string.h>

#include "cuda/banded.h"
#include "ptx.h"
#include "samples.h"
#include "sim.h"

static const SimKernel kernels[] = {
#define VARIANT(name, source, route, samples, terms, taps) \
  {#name, CONVOLVE_ROUTE_##route, CONVOLVE_SAMPLES_##samples, terms, taps},
  CONVOLVE_VARIANTS (VARIANT)
#undef VARIANT
};

static guint runs[G_N_ELEMENTS (kernels)];

const SimKernel *
sim_kernel_find (const gchar * name)
{
  for (guint i = 0; i < G_N_ELEMENTS (kernels); i++)
    if (strcmp (kernels[i].name, name) == 0)
      return &kernels[i];
  return NULL;
}

guint
sim_kernel_runs (const gchar * name)
{
  const SimKernel *kernel = sim_kernel_find (name);

  return kernel != NULL ? runs[kernel - kernels] : 0;
}

static gboolean
is_stage (const SimKernel * kernel)
{
  return kernel->route >= CONVOLVE_ROUTE_STAGE_LOAD;
}

static gboolean
is_sums (const SimKernel * kernel)
{
  return kernel->route == CONVOLVE_ROUTE_SUMS_PARTS
      || kernel->route == CONVOLVE_ROUTE_SUMS_STARTS
      || kernel->route == CONVOLVE_ROUTE_SUMS;
}

gsize
sim_kernel_parameter_bytes (const SimKernel * kernel)
{
  return is_sums (kernel) ? sizeof (ConvolveSums) :
      is_stage (kernel) ? sizeof (ConvolveStage) : sizeof (ConvolveLaunch);
}

gboolean
sim_kernel_is_banded (const SimKernel * kernel)
{
  return kernel->route == CONVOLVE_ROUTE_BANDED
      || kernel->route == CONVOLVE_ROUTE_PLAIN
      || kernel->route == CONVOLVE_ROUTE_WEIGHTED
      || kernel->route == CONVOLVE_ROUTE_DIRECT
      || sim_kernel_is_folded (kernel);
}

gboolean
sim_kernel_is_folded (const SimKernel * kernel)
{
  return kernel->route == CONVOLVE_ROUTE_FOLDED
      || kernel->route == CONVOLVE_ROUTE_FOLDED_WEIGHTED;
}

gboolean
sim_kernel_is_weighted (const SimKernel * kernel)
{
  return kernel->route == CONVOLVE_ROUTE_WEIGHTED
      || kernel->route == CONVOLVE_ROUTE_FOLDED_WEIGHTED;
}

gboolean
sim_kernel_is_direct (const SimKernel * kernel)
{
  return kernel->route == CONVOLVE_ROUTE_DIRECT;
}

/* Words on the tensor cores. */
gboolean
sim_kernel_has_words (const SimKernel * kernel)
{
  return sim_kernel_is_banded (kernel)
      && kernel->samples == CONVOLVE_SAMPLES_U16;
}

static guint
banded_warps (const SimKernel * kernel)
{
  return sim_kernel_has_words (kernel) ? CONVOLVE_WORDS_WARPS (kernel->taps) :
      sim_kernel_is_weighted (kernel) ? CONVOLVE_WEIGHTED_WARPS (kernel->taps) :
      sim_kernel_is_folded (kernel) ? CONVOLVE_FOLDED_WARPS (kernel->taps) :
      CONVOLVE_BANDED_WARPS (kernel->route != CONVOLVE_ROUTE_BANDED,
      kernel->taps);
}

guint
sim_kernel_threads (const SimKernel * kernel, const void *parameters)
{
  if (is_sums (kernel))
    return sim_sums_threads (kernel, parameters);
  return sim_kernel_is_banded (kernel) ? 32 * banded_warps (kernel) + 32 :
      CONVOLVE_BLOCK_THREADS;
}

/* ---- samples ---- */

gpointer
sim_address (guint64 base, gint64 stride, gint64 y)
{
  return (gpointer) (gsize) (base + y * stride);
}

/* The index that stands for i among n, by stepping; -1: the constant. */
gint
sim_outside (guint border, gint64 i, gint n)
{
  while (i < 0 || i >= n) {
    switch (border) {
      case 0:
        i = i < 0 ? 0 : n - 1;
        break;
      case 1:
        i = i < 0 ? -1 - i : 2 * (gint64) n - 1 - i;
        break;
      case 2:
        if (n == 1)
          return 0;
        i = i < 0 ? -i : 2 * ((gint64) n - 1) - i;
        break;
      case 3:
        i += i < 0 ? n : -(gint64) n;
        break;
      default:
        return -1;
    }
  }
  return i;
}

guint
sim_read_word (const guint8 * at, guint store, guint swap)
{
  switch (store) {
    case CONVOLVE_STORE_U8:
      return at[0];
    case CONVOLVE_STORE_U16:
      return swap ? at[0] << 8 | at[1] : at[1] << 8 | at[0];
    default:
      return (guint) at[3] << 24 | at[2] << 16 | at[1] << 8 | at[0];
  }
}

guint
sim_read_sample (const ConvolveLaunchPicture * p, gint x, gint y, guint c)
{
  const ConvolveLaunchComponent *k = &p->component[c];
  const guint8 *at = sim_address (p->src, p->src_stride, y);

  return sim_read_word (at + (gsize) x * p->pixel_step + k->at, p->store,
      p->swap)
      >> k->shift & ((1u << k->depth) - 1);
}

void
sim_write_pixel (const ConvolveLaunchPicture * p, gint x, gint y,
    const guint * sample)
{
  guint8 *pixel = (guint8 *) sim_address (p->dst, p->dst_stride, y)
      + (gsize) x * p->pixel_step;
  guint32 bits = 0;

  for (guint c = 0; c < p->n_components; c++) {
    const ConvolveLaunchComponent *k = &p->component[c];
    guint word = sample[c] << k->shift;

    bits |= word;
    if (p->store == CONVOLVE_STORE_U8) {
      pixel[k->at] = word;
    } else if (p->store == CONVOLVE_STORE_U16) {
      pixel[k->at + (p->swap ? 1 : 0)] = word;
      pixel[k->at + (p->swap ? 0 : 1)] = word >> 8;
    }
  }
  if (p->store == CONVOLVE_STORE_BITS32)
    for (guint i = 0; i < 4; i++)
      pixel[i] = bits >> 8 * i;
}

guint
sim_rounded (double value, double lo, double hi)
{
  value = rint (value);
  return value >= lo ? (value <= hi ? value : hi) : lo;
}

/* ---- checks of what the host said ---- */

gsize
sim_row_bytes (const ConvolveLaunchPicture * p)
{
  gsize reach = 0;

  for (guint c = 0; c < p->n_components; c++)
    reach = MAX (reach, (gsize) p->component[c].at
        + (p->store == CONVOLVE_STORE_U8 ? 1 : p->store == CONVOLVE_STORE_U16 ?
            2 : 4));
  return (gsize) (p->width - 1) * p->pixel_step + reach;
}

static void
check_alignment (const SimKernel * kernel, const ConvolveLaunchPicture * p)
{
  guint bytes = kernel->samples == CONVOLVE_SAMPLES_U8 ? 1 : 2;
  guint pixel = bytes * p->n_components;
  guint wanted = p->n_components == 3 ? bytes : bytes == 1 ? 4 : pixel;

  if (kernel->samples == CONVOLVE_SAMPLES_ANY)
    return;
  if (sim_kernel_is_banded (kernel))
    wanted = 4;
  if (!p->contiguous || p->swap || p->pixel_step != pixel
      || p->store != (bytes == 1 ? CONVOLVE_STORE_U8 : CONVOLVE_STORE_U16))
    sim_misuse ("%s got samples that are not side by side", kernel->name);
  if (p->src % wanted != 0 || p->src_stride % (gint) wanted != 0
      || (!sim_kernel_is_folded (kernel) && (p->dst % wanted != 0
              || p->dst_stride % (gint) wanted != 0)))
    sim_misuse ("%s got rows that are not aligned to %u", kernel->name, wanted);
}

/* The frames of a sum over them. */
static gboolean
check_frames (const SimKernel * kernel, const ConvolveLaunch * launch,
    const ConvolveLaunchPicture * p)
{
  if (!sim_kernel_is_folded (kernel))
    return TRUE;
  if (launch->n_frames < 1 || launch->n_frames > CONVOLVE_FOLDED_MAX_FRAMES) {
    sim_misuse ("%s got %u frames", kernel->name, launch->n_frames);
    return FALSE;
  }
  for (guint f = 0; f < launch->n_frames; f++) {
    if (launch->frame[f] % 16 != 0)
      sim_misuse ("%s got a frame that is not aligned to 16", kernel->name);
    if (!sim_check_rows ("a frame of a sum", p->src + launch->frame[f],
            p->src_stride, p->height, sim_row_bytes (p)))
      return FALSE;
  }
  return TRUE;
}

static gboolean
check_picture (const SimKernel * kernel, const ConvolveLaunchPicture * p)
{
  if (p->width < 1 || p->height < 1 || p->n_components < 1
      || p->n_components > 4 || p->row_begin < 0 || p->row_begin > p->row_end
      || p->row_end > p->height) {
    sim_misuse ("%s got a picture of %d x %d, %u components, rows %d to %d",
        kernel->name, p->width, p->height, p->n_components, p->row_begin,
        p->row_end);
    return FALSE;
  }
  check_alignment (kernel, p);
  return sim_check_rows ("a kernel's source", p->src, p->src_stride,
      p->height, sim_row_bytes (p))
      && sim_check_rows ("a kernel's target",
      p->dst + (gint64) p->row_begin * p->dst_stride, p->dst_stride,
      p->row_end - p->row_begin, sim_row_bytes (p));
}

/* Whether a half float can have the value. */
static gboolean
is_half (float value)
{
  return value == sim_to_half (value) && fabs (value) <= 65504;
}

/* What the products ask of a term. */
static void
check_banded_term (const SimKernel * kernel, const ConvolveLaunchTerm * term,
    const float *weights, gsize n)
{
  guint half = kernel->taps / 2;

  if (term->ax > half || term->ay > half || term->nx > half + term->ax + 1
      || term->ny > half + term->ay + 1)
    sim_misuse ("%s got a term of %u x %u weights around %u, %u",
        kernel->name, term->nx, term->ny, term->ax, term->ay);
  for (gsize i = 0; i < n; i++)
    if (!is_half (sim_kernel_has_words (kernel) ? CONVOLVE_WORDS_SCALE *
            weights[i] : weights[i]))
      sim_misuse ("%s got the weight %g", kernel->name, weights[i]);
}

/* What is left to do after the sums must be what the kernel does. */
static void
check_plain (const SimKernel * kernel, const ConvolveLaunch * launch,
    const ConvolveLaunchPicture * p)
{
  gboolean plain = launch->combine == CONVOLVE_DO_SUM
      && (!p->weighted || sim_kernel_is_weighted (kernel));
  guint filtered = 0;

  if (sim_kernel_has_words (kernel)) {
    for (guint c = 0; c < p->n_components; c++)
      filtered += p->component[c].action == CONVOLVE_DO_FILTER;
    if (!plain || p->n_components == 3 || (filtered != 0
            && filtered != p->n_components))
      sim_misuse ("%s got more to do than to round", kernel->name);
    return;
  }
  for (guint c = 0; c < p->n_components; c++) {
    const ConvolveLaunchComponent *k = &p->component[c];

    plain &= k->action == CONVOLVE_DO_FILTER && k->gain == 1 && k->offset == 0
        && k->lo <= 0 && k->hi >= 255;
  }
  if (sim_kernel_is_weighted (kernel)) {
    if (!plain || p->plain || !p->weighted || p->n_components != 4
        || (p->alpha != 0 && p->alpha != 3))
      sim_misuse ("%s got more to do than to weigh and round", kernel->name);
    return;
  }
  if (plain ? !p->plain : p->plain || kernel->route == CONVOLVE_ROUTE_PLAIN)
    sim_misuse ("%s got more to do than to round", kernel->name);
}

/* The weights of a term: in the launch, or in memory. */
static const float *
term_weights (const SimKernel * kernel, const ConvolveLaunch * launch,
    const ConvolveLaunchTerm * term)
{
  gsize rows = sim_kernel_is_folded (kernel) ? launch->n_frames : 1;
  gsize n = launch->separable ? rows * term->nx + term->ny :
      (gsize) term->nx * term->ny;

  if (term->nx == 0 || term->ny == 0 || term->ax >= term->nx
      || term->ay >= term->ny) {
    sim_misuse ("%s got a term of %u x %u weights", kernel->name, term->nx,
        term->ny);
    return NULL;
  }
  if (kernel->taps != 0 && !sim_kernel_is_banded (kernel)
      && (term->nx != kernel->taps
          || term->ny != kernel->taps || term->ax != kernel->taps / 2
          || term->ay != kernel->taps / 2))
    sim_misuse ("%s got a term of %u x %u weights", kernel->name, term->nx,
        term->ny);
  if ((launch->weights == 0) != (kernel->taps != 0
          && !sim_kernel_is_banded (kernel))
      && kernel->route != CONVOLVE_ROUTE_STENCIL)
    sim_misuse ("%s looks for its weights elsewhere", kernel->name);
  if (launch->weights != 0) {
    const float *weights =
        (const float *) (gsize) launch->weights + term->first;

    gsize held = n;

    if (sim_kernel_is_banded (kernel))
      held += sim_kernel_is_direct (kernel) ? 1 : 2;
    if (sim_kernel_has_words (kernel) || sim_kernel_is_weighted (kernel))
      held += n;
    if (!sim_check_rows ("a kernel's weights",
            launch->weights + term->first * (guint64) 4, 0, 1, held * 4))
      return NULL;
    if (sim_kernel_is_banded (kernel))
      check_banded_term (kernel, term, weights, n);
    if (sim_kernel_has_words (kernel) || sim_kernel_is_weighted (kernel))
      check_banded_term (kernel, term, weights + n + 2, n);
    return weights;
  }
  if (term->first + n > CONVOLVE_LAUNCH_WEIGHTS) {
    sim_misuse ("%s got more weights than a launch holds", kernel->name);
    return NULL;
  }
  return launch->weight + term->first;
}

static guint
needed_shared_bytes (const SimKernel * kernel, const ConvolveLaunch * launch,
    const ConvolveLaunchPicture * p)
{
  const ConvolveLaunchSet *set = &launch->set[p->weights];
  guint nx = 0, ny = 0, ax = 0, ay = 0;

  if (sim_kernel_is_banded (kernel)) {
    guint frames = sim_kernel_is_folded (kernel) ? launch->n_frames : 1;
    gboolean twice = sim_kernel_has_words (kernel)
        || sim_kernel_is_weighted (kernel);

    for (guint i = 0; i < launch->n_pictures; i++)
      ny = MAX (ny, launch->set[launch->picture[i].weights].term[0].ny);
    if (launch->stages <
        convolve_banded_least_stages (sim_kernel_is_direct (kernel), ny)
        || launch->stages > CONVOLVE_BANDED_MAX_STAGES * (twice ? frames : 1)
        || launch->stage_bytes < (twice ? 1 : frames)
        * CONVOLVE_BANDED_ROWS * convolve_banded_pitch (p->n_components,
            sim_kernel_has_words (kernel) ? 2 : 1, kernel->taps,
            banded_warps (kernel)))
      sim_misuse ("%s got %u stages of %u bytes", kernel->name, launch->stages,
          launch->stage_bytes);
    return launch->stages * (launch->stage_bytes +
        CONVOLVE_BANDED_BARRIER_BYTES)
        + (sim_kernel_is_weighted (kernel) ?
        convolve_weighted_table_bytes (kernel->taps) : 0)
        + convolve_banded_table_bytes (sim_kernel_is_direct (kernel),
        sim_kernel_has_words (kernel) ? 2 : 1, kernel->taps, ny)
        + convolve_folded_table_bytes (twice, kernel->taps, frames);
  }
  for (guint t = 0; t < set->n_terms; t++) {
    ax = MAX (ax, set->term[t].ax);
    ay = MAX (ay, set->term[t].ay);
  }
  for (guint t = 0; t < set->n_terms; t++) {
    nx = MAX (nx, ax + set->term[t].nx - set->term[t].ax);
    ny = MAX (ny, ay + set->term[t].ny - set->term[t].ay);
  }
  if (kernel->route == CONVOLVE_ROUTE_SEPARABLE)
    return convolve_separable_shared_bytes (p->n_components, nx, ny,
        kernel->terms);
  if (kernel->route != CONVOLVE_ROUTE_MATRIX)
    return 0;
  if (kernel->taps == 0) {
    nx = MIN (nx, CONVOLVE_MATRIX_PIECE_COLUMNS);
    ny = MIN (ny, CONVOLVE_MATRIX_PIECE_ROWS);
  }
  return convolve_matrix_shared_bytes (p->n_components, nx, ny, kernel->terms);
}

/* Every row of every strip must be some block's. */
static void
check_geometry (const SimKernel * kernel, const ConvolveLaunch * launch,
    guint grid, guint shared_bytes)
{
  guint64 blocks = 0;

  for (guint i = 0; i < launch->n_pictures; i++) {
    const ConvolveLaunchPicture *p = &launch->picture[i];
    guint strip = sim_kernel_is_banded (kernel) ? banded_warps (kernel)
        * CONVOLVE_BANDED_PIXELS (p->n_components) :
        CONVOLVE_WARP_PIXELS (p->n_components);
    guint step =
        sim_kernel_is_banded (kernel) ? CONVOLVE_BANDED_ROWS :
        CONVOLVE_STEP_ROWS;

    if (kernel->route == CONVOLVE_ROUTE_STENCIL)
      continue;
    if (p->first_block != blocks || p->task_rows == 0
        || p->task_rows % step != 0
        || p->blocks_x != (guint) (p->width + strip - 1) / strip
        || p->blocks_y != (guint) (p->row_end - p->row_begin + p->task_rows
            - 1) / p->task_rows)
      sim_misuse ("%s: picture %u has blocks %u + %u x %u of %u rows",
          kernel->name, i, p->first_block, p->blocks_x, p->blocks_y,
          p->task_rows);
    blocks += (guint64) p->blocks_x * p->blocks_y;
    if (needed_shared_bytes (kernel, launch, p) > shared_bytes)
      sim_misuse ("%s: %u bytes of shared memory are too few", kernel->name,
          shared_bytes);
  }
  if (kernel->route != CONVOLVE_ROUTE_STENCIL && blocks != launch->n_blocks)
    sim_misuse ("%s: n_blocks is %u in place of %" G_GUINT64_FORMAT,
        kernel->name, launch->n_blocks, blocks);
  if (grid == 0)
    sim_misuse ("%s: an empty grid", kernel->name);
}

/* ---- the fused kernels and the stencil ---- */

static guint
filter_sample (const SimKernel * kernel, const ConvolveLaunch * launch,
    const ConvolveLaunchPicture * p, const float *const *weights, gint x,
    gint y, guint c)
{
  const ConvolveLaunchSet *set = &launch->set[p->weights];
  const ConvolveLaunchComponent *k = &p->component[c];
  double t[2] = { 0 }, v = sim_read_sample (p, x, y, c);

  if (k->action == CONVOLVE_DO_COPY)
    return v;
  if (k->action == CONVOLVE_DO_FILL)
    return k->fill;
  for (guint i = 0; i < set->n_terms; i++)
    t[i] = sim_sum (kernel, launch, p, &set->term[i], weights[i], x, y, c);
  if (p->weighted && c != p->alpha) {
    double divisor = sim_divisor (kernel, launch, p, &set->term[0], weights[0],
        x, y);

    if (!(divisor > 0))
      return CLAMP (v, k->lo, k->hi);
    t[0] = (double) p->sum * t[0] / divisor;
  }
  switch (launch->combine) {
    case CONVOLVE_DO_MAGNITUDE:
      t[0] = sqrt (t[0] * t[0] + t[1] * t[1]);
      break;
    case CONVOLVE_DO_UNSHARP:
      t[0] = fabs (v - t[0]) > k->threshold ?
          v + (double) launch->amount * (v - t[0]) : v;
      break;
    default:
      t[0] += t[1];
  }
  return sim_rounded (k->offset + (double) k->gain * t[0], k->lo, k->hi);
}

static void
run_launch (const SimKernel * kernel, const ConvolveLaunch * launch,
    guint grid, guint shared_bytes)
{
  check_geometry (kernel, launch, grid, shared_bytes);
  for (guint i = 0; i < launch->n_pictures; i++) {
    const ConvolveLaunchPicture *p = &launch->picture[i];
    const ConvolveLaunchSet *set = &launch->set[p->weights];
    const float *weights[2];

    if (p->row_begin == p->row_end)
      continue;
    if (!check_picture (kernel, p) || !check_frames (kernel, launch, p))
      return;
    if (kernel->samples == CONVOLVE_SAMPLES_U8 || sim_kernel_has_words (kernel))
      check_plain (kernel, launch, p);
    if (set->n_terms < 1 || set->n_terms > 2
        || (kernel->route != CONVOLVE_ROUTE_STENCIL
            && set->n_terms != kernel->terms)) {
      sim_misuse ("%s got %u terms", kernel->name, set->n_terms);
      return;
    }
    for (guint t = 0; t < set->n_terms; t++)
      if (!(weights[t] = term_weights (kernel, launch, &set->term[t])))
        return;
    for (gint y = p->row_begin; y < p->row_end; y++)
      for (gint x = 0; x < p->width; x++) {
        guint sample[4];

        for (guint c = 0; c < p->n_components; c++)
          sample[c] = filter_sample (kernel, launch, p, weights, x, y, c);
        sim_write_pixel (p, x, y, sample);
      }
  }
}

static guint
stage_shared_bytes (const SimKernel * kernel, const ConvolveStage * s)
{
  switch (kernel->route) {
    case CONVOLVE_ROUTE_STAGE_STEPS:
    case CONVOLVE_ROUTE_STAGE_DIFFUSE_STEPS:
      return CONVOLVE_STEPS_SHARED_BYTES;
    case CONVOLVE_ROUTE_STAGE_LONG_ROWS:
      return convolve_lines_shared_bytes (s->nx, TRUE);
    case CONVOLVE_ROUTE_STAGE_LONG_COLUMNS:
      return convolve_lines_shared_bytes (s->ny, FALSE);
    default:
      return 0;
  }
}

void
sim_kernel_run (const SimKernel * kernel, const void *parameters, guint grid,
    guint shared_bytes)
{
  const gchar *folder = g_getenv ("SIMCUDA_PTX");

  runs[kernel - kernels]++;
  if (is_stage (kernel)
      && shared_bytes < stage_shared_bytes (kernel, parameters))
    sim_misuse ("%s: %u bytes of shared memory are too few", kernel->name,
        shared_bytes);
  if (folder != NULL)
    ptx_run (folder, kernel->name, parameters,
        sim_kernel_parameter_bytes (kernel), grid, sim_kernel_threads (kernel,
            parameters), shared_bytes);
  else if (is_sums (kernel))
    sim_run_sums (kernel, parameters, grid, shared_bytes);
  else if (is_stage (kernel))
    sim_run_stage (kernel, parameters);
  else
    run_launch (kernel, parameters, grid, shared_bytes);
}
