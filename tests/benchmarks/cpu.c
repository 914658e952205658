/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The CPU backend beside OpenCV: the same picture, weights, border (replicate)
 * and number of threads, taking turns in one run. Of each the best time is
 * shown, since whatever else the machine does can only lengthen one, and the
 * median of its times in ours of the same round: what slows both for a while
 * cancels out. With one thread it is the thread's CPU time. With two it is wall
 * time, and the CPU time of all threads beside it: on a machine that others use
 * too, wall time tells of them, and half of the CPU time is what is left of it
 * on idle cores. Random samples of our result are compared with sums in
 * double. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/backend.h"

#include "peer.h"
#include "random.h"
#include "testmain.h"

#define MAX_RUNNERS 5
#define MAX_ROUNDS 400
#define N_PROBES 400

static struct
{
  gchar *only, *csv, *format;
  gint height, budget_ms;
  gboolean threads;
} options = {.height = 1080,.budget_ms = 700 };

/* *INDENT-OFF* */
static const GOptionEntry entries[] = {
  {"height", 0, 0, G_OPTION_ARG_INT, &options.height,
      "of pictures of 16:9 (1080)", "N"},
  {"only", 0, 0, G_OPTION_ARG_STRING, &options.only,
      "separable, matrix or box", "JOB"},
  {"format", 0, 0, G_OPTION_ARG_STRING, &options.format,
      "that format only", "NAME"},
  {"budget", 0, 0, G_OPTION_ARG_INT, &options.budget_ms,
      "milliseconds for a row of the table (700)", "N"},
  {"threads", 0, 0, G_OPTION_ARG_NONE, &options.threads,
      "one thread and two instead of AVX2 and the best instruction set", NULL},
  {"csv", 0, 0, G_OPTION_ARG_STRING, &options.csv,
      "write the times there too", "FILE"},
  {NULL}
};
/* *INDENT-ON* */

static FILE *csv;

/* ---- jobs ---- */

typedef struct
{
  const gchar *name;
  PeerKind kind;
  guint sizes[8];               /* kernels, to the first 0 */
  PeerKind peers[3];            /* besides the copy */
  guint n_peers;
} Job;

static const Job jobs[] = {
  {"separable", PEER_SEPARABLE, {3, 5, 9, 17, 33, 65},
      {PEER_SEPARABLE, PEER_GAUSSIAN}, 2},
  {"matrix", PEER_MATRIX, {3, 5, 7, 9, 11, 13, 17}, {PEER_MATRIX}, 1},
  {"box", PEER_BOX, {3, 5, 9, 17, 33, 65, 201}, {PEER_BOX}, 1},
};

static const struct
{
  GstVideoFormat format;
  gint components, bytes;
} formats[] = {
  {GST_VIDEO_FORMAT_GRAY8, 1, 1},
  {GST_VIDEO_FORMAT_RGBA, 4, 1},
  {GST_VIDEO_FORMAT_GRAY16_LE, 1, 2},
  {GST_VIDEO_FORMAT_RGBA64_LE, 4, 2},
};

static const gchar *const peer_names[] = {
  [PEER_SEPARABLE] = "sepFilter2D",
  [PEER_GAUSSIAN] = "GaussianBlur",
  [PEER_MATRIX] = "filter2D",
  [PEER_BOX] = "blur",
  [PEER_COPY] = "copy",
};

static gdouble
sigma_of (guint size)
{
  return MAX (size / 2 / 3.0, 0.6);
}

/* Gaussian, equal, or (the matrix) random weights, of which none is a product
 * of a row and a column. */
static gdouble *
make_weights (PeerKind kind, guint size)
{
  guint n = kind == PEER_MATRIX ? size * size : size;
  gdouble *w = g_new (gdouble, n), sum = 0;
  Random random = { 3 };

  for (guint i = 0; i < n; i++) {
    gdouble x = ((gdouble) i - size / 2) / sigma_of (size);

    w[i] = kind == PEER_MATRIX ? random_between (&random, -0.2, 0.8) :
        kind == PEER_BOX ? 1 : exp (-x * x / 2);
    sum += w[i];
  }
  for (guint i = 0; i < n; i++)
    w[i] /= sum;
  return w;
}

/* ---- pictures ---- */

typedef struct
{
  GstVideoInfo info;
  PeerJob peer;                 /* kind and weights are a row's */
  ConvolveFrame in, out;
} Picture;

/* Neither flat nor mere noise. */
static void
picture_init (Picture * p, guint format)
{
  gint width = options.height * 16 / 9, height = options.height;
  gsize row = (gsize) width * formats[format].components
      * formats[format].bytes;
  Random random = { 7 };

  memset (p, 0, sizeof (*p));
  gst_video_info_set_format (&p->info, formats[format].format, width, height);
  p->peer.width = width;
  p->peer.height = height;
  p->peer.components = formats[format].components;
  p->peer.bytes = formats[format].bytes;
  p->peer.stride_bytes = (row + 63) / 64 * 64;
  p->peer.src = g_malloc (p->peer.stride_bytes * height);
  p->peer.dst = g_malloc0 (p->peer.stride_bytes * height);
  for (gint y = 0; y < height; y++)
    for (gsize i = 0; i < row; i++)
      p->peer.src[y * p->peer.stride_bytes + i] =
          (guint8) (128 + 90 * sin (y * 0.01 + i * 0.002)
          + random_below (&random, 37));
  p->in.data[0] = p->peer.src;
  p->out.data[0] = p->peer.dst;
  p->in.stride[0] = p->out.stride[0] = p->peer.stride_bytes;
}

static void
picture_clear (Picture * p)
{
  g_free (p->peer.src);
  g_free (p->peer.dst);
}

static gdouble
sample (const guint8 * pixels, const PeerJob * p, gint x, gint y, gint c)
{
  const guint8 *row;
  gsize i;

  x = CLAMP (x, 0, p->width - 1);
  y = CLAMP (y, 0, p->height - 1);
  row = pixels + y * p->stride_bytes;
  i = x;
  i = i * p->components + c;
  return p->bytes == 1 ? row[i] : ((const guint16 *) row)[i];
}

/* The largest difference of random samples, a part of them at the edges, from
 * the exact sums. */
static gdouble
largest_error (const PeerJob * p, PeerKind kind, const gdouble * w, guint size)
{
  gint top = p->bytes == 1 ? 255 : 65535, r = size / 2;
  gdouble worst = 0;
  Random random = { 11 };

  for (guint n = 0; n < N_PROBES; n++) {
    gint x = random_below (&random, n % 4 ? p->width : 2);
    gint y = random_below (&random, n % 8 ? p->height : 2);
    gint c = random_below (&random, p->components);
    gdouble sum = 0;

    for (guint j = 0; j < size; j++)
      for (guint i = 0; i < size; i++)
        sum += (kind == PEER_MATRIX ? w[j * size + i] : w[j] * w[i])
            * sample (p->src, p, x + (gint) i - r, y + (gint) j - r, c);
    sum = CLAMP (rint (sum), 0, top);
    worst = MAX (worst, fabs (sum - sample (p->dst, p, x, y, c)));
  }
  return worst;
}

/* ---- who takes part ---- */

typedef struct
{
  const gchar *name;
  ConvolveDevice *device;       /* ours */
  ConvolveProgram *program;
  PeerKind peer;
  gint n_threads;
  gdouble best_ms, best_cpu_ms, error;
  gdouble ratio;                /* to the first runner: the median */
  gdouble ms[MAX_ROUNDS];
} Runner;

static ConvolveDevice *
open_device (const gchar * isa, guint n_threads)
{
  ConvolveOpenOptions open = {.device_id = -1,.n_threads = n_threads,
    .frames_in_flight = 1
  };
  g_autoptr (GError) error = NULL;
  ConvolveDevice *device;

  if (isa != NULL)
    g_setenv ("CONVOLVE_CPU", isa, TRUE);
  else
    g_unsetenv ("CONVOLVE_CPU");
  device = convolve_device_open (convolve_backend_cpu (), &open, &error);
  g_assert_no_error (error);
  return device;
}

static ConvolveProgram *
make_program (ConvolveDevice * device, const GstVideoInfo * info,
    PeerKind kind, const gdouble * weights, guint size)
{
  g_autoptr (ConvolvePlan) plan = NULL;
  g_autoptr (GError) error = NULL;
  ConvolveSettings settings;
  ConvolveProgram *program;

  convolve_settings_init (&settings);
  settings.filter = CONVOLVE_FILTER_CUSTOM;
  settings.normalize = FALSE;
  settings.alpha_mode = CONVOLVE_ALPHA_STRAIGHT;
  if (kind == PEER_MATRIX) {
    settings.kernel = convolve_matrix_new (size, size, weights);
  } else {
    settings.kernel_x = convolve_matrix_new (size, 1, weights);
    settings.kernel_y = convolve_matrix_new (1, size, weights);
  }
  plan = convolve_plan_new (info, &settings, FALSE, &error);
  g_assert_no_error (error);
  program = convolve_program_new (device, plan, &error);
  g_assert_no_error (error);
  convolve_settings_clear (&settings);
  return program;
}

static gdouble
now_ms (clockid_t clock)
{
  struct timespec t;

  clock_gettime (clock, &t);
  return t.tv_sec * 1e3 + t.tv_nsec * 1e-6;
}

static gdouble
run_once (Runner * runner, const Picture * p, PeerJob * job)
{
  clockid_t clock = runner->n_threads == 1 ? CLOCK_THREAD_CPUTIME_ID :
      CLOCK_MONOTONIC;
  gdouble start, start_cpu;
  guint64 id;

  job->kind = runner->peer;
  if (runner->device == NULL)
    peer_set_threads (runner->n_threads);
  start_cpu = now_ms (CLOCK_PROCESS_CPUTIME_ID);
  start = now_ms (clock);
  if (runner->device != NULL)
    convolve_program_process (runner->program, &p->in, &p->out, &id, NULL);
  else
    peer_run (job);
  start = now_ms (clock) - start;
  start_cpu = now_ms (CLOCK_PROCESS_CPUTIME_ID) - start_cpu;
  runner->best_ms = MIN (runner->best_ms, start);
  runner->best_cpu_ms = MIN (runner->best_cpu_ms, start_cpu);
  return start;
}

static int
compare_ratios (const void *a, const void *b)
{
  gdouble x = *(const gdouble *) a, y = *(const gdouble *) b;

  return x < y ? -1 : x > y;
}

static void
set_ratios (Runner * runners, guint n, guint rounds)
{
  gdouble ratios[MAX_ROUNDS];

  for (guint i = 0; i < n; i++) {
    for (guint k = 0; k < rounds; k++)
      ratios[k] = runners[i].ms[k] / runners[0].ms[k];
    qsort (ratios, rounds, sizeof (*ratios), compare_ratios);
    runners[i].ratio = ratios[rounds / 2];
  }
}

/* ---- a row of the table ---- */

static guint
contest (Runner * runners, guint n, const Picture * p, PeerJob * job,
    PeerKind kind, const gdouble * w, guint size)
{
  gint64 end = g_get_monotonic_time () + options.budget_ms * 1000;
  guint rounds = 0;

  for (guint i = 0; i < n; i++) {
    memset (p->peer.dst, 0x5a, p->peer.stride_bytes * p->peer.height);
    run_once (&runners[i], p, job);
    runners[i].error = largest_error (&p->peer, kind, w, size);
    runners[i].best_ms = runners[i].best_cpu_ms = G_MAXDOUBLE;
  }
  while (rounds < 3 || (rounds < MAX_ROUNDS && g_get_monotonic_time () < end)) {
    for (guint i = 0; i < n; i++)
      runners[i].ms[rounds] = run_once (&runners[i], p, job);
    rounds++;
  }
  set_ratios (runners, n, rounds);
  return rounds;
}

static void
print_row (const gchar * format, const gchar * job, guint size,
    const Runner * runners, guint n, guint rounds)
{
  g_autofree gchar *kernel = g_strdup_printf ("%ux%u", size, size);

  g_print ("%-10s %-9s %-7s", format, job, kernel);
  for (guint i = 0; i < n; i++) {
    g_print (" | %s %.3f", runners[i].name, runners[i].best_ms);
    if (i > 0)
      g_print (" = %.2f x", runners[i].ratio);
    if (runners[i].n_threads > 1)
      g_print (" (CPU %.3f)", runners[i].best_cpu_ms);
    if (csv != NULL)
      fprintf (csv, "%s,%d,%s,%u,%s,%d,%.4f,%.4f,%.4f,%.0f,%u\n", format,
          options.height, job, size, runners[i].name, runners[i].n_threads,
          runners[i].best_ms, runners[i].best_cpu_ms, runners[i].ratio,
          runners[i].error, rounds);
  }
  g_print ("\n");
}

/* FALSE if a result of ours is wrong. */
static gboolean
run_row (const Picture * p, const gchar * format, const Job * job, guint size,
    Runner * runners, guint n)
{
  g_autofree gdouble *w = make_weights (job->kind, size);
  guint n_weights = job->kind == PEER_MATRIX ? size * size : size;
  g_autofree gfloat *floats = g_new (gfloat, n_weights);
  PeerJob peer = p->peer;
  gboolean good = TRUE;
  guint rounds;

  for (guint i = 0; i < n_weights; i++)
    floats[i] = (gfloat) w[i];
  peer.size = size;
  peer.sigma = sigma_of (size);
  peer.weights = floats;
  for (guint i = 0; i < n; i++)
    if (runners[i].device != NULL)
      runners[i].program = make_program (runners[i].device, &p->info,
          job->kind, w, size);
  rounds = contest (runners, n, p, &peer, job->kind, w, size);
  print_row (format, job->name, size, runners, n, rounds);
  for (guint i = 0; i < n; i++) {
    if (runners[i].device == NULL)
      continue;
    if (runners[i].error > 1) {
      g_printerr ("%s is wrong by %.0f\n", runners[i].name, runners[i].error);
      good = FALSE;
    }
    convolve_program_free (runners[i].program);
  }
  return good;
}

/* Ours first, then the peer's ways to do the job, with one thread or two. */
static guint
list_runners (Runner * runners, const Job * job,
    ConvolveDevice * const devices[2])
{
  static const gchar *const names[2][2] =
      { {"avx2", "best"}, {"1 thread", "2 threads"} };
  guint n = 0, peers = job->n_peers;

  memset (runners, 0, MAX_RUNNERS * sizeof (*runners));
  for (guint d = 0; d < 2; d++, n++) {
    runners[n].name = names[options.threads][d];
    runners[n].device = devices[d];
  }
  if (peer_name () != NULL) {
    for (guint i = 0; i < peers; i++, n++)
      runners[n].peer = job->peers[i];
    if (!options.threads)
      runners[n++].peer = PEER_COPY;
  }
  for (guint i = 0; i < n; i++) {
    runners[i].n_threads = options.threads ? 2 : 1;
    if (runners[i].device == NULL)
      runners[i].name = peer_names[runners[i].peer];
  }
  return n;
}

static gboolean
run_all (ConvolveDevice * const devices[2])
{
  gboolean good = TRUE;

  for (guint f = 0; f < G_N_ELEMENTS (formats); f++) {
    const gchar *format = gst_video_format_to_string (formats[f].format);
    Picture picture;

    if (options.format != NULL && !g_str_equal (options.format, format))
      continue;
    picture_init (&picture, f);
    for (guint j = 0; j < G_N_ELEMENTS (jobs); j++) {
      const Job *job = &jobs[j];
      Runner runners[MAX_RUNNERS];
      guint n = list_runners (runners, job, devices);

      if (options.only != NULL && !g_str_equal (options.only, job->name))
        continue;
      for (guint s = 0; s < G_N_ELEMENTS (job->sizes) && job->sizes[s]; s++)
        good &= run_row (&picture, format, job, job->sizes[s], runners, n);
    }
    picture_clear (&picture);
  }
  return good;
}

int
main (int argc, char **argv)
{
  g_autoptr (GOptionContext) context =
      g_option_context_new ("- the CPU backend beside OpenCV");
  g_autoptr (GError) error = NULL;
  ConvolveDevice *devices[2];
  gboolean good;

  g_option_context_add_main_entries (context, entries, NULL);
  if (!g_option_context_parse (context, &argc, &argv, &error)) {
    g_printerr ("%s\n", error->message);
    return TEST_USAGE;
  }
  gst_init (NULL, NULL);
  if (options.csv != NULL && (csv = fopen (options.csv, "w")) == NULL) {
    g_printerr ("%s cannot be written\n", options.csv);
    return TEST_USAGE;
  }
  if (csv != NULL)
    fprintf (csv,
        "format,height,job,size,who,threads,ms,cpu_ms,ratio,error,rounds\n");
  devices[0] = open_device ("avx2", 1);
  devices[1] = open_device (options.threads ? "avx2" : NULL,
      options.threads ? 2 : 1);
  for (guint i = 0; i < 2; i++)
    g_print ("%s: %s\n", i ? "second" : "first",
        devices[i]->backend->device_name (devices[i]));
  g_print ("peer: %s; ms: the best round; x: median of the ratios to ours\n",
      peer_name () != NULL ? peer_name () : "none, built without OpenCV");
  good = run_all (devices);
  for (guint i = 0; i < 2; i++)
    convolve_device_close (devices[i]);
  if (csv != NULL)
    fclose (csv);
  return good ? TEST_PASSED : TEST_FAILED;
}
