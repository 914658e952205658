/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A matrix of weights: immutable, reference counted, row-major doubles. "Matrix" always means weights in this
 * code base; "kernel" is kept for GPU functions (and for the element's property names, which users know).
 * One of several frames has a depth: a matrix of width x height for each frame, the oldest frame's first. */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* The longest side of a two-dimensional custom matrix, and of a one-dimensional one (in elements). Matrices that
 * the filters make themselves may be larger: a gaussian of sigma 1000 has 6001 taps. */
#define CONVOLVE_MATRIX_MAX_SIDE 129
#define CONVOLVE_MATRIX_MAX_LENGTH 2049
/* The most frames that a filter looks at. */
#define CONVOLVE_MATRIX_MAX_DEPTH 129
/* The largest magnitude of one weight that is accepted from a user. */
#define CONVOLVE_MATRIX_MAX_WEIGHT 1e6

/* Errors of the core and of the backends. */
#define CONVOLVE_ERROR (convolve_error_quark ())
GQuark convolve_error_quark (void);

typedef enum {
  CONVOLVE_ERROR_INVALID,       /* a value that cannot be used; nothing was changed */
  CONVOLVE_ERROR_UNSUPPORTED,   /* a combination that this build or backend cannot do */
  CONVOLVE_ERROR_NO_DEVICE,     /* no driver, no device, wrong driver: the backend cannot run on this machine */
  CONVOLVE_ERROR_NO_MEMORY,     /* memory ran out; a retry may work */
  CONVOLVE_ERROR_FAILED,        /* work failed, the device may still be usable */
  CONVOLVE_ERROR_LOST,          /* the device or its context is lost for this process */
  CONVOLVE_ERROR_CANCELLED,     /* somebody asked to end the work early */
} ConvolveError;

typedef struct _ConvolveMatrix ConvolveMatrix;

struct _ConvolveMatrix {
  gint ref_count;               /* atomic; use ref and unref */
  guint width, height;          /* columns and rows, both at least 1 */
  guint depth;                  /* frames; 1 unless it was made for several */
  guint anchor_x, anchor_y;     /* the element laid on the output pixel: width / 2, height / 2 */
  gdouble weights[];            /* depth x width x height, row by row, as written (correlation, not flipped) */
};

/* Copies width x height weights. The caller owns the result. Sizes must be positive and weights finite (asserted:
 * user input goes through convolve_matrix_new_checked). */
ConvolveMatrix *convolve_matrix_new (guint width, guint height, const gdouble * weights);
/* The same for weights that come from a user: refuses empty, too large and non-finite ones with an error that
 * names the row and the column. */
ConvolveMatrix *convolve_matrix_new_checked (guint width, guint height, const gdouble * weights, GError ** error);
/* The same for depth matrices of that size, one after the other. */
ConvolveMatrix *convolve_matrix_new_deep (guint width, guint height, guint depth, const gdouble * weights,
    GError ** error);
/* Parses text: one row a line, numbers parted by blanks, commas or semicolons; '#' starts a comment; locale-free. A
 * blank line begins the next frame's matrix. Refuses ragged rows, and matrices of other sizes than the first one, with
 * the line's number. */
ConvolveMatrix *convolve_matrix_parse (const gchar * text, GError ** error);
/* Reads a file of at most 1 MiB and parses it; errors name the file. */
ConvolveMatrix *convolve_matrix_load (const gchar * path, GError ** error);
ConvolveMatrix *convolve_matrix_ref (ConvolveMatrix * matrix);
void convolve_matrix_unref (ConvolveMatrix * matrix);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (ConvolveMatrix, convolve_matrix_unref)

gboolean convolve_matrix_equal (const ConvolveMatrix * a, const ConvolveMatrix * b);    /* NULL equals NULL only */
gdouble convolve_matrix_sum (const ConvolveMatrix * matrix);    /* compensated */
gdouble convolve_matrix_l1 (const ConvolveMatrix * matrix);     /* sum of magnitudes */
gboolean convolve_matrix_has_negative (const ConvolveMatrix * matrix);
gboolean convolve_matrix_is_identity (const ConvolveMatrix * matrix);   /* 1 at the anchor, 0 elsewhere, exactly */
gboolean convolve_matrix_is_symmetric (const ConvolveMatrix * matrix);  /* equal to itself turned by 180 degrees */
/* A new matrix, weights times factor. */
ConvolveMatrix *convolve_matrix_scale (const ConvolveMatrix * matrix, gdouble factor);
/* A new matrix divided by its sum; a plain reference if the sum is 0 (less than 1e-9 of the l1 norm) or 1. */
ConvolveMatrix *convolve_matrix_normalize (ConvolveMatrix * matrix);
/* Frames first .. first + n - 1 of a deep matrix. */
ConvolveMatrix *convolve_matrix_frames (const ConvolveMatrix * matrix, guint first, guint n);
/* TRUE if each frame's matrix is a multiple of every other to within 1e-12 of the largest weight: then *t (1 x 1, as
 * deep) and *frame (width x height) are new matrices whose product it is. */
gboolean convolve_matrix_separate_frames (const ConvolveMatrix * matrix, ConvolveMatrix ** t, ConvolveMatrix ** frame);
/* The following are for matrices of one frame. */
/* The outer product y x^T of a column (1 x n) and a row (n x 1) matrix. */
ConvolveMatrix *convolve_matrix_outer (const ConvolveMatrix * x, const ConvolveMatrix * y);
/* Removes rows and columns of zeros at the rim as far as the anchor stays w/2, h/2; may return a reference. */
ConvolveMatrix *convolve_matrix_trim (ConvolveMatrix * matrix);
/* TRUE if the matrix has rank 1 to within 1e-12 of its largest weight: then *x (width x 1) and *y (1 x height) are
 * new matrices whose outer product it is. A 1 x n or n x 1 matrix is always separable. */
gboolean convolve_matrix_separate (const ConvolveMatrix * matrix, ConvolveMatrix ** x, ConvolveMatrix ** y);
/* The fewest products of a row and a column, at most `most` of them, whose sum is the matrix to within 1e-12 of its
 * largest weight: their number, and x[i] (width x 1), y[i] (1 x height) are new matrices. 0 if there are not. */
guint convolve_matrix_low_rank (const ConvolveMatrix * matrix, guint most, ConvolveMatrix ** x, ConvolveMatrix ** y);
/* Elements that are not 0. */
guint64 convolve_matrix_count (const ConvolveMatrix * matrix);
/* The weights as rows of text, for logs and tests. */
gchar *convolve_matrix_to_string (const ConvolveMatrix * matrix);

G_END_DECLS
