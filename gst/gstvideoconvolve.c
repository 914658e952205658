/* SPDX-License-Identifier: LGPL-2.1-or-later */
/**
 * SECTION:element-videoconvolve
 * @title: videoconvolve
 *
 * Filters video with a convolution: blur, sharpening, edges, emboss, or a
 * matrix of your own. Frames are filtered on an NVIDIA GPU, or on the CPU where
 * there is none; pictures are the same.
 *
 * Every property may change while the pipeline plays unless it is marked
 * otherwise. All values of one g_object_set() take effect together, between two
 * frames. A value that cannot be used is refused with a warning message, and
 * the old one stays.
 *
 * ## Example launch lines
 * |[
 * gst-launch-1.0 videotestsrc ! videoconvolve sigma=4 ! autovideosink
 * ]| A blurred picture.
 * |[
 * gst-launch-1.0 videotestsrc ! \
 *     videoconvolve kernel="<<0,-1,0>,<-1,5,-1>,<0,-1,0>>" ! autovideosink
 * ]| Weights of your own.
 */
#include "config.h"

#include "gstvideoconvolve-private.h"

#include "core/format.h"

GST_DEBUG_CATEGORY (gst_video_convolve_debug);
#define GST_CAT_DEFAULT gst_video_convolve_debug

/* *INDENT-OFF* */
G_DEFINE_TYPE_WITH_CODE (GstVideoConvolve, gst_video_convolve,
    GST_TYPE_BASE_TRANSFORM,
    G_IMPLEMENT_INTERFACE (GST_TYPE_PRESET, gst_video_convolve_preset_init)
    GST_DEBUG_CATEGORY_INIT (gst_video_convolve_debug, "videoconvolve", 0,
        "convolution filters for video"))
/* *INDENT-ON* */

GST_ELEMENT_REGISTER_DEFINE (videoconvolve, "videoconvolve", GST_RANK_NONE,
    GST_TYPE_VIDEO_CONVOLVE);

/* ---- start and stop ---- */

static gboolean
gst_video_convolve_start (GstBaseTransform * trans)
{
  GstVideoConvolve *self = GST_VIDEO_CONVOLVE (trans);
  GstVideoConvolveValues *active = &self->active;

  gst_video_convolve_post_refused (self);
  gst_video_convolve_values_clear (active);
  GST_OBJECT_LOCK (self);
  gst_video_convolve_values_copy (active, &self->values);
  self->changed = FALSE;
  self->stats = self->closed_stats = (ConvolveStats) {
  0};
  self->n_passed = 0;
  GST_OBJECT_UNLOCK (self);
  self->negotiated = FALSE;
  self->caps_refused = FALSE;
  self->announced = FALSE;
  g_clear_pointer (&self->posted_error, g_free);
  self->cuda_failed = FALSE;
  self->drained = GST_FLOW_OK;
  self->mark_discont = self->base_marks = FALSE;
  gst_video_convolve_set_cancelled (self, FALSE);
  g_atomic_int_set (&self->stopping, FALSE);
  gst_video_info_init (&self->info);
  gst_cuda_interop_start (self->interop, active->cuda_device_id);
  if (!gst_video_convolve_open (self))
    return FALSE;
  g_atomic_int_set (&self->started, TRUE);
  return TRUE;
}

static gboolean
gst_video_convolve_stop (GstBaseTransform * trans)
{
  GstVideoConvolve *self = GST_VIDEO_CONVOLVE (trans);

  g_atomic_int_set (&self->started, FALSE);
  gst_video_convolve_drop_jobs (self);
  gst_clear_buffer (&self->late);
  gst_video_convolve_close (self);
  gst_video_convolve_window_forget_events (self);
  gst_cuda_interop_stop (self->interop);
  self->negotiated = FALSE;
  gst_video_convolve_set_plan (self, NULL, NULL, NULL);
  GST_OBJECT_LOCK (self);
  self->latency = 0;
  GST_OBJECT_UNLOCK (self);
  return TRUE;
}

/* ---- caps ---- */

static GstCaps *
gst_video_convolve_transform_caps (GstBaseTransform * trans,
    GstPadDirection direction, GstCaps * caps, GstCaps * filter)
{
  GstCaps *result = gst_cuda_interop_transform_caps (gst_caps_ref (caps));

  if (filter != NULL) {
    GstCaps *both = gst_caps_intersect_full (filter, result,
        GST_CAPS_INTERSECT_FIRST);

    gst_caps_unref (result);
    result = both;
  }
  return result;
}

static gboolean
gst_video_convolve_set_caps (GstBaseTransform * trans, GstCaps * incaps,
    GstCaps * outcaps)
{
  GstVideoConvolve *self = GST_VIDEO_CONVOLVE (trans);
  g_autoptr (GError) error = NULL;
  GstVideoInfo info;
  gboolean ok;

  /* Pads let data in a moment before start has set up what it needs. */
  if (!g_atomic_int_get (&self->started))
    return FALSE;
  self->caps_refused = TRUE;
  ok = gst_video_info_from_caps (&info, incaps);
  /* Frames of the old caps leave before the new ones. */
  if (ok && self->negotiated && gst_video_info_is_equal (&self->info, &info))
    gst_video_convolve_drain (self);
  else
    gst_video_convolve_window_end (self);
  if (!ok) {
    self->negotiated = FALSE;
    GST_ERROR_OBJECT (self, "unusable caps %" GST_PTR_FORMAT, incaps);
    return FALSE;
  }
  if (!gst_cuda_interop_negotiate (self->interop, incaps, outcaps, &error)) {
    self->negotiated = FALSE;
    gst_video_convolve_post_error (self, error, "the caps cannot be used");
    return FALSE;
  }
  if (gst_video_convolve_is_on_cuda (self)
      && gst_cuda_interop_get_context (self->interop) != self->context) {
    gst_video_convolve_close (self);
    self->negotiated = FALSE;
    if (!gst_video_convolve_open (self))
      return FALSE;
  }
  return gst_video_convolve_set_info (self, &info);
}

static gboolean
gst_video_convolve_get_unit_size (GstBaseTransform * trans, GstCaps * caps,
    gsize * size)
{
  GstVideoInfo info;

  if (!gst_video_info_from_caps (&info, caps))
    return FALSE;
  *size = GST_VIDEO_INFO_SIZE (&info);
  return TRUE;
}

/* ---- events, queries, contexts ---- */

/* Drops all frames. Events that waited between them and outlive a flush follow
 * it. */
static gboolean
flush_stop (GstVideoConvolve * self, GstEvent * event)
{
  gboolean ok;

  gst_video_convolve_drop_jobs (self);
  gst_video_convolve_window_drop (self);
  gst_video_convolve_set_cancelled (self, FALSE);
  self->drained = GST_FLOW_OK;
  self->mark_discont = self->base_marks = FALSE;
  ok = GST_BASE_TRANSFORM_CLASS (gst_video_convolve_parent_class)->sink_event
      (GST_BASE_TRANSFORM (self), event);
  gst_video_convolve_window_flushed (self);
  return ok;
}

static gboolean
gst_video_convolve_sink_event (GstBaseTransform * trans, GstEvent * event)
{
  GstVideoConvolve *self = GST_VIDEO_CONVOLVE (trans);

  /* Nothing that came after a frame may overtake it. A new caps event drains in
   * set_caps too, but only if the caps differ. */
  if (GST_EVENT_TYPE (event) == GST_EVENT_FLUSH_START) {
    /* From another thread than the one that waits for the frame in work. */
    gst_video_convolve_set_cancelled (self, TRUE);
  } else if (GST_EVENT_TYPE (event) == GST_EVENT_FLUSH_STOP) {
    if (!g_atomic_int_get (&self->stopping))
      return flush_stop (self, event);
  } else if (GST_EVENT_IS_SERIALIZED (event)
      && gst_video_convolve_window_event (self, event)) {
    return TRUE;
  }
  return GST_BASE_TRANSFORM_CLASS (gst_video_convolve_parent_class)->sink_event
      (trans, event);
}

static gboolean
query_latency (GstVideoConvolve * self, GstQuery * query)
{
  GstClockTime latency, minimum, maximum;
  gboolean live;

  if (!gst_pad_peer_query (GST_BASE_TRANSFORM_SINK_PAD (self), query))
    return FALSE;
  GST_OBJECT_LOCK (self);
  latency = self->latency;
  GST_OBJECT_UNLOCK (self);
  gst_query_parse_latency (query, &live, &minimum, &maximum);
  minimum += latency;
  if (GST_CLOCK_TIME_IS_VALID (maximum))
    maximum += latency;
  gst_query_set_latency (query, live, minimum, maximum);
  return TRUE;
}

static gboolean
gst_video_convolve_query (GstBaseTransform * trans, GstPadDirection direction,
    GstQuery * query)
{
  GstVideoConvolve *self = GST_VIDEO_CONVOLVE (trans);

  if (GST_QUERY_TYPE (query) == GST_QUERY_CONTEXT
      && gst_cuda_interop_query_context (self->interop, query))
    return TRUE;
  if (direction == GST_PAD_SRC && GST_QUERY_TYPE (query) == GST_QUERY_LATENCY)
    return query_latency (self, query);
  /* Who asks for serialized answers wants everything before them done: DRAIN,
   * and ALLOCATION, which may end a pool that our jobs hold buffers of. */
  if (direction == GST_PAD_SINK && GST_QUERY_IS_SERIALIZED (query)) {
    if (g_atomic_int_get (&self->stopping))
      return FALSE;
    gst_video_convolve_drain (self);
  }
  return GST_BASE_TRANSFORM_CLASS (gst_video_convolve_parent_class)->query
      (trans, direction, query);
}

static void
gst_video_convolve_set_context (GstElement * element, GstContext * context)
{
  gst_cuda_interop_set_context (GST_VIDEO_CONVOLVE (element)->interop, context);
  GST_ELEMENT_CLASS (gst_video_convolve_parent_class)->set_context (element,
      context);
}

/* The streaming thread has to come back before pads can be deactivated, and a
 * frame may take long. After that they keep buffers out, but not queries, nor
 * the end of a flush: from here on these leave device and jobs to stop. The
 * base class waits for whoever is in the pad now before it calls stop. */
static GstStateChangeReturn
gst_video_convolve_change_state (GstElement * element,
    GstStateChange transition)
{
  GstVideoConvolve *self = GST_VIDEO_CONVOLVE (element);

  if (transition == GST_STATE_CHANGE_PAUSED_TO_READY) {
    g_atomic_int_set (&self->stopping, TRUE);
    gst_video_convolve_set_cancelled (self, TRUE);
  }
  return GST_ELEMENT_CLASS (gst_video_convolve_parent_class)->change_state
      (element, transition);
}

/* ---- buffers ---- */

static void
gst_video_convolve_before_transform (GstBaseTransform * trans,
    GstBuffer * buffer)
{
  GstClockTime stream_time = GST_CLOCK_TIME_NONE;

  if (trans->segment.format == GST_FORMAT_TIME)
    stream_time = gst_segment_to_stream_time (&trans->segment,
        GST_FORMAT_TIME, GST_BUFFER_TIMESTAMP (buffer));
  if (GST_CLOCK_TIME_IS_VALID (stream_time))
    gst_video_convolve_control (GST_VIDEO_CONVOLVE (trans), stream_time);
}

static GstFlowReturn
gst_video_convolve_submit_input_buffer (GstBaseTransform * trans,
    gboolean is_discont, GstBuffer * input)
{
  GstVideoConvolve *self = GST_VIDEO_CONVOLVE (trans);
  g_autoptr (GstBuffer) kept = NULL;
  GstFlowReturn ret;
  gboolean ok = TRUE;

  /* The base class marks the next buffer pushed, which must be this one. It
   * says so of each buffer until then. */
  if (gst_video_convolve_window_is_new (self, input))
    gst_video_convolve_window_end (self);
  if (self->drained == GST_FLOW_OK) {
    if (gst_video_convolve_is_on_cuda (self)
        && gst_cuda_interop_follow (self->interop, input))
      ok = gst_video_convolve_reopen (self);
    ok = ok && gst_video_convolve_update (self);
  }
  if (!ok || self->drained != GST_FLOW_OK) {
    ret = ok ? self->drained : GST_FLOW_ERROR;
    self->drained = GST_FLOW_OK;
    gst_buffer_unref (input);
    return ret;
  }
  if (gst_video_convolve_window_is_used (self))
    kept = gst_buffer_ref (input);
  ret =
      GST_BASE_TRANSFORM_CLASS
      (gst_video_convolve_parent_class)->submit_input_buffer (trans, is_discont,
      input);
  if (ret == GST_BASE_TRANSFORM_FLOW_DROPPED && kept != NULL) {
    self->late = g_steal_pointer (&kept);
    self->base_marks = TRUE;
    return GST_FLOW_OK;
  }
  /* Of a late frame that it dropped the base class would make a discontinuity
   * of the next frame pushed, which here is an older one. */
  if (ret == GST_BASE_TRANSFORM_FLOW_DROPPED && self->n_jobs > 0) {
    self->mark_discont = self->base_marks = TRUE;
    ret = GST_FLOW_OK;
  }
  return ret;
}

GstFlowReturn
gst_video_convolve_new_output (GstVideoConvolve * self, GstBuffer * inbuf,
    GstBuffer ** outbuf)
{
  return
      GST_BASE_TRANSFORM_CLASS
      (gst_video_convolve_parent_class)->prepare_output_buffer
      (GST_BASE_TRANSFORM (self), inbuf, outbuf);
}

/* A buffer that comes out after a late frame was dropped, but is older than
 * that, is not for the base class to push: it would mark it. */
static GstFlowReturn
push_older (GstVideoConvolve * self, GstBuffer ** outbuf)
{
  if (*outbuf == NULL || !self->base_marks)
    return GST_FLOW_OK;
  if (!GST_BUFFER_FLAG_IS_SET (*outbuf, GST_BUFFER_FLAG_DISCONT))
    return gst_pad_push (GST_BASE_TRANSFORM_SRC_PAD (self),
        g_steal_pointer (outbuf));
  self->base_marks = FALSE;
  return GST_FLOW_OK;
}

/* The queued input, or the late one, goes in, and what it completes comes
 * out. */
static GstFlowReturn
generate_from_window (GstVideoConvolve * self, GstBuffer ** outbuf)
{
  GstBuffer *inbuf = g_steal_pointer (&GST_BASE_TRANSFORM (self)->queued_buf);
  GstFlowReturn ret = GST_FLOW_OK;
  gboolean more;

  if (self->late != NULL)
    ret = gst_video_convolve_window_push (self, g_steal_pointer (&self->late),
        TRUE);
  else if (inbuf != NULL)
    ret = gst_video_convolve_window_push (self, inbuf, FALSE);
  do {
    if (ret == GST_FLOW_OK)
      ret = gst_video_convolve_window_pull (self, outbuf);
    more = *outbuf != NULL;
    if (ret == GST_FLOW_OK)
      ret = push_older (self, outbuf);
  } while (ret == GST_FLOW_OK && more && *outbuf == NULL);
  return ret;
}

/* The queued input goes in, and the oldest frame comes out if there are as many
 * as there may be. */
static GstFlowReturn
gst_video_convolve_generate_output (GstBaseTransform * trans,
    GstBuffer ** outbuf)
{
  GstVideoConvolve *self = GST_VIDEO_CONVOLVE (trans);
  gboolean passthrough = gst_base_transform_is_passthrough (trans);
  GstBuffer *inbuf, *filtered = NULL;
  GstFlowReturn ret;

  *outbuf = NULL;
  if (!passthrough && gst_video_convolve_window_is_used (self))
    return generate_from_window (self, outbuf);
  inbuf = g_steal_pointer (&trans->queued_buf);
  if (inbuf == NULL)
    return GST_FLOW_OK;
  if (self->mark_discont) {
    self->mark_discont = FALSE;
    inbuf = gst_buffer_make_writable (inbuf);
    GST_BUFFER_FLAG_SET (inbuf, GST_BUFFER_FLAG_DISCONT);
  }

  if (self->window.kept->len + self->window.waiting.length > 0)
    gst_video_convolve_window_end (self);
  if (passthrough) {
    ret = gst_video_convolve_drain (self);
    if (ret != GST_FLOW_OK) {
      self->drained = GST_FLOW_OK;
      gst_buffer_unref (inbuf);
      return ret;
    }
    GST_OBJECT_LOCK (self);
    self->n_passed++;
    GST_OBJECT_UNLOCK (self);
    *outbuf = inbuf;
    return GST_FLOW_OK;
  }

  ret = gst_video_convolve_new_output (self, inbuf, &filtered);
  if (ret != GST_FLOW_OK || filtered == NULL) {
    gst_buffer_unref (inbuf);
    return ret;
  }
  ret = gst_video_convolve_start_job (self, inbuf, filtered);
  if (ret == GST_FLOW_OK && self->n_jobs >= gst_video_convolve_depth (self))
    ret = gst_video_convolve_finish_job (self, outbuf);
  return ret == GST_FLOW_OK ? push_older (self, outbuf) : ret;
}

/* The base class takes an element with no transform function for one that works
 * in place. It calls this one from its own generate_output alone, whose place
 * ours has taken. */
static GstFlowReturn
gst_video_convolve_transform (GstBaseTransform * trans, GstBuffer * inbuf,
    GstBuffer * outbuf)
{
  return GST_FLOW_NOT_SUPPORTED;
}

/* Size and place of everything stay, so every meta stays true. The base class
 * leaves out those that describe the memory. */
static gboolean
gst_video_convolve_transform_meta (GstBaseTransform * trans,
    GstBuffer * outbuf, GstMeta * meta, GstBuffer * inbuf)
{
  return TRUE;
}

/* ---- object ---- */

static GstCaps *
make_template_caps (void)
{
  guint n;
  const ConvolveFormat *rows = convolve_format_list (&n);
  g_autofree GstVideoFormat *formats = g_new (GstVideoFormat, n);
  GstCaps *caps, *alternate;

  for (guint i = 0; i < n; i++)
    formats[i] = rows[i].format;
  caps = gst_video_make_raw_caps (formats, n);
  alternate = gst_video_make_raw_caps_with_features (formats, n,
      gst_caps_features_new (GST_CAPS_FEATURE_FORMAT_INTERLACED, NULL));
  gst_caps_set_simple (alternate, "interlace-mode", G_TYPE_STRING,
      "alternate", NULL);
  gst_caps_append (caps, alternate);
  return gst_cuda_interop_template_caps (caps);
}

static void
gst_video_convolve_finalize (GObject * object)
{
  GstVideoConvolve *self = GST_VIDEO_CONVOLVE (object);

  gst_video_convolve_changes_clear (self);
  gst_video_convolve_values_clear (&self->pending);
  gst_video_convolve_values_clear (&self->settled);
  gst_video_convolve_values_clear (&self->values);
  gst_video_convolve_values_clear (&self->active);
  g_free (self->kernel_location);
  g_queue_clear_full (&self->refused, g_free);
  gst_video_convolve_set_plan (self, NULL, NULL, NULL);
  g_free (self->device_text);
  g_free (self->fallback_reason);
  g_free (self->posted_error);
  gst_cuda_interop_free (self->interop);
  for (guint i = 0; i < GST_VIDEO_CONVOLVE_MAX_JOBS; i++)
    g_array_unref (self->jobs[i].rects);
  gst_video_convolve_window_clear (self);
  g_mutex_clear (&self->device_lock);
  G_OBJECT_CLASS (gst_video_convolve_parent_class)->finalize (object);
}

static void
gst_video_convolve_class_init (GstVideoConvolveClass * klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  GstElementClass *element_class = GST_ELEMENT_CLASS (klass);
  GstBaseTransformClass *trans_class = GST_BASE_TRANSFORM_CLASS (klass);
  GstCaps *caps = make_template_caps ();

  object_class->finalize = gst_video_convolve_finalize;
  gst_video_convolve_install_properties (object_class);

  element_class->set_context = gst_video_convolve_set_context;
  element_class->change_state = gst_video_convolve_change_state;
  gst_element_class_set_static_metadata (element_class, "Video convolution",
      "Filter/Effect/Video/Hardware",
      "Blurs, sharpens, finds edges, or applies any convolution matrix",
      "The gst-convolve developers");
  gst_element_class_add_pad_template (element_class,
      gst_pad_template_new ("sink", GST_PAD_SINK, GST_PAD_ALWAYS, caps));
  gst_element_class_add_pad_template (element_class,
      gst_pad_template_new ("src", GST_PAD_SRC, GST_PAD_ALWAYS, caps));
  gst_caps_unref (caps);

  trans_class->start = gst_video_convolve_start;
  trans_class->stop = gst_video_convolve_stop;
  trans_class->transform_caps = gst_video_convolve_transform_caps;
  trans_class->set_caps = gst_video_convolve_set_caps;
  trans_class->get_unit_size = gst_video_convolve_get_unit_size;
  trans_class->propose_allocation = gst_video_convolve_propose_allocation;
  trans_class->decide_allocation = gst_video_convolve_decide_allocation;
  trans_class->sink_event = gst_video_convolve_sink_event;
  trans_class->query = gst_video_convolve_query;
  trans_class->before_transform = gst_video_convolve_before_transform;
  trans_class->submit_input_buffer = gst_video_convolve_submit_input_buffer;
  trans_class->generate_output = gst_video_convolve_generate_output;
  trans_class->transform = gst_video_convolve_transform;
  trans_class->transform_meta = gst_video_convolve_transform_meta;
}

static void
gst_video_convolve_init (GstVideoConvolve * self)
{
  GstBaseTransform *trans = GST_BASE_TRANSFORM (self);

  gst_video_convolve_values_init (&self->pending);
  gst_video_convolve_values_init (&self->settled);
  gst_video_convolve_values_init (&self->values);
  gst_video_convolve_values_init (&self->active);
  gst_video_info_init (&self->info);
  for (guint i = 0; i < GST_VIDEO_CONVOLVE_MAX_JOBS; i++)
    self->jobs[i].rects = g_array_new (FALSE, FALSE, sizeof (ConvolveRect));
  gst_video_convolve_window_init (self);
  g_mutex_init (&self->device_lock);
  self->drained = GST_FLOW_OK;
  self->interop = gst_cuda_interop_new (GST_ELEMENT (self));
  gst_base_transform_set_qos_enabled (trans, TRUE);
  gst_base_transform_set_gap_aware (trans, TRUE);
}
