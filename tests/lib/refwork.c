/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The reference's arithmetic: the filter as plain loops over the doubles of one
 * component of one picture. */
#include "refwork.h"

#include <math.h>
#include <string.h>

#include "refstencils.h"

RefGrid
ref_grid_new (gint w, gint h)
{
  RefGrid grid = { w, h, g_new0 (gdouble, (gsize) w * h) };

  return grid;
}

gsize
ref_grid_size (const RefGrid * grid)
{
  return (gsize) grid->w * grid->h;
}

/* ---- borders ---- */

gint
reference_border (ConvolveBorder border, gint i, gint n)
{
  while (i < 0 || i >= n) {
    switch (border) {
      case CONVOLVE_BORDER_REPLICATE:
        i = i < 0 ? 0 : n - 1;
        break;
      case CONVOLVE_BORDER_REFLECT:
        i = i < 0 ? -1 - i : 2 * n - 1 - i;
        break;
      case CONVOLVE_BORDER_MIRROR:
        i = n == 1 ? 0 : i < 0 ? -i : 2 * n - 2 - i;
        break;
      case CONVOLVE_BORDER_WRAP:
        i = i < 0 ? i + n : i - n;
        break;
      default:
        return -1;
    }
  }
  return i;
}

static RefBorder
border_new (ConvolveBorder border, gint before, gint n, gint after)
{
  RefBorder table = { -before, g_new (gint, before + n + after) };

  for (gint i = -before; i < n + after; i++)
    table.index[i + before] = reference_border (border, i, n);
  return table;
}

static gint
border_get (const RefBorder * table, gint i)
{
  return table->index[i - table->first];
}

void
ref_work_init_borders (RefWork * work, const RefGrid * grid)
{
  const RefFilter *f = work->time->filter[0];

  work->x = border_new (work->settings->border, f->left, grid->w, f->right);
  work->y = border_new (work->settings->border, f->above, grid->h, f->below);
}

void
ref_work_clear (RefWork * work)
{
  g_free (work->x.index);
  g_free (work->y.index);
}

/* ---- sums ---- */

gdouble
ref_work_get (const RefWork * work, const RefGrid * in, gdouble edge, gint x,
    gint y)
{
  gint sx = border_get (&work->x, x), sy = border_get (&work->y, y);

  return sx < 0 || sy < 0 ? edge : in->v[(gsize) sy * in->w + sx];
}

static void
add_full (const RefWork * work, const RefTerm * term, const RefGrid * in,
    gdouble edge, RefGrid * out)
{
  for (gint y = 0; y < in->h; y++) {
    for (gint x = 0; x < in->w; x++) {
      gdouble sum = 0;

      for (gint j = 0; j < term->y.n; j++)
        for (gint i = 0; i < term->x.n; i++)
          if (term->full[j * term->x.n + i] != 0)
            sum += term->full[j * term->x.n + i] * ref_work_get (work, in, edge,
                x + term->x.first + i, y + term->y.first + j);
      out->v[(gsize) y * in->w + x] += sum;
    }
  }
}

/* Rows, then columns: the same sum in another order. */
static void
add_separable (const RefWork * work, const RefTerm * term, const RefGrid * in,
    gdouble edge, RefGrid * out)
{
  RefGrid rows = ref_grid_new (in->w, in->h);
  gdouble outside = 0;

  for (gint i = 0; i < term->x.n; i++)
    outside += term->x.w[i] * edge;
  for (gint y = 0; y < in->h; y++)
    for (gint x = 0; x < in->w; x++)
      for (gint i = 0; i < term->x.n; i++)
        rows.v[(gsize) y * in->w + x] += term->x.w[i] * ref_work_get (work, in,
            edge, x + term->x.first + i, y);
  for (gint y = 0; y < in->h; y++)
    for (gint x = 0; x < in->w; x++)
      for (gint j = 0; j < term->y.n; j++)
        out->v[(gsize) y * in->w + x] +=
            term->y.w[j] * ref_work_get (work, &rows, outside, x,
            y + term->y.first + j);
  g_free (rows.v);
}

static RefGrid
apply_term (const RefWork * work, const RefTerm * term, const RefGrid * in,
    gdouble edge)
{
  RefGrid out = ref_grid_new (in->w, in->h);

  if (term->full != NULL)
    add_full (work, term, in, edge, &out);
  else
    add_separable (work, term, in, edge, &out);
  return out;
}

static RefGrid
apply_terms (const RefWork * work, const RefFilter * filter, const RefGrid * in,
    gdouble edge)
{
  RefGrid out = apply_term (work, &filter->term[0], in, edge);

  if (filter->n_terms > 1) {
    RefGrid second = apply_term (work, &filter->term[1], in, edge);

    for (gsize i = 0; i < ref_grid_size (in); i++)
      out.v[i] = filter->combine == REF_MAGNITUDE ?
          hypot (out.v[i], second.v[i]) : out.v[i] + second.v[i];
    g_free (second.v);
  }
  return out;
}

/* ---- frames ---- */

guint
ref_work_frames (const RefWork * work)
{
  return work->again ? 1 : work->time->n;
}

/* What is seen of the frames' sum where there are several but one matrix. */
static RefGrid
fold (const RefWork * work, const RefGrid * in)
{
  RefGrid out = ref_grid_new (in->w, in->h);

  for (guint t = 0; t < ref_work_frames (work); t++)
    for (gsize i = 0; i < ref_grid_size (in); i++)
      out.v[i] += (work->again ? 1 : work->time->w[t]) * in[t].v[i];
  return out;
}

/* The filter over all frames. */
static RefGrid
apply_frames (const RefWork * work, const RefGrid * in, gdouble edge)
{
  const RefTime *time = work->time;
  RefGrid out, part;

  if (!time->deep) {
    part = fold (work, in);
    out = apply_terms (work, time->filter[0], &part, work->again ? edge :
        edge * ref_time_sum (time));
    g_free (part.v);
    return out;
  }
  out = ref_grid_new (in->w, in->h);
  for (guint t = 0; t < time->n; t++) {
    part = apply_terms (work, time->filter[t], &in[t], edge);
    for (gsize i = 0; i < ref_grid_size (in); i++)
      out.v[i] += time->w[t] * part.v[i];
    g_free (part.v);
  }
  return out;
}

static RefGrid *
grids_new (guint n, gint w, gint h)
{
  RefGrid *grids = g_new (RefGrid, n);

  for (guint t = 0; t < n; t++)
    grids[t] = ref_grid_new (w, h);
  return grids;
}

void
ref_grids_free (RefGrid * grids, guint n)
{
  for (guint t = 0; t < n; t++)
    g_free (grids[t].v);
  g_free (grids);
}

/* ---- one application of the filter ---- */

/* Both directions of a decision that an error in the last bits turns. */
static void
apply_unsharp (RefWork * work, const RefGrid * in, RefGrid * blurred,
    gdouble * other)
{
  gdouble limit = fmax (work->settings->threshold, 0) * work->nominal;
  gdouble amount = work->settings->amount;

  for (gsize i = 0; i < ref_grid_size (in); i++) {
    gdouble d = in->v[i] - blurred->v[i];
    gdouble sharp = in->v[i] + amount * d;
    gboolean over = fabs (d) > limit;
    gboolean close = fabs (fabs (d) - limit) <= 1e-7 * work->max;

    blurred->v[i] = over ? sharp : in->v[i];
    other[i] = blurred->v[i];
    if (close && fabs (amount * d) > 1e-4) {
      other[i] = over ? in->v[i] : sharp;
      work->unsure = TRUE;
    }
  }
}

/* in is relative to zero; a are the weights. Where the divisor is not positive
 * the result is NaN, for the caller to copy. */
static RefGrid
apply_weighted (RefWork * work, const RefGrid * in, gdouble edge,
    const RefGrid * a, gdouble a_edge, gboolean * doubtful)
{
  RefGrid *product =
      grids_new (ref_work_frames (work), in->w, in->h), sum, divisor;
  gdouble largest = fabs (a_edge), tiny;

  for (guint t = 0; t < ref_work_frames (work); t++) {
    for (gsize i = 0; i < ref_grid_size (in); i++) {
      product[t].v[i] = a[t].v[i] * in[t].v[i];
      largest = fmax (largest, fabs (a[t].v[i]));
    }
  }
  sum = apply_frames (work, product, a_edge * edge);
  divisor = apply_frames (work, a, a_edge);
  tiny = work->time->l1 * largest * (work->time->has_negative ? 1e-8 : 1e-13);
  for (gsize i = 0; i < ref_grid_size (in); i++) {
    doubtful[i] = divisor.v[i] != 0 && fabs (divisor.v[i]) <= tiny;
    if (work->time->has_negative)
      doubtful[i] |= fabs (divisor.v[i]) <= tiny && tiny > 0;
    sum.v[i] = divisor.v[i] > 0 ?
        work->time->sum * sum.v[i] / divisor.v[i] : NAN;
  }
  ref_grids_free (product, ref_work_frames (work));
  g_free (divisor.v);
  return sum;
}

/* in is relative to zero. */
static RefGrid
apply_stencil (const RefWork * work, const RefGrid * in, gdouble edge)
{
  const ConvolveSettings *s = work->settings;
  const RefFilter *filter = work->time->filter[0];
  RefGrid out = ref_grid_new (in->w, in->h);
  gdouble threshold = s->threshold;

  if (threshold < 0)
    threshold = filter->combine == REF_DIFFUSE ? 0.04 : 0;
  threshold *= work->nominal;
  if (filter->combine == REF_DIFFUSE)
    ref_diffuse (in->v, in->w, in->h, s->border, edge, s->amount, threshold,
        out.v);
  else
    ref_detail (in->v, in->w, in->h, s->border, edge, filter->levels,
        filter->gain, threshold, out.v);
  return out;
}

void
ref_work_iterate (RefWork * work, RefGrid * cur, const RefGrid * in,
    const RefGrid * a, gdouble a_edge, gdouble * other)
{
  gsize n = ref_grid_size (cur);
  RefGrid *relative =
      grids_new (ref_work_frames (work), cur->w, cur->h), out, folded;
  g_autofree gboolean *doubtful = g_new0 (gboolean, n);
  gdouble edge = work->edge - work->zero;

  for (guint t = 0; t < ref_work_frames (work); t++)
    for (gsize i = 0; i < n; i++)
      relative[t].v[i] = in[t].v[i] - work->zero;
  if (work->time->filter[0]->n_terms == 0) {
    folded = fold (work, relative);
    out = apply_stencil (work, &folded, work->again ? edge :
        edge * ref_time_sum (work->time));
    g_free (folded.v);
  } else if (a != NULL)
    out = apply_weighted (work, relative, edge, a, a_edge, doubtful);
  else
    out = apply_frames (work, relative, edge);

  memcpy (other, out.v, n * sizeof (*other));
  if (work->time->filter[0]->combine == REF_UNSHARP) {
    folded = fold (work, relative);
    apply_unsharp (work, &folded, &out, other);
    g_free (folded.v);
  }
  for (gsize i = 0; i < n; i++) {
    gdouble copied = cur->v[i];

    other[i] = work->zero + work->bias + work->scale * other[i];
    cur->v[i] = isnan (out.v[i]) ? copied :
        work->zero + work->bias + work->scale * out.v[i];
    if (isnan (other[i]))
      other[i] = copied;
    if (doubtful[i]) {
      other[i] = NAN;
      work->unsure = TRUE;
    }
  }
  ref_grids_free (relative, ref_work_frames (work));
  g_free (out.v);
}
