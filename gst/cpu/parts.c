/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Iterations before the last must know more than the region: as much around it
 * as the ones that follow reach. What regions leave out is copied. */
#include "config.h"

#include "coarse.h"
#include "pyramid.h"

#define PIECES_A_THREAD 3       /* to even out a busy core */

void
convolve_cpu_parts_init (CpuParts * parts)
{
  parts->part = g_array_new (FALSE, FALSE, sizeof (CpuPart));
  parts->rest = g_array_new (FALSE, FALSE, sizeof (ConvolveRect));
  parts->level = g_array_new (FALSE, FALSE, sizeof (ConvolveRect));
}

void
convolve_cpu_parts_clear (CpuParts * parts)
{
  g_clear_pointer (&parts->part, g_array_unref);
  g_clear_pointer (&parts->rest, g_array_unref);
  g_clear_pointer (&parts->level, g_array_unref);
}

void
convolve_cpu_parts_append (CpuParts * parts, const CpuStep * step,
    const ConvolveRect * rect, gint strip, gint rows)
{
  gint wanted = parts->n_threads > 1 ? parts->n_threads * PIECES_A_THREAD : 1;
  gint band = MAX ((rect->y1 - rect->y0 + wanted - 1) / wanted, rows);
  CpuPart part = { step, *rect };

  if (convolve_rect_is_empty (rect))
    return;
  for (gint y = rect->y0; y < rect->y1; y += band) {
    part.rect.y0 = y;
    part.rect.y1 = MIN (y + band, rect->y1);
    for (gint x = rect->x0; x < rect->x1; x += strip) {
      part.rect.x0 = x;
      part.rect.x1 = MIN (x + strip, rect->x1);
      g_array_append_val (parts->part, part);
    }
  }
}

/* The pieces of a part of the step's picture. */
static void
append_pieces (CpuParts * parts, const CpuStep * step,
    const ConvolveRect * rect)
{
  CpuPart part = {.step = step };
  CpuCut cut;

  if (convolve_rect_is_empty (rect))
    return;
  cut = convolve_cpu_step_cut (step, rect->x1 - rect->x0, rect->y1 - rect->y0,
      parts->n_threads);
  for (guint b = 0; b < cut.n_bands; b++) {
    part.rect.y0 = rect->y0 + (gint) (b * cut.band);
    part.rect.y1 = MIN (part.rect.y0 + (gint) cut.band, rect->y1);
    for (guint s = 0; s < cut.n_strips; s++) {
      part.rect.x0 = rect->x0 + (gint) (s * cut.strip);
      part.rect.x1 = MIN (part.rect.x0 + (gint) cut.strip, rect->x1);
      g_array_append_val (parts->part, part);
    }
  }
}

static void
append_whole (CpuParts * parts, const CpuStep * step)
{
  ConvolveRect rect = { 0, 0, step->pass->width, step->pass->height };

  append_pieces (parts, step, &rect);
}

static void
append_rects (CpuParts * parts, const CpuStep * step, const ConvolveRect * rect,
    guint n)
{
  for (guint i = 0; i < n; i++) {
    ConvolveRect part = convolve_pass_rect (step->pass, &rect[i]);

    append_pieces (parts, step, &part);
  }
}

/* What an iteration before the last must make: once where regions, grown, lie
 * upon each other, since two threads may not write one place. */
static void
append_grown (CpuParts * parts, const CpuStep * step,
    const ConvolveRegions * regions, guint times)
{
  const ConvolvePass *pass = step->pass;

  g_array_set_size (parts->level, 0);
  for (guint i = 0; i < regions->n; i++) {
    ConvolveRect rect = convolve_pass_rect (pass, &regions->rect[i]);

    rect = convolve_pass_reach (pass, &rect, times);
    g_array_append_val (parts->level, rect);
  }
  convolve_rects_fit (parts->level, pass->width, pass->height, 1, 1, FALSE);
  for (guint i = 0; i < parts->level->len; i++)
    append_pieces (parts, step, &g_array_index (parts->level, ConvolveRect, i));
}

static void
find_rest (CpuParts * parts, const ConvolveRegions * regions)
{
  g_array_set_size (parts->rest, 0);
  if (regions->n > 0)
    g_array_append_vals (parts->rest, regions->rect, regions->n);
  convolve_rects_fit (parts->rest, GST_VIDEO_INFO_WIDTH (&parts->plan->info),
      GST_VIDEO_INFO_HEIGHT (&parts->plan->info), 1, 1, TRUE);
}

void
convolve_cpu_parts_list (CpuParts * parts, const ConvolveRegions * regions,
    guint level)
{
  g_array_set_size (parts->part, 0);
  if (regions != NULL && level == 0)
    find_rest (parts, regions);
  for (guint i = 0; i < parts->n_steps; i++) {
    const CpuStep *step = parts->step[i];
    guint times = step->n_levels - 1 - level;

    if (regions != NULL && level == 0)
      append_rects (parts, parts->copy[i],
          (const ConvolveRect *) parts->rest->data, parts->rest->len);
    if (level >= step->n_levels)
      continue;
    if (step->pyramid != NULL) {
      convolve_cpu_pyramid_list (parts, step, regions, level);
      continue;
    }
    if (step->coarse != NULL) {
      convolve_cpu_coarse_list (parts, step, regions, level);
      continue;
    }
    if (regions == NULL || (times > 0 && parts->whole_levels && regions->n > 0))
      append_whole (parts, step);
    else if (times > 0)
      append_grown (parts, step, regions, times);
    else
      append_rects (parts, step, regions->rect, regions->n);
  }
}
