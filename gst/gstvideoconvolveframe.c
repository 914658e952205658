/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gstvideoconvolveframe.h"

#include "gstpinnedallocator.h"

#include "core/format.h"
#include "core/matrix.h"

/* Where a plane lies in the buffer, in bytes from its start. */
typedef struct
{
  gsize offset;                 /* of row 0 */
  gint stride;
  gsize first, end;             /* of all its samples, rows below and above */
  guint memory, n_memories;     /* in which they lie */
  gsize skip;                   /* from that memory's start to first */
} Plane;

/* Bytes of a row and number of rows: the most that any layout on the plane
 * reaches. */
static void
plane_size (const ConvolveFormat * format, const GstVideoInfo * info,
    guint plane, gsize * row_bytes, guint * rows)
{
  *row_bytes = 0;
  *rows = 0;
  for (guint i = 0; i < format->n_layouts; i++) {
    const ConvolveLayout *layout = &format->layout[i];
    gsize bytes;

    if (layout->plane != plane)
      continue;
    bytes = convolve_layout_row_bytes (layout,
        convolve_layout_width (layout, GST_VIDEO_INFO_WIDTH (info)));
    *row_bytes = MAX (*row_bytes, bytes);
    *rows = MAX (*rows, (guint) convolve_layout_height (layout,
            GST_VIDEO_INFO_HEIGHT (info)));
  }
}

/* Finds first and end of a plane of the given offset and stride in a buffer of
 * that size. Everything is checked before it is added up: offsets are any
 * gsize and strides any gint. */
static gboolean
plane_locate (Plane * plane, gsize row_bytes, guint rows, gsize buffer_size,
    guint index, GError ** error)
{
  guint64 pitch = ABS ((gint64) plane->stride);
  guint64 span = pitch * (rows - 1);    /* below 2^62 */
  guint64 above = plane->stride < 0 ? span : 0;
  guint64 below = (plane->stride < 0 ? 0 : span) + row_bytes;

  if (pitch < row_bytes) {
    g_set_error (error, CONVOLVE_ERROR, CONVOLVE_ERROR_INVALID,
        "plane %u has a stride of %d bytes, less than a row of %"
        G_GSIZE_FORMAT, index, plane->stride, row_bytes);
    return FALSE;
  }
  if (plane->offset < above || plane->offset > buffer_size
      || below > buffer_size - plane->offset) {
    g_set_error (error, CONVOLVE_ERROR, CONVOLVE_ERROR_INVALID,
        "plane %u (%u rows of %" G_GSIZE_FORMAT " bytes, offset %"
        G_GSIZE_FORMAT ", stride %d) does not fit in the buffer's %"
        G_GSIZE_FORMAT " bytes", index, rows, row_bytes, plane->offset,
        plane->stride, buffer_size);
    return FALSE;
  }
  plane->first = plane->offset - above;
  plane->end = plane->offset + below;
  return TRUE;
}

static gboolean
check_meta (const GstVideoMeta * meta, const GstVideoInfo * info,
    GError ** error)
{
  if (meta->format != GST_VIDEO_INFO_FORMAT (info)
      || meta->n_planes != GST_VIDEO_INFO_N_PLANES (info)) {
    g_set_error (error, CONVOLVE_ERROR, CONVOLVE_ERROR_INVALID,
        "the buffer's video meta says %s of %u planes, the caps %s of %u",
        gst_video_format_to_string (meta->format), meta->n_planes,
        GST_VIDEO_INFO_NAME (info), GST_VIDEO_INFO_N_PLANES (info));
    return FALSE;
  }
  if (meta->width < (guint) GST_VIDEO_INFO_WIDTH (info)
      || meta->height < (guint) GST_VIDEO_INFO_HEIGHT (info)) {
    g_set_error (error, CONVOLVE_ERROR, CONVOLVE_ERROR_INVALID,
        "the buffer's video meta says %u x %u, the caps %d x %d", meta->width,
        meta->height, GST_VIDEO_INFO_WIDTH (info),
        GST_VIDEO_INFO_HEIGHT (info));
    return FALSE;
  }
  return TRUE;
}

/* Fills planes from the buffer's meta or the caps. */
static gboolean
locate_planes (Plane * planes, GstBuffer * buffer, const GstVideoInfo * info,
    GError ** error)
{
  const ConvolveFormat *format =
      convolve_format_get (GST_VIDEO_INFO_FORMAT (info));
  const GstVideoMeta *meta = gst_buffer_get_video_meta (buffer);
  gsize size = gst_buffer_get_size (buffer);

  if (format == NULL) {
    g_set_error (error, CONVOLVE_ERROR, CONVOLVE_ERROR_UNSUPPORTED,
        "the format %s is not supported", GST_VIDEO_INFO_NAME (info));
    return FALSE;
  }
  if (meta != NULL && !check_meta (meta, info, error))
    return FALSE;
  if (meta == NULL && size < GST_VIDEO_INFO_SIZE (info)) {
    g_set_error (error, CONVOLVE_ERROR, CONVOLVE_ERROR_INVALID,
        "the buffer has %" G_GSIZE_FORMAT " bytes, %s of %d x %d needs %"
        G_GSIZE_FORMAT, size, GST_VIDEO_INFO_NAME (info),
        GST_VIDEO_INFO_WIDTH (info), GST_VIDEO_INFO_HEIGHT (info),
        GST_VIDEO_INFO_SIZE (info));
    return FALSE;
  }
  for (guint i = 0; i < GST_VIDEO_INFO_N_PLANES (info); i++) {
    gsize row_bytes;
    guint rows;

    plane_size (format, info, i, &row_bytes, &rows);
    planes[i].offset = meta != NULL ? meta->offset[i] :
        GST_VIDEO_INFO_PLANE_OFFSET (info, i);
    planes[i].stride = meta != NULL ? meta->stride[i] :
        GST_VIDEO_INFO_PLANE_STRIDE (info, i);
    if (!plane_locate (&planes[i], row_bytes, rows, size, i, error))
      return FALSE;
  }
  return TRUE;
}

/* Finds the memories that each plane lies in. FALSE if some plane begins in
 * one memory and ends in another: then the buffer is mapped as a whole. */
static gboolean
find_memories (Plane * planes, guint n_planes, GstBuffer * buffer)
{
  for (guint i = 0; i < n_planes; i++) {
    if (!gst_buffer_find_memory (buffer, planes[i].first,
            planes[i].end - planes[i].first, &planes[i].memory,
            &planes[i].n_memories, &planes[i].skip)
        || planes[i].n_memories != 1)
      return FALSE;
  }
  return TRUE;
}

static gboolean
map_one (GstVideoConvolveFrame * frame, guint memory, gint n_memories,
    GstMapFlags flags, GError ** error)
{
  if (gst_buffer_map_range (frame->buffer, memory, n_memories,
          &frame->map[frame->n_maps], flags)) {
    frame->n_maps++;
    return TRUE;
  }
  g_set_error (error, CONVOLVE_ERROR, CONVOLVE_ERROR_FAILED,
      "the buffer's memory cannot be mapped for %s",
      flags & GST_MAP_WRITE ? "writing" : "reading");
  return FALSE;
}

/* The address of byte skip of a map that must hold all of the plane. */
static gboolean
place_plane (GstVideoConvolveFrame * frame, guint index, const Plane * plane,
    const GstMapInfo * map, gsize skip, GError ** error)
{
  if (skip > map->size || plane->end - plane->first > map->size - skip) {
    g_set_error (error, CONVOLVE_ERROR, CONVOLVE_ERROR_INVALID,
        "plane %u needs %" G_GSIZE_FORMAT " bytes from byte %" G_GSIZE_FORMAT
        " of a memory that maps %" G_GSIZE_FORMAT, index,
        plane->end - plane->first, skip, map->size);
    return FALSE;
  }
  frame->frame.data[index] = map->data + skip + (plane->offset - plane->first);
  frame->frame.stride[index] = plane->stride;
  return TRUE;
}

/* Maps each memory once, and places the planes in it. */
static gboolean
map_memories (GstVideoConvolveFrame * frame, const Plane * planes,
    guint n_planes, GstMapFlags flags, GError ** error)
{
  guint of_map[CONVOLVE_MAX_PLANES];    /* the memory of each map */

  for (guint i = 0; i < n_planes; i++) {
    guint m = 0;

    while (m < frame->n_maps && of_map[m] != planes[i].memory)
      m++;
    if (m == frame->n_maps) {
      if (!map_one (frame, planes[i].memory, 1, flags, error))
        return FALSE;
      of_map[m] = planes[i].memory;
    }
    if (!place_plane (frame, i, &planes[i], &frame->map[m], planes[i].skip,
            error))
      return FALSE;
  }
  return TRUE;
}

static gboolean
map_whole (GstVideoConvolveFrame * frame, const Plane * planes,
    guint n_planes, GstMapFlags flags, GError ** error)
{
  if (!map_one (frame, 0, -1, flags, error))
    return FALSE;
  for (guint i = 0; i < n_planes; i++)
    if (!place_plane (frame, i, &planes[i], &frame->map[0], planes[i].first,
            error))
      return FALSE;
  return TRUE;
}

static gboolean
is_pinned (const GstVideoConvolveFrame * frame)
{
  for (guint i = 0; i < frame->n_maps; i++)
    if (!gst_is_pinned_memory (frame->map[i].memory))
      return FALSE;
  return TRUE;
}

gboolean
gst_video_convolve_frame_map (GstVideoConvolveFrame * frame,
    GstBuffer * buffer, const GstVideoInfo * info, GstMapFlags flags,
    GError ** error)
{
  guint n_planes = GST_VIDEO_INFO_N_PLANES (info);
  Plane planes[CONVOLVE_MAX_PLANES] = { {0} };
  gboolean ok;

  frame->buffer = NULL;
  frame->n_maps = 0;
  frame->frame = (ConvolveFrame) {
  .memory = CONVOLVE_MEMORY_HOST};
  if (!locate_planes (planes, buffer, info, error))
    return FALSE;

  frame->buffer = buffer;
  if (find_memories (planes, n_planes, buffer))
    ok = map_memories (frame, planes, n_planes, flags, error);
  else
    ok = map_whole (frame, planes, n_planes, flags, error);
  if (!ok)
    gst_video_convolve_frame_unmap (frame);
  else if (is_pinned (frame))
    frame->frame.memory = CONVOLVE_MEMORY_PINNED;
  return ok;
}

gboolean
gst_video_convolve_frame_place (ConvolveFrame * frame, GstBuffer * buffer,
    const GstVideoInfo * info, gpointer data, gsize size, GError ** error)
{
  GstVideoConvolveFrame whole = {.map[0] = {.data = data,.size = size} };
  Plane planes[CONVOLVE_MAX_PLANES] = { {0} };

  if (!locate_planes (planes, buffer, info, error))
    return FALSE;
  for (guint i = 0; i < GST_VIDEO_INFO_N_PLANES (info); i++)
    if (!place_plane (&whole, i, &planes[i], &whole.map[0], planes[i].first,
            error))
      return FALSE;
  *frame = whole.frame;
  return TRUE;
}

void
gst_video_convolve_frame_unmap (GstVideoConvolveFrame * frame)
{
  for (guint i = 0; i < frame->n_maps; i++)
    gst_buffer_unmap (frame->buffer, &frame->map[i]);
  frame->n_maps = 0;
  frame->buffer = NULL;
}
