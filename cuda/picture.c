/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a launch needs to know of a pass's picture. */
#include "config.h"

#include <string.h>

#include "banded.h"
#include "program.h"

static gboolean
is_contiguous (const ConvolveLayout * layout)
{
  guint bytes = convolve_layout_sample_bytes (layout);

  if (layout->type == CONVOLVE_SAMPLE_BITS32LE
      || layout->pixel_step != layout->n_components * bytes)
    return FALSE;
  for (guint c = 0; c < layout->n_components; c++)
    if (layout->component[c].offset != c * bytes)
      return FALSE;
  return TRUE;
}

guint
cuda_samples_of (const ConvolveLayout * layout)
{
  if (!is_contiguous (layout) || layout->type == CONVOLVE_SAMPLE_U16BE)
    return CONVOLVE_SAMPLES_ANY;
  return layout->type == CONVOLVE_SAMPLE_U8 ? CONVOLVE_SAMPLES_U8 :
      CONVOLVE_SAMPLES_U16;
}

static void
component_init (ConvolveLaunchComponent * to, const ConvolveComponent * where,
    const ConvolvePassComponent * what, gboolean bits)
{
  to->gain = what->gain;
  to->offset = what->offset;
  to->lo = what->lo;
  to->hi = what->hi;
  to->edge = what->edge;
  to->fill = what->fill;
  to->threshold = what->threshold;
  to->action = what->action;
  to->at = bits ? 0 : where->offset;
  to->shift = where->shift;
  to->depth = where->depth;
}

gboolean
cuda_weighs_itself (const ConvolvePass * pass)
{
  return pass->alpha.weighted
      && pass->alpha.layout.plane == pass->layout.plane
      && (pass->alpha.component == 0
      || pass->alpha.component + 1 == pass->layout.n_components)
      && pass->operation->n_terms == 1;
}

void
cuda_picture_init (ConvolveLaunchPicture * picture, const ConvolvePass * pass)
{
  static const guint8 stores[] = {
    [CONVOLVE_SAMPLE_U8] = CONVOLVE_STORE_U8,
    [CONVOLVE_SAMPLE_U16LE] = CONVOLVE_STORE_U16,
    [CONVOLVE_SAMPLE_U16BE] = CONVOLVE_STORE_U16,
    [CONVOLVE_SAMPLE_BITS32LE] = CONVOLVE_STORE_BITS32,
  };
  const ConvolveLayout *layout = &pass->layout;

  memset (picture, 0, sizeof (*picture));
  picture->width = pass->width;
  picture->height = pass->height;
  picture->row_end = pass->height;
  picture->store = stores[layout->type];
  picture->swap = layout->type == CONVOLVE_SAMPLE_U16BE;
  picture->pixel_step = layout->pixel_step;
  picture->n_components = layout->n_components;
  picture->contiguous = is_contiguous (layout);
  picture->weighted = cuda_weighs_itself (pass);
  if (picture->weighted) {
    picture->alpha = pass->alpha.component;
    picture->sum = pass->operation->sum;
  }
  picture->plain = cuda_banded_is_plain (pass);
  for (guint c = 0; c < layout->n_components; c++)
    component_init (&picture->component[c], &layout->component[c],
        &pass->component[c], picture->store == CONVOLVE_STORE_BITS32);
}

void
cuda_picture_place (ConvolveLaunchPicture * picture, const ConvolvePass * pass,
    const CudaFrame * in, const CudaFrame * out)
{
  guint plane = pass->layout.plane;

  picture->src = in->data[plane]
      + (gint64) pass->row_first * in->stride[plane];
  picture->dst = out->data[plane]
      + (gint64) pass->row_first * out->stride[plane];
  picture->src_stride = in->stride[plane] * (gint) pass->row_step;
  picture->dst_stride = out->stride[plane] * (gint) pass->row_step;
}
