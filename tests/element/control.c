/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Properties that change while frames flow: controlled ones, and those that
 * other threads set. Whole frames are compared with the reference, at the value
 * that the frame must have, or at every setting that it may have. */
#include "elementtest.h"

#include "compare.h"
#include "testmain.h"

#include <gst/controller/gstdirectcontrolbinding.h>
#include <gst/controller/gstinterpolationcontrolsource.h>
#include <math.h>
#include <string.h>

#define WIDTH 48
#define HEIGHT 20
#define FRAME_TIME (40 * GST_MSECOND)
#define N_FRAMES 6

static guint64 seed;

/* ---- frames ---- */

static void
make_info (GstVideoInfo * info, GstVideoFormat format)
{
  fail_unless (gst_video_info_set_format (info, format, WIDTH, HEIGHT));
  info->fps_n = 25;
  info->fps_d = 1;
}

/* A picture with its samples from the seed, the same each time. */
static RandomFrame *
make_picture (const GstVideoInfo * info)
{
  Random random = { seed };
  RandomFrame *frame = random_frame_new (info, &random, TRUE);

  random_frame_fill (frame, &random, FILL_RANDOM, NULL, NULL);
  random_frame_seal (frame);
  return frame;
}

static void
copy_planes (const RandomFrame * frame, GstBuffer * buffer, gboolean to_buffer)
{
  const GstVideoInfo *info = &frame->info;
  GstVideoFrame mapped;

  fail_unless (gst_video_frame_map (&mapped, info, buffer,
          to_buffer ? GST_MAP_WRITE : GST_MAP_READ));
  for (guint p = 0; p < frame->n_planes; p++) {
    const FramePlane *plane = &frame->plane[p];
    guint8 *data = GST_VIDEO_FRAME_PLANE_DATA (&mapped, p);

    fail_unless_equals_int (GST_VIDEO_FRAME_PLANE_STRIDE (&mapped, p),
        frame->frame.stride[p]);
    if (to_buffer)
      memcpy (data, plane->block, plane->size);
    else
      memcpy (plane->block, data, plane->size);
  }
  gst_video_frame_unmap (&mapped);
}

static GstBuffer *
to_buffer (const RandomFrame * frame, guint n)
{
  GstBuffer *buffer = filled_buffer (frame->info.size, 0, n);

  copy_planes (frame, buffer, TRUE);
  return buffer;
}

/* Takes buffer. */
static RandomFrame *
from_buffer (const GstVideoInfo * info, GstBuffer * buffer)
{
  Random random = { seed };
  RandomFrame *frame = random_frame_new (info, &random, TRUE);

  fail_unless (buffer != NULL);
  copy_planes (frame, buffer, FALSE);
  random_frame_seal (frame);
  gst_buffer_unref (buffer);
  return frame;
}

static GstHarness *
control_harness (const gchar * launch, GstVideoInfo * info)
{
  GstHarness *h = element_harness (launch, NULL);

  gst_harness_set_src_caps (h, gst_video_info_to_caps (info));
  return h;
}

/* ---- controlled properties ---- */

/* A controllable property, the filter that looks at it, where it starts and
 * what each frame adds, and where a reference keeps it. Integers have a step at
 * each frame, the others a line from the first frame to the last. */
typedef struct
{
  const gchar *name, *launch;
  gdouble first, step;
  void (*settings) (ConvolveSettings * settings, gdouble value);
} Controlled;

#define SETTER(field, preparation) \
    static void \
    set_##field (ConvolveSettings * settings, gdouble value) \
    { \
      preparation; \
      settings->field = value; \
    }

/* *INDENT-OFF* */
SETTER (scale, settings->filter = CONVOLVE_FILTER_BOX; settings->radius = 1)
SETTER (bias, settings->filter = CONVOLVE_FILTER_BOX; settings->radius = 1)
SETTER (sigma, settings->filter = CONVOLVE_FILTER_GAUSSIAN)
SETTER (sigma_y, settings->filter = CONVOLVE_FILTER_GAUSSIAN)
SETTER (radius, settings->filter = CONVOLVE_FILTER_BOX)
SETTER (amount, settings->filter = CONVOLVE_FILTER_SHARPEN)
SETTER (threshold, settings->filter = CONVOLVE_FILTER_UNSHARP)
SETTER (angle, settings->filter = CONVOLVE_FILTER_MOTION; settings->radius = 4)
SETTER (border_color, settings->filter = CONVOLVE_FILTER_BOX;
    settings->radius = 3; settings->border = CONVOLVE_BORDER_CONSTANT)
SETTER (iterations, settings->filter = CONVOLVE_FILTER_BOX;
    settings->radius = 1)
/* *INDENT-ON* */

static const Controlled controlled[] = {
  {"scale", "filter=box radius=1", 0.2, 0.15, set_scale},
  {"bias", "filter=box radius=1", -0.3, 0.11, set_bias},
  {"sigma", "filter=gaussian", 0.4, 0.7, set_sigma},
  {"sigma-y", "filter=gaussian", 0.3, 1.1, set_sigma_y},
  {"radius", "filter=box", 0, 1, set_radius},
  {"amount", "filter=sharpen", 0.1, 0.35, set_amount},
  {"threshold", "filter=unsharp", 0, 0.03, set_threshold},
  {"angle", "filter=motion radius=4", -30, 33.5, set_angle},
  {"border-color", "filter=box radius=3 border=constant", 0xff102030,
        0x00201510,
      set_border_color},
  {"iterations", "filter=box radius=1", 1, 1, set_iterations},
};

static gboolean
is_whole (GstElement * element, const gchar * name)
{
  GParamSpec *pspec =
      g_object_class_find_property (G_OBJECT_GET_CLASS (element), name);

  return pspec->value_type != G_TYPE_DOUBLE;
}

static void
bind (GstElement * element, const Controlled * c)
{
  GstControlSource *source = gst_interpolation_control_source_new ();
  GstTimedValueControlSource *values = GST_TIMED_VALUE_CONTROL_SOURCE (source);
  gboolean whole = is_whole (element, c->name);
  guint every = whole ? 1 : N_FRAMES - 1;

  g_object_set (source, "mode", whole ? GST_INTERPOLATION_MODE_NONE :
      GST_INTERPOLATION_MODE_LINEAR, NULL);
  for (guint i = 0; i < N_FRAMES; i += every)
    fail_unless (gst_timed_value_control_source_set (values, i * FRAME_TIME,
            c->first + i * c->step));
  fail_unless (gst_object_add_control_binding (GST_OBJECT (element),
          gst_direct_control_binding_new_absolute (GST_OBJECT (element),
              c->name, source)));
  gst_object_unref (source);
}

static gchar *
frame_fault (const GstVideoInfo * info, const RandomFrame * in,
    const RandomFrame * out, const ConvolveSettings * settings)
{
  Reference *reference = reference_new (info, in->frame.data,
      in->frame.stride, settings, FALSE);
  gchar *fault = NULL;

  compare_frames (reference, in, out, &fault);
  reference_free (reference);
  return fault;
}

static void
check_controlled (const Controlled * c, GstVideoFormat format)
{
  gchar *launch = g_strdup_printf ("videoconvolve %s", c->launch);
  GstVideoInfo info;
  GstHarness *h;
  RandomFrame *in;

  make_info (&info, format);
  in = make_picture (&info);
  h = control_harness (launch, &info);
  bind (h->element, c);
  for (guint i = 0; i < N_FRAMES; i++) {
    RandomFrame *out = from_buffer (&info, filter_one (h, to_buffer (in, i)));
    ConvolveSettings settings;
    gchar *fault;

    convolve_settings_init (&settings);
    c->settings (&settings, c->first + i * c->step);
    fault = frame_fault (&info, in, out, &settings);
    fail_unless (fault == NULL, "%s, %s, frame %u: %s", c->name,
        gst_video_format_to_string (format), i, fault);
    /* The comparison is worth something: another frame's value would fail. */
    c->settings (&settings, c->first + (i + 1) * c->step);
    fault = frame_fault (&info, in, out, &settings);
    fail_unless (fault != NULL, "%s: the frames of two values are alike",
        c->name);
    g_free (fault);
    random_frame_free (out);
  }
  random_frame_free (in);
  gst_harness_teardown (h);
  g_free (launch);
}

GST_START_TEST (test_controlled)
{
  check_controlled (&controlled[__i__], GST_VIDEO_FORMAT_GRAY8);
  check_controlled (&controlled[__i__], GST_VIDEO_FORMAT_NV12);
  check_controlled (&controlled[__i__], GST_VIDEO_FORMAT_RGBA);
}

GST_END_TEST;

/* A new controllable property needs a row above. */
GST_START_TEST (test_all_controllable_are_checked)
{
  GstElement *element = gst_element_factory_make ("videoconvolve", NULL);
  guint n;
  GParamSpec **specs =
      g_object_class_list_properties (G_OBJECT_GET_CLASS (element), &n);

  for (guint i = 0; i < n; i++) {
    gboolean found = FALSE;

    if (!(specs[i]->flags & GST_PARAM_CONTROLLABLE))
      continue;
    for (guint k = 0; k < G_N_ELEMENTS (controlled); k++)
      found |= g_str_equal (controlled[k].name, specs[i]->name);
    fail_unless (found, "%s is not checked", specs[i]->name);
  }
  g_free (specs);
  gst_object_unref (element);
}

GST_END_TEST;

/* A thread that is in the middle of setting something does not hold back what
 * the controller sets for the frame at hand. */
GST_START_TEST (test_controller_while_another_sets)
{
  GstHarness *h;
  GstVideoInfo info;
  RandomFrame *in, *out;
  ConvolveSettings settings;
  gchar *fault;

  make_info (&info, GST_VIDEO_FORMAT_GRAY8);
  in = make_picture (&info);
  h = control_harness ("videoconvolve filter=gaussian sigma=1", &info);
  bind (h->element, &controlled[2]);
  convolve_settings_init (&settings);

  g_object_freeze_notify (G_OBJECT (h->element));
  g_object_set (h->element, "scale", 0.5, NULL);
  for (guint i = 0; i < N_FRAMES; i++) {
    if (i == 3) {
      g_object_thaw_notify (G_OBJECT (h->element));
      settings.scale = 0.5;
    }
    out = from_buffer (&info, filter_one (h, to_buffer (in, i)));
    settings.sigma = controlled[2].first + i * controlled[2].step;
    fault = frame_fault (&info, in, out, &settings);
    fail_unless (fault == NULL, "frame %u: %s", i, fault);
    random_frame_free (out);
  }
  random_frame_free (in);
  gst_harness_teardown (h);
}

GST_END_TEST;

/* ---- other threads ---- */

/* Settings that differ in everything, set by one g_object_set each. */
static const struct
{
  const gchar *filter, *kernel;
  gdouble scale, bias;
} settings_table[] = {
  {"custom", "<<1,2,1>,<2,4,2>,<1,2,1>>", 0.95, 0.02},
  {"custom", "<<1,0,-1>,<2,0,-2>,<1,0,-1>>", 0.25, 0.5},
  {"custom", "<<1>,<1>,<1>,<1>,<1>>", 0.5, 0.25},
  {"custom", "<<-1,3,5,-2>>", 0.8, -0.1},
  {"box", "<<0,1>,<1,0>>", 0.6, 0.1},
  {"gaussian", "<<3,1>>", 0.9, 0.05},
};

#define N_SETTINGS G_N_ELEMENTS (settings_table)

typedef struct
{
  GstElement *element;
  gint *stop;
  guint first, n, pause_us;     /* its rows of the table */
  guint n_set;
  GThread *thread;
} Setter;

static void
read_kernel (guint i, GValue * kernel)
{
  gchar *text = g_strdup (settings_table[i].kernel);

  g_value_init (kernel, GST_TYPE_ARRAY);
  fail_unless (gst_value_deserialize (kernel, text));
  g_free (text);
}

static void
set_settings (GstElement * element, guint i)
{
  GValue kernel = G_VALUE_INIT, filter = G_VALUE_INIT;
  const gchar *names[] = { "kernel", "filter", "scale", "bias" };
  GValue values[4] = { G_VALUE_INIT, G_VALUE_INIT, G_VALUE_INIT, G_VALUE_INIT };

  read_kernel (i, &kernel);
  values[0] = kernel;
  g_object_get_property (G_OBJECT (element), "filter", &filter);
  fail_unless (gst_value_deserialize (&filter, settings_table[i].filter));
  values[1] = filter;
  g_value_init (&values[2], G_TYPE_DOUBLE);
  g_value_set_double (&values[2], settings_table[i].scale);
  g_value_init (&values[3], G_TYPE_DOUBLE);
  g_value_set_double (&values[3], settings_table[i].bias);
  g_object_setv (G_OBJECT (element), 4, names, values);
  for (guint k = 0; k < 4; k++)
    g_value_unset (&values[k]);
}

static gpointer
set_until_stop (gpointer data)
{
  Setter *setter = data;

  do {
    set_settings (setter->element, setter->first + setter->n_set++ % setter->n);
    if (setter->pause_us > 0)
      g_usleep (setter->pause_us);
  } while (!g_atomic_int_get (setter->stop));
  return NULL;
}

static void
row_of_table (guint i, ConvolveSettings * s)
{
  static const struct
  {
    const gchar *name;
    ConvolveFilter filter;
  } filters[] = {
    {"custom", CONVOLVE_FILTER_CUSTOM}, {"box", CONVOLVE_FILTER_BOX},
    {"gaussian", CONVOLVE_FILTER_GAUSSIAN}
  };
  gchar *rows = g_strdelimit (g_strdup (settings_table[i].kernel), "<", ' ');
  gchar **parts = g_strsplit (rows, ">,", -1);
  gchar *text = g_strdelimit (g_strjoinv ("\n", parts), ">", ' ');

  convolve_settings_init (s);
  for (guint k = 0; k < G_N_ELEMENTS (filters); k++)
    if (g_str_equal (filters[k].name, settings_table[i].filter))
      s->filter = filters[k].filter;
  s->kernel = convolve_matrix_parse (text, NULL);
  fail_unless (s->kernel != NULL, "%s", text);
  s->scale = settings_table[i].scale;
  s->bias = settings_table[i].bias;
  g_free (text);
  g_strfreev (parts);
  g_free (rows);
}

/* Pushes the same picture until the time is over, and finds for each frame the
 * one setting that it was made with. */
static void
check_frames (Setter * setters, guint n_setters, gdouble seconds)
{
  Reference *references[N_SETTINGS];
  guint count[N_SETTINGS] = { 0 }, n = 0, n_seen = 0;
  gint stop = 0;
  gint64 end;
  GstVideoInfo info;
  RandomFrame *in;
  GstHarness *h;

  make_info (&info, GST_VIDEO_FORMAT_GRAY8);
  in = make_picture (&info);
  h = control_harness ("videoconvolve", &info);
  for (guint i = 0; i < N_SETTINGS; i++) {
    ConvolveSettings settings;

    row_of_table (i, &settings);
    references[i] = reference_new (&info, in->frame.data, in->frame.stride,
        &settings, FALSE);
    convolve_settings_clear (&settings);
  }
  set_settings (h->element, setters[0].first);
  for (guint i = 0; i < n_setters; i++) {
    setters[i].element = h->element;
    setters[i].stop = &stop;
    setters[i].thread = g_thread_new ("setter", set_until_stop, &setters[i]);
  }
  end = g_get_monotonic_time () + seconds * G_USEC_PER_SEC;
  for (; g_get_monotonic_time () < end; n++) {
    RandomFrame *out = from_buffer (&info, filter_one (h, to_buffer (in, n)));
    guint found = 0;

    for (guint i = 0; i < N_SETTINGS; i++) {
      gchar *fault = NULL;

      if (compare_frames (references[i], in, out, &fault)) {
        found++;
        count[i]++;
      }
      g_free (fault);
    }
    fail_unless (found == 1, "frame %u is that of %u of the settings", n,
        found);
    random_frame_free (out);
  }
  g_atomic_int_set (&stop, 1);
  for (guint i = 0; i < n_setters; i++) {
    g_thread_join (setters[i].thread);
    GST_INFO ("thread %u set %u times", i, setters[i].n_set);
  }
  for (guint i = 0; i < N_SETTINGS; i++) {
    n_seen += count[i] > 0;
    reference_free (references[i]);
  }
  fail_unless (n_seen > 1, "of %u frames all are alike", n);
  random_frame_free (in);
  gst_harness_teardown (h);
}

GST_START_TEST (test_one_thread_at_1_khz)
{
  Setter setter = {.n = N_SETTINGS,.pause_us = 1000 };

  check_frames (&setter, 1, 2 * STRESS_SECONDS);
}

GST_END_TEST;

/* Two threads that never rest, so that each g_object_set begins and ends within
 * others. */
GST_START_TEST (test_two_threads)
{
  Setter setters[] = {
    {.first = 0,.n = N_SETTINGS / 2},
    {.first = N_SETTINGS / 2,.n = N_SETTINGS - N_SETTINGS / 2}
  };

  check_frames (setters, 2, 2 * STRESS_SECONDS);
}

GST_END_TEST;

/* Both threads at rest: one of their last settings is what the properties say
 * and what frames show, all of it. */
GST_START_TEST (test_the_last_one_set_counts)
{
  for (guint round = 0; round < 20; round++) {
    GstElement *element = gst_element_factory_make ("videoconvolve", NULL);
    gint stop = 0;
    Setter setters[] = {
      {element, &stop, 0, 2}, {element, &stop, 2, 2}
    };
    ConvolveSettings settings;
    gdouble scale, bias;
    guint row = 0;
    GstVideoInfo info;
    RandomFrame *in, *out;
    GstHarness *h;
    gchar *fault;

    for (guint i = 0; i < 2; i++)
      setters[i].thread = g_thread_new ("setter", set_until_stop, &setters[i]);
    g_usleep (2000);
    g_atomic_int_set (&stop, 1);
    for (guint i = 0; i < 2; i++)
      g_thread_join (setters[i].thread);

    g_object_get (element, "scale", &scale, "bias", &bias, NULL);
    while (row < N_SETTINGS && settings_table[row].scale != scale)
      row++;
    fail_unless (row < N_SETTINGS && settings_table[row].bias == bias,
        "scale %g and bias %g were not set together", scale, bias);
    make_info (&info, GST_VIDEO_FORMAT_GRAY8);
    in = make_picture (&info);
    h = gst_harness_new_with_element (element, "sink", "src");
    gst_harness_set_src_caps (h, gst_video_info_to_caps (&info));
    out = from_buffer (&info, filter_one (h, to_buffer (in, 0)));
    row_of_table (row, &settings);
    fault = frame_fault (&info, in, out, &settings);
    fail_unless (fault == NULL, "round %u: %s", round, fault);
    convolve_settings_clear (&settings);
    random_frame_free (in);
    random_frame_free (out);
    gst_object_unref (element);
    gst_harness_teardown (h);
  }
}

GST_END_TEST;

/* Someone who holds notifications back for long, while 3000 values are set. */
GST_START_TEST (test_many_changes_at_once)
{
  GstHarness *h = element_harness ("videoconvolve filter=box radius=1",
      "video/x-raw,format=GRAY8,width=8,height=4,framerate=25/1");

  g_object_freeze_notify (G_OBJECT (h->element));
  for (guint i = 0; i < 1000; i++)
    g_object_set (h->element, "bias", i / 255.0, "scale", i / 1000.0,
        "sigma", (gdouble) i, NULL);
  g_object_set (h->element, "bias", 7 / 255.0, "scale", 1.0, NULL);
  assert_filled (filter_one (h, filled_buffer (32, 100, 0)), 100);
  g_object_thaw_notify (G_OBJECT (h->element));
  assert_filled (filter_one (h, filled_buffer (32, 100, 1)), 107);
  gst_harness_teardown (h);
}

GST_END_TEST;

static Suite *
control_suite (void)
{
  Suite *s = suite_create ("control");
  TCase *tc = tcase_create ("control");

  seed = test_seed (NULL);
  suite_add_tcase (s, tc);
  tcase_add_loop_test (tc, test_controlled, 0, G_N_ELEMENTS (controlled));
  tcase_add_test (tc, test_all_controllable_are_checked);
  tcase_add_test (tc, test_controller_while_another_sets);
  tcase_add_test (tc, test_one_thread_at_1_khz);
  tcase_add_test (tc, test_two_threads);
  tcase_add_test (tc, test_the_last_one_set_counts);
  tcase_add_test (tc, test_many_changes_at_once);
  return s;
}

GST_CHECK_MAIN (control);
