/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which samples of a frame are filtered where regions are set: pixel by pixel, with no rectangle put together from
 * others. */
#pragma once

#include "reference.h"

G_BEGIN_DECLS

/* As a user or a detector names it: anywhere, of any size. */
typedef struct {
  gint64 x, y, width, height;
} RefRect;

/* A byte for each luma pixel of the frame, row by row: 1 where it is filtered. */
guint8 *ref_mask_new (const GstVideoInfo * info, const RefRect * rects, guint n, gboolean fields, gboolean outside);
/* What the mask leaves out must be a copy of the input. */
void reference_apply_mask (Reference * reference, const guint8 * mask, const GstVideoInfo * info,
    guint8 * const data[4], const gint stride[4]);

G_END_DECLS
