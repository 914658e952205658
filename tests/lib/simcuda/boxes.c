/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Boxes by running sums (cuda/sums.h), each sum on its own. */
#include <math.h>

#include "samples.h"
#include "sim.h"

static guint
sample_bytes (const SimKernel * kernel)
{
  return kernel->samples == CONVOLVE_SAMPLES_U8 ? 1 : 2;
}

static guint
divide_up (guint64 a, guint b)
{
  return (a + b - 1) / b;
}

static guint
ends_differ (const ConvolveSums * s)
{
  return s->inner_x != s->end_x || s->inner_y != s->end_y;
}

static guint
row_samples (const ConvolveSums * s)
{
  return s->picture.width * s->picture.n_components;
}

guint
sim_sums_threads (const SimKernel * kernel, const ConvolveSums * s)
{
  return kernel->route != CONVOLVE_ROUTE_SUMS ? CONVOLVE_BLOCK_THREADS :
      convolve_sums_threads (sample_bytes (kernel), s->picture.n_components,
      s->strip, s->reach_x, ends_differ (s));
}

/* ---- checks ---- */

static gboolean
check_samples (const SimKernel * kernel, const ConvolveSums * s)
{
  const ConvolveLaunchPicture *p = &s->picture;
  guint bytes = sample_bytes (kernel), pixel = bytes * p->n_components;

  if (p->width < 1 || p->height < 1 || !p->contiguous || p->swap
      || p->pixel_step != pixel || (bytes == 2 && p->n_components == 3)
      || p->store != (bytes == 1 ? CONVOLVE_STORE_U8 : CONVOLVE_STORE_U16)
      || (p->n_components > 2 && ends_differ (s))
      || (kernel->route == CONVOLVE_ROUTE_SUMS
          && (kernel->terms != p->n_components || kernel->taps != s->plain))) {
    sim_misuse ("%s got samples that it does not know", kernel->name);
    return FALSE;
  }
  if ((bytes == 2 || pixel == 4) && ((p->src | p->dst
              | (guint64) (gint64) p->src_stride
              | (guint64) (gint64) p->dst_stride) & (MIN (pixel, 4) - 1)) != 0)
    sim_misuse ("%s got pixels that are not aligned", kernel->name);
  for (guint c = 1; c < p->n_components; c++)
    if (p->component[c].shift != p->component[0].shift
        || p->component[c].depth != p->component[0].depth)
      sim_misuse ("%s got components of two kinds", kernel->name);
  return TRUE;
}

static gboolean
check_sums (const SimKernel * kernel, const ConvolveSums * s)
{
  const ConvolveLaunchPicture *p = &s->picture;
  gsize bytes = (gsize) s->n_parts * s->pitch * 2 * sample_bytes (kernel);

  if (s->pitch != (p->width + 7u) / 8 * 8 * p->n_components
      || s->task_rows < 1 || s->task_rows > CONVOLVE_SUMS_TASK_ROWS
      || s->n_tasks != divide_up (p->row_end - p->row_begin, s->task_rows)
      || s->n_parts < s->n_tasks + (2 * s->reach_y + 1) / s->task_rows
      || p->row_begin < 0 || p->row_end > p->height) {
    sim_misuse ("%s got %u tasks of %u rows and %u parts", kernel->name,
        s->n_tasks, s->task_rows, s->n_parts);
    return FALSE;
  }
  return sim_check_rows ("parts", s->full, 0, 1, bytes)
      && sim_check_rows ("first parts", s->first, 0, 1, bytes)
      && sim_check_rows ("starts", s->starts, 0, 1,
      (gsize) s->n_tasks * s->pitch * 4)
      && sim_check_rows ("a kernel's source", p->src, p->src_stride, p->height,
      sim_row_bytes (p));
}

static guint
wanted_grid (const SimKernel * kernel, const ConvolveSums * s)
{
  const ConvolveLaunchPicture *p = &s->picture;

  switch (kernel->route) {
    case CONVOLVE_ROUTE_SUMS_PARTS:
      return s->n_parts * divide_up (divide_up ((guint64) p->width
              * p->pixel_step, 16), CONVOLVE_BLOCK_THREADS);
    case CONVOLVE_ROUTE_SUMS_STARTS:
      return divide_up (s->n_tasks, CONVOLVE_SUMS_CHUNK)
          * divide_up (s->pitch / 2, CONVOLVE_BLOCK_THREADS);
    default:
      return s->n_tasks * divide_up (p->width, s->strip);
  }
}

static void
check_launch (const SimKernel * kernel, const ConvolveSums * s, guint grid,
    guint shared_bytes)
{
  const ConvolveLaunchPicture *p = &s->picture;
  guint bytes = sample_bytes (kernel), threads = sim_sums_threads (kernel, s);

  if (grid != wanted_grid (kernel, s))
    sim_misuse ("%s got %u blocks", kernel->name, grid);
  if (kernel->route != CONVOLVE_ROUTE_SUMS)
    return;
  if (s->strip % CONVOLVE_SUMS_PIXELS (bytes, p->n_components) != 0
      || threads > CONVOLVE_SUMS_THREADS)
    sim_misuse ("%s got strips of %u pixels", kernel->name, s->strip);
  if (shared_bytes < convolve_sums_shared_bytes (bytes, p->n_components,
          threads))
    sim_misuse ("%s: %u bytes of shared memory are too few", kernel->name,
        shared_bytes);
}

/* ---- sums ---- */

/* Sample i of row y, which may be outside. */
static guint
sample (const ConvolveSums * s, guint i, gint64 y)
{
  const ConvolveLaunchPicture *p = &s->picture;
  guint c = i % p->n_components;
  gint row = sim_outside (s->border, y, p->height);

  return row < 0 ? p->component[c].edge :
      sim_read_sample (p, i / p->n_components, row, c);
}

/* Of n rows from y on. */
static guint
sum_rows (const ConvolveSums * s, guint i, gint64 y, guint n)
{
  guint sum = 0;

  for (guint k = 0; k < n; k++)
    sum += sample (s, i, y + k);
  return sum;
}

static void
put (const SimKernel * kernel, guint64 to, gsize at, guint sum)
{
  if (sample_bytes (kernel) == 2)
    ((guint32 *) (gsize) to)[at] = sum;
  else
    ((guint16 *) (gsize) to)[at] = sum;
  if (sample_bytes (kernel) == 1 && sum > G_MAXUINT16)
    sim_misuse ("%s: a sum of bytes is %u", kernel->name, sum);
}

static guint
get (const SimKernel * kernel, guint64 from, gsize at)
{
  return sample_bytes (kernel) == 2 ? ((guint32 *) (gsize) from)[at] :
      ((guint16 *) (gsize) from)[at];
}

static void
make_parts (const SimKernel * kernel, const ConvolveSums * s)
{
  const ConvolveLaunchPicture *p = &s->picture;
  guint first = (2 * s->reach_y + 1) % s->task_rows;

  for (guint k = 0; k < s->n_parts; k++)
    for (guint i = 0; i < row_samples (s); i++) {
      gint64 y = p->row_begin - s->reach_y + (gint64) k * s->task_rows;

      put (kernel, s->full, (gsize) k * s->pitch + i,
          sum_rows (s, i, y, s->task_rows));
      put (kernel, s->first, (gsize) k * s->pitch + i,
          sum_rows (s, i, y, first));
    }
}

/* Where the start of sample i is in its row. */
static guint
start_index (const SimKernel * kernel, const ConvolveSums * s, guint i)
{
  guint n = s->picture.n_components;

  return convolve_sums_start (sample_bytes (kernel), n, s->pitch, i / n)
      + i % n;
}

static void
make_starts (const SimKernel * kernel, const ConvolveSums * s)
{
  guint parts = (2 * s->reach_y + 1) / s->task_rows;

  for (guint k = 0; k < s->n_tasks; k++)
    for (guint i = 0; i < row_samples (s); i++) {
      guint sum = get (kernel, s->first, (gsize) (k + parts) * s->pitch + i);

      for (guint j = 0; j < parts; j++)
        sum += get (kernel, s->full, (gsize) (k + j) * s->pitch + i);
      ((guint32 *) (gsize) s->starts)[(gsize) k * s->pitch
          + start_index (kernel, s, i)] = sum;
    }
}

static guint
weight (gint i, gint reach, guint inner, guint end)
{
  return ABS (i) == reach ? end : inner;
}

/* C' of sample i around row y. */
static guint64
column_sum (const ConvolveSums * s, guint i, gint y)
{
  guint64 sum = 0;

  for (gint j = -s->reach_y; j <= s->reach_y; j++)
    sum += (guint64) weight (j, s->reach_y, s->inner_y, s->end_y)
        * sample (s, i, (gint64) y + j);
  return (sum + (1u << s->down >> 1)) >> s->down;
}

/* The same right and left of the picture. */
static guint64
edge_sum (const ConvolveSums * s, guint c)
{
  guint64 weights = (2 * (guint64) s->reach_y - 1) * s->inner_y + 2 * s->end_y;

  return ((guint64) s->picture.component[c].edge * weights
      + (1u << s->down >> 1)) >> s->down;
}

static guint64
window_sum (const ConvolveSums * s, const guint64 * columns, gint x, guint c)
{
  const ConvolveLaunchPicture *p = &s->picture;
  guint64 sum = 0;

  for (gint i = -s->reach_x; i <= s->reach_x; i++) {
    gint column = sim_outside (s->border, (gint64) x + i, p->width);

    sum += weight (i, s->reach_x, s->inner_x, s->end_x) * (column < 0 ?
        edge_sum (s, c) : columns[column * p->n_components + c]);
  }
  return sum;
}

static guint
result (const SimKernel * kernel, const ConvolveSums * s, guint64 sum, gint x,
    gint y, guint c)
{
  const ConvolveLaunchComponent *k = &s->picture.component[c];
  double most = (1u << k->depth) - 1;

  if (sum > G_MAXUINT32)
    sim_misuse ("%s: a sum of more than 32 bits", kernel->name);
  if (s->plain && (k->action != CONVOLVE_DO_FILTER || k->offset != 0
          || k->lo > 0 || k->hi < most))
    sim_misuse ("%s got more to do than to round", kernel->name);
  if (s->plain)
    return floor (ldexp ((double) sum * s->factor, -40) + 0.5);
  if (k->action == CONVOLVE_DO_FILL)
    return k->fill;
  if (k->action == CONVOLVE_DO_COPY)
    return sim_read_sample (&s->picture, x, y, c);
  return sim_rounded (k->offset + (double) k->gain * s->scale * sum, k->lo,
      k->hi);
}

/* A task begins with what the launches before have made. */
static void
check_starts (const SimKernel * kernel, const ConvolveSums * s, gint y)
{
  const ConvolveLaunchPicture *p = &s->picture;
  guint task = (y - p->row_begin) / s->task_rows;
  const guint32 *starts =
      (const guint32 *) (gsize) s->starts + (gsize) task * s->pitch;

  if ((y - p->row_begin) % s->task_rows != 0)
    return;
  for (guint i = 0; i < row_samples (s); i++) {
    guint start = starts[start_index (kernel, s, i)];

    if (start != sum_rows (s, i, (gint64) y - s->reach_y, 2 * s->reach_y + 1)) {
      sim_misuse ("%s: the start %u of row %d is %u", kernel->name, i, y,
          start);
      return;
    }
  }
}

static void
make_rows (const SimKernel * kernel, const ConvolveSums * s)
{
  const ConvolveLaunchPicture *p = &s->picture;
  guint n = row_samples (s);
  guint64 *columns = g_new (guint64, n);

  for (gint y = p->row_begin; y < p->row_end; y++) {
    check_starts (kernel, s, y);
    for (guint i = 0; i < n; i++)
      columns[i] = column_sum (s, i, y);
    for (gint x = 0; x < p->width; x++) {
      guint samples[4];

      for (guint c = 0; c < p->n_components; c++)
        samples[c] = result (kernel, s, window_sum (s, columns, x, c), x, y, c);
      sim_write_pixel (p, x, y, samples);
    }
  }
  g_free (columns);
}

void
sim_run_sums (const SimKernel * kernel, const ConvolveSums * s, guint grid,
    guint shared_bytes)
{
  const ConvolveLaunchPicture *p = &s->picture;

  if (!check_samples (kernel, s) || !check_sums (kernel, s))
    return;
  check_launch (kernel, s, grid, shared_bytes);
  if (kernel->route == CONVOLVE_ROUTE_SUMS_PARTS)
    make_parts (kernel, s);
  else if (kernel->route == CONVOLVE_ROUTE_SUMS_STARTS)
    make_starts (kernel, s);
  else if (sim_check_rows ("a kernel's target",
          p->dst + (gint64) p->row_begin * p->dst_stride, p->dst_stride,
          p->row_end - p->row_begin, sim_row_bytes (p)))
    make_rows (kernel, s);
}
