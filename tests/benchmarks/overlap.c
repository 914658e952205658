/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Frames in system memory through the element on a GPU, beside the yardstick of
 * the same run: one such frame copied up while another is copied down, nothing
 * else. Usage: overlap [WIDTH HEIGHT FORMAT SIGMA]; SIGMA may be followed by
 * more properties. */
#include <stdlib.h>

#include "pushing.h"
#include "yardstick.h"

#define N_FRAMES 120

static void
end_with (GError * error, gint status)
{
  g_printerr ("%s\n", error->message);
  exit (status);
}

/* Prints the mean time a frame and the median from a frame's arrival to its
 * departure. */
static void
run_element (PushingJob * job, const gchar * sigma, guint in_flight,
    guint bands, gboolean offered, gdouble yardstick)
{
  g_autofree gchar *elements = g_strdup_printf ("videoconvolve name=convolve "
      "backend=cuda sigma=%s frames-in-flight=%u bands=%u", sigma, in_flight,
      bands);
  g_autoptr (GError) error = NULL;
  PushingResult result;

  job->elements = elements;
  job->memory = offered ? PUSHING_OFFERED : PUSHING_ORDINARY;
  if (!pushing_run (job, &result, &error))
    end_with (error, 1);
  g_print ("%-12s %6u %6u %10.3f %8.2f x %10.3f %8.2f x %8.3f %8.3f %8.3f\n",
      offered ? "page-locked" : "ordinary", in_flight, bands, result.frame_ms,
      result.frame_ms / yardstick, result.latency_ms,
      result.latency_ms / yardstick, result.up_ms, result.kernel_ms,
      result.down_ms);
}

static gdouble
measure_yardstick (gsize size)
{
  g_autoptr (GError) error = NULL;
  gdouble ms = yardstick_ms (size, &error);

  if (ms < 0)
    end_with (error, 1);
  return ms;
}

int
main (int argc, char **argv)
{
  PushingJob job = {.format = "RGBA",.width = 3840,.height = 2160,
    .n_frames = N_FRAMES
  };
  static const guint bands[] = { 0, 1, 4, 8, 16, 32 };
  const gchar *sigma = "2";
  g_autoptr (GError) error = NULL;
  GstVideoInfo info;
  gdouble yardstick;

  gst_init (&argc, &argv);
  if (argc == 5) {
    job.width = atoi (argv[1]);
    job.height = atoi (argv[2]);
    job.format = argv[3];
    sigma = argv[4];
  }
  gst_video_info_set_format (&info, gst_video_format_from_string (job.format),
      job.width, job.height);
  if (yardstick_open (&error) < 0)
    end_with (error, 77);
  yardstick = measure_yardstick (info.size);
  g_print ("%dx%d %s, sigma %s\n", job.width, job.height, job.format, sigma);
  g_print ("yardstick, one frame up and one down at once: %.3f ms\n",
      yardstick);
  g_print ("%-12s %6s %6s %10s %10s %10s %10s %8s %8s %8s\n", "memory",
      "flight", "bands", "frame, ms", "", "latency", "", "up", "kernel",
      "down");
  for (guint i = 0; i < G_N_ELEMENTS (bands); i++)
    run_element (&job, sigma, 1, bands[i], TRUE, yardstick);
  for (guint n = 2; n <= 3; n++)
    for (guint i = 0; i < 4; i++)
      run_element (&job, sigma, n, bands[i], TRUE, yardstick);
  for (guint n = 1; n <= 2; n++)
    for (guint i = 0; i < 2; i++)
      run_element (&job, sigma, n, bands[i], FALSE, yardstick);
  g_print ("yardstick again: %.3f ms\n", measure_yardstick (info.size));
  return 0;
}
