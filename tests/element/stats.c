/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The property stats: what it says before, while and after frames are
 * filtered. */
#include "elementtest.h"

#define CAPS "video/x-raw,format=NV12,width=64,height=32,framerate=25/1"
#define FRAME_BYTES (64 * 32 * 3 / 2)
#define N_FRAMES 5

static GstStructure *
stats_of (GstHarness * h)
{
  GstStructure *stats = NULL;

  g_object_get (h->element, "stats", &stats, NULL);
  fail_unless (stats != NULL);
  return stats;
}

static guint64
number (const GstStructure * structure, const gchar * name)
{
  guint64 n = G_MAXUINT64;

  fail_unless (gst_structure_get_uint64 (structure, name, &n), "no %s", name);
  return n;
}

static void
push_frames (GstHarness * h)
{
  for (guint i = 0; i < N_FRAMES; i++)
    gst_buffer_unref (filter_one (h, filled_buffer (FRAME_BYTES, 9, i)));
}

static void
check_pass (const GstStructure * stats, guint i, gint width, gint height,
    guint64 bytes, guint64 multiply_adds)
{
  const GValue *passes = gst_structure_get_value (stats, "passes");
  const GstStructure *pass =
      gst_value_get_structure (gst_value_array_get_value (passes, i));
  guint plane;
  gint w, h, field;

  fail_unless (gst_structure_get (pass, "plane", G_TYPE_UINT, &plane, "field",
          G_TYPE_INT, &field, "width", G_TYPE_INT, &w, "height", G_TYPE_INT,
          &h, NULL));
  fail_unless_equals_int (plane, i);
  fail_unless_equals_int (field, -1);
  fail_unless_equals_int (w, width);
  fail_unless_equals_int (h, height);
  fail_unless_equals_uint64 (number (pass, "bytes-read"), bytes);
  fail_unless_equals_uint64 (number (pass, "bytes-written"), bytes);
  fail_unless_equals_uint64 (number (pass, "multiply-adds"), multiply_adds);
}

GST_START_TEST (test_numbers)
{
  GstHarness *h = element_harness ("videoconvolve filter=box radius=2 "
      "method=separable", CAPS);
  const guint64 work = 64 * 32 * 10 + 32 * 16 * 2 * 6;
  GstStructure *stats;
  gdouble bandwidth, arithmetic, kernel;

  push_frames (h);
  stats = stats_of (h);
  fail_unless_equals_uint64 (number (stats, "frames"), N_FRAMES);
  fail_unless_equals_uint64 (number (stats, "bytes-in"),
      N_FRAMES * FRAME_BYTES);
  fail_unless_equals_uint64 (number (stats, "bytes-moved"),
      2 * N_FRAMES * FRAME_BYTES);
  fail_unless_equals_uint64 (number (stats, "multiply-adds"), N_FRAMES * work);
  fail_unless_equals_int (gst_value_array_get_size (gst_structure_get_value
          (stats, "passes")), 2);
  check_pass (stats, 0, 64, 32, 64 * 32, 64 * 32 * 10);
  check_pass (stats, 1, 32, 16, 32 * 16 * 2, 32 * 16 * 2 * 6);
  kernel = number (stats, "kernel");
  fail_unless (kernel > 0);
  fail_unless (gst_structure_get (stats, "bandwidth", G_TYPE_DOUBLE,
          &bandwidth, "arithmetic", G_TYPE_DOUBLE, &arithmetic, NULL));
  fail_unless (ABS (bandwidth * kernel - 2 * N_FRAMES * FRAME_BYTES) < 1);
  fail_unless (ABS (arithmetic * kernel - N_FRAMES * work) < 1);
  gst_structure_free (stats);
  gst_harness_teardown (h);
}

GST_END_TEST;

/* The list is that of the filter that runs now, the sums are of all. */
GST_START_TEST (test_change)
{
  GstHarness *h = element_harness ("videoconvolve filter=box radius=1 "
      "method=direct", CAPS);
  GstStructure *stats;

  push_frames (h);
  set_text (h->element, "filter", "identity");
  push_frames (h);
  stats = stats_of (h);
  fail_unless_equals_uint64 (number (stats, "frames"), N_FRAMES);
  fail_unless_equals_uint64 (number (stats, "passed-through"), N_FRAMES);
  fail_unless_equals_int (gst_value_array_get_size (gst_structure_get_value
          (stats, "passes")), 0);
  gst_structure_free (stats);
  set_text (h->element, "filter", "laplacian");
  push_frames (h);
  stats = stats_of (h);
  check_pass (stats, 0, 64, 32, 64 * 32, 64 * 32 * 5);
  gst_structure_free (stats);
  gst_harness_teardown (h);
}

GST_END_TEST;

GST_START_TEST (test_before_and_after)
{
  GstElement *element = gst_element_factory_make ("videoconvolve", NULL);
  GstStructure *stats = NULL;
  gdouble bandwidth = -1;

  g_object_get (element, "stats", &stats, NULL);
  fail_unless (gst_structure_get_double (stats, "bandwidth", &bandwidth));
  fail_unless (bandwidth == 0);
  fail_unless_equals_int (gst_value_array_get_size (gst_structure_get_value
          (stats, "passes")), 0);
  gst_structure_free (stats);
  gst_element_set_state (element, GST_STATE_PAUSED);
  gst_element_set_state (element, GST_STATE_NULL);
  g_object_get (element, "stats", &stats, NULL);
  fail_unless_equals_uint64 (number (stats, "frames"), 0);
  gst_structure_free (stats);
  gst_object_unref (element);
}

GST_END_TEST;

static Suite *
stats_suite (void)
{
  Suite *s = suite_create ("stats");
  TCase *tc = tcase_create ("stats");

  suite_add_tcase (s, tc);
  tcase_add_test (tc, test_numbers);
  tcase_add_test (tc, test_change);
  tcase_add_test (tc, test_before_and_after);
  return s;
}

GST_CHECK_MAIN (stats);
