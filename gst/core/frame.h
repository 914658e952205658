/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One video frame as the backends see it: where its memory planes lie. Nobody owns anything here: the element keeps
 * the frame mapped, and has checked every plane's extent, from before process until wait returned. */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

#define CONVOLVE_MAX_PLANES 4

typedef enum {
  CONVOLVE_MEMORY_HOST,         /* ordinary memory of the process */
  CONVOLVE_MEMORY_PINNED,       /* page-locked memory of the process that the device reads and writes itself */
  CONVOLVE_MEMORY_DEVICE,       /* device addresses in the context that the backend was opened with */
} ConvolveMemory;

typedef struct {
  ConvolveMemory memory;
  guint8 *data[CONVOLVE_MAX_PLANES];    /* first byte of row 0 of each memory plane; const in effect for inputs */
  gint stride[CONVOLVE_MAX_PLANES];     /* bytes from a row to the next; may be negative, and larger than a row */
} ConvolveFrame;

G_END_DECLS
