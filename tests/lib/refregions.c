/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "refregions.h"

/* The pixels that stand or fall together. */
static void
find_block (const GstVideoInfo * info, guint n, gboolean fields, gint * width,
    gint * height)
{
  SampleMap maps[SAMPLE_MAX_MAPS];
  guint n_maps = sample_maps (info->finfo, maps);

  *width = *height = 1;
  for (guint i = 0; i < n_maps; i++) {
    *width = MAX (*width, 1 << maps[i].w_sub);
    *height = MAX (*height, 1 << maps[i].h_sub);
  }
  if (fields && *height > 1)
    *height *= 2;
  while (n > 256 && *width * 64 < info->width)
    *width *= 2;
  while (n > 256 && *height * 64 < info->height)
    *height *= 2;
}

static gboolean
is_named (const RefRect * rects, guint n, gint x, gint y)
{
  for (guint i = 0; i < n; i++)
    if (x >= rects[i].x && x - rects[i].x < rects[i].width
        && y >= rects[i].y && y - rects[i].y < rects[i].height)
      return TRUE;
  return FALSE;
}

guint8 *
ref_mask_new (const GstVideoInfo * info, const RefRect * rects, guint n,
    gboolean fields, gboolean outside)
{
  guint8 *mask = g_malloc0 ((gsize) info->width * info->height);
  gint w, h, columns;
  g_autofree guint8 *block = NULL;

  find_block (info, n, fields, &w, &h);
  columns = (info->width + w - 1) / w;
  block = g_malloc0 ((gsize) columns * ((info->height + h - 1) / h));
  for (gint y = 0; y < info->height; y++)
    for (gint x = 0; x < info->width; x++)
      block[y / h * columns + x / w] |= is_named (rects, n, x, y);
  for (gint y = 0; y < info->height; y++)
    for (gint x = 0; x < info->width; x++)
      mask[(gsize) y * info->width + x] =
          block[y / h * columns + x / w] != outside;
  return mask;
}

void
reference_apply_mask (Reference * reference, const guint8 * mask,
    const GstVideoInfo * info, guint8 * const data[4], const gint stride[4])
{
  for (guint i = 0; i < reference->n; i++) {
    RefComponent *c = &reference->component[i];
    const SampleMap *map = &c->map;

    c->copied = g_new0 (guint8, (gsize) c->width * c->height);
    for (gint y = 0; y < c->height; y++) {
      for (gint x = 0; x < c->width; x++) {
        gsize at = (gsize) y * c->width + x;
        gsize luma = (gsize) MIN (y << map->h_sub, info->height - 1)
            * info->width + (x << map->w_sub);

        if (mask[luma])
          continue;
        c->copied[at] = TRUE;
        c->value[at] = c->other[at] =
            sample_get (map, data[map->plane], stride[map->plane], x, y);
      }
    }
  }
}
