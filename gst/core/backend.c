/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The checked calls of the backend interface. A backend may rely on every
 * condition that is tested here. */
#include "config.h"

#include <string.h>

#include "backend.h"

/* *INDENT-OFF* */
G_DEFINE_QUARK (convolve-error-quark, convolve_error)
/* *INDENT-ON* */

#define MAX_FRAMES_IN_FLIGHT 8
#define MAX_BANDS 64

/* A failure must carry a reason, or its receiver would crash on it. */
static void
ensure_error (GError ** error, const ConvolveBackend * backend,
    const gchar * what)
{
  if (error != NULL && *error == NULL)
    g_set_error (error, CONVOLVE_ERROR, CONVOLVE_ERROR_FAILED,
        "the backend %s gave no reason why it could not %s", backend->name,
        what);
}

static gboolean
check_backend (const ConvolveBackend * backend, GError ** error)
{
  if (backend != NULL && backend->name != NULL && backend->probe != NULL
      && backend->open != NULL && backend->prepare != NULL
      && backend->process != NULL && backend->wait != NULL
      && backend->release != NULL && backend->close != NULL
      && backend->get_stats != NULL && backend->describe != NULL
      && backend->device_name != NULL
      && (backend->host_alloc == NULL) == (backend->host_free == NULL)
      && (backend->history_new == NULL) == (backend->history_store == NULL)
      && (backend->history_new == NULL) == (backend->history_free == NULL)
      && (backend->history_new == NULL) == (backend->process_window == NULL))
    return TRUE;
  g_set_error (error, CONVOLVE_ERROR, CONVOLVE_ERROR_UNSUPPORTED,
      "the backend %s is incomplete",
      backend != NULL && backend->name != NULL ? backend->name : "(none)");
  return FALSE;
}

static gboolean
check_options (const ConvolveOpenOptions * options, GError ** error)
{
  const gchar *fault = NULL;

  if (options == NULL)
    fault = "no options were given";
  else if (options->device_id < -1)
    fault = "cuda-device-id is below -1";
  else if (options->frames_in_flight < 1
      || options->frames_in_flight > MAX_FRAMES_IN_FLIGHT)
    fault = "frames-in-flight is not 1 to 8";
  else if (options->bands > MAX_BANDS)
    fault = "bands is not 0 to 64";
  if (fault == NULL)
    return TRUE;
  g_set_error_literal (error, CONVOLVE_ERROR, CONVOLVE_ERROR_INVALID, fault);
  return FALSE;
}

ConvolveDevice *
convolve_device_open (const ConvolveBackend * backend,
    const ConvolveOpenOptions * options, GError ** error)
{
  ConvolveDevice *device;

  /* Asked first: a stub has nothing but a probe, which knows the reason. */
  if (backend != NULL && backend->name != NULL && backend->probe != NULL
      && !backend->probe (error)) {
    ensure_error (error, backend, "run here");
    return NULL;
  }
  if (!check_backend (backend, error) || !check_options (options, error))
    return NULL;
  device = backend->open (options, error);
  if (device == NULL) {
    ensure_error (error, backend, "open a device");
    return NULL;
  }
  device->backend = backend;
  return device;
}

void
convolve_device_close (ConvolveDevice * device)
{
  g_return_if_fail (device != NULL);
  device->backend->close (device);
}

static gboolean
check_histories (const ConvolveDevice * device, GError ** error)
{
  if (device->backend->history_new != NULL)
    return TRUE;
  g_set_error (error, CONVOLVE_ERROR, CONVOLVE_ERROR_UNSUPPORTED,
      "the backend %s cannot filter across frames", device->backend->name);
  return FALSE;
}

ConvolveProgram *
convolve_program_new (ConvolveDevice * device, ConvolvePlan * plan,
    GError ** error)
{
  ConvolveProgram *program;

  if (device == NULL || plan == NULL || plan->n_passes == 0) {
    g_set_error_literal (error, CONVOLVE_ERROR, CONVOLVE_ERROR_INVALID,
        "a program needs a device and a plan with passes");
    return NULL;
  }
  if (plan->windowed && !check_histories (device, error))
    return NULL;
  program = device->backend->prepare (device, plan, error);
  if (program == NULL) {
    ensure_error (error, device->backend, "prepare the plan");
    return NULL;
  }
  program->device = device;
  convolve_plan_work (plan, &program->work);
  return program;
}

void
convolve_program_free (ConvolveProgram * program)
{
  g_return_if_fail (program != NULL);
  program->device->backend->release (program);
}

/* The planes of all layouts of a format. */
static gboolean
check_format_frame (const GstVideoInfo * info, const ConvolveFrame * frame,
    const gchar * name, GError ** error)
{
  const ConvolveFormat *format =
      convolve_format_get (GST_VIDEO_INFO_FORMAT (info));

  if (frame == NULL || (guint) frame->memory > CONVOLVE_MEMORY_DEVICE) {
    g_set_error (error, CONVOLVE_ERROR, CONVOLVE_ERROR_INVALID,
        "the %s frame is missing or in an unknown memory", name);
    return FALSE;
  }
  for (guint i = 0; i < format->n_layouts; i++) {
    const ConvolveLayout *layout = &format->layout[i];
    guint plane = layout->plane;
    gsize row_bytes = convolve_layout_row_bytes (layout,
        convolve_layout_width (layout, GST_VIDEO_INFO_WIDTH (info)));

    if (plane >= CONVOLVE_MAX_PLANES || frame->data[plane] == NULL) {
      g_set_error (error, CONVOLVE_ERROR, CONVOLVE_ERROR_INVALID,
          "the %s frame has no plane %u", name, plane);
      return FALSE;
    }
    /* Widened first: the lowest integer has no positive counterpart. */
    if ((gsize) ABS ((gint64) frame->stride[plane]) < row_bytes) {
      g_set_error (error, CONVOLVE_ERROR, CONVOLVE_ERROR_INVALID,
          "the %s frame's stride of %d in plane %u is smaller than a row of %"
          G_GSIZE_FORMAT " bytes", name, frame->stride[plane], plane,
          row_bytes);
      return FALSE;
    }
  }
  return TRUE;
}

static gboolean
check_frame (const ConvolvePlan * plan, const ConvolveFrame * frame,
    const gchar * name, GError ** error)
{
  return check_format_frame (&plan->info, frame, name, error);
}

static gboolean
check_apart (const ConvolvePlan * plan, const ConvolveFrame * in,
    const ConvolveFrame * out, GError ** error)
{
  for (guint i = 0; i < plan->n_passes; i++) {
    guint plane = plan->pass[i].layout.plane;

    if (in->data[plane] == out->data[plane]) {
      g_set_error (error, CONVOLVE_ERROR, CONVOLVE_ERROR_INVALID,
          "plane %u would be written onto itself", plane);
      return FALSE;
    }
  }
  return TRUE;
}

static gboolean
check_regions (const ConvolvePlan * plan, const ConvolveRegions * regions,
    GError ** error)
{
  gint width = GST_VIDEO_INFO_WIDTH (&plan->info);
  gint height = GST_VIDEO_INFO_HEIGHT (&plan->info);

  for (guint i = 0; regions != NULL && i < regions->n; i++) {
    const ConvolveRect *r = &regions->rect[i];

    if (convolve_rect_is_empty (r) || r->x0 < 0 || r->y0 < 0 || r->x1 > width
        || r->y1 > height) {
      g_set_error (error, CONVOLVE_ERROR, CONVOLVE_ERROR_INVALID,
          "region %u, from (%d, %d) to (%d, %d), is empty or not inside the "
          "picture of %d x %d", i, r->x0, r->y0, r->x1, r->y1, width, height);
      return FALSE;
    }
  }
  return TRUE;
}

static gboolean
check_program (const ConvolveProgram * program, const guint64 * job,
    GError ** error)
{
  if (program != NULL && job != NULL)
    return TRUE;
  g_set_error_literal (error, CONVOLVE_ERROR, CONVOLVE_ERROR_INVALID,
      "a frame needs a program and a place for the job's number");
  return FALSE;
}

gboolean
convolve_program_process_regions (ConvolveProgram * program,
    const ConvolveFrame * in, const ConvolveFrame * out,
    const ConvolveRegions * regions, guint64 * job, GError ** error)
{
  const ConvolveBackend *backend;

  if (!check_program (program, job, error))
    return FALSE;
  if (program->plan->windowed) {
    g_set_error_literal (error, CONVOLVE_ERROR, CONVOLVE_ERROR_INVALID,
        "a plan that sums over frames needs a window of them");
    return FALSE;
  }
  if (!check_frame (program->plan, in, "input", error)
      || !check_frame (program->plan, out, "output", error)
      || !check_apart (program->plan, in, out, error)
      || !check_regions (program->plan, regions, error))
    return FALSE;

  backend = program->device->backend;
  if (!backend->process (program, in, out, regions, job, error)) {
    ensure_error (error, backend, "filter a frame");
    return FALSE;
  }
  return TRUE;
}

gboolean
convolve_program_process (ConvolveProgram * program, const ConvolveFrame * in,
    const ConvolveFrame * out, guint64 * job, GError ** error)
{
  return convolve_program_process_regions (program, in, out, NULL, job, error);
}

/* ---- frames across time ---- */

ConvolveHistory *
convolve_history_new (ConvolveDevice * device, const GstVideoInfo * info,
    GError ** error)
{
  ConvolveHistory *history;

  if (device == NULL || info == NULL
      || convolve_format_get (GST_VIDEO_INFO_FORMAT (info)) == NULL
      || GST_VIDEO_INFO_WIDTH (info) < 1 || GST_VIDEO_INFO_HEIGHT (info) < 1) {
    g_set_error_literal (error, CONVOLVE_ERROR, CONVOLVE_ERROR_INVALID,
        "a history needs a device and frames of a supported format");
    return NULL;
  }
  if (!check_histories (device, error))
    return NULL;
  history = device->backend->history_new (device, info, error);
  if (history == NULL) {
    ensure_error (error, device->backend, "keep frames");
    return NULL;
  }
  history->device = device;
  history->info = *info;
  return history;
}

static gboolean
is_stored (const ConvolveHistory * history, guint slot)
{
  return slot < CONVOLVE_HISTORY_MAX_SLOTS
      && (history->stored[slot / 64] >> slot % 64 & 1);
}

gboolean
convolve_history_store (ConvolveHistory * history, guint slot,
    const ConvolveFrame * in, GError ** error)
{
  if (history == NULL || slot >= CONVOLVE_HISTORY_MAX_SLOTS) {
    g_set_error (error, CONVOLVE_ERROR, CONVOLVE_ERROR_INVALID,
        "there is no history, or no slot %u of it", slot);
    return FALSE;
  }
  if (!check_format_frame (&history->info, in, "input", error))
    return FALSE;
  history->stored[slot / 64] &= ~(G_GUINT64_CONSTANT (1) << slot % 64);
  if (!history->device->backend->history_store (history, slot, in, error)) {
    ensure_error (error, history->device->backend, "keep a frame");
    return FALSE;
  }
  history->stored[slot / 64] |= G_GUINT64_CONSTANT (1) << slot % 64;
  return TRUE;
}

void
convolve_history_free (ConvolveHistory * history)
{
  g_return_if_fail (history != NULL);
  history->device->backend->history_free (history);
}

static gboolean
check_window (const ConvolveProgram * program, const ConvolveWindow * window,
    GError ** error)
{
  const ConvolvePlan *plan = program->plan;
  const ConvolveHistory *history;

  if (window == NULL || window->history == NULL
      || window->n != plan->before + 1 + plan->after) {
    g_set_error (error, CONVOLVE_ERROR, CONVOLVE_ERROR_INVALID,
        "the plan needs a window of %u frames", plan->before + 1 + plan->after);
    return FALSE;
  }
  history = window->history;
  if (history->device != program->device
      || GST_VIDEO_INFO_FORMAT (&history->info) !=
      GST_VIDEO_INFO_FORMAT (&plan->info)
      || GST_VIDEO_INFO_WIDTH (&history->info) !=
      GST_VIDEO_INFO_WIDTH (&plan->info)
      || GST_VIDEO_INFO_HEIGHT (&history->info) !=
      GST_VIDEO_INFO_HEIGHT (&plan->info)) {
    g_set_error_literal (error, CONVOLVE_ERROR, CONVOLVE_ERROR_INVALID,
        "the history is of another device or of other frames");
    return FALSE;
  }
  for (guint i = 0; i < window->n; i++) {
    if (!is_stored (history, window->slot[i])) {
      g_set_error (error, CONVOLVE_ERROR, CONVOLVE_ERROR_INVALID,
          "slot %u of the history holds no frame", window->slot[i]);
      return FALSE;
    }
  }
  return TRUE;
}

gboolean
convolve_program_process_window (ConvolveProgram * program,
    const ConvolveWindow * window, const ConvolveFrame * out,
    const ConvolveRegions * regions, guint64 * job, GError ** error)
{
  const ConvolveBackend *backend;

  if (!check_program (program, job, error)
      || !check_window (program, window, error)
      || !check_frame (program->plan, out, "output", error)
      || !check_regions (program->plan, regions, error))
    return FALSE;
  backend = program->device->backend;
  if (!backend->process_window (program, window, out, regions, job, error)) {
    ensure_error (error, backend, "filter a frame");
    return FALSE;
  }
  return TRUE;
}

/* ---- jobs ---- */

gboolean
convolve_device_wait (ConvolveDevice * device, guint64 job, GError ** error)
{
  if (device == NULL) {
    g_set_error_literal (error, CONVOLVE_ERROR, CONVOLVE_ERROR_INVALID,
        "there is no device to wait for");
    return FALSE;
  }
  if (!device->backend->wait (device, job, error)) {
    ensure_error (error, device->backend, "finish a frame");
    return FALSE;
  }
  return TRUE;
}

void
convolve_device_cancel (ConvolveDevice * device, gboolean cancel)
{
  if (device != NULL && device->backend->cancel != NULL)
    device->backend->cancel (device, cancel);
}

void
convolve_device_get_stats (ConvolveDevice * device, ConvolveStats * stats)
{
  g_return_if_fail (stats != NULL);
  memset (stats, 0, sizeof (*stats));
  if (device != NULL)
    device->backend->get_stats (device, stats);
}

void
convolve_program_count_job (const ConvolveProgram * program,
    ConvolveStats * stats)
{
  const ConvolveWork *work = &program->work;

  /* Every sample of a frame is written, and as many came in. */
  stats->frames++;
  stats->bytes_in += work->bytes_written;
  stats->bytes_out += work->bytes_written;
  stats->bytes_moved += work->bytes_read + work->bytes_written;
  stats->multiply_adds += work->multiply_adds;
}
