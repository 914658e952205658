/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The element from frame to frame: frames a second, latency and CPU time for
 * each kind of memory, beside the bare copies of the same run and GStreamer's
 * own elements; the first frame after a start; a change of properties. What
 * this machine cannot run is named and left out. */
#include <stdio.h>
#include <stdlib.h>

#include "pushing.h"
#include "yardstick.h"

/* Even: the last one sets the usual value. */
#define N_ROUNDS 16
#define WARM_UP 5

static gchar *option_csv, *option_json, *option_sizes;
static gint option_frames = 120;
static gboolean have_gpu;

/* ---- what was measured ---- */

typedef struct
{
  gchar *size, *path;           /* owned */
  const gchar *figure, *unit;
  gdouble value;
} Record;

static GArray *records;

static void
record (const gchar * size, const gchar * path, const gchar * figure,
    const gchar * unit, gdouble value)
{
  Record r = { g_strdup (size), g_strdup (path), figure, unit, value };

  g_array_append_val (records, r);
}

static FILE *
open_output (const gchar * name)
{
  FILE *file = name != NULL ? fopen (name, "w") : NULL;

  if (name != NULL && file == NULL) {
    g_printerr ("cannot write %s\n", name);
    exit (1);
  }
  return file;
}

static void
write_records (void)
{
  FILE *csv = open_output (option_csv), *json = open_output (option_json);

  if (csv != NULL)
    fputs ("size,path,figure,unit,value\n", csv);
  for (guint i = 0; i < records->len; i++) {
    const Record *r = &g_array_index (records, Record, i);

    if (csv != NULL)
      fprintf (csv, "%s,%s,%s,%s,%.4f\n", r->size, r->path, r->figure, r->unit,
          r->value);
    if (json != NULL)
      fprintf (json, "%s{\"size\": \"%s\", \"path\": \"%s\", "
          "\"figure\": \"%s\", \"unit\": \"%s\", \"value\": %.4f}",
          i == 0 ? "[" : ",\n ", r->size, r->path, r->figure, r->unit,
          r->value);
  }
  if (json != NULL)
    fputs (records->len > 0 ? "]\n" : "[]\n", json);
  g_clear_pointer (&csv, fclose);
  g_clear_pointer (&json, fclose);
}

/* ---- frames ---- */

typedef enum
{
  NEEDS_NOTHING,
  NEEDS_GPU
} Needs;

#define CONVOLVE "videoconvolve name=convolve sigma=2 backend="
#define CUDA_CAPS "video/x-raw(memory:CUDAMemory)"

static const struct
{
  const gchar *name, *elements;
  PushingMemory memory;
  Needs needs;
  const gchar *format;          /* of the same size where NULL */
} paths[] = {
  {"GPU; offered buffers; 1 in flight", CONVOLVE "cuda frames-in-flight=1",
      PUSHING_OFFERED, NEEDS_GPU, NULL},
  {"GPU; offered buffers; 2 in flight", CONVOLVE "cuda frames-in-flight=2",
      PUSHING_OFFERED, NEEDS_GPU, NULL},
  {"GPU; ordinary buffers; 1 in flight", CONVOLVE "cuda frames-in-flight=1",
      PUSHING_ORDINARY, NEEDS_GPU, NULL},
  {"GPU; ordinary buffers; 2 in flight", CONVOLVE "cuda frames-in-flight=2",
      PUSHING_ORDINARY, NEEDS_GPU, NULL},
  {"GPU; CUDAMemory", CONVOLVE "cuda", PUSHING_CUDA, NEEDS_GPU, NULL},
  {"CPU", CONVOLVE "cpu", PUSHING_OFFERED, NEEDS_NOTHING, NULL},
  {"CPU; AYUV", CONVOLVE "cpu", PUSHING_OFFERED, NEEDS_NOTHING, "AYUV"},
  {"gaussianblur; AYUV", "gaussianblur sigma=2", PUSHING_ORDINARY,
      NEEDS_NOTHING, "AYUV"},
  {"cudaupload ! cudadownload", "cudaupload ! " CUDA_CAPS " ! cudadownload",
      PUSHING_ORDINARY, NEEDS_GPU, NULL},
  {"identity; CUDAMemory", "identity", PUSHING_CUDA, NEEDS_GPU, NULL},
  {"identity", "identity", PUSHING_ORDINARY, NEEDS_NOTHING, NULL},
};

static const struct
{
  const gchar *name, *format;
  gint width, height;
} sizes[] = {
  {"1080p NV12", "NV12", 1920, 1080},
  {"4K NV12", "NV12", 3840, 2160},
  {"4K RGBA", "RGBA", 3840, 2160},
};

static void
run_path (guint s, guint p, gdouble copies_ms)
{
  const gchar *size = sizes[s].name, *path = paths[p].name;
  const PushingJob job = {.elements = paths[p].elements,
    .format = paths[p].format != NULL ? paths[p].format : sizes[s].format,
    .width = sizes[s].width,.height = sizes[s].height,
    .memory = paths[p].memory,.n_frames = option_frames
  };
  g_autoptr (GError) error = NULL;
  PushingResult result;

  if (paths[p].needs == NEEDS_GPU && !have_gpu)
    return;
  if (!pushing_run (&job, &result, &error)) {
    printf ("%-36s left out: %s\n", path, error->message);
    return;
  }
  printf ("%-36s %9.1f %9.3f %9.3f ", path, 1e3 / result.frame_ms,
      result.frame_ms, result.latency_ms);
  if (copies_ms > 0)
    printf ("%7.2f %7.2f ", result.frame_ms / copies_ms,
        result.latency_ms / copies_ms);
  printf ("%9.0f %9.0f\n", result.thread_us, result.process_us);
  fflush (stdout);
  record (size, path, "frame", "ms", result.frame_ms);
  record (size, path, "latency", "ms", result.latency_ms);
  record (size, path, "CPU of the pushing thread", "us", result.thread_us);
  record (size, path, "CPU of the process", "us", result.process_us);
  if (copies_ms > 0) {
    record (size, path, "frame", "copies", result.frame_ms / copies_ms);
    record (size, path, "latency", "copies", result.latency_ms / copies_ms);
  }
}

static void
run_size (guint s)
{
  g_autoptr (GError) error = NULL;
  gdouble copies_ms = -1;
  GstVideoInfo info;

  gst_video_info_set_format (&info,
      gst_video_format_from_string (sizes[s].format), sizes[s].width,
      sizes[s].height);
  if (have_gpu && (copies_ms = yardstick_ms (info.size, &error)) < 0) {
    g_printerr ("%s\n", error->message);
    exit (1);
  }
  printf ("\n%s\n%-36s %9s %9s %9s ", sizes[s].name, "", "frames/s",
      "frame, ms", "latency");
  if (copies_ms > 0)
    printf ("%7s %7s ", "/copies", "/copies");
  printf ("%9s %9s\n", "thread us", "process");
  if (copies_ms > 0) {
    printf ("%-36s %9.1f %9.3f\n", "copies: one up, one down at once",
        1e3 / copies_ms, copies_ms);
    record (sizes[s].name, "copies", "frame", "ms", copies_ms);
  }
  for (guint p = 0; p < G_N_ELEMENTS (paths); p++)
    run_path (s, p, copies_ms);
}

/* ---- the first frame ---- */

/* Milliseconds from nothing to the first frame out. */
static gdouble
start_ms (const PushingJob * job, GstBuffer * buffer, GError ** error)
{
  gint64 begin = g_get_monotonic_time ();
  GstHarness *h = pushing_harness (job, error);
  gdouble ms;

  if (h == NULL)
    return -1;
  ms = pushing_push (h, buffer);
  if (ms >= 0)
    ms = (g_get_monotonic_time () - begin) / 1e3;
  else
    g_set_error_literal (error, GST_STREAM_ERROR, GST_STREAM_ERROR_FAILED,
        "the element failed");
  gst_harness_teardown (h);
  return ms;
}

/* The context is there already. */
static void
measure_starts (const gchar * backend, gdouble context_ms)
{
  g_autofree gchar *elements = g_strconcat (CONVOLVE, backend, NULL);
  const PushingJob job = {.elements = elements,.format = "NV12",
    .width = 1920,.height = 1080
  };
  g_autoptr (GError) error = NULL;
  GstBuffer *buffer;
  gdouble first, again = -1;

  if (!pushing_make_buffers (NULL, &job, &buffer, 1, &error))
    return;
  first = start_ms (&job, buffer, &error);
  if (first >= 0)
    again = start_ms (&job, buffer, &error);
  gst_buffer_unref (buffer);
  if (again < 0) {
    printf ("backend=%s: left out: %s\n", backend, error->message);
    return;
  }
  printf ("backend=%s: ", backend);
  if (context_ms >= 0) {
    printf ("context %.0f ms; beyond it, ", context_ms);
    record ("1080p NV12", backend, "creation of the context", "ms", context_ms);
  }
  printf ("from the start to the first frame %.1f ms, at a second start "
      "%.1f ms\n", first, again);
  record ("1080p NV12", backend, "first frame", "ms", first);
  record ("1080p NV12", backend, "first frame of a second start", "ms", again);
}

/* ---- changes ---- */

static const struct
{
  const gchar *name, *property;
  const gchar *values[2];
} changes[] = {
  {"sigma", "sigma", {"2.3", "2"}},
  {"sigma; another radius", "sigma", {"6", "2"}},
  {"filter", "filter", {"emboss", "gaussian"}},
  {"border", "border", {"mirror", "replicate"}},
  {"strength", "strength", {"0.5", "1"}},
};

/* How much longer a frame takes after a change than those after it: the median
 * and the most, in milliseconds; and what an ordinary frame takes. */
static void
measure_change (GstHarness * h, GstBuffer * buffer, guint c, gdouble * median,
    gdouble * most, gdouble * usual)
{
  GstElement *element = gst_bin_get_by_name (GST_BIN (h->element), "convolve");
  gdouble costs[N_ROUNDS], all[N_ROUNDS];

  for (guint r = 0; r < N_ROUNDS; r++) {
    gdouble first, later[3];

    gst_util_set_object_arg (G_OBJECT (element), changes[c].property,
        changes[c].values[r % 2]);
    first = pushing_push (h, buffer);
    for (guint i = 0; i < 3; i++)
      later[i] = pushing_push (h, buffer);
    all[r] = pushing_median (later, 3);
    costs[r] = first - all[r];
    while (gst_harness_buffers_in_queue (h) > 0)
      gst_buffer_unref (gst_harness_pull (h));
  }
  *median = pushing_median (costs, N_ROUNDS);
  *most = costs[N_ROUNDS - 1];
  *usual = pushing_median (all, N_ROUNDS);
  gst_object_unref (element);
}

static void
measure_changes (const gchar * backend, guint s)
{
  g_autofree gchar *elements = g_strconcat (CONVOLVE, backend,
      " frames-in-flight=1", NULL);
  const PushingJob job = {.elements = elements,.format = sizes[s].format,
    .width = sizes[s].width,.height = sizes[s].height,
    .memory = PUSHING_OFFERED
  };
  g_autoptr (GError) error = NULL;
  GstHarness *h = pushing_harness (&job, &error);
  GstBuffer *buffer;

  if (h == NULL) {
    printf ("backend=%s: left out: %s\n", backend, error->message);
    return;
  }
  pushing_make_buffers (h, &job, &buffer, 1, NULL);
  for (guint i = 0; i < WARM_UP; i++)
    pushing_push (h, buffer);
  for (guint c = 0; c < G_N_ELEMENTS (changes); c++) {
    g_autofree gchar *path = g_strdup_printf ("%s; %s", backend,
        changes[c].name);
    gdouble median, most, usual;

    measure_change (h, buffer, c, &median, &most, &usual);
    printf ("%-12s %-30s %9.3f %9.3f %9.3f %9.2f\n", sizes[s].name, path,
        usual, median, most, median / usual);
    record (sizes[s].name, path, "usual frame", "ms", usual);
    record (sizes[s].name, path, "a change's cost; median", "ms", median);
    record (sizes[s].name, path, "a change's cost; most", "ms", most);
  }
  gst_buffer_unref (buffer);
  gst_harness_teardown (h);
}

/* ---- all of it ---- */

static const GOptionEntry options[] = {
  {"csv", 0, 0, G_OPTION_ARG_FILENAME, &option_csv, "Write all figures to FILE",
      "FILE"},
  {"json", 0, 0, G_OPTION_ARG_FILENAME, &option_json,
      "Write all figures to FILE", "FILE"},
  {"sizes", 0, 0, G_OPTION_ARG_STRING, &option_sizes,
      "Some of: 1080p NV12, 4K NV12, 4K RGBA", "LIST"},
  {"frames", 0, 0, G_OPTION_ARG_INT, &option_frames,
        "Frames a row, at most 200",
      "N"},
  {NULL}
};

int
main (int argc, char **argv)
{
  g_autoptr (GOptionContext) context = g_option_context_new (NULL);
  g_autoptr (GError) error = NULL;
  gdouble context_ms;

  g_option_context_add_main_entries (context, options, NULL);
  g_option_context_add_group (context, gst_init_get_option_group ());
  if (!g_option_context_parse (context, &argc, &argv, &error)) {
    g_printerr ("%s\n", error->message);
    return 1;
  }
  records = g_array_new (FALSE, FALSE, sizeof (Record));
  /* First, while nothing has used the GPU. */
  context_ms = yardstick_open (&error);
  have_gpu = context_ms >= 0;
  if (!have_gpu)
    printf ("all that needs a GPU is left out: %s\n", error->message);
  printf ("A start, 1080p NV12\n");
  if (have_gpu)
    measure_starts ("cuda", context_ms);
  measure_starts ("cpu", -1);
  for (guint s = 0; s < G_N_ELEMENTS (sizes); s++)
    if (option_sizes == NULL || strstr (option_sizes, sizes[s].name) != NULL)
      run_size (s);
  printf ("\nA change of properties, ms\n%-43s %9s %9s %9s %9s\n", "",
      "usual", "more", "most", "frames");
  for (guint s = 0; s < G_N_ELEMENTS (sizes); s++)
    if (option_sizes == NULL || strstr (option_sizes, sizes[s].name) != NULL) {
      if (have_gpu)
        measure_changes ("cuda", s);
      measure_changes ("cpu", s);
    }
  write_records ();
  return 0;
}
