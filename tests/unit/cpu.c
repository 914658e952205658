/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What is the CPU backend's own: its threads, its instruction sets, and that it
 * touches no byte before or after a plane's samples. */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/backend.h"
#include "cpu/kernels.h"
#include "cpu/pool.h"

#define MAX_ITEMS 200

/* ---- threads ---- */

typedef struct
{
  gint done[MAX_ITEMS];         /* atomic: how often each item ran */
  gint busy[MAX_ITEMS];         /* atomic: whether a thread number is in use */
  guint n_items, n_threads;
  gint faults;
} PoolJob;

static void
pool_item (gpointer data, guint item, guint thread)
{
  PoolJob *job = data;

  if (item >= job->n_items || thread >= job->n_threads
      || thread >= job->n_items
      || !g_atomic_int_compare_and_exchange (&job->busy[thread], 0, 1)) {
    g_atomic_int_inc (&job->faults);
    return;
  }
  g_atomic_int_inc (&job->done[item]);
  if (item % 7 == 0)
    g_thread_yield ();
  g_atomic_int_set (&job->busy[thread], 0);
}

static void
run_job (CpuPool * pool, guint n_items)
{
  PoolJob *job = g_new0 (PoolJob, 1);

  job->n_items = n_items;
  job->n_threads = convolve_cpu_pool_threads (pool);
  convolve_cpu_pool_run (pool, pool_item, job, n_items);
  g_assert_cmpint (job->faults, ==, 0);
  for (guint i = 0; i < MAX_ITEMS; i++)
    g_assert_cmpint (job->done[i], ==, i < n_items ? 1 : 0);
  g_free (job);
}

static void
test_pool_jobs (void)
{
  for (guint n_threads = 1; n_threads <= 8; n_threads++) {
    CpuPool *pool = convolve_cpu_pool_new (n_threads, NULL);

    g_assert_nonnull (pool);
    g_assert_cmpuint (convolve_cpu_pool_threads (pool), ==, n_threads);
    for (guint n = 0; n < 400; n++)
      run_job (pool, n % (MAX_ITEMS + 1));
    convolve_cpu_pool_free (pool);
  }
}

static void
test_pool_lives (void)
{
  for (guint n = 0; n < 200; n++) {
    CpuPool *pool = convolve_cpu_pool_new (1 + n % 8, NULL);

    if (n % 3 != 0)
      run_job (pool, n % 20);
    convolve_cpu_pool_free (pool);
  }
}

/* ---- planes with nothing around them ---- */

typedef struct
{
  guint8 *map[CONVOLVE_MAX_PLANES];
  gsize map_bytes[CONVOLVE_MAX_PLANES];
  ConvolveFrame frame;
} Guarded;

typedef struct
{
  gboolean at_end;              /* of a page, else at the beginning of one */
  gboolean upside_down;
  guint padding;                /* bytes between rows */
} Placement;

static const Placement placements[] = {
  {TRUE, FALSE, 0}, {FALSE, FALSE, 1}, {TRUE, TRUE, 3}, {FALSE, TRUE, 0},
};

/* Bytes of a row and number of rows of a memory plane; 0 rows if there is no
 * such plane. */
static gsize
plane_extent (const ConvolveFormat * format, guint plane, gint width,
    gint height, gint * rows)
{
  gsize bytes = 0;

  *rows = 0;
  for (guint i = 0; i < format->n_layouts; i++) {
    const ConvolveLayout *layout = &format->layout[i];

    if (layout->plane != plane)
      continue;
    bytes = MAX (bytes, convolve_layout_row_bytes (layout,
            convolve_layout_width (layout, width)));
    *rows = convolve_layout_height (layout, height);
  }
  return bytes;
}

/* Each plane between two pages that cannot be touched. */
static void
guarded_init (Guarded * guarded, const ConvolveFormat * format, gint width,
    gint height, const Placement * placement)
{
  gsize page = sysconf (_SC_PAGESIZE);

  memset (guarded, 0, sizeof (*guarded));
  for (guint p = 0; p < CONVOLVE_MAX_PLANES; p++) {
    gint rows;
    gsize row = plane_extent (format, p, width, height, &rows), bytes, room;
    gint stride = row + placement->padding;
    guint8 *map, *first;

    if (rows == 0)
      continue;
    bytes = (gsize) stride *(rows - 1) + row;
    room = (bytes + page - 1) / page * page;
    map = mmap (NULL, room + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
        -1, 0);
    g_assert_true (map != MAP_FAILED);
    g_assert_cmpint (mprotect (map + page, room, PROT_READ | PROT_WRITE), ==,
        0);
    guarded->map[p] = map;
    guarded->map_bytes[p] = room + 2 * page;
    first = map + page + (placement->at_end ? room - bytes : 0);
    guarded->frame.data[p] = first;
    guarded->frame.stride[p] = stride;
    if (placement->upside_down) {
      guarded->frame.data[p] += (gsize) stride *(rows - 1);
      guarded->frame.stride[p] = -stride;
    }
  }
}

static void
guarded_clear (Guarded * guarded)
{
  for (guint p = 0; p < CONVOLVE_MAX_PLANES; p++)
    if (guarded->map[p] != NULL)
      munmap (guarded->map[p], guarded->map_bytes[p]);
}

/* Every byte of every row by its place, so that frames that are placed
 * differently hold the same picture. */
static void
guarded_fill (Guarded * guarded, const ConvolveFormat * format, gint width,
    gint height)
{
  for (guint p = 0; p < CONVOLVE_MAX_PLANES; p++) {
    gint rows;
    gsize row = plane_extent (format, p, width, height, &rows);

    for (gint y = 0; y < rows; y++)
      for (gsize x = 0; x < row; x++)
        guarded->frame.data[p][y * guarded->frame.stride[p] + (gssize) x] =
            (x * 7919 + y * 104729 + p * 31 + x * y * 13) >> 3;
  }
}

static guint32
get_sample (const ConvolveLayout * layout, guint c, const Guarded * guarded,
    gint x, gint y)
{
  const ConvolveComponent *component = &layout->component[c];
  const guint8 *p = guarded->frame.data[layout->plane]
      + y * (gssize) guarded->frame.stride[layout->plane]
      + x * layout->pixel_step + component->offset;
  guint32 word = p[0];

  if (layout->type == CONVOLVE_SAMPLE_U16LE)
    word = p[0] | p[1] << 8;
  else if (layout->type == CONVOLVE_SAMPLE_U16BE)
    word = p[1] | p[0] << 8;
  else if (layout->type == CONVOLVE_SAMPLE_BITS32LE)
    word = p[0] | p[1] << 8 | p[2] << 16 | (guint32) p[3] << 24;
  return word >> component->shift & ((1u << component->depth) - 1);
}

/* Both frames are results of the same filter on the same picture. */
static void
assert_alike (const ConvolveFormat * format, gint width, gint height,
    const Guarded * a, const Guarded * b)
{
  for (guint i = 0; i < format->n_layouts; i++) {
    const ConvolveLayout *layout = &format->layout[i];

    for (gint y = 0; y < convolve_layout_height (layout, height); y++)
      for (gint x = 0; x < convolve_layout_width (layout, width); x++)
        for (guint c = 0; c < layout->n_components; c++) {
          gint va = get_sample (layout, c, a, x, y);
          gint vb = get_sample (layout, c, b, x, y);

          if (ABS (va - vb) > 1)
            g_error ("%s %dx%d: component %u of layout %u at (%d, %d): %d, %d",
                gst_video_format_to_string (format->format), width, height, c,
                i, x, y, va, vb);
        }
  }
}

/* ---- filtering ---- */

static void
settings_for (ConvolveSettings * settings, guint n)
{
  static const ConvolveFilter filters[] = {
    CONVOLVE_FILTER_GAUSSIAN, CONVOLVE_FILTER_SHARPEN, CONVOLVE_FILTER_SOBEL,
    CONVOLVE_FILTER_UNSHARP, CONVOLVE_FILTER_DISK, CONVOLVE_FILTER_BOX,
  };

  convolve_settings_init (settings);
  settings->filter = filters[n % G_N_ELEMENTS (filters)];
  settings->border = n % CONVOLVE_N_BORDERS;
  settings->iterations = 1 + n % 2;
  settings->sigma = 0.5 + n % 4;
}

static void
filter (const ConvolveFormat * format, gint width, gint height, guint n,
    guint n_threads, const Guarded * in, const Guarded * out)
{
  ConvolveOpenOptions options = {.device_id = -1,.n_threads = n_threads,
    .frames_in_flight = 1
  };
  GError *error = NULL;
  ConvolveSettings settings;
  GstVideoInfo info;
  ConvolveDevice *device;
  ConvolvePlan *plan;
  ConvolveProgram *program;
  guint64 job;

  g_assert_true (gst_video_info_set_format (&info, format->format, width,
          height));
  settings_for (&settings, n);
  device = convolve_device_open (convolve_backend_cpu (), &options, &error);
  g_assert_no_error (error);
  plan = convolve_plan_new (&info, &settings, n % 5 == 4, &error);
  g_assert_no_error (error);
  program = convolve_program_new (device, plan, &error);
  g_assert_no_error (error);
  convolve_program_process (program, &in->frame, &out->frame, &job, &error);
  g_assert_no_error (error);
  g_assert_true (convolve_device_wait (device, job, &error));
  convolve_program_free (program);
  convolve_plan_unref (plan);
  convolve_settings_clear (&settings);
  convolve_device_close (device);
}

/* One picture, all placements and instruction sets: none may fault, and none
 * may differ by more than the rounding of its sums. */
static void
filter_everywhere (const ConvolveFormat * format, gint width, gint height,
    guint n)
{
  static const gchar *const isas[] = { "baseline", "avx2", "avx512" };
  Guarded first;

  for (guint p = 0; p < G_N_ELEMENTS (placements); p++) {
    for (guint i = 0; i < G_N_ELEMENTS (isas); i++) {
      Guarded in, out;

      g_setenv ("CONVOLVE_CPU", isas[i], TRUE);
      guarded_init (&in, format, width, height, &placements[p]);
      guarded_init (&out, format, width, height,
          &placements[(p + i) % G_N_ELEMENTS (placements)]);
      guarded_fill (&in, format, width, height);
      filter (format, width, height, n, 1 + p, &in, &out);
      if (p == 0 && i == 0) {
        first = out;
      } else {
        assert_alike (format, width, height, &first, &out);
        guarded_clear (&out);
      }
      guarded_clear (&in);
    }
  }
  guarded_clear (&first);
  g_unsetenv ("CONVOLVE_CPU");
}

static void
test_guards (void)
{
  static const gint sizes[][2] = { {1, 1}, {2, 3}, {7, 5}, {65, 4}, {131, 3} };
  guint n_formats, n = 0;
  const ConvolveFormat *formats = convolve_format_list (&n_formats);

  for (guint f = 0; f < n_formats; f++)
    for (guint s = 0; s < G_N_ELEMENTS (sizes); s++)
      filter_everywhere (&formats[f], sizes[s][0], sizes[s][1], n++);
}

/* ---- routes ---- */

static gchar *
describe (GstVideoFormat format, const ConvolveSettings * settings)
{
  ConvolveOpenOptions options = {.device_id = -1,.n_threads = 1,
    .frames_in_flight = 1
  };
  GError *error = NULL;
  GstVideoInfo info;
  ConvolveDevice *device;
  ConvolvePlan *plan;
  ConvolveProgram *program;
  gchar *text;

  gst_video_info_set_format (&info, format, 640, 480);
  device = convolve_device_open (convolve_backend_cpu (), &options, &error);
  g_assert_no_error (error);
  plan = convolve_plan_new (&info, settings, FALSE, &error);
  g_assert_no_error (error);
  program = convolve_program_new (device, plan, &error);
  g_assert_no_error (error);
  text = device->backend->describe (program);
  convolve_program_free (program);
  convolve_plan_unref (plan);
  convolve_device_close (device);
  return text;
}

/* What is fast is chosen; that the results are right is for tests/check. */
static void
test_routes (void)
{
  static const struct
  {
    GstVideoFormat format;
    ConvolveFilter filter;
    gint radius;
    gdouble sigma;
    const gchar *with_avx2;
  } rows[] = {
    {GST_VIDEO_FORMAT_GRAY8, CONVOLVE_FILTER_GAUSSIAN, -1, 2, "folded"},
    {GST_VIDEO_FORMAT_GRAY8, CONVOLVE_FILTER_GAUSSIAN, -1, 10, "folded"},
    {GST_VIDEO_FORMAT_GRAY8, CONVOLVE_FILTER_DISK, 1, 2, "16-bit fixed"},
    {GST_VIDEO_FORMAT_GRAY8, CONVOLVE_FILTER_SHARPEN, -1, 2, "pairs of 16"},
    {GST_VIDEO_FORMAT_GRAY8, CONVOLVE_FILTER_DISK, 9, 2, "pairs of 16 bits"},
    {GST_VIDEO_FORMAT_GRAY8, CONVOLVE_FILTER_BOX, 1, 2, "folded"},
    {GST_VIDEO_FORMAT_GRAY8, CONVOLVE_FILTER_BOX, 8, 2, "running sums"},
    {GST_VIDEO_FORMAT_I420, CONVOLVE_FILTER_BOX, 200, 2, "running sums"},
    {GST_VIDEO_FORMAT_GRAY16_LE, CONVOLVE_FILTER_BOX, 500, 2, "running sums"},
    {GST_VIDEO_FORMAT_GRAY16_LE, CONVOLVE_FILTER_GAUSSIAN, -1, 2, "float"},
  };
  gboolean avx2;

  g_setenv ("CONVOLVE_CPU", "avx2", TRUE);
  avx2 = convolve_cpu_isa () != &convolve_cpu_isa_baseline;
  for (guint i = 0; avx2 && i < G_N_ELEMENTS (rows); i++) {
    g_autofree gchar *text = NULL;
    ConvolveSettings settings;

    convolve_settings_init (&settings);
    settings.filter = rows[i].filter;
    settings.radius = rows[i].radius;
    settings.sigma = rows[i].sigma;
    text = describe (rows[i].format, &settings);
    g_test_message ("%s", text);
    g_assert_nonnull (strstr (text, rows[i].with_avx2));
    convolve_settings_clear (&settings);
  }
  g_unsetenv ("CONVOLVE_CPU");
  if (!avx2)
    g_test_skip ("this machine has no AVX2");
}

static void
test_isa (void)
{
  const CpuIsa *best = convolve_cpu_isa ();

  g_setenv ("CONVOLVE_CPU", "baseline", TRUE);
  g_assert_true (convolve_cpu_isa () == &convolve_cpu_isa_baseline);
  g_setenv ("CONVOLVE_CPU", "of next year", TRUE);
  g_assert_true (convolve_cpu_isa () == best);
  g_unsetenv ("CONVOLVE_CPU");
}

int
main (int argc, char **argv)
{
  g_unsetenv ("CONVOLVE_CPU");
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/cpu/pool/jobs", test_pool_jobs);
  g_test_add_func ("/cpu/pool/lives", test_pool_lives);
  g_test_add_func ("/cpu/isa", test_isa);
  g_test_add_func ("/cpu/routes", test_routes);
  g_test_add_func ("/cpu/guards", test_guards);
  return g_test_run ();
}
