/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The CUDA backend's host side on the simulated driver: every variant is
 * reached, in every kind of memory, with several frames and bands at a time. */
#include <gmodule.h>
#include <string.h>

#include "cudatest.h"
#include "cuda/kernels/variants.h"

static ConvolveDevice *
open_device (guint frames, guint bands, gpointer context)
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

static void
check_plan_on (ConvolveDevice * device, ConvolvePlan * plan, guint slack)
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

/* ---- every variant ---- */

typedef struct
{
  ConvolveFilter filter;
  gdouble sigma;
  ConvolveMethod method;
  guint iterations;
  gdouble scale;
  gdouble sigma_y;              /* 0: as sigma */
} Setup;

#define METHOD(name) CONVOLVE_METHOD_##name
#define GAUSSIAN CONVOLVE_FILTER_GAUSSIAN

/* *INDENT-OFF* */
static const Setup setups[] = {
  {GAUSSIAN, 0.3, METHOD (SEPARABLE), 1, 1},     /* 3 taps */
  {GAUSSIAN, 0.6, METHOD (SEPARABLE), 1, 1},     /* 5 */
  {GAUSSIAN, 1.0, METHOD (SEPARABLE), 1, 1},     /* 7 */
  {GAUSSIAN, 1.3, METHOD (SEPARABLE), 1, 1},     /* 9 */
  {GAUSSIAN, 2.3, METHOD (SEPARABLE), 1, 1},     /* 15 */
  {GAUSSIAN, 4.0, METHOD (SEPARABLE), 1, 1},     /* 25 */
  {GAUSSIAN, 8.0, METHOD (SEPARABLE), 1, 1, 0.3},        /* 49 */
  {GAUSSIAN, 1.0, METHOD (SEPARABLE), 1, 1.5},
  {GAUSSIAN, 2.3, METHOD (SEPARABLE), 1, 1.5},
  {GAUSSIAN, 4.0, METHOD (SEPARABLE), 1, 1.5, 0.3},
  {GAUSSIAN, 8.0, METHOD (SEPARABLE), 1, 1.5, 0.3},
  {GAUSSIAN, 0.3, METHOD (DIRECT), 1, 1},
  {GAUSSIAN, 0.6, METHOD (DIRECT), 1, 1},
  {GAUSSIAN, 1.0, METHOD (DIRECT), 1, 1},
  {GAUSSIAN, 1.3, METHOD (DIRECT), 1, 1},
  {GAUSSIAN, 2.3, METHOD (DIRECT), 1, 1},        /* 15 x 15 */
  {GAUSSIAN, 4.0, METHOD (DIRECT), 1, 1.5, 0.3}, /* 25 x 3 */
  {CONVOLVE_FILTER_UNSHARP, 1.0, METHOD (SEPARABLE), 1, 1},
  {CONVOLVE_FILTER_SOBEL, 1.0, METHOD (SEPARABLE), 1, 1},
  {CONVOLVE_FILTER_SOBEL, 1.0, METHOD (DIRECT), 1, 1},
  {CONVOLVE_FILTER_DOG, 1.0, METHOD (SEPARABLE), 1, 1},
  {CONVOLVE_FILTER_LOG, 1.0, METHOD (SEPARABLE), 1, 1},
  {CONVOLVE_FILTER_ROBERTS, 1.0, METHOD (AUTO), 1, 1},
  {GAUSSIAN, 12.0, METHOD (SEPARABLE), 1, 1},    /* stages */
  {GAUSSIAN, 0.6, METHOD (SEPARABLE), 3, 1},
  {GAUSSIAN, 0.6, METHOD (DIRECT), 2, 1},
  {GAUSSIAN, 0.3, METHOD (DIRECT), 40, 1},
  {CONVOLVE_FILTER_DIFFUSE, 1.0, METHOD (AUTO), 5, 1},
  {GAUSSIAN, 1.0, METHOD (SEPARABLE), 1, 30000}, /* two floats */
  {GAUSSIAN, 1.0, METHOD (DIRECT), 1, 30000},
  {CONVOLVE_FILTER_DIFFUSE, 1.0, METHOD (AUTO), 2, 1},
  {CONVOLVE_FILTER_DIFFUSE, 1.0, METHOD (AUTO), 14, 1},  /* 16 bits: double */
  {CONVOLVE_FILTER_DETAIL, 1.0, METHOD (AUTO), 1, 1},
  {CONVOLVE_FILTER_DETAIL, 1.0, METHOD (AUTO), 2, 1},
  {CONVOLVE_FILTER_BOX, 6.0, METHOD (SUMS), 1, 1},       /* 21 x 21 */
  {CONVOLVE_FILTER_BOX, 6.0, METHOD (SUMS), 1, 0.75},
};
/* *INDENT-ON* */

static const gchar *const formats[] = { "GRAY8", "GRAY16_LE", "GRAY16_BE",
  "NV12", "P010_10LE", "YUY2", "RGB", "BGRx", "RGBA", "RGB10A2_LE",
  "AYUV64"
};

static void
settings_from (ConvolveSettings * settings, const Setup * setup)
{
  convolve_settings_init (settings);
  settings->filter = setup->filter;
  settings->sigma = setup->sigma;
  if (setup->sigma_y > 0)
    settings->sigma_y = setup->sigma_y;
  settings->method = setup->method;
  settings->iterations = setup->iterations;
  settings->scale = setup->scale;
  /* A box of that deviation; weighted colours are no running sums. */
  if (setup->method == METHOD (SUMS)) {
    settings->radius = -1;
    settings->alpha_mode = CONVOLVE_ALPHA_STRAIGHT;
  }
}

/* A magnitude of two matrices of 5 x 5: no property asks for it, but a plan may
 * hold it. */
static void
enlarge_terms (ConvolvePlan * plan)
{
  for (guint i = 0; i < plan->n_operations; i++) {
    ConvolveOperation *operation = plan->operations[i];

    for (guint t = 0; t < operation->n_terms; t++) {
      gdouble weights[25];

      for (guint k = 0; k < 25; k++)
        weights[k] = g_test_rand_double_range (-0.2, 0.2);
      g_assert_nonnull (operation->term[t].matrix);
      convolve_matrix_unref (operation->term[t].matrix);
      operation->term[t].matrix = convolve_matrix_new (5, 5, weights);
    }
    operation->left = operation->right = operation->above = operation->below =
        2;
  }
}

/* Iterations one at a time, a launch a stage. */
static void
check_plain_iterations (ConvolveDevice * device)
{
  g_setenv ("CONVOLVE_CUDA_ROUTE", "stage", TRUE);
  for (guint i = 0; i < G_N_ELEMENTS (setups); i++) {
    ConvolveSettings settings;
    g_autoptr (ConvolvePlan) plan = NULL;

    if (setups[i].iterations < 2)
      continue;
    settings_from (&settings, &setups[i]);
    plan = cudatest_plan ("RGB", 45, 38, &settings);
    check_plan_on (device, plan, 0);
  }
}

static void
check_all_plans (ConvolveDevice * device, gboolean fits_all)
{
  for (guint f = 0; f < G_N_ELEMENTS (formats); f++) {
    ConvolveSettings settings;
    g_autoptr (ConvolvePlan) large = NULL;

    for (guint i = 0; i < G_N_ELEMENTS (setups); i++) {
      g_autoptr (ConvolvePlan) plan = NULL;

      settings_from (&settings, &setups[i]);
      settings.border = i % CONVOLVE_N_BORDERS;
      plan = cudatest_plan (formats[f], 45, 38, &settings);
      check_plan_on (device, plan, (i % 3) * 8);
      if (fits_all && i % 4 == 0)
        check_plan_on (device, plan, 1);        /* unaligned if device memory */
    }
    convolve_settings_init (&settings);
    settings.filter = CONVOLVE_FILTER_ROBERTS;
    large = cudatest_plan (formats[f], 33, 20, &settings);
    enlarge_terms (large);
    check_plan_on (device, large, 0);
  }
}

/* ---- across frames ---- */

#define N_WINDOW 3

static TestFrame *
filter_window (ConvolveDevice * device, ConvolvePlan * plan,
    TestFrame * const *frames)
{
  static const guint slots[N_WINDOW] = { 0, 1, 2 };
  g_autoptr (GError) error = NULL;
  ConvolveProgram *program = convolve_program_new (device, plan, &error);
  ConvolveHistory *history = convolve_history_new (device, &plan->info, &error);
  ConvolveWindow window = { history, N_WINDOW, slots };
  TestFrame *out = cudatest_frame_new (plan, NULL, 0, NULL);
  guint64 job;

  g_assert_no_error (error);
  for (guint i = 0; i < N_WINDOW; i++)
    convolve_history_store (history, i, &frames[i]->frame, &error);
  g_assert_no_error (error);
  convolve_program_process_window (program, &window, &out->frame, NULL, &job,
      &error);
  g_assert_no_error (error);
  convolve_device_wait (device, job, &error);
  g_assert_no_error (error);
  convolve_program_free (program);
  convolve_history_free (history);
  return out;
}

static void
check_window (ConvolveDevice * device, const gchar * format, gdouble scale)
{
  static const ConvolveOpenOptions options = {.device_id = -1,.n_threads = 1,
    .frames_in_flight = 1
  };
  static const gdouble weights[N_WINDOW] = { 1, 3, 2 };
  ConvolveDevice *cpu = convolve_device_open (convolve_backend_cpu (),
      &options, NULL);
  g_autoptr (ConvolvePlan) plan = NULL;
  ConvolveSettings settings;
  TestFrame *frames[N_WINDOW], *out, *expected;

  convolve_settings_init (&settings);
  settings.scale = scale;
  settings.kernel_t = convolve_matrix_new (N_WINDOW, 1, weights);
  plan = cudatest_plan (format, 45, 38, &settings);
  convolve_settings_clear (&settings);
  for (guint i = 0; i < N_WINDOW; i++)
    frames[i] = cudatest_frame_new (plan, NULL, 0, NULL);
  expected = filter_window (cpu, plan, frames);
  out = filter_window (device, plan, frames);
  cudatest_compare (plan, expected, out);
  for (guint i = 0; i < N_WINDOW; i++)
    cudatest_frame_free (frames[i]);
  cudatest_frame_free (expected);
  cudatest_frame_free (out);
  convolve_device_close (cpu);
}

static void
check_all_windows (ConvolveDevice * device)
{
  for (guint f = 0; f < G_N_ELEMENTS (formats); f++) {
    check_window (device, formats[f], 1);
    check_window (device, formats[f], 30000);   /* two floats */
  }
}

static void
test_variants (void)
{
  static const gchar *const routes[] = { "stencil", "float" };
  const Sim *sim = cudatest_sim ();
  ConvolveDevice *device = open_device (1, 0, NULL);
  guint missing = 0;

  check_all_plans (device, TRUE);
  check_all_windows (device);
  for (guint i = 0; i < G_N_ELEMENTS (routes); i++) {
    g_setenv ("CONVOLVE_CUDA_ROUTE", routes[i], TRUE);
    check_all_plans (device, FALSE);
  }
  check_plain_iterations (device);
  g_unsetenv ("CONVOLVE_CUDA_ROUTE");
  convolve_device_close (device);

#define COUNT(name, ...) \
  if (sim->runs (#name) == 0) { \
    g_printerr ("no plan reached %s\n", #name); \
    missing++; \
  }
  CONVOLVE_VARIANTS (COUNT);
#undef COUNT
  g_assert_cmpuint (missing, ==, 0);
}

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
  ConvolveDevice *device = open_device (flight->frames, flight->bands, NULL);
  TestFrame *in[N_FRAMES], *out[N_FRAMES];
  ConvolveSettings settings;
  g_autoptr (ConvolvePlan) plan = NULL;
  g_autoptr (GError) error = NULL;
  ConvolveProgram *program;
  guint64 job[N_FRAMES];
  ConvolveStats stats;

  convolve_settings_init (&settings);
  settings.filter = GAUSSIAN;
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
  ConvolveDevice *device = open_device (2, 2, NULL);
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

/* Calls of the driver that making the program and its first frame takes. */
static guint
count_calls (ConvolveDevice * device, gint width, gdouble sigma)
{
  ConvolveSettings settings;
  g_autoptr (ConvolvePlan) plan = NULL;
  guint calls = cudatest_sim ()->calls ();

  convolve_settings_init (&settings);
  settings.sigma = sigma;
  plan = cudatest_plan ("GRAY8", width, 40, &settings);
  check_plan_on (device, plan, 0);
  return cudatest_sim ()->calls () - calls;
}

/* What the program before left is used again, and is no obstacle where memory
 * is short. */
static void
test_spares (void)
{
  ConvolveDevice *device = open_device (2, 8, NULL);
  const gsize frame = 512 * 40;
  guint first = count_calls (device, 512, 1);

  for (guint i = 2; i < 4; i++)
    g_assert_cmpuint (3 * count_calls (device, 512, i), <, 2 * first);
  /* Two frames of four times the size, up and down, and some weights. */
  cudatest_sim ()->limit (2 * 2 * 4 * frame + 8192, G_MAXSIZE);
  count_calls (device, 4 * 512, 1);
  count_calls (device, 512, 1);
  cudatest_sim ()->limit (G_MAXSIZE, G_MAXSIZE);
  convolve_device_close (device);
  g_assert_cmpuint (cudatest_sim ()->live (), ==, 0);
}

/* ---- a neighbour's context ---- */

static CUcontext
create_context (void)
{
  CUresult (*create) (CUcontext *, unsigned int, CUdevice);
  GModule *module = g_module_open ("libcuda.so.1", G_MODULE_BIND_LAZY);
  CUcontext context;

  g_assert_true (g_module_symbol (module, "cuCtxCreate_v2",
          (gpointer *) & create));
  g_assert_cmpint (create (&context, 0, 0), ==, CUDA_SUCCESS);
  g_assert_cmpint (convolve_cu.cuCtxPopCurrent (NULL), ==, CUDA_SUCCESS);
  return context;
}

static void
destroy_context (CUcontext context)
{
  CUresult (*destroy) (CUcontext);
  GModule *module = g_module_open ("libcuda.so.1", G_MODULE_BIND_LAZY);

  g_assert_true (g_module_symbol (module, "cuCtxDestroy_v2",
          (gpointer *) & destroy));
  g_assert_cmpint (destroy (context), ==, CUDA_SUCCESS);
}

/* The frame's block in memory of the device, shifted by shift bytes. */
static CUdeviceptr
to_device (CUcontext context, const TestFrame * frame, guint shift,
    ConvolveFrame * device)
{
  gsize size = GST_VIDEO_INFO_SIZE (&frame->info);
  CUdeviceptr memory;

  g_assert_cmpint (convolve_cu.cuCtxPushCurrent (context), ==, CUDA_SUCCESS);
  g_assert_cmpint (convolve_cu.cuMemAlloc (&memory, size + shift), ==,
      CUDA_SUCCESS);
  g_assert_cmpint (convolve_cu.cuMemcpyHtoD (memory + shift, frame->block,
          size), ==, CUDA_SUCCESS);
  convolve_cu.cuCtxPopCurrent (NULL);
  *device = frame->frame;
  device->memory = CONVOLVE_MEMORY_DEVICE;
  for (guint p = 0; p < GST_VIDEO_INFO_N_PLANES (&frame->info); p++)
    device->data[p] = (guint8 *) (gsize) memory + shift
        + (frame->frame.data[p] - frame->block);
  return memory;
}

static void
free_device (CUcontext context, CUdeviceptr memory)
{
  convolve_cu.cuCtxPushCurrent (context);
  g_assert_cmpint (convolve_cu.cuMemFree (memory), ==, CUDA_SUCCESS);
  convolve_cu.cuCtxPopCurrent (NULL);
}

/* mode bit 0: input on the device, bit 1: output; shift misaligns them. */
static void
check_neighbour (CUcontext context, ConvolveDevice * device,
    ConvolvePlan * plan, guint mode, guint shift)
{
  TestFrame *in = cudatest_frame_new (plan, NULL, 0, NULL);
  TestFrame *out = cudatest_frame_new (plan, NULL, 0, NULL);
  TestFrame *expected = cudatest_expected (plan, in);
  gsize size = GST_VIDEO_INFO_SIZE (&out->info);
  ConvolveFrame device_in, device_out;
  CUdeviceptr in_memory = to_device (context, in, shift, &device_in);
  CUdeviceptr out_memory = to_device (context, out, shift, &device_out);
  g_autoptr (GError) error = NULL;
  ConvolveProgram *program = convolve_program_new (device, plan, &error);
  guint64 job;

  g_assert_no_error (error);
  convolve_program_process (program, mode & 1 ? &device_in : &in->frame,
      mode & 2 ? &device_out : &out->frame, &job, &error);
  g_assert_no_error (error);
  convolve_device_wait (device, job, &error);
  g_assert_no_error (error);
  /* The simulated device's memory can be read as it is. */
  if (mode & 2)
    memcpy (out->block, (gpointer) (gsize) (out_memory + shift), size);
  cudatest_compare (plan, expected, out);
  convolve_program_free (program);
  free_device (context, in_memory);
  free_device (context, out_memory);
  cudatest_frame_free (in);
  cudatest_frame_free (out);
  cudatest_frame_free (expected);
}

static void
test_neighbour (void)
{
  const Sim *sim = cudatest_sim ();
  g_autoptr (GError) error = NULL;
  guint before;
  CUcontext context;
  ConvolveDevice *device;

  g_assert_true (convolve_cu_load (&error));
  context = create_context ();
  before = sim->live ();
  device = open_device (2, 3, context);
  for (guint i = 0; i < 4 * 3; i++) {
    ConvolveSettings settings;
    g_autoptr (ConvolvePlan) plan = NULL;

    convolve_settings_init (&settings);
    settings.filter = i % 2 ? CONVOLVE_FILTER_SOBEL : CONVOLVE_FILTER_BOX;
    plan = cudatest_plan (i % 3 == 0 ? "NV12" : i % 3 == 1 ? "RGBA" :
        "P010_10LE", 48, 40, &settings);
    check_neighbour (context, device, plan, i / 3, 0);
    check_neighbour (context, device, plan, i / 3, 1);
  }
  convolve_device_close (device);
  g_assert_cmpuint (sim->live (), ==, before);
  g_assert_cmpuint (sim->depth (), ==, 0);
  destroy_context (context);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  cudatest_sim ();
  g_test_add_func ("/cuda/variants", test_variants);
  for (guint i = 0; i < G_N_ELEMENTS (flights); i++) {
    g_autofree gchar *path = g_strdup_printf ("/cuda/flight/%u", i);

    g_test_add_data_func (path, &flights[i], test_flight);
  }
  g_test_add_func ("/cuda/two-programs", test_two_programs);
  g_test_add_func ("/cuda/spares", test_spares);
  g_test_add_func ("/cuda/neighbour", test_neighbour);
  return g_test_run ();
}
