/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the test asks of the library that listens to NVTX ranges; its functions are found by name. */
#pragma once

#include <glib.h>

/* Ends without a beginning, ranges of other domains, attributes that are wrong. */
guint nvtxwatch_faults (void);
/* Ranges that have begun and not ended. */
guint nvtxwatch_open (void);
/* Ranges of that name so far. */
guint nvtxwatch_count (const gchar * name);
