/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The index maps of the borders, against the words that define them. */
#include <string.h>

#include "core/border.h"

/* Walks from inside the line to index i one step at a time, as the drawings
 * aaa|abcd|ddd of the documentation read. */
static gint
walk (ConvolveBorder border, gint i, gint n)
{
  gint at = 0, step = i < 0 ? -1 : 1, direction = step;

  for (gint left = ABS (i); left > 0; left--) {
    gint next = at + direction;
    gboolean outside = next < 0 || next >= n;

    switch (border) {
      case CONVOLVE_BORDER_REPLICATE:
        at = outside ? at : next;
        break;
      case CONVOLVE_BORDER_REFLECT:
        if (outside)
          direction = -direction;       /* the same sample once more */
        else
          at = next;
        break;
      case CONVOLVE_BORDER_MIRROR:
        if (n == 1)
          break;
        if (outside) {
          direction = -direction;
          next = at + direction;
        }
        at = next;
        break;
      case CONVOLVE_BORDER_WRAP:
        at = outside ? (next < 0 ? n - 1 : 0) : next;
        break;
      default:
        if (i < 0 || i >= n)
          return -1;
        at = next;
    }
  }
  return at;
}

static void
test_walk (void)
{
  for (gint border = 0; border < CONVOLVE_N_BORDERS; border++)
    for (gint n = 1; n <= 7; n++)
      for (gint i = -30; i <= 30; i++)
        g_assert_cmpint (convolve_border_map (border, i, n), ==,
            walk (border, i, n));
}

/* The drawings themselves, typed by hand. */
static void
test_drawings (void)
{
  static const gchar *const drawings[CONVOLVE_N_BORDERS] = {
    [CONVOLVE_BORDER_REPLICATE] = "aaaabcdddd",
    [CONVOLVE_BORDER_REFLECT] = "cbaabcddcb",
    [CONVOLVE_BORDER_MIRROR] = "dcbabcdcba",
    [CONVOLVE_BORDER_WRAP] = "bcdabcdabc",
    [CONVOLVE_BORDER_CONSTANT] = "kkkabcdkkk",
  };

  for (gint border = 0; border < CONVOLVE_N_BORDERS; border++) {
    for (gint i = -3; i < 7; i++) {
      gint at = convolve_border_map (border, i, 4);

      g_assert_cmpint (at < 0 ? 'k' : 'a' + at, ==, drawings[border][i + 3]);
    }
  }
}

static void
test_extremes (void)
{
  static const gint sizes[] = { 1, 2, 3, 1920, G_MAXINT };
  static const gint indices[] = { G_MININT, G_MININT + 1, -1, G_MAXINT - 1,
    G_MAXINT
  };

  for (gint border = 0; border < CONVOLVE_N_BORDERS; border++) {
    for (guint s = 0; s < G_N_ELEMENTS (sizes); s++) {
      for (guint k = 0; k < G_N_ELEMENTS (indices); k++) {
        gint i = indices[k], n = sizes[s];
        gint at = convolve_border_map (border, i, n);

        if (border == CONVOLVE_BORDER_CONSTANT && (i < 0 || i >= n))
          g_assert_cmpint (at, ==, -1);
        else
          g_assert_true (at >= 0 && at < n);
      }
    }
  }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/border/walk", test_walk);
  g_test_add_func ("/border/drawings", test_drawings);
  g_test_add_func ("/border/extremes", test_extremes);
  return g_test_run ();
}
