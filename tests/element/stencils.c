/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* detail, diffuse, and method: through properties, caps and buffers. */
#include <math.h>
#include <string.h>

#include "pictures.h"

#define GREY "video/x-raw,format=GRAY8,width=64,height=40,framerate=25/1"

static const gchar *const all_caps[] = {
  GREY,
  "video/x-raw,format=NV12,width=70,height=35,framerate=25/1",
  "video/x-raw,format=Y42B,width=33,height=20,framerate=25/1",
  "video/x-raw,format=RGBA,width=37,height=22,framerate=25/1",
  "video/x-raw,format=P010_10LE,width=32,height=18,framerate=25/1",
  "video/x-raw,format=RGBA,width=1,height=1,framerate=25/1",
  "video/x-raw,format=GRAY8,width=4,height=1,framerate=25/1",
};

static void
set_gains (ConvolveSettings * settings, guint n, const gdouble * gains)
{
  g_clear_pointer (&settings->detail_gains, convolve_matrix_unref);
  settings->detail_gains = convolve_matrix_new (n, 1, gains);
}

/* Sizes from one pixel on: what is too small has fewer levels. */
GST_START_TEST (test_detail)
{
  ConvolveSettings settings;

  convolve_settings_init (&settings);
  settings.filter = CONVOLVE_FILTER_DETAIL;
  for (guint i = 0; i < G_N_ELEMENTS (all_caps); i++)
    check_launch ("videoconvolve filter=detail", all_caps[i], &settings, FALSE);

  settings.levels = 16;
  set_gains (&settings, 3, (const gdouble[]) { 0, 2.5, -1 });
  settings.amount = 0.75;
  settings.threshold = 0.02;
  settings.border = CONVOLVE_BORDER_MIRROR;
  for (guint i = 0; i < G_N_ELEMENTS (all_caps); i++)
    check_launch ("videoconvolve filter=detail levels=16 amount=0.75 "
        "detail-gains=<0,5/2,-1> threshold=0.02 border=mirror method=pyramid",
        all_caps[i], &settings, FALSE);
  convolve_settings_clear (&settings);
}

GST_END_TEST;

/* Gains beyond the levels are of no use, and change nothing. */
GST_START_TEST (test_more_gains_than_levels)
{
  ConvolveSettings settings;

  convolve_settings_init (&settings);
  settings.filter = CONVOLVE_FILTER_DETAIL;
  settings.levels = 2;
  set_gains (&settings, 2, (const gdouble[]) { 1.5, 3 });
  check_launch ("videoconvolve filter=detail levels=2 "
      "detail-gains=<1.5,3,100,100>", GREY, &settings, FALSE);
  convolve_settings_clear (&settings);
}

GST_END_TEST;

/* Waves of many lengths and directions that end where they begin, moved by so
 * many pixels to the right and half as many down. As usual in pictures, one is
 * the weaker the shorter it is; the shortest is of 3 pixels. */
static void
draw_waves (guint8 * samples, gint n, gint moved)
{
  for (gint y = 0; y < n; y++) {
    for (gint x = 0; x < n; x++) {
      gdouble v = 0, turn = 2 * G_PI / n;

      for (gint k = 1; k <= n / 3; k++)
        v += cos (turn * (k * (x - moved) + k * 2 % 5 * (y - moved / 2))
            + k * k) / k;
      samples[y * n + x] = (guint8) lrint (128 + 25 * v);
    }
  }
}

/* Of a moving picture the same comes out, moved as far; the share of what was
 * added that differs. Levels are made of every second pixel, so what is under
 * one changes all the time. */
static gdouble
flicker (const gchar * launch, guint n, guint moved)
{
  g_autofree gchar *caps = g_strdup_printf ("video/x-raw,format=GRAY8,"
      "width=%u,height=%u,framerate=25/1", n, n);
  GstHarness *h = element_harness (launch, caps);
  g_autofree guint8 *in = g_malloc (n * n), *after = g_malloc (n * n);
  GstBuffer *out[2];
  GstMapInfo map[2];
  gdouble added = 0, differs = 0;

  draw_waves (in, n, 0);
  draw_waves (after, n, moved);
  out[0] = filter_one (h, grey_buffer (n, n, in, 0));
  out[1] = filter_one (h, grey_buffer (n, n, after, 1));
  gst_buffer_map (out[0], &map[0], GST_MAP_READ);
  gst_buffer_map (out[1], &map[1], GST_MAP_READ);
  for (guint y = 0; y < n; y++) {
    for (guint x = 0; x < n; x++) {
      guint i = y * n + x;
      guint to = (y + moved / 2) % n * n + (x + moved) % n;

      fail_unless_equals_int (in[i], after[to]);
      added += pow ((gdouble) map[0].data[i] - in[i], 2);
      differs += pow ((gdouble) map[1].data[to] - map[0].data[i], 2);
    }
  }
  for (guint i = 0; i < 2; i++) {
    gst_buffer_unmap (out[i], &map[i]);
    gst_buffer_unref (out[i]);
  }
  gst_harness_teardown (h);
  return sqrt (differs / added);
}

/* No flicker in motion. */
GST_START_TEST (test_detail_in_motion)
{
  static const gchar *const filters[] = {
    "levels=4", "levels=3 detail-gains=<1,1,3>",
    "levels=4 detail-gains=<1,1,1,4>",
  };

  for (guint i = 0; i < G_N_ELEMENTS (filters); i++) {
    g_autofree gchar *launch = g_strdup_printf ("videoconvolve filter=detail "
        "border=wrap %s", filters[i]);

    for (guint moved = 1; moved < 8; moved++) {
      gdouble share = flicker (launch, 64, moved);

      fail_unless (share < 0.1, "%s, moved by %u: %.3f", filters[i], moved,
          share);
    }
  }
}

GST_END_TEST;

GST_START_TEST (test_diffuse)
{
  ConvolveSettings settings;

  convolve_settings_init (&settings);
  settings.filter = CONVOLVE_FILTER_DIFFUSE;
  for (guint i = 0; i < G_N_ELEMENTS (all_caps); i++)
    check_launch ("videoconvolve filter=diffuse", all_caps[i], &settings,
        FALSE);

  settings.iterations = 25;
  settings.threshold = 0.1;
  settings.amount = 1.25;
  for (guint i = 0; i < G_N_ELEMENTS (all_caps); i++)
    check_launch ("videoconvolve filter=diffuse iterations=25 threshold=0.1 "
        "amount=7", all_caps[i], &settings, FALSE);
  convolve_settings_clear (&settings);
}

GST_END_TEST;

/* Flat areas become flat and the edge between them stays: noise below the
 * threshold goes, a step far above it does not. */
GST_START_TEST (test_diffuse_keeps_edges)
{
  GstHarness *h = element_harness ("videoconvolve filter=diffuse "
      "iterations=100 threshold=0.02", GREY);
  guint8 noisy[64 * 40];
  GstMapInfo map;
  GstBuffer *out;

  for (guint i = 0; i < sizeof (noisy); i++)
    noisy[i] = (i % 64 < 32 ? 60 : 180) + (i * 7 + i / 64 * 3) % 5 - 2;
  out = filter_one (h, grey_buffer (64, 40, noisy, 0));
  gst_buffer_map (out, &map, GST_MAP_READ);
  for (guint i = 0; i < sizeof (noisy); i++)
    fail_unless (ABS ((gint) map.data[i] - (i % 64 < 32 ? 60 : 180)) <= 1,
        "%u: %u", i, map.data[i]);
  gst_buffer_unmap (out, &map);
  gst_buffer_unref (out);
  gst_harness_teardown (h);
}

GST_END_TEST;

/* What changes no sample passes buffers as they are. */
GST_START_TEST (test_identities)
{
  static const gchar *const launches[] = {
    "videoconvolve filter=diffuse threshold=0",
    "videoconvolve filter=diffuse amount=0",
    "videoconvolve filter=diffuse amount=-3",
    "videoconvolve filter=detail amount=0",
    "videoconvolve filter=detail detail-gains=<1>",
    "videoconvolve filter=detail levels=3 detail-gains=<1,1,1,9>",
  };

  for (guint i = 0; i < G_N_ELEMENTS (launches); i++) {
    GstHarness *h = element_harness (launches[i], GREY);
    GstBuffer *in = filled_buffer (64 * 40, 9, 0);
    GstBuffer *out = filter_one (h, gst_buffer_ref (in));

    fail_unless (out == in, "%s", launches[i]);
    gst_buffer_unref (in);
    gst_buffer_unref (out);
    gst_harness_teardown (h);
  }
}

GST_END_TEST;

static gchar *
gains_of (GstHarness * h)
{
  GValue value = G_VALUE_INIT;
  gchar *text;

  g_object_get_property (G_OBJECT (h->element), "detail-gains", &value);
  text = gst_value_serialize (&value);
  g_value_unset (&value);
  return text;
}

GST_START_TEST (test_gains_refused)
{
  static const struct
  {
    const gchar *gains, *reason;
  } bad[] = {
    {"<1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17>",
        "there are 17 gains, more than 16"},
    {"<1,abc>", "column 2 is not a number"},
    {"<1,2000000>", "larger than 1000000"},
    {"<<1,2>>", "column 1 is not a number"},
  };
  GstHarness *h = element_harness ("videoconvolve filter=detail "
      "detail-gains=<2,1>", GREY);
  GstBus *bus = bus_of (h);
  gchar *text;

  for (guint i = 0; i < G_N_ELEMENTS (bad); i++) {
    gchar *copy = g_strdup (bad[i].gains);

    gst_util_set_object_arg (G_OBJECT (h->element), "detail-gains", copy);
    g_free (copy);
    assert_message (bus, GST_MESSAGE_WARNING, GST_LIBRARY_ERROR,
        GST_LIBRARY_ERROR_SETTINGS, bad[i].reason);
    text = gains_of (h);
    fail_unless_equals_string (text, "< (double)2, (double)1 >");
    g_free (text);
  }
  gst_buffer_unref (filter_one (h, filled_buffer (64 * 40, 9, 0)));
  gst_util_set_object_arg (G_OBJECT (h->element), "detail-gains", "<>");
  text = gains_of (h);
  fail_unless_equals_string (text, "<  >");
  g_free (text);
  assert_no_message (bus, GST_MESSAGE_WARNING | GST_MESSAGE_ERROR);
  bus_done (h, bus);
  gst_harness_teardown (h);
}

GST_END_TEST;

/* A method that a filter cannot have is an error with a reason. */
GST_START_TEST (test_methods_refused)
{
  static const struct
  {
    const gchar *launch, *reason;
  } bad[] = {
    {"videoconvolve filter=detail method=direct", "but a pyramid"},
    {"videoconvolve filter=diffuse method=separable", "not a weighted sum"},
    {"videoconvolve filter=diffuse method=lowrank", "not a weighted sum"},
    {"videoconvolve filter=box method=pyramid", "detail and gaussian can be"},
    {"videoconvolve sigma=5 method=pyramid", "more than 10 pixels"},
    {"videoconvolve filter=disk radius=20 method=lowrank",
        "not a sum of few products"},
  };

  for (guint i = 0; i < G_N_ELEMENTS (bad); i++) {
    GstHarness *h = element_harness (bad[i].launch, NULL);
    GstBus *bus = bus_of (h);

    gst_harness_set_src_caps_str (h, GREY);
    fail_unless_equals_int (gst_harness_push (h, filled_buffer (64 * 40, 9,
                0)), GST_FLOW_NOT_NEGOTIATED);
    assert_message (bus, GST_MESSAGE_ERROR, GST_LIBRARY_ERROR,
        GST_LIBRARY_ERROR_SETTINGS, bad[i].reason);
    bus_done (h, bus);
    gst_harness_teardown (h);
  }
}

GST_END_TEST;

/* The plan tells the method and why it is that one. */
GST_START_TEST (test_plan_tells_why)
{
  static const struct
  {
    const gchar *launch, *why;
  } plans[] = {
    {"videoconvolve backend=cpu filter=box radius=4",
        "separable 9x9 (cost 18, direct 81)"},
    {"videoconvolve backend=cpu filter=box radius=4 method=direct",
        "direct 9x9 (method=direct, cost 81)"},
    {"videoconvolve backend=cpu filter=disk radius=1", "direct 3x3 (cost 9)"},
    {"videoconvolve backend=cpu filter=motion radius=20 angle=45", "(cost "},
    {"videoconvolve backend=cpu filter=detail levels=3", "pyramid of 3 levels"},
    {"videoconvolve backend=cpu filter=diffuse", "diffusion of direct 3x3"},
  };

  for (guint i = 0; i < G_N_ELEMENTS (plans); i++) {
    GstHarness *h = element_harness (plans[i].launch, GREY);
    gchar *plan;

    gst_buffer_unref (filter_one (h, filled_buffer (64 * 40, 9, 0)));
    g_object_get (h->element, "plan", &plan, NULL);
    fail_unless (strstr (plan, plans[i].why) != NULL, "%s", plan);
    g_free (plan);
    gst_harness_teardown (h);
  }
}

GST_END_TEST;

static Suite *
stencils_suite (void)
{
  Suite *s = suite_create ("stencils");
  TCase *tc = tcase_create ("stencils");

  suite_add_tcase (s, tc);
  tcase_add_test (tc, test_detail);
  tcase_add_test (tc, test_more_gains_than_levels);
  tcase_add_test (tc, test_detail_in_motion);
  tcase_add_test (tc, test_diffuse);
  tcase_add_test (tc, test_diffuse_keeps_edges);
  tcase_add_test (tc, test_identities);
  tcase_add_test (tc, test_gains_refused);
  tcase_add_test (tc, test_methods_refused);
  tcase_add_test (tc, test_plan_tells_why);
  return s;
}

GST_CHECK_MAIN (stencils);
