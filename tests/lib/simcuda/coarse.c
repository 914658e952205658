/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* From samples to a coarse grid and back (SHRINK and GROW of cuda/params.h),
 * plainly and in double. */
#include <math.h>

#include "samples.h"
#include "sim.h"

/* The ways in which three numbers below step sum up to i - 1. */
static double
box_weight (gint step, gint i)
{
  gint ways = 0;

  for (gint a = 0; a < step; a++)
    for (gint b = 0; b < step; b++)
      if (i - 1 - a - b >= 0 && i - 1 - a - b < step)
        ways++;
  return ways / pow (step, 3);
}

static double
tap (const ConvolveStage * s, gint64 x, gint64 y, guint c)
{
  gint column = sim_outside (s->border, x, s->picture.width);
  gint row = sim_outside (s->border, y, s->picture.height);

  return column < 0 || row < 0 ? s->picture.component[c].edge :
      sim_read_sample (&s->picture, column, row, c);
}

/* One component: rows first, each of them once. */
static void
shrink (const ConvolveStage * s, gint step, guint c)
{
  gint rows = (s->other_height + 2) * step, width = s->other_width;
  g_autofree double *lines = g_new0 (double, (gsize) rows * width);
  g_autofree double *weights = g_new (double, 3 * step);
  float *out = (float *) (gsize) s->out;

  for (gint i = 0; i < 3 * step; i++)
    weights[i] = box_weight (step, i);
  for (gint j = 0; j < rows; j++)
    for (gint x = 0; x < width; x++)
      for (gint i = 0; i < 3 * step; i++)
        lines[j * width + x] += weights[i] * tap (s,
            ((gint64) x - s->ax - 1) * step + i,
            ((gint64) - s->ay - 1) * step + j, c);
  for (gint y = 0; y < s->other_height; y++)
    for (gint x = 0; x < width; x++) {
      double sum = 0;

      for (gint j = 0; j < 3 * step; j++)
        sum += weights[j] * lines[(y * step + j) * width + x];
      out[((gsize) c * s->other_height + y) * width + x] = sum;
    }
}

/* A quadratic B-spline at distance t. */
static double
spline (double t)
{
  t = fabs (t);
  return t <= 0.5 ? 0.75 - t * t : t < 1.5 ? (1.5 - t) * (1.5 - t) / 2 : 0;
}

static double
grown (const ConvolveStage * s, gint step, gint x, gint y, guint c)
{
  const float *in = (const float *) (gsize) s->in;
  double fx = (x + 0.5) / step - 0.5, fy = (y + 0.5) / step - 0.5, sum = 0;

  for (gint j = y / step - 1; j <= y / step + 1; j++)
    for (gint i = x / step - 1; i <= x / step + 1; i++)
      sum += spline (fx - i) * spline (fy - j)
          * in[((gsize) c * s->other_height + j + s->ay) * s->other_width
          + i + s->ax];
  return sum;
}

static void
grow (const ConvolveStage * s, gint step, gint x, gint y)
{
  const ConvolveLaunchPicture *p = &s->picture;
  guint sample[4];

  for (guint c = 0; c < p->n_components; c++) {
    const ConvolveLaunchComponent *k = &p->component[c];

    if (k->action == CONVOLVE_DO_COPY)
      sample[c] = sim_read_sample (p, x, y, c);
    else
      sample[c] = sim_rounded (k->offset + k->gain * grown (s, step, x, y, c),
          k->lo, k->hi);
  }
  sim_write_pixel (p, x, y, sample);
}

static gboolean
check (const SimKernel * kernel, const ConvolveStage * s)
{
  const ConvolveLaunchPicture *p = &s->picture;
  gboolean up = s->op == CONVOLVE_STAGE_GROW;
  gint step = kernel->taps;

  if (s->op != kernel->route - CONVOLVE_ROUTE_STAGE_LOAD || s->weighted
      || s->wide || p->store != CONVOLVE_STORE_U8 || !p->contiguous)
    sim_misuse ("%s got operation %u of other samples", kernel->name, s->op);
  for (guint c = 0; c < p->n_components; c++)
    if (p->component[c].action == CONVOLVE_DO_FILL)
      sim_misuse ("%s cannot fill", kernel->name);
  if (up && (s->ax < 1 || s->ay < 1
          || s->ax + (p->width - 1) / step + 1 >= s->other_width
          || s->ay + (p->height - 1) / step + 1 >= s->other_height)) {
    sim_misuse ("%s has too small a grid", kernel->name);
    return FALSE;
  }
  /* Four columns of two pixels each may begin beyond the picture. */
  if (up && step < 4 && s->ax + (p->width + 3) / 4 * 4 / step >= s->other_width)
    sim_misuse ("%s reads beyond its grid", kernel->name);
  return sim_check_rows ("a grid", up ? s->in : s->out, 0, 1,
      (gsize) s->other_width * s->other_height * p->n_components * 4)
      && sim_check_rows ("a grid's source", p->src, p->src_stride, p->height,
      sim_row_bytes (p)) && (!up || sim_check_rows ("a grid's target", p->dst,
          p->dst_stride, p->height, sim_row_bytes (p)));
}

void
sim_run_coarse (const SimKernel * kernel, const ConvolveStage * s)
{
  if (!check (kernel, s))
    return;
  if (s->op == CONVOLVE_STAGE_SHRINK) {
    for (guint c = 0; c < s->picture.n_components; c++)
      shrink (s, kernel->taps, c);
    return;
  }
  for (gint y = 0; y < s->picture.height; y++)
    for (gint x = 0; x < s->picture.width; x++)
      grow (s, kernel->taps, x, y);
}
