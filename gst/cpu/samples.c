/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <string.h>

#include "samples.h"

/* Samples of one depth that are so many bytes apart, over pixel borders too. */
static gboolean
is_even (const ConvolveLayout * layout, guint distance)
{
  const ConvolveComponent *first = &layout->component[0];

  if (layout->type == CONVOLVE_SAMPLE_BITS32LE
      || layout->pixel_step != layout->n_components * distance)
    return FALSE;
  for (guint c = 0; c < layout->n_components; c++) {
    const ConvolveComponent *component = &layout->component[c];

    if (component->offset != first->offset + c * distance
        || component->shift != first->shift || component->depth != first->depth)
      return FALSE;
  }
  return TRUE;
}

void
convolve_cpu_samples_init (CpuSamples * samples, const ConvolveLayout * layout)
{
  guint bytes = convolve_layout_sample_bytes (layout);
  const ConvolveComponent *first = &layout->component[0];

  samples->layout = layout;
  samples->lanes = layout->n_components;
  /* Kernels take bytes whole. */
  samples->dense = is_even (layout, bytes) && first->offset == 0
      && (bytes == 2 || (first->shift == 0 && first->depth == 8));
  samples->spaced = is_even (layout, 2 * bytes);
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
  guint16 word;
  guint32 bits;

  switch (type) {
    case CONVOLVE_SAMPLE_U8:
      return p[0];
    case CONVOLVE_SAMPLE_U16LE:
      memcpy (&word, p, sizeof (word));
      return GUINT16_FROM_LE (word);
    case CONVOLVE_SAMPLE_U16BE:
      memcpy (&word, p, sizeof (word));
      return GUINT16_FROM_BE (word);
    default:
      memcpy (&bits, p, sizeof (bits));
      return GUINT32_FROM_LE (bits);
  }
}

static inline void
write_word (guint type, guint8 * p, guint32 value)
{
  guint16 word;
  guint32 bits;

  switch (type) {
    case CONVOLVE_SAMPLE_U8:
      p[0] = value;
      break;
    case CONVOLVE_SAMPLE_U16LE:
      word = GUINT16_TO_LE ((guint16) value);
      memcpy (p, &word, sizeof (word));
      break;
    case CONVOLVE_SAMPLE_U16BE:
      word = GUINT16_TO_BE ((guint16) value);
      memcpy (p, &word, sizeof (word));
      break;
    default:
      bits = GUINT32_TO_LE (value);
      memcpy (p, &bits, sizeof (bits));
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

/* The same for all components at once, at a distance that is known. */
static void
gather_spaced (const CpuSamples * samples, const guint8 * pixels, gsize count,
    guint16 * words)
{
  const ConvolveComponent *first = &samples->layout->component[0];

  switch (samples->layout->type) {
    case CONVOLVE_SAMPLE_U8:
      gather (CONVOLVE_SAMPLE_U8, first, 2, pixels, count, words, 1);
      break;
    case CONVOLVE_SAMPLE_U16LE:
      gather (CONVOLVE_SAMPLE_U16LE, first, 4, pixels, count, words, 1);
      break;
    default:
      gather (CONVOLVE_SAMPLE_U16BE, first, 4, pixels, count, words, 1);
      break;
  }
}

/* Four fields of a 32-bit pixel. */
static void
gather_bits (const CpuSamples * samples, const guint8 * pixels, gsize n,
    guint16 * words)
{
  const ConvolveLayout *layout = samples->layout;
  guint32 mask[4], shift[4];

  for (guint c = 0; c < 4; c++) {
    mask[c] = component_mask (&layout->component[c]);
    shift[c] = layout->component[c].shift;
  }
  pixels += layout->component[0].offset;
  for (gsize i = 0; i < n; i++) {
    guint32 word = read_word (CONVOLVE_SAMPLE_BITS32LE,
        pixels + i * layout->pixel_step);

    for (guint c = 0; c < 4; c++)
      words[4 * i + c] = word >> shift[c] & mask[c];
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
  if (samples->spaced)
    gather_spaced (samples, pixels, count, words);
  else if (samples->layout->type == CONVOLVE_SAMPLE_BITS32LE
      && samples->lanes == 4)
    gather_bits (samples, pixels, n, words);
  else
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
  guint32 copied = 0, filled = 0, filtered[CONVOLVE_MAX_COMPONENTS] = { 0 };
  guint shift[CONVOLVE_MAX_COMPONENTS] = { 0 }, lanes = samples->lanes;

  for (guint c = 0; c < lanes; c++) {
    const ConvolveComponent *component = &layout->component[c];

    shift[c] = component->shift;
    if (components[c].action == CONVOLVE_ACTION_COPY)
      copied |= component_mask (component) << component->shift;
    else if (components[c].action == CONVOLVE_ACTION_FILL)
      filled |= (guint32) components[c].fill << component->shift;
    else
      filtered[c] = 0xffff;
  }
  in += layout->component[0].offset;
  out += layout->component[0].offset;
  for (gsize i = 0; i < n; i++) {
    gsize at = i * layout->pixel_step;
    guint32 word = read_word (CONVOLVE_SAMPLE_BITS32LE, in + at) & copied;

    word |= filled;
    /* Rows of words are longer than their content. */
    if (words != NULL)
      for (guint c = 0; c < CONVOLVE_MAX_COMPONENTS; c++)
        word |= (words[i * lanes + c] & filtered[c]) << shift[c];
    write_word (CONVOLVE_SAMPLE_BITS32LE, out + at, word);
  }
}

static gboolean
all_filtered (const CpuSamples * samples,
    const ConvolvePassComponent * components)
{
  for (guint c = 0; c < samples->lanes; c++)
    if (components[c].action != CONVOLVE_ACTION_FILTER)
      return FALSE;
  return TRUE;
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

/* All components at once, all filtered, at a distance that is known. */
static void
scatter_spaced (const CpuSamples * samples,
    const ConvolvePassComponent * components, const guint16 * words,
    guint8 * out, gsize count)
{
  const ConvolveComponent *first = &samples->layout->component[0];

  switch (samples->layout->type) {
    case CONVOLVE_SAMPLE_U8:
      scatter (CONVOLVE_SAMPLE_U8, first, components, 2, words, 1, out, out,
          count);
      break;
    case CONVOLVE_SAMPLE_U16LE:
      scatter (CONVOLVE_SAMPLE_U16LE, first, components, 4, words, 1, out, out,
          count);
      break;
    default:
      scatter (CONVOLVE_SAMPLE_U16BE, first, components, 4, words, 1, out, out,
          count);
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
  if (samples->spaced && all_filtered (samples, components)) {
    scatter_spaced (samples, components, words, out, n * lanes);
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
