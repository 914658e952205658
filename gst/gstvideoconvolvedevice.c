/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The device: opened, closed and asked on the streaming thread; cancelled from
 * any. */
#include "config.h"

#include "gstvideoconvolve-private.h"

#define GST_CAT_DEFAULT gst_video_convolve_debug

static void
add_stats (ConvolveStats * sum, const ConvolveStats * more)
{
  sum->frames += more->frames;
  sum->bytes_in += more->bytes_in;
  sum->bytes_out += more->bytes_out;
  sum->bytes_moved += more->bytes_moved;
  sum->multiply_adds += more->multiply_adds;
  sum->upload_ns += more->upload_ns;
  sum->kernel_ns += more->kernel_ns;
  sum->download_ns += more->download_ns;
  if (more->frames > 0)
    sum->last_ns = more->last_ns;
}

/* The device is asked here, on its own thread; readers of the property get the
 * copy. */
void
gst_video_convolve_take_stats (GstVideoConvolve * self)
{
  ConvolveStats stats, sum = self->closed_stats;

  convolve_device_get_stats (self->device, &stats);
  add_stats (&sum, &stats);
  GST_OBJECT_LOCK (self);
  self->stats = sum;
  GST_OBJECT_UNLOCK (self);
}

static void
set_texts (GstVideoConvolve * self, const gchar * backend_name,
    const gchar * device_name)
{
  g_autofree gchar *old = NULL;

  GST_OBJECT_LOCK (self);
  self->backend_name = backend_name;
  old = self->device_text;
  self->device_text = g_strdup (device_name);
  GST_OBJECT_UNLOCK (self);
}

gboolean
gst_video_convolve_open_backend (GstVideoConvolve * self,
    const ConvolveBackend * backend, GError ** error)
{
  ConvolveOpenOptions options = {
    .device_id = self->active.cuda_device_id,
    .n_threads = self->active.n_threads,
    .frames_in_flight = self->active.frames_in_flight,
    .bands = self->active.bands,
  };
  ConvolveDevice *device;

  self->context = NULL;
  if (backend != convolve_backend_cpu ())
    self->context = gst_cuda_interop_get_context (self->interop);
  options.context = self->context;
  device = convolve_device_open (backend, &options, error);
  if (device == NULL)
    return FALSE;
  g_mutex_lock (&self->device_lock);
  self->device = device;
  convolve_device_cancel (device, self->cancelled);
  g_mutex_unlock (&self->device_lock);
  self->pinned = gst_pinned_allocator_new (self->device);
  set_texts (self, backend->name, backend->device_name (self->device));
  return TRUE;
}

gboolean
gst_video_convolve_open (GstVideoConvolve * self)
{
  g_autoptr (GError) error = NULL;

  g_clear_pointer (&self->fallback_reason, g_free);
  if (self->active.backend != GST_VIDEO_CONVOLVE_BACKEND_CPU
      && !self->cuda_failed) {
    if (gst_video_convolve_open_backend (self, convolve_backend_cuda (),
            &error))
      return TRUE;
    if (self->active.backend == GST_VIDEO_CONVOLVE_BACKEND_CUDA) {
      gst_video_convolve_post_error (self, error,
          "backend=cuda cannot be had (backend=auto would use the CPU)");
      return FALSE;
    }
    self->fallback_reason = g_strdup (error->message);
    g_clear_error (&error);
  }
  if (gst_video_convolve_open_backend (self, convolve_backend_cpu (), &error))
    return TRUE;
  gst_video_convolve_post_error (self, error,
      "the CPU backend cannot be opened");
  return FALSE;
}

void
gst_video_convolve_set_cancelled (GstVideoConvolve * self, gboolean cancelled)
{
  g_mutex_lock (&self->device_lock);
  self->cancelled = cancelled;
  convolve_device_cancel (self->device, cancelled);
  g_mutex_unlock (&self->device_lock);
}

void
gst_video_convolve_close (GstVideoConvolve * self)
{
  ConvolveDevice *device;

  gst_video_convolve_drop_programs (self);
  gst_video_convolve_window_close (self);
  if (self->device == NULL)
    return;
  gst_video_convolve_take_stats (self);
  self->closed_stats = self->stats;
  if (self->pinned != NULL)
    gst_pinned_allocator_detach (self->pinned);
  gst_clear_object (&self->pinned);
  g_mutex_lock (&self->device_lock);
  device = g_steal_pointer (&self->device);
  g_mutex_unlock (&self->device_lock);
  convolve_device_close (device);
}
