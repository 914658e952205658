/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Boxes by running sums (sums.h): which passes are such, and their launches. A
 * pass goes through them instead of through float pictures; where a frame's
 * rows are not aligned to pixels it goes through those after all. */
#include "config.h"

#include <math.h>

#include "core/box.h"
#include "program.h"

/* The least taps along both axes for which this is worth while, and where it is
 * asked for. */
#define MIN_TAPS 17
#define MIN_TAPS_ASKED 3
#define ALIKE 1e-9
/* How far a reciprocal may be off, in steps of the samples. */
#define MAX_ERROR 0.1
/* Rows of a task: a start is worth at least so many. */
#define MIN_TASK_ROWS 8
/* What starting a task costs, parts included, in rows. */
#define TASK_START_ROWS 8
#define MAX_STRIPS 64
#define MAX_ROUNDS 8
#define ALIGNMENT 256

typedef struct
{
  ConvolveBoxLine x, y;
  gdouble unit;
} Box;

/* ---- which passes ---- */

static gboolean
is_centred (const ConvolveMatrix * line)
{
  return line->width % 2 == 1 && line->height % 2 == 1;
}

static gboolean
find_box (const ConvolveOperation * operation, Box * box)
{
  const ConvolveTerm *term = &operation->term[0];
  gdouble unit_x, unit_y;

  if (operation->n_terms != 1 || operation->combine != CONVOLVE_COMBINE_SUM
      || term->matrix != NULL || !is_centred (term->x) || !is_centred (term->y)
      || !convolve_box_find (term->x, &box->x, &unit_x)
      || !convolve_box_find (term->y, &box->y, &unit_y))
    return FALSE;
  box->unit = unit_x * unit_y;
  return TRUE;
}

static gboolean
has_ends (const Box * box)
{
  return box->x.inner != box->x.end || box->y.inner != box->y.end;
}

static guint
sample_bytes (const ConvolveLaunchPicture * p)
{
  return p->store == CONVOLVE_STORE_U8 ? 1 : 2;
}

static gdouble
largest_sample (const ConvolveLaunchPicture * p)
{
  return (1u << p->component[0].depth) - 1;
}

/* Samples that the kernels know, all alike. */
static gboolean
knows_samples (const ConvolveLaunchPicture * p, const Box * box)
{
  if (!p->contiguous || p->swap || p->store == CONVOLVE_STORE_BITS32
      || (p->n_components == 3 && sample_bytes (p) == 2)
      || (p->n_components > 2 && has_ends (box)))
    return FALSE;
  for (guint c = 1; c < p->n_components; c++)
    if (p->component[c].depth != p->component[0].depth
        || p->component[c].shift != p->component[0].shift)
      return FALSE;
  return TRUE;
}

/* What follows the sums is float, which is good enough where results are no
 * larger than samples. */
static gboolean
results_are_small (const ConvolvePass * pass)
{
  for (guint c = 0; c < pass->layout.n_components; c++) {
    const ConvolvePassComponent *k = &pass->component[c];
    gdouble top = 2.0 * ((1u << pass->layout.component[c].depth) - 1);

    if (k->action == CONVOLVE_ACTION_FILTER
        && !(fabs (k->gain * pass->operation->sum) <= 2
            && fabs (k->offset) <= top))
      return FALSE;
  }
  return TRUE;
}

/* TRUE if the mean is all that is asked for. */
static gboolean
is_mean (const ConvolvePass * pass, gdouble top)
{
  for (guint c = 0; c < pass->layout.n_components; c++) {
    const ConvolvePassComponent *k = &pass->component[c];

    if (k->action != CONVOLVE_ACTION_FILTER || k->offset != 0 || k->lo > 0
        || k->hi < top || k->gain != pass->component[0].gain
        || fabs (k->gain * pass->operation->sum - 1) > ALIKE)
      return FALSE;
  }
  return TRUE;
}

/* The numbers that come after the sums; FALSE if 32 bits do not hold those. */
static gboolean
init_results (ConvolveSums * sums, const ConvolvePass * pass, const Box * box)
{
  gdouble top = largest_sample (&sums->picture), factor;
  gdouble most = top * convolve_box_sum (&box->x) * convolve_box_sum (&box->y);

  for (; most > G_MAXUINT32; most /= 2)
    sums->down++;
  /* Columns of bytes are not made smaller. */
  if (sums->down > 0 && sample_bytes (&sums->picture) == 1 && !has_ends (box))
    return FALSE;
  sums->scale = ldexp (box->unit, sums->down);
  factor = rint (ldexp (pass->component[0].gain * box->unit, 40 + sums->down));
  sums->plain = is_mean (pass, top) && factor <= G_MAXUINT32
      && top * 0.5 / factor <= MAX_ERROR;
  sums->factor = sums->plain ? factor : 0;
  return TRUE;
}

static gboolean
init_sums (ConvolveSums * sums, const ConvolvePass * pass)
{
  Box box;

  cuda_picture_init (&sums->picture, pass);
  if (!find_box (pass->operation, &box)
      || !knows_samples (&sums->picture, &box) || !results_are_small (pass))
    return FALSE;
  sums->reach_x = box.x.taps / 2;
  sums->reach_y = box.y.taps / 2;
  sums->inner_x = box.x.inner;
  sums->end_x = box.x.end;
  sums->inner_y = box.y.inner;
  sums->end_y = box.y.end;
  sums->border = pass->border;
  return init_results (sums, pass, &box);
}

static guint
sums_ends (const ConvolveSums * s)
{
  return s->inner_x != s->end_x || s->inner_y != s->end_y;
}

static const CudaVariant *
find_variant (const ConvolveSums * s, guint bytes, guint words)
{
  guint n;

  return &cuda_variant_list (&n)[sample_bytes (&s->picture) == 1 ? bytes :
      words];
}

/* That of the third launch. */
static const CudaVariant *
find_last (const ConvolveSums * s)
{
  guint n;
  const CudaVariant *all = cuda_variant_list (&n);
  guint samples = sample_bytes (&s->picture) == 1 ? CONVOLVE_SAMPLES_U8 :
      CONVOLVE_SAMPLES_U16;

  for (guint i = 0; i < n; i++)
    if (all[i].route == CONVOLVE_ROUTE_SUMS && all[i].samples == samples
        && all[i].terms == s->picture.n_components && all[i].taps == s->plain)
      return &all[i];
  g_return_val_if_reached (NULL);
}

/* ---- geometry ---- */

typedef struct
{
  guint strip, threads, shared_bytes;
} Strips;

/* The picture in so many strips, if blocks of the device can be so large. */
static gboolean
cut_strips (const CudaDevice * device, const ConvolveSums * s, guint n,
    Strips * strips)
{
  const ConvolveLaunchPicture *p = &s->picture;
  guint bytes = sample_bytes (p);
  guint pixels = CONVOLVE_SUMS_PIXELS (bytes, p->n_components);

  strips->strip =
      cuda_divide_up (cuda_divide_up (p->width, n), pixels) * pixels;
  strips->threads =
      convolve_sums_threads (bytes, p->n_components, strips->strip, s->reach_x,
      sums_ends (s));
  strips->shared_bytes =
      convolve_sums_shared_bytes (bytes, p->n_components, strips->threads);
  return strips->threads <= CONVOLVE_SUMS_THREADS
      && strips->shared_bytes <= device->shared_bytes[find_last (s)->id];
}

/* Strips and rows of a task: those with which the busiest multiprocessor is
 * done first. FALSE if no strip fits. */
static gboolean
choose_tasks (const CudaDevice * device, ConvolveSums * s, Strips * best)
{
  guint shared = device->shared_bytes[find_last (s)->id];
  guint rows = s->picture.row_end - s->picture.row_begin;
  gdouble least = G_MAXDOUBLE;

  for (guint i = 1; i <= MAX_STRIPS; i++) {
    Strips strips;
    guint resident, slots, n;

    if (!cut_strips (device, s, i, &strips))
      continue;
    resident = MIN (CONVOLVE_SUMS_THREADS / strips.threads,
        shared / strips.shared_bytes);
    slots = resident * device->n_multiprocessors;
    n = cuda_divide_up (s->picture.width, strips.strip);
    for (guint rounds = 1; rounds <= MAX_ROUNDS; rounds++) {
      guint tasks = MAX (rounds * slots / n, 1);
      guint height = CLAMP (cuda_divide_up (rows, tasks), MIN_TASK_ROWS,
          CONVOLVE_SUMS_TASK_ROWS);
      gdouble cost =
          cuda_divide_up ((guint64) n * cuda_divide_up (rows, height), slots)
          * (gdouble) (height + TASK_START_ROWS) * strips.threads * resident;

      if (cost <= least) {
        least = cost;
        *best = strips;
        s->task_rows = height;
      }
    }
  }
  if (least == G_MAXDOUBLE)
    return FALSE;
  s->strip = best->strip;
  return TRUE;
}

static guint
count_parts (const ConvolveSums * s)
{
  return s->n_tasks + (2 * s->reach_y + 1) / s->task_rows;
}

/* ---- scratch ---- */

static gsize
align (gsize bytes)
{
  return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static guint
samples_pitch (const ConvolveLaunchPicture * p)
{
  return (p->width + 7) / 8 * 8 * p->n_components;
}

static gsize
parts_bytes (const ConvolveSums * s)
{
  return align ((gsize) s->n_parts * s->pitch
      * (sample_bytes (&s->picture) == 1 ? 2 : 4));
}

gsize
cuda_sums_scratch_bytes (const CudaStaged * staged)
{
  ConvolveSums s = staged->sums;

  if (!staged->by_sums)
    return 0;
  s.pitch = samples_pitch (&s.picture);
  s.task_rows = MIN_TASK_ROWS;
  s.n_tasks = cuda_divide_up (s.picture.height, s.task_rows);
  s.n_parts = count_parts (&s) + 1;
  return 2 * parts_bytes (&s) + align ((gsize) s.n_tasks * s.pitch * 4);
}

/* ---- interface ---- */

gboolean
cuda_sums_takes (const CudaDevice * device, const ConvolvePass * pass)
{
  const ConvolveOperation *operation = pass->operation;
  ConvolveSums sums = { 0 };
  gboolean asked;
  Strips strips;

  if (operation == NULL || pass->iterations > 1 || pass->alpha.weighted
      || convolve_operation_is_windowed (operation))
    return FALSE;
  asked = operation->method == CONVOLVE_METHOD_SUMS;
  /* Another method that is asked for is another way. */
  if ((!asked && operation->method != CONVOLVE_METHOD_AUTO)
      || !init_sums (&sums, pass)
      || 2 * MIN (sums.reach_x, sums.reach_y) + 1 < (asked ? MIN_TAPS_ASKED :
          MIN_TAPS) || !choose_tasks (device, &sums, &strips))
    return FALSE;
  return asked || pass->precision != CONVOLVE_PRECISION_SINGLE
      || !cuda_banded_takes (device, pass);
}

void
cuda_sums_init (CudaStaged * staged, CudaProgram * program)
{
  const ConvolvePass *pass = &program->parent.plan->pass[staged->pass];

  if (program->forced || !cuda_sums_takes (cuda_program_device (program), pass))
    return;
  staged->by_sums = TRUE;
  init_sums (&staged->sums, pass);
}

gboolean
cuda_sums_can (const CudaStaged * staged, const ConvolveLaunchPicture * picture)
{
  guint bytes = sample_bytes (picture) * picture->n_components;
  guint mask = sample_bytes (picture) == 1 ? (bytes == 4 ? 3 : 0) :
      MIN (bytes, 4) - 1;

  return staged->by_sums && ((picture->src | picture->dst
          | (guint64) (gint64) picture->src_stride
          | (guint64) (gint64) picture->dst_stride) & mask) == 0;
}

/* The first two launches. */
static gboolean
make_starts (CudaDevice * device, const ConvolveSums * s, GError ** error)
{
  const ConvolveLaunchPicture *p = &s->picture;
  guint quads = cuda_divide_up ((guint64) p->width * p->pixel_step, 16);

  return cuda_launch (device, find_variant (s, CUDA_VARIANT_sums_parts_u8,
          CUDA_VARIANT_sums_parts_u16),
      s->n_parts * cuda_divide_up (quads, CONVOLVE_BLOCK_THREADS), 0, s, error)
      && cuda_launch (device, find_variant (s, CUDA_VARIANT_sums_starts_u8,
          CUDA_VARIANT_sums_starts_u16),
      cuda_divide_up (s->n_tasks, CONVOLVE_SUMS_CHUNK)
      * cuda_divide_up (s->pitch / 2, CONVOLVE_BLOCK_THREADS), 0, s, error);
}

gboolean
cuda_sums_run (CudaDevice * device, const CudaStaged * staged,
    const ConvolveLaunchPicture * picture, CUdeviceptr scratch, GError ** error)
{
  ConvolveSums s = staged->sums;
  guint64 work;
  Strips strips;

  s.picture = *picture;
  /* Parts of a picture need no more than all of it. */
  if (!choose_tasks (device, &s, &strips))
    g_return_val_if_reached (FALSE);
  s.pitch = samples_pitch (picture);
  s.n_tasks =
      cuda_divide_up (picture->row_end - picture->row_begin, s.task_rows);
  s.n_parts = count_parts (&s);
  s.full = scratch;
  s.first = s.full + parts_bytes (&s);
  s.starts = s.first + parts_bytes (&s);
  work = cuda_pixel_work (picture, 4, FALSE) * picture->width
      * (picture->row_end - picture->row_begin);
  return cuda_throttle (device, work, error) && make_starts (device, &s, error)
      && cuda_launch_threads (device, find_last (&s), s.n_tasks
      * cuda_divide_up (picture->width, s.strip), strips.threads,
      strips.shared_bytes, &s, error);
}
