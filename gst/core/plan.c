/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* From video info and settings to a plan: which operations, and a pass for each
 * layout of each picture. */
#include "config.h"

#include <math.h>

#include "filter-private.h"
#include "plan-private.h"

/* Both fields of every layout. */
#define MAX_PASSES (2 * CONVOLVE_MAX_LAYOUTS)

/* ---- checks ---- */

/* The settings that operation.c does not look at. */
static gboolean
check_settings (const ConvolveSettings * settings, GError ** error)
{
  const struct
  {
    const gchar *name;
    gboolean ok;
  } checks[] = {
    {"scale", convolve_in_range (settings->scale, -CONVOLVE_MATRIX_MAX_WEIGHT,
            CONVOLVE_MATRIX_MAX_WEIGHT)},
    {"bias", convolve_in_range (settings->bias, -CONVOLVE_MATRIX_MAX_WEIGHT,
            CONVOLVE_MATRIX_MAX_WEIGHT)},
    {"threshold", convolve_in_range (settings->threshold, -G_MAXDOUBLE, 1)},
    {"border", (guint) settings->border < CONVOLVE_N_BORDERS},
    {"alpha-mode", (guint) settings->alpha_mode <= CONVOLVE_ALPHA_WEIGHTED},
    {"clamp", (guint) settings->clamp <= CONVOLVE_CLAMP_NOMINAL},
    {"iterations", settings->iterations >= 1 && settings->iterations <= 1024},
  };

  for (guint i = 0; i < G_N_ELEMENTS (checks); i++) {
    if (!checks[i].ok) {
      g_set_error (error, CONVOLVE_ERROR, CONVOLVE_ERROR_INVALID,
          "%s has a value that cannot be used", checks[i].name);
      return FALSE;
    }
  }
  return TRUE;
}

/* ---- operations ---- */

/* A sum of pairs is the matrix to the last bits; but where a divisor is made of
 * weights times alpha, 0 must be 0. And alpha changes between iterations. */
static ConvolveOperation *
make_operation (const ConvolvePlanContext * context,
    const ConvolveLayout * layout, GError ** error)
{
  ConvolveSettings settings = *context->settings;
  ConvolveOperation *operation = convolve_operation_new (&settings,
      layout->w_sub, layout->h_sub, error);

  if (operation == NULL || (!operation->split && operation->composed == 0)
      || !convolve_pass_is_weighted (context, operation))
    return operation;
  settings.iterations = 1;
  if (operation->split)
    settings.method = CONVOLVE_METHOD_DIRECT;
  convolve_operation_free (operation);
  if (context->settings->method == CONVOLVE_METHOD_LOWRANK) {
    g_set_error_literal (error, CONVOLVE_ERROR, CONVOLVE_ERROR_UNSUPPORTED,
        "method=lowrank cannot be had where colors are weighted by alpha: "
        "choose method=auto or alpha-mode=straight");
    return NULL;
  }
  return convolve_operation_new (&settings, layout->w_sub, layout->h_sub,
      error);
}

static gboolean
layout_is_wanted (const ConvolvePlanContext * context,
    const ConvolveLayout * layout)
{
  guint channels = 0;

  for (guint c = 0; c < layout->n_components; c++)
    channels |= convolve_role_channel (layout->component[c].role);
  return (channels & context->settings->channels) != 0;
}

/* Each iteration but the first sees one frame, the result of the one before:
 * this has to lie on the same black. */
static gboolean
check_iterations (const ConvolveSettings * settings,
    const ConvolveOperation * operation, GError ** error)
{
  const ConvolveMatrix *t = operation->t;
  gboolean is_deep = settings->kernel_t == NULL;

  if (settings->iterations == 1 || !convolve_operation_is_windowed (operation)
      || (!is_deep && fabs (convolve_matrix_sum (t) - 1) <=
          1e-12 * convolve_matrix_l1 (t)))
    return TRUE;
  g_set_error (error, CONVOLVE_ERROR, CONVOLVE_ERROR_UNSUPPORTED,
      is_deep ? "iterations=%u cannot be had with a kernel of several frames" :
      "iterations=%u needs weights of kernel-t that sum up to 1",
      settings->iterations);
  return FALSE;
}

/* Makes the operation of each layout; those of equal subsampling share one. */
static gboolean
plan_make_operations (const ConvolvePlanContext * context, ConvolvePlan * plan,
    const ConvolveOperation ** operations, GError ** error)
{
  const ConvolveLayout *layout = context->format->layout;

  for (guint i = 0; i < context->format->n_layouts; i++) {
    if (!layout_is_wanted (context, &layout[i]))
      continue;
    for (guint k = 0; k < i && operations[i] == NULL; k++)
      if (layout[k].w_sub == layout[i].w_sub
          && layout[k].h_sub == layout[i].h_sub)
        operations[i] = operations[k];
    if (operations[i] != NULL)
      continue;
    plan->operations[plan->n_operations] =
        make_operation (context, &layout[i], error);
    if (plan->operations[plan->n_operations] == NULL)
      return FALSE;
    operations[i] = plan->operations[plan->n_operations++];
    if (!check_iterations (context->settings, operations[i], error))
      return FALSE;
  }
  return TRUE;
}

static void
context_find_alpha (ConvolvePlanContext * context)
{
  context->alpha_layout = -1;
  for (guint i = 0; i < context->format->n_layouts; i++) {
    const ConvolveLayout *layout = &context->format->layout[i];

    for (guint c = 0; c < layout->n_components; c++) {
      if (layout->component[c].role == CONVOLVE_ROLE_ALPHA) {
        context->alpha_layout = i;
        context->alpha_component = c;
      }
    }
  }
}

static gboolean
context_init (ConvolvePlanContext * context, const GstVideoInfo * info,
    const ConvolveSettings * settings, GError ** error)
{
  if (GST_VIDEO_INFO_WIDTH (info) < 1 || GST_VIDEO_INFO_HEIGHT (info) < 1) {
    g_set_error (error, CONVOLVE_ERROR, CONVOLVE_ERROR_INVALID,
        "a picture of %d x %d pixels cannot be filtered",
        GST_VIDEO_INFO_WIDTH (info), GST_VIDEO_INFO_HEIGHT (info));
    return FALSE;
  }
  context->info = info;
  context->settings = settings;
  context->format = convolve_format_get (GST_VIDEO_INFO_FORMAT (info));
  if (context->format == NULL) {
    g_set_error (error, CONVOLVE_ERROR, CONVOLVE_ERROR_UNSUPPORTED,
        "the format %s is not supported",
        gst_video_format_to_string (GST_VIDEO_INFO_FORMAT (info)));
    return FALSE;
  }
  context_find_alpha (context);
  return check_settings (settings, error);
}

/* TRUE if nothing of the plan changes a sample. */
static gboolean
plan_is_identity (const ConvolvePlan * plan)
{
  for (guint i = 0; i < plan->n_passes; i++)
    for (guint c = 0; c < plan->pass[i].layout.n_components; c++)
      if (plan->pass[i].component[c].action != CONVOLVE_ACTION_COPY)
        return FALSE;
  return TRUE;
}

static void
plan_find_window (ConvolvePlan * plan)
{
  for (guint i = 0; i < plan->n_passes; i++) {
    const ConvolveOperation *operation = plan->pass[i].operation;

    if (operation == NULL)
      continue;
    plan->windowed |= convolve_operation_is_windowed (operation);
    plan->before = MAX (plan->before, operation->before);
    plan->after = MAX (plan->after, operation->after);
  }
}

/* A pyramid that is asked for, and is not the filter itself, is for every pass
 * or for none. */
static gboolean
plan_check_pyramid (const ConvolvePlan * plan, ConvolveMethod method,
    GError ** error)
{
  for (guint i = 0; i < plan->n_passes; i++) {
    const ConvolvePass *pass = &plan->pass[i];

    if (method != CONVOLVE_METHOD_PYRAMID || pass->operation == NULL
        || pass->operation->coarse.step == 0 || pass->coarse)
      continue;
    g_set_error (error, CONVOLVE_ERROR, CONVOLVE_ERROR_UNSUPPORTED,
        "method=pyramid cannot be had: %s", convolve_pass_coarse_fault (pass));
    return FALSE;
  }
  return TRUE;
}

ConvolvePlan *
convolve_plan_new (const GstVideoInfo * info,
    const ConvolveSettings * settings, gboolean fields, GError ** error)
{
  const ConvolveOperation *operations[CONVOLVE_MAX_LAYOUTS] = { NULL };
  g_autoptr (ConvolvePlan) plan = NULL;
  ConvolvePlanContext context = { 0 };

  if (!context_init (&context, info, settings, error))
    return NULL;
  plan = g_new0 (ConvolvePlan, 1);
  plan->ref_count = 1;
  plan->info = *info;
  plan->fields = fields;
  plan->pass = g_new0 (ConvolvePass, MAX_PASSES);
  plan->operations = g_new0 (ConvolveOperation *, CONVOLVE_MAX_LAYOUTS);
  if (!plan_make_operations (&context, plan, operations, error))
    return NULL;

  for (guint field = 0; field < (fields ? 2 : 1); field++) {
    for (guint i = 0; i < context.format->n_layouts; i++) {
      const ConvolveLayout *layout = &context.format->layout[i];

      /* The lower field of a single row is empty. */
      if (convolve_pass_rows (&context, layout, fields, field) > 0)
        convolve_pass_init (&context, layout, operations[i], fields, field,
            &plan->pass[plan->n_passes++]);
    }
  }
  if (!plan_check_pyramid (plan, settings->method, error))
    return NULL;
  plan->identity = plan_is_identity (plan);
  plan_find_window (plan);
  return g_steal_pointer (&plan);
}

ConvolvePlan *
convolve_plan_ref (ConvolvePlan * plan)
{
  g_atomic_int_inc (&plan->ref_count);
  return plan;
}

void
convolve_plan_unref (ConvolvePlan * plan)
{
  if (!g_atomic_int_dec_and_test (&plan->ref_count))
    return;
  for (guint i = 0; i < plan->n_operations; i++)
    convolve_operation_free (plan->operations[i]);
  g_free (plan->operations);
  g_free (plan->pass);
  g_free (plan);
}
