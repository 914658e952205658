/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Regions of interest: what the properties name, what a buffer's metas name, and both as rectangles of a plan. */
#pragma once

#include "core/region.h"

#include <gst/gst.h>

G_BEGIN_DECLS

/* What one property value may hold. */
#define GST_VIDEO_CONVOLVE_MAX_ROIS 256

typedef struct {
  gint x, y, width, height;
} GstVideoConvolveRoi;

/* Regions from an array of <x,y,width,height>, a new array of GstVideoConvolveRoi. Refuses what is no whole number, has
 * another count, or a negative size, and says which region it is. */
GArray *gst_video_convolve_rois_from_value (const GValue * value, GError ** error);
/* The other way; value is an empty GST_TYPE_ARRAY. rois may be NULL. */
void gst_video_convolve_rois_to_value (const GArray * rois, GValue * value);
gboolean gst_video_convolve_rois_equal (const GArray * a, const GArray * b);

/* Appends to rects the fixed regions (may be NULL), and those of the buffer's region-of-interest metas whose type is
 * among types (names parted by commas; NULL or empty: all). field: the buffer is one field of a frame, whose lines
 * they count. */
void gst_video_convolve_rois_collect (const GArray * rois, const gchar * types, GstBuffer * buffer, gboolean field,
    GArray * rects);

G_END_DECLS
