/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The tests' own random numbers: the same for a seed on every machine. */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

typedef struct {
  guint64 state;
} Random;

static inline guint64
random_next (Random * r)
{
  guint64 z = (r->state += G_GUINT64_CONSTANT (0x9e3779b97f4a7c15));

  z = (z ^ (z >> 30)) * G_GUINT64_CONSTANT (0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * G_GUINT64_CONSTANT (0x94d049bb133111eb);
  return z ^ (z >> 31);
}

/* 0 .. n - 1 */
static inline guint
random_below (Random * r, guint n)
{
  return (guint) ((random_next (r) >> 32) * n >> 32);
}

static inline gboolean
random_one_in (Random * r, guint n)
{
  return random_below (r, n) == 0;
}

static inline gdouble
random_between (Random * r, gdouble lo, gdouble hi)
{
  return lo + (hi - lo) * ((gdouble) (random_next (r) >> 11) / 9007199254740992.0);
}

G_END_DECLS
