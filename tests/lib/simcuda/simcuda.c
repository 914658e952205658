/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The driver's functions. Handles are pointers to the structs of sim.h; all
 * that live are in one table, so that a stale one is found. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim.h"
#include "simcuda.h"

#define MAX_DEVICES 4
#define MAX_DEPTH 32
#define GUARD 256
#define FATBIN_MAGIC 0xBA55ED50u

typedef enum
{ SIM_CONTEXT = 1, SIM_STREAM, SIM_EVENT, SIM_MODULE } SimType;

typedef struct
{
  SimContext *context;
  SimOp *record;
} SimEvent;

typedef struct
{
  SimContext *context;
  GHashTable *functions;        /* name -> SimFunction */
} SimModule;

typedef struct
{
  SimModule *module;
  const SimKernel *kernel;
  guint shared_bytes;
} SimFunction;

GRand *sim_rand;
static GRecMutex lock;
static guint32 seed;
static GHashTable *live;        /* handle -> SimType */
static GHashTable *functions;   /* all that were handed out */
static GPtrArray *memories;
static SimContext primaries[MAX_DEVICES];
static gint n_devices, version, compute_capability, shared_optin;
static gboolean initialised;
static guint n_calls, n_misuses;
static guint fail_in, fail_code, fail_name_in, fail_name_code;
static gchar *fail_name;
static CUresult fault;          /* one that is for good has happened */
static __thread SimContext *stack[MAX_DEPTH];
static __thread guint depth;

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

static CUresult
begin_call (const gchar * function)
{
  guint code = 0;

  n_calls++;
  sim_run_some ();
  if (fault != CUDA_SUCCESS) {
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

typedef GRecMutex SimLock;

static void
release_lock (SimLock ** l)
{
  g_rec_mutex_unlock (*l);
}

#define ENTER() \
  __attribute__ ((cleanup (release_lock), unused)) SimLock *held = &lock; \
  CUresult result_; \
  g_rec_mutex_lock (held); \
  if ((result_ = begin_call (__func__)) != CUDA_SUCCESS) \
    return result_
/* Releases do their work even when they are made to fail: what a driver then
 * reports is an earlier fault. */
#define ENTER_RELEASE() \
  __attribute__ ((cleanup (release_lock), unused)) SimLock *held = &lock; \
  CUresult result_; \
  g_rec_mutex_lock (held); \
  result_ = begin_call (__func__)
#define NEED(condition, code) if (!(condition)) return code
#define NEED_CONTEXT() \
  NEED (initialised, CUDA_ERROR_NOT_INITIALIZED); \
  NEED (depth > 0, CUDA_ERROR_INVALID_CONTEXT)

static SimContext *
current (void)
{
  return stack[depth - 1];
}

/* TRUE if handle is of that type and made in the current context. */
static gboolean
check_handle (gpointer handle, SimType type, SimContext * context,
    const gchar * function)
{
  if (GPOINTER_TO_UINT (g_hash_table_lookup (live, handle)) != type) {
    sim_misuse ("%s got a handle that does not live", function);
    return FALSE;
  }
  if (context != current ())
    sim_misuse ("%s got a handle of a context that is not current", function);
  return TRUE;
}

#define NEED_HANDLE(handle, type) \
  NEED (handle != NULL && g_hash_table_contains (live, handle) \
      && check_handle (handle, type, handle->context, __func__), \
      CUDA_ERROR_INVALID_HANDLE)

/* ---- memory ---- */

SimMemory *
sim_memory_at (guint64 address, gsize bytes)
{
  for (guint i = 0; i < memories->len; i++) {
    SimMemory *m = g_ptr_array_index (memories, i);
    guint64 base = (gsize) m->base;

    if (address >= base && address - base <= m->size
        && bytes <= m->size - (address - base))
      return m;
  }
  return NULL;
}

gboolean
sim_check_rows (const gchar * what, guint64 address, gint64 stride,
    gint64 rows, gsize bytes)
{
  guint64 last = address + (rows - 1) * stride, low = MIN (address, last);
  gsize reach = MAX (address, last) - low + bytes;
  SimMemory *m;

  if (rows <= 0 || bytes == 0)
    return TRUE;
  m = sim_memory_at (low, reach);
  if (m != NULL && !m->host)
    return TRUE;
  sim_misuse ("%s at %#" G_GINT64_MODIFIER "x, %" G_GINT64_FORMAT
      " rows %" G_GINT64_FORMAT " apart of %" G_GSIZE_FORMAT
      " bytes, is not inside one piece of device memory", what, address, rows,
      stride, bytes);
  return FALSE;
}

static CUresult
allocate (gsize size, gboolean host, gpointer * memory)
{
  SimMemory *m;
  guint8 *block;

  NEED (size > 0, CUDA_ERROR_INVALID_VALUE);
  block = aligned_alloc (256, (size + 2 * GUARD + 255) / 256 * 256);
  NEED (block != NULL, CUDA_ERROR_OUT_OF_MEMORY);
  m = g_new0 (SimMemory, 1);
  m->context = current ();
  m->base = block + GUARD;
  m->size = size;
  m->host = host;
  memset (block, 0xa5, GUARD);
  memset (m->base, g_rand_int (sim_rand), size);
  memset (m->base + size, 0xa5, GUARD);
  g_ptr_array_add (memories, m);
  *memory = m->base;
  return CUDA_SUCCESS;
}

static gboolean
guards_are_whole (const SimMemory * m)
{
  for (guint i = 0; i < GUARD; i++)
    if (m->base[-1 - (gint) i] != 0xa5 || m->base[m->size + i] != 0xa5)
      return FALSE;
  return TRUE;
}

static CUresult
release (guint64 address, gboolean host, const gchar * function)
{
  SimMemory *m = sim_memory_at (address, 1);

  if (m == NULL || (gsize) m->base != address || m->host != host) {
    sim_misuse ("%s got an address that was not allocated", function);
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (m->context != current ())
    sim_misuse ("%s got memory of a context that is not current", function);
  sim_run_all ();
  if (!guards_are_whole (m))
    sim_misuse ("memory of %" G_GSIZE_FORMAT " bytes was overrun", m->size);
  g_ptr_array_remove_fast (memories, m);
  free (m->base - GUARD);
  g_free (m);
  return CUDA_SUCCESS;
}

CUresult
cuMemAlloc (CUdeviceptr * memory, size_t size)
{
  gpointer p = NULL;
  CUresult result;

  ENTER ();
  NEED_CONTEXT ();
  result = allocate (size, FALSE, &p);
  *memory = (CUdeviceptr) (gsize) p;
  return result;
}

CUresult
cuMemAllocPitch (CUdeviceptr * memory, size_t *pitch, size_t width,
    size_t height, unsigned int element)
{
  gpointer p = NULL;
  CUresult result;

  ENTER ();
  NEED_CONTEXT ();
  *pitch = (width + 511) / 512 * 512;
  result = allocate (*pitch * height, FALSE, &p);
  *memory = (CUdeviceptr) (gsize) p;
  return result;
}

CUresult
cuMemFree (CUdeviceptr memory)
{
  CUresult result;

  ENTER_RELEASE ();
  NEED_CONTEXT ();
  result = release (memory, FALSE, __func__);
  return result_ != CUDA_SUCCESS ? result_ : result;
}

CUresult
cuMemHostAlloc (void **memory, size_t size, unsigned int flags)
{
  ENTER ();
  NEED_CONTEXT ();
  return allocate (size, TRUE, memory);
}

CUresult
cuMemAllocHost (void **memory, size_t size)
{
  ENTER ();
  NEED_CONTEXT ();
  return allocate (size, TRUE, memory);
}

CUresult
cuMemFreeHost (void *memory)
{
  CUresult result;

  ENTER_RELEASE ();
  NEED_CONTEXT ();
  result = release ((gsize) memory, TRUE, __func__);
  return result_ != CUDA_SUCCESS ? result_ : result;
}

CUresult
cuMemGetInfo (size_t *available, size_t *total)
{
  ENTER ();
  NEED_CONTEXT ();
  *available = *total = (gsize) 1 << 30;
  return CUDA_SUCCESS;
}

/* ---- copies ---- */

CUresult
cuMemcpyHtoD (CUdeviceptr to, const void *from, size_t size)
{
  ENTER ();
  NEED_CONTEXT ();
  sim_run_some ();
  if (!sim_check_rows ("a copy's target", to, 0, 1, size))
    return CUDA_ERROR_INVALID_VALUE;
  memcpy ((gpointer) (gsize) to, from, size);
  return CUDA_SUCCESS;
}

/* Host memory that is not page-locked is copied before the call returns. */
static gboolean
is_pageable (gconstpointer host)
{
  return sim_memory_at ((gsize) host, 1) == NULL;
}

static CUresult
copy_2d (const CUDA_MEMCPY2D * copy, SimStream * stream)
{
  gboolean from_host = copy->srcMemoryType == CU_MEMORYTYPE_HOST;
  gboolean to_host = copy->dstMemoryType == CU_MEMORYTYPE_HOST;
  SimOp *op;

  NEED (copy->WidthInBytes > 0 && copy->Height > 0
      && (copy->srcPitch >= copy->WidthInBytes || copy->srcPitch == 0)
      && (copy->dstPitch >= copy->WidthInBytes || copy->dstPitch == 0),
      CUDA_ERROR_INVALID_VALUE);
  if (stream == NULL) {
    sim_run_all ();
    sim_copy (copy);
    return CUDA_SUCCESS;
  }
  op = sim_op_new (SIM_COPY, stream);
  op->copy = *copy;
  sim_enqueue (op);
  if ((from_host && is_pageable (copy->srcHost))
      || (to_host && is_pageable (copy->dstHost)))
    sim_run_until (op);
  sim_op_unref (op);
  return CUDA_SUCCESS;
}

CUresult
cuMemcpy2DAsync (const CUDA_MEMCPY2D * copy, CUstream handle)
{
  SimStream *stream = (SimStream *) handle;

  ENTER ();
  NEED_CONTEXT ();
  if (stream != NULL)
    NEED_HANDLE (stream, SIM_STREAM);
  return copy_2d (copy, stream);
}

CUresult
cuMemcpy2D (const CUDA_MEMCPY2D * copy)
{
  ENTER ();
  NEED_CONTEXT ();
  return copy_2d (copy, NULL);
}

/* ---- the driver and its devices ---- */

CUresult
cuInit (unsigned int flags)
{
  ENTER ();
  NEED (n_devices > 0, CUDA_ERROR_NO_DEVICE);
  initialised = TRUE;
  return CUDA_SUCCESS;
}

CUresult
cuDriverGetVersion (int *v)
{
  ENTER ();
  *v = version;
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
  NEED (initialised, CUDA_ERROR_NOT_INITIALIZED);
  *n = n_devices;
  return CUDA_SUCCESS;
}

CUresult
cuDeviceGet (CUdevice * device, int index)
{
  ENTER ();
  NEED (initialised, CUDA_ERROR_NOT_INITIALIZED);
  NEED (index >= 0 && index < n_devices, CUDA_ERROR_INVALID_DEVICE);
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
cuDeviceGetAttribute (int *value, CUdevice_attribute attribute,
    CUdevice device)
{
  ENTER ();
  switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
      *value = compute_capability / 10;
      break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
      *value = compute_capability % 10;
      break;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
      *value = 4;
      break;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
      *value = shared_optin;
      break;
    case CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT:
      *value = 512;
      break;
    default:
      *value = 0;
  }
  return CUDA_SUCCESS;
}

/* ---- contexts ---- */

CUresult
cuDevicePrimaryCtxRetain (CUcontext * context, CUdevice device)
{
  ENTER ();
  NEED (device >= 0 && device < n_devices, CUDA_ERROR_INVALID_DEVICE);
  primaries[device].primary = TRUE;
  primaries[device].device = device;
  if (primaries[device].refs++ == 0)
    g_hash_table_insert (live, &primaries[device],
        GUINT_TO_POINTER (SIM_CONTEXT));
  *context = (CUcontext) & primaries[device];
  return CUDA_SUCCESS;
}

CUresult
cuDevicePrimaryCtxRelease (CUdevice device)
{
  SimContext *context = &primaries[device];

  ENTER_RELEASE ();
  if (context->refs == 0) {
    sim_misuse ("a primary context was released too often");
    return CUDA_ERROR_INVALID_CONTEXT;
  }
  if (--context->refs == 0)
    g_hash_table_remove (live, context);
  return result_;
}

/* The signature that programs built with older headers expect under this
 * name. */
CUresult cuCtxCreate_v2 (CUcontext * context, unsigned int flags,
    CUdevice device);

CUresult
cuCtxCreate_v2 (CUcontext * handle, unsigned int flags, CUdevice device)
{
  SimContext *context;

  ENTER ();
  NEED (initialised, CUDA_ERROR_NOT_INITIALIZED);
  NEED (depth < MAX_DEPTH, CUDA_ERROR_OUT_OF_MEMORY);
  context = g_new0 (SimContext, 1);
  context->device = device;
  g_hash_table_insert (live, context, GUINT_TO_POINTER (SIM_CONTEXT));
  stack[depth++] = context;
  *handle = (CUcontext) context;
  return CUDA_SUCCESS;
}

static gboolean
context_is_empty (SimContext * context)
{
  GHashTableIter iter;
  gpointer handle, type;

  for (guint i = 0; i < memories->len; i++)
    if (((SimMemory *) g_ptr_array_index (memories, i))->context == context)
      return FALSE;
  g_hash_table_iter_init (&iter, live);
  while (g_hash_table_iter_next (&iter, &handle, &type)) {
    SimContext **of = handle;

    if (GPOINTER_TO_UINT (type) != SIM_CONTEXT && *of == context)
      return FALSE;
  }
  return TRUE;
}

CUresult
cuCtxDestroy (CUcontext handle)
{
  SimContext *context = (SimContext *) handle;

  ENTER ();
  NEED (g_hash_table_contains (live, context), CUDA_ERROR_INVALID_CONTEXT);
  if (!context_is_empty (context))
    sim_misuse ("a context was destroyed with things of it alive");
  if (depth > 0 && stack[depth - 1] == context)
    depth--;
  g_hash_table_remove (live, context);
  return CUDA_SUCCESS;
}

CUresult
cuCtxPushCurrent (CUcontext context)
{
  ENTER ();
  NEED (GPOINTER_TO_UINT (g_hash_table_lookup (live, context)) == SIM_CONTEXT,
      CUDA_ERROR_INVALID_CONTEXT);
  NEED (depth < MAX_DEPTH, CUDA_ERROR_OUT_OF_MEMORY);
  stack[depth++] = (SimContext *) context;
  return CUDA_SUCCESS;
}

CUresult
cuCtxPopCurrent (CUcontext * context)
{
  /* Works after every fault, and is never made to fail: scopes end with it. */
  NEED (depth > 0, CUDA_ERROR_INVALID_CONTEXT);
  depth--;
  if (context != NULL)
    *context = (CUcontext) stack[depth];
  return CUDA_SUCCESS;
}

CUresult
cuCtxGetDevice (CUdevice * device)
{
  ENTER ();
  NEED_CONTEXT ();
  *device = current ()->device;
  return CUDA_SUCCESS;
}

/* ---- modules ---- */

CUresult
cuModuleLoadData (CUmodule * handle, const void *image)
{
  SimModule *module;

  ENTER ();
  NEED_CONTEXT ();
  NEED (*(const guint32 *) image == FATBIN_MAGIC, CUDA_ERROR_INVALID_IMAGE);
  module = g_new0 (SimModule, 1);
  module->context = current ();
  module->functions = g_hash_table_new_full (g_str_hash, g_str_equal, NULL,
      g_free);
  g_hash_table_insert (live, module, GUINT_TO_POINTER (SIM_MODULE));
  *handle = (CUmodule) module;
  return CUDA_SUCCESS;
}

CUresult
cuModuleUnload (CUmodule handle)
{
  SimModule *module = (SimModule *) handle;
  GHashTableIter iter;
  gpointer function;

  ENTER_RELEASE ();
  NEED_CONTEXT ();
  NEED_HANDLE (module, SIM_MODULE);
  sim_run_all ();
  g_hash_table_iter_init (&iter, module->functions);
  while (g_hash_table_iter_next (&iter, NULL, &function))
    g_hash_table_remove (functions, function);
  g_hash_table_unref (module->functions);
  g_hash_table_remove (live, module);
  g_free (module);
  return result_;
}

CUresult
cuModuleGetFunction (CUfunction * handle, CUmodule module_handle,
    const char *name)
{
  SimModule *module = (SimModule *) module_handle;
  const SimKernel *kernel = sim_kernel_find (name);
  SimFunction *function;

  ENTER ();
  NEED_CONTEXT ();
  NEED_HANDLE (module, SIM_MODULE);
  NEED (kernel != NULL, CUDA_ERROR_NOT_FOUND);
  function = g_hash_table_lookup (module->functions, name);
  if (function == NULL) {
    function = g_new0 (SimFunction, 1);
    function->module = module;
    function->kernel = kernel;
    function->shared_bytes = 48 * 1024;
    g_hash_table_insert (module->functions, (gpointer) kernel->name, function);
    g_hash_table_add (functions, function);
  }
  *handle = (CUfunction) function;
  return CUDA_SUCCESS;
}

CUresult
cuFuncGetAttribute (int *value, CUfunction_attribute attribute,
    CUfunction function)
{
  ENTER ();
  NEED_CONTEXT ();
  *value = 0;
  return CUDA_SUCCESS;
}

CUresult
cuFuncSetAttribute (CUfunction handle, CUfunction_attribute attribute,
    int value)
{
  ENTER ();
  NEED_CONTEXT ();
  NEED (g_hash_table_contains (functions, handle), CUDA_ERROR_INVALID_HANDLE);
  NEED (value <= shared_optin, CUDA_ERROR_INVALID_VALUE);
  if (attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)
    ((SimFunction *) handle)->shared_bytes = value;
  return CUDA_SUCCESS;
}

CUresult
cuLaunchKernel (CUfunction handle, unsigned int grid_x, unsigned int grid_y,
    unsigned int grid_z, unsigned int block_x, unsigned int block_y,
    unsigned int block_z, unsigned int shared_bytes, CUstream stream_handle,
    void **parameters, void **extra)
{
  SimFunction *function = (SimFunction *) handle;
  SimStream *stream = (SimStream *) stream_handle;
  SimOp *op;

  ENTER ();
  NEED_CONTEXT ();
  NEED (g_hash_table_contains (functions, function),
      CUDA_ERROR_INVALID_HANDLE);
  NEED_HANDLE (stream, SIM_STREAM);
  if (function->module->context != current ())
    sim_misuse ("a function of another context was launched");
  if (block_x != CONVOLVE_BLOCK_THREADS || block_y != 1 || block_z != 1
      || grid_y != 1 || grid_z != 1)
    sim_misuse ("%s: a grid of the wrong shape", function->kernel->name);
  NEED (grid_x > 0 && grid_x <= G_MAXINT32
      && shared_bytes <= function->shared_bytes, CUDA_ERROR_INVALID_VALUE);
  op = sim_op_new (SIM_LAUNCH, stream);
  op->kernel = function->kernel;
  op->grid = grid_x;
  op->shared_bytes = shared_bytes;
  memcpy (&op->parameters, parameters[0],
      sim_kernel_parameter_bytes (op->kernel));
  sim_enqueue (op);
  sim_op_unref (op);
  return CUDA_SUCCESS;
}

/* ---- streams and events ---- */

CUresult
cuStreamCreate (CUstream * handle, unsigned int flags)
{
  SimStream *stream;

  ENTER ();
  NEED_CONTEXT ();
  stream = g_new0 (SimStream, 1);
  stream->context = current ();
  g_queue_init (&stream->ops);
  g_hash_table_insert (live, stream, GUINT_TO_POINTER (SIM_STREAM));
  sim_stream_register (stream);
  *handle = (CUstream) stream;
  return CUDA_SUCCESS;
}

CUresult
cuStreamDestroy (CUstream handle)
{
  SimStream *stream = (SimStream *) handle;

  ENTER_RELEASE ();
  NEED_CONTEXT ();
  NEED_HANDLE (stream, SIM_STREAM);
  sim_run_stream (stream);
  sim_stream_unregister (stream);
  g_hash_table_remove (live, stream);
  g_free (stream);
  return result_;
}

CUresult
cuStreamSynchronize (CUstream handle)
{
  SimStream *stream = (SimStream *) handle;

  ENTER ();
  NEED_CONTEXT ();
  if (stream == NULL) {
    sim_run_all ();
    return CUDA_SUCCESS;
  }
  NEED_HANDLE (stream, SIM_STREAM);
  sim_run_stream (stream);
  return CUDA_SUCCESS;
}

CUresult
cuStreamWaitEvent (CUstream stream_handle, CUevent event_handle,
    unsigned int flags)
{
  SimStream *stream = (SimStream *) stream_handle;
  SimEvent *event = (SimEvent *) event_handle;
  SimOp *op;

  ENTER ();
  NEED_CONTEXT ();
  NEED_HANDLE (stream, SIM_STREAM);
  NEED_HANDLE (event, SIM_EVENT);
  if (event->record == NULL)
    sim_misuse ("a stream was told to wait for an event never recorded");
  op = sim_op_new (SIM_WAIT, stream);
  op->target = event->record;
  if (op->target != NULL)
    op->target->refs++;
  sim_enqueue (op);
  sim_op_unref (op);
  return CUDA_SUCCESS;
}

CUresult
cuEventCreate (CUevent * handle, unsigned int flags)
{
  SimEvent *event;

  ENTER ();
  NEED_CONTEXT ();
  event = g_new0 (SimEvent, 1);
  event->context = current ();
  g_hash_table_insert (live, event, GUINT_TO_POINTER (SIM_EVENT));
  *handle = (CUevent) event;
  return CUDA_SUCCESS;
}

CUresult
cuEventDestroy (CUevent handle)
{
  SimEvent *event = (SimEvent *) handle;

  ENTER_RELEASE ();
  NEED_CONTEXT ();
  NEED_HANDLE (event, SIM_EVENT);
  sim_op_unref (event->record);
  g_hash_table_remove (live, event);
  g_free (event);
  return result_;
}

CUresult
cuEventRecord (CUevent event_handle, CUstream stream_handle)
{
  SimStream *stream = (SimStream *) stream_handle;
  SimEvent *event = (SimEvent *) event_handle;

  ENTER ();
  NEED_CONTEXT ();
  NEED_HANDLE (stream, SIM_STREAM);
  NEED_HANDLE (event, SIM_EVENT);
  sim_op_unref (event->record);
  event->record = sim_op_new (SIM_RECORD, stream);
  sim_enqueue (event->record);
  return CUDA_SUCCESS;
}

CUresult
cuEventSynchronize (CUevent handle)
{
  SimEvent *event = (SimEvent *) handle;

  ENTER ();
  NEED_CONTEXT ();
  NEED_HANDLE (event, SIM_EVENT);
  if (event->record != NULL)
    sim_run_until (event->record);
  return CUDA_SUCCESS;
}

CUresult
cuEventElapsedTime (float *ms, CUevent begin_handle, CUevent end_handle)
{
  SimEvent *begin = (SimEvent *) begin_handle;
  SimEvent *end = (SimEvent *) end_handle;

  ENTER ();
  NEED_CONTEXT ();
  NEED_HANDLE (begin, SIM_EVENT);
  NEED_HANDLE (end, SIM_EVENT);
  if (begin->record == NULL || end->record == NULL) {
    sim_misuse ("the time between events that were not recorded was asked");
    return CUDA_ERROR_INVALID_HANDLE;
  }
  NEED (begin->record->done && end->record->done, CUDA_ERROR_NOT_READY);
  *ms = 0.001f * (end->record->when - begin->record->when);
  return CUDA_SUCCESS;
}

/* ---- what GStreamer's library looks for and tests never use ---- */

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
cuGraphicsResourceSetMapFlags (CUgraphicsResource resource,
    unsigned int flags)
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
    const CUDA_TEXTURE_DESC * description,
    const CUDA_RESOURCE_VIEW_DESC * view)
{
  return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult
cuTexObjectDestroy (CUtexObject texture)
{
  return CUDA_ERROR_NOT_SUPPORTED;
}

/* ---- for tests ---- */

void simcuda_fail_at (guint n, guint code);
void simcuda_fail_name (const gchar * name, guint n, guint code);
guint simcuda_calls (void);
guint simcuda_live (void);
guint simcuda_depth (void);
guint simcuda_runs (const gchar * name);
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
  return g_hash_table_size (live) + memories->len;
}

guint
simcuda_depth (void)
{
  return depth;
}

guint
simcuda_runs (const gchar * name)
{
  return sim_kernel_runs (name);
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

__attribute__ ((constructor))
static void
start (void)
{
  const gchar *cc = g_getenv ("SIMCUDA_CC");

  live = g_hash_table_new (NULL, NULL);
  functions = g_hash_table_new (NULL, NULL);
  memories = g_ptr_array_new ();
  seed = read_number ("SIMCUDA_SEED", g_random_int_range (1, G_MAXINT32));
  sim_rand = g_rand_new_with_seed (seed);
  n_devices = CLAMP (read_number ("SIMCUDA_DEVICES", 1), 0, MAX_DEVICES);
  version = read_number ("SIMCUDA_VERSION", CUDA_VERSION);
  shared_optin = read_number ("SIMCUDA_SHARED", 99 * 1024);
  compute_capability = cc != NULL ? g_ascii_strtod (cc, NULL) * 10 + 0.5 : 90;
  read_failure ();
}

__attribute__ ((destructor))
static void
stop (void)
{
  guint alive = simcuda_live ();

  if (alive > 0 && fault == CUDA_SUCCESS && read_number ("SIMCUDA_LEAKS", 1)) {
    GHashTableIter iter;
    gpointer type;

    fprintf (stderr, "simcuda: leaks (SIMCUDA_SEED=%u):", seed);
    g_hash_table_iter_init (&iter, live);
    while (g_hash_table_iter_next (&iter, NULL, &type))
      fprintf (stderr, " %s", ((const gchar * const[]) { "", "context",
                  "stream", "event", "module" })[GPOINTER_TO_UINT (type)]);
    fprintf (stderr, "; %u pieces of memory\n", memories->len);
    fflush (NULL);
    _exit (99);
  }
  if (n_misuses > 0) {
    fflush (NULL);
    _exit (99);
  }
}
