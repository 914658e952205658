/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Random settings and pictures. */
#include "draw.h"

#include <math.h>

void
draw_size (Random * random, gint * width, gint * height)
{
  static const gint sizes[][2] = {
    {1, 1}, {1, 9}, {9, 1}, {2, 2}, {3, 5}, {4, 3}, {5, 2}, {17, 13},
    {35, 35}, {65, 9}, {31, 18}, {16, 16}, {7, 40}
  };
  static const gint large[][2] = { {257, 33}, {131, 70}, {64, 129} };

  if (random_one_in (random, 12)) {
    const gint *size = large[random_below (random, G_N_ELEMENTS (large))];

    *width = size[0];
    *height = size[1];
  } else if (random_one_in (random, 3)) {
    *width = 1 + random_below (random, 40);
    *height = 1 + random_below (random, 24);
  } else {
    const gint *size = sizes[random_below (random, G_N_ELEMENTS (sizes))];

    *width = size[0];
    *height = size[1];
  }
}

void
draw_colorimetry (Random * random, GstVideoInfo * info)
{
  static const GstVideoColorMatrix matrices[] = {
    GST_VIDEO_COLOR_MATRIX_BT601, GST_VIDEO_COLOR_MATRIX_BT709,
    GST_VIDEO_COLOR_MATRIX_BT2020, GST_VIDEO_COLOR_MATRIX_SMPTE240M
  };

  info->colorimetry.range = random_one_in (random, 2) ?
      GST_VIDEO_COLOR_RANGE_16_235 : GST_VIDEO_COLOR_RANGE_0_255;
  if (!GST_VIDEO_INFO_IS_RGB (info))
    info->colorimetry.matrix =
        matrices[random_below (random, G_N_ELEMENTS (matrices))];
}

static gdouble
draw_weight (Random * random)
{
  switch (random_below (random, 4)) {
    case 0:
      return 0;
    case 1:
      return (gint) random_below (random, 9) - 4;
    case 2:
      return random_between (random, 0, 2);
    default:
      return random_between (random, -1, 1);
  }
}

static ConvolveMatrix *
draw_matrix (Random * random, guint width, guint height)
{
  g_autofree gdouble *w = g_new (gdouble, width * height);
  gboolean positive = random_one_in (random, 2);

  for (guint i = 0; i < width * height; i++) {
    w[i] = draw_weight (random);
    if (positive)
      w[i] = fabs (w[i]);
  }
  return convolve_matrix_new (width, height, w);
}

/* The sum of two products. */
static ConvolveMatrix *
draw_low_rank (Random * random)
{
  guint width = 7 + random_below (random, 11);
  guint height = 7 + random_below (random, 11);
  ConvolveMatrix *sum = draw_matrix (random, width, height);

  for (guint i = 0; i < width * height; i++)
    sum->weights[i] = 0;
  for (guint n = 0; n < 2; n++) {
    ConvolveMatrix *x = draw_matrix (random, width, 1);
    ConvolveMatrix *y = draw_matrix (random, 1, height);

    for (guint i = 0; i < width * height; i++)
      sum->weights[i] += x->weights[i % width] * y->weights[i / width];
    convolve_matrix_unref (x);
    convolve_matrix_unref (y);
  }
  return sum;
}

/* Dividing by next to nothing would make weights that no user has. */
static gboolean
sum_is_small (const ConvolveMatrix * m)
{
  return m != NULL && fabs (convolve_matrix_sum (m))
      <= 0.1 * convolve_matrix_l1 (m);
}

static void
draw_custom (Random * random, gint longest, ConvolveSettings * s)
{
  guint kinds = random_below (random, 5);

  if (kinds < 2 && random_one_in (random, 3)) {
    s->kernel = draw_low_rank (random);
  } else if (kinds < 2) {
    s->kernel = draw_matrix (random, 1 + random_below (random, 7),
        1 + random_below (random, 7));
  } else {
    if (kinds != 3)
      s->kernel_x = draw_matrix (random, 1 + random_below (random, longest), 1);
    if (kinds != 4)
      s->kernel_y = draw_matrix (random, 1, 1 + random_below (random, longest));
  }
  s->normalize = random_one_in (random, 2) && !sum_is_small (s->kernel)
      && !sum_is_small (s->kernel_x) && !sum_is_small (s->kernel_y);
}

static gdouble
draw_angle (Random * random)
{
  if (random_one_in (random, 2))
    return 45.0 * ((gint) random_below (random, 17) - 8);
  return random_between (random, -360, 360);
}

static gdouble
draw_sigma (Random * random, gboolean large)
{
  if (random_one_in (random, 12))
    return 0.01;
  if (!large && random_one_in (random, 6))
    return random_between (random, 3, 12);
  return random_between (random, 0.2, large ? 2.5 : 4);
}

static void
draw_lengths (Random * random, gboolean large, ConvolveSettings * s)
{
  s->sigma = draw_sigma (random, large);
  if (random_one_in (random, 3))
    s->sigma_y = draw_sigma (random, large);
  if (s->filter != CONVOLVE_FILTER_DOG && random_one_in (random, 12))
    s->sigma = 0;
  if (s->filter != CONVOLVE_FILTER_DOG && random_one_in (random, 12))
    s->sigma_y = 0;
  if (random_one_in (random, 2))
    s->radius = random_below (random, large ? 4 : 9);
  /* A disk's matrix grows with the square. */
  if (s->filter == CONVOLVE_FILTER_DISK)
    s->sigma = MIN (s->sigma, 4);
}

static void
draw_stencil (Random * random, ConvolveSettings * s)
{
  s->levels = 1 + random_below (random, 6);
  if (random_one_in (random, 3))
    s->threshold = random_between (random, -1, 0.2);
  else if (random_one_in (random, 6))
    s->threshold = 0;
  if (s->filter == CONVOLVE_FILTER_DIFFUSE)
    s->amount = random_between (random, -0.2, 1.5);
  if (!random_one_in (random, 3)) {
    gdouble gains[8];
    guint n = 1 + random_below (random, G_N_ELEMENTS (gains));

    for (guint i = 0; i < n; i++)
      gains[i] = draw_weight (random);
    s->detail_gains = convolve_matrix_new (n, 1, gains);
  }
}

static ConvolveMethod
draw_method (Random * random, const ConvolveSettings * s)
{
  switch (random_below (random, 4)) {
    case 0:
      return CONVOLVE_METHOD_DIRECT;
    case 1:
      if (s->filter == CONVOLVE_FILTER_BOX && random_one_in (random, 2))
        return CONVOLVE_METHOD_SUMS;
      if (s->filter == CONVOLVE_FILTER_GAUSSIAN
          || s->filter == CONVOLVE_FILTER_BOX
          || s->filter == CONVOLVE_FILTER_UNSHARP
          || s->filter == CONVOLVE_FILTER_DOG
          || s->filter == CONVOLVE_FILTER_SOBEL
          || (s->filter == CONVOLVE_FILTER_CUSTOM && s->kernel == NULL))
        return random_one_in (random, 3) ? CONVOLVE_METHOD_LOWRANK :
            CONVOLVE_METHOD_SEPARABLE;
      /* No matrix that is drawn here has more than 7 of them. */
      if (s->filter == CONVOLVE_FILTER_CUSTOM
          && s->alpha_mode == CONVOLVE_ALPHA_STRAIGHT)
        return CONVOLVE_METHOD_LOWRANK;
      /* fall through */
    default:
      return CONVOLVE_METHOD_AUTO;
  }
}

void
draw_settings (Random * random, gint width, gint height, ConvolveSettings * s)
{
  gboolean large = width * height > 2500;

  draw_lengths (random, large, s);
  if (s->filter == CONVOLVE_FILTER_CUSTOM)
    draw_custom (random, large ? 9 : 33, s);
  s->amount = random_between (random, -1, 3);
  if (random_one_in (random, 2))
    s->threshold = random_between (random, 0, 0.2);
  s->angle = draw_angle (random);
  s->gradient = random_below (random, 3);
  if (random_one_in (random, 3))
    s->scale = random_between (random, -1.5, 3);
  if (random_one_in (random, 3))
    s->bias = random_between (random, -0.5, 0.5);
  s->border_color = random_next (random);
  if (random_one_in (random, 3))
    s->channels = random_below (random, 16);
  s->alpha_mode = random_below (random, 3);
  s->clamp = random_below (random, 2);
  if (random_one_in (random, 4))
    s->iterations = 2 + random_below (random, large ? 1 : 2);
  s->method = draw_method (random, s);
  if (s->filter == CONVOLVE_FILTER_DETAIL
      || s->filter == CONVOLVE_FILTER_DIFFUSE) {
    draw_stencil (random, s);
    s->method = CONVOLVE_METHOD_AUTO;
  }
}

/* ---- time ---- */

/* Several small matrices, some of them products. */
static ConvolveMatrix *
draw_deep (Random * random)
{
  guint width = 1 + random_below (random, 4), height = 1 + random_below (random,
      4), depth = 2 + random_below (random, 4), n = width * height;
  g_autofree gdouble *w = g_new0 (gdouble, n * depth);
  gboolean product = random_one_in (random, 3);
  gboolean positive = random_one_in (random, 2);

  for (guint t = 0; t < depth; t++) {
    gdouble factor = draw_weight (random);

    for (guint i = 0; i < n; i++) {
      w[t * n + i] = product && t > 0 ? w[i] * factor : draw_weight (random);
      if (positive)
        w[t * n + i] = fabs (w[t * n + i]);
    }
  }
  return convolve_matrix_new_deep (width, height, depth, w, NULL);
}

/* Such as are in use: few, that sum up to about 1; one may be negative. */
static ConvolveMatrix *
draw_few_frames (Random * random)
{
  gdouble w[5], sum = 0;
  guint n = 2 + random_below (random, G_N_ELEMENTS (w) - 1);

  for (guint i = 0; i < n; i++)
    sum += w[i] = random_between (random, 0.1, 1);
  for (guint i = 0; i < n; i++)
    w[i] /= sum;
  if (random_one_in (random, 3))
    w[random_below (random, n)] *= -1;
  return convolve_matrix_new (n, 1, w);
}

void
draw_time (Random * random, ConvolveSettings * s, guint * n, guint * own)
{
  *n = 1 + random_below (random, DRAW_MAX_FRAMES);
  *own = random_below (random, *n);
  s->temporal_mode = random_below (random, 2);
  if (s->filter == CONVOLVE_FILTER_CUSTOM && random_one_in (random, 2)) {
    convolve_settings_clear (s);
    s->kernel = draw_deep (random);
    s->normalize &= !sum_is_small (s->kernel);
    s->method = random_below (random, 2);
    s->iterations = 1;
    return;
  }
  s->kernel_t = random_one_in (random, 2) ? draw_few_frames (random) :
      draw_matrix (random, 1 + random_below (random, 7), 1);
  if (sum_is_small (s->kernel_t))
    s->normalize = FALSE;
  /* Iterations want a sum of 1. */
  if (!s->normalize || fabs (convolve_matrix_sum (s->kernel_t)) < 1e-3)
    s->iterations = 1;
}

/* ---- alpha ---- */

/* Weights were drawn for a small picture: taller ones stay narrow. */
static void
make_tall (Random * random, GstVideoInfo * info)
{
  GstVideoColorimetry colorimetry = info->colorimetry;

  gst_video_info_set_format (info, GST_VIDEO_INFO_FORMAT (info),
      1 + random_below (random, 20), 65 + random_below (random, 80));
  info->colorimetry = colorimetry;
}

DrawnAlpha
draw_alpha (Random * random, GstVideoInfo * info, gboolean may_resize,
    ConvolveSettings * settings)
{
  if (!GST_VIDEO_INFO_HAS_ALPHA (info) || random_one_in (random, 3))
    return ALPHA_FILLED;
  if (may_resize && random_one_in (random, 3))
    make_tall (random, info);
  if (random_one_in (random, 2))
    settings->border_color |= 0xff000000;
  return 1 + random_below (random, N_ALPHAS - 1);
}

/* The ends of rows are what is seen from the other end with some borders. */
static void
draw_dots (Random * random, RandomFrame * frame, gint width, gint height,
    guint max)
{
  guint n = 1 + random_below (random, 2);

  for (guint i = 0; i < n; i++) {
    gint x = random_below (random, width), y = random_below (random, height);

    if (random_one_in (random, 3))
      x = random_one_in (random, 2) ? 0 : width - 1;
    random_frame_set (frame, GST_VIDEO_COMP_A, x, y,
        random_below (random, max + 1));
  }
}

void
draw_alpha_samples (Random * random, DrawnAlpha alpha, RandomFrame * frame)
{
  const SampleMap *map = &frame->map[GST_VIDEO_COMP_A];
  gint width = sample_map_width (map, frame->info.width);
  gint height = sample_map_height (map, frame->info.height), cut = height;
  guint max = (1u << map->depth) - 1, upper = max, lower;

  if (alpha == ALPHA_FILLED)
    return;
  if (random_one_in (random, 4))
    upper = random_below (random, max + 1);
  lower = random_below (random, max + 1);
  /* Backends decide for lots of rows, whose numbers are likely to be round. */
  if (alpha == ALPHA_HALVED)
    cut = random_one_in (random, 2) ? random_below (random, height) :
        8 * random_below (random, height / 8 + 1);
  for (gint y = 0; y < height; y++)
    for (gint x = 0; x < width; x++)
      random_frame_set (frame, GST_VIDEO_COMP_A, x, y, y < cut ? upper : lower);
  if (alpha == ALPHA_DOTTED)
    draw_dots (random, frame, width, height, max);
}

/* A side's begin and length along an axis of n pixels. */
static void
draw_side (Random * random, gint n, gint64 * begin, gint64 * length)
{
  static const gint64 far[] = { G_MININT64 / 2, G_MININT, -1000, G_MAXINT,
    G_MAXUINT32, G_MAXINT64 / 2
  };

  *begin = (gint) random_below (random, n + 6) - 3;
  *length = 1 + random_below (random, n + 3);
  switch (random_below (random, 12)) {
    case 0:
      *length = 0;
      break;
    case 1:
      *begin = far[random_below (random, G_N_ELEMENTS (far))];
      break;
    case 2:
      *length = G_MAXUINT32;
      break;
    default:
      /* Small ones most of all. */
      *length = random_one_in (random, 3) ? *length : 1 + *length / 4;
  }
}

guint
draw_regions (Random * random, gint width, gint height, RefRect * rects,
    guint most)
{
  guint n = random_below (random, random_one_in (random, 8) ? most + 1 : 5);

  for (guint i = 0; i < n; i++) {
    draw_side (random, width, &rects[i].x, &rects[i].width);
    draw_side (random, height, &rects[i].y, &rects[i].height);
  }
  return n;
}
