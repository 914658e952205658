/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>

#include "driver.h"
#include "pushing.h"
#include "yardstick.h"

#define N_FRAMES 120
#define ROWS 16

static CUcontext context;

typedef struct
{
  CUstream stream;
  CUdeviceptr device;
  void *host;
} Lane;

static gboolean
lane_init (Lane * lane, gsize size, GError ** error)
{
  if (!CU_CHECK (error, cuStreamCreate, &lane->stream, CU_STREAM_NON_BLOCKING)
      || !CU_CHECK (error, cuMemAlloc, &lane->device, size)
      || !CU_CHECK (error, cuMemHostAlloc, &lane->host, size, 0))
    return FALSE;
  memset (lane->host, 0x5a, size);
  return TRUE;
}

static void
lane_clear (Lane * lane)
{
  if (lane->host != NULL)
    CU_CALL (cuMemFreeHost, lane->host);
  if (lane->device != 0)
    CU_CALL (cuMemFree, lane->device);
  if (lane->stream != NULL)
    CU_CALL (cuStreamDestroy, lane->stream);
}

static gboolean
lane_copy (Lane * lane, gsize size, gboolean up, GError ** error)
{
  CUDA_MEMCPY2D copy = {
    .srcMemoryType = up ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE,
    .dstMemoryType = up ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST,
    .srcHost = lane->host,
    .dstHost = lane->host,
    .srcDevice = lane->device,
    .dstDevice = lane->device,
    .srcPitch = size / ROWS,
    .dstPitch = size / ROWS,
    .WidthInBytes = size / ROWS,
    .Height = ROWS,
  };

  return CU_CHECK (error, cuMemcpy2DAsync, &copy, lane->stream);
}

static gboolean
measure (Lane lanes[2], gsize size, gdouble * ms, GError ** error)
{
  gdouble times[N_FRAMES];

  for (guint i = 0; i < 2; i++)
    if (!lane_init (&lanes[i], size, error))
      return FALSE;
  for (guint i = 0; i < N_FRAMES; i++) {
    gint64 start = g_get_monotonic_time ();

    if (!lane_copy (&lanes[0], size, TRUE, error)
        || !lane_copy (&lanes[1], size, FALSE, error)
        || !CU_CHECK (error, cuStreamSynchronize, lanes[0].stream)
        || !CU_CHECK (error, cuStreamSynchronize, lanes[1].stream))
      return FALSE;
    times[i] = (g_get_monotonic_time () - start) / 1e3;
  }
  *ms = pushing_median (times, N_FRAMES);
  return TRUE;
}

gdouble
yardstick_open (GError ** error)
{
  gint64 start = g_get_monotonic_time ();
  CUdevice device;

  if (!convolve_cu_load (error)
      || !CU_CHECK (error, cuDeviceGet, &device, 0)
      || !CU_CHECK (error, cuDevicePrimaryCtxRetain, &context, device))
    return -1;
  return (g_get_monotonic_time () - start) / 1e3;
}

gdouble
yardstick_ms (gsize size, GError ** error)
{
  Lane lanes[2] = { {0}, {0}
  };
  CUcontext popped;
  gdouble ms = -1;

  if (!CU_CHECK (error, cuCtxPushCurrent, context))
    return -1;
  if (!measure (lanes, size, &ms, error))
    ms = -1;
  lane_clear (&lanes[0]);
  lane_clear (&lanes[1]);
  CU_CALL (cuCtxPopCurrent, &popped);
  return ms;
}
