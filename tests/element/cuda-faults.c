/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The element on the simulated driver when something goes wrong: faults of the
 * GPU, and too little memory. */
#include <string.h>

#include "cudatest.h"

#define GREY_CAPS "video/x-raw,format=GRAY8,width=8,height=4,framerate=25/1"
#define N_FRAMES 10

/* ---- processes ---- */

/* After a fault that is for good a process cannot use CUDA any more, so such a
 * test runs in a process of its own. TRUE in that one; in the other, after it
 * has ended well. */
static gboolean
in_own_process (const gchar * test, gboolean others_call)
{
  g_auto (GStrv) environment = g_get_environ ();
  g_autofree gchar *program = g_file_read_link ("/proc/self/exe", NULL);
  gchar *argv[] = { program, NULL };
  GError *error = NULL;
  gint status;

  if (g_getenv ("ELEMENT_TEST_ALONE") != NULL)
    return TRUE;
  environment = g_environ_setenv (environment, "ELEMENT_TEST_ALONE", "1", TRUE);
  environment = g_environ_setenv (environment, "GST_CHECKS", test, TRUE);
  environment = g_environ_setenv (environment, "SIMCUDA_AFTER_FAULT",
      others_call ? "1" : "0", TRUE);
  fail_unless (g_spawn_sync (NULL, argv, environment, G_SPAWN_DEFAULT, NULL,
          NULL, NULL, NULL, &status, &error), "%s",
      error != NULL ? error->message : "");
  fail_unless (g_spawn_check_wait_status (status, &error), "%s alone: %s", test,
      error != NULL ? error->message : "");
  return FALSE;
}

/* ---- frames of system memory ---- */

/* Frames with a value each come out in order, each with its own. */
static void
check_frames (GstHarness * h)
{
  for (guint i = 0; i < N_FRAMES; i++)
    fail_unless_equals_int (gst_harness_push (h, filled_buffer (32, i, i)),
        GST_FLOW_OK);
  gst_harness_push_event (h, gst_event_new_eos ());
  for (guint i = 0; i < N_FRAMES; i++) {
    GstBuffer *buffer = gst_harness_try_pull (h);

    fail_unless (buffer != NULL, "frame %u is missing", i);
    fail_unless_equals_uint64 (GST_BUFFER_PTS (buffer), i * 40 * GST_MSECOND);
    assert_filled (buffer, i);
  }
}

static void
assert_backend (GstHarness * h, const gchar * backend)
{
  GstStructure *stats;

  g_object_get (h->element, "stats", &stats, NULL);
  fail_unless_equals_string (gst_structure_get_string (stats, "backend"),
      backend);
  gst_structure_free (stats);
}

static void
done (GstHarness * h, GstBus * bus)
{
  assert_no_message (bus, GST_MESSAGE_WARNING | GST_MESSAGE_ERROR);
  bus_done (h, bus);
  gst_harness_teardown (h);
  simcuda_doors ()->fail_name ("", 0, 0);
  simcuda_doors ()->limit (G_MAXSIZE, G_MAXSIZE);
}

/* The n-th call of each of these fails while frames run. */
static const gchar *const calls[] = { "cuMemcpy2DAsync", "cuLaunchKernel",
  "cuEventRecord", "cuStreamWaitEvent", "cuEventQuery"
};

GST_START_TEST (test_cpu_goes_on)
{
  for (guint n = 1; n <= N_FRAMES; n += 3) {
    GstHarness *h = element_harness ("videoconvolve filter=box radius=1 "
        "frames-in-flight=3", GREY_CAPS);
    GstBus *bus = bus_of (h);

    assert_backend (h, "cuda");
    simcuda_doors ()->fail_name (calls[__i__], n, CUDA_ERROR_INVALID_VALUE);
    check_frames (h);
    assert_message (bus, GST_MESSAGE_WARNING, GST_RESOURCE_ERROR,
        GST_RESOURCE_ERROR_FAILED, "the CPU goes on");
    assert_backend (h, "cpu");
    done (h, bus);
    fail_unless_equals_int (simcuda_doors ()->live (), 0);
  }
}

GST_END_TEST;

/* The same after a fault that is for good: no call reaches the driver any more,
 * a stop does not hang, and the next start is on the CPU. */
GST_START_TEST (test_cpu_goes_on_for_good)
{
  GstHarness *h;
  GstBus *bus;

  if (!in_own_process (__func__, FALSE))
    return;
  h = element_harness ("videoconvolve filter=box radius=1 frames-in-flight=3",
      GREY_CAPS);
  bus = bus_of (h);
  simcuda_doors ()->fail_name ("cuEventQuery", 5, CUDA_ERROR_ILLEGAL_ADDRESS);
  check_frames (h);
  assert_message (bus, GST_MESSAGE_WARNING, GST_RESOURCE_ERROR,
      GST_RESOURCE_ERROR_FAILED, "restart the process");
  done (h, bus);

  h = element_harness ("videoconvolve filter=box radius=1", GREY_CAPS);
  bus = bus_of (h);
  assert_backend (h, "cpu");
  check_frames (h);
  done (h, bus);
}

GST_END_TEST;

/* ---- frames of CUDA memory ---- */

static const struct
{
  const gchar *launch, *sink_caps, *src_caps;
} device_cases[] = {
  {"videoconvolve backend=auto", CUDA_CAPS, CUDA_CAPS},
  {"videoconvolve backend=cuda", CUDA_CAPS, SYSTEM_CAPS},
  {"videoconvolve backend=auto", SYSTEM_CAPS, CUDA_CAPS},
  {"videoconvolve backend=auto frames-in-flight=3", CUDA_CAPS, CUDA_CAPS},
};

/* Frames until one fails in the call that is said; only right ones come out. */
static void
push_until_fault (GstHarness * h, GstBufferPool * pool, const gchar * sink_caps,
    const gchar * call, CUresult code)
{
  GstFlowReturn ret = GST_FLOW_OK;
  GstBuffer *buffer;

  for (guint i = 0; i < N_FRAMES && ret == GST_FLOW_OK; i++) {
    buffer = g_str_equal (sink_caps, CUDA_CAPS) ? cuda_buffer (pool, i, i) :
        filled_buffer (CUDA_PICTURE_BYTES, i, i);
    if (i == 4)
      simcuda_doors ()->fail_name (call, 1, code);
    ret = gst_harness_push (h, buffer);
  }
  fail_unless_equals_int (ret, GST_FLOW_ERROR);
  simcuda_doors ()->fail_name ("", 0, 0);
  for (guint i = 0; (buffer = gst_harness_try_pull (h)) != NULL; i++) {
    fail_unless (i < 4);
    /* A fault that is for good leaves no way to their bytes. */
    if (code == CUDA_ERROR_INVALID_VALUE)
      assert_filled (buffer, i);
    else
      gst_buffer_unref (buffer);
  }
}

static void
check_fault_in_cuda_memory (guint i, const gchar * call, CUresult code)
{
  GstCudaContext *context = cuda_context (0);
  GstBufferPool *pool = cuda_pool (context);
  Application application = { context };
  GstHarness *h = cuda_harness (device_cases[i].launch,
      device_cases[i].sink_caps, device_cases[i].src_caps, &application);

  push_until_fault (h, pool, device_cases[i].sink_caps, call, code);
  assert_message (application.bus, GST_MESSAGE_ERROR, GST_RESOURCE_ERROR,
      GST_RESOURCE_ERROR_FAILED, code == CUDA_ERROR_INVALID_VALUE ?
      "a frame was not filtered" : "restart the process");
  cuda_harness_done (h, &application);
  cuda_pool_done (pool);
  if (code == CUDA_ERROR_INVALID_VALUE) {
    cuda_context_done (context);
    fail_unless_equals_int (simcuda_doors ()->live (), 0);
  } else {
    gst_object_unref (context);
  }
}

GST_START_TEST (test_fault_in_cuda_memory)
{
  check_fault_in_cuda_memory (__i__, "cuLaunchKernel",
      CUDA_ERROR_INVALID_VALUE);
  check_fault_in_cuda_memory (__i__, "cuEventQuery", CUDA_ERROR_INVALID_VALUE);
}

GST_END_TEST;

GST_START_TEST (test_fault_in_cuda_memory_for_good)
{
  if (in_own_process (__func__, TRUE))
    check_fault_in_cuda_memory (3, "cuEventQuery", CUDA_ERROR_LAUNCH_FAILED);
}

GST_END_TEST;

/* ---- memory ---- */

/* One refused allocation, whichever it is from the caps on, is got over with
 * fewer frames in flight; only the first frame needs all that it asks for:
 * weights, input and output on the device. */
GST_START_TEST (test_fewer_frames_in_flight)
{
  static const struct
  {
    const gchar *call;
    guint first;                /* that may be refused */
  } cases[] = { {"cuMemAlloc", 4}, {"cuMemHostAlloc", 1} };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    for (guint n = cases[i].first; n < cases[i].first + 6; n++) {
      GstHarness *h = element_harness ("videoconvolve backend=cuda filter=box "
          "frames-in-flight=4", NULL);
      GstBus *bus = bus_of (h);

      simcuda_doors ()->fail_name (cases[i].call, n, CUDA_ERROR_OUT_OF_MEMORY);
      gst_harness_set_src_caps_str (h, GREY_CAPS);
      check_frames (h);
      done (h, bus);
    }
}

GST_END_TEST;

/* Memory of the device, page-locked memory, or neither. */
static const struct
{
  gsize device, host;
} shortages[] = { {0, G_MAXSIZE}, {1, G_MAXSIZE}, {G_MAXSIZE, 0}, {0, 0} };

GST_START_TEST (test_cpu_where_memory_is_short)
{
  GstHarness *h = element_harness ("videoconvolve filter=box", NULL);
  GstBus *bus = bus_of (h);

  simcuda_doors ()->limit (shortages[__i__].device, shortages[__i__].host);
  gst_harness_set_src_caps_str (h, GREY_CAPS);
  check_frames (h);
  assert_message (bus, GST_MESSAGE_WARNING, GST_RESOURCE_ERROR,
      GST_RESOURCE_ERROR_FAILED, "has run out");
  assert_backend (h, "cpu");
  done (h, bus);
}

GST_END_TEST;

GST_START_TEST (test_error_where_memory_is_short)
{
  GstHarness *h = element_harness ("videoconvolve backend=cuda filter=box",
      NULL);
  GstBus *bus = bus_of (h);

  simcuda_doors ()->limit (shortages[__i__].device, shortages[__i__].host);
  gst_harness_set_src_caps_str (h, GREY_CAPS);
  fail_if (gst_harness_push (h, filled_buffer (32, 0, 0)) == GST_FLOW_OK);
  fail_unless_equals_int (gst_harness_buffers_in_queue (h), 0);
  assert_message (bus, GST_MESSAGE_ERROR, GST_RESOURCE_ERROR,
      GST_RESOURCE_ERROR_NO_SPACE_LEFT, "use backend=cpu");
  /* And once there is memory again, it works. */
  simcuda_doors ()->limit (G_MAXSIZE, G_MAXSIZE);
  gst_harness_set_src_caps_str (h, GREY_CAPS);
  check_frames (h);
  done (h, bus);
}

GST_END_TEST;

/* A change that the device has no memory for: with backend=auto the CPU makes
 * it, with frames in flight. */
GST_START_TEST (test_change_where_memory_is_short)
{
  GstHarness *h = element_harness ("videoconvolve filter=box "
      "frames-in-flight=3", GREY_CAPS);
  GstBus *bus = bus_of (h);

  for (guint i = 0; i < N_FRAMES; i++) {
    if (i == 5) {
      simcuda_doors ()->limit (0, G_MAXSIZE);
      g_object_set (h->element, "bias", 100 / 255.0, NULL);
    }
    fail_unless_equals_int (gst_harness_push (h, filled_buffer (32, i, i)),
        GST_FLOW_OK);
  }
  gst_harness_push_event (h, gst_event_new_eos ());
  for (guint i = 0; i < N_FRAMES; i++)
    assert_filled (gst_harness_pull (h), i < 5 ? i : 100 + i);
  assert_message (bus, GST_MESSAGE_WARNING, GST_RESOURCE_ERROR,
      GST_RESOURCE_ERROR_FAILED, "has run out");
  assert_backend (h, "cpu");
  done (h, bus);
}

GST_END_TEST;

static Suite *
cuda_faults_suite (void)
{
  Suite *s = suite_create ("cuda-faults");
  TCase *tc = tcase_create ("cuda-faults");

  suite_add_tcase (s, tc);
  tcase_add_loop_test (tc, test_cpu_goes_on, 0, G_N_ELEMENTS (calls));
  tcase_add_test (tc, test_cpu_goes_on_for_good);
  tcase_add_loop_test (tc, test_fault_in_cuda_memory, 0,
      G_N_ELEMENTS (device_cases));
  tcase_add_test (tc, test_fault_in_cuda_memory_for_good);
  tcase_add_test (tc, test_fewer_frames_in_flight);
  tcase_add_loop_test (tc, test_cpu_where_memory_is_short, 0,
      G_N_ELEMENTS (shortages));
  tcase_add_loop_test (tc, test_error_where_memory_is_short, 0,
      G_N_ELEMENTS (shortages));
  tcase_add_test (tc, test_change_where_memory_is_short);
  return s;
}

int
main (int argc, char **argv)
{
  gst_check_init (&argc, &argv);
  simcuda_doors ();
  return gst_check_run_suite (cuda_faults_suite (), "cuda_faults", __FILE__);
}
