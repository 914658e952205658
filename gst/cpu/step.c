/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <string.h>

#include "coarse.h"
#include "pyramid.h"

/* The first component that is filtered: the others' numbers are not used. */
static guint
first_filtered (const ConvolvePass * pass)
{
  for (guint c = 0; c < pass->layout.n_components; c++)
    if (pass->component[c].action == CONVOLVE_ACTION_FILTER)
      return c;
  return 0;
}

/* The numbers of a lane; a lane that is not filtered takes those of one that
 * is, so that they may be the same for all. */
static const ConvolvePassComponent *
lane_numbers (const ConvolvePass * pass, guint lane)
{
  const ConvolvePassComponent *component = &pass->component[lane];

  return component->action == CONVOLVE_ACTION_FILTER ? component :
      &pass->component[first_filtered (pass)];
}

static gboolean
same_gain (const ConvolvePass * pass)
{
  for (guint c = 1; c < pass->layout.n_components; c++)
    if (lane_numbers (pass, c)->gain != lane_numbers (pass, 0)->gain)
      return FALSE;
  return TRUE;
}

static gboolean
same_limits (const ConvolvePass * pass)
{
  const ConvolvePassComponent *a = lane_numbers (pass, 0);

  for (guint c = 1; c < pass->layout.n_components; c++) {
    const ConvolvePassComponent *b = lane_numbers (pass, c);

    if (a->offset != b->offset || a->lo != b->lo || a->hi != b->hi)
      return FALSE;
  }
  return TRUE;
}

/* Gain is in the patterns, or where fold is set in the weights. */
static void
init_patterns (CpuStep * step, gboolean fold)
{
  enum
  { GAIN, OFFSET, LO, HI, THRESHOLD, N };
  const ConvolvePass *pass = step->pass;
  gsize period = (gsize) step->lanes * CPU_PATTERN;
  gsize bytes = period * step->kernels->real_bytes;
  guint8 *patterns = g_malloc (N * bytes);

  for (gsize i = 0; i < period; i++) {
    const ConvolvePassComponent *c = lane_numbers (pass, i % step->lanes);
    gdouble value[N];

    value[GAIN] = fold ? 1 : c->gain;
    value[OFFSET] = c->offset;
    value[LO] = c->lo;
    value[HI] = c->hi;
    value[THRESHOLD] = step->diffuses ? 1 / c->threshold : c->threshold;
    for (guint n = 0; n < N; n++)
      convolve_cpu_real_set (step->kernels, patterns + n * bytes, i, value[n]);
  }
  step->patterns = patterns;
  step->join.period = step->sink.period = period;
  step->join.gain = step->sink.gain = patterns + GAIN * bytes;
  step->join.offset = step->sink.offset = patterns + OFFSET * bytes;
  step->join.threshold = patterns + THRESHOLD * bytes;
  step->sink.lo = patterns + LO * bytes;
  step->sink.hi = patterns + HI * bytes;
}

static void
init_alpha (CpuStep * step)
{
  const ConvolvePassAlpha *alpha = &step->pass->alpha;

  step->sum_lanes = step->lanes;
  if (!alpha->weighted)
    return;
  step->weighted = TRUE;
  step->alpha_lane = alpha->component;
  step->alpha_apart = alpha->layout.plane != step->pass->layout.plane;
  if (step->alpha_apart) {
    step->alpha_lane = step->lanes;
    step->sum_lanes = step->lanes + 1;
  }
  convolve_cpu_samples_init (&step->alpha_samples, &alpha->layout);
}

/* The masks for copying alpha alone show where its bits are. */
static void
init_alpha_mask (CpuStep * step)
{
  const ConvolvePassAlpha *alpha = &step->pass->alpha;
  ConvolvePassComponent component[CONVOLVE_MAX_COMPONENTS] = { {0} };
  guint8 keep[CPU_MASK], copy[CPU_MASK], fill[CPU_MASK];
  guint pixel_bytes = alpha->layout.pixel_step;

  for (guint c = 0; c < CONVOLVE_MAX_COMPONENTS; c++)
    component[c].action = c == alpha->component ? CONVOLVE_ACTION_COPY :
        CONVOLVE_ACTION_FILL;
  g_assert (CPU_MASK % pixel_bytes == 0);
  convolve_cpu_samples_masks (&step->alpha_samples, component, keep, copy,
      fill);
  for (guint i = 0; i < CPU_MASK; i++)
    step->alpha_mask[i] = copy[i % pixel_bytes];
}

static void
init_join (CpuStep * step)
{
  static const CpuJoinKind kinds[] = {
    [CONVOLVE_COMBINE_SUM] = CPU_JOIN_SUM,
    [CONVOLVE_COMBINE_MAGNITUDE] = CPU_JOIN_MAGNITUDE,
    [CONVOLVE_COMBINE_UNSHARP] = CPU_JOIN_UNSHARP,
    [CONVOLVE_COMBINE_DIFFUSE] = CPU_JOIN_SUM,
    [CONVOLVE_COMBINE_DETAIL] = CPU_JOIN_SUM,
  };
  const ConvolvePass *pass = step->pass;
  CpuJoin *join = &step->join;

  join->kind = kinds[pass->operation->combine];
  if (step->weighted)
    join->kind = CPU_JOIN_WEIGHTED;
  join->lanes = step->lanes;
  join->sum_lanes = step->sum_lanes;
  join->alpha = step->alpha_lane;
  join->amount = pass->operation->amount;
  join->sum = pass->operation->sum;
  /* Between iterations what is not filtered stays; at the end masks do that. */
  for (guint c = 0; c < step->lanes; c++) {
    join->keep[c] = step->n_levels > 1
        && pass->component[c].action != CONVOLVE_ACTION_FILTER;
    join->keeps |= join->keep[c];
  }
  step->wants_input = join->keeps || join->kind == CPU_JOIN_UNSHARP
      || join->kind == CPU_JOIN_WEIGHTED;
  step->add_terms = pass->operation->combine == CONVOLVE_COMBINE_SUM;
  step->diffuses = pass->operation->combine == CONVOLVE_COMBINE_DIFFUSE;
  step->fused = step->add_terms && !step->weighted && step->n_levels == 1
      && !pass->coarse && step->kernels->sum_store != NULL;
}

static void
init_border (CpuStep * step)
{
  const ConvolvePass *pass = step->pass;
  const ConvolveMatrix *t = pass->operation->t;
  gint left = step->left, right = step->right;
  gdouble alpha = pass->alpha.edge;
  gdouble sum_t = t != NULL ? convolve_matrix_sum (t) : 1;

  step->edge = g_malloc0 (CPU_MAX_LANES * step->kernels->real_bytes);
  for (guint c = 0; c < step->lanes; c++) {
    gdouble weight = step->weighted && c != step->alpha_lane ? alpha : 1;

    convolve_cpu_real_set (step->kernels, step->edge, c,
        sum_t * weight * pass->component[c].edge);
  }
  if (step->alpha_apart)
    convolve_cpu_real_set (step->kernels, step->edge, step->lanes,
        sum_t * alpha);

  step->outside = g_new (gint, (gsize) left + right + 1);
  for (gint i = 0; i < left; i++)
    step->outside[i] = convolve_border_map (pass->border, i - left,
        pass->width);
  for (gint i = 0; i < right; i++)
    step->outside[left + i] = convolve_border_map (pass->border,
        pass->width + i, pass->width);
}

static void
init_masks (CpuStep * step)
{
  guint8 pixel[3][32];
  guint pixel_bytes = step->pass->layout.pixel_step;

  g_assert (pixel_bytes <= sizeof (pixel[0]));
  step->row_bytes = (gsize) step->pass->width * pixel_bytes;
  if (!step->samples.dense
      || convolve_cpu_samples_masks (&step->samples, step->pass->component,
          pixel[0], pixel[1], pixel[2]))
    return;
  step->masks = g_malloc (3 * step->row_bytes);
  for (guint m = 0; m < 3; m++)
    for (gsize i = 0; i < step->row_bytes; i++)
      step->masks[m * step->row_bytes + i] = pixel[m][i % pixel_bytes];
}

/* Takes the operation's weights, or integers in their place where these are
 * good enough. */
static void
init_weights (CpuStep * step, gdouble * gain)
{
  const ConvolveOperation *operation = step->pass->operation;
  ConvolveTerm integers = { NULL };

  step->n_terms = operation->n_terms;
  if (step->box)
    convolve_cpu_step_use_box (step, *gain);
  if (!step->box && !convolve_cpu_step_try_fixed (step, *gain,
          &integers.matrix, &integers.x, &integers.y))
    integers.matrix = convolve_cpu_step_try_pairs (step, *gain);
  if (integers.matrix != NULL || integers.x != NULL) {
    step->weights[0] = integers;
    *gain = 1;
  }
  for (guint i = 0; i < step->n_terms; i++) {
    const ConvolveTerm *from = &operation->term[i];
    ConvolveTerm *to = &step->weights[i];

    if (to->matrix == NULL && to->x == NULL) {
      to->matrix = from->matrix ? convolve_matrix_ref (from->matrix) : NULL;
      to->x = from->x ? convolve_matrix_ref (from->x) : NULL;
      to->y = from->y ? convolve_matrix_ref (from->y) : NULL;
    }
    step->term[i].separable = to->matrix == NULL && to->x->width > 1
        && to->y->height > 1;
  }
}

static void
init_frames (CpuStep * step)
{
  const ConvolveMatrix *t = step->pass->operation->t;

  if (t != NULL)
    step->t_weights = convolve_cpu_step_weights (step, t->weights,
        step->n_frames);
}

static gboolean
init_filter (CpuStep * step, guint n_threads, const CpuStep * like)
{
  const ConvolvePass *pass = step->pass;
  const ConvolveOperation *operation = pass->operation;
  gdouble gain;
  gboolean fold;

  init_alpha (step);
  init_join (step);
  fold = step->fused && same_gain (pass);
  step->sink.uniform = same_limits (pass) && (fold || !step->fused);
  step->sink.bytes = step->samples.bytes;
  step->sink.word = step->samples.word;
  init_patterns (step, fold);

  step->n_frames = convolve_operation_frames (operation);
  if (operation->combine == CONVOLVE_COMBINE_DETAIL) {
    init_frames (step);
    return convolve_cpu_pyramid_init (step, n_threads);
  }
  if (pass->coarse)
    return convolve_cpu_coarse_init (step);

  step->left = operation->left;
  step->right = operation->right;
  step->above = operation->above;
  step->below = operation->below;
  gain = fold ? lane_numbers (pass, 0)->gain : 1;
  init_weights (step, &gain);
  init_frames (step);
  if (!convolve_cpu_step_init_layout (step, n_threads, like))
    return FALSE;
  convolve_cpu_step_init_terms (step, gain);
  init_border (step);
  return TRUE;
}

static gboolean
init_pictures (CpuStep * step)
{
  gsize pixels = step->pass->width, bytes;

  if (!g_size_checked_mul (&step->picture_pitch, pixels,
          step->lanes * step->kernels->real_bytes)
      || !g_size_checked_mul (&bytes, step->picture_pitch, step->pass->height)
      || !g_size_checked_add (&bytes, bytes, CPU_SLACK * sizeof (gdouble)))
    return FALSE;
  if (step->pyramid != NULL || step->coarse != NULL)
    return TRUE;
  for (guint i = 0; i < 2 && i + 1 < step->n_levels; i++) {
    step->picture[i] = g_try_malloc (bytes);
    if (step->picture[i] == NULL)
      return FALSE;
  }
  return TRUE;
}

static CpuStep *
step_new (const ConvolvePass * pass, const CpuIsa * isa, guint n_threads,
    const CpuStep * like)
{
  CpuStep *step = g_new0 (CpuStep, 1);
  gboolean ok = TRUE;

  step->pass = pass;
  step->isa = isa;
  step->lanes = step->sum_lanes = pass->layout.n_components;
  step->n_frames = 1;
  step->n_levels = pass->operation != NULL ? pass->iterations : 1;
  if (pass->operation != NULL)
    convolve_cpu_step_find_box (step);
  step->kernels = pass->precision == CONVOLVE_PRECISION_DOUBLE && !step->box ?
      &isa->full : &isa->single;
  convolve_cpu_samples_init (&step->samples, &pass->layout);
  init_masks (step);
  if (pass->operation != NULL)
    ok = init_filter (step, n_threads, like) && init_pictures (step);
  else
    ok = convolve_cpu_step_init_layout (step, n_threads, like);
  if (ok)
    return step;
  convolve_cpu_step_free (step);
  return NULL;
}

/* Without negative weights the divisor is positive wherever alpha is. */
static gboolean
wants_twin (const CpuStep * step)
{
  const ConvolveOperation *operation = step->pass->operation;

  return step->weighted && step->n_levels == 1 && !operation->has_negative
      && operation->sum > 0 && !convolve_operation_is_windowed (operation);
}

static gboolean
init_twin (CpuStep * step, guint n_threads)
{
  ConvolvePass *pass = g_new (ConvolvePass, 1);

  init_alpha_mask (step);
  *pass = *step->pass;
  pass->alpha.weighted = FALSE;
  step->straight = step_new (pass, step->isa, n_threads, step);
  if (step->straight == NULL) {
    g_free (pass);
    return FALSE;
  }
  step->straight->own_pass = pass;
  /* Both use the same memory. */
  step->memory.size = MAX (step->memory.size, step->straight->memory.size);
  return TRUE;
}

/* Gives step back, or its error. */
static CpuStep *
check_memory (CpuStep * step, const ConvolvePass * pass, GError ** error)
{
  if (step == NULL)
    g_set_error (error, CONVOLVE_ERROR, CONVOLVE_ERROR_NO_MEMORY,
        "there is not enough memory to filter a plane of %d x %d pixels",
        pass->width, pass->height);
  return step;
}

CpuStep *
convolve_cpu_step_new (const ConvolvePass * pass, const CpuIsa * isa,
    guint n_threads, GError ** error)
{
  CpuStep *step = step_new (pass, isa, n_threads, NULL);

  if (step != NULL && wants_twin (step) && !init_twin (step, n_threads))
    g_clear_pointer (&step, convolve_cpu_step_free);
  return check_memory (step, pass, error);
}

CpuStep *
convolve_cpu_step_new_copy (const ConvolvePass * pass, const CpuIsa * isa,
    guint n_threads, GError ** error)
{
  ConvolvePass *copy = g_new (ConvolvePass, 1);
  CpuStep *step;

  *copy = *pass;
  copy->operation = NULL;
  copy->alpha.weighted = FALSE;
  for (guint c = 0; c < CONVOLVE_MAX_COMPONENTS; c++)
    copy->component[c].action = CONVOLVE_ACTION_COPY;
  step = step_new (copy, isa, n_threads, NULL);
  if (step != NULL)
    step->own_pass = copy;
  else
    g_free (copy);
  return check_memory (step, pass, error);
}

void
convolve_cpu_step_free (CpuStep * step)
{
  g_clear_pointer (&step->straight, convolve_cpu_step_free);
  g_clear_pointer (&step->pyramid, convolve_cpu_pyramid_free);
  g_clear_pointer (&step->coarse, convolve_cpu_coarse_free);
  convolve_cpu_step_clear_terms (step);
  g_free (step->t_weights);
  g_free (step->patterns);
  g_free (step->edge);
  g_free (step->outside);
  g_free (step->masks);
  g_free (step->picture[0]);
  g_free (step->picture[1]);
  g_free (step->own_pass);
  g_free (step);
}

void
convolve_cpu_step_link_alpha (CpuStep * step, CpuStep * const *steps,
    guint n_steps)
{
  const ConvolvePass *pass = step->pass;

  if (!step->alpha_apart || step->n_levels == 1)
    return;
  for (guint i = 0; i < n_steps; i++) {
    const ConvolvePass *other = steps[i]->pass;

    if (other->layout.plane == pass->alpha.layout.plane
        && other->row_first == pass->row_first
        && steps[i]->n_levels == step->n_levels
        && other->component[pass->alpha.component].action ==
        CONVOLVE_ACTION_FILTER)
      step->alpha_step = steps[i];
  }
}

static const gchar *
arithmetic (const CpuStep * step)
{
  return step->box ? "running sums of integers" :
      step->kernels == &step->isa->fixed ? "16-bit fixed point" :
      step->kernels == &step->isa->folded ? "16-bit fixed point, folded" :
      step->kernels == &step->isa->pairs ? "pairs of 16 bits" :
      step->kernels == &step->isa->single ? "float" : "double";
}

static void
describe_rows (const CpuStep * step, GString * string)
{
  gboolean ring = FALSE;

  for (guint i = 0; i < step->n_terms; i++)
    ring |= !step->term[i].streamed;
  g_string_append_printf (string, ", %s, %s%s%s", arithmetic (step),
      step->isa->name, step->weighted ? ", weighted by alpha" : "",
      step->fused ? ", fused" : "");
  if (step->straight != NULL)
    g_string_append_printf (string, " (%s%s where alpha is even)",
        arithmetic (step->straight), step->straight->fused ? ", fused" : "");
  if (step->pyramid != NULL)
    g_string_append_printf (string, ", %u of its levels",
        step->pyramid->n_levels);
  else if (step->coarse != NULL)
    g_string_append_printf (string, ", a grid of %u x %u, within %.2f before "
        "rounding", step->coarse->grid->step, step->coarse->grid->step,
        step->pass->coarse_error);
  else if (!ring)
    g_string_append (string, ", rows read anew");
  else
    g_string_append_printf (string, ", %s of %u rows",
        step->whole ? "all" : "ring", step->slots);
}

gchar *
convolve_cpu_step_describe (const CpuStep * step)
{
  const ConvolvePass *pass = step->pass;
  GString *string = g_string_new (NULL);

  g_string_append_printf (string, "plane %u, %d x %d: ", pass->layout.plane,
      pass->width, pass->height);
  if (pass->operation == NULL) {
    g_string_append (string, "copy");
  } else {
    g_autofree gchar *operation = convolve_operation_describe (pass->operation);

    g_string_append (string, operation);
    if (pass->operation->why != NULL)
      g_string_append_printf (string, " (%s)", pass->operation->why);
    describe_rows (step, string);
  }
  g_string_append_printf (string, ", %u x %u pieces", step->cut.n_strips,
      step->cut.n_bands);
  if (pass->operation != NULL && pass->iterations > 1)
    g_string_append_printf (string, ", %u times", pass->iterations);
  return g_string_free (string, FALSE);
}
