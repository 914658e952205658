/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Between neighbours.c and neighbours-net.c alone: a pipeline with the element, every frame of which is watched. */
#pragma once

#include "framewatch.h"

#include <gst/check/gstcheck.h>

G_BEGIN_DECLS

/* For neighbours_new. */
#define SIZE "width=80,height=60"
#define PICTURE "videotestsrc pattern=ball num-buffers=%u ! " \
    "video/x-raw,format=%s," SIZE ",framerate=30/1"
#define CONVOLVE "videoconvolve name=convolve backend=cpu sigma=1.2"

typedef struct {
  GstElement *pipeline, *convolve;
  FrameWatch *watch;
} Neighbours;

/* The pipeline of a line with CONVOLVE in it. */
Neighbours neighbours_new (const gchar * format, ...) G_GNUC_PRINTF (1, 2);
void neighbours_free (Neighbours * run);
/* Waits for the end of the stream, or for an error, which fails. */
void neighbours_wait (GstElement * pipeline);
/* So many frames have gone through, and none is wrong. */
void neighbours_assert_frames (Neighbours * run, guint least, guint most);

/* ---- neighbours-net.c ---- */
/* WebRTC does not use the loopback device. */
gboolean neighbours_has_network (void);
void neighbours_test_rtp_raw (void);
void neighbours_test_rtp_jpeg (void);
void neighbours_test_rtp_vp8 (void);
void neighbours_test_webrtc (void);

G_END_DECLS
