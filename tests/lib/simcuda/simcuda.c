/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The driver itself: what it is told by its environment, how its calls begin
 * and fail, what it says of its devices, and its end. Handles are pointers to
 * the structs of sim.h; all that live are in one table, so that a stale one is
 * found. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim.h"
#include "simcuda.h"

GRand *sim_rand;
GRecMutex sim_lock;
GHashTable *sim_live, *sim_functions;
gint sim_n_devices, sim_version, sim_compute_capability, sim_shared_optin;
gboolean sim_initialised;
__thread SimContext *sim_stack[SIM_MAX_DEPTH];
__thread guint sim_depth;
static guint32 seed;
static guint n_calls, n_misuses;
static guint fail_in, fail_code, fail_name_in, fail_name_code;
static gchar *fail_name;
static CUresult fault;          /* one that is for good has happened */
static gboolean quiet_after_fault;

/* ---- what is wrong ---- */

void
sim_misuse (const gchar * format, ...)
{
  va_list args;

  n_misuses++;
  fprintf (stderr, "simcuda: misuse (SIMCUDA_SEED=%u): ", seed);
  va_start (args, format);
  vfprintf (stderr, format, args);
  va_end (args);
  fputc ('\n', stderr);
}

static gboolean
is_for_good (guint code)
{
  return code == 700 || code == 702 || (code >= 714 && code <= 719)
      || code == 721 || code == 226 || code == 911 || code == 810
      || code == 214;
}

/* "cuMemFree" names cuMemFree_v2 too. */
static gboolean
is_named (const gchar * function, const gchar * name)
{
  gsize n = strlen (name);

  return strncmp (function, name, n) == 0
      && (function[n] == '\0' || strncmp (function + n, "_v", 2) == 0);
}

CUresult
sim_begin_call (const gchar * function)
{
  guint code = 0;

  n_calls++;
  sim_run_some ();
  if (fault != CUDA_SUCCESS) {
    if (!quiet_after_fault)
      sim_misuse ("%s was called after error %d", function, fault);
    return fault;
  }
  if (fail_in > 0 && --fail_in == 0)
    code = fail_code;
  if (fail_name != NULL && fail_name_in > 0 && is_named (function, fail_name)
      && --fail_name_in == 0)
    code = fail_name_code;
  if (is_for_good (code))
    fault = code;
  return code;
}

void
sim_unlock (GRecMutex ** lock)
{
  g_rec_mutex_unlock (*lock);
}

SimContext *
sim_current (void)
{
  return sim_stack[sim_depth - 1];
}

/* TRUE if handle is of that type and made in the current context. */
gboolean
sim_check_handle (gpointer handle, SimType type, SimContext * context,
    const gchar * function)
{
  if (GPOINTER_TO_UINT (g_hash_table_lookup (sim_live, handle)) != type) {
    sim_misuse ("%s got a handle that does not sim_live", function);
    return FALSE;
  }
  if (context != sim_current ())
    sim_misuse ("%s got a handle of a context that is not current", function);
  return TRUE;
}

/* ---- the driver and its devices ---- */

CUresult
cuInit (unsigned int flags)
{
  ENTER ();
  NEED (sim_n_devices > 0, CUDA_ERROR_NO_DEVICE);
  sim_initialised = TRUE;
  return CUDA_SUCCESS;
}

CUresult
cuDriverGetVersion (int *v)
{
  ENTER ();
  *v = sim_version;
  return CUDA_SUCCESS;
}

CUresult
cuGetErrorName (CUresult error, const char **name)
{
  static char text[32];

  /* Neither counted nor made to fail: it is how failures are told. */
  snprintf (text, sizeof (text), "SIMULATED_ERROR_%d", error);
  *name = text;
  return CUDA_SUCCESS;
}

CUresult
cuGetErrorString (CUresult error, const char **text)
{
  *text = "an error of the simulated driver";
  return CUDA_SUCCESS;
}

CUresult
cuDeviceGetCount (int *n)
{
  ENTER ();
  NEED (sim_initialised, CUDA_ERROR_NOT_INITIALIZED);
  *n = sim_n_devices;
  return CUDA_SUCCESS;
}

CUresult
cuDeviceGet (CUdevice * device, int index)
{
  ENTER ();
  NEED (sim_initialised, CUDA_ERROR_NOT_INITIALIZED);
  NEED (index >= 0 && index < sim_n_devices, CUDA_ERROR_INVALID_DEVICE);
  *device = index;
  return CUDA_SUCCESS;
}

CUresult
cuDeviceGetName (char *name, int size, CUdevice device)
{
  ENTER ();
  g_strlcpy (name, "Simulated GPU", size);
  return CUDA_SUCCESS;
}

CUresult
cuDeviceGetAttribute (int *value, CUdevice_attribute attribute, CUdevice device)
{
  ENTER ();
  switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
      *value = sim_compute_capability / 10;
      break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
      *value = sim_compute_capability % 10;
      break;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
      *value = 4;
      break;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
      *value = sim_shared_optin;
      break;
    case CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT:
      *value = 512;
      break;
    default:
      *value = 0;
  }
  return CUDA_SUCCESS;
}

/* ---- for tests ---- */

void simcuda_fail_at (guint n, guint code);
void simcuda_fail_name (const gchar * name, guint n, guint code);
guint simcuda_calls (void);
guint simcuda_live (void);
guint simcuda_live_in (gpointer context);
void simcuda_limit (gsize device, gsize host);
guint simcuda_depth (void);
guint simcuda_runs (const gchar * name);
guint64 simcuda_uploaded (void);
guint simcuda_misuses (void);

void
simcuda_fail_at (guint n, guint code)
{
  fail_in = n;
  fail_code = code;
}

void
simcuda_fail_name (const gchar * name, guint n, guint code)
{
  g_free (fail_name);
  fail_name = g_strdup (name);
  fail_name_in = n;
  fail_name_code = code;
}

guint
simcuda_calls (void)
{
  return n_calls;
}

guint
simcuda_live (void)
{
  return g_hash_table_size (sim_live) + sim_memories->len;
}

guint
simcuda_live_in (gpointer context)
{
  return sim_context_objects (context);
}

void
simcuda_limit (gsize device, gsize host)
{
  sim_device_limit = device;
  sim_host_limit = host;
}

guint
simcuda_depth (void)
{
  return sim_depth;
}

guint
simcuda_runs (const gchar * name)
{
  return sim_kernel_runs (name);
}

guint64
simcuda_uploaded (void)
{
  return sim_uploaded ();
}

guint
simcuda_misuses (void)
{
  return n_misuses;
}

/* ---- begin and end ---- */

static gint
read_number (const gchar * name, gint otherwise)
{
  const gchar *text = g_getenv (name);

  return text != NULL && *text != '\0' ? atoi (text) : otherwise;
}

static void
read_failure (void)
{
  const gchar *text = g_getenv ("SIMCUDA_FAIL");
  g_auto (GStrv) parts = NULL;
  g_auto (GStrv) name = NULL;

  if (text == NULL || *text == '\0')
    return;
  parts = g_strsplit (text, ":", 2);
  if (parts[1] == NULL)
    return;
  if (g_ascii_isdigit (*parts[0])) {
    simcuda_fail_at (atoi (parts[0]), atoi (parts[1]));
    return;
  }
  name = g_strsplit (parts[0], "@", 2);
  simcuda_fail_name (name[0], name[1] != NULL ? atoi (name[1]) : 1,
      atoi (parts[1]));
}

__attribute__((constructor))
     static void start (void)
{
  const gchar *cc = g_getenv ("SIMCUDA_CC");

  sim_live = g_hash_table_new (NULL, NULL);
  sim_functions = g_hash_table_new (NULL, NULL);
  sim_memories = g_ptr_array_new ();
  seed = read_number ("SIMCUDA_SEED", g_random_int_range (1, G_MAXINT32));
  sim_rand = g_rand_new_with_seed (seed);
  sim_n_devices =
      CLAMP (read_number ("SIMCUDA_DEVICES", 1), 0, SIM_MAX_DEVICES);
  sim_version = read_number ("SIMCUDA_VERSION", CUDA_VERSION);
  sim_shared_optin = read_number ("SIMCUDA_SHARED", 99 * 1024);
  sim_compute_capability =
      cc != NULL ? g_ascii_strtod (cc, NULL) * 10 + 0.5 : 90;
  quiet_after_fault = read_number ("SIMCUDA_AFTER_FAULT", 0);
  read_failure ();
}

__attribute__((destructor))
     static void stop (void)
{
  guint alive = simcuda_live ();

  if (alive > 0 && fault == CUDA_SUCCESS && read_number ("SIMCUDA_LEAKS", 1)) {
    GHashTableIter iter;
    gpointer type;

    fprintf (stderr, "simcuda: leaks (SIMCUDA_SEED=%u):", seed);
    g_hash_table_iter_init (&iter, sim_live);
    while (g_hash_table_iter_next (&iter, NULL, &type))
      fprintf (stderr, " %s", ((const gchar * const[]) { "", "context",
              "stream", "event", "module"
              })[GPOINTER_TO_UINT (type)]);
    fprintf (stderr, "; %u pieces of memory\n", sim_memories->len);
    fflush (NULL);
    _exit (99);
  }
  if (n_misuses > 0) {
    fflush (NULL);
    _exit (99);
  }
}
