/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What one frame in flight owns: memory and events. Memory comes when the
 * first frame shows that it is needed, and stays. Making it takes longer than
 * many a frame, so a device keeps some of what a program leaves: the next one,
 * with other values for frames of the same size, begins with that. The first
 * program leaves nothing before the second begins, so some is made with it. */
#include "config.h"

#include "program.h"

#define MAX_SPARES 2
/* Of frames larger than this nothing is made beforehand, nor where more than
 * this part of what is left of the device's memory would go: others need some,
 * too. */
#define MAX_RESERVED_BYTES (80 << 20)
#define MAX_RESERVED_PART 8

static gboolean
create_events (CUevent * events, guint n, guint flags, GError ** error)
{
  for (guint i = 0; i < n; i++)
    if (!CU_CHECK (error, cuEventCreate, &events[i], flags))
      return FALSE;
  return TRUE;
}

static gboolean
create_band_events (CudaEvents * events, guint n, gboolean timed,
    GError ** error)
{
  guint flags = timed ? CU_EVENT_DEFAULT : CU_EVENT_DISABLE_TIMING;

  return create_events (events->uploaded, n, flags, error)
      && create_events (events->kernel_end, n, flags, error)
      && create_events (events->download_end, n, flags, error)
      && (!timed || (create_events (events->kernel_begin, n, flags, error)
          && create_events (events->download_begin, n, flags, error)));
}

static gboolean
take_spare (CudaProgram * program, CudaSlot * slot)
{
  GPtrArray *spares = cuda_program_device (program)->spares;

  for (guint i = 0; i < spares->len; i++) {
    CudaSlot *spare = g_ptr_array_index (spares, i);

    if (spare->n_made < program->n_bands
        || spare->bytes != program->frame_bytes)
      continue;
    *slot = *spare;
    g_free (g_ptr_array_steal_index_fast (spares, i));
    return TRUE;
  }
  return FALSE;
}

static gboolean
slot_make (CudaProgram * program, CudaSlot * slot, GError ** error)
{
  guint n = program->n_bands;

  slot->n_made = n;
  slot->bytes = program->frame_bytes;
  return create_events (&slot->begin, 1, CU_EVENT_DEFAULT, error)
      && create_events (&slot->done, 1, CU_EVENT_DEFAULT, error)
      && create_band_events (&slot->events[0], n, FALSE, error)
      && create_band_events (&slot->events[1], n, TRUE, error);
}

gboolean
cuda_slot_init (CudaProgram * program, CudaSlot * slot, GError ** error)
{
  return take_spare (program, slot) || slot_make (program, slot, error);
}

static gboolean
ensure_device_memory (CUdeviceptr * memory, gsize size, gboolean wanted,
    GError ** error)
{
  return !wanted || *memory != 0 || CU_CHECK (error, cuMemAlloc, memory, size);
}

static gboolean
ensure_staging (guint8 ** memory, gsize size, gboolean wanted, GError ** error)
{
  return !wanted || *memory != NULL
      || CU_CHECK (error, cuMemHostAlloc, (void **) memory, size, 0);
}

gboolean
cuda_slot_ensure (CudaProgram * program, CudaSlot * slot, ConvolveMemory in,
    ConvolveMemory out, GError ** error)
{
  gsize size = program->frame_bytes;

  return ensure_device_memory (&slot->in_planes, size,
      in != CONVOLVE_MEMORY_DEVICE, error)
      && ensure_device_memory (&slot->out_planes, size,
      out != CONVOLVE_MEMORY_DEVICE, error)
      && ensure_staging (&slot->in_staging, size,
      in == CONVOLVE_MEMORY_HOST, error)
      && ensure_staging (&slot->out_staging, size,
      out == CONVOLVE_MEMORY_HOST, error);
}

static void
destroy_events (CUevent * events, guint n)
{
  for (guint i = 0; i < n; i++)
    if (events[i] != NULL)
      CU_CALL (cuEventDestroy, events[i]);
}

void
cuda_slot_clear (CudaSlot * slot)
{
  destroy_events (&slot->begin, 1);
  destroy_events (&slot->done, 1);
  for (guint i = 0; i < G_N_ELEMENTS (slot->events); i++) {
    destroy_events (slot->events[i].uploaded, CUDA_MAX_BANDS);
    destroy_events (slot->events[i].kernel_begin, CUDA_MAX_BANDS);
    destroy_events (slot->events[i].kernel_end, CUDA_MAX_BANDS);
    destroy_events (slot->events[i].download_begin, CUDA_MAX_BANDS);
    destroy_events (slot->events[i].download_end, CUDA_MAX_BANDS);
  }
  if (slot->in_planes != 0)
    CU_CALL (cuMemFree, slot->in_planes);
  if (slot->out_planes != 0)
    CU_CALL (cuMemFree, slot->out_planes);
  if (slot->in_staging != NULL)
    CU_CALL (cuMemFreeHost, slot->in_staging);
  if (slot->out_staging != NULL)
    CU_CALL (cuMemFreeHost, slot->out_staging);
  *slot = (CudaSlot) {
  0};
}

void
cuda_slot_return (CudaProgram * program, CudaSlot * slot)
{
  GPtrArray *spares = cuda_program_device (program)->spares;
  const CudaSlot *kept = spares->len > 0 ? g_ptr_array_index (spares, 0) : NULL;

  /* Frames of another size, or cut into fewer bands, are over then. */
  if (kept != NULL
      && (kept->bytes != slot->bytes || kept->n_made < slot->n_made))
    cuda_slots_drop (cuda_program_device (program));
  if (spares->len < MAX_SPARES)
    g_ptr_array_add (spares, g_memdup2 (slot, sizeof (*slot)));
  else
    cuda_slot_clear (slot);
}

void
cuda_slots_drop (CudaDevice * device)
{
  for (guint i = 0; i < device->spares->len; i++)
    cuda_slot_clear (g_ptr_array_index (device->spares, i));
  g_ptr_array_set_size (device->spares, 0);
}

gboolean
cuda_slots_give_way (CudaDevice * device, const GError * shortage)
{
  if (device->spares->len == 0 || !g_error_matches (shortage, CONVOLVE_ERROR,
          CONVOLVE_ERROR_NO_MEMORY))
    return FALSE;
  cuda_slots_drop (device);
  return TRUE;
}

/* For so many frames, up and down. */
static gboolean
has_plenty (gsize frame_bytes, guint frames)
{
  size_t left, all;

  return frame_bytes <= MAX_RESERVED_BYTES
      && CU_CALL (cuMemGetInfo, &left, &all) == CUDA_SUCCESS
      && 2 * frames * frame_bytes <= left / MAX_RESERVED_PART;
}

void
cuda_slots_reserve (CudaProgram * program)
{
  CudaDevice *device = cuda_program_device (program);
  guint n = MIN (program->n_slots, MAX_SPARES);

  if (program->frame_bytes == device->reserved_bytes)
    return;
  device->reserved_bytes = program->frame_bytes;
  if (!has_plenty (program->frame_bytes, n))
    return;
  for (guint i = 0; i < n; i++) {
    CudaSlot slot = { 0 };

    if (!slot_make (program, &slot, NULL)) {
      cuda_slot_clear (&slot);
      return;
    }
    cuda_slot_return (program, &slot);
  }
}

void
cuda_slots_ensure (CudaProgram * program, ConvolveMemory in, ConvolveMemory out)
{
  CudaDevice *device = cuda_program_device (program);

  for (guint i = 0; i < device->spares->len; i++) {
    CudaSlot *spare = g_ptr_array_index (device->spares, i);

    if (spare->bytes == program->frame_bytes
        && !cuda_slot_ensure (program, spare, in, out, NULL)) {
      cuda_slots_drop (device);
      return;
    }
  }
}
