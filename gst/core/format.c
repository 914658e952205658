/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The table of formats. A row names the layouts of a frame; the macros below
 * write the families down once. */
#include <string.h>

#include "format.h"

/* Short names for the columns. */
#define GREY CONVOLVE_ROLE_GREY
#define LUMA CONVOLVE_ROLE_LUMA
#define U CONVOLVE_ROLE_CHROMA_U
#define V CONVOLVE_ROLE_CHROMA_V
#define R CONVOLVE_ROLE_RED
#define G CONVOLVE_ROLE_GREEN
#define B CONVOLVE_ROLE_BLUE
#define A CONVOLVE_ROLE_ALPHA
#define X CONVOLVE_ROLE_PADDING
#define U8 CONVOLVE_SAMPLE_U8
#define LE CONVOLVE_SAMPLE_U16LE
#define BE CONVOLVE_SAMPLE_U16BE
#define NE (G_BYTE_ORDER == G_LITTLE_ENDIAN ? LE : BE)
#define BYTES(type) ((type) == U8 ? 1 : 2)

/* Component: role, index of its word in the pixel, shift and depth. */
#define C(type, role, word, shift, depth) \
  { role, (word) * BYTES (type), shift, depth }

/* One component alone in its plane. */
#define ONE(plane, type, role, shift, depth, ws, hs) \
  { plane, type, BYTES (type), ws, hs, 1, { C (type, role, 0, shift, depth) } }
/* Two, three and four components side by side. */
#define TWO(plane, type, r0, r1, shift, depth, ws, hs) \
  { plane, type, 2 * BYTES (type), ws, hs, 2, \
    { C (type, r0, 0, shift, depth), C (type, r1, 1, shift, depth) } }
#define THREE(type, r0, r1, r2) \
  { 0, type, 3 * BYTES (type), 0, 0, 3, \
    { C (type, r0, 0, 0, 8 * BYTES (type)), \
      C (type, r1, 1, 0, 8 * BYTES (type)), \
      C (type, r2, 2, 0, 8 * BYTES (type)) } }
#define FOUR(type, r0, r1, r2, r3, shift, depth) \
  { 0, type, 4 * BYTES (type), 0, 0, 4, \
    { C (type, r0, 0, shift, depth), C (type, r1, 1, shift, depth), \
      C (type, r2, 2, shift, depth), C (type, r3, 3, shift, depth) } }

/* Families. */
#define GRAY(name, type, depth) \
  { GST_VIDEO_FORMAT_##name, 1, { ONE (0, type, GREY, 0, depth, 0, 0) } }
#define PLANAR(name, type, depth, p1, p2, ws, hs) \
  { GST_VIDEO_FORMAT_##name, 3, { ONE (0, type, LUMA, 0, depth, 0, 0), \
    ONE (1, type, p1, 0, depth, ws, hs), ONE (2, type, p2, 0, depth, ws, hs) } }
#define PLANAR_ALPHA(name, type, depth, ws, hs) \
  { GST_VIDEO_FORMAT_##name, 4, { ONE (0, type, LUMA, 0, depth, 0, 0), \
    ONE (1, type, U, 0, depth, ws, hs), ONE (2, type, V, 0, depth, ws, hs), \
    ONE (3, type, A, 0, depth, 0, 0) } }
#define SEMI(name, type, shift, depth, r0, r1, ws, hs) \
  { GST_VIDEO_FORMAT_##name, 2, { ONE (0, type, LUMA, shift, depth, 0, 0), \
    TWO (1, type, r0, r1, shift, depth, ws, hs) } }
#define PLANAR_RGB(name, type, depth, p0, p1, p2) \
  { GST_VIDEO_FORMAT_##name, 3, { ONE (0, type, p0, 0, depth, 0, 0), \
    ONE (1, type, p1, 0, depth, 0, 0), ONE (2, type, p2, 0, depth, 0, 0) } }
#define PLANAR_RGBA(name, type, depth, p0, p1, p2) \
  { GST_VIDEO_FORMAT_##name, 4, { ONE (0, type, p0, 0, depth, 0, 0), \
    ONE (1, type, p1, 0, depth, 0, 0), ONE (2, type, p2, 0, depth, 0, 0), \
    ONE (3, type, A, 0, depth, 0, 0) } }
#define PACKED3(name, type, r0, r1, r2) \
  { GST_VIDEO_FORMAT_##name, 1, { THREE (type, r0, r1, r2) } }
#define PACKED4(name, type, r0, r1, r2, r3) \
  { GST_VIDEO_FORMAT_##name, 1, \
    { FOUR (type, r0, r1, r2, r3, 0, 8 * BYTES (type)) } }
/* Four samples in the upper bits of their words. */
#define SHIFTED4(name, type, r0, r1, r2, r3, shift, depth) \
  { GST_VIDEO_FORMAT_##name, 1, \
    { FOUR (type, r0, r1, r2, r3, shift, depth) } }
/* Packed 4:2:2: the words of luma, the first and the second chroma sample; r0
 * and r1 are the chroma roles in the order of their words. */
#define PACKED422(name, type, shift, depth, luma, c0, c1, r0, r1) \
  { GST_VIDEO_FORMAT_##name, 2, { \
    { 0, type, 2 * BYTES (type), 0, 0, 1, \
      { C (type, LUMA, luma, shift, depth) } }, \
    { 0, type, 4 * BYTES (type), 1, 0, 2, \
      { C (type, r0, c0, shift, depth), C (type, r1, c1, shift, depth) } } } }
/* Three 10-bit fields and 2 bits of alpha, from the lowest bit up. */
#define BITS(name, r0, r1, r2) \
  { GST_VIDEO_FORMAT_##name, 1, { \
    { 0, CONVOLVE_SAMPLE_BITS32LE, 4, 0, 0, 4, \
      { { r0, 0, 0, 10 }, { r1, 0, 10, 10 }, { r2, 0, 20, 10 }, \
        { A, 0, 30, 2 } } } } }
/* Formats that come in both byte orders. */
#define BOTH(FAMILY, name, ...) \
  FAMILY (name##LE, LE, __VA_ARGS__), FAMILY (name##BE, BE, __VA_ARGS__)

static const ConvolveFormat formats[] = {
  GRAY (GRAY8, U8, 8),
  BOTH (GRAY, GRAY16_, 16),

  PLANAR (I420, U8, 8, U, V, 1, 1),
  PLANAR (YV12, U8, 8, V, U, 1, 1),
  PLANAR (Y41B, U8, 8, U, V, 2, 0),
  PLANAR (Y42B, U8, 8, U, V, 1, 0),
  PLANAR (Y444, U8, 8, U, V, 0, 0),
  BOTH (PLANAR, I420_10, 10, U, V, 1, 1),
  BOTH (PLANAR, I420_12, 12, U, V, 1, 1),
  BOTH (PLANAR, I422_10, 10, U, V, 1, 0),
  BOTH (PLANAR, I422_12, 12, U, V, 1, 0),
  BOTH (PLANAR, Y444_10, 10, U, V, 0, 0),
  BOTH (PLANAR, Y444_12, 12, U, V, 0, 0),
  BOTH (PLANAR, Y444_16, 16, U, V, 0, 0),
  PLANAR_ALPHA (A420, U8, 8, 1, 1),
  BOTH (PLANAR_ALPHA, A420_10, 10, 1, 1),
  BOTH (PLANAR_ALPHA, A422_10, 10, 1, 0),
  BOTH (PLANAR_ALPHA, A444_10, 10, 0, 0),

  SEMI (NV12, U8, 0, 8, U, V, 1, 1),
  SEMI (NV21, U8, 0, 8, V, U, 1, 1),
  SEMI (NV16, U8, 0, 8, U, V, 1, 0),
  SEMI (NV61, U8, 0, 8, V, U, 1, 0),
  SEMI (NV24, U8, 0, 8, U, V, 0, 0),
  BOTH (SEMI, P010_10, 6, 10, U, V, 1, 1),
  BOTH (SEMI, P012_, 4, 12, U, V, 1, 1),
  BOTH (SEMI, P016_, 0, 16, U, V, 1, 1),

  PACKED422 (YUY2, U8, 0, 8, 0, 1, 3, U, V),
  PACKED422 (YVYU, U8, 0, 8, 0, 1, 3, V, U),
  PACKED422 (UYVY, U8, 0, 8, 1, 0, 2, U, V),
  PACKED422 (VYUY, U8, 0, 8, 1, 0, 2, V, U),
  PACKED422 (Y210, LE, 6, 10, 0, 1, 3, U, V),
  PACKED422 (Y212_LE, LE, 4, 12, 0, 1, 3, U, V),
  PACKED422 (Y212_BE, BE, 4, 12, 0, 1, 3, U, V),

  PACKED4 (AYUV, U8, A, LUMA, U, V),
  PACKED4 (VUYA, U8, V, U, LUMA, A),
  PACKED4 (AYUV64, NE, A, LUMA, U, V),
  PACKED3 (v308, U8, LUMA, U, V),
  PACKED3 (IYU2, U8, U, LUMA, V),
  BITS (Y410, U, LUMA, V),
  SHIFTED4 (Y412_LE, LE, U, LUMA, V, A, 4, 12),
  SHIFTED4 (Y412_BE, BE, U, LUMA, V, A, 4, 12),

  PACKED3 (RGB, U8, R, G, B),
  PACKED3 (BGR, U8, B, G, R),
  PACKED4 (RGBx, U8, R, G, B, X),
  PACKED4 (BGRx, U8, B, G, R, X),
  PACKED4 (xRGB, U8, X, R, G, B),
  PACKED4 (xBGR, U8, X, B, G, R),
  PACKED4 (RGBA, U8, R, G, B, A),
  PACKED4 (BGRA, U8, B, G, R, A),
  PACKED4 (ARGB, U8, A, R, G, B),
  PACKED4 (ABGR, U8, A, B, G, R),
  PACKED4 (ARGB64, NE, A, R, G, B),
  PACKED4 (ARGB64_LE, LE, A, R, G, B),
  PACKED4 (ARGB64_BE, BE, A, R, G, B),
  PACKED4 (RGBA64_LE, LE, R, G, B, A),
  PACKED4 (RGBA64_BE, BE, R, G, B, A),
  PACKED4 (BGRA64_LE, LE, B, G, R, A),
  PACKED4 (BGRA64_BE, BE, B, G, R, A),
  PACKED4 (ABGR64_LE, LE, A, B, G, R),
  PACKED4 (ABGR64_BE, BE, A, B, G, R),
  BITS (RGB10A2_LE, R, G, B),
  BITS (BGR10A2_LE, B, G, R),

  PLANAR_RGB (RGBP, U8, 8, R, G, B),
  PLANAR_RGB (BGRP, U8, 8, B, G, R),
  PLANAR_RGB (GBR, U8, 8, G, B, R),
  PLANAR_RGBA (GBRA, U8, 8, G, B, R),
  BOTH (PLANAR_RGB, GBR_10, 10, G, B, R),
  BOTH (PLANAR_RGB, GBR_12, 12, G, B, R),
  BOTH (PLANAR_RGBA, GBRA_10, 10, G, B, R),
  BOTH (PLANAR_RGBA, GBRA_12, 12, G, B, R),
#if GST_CHECK_VERSION (1, 24, 0)
  BOTH (PLANAR_RGB, GBR_16, 16, G, B, R),
#endif
};

const ConvolveFormat *
convolve_format_list (guint * n)
{
  *n = G_N_ELEMENTS (formats);
  return formats;
}

const ConvolveFormat *
convolve_format_get (GstVideoFormat format)
{
  for (guint i = 0; i < G_N_ELEMENTS (formats); i++)
    if (formats[i].format == format)
      return &formats[i];
  return NULL;
}

gsize
convolve_layout_row_bytes (const ConvolveLayout * layout, gint width_px)
{
  gsize last = 0;
  gsize word = layout->type == CONVOLVE_SAMPLE_U8 ? 1 :
      layout->type == CONVOLVE_SAMPLE_BITS32LE ? 4 : 2;

  for (guint c = 0; c < layout->n_components; c++)
    last = MAX (last, layout->component[c].offset + word);
  return (gsize) (width_px - 1) * layout->pixel_step + last;
}

gsize
convolve_planes_place (const GstVideoInfo * info, gsize alignment,
    ConvolvePlanePlace place[CONVOLVE_MAX_PLANES])
{
  const ConvolveFormat *format =
      convolve_format_get (GST_VIDEO_INFO_FORMAT (info));
  gsize size = 0;

  memset (place, 0, CONVOLVE_MAX_PLANES * sizeof (*place));
  for (guint i = 0; i < format->n_layouts; i++) {
    const ConvolveLayout *layout = &format->layout[i];
    gint width = convolve_layout_width (layout, info->width);
    gint height = convolve_layout_height (layout, info->height);
    ConvolvePlanePlace *to = &place[layout->plane];

    to->row_bytes = MAX (to->row_bytes,
        convolve_layout_row_bytes (layout, width));
    to->rows = MAX (to->rows, (gsize) height);
  }
  for (guint p = 0; p < CONVOLVE_MAX_PLANES; p++) {
    place[p].stride = (place[p].row_bytes + alignment - 1) / alignment
        * alignment;
    place[p].offset = size;
    size += place[p].stride * place[p].rows;
  }
  return size;
}
