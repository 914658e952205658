/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Opens a backend by its name and filters a frame with it. */
#pragma once

#include "../lib/randomframe.h"
#include "../lib/refregions.h"
#include "core/backend.h"

G_BEGIN_DECLS

typedef struct {
  guint n;
  const RefRect *rect;
  gboolean outside;             /* they are what is not filtered */
} RunnerRegions;


/* TEST_PASSED with *device set, TEST_SKIPPED with the reason printed where the backend cannot run on this machine. */
int runner_open (const gchar * backend, guint n_threads, guint bands, ConvolveDevice ** device);
/* The main function of GLib tests on one device of the backend that the first argument names (cpu if there is none):
 * sets device and the state of random numbers, then add_tests adds what runs. */
int runner_main (int argc, char **argv, ConvolveDevice ** device, guint64 * random_state, void (*add_tests) (void));
typedef struct {
  RandomFrame *const *frame;
  guint n, own;                 /* the one to be filtered */
} RunnerStream;

/* The same across the frames of a stream. */
gboolean runner_filter_stream (ConvolveDevice * device, const GstVideoInfo * info, const ConvolveSettings * settings,
    gboolean fields, const RunnerRegions * where, const RunnerStream * stream, const RandomFrame * out,
    GError ** error);
/* where: NULL is the whole frame. */
gboolean runner_filter (ConvolveDevice * device, const GstVideoInfo * info, const ConvolveSettings * settings,
    gboolean fields, const RunnerRegions * where, const RandomFrame * in, const RandomFrame * out, GError ** error);

G_END_DECLS
