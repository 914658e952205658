/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Boxes: lines of weights that are alike but for the outermost, which may be an eighth, a quarter or so of the others,
 * as on subsampled planes. As whole numbers they can be summed up without rounding. */
#pragma once

#include "matrix.h"

G_BEGIN_DECLS

/* Weights as whole numbers times a unit: inner each, but for the first and the last, which are end each. */
typedef struct {
  guint taps;
  guint inner, end;
} ConvolveBoxLine;

/* FALSE if line is none. */
gboolean convolve_box_find (const ConvolveMatrix * line, ConvolveBoxLine * box, gdouble * unit);
/* Of its whole numbers. */
gdouble convolve_box_sum (const ConvolveBoxLine * box);

G_END_DECLS
