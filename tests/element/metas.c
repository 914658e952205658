/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What travels with a buffer: metas, flags, timestamps. */
#include "elementtest.h"

#define GREY_CAPS "video/x-raw,format=GRAY8,width=8,height=4,framerate=25/1"

/* filter=box takes buffers of its own, filter=identity passes them. */
static const gchar *const elements[] = {
  "videoconvolve filter=box radius=1", "videoconvolve filter=identity",
};

static void
add_metas (GstBuffer * buffer)
{
  static const guint8 cea[] = { 0xfc, 0x80, 0x80 };
  GstVideoTimeCode *code = gst_video_time_code_new (25, 1, NULL, 0, 1, 2, 3, 4,
      0);
  GstVideoCropMeta *crop = gst_buffer_add_video_crop_meta (buffer);
  GstCaps *reference = gst_caps_from_string ("timestamp/x-unix");

  crop->x = crop->y = 1;
  crop->width = crop->height = 2;
  gst_buffer_add_video_region_of_interest_meta (buffer, "face", 1, 2, 3, 2);
  gst_buffer_add_video_time_code_meta (buffer, code);
  gst_buffer_add_video_caption_meta (buffer,
      GST_VIDEO_CAPTION_TYPE_CEA708_RAW, cea, sizeof (cea));
  gst_buffer_add_video_affine_transformation_meta (buffer);
  gst_buffer_add_reference_timestamp_meta (buffer, reference, 5, 6);
  gst_buffer_add_custom_meta (buffer, "ConvolveTestMeta");
  gst_caps_unref (reference);
  gst_video_time_code_free (code);
}

static void
assert_metas (GstBuffer * buffer)
{
  GstVideoRegionOfInterestMeta *roi;
  GstVideoCropMeta *crop = gst_buffer_get_video_crop_meta (buffer);

  fail_unless (crop != NULL);
  fail_unless_equals_int (crop->x, 1);
  fail_unless_equals_int (crop->width, 2);
  roi = (GstVideoRegionOfInterestMeta *) gst_buffer_get_meta (buffer,
      GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE);
  fail_unless (roi != NULL);
  fail_unless_equals_int (roi->y, 2);
  fail_unless_equals_int (roi->w, 3);
  fail_unless (gst_buffer_get_video_time_code_meta (buffer));
  fail_unless (gst_buffer_get_video_caption_meta (buffer));
  fail_unless (gst_buffer_get_meta (buffer,
          GST_VIDEO_AFFINE_TRANSFORMATION_META_API_TYPE));
  fail_unless (gst_buffer_get_reference_timestamp_meta (buffer, NULL));
  fail_unless (gst_buffer_get_custom_meta (buffer, "ConvolveTestMeta"));
}

GST_START_TEST (test_metas_are_kept)
{
  static const gchar *tags[] = { "video", "size", "colorspace", NULL };

  gst_meta_register_custom ("ConvolveTestMeta", tags, NULL, NULL, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (elements); i++) {
    GstHarness *h = element_harness (elements[i], GREY_CAPS);
    GstBuffer *buffer = filled_buffer (32, 9, 0);

    add_metas (buffer);
    buffer = filter_one (h, buffer);
    assert_metas (buffer);
    gst_buffer_unref (buffer);
    gst_harness_teardown (h);
  }
}

GST_END_TEST;

/* A meta that describes memory is not carried over to other memory. */
GST_START_TEST (test_video_meta_is_the_output_s_own)
{
  GstHarness *h = element_harness (elements[0], GREY_CAPS);
  GstBuffer *buffer = filled_buffer (64, 9, 0);
  GstVideoMeta *meta;
  gsize offsets[4] = { 0 };
  gint strides[4] = { 16 };

  gst_buffer_add_video_meta_full (buffer, GST_VIDEO_FRAME_FLAG_NONE,
      GST_VIDEO_FORMAT_GRAY8, 8, 4, 1, offsets, strides);
  buffer = filter_one (h, buffer);
  meta = gst_buffer_get_video_meta (buffer);
  fail_unless (meta == NULL || meta->stride[0] == 8);
  gst_buffer_unref (buffer);
  gst_harness_teardown (h);
}

GST_END_TEST;

GST_START_TEST (test_flags_and_times)
{
  static const guint flags = GST_BUFFER_FLAG_GAP | GST_BUFFER_FLAG_DROPPABLE
      | GST_BUFFER_FLAG_CORRUPTED | GST_BUFFER_FLAG_DELTA_UNIT
      | GST_BUFFER_FLAG_MARKER | (guint) GST_VIDEO_BUFFER_FLAG_INTERLACED
      | (guint) GST_VIDEO_BUFFER_FLAG_TFF | (guint) GST_VIDEO_BUFFER_FLAG_RFF
      | (guint) GST_VIDEO_BUFFER_FLAG_ONEFIELD;

  for (guint i = 0; i < G_N_ELEMENTS (elements); i++) {
    GstHarness *h = element_harness (elements[i], GREY_CAPS);
    GstBuffer *buffer = filled_buffer (32, 9, 7);

    gst_buffer_unref (filter_one (h, filled_buffer (32, 9, 6)));
    GST_BUFFER_FLAG_SET (buffer, flags);
    GST_BUFFER_DTS (buffer) = 11;
    GST_BUFFER_OFFSET (buffer) = 12;
    GST_BUFFER_OFFSET_END (buffer) = 13;
    buffer = filter_one (h, buffer);
    fail_unless_equals_int (GST_BUFFER_FLAGS (buffer) & flags, flags);
    fail_if (GST_BUFFER_FLAG_IS_SET (buffer, GST_BUFFER_FLAG_DISCONT));
    fail_unless_equals_uint64 (GST_BUFFER_PTS (buffer), 280 * GST_MSECOND);
    fail_unless_equals_uint64 (GST_BUFFER_DTS (buffer), 11);
    fail_unless_equals_uint64 (GST_BUFFER_DURATION (buffer), 40 * GST_MSECOND);
    fail_unless_equals_uint64 (GST_BUFFER_OFFSET (buffer), 12);
    fail_unless_equals_uint64 (GST_BUFFER_OFFSET_END (buffer), 13);
    gst_buffer_unref (buffer);
    gst_harness_teardown (h);
  }
}

GST_END_TEST;

/* No timestamp, no frame rate, no time segment: filtered all the same. */
GST_START_TEST (test_no_times)
{
  GstHarness *h = element_harness (elements[0],
      "video/x-raw,format=GRAY8,width=8,height=4,framerate=0/1");
  GstBuffer *buffer = filled_buffer (32, 9, 0);
  GstSegment segment;

  GST_BUFFER_PTS (buffer) = GST_BUFFER_DURATION (buffer) = GST_CLOCK_TIME_NONE;
  buffer = filter_one (h, buffer);
  fail_if (GST_BUFFER_PTS_IS_VALID (buffer));
  assert_filled (buffer, 9);

  gst_segment_init (&segment, GST_FORMAT_BYTES);
  fail_unless (gst_harness_push_event (h, gst_event_new_segment (&segment)));
  assert_filled (filter_one (h, filled_buffer (32, 9, 1)), 9);
  gst_harness_teardown (h);
}

GST_END_TEST;

/* ---- what upstream is told ---- */

/* Downstream takes crop metas. */
static gboolean
query_with_crop (GstPad * pad, GstObject * parent, GstQuery * query)
{
  if (GST_QUERY_TYPE (query) != GST_QUERY_ALLOCATION)
    return gst_pad_query_default (pad, parent, query);
  gst_query_add_allocation_meta (query, GST_VIDEO_META_API_TYPE, NULL);
  gst_query_add_allocation_meta (query, GST_VIDEO_CROP_META_API_TYPE, NULL);
  return TRUE;
}

static gboolean
is_announced (GstHarness * h, GType api)
{
  GstCaps *caps = gst_pad_get_current_caps (h->srcpad);
  GstQuery *query = gst_query_new_allocation (caps, FALSE);
  gboolean found;

  fail_unless (gst_pad_peer_query (h->srcpad, query));
  found = gst_query_find_allocation_meta (query, api, NULL);
  gst_query_unref (query);
  gst_caps_unref (caps);
  return found;
}

/* A filter sees what lies beyond a crop's edge, so upstream has to cut itself,
 * even where downstream would. What is passed through is downstream's to
 * crop. */
GST_START_TEST (test_crop_is_announced_if_honoured)
{
  for (guint i = 0; i < G_N_ELEMENTS (elements); i++) {
    GstHarness *h = element_harness (elements[i], GREY_CAPS);
    gboolean passes = strstr (elements[i], "identity") != NULL;

    gst_pad_set_query_function (h->sinkpad, query_with_crop);
    assert_filled (filter_one (h, filled_buffer (32, 9, 0)), 9);
    fail_unless (is_announced (h, GST_VIDEO_META_API_TYPE));
    fail_unless_equals_int (is_announced (h, GST_VIDEO_CROP_META_API_TYPE),
        passes);
    gst_harness_teardown (h);
  }
}

GST_END_TEST;

static Suite *
metas_suite (void)
{
  Suite *s = suite_create ("metas");
  TCase *tc = tcase_create ("metas");

  suite_add_tcase (s, tc);
  tcase_add_test (tc, test_metas_are_kept);
  tcase_add_test (tc, test_video_meta_is_the_output_s_own);
  tcase_add_test (tc, test_flags_and_times);
  tcase_add_test (tc, test_no_times);
  tcase_add_test (tc, test_crop_is_announced_if_honoured);
  return s;
}

GST_CHECK_MAIN (metas);
