/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a pass is made of. Everything that a pixel's value depends on besides
 * the weights is worked out here (docs/filters.md). */
#include "config.h"

#include <math.h>

#include "filter-private.h"
#include "plan-private.h"

/* The middle of the steps that rounding leaves is 0.5 away: with less error
 * than this, the nearest integer of a flat area is still found. */
#define MAX_SINGLE_ERROR 0.4
/* The bound of CONVOLVE_COARSE_MAX_ERROR, and some rounding. */
#define MAX_COARSE_ERROR 0.26
#define FLOAT_EPSILON (1.0 / (1 << 24))

/* ---- numbers of a component ---- */

static gboolean
is_chroma (guint role)
{
  return role == CONVOLVE_ROLE_CHROMA_U || role == CONVOLVE_ROLE_CHROMA_V;
}

guint
convolve_role_channel (guint role)
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
component_levels (const ConvolvePlanContext * context, const ConvolveComponent *
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
component_edge (const ConvolvePlanContext * context, const ConvolveComponent *
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
component_clamp (const ConvolvePlanContext * context, const ConvolveComponent *
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
component_action (const ConvolvePlanContext * context, guint role,
    const ConvolveOperation * operation)
{
  if (operation == NULL
      || !(context->settings->channels & convolve_role_channel (role)))
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
component_init (const ConvolvePlanContext * context, const ConvolveComponent *
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

/* ---- a coarse grid ---- */

static gboolean
is_bytes_side_by_side (const ConvolveLayout * layout)
{
  if (layout->type != CONVOLVE_SAMPLE_U8
      || layout->pixel_step != layout->n_components)
    return FALSE;
  for (guint c = 0; c < layout->n_components; c++)
    if (layout->component[c].offset != c)
      return FALSE;
  return TRUE;
}

/* Samples are half the range from its middle at most; what the grid makes of
 * the middle is the middle. Rounding of floats comes to it. */
static gdouble
coarse_error (const ConvolvePass * pass)
{
  gdouble most = 0;

  for (guint c = 0; c < pass->layout.n_components; c++) {
    const ConvolvePassComponent *component = &pass->component[c];
    gdouble half = ldexp (1, pass->layout.component[c].depth - 1) - 0.5;

    if (component->action == CONVOLVE_ACTION_FILTER)
      most = MAX (most, half * fabs (component->gain)
          * pass->operation->coarse.error + single_error (pass, component));
  }
  return most;
}

const gchar *
convolve_pass_coarse_fault (const ConvolvePass * pass)
{
  if (!is_bytes_side_by_side (&pass->layout))
    return "a plane's samples are not bytes side by side: "
        "choose method=auto or another format";
  if (pass->alpha.weighted)
    return "colors are weighted by alpha: "
        "choose method=auto or alpha-mode=straight";
  if (pass->iterations > 1)
    return "there are iterations: choose method=auto or iterations=1";
  if (convolve_operation_is_windowed (pass->operation))
    return "it sums over frames: choose method=auto or no kernel-t";
  if (pass->precision != CONVOLVE_PRECISION_SINGLE
      || !(pass->coarse_error <= MAX_COARSE_ERROR))
    return "scale makes its error too large: "
        "choose method=auto or a smaller scale";
  return NULL;
}

static void
choose_coarse (const ConvolvePlanContext * context, ConvolvePass * pass)
{
  const ConvolveSettings *settings = context->settings;

  if (pass->operation == NULL || pass->operation->coarse.step == 0)
    return;
  pass->coarse_error = coarse_error (pass);
  pass->coarse = convolve_pass_coarse_fault (pass) == NULL
      && (settings->method == CONVOLVE_METHOD_PYRAMID
      || convolve_coarse_cost (&pass->operation->coarse, pass->width,
          pass->height,
          settings->costs) < convolve_operation_cost (pass->operation,
          settings->costs));
}

/* ---- passes ---- */

gboolean
convolve_pass_is_weighted (const ConvolvePlanContext * context,
    const ConvolveOperation * operation)
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

gint
convolve_pass_rows (const ConvolvePlanContext * context,
    const ConvolveLayout * layout, gboolean fields, guint field)
{
  gint rows = convolve_layout_height (layout,
      GST_VIDEO_INFO_HEIGHT (context->info));

  return fields ? (rows + 1 - (gint) field) / 2 : rows;
}

static void
pass_init_alpha (const ConvolvePlanContext * context, gboolean fields,
    guint field, ConvolvePass * pass)
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
  alpha->height = convolve_pass_rows (context, layout, fields, field);
  alpha->w_sub = pass->layout.w_sub - layout->w_sub;
  alpha->h_sub = pass->layout.h_sub - layout->h_sub;
  alpha->edge = component_edge (context, component, &levels);
}

void
convolve_pass_init (const ConvolvePlanContext * context,
    const ConvolveLayout * layout, const ConvolveOperation * operation,
    gboolean fields, guint field, ConvolvePass * pass)
{
  gboolean filtered = FALSE, colours = FALSE;

  pass->layout = *layout;
  pass->width = convolve_layout_width (layout,
      GST_VIDEO_INFO_WIDTH (context->info));
  pass->height = convolve_pass_rows (context, layout, fields, field);
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
  if (colours && convolve_pass_is_weighted (context, operation))
    pass_init_alpha (context, fields, field, pass);
  pass->precision = pass_precision (pass);
  choose_coarse (context, pass);
}
