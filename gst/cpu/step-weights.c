/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* From an operation's matrices to lists of taps. */
#include "config.h"

#include "step.h"

/* Taps as they are collected: first of one group, then of the term. */
typedef struct
{
  GArray *place;                /* CpuTapPlace */
  GArray *weights;              /* gdouble, two a tap */
  GArray *group;                /* CpuGroup */
} Collector;

typedef struct
{
  CpuTapPlace place;
  gdouble w[2];
} Tap;

/* Which output rows a tap is for: the order within a group. */
static guint
tap_class (const Tap * tap)
{
  if (tap->w[1] == 0)
    return 0;
  return tap->w[0] != 0 ? 1 : 2;
}

static void
collect_group (Collector * to, const Tap * taps, guint n)
{
  CpuGroup group = { 0 };

  group.first = to->place->len;
  group.row = n > 0 ? taps[0].place.row : 0;
  for (guint wanted = 0; wanted < 3; wanted++) {
    for (guint i = 0; i < n; i++) {
      if (tap_class (&taps[i]) != wanted)
        continue;
      g_array_append_val (to->place, taps[i].place);
      g_array_append_vals (to->weights, taps[i].w, 2);
      *(wanted == 0 ? &group.n0 : wanted == 1 ? &group.n01 : &group.n1) += 1;
    }
  }
  g_array_append_val (to->group, group);
}

/* A matrix whose elements lie on the rows of the window from first_row on, and
 * on the pixels of a row from first_pixel on, those of each frame frame_samples
 * after those of the one before. The lower one of two output rows sees each
 * window row as one row further up in the matrix. */
static void
collect (Collector * to, const ConvolveMatrix * matrix, guint first_row,
    guint first_pixel, const CpuStep * step, gdouble gain, gboolean streamed)
{
  /* A pair is two elements of the matrix. */
  guint lanes = step->sum_lanes, group = step->kernels->group, n = 0;
  guint pixels = step->kernels->pair != NULL ? 2 : 1;
  guint width = matrix->width * matrix->depth;
  gsize frame = (gsize) matrix->width * matrix->height;
  Tap taps[CPU_GROUP_INTEGERS];

  for (guint row = 0; row <= matrix->height; row++) {
    for (guint k = 0; k < width; k++) {
      guint t = k / matrix->width, i = k % matrix->width;
      gsize at = t * frame + (gsize) row * matrix->width + i;
      Tap tap = { {first_row + row, (first_pixel + pixels * i) * lanes
              + t * step->frame_samples}, {0, 0}
      };

      if (row < matrix->height)
        tap.w[0] = gain * matrix->weights[at];
      if (row > 0)
        tap.w[1] = gain * matrix->weights[at - matrix->width];
      if (tap.w[0] == 0 && tap.w[1] == 0)
        continue;
      if (n == group) {
        collect_group (to, taps, n);
        n = 0;
      }
      taps[n++] = tap;
    }
    if (streamed && n > 0) {
      collect_group (to, taps, n);
      n = 0;
    }
  }
  /* One group at least: it sets the sums. */
  if (n > 0 || to->group->len == 0)
    collect_group (to, taps, n);
}

void *
convolve_cpu_step_weights (const CpuStep * step, const gdouble * values,
    gsize n)
{
  const CpuKernels *kernels = step->kernels;
  void *weights = g_malloc0 (MAX (n, 1) * kernels->weight_bytes);

  for (gsize i = 0; i < n; i++) {
    if (kernels->real == CPU_REAL_CENTRED)
      ((guint32 *) weights)[i] = (guint32) values[i];
    else if (kernels->real_bytes == sizeof (gint16))
      ((guint32 *) weights)[i] = (guint16) (gint16) values[i] * 0x10001u;
    else
      convolve_cpu_real_set (kernels, weights, i, values[i]);
  }
  return weights;
}

static void
term_collect (CpuStep * step, CpuTerm * term, const ConvolveMatrix * matrix,
    guint first_pixel, gdouble gain)
{
  Collector to;

  to.place = g_array_new (FALSE, FALSE, sizeof (CpuTapPlace));
  to.weights = g_array_new (FALSE, FALSE, sizeof (gdouble));
  to.group = g_array_new (FALSE, FALSE, sizeof (CpuGroup));
  collect (&to, matrix, step->above - matrix->anchor_y, first_pixel,
      step, gain, term->streamed);
  term->n_taps = to.place->len;
  term->n_groups = to.group->len;
  term->weights = convolve_cpu_step_weights (step,
      (const gdouble *) to.weights->data, to.weights->len);
  term->tap = (CpuTapPlace *) g_array_free (to.place, FALSE);
  term->group = (CpuGroup *) g_array_free (to.group, FALSE);
  g_array_free (to.weights, TRUE);
}

/* All rows of the windows of two output rows, and the weights from the middle
 * on. */
static void
term_fold (CpuStep * step, CpuTerm * term, const ConvolveTerm * from)
{
  guint rows = 2 * from->y->height;

  term->x_taps = 2 * from->x->width - 1;
  term->n_taps = rows;
  term->n_groups = 1;
  term->group = g_new0 (CpuGroup, 1);
  term->group->n01 = rows;
  term->tap = g_new0 (CpuTapPlace, rows);
  for (guint i = 0; i < rows; i++)
    term->tap[i].row = i;
  term->weights = convolve_cpu_step_weights (step, from->y->weights,
      from->y->height);
}

/* A product with a single weight is direct: there is nothing to keep between
 * the two sums. */
static ConvolveMatrix *
direct_matrix (const ConvolveTerm * term)
{
  if (term->matrix != NULL)
    return convolve_matrix_ref (term->matrix);
  if (term->x->width == 1 || term->y->height == 1)
    return convolve_matrix_outer (term->x, term->y);
  return NULL;
}

void
convolve_cpu_step_init_terms (CpuStep * step, gdouble gain)
{
  if (step->box)
    return;
  for (guint i = 0; i < step->n_terms; i++) {
    const ConvolveTerm *from = &step->weights[i];
    CpuTerm *term = &step->term[i];
    g_autoptr (ConvolveMatrix) matrix = direct_matrix (from);

    if (matrix != NULL) {
      term_collect (step, term, matrix, step->left - matrix->anchor_x, gain);
      continue;
    }
    term->x_first = step->kernels == &step->isa->folded ? 0 :
        step->left - from->x->anchor_x;
    term->x_taps = from->x->width;
    term->x_weights =
        convolve_cpu_step_weights (step, from->x->weights, from->x->width);
    if (step->kernels == &step->isa->folded)
      term_fold (step, term, from);
    else
      term_collect (step, term, from->y, 0, gain);
  }
}

void
convolve_cpu_step_clear_terms (CpuStep * step)
{
  for (guint i = 0; i < step->n_terms; i++) {
    g_clear_pointer (&step->weights[i].matrix, convolve_matrix_unref);
    g_clear_pointer (&step->weights[i].x, convolve_matrix_unref);
    g_clear_pointer (&step->weights[i].y, convolve_matrix_unref);
    g_free (step->term[i].x_weights);
    g_free (step->term[i].weights);
    g_free (step->term[i].tap);
    g_free (step->term[i].group);
  }
}
