/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* An allocator over the page-locked host memory of a backend: ordinary memory for every element, which the device's
 * copy engines read and write themselves. Offered upstream, so that a source writes where the upload reads, and
 * used for output. The memory outlives device and element: each block keeps alive what freeing it needs. */
#pragma once

#include "core/backend.h"

#include <gst/gst.h>

G_BEGIN_DECLS

#define GST_TYPE_PINNED_ALLOCATOR (gst_pinned_allocator_get_type ())
G_DECLARE_FINAL_TYPE (GstPinnedAllocator, gst_pinned_allocator, GST, PINNED_ALLOCATOR, GstAllocator)

#define GST_PINNED_MEMORY_TYPE "PinnedHostMemory"

/* An allocator over device's host memory, or NULL if the backend has none. The caller owns it. It allocates from device
 * until gst_pinned_allocator_detach, and ordinary memory afterwards. */
GstAllocator *gst_pinned_allocator_new (ConvolveDevice * device);
/* The device goes away: nothing more is allocated from it. Blocks that are still in use stay valid. */
void gst_pinned_allocator_detach (GstAllocator * allocator);
/* TRUE if mem is page-locked memory of an allocator of this kind. */
gboolean gst_is_pinned_memory (GstMemory * mem);

G_END_DECLS
