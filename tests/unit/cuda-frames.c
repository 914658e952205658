/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The CUDA backend's host side on the simulated driver: several frames and
 * bands at a time, several programs of a device, and one after the other. */
#include "cudatest.h"

/* ---- frames in flight ---- */

typedef struct
{
  guint frames, bands;
  gboolean pinned_in, pinned_out;
  gboolean iterate;             /* stages */
} Flight;

/* *INDENT-OFF* */
static const Flight flights[] = {
  {1, 1, FALSE, FALSE, FALSE},
  {3, 5, FALSE, FALSE, FALSE},
  {3, 5, TRUE, TRUE, FALSE},
  {2, 64, TRUE, FALSE, FALSE},
  {4, 4, FALSE, TRUE, TRUE},
  {8, 1, TRUE, TRUE, TRUE},
};
/* *INDENT-ON* */

#define N_FRAMES 12

static void
test_flight (gconstpointer data)
{
  const Flight *flight = data;
  ConvolveDevice *device = cudatest_open (flight->frames, flight->bands, NULL);
  TestFrame *in[N_FRAMES], *out[N_FRAMES];
  ConvolveSettings settings;
  g_autoptr (ConvolvePlan) plan = NULL;
  g_autoptr (GError) error = NULL;
  ConvolveProgram *program;
  guint64 job[N_FRAMES];
  ConvolveStats stats;

  convolve_settings_init (&settings);
  settings.filter = CONVOLVE_FILTER_GAUSSIAN;
  settings.iterations = flight->iterate ? 2 : 1;
  plan = cudatest_plan ("I420", 66, 130, &settings);
  program = convolve_program_new (device, plan, &error);
  g_assert_no_error (error);
  for (guint i = 0; i < N_FRAMES; i++) {
    in[i] = cudatest_frame_new (plan, flight->pinned_in ? device : NULL, i,
        NULL);
    out[i] = cudatest_frame_new (plan, flight->pinned_out ? device : NULL,
        2 * i, NULL);
    convolve_program_process (program, &in[i]->frame, &out[i]->frame, &job[i],
        &error);
    g_assert_no_error (error);
  }
  /* Backwards: most jobs have ended when their slot was taken again. */
  for (guint i = N_FRAMES; i-- > 0;) {
    TestFrame *expected = cudatest_expected (plan, in[i]);

    convolve_device_wait (device, job[i], &error);
    g_assert_no_error (error);
    cudatest_compare (plan, expected, out[i]);
    cudatest_frame_free (expected);
  }
  convolve_device_get_stats (device, &stats);
  g_assert_cmpuint (stats.frames, ==, N_FRAMES);
  g_assert_cmpuint (stats.bytes_in, ==, N_FRAMES * (66 * 130 * 3 / 2));
  g_assert_cmpuint (stats.kernel_ns, >, 0);
  g_assert_cmpuint (stats.upload_ns, >, 0);
  g_assert_cmpuint (stats.download_ns, >, 0);
  g_assert_cmpuint (stats.last_ns, >, 0);
  g_assert_false (convolve_device_wait (device, job[N_FRAMES - 1] + 1, &error));
  convolve_program_free (program);
  convolve_device_close (device);
  /* Page-locked memory outlives the device. */
  for (guint i = 0; i < N_FRAMES; i++) {
    cudatest_frame_free (in[i]);
    cudatest_frame_free (out[i]);
  }
  g_assert_cmpuint (cudatest_sim ()->live (), ==, 0);
}

/* Two programs of a device, jobs of both outstanding. */
static void
test_two_programs (void)
{
  ConvolveDevice *device = cudatest_open (2, 2, NULL);
  ConvolveProgram *program[2];
  ConvolvePlan *plan[2];
  TestFrame *in[2], *out[2];
  guint64 job[2];
  g_autoptr (GError) error = NULL;

  for (guint i = 0; i < 2; i++) {
    ConvolveSettings settings;

    convolve_settings_init (&settings);
    settings.filter = i == 0 ? CONVOLVE_FILTER_BOX : CONVOLVE_FILTER_SOBEL;
    plan[i] = cudatest_plan ("RGBA", 50, 40, &settings);
    program[i] = convolve_program_new (device, plan[i], &error);
    g_assert_no_error (error);
    in[i] = cudatest_frame_new (plan[i], NULL, 0, NULL);
    out[i] = cudatest_frame_new (plan[i], NULL, 0, NULL);
    convolve_program_process (program[i], &in[i]->frame, &out[i]->frame,
        &job[i], &error);
    g_assert_no_error (error);
  }
  for (guint i = 0; i < 2; i++) {
    TestFrame *expected = cudatest_expected (plan[i], in[i]);

    convolve_device_wait (device, job[i], &error);
    g_assert_no_error (error);
    cudatest_compare (plan[i], expected, out[i]);
    convolve_program_free (program[i]);
    cudatest_frame_free (expected);
    cudatest_frame_free (in[i]);
    cudatest_frame_free (out[i]);
    convolve_plan_unref (plan[i]);
  }
  convolve_device_close (device);
}

/* ---- other values for the same frames ---- */

static ConvolvePlan *
gray_plan (gint width, gint height, gdouble sigma)
{
  ConvolveSettings settings;

  convolve_settings_init (&settings);
  settings.sigma = sigma;
  return cudatest_plan ("GRAY8", width, height, &settings);
}

/* Calls of the driver that making the program and its first frame takes. */
static guint
count_calls (ConvolveDevice * device, gint width, gint height, gdouble sigma)
{
  g_autoptr (ConvolvePlan) plan = gray_plan (width, height, sigma);
  guint calls = cudatest_sim ()->calls ();

  cudatest_check (device, plan, 0);
  return cudatest_sim ()->calls () - calls;
}

/* What the program before left is used again, and is no obstacle where memory
 * is short. */
static void
test_spares (void)
{
  ConvolveDevice *device = cudatest_open (2, 8, NULL);
  const gsize frame = 512 * 40;
  guint first = count_calls (device, 512, 40, 1);

  for (guint i = 2; i < 4; i++)
    g_assert_cmpuint (3 * count_calls (device, 512, 40, i), <, 2 * first);
  /* Two frames of four times the size, up and down, and some weights. */
  cudatest_sim ()->limit (2 * 2 * 4 * frame + 8192, G_MAXSIZE);
  count_calls (device, 4 * 512, 40, 1);
  count_calls (device, 512, 40, 1);
  cudatest_sim ()->limit (G_MAXSIZE, G_MAXSIZE);
  convolve_device_close (device);
  g_assert_cmpuint (cudatest_sim ()->live (), ==, 0);
}

/* Nor does it stand in the way of what frames as large, but of more rows and so
 * of more bands, leave. */
static void
test_spares_of_more_bands (void)
{
  ConvolveDevice *device = cudatest_open (2, 64, NULL);
  guint first;

  count_calls (device, 1024, 20, 1);
  first = count_calls (device, 512, 40, 1);
  for (guint i = 2; i < 4; i++)
    g_assert_cmpuint (3 * count_calls (device, 512, 40, i), <, 2 * first);
  convolve_device_close (device);
  g_assert_cmpuint (cudatest_sim ()->live (), ==, 0);
}

/* The first change of a value comes while the program before lives, and takes
 * no more than later ones, but for asking some more often whether work is
 * done. */
static void
test_first_change (void)
{
  ConvolveDevice *device = cudatest_open (2, 8, NULL);
  g_autoptr (ConvolvePlan) plan = gray_plan (512, 40, 1);
  g_autoptr (GError) error = NULL;
  ConvolveProgram *before;
  TestFrame *in, *out;
  guint64 job;
  guint change;

  before = convolve_program_new (device, plan, &error);
  g_assert_no_error (error);
  in = cudatest_frame_new (plan, NULL, 0, NULL);
  out = cudatest_frame_new (plan, NULL, 0, NULL);
  convolve_program_process (before, &in->frame, &out->frame, &job, &error);
  g_assert_no_error (error);
  change = count_calls (device, 512, 40, 2);
  convolve_device_wait (device, job, &error);
  g_assert_no_error (error);
  convolve_program_free (before);
  g_assert_cmpuint (change, <=, count_calls (device, 512, 40, 3) + 20);
  cudatest_frame_free (in);
  cudatest_frame_free (out);
  convolve_device_close (device);
  g_assert_cmpuint (cudatest_sim ()->live (), ==, 0);
}

/* ---- where memory is short ---- */

/* Frames of GRAY8 512 x 40 in ordinary memory. */
#define FRAME (512 * 40)
/* Weights and the like. */
#define SLACK 8192

static const ConvolveRect rects[] = { {3, 2, 100, 8}, {200, 10, 300, 24} };
static const ConvolveRegions regions = { G_N_ELEMENTS (rects), rects };

/* As many frames are in flight as there is memory for, with one more for
 * regions, whatever is kept for later. */
static void
test_regions_first (gconstpointer data)
{
  const guint frames = GPOINTER_TO_UINT (data);
  ConvolveDevice *device = cudatest_open (frames, 1, NULL);
  g_autoptr (ConvolvePlan) plan = gray_plan (512, 40, 1);
  g_autoptr (GError) error = NULL;
  ConvolveProgram *program;
  TestFrame *in, *out[4];
  guint64 job[4];

  program = convolve_program_new (device, plan, &error);
  g_assert_no_error (error);
  in = cudatest_frame_new (plan, NULL, 0, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (out); i++) {
    out[i] = cudatest_frame_new (plan, NULL, 0, NULL);
    convolve_program_process_regions (program, &in->frame, &out[i]->frame,
        i > 0 ? &regions : NULL, &job[i], &error);
    g_assert_no_error (error);
    /* Two frames, up and down: both in flight, or one of them kept for
     * later. */
    cudatest_sim ()->limit (2 * 2 * FRAME + SLACK, G_MAXSIZE);
  }
  for (guint i = 0; i < G_N_ELEMENTS (out); i++) {
    convolve_device_wait (device, job[i], &error);
    g_assert_no_error (error);
    cudatest_frame_free (out[i]);
  }
  cudatest_sim ()->limit (G_MAXSIZE, G_MAXSIZE);
  convolve_program_free (program);
  convolve_device_close (device);
  cudatest_frame_free (in);
  g_assert_cmpuint (cudatest_sim ()->live (), ==, 0);
}

/* What is kept for later goes where a sum over more frames needs its memory,
 * on the device and page-locked. */
static void
test_history_first (void)
{
  ConvolveDevice *device = cudatest_open (1, 1, NULL);
  g_autoptr (ConvolvePlan) plan = gray_plan (512, 40, 1);
  g_autoptr (GError) error = NULL;
  ConvolveHistory *history;
  TestFrame *in;

  cudatest_check (device, plan, 0);     /* what it had is kept now */
  cudatest_sim ()->limit (4 * FRAME + SLACK, 3 * FRAME);
  in = cudatest_frame_new (plan, NULL, 0, NULL);
  history = convolve_history_new (device, &plan->info, &error);
  g_assert_no_error (error);
  for (guint i = 0; i < 4; i++) {
    convolve_history_store (history, i, &in->frame, &error);
    g_assert_no_error (error);
  }
  cudatest_sim ()->limit (G_MAXSIZE, G_MAXSIZE);
  convolve_history_free (history);
  convolve_device_close (device);
  cudatest_frame_free (in);
  g_assert_cmpuint (cudatest_sim ()->live (), ==, 0);
}

/* Where there is just enough for two users of a GPU, the first one keeps
 * nothing for later. */
static void
test_two_users (void)
{
  ConvolveDevice *device[] = { cudatest_open (1, 1, NULL),
    cudatest_open (1, 1, NULL)
  };
  g_autoptr (ConvolvePlan) plan = gray_plan (512, 40, 1);
  g_autoptr (GError) error = NULL;
  ConvolveProgram *program[2];
  TestFrame *in, *out[2];

  cudatest_sim ()->limit (2 * 2 * FRAME + SLACK, G_MAXSIZE);
  in = cudatest_frame_new (plan, NULL, 0, NULL);
  for (guint i = 0; i < 2; i++) {
    guint64 job;

    program[i] = convolve_program_new (device[i], plan, &error);
    g_assert_no_error (error);
    out[i] = cudatest_frame_new (plan, NULL, 0, NULL);
    convolve_program_process (program[i], &in->frame, &out[i]->frame, &job,
        &error);
    g_assert_no_error (error);
    convolve_device_wait (device[i], job, &error);
    g_assert_no_error (error);
  }
  cudatest_sim ()->limit (G_MAXSIZE, G_MAXSIZE);
  for (guint i = 0; i < 2; i++) {
    convolve_program_free (program[i]);
    convolve_device_close (device[i]);
    cudatest_frame_free (out[i]);
  }
  cudatest_frame_free (in);
  g_assert_cmpuint (cudatest_sim ()->live (), ==, 0);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  cudatest_sim ();
  for (guint i = 0; i < G_N_ELEMENTS (flights); i++) {
    g_autofree gchar *path = g_strdup_printf ("/cuda/flight/%u", i);

    g_test_add_data_func (path, &flights[i], test_flight);
  }
  g_test_add_func ("/cuda/two-programs", test_two_programs);
  g_test_add_func ("/cuda/spares", test_spares);
  g_test_add_func ("/cuda/spares-of-more-bands", test_spares_of_more_bands);
  g_test_add_func ("/cuda/first-change", test_first_change);
  g_test_add_data_func ("/cuda/shortage/regions", GUINT_TO_POINTER (1),
      test_regions_first);
  g_test_add_data_func ("/cuda/shortage/regions-in-flight",
      GUINT_TO_POINTER (2), test_regions_first);
  g_test_add_func ("/cuda/shortage/history", test_history_first);
  g_test_add_func ("/cuda/shortage/two-users", test_two_users);
  return g_test_run ();
}
