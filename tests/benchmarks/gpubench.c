/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gpubench.h"

#include <stdio.h>
#include <stdlib.h>

#include <gmodule.h>

#define REPLAYS 15
#define FEW_REPLAYS 3
/* A replay that takes longer is repeated less often. */
#define LONG_REPLAY_MS 200
/* Steps of a graph at least, so that its start counts for little. */
#define MIN_STEPS 24

GpuExtras gpu_extra;

void
gpu_check_result (CUresult result, const gchar * what)
{
  if (result == CUDA_SUCCESS)
    return;
  g_printerr ("%s: error %d\n", what, result);
  exit (1);
}

void
gpu_check_error (gboolean ok, GError * error)
{
  if (ok)
    return;
  g_printerr ("%s\n", error->message);
  exit (1);
}

CudaDevice *
gpu_open (void)
{
  const ConvolveOpenOptions how = {.device_id = -1,.frames_in_flight = 1 };
  g_autoptr (GError) error = NULL;
  ConvolveDevice *device = convolve_device_open (convolve_backend_cuda (),
      &how, &error);

  if (device == NULL) {
    g_printerr ("%s\n", error->message);
    exit (77);
  }
  return (CudaDevice *) device;
}

void
gpu_load_extras (void)
{
  GModule *library = g_module_open ("libcuda.so.1", G_MODULE_BIND_LAZY);
  gpointer symbol;

#define LOAD(name) \
  if (library == NULL \
      || !g_module_symbol (library, CU_STRING (name), &symbol)) { \
    g_printerr ("the driver has no " CU_STRING (name) "\n"); \
    exit (77); \
  } \
  gpu_extra.name = symbol;
  GPUBENCH_EXTRAS (LOAD)
#undef LOAD
}

/* ---- time ---- */

static int
compare_floats (const void *a, const void *b)
{
  gfloat x = *(const gfloat *) a, y = *(const gfloat *) b;

  return x < y ? -1 : x > y;
}

static CUgraphExec
capture (CUstream stream, GpuStep step, gpointer data, guint n)
{
  CUgraph graph;
  CUgraphExec exec;

  GPU (gpu_extra.cuStreamBeginCapture (stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  for (guint i = 0; i < n; i++)
    step (data, i);
  GPU (gpu_extra.cuStreamEndCapture (stream, &graph));
  GPU (gpu_extra.cuGraphInstantiateWithFlags (&exec, graph, 0));
  GPU (gpu_extra.cuGraphDestroy (graph));
  return exec;
}

gdouble
gpu_measure (CudaDevice * device, GpuStep step, gpointer data, guint n)
{
  CUstream stream = device->compute;
  guint steps = n < MIN_STEPS ? (MIN_STEPS + n - 1) / n * n : n;
  CUgraphExec exec = capture (stream, step, data, steps);
  CUevent begin, end;
  gfloat times[REPLAYS], first = 0;
  gint replays = REPLAYS;

  GPU (convolve_cu.cuEventCreate (&begin, CU_EVENT_DEFAULT));
  GPU (convolve_cu.cuEventCreate (&end, CU_EVENT_DEFAULT));
  for (gint r = -2; r < replays; r++) {
    gfloat *time = r >= 0 ? &times[r] : &first;

    GPU (convolve_cu.cuEventRecord (begin, stream));
    GPU (gpu_extra.cuGraphLaunch (exec, stream));
    GPU (convolve_cu.cuEventRecord (end, stream));
    GPU (convolve_cu.cuStreamSynchronize (stream));
    GPU (convolve_cu.cuEventElapsedTime (time, begin, end));
    if (r < 0 && first > LONG_REPLAY_MS)
      replays = FEW_REPLAYS;
  }
  GPU (gpu_extra.cuGraphExecDestroy (exec));
  GPU (convolve_cu.cuEventDestroy (begin));
  GPU (convolve_cu.cuEventDestroy (end));
  qsort (times, replays, sizeof (*times), compare_floats);
  return times[replays / 2] * 1e3 / steps;
}

/* ---- ceilings ---- */

static const gchar copy_ptx[] =
    ".version 7.0\n.target sm_75\n.address_size 64\n"
    ".visible .entry copy (.param .u64 to, .param .u64 from, .param .u32 n) {\n"
    ".reg .pred p;\n.reg .b32 r<8>;\n.reg .b64 d<6>;\n"
    "ld.param.u64 d0, [to];\nld.param.u64 d1, [from];\nld.param.u32 r0, [n];\n"
    "cvta.to.global.u64 d0, d0;\ncvta.to.global.u64 d1, d1;\n"
    "mov.u32 r1, %ctaid.x;\nmov.u32 r2, %tid.x;\nmov.u32 r3, %ntid.x;\n"
    "mad.lo.u32 r1, r1, r3, r2;\nsetp.ge.u32 p, r1, r0;\n@p ret;\n"
    "mul.wide.u32 d2, r1, 16;\nadd.u64 d3, d1, d2;\nadd.u64 d4, d0, d2;\n"
    "ld.global.nc.v4.u32 {r4, r5, r6, r7}, [d3];\n"
    "st.global.v4.u32 [d4], {r4, r5, r6, r7};\nret;\n}\n";

#define CHAINS 8                /* that do not wait for each other */
#define ROUNDS 512
#define THREADS 256
#define BLOCKS 32               /* a multiprocessor: several after each other */

static const struct
{
  const gchar *name;
  guint compute_capability;     /* that it needs */
  const gchar *target;
  guint values;                 /* of a chain */
  guint multiply_adds;          /* of a thread in a step of a chain */
  const gchar *operands;
} ceilings[GPU_N_CEILINGS] = {
  [GPU_CEILING_FLOAT] = {"float", 75, "sm_75", 1, 1, NULL},
  /* 16 x 8 x 16 by 32 threads. */
  [GPU_CEILING_TENSOR] = {"tensor", 80, "sm_80", 4, 64,
      "{r1, r1, r1, r1}, {r1, r1}"},
};

const gchar *
gpu_ceiling_name (GpuCeiling ceiling)
{
  return ceilings[ceiling].name;
}

static void
append_step (GString * ptx, GpuCeiling ceiling, guint chain)
{
  guint v = chain * ceilings[ceiling].values;

  if (ceilings[ceiling].operands == NULL)
    g_string_append_printf (ptx, "fma.rn.f32 v%u, v%u, f0, f0;\n", v, v);
  else
    g_string_append_printf (ptx,
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{v%u, v%u, v%u, v%u}, %s, {v%u, v%u, v%u, v%u};\n", v, v + 1, v + 2,
        v + 3, ceilings[ceiling].operands, v, v + 1, v + 2, v + 3);
}

/* Chains of the same instruction; their sum is written where it is never what
 * it is compared with, so that no compiler leaves it out. */
static gchar *
ceiling_ptx (GpuCeiling ceiling)
{
  guint n = CHAINS * ceilings[ceiling].values;
  GString *ptx = g_string_new (NULL);

  g_string_append_printf (ptx,
      ".version 7.0\n.target %s\n.address_size 64\n"
      ".visible .entry ceiling (.param .u64 to) {\n"
      ".reg .pred p;\n.reg .b32 r<4>;\n.reg .b64 d<2>;\n.reg .f32 f<2>;\n"
      ".reg .f32 v<%u>;\n"
      "ld.param.u64 d0, [to];\ncvta.to.global.u64 d0, d0;\n"
      "mov.u32 r0, %%tid.x;\nmov.u32 r1, r0;\n"
      "cvt.rn.f32.u32 f0, r0;\nmul.f32 f0, f0, 0f3A000000;\n",
      ceilings[ceiling].target, n);
  for (guint i = 0; i < n; i++)
    g_string_append_printf (ptx, "add.f32 v%u, f0, 0f%08X;\n", i,
        0x3f800000 + (i << 18));
  g_string_append_printf (ptx, "mov.u32 r2, %u;\nagain:\n", ROUNDS / 8);
  for (guint i = 0; i < 8 * CHAINS; i++)
    append_step (ptx, ceiling, i % CHAINS);
  g_string_append (ptx,
      "sub.u32 r2, r2, 1;\nsetp.ne.u32 p, r2, 0;\n@p bra again;\n");
  for (guint i = 1; i < n; i++)
    g_string_append_printf (ptx, "add.f32 v0, v0, v%u;\n", i);
  g_string_append (ptx,
      "setp.eq.f32 p, v0, 0fC7654321;\n@p st.global.f32 [d0], v0;\nret;\n}\n");
  return g_string_free (ptx, FALSE);
}

static CUfunction
load (const gchar * ptx, const gchar * name)
{
  CUmodule module;
  CUfunction function;

  GPU (convolve_cu.cuModuleLoadData (&module, ptx));
  GPU (convolve_cu.cuModuleGetFunction (&function, module, name));
  return function;
}

void
gpu_enqueue_copy (CudaDevice * device, CUdeviceptr to, CUdeviceptr from,
    gsize bytes)
{
  static CUfunction function;
  guint32 n = bytes / 16;
  gpointer list[] = { &to, &from, &n };

  if (function == NULL)
    function = load (copy_ptx, "copy");
  GPU (convolve_cu.cuLaunchKernel (function, (n + 255) / 256, 1, 1, 256, 1, 1,
          0, device->compute, list, NULL));
}

typedef struct
{
  CudaDevice *device;
  CUfunction function;
  CUdeviceptr memory;
} Ceiling;

static void
enqueue_ceiling (gpointer data, guint i)
{
  Ceiling *self = data;
  gpointer list[] = { &self->memory };

  GPU (convolve_cu.cuLaunchKernel (self->function,
          BLOCKS * self->device->n_multiprocessors, 1, 1, THREADS, 1, 1, 0,
          self->device->compute, list, NULL));
}

gdouble
gpu_measure_ceiling (CudaDevice * device, GpuCeiling ceiling)
{
  g_autofree gchar *ptx = ceiling_ptx (ceiling);
  Ceiling self = { device };
  gdouble us;

  if (device->compute_capability < ceilings[ceiling].compute_capability)
    return 0;
  self.function = load (ptx, "ceiling");
  GPU (convolve_cu.cuMemAlloc (&self.memory, 4));
  us = gpu_measure (device, enqueue_ceiling, &self, 1);
  GPU (convolve_cu.cuMemFree (self.memory));
  return (gdouble) BLOCKS *device->n_multiprocessors * THREADS * ROUNDS
      * CHAINS * ceilings[ceiling].multiply_adds / us / 1e3;
}
