/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <string.h>

#include "samples.h"

static gboolean
is_dense (const ConvolveLayout * layout, guint bytes)
{
  const ConvolveComponent *first = &layout->component[0];

  if (layout->type == CONVOLVE_SAMPLE_BITS32LE
      || layout->pixel_step != layout->n_components * bytes)
    return FALSE;
  for (guint c = 0; c < layout->n_components; c++) {
    const ConvolveComponent *component = &layout->component[c];

    if (component->offset != c * bytes || component->shift != first->shift
        || component->depth != first->depth)
      return FALSE;
    /* Bytes are taken whole. */
    if (bytes == 1 && (component->shift != 0 || component->depth != 8))
      return FALSE;
  }
  return TRUE;
}

void
convolve_cpu_samples_init (CpuSamples * samples, const ConvolveLayout * layout)
{
  guint bytes = layout->type == CONVOLVE_SAMPLE_U8 ? 1 : 2;
  const ConvolveComponent *first = &layout->component[0];

  samples->layout = layout;
  samples->lanes = layout->n_components;
  samples->dense = is_dense (layout, bytes);
  samples->bytes = samples->dense ? bytes : 2;
  samples->word.mask = 0xffff;
  samples->word.shift = 0;
  samples->word.swap = FALSE;
  if (samples->dense && bytes == 2) {
    samples->word.mask = (1u << first->depth) - 1;
    samples->word.shift = first->shift;
    samples->word.swap = (layout->type == CONVOLVE_SAMPLE_U16LE)
        != (G_BYTE_ORDER == G_LITTLE_ENDIAN);
  }
}

/* ---- one word ---- */

static inline guint32
read_word (guint type, const guint8 * p)
{
  switch (type) {
    case CONVOLVE_SAMPLE_U8:
      return p[0];
    case CONVOLVE_SAMPLE_U16LE:
      return p[0] | p[1] << 8;
    case CONVOLVE_SAMPLE_U16BE:
      return p[1] | p[0] << 8;
    default:
      return p[0] | p[1] << 8 | p[2] << 16 | (guint32) p[3] << 24;
  }
}

static inline void
write_word (guint type, guint8 * p, guint32 word)
{
  switch (type) {
    case CONVOLVE_SAMPLE_U8:
      p[0] = word;
      break;
    case CONVOLVE_SAMPLE_U16LE:
      p[0] = word;
      p[1] = word >> 8;
      break;
    case CONVOLVE_SAMPLE_U16BE:
      p[0] = word >> 8;
      p[1] = word;
      break;
    default:
      for (guint i = 0; i < 4; i++)
        p[i] = word >> 8 * i;
      break;
  }
}

static inline guint32
component_mask (const ConvolveComponent * component)
{
  return (1u << component->depth) - 1;
}

/* ---- gathering ---- */

static inline void
gather (guint type, const ConvolveComponent * component, guint step,
    const guint8 * pixels, gsize n, guint16 * words, guint lanes)
{
  guint32 mask = component_mask (component);
  guint shift = component->shift;

  pixels += component->offset;
  for (gsize i = 0; i < n; i++)
    words[i * lanes] = read_word (type, pixels + i * step) >> shift & mask;
}

/* The type is written out, so that each loop is compiled for one. */
static void
gather_component (const CpuSamples * samples, guint c, const guint8 * pixels,
    gsize n, guint16 * words, guint lanes)
{
  const ConvolveLayout *layout = samples->layout;
  const ConvolveComponent *component = &layout->component[c];
  guint step = layout->pixel_step;

  switch (layout->type) {
    case CONVOLVE_SAMPLE_U8:
      gather (CONVOLVE_SAMPLE_U8, component, step, pixels, n, words, lanes);
      break;
    case CONVOLVE_SAMPLE_U16LE:
      gather (CONVOLVE_SAMPLE_U16LE, component, step, pixels, n, words, lanes);
      break;
    case CONVOLVE_SAMPLE_U16BE:
      gather (CONVOLVE_SAMPLE_U16BE, component, step, pixels, n, words, lanes);
      break;
    default:
      gather (CONVOLVE_SAMPLE_BITS32LE, component, step, pixels, n, words,
          lanes);
      break;
  }
}

void
convolve_cpu_samples_load (const CpuSamples * samples,
    const CpuKernels * kernels, const guint8 * pixels, gsize n, void *x,
    guint16 * words)
{
  gsize count = n * samples->lanes;

  if (samples->dense) {
    if (samples->bytes == 1)
      kernels->load_u8 (pixels, x, count);
    else
      kernels->load_u16 (pixels, x, count, &samples->word);
    return;
  }
  for (guint c = 0; c < samples->lanes; c++)
    gather_component (samples, c, pixels, n, words + c, samples->lanes);
  kernels->load_u16 ((const guint8 *) words, x, count, &samples->word);
}

void
convolve_cpu_samples_load_component (const CpuSamples * samples,
    guint component, gsize real_bytes, const guint8 * pixels, gsize n, void *x)
{
  guint16 words[64];

  for (gsize at = 0; at < n; at += G_N_ELEMENTS (words)) {
    gsize m = MIN (n - at, G_N_ELEMENTS (words));

    gather_component (samples, component,
        pixels + at * samples->layout->pixel_step, m, words, 1);
    for (gsize i = 0; i < m; i++) {
      if (real_bytes == sizeof (gfloat))
        ((gfloat *) x)[at + i] = words[i];
      else
        ((gdouble *) x)[at + i] = words[i];
    }
  }
}

/* ---- scattering ---- */

/* The fields of a 32-bit pixel are put together before it is written. */
static void
scatter_bits (const CpuSamples * samples,
    const ConvolvePassComponent * components, const guint16 * words,
    const guint8 * in, guint8 * out, gsize n)
{
  const ConvolveLayout *layout = samples->layout;
  guint32 copied = 0, filled = 0;

  for (guint c = 0; c < samples->lanes; c++) {
    const ConvolveComponent *component = &layout->component[c];

    if (components[c].action == CONVOLVE_ACTION_COPY)
      copied |= component_mask (component) << component->shift;
    else if (components[c].action == CONVOLVE_ACTION_FILL)
      filled |= (guint32) components[c].fill << component->shift;
  }
  for (gsize i = 0; i < n; i++) {
    gsize at = i * layout->pixel_step + layout->component[0].offset;
    guint32 word = filled;

    if (copied != 0)
      word |= read_word (layout->type, in + at) & copied;
    for (guint c = 0; c < samples->lanes; c++)
      if (components[c].action == CONVOLVE_ACTION_FILTER)
        word |= (guint32) words[i * samples->lanes + c]
            << layout->component[c].shift;
    write_word (layout->type, out + at, word);
  }
}

static inline void
scatter (guint type, const ConvolveComponent * component,
    const ConvolvePassComponent * what, guint step, const guint16 * words,
    guint lanes, const guint8 * in, guint8 * out, gsize n)
{
  guint32 valid = component_mask (component) << component->shift;
  guint32 filled = (guint32) what->fill << component->shift;

  in += component->offset;
  out += component->offset;
  switch (what->action) {
    case CONVOLVE_ACTION_FILTER:
      for (gsize i = 0; i < n; i++)
        write_word (type, out + i * step,
            (guint32) words[i * lanes] << component->shift);
      break;
    case CONVOLVE_ACTION_COPY:
      for (gsize i = 0; i < n; i++)
        write_word (type, out + i * step, read_word (type,
                in + i * step) & valid);
      break;
    case CONVOLVE_ACTION_FILL:
      for (gsize i = 0; i < n; i++)
        write_word (type, out + i * step, filled);
      break;
  }
}

void
convolve_cpu_samples_scatter (const CpuSamples * samples,
    const ConvolvePassComponent * components, const guint16 * words,
    const guint8 * in, guint8 * out, gsize n)
{
  const ConvolveLayout *layout = samples->layout;
  guint lanes = samples->lanes, step = layout->pixel_step;

  if (layout->type == CONVOLVE_SAMPLE_BITS32LE) {
    scatter_bits (samples, components, words, in, out, n);
    return;
  }
  for (guint c = 0; c < lanes; c++) {
    const ConvolveComponent *component = &layout->component[c];
    /* Nothing filtered: there are no words. */
    const guint16 *from = words != NULL ? words + c : NULL;

    switch (layout->type) {
      case CONVOLVE_SAMPLE_U8:
        scatter (CONVOLVE_SAMPLE_U8, component, &components[c], step, from,
            lanes, in, out, n);
        break;
      case CONVOLVE_SAMPLE_U16LE:
        scatter (CONVOLVE_SAMPLE_U16LE, component, &components[c], step, from,
            lanes, in, out, n);
        break;
      default:
        scatter (CONVOLVE_SAMPLE_U16BE, component, &components[c], step, from,
            lanes, in, out, n);
        break;
    }
  }
}

gboolean
convolve_cpu_samples_masks (const CpuSamples * samples,
    const ConvolvePassComponent * components, guint8 * keep, guint8 * copy,
    guint8 * fill)
{
  const ConvolveLayout *layout = samples->layout;
  gboolean all_kept = TRUE;

  memset (keep, 0, layout->pixel_step);
  memset (copy, 0, layout->pixel_step);
  memset (fill, 0, layout->pixel_step);
  for (guint c = 0; c < samples->lanes; c++) {
    const ConvolveComponent *component = &layout->component[c];
    guint at = component->offset;
    guint32 valid = component_mask (component) << component->shift;

    switch (components[c].action) {
      case CONVOLVE_ACTION_FILTER:
        memset (keep + at, 0xff, samples->bytes);
        break;
      case CONVOLVE_ACTION_COPY:
        write_word (layout->type, copy + at, valid);
        break;
      case CONVOLVE_ACTION_FILL:
        write_word (layout->type, fill + at,
            (guint32) components[c].fill << component->shift);
        break;
    }
    all_kept &= components[c].action == CONVOLVE_ACTION_FILTER;
  }
  return all_kept;
}
