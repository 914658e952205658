/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "runner.h"

#include "testmain.h"

/* A backend of the product is checked by one more row. */
static const struct
{
  const gchar *name;
  const ConvolveBackend *(*get) (void);
} backends[] = {
  {"cpu", convolve_backend_cpu},
  {"cuda", convolve_backend_cuda},
};

static gboolean
cannot_run_here (const GError * error)
{
  return g_error_matches (error, CONVOLVE_ERROR, CONVOLVE_ERROR_NO_DEVICE)
      || g_error_matches (error, CONVOLVE_ERROR, CONVOLVE_ERROR_UNSUPPORTED);
}

int
runner_open (const gchar * name, guint n_threads, guint bands,
    ConvolveDevice ** device)
{
  ConvolveOpenOptions open = {.device_id = -1,.n_threads = n_threads,
    .frames_in_flight = 1,.bands = bands
  };
  g_autoptr (GError) error = NULL;

  for (guint i = 0; i < G_N_ELEMENTS (backends); i++) {
    if (!g_str_equal (name, backends[i].name))
      continue;
    *device = convolve_device_open (backends[i].get (), &open, &error);
    if (*device != NULL) {
      g_print ("%s\n", (*device)->backend->device_name (*device));
      return TEST_PASSED;
    }
    g_print ("the backend %s cannot run: %s\n", name, error->message);
    return cannot_run_here (error) ? TEST_SKIPPED : TEST_FAILED;
  }
  g_printerr ("there is no backend '%s'\n", name);
  return TEST_USAGE;
}

/* Each frame goes to a slot of its own, and what lies outside the stream is its
 * first or last one. */
static gboolean
process_window (ConvolveProgram * program, const RunnerStream * stream,
    const ConvolveFrame * out, const ConvolveRegions * regions, guint64 * job,
    GError ** error)
{
  const ConvolvePlan *plan = program->plan;
  guint slots[CONVOLVE_MATRIX_MAX_DEPTH];
  ConvolveHistory *history =
      convolve_history_new (program->device, &plan->info, error);
  ConvolveWindow window = { history, plan->before + 1 + plan->after, slots };
  gboolean ok = history != NULL;

  for (guint i = stream->n; i > 0 && ok; i--)
    ok = convolve_history_store (history, i - 1, &stream->frame[i - 1]->frame,
        error);
  for (guint i = 0; i < window.n; i++)
    slots[i] = CLAMP ((gint) (stream->own + i) - (gint) plan->before, 0,
        (gint) stream->n - 1);
  ok = ok && convolve_program_process_window (program, &window, out, regions,
      job, error) && convolve_device_wait (program->device, *job, error);
  if (history != NULL)
    convolve_history_free (history);
  return ok;
}

gboolean
runner_filter_stream (ConvolveDevice * device, const GstVideoInfo * info,
    const ConvolveSettings * settings, gboolean fields,
    const RunnerRegions * where, const RunnerStream * stream,
    const RandomFrame * out, GError ** error)
{
  g_autoptr (GArray) rects = g_array_new (FALSE, FALSE, sizeof (ConvolveRect));
  ConvolveRegions regions, *part = NULL;
  g_autoptr (ConvolvePlan) plan =
      convolve_plan_new (info, settings, fields, error);
  ConvolveProgram *program;
  gboolean done;
  guint64 job;

  if (plan == NULL)
    return FALSE;
  program = convolve_program_new (device, plan, error);
  if (program == NULL)
    return FALSE;
  for (guint i = 0; where != NULL && i < where->n; i++)
    convolve_rects_add (rects, where->rect[i].x, where->rect[i].y,
        where->rect[i].width, where->rect[i].height);
  if (where != NULL)
    convolve_plan_fit_rects (plan, rects, where->outside);
  regions = (ConvolveRegions) {
  rects->len, (const ConvolveRect *) rects->data};
  part = where != NULL ? &regions : NULL;
  if (plan->windowed || stream->n > 1)
    done = process_window (program, stream, &out->frame, part, &job, error);
  else
    done = convolve_program_process_regions (program, &stream->frame[0]->frame,
        &out->frame, part, &job, error)
        && convolve_device_wait (device, job, error);
  convolve_program_free (program);
  return done;
}

gboolean
runner_filter (ConvolveDevice * device, const GstVideoInfo * info,
    const ConvolveSettings * settings, gboolean fields,
    const RunnerRegions * where, const RandomFrame * in,
    const RandomFrame * out, GError ** error)
{
  RandomFrame *frame = (RandomFrame *) in;
  RunnerStream stream = { &frame, 1, 0 };

  return runner_filter_stream (device, info, settings, fields, where, &stream,
      out, error);
}

int
runner_main (int argc, char **argv, ConvolveDevice ** device,
    guint64 * random_state, void (*add_tests) (void))
{
  int result;

  gst_init (&argc, &argv);
  g_test_init (&argc, &argv, NULL);
  *random_state = test_seed (NULL);
  result = runner_open (argc > 1 ? argv[1] : "cpu", 2, 2, device);
  if (result != TEST_PASSED)
    return result;
  add_tests ();
  result = g_test_run ();
  convolve_device_close (*device);
  return result;
}
