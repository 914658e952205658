/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What GStreamer's CUDA library looks for and tests never use. */
#include "sim.h"

#define UNSUPPORTED(name) \
  CUresult name (void); \
  CUresult name (void) { return CUDA_ERROR_NOT_SUPPORTED; }
/* *INDENT-OFF* */
#undef cuGLGetDevices
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wstrict-prototypes"
UNSUPPORTED (cuGLGetDevices_v2)
UNSUPPORTED (cuGraphicsGLRegisterBuffer)
UNSUPPORTED (cuGraphicsGLRegisterImage)
#pragma GCC diagnostic pop
/* *INDENT-ON* */

CUresult
cuDeviceCanAccessPeer (int *can, CUdevice device, CUdevice peer)
{
  *can = FALSE;
  return CUDA_SUCCESS;
}

CUresult
cuCtxEnablePeerAccess (CUcontext peer, unsigned int flags)
{
  return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult
cuCtxDisablePeerAccess (CUcontext peer)
{
  return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult
cuGraphicsMapResources (unsigned int n, CUgraphicsResource * resources,
    CUstream stream)
{
  return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult
cuGraphicsUnmapResources (unsigned int n, CUgraphicsResource * resources,
    CUstream stream)
{
  return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult
cuGraphicsSubResourceGetMappedArray (CUarray * array,
    CUgraphicsResource resource, unsigned int index, unsigned int level)
{
  return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult
cuGraphicsResourceGetMappedPointer (CUdeviceptr * memory, size_t *size,
    CUgraphicsResource resource)
{
  return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult
cuGraphicsResourceSetMapFlags (CUgraphicsResource resource, unsigned int flags)
{
  return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult
cuGraphicsUnregisterResource (CUgraphicsResource resource)
{
  return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult
cuTexObjectCreate (CUtexObject * texture, const CUDA_RESOURCE_DESC * resource,
    const CUDA_TEXTURE_DESC * description, const CUDA_RESOURCE_VIEW_DESC * view)
{
  return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult
cuTexObjectDestroy (CUtexObject texture)
{
  return CUDA_ERROR_NOT_SUPPORTED;
}
