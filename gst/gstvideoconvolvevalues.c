/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gstvideoconvolvevalues.h"

#include <string.h>

/* Of a value in a message. */
#define MAX_TEXT 60

/* Numbers come as whatever the text or the language binding made of them: int,
 * double, fraction. Text and booleans are no numbers. */
gboolean
gst_video_convolve_value_to_number (const GValue * value, gdouble * number)
{
  g_auto (GValue) as_double = G_VALUE_INIT;
  GType type = G_VALUE_TYPE (value);

  if (type == GST_TYPE_FRACTION) {
    *number = (gdouble) gst_value_get_fraction_numerator (value)
        / gst_value_get_fraction_denominator (value);
    return TRUE;
  }
  if (type != G_TYPE_INT && type != G_TYPE_UINT && type != G_TYPE_INT64
      && type != G_TYPE_UINT64 && type != G_TYPE_LONG && type != G_TYPE_ULONG
      && type != G_TYPE_FLOAT && type != G_TYPE_DOUBLE)
    return FALSE;
  g_value_init (&as_double, G_TYPE_DOUBLE);
  if (!g_value_transform (value, &as_double))
    return FALSE;
  *number = g_value_get_double (&as_double);
  return TRUE;
}

/* Structures, arrays and their like may have no text, or a very long one. */
gchar *
gst_video_convolve_value_describe (const GValue * value)
{
  GType type = G_VALUE_TYPE (value);
  gchar *text;

  if (G_TYPE_FUNDAMENTAL (type) > G_TYPE_STRING && type != GST_TYPE_FRACTION)
    return g_strdup_printf ("a %s", g_type_name (type));
  /* What is not ASCII is escaped. */
  text = g_strdup_value_contents (value);
  if (strlen (text) > MAX_TEXT)
    strcpy (text + MAX_TEXT - 3, "...");
  return text;
}

/* Appends the numbers of one row; row counts from 1. */
static gboolean
append_row (GArray * weights, const GValue * row_value, guint row,
    GError ** error)
{
  guint n = gst_value_array_get_size (row_value);

  for (guint i = 0; i < n; i++) {
    const GValue *value = gst_value_array_get_value (row_value, i);
    gdouble number;

    if (!gst_video_convolve_value_to_number (value, &number)) {
      g_autofree gchar *content = gst_video_convolve_value_describe (value);

      g_set_error (error, CONVOLVE_ERROR, CONVOLVE_ERROR_INVALID,
          "row %u, column %u is not a number: %s", row, i + 1, content);
      return FALSE;
    }
    g_array_append_val (weights, number);
  }
  return TRUE;
}

/* Arrays longer than any matrix are refused before they are read. */
static gboolean
check_length (guint n, const gchar * what, GError ** error)
{
  if (n == 0) {
    g_set_error (error, CONVOLVE_ERROR, CONVOLVE_ERROR_INVALID,
        "%s is empty", what);
    return FALSE;
  }
  if (n > CONVOLVE_MATRIX_MAX_LENGTH) {
    g_set_error (error, CONVOLVE_ERROR, CONVOLVE_ERROR_INVALID,
        "%s has %u elements, more than %d", what, n,
        CONVOLVE_MATRIX_MAX_LENGTH);
    return FALSE;
  }
  return TRUE;
}

/* Appends the rows of one matrix; *width is 0 if none came before. */
static gboolean
append_rows (GArray * weights, const GValue * value, guint * width,
    GError ** error)
{
  guint height = gst_value_array_get_size (value);

  for (guint y = 0; y < height; y++) {
    const GValue *row = gst_value_array_get_value (value, y);
    guint n;

    if (!GST_VALUE_HOLDS_ARRAY (row)) {
      g_set_error (error, CONVOLVE_ERROR, CONVOLVE_ERROR_INVALID,
          "row %u is not an array: rows need one more pair of brackets around "
          "them, as in <<1,2,1>,<2,4,2>>", y + 1);
      return FALSE;
    }
    n = gst_value_array_get_size (row);
    if (!check_length (n, "a row", error)) {
      g_prefix_error (error, "row %u: ", y + 1);
      return FALSE;
    }
    if (*width != 0 && n != *width) {
      g_set_error (error, CONVOLVE_ERROR, CONVOLVE_ERROR_INVALID,
          "row %u has %u column%s where the rows above have %u", y + 1, n,
          n == 1 ? "" : "s", *width);
      return FALSE;
    }
    *width = n;
    /* Known to be too large before the memory for it is taken. */
    if (n > 1 && height > 1 && (n > CONVOLVE_MATRIX_MAX_SIDE
            || height > CONVOLVE_MATRIX_MAX_SIDE))
      return TRUE;
    if (!append_row (weights, row, y + 1, error))
      return FALSE;
  }
  return TRUE;
}

/* An array of arrays of arrays: a matrix for each frame. */
static gboolean
holds_frames (const GValue * value)
{
  const GValue *first = gst_value_array_get_value (value, 0);

  return GST_VALUE_HOLDS_ARRAY (first) && gst_value_array_get_size (first) > 0
      && GST_VALUE_HOLDS_ARRAY (gst_value_array_get_value (first, 0));
}

static gboolean
check_frame (const GValue * frame, guint height, GError ** error)
{
  guint n;

  if (!GST_VALUE_HOLDS_ARRAY (frame)) {
    g_set_error_literal (error, CONVOLVE_ERROR, CONVOLVE_ERROR_INVALID,
        "not an array of rows");
    return FALSE;
  }
  n = gst_value_array_get_size (frame);
  if (!check_length (n, "the array of rows", error))
    return FALSE;
  if (n == height)
    return TRUE;
  g_set_error (error, CONVOLVE_ERROR, CONVOLVE_ERROR_INVALID,
      "%u row%s where the first one has %u", n, n == 1 ? "" : "s", height);
  return FALSE;
}

static ConvolveMatrix *
from_frames (const GValue * value, GError ** error)
{
  g_autoptr (GArray) weights = g_array_new (FALSE, FALSE, sizeof (gdouble));
  guint depth = gst_value_array_get_size (value), width = 0;
  guint height =
      gst_value_array_get_size (gst_value_array_get_value (value, 0));

  if (depth > CONVOLVE_MATRIX_MAX_DEPTH) {
    g_set_error (error, CONVOLVE_ERROR, CONVOLVE_ERROR_INVALID,
        "%u frames are too many: at most %d", depth, CONVOLVE_MATRIX_MAX_DEPTH);
    return NULL;
  }
  for (guint t = 0; t < depth; t++) {
    const GValue *frame = gst_value_array_get_value (value, t);

    if (!check_frame (frame, height, error)
        || !append_rows (weights, frame, &width, error)) {
      g_prefix_error (error, "matrix %u: ", t + 1);
      return NULL;
    }
    if (width > 1 && height > 1 && (width > CONVOLVE_MATRIX_MAX_SIDE
            || height > CONVOLVE_MATRIX_MAX_SIDE))
      break;                    /* refused by its size */
  }
  return convolve_matrix_new_deep (width, height, depth,
      (const gdouble *) weights->data, error);
}

ConvolveMatrix *
gst_video_convolve_matrix_from_rows (const GValue * value, GError ** error)
{
  g_autoptr (GArray) weights = g_array_new (FALSE, FALSE, sizeof (gdouble));
  guint height = gst_value_array_get_size (value), width = 0;

  if (!check_length (height, "the array of rows", error))
    return NULL;
  if (holds_frames (value))
    return from_frames (value, error);
  if (!append_rows (weights, value, &width, error))
    return NULL;
  return convolve_matrix_new_checked (width, height,
      (const gdouble *) weights->data, error);
}

ConvolveMatrix *
gst_video_convolve_matrix_from_line (const GValue * value, gboolean column,
    GError ** error)
{
  g_autoptr (GArray) weights = g_array_new (FALSE, FALSE, sizeof (gdouble));
  guint n = gst_value_array_get_size (value);

  if (!check_length (n, "the array", error)
      || !append_row (weights, value, 1, error))
    return NULL;
  return convolve_matrix_new_checked (column ? 1 : n, column ? n : 1,
      (const gdouble *) weights->data, error);
}

static void
append_numbers (GValue * array, const gdouble * numbers, guint n)
{
  for (guint i = 0; i < n; i++) {
    GValue number = G_VALUE_INIT;

    g_value_init (&number, G_TYPE_DOUBLE);
    g_value_set_double (&number, numbers[i]);
    gst_value_array_append_and_take_value (array, &number);
  }
}

ConvolveMatrix *
gst_video_convolve_matrix_from_taps (const GValue * value, GError ** error)
{
  guint n = gst_value_array_get_size (value);

  if (n > CONVOLVE_MATRIX_MAX_DEPTH) {
    g_set_error (error, CONVOLVE_ERROR, CONVOLVE_ERROR_INVALID,
        "%u frames are too many: at most %d", n, CONVOLVE_MATRIX_MAX_DEPTH);
    return NULL;
  }
  return gst_video_convolve_matrix_from_line (value, FALSE, error);
}

static void
append_matrix (GValue * value, const ConvolveMatrix * matrix, guint frame)
{
  const gdouble *weights = matrix->weights
      + (gsize) frame * matrix->width * matrix->height;

  for (guint y = 0; y < matrix->height; y++) {
    GValue row = G_VALUE_INIT;

    g_value_init (&row, GST_TYPE_ARRAY);
    append_numbers (&row, weights + (gsize) y * matrix->width, matrix->width);
    gst_value_array_append_and_take_value (value, &row);
  }
}

void
gst_video_convolve_matrix_to_rows (const ConvolveMatrix * matrix,
    GValue * value)
{
  if (matrix == NULL)
    return;
  if (matrix->depth == 1)
    append_matrix (value, matrix, 0);
  for (guint t = 0; t < matrix->depth && matrix->depth > 1; t++) {
    GValue frame = G_VALUE_INIT;

    g_value_init (&frame, GST_TYPE_ARRAY);
    append_matrix (&frame, matrix, t);
    gst_value_array_append_and_take_value (value, &frame);
  }
}

void
gst_video_convolve_matrix_to_line (const ConvolveMatrix * matrix,
    GValue * value)
{
  if (matrix != NULL)
    append_numbers (value, matrix->weights, matrix->width * matrix->height);
}
