/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Stands for a detector: runs a pipeline that is written as for gst-launch-1.0,
 * and marks a moving region on every frame that passes its element named
 * "regions", with a GstVideoRegionOfInterestMeta of type "face". A real
 * detector does the same with what it found.
 *
 *   moving-region videotestsrc ! identity name=regions ! \
 *       videoconvolve roi-mode=inside ! videoconvert ! autovideosink
 */
#include <math.h>

#include <glib-unix.h>
#include <gst/gst.h>
#include <gst/video/video.h>

/* Seconds for once around. */
#define PERIOD 6.0

typedef struct
{
  GMainLoop *loop;
  GstElement *pipeline;
  GstVideoInfo info;            /* of the pad, as its caps come by */
  gboolean failed;
} App;

/* A quarter as wide and a third as high as the frame, on an ellipse. */
static void
mark (GstBuffer * buffer, const GstVideoInfo * info)
{
  gint frame_width = GST_VIDEO_INFO_WIDTH (info);
  gint frame_height = GST_VIDEO_INFO_HEIGHT (info);
  gint width = frame_width / 4, height = frame_height / 3;
  gdouble angle = 0;

  if (GST_BUFFER_PTS_IS_VALID (buffer))
    angle = 2 * G_PI * GST_BUFFER_PTS (buffer) / (PERIOD * GST_SECOND);
  gst_buffer_add_video_region_of_interest_meta (buffer, "face",
      (frame_width - width) / 2 * (1 + 0.9 * cos (angle)),
      (frame_height - height) / 2 * (1 + 0.9 * sin (angle)), width, height);
}

static GstPadProbeReturn
on_item (GstPad * pad, GstPadProbeInfo * probe, gpointer data)
{
  App *app = data;
  GstCaps *caps;

  if (probe->type & GST_PAD_PROBE_TYPE_BUFFER) {
    GstBuffer *buffer = gst_buffer_make_writable (probe->data);

    mark (buffer, &app->info);
    probe->data = buffer;
  } else if (GST_EVENT_TYPE (probe->data) == GST_EVENT_CAPS) {
    gst_event_parse_caps (probe->data, &caps);
    if (!gst_video_info_from_caps (&app->info, caps))
      gst_printerrln ("these caps are no raw video: %" GST_PTR_FORMAT, caps);
  }
  return GST_PAD_PROBE_OK;
}

static gboolean
on_message (GstBus * bus, GstMessage * message, gpointer data)
{
  g_autoptr (GError) error = NULL;
  App *app = data;

  switch (GST_MESSAGE_TYPE (message)) {
    case GST_MESSAGE_ERROR:
      gst_message_parse_error (message, &error, NULL);
      gst_printerrln ("ERROR: %s: %s", GST_OBJECT_NAME (message->src),
          error->message);
      app->failed = TRUE;
      g_main_loop_quit (app->loop);
      break;
    case GST_MESSAGE_WARNING:
      gst_message_parse_warning (message, &error, NULL);
      gst_printerrln ("WARNING: %s: %s", GST_OBJECT_NAME (message->src),
          error->message);
      break;
    case GST_MESSAGE_EOS:
      g_main_loop_quit (app->loop);
      break;
    case GST_MESSAGE_LATENCY:
      gst_bin_recalculate_latency (GST_BIN (app->pipeline));
      break;
    default:
      break;
  }
  return G_SOURCE_CONTINUE;
}

/* Ctrl-C ends the stream, so that files are whole; a second one ends it all. */
static gboolean
on_interrupt (gpointer data)
{
  App *app = data;

  gst_element_send_event (app->pipeline, gst_event_new_eos ());
  return G_SOURCE_REMOVE;
}

static gboolean
watch_regions (App * app)
{
  g_autoptr (GstElement) element =
      gst_bin_get_by_name (GST_BIN (app->pipeline), "regions");
  g_autoptr (GstPad) pad = NULL;

  if (element != NULL)
    pad = gst_element_get_static_pad (element, "src");
  if (pad == NULL) {
    gst_printerrln ("no element is named 'regions': put identity name=regions "
        "before videoconvolve");
    return FALSE;
  }
  gst_pad_add_probe (pad, GST_PAD_PROBE_TYPE_BUFFER
      | GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM, on_item, app, NULL);
  return TRUE;
}

int
main (int argc, char **argv)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GstBus) bus = NULL;
  App app = { NULL };

  gst_init (&argc, &argv);
  gst_video_info_init (&app.info);
  app.pipeline = gst_parse_launchv ((const gchar **) argv + 1, &error);
  if (app.pipeline == NULL || error != NULL) {
    gst_printerrln ("%s", error != NULL ? error->message : "no pipeline");
    gst_clear_object (&app.pipeline);
    return 1;
  }
  if (!GST_IS_PIPELINE (app.pipeline) || !watch_regions (&app)) {
    gst_object_unref (app.pipeline);
    return 1;
  }

  app.loop = g_main_loop_new (NULL, FALSE);
  bus = gst_element_get_bus (app.pipeline);
  gst_bus_add_watch (bus, on_message, &app);
  g_unix_signal_add (SIGINT, on_interrupt, &app);
  gst_element_set_state (app.pipeline, GST_STATE_PLAYING);
  g_main_loop_run (app.loop);

  gst_element_set_state (app.pipeline, GST_STATE_NULL);
  gst_bus_remove_watch (bus);
  g_main_loop_unref (app.loop);
  gst_object_unref (app.pipeline);
  return app.failed;
}
