/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* GTypes of the properties that are enumerations, and the enumerations that only the element knows. */
#pragma once

#include <glib-object.h>

G_BEGIN_DECLS

/**
 * GstVideoConvolveBackend:
 * @GST_VIDEO_CONVOLVE_BACKEND_AUTO: CUDA if it works here, else the CPU
 * @GST_VIDEO_CONVOLVE_BACKEND_CUDA: CUDA, an error where it does not work
 * @GST_VIDEO_CONVOLVE_BACKEND_CPU: the CPU
 *
 * Where frames are filtered.
 */
typedef enum {
  GST_VIDEO_CONVOLVE_BACKEND_AUTO,
  GST_VIDEO_CONVOLVE_BACKEND_CUDA,
  GST_VIDEO_CONVOLVE_BACKEND_CPU,
} GstVideoConvolveBackend;

/**
 * GstVideoConvolveFields:
 * @GST_VIDEO_CONVOLVE_FIELDS_AUTO: as the caps (mixed: the buffer's flag) say
 * @GST_VIDEO_CONVOLVE_FIELDS_FRAME: always the frame as a whole
 * @GST_VIDEO_CONVOLVE_FIELDS_FIELD: always each field by itself
 *
 * What one picture is.
 */
typedef enum {
  GST_VIDEO_CONVOLVE_FIELDS_AUTO,
  GST_VIDEO_CONVOLVE_FIELDS_FRAME,
  GST_VIDEO_CONVOLVE_FIELDS_FIELD,
} GstVideoConvolveFields;

/**
 * GstVideoConvolveRoiMode:
 * @GST_VIDEO_CONVOLVE_ROI_MODE_OFF: the whole frame
 * @GST_VIDEO_CONVOLVE_ROI_MODE_INSIDE: inside the regions of interest
 * @GST_VIDEO_CONVOLVE_ROI_MODE_OUTSIDE: outside the regions of interest
 *
 * Which part of a frame is filtered.
 */
typedef enum {
  GST_VIDEO_CONVOLVE_ROI_MODE_OFF,
  GST_VIDEO_CONVOLVE_ROI_MODE_INSIDE,
  GST_VIDEO_CONVOLVE_ROI_MODE_OUTSIDE,
} GstVideoConvolveRoiMode;

GType gst_video_convolve_backend_get_type (void);
GType gst_video_convolve_filter_get_type (void);
GType gst_video_convolve_gradient_get_type (void);
GType gst_video_convolve_border_get_type (void);
GType gst_video_convolve_channels_get_type (void);
GType gst_video_convolve_alpha_mode_get_type (void);
GType gst_video_convolve_clamp_get_type (void);
GType gst_video_convolve_fields_get_type (void);
GType gst_video_convolve_roi_mode_get_type (void);
GType gst_video_convolve_method_get_type (void);
GType gst_video_convolve_temporal_mode_get_type (void);

G_END_DECLS
