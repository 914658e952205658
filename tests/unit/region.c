/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Rectangles against a picture of bits. */
#include <string.h>

#include "core/region.h"

#define MAX_SIDE 40

/* A pixel counts as covered if any pixel of its cell is. */
static gboolean
is_named (const ConvolveRect * raw, guint n, gint x, gint y, gint width,
    gint height, gint step_x, gint step_y)
{
  for (gint v = y / step_y * step_y; v < MIN ((y / step_y + 1) * step_y,
          height); v++)
    for (gint u = x / step_x * step_x; u < MIN ((x / step_x + 1) * step_x,
            width); u++)
      for (guint i = 0; i < n; i++)
        if (u >= raw[i].x0 && u < raw[i].x1 && v >= raw[i].y0 && v < raw[i].y1)
          return TRUE;
  return FALSE;
}

/* Each pixel is in one rectangle if it is wanted and in none otherwise: two
 * that overlap would let two threads write one place. */
static void
check_fit (GRand * rand, guint n)
{
  g_autoptr (GArray) rects = g_array_new (FALSE, FALSE, sizeof (ConvolveRect));
  gint width = g_rand_int_range (rand, 1, MAX_SIDE);
  gint height = g_rand_int_range (rand, 1, MAX_SIDE);
  gint step_x = 1 << g_rand_int_range (rand, 0, 3);
  gint step_y = 1 << g_rand_int_range (rand, 0, 3);
  gboolean invert = g_rand_boolean (rand);
  guint8 count[MAX_SIDE][MAX_SIDE];
  g_autofree ConvolveRect *raw = NULL;

  for (guint i = 0; i < n; i++)
    convolve_rects_add (rects, g_rand_int_range (rand, -9, MAX_SIDE + 9),
        g_rand_int_range (rand, -9, MAX_SIDE + 9), g_rand_int_range (rand, 0,
            20), g_rand_int_range (rand, 0, 20));
  raw = g_memdup2 (rects->data, n * sizeof (*raw));
  convolve_rects_fit (rects, width, height, step_x, step_y, invert);

  memset (count, 0, sizeof (count));
  for (guint i = 0; i < rects->len; i++) {
    const ConvolveRect *r = &g_array_index (rects, ConvolveRect, i);

    g_assert_false (convolve_rect_is_empty (r));
    g_assert_true (r->x0 >= 0 && r->y0 >= 0 && r->x1 <= width
        && r->y1 <= height);
    g_assert_true (r->x0 % step_x == 0 && r->y0 % step_y == 0);
    g_assert_true (r->x1 % step_x == 0 || r->x1 == width);
    g_assert_true (r->y1 % step_y == 0 || r->y1 == height);
    for (gint y = r->y0; y < r->y1; y++)
      for (gint x = r->x0; x < r->x1; x++)
        count[y][x]++;
  }
  for (gint y = 0; y < height; y++)
    for (gint x = 0; x < width; x++)
      g_assert_cmpuint (count[y][x], ==, is_named (raw, n, x, y, width, height,
              step_x, step_y) != invert);
}

static void
test_fit (void)
{
  GRand *rand = g_rand_new_with_seed (g_test_rand_int ());

  for (guint i = 0; i < 3000; i++)
    check_fit (rand, i % 9);
  for (guint i = 0; i < 20; i++)
    check_fit (rand, 100);
  g_rand_free (rand);
}

/* Any number is a rectangle's side; those that are no pixel's number are only
 * survived. */
static void
test_far_away (void)
{
  static const gint64 far[] = { G_MININT64, G_MININT64 + 1, G_MININT, -1, 0, 1,
    G_MAXINT, G_MAXUINT32, G_MAXINT64
  };
  g_autoptr (GArray) rects = g_array_new (FALSE, FALSE, sizeof (ConvolveRect));

  for (guint x = 0; x < G_N_ELEMENTS (far); x++) {
    for (guint w = 0; w < G_N_ELEMENTS (far); w++) {
      gdouble begin = MAX ((gdouble) far[x], 0);
      gdouble end = MIN ((gdouble) far[x] + MAX (far[w], 0), 10);
      gboolean knowable = far[x] >= G_MININT && far[w] <= G_MAXUINT32;

      g_array_set_size (rects, 0);
      convolve_rects_add (rects, far[x], 0, far[w], 5);
      convolve_rects_fit (rects, 10, 10, 1, 1, FALSE);
      if (knowable)
        g_assert_cmpuint (rects->len, ==, begin < end);
    }
  }
}

/* What touches becomes one, also over several bands. */
static void
test_few (void)
{
  g_autoptr (GArray) rects = g_array_new (FALSE, FALSE, sizeof (ConvolveRect));
  const ConvolveRect *r;

  convolve_rects_add (rects, 2, 2, 4, 4);
  convolve_rects_add (rects, 6, 2, 4, 4);
  convolve_rects_add (rects, 2, 6, 8, 3);
  convolve_rects_add (rects, 3, 3, 2, 2);
  convolve_rects_fit (rects, 20, 20, 1, 1, FALSE);
  r = (const ConvolveRect *) rects->data;
  g_assert_cmpuint (rects->len, ==, 1);
  g_assert_true (r->x0 == 2 && r->y0 == 2 && r->x1 == 10 && r->y1 == 9);
  convolve_rects_fit (rects, 20, 20, 1, 1, TRUE);
  g_assert_cmpuint (rects->len, ==, 4);
  convolve_rects_fit (rects, 20, 20, 1, 1, TRUE);
  g_assert_cmpuint (rects->len, ==, 1);
}

/* Thousands of regions stay a list that can be walked. */
static void
test_many (void)
{
  g_autoptr (GArray) rects = g_array_new (FALSE, FALSE, sizeof (ConvolveRect));
  g_autoptr (ConvolvePlan) plan = NULL;
  ConvolveSettings settings;
  GstVideoInfo info;

  convolve_settings_init (&settings);
  gst_video_info_set_format (&info, GST_VIDEO_FORMAT_I420, 1920, 1080);
  plan = convolve_plan_new (&info, &settings, FALSE, NULL);
  for (guint i = 0; i < 10000; i++)
    convolve_rects_add (rects, i * 7919 % 1920, i * 104729 % 1080, 3, 3);
  convolve_plan_fit_rects (plan, rects, FALSE);
  g_assert_cmpuint (rects->len, >, 0);
  g_assert_cmpuint (rects->len, <=, CONVOLVE_REGIONS_GRID *
      CONVOLVE_REGIONS_GRID);
}

static void
test_covered (void)
{
  g_autoptr (GArray) rects = g_array_new (FALSE, FALSE, sizeof (ConvolveRect));
  g_autoptr (ConvolvePlan) plan = NULL;
  ConvolveSettings settings;
  GstVideoInfo info;

  convolve_settings_init (&settings);
  gst_video_info_set_format (&info, GST_VIDEO_FORMAT_I420, 33, 17);
  plan = convolve_plan_new (&info, &settings, FALSE, NULL);
  g_assert_false (convolve_plan_is_covered (plan, rects));
  convolve_rects_add (rects, 0, 0, 32, 17);
  convolve_plan_fit_rects (plan, rects, FALSE);
  g_assert_false (convolve_plan_is_covered (plan, rects));
  convolve_rects_add (rects, 31, 0, 9, 99);
  convolve_plan_fit_rects (plan, rects, FALSE);
  g_assert_true (convolve_plan_is_covered (plan, rects));
  convolve_plan_fit_rects (plan, rects, TRUE);
  g_assert_cmpuint (rects->len, ==, 0);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/region/fit", test_fit);
  g_test_add_func ("/region/far-away", test_far_away);
  g_test_add_func ("/region/few", test_few);
  g_test_add_func ("/region/many", test_many);
  g_test_add_func ("/region/covered", test_covered);
  return g_test_run ();
}
