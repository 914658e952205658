/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The CUDA driver as a table of functions that is filled at run time: nothing here is linked against libcuda, so that
 * the plugin loads on machines without a driver. The table is one for the process; the library is opened by the first
 * probe and stays open. */
#pragma once

#include <cuda.h>
#include <glib.h>

#include "core/matrix.h"

G_BEGIN_DECLS

/* X (name): without one of these there is no backend. */
#define CU_CORE(X) \
  X (cuInit) \
  X (cuDriverGetVersion) \
  X (cuGetErrorName) \
  X (cuGetErrorString) \
  X (cuDeviceGetCount) \
  X (cuDeviceGet) \
  X (cuDeviceGetName) \
  X (cuDeviceGetAttribute) \
  X (cuDevicePrimaryCtxRetain) \
  X (cuDevicePrimaryCtxRelease) \
  X (cuCtxPushCurrent) \
  X (cuCtxPopCurrent) \
  X (cuCtxGetDevice) \
  X (cuModuleLoadData) \
  X (cuModuleUnload) \
  X (cuModuleGetFunction) \
  X (cuLaunchKernel) \
  X (cuMemAlloc) \
  X (cuMemFree) \
  X (cuMemcpyHtoD) \
  X (cuMemcpy2DAsync) \
  X (cuMemHostAlloc) \
  X (cuMemFreeHost) \
  X (cuStreamCreate) \
  X (cuStreamDestroy) \
  X (cuStreamSynchronize) \
  X (cuStreamWaitEvent) \
  X (cuEventCreate) \
  X (cuEventDestroy) \
  X (cuEventRecord) \
  X (cuEventQuery)

/* X (name): a missing one answers CUDA_ERROR_NOT_FOUND, and its caller does without. */
#define CU_OPTIONAL(X) \
  X (cuEventElapsedTime) \
  X (cuFuncSetAttribute) \
  X (cuFuncGetAttribute) \
  X (cuMemGetInfo)

/* The members have the names that cuda.h's macros give the functions (cuMemFree_v2): calls through the table expand
 * in the same way, so a member always has the type of the version that it holds. */
typedef struct {
#define CU_MEMBER(name) __typeof__ (&name) name;
  CU_CORE (CU_MEMBER)
  CU_OPTIONAL (CU_MEMBER)
#undef CU_MEMBER
} CuTable;

extern CuTable convolve_cu;

#define CU_STRING_(name) #name
#define CU_STRING(name) CU_STRING_ (name)

/* Calls the driver unless it must not be called (any more): the result is the driver's, CUDA_ERROR_NOT_FOUND for a
 * function that it lacks, the fault itself after one that is for good, CUDA_ERROR_NOT_INITIALIZED in the child of a
 * fork. */
#define CU_CALL(name, ...) \
  convolve_cu_result (convolve_cu_may_call () != CUDA_SUCCESS ? convolve_cu_may_call () : \
      convolve_cu.name == NULL ? CUDA_ERROR_NOT_FOUND : convolve_cu.name (__VA_ARGS__), CU_STRING (name))

/* The one idiom: TRUE on success; else FALSE and an error that says which call failed, how, and what to do. */
#define CU_CHECK(error, name, ...) convolve_cu_check (CU_CALL (name, __VA_ARGS__), CU_STRING (name), error)

/* Opens the driver and initialises it, once; says why it cannot be used on this machine. May be asked again. Thread
 * safe. */
gboolean convolve_cu_load (GError ** error);
/* Finds a process that was forked off after the load, and faults that are for good. */
gboolean convolve_cu_usable (GError ** error);
/* CUDA_SUCCESS, or why no call may be made. */
CUresult convolve_cu_may_call (void);
/* Notes faults that are for good; traces. Gives back result. */
CUresult convolve_cu_result (CUresult result, const gchar * call);
/* causes.c: what is behind an error. */
typedef struct {
  CUresult result;
  ConvolveError code;
  gboolean for_good;            /* nothing works after it in this process */
  const gchar *text, *remedy;
} CuCause;

const CuCause *convolve_cu_cause (CUresult result);
gboolean convolve_cu_check (CUresult result, const gchar * call, GError ** error);

G_END_DECLS
