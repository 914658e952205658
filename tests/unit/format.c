/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The table of formats, row by row, against GStreamer's description of each
 * format and against its unpack functions. */
#include <string.h>

#include "core/format.h"
#include "samples.h"

static SampleRole
role_in_test (guint role)
{
  static const SampleRole roles[] = {
    [CONVOLVE_ROLE_GREY] = SAMPLE_GREY,
    [CONVOLVE_ROLE_LUMA] = SAMPLE_LUMA,
    [CONVOLVE_ROLE_CHROMA_U] = SAMPLE_U,
    [CONVOLVE_ROLE_CHROMA_V] = SAMPLE_V,
    [CONVOLVE_ROLE_RED] = SAMPLE_RED,
    [CONVOLVE_ROLE_GREEN] = SAMPLE_GREEN,
    [CONVOLVE_ROLE_BLUE] = SAMPLE_BLUE,
    [CONVOLVE_ROLE_ALPHA] = SAMPLE_ALPHA,
    [CONVOLVE_ROLE_PADDING] = SAMPLE_UNUSED,
  };

  return roles[role];
}

/* The table's layout and component of a role; the roles of a format are
 * distinct. */
static const ConvolveLayout *
find_role (const ConvolveFormat * row, SampleRole role,
    const ConvolveComponent ** component)
{
  for (guint i = 0; i < row->n_layouts; i++) {
    for (guint c = 0; c < row->layout[i].n_components; c++) {
      *component = &row->layout[i].component[c];
      if (role_in_test ((*component)->role) == role)
        return &row->layout[i];
    }
  }
  return NULL;
}

static guint
row_components (const ConvolveFormat * row)
{
  guint n = 0;

  for (guint i = 0; i < row->n_layouts; i++)
    n += row->layout[i].n_components;
  return n;
}

static ConvolveSampleType
expected_type (const SampleMap * map)
{
  if (map->word == 1)
    return CONVOLVE_SAMPLE_U8;
  if (map->word == 4)
    return CONVOLVE_SAMPLE_BITS32LE;
  return map->big_endian ? CONVOLVE_SAMPLE_U16BE : CONVOLVE_SAMPLE_U16LE;
}

static void
test_description (gconstpointer data)
{
  const ConvolveFormat *row = data;
  const GstVideoFormatInfo *format = gst_video_format_get_info (row->format);
  SampleMap maps[SAMPLE_MAX_MAPS];
  guint n = sample_maps (format, maps);

  g_assert_true (convolve_format_get (row->format) == row);
  g_assert_cmpuint (row_components (row), ==, n);
  for (guint c = 0; c < n; c++) {
    const ConvolveComponent *component;
    const ConvolveLayout *layout = find_role (row, maps[c].role, &component);

    g_assert_nonnull (layout);
    g_assert_cmpuint (layout->plane, ==, maps[c].plane);
    g_assert_cmpuint (layout->type, ==, expected_type (&maps[c]));
    g_assert_cmpuint (layout->pixel_step, ==, maps[c].pixel_stride);
    g_assert_cmpuint (layout->w_sub, ==, maps[c].w_sub);
    g_assert_cmpuint (layout->h_sub, ==, maps[c].h_sub);
    g_assert_cmpuint (component->offset, ==, maps[c].offset);
    g_assert_cmpuint (component->shift, ==, maps[c].shift);
    g_assert_cmpuint (component->depth, ==, maps[c].depth);
  }
}

/* No bit belongs to two samples, rows stay within GStreamer's stride, and
 * components come in order. */
static void
test_coverage (gconstpointer data)
{
  const ConvolveFormat *row = data;
  static const gint widths[] = { 1, 2, 3, 5, 8 };

  for (guint k = 0; k < G_N_ELEMENTS (widths); k++) {
    guint8 used[4][256];
    GstVideoInfo info;

    memset (used, 0, sizeof (used));
    g_assert_true (gst_video_info_set_format (&info, row->format, widths[k],
            3));
    for (guint i = 0; i < row->n_layouts; i++) {
      const ConvolveLayout *layout = &row->layout[i];
      gint width = convolve_layout_width (layout, widths[k]);
      gsize bytes = convolve_layout_row_bytes (layout, width), last = 0;

      g_assert_cmpint (width, ==, GST_VIDEO_SUB_SCALE (layout->w_sub,
              widths[k]));
      g_assert_cmpint (convolve_layout_height (layout, 3), ==,
          GST_VIDEO_SUB_SCALE (layout->h_sub, 3));
      g_assert_cmpuint (bytes, <=, GST_VIDEO_INFO_PLANE_STRIDE (&info,
              layout->plane));
      for (guint c = 0; c < layout->n_components; c++) {
        const ConvolveComponent *component = &layout->component[c];

        g_assert_cmpuint (component->offset, <, layout->pixel_step);
        if (c > 0)
          g_assert_cmpuint (component->offset * 8 + component->shift, >,
              component[-1].offset * 8 + component[-1].shift);
        for (gint x = 0; x < width; x++) {
          for (guint bit = 0; bit < component->depth; bit++) {
            guint in_word = component->shift + bit, byte = in_word / 8;
            guint8 mask = 1 << in_word % 8;
            gsize at;

            if (layout->type == CONVOLVE_SAMPLE_U16BE)
              byte = 1 - byte;
            at = (gsize) x *layout->pixel_step + component->offset + byte;
            last = MAX (last, at);
            g_assert_cmpuint (used[layout->plane][at] & mask, ==, 0);
            used[layout->plane][at] |= mask;
          }
        }
      }
      /* The top byte of a word may hold no bit of the sample. */
      g_assert_cmpuint (last, <, bytes);
      g_assert_cmpuint (bytes - last, <=, 2);
    }
  }
}

/* ---- unpack ---- */

#define WIDTH 9
#define HEIGHT 5

/* A value for each sample, different from its neighbours and from the other
 * components. */
static guint
known_value (SampleRole role, guint depth, gint x, gint y)
{
  guint32 hash = (guint32) (role * 7919 + x * 104729 + y * 1299709 + 12345);

  hash = hash * 2654435761u;
  hash ^= hash >> 15;
  hash *= 2246822519u;
  return hash >> (32 - depth);
}

static void
write_by_table (const ConvolveFormat * row, GstVideoFrame * frame)
{
  for (guint i = 0; i < row->n_layouts; i++) {
    const ConvolveLayout *layout = &row->layout[i];
    guint8 *plane = GST_VIDEO_FRAME_PLANE_DATA (frame, layout->plane);
    gint stride = GST_VIDEO_FRAME_PLANE_STRIDE (frame, layout->plane);

    for (gint y = 0; y < convolve_layout_height (layout, HEIGHT); y++) {
      for (gint x = 0; x < convolve_layout_width (layout, WIDTH); x++) {
        guint8 *pixel = plane + y * stride + x * layout->pixel_step;

        for (guint c = 0; c < layout->n_components; c++) {
          const ConvolveComponent *component = &layout->component[c];
          guint8 *at = pixel + component->offset;
          guint32 value = known_value (role_in_test (component->role),
              component->depth, x, y) << component->shift;

          if (layout->type == CONVOLVE_SAMPLE_U8)
            *at = value;
          else if (layout->type == CONVOLVE_SAMPLE_U16LE)
            GST_WRITE_UINT16_LE (at, value);
          else if (layout->type == CONVOLVE_SAMPLE_U16BE)
            GST_WRITE_UINT16_BE (at, value);
          else
            GST_WRITE_UINT32_LE (at, GST_READ_UINT32_LE (at) | value);
        }
      }
    }
  }
}

/* One unpacked pixel, A Y U V or A R G B, as depth-bit samples. */
static guint
unpacked (const void *line, gboolean wide, gint x, guint place, guint depth)
{
  if (wide)
    return ((const guint16 *) line)[4 * x + place] >> (16 - depth);
  return ((const guint8 *) line)[4 * x + place] >> (8 - depth);
}

static void
test_unpack (gconstpointer data)
{
  static const guint places[] = {
    [SAMPLE_GREY] = 1,[SAMPLE_LUMA] = 1,[SAMPLE_U] = 2,[SAMPLE_V] = 3,
    [SAMPLE_RED] = 1,[SAMPLE_GREEN] = 2,[SAMPLE_BLUE] = 3,[SAMPLE_ALPHA] = 0
  };
  const ConvolveFormat *row = data;
  const GstVideoFormatInfo *format = gst_video_format_get_info (row->format);
  gboolean wide = format->unpack_format == GST_VIDEO_FORMAT_AYUV64
      || format->unpack_format == GST_VIDEO_FORMAT_ARGB64;
  SampleMap maps[SAMPLE_MAX_MAPS];
  guint n = sample_maps (format, maps);
  /* GStreamer's unpack swaps the chroma of VYUY's last pixel in odd widths. */
  gint unpack_width = WIDTH - (row->format == GST_VIDEO_FORMAT_VYUY);
  GstVideoInfo info;
  GstVideoFrame frame;
  GstBuffer *buffer;
  guint64 line[WIDTH + 8];

  g_assert_true (gst_video_info_set_format (&info, row->format, WIDTH, HEIGHT));
  buffer = gst_buffer_new_allocate (NULL, GST_VIDEO_INFO_SIZE (&info), NULL);
  gst_buffer_memset (buffer, 0, 0, GST_VIDEO_INFO_SIZE (&info));
  g_assert_true (gst_video_frame_map (&frame, &info, buffer,
          GST_MAP_READWRITE));
  write_by_table (row, &frame);

  for (gint y = 0; y < HEIGHT; y++) {
    format->unpack_func (format, GST_VIDEO_PACK_FLAG_NONE, line, frame.data,
        frame.info.stride, 0, y, unpack_width);
    for (guint c = 0; c < n; c++) {
      const SampleMap *map = &maps[c];

      for (gint x = 0; x < WIDTH; x++) {
        gint sx = x >> map->w_sub, sy = y >> map->h_sub;
        guint known = known_value (map->role, map->depth, sx, sy);

        /* The test's own way to a sample, on which the checks rest. */
        g_assert_cmpuint (sample_get (map, frame.data[map->plane],
                frame.info.stride[map->plane], sx, sy), ==, known);
        if (map->role != SAMPLE_UNUSED && x < unpack_width)
          g_assert_cmpuint (unpacked (line, wide, x, places[map->role],
                  map->depth), ==, known);
      }
    }
  }
  gst_video_frame_unmap (&frame);
  gst_buffer_unref (buffer);
}

static void
test_list (void)
{
  guint n;
  const ConvolveFormat *list = convolve_format_list (&n);

  g_assert_cmpuint (n, >=, 80);
  for (guint i = 0; i < n; i++)
    for (guint k = 0; k < i; k++)
      g_assert_cmpint (list[i].format, !=, list[k].format);
  g_assert_null (convolve_format_get (GST_VIDEO_FORMAT_UNKNOWN));
  g_assert_null (convolve_format_get (GST_VIDEO_FORMAT_ENCODED));
  g_assert_null (convolve_format_get (GST_VIDEO_FORMAT_v210));
}

int
main (int argc, char **argv)
{
  guint n;
  const ConvolveFormat *list = convolve_format_list (&n);

  gst_init (&argc, &argv);
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/format/list", test_list);
  for (guint i = 0; i < n; i++) {
    static const struct
    {
      const gchar *name;
      GTestDataFunc function;
    } tests[] = {
      {"description", test_description},
      {"coverage", test_coverage},
      {"unpack", test_unpack},
    };

    for (guint k = 0; k < G_N_ELEMENTS (tests); k++) {
      g_autofree gchar *path = g_strdup_printf ("/format/%s/%s",
          tests[k].name, gst_video_format_to_string (list[i].format));

      g_test_add_data_func (path, &list[i], tests[k].function);
    }
  }
  return g_test_run ();
}
