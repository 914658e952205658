/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "pushing.h"

#define N_BUFFERS 12
#define WARM_UP 20
#define MAX_US (2 * G_USEC_PER_SEC)
#define CUDA_FEATURE "memory:CUDAMemory"

static int
compare_doubles (const void *a, const void *b)
{
  gdouble x = *(const gdouble *) a, y = *(const gdouble *) b;

  return x < y ? -1 : x > y;
}

gdouble
pushing_median (gdouble * values, guint n)
{
  qsort (values, n, sizeof (*values), compare_doubles);
  return values[n / 2];
}

/* ---- CPU time ---- */

static gdouble
thread_us (void)
{
  struct timespec now;

  clock_gettime (CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec * 1e6 + now.tv_nsec / 1e3;
}

static gdouble
process_us (void)
{
  struct rusage usage;

  getrusage (RUSAGE_SELF, &usage);
  return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e6
      + usage.ru_utime.tv_usec + usage.ru_stime.tv_usec;
}

/* ---- buffers ---- */

static gchar *
caps_of (const PushingJob * job, gboolean cuda)
{
  return g_strdup_printf ("video/x-raw%s,format=%s,width=%d,height=%d,"
      "framerate=60/1", cuda ? "(" CUDA_FEATURE ")" : "", job->format,
      job->width, job->height);
}

static void
fill_noise (GstBuffer * buffer)
{
  GstMapInfo map;
  guint32 state = 1;

  gst_buffer_map (buffer, &map, GST_MAP_WRITE);
  for (gsize i = 0; i + 4 <= map.size; i += 4) {
    state = state * 1664525 + 1013904223;
    GST_WRITE_UINT32_LE (map.data + i, state ^ state >> 16);
  }
  gst_buffer_unmap (buffer, &map);
}

static gboolean
missing (GError ** error, const gchar * what)
{
  g_set_error (error, GST_CORE_ERROR, GST_CORE_ERROR_MISSING_PLUGIN,
      "there is no %s", what);
  return FALSE;
}

static void
unref_buffers (GstBuffer ** buffers, guint n)
{
  for (guint i = 0; i < n; i++)
    gst_clear_buffer (&buffers[i]);
}

static gboolean
upload (const PushingJob * job, GstBuffer ** buffers, guint n, GError ** error)
{
  g_autofree gchar *in = caps_of (job, FALSE), *out = caps_of (job, TRUE);
  GstElement *element = gst_element_factory_make ("cudaupload", NULL);
  gboolean ok = TRUE;
  GstHarness *h;

  if (element == NULL)
    return missing (error, "cudaupload");
  h = gst_harness_new_with_element (element, "sink", "src");
  gst_object_unref (element);
  gst_harness_set_caps_str (h, in, out);
  for (guint i = 0; i < n && ok; i++) {
    ok = gst_harness_push (h, g_steal_pointer (&buffers[i])) == GST_FLOW_OK;
    buffers[i] = gst_harness_try_pull (h);
    ok &= buffers[i] != NULL;
  }
  gst_harness_teardown (h);
  return ok || missing (error, "frame from cudaupload");
}

gboolean
pushing_make_buffers (GstHarness * h, const PushingJob * job,
    GstBuffer ** buffers, guint n, GError ** error)
{
  GstVideoInfo info;

  gst_video_info_set_format (&info, gst_video_format_from_string (job->format),
      job->width, job->height);
  for (guint i = 0; i < n; i++) {
    buffers[i] = job->memory == PUSHING_OFFERED ?
        gst_harness_create_buffer (h, info.size) :
        gst_buffer_new_allocate (NULL, info.size, NULL);
    fill_noise (buffers[i]);
  }
  if (job->memory != PUSHING_CUDA || upload (job, buffers, n, error))
    return TRUE;
  unref_buffers (buffers, n);
  return FALSE;
}

/* ---- frames ---- */

GstHarness *
pushing_harness (const PushingJob * job, GError ** error)
{
  gboolean cuda = job->memory == PUSHING_CUDA;
  g_autofree gchar *caps = caps_of (job, cuda);
  GstElement *bin = gst_parse_bin_from_description_full (job->elements, TRUE,
      NULL, GST_PARSE_FLAG_FATAL_ERRORS, error);
  GstHarness *h;

  if (bin == NULL)
    return NULL;
  h = gst_harness_new_with_element (bin, "sink", "src");
  gst_object_unref (bin);
  gst_harness_set_caps_str (h, caps, caps);
  return h;
}

gdouble
pushing_push (GstHarness * h, GstBuffer * buffer)
{
  gint64 start = g_get_monotonic_time ();

  if (gst_harness_push (h, gst_buffer_ref (buffer)) != GST_FLOW_OK)
    return -1;
  return (g_get_monotonic_time () - start) / 1e3;
}

/* Of a frame, what a part of the work takes. */
static void
read_stats (GstHarness * h, PushingResult * result)
{
  GstElement *element = gst_bin_get_by_name (GST_BIN (h->element), "convolve");
  GstStructure *stats = NULL;
  guint64 frames = 0, up = 0, kernel = 0, down = 0;

  if (element != NULL)
    g_object_get (element, "stats", &stats, NULL);
  if (stats != NULL) {
    gst_structure_get (stats, "frames", G_TYPE_UINT64, &frames, "upload",
        G_TYPE_UINT64, &up, "kernel", G_TYPE_UINT64, &kernel, "download",
        G_TYPE_UINT64, &down, NULL);
    gst_structure_free (stats);
  }
  if (frames > 0) {
    result->up_ms = up / 1e6 / frames;
    result->kernel_ms = kernel / 1e6 / frames;
    result->down_ms = down / 1e6 / frames;
  }
  gst_clear_object (&element);
}

/* Since the last frame of the warm-up. */
typedef struct
{
  guint first;
  gint64 begin;
  gdouble thread, process;
} Counters;

static void
start_counters (Counters * counters, guint first)
{
  counters->first = first;
  counters->begin = g_get_monotonic_time ();
  counters->thread = thread_us ();
  counters->process = process_us ();
}

static void
read_counters (const Counters * counters, guint n, PushingResult * result)
{
  result->frame_ms = (g_get_monotonic_time () - counters->begin) / 1e3 / n;
  result->thread_us = (thread_us () - counters->thread) / n;
  result->process_us = (process_us () - counters->process) / n;
  result->n_frames = n;
}

/* Up to n frames after the warm-up. What comes out is in order. */
static gboolean
push_all (GstHarness * h, GstBuffer ** buffers, guint n, PushingResult * result)
{
  gint64 starts[WARM_UP + PUSHING_MAX_FRAMES], begin = g_get_monotonic_time ();
  gdouble latencies[PUSHING_MAX_FRAMES];
  guint n_out = 0, n_latencies = 0, i;
  Counters counters = { 0 };

  for (i = 0; counters.begin == 0 || (i < counters.first + n
          && (i < counters.first + 3
              || g_get_monotonic_time () < counters.begin + MAX_US)); i++) {
    GstBuffer *out;

    starts[i] = g_get_monotonic_time ();
    if (counters.begin == 0 && (i >= WARM_UP || (i > 0
                && starts[i] > begin + MAX_US / 4)))
      start_counters (&counters, i);
    if (gst_harness_push (h, gst_buffer_ref (buffers[i % N_BUFFERS]))
        != GST_FLOW_OK)
      return FALSE;
    for (; (out = gst_harness_try_pull (h)) != NULL; n_out++) {
      if (counters.begin != 0 && n_out >= counters.first && n_out <= i)
        latencies[n_latencies++] =
            (g_get_monotonic_time () - starts[n_out]) / 1e3;
      gst_buffer_unref (out);
    }
  }
  read_counters (&counters, i - counters.first, result);
  if (n_latencies > 0)
    result->latency_ms = pushing_median (latencies, n_latencies);
  return n_latencies > 0;
}

gboolean
pushing_run (const PushingJob * job, PushingResult * result, GError ** error)
{
  GstBuffer *buffers[N_BUFFERS];
  GstHarness *h = pushing_harness (job, error);
  gboolean ok;

  memset (result, 0, sizeof (*result));
  if (h == NULL)
    return FALSE;
  if (!pushing_make_buffers (h, job, buffers, N_BUFFERS, error)) {
    gst_harness_teardown (h);
    return FALSE;
  }
  ok = push_all (h, buffers, MIN (job->n_frames, PUSHING_MAX_FRAMES), result);
  if (ok)
    read_stats (h, result);
  else
    g_set_error (error, GST_STREAM_ERROR, GST_STREAM_ERROR_FAILED,
        "%s failed", job->elements);
  unref_buffers (buffers, N_BUFFERS);
  gst_harness_teardown (h);
  return ok;
}
