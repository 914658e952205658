/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "gstvideoconvolve-private.h"

#define GST_CAT_DEFAULT gst_video_convolve_debug

/* A frame of the history. */
typedef struct
{
  guint64 number;
  guint slot;
  gboolean lower;               /* the lower field, where each buffer is one */
} Kept;

/* What waits: an event, or a frame. */
typedef struct
{
  GstEvent *event;
  GstBuffer *buffer;            /* the frame's, but for its memory */
  GstVideoConvolveProgram *program;     /* a reference */
  guint64 number;
  gboolean late;
  GArray *rects;                /* of ConvolveRect; NULL: the whole frame */
} Waiting;

void
gst_video_convolve_window_init (GstVideoConvolve * self)
{
  GstVideoConvolveWindow *window = &self->window;

  window->kept = g_array_new (FALSE, FALSE, sizeof (Kept));
  window->free_slots = g_array_new (FALSE, FALSE, sizeof (guint));
  window->last_time = GST_CLOCK_TIME_NONE;
}

static void
waiting_free (Waiting * waiting)
{
  gst_clear_event (&waiting->event);
  gst_clear_buffer (&waiting->buffer);
  g_clear_pointer (&waiting->program, gst_video_convolve_program_unref);
  g_clear_pointer (&waiting->rects, g_array_unref);
  g_free (waiting);
}

static const ConvolvePlan *
plan_of (const GstVideoConvolveProgram * program)
{
  return program->program->plan;
}

guint
gst_video_convolve_window_after (GstVideoConvolve * self)
{
  guint after = 0;

  for (guint i = 0; i < G_N_ELEMENTS (self->programs); i++)
    if (self->programs[i] != NULL)
      after = MAX (after, plan_of (self->programs[i])->after);
  return after;
}

gboolean
gst_video_convolve_window_is_used (GstVideoConvolve * self)
{
  for (guint i = 0; i < G_N_ELEMENTS (self->programs); i++)
    if (self->programs[i] != NULL && plan_of (self->programs[i])->windowed)
      return TRUE;
  return self->window.waiting.length > 0;
}

/* ---- where streams begin and end ---- */

/* After a new segment, time stamps have to go on within a frame or so. */
static gboolean
goes_on (GstVideoConvolve * self, GstBuffer * inbuf)
{
  const GstVideoConvolveWindow *window = &self->window;
  GstClockTime duration = window->last_duration;
  GstClockTime time = GST_BUFFER_TIMESTAMP (inbuf);
  GstClockTimeDiff step;

  if (!GST_CLOCK_TIME_IS_VALID (duration)
      && GST_VIDEO_INFO_FPS_N (&self->info) > 0)
    duration = gst_util_uint64_scale (GST_SECOND,
        GST_VIDEO_INFO_FPS_D (&self->info), GST_VIDEO_INFO_FPS_N (&self->info));
  if (!GST_CLOCK_TIME_IS_VALID (duration) || !GST_CLOCK_TIME_IS_VALID (time)
      || !GST_CLOCK_TIME_IS_VALID (window->last_time))
    return FALSE;
  step = GST_CLOCK_DIFF (window->last_time, time);
  if (GST_BASE_TRANSFORM (self)->segment.rate < 0)
    step = -step;
  return step > 0 && step <= 2 * (GstClockTimeDiff) duration;
}

gboolean
gst_video_convolve_window_is_new (GstVideoConvolve * self, GstBuffer * inbuf)
{
  GstVideoConvolveWindow *window = &self->window;
  gboolean is_new = GST_BUFFER_IS_DISCONT (inbuf)
      || (window->segment_came && !goes_on (self, inbuf));

  window->segment_came = FALSE;
  window->last_time = GST_BUFFER_TIMESTAMP (inbuf);
  window->last_duration = GST_BUFFER_DURATION (inbuf);
  return is_new;
}

static gboolean
ends_stream (GstVideoConvolve * self, GstEvent * event)
{
  GstPad *pad = GST_BASE_TRANSFORM_SINK_PAD (self);
  g_autoptr (GstCaps) current = NULL;
  GstCaps *caps;

  switch (GST_EVENT_TYPE (event)) {
    case GST_EVENT_EOS:
    case GST_EVENT_GAP:
    case GST_EVENT_SEGMENT_DONE:
    case GST_EVENT_STREAM_START:
    case GST_EVENT_STREAM_GROUP_DONE:
      return TRUE;
    case GST_EVENT_CAPS:
      current = gst_pad_get_current_caps (pad);
      gst_event_parse_caps (event, &caps);
      return current == NULL || !gst_caps_is_equal (current, caps);
    default:
      return FALSE;
  }
}

/* What the base class does with a segment, for one that it will not see. */
static void
note_segment (GstVideoConvolve * self, GstEvent * event)
{
  GstBaseTransform *trans = GST_BASE_TRANSFORM (self);

  gst_event_copy_segment (event, &trans->segment);
  trans->have_segment = TRUE;
}

gboolean
gst_video_convolve_window_event (GstVideoConvolve * self, GstEvent * event)
{
  GstVideoConvolveWindow *window = &self->window;
  Waiting *waiting;

  if (ends_stream (self, event)) {
    gst_video_convolve_window_end (self);
    return FALSE;
  }
  gst_video_convolve_drain (self);
  if (GST_EVENT_TYPE (event) == GST_EVENT_SEGMENT)
    window->segment_came = TRUE;
  if (window->waiting.length == 0 || GST_EVENT_TYPE (event) == GST_EVENT_CAPS)
    return FALSE;
  if (GST_EVENT_TYPE (event) == GST_EVENT_SEGMENT)
    note_segment (self, event);
  waiting = g_new0 (Waiting, 1);
  waiting->event = event;
  g_queue_push_tail (&window->waiting, waiting);
  return TRUE;
}

/* ---- kept frames ---- */

static Kept *
kept_at (GstVideoConvolve * self, guint i)
{
  return &g_array_index (self->window.kept, Kept, i);
}

static void
forget_first (GstVideoConvolve * self, guint n)
{
  GstVideoConvolveWindow *window = &self->window;

  for (guint i = 0; i < n; i++)
    g_array_append_val (window->free_slots, kept_at (self, i)->slot);
  if (n > 0)
    g_array_remove_range (window->kept, 0, n);
}

/* Frames from one of a field to the next of the same field. */
static guint
frame_step (GstVideoConvolve * self)
{
  return GST_VIDEO_INFO_INTERLACE_MODE (&self->info) ==
      GST_VIDEO_INTERLACE_MODE_ALTERNATE ? 2 : 1;
}

/* Forgets frames that neither what waits nor what comes will look at. */
static void
forget_old (GstVideoConvolve * self)
{
  GstVideoConvolveWindow *window = &self->window;
  guint64 first = window->n_frames, before = 0;
  guint n = 0;

  for (guint i = 0; i < G_N_ELEMENTS (self->programs); i++)
    if (self->programs[i] != NULL)
      before = MAX (before, plan_of (self->programs[i])->before);
  for (GList * l = window->waiting.head; l != NULL; l = l->next) {
    const Waiting *waiting = l->data;

    if (waiting->program == NULL)
      continue;
    first = MIN (first, waiting->number);
    before = MAX (before, plan_of (waiting->program)->before);
  }
  while (n < window->kept->len
      && kept_at (self, n)->number + before * frame_step (self) < first)
    n++;
  forget_first (self, n);
}

/* The one that was given back first, and so many later ones that no frame in
 * flight looks at it any more: the device need not wait. */
static guint
take_slot (GstVideoConvolve * self)
{
  GstVideoConvolveWindow *window = &self->window;
  guint slot;

  if (window->free_slots->len < gst_video_convolve_depth (self))
    return window->n_slots++;
  slot = g_array_index (window->free_slots, guint, 0);
  g_array_remove_index (window->free_slots, 0);
  return slot;
}

/* ---- in ---- */

static gboolean
copy_meta (GstBuffer * inbuf, GstMeta ** meta, gpointer to)
{
  const GstMetaInfo *info = (*meta)->info;
  GstMetaTransformCopy whole = { FALSE, 0, -1 };

  /* As the base class does. */
  if (!GST_META_FLAG_IS_SET (*meta, GST_META_FLAG_POOLED)
      && !gst_meta_api_type_has_tag (info->api,
          g_quark_from_static_string (GST_META_TAG_MEMORY_STR))
      && !gst_meta_api_type_has_tag (info->api,
          g_quark_from_static_string (GST_META_TAG_MEMORY_REFERENCE_STR))
      && info->transform_func != NULL)
    info->transform_func (to, *meta, inbuf, _gst_meta_transform_copy, &whole);
  return TRUE;
}

/* All that is to go over to the output, and nothing that keeps memory of
 * upstream's. */
static GstBuffer *
without_memory (GstBuffer * inbuf)
{
  GstBuffer *buffer = gst_buffer_new ();

  gst_buffer_copy_into (buffer, inbuf,
      GST_BUFFER_COPY_FLAGS | GST_BUFFER_COPY_TIMESTAMPS, 0, -1);
  gst_buffer_foreach_meta (inbuf, copy_meta, buffer);
  return buffer;
}

static void
add_waiting (GstVideoConvolve * self, GstBuffer * inbuf, guint64 number,
    gboolean late)
{
  Waiting *waiting = g_new0 (Waiting, 1);

  waiting->number = number;
  waiting->late = late;
  waiting->buffer = without_memory (inbuf);
  waiting->program = gst_video_convolve_program_ref
      (gst_video_convolve_program_for (self, inbuf));
  waiting->rects = g_array_new (FALSE, FALSE, sizeof (ConvolveRect));
  if (!gst_video_convolve_find_regions (self, plan_of (waiting->program),
          waiting->buffer, waiting->rects))
    g_clear_pointer (&waiting->rects, g_array_unref);
  g_queue_push_tail (&self->window.waiting, waiting);
  self->window.n_waiting++;
}

GstFlowReturn
gst_video_convolve_window_push (GstVideoConvolve * self, GstBuffer * inbuf,
    gboolean late)
{
  GstVideoConvolveWindow *window = &self->window;
  Kept kept = { window->n_frames, 0, FALSE };
  GstFlowReturn ret;

  kept.lower = frame_step (self) == 2
      && !GST_BUFFER_FLAG_IS_SET (inbuf, GST_VIDEO_BUFFER_FLAG_TFF);
  kept.slot = take_slot (self);
  ret = gst_video_convolve_keep_frame (self, inbuf, kept.slot);
  if (ret == GST_FLOW_OK) {
    g_array_append_val (window->kept, kept);
    add_waiting (self, inbuf, window->n_frames++, late);
    GST_LOG_OBJECT (self, "frame %" G_GUINT64_FORMAT "%s in slot %u, %u wait",
        kept.number, late ? " (late)" : "", kept.slot, window->n_waiting);
  } else {
    g_array_append_val (window->free_slots, kept.slot);
  }
  gst_buffer_unref (inbuf);
  return ret;
}

/* ---- out ---- */

static guint
find_kept (GstVideoConvolve * self, guint64 number)
{
  guint i = 0;

  while (i + 1 < self->window.kept->len && kept_at (self, i)->number != number)
    i++;
  return i;
}

/* The frame of the same field that comes after that one in the direction of
 * step, or that one again if there is none. */
static guint
neighbour (GstVideoConvolve * self, guint i, gint step)
{
  gint n = self->window.kept->len, k = (gint) i + step;

  while (k >= 0 && k < n && kept_at (self, k)->lower !=
      kept_at (self, i)->lower)
    k += step;
  return k >= 0 && k < n ? (guint) k : i;
}

/* All newer frames are there. */
static gboolean
is_due (GstVideoConvolve * self, const Waiting * waiting)
{
  guint i = find_kept (self, waiting->number);

  for (guint n = plan_of (waiting->program)->after; n > 0; n--) {
    guint next = neighbour (self, i, 1);

    if (next == i)
      return FALSE;
    i = next;
  }
  return TRUE;
}

static void
find_slots (GstVideoConvolve * self, const Waiting * waiting, guint * slots)
{
  const ConvolvePlan *plan = plan_of (waiting->program);
  guint own = find_kept (self, waiting->number), i = own;

  slots[plan->before] = kept_at (self, own)->slot;
  for (guint n = plan->before; n > 0; n--) {
    i = neighbour (self, i, -1);
    slots[n - 1] = kept_at (self, i)->slot;
  }
  i = own;
  for (guint n = 0; n < plan->after; n++) {
    i = neighbour (self, i, 1);
    slots[plan->before + 1 + n] = kept_at (self, i)->slot;
  }
}

/* The oldest one that waits, a frame, comes to its turn. */
static GstFlowReturn
start_first (GstVideoConvolve * self)
{
  GstVideoConvolveWindow *window = &self->window;
  Waiting *waiting = g_queue_pop_head (&window->waiting);
  guint slots[CONVOLVE_MATRIX_MAX_DEPTH];
  GstBuffer *outbuf = NULL;
  GstFlowReturn ret = GST_FLOW_OK;

  window->n_waiting--;
  if (waiting->late) {
    window->lost = TRUE;
  } else {
    if (window->lost)
      GST_BUFFER_FLAG_SET (waiting->buffer, GST_BUFFER_FLAG_DISCONT);
    window->lost = FALSE;
    find_slots (self, waiting, slots);
    ret = gst_video_convolve_new_output (self, waiting->buffer, &outbuf);
    if (ret == GST_FLOW_OK && outbuf != NULL)
      ret = gst_video_convolve_start_window_job (self,
          g_steal_pointer (&waiting->program), slots, waiting->rects, outbuf);
  }
  waiting_free (waiting);
  forget_old (self);
  return ret;
}

static GstFlowReturn
push_first_event (GstVideoConvolve * self)
{
  Waiting *waiting = g_queue_pop_head (&self->window.waiting);
  GstFlowReturn ret = gst_video_convolve_drain (self);

  if (ret == GST_FLOW_OK)
    gst_pad_push_event (GST_BASE_TRANSFORM_SRC_PAD (self),
        g_steal_pointer (&waiting->event));
  waiting_free (waiting);
  return ret;
}

static GstFlowReturn
pull (GstVideoConvolve * self, gboolean end, GstBuffer ** outbuf)
{
  GstVideoConvolveWindow *window = &self->window;
  GstFlowReturn ret = GST_FLOW_OK;
  const Waiting *first;

  while (ret == GST_FLOW_OK && *outbuf == NULL
      && (first = g_queue_peek_head (&window->waiting)) != NULL) {
    if (first->event != NULL) {
      ret = push_first_event (self);
      continue;
    }
    if (!end && !is_due (self, first))
      break;
    ret = start_first (self);
    if (ret == GST_FLOW_OK && self->n_jobs >= gst_video_convolve_depth (self))
      ret = gst_video_convolve_finish_job (self, outbuf);
  }
  return ret;
}

GstFlowReturn
gst_video_convolve_window_pull (GstVideoConvolve * self, GstBuffer ** outbuf)
{
  return pull (self, FALSE, outbuf);
}

GstFlowReturn
gst_video_convolve_window_end (GstVideoConvolve * self)
{
  GstFlowReturn ret = GST_FLOW_OK;
  GstBuffer *outbuf;

  do {
    outbuf = NULL;
    ret = pull (self, TRUE, &outbuf);
    if (ret == GST_FLOW_OK && outbuf != NULL)
      ret = gst_pad_push (GST_BASE_TRANSFORM_SRC_PAD (self),
          g_steal_pointer (&outbuf));
  } while (ret == GST_FLOW_OK && self->window.waiting.length > 0);
  if (ret == GST_FLOW_OK)
    ret = gst_video_convolve_drain (self);
  else
    gst_video_convolve_drop_jobs (self);
  if (ret != GST_FLOW_OK) {
    GST_DEBUG_OBJECT (self, "ending the window: %s", gst_flow_get_name (ret));
    self->drained = ret;
  }
  gst_video_convolve_window_drop (self);
  return ret;
}

/* ---- away ---- */

void
gst_video_convolve_window_drop (GstVideoConvolve * self)
{
  GstVideoConvolveWindow *window = &self->window;
  GQueue all = window->waiting;
  Waiting *waiting;

  g_queue_init (&window->waiting);
  while ((waiting = g_queue_pop_head (&all)) != NULL) {
    if (waiting->event != NULL && GST_EVENT_IS_STICKY (waiting->event))
      g_queue_push_tail (&window->waiting, waiting);
    else
      waiting_free (waiting);
  }
  window->n_waiting = 0;
  window->lost = FALSE;
  forget_first (self, window->kept->len);
}

void
gst_video_convolve_window_flushed (GstVideoConvolve * self)
{
  Waiting *waiting;

  while ((waiting = g_queue_pop_head (&self->window.waiting)) != NULL) {
    if (GST_EVENT_TYPE (waiting->event) != GST_EVENT_SEGMENT)
      gst_pad_push_event (GST_BASE_TRANSFORM_SRC_PAD (self),
          g_steal_pointer (&waiting->event));
    waiting_free (waiting);
  }
}

void
gst_video_convolve_window_close (GstVideoConvolve * self)
{
  GstVideoConvolveWindow *window = &self->window;

  gst_video_convolve_window_drop (self);
  g_clear_pointer (&window->history, convolve_history_free);
  g_array_set_size (window->free_slots, 0);
  window->n_slots = 0;
}

void
gst_video_convolve_window_forget_events (GstVideoConvolve * self)
{
  g_queue_clear_full (&self->window.waiting, (GDestroyNotify) waiting_free);
  self->window.segment_came = FALSE;
  self->window.last_time = GST_CLOCK_TIME_NONE;
}

void
gst_video_convolve_window_clear (GstVideoConvolve * self)
{
  gst_video_convolve_window_forget_events (self);
  g_array_unref (self->window.kept);
  g_array_unref (self->window.free_slots);
}
