/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A frame that takes minutes ends at once when somebody flushes or stops. Runs
 * on the plugin as it is, and on the one with three frames in flight. */
#include "elementtest.h"

#include <string.h>

/* A frame of any of these takes more than ten seconds of a fast core; on the
 * simulated device, which is told to take small pieces, one of the others. A
 * GPU ends no block of a kernel early: one of the largest matrix takes it some
 * seconds, of one of half the sides a fourth of that. */
#define N_FILTERS 4
typedef struct
{
  const gchar *caps;
  gsize bytes;
  const gchar *filters[N_FILTERS];
} Work;

static const Work works[] = {
  {"video/x-raw,format=GRAY8,width=1920,height=1080,framerate=25/1",
        1920 * 1080, {
              "filter=disk radius=1024",
              "filter=gaussian sigma=200 method=direct",
              "filter=disk radius=150 iterations=8",
          "filter=gaussian sigma=300 iterations=200"}},
  {"video/x-raw,format=GRAY8,width=1920,height=1080,framerate=25/1",
        1920 * 1080, {
              "filter=disk radius=512",
              "filter=gaussian sigma=200 method=direct",
              "filter=disk radius=150 iterations=8",
          "filter=gaussian sigma=300 iterations=1024"}},
  {"video/x-raw,format=GRAY8,width=160,height=120,framerate=25/1", 160 * 120, {
              "filter=disk radius=80",
              "filter=gaussian sigma=20 method=direct",
              "filter=disk radius=30 iterations=16",
          "filter=gaussian sigma=20 iterations=200"}},
};

static const Work *
work (void)
{
  if (g_getenv ("CONVOLVE_CUDA_PIECE") != NULL)
    return &works[2];
  return &works[g_getenv ("ELEMENT_TEST_KEEPS_DEVICE") != NULL];
}

/* Long enough to be in the middle of it, and what counts as at once, on a busy
 * machine too. */
#define WAIT (G_USEC_PER_SEC / 5)
#define SOON (4 * G_USEC_PER_SEC)

typedef struct
{
  GstHarness *h;
  GstFlowReturn ret;
  gint done;
  GThread *thread;
} Pusher;

/* Frames until one is refused: with frames in flight the first ones wait. */
static gpointer
push_frames (gpointer data)
{
  Pusher *pusher = data;

  pusher->ret = GST_FLOW_OK;
  for (guint i = 0; pusher->ret == GST_FLOW_OK && i < 4; i++)
    pusher->ret = gst_harness_push (pusher->h, filled_buffer (work ()->bytes, 9,
            i));
  g_atomic_int_set (&pusher->done, TRUE);
  return NULL;
}

static void
start_pushing (Pusher * pusher, GstHarness * h)
{
  *pusher = (Pusher) {
  .h = h};
  pusher->thread = g_thread_new ("pusher", push_frames, pusher);
  g_usleep (WAIT);
  fail_if (g_atomic_int_get (&pusher->done), "the frame was done already");
}

static GstHarness *
large_harness (const gchar * filter)
{
  gchar *launch = g_strdup_printf ("videoconvolve %s", filter);
  GstHarness *h = element_harness (launch, work ()->caps);

  g_free (launch);
  return h;
}

/* As assert_filled, for pictures of millions of samples. */
static void
assert_large (GstBuffer * buffer, guint8 value)
{
  GstMapInfo map;

  fail_unless (buffer != NULL);
  fail_unless (gst_buffer_map (buffer, &map, GST_MAP_READ));
  fail_unless (map.size == work ()->bytes && map.data[0] == value
      && memcmp (map.data, map.data + 1, work ()->bytes - 1) == 0);
  gst_buffer_unmap (buffer, &map);
  gst_buffer_unref (buffer);
}

static void
assert_soon (gint64 since, const gchar * what)
{
  gint64 took = g_get_monotonic_time () - since;

  fail_unless (took < SOON, "%s took %" G_GINT64_FORMAT " us", what, took);
}

/* No frame comes of it and no message; and afterwards frames flow. */
GST_START_TEST (test_flush)
{
  GstHarness *h = large_harness (work ()->filters[__i__]);
  GstBus *bus = bus_of (h);
  GstSegment segment;
  Pusher pusher;
  gint64 start;

  start_pushing (&pusher, h);
  start = g_get_monotonic_time ();
  gst_harness_push_event (h, gst_event_new_flush_start ());
  g_thread_join (pusher.thread);
  fail_unless_equals_int (pusher.ret, GST_FLOW_FLUSHING);
  gst_harness_push_event (h, gst_event_new_flush_stop (TRUE));
  assert_soon (start, "flushing");
  fail_unless_equals_int (gst_harness_buffers_in_queue (h), 0);
  assert_no_message (bus, GST_MESSAGE_WARNING | GST_MESSAGE_ERROR);

  gst_util_set_object_arg (G_OBJECT (h->element), "filter", "box");
  g_object_set (h->element, "radius", 2, "iterations", 1, NULL);
  gst_util_set_object_arg (G_OBJECT (h->element), "method", "auto");
  gst_segment_init (&segment, GST_FORMAT_TIME);
  gst_harness_push_event (h, gst_event_new_segment (&segment));
  for (guint i = 0; i < 3; i++)
    fail_unless_equals_int (gst_harness_push (h, filled_buffer (work ()->bytes,
                20 + i, i)), GST_FLOW_OK);
  gst_harness_push_event (h, gst_event_new_eos ());
  for (guint i = 0; i < 3; i++)
    assert_large (gst_harness_pull (h), 20 + i);
  assert_no_message (bus, GST_MESSAGE_WARNING | GST_MESSAGE_ERROR);
  bus_done (h, bus);
  gst_harness_teardown (h);
}

GST_END_TEST;

/* The element is stopped, started again, and as good as new. */
GST_START_TEST (test_stop)
{
  GstHarness *h = large_harness (work ()->filters[__i__]);
  GstBus *bus = bus_of (h);
  Pusher pusher;
  gint64 start;

  start_pushing (&pusher, h);
  start = g_get_monotonic_time ();
  gst_element_set_state (h->element, GST_STATE_READY);
  assert_soon (start, "stopping");
  g_thread_join (pusher.thread);
  fail_unless_equals_int (pusher.ret, GST_FLOW_FLUSHING);
  fail_unless_equals_int (gst_harness_buffers_in_queue (h), 0);

  gst_util_set_object_arg (G_OBJECT (h->element), "filter", "box");
  g_object_set (h->element, "radius", 2, "iterations", 1, NULL);
  gst_util_set_object_arg (G_OBJECT (h->element), "method", "auto");
  gst_element_set_state (h->element, GST_STATE_PLAYING);
  gst_harness_set_src_caps_str (h, work ()->caps);
  gst_harness_push (h, filled_buffer (work ()->bytes, 7, 0));
  gst_harness_push_event (h, gst_event_new_eos ());
  assert_large (gst_harness_pull (h), 7);
  assert_no_message (bus, GST_MESSAGE_WARNING | GST_MESSAGE_ERROR);
  bus_done (h, bus);
  gst_harness_teardown (h);
}

GST_END_TEST;

/* A whole pipeline goes to NULL, and a flushing seek starts it anew. */
GST_START_TEST (test_pipeline)
{
  gchar *line = g_strdup_printf ("videotestsrc ! %s ! "
      "videoconvolve name=c %s ! fakesink sync=false", work ()->caps,
      work ()->filters[__i__]);
  GstElement *pipeline = gst_parse_launch (line, NULL);
  gint64 start;

  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  g_usleep (WAIT);
  start = g_get_monotonic_time ();
  gst_element_send_event (pipeline, gst_event_new_seek (1.0, GST_FORMAT_TIME,
          GST_SEEK_FLAG_FLUSH, GST_SEEK_TYPE_SET, GST_SECOND,
          GST_SEEK_TYPE_NONE, 0));
  assert_soon (start, "seeking");
  g_usleep (WAIT);
  start = g_get_monotonic_time ();
  gst_element_set_state (pipeline, GST_STATE_NULL);
  assert_soon (start, "stopping");
  gst_object_unref (pipeline);
  g_free (line);
}

GST_END_TEST;

static Suite *
interrupt_suite (void)
{
  Suite *s = suite_create ("interrupt");
  TCase *tc = tcase_create ("interrupt");

  suite_add_tcase (s, tc);
  tcase_add_loop_test (tc, test_flush, 0, N_FILTERS);
  tcase_add_loop_test (tc, test_stop, 0, N_FILTERS);
  tcase_add_loop_test (tc, test_pipeline, 0, N_FILTERS);
  return s;
}

GST_CHECK_MAIN (interrupt);
