/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A job is handed out as tickets, one for each other thread that may help. A
 * thread takes a ticket, works until no item is left, and gives the ticket
 * back. When the caller runs out of items it withdraws the tickets that nobody
 * took, so a thread that wakes late delays nobody. */
#include "config.h"

#include "pool.h"

#include "core/matrix.h"

struct _CpuPool
{
  guint n_workers;
  GThread **worker;

  GMutex lock;
  GCond wanted;                 /* tickets > 0 or quit */
  GCond done;                   /* running == 0 */
  guint tickets, taken, running;
  gboolean quit;

  /* The job; constant while a ticket is out. */
  CpuPoolFunc func;
  gpointer data;
  gint n_items;
  gint next;                    /* atomic */
};

static void
work (CpuPool * pool, guint thread)
{
  gint item;

  while ((item = g_atomic_int_add (&pool->next, 1)) < pool->n_items)
    pool->func (pool->data, item, thread);
}

static gpointer
worker_main (gpointer data)
{
  CpuPool *pool = data;

  g_mutex_lock (&pool->lock);
  for (;;) {
    guint thread;

    while (pool->tickets == 0 && !pool->quit)
      g_cond_wait (&pool->wanted, &pool->lock);
    if (pool->quit)
      break;
    pool->tickets--;
    pool->running++;
    thread = ++pool->taken;
    g_mutex_unlock (&pool->lock);
    work (pool, thread);
    g_mutex_lock (&pool->lock);
    if (--pool->running == 0)
      g_cond_signal (&pool->done);
  }
  g_mutex_unlock (&pool->lock);
  return NULL;
}

CpuPool *
convolve_cpu_pool_new (guint n_threads, GError ** error)
{
  CpuPool *pool = g_new0 (CpuPool, 1);

  g_mutex_init (&pool->lock);
  g_cond_init (&pool->wanted);
  g_cond_init (&pool->done);
  pool->worker = g_new0 (GThread *, MAX (n_threads, 1));
  for (guint i = 0; i + 1 < n_threads; i++) {
    g_autoptr (GError) reason = NULL;

    pool->worker[i] = g_thread_try_new ("convolve-cpu", worker_main, pool,
        &reason);
    if (pool->worker[i] == NULL) {
      g_set_error (error, CONVOLVE_ERROR, CONVOLVE_ERROR_NO_MEMORY,
          "thread %u of %u could not be started: %s", i + 2, n_threads,
          reason->message);
      convolve_cpu_pool_free (pool);
      return NULL;
    }
    pool->n_workers++;
  }
  return pool;
}

void
convolve_cpu_pool_free (CpuPool * pool)
{
  g_mutex_lock (&pool->lock);
  pool->quit = TRUE;
  g_cond_broadcast (&pool->wanted);
  g_mutex_unlock (&pool->lock);
  for (guint i = 0; i < pool->n_workers; i++)
    g_thread_join (pool->worker[i]);
  g_mutex_clear (&pool->lock);
  g_cond_clear (&pool->wanted);
  g_cond_clear (&pool->done);
  g_free (pool->worker);
  g_free (pool);
}

guint
convolve_cpu_pool_threads (const CpuPool * pool)
{
  return pool->n_workers + 1;
}

void
convolve_cpu_pool_run (CpuPool * pool, CpuPoolFunc func, gpointer data,
    guint n_items)
{
  guint helpers = n_items > 1 ? MIN (pool->n_workers, n_items - 1) : 0;

  g_mutex_lock (&pool->lock);
  pool->func = func;
  pool->data = data;
  pool->n_items = n_items;
  g_atomic_int_set (&pool->next, 0);
  pool->tickets = helpers;
  pool->taken = 0;
  for (guint i = 0; i < helpers; i++)
    g_cond_signal (&pool->wanted);
  g_mutex_unlock (&pool->lock);

  work (pool, 0);

  g_mutex_lock (&pool->lock);
  pool->tickets = 0;
  while (pool->running > 0)
    g_cond_wait (&pool->done, &pool->lock);
  g_mutex_unlock (&pool->lock);
}
