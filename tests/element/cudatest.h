/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the tests of the element on the simulated driver share: GStreamer's CUDA contexts and buffers in CUDA memory. */
#pragma once

#define GST_USE_UNSTABLE_API

#include <gst/cuda/gstcudabufferpool.h>
#include <gst/cuda/gstcudacontext.h>
#include <gst/cuda/gstcudaloader.h>
#include <gst/cuda/gstcudamemory.h>
#include <gst/cuda/gstcudautils.h>

#include "elementtest.h"
#include "tests/lib/simcuda/simcuda.h"

/* Rows of 512 bytes, which have no padding in CUDA memory. */
#define CUDA_PICTURE "format=RGBA,width=128,height=8,framerate=25/1"
#define SYSTEM_CAPS "video/x-raw," CUDA_PICTURE
#define CUDA_CAPS "video/x-raw(memory:CUDAMemory)," CUDA_PICTURE
#define CUDA_PICTURE_BYTES (512 * 8)

GstCudaContext *cuda_context (guint device);
/* Drops the last reference. Fails where something of the context lives on. */
void cuda_context_done (GstCudaContext * context);

/* From GStreamer 1.24 on with a stream of its own, in which what cuda_buffer() writes is still to be uploaded. */
GstBufferPool *cuda_pool (GstCudaContext * context);
void cuda_pool_done (GstBufferPool * pool);
/* Every byte is value; the n-th frame. */
GstBuffer *cuda_buffer (GstBufferPool * pool, guint8 value, guint n);
/* The context of a buffer in CUDA memory, not owned; NULL for other memory. */
GstCudaContext *context_of_buffer (GstBuffer * buffer);

/* An application that answers need-context, and counts. */
typedef struct {
  GstCudaContext *context;      /* that it gives; NULL: none */
  guint n_need, n_have;
  GstBus *bus;
} Application;

/* A harness of launch's element with caps on its pads, and the application on its bus, which warnings and errors stay
 * on. */
GstHarness *cuda_harness (const gchar * launch, const gchar * sink_caps, const gchar * src_caps,
    Application * application);
void cuda_harness_done (GstHarness * h, Application * application);
