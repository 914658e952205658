/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Threads that wait for work, so that a frame starts none. */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

typedef struct _CpuPool CpuPool;

/* One piece of a job: item is 0 .. n_items - 1; thread is below both n_threads and n_items, and different in pieces that
 * run at the same time. */
typedef void (*CpuPoolFunc) (gpointer data, guint item, guint thread);

/* n_threads counts the caller of run, so 1 starts no thread. NULL with an error if a thread cannot be started. */
CpuPool *convolve_cpu_pool_new (guint n_threads, GError ** error);
void convolve_cpu_pool_free (CpuPool * pool);
guint convolve_cpu_pool_threads (const CpuPool * pool);
/* Calls func for every item, here and on the other threads, and returns when all are done. One caller at a time. */
void convolve_cpu_pool_run (CpuPool * pool, CpuPoolFunc func, gpointer data, guint n_items);

G_END_DECLS
