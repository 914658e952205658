/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The stream: changes while it runs, events, passthrough, controllers, QoS,
 * latency, errors from downstream. */
#include "elementtest.h"

#include <gst/controller/gstdirectcontrolbinding.h>
#include <gst/controller/gstinterpolationcontrolsource.h>

#define GREY_CAPS "video/x-raw,format=GRAY8,width=8,height=4,framerate=25/1"

/* ---- changes ---- */

/* bias=b of a flat 100: 100 + 255 b, rounded. */
GST_START_TEST (test_live_change)
{
  GstHarness *h = element_harness ("videoconvolve backend=cpu filter=box "
      "radius=1", GREY_CAPS);

  for (guint i = 0; i < 50; i++) {
    g_object_set (h->element, "bias", i / 255.0, NULL);
    assert_filled (filter_one (h, filled_buffer (32, 100, i)), 100 + i);
  }
  gst_harness_teardown (h);
}

GST_END_TEST;

/* A g_object_set of several values is one change: no frame with one of them. */
static gpointer
set_pairs (gpointer data)
{
  GstElement *element = data;

  for (guint i = 0; !g_atomic_int_get ((gint *) g_object_get_data (G_OBJECT
              (element), "stop")); i++) {
    gdouble step = i % 50;

    g_object_set (element, "scale", 1 + step / 100, "bias", -step / 255, NULL);
  }
  return NULL;
}

GST_START_TEST (test_change_is_whole)
{
  GstHarness *h = element_harness ("videoconvolve backend=cpu filter=box "
      "radius=1", GREY_CAPS);
  gint64 end = g_get_monotonic_time () + STRESS_SECONDS * G_USEC_PER_SEC;
  gint stop = 0;
  GThread *thread;
  guint n = 0;

  /* 100 x (1 + step / 100) - step is 100 whatever step is. */
  g_object_set_data (G_OBJECT (h->element), "stop", &stop);
  thread = g_thread_new ("setter", set_pairs, h->element);
  while (g_get_monotonic_time () < end)
    assert_filled (filter_one (h, filled_buffer (32, 100, n++)), 100);
  g_atomic_int_set (&stop, 1);
  g_thread_join (thread);
  gst_harness_teardown (h);
}

GST_END_TEST;

GST_START_TEST (test_renegotiation)
{
  static const gchar *const formats[] = { "GRAY8", "I420", "RGBA", "NV12" };
  GstHarness *h = element_harness ("videoconvolve backend=cpu filter=box "
      "radius=3", NULL);

  for (guint i = 0; i < 200; i++) {
    gchar *text = g_strdup_printf ("video/x-raw,format=%s,width=%u,height=%u,"
        "framerate=%u/1", formats[i % 4], 8 * (1 + i % 13), 2 * (1 + i % 7),
        1 + i % 3);
    GstCaps *caps = gst_caps_from_string (text), *current;
    GstVideoInfo info;

    fail_unless (gst_video_info_from_caps (&info, caps));
    gst_harness_set_src_caps (h, gst_video_info_to_caps (&info));
    assert_filled (filter_one (h, filled_buffer (info.size, 64, i)), 64);
    current = gst_pad_get_current_caps (h->sinkpad);
    fail_unless (gst_caps_can_intersect (current, caps));
    gst_caps_unref (current);
    gst_caps_unref (caps);
    g_free (text);
  }
  gst_harness_teardown (h);
}

GST_END_TEST;

/* ---- passthrough ---- */

GST_START_TEST (test_passthrough)
{
  GstHarness *h = element_harness ("videoconvolve backend=cpu "
      "filter=identity", GREY_CAPS);
  guint upstream = gst_harness_upstream_events_received (h);
  GstBuffer *in, *out;

  for (guint i = 0; i < 10; i++) {
    gboolean identity = i % 2 == 0;

    gst_util_set_object_arg (G_OBJECT (h->element), "filter",
        identity ? "identity" : "box");
    in = filled_buffer (32, 9, i);
    out = filter_one (h, gst_buffer_ref (in));
    fail_unless_equals_int (out == in, identity);
    assert_filled (out, 9);
    gst_buffer_unref (in);
  }
  /* Buffers are allocated in another way: upstream was told. */
  fail_unless (gst_harness_upstream_events_received (h) >= upstream + 9);

  /* sigma=0 and an exact 1 are the identity, too; a bias or a clamp is not. */
  g_object_set (h->element, "sigma", 0.0, NULL);
  gst_util_set_object_arg (G_OBJECT (h->element), "filter", "gaussian");
  in = filled_buffer (32, 9, 20);
  out = filter_one (h, gst_buffer_ref (in));
  fail_unless (out == in);
  gst_buffer_unref (in);
  gst_buffer_unref (out);
  g_object_set (h->element, "bias", 1 / 255.0, NULL);
  assert_filled (filter_one (h, filled_buffer (32, 9, 21)), 10);
  gst_harness_teardown (h);
}

GST_END_TEST;

/* ---- controller ---- */

GST_START_TEST (test_controller)
{
  GstHarness *h = element_harness ("videoconvolve backend=cpu filter=box "
      "radius=1", GREY_CAPS);
  GstControlSource *source = gst_interpolation_control_source_new ();
  GstTimedValueControlSource *values = GST_TIMED_VALUE_CONTROL_SOURCE (source);
  GstBuffer *buffer;

  g_object_set (source, "mode", GST_INTERPOLATION_MODE_LINEAR, NULL);
  gst_timed_value_control_source_set (values, 0, 0.0);
  gst_timed_value_control_source_set (values, 100 * 40 * GST_MSECOND,
      100 / 255.0);
  gst_object_add_control_binding (GST_OBJECT (h->element),
      gst_direct_control_binding_new_absolute (GST_OBJECT (h->element), "bias",
          source));
  for (guint i = 0; i < 100; i += 9)
    assert_filled (filter_one (h, filled_buffer (32, 100, i)), 100 + i);
  /* No timestamp: the value stays. */
  buffer = filled_buffer (32, 100, 0);
  GST_BUFFER_PTS (buffer) = GST_CLOCK_TIME_NONE;
  assert_filled (filter_one (h, buffer), 199);
  gst_object_unref (source);
  gst_harness_teardown (h);
}

GST_END_TEST;

/* ---- events ---- */

GST_START_TEST (test_flush_and_segment)
{
  GstHarness *h = element_harness ("videoconvolve backend=cpu filter=box "
      "radius=1", GREY_CAPS);
  GstSegment segment;

  gst_segment_init (&segment, GST_FORMAT_TIME);
  for (guint i = 0; i < 50; i++) {
    GstBuffer *buffer;

    assert_filled (filter_one (h, filled_buffer (32, 9, i)), 9);
    fail_unless (gst_harness_push_event (h, gst_event_new_flush_start ()));
    fail_unless_equals_int (gst_harness_push (h, filled_buffer (32, 9, i)),
        GST_FLOW_FLUSHING);
    fail_unless (gst_harness_push_event (h, gst_event_new_flush_stop (TRUE)));
    fail_unless (gst_harness_push_event (h, gst_event_new_segment (&segment)));
    fail_unless_equals_int (gst_harness_buffers_in_queue (h), 0);
    buffer = filled_buffer (32, 9, i);
    GST_BUFFER_FLAG_SET (buffer, GST_BUFFER_FLAG_DISCONT);
    buffer = filter_one (h, buffer);
    fail_unless (GST_BUFFER_FLAG_IS_SET (buffer, GST_BUFFER_FLAG_DISCONT));
    gst_buffer_unref (buffer);
  }
  gst_harness_teardown (h);
}

GST_END_TEST;

GST_START_TEST (test_eos)
{
  GstHarness *h = element_harness ("videoconvolve backend=cpu filter=box "
      "radius=1", GREY_CAPS);

  gst_harness_push (h, filled_buffer (32, 9, 0));
  fail_unless (gst_harness_push_event (h, gst_event_new_eos ()));
  fail_unless_equals_int (gst_harness_push (h, filled_buffer (32, 9, 1)),
      GST_FLOW_EOS);
  fail_unless_equals_int (gst_harness_buffers_received (h), 1);
  gst_harness_teardown (h);
}

GST_END_TEST;

/* ---- downstream ---- */

static GstFlowReturn wanted_return;

static GstFlowReturn
chain_returns (GstPad * pad, GstObject * parent, GstBuffer * buffer)
{
  gst_buffer_unref (buffer);
  return wanted_return;
}

GST_START_TEST (test_errors_from_downstream)
{
  static const GstFlowReturn returns[] = { GST_FLOW_FLUSHING, GST_FLOW_EOS,
    GST_FLOW_ERROR, GST_FLOW_NOT_LINKED, GST_FLOW_NOT_NEGOTIATED,
    GST_FLOW_CUSTOM_ERROR, GST_FLOW_CUSTOM_SUCCESS_1, GST_FLOW_OK
  };
  GstHarness *h = element_harness ("videoconvolve backend=cpu filter=box "
      "radius=1", GREY_CAPS);
  GstBus *bus = bus_of (h);

  gst_pad_set_chain_function (h->sinkpad, chain_returns);
  for (guint i = 0; i < G_N_ELEMENTS (returns); i++) {
    wanted_return = returns[i];
    fail_unless_equals_int (gst_harness_push (h, filled_buffer (32, 9, i)),
        returns[i]);
  }
  assert_no_message (bus, GST_MESSAGE_ERROR | GST_MESSAGE_WARNING);
  bus_done (h, bus);
  gst_harness_teardown (h);
}

GST_END_TEST;

/* ---- QoS and latency ---- */

GST_START_TEST (test_qos)
{
  GstHarness *h = element_harness ("videoconvolve backend=cpu filter=box "
      "radius=1", GREY_CAPS);
  GstBus *bus = bus_of (h);
  GstMessage *message;

  assert_filled (filter_one (h, filled_buffer (32, 9, 0)), 9);
  gst_harness_push_upstream_event (h, gst_event_new_qos (GST_QOS_TYPE_UNDERFLOW,
          2.0, 100 * GST_MSECOND, 40 * GST_MSECOND));
  /* 40 ms is late, 400 ms is not. */
  fail_unless_equals_int (gst_harness_push (h, filled_buffer (32, 9, 1)),
      GST_FLOW_OK);
  fail_unless_equals_int (gst_harness_buffers_in_queue (h), 0);
  message = gst_bus_pop_filtered (bus, GST_MESSAGE_QOS);
  fail_unless (message != NULL);
  gst_message_unref (message);
  assert_filled (filter_one (h, filled_buffer (32, 9, 10)), 9);

  g_object_set (h->element, "qos", FALSE, NULL);
  assert_filled (filter_one (h, filled_buffer (32, 9, 1)), 9);
  bus_done (h, bus);
  gst_harness_teardown (h);
}

GST_END_TEST;

GST_START_TEST (test_latency)
{
  GstHarness *h = element_harness ("videoconvolve backend=cpu filter=box",
      GREY_CAPS);

  gst_harness_set_upstream_latency (h, 20 * GST_MSECOND);
  assert_filled (filter_one (h, filled_buffer (32, 9, 0)), 9);
  fail_unless_equals_uint64 (gst_harness_query_latency (h), 20 * GST_MSECOND);
  gst_harness_teardown (h);
}

GST_END_TEST;

/* ---- in pipelines ---- */

/* videotestsrc's black. */
#define BLACK 16

/* The other branch of a tee keeps its picture, and both see each frame. */
static void
count_unchanged (GstElement * sink, GstBuffer * buffer, GstPad * pad,
    gpointer data)
{
  assert_filled (gst_buffer_ref (buffer), BLACK);
  g_atomic_int_inc ((gint *) data);
}

static void
run_to_eos (GstElement * pipeline)
{
  GstBus *bus = gst_element_get_bus (pipeline);
  GstMessage *message;

  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  message = gst_bus_timed_pop_filtered (bus, 20 * GST_SECOND,
      GST_MESSAGE_EOS | GST_MESSAGE_ERROR);
  fail_unless (message != NULL);
  fail_unless_equals_int (GST_MESSAGE_TYPE (message), GST_MESSAGE_EOS);
  gst_message_unref (message);
  gst_element_set_state (pipeline, GST_STATE_NULL);
  gst_object_unref (bus);
}

GST_START_TEST (test_tee)
{
  GstElement *pipeline = gst_parse_launch ("videotestsrc num-buffers=20 "
      "pattern=black ! video/x-raw,format=GRAY8,width=64,height=64 ! "
      "tee name=t "
      "t. ! queue ! videoconvolve backend=cpu filter=box bias=0.5 ! fakesink "
      "sync=false t. ! queue ! fakesink name=plain signal-handoffs=true "
      "sync=false", NULL);
  GstElement *plain = gst_bin_get_by_name (GST_BIN (pipeline), "plain");
  gint n = 0;

  g_signal_connect (plain, "handoff", G_CALLBACK (count_unchanged), &n);
  run_to_eos (pipeline);
  fail_unless_equals_int (n, 20);
  gst_object_unref (plain);
  gst_object_unref (pipeline);
}

GST_END_TEST;

/* Two instances with different settings do not know of each other. */
static void
check_value (GstElement * sink, GstBuffer * buffer, GstPad * pad, gpointer data)
{
  guint8 value;

  gst_buffer_extract (buffer, 64 * 32 + 32, &value, 1);
  fail_unless_equals_int (value, GPOINTER_TO_INT (data));
}

GST_START_TEST (test_two_instances)
{
  GstElement *pipeline = gst_parse_launch ("videotestsrc num-buffers=50 "
      "pattern=black ! video/x-raw,format=GRAY8,width=64,height=64 ! "
      "tee name=t "
      "t. ! queue ! videoconvolve backend=cpu filter=box bias=0.2 ! fakesink "
      "name=a signal-handoffs=true sync=false t. ! queue ! videoconvolve "
      "backend=cpu filter=disk radius=3 bias=0.6 ! fakesink name=b "
      "signal-handoffs=true sync=false", NULL);
  GstElement *a = gst_bin_get_by_name (GST_BIN (pipeline), "a");
  GstElement *b = gst_bin_get_by_name (GST_BIN (pipeline), "b");

  g_signal_connect (a, "handoff", G_CALLBACK (check_value),
      GINT_TO_POINTER (BLACK + 51));
  g_signal_connect (b, "handoff", G_CALLBACK (check_value),
      GINT_TO_POINTER (BLACK + 153));
  run_to_eos (pipeline);
  gst_object_unref (a);
  gst_object_unref (b);
  gst_object_unref (pipeline);
}

GST_END_TEST;

static Suite *
flow_suite (void)
{
  Suite *s = suite_create ("flow");
  TCase *tc = tcase_create ("flow");

  suite_add_tcase (s, tc);
  tcase_add_test (tc, test_live_change);
  tcase_add_test (tc, test_change_is_whole);
  tcase_add_test (tc, test_renegotiation);
  tcase_add_test (tc, test_passthrough);
  tcase_add_test (tc, test_controller);
  tcase_add_test (tc, test_flush_and_segment);
  tcase_add_test (tc, test_eos);
  tcase_add_test (tc, test_errors_from_downstream);
  tcase_add_test (tc, test_qos);
  tcase_add_test (tc, test_latency);
  tcase_add_test (tc, test_tee);
  tcase_add_test (tc, test_two_instances);
  return s;
}

GST_CHECK_MAIN (flow);
