/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The weights of filters that are plain means of an area: box, disk, motion. */
#include "config.h"

#include <math.h>

#include "filter-builders.h"
#include "filter-private.h"

#define MAX_RADIUS 1024

/* The radius of docs/filters.md for radius = -1. */
static gint
radius_of (const ConvolveSettings * settings, gboolean disk)
{
  gdouble sigma = settings->sigma, radius;

  if (settings->radius >= 0)
    return settings->radius;
  radius = disk ? 2 * sigma : (sqrt (12 * sigma * sigma + 1) - 1) / 2;
  return (gint) MIN (round (radius), MAX_RADIUS);
}

/* How much of each pixel lies within length / 2 of the centre. */
static ConvolveMatrix *
box_line (gdouble length, gboolean column)
{
  guint half = (guint) MAX (ceil (length / 2 - 0.5), 0);
  g_autofree gdouble *weights = convolve_line_new (half);

  weights[half] = MIN (length, 1) / length;
  for (guint i = 1; i <= half; i++)
    weights[half + i] = weights[half - i] =
        MIN (length / 2 - (i - 0.5), 1) / length;
  return convolve_line_matrix (column, 2 * half + 1, weights);
}

gboolean
convolve_build_box (const ConvolveSettings * settings,
    const ConvolvePlaneScale * scale, ConvolveOperation * operation,
    GError ** error)
{
  gdouble length = 2.0 * radius_of (settings, FALSE) + 1;

  convolve_add_separable (operation, box_line (length / scale->sub_x, FALSE),
      box_line (length / scale->sub_y, TRUE));
  return TRUE;
}

gboolean
convolve_build_disk (const ConvolveSettings * settings,
    const ConvolvePlaneScale * scale, ConvolveOperation * operation,
    GError ** error)
{
  gdouble r = radius_of (settings, TRUE) + 0.5;
  gdouble rx = r / scale->sub_x, ry = r / scale->sub_y;
  guint half_x = (guint) MAX (ceil (rx - 0.5), 0);
  guint half_y = (guint) MAX (ceil (ry - 0.5), 0);
  gsize width = 2 * half_x + 1, height = 2 * half_y + 1;
  g_autofree gdouble *weights = g_new0 (gdouble, width * height);
  ConvolveMatrix *matrix;

  /* One quadrant; the pixels on an axis have the other half of their area in
   * the next one. */
  for (guint j = 0; j <= half_y; j++) {
    for (guint i = 0; i <= half_x; i++) {
      gdouble area =
          convolve_ellipse_area (rx, ry, i > 0 ? i - 0.5 : 0, i + 0.5,
          j > 0 ? j - 0.5 : 0, j + 0.5) * (i > 0 ? 1 : 2) * (j > 0 ? 1 : 2);

      weights[(half_y + j) * width + half_x + i] = area;
      weights[(half_y + j) * width + half_x - i] = area;
      weights[(half_y - j) * width + half_x + i] = area;
      weights[(half_y - j) * width + half_x - i] = area;
    }
  }
  matrix = convolve_matrix_new (width, height, weights);
  convolve_make_sum_one (&matrix);
  convolve_add_direct (operation, matrix);
  return TRUE;
}

/* Splits a position into a whole pixel and the share of the next one. A hair
 * beside a pixel, as rounding leaves it, is on it: else it would widen the
 * matrix by weights of nothing. */
static gint
split_position (gdouble position, gdouble * share)
{
  gdouble nearest = round (position), low = floor (position);

  if (fabs (position - nearest) < 1e-12)
    low = position = nearest;
  *share = position - low;
  return (gint) low;
}

gboolean
convolve_build_motion (const ConvolveSettings * settings,
    const ConvolvePlaneScale * scale, ConvolveOperation * operation,
    GError ** error)
{
  gint radius = radius_of (settings, FALSE), half_x, half_y;
  gdouble cosine, sine, weight = 1.0 / (2.0 * radius + 1);
  g_autofree gdouble *weights = NULL;
  gsize width, height, n;

  convolve_cos_sin_degrees (settings->angle, &cosine, &sine);
  cosine /= scale->sub_x;
  sine /= scale->sub_y;
  half_x = (gint) ceil (fabs (radius * cosine)) + 1;
  half_y = (gint) ceil (fabs (radius * sine)) + 1;
  width = 2 * half_x + 1;
  height = 2 * half_y + 1;
  n = width * height;
  weights = g_new0 (gdouble, n);

  /* The line is its own mirror image; adding both ends at once keeps the
   * weights so to the last bit. */
  weights[n / 2] = weight;
  for (gint t = 1; t <= radius; t++) {
    gdouble u, v;
    gint x = split_position (t * cosine, &u);
    gint y = split_position (-t * sine, &v);
    gsize at = (half_y + y) * width + half_x + x;
    const gdouble part[4] = { (1 - u) * (1 - v), u * (1 - v), (1 - u) * v,
      u * v
    };

    for (guint i = 0; i < 4; i++) {
      gsize k = at + (i & 1) + (i >> 1) * width;

      weights[k] += part[i] * weight;
      weights[n - 1 - k] += part[i] * weight;
    }
  }
  convolve_add_direct (operation, convolve_matrix_new (width, height, weights));
  return TRUE;
}
