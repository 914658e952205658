/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The element on a real GPU: memories, decoders, instances, changes while it
 * plays, starts and stops. Without one, exit 77. */
#include <string.h>

#include <gmodule.h>
#include <gst/app/gstappsink.h>
#include <gst/check/gstcheck.h>
#include <gst/video/video.h>

#define N_FRAMES 4
#define CUDA "video/x-raw(memory:CUDAMemory)"

/* ---- running ---- */

static void
fail_on_error (GstElement * pipeline, const gchar * line)
{
  GstBus *bus = gst_element_get_bus (pipeline);
  GstMessage *message = gst_bus_pop_filtered (bus, GST_MESSAGE_ERROR);

  if (message != NULL) {
    GError *error;
    gchar *debug;

    gst_message_parse_error (message, &error, &debug);
    fail ("%s: %s (%s)", line, error->message, debug);
  }
  gst_object_unref (bus);
}

/* The visible samples of a frame, plane by plane, row by row, no padding. */
static void
append_frame (GByteArray * bytes, GstSample * sample)
{
  GstVideoInfo info;
  GstVideoFrame frame;

  fail_unless (gst_video_info_from_caps (&info, gst_sample_get_caps (sample)));
  fail_unless (gst_video_frame_map (&frame, &info,
          gst_sample_get_buffer (sample), GST_MAP_READ));
  for (guint p = 0; p < GST_VIDEO_FRAME_N_PLANES (&frame); p++) {
    gint components[GST_VIDEO_MAX_COMPONENTS];
    guint c, width, height;

    gst_video_format_info_component (info.finfo, p, components);
    c = components[0];
    width = GST_VIDEO_FRAME_COMP_WIDTH (&frame, c) *
        GST_VIDEO_FRAME_COMP_PSTRIDE (&frame, c);
    height = GST_VIDEO_FRAME_COMP_HEIGHT (&frame, c);
    for (guint y = 0; y < height; y++)
      g_byte_array_append (bytes,
          (guint8 *) GST_VIDEO_FRAME_PLANE_DATA (&frame, p) +
          y * GST_VIDEO_FRAME_PLANE_STRIDE (&frame, p), width);
  }
  gst_video_frame_unmap (&frame);
}

/* All frames of a pipeline that ends in system memory. */
static GByteArray *
run (const gchar * format, ...)
{
  GByteArray *bytes = g_byte_array_new ();
  GstElement *pipeline, *sink;
  GError *error = NULL;
  gchar *line, *whole;
  GstSample *sample;
  guint n = 0;
  va_list args;

  va_start (args, format);
  line = g_strdup_vprintf (format, args);
  va_end (args);
  whole = g_strconcat (line, " ! appsink name=sink sync=false", NULL);
  pipeline = gst_parse_launch (whole, &error);
  fail_unless (pipeline != NULL && error == NULL, "%s: %s", line,
      error ? error->message : "no pipeline");
  sink = gst_bin_get_by_name (GST_BIN (pipeline), "sink");
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  while ((sample = gst_app_sink_pull_sample (GST_APP_SINK (sink)))) {
    append_frame (bytes, sample);
    gst_sample_unref (sample);
    n++;
  }
  fail_on_error (pipeline, line);
  fail_unless (n > 0, "%s: no frame came out", line);
  gst_element_set_state (pipeline, GST_STATE_NULL);
  gst_object_unref (sink);
  gst_object_unref (pipeline);
  g_free (whole);
  g_free (line);
  return bytes;
}

/* Samples of a and b differ by at most limit steps. word: bytes of a sample;
 * step: of one value in it (64 for ten bits in the upper ones of a word). */
static void
assert_close (const gchar * what, GByteArray * a, GByteArray * b, guint word,
    guint step, guint limit)
{
  guint64 different = 0;
  guint worst_at = 0;
  gint worst = 0;

  fail_unless_equals_int (a->len, b->len);
  for (guint i = 0; i + word <= a->len; i += word) {
    gint x = word == 1 ? a->data[i] : GST_READ_UINT16_LE (a->data + i);
    gint y = word == 1 ? b->data[i] : GST_READ_UINT16_LE (b->data + i);

    different += x != y;
    if (ABS (x - y) > worst) {
      worst = ABS (x - y);
      worst_at = i / word;
    }
  }
  fail_unless (worst <= (gint) (limit * step), "%s: sample %u is %d off", what,
      worst_at, worst);
  GST_INFO ("%s: %" G_GUINT64_FORMAT " of %u differ", what, different,
      a->len / word);
  g_byte_array_unref (a);
  g_byte_array_unref (b);
}

static void
assert_equal (const gchar * what, GByteArray * a, GByteArray * b)
{
  assert_close (what, g_byte_array_ref (a), b, 1, 1, 0);
}

/* ---- tests ---- */

static const struct
{
  const gchar *format;
  guint word, step;
} formats[] = {
  {"NV12", 1, 1}, {"I420", 1, 1}, {"RGBA", 1, 1}, {"BGR", 1, 1},
  {"YUY2", 1, 1}, {"P010_10LE", 2, 64}, {"I420_10LE", 2, 1}, {"Y444_16LE", 2,
      1}, {"GBR", 1, 1},
};

static const gchar *filters[] = {
  "filter=gaussian sigma=2", "filter=sobel", "filter=sharpen border=mirror",
  "filter=disk radius=5 border=wrap", "filter=gaussian sigma=30 bands=3",
  "filter=unsharp amount=2 frames-in-flight=3 border=reflect",
};

GST_START_TEST (test_memories_are_equal)
{
  const gchar *source = "videotestsrc num-buffers=%d pattern=zone-plate kx2=20 "
      "ky2=20 kt=1 ! video/x-raw,format=%s,width=%d,height=%d";
  const gchar *filter = filters[__i__ % G_N_ELEMENTS (filters)];

  for (guint f = 0; f < G_N_ELEMENTS (formats); f++) {
    const gchar *format = formats[f].format;
    /* Odd sizes where the test source and the copies around us are right. */
    gchar *src = g_strdup_printf (source, N_FRAMES, format, 322 + 16 * __i__,
        242);
    GByteArray *host = run ("%s ! videoconvolve backend=cuda %s ! video/x-raw",
        src, filter);

    assert_equal ("up",
        host, run ("%s ! cudaupload ! videoconvolve backend=cuda %s "
            "! video/x-raw", src, filter));
    assert_equal ("down",
        host, run ("%s ! videoconvolve backend=cuda %s ! " CUDA
            " ! cudadownload", src, filter));
    assert_equal ("both",
        host, run ("%s ! cudaupload ! videoconvolve backend=cuda %s ! " CUDA
            " ! cudadownload", src, filter));
    assert_close ("cpu", host, run ("%s ! videoconvolve backend=cpu %s "
            "! video/x-raw", src, filter), formats[f].word, formats[f].step, 1);
    g_free (src);
  }
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
      run ("%s ! videoconvolve backend=cuda sigma=3 ! " CUDA
          " ! cudadownload", src),
      run ("%s ! cudadownload ! videoconvolve backend=cpu sigma=3", src), 1, 1,
      1);
  g_free (src);
}

GST_END_TEST;

static gpointer
run_thread (gpointer line)
{
  return run ("%s", (const gchar *) line);
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
      alone[i] = run ("%s", lines[i]);
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

GST_START_TEST (test_starts_and_stops)
{
  const gchar *line = "videotestsrc num-buffers=2 ! "
      "video/x-raw,format=NV12,width=640,height=480 ! "
      "videoconvolve backend=cuda sigma=%d ! video/x-raw";
  gsize before = 0, after;

  for (guint i = 0; i < 200; i++) {
    g_byte_array_unref (run (line, 1 + i % 20));
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
