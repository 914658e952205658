/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a frame becomes, by docs/filters.md, in double precision and plain loops. Independent of the core and of the
 * backends: own weights (refweights.h), own borders, own way to the samples (samples.h). */
#pragma once

#include "reftime.h"
#include "samples.h"

G_BEGIN_DECLS

/* One component of the output; arrays are height rows of width samples. */
typedef struct {
  SampleMap map;
  gint width, height;
  gboolean exact;               /* copied or filled: value is the sample itself */
  gdouble *value;               /* the exact result, neither rounded nor clamped */
  gdouble *other;               /* a result that is right as well where the definition jumps; NaN: any is */
  guint8 *copied;               /* 1 where value is the sample itself (refregions.h); NULL: nowhere */
  guint8 *flat;                 /* 1 where the sample sees one value only and must come out exact */
  gdouble lo, hi;               /* the clamp */
} RefComponent;

typedef struct {
  guint n;
  RefComponent component[SAMPLE_MAX_MAPS];
} Reference;

Reference *reference_new (const GstVideoInfo * info, guint8 * const data[4], const gint stride[4],
    const ConvolveSettings * settings, gboolean fields);
/* The same for the frame own of a whole stream of n. */
typedef struct {
  guint8 *data[4];
  gint stride[4];
} RefFrame;

Reference *reference_new_stream (const GstVideoInfo * info, const RefFrame * frames, guint n, guint own,
    const ConvolveSettings * settings, gboolean fields);
void reference_free (Reference * reference);
gdouble reference_clamped (const RefComponent * component, gsize i);

/* The index that stands for i in a line of n samples; -1: the constant. */
gint reference_border (ConvolveBorder border, gint i, gint n);

G_END_DECLS
