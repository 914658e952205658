/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Random pictures through the element, compared with the reference of tests/lib. */
#pragma once

#include "elementtest.h"
#include "../lib/compare.h"
#include "../lib/refregions.h"

typedef struct {
  GstVideoInfo caps;            /* as the element sees them */
  GstVideoInfo picture;         /* of one buffer: half as high where caps alternate fields */
  Random random;
} Pictures;

/* For the caps in text; the seed is printed. */
void pictures_init (Pictures * pictures, const gchar * caps);
/* A frame of random samples. */
RandomFrame *picture_new (Pictures * pictures);
/* Its samples in a buffer laid out as the caps say, number n of 25 a second. */
GstBuffer *picture_to_buffer (const Pictures * pictures, const RandomFrame * frame, guint n);
/* The samples of a buffer, which is taken. Its video meta counts. */
RandomFrame *picture_from_buffer (Pictures * pictures, GstBuffer * buffer);
/* Fails unless the buffer is what the reference makes of in; mask (taken) may be NULL. Takes out. */
void assert_picture (Pictures * pictures, const RandomFrame * in, GstBuffer * out, const ConvolveSettings * settings,
    gboolean fields, guint8 * mask);

/* The same of a stream of n frames: out is what becomes of frame own. */
void assert_stream_picture (Pictures * pictures, RandomFrame * const *stream, guint n, guint own, GstBuffer * out,
    const ConvolveSettings * settings, gboolean fields, guint8 * mask);

/* Filters a few random pictures of caps with launch's element and compares each. */
void check_launch (const gchar * launch, const gchar * caps, const ConvolveSettings * settings, gboolean fields);
