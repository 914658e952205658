/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What lies outside a picture: one index map a rule, for any distance, also many times the picture's size. */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

typedef enum {
  CONVOLVE_BORDER_REPLICATE,    /* aaa|abcd|ddd */
  CONVOLVE_BORDER_REFLECT,      /* cba|abcd|dcb */
  CONVOLVE_BORDER_MIRROR,       /* dcb|abcd|cba */
  CONVOLVE_BORDER_WRAP,         /* bcd|abcd|abc */
  CONVOLVE_BORDER_CONSTANT,     /* kkk|abcd|kkk */
  CONVOLVE_N_BORDERS
} ConvolveBorder;

/* The index in 0..n-1 that stands for index i of a line of n samples (n at least 1), or -1 where the constant
 * stands. */
static inline gint
convolve_border_map (ConvolveBorder border, gint i, gint n)
{
  if (G_LIKELY (i >= 0 && i < n))
    return i;

  switch (border) {
    case CONVOLVE_BORDER_REPLICATE:
      return i < 0 ? 0 : n - 1;
    case CONVOLVE_BORDER_REFLECT:{
      gint64 period = 2 * (gint64) n, m = i % period;

      if (m < 0)
        m += period;
      return (gint) (m < n ? m : period - 1 - m);
    }
    case CONVOLVE_BORDER_MIRROR:{
      gint64 period = 2 * ((gint64) n - 1), m;

      if (period == 0)
        return 0;
      m = i % period;
      if (m < 0)
        m += period;
      return (gint) (m < n ? m : period - m);
    }
    case CONVOLVE_BORDER_WRAP:{
      gint m = i % n;

      return m < 0 ? m + n : m;
    }
    default:
      return -1;
  }
}

G_END_DECLS
