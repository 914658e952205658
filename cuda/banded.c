/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The banded route: which passes half floats can carry, their weights, and the
 * tasks of a launch. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "banded.h"
#include "program.h"

/* The largest error before rounding that a pass may have, in steps of its
 * samples: below half a step a result is within 1 of the exact one. All blurs
 * have less than this, and few of their samples are rounded the other way. */
#define MAX_ERROR 0.25
/* Samples enter the products less this, so that they are at most as large. */
#define CENTRE 128
/* A half float's largest relative rounding error. */
#define HALF_EPSILON (1. / 2048)
/* Steps of work that starting a task costs, beside those that fill H. */
#define TASK_START_ROWS 2
/* Among equals short tasks are better: blocks that walk down a picture together
 * read from fewer places. Rows that a row of a task costs beside itself. */
#define TASK_WEIGHT 0.3
#define WORDS_TASK_WEIGHT 0.2
#define MAX_TASK_ROWS 4096
/* The same of colours that are weighted by alpha: two roundings of a sum and
 * one of a sample for a quotient leave less room. Still within half a step, so
 * within 1 of the exact result. */
#define MAX_WEIGHTED_ERROR 0.4
/* The least half float that has all bits. */
#define LEAST_HALF (1. / (1 << 14))
/* Words: rows of weights whose magnitudes sum to more could leave the range of
 * half floats. */
#define WORDS_MOST_SUM 16
/* What a product rounds of a sum. */
#define FLOAT_EPSILON (1. / (1 << 23))

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
  gdouble weight;
  guint index;
} Place;

static gint
compare_magnitudes (gconstpointer a, gconstpointer b)
{
  const Place *x = a, *y = b;
  gdouble p = fabs (x->weight), q = fabs (y->weight);

  return p > q ? -1 : p < q ? 1 : (gint) x->index - (gint) y->index;
}

/* Weights, scale times as large, as half floats whose sum is that of the exact
 * ones: what rounding the larger ones leaves goes to the smaller ones, which
 * are finer. to gets the half floats' values over scale. */
static void
quantise (const gdouble * weights, guint n, gdouble scale, gfloat * to)
{
  g_autofree Place *order = g_new (Place, n);
  gdouble left = 0;

  for (guint i = 0; i < n; i++) {
    order[i].weight = scale * weights[i];
    order[i].index = i;
    left += order[i].weight - half_round (order[i].weight);
  }
  qsort (order, n, sizeof (*order), compare_magnitudes);
  for (guint i = 0; i < n; i++) {
    gdouble near = half_round (order[i].weight);
    gdouble moved = near == 0 ? 0 : half_round (near + left);

    to[order[i].index] = moved / scale;
    left -= moved - near;
  }
}

/* The same where a weight is the sum of two. */
static void
quantise_twice (const gdouble * weights, guint n, gfloat * to, gfloat * rest)
{
  g_autofree gdouble *left = g_new (gdouble, n);

  quantise (weights, n, CONVOLVE_WORDS_SCALE, to);
  for (guint i = 0; i < n; i++)
    left[i] = weights[i] - to[i];
  quantise (left, n, CONVOLVE_WORDS_SCALE, rest);
}

static gfloat
sum_floats (const gfloat * values, guint n)
{
  gdouble sum = 0;

  for (guint i = 0; i < n; i++)
    sum += values[i];
  return sum;
}

typedef struct
{
  const gdouble *weights;
  guint n;
} Weights;

/* NULL: that of a copy. */
static Weights
weights_of (const ConvolveMatrix * matrix)
{
  static const gdouble one[] = { 1 };
  Weights copy = { one, 1 };

  return matrix == NULL ? copy : (Weights) {
  matrix->weights, matrix->width * matrix->height};
}

static gboolean
is_weighted (const CudaVariant * variant)
{
  return variant->route == CONVOLVE_ROUTE_WEIGHTED
      || variant->route == CONVOLVE_ROUTE_FOLDED_WEIGHTED;
}

/* Appends what the kernels find of a term (NULL: a copy's) in memory; see
 * banded.h. */
void
cuda_banded_append_term (GArray * weights, const ConvolveTerm * term,
    const CudaVariant * variant)
{
  gboolean separable = variant->route != CONVOLVE_ROUTE_DIRECT;
  gboolean words = variant->samples == CONVOLVE_SAMPLES_U16;
  gboolean shares = is_weighted (variant);
  Weights part[2] = {
    weights_of (term == NULL ? NULL : separable ? term->x : term->matrix),
    weights_of (term == NULL ? NULL : term->y),
  };
  guint n_parts = separable ? 2 : 1, n = 0;
  guint total = part[0].n + (separable ? part[1].n : 0);
  guint first = weights->len, sums = first + total, rests = sums + n_parts;
  gfloat product = 1, *to;

  g_array_set_size (weights, rests + (words || shares ? total : 0));
  to = &g_array_index (weights, gfloat, 0);
  for (guint i = 0; i < n_parts; n += part[i++].n) {
    if (words)
      quantise_twice (part[i].weights, part[i].n, to + first + n,
          to + rests + n);
    else
      quantise (part[i].weights, part[i].n, 1, to + first + n);
    for (guint k = 0; shares && k < part[i].n; k++)
      to[rests + n + k] = half_round (part[i].weights[k]);
    to[sums + i] = sum_floats (to + first + n, part[i].n);
    if (words)
      product *= to[sums + i] + sum_floats (to + rests + n, part[i].n);
  }
  if (words)
    to[sums + 1] = product;
}

/* ---- which passes ---- */

/* A row of weights as half floats: sums of magnitudes, of the weights, of what
 * stands beside them (words), of what neither holds; and of what stands beside
 * them the larger of what is above 0 and what is below. */
typedef struct
{
  gdouble sum, rest, error, one_way;
} Weighed;

static Weighed
weigh (const ConvolveMatrix * matrix, gboolean words)
{
  guint n = matrix->width * matrix->height;
  g_autofree gfloat *half = g_new (gfloat, n), *rest = g_new0 (gfloat, n);
  Weighed w = { 0 };
  gdouble rests = 0;

  if (words)
    quantise_twice (matrix->weights, n, half, rest);
  else
    quantise (matrix->weights, n, 1, half);
  for (guint i = 0; i < n; i++) {
    w.sum += fabs (half[i]);
    w.rest += fabs (rest[i]);
    rests += rest[i];
    w.error += fabs (half[i] + (gdouble) rest[i] - matrix->weights[i]);
  }
  w.one_way = (w.rest + fabs (rests)) / 2;
  return w;
}

/* A bound of what the term's value is off, in steps of the samples. */
static gdouble
term_error (const ConvolveTerm * term)
{
  Weighed x, y;

  if (term->matrix != NULL)
    return CENTRE * weigh (term->matrix, FALSE).error;
  x = weigh (term->x, FALSE);
  y = weigh (term->y, FALSE);
  return CENTRE * (x.error * y.sum + x.sum * y.error
      + HALF_EPSILON * x.sum * y.sum);
}

/* The products that a row's sum goes through, each as often as the sum of
 * magnitudes that it rounds: with several frames, a row each, those of a frame
 * round what has come so far, and a thirty-second that sums start from. */
static gdouble
row_products (const ConvolveMatrix * x)
{
  gdouble all = 0, so_far = 0, products = 0;

  for (guint i = 0; i < x->width * x->height; i++)
    all += fabs (x->weights[i]);
  for (guint f = 0; f < x->height; f++) {
    for (guint i = 0; i < x->width; i++)
      so_far += fabs (x->weights[f * x->width + i]);
    products += 3 * CONVOLVE_BANDED_DEPTH (x->width)
        * MIN (so_far + all / 32, all);
  }
  return products;
}

/* The same where samples are words, by what words.cuh leaves out: low bytes,
 * none of them negative, times the rests along x, rests of a row's sums times
 * those along y; and by what its floats round. */
static gdouble
words_error (const ConvolveTerm * term, const ConvolveComponent * component)
{
  Weighed x = weigh (term->x, TRUE), y = weigh (term->y, TRUE);
  gdouble centre = ldexp (1, component->depth + component->shift - 1);
  gdouble products = row_products (term->x) * y.sum
      + 3 * CONVOLVE_BANDED_DEPTH (term->y->height) * x.sum * y.sum;
  gdouble error = 255 * x.one_way * y.sum
      + centre * (x.error * y.sum + x.sum * y.error
      + HALF_EPSILON * x.sum * y.rest
      + HALF_EPSILON * HALF_EPSILON * x.sum * y.sum + FLOAT_EPSILON * products);

  /* Sums along x are held as half floats, and so are weights. */
  if (x.sum > WORDS_MOST_SUM || y.sum > WORDS_MOST_SUM)
    return G_MAXDOUBLE;
  return ldexp (error, -(gint) component->shift);
}

/* Half the distance between the largest and the least of what rounding makes
 * of the weights, in parts of them: what all have in common does not move a
 * weighted mean. More than any where a weight is negative or too small. */
static gdouble
weights_spread (const ConvolveMatrix * matrix)
{
  gdouble least = G_MAXDOUBLE, most = 0;

  for (guint i = 0; i < matrix->width * matrix->height; i++) {
    gdouble w = matrix->weights[i], part;

    if (w == 0)
      continue;
    if (w < LEAST_HALF)
      return 1;
    part = half_round (w) / w;
    least = MIN (least, part);
    most = MAX (most, part);
  }
  return most > 0 ? (most - least) / 2 : 1;
}

/* The same as term_error where colours are weighted by alpha, by what
 * weighted.cu rounds: weights, colours times alpha, and the sums of rows of
 * those and of alpha. Quotients are of samples less CENTRE. */
static gdouble
weighted_error (const ConvolveTerm * term)
{
  return CENTRE * (weights_spread (term->x) + weights_spread (term->y)
      + 3 * HALF_EPSILON);
}

static gboolean
reaches (const ConvolveTerm * term, gboolean words)
{
  const ConvolveMatrix *x = term->matrix != NULL ? term->matrix : term->x;
  const ConvolveMatrix *y = term->matrix != NULL ? term->matrix : term->y;
  guint most = (term->matrix != NULL ? CONVOLVE_BANDED_MAX_MATRIX :
      words ? CONVOLVE_WORDS_MAX_TAPS : CONVOLVE_BANDED_MAX_TAPS) / 2;

  return x->anchor_x <= most && y->anchor_y <= most
      && x->width <= most + x->anchor_x + 1
      && y->height <= most + y->anchor_y + 1;
}

static gboolean
has_words (const ConvolvePass * pass)
{
  return pass->layout.type != CONVOLVE_SAMPLE_U8;
}

/* TRUE if nothing but rounding comes after the pass's sums (and quotients);
 * with words gain, offset and limits too. */
static gboolean
only_rounds (const ConvolvePass * pass)
{
  if (pass->operation == NULL
      || pass->operation->combine != CONVOLVE_COMBINE_SUM)
    return FALSE;
  for (guint c = 0; c < pass->layout.n_components; c++) {
    const ConvolvePassComponent *k = &pass->component[c];

    if (k->action != CONVOLVE_ACTION_FILTER)
      return FALSE;
    if (!has_words (pass) && (k->gain != 1 || k->offset != 0 || k->lo > 0
            || k->hi < 255))
      return FALSE;
  }
  return TRUE;
}

gboolean
cuda_banded_is_plain (const ConvolvePass * pass)
{
  return !pass->alpha.weighted && only_rounds (pass);
}

/* What weighted.cu takes, of what weighs by its own alpha. */
static gboolean
weighted_fits (const ConvolvePass * pass)
{
  const ConvolveTerm *term = &pass->operation->term[0];

  return term->matrix == NULL && !has_words (pass)
      && pass->layout.n_components == 4 && only_rounds (pass)
      && pass->operation->sum * weighted_error (term) <= MAX_WEIGHTED_ERROR;
}

/* What words.cu takes. */
static gboolean
words_fit (const ConvolvePass * pass)
{
  const ConvolveLayout *layout = &pass->layout;
  const ConvolveComponent *first = &layout->component[0];

  /* No format has three words side by side, or several of which the highest
   * bits are unused. */
  return pass->operation->term[0].matrix == NULL && layout->n_components != 3
      && (layout->n_components == 1 || first->depth + first->shift == 16)
      && cuda_banded_is_plain (pass);
}

gboolean
cuda_banded_takes (const CudaDevice * device, const ConvolvePass * pass)
{
  const ConvolveOperation *operation = pass->operation;
  gdouble error = 0, gain = 0;

  if (device->compute_capability < 80 || operation->n_terms != 1
      || operation->combine == CONVOLVE_COMBINE_MAGNITUDE)
    return FALSE;
  if (pass->alpha.weighted && !weighted_fits (pass))
    return FALSE;
  if (has_words (pass) && !words_fit (pass))
    return FALSE;
  for (guint t = 0; t < operation->n_terms; t++) {
    if (!reaches (&operation->term[t], has_words (pass)))
      return FALSE;
    error += has_words (pass) ? words_error (&operation->term[t],
        &pass->layout.component[0]) : term_error (&operation->term[t]);
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
sample_bytes (const CudaVariant * variant)
{
  return variant->samples == CONVOLVE_SAMPLES_U16 ? 2 : 1;
}

static guint
variant_warps (const CudaVariant * variant)
{
  return variant->samples == CONVOLVE_SAMPLES_U16 ?
      CONVOLVE_WORDS_WARPS (variant->taps) :
      is_weighted (variant) ? CONVOLVE_WEIGHTED_WARPS (variant->taps) :
      cuda_variant_is_folded (variant) ?
      CONVOLVE_FOLDED_WARPS (variant->taps) :
      CONVOLVE_BANDED_WARPS (is_plain (variant), variant->taps);
}

guint
cuda_banded_threads (const CudaVariant * variant)
{
  return CONVOLVE_BANDED_THREADS (variant_warps (variant));
}

static guint
highest_matrix (const ConvolveLaunch * launch)
{
  guint ny = 1;

  for (guint i = 0; i < launch->n_pictures; i++)
    ny = MAX (ny, launch->set[launch->picture[i].weights].term[0].ny);
  return ny;
}

static guint
frames_of (const ConvolveLaunch * launch)
{
  return MAX (launch->n_frames, 1);
}

/* Frames whose rows are in one stage. */
static guint
stage_frames (const CudaVariant * variant, const ConvolveLaunch * launch)
{
  return sample_bytes (variant) == 2 || is_weighted (variant) ? 1 :
      frames_of (launch);
}

static guint
table_bytes (const CudaVariant * variant, const ConvolveLaunch * launch)
{
  return convolve_banded_table_bytes (is_direct (variant),
      sample_bytes (variant), variant->taps, highest_matrix (launch))
      + (is_weighted (variant) ?
      convolve_weighted_table_bytes (variant->taps) : 0)
      + convolve_folded_table_bytes (sample_bytes (variant) == 2
      || is_weighted (variant), variant->taps, frames_of (launch));
}

gboolean
cuda_banded_stages (const CudaDevice * device, const CudaVariant * variant,
    ConvolveLaunch * launch)
{
  guint most = device->shared_bytes[variant->id], pitch = 0;
  guint table = table_bytes (variant, launch);

  for (guint i = 0; i < launch->n_pictures; i++)
    pitch = MAX (pitch, convolve_banded_pitch (launch->picture[i].n_components,
            sample_bytes (variant), variant->taps, variant_warps (variant)));
  launch->stage_bytes =
      CONVOLVE_BANDED_ROWS * pitch * stage_frames (variant, launch);
  launch->stages = most <= table ? 0 : MIN ((most - table)
      / (launch->stage_bytes + CONVOLVE_BANDED_BARRIER_BYTES),
      CONVOLVE_BANDED_MAX_STAGES * (frames_of (launch)
          / stage_frames (variant, launch)));
  return launch->stages >= convolve_banded_least_stages (is_direct (variant),
      highest_matrix (launch));
}

guint
cuda_banded_shared_bytes (const CudaVariant * variant,
    const ConvolveLaunch * launch)
{
  return launch->stages * (launch->stage_bytes + CONVOLVE_BANDED_BARRIER_BYTES)
      + table_bytes (variant, launch);
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

    tasks += (guint64) cuda_divide_up (p->width, strip_pixels (variant, p))
        * cuda_divide_up (p->row_end - p->row_begin, rows);
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
  guint fill =
      cuda_divide_up (reach, CONVOLVE_BANDED_ROWS) * CONVOLVE_BANDED_ROWS;
  guint best = CONVOLVE_BANDED_ROWS, highest = 0;
  gdouble least = G_MAXDOUBLE, weight = sample_bytes (variant) == 1 ?
      TASK_WEIGHT : WORDS_TASK_WEIGHT;

  for (guint i = 0; i < launch->n_pictures; i++)
    highest = MAX (highest, (guint) (launch->picture[i].row_end
            - launch->picture[i].row_begin));
  for (guint rows = CONVOLVE_BANDED_ROWS; rows <= MAX_TASK_ROWS;
      rows += CONVOLVE_BANDED_ROWS) {
    guint64 tasks = count_tasks (variant, launch, rows);
    guint64 rounds = cuda_divide_up (tasks, device->n_multiprocessors);
    gdouble cost = (gdouble) rounds * (rows + fill + TASK_START_ROWS)
        + rows * weight;

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
    p->blocks_x = cuda_divide_up (p->width, strip_pixels (variant, p));
    p->blocks_y = cuda_divide_up (p->row_end - p->row_begin, task_rows);
    n += p->blocks_x * p->blocks_y;
  }
  launch->n_blocks = n;
  return MIN (n, device->n_multiprocessors);
}
