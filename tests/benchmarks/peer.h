/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What another library makes of the same picture with the same weights and the border replicate. */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

typedef enum {
  PEER_SEPARABLE,               /* weights_x and weights_y */
  PEER_GAUSSIAN,                /* the library's own weights for that size and sigma */
  PEER_MATRIX,                  /* weights_x: size x size, row by row */
  PEER_BOX,
  PEER_COPY,
} PeerKind;

/* A picture of samples that lie side by side, and what is to become of it. */
typedef struct {
  PeerKind kind;
  guint8 *src, *dst;
  gsize stride_bytes;
  gint width, height, components;
  gint bytes;                   /* of a sample: 1 or 2 */
  gint size;                    /* of the kernel, both ways */
  gdouble sigma;
  const gfloat *weights;        /* size; size x size for PEER_MATRIX */
} PeerJob;

/* NULL where the benchmark was built without it: then the other functions do nothing. */
const gchar *peer_name (void);
void peer_set_threads (gint n);
void peer_run (const PeerJob * job);

G_END_DECLS
