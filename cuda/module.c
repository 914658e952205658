/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* From the embedded GPU code to functions, one for each variant. */
#include "config.h"

#include "device.h"
#include "module.h"

#define DEFAULT_SHARED_BYTES (48 * 1024)

typedef struct
{
  const gchar *name;
  const unsigned char *image;
} Source;

static const Source sources[] = {
#define SOURCE(name) {#name, convolve_cuda_##name},
  CONVOLVE_SOURCES (SOURCE)
#undef SOURCE
};

/* The source of each variant. */
static const guint8 variant_source[] = {
#define VARIANT(name, source, ...) CUDA_SOURCE_##source,
  CONVOLVE_VARIANTS (VARIANT)
#undef VARIANT
};

static const CudaVariant variants[] = {
#define VARIANT(name, source, route, samples, terms, taps) \
  {CUDA_VARIANT_##name, #name, CONVOLVE_ROUTE_##route, \
        CONVOLVE_SAMPLES_##samples, terms, taps},
  CONVOLVE_VARIANTS (VARIANT)
#undef VARIANT
};

const CudaVariant *
cuda_variant_list (guint * n)
{
  *n = G_N_ELEMENTS (variants);
  return variants;
}

/* Lets blocks of the variant have all the shared memory that the device can
 * give them; what it cannot give makes the plan take another route. */
static void
allow_shared_memory (CudaDevice * device, guint variant)
{
  CUfunction function = device->function[variant];
  gint most = 0, fixed = 0;

  device->shared_bytes[variant] = DEFAULT_SHARED_BYTES;
  if (CU_CALL (cuDeviceGetAttribute, &most,
          CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, device->id)
      != CUDA_SUCCESS
      || CU_CALL (cuFuncGetAttribute, &fixed,
          CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function) != CUDA_SUCCESS
      || most - fixed <= DEFAULT_SHARED_BYTES)
    return;
  if (CU_CALL (cuFuncSetAttribute, function,
          CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, most - fixed)
      == CUDA_SUCCESS)
    device->shared_bytes[variant] = most - fixed;
}

gboolean
cuda_device_load_modules (CudaDevice * device, GError ** error)
{
  for (guint i = 0; i < CUDA_N_SOURCES; i++) {
    if (!CU_CHECK (error, cuModuleLoadData, &device->module[i],
            sources[i].image)) {
      g_prefix_error (error, "cannot load the GPU code '%s' on %s: ",
          sources[i].name, device->name);
      return FALSE;
    }
  }
  for (guint i = 0; i < CUDA_N_VARIANTS; i++) {
    if (!CU_CHECK (error, cuModuleGetFunction, &device->function[i],
            device->module[variant_source[i]], variants[i].name)) {
      g_prefix_error (error, "no GPU function '%s': ", variants[i].name);
      return FALSE;
    }
    allow_shared_memory (device, i);
  }
  return TRUE;
}

void
cuda_device_unload_modules (CudaDevice * device)
{
  for (guint i = 0; i < CUDA_N_SOURCES; i++)
    if (device->module[i] != NULL)
      CU_CALL (cuModuleUnload, device->module[i]);
}
