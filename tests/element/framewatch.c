/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "framewatch.h"

#include <string.h>

typedef struct
{
  GstClockTime pts;
  RandomFrame *frame;
} Waiting;

struct _FrameWatch
{
  GstPad *pad[2];
  gulong probe[2];
  ConvolveSettings settings;
  GMutex lock;                  /* over all that follows */
  GstVideoInfo info[2];         /* in, out */
  GQueue waiting;               /* frames that came in */
  guint n_in, n_out;
  gchar *fault;
};

RandomFrame *
frame_of_buffer (const GstVideoInfo * info, GstBuffer * buffer)
{
  Random random = { 1 };
  RandomFrame *frame = random_frame_new (info, &random, TRUE);
  GstVideoFrame mapped;

  if (!gst_video_frame_map (&mapped, info, buffer, GST_MAP_READ)) {
    random_frame_free (frame);
    return NULL;
  }
  for (guint p = 0; p < frame->n_planes; p++) {
    const FramePlane *plane = &frame->plane[p];
    gint to = frame->frame.stride[p];
    gint from = GST_VIDEO_FRAME_PLANE_STRIDE (&mapped, p);

    for (gsize done = 0, y = 0; done < plane->size; done += to, y++)
      memcpy (plane->block + done,
          (guint8 *) GST_VIDEO_FRAME_PLANE_DATA (&mapped,
              p) + (gssize) y * from, MIN ((gsize) MIN (ABS (from), to),
              plane->size - done));
  }
  gst_video_frame_unmap (&mapped);
  random_frame_seal (frame);
  return frame;
}

static void
waiting_free (gpointer data)
{
  random_frame_free (((Waiting *) data)->frame);
  g_free (data);
}

/* ---- probes ---- */

static void
set_fault (FrameWatch * watch, gchar * fault)
{
  if (watch->fault == NULL)
    watch->fault = fault;
  else
    g_free (fault);
}

static void
frame_in (FrameWatch * watch, GstBuffer * buffer)
{
  Waiting *waiting = g_new0 (Waiting, 1);

  waiting->pts = GST_BUFFER_PTS (buffer);
  waiting->frame = frame_of_buffer (&watch->info[0], buffer);
  watch->n_in++;
  g_queue_push_tail (&watch->waiting, waiting);
}

/* Frames before this one were dropped. */
static Waiting *
find_input (FrameWatch * watch, GstClockTime pts)
{
  Waiting *waiting;

  while ((waiting = g_queue_pop_head (&watch->waiting)) != NULL
      && waiting->pts != pts)
    waiting_free (waiting);
  return waiting;
}

static void
frame_out (FrameWatch * watch, GstBuffer * buffer)
{
  Waiting *in = find_input (watch, GST_BUFFER_PTS (buffer));
  RandomFrame *out = frame_of_buffer (&watch->info[1], buffer);
  Reference *reference;
  gchar *fault = NULL;

  watch->n_out++;
  if (in == NULL || in->frame == NULL || out == NULL) {
    set_fault (watch, g_strdup_printf ("frame %u %s", watch->n_out - 1,
            in == NULL ? "came from nowhere" : "cannot be mapped"));
  } else if (!gst_video_info_is_equal (&watch->info[0], &watch->info[1])) {
    set_fault (watch, g_strdup ("the caps of both pads differ"));
  } else {
    reference = reference_new (&watch->info[0], in->frame->frame.data,
        in->frame->frame.stride, &watch->settings, FALSE);
    if (!compare_frames (reference, in->frame, out, &fault))
      set_fault (watch, g_strdup_printf ("frame %u: %s", watch->n_out - 1,
              fault));
    g_free (fault);
    reference_free (reference);
  }
  if (in != NULL)
    waiting_free (in);
  if (out != NULL)
    random_frame_free (out);
}

static GstPadProbeReturn
on_pad (GstPad * pad, GstPadProbeInfo * info, gpointer data)
{
  FrameWatch *watch = data;
  gboolean is_out = pad == watch->pad[1];
  GstCaps *caps;

  g_mutex_lock (&watch->lock);
  if (info->type & GST_PAD_PROBE_TYPE_BUFFER) {
    if (is_out)
      frame_out (watch, GST_PAD_PROBE_INFO_BUFFER (info));
    else
      frame_in (watch, GST_PAD_PROBE_INFO_BUFFER (info));
  } else if (GST_EVENT_TYPE (info->data) == GST_EVENT_CAPS) {
    gst_event_parse_caps (GST_PAD_PROBE_INFO_EVENT (info), &caps);
    gst_video_info_from_caps (&watch->info[is_out], caps);
  }
  g_mutex_unlock (&watch->lock);
  return GST_PAD_PROBE_OK;
}

/* ---- the watch ---- */

FrameWatch *
frame_watch_new (GstElement * convolve, const ConvolveSettings * settings)
{
  FrameWatch *watch = g_new0 (FrameWatch, 1);
  static const gchar *const names[] = { "sink", "src" };

  g_mutex_init (&watch->lock);
  convolve_settings_copy (&watch->settings, settings);
  for (guint i = 0; i < 2; i++) {
    watch->pad[i] = gst_element_get_static_pad (convolve, names[i]);
    watch->probe[i] = gst_pad_add_probe (watch->pad[i],
        GST_PAD_PROBE_TYPE_BUFFER | GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM, on_pad,
        watch, NULL);
  }
  return watch;
}

guint
frame_watch_in (FrameWatch * watch)
{
  guint n;

  g_mutex_lock (&watch->lock);
  n = watch->n_in;
  g_mutex_unlock (&watch->lock);
  return n;
}

guint
frame_watch_out (FrameWatch * watch)
{
  guint n;

  g_mutex_lock (&watch->lock);
  n = watch->n_out;
  g_mutex_unlock (&watch->lock);
  return n;
}

const gchar *
frame_watch_fault (FrameWatch * watch)
{
  const gchar *fault;

  g_mutex_lock (&watch->lock);
  fault = watch->fault;
  g_mutex_unlock (&watch->lock);
  return fault;
}

const gchar *
frame_watch_format (FrameWatch * watch)
{
  const gchar *format = NULL;

  g_mutex_lock (&watch->lock);
  if (watch->info[0].finfo != NULL)
    format = gst_video_format_to_string (watch->info[0].finfo->format);
  g_mutex_unlock (&watch->lock);
  return format;
}

void
frame_watch_free (FrameWatch * watch)
{
  for (guint i = 0; i < 2; i++) {
    gst_pad_remove_probe (watch->pad[i], watch->probe[i]);
    gst_object_unref (watch->pad[i]);
  }
  g_queue_clear_full (&watch->waiting, waiting_free);
  convolve_settings_clear (&watch->settings);
  g_mutex_clear (&watch->lock);
  g_free (watch->fault);
  g_free (watch);
}
