/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Between matrices and the arrays of GStreamer's property values. */
#pragma once

#include "core/matrix.h"

#include <gst/gst.h>

G_BEGIN_DECLS

/* FALSE for what is no number. */
gboolean gst_video_convolve_value_to_number (const GValue * value, gdouble * number);
/* For a message about what is no number, or the wrong one: of any value, and never long. */
gchar *gst_video_convolve_value_describe (const GValue * value);
/* A matrix from an array of rows of numbers of any kind, or from an array of such arrays, one a frame. Refuses what is
 * empty, ragged, too large or not a number, and names matrix, row and column. */
ConvolveMatrix *gst_video_convolve_matrix_from_rows (const GValue * value, GError ** error);
/* A matrix of one row, or of one column, from an array of numbers. */
ConvolveMatrix *gst_video_convolve_matrix_from_line (const GValue * value, gboolean column, GError ** error);
/* A matrix of one row, from an array of weights of frames. */
ConvolveMatrix *gst_video_convolve_matrix_from_taps (const GValue * value, GError ** error);
/* The other way; value is an empty GST_TYPE_ARRAY, and stays so for no matrix. */
void gst_video_convolve_matrix_to_rows (const ConvolveMatrix * matrix, GValue * value);
void gst_video_convolve_matrix_to_line (const ConvolveMatrix * matrix, GValue * value);

G_END_DECLS
