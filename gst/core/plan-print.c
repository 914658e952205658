/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A plan in words. */
#include "config.h"

#include "plan.h"

static const gchar *const role_names[] = {
  [CONVOLVE_ROLE_GREY] = "grey",
  [CONVOLVE_ROLE_LUMA] = "luma",
  [CONVOLVE_ROLE_CHROMA_U] = "U",
  [CONVOLVE_ROLE_CHROMA_V] = "V",
  [CONVOLVE_ROLE_RED] = "R",
  [CONVOLVE_ROLE_GREEN] = "G",
  [CONVOLVE_ROLE_BLUE] = "B",
  [CONVOLVE_ROLE_ALPHA] = "alpha",
  [CONVOLVE_ROLE_PADDING] = "padding",
};

static const gchar *const type_names[] = {
  [CONVOLVE_SAMPLE_U8] = "u8",
  [CONVOLVE_SAMPLE_U16LE] = "u16le",
  [CONVOLVE_SAMPLE_U16BE] = "u16be",
  [CONVOLVE_SAMPLE_BITS32LE] = "bits32le",
};

/* Appends the names of the components with that action, parted by blanks, and
 * says how many there are. */
static guint
append_roles (GString * string, const ConvolvePass * pass,
    ConvolveAction action, const gchar * intro)
{
  guint n = 0;

  for (guint c = 0; c < pass->layout.n_components; c++)
    if (pass->component[c].action == action)
      g_string_append_printf (string, "%s%s", n++ > 0 ? " " : intro,
          role_names[pass->layout.component[c].role]);
  return n;
}

static void
append_pass (GString * string, const ConvolvePass * pass)
{
  g_autofree gchar *operation = NULL;
  const ConvolveLayout *layout = &pass->layout;

  g_string_append_printf (string, "plane %u", layout->plane);
  for (guint c = 0; c < layout->n_components; c++)
    g_string_append_printf (string, " %s",
        role_names[layout->component[c].role]);
  g_string_append_printf (string, " %dx%d %s", pass->width, pass->height,
      type_names[layout->type]);
  if (pass->row_step > 1)
    g_string_append_printf (string, " field %u", pass->row_first);

  g_string_append (string, ": ");
  if (pass->operation == NULL) {
    if (append_roles (string, pass, CONVOLVE_ACTION_FILL, "fill ") == 0)
      g_string_append (string, "copy");
    else
      append_roles (string, pass, CONVOLVE_ACTION_COPY, ", copy ");
    return;
  }
  operation = convolve_operation_describe (pass->operation);
  g_string_append (string, operation);
  if (pass->coarse)
    g_string_append_printf (string, " by a grid of %u x %u, within %.2f",
        pass->operation->coarse.step, pass->operation->coarse.step,
        pass->coarse_error);
  if (pass->iterations > 1)
    g_string_append_printf (string, " %u times", pass->iterations);
  g_string_append_printf (string, ", %s, %s",
      convolve_border_name (pass->border),
      pass->precision == CONVOLVE_PRECISION_DOUBLE ? "double" : "single");
  if (pass->alpha.weighted)
    g_string_append (string, ", weighted by alpha");
  append_roles (string, pass, CONVOLVE_ACTION_FILL, ", fill ");
  append_roles (string, pass, CONVOLVE_ACTION_COPY, ", copy ");
}

gchar *
convolve_plan_describe (const ConvolvePlan * plan)
{
  GString *string = g_string_new (NULL);

  for (guint i = 0; i < plan->n_passes; i++) {
    if (i > 0)
      g_string_append_c (string, '\n');
    append_pass (string, &plan->pass[i]);
  }
  return g_string_free (string, FALSE);
}
