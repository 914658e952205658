/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Everything that the element does with GStreamer's CUDA memory. gstcudainterop-stub.c stands in where gst-cuda is not
 * built: it offers nothing and claims nothing, so that no caller has to ask. */
#pragma once

#include "core/frame.h"

#include <gst/gst.h>
#include <gst/video/video.h>

G_BEGIN_DECLS

typedef struct _GstCudaInterop GstCudaInterop;

/* What a device frame keeps until it is unmapped. */
typedef struct {
  ConvolveFrame frame;
  GstBuffer *buffer;            /* not owned */
  GstMapInfo map;
} GstCudaInteropFrame;

GstCudaInterop *gst_cuda_interop_new (GstElement * element);
void gst_cuda_interop_free (GstCudaInterop * interop);

/* Both take caps and return caps. The first puts the same formats in CUDA memory before system memory, for the pad
 * templates; the second adds to each structure the same one in the other kind of memory, for transform_caps. */
GstCaps *gst_cuda_interop_template_caps (GstCaps * system_caps);
GstCaps *gst_cuda_interop_transform_caps (GstCaps * caps);

/* Contexts: from the application, for neighbours, and of neighbours. */
void gst_cuda_interop_set_context (GstCudaInterop * interop, GstContext * context);
gboolean gst_cuda_interop_query_context (GstCudaInterop * interop, GstQuery * query);
/* The context to open the CUDA backend in, or NULL for its own. */
gpointer gst_cuda_interop_find_context (GstCudaInterop * interop, gint device_id);
/* TRUE if buffer lives in another context than the one found: *context is the one to open the backend in. */
gboolean gst_cuda_interop_follow (GstCudaInterop * interop, GstBuffer * buffer, gpointer * context);

/* TRUE if the caps of the query are CUDA memory and a pool for them is in it. */
gboolean gst_cuda_interop_propose_allocation (GstCudaInterop * interop, GstQuery * query);
gboolean gst_cuda_interop_decide_allocation (GstCudaInterop * interop, GstQuery * query);

/* TRUE if the buffer is CUDA memory, to be mapped by gst_cuda_interop_map. */
gboolean gst_cuda_interop_is_ours (GstCudaInterop * interop, GstBuffer * buffer);
/* Device addresses of a buffer, every plane's extent checked. */
gboolean gst_cuda_interop_map (GstCudaInterop * interop, GstCudaInteropFrame * frame, GstBuffer * buffer,
    const GstVideoInfo * info, GstMapFlags flags, GError ** error);
void gst_cuda_interop_unmap (GstCudaInteropFrame * frame);

G_END_DECLS
