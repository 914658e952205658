/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Filters across frames: what begins and ends a stream, latency, order, and
 * what the element holds on to. Runs on the
 * plugin as it is, and on the one with three frames in flight. */
#include "pictures.h"

#include <string.h>

#define GREY_CAPS "video/x-raw,format=GRAY8,width=8,height=4,framerate=25/1"
#define FRAME (40 * GST_MSECOND)
#define MAX_FRAMES 12

/* ---- flat frames ---- */

static GstHarness *
mean_of_three (const gchar * more)
{
  gchar *launch = g_strdup_printf ("videoconvolve filter=identity "
      "kernel-t=<1,1,1> %s", more);
  GstHarness *h = element_harness (launch, GREY_CAPS);

  g_free (launch);
  return h;
}

static GstBuffer *
marked (GstBuffer * buffer, guint flags)
{
  GST_BUFFER_FLAG_SET (buffer, flags);
  return buffer;
}

static void
push (GstHarness * h, GstBuffer * buffer)
{
  fail_unless_equals_int (gst_harness_push (h, buffer), GST_FLOW_OK);
}

/* Frame n of 25 a second, with those values, and nothing else. */
static void
assert_frames (GstHarness * h, guint n, const guint8 * values,
    const guint * numbers)
{
  fail_unless_equals_int (gst_harness_buffers_in_queue (h), n);
  for (guint i = 0; i < n; i++) {
    GstBuffer *buffer = gst_harness_pull (h);

    fail_unless_equals_uint64 (GST_BUFFER_PTS (buffer), numbers[i] * FRAME);
    assert_filled (buffer, values[i]);
  }
}

static const gchar *
backend_of (GstHarness * h)
{
  GstStructure *stats;
  const gchar *backend;

  g_object_get (h->element, "stats", &stats, NULL);
  backend = g_intern_string (gst_structure_get_string (stats, "backend"));
  gst_structure_free (stats);
  return backend;
}

static guint
depth_of (GstHarness * h)
{
  guint depth;

  g_object_get (h->element, "frames-in-flight", &depth, NULL);
  return depth;
}

/* The end of the stream gives what waited. */
GST_START_TEST (test_end)
{
  GstHarness *h = mean_of_three ("");

  for (guint i = 0; i < 4; i++)
    push (h, filled_buffer (32, 30 * i, i));
  fail_unless_equals_int (gst_harness_buffers_in_queue (h), 4 - depth_of (h));
  fail_unless (gst_harness_push_event (h, gst_event_new_eos ()));
  assert_frames (h, 4, (const guint8[]) {
        10, 30, 60, 80
      }, (const guint[]) {
        0, 1, 2, 3
      });
  gst_harness_teardown (h);
}

GST_END_TEST;

/* So does the end of a segment, before the event: a player that loops may wait
 * for it and send nothing. What comes then is another stream. */
GST_START_TEST (test_end_of_segment)
{
  GstHarness *h = mean_of_three ("");

  for (guint i = 0; i < 4; i++)
    push (h, filled_buffer (32, 30 * i, i));
  fail_unless (gst_harness_push_event (h,
          gst_event_new_segment_done (GST_FORMAT_TIME, 4 * FRAME)));
  fail_unless_equals_int (gst_harness_buffers_in_queue (h), 4);
  push (h, filled_buffer (32, 6, 4));
  push (h, filled_buffer (32, 9, 5));
  fail_unless (gst_harness_push_event (h, gst_event_new_eos ()));
  assert_frames (h, 6, (const guint8[]) {
        10, 30, 60, 80, 7, 8
      }, (const guint[]) {
        0, 1, 2, 3, 4, 5
      });
  gst_harness_teardown (h);
}

GST_END_TEST;

/* A discontinuity, other caps, and a gap end one stream and begin another. */
GST_START_TEST (test_new_streams)
{
  GstHarness *h = mean_of_three ("");

  push (h, filled_buffer (32, 90, 0));
  push (h, filled_buffer (32, 30, 1));
  push (h, marked (filled_buffer (32, 6, 2), GST_BUFFER_FLAG_DISCONT));
  push (h, filled_buffer (32, 9, 3));
  fail_unless (gst_harness_push_event (h, gst_event_new_gap (4 * FRAME,
              FRAME)));
  push (h, filled_buffer (32, 60, 5));
  push (h, filled_buffer (32, 120, 6));
  gst_harness_set_src_caps_str (h, "video/x-raw,format=GRAY8,width=4,height=2,"
      "framerate=25/1");
  push (h, filled_buffer (8, 200, 7));
  push (h, filled_buffer (8, 203, 8));
  fail_unless (gst_harness_push_event (h, gst_event_new_eos ()));
  assert_frames (h, 8, (const guint8[]) {
        70, 50, 7, 8, 80, 100, 201, 202
      }, (const guint[]) {
        0, 1, 2, 3, 5, 6, 7, 8
      });
  gst_harness_teardown (h);
}

GST_END_TEST;

static void
push_segment (GstHarness * h, GstClockTime start)
{
  GstSegment segment;

  gst_segment_init (&segment, GST_FORMAT_TIME);
  segment.start = segment.time = start;
  fail_unless (gst_harness_push_event (h, gst_event_new_segment (&segment)));
}

/* A segment after which time goes on is no end, and comes out in its place. */
GST_START_TEST (test_segments)
{
  GstHarness *h = mean_of_three ("");

  push (h, filled_buffer (32, 90, 0));
  push (h, filled_buffer (32, 30, 1));
  push_segment (h, FRAME);
  push (h, filled_buffer (32, 60, 2));
  push (h, filled_buffer (32, 60, 3));
  push_segment (h, 0);
  push (h, filled_buffer (32, 200, 0));
  push (h, filled_buffer (32, 203, 1));
  fail_unless (gst_harness_push_event (h, gst_event_new_eos ()));
  assert_frames (h, 6, (const guint8[]) {
        70, 60, 50, 60, 201, 202
      }, (const guint[]) {
        0, 1, 2, 3, 0, 1
      });
  gst_harness_teardown (h);
}

GST_END_TEST;

/* A flush takes what waits, and what was kept, but no sticky event. */
GST_START_TEST (test_flush)
{
  GstHarness *h = mean_of_three ("");
  GstEvent *event;
  gboolean tags = FALSE;

  push (h, filled_buffer (32, 90, 0));
  push (h, filled_buffer (32, 30, 1));
  fail_unless (gst_harness_push_event (h, gst_event_new_tag
          (gst_tag_list_new (GST_TAG_TITLE, "waits", NULL))));
  fail_unless (gst_harness_push_event (h, gst_event_new_flush_start ()));
  fail_unless (gst_harness_push_event (h, gst_event_new_flush_stop (TRUE)));
  while (gst_harness_buffers_in_queue (h) > 0)
    gst_buffer_unref (gst_harness_pull (h));
  while ((event = gst_harness_try_pull_event (h))) {
    tags |= GST_EVENT_TYPE (event) == GST_EVENT_TAG;
    gst_event_unref (event);
  }
  fail_unless (tags);
  push_segment (h, 0);
  push (h, filled_buffer (32, 6, 8));
  push (h, filled_buffer (32, 9, 9));
  fail_unless (gst_harness_push_event (h, gst_event_new_eos ()));
  assert_frames (h, 2, (const guint8[]) {
        7, 8
      }, (const guint[]) {
        8, 9
      });
  gst_harness_teardown (h);
}

GST_END_TEST;

/* ---- order ---- */

static GstPadProbeReturn
note_order (GstPad * pad, GstPadProbeInfo * info, gpointer order)
{
  GstEvent *event = GST_PAD_PROBE_INFO_EVENT (info);

  if (info->type & GST_PAD_PROBE_TYPE_BUFFER)
    g_string_append_printf (order, " %u", (guint)
        (GST_BUFFER_PTS (GST_PAD_PROBE_INFO_BUFFER (info)) / FRAME));
  else if (GST_EVENT_TYPE (event) == GST_EVENT_TAG
      || GST_EVENT_TYPE (event) == GST_EVENT_CUSTOM_DOWNSTREAM
      || GST_EVENT_TYPE (event) == GST_EVENT_EOS)
    g_string_append_printf (order, " %s", GST_EVENT_TYPE_NAME (event));
  return GST_PAD_PROBE_OK;
}

/* Events come out between the frames between which they came. */
GST_START_TEST (test_order)
{
  GstHarness *h = mean_of_three ("");
  GstPad *pad = gst_element_get_static_pad (h->element, "src");
  GString *order = g_string_new (NULL);

  gst_pad_add_probe (pad, GST_PAD_PROBE_TYPE_BUFFER |
      GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM, note_order, order, NULL);
  for (guint i = 0; i < 6; i++) {
    push (h, filled_buffer (32, i, i));
    if (i == 1)
      gst_harness_push_event (h, gst_event_new_tag
          (gst_tag_list_new (GST_TAG_TITLE, "one", NULL)));
    if (i == 3)
      gst_harness_push_event (h, gst_event_new_custom
          (GST_EVENT_CUSTOM_DOWNSTREAM, gst_structure_new_empty ("three")));
  }
  gst_harness_push_event (h, gst_event_new_eos ());
  fail_unless_equals_string (order->str,
      " 0 1 tag 2 3 custom-downstream 4 5 eos");
  g_string_free (order, TRUE);
  gst_object_unref (pad);
  gst_harness_teardown (h);
}

GST_END_TEST;

/* What a frame carries stays with it. */
GST_START_TEST (test_metas)
{
  GstHarness *h = mean_of_three ("");

  for (guint i = 0; i < 4; i++) {
    GstBuffer *buffer = filled_buffer (32, 9, i);

    gst_buffer_add_video_region_of_interest_meta (buffer, "face", i, 0, 1, 1);
    if (i == 2)
      GST_BUFFER_FLAG_SET (buffer, GST_BUFFER_FLAG_MARKER);
    GST_BUFFER_OFFSET (buffer) = 100 + i;
    push (h, buffer);
  }
  gst_harness_push_event (h, gst_event_new_eos ());
  for (guint i = 0; i < 4; i++) {
    GstBuffer *buffer = gst_harness_pull (h);
    GstVideoRegionOfInterestMeta *meta = (GstVideoRegionOfInterestMeta *)
        gst_buffer_get_meta (buffer,
        GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE);

    fail_unless (meta != NULL);
    fail_unless_equals_int (meta->x, i);
    fail_unless_equals_int (GST_BUFFER_FLAG_IS_SET (buffer,
            GST_BUFFER_FLAG_MARKER), i == 2);
    fail_unless_equals_uint64 (GST_BUFFER_OFFSET (buffer), 100 + i);
    fail_unless_equals_uint64 (GST_BUFFER_DURATION (buffer), FRAME);
    assert_filled (buffer, 9);
  }
  gst_harness_teardown (h);
}

GST_END_TEST;

/* Regions are those of the frame that is written. */
GST_START_TEST (test_regions)
{
  GstHarness *h = mean_of_three ("roi-mode=inside");
  guint8 expected[32];

  for (guint i = 0; i < 3; i++) {
    GstBuffer *buffer = filled_buffer (32, 30 * i, i);

    if (i == 1)
      gst_buffer_add_video_region_of_interest_meta (buffer, "a", 2, 1, 3, 2);
    push (h, buffer);
  }
  gst_harness_push_event (h, gst_event_new_eos ());
  assert_filled (gst_harness_pull (h), 0);
  memset (expected, 30, sizeof (expected));
  assert_grey (gst_harness_pull (h), 8, 4, expected);
  assert_filled (gst_harness_pull (h), 60);
  gst_harness_teardown (h);
}

GST_END_TEST;

/* ---- what is held ---- */

static void
note_freed (gpointer n_alive, GstMiniObject * object)
{
  (*(gint *) n_alive)--;
}

/* A decoder gets each of its buffers back before it needs the next one. */
GST_START_TEST (test_buffers_given_back)
{
  GstHarness *h = mean_of_three ("");
  gint n_alive = 0;

  gst_util_set_object_arg (G_OBJECT (h->element), "kernel-t",
      "<1,1,1,1,1,1,1,1,1,1,1>");
  for (guint i = 0; i < 20; i++) {
    GstBuffer *buffer = filled_buffer (32, 9, i);

    n_alive++;
    gst_mini_object_weak_ref (GST_MINI_OBJECT (gst_buffer_peek_memory (buffer,
                0)), note_freed, &n_alive);
    push (h, buffer);
    fail_unless_equals_int (n_alive, 0);
  }
  gst_harness_push_event (h, gst_event_new_eos ());
  fail_unless_equals_int (gst_harness_buffers_in_queue (h), 20);
  gst_harness_teardown (h);
}

GST_END_TEST;

/* ---- late frames ---- */

/* They are seen by others, but do not come out. */
GST_START_TEST (test_late)
{
  GstHarness *h = mean_of_three ("");
  GstBuffer *buffer;

  push (h, filled_buffer (32, 0, 0));
  push (h, filled_buffer (32, 30, 1));
  gst_harness_push_upstream_event (h, gst_event_new_qos
      (GST_QOS_TYPE_UNDERFLOW, 2.0, 0, 3 * FRAME));
  push (h, filled_buffer (32, 90, 2));  /* late */
  push (h, filled_buffer (32, 60, 3));  /* late */
  push (h, filled_buffer (32, 120, 4));
  push (h, filled_buffer (32, 150, 5));
  gst_harness_push_event (h, gst_event_new_eos ());
  fail_unless_equals_int (gst_harness_buffers_in_queue (h), 4);
  assert_filled (gst_harness_pull (h), 10);
  buffer = gst_harness_pull (h);
  fail_unless (!GST_BUFFER_FLAG_IS_SET (buffer, GST_BUFFER_FLAG_DISCONT));
  assert_filled (buffer, 40);   /* sees frame 2 */
  buffer = gst_harness_pull (h);
  fail_unless_equals_uint64 (GST_BUFFER_PTS (buffer), 4 * FRAME);
  fail_unless (GST_BUFFER_FLAG_IS_SET (buffer, GST_BUFFER_FLAG_DISCONT));
  assert_filled (buffer, 110);  /* sees frame 3 */
  buffer = gst_harness_pull (h);
  fail_unless (!GST_BUFFER_FLAG_IS_SET (buffer, GST_BUFFER_FLAG_DISCONT));
  assert_filled (buffer, 140);
  gst_harness_teardown (h);
}

GST_END_TEST;

/* ---- faults ---- */

/* The device is lost, and with it what was kept: the CPU goes on with the next
 * frame, which is a discontinuity, and events are not lost. */
GST_START_TEST (test_fault)
{
  static const gchar *const faults[] = { "store:3", "process:2", "wait:2" };

  for (guint i = 0; i < G_N_ELEMENTS (faults); i++) {
    GstHarness *h;
    GstBus *bus;
    GstEvent *event;
    gboolean tags = FALSE;
    guint n = 0;

    g_setenv ("FAKE_CUDA_FAIL", faults[i], TRUE);
    h = mean_of_three ("");
    bus = bus_of (h);
    for (guint k = 0; k < 9; k++) {
      push (h, filled_buffer (32, 9, k));
      if (k == 1)
        gst_harness_push_event (h, gst_event_new_tag
            (gst_tag_list_new (GST_TAG_TITLE, "one", NULL)));
    }
    gst_harness_push_event (h, gst_event_new_eos ());
    while (gst_harness_buffers_in_queue (h) > 0) {
      assert_filled (gst_harness_pull (h), 9);
      n++;
    }
    while ((event = gst_harness_try_pull_event (h))) {
      tags |= GST_EVENT_TYPE (event) == GST_EVENT_TAG;
      gst_event_unref (event);
    }
    fail_unless (tags);
    if (g_str_equal (backend_of (h), "cpu") && n < 9)
      assert_message (bus, GST_MESSAGE_WARNING, GST_RESOURCE_ERROR,
          GST_RESOURCE_ERROR_FAILED, "the CPU goes on");
    fail_unless (n >= 4, "%s: %u frames", faults[i], n);
    assert_no_message (bus, GST_MESSAGE_WARNING | GST_MESSAGE_ERROR);
    bus_done (h, bus);
    gst_harness_teardown (h);
    g_unsetenv ("FAKE_CUDA_FAIL");
  }
}

GST_END_TEST;

/* ---- latency ---- */

GST_START_TEST (test_latency)
{
  static const struct
  {
    const gchar *taps, *mode;
    guint frames;
  } cases[] = {
    {"<1,1,1>", "centered", 1}, {"<1,1,1,1>", "centered", 2},
    {"<1,1,1,1,1>", "causal", 0}, {"<1,1>", "centered", 1},
    {"<>", "centered", 0}, {"<1,2,3,2,1>", "centered", 2},
  };
  GstHarness *h = element_harness ("videoconvolve filter=box radius=1",
      GREY_CAPS);
  GstBus *bus = bus_of (h);
  guint in_flight = depth_of (h) - 1, before = G_MAXUINT;

  gst_harness_set_upstream_latency (h, 20 * GST_MSECOND);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    GstMessage *message;

    gst_util_set_object_arg (G_OBJECT (h->element), "kernel-t", cases[i].taps);
    gst_util_set_object_arg (G_OBJECT (h->element), "temporal-mode",
        cases[i].mode);
    push (h, filled_buffer (32, 9, i));
    fail_unless_equals_uint64 (gst_harness_query_latency (h),
        20 * GST_MSECOND + (cases[i].frames + in_flight) * FRAME);
    message = gst_bus_pop_filtered (bus, GST_MESSAGE_LATENCY);
    fail_unless_equals_int (message != NULL, cases[i].frames != before
        && (i > 0 || cases[i].frames + in_flight > 0));
    if (message != NULL)
      gst_message_unref (message);
    before = cases[i].frames;
  }
  gst_harness_push_event (h, gst_event_new_eos ());
  fail_unless_equals_int (gst_harness_buffers_in_queue (h),
      G_N_ELEMENTS (cases));
  while (gst_harness_buffers_in_queue (h) > 0)
    assert_filled (gst_harness_pull (h), 9);
  bus_done (h, bus);
  gst_harness_teardown (h);
}

GST_END_TEST;

/* ---- changes ---- */

/* A frame is filtered as properties said when it came, and no frame is lost
 * where windows become longer, shorter, or none. */
GST_START_TEST (test_changes)
{
  static const gchar *const taps[] = { "<1,1,1>", "<1,1,1,1,1,1,1>", "<1,1>",
    "<>", "<1>", "<1,1,1,1,1>", "<0,0,1>", "<>", "<1,1,1>"
  };
  GstHarness *h = mean_of_three ("");
  guint n = 0;

  for (guint i = 0; i < G_N_ELEMENTS (taps); i++) {
    gst_util_set_object_arg (G_OBJECT (h->element), "kernel-t", taps[i]);
    if (i == 6)
      gst_util_set_object_arg (G_OBJECT (h->element), "filter", "box");
    for (guint k = 0; k < 4; k++, n++)
      push (h, filled_buffer (32, 77, n));
  }
  gst_harness_push_event (h, gst_event_new_eos ());
  fail_unless_equals_int (gst_harness_buffers_in_queue (h), n);
  for (guint i = 0; i < n; i++) {
    GstBuffer *buffer = gst_harness_pull (h);

    fail_unless_equals_uint64 (GST_BUFFER_PTS (buffer), i * FRAME);
    assert_filled (buffer, 77);
  }
  gst_harness_teardown (h);
}

GST_END_TEST;

/* The value of scale belongs to a frame, not to when it is filtered. */
GST_START_TEST (test_values_of_a_frame)
{
  GstHarness *h = mean_of_three ("");

  for (guint i = 0; i < 4; i++) {
    g_object_set (h->element, "scale", 1.0 + i, NULL);
    push (h, filled_buffer (32, 10, i));
  }
  gst_harness_push_event (h, gst_event_new_eos ());
  assert_frames (h, 4, (const guint8[]) {
        10, 20, 30, 40
      }, (const guint[]) {
        0, 1, 2, 3
      });
  gst_harness_teardown (h);
}

GST_END_TEST;

/* Where each buffer is one field it sees fields of its own kind. */
GST_START_TEST (test_alternating_fields)
{
  GstHarness *h = element_harness ("videoconvolve filter=identity "
      "kernel-t=<1,1,1>", "video/x-raw(format:Interlaced),format=GRAY8,width=8,"
      "height=8,framerate=25/1,interlace-mode=alternate");
  static const guint8 values[] = { 30, 200, 60, 210, 90, 220 };
  static const guint8 expected[] = { 40, 203, 60, 210, 80, 217 };

  for (guint i = 0; i < G_N_ELEMENTS (values); i++)
    push (h, marked (filled_buffer (32, values[i], i), i % 2 == 0 ?
            GST_VIDEO_BUFFER_FLAG_TOP_FIELD :
            GST_VIDEO_BUFFER_FLAG_BOTTOM_FIELD));
  gst_harness_push_event (h, gst_event_new_eos ());
  fail_unless_equals_int (gst_harness_buffers_in_queue (h),
      G_N_ELEMENTS (values));
  for (guint i = 0; i < G_N_ELEMENTS (values); i++)
    assert_filled (gst_harness_pull (h), expected[i]);
  gst_harness_teardown (h);
}

GST_END_TEST;

static Suite *
window_suite (void)
{
  Suite *suite = suite_create ("window");
  TCase *tc = tcase_create ("window");

  suite_add_tcase (suite, tc);
  tcase_add_test (tc, test_end);
  tcase_add_test (tc, test_end_of_segment);
  tcase_add_test (tc, test_new_streams);
  tcase_add_test (tc, test_segments);
  tcase_add_test (tc, test_flush);
  tcase_add_test (tc, test_order);
  tcase_add_test (tc, test_metas);
  tcase_add_test (tc, test_regions);
  tcase_add_test (tc, test_buffers_given_back);
  tcase_add_test (tc, test_late);
  tcase_add_test (tc, test_fault);
  tcase_add_test (tc, test_latency);
  tcase_add_test (tc, test_changes);
  tcase_add_test (tc, test_values_of_a_frame);
  tcase_add_test (tc, test_alternating_fields);
  return suite;
}

GST_CHECK_MAIN (window);
