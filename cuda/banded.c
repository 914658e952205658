/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The banded route: which passes half floats can carry, their weights, and the
 * tasks of a launch. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "banded.h"
#include "program.h"

/* The largest error before rounding that a pass may have, in steps of its
 * samples: below half a step a result is within 1 of the exact one. */
#define MAX_ERROR 0.4
/* Samples enter the products less this, so that they are at most as large. */
#define CENTRE 128
/* A half float's largest relative rounding error. */
#define HALF_EPSILON (1. / 2048)
/* Steps of work that starting a task costs, beside those that fill H. */
#define TASK_START_ROWS 2
/* Tasks at the edges take longer, so that among equals short tasks are better:
 * rows that a row of a task costs beside itself. */
#define TASK_WEIGHT 0.4
#define MAX_TASK_ROWS 4096

/* ---- half floats ---- */

/* The nearest half float's value. */
static gdouble
half_round (gdouble value)
{
  gint exponent;

  if (value == 0)
    return 0;
  frexp (value, &exponent);
  /* 11 bits; below 2^-14 the steps stay 2^-24. */
  exponent = MAX (exponent - 11, -24);
  return ldexp (rint (ldexp (value, -exponent)), exponent);
}

typedef struct
{
  const gdouble *weights;
  guint index;
} Place;

static gint
compare_magnitudes (gconstpointer a, gconstpointer b)
{
  const Place *x = a, *y = b;
  gdouble p = fabs (x->weights[x->index]), q = fabs (y->weights[y->index]);

  return p > q ? -1 : p < q ? 1 : (gint) x->index - (gint) y->index;
}

/* Weights as half floats whose sum is that of the exact ones: what rounding the
 * larger ones leaves goes to the smaller ones, which are finer. */
void
cuda_banded_quantise (const ConvolveMatrix * matrix, gfloat * to)
{
  guint n = matrix->width * matrix->height;
  g_autofree Place *order = g_new (Place, n);
  gdouble left = 0;

  for (guint i = 0; i < n; i++) {
    order[i].weights = matrix->weights;
    order[i].index = i;
  }
  qsort (order, n, sizeof (*order), compare_magnitudes);
  for (guint i = 0; i < n; i++)
    left += matrix->weights[i] - half_round (matrix->weights[i]);
  for (guint i = 0; i < n; i++) {
    gdouble near = half_round (matrix->weights[order[i].index]);
    gdouble moved = near == 0 ? 0 : half_round (near + left);

    to[order[i].index] = moved;
    left -= moved - near;
  }
}

/* What the banded kernels find behind a term's weights. */
static void
append_sum (GArray * weights, guint first, guint n)
{
  gdouble sum = 0;
  gfloat rounded;

  for (guint i = 0; i < n; i++)
    sum += g_array_index (weights, gfloat, first + i);
  rounded = sum;
  g_array_append_val (weights, rounded);
}

void
cuda_banded_append_sums (GArray * weights, const ConvolveLaunchTerm * term,
    gboolean separable)
{
  if (!separable) {
    append_sum (weights, term->first, (guint) term->nx * term->ny);
    return;
  }
  append_sum (weights, term->first, term->nx);
  append_sum (weights, term->first + term->nx, term->ny);
}

/* ---- which passes ---- */

/* Sum of magnitudes, and of what quantising changes in it. */
static void
weigh_error (const ConvolveMatrix * matrix, gdouble * sum, gdouble * error)
{
  guint n = matrix->width * matrix->height;
  g_autofree gfloat *half = g_new (gfloat, n);

  cuda_banded_quantise (matrix, half);
  *sum = *error = 0;
  for (guint i = 0; i < n; i++) {
    *sum += fabs (half[i]);
    *error += fabs (half[i] - matrix->weights[i]);
  }
}

/* A bound of what the term's value is off, in steps of the samples. */
static gdouble
term_error (const ConvolveTerm * term)
{
  gdouble x, y, error_x, error_y;

  if (term->matrix != NULL) {
    weigh_error (term->matrix, &x, &error_x);
    return CENTRE * error_x;
  }
  weigh_error (term->x, &x, &error_x);
  weigh_error (term->y, &y, &error_y);
  return CENTRE * (error_x * y + x * error_y + HALF_EPSILON * x * y);
}

static gboolean
reaches (const ConvolveTerm * term)
{
  const ConvolveMatrix *x = term->matrix != NULL ? term->matrix : term->x;
  const ConvolveMatrix *y = term->matrix != NULL ? term->matrix : term->y;
  guint most = (term->matrix != NULL ? CONVOLVE_BANDED_MAX_MATRIX :
      CONVOLVE_BANDED_MAX_TAPS) / 2;

  return x->anchor_x <= most && y->anchor_y <= most
      && x->width <= most + x->anchor_x + 1
      && y->height <= most + y->anchor_y + 1;
}

/* TRUE if nothing but rounding comes after the pass's sums. */
gboolean
cuda_banded_is_plain (const ConvolvePass * pass)
{
  if (pass->operation == NULL || pass->alpha.weighted
      || pass->operation->combine != CONVOLVE_COMBINE_SUM)
    return FALSE;
  for (guint c = 0; c < pass->layout.n_components; c++) {
    const ConvolvePassComponent *k = &pass->component[c];

    if (k->action != CONVOLVE_ACTION_FILTER || k->gain != 1 || k->offset != 0
        || k->lo > 0 || k->hi < 255)
      return FALSE;
  }
  return TRUE;
}

gboolean
cuda_banded_takes (const CudaDevice * device, const ConvolvePass * pass)
{
  const ConvolveOperation *operation = pass->operation;
  gdouble error = 0, gain = 0;

  if (device->compute_capability < 80 || pass->alpha.weighted
      || operation->n_terms != 1
      || operation->combine == CONVOLVE_COMBINE_MAGNITUDE)
    return FALSE;
  for (guint t = 0; t < operation->n_terms; t++) {
    if (!reaches (&operation->term[t]))
      return FALSE;
    error += term_error (&operation->term[t]);
  }
  for (guint c = 0; c < pass->layout.n_components; c++) {
    const ConvolvePassComponent *k = &pass->component[c];

    if (k->action != CONVOLVE_ACTION_FILTER)
      continue;
    gain = MAX (gain, fabs (k->gain));
    /* The least error could move a sample across the threshold. */
    if (operation->combine == CONVOLVE_COMBINE_UNSHARP && k->threshold > 0)
      return FALSE;
  }
  if (operation->combine == CONVOLVE_COMBINE_UNSHARP)
    error *= fabs (operation->amount);
  return error * gain <= MAX_ERROR;
}

/* ---- launches ---- */

static gboolean
is_direct (const CudaVariant * variant)
{
  return variant->route == CONVOLVE_ROUTE_DIRECT;
}

static gboolean
is_plain (const CudaVariant * variant)
{
  return variant->route != CONVOLVE_ROUTE_BANDED;
}

static guint
variant_warps (const CudaVariant * variant)
{
  return CONVOLVE_BANDED_WARPS (is_plain (variant), variant->taps);
}

guint
cuda_banded_threads (const CudaVariant * variant)
{
  return CONVOLVE_BANDED_THREADS (is_plain (variant), variant->taps);
}

static guint
highest_matrix (const ConvolveLaunch * launch)
{
  guint ny = 1;

  for (guint i = 0; i < launch->n_pictures; i++)
    ny = MAX (ny, launch->set[launch->picture[i].weights].term[0].ny);
  return ny;
}

gboolean
cuda_banded_stages (const CudaDevice * device, const CudaVariant * variant,
    ConvolveLaunch * launch)
{
  guint most = device->shared_bytes[variant->id], pitch = 0;
  guint ny = highest_matrix (launch), table =
      convolve_banded_table_bytes (is_direct (variant), variant->taps, ny);

  for (guint i = 0; i < launch->n_pictures; i++)
    pitch = MAX (pitch, convolve_banded_pitch (launch->picture[i].n_components,
            variant->taps, variant_warps (variant)));
  launch->stage_bytes = CONVOLVE_BANDED_ROWS * pitch;
  launch->stages = most <= table ? 0 : MIN ((most - table)
      / (launch->stage_bytes + CONVOLVE_BANDED_BARRIER_BYTES),
      CONVOLVE_BANDED_MAX_STAGES);
  return launch->stages >= convolve_banded_least_stages (is_direct (variant),
      ny);
}

guint
cuda_banded_shared_bytes (const CudaVariant * variant,
    const ConvolveLaunch * launch)
{
  return launch->stages * (launch->stage_bytes + CONVOLVE_BANDED_BARRIER_BYTES)
      + convolve_banded_table_bytes (is_direct (variant), variant->taps,
      highest_matrix (launch));
}

static guint
divide_up (guint64 a, guint b)
{
  return (a + b - 1) / b;
}

static guint
strip_pixels (const CudaVariant * variant, const ConvolveLaunchPicture * p)
{
  return variant_warps (variant) * CONVOLVE_BANDED_PIXELS (p->n_components);
}

static guint64
count_tasks (const CudaVariant * variant, const ConvolveLaunch * launch,
    guint rows)
{
  guint64 tasks = 0;

  for (guint i = 0; i < launch->n_pictures; i++) {
    const ConvolveLaunchPicture *p = &launch->picture[i];

    tasks += (guint64) divide_up (p->width, strip_pixels (variant, p))
        * divide_up (p->row_end - p->row_begin, rows);
  }
  return tasks;
}

/* Rows of a task: those with which the busiest multiprocessor has the fewest
 * rows to do, counting the rows that a task does before its first result. */
static guint
choose_task_rows (const CudaDevice * device, const CudaVariant * variant,
    const ConvolveLaunch * launch)
{
  guint reach = is_direct (variant) ? highest_matrix (launch) - 1 :
      variant->taps / 2 * 2;
  guint fill = divide_up (reach, CONVOLVE_BANDED_ROWS) * CONVOLVE_BANDED_ROWS;
  guint best = CONVOLVE_BANDED_ROWS, highest = 0;
  gdouble least = G_MAXDOUBLE;

  for (guint i = 0; i < launch->n_pictures; i++)
    highest = MAX (highest, (guint) (launch->picture[i].row_end
            - launch->picture[i].row_begin));
  for (guint rows = CONVOLVE_BANDED_ROWS; rows <= MAX_TASK_ROWS;
      rows += CONVOLVE_BANDED_ROWS) {
    guint64 tasks = count_tasks (variant, launch, rows);
    guint64 rounds = divide_up (tasks, device->n_multiprocessors);
    gdouble cost = (gdouble) rounds * (rows + fill + TASK_START_ROWS)
        + rows * TASK_WEIGHT;

    if (cost < least) {
      least = cost;
      best = rows;
    }
    if (rows >= highest)
      break;
  }
  return best;
}

guint
cuda_banded_geometry (const CudaDevice * device, const CudaVariant * variant,
    ConvolveLaunch * launch)
{
  guint task_rows = choose_task_rows (device, variant, launch), n = 0;

  for (guint i = 0; i < launch->n_pictures; i++) {
    ConvolveLaunchPicture *p = &launch->picture[i];

    p->task_rows = task_rows;
    p->first_block = n;
    p->blocks_x = divide_up (p->width, strip_pixels (variant, p));
    p->blocks_y = divide_up (p->row_end - p->row_begin, task_rows);
    n += p->blocks_x * p->blocks_y;
  }
  launch->n_blocks = n;
  return MIN (n, device->n_multiprocessors);
}
