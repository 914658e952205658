/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Loads the CUDA driver, and turns its results into errors that say what to
 * do. */
#include "config.h"

#include <gmodule.h>
#include <pthread.h>

#include "core/matrix.h"
#include "driver.h"

#define DRIVER_LIBRARY "libcuda.so.1"

CuTable convolve_cu;

static GMutex load_mutex;
static GModule *library;        /* never closed */
static gboolean initialised;    /* cuInit went well, and the version fits */
/* CUDA_SUCCESS; or the fault after which the driver is of no use any more to
 * this process; or CUDA_ERROR_NOT_INITIALIZED in the child of a fork. */
static gint call_barrier;

/* ---- calls ---- */

CUresult
convolve_cu_may_call (void)
{
  return (CUresult) g_atomic_int_get (&call_barrier);
}

CUresult
convolve_cu_result (CUresult result, const gchar * call)
{
  if (result == CUDA_SUCCESS || result == CUDA_ERROR_NOT_READY)
    return result;
  g_debug ("%s gave error %d", call, result);
  if (convolve_cu_cause (result)->for_good)
    g_atomic_int_compare_and_exchange (&call_barrier, CUDA_SUCCESS, result);
  return result;
}

gboolean
convolve_cu_check (CUresult result, const gchar * call, GError ** error)
{
  const gchar *name = NULL, *text = NULL;
  const CuCause *cause;

  if (result == CUDA_SUCCESS)
    return TRUE;
  /* Both only look up tables, and so may be asked after any fault. */
  if (convolve_cu.cuGetErrorName != NULL)
    convolve_cu.cuGetErrorName (result, &name);
  if (convolve_cu.cuGetErrorString != NULL)
    convolve_cu.cuGetErrorString (result, &text);
  cause = convolve_cu_cause (result);
  g_set_error (error, CONVOLVE_ERROR, cause->code,
      "%s: %s; %s failed with error %d, %s (%s)", cause->text, cause->remedy,
      call, result,
      name != NULL ? name : "unknown to this driver",
      text != NULL ? text : "no description");
  return FALSE;
}

static void
forbid_calls_in_child (void)
{
  g_atomic_int_set (&call_barrier, CUDA_ERROR_NOT_INITIALIZED);
}

gboolean
convolve_cu_usable (GError ** error)
{
  CUresult barrier = convolve_cu_may_call ();

  if (barrier == CUDA_SUCCESS)
    return TRUE;
  return convolve_cu_check (barrier, "an earlier call", error);
}

/* ---- loading ---- */

static gboolean
resolve_symbols (GError ** error)
{
  const gchar *missing = NULL;

#define CU_RESOLVE(name) \
  if (!g_module_symbol (library, CU_STRING (name), \
          (gpointer *) & convolve_cu.name)) \
    convolve_cu.name = NULL;
#define CU_REQUIRE(name) \
  CU_RESOLVE (name) \
  if (convolve_cu.name == NULL && missing == NULL) \
    missing = CU_STRING (name);
  CU_CORE (CU_REQUIRE);
  CU_OPTIONAL (CU_RESOLVE);
#undef CU_RESOLVE
#undef CU_REQUIRE
  if (missing == NULL)
    return TRUE;
  g_set_error (error, CONVOLVE_ERROR, CONVOLVE_ERROR_NO_DEVICE,
      "the CUDA driver is too old, it has no function %s: update it to one "
      "for CUDA %d.%d", missing, CUDA_VERSION / 1000, CUDA_VERSION % 1000 / 10);
  return FALSE;
}

/* Machine code of a toolkit runs on drivers of the toolkit's major version and
 * on later ones. */
static gboolean
check_version (GError ** error)
{
  int version = 0;

  if (!CU_CHECK (error, cuDriverGetVersion, &version))
    return FALSE;
  if (version / 1000 >= CUDA_VERSION / 1000)
    return TRUE;
  g_set_error (error, CONVOLVE_ERROR, CONVOLVE_ERROR_NO_DEVICE,
      "the driver supports CUDA %d.%d, but this plugin's GPU code was made "
      "with CUDA %d.%d: update the driver, or build the plugin with an older "
      "toolkit", version / 1000, version % 1000 / 10, CUDA_VERSION / 1000,
      CUDA_VERSION % 1000 / 10);
  return FALSE;
}

static gboolean
load_locked (GError ** error)
{
  if (initialised)
    return convolve_cu_usable (error);
  if (library == NULL) {
    library = g_module_open (DRIVER_LIBRARY,
        G_MODULE_BIND_LAZY | G_MODULE_BIND_LOCAL);
    if (library == NULL) {
      g_set_error (error, CONVOLVE_ERROR, CONVOLVE_ERROR_NO_DEVICE,
          "there is no CUDA driver on this machine (%s): install NVIDIA's, or "
          "use backend=cpu", g_module_error ());
      return FALSE;
    }
  }
  if (!resolve_symbols (error) || !CU_CHECK (error, cuInit, 0)
      || !check_version (error))
    return FALSE;
  pthread_atfork (NULL, NULL, forbid_calls_in_child);
  initialised = TRUE;
  return TRUE;
}

gboolean
convolve_cu_load (GError ** error)
{
  gboolean ok;

  g_mutex_lock (&load_mutex);
  ok = load_locked (error);
  g_mutex_unlock (&load_mutex);
  return ok;
}
