/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Stands in the place of the CUDA backend in a second build of the plugin, so
 * that the element can be tested with a backend that finishes frames late and
 * that fails. Frames are filtered by the CPU backend, but not before somebody
 * waits for them: an element that unmaps or frees too early is found out.
 *   FAKE_CUDA_FAIL=probe      there is no device
 *   FAKE_CUDA_FAIL=process:N  the N-th frame cannot be started, nor any later
 *   FAKE_CUDA_FAIL=wait:N     the N-th frame fails when it is waited for, and
 *                             any after it */
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
  } job[8];
} FakeDevice;

typedef struct
{
  ConvolveProgram program;
  ConvolveProgram *cpu;
} FakeProgram;

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
  ConvolveRegions regions = { rects->len, (const ConvolveRect *) rects->data };
  guint64 job;

  return convolve_program_process_regions (((FakeProgram *)
          fake->job[i].program)->cpu, &fake->job[i].in, &fake->job[i].out,
      fake->job[i].has_regions ? &regions : NULL, &job, error)
      && convolve_device_wait (fake->cpu, job, error);
}

static gboolean
fake_process (ConvolveProgram * program, const ConvolveFrame * in,
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
  fake->job[fake->n_started % 8].in = *in;
  fake->job[fake->n_started % 8].out = *out;
  fake_keep_regions (fake, fake->n_started % 8, regions);
  *job = ++fake->n_started;
  return TRUE;
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
    .cancel = fake_cancel,
  };

  return &fake;
}
