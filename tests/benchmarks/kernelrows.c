/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "kernelrows.h"

#include <stdlib.h>

#include "../check/runner.h"
#include "compare.h"
#include "gpubench.h"

/* ---- filters ---- */

static void
fill_gaussian (ConvolveSettings * settings, gint radius)
{
  settings->filter = CONVOLVE_FILTER_GAUSSIAN;
  settings->sigma = (radius - 0.01) / 3;
}

static void
fill_separable (ConvolveSettings * settings, gint radius)
{
  fill_gaussian (settings, radius);
  settings->method = CONVOLVE_METHOD_SEPARABLE;
}

static void
fill_direct (ConvolveSettings * settings, gint radius)
{
  fill_gaussian (settings, radius);
  settings->method = CONVOLVE_METHOD_DIRECT;
}

static void
fill_weighted (ConvolveSettings * settings, gint radius)
{
  fill_separable (settings, radius);
  settings->alpha_mode = CONVOLVE_ALPHA_WEIGHTED;
}

static void
fill_box (ConvolveSettings * settings, gint radius)
{
  settings->filter = CONVOLVE_FILTER_BOX;
  settings->radius = radius;
}

static void
fill_temporal (ConvolveSettings * settings, gint frames)
{
  const gdouble weights[] = { 1, 2, 1 };

  settings->filter = CONVOLVE_FILTER_IDENTITY;
  settings->kernel_t = convolve_matrix_new (MIN (frames, 3), 1, weights);
}

static void
fill_temporal_gaussian (ConvolveSettings * settings, gint radius)
{
  fill_temporal (settings, 3);
  fill_gaussian (settings, radius);
}

static void
fill_temporal_weighted (ConvolveSettings * settings, gint radius)
{
  fill_temporal_gaussian (settings, radius);
  settings->alpha_mode = CONVOLVE_ALPHA_WEIGHTED;
}

/* A step of heat: a quarter of half flows from each neighbour. */
static void
fill_iterations (ConvolveSettings * settings, gint iterations)
{
  const gdouble weights[] = { 0, 0.125, 0, 0.125, 0.5, 0.125, 0, 0.125, 0 };

  settings->filter = CONVOLVE_FILTER_CUSTOM;
  settings->kernel = convolve_matrix_new (3, 3, weights);
  settings->iterations = iterations;
}

static void
fill_diffuse (ConvolveSettings * settings, gint iterations)
{
  settings->filter = CONVOLVE_FILTER_DIFFUSE;
  settings->iterations = iterations;
}

static void
fill_detail (ConvolveSettings * settings, gint levels)
{
  settings->filter = CONVOLVE_FILTER_DETAIL;
  settings->levels = levels;
}

static const RowKind kinds[] = {
  {"separable", "1,2,4,8,16,32", "Radii of Gaussians by rows and columns",
      TRUE, TRUE, fill_separable},
  {"direct", "1,2,4,8,16", "Radii of Gaussians as whole matrices", TRUE,
      TRUE, fill_direct},
  {"weighted", "1,2,4,8,16,32", "Radii of Gaussians that weigh colors by "
        "alpha, where there is one", FALSE, FALSE, fill_weighted},
  {"box", "8,64,128,512", "Radii of boxes", FALSE, FALSE, fill_box},
  {"gaussian", "150", "Radii of large Gaussians (sigma is a third), in the "
        "form that the plan chooses", FALSE, TRUE, fill_gaussian},
  {"temporal", "3", "Frames that are summed, 3", FALSE, FALSE, fill_temporal},
  {"temporal-gaussian", "2", "Radii of Gaussians over 3 frames", FALSE, FALSE,
      fill_temporal_gaussian},
  {"temporal-weighted", "2", "Radii of Gaussians over 3 frames that weigh "
        "colors by alpha, where there is one", FALSE, FALSE,
      fill_temporal_weighted},
  {"iterations", "8", "Iterations of the 5-point stencil", FALSE, FALSE,
      fill_iterations},
  {"diffuse", "8", "Iterations of diffuse", FALSE, FALSE, fill_diffuse},
  {"detail", "4", "Levels of detail", FALSE, FALSE, fill_detail},
};

const RowKind *
row_kinds (guint * n)
{
  *n = G_N_ELEMENTS (kinds);
  return kinds;
}

void
row_settings (const RowKind * kind, gint n, ConvolveSettings * settings)
{
  convolve_settings_init (settings);
  settings->alpha_mode = CONVOLVE_ALPHA_STRAIGHT;
  settings->costs = CONVOLVE_COSTS_CUDA;
  kind->fill (settings, n);
}

/* ---- checks ---- */

#define STREAM 4                /* frames, the second of which is looked at */

gboolean
row_check_small (CudaDevice * device, GstVideoFormat format,
    const RowKind * kind, gint n)
{
  Random random = { n };
  GstVideoInfo info;
  ConvolveSettings settings;
  RandomFrame *in[STREAM], *out;
  RefFrame frames[STREAM];
  const RunnerStream stream = { in, STREAM, 1 };
  Reference *reference;
  g_autoptr (GError) error = NULL;
  g_autofree gchar *fault = NULL;
  gboolean good;

  row_settings (kind, n, &settings);
  gst_video_info_set_format (&info, format, 149, 53);
  for (guint i = 0; i < STREAM; i++) {
    in[i] = random_frame_new (&info, &random, TRUE);
    random_frame_fill (in[i], &random, FILL_RANDOM, NULL, NULL);
    random_frame_seal (in[i]);
    for (guint p = 0; p < 4; p++) {
      frames[i].data[p] = in[i]->frame.data[p];
      frames[i].stride[p] = in[i]->frame.stride[p];
    }
  }
  out = random_frame_new (&info, &random, TRUE);
  random_frame_seal (out);
  g_setenv ("CONVOLVE_CUDA_ROUTE", "", TRUE);
  gpu_check_error (runner_filter_stream (&device->parent, &info, &settings,
          FALSE, NULL, &stream, out, &error), error);
  reference = reference_new_stream (&info, frames, STREAM, stream.own,
      &settings, FALSE);
  good = compare_frames (reference, in[stream.own], out, &fault);
  if (!good)
    g_printerr ("%s %d: %s\n", kind->name, n, fault);
  reference_free (reference);
  for (guint i = 0; i < STREAM; i++)
    random_frame_free (in[i]);
  random_frame_free (out);
  convolve_settings_clear (&settings);
  return good;
}

guint
row_difference (const GstVideoInfo * info, const guint8 * a, const guint8 * b,
    gsize bytes)
{
  gboolean wide = GST_VIDEO_INFO_COMP_DEPTH (info, 0) > 8;
  guint shift = GST_VIDEO_INFO_FORMAT (info) == GST_VIDEO_FORMAT_P010_10LE ?
      6 : 0, most = 0;

  if (!wide) {
    for (gsize i = 0; i < bytes; i++)
      most = MAX (most, (guint) abs (a[i] - b[i]));
    return most;
  }
  for (gsize i = 0; i < bytes / 2; i++)
    most = MAX (most, (guint) abs ((((const guint16 *) a)[i] >> shift)
            - (((const guint16 *) b)[i] >> shift)));
  return most;
}

void
row_expected (const GstVideoInfo * info, const RowKind * kind, gint n,
    guint8 * in, guint8 * out)
{
  const ConvolveOpenOptions how = {.device_id = -1,.frames_in_flight = 1 };
  g_autoptr (GError) error = NULL;
  g_autoptr (ConvolvePlan) plan = NULL;
  ConvolveFrame frames[2] = { {CONVOLVE_MEMORY_HOST}, {CONVOLVE_MEMORY_HOST} };
  ConvolveSettings settings;
  ConvolveDevice *cpu;
  ConvolveProgram *program;
  guint64 job;

  for (guint p = 0; p < GST_VIDEO_INFO_N_PLANES (info); p++) {
    frames[0].data[p] = in + info->offset[p];
    frames[1].data[p] = out + info->offset[p];
    frames[0].stride[p] = frames[1].stride[p] = info->stride[p];
  }
  row_settings (kind, n, &settings);
  settings.method = CONVOLVE_METHOD_AUTO;
  settings.costs = CONVOLVE_COSTS_CPU;
  plan = convolve_plan_new (info, &settings, FALSE, &error);
  gpu_check_error (plan != NULL, error);
  cpu = convolve_device_open (convolve_backend_cpu (), &how, &error);
  gpu_check_error (cpu != NULL, error);
  program = convolve_program_new (cpu, plan, &error);
  gpu_check_error (program != NULL
      && convolve_program_process (program, &frames[0], &frames[1], &job,
          &error) && convolve_device_wait (cpu, job, &error), error);
  convolve_program_free (program);
  convolve_device_close (cpu);
  convolve_settings_clear (&settings);
}
