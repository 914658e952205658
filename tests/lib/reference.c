/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The reference: docs/filters.md as plain loops over doubles. */
#include "reference.h"

#include <math.h>
#include <string.h>

#include "refstencils.h"

/* A picture of one component: a frame's or a field's. */
typedef struct
{
  gint w, h;
  gdouble *v;
} Grid;

/* Where the samples around a line come from. */
typedef struct
{
  gint first;
  gint *index;
} Border;

/* What is worked on: one component of one picture. */
typedef struct
{
  const GstVideoInfo *info;
  const ConvolveSettings *settings;
  const SampleMap *map;
  const RefTime *time;
  gboolean again;               /* an iteration after the first: of one frame */
  Border x, y;
  gdouble zero, nominal, middle, max, edge;
  gdouble bias, scale;
  gboolean unsure;              /* a jump before the last iteration */
} Work;

static Grid
grid_new (gint w, gint h)
{
  Grid grid = { w, h, g_new0 (gdouble, (gsize) w * h) };

  return grid;
}

static gsize
grid_size (const Grid * grid)
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

static Border
border_new (ConvolveBorder border, gint before, gint n, gint after)
{
  Border table = { -before, g_new (gint, before + n + after) };

  for (gint i = -before; i < n + after; i++)
    table.index[i + before] = reference_border (border, i, n);
  return table;
}

static gint
border_get (const Border * table, gint i)
{
  return table->index[i - table->first];
}

/* ---- sums ---- */

static gdouble
grid_get (const Work * work, const Grid * in, gdouble edge, gint x, gint y)
{
  gint sx = border_get (&work->x, x), sy = border_get (&work->y, y);

  return sx < 0 || sy < 0 ? edge : in->v[(gsize) sy * in->w + sx];
}

static void
add_full (const Work * work, const RefTerm * term, const Grid * in,
    gdouble edge, Grid * out)
{
  for (gint y = 0; y < in->h; y++) {
    for (gint x = 0; x < in->w; x++) {
      gdouble sum = 0;

      for (gint j = 0; j < term->y.n; j++)
        for (gint i = 0; i < term->x.n; i++)
          if (term->full[j * term->x.n + i] != 0)
            sum += term->full[j * term->x.n + i] * grid_get (work, in, edge,
                x + term->x.first + i, y + term->y.first + j);
      out->v[(gsize) y * in->w + x] += sum;
    }
  }
}

/* Rows, then columns: the same sum in another order. */
static void
add_separable (const Work * work, const RefTerm * term, const Grid * in,
    gdouble edge, Grid * out)
{
  Grid rows = grid_new (in->w, in->h);
  gdouble outside = 0;

  for (gint i = 0; i < term->x.n; i++)
    outside += term->x.w[i] * edge;
  for (gint y = 0; y < in->h; y++)
    for (gint x = 0; x < in->w; x++)
      for (gint i = 0; i < term->x.n; i++)
        rows.v[(gsize) y * in->w + x] += term->x.w[i] * grid_get (work, in,
            edge, x + term->x.first + i, y);
  for (gint y = 0; y < in->h; y++)
    for (gint x = 0; x < in->w; x++)
      for (gint j = 0; j < term->y.n; j++)
        out->v[(gsize) y * in->w + x] += term->y.w[j] * grid_get (work, &rows,
            outside, x, y + term->y.first + j);
  g_free (rows.v);
}

static Grid
apply_term (const Work * work, const RefTerm * term, const Grid * in,
    gdouble edge)
{
  Grid out = grid_new (in->w, in->h);

  if (term->full != NULL)
    add_full (work, term, in, edge, &out);
  else
    add_separable (work, term, in, edge, &out);
  return out;
}

static Grid
apply_terms (const Work * work, const RefFilter * filter, const Grid * in,
    gdouble edge)
{
  Grid out = apply_term (work, &filter->term[0], in, edge);

  if (filter->n_terms > 1) {
    Grid second = apply_term (work, &filter->term[1], in, edge);

    for (gsize i = 0; i < grid_size (in); i++)
      out.v[i] = filter->combine == REF_MAGNITUDE ?
          hypot (out.v[i], second.v[i]) : out.v[i] + second.v[i];
    g_free (second.v);
  }
  return out;
}

/* ---- frames ---- */

static guint
n_frames (const Work * work)
{
  return work->again ? 1 : work->time->n;
}

/* What is seen of the frames' sum where there are several but one matrix. */
static Grid
fold (const Work * work, const Grid * in)
{
  Grid out = grid_new (in->w, in->h);

  for (guint t = 0; t < n_frames (work); t++)
    for (gsize i = 0; i < grid_size (in); i++)
      out.v[i] += (work->again ? 1 : work->time->w[t]) * in[t].v[i];
  return out;
}

/* The filter over all frames. */
static Grid
apply_frames (const Work * work, const Grid * in, gdouble edge)
{
  const RefTime *time = work->time;
  Grid out, part;

  if (!time->deep) {
    part = fold (work, in);
    out = apply_terms (work, time->filter[0], &part, work->again ? edge :
        edge * ref_time_sum (time));
    g_free (part.v);
    return out;
  }
  out = grid_new (in->w, in->h);
  for (guint t = 0; t < time->n; t++) {
    part = apply_terms (work, time->filter[t], &in[t], edge);
    for (gsize i = 0; i < grid_size (in); i++)
      out.v[i] += time->w[t] * part.v[i];
    g_free (part.v);
  }
  return out;
}

static Grid *
grids_new (guint n, gint w, gint h)
{
  Grid *grids = g_new (Grid, n);

  for (guint t = 0; t < n; t++)
    grids[t] = grid_new (w, h);
  return grids;
}

static void
grids_free (Grid * grids, guint n)
{
  for (guint t = 0; t < n; t++)
    g_free (grids[t].v);
  g_free (grids);
}

/* ---- one application of the filter ---- */

/* Both directions of a decision that an error in the last bits turns. */
static void
apply_unsharp (Work * work, const Grid * in, Grid * blurred, gdouble * other)
{
  gdouble limit = fmax (work->settings->threshold, 0) * work->nominal;
  gdouble amount = work->settings->amount;

  for (gsize i = 0; i < grid_size (in); i++) {
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
static Grid
apply_weighted (Work * work, const Grid * in, gdouble edge, const Grid * a,
    gdouble a_edge, gboolean * doubtful)
{
  Grid *product = grids_new (n_frames (work), in->w, in->h), sum, divisor;
  gdouble largest = fabs (a_edge), tiny;

  for (guint t = 0; t < n_frames (work); t++) {
    for (gsize i = 0; i < grid_size (in); i++) {
      product[t].v[i] = a[t].v[i] * in[t].v[i];
      largest = fmax (largest, fabs (a[t].v[i]));
    }
  }
  sum = apply_frames (work, product, a_edge * edge);
  divisor = apply_frames (work, a, a_edge);
  tiny = work->time->l1 * largest * (work->time->has_negative ? 1e-8 : 1e-13);
  for (gsize i = 0; i < grid_size (in); i++) {
    doubtful[i] = divisor.v[i] != 0 && fabs (divisor.v[i]) <= tiny;
    if (work->time->has_negative)
      doubtful[i] |= fabs (divisor.v[i]) <= tiny && tiny > 0;
    sum.v[i] = divisor.v[i] > 0 ?
        work->time->sum * sum.v[i] / divisor.v[i] : NAN;
  }
  grids_free (product, n_frames (work));
  g_free (divisor.v);
  return sum;
}

/* in is relative to zero. */
static Grid
apply_stencil (const Work * work, const Grid * in, gdouble edge)
{
  const ConvolveSettings *s = work->settings;
  const RefFilter *filter = work->time->filter[0];
  Grid out = grid_new (in->w, in->h);
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

/* cur, the own frame or what came of it, becomes the next iteration's input.
 * in: all frames of the first one, else cur. a NULL: straight. */
static void
iterate (Work * work, Grid * cur, const Grid * in, const Grid * a,
    gdouble a_edge, gdouble * other)
{
  gsize n = grid_size (cur);
  Grid *relative = grids_new (n_frames (work), cur->w, cur->h), out, folded;
  g_autofree gboolean *doubtful = g_new0 (gboolean, n);
  gdouble edge = work->edge - work->zero;

  for (guint t = 0; t < n_frames (work); t++)
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
  grids_free (relative, n_frames (work));
  g_free (out.v);
}

/* ---- what a component is ---- */

static gboolean
is_limited (const GstVideoInfo * info)
{
  return info->colorimetry.range == GST_VIDEO_COLOR_RANGE_16_235;
}

static gboolean
is_chroma (SampleRole role)
{
  return role == SAMPLE_U || role == SAMPLE_V;
}

static gdouble
border_sample (const Work * work)
{
  guint32 argb = work->settings->border_color;
  gdouble a = (argb >> 24) / 255.0, r = (argb >> 16 & 255) / 255.0;
  gdouble g = (argb >> 8 & 255) / 255.0, b = (argb & 255) / 255.0;
  gdouble kr = 0.299, kb = 0.114, y, value = 0;

  gst_video_color_matrix_get_Kr_Kb (work->info->colorimetry.matrix, &kr, &kb);
  y = kr * r + (1 - kr - kb) * g + kb * b;
  switch (work->map->role) {
    case SAMPLE_GREY:
      value = work->max * y;
      break;
    case SAMPLE_LUMA:
      value = work->zero + work->nominal * y;
      break;
    case SAMPLE_U:
      value = work->middle + work->nominal * 0.5 * (b - y) / (1 - kb);
      break;
    case SAMPLE_V:
      value = work->middle + work->nominal * 0.5 * (r - y) / (1 - kr);
      break;
    default:
      value = work->max * (work->map->role == SAMPLE_RED ? r :
          work->map->role == SAMPLE_GREEN ? g :
          work->map->role == SAMPLE_BLUE ? b : a);
  }
  /* A half is one although 0.587 and its like have no exact double. */
  if (fabs (2 * value - rint (2 * value)) < 1e-8)
    value = rint (2 * value) / 2;
  return fmin (fmax (rint (value), 0), work->max);
}

static void
work_init_levels (Work * work)
{
  const ConvolveSettings *s = work->settings;
  SampleRole role = work->map->role;
  gdouble step = ldexp (1, (gint) work->map->depth - 8);

  work->max = ldexp (1, (gint) work->map->depth) - 1;
  work->middle = 128 * step;
  work->zero = 0;
  work->nominal = work->max;
  if (is_chroma (role)) {
    work->zero = work->middle;
    if (is_limited (work->info))
      work->nominal = 224 * step;
  } else if (role == SAMPLE_LUMA && is_limited (work->info)) {
    work->zero = 16 * step;
    work->nominal = 219 * step;
  }
  work->scale = role == SAMPLE_ALPHA ? 1 : s->scale;
  work->bias = s->bias + (s->filter == CONVOLVE_FILTER_EMBOSS ? 0.5 : 0);
  work->bias *= is_chroma (role) || role == SAMPLE_ALPHA ? 0 : work->nominal;
  work->edge = border_sample (work);
}

static void
set_clamp (const Work * work, RefComponent * c)
{
  gdouble step = ldexp (1, (gint) work->map->depth - 8);

  c->lo = 0;
  c->hi = work->max;
  if (work->settings->clamp == CONVOLVE_CLAMP_NOMINAL
      && is_limited (work->info) && c->map.role != SAMPLE_ALPHA) {
    c->lo = 16 * step;
    c->hi = (is_chroma (c->map.role) ? 240 : 235) * step;
  }
}

static gboolean
is_selected (const ConvolveSettings * s, SampleRole role)
{
  switch (role) {
    case SAMPLE_GREY:
    case SAMPLE_LUMA:
      return (s->channels & CONVOLVE_CHANNEL_LUMA) != 0;
    case SAMPLE_U:
    case SAMPLE_V:
      return (s->channels & CONVOLVE_CHANNEL_CHROMA) != 0;
    case SAMPLE_ALPHA:
      return (s->channels & CONVOLVE_CHANNEL_ALPHA) != 0;
    case SAMPLE_UNUSED:
      return FALSE;
    default:
      return (s->channels & CONVOLVE_CHANNEL_RGB) != 0;
  }
}

static gboolean
copies_alpha (const ConvolveSettings * s, const RefTime * time)
{
  return !(s->channels & CONVOLVE_CHANNEL_ALPHA)
      || time->filter[0]->combine == REF_MAGNITUDE
      || fabs (time->sum) <= 1e-9 * time->l1;
}

static gboolean
is_weighted (const ConvolveSettings * s, const RefTime * time)
{
  if (time->filter[0]->combine != REF_SUM
      || s->alpha_mode == CONVOLVE_ALPHA_STRAIGHT)
    return FALSE;
  return s->alpha_mode == CONVOLVE_ALPHA_WEIGHTED || !time->has_negative;
}

/* ---- pictures ---- */

/* The rows first, first + step, ... of a component. */
static Grid
grid_read (const GstVideoInfo * info, guint8 * const data[4],
    const gint stride[4], const SampleMap * map, guint first, guint step)
{
  gint rows = sample_map_height (map, info->height);
  Grid grid = grid_new (sample_map_width (map, info->width),
      (rows - (gint) first + (gint) step - 1) / (gint) step);

  for (gint y = 0; y < grid.h; y++)
    for (gint x = 0; x < grid.w; x++)
      grid.v[(gsize) y * grid.w + x] = sample_get (map, data[map->plane],
          stride[map->plane], x, (gint) (first + y * step));
  return grid;
}

/* Alpha on the grid of a subsampled component. */
static Grid
grid_mean (const Grid * alpha, const SampleMap * map, gint w, gint h)
{
  Grid mean = grid_new (w, h);
  gint nx = 1 << map->w_sub, ny = 1 << map->h_sub;

  for (gint y = 0; y < h; y++) {
    for (gint x = 0; x < w; x++) {
      gdouble sum = 0;
      gint n = 0;

      for (gint ay = y * ny; ay < MIN ((y + 1) * ny, alpha->h); ay++)
        for (gint ax = x * nx; ax < MIN ((x + 1) * nx, alpha->w); ax++, n++)
          sum += alpha->v[(gsize) ay * alpha->w + ax];
      mean.v[(gsize) y * w + x] = n > 0 ? sum / n : 0;
    }
  }
  return mean;
}

static void
work_init_borders (Work * work, const Grid * grid)
{
  const RefFilter *f = work->time->filter[0];

  work->x = border_new (work->settings->border, f->left, grid->w, f->right);
  work->y = border_new (work->settings->border, f->above, grid->h, f->below);
}

static void
work_clear (Work * work)
{
  g_free (work->x.index);
  g_free (work->y.index);
}

static void
work_init (Work * work, const GstVideoInfo * info, const ConvolveSettings * s,
    const SampleMap * map, const RefTime * time, const Grid * grid)
{
  memset (work, 0, sizeof (*work));
  work->info = info;
  work->settings = s;
  work->map = map;
  work->time = time;
  work_init_levels (work);
  work_init_borders (work, grid);
}

/* 0 where not all samples within the filter's reach are the same as v. */
static void
find_flat (const Work * work, const Grid * in, const Grid * own, guint8 * flat)
{
  const RefFilter *f = work->time->filter[0];
  Grid lo = grid_new (in->w, in->h), hi = grid_new (in->w, in->h);

  for (gint y = 0; y < in->h; y++) {
    for (gint x = 0; x < in->w; x++) {
      gdouble least = G_MAXDOUBLE, most = -G_MAXDOUBLE;

      for (gint i = -f->left; i <= f->right; i++) {
        gdouble v = grid_get (work, in, work->edge, x + i, y);

        least = fmin (least, v);
        most = fmax (most, v);
      }
      lo.v[(gsize) y * in->w + x] = least;
      hi.v[(gsize) y * in->w + x] = most;
    }
  }
  for (gint y = 0; y < in->h; y++) {
    for (gint x = 0; x < in->w; x++) {
      gdouble v = own->v[(gsize) y * in->w + x];

      for (gint j = -f->above; j <= f->below; j++)
        if (grid_get (work, &lo, work->edge, x, y + j) != v
            || grid_get (work, &hi, work->edge, x, y + j) != v)
          flat[(gsize) y * in->w + x] = 0;
    }
  }
  g_free (lo.v);
  g_free (hi.v);
}

/* Flat areas have to be exact for these sums; one that changes and meets a
 * constant border anew is not flat any more. */
static gboolean
keeps_flat (const Work * work)
{
  gdouble sum = work->time->sum;

  if (work->settings->iterations > 1)
    return FALSE;
  return fabs (sum - 1) < 1e-9 || fabs (sum) <= 1e-9 * MAX (work->time->l1, 1);
}

/* ---- components ---- */

typedef struct
{
  const GstVideoInfo *info;
  const RefFrame *frames;       /* of the stream */
  guint n_frames, own;
  const ConvolveSettings *settings;
  guint first, step;            /* the picture's rows */
  const SampleMap *alpha;       /* NULL: none */
} Picture;

/* A component of the frame that lies so many frames after the own one. */
static Grid
frame_read (const Picture * p, const SampleMap * map, gint after)
{
  gint i = CLAMP ((gint) p->own + after, 0, (gint) p->n_frames - 1);

  return grid_read (p->info, p->frames[i].data, p->frames[i].stride, map,
      p->first, p->step);
}

/* Of all frames that time asks for. */
static Grid *
window_read (const Picture * p, const SampleMap * map, const RefTime * time)
{
  Grid *grids = g_new (Grid, time->n);

  for (guint t = 0; t < time->n; t++)
    grids[t] = frame_read (p, map, (gint) t - (gint) time->older);
  return grids;
}

/* Alpha of n pictures as a component of that size sees it. */
static Grid *
means_new (const Grid * alpha, guint n, const SampleMap * map, gint w, gint h)
{
  Grid *means = g_new (Grid, n);

  for (guint t = 0; t < n; t++)
    means[t] = grid_mean (&alpha[t], map, w, h);
  return means;
}

/* Alpha, as it weighs, and what it becomes from iteration to iteration. */
typedef struct
{
  RefTime *time;
  Work work;
  Grid *in, cur;
} Weights;

static void
weights_init (const Picture * p, Weights * weights)
{
  weights->time = ref_time_new (p->settings, 0, 0);
  weights->in = window_read (p, p->alpha, weights->time);
  weights->cur = frame_read (p, p->alpha, 0);
  work_init (&weights->work, p->info, p->settings, p->alpha, weights->time,
      &weights->cur);
}

static void
weights_next (const Picture * p, Weights * weights)
{
  g_autofree gdouble *unused = g_new (gdouble, grid_size (&weights->cur));
  Work *work = &weights->work;

  if (!copies_alpha (p->settings, weights->time))
    iterate (work, &weights->cur, work->again ? &weights->cur : weights->in,
        NULL, 0, unused);
  work->again = TRUE;
}

static void
weights_clear (Weights * weights)
{
  grids_free (weights->in, weights->time->n);
  g_free (weights->cur.v);
  work_clear (&weights->work);
  ref_time_free (weights->time);
}

/* Runs all iterations of a filtered component; cur is the own frame, in all of
 * them, and cur becomes the result. */
static void
run (const Picture * p, Work * work, Grid * cur, const Grid * in,
    gdouble * other)
{
  gboolean weighted = p->alpha != NULL && work->map->role != SAMPLE_ALPHA
      && is_weighted (p->settings, work->time);
  Weights weights;

  if (weighted)
    weights_init (p, &weights);
  for (guint i = 0; i < p->settings->iterations; i++) {
    work->again = i > 0;
    if (weighted) {
      guint n = n_frames (work);
      Grid *a = means_new (work->again ? &weights.cur : weights.in, n,
          work->map, cur->w, cur->h);

      iterate (work, cur, work->again ? cur : in, a, weights.work.edge, other);
      grids_free (a, n);
      if (i + 1 < p->settings->iterations)
        weights_next (p, &weights);
    } else {
      iterate (work, cur, work->again ? cur : in, NULL, 0, other);
    }
    /* From a jump on, anything may follow. */
    if (work->unsure && i + 1 < p->settings->iterations) {
      for (gsize k = 0; k < grid_size (cur); k++)
        other[k] = NAN;
      break;
    }
  }
  if (weighted)
    weights_clear (&weights);
}

static void
do_picture (const Picture * p, RefComponent * c)
{
  const ConvolveSettings *s = p->settings;
  Grid cur = frame_read (p, &c->map, 0), *in;
  RefTime *time = ref_time_new (s, c->map.w_sub, c->map.h_sub);
  g_autofree gdouble *other = g_new (gdouble, grid_size (&cur) + 1);
  g_autofree guint8 *flat = g_new0 (guint8, grid_size (&cur) + 1);
  Work work;

  in = window_read (p, &c->map, time);
  work_init (&work, p->info, s, &c->map, time, &cur);
  set_clamp (&work, c);
  c->exact = !is_selected (s, c->map.role)
      || (c->map.role == SAMPLE_ALPHA && copies_alpha (s, time));
  if (!c->exact && is_chroma (c->map.role)
      && time->filter[0]->combine == REF_MAGNITUDE) {
    c->exact = TRUE;
    for (gsize i = 0; i < grid_size (&cur); i++)
      cur.v[i] = work.middle;
  }
  memcpy (other, cur.v, grid_size (&cur) * sizeof (*other));
  if (!c->exact) {
    if (keeps_flat (&work)) {
      memset (flat, 1, grid_size (&cur));
      for (guint t = 0; t < time->n; t++)
        find_flat (&work, &in[t], &cur, flat);
    }
    run (p, &work, &cur, in, other);
  }
  for (gint y = 0; y < cur.h; y++) {
    gsize from = (gsize) y * cur.w, to = (p->first + y * p->step) * cur.w;

    memcpy (c->value + to, cur.v + from, cur.w * sizeof (*cur.v));
    memcpy (c->other + to, other + from, cur.w * sizeof (*other));
    memcpy (c->flat + to, flat + from, cur.w);
  }
  work_clear (&work);
  grids_free (in, time->n);
  ref_time_free (time);
  g_free (cur.v);
}

Reference *
reference_new (const GstVideoInfo * info, guint8 * const data[4],
    const gint stride[4], const ConvolveSettings * settings, gboolean fields)
{
  RefFrame frame;

  memcpy (frame.data, data, sizeof (frame.data));
  memcpy (frame.stride, stride, sizeof (frame.stride));
  return reference_new_stream (info, &frame, 1, 0, settings, fields);
}

Reference *
reference_new_stream (const GstVideoInfo * info, const RefFrame * frames,
    guint n, guint own, const ConvolveSettings * settings, gboolean fields)
{
  Reference *reference = g_new0 (Reference, 1);
  SampleMap maps[SAMPLE_MAX_MAPS];
  Picture p = { info, frames, n, own, settings, 0, fields ? 2 : 1, NULL };

  reference->n = sample_maps (info->finfo, maps);
  for (guint i = 0; i < reference->n; i++)
    if (maps[i].role == SAMPLE_ALPHA)
      p.alpha = &maps[i];
  for (guint i = 0; i < reference->n; i++) {
    RefComponent *c = &reference->component[i];
    gsize size;

    c->map = maps[i];
    c->width = sample_map_width (&maps[i], info->width);
    c->height = sample_map_height (&maps[i], info->height);
    size = (gsize) c->width * c->height;
    c->value = g_new0 (gdouble, size);
    c->other = g_new0 (gdouble, size);
    c->flat = g_new0 (guint8, size);
    for (p.first = 0; p.first < p.step; p.first++)
      if ((gint) p.first < c->height)
        do_picture (&p, c);
  }
  return reference;
}

void
reference_free (Reference * reference)
{
  for (guint i = 0; i < reference->n; i++) {
    g_free (reference->component[i].value);
    g_free (reference->component[i].other);
    g_free (reference->component[i].flat);
    g_free (reference->component[i].copied);
  }
  g_free (reference);
}

gdouble
reference_clamped (const RefComponent * component, gsize i)
{
  return fmin (fmax (component->value[i], component->lo), component->hi);
}
