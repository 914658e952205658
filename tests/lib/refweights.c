/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The reference's weights, written from docs/filters.md alone. */
#include "refweights.h"

#include <math.h>
#include <string.h>

/* ---- lines and terms ---- */

static RefLine
line_new (gint reach)
{
  RefLine line = { -reach, 2 * reach + 1, NULL };

  line.w = g_new0 (gdouble, line.n);
  return line;
}

static RefLine
line_copy (gint n, const gdouble * w, gdouble factor)
{
  RefLine line = { -(n / 2), n, NULL };

  line.w = g_new0 (gdouble, n);
  for (gint i = 0; i < n; i++)
    line.w[i] = w[i] * factor;
  return line;
}

static gdouble
line_sum (const RefLine * line)
{
  long double sum = 0;

  for (gint i = 0; i < line->n; i++)
    sum += line->w[i];
  return (gdouble) sum;
}

static void
line_scale (RefLine * line, gdouble factor)
{
  for (gint i = 0; i < line->n; i++)
    line->w[i] *= factor;
}

static void
add_lines (RefFilter * filter, RefLine x, RefLine y)
{
  RefTerm *term = &filter->term[filter->n_terms++];

  term->x = x;
  term->y = y;
}

/* A width x height matrix as it is written, times factor. */
static void
add_full (RefFilter * filter, gint width, gint height, const gdouble * w,
    gdouble factor)
{
  RefTerm *term = &filter->term[filter->n_terms++];

  term->x.first = -(width / 2);
  term->x.n = width;
  term->y.first = -(height / 2);
  term->y.n = height;
  term->full = g_new0 (gdouble, width * height);
  for (gint i = 0; i < width * height; i++)
    term->full[i] = w[i] * factor;
}

gdouble
ref_term_weight (const RefTerm * term, gint dx, gint dy)
{
  gint i = dx - term->x.first, j = dy - term->y.first;

  if (i < 0 || j < 0 || i >= term->x.n || j >= term->y.n)
    return 0;
  return term->full != NULL ? term->full[j * term->x.n + i] :
      term->x.w[i] * term->y.w[j];
}

/* ---- filters with a length ---- */

/* exp (-i^2 / 2 s^2) up to the reach, divided by its sum. */
static RefLine
gaussian (gdouble s, gdouble cut)
{
  RefLine line = line_new ((gint) ceil (cut * s));

  for (gint i = 0; i < line.n; i++) {
    gdouble distance = i + line.first;

    line.w[i] = distance == 0 ? 1 : exp (-(distance / s) * (distance / s) / 2);
  }
  line_scale (&line, 1 / line_sum (&line));
  return line;
}

/* h of log: the curvature of a gaussian, without its sum. */
static RefLine
curvature (gdouble s)
{
  RefLine g = gaussian (s, 4), h = line_new (-g.first);
  gdouble sum;

  for (gint i = 0; i < h.n; i++) {
    gdouble u = (i + h.first) / s;

    h.w[i] = (u * u - 1) / s / s * g.w[i];
  }
  sum = line_sum (&h);
  for (gint i = 0; i < h.n; i++)
    h.w[i] -= sum * g.w[i];
  g_free (g.w);
  return h;
}

static RefLine
box (gdouble length)
{
  RefLine line = line_new ((gint) ceil (length / 2));

  for (gint i = 0; i < line.n; i++) {
    gdouble at = i + line.first;
    gdouble overlap = fmin (at + 0.5, length / 2) - fmax (at - 0.5,
        -length / 2);

    line.w[i] = fmax (overlap, 0) / length;
  }
  return line;
}

#define GAUSS_POINTS 16

/* Nodes and weights of Gauss-Legendre quadrature on [-1, 1]. */
static void
gauss_legendre (gdouble * node, gdouble * weight)
{
  for (gint i = 0; i < GAUSS_POINTS; i++) {
    gdouble x = cos (G_PI * (i + 0.75) / (GAUSS_POINTS + 0.5)), slope = 1;

    for (gint step = 0; step < 50; step++) {
      gdouble p0 = 1, p1 = x;

      for (gint k = 2; k <= GAUSS_POINTS; k++) {
        gdouble p2 = ((2 * k - 1) * x * p1 - (k - 1) * p0) / k;

        p0 = p1;
        p1 = p2;
      }
      slope = GAUSS_POINTS * (x * p1 - p0) / (x * x - 1);
      x -= p1 / slope;
    }
    node[i] = x;
    weight[i] = 2 / ((1 - x * x) * slope * slope);
  }
}

static int
compare_doubles (const void *a, const void *b)
{
  gdouble x = *(const gdouble *) a, y = *(const gdouble *) b;

  return (x > y) - (x < y);
}

/* The area of pixel (i, j) inside the ellipse: its width at height ry sin t,
 * integrated over t between the angles where that width has a kink. */
static gdouble
ellipse_pixel (gdouble rx, gdouble ry, gint i, gint j)
{
  static gdouble node[GAUSS_POINTS], weight[GAUSS_POINTS];
  gdouble cuts[6], area = 0;
  guint n = 0;

  if (weight[0] == 0)
    gauss_legendre (node, weight);
  cuts[n++] = asin (CLAMP ((j - 0.5) / ry, -1, 1));
  cuts[n++] = asin (CLAMP ((j + 0.5) / ry, -1, 1));
  for (gint side = -1; side <= 1; side += 2) {
    gdouble ratio = fabs ((i + side * 0.5) / rx);

    if (ratio < 1) {
      gdouble angle = acos (ratio), lo = cuts[0], hi = cuts[1];

      cuts[n++] = CLAMP (angle, lo, hi);
      cuts[n++] = CLAMP (-angle, lo, hi);
    }
  }
  qsort (cuts, n, sizeof (*cuts), compare_doubles);
  for (guint k = 0; k + 1 < n; k++) {
    gdouble middle = (cuts[k] + cuts[k + 1]) / 2;
    gdouble half = (cuts[k + 1] - cuts[k]) / 2;

    for (gint p = 0; p < GAUSS_POINTS; p++) {
      gdouble t = middle + half * node[p], reach = rx * cos (t);
      gdouble wide = fmin (i + 0.5, reach) - fmax (i - 0.5, -reach);

      area += weight[p] * half * fmax (wide, 0) * ry * cos (t);
    }
  }
  return area;
}

static void
add_disk (RefFilter * filter, gdouble rx, gdouble ry)
{
  gint reach_x = (gint) ceil (rx), reach_y = (gint) ceil (ry);
  gint width = 2 * reach_x + 1, height = 2 * reach_y + 1;
  g_autofree gdouble *w = g_new0 (gdouble, width * height);
  gdouble sum = 0;

  for (gint j = 0; j < height; j++)
    for (gint i = 0; i < width; i++)
      sum += w[j * width + i] =
          ellipse_pixel (rx, ry, i - reach_x, j - reach_y);
  add_full (filter, width, height, w, 1 / sum);
}

/* What rounding leaves of the cosine of a right angle is nothing. */
static gdouble
tidy (gdouble value)
{
  return fabs (value) < 1e-14 ? 0 : value;
}

static void
add_motion (RefFilter * filter, gint radius, gdouble degrees, gdouble sx,
    gdouble sy)
{
  gdouble cosine = tidy (cos (degrees * G_PI / 180)) / sx;
  gdouble sine = tidy (sin (degrees * G_PI / 180)) / sy;
  gint reach_x = (gint) ceil (radius * fabs (cosine)) + 1;
  gint reach_y = (gint) ceil (radius * fabs (sine)) + 1;
  gint width = 2 * reach_x + 1, height = 2 * reach_y + 1;
  g_autofree gdouble *w = g_new0 (gdouble, width * height);

  for (gint t = -radius; t <= radius; t++) {
    gdouble px = t * cosine, py = -t * sine;

    for (gint y = (gint) floor (py) - 1; y <= (gint) floor (py) + 2; y++)
      for (gint x = (gint) floor (px) - 1; x <= (gint) floor (px) + 2; x++) {
        gdouble part = tidy (fmax (1 - fabs (x - px), 0))
            * tidy (fmax (1 - fabs (y - py), 0));

        if (part > 0)
          w[(y + reach_y) * width + x + reach_x] += part;
      }
  }
  add_full (filter, width, height, w, 1 / (2.0 * radius + 1));
}

static gint
radius_of (const ConvolveSettings * s)
{
  gdouble radius;

  if (s->radius >= 0)
    return s->radius;
  if (s->filter == CONVOLVE_FILTER_DISK)
    radius = round (2 * s->sigma);
  else
    radius = round ((sqrt (12 * s->sigma * s->sigma + 1) - 1) / 2);
  return (gint) fmin (radius, 1024);
}

/* ---- fixed and custom ---- */

static const gdouble identity3[9] = { 0, 0, 0, 0, 1, 0, 0, 0, 0 };
static const gdouble laplace5[9] = { 0, 1, 0, 1, -4, 1, 0, 1, 0 };
static const gdouble laplace9[9] = { 1, 1, 1, 1, -8, 1, 1, 1, 1 };

static void
add_mix (RefFilter * filter, const gdouble * a, gdouble fa, const gdouble * b,
    gdouble fb)
{
  gdouble w[9];

  for (guint i = 0; i < 9; i++)
    w[i] = fa * a[i] + fb * b[i];
  add_full (filter, 3, 3, w, 1);
}

static void
add_gradient (RefFilter * filter, const ConvolveSettings * s, gint n,
    const gdouble * gx, const gdouble * gy)
{
  if (s->gradient == CONVOLVE_GRADIENT_MAGNITUDE)
    filter->combine = REF_MAGNITUDE;
  if (s->gradient != CONVOLVE_GRADIENT_Y)
    add_full (filter, n, n, gx, 1);
  if (s->gradient != CONVOLVE_GRADIENT_X)
    add_full (filter, n, n, gy, 1);
}

static void
add_three_by_three (RefFilter * filter, const ConvolveSettings * s,
    gdouble side, gdouble middle)
{
  const gdouble gx[9] = { -side, 0, side, -middle, 0, middle, -side, 0, side };
  const gdouble gy[9] = { -side, -middle, -side, 0, 0, 0, side, middle, side };

  add_gradient (filter, s, 3, gx, gy);
}

static void
add_emboss (RefFilter * filter, const ConvolveSettings * s)
{
  static const gdouble gx[9] = { -1, 0, 1, -2, 0, 2, -1, 0, 1 };
  static const gdouble gy[9] = { -1, -2, -1, 0, 0, 0, 1, 2, 1 };
  gdouble a = s->angle * G_PI / 180;

  add_mix (filter, gx, s->amount * tidy (cos (a)) / 4, gy,
      -s->amount * tidy (sin (a)) / 4);
}

static void
add_custom (RefFilter * filter, const ConvolveSettings * s)
{
  static const gdouble one[1] = { 1 };
  const ConvolveMatrix *k = s->kernel, *x = s->kernel_x, *y = s->kernel_y;
  gint width = k != NULL ? k->width : x != NULL ? x->width : 1;
  gint height = k != NULL ? k->height : y != NULL ? y->height : 1;
  const gdouble *row = x != NULL ? x->weights : one;
  const gdouble *column = y != NULL ? y->weights : one;
  g_autofree gdouble *w = g_new0 (gdouble, width * height);
  long double sum = 0, l1 = 0;

  for (gint i = 0; i < width * height; i++) {
    w[i] = k != NULL ? k->weights[i] : row[i % width] * column[i / width];
    sum += w[i];
    l1 += fabs (w[i]);
  }
  if (!s->normalize || fabsl (sum) <= 1e-9L * l1)
    sum = 1;
  if (k != NULL)
    add_full (filter, width, height, w, (gdouble) (1 / sum));
  else
    add_lines (filter, line_copy (width, row, (gdouble) (1 / sum)),
        line_copy (height, column, 1));
}

/* ---- the filters ---- */

static void
build_lengths (RefFilter * filter, const ConvolveSettings * s, gdouble sx,
    gdouble sy)
{
  gdouble gx = s->sigma / sx;
  gdouble gy = (s->sigma_y < 0 ? s->sigma : s->sigma_y) / sy;
  gdouble diameter = 2.0 * radius_of (s) + 1;

  switch (s->filter) {
    case CONVOLVE_FILTER_UNSHARP:
      filter->combine = REF_UNSHARP;
      /* fall through */
    case CONVOLVE_FILTER_GAUSSIAN:
      add_lines (filter, gaussian (gx, 3), gaussian (gy, 3));
      break;
    case CONVOLVE_FILTER_DOG:
      add_lines (filter, gaussian (gx, 3), gaussian (gy, 3));
      add_lines (filter, gaussian (1.6 * gx, 3), gaussian (1.6 * gy, 3));
      line_scale (&filter->term[0].x, s->amount);
      line_scale (&filter->term[1].x, -s->amount);
      break;
    case CONVOLVE_FILTER_LOG:
      if (gx == 0 || gy == 0) {
        add_full (filter, 3, 3, laplace5, s->amount);
        break;
      }
      add_lines (filter, curvature (gx), gaussian (gy, 4));
      add_lines (filter, gaussian (gx, 4), curvature (gy));
      line_scale (&filter->term[0].x, s->amount);
      line_scale (&filter->term[1].x, s->amount);
      break;
    case CONVOLVE_FILTER_BOX:
      add_lines (filter, box (diameter / sx), box (diameter / sy));
      break;
    case CONVOLVE_FILTER_DISK:
      add_disk (filter, diameter / 2 / sx, diameter / 2 / sy);
      break;
    default:
      add_motion (filter, radius_of (s), s->angle, sx, sy);
  }
}

/* A plane that is coarser than luma begins at a later level. */
static void
build_detail (RefFilter * filter, const ConvolveSettings * s, gdouble coarser)
{
  const ConvolveMatrix *gains = s->detail_gains;
  gint skipped = (gint) lrint (log2 (coarser));

  filter->combine = REF_DETAIL;
  for (gint l = skipped; l < s->levels; l++) {
    gint last = gains != NULL ? (gint) gains->width - 1 : 0;
    gdouble gain = gains != NULL ? gains->weights[l < last ? l : last] : 2;

    filter->gain[filter->levels++] = 1 + s->amount * (gain - 1);
  }
}

static void
build (RefFilter * filter, const ConvolveSettings * s, gdouble sx, gdouble sy)
{
  static const gdouble roberts_x[4] = { 1, 0, 0, -1 };
  static const gdouble roberts_y[4] = { 0, 1, -1, 0 };

  switch (s->filter) {
    case CONVOLVE_FILTER_IDENTITY:
      add_full (filter, 3, 3, identity3, 1);
      break;
    case CONVOLVE_FILTER_CUSTOM:
      add_custom (filter, s);
      break;
    case CONVOLVE_FILTER_SHARPEN:
      add_mix (filter, identity3, 1, laplace5, -s->amount);
      break;
    case CONVOLVE_FILTER_LAPLACIAN:
      add_full (filter, 3, 3, laplace5, s->amount);
      break;
    case CONVOLVE_FILTER_LAPLACIAN8:
      add_full (filter, 3, 3, laplace9, s->amount);
      break;
    case CONVOLVE_FILTER_SOBEL:
      add_three_by_three (filter, s, 1, 2);
      break;
    case CONVOLVE_FILTER_SCHARR:
      add_three_by_three (filter, s, 3, 10);
      break;
    case CONVOLVE_FILTER_PREWITT:
      add_three_by_three (filter, s, 1, 1);
      break;
    case CONVOLVE_FILTER_ROBERTS:
      add_gradient (filter, s, 2, roberts_x, roberts_y);
      break;
    case CONVOLVE_FILTER_EMBOSS:
      add_emboss (filter, s);
      break;
    case CONVOLVE_FILTER_DETAIL:
      build_detail (filter, s, fmax (sx, sy));
      break;
    case CONVOLVE_FILTER_DIFFUSE:
      filter->combine = REF_DIFFUSE;
      break;
    default:
      build_lengths (filter, s, sx, sy);
  }
}

static void
measure (RefFilter * filter)
{
  long double sum = 0, l1 = 0;

  if (filter->combine == REF_DIFFUSE || filter->combine == REF_DETAIL) {
    /* No test has a larger picture. */
    gint reach = filter->combine == REF_DIFFUSE ? 1 :
        4 << MIN (filter->levels, 8);

    filter->left = filter->above = filter->right = filter->below = reach;
    filter->sum = filter->l1 = 1;
    filter->has_negative = TRUE;
    return;
  }
  for (guint t = 0; t < filter->n_terms; t++) {
    const RefTerm *term = &filter->term[t];

    filter->left = MAX (filter->left, -term->x.first);
    filter->above = MAX (filter->above, -term->y.first);
    filter->right = MAX (filter->right, term->x.first + term->x.n - 1);
    filter->below = MAX (filter->below, term->y.first + term->y.n - 1);
  }
  for (gint y = -filter->above; y <= filter->below; y++) {
    for (gint x = -filter->left; x <= filter->right; x++) {
      for (guint t = 0; t < filter->n_terms; t++) {
        gdouble w = ref_term_weight (&filter->term[t], x, y);

        l1 += fabs (w);
        sum += w;
        /* Of any part: dog is no mean even where its two cancel out. */
        filter->has_negative |= w < 0;
      }
    }
  }
  filter->l1 = (gdouble) l1;
  filter->sum = filter->combine == REF_MAGNITUDE ? 0 :
      filter->combine == REF_UNSHARP ? 1 : (gdouble) sum;
}

RefFilter *
ref_filter_new (const ConvolveSettings * settings, guint w_sub, guint h_sub)
{
  RefFilter *filter = g_new0 (RefFilter, 1);

  build (filter, settings, 1 << w_sub, 1 << h_sub);
  measure (filter);
  return filter;
}

void
ref_filter_free (RefFilter * filter)
{
  for (guint t = 0; t < filter->n_terms; t++) {
    g_free (filter->term[t].x.w);
    g_free (filter->term[t].y.w);
    g_free (filter->term[t].full);
  }
  g_free (filter);
}
