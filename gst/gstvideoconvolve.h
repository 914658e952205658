/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gst/gst.h>
#include <gst/base/gstbasetransform.h>

G_BEGIN_DECLS

#define GST_TYPE_VIDEO_CONVOLVE (gst_video_convolve_get_type ())
G_DECLARE_FINAL_TYPE (GstVideoConvolve, gst_video_convolve, GST, VIDEO_CONVOLVE, GstBaseTransform)

GST_ELEMENT_REGISTER_DECLARE (videoconvolve)

G_END_DECLS
