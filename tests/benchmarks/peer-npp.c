/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* NPP's filters on the benchmark's frames. Each way that NPP has of doing a job
 * is timed, and the quickest counts. Only compared with: nothing of it is
 * linked into the product. */
#include <stdlib.h>
#include <string.h>

#include <gmodule.h>
#include <nppcore.h>
#include <nppi_filtering_functions.h>

#include "driver.h"
#include "peer-gpu.h"

#define REPLAYS 7
/* Of one replay: long jobs are walked through fewer frames. */
#define ENOUGH_US 8000.0

/* ---- one plane ---- */

/* A plane of one frame, and what NPP needs for it. */
typedef struct
{
  const void *from;
  void *to, *middle;            /* middle: of the same pitch */
  int pitch;
  NppiSize size, kernel;
  NppiPoint anchor;
  const Npp32f *x, *y, *matrix; /* in device memory */
  void *scratch;
  NppStreamContext stream;
} Plane;

typedef NppStatus (*Function) (const Plane * plane);

typedef enum
{
  WAY_ROW_COLUMN,
  WAY_GAUSS,
  WAY_GAUSS_ADVANCED,
  WAY_BOX,
  WAY_BOX_ADVANCED,
  WAY_MATRIX,
  N_WAYS
} Way;

static const gchar *const way_names[N_WAYS] = {
  "FilterRow+ColumnBorder32f", "FilterGaussBorder",
  "FilterGaussAdvancedBorder", "FilterBoxBorder", "FilterBoxBorderAdvanced",
  "FilterBorder32f"
};

static int
mask_of (const Plane * plane)
{
  static const int masks[] = { NPP_MASK_SIZE_3_X_3, NPP_MASK_SIZE_5_X_5,
    NPP_MASK_SIZE_7_X_7, NPP_MASK_SIZE_9_X_9, NPP_MASK_SIZE_11_X_11,
    NPP_MASK_SIZE_13_X_13, NPP_MASK_SIZE_15_X_15
  };
  int i = plane->kernel.width / 2 - 1;

  return plane->kernel.width == plane->kernel.height && i >= 0
      && i < (int) G_N_ELEMENTS (masks) ? masks[i] : -1;
}

#define ORIGIN ((NppiPoint) {0, 0})
#define BORDER NPP_BORDER_REPLICATE

#define MATRIX_FUNCTION(bits, channels) \
static NppStatus \
matrix_##bits##_##channels (const Plane * p) \
{ \
  return nppiFilterBorder32f_##bits##u_##channels##_Ctx (p->from, p->pitch, \
      p->size, ORIGIN, p->to, p->pitch, p->size, p->matrix, p->kernel, \
      p->anchor, BORDER, p->stream); \
}

/* Samples of so many bits; defines way_BITS_CHANNELS. */
#define FUNCTIONS(bits, channels) \
MATRIX_FUNCTION (bits, channels) \
static NppStatus \
row_column_##bits##_##channels (const Plane * p) \
{ \
  NppStatus status = nppiFilterRowBorder32f_##bits##u_##channels##_Ctx ( \
      p->from, p->pitch, p->size, ORIGIN, p->middle, p->pitch, p->size, \
      p->x, p->kernel.width, p->anchor.x, BORDER, p->stream); \
 \
  return status != NPP_SUCCESS ? status : \
      nppiFilterColumnBorder32f_##bits##u_##channels##_Ctx (p->middle, \
      p->pitch, p->size, ORIGIN, p->to, p->pitch, p->size, p->y, \
      p->kernel.height, p->anchor.y, BORDER, p->stream); \
} \
 \
static NppStatus \
gauss_##bits##_##channels (const Plane * p) \
{ \
  int mask = mask_of (p); \
 \
  return mask < 0 ? NPP_MASK_SIZE_ERROR : \
      nppiFilterGaussBorder_##bits##u_##channels##_Ctx (p->from, p->pitch, \
      p->size, ORIGIN, p->to, p->pitch, p->size, (NppiMaskSize) mask, \
      BORDER, p->stream); \
} \
 \
static NppStatus \
gauss_advanced_##bits##_##channels (const Plane * p) \
{ \
  return p->kernel.width != p->kernel.height ? NPP_MASK_SIZE_ERROR : \
      nppiFilterGaussAdvancedBorder_##bits##u_##channels##_Ctx (p->from, \
      p->pitch, p->size, ORIGIN, p->to, p->pitch, p->size, \
      p->kernel.width, p->x, BORDER, p->stream); \
} \
 \
static NppStatus \
box_##bits##_##channels (const Plane * p) \
{ \
  return nppiFilterBoxBorder_##bits##u_##channels##_Ctx (p->from, p->pitch, \
      p->size, ORIGIN, p->to, p->pitch, p->size, p->kernel, p->anchor, \
      BORDER, p->stream); \
} \
 \
static NppStatus \
box_advanced_##bits##_##channels (const Plane * p) \
{ \
  return nppiFilterBoxBorderAdvanced_##bits##u_##channels##_Ctx (p->from, \
      p->pitch, p->size, ORIGIN, p->to, p->pitch, p->size, p->kernel, \
      p->anchor, BORDER, p->scratch, p->stream); \
} \
 \
static const Function way_##bits##_##channels[N_WAYS] = { \
  row_column_##bits##_##channels, gauss_##bits##_##channels, \
  gauss_advanced_##bits##_##channels, box_##bits##_##channels, \
  box_advanced_##bits##_##channels, matrix_##bits##_##channels \
}

MATRIX_FUNCTION (8, C2R);
FUNCTIONS (8, C1R);
FUNCTIONS (8, C3R);
FUNCTIONS (8, C4R);
FUNCTIONS (16, C1R);
FUNCTIONS (16, C3R);
FUNCTIONS (16, C4R);
static const Function way_8_C2R[N_WAYS] = {[WAY_MATRIX] = matrix_8_C2R };

/* Where a plane's samples have no function of a way, the matrix does it. */
static const struct
{
  guint bytes, components;
  const Function *way;
} functions[] = {
  {1, 1, way_8_C1R},
  {1, 2, way_8_C2R},
  {1, 3, way_8_C3R},
  {1, 4, way_8_C4R},
  {2, 1, way_16_C1R},
  {2, 3, way_16_C3R},
  {2, 4, way_16_C4R},
};

static const Function *
functions_of (const ConvolveLayout * layout)
{
  guint bytes = layout->component[0].depth > 8 ? 2 : 1;

  for (guint i = 0; i < G_N_ELEMENTS (functions); i++)
    if (functions[i].bytes == bytes && layout->component[0].shift == 0
        && functions[i].bytes * functions[i].components == layout->pixel_step)
      return functions[i].way;
  return NULL;
}

/* ---- the driver ---- */

#define EXTRAS(X) \
  X (cuStreamBeginCapture) \
  X (cuStreamEndCapture) \
  X (cuGraphInstantiateWithFlags) \
  X (cuGraphLaunch) \
  X (cuGraphExecDestroy) \
  X (cuGraphDestroy)

static struct
{
#define MEMBER(name) __typeof__ (&name) name;
  EXTRAS (MEMBER)
#undef MEMBER
} extra;

static gboolean
load_extras (void)
{
  GModule *library = g_module_open ("libcuda.so.1", G_MODULE_BIND_LAZY);
  gpointer symbol;

#define LOAD(name) \
  if (library == NULL \
      || !g_module_symbol (library, CU_STRING (name), &symbol)) \
    return FALSE; \
  extra.name = symbol;
  EXTRAS (LOAD);
#undef LOAD
  return TRUE;
}

static void
check (CUresult result, const gchar * what)
{
  if (result == CUDA_SUCCESS)
    return;
  g_printerr ("NPP's rows: %s: error %d\n", what, result);
  exit (1);
}

#define DO(call) check (call, #call)

static CUdeviceptr
to_device (const void *data, gsize size)
{
  CUdeviceptr memory;

  DO (convolve_cu.cuMemAlloc (&memory, size));
  if (data != NULL)
    DO (convolve_cu.cuMemcpyHtoD (memory, data, size));
  return memory;
}

static NppStreamContext
stream_context (const GpuPeerJob * job)
{
  NppStreamContext context = {.hStream = job->stream };
  int id = job->device_id, value;
  const struct
  {
    int *to;
    CUdevice_attribute attribute;
  } list[] = {
    {&context.nMultiProcessorCount,
        CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT},
    {&context.nMaxThreadsPerMultiProcessor,
        CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR},
    {&context.nMaxThreadsPerBlock,
        CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK},
    {&context.nCudaDevAttrComputeCapabilityMajor,
        CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR},
    {&context.nCudaDevAttrComputeCapabilityMinor,
        CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR},
  };

  for (guint i = 0; i < G_N_ELEMENTS (list); i++)
    DO (convolve_cu.cuDeviceGetAttribute (list[i].to, list[i].attribute, id));
  DO (convolve_cu.cuDeviceGetAttribute (&value,
          CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, id));
  context.nSharedMemPerBlock = value;
  context.nCudaDeviceId = id;
  context.nStreamFlags = 1;     /* not blocked by the default stream */
  return context;
}

/* ---- a job ---- */

/* What the planes of all frames have in common. */
typedef struct
{
  const GpuPeerJob *job;
  guint n;
  struct
  {
    Plane plane;
    const Function *functions;
    gsize offset;
    gboolean flat;              /* all weights are the same */
    gboolean separable;
  } item[CONVOLVE_MAX_PLANES];
  CUdeviceptr middle;
  CUdeviceptr taken[4 * CONVOLVE_MAX_PLANES];
  guint n_taken;
} Work;

static const Npp32f *
take_weights (Work * work, const ConvolveMatrix * matrix)
{
  gsize n = (gsize) matrix->width * matrix->height;
  g_autofree Npp32f *weights = g_new (Npp32f, n);
  CUdeviceptr memory;

  for (gsize i = 0; i < n; i++)
    weights[i] = matrix->weights[i];
  memory = to_device (weights, n * sizeof (*weights));
  work->taken[work->n_taken++] = memory;
  return (const Npp32f *) (gsize) memory;
}

static gboolean
is_flat (const ConvolveMatrix * matrix)
{
  for (guint i = 1; i < matrix->width * matrix->height; i++)
    if (ABS (matrix->weights[i] - matrix->weights[0]) > 1e-12)
      return FALSE;
  return TRUE;
}

static gboolean
add_plane (Work * work, const ConvolvePass * pass)
{
  const ConvolveOperation *operation = pass->operation;
  const ConvolveTerm *term = operation != NULL ? &operation->term[0] : NULL;
  const Function *way = functions_of (&pass->layout);
  guint i = work->n++, p = pass->layout.plane;
  Plane *plane = &work->item[i].plane;
  g_autoptr (ConvolveMatrix) whole = NULL;

  if (way == NULL || term == NULL || operation->n_terms != 1
      || operation->combine != CONVOLVE_COMBINE_SUM || pass->iterations > 1
      || convolve_operation_is_windowed (operation))
    return FALSE;
  work->item[i].separable = term->matrix == NULL;
  whole = term->matrix != NULL ? convolve_matrix_ref (term->matrix) :
      convolve_matrix_outer (term->x, term->y);
  work->item[i].flat = is_flat (whole);
  work->item[i].functions = way;
  work->item[i].offset = work->job->info.offset[p];
  plane->matrix = take_weights (work, whole);
  if (term->matrix == NULL) {
    plane->x = take_weights (work, term->x);
    plane->y = take_weights (work, term->y);
  }
  plane->pitch = work->job->info.stride[p];
  plane->size = (NppiSize) {
  pass->width, pass->height};
  plane->kernel = (NppiSize) {
  whole->width, whole->height};
  plane->anchor = (NppiPoint) {
  whole->anchor_x, whole->anchor_y};
  plane->stream = stream_context (work->job);
  return TRUE;
}

static void
take_scratch (Work * work)
{
  work->middle = to_device (NULL, work->job->bytes);
  for (guint i = 0; i < work->n; i++) {
    Plane *plane = &work->item[i].plane;
    int size = 0;

    plane->middle = (void *) (gsize) (work->middle + work->item[i].offset);
    if (!work->item[i].flat
        || nppiFilterBoxBorderAdvancedGetDeviceBufferSize (plane->size, 4,
            &size) != NPP_SUCCESS)
      continue;
    work->taken[work->n_taken] = to_device (NULL, MAX (size, 256));
    plane->scratch = (void *) (gsize) work->taken[work->n_taken++];
  }
}

static void
clear_work (Work * work)
{
  for (guint i = 0; i < work->n_taken; i++)
    DO (convolve_cu.cuMemFree (work->taken[i]));
  if (work->middle != 0)
    DO (convolve_cu.cuMemFree (work->middle));
}

static gboolean
may_use (const Work * work, Way way)
{
  gboolean some = FALSE;

  for (guint i = 0; i < work->n; i++) {
    some |= work->item[i].functions[way] != NULL;
    if (way <= WAY_GAUSS_ADVANCED && !work->item[i].separable)
      return FALSE;
    if ((way == WAY_BOX || way == WAY_BOX_ADVANCED) && !work->item[i].flat)
      return FALSE;
  }
  if (way == WAY_GAUSS || way == WAY_GAUSS_ADVANCED)
    return some && work->job->gaussian;
  return some;
}

static gboolean
enqueue (const Work * work, Way way, guint pair)
{
  CUdeviceptr in = work->job->memory + 2 * (gsize) pair * work->job->bytes;

  for (guint i = 0; i < work->n; i++) {
    Plane plane = work->item[i].plane;
    Function function = work->item[i].functions[way];

    plane.from = (const void *) (gsize) (in + work->item[i].offset);
    plane.to = (void *) (gsize) (in + work->job->bytes + work->item[i].offset);
    if (function == NULL)
      function = work->item[i].functions[WAY_MATRIX];
    /* Warnings are above 0. */
    if (function (&plane) < NPP_SUCCESS)
      return FALSE;
  }
  return TRUE;
}

/* ---- time ---- */

static int
compare_floats (const void *a, const void *b)
{
  gfloat x = *(const gfloat *) a, y = *(const gfloat *) b;

  return x < y ? -1 : x > y;
}

/* A graph of n frames, or NULL where NPP does what a graph cannot hold. */
static CUgraphExec
capture (const Work * work, Way way, guint n)
{
  CUstream stream = work->job->stream;
  CUgraph graph = NULL;
  CUgraphExec exec = NULL;
  gboolean ok = TRUE;

  DO (extra.cuStreamBeginCapture (stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  for (guint i = 0; i < n && ok; i++)
    ok = enqueue (work, way, i % work->job->n_pairs);
  if (extra.cuStreamEndCapture (stream, &graph) != CUDA_SUCCESS
      || graph == NULL)
    return NULL;
  if (!ok || extra.cuGraphInstantiateWithFlags (&exec, graph, 0)
      != CUDA_SUCCESS)
    exec = NULL;
  DO (extra.cuGraphDestroy (graph));
  return exec;
}

/* Milliseconds of n frames, from the graph if there is one. */
static gfloat
replay (const Work * work, Way way, guint n, CUgraphExec exec,
    CUevent events[2])
{
  CUstream stream = work->job->stream;
  gfloat ms = 0;

  DO (convolve_cu.cuEventRecord (events[0], stream));
  if (exec != NULL)
    DO (extra.cuGraphLaunch (exec, stream));
  for (guint i = 0; exec == NULL && i < n; i++)
    enqueue (work, way, i % work->job->n_pairs);
  DO (convolve_cu.cuEventRecord (events[1], stream));
  DO (convolve_cu.cuStreamSynchronize (stream));
  DO (convolve_cu.cuEventElapsedTime (&ms, events[0], events[1]));
  return ms;
}

/* Microseconds a frame, the median of replays; 0 where NPP refuses. */
static gdouble
measure_way (const Work * work, Way way)
{
  gfloat times[REPLAYS];
  CUevent events[2];
  CUgraphExec exec;
  guint n = work->job->n_pairs;
  gdouble one;

  if (!enqueue (work, way, 0))
    return 0;
  for (guint i = 0; i < 2; i++)
    DO (convolve_cu.cuEventCreate (&events[i], CU_EVENT_DEFAULT));
  replay (work, way, 1, NULL, events);
  one = MAX (1e3 * replay (work, way, 1, NULL, events), 1);
  if (n < 24)
    n = (24 + n - 1) / n * n;
  n = CLAMP (ENOUGH_US / one, 2, n);
  exec = capture (work, way, n);
  for (gint r = -1; r < REPLAYS; r++)
    times[MAX (r, 0)] = replay (work, way, n, exec, events);
  if (exec != NULL)
    DO (extra.cuGraphExecDestroy (exec));
  for (guint i = 0; i < 2; i++)
    DO (convolve_cu.cuEventDestroy (events[i]));
  qsort (times, REPLAYS, sizeof (*times), compare_floats);
  return times[REPLAYS / 2] * 1e3 / n;
}

/* ---- what comes out ---- */

static guint8 *
read_output (const GpuPeerJob * job)
{
  guint8 *data = g_malloc (job->bytes);
  CUDA_MEMCPY2D copy = {
    .srcMemoryType = CU_MEMORYTYPE_DEVICE,
    .srcDevice = job->memory + job->bytes,
    .srcPitch = job->bytes,
    .dstMemoryType = CU_MEMORYTYPE_HOST,
    .dstHost = data,
    .dstPitch = job->bytes,
    .WidthInBytes = job->bytes,
    .Height = 1,
  };

  DO (convolve_cu.cuMemcpy2DAsync (&copy, job->stream));
  DO (convolve_cu.cuStreamSynchronize (job->stream));
  return data;
}

static guint
largest_difference (const Work * work, const guint8 * a, const guint8 * b)
{
  guint most = 0;

  for (guint i = 0; i < work->n; i++) {
    const ConvolveLayout *layout = &work->job->plan->pass[i].layout;
    const Plane *plane = &work->item[i].plane;
    gboolean wide = layout->component[0].depth > 8;
    gsize n = (gsize) plane->size.width * layout->pixel_step / (wide ? 2 : 1);

    for (gint y = 0; y < plane->size.height; y++) {
      const guint8 *row_a = a + work->item[i].offset + (gsize) y * plane->pitch;
      const guint8 *row_b = b + work->item[i].offset + (gsize) y * plane->pitch;

      for (gsize x = 0; x < n; x++)
        most = MAX (most, (guint) (wide ? abs (((const guint16 *) row_a)[x]
                    - ((const guint16 *) row_b)[x]) :
                abs (row_a[x] - row_b[x])));
    }
  }
  return most;
}

/* ---- the interface ---- */

const gchar *
gpu_peer_name (void)
{
  static gchar *name;
  const NppLibraryVersion *version = nppGetLibVersion ();

  if (name == NULL)
    name = g_strdup_printf ("NPP %d.%d", version->major, version->minor);
  return name;
}

gboolean
gpu_peer_measure (const GpuPeerJob * job, GpuPeerResult * result)
{
  g_autofree guint8 *ours = read_output (job), *theirs = NULL;
  Work work = {.job = job };
  gboolean ok = load_extras ();
  gint best = -1;

  for (guint i = 0; i < job->plan->n_passes && ok; i++)
    ok = work.n < CONVOLVE_MAX_PLANES && add_plane (&work, &job->plan->pass[i]);
  if (ok)
    take_scratch (&work);
  for (gint way = 0; way < N_WAYS && ok; way++) {
    gdouble us = may_use (&work, way) ? measure_way (&work, way) : 0;

    if (us > 0 && (best < 0 || us < result->us)) {
      best = way;
      result->us = us;
    }
  }
  if (best >= 0) {
    result->way = way_names[best];
    enqueue (&work, best, 0);
    theirs = read_output (job);
    result->off = largest_difference (&work, ours, theirs);
  }
  clear_work (&work);
  return best >= 0;
}
