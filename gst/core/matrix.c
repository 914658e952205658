/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Matrices of weights: making, measuring and taking them apart. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "matrix-private.h"

/* A sum below this share of the l1 norm counts as zero. */
#define MATRIX_ZERO_SUM 1e-9
/* The residual, against the largest weight, up to which a matrix has rank 1. */
#define MATRIX_RANK_TOLERANCE 1e-12

/* Room for depth x width x height weights, all zero. */
static ConvolveMatrix *
matrix_alloc_deep (guint width, guint height, guint depth)
{
  gsize n = (gsize) width * height * depth;
  ConvolveMatrix *matrix =
      g_malloc0 (sizeof (ConvolveMatrix) + n * sizeof (gdouble));

  matrix->ref_count = 1;
  matrix->width = width;
  matrix->height = height;
  matrix->depth = depth;
  matrix->anchor_x = width / 2;
  matrix->anchor_y = height / 2;
  return matrix;
}

static ConvolveMatrix *
matrix_alloc (guint width, guint height)
{
  return matrix_alloc_deep (width, height, 1);
}

/* Weights of one frame. */
static gsize
frame_size (const ConvolveMatrix * matrix)
{
  return (gsize) matrix->width * matrix->height;
}

static gsize
matrix_size (const ConvolveMatrix * matrix)
{
  return frame_size (matrix) * matrix->depth;
}

ConvolveMatrix *
convolve_matrix_new (guint width, guint height, const gdouble * weights)
{
  ConvolveMatrix *matrix;
  gsize n = (gsize) width * height;

  g_assert (width > 0 && height > 0);
  matrix = matrix_alloc (width, height);
  for (gsize i = 0; i < n; i++) {
    g_assert (isfinite (weights[i]));
    matrix->weights[i] = weights[i];
  }
  return matrix;
}

gboolean
convolve_matrix_check_size (guint width, guint height, GError ** error)
{
  guint limit = width == 1 || height == 1 ?
      CONVOLVE_MATRIX_MAX_LENGTH : CONVOLVE_MATRIX_MAX_SIDE;

  if (width == 0 || height == 0) {
    g_set_error_literal (error, CONVOLVE_ERROR, CONVOLVE_ERROR_INVALID,
        "the matrix has no weights");
    return FALSE;
  }
  if (width > limit || height > limit) {
    g_set_error (error, CONVOLVE_ERROR, CONVOLVE_ERROR_INVALID,
        "the matrix of %u columns and %u rows is too large: at most %d x %d, "
        "or one row or column of %d", width, height, CONVOLVE_MATRIX_MAX_SIDE,
        CONVOLVE_MATRIX_MAX_SIDE, CONVOLVE_MATRIX_MAX_LENGTH);
    return FALSE;
  }
  return TRUE;
}

const gchar *
convolve_matrix_weight_fault (gdouble weight)
{
  if (!isfinite (weight))
    return "is not a finite number";
  if (fabs (weight) > CONVOLVE_MATRIX_MAX_WEIGHT)
    return "is larger than 1000000";
  return NULL;
}

ConvolveMatrix *
convolve_matrix_new_checked (guint width, guint height,
    const gdouble * weights, GError ** error)
{
  gsize n = (gsize) width * height;

  if (!convolve_matrix_check_size (width, height, error))
    return NULL;
  for (gsize i = 0; i < n; i++) {
    const gchar *fault = convolve_matrix_weight_fault (weights[i]);

    if (fault != NULL) {
      g_set_error (error, CONVOLVE_ERROR, CONVOLVE_ERROR_INVALID,
          "the weight in row %u, column %u %s", (guint) (i / width) + 1,
          (guint) (i % width) + 1, fault);
      return NULL;
    }
  }
  return convolve_matrix_new (width, height, weights);
}

ConvolveMatrix *
convolve_matrix_new_deep (guint width, guint height, guint depth,
    const gdouble * weights, GError ** error)
{
  gsize n = (gsize) width * height;
  ConvolveMatrix *matrix;

  if (depth > CONVOLVE_MATRIX_MAX_DEPTH) {
    g_set_error (error, CONVOLVE_ERROR, CONVOLVE_ERROR_INVALID,
        "%u frames are too many: at most %d", depth, CONVOLVE_MATRIX_MAX_DEPTH);
    return NULL;
  }
  for (guint t = 0; t < depth; t++) {
    g_autoptr (ConvolveMatrix) frame =
        convolve_matrix_new_checked (width, height, weights + t * n, error);

    if (frame == NULL) {
      if (depth > 1)
        g_prefix_error (error, "matrix %u: ", t + 1);
      return NULL;
    }
  }
  matrix = matrix_alloc_deep (width, height, depth);
  memcpy (matrix->weights, weights, n * depth * sizeof (*weights));
  return matrix;
}

ConvolveMatrix *
convolve_matrix_ref (ConvolveMatrix * matrix)
{
  g_atomic_int_inc (&matrix->ref_count);
  return matrix;
}

void
convolve_matrix_unref (ConvolveMatrix * matrix)
{
  if (g_atomic_int_dec_and_test (&matrix->ref_count))
    g_free (matrix);
}

gboolean
convolve_matrix_equal (const ConvolveMatrix * a, const ConvolveMatrix * b)
{
  if (a == b)
    return TRUE;
  if (a == NULL || b == NULL || a->width != b->width || a->height != b->height
      || a->depth != b->depth)
    return FALSE;
  for (gsize i = 0; i < matrix_size (a); i++)
    if (a->weights[i] != b->weights[i])
      return FALSE;
  return TRUE;
}

/* Neumaier's variant of Kahan's sum: the low parts that each addition loses
 * are added up apart. */
static void
sum_add (gdouble * sum, gdouble * low, gdouble value)
{
  gdouble next = *sum + value;

  if (fabs (*sum) >= fabs (value))
    *low += (*sum - next) + value;
  else
    *low += (value - next) + *sum;
  *sum = next;
}

gdouble
convolve_matrix_sum (const ConvolveMatrix * matrix)
{
  gdouble sum = 0, low = 0;

  for (gsize i = 0; i < matrix_size (matrix); i++)
    sum_add (&sum, &low, matrix->weights[i]);
  return sum + low;
}

gdouble
convolve_matrix_l1 (const ConvolveMatrix * matrix)
{
  gdouble sum = 0, low = 0;

  for (gsize i = 0; i < matrix_size (matrix); i++)
    sum_add (&sum, &low, fabs (matrix->weights[i]));
  return sum + low;
}

gboolean
convolve_matrix_has_negative (const ConvolveMatrix * matrix)
{
  for (gsize i = 0; i < matrix_size (matrix); i++)
    if (matrix->weights[i] < 0)
      return TRUE;
  return FALSE;
}

gboolean
convolve_matrix_is_identity (const ConvolveMatrix * matrix)
{
  gsize anchor = (gsize) matrix->anchor_y * matrix->width + matrix->anchor_x;

  for (gsize i = 0; i < matrix_size (matrix); i++)
    if (matrix->weights[i] != (i == anchor ? 1.0 : 0.0))
      return FALSE;
  return matrix->depth == 1;
}

gboolean
convolve_matrix_is_symmetric (const ConvolveMatrix * matrix)
{
  gsize n = matrix_size (matrix);

  for (gsize i = 0; i < n / 2; i++)
    if (matrix->weights[i] != matrix->weights[n - 1 - i])
      return FALSE;
  return TRUE;
}

ConvolveMatrix *
convolve_matrix_scale (const ConvolveMatrix * matrix, gdouble factor)
{
  ConvolveMatrix *scaled =
      matrix_alloc_deep (matrix->width, matrix->height, matrix->depth);

  for (gsize i = 0; i < matrix_size (matrix); i++)
    scaled->weights[i] = matrix->weights[i] * factor;
  return scaled;
}

ConvolveMatrix *
convolve_matrix_normalize (ConvolveMatrix * matrix)
{
  gdouble sum = convolve_matrix_sum (matrix);
  ConvolveMatrix *normal;

  if (sum == 1 || fabs (sum) <= MATRIX_ZERO_SUM * convolve_matrix_l1 (matrix))
    return convolve_matrix_ref (matrix);

  /* Divided, not multiplied by an inverse: that could overflow. */
  normal = matrix_alloc_deep (matrix->width, matrix->height, matrix->depth);
  for (gsize i = 0; i < matrix_size (matrix); i++)
    normal->weights[i] = matrix->weights[i] / sum;
  return normal;
}

ConvolveMatrix *
convolve_matrix_frames (const ConvolveMatrix * matrix, guint first, guint n)
{
  ConvolveMatrix *part = matrix_alloc_deep (matrix->width, matrix->height, n);

  g_assert (n > 0 && first + n <= matrix->depth);
  memcpy (part->weights, matrix->weights + first * frame_size (matrix),
      matrix_size (part) * sizeof (gdouble));
  return part;
}

gboolean
convolve_matrix_separate_frames (const ConvolveMatrix * matrix,
    ConvolveMatrix ** t, ConvolveMatrix ** frame)
{
  gsize n = frame_size (matrix);
  g_autoptr (ConvolveMatrix) flat = matrix_alloc (n, matrix->depth);
  g_autoptr (ConvolveMatrix) x = NULL;
  g_autoptr (ConvolveMatrix) y = NULL;

  /* A row for each frame. */
  memcpy (flat->weights, matrix->weights,
      matrix_size (matrix) * sizeof (gdouble));
  if (!convolve_matrix_separate (flat, &x, &y))
    return FALSE;
  *t = matrix_alloc_deep (1, 1, matrix->depth);
  memcpy ((*t)->weights, y->weights, matrix->depth * sizeof (gdouble));
  *frame = convolve_matrix_new (matrix->width, matrix->height, x->weights);
  return TRUE;
}

ConvolveMatrix *
convolve_matrix_outer (const ConvolveMatrix * x, const ConvolveMatrix * y)
{
  ConvolveMatrix *outer;
  gdouble *weight;

  g_assert (x->height == 1 && y->width == 1);
  outer = matrix_alloc (x->width, y->height);
  weight = outer->weights;
  for (guint j = 0; j < y->height; j++)
    for (guint i = 0; i < x->width; i++)
      *weight++ = y->weights[j] * x->weights[i];
  return outer;
}

/* The shortest length whose anchor, length / 2, leaves at least so many
 * elements before and after it. */
static guint
length_for_reach (guint before, guint after)
{
  return before > after ? 2 * before : 2 * after + 1;
}

ConvolveMatrix *
convolve_matrix_trim (ConvolveMatrix * matrix)
{
  guint left = 0, right = 0, above = 0, below = 0, width, height;
  guint ax = matrix->anchor_x, ay = matrix->anchor_y;
  ConvolveMatrix *trimmed;

  for (guint j = 0; j < matrix->height; j++) {
    for (guint i = 0; i < matrix->width; i++) {
      if (matrix->weights[(gsize) j * matrix->width + i] == 0)
        continue;
      left = MAX (left, ax > i ? ax - i : 0);
      right = MAX (right, i > ax ? i - ax : 0);
      above = MAX (above, ay > j ? ay - j : 0);
      below = MAX (below, j > ay ? j - ay : 0);
    }
  }
  width = length_for_reach (left, right);
  height = length_for_reach (above, below);
  if (width == matrix->width && height == matrix->height)
    return convolve_matrix_ref (matrix);

  trimmed = matrix_alloc (width, height);
  for (guint j = 0; j < height; j++) {
    gsize row = (gsize) (j + ay - trimmed->anchor_y) * matrix->width;

    memcpy (trimmed->weights + (gsize) j * width,
        matrix->weights + row + ax - trimmed->anchor_x,
        width * sizeof (gdouble));
  }
  return trimmed;
}

/* Rank 1 means that every row is a multiple of every other. The row and the
 * column through the largest weight decide, since dividing by it loses
 * least. */
gboolean
convolve_matrix_separate (const ConvolveMatrix * matrix, ConvolveMatrix ** x,
    ConvolveMatrix ** y)
{
  guint width = matrix->width, height = matrix->height;
  const gdouble *weights = matrix->weights;
  g_autoptr (ConvolveMatrix) row = matrix_alloc (width, 1);
  g_autoptr (ConvolveMatrix) column = matrix_alloc (1, height);
  gsize pivot = 0;
  gdouble limit;

  /* A column is its own column exactly, and so is a row below. */
  for (gsize i = 0; i < matrix_size (matrix); i++)
    if (fabs (weights[i]) > fabs (weights[pivot]))
      pivot = i;
  limit = MATRIX_RANK_TOLERANCE * fabs (weights[pivot]);

  for (guint i = 0; i < width; i++)
    row->weights[i] = width == 1 ? 1 : weights[pivot - pivot % width + i];
  for (guint j = 0; j < height; j++) {
    gdouble weight = weights[(gsize) j * width + pivot % width];

    if (width > 1)
      weight = weights[pivot] != 0 ? weight / weights[pivot] : 0;
    column->weights[j] = weight;
  }

  for (guint j = 0; j < height; j++)
    for (guint i = 0; i < width; i++)
      if (fabs (weights[(gsize) j * width + i]
              - column->weights[j] * row->weights[i]) > limit)
        return FALSE;

  *x = g_steal_pointer (&row);
  *y = g_steal_pointer (&column);
  return TRUE;
}

/* Takes the outer product of y and x off rest. */
static void
matrix_subtract (ConvolveMatrix * rest, const ConvolveMatrix * x,
    const ConvolveMatrix * y)
{
  gdouble *weight = rest->weights;

  for (guint j = 0; j < rest->height; j++)
    for (guint i = 0; i < rest->width; i++)
      *weight++ -= y->weights[j] * x->weights[i];
}

static gsize
matrix_largest (const ConvolveMatrix * matrix)
{
  gsize largest = 0;

  for (gsize i = 1; i < matrix_size (matrix); i++)
    if (fabs (matrix->weights[i]) > fabs (matrix->weights[largest]))
      largest = i;
  return largest;
}

/* Gaussian elimination with complete pivoting: the row and the column through
 * the largest element of what is left are a product that leaves zeros in
 * their place. */
guint
convolve_matrix_low_rank (const ConvolveMatrix * matrix, guint most,
    ConvolveMatrix ** x, ConvolveMatrix ** y)
{
  guint width = matrix->width, height = matrix->height, n = 0;
  g_autoptr (ConvolveMatrix) rest =
      convolve_matrix_new (width, height, matrix->weights);
  gsize pivot = matrix_largest (rest);
  gdouble limit = MATRIX_RANK_TOLERANCE * fabs (rest->weights[pivot]);

  for (; n < most && (n == 0 || fabs (rest->weights[pivot]) > limit); n++) {
    gdouble largest = rest->weights[pivot];

    x[n] = matrix_alloc (width, 1);
    y[n] = matrix_alloc (1, height);
    for (guint i = 0; i < width; i++)
      x[n]->weights[i] = rest->weights[pivot - pivot % width + i];
    for (guint j = 0; j < height; j++)
      y[n]->weights[j] = largest != 0 ?
          rest->weights[(gsize) j * width + pivot % width] / largest : 0;
    matrix_subtract (rest, x[n], y[n]);
    pivot = matrix_largest (rest);
  }
  if (fabs (rest->weights[pivot]) <= limit)
    return n;
  for (guint i = 0; i < n; i++) {
    convolve_matrix_unref (x[i]);
    convolve_matrix_unref (y[i]);
  }
  return 0;
}

guint64
convolve_matrix_count (const ConvolveMatrix * matrix)
{
  guint64 n = 0;

  for (gsize i = 0; i < matrix_size (matrix); i++)
    n += matrix->weights[i] != 0;
  return n;
}
