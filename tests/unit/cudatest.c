/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cudatest.h"

ConvolvePlan *
cudatest_plan (const gchar * format, gint width, gint height,
    const ConvolveSettings * settings)
{
  GstVideoInfo info;
  g_autoptr (GError) error = NULL;
  ConvolvePlan *plan;

  gst_video_info_set_format (&info, gst_video_format_from_string (format),
      width, height);
  plan = convolve_plan_new (&info, settings, FALSE, &error);
  g_assert_no_error (error);
  return plan;
}

TestFrame *
cudatest_frame_new (const ConvolvePlan * plan, ConvolveDevice * device,
    guint slack, GError ** error)
{
  TestFrame *frame = g_new0 (TestFrame, 1);
  const GstVideoInfo *info = &plan->info;
  gsize size = GST_VIDEO_INFO_SIZE (info)
      + (gsize) slack * 4 * GST_VIDEO_INFO_HEIGHT (info);
  gsize offset = 0;

  frame->info = *info;
  frame->frame.memory = CONVOLVE_MEMORY_HOST;
  if (device != NULL) {
    frame->frame.memory = CONVOLVE_MEMORY_PINNED;
    frame->backend = device->backend;
    frame->block = device->backend->host_alloc (device, size, &frame->owner,
        error);
  } else {
    frame->block = g_malloc (size);
  }
  if (frame->block == NULL) {
    g_free (frame);
    return NULL;
  }
  for (gsize i = 0; i < size; i++)
    frame->block[i] = g_test_rand_int ();
  for (guint p = 0; p < GST_VIDEO_INFO_N_PLANES (info); p++) {
    gint stride = GST_VIDEO_INFO_PLANE_STRIDE (info, p) + slack;
    gint comp[GST_VIDEO_MAX_COMPONENTS];
    gsize rows;

    gst_video_format_info_component (info->finfo, p, comp);
    frame->frame.data[p] = frame->block + offset;
    frame->frame.stride[p] = stride;
    rows = GST_VIDEO_INFO_COMP_HEIGHT (info, comp[0]);
    offset += rows * stride;
  }
  return frame;
}

void
cudatest_frame_free (TestFrame * frame)
{
  if (frame == NULL)
    return;
  if (frame->backend != NULL)
    frame->backend->host_free (frame->owner, frame->block);
  else
    g_free (frame->block);
  g_free (frame);
}

TestFrame *
cudatest_expected (ConvolvePlan * plan, const TestFrame * in)
{
  const ConvolveOpenOptions options = {.device_id = -1,.n_threads = 1,
    .frames_in_flight = 1
  };
  g_autoptr (GError) error = NULL;
  ConvolveDevice *cpu = convolve_device_open (convolve_backend_cpu (),
      &options, &error);
  TestFrame *out = cudatest_frame_new (plan, NULL, 0, NULL);
  ConvolveFrame host = in->frame;
  ConvolveProgram *program;
  guint64 job;

  g_assert_no_error (error);
  host.memory = CONVOLVE_MEMORY_HOST;
  program = convolve_program_new (cpu, plan, &error);
  g_assert_no_error (error);
  convolve_program_process (program, &host, &out->frame, &job, &error);
  g_assert_no_error (error);
  convolve_device_wait (cpu, job, &error);
  g_assert_no_error (error);
  convolve_program_free (program);
  convolve_device_close (cpu);
  return out;
}

static guint
get_sample (const ConvolvePass * pass, const ConvolveFrame * frame, gint x,
    gint y, guint c)
{
  const ConvolveComponent *k = &pass->layout.component[c];
  gint row = pass->row_first + y * pass->row_step;
  const guint8 *at = frame->data[pass->layout.plane]
      + (gssize) row * frame->stride[pass->layout.plane]
      + x * pass->layout.pixel_step + k->offset;
  guint word;                   /* rows may begin anywhere: byte by byte */

  switch (pass->layout.type) {
    case CONVOLVE_SAMPLE_U8:
      word = *at;
      break;
    case CONVOLVE_SAMPLE_U16LE:
      word = at[0] | at[1] << 8;
      break;
    case CONVOLVE_SAMPLE_U16BE:
      word = at[0] << 8 | at[1];
      break;
    default:
      word = at[0] | at[1] << 8 | at[2] << 16 | (guint) at[3] << 24;
  }
  return word >> k->shift & ((1u << k->depth) - 1);
}

void
cudatest_compare (const ConvolvePlan * plan, const TestFrame * expected,
    const TestFrame * out)
{
  for (guint i = 0; i < plan->n_passes; i++) {
    const ConvolvePass *pass = &plan->pass[i];

    for (gint y = 0; y < pass->height; y++)
      for (gint x = 0; x < pass->width; x++)
        for (guint c = 0; c < pass->layout.n_components; c++) {
          gint a = get_sample (pass, &expected->frame, x, y, c);
          gint b = get_sample (pass, &out->frame, x, y, c);

          if (ABS (a - b) > 1)
            g_error ("pass %u, component %u, pixel %d, %d: %d, not %d", i, c,
                x, y, b, a);
        }
  }
}

ConvolveDevice *
cudatest_open (guint frames, guint bands, gpointer context)
{
  const ConvolveOpenOptions options = {.device_id = -1,
    .frames_in_flight = frames,.bands = bands,.context = context
  };
  g_autoptr (GError) error = NULL;
  ConvolveDevice *device = convolve_device_open (convolve_backend_cuda (),
      &options, &error);

  g_assert_no_error (error);
  return device;
}

void
cudatest_check (ConvolveDevice * device, ConvolvePlan * plan, guint slack)
{
  g_autoptr (GError) error = NULL;
  ConvolveProgram *program = convolve_program_new (device, plan, &error);
  TestFrame *in = cudatest_frame_new (plan, NULL, slack, NULL);
  TestFrame *out = cudatest_frame_new (plan, NULL, slack, NULL);
  TestFrame *expected = cudatest_expected (plan, in);
  g_autofree gchar *text = NULL;
  guint64 job;

  g_assert_no_error (error);
  text = device->backend->describe (program);
  g_test_message ("%s", text);
  convolve_program_process (program, &in->frame, &out->frame, &job, &error);
  g_assert_no_error (error);
  convolve_device_wait (device, job, &error);
  g_assert_no_error (error);
  cudatest_compare (plan, expected, out);
  convolve_program_free (program);
  cudatest_frame_free (in);
  cudatest_frame_free (out);
  cudatest_frame_free (expected);
}
