/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <string.h>

#include "staging.h"

/* A smaller batch is copied by the caller alone: waking costs more. */
#define MIN_SHARED_BYTES (512 * 1024)
#define PIECE_BYTES (128 * 1024)
/* next_piece while a batch is being made. */
#define NO_PIECES (G_MAXINT / 2)

static void
copy_rows (const CudaCopy * copy, guint first, guint rows)
{
  guint8 *to = copy->to + (gssize) first * copy->to_stride;
  const guint8 *from = copy->from + (gssize) first * copy->from_stride;

  for (guint y = 0; y < rows; y++)
    memcpy (to + y * copy->to_stride, from + y * copy->from_stride,
        copy->bytes);
}

/* FALSE: no piece is left to take. */
static gboolean
copy_piece (CudaCopier * copier)
{
  guint piece = g_atomic_int_add (&copier->next_piece, 1);
  CudaCopyTask *task = copier->task;
  guint first;

  if (piece >= copier->n_pieces)
    return FALSE;
  while (piece >= task->first_piece + task->n_pieces)
    task++;
  first = (piece - task->first_piece) * task->piece_rows;
  copy_rows (&task->copy, first, MIN (task->piece_rows,
          task->copy.rows - first));
  g_atomic_int_add (&task->left, -1);
  return TRUE;
}

static gpointer
help (gpointer data)
{
  CudaCopier *copier = data;
  guint seen = 0;

  g_mutex_lock (&copier->mutex);
  for (;;) {
    while (!copier->quit && copier->round == seen)
      g_cond_wait (&copier->wake, &copier->mutex);
    if (copier->quit)
      break;
    seen = copier->round;
    copier->working++;
    g_mutex_unlock (&copier->mutex);
    while (copy_piece (copier));
    g_mutex_lock (&copier->mutex);
    if (--copier->working == 0)
      g_cond_signal (&copier->done);
  }
  g_mutex_unlock (&copier->mutex);
  return NULL;
}

static void
start_helpers (CudaCopier * copier)
{
  guint n = MIN (g_get_num_processors () / 2, CUDA_COPY_HELPERS);

  copier->started = TRUE;
  while (copier->n_threads < n) {
    GThread *thread = g_thread_try_new ("convolve-copy", help, copier, NULL);

    if (thread == NULL)
      return;
    copier->thread[copier->n_threads++] = thread;
  }
}

void
cuda_copier_clear_batch (CudaCopier * copier)
{
  g_mutex_lock (&copier->mutex);
  /* A helper that woke up late may still look for pieces of the last batch, or
   * begin to. */
  while (copier->working > 0)
    g_cond_wait (&copier->done, &copier->mutex);
  g_atomic_int_set (&copier->next_piece, NO_PIECES);
  copier->n_tasks = copier->n_pieces = 0;
  copier->bytes = 0;
  g_mutex_unlock (&copier->mutex);
}

void
cuda_copier_add (CudaCopier * copier, const CudaCopy * copy)
{
  CudaCopyTask *task = &copier->task[copier->n_tasks++];

  g_assert (copier->n_tasks <= CUDA_MAX_COPIES);
  task->copy = *copy;
  task->piece_rows = MAX (PIECE_BYTES / MAX (copy->bytes, 1), 1);
  task->first_piece = copier->n_pieces;
  task->n_pieces = (copy->rows + task->piece_rows - 1) / task->piece_rows;
  task->left = task->n_pieces;
  copier->n_pieces += task->n_pieces;
  copier->bytes += copy->bytes * copy->rows;
}

void
cuda_copier_start (CudaCopier * copier)
{
  gboolean shared = copier->bytes >= MIN_SHARED_BYTES;

  if (shared && !copier->started)
    start_helpers (copier);
  g_mutex_lock (&copier->mutex);
  g_atomic_int_set (&copier->next_piece, 0);
  if (shared) {
    copier->round++;
    g_cond_broadcast (&copier->wake);
  }
  g_mutex_unlock (&copier->mutex);
}

void
cuda_copier_finish (CudaCopier * copier, guint n)
{
  for (guint i = 0; i < n; i++)
    while (g_atomic_int_get (&copier->task[i].left) > 0)
      /* Without a piece to take, what is left takes microseconds. */
      if (!copy_piece (copier))
        g_thread_yield ();
}

void
cuda_copier_clear (CudaCopier * copier)
{
  g_mutex_lock (&copier->mutex);
  copier->quit = TRUE;
  g_cond_broadcast (&copier->wake);
  g_mutex_unlock (&copier->mutex);
  for (guint i = 0; i < copier->n_threads; i++)
    g_thread_join (copier->thread[i]);
  g_mutex_clear (&copier->mutex);
  g_cond_clear (&copier->wake);
  g_cond_clear (&copier->done);
}
