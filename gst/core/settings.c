/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Defaults, copies and comparison of what the user asked for. */
#include "config.h"

#include <string.h>

#include "settings.h"

void
convolve_settings_init (ConvolveSettings * settings)
{
  memset (settings, 0, sizeof (*settings));
  settings->filter = CONVOLVE_FILTER_GAUSSIAN;
  settings->temporal_mode = CONVOLVE_TEMPORAL_CENTERED;
  settings->normalize = TRUE;
  settings->scale = 1.0;
  settings->bias = 0.0;
  settings->sigma = 2.0;
  settings->sigma_y = -1.0;
  settings->radius = -1;
  settings->amount = 1.0;
  settings->threshold = -1.0;
  settings->angle = 0.0;
  settings->gradient = CONVOLVE_GRADIENT_MAGNITUDE;
  settings->border = CONVOLVE_BORDER_REPLICATE;
  settings->border_color = 0xff000000;
  settings->channels = CONVOLVE_CHANNEL_ALL;
  settings->alpha_mode = CONVOLVE_ALPHA_AUTO;
  settings->clamp = CONVOLVE_CLAMP_FORMAT;
  settings->iterations = 1;
  settings->levels = 4;
  settings->method = CONVOLVE_METHOD_AUTO;
}

void
convolve_settings_copy (ConvolveSettings * to, const ConvolveSettings * from)
{
  *to = *from;
  if (to->kernel != NULL)
    convolve_matrix_ref (to->kernel);
  if (to->kernel_x != NULL)
    convolve_matrix_ref (to->kernel_x);
  if (to->kernel_y != NULL)
    convolve_matrix_ref (to->kernel_y);
  if (to->detail_gains != NULL)
    convolve_matrix_ref (to->detail_gains);
  if (to->kernel_t != NULL)
    convolve_matrix_ref (to->kernel_t);
}

void
convolve_settings_clear (ConvolveSettings * settings)
{
  g_clear_pointer (&settings->kernel, convolve_matrix_unref);
  g_clear_pointer (&settings->kernel_x, convolve_matrix_unref);
  g_clear_pointer (&settings->kernel_y, convolve_matrix_unref);
  g_clear_pointer (&settings->detail_gains, convolve_matrix_unref);
  g_clear_pointer (&settings->kernel_t, convolve_matrix_unref);
}

gboolean
convolve_settings_equal (const ConvolveSettings * a, const ConvolveSettings * b)
{
  return a->filter == b->filter && convolve_matrix_equal (a->kernel, b->kernel)
      && convolve_matrix_equal (a->kernel_x, b->kernel_x)
      && convolve_matrix_equal (a->kernel_y, b->kernel_y)
      && convolve_matrix_equal (a->kernel_t, b->kernel_t)
      && a->temporal_mode == b->temporal_mode
      && !a->normalize == !b->normalize
      && a->scale == b->scale && a->bias == b->bias
      && a->sigma == b->sigma && a->sigma_y == b->sigma_y
      && a->radius == b->radius
      && a->amount == b->amount && a->threshold == b->threshold
      && a->angle == b->angle
      && a->gradient == b->gradient
      && a->border == b->border && a->border_color == b->border_color
      && a->channels == b->channels && a->alpha_mode == b->alpha_mode
      && a->clamp == b->clamp
      && a->iterations == b->iterations && a->levels == b->levels
      && convolve_matrix_equal (a->detail_gains, b->detail_gains)
      && a->method == b->method && a->costs == b->costs;
}
