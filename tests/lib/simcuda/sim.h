/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The simulated CUDA driver: a libcuda.so.1 for tests on machines without a GPU. Host memory stands for device memory.
 *
 * What is enqueued on a stream is not done at once: it is done in a random order among what streams and events
 * allow, and synchronising does just what it must. A missing wait so gives wrong pixels, sooner or later. Misuse (a
 * wrong current context, memory out of bounds, grids and pictures that do not fit) and leaks are printed, and make the
 * process exit with status 99.
 *
 * Environment:
 *   SIMCUDA_SEED=n           the order of work; printed when something is wrong; random if not set
 *   SIMCUDA_FAIL=n:code      the n-th call gives the error; or name:code, the first call of that name, name@n:code the
 *                            n-th
 *   SIMCUDA_VERSION=12020    the driver's version
 *   SIMCUDA_DEVICES=n        the number of devices; 0: cuInit finds none
 *   SIMCUDA_CC=8.6           compute capability
 *   SIMCUDA_SHARED=bytes     shared memory that a block can have
 *   SIMCUDA_LEAKS=0          leaks are of no interest
 *   SIMCUDA_PTX=folder       kernels run from their PTX in that folder, in place of plain C: ptx.h
 *   SIMCUDA_AFTER_FAULT=1    calls after an error that is for good are no misuse: other libraries make them
 */
#pragma once

#include <cuda.h>
#include <glib.h>

#include "cuda/params.h"
#include "cuda/sums.h"
#include "cuda/kernels/variants.h"

typedef struct
{
  gint device;
  gboolean primary;
  guint refs;
} SimContext;

typedef struct
{
  SimContext *context;
  guint8 *base;
  gsize size;
  gboolean host;
} SimMemory;

typedef struct
{
  const gchar *name;
  guint route, samples, terms, taps;
} SimKernel;

typedef struct _SimStream SimStream;
typedef struct _SimOp SimOp;

struct _SimStream
{
  SimContext *context;
  GQueue ops;                   /* SimOp: not done yet */
};

typedef enum
{ SIM_COPY, SIM_LAUNCH, SIM_RECORD, SIM_WAIT } SimOpKind;

struct _SimOp
{
  SimOpKind kind;
  guint refs;
  gboolean done;
  guint64 when;                 /* SIM_RECORD: a clock of work done */
  SimStream *stream;
  SimOp *target;                /* SIM_WAIT; NULL: nothing to wait for */
  CUDA_MEMCPY2D copy;
  const SimKernel *kernel;
  guint grid, shared_bytes;
  union
  {
    ConvolveLaunch launch;
    ConvolveStage stage;
    ConvolveSums sums;
  } parameters;
};

#define SIM_MAX_DEVICES 4
#define SIM_MAX_DEPTH 32

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

/* simcuda.c */
extern GRand *sim_rand;
extern GRecMutex sim_lock;
extern GHashTable *sim_live;    /* handle -> SimType */
extern GHashTable *sim_functions;       /* all that were handed out */
extern gint sim_n_devices, sim_version, sim_compute_capability, sim_shared_optin;
extern gboolean sim_initialised;
extern __thread SimContext *sim_stack[SIM_MAX_DEPTH];
extern __thread guint sim_depth;
/* What every function of the driver begins with: CUDA_SUCCESS, or the error that it is to give. */
CUresult sim_begin_call (const gchar * function);
void sim_unlock (GRecMutex ** lock);
SimContext *sim_current (void);
/* TRUE if handle is of that type; misuse unless context is current. */
gboolean sim_check_handle (gpointer handle, SimType type, SimContext * context, const gchar * function);
void sim_misuse (const gchar * format, ...) G_GNUC_PRINTF (1, 2);

/* memory.c */
extern GPtrArray *sim_memories;
/* The memory that holds all of bytes from address on, or NULL; address must be inside it (within its bounds). */
SimMemory *sim_memory_at (guint64 address, gsize bytes);
guint64 sim_uploaded (void);
/* Misuse unless rows of bytes each, stride apart, are inside one allocation of the device. */
gboolean sim_check_rows (const gchar * what, guint64 address, gint64 stride, gint64 rows, gsize bytes);
/* Bytes that a process may have; allocations beyond are refused. */
extern gsize sim_device_limit, sim_host_limit;

/* objects.c */
/* What lives in that context: memory, streams, events, modules. */
guint sim_context_objects (SimContext * context);

/* streams.c */
SimOp *sim_op_new (SimOpKind kind, SimStream * stream);
void sim_op_unref (SimOp * op);
void sim_enqueue (SimOp * op);
void sim_run_until (SimOp * op);
void sim_run_stream (SimStream * stream);
void sim_run_all (void);
/* Does some of what is enqueued, at random. */
void sim_run_some (void);
void sim_copy (const CUDA_MEMCPY2D * copy);
void sim_stream_register (SimStream * stream);
void sim_stream_unregister (SimStream * stream);

/* kernels.c */
const SimKernel *sim_kernel_find (const gchar * name);
gsize sim_kernel_parameter_bytes (const SimKernel * kernel);
guint sim_kernel_threads (const SimKernel * kernel, const void *parameters);
void sim_kernel_run (const SimKernel * kernel, const void *parameters, guint grid, guint shared_bytes);
/* How often the kernel of that name ran. */
guint sim_kernel_runs (const gchar * name);
/* On the tensor cores; a whole matrix there; a sum over frames there; samples of 16 bits there. */
gboolean sim_kernel_is_banded (const SimKernel * kernel);
gboolean sim_kernel_is_weighted (const SimKernel * kernel);
gboolean sim_kernel_is_direct (const SimKernel * kernel);
gboolean sim_kernel_is_folded (const SimKernel * kernel);
gboolean sim_kernel_has_words (const SimKernel * kernel);

/* boxes.c: boxes by running sums */
guint sim_sums_threads (const SimKernel * kernel, const ConvolveSums * s);
void sim_run_sums (const SimKernel * kernel, const ConvolveSums * s, guint grid, guint shared_bytes);

/* sums.c: of the taps of a term around (x, y), component c */
double sim_to_half (double value);
double sim_term_sum (const ConvolveLaunch * launch, const ConvolveLaunchPicture * p, const ConvolveLaunchTerm * term,
    const float *w, gint x, gint y, guint c);
/* The same as the kernel computes it. */
double sim_divisor (const SimKernel * kernel, const ConvolveLaunch * launch, const ConvolveLaunchPicture * p,
    const ConvolveLaunchTerm * term, const float *w, gint x, gint y);
double sim_sum (const SimKernel * kernel, const ConvolveLaunch * launch, const ConvolveLaunchPicture * p,
    const ConvolveLaunchTerm * term, const float *w, gint x, gint y, guint c);

/* ---- the begin of every function ---- */

#define ENTER() \
  __attribute__ ((cleanup (sim_unlock), unused)) GRecMutex *held = &sim_lock; \
  CUresult result_; \
  g_rec_mutex_lock (held); \
  if ((result_ = sim_begin_call (__func__)) != CUDA_SUCCESS) \
    return result_
/* Releases do their work even when they are made to fail: what a driver then
 * reports is an earlier fault. */
#define ENTER_RELEASE() \
  __attribute__ ((cleanup (sim_unlock), unused)) GRecMutex *held = &sim_lock; \
  CUresult result_; \
  g_rec_mutex_lock (held); \
  result_ = sim_begin_call (__func__)
#define NEED(condition, code) if (!(condition)) return code
#define NEED_CONTEXT() \
  NEED (sim_initialised, CUDA_ERROR_NOT_INITIALIZED); \
  NEED (sim_depth > 0, CUDA_ERROR_INVALID_CONTEXT)

#define NEED_HANDLE(handle, type) \
  NEED (handle != NULL && g_hash_table_contains (sim_live, handle) \
      && sim_check_handle (handle, type, handle->context, __func__), \
      CUDA_ERROR_INVALID_HANDLE)
