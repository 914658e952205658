/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* From properties to what the streaming thread sees.
 *
 * Several threads may be in g_object_set at once, and the streaming thread must
 * not see half of what one of them sets. GObject tells the end of a
 * g_object_set through dispatch_properties_changed, but once for all that
 * overlap, in whichever thread ends last, and another thread may have begun the
 * next one meanwhile. So each change has a token, a property of no class, that
 * is notified with it: the tokens that come back tell which changes the call
 * is about. All of these are complete. */
#include "config.h"

#include "gstvideoconvolvechanges.h"

/* GObject holds back 65534 notifications at most, and looks through all of them
 * for each new one. */
#define MAX_TOKENS 1000

/* ---- values ---- */

void
gst_video_convolve_values_init (GstVideoConvolveValues * values)
{
  convolve_settings_init (&values->settings);
  values->backend = GST_VIDEO_CONVOLVE_BACKEND_AUTO;
  values->fields = GST_VIDEO_CONVOLVE_FIELDS_AUTO;
  values->cuda_device_id = -1;
  values->n_threads = 0;
  values->bands = 0;
  values->frames_in_flight = CONVOLVE_DEFAULT_FRAMES_IN_FLIGHT;
  values->roi_mode = GST_VIDEO_CONVOLVE_ROI_MODE_OFF;
  values->roi_types = NULL;
  values->rois = NULL;
}

void
gst_video_convolve_values_copy (GstVideoConvolveValues * to,
    const GstVideoConvolveValues * from)
{
  *to = *from;
  convolve_settings_copy (&to->settings, &from->settings);
  to->roi_types = g_strdup (from->roi_types);
  if (to->rois != NULL)
    g_array_ref (to->rois);
}

void
gst_video_convolve_values_clear (GstVideoConvolveValues * values)
{
  convolve_settings_clear (&values->settings);
  g_clear_pointer (&values->roi_types, g_free);
  g_clear_pointer (&values->rois, g_array_unref);
}

static gboolean
values_equal (const GstVideoConvolveValues * a,
    const GstVideoConvolveValues * b)
{
  return a->backend == b->backend && a->fields == b->fields
      && a->cuda_device_id == b->cuda_device_id
      && a->n_threads == b->n_threads && a->bands == b->bands
      && a->frames_in_flight == b->frames_in_flight
      && a->roi_mode == b->roi_mode
      && g_strcmp0 (a->roi_types, b->roi_types) == 0
      && gst_video_convolve_rois_equal (a->rois, b->rois)
      && convolve_settings_equal (&a->settings, &b->settings);
}

void
gst_video_convolve_put_matrix (ConvolveMatrix ** to, ConvolveMatrix * matrix)
{
  g_clear_pointer (to, convolve_matrix_unref);
  *to = matrix != NULL ? convolve_matrix_ref (matrix) : NULL;
}

/* ---- changes ---- */

GstVideoConvolveChange *
gst_video_convolve_change_new (gconstpointer property,
    void (*apply) (GstVideoConvolveValues * values,
        const GstVideoConvolveChange * change))
{
  GstVideoConvolveChange *change = g_new0 (GstVideoConvolveChange, 1);

  change->apply = apply;
  change->property = property;
  return change;
}

void
gst_video_convolve_change_free (GstVideoConvolveChange * change)
{
  for (guint i = 0; i < G_N_ELEMENTS (change->weights); i++)
    g_clear_pointer (&change->weights[i], convolve_matrix_unref);
  g_clear_pointer (&change->rois, g_array_unref);
  if (G_IS_VALUE (&change->value))
    g_value_unset (&change->value);
  g_clear_pointer (&change->token, g_param_spec_unref);
  g_free (change);
}

void
gst_video_convolve_changes_clear (GstVideoConvolve * self)
{
  g_queue_clear_full (&self->changes,
      (GDestroyNotify) gst_video_convolve_change_free);
}

static void
replace_values (GstVideoConvolveValues * values, GstVideoConvolveValues * by)
{
  gst_video_convolve_values_clear (values);
  *values = *by;
}

/* With the object lock: what the streaming thread and g_object_get see, made
 * of all complete changes and of all. */
static void
update_values (GstVideoConvolve * self)
{
  GstVideoConvolveValues values, pending;
  GstVideoConvolveChange *change;

  /* Those before the first incomplete one are settled. */
  while ((change = g_queue_peek_head (&self->changes)) != NULL
      && change->complete) {
    change->apply (&self->settled, change);
    gst_video_convolve_change_free (g_queue_pop_head (&self->changes));
  }
  gst_video_convolve_values_copy (&values, &self->settled);
  gst_video_convolve_values_copy (&pending, &self->settled);
  for (GList * l = self->changes.head; l != NULL; l = l->next) {
    change = l->data;
    change->apply (&pending, change);
    if (change->complete)
      change->apply (&values, change);
  }
  self->changed |= !values_equal (&self->values, &values);
  replace_values (&self->values, &values);
  replace_values (&self->pending, &pending);
}

static gint
compare_order (gconstpointer a, gconstpointer b, gpointer data)
{
  const GstVideoConvolveChange *first = a, *second = b;

  return first->order < second->order ? -1 : first->order > second->order;
}

/* ---- tokens ---- */

static GQuark
came_back_quark (void)
{
  return g_quark_from_static_string ("videoconvolve-came-back");
}

/* Properties of a class know whose they are. */
static gboolean
is_token (GParamSpec * pspec)
{
  return pspec->owner_type == G_TYPE_INVALID;
}

static gboolean
came_back (const GstVideoConvolveChange * change)
{
  return change->token != NULL
      && g_param_spec_get_qdata (change->token, came_back_quark ()) != NULL;
}

/* With the object lock: the changes of a token that came back are complete.
 * Those of one thread keep together, in the place of its last one, so that two
 * threads that set the same properties do not make a mixture. */
static void
complete_changes (GstVideoConvolve * self)
{
  for (GList * l = self->changes.tail; l != NULL; l = l->prev) {
    GstVideoConvolveChange *last = l->data;

    if (last->complete || !came_back (last))
      continue;
    for (GList * k = l; k != NULL; k = k->prev) {
      GstVideoConvolveChange *change = k->data;

      if (change->thread != last->thread || change->complete
          || !came_back (change))
        continue;
      change->complete = TRUE;
      change->order = last->order;
    }
  }
  g_queue_sort (&self->changes, compare_order, NULL);
}

/* With the object lock. Somebody who holds notifications back for long gets the
 * same token again. */
static GParamSpec *
take_token (GstVideoConvolve * self)
{
  GstVideoConvolveChange *latest = g_queue_peek_tail (&self->changes);

  if (self->changes.length >= MAX_TOKENS && !latest->complete)
    return g_param_spec_ref (latest->token);
  return g_param_spec_ref_sink (g_param_spec_boolean ("change", NULL, NULL,
          FALSE, G_PARAM_READABLE | G_PARAM_STATIC_STRINGS));
}

void
gst_video_convolve_change (GstVideoConvolve * self,
    GstVideoConvolveChange * change)
{
  g_autoptr (GParamSpec) token = NULL;

  GST_OBJECT_LOCK (self);
  change->apply (&self->pending, change);
  change->thread = g_thread_self ();
  change->order = self->n_changes++;
  /* The streaming thread's own are wanted for the frame at hand, even while
   * another thread holds notifications back. */
  change->complete = self->controlling == change->thread;
  if (!change->complete)
    change->token = take_token (self);
  /* Once the lock is given back, others may free the change. */
  if (change->token != NULL)
    token = g_param_spec_ref (change->token);
  g_queue_push_tail (&self->changes, change);
  GST_OBJECT_UNLOCK (self);
  if (token != NULL)
    g_object_notify_by_pspec (G_OBJECT (self), token);
}

void
gst_video_convolve_dispatch_properties_changed (GObject * object,
    guint n_pspecs, GParamSpec ** pspecs)
{
  GstVideoConvolve *self = GST_VIDEO_CONVOLVE (object);
  GObjectClass *parent_class =
      g_type_class_peek (g_type_parent (GST_TYPE_VIDEO_CONVOLVE));
  g_autofree GParamSpec **properties = g_new (GParamSpec *, n_pspecs);
  guint n_properties = 0;

  GST_OBJECT_LOCK (self);
  for (guint i = 0; i < n_pspecs; i++) {
    if (is_token (pspecs[i]))
      g_param_spec_set_qdata (pspecs[i], came_back_quark (), self);
    else
      properties[n_properties++] = pspecs[i];
  }
  complete_changes (self);
  update_values (self);
  GST_OBJECT_UNLOCK (self);
  if (n_properties > 0)
    parent_class->dispatch_properties_changed (object, n_properties,
        properties);
}

/* ---- on the streaming thread ---- */

void
gst_video_convolve_control (GstVideoConvolve * self, GstClockTime stream_time)
{
  GST_OBJECT_LOCK (self);
  self->controlling = g_thread_self ();
  GST_OBJECT_UNLOCK (self);
  gst_object_sync_values (GST_OBJECT (self), stream_time);
  GST_OBJECT_LOCK (self);
  self->controlling = NULL;
  if (self->changes.length > 0)
    update_values (self);
  GST_OBJECT_UNLOCK (self);
}

gboolean
gst_video_convolve_take_values (GstVideoConvolve * self,
    GstVideoConvolveValues * next)
{
  gboolean changed;

  GST_OBJECT_LOCK (self);
  changed = self->changed;
  if (changed)
    gst_video_convolve_values_copy (next, &self->values);
  self->changed = FALSE;
  GST_OBJECT_UNLOCK (self);
  return changed;
}
