/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* From video info and settings to passes. Everything that a pixel's value
 * depends on besides the weights is worked out here (docs/filters.md). */
#include "config.h"

#include <math.h>

#include "filter-private.h"
#include "plan.h"

/* The middle of the steps that rounding leaves is 0.5 away: with less error
 * than this, the nearest integer of a flat area is still found. */
#define MAX_SINGLE_ERROR 0.4
#define FLOAT_EPSILON (1.0 / (1 << 24))
/* Both fields of every layout. */
#define MAX_PASSES (2 * CONVOLVE_MAX_LAYOUTS)

/* What convolve_plan_new hands down. */
typedef struct
{
  const GstVideoInfo *info;
  const ConvolveSettings *settings;
  const ConvolveFormat *format;
  gint alpha_layout;            /* -1: the format has no alpha */
  guint alpha_component;
} PlanContext;

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

/* ---- numbers of a component ---- */

static gboolean
is_chroma (guint role)
{
  return role == CONVOLVE_ROLE_CHROMA_U || role == CONVOLVE_ROLE_CHROMA_V;
}

/* The channel that a role belongs to; 0 for padding, which is never
 * filtered. */
static guint
role_channel (guint role)
{
  switch (role) {
    case CONVOLVE_ROLE_GREY:
    case CONVOLVE_ROLE_LUMA:
      return CONVOLVE_CHANNEL_LUMA;
    case CONVOLVE_ROLE_CHROMA_U:
    case CONVOLVE_ROLE_CHROMA_V:
      return CONVOLVE_CHANNEL_CHROMA;
    case CONVOLVE_ROLE_RED:
    case CONVOLVE_ROLE_GREEN:
    case CONVOLVE_ROLE_BLUE:
      return CONVOLVE_CHANNEL_RGB;
    case CONVOLVE_ROLE_ALPHA:
      return CONVOLVE_CHANNEL_ALPHA;
    default:
      return 0;
  }
}

/* The scale of a component: black, the distance of white, the largest
 * sample. */
typedef struct
{
  gdouble unit;                 /* 2^(depth - 8): 1 in 8-bit terms */
  gdouble max;
  gdouble zero, nominal, middle;
} Levels;

static Levels
component_levels (const PlanContext * context, const ConvolveComponent *
    component)
{
  gboolean limited =
      context->info->colorimetry.range == GST_VIDEO_COLOR_RANGE_16_235;
  Levels levels;

  levels.unit = ldexp (1, (gint) component->depth - 8);
  levels.max = ldexp (1, component->depth) - 1;
  levels.middle = 128 * levels.unit;
  levels.zero = 0;
  levels.nominal = levels.max;
  if (is_chroma (component->role)) {
    levels.zero = levels.middle;
    if (limited)
      levels.nominal = 224 * levels.unit;
  } else if (component->role == CONVOLVE_ROLE_LUMA && limited) {
    levels.zero = 16 * levels.unit;
    levels.nominal = 219 * levels.unit;
  }
  return levels;
}

/* The border colour as a sample of this component. */
static gdouble
component_edge (const PlanContext * context, const ConvolveComponent *
    component, const Levels * levels)
{
  guint32 argb = context->settings->border_color;
  gdouble a = (argb >> 24) / 255.0, r = (argb >> 16 & 255) / 255.0;
  gdouble g = (argb >> 8 & 255) / 255.0, b = (argb & 255) / 255.0;
  gdouble kr, kb, y, value;

  if (!gst_video_color_matrix_get_Kr_Kb (context->info->colorimetry.matrix,
          &kr, &kb)) {
    /* RGB or unknown; BT.601. */
    kr = 0.299;
    kb = 0.114;
  }
  y = kr * r + (1 - kr - kb) * g + kb * b;
  switch (component->role) {
    case CONVOLVE_ROLE_GREY:
    case CONVOLVE_ROLE_LUMA:
      value = levels->zero + levels->nominal * y;
      break;
    case CONVOLVE_ROLE_CHROMA_U:
      value = levels->zero + levels->nominal * (b - y) / (2 * (1 - kb));
      break;
    case CONVOLVE_ROLE_CHROMA_V:
      value = levels->zero + levels->nominal * (r - y) / (2 * (1 - kr));
      break;
    case CONVOLVE_ROLE_RED:
      value = levels->max * r;
      break;
    case CONVOLVE_ROLE_GREEN:
      value = levels->max * g;
      break;
    case CONVOLVE_ROLE_BLUE:
      value = levels->max * b;
      break;
    case CONVOLVE_ROLE_ALPHA:
      value = levels->max * a;
      break;
    default:
      value = 0;
  }
  /* The sums above are exact only up to their last bits: half a step must not
   * depend on these. */
  value = rint (ldexp (rint (ldexp (value, 20)), -20));
  return CLAMP (value, 0, levels->max);
}

static void
component_clamp (const PlanContext * context, const ConvolveComponent *
    component, const Levels * levels, ConvolvePassComponent * to)
{
  to->lo = 0;
  to->hi = levels->max;
  if (context->settings->clamp != CONVOLVE_CLAMP_NOMINAL
      || context->info->colorimetry.range != GST_VIDEO_COLOR_RANGE_16_235
      || component->role == CONVOLVE_ROLE_ALPHA)
    return;
  to->lo = 16 * levels->unit;
  to->hi = (is_chroma (component->role) ? 240 : 235) * levels->unit;
}

/* A filter that makes every flat area black would make every picture
 * transparent. */
static gboolean
removes_alpha (const ConvolveOperation * operation)
{
  return operation->combine == CONVOLVE_COMBINE_MAGNITUDE
      || fabs (operation->sum) <= 1e-9 * operation->l1;
}

static ConvolveAction
component_action (const PlanContext * context, guint role,
    const ConvolveOperation * operation)
{
  if (operation == NULL || !(context->settings->channels & role_channel (role)))
    return CONVOLVE_ACTION_COPY;
  if (role == CONVOLVE_ROLE_ALPHA && removes_alpha (operation))
    return CONVOLVE_ACTION_COPY;
  if (is_chroma (role) && operation->combine == CONVOLVE_COMBINE_MAGNITUDE)
    return CONVOLVE_ACTION_FILL;
  return CONVOLVE_ACTION_FILTER;
}

/* From gain and offset of one iteration to those of all: each passes on what
 * the one before added. */
static void
component_compose (const ConvolveOperation * operation,
    ConvolvePassComponent * component)
{
  gdouble factor = component->gain * operation->step_sum;
  gdouble gain = 1, offset = 0;

  for (guint i = 0; i < operation->composed; i++) {
    gain *= component->gain;
    offset = offset * factor + component->offset;
  }
  component->gain = gain;
  component->offset = offset;
}

static void
component_init (const PlanContext * context, const ConvolveComponent *
    component, const ConvolveOperation * operation, ConvolvePassComponent * to)
{
  const ConvolveSettings *settings = context->settings;
  Levels levels = component_levels (context, component);
  gdouble bias = settings->bias;

  to->action = component_action (context, component->role, operation);
  to->edge = component_edge (context, component, &levels);
  to->fill = levels.middle;
  to->threshold = convolve_settings_threshold (settings) * levels.nominal;
  component_clamp (context, component, &levels, to);

  to->gain = 1;
  to->offset = 0;
  if (to->action != CONVOLVE_ACTION_FILTER)
    return;
  if (settings->filter == CONVOLVE_FILTER_EMBOSS)
    bias += 0.5;
  if (is_chroma (component->role) || component->role == CONVOLVE_ROLE_ALPHA)
    bias = 0;
  if (component->role != CONVOLVE_ROLE_ALPHA)
    to->gain = settings->scale;
  to->offset = levels.zero + bias * levels.nominal
      - to->gain * (operation->composed > 0 ? operation->step_sum :
      operation->sum) * levels.zero;
  if (operation->composed > 0)
    component_compose (operation, to);

  /* What gives back its input is a copy to every backend. */
  if (convolve_operation_is_identity (operation) && to->gain == 1
      && to->offset == 0 && to->lo == 0 && to->hi == levels.max)
    to->action = CONVOLVE_ACTION_COPY;
}

/* ---- precision ---- */

static guint64
operation_taps (const ConvolveOperation * operation)
{
  guint64 taps = operation->t != NULL ? operation->t->depth : 0;

  for (guint i = 0; i < operation->n_terms; i++) {
    const ConvolveTerm *term = &operation->term[i];

    taps += term->matrix != NULL ?
        (guint64) term->matrix->width * term->matrix->height
        * term->matrix->depth : (guint64) term->x->width + term->y->height;
  }
  return taps;
}

/* The smallest magnitude of a weight that is not 0. */
static gdouble
smallest_weight (const ConvolveMatrix * matrix)
{
  gdouble smallest = G_MAXDOUBLE;

  for (gsize i = 0; i < (gsize) matrix->width * matrix->height * matrix->depth;
      i++)
    if (matrix->weights[i] != 0)
      smallest = MIN (smallest, fabs (matrix->weights[i]));
  return smallest;
}

/* Weighted colours are a quotient. Its parts lose no more than a sum does as
 * long as all weights have one sign and none vanishes in float's range. */
static gboolean
quotient_needs_double (const ConvolveOperation * operation)
{
  if (operation->has_negative)
    return TRUE;
  for (guint i = 0; i < operation->n_terms; i++) {
    const ConvolveTerm *term = &operation->term[i];
    gdouble smallest = term->matrix != NULL ? smallest_weight (term->matrix) :
        smallest_weight (term->x) * smallest_weight (term->y);

    if (operation->t != NULL)
      smallest *= smallest_weight (operation->t);
    if (smallest < 1e-30)
      return TRUE;
  }
  return FALSE;
}

/* How many roundings of the size of its result an application has. */
static gdouble
operation_roundings (const ConvolveOperation * operation, guint n_levels)
{
  gdouble frames = operation->t != NULL ? operation->t->depth / 4.0 : 0;

  switch (operation->combine) {
    case CONVOLVE_COMBINE_DIFFUSE:
      return 8 + frames;
    case CONVOLVE_COMBINE_DETAIL:
      /* Each level's means on the way down, and on the way up again. */
      return 4 + 6.0 * n_levels + frames;
    default:
      return 4 + operation_taps (operation) / 4.0;
  }
}

/* The error of float arithmetic, in steps of the sample. One application of
 * weights to samples of magnitude m gives at most m x |gain| x l1 + |offset|,
 * wrong by this times 2^-24 times a count of roundings: a few for the weights,
 * the products and the offset, and one for each addition. Roundings of unequal
 * terms wander like the square root of their number, but those of equal terms
 * (a box over a flat area) all go the same way; they are of the partial sum's
 * size, so half their number is the bound. A quarter stands for both, since
 * sums are split in at least two. An application passes the errors of the one
 * before on, times |gain| x l1. */
static gdouble
single_error (const ConvolvePass * pass, const ConvolvePassComponent *
    component)
{
  const ConvolveOperation *operation = pass->operation;
  gdouble growth = fabs (component->gain) * operation->l1;
  gdouble error_growth = fabs (component->gain) * operation->growth;
  gdouble roundings = operation_roundings (operation, pass->n_levels);
  gdouble size = MAX (component->hi, component->edge), error = 0;

  if (pass->alpha.weighted)
    roundings *= 3;             /* numerator, divisor, and what joins them */
  for (guint i = 0; i < pass->iterations && error <= MAX_SINGLE_ERROR; i++) {
    size = size * growth + fabs (component->offset);
    error = error * error_growth + size * roundings * FLOAT_EPSILON;
  }
  return error;
}

/* unsharp jumps where the difference crosses the threshold: an error of any
 * size takes a pixel to the other side, so a visible jump wants the smallest
 * error there is. */
static gdouble
threshold_jump (const ConvolvePass * pass, const ConvolvePassComponent *
    component)
{
  if (pass->operation->combine != CONVOLVE_COMBINE_UNSHARP)
    return 0;
  return fabs (component->gain * pass->operation->amount)
      * component->threshold;
}

static ConvolvePrecision
pass_precision (const ConvolvePass * pass)
{
  if (pass->operation == NULL)
    return CONVOLVE_PRECISION_SINGLE;
  if (pass->alpha.weighted && quotient_needs_double (pass->operation))
    return CONVOLVE_PRECISION_DOUBLE;
  for (guint c = 0; c < pass->layout.n_components; c++) {
    const ConvolvePassComponent *component = &pass->component[c];

    if (component->action != CONVOLVE_ACTION_FILTER)
      continue;
    /* Written so that infinity and NaN ask for double. */
    if (!(single_error (pass, component) <= MAX_SINGLE_ERROR)
        || threshold_jump (pass, component) > MAX_SINGLE_ERROR)
      return CONVOLVE_PRECISION_DOUBLE;
  }
  return CONVOLVE_PRECISION_SINGLE;
}

/* ---- passes ---- */

static gboolean
wants_weighted (const PlanContext * context, const ConvolveOperation *
    operation)
{
  if (context->alpha_layout < 0 || operation->combine != CONVOLVE_COMBINE_SUM)
    return FALSE;
  switch (context->settings->alpha_mode) {
    case CONVOLVE_ALPHA_AUTO:
      return !operation->has_negative;
    case CONVOLVE_ALPHA_WEIGHTED:
      return TRUE;
    default:
      return FALSE;
  }
}

/* The rows of a layout that belong to a picture: all, or those of one field. */
static gint
picture_rows (const PlanContext * context, const ConvolveLayout * layout,
    gboolean fields, guint field)
{
  gint rows = convolve_layout_height (layout,
      GST_VIDEO_INFO_HEIGHT (context->info));

  return fields ? (rows + 1 - (gint) field) / 2 : rows;
}

static void
pass_init_alpha (const PlanContext * context, gboolean fields, guint field,
    ConvolvePass * pass)
{
  const ConvolveLayout *layout =
      &context->format->layout[context->alpha_layout];
  const ConvolveComponent *component =
      &layout->component[context->alpha_component];
  Levels levels = component_levels (context, component);
  ConvolvePassAlpha *alpha = &pass->alpha;

  alpha->weighted = TRUE;
  alpha->layout = *layout;
  alpha->component = context->alpha_component;
  alpha->width = convolve_layout_width (layout,
      GST_VIDEO_INFO_WIDTH (context->info));
  alpha->height = picture_rows (context, layout, fields, field);
  alpha->w_sub = pass->layout.w_sub - layout->w_sub;
  alpha->h_sub = pass->layout.h_sub - layout->h_sub;
  alpha->edge = component_edge (context, component, &levels);
}

static void
pass_init (const PlanContext * context, const ConvolveLayout * layout,
    const ConvolveOperation * operation, gboolean fields, guint field,
    ConvolvePass * pass)
{
  gboolean filtered = FALSE, colours = FALSE;

  pass->layout = *layout;
  pass->width = convolve_layout_width (layout,
      GST_VIDEO_INFO_WIDTH (context->info));
  pass->height = picture_rows (context, layout, fields, field);
  pass->row_first = field;
  pass->row_step = fields ? 2 : 1;
  pass->border = context->settings->border;
  pass->iterations = context->settings->iterations;
  if (operation != NULL && operation->composed > 0)
    pass->iterations = 1;
  if (operation != NULL)
    pass->n_levels = convolve_operation_levels (operation, pass->width,
        pass->height);

  for (guint c = 0; c < layout->n_components; c++) {
    component_init (context, &layout->component[c], operation,
        &pass->component[c]);
    if (pass->component[c].action == CONVOLVE_ACTION_FILTER) {
      filtered = TRUE;
      colours |= layout->component[c].role != CONVOLVE_ROLE_ALPHA;
    }
  }
  pass->operation = filtered ? operation : NULL;
  if (colours && wants_weighted (context, operation))
    pass_init_alpha (context, fields, field, pass);
  pass->precision = pass_precision (pass);
}

/* A sum of pairs is the matrix to the last bits; but where a divisor is made of
 * weights times alpha, 0 must be 0. And alpha changes between iterations. */
static ConvolveOperation *
make_operation (const PlanContext * context, const ConvolveLayout * layout,
    GError ** error)
{
  ConvolveSettings settings = *context->settings;
  ConvolveOperation *operation = convolve_operation_new (&settings,
      layout->w_sub, layout->h_sub, error);

  if (operation == NULL || (!operation->split && operation->composed == 0)
      || !wants_weighted (context, operation))
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
layout_is_wanted (const PlanContext * context, const ConvolveLayout * layout)
{
  guint channels = 0;

  for (guint c = 0; c < layout->n_components; c++)
    channels |= role_channel (layout->component[c].role);
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
plan_make_operations (const PlanContext * context, ConvolvePlan * plan,
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
context_find_alpha (PlanContext * context)
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
context_init (PlanContext * context, const GstVideoInfo * info,
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

ConvolvePlan *
convolve_plan_new (const GstVideoInfo * info,
    const ConvolveSettings * settings, gboolean fields, GError ** error)
{
  const ConvolveOperation *operations[CONVOLVE_MAX_LAYOUTS] = { NULL };
  g_autoptr (ConvolvePlan) plan = NULL;
  PlanContext context = { 0 };

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
      if (picture_rows (&context, layout, fields, field) > 0)
        pass_init (&context, layout, operations[i], fields, field,
            &plan->pass[plan->n_passes++]);
    }
  }
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
