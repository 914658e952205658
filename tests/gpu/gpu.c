/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The element on a real GPU: memories, decoders, instances, changes while it
 * plays, starts and stops. Without one, exit 77. */
#include <string.h>

#include <gmodule.h>
#include <gst/app/gstappsink.h>

#include "pipelinetest.h"

#define N_FRAMES 4
#define CUDA "video/x-raw(memory:CUDAMemory)"

static void
assert_equal (const gchar * what, GByteArray * a, GByteArray * b)
{
  assert_close (what, g_byte_array_ref (a), b, 1, 1, 0);
}

/* Free device memory, asked through a context that stays. */
static gsize
free_memory (void)
{
  static gint (*get_info) (gsize *, gsize *) = NULL;
  gsize free_bytes, total;

  if (get_info == NULL) {
    GModule *cuda = g_module_open ("libcuda.so.1", G_MODULE_BIND_LAZY);
    gint (*init) (guint), (*retain) (gpointer *, gint), (*push) (gpointer);
    gpointer context;

    fail_unless (g_module_symbol (cuda, "cuInit", (gpointer *) & init));
    fail_unless (g_module_symbol (cuda, "cuDevicePrimaryCtxRetain",
            (gpointer *) & retain));
    fail_unless (g_module_symbol (cuda, "cuCtxPushCurrent_v2",
            (gpointer *) & push));
    fail_unless (g_module_symbol (cuda, "cuMemGetInfo_v2",
            (gpointer *) & get_info));
    fail_unless (init (0) == 0 && retain (&context, 0) == 0
        && push (context) == 0);
  }
  fail_unless (get_info (&free_bytes, &total) == 0);
  return free_bytes;
}

/* So that not every pipeline makes the primary context anew. */
static void
keep_context (void)
{
  free_memory ();
}

/* ---- tests ---- */

static const gchar *filters[] = {
  "filter=gaussian sigma=2", "filter=sobel", "filter=sharpen border=mirror",
  "filter=disk radius=5 border=wrap", "filter=gaussian sigma=30 bands=3",
  "filter=unsharp amount=2 frames-in-flight=3 border=reflect",
};

GST_START_TEST (test_memories_are_equal)
{
  /* Sizes where the test source and the copies around us are right. A format
   * meets every other filter: pipelines take long to start. */
  for (guint f = __i__ % 2; f < n_pipeline_formats; f += 2)
    check_memories (&pipeline_formats[f], 322 + 16 * __i__, 242, N_FRAMES,
        filters[__i__], FALSE);
}

GST_END_TEST;

/* What each decoder gives, filtered on the device and, after a download, on
 * the CPU. */
static const struct
{
  const gchar *encoder, *decoder;
} decoders[] = {
  {"jpegenc", "nvjpegdec"},
  {"vp8enc deadline=1", "nvvp8dec"},
};

GST_START_TEST (test_decoders)
{
  const gchar *encoder = decoders[__i__].encoder;
  const gchar *decoder = decoders[__i__].decoder;
  gchar *src;

  if (!gst_registry_check_feature_version (gst_registry_get (), decoder, 1, 20,
          0)) {
    g_print ("%s is not here: not tested\n", decoder);
    return;
  }
  src = g_strdup_printf ("videotestsrc num-buffers=12 ! "
      "video/x-raw,format=I420,width=640,height=360 ! %s ! %s ! " CUDA,
      encoder, decoder);
  assert_close (decoder,
      pipeline_run ("%s ! videoconvolve backend=cuda sigma=3 ! " CUDA
          " ! cudadownload", src),
      pipeline_run ("%s ! cudadownload ! videoconvolve backend=cpu sigma=3",
          src), 1, 1, 1);
  g_free (src);
}

GST_END_TEST;

static gpointer
run_thread (gpointer line)
{
  return pipeline_run ("%s", (const gchar *) line);
}

GST_START_TEST (test_two_instances)
{
  gchar *lines[2];

  for (guint i = 0; i < 2; i++)
    lines[i] =
        g_strdup_printf ("videotestsrc num-buffers=60 pattern=zone-plate "
        "kx2=9 ky2=9 ! video/x-raw,format=RGBA,width=640,height=480 ! "
        "videoconvolve backend=cuda %s",
        i ? "filter=emboss" : "filter=gaussian sigma=5");
  for (guint round = 0; round < 3; round++) {
    GThread *threads[2];
    GByteArray *alone[2];

    for (guint i = 0; i < 2; i++)
      alone[i] = pipeline_run ("%s", lines[i]);
    for (guint i = 0; i < 2; i++)
      threads[i] = g_thread_new ("run", run_thread, lines[i]);
    for (guint i = 0; i < 2; i++) {
      assert_equal ("together", alone[i], g_thread_join (threads[i]));
      g_byte_array_unref (alone[i]);
    }
  }
  g_free (lines[0]);
  g_free (lines[1]);
}

GST_END_TEST;

/* Each frame of a flat picture is flat whatever runs: a frame that is half one
 * setting would not be. */
GST_START_TEST (test_changes_while_playing)
{
  GstElement *pipeline = gst_parse_launch ("videotestsrc num-buffers=400 "
      "pattern=white ! video/x-raw,format=GRAY8,width=512,height=384 ! "
      "videoconvolve name=v backend=cuda frames-in-flight=2 filter=custom "
      "kernel=\"<<1>>\" normalize=false scale=0.5 ! appsink name=s sync=false",
      NULL);
  GstElement *v = gst_bin_get_by_name (GST_BIN (pipeline), "v");
  GstElement *s = gst_bin_get_by_name (GST_BIN (pipeline), "s");
  GstSample *sample;
  guint n = 0;

  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  while ((sample = gst_app_sink_pull_sample (GST_APP_SINK (s)))) {
    GByteArray *bytes = g_byte_array_new ();

    append_frame (bytes, sample);
    fail_unless (memcmp (bytes->data, bytes->data + 1, bytes->len - 1) == 0,
        "frame %u is mixed", n);
    g_byte_array_unref (bytes);
    gst_sample_unref (sample);
    n++;
    g_object_set (v, "scale", 0.2 + 0.001 * n, NULL);
    if (n % 10 == 0)
      gst_util_set_object_arg (G_OBJECT (v), "kernel", n % 20 ?
          "<<0,0.5,0>,<0,0.25,0>,<0,0.25,0>>" : "<<0.5,0.5>>");
    if (n % 50 == 0)
      g_object_set (v, "frames-in-flight", 1 + n / 50 % 3, NULL);
  }
  fail_on_error (pipeline, "changes");
  fail_unless_equals_int (n, 400);
  gst_element_set_state (pipeline, GST_STATE_NULL);
  gst_object_unref (v);
  gst_object_unref (s);
  gst_object_unref (pipeline);
}

GST_END_TEST;

GST_START_TEST (test_starts_and_stops)
{
  const gchar *line = "videotestsrc num-buffers=2 ! "
      "video/x-raw,format=NV12,width=640,height=480 ! "
      "videoconvolve backend=cuda sigma=%d ! video/x-raw";
  gsize before = 0, after;

  for (guint i = 0; i < 200; i++) {
    g_byte_array_unref (pipeline_run (line, 1 + i % 20));
    if (i == 9)
      before = free_memory ();
  }
  after = free_memory ();
  GST_INFO ("free before %" G_GSIZE_FORMAT ", after %" G_GSIZE_FORMAT, before,
      after);
  fail_unless (after + (8 << 20) >= before,
      "device memory grew by %" G_GSIZE_FORMAT " bytes", before - after);
}

GST_END_TEST;

static Suite *
gpu_suite (void)
{
  Suite *suite = suite_create ("gpu");
  TCase *tests = tcase_create ("general");

  suite_add_tcase (suite, tests);
  tcase_set_timeout (tests, 300);
  tcase_add_checked_fixture (tests, keep_context, NULL);
  tcase_add_loop_test (tests, test_memories_are_equal, 0,
      G_N_ELEMENTS (filters));
  tcase_add_loop_test (tests, test_decoders, 0, G_N_ELEMENTS (decoders));
  tcase_add_test (tests, test_two_instances);
  tcase_add_test (tests, test_changes_while_playing);
  tcase_add_test (tests, test_starts_and_stops);
  return suite;
}

/* A GPU that the element can use, or a reason why not. Asked in a child: CUDA
 * does not survive the fork that each test is run in. */
static gboolean
have_gpu (const gchar * program)
{
  const gchar *argv[] = { program, "--probe", NULL };
  gint status;

  return g_spawn_sync (NULL, (gchar **) argv, NULL, G_SPAWN_DEFAULT, NULL,
      NULL, NULL, NULL, &status, NULL) && status == 0;
}

static int
probe (void)
{
  GstElement *element = gst_element_factory_make ("videoconvolve", NULL);
  gboolean failed;

  if (element == NULL)
    return 1;
  gst_util_set_object_arg (G_OBJECT (element), "backend", "cuda");
  failed = gst_element_set_state (element, GST_STATE_PAUSED) ==
      GST_STATE_CHANGE_FAILURE;
  gst_element_set_state (element, GST_STATE_NULL);
  gst_object_unref (element);
  return failed;
}

int
main (int argc, char **argv)
{
  if (argc > 1 && g_str_equal (argv[1], "--probe")) {
    gst_init (NULL, NULL);
    return probe ();
  }
  gst_check_init (&argc, &argv);
  if (!have_gpu (argv[0])) {
    g_print ("no GPU that videoconvolve can use: skipped\n");
    return 77;
  }
  return gst_check_run_suite (gpu_suite (), "gpu", __FILE__);
}
