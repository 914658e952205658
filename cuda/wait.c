/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Waiting for the device. A thread that sleeps until the driver's interrupt is
 * woken late, on a virtual machine by a tenth of a millisecond and more, while
 * a 4K frame takes less than one. This one naps while the end is further away
 * than naps have been seen to last, and then looks without a break. */
#include "config.h"

#include "program.h"

#define NAP_US 50
/* Naps past the expected end: a part of the time waited so far. */
#define LATENESS 16
#define MAX_NAP_US 1000

/* 0: look again at once. */
static gint64
choose_nap (const CudaPace * pace, gint64 waited)
{
  if (waited + pace->nap < pace->expected)
    return NAP_US;
  if (waited < pace->expected + pace->expected / 4 + NAP_US)
    return 0;
  return CLAMP (waited / LATENESS, NAP_US, MAX_NAP_US);
}

static void
take_nap (CudaPace * pace, gint64 us)
{
  gint64 begin = g_get_monotonic_time ();

  g_usleep (us);
  if (us == NAP_US)
    pace->nap = MAX (g_get_monotonic_time () - begin,
        pace->nap - pace->nap / 16);
}

/* An end that a nap has missed came earlier, nobody knows by how much. */
static void
learn (CudaPace * pace, gint64 waited, gboolean missed)
{
  if (missed)
    pace->expected = waited - waited / 8;
  else
    pace->expected += (waited - pace->expected) / 4;
}

gboolean
cuda_wait (CUevent event, gint64 begin, CudaPace * pace, GError ** error)
{
  gint64 nap = 0;

  for (guint looks = 0;; looks++) {
    CUresult result = CU_CALL (cuEventQuery, event);
    gint64 waited = g_get_monotonic_time () - begin;

    if (result != CUDA_ERROR_NOT_READY) {
      if (result == CUDA_SUCCESS && looks > 0)
        learn (pace, waited, nap > 0);
      return convolve_cu_check (result, "cuEventQuery", error);
    }
    nap = choose_nap (pace, waited);
    if (nap > 0)
      take_nap (pace, nap);
    else
      g_thread_yield ();
  }
}
