/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Loading a preset: GStreamer's own way, but for the weights of the custom
 * filter. */
#include "config.h"

#include "gstvideoconvolvechanges.h"

static void
apply_weights (GstVideoConvolveValues * values,
    const GstVideoConvolveChange * change)
{
  gst_video_convolve_put_matrix (&values->settings.kernel, change->weights[0]);
  gst_video_convolve_put_matrix (&values->settings.kernel_x,
      change->weights[1]);
  gst_video_convolve_put_matrix (&values->settings.kernel_y,
      change->weights[2]);
}

/* With the object lock: the present weights as a change to them. */
static GstVideoConvolveChange *
keep_weights (GstVideoConvolve * self)
{
  GstVideoConvolveChange *kept =
      gst_video_convolve_change_new (NULL, apply_weights);
  const ConvolveSettings *settings = &self->pending.settings;

  gst_video_convolve_put_matrix (&kept->weights[0], settings->kernel);
  gst_video_convolve_put_matrix (&kept->weights[1], settings->kernel_x);
  gst_video_convolve_put_matrix (&kept->weights[2], settings->kernel_y);
  return kept;
}

/* With the object lock. */
static gboolean
has_no_weights (GstVideoConvolve * self)
{
  const ConvolveSettings *settings = &self->pending.settings;

  return settings->kernel == NULL && settings->kernel_x == NULL
      && settings->kernel_y == NULL;
}

static gboolean (*default_load_preset) (GstPreset * preset, const gchar * name);

/* A preset with weights replaces all weights: those it stored as empty must
 * not be left over from before. All of it takes effect at once. */
static gboolean
gst_video_convolve_load_preset (GstPreset * preset, const gchar * name)
{
  GstVideoConvolve *self = GST_VIDEO_CONVOLVE (preset);
  GstVideoConvolveChange *kept;
  gchar *location;
  gboolean ok, lost;

  g_object_freeze_notify (G_OBJECT (self));
  GST_OBJECT_LOCK (self);
  kept = keep_weights (self);
  location = g_steal_pointer (&self->kernel_location);
  GST_OBJECT_UNLOCK (self);
  gst_video_convolve_change (self,
      gst_video_convolve_change_new (NULL, apply_weights));

  ok = default_load_preset (preset, name);

  GST_OBJECT_LOCK (self);
  lost = has_no_weights (self) && (!ok
      || self->pending.settings.filter != CONVOLVE_FILTER_CUSTOM);
  if (lost && self->kernel_location == NULL)
    self->kernel_location = g_steal_pointer (&location);
  GST_OBJECT_UNLOCK (self);
  if (lost)
    gst_video_convolve_change (self, kept);
  else
    gst_video_convolve_change_free (kept);
  g_object_thaw_notify (G_OBJECT (self));
  g_free (location);
  return ok;
}

void
gst_video_convolve_preset_init (gpointer iface, gpointer data)
{
  GstPresetInterface *presets = iface;

  default_load_preset = presets->load_preset;
  presets->load_preset = gst_video_convolve_load_preset;
}
