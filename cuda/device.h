/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* An opened CUDA device: its context, its streams, its compiled kernels. */
#pragma once

#include "core/backend.h"
#include "driver.h"
#include "kernels/variants.h"
#include "staging.h"

G_BEGIN_DECLS

#define CUDA_MAX_JOBS 8

/* A primary context for as long as somebody holds it: page-locked memory may outlive the device that made it. */
typedef struct {
  gint ref_count;               /* atomic */
  CUdevice device;
  CUcontext context;
} CudaPrimary;

typedef struct {
  guint id;                     /* index in the list of variants */
  const gchar *name;
  guint8 route, samples, terms, taps;
} CudaVariant;

/* Sums over frames in one launch. */
static inline gboolean
cuda_variant_is_folded (const CudaVariant * variant)
{
  return variant->route == CONVOLVE_ROUTE_FOLDED || variant->route == CONVOLVE_ROUTE_FOLDED_WEIGHTED;
}

/* Of the routes that cuda/banded.c serves. */
static inline gboolean
cuda_variant_is_banded (const CudaVariant * variant)
{
  return variant->route == CONVOLVE_ROUTE_BANDED || variant->route == CONVOLVE_ROUTE_PLAIN
      || variant->route == CONVOLVE_ROUTE_WEIGHTED || variant->route == CONVOLVE_ROUTE_DIRECT
      || cuda_variant_is_folded (variant);
}

/* All variants, in the order of variants.h; *n is their number. */
const CudaVariant *cuda_variant_list (guint * n);

#define CUDA_VARIANT_ID(name, ...) CUDA_VARIANT_##name,
enum { CONVOLVE_VARIANTS (CUDA_VARIANT_ID) CUDA_N_VARIANTS };

#define CUDA_SOURCE_ID(name) CUDA_SOURCE_##name,
enum { CONVOLVE_SOURCES (CUDA_SOURCE_ID) CUDA_N_SOURCES };

/* How far the device may lag behind what is enqueued; see throttle.c. */
typedef struct {
  guint64 piece_work;           /* multiplications */
  gboolean fill;                /* pieces keep all multiprocessors busy */
  guint64 ahead;                /* enqueued since the last mark */
  CUevent mark[2];              /* by turns; NULL until needed */
  guint n_marks;
} CudaThrottle;

typedef struct {
  ConvolveDevice parent;
  CUdevice id;
  CUcontext context;            /* the primary one, or a neighbour's */
  gboolean context_is_own;
  CudaPrimary *primary;         /* NULL with a neighbour's context, until host memory is asked for */
  CUstream up, compute, down;
  CUmodule module[CUDA_N_SOURCES];
  CUfunction function[CUDA_N_VARIANTS];
  guint shared_bytes[CUDA_N_VARIANTS];  /* dynamic shared memory that a block of the variant may have */
  guint n_multiprocessors;
  guint compute_capability;     /* 10 x major + minor */
  guint frames_in_flight, bands;        /* as in ConvolveOpenOptions */
  GPtrArray *programs;          /* CudaProgram: those that live; not owned */
  GPtrArray *spares;            /* CudaSlot: of programs that are gone, for the next ones; see slot.c */
  gsize reserved_bytes;         /* the frames for which some were made beforehand */
  CudaCopier copier;
  CudaThrottle throttle;
  gint cancelled;               /* atomic */
  guint64 last_job;
  ConvolveStats stats;
  gchar *name;
} CudaDevice;

/* A context made current for a scope: CudaScope scope = { 0 } declared with g_auto is left at its end. */
typedef struct {
  gboolean entered;
} CudaScope;

gboolean cuda_scope_enter (CudaScope * scope, CUcontext context, GError ** error);
/* The same for cleaning up. */
gboolean cuda_scope_enter_to_free (CudaScope * scope, CUcontext context);
void cuda_scope_leave (CudaScope * scope);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (CudaScope, cuda_scope_leave)

CudaDevice *cuda_device_open (const ConvolveOpenOptions * options, GError ** error);
/* Nobody may use the device or its programs any more. */
void cuda_device_close (CudaDevice * device);

gpointer cuda_device_host_alloc (CudaDevice * device, gsize size, gpointer * owner, GError ** error);
void cuda_device_host_free (gpointer owner, gpointer memory);

/* throttle.c; with the context current, but for init */
void cuda_throttle_init (CudaThrottle * throttle, guint n_multiprocessors);
void cuda_throttle_clear (CudaThrottle * throttle);
/* FALSE with the error where work is to end. */
gboolean cuda_check_cancelled (CudaDevice * device, GError ** error);
/* A frame begins. */
void cuda_throttle_begin (CudaDevice * device);
/* Before a launch of so much work: waits while the device has too much to do, and ends with an error when cancelled. */
gboolean cuda_throttle (CudaDevice * device, guint64 work, GError ** error);

/* module.c; with the context current */
gboolean cuda_device_load_modules (CudaDevice * device, GError ** error);
void cuda_device_unload_modules (CudaDevice * device);

G_END_DECLS
