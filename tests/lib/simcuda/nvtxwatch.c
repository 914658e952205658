/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What NVTX_INJECTION64_PATH can name in place of a profiler: it writes down
 * the ranges of each thread, and what is wrong with them. */
#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExt.h>

#include <glib.h>
#include <string.h>

#include "nvtxwatch.h"

#define MAX_DEPTH 16

static gint n_faults, n_open;
static GMutex mutex;
static GHashTable *counts;      /* name -> times */
static gint own_domain;

static __thread guint depth;

static nvtxDomainHandle_t
domain_create (const char *name)
{
  if (strcmp (name, "videoconvolve") != 0)
    g_atomic_int_inc (&n_faults);
  return (nvtxDomainHandle_t) & own_domain;
}

static int
range_push (nvtxDomainHandle_t domain, const nvtxEventAttributes_t * event)
{
  const gchar *name = event->message.ascii;

  if (domain != (nvtxDomainHandle_t) & own_domain
      || event->size != NVTX_EVENT_ATTRIB_STRUCT_SIZE
      || event->messageType != NVTX_MESSAGE_TYPE_ASCII || name == NULL
      || depth >= MAX_DEPTH) {
    g_atomic_int_inc (&n_faults);
    return -1;
  }
  g_mutex_lock (&mutex);
  g_hash_table_insert (counts, g_strdup (name),
      GUINT_TO_POINTER (GPOINTER_TO_UINT (g_hash_table_lookup (counts,
                  name)) + 1));
  g_mutex_unlock (&mutex);
  g_atomic_int_inc (&n_open);
  return depth++;
}

static int
range_pop (nvtxDomainHandle_t domain)
{
  if (domain != (nvtxDomainHandle_t) & own_domain || depth == 0) {
    g_atomic_int_inc (&n_faults);
    return -1;
  }
  g_atomic_int_add (&n_open, -1);
  return --depth;
}

/* NVTX finds it by this name. */
int InitializeInjectionNvtx2 (NvtxGetExportTableFunc_t get_table);

int
InitializeInjectionNvtx2 (NvtxGetExportTableFunc_t get_table)
{
  const NvtxExportTableCallbacks *callbacks = get_table (NVTX_ETID_CALLBACKS);
  NvtxFunctionTable table = NULL;
  unsigned int size = 0;

  if (callbacks == NULL
      || !callbacks->GetModuleFunctionTable (NVTX_CB_MODULE_CORE2, &table,
          &size) || size < NVTX_CBID_CORE2_DomainCreateA)
    return 0;
  counts = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  *table[NVTX_CBID_CORE2_DomainCreateA] = (NvtxFunctionPointer) domain_create;
  *table[NVTX_CBID_CORE2_DomainRangePushEx] = (NvtxFunctionPointer) range_push;
  *table[NVTX_CBID_CORE2_DomainRangePop] = (NvtxFunctionPointer) range_pop;
  return 1;
}

/* ---- for the test ---- */

guint
nvtxwatch_faults (void)
{
  return g_atomic_int_get (&n_faults);
}

guint
nvtxwatch_open (void)
{
  return g_atomic_int_get (&n_open);
}

guint
nvtxwatch_count (const gchar * name)
{
  guint n = 0;

  g_mutex_lock (&mutex);
  if (counts != NULL)
    n = GPOINTER_TO_UINT (g_hash_table_lookup (counts, name));
  g_mutex_unlock (&mutex);
  return n;
}
