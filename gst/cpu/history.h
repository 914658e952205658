/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copies of frames in ordinary memory. */
#pragma once

#include "core/backend.h"

G_BEGIN_DECLS

ConvolveHistory *convolve_cpu_history_new (ConvolveDevice * device, const GstVideoInfo * info, GError ** error);
gboolean convolve_cpu_history_store (ConvolveHistory * history, guint slot, const ConvolveFrame * in, GError ** error);
void convolve_cpu_history_free (ConvolveHistory * history);
/* The frame in a slot that holds one. */
const ConvolveFrame *convolve_cpu_history_frame (const ConvolveHistory * history, guint slot);

G_END_DECLS
