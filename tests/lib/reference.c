/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The reference: docs/filters.md in double precision. What each component of a
 * picture is; the arithmetic is in refwork.c. */
#include "reference.h"

#include <math.h>
#include <string.h>

#include "refwork.h"

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
border_sample (const RefWork * work)
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
work_init_levels (RefWork * work)
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
set_clamp (const RefWork * work, RefComponent * c)
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
static RefGrid
grid_read (const GstVideoInfo * info, guint8 * const data[4],
    const gint stride[4], const SampleMap * map, guint first, guint step)
{
  gint rows = sample_map_height (map, info->height);
  RefGrid grid = ref_grid_new (sample_map_width (map, info->width),
      (rows - (gint) first + (gint) step - 1) / (gint) step);

  for (gint y = 0; y < grid.h; y++)
    for (gint x = 0; x < grid.w; x++)
      grid.v[(gsize) y * grid.w + x] = sample_get (map, data[map->plane],
          stride[map->plane], x, (gint) (first + y * step));
  return grid;
}

/* Alpha on the grid of a subsampled component. */
static RefGrid
grid_mean (const RefGrid * alpha, const SampleMap * map, gint w, gint h)
{
  RefGrid mean = ref_grid_new (w, h);
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
work_init (RefWork * work, const GstVideoInfo * info,
    const ConvolveSettings * s, const SampleMap * map, const RefTime * time,
    const RefGrid * grid)
{
  memset (work, 0, sizeof (*work));
  work->info = info;
  work->settings = s;
  work->map = map;
  work->time = time;
  work_init_levels (work);
  ref_work_init_borders (work, grid);
}

/* 0 where not all samples within the filter's reach are the same as v. */
static void
find_flat (const RefWork * work, const RefGrid * in, const RefGrid * own,
    guint8 * flat)
{
  const RefFilter *f = work->time->filter[0];
  RefGrid lo = ref_grid_new (in->w, in->h), hi = ref_grid_new (in->w, in->h);

  for (gint y = 0; y < in->h; y++) {
    for (gint x = 0; x < in->w; x++) {
      gdouble least = G_MAXDOUBLE, most = -G_MAXDOUBLE;

      for (gint i = -f->left; i <= f->right; i++) {
        gdouble v = ref_work_get (work, in, work->edge, x + i, y);

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
        if (ref_work_get (work, &lo, work->edge, x, y + j) != v
            || ref_work_get (work, &hi, work->edge, x, y + j) != v)
          flat[(gsize) y * in->w + x] = 0;
    }
  }
  g_free (lo.v);
  g_free (hi.v);
}

/* Flat areas have to be exact for these sums; one that changes and meets a
 * constant border anew is not flat any more. */
static gboolean
keeps_flat (const RefWork * work)
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
static RefGrid
frame_read (const Picture * p, const SampleMap * map, gint after)
{
  gint i = CLAMP ((gint) p->own + after, 0, (gint) p->n_frames - 1);

  return grid_read (p->info, p->frames[i].data, p->frames[i].stride, map,
      p->first, p->step);
}

/* Of all frames that time asks for. */
static RefGrid *
window_read (const Picture * p, const SampleMap * map, const RefTime * time)
{
  RefGrid *grids = g_new (RefGrid, time->n);

  for (guint t = 0; t < time->n; t++)
    grids[t] = frame_read (p, map, (gint) t - (gint) time->older);
  return grids;
}

/* Alpha of n pictures as a component of that size sees it. */
static RefGrid *
means_new (const RefGrid * alpha, guint n, const SampleMap * map, gint w,
    gint h)
{
  RefGrid *means = g_new (RefGrid, n);

  for (guint t = 0; t < n; t++)
    means[t] = grid_mean (&alpha[t], map, w, h);
  return means;
}

/* Alpha, as it weighs, and what it becomes from iteration to iteration. */
typedef struct
{
  RefTime *time;
  RefWork work;
  RefGrid *in, cur;
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
  g_autofree gdouble *unused = g_new (gdouble, ref_grid_size (&weights->cur));
  RefWork *work = &weights->work;

  if (!copies_alpha (p->settings, weights->time))
    ref_work_iterate (work, &weights->cur,
        work->again ? &weights->cur : weights->in, NULL, 0, unused);
  work->again = TRUE;
}

static void
weights_clear (Weights * weights)
{
  ref_grids_free (weights->in, weights->time->n);
  g_free (weights->cur.v);
  ref_work_clear (&weights->work);
  ref_time_free (weights->time);
}

/* Runs all iterations of a filtered component; cur is the own frame, in all of
 * them, and cur becomes the result. */
static void
run (const Picture * p, RefWork * work, RefGrid * cur, const RefGrid * in,
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
      guint n = ref_work_frames (work);
      RefGrid *a = means_new (work->again ? &weights.cur : weights.in, n,
          work->map, cur->w, cur->h);

      ref_work_iterate (work, cur, work->again ? cur : in, a, weights.work.edge,
          other);
      ref_grids_free (a, n);
      if (i + 1 < p->settings->iterations)
        weights_next (p, &weights);
    } else {
      ref_work_iterate (work, cur, work->again ? cur : in, NULL, 0, other);
    }
    /* From a jump on, anything may follow. */
    if (work->unsure && i + 1 < p->settings->iterations) {
      for (gsize k = 0; k < ref_grid_size (cur); k++)
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
  RefGrid cur = frame_read (p, &c->map, 0), *in;
  RefTime *time = ref_time_new (s, c->map.w_sub, c->map.h_sub);
  g_autofree gdouble *other = g_new (gdouble, ref_grid_size (&cur) + 1);
  g_autofree guint8 *flat = g_new0 (guint8, ref_grid_size (&cur) + 1);
  RefWork work;

  in = window_read (p, &c->map, time);
  work_init (&work, p->info, s, &c->map, time, &cur);
  set_clamp (&work, c);
  c->exact = !is_selected (s, c->map.role)
      || (c->map.role == SAMPLE_ALPHA && copies_alpha (s, time));
  if (!c->exact && is_chroma (c->map.role)
      && time->filter[0]->combine == REF_MAGNITUDE) {
    c->exact = TRUE;
    for (gsize i = 0; i < ref_grid_size (&cur); i++)
      cur.v[i] = work.middle;
  }
  memcpy (other, cur.v, ref_grid_size (&cur) * sizeof (*other));
  if (!c->exact) {
    if (keeps_flat (&work)) {
      memset (flat, 1, ref_grid_size (&cur));
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
  ref_work_clear (&work);
  ref_grids_free (in, time->n);
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
