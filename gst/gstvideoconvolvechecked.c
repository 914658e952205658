/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Properties whose values cannot all be used: arrays and files. A value that is
 * refused leaves the old one in place, and a warning says why. */
#include "config.h"

#include "gstvideoconvolvechanges.h"
#include "gstvideoconvolveproperties.h"
#include "gstvideoconvolvevalues.h"

#define GST_CAT_DEFAULT gst_video_convolve_debug

/* Messages kept for start: the latest. */
#define MAX_REFUSED 16

/* ---- refused values ---- */

static void
post_refused (GstVideoConvolve * self, const gchar * text)
{
  GST_ELEMENT_WARNING (self, LIBRARY, SETTINGS, ("%s", text), (NULL));
}

/* Before the element is in a pipeline nobody would hear the message, as when
 * gst-launch sets properties; it is kept for start. */
static void
refuse (GstVideoConvolve * self, const gchar * name, const gchar * why)
{
  g_autofree gchar *text =
      g_strdup_printf ("%s keeps its value: %s", name, why);
  GstBus *bus;

  GST_WARNING_OBJECT (self, "%s", text);
  bus = gst_element_get_bus (GST_ELEMENT (self));
  if (bus != NULL) {
    gst_object_unref (bus);
    post_refused (self, text);
    return;
  }
  GST_OBJECT_LOCK (self);
  g_queue_push_tail (&self->refused, g_steal_pointer (&text));
  if (self->refused.length > MAX_REFUSED)
    text = g_queue_pop_head (&self->refused);
  GST_OBJECT_UNLOCK (self);
}

void
gst_video_convolve_post_refused (GstVideoConvolve * self)
{
  GQueue refused;
  gchar *text;

  GST_OBJECT_LOCK (self);
  refused = self->refused;
  g_queue_init (&self->refused);
  GST_OBJECT_UNLOCK (self);
  while ((text = g_queue_pop_head (&refused)) != NULL) {
    post_refused (self, text);
    g_free (text);
  }
}

/* ---- weights ---- */

/* Puts a matrix where the property keeps it. A whole kernel and the two lines
 * of a separable one exclude each other: the last one set counts. So do a
 * kernel of several frames and weights of frames. */
static void
apply_matrix (GstVideoConvolveValues * values,
    const GstVideoConvolveChange * change)
{
  const GstVideoConvolveProperty *property = change->property;
  ConvolveSettings *settings = &values->settings;

  if (property->kind != KIND_COLUMN)
    gst_video_convolve_put_matrix (&settings->kernel_x, NULL);
  if (property->kind != KIND_ROW)
    gst_video_convolve_put_matrix (&settings->kernel_y, NULL);
  gst_video_convolve_put_matrix (&settings->kernel, NULL);
  if (property->kind == KIND_LOCATION)
    gst_video_convolve_put_matrix (&settings->kernel, change->weights[0]);
  else
    gst_video_convolve_put_matrix (&AT (ConvolveMatrix *, values, property),
        change->weights[0]);
  if (change->weights[0]->depth > 1)
    gst_video_convolve_put_matrix (&settings->kernel_t, NULL);
  settings->filter = CONVOLVE_FILTER_CUSTOM;
}

static void
apply_taps (GstVideoConvolveValues * values,
    const GstVideoConvolveChange * change)
{
  ConvolveSettings *settings = &values->settings;

  gst_video_convolve_put_matrix (&settings->kernel_t, change->weights[0]);
  if (settings->kernel_t != NULL && settings->kernel != NULL
      && settings->kernel->depth > 1)
    gst_video_convolve_put_matrix (&settings->kernel, NULL);
}

/* Takes matrix and location. */
static void
store_matrix (GstVideoConvolve * self,
    const GstVideoConvolveProperty * property, ConvolveMatrix * matrix,
    gchar * location)
{
  GstVideoConvolveChange *change =
      gst_video_convolve_change_new (property, apply_matrix);
  g_autofree gchar *old = NULL;

  change->weights[0] = matrix;
  GST_OBJECT_LOCK (self);
  old = self->kernel_location;
  self->kernel_location = location;
  GST_OBJECT_UNLOCK (self);
  gst_video_convolve_change (self, change);
  g_object_notify (G_OBJECT (self), "filter");
}

static void
set_matrix (GstVideoConvolve * self, const GstVideoConvolveProperty * property,
    const GValue * value)
{
  g_autoptr (GError) error = NULL;
  ConvolveMatrix *matrix;
  gboolean unset;

  GST_OBJECT_LOCK (self);
  unset = AT (ConvolveMatrix *, &self->pending, property) == NULL;
  GST_OBJECT_UNLOCK (self);
  /* A stored preset has every property: empty stays empty. */
  if (unset && gst_value_array_get_size (value) == 0)
    return;

  if (property->kind == KIND_ROWS)
    matrix = gst_video_convolve_matrix_from_rows (value, &error);
  else
    matrix = gst_video_convolve_matrix_from_line (value,
        property->kind == KIND_COLUMN, &error);
  if (matrix != NULL)
    store_matrix (self, property, matrix, NULL);
  else
    refuse (self, property->name, error->message);
}

static void
set_taps (GstVideoConvolve * self, const GstVideoConvolveProperty * property,
    const GValue * value)
{
  GstVideoConvolveChange *change;
  g_autoptr (GError) error = NULL;
  ConvolveMatrix *matrix = NULL;

  if (gst_value_array_get_size (value) > 0) {
    matrix = gst_video_convolve_matrix_from_taps (value, &error);
    if (matrix == NULL) {
      refuse (self, property->name, error->message);
      return;
    }
  }
  change = gst_video_convolve_change_new (property, apply_taps);
  change->weights[0] = matrix;
  gst_video_convolve_change (self, change);
}

/* No file: the weights stay, they just have no file any more. */
static void
set_location (GstVideoConvolve * self,
    const GstVideoConvolveProperty * property, const GValue * value)
{
  g_autoptr (GError) error = NULL;
  g_autofree gchar *old = NULL;
  const gchar *location = g_value_get_string (value);
  ConvolveMatrix *matrix;

  if (location == NULL || *location == '\0') {
    GST_OBJECT_LOCK (self);
    old = g_steal_pointer (&self->kernel_location);
    GST_OBJECT_UNLOCK (self);
    return;
  }
  matrix = convolve_matrix_load (location, &error);
  if (matrix != NULL)
    store_matrix (self, property, matrix, g_strdup (location));
  else
    refuse (self, property->name, error->message);
}

/* ---- gains and regions ---- */

static void
apply_gains (GstVideoConvolveValues * values,
    const GstVideoConvolveChange * change)
{
  gst_video_convolve_put_matrix (&values->settings.detail_gains,
      change->weights[0]);
}

/* Empty: the default. */
static void
set_gains (GstVideoConvolve * self, const GstVideoConvolveProperty * property,
    const GValue * value)
{
  g_autoptr (GError) error = NULL;
  guint n = gst_value_array_get_size (value);
  ConvolveMatrix *gains = NULL;
  GstVideoConvolveChange *change;

  if (n > CONVOLVE_MAX_LEVELS)
    g_set_error (&error, CONVOLVE_ERROR, CONVOLVE_ERROR_INVALID,
        "there are %u gains, more than %d", n, CONVOLVE_MAX_LEVELS);
  else if (n > 0)
    gains = gst_video_convolve_matrix_from_line (value, FALSE, &error);
  if (error != NULL) {
    refuse (self, property->name, error->message);
    return;
  }
  change = gst_video_convolve_change_new (property, apply_gains);
  change->weights[0] = gains;
  gst_video_convolve_change (self, change);
}

static void
apply_rois (GstVideoConvolveValues * values,
    const GstVideoConvolveChange * change)
{
  g_clear_pointer (&values->rois, g_array_unref);
  values->rois = g_array_ref (change->rois);
}

static void
set_rois (GstVideoConvolve * self, const GstVideoConvolveProperty * property,
    const GValue * value)
{
  g_autoptr (GError) error = NULL;
  GArray *rois = gst_video_convolve_rois_from_value (value, &error);
  GstVideoConvolveChange *change;

  if (rois == NULL) {
    refuse (self, property->name, error->message);
    return;
  }
  change = gst_video_convolve_change_new (property, apply_rois);
  change->rois = rois;
  gst_video_convolve_change (self, change);
}

gboolean
gst_video_convolve_set_checked (GstVideoConvolve * self,
    const GstVideoConvolveProperty * property, const GValue * value)
{
  switch (property->kind) {
    case KIND_LOCATION:
      set_location (self, property, value);
      return TRUE;
    case KIND_ROWS:
    case KIND_ROW:
    case KIND_COLUMN:
      set_matrix (self, property, value);
      return TRUE;
    case KIND_GAINS:
      set_gains (self, property, value);
      return TRUE;
    case KIND_TAPS:
      set_taps (self, property, value);
      return TRUE;
    case KIND_ROIS:
      set_rois (self, property, value);
      return TRUE;
    default:
      return FALSE;
  }
}
