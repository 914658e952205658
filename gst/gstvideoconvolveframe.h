/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Buffers in system memory as frames. Unlike gst_video_frame_map this checks where every plane ends, against the
 * memory that it lies in, before anything is read: strides and offsets of a GstVideoMeta come from outside. */
#pragma once

#include "core/frame.h"

#include <gst/video/video.h>

G_BEGIN_DECLS

typedef struct {
  ConvolveFrame frame;
  GstBuffer *buffer;            /* not owned; NULL if nothing is mapped */
  guint n_maps;
  GstMapInfo map[CONVOLVE_MAX_PLANES];
} GstVideoConvolveFrame;

/* The caps' picture of info at the places that the buffer's GstVideoMeta names, or else at the caps' own. Errors
 * name the plane and the sizes. The buffer must stay alive, and writable if flags has GST_MAP_WRITE, until the
 * frame is unmapped. */
gboolean gst_video_convolve_frame_map (GstVideoConvolveFrame * frame, GstBuffer * buffer, const GstVideoInfo * info,
    GstMapFlags flags, GError ** error);
/* The same for a memory that is mapped already, all of the buffer's, at data: fills data and stride alone. */
gboolean gst_video_convolve_frame_place (ConvolveFrame * frame, GstBuffer * buffer, const GstVideoInfo * info,
    gpointer data, gsize size, GError ** error);
void gst_video_convolve_frame_unmap (GstVideoConvolveFrame * frame);

G_END_DECLS
