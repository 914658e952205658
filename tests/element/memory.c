/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where samples lie: strides, offsets, separate memories, pools, and buffers
 * that are not what they claim. */
#include "elementtest.h"

#include <string.h>

#define GREY_CAPS "video/x-raw,format=GRAY8,width=8,height=4,framerate=25/1"
#define I420_CAPS "video/x-raw,format=I420,width=8,height=4,framerate=25/1"

/* ---- input layouts ---- */

/* A ramp in rows that stand `stride` apart, everything around them 255. */
static GstBuffer *
padded_ramp (gsize offset, gint stride, gsize size)
{
  GstBuffer *buffer = filled_buffer (size, 255, 0);
  gsize offsets[4] = { offset };
  gint strides[4] = { stride };

  for (gint y = 0; y < 4; y++)
    for (gint x = 0; x < 8; x++)
      gst_buffer_memset (buffer, offset + y * stride + x, 10 * y + x, 1);
  gst_buffer_add_video_meta_full (buffer, GST_VIDEO_FRAME_FLAG_NONE,
      GST_VIDEO_FORMAT_GRAY8, 8, 4, 1, offsets, strides);
  return buffer;
}

/* The ramp shifted by one pixel to the left, the border replicated. */
static void
assert_shifted_ramp (GstBuffer * buffer)
{
  guint8 expected[32];

  for (gint y = 0; y < 4; y++)
    for (gint x = 0; x < 8; x++)
      expected[y * 8 + x] = 10 * y + MIN (x + 1, 7);
  assert_grey (buffer, 8, 4, expected);
}

GST_START_TEST (test_strides_and_offsets)
{
  static const struct
  {
    gsize offset;
    gint stride;
    gsize size;
  } layouts[] = {
    {0, 8, 32},
    {0, 128, 3 * 128 + 8},      /* nothing after the last sample */
    {5, 11, 5 + 3 * 11 + 8},
    {3 * 16, -16, 3 * 16 + 8},  /* bottom row first */
    {3 * 8 + 1, -8, 40},
  };
  GstHarness *h = element_harness ("videoconvolve kernel-x=<0,0,1>", GREY_CAPS);

  for (guint i = 0; i < G_N_ELEMENTS (layouts); i++)
    assert_shifted_ramp (filter_one (h, padded_ramp (layouts[i].offset,
                layouts[i].stride, layouts[i].size)));
  gst_harness_teardown (h);
}

GST_END_TEST;

/* A meta may describe a larger picture: the caps' part of it is filtered. */
GST_START_TEST (test_meta_larger_than_caps)
{
  GstHarness *h = element_harness ("videoconvolve kernel-x=<0,0,1>", GREY_CAPS);
  GstBuffer *buffer = padded_ramp (0, 32, 32 * 10);
  GstVideoMeta *meta = gst_buffer_get_video_meta (buffer);

  meta->width = 20;
  meta->height = 10;
  assert_shifted_ramp (filter_one (h, buffer));
  gst_harness_teardown (h);
}

GST_END_TEST;

/* I420 whose planes are memories of their own, cut in two inside a plane, or
 * stored in another order. */
static GstBuffer *
scattered_i420 (const gsize * cuts, guint n_cuts, const gsize * offsets)
{
  GstBuffer *whole = filled_buffer (48, 0, 0), *buffer = gst_buffer_new ();
  gint strides[4] = { 8, 4, 4 };
  gsize at[4] = { offsets[0], offsets[1], offsets[2] }, from = 0;

  gst_buffer_memset (whole, offsets[0], 50, 32);
  gst_buffer_memset (whole, offsets[1], 100, 8);
  gst_buffer_memset (whole, offsets[2], 200, 8);
  for (guint i = 0; i <= n_cuts; i++) {
    gsize size = (i < n_cuts ? cuts[i] : 48) - from;
    GstMapInfo map;
    GstMemory *memory = gst_allocator_alloc (NULL, size, NULL);

    gst_memory_map (memory, &map, GST_MAP_WRITE);
    gst_buffer_extract (whole, from, map.data, size);
    gst_memory_unmap (memory, &map);
    gst_buffer_append_memory (buffer, memory);
    from += size;
  }
  gst_buffer_unref (whole);
  gst_buffer_add_video_meta_full (buffer, GST_VIDEO_FRAME_FLAG_NONE,
      GST_VIDEO_FORMAT_I420, 8, 4, 3, at, strides);
  return buffer;
}

GST_START_TEST (test_separate_memories)
{
  static const gsize in_order[3] = { 0, 32, 40 }, reversed[3] = { 16, 8, 0 };
  static const gsize at_planes[2] = { 32, 40 }, in_planes[2] = { 20, 36 };
  static const struct
  {
    const gsize *cuts;
    guint n_cuts;
    const gsize *offsets;
  } cases[] = {
    {at_planes, 2, in_order}, {in_planes, 2, in_order}, {in_planes, 0,
        reversed},
    {in_planes, 1, reversed},
  };
  GstHarness *h = element_harness ("videoconvolve filter=box radius=1",
      I420_CAPS);

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    GstBuffer *in = scattered_i420 (cases[i].cuts, cases[i].n_cuts,
        cases[i].offsets);
    GstBuffer *out = filter_one (h, gst_buffer_ref (in));
    guint8 samples[48];

    fail_unless_equals_int (gst_buffer_extract (out, 0, samples, 48), 48);
    for (guint k = 0; k < 48; k++)
      fail_unless_equals_int (samples[k], k < 32 ? 50 : k < 40 ? 100 : 200);
    fail_unless_equals_int (gst_buffer_n_memory (in), cases[i].n_cuts + 1);
    gst_buffer_unref (in);
    gst_buffer_unref (out);
  }
  gst_harness_teardown (h);
}

GST_END_TEST;

/* ---- buffers that are not what they claim ---- */

/* The element says what is wrong, and goes on with the next good buffer. */
static void
check_bad_buffer (const gchar * caps, GstBuffer * bad, const gchar * part,
    gsize good_size)
{
  GstHarness *h = element_harness ("videoconvolve filter=box radius=1", caps);
  GstBus *bus = bus_of (h);

  fail_unless_equals_int (gst_harness_push (h, bad), GST_FLOW_ERROR);
  assert_message (bus, GST_MESSAGE_ERROR, GST_STREAM_ERROR,
      GST_STREAM_ERROR_FORMAT, part);
  assert_no_message (bus, GST_MESSAGE_ERROR | GST_MESSAGE_WARNING);
  fail_unless_equals_int (gst_harness_buffers_in_queue (h), 0);
  assert_filled (filter_one (h, filled_buffer (good_size, 9, 1)), 9);
  bus_done (h, bus);
  gst_harness_teardown (h);
}

GST_START_TEST (test_buffer_too_small)
{
  check_bad_buffer (GREY_CAPS, filled_buffer (31, 0, 0), "31 bytes", 32);
  check_bad_buffer (GREY_CAPS, gst_buffer_new (), "0 bytes", 32);
  check_bad_buffer (I420_CAPS, filled_buffer (47, 0, 0), "needs 48", 48);
}

GST_END_TEST;

static GstBuffer *
lying_buffer (gsize size, gsize offset, gint stride, guint width, guint height)
{
  GstBuffer *buffer = filled_buffer (size, 0, 0);
  gsize offsets[4] = { 0 };
  gint strides[4] = { 8 };
  GstVideoMeta *meta = gst_buffer_add_video_meta_full (buffer,
      GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_GRAY8, 8, 4, 1, offsets,
      strides);

  meta->offset[0] = offset;
  meta->stride[0] = stride;
  meta->width = width;
  meta->height = height;
  return buffer;
}

GST_START_TEST (test_meta_past_the_memory)
{
  static const struct
  {
    gsize size, offset;
    gint stride;
    const gchar *part;
  } cases[] = {
    {32, 0, 9, "does not fit"},
    {32, 1, 8, "does not fit"},
    {32, 0, 4096, "does not fit"},
    {32, 0, G_MAXINT, "does not fit"},
    {32, 0, G_MININT, "does not fit"},
    {32, 23, -8, "does not fit"},
    {32, 25, -8, "does not fit"},
    {32, 33, 8, "does not fit"},
    {32, G_MAXSIZE, 8, "does not fit"},
    {32, G_MAXSIZE - 7, 8, "does not fit"},
    {32, G_MAXSIZE / 2, -8, "does not fit"},
    {32, 0, 7, "less than a row"},
    {32, 0, 0, "less than a row"},
    {64, 32, -7, "less than a row"},
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    check_bad_buffer (GREY_CAPS, lying_buffer (cases[i].size, cases[i].offset,
            cases[i].stride, 8, 4), cases[i].part, 32);
}

GST_END_TEST;

GST_START_TEST (test_meta_of_another_picture)
{
  GstBuffer *buffer = lying_buffer (32, 0, 8, 8, 4);

  check_bad_buffer (GREY_CAPS, lying_buffer (32, 0, 8, 7, 4), "7 x 4", 32);
  check_bad_buffer (GREY_CAPS, lying_buffer (32, 0, 8, 8, 3), "8 x 3", 32);
  gst_buffer_get_video_meta (buffer)->format = GST_VIDEO_FORMAT_RGB;
  check_bad_buffer (GREY_CAPS, buffer, "RGB", 32);
  buffer = lying_buffer (32, 0, 8, 8, 4);
  gst_buffer_get_video_meta (buffer)->n_planes = 0;
  check_bad_buffer (GREY_CAPS, buffer, "0 planes", 32);
}

GST_END_TEST;

/* ---- input stays as it is ---- */

GST_START_TEST (test_shared_input_is_not_written)
{
  GstHarness *h = element_harness ("videoconvolve filter=box radius=1",
      GREY_CAPS);
  GstBuffer *in = padded_ramp (0, 8, 32), *copy = gst_buffer_copy_deep (in);
  GstMapInfo map;

  gst_buffer_unref (filter_one (h, gst_buffer_ref (in)));
  gst_buffer_map (copy, &map, GST_MAP_READ);
  fail_unless_equals_int (gst_buffer_memcmp (in, 0, map.data, map.size), 0);
  fail_unless_equals_int (GST_MINI_OBJECT_REFCOUNT (in), 1);
  gst_buffer_unmap (copy, &map);
  gst_buffer_unref (copy);
  gst_buffer_unref (in);

  /* Memory that nobody may write. */
  in = filled_buffer (32, 9, 1);
  GST_MINI_OBJECT_FLAG_SET (gst_buffer_peek_memory (in, 0),
      GST_MEMORY_FLAG_READONLY);
  assert_filled (filter_one (h, in), 9);
  gst_harness_teardown (h);
}

GST_END_TEST;

/* ---- allocation ---- */

/* What the element offers upstream: a pool and its promise to honour metas. */
GST_START_TEST (test_propose_allocation)
{
  GstHarness *h = element_harness ("videoconvolve", I420_CAPS);
  GstCaps *caps = gst_caps_from_string (I420_CAPS);
  GstQuery *query = gst_query_new_allocation (caps, TRUE);
  GstBufferPool *pool;
  guint size;

  fail_unless (gst_pad_peer_query (h->srcpad, query));
  fail_unless (gst_query_find_allocation_meta (query, GST_VIDEO_META_API_TYPE,
          NULL));
  fail_if (gst_query_find_allocation_meta (query,
          GST_VIDEO_CROP_META_API_TYPE, NULL));
  fail_unless_equals_int (gst_query_get_n_allocation_pools (query), 1);
  gst_query_parse_nth_allocation_pool (query, 0, &pool, &size, NULL, NULL);
  fail_unless (GST_IS_BUFFER_POOL (pool));
  fail_unless_equals_int (size, 48);
  gst_object_unref (pool);
  gst_query_unref (query);
  gst_caps_unref (caps);
  gst_harness_teardown (h);
}

GST_END_TEST;

/* An answer to the ALLOCATION query downstream of the harness. */
typedef struct
{
  gboolean video_meta;
  GstBufferPool *pool;
  guint size, maximum;
} Downstream;

static GstPadProbeReturn
answer_allocation (GstPad * pad, GstPadProbeInfo * info, gpointer data)
{
  Downstream *downstream = data;
  GstQuery *query = GST_PAD_PROBE_INFO_QUERY (info);

  if (GST_QUERY_TYPE (query) != GST_QUERY_ALLOCATION)
    return GST_PAD_PROBE_OK;
  if (downstream->video_meta)
    gst_query_add_allocation_meta (query, GST_VIDEO_META_API_TYPE, NULL);
  if (downstream->pool != NULL || downstream->size != 0)
    gst_query_add_allocation_pool (query, downstream->pool, downstream->size,
        0, downstream->maximum);
  return GST_PAD_PROBE_HANDLED;
}

static GstHarness *
harness_with (Downstream * downstream, const gchar * caps)
{
  GstHarness *h = element_harness ("videoconvolve filter=box radius=1", NULL);

  gst_pad_add_probe (h->sinkpad, GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM,
      answer_allocation, downstream, NULL);
  gst_harness_set_src_caps_str (h, caps);
  return h;
}

GST_START_TEST (test_downstream_without_meta)
{
  Downstream plain = { FALSE }, meta = { TRUE };
  GstHarness *h = harness_with (&plain,
      "video/x-raw,format=I420,width=7,height=3,framerate=25/1");
  GstBuffer *buffer = filter_one (h, filled_buffer (48, 9, 0));

  fail_if (gst_buffer_get_video_meta (buffer));
  fail_unless_equals_int (gst_buffer_get_size (buffer), 48);
  gst_buffer_unref (buffer);
  gst_harness_teardown (h);

  h = harness_with (&meta, I420_CAPS);
  buffer = filter_one (h, filled_buffer (48, 9, 0));
  fail_unless (gst_buffer_get_video_meta (buffer));
  gst_buffer_unref (buffer);
  gst_harness_teardown (h);
}

GST_END_TEST;

/* Rows of 8 bytes, 64 apart, as a display may want them. */
static GstBufferPool *
padded_pool (guint maximum)
{
  GstBufferPool *pool = gst_video_buffer_pool_new ();
  GstStructure *config = gst_buffer_pool_get_config (pool);
  GstCaps *caps = gst_caps_from_string (GREY_CAPS);
  GstVideoAlignment align;

  gst_video_alignment_reset (&align);
  align.padding_right = 56;
  align.padding_left = 8;
  align.padding_top = 1;
  gst_buffer_pool_config_set_params (config, caps, 32, 0, maximum);
  gst_buffer_pool_config_add_option (config, GST_BUFFER_POOL_OPTION_VIDEO_META);
  gst_buffer_pool_config_add_option (config,
      GST_BUFFER_POOL_OPTION_VIDEO_ALIGNMENT);
  gst_buffer_pool_config_set_video_alignment (config, &align);
  fail_unless (gst_buffer_pool_set_config (pool, config));
  gst_caps_unref (caps);
  return pool;
}

GST_START_TEST (test_downstream_pool)
{
  Downstream downstream = { TRUE, padded_pool (0), 32, 0 };
  GstHarness *h = harness_with (&downstream, GREY_CAPS);
  GstBuffer *buffer = filter_one (h, padded_ramp (0, 8, 32));
  GstVideoMeta *meta = gst_buffer_get_video_meta (buffer);

  fail_unless (buffer->pool == downstream.pool);
  fail_unless (meta != NULL && meta->stride[0] >= 72 && meta->offset[0] > 0);
  gst_buffer_unref (buffer);
  gst_harness_teardown (h);
  gst_object_unref (downstream.pool);
}

GST_END_TEST;

/* Output goes to the places that the pool's meta names, and nowhere else. */
GST_START_TEST (test_output_padding_is_not_written)
{
  Downstream downstream = { TRUE, padded_pool (0), 32, 0 };
  GstHarness *h = harness_with (&downstream, GREY_CAPS);
  GstBuffer *buffer = filter_one (h, filled_buffer (32, 9, 0));
  gsize size = gst_buffer_get_size (buffer), ours = 0;
  guint8 *bytes = g_malloc (size);

  /* The same memory comes back with a mark all over it. */
  gst_buffer_memset (buffer, 0, 77, size);
  gst_buffer_unref (buffer);
  buffer = filter_one (h, filled_buffer (32, 9, 1));
  gst_buffer_extract (buffer, 0, bytes, size);
  for (gsize i = 0; i < size; i++) {
    fail_unless (bytes[i] == 9 || bytes[i] == 77);
    ours += bytes[i] == 9;
  }
  fail_unless_equals_int (ours, 32);
  g_free (bytes);
  gst_buffer_unref (buffer);
  gst_harness_teardown (h);
  gst_object_unref (downstream.pool);
}

GST_END_TEST;

/* Too small a size, no pool at all: the element's own. */
GST_START_TEST (test_unsuitable_downstream_pool)
{
  Downstream no_pool = { TRUE, NULL, 16, 0 };
  Downstream small = { TRUE, padded_pool (0), 5, 0 };
  Downstream *cases[] = { &no_pool, &small };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    GstHarness *h = harness_with (cases[i], GREY_CAPS);
    GstBuffer *kept[20];

    /* A queue may hold any number. */
    for (guint k = 0; k < G_N_ELEMENTS (kept); k++)
      kept[k] = filter_one (h, padded_ramp (0, 8, 32));
    for (guint k = 0; k < G_N_ELEMENTS (kept); k++) {
      fail_unless (gst_buffer_get_size (kept[k]) >= 32);
      gst_buffer_unref (kept[k]);
    }
    gst_harness_teardown (h);
  }
  gst_object_unref (small.pool);
}

GST_END_TEST;

/* A pool that was large enough for the frames in flight of before. */
GST_START_TEST (test_pool_of_fewer_than_in_flight)
{
  Downstream downstream = { TRUE, padded_pool (2), 32, 2 };
  GstHarness *h = harness_with (&downstream, GREY_CAPS);
  GstElement *element = gst_harness_find_element (h, "videoconvolve");
  const guint n = 12;

  for (guint i = 0; i < n; i++) {
    if (i == 2)
      g_object_set (element, "frames-in-flight", 5, NULL);
    fail_unless_equals_int (gst_harness_push (h, filled_buffer (32, i, i)),
        GST_FLOW_OK);
  }
  gst_harness_push_event (h, gst_event_new_eos ());
  for (guint i = 0; i < n; i++) {
    GstBuffer *buffer = gst_harness_try_pull (h);
    guint8 byte;

    fail_unless (buffer != NULL);
    fail_unless_equals_int (gst_buffer_extract (buffer,
            gst_buffer_get_video_meta (buffer) ?
            gst_buffer_get_video_meta (buffer)->offset[0] : 0, &byte, 1), 1);
    fail_unless_equals_int (byte, i);
    gst_buffer_unref (buffer);
  }
  gst_object_unref (element);
  gst_harness_teardown (h);
  gst_object_unref (downstream.pool);
}

GST_END_TEST;

static Suite *
memory_suite (void)
{
  Suite *s = suite_create ("memory");
  TCase *tc = tcase_create ("memory");

  suite_add_tcase (s, tc);
  tcase_add_test (tc, test_strides_and_offsets);
  tcase_add_test (tc, test_meta_larger_than_caps);
  tcase_add_test (tc, test_separate_memories);
  tcase_add_test (tc, test_buffer_too_small);
  tcase_add_test (tc, test_meta_past_the_memory);
  tcase_add_test (tc, test_meta_of_another_picture);
  tcase_add_test (tc, test_shared_input_is_not_written);
  tcase_add_test (tc, test_propose_allocation);
  tcase_add_test (tc, test_downstream_without_meta);
  tcase_add_test (tc, test_downstream_pool);
  tcase_add_test (tc, test_output_padding_is_not_written);
  tcase_add_test (tc, test_unsuitable_downstream_pool);
  tcase_add_test (tc, test_pool_of_fewer_than_in_flight);
  return s;
}

GST_CHECK_MAIN (memory);
