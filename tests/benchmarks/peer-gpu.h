/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What another library's best function makes of the same frames on the same GPU, with the border replicate. */
#pragma once

#include "core/plan.h"

G_BEGIN_DECLS

/* Frames in pairs: input i lies at memory + 2 * i * bytes, its output bytes behind it. */
typedef struct {
  gint device_id;               /* CUdevice; its context is current */
  gpointer stream;              /* CUstream */
  const ConvolvePlan *plan;     /* weights and layouts */
  GstVideoInfo info;            /* offsets and strides of planes */
  gboolean gaussian;            /* the library may use Gaussian weights of its own of the same size */
  guint64 memory;               /* CUdeviceptr */
  gsize bytes;
  guint n_pairs;
} GpuPeerJob;

typedef struct {
  const gchar *way;             /* the quickest function */
  gdouble us;                   /* a frame, cold where n_pairs are many */
  guint off;                    /* the largest difference of a sample from what was in the first output before */
} GpuPeerResult;

/* NULL where the benchmark was built without it. */
const gchar *gpu_peer_name (void);
/* FALSE where it has no function for the job. Overwrites outputs. */
gboolean gpu_peer_measure (const GpuPeerJob * job, GpuPeerResult * result);

G_END_DECLS
