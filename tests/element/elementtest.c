/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "elementtest.h"

#include <string.h>

/* A device that is opened for each harness takes most of the time. */
static void
keep_device (const gchar * properties)
{
  static GstElement *keeper;
  gchar *line;

  if (keeper != NULL || g_getenv ("ELEMENT_TEST_KEEPS_DEVICE") == NULL)
    return;
  line = g_strdup_printf ("videoconvolve %s", properties);
  keeper = gst_parse_launch (line, NULL);
  gst_element_set_state (keeper, GST_STATE_PAUSED);
  g_free (line);
}

GstHarness *
element_harness (const gchar * launch, const gchar * caps)
{
  const gchar *more = g_getenv ("ELEMENT_TEST_PROPERTIES");
  gchar *line;
  GstElement *element;
  GstHarness *h;

  /* Right after the name: what launch says itself comes later and holds. */
  fail_unless (g_str_has_prefix (launch, "videoconvolve"));
  keep_device (more);
  line = g_strdup_printf ("videoconvolve %s %s", more != NULL ? more : "",
      launch + strlen ("videoconvolve"));
  element = gst_parse_launch (line, NULL);
  fail_unless (element != NULL, "%s cannot be made", line);
  g_free (line);
  h = gst_harness_new_with_element (element, "sink", "src");
  gst_object_unref (element);
  if (caps != NULL)
    gst_harness_set_src_caps_str (h, caps);
  return h;
}

GstBuffer *
filled_buffer (gsize size, guint8 value, guint n)
{
  GstBuffer *buffer = gst_buffer_new_allocate (NULL, size, NULL);

  gst_buffer_memset (buffer, 0, value, size);
  GST_BUFFER_PTS (buffer) = n * 40 * GST_MSECOND;
  GST_BUFFER_DURATION (buffer) = 40 * GST_MSECOND;
  return buffer;
}

GstBuffer *
grey_buffer (guint width, guint height, const guint8 * samples, guint n)
{
  GstBuffer *buffer = filled_buffer (GST_ROUND_UP_4 (width) * height, 0, n);

  for (guint y = 0; y < height; y++)
    gst_buffer_fill (buffer, y * GST_ROUND_UP_4 (width), samples + y * width,
        width);
  return buffer;
}

GstBuffer *
impulse_buffer (guint width, guint height, guint n)
{
  GstBuffer *buffer = filled_buffer (GST_ROUND_UP_4 (width) * height, 0, n);

  gst_buffer_memset (buffer, (height / 2) * GST_ROUND_UP_4 (width) + width / 2,
      10, 1);
  return buffer;
}

void
assert_grey (GstBuffer * buffer, guint width, guint height,
    const guint8 * expected)
{
  GstVideoMeta *meta;
  GstMapInfo map;
  gsize offset, stride;

  fail_unless (buffer != NULL);
  meta = gst_buffer_get_video_meta (buffer);
  offset = meta ? meta->offset[0] : 0;
  stride = meta ? (gsize) meta->stride[0] : GST_ROUND_UP_4 (width);
  fail_unless (gst_buffer_map (buffer, &map, GST_MAP_READ));
  for (guint y = 0; y < height; y++)
    for (guint x = 0; x < width; x++)
      fail_unless (map.data[offset + y * stride + x] == expected[y * width + x],
          "(%u, %u) is %u, not %u", x, y, map.data[offset + y * stride + x],
          expected[y * width + x]);
  gst_buffer_unmap (buffer, &map);
  gst_buffer_unref (buffer);
}

void
assert_filled (GstBuffer * buffer, guint8 value)
{
  GstMapInfo map;

  fail_unless (buffer != NULL);
  fail_unless (gst_buffer_map (buffer, &map, GST_MAP_READ));
  for (gsize i = 0; i < map.size; i++)
    fail_unless (map.data[i] == value, "byte %" G_GSIZE_FORMAT
        " is %u, not %u", i, map.data[i], value);
  gst_buffer_unmap (buffer, &map);
  gst_buffer_unref (buffer);
}

GstBuffer *
filter_one (GstHarness * h, GstBuffer * buffer)
{
  fail_unless_equals_int (gst_harness_push (h, buffer), GST_FLOW_OK);
  return gst_harness_pull (h);
}

GstBus *
bus_of (GstHarness * h)
{
  GstBus *bus = gst_bus_new ();

  gst_element_set_bus (h->element, bus);
  return bus;
}

void
bus_done (GstHarness * h, GstBus * bus)
{
  gst_element_set_bus (h->element, NULL);
  gst_bus_set_flushing (bus, TRUE);
  gst_object_unref (bus);
}

void
assert_message (GstBus * bus, GstMessageType type, GQuark domain, gint code,
    const gchar * part)
{
  GstMessage *message = gst_bus_pop_filtered (bus,
      GST_MESSAGE_ERROR | GST_MESSAGE_WARNING);
  GError *error = NULL;

  fail_unless (message != NULL, "no message about \"%s\"", part);
  fail_unless_equals_int (GST_MESSAGE_TYPE (message), type);
  if (type == GST_MESSAGE_ERROR)
    gst_message_parse_error (message, &error, NULL);
  else
    gst_message_parse_warning (message, &error, NULL);
  fail_unless (g_error_matches (error, domain, code), "%s %d: %s",
      g_quark_to_string (error->domain), error->code, error->message);
  fail_unless (strstr (error->message, part) != NULL,
      "\"%s\" is not in \"%s\"", part, error->message);
  g_error_free (error);
  gst_message_unref (message);
}

void
assert_no_message (GstBus * bus, GstMessageType types)
{
  GstMessage *message = gst_bus_pop_filtered (bus, types);

  fail_unless (message == NULL, "unexpected: %s", message == NULL ? "" :
      gst_structure_to_string (gst_message_get_structure (message)));
}

/* ---- properties ---- */

gchar *
text_of (GstElement * element, const gchar * name)
{
  GValue value = G_VALUE_INIT;
  gchar *text;

  g_object_get_property (G_OBJECT (element), name, &value);
  text = gst_value_serialize (&value);
  g_value_unset (&value);
  return text;
}

void
assert_value (GstElement * element, const gchar * name, const gchar * expected)
{
  gchar *text = text_of (element, name);

  fail_unless_equals_string (text, expected);
  g_free (text);
}

void
set_text (GstElement * element, const gchar * name, const gchar * text)
{
  /* GStreamer's parser writes into the text while it reads it. */
  gchar *copy = g_strdup (text);

  gst_util_set_object_arg (G_OBJECT (element), name, copy);
  g_free (copy);
}

void
assert_refused (GstBus * bus, const gchar * part)
{
  assert_message (bus, GST_MESSAGE_WARNING, GST_LIBRARY_ERROR,
      GST_LIBRARY_ERROR_SETTINGS, part);
}
