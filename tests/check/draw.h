/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Random settings and pictures for the walk: all that a user can ask for, within sizes that a test can afford. */
#pragma once

#include "core/settings.h"
#include "../lib/random.h"
#include "../lib/samples.h"

G_BEGIN_DECLS

/* A picture's size: many tiny and odd ones, a few that have more than one strip and vector. */
void draw_size (Random * random, gint * width, gint * height);
void draw_colorimetry (Random * random, GstVideoInfo * info);
/* All of settings but filter and border, which are kept. Weights are sized for a picture of that size. */
void draw_settings (Random * random, gint width, gint height, ConvolveSettings * settings);

G_END_DECLS
