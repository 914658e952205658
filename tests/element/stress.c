/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* State changes, and other threads at work while frames flow. Runs on the
 * plugin as it is, and on the one with three frames in flight. */
#include "elementtest.h"

#define GREY_CAPS "video/x-raw,format=GRAY8,width=16,height=16,framerate=25/1"

GST_START_TEST (test_states)
{
  GstElement *element = gst_element_factory_make ("videoconvolve", NULL);
  /* A context of a real GPU takes a quarter of a second. */
  guint n = g_getenv ("ELEMENT_TEST_KEEPS_DEVICE") != NULL ? 40 : 1000;

  for (guint i = 0; i < n; i++) {
    fail_unless (gst_element_set_state (element, GST_STATE_PLAYING)
        != GST_STATE_CHANGE_FAILURE);
    fail_unless (gst_element_set_state (element, i % 2 ? GST_STATE_READY :
            GST_STATE_NULL) != GST_STATE_CHANGE_FAILURE);
  }
  gst_element_set_state (element, GST_STATE_NULL);
  gst_object_unref (element);
}

GST_END_TEST;

/* Started, fed and stopped again: with frames in flight at the end of each. */
GST_START_TEST (test_starts_with_frames)
{
  GstHarness *h = element_harness ("videoconvolve filter=box radius=2", NULL);

  for (guint i = 0; i < 100; i++) {
    gst_harness_set_src_caps_str (h, GREY_CAPS);
    for (guint k = 0; k < 5; k++)
      fail_unless_equals_int (gst_harness_push (h, filled_buffer (256, k, k)),
          GST_FLOW_OK);
    gst_element_set_state (h->element, GST_STATE_READY);
    gst_element_set_state (h->element, GST_STATE_PLAYING);
    while (gst_harness_buffers_in_queue (h) > 0)
      gst_buffer_unref (gst_harness_pull (h));
  }
  gst_harness_teardown (h);
}

GST_END_TEST;

/* Sets one property over and over until stop. */
typedef struct
{
  GstElement *element;
  const gchar *name, *text;
  gint *stop;
  GThread *thread;
} Setter;

static gpointer
set_until_stop (gpointer data)
{
  Setter *setter = data;
  gchar *text = g_strdup (setter->text);

  while (!g_atomic_int_get (setter->stop)) {
    gst_util_set_object_arg (G_OBJECT (setter->element), setter->name, text);
    g_usleep (1000);
  }
  g_free (text);
  return NULL;
}

/* Properties of each kind from threads of their own, among them those that
 * replace the matrix or the device that frames are being filtered with. */
GST_START_TEST (test_properties_from_threads)
{
  static const gchar *const values[][2] = {
    {"kernel", "<<1,2,1>,<2,4,2>,<1,2,1>>"}, {"kernel-x", "<1,2,3>"},
    {"filter", "gaussian"}, {"filter", "identity"}, {"sigma", "3.5"},
    {"n-threads", "1"}, {"n-threads", "2"},
  };
  Setter setters[G_N_ELEMENTS (values)];
  gint stop = 0;
  GstHarness *h = element_harness ("videoconvolve", GREY_CAPS);
  gint64 end = g_get_monotonic_time () + STRESS_SECONDS * G_USEC_PER_SEC;

  for (guint i = 0; i < G_N_ELEMENTS (setters); i++) {
    setters[i] = (Setter) {
    h->element, values[i][0], values[i][1], &stop};
    setters[i].thread = g_thread_new ("setter", set_until_stop, &setters[i]);
  }
  for (guint n = 0; g_get_monotonic_time () < end; n++) {
    GstStructure *stats;
    gchar *plan;

    fail_unless_equals_int (gst_harness_push (h, filled_buffer (256, 50, n)),
        GST_FLOW_OK);
    while (gst_harness_buffers_in_queue (h) > 0)
      assert_filled (gst_harness_pull (h), 50);
    g_object_get (h->element, "stats", &stats, "plan", &plan, NULL);
    gst_structure_free (stats);
    g_free (plan);
  }
  g_atomic_int_set (&stop, 1);
  for (guint i = 0; i < G_N_ELEMENTS (setters); i++)
    g_thread_join (setters[i].thread);
  gst_harness_teardown (h);
}

GST_END_TEST;

static GstBuffer *
stress_buffer (GstHarness * h, gpointer data)
{
  return filled_buffer (256, 50, 0);
}

static gboolean
discard (const gchar * domain, GLogLevelFlags level, const gchar * message,
    gpointer data)
{
  return TRUE;
}

/* A push that waits for the pad while the element stops and starts again finds
 * that the pad has lost its events. In a pipeline upstream stops as well before
 * anything starts; the harness goes on pushing. */
static void
allow_lost_events (void)
{
  GRegex *regex =
      g_regex_new ("data flow before (stream-start|segment) event", 0, 0, NULL);

  /* It keeps the expression. */
  gst_check_add_log_filter ("GStreamer", G_LOG_LEVEL_WARNING, regex, discard,
      NULL, NULL);
}

GST_START_TEST (test_states_while_streaming)
{
  GstHarness *h = gst_harness_new ("videoconvolve");
  GstCaps *caps = gst_caps_from_string (GREY_CAPS);
  GstEvent *event = gst_event_new_reconfigure ();
  GstSegment segment;
  GstHarnessThread *states, *pushes, *events;

  allow_lost_events ();
  gst_segment_init (&segment, GST_FORMAT_TIME);
  gst_harness_set_drop_buffers (h, TRUE);
  gst_harness_set_src_caps_str (h, GREY_CAPS);
  states = gst_harness_stress_statechange_start_full (h, 500);
  pushes = gst_harness_stress_push_buffer_with_cb_start_full (h, caps,
      &segment, stress_buffer, NULL, NULL, 100);
  events = gst_harness_stress_push_upstream_event_start_full (h, event, 500);
  g_usleep (STRESS_SECONDS * G_USEC_PER_SEC);
  gst_harness_stress_thread_stop (pushes);
  gst_harness_stress_thread_stop (events);
  gst_harness_stress_thread_stop (states);
  gst_event_unref (event);
  gst_caps_unref (caps);
  gst_harness_teardown (h);
  gst_check_clear_log_filter ();
}

GST_END_TEST;

static GstPadProbeReturn
ask_again (GstPad * pad, GstPadProbeInfo * info, gpointer data)
{
  gst_pad_mark_reconfigure (pad);
  return GST_PAD_PROBE_OK;
}

/* A source that asks for a pool before each frame does so while the element
 * stops, too: no flushing pad refuses a query. */
GST_START_TEST (test_queries_while_stopping)
{
  const gchar *more = g_getenv ("ELEMENT_TEST_PROPERTIES");
  gchar *line = g_strdup_printf ("videotestsrc name=src ! video/x-raw,"
      "format=GRAY8,width=16,height=16,framerate=25/1 ! videoconvolve %s "
      "filter=box frames-in-flight=3 ! fakesink sync=false", more ? more : "");
  GstElement *pipeline = gst_parse_launch (line, NULL);
  GstElement *source = gst_bin_get_by_name (GST_BIN (pipeline), "src");
  GstPad *pad = gst_element_get_static_pad (source, "src");
  gint64 end = g_get_monotonic_time () + 3 * STRESS_SECONDS * G_USEC_PER_SEC;

  gst_pad_add_probe (pad, GST_PAD_PROBE_TYPE_BUFFER, ask_again, NULL, NULL);
  for (guint i = 0; g_get_monotonic_time () < end; i++) {
    gst_element_set_state (pipeline, GST_STATE_PLAYING);
    fail_unless_equals_int (gst_element_get_state (pipeline, NULL, NULL,
            20 * GST_SECOND), GST_STATE_CHANGE_SUCCESS);
    g_usleep (i % 10 * 100);
    gst_element_set_state (pipeline, GST_STATE_READY);
  }
  gst_element_set_state (pipeline, GST_STATE_NULL);
  gst_object_unref (pad);
  gst_object_unref (source);
  gst_object_unref (pipeline);
  g_free (line);
}

GST_END_TEST;

/* Flushing seeks, forwards and backwards, while frames are in flight. */
GST_START_TEST (test_seeks)
{
  GstElement *pipeline = gst_parse_launch ("videotestsrc num-buffers=100 ! "
      "video/x-raw,format=I420,width=16,height=16,framerate=25/1 ! "
      "videoconvolve filter=box ! fakesink sync=false", NULL);
  GstBus *bus = gst_element_get_bus (pipeline);
  GstMessage *message;

  gst_element_set_state (pipeline, GST_STATE_PAUSED);
  fail_unless_equals_int (gst_element_get_state (pipeline, NULL, NULL,
          20 * GST_SECOND), GST_STATE_CHANGE_SUCCESS);
  for (guint i = 0; i < 100; i++) {
    gdouble rate = i % 2 ? 1.0 : -1.0;

    fail_unless (gst_element_seek (pipeline, rate, GST_FORMAT_TIME,
            GST_SEEK_FLAG_FLUSH | GST_SEEK_FLAG_ACCURATE, GST_SEEK_TYPE_SET, 0,
            GST_SEEK_TYPE_SET, GST_SECOND));
    if (i == 50)
      gst_element_set_state (pipeline, GST_STATE_PLAYING);
  }
  message = gst_bus_timed_pop_filtered (bus, 20 * GST_SECOND,
      GST_MESSAGE_EOS | GST_MESSAGE_ERROR | GST_MESSAGE_WARNING);
  fail_unless (message != NULL);
  fail_unless_equals_int (GST_MESSAGE_TYPE (message), GST_MESSAGE_EOS);
  gst_message_unref (message);
  gst_element_set_state (pipeline, GST_STATE_NULL);
  gst_object_unref (bus);
  gst_object_unref (pipeline);
}

GST_END_TEST;

static Suite *
stress_suite (void)
{
  Suite *s = suite_create ("stress");
  TCase *tc = tcase_create ("stress");

  suite_add_tcase (s, tc);
  tcase_add_test (tc, test_states);
  tcase_add_test (tc, test_starts_with_frames);
  tcase_add_test (tc, test_properties_from_threads);
  tcase_add_test (tc, test_states_while_streaming);
  tcase_add_test (tc, test_queries_while_stopping);
  tcase_add_test (tc, test_seeks);
  return s;
}

GST_CHECK_MAIN (stress);
