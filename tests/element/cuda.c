/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The element with CUDA memory on the simulated driver, beside GStreamer's own
 * CUDA elements: what comes out, whose context it is, what is left behind. */
#include "cudatest.h"

#include "pipelinetest.h"

/* ---- pictures ---- */

/* One that bands cut, one in two terms, one of stages, one with frames in
 * flight; small ones, since kernels are simulated one sample at a time. */
static const gchar *const filters[] = {
  "filter=gaussian sigma=1 bands=3", "filter=sobel border=mirror",
  "filter=gaussian sigma=1.5 iterations=2 border=wrap",
  "filter=unsharp sigma=0.6 amount=2 frames-in-flight=3 border=reflect",
};

/* Each format with one of the filters. */
GST_START_TEST (test_memories_are_equal)
{
  for (guint f = __i__; f < n_pipeline_formats; f += G_N_ELEMENTS (filters))
    check_memories (&pipeline_formats[f], 34 + 8 * __i__, 26, 4,
        filters[__i__], TRUE);
  fail_unless_equals_int (simcuda_doors ()->live (), 0);
}

GST_END_TEST;

/* ---- uploads ---- */

/* A frame goes to the device once, however many others are sums over it. */
GST_START_TEST (test_frames_are_uploaded_once)
{
  static const gchar *const launches[] = {
    "videoconvolve backend=cuda",
    "videoconvolve backend=cuda kernel-t=<1,2,3,2,1>",
    "videoconvolve backend=cuda kernel-t=<1,2,3> temporal-mode=causal "
        "frames-in-flight=3",
    "videoconvolve backend=cuda filter=identity kernel-t=<1,1> bands=2",
  };
  const guint n = 9;
  const Sim *sim = simcuda_doors ();
  GstHarness *h = element_harness (launches[__i__], SYSTEM_CAPS);
  guint64 before = sim->uploaded ();

  for (guint i = 0; i < n; i++)
    fail_unless_equals_int (gst_harness_push (h,
            filled_buffer (CUDA_PICTURE_BYTES, 20, i)), GST_FLOW_OK);
  fail_unless (gst_harness_push_event (h, gst_event_new_eos ()));
  for (guint i = 0; i < n; i++)
    assert_filled (gst_harness_pull (h), 20);
  fail_unless_equals_uint64 (sim->uploaded () - before, n * CUDA_PICTURE_BYTES);
  gst_harness_teardown (h);
}

GST_END_TEST;

/* ---- contexts ---- */

/* The context that answers a query at that pad; fails if there is none. */
static GstCudaContext *
queried_context (GstPad * pad)
{
  GstQuery *query = gst_query_new_context (GST_CUDA_CONTEXT_TYPE);
  GstCudaContext *context = NULL;
  GstContext *answer = NULL;

  fail_unless (gst_pad_query (pad, query));
  gst_query_parse_context (query, &answer);
  fail_unless (answer != NULL);
  gst_structure_get (gst_context_get_structure (answer),
      GST_CUDA_CONTEXT_TYPE, GST_TYPE_CUDA_CONTEXT, &context, NULL);
  fail_unless (context != NULL);
  gst_query_unref (query);
  gst_object_unref (context);   /* the element holds it */
  return context;
}

static GstCudaContext *
context_in_pipeline (GstElement * pipeline, const gchar * name,
    const gchar * pad_name)
{
  GstElement *element = gst_bin_get_by_name (GST_BIN (pipeline), name);
  GstPad *pad = gst_element_get_static_pad (element, pad_name);
  GstCudaContext *context = queried_context (pad);

  gst_object_unref (pad);
  gst_object_unref (element);
  return context;
}

/* Neighbours who have no context yet find the one that another one made,
 * upstream and downstream, and nothing stays. */
#define CUDA "video/x-raw(memory:CUDAMemory)"
static const gchar *const neighbours[] = {
  "cudaupload name=a ! videoconvolve name=b backend=cuda ! cudadownload name=c",
  "videoconvolve name=a backend=cuda ! " CUDA " ! videoconvolve name=b "
      "backend=cuda frames-in-flight=2 ! cudadownload name=c",
  "cudaupload name=a ! videoconvolve name=b backend=cuda ! " CUDA
      " ! videoconvolve name=c backend=cuda sigma=1",
};

GST_START_TEST (test_neighbours_share_a_context)
{
  gchar *line = g_strdup_printf ("videotestsrc num-buffers=4 ! video/x-raw,"
      "format=NV12,width=64,height=48 ! %s ! fakesink", neighbours[__i__]);
  GstElement *pipeline = gst_parse_launch (line, NULL);
  GstBus *bus = gst_element_get_bus (pipeline);

  for (guint round = 0; round < 2; round++) {
    GstCudaContext *context;
    GstMessage *message;

    gst_element_set_state (pipeline, GST_STATE_PLAYING);
    message = gst_bus_timed_pop_filtered (bus, 20 * GST_SECOND,
        GST_MESSAGE_EOS | GST_MESSAGE_ERROR);
    fail_unless_equals_int (GST_MESSAGE_TYPE (message), GST_MESSAGE_EOS);
    gst_message_unref (message);
    context = context_in_pipeline (pipeline, "b", "src");
    fail_unless (context_in_pipeline (pipeline, "a", "src") == context);
    fail_unless (context_in_pipeline (pipeline, "c", "sink") == context);
    gst_element_set_state (pipeline, GST_STATE_NULL);
  }
  gst_object_unref (bus);
  gst_object_unref (pipeline);
  g_free (line);
  fail_unless_equals_int (simcuda_doors ()->live (), 0);
}

GST_END_TEST;

/* need-context is asked once; whoever asks us is told what we were given. */
GST_START_TEST (test_application_gives_a_context)
{
  GstCudaContext *context = cuda_context (0);
  Application application = { context };
  GstHarness *h = cuda_harness ("videoconvolve backend=cuda", SYSTEM_CAPS,
      CUDA_CAPS, &application);
  GstBuffer *buffer = filter_one (h,
      filled_buffer (CUDA_PICTURE_BYTES, 9, 0));

  fail_unless_equals_int (application.n_need, 1);
  fail_unless_equals_int (application.n_have, 0);
  fail_unless (queried_context (GST_PAD_PEER (h->srcpad)) == context);
  fail_unless (queried_context (GST_PAD_PEER (h->sinkpad)) == context);
  fail_unless (context_of_buffer (buffer) == context);
  assert_filled (buffer, 9);
  cuda_harness_done (h, &application);
  cuda_context_done (context);
}

GST_END_TEST;

/* Where nobody has one, the element makes one of the device that it is told,
 * and says so. */
GST_START_TEST (test_own_context_is_announced)
{
  static const gchar *const lines[] = { "videoconvolve backend=cuda",
    "videoconvolve backend=cuda cuda-device-id=1"
  };

  for (guint device = 0; device < G_N_ELEMENTS (lines); device++) {
    Application application = { NULL };
    GstHarness *h = cuda_harness (lines[device], SYSTEM_CAPS, CUDA_CAPS,
        &application);
    guint id;

    fail_unless_equals_int (application.n_need, 1);
    fail_unless_equals_int (application.n_have, 1);
    g_object_get (queried_context (GST_PAD_PEER (h->srcpad)),
        "cuda-device-id", &id, NULL);
    fail_unless_equals_int (id, device);
    assert_filled (filter_one (h, filled_buffer (CUDA_PICTURE_BYTES, 9, 0)), 9);
    /* GstElement itself keeps the context as long as the element lives. */
    gst_element_set_state (h->element, GST_STATE_NULL);
    fail_unless (simcuda_doors ()->live () <= 1);
    cuda_harness_done (h, &application);
    fail_unless_equals_int (simcuda_doors ()->live (), 0);
  }
}

GST_END_TEST;

/* A context of another device than the one asked for is not taken. */
GST_START_TEST (test_context_of_another_device)
{
  GstCudaContext *given = cuda_context (0);
  Application application = { given };
  GstHarness *h = cuda_harness ("videoconvolve backend=cuda cuda-device-id=1",
      SYSTEM_CAPS, CUDA_CAPS, &application);
  guint id;

  fail_unless (queried_context (GST_PAD_PEER (h->srcpad)) != given);
  g_object_get (queried_context (GST_PAD_PEER (h->srcpad)), "cuda-device-id",
      &id, NULL);
  fail_unless_equals_int (id, 1);
  assert_filled (filter_one (h, filled_buffer (CUDA_PICTURE_BYTES, 9, 0)), 9);
  cuda_harness_done (h, &application);
  cuda_context_done (given);
}

GST_END_TEST;

/* cuda-device-id=-1: the element moves to where its input lies, whole, and
 * with frames of the old context in flight. */
GST_START_TEST (test_first_buffer_decides)
{
  const Sim *sim = simcuda_doors ();
  GstCudaContext *given = cuda_context (0), *followed = cuda_context (1);
  GstBufferPool *pools[2] = { cuda_pool (given), cuda_pool (followed) };
  Application application = { given };
  GstHarness *h = cuda_harness ("videoconvolve backend=cuda "
      "frames-in-flight=3", CUDA_CAPS, CUDA_CAPS, &application);

  fail_unless (sim->live_in (gst_cuda_context_get_handle (given)) > 0);
  for (guint i = 0; i < 8; i++)
    fail_unless_equals_int (gst_harness_push (h,
            cuda_buffer (pools[i >= 4], i, i)), GST_FLOW_OK);
  fail_unless (queried_context (GST_PAD_PEER (h->srcpad)) == followed);
  gst_harness_push_event (h, gst_event_new_eos ());
  for (guint i = 0; i < 8; i++) {
    GstBuffer *buffer = gst_harness_pull (h);

    fail_unless (context_of_buffer (buffer) == (i >= 4 ? followed : given));
    assert_filled (buffer, i);
  }
  cuda_pool_done (pools[0]);
  /* While the element plays on, nothing of it is in the context it left. */
  fail_unless_equals_int (sim->live_in (gst_cuda_context_get_handle (given)),
      0);
  cuda_harness_done (h, &application);
  cuda_pool_done (pools[1]);
  cuda_context_done (given);
  cuda_context_done (followed);
}

GST_END_TEST;

/* With a device chosen, memory of another one is brought over. */
GST_START_TEST (test_chosen_device_stays)
{
  GstCudaContext *given = cuda_context (0), *other = cuda_context (1);
  GstBufferPool *pool = cuda_pool (other);
  Application application = { given };
  GstHarness *h = cuda_harness ("videoconvolve backend=cuda cuda-device-id=0",
      CUDA_CAPS, CUDA_CAPS, &application);

  for (guint i = 0; i < 3; i++) {
    GstBuffer *buffer = filter_one (h, cuda_buffer (pool, 20 + i, i));

    fail_unless (context_of_buffer (buffer) == given);
    assert_filled (buffer, 20 + i);
  }
  cuda_harness_done (h, &application);
  cuda_pool_done (pool);
  cuda_context_done (given);
  cuda_context_done (other);
}

GST_END_TEST;

/* After stop, with frames in flight, the shared context holds nothing of the
 * element's, which itself lives on and starts again. */
GST_START_TEST (test_nothing_stays_after_stop)
{
  const Sim *sim = simcuda_doors ();
  GstCudaContext *context = cuda_context (0);
  gpointer handle = gst_cuda_context_get_handle (context);
  Application application = { context };
  GstHarness *h = cuda_harness ("videoconvolve backend=cuda "
      "frames-in-flight=3", CUDA_CAPS, CUDA_CAPS, &application);
  GstBufferPool *pool = cuda_pool (context);
  guint depth = sim->depth ();  /* nvcodec may have left some when it loaded */

  for (guint i = 0; i < 5; i++)
    fail_unless_equals_int (gst_harness_push (h, cuda_buffer (pool, i, i)),
        GST_FLOW_OK);
  fail_unless_equals_int (gst_harness_buffers_in_queue (h), 3);
  for (guint i = 0; i < 3; i++)
    assert_filled (gst_harness_pull (h), i);
  fail_unless (sim->live_in (handle) > 3);
  gst_element_set_state (h->element, GST_STATE_NULL);
  cuda_pool_done (pool);
  fail_unless_equals_int (sim->live_in (handle), 0);
  fail_unless_equals_int (sim->depth (), depth);

  for (guint round = 0; round < 3; round++) {
    fail_unless (gst_element_set_state (h->element, GST_STATE_PAUSED)
        != GST_STATE_CHANGE_FAILURE);
    gst_element_set_state (h->element, GST_STATE_NULL);
    fail_unless_equals_int (sim->live_in (handle), 0);
  }
  cuda_harness_done (h, &application);
  cuda_context_done (context);
  fail_unless_equals_int (sim->live (), 0);
}

GST_END_TEST;

/* ---- streams ---- */

#if GST_CHECK_VERSION (1, 24, 0)
#define N_READ 24

static GstPadProbeReturn
answer_with_pool (GstPad * pad, GstPadProbeInfo * info, gpointer pool)
{
  GstQuery *query = GST_PAD_PROBE_INFO_QUERY (info);

  if (GST_QUERY_TYPE (query) != GST_QUERY_ALLOCATION)
    return GST_PAD_PROBE_OK;
  gst_query_add_allocation_pool (query, pool, CUDA_PICTURE_BYTES, 0, 0);
  return GST_PAD_PROBE_HANDLED;
}

/* Enqueues a copy in the memory's stream, and lets the buffer go: its next user
 * has to wait. */
static void
read_later (GstBuffer * buffer, guint8 * to)
{
  GstCudaMemory *memory = (GstCudaMemory *) gst_buffer_peek_memory (buffer, 0);
  GstCudaStream *stream = gst_cuda_memory_get_stream (memory);
  CUDA_MEMCPY2D copy = {
    .srcMemoryType = CU_MEMORYTYPE_DEVICE,.srcPitch = 512,
    .dstMemoryType = CU_MEMORYTYPE_HOST,.dstHost = to,.dstPitch = 512,
    .WidthInBytes = 512,.Height = CUDA_PICTURE_BYTES / 512,
  };
  GstMapInfo map;

  fail_unless (stream != NULL);
  fail_unless (gst_buffer_map (buffer, &map, GST_MAP_READ | GST_MAP_CUDA));
  copy.srcDevice = (CUdeviceptr) (gsize) map.data;
  fail_unless (gst_cuda_context_push (memory->context));
  fail_unless_equals_int (CuMemcpy2DAsync (&copy,
          gst_cuda_stream_get_handle (stream)), CUDA_SUCCESS);
  gst_cuda_context_pop (NULL);
  gst_buffer_unmap (buffer, &map);
  gst_buffer_unref (buffer);
}

/* Both neighbours work in streams of their own: the input is still being
 * uploaded when it comes, and the output is read after it was given back. */
GST_START_TEST (test_streams_of_neighbours_are_waited_for)
{
  GstCudaContext *context = cuda_context (0);
  GstBufferPool *in = cuda_pool (context), *out = cuda_pool (context);
  Application application = { context };
  GstHarness *h = cuda_harness ("videoconvolve backend=cuda", CUDA_CAPS,
      CUDA_CAPS, &application);
  gpointer seen = NULL;

  gst_buffer_pool_set_active (out, FALSE);      /* it is the element's */
  gst_pad_add_probe (h->sinkpad, GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM,
      answer_with_pool, out, NULL);
  gst_harness_push_upstream_event (h, gst_event_new_reconfigure ());
  fail_unless (gst_cuda_context_push (context));
  fail_unless_equals_int (CuMemAllocHost (&seen, N_READ * CUDA_PICTURE_BYTES),
      CUDA_SUCCESS);
  gst_cuda_context_pop (NULL);

  for (guint i = 0; i < N_READ; i++)
    read_later (filter_one (h, cuda_buffer (in, i, i)),
        (guint8 *) seen + i * CUDA_PICTURE_BYTES);
  fail_unless (gst_cuda_context_push (context));
  fail_unless_equals_int (CuCtxSynchronize (), CUDA_SUCCESS);
  for (guint i = 0; i < N_READ * CUDA_PICTURE_BYTES; i++)
    fail_unless_equals_int (((guint8 *) seen)[i], i / CUDA_PICTURE_BYTES);
  CuMemFreeHost (seen);
  gst_cuda_context_pop (NULL);

  cuda_harness_done (h, &application);
  cuda_pool_done (in);
  gst_object_unref (out);
  cuda_context_done (context);
}

GST_END_TEST;
#endif

static Suite *
cuda_suite (void)
{
  Suite *s = suite_create ("cuda");
  TCase *tc = tcase_create ("cuda");

  suite_add_tcase (s, tc);
  tcase_add_loop_test (tc, test_memories_are_equal, 0, G_N_ELEMENTS (filters));
  tcase_add_loop_test (tc, test_frames_are_uploaded_once, 0, 4);
  tcase_add_loop_test (tc, test_neighbours_share_a_context, 0,
      G_N_ELEMENTS (neighbours));
  tcase_add_test (tc, test_application_gives_a_context);
  tcase_add_test (tc, test_own_context_is_announced);
  tcase_add_test (tc, test_context_of_another_device);
  tcase_add_test (tc, test_first_buffer_decides);
  tcase_add_test (tc, test_chosen_device_stays);
  tcase_add_test (tc, test_nothing_stays_after_stop);
#if GST_CHECK_VERSION (1, 24, 0)
  tcase_add_test (tc, test_streams_of_neighbours_are_waited_for);
#endif
  return s;
}

int
main (int argc, char **argv)
{
  gst_check_init (&argc, &argv);
  simcuda_doors ();
  return gst_check_run_suite (cuda_suite (), "cuda", __FILE__);
}
