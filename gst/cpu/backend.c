/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The CPU backend's table of functions. Work is done when process returns. */
#include "config.h"

#include "core/backend.h"

#include "engine.h"
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
} CpuDevice;

typedef struct
{
  ConvolveProgram program;
  guint n_steps;
  CpuStep **step;
  guint n_levels;
  guint8 *memory;               /* memory_bytes for each thread */
  gsize memory_bytes;
  gpointer allocation;
  guint64 frame_bytes;

  /* The frame in work. */
  guint level;
  const ConvolveFrame *in, *out;
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

  for (guint i = 0; i < self->n_steps; i++)
    convolve_cpu_step_free (self->step[i]);
  g_free (self->step);
  g_free (self->allocation);
  convolve_plan_unref (program->plan);
  g_free (self);
}

static guint
count_items (const CpuProgram * self, guint level)
{
  guint n = 0;

  for (guint i = 0; i < self->n_steps; i++)
    if (level < self->step[i]->n_levels)
      n += convolve_cpu_step_items (self->step[i]);
  return n;
}

/* Memory for as many threads as can be at work. */
static gboolean
allocate_memory (CpuProgram * self, guint n_threads, GError ** error)
{
  gsize bytes = 0;

  for (guint i = 0; i < self->n_steps; i++)
    bytes = MAX (bytes, self->step[i]->memory.size);
  n_threads = MIN (n_threads, count_items (self, 0));
  self->memory_bytes = (bytes / ALIGNMENT + 1) * ALIGNMENT;
  self->allocation = g_try_malloc0 (self->memory_bytes * n_threads + ALIGNMENT);
  if (self->allocation == NULL) {
    g_set_error (error, CONVOLVE_ERROR, CONVOLVE_ERROR_NO_MEMORY,
        "there is not enough memory for %u threads with %" G_GSIZE_FORMAT
        " bytes each", n_threads, self->memory_bytes);
    return FALSE;
  }
  self->memory = (guint8 *) (((guintptr) self->allocation + ALIGNMENT - 1)
      / ALIGNMENT * ALIGNMENT);
  return TRUE;
}

static guint64
pass_bytes (const ConvolvePass * pass)
{
  const ConvolveLayout *layout = &pass->layout;
  guint64 pixels = (guint64) pass->width * pass->height;

  if (layout->type == CONVOLVE_SAMPLE_BITS32LE)
    return 4 * pixels;
  return pixels * layout->n_components
      * (layout->type == CONVOLVE_SAMPLE_U8 ? 1 : 2);
}

static ConvolveProgram *
cpu_prepare (ConvolveDevice * device, ConvolvePlan * plan, GError ** error)
{
  CpuDevice *cpu = (CpuDevice *) device;
  guint n_threads = convolve_cpu_pool_threads (cpu->pool);
  CpuProgram *self = g_new0 (CpuProgram, 1);

  self->program.device = device;
  self->program.plan = convolve_plan_ref (plan);
  self->step = g_new0 (CpuStep *, plan->n_passes);
  for (guint i = 0; i < plan->n_passes; i++) {
    CpuStep *step = convolve_cpu_step_new (&plan->pass[i], cpu->isa,
        n_threads, error);

    if (step == NULL) {
      cpu_release (&self->program);
      return NULL;
    }
    self->step[self->n_steps++] = step;
    self->n_levels = MAX (self->n_levels, step->n_levels);
    self->frame_bytes += pass_bytes (&plan->pass[i]);
  }
  for (guint i = 0; i < self->n_steps; i++)
    convolve_cpu_step_link_alpha (self->step[i], self->step, self->n_steps);
  if (!allocate_memory (self, n_threads, error)) {
    cpu_release (&self->program);
    return NULL;
  }
  return &self->program;
}

static gchar *
cpu_describe (ConvolveProgram * program)
{
  CpuProgram *self = (CpuProgram *) program;
  GString *string = g_string_new (NULL);

  for (guint i = 0; i < self->n_steps; i++) {
    g_autofree gchar *line = convolve_cpu_step_describe (self->step[i]);

    g_string_append_printf (string, "%s%s", i > 0 ? "\n" : "", line);
  }
  return g_string_free (string, FALSE);
}

/* ---- frames ---- */

/* Item of the level's items of all steps, one after the other. */
static void
run_item (gpointer data, guint item, guint thread)
{
  CpuProgram *self = data;
  guint i = 0;

  for (;; i++) {
    guint n = self->level < self->step[i]->n_levels ?
        convolve_cpu_step_items (self->step[i]) : 0;

    if (item < n)
      break;
    item -= n;
  }
  convolve_cpu_engine_run (self->step[i], self->level, item, self->in,
      self->out, self->memory + thread * self->memory_bytes);
}

static gboolean
cpu_process (ConvolveProgram * program, const ConvolveFrame * in,
    const ConvolveFrame * out, guint64 * job, GError ** error)
{
  CpuProgram *self = (CpuProgram *) program;
  CpuDevice *cpu = (CpuDevice *) program->device;
  gint64 start = g_get_monotonic_time ();

  if (in->memory == CONVOLVE_MEMORY_DEVICE
      || out->memory == CONVOLVE_MEMORY_DEVICE) {
    g_set_error_literal (error, CONVOLVE_ERROR, CONVOLVE_ERROR_UNSUPPORTED,
        "the CPU backend cannot reach device memory");
    return FALSE;
  }
  self->in = in;
  self->out = out;
  /* Each iteration reads the whole of the one before. */
  for (self->level = 0; self->level < self->n_levels; self->level++)
    convolve_cpu_pool_run (cpu->pool, run_item, self,
        count_items (self, self->level));

  cpu->stats.frames++;
  cpu->stats.bytes_in += self->frame_bytes;
  cpu->stats.bytes_out += self->frame_bytes;
  cpu->stats.last_ns = (g_get_monotonic_time () - start) * 1000;
  cpu->stats.kernel_ns += cpu->stats.last_ns;
  *job = cpu->stats.frames;
  return TRUE;
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
  };

  return &backend;
}
