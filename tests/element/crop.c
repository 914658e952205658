/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Cropping upstream: a blur must not see what was cut away. videocrop cuts by a
 * meta where that is announced to be honoured, and copies where it is not. */
#include "pictures.h"

#define TEST_SKIPPED 77
#define SOURCE "videotestsrc num-buffers=3 pattern=snow ! " \
    "video/x-raw,format=%s,width=80,height=60,framerate=25/1 ! " \
    "videocrop left=10 top=6 right=8 bottom=4"
#define CROPPED "video/x-raw,format=%s,width=62,height=50,framerate=25/1"

static void
keep_buffer (GstElement * sink, GstBuffer * buffer, GstPad * pad, gpointer data)
{
  g_ptr_array_add (data, gst_buffer_ref (buffer));
}

/* The buffers that source, then filter, give. */
static GPtrArray *
run (const gchar * format, const gchar * filter)
{
  const gchar *more = g_getenv ("ELEMENT_TEST_PROPERTIES");
  gchar *source = g_strdup_printf (SOURCE, format);
  gchar *line = g_strdup_printf ("%s ! %s %s ! fakesink name=sink sync=false "
      "signal-handoffs=true", source, filter,
      more != NULL && g_str_has_prefix (filter, "videoconvolve") ? more : "");
  GstElement *pipeline = gst_parse_launch (line, NULL);
  GstElement *sink = gst_bin_get_by_name (GST_BIN (pipeline), "sink");
  GPtrArray *frames = g_ptr_array_new ();
  GstBus *bus = gst_element_get_bus (pipeline);
  GstMessage *message;

  g_signal_connect (sink, "handoff", G_CALLBACK (keep_buffer), frames);
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  message = gst_bus_timed_pop_filtered (bus, 20 * GST_SECOND,
      GST_MESSAGE_EOS | GST_MESSAGE_ERROR);
  fail_unless (message != NULL);
  fail_unless_equals_int (GST_MESSAGE_TYPE (message), GST_MESSAGE_EOS);
  gst_message_unref (message);
  gst_element_set_state (pipeline, GST_STATE_NULL);
  gst_object_unref (bus);
  gst_object_unref (sink);
  gst_object_unref (pipeline);
  g_free (line);
  g_free (source);
  fail_unless_equals_int (frames->len, 3);
  return frames;
}

static const gchar *const formats[] = { "I420", "NV12", "GRAY8", "RGBA",
  "YUY2"
};

GST_START_TEST (test_as_cropped_first)
{
  gchar *caps = g_strdup_printf (CROPPED, formats[__i__]);
  GPtrArray *in = run (formats[__i__], "identity");
  GPtrArray *out = run (formats[__i__], "videoconvolve sigma=4");
  ConvolveSettings settings;
  Pictures pictures;

  convolve_settings_init (&settings);
  settings.sigma = 4;
  pictures_init (&pictures, caps);
  for (guint i = 0; i < 3; i++) {
    RandomFrame *frame =
        picture_from_buffer (&pictures, g_ptr_array_index (in, i));
    GstBuffer *buffer = g_ptr_array_index (out, i);

    random_frame_seal (frame);
    fail_if (gst_buffer_get_video_crop_meta (buffer));
    assert_picture (&pictures, frame, buffer, &settings, FALSE, NULL);
    random_frame_free (frame);
  }
  g_ptr_array_unref (in);
  g_ptr_array_unref (out);
  g_free (caps);
}

GST_END_TEST;

int
main (int argc, char **argv)
{
  Suite *s = suite_create ("crop");
  TCase *tc = tcase_create ("crop");
  GstElementFactory *crop;

  gst_check_init (&argc, &argv);
  crop = gst_element_factory_find ("videocrop");
  if (crop == NULL) {
    g_print ("skipped: the element videocrop is not installed\n");
    return TEST_SKIPPED;
  }
  gst_object_unref (crop);
  suite_add_tcase (s, tc);
  tcase_add_loop_test (tc, test_as_cropped_first, 0, G_N_ELEMENTS (formats));
  return gst_check_run_suite (s, "crop", __FILE__);
}
