/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Everything that the element does with GStreamer's CUDA memory. gstcudainterop-stub.c stands in where gst-cuda is not
 * built: it offers nothing and claims nothing, so that no caller has to ask. libgstcuda itself is opened at run time:
 * where it is not installed, the plugin loads and works with system memory alone. */
#pragma once

#include "core/frame.h"

#include <gst/gst.h>
#include <gst/video/video.h>

G_BEGIN_DECLS

typedef struct _GstCudaInterop GstCudaInterop;

/* What a device frame keeps until it is unmapped. */
typedef struct {
  ConvolveFrame frame;
  GstMemory *memory;            /* not owned */
  GstMapInfo map;
} GstCudaInteropFrame;

/* One an element. Any thread may call set_context and query_context; the rest belongs to the streaming thread. */
GstCudaInterop *gst_cuda_interop_new (GstElement * element);
void gst_cuda_interop_free (GstCudaInterop * interop);
/* The device that contexts must belong to, -1 for any. Between stop and start. */
void gst_cuda_interop_start (GstCudaInterop * interop, gint device_id);
/* Drops the context. */
void gst_cuda_interop_stop (GstCudaInterop * interop);

/* Both take caps and return caps. The first puts the same formats in CUDA memory before system memory, for the pad
 * templates; the second adds to each structure the same one in the other kind of memory, for transform_caps. */
GstCaps *gst_cuda_interop_template_caps (GstCaps * system_caps);
GstCaps *gst_cuda_interop_transform_caps (GstCaps * caps);

/* Contexts: from the application, for neighbours, and of neighbours. */
void gst_cuda_interop_set_context (GstCudaInterop * interop, GstContext * context);
gboolean gst_cuda_interop_query_context (GstCudaInterop * interop, GstQuery * query);
/* The context (CUcontext) to open the CUDA backend in, or NULL for its own. */
gpointer gst_cuda_interop_get_context (GstCudaInterop * interop);
/* The caps that were negotiated: with CUDA memory on a side a context is asked for, or made. FALSE with an error if
 * there is none. */
gboolean gst_cuda_interop_negotiate (GstCudaInterop * interop, GstCaps * incaps, GstCaps * outcaps, GError ** error);
/* TRUE if buffer lives in another context than the present one, which is taken over: the backend has to be opened again
 * in it, and pools chosen again. */
gboolean gst_cuda_interop_follow (GstCudaInterop * interop, GstBuffer * buffer);

/* TRUE if the caps of the query are CUDA memory and a pool for them, with minimum buffers, is in it. */
gboolean gst_cuda_interop_propose_allocation (GstCudaInterop * interop, GstQuery * query, guint minimum);
gboolean gst_cuda_interop_decide_allocation (GstCudaInterop * interop, GstQuery * query, guint minimum);

/* TRUE if the buffer is CUDA memory of the present context, to be mapped by gst_cuda_interop_map. */
gboolean gst_cuda_interop_is_ours (GstCudaInterop * interop, GstBuffer * buffer);
/* Device addresses of a buffer, every plane's extent checked; what others have enqueued on it has been waited for. */
gboolean gst_cuda_interop_map (GstCudaInterop * interop, GstCudaInteropFrame * frame, GstBuffer * buffer,
    const GstVideoInfo * info, GstMapFlags flags, GError ** error);
void gst_cuda_interop_unmap (GstCudaInteropFrame * frame);

G_END_DECLS
