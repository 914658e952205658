/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Frames in system memory through the element on a GPU, beside the yardstick of
 * the same run: one such frame copied up while another is copied down, nothing
 * else. Usage: overlap [WIDTH HEIGHT FORMAT SIGMA] */
#include <stdio.h>
#include <stdlib.h>

#include <gst/check/gstharness.h>
#include <gst/video/video.h>

#include "driver.h"

#define N_BUFFERS 6
#define N_FRAMES 120

static int
compare_times (const void *a, const void *b)
{
  gint64 x = *(const gint64 *) a, y = *(const gint64 *) b;

  return x < y ? -1 : x > y;
}

static gdouble
median_ms (gint64 * times_us, guint n)
{
  qsort (times_us, n, sizeof *times_us, compare_times);
  return times_us[n / 2] / 1e3;
}

/* Ends the program with the driver's own words. error is what call may set. */
#define CHECK(call) \
  do { \
    g_autoptr (GError) error = NULL; \
    if (!(call)) { \
      g_printerr ("%s\n", error->message); \
      exit (77); \
    } \
  } while (0)

/* ---- the yardstick ---- */

typedef struct
{
  CUstream stream;
  CUdeviceptr device;
  void *host;
} Lane;

static void
lane_init (Lane * lane, gsize size)
{

  CHECK (CU_CHECK (&error, cuStreamCreate, &lane->stream,
          CU_STREAM_NON_BLOCKING));
  CHECK (CU_CHECK (&error, cuMemAlloc, &lane->device, size));
  CHECK (CU_CHECK (&error, cuMemHostAlloc, &lane->host, size, 0));
  memset (lane->host, 0x5a, size);
}

static void
lane_copy (Lane * lane, gsize size, gboolean up)
{
  CUDA_MEMCPY2D copy = {
    .srcMemoryType = up ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE,
    .dstMemoryType = up ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST,
    .srcHost = lane->host,
    .dstHost = lane->host,
    .srcDevice = lane->device,
    .dstDevice = lane->device,
    .srcPitch = size / 16,
    .dstPitch = size / 16,
    .WidthInBytes = size / 16,
    .Height = 16,
  };

  CHECK (CU_CHECK (&error, cuMemcpy2DAsync, &copy, lane->stream));
}

static gdouble
yardstick_ms (gsize size)
{
  gint64 times[N_FRAMES];
  CUcontext context;
  CUdevice device;
  Lane up, down;

  CHECK (convolve_cu_load (&error));
  CHECK (CU_CHECK (&error, cuDeviceGet, &device, 0));
  CHECK (CU_CHECK (&error, cuDevicePrimaryCtxRetain, &context, device));
  CHECK (CU_CHECK (&error, cuCtxPushCurrent, context));
  lane_init (&up, size);
  lane_init (&down, size);
  for (guint i = 0; i < N_FRAMES; i++) {
    gint64 start = g_get_monotonic_time ();

    lane_copy (&up, size, TRUE);
    lane_copy (&down, size, FALSE);
    CHECK (CU_CHECK (&error, cuStreamSynchronize, up.stream));
    CHECK (CU_CHECK (&error, cuStreamSynchronize, down.stream));
    times[i] = g_get_monotonic_time () - start;
  }
  CU_CALL (cuCtxPopCurrent, &context);
  return median_ms (times, N_FRAMES);
}

/* ---- the element ---- */

typedef struct
{
  const gchar *format;
  gint width, height;
  gdouble sigma;
} Job;

static void
fill_random (GstBuffer * buffer, GRand * rand)
{
  GstMapInfo map;

  gst_buffer_map (buffer, &map, GST_MAP_WRITE);
  for (gsize i = 0; i + 4 <= map.size; i += 4)
    GST_WRITE_UINT32_LE (map.data + i, g_rand_int (rand));
  gst_buffer_unmap (buffer, &map);
}

/* The element's own buffers (page-locked), or ordinary ones. */
static void
make_buffers (GstHarness * h, const Job * job, gboolean pinned,
    GstBuffer * buffers[N_BUFFERS])
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (1);
  GstVideoInfo info;

  gst_video_info_set_format (&info,
      gst_video_format_from_string (job->format), job->width, job->height);
  for (guint i = 0; i < N_BUFFERS; i++) {
    buffers[i] = pinned ? gst_harness_create_buffer (h, info.size) :
        gst_buffer_new_allocate (NULL, info.size, NULL);
    fill_random (buffers[i], rand);
    if (pinned)
      g_assert (gst_memory_is_type (gst_buffer_peek_memory (buffers[i], 0),
              "PinnedHostMemory"));
  }
}

/* What a part of the work takes a frame, as the device saw it. */
static gdouble
part_ms (GstHarness * h, const gchar * name)
{
  GstStructure *stats;
  guint64 ns = 0, frames = 0;

  g_object_get (h->element, "stats", &stats, NULL);
  gst_structure_get_uint64 (stats, name, &ns);
  gst_structure_get_uint64 (stats, "frames", &frames);
  gst_structure_free (stats);
  return frames > 0 ? ns / 1e6 / frames : 0;
}

/* Prints the mean time a frame and the median from a frame's arrival to the
 * return of the push, which is its departure with one frame in flight. */
static void
run_element (const Job * job, guint in_flight, guint bands, gboolean pinned,
    gdouble yardstick)
{
  GstBuffer *buffers[N_BUFFERS];
  gint64 times[N_FRAMES], begin = 0;
  gdouble mean, median;
  GstHarness *h = gst_harness_new ("videoconvolve");
  g_autofree gchar *caps = g_strdup_printf ("video/x-raw,format=%s,width=%d,"
      "height=%d,framerate=60/1", job->format, job->width, job->height);

  g_object_set (h->element, "sigma", job->sigma, "frames-in-flight", in_flight,
      "bands", bands, NULL);
  gst_util_set_object_arg (G_OBJECT (h->element), "backend", "cuda");
  gst_harness_play (h);
  gst_harness_set_src_caps_str (h, caps);
  gst_harness_set_sink_caps_str (h, caps);
  make_buffers (h, job, pinned, buffers);
  for (guint i = 0; i < N_FRAMES + 20; i++) {
    GstBuffer *out;
    gint64 start = g_get_monotonic_time ();

    if (i == 20)
      begin = start;
    if (gst_harness_push (h, gst_buffer_ref (buffers[i % N_BUFFERS])) !=
        GST_FLOW_OK) {
      g_printerr ("the element failed\n");
      exit (1);
    }
    if (i >= 20)
      times[i - 20] = g_get_monotonic_time () - start;
    while ((out = gst_harness_try_pull (h)))
      gst_buffer_unref (out);
  }
  mean = (g_get_monotonic_time () - begin) / 1e3 / N_FRAMES;
  median = median_ms (times, N_FRAMES);
  g_print ("%-12s %6u %6u %10.3f %8.2f x %10.3f %8.2f x %8.3f %8.3f %8.3f\n",
      pinned ? "page-locked" : "ordinary", in_flight, bands, mean,
      mean / yardstick, median, median / yardstick, part_ms (h, "upload"),
      part_ms (h, "kernel"), part_ms (h, "download"));
  for (guint i = 0; i < N_BUFFERS; i++)
    gst_buffer_unref (buffers[i]);
  gst_harness_teardown (h);
}

int
main (int argc, char **argv)
{
  Job job = { "RGBA", 3840, 2160, 2 };
  static const guint bands[] = { 0, 1, 4, 8, 16, 32 };
  GstVideoInfo info;
  gdouble yardstick;

  gst_init (&argc, &argv);
  if (argc == 5) {
    job.width = atoi (argv[1]);
    job.height = atoi (argv[2]);
    job.format = argv[3];
    job.sigma = g_ascii_strtod (argv[4], NULL);
  }
  gst_video_info_set_format (&info,
      gst_video_format_from_string (job.format), job.width, job.height);
  yardstick = yardstick_ms (info.size);
  g_print ("%dx%d %s, sigma %g\n", job.width, job.height, job.format,
      job.sigma);
  g_print ("yardstick, one frame up and one down at once: %.3f ms\n",
      yardstick);
  g_print ("%-12s %6s %6s %10s %10s %10s %10s %8s %8s %8s\n", "memory",
      "flight", "bands", "frame, ms", "", "push, ms", "", "up", "kernel",
      "down");
  for (guint i = 0; i < G_N_ELEMENTS (bands); i++)
    run_element (&job, 1, bands[i], TRUE, yardstick);
  for (guint n = 2; n <= 3; n++)
    for (guint i = 0; i < 4; i++)
      run_element (&job, n, bands[i], TRUE, yardstick);
  run_element (&job, 1, 0, FALSE, yardstick);
  run_element (&job, 2, 0, FALSE, yardstick);
  g_print ("yardstick again: %.3f ms\n", yardstick_ms (info.size));
  return 0;
}
