/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Sums over frames in one launch: a row of weights for each frame, side by
 * side, is a longer row to the banded route. See kernels/folded.cu. */
#include "config.h"

#include "banded.h"
#include "program.h"

/* Products of the frames' weights and a row's: a row for each frame. And a
 * column. */
typedef struct
{
  ConvolveMatrix *x, *y;
} Folded;

static void
folded_clear (Folded * folded)
{
  g_clear_pointer (&folded->x, convolve_matrix_unref);
  g_clear_pointer (&folded->y, convolve_matrix_unref);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Folded, folded_clear);

/* FALSE if the operation has no rows and columns. */
static gboolean
fold (const ConvolveOperation * operation, Folded * folded)
{
  const ConvolveTerm *term = &operation->term[0];
  guint frames = convolve_operation_frames (operation);
  g_autofree gdouble *products = NULL;
  g_autoptr (ConvolveMatrix) row = NULL;

  if (term->matrix == NULL) {
    row = convolve_matrix_ref (term->x);
    folded->y = convolve_matrix_ref (term->y);
  } else if (!convolve_matrix_separate (term->matrix, &row, &folded->y)) {
    return FALSE;
  }
  products = g_new (gdouble, frames * row->width);
  for (guint f = 0; f < frames; f++)
    for (guint i = 0; i < row->width; i++)
      products[f * row->width + i] = operation->t->weights[f] * row->weights[i];
  folded->x = convolve_matrix_new (row->width, frames, products);
  return TRUE;
}

static gboolean
reaches (const ConvolveMatrix * x, const ConvolveMatrix * y)
{
  guint most = CONVOLVE_FOLDED_MAX_TAPS / 2;

  return x->anchor_x <= most && x->width <= most + x->anchor_x + 1
      && y->anchor_y <= most && y->height <= most + y->anchor_y + 1;
}

guint
cuda_folded_route (const ConvolvePass * pass)
{
  return pass->alpha.weighted ? CONVOLVE_ROUTE_FOLDED_WEIGHTED :
      CONVOLVE_ROUTE_FOLDED;
}

/* Whether the device has the shared memory, whatever is beside the pass in a
 * launch: for the variant of most taps, which can do all. */
static gboolean
has_room (const CudaDevice * device, const ConvolvePass * pass, guint frames)
{
  ConvolveLaunch launch = {.n_frames = frames,.n_pictures = 4 };
  guint n, samples = pass->layout.type == CONVOLVE_SAMPLE_U8 ?
      CONVOLVE_SAMPLES_U8 : CONVOLVE_SAMPLES_U16;
  const CudaVariant *all = cuda_variant_list (&n);

  for (guint i = 0; i < launch.n_pictures; i++)
    launch.picture[i].n_components = i + 1;
  for (guint i = 0; i < n; i++)
    if (all[i].route == cuda_folded_route (pass)
        && all[i].samples == samples && all[i].taps == CONVOLVE_FOLDED_MAX_TAPS)
      return cuda_banded_stages (device, &all[i], &launch);
  return FALSE;
}

/* Somebody asked for a whole matrix. */
static gboolean
is_forced_direct (const ConvolveOperation * operation)
{
  const ConvolveMatrix *matrix = operation->term[0].matrix;

  return operation->method == CONVOLVE_METHOD_DIRECT && matrix != NULL
      && matrix->width * matrix->height > 1;
}

/* Of bytes or words side by side. */
gboolean
cuda_folded_takes (const CudaDevice * device, const ConvolvePass * pass)
{
  const ConvolveOperation *operation = pass->operation;
  guint frames = convolve_operation_frames (operation);
  ConvolveOperation alike = {.n_terms = 1,.combine = CONVOLVE_COMBINE_SUM };
  ConvolvePass folded_pass = *pass;
  g_auto (Folded) folded = { 0 };

  if (operation->t == NULL || frames > CONVOLVE_FOLDED_MAX_FRAMES
      || operation->n_terms != 1 || pass->iterations > 1
      || operation->combine != CONVOLVE_COMBINE_SUM
      || pass->precision != CONVOLVE_PRECISION_SINGLE
      || is_forced_direct (operation) || !has_room (device, pass, frames)
      || !fold (operation, &folded))
    return FALSE;
  alike.sum = operation->sum;
  alike.term[0].x = folded.x;
  alike.term[0].y = folded.y;
  folded_pass.operation = &alike;
  return reaches (folded.x, folded.y)
      && cuda_banded_takes (device, &folded_pass);
}

void
cuda_folded_append_term (GArray * weights,
    const ConvolveOperation * operation, const CudaVariant * variant)
{
  g_auto (Folded) folded = { 0 };
  ConvolveTerm term = { 0 };

  fold (operation, &folded);    /* as cuda_folded_takes () saw it */
  term.x = folded.x;
  term.y = folded.y;
  cuda_banded_append_term (weights, &term, variant);
}

gboolean
cuda_folded_place (ConvolveLaunch * launch, const CudaFrame * in,
    GError ** error)
{
  guint64 bits = 0;

  for (guint f = 0; f < launch->n_frames; f++) {
    const CudaFrame *frame = &in->window[f];

    launch->frame[f] = frame->data[0] - in->data[0];
    bits |= launch->frame[f] & 15;
    for (guint p = 1; p < CONVOLVE_MAX_PLANES; p++)
      bits |= in->data[p] != 0
          && (gint64) (frame->data[p] - in->data[p]) != launch->frame[f];
  }
  for (guint i = 0; launch->n_frames > 0 && i < launch->n_pictures; i++)
    bits |= (launch->picture[i].src
        | (guint64) (gint64) launch->picture[i].src_stride) & 3;
  if (bits == 0)
    return TRUE;
  g_set_error_literal (error, CONVOLVE_ERROR, CONVOLVE_ERROR_FAILED,
      "frames are not laid out as a sum over them needs it");
  return FALSE;
}
