/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The checked calls, over a backend that only counts. */
#include <string.h>

#include "core/backend.h"

static guint n_open, n_prepare, n_process, n_wait, n_release, n_close;
static gboolean can_run, gives_reason, works;

static gboolean
fail (GError ** error)
{
  if (gives_reason)
    g_set_error_literal (error, CONVOLVE_ERROR, CONVOLVE_ERROR_NO_DEVICE,
        "as asked");
  return FALSE;
}

static gboolean
fake_probe (GError ** error)
{
  return can_run || fail (error);
}

static ConvolveDevice *
fake_open (const ConvolveOpenOptions * options, GError ** error)
{
  n_open++;
  if (!works && !fail (error))
    return NULL;
  return g_new0 (ConvolveDevice, 1);
}

static ConvolveProgram *
fake_prepare (ConvolveDevice * device, ConvolvePlan * plan, GError ** error)
{
  ConvolveProgram *program;

  n_prepare++;
  if (!works && !fail (error))
    return NULL;
  program = g_new0 (ConvolveProgram, 1);
  program->plan = convolve_plan_ref (plan);
  return program;
}

static gboolean
fake_process (ConvolveProgram * program, const ConvolveFrame * in,
    const ConvolveFrame * out, const ConvolveRegions * regions, guint64 * job,
    GError ** error)
{
  *job = ++n_process;
  return works || fail (error);
}

static gboolean
fake_wait (ConvolveDevice * device, guint64 job, GError ** error)
{
  n_wait++;
  return works || fail (error);
}

static void
fake_release (ConvolveProgram * program)
{
  n_release++;
  convolve_plan_unref (program->plan);
  g_free (program);
}

static void
fake_close (ConvolveDevice * device)
{
  n_close++;
  g_free (device);
}

static void
fake_get_stats (ConvolveDevice * device, ConvolveStats * stats)
{
  stats->frames = n_process;
}

static gchar *
fake_describe (ConvolveProgram * program)
{
  return g_strdup ("nothing");
}

static const gchar *
fake_device_name (ConvolveDevice * device)
{
  return "fake";
}

static void
fake_host_free (gpointer owner, gpointer memory)
{
}

static const ConvolveBackend fake = {
  .name = "fake",
  .probe = fake_probe,
  .open = fake_open,
  .prepare = fake_prepare,
  .process = fake_process,
  .wait = fake_wait,
  .release = fake_release,
  .close = fake_close,
  .get_stats = fake_get_stats,
  .describe = fake_describe,
  .device_name = fake_device_name,
};

static const ConvolveOpenOptions options = {
  .device_id = -1,
  .frames_in_flight = 1,
};

static void
reset (void)
{
  n_open = n_prepare = n_process = n_wait = n_release = n_close = 0;
  can_run = gives_reason = works = TRUE;
}

static ConvolvePlan *
plan_new (GstVideoFormat format, gint width, gint height)
{
  ConvolveSettings settings;
  GstVideoInfo info;
  ConvolvePlan *plan;

  g_assert_true (gst_video_info_set_format (&info, format, width, height));
  convolve_settings_init (&settings);
  plan = convolve_plan_new (&info, &settings, FALSE, NULL);
  g_assert_nonnull (plan);
  return plan;
}

static void
check_open_fails (const ConvolveBackend * backend,
    const ConvolveOpenOptions * with, gint code)
{
  g_autoptr (GError) error = NULL;

  g_assert_null (convolve_device_open (backend, with, &error));
  g_assert_error (error, CONVOLVE_ERROR, code);
}

/* Every slot that a backend must have, emptied in turn. */
static void
test_incomplete (void)
{
  static const gsize slots[] = {
    G_STRUCT_OFFSET (ConvolveBackend, name),
    G_STRUCT_OFFSET (ConvolveBackend, probe),
    G_STRUCT_OFFSET (ConvolveBackend, open),
    G_STRUCT_OFFSET (ConvolveBackend, prepare),
    G_STRUCT_OFFSET (ConvolveBackend, process),
    G_STRUCT_OFFSET (ConvolveBackend, wait),
    G_STRUCT_OFFSET (ConvolveBackend, release),
    G_STRUCT_OFFSET (ConvolveBackend, close),
    G_STRUCT_OFFSET (ConvolveBackend, get_stats),
    G_STRUCT_OFFSET (ConvolveBackend, describe),
    G_STRUCT_OFFSET (ConvolveBackend, device_name),
  };
  ConvolveBackend broken;

  reset ();
  for (guint i = 0; i < G_N_ELEMENTS (slots); i++) {
    broken = fake;
    memset ((guint8 *) & broken + slots[i], 0, sizeof (gpointer));
    check_open_fails (&broken, &options, CONVOLVE_ERROR_UNSUPPORTED);
  }
  broken = fake;
  broken.host_free = fake_host_free;
  check_open_fails (&broken, &options, CONVOLVE_ERROR_UNSUPPORTED);
  check_open_fails (NULL, &options, CONVOLVE_ERROR_UNSUPPORTED);
  g_assert_cmpuint (n_open, ==, 0);
}

static void
test_options (void)
{
  ConvolveOpenOptions bad;

  reset ();
  check_open_fails (&fake, NULL, CONVOLVE_ERROR_INVALID);
  bad = options;
  bad.device_id = -2;
  check_open_fails (&fake, &bad, CONVOLVE_ERROR_INVALID);
  bad = options;
  bad.frames_in_flight = 0;
  check_open_fails (&fake, &bad, CONVOLVE_ERROR_INVALID);
  bad.frames_in_flight = 9;
  check_open_fails (&fake, &bad, CONVOLVE_ERROR_INVALID);
  bad = options;
  bad.bands = 65;
  check_open_fails (&fake, &bad, CONVOLVE_ERROR_INVALID);
  g_assert_cmpuint (n_open, ==, 0);
}

/* A backend that is not built has a name and a probe, whose reason counts. */
static void
test_stub (void)
{
  ConvolveBackend stub = { NULL };

  reset ();
  stub.name = "stub";
  stub.probe = fake_probe;
  can_run = FALSE;
  check_open_fails (&stub, &options, CONVOLVE_ERROR_NO_DEVICE);
  can_run = TRUE;
  check_open_fails (&stub, &options, CONVOLVE_ERROR_UNSUPPORTED);
}

/* A failure always has a reason, also where the backend gave none. */
static void
test_reasons (void)
{
  reset ();
  can_run = FALSE;
  check_open_fails (&fake, &options, CONVOLVE_ERROR_NO_DEVICE);
  gives_reason = FALSE;
  check_open_fails (&fake, &options, CONVOLVE_ERROR_FAILED);
  g_assert_cmpuint (n_open, ==, 0);
  can_run = TRUE;
  works = FALSE;
  check_open_fails (&fake, &options, CONVOLVE_ERROR_FAILED);
  g_assert_null (convolve_device_open (&fake, &options, NULL));
  g_assert_cmpuint (n_open, ==, 2);
}

typedef struct
{
  gint plane;                   /* -1: nothing is changed */
  gboolean output, drop;        /* drop: no data; else stride is set */
  gint stride;
  gboolean good;
} FrameCase;

static void
check_frame (ConvolveProgram * program, const FrameCase * one)
{
  static guint8 in_bytes[64], out_bytes[64];
  ConvolveFrame in = { CONVOLVE_MEMORY_HOST }, out = in, *changed;
  g_autoptr (GError) error = NULL;
  guint before = n_process;
  guint64 job;

  /* NV12, 5 x 3: rows of 5 and of 6 bytes. */
  for (guint i = 0; i < 2; i++) {
    in.data[i] = in_bytes + 32 * i;
    out.data[i] = out_bytes + 32 * i;
    in.stride[i] = out.stride[i] = 8;
  }
  changed = one->output ? &out : &in;
  if (one->plane >= 0 && one->drop)
    changed->data[one->plane] = NULL;
  else if (one->plane >= 0)
    changed->stride[one->plane] = one->stride;

  g_assert_true (convolve_program_process (program, &in, &out, &job, &error)
      == one->good);
  g_assert_cmpuint (n_process - before, ==, one->good);
  if (!one->good)
    g_assert_error (error, CONVOLVE_ERROR, CONVOLVE_ERROR_INVALID);
}

static void
test_frames (void)
{
  static const FrameCase cases[] = {
    {-1, FALSE, FALSE, 0, TRUE},
    {0, FALSE, TRUE, 0, FALSE},
    {1, TRUE, TRUE, 0, FALSE},
    {2, TRUE, TRUE, 0, TRUE},   /* NV12 has no such plane */
    {0, FALSE, FALSE, 5, TRUE},
    {0, FALSE, FALSE, 4, FALSE},
    {0, FALSE, FALSE, -5, TRUE},
    {0, FALSE, FALSE, -4, FALSE},
    {0, FALSE, FALSE, G_MININT, TRUE},
    {1, TRUE, FALSE, 5, FALSE},
    {1, TRUE, FALSE, 6, TRUE},
    {1, TRUE, FALSE, 0, FALSE},
  };
  g_autoptr (ConvolvePlan) plan = plan_new (GST_VIDEO_FORMAT_NV12, 5, 3);
  ConvolveDevice *device;
  ConvolveProgram *program;
  ConvolveFrame frame = { CONVOLVE_MEMORY_HOST }, other = frame;
  guint8 bytes[64], other_bytes[64];
  guint64 job;

  reset ();
  device = convolve_device_open (&fake, &options, NULL);
  program = convolve_program_new (device, plan, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    check_frame (program, &cases[i]);

  /* Onto itself, into an unknown memory, nowhere. */
  frame.data[0] = frame.data[1] = bytes;
  frame.stride[0] = frame.stride[1] = 8;
  g_assert_false (convolve_program_process (program, &frame, &frame, &job,
          NULL));
  g_assert_false (convolve_program_process (program, NULL, &frame, &job, NULL));
  g_assert_false (convolve_program_process (program, &frame, &frame, NULL,
          NULL));
  g_assert_false (convolve_program_process (NULL, &frame, &frame, &job, NULL));
  g_assert_false (convolve_program_process (program, &frame, NULL, &job, NULL));
  other.data[0] = other.data[1] = other_bytes;
  other.stride[0] = other.stride[1] = 8;
  g_assert_true (convolve_program_process (program, &frame, &other, &job,
          NULL));
  other.memory = CONVOLVE_MEMORY_DEVICE + 1;
  g_assert_false (convolve_program_process (program, &frame, &other, &job,
          NULL));
  convolve_program_free (program);
  convolve_device_close (device);
}

static void
test_life (void)
{
  g_autoptr (ConvolvePlan) plan = plan_new (GST_VIDEO_FORMAT_GRAY8, 4, 4);
  g_autoptr (GError) error = NULL;
  ConvolveDevice *device;
  ConvolveProgram *program;
  ConvolveStats stats;

  reset ();
  device = convolve_device_open (&fake, &options, &error);
  g_assert_no_error (error);
  g_assert_true (device->backend == &fake);
  g_assert_null (convolve_program_new (device, NULL, &error));
  g_assert_error (error, CONVOLVE_ERROR, CONVOLVE_ERROR_INVALID);
  g_clear_error (&error);
  program = convolve_program_new (device, plan, &error);
  g_assert_no_error (error);
  g_assert_true (program->device == device);

  g_assert_true (convolve_device_wait (device, 1, &error));
  works = gives_reason = FALSE;
  g_assert_false (convolve_device_wait (device, 1, &error));
  g_assert_error (error, CONVOLVE_ERROR, CONVOLVE_ERROR_FAILED);
  g_clear_error (&error);
  g_assert_false (convolve_device_wait (NULL, 1, &error));
  g_assert_error (error, CONVOLVE_ERROR, CONVOLVE_ERROR_INVALID);
  g_assert_null (convolve_program_new (device, plan, NULL));

  n_process = 7;
  convolve_device_get_stats (device, &stats);
  g_assert_cmpuint (stats.frames, ==, 7);
  convolve_device_get_stats (NULL, &stats);
  g_assert_cmpuint (stats.frames, ==, 0);
  convolve_program_free (program);
  convolve_device_close (device);
  g_assert_cmpuint (n_open, ==, 1);
  g_assert_cmpuint (n_prepare, ==, 2);
  g_assert_cmpuint (n_wait, ==, 2);
  g_assert_cmpuint (n_release, ==, 1);
  g_assert_cmpuint (n_close, ==, 1);
  g_assert_cmpint (plan->ref_count, ==, 1);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/backend/incomplete", test_incomplete);
  g_test_add_func ("/backend/stub", test_stub);
  g_test_add_func ("/backend/options", test_options);
  g_test_add_func ("/backend/reasons", test_reasons);
  g_test_add_func ("/backend/frames", test_frames);
  g_test_add_func ("/backend/life", test_life);
  return g_test_run ();
}
