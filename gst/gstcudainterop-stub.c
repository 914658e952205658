/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Stands for the CUDA memory support in a build without it: system memory is
 * all there is. */
#include "gstcudainterop.h"

#include "core/matrix.h"

GstCudaInterop *
gst_cuda_interop_new (GstElement * element)
{
  return NULL;
}

void
gst_cuda_interop_free (GstCudaInterop * interop)
{
}

void
gst_cuda_interop_start (GstCudaInterop * interop, gint device_id)
{
}

void
gst_cuda_interop_stop (GstCudaInterop * interop)
{
}

GstCaps *
gst_cuda_interop_template_caps (GstCaps * system_caps)
{
  return system_caps;
}

GstCaps *
gst_cuda_interop_transform_caps (GstCaps * caps)
{
  return caps;
}

void
gst_cuda_interop_set_context (GstCudaInterop * interop, GstContext * context)
{
}

gboolean
gst_cuda_interop_query_context (GstCudaInterop * interop, GstQuery * query)
{
  return FALSE;
}

gpointer
gst_cuda_interop_get_context (GstCudaInterop * interop)
{
  return NULL;
}

gboolean
gst_cuda_interop_negotiate (GstCudaInterop * interop, GstCaps * incaps,
    GstCaps * outcaps, GError ** error)
{
  return TRUE;
}

gboolean
gst_cuda_interop_follow (GstCudaInterop * interop, GstBuffer * buffer)
{
  return FALSE;
}

gboolean
gst_cuda_interop_propose_allocation (GstCudaInterop * interop,
    GstQuery * query, guint minimum)
{
  return FALSE;
}

gboolean
gst_cuda_interop_decide_allocation (GstCudaInterop * interop,
    GstQuery * query, guint minimum)
{
  return FALSE;
}

gboolean
gst_cuda_interop_is_ours (GstCudaInterop * interop, GstBuffer * buffer)
{
  return FALSE;
}

gboolean
gst_cuda_interop_map (GstCudaInterop * interop, GstCudaInteropFrame * frame,
    GstBuffer * buffer, const GstVideoInfo * info, GstMapFlags flags,
    GError ** error)
{
  g_set_error_literal (error, CONVOLVE_ERROR, CONVOLVE_ERROR_UNSUPPORTED,
      "this plugin was built without support for CUDA memory: put a "
      "cudadownload before it, or build it with the option gst-cuda");
  return FALSE;
}

void
gst_cuda_interop_unmap (GstCudaInteropFrame * frame)
{
}
