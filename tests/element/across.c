/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Filters across frames: every frame against the reference. Runs on the plugin
 * as it is, and on the one with three frames in flight. */
#include "pictures.h"

#include <string.h>

#define FRAME (40 * GST_MSECOND)
#define MAX_FRAMES 12

typedef struct
{
  const gchar *launch;
  ConvolveFilter filter;
  gdouble taps[5];
  guint n_taps;
  gboolean causal;
} Filter;

static const Filter filters[] = {
  {"filter=identity kernel-t=<1,2,3>", CONVOLVE_FILTER_IDENTITY, {1, 2, 3}, 3,
      FALSE},
  {"filter=gaussian kernel-t=<1,1,2,5> temporal-mode=causal",
      CONVOLVE_FILTER_GAUSSIAN, {1, 1, 2, 5}, 4, TRUE},
  {"filter=sobel kernel-t=<-1,1>", CONVOLVE_FILTER_SOBEL, {-1, 1}, 2, FALSE},
  {"filter=unsharp kernel-t=<1,0,0,1,1>", CONVOLVE_FILTER_UNSHARP,
      {1, 0, 0, 1, 1}, 5, FALSE},
};

static const gchar *const formats[] = {
  "GRAY8", "I420", "I420_10LE", "A420", "NV12", "P010_10LE", "YUY2", "AYUV",
  "Y410", "GBR", "RGBA", "BGRx", "RGB", "ARGB64", "GRAY16_BE"
};

/* Pushes a stream of n pictures and compares what comes out. */
static void
check_stream (GstHarness * h, Pictures * pictures, guint n, guint begin,
    const ConvolveSettings * settings, gboolean fields)
{
  RandomFrame *stream[MAX_FRAMES];

  for (guint i = 0; i < n; i++) {
    GstBuffer *buffer;

    stream[i] = picture_new (pictures);
    buffer = picture_to_buffer (pictures, stream[i], begin + i);
    if (i == 0)
      GST_BUFFER_FLAG_SET (buffer, GST_BUFFER_FLAG_DISCONT);
    fail_unless_equals_int (gst_harness_push (h, buffer), GST_FLOW_OK);
  }
  gst_harness_push_event (h, gst_event_new_gap (0, 1));
  fail_unless_equals_int (gst_harness_buffers_in_queue (h), n);
  for (guint i = 0; i < n; i++) {
    GstBuffer *out = gst_harness_pull (h);

    fail_unless_equals_uint64 (GST_BUFFER_PTS (out), (begin + i) * FRAME);
    fail_unless_equals_int (GST_BUFFER_FLAG_IS_SET (out,
            GST_BUFFER_FLAG_DISCONT), i == 0);
    assert_stream_picture (pictures, stream, n, i, out, settings, fields, NULL);
  }
  for (guint i = 0; i < n; i++)
    random_frame_free (stream[i]);
}

static void
settings_for (const Filter * filter, ConvolveSettings * settings)
{
  convolve_settings_init (settings);
  settings->filter = filter->filter;
  settings->kernel_t = convolve_matrix_new (filter->n_taps, 1, filter->taps);
  settings->temporal_mode = filter->causal;
}

/* Streams longer than the window, and shorter. */
GST_START_TEST (test_formats)
{
  for (guint f = 0; f < G_N_ELEMENTS (formats); f++) {
    const Filter *filter = &filters[f % G_N_ELEMENTS (filters)];
    gchar *caps = g_strdup_printf ("video/x-raw,format=%s,width=19,height=9,"
        "framerate=25/1", formats[f]);
    gchar *launch = g_strconcat ("videoconvolve ", filter->launch, NULL);
    GstHarness *h = element_harness (launch, caps);
    ConvolveSettings settings;
    Pictures pictures;

    GST_INFO ("%s %s", launch, caps);
    settings_for (filter, &settings);
    pictures_init (&pictures, caps);
    check_stream (h, &pictures, 7, 0, &settings, FALSE);
    check_stream (h, &pictures, 1, 7, &settings, FALSE);
    check_stream (h, &pictures, 2, 8, &settings, FALSE);
    convolve_settings_clear (&settings);
    gst_harness_teardown (h);
    g_free (launch);
    g_free (caps);
  }
}

GST_END_TEST;

/* A matrix for each frame. */
GST_START_TEST (test_deep)
{
  static const gdouble weights[] = { 0, 1, 1, 0, 0, 0, 3, 3, 3, 0, 2, 2, 0, 0,
    0, -1, 0, 2
  };
  static const gchar *const caps[] = {
    "video/x-raw,format=I420,width=23,height=11,framerate=25/1",
    "video/x-raw,format=RGBA,width=23,height=11,framerate=25/1",
  };

  for (guint c = 0; c < G_N_ELEMENTS (caps); c++) {
    GstHarness *h = element_harness ("videoconvolve kernel="
        "\"<<<0,1,1>,<0,0,0>>,<<3,3,3>,<0,2,2>>,<<0,0,0>,<-1,0,2>>>\"",
        caps[c]);
    ConvolveSettings settings;
    Pictures pictures;

    convolve_settings_init (&settings);
    settings.filter = CONVOLVE_FILTER_CUSTOM;
    settings.kernel = convolve_matrix_new_deep (3, 2, 3, weights, NULL);
    pictures_init (&pictures, caps[c]);
    check_stream (h, &pictures, 6, 0, &settings, FALSE);
    convolve_settings_clear (&settings);
    gst_harness_teardown (h);
  }
}

GST_END_TEST;

GST_START_TEST (test_fields)
{
  const gchar *caps = "video/x-raw,format=I420,width=16,height=12,"
      "framerate=25/1,interlace-mode=interleaved";
  GstHarness *h = element_harness ("videoconvolve kernel-t=<1,2,3>", caps);
  Filter filter = {.filter = CONVOLVE_FILTER_GAUSSIAN,.taps = {1, 2, 3},
  .n_taps = 3
  };
  ConvolveSettings settings;
  Pictures pictures;

  settings_for (&filter, &settings);
  pictures_init (&pictures, caps);
  check_stream (h, &pictures, 5, 0, &settings, TRUE);
  convolve_settings_clear (&settings);
  gst_harness_teardown (h);
}

GST_END_TEST;

static Suite *
across_suite (void)
{
  Suite *suite = suite_create ("across");
  TCase *tc = tcase_create ("across");

  suite_add_tcase (suite, tc);
  tcase_add_test (tc, test_formats);
  tcase_add_test (tc, test_deep);
  tcase_add_test (tc, test_fields);
  return suite;
}

GST_CHECK_MAIN (across);
