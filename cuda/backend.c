/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The CUDA backend's table of functions. */
#include "config.h"

#include "program.h"

static ConvolveDevice *
backend_open (const ConvolveOpenOptions * options, GError ** error)
{
  CudaDevice *device = cuda_device_open (options, error);

  return device != NULL ? &device->parent : NULL;
}

static ConvolveProgram *
backend_prepare (ConvolveDevice * device, ConvolvePlan * plan, GError ** error)
{
  return cuda_program_new ((CudaDevice *) device, plan, error);
}

static gboolean
backend_process (ConvolveProgram * program, const ConvolveFrame * in,
    const ConvolveFrame * out, const ConvolveRegions * regions, guint64 * job,
    GError ** error)
{
  return cuda_program_process ((CudaProgram *) program, in, out, regions, job,
      error);
}

/* FALSE with its error if the job failed when its slot was used again. */
static gboolean
report_failed (CudaProgram * program, gint64 job, GError ** error)
{
  const GError *failure = g_hash_table_lookup (program->failed, &job);

  if (failure == NULL)
    return TRUE;
  g_propagate_error (error, g_error_copy (failure));
  g_hash_table_remove (program->failed, &job);
  return FALSE;
}

static gboolean
backend_wait (ConvolveDevice * base, guint64 job, GError ** error)
{
  CudaDevice *device = (CudaDevice *) base;

  if (job == 0 || job > device->last_job) {
    g_set_error (error, CONVOLVE_ERROR, CONVOLVE_ERROR_INVALID,
        "there is no job %" G_GUINT64_FORMAT " to wait for", job);
    return FALSE;
  }
  for (guint i = 0; i < device->programs->len; i++) {
    CudaProgram *program = g_ptr_array_index (device->programs, i);

    for (guint s = 0; s < program->n_slots; s++) {
      CudaSlot *slot = &program->slot[s];
      g_auto (CudaScope) scope = { 0 };

      if (!slot->busy || slot->job != job)
        continue;
      if (cuda_scope_enter (&scope, device->context, error))
        return cuda_slot_finish (program, slot, error);
      slot->busy = FALSE;
      return FALSE;
    }
    if (!report_failed (program, job, error))
      return FALSE;
  }
  return TRUE;                  /* done before */
}

static void
backend_release (ConvolveProgram * program)
{
  cuda_program_free ((CudaProgram *) program);
}

static void
backend_close (ConvolveDevice * base)
{
  CudaDevice *device = (CudaDevice *) base;

  while (device->programs->len > 0)
    cuda_program_free (g_ptr_array_index (device->programs, 0));
  {
    g_auto (CudaScope) scope = { 0 };

    if (cuda_scope_enter_to_free (&scope, device->context))
      cuda_slots_drop (device);
  }
  cuda_device_close (device);
}

static void
backend_get_stats (ConvolveDevice * device, ConvolveStats * stats)
{
  *stats = ((CudaDevice *) device)->stats;
}

static gchar *
backend_describe (ConvolveProgram * program)
{
  return cuda_program_describe ((CudaProgram *) program);
}

static const gchar *
backend_device_name (ConvolveDevice * device)
{
  return ((CudaDevice *) device)->name;
}

static gpointer
backend_host_alloc (ConvolveDevice * device, gsize size, gpointer * owner,
    GError ** error)
{
  return cuda_device_host_alloc ((CudaDevice *) device, size, owner, error);
}

static ConvolveHistory *
backend_history_new (ConvolveDevice * device, const GstVideoInfo * info,
    GError ** error)
{
  return cuda_history_new ((CudaDevice *) device, info, error);
}

static gboolean
backend_process_window (ConvolveProgram * program,
    const ConvolveWindow * window, const ConvolveFrame * out,
    const ConvolveRegions * regions, guint64 * job, GError ** error)
{
  return cuda_program_process_window ((CudaProgram *) program, window, out,
      regions, job, error);
}

/* What the device has is done before process or wait come back, since it works
 * on their frames; cuda_throttle sees to it that this is not much. */
static void
backend_cancel (ConvolveDevice * device, gboolean cancel)
{
  g_atomic_int_set (&((CudaDevice *) device)->cancelled, cancel);
}

const ConvolveBackend *
convolve_backend_cuda (void)
{
  static const ConvolveBackend backend = {
    .name = "cuda",
    .probe = convolve_cu_load,
    .open = backend_open,
    .prepare = backend_prepare,
    .process = backend_process,
    .wait = backend_wait,
    .release = backend_release,
    .close = backend_close,
    .get_stats = backend_get_stats,
    .describe = backend_describe,
    .device_name = backend_device_name,
    .host_alloc = backend_host_alloc,
    .host_free = cuda_device_host_free,
    .history_new = backend_history_new,
    .history_store = cuda_history_store,
    .history_free = cuda_history_free,
    .process_window = backend_process_window,
    .cancel = backend_cancel,
  };

  return &backend;
}
