/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The property stats. A reader makes the structure; frames only add to
 * numbers. */
#include "config.h"

#include "gstvideoconvolve-private.h"

/* ---- on the streaming thread ---- */

void
gst_video_convolve_set_plan (GstVideoConvolve * self, gchar * text,
    ConvolvePlan * frames, ConvolvePlan * fields)
{
  ConvolvePlan *plans[2] = { frames, fields };
  gchar *old_text;

  for (guint i = 0; i < 2; i++)
    if (plans[i] != NULL)
      convolve_plan_ref (plans[i]);
  GST_OBJECT_LOCK (self);
  old_text = self->plan_text;
  self->plan_text = text;
  for (guint i = 0; i < 2; i++) {
    ConvolvePlan *old = self->plans[i];

    self->plans[i] = plans[i];
    plans[i] = old;
  }
  GST_OBJECT_UNLOCK (self);
  g_free (old_text);
  for (guint i = 0; i < 2; i++)
    g_clear_pointer (&plans[i], convolve_plan_unref);
}

/* ---- for readers ---- */

static gchar *
describe_operation (const ConvolvePass * pass)
{
  return pass->operation != NULL ?
      convolve_operation_describe (pass->operation) : g_strdup ("copy");
}

static void
append_pass (GValue * list, const ConvolvePass * pass, gboolean fields)
{
  GValue value = G_VALUE_INIT;
  ConvolveWork work;
  g_autofree gchar *text = describe_operation (pass);

  convolve_pass_work (pass, &work);
  g_value_init (&value, GST_TYPE_STRUCTURE);
  g_value_take_boxed (&value, gst_structure_new ("pass",
          "plane", G_TYPE_UINT, (guint) pass->layout.plane,
          "field", G_TYPE_INT, fields ? (gint) pass->row_first : -1,
          "width", G_TYPE_INT, pass->width,
          "height", G_TYPE_INT, pass->height,
          "operation", G_TYPE_STRING, text,
          "iterations", G_TYPE_UINT, pass->iterations,
          "bytes-read", G_TYPE_UINT64, work.bytes_read,
          "bytes-written", G_TYPE_UINT64, work.bytes_written,
          "multiply-adds", G_TYPE_UINT64, work.multiply_adds, NULL));
  gst_value_array_append_and_take_value (list, &value);
}

static void
make_passes (GstVideoConvolve * self, GValue * list)
{
  g_value_init (list, GST_TYPE_ARRAY);
  for (guint i = 0; i < 2; i++)
    for (guint p = 0; self->plans[i] != NULL && p < self->plans[i]->n_passes;
        p++)
      append_pass (list, &self->plans[i]->pass[p], self->plans[i]->fields);
}

/* What is counted in units, a nanosecond: billions a second. */
static gdouble
rate (guint64 units, guint64 ns)
{
  return ns > 0 ? (gdouble) units / ns : 0;
}

GstStructure *
gst_video_convolve_make_stats (GstVideoConvolve * self)
{
  const ConvolveStats *stats = &self->stats;
  GstStructure *structure = gst_structure_new ("videoconvolve-stats",
      "frames", G_TYPE_UINT64, stats->frames,
      "passed-through", G_TYPE_UINT64, self->n_passed,
      "backend", G_TYPE_STRING, self->backend_name,
      "device", G_TYPE_STRING, self->device_text,
      "plan", G_TYPE_STRING, self->plan_text,
      "bytes-in", G_TYPE_UINT64, stats->bytes_in,
      "bytes-out", G_TYPE_UINT64, stats->bytes_out,
      "bytes-moved", G_TYPE_UINT64, stats->bytes_moved,
      "multiply-adds", G_TYPE_UINT64, stats->multiply_adds,
      "upload", G_TYPE_UINT64, stats->upload_ns,
      "kernel", G_TYPE_UINT64, stats->kernel_ns,
      "download", G_TYPE_UINT64, stats->download_ns,
      "last", G_TYPE_UINT64, stats->last_ns,
      "bandwidth", G_TYPE_DOUBLE, rate (stats->bytes_moved, stats->kernel_ns),
      "arithmetic", G_TYPE_DOUBLE,
      rate (stats->multiply_adds, stats->kernel_ns), NULL);
  GValue passes = G_VALUE_INIT;

  make_passes (self, &passes);
  gst_structure_take_value (structure, "passes", &passes);
  return structure;
}
