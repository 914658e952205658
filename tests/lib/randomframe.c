/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Frames with awkward strides, guards and pathological contents. */
#include "randomframe.h"

#include <string.h>

#define MAX_GUARD 64

const gchar *
fill_name (Fill fill)
{
  static const gchar *const names[N_FILLS] = { "random", "extremes",
    "checkers", "ramp", "impulses", "flat", "steps", "matched"
  };

  return names[fill];
}

/* ---- memory ---- */

/* Bytes that the samples of a plane's rows reach, and its rows. */
static void
plane_extent (const RandomFrame * frame, guint plane, gint * row_bytes,
    gint * rows, gint * word)
{
  *row_bytes = *rows = 0;
  *word = 1;
  for (guint i = 0; i < frame->n_maps; i++) {
    const SampleMap *map = &frame->map[i];
    gint width = sample_map_width (map, frame->info.width);
    gint bytes = map->offset + (width - 1) * map->pixel_stride + map->word;

    if (map->plane != plane)
      continue;
    *row_bytes = MAX (*row_bytes, bytes);
    *rows = sample_map_height (map, frame->info.height);
    *word = map->word;
  }
}

/* The size of the picture's block and where row 0 begins in it. Words stay
 * aligned, as in all memory that GStreamer hands out. */
static void
plane_init (RandomFrame * frame, guint plane, Random * random, gboolean plain)
{
  FramePlane *p = &frame->plane[plane];
  gint row_bytes, rows, word, stride, before = 0, after = 0, first;

  plane_extent (frame, plane, &row_bytes, &rows, &word);
  stride = GST_VIDEO_INFO_PLANE_STRIDE (&frame->info, plane);
  if (!plain) {
    stride = (row_bytes + word - 1) / word * word;
    stride += word * random_below (random, random_one_in (random, 4) ? 1 : 40);
    /* No guards at times, so that a checker of memory sees a step outside. */
    if (!random_one_in (random, 4)) {
      before = word * (1 + random_below (random, MAX_GUARD / word));
      after = 1 + random_below (random, MAX_GUARD);
    }
  }
  p->size = before + (gsize) stride *(rows - 1) + row_bytes + after;
  p->block = g_malloc (p->size);
  p->samples = g_malloc0 (p->size);
  first = before;
  if (!plain && random_one_in (random, 6)) {
    first += stride * (rows - 1);
    stride = -stride;
  }
  frame->frame.data[plane] = p->block + first;
  frame->frame.stride[plane] = stride;
  for (gsize i = 0; i < p->size; i++)
    p->block[i] = random_next (random);
}

static void
mark_samples (RandomFrame * frame, const SampleMap * map)
{
  FramePlane *p = &frame->plane[map->plane];
  gsize first = frame->frame.data[map->plane] - p->block;

  for (gint y = 0; y < sample_map_height (map, frame->info.height); y++)
    for (gint x = 0; x < sample_map_width (map, frame->info.width); x++)
      memset (p->samples + first + (gssize) y *
          frame->frame.stride[map->plane] + map->offset +
          (gsize) x * map->pixel_stride, 1, map->word);
}

RandomFrame *
random_frame_new (const GstVideoInfo * info, Random * random, gboolean plain)
{
  RandomFrame *frame = g_new0 (RandomFrame, 1);

  frame->info = *info;
  frame->n_maps = sample_maps (info->finfo, frame->map);
  frame->n_planes = GST_VIDEO_INFO_N_PLANES (info);
  frame->frame.memory = CONVOLVE_MEMORY_HOST;
  for (guint i = 0; i < frame->n_planes; i++)
    plane_init (frame, i, random, plain);
  for (guint i = 0; i < frame->n_maps; i++)
    mark_samples (frame, &frame->map[i]);
  random_frame_seal (frame);
  return frame;
}

void
random_frame_free (RandomFrame * frame)
{
  for (guint i = 0; i < frame->n_planes; i++) {
    g_free (frame->plane[i].block);
    g_free (frame->plane[i].samples);
    g_free (frame->plane[i].before);
  }
  g_free (frame);
}

void
random_frame_seal (RandomFrame * frame)
{
  for (guint i = 0; i < frame->n_planes; i++) {
    FramePlane *p = &frame->plane[i];

    g_free (p->before);
    p->before = g_malloc (p->size);
    memcpy (p->before, p->block, p->size);
  }
}

gsize
random_frame_changes (const RandomFrame * frame, gboolean padding_only,
    guint * plane, gssize * place)
{
  gsize n = 0;

  for (guint i = 0; i < frame->n_planes; i++) {
    const FramePlane *p = &frame->plane[i];

    for (gsize k = 0; k < p->size; k++) {
      if (p->block[k] == p->before[k] || (padding_only && p->samples[k]))
        continue;
      if (n++ == 0) {
        *plane = i;
        *place = p->block + k - frame->frame.data[i];
      }
    }
  }
  return n;
}

/* ---- contents ---- */

guint32
random_frame_get (const RandomFrame * frame, guint component, gint x, gint y)
{
  const SampleMap *map = &frame->map[component];

  return sample_get (map, frame->frame.data[map->plane],
      frame->frame.stride[map->plane], x, y);
}

void
random_frame_set (RandomFrame * frame, guint component, gint x, gint y,
    guint32 value)
{
  const SampleMap *map = &frame->map[component];

  sample_set (map, frame->frame.data[map->plane],
      frame->frame.stride[map->plane], x, y, value);
}

/* What a component's fill is made of. */
typedef struct
{
  Fill fill;
  guint max, level, other;
  gint w, h, dx, dy, cut_x, cut_y;
  FillSign sign;
  gpointer data;
  const SampleMap *map;
} Pattern;

static guint
pattern_value (const Pattern * p, Random * random, gint x, gint y)
{
  switch (p->fill) {
    case FILL_EXTREMES:
      return random_one_in (random, 2) ? p->max : 0;
    case FILL_CHECKERS:
      return ((x / p->dx) + (y / p->dy)) & 1 ? p->level : p->other;
    case FILL_RAMP:
      return (guint64) p->max * (x + y) / MAX (p->w + p->h - 2, 1);
    case FILL_IMPULSES:
      return random_one_in (random, 20) ? p->other : p->level;
    case FILL_FLAT:
      return p->level;
    case FILL_STEPS:
      return (x < p->cut_x) == (y < p->cut_y) ? p->level : p->other;
    case FILL_MATCHED:
      return p->sign (p->data, p->map, x - p->w / 2, y - p->h / 2) > 0 ?
          p->max : 0;
    default:
      return random_below (random, p->max + 1);
  }
}

static guint
random_level (Random * random, guint max)
{
  switch (random_below (random, 4)) {
    case 0:
      return 0;
    case 1:
      return max;
    default:
      return random_below (random, max + 1);
  }
}

void
random_frame_fill (RandomFrame * frame, Random * random, Fill fill,
    FillSign sign, gpointer data)
{
  for (guint c = 0; c < frame->n_maps; c++) {
    const SampleMap *map = &frame->map[c];
    Pattern p = {.fill = fill,.max = (1u << map->depth) - 1 };

    p.w = sample_map_width (map, frame->info.width);
    p.h = sample_map_height (map, frame->info.height);
    p.level = random_level (random, p.max);
    p.other = random_level (random, p.max);
    p.dx = 1 + random_below (random, 3);
    p.dy = 1 + random_below (random, 3);
    p.cut_x = random_below (random, p.w);
    p.cut_y = random_below (random, p.h);
    p.sign = sign;
    p.data = data;
    p.map = map;
    for (gint y = 0; y < p.h; y++)
      for (gint x = 0; x < p.w; x++)
        random_frame_set (frame, c, x, y, pattern_value (&p, random, x, y));
    /* A word's other bits are zero until they are spoiled. */
    for (gint y = 0; y < p.h && sample_map_unused_bits (map); y++)
      for (gint x = 0; x < p.w; x++)
        sample_set_word (map, frame->frame.data[map->plane],
            frame->frame.stride[map->plane], x, y,
            random_frame_get (frame, c, x, y) << map->shift);
  }
}

void
random_frame_spoil_unused_bits (RandomFrame * frame, Random * random)
{
  for (guint c = 0; c < frame->n_maps; c++) {
    const SampleMap *map = &frame->map[c];
    guint32 unused = sample_map_unused_bits (map);
    guint8 *data = frame->frame.data[map->plane];
    gint stride = frame->frame.stride[map->plane];

    for (gint y = 0; y < sample_map_height (map, frame->info.height); y++)
      for (gint x = 0; unused && x < sample_map_width (map, frame->info.width);
          x++)
        sample_set_word (map, data, stride, x, y, (sample_word (map, data,
                    stride, x, y) & ~unused) | (random_next (random) & unused));
  }
}
