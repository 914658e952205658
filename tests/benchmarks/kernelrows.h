/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The rows of the benchmark kernels: which filters, and whether what they give is right. */
#pragma once

#include "core/settings.h"
#include "cuda/program.h"

G_BEGIN_DECLS

typedef struct {
  const gchar *name;
  const gchar *usual;           /* numbers that it is measured with: radii, iterations, levels */
  const gchar *help;
  gboolean every_size;          /* else at 4K alone, unless sizes are asked for */
  gboolean gaussian;            /* another library may use Gaussian weights of its own */
  void (*fill) (ConvolveSettings * settings, gint n);
} RowKind;

const RowKind *row_kinds (guint * n);
/* The settings of a row; to be cleared. */
void row_settings (const RowKind * kind, gint n, ConvolveSettings * settings);

/* A small frame, or a stream of them, through the backend against the reference in double precision. Says what is
 * wrong. */
gboolean row_check_small (CudaDevice * device, GstVideoFormat format, const RowKind * kind, gint n);
/* The largest difference of two frames of bytes bytes, in steps of samples. */
guint row_difference (const GstVideoInfo * info, const guint8 * a, const guint8 * b, gsize bytes);
/* What the CPU backend makes of a frame. */
void row_expected (const GstVideoInfo * info, const RowKind * kind, gint n, guint8 * in, guint8 * out);

G_END_DECLS
