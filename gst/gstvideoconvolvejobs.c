/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Frames in flight: a ring of jobs, the oldest of which is waited for when it
 * is as long as it may be. All of it belongs to the streaming thread, and no
 * lock of the element is held while it waits or pushes. */
#include "config.h"

#include <string.h>

#include "gstvideoconvolve-private.h"

#define GST_CAT_DEFAULT gst_video_convolve_debug

static GstVideoConvolveJob *
nth_job (GstVideoConvolve * self, guint n)
{
  return &self->jobs[(self->first_job + n) % GST_VIDEO_CONVOLVE_MAX_JOBS];
}

/* ---- mapping ---- */

static gboolean
map_input (GstVideoConvolve * self, GstVideoConvolveJob * job, GError ** error)
{
  job->in_is_cuda = gst_video_convolve_is_on_cuda (self)
      && gst_cuda_interop_is_ours (self->interop, job->in);
  if (job->in_is_cuda)
    return gst_cuda_interop_map (self->interop, &job->in_frame.cuda, job->in,
        &self->picture, GST_MAP_READ, error);
  return gst_video_convolve_frame_map (&job->in_frame.host, job->in,
      &self->picture, GST_MAP_READ, error);
}

static gboolean
map_output (GstVideoConvolve * self, GstVideoConvolveJob * job, GError ** error)
{
  job->out_is_cuda = gst_video_convolve_is_on_cuda (self)
      && gst_cuda_interop_is_ours (self->interop, job->out);
  if (job->out_is_cuda)
    return gst_cuda_interop_map (self->interop, &job->out_frame.cuda, job->out,
        &self->picture, GST_MAP_WRITE, error);
  return gst_video_convolve_frame_map (&job->out_frame.host, job->out,
      &self->picture, GST_MAP_WRITE, error);
}

static void
unmap_input (GstVideoConvolveJob * job)
{
  if (job->in == NULL)
    return;
  if (job->in_is_cuda)
    gst_cuda_interop_unmap (&job->in_frame.cuda);
  else
    gst_video_convolve_frame_unmap (&job->in_frame.host);
}

static void
unmap_output (GstVideoConvolveJob * job)
{
  if (job->out_is_cuda)
    gst_cuda_interop_unmap (&job->out_frame.cuda);
  else
    gst_video_convolve_frame_unmap (&job->out_frame.host);
}

/* Both frames, or none. */
static gboolean
map_job (GstVideoConvolve * self, GstVideoConvolveJob * job)
{
  g_autoptr (GError) error = NULL;
  const gchar *which = "an input frame cannot be used";

  if (job->in == NULL || map_input (self, job, &error)) {
    if (job->out == NULL || map_output (self, job, &error))
      return TRUE;
    unmap_input (job);
    which = "an output frame cannot be used";
  }
  GST_ELEMENT_ERROR (self, STREAM, FORMAT, ("%s: %s", which, error->message),
      (NULL));
  return FALSE;
}

static void
job_unmap (GstVideoConvolveJob * job)
{
  unmap_input (job);
  unmap_output (job);
  g_clear_pointer (&job->program, gst_video_convolve_program_unref);
}

/* ---- running ---- */

gboolean
gst_video_convolve_find_regions (GstVideoConvolve * self,
    const ConvolvePlan * plan, GstBuffer * inbuf, GArray * rects)
{
  const GstVideoConvolveValues *values = &self->active;
  gboolean is_field = GST_VIDEO_INFO_INTERLACE_MODE (&self->info) ==
      GST_VIDEO_INTERLACE_MODE_ALTERNATE;

  if (values->roi_mode == GST_VIDEO_CONVOLVE_ROI_MODE_OFF)
    return FALSE;
  g_array_set_size (rects, 0);
  gst_video_convolve_rois_collect (values->rois, values->roi_types, inbuf,
      is_field, rects);
  convolve_plan_fit_rects (plan, rects,
      values->roi_mode == GST_VIDEO_CONVOLVE_ROI_MODE_OUTSIDE);
  return !convolve_plan_is_covered (plan, rects);
}

static const ConvolveFrame *
input_frame (const GstVideoConvolveJob * job)
{
  return job->in_is_cuda ? &job->in_frame.cuda.frame :
      &job->in_frame.host.frame;
}

static gboolean
run_job (GstVideoConvolve * self, GstVideoConvolveJob * job, GError ** error)
{
  ConvolveProgram *program = job->program->program;
  ConvolveRegions rects = { job->rects->len,
    (const ConvolveRect *) job->rects->data
  };
  const ConvolveRegions *regions = job->has_regions ? &rects : NULL;
  const ConvolveFrame *out = job->out_is_cuda ? &job->out_frame.cuda.frame :
      &job->out_frame.host.frame;
  ConvolveWindow window = { self->window.history,
    program->plan->before + 1 + program->plan->after, job->slots
  };

  if (job->in == NULL)
    return convolve_program_process_window (program, &window, out, regions,
        &job->number, error);
  return convolve_program_process_regions (program, input_frame (job), out,
      regions, &job->number, error);
}

/* What the base class is told after a frame was not filtered. */
static GstFlowReturn
report_failure (GstVideoConvolve * self, const GError * error)
{
  if (g_error_matches (error, CONVOLVE_ERROR, CONVOLVE_ERROR_CANCELLED)) {
    GST_DEBUG_OBJECT (self, "a frame was given up: flushing or stopping");
    return GST_FLOW_FLUSHING;
  }
  if (error != NULL)
    gst_video_convolve_post_error (self, error, "a frame was not filtered");
  return GST_FLOW_ERROR;
}

static gboolean
can_rerun (GstVideoConvolve * self, guint n_jobs)
{
  for (guint i = 0; i < n_jobs; i++)
    if (nth_job (self, i)->in == NULL || nth_job (self, i)->in_is_cuda
        || nth_job (self, i)->out_is_cuda)
      return FALSE;
  return TRUE;
}

/* After a fault in one of the first n_jobs jobs, of which n_running were
 * started: all of them run again, on the CPU, from the start; their inputs are
 * still there. FALSE if that is no way out. */
static gboolean
rerun_jobs (GstVideoConvolve * self, guint n_jobs, guint n_running,
    GError ** error)
{
  ConvolvePlan *plans[GST_VIDEO_CONVOLVE_MAX_JOBS];
  g_autoptr (GError) fault = NULL;
  gboolean ok;

  if (!gst_video_convolve_can_switch_to_cpu (self, *error)
      || !can_rerun (self, n_jobs))
    return FALSE;

  fault = g_steal_pointer (error);
  for (guint i = 0; i < n_jobs; i++) {
    GstVideoConvolveJob *job = nth_job (self, i);

    if (i < n_running)
      convolve_device_wait (self->device, job->number, NULL);
    plans[i] = convolve_plan_ref (job->program->program->plan);
    g_clear_pointer (&job->program, gst_video_convolve_program_unref);
  }
  ok = gst_video_convolve_switch_to_cpu (self, fault);
  for (guint i = 0; i < n_jobs; i++) {
    GstVideoConvolveJob *job = nth_job (self, i);

    if (ok)
      job->program = gst_video_convolve_program_new (self, plans[i], error);
    ok = ok && job->program != NULL && run_job (self, job, error);
    convolve_plan_unref (plans[i]);
  }
  return ok;
}

static void
remove_first (GstVideoConvolve * self)
{
  self->first_job = (self->first_job + 1) % GST_VIDEO_CONVOLVE_MAX_JOBS;
  self->n_jobs--;
}

GstVideoConvolveProgram *
gst_video_convolve_program_for (GstVideoConvolve * self, GstBuffer * inbuf)
{
  if (self->programs[0] != NULL && self->programs[1] != NULL)
    return self->programs[GST_BUFFER_FLAG_IS_SET (inbuf,
            GST_VIDEO_BUFFER_FLAG_INTERLACED)];
  return self->programs[0] != NULL ? self->programs[0] : self->programs[1];
}

GstFlowReturn
gst_video_convolve_start_job (GstVideoConvolve * self, GstBuffer * inbuf,
    GstBuffer * outbuf)
{
  GstVideoConvolveJob *job = nth_job (self, self->n_jobs);
  GstFlowReturn ret = GST_FLOW_ERROR;
  g_autoptr (GError) error = NULL;

  job->in = inbuf;
  job->out = outbuf;
  if (map_job (self, job)) {
    job->program = gst_video_convolve_program_ref
        (gst_video_convolve_program_for (self, inbuf));
    job->has_regions = gst_video_convolve_find_regions (self,
        job->program->program->plan, inbuf, job->rects);
    if (run_job (self, job, &error)
        || rerun_jobs (self, self->n_jobs + 1, self->n_jobs, &error)) {
      self->n_jobs++;
      return GST_FLOW_OK;
    }
    job_unmap (job);
    ret = report_failure (self, error);
  }
  gst_clear_buffer (&job->in);
  gst_clear_buffer (&job->out);
  return ret;
}

/* After a fault across frames: those that are in flight, wait or were kept are
 * lost with the device. The CPU goes on with the next one. FALSE if that is no
 * way out. */
static gboolean
go_on_without (GstVideoConvolve * self, GError ** error)
{
  guint n_lost = self->n_jobs + self->window.n_waiting;
  g_autoptr (GError) fault = NULL;

  if (!gst_video_convolve_can_switch_to_cpu (self, *error))
    return FALSE;
  fault = g_steal_pointer (error);
  gst_video_convolve_drop_jobs (self);
  gst_video_convolve_window_drop (self);
  GST_WARNING_OBJECT (self, "%u frames or so are lost", n_lost);
  self->window.lost = TRUE;
  return gst_video_convolve_switch_to_cpu (self, fault);
}

GstFlowReturn
gst_video_convolve_start_window_job (GstVideoConvolve * self,
    GstVideoConvolveProgram * program, const guint * slots,
    const GArray * rects, GstBuffer * outbuf)
{
  GstVideoConvolveJob *job = nth_job (self, self->n_jobs);
  const ConvolvePlan *plan = program->program->plan;
  GstFlowReturn ret = GST_FLOW_ERROR;
  g_autoptr (GError) error = NULL;

  job->in = NULL;
  job->in_is_cuda = FALSE;
  job->out = outbuf;
  job->program = program;
  if (map_job (self, job)) {
    memcpy (job->slots, slots,
        (plan->before + 1 + plan->after) * sizeof (*slots));
    job->has_regions = rects != NULL;
    g_array_set_size (job->rects, 0);
    if (rects != NULL && rects->len > 0)
      g_array_append_vals (job->rects, rects->data, rects->len);
    if (run_job (self, job, &error)) {
      self->n_jobs++;
      return GST_FLOW_OK;
    }
    job_unmap (job);
    ret = go_on_without (self, &error) ? GST_FLOW_OK :
        report_failure (self, error);
  }
  g_clear_pointer (&job->program, gst_video_convolve_program_unref);
  gst_clear_buffer (&job->out);
  return ret;
}

static gboolean
keep_mapped (GstVideoConvolve * self, const GstVideoConvolveJob * job,
    guint slot, GError ** error)
{
  ConvolveHistory **history = &self->window.history;

  if (*history == NULL)
    *history = convolve_history_new (self->device, &self->picture, error);
  return *history != NULL
      && convolve_history_store (*history, slot, input_frame (job), error);
}

GstFlowReturn
gst_video_convolve_keep_frame (GstVideoConvolve * self, GstBuffer * inbuf,
    guint slot)
{
  GstVideoConvolveJob job = {.in = inbuf };
  g_autoptr (GError) error = NULL;
  gboolean ok;

  if (!map_job (self, &job))
    return GST_FLOW_ERROR;
  ok = keep_mapped (self, &job, slot, &error);
  if (!ok && !job.in_is_cuda && go_on_without (self, &error))
    ok = keep_mapped (self, &job, slot, &error);
  unmap_input (&job);
  return ok ? GST_FLOW_OK : report_failure (self, error);
}

GstFlowReturn
gst_video_convolve_finish_job (GstVideoConvolve * self, GstBuffer ** outbuf)
{
  GstVideoConvolveJob *job = nth_job (self, 0);
  gboolean has_input = job->in != NULL;
  g_autoptr (GError) error = NULL;
  gboolean ok;

  /* A job without a program was lost when a fault could not be got over, and
   * that error has been posted. */
  ok = job->program != NULL
      && convolve_device_wait (self->device, job->number, &error);
  if (!ok && job->program != NULL
      && rerun_jobs (self, self->n_jobs, self->n_jobs, &error))
    ok = convolve_device_wait (self->device, job->number, &error);

  if (job->program != NULL)
    gst_video_convolve_take_stats (self);
  job_unmap (job);
  remove_first (self);
  gst_clear_buffer (&job->in);
  *outbuf = g_steal_pointer (&job->out);
  if (ok)
    return GST_FLOW_OK;

  gst_clear_buffer (outbuf);
  if (!has_input && error != NULL && go_on_without (self, &error))
    return GST_FLOW_OK;
  return report_failure (self, error);
}

GstFlowReturn
gst_video_convolve_drain (GstVideoConvolve * self)
{
  GstFlowReturn ret = GST_FLOW_OK;

  while (self->n_jobs > 0 && ret == GST_FLOW_OK) {
    GstBuffer *outbuf;

    ret = gst_video_convolve_finish_job (self, &outbuf);
    if (ret == GST_FLOW_OK && outbuf != NULL)
      ret = gst_pad_push (GST_BASE_TRANSFORM_SRC_PAD (self), outbuf);
  }
  if (ret != GST_FLOW_OK) {
    GST_DEBUG_OBJECT (self, "draining ended: %s", gst_flow_get_name (ret));
    gst_video_convolve_drop_jobs (self);
    self->drained = ret;
  }
  return ret;
}

void
gst_video_convolve_drop_jobs (GstVideoConvolve * self)
{
  while (self->n_jobs > 0) {
    GstVideoConvolveJob *job = nth_job (self, 0);

    /* Whatever came of it, the device has finished with the memory. */
    if (job->program != NULL)
      convolve_device_wait (self->device, job->number, NULL);
    job_unmap (job);
    gst_clear_buffer (&job->in);
    gst_clear_buffer (&job->out);
    remove_first (self);
  }
}
