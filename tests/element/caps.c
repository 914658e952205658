/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Formats, sizes, interlacing: what is negotiated and what comes out. */
#include "elementtest.h"

#include <string.h>

/* A byte that all samples of a format can consist of, so that a flat frame is a
 * flat memory: no bit set above the depth, none in the unused low bits. */
static guint8
flat_byte (const GstVideoFormatInfo * format)
{
  if (GST_VIDEO_FORMAT_INFO_BITS (format) <= 8
      || GST_VIDEO_FORMAT_INFO_BITS (format) == 16
      || GST_VIDEO_FORMAT_INFO_SHIFT (format, 0) > 0
      || GST_VIDEO_FORMAT_INFO_PSTRIDE (format, 0) == 4)
    return 0x40;
  return 0x01;
}

static GstCaps *
template_caps (void)
{
  GstElementFactory *factory = gst_element_factory_find ("videoconvolve");
  const GList *templates;
  GstCaps *caps;

  fail_unless (factory != NULL);
  templates = gst_element_factory_get_static_pad_templates (factory);
  caps = gst_static_pad_template_get_caps (templates->data);
  gst_object_unref (factory);
  return caps;
}

/* Caps in system memory alone: a build with CUDA memory offers that too. Takes
 * caps. */
static GstCaps *
in_system_memory (GstCaps * caps)
{
  GstCaps *system = gst_caps_from_string ("video/x-raw");
  GstCaps *both = gst_caps_intersect (caps, system);

  gst_caps_unref (system);
  gst_caps_unref (caps);
  return both;
}

static void
check_flat (GstHarness * h, const gchar * format, gint width, gint height)
{
  gchar *text = g_strdup_printf ("video/x-raw,format=%s,width=%d,height=%d,"
      "framerate=25/1", format, width, height);
  GstCaps *caps = gst_caps_from_string (text), *outcaps;
  GstVideoInfo info;
  GstVideoFrame frame;
  GstBuffer *buffer;
  guint8 value;

  fail_unless (gst_video_info_from_caps (&info, caps));
  gst_caps_unref (caps);
  value = flat_byte (info.finfo);
  gst_harness_set_src_caps (h, gst_video_info_to_caps (&info));
  buffer = filter_one (h, filled_buffer (info.size, value, 0));

  outcaps = gst_pad_get_current_caps (h->sinkpad);
  fail_unless (gst_video_info_from_caps (&info, outcaps));
  fail_unless_equals_string (gst_video_format_to_string (info.finfo->format),
      format);
  fail_unless_equals_int (info.width, width);
  fail_unless (gst_video_frame_map (&frame, &info, buffer, GST_MAP_READ));
  for (guint c = 0; c < info.finfo->n_components; c++) {
    const guint8 *row = GST_VIDEO_FRAME_COMP_DATA (&frame, c);
    gint w = GST_VIDEO_FRAME_COMP_WIDTH (&frame, c);
    gint h_c = GST_VIDEO_FRAME_COMP_HEIGHT (&frame, c);

    for (gint y = 0; y < h_c; y++)
      for (gint x = 0; x < w; x++)
        fail_unless (row[y * GST_VIDEO_FRAME_COMP_STRIDE (&frame, c)
                + x * GST_VIDEO_FRAME_COMP_PSTRIDE (&frame, c)] == value,
            "%s %dx%d component %u (%d, %d)", format, width, height, c, x, y);
  }
  gst_video_frame_unmap (&frame);
  gst_buffer_unref (buffer);
  gst_caps_unref (outcaps);
  g_free (text);
}

GST_START_TEST (test_every_format_and_size)
{
  static const gint sizes[][2] = { {1, 1}, {1, 7}, {9, 1}, {3, 5}, {34, 18} };
  GstCaps *caps = in_system_memory (template_caps ());
  const GValue *formats =
      gst_structure_get_value (gst_caps_get_structure (caps, 0), "format");
  guint n = gst_value_list_get_size (formats);

  fail_unless (n >= 60, "only %u formats", n);
  for (guint i = 0; i < n; i++) {
    GstHarness *h = element_harness ("videoconvolve filter=box radius=2", NULL);

    for (guint s = 0; s < G_N_ELEMENTS (sizes); s++)
      check_flat (h, g_value_get_string (gst_value_list_get_value (formats,
                  i)), sizes[s][0], sizes[s][1]);
    gst_harness_teardown (h);
  }
  gst_caps_unref (caps);
}

GST_END_TEST;

/* Both pads have the same caps, whatever neighbours can do. */
GST_START_TEST (test_caps_are_proxied)
{
  GstHarness *h = gst_harness_new ("videoconvolve");
  GstCaps *caps, *expected;

  gst_harness_set_sink_caps_str (h, "video/x-raw,format={NV12,RGB},width=64,"
      "height=[8,16],framerate=30/1");
  caps = in_system_memory (gst_pad_peer_query_caps (h->srcpad, NULL));
  expected = gst_caps_from_string ("video/x-raw,format={NV12,RGB},width=64,"
      "height=[8,16],framerate=30/1");
  fail_unless (gst_caps_is_subset (caps, expected)
      && gst_caps_is_subset (expected, caps));
  gst_caps_unref (caps);
  gst_caps_unref (expected);
  gst_harness_teardown (h);
}

GST_END_TEST;

static void
check_refused (const gchar * caps)
{
  GstHarness *h = gst_harness_new ("videoconvolve");
  GstCaps *bad = gst_caps_from_string (caps);

  gst_harness_play (h);
  fail_if (gst_pad_peer_query_accept_caps (h->srcpad, bad), "%s", caps);
  gst_caps_unref (bad);
  gst_harness_set_src_caps_str (h, caps);
  fail_unless_equals_int (gst_harness_push (h, filled_buffer (64, 0, 0)),
      GST_FLOW_NOT_NEGOTIATED);
  /* The next good caps work. */
  gst_harness_set_src_caps_str (h,
      "video/x-raw,format=GRAY8,width=8,height=8,framerate=25/1");
  assert_filled (filter_one (h, filled_buffer (64, 7, 1)), 7);
  gst_harness_teardown (h);
}

GST_START_TEST (test_caps_refused)
{
  check_refused ("video/x-raw,format=v210,width=8,height=8,framerate=25/1");
  check_refused ("video/x-raw(memory:Unknown),format=GRAY8,width=8,height=8,"
      "framerate=25/1");
  check_refused ("video/x-raw,format=GRAY8,width=0,height=8,framerate=25/1");
  check_refused ("audio/x-raw,format=S16LE,rate=48000,channels=1,"
      "layout=interleaved");
}

GST_END_TEST;

/* Caps that pass the template and yet cannot be used. */
GST_START_TEST (test_caps_fail_at_negotiation)
{
  GstHarness *h = gst_harness_new ("videoconvolve");
  GstBus *bus = bus_of (h);

  gst_harness_set_src_caps_str (h, "video/x-raw,format=GRAY8,width=8,height=8,"
      "framerate=25/1,interlace-mode=fields");
  fail_unless_equals_int (gst_harness_push (h, filled_buffer (64, 0, 0)),
      GST_FLOW_NOT_NEGOTIATED);
  assert_message (bus, GST_MESSAGE_ERROR, GST_STREAM_ERROR,
      GST_STREAM_ERROR_FORMAT, "interlace-mode=fields");
  gst_harness_set_src_caps_str (h, "video/x-raw,format=RGBA,width=2147483647,"
      "height=2147483647,framerate=25/1");
  fail_unless_equals_int (gst_harness_push (h, filled_buffer (64, 0, 0)),
      GST_FLOW_NOT_NEGOTIATED);
  gst_harness_set_src_caps_str (h,
      "video/x-raw,format=GRAY8,width=8,height=8,framerate=25/1");
  assert_filled (filter_one (h, filled_buffer (64, 7, 1)), 7);
  bus_done (h, bus);
  gst_harness_teardown (h);
}

GST_END_TEST;

/* Correlation: the matrix is laid on the picture as it is written. */
GST_START_TEST (test_impulse)
{
  static const guint8 expected[81] = {
    [3 * 9 + 3] = 90,[3 * 9 + 4] = 80,[3 * 9 + 5] = 70,
    [4 * 9 + 3] = 60,[4 * 9 + 4] = 50,[4 * 9 + 5] = 40,
    [5 * 9 + 3] = 30,[5 * 9 + 4] = 20,[5 * 9 + 5] = 10,
  };
  GstHarness *h = element_harness ("videoconvolve normalize=false "
      "kernel=\"<<1,2,3>,<4,5,6>,<7,8,9>>\"",
      "video/x-raw,format=GRAY8,width=9,height=9,framerate=25/1");

  assert_grey (filter_one (h, impulse_buffer (9, 9, 0)), 9, 9, expected);
  gst_harness_teardown (h);
}

GST_END_TEST;

/* 7 taps along a row of 10 to 70. */
GST_START_TEST (test_borders)
{
  static const struct
  {
    const gchar *border;
    guint8 expected[7];
  } cases[] = {
    {"replicate", {19, 24, 31, 40, 49, 56, 61}},
    {"reflect", {23, 26, 31, 40, 49, 54, 57}},
    {"mirror", {27, 29, 33, 40, 47, 51, 53}},
    {"constant", {14, 21, 30, 40, 39, 36, 31}},
    {"wrap", {40, 40, 40, 40, 40, 40, 40}},
  };
  static const guint8 ramp[7] = { 10, 20, 30, 40, 50, 60, 70 };
  GstHarness *h = element_harness ("videoconvolve kernel-x=<1,1,1,1,1,1,1>",
      "video/x-raw,format=GRAY8,width=7,height=1,framerate=25/1");

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    gst_util_set_object_arg (G_OBJECT (h->element), "border", cases[i].border);
    assert_grey (filter_one (h, grey_buffer (7, 1, ramp, i)), 7, 1,
        cases[i].expected);
  }
  gst_harness_teardown (h);
}

GST_END_TEST;

/* ---- interlacing ---- */

#define COMB_CAPS "video/x-raw,format=GRAY8,width=4,height=6,framerate=25/1"

/* Even lines 200, odd lines 100; flat within a field, not within a frame. */
static GstBuffer *
comb_buffer (gboolean interlaced, guint n)
{
  GstBuffer *buffer = filled_buffer (24, 200, n);

  for (guint y = 1; y < 6; y += 2)
    gst_buffer_memset (buffer, y * 4, 100, 4);
  if (interlaced)
    GST_BUFFER_FLAG_SET (buffer, GST_VIDEO_BUFFER_FLAG_INTERLACED);
  return buffer;
}

/* Rows of a vertical <1,2,1> / 4, replicated, over the frame. */
static void
assert_comb (GstBuffer * buffer, gboolean by_field)
{
  guint8 field[24], frame[24];

  for (guint y = 0; y < 6; y++) {
    memset (field + y * 4, y % 2 ? 100 : 200, 4);
    memset (frame + y * 4, y == 0 ? 175 : y == 5 ? 125 : 150, 4);
  }
  assert_grey (buffer, 4, 6, by_field ? field : frame);
}

GST_START_TEST (test_fields)
{
  static const struct
  {
    const gchar *mode, *fields;
    gboolean plain, flagged;    /* by field, for buffers of each kind */
  } cases[] = {
    {"progressive", "auto", FALSE, FALSE},
    {"interleaved", "auto", TRUE, TRUE},
    {"mixed", "auto", FALSE, TRUE},
    {"interleaved", "frame", FALSE, FALSE},
    {"mixed", "frame", FALSE, FALSE},
    {"progressive", "field", TRUE, TRUE},
    {"mixed", "field", TRUE, TRUE},
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    GstHarness *h = element_harness ("videoconvolve kernel-y=<1,2,1>", NULL);
    gchar *caps = g_strdup_printf (COMB_CAPS ",interlace-mode=%s",
        cases[i].mode);

    gst_util_set_object_arg (G_OBJECT (h->element), "fields", cases[i].fields);
    gst_harness_set_src_caps_str (h, caps);
    assert_comb (filter_one (h, comb_buffer (FALSE, 0)), cases[i].plain);
    assert_comb (filter_one (h, comb_buffer (TRUE, 1)), cases[i].flagged);
    assert_comb (filter_one (h, comb_buffer (FALSE, 2)), cases[i].plain);
    g_free (caps);
    gst_harness_teardown (h);
  }
}

GST_END_TEST;

/* Each buffer is one field: 3 rows of a frame of 6, or of 5. */
GST_START_TEST (test_alternate)
{
  static const guint8 in[12] = { 0, 0, 0, 0, 100, 100, 100, 100, 0, 0, 0, 0 };
  static const guint8 out[12] = { 25, 25, 25, 25, 50, 50, 50, 50,
    25, 25, 25, 25
  };

  for (guint height = 5; height <= 6; height++) {
    GstHarness *h = element_harness ("videoconvolve kernel-y=<1,2,1>", NULL);
    gchar *caps = g_strdup_printf ("video/x-raw(format:Interlaced),"
        "format=GRAY8,width=4,height=%u,framerate=25/1,"
        "interlace-mode=alternate", height);
    GstBuffer *buffer = grey_buffer (4, 3, in, 0);

    GST_BUFFER_FLAG_SET (buffer, GST_VIDEO_BUFFER_FLAG_TOP_FIELD);
    gst_harness_set_src_caps_str (h, caps);
    buffer = filter_one (h, buffer);
    fail_unless (GST_BUFFER_FLAG_IS_SET (buffer,
            GST_VIDEO_BUFFER_FLAG_TOP_FIELD));
    assert_grey (buffer, 4, 3, out);
    g_free (caps);
    gst_harness_teardown (h);
  }
}

GST_END_TEST;

/* To the base class, caps that come again after refused ones are not new. */
GST_START_TEST (test_caps_after_refused)
{
  static const gchar *const good =
      "video/x-raw,format=GRAY8,width=8,height=4,framerate=25/1";
  static const gchar *const bad = "video/x-raw,format=GRAY8,width=8,"
      "height=4,framerate=25/1,interlace-mode=fields";
  GstHarness *h = element_harness ("videoconvolve filter=box", good);
  GstCaps *caps = gst_caps_from_string (bad);

  assert_filled (filter_one (h, filled_buffer (32, 9, 0)), 9);
  gst_harness_push_event (h, gst_event_new_caps (caps));
  gst_caps_unref (caps);
  fail_unless_equals_int (gst_harness_push (h, filled_buffer (32, 9, 1)),
      GST_FLOW_NOT_NEGOTIATED);
  gst_harness_set_src_caps_str (h, good);
  assert_filled (filter_one (h, filled_buffer (32, 8, 1)), 8);
  gst_harness_teardown (h);
}

GST_END_TEST;

/* Fields of 4:2:0 video lie where the caps say, which for one row of chroma
 * is not where a frame of a field's height has it. */
GST_START_TEST (test_alternate_planes)
{
  GstHarness *h = element_harness ("videoconvolve filter=box radius=1", NULL);
  GstCaps *caps = gst_caps_from_string ("video/x-raw(format:Interlaced),"
      "format=I420,width=4,height=3,framerate=25/1,interlace-mode=alternate");
  GstBuffer *buffer;
  GstVideoInfo info;

  fail_unless (gst_video_info_from_caps (&info, caps));
  gst_harness_set_src_caps (h, caps);
  buffer = filled_buffer (info.size, 0, 0);
  gst_buffer_memset (buffer, info.offset[0], 50, 2 * info.stride[0]);
  gst_buffer_memset (buffer, info.offset[1], 100, info.stride[1]);
  gst_buffer_memset (buffer, info.offset[2], 200, info.stride[2]);
  buffer = filter_one (h, buffer);
  for (guint plane = 0; plane < 3; plane++) {
    GstVideoMeta *meta = gst_buffer_get_video_meta (buffer);
    gsize at = meta ? meta->offset[plane] : info.offset[plane];
    guint8 sample;

    fail_unless_equals_int (gst_buffer_extract (buffer, at, &sample, 1), 1);
    fail_unless_equals_int (sample, plane == 0 ? 50 : plane == 1 ? 100 : 200);
  }
  gst_buffer_unref (buffer);
  gst_harness_teardown (h);
}

GST_END_TEST;

static Suite *
caps_suite (void)
{
  Suite *s = suite_create ("caps");
  TCase *tc = tcase_create ("caps");

  suite_add_tcase (s, tc);
  tcase_add_test (tc, test_every_format_and_size);
  tcase_add_test (tc, test_caps_are_proxied);
  tcase_add_test (tc, test_caps_refused);
  tcase_add_test (tc, test_caps_fail_at_negotiation);
  tcase_add_test (tc, test_impulse);
  tcase_add_test (tc, test_borders);
  tcase_add_test (tc, test_fields);
  tcase_add_test (tc, test_alternate);
  tcase_add_test (tc, test_alternate_planes);
  tcase_add_test (tc, test_caps_after_refused);
  return s;
}

GST_CHECK_MAIN (caps);
