/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Transparent pictures: no fringe where nothing is seen, and alpha the same
 * whatever the mode. */
#include "pictures.h"

#define SIZE "width=40,height=40,framerate=25/1"

#define N_PACKED_BYTES 5

/* Packed and planar, 8 bit (first the packed ones) and more, alpha first and
 * last, chroma finer and coarser. */
static const gchar *const formats[] = { "RGBA", "ARGB", "BGRA", "AYUV", "VUYA",
  "ARGB64", "RGBA64_LE", "AYUV64", "GBRA", "GBRA_10LE", "A420", "A444_10LE",
  "A422_10LE", "Y410", "RGB10A2_LE"
};

static gchar *
caps_for (const gchar * format)
{
  return g_strdup_printf ("video/x-raw,format=%s," SIZE, format);
}

static guint
largest (const SampleMap * map)
{
  return (1u << map->depth) - 1;
}

/* What is seen, and what lies where nothing is seen, of each component. */
static guint
visible (const SampleMap * map)
{
  return largest (map) * (map->role == SAMPLE_RED ? 0.9 :
      map->role == SAMPLE_U ? 0.3 : map->role == SAMPLE_V ? 0.8 : 0.5);
}

static guint
hidden (const SampleMap * map)
{
  return largest (map) * (map->role == SAMPLE_GREEN ? 1.0 :
      map->role == SAMPLE_U ? 0.1 : map->role == SAMPLE_V ? 0.1 : 0.0);
}

static const SampleMap *
alpha_map (const RandomFrame * frame, guint * component)
{
  for (guint i = 0; i < frame->n_maps; i++) {
    if (frame->map[i].role == SAMPLE_ALPHA) {
      *component = i;
      return &frame->map[i];
    }
  }
  fail ("%s has no alpha", GST_VIDEO_INFO_NAME (&frame->info));
  return NULL;
}

/* An opaque square of one colour on a transparent ground of another. */
static RandomFrame *
square_new (Pictures * pictures)
{
  RandomFrame *frame = picture_new (pictures);

  for (guint i = 0; i < frame->n_maps; i++) {
    const SampleMap *map = &frame->map[i];
    gint w = 12 >> map->w_sub, h = 12 >> map->h_sub;

    for (gint y = 0; y < sample_map_height (map, 40); y++) {
      for (gint x = 0; x < sample_map_width (map, 40); x++) {
        gboolean inside = x >= w && x < 2 * w && y >= h && y < 2 * h;

        if (map->role == SAMPLE_ALPHA)
          random_frame_set (frame, i, x, y, inside ? largest (map) : 0);
        else
          random_frame_set (frame, i, x, y, inside ? visible (map) :
              hidden (map));
      }
    }
  }
  random_frame_seal (frame);
  return frame;
}

static RandomFrame *
filter (Pictures * pictures, const gchar * caps, const RandomFrame * in,
    const gchar * properties)
{
  gchar *launch = g_strdup_printf ("videoconvolve %s", properties);
  GstHarness *h = element_harness (launch, caps);
  RandomFrame *out;

  gst_harness_push (h, picture_to_buffer (pictures, in, 0));
  gst_harness_push_event (h, gst_event_new_eos ());
  out = picture_from_buffer (pictures, gst_harness_pull (h));
  gst_harness_teardown (h);
  g_free (launch);
  return out;
}

/* The largest part of the alpha that a sample of the component covers. */
static gdouble
cover (const RandomFrame * frame, const SampleMap * map, gint x, gint y)
{
  guint component;
  const SampleMap *alpha = alpha_map (frame, &component);
  guint most = 0;

  for (gint v = y << map->h_sub; v < MIN ((y + 1) << map->h_sub, 40); v++)
    for (gint u = x << map->w_sub; u < MIN ((x + 1) << map->w_sub, 40); u++)
      most = MAX (most, random_frame_get (frame, component, u, v));
  return (gdouble) most / largest (alpha);
}

/* How far from the colour of what is seen any sample is that can be seen. */
static guint
fringe (const RandomFrame * frame)
{
  guint worst = 0;

  for (guint i = 0; i < frame->n_maps; i++) {
    const SampleMap *map = &frame->map[i];

    if (map->role == SAMPLE_ALPHA)
      continue;
    for (gint y = 0; y < sample_map_height (map, 40); y++)
      for (gint x = 0; x < sample_map_width (map, 40); x++)
        if (cover (frame, map, x, y) > 0.01)
          worst = MAX (worst, (guint) ABS ((gint) random_frame_get (frame, i,
                      x, y) - (gint) visible (map)) * 255 / largest (map));
  }
  return worst;
}

static void
assert_alpha (const RandomFrame * a, const RandomFrame * b, gint most)
{
  guint i;
  const SampleMap *map = alpha_map (a, &i);

  for (gint y = 0; y < sample_map_height (map, 40); y++)
    for (gint x = 0; x < sample_map_width (map, 40); x++)
      fail_unless (ABS ((gint) random_frame_get (a, i, x, y)
              - (gint) random_frame_get (b, i, x, y)) <= most,
          "alpha of %s differs at (%d, %d)", GST_VIDEO_INFO_NAME (&a->info),
          x, y);
}

static void
assert_same (const RandomFrame * a, const RandomFrame * b)
{
  for (guint i = 0; i < a->n_maps; i++) {
    const SampleMap *map = &a->map[i];

    for (gint y = 0; y < sample_map_height (map, 40); y++)
      for (gint x = 0; x < sample_map_width (map, 40); x++)
        fail_unless (random_frame_get (a, i, x, y) ==
            random_frame_get (b, i, x, y), "%s of %s differs at (%d, %d)",
            sample_role_name (map->role), GST_VIDEO_INFO_NAME (&a->info), x, y);
  }
}

/* Weighted, colours near the edge are those of the square to within 1; straight
 * lets what is not seen shine through. */
GST_START_TEST (test_no_fringe)
{
  static const gchar *const filters[] = { "filter=gaussian sigma=2",
    "filter=box radius=4", "filter=disk radius=5",
    "filter=motion radius=5 angle=30",
    "filter=gaussian sigma=1.2 iterations=3"
  };
  gchar *caps = caps_for (formats[__i__]);
  RandomFrame *in;
  Pictures pictures;

  pictures_init (&pictures, caps);
  in = square_new (&pictures);
  for (guint i = 0; i < G_N_ELEMENTS (filters); i++) {
    gchar *text = g_strdup_printf ("%s alpha-mode=weighted", filters[i]);
    RandomFrame *weighted = filter (&pictures, caps, in, text);
    RandomFrame *straight, *automatic;

    g_free (text);
    text = g_strdup_printf ("%s alpha-mode=straight", filters[i]);
    straight = filter (&pictures, caps, in, text);
    automatic = filter (&pictures, caps, in, filters[i]);
    g_free (text);

    fail_unless (fringe (weighted) <= 1, "%s, %s: %u of 255 off",
        formats[__i__], filters[i], fringe (weighted));
    fail_unless (fringe (straight) > 40, "%s, %s: no fringe to be found",
        formats[__i__], filters[i]);
    assert_alpha (weighted, straight, 1);
    assert_same (automatic, weighted);
    random_frame_free (weighted);
    random_frame_free (straight);
    random_frame_free (automatic);
  }
  random_frame_free (in);
  g_free (caps);
}

GST_END_TEST;

/* Any alpha: two roundings of one exact result may differ by 1. On CUDA bytes
 * have the same products in both modes. */
GST_START_TEST (test_alpha_is_the_same)
{
  static const gchar *const filters[] = { "filter=gaussian sigma=0.5",
    "filter=gaussian sigma=1", "filter=gaussian sigma=2.5",
    "filter=gaussian sigma=5", "filter=gaussian sigma=10",
    "filter=box radius=4", "filter=box radius=19"
  };
  const gchar *more = g_getenv ("ELEMENT_TEST_PROPERTIES");
  gchar *caps = caps_for (formats[__i__]);
  RandomFrame *in;
  Pictures pictures;
  gint most;

  pictures_init (&pictures, caps);
  most = more != NULL && strstr (more, "backend=cuda") != NULL ? 0 : 1;
  in = picture_new (&pictures);
  for (guint i = 0; i < G_N_ELEMENTS (filters); i++) {
    gchar *text = g_strdup_printf ("%s alpha-mode=weighted", filters[i]);
    RandomFrame *weighted = filter (&pictures, caps, in, text), *straight;

    g_free (text);
    text = g_strdup_printf ("%s alpha-mode=straight", filters[i]);
    straight = filter (&pictures, caps, in, text);
    g_free (text);
    assert_alpha (weighted, straight, most);
    random_frame_free (weighted);
    random_frame_free (straight);
  }
  random_frame_free (in);
  g_free (caps);
}

GST_END_TEST;

/* Filters with negative weights are straight unless told otherwise. */
GST_START_TEST (test_auto_is_straight)
{
  static const gchar *const filters[] = { "filter=sharpen", "filter=unsharp",
    "filter=emboss", "kernel=\"<<0,-1,0>,<-1,5,-1>,<0,-1,0>>\"",
    "filter=sobel"
  };
  gchar *caps = caps_for (formats[__i__]);
  RandomFrame *in;
  Pictures pictures;

  pictures_init (&pictures, caps);
  in = square_new (&pictures);
  for (guint i = 0; i < G_N_ELEMENTS (filters); i++) {
    gchar *text = g_strdup_printf ("%s alpha-mode=straight", filters[i]);
    RandomFrame *straight = filter (&pictures, caps, in, text);
    RandomFrame *automatic = filter (&pictures, caps, in, filters[i]);

    assert_same (automatic, straight);
    random_frame_free (straight);
    random_frame_free (automatic);
    g_free (text);
  }
  random_frame_free (in);
  g_free (caps);
}

GST_END_TEST;

/* Any alpha, against the reference. */
GST_START_TEST (test_reference)
{
  static const gchar *const modes[] = { "auto", "straight", "weighted" };
  gchar *caps = caps_for (formats[__i__]);

  for (guint i = 0; i < G_N_ELEMENTS (modes); i++) {
    gchar *launch = g_strdup_printf ("videoconvolve filter=box radius=2 "
        "alpha-mode=%s", modes[i]);
    ConvolveSettings settings;

    convolve_settings_init (&settings);
    settings.filter = CONVOLVE_FILTER_BOX;
    settings.radius = 2;
    settings.alpha_mode = (ConvolveAlphaMode) i;
    check_launch (launch, caps, &settings, FALSE);
    g_free (launch);
  }
  g_free (caps);
}

GST_END_TEST;

/* Alpha that is not filtered still weighs. */
GST_START_TEST (test_alpha_alone_and_left_out)
{
  gchar *caps = caps_for (formats[__i__]);
  ConvolveSettings settings;

  convolve_settings_init (&settings);
  settings.channels = CONVOLVE_CHANNEL_ALPHA;
  check_launch ("videoconvolve channels=alpha", caps, &settings, FALSE);
  settings.channels = CONVOLVE_CHANNEL_ALL & ~CONVOLVE_CHANNEL_ALPHA;
  check_launch ("videoconvolve channels=luma+chroma+rgb", caps, &settings,
      FALSE);
  g_free (caps);
}

GST_END_TEST;

static Suite *
alpha_suite (void)
{
  Suite *s = suite_create ("alpha");
  TCase *tc = tcase_create ("alpha");

  suite_add_tcase (s, tc);
  tcase_add_loop_test (tc, test_no_fringe, 0, G_N_ELEMENTS (formats));
  tcase_add_loop_test (tc, test_alpha_is_the_same, 0, N_PACKED_BYTES);
  tcase_add_loop_test (tc, test_auto_is_straight, 0, G_N_ELEMENTS (formats));
  tcase_add_loop_test (tc, test_reference, 0, G_N_ELEMENTS (formats));
  tcase_add_loop_test (tc, test_alpha_alone_and_left_out, 0,
      G_N_ELEMENTS (formats));
  return s;
}

GST_CHECK_MAIN (alpha);
