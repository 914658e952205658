/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Random settings and pictures for the walk: all that a user can ask for, within sizes that a test can afford. */
#pragma once

#include "core/settings.h"
#include "../lib/randomframe.h"
#include "../lib/refregions.h"

G_BEGIN_DECLS

/* A picture's size: many tiny and odd ones, a few that have more than one strip and vector. */
void draw_size (Random * random, gint * width, gint * height);
void draw_colorimetry (Random * random, GstVideoInfo * info);
/* Pictures of which most alpha is one value: backends may filter these, or rows of them, as if they had none. */
typedef enum {
  ALPHA_FILLED,                 /* as all components are */
  ALPHA_EVEN,
  ALPHA_DOTTED,                 /* even but for a sample or two */
  ALPHA_HALVED,                 /* one value above, another one below */
  N_ALPHAS
} DrawnAlpha;

/* To be called last: may change the border's colour and, if may_resize, the picture's size to one with more rows. */
DrawnAlpha draw_alpha (Random * random, GstVideoInfo * info, gboolean may_resize, ConvolveSettings * settings);
void draw_alpha_samples (Random * random, DrawnAlpha alpha, RandomFrame * frame);
/* All of settings but filter and border, which are kept. Weights are sized for a picture of that size. */
void draw_settings (Random * random, gint width, gint height, ConvolveSettings * settings);

/* The most frames of a stream that is drawn. */
#define DRAW_MAX_FRAMES 6

/* To be called after draw_settings: a filter across frames, and a stream of n frames for it, of which own is seen. */
void draw_time (Random * random, ConvolveSettings * settings, guint * n, guint * own);

/* Fills rects with up to most regions of a picture of that size: they overlap, leave the picture, or are empty. */
guint draw_regions (Random * random, gint width, gint height, RefRect * rects, guint most);

G_END_DECLS
