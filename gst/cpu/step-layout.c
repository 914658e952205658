/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Into which pieces a step cuts its picture, and what a thread needs. */
#include "config.h"

#include "step.h"

/* What a ring may take to stay in the second level cache. */
#define CACHE_BYTES (384 << 10)
/* A ring larger than this is not worth having: the strip is made narrower, or
 * a direct term reads its rows anew each time. */
#define RING_BYTES (8 << 20)
/* Pixels: shorter pieces of rows cost more than a ring that spills. */
#define MIN_STRIP 256
#define PIECES_A_THREAD 3       /* to even out a busy core */
#define MIN_BAND 16             /* rows */
#define LINE 64                 /* bytes of a cache line */

/* Takes a place of n elements; an odd number of lines keeps rows that lie one
 * after the other out of each other's cache sets. */
static gsize
pitch (gsize n, gsize element_bytes)
{
  gsize lines = ((n + CPU_SLACK) * element_bytes + LINE - 1) / LINE;

  return (lines | 1) * LINE;
}

static gsize
place (CpuMemory * memory, gsize bytes)
{
  gsize at = memory->size;

  memory->size += (bytes + LINE - 1) / LINE * LINE;
  return at;
}

static guint
count_terms (const CpuStep * step, gboolean separable)
{
  guint n = 0;

  for (guint i = 0; i < step->n_terms; i++)
    n += step->term[i].separable == separable && !step->term[i].streamed;
  return n;
}

/* Frames whose rows lie side by side in a row of the window. */
static guint
row_frames (const CpuStep * step)
{
  return step->t_weights != NULL ? 1 : step->n_frames;
}

/* Bytes of the rings for strips of that many pixels: one for each separable
 * term, one for all direct ones. */
static gdouble
ring_bytes (const CpuStep * step, gdouble strip)
{
  const CpuKernels *kernels = step->kernels;
  gdouble bytes = strip * count_terms (step, TRUE) * kernels->real_bytes;

  if (count_terms (step, FALSE) > 0)
    bytes += (strip + step->left + step->right) * row_frames (step)
        * kernels->tap_bytes;
  return bytes * step->sum_lanes * step->slots;
}

/* The widest strip whose rings stay within so many bytes, if any does. */
static gdouble
widest_strip (const CpuStep * step, gdouble bytes)
{
  gdouble none = ring_bytes (step, 0), one = ring_bytes (step, 1) - none;

  return one > 0 ? (bytes - none) / one : step->pass->width;
}

/* Direct terms do without a ring if one for strips of that width were too
 * large. */
static void
choose_streamed (CpuStep * step, gdouble strip)
{
  if (ring_bytes (step, strip) > RING_BYTES && count_terms (step, FALSE) > 0)
    for (guint i = 0; i < step->n_terms; i++)
      step->term[i].streamed = !step->term[i].separable;
}

static void
choose_strip (CpuStep * step)
{
  gdouble width = step->pass->width, least = MIN (width, MIN_STRIP), strip;

  choose_streamed (step, least);
  if (ring_bytes (step, least) > RING_BYTES)
    least = MAX (1, MIN (least, CPU_PATTERN / step->sum_lanes));

  /* Of a box's ring four rows are looked at, not all. */
  strip = widest_strip (step, step->box ? 4 * CACHE_BYTES : CACHE_BYTES);
  strip = CLAMP (strip, least, width);
  step->cut.strip = (guint) strip;
}

/* Full steps of the kernels, and strips of equal width. */
static void
cut_strips (CpuCut * cut, guint width, guint strip)
{
  guint unit = CPU_PATTERN;

  strip = CLAMP (strip, 1, width);
  cut->n_strips = (width + strip - 1) / strip;
  strip = (width + cut->n_strips - 1) / cut->n_strips;
  if (strip > unit)
    strip = (strip + unit - 1) / unit * unit;
  cut->strip = MIN (strip, width);
  cut->n_strips = (width + cut->strip - 1) / cut->strip;
}

static void
cut_bands (CpuCut * cut, guint height, guint n)
{
  guint band = (height + n - 1) / n;

  cut->band = MIN ((band + 1) & ~1u, height);   /* rows go in pairs */
  cut->n_bands = (height + cut->band - 1) / cut->band;
}

/* Bands cost the rows of a window each, strips only the loading of borders. */
CpuCut
convolve_cpu_step_cut (const CpuStep * step, guint width, guint height,
    guint n_threads)
{
  guint window = step->above + step->below + 1;
  guint wanted = n_threads > 1 ? n_threads * PIECES_A_THREAD : 1;
  guint most = step->whole ? 1 : MAX (1, height / MAX (4 * window, MIN_BAND));
  guint n_bands = MIN (wanted, most);
  CpuCut cut;

  cut_strips (&cut, width, step->cut.strip);
  if (n_bands * cut.n_strips < n_threads) {
    guint strip = width * (guint64) n_bands / n_threads + 1;

    cut_strips (&cut, width, MIN (cut.strip, MAX (strip, MIN_STRIP / 4)));
  }
  cut_bands (&cut, height, n_bands);
  return cut;
}

static void
cut_like (CpuStep * step, const CpuStep * like)
{
  choose_streamed (step, like->cut.strip);
  step->cut = like->cut;
}

static void
place_rings (CpuStep * step)
{
  CpuMemory *memory = &step->memory;
  gsize padded = (gsize) step->cut.strip + step->left + step->right;
  const CpuKernels *kernels = step->kernels;
  gsize shared = 0;
  gboolean have_shared = FALSE;

  step->frame_samples = pitch (padded * step->sum_lanes, kernels->tap_bytes)
      / kernels->tap_bytes;
  for (guint i = 0; i < step->n_terms; i++) {
    CpuTerm *term = &step->term[i];

    if (term->streamed)
      continue;
    term->ring_pitch = term->separable ?
        pitch ((gsize) step->cut.strip * step->sum_lanes, kernels->real_bytes) :
        step->frame_samples * kernels->tap_bytes * row_frames (step);
    if (!term->separable && have_shared) {
      term->ring = shared;
      continue;
    }
    term->ring = place (memory, term->ring_pitch * step->slots);
    if (!term->separable) {
      shared = term->ring;
      have_shared = TRUE;
    }
  }
}

static void
place_rows (CpuStep * step)
{
  CpuMemory *memory = &step->memory;
  gsize padded = (gsize) step->cut.strip + step->left + step->right;
  gsize real = step->kernels->real_bytes;
  gsize sums = pitch ((gsize) step->cut.strip * step->sum_lanes,
      MAX (real, step->kernels->sum_bytes));
  gsize results = pitch ((gsize) step->cut.strip * step->lanes, real);
  gsize words = pitch ((gsize) step->cut.strip * step->lanes, 2);

  memory->index = place (memory,
      ((gsize) step->left + step->right) * sizeof (gint));
  memory->words[0] = place (memory, pitch (padded * step->lanes, 2));
  memory->words[1] = place (memory, words);
  memory->words[2] = place (memory, words);
  memory->padded = place (memory,
      step->frame_samples * real * row_frames (step));
  if (step->t_weights != NULL) {
    memory->frames = place (memory,
        step->frame_samples * real * step->n_frames);
    memory->folded = place (memory, step->frame_samples * real);
  }
  memory->plain = place (memory, pitch (padded * step->lanes, real));
  if (step->alpha_apart) {
    gsize covered = padded << step->pass->alpha.w_sub;

    memory->alpha = place (memory, pitch (padded, real));
    memory->alpha_raw = place (memory, pitch (covered, sizeof (gdouble)));
  }
  memory->window = place (memory,
      ((gsize) step->above + step->below + 2) * sizeof (gpointer));
  memory->at = place (memory, step->kernels->group * sizeof (gpointer));
  for (guint i = 0; i < 2; i++) {
    for (guint t = 0; t < (step->add_terms ? 1 : step->n_terms); t++)
      memory->sum[t][i] = place (memory, sums);
    memory->input[i] = place (memory, results);
    memory->result[i] = place (memory, results);
  }
}

gboolean
convolve_cpu_step_init_layout (CpuStep * step, guint n_threads,
    const CpuStep * like)
{
  guint64 window = (guint64) step->above + step->below + 1;
  guint height = step->pass->height;

  /* Where the window is large against the picture, its rows are mostly the
   * same ones. */
  step->whole = window * 2 > height;
  step->slots = step->whole ? height + 1 : (guint) window + 1;
  /* The row that leaves a box's sum is the one above its window. */
  if (step->box && !step->whole)
    step->slots++;
  if (like != NULL) {
    cut_like (step, like);
  } else {
    choose_strip (step);
    step->cut = convolve_cpu_step_cut (step, step->pass->width, height,
        n_threads);
  }
  place_rings (step);
  place_rows (step);
  return step->memory.size < G_MAXSSIZE / 1024;
}
