/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The video formats, one row a format: which layouts of samples a frame consists of. Adding a format is adding one
 * row to the table in format.c. */
#pragma once

#include "frame.h"

#include <gst/video/video.h>

G_BEGIN_DECLS

#define CONVOLVE_MAX_COMPONENTS 4
#define CONVOLVE_MAX_LAYOUTS 4

/* How a sample is stored. */
typedef enum {
  CONVOLVE_SAMPLE_U8,           /* a byte */
  CONVOLVE_SAMPLE_U16LE,        /* 16-bit word, little endian */
  CONVOLVE_SAMPLE_U16BE,        /* 16-bit word, big endian */
  CONVOLVE_SAMPLE_BITS32LE,     /* fields of one little endian 32-bit word a pixel (10:10:10:2) */
} ConvolveSampleType;

/* What a sample means. */
typedef enum {
  CONVOLVE_ROLE_GREY,
  CONVOLVE_ROLE_LUMA,
  CONVOLVE_ROLE_CHROMA_U,
  CONVOLVE_ROLE_CHROMA_V,
  CONVOLVE_ROLE_RED,
  CONVOLVE_ROLE_GREEN,
  CONVOLVE_ROLE_BLUE,
  CONVOLVE_ROLE_ALPHA,
  CONVOLVE_ROLE_PADDING,        /* the x of RGBx: copied, never filtered */
} ConvolveRole;

typedef struct {
  guint8 role;                  /* ConvolveRole */
  guint8 offset;                /* bytes from the pixel's first byte to this sample's word */
  guint8 shift;                 /* bits below the sample in its word; written as zero in 16-bit words */
  guint8 depth;                 /* bits of the sample; value = (word >> shift) & (2^depth - 1) */
} ConvolveComponent;

/* Samples of one memory plane that share a grid: a picture of width x height pixels, each of n_components
 * samples. Packed 4:2:2 formats have two layouts on the same memory plane: luma, and chroma of half the width. Every
 * sample of a frame belongs to exactly one layout. */
typedef struct {
  guint8 plane;                 /* memory plane (GStreamer's number) */
  guint8 type;                  /* ConvolveSampleType, the same for all components */
  guint8 pixel_step;            /* bytes from a pixel to the next of this grid */
  guint8 w_sub, h_sub;          /* log2 of the subsampling against luma: 0, 1 or 2 */
  guint8 n_components;          /* 1..4, in order of their offset (of their shift in a 32-bit word) */
  ConvolveComponent component[CONVOLVE_MAX_COMPONENTS];
} ConvolveLayout;

/* Bytes of a sample; of the word that holds it, where several share one of 32 bits, 2. */
static inline guint
convolve_layout_sample_bytes (const ConvolveLayout * layout)
{
  return layout->type == CONVOLVE_SAMPLE_U8 ? 1 : 2;
}

typedef struct {
  GstVideoFormat format;
  guint8 n_layouts;
  ConvolveLayout layout[CONVOLVE_MAX_LAYOUTS];
} ConvolveFormat;

/* The row of a format, or NULL if it is not supported. */
const ConvolveFormat *convolve_format_get (GstVideoFormat format);
/* All rows; *n is their number. */
const ConvolveFormat *convolve_format_list (guint * n);
/* Pixels of a layout in a picture of that many luma pixels: rounded up, as GStreamer does. */
static inline gint
convolve_layout_width (const ConvolveLayout * layout, gint width)
{
  return -((-width) >> layout->w_sub);
}

static inline gint
convolve_layout_height (const ConvolveLayout * layout, gint height)
{
  return -((-height) >> layout->h_sub);
}

/* Bytes that the samples of a row reach, counted from the row's first byte; no byte past them is touched. */
gsize convolve_layout_row_bytes (const ConvolveLayout * layout, gint width_px);

/* Where a plane lies in a copy of a frame. */
typedef struct {
  gsize row_bytes, rows;        /* what is kept of it; rows 0: the format lacks this plane */
  gsize stride, offset;         /* bytes */
} ConvolvePlanePlace;

/* Places all planes of a frame in one block, its rows at multiples of alignment; gives back its size in bytes. */
gsize convolve_planes_place (const GstVideoInfo * info, gsize alignment, ConvolvePlanePlace place[CONVOLVE_MAX_PLANES]);

G_END_DECLS
