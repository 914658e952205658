/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What benchmarks of kernels share: functions of the driver that the product has no use for, times, and the device's
 * ceilings. A call that fails ends the program. */
#pragma once

#include "cuda/program.h"

G_BEGIN_DECLS

#define GPUBENCH_EXTRAS(X) \
  X (cuMemcpyDtoH) \
  X (cuMemsetD8) \
  X (cuStreamBeginCapture) \
  X (cuStreamEndCapture) \
  X (cuGraphInstantiateWithFlags) \
  X (cuGraphLaunch) \
  X (cuGraphExecDestroy) \
  X (cuGraphDestroy)

typedef struct {
#define GPUBENCH_MEMBER(name) __typeof__ (&name) name;
  GPUBENCH_EXTRAS (GPUBENCH_MEMBER)
#undef GPUBENCH_MEMBER
} GpuExtras;

extern GpuExtras gpu_extra;

void gpu_check_result (CUresult result, const gchar * what);
void gpu_check_error (gboolean ok, GError * error);
#define GPU(call) gpu_check_result (call, #call)

/* The first CUDA device, its context to be entered; exits with 77 where there is none. */
CudaDevice *gpu_open (void);
/* gpu_extra; exits with 77 where the driver lacks one. */
void gpu_load_extras (void);

/* Enqueues step i of something on the compute stream. */
typedef void (*GpuStep) (gpointer data, guint i);
/* Microseconds a step: the median of replays of a graph of n steps. */
gdouble gpu_measure (CudaDevice * device, GpuStep step, gpointer data, guint n);

/* The yardstick: 16 bytes a thread. Sizes in multiples of 16. */
void gpu_enqueue_copy (CudaDevice * device, CUdeviceptr to, CUdeviceptr from, gsize bytes);

typedef enum {
  GPU_CEILING_FLOAT,            /* fused multiply-adds of floats */
  GPU_CEILING_TENSOR,           /* products of half floats with float sums, by mma.sync */
  GPU_N_CEILINGS
} GpuCeiling;

/* "float", "tensor" */
const gchar *gpu_ceiling_name (GpuCeiling ceiling);
/* 10^9 multiply-adds a second, measured with everything in registers; 0 where the device cannot. */
gdouble gpu_measure_ceiling (CudaDevice * device, GpuCeiling ceiling);

G_END_DECLS
