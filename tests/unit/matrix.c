/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Matrices: parser, limits and algebra. */
#include <locale.h>
#include <math.h>
#include <string.h>

#include <glib/gstdio.h>

#include "core/matrix.h"

static ConvolveMatrix *
parse_good (const gchar * text)
{
  g_autoptr (GError) error = NULL;
  ConvolveMatrix *matrix = convolve_matrix_parse (text, &error);

  g_assert_no_error (error);
  g_assert_nonnull (matrix);
  return matrix;
}

static void
test_parse_good (void)
{
  static const gdouble expected[6] = { 1, -2.5, 3e2, 0, 0.5, -1 };
  static const gchar *const texts[] = {
    "1 -2.5 3e2\n0 .5 -1\n",
    "1,-2.5,300\n0,0.5,-1",
    "\xef\xbb\xbf" "# a title\r\n\r\n 1; -2.5 ;+300;\r\n0\t0.5 , -1 # end\r\n",
    "\n\n1 -2.5 3e2\n# between\n0 5e-1 -1\n\n\n# after\n",
  };

  for (guint i = 0; i < G_N_ELEMENTS (texts); i++) {
    g_autoptr (ConvolveMatrix) matrix = parse_good (texts[i]);

    g_assert_cmpuint (matrix->width, ==, 3);
    g_assert_cmpuint (matrix->height, ==, 2);
    g_assert_cmpuint (matrix->anchor_x, ==, 1);
    g_assert_cmpuint (matrix->anchor_y, ==, 1);
    g_assert_cmpmem (matrix->weights, sizeof (expected), expected,
        sizeof (expected));
  }
}

/* Blank lines part the frames' matrices. */
static void
test_parse_deep (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GString) many = g_string_new (NULL);
  g_autoptr (ConvolveMatrix) m = convolve_matrix_parse ("\n# oldest\n1 2 3\n"
      "# no blank line\n4 5 6\n\n \n-1 0 0\n0 0 7\n\n", &error);

  g_assert_no_error (error);
  g_assert_cmpuint (m->width, ==, 3);
  g_assert_cmpuint (m->height, ==, 2);
  g_assert_cmpuint (m->depth, ==, 2);
  g_assert_cmpfloat (m->weights[5], ==, 6);
  g_assert_cmpfloat (m->weights[6], ==, -1);
  g_assert_cmpfloat (m->weights[11], ==, 7);
  g_assert_cmpfloat (convolve_matrix_sum (m), ==, 27);
  g_assert_cmpfloat (convolve_matrix_l1 (m), ==, 29);

  for (guint i = 0; i < CONVOLVE_MATRIX_MAX_DEPTH + 1; i++)
    g_string_append (many, "1 2\n\n");
  g_assert_null (convolve_matrix_parse (many->str, &error));
  g_assert_error (error, CONVOLVE_ERROR, CONVOLVE_ERROR_INVALID);
  g_assert_nonnull (strstr (error->message, "130 frames are too many"));
}

static void
test_separate_frames (void)
{
  static const gdouble product[8] = { 1, 2, 3, 4, -2, -4, -6, -8 };
  static const gdouble none[8] = { 1, 2, 3, 4, -2, -4, -6, -7 };
  g_autoptr (ConvolveMatrix) a =
      convolve_matrix_new_deep (2, 2, 2, product, NULL);
  g_autoptr (ConvolveMatrix) b = convolve_matrix_new_deep (2, 2, 2, none, NULL);
  g_autoptr (ConvolveMatrix) t = NULL;
  g_autoptr (ConvolveMatrix) frame = NULL;

  g_assert_false (convolve_matrix_separate_frames (b, &t, &frame));
  g_assert_true (convolve_matrix_separate_frames (a, &t, &frame));
  g_assert_cmpuint (t->depth, ==, 2);
  g_assert_cmpuint (frame->width * frame->height * frame->depth, ==, 4);
  for (guint i = 0; i < 8; i++)
    g_assert_cmpfloat_with_epsilon (t->weights[i / 4] * frame->weights[i % 4],
        product[i], 1e-12);
}

static void
test_parse_bad (void)
{
  static const struct
  {
    const gchar *text, *words;
  } cases[] = {
    {"", "no weights"},
    {"# nothing\n\n", "no weights"},
    {"1 2\n1 2 3\n", "line 2"},
    {"1 2\n\n3 4\n5 6\n", "line 4: a matrix of 2 rows ends where the first "
          "one has 1"},
    {"1 2\n3 4\n\n5 6\n\n7 8\n9 1\n", "line 4: a matrix of 1 row ends"},
    {"1 2\n\n3\n", "line 3"},
    {"1\n\nx\n", "line 3, column 1"},
    {"1 nan\n", "line 1, column 2"},
    {"1 2\n-inf 2\n", "line 2, column 1"},
    {"1e999", "not a finite"},
    {"1000001", "larger than"},
    {"1,,2", "line 1, column 2"},
    {",1", "line 1, column 1"},
    {"1.2.3", "not a number"},
    {"1-2", "not a number"},
    {"1 x", "line 1, column 2"},
    {"1 2\n3 4z", "line 2, column 2"},
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (GError) error = NULL;

    g_test_message ("%s", cases[i].text);
    g_assert_null (convolve_matrix_parse (cases[i].text, &error));
    g_assert_error (error, CONVOLVE_ERROR, CONVOLVE_ERROR_INVALID);
    g_assert_nonnull (strstr (error->message, cases[i].words));
  }
}

/* Rows and columns of ones at and beyond the limits. */
static void
test_limits (void)
{
  static const struct
  {
    guint width, height;
    gboolean good;
  } cases[] = {
    {129, 129, TRUE}, {130, 2, FALSE}, {2, 130, FALSE}, {2049, 1, TRUE},
    {2050, 1, FALSE}, {1, 2049, TRUE}, {1, 2050, FALSE}, {0, 3, FALSE},
    {3, 0, FALSE},
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    gsize n = (gsize) cases[i].width * cases[i].height;
    g_autofree gdouble *weights = g_new0 (gdouble, n + 1);
    g_autoptr (GString) text = g_string_new (NULL);
    g_autoptr (ConvolveMatrix) matrix = NULL, parsed = NULL;
    g_autoptr (GError) error = NULL;

    for (guint j = 0; j < cases[i].height; j++) {
      for (guint k = 0; k < cases[i].width; k++)
        g_string_append (text, "0 ");
      g_string_append_c (text, '\n');
    }
    matrix = convolve_matrix_new_checked (cases[i].width, cases[i].height,
        weights, &error);
    g_assert_true ((matrix != NULL) == cases[i].good);
    g_assert_true ((error == NULL) == cases[i].good);
    parsed = convolve_matrix_parse (text->str, NULL);
    g_assert_true ((parsed != NULL) == cases[i].good);
  }
}

static void
test_checked (void)
{
  const gdouble bad[] = { NAN, INFINITY, -INFINITY, 1.1e6 };

  for (guint i = 0; i < G_N_ELEMENTS (bad); i++) {
    gdouble weights[6] = { 1, 2, 3, 4, 5, 6 };
    g_autoptr (GError) error = NULL;

    weights[5] = bad[i];
    g_assert_null (convolve_matrix_new_checked (3, 2, weights, &error));
    g_assert_error (error, CONVOLVE_ERROR, CONVOLVE_ERROR_INVALID);
    g_assert_nonnull (strstr (error->message, "row 2, column 3"));
  }
}

static void
test_locale (void)
{
  static const gchar *const names[] = { "de_DE.UTF-8", "fr_FR.UTF-8", "de_DE",
    "fr_FR"
  };
  const gchar *found = NULL;

  for (guint i = 0; i < G_N_ELEMENTS (names) && found == NULL; i++)
    found = setlocale (LC_ALL, names[i]);
  if (found == NULL) {
    g_test_skip ("no locale with a decimal comma is installed");
    return;
  }
  test_parse_good ();
  setlocale (LC_ALL, "C");
}

static void
load_bad (const gchar * path, const gchar * words)
{
  g_autoptr (GError) error = NULL;

  g_assert_null (convolve_matrix_load (path, &error));
  g_assert_error (error, CONVOLVE_ERROR, CONVOLVE_ERROR_INVALID);
  g_assert_nonnull (strstr (error->message, path));
  g_assert_nonnull (strstr (error->message, words));
}

static void
write_file (const gchar * path, const gchar * text, gssize size)
{
  g_autoptr (GError) error = NULL;

  g_file_set_contents (path, text, size, &error);
  g_assert_no_error (error);
}

static void
test_load (void)
{
  g_autoptr (GError) error = NULL;
  g_autofree gchar *folder = g_dir_make_tmp ("convolve-XXXXXX", &error);
  g_autofree gchar *path = NULL, *large = NULL;
  g_autoptr (ConvolveMatrix) matrix = NULL;

  g_assert_no_error (error);
  path = g_build_filename (folder, "weights.txt", NULL);
  load_bad (path, "could not open");
  load_bad (folder, "not a regular file");
  write_file (path, "1 2\n3\n", -1);
  load_bad (path, "line 2");
  write_file (path, "1 2\0 3\n", 8);
  load_bad (path, "not a text file");
  large = g_strnfill (1024 * 1024 + 1, ' ');
  write_file (path, large, -1);
  load_bad (path, "1 MiB");
  /* The largest file that is read. */
  large[1024 * 1024] = '\0';
  large[0] = '7';
  write_file (path, large, -1);
  matrix = convolve_matrix_load (path, &error);
  g_assert_no_error (error);
  g_assert_cmpfloat (matrix->weights[0], ==, 7);
  g_unlink (path);
  g_rmdir (folder);
}

/* What would block or never end is refused at once: a pipe that nobody writes
 * to, a device, and a file of /proc that calls itself regular and empty. */
static void
test_load_endless (void)
{
  g_autoptr (GError) error = NULL;
  g_autofree gchar *folder = g_dir_make_tmp ("convolve-XXXXXX", &error);
  g_autofree gchar *pipe = g_build_filename (folder, "pipe", NULL);
  gint64 start = g_get_monotonic_time ();

  g_assert_no_error (error);
  g_assert_cmpint (mkfifo (pipe, 0600), ==, 0);
  load_bad (pipe, "not a regular file");
  load_bad ("/dev/zero", "not a regular file");
  load_bad ("/dev/tty", "not a regular file");
  if (g_file_test ("/proc/self/pagemap", G_FILE_TEST_EXISTS))
    load_bad ("/proc/self/pagemap", "/proc/self/pagemap");
  g_assert_cmpint (g_get_monotonic_time () - start, <, 5 * G_USEC_PER_SEC);
  g_unlink (pipe);
  g_rmdir (folder);
}

static void
test_sums (void)
{
  const gdouble weights[4] = { 1e16, 1, -1e16, 1 };
  g_autoptr (ConvolveMatrix) matrix = convolve_matrix_new (4, 1, weights);
  g_autoptr (ConvolveMatrix) scaled = convolve_matrix_scale (matrix, -2);
  g_autoptr (ConvolveMatrix) good = parse_good ("1 2 1");
  g_autoptr (ConvolveMatrix) normal = convolve_matrix_normalize (good);
  g_autoptr (ConvolveMatrix) zero = parse_good ("1 -1");
  g_autoptr (ConvolveMatrix) same = convolve_matrix_normalize (zero);
  g_autoptr (ConvolveMatrix) tiny = parse_good ("1e-320 1e-320");
  g_autoptr (ConvolveMatrix) halves = convolve_matrix_normalize (tiny);

  g_assert_cmpfloat (convolve_matrix_sum (matrix), ==, 2);
  g_assert_cmpfloat (convolve_matrix_l1 (matrix), ==, 2e16 + 2);
  g_assert_true (convolve_matrix_has_negative (matrix));
  g_assert_false (convolve_matrix_has_negative (good));
  g_assert_cmpfloat (scaled->weights[2], ==, 2e16);
  g_assert_cmpfloat (normal->weights[0], ==, 0.25);
  g_assert_cmpfloat (normal->weights[1], ==, 0.5);
  g_assert_true (same == zero);
  g_assert_cmpfloat (halves->weights[1], ==, 0.5);
}

static void
test_predicates (void)
{
  g_autoptr (ConvolveMatrix) one = parse_good ("0 0 0\n0 1 0\n0 0 0");
  g_autoptr (ConvolveMatrix) even = parse_good ("0 0\n0 1");
  g_autoptr (ConvolveMatrix) wrong = parse_good ("1 0\n0 0");
  g_autoptr (ConvolveMatrix) turned = parse_good ("1 2 3\n3 2 1");

  g_assert_true (convolve_matrix_is_identity (one));
  g_assert_true (convolve_matrix_is_identity (even));
  g_assert_false (convolve_matrix_is_identity (wrong));
  g_assert_true (convolve_matrix_is_symmetric (turned));
  g_assert_false (convolve_matrix_is_symmetric (wrong));
  g_assert_true (convolve_matrix_equal (NULL, NULL));
  g_assert_false (convolve_matrix_equal (one, NULL));
  g_assert_false (convolve_matrix_equal (one, even));
}

static void
check_trim (const gchar * text, const gchar * expected)
{
  g_autoptr (ConvolveMatrix) matrix = parse_good (text);
  g_autoptr (ConvolveMatrix) trimmed = convolve_matrix_trim (matrix);
  g_autofree gchar *string = convolve_matrix_to_string (trimmed);

  g_assert_cmpstr (string, ==, expected);
}

static void
test_trim (void)
{
  check_trim ("0 0 0\n0 0 0\n0 0 0", "0\n");
  check_trim ("0 0 0\n0 5 0\n0 0 0", "5\n");
  check_trim ("0 0 0 0 0\n0 1 2 3 0\n0 0 0 0 0", "1 2 3\n");
  check_trim ("1 2 0", "1 2\n");        /* an even size whose anchor is the 2 */
  check_trim ("0 2 3", "0 2 3\n");
  check_trim ("0 0 3 4", "0 3 4\n");
  check_trim ("0\n1\n0\n0", "1\n0\n");
}

static void
check_separate (const gchar * text, gboolean expected)
{
  g_autoptr (ConvolveMatrix) matrix = parse_good (text);
  g_autoptr (ConvolveMatrix) x = NULL, y = NULL, outer = NULL;

  g_test_message ("%s", text);
  g_assert_true (convolve_matrix_separate (matrix, &x, &y) == expected);
  if (!expected)
    return;
  g_assert_cmpuint (x->width, ==, matrix->width);
  g_assert_cmpuint (x->height, ==, 1);
  g_assert_cmpuint (y->height, ==, matrix->height);
  g_assert_cmpuint (y->width, ==, 1);
  outer = convolve_matrix_outer (x, y);
  for (guint i = 0; i < matrix->width * matrix->height; i++)
    g_assert_cmpfloat_with_epsilon (outer->weights[i], matrix->weights[i],
        1e-12 * convolve_matrix_l1 (matrix) + G_MINDOUBLE);
}

static void
test_separate (void)
{
  check_separate ("1 2 1\n2 4 2\n1 2 1", TRUE);
  check_separate ("-1 0 1\n-2 0 2\n-1 0 1", TRUE);
  check_separate ("1 2 3", TRUE);
  check_separate ("1\n2\n3", TRUE);
  check_separate ("0 0\n0 0", TRUE);
  check_separate ("0.1 0.2 0.7\n0.03 0.06 0.21", TRUE);
  check_separate ("0 0 0\n0 0 0\n0 0 1e-9", TRUE);
  check_separate ("1 0\n0 -1", FALSE);
  check_separate ("0 1 0\n1 -4 1\n0 1 0", FALSE);
  check_separate ("1 2 1\n2 4.0000001 2\n1 2 1", FALSE);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/matrix/parse/good", test_parse_good);
  g_test_add_func ("/matrix/parse/deep", test_parse_deep);
  g_test_add_func ("/matrix/parse/bad", test_parse_bad);
  g_test_add_func ("/matrix/parse/locale", test_locale);
  g_test_add_func ("/matrix/limits", test_limits);
  g_test_add_func ("/matrix/checked", test_checked);
  g_test_add_func ("/matrix/load", test_load);
  g_test_add_func ("/matrix/load-endless", test_load_endless);
  g_test_add_func ("/matrix/sums", test_sums);
  g_test_add_func ("/matrix/predicates", test_predicates);
  g_test_add_func ("/matrix/trim", test_trim);
  g_test_add_func ("/matrix/separate", test_separate);
  g_test_add_func ("/matrix/separate-frames", test_separate_frames);
  return g_test_run ();
}
