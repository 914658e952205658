/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <math.h>

#include "box.h"

#define ALIKE 1e-9
#define MAX_INNER 8

gboolean
convolve_box_find (const ConvolveMatrix * line, ConvolveBoxLine * box,
    gdouble * unit)
{
  guint n = line->width * line->height;
  const gdouble *w = line->weights;
  gdouble inner = n > 2 ? w[1] : w[0];

  if (!(inner > 0) || fabs (w[n - 1] - w[0]) > ALIKE * inner)
    return FALSE;
  for (guint i = 1; i + 1 < n; i++)
    if (fabs (w[i] - inner) > ALIKE * inner)
      return FALSE;
  for (guint parts = 1; parts <= MAX_INNER; parts *= 2) {
    gdouble end = parts * w[0] / inner;

    if (fabs (end - rint (end)) > ALIKE || rint (end) < 1 || rint (end) > parts)
      continue;
    box->taps = n;
    box->inner = parts;
    box->end = (guint) rint (end);
    *unit = inner / parts;
    return TRUE;
  }
  return FALSE;
}

gdouble
convolve_box_sum (const ConvolveBoxLine * box)
{
  return (box->taps - 2.0) * box->inner + 2.0 * box->end;
}
