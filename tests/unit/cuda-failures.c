/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Each call of the driver fails once: nothing leaks, no context stays current,
 * nothing reads or writes a frame afterwards, and the next attempt works. */
#include "cudatest.h"

#define N_FRAMES 3

/* What is filtered: whole frames, regions of them, or a frame and the one
 * before. */
typedef enum
{
  FRAMES,
  REGIONS,
  WINDOWS,
} Kind;

static const ConvolveRect rects[] = { {2, 2, 12, 8}, {14, 10, 20, 24} };
static const ConvolveRegions regions = { G_N_ELEMENTS (rects), rects };

typedef struct
{
  Kind kind;
  ConvolvePlan *plan;
  TestFrame *expected[N_FRAMES], *in[N_FRAMES];
} Scene;

static gboolean
start (const Scene * scene, ConvolveProgram * program,
    ConvolveHistory * history, guint i, TestFrame * out, guint64 * job,
    GError ** error)
{
  const guint slots[] = { i > 0 ? i - 1 : 0, i };
  const ConvolveWindow window = { history, G_N_ELEMENTS (slots), slots };

  if (history != NULL)
    return convolve_history_store (history, i, &scene->in[i]->frame, error)
        && convolve_program_process_window (program, &window, &out->frame, NULL,
        job, error);
  return convolve_program_process_regions (program, &scene->in[i]->frame,
      &out->frame, scene->kind == REGIONS ? &regions : NULL, job, error);
}

/* From open to close. TRUE if nothing failed; then the pictures are right, or
 * are kept if keep is not NULL. */
static gboolean
play_on (const ConvolveBackend * backend, const Scene * scene,
    TestFrame ** keep, GError ** error)
{
  const ConvolveOpenOptions options = {.device_id = -1,
    .frames_in_flight = 2,.bands = 2
  };
  ConvolveDevice *device = convolve_device_open (backend, &options, error);
  TestFrame *out[N_FRAMES] = { NULL };
  guint64 job[N_FRAMES] = { 0 };
  ConvolveHistory *history = NULL;
  ConvolveProgram *program;
  gboolean ok = TRUE;

  if (device == NULL)
    return FALSE;
  program = convolve_program_new (device, scene->plan, error);
  if (program != NULL && scene->kind == WINDOWS) {
    history = convolve_history_new (device, &scene->plan->info, error);
    ok = history != NULL;
  }
  for (guint i = 0; program != NULL && ok && i < N_FRAMES; i++) {
    out[i] = cudatest_frame_new (scene->plan, keep == NULL && i == 1 ? device
        : NULL, 0, error);
    ok = out[i] != NULL && start (scene, program, history, i, out[i],
        &job[i], error);
  }
  for (guint i = 0; i < N_FRAMES; i++) {
    g_autoptr (GError) failure = NULL;

    if (job[i] == 0)
      continue;
    if (convolve_device_wait (device, job[i], &failure)) {
      if (keep != NULL)
        keep[i] = g_steal_pointer (&out[i]);
      else
        cudatest_compare (scene->plan, scene->expected[i], out[i]);
    } else if (ok) {
      ok = FALSE;
      g_propagate_error (error, g_steal_pointer (&failure));
    }
  }
  ok = ok && program != NULL;
  if (program != NULL)
    convolve_program_free (program);
  if (history != NULL)
    convolve_history_free (history);
  convolve_device_close (device);
  for (guint i = 0; i < N_FRAMES; i++)
    cudatest_frame_free (out[i]);
  return ok;
}

static gboolean
play (const Scene * scene, GError ** error)
{
  return play_on (convolve_backend_cuda (), scene, NULL, error);
}

static void
check_clean (guint call)
{
  const Sim *sim = cudatest_sim ();

  if (sim->live () != 0 || sim->depth () != 0 || sim->misuses () != 0)
    g_error ("after call %u failed: %u objects live, %u contexts current, "
        "%u misuses", call, sim->live (), sim->depth (), sim->misuses ());
}

/* A test of one kind and one error. */
typedef struct
{
  const gchar *name;
  Kind kind;
  guint code, iterations;
  gdouble sigma;
  const gchar *piece;           /* CONVOLVE_CUDA_PIECE */
} Setup;

static void
scene_init (Scene * scene, const Setup * setup)
{
  static const gdouble weights[] = { 1, 2 };
  g_autoptr (GError) error = NULL;
  ConvolveSettings settings;

  convolve_settings_init (&settings);
  settings.filter = CONVOLVE_FILTER_GAUSSIAN;
  settings.sigma = setup->sigma;
  settings.iterations = setup->iterations;
  if (setup->kind == WINDOWS) {
    settings.kernel_t = convolve_matrix_new (2, 1, weights);
    settings.temporal_mode = CONVOLVE_TEMPORAL_CAUSAL;
  }
  scene->kind = setup->kind;
  scene->plan = cudatest_plan ("NV12", 20, 24, &settings);
  convolve_settings_clear (&settings);
  for (guint i = 0; i < N_FRAMES; i++)
    scene->in[i] = cudatest_frame_new (scene->plan, NULL, 0, NULL);
  play_on (convolve_backend_cpu (), scene, scene->expected, &error);
  g_assert_no_error (error);
}

static void
test_each_call (gconstpointer data)
{
  const Setup *setup = data;
  const guint code = setup->code;
  const Sim *sim = cudatest_sim ();
  g_autoptr (GError) error = NULL;
  guint n, silent = 0;
  Scene scene;

  if (setup->piece != NULL)
    g_setenv ("CONVOLVE_CUDA_PIECE", setup->piece, TRUE);
  else
    g_unsetenv ("CONVOLVE_CUDA_PIECE");
  scene_init (&scene, setup);
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

#define MEMORY CUDA_ERROR_OUT_OF_MEMORY
#define VALUE CUDA_ERROR_INVALID_VALUE

/* Several iterations in a launch; long rows and columns; in small pieces. */
static const Setup setups[] = {
  {"/cuda/failures/memory", FRAMES, MEMORY, 1, 2, NULL},
  {"/cuda/failures/value", FRAMES, VALUE, 2, 2, NULL},
  {"/cuda/failures/regions/memory", REGIONS, MEMORY, 2, 2, NULL},
  {"/cuda/failures/regions/steps", REGIONS, VALUE, 3, 0.3, "10000"},
  {"/cuda/failures/windows/pieces", WINDOWS, VALUE, 1, 2, "10000"},
};

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  cudatest_sim ();
  for (guint i = 0; i < G_N_ELEMENTS (setups); i++)
    g_test_add_data_func (setups[i].name, &setups[i], test_each_call);
  return g_test_run ();
}
