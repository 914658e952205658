/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Between gstvideoconvolveproperties.c and gstvideoconvolvechecked.c alone: a row of the table of properties. */
#pragma once

#include "gstvideoconvolve-private.h"

G_BEGIN_DECLS

typedef enum {
  KIND_BOOLEAN,
  KIND_INT,
  KIND_UINT,
  KIND_DOUBLE,
  KIND_ENUM,
  KIND_FLAGS,
  KIND_ROWS,                    /* an array of rows */
  KIND_ROW,                     /* an array: a matrix of one row */
  KIND_COLUMN,
  KIND_GAINS,                   /* an array: a matrix of one row, or none */
  KIND_TAPS,                    /* an array: weights of frames */
  KIND_LOCATION,
  KIND_STRING,
  KIND_ROIS,
  KIND_STATS,
  KIND_PLAN,
} GstVideoConvolveKind;

typedef struct {
  const gchar *name, *nick, *blurb;
  GstVideoConvolveKind kind;
  gsize offset;                 /* in GstVideoConvolveValues */
  gdouble minimum, maximum;
  GType (*type) (void);         /* of enumerations */
  guint flags;                  /* beyond readable and writable */
} GstVideoConvolveProperty;

/* Where the property lies in values. */
#define AT(type, values, property) \
    (*(type *) ((guint8 *) (values) + (property)->offset))

/* Sets a property whose value may be refused. FALSE: it is of another kind, and nothing was done. */
gboolean gst_video_convolve_set_checked (GstVideoConvolve * self, const GstVideoConvolveProperty * property,
    const GValue * value);

G_END_DECLS
