/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How much of a pixel an ellipse covers, for the weights of disk. The ellipse
 * is scaled to the unit circle, and an arc of it integrated in closed form. */
#include "config.h"

#include <math.h>

#include "filter-private.h"

/* A point of the unit circle's first quadrant. */
typedef struct
{
  gdouble x, y;
} CirclePoint;

/* The point of the circle above position p of a radius r. The subtraction
 * happens in pixels, where it is exact: near the rim, r - p would lose digits
 * once divided. */
static CirclePoint
circle_point (gdouble p, gdouble r)
{
  CirclePoint point = { p / r, sqrt ((r - p) * (r + p)) / r };

  return point;
}

/* The same to the right of position p on the y axis. */
static CirclePoint
circle_beside (gdouble p, gdouble r)
{
  CirclePoint point = { sqrt ((r - p) * (r + p)) / r, p / r };

  return point;
}

/* The area between the arc from a to b (a.x <= b.x) and the x axis: a
 * trapezoid and the circular segment on its chord. The segment of angle t,
 * (t - sin t) / 2, is a series for small t, where the difference would
 * cancel. */
static gdouble
arc_area (CirclePoint a, CirclePoint b)
{
  gdouble dx = b.x - a.x, dy = b.y - a.y;
  gdouble half_chord = MIN (hypot (dx, dy) / 2, 1);
  gdouble t = 2 * asin (half_chord), segment;

  if (t < 0.1)
    segment = t * t * t / 12
        * (1 - t * t / 20 * (1 - t * t / 42 * (1 - t * t / 72)));
  else
    segment = (t - sin (t)) / 2;
  return dx * (a.y + b.y) / 2 + segment;
}

gdouble
convolve_ellipse_area (gdouble rx, gdouble ry, gdouble x0, gdouble x1,
    gdouble y0, gdouble y1)
{
  CirclePoint from, to, p;
  gdouble area = 0, x_low = x0 / rx, y_low = y0 / ry;

  if (x0 >= rx || y0 >= ry)
    return 0;
  from = circle_point (x0, rx);
  if (from.y <= y_low)
    return 0;
  to = circle_point (MIN (x1, rx), rx);

  /* Where the arc leaves through the upper side: left of it the whole
   * height is inside. */
  if (y1 < ry) {
    p = circle_beside (y1, ry);
    if (p.x >= to.x)
      return (to.x - x_low) * (p.y - y_low) * rx * ry;
    if (p.x > from.x) {
      area = (p.x - x_low) * (p.y - y_low);
      from = p;
    }
  }
  /* Where it leaves through the lower side: right of it nothing is. */
  p = circle_beside (y0, ry);
  if (p.x < to.x)
    to = p;

  area += arc_area (from, to) - (to.x - from.x) * y_low;
  return MAX (area, 0) * rx * ry;
}
