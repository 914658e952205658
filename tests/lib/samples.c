/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Samples of a frame by GStreamer's description of the format. */
#include "samples.h"

/* What GStreamer's description leaves out or has wrong, since only its pack
 * functions use these formats: places in words, one digit a component in the
 * order Y U V A or R G B A. */
static const struct
{
  GstVideoFormat format;
  guint word;
  guint shift[4];
  guint offset[4];
} corrections[] = {
  {GST_VIDEO_FORMAT_P010_10LE, 2, {6, 6, 6}, {0, 0, 2}},
  {GST_VIDEO_FORMAT_P010_10BE, 2, {6, 6, 6}, {0, 0, 2}},
  {GST_VIDEO_FORMAT_P012_LE, 2, {4, 4, 4}, {0, 0, 2}},
  {GST_VIDEO_FORMAT_P012_BE, 2, {4, 4, 4}, {0, 0, 2}},
  {GST_VIDEO_FORMAT_P016_LE, 2, {0, 0, 0}, {0, 0, 2}},
  {GST_VIDEO_FORMAT_P016_BE, 2, {0, 0, 0}, {0, 0, 2}},
  /* Its description is that of UYVY. */
  {GST_VIDEO_FORMAT_VYUY, 1, {0, 0, 0}, {1, 2, 0}},
  {GST_VIDEO_FORMAT_Y210, 2, {6, 6, 6}, {0, 2, 6}},
  {GST_VIDEO_FORMAT_Y212_LE, 2, {4, 4, 4}, {0, 2, 6}},
  {GST_VIDEO_FORMAT_Y212_BE, 2, {4, 4, 4}, {0, 2, 6}},
  {GST_VIDEO_FORMAT_Y412_LE, 2, {4, 4, 4, 4}, {2, 0, 4, 6}},
  {GST_VIDEO_FORMAT_Y412_BE, 2, {4, 4, 4, 4}, {2, 0, 4, 6}},
  {GST_VIDEO_FORMAT_Y410, 4, {10, 0, 20, 30}, {0, 0, 0, 0}},
  {GST_VIDEO_FORMAT_RGB10A2_LE, 4, {0, 10, 20, 30}, {0, 0, 0, 0}},
  {GST_VIDEO_FORMAT_BGR10A2_LE, 4, {20, 10, 0, 30}, {0, 0, 0, 0}},
};

static void
correct (GstVideoFormat format, guint component, SampleMap * map)
{
  for (guint i = 0; i < G_N_ELEMENTS (corrections); i++) {
    if (corrections[i].format != format)
      continue;
    map->word = corrections[i].word;
    map->shift = corrections[i].shift[component];
    map->offset = corrections[i].offset[component];
  }
}

static SampleRole
component_role (const GstVideoFormatInfo * format, guint component)
{
  static const SampleRole rgb[4] =
      { SAMPLE_RED, SAMPLE_GREEN, SAMPLE_BLUE, SAMPLE_ALPHA };
  static const SampleRole yuv[4] =
      { SAMPLE_LUMA, SAMPLE_U, SAMPLE_V, SAMPLE_ALPHA };

  if (GST_VIDEO_FORMAT_INFO_IS_GRAY (format))
    return SAMPLE_GREY;
  return GST_VIDEO_FORMAT_INFO_IS_RGB (format) ? rgb[component] :
      yuv[component];
}

/* The byte of a four-byte pixel of three components that none of them has. */
static gboolean
find_unused_byte (const SampleMap * maps, guint n, SampleMap * unused)
{
  if (n != 3 || maps[0].word != 1 || maps[0].pixel_stride != 4
      || maps[1].plane != 0 || maps[1].w_sub != 0)
    return FALSE;
  *unused = maps[0];
  unused->role = SAMPLE_UNUSED;
  unused->offset = 6 - maps[0].offset - maps[1].offset - maps[2].offset;
  return TRUE;
}

guint
sample_maps (const GstVideoFormatInfo * format, SampleMap maps[4])
{
  guint n = GST_VIDEO_FORMAT_INFO_N_COMPONENTS (format);

  for (guint c = 0; c < n; c++) {
    SampleMap *map = &maps[c];

    map->role = component_role (format, c);
    map->plane = GST_VIDEO_FORMAT_INFO_PLANE (format, c);
    map->offset = GST_VIDEO_FORMAT_INFO_POFFSET (format, c);
    map->pixel_stride = GST_VIDEO_FORMAT_INFO_PSTRIDE (format, c);
    map->depth = GST_VIDEO_FORMAT_INFO_DEPTH (format, c);
    map->shift = GST_VIDEO_FORMAT_INFO_SHIFT (format, c);
    map->word = map->depth > 8 ? 2 : 1;
    map->big_endian = map->word > 1 && !GST_VIDEO_FORMAT_INFO_IS_LE (format);
    map->w_sub = GST_VIDEO_FORMAT_INFO_W_SUB (format, c);
    map->h_sub = GST_VIDEO_FORMAT_INFO_H_SUB (format, c);
    correct (GST_VIDEO_FORMAT_INFO_FORMAT (format), c, map);
    /* Y210 and the 32-bit words exist in little endian only. */
    if (GST_VIDEO_FORMAT_INFO_FORMAT (format) == GST_VIDEO_FORMAT_Y210
        || map->word == 4)
      map->big_endian = FALSE;
  }
  if (find_unused_byte (maps, n, &maps[3]))
    n++;
  return n;
}

gint
sample_map_width (const SampleMap * map, gint width)
{
  return (width + (1 << map->w_sub) - 1) / (1 << map->w_sub);
}

gint
sample_map_height (const SampleMap * map, gint height)
{
  return (height + (1 << map->h_sub) - 1) / (1 << map->h_sub);
}

guint32
sample_map_unused_bits (const SampleMap * map)
{
  if (map->word != 2)
    return 0;
  return 0xffff & ~(((1u << map->depth) - 1) << map->shift);
}

const gchar *
sample_role_name (SampleRole role)
{
  static const gchar *const names[] =
      { "grey", "Y", "U", "V", "R", "G", "B", "A", "x" };

  return names[role];
}

static gsize
sample_place (const SampleMap * map, gint x)
{
  return map->offset + (gsize) x *map->pixel_stride;
}

guint32
sample_word (const SampleMap * map, const guint8 * data, gint stride, gint x,
    gint y)
{
  const guint8 *at = data + (gssize) stride * y + sample_place (map, x);
  guint32 word = 0;

  for (guint i = 0; i < map->word; i++)
    word |= (guint32) at[map->big_endian ? map->word - 1 - i : i] << (8 * i);
  return word;
}

guint32
sample_get (const SampleMap * map, const guint8 * data, gint stride, gint x,
    gint y)
{
  return sample_word (map, data, stride, x, y) >> map->shift
      & ((1u << map->depth) - 1);
}

void
sample_set_word (const SampleMap * map, guint8 * data, gint stride, gint x,
    gint y, guint32 word)
{
  guint8 *at = data + (gssize) stride * y + sample_place (map, x);

  for (guint i = 0; i < map->word; i++)
    at[map->big_endian ? map->word - 1 - i : i] = word >> (8 * i);
}

void
sample_set (const SampleMap * map, guint8 * data, gint stride, gint x, gint y,
    guint32 value)
{
  guint32 mask = ((1u << map->depth) - 1) << map->shift;
  guint32 word = sample_word (map, data, stride, x, y);

  sample_set_word (map, data, stride, x, y,
      (word & ~mask) | (value << map->shift & mask));
}
