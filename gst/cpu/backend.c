/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The CPU backend's table of functions. Work is done when process returns. */
#include "config.h"

#include "core/backend.h"

#include "engine.h"
#include "history.h"
#include "parts.h"
#include "pool.h"

#define MAX_THREADS 256
#define ALIGNMENT 64

typedef struct
{
  ConvolveDevice device;
  const CpuIsa *isa;
  CpuPool *pool;
  gchar *name;
  ConvolveStats stats;
  gint cancelled;               /* atomic */
} CpuDevice;

typedef struct
{
  ConvolveProgram program;
  CpuParts parts;
  guint8 *memory;               /* memory_bytes for each thread */
  gsize memory_bytes;
  guint n_memories;             /* threads that have some */
  gpointer allocation;

  /* The frame in work. */
  guint level;
  CpuJob job;
} CpuProgram;

static gboolean
cpu_probe (GError ** error)
{
  return TRUE;
}

static void
cpu_close (ConvolveDevice * device)
{
  CpuDevice *self = (CpuDevice *) device;

  g_clear_pointer (&self->pool, convolve_cpu_pool_free);
  g_free (self->name);
  g_free (self);
}

static ConvolveDevice *
cpu_open (const ConvolveOpenOptions * options, GError ** error)
{
  CpuDevice *self = g_new0 (CpuDevice, 1);
  guint n_threads = options->n_threads;

  if (n_threads == 0)
    n_threads = g_get_num_processors ();
  n_threads = CLAMP (n_threads, 1, MAX_THREADS);
  self->isa = convolve_cpu_isa ();
  self->name = g_strdup_printf ("CPU, %s, %u thread%s", self->isa->name,
      n_threads, n_threads == 1 ? "" : "s");
  self->pool = convolve_cpu_pool_new (n_threads, error);
  if (self->pool == NULL) {
    cpu_close (&self->device);
    return NULL;
  }
  return &self->device;
}

/* ---- programs ---- */

static void
cpu_release (ConvolveProgram * program)
{
  CpuProgram *self = (CpuProgram *) program;

  for (guint i = 0; i < program->plan->n_passes; i++) {
    g_clear_pointer (&self->parts.step[i], convolve_cpu_step_free);
    g_clear_pointer (&self->parts.copy[i], convolve_cpu_step_free);
  }
  g_free (self->parts.step);
  g_free (self->parts.copy);
  convolve_cpu_parts_clear (&self->parts);
  g_free (self->allocation);
  convolve_plan_unref (program->plan);
  g_free (self);
}

/* Memory for as many threads as can be at work on so many pieces. */
static gboolean
ensure_memory (CpuProgram * self, guint n_pieces, GError ** error)
{
  guint n = MIN (self->parts.n_threads, n_pieces);

  if (n <= self->n_memories)
    return TRUE;
  g_free (self->allocation);
  self->n_memories = 0;
  self->allocation = g_try_malloc0_n (n + 1, self->memory_bytes);
  if (self->allocation == NULL) {
    g_set_error (error, CONVOLVE_ERROR, CONVOLVE_ERROR_NO_MEMORY,
        "there is not enough memory for %u threads with %" G_GSIZE_FORMAT
        " bytes each", n, self->memory_bytes);
    return FALSE;
  }
  self->n_memories = n;
  self->memory = (guint8 *) (((guintptr) self->allocation + ALIGNMENT - 1)
      / ALIGNMENT * ALIGNMENT);
  return TRUE;
}

static gboolean
make_steps (CpuProgram * self, const CpuIsa * isa, GError ** error)
{
  CpuParts *parts = &self->parts;
  gsize bytes = 0;

  for (; parts->n_steps < parts->plan->n_passes; parts->n_steps++) {
    const ConvolvePass *pass = &parts->plan->pass[parts->n_steps];
    CpuStep *step = convolve_cpu_step_new (pass, isa, parts->n_threads, error);
    CpuStep *copy = NULL;

    if (step != NULL)
      copy = convolve_cpu_step_new_copy (pass, isa, parts->n_threads, error);
    parts->step[parts->n_steps] = step;
    parts->copy[parts->n_steps] = copy;
    if (copy == NULL)
      return FALSE;
    parts->n_levels = MAX (parts->n_levels, step->n_levels);
    bytes = MAX (bytes, MAX (step->memory.size, copy->memory.size));
  }
  for (guint i = 0; i < parts->n_steps; i++) {
    convolve_cpu_step_link_alpha (parts->step[i], parts->step, parts->n_steps);
    parts->whole_levels |= parts->step[i]->alpha_step != NULL;
  }
  self->memory_bytes = (bytes / ALIGNMENT + 1) * ALIGNMENT;
  return TRUE;
}

static ConvolveProgram *
cpu_prepare (ConvolveDevice * device, ConvolvePlan * plan, GError ** error)
{
  CpuDevice *cpu = (CpuDevice *) device;
  CpuProgram *self = g_new0 (CpuProgram, 1);
  CpuParts *parts = &self->parts;

  self->program.device = device;
  self->program.plan = convolve_plan_ref (plan);
  convolve_cpu_parts_init (parts);
  parts->plan = plan;
  parts->n_threads = convolve_cpu_pool_threads (cpu->pool);
  parts->step = g_new0 (CpuStep *, plan->n_passes);
  parts->copy = g_new0 (CpuStep *, plan->n_passes);
  if (make_steps (self, cpu->isa, error)) {
    convolve_cpu_parts_list (parts, NULL, 0);
    if (ensure_memory (self, parts->part->len, error))
      return &self->program;
  }
  cpu_release (&self->program);
  return NULL;
}

static gchar *
cpu_describe (ConvolveProgram * program)
{
  CpuProgram *self = (CpuProgram *) program;
  GString *string = g_string_new (NULL);

  for (guint i = 0; i < self->parts.n_steps; i++) {
    g_autofree gchar *line = convolve_cpu_step_describe (self->parts.step[i]);

    g_string_append_printf (string, "%s%s", i > 0 ? "\n" : "", line);
  }
  return g_string_free (string, FALSE);
}

/* ---- frames ---- */

static void
run_part (gpointer data, guint item, guint thread)
{
  CpuProgram *self = data;
  const CpuPart *part = &g_array_index (self->parts.part, CpuPart, item);

  convolve_cpu_engine_run (part->step, self->level, &part->rect, &self->job,
      self->memory + thread * self->memory_bytes);
}

static gboolean
check_frames (const ConvolveFrame * in, const ConvolveFrame * out,
    GError ** error)
{
  if (in->memory != CONVOLVE_MEMORY_DEVICE
      && out->memory != CONVOLVE_MEMORY_DEVICE)
    return TRUE;
  g_set_error_literal (error, CONVOLVE_ERROR, CONVOLVE_ERROR_UNSUPPORTED,
      "the CPU backend cannot reach device memory");
  return FALSE;
}

/* frames: the window that in is of, or NULL. */
static gboolean
run_frame (ConvolveProgram * program, const ConvolveFrame * in,
    const ConvolveFrame * const *frames, const ConvolveFrame * out,
    const ConvolveRegions * regions, guint64 * job, GError ** error)
{
  CpuProgram *self = (CpuProgram *) program;
  CpuDevice *cpu = (CpuDevice *) program->device;
  gint64 start = g_get_monotonic_time ();

  if (!check_frames (in, out, error))
    return FALSE;
  self->job = (CpuJob) {
  in, out, frames, &cpu->cancelled};
  /* Each iteration reads the whole of the one before. */
  for (self->level = 0; self->level < self->parts.n_levels; self->level++) {
    convolve_cpu_parts_list (&self->parts, regions, self->level);
    if (!ensure_memory (self, self->parts.part->len, error))
      return FALSE;
    convolve_cpu_pool_run (cpu->pool, run_part, self, self->parts.part->len);
  }
  if (g_atomic_int_get (&cpu->cancelled)) {
    g_set_error_literal (error, CONVOLVE_ERROR, CONVOLVE_ERROR_CANCELLED,
        "the frame was cancelled");
    return FALSE;
  }

  convolve_program_count_job (program, &cpu->stats);
  cpu->stats.last_ns = (g_get_monotonic_time () - start) * 1000;
  cpu->stats.kernel_ns += cpu->stats.last_ns;
  *job = cpu->stats.frames;
  return TRUE;
}

static gboolean
cpu_process (ConvolveProgram * program, const ConvolveFrame * in,
    const ConvolveFrame * out, const ConvolveRegions * regions, guint64 * job,
    GError ** error)
{
  return run_frame (program, in, NULL, out, regions, job, error);
}

static gboolean
cpu_process_window (ConvolveProgram * program, const ConvolveWindow * window,
    const ConvolveFrame * out, const ConvolveRegions * regions, guint64 * job,
    GError ** error)
{
  const ConvolveFrame *frames[CONVOLVE_MATRIX_MAX_DEPTH];

  for (guint i = 0; i < window->n; i++)
    frames[i] = convolve_cpu_history_frame (window->history, window->slot[i]);
  return run_frame (program, frames[program->plan->before], frames, out,
      regions, job, error);
}

static void
cpu_cancel (ConvolveDevice * device, gboolean cancel)
{
  g_atomic_int_set (&((CpuDevice *) device)->cancelled, cancel);
}

static gboolean
cpu_wait (ConvolveDevice * device, guint64 job, GError ** error)
{
  return TRUE;
}

static void
cpu_get_stats (ConvolveDevice * device, ConvolveStats * stats)
{
  *stats = ((CpuDevice *) device)->stats;
}

static const gchar *
cpu_device_name (ConvolveDevice * device)
{
  return ((CpuDevice *) device)->name;
}

const ConvolveBackend *
convolve_backend_cpu (void)
{
  static const ConvolveBackend backend = {
    .name = "cpu",
    .probe = cpu_probe,
    .open = cpu_open,
    .prepare = cpu_prepare,
    .process = cpu_process,
    .wait = cpu_wait,
    .release = cpu_release,
    .close = cpu_close,
    .get_stats = cpu_get_stats,
    .describe = cpu_describe,
    .device_name = cpu_device_name,
    .history_new = convolve_cpu_history_new,
    .history_store = convolve_cpu_history_store,
    .history_free = convolve_cpu_history_free,
    .process_window = cpu_process_window,
    .cancel = cpu_cancel,
  };

  return &backend;
}
