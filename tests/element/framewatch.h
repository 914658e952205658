/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Compares every frame that goes through an element with the reference, wherever in a pipeline the element is. */
#pragma once

#include "../lib/compare.h"

#include <gst/gst.h>

G_BEGIN_DECLS

/* A copy of the buffer's picture, its own strides and offsets honoured. */
RandomFrame *frame_of_buffer (const GstVideoInfo * info, GstBuffer * buffer);

typedef struct _FrameWatch FrameWatch;

/* Probes both pads of convolve, whose properties are settings. */
FrameWatch *frame_watch_new (GstElement * convolve, const ConvolveSettings * settings);
/* Frames that came in, and that came out; the first fault,
 * or NULL. Valid until the watch is freed. */
guint frame_watch_in (FrameWatch * watch);
guint frame_watch_out (FrameWatch * watch);
const gchar *frame_watch_fault (FrameWatch * watch);
/* The format of the sink pad, or NULL; frames whose caps differ on both pads are a fault. */
const gchar *frame_watch_format (FrameWatch * watch);
void frame_watch_free (FrameWatch * watch);

G_END_DECLS
