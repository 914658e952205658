/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Matrices of weights as text: from strings and files, and back. */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <glib/gstdio.h>

#include "matrix-private.h"

#define MATRIX_MAX_FILE (1024 * 1024)

static gboolean
is_blank (gchar c)
{
  return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

static const gchar *
skip_blanks (const gchar * p)
{
  while (is_blank (*p))
    p++;
  return p;
}

/* Between two numbers stand blanks, at most one comma or semicolon among
 * them. A separator after the last number of a line is accepted. */
static const gchar *
skip_separator (const gchar * p)
{
  p = skip_blanks (p);
  if (*p == ',' || *p == ';')
    p = skip_blanks (p + 1);
  return p;
}

static gboolean
is_line_end (gchar c)
{
  return c == '\0' || c == '\n' || c == '#';
}

/* Appends the numbers of the line at p; *n is their count. */
static gboolean
parse_line (const gchar * p, guint line, GArray * weights, guint * n,
    GError ** error)
{
  const gchar *fault;

  *n = 0;
  for (p = skip_blanks (p); !is_line_end (*p); p = skip_separator (p)) {
    gchar *end;
    gdouble weight = g_ascii_strtod (p, &end);

    (*n)++;
    if (end == p || !(is_line_end (*end) || is_blank (*end) || *end == ','
            || *end == ';')) {
      g_set_error (error, CONVOLVE_ERROR, CONVOLVE_ERROR_INVALID,
          "line %u, column %u: not a number", line, *n);
      return FALSE;
    }
    fault = convolve_matrix_weight_fault (weight);
    if (fault != NULL) {
      g_set_error (error, CONVOLVE_ERROR, CONVOLVE_ERROR_INVALID,
          "line %u, column %u: the weight %s", line, *n, fault);
      return FALSE;
    }
    g_array_append_val (weights, weight);
    p = end;
  }
  return TRUE;
}

/* Where a row is to go: its number of numbers, and its line, are known. */
typedef struct
{
  guint width, height, depth;   /* of all but the matrix at hand */
  guint rows;                   /* of the matrix at hand */
  guint line;                   /* of the last row */
  gboolean blank;               /* since the last row */
} Shape;

static gboolean
shape_end_matrix (Shape * shape, GError ** error)
{
  if (shape->depth > 0 && shape->rows != shape->height) {
    g_set_error (error, CONVOLVE_ERROR, CONVOLVE_ERROR_INVALID,
        "line %u: a matrix of %u row%s ends where the first one has %u",
        shape->line, shape->rows, shape->rows == 1 ? "" : "s", shape->height);
    return FALSE;
  }
  shape->height = shape->rows;
  shape->depth++;
  shape->rows = 0;
  return TRUE;
}

static gboolean
shape_add_row (Shape * shape, guint line, guint n, GError ** error)
{
  if (shape->blank && shape->rows > 0 && !shape_end_matrix (shape, error))
    return FALSE;
  shape->blank = FALSE;
  if ((shape->rows > 0 || shape->depth > 0) && n != shape->width) {
    g_set_error (error, CONVOLVE_ERROR, CONVOLVE_ERROR_INVALID,
        "line %u: %u numbers where the rows above have %u", line, n,
        shape->width);
    return FALSE;
  }
  shape->width = n;
  shape->line = line;
  shape->rows++;
  return TRUE;
}

ConvolveMatrix *
convolve_matrix_parse (const gchar * text, GError ** error)
{
  g_autoptr (GArray) weights = g_array_new (FALSE, FALSE, sizeof (gdouble));
  Shape shape = { 0 };
  guint line = 0, n;

  if (g_str_has_prefix (text, "\xef\xbb\xbf"))  /* a byte order mark */
    text += 3;

  for (const gchar * p = text; p != NULL; p = strchr (p, '\n')) {
    if (line > 0)
      p++;
    line++;
    if (!parse_line (p, line, weights, &n, error))
      return NULL;
    /* A line with nothing but a comment parts nothing. */
    if (n == 0)
      shape.blank |= *skip_blanks (p) == '\n';
    else if (!shape_add_row (&shape, line, n, error))
      return NULL;
  }
  if (!convolve_matrix_check_size (shape.width, MAX (shape.height, shape.rows),
          error)
      || !shape_end_matrix (&shape, error))
    return NULL;
  return convolve_matrix_new_deep (shape.width, shape.height, shape.depth,
      (const gdouble *) weights->data, error);
}

/* The content of a regular file. Others are refused: reading a pipe or a
 * device could block or never end. */
static gchar *
read_text (const gchar * path, GError ** error)
{
  g_autofree gchar *text = g_malloc (MATRIX_MAX_FILE + 2);
  gsize size;
  gint code;
  FILE *file;

  if (g_file_test (path, G_FILE_TEST_EXISTS)
      && !g_file_test (path, G_FILE_TEST_IS_REGULAR)) {
    g_set_error (error, CONVOLVE_ERROR, CONVOLVE_ERROR_INVALID,
        "\"%s\" is not a regular file", path);
    return NULL;
  }
  file = g_fopen (path, "rb");
  if (file == NULL) {
    code = errno;
    g_set_error (error, CONVOLVE_ERROR, CONVOLVE_ERROR_INVALID,
        "could not open \"%s\": %s", path, g_strerror (code));
    return NULL;
  }
  errno = 0;
  size = fread (text, 1, MATRIX_MAX_FILE + 1, file);
  code = ferror (file) ? errno : 0;
  fclose (file);

  if (code != 0) {
    g_set_error (error, CONVOLVE_ERROR, CONVOLVE_ERROR_INVALID,
        "could not read \"%s\": %s", path, g_strerror (code));
    return NULL;
  }
  if (size > MATRIX_MAX_FILE) {
    g_set_error (error, CONVOLVE_ERROR, CONVOLVE_ERROR_INVALID,
        "\"%s\" is larger than 1 MiB", path);
    return NULL;
  }
  text[size] = '\0';
  if (strlen (text) != size) {
    g_set_error (error, CONVOLVE_ERROR, CONVOLVE_ERROR_INVALID,
        "\"%s\" is not a text file", path);
    return NULL;
  }
  return g_steal_pointer (&text);
}

ConvolveMatrix *
convolve_matrix_load (const gchar * path, GError ** error)
{
  g_autofree gchar *text = read_text (path, error);
  ConvolveMatrix *matrix;

  if (text == NULL)
    return NULL;
  matrix = convolve_matrix_parse (text, error);
  if (matrix == NULL)
    g_prefix_error (error, "\"%s\": ", path);
  return matrix;
}

gchar *
convolve_matrix_to_string (const ConvolveMatrix * matrix)
{
  GString *string = g_string_new (NULL);
  gchar number[G_ASCII_DTOSTR_BUF_SIZE];
  const gdouble *weight = matrix->weights;

  for (guint j = 0; j < matrix->height * matrix->depth; j++) {
    if (j > 0 && j % matrix->height == 0)
      g_string_append_c (string, '\n');
    for (guint i = 0; i < matrix->width; i++) {
      g_ascii_dtostr (number, sizeof (number), *weight++);
      g_string_append_printf (string, "%s%s", i > 0 ? " " : "", number);
    }
    g_string_append_c (string, '\n');
  }
  return g_string_free (string, FALSE);
}
