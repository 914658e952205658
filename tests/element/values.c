/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Properties: what is taken, what is refused, what a preset does, what plan
 * and stats say. */
#include "elementtest.h"

#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#define GREY_CAPS "video/x-raw,format=GRAY8,width=8,height=4,framerate=25/1"

/* ---- single values ---- */

/* GObject's word for it was a warning once, and is critical by now. */
#define ASSERT_REFUSED(code) G_STMT_START { \
  _gst_check_expecting_log = TRUE; \
  _gst_check_raised_warning = _gst_check_raised_critical = FALSE; \
  code; \
  _gst_check_expecting_log = FALSE; \
  fail_unless (_gst_check_raised_warning || _gst_check_raised_critical); \
} G_STMT_END

/* GObject itself refuses what is outside of a range, and says so. */
GST_START_TEST (test_out_of_range)
{
  static const gchar *const doubles[] = { "scale", "bias", "sigma", "sigma-y",
    "amount", "threshold", "angle"
  };
  static const gdouble bad[] = { NAN, INFINITY, -INFINITY, 1e300 };
  GstElement *element = gst_element_factory_make ("videoconvolve", NULL);
  /* The warnings are expected, also where a set-up makes them fatal. */
  GLogLevelFlags fatal = g_log_set_always_fatal (G_LOG_LEVEL_ERROR);

  for (guint i = 0; i < G_N_ELEMENTS (doubles); i++) {
    for (guint k = 0; k < G_N_ELEMENTS (bad); k++) {
      gchar *before = text_of (element, doubles[i]);

      ASSERT_REFUSED (g_object_set (element, doubles[i], bad[k], NULL));
      assert_value (element, doubles[i], before);
      g_free (before);
    }
  }
  ASSERT_REFUSED (g_object_set (element, "radius", 1025, NULL));
  assert_value (element, "radius", "-1");
  ASSERT_REFUSED (g_object_set (element, "levels", 17, NULL));
  assert_value (element, "levels", "4");
  ASSERT_REFUSED (g_object_set (element, "iterations", 0, NULL));
  assert_value (element, "iterations", "1");
  ASSERT_REFUSED (g_object_set (element, "filter", 99, NULL));
  assert_value (element, "filter", "gaussian");
  g_log_set_always_fatal (fatal);
  gst_object_unref (element);
}

GST_END_TEST;

/* Every property keeps what it is given; numbers can be animated. */
GST_START_TEST (test_every_property)
{
  static const struct
  {
    const gchar *name, *text;
    gboolean controllable;
  } cases[] = {
    {"backend", "cpu", FALSE}, {"filter", "emboss", FALSE},
    {"normalize", "false", FALSE}, {"scale", "2", TRUE}, {"bias", "0.5", TRUE},
    {"sigma", "1000", TRUE}, {"sigma-y", "3.5", TRUE}, {"radius", "1024", TRUE},
    {"amount", "-2", TRUE}, {"threshold", "0.25", TRUE},
    {"angle", "-720", TRUE}, {"gradient", "y", FALSE},
    {"border", "constant", FALSE}, {"border-color", "4278255360", TRUE},
    {"channels", "Luma and grey+Alpha", FALSE}, {"alpha-mode", "weighted",
        FALSE},
    {"clamp", "nominal", FALSE}, {"fields", "field", FALSE},
    {"roi-mode", "outside", FALSE}, {"roi-types", "face", FALSE},
    {"rois", NULL, FALSE},
    {"iterations", "3", TRUE}, {"levels", "7", FALSE},
    {"detail-gains", "< (double)1, (double)2.5 >", FALSE},
    {"method", "lowrank", FALSE},
    {"cuda-device-id", "3", FALSE}, {"frames-in-flight", "5", FALSE},
    {"bands", "7", FALSE}, {"n-threads", "2", FALSE}, {"kernel", NULL, FALSE},
    {"kernel-x", NULL, FALSE}, {"kernel-y", NULL, FALSE},
    {"kernel-location", NULL, FALSE}, {"kernel-t", NULL, FALSE},
    {"temporal-mode", "causal", FALSE},
  };
  GstElement *element = gst_element_factory_make ("videoconvolve", NULL);
  GObjectClass *klass = G_OBJECT_GET_CLASS (element);
  guint n, n_own = 0;
  GParamSpec **specs = g_object_class_list_properties (klass, &n);

  for (guint i = 0; i < n; i++)
    if (specs[i]->owner_type == G_OBJECT_TYPE (element)
        && (specs[i]->flags & G_PARAM_WRITABLE))
      n_own++;
  fail_unless_equals_int (n_own, G_N_ELEMENTS (cases));
  g_free (specs);

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    GParamSpec *spec = g_object_class_find_property (klass, cases[i].name);
    gboolean ready = strcmp (cases[i].name, "backend") == 0
        || strcmp (cases[i].name, "cuda-device-id") == 0;

    fail_unless (spec != NULL, "%s", cases[i].name);
    fail_unless_equals_int (!(spec->flags & GST_PARAM_CONTROLLABLE),
        !cases[i].controllable);
    fail_unless (spec->flags & (ready ? GST_PARAM_MUTABLE_READY :
            GST_PARAM_MUTABLE_PLAYING));
    if (cases[i].text != NULL) {
      set_text (element, cases[i].name, cases[i].text);
      assert_value (element, cases[i].name, cases[i].text);
    }
  }
  gst_object_unref (element);
}

GST_END_TEST;

/* ---- frames ---- */

/* A kernel of several frames and weights of frames exclude each other, and
 * weights of frames go with any filter. */
GST_START_TEST (test_frames)
{
  GstElement *element = gst_element_factory_make ("videoconvolve", NULL);
  GString *many = g_string_new ("<1");
  GstBus *bus = gst_bus_new ();

  gst_element_set_bus (element, bus);
  set_text (element, "kernel-t", "<1,2,1>");
  assert_value (element, "filter", "gaussian");
  assert_value (element, "kernel-t", "< (double)1, (double)2, (double)1 >");
  set_text (element, "kernel", "<<7,8>>");
  assert_value (element, "kernel-t", "< (double)1, (double)2, (double)1 >");
  set_text (element, "kernel", "<<<1,2>>,<<3,4>>>");
  assert_value (element, "kernel", "< (array)< (array)< (double)1, (double)2 > "
      ">, (array)< (array)< (double)3, (double)4 > > >");
  assert_value (element, "kernel-t", "<  >");
  set_text (element, "kernel-t", "<5,6>");
  assert_value (element, "kernel", "<  >");
  assert_value (element, "kernel-t", "< (double)5, (double)6 >");
  set_text (element, "kernel-t", "<>");
  assert_value (element, "kernel-t", "<  >");
  assert_no_message (bus, GST_MESSAGE_WARNING);

  for (guint i = 1; i < 130; i++)
    g_string_append (many, ",1");
  g_string_append_c (many, '>');
  set_text (element, "kernel-t", many->str);
  assert_refused (bus, "130 frames are too many: at most 129");
  g_string_truncate (many, many->len - 3);
  g_string_append_c (many, '>');
  set_text (element, "kernel-t", many->str);
  assert_no_message (bus, GST_MESSAGE_WARNING);
  g_string_free (many, TRUE);
  gst_element_set_bus (element, NULL);
  gst_bus_set_flushing (bus, TRUE);
  gst_object_unref (bus);
  gst_object_unref (element);
}

GST_END_TEST;

/* ---- what fails only with caps at hand ---- */

GST_START_TEST (test_plan_error)
{
  GstHarness *h = element_harness ("videoconvolve backend=cpu filter=disk "
      "radius=2 method=separable", NULL);
  GstBus *bus = bus_of (h);

  gst_harness_set_src_caps_str (h, GREY_CAPS);
  fail_unless_equals_int (gst_harness_push (h, filled_buffer (32, 9, 0)),
      GST_FLOW_NOT_NEGOTIATED);
  assert_message (bus, GST_MESSAGE_ERROR, GST_LIBRARY_ERROR,
      GST_LIBRARY_ERROR_SETTINGS, "method");
  gst_bus_set_flushing (bus, TRUE);     /* each attempt says it again */
  gst_bus_set_flushing (bus, FALSE);

  /* Repaired, it works; and while it runs a bad combination changes nothing. */
  set_text (h->element, "filter", "box");
  gst_harness_set_src_caps_str (h, GREY_CAPS);
  assert_filled (filter_one (h, filled_buffer (32, 9, 1)), 9);
  assert_no_message (bus, GST_MESSAGE_WARNING | GST_MESSAGE_ERROR);
  set_text (h->element, "filter", "disk");
  assert_filled (filter_one (h, filled_buffer (32, 9, 2)), 9);
  assert_message (bus, GST_MESSAGE_WARNING, GST_LIBRARY_ERROR,
      GST_LIBRARY_ERROR_SETTINGS, "method");
  assert_filled (filter_one (h, filled_buffer (32, 9, 3)), 9);
  assert_no_message (bus, GST_MESSAGE_WARNING | GST_MESSAGE_ERROR);
  bus_done (h, bus);
  gst_harness_teardown (h);
}

GST_END_TEST;

/* This build's plugin, or this machine, has no CUDA: a clear error, and the
 * same element works with another backend. */
GST_START_TEST (test_backend_cannot_be_had)
{
  GstElement *element = gst_element_factory_make ("videoconvolve", NULL);
  GstBus *bus = gst_bus_new ();
  GstStateChangeReturn ret;

  gst_element_set_bus (element, bus);
  set_text (element, "backend", "cuda");
  ret = gst_element_set_state (element, GST_STATE_PAUSED);
  if (ret == GST_STATE_CHANGE_FAILURE)
    assert_message (bus, GST_MESSAGE_ERROR, GST_RESOURCE_ERROR,
        GST_RESOURCE_ERROR_NOT_FOUND, "backend=cuda cannot be had");
  gst_element_set_state (element, GST_STATE_NULL);
  set_text (element, "backend", "auto");
  fail_unless (gst_element_set_state (element, GST_STATE_PAUSED)
      != GST_STATE_CHANGE_FAILURE);
  gst_element_set_state (element, GST_STATE_NULL);
  gst_element_set_bus (element, NULL);
  gst_bus_set_flushing (bus, TRUE);
  gst_object_unref (bus);
  gst_object_unref (element);
}

GST_END_TEST;

/* ---- presets, plan, stats ---- */

/* What GStreamer leaves of a user who stored a preset before those that come
 * with the element were there: its own version, and nothing of them. */
static void
store_own_preset (void)
{
  gchar *folder = g_build_filename (g_get_user_data_dir (), "gstreamer-1.0",
      "presets", NULL);
  gchar *path = g_build_filename (folder, "GstVideoConvolve.prs", NULL);
  gchar *text = g_strdup_printf ("[_presets_]\nelement-name=GstVideoConvolve\n"
      "version=%d.%d.0\n\n[test own]\n_meta/comment=a box\nfilter=box\n",
      GST_VERSION_MAJOR, GST_VERSION_MINOR);

  /* Never among what a user has really stored. */
  fail_unless (g_getenv ("XDG_DATA_HOME") != NULL, "XDG_DATA_HOME is not set");
  fail_unless_equals_int (g_mkdir_with_parents (folder, 0755), 0);
  fail_unless (g_file_set_contents (path, text, -1, NULL));
  g_free (text);
  g_free (path);
  g_free (folder);
}

GST_START_TEST (test_presets)
{
  GstHarness *h = element_harness ("videoconvolve backend=cpu", GREY_CAPS);
  GstPreset *preset = GST_PRESET (h->element);
  GstBus *bus = bus_of (h);
  gchar **names = gst_preset_get_preset_names (preset);
  guint n = g_strv_length (names);

  fail_unless (n >= 17, "only %u presets", n);
  fail_unless (g_strv_contains ((const gchar * const *) names, "test own"));
  for (guint i = 0; i < n; i++) {
    gchar *comment = NULL;

    fail_unless (gst_preset_get_meta (preset, names[i], "comment", &comment));
    g_free (comment);
    fail_unless (gst_preset_load_preset (preset, names[i]), "%s", names[i]);
    fail_unless_equals_int (gst_harness_push (h, filled_buffer (32, 9, i)),
        GST_FLOW_OK);
    gst_harness_push_event (h, gst_event_new_gap (0, 1));
    gst_buffer_unref (gst_harness_pull (h));
    assert_no_message (bus, GST_MESSAGE_WARNING | GST_MESSAGE_ERROR);
  }
  fail_unless (gst_preset_load_preset (preset, "Pencil edges"));
  assert_filled (filter_one (h, filled_buffer (32, 9, n)), 255);
  fail_unless (gst_preset_load_preset (preset, "Fine detail off"));
  assert_value (h->element, "levels", "2");
  assert_value (h->element, "detail-gains", "< (double)0.25, (double)0.5 >");
  fail_unless (gst_preset_load_preset (preset, "Frame difference"));
  assert_value (h->element, "kernel-t", "< (double)-1, (double)1 >");
  assert_filled (filter_one (h, filled_buffer (32, 9, n + 1)), 128);
  fail_unless (gst_preset_load_preset (preset, "Strong blur"));
  assert_value (h->element, "kernel-t", "<  >");
  assert_value (h->element, "filter", "gaussian");
  assert_value (h->element, "sigma", "12");
  assert_value (h->element, "scale", "1");
  g_strfreev (names);
  bus_done (h, bus);
  gst_harness_teardown (h);
}

GST_END_TEST;

/* A preset that an application stored has every property, the unset ones
 * empty. Setting them in the class's order gives back what was stored. */
GST_START_TEST (test_order_of_properties)
{
  GstElement *from = gst_element_factory_make ("videoconvolve", NULL);
  GstHarness *h = gst_harness_new ("videoconvolve");
  GstBus *bus = bus_of (h);
  guint n;
  GParamSpec **specs;

  set_text (from, "kernel-x", "<1,2>");
  set_text (from, "filter", "sobel");
  specs = g_object_class_list_properties (G_OBJECT_GET_CLASS (from), &n);
  for (guint i = 0; i < n; i++) {
    GValue value = G_VALUE_INIT;

    if (specs[i]->owner_type != G_OBJECT_TYPE (from)
        || !(specs[i]->flags & G_PARAM_WRITABLE))
      continue;
    g_object_get_property (G_OBJECT (from), specs[i]->name, &value);
    g_object_set_property (G_OBJECT (h->element), specs[i]->name, &value);
    g_value_unset (&value);
  }
  assert_no_message (bus, GST_MESSAGE_WARNING);
  assert_value (h->element, "kernel-x", "< (double)1, (double)2 >");
  assert_value (h->element, "filter", "sobel");
  g_free (specs);
  gst_object_unref (from);
  bus_done (h, bus);
  gst_harness_teardown (h);
}

GST_END_TEST;

/* Weights that a preset stored as empty are not left over from before it, and
 * a preset for another filter keeps them. */
GST_START_TEST (test_preset_replaces_weights)
{
  GstElement *blur = gst_element_factory_make ("videoconvolve", NULL);
  GstElement *row = gst_element_factory_make ("videoconvolve", NULL);
  GstHarness *h = element_harness ("videoconvolve", NULL);
  GstPreset *preset = GST_PRESET (h->element);
  GstBus *bus = bus_of (h);

  set_text (row, "kernel-x", "<1,2>");
  fail_unless (gst_preset_save_preset (GST_PRESET (row), "test row"));
  fail_unless (gst_preset_save_preset (GST_PRESET (blur), "test blur"));

  set_text (h->element, "kernel-y", "<3,4>");
  set_text (h->element, "kernel-x", "<5>");
  fail_unless (gst_preset_load_preset (preset, "test row"));
  assert_value (h->element, "kernel-x", "< (double)1, (double)2 >");
  assert_value (h->element, "kernel-y", "<  >");
  fail_unless (gst_preset_load_preset (preset, "test blur"));
  fail_if (gst_preset_load_preset (preset, "test none"));
  assert_value (h->element, "filter", "gaussian");
  assert_value (h->element, "kernel-x", "< (double)1, (double)2 >");
  set_text (h->element, "kernel", "<<6>>");
  fail_unless (gst_preset_load_preset (preset, "test row"));
  assert_value (h->element, "kernel", "<  >");
  assert_no_message (bus, GST_MESSAGE_WARNING);

  gst_preset_delete_preset (preset, "test row");
  gst_preset_delete_preset (preset, "test blur");
  gst_object_unref (blur);
  gst_object_unref (row);
  bus_done (h, bus);
  gst_harness_teardown (h);
}

GST_END_TEST;

static guint64
stat_of (GstElement * element, const gchar * name)
{
  GstStructure *stats;
  guint64 value;

  g_object_get (element, "stats", &stats, NULL);
  fail_unless_equals_string (gst_structure_get_name (stats),
      "videoconvolve-stats");
  fail_unless (gst_structure_get_uint64 (stats, name, &value), "%s", name);
  gst_structure_free (stats);
  return value;
}

GST_START_TEST (test_plan_and_stats)
{
  GstHarness *h = element_harness ("videoconvolve backend=cpu filter=box "
      "radius=1", NULL);
  gchar *plan;

  g_object_get (h->element, "plan", &plan, NULL);
  fail_unless (plan == NULL);
  fail_unless_equals_uint64 (stat_of (h->element, "frames"), 0);

  gst_harness_set_src_caps_str (h, GREY_CAPS);
  for (guint i = 0; i < 3; i++)
    assert_filled (filter_one (h, filled_buffer (32, 9, i)), 9);
  g_object_get (h->element, "plan", &plan, NULL);
  fail_unless (strstr (plan, "separable 3x3") != NULL, "%s", plan);
  g_free (plan);
  fail_unless_equals_uint64 (stat_of (h->element, "frames"), 3);
  fail_unless_equals_uint64 (stat_of (h->element, "passed-through"), 0);

  /* More threads are another device; what was counted stays counted. */
  g_object_set (h->element, "n-threads", 2, NULL);
  assert_filled (filter_one (h, filled_buffer (32, 9, 3)), 9);
  fail_unless_equals_uint64 (stat_of (h->element, "frames"), 4);

  set_text (h->element, "filter", "identity");
  assert_filled (filter_one (h, filled_buffer (32, 9, 4)), 9);
  g_object_get (h->element, "plan", &plan, NULL);
  fail_unless_equals_string (plan, "passthrough");
  g_free (plan);
  fail_unless_equals_uint64 (stat_of (h->element, "frames"), 4);
  fail_unless_equals_uint64 (stat_of (h->element, "passed-through"), 1);
  gst_harness_teardown (h);
}

GST_END_TEST;

/* ---- the plugin ---- */

GST_START_TEST (test_plugin)
{
  GstElementFactory *factory = gst_element_factory_find ("videoconvolve");
  GstPlugin *loaded = gst_plugin_feature_load (GST_PLUGIN_FEATURE (factory))
      ? gst_registry_find_plugin (gst_registry_get (), "convolve") : NULL;

  fail_unless (loaded != NULL);
  fail_unless_equals_string (gst_plugin_get_license (loaded), "LGPL");
  fail_unless (gst_registry_check_feature_version (gst_registry_get (),
          "videoconvolve", 0, 1, 0));
  fail_unless_equals_int (gst_plugin_feature_get_rank (GST_PLUGIN_FEATURE
          (factory)), GST_RANK_NONE);
  fail_unless_equals_string (gst_element_factory_get_metadata (factory,
          GST_ELEMENT_METADATA_KLASS), "Filter/Effect/Video/Hardware");
  gst_object_unref (loaded);
  gst_object_unref (factory);
}

GST_END_TEST;

static Suite *
values_suite (void)
{
  Suite *s = suite_create ("values");
  TCase *tc = tcase_create ("values");

  suite_add_tcase (s, tc);
  tcase_add_unchecked_fixture (tc, store_own_preset, NULL);
  tcase_add_test (tc, test_out_of_range);
  tcase_add_test (tc, test_every_property);
  tcase_add_test (tc, test_plan_error);
  tcase_add_test (tc, test_backend_cannot_be_had);
  tcase_add_test (tc, test_frames);
  tcase_add_test (tc, test_presets);
  tcase_add_test (tc, test_order_of_properties);
  tcase_add_test (tc, test_preset_replaces_weights);
  tcase_add_test (tc, test_plan_and_stats);
  tcase_add_test (tc, test_plugin);
  return s;
}

GST_CHECK_MAIN (values);
