/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What is enqueued is done, whoever has changed his mind. So that a frame of
 * minutes ends soon after cancel, long work is enqueued in pieces, of which
 * the device has few at a time: marks in the stream of kernels tell how far it
 * has come. Frames of less than a piece of work, which are nearly all, meet
 * none of this. */
#include "config.h"

#include "program.h"

/* Multiplications of a piece for each multiprocessor: from less than a
 * millisecond of tensor cores to some hundredths of a second of the slowest
 * kernels. Pairs of floats take so many times as long. */
#define PIECE_WORK (G_GUINT64_CONSTANT (1) << 30)
#define WIDE_COST 8
/* What a pixel costs beside its weights. */
#define PIXEL_COST 16
#define NAP_US 50

void
cuda_throttle_init (CudaThrottle * throttle, guint n_multiprocessors)
{
  const gchar *work = g_getenv ("CONVOLVE_CUDA_PIECE");

  throttle->piece_work = PIECE_WORK * n_multiprocessors;
  throttle->fill = TRUE;
  if (work == NULL)
    return;
  throttle->piece_work = MAX (g_ascii_strtoull (work, NULL, 10), 1);
  throttle->fill = FALSE;
}

void
cuda_throttle_clear (CudaThrottle * throttle)
{
  for (guint i = 0; i < G_N_ELEMENTS (throttle->mark); i++)
    if (throttle->mark[i] != NULL)
      CU_CALL (cuEventDestroy, throttle->mark[i]);
}

gboolean
cuda_check_cancelled (CudaDevice * device, GError ** error)
{
  if (!g_atomic_int_get (&device->cancelled))
    return TRUE;
  g_set_error_literal (error, CONVOLVE_ERROR, CONVOLVE_ERROR_CANCELLED,
      "the frame was cancelled");
  return FALSE;
}

guint64
cuda_pixel_work (const ConvolveLaunchPicture * picture, guint64 taps,
    gboolean wide)
{
  return (taps + PIXEL_COST) * picture->n_components * (wide ? WIDE_COST : 1);
}

guint
cuda_piece_rows (const CudaDevice * device, guint width, guint64 pixel_work,
    guint busy_pixels)
{
  const CudaThrottle *throttle = &device->throttle;
  guint64 pixels = throttle->piece_work / MAX (pixel_work, 1);

  if (throttle->fill)
    pixels = MAX (pixels, busy_pixels * (guint64) device->n_multiprocessors);
  return CLAMP (pixels / MAX (width, 1), 1, G_MAXINT);
}

static gboolean
wait_for_mark (CudaDevice * device, CUevent mark, GError ** error)
{
  for (;;) {
    CUresult result = CU_CALL (cuEventQuery, mark);

    if (result != CUDA_ERROR_NOT_READY)
      return convolve_cu_check (result, "cuEventQuery", error);
    if (!cuda_check_cancelled (device, error))
      return FALSE;
    g_usleep (NAP_US);
  }
}

void
cuda_throttle_begin (CudaDevice * device)
{
  device->throttle.ahead = 0;
}

gboolean
cuda_throttle (CudaDevice * device, guint64 work, GError ** error)
{
  CudaThrottle *throttle = &device->throttle;
  guint this = throttle->n_marks % 2, before = (throttle->n_marks + 1) % 2;
  /* Of pieces that could not be made small enough, one at a time. */
  guint until = work > throttle->piece_work ? this : before;

  if (!cuda_check_cancelled (device, error))
    return FALSE;
  throttle->ahead += work;
  if (throttle->ahead <= throttle->piece_work || throttle->ahead == work)
    return TRUE;
  throttle->ahead = work;
  if (throttle->mark[this] == NULL && !CU_CHECK (error, cuEventCreate,
          &throttle->mark[this], CU_EVENT_DISABLE_TIMING))
    return FALSE;
  if (!CU_CHECK (error, cuEventRecord, throttle->mark[this], device->compute))
    return FALSE;
  throttle->n_marks++;
  return throttle->mark[until] == NULL
      || wait_for_mark (device, throttle->mark[until], error);
}
