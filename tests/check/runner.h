/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Opens a backend by its name and filters a frame with it. */
#pragma once

#include "../lib/randomframe.h"
#include "core/backend.h"

G_BEGIN_DECLS

/* TEST_PASSED with *device set, TEST_SKIPPED with the reason printed where the backend cannot run on this machine. */
int runner_open (const gchar * backend, guint n_threads, guint bands, ConvolveDevice ** device);
gboolean runner_filter (ConvolveDevice * device, const GstVideoInfo * info, const ConvolveSettings * settings,
    gboolean fields, const RandomFrame * in, const RandomFrame * out, GError ** error);

G_END_DECLS
