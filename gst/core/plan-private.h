/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Between plan.c and pass.c alone. */
#pragma once

#include "plan.h"

G_BEGIN_DECLS

/* What convolve_plan_new hands down. */
typedef struct {
  const GstVideoInfo *info;
  const ConvolveSettings *settings;
  const ConvolveFormat *format;
  gint alpha_layout;            /* -1: the format has no alpha */
  guint alpha_component;
} ConvolvePlanContext;

/* The channel that a role belongs to; 0 for padding, which is never filtered. */
guint convolve_role_channel (guint role);
/* Whether colours of the format count as much as they are opaque. */
gboolean convolve_pass_is_weighted (const ConvolvePlanContext * context, const ConvolveOperation * operation);
/* The rows of a layout that belong to a picture: all, or those of one field. */
gint convolve_pass_rows (const ConvolvePlanContext * context, const ConvolveLayout * layout, gboolean fields,
    guint field);
/* Fills a pass that is all zero; operation NULL: nothing of the layout is filtered. */
void convolve_pass_init (const ConvolvePlanContext * context, const ConvolveLayout * layout,
    const ConvolveOperation * operation, gboolean fields, guint field, ConvolvePass * pass);
/* Why the operation's grid cannot be taken by the pass; NULL if it can. */
const gchar *convolve_pass_coarse_fault (const ConvolvePass * pass);

G_END_DECLS
