/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Pictures whose results are known by hand, many of them from what users of
 * other filters reported. The backend is the first argument. */
#include <string.h>

#include "compare.h"
#include "runner.h"
#include "testmain.h"

static ConvolveDevice *device;
static Random random_state;

typedef struct
{
  GstVideoInfo info;
  ConvolveSettings settings;
  gboolean fields;
  RandomFrame *in, *out;
} Picture;

static void
picture_init (Picture * p, GstVideoFormat format, gint width, gint height,
    ConvolveFilter filter)
{
  gst_video_info_set_format (&p->info, format, width, height);
  p->info.colorimetry.range = GST_VIDEO_COLOR_RANGE_16_235;
  convolve_settings_init (&p->settings);
  p->settings.filter = filter;
  p->fields = FALSE;
  p->in = random_frame_new (&p->info, &random_state, FALSE);
  p->out = random_frame_new (&p->info, &random_state, FALSE);
  random_frame_fill (p->in, &random_state, FILL_FLAT, NULL, NULL);
}

static void
picture_filter (Picture * p)
{
  g_autoptr (GError) error = NULL;

  random_frame_seal (p->in);
  runner_filter (device, &p->info, &p->settings, p->fields, NULL, p->in,
      p->out, &error);
  g_assert_no_error (error);
}

static void
picture_clear (Picture * p)
{
  random_frame_free (p->in);
  random_frame_free (p->out);
  convolve_settings_clear (&p->settings);
}

static gint
get (const Picture * p, guint component, gint x, gint y)
{
  return random_frame_get (p->out, component, x, y);
}

static void
set_all (Picture * p, guint component, guint value)
{
  const SampleMap *map = &p->in->map[component];

  for (gint y = 0; y < sample_map_height (map, p->info.height); y++)
    for (gint x = 0; x < sample_map_width (map, p->info.width); x++)
      random_frame_set (p->in, component, x, y, value);
}

static void
assert_all (const Picture * p, guint component, gint value)
{
  const SampleMap *map = &p->in->map[component];

  for (gint y = 0; y < sample_map_height (map, p->info.height); y++)
    for (gint x = 0; x < sample_map_width (map, p->info.width); x++)
      g_assert_cmpint (get (p, component, x, y), ==, value);
}

/* ---- the cases ---- */

/* A dot shows the matrix turned by 180 degrees: correlation. */
static void
test_correlation (void)
{
  static const gdouble weights[9] = { 1, 2, 3, 4, 5, 6, 7, 8, 9 };
  Picture p;

  picture_init (&p, GST_VIDEO_FORMAT_GRAY8, 9, 9, CONVOLVE_FILTER_CUSTOM);
  p.settings.kernel = convolve_matrix_new (3, 3, weights);
  p.settings.normalize = FALSE;
  set_all (&p, 0, 0);
  random_frame_set (p.in, 0, 4, 4, 10);
  picture_filter (&p);
  for (gint y = 0; y < 9; y++) {
    for (gint x = 0; x < 9; x++) {
      gboolean near = ABS (x - 4) <= 1 && ABS (y - 4) <= 1;

      g_assert_cmpint (get (&p, 0, x, y), ==,
          near ? 90 - 10 * (x - 3) - 30 * (y - 3) : 0);
    }
  }
  picture_clear (&p);
}

static void
test_borders (void)
{
  static const struct
  {
    ConvolveBorder border;
    gint expected[7];
  } rows[] = {
    {CONVOLVE_BORDER_REPLICATE, {19, 24, 31, 40, 49, 56, 61}},
    {CONVOLVE_BORDER_REFLECT, {23, 26, 31, 40, 49, 54, 57}},
    {CONVOLVE_BORDER_MIRROR, {27, 29, 33, 40, 47, 51, 53}},
    {CONVOLVE_BORDER_CONSTANT, {14, 21, 30, 40, 39, 36, 31}},
    {CONVOLVE_BORDER_WRAP, {40, 40, 40, 40, 40, 40, 40}},
  };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++) {
    for (gint height = 1; height <= 7; height += 6) {
      static const gdouble ones[7] = { 1, 1, 1, 1, 1, 1, 1 };
      Picture p;

      /* Seven equal rows are one row, but for the constant border. */
      if (height > 1 && rows[i].border == CONVOLVE_BORDER_CONSTANT)
        continue;
      picture_init (&p, GST_VIDEO_FORMAT_GRAY8, 7, height,
          height > 1 ? CONVOLVE_FILTER_BOX : CONVOLVE_FILTER_CUSTOM);
      if (height > 1)
        p.settings.radius = 3;
      else
        p.settings.kernel_x = convolve_matrix_new (7, 1, ones);
      p.settings.border = rows[i].border;
      for (gint y = 0; y < height; y++)
        for (gint x = 0; x < 7; x++)
          random_frame_set (p.in, 0, x, y, 10 * (x + 1));
      picture_filter (&p);
      for (gint y = 0; y < height; y++)
        for (gint x = 0; x < 7; x++)
          g_assert_cmpint (get (&p, 0, x, y), ==, rows[i].expected[x]);
      picture_clear (&p);
    }
  }
}

/* The same picture with and without padding of 0xff in its rows. */
static void
test_padding (void)
{
  enum
  {
    W = 100, H = 64, WIDE = 128
  };
  g_autofree guint8 *narrow = g_malloc (W * H), *wide = g_malloc (WIDE * H);
  guint8 *const results[2] = { g_malloc (W * H), g_malloc (WIDE * H) };
  g_autoptr (ConvolvePlan) plan = NULL;
  g_autoptr (GError) error = NULL;
  ConvolveProgram *program;
  ConvolveSettings settings;
  GstVideoInfo info;

  memset (wide, 0xff, WIDE * H);
  memset (results[1], 0xff, WIDE * H);
  for (gint y = 0; y < H; y++)
    for (gint x = 0; x < W; x++)
      wide[y * WIDE + x] = narrow[y * W + x] = 2 * x + y / 2;
  gst_video_info_set_format (&info, GST_VIDEO_FORMAT_GRAY8, W, H);
  convolve_settings_init (&settings);
  settings.sigma = 0.66;        /* 5 x 5 */
  plan = convolve_plan_new (&info, &settings, FALSE, &error);
  g_assert_no_error (error);
  program = convolve_program_new (device, plan, &error);
  g_assert_no_error (error);
  for (guint i = 0; i < 2; i++) {
    ConvolveFrame in = {.data = {i ? wide : narrow},.stride = {i ? WIDE : W}
    };
    ConvolveFrame out = {.data = {results[i]},.stride = {i ? WIDE : W}
    };
    guint64 job;

    g_assert_true (convolve_program_process (program, &in, &out, &job, &error));
    g_assert_true (convolve_device_wait (device, job, &error));
  }
  for (gint y = 0; y < H; y++) {
    g_assert_cmpmem (results[0] + y * W, W, results[1] + y * WIDE, W);
    for (gint x = W; x < WIDE; x++)
      g_assert_cmpint (results[1][y * WIDE + x], ==, 0xff);
  }
  /* A ramp away from its ends stays as it is. */
  for (gint x = 2; x < W - 2; x++)
    g_assert_cmpint (results[0][32 * W + x], ==, 2 * x + 16);
  convolve_program_free (program);
  g_free (results[0]);
  g_free (results[1]);
}

/* Chroma of odd sizes is there to its last row and column. */
static void
test_odd_chroma (void)
{
  static const gint sizes[][2] = { {35, 35}, {722, 576}, {1922, 1080} };
  static const GstVideoFormat formats[] =
      { GST_VIDEO_FORMAT_NV12, GST_VIDEO_FORMAT_I420 };

  for (guint i = 0; i < 2 * G_N_ELEMENTS (sizes); i++) {
    const gint *size = sizes[i / 2];

    for (guint b = 0; b < CONVOLVE_BORDER_CONSTANT; b++) {
      g_autofree gchar *fault = NULL;
      Picture p;

      picture_init (&p, formats[i % 2], size[0], size[1],
          CONVOLVE_FILTER_GAUSSIAN);
      p.settings.border = b;
      for (gint y = 0; y < size[1]; y++)
        for (gint x = 0; x < size[0]; x++)
          random_frame_set (p.in, 0, x, y, 16 + (x + y) % 220);
      set_all (&p, 1, 100);
      set_all (&p, 2, 200);
      picture_filter (&p);
      g_assert_cmpint (sample_map_width (&p.in->map[1], size[0]), ==,
          (size[0] + 1) / 2);
      assert_all (&p, 1, 100);
      assert_all (&p, 2, 200);
      if (size[0] < 100 || b == CONVOLVE_BORDER_REPLICATE) {
        Reference *reference = reference_new (&p.info, p.in->frame.data,
            p.in->frame.stride, &p.settings, FALSE);

        if (!compare_frames (reference, p.in, p.out, &fault))
          g_error ("%s", fault);
        reference_free (reference);
      }
      picture_clear (&p);
    }
  }
}

static void
test_p010 (void)
{
  static const gdouble ones[3] = { 1, 1, 1 };
  static const gint step[4] = { 64, 356, 648, 940 };
  Picture p;

  picture_init (&p, GST_VIDEO_FORMAT_P010_10LE, 64, 64, CONVOLVE_FILTER_CUSTOM);
  p.settings.kernel_x = convolve_matrix_new (3, 1, ones);
  for (gint y = 0; y < 64; y++)
    for (gint x = 0; x < 64; x++)
      random_frame_set (p.in, 0, x, y, x < 32 ? 64 : 940);
  set_all (&p, 1, 512);
  set_all (&p, 2, 512);
  picture_filter (&p);
  for (gint y = 0; y < 64; y++) {
    const guint8 *luma = p.out->frame.data[0] + y * p.out->frame.stride[0];
    const guint8 *chroma = p.out->frame.data[1]
        + y / 2 * p.out->frame.stride[1];

    for (gint x = 0; x < 64; x++) {
      g_assert_cmpint (GST_READ_UINT16_LE (luma + 2 * x), ==,
          64 * step[CLAMP (x - 30, 0, 3)]);
      g_assert_cmpint (GST_READ_UINT16_LE (chroma + 2 * x), ==, 0x8000);
    }
  }
  picture_clear (&p);
}

static void
test_fields (void)
{
  static const gdouble ones[5] = { 1, 1, 1, 1, 1 };

  for (guint fields = 0; fields < 2; fields++) {
    Picture p;

    picture_init (&p, GST_VIDEO_FORMAT_I420, 16, 16, CONVOLVE_FILTER_CUSTOM);
    p.settings.kernel_y = convolve_matrix_new (1, 5, ones);
    p.fields = fields;
    for (gint y = 0; y < 16; y++)
      for (gint x = 0; x < 16; x++)
        random_frame_set (p.in, 0, x, y, y % 2 == 0 ? 235 : 16);
    for (gint y = 0; y < 8; y++)
      for (gint x = 0; x < 8; x++)
        random_frame_set (p.in, 1, x, y, y % 2 == 0 ? 90 : 170);
    set_all (&p, 2, 77);
    picture_filter (&p);
    for (gint y = 2; y < 14; y++)
      for (gint x = 0; x < 16; x++)
        /* 3 of 5 lines are of the line's own kind: 147.4 and 103.6. */
        g_assert_cmpint (get (&p, 0, x, y), ==, fields ?
            (y % 2 == 0 ? 235 : 16) : (y % 2 == 0 ? 147 : 104));
    for (gint y = 0; y < 8 && fields; y++)
      g_assert_cmpint (get (&p, 1, 3, y), ==, y % 2 == 0 ? 90 : 170);
    assert_all (&p, 2, 77);
    picture_clear (&p);
  }
}

/* Filters it and compares it with the reference. */
static void
picture_check (Picture * p)
{
  g_autofree gchar *fault = NULL;
  Reference *reference;

  picture_filter (p);
  reference = reference_new (&p->info, p->in->frame.data, p->in->frame.stride,
      &p->settings, p->fields);
  if (!compare_frames (reference, p->in, p->out, &fault))
    g_error ("%s", fault);
  reference_free (reference);
}

/* Opaque but for one column, which is seen from the other end of the rows. */
static void
test_alpha_far (void)
{
  for (gint x = 0; x < 700; x += 699) {
    Picture p;

    picture_init (&p, GST_VIDEO_FORMAT_AYUV, 700, 24, CONVOLVE_FILTER_GAUSSIAN);
    p.settings.border = CONVOLVE_BORDER_WRAP;
    random_frame_fill (p.in, &random_state, FILL_EXTREMES, NULL, NULL);
    set_all (&p, GST_VIDEO_COMP_A, 255);
    for (gint y = 0; y < 24; y++)
      random_frame_set (p.in, GST_VIDEO_COMP_A, x, y, 20);
    picture_check (&p);
    picture_clear (&p);
  }
}

/* Alpha is even above and below a row, but not around it, wherever a backend
 * looks at it anew. */
static void
test_alpha_halves (void)
{
  static const gdouble ones[2] = { 1, 1 };

  for (gint cut = 1; cut < 384; cut += cut % 8 == 0 ? 1 : 7) {
    Picture p;

    picture_init (&p, GST_VIDEO_FORMAT_AYUV, 3, 384, CONVOLVE_FILTER_CUSTOM);
    p.settings.kernel_y = convolve_matrix_new (1, 2, ones);
    random_frame_fill (p.in, &random_state, FILL_EXTREMES, NULL, NULL);
    for (gint y = 0; y < 384; y++)
      for (gint x = 0; x < 3; x++)
        random_frame_set (p.in, GST_VIDEO_COMP_A, x, y, y < cut ? 255 : 20);
    picture_check (&p);
    picture_clear (&p);
  }
}

/* Boxes small and large, of few bits and of many: where sums outgrow one kind
 * of number and another has to take over. */
static void
test_boxes (void)
{
  static const GstVideoFormat formats[] = { GST_VIDEO_FORMAT_GRAY8,
    GST_VIDEO_FORMAT_GRAY16_LE, GST_VIDEO_FORMAT_I420, GST_VIDEO_FORMAT_RGBx,
    GST_VIDEO_FORMAT_P010_10LE
  };
  static const gint radii[] = { 3, 7, 8, 11, 63, 64, 90, 127, 128, 129, 300 };

  for (guint f = 0; f < G_N_ELEMENTS (formats); f++) {
    for (guint r = 0; r < G_N_ELEMENTS (radii); r++) {
      Picture p;

      picture_init (&p, formats[f], 11 + r, 380, CONVOLVE_FILTER_BOX);
      p.settings.radius = radii[r];
      p.settings.border = (f + r) % CONVOLVE_N_BORDERS;
      p.settings.border_color = 0xff60a0ff;
      random_frame_fill (p.in, &random_state, r % 2 ? FILL_EXTREMES :
          FILL_FLAT, NULL, NULL);
      picture_check (&p);
      picture_clear (&p);
    }
  }
}

/* Matrices that are no product of a row and a column, also of even sides. */
static void
test_matrices (void)
{
  for (guint n = 2; n < 26; n++) {
    guint width = n, height = n % 3 == 0 ? n + 1 : n;
    g_autofree gdouble *weights = g_new (gdouble, width * height);
    Picture p;

    for (guint i = 0; i < width * height; i++)
      weights[i] = random_between (&random_state, -0.2, 0.8);
    picture_init (&p, n % 2 ? GST_VIDEO_FORMAT_GRAY8 : GST_VIDEO_FORMAT_RGB,
        70, 60, CONVOLVE_FILTER_CUSTOM);
    p.settings.kernel = convolve_matrix_new (width, height, weights);
    p.settings.border = n % CONVOLVE_N_BORDERS;
    random_frame_fill (p.in, &random_state, n % 4 ? FILL_EXTREMES : FILL_FLAT,
        NULL, NULL);
    picture_check (&p);
    picture_clear (&p);
  }
}

/* Pictures smaller and larger than what several iterations are made of at once,
 * whose edges every border rule meets again in each. */
static void
test_iterations (void)
{
  static const GstVideoFormat formats[] = { GST_VIDEO_FORMAT_GRAY8,
    GST_VIDEO_FORMAT_GRAY16_LE, GST_VIDEO_FORMAT_NV12, GST_VIDEO_FORMAT_RGB,
    GST_VIDEO_FORMAT_RGBx, GST_VIDEO_FORMAT_AYUV64
  };
  static const gint sizes[][2] = { {1, 1}, {2, 3}, {5, 140}, {190, 4},
  {61, 33}, {270, 139}
  };
  static const guint iterations[] = { 2, 7, 8, 17 };

  for (guint i = 0; i < G_N_ELEMENTS (formats) * G_N_ELEMENTS (sizes); i++) {
    for (guint filter = 0; filter < 3; filter++) {
      const gint *size = sizes[i % G_N_ELEMENTS (sizes)];
      Picture p;

      picture_init (&p, formats[i / G_N_ELEMENTS (sizes)], size[0], size[1],
          filter < 2 ? CONVOLVE_FILTER_GAUSSIAN : CONVOLVE_FILTER_DIFFUSE);
      p.settings.sigma = filter == 0 ? 0.3 : 0.6;
      p.settings.border = random_below (&random_state, CONVOLVE_N_BORDERS);
      p.settings.border_color = 0xff60a0ff;
      p.settings.iterations = iterations[random_below (&random_state, 4)];
      p.settings.alpha_mode = CONVOLVE_ALPHA_STRAIGHT;
      p.settings.threshold = 0.1;
      if (random_one_in (&random_state, 3))
        p.settings.channels = CONVOLVE_CHANNEL_LUMA | CONVOLVE_CHANNEL_RGB;
      random_frame_fill (p.in, &random_state, i % 3 ? FILL_EXTREMES :
          FILL_FLAT, NULL, NULL);
      picture_check (&p);
      picture_clear (&p);
    }
  }
}

static void
add_tests (void)
{
  g_test_add_func ("/cases/correlation", test_correlation);
  g_test_add_func ("/cases/borders", test_borders);
  g_test_add_func ("/cases/padding", test_padding);
  g_test_add_func ("/cases/odd-chroma", test_odd_chroma);
  g_test_add_func ("/cases/p010", test_p010);
  g_test_add_func ("/cases/fields", test_fields);
  g_test_add_func ("/cases/alpha-far", test_alpha_far);
  g_test_add_func ("/cases/alpha-halves", test_alpha_halves);
  g_test_add_func ("/cases/boxes", test_boxes);
  g_test_add_func ("/cases/matrices", test_matrices);
  g_test_add_func ("/cases/iterations", test_iterations);
}

int
main (int argc, char **argv)
{
  return runner_main (argc, argv, &device, &random_state.state, add_tests);
}
