/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which device, in which context, with which streams. */
#include "config.h"

#include "device.h"

/* ---- contexts ---- */

gboolean
cuda_scope_enter (CudaScope * scope, CUcontext context, GError ** error)
{
  scope->entered = convolve_cu_usable (error)
      && CU_CHECK (error, cuCtxPushCurrent, context);
  return scope->entered;
}

/* A call may report what went wrong in earlier work, once: what is to be freed
 * must not stay for that. */
gboolean
cuda_scope_enter_to_free (CudaScope * scope, CUcontext context)
{
  return cuda_scope_enter (scope, context, NULL)
      || cuda_scope_enter (scope, context, NULL);
}

void
cuda_scope_leave (CudaScope * scope)
{
  CUcontext context;

  /* Even after a fault: the thread must not keep a context of ours. */
  if (scope->entered && convolve_cu_may_call () != CUDA_ERROR_NOT_INITIALIZED)
    convolve_cu.cuCtxPopCurrent (&context);
  scope->entered = FALSE;
}

static CudaPrimary *
primary_retain (CUdevice device, GError ** error)
{
  CUcontext context;
  CudaPrimary *primary;

  if (!CU_CHECK (error, cuDevicePrimaryCtxRetain, &context, device))
    return NULL;
  primary = g_new0 (CudaPrimary, 1);
  primary->ref_count = 1;
  primary->device = device;
  primary->context = context;
  return primary;
}

static CudaPrimary *
primary_ref (CudaPrimary * primary)
{
  g_atomic_int_inc (&primary->ref_count);
  return primary;
}

static void
primary_unref (CudaPrimary * primary)
{
  if (!g_atomic_int_dec_and_test (&primary->ref_count))
    return;
  CU_CALL (cuDevicePrimaryCtxRelease, primary->device);
  g_free (primary);
}

/* ---- open ---- */

static gboolean
choose_device (CudaDevice * device, const ConvolveOpenOptions * options,
    GError ** error)
{
  gint count = 0, wanted = MAX (options->device_id, 0);

  if (options->context != NULL) {
    g_auto (CudaScope) scope = { 0 };

    device->context = options->context;
    return cuda_scope_enter (&scope, device->context, error)
        && CU_CHECK (error, cuCtxGetDevice, &device->id);
  }
  if (!CU_CHECK (error, cuDeviceGetCount, &count))
    return FALSE;
  if (wanted >= count) {
    g_set_error (error, CONVOLVE_ERROR, CONVOLVE_ERROR_NO_DEVICE,
        "there is no CUDA device %d, %d of them are visible: choose another "
        "cuda-device-id, or look at CUDA_VISIBLE_DEVICES", wanted, count);
    return FALSE;
  }
  if (!CU_CHECK (error, cuDeviceGet, &device->id, wanted))
    return FALSE;
  device->primary = primary_retain (device->id, error);
  if (device->primary == NULL)
    return FALSE;
  device->context = device->primary->context;
  device->context_is_own = TRUE;
  return TRUE;
}

static gboolean
read_properties (CudaDevice * device, GError ** error)
{
  gchar name[256] = "";
  gint major, minor, n;

  if (!CU_CHECK (error, cuDeviceGetName, name, sizeof (name) - 1, device->id)
      || !CU_CHECK (error, cuDeviceGetAttribute, &major,
          CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device->id)
      || !CU_CHECK (error, cuDeviceGetAttribute, &minor,
          CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device->id)
      || !CU_CHECK (error, cuDeviceGetAttribute, &n,
          CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device->id))
    return FALSE;
  device->n_multiprocessors = MAX (n, 1);
  cuda_throttle_init (&device->throttle, device->n_multiprocessors);
  device->compute_capability = 10 * major + minor;
  device->name = g_strdup_printf ("CUDA, %s, compute capability %d.%d", name,
      major, minor);
  return TRUE;
}

static gboolean
create_streams (CudaDevice * device, GError ** error)
{
  return CU_CHECK (error, cuStreamCreate, &device->up, CU_STREAM_NON_BLOCKING)
      && CU_CHECK (error, cuStreamCreate, &device->compute,
      CU_STREAM_NON_BLOCKING)
      && CU_CHECK (error, cuStreamCreate, &device->down,
      CU_STREAM_NON_BLOCKING);
}

CudaDevice *
cuda_device_open (const ConvolveOpenOptions * options, GError ** error)
{
  CudaDevice *device = g_new0 (CudaDevice, 1);
  gboolean ok = FALSE;

  device->frames_in_flight = CLAMP (options->frames_in_flight, 1,
      CUDA_MAX_JOBS);
  device->bands = options->bands;
  device->programs = g_ptr_array_new ();
  device->spares = g_ptr_array_new_with_free_func (g_free);
  if (convolve_cu_usable (error) && choose_device (device, options, error)) {
    g_auto (CudaScope) scope = { 0 };

    ok = cuda_scope_enter (&scope, device->context, error)
        && read_properties (device, error) && create_streams (device, error)
        && cuda_device_load_modules (device, error);
  }
  if (!ok)
    g_clear_pointer (&device, cuda_device_close);
  return device;
}

static void
destroy_stream (CUstream stream)
{
  if (stream == NULL)
    return;
  CU_CALL (cuStreamSynchronize, stream);
  CU_CALL (cuStreamDestroy, stream);
}

void
cuda_device_close (CudaDevice * device)
{
  if (device->context != NULL) {
    g_auto (CudaScope) scope = { 0 };

    if (cuda_scope_enter_to_free (&scope, device->context)) {
      destroy_stream (device->up);
      destroy_stream (device->compute);
      destroy_stream (device->down);
      cuda_throttle_clear (&device->throttle);
      cuda_device_unload_modules (device);
    }
  }
  g_clear_pointer (&device->primary, primary_unref);
  cuda_copier_clear (&device->copier);
  g_ptr_array_unref (device->programs);
  g_ptr_array_unref (device->spares);
  g_free (device->name);
  g_free (device);
}

/* ---- host memory ---- */

/* Page-locked memory dies with the context that it was made in, which a
 * neighbour may destroy at any time; so it always comes from the primary
 * context, and is made known to all of them. */
gpointer
cuda_device_host_alloc (CudaDevice * device, gsize size, gpointer * owner,
    GError ** error)
{
  g_auto (CudaScope) scope = { 0 };
  gpointer memory = NULL;

  if (!convolve_cu_usable (error))
    return NULL;
  if (device->primary == NULL)
    device->primary = primary_retain (device->id, error);
  if (device->primary == NULL
      || !cuda_scope_enter (&scope, device->primary->context, error)
      || !CU_CHECK (error, cuMemHostAlloc, &memory, MAX (size, 1),
          CU_MEMHOSTALLOC_PORTABLE))
    return NULL;
  *owner = primary_ref (device->primary);
  return memory;
}

void
cuda_device_host_free (gpointer owner, gpointer memory)
{
  CudaPrimary *primary = owner;
  CudaScope scope = { 0 };

  if (cuda_scope_enter_to_free (&scope, primary->context))
    CU_CALL (cuMemFreeHost, memory);
  cuda_scope_leave (&scope);
  primary_unref (primary);
}
