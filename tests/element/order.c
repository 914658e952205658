/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What comes between frames: late ones dropped, gaps, events of all kinds. Runs
 * on the plugin as it is, and on the one with three frames in flight. */
#include "elementtest.h"
#include "../lib/testmain.h"

#define GREY_CAPS "video/x-raw,format=GRAY8,width=8,height=4,framerate=25/1"
#define FRAME (40 * GST_MSECOND)

/* ---- QoS ---- */

static GstPadProbeReturn
note_qos (GstPad * pad, GstPadProbeInfo * info, gpointer data)
{
  if (GST_EVENT_TYPE (GST_PAD_PROBE_INFO_EVENT (info)) == GST_EVENT_QOS)
    (*(guint *) data)++;
  return GST_PAD_PROBE_OK;
}

/* What the sink says goes upstream; late frames are dropped and reported, those
 * in flight are not, and DISCONT marks the frame after the gap. */
GST_START_TEST (test_qos)
{
  GstHarness *h = element_harness ("videoconvolve filter=box radius=1",
      GREY_CAPS);
  GstBus *bus = bus_of (h);
  guint64 processed, dropped;
  guint n_events = 0;
  GstMessage *message;
  GstFormat format;

  gst_pad_add_probe (h->srcpad, GST_PAD_PROBE_TYPE_EVENT_UPSTREAM, note_qos,
      &n_events, NULL);
  for (guint i = 0; i < 3; i++)
    gst_harness_push (h, filled_buffer (32, i, i));
  gst_harness_push_upstream_event (h, gst_event_new_qos
      (GST_QOS_TYPE_UNDERFLOW, 2.0, 100 * GST_MSECOND, 3 * FRAME));
  fail_unless_equals_int (n_events, 1);
  for (guint i = 3; i < 5; i++)
    fail_unless_equals_int (gst_harness_push (h, filled_buffer (32, i, i)),
        GST_FLOW_OK);
  for (guint i = 20; i < 24; i++)
    gst_harness_push (h, filled_buffer (32, i, i));
  gst_harness_push_event (h, gst_event_new_eos ());

  for (guint i = 0; i < 7; i++) {
    guint n = i < 3 ? i : 17 + i;
    GstBuffer *buffer = gst_harness_pull (h);

    fail_unless_equals_uint64 (GST_BUFFER_PTS (buffer), n * FRAME);
    fail_unless_equals_int (GST_BUFFER_FLAG_IS_SET (buffer,
            GST_BUFFER_FLAG_DISCONT), n == 20);
    assert_filled (buffer, n);
  }
  fail_unless_equals_int (gst_harness_buffers_in_queue (h), 0);
  message = gst_bus_pop_filtered (bus, GST_MESSAGE_QOS);
  fail_unless (message != NULL);
  gst_message_unref (message);
  message = gst_bus_pop_filtered (bus, GST_MESSAGE_QOS);
  fail_unless (message != NULL);
  gst_message_parse_qos_stats (message, &format, &processed, &dropped);
  fail_unless_equals_int (format, GST_FORMAT_BUFFERS);
  fail_unless_equals_uint64 (dropped, 2);
  gst_message_unref (message);
  bus_done (h, bus);
  gst_harness_teardown (h);
}

GST_END_TEST;

/* ---- gaps ---- */

/* A gap comes after the frames before it, as it was sent; a frame that is
 * marked one is filtered like any, and stays marked. */
GST_START_TEST (test_gaps)
{
  GstHarness *h = element_harness ("videoconvolve filter=box radius=1",
      GREY_CAPS);
  GstClockTime time, duration;
  GstBuffer *buffer;
  GstEvent *event;

  for (guint i = 0; i < 3; i++) {
    gst_harness_push (h, filled_buffer (32, i, i));
    if (i == 0) {
      while ((event = gst_harness_try_pull_event (h)) != NULL)
        gst_event_unref (event);
    }
  }
  fail_unless (gst_harness_push_event (h, gst_event_new_gap (3 * FRAME,
              5 * FRAME)));
  fail_unless_equals_int (gst_harness_buffers_in_queue (h), 3);
  event = gst_harness_pull_event (h);
  fail_unless_equals_int (GST_EVENT_TYPE (event), GST_EVENT_GAP);
  gst_event_parse_gap (event, &time, &duration);
  fail_unless_equals_uint64 (time, 3 * FRAME);
  fail_unless_equals_uint64 (duration, 5 * FRAME);
  gst_event_unref (event);
  for (guint i = 0; i < 3; i++)
    assert_filled (gst_harness_pull (h), i);

  buffer = filled_buffer (32, 77, 8);
  GST_BUFFER_FLAG_SET (buffer, GST_BUFFER_FLAG_GAP);
  gst_harness_push (h, buffer);
  gst_harness_push_event (h, gst_event_new_eos ());
  buffer = gst_harness_pull (h);
  fail_unless (GST_BUFFER_FLAG_IS_SET (buffer, GST_BUFFER_FLAG_GAP));
  assert_filled (buffer, 77);
  gst_harness_teardown (h);
}

GST_END_TEST;

/* ---- order ---- */

/* What passed, as text: type and number. */
static GstPadProbeReturn
note_item (GstPad * pad, GstPadProbeInfo * info, gpointer data)
{
  GString *text = data;

  if (info->type & GST_PAD_PROBE_TYPE_BUFFER) {
    g_string_append_printf (text, " frame-%u", (guint)
        (GST_BUFFER_PTS (GST_PAD_PROBE_INFO_BUFFER (info)) / FRAME));
  } else {
    GstEvent *event = GST_PAD_PROBE_INFO_EVENT (info);
    gint n = gst_event_get_seqnum (event), one;
    GstCaps *caps;

    /* The base class makes a new one of caps. */
    if (GST_EVENT_TYPE (event) == GST_EVENT_CAPS) {
      gst_event_parse_caps (event, &caps);
      gst_structure_get_fraction (gst_caps_get_structure (caps, 0),
          "framerate", &n, &one);
    }
    g_string_append_printf (text, " %s-%d", GST_EVENT_TYPE_NAME (event), n);
  }
  return GST_PAD_PROBE_OK;
}

/* The n-th kind of serialized event, none like another. */
static GstEvent *
event_new (guint kind, guint n)
{
  GstTagList *tags = gst_tag_list_new (GST_TAG_BITRATE, n + 1, NULL);
  gchar *name = g_strdup_printf ("stream-%u", n);
  GstCaps *caps = gst_caps_from_string (GREY_CAPS);
  GstToc *toc = gst_toc_new (GST_TOC_SCOPE_GLOBAL);
  GstEvent *event;
  GstSegment segment;

  gst_segment_init (&segment, GST_FORMAT_TIME);
  segment.base = n * FRAME;
  gst_caps_set_simple (caps, "framerate", GST_TYPE_FRACTION, n + 1, 1, NULL);
  switch (kind) {
    case 0:
      event = gst_event_new_stream_start (name);
      break;
    case 1:
      event = gst_event_new_tag (gst_tag_list_ref (tags));
      break;
    case 2:
      event = gst_event_new_caps (caps);
      break;
    case 3:
      event = gst_event_new_segment (&segment);
      break;
    case 4:
      event = gst_event_new_gap (n * FRAME, FRAME);
      break;
    case 5:
      event = gst_event_new_custom (GST_EVENT_CUSTOM_DOWNSTREAM,
          gst_structure_new_empty (name));
      break;
    default:
      event = gst_event_new_toc (toc, TRUE);
  }
  gst_toc_unref (toc);
  gst_tag_list_unref (tags);
  gst_caps_unref (caps);
  g_free (name);
  return event;
}

/* Frames and events in any order: they come out in that order. */
GST_START_TEST (test_nothing_overtakes)
{
  GstHarness *h = element_harness ("videoconvolve filter=box radius=1",
      GREY_CAPS);
  GString *in = g_string_new (NULL), *out = g_string_new (NULL);
  GRand *rand = g_rand_new_with_seed (test_seed (NULL));

  gst_harness_push (h, filled_buffer (32, 0, 0));
  gst_harness_push_event (h, gst_event_new_gap (0, 1));
  gst_pad_add_probe (h->srcpad, GST_PAD_PROBE_TYPE_BUFFER
      | GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM, note_item, in, NULL);
  gst_pad_add_probe (h->sinkpad, GST_PAD_PROBE_TYPE_BUFFER
      | GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM, note_item, out, NULL);
  for (guint i = 1; i < 300; i++) {
    guint kind = g_rand_int_range (rand, 0, 14);

    if (kind < 7) {
      fail_unless (gst_harness_push_event (h, event_new (kind, i)));
      continue;
    }
    fail_unless_equals_int (gst_harness_push (h, filled_buffer (32, i, i)),
        GST_FLOW_OK);
  }
  gst_harness_push_event (h, gst_event_new_eos ());
  if (!g_str_equal (in->str, out->str)) {
    guint i = 0;

    while (in->str[i] == out->str[i])
      i++;
    fail ("%.200s went in,\n%.200s came out", in->str + MAX (i, 20) - 20,
        out->str + MAX (i, 20) - 20);
  }
  g_rand_free (rand);
  g_string_free (in, TRUE);
  g_string_free (out, TRUE);
  gst_harness_teardown (h);
}

GST_END_TEST;

static Suite *
order_suite (void)
{
  Suite *s = suite_create ("order");
  TCase *tc = tcase_create ("order");

  suite_add_tcase (s, tc);
  tcase_add_test (tc, test_qos);
  tcase_add_test (tc, test_gaps);
  tcase_add_test (tc, test_nothing_overtakes);
  return s;
}

GST_CHECK_MAIN (order);
