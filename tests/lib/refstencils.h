/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The filters that are no weighted sums, from docs/filters.md. Pictures are height rows of width doubles; edge stands
 * outside with the constant border. */
#pragma once

#include "core/border.h"

G_BEGIN_DECLS

/* out: one step of diffusion of in. */
void ref_diffuse (const gdouble * in, gint width, gint height, ConvolveBorder border, gdouble edge, gdouble amount,
    gdouble k, gdouble * out);
/* out: in with the detail of the levels 0 .. n - 1 times gain[l], as far as it exceeds t. */
void ref_detail (const gdouble * in, gint width, gint height, ConvolveBorder border, gdouble edge, gint n,
    const gdouble * gain, gdouble t, gdouble * out);

G_END_DECLS
