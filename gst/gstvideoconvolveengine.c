/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Plans and programs: what runs, made from caps and values. All of it belongs
 * to the streaming thread. */
#include "config.h"

#include "gstvideoconvolve-private.h"

#define GST_CAT_DEFAULT gst_video_convolve_debug

/* ---- errors ---- */

/* Where an error of core or backend comes from, for the bus. */
void
gst_video_convolve_post_error (GstVideoConvolve * self, const GError * error,
    const gchar * what)
{
  GQuark domain = GST_RESOURCE_ERROR;
  gint code = GST_RESOURCE_ERROR_FAILED;
  gint convolve_code = CONVOLVE_ERROR_FAILED;

  if (error->domain == CONVOLVE_ERROR)
    convolve_code = error->code;
  switch (convolve_code) {
    case CONVOLVE_ERROR_INVALID:
    case CONVOLVE_ERROR_UNSUPPORTED:
      domain = GST_LIBRARY_ERROR;
      code = GST_LIBRARY_ERROR_SETTINGS;
      break;
    case CONVOLVE_ERROR_NO_DEVICE:
      code = GST_RESOURCE_ERROR_NOT_FOUND;
      break;
    case CONVOLVE_ERROR_NO_MEMORY:
      code = GST_RESOURCE_ERROR_NO_SPACE_LEFT;
      break;
    default:
      break;
  }
  gst_element_message_full (GST_ELEMENT (self), GST_MESSAGE_ERROR, domain,
      code, g_strdup_printf ("%s: %s", what, error->message), NULL, __FILE__,
      GST_FUNCTION, __LINE__);
}

/* ---- programs ---- */

static void
program_clear (gpointer program)
{
  convolve_program_free (((GstVideoConvolveProgram *) program)->program);
}

GstVideoConvolveProgram *
gst_video_convolve_program_new (GstVideoConvolve * self, ConvolvePlan * plan,
    GError ** error)
{
  ConvolveProgram *program = convolve_program_new (self->device, plan, error);
  GstVideoConvolveProgram *shared;

  if (program == NULL)
    return NULL;
  shared = g_rc_box_new (GstVideoConvolveProgram);
  shared->program = program;
  return shared;
}

GstVideoConvolveProgram *
gst_video_convolve_program_ref (GstVideoConvolveProgram * program)
{
  return g_rc_box_acquire (program);
}

void
gst_video_convolve_program_unref (GstVideoConvolveProgram * program)
{
  g_rc_box_release_full (program, program_clear);
}

void
gst_video_convolve_drop_programs (GstVideoConvolve * self)
{
  for (guint i = 0; i < G_N_ELEMENTS (self->programs); i++)
    g_clear_pointer (&self->programs[i], gst_video_convolve_program_unref);
}

/* ---- plans ---- */

/* What a plan is made for: [0] frames as a whole, [1] fields. A mixed stream
 * has both, and each buffer says which it is. */
static void
needed_plans (GstVideoConvolve * self, GstVideoConvolveFields fields,
    gboolean needed[2])
{
  GstVideoInterlaceMode mode = GST_VIDEO_INFO_INTERLACE_MODE (&self->info);
  gboolean is_interleaved = mode == GST_VIDEO_INTERLACE_MODE_INTERLEAVED;

  needed[0] = needed[1] = FALSE;
  if (mode == GST_VIDEO_INTERLACE_MODE_ALTERNATE)
    needed[0] = TRUE;           /* each buffer is a field already */
  else if (fields != GST_VIDEO_CONVOLVE_FIELDS_AUTO)
    needed[fields == GST_VIDEO_CONVOLVE_FIELDS_FIELD] = TRUE;
  else if (mode == GST_VIDEO_INTERLACE_MODE_MIXED)
    needed[0] = needed[1] = TRUE;
  else
    needed[is_interleaved] = TRUE;
}

static gboolean
make_plans (GstVideoConvolve * self, const GstVideoConvolveValues * values,
    ConvolvePlan * plans[2], GError ** error)
{
  ConvolveSettings settings = values->settings;
  gboolean needed[2];

  settings.costs = gst_video_convolve_is_on_cuda (self) ? CONVOLVE_COSTS_CUDA :
      CONVOLVE_COSTS_CPU;
  needed_plans (self, values->fields, needed);
  for (guint i = 0; i < 2; i++) {
    if (!needed[i])
      continue;
    plans[i] = convolve_plan_new (&self->picture, &settings, i, error);
    if (plans[i] == NULL)
      return FALSE;
  }
  return TRUE;
}

static gboolean
is_identity (ConvolvePlan * const plans[2])
{
  return (plans[0] == NULL || plans[0]->identity)
      && (plans[1] == NULL || plans[1]->identity);
}

static gchar *
describe_programs (GstVideoConvolve * self,
    GstVideoConvolveProgram * const programs[2],
    GstVideoConvolveRoiMode roi_mode)
{
  static const gchar *const where[] = {
    [GST_VIDEO_CONVOLVE_ROI_MODE_OFF] = "",
    [GST_VIDEO_CONVOLVE_ROI_MODE_INSIDE] = "inside regions alone:\n",
    [GST_VIDEO_CONVOLVE_ROI_MODE_OUTSIDE] = "outside regions alone:\n",
  };
  const ConvolveBackend *backend = self->device->backend;
  g_autofree gchar *frames = NULL;
  g_autofree gchar *fields = NULL;

  if (programs[0] != NULL)
    frames = backend->describe (programs[0]->program);
  if (programs[1] != NULL)
    fields = backend->describe (programs[1]->program);
  if (frames != NULL && fields != NULL)
    return g_strdup_printf ("%sframes:\n%s\nfields:\n%s", where[roi_mode],
        frames, fields);
  return g_strconcat (where[roi_mode], frames != NULL ? frames : fields, NULL);
}

/* Makes what values need, and its text. Both programs stay NULL where every
 * sample is copied anyway. */
static gboolean
make_programs (GstVideoConvolve * self, const GstVideoConvolveValues * values,
    GstVideoConvolveProgram * programs[2], gchar ** text, GError ** error)
{
  ConvolvePlan *plans[2] = { NULL, NULL };
  gboolean ok = make_plans (self, values, plans, error);
  gboolean identity = ok && is_identity (plans);

  for (guint i = 0; i < 2 && ok && !identity; i++) {
    if (plans[i] == NULL)
      continue;
    programs[i] = gst_video_convolve_program_new (self, plans[i], error);
    ok = programs[i] != NULL;
  }
  if (ok)
    *text = identity ? g_strdup ("passthrough") :
        describe_programs (self, programs, values->roi_mode);
  else
    g_clear_pointer (&programs[0], gst_video_convolve_program_unref);

  for (guint i = 0; i < 2; i++)
    g_clear_pointer (&plans[i], convolve_plan_unref);
  return ok;
}

/* ---- taking over ---- */

static void
announce (GstVideoConvolve * self)
{
  if (self->announced)
    return;
  self->announced = TRUE;
  GST_INFO_OBJECT (self, "backend %s%s%s%s, device %s, plan: %s",
      self->backend_name, self->fallback_reason ? " (no CUDA: " : "",
      self->fallback_reason ? self->fallback_reason : "",
      self->fallback_reason ? ")" : "", self->device_text, self->plan_text);
}

gboolean
gst_video_convolve_is_on_cuda (GstVideoConvolve * self)
{
  return self->device != NULL
      && self->device->backend == convolve_backend_cuda ();
}

guint
gst_video_convolve_depth (GstVideoConvolve * self)
{
  /* With no frame rate the latency of frames in flight cannot be told. */
  if (GST_VIDEO_INFO_FPS_N (&self->info) == 0)
    return 1;
  return self->active.frames_in_flight;
}

static void
update_latency (GstVideoConvolve * self)
{
  guint frames = gst_video_convolve_depth (self) - 1
      + gst_video_convolve_window_after (self);
  GstClockTime latency = 0, second = GST_SECOND;
  gboolean changed;

  /* The caps' rate is that of frames, and two buffers make one. */
  if (GST_VIDEO_INFO_INTERLACE_MODE (&self->info) ==
      GST_VIDEO_INTERLACE_MODE_ALTERNATE)
    second /= 2;
  if (!gst_base_transform_is_passthrough (GST_BASE_TRANSFORM (self))
      && frames > 0 && GST_VIDEO_INFO_FPS_N (&self->info) > 0)
    latency = gst_util_uint64_scale (frames,
        second * GST_VIDEO_INFO_FPS_D (&self->info),
        GST_VIDEO_INFO_FPS_N (&self->info));
  GST_OBJECT_LOCK (self);
  changed = self->latency != latency;
  self->latency = latency;
  GST_OBJECT_UNLOCK (self);
  if (changed)
    gst_element_post_message (GST_ELEMENT (self),
        gst_message_new_latency (GST_OBJECT (self)));
}

/* Neighbours agree anew on where buffers come from. */
static void
reallocate (GstVideoConvolve * self)
{
  gst_base_transform_reconfigure_src (GST_BASE_TRANSFORM (self));
  gst_base_transform_reconfigure_sink (GST_BASE_TRANSFORM (self));
}

static ConvolvePlan *
plan_of (const GstVideoConvolveProgram * program)
{
  return program != NULL ? program->program->plan : NULL;
}

/* Puts programs (both NULL: passthrough) in place of the current ones. Jobs of
 * those keep their own reference. */
static void
use_programs (GstVideoConvolve * self, GstVideoConvolveProgram * programs[2],
    gchar * text)
{
  GstBaseTransform *trans = GST_BASE_TRANSFORM (self);
  gboolean passthrough = programs[0] == NULL && programs[1] == NULL;

  /* Once buffers pass through, the base class makes no new ones. */
  if (passthrough)
    gst_video_convolve_window_end (self);
  gst_video_convolve_drop_programs (self);
  self->programs[0] = programs[0];
  self->programs[1] = programs[1];
  gst_video_convolve_set_plan (self, text, plan_of (programs[0]),
      plan_of (programs[1]));
  GST_DEBUG_OBJECT (self, "plan: %s", text);

  if (gst_base_transform_is_passthrough (trans) != passthrough) {
    gst_base_transform_set_passthrough (trans, passthrough);
    /* Within set_info buffers are allocated afterwards anyway. */
    if (self->negotiated)
      reallocate (self);
  }
  update_latency (self);
}

/* What the device was opened with. */
static gboolean
needs_reopen (GstVideoConvolve * self, const GstVideoConvolveValues * next)
{
  return next->n_threads != self->active.n_threads
      || next->frames_in_flight != self->active.frames_in_flight
      || next->bands != self->active.bands;
}

static void
adopt_values (GstVideoConvolve * self, GstVideoConvolveValues * next)
{
  GstVideoConvolveBackend backend = self->active.backend;
  gint device_id = self->active.cuda_device_id;

  /* The backend is chosen when the element starts. */
  gst_video_convolve_values_clear (&self->active);
  self->active = *next;
  self->active.backend = backend;
  self->active.cuda_device_id = device_id;
}

/* Posts why the current caps and values cannot be used, once until one of them
 * changes: upstream may try the same several times. */
static void
post_unusable (GstVideoConvolve * self, const GError * error)
{
  g_autoptr (GstCaps) caps = gst_video_info_to_caps (&self->info);
  g_autofree gchar *caps_text = caps ? gst_caps_to_string (caps) : NULL;
  gchar *text = g_strdup_printf ("%s with %s", error->message, caps_text);

  if (g_strcmp0 (text, self->posted_error) == 0) {
    GST_DEBUG_OBJECT (self, "again: %s", text);
    g_free (text);
    return;
  }
  gst_video_convolve_post_error (self, error, "the filter cannot be used");
  g_free (self->posted_error);
  self->posted_error = text;
}

/* Makes the programs of active again, after device or caps changed. */
static gboolean
remake_programs (GstVideoConvolve * self)
{
  GstVideoConvolveProgram *programs[2] = { NULL, NULL };
  g_autoptr (GError) error = NULL;
  gchar *text;

  if (!make_programs (self, &self->active, programs, &text, &error)) {
    if (gst_video_convolve_can_switch_to_cpu (self, error))
      return gst_video_convolve_switch_to_cpu (self, error);
    post_unusable (self, error);
    return FALSE;
  }
  g_clear_pointer (&self->posted_error, g_free);
  use_programs (self, programs, text);
  return TRUE;
}

gboolean
gst_video_convolve_reopen (GstVideoConvolve * self)
{
  gst_video_convolve_window_end (self);
  gst_video_convolve_close (self);
  if (!gst_video_convolve_open (self) || !remake_programs (self))
    return FALSE;
  /* Pools were chosen for the frames in flight and the memory of before: jobs
   * might wait for a buffer that another job holds. */
  reallocate (self);
  return TRUE;
}

/* The picture of one buffer. Where caps alternate fields it is as high as a
 * field and, for the plan, progressive. Planes stay where the caps put them:
 * interlaced chroma is padded to an even number of rows. */
static void
make_picture (const GstVideoInfo * info, GstVideoInfo * picture)
{
  *picture = *info;
  if (GST_VIDEO_INFO_INTERLACE_MODE (info) !=
      GST_VIDEO_INTERLACE_MODE_ALTERNATE)
    return;
  picture->interlace_mode = GST_VIDEO_INTERLACE_MODE_PROGRESSIVE;
  picture->height = GST_VIDEO_INFO_FIELD_HEIGHT (info);
}

/* TRUE if nothing but the frame rate and its like differ. */
static gboolean
same_picture (const GstVideoInfo * a, const GstVideoInfo * b)
{
  GstVideoInfo copy = *a;

  GST_VIDEO_INFO_FPS_N (&copy) = GST_VIDEO_INFO_FPS_N (b);
  GST_VIDEO_INFO_FPS_D (&copy) = GST_VIDEO_INFO_FPS_D (b);
  return gst_video_info_is_equal (&copy, b);
}

/* FALSE after an error took device or programs away. */
static gboolean
is_ready (GstVideoConvolve * self)
{
  return self->device != NULL
      && (self->programs[0] != NULL || self->programs[1] != NULL
      || gst_base_transform_is_passthrough (GST_BASE_TRANSFORM (self)));
}

/* Takes over what the device is opened with; TRUE if that changes it. */
static gboolean
adopt_options (GstVideoConvolve * self, const GstVideoConvolveValues * next)
{
  gboolean changed = needs_reopen (self, next);

  self->active.n_threads = next->n_threads;
  self->active.frames_in_flight = next->frames_in_flight;
  self->active.bands = next->bands;
  return changed;
}

gboolean
gst_video_convolve_set_info (GstVideoConvolve * self, const GstVideoInfo * info)
{
  GstVideoConvolveValues next;
  gboolean changed, same, reopen;

  reopen = self->device == NULL;
  same = self->negotiated && same_picture (&self->info, info);
  self->negotiated = FALSE;
  self->info = *info;
  make_picture (info, &self->picture);
  if (GST_VIDEO_INFO_INTERLACE_MODE (info) == GST_VIDEO_INTERLACE_MODE_FIELDS) {
    GST_ELEMENT_ERROR (self, STREAM, FORMAT,
        ("video with interlace-mode=%s is not supported",
            gst_video_interlace_mode_to_string (GST_VIDEO_INFO_INTERLACE_MODE
                (info))), (NULL));
    return FALSE;
  }

  changed = gst_video_convolve_take_values (self, &next);
  if (changed) {
    g_clear_pointer (&self->posted_error, g_free);
    reopen |= adopt_options (self, &next);
    adopt_values (self, &next);
  }
  if (reopen) {
    gst_video_convolve_close (self);
    if (!gst_video_convolve_open (self))
      return FALSE;
  }
  if (!same)
    gst_video_convolve_window_close (self);
  if (!same || changed || !is_ready (self)) {
    gst_video_convolve_drop_programs (self);
    if (!remake_programs (self))
      return FALSE;
  } else {
    update_latency (self);
  }
  self->negotiated = TRUE;
  self->caps_refused = FALSE;
  announce (self);
  return TRUE;
}

/* After refused caps the base class does not hand on those again that were
 * there before: to it they are nothing new. */
static gboolean
negotiate_again (GstVideoConvolve * self)
{
  GstBaseTransform *trans = GST_BASE_TRANSFORM (self);
  g_autoptr (GstCaps) in = gst_pad_get_current_caps (trans->sinkpad);
  g_autoptr (GstCaps) out = gst_pad_get_current_caps (trans->srcpad);

  /* Without caps the base class refuses the buffer. */
  return in == NULL || out == NULL
      || GST_BASE_TRANSFORM_GET_CLASS (trans)->set_caps (trans, in, out);
}

gboolean
gst_video_convolve_update (GstVideoConvolve * self)
{
  GstVideoConvolveProgram *programs[2] = { NULL, NULL };
  g_autoptr (GError) error = NULL;
  GstVideoConvolveValues next;
  gboolean changed;
  gchar *text;

  if (!self->negotiated)
    return !self->caps_refused || negotiate_again (self);
  changed = gst_video_convolve_take_values (self, &next);
  if (((changed && adopt_options (self, &next)) || !is_ready (self))
      && !gst_video_convolve_reopen (self)) {
    if (changed) {
      gst_video_convolve_values_clear (&next);
      /* Should another frame come, it tries again with all of them. */
      GST_OBJECT_LOCK (self);
      self->changed = TRUE;
      GST_OBJECT_UNLOCK (self);
    }
    return FALSE;
  }
  if (!changed)
    return TRUE;
  if (make_programs (self, &next, programs, &text, &error)) {
    adopt_values (self, &next);
    use_programs (self, programs, text);
    return TRUE;
  }
  if (gst_video_convolve_can_switch_to_cpu (self, error)) {
    /* Draining may meet the fault as well, and switch. */
    gst_video_convolve_window_end (self);
    adopt_values (self, &next);
    return gst_video_convolve_is_on_cuda (self) ?
        gst_video_convolve_switch_to_cpu (self, error) : remake_programs (self);
  }
  gst_video_convolve_values_clear (&next);
  GST_ELEMENT_WARNING (self, LIBRARY, SETTINGS,
      ("the filter stays as it is: %s", error->message), (NULL));
  return TRUE;
}

/* ---- after a fault ---- */

gboolean
gst_video_convolve_can_switch_to_cpu (GstVideoConvolve * self,
    const GError * fault)
{
  return self->active.backend == GST_VIDEO_CONVOLVE_BACKEND_AUTO
      && self->device != NULL
      && self->device->backend != convolve_backend_cpu ()
      && fault->domain == CONVOLVE_ERROR
      && fault->code != CONVOLVE_ERROR_CANCELLED
      && fault->code != CONVOLVE_ERROR_INVALID
      && fault->code != CONVOLVE_ERROR_UNSUPPORTED;
}

gboolean
gst_video_convolve_switch_to_cpu (GstVideoConvolve * self, const GError * fault)
{
  const ConvolveBackend *cpu = convolve_backend_cpu ();
  g_autoptr (GError) error = NULL;

  GST_ELEMENT_WARNING (self, RESOURCE, FAILED,
      ("the %s backend failed, the CPU goes on: %s",
          self->device->backend->name, fault->message), (NULL));
  self->cuda_failed = TRUE;
  gst_video_convolve_close (self);
  if (!gst_video_convolve_open_backend (self, cpu, &error)) {
    gst_video_convolve_post_error (self, error,
        "the CPU backend cannot be opened");
    return FALSE;
  }
  return remake_programs (self);
}
