/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One frame: bands go up, through the kernels and down, on three streams that
 * wait for each other by events. Nothing here waits for the device unless the
 * slot's last job is still at work. */
#include "config.h"

#include <string.h>

#include "program.h"
#include "ranges.h"

/* One of so many frames has its times taken, beside the first: events with
 * times cost some microseconds a band. */
#define TIMED_FRAMES 16

/* A frame on its way. */
typedef struct
{
  CudaProgram *program;
  CudaDevice *device;
  CudaSlot *slot;
  const CudaEvents *events;     /* the slot's that count */
  const ConvolveFrame *in, *out;
  const ConvolveRegions *regions;       /* NULL: the whole frame */
  CudaFrame device_in, device_out;
  guint n_copied;               /* pieces of ordinary memory */
} Flight;

/* ---- places ---- */

static void
place_frame (const CudaProgram * program, const ConvolveFrame * frame,
    CUdeviceptr own, CudaFrame * place)
{
  for (guint p = 0; p < CONVOLVE_MAX_PLANES; p++) {
    const CudaPlane *plane = &program->plane[p];

    if (frame->memory == CONVOLVE_MEMORY_DEVICE) {
      place->data[p] = (CUdeviceptr) (gsize) frame->data[p];
      place->stride[p] = frame->stride[p];
    } else {
      place->data[p] = own + plane->offset;
      place->stride[p] = plane->pitch;
    }
  }
}

/* Bytes begin .. of the rows of a memory plane that belong to the band,
 * between the host and the device. The host's first row has the lowest address
 * only if its stride is positive, and transfers know no negative ones: these
 * go row by row. */
gboolean
cuda_transfer (CUstream stream, gboolean up, guint8 * host, gssize host_stride,
    CUdeviceptr device, gsize pitch, gsize bytes, guint rows, GError ** error)
{
  guint n = host_stride > 0 ? 1 : rows;
  gsize host_pitch = n == 1 && host_stride > 0 ? (gsize) host_stride : pitch;

  for (guint i = 0; i < n; i++) {
    CUDA_MEMCPY2D copy = { 0 };
    guint8 *h = host + i * host_stride;
    CUdeviceptr d = device + i * pitch;

    copy.srcMemoryType = up ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
    copy.dstMemoryType = up ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
    copy.srcHost = up ? h : NULL;
    copy.dstHost = up ? NULL : h;
    copy.srcDevice = up ? 0 : d;
    copy.dstDevice = up ? d : 0;
    copy.srcPitch = up ? host_pitch : pitch;
    copy.dstPitch = up ? pitch : host_pitch;
    copy.WidthInBytes = bytes;
    copy.Height = n == 1 ? rows : 1;
    if (!CU_CHECK (error, cuMemcpy2DAsync, &copy, stream))
      return FALSE;
  }
  return TRUE;
}

/* ---- up ---- */

/* The frame is in ordinary memory: all of it is copied to page-locked memory,
 * in the order in which bands go up. */
static void
start_copies (Flight * flight)
{
  g_auto (CudaRange) range = cuda_range_begin ("copy in");
  CudaCopier *copier = &flight->device->copier;
  const CudaProgram *program = flight->program;
  const ConvolveFrame *in = flight->in;

  cuda_copier_clear_batch (copier);
  for (guint b = 0; b < program->n_bands; b++) {
    const CudaRows *rows = &program->band[b].up;

    for (guint p = 0; p < CONVOLVE_MAX_PLANES; p++) {
      const CudaPlane *plane = &program->plane[p];
      CudaCopy copy = {
        flight->slot->in_staging + plane->offset
            + (gsize) rows->begin[p] * plane->pitch,
        in->data[p] + (gssize) rows->begin[p] * in->stride[p],
        plane->pitch, in->stride[p], plane->row_bytes,
        rows->end[p] - rows->begin[p]
      };

      if (copy.rows > 0)
        cuda_copier_add (copier, &copy);
    }
  }
  cuda_copier_start (copier);
}

static gboolean
upload_plane (Flight * flight, guint p, const CudaRows * band, GError ** error)
{
  const CudaPlane *plane = &flight->program->plane[p];
  const ConvolveFrame *in = flight->in;
  guint first = band->begin[p], rows = band->end[p] - first;
  gsize offset = plane->offset + (gsize) first * plane->pitch;
  guint8 *host = in->data[p] + (gssize) first * in->stride[p];
  gssize stride = in->stride[p];

  if (rows == 0)
    return TRUE;
  if (in->memory == CONVOLVE_MEMORY_HOST) {
    cuda_copier_finish (&flight->device->copier, ++flight->n_copied);
    host = flight->slot->in_staging + offset;
    stride = plane->pitch;
  }
  return cuda_transfer (flight->device->up, TRUE, host, stride,
      flight->slot->in_planes + offset, plane->pitch, plane->row_bytes, rows,
      error);
}

static gboolean
upload_band (Flight * flight, guint b, GError ** error)
{
  g_auto (CudaRange) range = cuda_range_begin ("upload");
  const CudaBand *band = &flight->program->band[b];

  for (guint p = 0; p < CONVOLVE_MAX_PLANES; p++)
    if (!upload_plane (flight, p, &band->up, error))
      return FALSE;
  return CU_CHECK (error, cuEventRecord, flight->events->uploaded[b],
      flight->device->up);
}

/* ---- kernels ---- */

static gboolean
run_passes (Flight * flight, const CudaBand * band, GError ** error)
{
  CudaProgram *program = flight->program;

  for (guint g = 0; g < program->n_groups; g++)
    if (!cuda_group_run (program, &program->group[g], &flight->device_in,
            &flight->device_out, band, error))
      return FALSE;
  for (guint i = 0; i < program->n_staged; i++)
    if (!cuda_staged_run (program, &program->staged[i], &flight->device_in,
            &flight->device_out, NULL, error))
      return FALSE;
  return TRUE;
}

static gboolean
run_kernels (Flight * flight, const CudaBand * band, GError ** error)
{
  g_auto (CudaRange) range = cuda_range_begin ("passes");
  CudaProgram *program = flight->program;
  CudaDevice *device = flight->device;
  CudaSlot *slot = flight->slot;
  guint k = slot->n_kernels++;

  if (slot->uploads && !CU_CHECK (error, cuStreamWaitEvent, device->compute,
          flight->events->uploaded[band->needs], 0))
    return FALSE;
  if (slot->timed && !CU_CHECK (error, cuEventRecord,
          flight->events->kernel_begin[k], device->compute))
    return FALSE;
  if (flight->regions != NULL) {
    if (!cuda_regions_run (program, flight->regions, &flight->device_in,
            &flight->device_out, error))
      return FALSE;
  } else if (!run_passes (flight, band, error)) {
    return FALSE;
  }
  return CU_CHECK (error, cuEventRecord, flight->events->kernel_end[k],
      device->compute);
}

/* ---- down ---- */

static gboolean
download_plane (Flight * flight, guint p, const CudaRows * band,
    GError ** error)
{
  const CudaPlane *plane = &flight->program->plane[p];
  const ConvolveFrame *out = flight->out;
  guint first = band->begin[p], rows = band->end[p] - first;
  gsize offset = plane->offset + (gsize) first * plane->pitch;
  guint8 *host = out->data[p] + (gssize) first * out->stride[p];
  gssize stride = out->stride[p];

  if (out->memory == CONVOLVE_MEMORY_HOST) {
    host = flight->slot->out_staging + offset;
    stride = plane->pitch;
  }
  for (guint r = 0; r < plane->n_runs && rows > 0; r++)
    if (!cuda_transfer (flight->device->down, FALSE, host + plane->run[r].begin,
            stride, flight->slot->out_planes + offset + plane->run[r].begin,
            plane->pitch, plane->run[r].bytes, rows, error))
      return FALSE;
  return TRUE;
}

/* Output rows of band b, which the kernels of number k have made. */
static gboolean
download_band (Flight * flight, guint b, guint k, GError ** error)
{
  g_auto (CudaRange) range = cuda_range_begin ("download");
  CudaDevice *device = flight->device;
  CudaSlot *slot = flight->slot;

  if (!CU_CHECK (error, cuStreamWaitEvent, device->down,
          flight->events->kernel_end[k], 0)
      || (slot->timed && !CU_CHECK (error, cuEventRecord,
              flight->events->download_begin[b], device->down)))
    return FALSE;
  for (guint p = 0; p < CONVOLVE_MAX_PLANES; p++)
    if (!download_plane (flight, p, &flight->program->band[b].down, error))
      return FALSE;
  /* Who copies out waits for it. */
  return (!slot->timed && flight->out->memory != CONVOLVE_MEMORY_HOST)
      || CU_CHECK (error, cuEventRecord, flight->events->download_end[b],
      device->down);
}

/* ---- a frame ---- */

/* Kernels of band b and what follows; the band is a whole frame where stages,
 * regions or no transfers are. */
static gboolean
finish_band (Flight * flight, guint b, gboolean whole, GError ** error)
{
  const CudaProgram *program = flight->program;
  CudaSlot *slot = flight->slot;
  guint first = whole ? 0 : b, last = whole ? slot->n_bands - 1 : b;

  if (!run_kernels (flight, whole ? &program->whole : &program->band[b], error))
    return FALSE;
  for (guint i = first; slot->downloads && i <= last; i++)
    if (!download_band (flight, i, whole ? 0 : b, error))
      return FALSE;
  return TRUE;
}

static gboolean
enqueue (Flight * flight, GError ** error)
{
  const CudaProgram *program = flight->program;
  CudaDevice *device = flight->device;
  CudaSlot *slot = flight->slot;
  gboolean whole = program->n_staged > 0 || flight->regions != NULL
      || (!slot->uploads && !slot->downloads);
  guint ready = 0, n = slot->n_bands;
  CUstream last = slot->downloads ? device->down : device->compute;

  if (!CU_CHECK (error, cuEventRecord, slot->begin,
          slot->uploads ? device->up : device->compute))
    return FALSE;
  if (flight->in->memory == CONVOLVE_MEMORY_HOST)
    start_copies (flight);
  for (guint b = 0; b < n; b++) {
    if (slot->uploads && !upload_band (flight, b, error))
      return FALSE;
    while (!whole && ready < n && program->band[ready].needs <= b)
      if (!finish_band (flight, ready++, FALSE, error))
        return FALSE;
  }
  if (whole && !finish_band (flight, n - 1, TRUE, error))
    return FALSE;
  if (slot->uploads && !CU_CHECK (error, cuStreamWaitEvent, last,
          flight->events->uploaded[n - 1], 0))
    return FALSE;
  return CU_CHECK (error, cuEventRecord, slot->done, last);
}

/* After a failure halfway: nothing may go on reading or writing the frame. */
static void
drain (CudaDevice * device)
{
  cuda_copier_finish (&device->copier, device->copier.n_tasks);
  CU_CALL (cuStreamSynchronize, device->up);
  CU_CALL (cuStreamSynchronize, device->compute);
  CU_CALL (cuStreamSynchronize, device->down);
}

/* Ends the slot's last job, and keeps its failure for who waits for it. */
static void
free_slot (CudaProgram * program, CudaSlot * slot)
{
  GError *failure = NULL;
  gint64 job = slot->job;

  if (!slot->busy || cuda_slot_finish (program, slot, &failure))
    return;
  g_hash_table_insert (program->failed, g_memdup2 (&job, sizeof (job)),
      failure);
}

/* One frame at a time, which needs least memory. */
static void
keep_one_slot (CudaProgram * program)
{
  for (guint i = 0; i < program->n_slots; i++)
    free_slot (program, &program->slot[i]);
  while (program->n_slots > 1)
    cuda_slot_clear (&program->slot[--program->n_slots]);
  program->next_slot = 0;
}

/* After a shortage of memory: gives up what frames can do without. FALSE if
 * there is nothing left, or if that was not the error. */
static gboolean
make_room (CudaProgram * program, const GError * shortage)
{
  if (cuda_slots_give_way (cuda_program_device (program), shortage))
    return TRUE;
  if (program->n_slots == 1 || !g_error_matches (shortage, CONVOLVE_ERROR,
          CONVOLVE_ERROR_NO_MEMORY))
    return FALSE;
  g_info ("one frame in flight: %s", shortage->message);
  keep_one_slot (program);
  return TRUE;
}

/* The slot that is free next, with the memory that the frame needs. */
static CudaSlot *
take_slot (CudaProgram * program, const ConvolveFrame * in,
    const ConvolveFrame * out, const ConvolveRegions * regions, GError ** error)
{
  CudaSlot *slot = &program->slot[program->next_slot];

  free_slot (program, slot);
  if (!cuda_slot_ensure (program, slot, in->memory, out->memory, error)
      || (regions != NULL && !cuda_regions_ensure (program, error)))
    return NULL;
  cuda_slots_ensure (program, in->memory, out->memory);
  return slot;
}

/* window: the frames of a plan that sums over them, of which in is one, and the
 * history that they are in; or NULL. */
static gboolean
begin_job (CudaProgram * program, const ConvolveFrame * in,
    const CudaFrame * window, const ConvolveWindow * slots,
    const ConvolveFrame * out, const ConvolveRegions * regions, guint64 * job,
    GError ** error)
{
  CudaDevice *device = cuda_program_device (program);
  Flight flight = {.program = program,.device = device,.in = in,.out = out,
    .regions = regions
  };
  CudaSlot *slot;

  flight.slot = slot = take_slot (program, in, out, regions, error);
  if (slot == NULL)
    return FALSE;
  place_frame (program, in, slot->in_planes, &flight.device_in);
  flight.device_in.window = window;
  place_frame (program, out, slot->out_planes, &flight.device_out);
  slot->uploads = in->memory != CONVOLVE_MEMORY_DEVICE;
  slot->downloads = out->memory != CONVOLVE_MEMORY_DEVICE;
  slot->n_bands = program->n_bands;
  slot->n_kernels = 0;
  /* Frames with regions differ. The first one may wait for code to be loaded:
   * its times are nobody else's. */
  slot->timed = regions != NULL || program->n_frames == 0
      || program->n_frames % TIMED_FRAMES == 1;
  program->n_frames++;
  flight.events = &slot->events[slot->timed];
  slot->out = *out;
  slot->begin_us = g_get_monotonic_time ();
  if (!enqueue (&flight, error)
      || (slots != NULL && !cuda_history_note_use (slots, error))) {
    drain (device);
    return FALSE;
  }
  slot->busy = TRUE;
  slot->job = *job = ++device->last_job;
  program->next_slot = (program->next_slot + 1) % program->n_slots;
  return TRUE;
}

static gboolean
process (CudaProgram * program, const ConvolveFrame * in,
    const CudaFrame * window, const ConvolveWindow * slots,
    const ConvolveFrame * out, const ConvolveRegions * regions, guint64 * job,
    GError ** error)
{
  CudaDevice *device = cuda_program_device (program);
  g_auto (CudaRange) range = cuda_range_begin ("frame");
  g_auto (CudaScope) scope = { 0 };

  if (!cuda_check_cancelled (device, error)
      || !cuda_scope_enter (&scope, device->context, error))
    return FALSE;
  cuda_throttle_begin (device);
  for (;;) {
    g_autoptr (GError) fault = NULL;

    if (begin_job (program, in, window, slots, out, regions, job, &fault))
      return TRUE;
    if (!make_room (program, fault)) {
      g_propagate_error (error, g_steal_pointer (&fault));
      return FALSE;
    }
  }
}

gboolean
cuda_program_process (CudaProgram * program, const ConvolveFrame * in,
    const ConvolveFrame * out, const ConvolveRegions * regions, guint64 * job,
    GError ** error)
{
  return process (program, in, NULL, NULL, out, regions, job, error);
}

gboolean
cuda_program_process_window (CudaProgram * program,
    const ConvolveWindow * window, const ConvolveFrame * out,
    const ConvolveRegions * regions, guint64 * job, GError ** error)
{
  CudaFrame frames[CONVOLVE_MATRIX_MAX_DEPTH];
  const ConvolvePlan *plan = program->parent.plan;

  for (guint i = 0; i < window->n; i++) {
    frames[i] = (CudaFrame) { {
    0}
    , {
    0}
    , NULL};
    place_frame (program, cuda_history_frame (window->history,
            window->slot[i]), 0, &frames[i]);
  }
  return process (program, cuda_history_frame (window->history,
          window->slot[plan->before]), frames, window, out, regions, job,
      error);
}

/* ---- the end of a job ---- */

static guint64
elapsed_ns (CUevent begin, CUevent end)
{
  float ms = 0;

  if (CU_CALL (cuEventElapsedTime, &ms, begin, end) != CUDA_SUCCESS)
    return 0;
  return ms * 1e6;
}

static void
take_times (CudaProgram * program, const CudaSlot * slot)
{
  const CudaEvents *events = &slot->events[slot->timed];

  program->upload_ns = program->kernel_ns = program->download_ns = 0;
  if (slot->uploads)
    program->upload_ns = elapsed_ns (slot->begin,
        events->uploaded[slot->n_bands - 1]);
  for (guint k = 0; k < slot->n_kernels; k++)
    program->kernel_ns += elapsed_ns (events->kernel_begin[k],
        events->kernel_end[k]);
  for (guint b = 0; slot->downloads && b < slot->n_bands; b++)
    program->download_ns += elapsed_ns (events->download_begin[b],
        events->download_end[b]);
}

/* A frame whose times were not taken counts as the last one whose were. */
static void
count_job (CudaProgram * program, const CudaSlot * slot)
{
  ConvolveStats *stats = &cuda_program_device (program)->stats;

  convolve_program_count_job (&program->parent, stats);
  stats->last_ns = elapsed_ns (slot->begin, slot->done);
  if (slot->timed)
    take_times (program, slot);
  if (slot->uploads)
    stats->upload_ns += program->upload_ns;
  stats->kernel_ns += program->kernel_ns;
  if (slot->downloads)
    stats->download_ns += program->download_ns;
}

/* The output goes to ordinary memory: bands first .. last - 1 of it. */
static void
copy_out (CudaProgram * program, const CudaSlot * slot, guint first, guint last)
{
  g_auto (CudaRange) range = cuda_range_begin ("copy out");
  CudaCopier *copier = &cuda_program_device (program)->copier;

  cuda_copier_clear_batch (copier);
  for (guint p = 0; p < CONVOLVE_MAX_PLANES; p++) {
    const CudaPlane *plane = &program->plane[p];
    guint row = program->band[first].down.begin[p];
    guint rows = program->band[last - 1].down.end[p] - row;

    for (guint r = 0; r < plane->n_runs && rows > 0; r++) {
      CudaCopy copy = {
        slot->out.data[p] + (gssize) row * slot->out.stride[p]
            + plane->run[r].begin,
        slot->out_staging + plane->offset + (gsize) row * plane->pitch
            + plane->run[r].begin,
        slot->out.stride[p], plane->pitch, plane->run[r].bytes, rows
      };

      cuda_copier_add (copier, &copy);
    }
  }
  cuda_copier_start (copier);
  cuda_copier_finish (copier, copier->n_tasks);
}

/* Bands are copied out while later ones are still on their way, in few batches
 * since each has to wake the helpers. */
static gboolean
wait_and_copy_out (CudaProgram * program, CudaSlot * slot, GError ** error)
{
  guint n = slot->n_bands, batches = MIN (n, CUDA_COPY_OUT_BATCHES), first = 0;

  for (guint i = 1; i <= batches; i++) {
    guint last = n * i / batches;

    if (!cuda_wait (slot->events[slot->timed].download_end[last - 1],
            slot->begin_us, &program->copy_pace[i - 1], error))
      return FALSE;
    copy_out (program, slot, first, last);
    first = last;
  }
  return TRUE;
}

static gboolean
wait_for_slot (CudaProgram * program, CudaSlot * slot, GError ** error)
{
  if (slot->out.memory == CONVOLVE_MEMORY_HOST
      && !wait_and_copy_out (program, slot, error))
    return FALSE;
  return cuda_wait (slot->done, slot->begin_us, &program->pace, error);
}

gboolean
cuda_slot_finish (CudaProgram * program, CudaSlot * slot, GError ** error)
{
  g_auto (CudaRange) range = cuda_range_begin ("wait");
  gboolean ok = wait_for_slot (program, slot, error);

  slot->busy = FALSE;
  if (ok)
    count_job (program, slot);
  else
    drain (cuda_program_device (program));
  return ok;
}
