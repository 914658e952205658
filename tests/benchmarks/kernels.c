/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The kernels alone, on frames in device memory, beside a copy of the same
 * size in the same run: time, bytes a second, the ratio, and how near memory's
 * and arithmetic's ceilings that is. Cold: frames rotate over more than five
 * times the cache; warm: the same frames again and again. Each row is checked:
 * a small frame against the reference in double precision, the whole frame
 * against the plain float kernels, or where those are what runs anyway against
 * the CPU backend. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpubench.h"
#include "kernelrows.h"
#include "peer-gpu.h"

#define COLD_BYTES (330u << 20)
#define MAX_PAIRS 512
/* Beyond it the other library takes seconds a frame. */
#define MAX_PEER_RADIUS 64

/* ---- options ---- */

static gchar *option_csv, *option_formats, *option_sizes, *option_rows,
    *option_numbers;
static gint option_slack;
static gboolean option_check;

static const GOptionEntry options[] = {
  {"csv", 0, 0, G_OPTION_ARG_FILENAME, &option_csv, "Write rows to FILE too",
      "FILE"},
  {"formats", 0, 0, G_OPTION_ARG_STRING, &option_formats,
      "Formats (RGBA,NV12,P010_10LE,GRAY8,RGBA64_LE)", "LIST"},
  {"sizes", 0, 0, G_OPTION_ARG_STRING, &option_sizes,
      "Of 1080p,4K,8K (all, but for some rows)", "LIST"},
  {"rows", 0, 0, G_OPTION_ARG_STRING, &option_rows, "Which of the rows below "
        "(all)", "LIST"},
  {"numbers", 0, 0, G_OPTION_ARG_STRING, &option_numbers,
      "In place of the numbers of these rows", "LIST"},
  {"slack", 0, 0, G_OPTION_ARG_INT, &option_slack,
      "Bytes added to the distance of rows", "BYTES"},
  {"check", 0, 0, G_OPTION_ARG_NONE, &option_check,
      "Measure nothing: check every row with a small frame", NULL},
  {NULL}
};

static gchar *
describe_rows (void)
{
  GString *text = g_string_new ("Rows:\n");
  guint n;
  const RowKind *kinds = row_kinds (&n);

  for (guint i = 0; i < n; i++)
    g_string_append_printf (text, "  %-18s %s (%s)%s\n", kinds[i].name,
        kinds[i].help, kinds[i].usual, kinds[i].every_size ? "" :
        "; 4K alone unless --sizes");
  g_string_append (text,
      "\nColumns: moved are the bytes that a filter has to read and write once "
      "(a filter across\nframes reads several), madds the products of its "
      "weights that are not 0. GB/s is moved\na second. % copy is GB/s beside "
      "that of the copy of the same size in this run, % alu\nmadds a second "
      "beside the ceiling measured in this run with everything in registers:\n"
      "fused multiply-adds of floats, or for kernels on tensor cores products "
      "of half floats\nwith float sums (mma.sync); products with the zeros "
      "beside a band are not counted.\n");
  return g_string_free (text, FALSE);
}

static gboolean
list_has (const gchar * list, const gchar * name)
{
  g_auto (GStrv) names = g_strsplit (list != NULL ? list : name, ",", -1);

  return g_strv_contains ((const gchar * const *) names, name);
}

static const gchar *
numbers_of (const RowKind * kind)
{
  return option_numbers != NULL ? option_numbers : kind->usual;
}

/* ---- a job ---- */

typedef struct
{
  const gchar *size, *format;
  const RowKind *kind;
  gint n;
} Job;

typedef struct
{
  CudaDevice *device;
  ConvolvePlan *plan;
  CudaProgram *program;         /* NULL: copies */
  GstVideoInfo info;
  gsize bytes;                  /* of a frame, rounded up for alignment */
  guint n_pairs, n_used;        /* in all, and of them in turn */
  CUdeviceptr memory;
  guint8 *noise;
} Run;

typedef struct
{
  gdouble copy[2];              /* us, cold and warm */
  gdouble copy_rate;            /* GB/s, cold */
  gdouble ceiling[GPU_N_CEILINGS];      /* 10^9 multiply-adds a second */
} Ceilings;

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

static CudaProgram *
program_of (Run * run, const gchar * route)
{
  g_autoptr (GError) error = NULL;
  ConvolveProgram *program;

  g_setenv ("CONVOLVE_CUDA_ROUTE", route, TRUE);
  program = convolve_program_new (&run->device->parent, run->plan, &error);
  gpu_check_error (program != NULL, error);
  return (CudaProgram *) program;
}

static guint
window_frames (const ConvolvePlan * plan)
{
  return plan->before + 1 + plan->after;
}

/* The filter, or the copy, of pair i; its window are the pairs around it. */
static void
enqueue (gpointer data, guint i)
{
  Run *run = data;
  CudaProgram *program = run->program;
  CudaFrame in, out, window[CONVOLVE_MATRIX_MAX_DEPTH];
  g_autoptr (GError) error = NULL;

  frame_at (run, i % run->n_used, FALSE, &in);
  frame_at (run, i % run->n_used, TRUE, &out);
  if (program == NULL) {
    gpu_enqueue_copy (run->device, out.data[0], in.data[0], run->bytes);
    return;
  }
  for (guint f = 0; f < window_frames (run->plan); f++)
    frame_at (run, (i + run->n_used - run->plan->before + f) % run->n_used,
        FALSE, &window[f]);
  in.window = run->plan->windowed ? window : NULL;
  for (guint g = 0; g < program->n_groups; g++)
    gpu_check_error (cuda_group_run (program, &program->group[g], &in, &out,
            &program->whole, &error), error);
  for (guint s = 0; s < program->n_staged; s++)
    gpu_check_error (cuda_staged_run (program, &program->staged[s], &in, &out,
            NULL, &error), error);
}

/* Microseconds a frame, cold and warm. */
static void
measure (Run * run, gdouble time[2])
{
  run->n_used = run->n_pairs;
  time[0] = gpu_measure (run->device, enqueue, run, run->n_used);
  run->n_used = run->program != NULL ? window_frames (run->plan) : 1;
  time[1] = gpu_measure (run->device, enqueue, run, run->n_used);
}

/* ---- the check of whole frames ---- */

static guint8 *
output_of (Run * run, CudaProgram * program)
{
  guint8 *out = g_malloc (run->bytes);
  CudaProgram *own = run->program;
  CudaFrame frame;

  frame_at (run, 0, TRUE, &frame);
  GPU (gpu_extra.cuMemsetD8 (frame.data[0], 0xa5, run->bytes));
  run->n_used = run->n_pairs;
  run->program = program;
  enqueue (run, 0);
  run->program = own;
  GPU (convolve_cu.cuStreamSynchronize (run->device->compute));
  GPU (gpu_extra.cuMemcpyDtoH (out, frame.data[0], run->bytes));
  return out;
}

/* The largest difference of the whole frame to what another way gives. */
static guint
compare_outputs (Run * run, const Job * job)
{
  g_autofree guint8 *ours = output_of (run, run->program), *other = NULL;

  if (run->program->n_staged > 0 && !run->plan->windowed) {
    other = g_malloc (run->bytes);
    memset (other, 0xa5, run->bytes);
    row_expected (&run->info, job->kind, job->n, run->noise, other);
  } else {
    CudaProgram *program = program_of (run, "float");

    other = output_of (run, program);
    convolve_program_free (&program->parent);
  }
  return row_difference (&run->info, ours, other, run->bytes);
}

/* ---- rows ---- */

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
run_init (Run * run, CudaDevice * device, const gchar * format, gint width,
    gint height)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (1);

  memset (run, 0, sizeof (*run));
  run->device = device;
  gst_video_info_set_format (&run->info, gst_video_format_from_string (format),
      width, height);
  widen_strides (&run->info, option_slack);
  run->bytes = (run->info.size + 255) & ~(gsize) 255;
  run->n_pairs = CLAMP (COLD_BYTES / (2 * run->bytes) + 1, 5, MAX_PAIRS);
  run->noise = g_malloc (run->bytes);
  for (gsize i = 0; i < run->bytes / 4; i++)
    ((guint32 *) run->noise)[i] = g_rand_int (rand);
  /* A part is flat. */
  memset (run->noise, 0x55, run->bytes / 4);
  GPU (convolve_cu.cuMemAlloc (&run->memory, 2 * run->bytes * run->n_pairs));
  for (guint i = 0; i < 2 * run->n_pairs; i++)
    GPU (convolve_cu.cuMemcpyHtoD (run->memory + i * run->bytes, run->noise,
            run->bytes));
}

static void
run_clear (Run * run)
{
  GPU (convolve_cu.cuMemFree (run->memory));
  g_free (run->noise);
}

/* On tensor cores, if any of its launches is. */
static GpuCeiling
ceiling_of (const CudaProgram * program)
{
  for (guint g = 0; g < program->n_groups; g++)
    if (cuda_variant_is_banded (program->group[g].wide.variant))
      return GPU_CEILING_TENSOR;
  return GPU_CEILING_FLOAT;
}

static gdouble
share (gdouble part, gdouble whole)
{
  return whole > 0 ? part / whole : 0;
}

/* What a row says. */
typedef struct
{
  gdouble time[2];              /* us, cold and warm */
  guint64 moved, multiply_adds;
  gdouble rate, madds;          /* GB/s, 10^9 multiply-adds a second */
  gdouble copy_share, ceiling_share;
  GpuCeiling ceiling;
  guint off;
  gboolean good;
  GpuPeerResult peer;           /* way NULL: none */
} Figures;

/* The other library's turn, after ours. */
static void
measure_peer (Run * run, const Job * job, GpuPeerResult * peer)
{
  const GpuPeerJob task = {.device_id = run->device->id,
    .stream = run->device->compute,.plan = run->plan,.info = run->info,
    .gaussian = job->kind->gaussian,.memory = run->memory,
    .bytes = run->bytes,.n_pairs = run->n_pairs
  };

  if (gpu_peer_name () == NULL || job->n > MAX_PEER_RADIUS
      || !gpu_peer_measure (&task, peer))
    peer->way = NULL;
}

static void
measure_row (Run * run, const Job * job, const Ceilings * top, Figures * row)
{
  const ConvolveWork *work = &run->program->parent.work;

  memset (row, 0, sizeof (*row));
  row->moved = work->bytes_read + work->bytes_written;
  row->multiply_adds = work->multiply_adds;
  row->ceiling = ceiling_of (run->program);
  row->off = compare_outputs (run, job);
  row->good = row_check_small (run->device,
      GST_VIDEO_INFO_FORMAT (&run->info), job->kind, job->n) && row->off <= 1;
  measure (run, row->time);
  row->rate = row->moved / row->time[0] / 1e3;
  row->madds = row->multiply_adds / row->time[0] / 1e3;
  row->copy_share = share (row->rate, top->copy_rate);
  row->ceiling_share = share (row->madds, top->ceiling[row->ceiling]);
  measure_peer (run, job, &row->peer);
}

static void
print_row (const Job * job, const Ceilings * top, const Figures * row)
{
  printf ("%-6s %-9s %-17s %4d %9.2f %7.0f %6.2f %9.2f %6.2f %6.1f %7.2f %6.1f "
      "%-6s", job->size, job->format, job->kind->name, job->n, row->time[0],
      row->rate, row->time[0] / top->copy[0], row->time[1],
      row->time[1] / top->copy[1], 100 * row->copy_share,
      row->multiply_adds / 1e6, 100 * row->ceiling_share,
      gpu_ceiling_name (row->ceiling));
  if (row->peer.way != NULL)
    printf (" %9.2f %6.1f", row->peer.us, row->peer.us / row->time[0]);
  else if (gpu_peer_name () != NULL)
    printf (" %9s %6s", "none", "");
  printf ("  %s\n", row->good ? "" : "WRONG");
  fflush (stdout);
}

static const gchar csv_head[] = "size,format,method,radius,bytes,cold_us,"
    "copy_cold_us,cold_ratio,warm_us,copy_warm_us,warm_ratio,moved,"
    "multiply_adds,gbs,copy_gbs,copy_share,gmads,ceiling,ceiling_gmads,"
    "ceiling_share,off,check,plan,peer_us,peer_ratio,peer_off,peer_way\n";

static void
write_row (const Run * run, const Job * job, const Ceilings * top,
    const Figures * row, FILE * csv)
{
  g_autofree gchar *plan = cuda_program_describe (run->program);

  g_strdelimit (plan, "\n,", ' ');
  fprintf (csv, "%s,%s,%s,%d,%" G_GSIZE_FORMAT ",%.2f,%.2f,%.3f,%.2f,%.2f,"
      "%.3f,", job->size, job->format, job->kind->name, job->n, run->info.size,
      row->time[0], top->copy[0], row->time[0] / top->copy[0], row->time[1],
      top->copy[1], row->time[1] / top->copy[1]);
  fprintf (csv, "%" G_GUINT64_FORMAT ",%" G_GUINT64_FORMAT ",%.1f,%.1f,%.4f,"
      "%.1f,%s,%.1f,%.4f,%u,%s,%s", row->moved, row->multiply_adds, row->rate,
      top->copy_rate, row->copy_share, row->madds,
      gpu_ceiling_name (row->ceiling), top->ceiling[row->ceiling],
      row->ceiling_share, row->off, row->good ? "right" : "wrong", plan);
  if (row->peer.way != NULL)
    fprintf (csv, ",%.2f,%.2f,%u,%s\n", row->peer.us,
        row->peer.us / row->time[0], row->peer.off, row->peer.way);
  else
    fputs (",,,,\n", csv);
  fflush (csv);
}

static gboolean
run_row (Run * run, const Job * job, const Ceilings * top, FILE * csv)
{
  g_autoptr (GError) error = NULL;
  ConvolveSettings settings;
  Figures row;

  row_settings (job->kind, job->n, &settings);
  run->plan = convolve_plan_new (&run->info, &settings, FALSE, &error);
  gpu_check_error (run->plan != NULL, error);
  run->program = program_of (run, "");
  measure_row (run, job, top, &row);
  print_row (job, top, &row);
  if (csv != NULL)
    write_row (run, job, top, &row, csv);
  convolve_program_free (&run->program->parent);
  run->program = NULL;
  g_clear_pointer (&run->plan, convolve_plan_unref);
  convolve_settings_clear (&settings);
  return row.good;
}

/* Calls row for each that was asked for; run: NULL checks small frames. */
static gboolean
for_rows (CudaDevice * device, Run * run, Job * job, const Ceilings * top,
    FILE * csv)
{
  guint n_kinds;
  const RowKind *kinds = row_kinds (&n_kinds);
  gboolean good = TRUE;

  for (guint k = 0; k < n_kinds; k++) {
    g_auto (GStrv) numbers = g_strsplit (numbers_of (&kinds[k]), ",", -1);

    if (!list_has (option_rows, kinds[k].name) || (run != NULL
            && !kinds[k].every_size && option_sizes == NULL
            && !g_str_equal (job->size, "4K")))
      continue;
    job->kind = &kinds[k];
    for (guint i = 0; numbers[i] != NULL; i++) {
      gboolean right;

      job->n = atoi (numbers[i]);
      if (job->n <= 0)
        continue;
      right = run != NULL ? run_row (run, job, top, csv) :
          row_check_small (device, gst_video_format_from_string (job->format),
          job->kind, job->n);
      if (run == NULL)
        printf ("%s %s %d: %s\n", job->format, job->kind->name, job->n,
            right ? "right" : "WRONG");
      good &= right;
    }
  }
  return good;
}

static gboolean
measure_frames (CudaDevice * device, Job * job, gint width, gint height,
    Ceilings * top, FILE * csv)
{
  Run run;
  gboolean good;

  run_init (&run, device, job->format, width, height);
  measure (&run, top->copy);
  top->copy_rate = 2 * run.info.size / top->copy[0] / 1e3;
  printf ("%-6s %-9s %-17s %4s %9.2f %7.0f %6s %9.2f\n", job->size,
      job->format, "copy", "", top->copy[0], top->copy_rate, "", top->copy[1]);
  good = for_rows (device, &run, job, top, csv);
  run_clear (&run);
  return good;
}

static gboolean
measure_all (CudaDevice * device, gchar ** formats, FILE * csv)
{
  static const struct
  {
    const gchar *name;
    gint width, height;
  } sizes[] = {
    {"1080p", 1920, 1080},
    {"4K", 3840, 2160},
    {"8K", 7680, 4320},
  };
  Ceilings top = { {0} };
  gboolean good = TRUE;

  for (guint i = 0; i < GPU_N_CEILINGS; i++) {
    top.ceiling[i] = gpu_measure_ceiling (device, i);
    printf ("ceiling %s: %.0f x 10^9 multiply-adds a second\n",
        gpu_ceiling_name (i), top.ceiling[i]);
  }
  printf ("%-6s %-9s %-17s %4s %9s %7s %6s %9s %6s %6s %7s %6s %-6s", "size",
      "format", "row", "n", "cold, us", "GB/s", "x copy", "warm, us", "x copy",
      "% copy", "Mmadds", "% alu", "");
  if (gpu_peer_name () != NULL)
    printf (" %s, us and times ours", gpu_peer_name ());
  putchar ('\n');
  if (csv != NULL)
    fputs (csv_head, csv);
  for (guint s = 0; s < G_N_ELEMENTS (sizes); s++)
    for (guint f = 0; formats[f] != NULL; f++) {
      Job job = {.format = formats[f],.size = sizes[s].name };

      if (list_has (option_sizes, sizes[s].name))
        good &= measure_frames (device, &job, sizes[s].width, sizes[s].height,
            &top, csv);
    }
  return good;
}

static gboolean
check_all (CudaDevice * device, gchar ** formats)
{
  gboolean good = TRUE;

  for (guint f = 0; formats[f] != NULL; f++) {
    Job job = {.format = formats[f] };

    good &= for_rows (device, NULL, &job, NULL, NULL);
  }
  return good;
}

int
main (int argc, char **argv)
{
  g_autoptr (GOptionContext) context = g_option_context_new (NULL);
  g_autoptr (GError) error = NULL;
  g_autofree gchar *rows = describe_rows ();
  g_auto (CudaScope) scope = { 0 };
  g_auto (GStrv) formats = NULL;
  CudaDevice *device;
  gboolean good;
  FILE *csv = NULL;

  g_option_context_add_main_entries (context, options, NULL);
  g_option_context_set_description (context, rows);
  gpu_check_error (g_option_context_parse (context, &argc, &argv, &error),
      error);
  gst_init (NULL, NULL);
  formats = g_strsplit (option_formats != NULL ? option_formats :
      "RGBA,NV12,P010_10LE,GRAY8,RGBA64_LE", ",", -1);
  device = gpu_open ();
  /* Graphs cannot hold the waits of long work. */
  device->throttle.piece_work = G_MAXUINT64;
  gpu_check_error (cuda_scope_enter (&scope, device->context, &error), error);
  printf ("%s\n", device->name);
  if (option_csv != NULL && (csv = fopen (option_csv, "w")) == NULL) {
    g_printerr ("%s cannot be written\n", option_csv);
    return 1;
  }
  if (!option_check)
    gpu_load_extras ();
  good = option_check ? check_all (device, formats) :
      measure_all (device, formats, csv);
  if (csv != NULL)
    fclose (csv);
  cuda_scope_leave (&scope);
  convolve_device_close (&device->parent);
  return !good;
}
