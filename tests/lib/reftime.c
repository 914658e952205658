/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "reftime.h"

#include <math.h>

static gboolean
is_deep (const ConvolveSettings * s)
{
  return s->filter == CONVOLVE_FILTER_CUSTOM && s->kernel != NULL
      && s->kernel->depth > 1;
}

static RefFilter *
frame_filter (const ConvolveSettings * s, const gdouble * weights, guint w_sub,
    guint h_sub)
{
  ConvolveSettings one = *s;
  RefFilter *filter;

  one.kernel =
      convolve_matrix_new (s->kernel->width, s->kernel->height, weights);
  one.normalize = FALSE;
  filter = ref_filter_new (&one, w_sub, h_sub);
  convolve_matrix_unref (one.kernel);
  return filter;
}

/* Every weight in space times every one in time. */
static void
measure (RefTime * time)
{
  long double sum = 0, l1 = 0;

  for (guint t = 0; t < time->n; t++) {
    const RefFilter *f = time->filter[time->deep ? t : 0];

    for (gint y = -f->above; y <= f->below; y++)
      for (gint x = -f->left; x <= f->right; x++)
        for (guint k = 0; k < f->n_terms; k++) {
          gdouble w = time->w[t] * ref_term_weight (&f->term[k], x, y);

          sum += w;
          l1 += fabs (w);
          time->has_negative |= w < 0;
        }
  }
  time->sum = (gdouble) sum;
  time->l1 = (gdouble) l1;
}

/* Whether so much is left of a sum that weights are divided by theirs. */
static gboolean
is_sum (long double sum, long double l1)
{
  return fabsl (sum) > 1e-9L * l1;
}

/* All that is custom is divided, or nothing of it. The weights of space are by
 * their own sum, so that a further iteration has them so, too. */
static void
normalize (RefTime * time, const ConvolveSettings * s, guint w_sub, guint h_sub)
{
  gboolean custom = s->filter == CONVOLVE_FILTER_CUSTOM;
  long double sum = 0, l1 = 0;

  for (guint t = 0; t < time->n; t++) {
    sum += time->w[t];
    l1 += fabs (time->w[t]);
  }
  if (custom && !is_sum (time->sum, time->l1))
    return;
  if (custom && !time->deep) {
    ref_filter_free (time->filter[0]);
    time->filter[0] = ref_filter_new (s, w_sub, h_sub);
  }
  for (guint t = 0; t < time->n && is_sum (sum, l1); t++)
    time->w[t] /= time->deep ? time->sum : (gdouble) sum;
}

static void
fill (RefTime * time, const ConvolveSettings * s, guint w_sub, guint h_sub)
{
  ConvolveSettings plain = *s;

  time->deep = is_deep (s);
  time->n = time->deep ? s->kernel->depth :
      s->kernel_t != NULL ? s->kernel_t->width : 1;
  time->w = g_new (gdouble, time->n);
  time->filter = g_new0 (RefFilter *, time->n);
  for (guint t = 0; t < time->n; t++) {
    time->w[t] = !time->deep && s->kernel_t != NULL ?
        s->kernel_t->weights[t] : 1;
    if (time->deep)
      time->filter[t] = frame_filter (s, s->kernel->weights
          + (gsize) t * s->kernel->width * s->kernel->height, w_sub, h_sub);
  }
  if (s->filter == CONVOLVE_FILTER_CUSTOM)
    plain.normalize = FALSE;
  if (!time->deep)
    time->filter[0] = ref_filter_new (&plain, w_sub, h_sub);
}

RefTime *
ref_time_new (const ConvolveSettings * settings, guint w_sub, guint h_sub)
{
  RefTime *time = g_new0 (RefTime, 1);

  fill (time, settings, w_sub, h_sub);
  time->newer = settings->temporal_mode == CONVOLVE_TEMPORAL_CAUSAL ? 0 :
      time->n / 2;
  time->older = time->n - 1 - time->newer;
  measure (time);
  if (settings->normalize) {
    normalize (time, settings, w_sub, h_sub);
    time->sum = time->l1 = 0;
    time->has_negative = FALSE;
    measure (time);
  }
  if (time->filter[0]->combine == REF_MAGNITUDE)
    time->sum = 0;
  if (time->filter[0]->combine == REF_UNSHARP)
    time->sum = ref_time_sum (time);
  /* What is no sum of weights leaves a flat area as it is. */
  if (time->filter[0]->n_terms == 0) {
    time->sum = ref_time_sum (time);
    for (guint t = 0; t < time->n; t++)
      time->l1 += fabs (time->w[t]);
  }
  time->has_negative |= time->filter[0]->combine != REF_SUM;
  return time;
}

void
ref_time_free (RefTime * time)
{
  for (guint t = 0; t < time->n; t++)
    if (time->filter[t] != NULL)
      ref_filter_free (time->filter[t]);
  g_free (time->filter);
  g_free (time->w);
  g_free (time);
}

gdouble
ref_time_sum (const RefTime * time)
{
  long double sum = 0;

  for (guint t = 0; t < time->n; t++)
    sum += time->w[t];
  return (gdouble) sum;
}
