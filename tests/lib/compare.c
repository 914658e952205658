/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The contract of docs/filters.md, applied to an output frame. */
#include "compare.h"

#include <math.h>

/* Rounding may go wrong where single precision ends near a half, but not
 * often: truncation would go wrong by this much in two samples of five. */
#define ROUNDING 0.6
#define MAX_MISROUNDED 0.02
/* This near to a value of the format a result is one. */
#define WHOLE 1e-6

/* What a hex window shows around a fault. */
#define WINDOW 3

/* ---- the report ---- */

static void
append_window (GString * text, const RandomFrame * frame, guint component,
    gint x, gint y)
{
  const SampleMap *map = &frame->map[component];
  gint w = sample_map_width (map, frame->info.width);
  gint h = sample_map_height (map, frame->info.height);

  for (gint row = MAX (y - WINDOW, 0); row <= MIN (y + WINDOW, h - 1); row++) {
    g_string_append_printf (text, "    %4d:", row);
    for (gint i = MAX (x - WINDOW, 0); i <= MIN (x + WINDOW, w - 1); i++)
      g_string_append_printf (text, i == x && row == y ? "[%0*x]" : " %0*x ",
          map->depth > 8 ? 4 : 2, random_frame_get (frame, component, i, row));
    g_string_append_c (text, '\n');
  }
}

static void
report (GString * text, const RefComponent * c, const RandomFrame * in,
    const RandomFrame * out, guint component, gsize i, const gchar * what,
    gsize n)
{
  gint x = i % c->width, y = i / c->width;

  g_string_append_printf (text,
      "  %s: component %s (%dx%d), %" G_GSIZE_FORMAT " samples, first at "
      "(%d, %d): got %u, exact %.9g (clamp %g..%g)%s\n   in\n", what,
      sample_role_name (c->map.role), c->width, c->height, n, x, y,
      random_frame_get (out, component, x, y), c->value[i], c->lo, c->hi,
      c->flat[i] ? ", flat" : "");
  append_window (text, in, component, x, y);
  g_string_append (text, "   out\n");
  append_window (text, out, component, x, y);
}

/* ---- samples ---- */

enum
{
  FAULT_COPY,
  FAULT_CONTRACT,
  FAULT_FLAT,
  FAULT_ROUNDING,
  N_FAULTS
};

static const gchar *const fault_names[N_FAULTS] = {
  "not copied", "more than 1 off", "flat area not exact", "not rounded"
};

/* The fault of a sample against one result, or -1. */
static gint
sample_fault (const RefComponent * c, gsize i, gdouble got, gdouble exact)
{
  gdouble clamped, error;

  if (c->exact || (c->copied != NULL && c->copied[i]))
    return got == exact ? -1 : FAULT_COPY;
  clamped = fmin (fmax (exact, c->lo), c->hi);
  error = fabs (got - clamped);
  if (error > 1 || got < c->lo || got > c->hi)
    return FAULT_CONTRACT;
  /* A flat area is exact where its result is a value of the format: weights
   * that sum to 1 or 0. Elsewhere what is near a half may go either way. */
  if (c->flat[i] && got != rint (clamped)
      && fabs (clamped - rint (clamped)) < WHOLE)
    return FAULT_FLAT;
  return error > ROUNDING ? FAULT_ROUNDING : -1;
}

static void
compare_component (const RefComponent * c, const RandomFrame * in,
    const RandomFrame * out, guint component, GString * text)
{
  gsize n = (gsize) c->width * c->height, first[N_FAULTS], count[N_FAULTS] =
      { 0 };

  for (gsize i = 0; i < n; i++) {
    gdouble got = random_frame_get (out, component, i % c->width,
        i / c->width);
    gint fault;

    if (isnan (c->other[i]))
      continue;
    fault = sample_fault (c, i, got, c->value[i]);
    if (fault >= 0 && c->other[i] != c->value[i])
      fault = sample_fault (c, i, got, c->other[i]);
    if (fault >= 0 && count[fault]++ == 0)
      first[fault] = i;
  }
  if (count[FAULT_ROUNDING] <= 2 + MAX_MISROUNDED * n)
    count[FAULT_ROUNDING] = 0;
  for (guint f = 0; f < N_FAULTS; f++)
    if (count[f] > 0)
      report (text, c, in, out, component, first[f], fault_names[f], count[f]);
}

static void
compare_unused_bits (const RandomFrame * out, guint component, GString * text)
{
  const SampleMap *map = &out->map[component];
  guint32 unused = sample_map_unused_bits (map);

  if (unused == 0)
    return;
  for (gint y = 0; y < sample_map_height (map, out->info.height); y++) {
    for (gint x = 0; x < sample_map_width (map, out->info.width); x++) {
      guint32 word = sample_word (map, out->frame.data[map->plane],
          out->frame.stride[map->plane], x, y);

      if ((word & unused) != 0) {
        g_string_append_printf (text,
            "  unused bits written: component %s at (%d, %d): word 0x%04x\n",
            sample_role_name (map->role), x, y, word);
        return;
      }
    }
  }
}

gboolean
compare_frames (const Reference * reference, const RandomFrame * in,
    const RandomFrame * out, gchar ** fault)
{
  GString *text = g_string_new (NULL);
  guint plane = 0;
  gssize place = 0;
  gsize n;

  for (guint i = 0; i < reference->n; i++) {
    compare_component (&reference->component[i], in, out, i, text);
    compare_unused_bits (out, i, text);
  }
  n = random_frame_changes (out, TRUE, &plane, &place);
  if (n > 0)
    g_string_append_printf (text, "  padding written: %" G_GSIZE_FORMAT
        " bytes, first in plane %u at byte %" G_GSSIZE_FORMAT " (stride %d)\n",
        n, plane, place, out->frame.stride[plane]);
  n = random_frame_changes (in, FALSE, &plane, &place);
  if (n > 0)
    g_string_append_printf (text, "  input written: %" G_GSIZE_FORMAT
        " bytes, first in plane %u at byte %" G_GSSIZE_FORMAT "\n", n, plane,
        place);
  *fault = g_string_free (text, FALSE);
  if (**fault == '\0')
    g_clear_pointer (fault, g_free);
  return *fault == NULL;
}

/* ---- settings ---- */

static void
append_matrix (GString * text, const gchar * name, const ConvolveMatrix * m)
{
  if (m == NULL)
    return;
  g_string_append_printf (text, " %s=%ux%u<", name, m->width, m->height);
  for (guint i = 0; i < m->width * m->height * m->depth; i++)
    g_string_append_printf (text, "%s%g", i == 0 ? "" :
        i % m->width == 0 ? "/" : ",", m->weights[i]);
  g_string_append_c (text, '>');
}

gchar *
describe_settings (const ConvolveSettings * s)
{
  static const gchar *const borders[] =
      { "replicate", "reflect", "mirror", "wrap", "constant" };
  static const gchar *const methods[] =
      { "auto", "direct", "separable", "lowrank", "sums", "pyramid" };
  static const gchar *const alphas[] = { "auto", "straight", "weighted" };
  GString *text = g_string_new (NULL);

  g_string_append_printf (text, "border=%s method=%s iterations=%u "
      "scale=%.17g bias=%.17g clamp=%s channels=%u alpha-mode=%s",
      borders[s->border], methods[s->method], s->iterations, s->scale, s->bias,
      s->clamp == CONVOLVE_CLAMP_NOMINAL ? "nominal" : "format", s->channels,
      alphas[s->alpha_mode]);
  g_string_append_printf (text, " sigma=%.17g sigma-y=%.17g radius=%d "
      "amount=%.17g threshold=%.17g angle=%.17g gradient=%u normalize=%d "
      "border-color=0x%08x", s->sigma, s->sigma_y, s->radius, s->amount,
      s->threshold, s->angle, s->gradient, s->normalize, s->border_color);
  append_matrix (text, "kernel", s->kernel);
  append_matrix (text, "kernel-x", s->kernel_x);
  append_matrix (text, "kernel-y", s->kernel_y);
  g_string_append_printf (text, " levels=%d", s->levels);
  append_matrix (text, "detail-gains", s->detail_gains);
  append_matrix (text, "kernel-t", s->kernel_t);
  if (s->temporal_mode == CONVOLVE_TEMPORAL_CAUSAL)
    g_string_append (text, " causal");
  return g_string_free (text, FALSE);
}
