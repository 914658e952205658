/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Filters across frames: which frames a plan asks for, what is refused, and
 * that histories are looked at before a backend relies on them. */
#include <string.h>

#include "core/backend.h"

typedef struct
{
  GstVideoInfo info;
  ConvolveSettings settings;
} Setup;

static void
setup_init (Setup * setup, ConvolveFilter filter)
{
  gst_video_info_set_format (&setup->info, GST_VIDEO_FORMAT_GRAY8, 8, 4);
  convolve_settings_init (&setup->settings);
  setup->settings.filter = filter;
}

static void
set_taps (Setup * setup, guint n, const gdouble * weights)
{
  g_clear_pointer (&setup->settings.kernel_t, convolve_matrix_unref);
  setup->settings.kernel_t = convolve_matrix_new (n, 1, weights);
}

static ConvolvePlan *
make (Setup * setup)
{
  g_autoptr (GError) error = NULL;
  ConvolvePlan *plan =
      convolve_plan_new (&setup->info, &setup->settings, FALSE, &error);

  g_assert_no_error (error);
  return plan;
}

static void
assert_refused (Setup * setup, const gchar * words)
{
  g_autoptr (GError) error = NULL;

  g_assert_null (convolve_plan_new (&setup->info, &setup->settings, FALSE,
          &error));
  g_assert_nonnull (error);
  g_assert_nonnull (strstr (error->message, words));
}

/* Of n weights n / 2 are of newer frames; weights of 0 at the ends count for
 * nothing. */
static void
test_frames (void)
{
  static const struct
  {
    guint n;
    gdouble weights[5];
    guint before, after;        /* centered */
    guint causal_before;
    gboolean windowed, causal_windowed;
  } cases[] = {
    {1, {3}, 0, 0, 0, FALSE, FALSE},
    {2, {1, 1}, 0, 1, 1, TRUE, TRUE},
    {3, {1, 2, 1}, 1, 1, 2, TRUE, TRUE},
    {4, {1, 2, 2, 1}, 1, 2, 3, TRUE, TRUE},
    {5, {1, 2, 3, 2, 1}, 2, 2, 4, TRUE, TRUE},
    {5, {0, 2, 3, 0, 0}, 1, 0, 3, TRUE, TRUE},
    {3, {0, 1, 0}, 0, 0, 1, FALSE, TRUE},
    {3, {0, 0, 1}, 0, 1, 0, TRUE, FALSE},
    {2, {0, 0}, 0, 0, 0, TRUE, TRUE},
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    for (guint causal = 0; causal < 2; causal++) {
      g_autoptr (ConvolvePlan) plan = NULL;
      gboolean windowed = causal ? cases[i].causal_windowed : cases[i].windowed;
      Setup setup;

      setup_init (&setup, CONVOLVE_FILTER_IDENTITY);
      setup.settings.temporal_mode = causal;
      set_taps (&setup, cases[i].n, cases[i].weights);
      plan = make (&setup);
      g_assert_cmpint (plan->windowed, ==, windowed);
      g_assert_cmpint (plan->identity, ==, !windowed);
      g_assert_cmpuint (plan->before, ==,
          causal ? cases[i].causal_before : cases[i].before);
      g_assert_cmpuint (plan->after, ==, causal ? 0 : cases[i].after);
      convolve_settings_clear (&setup.settings);
    }
  }
}

static void
test_description (void)
{
  static const gdouble taps[] = { 1, 2, 1 };
  static const gdouble deep[] = { 1, 0, 0, 1, 1, 1, 1, 1 };
  g_autoptr (ConvolvePlan) plan = NULL, deep_plan = NULL;
  g_autofree gchar *text = NULL, *deep_text = NULL;
  Setup setup;

  setup_init (&setup, CONVOLVE_FILTER_GAUSSIAN);
  set_taps (&setup, 3, taps);
  plan = make (&setup);
  text = convolve_plan_describe (plan);
  g_assert_nonnull (strstr (text, "3 frames, separable 13x13"));
  convolve_settings_clear (&setup.settings);

  setup_init (&setup, CONVOLVE_FILTER_CUSTOM);
  setup.settings.kernel = convolve_matrix_new_deep (2, 2, 2, deep, NULL);
  deep_plan = make (&setup);
  deep_text = convolve_plan_describe (deep_plan);
  g_assert_nonnull (strstr (deep_text, "2 frames, direct 2x2"));
  g_assert_null (deep_plan->operations[0]->t);
  g_assert_cmpfloat (deep_plan->operations[0]->sum, ==, 1);
  convolve_settings_clear (&setup.settings);
}

/* A difference makes no picture transparent, and has weights below 0. */
static void
test_figures (void)
{
  static const gdouble difference[] = { -1, 1 }, both[] = { -2, -2 };
  g_autoptr (ConvolvePlan) plan = NULL, positive = NULL;
  Setup setup;

  setup_init (&setup, CONVOLVE_FILTER_SOBEL);
  setup.settings.gradient = CONVOLVE_GRADIENT_X;
  set_taps (&setup, 2, difference);
  plan = make (&setup);
  g_assert_cmpfloat (plan->operations[0]->l1, ==, 16);
  g_assert_cmpfloat (plan->operations[0]->sum, ==, 0);
  g_assert_true (plan->operations[0]->has_negative);
  convolve_settings_clear (&setup.settings);

  setup_init (&setup, CONVOLVE_FILTER_BOX);
  setup.settings.scale = -1;
  setup.settings.normalize = FALSE;
  setup.settings.amount = -1;
  set_taps (&setup, 2, both);
  positive = make (&setup);
  g_assert_true (positive->operations[0]->has_negative);
  g_assert_cmpfloat_with_epsilon (positive->operations[0]->sum, -4, 1e-12);
  convolve_settings_clear (&setup.settings);
}

static void
test_refused (void)
{
  static const gdouble taps[] = { 1, 2, 3 };
  gdouble many[CONVOLVE_MATRIX_MAX_DEPTH + 1] = { 1 };
  Setup setup;

  setup_init (&setup, CONVOLVE_FILTER_BOX);
  set_taps (&setup, G_N_ELEMENTS (many), many);
  assert_refused (&setup, "kernel-t");
  set_taps (&setup, 3, taps);
  setup.settings.temporal_mode = 7;
  assert_refused (&setup, "temporal-mode");
  setup.settings.temporal_mode = CONVOLVE_TEMPORAL_CAUSAL;
  setup.settings.iterations = 2;
  convolve_plan_unref (make (&setup));
  setup.settings.normalize = FALSE;
  assert_refused (&setup, "iterations=2 needs weights of kernel-t");
  setup.settings.iterations = 1;
  setup.settings.filter = CONVOLVE_FILTER_CUSTOM;
  setup.settings.kernel = convolve_matrix_new_deep (1, 1, 3, taps, NULL);
  assert_refused (&setup, "exclude each other");
  g_clear_pointer (&setup.settings.kernel_t, convolve_matrix_unref);
  convolve_plan_unref (make (&setup));
  setup.settings.iterations = 3;
  assert_refused (&setup, "iterations=3 cannot be had with a kernel of several"
      " frames");
  convolve_settings_clear (&setup.settings);
}

/* ---- histories ---- */

static gboolean
fake_probe (GError ** error)
{
  return TRUE;
}

static ConvolveDevice *
fake_open (const ConvolveOpenOptions * options, GError ** error)
{
  return g_new0 (ConvolveDevice, 1);
}

static ConvolveProgram *
fake_prepare (ConvolveDevice * device, ConvolvePlan * plan, GError ** error)
{
  ConvolveProgram *program = g_new0 (ConvolveProgram, 1);

  program->plan = convolve_plan_ref (plan);
  return program;
}

static gboolean
fake_process (ConvolveProgram * program, const ConvolveFrame * in,
    const ConvolveFrame * out, const ConvolveRegions * regions, guint64 * job,
    GError ** error)
{
  return TRUE;
}

static gboolean
fake_wait (ConvolveDevice * device, guint64 job, GError ** error)
{
  return TRUE;
}

static void
fake_release (ConvolveProgram * program)
{
  convolve_plan_unref (program->plan);
  g_free (program);
}

static void
fake_close (ConvolveDevice * device)
{
  g_free (device);
}

static void
fake_get_stats (ConvolveDevice * device, ConvolveStats * stats)
{
}

static gchar *
fake_describe (ConvolveProgram * program)
{
  return NULL;
}

static const gchar *
fake_device_name (ConvolveDevice * device)
{
  return "fake";
}

static gboolean stores, runs;
static guint n_stored, n_run;

static ConvolveHistory *
fake_history_new (ConvolveDevice * device, const GstVideoInfo * info,
    GError ** error)
{
  return g_new0 (ConvolveHistory, 1);
}

static gboolean
fake_store (ConvolveHistory * history, guint slot, const ConvolveFrame * in,
    GError ** error)
{
  n_stored++;
  return stores;
}

static void
fake_history_free (ConvolveHistory * history)
{
  g_free (history);
}

static gboolean
fake_window (ConvolveProgram * program, const ConvolveWindow * window,
    const ConvolveFrame * out, const ConvolveRegions * regions, guint64 * job,
    GError ** error)
{
  n_run++;
  return runs;
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

static void
assert_error (GError ** error, gint code, const gchar * words)
{
  g_assert_error (*error, CONVOLVE_ERROR, code);
  g_assert_nonnull (strstr ((*error)->message, words));
  g_clear_error (error);
}

/* A backend that knows no frames but one says so. */
static void
test_without (void)
{
  static const gdouble taps[] = { 1, 2, 1 };
  ConvolveOpenOptions options = {.device_id = -1,.frames_in_flight = 1 };
  ConvolveDevice *device = convolve_device_open (&fake, &options, NULL);
  g_autoptr (ConvolvePlan) plan = NULL;
  g_autoptr (GError) error = NULL;
  Setup setup;

  setup_init (&setup, CONVOLVE_FILTER_BOX);
  set_taps (&setup, 3, taps);
  plan = make (&setup);
  g_assert_null (convolve_program_new (device, plan, &error));
  assert_error (&error, CONVOLVE_ERROR_UNSUPPORTED, "fake");
  g_assert_null (convolve_history_new (device, &setup.info, &error));
  assert_error (&error, CONVOLVE_ERROR_UNSUPPORTED, "fake");
  convolve_settings_clear (&setup.settings);
  convolve_device_close (device);
}

static void
test_incomplete (void)
{
  ConvolveOpenOptions options = {.device_id = -1,.frames_in_flight = 1 };
  ConvolveBackend backend = fake;
  g_autoptr (GError) error = NULL;

  backend.history_new = fake_history_new;
  g_assert_null (convolve_device_open (&backend, &options, &error));
  assert_error (&error, CONVOLVE_ERROR_UNSUPPORTED, "incomplete");
}

typedef struct
{
  Setup setup;
  ConvolveBackend backend;
  ConvolveDevice *device;
  ConvolvePlan *plan;
  ConvolveProgram *program;
  ConvolveHistory *history, *other;     /* of other frames */
} Histories;

static void
histories_init (Histories * h)
{
  static const gdouble taps[] = { 1, 2, 1 };
  ConvolveOpenOptions options = {.device_id = -1,.frames_in_flight = 1 };
  g_autoptr (GError) error = NULL;

  h->backend = fake;
  h->backend.history_new = fake_history_new;
  h->backend.history_store = fake_store;
  h->backend.history_free = fake_history_free;
  h->backend.process_window = fake_window;
  h->device = convolve_device_open (&h->backend, &options, &error);
  g_assert_no_error (error);
  setup_init (&h->setup, CONVOLVE_FILTER_BOX);
  set_taps (&h->setup, 3, taps);
  h->plan = make (&h->setup);
  h->program = convolve_program_new (h->device, h->plan, &error);
  g_assert_no_error (error);
  h->history = convolve_history_new (h->device, &h->setup.info, &error);
  g_assert_no_error (error);
  h->setup.info.width = 6;
  h->other = convolve_history_new (h->device, &h->setup.info, &error);
  g_assert_no_error (error);
}

static void
histories_clear (Histories * h)
{
  convolve_history_free (h->history);
  convolve_history_free (h->other);
  convolve_program_free (h->program);
  convolve_device_close (h->device);
  convolve_plan_unref (h->plan);
  convolve_settings_clear (&h->setup.settings);
}

/* A window that is refused for a reason with these words. */
static void
assert_window_refused (const Histories * h, const ConvolveWindow * window,
    const ConvolveFrame * frame, const gchar * words)
{
  g_autoptr (GError) error = NULL;
  guint64 job;

  g_assert_false (convolve_program_process_window (h->program, window, frame,
          NULL, &job, &error));
  assert_error (&error, CONVOLVE_ERROR_INVALID, words);
}

static void
test_histories (void)
{
  guint8 bytes[64];
  const ConvolveFrame frame = {.data = {bytes},.stride = {8} };
  ConvolveFrame bad = frame;
  const guint slots[3] = { 0, 1, 1 };
  g_autoptr (GError) error = NULL;
  ConvolveWindow window;
  guint64 job;
  Histories h;

  histories_init (&h);
  window = (ConvolveWindow) {
  .history = h.history,.n = 3,.slot = slots};
  g_assert_null (convolve_history_new (NULL, &h.setup.info, &error));
  assert_error (&error, CONVOLVE_ERROR_INVALID, "device");
  g_assert_false (convolve_program_process (h.program, &frame, &frame, &job,
          &error));
  assert_error (&error, CONVOLVE_ERROR_INVALID, "window");
  g_assert_false (convolve_history_store (h.history,
          CONVOLVE_HISTORY_MAX_SLOTS, &frame, &error));
  assert_error (&error, CONVOLVE_ERROR_INVALID, "slot");
  bad.stride[0] = 7;
  g_assert_false (convolve_history_store (h.history, 0, &bad, &error));
  assert_error (&error, CONVOLVE_ERROR_INVALID, "stride");
  g_assert_cmpuint (n_stored, ==, 0);

  stores = TRUE;
  g_assert_true (convolve_history_store (h.history, 0, &frame, &error));
  assert_window_refused (&h, &window, &frame, "slot 1");
  g_assert_true (convolve_history_store (h.history, 1, &frame, &error));
  g_assert_cmpuint (n_run, ==, 0);
  runs = TRUE;
  g_assert_true (convolve_program_process_window (h.program, &window, &frame,
          NULL, &job, &error));
  g_assert_cmpuint (n_run, ==, 1);

  /* A slot that a failure spoilt holds nothing. */
  stores = FALSE;
  g_assert_false (convolve_history_store (h.history, 1, &frame, &error));
  assert_error (&error, CONVOLVE_ERROR_FAILED, "no reason");
  assert_window_refused (&h, &window, &frame, "slot 1");

  window.n = 2;
  assert_window_refused (&h, &window, &frame, "window of 3 frames");
  window.n = 3;
  window.history = h.other;
  assert_window_refused (&h, &window, &frame, "other frames");
  histories_clear (&h);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/time/frames", test_frames);
  g_test_add_func ("/time/description", test_description);
  g_test_add_func ("/time/figures", test_figures);
  g_test_add_func ("/time/refused", test_refused);
  g_test_add_func ("/time/without", test_without);
  g_test_add_func ("/time/incomplete", test_incomplete);
  g_test_add_func ("/time/histories", test_histories);
  return g_test_run ();
}
