/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gstvideoconvolverois.h"

#include <math.h>
#include <string.h>

#include <gst/video/video.h>

#include "gstvideoconvolvevalues.h"

/* ---- the property ---- */

static gboolean
read_roi (const GValue * value, guint number, GstVideoConvolveRoi * roi,
    GError ** error)
{
  static const gchar *const names[] = { "x", "y", "width", "height" };
  gint *const fields[] = { &roi->x, &roi->y, &roi->width, &roi->height };

  if (!GST_VALUE_HOLDS_ARRAY (value)
      || gst_value_array_get_size (value) != G_N_ELEMENTS (names)) {
    g_set_error (error, CONVOLVE_ERROR, CONVOLVE_ERROR_INVALID,
        "region %u is not four numbers: regions are written as "
        "<<x,y,width,height>,<x,y,width,height>>", number);
    return FALSE;
  }
  for (guint i = 0; i < G_N_ELEMENTS (names); i++) {
    const GValue *item = gst_value_array_get_value (value, i);
    gdouble n;

    if (!gst_video_convolve_value_to_number (item, &n) || n != rint (n)
        || n < (i < 2 ? G_MININT : 0) || n > G_MAXINT) {
      g_autofree gchar *content = gst_video_convolve_value_describe (item);

      g_set_error (error, CONVOLVE_ERROR, CONVOLVE_ERROR_INVALID,
          "region %u: %s is not a whole number%s: %s", number, names[i],
          i < 2 ? "" : " of at least 0", content);
      return FALSE;
    }
    *fields[i] = (gint) n;
  }
  return TRUE;
}

GArray *
gst_video_convolve_rois_from_value (const GValue * value, GError ** error)
{
  g_autoptr (GArray) rois =
      g_array_new (FALSE, FALSE, sizeof (GstVideoConvolveRoi));
  guint n = gst_value_array_get_size (value);

  if (n > GST_VIDEO_CONVOLVE_MAX_ROIS) {
    g_set_error (error, CONVOLVE_ERROR, CONVOLVE_ERROR_INVALID,
        "there are %u regions, more than %d", n, GST_VIDEO_CONVOLVE_MAX_ROIS);
    return NULL;
  }
  for (guint i = 0; i < n; i++) {
    GstVideoConvolveRoi roi;

    if (!read_roi (gst_value_array_get_value (value, i), i + 1, &roi, error))
      return NULL;
    g_array_append_val (rois, roi);
  }
  return g_steal_pointer (&rois);
}

void
gst_video_convolve_rois_to_value (const GArray * rois, GValue * value)
{
  for (guint i = 0; rois != NULL && i < rois->len; i++) {
    const GstVideoConvolveRoi *roi =
        &g_array_index (rois, GstVideoConvolveRoi, i);
    const gint numbers[] = { roi->x, roi->y, roi->width, roi->height };
    GValue array = G_VALUE_INIT;

    g_value_init (&array, GST_TYPE_ARRAY);
    for (guint k = 0; k < G_N_ELEMENTS (numbers); k++) {
      GValue number = G_VALUE_INIT;

      g_value_init (&number, G_TYPE_INT);
      g_value_set_int (&number, numbers[k]);
      gst_value_array_append_and_take_value (&array, &number);
    }
    gst_value_array_append_and_take_value (value, &array);
  }
}

gboolean
gst_video_convolve_rois_equal (const GArray * a, const GArray * b)
{
  guint n = a != NULL ? a->len : 0;

  if (a == b || n != (b != NULL ? b->len : 0))
    return a == b;
  return n == 0
      || memcmp (a->data, b->data, n * sizeof (GstVideoConvolveRoi)) == 0;
}

/* ---- a buffer ---- */

static gboolean
is_wanted (const gchar * types, GQuark type)
{
  const gchar *name = g_quark_to_string (type);
  gsize length;

  if (types == NULL || *types == '\0')
    return TRUE;
  if (name == NULL)
    return FALSE;
  length = strlen (name);
  while (*types != '\0') {
    gsize blanks, n;

    types += strspn (types, ", ");
    n = strcspn (types, ",");
    for (blanks = 0; blanks < n && types[n - blanks - 1] == ' '; blanks++);
    if (n - blanks == length && strncmp (types, name, length) == 0)
      return length > 0;
    types += n;
  }
  return FALSE;
}

/* A field has every second line of the frame: those rows of it that hold some
 * of the region. */
static void
add_roi (GArray * rects, gint64 x, gint64 y, gint64 width, gint64 height,
    gboolean field)
{
  gint64 end = y + height;

  if (field && height > 0) {
    y = y >= 0 ? y / 2 : -((1 - y) / 2);
    height = (end >= 0 ? (end + 1) / 2 : -(-end / 2)) - y;
  }
  convolve_rects_add (rects, x, y, width, height);
}

void
gst_video_convolve_rois_collect (const GArray * rois, const gchar * types,
    GstBuffer * buffer, gboolean field, GArray * rects)
{
  gpointer state = NULL;
  GstMeta *meta;

  for (guint i = 0; rois != NULL && i < rois->len; i++) {
    const GstVideoConvolveRoi *roi =
        &g_array_index (rois, GstVideoConvolveRoi, i);

    add_roi (rects, roi->x, roi->y, roi->width, roi->height, field);
  }
  while ((meta = gst_buffer_iterate_meta_filtered (buffer, &state,
              GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE)) != NULL) {
    const GstVideoRegionOfInterestMeta *roi =
        (const GstVideoRegionOfInterestMeta *) meta;

    if (is_wanted (types, roi->roi_type))
      add_roi (rects, roi->x, roi->y, roi->w, roi->h, field);
  }
}
