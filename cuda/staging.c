/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <string.h>

#include "staging.h"

/* Less than this is copied by the caller alone. */
#define MIN_SHARED_BYTES (512 * 1024)
#define PIECE_BYTES (128 * 1024)

static void
copy_pieces (CudaCopier * copier)
{
  const CudaCopy *copy = &copier->copy;

  for (;;) {
    gint first = g_atomic_int_add (&copier->next_row, copier->piece_rows);
    guint8 *to;
    const guint8 *from;
    guint rows;

    if (first < 0 || (guint) first >= copy->rows)
      return;
    rows = MIN (copier->piece_rows, copy->rows - first);
    to = copy->to + first * copy->to_stride;
    from = copy->from + first * copy->from_stride;
    for (guint y = 0; y < rows; y++)
      memcpy (to + y * copy->to_stride, from + y * copy->from_stride,
          copy->bytes);
  }
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
    copy_pieces (copier);
    g_mutex_lock (&copier->mutex);
    if (--copier->working == 0)
      g_cond_signal (&copier->done);
  }
  g_mutex_unlock (&copier->mutex);
  return NULL;
}

/* Without threads the caller does everything. */
static void
start_helpers (CudaCopier * copier)
{
  guint n = MIN (g_get_num_processors () - 1, CUDA_COPY_HELPERS);

  copier->started = TRUE;
  while (copier->n_threads < n) {
    GThread *thread = g_thread_try_new ("convolve-copy", help, copier, NULL);

    if (thread == NULL)
      return;
    copier->thread[copier->n_threads++] = thread;
  }
}

void
cuda_copier_copy (CudaCopier * copier, const CudaCopy * copy)
{
  gboolean shared = copy->bytes * copy->rows >= MIN_SHARED_BYTES;

  if (shared && !copier->started)
    start_helpers (copier);

  g_mutex_lock (&copier->mutex);
  /* A helper that woke up late may still look for pieces of the last copy. */
  while (copier->working > 0)
    g_cond_wait (&copier->done, &copier->mutex);
  copier->copy = *copy;
  copier->piece_rows = shared ? MAX (PIECE_BYTES / MAX (copy->bytes, 1), 1) :
      MAX (copy->rows, 1);
  g_atomic_int_set (&copier->next_row, 0);
  if (shared && copier->n_threads > 0) {
    copier->round++;
    g_cond_broadcast (&copier->wake);
  }
  g_mutex_unlock (&copier->mutex);

  copy_pieces (copier);

  g_mutex_lock (&copier->mutex);
  while (copier->working > 0)
    g_cond_wait (&copier->done, &copier->mutex);
  g_mutex_unlock (&copier->mutex);
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
