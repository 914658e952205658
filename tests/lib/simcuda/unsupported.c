/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What GStreamer's CUDA library looks for, in the series 1.22 to 1.26, and
 * tests never use. */
#include "sim.h"

CUresult
cuDeviceCanAccessPeer (int *can, CUdevice device, CUdevice peer)
{
  *can = FALSE;
  return CUDA_SUCCESS;
}

/* Under the very names that are looked for; parameters do not matter, so the
 * declarations of cuda.h are gone round. */
#define UNSUPPORTED(name) \
  CUresult unsupported_##name (void) __asm__ (#name); \
  CUresult unsupported_##name (void) { return CUDA_ERROR_NOT_SUPPORTED; }
/* *INDENT-OFF* */
UNSUPPORTED (cuCtxDisablePeerAccess)
UNSUPPORTED (cuCtxEnablePeerAccess)
UNSUPPORTED (cuCtxGetLimit)
UNSUPPORTED (cuCtxSetLimit)
UNSUPPORTED (cuDestroyExternalMemory)
UNSUPPORTED (cuDestroyExternalSemaphore)
UNSUPPORTED (cuExternalMemoryGetMappedBuffer)
UNSUPPORTED (cuExternalMemoryGetMappedMipmappedArray)
UNSUPPORTED (cuGLGetDevices_v2)
UNSUPPORTED (cuGraphicsGLRegisterBuffer)
UNSUPPORTED (cuGraphicsGLRegisterImage)
UNSUPPORTED (cuGraphicsMapResources)
UNSUPPORTED (cuGraphicsResourceGetMappedPointer_v2)
UNSUPPORTED (cuGraphicsResourceSetMapFlags_v2)
UNSUPPORTED (cuGraphicsSubResourceGetMappedArray)
UNSUPPORTED (cuGraphicsUnmapResources)
UNSUPPORTED (cuGraphicsUnregisterResource)
UNSUPPORTED (cuImportExternalMemory)
UNSUPPORTED (cuImportExternalSemaphore)
UNSUPPORTED (cuIpcCloseMemHandle)
UNSUPPORTED (cuIpcGetEventHandle)
UNSUPPORTED (cuIpcGetMemHandle)
UNSUPPORTED (cuIpcOpenEventHandle)
UNSUPPORTED (cuIpcOpenMemHandle)
UNSUPPORTED (cuMemcpyDtoDAsync_v2)
UNSUPPORTED (cuMemcpyDtoD_v2)
UNSUPPORTED (cuMemcpyDtoHAsync_v2)
UNSUPPORTED (cuMemcpyDtoH_v2)
UNSUPPORTED (cuMemcpyHtoDAsync_v2)
UNSUPPORTED (cuMemsetD2D16Async)
UNSUPPORTED (cuMemsetD2D16_v2)
UNSUPPORTED (cuMemsetD2D32Async)
UNSUPPORTED (cuMemsetD2D32_v2)
UNSUPPORTED (cuMemsetD2D8Async)
UNSUPPORTED (cuMemsetD2D8_v2)
UNSUPPORTED (cuSignalExternalSemaphoresAsync)
UNSUPPORTED (cuTexObjectCreate)
UNSUPPORTED (cuTexObjectDestroy)
UNSUPPORTED (cuWaitExternalSemaphoresAsync)
/* *INDENT-ON* */
