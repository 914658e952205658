/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Matrices of weights as text: from strings and files, and back. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <glib/gstdio.h>

#include "matrix-private.h"

#define MATRIX_MAX_FILE (1024 * 1024)
#define OPEN_FLAGS (O_RDONLY | O_NONBLOCK | O_CLOEXEC)

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

static void
set_file_error (GError ** error, const gchar * what, const gchar * path,
    gint code)
{
  g_set_error (error, CONVOLVE_ERROR, CONVOLVE_ERROR_INVALID,
      "could not %s \"%s\": %s", what, path, g_strerror (code));
}

/* A descriptor of a regular file, -1 with an error for others: reading a pipe
 * or a device could block or never end. What is opened is looked at once more,
 * since the name may have come to mean something else. */
static gint
open_regular (const gchar * path, GError ** error)
{
  GStatBuf info = { 0 };
  gboolean exists = g_stat (path, &info) == 0;
  gint file = -1;

  if (!exists || S_ISREG (info.st_mode)) {
    file = g_open (path, OPEN_FLAGS, 0);
    if (file < 0) {
      set_file_error (error, "open", path, errno);
      return -1;
    }
    if (fstat (file, &info) == 0 && S_ISREG (info.st_mode))
      return file;
    g_close (file, NULL);
  }
  g_set_error (error, CONVOLVE_ERROR, CONVOLVE_ERROR_INVALID,
      "\"%s\" is not a regular file", path);
  return -1;
}

/* Bytes read, at most size; -1 with errno. */
static gssize
read_all (gint file, gchar * text, gsize size)
{
  gsize n = 0;

  while (n < size) {
    gssize got = read (file, text + n, size - n);

    if (got == 0)
      break;
    if (got > 0)
      n += got;
    else if (errno != EINTR)
      return -1;
  }
  return n;
}

/* The content of a text file. Some files of /proc are called regular and have
 * no end all the same: reading does not wait for more. */
static gchar *
read_text (const gchar * path, GError ** error)
{
  g_autofree gchar *text = g_malloc (MATRIX_MAX_FILE + 2);
  gint file = open_regular (path, error);
  gssize size;
  gint code;

  if (file < 0)
    return NULL;
  size = read_all (file, text, MATRIX_MAX_FILE + 1);
  code = errno;
  g_close (file, NULL);

  if (size < 0) {
    set_file_error (error, "read", path, code);
    return NULL;
  }
  if (size > MATRIX_MAX_FILE) {
    g_set_error (error, CONVOLVE_ERROR, CONVOLVE_ERROR_INVALID,
        "\"%s\" is larger than 1 MiB", path);
    return NULL;
  }
  text[size] = '\0';
  if (strlen (text) != (gsize) size) {
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
