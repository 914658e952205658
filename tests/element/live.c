/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A live source in real time, and what became of each frame. Not for set-ups
 * that make everything slow. */
#include <gst/check/gstcheck.h>
#include <string.h>

#define TIMEOUT (20 * GST_SECOND)

/* What became of a live source's frames. */
typedef struct
{
  gint in, out, shown;          /* into and out of the element, into the sink */
  guint64 dropped_before, dropped_behind;
  gdouble seconds;
} Live;

static GstPadProbeReturn
count (GstPad * pad, GstPadProbeInfo * info, gpointer n)
{
  g_atomic_int_inc ((gint *) n);
  return GST_PAD_PROBE_OK;
}

static void
count_shown (GstElement * sink, GstBuffer * buffer, GstPad * pad, gpointer n)
{
  g_atomic_int_inc ((gint *) n);
}

static void
count_pad (GstElement * element, const gchar * name, gint * n)
{
  GstPad *pad = gst_element_get_static_pad (element, name);

  gst_pad_add_probe (pad, GST_PAD_PROBE_TYPE_BUFFER, count, n, NULL);
  gst_object_unref (pad);
}

/* The latest QoS message of each element has the number of dropped frames. */
static void
read_bus (GstElement * pipeline, GstElement * convolve, Live * live)
{
  GstBus *bus = gst_element_get_bus (pipeline);
  GstMessage *message;
  gboolean ended = FALSE;

  while (!ended) {
    guint64 dropped;

    message = gst_bus_timed_pop_filtered (bus, TIMEOUT,
        GST_MESSAGE_EOS | GST_MESSAGE_ERROR | GST_MESSAGE_QOS);
    fail_unless (message != NULL, "no end came");
    fail_if (GST_MESSAGE_TYPE (message) == GST_MESSAGE_ERROR);
    ended = GST_MESSAGE_TYPE (message) == GST_MESSAGE_EOS;
    if (!ended) {
      gst_message_parse_qos_stats (message, NULL, NULL, &dropped);
      *(GST_MESSAGE_SRC (message) == GST_OBJECT (convolve) ?
          &live->dropped_before : &live->dropped_behind) = dropped;
    }
    gst_message_unref (message);
  }
  gst_object_unref (bus);
}

static void
play_live (const gchar * properties, guint n, Live * live)
{
  gchar *line = g_strdup_printf ("videotestsrc is-live=true num-buffers=%u ! "
      "video/x-raw,format=YUY2,width=320,height=240,framerate=60/1 ! "
      "videoconvolve name=convolve %s ! fakesink name=sink sync=true qos=true "
      "signal-handoffs=true", n, properties);
  GstElement *pipeline = gst_parse_launch (line, NULL);
  GstElement *convolve = gst_bin_get_by_name (GST_BIN (pipeline), "convolve");
  GstElement *sink = gst_bin_get_by_name (GST_BIN (pipeline), "sink");
  gint64 start = g_get_monotonic_time ();

  memset (live, 0, sizeof (*live));
  count_pad (convolve, "sink", &live->in);
  count_pad (convolve, "src", &live->out);
  g_signal_connect (sink, "handoff", G_CALLBACK (count_shown), &live->shown);
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  read_bus (pipeline, convolve, live);
  live->seconds = (g_get_monotonic_time () - start) / 1e6;
  g_print ("%s: %d frames came, %" G_GUINT64_FORMAT " dropped by the element, %"
      G_GUINT64_FORMAT " by the sink, %d shown, %.2f s\n", properties, live->in,
      live->dropped_before, live->dropped_behind, live->shown, live->seconds);
  gst_element_set_state (pipeline, GST_STATE_NULL);
  gst_object_unref (sink);
  gst_object_unref (convolve);
  gst_object_unref (pipeline);
  g_free (line);

  /* None is lost without a word. */
  fail_unless_equals_int (live->in, live->out + (gint) live->dropped_before);
  fail_unless_equals_int (live->out, live->shown + (gint) live->dropped_behind);
}

/* Filtering is much faster than frames come. A machine that is busy with other
 * things may drop some, but not each time. */
GST_START_TEST (test_live)
{
  Live live;
  gint most = 0;

  for (guint i = 0; i < 3 && most < 45; i++) {
    play_live ("sigma=2", 60, &live);
    most = MAX (most, live.shown);
  }
  fail_unless (most >= 45, "only %d of 60 frames were shown", most);
}

GST_END_TEST;

/* Filtering is much slower: frames are dropped before they cost anything, and
 * the pipeline does not fall behind. */
GST_START_TEST (test_live_too_slow)
{
  Live live = {.seconds = G_MAXDOUBLE };

  for (guint i = 0; i < 3 && live.seconds >= 5; i++) {
    play_live ("filter=disk radius=24 method=direct iterations=4 n-threads=1",
        60, &live);
    fail_unless (live.dropped_before > 0, "nothing was dropped");
    fail_unless (live.shown >= 1 && live.shown < 60);
  }
  fail_unless (live.seconds < 5, "the pipeline fell behind");
}

GST_END_TEST;

static Suite *
live_suite (void)
{
  Suite *s = suite_create ("live");
  TCase *tc = tcase_create ("live");

  suite_add_tcase (s, tc);
  tcase_add_test (tc, test_live);
  tcase_add_test (tc, test_live_too_slow);
  return s;
}

GST_CHECK_MAIN (live);
