/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "pictures.h"

#include <string.h>

#include "../lib/testmain.h"

void
pictures_init (Pictures * pictures, const gchar * caps)
{
  GstCaps *parsed = gst_caps_from_string (caps);

  fail_unless (parsed != NULL && gst_video_info_from_caps (&pictures->caps,
          parsed), "%s", caps);
  gst_caps_unref (parsed);
  pictures->picture = pictures->caps;
  if (GST_VIDEO_INFO_INTERLACE_MODE (&pictures->caps) ==
      GST_VIDEO_INTERLACE_MODE_ALTERNATE)
    pictures->picture.height = GST_VIDEO_INFO_FIELD_HEIGHT (&pictures->caps);
  pictures->random.state = test_seed (NULL);
}

RandomFrame *
picture_new (Pictures * pictures)
{
  RandomFrame *frame =
      random_frame_new (&pictures->picture, &pictures->random, TRUE);

  random_frame_fill (frame, &pictures->random, FILL_RANDOM, NULL, NULL);
  random_frame_seal (frame);
  return frame;
}

/* All words of all components, from one layout to another. */
static void
copy_samples (const RandomFrame * shape, guint8 * const from[4],
    const gint from_stride[4], guint8 * const to[4], const gint to_stride[4])
{
  for (guint i = 0; i < shape->n_maps; i++) {
    const SampleMap *map = &shape->map[i];

    for (gint y = 0; y < sample_map_height (map, shape->info.height); y++)
      for (gint x = 0; x < sample_map_width (map, shape->info.width); x++)
        sample_set_word (map, to[map->plane], to_stride[map->plane], x, y,
            sample_word (map, from[map->plane], from_stride[map->plane], x, y));
  }
}

/* Where the planes of a mapped buffer are. */
static void
find_planes (const GstVideoInfo * caps, GstBuffer * buffer,
    const GstMapInfo * map, guint8 * data[4], gint stride[4])
{
  GstVideoMeta *meta = gst_buffer_get_video_meta (buffer);

  for (guint p = 0; p < GST_VIDEO_INFO_N_PLANES (caps); p++) {
    data[p] = map->data + (meta != NULL ? meta->offset[p] :
        GST_VIDEO_INFO_PLANE_OFFSET (caps, p));
    stride[p] = meta != NULL ? meta->stride[p] :
        GST_VIDEO_INFO_PLANE_STRIDE (caps, p);
  }
}

GstBuffer *
picture_to_buffer (const Pictures * pictures, const RandomFrame * frame,
    guint n)
{
  GstBuffer *buffer =
      filled_buffer (GST_VIDEO_INFO_SIZE (&pictures->caps), 0x5a, n);
  guint8 *data[4];
  gint stride[4];
  GstMapInfo map;

  fail_unless (gst_buffer_map (buffer, &map, GST_MAP_READWRITE));
  find_planes (&pictures->caps, buffer, &map, data, stride);
  copy_samples (frame, frame->frame.data, frame->frame.stride, data, stride);
  gst_buffer_unmap (buffer, &map);
  return buffer;
}

RandomFrame *
picture_from_buffer (Pictures * pictures, GstBuffer * buffer)
{
  RandomFrame *frame =
      random_frame_new (&pictures->picture, &pictures->random, TRUE);
  guint8 *data[4];
  gint stride[4];
  GstMapInfo map;

  random_frame_seal (frame);
  fail_unless (buffer != NULL);
  fail_unless (gst_buffer_map (buffer, &map, GST_MAP_READ));
  find_planes (&pictures->caps, buffer, &map, data, stride);
  copy_samples (frame, data, stride, frame->frame.data, frame->frame.stride);
  gst_buffer_unmap (buffer, &map);
  gst_buffer_unref (buffer);
  return frame;
}

void
assert_picture (Pictures * pictures, const RandomFrame * in, GstBuffer * out,
    const ConvolveSettings * settings, gboolean fields, guint8 * mask)
{
  RandomFrame *frame = (RandomFrame *) in;

  assert_stream_picture (pictures, &frame, 1, 0, out, settings, fields, mask);
}

void
assert_stream_picture (Pictures * pictures, RandomFrame * const *stream,
    guint n, guint own, GstBuffer * out, const ConvolveSettings * settings,
    gboolean fields, guint8 * mask)
{
  RandomFrame *frame = picture_from_buffer (pictures, out);
  const RandomFrame *in = stream[own];
  g_autofree RefFrame *frames = g_new0 (RefFrame, n);
  Reference *reference;
  gchar *fault;

  for (guint i = 0; i < n; i++) {
    memcpy (frames[i].data, stream[i]->frame.data, sizeof (frames[i].data));
    memcpy (frames[i].stride, stream[i]->frame.stride,
        sizeof (frames[i].stride));
  }
  reference = reference_new_stream (&pictures->picture, frames, n, own,
      settings, fields);

  if (mask != NULL)
    reference_apply_mask (reference, mask, &pictures->picture, in->frame.data,
        in->frame.stride);
  g_free (mask);
  fail_unless (compare_frames (reference, in, frame, &fault), "%s %dx%d:\n%s",
      GST_VIDEO_INFO_NAME (&pictures->picture), pictures->picture.width,
      pictures->picture.height, fault);
  reference_free (reference);
  random_frame_free (frame);
}

void
check_launch (const gchar * launch, const gchar * caps,
    const ConvolveSettings * settings, gboolean fields)
{
  GstHarness *h = element_harness (launch, caps);
  Pictures pictures;

  pictures_init (&pictures, caps);
  for (guint i = 0; i < 3; i++) {
    RandomFrame *in = picture_new (&pictures);

    GST_INFO ("%s, %s", launch, caps);
    fail_unless_equals_int (gst_harness_push (h, picture_to_buffer (&pictures,
                in, i)), GST_FLOW_OK);
    /* With frames in flight it comes out when it must. */
    gst_harness_push_event (h, gst_event_new_gap (0, 1));
    assert_picture (&pictures, in, gst_harness_pull (h), settings, fields,
        NULL);
    random_frame_free (in);
  }
  gst_harness_teardown (h);
}
