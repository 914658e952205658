/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What unit tests of the core share. */
#pragma once

#include "core/filter-private.h"

/* The operation of settings for a plane of that subsampling; refused settings end the test. The caller frees it. */
static inline ConvolveOperation *
make (const ConvolveSettings * settings, guint w_sub, guint h_sub)
{
  g_autoptr (GError) error = NULL;
  ConvolveOperation *operation = convolve_operation_new (settings, w_sub, h_sub, &error);

  g_assert_no_error (error);
  return operation;
}
