/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Latency, seeks, playing backwards, the end. Runs on the plugin as it is, and
 * on the one with three frames in flight. */
#include "elementtest.h"

#define GREY_CAPS "video/x-raw,format=GRAY8,width=8,height=4,framerate=25/1"
#define FRAME (40 * GST_MSECOND)

/* ---- pipelines ---- */

/* videotestsrc with the caps, and what follows. */
static GstElement *
pipeline_new (const gchar * source, const gchar * caps, const gchar * filter)
{
  const gchar *more = g_getenv ("ELEMENT_TEST_PROPERTIES");
  gchar *line = g_strdup_printf ("videotestsrc name=src %s ! %s ! "
      "videoconvolve name=convolve %s %s ! fakesink name=sink sync=false "
      "signal-handoffs=true", source, caps, more != NULL ? more : "", filter);
  GstElement *pipeline = gst_parse_launch (line, NULL);

  fail_unless (pipeline != NULL, "%s", line);
  g_free (line);
  return pipeline;
}

static GstMessage *
wait_for (GstElement * pipeline, GstMessageType type)
{
  GstBus *bus = gst_element_get_bus (pipeline);
  GstMessage *message = gst_bus_timed_pop_filtered (bus, 20 * GST_SECOND,
      type | GST_MESSAGE_ERROR);

  fail_unless (message != NULL);
  fail_unless (GST_MESSAGE_TYPE (message) & type, "%s",
      GST_MESSAGE_TYPE_NAME (message));
  gst_object_unref (bus);
  return message;
}

static void
pause (GstElement * pipeline)
{
  fail_if (gst_element_set_state (pipeline, GST_STATE_PAUSED) ==
      GST_STATE_CHANGE_FAILURE);
  fail_if (gst_element_get_state (pipeline, NULL, NULL, 20 * GST_SECOND) ==
      GST_STATE_CHANGE_FAILURE);
}

static void
stop (GstElement * pipeline)
{
  gst_element_set_state (pipeline, GST_STATE_NULL);
  gst_object_unref (pipeline);
}

/* Timestamps of the frames that reach the sink, plus 1: 0 is no pointer. */
static void
note_time (GstElement * sink, GstBuffer * buffer, GstPad * pad, gpointer data)
{
  g_async_queue_push (data, GSIZE_TO_POINTER (GST_BUFFER_PTS (buffer) + 1));
}

static GAsyncQueue *
watch_times (GstElement * pipeline)
{
  GAsyncQueue *times = g_async_queue_new ();
  GstElement *sink = gst_bin_get_by_name (GST_BIN (pipeline), "sink");

  g_signal_connect (sink, "handoff", G_CALLBACK (note_time), times);
  gst_object_unref (sink);
  return times;
}

/* The next one, or GST_CLOCK_TIME_NONE if none comes. */
static GstClockTime
next_time (GAsyncQueue * times)
{
  gpointer time = g_async_queue_timeout_pop (times, 10 * G_USEC_PER_SEC);

  return time == NULL ? GST_CLOCK_TIME_NONE : GPOINTER_TO_SIZE (time) - 1;
}

/* Frames begin .. begin + n - 1, and none after them. */
static void
assert_times (GAsyncQueue * times, guint begin, guint n)
{
  for (guint i = 0; i < n; i++)
    fail_unless_equals_uint64 (next_time (times), (begin + i) * FRAME);
  fail_unless_equals_int (g_async_queue_length (times), 0);
}

static void
forget_times (GAsyncQueue * times)
{
  while (g_async_queue_try_pop (times) != NULL);
}

/* ---- latency ---- */

static GstClockTime
query_latency (GstElement * pipeline, gboolean live)
{
  GstElement *sink = gst_bin_get_by_name (GST_BIN (pipeline), "sink");
  GstPad *pad = gst_element_get_static_pad (sink, "sink");
  GstQuery *query = gst_query_new_latency ();
  GstClockTime lo, hi;
  gboolean is_live;

  fail_unless (gst_pad_peer_query (pad, query));
  gst_query_parse_latency (query, &is_live, &lo, &hi);
  fail_unless_equals_int (is_live, live);
  fail_unless (hi >= lo);
  gst_query_unref (query);
  gst_object_unref (pad);
  gst_object_unref (sink);
  return lo;
}

/* A message says that the answer is another one now: the sink or the source may
 * have said so before, too. */
static void
wait_for_latency (GstElement * pipeline, GstClockTime latency)
{
  do {
    gst_message_unref (wait_for (pipeline, GST_MESSAGE_LATENCY));
  } while (query_latency (pipeline, TRUE) != latency);
}

/* n frames in flight add n - 1 to the one that videotestsrc says. */
GST_START_TEST (test_latency)
{
  static const guint depths[] = { 1, 2, 3, 8 };

  for (guint live = 0; live < 2; live++) {
    for (guint i = 0; i < G_N_ELEMENTS (depths); i++) {
      gchar *filter = g_strdup_printf ("filter=box frames-in-flight=%u",
          depths[i]);
      GstElement *pipeline = pipeline_new (live ? "is-live=true" : "",
          GREY_CAPS, filter);

      gst_element_set_state (pipeline, GST_STATE_PLAYING);
      gst_message_unref (wait_for (pipeline, GST_MESSAGE_ASYNC_DONE));
      fail_unless_equals_uint64 (query_latency (pipeline, live),
          depths[i] * FRAME);
      stop (pipeline);
      g_free (filter);
    }
  }
}

GST_END_TEST;

/* A change while playing is told by a message, and the answer is new then. */
GST_START_TEST (test_latency_changes)
{
  GstElement *pipeline = pipeline_new ("is-live=true", GREY_CAPS,
      "filter=box frames-in-flight=1");
  GstElement *element = gst_bin_get_by_name (GST_BIN (pipeline), "convolve");

  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  gst_message_unref (wait_for (pipeline, GST_MESSAGE_ASYNC_DONE));
  fail_unless_equals_uint64 (query_latency (pipeline, TRUE), FRAME);
  g_object_set (element, "frames-in-flight", 4, NULL);
  wait_for_latency (pipeline, 4 * FRAME);
  /* Passed through, nothing waits. */
  gst_util_set_object_arg (G_OBJECT (element), "filter", "identity");
  wait_for_latency (pipeline, FRAME);
  gst_object_unref (element);
  stop (pipeline);
}

GST_END_TEST;

/* With no frame rate nobody could tell how long a frame waits: none does. */
GST_START_TEST (test_latency_with_no_rate)
{
  GstHarness *h = element_harness ("videoconvolve filter=box "
      "frames-in-flight=5", "video/x-raw,format=GRAY8,width=8,height=4,"
      "framerate=0/1");

  gst_harness_set_upstream_latency (h, 20 * GST_MSECOND);
  for (guint i = 0; i < 4; i++)
    assert_filled (filter_one (h, filled_buffer (32, i, i)), i);
  fail_unless_equals_uint64 (gst_harness_query_latency (h), 20 * GST_MSECOND);
  gst_harness_teardown (h);
}

GST_END_TEST;

/* Alternating fields come at twice the rate that the caps give of frames. */
GST_START_TEST (test_latency_of_fields)
{
  GstHarness *h = element_harness ("videoconvolve filter=box "
      "frames-in-flight=5", "video/x-raw(format:Interlaced),format=GRAY8,"
      "width=8,height=4,framerate=25/1,interlace-mode=alternate");

  gst_harness_set_upstream_latency (h, 20 * GST_MSECOND);
  fail_unless_equals_uint64 (gst_harness_query_latency (h), 100 * GST_MSECOND);
  gst_harness_teardown (h);
}

GST_END_TEST;

/* ---- seeks ---- */

static void
seek (GstElement * pipeline, gdouble rate, GstSeekFlags flags, guint from,
    guint to)
{
  fail_unless (gst_element_seek (pipeline, rate, GST_FORMAT_TIME, flags,
          GST_SEEK_TYPE_SET, from * FRAME, GST_SEEK_TYPE_SET, to * FRAME));
}

/* A loop: segments that follow upon each other, every frame of each. */
GST_START_TEST (test_segment_seeks)
{
  GstElement *pipeline = pipeline_new ("", GREY_CAPS, "filter=box");
  GAsyncQueue *times;

  pause (pipeline);
  times = watch_times (pipeline);
  seek (pipeline, 1, GST_SEEK_FLAG_FLUSH | GST_SEEK_FLAG_SEGMENT, 5, 15);
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  for (guint i = 0; i < 3; i++) {
    gst_message_unref (wait_for (pipeline, GST_MESSAGE_SEGMENT_DONE));
    /* The message does not wait for the frames, the segment's event does. */
    assert_times (times, 5, 10);
    if (i < 2)
      seek (pipeline, 1, GST_SEEK_FLAG_SEGMENT, 5, 15);
  }
  stop (pipeline);
  g_async_queue_unref (times);
}

GST_END_TEST;

static GstPadProbeReturn
note_segment (GstPad * pad, GstPadProbeInfo * info, gpointer data)
{
  GstEvent *event = GST_PAD_PROBE_INFO_EVENT (info);

  if (GST_EVENT_TYPE (event) == GST_EVENT_SEGMENT)
    gst_event_copy_segment (event, data);
  return GST_PAD_PROBE_OK;
}

/* The last segment that left the element. */
static void
watch_segments (GstElement * pipeline, GstSegment * segment)
{
  GstElement *sink = gst_bin_get_by_name (GST_BIN (pipeline), "sink");
  GstPad *pad = gst_element_get_static_pad (sink, "sink");

  gst_pad_add_probe (pad, GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM, note_segment,
      segment, NULL);
  gst_object_unref (pad);
  gst_object_unref (sink);
}

/* Backwards, every frame comes, the last one first. */
GST_START_TEST (test_backwards)
{
  GstElement *pipeline = pipeline_new ("", GREY_CAPS, "filter=box");
  GstSegment segment;
  GAsyncQueue *times;
  guint n;

  pause (pipeline);
  times = watch_times (pipeline);
  watch_segments (pipeline, &segment);
  seek (pipeline, -1, GST_SEEK_FLAG_FLUSH, 0, 20);
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  gst_message_unref (wait_for (pipeline, GST_MESSAGE_EOS));
  fail_unless (segment.rate == -1 && segment.stop == 20 * FRAME);
  n = g_async_queue_length (times);
  fail_unless (n >= 20, "%u frames", n);
  for (guint i = 0; i < n; i++)
    fail_unless_equals_uint64 (next_time (times), (n - 1 - i) * FRAME);
  stop (pipeline);
  g_async_queue_unref (times);
}

GST_END_TEST;

/* Faster and slower, with key frames alone: flags and rate arrive. */
GST_START_TEST (test_trick_modes)
{
  static const struct
  {
    gdouble rate;
    GstSeekFlags seek;
    GstSegmentFlags segment;
  } cases[] = {
    {2, GST_SEEK_FLAG_NONE, GST_SEGMENT_FLAG_NONE},
    {0.25, GST_SEEK_FLAG_TRICKMODE, GST_SEGMENT_FLAG_TRICKMODE},
    {4, GST_SEEK_FLAG_TRICKMODE | GST_SEEK_FLAG_TRICKMODE_KEY_UNITS,
        GST_SEGMENT_FLAG_TRICKMODE | GST_SEGMENT_FLAG_TRICKMODE_KEY_UNITS},
    {-3, GST_SEEK_FLAG_TRICKMODE | GST_SEEK_FLAG_TRICKMODE_NO_AUDIO,
        GST_SEGMENT_FLAG_TRICKMODE | GST_SEGMENT_FLAG_TRICKMODE_NO_AUDIO},
  };
  GstElement *pipeline = pipeline_new ("", GREY_CAPS, "filter=box");
  GAsyncQueue *times;
  GstSegment segment;

  pause (pipeline);
  times = watch_times (pipeline);
  watch_segments (pipeline, &segment);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    pause (pipeline);
    seek (pipeline, cases[i].rate, GST_SEEK_FLAG_FLUSH | cases[i].seek, 0, 10);
    forget_times (times);
    gst_element_set_state (pipeline, GST_STATE_PLAYING);
    gst_message_unref (wait_for (pipeline, GST_MESSAGE_EOS));
    fail_unless (segment.rate == cases[i].rate);
    fail_unless_equals_int (segment.flags & cases[i].segment, cases[i].segment);
    /* The one that the pause held is not counted again. */
    fail_unless (g_async_queue_length (times) >= 9, "%u frames",
        g_async_queue_length (times));
  }
  stop (pipeline);
  g_async_queue_unref (times);
}

GST_END_TEST;

/* Seeks one upon another while frames are in flight: no hang, no message, and
 * the last one is what is shown. */
GST_START_TEST (test_many_flushing_seeks)
{
  GstElement *pipeline = pipeline_new ("", GREY_CAPS,
      "filter=box frames-in-flight=4");
  GAsyncQueue *times;

  pause (pipeline);
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  for (guint i = 0; i < 100; i++)
    seek (pipeline, 1, GST_SEEK_FLAG_FLUSH, i % 7, 1000 + i);
  pause (pipeline);
  times = watch_times (pipeline);
  seek (pipeline, 1, GST_SEEK_FLAG_FLUSH, 30, 45);
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  gst_message_unref (wait_for (pipeline, GST_MESSAGE_EOS));
  /* A frame of before may still be noted while the seek flushes. */
  while (g_async_queue_length (times) > 15)
    next_time (times);
  assert_times (times, 30, 15);
  stop (pipeline);
  g_async_queue_unref (times);
}

GST_END_TEST;

/* ---- the end ---- */

/* However many frames there are, and may be in flight: all of them come. */
GST_START_TEST (test_eos_gives_every_frame)
{
  for (guint n = 1; n <= 9; n++) {
    for (guint depth = 1; depth <= 8; depth++) {
      gchar *source = g_strdup_printf ("num-buffers=%u", n);
      gchar *filter = g_strdup_printf ("filter=box frames-in-flight=%u",
          depth);
      GstElement *pipeline = pipeline_new (source, GREY_CAPS, filter);
      GAsyncQueue *times = watch_times (pipeline);

      gst_element_set_state (pipeline, GST_STATE_PLAYING);
      gst_message_unref (wait_for (pipeline, GST_MESSAGE_EOS));
      assert_times (times, 0, n);
      stop (pipeline);
      g_async_queue_unref (times);
      g_free (source);
      g_free (filter);
    }
  }
}

GST_END_TEST;

static Suite *
time_suite (void)
{
  Suite *s = suite_create ("time");
  TCase *tc = tcase_create ("time");

  suite_add_tcase (s, tc);
  tcase_add_test (tc, test_latency);
  tcase_add_test (tc, test_latency_changes);
  tcase_add_test (tc, test_latency_with_no_rate);
  tcase_add_test (tc, test_latency_of_fields);
  tcase_add_test (tc, test_segment_seeks);
  tcase_add_test (tc, test_backwards);
  tcase_add_test (tc, test_trick_modes);
  tcase_add_test (tc, test_many_flushing_seeks);
  tcase_add_test (tc, test_eos_gives_every_frame);
  return s;
}

GST_CHECK_MAIN (time);
