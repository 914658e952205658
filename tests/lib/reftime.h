/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The reference across frames: the part "Time" of docs/filters.md. */
#pragma once

#include "refweights.h"

G_BEGIN_DECLS

typedef struct {
  guint n;                      /* frames, the oldest first; 1 with a weight of 1 where there is no time */
  guint older, newer;
  gdouble *w;                   /* of each frame */
  RefFilter **filter;           /* of each frame where the kernel has a matrix for each, else one for their sum */
  gboolean deep;
  /* Of all weights over all frames, as in RefFilter. */
  gdouble sum, l1;
  gboolean has_negative;
} RefTime;

RefTime *ref_time_new (const ConvolveSettings * settings, guint w_sub, guint h_sub);
void ref_time_free (RefTime * time);
gdouble ref_time_sum (const RefTime * time);    /* of w */

G_END_DECLS
