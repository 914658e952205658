/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The CUDA backend's host side on the simulated driver: every variant is
 * reached, in every kind of memory. */
#include <gmodule.h>
#include <string.h>

#include "cudatest.h"
#include "cuda/kernels/variants.h"

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
    cudatest_check (device, plan, 0);
  }
}

/* By coarse grids of each step, whole, with copied components and where nothing
 * is aligned. */
static void
check_coarse_plans (ConvolveDevice * device)
{
  static const gdouble sigmas[] = { 12, 30, 50, 100 };

  for (guint i = 0; i < 2 * G_N_ELEMENTS (sigmas); i++) {
    ConvolveSettings settings;
    g_autoptr (ConvolvePlan) plan = NULL;

    convolve_settings_init (&settings);
    settings.sigma = sigmas[i / 2];
    settings.alpha_mode = CONVOLVE_ALPHA_STRAIGHT;
    settings.method = METHOD (PYRAMID);
    settings.costs = CONVOLVE_COSTS_CUDA;
    plan = cudatest_plan (i % 2 ? "BGRx" : "RGB", 45, 38, &settings);
    cudatest_check (device, plan, i % 2);
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
      cudatest_check (device, plan, (i % 3) * 8);
      if (fits_all && i % 4 == 0)
        cudatest_check (device, plan, 1);       /* unaligned if device memory */
    }
    convolve_settings_init (&settings);
    settings.filter = CONVOLVE_FILTER_ROBERTS;
    large = cudatest_plan (formats[f], 33, 20, &settings);
    enlarge_terms (large);
    cudatest_check (device, large, 0);
  }
}

/* ---- memory of the device ---- */

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

/* ---- across frames ---- */

#define MAX_WINDOW 4

/* What goes through one launch. */
enum
{ BYTES = 1, WORDS = 2, WEIGHTED = 4, ALL = BYTES | WORDS | WEIGHTED };

/* Weights of frames, the oldest first; the middle one's is written. */
typedef struct
{
  guint n;
  gdouble weights[MAX_WINDOW];
  gdouble sigma;                /* 0: nothing but the sum over frames */
  gdouble scale;
  gboolean straight;
  guint fused;                  /* BYTES ... */
} Window;

/* *INDENT-OFF* */
static const Window windows[] = {
  {3, {1, 3, 2}, 1, 1, FALSE, ALL},
  {3, {1, 3, 2}, 1, 30000, TRUE},        /* two floats */
  {3, {1, 3, 2}, 0, 1, TRUE, ALL},
  {3, {-1, 4, -1}, 0, 1, TRUE, ALL},
  {3, {-1, 4, -1}, 0, 1, FALSE, BYTES | WORDS},
  {2, {1, 2}, 1.3, 1, TRUE, ALL},
  {3, {1, 2, 1}, 2.3, 1.5, TRUE, ALL},
  {3, {2, 1, 0}, 2.3, 1, FALSE, ALL},
  {2, {1, 3}, 4, 1, TRUE, ALL},
  {2, {1, 3}, 4, 1, FALSE, ALL},
  {3, {1, 2, 1}, 6, 1, TRUE},            /* too far */
  {3, {-9, 19, -9}, 1, 1, TRUE},         /* half floats would be too coarse */
  /* Too little shared memory for a stage of all frames. */
  {4, {1, 2, 2, 1}, 1, 1, TRUE, WORDS},
  {4, {1, 2, 2, 1}, 1, 1, FALSE, WORDS | WEIGHTED},
};
/* *INDENT-ON* */

/* context: that of the device, whose memory gets the result, at an odd
 * address; or NULL. */
static TestFrame *
filter_window (ConvolveDevice * device, ConvolvePlan * plan,
    TestFrame * const *frames, guint slack, CUcontext context, gchar ** text)
{
  static const guint slots[MAX_WINDOW] = { 0, 1, 2, 3 };
  g_autoptr (GError) error = NULL;
  ConvolveProgram *program = convolve_program_new (device, plan, &error);
  ConvolveHistory *history = convolve_history_new (device, &plan->info, &error);
  ConvolveWindow window = { history, plan->before + 1 + plan->after, slots };
  TestFrame *out = cudatest_frame_new (plan, NULL, slack, NULL);
  ConvolveFrame target = out->frame;
  CUdeviceptr memory = context != NULL ? to_device (context, out, 1, &target) :
      0;
  guint64 job;

  g_assert_no_error (error);
  *text = device->backend->describe (program);
  for (guint i = 0; i < window.n; i++)
    convolve_history_store (history, i, &frames[i]->frame, &error);
  g_assert_no_error (error);
  convolve_program_process_window (program, &window, &target, NULL, &job,
      &error);
  g_assert_no_error (error);
  convolve_device_wait (device, job, &error);
  g_assert_no_error (error);
  if (memory != 0) {
    memcpy (out->block, (gpointer) (gsize) (memory + 1),
        GST_VIDEO_INFO_SIZE (&out->info));
    free_device (context, memory);
  }
  convolve_program_free (program);
  convolve_history_free (history);
  return out;
}

static ConvolvePlan *
window_plan (const gchar * format, const Window * window)
{
  ConvolveSettings settings;
  ConvolvePlan *plan;

  convolve_settings_init (&settings);
  settings.filter = window->sigma > 0 ? GAUSSIAN : CONVOLVE_FILTER_IDENTITY;
  settings.sigma = window->sigma;
  settings.scale = window->scale;
  settings.border = g_test_rand_int_range (0, CONVOLVE_N_BORDERS);
  if (window->straight)
    settings.alpha_mode = CONVOLVE_ALPHA_STRAIGHT;
  settings.kernel_t = convolve_matrix_new (window->n, 1, window->weights);
  plan = cudatest_plan (format, 45, 38, &settings);
  convolve_settings_clear (&settings);
  return plan;
}

/* What the pass is of those; 0: samples that lie otherwise. */
static guint
window_kind (const ConvolvePass * pass)
{
  const ConvolveLayout *layout = &pass->layout;

  switch (layout->type) {
    case CONVOLVE_SAMPLE_U8:
      return layout->pixel_step != layout->n_components ? 0 :
          pass->alpha.weighted ? WEIGHTED : BYTES;
    case CONVOLVE_SAMPLE_U16LE:
      return pass->alpha.weighted ? 0 : WORDS;
    default:
      return 0;
  }
}

static void
check_window (ConvolveDevice * device, const gchar * format,
    const Window * window, guint slack, CUcontext context)
{
  static const ConvolveOpenOptions options = {.device_id = -1,.n_threads = 1,
    .frames_in_flight = 1
  };
  ConvolveDevice *cpu = convolve_device_open (convolve_backend_cpu (),
      &options, NULL);
  g_autoptr (ConvolvePlan) plan = window_plan (format, window);
  TestFrame *frames[MAX_WINDOW], *out, *expected;
  g_autofree gchar *text = NULL, *cpu_text = NULL;

  for (guint i = 0; i < window->n; i++)
    frames[i] = cudatest_frame_new (plan, NULL, 0, NULL);
  expected = filter_window (cpu, plan, frames, 0, NULL, &cpu_text);
  out = filter_window (device, plan, frames, slack, context, &text);
  g_test_message ("%s: %s", format, text);
  cudatest_compare (plan, expected, out);
  g_assert_cmpint (g_regex_match_simple ("plane 0, .* frames, folded", text,
          0, 0), ==, (window->fused & window_kind (&plan->pass[0])) != 0);
  for (guint i = 0; i < window->n; i++)
    cudatest_frame_free (frames[i]);
  cudatest_frame_free (expected);
  cudatest_frame_free (out);
  convolve_device_close (cpu);
}

static void
check_all_windows (ConvolveDevice * device, CUcontext context)
{
  for (guint f = 0; f < G_N_ELEMENTS (formats); f++)
    for (guint i = 0; i < G_N_ELEMENTS (windows); i++)
      check_window (device, formats[f], &windows[i],
          context != NULL ? 0 : i % 2, context);
}

static void
test_variants (void)
{
  static const gchar *const routes[] = { "stencil", "float" };
  const Sim *sim = cudatest_sim ();
  ConvolveDevice *device = cudatest_open (1, 0, NULL);
  guint missing = 0;

  check_all_plans (device, TRUE);
  check_all_windows (device, NULL);
  check_coarse_plans (device);
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

/* ---- a neighbour's context ---- */

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
  device = cudatest_open (2, 3, context);
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
  check_all_windows (device, context);
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
  g_test_add_func ("/cuda/neighbour", test_neighbour);
  return g_test_run ();
}
