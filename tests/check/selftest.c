/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Can the comparison fail? A frame made of the reference's own results passes;
 * with any one mistake that a backend could make it does not. */
#include <math.h>

#include "compare.h"
#include "testmain.h"

typedef struct
{
  GstVideoInfo info;
  ConvolveSettings settings;
  Random random;
  RandomFrame *in, *out;
  Reference *reference;
} Fixture;

static guint64 seed;

static void
set_up (Fixture * f, GstVideoFormat format, Fill fill)
{
  f->random.state = seed;
  gst_video_info_set_format (&f->info, format, 17, 13);
  f->info.colorimetry.range = GST_VIDEO_COLOR_RANGE_16_235;
  convolve_settings_init (&f->settings);
  f->settings.filter = CONVOLVE_FILTER_GAUSSIAN;
  f->settings.sigma = 1.3;
  f->in = random_frame_new (&f->info, &f->random, FALSE);
  f->out = random_frame_new (&f->info, &f->random, FALSE);
  random_frame_fill (f->in, &f->random, fill, NULL, NULL);
  random_frame_seal (f->in);
  f->reference = NULL;
}

static void
refer (Fixture * f, const ConvolveSettings * settings)
{
  g_clear_pointer (&f->reference, reference_free);
  f->reference = reference_new (&f->info, f->in->frame.data,
      f->in->frame.stride, settings, FALSE);
}

/* Writes the reference's results as a backend would, but for round. */
static void
write_out (Fixture * f, gdouble (*round_to) (gdouble))
{
  for (guint c = 0; c < f->reference->n; c++) {
    const RefComponent *r = &f->reference->component[c];

    for (gint y = 0; y < r->height; y++)
      for (gint x = 0; x < r->width; x++)
        sample_set_word (&r->map, f->out->frame.data[r->map.plane],
            f->out->frame.stride[r->map.plane], x, y, (guint32)
            round_to (reference_clamped (r, (gsize) y * r->width + x))
            << r->map.shift);
  }
}

static gboolean
passes (Fixture * f)
{
  g_autofree gchar *fault = NULL;
  gboolean ok = compare_frames (f->reference, f->in, f->out, &fault);

  if (!ok)
    g_test_message ("%s", fault);
  return ok;
}

static void
tear_down (Fixture * f)
{
  g_clear_pointer (&f->reference, reference_free);
  random_frame_free (f->in);
  random_frame_free (f->out);
  convolve_settings_clear (&f->settings);
}

static const GstVideoFormat formats[] = { GST_VIDEO_FORMAT_GRAY8,
  GST_VIDEO_FORMAT_NV12, GST_VIDEO_FORMAT_P010_10LE, GST_VIDEO_FORMAT_YUY2,
  GST_VIDEO_FORMAT_RGBA, GST_VIDEO_FORMAT_GBR_10BE
};

static void
test_rounding (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (formats); i++) {
    Fixture f;

    set_up (&f, formats[i], FILL_RANDOM);
    refer (&f, &f.settings);
    write_out (&f, rint);
    g_assert_true (passes (&f));
    write_out (&f, floor);
    g_assert_false (passes (&f));
    write_out (&f, ceil);
    g_assert_false (passes (&f));
    tear_down (&f);
  }
}

/* The settings that differ by one mistake each. */
static void
test_wrong_settings (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (formats); i++) {
    for (guint mistake = 0; mistake < 6; mistake++) {
      ConvolveSettings wrong;
      Fixture f;

      set_up (&f, formats[i], FILL_EXTREMES);
      f.settings.border = CONVOLVE_BORDER_REFLECT;
      wrong = f.settings;
      if (mistake == 0)
        wrong.border = CONVOLVE_BORDER_MIRROR;
      else if (mistake == 1)
        wrong.border = CONVOLVE_BORDER_REPLICATE;
      else if (mistake == 2)
        wrong.sigma = 1.4;
      else if (mistake == 3)
        wrong.scale = 1.05;
      else if (mistake == 4)
        wrong.iterations = 2;
      else
        wrong.channels = 0;
      refer (&f, &wrong);
      write_out (&f, rint);
      refer (&f, &f.settings);
      g_assert_false (passes (&f));
      tear_down (&f);
    }
  }
}

/* Flat areas of a zero-sum filter show a wrong black. */
static void
test_wrong_zero (void)
{
  Fixture f;

  set_up (&f, GST_VIDEO_FORMAT_NV12, FILL_FLAT);
  f.settings.filter = CONVOLVE_FILTER_LAPLACIAN;
  f.info.colorimetry.range = GST_VIDEO_COLOR_RANGE_0_255;
  refer (&f, &f.settings);
  write_out (&f, rint);
  g_assert_true (passes (&f));
  f.info.colorimetry.range = GST_VIDEO_COLOR_RANGE_16_235;
  refer (&f, &f.settings);
  g_assert_false (passes (&f));
  tear_down (&f);
}

static void
test_flat (void)
{
  Fixture f;

  set_up (&f, GST_VIDEO_FORMAT_GRAY8, FILL_FLAT);
  refer (&f, &f.settings);
  write_out (&f, rint);
  g_assert_true (passes (&f));
  random_frame_set (f.out, 0, 3, 4, random_frame_get (f.in, 0, 3, 4) ^ 1);
  g_assert_false (passes (&f));
  tear_down (&f);
}

/* One byte, of every frame byte that no sample has. */
static void
test_padding (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (formats); i++) {
    gsize n = 0;
    Fixture f;

    set_up (&f, formats[i], FILL_RANDOM);
    refer (&f, &f.settings);
    write_out (&f, rint);
    for (guint p = 0; p < f.out->n_planes; p++) {
      FramePlane *plane = &f.out->plane[p];

      for (gsize k = 0; k < plane->size; k++) {
        if (plane->samples[k] || n++ % 97 != 0)
          continue;
        plane->block[k] ^= 1;
        g_assert_false (passes (&f));
        plane->block[k] ^= 1;
      }
    }
    g_assert_true (passes (&f));
    tear_down (&f);
  }
}

static void
test_input_written (void)
{
  Fixture f;

  set_up (&f, GST_VIDEO_FORMAT_I420, FILL_RANDOM);
  refer (&f, &f.settings);
  write_out (&f, rint);
  f.in->plane[1].block[f.in->plane[1].size / 2] ^= 0x80;
  g_assert_false (passes (&f));
  tear_down (&f);
}

static void
test_unused_bits (void)
{
  Fixture f;
  const SampleMap *map;

  set_up (&f, GST_VIDEO_FORMAT_P010_10LE, FILL_RANDOM);
  refer (&f, &f.settings);
  write_out (&f, rint);
  map = &f.out->map[1];
  sample_set_word (map, f.out->frame.data[1], f.out->frame.stride[1], 2, 1,
      sample_word (map, f.out->frame.data[1], f.out->frame.stride[1], 2, 1)
      | 1);
  g_assert_false (passes (&f));
  tear_down (&f);
}

static void
test_one_sample (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (formats); i++) {
    Fixture f;

    set_up (&f, formats[i], FILL_RANDOM);
    refer (&f, &f.settings);
    for (guint c = 0; c < f.reference->n; c++) {
      const RefComponent *r = &f.reference->component[c];
      gint x = r->width - 1, y = r->height - 1;
      guint value;

      write_out (&f, rint);
      value = random_frame_get (f.out, c, x, y);
      random_frame_set (f.out, c, x, y, value > 2 ? value - 2 : value + 2);
      g_assert_false (passes (&f));
    }
    tear_down (&f);
  }
}

/* Known numbers of the reference itself, worked out by hand. */
static void
test_reference (void)
{
  static const gint expected[CONVOLVE_N_BORDERS][6] = {
    /* index -3, -2, -1 and 4, 5, 6 of a line of four */
    {0, 0, 0, 3, 3, 3}, {2, 1, 0, 3, 2, 1}, {3, 2, 1, 2, 1, 0},
    {1, 2, 3, 0, 1, 2}, {-1, -1, -1, -1, -1, -1}
  };

  for (guint b = 0; b < CONVOLVE_N_BORDERS; b++) {
    for (gint i = 0; i < 3; i++) {
      g_assert_cmpint (reference_border (b, i - 3, 4), ==, expected[b][i]);
      g_assert_cmpint (reference_border (b, i + 4, 4), ==, expected[b][i + 3]);
    }
  }
}

/* Quadrature of the disk against areas that are known in closed form. */
static void
test_disk (void)
{
  for (gint radius = 0; radius <= 6; radius++) {
    ConvolveSettings settings;
    RefFilter *filter;
    gdouble r = radius + 0.5;

    convolve_settings_init (&settings);
    settings.filter = CONVOLVE_FILTER_DISK;
    settings.radius = radius;
    filter = ref_filter_new (&settings, 0, 0);
    g_assert_cmpfloat (fabs (filter->sum - 1), <, 1e-13);
    /* The pixel in the middle is inside wholly for r >= 1. */
    if (radius >= 1)
      g_assert_cmpfloat (fabs (ref_term_weight (&filter->term[0], 0, 0)
              - 1 / (G_PI * r * r)), <, 1e-12);
    ref_filter_free (filter);
  }
}

int
main (int argc, char **argv)
{
  gst_init (&argc, &argv);
  g_test_init (&argc, &argv, NULL);
  seed = test_seed (NULL);
  g_test_add_func ("/selftest/reference", test_reference);
  g_test_add_func ("/selftest/disk", test_disk);
  g_test_add_func ("/selftest/rounding", test_rounding);
  g_test_add_func ("/selftest/settings", test_wrong_settings);
  g_test_add_func ("/selftest/zero", test_wrong_zero);
  g_test_add_func ("/selftest/flat", test_flat);
  g_test_add_func ("/selftest/padding", test_padding);
  g_test_add_func ("/selftest/input", test_input_written);
  g_test_add_func ("/selftest/unused-bits", test_unused_bits);
  g_test_add_func ("/selftest/sample", test_one_sample);
  return g_test_run ();
}
