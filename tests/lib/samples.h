/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where the samples of a frame lie, for the tests alone: worked out from GStreamer's own description of a format, and
 * not from the table of the core, which the tests check against this. */
#pragma once

#include <gst/video/video.h>

G_BEGIN_DECLS

typedef enum {
  SAMPLE_GREY,
  SAMPLE_LUMA,
  SAMPLE_U,
  SAMPLE_V,
  SAMPLE_RED,
  SAMPLE_GREEN,
  SAMPLE_BLUE,
  SAMPLE_ALPHA,
  SAMPLE_UNUSED,                /* the x of RGBx */
} SampleRole;

/* A component: one sample for each pixel of its grid. */
typedef struct {
  SampleRole role;
  guint plane;
  guint offset;                 /* bytes from a row's start to the first word */
  guint pixel_stride;           /* bytes from a word to the next */
  guint word;                   /* bytes of a word: 1, 2 or 4 */
  gboolean big_endian;
  guint shift, depth;           /* bits below the sample, bits of the sample */
  guint w_sub, h_sub;           /* log2 of the subsampling */
} SampleMap;

#define SAMPLE_MAX_MAPS 4

/* Fills maps in GStreamer's order of components, then the unused byte if there is one; returns their number. */
guint sample_maps (const GstVideoFormatInfo * format, SampleMap maps[SAMPLE_MAX_MAPS]);
gint sample_map_width (const SampleMap * map, gint width);
gint sample_map_height (const SampleMap * map, gint height);
/* Bits of the sample's word that hold no sample of any component; always 0 for bytes and 32-bit words. */
guint32 sample_map_unused_bits (const SampleMap * map);
const gchar *sample_role_name (SampleRole role);

guint32 sample_word (const SampleMap * map, const guint8 * data, gint stride, gint x, gint y);
guint32 sample_get (const SampleMap * map, const guint8 * data, gint stride, gint x, gint y);
/* Changes the bits of this sample alone. */
void sample_set (const SampleMap * map, guint8 * data, gint stride, gint x, gint y, guint32 value);
void sample_set_word (const SampleMap * map, guint8 * data, gint stride, gint x, gint y, guint32 word);

G_END_DECLS
