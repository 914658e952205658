/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Whether alpha is one positive value all over what some rows' windows see, as
 * it is where a picture is opaque. Weights that are all the same come to
 * S (sum of k a v) / (sum of k a) = sum of k v: straight, with less work. */
#include "config.h"

#include "engine.h"

/* From here on rows have been compared with another value. */
static void
take_value (CpuPiece * piece, const CpuStep * step, gint y)
{
  const ConvolvePassAlpha *alpha = &step->pass->alpha;
  CpuEven *even = &piece->even;
  guint pixel_step = alpha->layout.pixel_step;
  const guint8 *pixel = convolve_cpu_frame_row (step->pass, piece->in,
      alpha->layout.plane, y << alpha->h_sub)
      + ((gsize) piece->x0 << alpha->w_sub) * pixel_step;
  gdouble value;

  convolve_cpu_samples_load_component (&step->alpha_samples, alpha->component,
      sizeof (value), pixel, 1, &value);
  if (even->value == value)
    return;
  even->value = value;
  even->scanned = piece->y0 - (gint) step->above;
  even->uneven = even->scanned - 1;
  for (guint i = 0; i < CPU_MASK; i++)
    even->pattern[i] = pixel[i % pixel_step];
}

/* The columns that the strip sees: those of the whole picture where what stands
 * outside may be any of them. */
static void
seen_columns (const CpuPiece * piece, const CpuStep * step, gint * first,
    gint * end)
{
  const ConvolvePass *pass = step->pass;

  *first = piece->x0 - (gint) step->left;
  *end = piece->x1 + (gint) step->right;
  if ((*first < 0 || *end > pass->width)
      && pass->border != CONVOLVE_BORDER_REPLICATE
      && pass->border != CONVOLVE_BORDER_CONSTANT) {
    *first = 0;
    *end = pass->width;
  }
  *first = MAX (*first, 0);
  *end = MIN (*end, pass->width);
}

static gboolean
sees_constant (const CpuPiece * piece, const CpuStep * step)
{
  return step->pass->border == CONVOLVE_BORDER_CONSTANT
      && (piece->x0 < (gint) step->left
      || piece->x1 + (gint) step->right > step->pass->width);
}

/* Row y, also outside the picture. */
static gboolean
row_is_even (const CpuPiece * piece, const CpuStep * step, gint y)
{
  const ConvolvePass *pass = step->pass;
  const ConvolvePassAlpha *alpha = &pass->alpha;
  gint first, end, last;

  y = convolve_border_map (pass->border, y, pass->height);
  if (y < 0)
    return alpha->edge == piece->even.value;
  seen_columns (piece, step, &first, &end);
  first <<= alpha->w_sub;
  end = MIN (end << alpha->w_sub, alpha->width);
  last = MIN ((y + 1) << alpha->h_sub, alpha->height);
  for (gint row = y << alpha->h_sub; row < last; row++) {
    const guint8 *p = convolve_cpu_frame_row (pass, piece->in,
        alpha->layout.plane, row) + (gsize) first * alpha->layout.pixel_step;

    if (step->isa->differ (p, piece->even.pattern, step->alpha_mask,
            (gsize) (end - first) * alpha->layout.pixel_step))
      return FALSE;
  }
  return TRUE;
}

gboolean
convolve_cpu_piece_is_even (CpuPiece * piece, const CpuStep * step, gint y,
    gint end)
{
  CpuEven *even = &piece->even;
  gint first = y - (gint) step->above, last = end - 1 + (gint) step->below;

  take_value (piece, step, y);
  if (even->value <= 0 || (sees_constant (piece, step)
          && step->pass->alpha.edge != even->value))
    return FALSE;
  /* What the rows before have seen is not looked at again. */
  even->scanned = MAX (even->scanned, first);
  while (even->uneven < first && even->scanned <= last) {
    if (!row_is_even (piece, step, even->scanned))
      even->uneven = even->scanned;
    even->scanned++;
  }
  return even->uneven < first;
}
