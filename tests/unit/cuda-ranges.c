/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Ranges for profilers: what a listener hears of a few frames on the simulated
 * driver, and that every range that begins ends, also after faults. */
#include <gmodule.h>
#include <stdlib.h>

#include "cudatest.h"

static guint (*faults) (void);
static guint (*open_ranges) (void);
static guint (*count) (const gchar * name);

static void
find_listener (void)
{
  const gchar *path = g_getenv ("NVTX_INJECTION64_PATH");
  GModule *module = path != NULL ? g_module_open (path, G_MODULE_BIND_LAZY) :
      NULL;

  if (module == NULL
      || !g_module_symbol (module, "nvtxwatch_faults", (gpointer *) & faults)
      || !g_module_symbol (module, "nvtxwatch_open", (gpointer *) & open_ranges)
      || !g_module_symbol (module, "nvtxwatch_count", (gpointer *) & count)) {
    g_printerr ("NVTX_INJECTION64_PATH does not name the library nvtxwatch\n");
    exit (77);
  }
}

static ConvolveDevice *
open_device (void)
{
  const ConvolveOpenOptions options = {.device_id = -1,.frames_in_flight = 2,
    .bands = 3
  };
  g_autoptr (GError) error = NULL;
  ConvolveDevice *device = convolve_device_open (convolve_backend_cuda (),
      &options, &error);

  g_assert_no_error (error);
  return device;
}

/* One frame; FALSE where the driver failed. */
static gboolean
filter (ConvolveDevice * device, ConvolveFilter what)
{
  g_autoptr (GError) error = NULL;
  ConvolveSettings settings;
  g_autoptr (ConvolvePlan) plan = NULL;
  ConvolveProgram *program;
  TestFrame *in, *out;
  guint64 job;
  gboolean ok = FALSE;

  convolve_settings_init (&settings);
  settings.filter = what;
  plan = cudatest_plan ("NV12", 130, 66, &settings);
  in = cudatest_frame_new (plan, NULL, 0, NULL);
  out = cudatest_frame_new (plan, NULL, 0, NULL);
  program = convolve_program_new (device, plan, &error);
  if (program != NULL) {
    ok = convolve_program_process (program, &in->frame, &out->frame, &job,
        &error) && convolve_device_wait (device, job, &error);
    convolve_program_free (program);
  }
  cudatest_frame_free (in);
  cudatest_frame_free (out);
  return ok;
}

static void
test_names (void)
{
  ConvolveDevice *device = open_device ();

  g_assert_true (filter (device, CONVOLVE_FILTER_GAUSSIAN));
  g_assert_cmpuint (count ("frame"), ==, 1);
  g_assert_cmpuint (count ("copy in"), ==, 1);
  g_assert_cmpuint (count ("upload"), ==, 3);
  g_assert_cmpuint (count ("passes"), ==, 3);
  g_assert_cmpuint (count ("download"), ==, 3);
  g_assert_cmpuint (count ("wait"), ==, 1);
  g_assert_cmpuint (count ("copy out"), >, 0);
  g_assert_cmpuint (count ("stage_load"), ==, 0);
  g_assert_true (filter (device, CONVOLVE_FILTER_DETAIL));
  g_assert_cmpuint (count ("frame"), ==, 2);
  g_assert_cmpuint (count ("stage_load"), ==, 2);
  g_assert_cmpuint (open_ranges (), ==, 0);
  g_assert_cmpuint (faults (), ==, 0);
  convolve_device_close (device);
}

/* Each call of a frame fails once. Some are for later and may. */
static void
test_balance_after_faults (void)
{
  ConvolveDevice *device = open_device ();
  guint n_failed = 0, n_frames = count ("frame"), calls = 1;

  for (guint n = 1; n <= calls; n++) {
    guint before = cudatest_sim ()->calls ();

    cudatest_sim ()->fail_at (n, CUDA_ERROR_UNKNOWN);
    n_failed += !filter (device, CONVOLVE_FILTER_DETAIL);
    calls = cudatest_sim ()->calls () - before;
    g_assert_cmpuint (open_ranges (), ==, 0);
    g_assert_cmpuint (n, <, 1000);
  }
  cudatest_sim ()->fail_at (0, CUDA_SUCCESS);
  g_test_message ("%u faults", n_failed);
  g_assert_cmpuint (n_failed, >, 20);
  g_assert_cmpuint (count ("frame"), >, n_frames + 1);
  g_assert_cmpuint (faults (), ==, 0);
  convolve_device_close (device);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  find_listener ();
  g_test_add_func ("/cuda/ranges/names", test_names);
  g_test_add_func ("/cuda/ranges/balance-after-faults",
      test_balance_after_faults);
  return g_test_run ();
}
