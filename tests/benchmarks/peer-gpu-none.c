/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "peer-gpu.h"

const gchar *
gpu_peer_name (void)
{
  return NULL;
}

gboolean
gpu_peer_measure (const GpuPeerJob * job, GpuPeerResult * result)
{
  return FALSE;
}
