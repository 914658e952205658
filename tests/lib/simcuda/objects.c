/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Contexts, modules, streams, events. */
#include <string.h>

#include "sim.h"

#define FATBIN_MAGIC 0xBA55ED50u

static SimContext primaries[SIM_MAX_DEVICES];

/* ---- contexts ---- */

CUresult
cuDevicePrimaryCtxRetain (CUcontext * context, CUdevice device)
{
  ENTER ();
  NEED (device >= 0 && device < sim_n_devices, CUDA_ERROR_INVALID_DEVICE);
  primaries[device].primary = TRUE;
  primaries[device].device = device;
  if (primaries[device].refs++ == 0)
    g_hash_table_insert (sim_live, &primaries[device],
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
    g_hash_table_remove (sim_live, context);
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
  NEED (sim_initialised, CUDA_ERROR_NOT_INITIALIZED);
  NEED (sim_depth < SIM_MAX_DEPTH, CUDA_ERROR_OUT_OF_MEMORY);
  context = g_new0 (SimContext, 1);
  context->device = device;
  g_hash_table_insert (sim_live, context, GUINT_TO_POINTER (SIM_CONTEXT));
  sim_stack[sim_depth++] = context;
  *handle = (CUcontext) context;
  return CUDA_SUCCESS;
}

guint
sim_context_objects (SimContext * context)
{
  GHashTableIter iter;
  gpointer handle, type;
  guint n = 0;

  for (guint i = 0; i < sim_memories->len; i++)
    if (((SimMemory *) g_ptr_array_index (sim_memories, i))->context == context)
      n++;
  g_hash_table_iter_init (&iter, sim_live);
  while (g_hash_table_iter_next (&iter, &handle, &type)) {
    SimContext **of = handle;

    if (GPOINTER_TO_UINT (type) != SIM_CONTEXT && *of == context)
      n++;
  }
  return n;
}

CUresult
cuCtxDestroy (CUcontext handle)
{
  SimContext *context = (SimContext *) handle;
  gboolean empty;

  ENTER ();
  NEED (g_hash_table_contains (sim_live, context), CUDA_ERROR_INVALID_CONTEXT);
  empty = sim_context_objects (context) == 0;
  if (!empty)
    sim_misuse ("a context was destroyed with things of it alive");
  if (sim_depth > 0 && sim_stack[sim_depth - 1] == context)
    sim_depth--;
  g_hash_table_remove (sim_live, context);
  if (empty)
    g_free (context);
  return CUDA_SUCCESS;
}

CUresult
cuCtxPushCurrent (CUcontext context)
{
  ENTER ();
  NEED (GPOINTER_TO_UINT (g_hash_table_lookup (sim_live,
              context)) == SIM_CONTEXT, CUDA_ERROR_INVALID_CONTEXT);
  NEED (sim_depth < SIM_MAX_DEPTH, CUDA_ERROR_OUT_OF_MEMORY);
  sim_stack[sim_depth++] = (SimContext *) context;
  return CUDA_SUCCESS;
}

CUresult
cuCtxPopCurrent (CUcontext * context)
{
  /* Works after every fault, and is never made to fail: scopes end with it. */
  NEED (sim_depth > 0, CUDA_ERROR_INVALID_CONTEXT);
  sim_depth--;
  if (context != NULL)
    *context = (CUcontext) sim_stack[sim_depth];
  return CUDA_SUCCESS;
}

CUresult
cuCtxGetDevice (CUdevice * device)
{
  ENTER ();
  NEED_CONTEXT ();
  *device = sim_current ()->device;
  return CUDA_SUCCESS;
}

CUresult
cuCtxSynchronize (void)
{
  ENTER ();
  NEED_CONTEXT ();
  sim_run_all ();
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
  module->context = sim_current ();
  module->functions = g_hash_table_new_full (g_str_hash, g_str_equal, NULL,
      g_free);
  g_hash_table_insert (sim_live, module, GUINT_TO_POINTER (SIM_MODULE));
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
    g_hash_table_remove (sim_functions, function);
  g_hash_table_unref (module->functions);
  g_hash_table_remove (sim_live, module);
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
    g_hash_table_add (sim_functions, function);
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
  NEED (g_hash_table_contains (sim_functions, handle),
      CUDA_ERROR_INVALID_HANDLE);
  NEED (value <= sim_shared_optin, CUDA_ERROR_INVALID_VALUE);
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
  NEED (g_hash_table_contains (sim_functions, function),
      CUDA_ERROR_INVALID_HANDLE);
  NEED_HANDLE (stream, SIM_STREAM);
  if (function->module->context != sim_current ())
    sim_misuse ("a function of another context was launched");
  if (block_x != sim_kernel_threads (function->kernel,
          parameters[0]) || block_y != 1
      || block_z != 1 || grid_y != 1 || grid_z != 1)
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
  stream->context = sim_current ();
  g_queue_init (&stream->ops);
  g_hash_table_insert (sim_live, stream, GUINT_TO_POINTER (SIM_STREAM));
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
  g_hash_table_remove (sim_live, stream);
  g_free (stream);
  return result_;
}

/* Under its first name too, which GStreamer 1.22 looks for. */
#undef cuStreamDestroy
CUresult cuStreamDestroy (CUstream handle);

CUresult
cuStreamDestroy (CUstream handle)
{
  return cuStreamDestroy_v2 (handle);
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
  event->context = sim_current ();
  g_hash_table_insert (sim_live, event, GUINT_TO_POINTER (SIM_EVENT));
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
  g_hash_table_remove (sim_live, event);
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
cuEventQuery (CUevent handle)
{
  SimEvent *event = (SimEvent *) handle;

  ENTER ();
  NEED_CONTEXT ();
  NEED_HANDLE (event, SIM_EVENT);
  /* Work goes on between calls, by chance all that is needed. */
  if (event->record != NULL && g_rand_boolean (sim_rand))
    sim_run_until (event->record);
  return event->record == NULL || event->record->done ? CUDA_SUCCESS :
      CUDA_ERROR_NOT_READY;
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
