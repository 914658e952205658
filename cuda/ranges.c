/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Ranges by the NVTX header, which is all of NVTX: it looks for a profiler's
 * library when first called, and nothing is linked against. */
#include "config.h"

#include <nvtx3/nvToolsExt.h>

#include "ranges.h"

/* NULL where no profiler listens. */
static nvtxDomainHandle_t
domain (void)
{
  static gsize asked;
  static nvtxDomainHandle_t handle;

  if (g_once_init_enter (&asked)) {
    handle = nvtxDomainCreateA ("videoconvolve");
    g_once_init_leave (&asked, 1);
  }
  return handle;
}

CudaRange
cuda_range_begin (const gchar * name)
{
  nvtxDomainHandle_t here = domain ();
  nvtxEventAttributes_t event = { 0 };

  if (here == NULL)
    return (CudaRange) {
    FALSE};
  event.version = NVTX_VERSION;
  event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  event.messageType = NVTX_MESSAGE_TYPE_ASCII;
  event.message.ascii = name;
  nvtxDomainRangePushEx (here, &event);
  return (CudaRange) {
  TRUE};
}

void
cuda_range_end (CudaRange * range)
{
  if (range->open)
    nvtxDomainRangePop (domain ());
  range->open = FALSE;
}
