/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the stages compute (cuda/params.h), plainly and in double. */
#include <math.h>

#include "samples.h"
#include "sim.h"

static guint
values (const ConvolveStage * s)
{
  return s->picture.n_components + (s->weighted ? 1 : 0);
}

static gboolean
check_float_picture (const ConvolveStage * s, const gchar * what, guint64 at)
{
  gsize bytes = (gsize) s->picture.width * s->picture.height * values (s)
      * (s->wide ? 8 : 4);

  return sim_check_rows (what, at, 0, 1, bytes);
}

static double
get (const ConvolveStage * s, guint64 from, gsize i)
{
  const float *f = (const float *) (gsize) from;

  return s->wide ? (double) f[2 * i] + f[2 * i + 1] : f[i];
}

static void
put (const ConvolveStage * s, gsize i, double v)
{
  float *f = (float *) (gsize) s->out;

  if (s->wide) {
    f[2 * i] = v;
    f[2 * i + 1] = v - f[2 * i];
  } else {
    f[i] = v;
  }
}

static gsize
index_of (const ConvolveStage * s, gint x, gint y, guint c)
{
  return ((gsize) y * s->picture.width + x) * values (s) + c;
}

static double
alpha_sample (const ConvolveStage * s, guint64 alpha, gint x, gint y)
{
  const guint8 *row = sim_address (alpha, s->alpha_stride, y);

  if (s->op == CONVOLVE_STAGE_FINISH)
    return get (s, s->alpha, (gsize) y * s->alpha_width + x);
  return sim_read_word (row + (gsize) x * s->alpha_step + s->alpha_at,
      s->alpha_store, s->alpha_swap) >> s->alpha_shift
      & ((1u << s->alpha_depth) - 1);
}

static double
covered_alpha (const ConvolveStage * s, guint64 alpha, gint x, gint y)
{
  double sum = 0;
  guint n = 0;

  for (gint j = y << s->alpha_h_sub; j < (y + 1) << s->alpha_h_sub; j++)
    for (gint i = x << s->alpha_w_sub; i < (x + 1) << s->alpha_w_sub; i++) {
      if (i >= s->alpha_width || j >= s->alpha_height)
        continue;
      sum += alpha_sample (s, alpha, i, j);
      n++;
    }
  return n > 0 ? sum / n : 0;
}

static void
load (const ConvolveStage * s, gint x, gint y)
{
  guint n = s->picture.n_components;

  for (guint c = 0; c < n; c++)
    put (s, index_of (s, x, y, c), sim_read_sample (&s->picture, x, y, c));
  if (s->weighted)
    put (s, index_of (s, x, y, n), covered_alpha (s, s->alpha, x, y));
}

static gboolean
is_colour (const ConvolveStage * s, guint c)
{
  return s->weighted && c < s->picture.n_components && !(s->straight & 1 << c);
}

/* A value of the float picture, as this stage counts it. */
static double
stage_tap (const ConvolveStage * s, gint64 x, gint64 y, guint c)
{
  gint column = sim_outside (s->border, x, s->picture.width);
  gint row = sim_outside (s->border, y, s->picture.height);
  guint n = s->picture.n_components;

  if (column < 0 || row < 0)
    return s->edge[c] * (is_colour (s, c) ? s->edge[n] : 1)
        * (s->op == CONVOLVE_STAGE_COLUMNS ? s->sum : 1);
  return get (s, s->in, index_of (s, column, row, c))
      * (s->op != CONVOLVE_STAGE_COLUMNS && is_colour (s, c) ?
      get (s, s->in, index_of (s, column, row, n)) : 1);
}

static void
sum_taps (const ConvolveStage * s, gint x, gint y)
{
  guint nx = s->op == CONVOLVE_STAGE_COLUMNS ? 1 : s->nx;
  guint ny = s->op == CONVOLVE_STAGE_ROWS ? 1 : s->ny;
  guint ax = nx == 1 && s->op == CONVOLVE_STAGE_COLUMNS ? 0 : s->ax;
  guint ay = s->op == CONVOLVE_STAGE_ROWS ? 0 : s->ay;

  for (guint c = 0; c < values (s); c++) {
    double sum = 0;

    for (guint j = 0; j < ny; j++)
      for (guint i = 0; i < nx; i++)
        sum += get (s, s->weights, (gsize) j * nx + i)
            * stage_tap (s, (gint64) x + i - ax, (gint64) y + j - ay, c);
    if (s->op == CONVOLVE_STAGE_COLUMNS && s->second != 0)
      sum += get (s, s->second, index_of (s, x, y, c));
    if (s->add)
      sum += get (s, s->out, index_of (s, x, y, c));
    put (s, index_of (s, x, y, c), sum);
  }
}

/* The sample of frame f that value c is. */
static double
frame_value (const ConvolveStage * s, guint f, gint x, gint y, guint c)
{
  ConvolveLaunchPicture p = s->picture;
  double v;

  if (c == p.n_components)
    return covered_alpha (s, s->frame_alpha[f], x, y);
  p.src = s->frame[f];
  v = sim_read_sample (&p, x, y, c);
  return is_colour (s, c) && p.component[c].action != CONVOLVE_DO_COPY ?
      v * covered_alpha (s, s->frame_alpha[f], x, y) : v;
}

static void
fold (const ConvolveStage * s, gint x, gint y)
{
  for (guint c = 0; c < values (s); c++) {
    gboolean copied = c < s->picture.n_components
        && s->picture.component[c].action == CONVOLVE_DO_COPY;
    double sum = s->add ? get (s, s->out, index_of (s, x, y, c)) : 0;

    for (guint f = 0; f < s->nx; f++)
      if (!copied)
        sum += get (s, s->weights, f) * frame_value (s, f, x, y, c);
    if (copied && s->own < s->nx)
      sum = frame_value (s, s->own, x, y, c);
    put (s, index_of (s, x, y, c), sum);
  }
}

/* ---- what is no weighted sum ---- */

/* Value c of a picture of that size. */
static double
pixel (const ConvolveStage * s, guint64 picture, gint width, gint height,
    gint64 x, gint64 y, guint c, double outside)
{
  gint column = sim_outside (s->border, x, width);
  gint row = sim_outside (s->border, y, height);

  if (column < 0 || row < 0)
    return outside;
  return get (s, picture, ((gsize) row * width + column)
      * s->picture.n_components + c);
}

static void
diffuse (const ConvolveStage * s, gint x, gint y)
{
  static const gint8 neighbours[4][2] = { {0, -1}, {0, 1}, {-1, 0}, {1, 0} };

  for (guint c = 0; c < s->picture.n_components; c++) {
    double v = get (s, s->in, index_of (s, x, y, c)), flows[4];

    for (guint q = 0; q < 4; q++) {
      double d = pixel (s, s->in, s->picture.width, s->picture.height,
          x + neighbours[q][0], y + neighbours[q][1], c, s->edge[c]) - v;

      flows[q] = d / (1 + d * s->threshold[c] * d * s->threshold[c]);
    }
    put (s, index_of (s, x, y, c), v + s->amount * ((flows[0] + flows[1])
            + (flows[2] + flows[3])));
  }
}

static void
reduce (const ConvolveStage * s, gint x, gint y)
{
  static const gint binomial[5] = { 1, 4, 6, 4, 1 };

  for (guint c = 0; c < s->picture.n_components; c++) {
    double sum = 0;

    for (gint k = 0; k < 25; k++)
      sum += binomial[k % 5] * binomial[k / 5] * pixel (s, s->in,
          s->other_width, s->other_height, 2 * (gint64) x + k % 5 - 2,
          2 * (gint64) y + k / 5 - 2, c, s->edge[c]);
    put (s, index_of (s, x, y, c), sum / 256);
  }
}

/* Zeros between the pixels of the coarse picture, then (1 4 6 4 1) / 8. */
static double
expand (const ConvolveStage * s, guint64 picture, gint x, gint y, guint c,
    double outside)
{
  static const gint binomial[5] = { 1, 4, 6, 4, 1 };
  double sum = 0;

  for (gint k = 0; k < 25; k++) {
    gint fx = x + k % 5 - 2, fy = y + k / 5 - 2;

    if (fx % 2 == 0 && fy % 2 == 0)
      sum += binomial[k % 5] * binomial[k / 5] * pixel (s, picture,
          s->other_width, s->other_height, fx / 2, fy / 2, c, outside);
  }
  return sum / 64;
}

static void
correct (const ConvolveStage * s, gint x, gint y)
{
  for (guint c = 0; c < s->picture.n_components; c++) {
    double d = get (s, s->in, index_of (s, x, y, c))
        - expand (s, s->before, x, y, c, s->edge[c]);
    double rest = fmin (fmax (d, -s->threshold[c]), s->threshold[c]);
    double q = s->second != 0 ? expand (s, s->second, x, y, c, 0) : 0;

    put (s, index_of (s, x, y, c), q + s->amount * (d - rest));
  }
}

static double
combine (const ConvolveStage * s, gint x, gint y, guint c)
{
  gsize i = index_of (s, x, y, c);
  gsize n = index_of (s, x, y, s->picture.n_components);
  double before = get (s, s->before, i), t, d;

  if (s->picture.component[c].action == CONVOLVE_DO_COPY)
    return before;
  if (s->picture.component[c].action == CONVOLVE_DO_FILL)
    return s->picture.component[c].fill;
  t = get (s, s->in, i);
  if (s->combine == CONVOLVE_DO_UNSHARP) {
    d = before - t;
    t = before + (fabs (d) > s->threshold[c] ? s->amount * d : 0);
  } else if (s->combine == CONVOLVE_DO_DETAIL) {
    t += before;
  } else if (s->combine == CONVOLVE_DO_MAGNITUDE) {
    d = get (s, s->second, i);
    t = sqrt (t * t + d * d);
  } else if (s->second != 0) {
    t += get (s, s->second, i);
  }
  if (is_colour (s, c)) {
    d = get (s, s->in, n) + (s->second != 0 ? get (s, s->second, n) : 0);
    if (!(d > 0))
      return before;
    t = s->sum * t / d;
  }
  return s->offset[c] + s->gain[c] * t;
}

static void
finish (const ConvolveStage * s, gint x, gint y)
{
  guint n = s->picture.n_components, sample[4];
  gsize at = index_of (s, x, y, n);

  for (guint c = 0; c < n; c++) {
    const ConvolveLaunchComponent *k = &s->picture.component[c];
    gboolean copy = k->action == CONVOLVE_DO_COPY;
    double r = combine (s, x, y, c);

    if (!s->last)
      put (s, index_of (s, x, y, c), r);
    else if (k->action == CONVOLVE_DO_FILL)
      sample[c] = r;
    else
      sample[c] =
          sim_rounded (r, copy ? 0 : k->lo,
          copy ? (1u << k->depth) - 1 : k->hi);
  }
  if (s->last)
    sim_write_pixel (&s->picture, x, y, sample);
  else if (s->weighted)
    put (s, at, s->alpha_filtered == 2 ? covered_alpha (s, s->alpha, x, y) :
        !s->alpha_filtered ? get (s, s->before, at) :
        get (s, s->in, at) + (s->second != 0 ? get (s, s->second, at) : 0));
}

/* Pictures of another level. */
static gboolean
check_other (const ConvolveStage * s, const gchar * what, guint64 at)
{
  ConvolveStage other = *s;

  other.picture.width = s->other_width;
  other.picture.height = s->other_height;
  return check_float_picture (&other, what, at);
}

static gboolean
check_stencil (const ConvolveStage * s)
{
  if (s->weighted)
    sim_misuse ("stage %u cannot weigh", s->op);
  if (!check_float_picture (s, "a stage's out", s->out))
    return FALSE;
  if (s->op == CONVOLVE_STAGE_REDUCE)
    return check_other (s, "a finer level", s->in);
  return check_float_picture (s, "a stage's in", s->in)
      && (s->op == CONVOLVE_STAGE_DIFFUSE || (check_other (s,
              "a coarser level", s->before) && (s->second == 0
              || check_other (s, "a coarser correction", s->second))));
}

static gboolean
check_fold (const ConvolveStage * s)
{
  const ConvolveLaunchPicture *p = &s->picture;

  if (s->nx < 1 || s->nx > CONVOLVE_STAGE_FRAMES) {
    sim_misuse ("a fold of %u frames", s->nx);
    return FALSE;
  }
  for (guint f = 0; f < s->nx; f++)
    if (!sim_check_rows ("a frame", s->frame[f], p->src_stride, p->height,
            sim_row_bytes (p))
        || (s->weighted && !sim_check_rows ("a frame's alpha",
                s->frame_alpha[f], s->alpha_stride, s->alpha_height,
                (gsize) (s->alpha_width - 1) * s->alpha_step + s->alpha_at
                + 1)))
      return FALSE;
  return check_float_picture (s, "a fold's out", s->out)
      && sim_check_rows ("a fold's weights", s->weights, 0, 1,
      s->nx * (s->wide ? 8 : 4));
}

/* ---- several steps at once ---- */

/* Value c of the float picture from, width x height pixels. */
static double
step_value (const ConvolveStage * s, const double *from, gint64 x, gint64 y,
    guint c)
{
  gint column = sim_outside (s->border, x, s->picture.width);
  gint row = sim_outside (s->border, y, s->picture.height);

  return column < 0 || row < 0 ? s->edge[c] : from[index_of (s, column, row,
          c)];
}

static double
one_step (const ConvolveStage * s, const double *from, gint x, gint y, guint c)
{
  double v = from[index_of (s, x, y, c)], sum = 0;

  if (s->op == CONVOLVE_STAGE_STEPS) {
    for (guint j = 0; j < s->ny; j++)
      for (guint i = 0; i < s->nx; i++)
        sum += get (s, s->weights, (gsize) j * s->nx + i)
            * step_value (s, from, (gint64) x + i - s->ax,
            (gint64) y + j - s->ay, c);
    return sum;
  }
  for (guint q = 0; q < 4; q++) {
    double d = step_value (s, from, (gint64) x + (q == 0) - (q == 1),
        (gint64) y + (q == 2) - (q == 3), c) - v;

    sum += d / (1 + d * s->threshold[c] * d * s->threshold[c]);
  }
  return v + s->amount * sum;
}

static void
steps (const ConvolveStage * s)
{
  guint n = s->picture.n_components;
  gsize size = (gsize) s->picture.width * s->picture.height * n;
  g_autofree double *from = g_new (double, size), *to = g_new (double, size);

  for (gsize i = 0; i < size; i++)
    from[i] = get (s, s->in, i);
  for (guint k = 1; k <= s->steps; k++) {
    double *other = from;

    for (gsize i = 0; i < size; i++) {
      guint c = i % n;
      gint x = i / n % s->picture.width, y = i / n / s->picture.width;
      double v = from[i];

      if (s->picture.component[c].action == CONVOLVE_DO_FILTER) {
        v = one_step (s, from, x, y, c);
        if (k < s->steps || !s->last)
          v = s->offset[c] + s->gain[c] * v;
      }
      to[i] = v;
    }
    from = to;
    to = other;
  }
  for (gsize i = 0; i < size; i++)
    put (s, i, from[i]);
}

static gboolean
check_steps (const SimKernel * kernel, const ConvolveStage * s)
{
  guint reach = kernel->taps / 2;

  if (s->weighted || s->steps < 1
      || convolve_steps_own_columns (s->picture.n_components,
          s->steps * reach) < 1
      || convolve_steps_own_rows (s->picture.n_components,
          s->steps * reach) < 1)
    sim_misuse ("%s cannot make %u steps", kernel->name, s->steps);
  if (!check_float_picture (s, "a stage's in", s->in)
      || !check_float_picture (s, "a stage's out", s->out))
    return FALSE;
  if (s->op == CONVOLVE_STAGE_DIFFUSE_STEPS)
    return TRUE;
  if (s->ax > reach || s->ay > reach || s->nx - s->ax > (gint) reach + 1
      || s->ny - s->ay > (gint) reach + 1)
    sim_misuse ("%s does not reach as far as its matrix", kernel->name);
  return sim_check_rows ("a stage's weights", s->weights, 0, 1,
      (gsize) s->nx * s->ny * 4);
}

static gboolean
check_stage (const SimKernel * kernel, const ConvolveStage * s)
{
  const ConvolveLaunchPicture *p = &s->picture;
  gboolean finishes = s->op == CONVOLVE_STAGE_FINISH;
  guint64 taps = s->op == CONVOLVE_STAGE_MATRIX ? (guint64) s->nx * s->ny :
      s->op == CONVOLVE_STAGE_ROWS ? s->nx : s->ny;

  if (s->op != kernel->route - CONVOLVE_ROUTE_STAGE_LOAD
      || s->wide != (kernel->samples == CONVOLVE_SAMPLES_WIDE)) {
    sim_misuse ("%s got operation %u", kernel->name, s->op);
    return FALSE;
  }
  if (s->out != 0 && (s->out == s->in || s->out == s->second
          || s->out == s->before))
    sim_misuse ("%s would write onto what it reads", kernel->name);
  if (s->wide && (s->in | s->out | s->second | s->before | s->weights) % 8)
    sim_misuse ("%s got pairs that are not aligned", kernel->name);
  if (s->op == CONVOLVE_STAGE_FOLD)
    return check_fold (s);
  if (s->op == CONVOLVE_STAGE_LOAD)
    return sim_check_rows ("a stage's source", p->src, p->src_stride,
        p->height, sim_row_bytes (p))
        && (!s->weighted || sim_check_rows ("a stage's alpha", s->alpha,
            s->alpha_stride, s->alpha_height,
            (gsize) (s->alpha_width - 1) * s->alpha_step + s->alpha_at + 1))
        && check_float_picture (s, "a stage's out", s->out);
  if (s->op >= CONVOLVE_STAGE_STEPS)
    return check_steps (kernel, s);
  if (s->op >= CONVOLVE_STAGE_DIFFUSE)
    return check_stencil (s);
  if (!check_float_picture (s, "a stage's in", s->in))
    return FALSE;
  if (!finishes)
    return check_float_picture (s, "a stage's out", s->out)
        && (s->second == 0 || check_float_picture (s, "a sum", s->second))
        && sim_check_rows ("a stage's weights", s->weights, 0, 1,
        taps * (s->wide ? 8 : 4));
  return check_float_picture (s, "what was before", s->before)
      && (s->second == 0 || check_float_picture (s, "a stage's second",
          s->second))
      && (s->last || s->alpha_filtered != 2
      || sim_check_rows ("a stage's float alpha", s->alpha, 0, 1,
          (gsize) s->alpha_width * s->alpha_height * (s->wide ? 8 : 4)))
      && (s->last ? sim_check_rows ("a stage's target", p->dst,
          p->dst_stride, p->height, sim_row_bytes (p)) :
      check_float_picture (s, "a stage's out", s->out));
}

void
sim_run_stage (const SimKernel * kernel, const ConvolveStage * s)
{
  ConvolveStage same = *s;
  SimKernel other = *kernel;

  if (s->op >= CONVOLVE_STAGE_SHRINK) {
    sim_run_coarse (kernel, s);
    return;
  }
  /* These compute the same in another way. */
  if (s->op >= CONVOLVE_STAGE_LONG_ROWS) {
    same.op = s->op == CONVOLVE_STAGE_LONG_ROWS ? CONVOLVE_STAGE_ROWS :
        CONVOLVE_STAGE_COLUMNS;
    other.route += same.op - s->op;
    kernel = &other;
    s = &same;
  }
  if (!check_stage (kernel, s))
    return;
  if (s->op >= CONVOLVE_STAGE_STEPS) {
    steps (s);
    return;
  }
  if (s->picture.row_begin < 0 || s->picture.row_end > s->picture.height)
    sim_misuse ("%s got rows outside of its picture", kernel->name);
  for (gint y = s->picture.row_begin; y < s->picture.row_end; y++)
    for (gint x = 0; x < s->picture.width; x++) {
      if (s->op == CONVOLVE_STAGE_LOAD)
        load (s, x, y);
      else if (s->op == CONVOLVE_STAGE_FOLD)
        fold (s, x, y);
      else if (s->op == CONVOLVE_STAGE_FINISH)
        finish (s, x, y);
      else if (s->op == CONVOLVE_STAGE_DIFFUSE)
        diffuse (s, x, y);
      else if (s->op == CONVOLVE_STAGE_REDUCE)
        reduce (s, x, y);
      else if (s->op == CONVOLVE_STAGE_CORRECT)
        correct (s, x, y);
      else
        sum_taps (s, x, y);
    }
}
