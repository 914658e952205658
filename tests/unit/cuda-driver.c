/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What is said when CUDA cannot be used, each cause in a process of its own;
 * faults that are for good; forks. */
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cudatest.h"

static const ConvolveOpenOptions options = {.device_id = -1,
  .frames_in_flight = 2
};

typedef struct
{
  const gchar *name;
  const gchar *variable, *value;
  gint device_id;
  ConvolveError code;
  const gchar *says;
} Cause;

/* *INDENT-OFF* */
static const Cause causes[] = {
  {"stub", "SIMCUDA_FAIL", "cuInit:34", -1, CONVOLVE_ERROR_NO_DEVICE, "stub"},
  {"no-device", "SIMCUDA_DEVICES", "0", -1, CONVOLVE_ERROR_NO_DEVICE,
      "no CUDA device is visible"},
  {"other-device", "SIMCUDA_DEVICES", "2", 2, CONVOLVE_ERROR_NO_DEVICE,
      "no CUDA device 2, 2 of them"},
  {"old-driver", "SIMCUDA_VERSION", "9020", -1, CONVOLVE_ERROR_NO_DEVICE,
      "supports CUDA 9.2"},
  {"needs-newer", "SIMCUDA_FAIL", "cuInit:36", -1, CONVOLVE_ERROR_NO_DEVICE,
      "too old"},
  {"not-ready", "SIMCUDA_FAIL", "cuInit:802", -1, CONVOLVE_ERROR_NO_DEVICE,
      "not ready"},
  {"mismatch", "SIMCUDA_FAIL", "cuInit:803", -1, CONVOLVE_ERROR_NO_DEVICE,
      "reboot"},
  {"compatibility", "SIMCUDA_FAIL", "cuInit:804", -1,
      CONVOLVE_ERROR_NO_DEVICE, "forward compatibility"},
  {"exclusive", "SIMCUDA_FAIL", "cuDevicePrimaryCtxRetain:46", -1,
      CONVOLVE_ERROR_NO_DEVICE, "exclusive"},
  {"no-code", "SIMCUDA_FAIL", "cuModuleLoadData:209", -1,
      CONVOLVE_ERROR_NO_DEVICE, "cuda-arch"},
  {"old-ptx", "SIMCUDA_FAIL", "cuModuleLoadData:222", -1,
      CONVOLVE_ERROR_NO_DEVICE, "update it"},
  {"memory", "SIMCUDA_FAIL", "cuDevicePrimaryCtxRetain:2", -1,
      CONVOLVE_ERROR_NO_MEMORY, "memory"},
  {"sticky", "SIMCUDA_FAIL", "cuStreamCreate@2:700", -1, CONVOLVE_ERROR_LOST,
      "restart the process"},
  {"unknown", "SIMCUDA_FAIL", "cuStreamCreate:4242", -1,
      CONVOLVE_ERROR_FAILED, "cuStreamCreate failed with error 4242"},
};
/* *INDENT-ON* */

static void
cause_child (const Cause * cause)
{
  g_autoptr (GError) error = NULL;
  ConvolveOpenOptions with = options;
  ConvolveDevice *device;

  g_setenv (cause->variable, cause->value, TRUE);
  with.device_id = cause->device_id;
  device = convolve_device_open (convolve_backend_cuda (), &with, &error);
  g_assert_null (device);
  g_assert_error (error, CONVOLVE_ERROR, (gint) cause->code);
  if (strstr (error->message, cause->says) == NULL)
    g_error ("'%s' is not in '%s'", cause->says, error->message);
  g_assert_cmpuint (cudatest_sim ()->depth (), ==, 0);
  g_assert_cmpuint (cudatest_sim ()->misuses (), ==, 0);
}

static void
test_cause (gconstpointer data)
{
  if (g_test_subprocess ()) {
    cause_child (data);
    return;
  }
  g_test_trap_subprocess (NULL, 0, G_TEST_SUBPROCESS_INHERIT_STDERR);
  g_test_trap_assert_passed ();
}

typedef struct
{
  ConvolveDevice *device;
  ConvolvePlan *plan;
  ConvolveProgram *program;
  TestFrame *in, *out;
} Setting;

static void
setting_init (Setting * s)
{
  ConvolveSettings settings;
  g_autoptr (GError) error = NULL;

  convolve_settings_init (&settings);
  settings.filter = CONVOLVE_FILTER_GAUSSIAN;
  s->plan = cudatest_plan ("NV12", 40, 30, &settings);
  s->device = convolve_device_open (convolve_backend_cuda (), &options, &error);
  g_assert_no_error (error);
  s->program = convolve_program_new (s->device, s->plan, &error);
  g_assert_no_error (error);
  s->in = cudatest_frame_new (s->plan, NULL, 0, NULL);
  s->out = cudatest_frame_new (s->plan, NULL, 0, NULL);
}

static void
setting_clear (Setting * s)
{
  convolve_program_free (s->program);
  convolve_device_close (s->device);
  convolve_plan_unref (s->plan);
  cudatest_frame_free (s->in);
  cudatest_frame_free (s->out);
}

static void
lost_child (void)
{
  const Sim *sim = cudatest_sim ();
  g_autoptr (GError) error = NULL;
  guint calls;
  guint64 job;
  Setting s;

  setting_init (&s);
  g_assert_true (convolve_program_process (s.program, &s.in->frame,
          &s.out->frame, &job, &error));
  sim->fail_name ("cuEventQuery", 1, CUDA_ERROR_ILLEGAL_ADDRESS);
  g_assert_false (convolve_device_wait (s.device, job, &error));
  g_assert_error (error, CONVOLVE_ERROR, CONVOLVE_ERROR_LOST);
  g_clear_error (&error);

  calls = sim->calls ();
  g_assert_false (convolve_program_process (s.program, &s.in->frame,
          &s.out->frame, &job, &error));
  g_assert_error (error, CONVOLVE_ERROR, CONVOLVE_ERROR_LOST);
  g_clear_error (&error);
  setting_clear (&s);
  g_assert_null (convolve_device_open (convolve_backend_cuda (), &options,
          &error));
  g_assert_error (error, CONVOLVE_ERROR, CONVOLVE_ERROR_LOST);
  g_assert_cmpuint (sim->calls (), ==, calls);
  g_assert_cmpuint (sim->depth (), ==, 0);
}

static void
test_lost (void)
{
  if (g_test_subprocess ()) {
    lost_child ();
    return;
  }
  g_test_trap_subprocess (NULL, 0, G_TEST_SUBPROCESS_INHERIT_STDERR);
  g_test_trap_assert_passed ();
}

/* In the child of a fork every call fails with a reason, and none reaches the
 * driver; the parent goes on. */
static int
forked_child (Setting * s)
{
  guint calls = cudatest_sim ()->calls ();
  g_autoptr (GError) error = NULL, open_error = NULL;
  guint64 job;

  if (convolve_program_process (s->program, &s->in->frame, &s->out->frame,
          &job, &error)
      || !g_error_matches (error, CONVOLVE_ERROR, CONVOLVE_ERROR_NO_DEVICE)
      || strstr (error->message, "forked") == NULL)
    return 1;
  if (convolve_device_open (convolve_backend_cuda (), &options,
          &open_error) != NULL)
    return 2;
  setting_clear (s);
  return cudatest_sim ()->calls () == calls ? 0 : 3;
}

static void
test_fork (void)
{
  g_autoptr (GError) error = NULL;
  guint64 job;
  Setting s;
  int status;
  pid_t pid;

  setting_init (&s);
  pid = fork ();
  if (pid == 0)
    _exit (forked_child (&s));
  g_assert_cmpint (waitpid (pid, &status, 0), ==, pid);
  g_assert_cmpint (status, ==, 0);
  g_assert_true (convolve_program_process (s.program, &s.in->frame,
          &s.out->frame, &job, &error));
  g_assert_true (convolve_device_wait (s.device, job, &error));
  setting_clear (&s);
}

/* Whatever the driver reports, the message begins with a cause and a remedy. */
static void
test_remedies (void)
{
  for (guint i = 1; i < 1000; i++) {
    g_autoptr (GError) error = NULL;
    g_autofree gchar *call = g_strdup_printf ("; cuCall failed with error %u,",
        i);
    const gchar *colon, *end;

    g_assert_false (convolve_cu_check (i, "cuCall", &error));
    colon = strstr (error->message, ": ");
    end = strstr (error->message, call);
    g_assert_nonnull (colon);
    g_assert_nonnull (end);
    g_assert_cmpint (colon - error->message, >=, 10);
    g_assert_cmpint (end - colon, >=, 10);
    if (convolve_cu_cause (i)->for_good)
      g_assert_error (error, CONVOLVE_ERROR, CONVOLVE_ERROR_LOST);
  }
}

/* Code is loaded when the device is opened: a change of filter loads none. */
static void
test_nothing_is_loaded_later (void)
{
  static const struct
  {
    ConvolveFilter filter;
    gdouble sigma;
    guint iterations;
  } changes[] = {
    {CONVOLVE_FILTER_GAUSSIAN, 5, 1}, {CONVOLVE_FILTER_EMBOSS, 1, 1},
    {CONVOLVE_FILTER_SOBEL, 1, 1}, {CONVOLVE_FILTER_GAUSSIAN, 40, 3},
    {CONVOLVE_FILTER_UNSHARP, 2, 1}, {CONVOLVE_FILTER_DETAIL, 1, 1},
  };
  g_autoptr (GError) error = NULL;
  guint64 job;
  Setting s;

  setting_init (&s);
  cudatest_sim ()->fail_name ("cuModuleLoadData", 1, CUDA_ERROR_INVALID_IMAGE);
  for (guint i = 0; i < G_N_ELEMENTS (changes); i++) {
    g_autoptr (ConvolvePlan) plan = NULL;
    ConvolveSettings settings;
    ConvolveProgram *program;

    convolve_settings_init (&settings);
    settings.filter = changes[i].filter;
    settings.sigma = changes[i].sigma;
    settings.iterations = changes[i].iterations;
    plan = cudatest_plan ("NV12", 40, 30, &settings);
    program = convolve_program_new (s.device, plan, &error);
    g_assert_no_error (error);
    g_assert_true (convolve_program_process (program, &s.in->frame,
            &s.out->frame, &job, &error));
    g_assert_true (convolve_device_wait (s.device, job, &error));
    convolve_program_free (program);
  }
  setting_clear (&s);
  g_assert_null (convolve_device_open (convolve_backend_cuda (), &options,
          &error));
  g_assert_error (error, CONVOLVE_ERROR, CONVOLVE_ERROR_NO_DEVICE);
}

/* Nothing is started after cancel, and afterwards all is as before. */
static void
test_cancel (void)
{
  g_autoptr (GError) error = NULL;
  guint64 job;
  Setting s;

  setting_init (&s);
  g_assert_true (convolve_program_process (s.program, &s.in->frame,
          &s.out->frame, &job, &error));
  convolve_device_cancel (s.device, TRUE);
  g_assert_true (convolve_device_wait (s.device, job, &error));
  g_assert_false (convolve_program_process (s.program, &s.in->frame,
          &s.out->frame, &job, &error));
  g_assert_error (error, CONVOLVE_ERROR, CONVOLVE_ERROR_CANCELLED);
  g_clear_error (&error);
  convolve_device_cancel (s.device, FALSE);
  g_assert_true (convolve_program_process (s.program, &s.in->frame,
          &s.out->frame, &job, &error));
  g_assert_true (convolve_device_wait (s.device, job, &error));
  setting_clear (&s);
}

static void
test_wrong_route (void)
{
  ConvolveSettings settings;
  g_autoptr (GError) error = NULL;
  g_autoptr (ConvolvePlan) plan = NULL;
  ConvolveDevice *device = convolve_device_open (convolve_backend_cuda (),
      &options, &error);

  convolve_settings_init (&settings);
  plan = cudatest_plan ("GRAY8", 8, 8, &settings);
  g_setenv ("CONVOLVE_CUDA_ROUTE", "scenic", TRUE);
  g_assert_null (convolve_program_new (device, plan, &error));
  g_unsetenv ("CONVOLVE_CUDA_ROUTE");
  g_assert_error (error, CONVOLVE_ERROR, CONVOLVE_ERROR_INVALID);
  convolve_device_close (device);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  if (!g_test_subprocess ())
    cudatest_sim ();
  for (guint i = 0; i < G_N_ELEMENTS (causes); i++) {
    g_autofree gchar *path = g_strconcat ("/cuda/cause/", causes[i].name,
        NULL);

    g_test_add_data_func (path, &causes[i], test_cause);
  }
  g_test_add_func ("/cuda/lost", test_lost);
  g_test_add_func ("/cuda/fork", test_fork);
  g_test_add_func ("/cuda/remedies", test_remedies);
  g_test_add_func ("/cuda/nothing-is-loaded-later",
      test_nothing_is_loaded_later);
  g_test_add_func ("/cuda/cancel", test_cancel);
  g_test_add_func ("/cuda/wrong-route", test_wrong_route);
  return g_test_run ();
}
