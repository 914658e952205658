/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Between matrix.c and matrix-text.c alone: what a user may ask for. */
#pragma once

#include "matrix.h"

G_BEGIN_DECLS

gboolean convolve_matrix_check_size (guint width, guint height, GError ** error);
/* What is wrong with a weight from a user, or NULL. */
const gchar *convolve_matrix_weight_fault (gdouble weight);

G_END_DECLS
