/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Each call of the driver fails once: nothing leaks, no context stays current,
 * nothing reads or writes a frame afterwards, and the next attempt works. */
#include "cudatest.h"

#define N_FRAMES 3

typedef struct
{
  ConvolvePlan *plan;
  TestFrame *expected[N_FRAMES], *in[N_FRAMES];
} Scene;

/* From open to close. TRUE if nothing failed; then the pictures are right. */
static gboolean
play (const Scene * scene, GError ** error)
{
  const ConvolveOpenOptions options = {.device_id = -1,
    .frames_in_flight = 2,.bands = 2
  };
  ConvolveDevice *device = convolve_device_open (convolve_backend_cuda (),
      &options, error);
  TestFrame *out[N_FRAMES] = { NULL };
  guint64 job[N_FRAMES] = { 0 };
  ConvolveProgram *program;
  gboolean ok = TRUE;

  if (device == NULL)
    return FALSE;
  program = convolve_program_new (device, scene->plan, error);
  for (guint i = 0; program != NULL && ok && i < N_FRAMES; i++) {
    out[i] = cudatest_frame_new (scene->plan, i == 1 ? device : NULL, 0, error);
    ok = out[i] != NULL && convolve_program_process (program,
        &scene->in[i]->frame, &out[i]->frame, &job[i], error);
  }
  for (guint i = 0; i < N_FRAMES; i++) {
    g_autoptr (GError) failure = NULL;

    if (job[i] == 0)
      continue;
    if (convolve_device_wait (device, job[i], &failure)) {
      cudatest_compare (scene->plan, scene->expected[i], out[i]);
    } else if (ok) {
      ok = FALSE;
      g_propagate_error (error, g_steal_pointer (&failure));
    }
  }
  ok = ok && program != NULL;
  if (program != NULL)
    convolve_program_free (program);
  convolve_device_close (device);
  for (guint i = 0; i < N_FRAMES; i++)
    cudatest_frame_free (out[i]);
  return ok;
}

static void
check_clean (guint call)
{
  const Sim *sim = cudatest_sim ();

  if (sim->live () != 0 || sim->depth () != 0 || sim->misuses () != 0)
    g_error ("after call %u failed: %u objects live, %u contexts current, "
        "%u misuses", call, sim->live (), sim->depth (), sim->misuses ());
}

static void
test_each_call (gconstpointer data)
{
  const guint code = GPOINTER_TO_UINT (data);
  const Sim *sim = cudatest_sim ();
  ConvolveSettings settings;
  g_autoptr (GError) error = NULL;
  guint n, silent = 0;
  Scene scene;

  convolve_settings_init (&settings);
  settings.filter = CONVOLVE_FILTER_GAUSSIAN;
  settings.iterations = code == CUDA_ERROR_INVALID_VALUE ? 2 : 1;
  scene.plan = cudatest_plan ("NV12", 20, 24, &settings);
  for (guint i = 0; i < N_FRAMES; i++) {
    scene.in[i] = cudatest_frame_new (scene.plan, NULL, 0, NULL);
    scene.expected[i] = cudatest_expected (scene.plan, scene.in[i]);
  }

  g_assert_true (play (&scene, &error));
  n = sim->calls ();
  g_assert_true (play (&scene, &error));
  n = sim->calls () - n;
  check_clean (0);
  for (guint i = 1; i <= n; i++) {
    sim->fail_at (i, code);
    if (play (&scene, &error)) {
      silent++;
    } else {
      g_assert_nonnull (error);
      g_assert_cmpint (error->code, ==, code == CUDA_ERROR_OUT_OF_MEMORY ?
          CONVOLVE_ERROR_NO_MEMORY : CONVOLVE_ERROR_FAILED);
    }
    g_clear_error (&error);
    sim->fail_at (0, 0);
    check_clean (i);
    if (i % 16 == 0)
      g_assert_true (play (&scene, &error));
  }
  g_test_message ("%u calls, %u of them may fail in silence", n, silent);
  g_assert_cmpuint (silent, <, n);
  for (guint i = 0; i < N_FRAMES; i++) {
    cudatest_frame_free (scene.in[i]);
    cudatest_frame_free (scene.expected[i]);
  }
  convolve_plan_unref (scene.plan);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  cudatest_sim ();
  g_test_add_data_func ("/cuda/failures/memory",
      GUINT_TO_POINTER (CUDA_ERROR_OUT_OF_MEMORY), test_each_call);
  g_test_add_data_func ("/cuda/failures/value",
      GUINT_TO_POINTER (CUDA_ERROR_INVALID_VALUE), test_each_call);
  return g_test_run ();
}
