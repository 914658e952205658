/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Pieces of memory with guards around, and copies. */
#include <stdlib.h>
#include <string.h>

#include "sim.h"

#define GUARD 256

GPtrArray *sim_memories;
gsize sim_device_limit = G_MAXSIZE, sim_host_limit = G_MAXSIZE;

SimMemory *
sim_memory_at (guint64 address, gsize bytes)
{
  for (guint i = 0; i < sim_memories->len; i++) {
    SimMemory *m = g_ptr_array_index (sim_memories, i);
    guint64 base = (gsize) m->base;

    if (address >= base && address - base <= m->size
        && bytes <= m->size - (address - base))
      return m;
  }
  return NULL;
}

gboolean
sim_check_rows (const gchar * what, guint64 address, gint64 stride,
    gint64 rows, gsize bytes)
{
  guint64 last = address + (rows - 1) * stride, low = MIN (address, last);
  gsize reach = MAX (address, last) - low + bytes;
  SimMemory *m;

  if (rows <= 0 || bytes == 0)
    return TRUE;
  m = sim_memory_at (low, reach);
  if (m != NULL && !m->host)
    return TRUE;
  sim_misuse ("%s at %#" G_GINT64_MODIFIER "x, %" G_GINT64_FORMAT
      " rows %" G_GINT64_FORMAT " apart of %" G_GSIZE_FORMAT
      " bytes, is not inside one piece of device memory", what, address, rows,
      stride, bytes);
  return FALSE;
}

static gsize
bytes_left (gboolean host)
{
  gsize left = host ? sim_host_limit : sim_device_limit;

  for (guint i = 0; i < sim_memories->len; i++) {
    const SimMemory *m = g_ptr_array_index (sim_memories, i);

    if (m->host == host)
      left -= MIN (left, m->size);
  }
  return left;
}

static CUresult
allocate (gsize size, gboolean host, gpointer * memory)
{
  SimMemory *m;
  guint8 *block;

  NEED (size > 0, CUDA_ERROR_INVALID_VALUE);
  NEED (size <= bytes_left (host), CUDA_ERROR_OUT_OF_MEMORY);
  block = aligned_alloc (256, (size + 2 * GUARD + 255) / 256 * 256);
  NEED (block != NULL, CUDA_ERROR_OUT_OF_MEMORY);
  m = g_new0 (SimMemory, 1);
  m->context = sim_current ();
  m->base = block + GUARD;
  m->size = size;
  m->host = host;
  memset (block, 0xa5, GUARD);
  memset (m->base, g_rand_int (sim_rand), size);
  memset (m->base + size, 0xa5, GUARD);
  g_ptr_array_add (sim_memories, m);
  *memory = m->base;
  return CUDA_SUCCESS;
}

static gboolean
guards_are_whole (const SimMemory * m)
{
  for (guint i = 0; i < GUARD; i++)
    if (m->base[-1 - (gint) i] != 0xa5 || m->base[m->size + i] != 0xa5)
      return FALSE;
  return TRUE;
}

static CUresult
release (guint64 address, gboolean host, const gchar * function)
{
  SimMemory *m = sim_memory_at (address, 1);

  if (m == NULL || (gsize) m->base != address || m->host != host) {
    sim_misuse ("%s got an address that was not allocated", function);
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (m->context != sim_current ())
    sim_misuse ("%s got memory of a context that is not current", function);
  sim_run_all ();
  if (!guards_are_whole (m))
    sim_misuse ("memory of %" G_GSIZE_FORMAT " bytes was overrun", m->size);
  g_ptr_array_remove_fast (sim_memories, m);
  free (m->base - GUARD);
  g_free (m);
  return CUDA_SUCCESS;
}

CUresult
cuMemAlloc (CUdeviceptr * memory, size_t size)
{
  gpointer p = NULL;
  CUresult result;

  ENTER ();
  NEED_CONTEXT ();
  result = allocate (size, FALSE, &p);
  *memory = (CUdeviceptr) (gsize) p;
  return result;
}

CUresult
cuMemAllocPitch (CUdeviceptr * memory, size_t *pitch, size_t width,
    size_t height, unsigned int element)
{
  gpointer p = NULL;
  CUresult result;

  ENTER ();
  NEED_CONTEXT ();
  *pitch = (width + 511) / 512 * 512;
  result = allocate (*pitch * height, FALSE, &p);
  *memory = (CUdeviceptr) (gsize) p;
  return result;
}

CUresult
cuMemFree (CUdeviceptr memory)
{
  CUresult result;

  ENTER_RELEASE ();
  NEED_CONTEXT ();
  result = release (memory, FALSE, __func__);
  return result_ != CUDA_SUCCESS ? result_ : result;
}

CUresult
cuMemHostAlloc (void **memory, size_t size, unsigned int flags)
{
  ENTER ();
  NEED_CONTEXT ();
  return allocate (size, TRUE, memory);
}

CUresult
cuMemAllocHost (void **memory, size_t size)
{
  ENTER ();
  NEED_CONTEXT ();
  return allocate (size, TRUE, memory);
}

CUresult
cuMemFreeHost (void *memory)
{
  CUresult result;

  ENTER_RELEASE ();
  NEED_CONTEXT ();
  result = release ((gsize) memory, TRUE, __func__);
  return result_ != CUDA_SUCCESS ? result_ : result;
}

CUresult
cuMemGetInfo (size_t *available, size_t *total)
{
  ENTER ();
  NEED_CONTEXT ();
  *total = (gsize) 1 << 30;
  *available = MIN (*total, bytes_left (FALSE));
  return CUDA_SUCCESS;
}

/* ---- copies ---- */

CUresult
cuMemcpyHtoD (CUdeviceptr to, const void *from, size_t size)
{
  ENTER ();
  NEED_CONTEXT ();
  sim_run_some ();
  if (!sim_check_rows ("a copy's target", to, 0, 1, size))
    return CUDA_ERROR_INVALID_VALUE;
  memcpy ((gpointer) (gsize) to, from, size);
  return CUDA_SUCCESS;
}

static guint64 uploaded;        /* bytes, with the driver's lock */

guint64
sim_uploaded (void)
{
  return uploaded;
}

/* Host memory that is not page-locked is copied before the call returns. */
static gboolean
is_pageable (gconstpointer host)
{
  return sim_memory_at ((gsize) host, 1) == NULL;
}

static CUresult
copy_2d (const CUDA_MEMCPY2D * copy, SimStream * stream)
{
  gboolean from_host = copy->srcMemoryType == CU_MEMORYTYPE_HOST;
  gboolean to_host = copy->dstMemoryType == CU_MEMORYTYPE_HOST;
  SimOp *op;

  NEED (copy->WidthInBytes > 0 && copy->Height > 0
      && (copy->srcPitch >= copy->WidthInBytes || copy->srcPitch == 0)
      && (copy->dstPitch >= copy->WidthInBytes || copy->dstPitch == 0),
      CUDA_ERROR_INVALID_VALUE);
  if (from_host && !to_host)
    uploaded += (guint64) copy->WidthInBytes * copy->Height;
  if (stream == NULL) {
    sim_run_all ();
    sim_copy (copy);
    return CUDA_SUCCESS;
  }
  op = sim_op_new (SIM_COPY, stream);
  op->copy = *copy;
  sim_enqueue (op);
  if ((from_host && is_pageable (copy->srcHost))
      || (to_host && is_pageable (copy->dstHost)))
    sim_run_until (op);
  sim_op_unref (op);
  return CUDA_SUCCESS;
}

CUresult
cuMemcpy2DAsync (const CUDA_MEMCPY2D * copy, CUstream handle)
{
  SimStream *stream = (SimStream *) handle;

  ENTER ();
  NEED_CONTEXT ();
  if (stream != NULL)
    NEED_HANDLE (stream, SIM_STREAM);
  return copy_2d (copy, stream);
}

CUresult
cuMemcpy2D (const CUDA_MEMCPY2D * copy)
{
  ENTER ();
  NEED_CONTEXT ();
  return copy_2d (copy, NULL);
}
