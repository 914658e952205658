/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Waiting for the device. A thread that sleeps until the driver's interrupt is
 * woken late, by a millisecond on virtual machines whose idle cores halt, which
 * is more than a frame takes. This one naps while the end is far and looks all
 * the time when it is near: it looks for about as long as a nap lasts. */
#include "config.h"

#include "program.h"

/* Naps of this length keep the core from its deep states. */
#define NAP_US 50
#define MAX_NAP_US 1000
/* A nap may last this much longer than asked, and work end this much later
 * than expected: then the thread looks without a break. */
#define NEAR_US 150
/* Naps past the expected end: part of the time waited so far. */
#define LATENESS 16

/* 0: look again at once. */
static gint64
choose_nap (gint64 waited, gint64 expected)
{
  if (waited + NEAR_US < expected)
    return MIN (NAP_US, expected - NEAR_US - waited);
  if (waited < expected + NEAR_US)
    return 0;
  return CLAMP (waited / LATENESS, NAP_US, MAX_NAP_US);
}

gboolean
cuda_wait (CUevent event, gint64 begin, gint64 expected, GError ** error)
{
  for (;;) {
    CUresult result = CU_CALL (cuEventQuery, event);
    gint64 nap;

    if (result != CUDA_ERROR_NOT_READY)
      return convolve_cu_check (result, "cuEventQuery", error);
    nap = choose_nap (g_get_monotonic_time () - begin, expected);
    if (nap > 0)
      g_usleep (nap);
    else
      g_thread_yield ();
  }
}
