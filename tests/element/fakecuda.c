/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Stands in the place of the CUDA backend in a second build of the plugin, so
 * that the element can be tested with a backend that finishes frames late and
 * that fails. Frames are filtered by the CPU backend, but not before somebody
 * waits for them: an element that unmaps or frees too early is found out.
 *   FAKE_CUDA_FAIL=probe      there is no device
 *   FAKE_CUDA_FAIL=process:N  the N-th frame cannot be started, nor any later
 *   FAKE_CUDA_FAIL=wait:N     the N-th frame fails when it is waited for, and
 *                             any after it
 *   FAKE_CUDA_FAIL=store:N    the N-th frame cannot be kept, nor any later */
#include "core/backend.h"

#include <stdlib.h>
#include <string.h>

typedef struct
{
  ConvolveDevice device;
  ConvolveDevice *cpu;
  guint limit;                  /* frames_in_flight */
  guint64 n_started, n_done;
  struct
  {
    ConvolveProgram *program;
    ConvolveFrame in, out;
    gboolean has_regions;
    GArray *rects;              /* a copy: the caller's need not stay */
    ConvolveHistory *history;   /* the CPU's, of a job on a window */
    guint n, slot[CONVOLVE_MATRIX_MAX_DEPTH];
    gboolean ran;
  } job[8];
} FakeDevice;

typedef struct
{
  ConvolveProgram program;
  ConvolveProgram *cpu;
} FakeProgram;

typedef struct
{
  ConvolveHistory history;
  ConvolveHistory *cpu;
} FakeHistory;

/* The frame from which on calls of that kind fail, or 0. */
static guint64
fails_from (const gchar * kind)
{
  const gchar *fail = g_getenv ("FAKE_CUDA_FAIL");

  if (fail == NULL || !g_str_has_prefix (fail, kind))
    return 0;
  return g_ascii_strtoull (fail + strlen (kind), NULL, 10);
}

static gboolean
fail (GError ** error, ConvolveError code, const gchar * text)
{
  g_set_error_literal (error, CONVOLVE_ERROR, code, text);
  return FALSE;
}

static gboolean
fake_probe (GError ** error)
{
  if (g_strcmp0 (g_getenv ("FAKE_CUDA_FAIL"), "probe") == 0)
    return fail (error, CONVOLVE_ERROR_NO_DEVICE, "the fake device is away");
  return TRUE;
}

static ConvolveDevice *
fake_open (const ConvolveOpenOptions * options, GError ** error)
{
  ConvolveDevice *cpu =
      convolve_device_open (convolve_backend_cpu (), options, error);
  FakeDevice *fake;

  if (cpu == NULL)
    return NULL;
  fake = g_new0 (FakeDevice, 1);
  fake->cpu = cpu;
  fake->limit = options->frames_in_flight;
  for (guint i = 0; i < 8; i++)
    fake->job[i].rects = g_array_new (FALSE, FALSE, sizeof (ConvolveRect));
  return &fake->device;
}

static ConvolveProgram *
fake_prepare (ConvolveDevice * device, ConvolvePlan * plan, GError ** error)
{
  ConvolveProgram *cpu =
      convolve_program_new (((FakeDevice *) device)->cpu, plan, error);
  FakeProgram *fake;

  if (cpu == NULL)
    return NULL;
  fake = g_new0 (FakeProgram, 1);
  fake->cpu = cpu;
  fake->program.plan = convolve_plan_ref (plan);
  return &fake->program;
}

static void
fake_keep_regions (FakeDevice * fake, guint i, const ConvolveRegions * regions)
{
  GArray *rects = fake->job[i].rects;

  fake->job[i].has_regions = regions != NULL;
  g_array_set_size (rects, 0);
  if (regions != NULL && regions->n > 0)
    g_array_append_vals (rects, regions->rect, regions->n);
}

static gboolean
fake_run (FakeDevice * fake, guint i, GError ** error)
{
  const GArray *rects = fake->job[i].rects;
  ConvolveProgram *program = ((FakeProgram *) fake->job[i].program)->cpu;
  ConvolveWindow window = { fake->job[i].history, fake->job[i].n,
    fake->job[i].slot
  };
  ConvolveRegions all = { rects->len, (const ConvolveRect *) rects->data };
  ConvolveRegions *regions = fake->job[i].has_regions ? &all : NULL;
  guint64 job;

  if (fake->job[i].ran)
    return TRUE;
  fake->job[i].ran = TRUE;
  if (window.history != NULL)
    return convolve_program_process_window (program, &window,
        &fake->job[i].out, regions, &job, error)
        && convolve_device_wait (fake->cpu, job, error);
  return convolve_program_process_regions (program, &fake->job[i].in,
      &fake->job[i].out, regions, &job, error)
      && convolve_device_wait (fake->cpu, job, error);
}

/* in NULL: the frames are set already. */
static gboolean
fake_start (ConvolveProgram * program, const ConvolveFrame * in,
    const ConvolveFrame * out, const ConvolveRegions * regions, guint64 * job,
    GError ** error)
{
  FakeDevice *fake = (FakeDevice *) program->device;
  guint64 from = fails_from ("process:");

  if (fake->n_started - fake->n_done >= fake->limit)
    return fail (error, CONVOLVE_ERROR_INVALID,
        "more frames in flight than the device was opened for");
  if (from != 0 && fake->n_started + 1 >= from)
    return fail (error, CONVOLVE_ERROR_LOST, "the fake device is lost");
  fake->job[fake->n_started % 8].program = program;
  if (in != NULL) {
    fake->job[fake->n_started % 8].in = *in;
    fake->job[fake->n_started % 8].history = NULL;
  }
  fake->job[fake->n_started % 8].ran = FALSE;
  fake->job[fake->n_started % 8].out = *out;
  fake_keep_regions (fake, fake->n_started % 8, regions);
  *job = ++fake->n_started;
  return TRUE;
}

static gboolean
fake_process (ConvolveProgram * program, const ConvolveFrame * in,
    const ConvolveFrame * out, const ConvolveRegions * regions, guint64 * job,
    GError ** error)
{
  return fake_start (program, in, out, regions, job, error);
}

static gboolean
fake_process_window (ConvolveProgram * program, const ConvolveWindow * window,
    const ConvolveFrame * out, const ConvolveRegions * regions, guint64 * job,
    GError ** error)
{
  FakeDevice *fake = (FakeDevice *) program->device;
  guint i = fake->n_started % 8;

  fake->job[i].history = ((FakeHistory *) window->history)->cpu;
  fake->job[i].n = window->n;
  memcpy (fake->job[i].slot, window->slot, window->n * sizeof (guint));
  return fake_start (program, NULL, out, regions, job, error);
}

static ConvolveHistory *
fake_history_new (ConvolveDevice * device, const GstVideoInfo * info,
    GError ** error)
{
  FakeHistory *fake = g_new0 (FakeHistory, 1);

  fake->cpu = convolve_history_new (((FakeDevice *) device)->cpu, info, error);
  return &fake->history;
}

/* Jobs that look at the slot see what it held. */
static gboolean
fake_history_store (ConvolveHistory * history, guint slot,
    const ConvolveFrame * in, GError ** error)
{
  FakeDevice *fake = (FakeDevice *) history->device;
  guint64 from = fails_from ("store:");
  static guint64 n_stored;

  if (from != 0 && ++n_stored >= from)
    return fail (error, CONVOLVE_ERROR_LOST, "the fake device is lost");
  for (guint64 k = fake->n_done; k < fake->n_started; k++) {
    gboolean looks = FALSE;

    for (guint n = 0; n < fake->job[k % 8].n; n++)
      looks |= fake->job[k % 8].history != NULL
          && fake->job[k % 8].slot[n] == slot;
    if (looks && !fake_run (fake, k % 8, error))
      return FALSE;
  }
  return convolve_history_store (((FakeHistory *) history)->cpu, slot, in,
      error);
}

static void
fake_history_free (ConvolveHistory * history)
{
  convolve_history_free (((FakeHistory *) history)->cpu);
  g_free (history);
}

static gboolean
fake_wait (ConvolveDevice * device, guint64 job, GError ** error)
{
  FakeDevice *fake = (FakeDevice *) device;
  guint64 from = fails_from ("wait:");

  while (fake->n_done < job) {
    guint i = fake->n_done % 8;

    fake->n_done++;
    if (from != 0 && fake->n_done >= from)
      continue;
    if (!fake_run (fake, i, error))
      return FALSE;
  }
  if (from != 0 && job >= from)
    return fail (error, CONVOLVE_ERROR_LOST, "the fake device is lost");
  return TRUE;
}

static void
fake_release (ConvolveProgram * program)
{
  convolve_program_free (((FakeProgram *) program)->cpu);
  convolve_plan_unref (program->plan);
  g_free (program);
}

static void
fake_close (ConvolveDevice * device)
{
  FakeDevice *fake = (FakeDevice *) device;

  /* All programs are gone, so nothing may be outstanding. */
  g_assert_cmpuint (fake->n_started, ==, fake->n_done);
  convolve_device_close (fake->cpu);
  for (guint i = 0; i < 8; i++)
    g_array_unref (fake->job[i].rects);
  g_free (fake);
}

static void
fake_cancel (ConvolveDevice * device, gboolean cancel)
{
  convolve_device_cancel (((FakeDevice *) device)->cpu, cancel);
}

static void
fake_get_stats (ConvolveDevice * device, ConvolveStats * stats)
{
  convolve_device_get_stats (((FakeDevice *) device)->cpu, stats);
}

static gchar *
fake_describe (ConvolveProgram * program)
{
  return convolve_plan_describe (program->plan);
}

static const gchar *
fake_device_name (ConvolveDevice * device)
{
  return "fake device";
}

/* Stands for page-locked memory. */
static gpointer
fake_host_alloc (ConvolveDevice * device, gsize size, gpointer * owner,
    GError ** error)
{
  gpointer memory = NULL;

  *owner = NULL;
  if (posix_memalign (&memory, 4096, MAX (size, 1)) != 0)
    fail (error, CONVOLVE_ERROR_NO_MEMORY, "there is no memory");
  return memory;
}

static void
fake_host_free (gpointer owner, gpointer memory)
{
  free (memory);
}

const ConvolveBackend *
convolve_backend_cuda (void)
{
  static const ConvolveBackend fake = {
    .name = "cuda",
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
    .host_alloc = fake_host_alloc,
    .host_free = fake_host_free,
    .history_new = fake_history_new,
    .history_store = fake_history_store,
    .history_free = fake_history_free,
    .process_window = fake_process_window,
    .cancel = fake_cancel,
  };

  return &fake;
}
