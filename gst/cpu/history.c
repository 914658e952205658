/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <string.h>

#include "history.h"

#define LINE 64                 /* bytes of a cache line */

typedef struct
{
  gsize row_bytes, rows;        /* rows 0: the format lacks this plane */
  gsize stride, offset;         /* in a copy */
} Plane;

typedef struct
{
  ConvolveHistory history;
  Plane plane[CONVOLVE_MAX_PLANES];
  gsize size;                   /* of a copy */
  GArray *slot;                 /* ConvolveFrame; data[0] is what is owned */
} CpuHistory;

ConvolveHistory *
convolve_cpu_history_new (ConvolveDevice * device, const GstVideoInfo * info,
    GError ** error)
{
  CpuHistory *self = g_new0 (CpuHistory, 1);
  const ConvolveFormat *format =
      convolve_format_get (GST_VIDEO_INFO_FORMAT (info));

  for (guint i = 0; i < format->n_layouts; i++) {
    const ConvolveLayout *layout = &format->layout[i];
    gint width = convolve_layout_width (layout, info->width);
    gint height = convolve_layout_height (layout, info->height);
    Plane *plane = &self->plane[layout->plane];

    plane->row_bytes = MAX (plane->row_bytes,
        convolve_layout_row_bytes (layout, width));
    plane->rows = MAX (plane->rows, (gsize) height);
  }
  for (guint p = 0; p < CONVOLVE_MAX_PLANES; p++) {
    Plane *plane = &self->plane[p];

    plane->stride = (plane->row_bytes + LINE - 1) / LINE * LINE;
    plane->offset = self->size;
    self->size += plane->stride * plane->rows;
  }
  self->slot = g_array_new (FALSE, TRUE, sizeof (ConvolveFrame));
  return &self->history;
}

void
convolve_cpu_history_free (ConvolveHistory * history)
{
  CpuHistory *self = (CpuHistory *) history;

  for (guint i = 0; i < self->slot->len; i++)
    g_free (g_array_index (self->slot, ConvolveFrame, i).data[0]);
  g_array_unref (self->slot);
  g_free (self);
}

static gboolean
ensure_slot (CpuHistory * self, ConvolveFrame * frame, GError ** error)
{
  guint8 *memory;

  if (frame->data[0] != NULL)
    return TRUE;
  memory = g_try_malloc (self->size);
  if (memory == NULL) {
    g_set_error (error, CONVOLVE_ERROR, CONVOLVE_ERROR_NO_MEMORY,
        "there is not enough memory to keep one more frame of %" G_GSIZE_FORMAT
        " bytes", self->size);
    return FALSE;
  }
  for (guint p = 0; p < CONVOLVE_MAX_PLANES; p++) {
    if (self->plane[p].rows == 0)
      continue;
    frame->data[p] = memory + self->plane[p].offset;
    frame->stride[p] = (gint) self->plane[p].stride;
  }
  return TRUE;
}

gboolean
convolve_cpu_history_store (ConvolveHistory * history, guint slot,
    const ConvolveFrame * in, GError ** error)
{
  CpuHistory *self = (CpuHistory *) history;
  ConvolveFrame *frame;

  if (in->memory == CONVOLVE_MEMORY_DEVICE) {
    g_set_error_literal (error, CONVOLVE_ERROR, CONVOLVE_ERROR_UNSUPPORTED,
        "the CPU backend cannot reach device memory");
    return FALSE;
  }
  if (slot >= self->slot->len)
    g_array_set_size (self->slot, slot + 1);
  frame = &g_array_index (self->slot, ConvolveFrame, slot);
  if (!ensure_slot (self, frame, error))
    return FALSE;
  for (guint p = 0; p < CONVOLVE_MAX_PLANES; p++)
    for (gsize y = 0; y < self->plane[p].rows; y++)
      memcpy (frame->data[p] + y * self->plane[p].stride,
          in->data[p] + (gssize) y * in->stride[p], self->plane[p].row_bytes);
  return TRUE;
}

const ConvolveFrame *
convolve_cpu_history_frame (const ConvolveHistory * history, guint slot)
{
  const CpuHistory *self = (const CpuHistory *) history;

  return &g_array_index (self->slot, ConvolveFrame, slot);
}
