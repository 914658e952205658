/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The reference's own weights: a second writing of docs/filters.md that shares nothing with the core but the settings
 * that it reads. */
#pragma once

#include "core/settings.h"

G_BEGIN_DECLS

/* Weights for the offsets first .. first + n - 1. */
typedef struct {
  gint first, n;
  gdouble *w;
} RefLine;

/* Weights over x.first.. by y.first..: the product of the lines, or full (row by row) where it is set. */
typedef struct {
  RefLine x, y;
  gdouble *full;
} RefTerm;

typedef enum {
  REF_SUM,
  REF_MAGNITUDE,
  REF_UNSHARP,
  REF_DIFFUSE,
  REF_DETAIL,
} RefCombine;

typedef struct {
  RefCombine combine;
  guint n_terms;
  RefTerm term[2];
  gdouble sum;                  /* of all weights; 0 for magnitude, 1 for unsharp, diffuse and detail */
  gdouble l1;                   /* the sum of magnitudes of all terms */
  gboolean has_negative;
  gint levels;                  /* detail */
  gdouble gain[16];             /* of each, amount included */
  gint left, right, above, below;       /* how far the terms reach */
} RefFilter;

RefFilter *ref_filter_new (const ConvolveSettings * settings, guint w_sub, guint h_sub);
void ref_filter_free (RefFilter * filter);
gdouble ref_term_weight (const RefTerm * term, gint dx, gint dy);

G_END_DECLS
