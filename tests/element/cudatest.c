/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cudatest.h"

/* ---- contexts ---- */

GstCudaContext *
cuda_context (guint device)
{
  GstCudaContext *context;

  fail_unless (gst_cuda_load_library ());
  gst_cuda_memory_init_once ();
  context = gst_cuda_context_new (device);
  fail_unless (context != NULL, "no context for device %u", device);
  return context;
}

void
cuda_context_done (GstCudaContext * context)
{
  fail_unless_equals_int (GST_OBJECT_REFCOUNT (context), 1);
  fail_unless_equals_int (simcuda_doors ()->live_in (gst_cuda_context_get_handle
          (context)), 0);
  gst_object_unref (context);
}

/* ---- buffers ---- */

/* Since 1.24 memory may have a stream: it is written and read in that one, and
 * whoever works in another has to wait. */
static void
add_stream (GstStructure * config, GstCudaContext * context)
{
#if GST_CHECK_VERSION (1, 24, 0)
  GstCudaStream *stream = gst_cuda_stream_new (context);

  fail_unless (stream != NULL);
  gst_buffer_pool_config_set_cuda_stream (config, stream);
  gst_cuda_stream_unref (stream);
#endif
}

GstBufferPool *
cuda_pool (GstCudaContext * context)
{
  GstBufferPool *pool = gst_cuda_buffer_pool_new (context);
  GstStructure *config = gst_buffer_pool_get_config (pool);
  GstCaps *caps = gst_caps_from_string (CUDA_CAPS);

  gst_buffer_pool_config_set_params (config, caps, CUDA_PICTURE_BYTES, 0, 0);
  gst_caps_unref (caps);
  add_stream (config, context);
  fail_unless (gst_buffer_pool_set_config (pool, config));
  fail_unless (gst_buffer_pool_set_active (pool, TRUE));
  return pool;
}

void
cuda_pool_done (GstBufferPool * pool)
{
  fail_unless (gst_buffer_pool_set_active (pool, FALSE));
  gst_object_unref (pool);
}

GstBuffer *
cuda_buffer (GstBufferPool * pool, guint8 value, guint n)
{
  GstBuffer *buffer;

  fail_unless (gst_buffer_pool_acquire_buffer (pool, &buffer, NULL)
      == GST_FLOW_OK);
  fail_unless_equals_int (gst_buffer_get_size (buffer), CUDA_PICTURE_BYTES);
  gst_buffer_memset (buffer, 0, value, CUDA_PICTURE_BYTES);
  GST_BUFFER_PTS (buffer) = n * 40 * GST_MSECOND;
  GST_BUFFER_DURATION (buffer) = 40 * GST_MSECOND;
  return buffer;
}

GstCudaContext *
context_of_buffer (GstBuffer * buffer)
{
  GstMemory *memory = gst_buffer_peek_memory (buffer, 0);

  return gst_is_cuda_memory (memory) ?
      GST_CUDA_MEMORY_CAST (memory)->context : NULL;
}

/* ---- harness ---- */

static void
give_context (Application * application, GstMessage * message)
{
  GstContext *context;

  if (application->context == NULL)
    return;
  context = gst_context_new_cuda_context (application->context);
  gst_element_set_context (GST_ELEMENT (GST_MESSAGE_SRC (message)), context);
  gst_context_unref (context);
}

static GstBusSyncReply
on_message (GstBus * bus, GstMessage * message, gpointer data)
{
  Application *application = data;

  switch (GST_MESSAGE_TYPE (message)) {
    case GST_MESSAGE_NEED_CONTEXT:
      application->n_need++;
      give_context (application, message);
      break;
    case GST_MESSAGE_HAVE_CONTEXT:
      application->n_have++;
      break;
    case GST_MESSAGE_ERROR:
    case GST_MESSAGE_WARNING:
      return GST_BUS_PASS;
    default:
      break;
  }
  gst_message_unref (message);
  return GST_BUS_DROP;
}

GstHarness *
cuda_harness (const gchar * launch, const gchar * sink_caps,
    const gchar * src_caps, Application * application)
{
  GstHarness *h = element_harness (launch, NULL);

  application->bus = bus_of (h);
  gst_bus_set_sync_handler (application->bus, on_message, application, NULL);
  gst_harness_set_sink_caps_str (h, src_caps);
  gst_harness_set_src_caps_str (h, sink_caps);
  return h;
}

void
cuda_harness_done (GstHarness * h, Application * application)
{
  assert_no_message (application->bus, GST_MESSAGE_WARNING | GST_MESSAGE_ERROR);
  bus_done (h, application->bus);
  gst_harness_teardown (h);
}
