/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "refstencils.h"

#include <math.h>

#include "reference.h"

typedef struct
{
  gint w, h;
  ConvolveBorder border;
  gdouble edge;
  gdouble *v;
} Plane;

static gdouble
plane_get (const Plane * p, gint x, gint y)
{
  gint sx = reference_border (p->border, x, p->w);
  gint sy = reference_border (p->border, y, p->h);

  return sx < 0 || sy < 0 ? p->edge : p->v[(gsize) sy * p->w + sx];
}

/* ---- diffusion ---- */

static gdouble
flow (gdouble d, gdouble k)
{
  return d / (1 + pow (d / k, 2));
}

void
ref_diffuse (const gdouble * in, gint width, gint height,
    ConvolveBorder border, gdouble edge, gdouble amount, gdouble k,
    gdouble * out)
{
  Plane p = { width, height, border, edge, (gdouble *) in };
  gdouble l = fmin (fmax (amount, 0), 1.25) / 5;

  for (gint y = 0; y < height; y++) {
    for (gint x = 0; x < width; x++) {
      gdouble v = plane_get (&p, x, y);
      gdouble rows = flow (plane_get (&p, x, y - 1) - v, k)
          + flow (plane_get (&p, x, y + 1) - v, k);
      gdouble columns = flow (plane_get (&p, x - 1, y) - v, k)
          + flow (plane_get (&p, x + 1, y) - v, k);

      out[(gsize) y * width + x] = k > 0 ? v + l * (rows + columns) : v;
    }
  }
}

/* ---- detail ---- */

static Plane
plane_new (const Plane * like, gint w, gint h)
{
  Plane p = { w, h, like->border, like->edge, g_new (gdouble, (gsize) w * h) };

  return p;
}

static Plane
coarser (const Plane * fine)
{
  static const gdouble c[5] = { 1, 4, 6, 4, 1 };
  Plane p = plane_new (fine, (fine->w + 1) / 2, (fine->h + 1) / 2);

  for (gint y = 0; y < p.h; y++) {
    for (gint x = 0; x < p.w; x++) {
      gdouble sum = 0;

      for (gint j = -2; j <= 2; j++)
        for (gint i = -2; i <= 2; i++)
          sum += c[i + 2] * c[j + 2] * plane_get (fine, 2 * x + i, 2 * y + j);
      p.v[(gsize) y * p.w + x] = sum / 256;
    }
  }
  return p;
}

/* The weight of coarse pixel j in fine pixel i, along an axis. */
static gdouble
expansion (gint i, gint j)
{
  gint distance = ABS (2 * j - i);

  return distance == 0 ? 0.75 : distance == 1 ? 0.5 : distance == 2 ? 0.125 : 0;
}

static gdouble
expanded (const Plane * coarse, gint x, gint y)
{
  gdouble sum = 0;

  for (gint j = y / 2 - 1; j <= y / 2 + 1; j++)
    for (gint i = x / 2 - 1; i <= x / 2 + 1; i++)
      sum += expansion (x, i) * expansion (y, j) * plane_get (coarse, i, j);
  return sum;
}

/* R of a level, whose G is g. */
static Plane
rebuild (const Plane * g, gint n, const gdouble * gain, gdouble t)
{
  Plane r = plane_new (g, g->w, g->h), next, next_r;

  if (n == 0 || (g->w == 1 && g->h == 1)) {
    for (gsize i = 0; i < (gsize) g->w * g->h; i++)
      r.v[i] = g->v[i];
    return r;
  }
  next = coarser (g);
  next_r = rebuild (&next, n - 1, gain + 1, t);
  for (gint y = 0; y < g->h; y++) {
    for (gint x = 0; x < g->w; x++) {
      gdouble d = plane_get (g, x, y) - expanded (&next, x, y);
      gdouble soft = d > t ? d - t : d < -t ? d + t : 0;

      r.v[(gsize) y * g->w + x] =
          expanded (&next_r, x, y) + d + (gain[0] - 1) * soft;
    }
  }
  g_free (next.v);
  g_free (next_r.v);
  return r;
}

void
ref_detail (const gdouble * in, gint width, gint height,
    ConvolveBorder border, gdouble edge, gint n, const gdouble * gain,
    gdouble t, gdouble * out)
{
  Plane g = { width, height, border, edge, (gdouble *) in };
  Plane r = rebuild (&g, n, gain, t);

  for (gsize i = 0; i < (gsize) width * height; i++)
    out[i] = r.v[i];
  g_free (r.v);
}
