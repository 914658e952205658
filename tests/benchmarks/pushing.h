/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Frames pushed through elements by a GstHarness, one after the other, and what they cost. */
#pragma once

#include <gst/check/gstharness.h>
#include <gst/video/video.h>

G_BEGIN_DECLS

#define PUSHING_MAX_FRAMES 200

typedef enum {
  PUSHING_ORDINARY,             /* buffers of ordinary memory */
  PUSHING_OFFERED,              /* buffers of the pool that the elements offer */
  PUSHING_CUDA,                 /* CUDAMemory, in and out */
} PushingMemory;

typedef struct {
  const gchar *elements;        /* as gst-launch-1.0 has them; one named "convolve" tells its stats */
  const gchar *format;
  gint width, height;
  PushingMemory memory;
  guint n_frames;               /* fewer if they take more than about two seconds */
} PushingJob;

/* Means, and medians where it says so. */
typedef struct {
  guint n_frames;
  gdouble frame_ms;             /* from a push to the next */
  gdouble latency_ms;           /* median, from a frame's push to its coming out */
  gdouble thread_us, process_us;        /* CPU time a frame: of the thread that pushes, of all */
  gdouble up_ms, kernel_ms, down_ms;    /* of "convolve", as the device saw it */
} PushingResult;

/* Elements that play and have caps. NULL with an error where some are missing. */
GstHarness *pushing_harness (const PushingJob * job, GError ** error);
/* n frames of noise as the job wants them; an error where they cannot be made. */
gboolean pushing_make_buffers (GstHarness * h, const PushingJob * job, GstBuffer ** buffers, guint n, GError ** error);
/* Pushes a frame, and gives back the milliseconds that the push took; negative after an error. */
gdouble pushing_push (GstHarness * h, GstBuffer * buffer);
gboolean pushing_run (const PushingJob * job, PushingResult * result, GError ** error);
/* Sorts them. */
gdouble pushing_median (gdouble * values, guint n);

G_END_DECLS
