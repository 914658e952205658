/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Loading a preset: GStreamer's own way, but for the weights of the custom
 * filter. */
#include "config.h"

#include "gstvideoconvolve-private.h"

/* What the custom filter is made of. */
typedef struct
{
  ConvolveMatrix *matrix[3];
  gchar *location;
} Weights;

/* Exchanges weights and those of the element. */
static void
swap_weights (GstVideoConvolve * self, Weights * weights)
{
  ConvolveSettings *settings = &self->pending.settings;
  Weights old = { {settings->kernel, settings->kernel_x,
      settings->kernel_y}, self->kernel_location
  };

  settings->kernel = weights->matrix[0];
  settings->kernel_x = weights->matrix[1];
  settings->kernel_y = weights->matrix[2];
  self->kernel_location = weights->location;
  *weights = old;
}

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
  Weights weights = { {NULL}, NULL };
  gboolean ok;

  g_object_freeze_notify (G_OBJECT (self));
  GST_OBJECT_LOCK (self);
  swap_weights (self, &weights);
  GST_OBJECT_UNLOCK (self);

  ok = default_load_preset (preset, name);

  GST_OBJECT_LOCK (self);
  if (has_no_weights (self) && (!ok
          || self->pending.settings.filter != CONVOLVE_FILTER_CUSTOM))
    swap_weights (self, &weights);
  GST_OBJECT_UNLOCK (self);
  g_object_thaw_notify (G_OBJECT (self));

  for (guint i = 0; i < G_N_ELEMENTS (weights.matrix); i++)
    g_clear_pointer (&weights.matrix[i], convolve_matrix_unref);
  g_free (weights.location);
  return ok;
}

void
gst_video_convolve_preset_init (gpointer iface, gpointer data)
{
  GstPresetInterface *presets = iface;

  default_load_preset = presets->load_preset;
  presets->load_preset = gst_video_convolve_load_preset;
}
