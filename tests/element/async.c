/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Three frames in flight, on a backend (fakecuda.c) that does nothing before
 * it is waited for and that can fail. Nothing is lost, overtaken or left
 * mapped. */
#include "elementtest.h"

#define GREY_CAPS "video/x-raw,format=GRAY8,width=8,height=4,framerate=25/1"
#define DEPTH 3

static GstHarness *
async_harness (const gchar * fail)
{
  if (fail != NULL)
    g_setenv ("FAKE_CUDA_FAIL", fail, TRUE);
  else
    g_unsetenv ("FAKE_CUDA_FAIL");
  return element_harness ("videoconvolve filter=box radius=1", GREY_CAPS);
}

static void
push_frames (GstHarness * h, guint from, guint n)
{
  for (guint i = from; i < from + n; i++)
    fail_unless_equals_int (gst_harness_push (h, filled_buffer (32, i, i)),
        GST_FLOW_OK);
}

static void
pull_frames (GstHarness * h, guint from, guint n)
{
  for (guint i = from; i < from + n; i++) {
    GstBuffer *buffer = gst_harness_try_pull (h);

    fail_unless (buffer != NULL, "frame %u is missing", i);
    fail_unless_equals_uint64 (GST_BUFFER_PTS (buffer), i * 40 * GST_MSECOND);
    assert_filled (buffer, i);
  }
  fail_unless_equals_int (gst_harness_buffers_in_queue (h), 0);
}

GST_START_TEST (test_order)
{
  GstHarness *h = async_harness (NULL);
  gchar *device;
  GstStructure *stats;

  push_frames (h, 0, DEPTH - 1);
  fail_unless_equals_int (gst_harness_buffers_in_queue (h), 0);
  push_frames (h, DEPTH - 1, 20);
  pull_frames (h, 0, 20);
  gst_harness_push_event (h, gst_event_new_eos ());
  pull_frames (h, 20, DEPTH - 1);
  g_object_get (h->element, "stats", &stats, NULL);
  gst_structure_get (stats, "device", G_TYPE_STRING, &device, NULL);
  fail_unless_equals_string (device, "fake device");
  g_free (device);
  gst_structure_free (stats);
  gst_harness_teardown (h);
}

GST_END_TEST;

/* Serialized events, one kind after another: what was before them is out. */
GST_START_TEST (test_events_do_not_overtake)
{
  GstHarness *h = async_harness (NULL);
  GstSegment segment;
  GstCaps *caps = gst_caps_from_string (GREY_CAPS);

  gst_segment_init (&segment, GST_FORMAT_TIME);
  gst_caps_set_simple (caps, "width", G_TYPE_INT, 4, NULL);
  for (guint i = 0; i < 5; i++) {
    GstEvent *events[] = {
      gst_event_new_gap (0, GST_SECOND),
      gst_event_new_tag (gst_tag_list_new_empty ()),
      gst_event_new_segment (&segment),
      gst_event_new_stream_start ("another"),
      gst_event_new_caps (caps),
    };

    push_frames (h, 2 * i, 2);
    fail_unless (gst_harness_push_event (h, gst_event_ref (events[i])));
    pull_frames (h, 2 * i, 2);
    for (guint k = 0; k < G_N_ELEMENTS (events); k++)
      gst_event_unref (events[k]);
  }
  gst_caps_unref (caps);
  gst_harness_teardown (h);
}

GST_END_TEST;

/* Frames of the old caps leave before the new caps do. */
static GstPadProbeReturn
note_caps (GstPad * pad, GstPadProbeInfo * info, gpointer data)
{
  GstEvent *event = GST_PAD_PROBE_INFO_EVENT (info);

  if (GST_EVENT_TYPE (event) == GST_EVENT_CAPS)
    fail_unless_equals_int (gst_harness_buffers_received (data), 2);
  return GST_PAD_PROBE_OK;
}

GST_START_TEST (test_caps_change)
{
  GstHarness *h = async_harness (NULL);

  push_frames (h, 0, 2);
  gst_pad_add_probe (h->sinkpad, GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM,
      note_caps, h, NULL);
  gst_harness_set_src_caps_str (h,
      "video/x-raw,format=GRAY8,width=4,height=8,framerate=50/1");
  pull_frames (h, 0, 2);
  gst_harness_teardown (h);
}

GST_END_TEST;

GST_START_TEST (test_drain_query)
{
  GstHarness *h = async_harness (NULL);
  GstQuery *query = gst_query_new_drain ();

  push_frames (h, 0, 2);
  gst_pad_peer_query (h->srcpad, query);
  pull_frames (h, 0, 2);
  gst_query_unref (query);
  gst_harness_teardown (h);
}

GST_END_TEST;

GST_START_TEST (test_flush_drops)
{
  GstHarness *h = async_harness (NULL);
  GstSegment segment;

  gst_segment_init (&segment, GST_FORMAT_TIME);
  push_frames (h, 0, 2);
  gst_harness_push_event (h, gst_event_new_flush_start ());
  gst_harness_push_event (h, gst_event_new_flush_stop (TRUE));
  gst_harness_push_event (h, gst_event_new_segment (&segment));
  push_frames (h, 10, 4);
  pull_frames (h, 10, 2);
  /* And stop with frames in flight. */
  gst_harness_teardown (h);
}

GST_END_TEST;

/* DISCONT marks the frame that it came with. */
GST_START_TEST (test_discont)
{
  GstHarness *h = async_harness (NULL);
  GstBuffer *buffer = filled_buffer (32, 2, 2);

  push_frames (h, 0, 2);
  GST_BUFFER_FLAG_SET (buffer, GST_BUFFER_FLAG_DISCONT);
  gst_harness_push (h, buffer);
  push_frames (h, 3, 1);
  gst_harness_push_event (h, gst_event_new_eos ());
  for (guint i = 0; i < 4; i++) {
    buffer = gst_harness_pull (h);
    fail_unless_equals_int (GST_BUFFER_FLAG_IS_SET (buffer,
            GST_BUFFER_FLAG_DISCONT), i == 2);
    gst_buffer_unref (buffer);
  }
  gst_harness_teardown (h);
}

GST_END_TEST;

/* A change applies to the frames that come after it, not to those in flight;
 * passthrough waits for them. */
GST_START_TEST (test_change_in_flight)
{
  GstHarness *h = async_harness (NULL);

  push_frames (h, 0, 2);
  g_object_set (h->element, "bias", 100 / 255.0, NULL);
  gst_harness_push (h, filled_buffer (32, 2, 2));
  gst_util_set_object_arg (G_OBJECT (h->element), "filter", "identity");
  g_object_set (h->element, "bias", 0.0, NULL);
  gst_harness_push (h, filled_buffer (32, 3, 3));
  assert_filled (gst_harness_pull (h), 0);
  assert_filled (gst_harness_pull (h), 1);
  assert_filled (gst_harness_pull (h), 102);
  assert_filled (gst_harness_pull (h), 3);

  /* Another device, with frames on the old one. */
  gst_util_set_object_arg (G_OBJECT (h->element), "filter", "box");
  push_frames (h, 4, 2);
  g_object_set (h->element, "n-threads", 2, NULL);
  push_frames (h, 6, 2);
  gst_harness_push_event (h, gst_event_new_eos ());
  pull_frames (h, 4, 4);
  gst_harness_teardown (h);
}

GST_END_TEST;

/* Two frames of 40 ms wait; with no frame rate none does. */
GST_START_TEST (test_latency)
{
  GstHarness *h = async_harness (NULL);
  GstBus *bus = bus_of (h);
  GstMessage *message;

  gst_harness_set_upstream_latency (h, 20 * GST_MSECOND);
  fail_unless_equals_uint64 (gst_harness_query_latency (h), 100 * GST_MSECOND);
  gst_harness_set_src_caps_str (h,
      "video/x-raw,format=GRAY8,width=8,height=4,framerate=0/1");
  message = gst_bus_pop_filtered (bus, GST_MESSAGE_LATENCY);
  fail_unless (message != NULL);
  gst_message_unref (message);
  fail_unless_equals_uint64 (gst_harness_query_latency (h), 20 * GST_MSECOND);
  push_frames (h, 0, 1);
  pull_frames (h, 0, 1);

  gst_harness_set_src_caps_str (h, GREY_CAPS);
  fail_unless_equals_uint64 (gst_harness_query_latency (h), 100 * GST_MSECOND);
  gst_util_set_object_arg (G_OBJECT (h->element), "filter", "identity");
  push_frames (h, 1, 1);
  pull_frames (h, 1, 1);
  fail_unless_equals_uint64 (gst_harness_query_latency (h), 20 * GST_MSECOND);
  bus_done (h, bus);
  gst_harness_teardown (h);
}

GST_END_TEST;

/* What draining met comes back with the next buffer, and only once. */
static GstFlowReturn
chain_fails (GstPad * pad, GstObject * parent, GstBuffer * buffer)
{
  gst_buffer_unref (buffer);
  return GST_FLOW_ERROR;
}

GST_START_TEST (test_error_while_draining)
{
  GstHarness *h = async_harness (NULL);

  push_frames (h, 0, 2);
  gst_pad_set_chain_function (h->sinkpad, chain_fails);
  gst_harness_push_event (h, gst_event_new_gap (0, GST_SECOND));
  fail_unless_equals_int (gst_harness_push (h, filled_buffer (32, 0, 0)),
      GST_FLOW_ERROR);
  fail_unless_equals_int (gst_harness_push (h, filled_buffer (32, 0, 0)),
      GST_FLOW_OK);
  gst_harness_teardown (h);
}

GST_END_TEST;

/* ---- faults ---- */

/* backend=auto: a warning, and every frame, whichever call failed. */
GST_START_TEST (test_fault_goes_on_with_the_cpu)
{
  static const gchar *const faults[] = { "process:1", "process:4", "wait:1",
    "wait:5"
  };

  for (guint i = 0; i < G_N_ELEMENTS (faults); i++) {
    GstHarness *h = async_harness (faults[i]);
    GstBus *bus = bus_of (h);

    push_frames (h, 0, 10);
    gst_harness_push_event (h, gst_event_new_gap (0, GST_SECOND));
    pull_frames (h, 0, 10);
    assert_message (bus, GST_MESSAGE_WARNING, GST_RESOURCE_ERROR,
        GST_RESOURCE_ERROR_FAILED, "the CPU goes on");
    assert_no_message (bus, GST_MESSAGE_WARNING | GST_MESSAGE_ERROR);
    /* Even when the device has to be opened again. */
    g_object_set (h->element, "n-threads", 1, NULL);
    push_frames (h, 10, 4);
    gst_harness_push_event (h, gst_event_new_eos ());
    pull_frames (h, 10, 4);
    assert_no_message (bus, GST_MESSAGE_WARNING | GST_MESSAGE_ERROR);
    bus_done (h, bus);
    gst_harness_teardown (h);
  }
}

GST_END_TEST;

/* backend=cuda: one error, no frame that was not written. */
GST_START_TEST (test_fault_is_an_error)
{
  static const gchar *const faults[] = { "process:4", "wait:4" };

  for (guint i = 0; i < G_N_ELEMENTS (faults); i++) {
    GstHarness *h;
    GstBus *bus;
    GstFlowReturn ret = GST_FLOW_OK;

    g_setenv ("FAKE_CUDA_FAIL", faults[i], TRUE);
    h = element_harness ("videoconvolve backend=cuda filter=box radius=1",
        GREY_CAPS);
    bus = bus_of (h);
    for (guint k = 0; k < 10 && ret == GST_FLOW_OK; k++)
      ret = gst_harness_push (h, filled_buffer (32, k, k));
    fail_unless_equals_int (ret, GST_FLOW_ERROR);
    assert_message (bus, GST_MESSAGE_ERROR, GST_RESOURCE_ERROR,
        GST_RESOURCE_ERROR_FAILED, "lost");
    assert_no_message (bus, GST_MESSAGE_WARNING | GST_MESSAGE_ERROR);
    for (guint k = 0; gst_harness_buffers_in_queue (h) > 0; k++)
      assert_filled (gst_harness_pull (h), k);
    bus_done (h, bus);
    gst_harness_teardown (h);
  }
}

GST_END_TEST;

/* The device goes when it must be opened anew: an error a frame, and on it goes
 * with all values once the device is back. */
GST_START_TEST (test_device_comes_back)
{
  GstHarness *h = element_harness ("videoconvolve backend=cuda filter=box",
      GREY_CAPS);
  GstBus *bus = bus_of (h);

  fail_unless_equals_int (gst_harness_push (h, filled_buffer (32, 0, 0)),
      GST_FLOW_OK);
  g_setenv ("FAKE_CUDA_FAIL", "probe", TRUE);
  g_object_set (h->element, "n-threads", 2, "bias", 0.2, NULL);
  for (guint k = 1; k <= 2; k++) {
    fail_unless_equals_int (gst_harness_push (h, filled_buffer (32, 0, k)),
        GST_FLOW_ERROR);
    assert_message (bus, GST_MESSAGE_ERROR, GST_RESOURCE_ERROR,
        GST_RESOURCE_ERROR_NOT_FOUND, "the fake device is away");
  }
  assert_filled (gst_harness_pull (h), 0);
  g_unsetenv ("FAKE_CUDA_FAIL");
  fail_unless_equals_int (gst_harness_push (h, filled_buffer (32, 0, 3)),
      GST_FLOW_OK);
  fail_unless (gst_harness_push_event (h, gst_event_new_eos ()));
  assert_filled (gst_harness_pull (h), 51);
  assert_no_message (bus, GST_MESSAGE_WARNING | GST_MESSAGE_ERROR);
  bus_done (h, bus);
  gst_harness_teardown (h);
}

GST_END_TEST;

GST_START_TEST (test_no_device)
{
  GstHarness *h = async_harness ("probe");
  GstElement *element = gst_element_factory_make ("videoconvolve", NULL);
  GstBus *bus = gst_bus_new ();

  push_frames (h, 0, 4);
  pull_frames (h, 0, 2);
  gst_harness_teardown (h);

  gst_element_set_bus (element, bus);
  gst_util_set_object_arg (G_OBJECT (element), "backend", "cuda");
  fail_unless_equals_int (gst_element_set_state (element, GST_STATE_PAUSED),
      GST_STATE_CHANGE_FAILURE);
  assert_message (bus, GST_MESSAGE_ERROR, GST_RESOURCE_ERROR,
      GST_RESOURCE_ERROR_NOT_FOUND, "the fake device is away");
  gst_element_set_state (element, GST_STATE_NULL);
  /* The retry, with the device back. */
  g_unsetenv ("FAKE_CUDA_FAIL");
  fail_unless (gst_element_set_state (element, GST_STATE_PAUSED)
      != GST_STATE_CHANGE_FAILURE);
  gst_element_set_state (element, GST_STATE_NULL);
  gst_element_set_bus (element, NULL);
  gst_bus_set_flushing (bus, TRUE);
  gst_object_unref (bus);
  gst_object_unref (element);
}

GST_END_TEST;

static Suite *
async_suite (void)
{
  Suite *s = suite_create ("async");
  TCase *tc = tcase_create ("async");

  suite_add_tcase (s, tc);
  tcase_add_test (tc, test_order);
  tcase_add_test (tc, test_events_do_not_overtake);
  tcase_add_test (tc, test_caps_change);
  tcase_add_test (tc, test_drain_query);
  tcase_add_test (tc, test_flush_drops);
  tcase_add_test (tc, test_discont);
  tcase_add_test (tc, test_change_in_flight);
  tcase_add_test (tc, test_latency);
  tcase_add_test (tc, test_error_while_draining);
  tcase_add_test (tc, test_fault_goes_on_with_the_cpu);
  tcase_add_test (tc, test_fault_is_an_error);
  tcase_add_test (tc, test_device_comes_back);
  tcase_add_test (tc, test_no_device);
  return s;
}

GST_CHECK_MAIN (async);
