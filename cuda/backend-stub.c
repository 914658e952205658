/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Stands for the CUDA backend in a build without it: says so when it is asked
 * for. */
#include "core/backend.h"

static gboolean
stub_probe (GError ** error)
{
  g_set_error_literal (error, CONVOLVE_ERROR, CONVOLVE_ERROR_NO_DEVICE,
      "this plugin was built without CUDA; install a CUDA toolkit and build it again, or use backend=cpu");
  return FALSE;
}

const ConvolveBackend *
convolve_backend_cuda (void)
{
  static const ConvolveBackend stub = {
    .name = "cuda",
    .probe = stub_probe,
  };

  return &stub;
}
