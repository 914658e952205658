/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The kernels alone, on frames in device memory, beside a copy of the same
 * size in the same run: time, bytes a second, and the ratio. Cold: frames
 * rotate over more than five times the cache; warm: the same pair again and
 * again. Each row is checked: a small frame against the reference in double
 * precision, the whole frame against the plain float kernels. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gmodule.h>

#include "compare.h"
#include "peer-gpu.h"
#include "program.h"

#define COLD_BYTES (330u << 20)
#define MAX_PAIRS 512
#define REPLAYS 15

/* ---- the driver's other functions ---- */

#define EXTRAS(X) \
  X (cuMemcpyDtoH) \
  X (cuMemsetD8) \
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

static void
load_extras (void)
{
  GModule *library = g_module_open ("libcuda.so.1", G_MODULE_BIND_LAZY);
  gpointer symbol;

#define LOAD(name) \
  if (library == NULL \
      || !g_module_symbol (library, CU_STRING (name), &symbol)) { \
    g_printerr ("the driver has no " CU_STRING (name) "\n"); \
    exit (77); \
  } \
  extra.name = symbol;
  EXTRAS (LOAD)
#undef LOAD
}

static void
check_result (CUresult result, const gchar * what)
{
  if (result == CUDA_SUCCESS)
    return;
  g_printerr ("%s: error %d\n", what, result);
  exit (1);
}

#define DO(call) check_result (call, #call)

static void
check_error (gboolean ok, GError * error)
{
  if (ok)
    return;
  g_printerr ("%s\n", error->message);
  exit (1);
}

/* ---- the yardstick ---- */

/* 16 bytes a thread. */
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

static CUfunction copy_function;

/* ---- a job ---- */

typedef struct
{
  const gchar *format;
  const gchar *size;
  gint width, height, radius;
  gboolean direct;
} Job;

typedef struct
{
  CudaDevice *device;
  ConvolvePlan *plan;
  CudaProgram *program;
  GstVideoInfo info;
  gsize bytes;                  /* of a frame, rounded up for alignment */
  guint n_pairs;
  CUdeviceptr memory;
} Run;

static void
frame_at (const Run * run, guint i, gboolean out, CudaFrame * frame)
{
  CUdeviceptr base = run->memory + (2 * (gsize) i + out) * run->bytes;

  memset (frame, 0, sizeof (*frame));
  for (guint p = 0; p < GST_VIDEO_INFO_N_PLANES (&run->info); p++) {
    frame->data[p] = base + run->info.offset[p];
    frame->stride[p] = run->info.stride[p];
  }
}

static void
settings_of (ConvolveSettings * settings, const Job * job)
{
  convolve_settings_init (settings);
  settings->filter = CONVOLVE_FILTER_GAUSSIAN;
  settings->sigma = (job->radius - 0.01) / 3;
  settings->alpha_mode = CONVOLVE_ALPHA_STRAIGHT;
  settings->method = job->direct ? CONVOLVE_METHOD_DIRECT :
      CONVOLVE_METHOD_SEPARABLE;
}

static CudaProgram *
program_of (Run * run, const Job * job, const gchar * route)
{
  g_autoptr (GError) error = NULL;
  ConvolveSettings settings;
  ConvolveProgram *program;

  settings_of (&settings, job);
  if (run->plan == NULL) {
    run->plan = convolve_plan_new (&run->info, &settings, FALSE, &error);
    check_error (run->plan != NULL, error);
  }
  g_setenv ("CONVOLVE_CUDA_ROUTE", route, TRUE);
  program = convolve_program_new (&run->device->parent, run->plan, &error);
  check_error (program != NULL, error);
  return (CudaProgram *) program;
}

static void
enqueue (CudaProgram * program, const CudaFrame * in, const CudaFrame * out)
{
  g_autoptr (GError) error = NULL;

  for (guint g = 0; g < program->n_groups; g++)
    check_error (cuda_group_run (program, &program->group[g], in, out,
            &program->whole, &error), error);
  for (guint i = 0; i < program->n_staged; i++)
    check_error (cuda_staged_run (program, &program->staged[i], in, out,
            NULL, &error), error);
}

static void
enqueue_copy (const Run * run, const CudaFrame * in, const CudaFrame * out)
{
  CUdeviceptr to = out->data[0], from = in->data[0];
  guint32 n = run->bytes / 16;
  gpointer list[] = { &to, &from, &n };

  DO (convolve_cu.cuLaunchKernel (copy_function, (n + 255) / 256, 1, 1, 256, 1,
          1, 0, run->device->compute, list, NULL));
}

/* ---- time ---- */

static int
compare_floats (const void *a, const void *b)
{
  gfloat x = *(const gfloat *) a, y = *(const gfloat *) b;

  return x < y ? -1 : x > y;
}

/* Median of replays of a graph that walks over n pairs, microseconds a frame.
 * program NULL: copies. */
static gdouble
measure (Run * run, CudaProgram * program, guint n)
{
  CUstream stream = run->device->compute;
  CUevent begin, end;
  CUgraph graph;
  CUgraphExec exec;
  gfloat times[REPLAYS];
  guint frames = n < 24 ? (24 + n - 1) / n * n : n;

  DO (convolve_cu.cuEventCreate (&begin, CU_EVENT_DEFAULT));
  DO (convolve_cu.cuEventCreate (&end, CU_EVENT_DEFAULT));
  DO (extra.cuStreamBeginCapture (stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  for (guint i = 0; i < frames; i++) {
    CudaFrame in, out;

    frame_at (run, i % n, FALSE, &in);
    frame_at (run, i % n, TRUE, &out);
    if (program != NULL)
      enqueue (program, &in, &out);
    else
      enqueue_copy (run, &in, &out);
  }
  DO (extra.cuStreamEndCapture (stream, &graph));
  DO (extra.cuGraphInstantiateWithFlags (&exec, graph, 0));
  for (gint r = -2; r < REPLAYS; r++) {
    DO (convolve_cu.cuEventRecord (begin, stream));
    DO (extra.cuGraphLaunch (exec, stream));
    DO (convolve_cu.cuEventRecord (end, stream));
    DO (convolve_cu.cuStreamSynchronize (stream));
    if (r >= 0)
      DO (convolve_cu.cuEventElapsedTime (&times[r], begin, end));
  }
  DO (extra.cuGraphExecDestroy (exec));
  DO (extra.cuGraphDestroy (graph));
  DO (convolve_cu.cuEventDestroy (begin));
  DO (convolve_cu.cuEventDestroy (end));
  qsort (times, REPLAYS, sizeof (*times), compare_floats);
  return times[REPLAYS / 2] * 1e3 / frames;
}

/* ---- checks ---- */

/* A small frame through the backend, against the reference. */
static gboolean
check_small (Run * run, const Job * job)
{
  Random random = { job->radius };
  GstVideoInfo info;
  ConvolveSettings settings;
  g_autoptr (GError) error = NULL;
  g_autoptr (ConvolvePlan) plan = NULL;
  g_autofree gchar *fault = NULL;
  ConvolveProgram *program;
  RandomFrame *in, *out;
  Reference *reference;
  guint64 number;
  gboolean good;

  settings_of (&settings, job);
  gst_video_info_set_format (&info, GST_VIDEO_INFO_FORMAT (&run->info), 149,
      53);
  plan = convolve_plan_new (&info, &settings, FALSE, &error);
  check_error (plan != NULL, error);
  g_setenv ("CONVOLVE_CUDA_ROUTE", "", TRUE);
  program = convolve_program_new (&run->device->parent, plan, &error);
  check_error (program != NULL, error);
  in = random_frame_new (&info, &random, TRUE);
  out = random_frame_new (&info, &random, TRUE);
  random_frame_fill (in, &random, FILL_RANDOM, NULL, NULL);
  random_frame_seal (in);
  random_frame_seal (out);
  check_error (convolve_program_process (program, &in->frame, &out->frame,
          &number, &error)
      && convolve_device_wait (&run->device->parent, number, &error), error);
  reference = reference_new (&info, in->frame.data, in->frame.stride,
      &settings, FALSE);
  good = compare_frames (reference, in, out, &fault);
  if (!good)
    g_printerr ("%s\n", fault);
  reference_free (reference);
  random_frame_free (in);
  random_frame_free (out);
  convolve_program_free (program);
  return good;
}

/* The largest difference of the pair's output to that of other kernels. */
static guint
compare_outputs (Run * run, const Job * job)
{
  CudaProgram *other = program_of (run, job, "float");
  g_autofree guint8 *a = g_malloc (run->bytes), *b = g_malloc (run->bytes);
  gboolean wide = GST_VIDEO_INFO_COMP_DEPTH (&run->info, 0) > 8;
  guint shift = GST_VIDEO_INFO_FORMAT (&run->info) ==
      GST_VIDEO_FORMAT_P010_10LE ? 6 : 0, most = 0;
  CudaFrame in, out;

  frame_at (run, 0, FALSE, &in);
  frame_at (run, 0, TRUE, &out);
  DO (extra.cuMemsetD8 (out.data[0], 0xa5, run->bytes));
  enqueue (run->program, &in, &out);
  DO (convolve_cu.cuStreamSynchronize (run->device->compute));
  DO (extra.cuMemcpyDtoH (a, out.data[0], run->bytes));
  DO (extra.cuMemsetD8 (out.data[0], 0xa5, run->bytes));
  enqueue (other, &in, &out);
  DO (convolve_cu.cuStreamSynchronize (run->device->compute));
  DO (extra.cuMemcpyDtoH (b, out.data[0], run->bytes));
  if (wide)
    for (gsize i = 0; i < run->bytes / 2; i++)
      most = MAX (most, (guint) abs ((((guint16 *) a)[i] >> shift)
              - (((guint16 *) b)[i] >> shift)));
  else
    for (gsize i = 0; i < run->bytes; i++)
      most = MAX (most, (guint) abs (a[i] - b[i]));
  convolve_program_free (&other->parent);
  return most;
}

/* ---- rows ---- */

static gchar *option_csv, *option_formats, *option_sizes, *option_radii,
    *option_direct;
static gint option_slack;

/* Rows further apart: what alignment of rows costs. */
static void
widen_strides (GstVideoInfo * info, guint slack)
{
  gsize offset = 0;

  for (guint p = 0; slack > 0 && p < GST_VIDEO_INFO_N_PLANES (info); p++) {
    info->stride[p] += slack;
    info->offset[p] = offset;
    offset += (gsize) info->stride[p] * (p == 0 ? info->height :
        GST_VIDEO_SUB_SCALE (info->finfo->h_sub[1], info->height));
    offset = (offset + 255) & ~(gsize) 255;
    info->size = offset;
  }
}

static void
run_init (Run * run, CudaDevice * device, const Job * job)
{
  g_autofree guint32 *noise = NULL;
  g_autoptr (GRand) rand = g_rand_new_with_seed (1);
  gsize words;

  memset (run, 0, sizeof (*run));
  run->device = device;
  gst_video_info_set_format (&run->info,
      gst_video_format_from_string (job->format), job->width, job->height);
  widen_strides (&run->info, option_slack);
  run->bytes = (run->info.size + 255) & ~(gsize) 255;
  run->n_pairs = CLAMP (COLD_BYTES / (2 * run->bytes) + 1, 5, MAX_PAIRS);
  words = run->bytes / 4;
  noise = g_new (guint32, words);
  for (gsize i = 0; i < words; i++)
    noise[i] = g_rand_int (rand);
  /* A part is flat. */
  memset (noise, 0x55, run->bytes / 4);
  DO (convolve_cu.cuMemAlloc (&run->memory, 2 * run->bytes * run->n_pairs));
  for (guint i = 0; i < 2 * run->n_pairs; i++)
    DO (convolve_cu.cuMemcpyHtoD (run->memory + i * run->bytes, noise,
            run->bytes));
}

static void
run_clear (Run * run)
{
  DO (convolve_cu.cuMemFree (run->memory));
}

/* The other library's turn, after ours. */
static void
print_peer (Run * run, gdouble ours_us, FILE * csv)
{
  const GpuPeerJob job = {.device_id = run->device->id,
    .stream = run->device->compute,.plan = run->plan,.info = run->info,
    .gaussian = TRUE,.memory = run->memory,.bytes = run->bytes,
    .n_pairs = run->n_pairs
  };
  GpuPeerResult peer = { 0 };

  if (gpu_peer_name () != NULL && !gpu_peer_measure (&job, &peer))
    printf (" %9s %6s", "none", "");
  else if (peer.way != NULL)
    printf (" %9.2f %6.1f", peer.us, peer.us / ours_us);
  if (csv != NULL && peer.way != NULL)
    fprintf (csv, ",%.2f,%.2f,%u,%s", peer.us, peer.us / ours_us, peer.off,
        peer.way);
  else if (csv != NULL)
    fputs (",,,,", csv);
}

static gboolean
print_row (Run * run, const Job * job, const gdouble copy[2], FILE * csv)
{
  gdouble time[2];
  guint off;
  gboolean good;
  g_autofree gchar *text = NULL;

  run->program = program_of (run, job, "");
  text = cuda_program_describe (run->program);
  g_strdelimit (text, "\n,", ' ');
  good = check_small (run, job);
  off = compare_outputs (run, job);
  good &= off <= 1;
  time[0] = measure (run, run->program, run->n_pairs);
  time[1] = measure (run, run->program, 1);
  printf ("%-6s %-7s %-9s %4d %9.2f %8.0f %7.2f %9.2f %7.2f", job->size,
      job->format, job->direct ? "direct" : "separable", job->radius, time[0],
      2 * run->info.size / time[0] / 1e3, time[0] / copy[0], time[1],
      time[1] / copy[1]);
  if (csv != NULL)
    fprintf (csv, "%s,%s,%s,%d,%" G_GSIZE_FORMAT ",%.2f,%.2f,%.3f,%.2f,%.2f,"
        "%.3f,%u,%s,%s", job->size, job->format,
        job->direct ? "direct" : "separable", job->radius, run->info.size,
        time[0], copy[0], time[0] / copy[0], time[1], copy[1],
        time[1] / copy[1], off, good ? "right" : "wrong", text);
  print_peer (run, time[0], csv);
  printf ("  %s\n", good ? "" : "WRONG");
  fflush (stdout);
  if (csv != NULL)
    fputc ('\n', csv);
  convolve_program_free (&run->program->parent);
  g_clear_pointer (&run->plan, convolve_plan_unref);
  return good;
}

static const struct
{
  const gchar *name;
  gint width, height;
} sizes[] = {
  {"1080p", 1920, 1080},
  {"4K", 3840, 2160},
  {"8K", 7680, 4320},
};

static const GOptionEntry options[] = {
  {"csv", 0, 0, G_OPTION_ARG_FILENAME, &option_csv, "Write rows to FILE too",
      "FILE"},
  {"formats", 0, 0, G_OPTION_ARG_STRING, &option_formats, "Formats", "LIST"},
  {"sizes", 0, 0, G_OPTION_ARG_STRING, &option_sizes, "1080p, 4K, 8K",
      "LIST"},
  {"radii", 0, 0, G_OPTION_ARG_STRING, &option_radii,
      "Radii of separable Gaussians", "LIST"},
  {"direct", 0, 0, G_OPTION_ARG_STRING, &option_direct,
      "Radii of whole matrices", "LIST"},
  {"slack", 0, 0, G_OPTION_ARG_INT, &option_slack,
      "Bytes added to the distance of rows", "BYTES"},
  {NULL}
};

static gchar **
split (const gchar * list, const gchar * usual)
{
  return g_strsplit (list != NULL ? list : usual, ",", -1);
}

static gboolean
measure_frames (CudaDevice * device, Job * job, FILE * csv)
{
  gchar **radii[2] = { split (option_radii, "1,2,4,8,16,32"),
    split (option_direct, "1,2,4,8,16")
  };
  gboolean good = TRUE;
  gdouble copy[2];
  Run run;

  run_init (&run, device, job);
  copy[0] = measure (&run, NULL, run.n_pairs);
  copy[1] = measure (&run, NULL, 1);
  printf ("%-6s %-7s %-9s %4s %9.2f %8.0f %7s %9.2f\n", job->size, job->format,
      "copy", "", copy[0], 2 * run.info.size / copy[0] / 1e3, "", copy[1]);
  for (guint direct = 0; direct < 2; direct++)
    for (guint i = 0; radii[direct][i] != NULL; i++) {
      job->direct = direct;
      job->radius = atoi (radii[direct][i]);
      if (job->radius > 0)
        good &= print_row (&run, job, copy, csv);
    }
  run_clear (&run);
  g_strfreev (radii[0]);
  g_strfreev (radii[1]);
  return good;
}

static CudaDevice *
open_device (void)
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

int
main (int argc, char **argv)
{
  g_autoptr (GOptionContext) context = g_option_context_new (NULL);
  g_autoptr (GError) error = NULL;
  g_auto (CudaScope) scope = { 0 };
  gchar **formats;
  CudaDevice *device;
  CUmodule module;
  gboolean good = TRUE;
  FILE *csv = NULL;

  g_option_context_add_main_entries (context, options, NULL);
  check_error (g_option_context_parse (context, &argc, &argv, &error), error);
  gst_init (NULL, NULL);
  device = open_device ();
  /* Graphs cannot hold the waits of long work. */
  device->throttle.piece_work = G_MAXUINT64;
  load_extras ();
  check_error (cuda_scope_enter (&scope, device->context, &error), error);
  DO (convolve_cu.cuModuleLoadData (&module, copy_ptx));
  DO (convolve_cu.cuModuleGetFunction (&copy_function, module, "copy"));
  if (option_csv != NULL && (csv = fopen (option_csv, "w")) != NULL)
    fprintf (csv, "size,format,method,radius,bytes,cold_us,copy_cold_us,"
        "cold_ratio,warm_us,copy_warm_us,warm_ratio,off,check,plan,"
        "peer_us,peer_ratio,peer_off,peer_way\n");
  printf ("%s\n%-6s %-7s %-9s %4s %9s %8s %7s %9s %7s", device->name, "size",
      "format", "method", "r", "cold, us", "GB/s", "x copy", "warm, us",
      "x copy");
  if (gpu_peer_name () != NULL)
    printf (" %s, us and times ours", gpu_peer_name ());
  putchar ('\n');
  formats = split (option_formats, "RGBA,NV12,P010_10LE,GRAY8,RGBA64_LE");
  for (guint s = 0; s < G_N_ELEMENTS (sizes); s++)
    for (guint f = 0; formats[f] != NULL; f++) {
      Job job = {.format = formats[f],.size = sizes[s].name,
        .width = sizes[s].width,.height = sizes[s].height
      };

      if (option_sizes == NULL || strstr (option_sizes, sizes[s].name) != NULL)
        good &= measure_frames (device, &job, csv);
    }
  if (csv != NULL)
    fclose (csv);
  g_strfreev (formats);
  return !good;
}
