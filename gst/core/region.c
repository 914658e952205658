/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Rectangles are made disjoint by bands: between two neighbouring edges along
 * y, what is covered is a list of intervals along x that is the same for all
 * rows. Neighbouring bands with the same intervals become one. */
#include "config.h"

#include <string.h>

#include "region.h"

static gint
saturate (gint64 value)
{
  return (gint) CLAMP (value, G_MININT, G_MAXINT);
}

void
convolve_rects_add (GArray * rects, gint64 x, gint64 y, gint64 width,
    gint64 height)
{
  ConvolveRect rect;

  /* Beyond these nothing can be told apart, and sums stay in range. */
  x = CLAMP (x, G_MININT, G_MAXINT);
  y = CLAMP (y, G_MININT, G_MAXINT);
  width = CLAMP (width, 0, G_MAXUINT);
  height = CLAMP (height, 0, G_MAXUINT);
  rect = (ConvolveRect) {
  saturate (x), saturate (y), saturate (x + width), saturate (y + height)};
  g_array_append_val (rects, rect);
}

/* ---- growing ---- */

/* From lo .. hi to multiples of step, inside 0 .. size. */
static void
fit_side (gint * lo, gint * hi, gint size, gint step)
{
  gint64 first = CLAMP (*lo, 0, size), end = CLAMP (*hi, 0, size);

  if (end > first) {
    first = first / step * step;
    end = MIN ((end + step - 1) / step * step, size);
  }
  *lo = (gint) first;
  *hi = (gint) end;
}

static gint
coarse_step (gint step, gint size)
{
  while ((gint64) step * CONVOLVE_REGIONS_GRID < size)
    step *= 2;
  return step;
}

/* Drops what is empty. */
static void
grow (GArray * rects, gint width, gint height, gint step_x, gint step_y)
{
  guint kept = 0;

  for (guint i = 0; i < rects->len; i++) {
    ConvolveRect rect = g_array_index (rects, ConvolveRect, i);

    fit_side (&rect.x0, &rect.x1, width, step_x);
    fit_side (&rect.y0, &rect.y1, height, step_y);
    if (!convolve_rect_is_empty (&rect))
      g_array_index (rects, ConvolveRect, kept++) = rect;
  }
  g_array_set_size (rects, kept);
}

/* ---- bands ---- */

typedef struct
{
  gint begin, end;
} Interval;

static gint
compare_numbers (gconstpointer a, gconstpointer b)
{
  gint x = *(const gint *) a, y = *(const gint *) b;

  return (x > y) - (x < y);
}

/* Sorted, each once; of the whole picture, too. */
static GArray *
collect_edges (const GArray * rects, gint height)
{
  GArray *edges = g_array_new (FALSE, FALSE, sizeof (gint));
  const gint zero = 0;
  guint kept = 0;

  g_array_append_val (edges, zero);
  g_array_append_val (edges, height);
  for (guint i = 0; i < rects->len; i++) {
    const ConvolveRect *rect = &g_array_index (rects, ConvolveRect, i);

    g_array_append_val (edges, rect->y0);
    g_array_append_val (edges, rect->y1);
  }
  g_array_sort (edges, compare_numbers);
  for (guint i = 0; i < edges->len; i++)
    if (i == 0 || g_array_index (edges, gint, i)
        != g_array_index (edges, gint, kept - 1))
      g_array_index (edges, gint, kept++) = g_array_index (edges, gint, i);
  g_array_set_size (edges, kept);
  return edges;
}

/* What rects (sorted by x0) cover of row y, joined where they touch. */
static void
cover_row (const GArray * rects, gint y, GArray * intervals)
{
  g_array_set_size (intervals, 0);
  for (guint i = 0; i < rects->len; i++) {
    const ConvolveRect *rect = &g_array_index (rects, ConvolveRect, i);
    Interval next = { rect->x0, rect->x1 };
    Interval *last = intervals->len == 0 ? NULL :
        &g_array_index (intervals, Interval, intervals->len - 1);

    if (y < rect->y0 || y >= rect->y1)
      continue;
    if (last != NULL && next.begin <= last->end)
      last->end = MAX (last->end, next.end);
    else
      g_array_append_val (intervals, next);
  }
}

/* The gaps in place of the intervals. */
static void
invert_row (GArray * intervals, gint width)
{
  guint n = intervals->len, kept = 0;
  gint begin = 0;

  for (guint i = 0; i <= n; i++) {
    Interval taken = { width, width };
    Interval gap;

    if (i < n)
      taken = g_array_index (intervals, Interval, i);
    gap = (Interval) {
    begin, taken.begin};
    begin = taken.end;
    if (gap.begin >= gap.end)
      continue;
    /* One more than there were at the most: behind all that is still read. */
    if (kept == intervals->len)
      g_array_set_size (intervals, kept + 1);
    g_array_index (intervals, Interval, kept++) = gap;
  }
  g_array_set_size (intervals, kept);
}

/* Adds rows y0 .. y1 - 1 of the intervals; to those of the band above, the last
 * n_above of result, if they are the same. Returns their number. */
static guint
append_band (GArray * result, const GArray * intervals, guint n_above, gint y0,
    gint y1)
{
  ConvolveRect *above = n_above == 0 ? NULL :
      &g_array_index (result, ConvolveRect, result->len - n_above);
  gboolean same = n_above == intervals->len;

  for (guint i = 0; i < intervals->len && same; i++) {
    const Interval *interval = &g_array_index (intervals, Interval, i);

    same = above[i].y1 == y0 && above[i].x0 == interval->begin
        && above[i].x1 == interval->end;
  }
  for (guint i = 0; i < intervals->len; i++) {
    const Interval *interval = &g_array_index (intervals, Interval, i);
    ConvolveRect rect = { interval->begin, y0, interval->end, y1 };

    if (same)
      above[i].y1 = y1;
    else
      g_array_append_val (result, rect);
  }
  return intervals->len;
}

static gint
compare_x (gconstpointer a, gconstpointer b)
{
  return compare_numbers (&((const ConvolveRect *) a)->x0,
      &((const ConvolveRect *) b)->x0);
}

void
convolve_rects_fit (GArray * rects, gint width, gint height, gint align_x,
    gint align_y, gboolean invert)
{
  g_autoptr (GArray) intervals = g_array_new (FALSE, FALSE, sizeof (Interval));
  g_autoptr (GArray) result = g_array_new (FALSE, FALSE, sizeof (ConvolveRect));
  g_autoptr (GArray) edges = NULL;
  guint n_above = 0;

  grow (rects, width, height, align_x, align_y);
  edges = collect_edges (rects, height);
  g_array_sort (rects, compare_x);
  for (guint i = 0; i + 1 < edges->len; i++) {
    gint y0 = g_array_index (edges, gint, i);

    cover_row (rects, y0, intervals);
    if (invert)
      invert_row (intervals, width);
    n_above = append_band (result, intervals, n_above, y0,
        g_array_index (edges, gint, i + 1));
  }
  g_array_set_size (rects, 0);
  if (result->len > 0)
    g_array_append_vals (rects, result->data, result->len);
}

/* ---- plans ---- */

void
convolve_plan_fit_rects (const ConvolvePlan * plan, GArray * rects,
    gboolean invert)
{
  gint width = GST_VIDEO_INFO_WIDTH (&plan->info);
  gint height = GST_VIDEO_INFO_HEIGHT (&plan->info);
  gint align_x = 1, align_y = 1;

  for (guint i = 0; i < plan->n_passes; i++) {
    align_x = MAX (align_x, 1 << plan->pass[i].layout.w_sub);
    align_y = MAX (align_y, 1 << plan->pass[i].layout.h_sub);
  }
  /* A chroma row of a field lies between luma rows of that field alone. */
  if (plan->fields && align_y > 1)
    align_y *= 2;
  if (rects->len > CONVOLVE_REGIONS_EXACT) {
    align_x = coarse_step (align_x, width);
    align_y = coarse_step (align_y, height);
  }
  convolve_rects_fit (rects, width, height, align_x, align_y, invert);
}

gboolean
convolve_plan_is_covered (const ConvolvePlan * plan, const GArray * rects)
{
  const ConvolveRect *rect = (const ConvolveRect *) rects->data;

  return rects->len == 1 && rect->x0 == 0 && rect->y0 == 0
      && rect->x1 == GST_VIDEO_INFO_WIDTH (&plan->info)
      && rect->y1 == GST_VIDEO_INFO_HEIGHT (&plan->info);
}

/* ---- passes ---- */

/* Rows of the pass's picture before row of the memory plane. */
static gint
rows_before (const ConvolvePass * pass, gint row)
{
  gint rows = (row - (gint) pass->row_first + (gint) pass->row_step - 1)
      / (gint) pass->row_step;

  return CLAMP (rows, 0, pass->height);
}

static gint
divide_up (gint n, guint shift)
{
  return -((-n) >> shift);
}

ConvolveRect
convolve_pass_rect (const ConvolvePass * pass, const ConvolveRect * rect)
{
  guint w_sub = pass->layout.w_sub, h_sub = pass->layout.h_sub;

  return (ConvolveRect) {
  .x0 = rect->x0 >> w_sub,.x1 =
        MIN (divide_up (rect->x1, w_sub), pass->width),.y0 =
        rows_before (pass, rect->y0 >> h_sub),.y1 =
        rows_before (pass, divide_up (rect->y1, h_sub)),};
}

/* From lo .. hi to what lies up to reach beyond, of n. What stands outside the
 * picture is within the same reach of its edge, but for wrap. */
static void
reach_side (gint * lo, gint * hi, gint n, gint64 reach, ConvolveBorder border)
{
  gint64 first = *lo - reach, end = *hi + reach;

  if (border == CONVOLVE_BORDER_WRAP && (first < 0 || end > n)) {
    first = 0;
    end = n;
  }
  *lo = (gint) MAX (first, 0);
  *hi = (gint) MIN (end, n);
}

ConvolveRect
convolve_pass_reach (const ConvolvePass * pass, const ConvolveRect * rect,
    guint times)
{
  const ConvolveOperation *operation = pass->operation;
  ConvolveRect result = *rect;

  if (operation == NULL || times == 0 || convolve_rect_is_empty (rect))
    return result;
  reach_side (&result.x0, &result.x1, pass->width,
      (gint64) times * MAX (operation->left, operation->right), pass->border);
  reach_side (&result.y0, &result.y1, pass->height,
      (gint64) times * MAX (operation->above, operation->below), pass->border);
  return result;
}
