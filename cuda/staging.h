/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copies of rows between ordinary and page-locked memory, by the caller and a few helpers: one core does not keep up
 * with the bus. A batch of copies wakes the helpers once; they take its pieces in order, so that the first copies are
 * complete, and on their way over the bus, while the last ones are at work. */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

#define CUDA_COPY_HELPERS 8
#define CUDA_MAX_COPIES 512

typedef struct {
  guint8 *to;
  const guint8 *from;
  gssize to_stride, from_stride;        /* bytes; may be negative */
  gsize bytes;                  /* of a row */
  guint rows;
} CudaCopy;

typedef struct {
  CudaCopy copy;
  guint piece_rows;
  guint first_piece, n_pieces;
  gint left;                    /* atomic: pieces not copied yet */
} CudaCopyTask;

/* All zeros is a copier at rest; its threads start with the first large batch. For one caller at a time. */
typedef struct {
  GMutex mutex;
  GCond wake, done;
  GThread *thread[CUDA_COPY_HELPERS];
  guint n_threads;
  gboolean started, quit;
  guint round;                  /* counts batches: helpers look for a new one */
  guint working;                /* helpers that are at it */
  CudaCopyTask task[CUDA_MAX_COPIES];
  guint n_tasks, n_pieces;
  gsize bytes;                  /* of the batch */
  gint next_piece;              /* atomic */
} CudaCopier;

/* A batch: clear, add up to CUDA_MAX_COPIES copies, start. Then finish waits, and helps, until the first n copies are
 * complete; the whole batch must be finished before the memory goes away. Without threads the caller does all. */
void cuda_copier_clear_batch (CudaCopier * copier);
void cuda_copier_add (CudaCopier * copier, const CudaCopy * copy);
void cuda_copier_start (CudaCopier * copier);
void cuda_copier_finish (CudaCopier * copier, guint n);
/* Ends the threads. */
void cuda_copier_clear (CudaCopier * copier);

G_END_DECLS
