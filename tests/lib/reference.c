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
  const RefFilter *filter;
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
apply_terms (const Work * work, const Grid * in, gdouble edge)
{
  Grid out = apply_term (work, &work->filter->term[0], in, edge);

  if (work->filter->n_terms > 1) {
    Grid second = apply_term (work, &work->filter->term[1], in, edge);

    for (gsize i = 0; i < grid_size (in); i++)
      out.v[i] = work->filter->combine == REF_MAGNITUDE ?
          hypot (out.v[i], second.v[i]) : out.v[i] + second.v[i];
    g_free (second.v);
  }
  return out;
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
  Grid product = grid_new (in->w, in->h), sum, divisor;
  gdouble largest = fabs (a_edge), tiny;

  for (gsize i = 0; i < grid_size (in); i++) {
    product.v[i] = a->v[i] * in->v[i];
    largest = fmax (largest, fabs (a->v[i]));
  }
  sum = apply_terms (work, &product, a_edge * edge);
  divisor = apply_terms (work, a, a_edge);
  tiny = work->filter->l1 * largest
      * (work->filter->has_negative ? 1e-8 : 1e-13);
  for (gsize i = 0; i < grid_size (in); i++) {
    doubtful[i] = divisor.v[i] != 0 && fabs (divisor.v[i]) <= tiny;
    if (work->filter->has_negative)
      doubtful[i] |= fabs (divisor.v[i]) <= tiny && tiny > 0;
    sum.v[i] = divisor.v[i] > 0 ?
        work->filter->sum * sum.v[i] / divisor.v[i] : NAN;
  }
  g_free (product.v);
  g_free (divisor.v);
  return sum;
}

/* in is relative to zero. */
static Grid
apply_stencil (const Work * work, const Grid * in, gdouble edge)
{
  const ConvolveSettings *s = work->settings;
  Grid out = grid_new (in->w, in->h);
  gdouble threshold = s->threshold;

  if (threshold < 0)
    threshold = work->filter->combine == REF_DIFFUSE ? 0.04 : 0;
  threshold *= work->nominal;
  if (work->filter->combine == REF_DIFFUSE)
    ref_diffuse (in->v, in->w, in->h, s->border, edge, s->amount, threshold,
        out.v);
  else
    ref_detail (in->v, in->w, in->h, s->border, edge, work->filter->levels,
        work->filter->gain, threshold, out.v);
  return out;
}

/* cur becomes the next iteration's input. a NULL: straight. */
static void
iterate (Work * work, Grid * cur, const Grid * a, gdouble a_edge,
    gdouble * other)
{
  gsize n = grid_size (cur);
  Grid relative = grid_new (cur->w, cur->h), out;
  g_autofree gboolean *doubtful = g_new0 (gboolean, n);
  gdouble edge = work->edge - work->zero;

  for (gsize i = 0; i < n; i++)
    relative.v[i] = cur->v[i] - work->zero;
  if (work->filter->n_terms == 0)
    out = apply_stencil (work, &relative, edge);
  else if (a != NULL)
    out = apply_weighted (work, &relative, edge, a, a_edge, doubtful);
  else
    out = apply_terms (work, &relative, edge);

  memcpy (other, out.v, n * sizeof (*other));
  if (work->filter->combine == REF_UNSHARP)
    apply_unsharp (work, &relative, &out, other);
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
  g_free (relative.v);
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
copies_alpha (const ConvolveSettings * s, const RefFilter * filter)
{
  return !(s->channels & CONVOLVE_CHANNEL_ALPHA)
      || filter->combine == REF_MAGNITUDE
      || fabs (filter->sum) <= 1e-9 * filter->l1;
}

static gboolean
is_weighted (const ConvolveSettings * s, const RefFilter * filter)
{
  if (filter->combine != REF_SUM || s->alpha_mode == CONVOLVE_ALPHA_STRAIGHT)
    return FALSE;
  return s->alpha_mode == CONVOLVE_ALPHA_WEIGHTED || !filter->has_negative;
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
  const RefFilter *f = work->filter;

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
    const SampleMap * map, const RefFilter * filter, const Grid * grid)
{
  memset (work, 0, sizeof (*work));
  work->info = info;
  work->settings = s;
  work->map = map;
  work->filter = filter;
  work_init_levels (work);
  work_init_borders (work, grid);
}

/* 1 where all samples within the filter's reach are the same. */
static void
find_flat (const Work * work, const Grid * in, guint8 * flat)
{
  const RefFilter *f = work->filter;
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
      gdouble v = in->v[(gsize) y * in->w + x];

      flat[(gsize) y * in->w + x] = 1;
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
  gdouble sum = work->filter->sum;

  if (work->settings->iterations > 1)
    return FALSE;
  return fabs (sum - 1) < 1e-9
      || fabs (sum) <= 1e-9 * MAX (work->filter->l1, 1);
}

/* ---- components ---- */

typedef struct
{
  const GstVideoInfo *info;
  guint8 *const *data;
  const gint *stride;
  const ConvolveSettings *settings;
  guint first, step;            /* the picture's rows */
  const SampleMap *alpha;       /* NULL: none */
} Picture;

/* Runs all iterations of a filtered component; cur is the input and becomes
 * the result. */
static void
run (const Picture * p, Work * work, Grid * cur, gdouble * other)
{
  const SampleMap *map = work->map;
  RefFilter *alpha_filter = NULL;
  Work alpha_work;
  Grid alpha = { 0 };
  gboolean weighted = p->alpha != NULL && map->role != SAMPLE_ALPHA
      && is_weighted (p->settings, work->filter);

  if (weighted) {
    alpha = grid_read (p->info, p->data, p->stride, p->alpha, p->first,
        p->step);
    alpha_filter = ref_filter_new (p->settings, 0, 0);
    work_init (&alpha_work, p->info, p->settings, p->alpha, alpha_filter,
        &alpha);
  }
  for (guint i = 0; i < p->settings->iterations; i++) {
    if (weighted) {
      Grid a = grid_mean (&alpha, map, cur->w, cur->h);
      g_autofree gdouble *unused = g_new (gdouble, grid_size (&alpha));

      iterate (work, cur, &a, alpha_work.edge, other);
      g_free (a.v);
      if (i + 1 < p->settings->iterations
          && !copies_alpha (p->settings, alpha_filter))
        iterate (&alpha_work, &alpha, NULL, 0, unused);
    } else {
      iterate (work, cur, NULL, 0, other);
    }
    /* From a jump on, anything may follow. */
    if (work->unsure && i + 1 < p->settings->iterations) {
      for (gsize k = 0; k < grid_size (cur); k++)
        other[k] = NAN;
      break;
    }
  }
  if (weighted) {
    work_clear (&alpha_work);
    ref_filter_free (alpha_filter);
    g_free (alpha.v);
  }
}

static void
do_picture (const Picture * p, RefComponent * c)
{
  const ConvolveSettings *s = p->settings;
  Grid cur = grid_read (p->info, p->data, p->stride, &c->map, p->first,
      p->step);
  RefFilter *filter = ref_filter_new (s, c->map.w_sub, c->map.h_sub);
  g_autofree gdouble *other = g_new (gdouble, grid_size (&cur) + 1);
  g_autofree guint8 *flat = g_new0 (guint8, grid_size (&cur) + 1);
  Work work;

  work_init (&work, p->info, s, &c->map, filter, &cur);
  set_clamp (&work, c);
  c->exact = !is_selected (s, c->map.role)
      || (c->map.role == SAMPLE_ALPHA && copies_alpha (s, filter));
  if (!c->exact && is_chroma (c->map.role)
      && filter->combine == REF_MAGNITUDE) {
    c->exact = TRUE;
    for (gsize i = 0; i < grid_size (&cur); i++)
      cur.v[i] = work.middle;
  }
  memcpy (other, cur.v, grid_size (&cur) * sizeof (*other));
  if (!c->exact) {
    if (keeps_flat (&work))
      find_flat (&work, &cur, flat);
    run (p, &work, &cur, other);
  }
  for (gint y = 0; y < cur.h; y++) {
    gsize from = (gsize) y * cur.w, to = (p->first + y * p->step) * cur.w;

    memcpy (c->value + to, cur.v + from, cur.w * sizeof (*cur.v));
    memcpy (c->other + to, other + from, cur.w * sizeof (*other));
    memcpy (c->flat + to, flat + from, cur.w);
  }
  work_clear (&work);
  ref_filter_free (filter);
  g_free (cur.v);
}

Reference *
reference_new (const GstVideoInfo * info, guint8 * const data[4],
    const gint stride[4], const ConvolveSettings * settings, gboolean fields)
{
  Reference *reference = g_new0 (Reference, 1);
  SampleMap maps[SAMPLE_MAX_MAPS];
  Picture p = { info, data, stride, settings, 0, fields ? 2 : 1, NULL };

  reference->n = sample_maps (info->finfo, maps);
  for (guint i = 0; i < reference->n; i++)
    if (maps[i].role == SAMPLE_ALPHA)
      p.alpha = &maps[i];
  for (guint i = 0; i < reference->n; i++) {
    RefComponent *c = &reference->component[i];
    gsize n;

    c->map = maps[i];
    c->width = sample_map_width (&maps[i], info->width);
    c->height = sample_map_height (&maps[i], info->height);
    n = (gsize) c->width * c->height;
    c->value = g_new0 (gdouble, n);
    c->other = g_new0 (gdouble, n);
    c->flat = g_new0 (guint8, n);
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
