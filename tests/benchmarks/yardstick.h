/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the bus alone does with a frame: one copied up while another is copied down, both at once, nothing else. */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* Loads the driver and creates the context, which stays: the milliseconds that this took, or a negative number and why
 * there is no GPU to be had. */
gdouble yardstick_open (GError ** error);
/* Milliseconds, the median; a negative number and why after a failure. After yardstick_open. */
gdouble yardstick_ms (gsize size, GError ** error);

G_END_DECLS
