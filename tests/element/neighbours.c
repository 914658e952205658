/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The element between elements of other plugins. Every frame that goes through
 * it is compared with the reference.
 *
 *   element-neighbours CASE
 *
 * Exit status 77 where an element of the case is not installed. */
#include "neighbours.h"
#include "testmain.h"

#include <glib/gstdio.h>

#define TIMEOUT (40 * GST_SECOND)

/* ---- running ---- */

Neighbours
neighbours_new (const gchar * format, ...)
{
  Neighbours run;
  ConvolveSettings settings;
  GError *error = NULL;
  gchar *line;
  va_list args;

  va_start (args, format);
  line = g_strdup_vprintf (format, args);
  va_end (args);
  run.pipeline = gst_parse_launch_full (line, NULL, GST_PARSE_FLAG_FATAL_ERRORS,
      &error);
  fail_unless (run.pipeline != NULL, "%s: %s", line,
      error ? error->message : "");
  run.convolve = gst_bin_get_by_name (GST_BIN (run.pipeline), "convolve");
  convolve_settings_init (&settings);
  settings.sigma = 1.2;
  run.watch = frame_watch_new (run.convolve, &settings);
  g_free (line);
  return run;
}

void
neighbours_free (Neighbours * run)
{
  gst_element_set_state (run->pipeline, GST_STATE_NULL);
  frame_watch_free (run->watch);
  gst_object_unref (run->convolve);
  gst_object_unref (run->pipeline);
}

void
neighbours_wait (GstElement * pipeline)
{
  GstBus *bus = gst_element_get_bus (pipeline);
  GstMessage *message = gst_bus_timed_pop_filtered (bus, TIMEOUT,
      GST_MESSAGE_EOS | GST_MESSAGE_ERROR);
  GError *error = NULL;
  gchar *debug = NULL;

  fail_unless (message != NULL, "no end came");
  if (GST_MESSAGE_TYPE (message) == GST_MESSAGE_ERROR) {
    gst_message_parse_error (message, &error, &debug);
    fail ("%s: %s (%s)", GST_MESSAGE_SRC_NAME (message), error->message, debug);
  }
  gst_message_unref (message);
  gst_object_unref (bus);
}

void
neighbours_assert_frames (Neighbours * run, guint least, guint most)
{
  const gchar *fault = frame_watch_fault (run->watch);
  guint n = frame_watch_out (run->watch);

  fail_unless (fault == NULL, "%s", fault);
  fail_unless_equals_int (frame_watch_in (run->watch), n);
  fail_unless (n >= least && n <= most, "%u frames, not %u to %u", n, least,
      most);
}

/* Plays to the end; so many frames must have gone through. */
static void
play_some (Neighbours * run, guint least, guint most)
{
  gst_element_set_state (run->pipeline, GST_STATE_PLAYING);
  neighbours_wait (run->pipeline);
  neighbours_assert_frames (run, least, most);
  neighbours_free (run);
}

static void
play (Neighbours * run, guint n)
{
  play_some (run, n, n);
}

/* ---- players ---- */

/* A file with 20 frames of JPEG; the caller removes it. */
static gchar *
make_clip (void)
{
  gchar *path = NULL, *line;
  gint fd = g_file_open_tmp ("videoconvolve-XXXXXX.mkv", &path, NULL);
  GstElement *pipeline;

  fail_unless (fd >= 0);
  g_close (fd, NULL);
  line = g_strdup_printf (PICTURE " ! jpegenc ! matroskamux ! filesink "
      "location=%s", 20, "I420", path);
  pipeline = gst_parse_launch (line, NULL);
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  neighbours_wait (pipeline);
  gst_element_set_state (pipeline, GST_STATE_NULL);
  gst_object_unref (pipeline);
  g_free (line);
  return path;
}

static void
test_decodebin (void)
{
  gchar *path = make_clip ();
  Neighbours run = neighbours_new ("filesrc location=%s ! decodebin ! " CONVOLVE
      " ! fakevideosink sync=false", path);

  play (&run, 20);
  g_remove (path);
  g_free (path);
}

/* autovideosink takes the sink of the highest rank: a fake one, as there may be
 * no display. It asks for and gives what a real one does. */
static void
test_uridecodebin (void)
{
  GstPluginFeature *sink = gst_registry_lookup_feature (gst_registry_get (),
      "fakevideosink");
  gchar *path = make_clip ();
  gchar *uri = gst_filename_to_uri (path, NULL);
  Neighbours run;

  gst_plugin_feature_set_rank (sink, GST_RANK_PRIMARY + 1000);
  run = neighbours_new ("uridecodebin uri=%s ! " CONVOLVE " ! autovideosink "
      "sync=false", uri);
  play (&run, 20);
  gst_object_unref (sink);
  g_remove (path);
  g_free (uri);
  g_free (path);
}

/* ---- sharing ---- */

static void
add_checksum (GstElement * sink, GstBuffer * buffer, GstPad * pad,
    gpointer checksum)
{
  GstMapInfo map;

  fail_unless (gst_buffer_map (buffer, &map, GST_MAP_READ));
  g_checksum_update (checksum, map.data, map.size);
  gst_buffer_unmap (buffer, &map);
}

/* All bytes that reach the sink of that name. */
static GChecksum *
watch_sink (GstElement * pipeline, const gchar * name)
{
  GChecksum *checksum = g_checksum_new (G_CHECKSUM_SHA256);
  GstElement *sink = gst_bin_get_by_name (GST_BIN (pipeline), name);

  g_object_set (sink, "signal-handoffs", TRUE, NULL);
  g_signal_connect (sink, "handoff", G_CALLBACK (add_checksum), checksum);
  gst_object_unref (sink);
  return checksum;
}

/* Two filters and a plain branch share buffers; the plain one has them as they
 * were. Delays make sure that the filters have been at them before. */
static void
test_tee (void)
{
  Neighbours shared =
      neighbours_new (PICTURE " ! tee name=t t. ! queue ! " CONVOLVE
      " ! fakesink t. ! queue ! videoconvolve backend=cpu filter=sobel ! "
      "fakesink t. ! queue ! identity sleep-time=10000 ! fakesink name=plain",
      30, "I420");
  Neighbours alone =
      neighbours_new (PICTURE " ! tee name=t t. ! queue ! " CONVOLVE
      " ! fakesink t. ! queue ! fakesink name=plain", 30, "I420");
  GChecksum *one = watch_sink (shared.pipeline, "plain");
  GChecksum *other;
  GstElement *bare = gst_parse_launch ("videotestsrc pattern=ball "
      "num-buffers=30 ! video/x-raw,format=I420," SIZE ",framerate=30/1 ! "
      "fakesink name=plain", NULL);

  other = watch_sink (bare, "plain");
  gst_element_set_state (bare, GST_STATE_PLAYING);
  neighbours_wait (bare);
  gst_element_set_state (bare, GST_STATE_NULL);
  gst_object_unref (bare);
  play (&alone, 30);
  play (&shared, 30);
  fail_unless_equals_string (g_checksum_get_string (one),
      g_checksum_get_string (other));
  g_checksum_free (one);
  g_checksum_free (other);
}

static void
test_compositor (void)
{
  Neighbours before =
      neighbours_new ("compositor name=c sink_1::xpos=40 sink_1::alpha=0.5 ! "
      "video/x-raw,format=I420 ! fakesink " PICTURE " ! " CONVOLVE
      " ! c.sink_0 videotestsrc num-buffers=30 ! video/x-raw,format=I420," SIZE
      ",framerate=30/1 ! videoconvolve backend=cpu filter=emboss ! c.sink_1",
      30, "I420");
  Neighbours behind = neighbours_new ("compositor name=c sink_1::xpos=40 ! "
      "video/x-raw,format=AYUV ! " CONVOLVE " ! fakesink " PICTURE
      " ! c.sink_0 videotestsrc num-buffers=30 ! video/x-raw,format=AYUV," SIZE
      ",framerate=30/1 ! c.sink_1", 30, "AYUV");

  play (&before, 30);
  play (&behind, 30);
}

/* Frames that are there twice share their memory. At the end videorate may add
 * one. */
static void
test_videorate (void)
{
  Neighbours fewer =
      neighbours_new (PICTURE " ! videorate ! video/x-raw,framerate=10/1 ! "
      CONVOLVE " ! fakesink", 30, "NV12");
  Neighbours more =
      neighbours_new (PICTURE " ! videorate ! video/x-raw,framerate=60/1 ! "
      CONVOLVE " ! videorate ! video/x-raw,framerate=20/1 ! fakesink", 30,
      "NV12");

  play_some (&fewer, 10, 11);
  play_some (&more, 57, 61);
}

static void
test_videocrop (void)
{
  static const gchar *const formats[] = { "I420", "YUY2", "RGB", "NV12" };

  for (guint i = 0; i < G_N_ELEMENTS (formats); i++) {
    Neighbours run =
        neighbours_new (PICTURE " ! videocrop left=6 top=4 right=14 bottom=8 ! "
        CONVOLVE " ! videocrop left=2 top=10 right=4 bottom=2 ! fakesink", 10,
        formats[i]);

    play (&run, 10);
  }
}

/* ---- queues ---- */

/* 200 buffers wait before any goes on, before and behind the element: pools
 * must not end. */
static void
test_queue (void)
{
  static const gchar queue[] = "queue max-size-buffers=200 max-size-bytes=0 "
      "max-size-time=0 min-threshold-buffers=200";
  Neighbours behind =
      neighbours_new (PICTURE " ! " CONVOLVE " ! %s ! fakesink", 300, "I420",
      queue);
  Neighbours before =
      neighbours_new (PICTURE " ! %s ! " CONVOLVE " ! fakesink", 300, "I420",
      queue);
  Neighbours both = neighbours_new (PICTURE " ! %s ! " CONVOLVE
      " frames-in-flight=3 ! %s ! fakevideosink sync=false", 300, "NV12", queue,
      queue);

  play (&behind, 300);
  play (&before, 300);
  play (&both, 300);
}

/* ---- OpenGL ---- */

/* Without a display there may be no context; that is no fault. */
static gboolean
can_start (const gchar * line)
{
  GstElement *pipeline = gst_parse_launch (line, NULL);
  GstBus *bus = gst_element_get_bus (pipeline);
  GstMessage *message;
  gboolean ok;

  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  message = gst_bus_timed_pop_filtered (bus, TIMEOUT,
      GST_MESSAGE_EOS | GST_MESSAGE_ERROR);
  ok = message != NULL && GST_MESSAGE_TYPE (message) == GST_MESSAGE_EOS;
  gst_clear_message (&message);
  gst_element_set_state (pipeline, GST_STATE_NULL);
  gst_object_unref (bus);
  gst_object_unref (pipeline);
  return ok;
}

static gboolean
has_gl (void)
{
  return can_start ("videotestsrc num-buffers=2 ! glupload ! gldownload ! "
      "fakesink");
}

static void
test_gl (void)
{
  static const gchar *const formats[] = { "RGBA", "NV12", "I420" };

  for (guint i = 0; i < G_N_ELEMENTS (formats); i++) {
    Neighbours run =
        neighbours_new (PICTURE " ! glupload ! gldownload ! " CONVOLVE
        " ! glupload ! gldownload ! fakesink", 10, formats[i]);

    play (&run, 10);
  }
}

/* ---- cases ---- */

static const struct
{
  const gchar *name;
  void (*test) (void);
  const gchar *elements;        /* beyond those of GStreamer's core */
    gboolean (*is_possible) (void);
} cases[] = {
  {"decodebin", test_decodebin,
      "jpegenc jpegdec matroskamux matroskademux decodebin fakevideosink"},
  {"uridecodebin", test_uridecodebin, "jpegenc jpegdec matroskamux "
        "matroskademux uridecodebin autovideosink fakevideosink"},
  {"tee", test_tee, ""},
  {"compositor", test_compositor, "compositor"},
  {"videorate", test_videorate, "videorate"},
  {"videocrop", test_videocrop, "videocrop"},
  {"queue", test_queue, "fakevideosink"},
  {"gl", test_gl, "glupload gldownload", has_gl},
  {"rtp-raw", neighbours_test_rtp_raw,
      "udpsrc udpsink rtpjitterbuffer rtpvrawpay rtpvrawdepay"},
  {"rtp-jpeg", neighbours_test_rtp_jpeg,
      "udpsrc udpsink rtpjitterbuffer rtpjpegpay "
        "rtpjpegdepay jpegenc jpegdec"},
  {"rtp-vp8", neighbours_test_rtp_vp8,
      "udpsrc udpsink rtpjitterbuffer rtpvp8pay rtpvp8depay vp8enc " "vp8dec"},
  {"webrtc", neighbours_test_webrtc,
        "webrtcbin nicesrc nicesink dtlssrtpenc dtlssrtpdec "
        "srtpenc srtpdec rtpbin rtpvp8pay rtpvp8depay vp8enc vp8dec",
      neighbours_has_network},
};

static guint chosen;

GST_START_TEST (test_chosen)
{
  cases[chosen].test ();
}

GST_END_TEST;

static gboolean
has_elements (const gchar * names)
{
  gchar **list = g_strsplit (names, " ", -1);
  gboolean all = TRUE;

  for (guint i = 0; list[i] != NULL; i++) {
    GstElementFactory *factory = gst_element_factory_find (list[i]);

    if (factory == NULL) {
      g_print ("SKIP: the element %s is not installed\n", list[i]);
      all = FALSE;
    }
    gst_clear_object (&factory);
  }
  g_strfreev (list);
  return all;
}

int
main (int argc, char **argv)
{
  Suite *suite = suite_create ("neighbours");
  TCase *tests = tcase_create ("neighbours");

  /* OpenGL needs no display with this. */
  if (g_getenv ("DISPLAY") == NULL && g_getenv ("WAYLAND_DISPLAY") == NULL) {
    g_setenv ("GST_GL_PLATFORM", "egl", FALSE);
    g_setenv ("GST_GL_WINDOW", "egl-device", FALSE);
  }
  /* A process runs one case, and OpenGL does not survive a fork. */
  g_setenv ("CK_FORK", "no", TRUE);
  gst_check_init (&argc, &argv);
  while (chosen < G_N_ELEMENTS (cases)
      && g_strcmp0 (cases[chosen].name, argv[1]) != 0)
    chosen++;
  if (chosen == G_N_ELEMENTS (cases)) {
    g_printerr ("there is no case '%s'\n", argv[1]);
    return TEST_USAGE;
  }
  if (cases[chosen].elements[0] != '\0'
      && !has_elements (cases[chosen].elements))
    return TEST_SKIPPED;
  if (cases[chosen].is_possible != NULL && !cases[chosen].is_possible ()) {
    g_print ("SKIP: %s cannot be started here\n", cases[chosen].elements);
    return TEST_SKIPPED;
  }
  suite_add_tcase (suite, tests);
  tcase_set_timeout (tests, 100);
  tcase_add_test (tests, test_chosen);
  return gst_check_run_suite (suite, cases[chosen].name, __FILE__);
}
