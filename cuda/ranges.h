/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Names for what a thread enqueues or waits for, in the timeline of a profiler (NVTX ranges of the domain
 * "videoconvolve"). Where none listens a range is one test of a pointer; where the toolkit has no header for it there
 * is a stub. */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

typedef struct {
  gboolean open;
} CudaRange;

/* g_auto (CudaRange) range = cuda_range_begin ("upload"); ends with its scope. */
CudaRange cuda_range_begin (const gchar * name);
void cuda_range_end (CudaRange * range);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (CudaRange, cuda_range_end)

G_END_DECLS
