/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copies of rows between ordinary and page-locked memory, by the caller and a few helpers: one core does not keep up
 * with the bus. */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

#define CUDA_COPY_HELPERS 3

typedef struct {
  guint8 *to;
  const guint8 *from;
  gssize to_stride, from_stride;        /* bytes; may be negative */
  gsize bytes;                  /* of a row */
  guint rows;
} CudaCopy;

/* All zeros is a copier at rest; its threads start with the first large copy. For one caller at a time. */
typedef struct {
  GMutex mutex;
  GCond wake, done;
  GThread *thread[CUDA_COPY_HELPERS];
  guint n_threads;
  gboolean started, quit;
  guint round;                  /* counts copies: helpers look for a new one */
  guint working;                /* helpers that are at it */
  CudaCopy copy;
  guint piece_rows;
  gint next_row;                /* atomic */
} CudaCopier;

void cuda_copier_copy (CudaCopier * copier, const CudaCopy * copy);
void cuda_copier_clear (CudaCopier * copier);

G_END_DECLS
