/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Interlaced video: which fields are pictures of their own, chroma too, and
 * what travels with them. */
#include "pictures.h"

static const gchar *const formats[] = { "GRAY8", "I420", "NV12", "Y42B",
  "YUY2", "UYVY", "AYUV", "RGB", "P010_10LE", "I420_10LE", "A420"
};

/* Even and odd numbers of rows, of fields and of chroma rows in them. */
static const guint heights[] = { 1, 2, 3, 5, 6, 7, 36, 38 };

static gchar *
caps_for (const gchar * format, guint height, const gchar * mode)
{
  return g_strdup_printf ("video/x-raw,format=%s,width=34,height=%u,"
      "framerate=25/1,interlace-mode=%s", format, height, mode);
}

static ConvolveSettings
gaussian (gdouble sigma)
{
  ConvolveSettings settings;

  convolve_settings_init (&settings);
  settings.sigma = sigma;
  return settings;
}

GST_START_TEST (test_interleaved)
{
  ConvolveSettings settings = gaussian (1.5);

  for (guint i = 0; i < G_N_ELEMENTS (heights); i++) {
    gchar *caps = caps_for (formats[__i__], heights[i], "interleaved");

    check_launch ("videoconvolve sigma=1.5", caps, &settings, TRUE);
    check_launch ("videoconvolve sigma=1.5 fields=field", caps, &settings,
        TRUE);
    check_launch ("videoconvolve sigma=1.5 fields=frame", caps, &settings,
        FALSE);
    g_free (caps);
  }
}

GST_END_TEST;

GST_START_TEST (test_progressive)
{
  ConvolveSettings settings = gaussian (1.5);
  gchar *caps = caps_for (formats[__i__], 38, "progressive");

  check_launch ("videoconvolve sigma=1.5", caps, &settings, FALSE);
  check_launch ("videoconvolve sigma=1.5 fields=field", caps, &settings, TRUE);
  g_free (caps);
}

GST_END_TEST;

/* A telecined film: each buffer says what it is, and keeps saying so. */
GST_START_TEST (test_mixed)
{
  static const guint flags[] = {
    0, GST_VIDEO_BUFFER_FLAG_INTERLACED | GST_VIDEO_BUFFER_FLAG_TFF,
    GST_VIDEO_BUFFER_FLAG_RFF | GST_VIDEO_BUFFER_FLAG_TFF,
    GST_VIDEO_BUFFER_FLAG_INTERLACED, GST_VIDEO_BUFFER_FLAG_RFF,
    GST_VIDEO_BUFFER_FLAG_INTERLACED | GST_VIDEO_BUFFER_FLAG_ONEFIELD,
    GST_VIDEO_BUFFER_FLAG_TFF,
  };
  const guint all = GST_VIDEO_BUFFER_FLAG_INTERLACED
      | GST_VIDEO_BUFFER_FLAG_TFF | GST_VIDEO_BUFFER_FLAG_RFF
      | GST_VIDEO_BUFFER_FLAG_ONEFIELD;
  ConvolveSettings settings = gaussian (2);
  gchar *caps = caps_for (formats[__i__], 37, "mixed");
  GstHarness *h = element_harness ("videoconvolve sigma=2", caps);
  RandomFrame *in[G_N_ELEMENTS (flags)];
  Pictures pictures;

  pictures_init (&pictures, caps);
  for (guint i = 0; i < G_N_ELEMENTS (flags); i++) {
    GstBuffer *buffer;

    in[i] = picture_new (&pictures);
    buffer = picture_to_buffer (&pictures, in[i], i);
    GST_BUFFER_FLAG_SET (buffer, flags[i]);
    fail_unless_equals_int (gst_harness_push (h, buffer), GST_FLOW_OK);
  }
  gst_harness_push_event (h, gst_event_new_eos ());
  for (guint i = 0; i < G_N_ELEMENTS (flags); i++) {
    GstBuffer *buffer = gst_harness_pull (h);

    fail_unless_equals_int (GST_BUFFER_FLAGS (buffer) & all, flags[i]);
    assert_picture (&pictures, in[i], buffer, &settings,
        (flags[i] & GST_VIDEO_BUFFER_FLAG_INTERLACED) != 0, NULL);
    random_frame_free (in[i]);
  }
  gst_harness_teardown (h);
  g_free (caps);
}

GST_END_TEST;

/* ---- one field a buffer ---- */

static void
assert_alternate_caps (GstHarness * h, const gchar * order)
{
  GstCaps *caps = gst_pad_get_current_caps (h->sinkpad);
  GstStructure *s = gst_caps_get_structure (caps, 0);

  fail_unless (gst_caps_features_contains (gst_caps_get_features (caps, 0),
          GST_CAPS_FEATURE_FORMAT_INTERLACED));
  fail_unless_equals_string (gst_structure_get_string (s, "interlace-mode"),
      "alternate");
  fail_unless_equals_string (gst_structure_get_string (s, "field-order"),
      order);
  gst_caps_unref (caps);
}

/* Fields come with their feature, their order and their flags, and are
 * filtered as they are, whatever the property says. */
GST_START_TEST (test_alternate)
{
  static const gchar *const fields[] = { "auto", "frame", "field" };
  ConvolveSettings settings = gaussian (1.5);

  for (guint i = 0; i < G_N_ELEMENTS (heights); i++) {
    gchar *caps = g_strdup_printf ("video/x-raw(format:Interlaced),format=%s,"
        "width=34,height=%u,framerate=25/1,interlace-mode=alternate,"
        "field-order=%s", formats[__i__], heights[i], i % 2 ?
        "bottom-field-first" : "top-field-first");
    gchar *launch = g_strdup_printf ("videoconvolve sigma=1.5 fields=%s",
        fields[i % 3]);
    GstHarness *h = element_harness (launch, caps);
    Pictures pictures;

    pictures_init (&pictures, caps);
    for (guint k = 0; k < 4; k++) {
      guint flag = k % 2 ? GST_VIDEO_BUFFER_FLAG_BOTTOM_FIELD :
          GST_VIDEO_BUFFER_FLAG_TOP_FIELD;
      RandomFrame *in = picture_new (&pictures);
      GstBuffer *buffer = picture_to_buffer (&pictures, in, k);

      GST_BUFFER_FLAG_SET (buffer, flag | GST_VIDEO_BUFFER_FLAG_INTERLACED);
      fail_unless_equals_int (gst_harness_push (h, buffer), GST_FLOW_OK);
      gst_harness_push_event (h, gst_event_new_gap (0, 1));
      buffer = gst_harness_pull (h);
      fail_unless_equals_int (GST_BUFFER_FLAGS (buffer)
          & GST_VIDEO_BUFFER_FLAG_TOP_FIELD, flag);
      fail_unless (GST_BUFFER_FLAG_IS_SET (buffer,
              GST_VIDEO_BUFFER_FLAG_INTERLACED));
      assert_picture (&pictures, in, buffer, &settings, FALSE, NULL);
      random_frame_free (in);
    }
    assert_alternate_caps (h, i % 2 ? "bottom-field-first" : "top-field-first");
    gst_harness_teardown (h);
    g_free (launch);
    g_free (caps);
  }
}

GST_END_TEST;

/* A stream that turns interlaced, and back. */
GST_START_TEST (test_mode_changes)
{
  static const gchar *const modes[] = { "progressive", "interleaved", "mixed",
    "interleaved", "progressive"
  };
  GstHarness *h = element_harness ("videoconvolve sigma=1.5", NULL);
  ConvolveSettings settings = gaussian (1.5);

  for (guint i = 0; i < G_N_ELEMENTS (modes); i++) {
    gchar *caps = caps_for ("I420", 38, modes[i]);
    RandomFrame *in;
    Pictures pictures;

    pictures_init (&pictures, caps);
    gst_harness_set_src_caps_str (h, caps);
    in = picture_new (&pictures);
    gst_harness_push (h, picture_to_buffer (&pictures, in, i));
    gst_harness_push_event (h, gst_event_new_gap (0, 1));
    assert_picture (&pictures, in, gst_harness_pull (h), &settings,
        g_str_equal (modes[i], "interleaved"), NULL);
    random_frame_free (in);
    g_free (caps);
  }
  gst_harness_teardown (h);
}

GST_END_TEST;

static Suite *
fields_suite (void)
{
  Suite *s = suite_create ("fields");
  TCase *tc = tcase_create ("fields");

  suite_add_tcase (s, tc);
  tcase_add_loop_test (tc, test_interleaved, 0, G_N_ELEMENTS (formats));
  tcase_add_loop_test (tc, test_progressive, 0, G_N_ELEMENTS (formats));
  tcase_add_loop_test (tc, test_mixed, 0, G_N_ELEMENTS (formats));
  tcase_add_loop_test (tc, test_alternate, 0, G_N_ELEMENTS (formats));
  tcase_add_test (tc, test_mode_changes);
  return s;
}

GST_CHECK_MAIN (fields);
