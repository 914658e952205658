/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Frames across time: filters that look at older and newer frames see copies of these, in a history of the device. What
 * the element pushes waits here until the newer frames are there: frames without their memory, and the events between
 * them. All of it belongs to the streaming thread. */
#pragma once

#include "gstvideoconvolve.h"
#include "gstvideoconvolverois.h"

#include "core/backend.h"

G_BEGIN_DECLS

typedef struct {
  ConvolveHistory *history;     /* NULL: none is wanted yet */
  GArray *kept;                 /* of frames in the history, the oldest first */
  GArray *free_slots;           /* guint */
  guint n_slots;                /* ever used */
  guint64 n_frames;             /* ever kept: the next one's number */
  GQueue waiting;               /* frames and events, in order */
  guint n_waiting;              /* frames among them */
  gboolean lost;                /* frames were left out: the next one out is a discontinuity */

  /* Whether a buffer goes on where the one before ended. */
  gboolean segment_came;        /* since that one */
  GstClockTime last_time, last_duration;
} GstVideoConvolveWindow;

void gst_video_convolve_window_init (GstVideoConvolve * self);
void gst_video_convolve_window_clear (GstVideoConvolve * self);

/* Whether buffers have to take this way. */
gboolean gst_video_convolve_window_is_used (GstVideoConvolve * self);
/* How many newer frames the present programs wait for. */
guint gst_video_convolve_window_after (GstVideoConvolve * self);
/* TRUE if the buffer begins a stream of its own, which sees nothing of what was before. */
gboolean gst_video_convolve_window_is_new (GstVideoConvolve * self, GstBuffer * inbuf);
/* Takes inbuf: copies its frame, and lets it wait. late: it will not be pushed. */
GstFlowReturn gst_video_convolve_window_push (GstVideoConvolve * self, GstBuffer * inbuf, gboolean late);
/* Starts what need not wait any more, until a finished buffer is to be pushed; that may be none. */
GstFlowReturn gst_video_convolve_window_pull (GstVideoConvolve * self, GstBuffer ** outbuf);
/* The stream ends here: the last frame takes the place of newer ones. Pushes all that waits or is in work, in order,
 * and forgets what was kept. */
GstFlowReturn gst_video_convolve_window_end (GstVideoConvolve * self);
/* Handles a serialized event. TRUE if it was taken, and waits. */
gboolean gst_video_convolve_window_event (GstVideoConvolve * self, GstEvent * event);
/* Drops frames that wait and forgets what was kept. Sticky events stay, and come out before the next frame. */
void gst_video_convolve_window_drop (GstVideoConvolve * self);
/* A flush has passed: pushes those of them that it leaves valid. */
void gst_video_convolve_window_flushed (GstVideoConvolve * self);
/* The end of all: events that never came out. */
void gst_video_convolve_window_forget_events (GstVideoConvolve * self);
/* Drops frames, too, and frees the history, which the device's end must not find. */
void gst_video_convolve_window_close (GstVideoConvolve * self);

G_END_DECLS
