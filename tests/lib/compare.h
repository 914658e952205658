/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Compares a whole output frame with the reference. */
#pragma once

#include "randomframe.h"
#include "reference.h"

G_BEGIN_DECLS

/* TRUE if
 *   every sample is within 1 of the exact result, nearly all are the nearest integer, copied samples and flat areas are
 *   exact (ties aside);
 *   unused bits of words are zero;
 *   neither a byte of padding of out nor any byte of in changed since they were sealed.
 * Otherwise *fault describes the first fault of each kind, with the samples around it. */
gboolean compare_frames (const Reference * reference, const RandomFrame * in, const RandomFrame * out, gchar ** fault);

/* Readable, for a failure's report. */
gchar *describe_settings (const ConvolveSettings * settings);

G_END_DECLS
