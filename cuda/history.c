/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copies of frames in the device's memory. A frame goes over the bus once, and
 * is there when store returns. Frames of ordinary memory go through one
 * page-locked block. */
#include "config.h"

#include <string.h>

#include "program.h"
#include "ranges.h"

#define PITCH 256

typedef struct
{
  CUdeviceptr memory;           /* 0: never used */
  CUevent used;                 /* after the last kernels that look at it ... */
  gboolean is_used;             /* ... if there are any */
  ConvolveFrame frame;
} Slot;

typedef struct
{
  ConvolveHistory history;
  CudaDevice *device;
  ConvolvePlanePlace plane[CONVOLVE_MAX_PLANES];
  gsize size;                   /* of a copy */
  GArray *slot;
  guint8 *staging;              /* NULL until ordinary memory comes */
  CUevent begin, end;           /* of the latest upload */
} CudaHistory;

ConvolveHistory *
cuda_history_new (CudaDevice * device, const GstVideoInfo * info,
    GError ** error)
{
  CudaHistory *self = g_new0 (CudaHistory, 1);
  gboolean ok;

  self->device = device;
  self->slot = g_array_new (FALSE, TRUE, sizeof (Slot));
  self->size = convolve_planes_place (info, PITCH, self->plane);
  {
    g_auto (CudaScope) scope = { 0 };

    ok = cuda_scope_enter (&scope, device->context, error)
        && CU_CHECK (error, cuEventCreate, &self->begin, CU_EVENT_DEFAULT)
        && CU_CHECK (error, cuEventCreate, &self->end, CU_EVENT_DEFAULT);
  }
  if (ok)
    return &self->history;
  cuda_history_free (&self->history);
  return NULL;
}

static void
free_memory (CudaHistory * self)
{
  CUevent *events[] = { &self->begin, &self->end };

  for (guint i = 0; i < G_N_ELEMENTS (events); i++)
    if (*events[i] != NULL)
      CU_CALL (cuEventDestroy, *events[i]);
  for (guint i = 0; i < self->slot->len; i++) {
    Slot *slot = &g_array_index (self->slot, Slot, i);

    if (slot->used != NULL)
      CU_CALL (cuEventDestroy, slot->used);
    if (slot->memory != 0)
      CU_CALL (cuMemFree, slot->memory);
  }
  if (self->staging != NULL)
    CU_CALL (cuMemFreeHost, self->staging);
}

void
cuda_history_free (ConvolveHistory * history)
{
  CudaHistory *self = (CudaHistory *) history;
  g_auto (CudaScope) scope = { 0 };

  if (cuda_scope_enter_to_free (&scope, self->device->context))
    free_memory (self);
  g_array_unref (self->slot);
  g_free (self);
}

/* ---- frames in ---- */

static gboolean
ensure_slot (CudaHistory * self, Slot * slot, GError ** error)
{
  if (slot->used == NULL && !CU_CHECK (error, cuEventCreate, &slot->used,
          CU_EVENT_DISABLE_TIMING))
    return FALSE;
  if (slot->memory == 0
      && !CU_CHECK (error, cuMemAlloc, &slot->memory, self->size))
    return FALSE;
  slot->frame.memory = CONVOLVE_MEMORY_DEVICE;
  for (guint p = 0; p < CONVOLVE_MAX_PLANES; p++) {
    slot->frame.data[p] = NULL;
    if (self->plane[p].rows > 0)
      slot->frame.data[p] =
          (guint8 *) (gsize) (slot->memory + self->plane[p].offset);
    slot->frame.stride[p] = (gint) self->plane[p].stride;
  }
  return TRUE;
}

static gboolean
ensure_staging (CudaHistory * self, GError ** error)
{
  return self->staging != NULL || CU_CHECK (error, cuMemHostAlloc,
      (void **) &self->staging, self->size, 0);
}

/* From ordinary memory to the block. */
static void
copy_to_staging (CudaHistory * self, const ConvolveFrame * in)
{
  CudaCopier *copier = &self->device->copier;

  cuda_copier_clear_batch (copier);
  for (guint p = 0; p < CONVOLVE_MAX_PLANES; p++) {
    const ConvolvePlanePlace *plane = &self->plane[p];
    CudaCopy copy = { self->staging + plane->offset, in->data[p],
      plane->stride, in->stride[p], plane->row_bytes, plane->rows
    };

    if (plane->rows > 0)
      cuda_copier_add (copier, &copy);
  }
  cuda_copier_start (copier);
  cuda_copier_finish (copier, copier->n_tasks);
}

/* Copies know no negative strides: these go row by row. */
static gboolean
copy_on_device (CudaHistory * self, const ConvolvePlanePlace * plane,
    CUdeviceptr from, gint64 from_stride, CUdeviceptr to, GError ** error)
{
  guint n = from_stride > 0 ? 1 : plane->rows;

  for (guint i = 0; i < n; i++) {
    CUDA_MEMCPY2D copy = { 0 };

    copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.srcDevice = from + i * from_stride;
    copy.dstDevice = to + i * plane->stride;
    copy.srcPitch = from_stride > 0 ? (gsize) from_stride : plane->row_bytes;
    copy.dstPitch = plane->stride;
    copy.WidthInBytes = plane->row_bytes;
    copy.Height = from_stride > 0 ? plane->rows : 1;
    if (!CU_CHECK (error, cuMemcpy2DAsync, &copy, self->device->up))
      return FALSE;
  }
  return TRUE;
}

static gboolean
copy_plane (CudaHistory * self, guint p, const ConvolveFrame * in,
    CUdeviceptr to, GError ** error)
{
  const ConvolvePlanePlace *plane = &self->plane[p];

  if (plane->rows == 0)
    return TRUE;
  to += plane->offset;
  if (in->memory == CONVOLVE_MEMORY_DEVICE)
    return copy_on_device (self, plane, (CUdeviceptr) (gsize) in->data[p],
        in->stride[p], to, error);
  if (in->memory == CONVOLVE_MEMORY_HOST)
    return cuda_transfer (self->device->up, TRUE,
        self->staging + plane->offset, plane->stride, to, plane->stride,
        plane->row_bytes, plane->rows, error);
  return cuda_transfer (self->device->up, TRUE, in->data[p], in->stride[p], to,
      plane->stride, plane->row_bytes, plane->rows, error);
}

/* Kernels that look at what the slot held come first. */
static gboolean
enqueue_copy (CudaHistory * self, const Slot * slot, const ConvolveFrame * in,
    GError ** error)
{
  CUstream up = self->device->up;

  if ((slot->is_used && !CU_CHECK (error, cuStreamWaitEvent, up, slot->used, 0))
      || !CU_CHECK (error, cuEventRecord, self->begin, up))
    return FALSE;
  for (guint p = 0; p < CONVOLVE_MAX_PLANES; p++)
    if (!copy_plane (self, p, in, slot->memory, error))
      return FALSE;
  return CU_CHECK (error, cuEventRecord, self->end, up);
}

static void
count_copy (CudaHistory * self, const ConvolveFrame * in)
{
  float ms = 0;

  if (in->memory != CONVOLVE_MEMORY_DEVICE
      && CU_CALL (cuEventElapsedTime, &ms, self->begin,
          self->end) == CUDA_SUCCESS)
    self->device->stats.upload_ns += (guint64) (ms * 1e6);
}

static gboolean
ensure_memory (CudaHistory * self, Slot * slot, const ConvolveFrame * in,
    GError ** error)
{
  g_autoptr (GError) shortage = NULL;

  if (ensure_slot (self, slot, &shortage)
      && (in->memory != CONVOLVE_MEMORY_HOST
          || ensure_staging (self, &shortage)))
    return TRUE;
  if (cuda_slots_give_way (self->device, shortage))
    return ensure_memory (self, slot, in, error);
  g_propagate_error (error, g_steal_pointer (&shortage));
  return FALSE;
}

gboolean
cuda_history_store (ConvolveHistory * history, guint index,
    const ConvolveFrame * in, GError ** error)
{
  CudaHistory *self = (CudaHistory *) history;
  g_auto (CudaRange) range = cuda_range_begin ("upload");
  g_auto (CudaScope) scope = { 0 };
  gboolean ok;
  Slot *slot;

  if (index >= self->slot->len)
    g_array_set_size (self->slot, index + 1);
  slot = &g_array_index (self->slot, Slot, index);
  if (!cuda_scope_enter (&scope, self->device->context, error)
      || !ensure_memory (self, slot, in, error))
    return FALSE;
  if (in->memory == CONVOLVE_MEMORY_HOST)
    copy_to_staging (self, in);
  ok = enqueue_copy (self, slot, in, error);
  if (!CU_CHECK (ok ? error : NULL, cuStreamSynchronize, self->device->up))
    return FALSE;
  if (ok)
    count_copy (self, in);
  return ok;
}

/* ---- frames out ---- */

const ConvolveFrame *
cuda_history_frame (const ConvolveHistory * history, guint slot)
{
  const CudaHistory *self = (const CudaHistory *) history;

  return &g_array_index (self->slot, Slot, slot).frame;
}

gboolean
cuda_history_note_use (const ConvolveWindow * window, GError ** error)
{
  CudaHistory *self = (CudaHistory *) window->history;

  for (guint i = 0; i < window->n; i++) {
    Slot *slot = &g_array_index (self->slot, Slot, window->slot[i]);

    if (!CU_CHECK (error, cuEventRecord, slot->used, self->device->compute))
      return FALSE;
    slot->is_used = TRUE;
  }
  return TRUE;
}
