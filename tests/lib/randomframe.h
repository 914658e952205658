/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Frames for tests: each plane in a block of its own, with strides as awkward as a producer may choose, and every byte
 * that is no sample filled with a pattern that is checked afterwards. */
#pragma once

#include "core/frame.h"
#include "random.h"
#include "samples.h"

G_BEGIN_DECLS

typedef enum {
  FILL_RANDOM,                  /* any value */
  FILL_EXTREMES,                /* 0 or the largest value */
  FILL_CHECKERS,
  FILL_RAMP,
  FILL_IMPULSES,                /* a few samples on a level */
  FILL_FLAT,
  FILL_STEPS,                   /* flat areas side by side */
  FILL_MATCHED,                 /* 0 or the largest value by the sign of a weight (see sign) */
  N_FILLS
} Fill;

const gchar *fill_name (Fill fill);

typedef struct {
  guint8 *block;                /* all bytes of the plane, guards included */
  guint8 *samples;              /* a byte for each of the block: 1 where it belongs to a sample's word */
  guint8 *before;               /* the block as it was when the frame was sealed */
  gsize size;
} FramePlane;

typedef struct {
  GstVideoInfo info;            /* of GStreamer's own strides: only format, size and colorimetry count */
  SampleMap map[SAMPLE_MAX_MAPS];
  guint n_maps, n_planes;
  FramePlane plane[4];
  ConvolveFrame frame;
} RandomFrame;

/* plain: GStreamer's strides and no guards; otherwise strides, sign of the strides and guards are drawn. */
RandomFrame *random_frame_new (const GstVideoInfo * info, Random * random, gboolean plain);
void random_frame_free (RandomFrame * frame);
/* sign: for FILL_MATCHED, the sign of the weight at that offset from the middle; may be NULL otherwise. */
typedef gint (*FillSign) (gpointer data, const SampleMap * map, gint dx, gint dy);
void random_frame_fill (RandomFrame * frame, Random * random, Fill fill, FillSign sign, gpointer data);
/* Sets the bits of words that no sample uses. */
void random_frame_spoil_unused_bits (RandomFrame * frame, Random * random);
/* Remembers every byte. */
void random_frame_seal (RandomFrame * frame);
/* Bytes that changed since: all of them, or only those that hold no sample. The first one's plane and place. */
gsize random_frame_changes (const RandomFrame * frame, gboolean padding_only, guint * plane, gssize * place);

guint32 random_frame_get (const RandomFrame * frame, guint component, gint x, gint y);
void random_frame_set (RandomFrame * frame, guint component, gint x, gint y, guint32 value);

G_END_DECLS
