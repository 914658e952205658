/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Regions of interest: what is filtered, what is not, what it costs. */
#include "pictures.h"

#include <time.h>

#define SIZE "width=62,height=38,framerate=25/1"
#define PICTURE_CAPS "video/x-raw,format=%s," SIZE

typedef struct
{
  const gchar *type;
  RefRect rect;
} Meta;

/* What to blur: metas, fixed regions, which types. */
typedef struct
{
  const gchar *what;
  const gchar *rois, *types;
  guint n_metas;
  Meta metas[6];
  guint n_wanted;
  RefRect wanted[8];            /* as the reference gets them */
} Scene;

static const Scene scenes[] = {
  {"one meta", NULL, NULL, 1, {{"face", {7, 5, 13, 9}}}, 1, {{7, 5, 13, 9}}},
  {"metas of several types", NULL, NULL, 2, {{"face", {1, 1, 8, 8}},
          {"plate", {30, 20, 5, 3}}}, 2, {{1, 1, 8, 8}, {30, 20, 5, 3}}},
  {"one type", NULL, "plate", 3, {{"face", {1, 1, 8, 8}},
          {"plate", {30, 20, 5, 3}}, {"plates", {40, 2, 5, 3}}}, 1,
      {{30, 20, 5, 3}}},
  {"two types", NULL, "plate, face", 3, {{"face", {1, 1, 8, 8}},
          {"plate", {30, 20, 5, 3}}, {"car", {40, 2, 5, 3}}}, 2,
      {{1, 1, 8, 8}, {30, 20, 5, 3}}},
  {"a type that is not there", NULL, "person", 1, {{"face", {1, 1, 8, 8}}}, 0},
  {"fixed regions", "<<3,4,20,10>,<50,30,4,4>>", NULL, 0, {{NULL}}, 2,
      {{3, 4, 20, 10}, {50, 30, 4, 4}}},
  {"fixed regions besides metas, whatever types", "<<3,4,20,10>>", "face", 2,
        {{"face", {33, 5, 9, 9}}, {"car", {0, 30, 9, 8}}}, 2,
      {{3, 4, 20, 10}, {33, 5, 9, 9}}},
  {"regions upon each other", "<<5,5,20,20>,<10,10,20,20>>", NULL, 2,
        {{"a", {15, 2, 3, 30}}, {"b", {5, 5, 20, 20}}}, 4,
      {{5, 5, 20, 20}, {10, 10, 20, 20}, {15, 2, 3, 30}, {5, 5, 20, 20}}},
  {"partly outside", "<<-5,-5,10,10>,<55,30,100,100>>", NULL, 1,
        {{"a", {30, 35, 4, 1000000}}}, 3,
      {{-5, -5, 10, 10}, {55, 30, 100, 100}, {30, 35, 4, 1000000}}},
  {"wholly outside", "<<62,0,10,10>,<-10,0,10,10>,<0,-9,9,9>>", NULL, 1,
      {{"a", {4294967295, 4294967295, 4294967295, 4294967295}}}, 0},
  {"empty ones", "<<5,5,0,9>,<5,5,9,0>>", NULL, 1, {{"a", {3, 3, 0, 0}}}, 0},
  {"none", NULL, NULL, 0, {{NULL}}, 0},
  {"the whole picture", "<<0,0,62,38>>", NULL, 0, {{NULL}}, 1,
      {{0, 0, 62, 38}}},
  {"more than the picture", "<<-100,-100,2147483647,2147483647>>", NULL, 0,
      {{NULL}}, 1, {{-100, -100, 2147483647, 2147483647}}},
  {"one pixel", "<<61,37,1,1>,<0,0,1,1>,<31,17,1,1>>", NULL, 0, {{NULL}}, 3,
      {{61, 37, 1, 1}, {0, 0, 1, 1}, {31, 17, 1, 1}}},
};

static void
set (GstElement * element, const gchar * name, const gchar * text)
{
  gst_util_set_object_arg (G_OBJECT (element), name, text);
}

static void
add_metas (GstBuffer * buffer, const Scene * scene)
{
  for (guint i = 0; i < scene->n_metas; i++)
    gst_buffer_add_video_region_of_interest_meta (buffer,
        scene->metas[i].type, scene->metas[i].rect.x, scene->metas[i].rect.y,
        scene->metas[i].rect.width, scene->metas[i].rect.height);
}

/* The metas of the input are those of the output, in order. */
static void
assert_metas_kept (GstBuffer * buffer, const Scene * scene)
{
  gpointer state = NULL;
  GstMeta *meta;
  guint n = 0;

  while ((meta = gst_buffer_iterate_meta_filtered (buffer, &state,
              GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE)) != NULL) {
    GstVideoRegionOfInterestMeta *roi = (GstVideoRegionOfInterestMeta *) meta;

    fail_unless (n < scene->n_metas);
    fail_unless_equals_string (g_quark_to_string (roi->roi_type),
        scene->metas[n].type);
    fail_unless_equals_int (roi->x, (guint) scene->metas[n].rect.x);
    fail_unless_equals_int (roi->h, (guint) scene->metas[n].rect.height);
    n++;
  }
  fail_unless_equals_int (n, scene->n_metas);
}

/* Every scene through one element, so that each takes over from the last. */
static void
check_scenes (const gchar * format, gboolean interlaced, gboolean outside)
{
  gchar *caps = g_strdup_printf (PICTURE_CAPS "%s", format,
      interlaced ? ",interlace-mode=interleaved" : "");
  GstHarness *h = element_harness ("videoconvolve sigma=1.7", caps);
  ConvolveSettings settings;
  Pictures pictures;

  convolve_settings_init (&settings);
  settings.sigma = 1.7;
  pictures_init (&pictures, caps);
  set (h->element, "roi-mode", outside ? "outside" : "inside");
  for (guint i = 0; i < G_N_ELEMENTS (scenes); i++) {
    const Scene *scene = &scenes[i];
    RandomFrame *in = picture_new (&pictures);
    GstBuffer *buffer = picture_to_buffer (&pictures, in, i);

    GST_INFO ("%s, %s", format, scene->what);
    set (h->element, "rois", scene->rois != NULL ? scene->rois : "<>");
    g_object_set (h->element, "roi-types", scene->types, NULL);
    add_metas (buffer, scene);
    fail_unless_equals_int (gst_harness_push (h, buffer), GST_FLOW_OK);
    gst_harness_push_event (h, gst_event_new_gap (0, 1));
    buffer = gst_harness_pull (h);
    assert_metas_kept (buffer, scene);
    assert_picture (&pictures, in, buffer, &settings, interlaced,
        ref_mask_new (&pictures.picture, scene->wanted, scene->n_wanted,
            interlaced, outside));
    random_frame_free (in);
  }
  gst_harness_teardown (h);
  g_free (caps);
}

static const gchar *const formats[] = { "GRAY8", "I420", "NV12", "YUY2",
  "Y41B", "RGB", "BGRA", "ARGB64", "P010_10LE", "A420", "RGB10A2_LE"
};

GST_START_TEST (test_inside)
{
  check_scenes (formats[__i__], FALSE, FALSE);
}

GST_END_TEST;

GST_START_TEST (test_outside)
{
  check_scenes (formats[__i__], FALSE, TRUE);
}

GST_END_TEST;

/* Both fields of a region, and whole chroma samples of both. */
GST_START_TEST (test_interlaced)
{
  check_scenes (formats[__i__], TRUE, FALSE);
}

GST_END_TEST;

/* A buffer that is one field has every second line: regions count the
 * frame's. */
GST_START_TEST (test_alternate)
{
  static const gchar *caps =
      "video/x-raw(format:Interlaced),format=I420," SIZE
      ",interlace-mode=alternate";
  GstHarness *h = element_harness ("videoconvolve sigma=1.7 roi-mode=inside "
      "rois=\"<<4,7,20,13>>\"", caps);
  static const RefRect wanted[] = { {4, 3, 20, 7}, {40, 0, 9, 2} };
  ConvolveSettings settings;
  Pictures pictures;

  convolve_settings_init (&settings);
  settings.sigma = 1.7;
  pictures_init (&pictures, caps);
  for (guint i = 0; i < 4; i++) {
    RandomFrame *in = picture_new (&pictures);
    GstBuffer *buffer = picture_to_buffer (&pictures, in, i);

    GST_BUFFER_FLAG_SET (buffer, i % 2 ? GST_VIDEO_BUFFER_FLAG_BOTTOM_FIELD :
        GST_VIDEO_BUFFER_FLAG_TOP_FIELD);
    gst_buffer_add_video_region_of_interest_meta (buffer, "a", 40, 0, 9, 3);
    fail_unless_equals_int (gst_harness_push (h, buffer), GST_FLOW_OK);
    gst_harness_push_event (h, gst_event_new_gap (0, 1));
    assert_picture (&pictures, in, gst_harness_pull (h), &settings, FALSE,
        ref_mask_new (&pictures.picture, wanted, 2, FALSE, FALSE));
    random_frame_free (in);
  }
  gst_harness_teardown (h);
}

GST_END_TEST;

/* A face that moves, and goes: each frame has its own regions. */
GST_START_TEST (test_moving)
{
  static const gchar *caps = "video/x-raw,format=NV12," SIZE;
  GstHarness *h = element_harness ("videoconvolve filter=box radius=3 "
      "roi-mode=inside", caps);
  ConvolveSettings settings;
  Pictures pictures;
  RandomFrame *in[20];

  convolve_settings_init (&settings);
  settings.filter = CONVOLVE_FILTER_BOX;
  settings.radius = 3;
  pictures_init (&pictures, caps);
  for (guint i = 0; i < G_N_ELEMENTS (in); i++) {
    GstBuffer *buffer;

    in[i] = picture_new (&pictures);
    buffer = picture_to_buffer (&pictures, in[i], i);
    if (i % 5 != 4)
      gst_buffer_add_video_region_of_interest_meta (buffer, "face", 3 * i,
          i, 16, 16);
    fail_unless_equals_int (gst_harness_push (h, buffer), GST_FLOW_OK);
  }
  gst_harness_push_event (h, gst_event_new_eos ());
  for (guint i = 0; i < G_N_ELEMENTS (in); i++) {
    RefRect wanted = { 3 * i, i, 16, 16 };

    assert_picture (&pictures, in[i], gst_harness_pull (h), &settings, FALSE,
        ref_mask_new (&pictures.picture, &wanted, i % 5 != 4, FALSE, FALSE));
    random_frame_free (in[i]);
  }
  gst_harness_teardown (h);
}

GST_END_TEST;

/* Iterations, gradients, weighted alpha: pixels of a region are those of the
 * whole picture filtered, so they are seen past the region's edge. */
GST_START_TEST (test_filters)
{
  static const struct
  {
    const gchar *launch, *format;
    ConvolveFilter filter;
    guint iterations;
    ConvolveBorder border;
  } cases[] = {
    {"filter=gaussian iterations=3 border=wrap", "RGBA",
        CONVOLVE_FILTER_GAUSSIAN, 3, CONVOLVE_BORDER_WRAP},
    {"filter=gaussian iterations=4 border=mirror", "A420",
        CONVOLVE_FILTER_GAUSSIAN, 4, CONVOLVE_BORDER_MIRROR},
    {"filter=sobel", "I420", CONVOLVE_FILTER_SOBEL, 1,
        CONVOLVE_BORDER_REPLICATE},
    {"filter=disk radius=12 border=reflect", "NV12", CONVOLVE_FILTER_DISK, 1,
        CONVOLVE_BORDER_REFLECT},
    {"filter=unsharp", "UYVY", CONVOLVE_FILTER_UNSHARP, 1,
        CONVOLVE_BORDER_REPLICATE},
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    gchar *caps = g_strdup_printf (PICTURE_CAPS, cases[i].format);
    gchar *launch = g_strdup_printf ("videoconvolve %s roi-mode=inside "
        "rois=\"<<0,0,9,9>,<30,15,13,11>>\"", cases[i].launch);
    static const RefRect wanted[] = { {0, 0, 9, 9}, {30, 15, 13, 11} };
    GstHarness *h = element_harness (launch, caps);
    ConvolveSettings settings;
    Pictures pictures;
    RandomFrame *in;

    convolve_settings_init (&settings);
    settings.filter = cases[i].filter;
    settings.iterations = cases[i].iterations;
    settings.border = cases[i].border;
    settings.radius = settings.filter == CONVOLVE_FILTER_DISK ? 12 : -1;
    pictures_init (&pictures, caps);
    in = picture_new (&pictures);
    fail_unless_equals_int (gst_harness_push (h, picture_to_buffer (&pictures,
                in, 0)), GST_FLOW_OK);
    gst_harness_push_event (h, gst_event_new_eos ());
    assert_picture (&pictures, in, gst_harness_pull (h), &settings, FALSE,
        ref_mask_new (&pictures.picture, wanted, 2, FALSE, FALSE));
    random_frame_free (in);
    gst_harness_teardown (h);
    g_free (launch);
    g_free (caps);
  }
}

GST_END_TEST;

/* ---- cost ---- */

static gboolean
is_gpu (const gchar * device)
{
  return device != NULL && g_str_has_prefix (device, "CUDA")
      && strstr (device, "Simulated") == NULL;
}

/* What filtering has taken so far, in ns. The simulated device works in no time
 * by its own events: there, and on the CPU, it is the process's time of a
 * processor, for which others on a busy machine do not count. */
static guint64
filter_time (GstHarness * h)
{
  GstStructure *stats;
  const gchar *device;
  struct timespec spent;
  guint64 time;
  gboolean gpu;

  g_object_get (h->element, "stats", &stats, NULL);
  fail_unless (gst_structure_get_uint64 (stats, "kernel", &time));
  device = gst_structure_get_string (stats, "device");
  gpu = is_gpu (device);
  gst_structure_free (stats);
  if (gpu)
    return time;
  fail_unless_equals_int (clock_gettime (CLOCK_PROCESS_CPUTIME_ID, &spent), 0);
  return spent.tv_sec * GST_SECOND + spent.tv_nsec;
}

/* How much larger a picture has to be for more than launches to take time. */
static guint
picture_scale (void)
{
  GstHarness *h = element_harness ("videoconvolve", "video/x-raw,"
      "format=GRAY8,width=4,height=1,framerate=25/1");
  GstStructure *stats;
  const gchar *device;
  guint scale;

  gst_harness_push (h, filled_buffer (4, 9, 0));
  gst_harness_push_event (h, gst_event_new_gap (0, 1));
  gst_buffer_unref (gst_harness_pull (h));
  g_object_get (h->element, "stats", &stats, NULL);
  device = gst_structure_get_string (stats, "device");
  scale = is_gpu (device) ? 20 : 1;
  gst_structure_free (stats);
  gst_harness_teardown (h);
  return scale;
}

/* The least time that a frame of 320 x 240 times scale took of a few; the
 * region is in units of scale. */
static guint64
frame_time (GstHarness * h, guint scale, gint x, gint y, gint width,
    gint height)
{
  gchar *rois = g_strdup_printf ("<<%d,%d,%d,%d>>", x * scale, y * scale,
      width * scale, height * scale);
  guint64 best = G_MAXUINT64;

  set (h->element, "rois", rois);
  for (guint i = 0; i < 5; i++) {
    guint64 before = filter_time (h);

    gst_harness_push (h, filled_buffer (320 * 240 * scale * scale, 9, i));
    gst_harness_push_event (h, gst_event_new_gap (0, 1));
    gst_buffer_unref (gst_harness_pull (h));
    best = MIN (best, filter_time (h) - before);
  }
  g_free (rois);
  return best;
}

/* A sixteenth of the picture with its surroundings is a third of the work at
 * the most; a 300th, or nothing, a fifth with all that copying costs. */
GST_START_TEST (test_cost_follows_size)
{
  guint scale = picture_scale ();
  gchar *caps = g_strdup_printf ("video/x-raw,format=GRAY8,width=%u,"
      "height=%u,framerate=25/1", 320 * scale, 240 * scale);
  /* Where there is much of it the GPU needs a filter that takes its time. */
  GstHarness *h = element_harness (scale > 1 ? "videoconvolve filter=disk "
      "radius=20 n-threads=1 roi-mode=inside" : "videoconvolve filter=disk "
      "radius=14 n-threads=1 roi-mode=inside", caps);
  guint64 whole = 0, part = 0, little = 0, none = 0;
  gboolean follows = FALSE;

  /* Whoever shares caches and clock may disturb one measurement, not each. */
  for (guint i = 0; i < 5 && !follows; i++) {
    whole = frame_time (h, scale, 0, 0, 320, 240);
    part = frame_time (h, scale, 100, 75, 80, 60);
    little = frame_time (h, scale, 100, 75, 16, 16);
    none = frame_time (h, scale, -9, -9, 1, 1);
    follows = 3 * part < whole && 5 * little < whole && 5 * none < whole;
  }
  fail_unless (follows, "a frame took %" G_GUINT64_FORMAT
      " ns, a sixteenth %" G_GUINT64_FORMAT ", a 300th %" G_GUINT64_FORMAT
      ", nothing %" G_GUINT64_FORMAT, whole, part, little, none);
  g_free (caps);
  gst_harness_teardown (h);
}

GST_END_TEST;

/* ---- the property ---- */

GST_START_TEST (test_refused_regions)
{
  static const struct
  {
    const gchar *text, *part;
  } cases[] = {
    {"<1,2,3,4>", "region 1 is not four numbers"},
    {"<<1,2,3,4>,<1,2,3>>", "region 2 is not four numbers"},
    {"<<1,2,3,4,5>>", "region 1 is not four numbers"},
    {"<<1,2,-3,4>>", "region 1: width is not a whole number of at least 0"},
    {"<<1,0.5,3,4>>", "region 1: y is not a whole number: 0.5"},
    {"<<1,2,3,abc>>", "region 1: height is not a whole number of at least 0"},
  };
  GstHarness *h = element_harness ("videoconvolve roi-mode=inside "
      "rois=\"<<5,6,7,8>>\"", NULL);
  GstBus *bus = bus_of (h);

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    GValue value = G_VALUE_INIT;
    gchar *text;

    set (h->element, "rois", cases[i].text);
    assert_message (bus, GST_MESSAGE_WARNING, GST_LIBRARY_ERROR,
        GST_LIBRARY_ERROR_SETTINGS, cases[i].part);
    g_object_get_property (G_OBJECT (h->element), "rois", &value);
    text = gst_value_serialize (&value);
    fail_unless_equals_string (text,
        "< (array)< (int)5, (int)6, (int)7, (int)8 > >");
    g_free (text);
    g_value_unset (&value);
  }
  bus_done (h, bus);
  gst_harness_teardown (h);
}

GST_END_TEST;

GST_START_TEST (test_too_many_regions)
{
  GString *text = g_string_new ("<<0,0,1,1>");
  GstHarness *h = element_harness ("videoconvolve roi-mode=inside", NULL);
  GstBus *bus = bus_of (h);

  for (guint i = 0; i < 255; i++)
    g_string_append (text, ",<0,0,1,1>");
  g_string_append_c (text, '>');
  set (h->element, "rois", text->str);
  assert_no_message (bus, GST_MESSAGE_WARNING);
  g_string_truncate (text, text->len - 1);
  g_string_append (text, ",<0,0,1,1>>");
  set (h->element, "rois", text->str);
  assert_message (bus, GST_MESSAGE_WARNING, GST_LIBRARY_ERROR,
      GST_LIBRARY_ERROR_SETTINGS, "257 regions, more than 256");
  g_string_free (text, TRUE);
  bus_done (h, bus);
  gst_harness_teardown (h);
}

GST_END_TEST;

static Suite *
regions_suite (void)
{
  Suite *s = suite_create ("regions");
  TCase *tc = tcase_create ("regions");

  suite_add_tcase (s, tc);
  tcase_add_loop_test (tc, test_inside, 0, G_N_ELEMENTS (formats));
  tcase_add_loop_test (tc, test_outside, 0, G_N_ELEMENTS (formats));
  tcase_add_loop_test (tc, test_interlaced, 0, G_N_ELEMENTS (formats));
  tcase_add_test (tc, test_alternate);
  tcase_add_test (tc, test_moving);
  tcase_add_test (tc, test_filters);
  tcase_add_test (tc, test_cost_follows_size);
  tcase_add_test (tc, test_refused_regions);
  tcase_add_test (tc, test_too_many_regions);
  return s;
}

GST_CHECK_MAIN (regions);
