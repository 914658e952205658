/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Between pixels as a layout stores them and rows of plain samples. */
#pragma once

#include "core/plan.h"

#include "kernels.h"

G_BEGIN_DECLS

typedef struct {
  const ConvolveLayout *layout;
  guint lanes;
  /* TRUE: whole bytes or words without holes between them, all of one depth: kernels read and write them in place.
   * FALSE: gathered into 16-bit words that hold plain values, and scattered from them. */
  gboolean dense;
  guint bytes;                  /* of a sample where kernels meet it: 1 or 2 */
  CpuWord word;                 /* how these samples are stored */
} CpuSamples;

void convolve_cpu_samples_init (CpuSamples * samples, const ConvolveLayout * layout);
/* n pixels to the working row x; words: room for n x lanes words. */
void convolve_cpu_samples_load (const CpuSamples * samples, const CpuKernels * kernels, const guint8 * pixels, gsize n,
    void *x, guint16 * words);
/* n pixels of one component to the working row x. */
void convolve_cpu_samples_load_component (const CpuSamples * samples, guint component, gsize real_bytes,
    const guint8 * pixels, gsize n, void *x);
/* Not dense: writes n pixels, from words, in (copied components) or the fill value. No other byte is written. */
void convolve_cpu_samples_scatter (const CpuSamples * samples, const ConvolvePassComponent * components,
    const guint16 * words, const guint8 * in, guint8 * out, gsize n);
/* Dense: the masks of one pixel for CpuIsa.blend, each pixel_step bytes. TRUE if every byte is kept. */
gboolean convolve_cpu_samples_masks (const CpuSamples * samples, const ConvolvePassComponent * components,
    guint8 * keep, guint8 * copy, guint8 * fill);

G_END_DECLS
