/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A decoder library that decodes nothing. GStreamer's plugin nvcodec registers
 * its CUDA elements, cudaupload and cudadownload among them, only where it
 * finds a library for decoding or encoding with all functions. */
#include <cuda.h>

/* *INDENT-OFF* */
#define UNSUPPORTED(name) \
  CUresult name (void); \
  CUresult name (void) { return CUDA_ERROR_NOT_SUPPORTED; }

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wstrict-prototypes"
UNSUPPORTED (cuvidCtxLockCreate)
UNSUPPORTED (cuvidCtxLockDestroy)
UNSUPPORTED (cuvidCtxLock)
UNSUPPORTED (cuvidCtxUnlock)
UNSUPPORTED (cuvidCreateDecoder)
UNSUPPORTED (cuvidReconfigureDecoder)
UNSUPPORTED (cuvidDestroyDecoder)
UNSUPPORTED (cuvidDecodePicture)
UNSUPPORTED (cuvidCreateVideoParser)
UNSUPPORTED (cuvidParseVideoData)
UNSUPPORTED (cuvidDestroyVideoParser)
UNSUPPORTED (cuvidMapVideoFrame64)
UNSUPPORTED (cuvidUnmapVideoFrame64)
UNSUPPORTED (cuvidGetDecoderCaps)
#pragma GCC diagnostic pop
/* *INDENT-ON* */
