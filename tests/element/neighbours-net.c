/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The element at both ends of a network: RTP through the loopback device, and
 * WebRTC. */
#include "neighbours.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

/* Counts frames until there are n, or the time is over. */
static guint
wait_for_frames (Neighbours * run, guint n)
{
  gint64 end = g_get_monotonic_time () + 20 * G_USEC_PER_SEC;

  while (frame_watch_out (run->watch) < n && g_get_monotonic_time () < end)
    g_usleep (10000);
  return frame_watch_out (run->watch);
}

/* Filtered, sent through the loopback device, and filtered once more: how many
 * of 40 frames arrive. */
static guint
run_rtp (const gchar * format, const gchar * pay, const gchar * caps,
    const gchar * depay)
{
  Neighbours receiver =
      neighbours_new ("udpsrc name=in address=127.0.0.1 port=0 "
      "buffer-size=4000000 caps=\"application/x-rtp,media=video,"
      "clock-rate=90000,%s\" ! rtpjitterbuffer latency=200 ! %s ! " CONVOLVE
      " ! fakesink sync=false", caps, depay);
  GstElement *in = gst_bin_get_by_name (GST_BIN (receiver.pipeline), "in");
  Neighbours sender;
  gint port = 0;
  guint n;

  gst_element_set_state (receiver.pipeline, GST_STATE_PLAYING);
  for (guint i = 0; i < 500 && port == 0; i++) {
    g_usleep (10000);
    g_object_get (in, "port", &port, NULL);
  }
  fail_unless (port != 0, "no port was bound");
  gst_object_unref (in);

  sender =
      neighbours_new (PICTURE " ! " CONVOLVE " ! %s ! udpsink host=127.0.0.1 "
      "port=%d", 40, format, pay, port);
  gst_element_set_state (sender.pipeline, GST_STATE_PLAYING);
  neighbours_wait (sender.pipeline);
  n = wait_for_frames (&receiver, 40);
  g_print ("%s: %u frames sent, %u received\n", pay,
      frame_watch_out (sender.watch), n);
  neighbours_assert_frames (&sender, 40, 40);
  fail_unless (frame_watch_fault (receiver.watch) == NULL, "%s",
      frame_watch_fault (receiver.watch));
  neighbours_free (&sender);
  neighbours_free (&receiver);
  return n;
}

/* Packets may get lost or be late where the machine is busy, but not each time:
 * half of the frames are enough, in one of three runs. */
static void
check_rtp (const gchar * format, const gchar * pay, const gchar * caps,
    const gchar * depay)
{
  guint most = 0;

  for (guint i = 0; i < 3 && most < 20; i++)
    most = MAX (most, run_rtp (format, pay, caps, depay));
  fail_unless (most >= 20, "only %u frames of 40 arrived", most);
}

void
neighbours_test_rtp_raw (void)
{
  check_rtp ("UYVY", "rtpvrawpay", "encoding-name=RAW,sampling=(string)"
      "YCbCr-4:2:2,depth=(string)8,width=(string)80,height=(string)60,"
      "colorimetry=(string)BT601-5,payload=96", "rtpvrawdepay");
}

void
neighbours_test_rtp_jpeg (void)
{
  check_rtp ("I420", "jpegenc ! rtpjpegpay", "encoding-name=JPEG,payload=26",
      "rtpjpegdepay ! jpegdec");
}

void
neighbours_test_rtp_vp8 (void)
{
  check_rtp ("I420", "vp8enc deadline=1 keyframe-max-dist=5 ! rtpvp8pay",
      "encoding-name=VP8,payload=96", "rtpvp8depay ! vp8dec");
}

gboolean
neighbours_has_network (void)
{
  struct ifaddrs *all = NULL;
  gboolean found = FALSE;

  if (getifaddrs (&all) != 0)
    return FALSE;
  for (struct ifaddrs * i = all; i != NULL; i = i->ifa_next)
    found |= i->ifa_addr != NULL && i->ifa_addr->sa_family == AF_INET
        && (i->ifa_flags & IFF_UP) && !(i->ifa_flags & IFF_LOOPBACK);
  freeifaddrs (all);
  return found;
}

/* Two webrtcbins of one process: filtered, encoded, encrypted, and back. */
typedef struct
{
  GstElement *bin[2];           /* that offers, that answers */
} Peers;

/* Sets a description at both sides, once the promise has it. */
static void
describe (Peers * peers, GstPromise * promise, const gchar * field, guint from)
{
  const GValue *value;

  fail_unless_equals_int (gst_promise_wait (promise),
      GST_PROMISE_RESULT_REPLIED);
  value = gst_structure_get_value (gst_promise_get_reply (promise), field);
  fail_unless (value != NULL, "there is no %s", field);
  g_signal_emit_by_name (peers->bin[from], "set-local-description",
      g_value_get_boxed (value), NULL);
  g_signal_emit_by_name (peers->bin[1 - from], "set-remote-description",
      g_value_get_boxed (value), NULL);
  gst_promise_unref (promise);
}

/* Not on the thread of the bin that needs it, which has to answer. */
static void
on_negotiation_needed (GstElement * bin, gpointer needed)
{
  g_atomic_int_set ((gint *) needed, TRUE);
}

static void
negotiate (Peers * peers, gint * needed)
{
  static const gchar *const fields[] = { "offer", "answer" };
  static const gchar *const signals[] = { "create-offer", "create-answer" };

  for (guint i = 0; i < 1000 && !g_atomic_int_get (needed); i++)
    g_usleep (10000);
  fail_unless (g_atomic_int_get (needed), "nothing is negotiated");
  for (guint i = 0; i < 2; i++) {
    GstPromise *promise = gst_promise_new ();

    g_signal_emit_by_name (peers->bin[i], signals[i], NULL, promise);
    describe (peers, promise, fields[i], i);
  }
}

static void
on_ice_candidate (GstElement * bin, guint line, gchar * candidate,
    gpointer data)
{
  Peers *peers = data;

  g_signal_emit_by_name (peers->bin[bin == peers->bin[0]], "add-ice-candidate",
      line, candidate);
}

static void
on_pad_added (GstElement * bin, GstPad * pad, gpointer depay)
{
  GstPad *sink = gst_element_get_static_pad (depay, "sink");

  if (GST_PAD_IS_SRC (pad) && !gst_pad_is_linked (sink))
    fail_unless_equals_int (gst_pad_link (pad, sink), GST_PAD_LINK_OK);
  gst_object_unref (sink);
}

void
neighbours_test_webrtc (void)
{
  Neighbours sender =
      neighbours_new ("videotestsrc is-live=true pattern=ball ! "
      "video/x-raw,format=I420," SIZE ",framerate=30/1 ! " CONVOLVE
      " ! queue ! vp8enc deadline=1 keyframe-max-dist=5 ! rtpvp8pay ! "
      "application/x-rtp,media=video,encoding-name=VP8,payload=96 ! "
      "webrtcbin name=peer bundle-policy=max-bundle");
  Neighbours receiver =
      neighbours_new ("webrtcbin name=peer bundle-policy=max-bundle "
      "rtpvp8depay name=depay ! vp8dec ! " CONVOLVE " ! fakesink sync=false");
  GstElement *depay = gst_bin_get_by_name (GST_BIN (receiver.pipeline),
      "depay");
  Peers peers = { {gst_bin_get_by_name (GST_BIN (sender.pipeline), "peer"),
      gst_bin_get_by_name (GST_BIN (receiver.pipeline), "peer")}
  };
  gint needed = FALSE;
  guint n;

  g_signal_connect (peers.bin[0], "on-negotiation-needed",
      G_CALLBACK (on_negotiation_needed), &needed);
  g_signal_connect (peers.bin[1], "pad-added", G_CALLBACK (on_pad_added),
      depay);
  for (guint i = 0; i < 2; i++)
    g_signal_connect (peers.bin[i], "on-ice-candidate",
        G_CALLBACK (on_ice_candidate), &peers);
  gst_element_set_state (receiver.pipeline, GST_STATE_PLAYING);
  gst_element_set_state (sender.pipeline, GST_STATE_PLAYING);
  negotiate (&peers, &needed);
  n = wait_for_frames (&receiver, 20);
  g_print ("webrtcbin: %u frames sent, %u received\n",
      frame_watch_out (sender.watch), n);
  gst_element_set_state (sender.pipeline, GST_STATE_NULL);
  gst_element_set_state (receiver.pipeline, GST_STATE_NULL);
  fail_unless (n >= 20, "only %u frames arrived", n);
  fail_unless (frame_watch_fault (sender.watch) == NULL, "%s",
      frame_watch_fault (sender.watch));
  fail_unless (frame_watch_fault (receiver.watch) == NULL, "%s",
      frame_watch_fault (receiver.watch));
  for (guint i = 0; i < 2; i++)
    gst_object_unref (peers.bin[i]);
  gst_object_unref (depay);
  neighbours_free (&sender);
  neighbours_free (&receiver);
}
