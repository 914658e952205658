/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Weights of the custom filter as property values: what is taken and what is
 * refused. */
#include "elementtest.h"

#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#define GREY_CAPS "video/x-raw,format=GRAY8,width=8,height=4,framerate=25/1"

/* ---- custom kernels ---- */

GST_START_TEST (test_kernel_forms)
{
  static const struct
  {
    const gchar *name, *text, *value;
  } cases[] = {
    {"kernel", "<<1>>", "< (array)< (double)1 > >"},
    {"kernel", "<<0,1.5>,<-1,2>>", "< (array)< (double)0, (double)1.5 >, "
          "(array)< (double)-1, (double)2 > >"},
    {"kernel", "<<(double)1,(int)2,(float)0.5,1/4>>",
        "< (array)< (double)1, (double)2, (double)0.5, (double)0.25 > >"},
    {"kernel-x", "<1,2,1>", "< (double)1, (double)2, (double)1 >"},
    {"kernel-y", "<1,-1e2>", "< (double)1, (double)-100 >"},
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    GstElement *element = gst_element_factory_make ("videoconvolve", NULL);

    set_text (element, cases[i].name, cases[i].text);
    assert_value (element, cases[i].name, cases[i].value);
    assert_value (element, "filter", "custom");
    gst_object_unref (element);
  }
}

GST_END_TEST;

/* The last one set counts. */
GST_START_TEST (test_kernels_replace_each_other)
{
  GstElement *element = gst_element_factory_make ("videoconvolve", NULL);

  set_text (element, "kernel", "<<1,2>>");
  set_text (element, "kernel-x", "<3>");
  set_text (element, "kernel-y", "<4>");
  assert_value (element, "kernel", "<  >");
  assert_value (element, "kernel-x", "< (double)3 >");
  assert_value (element, "kernel-y", "< (double)4 >");
  set_text (element, "kernel", "<<5>>");
  assert_value (element, "kernel-x", "<  >");
  assert_value (element, "kernel-y", "<  >");
  set_text (element, "filter", "sobel");
  assert_value (element, "kernel", "< (array)< (double)5 > >");
  gst_object_unref (element);
}

GST_END_TEST;

static void
take_row (GValue * array, guint n, gdouble weight)
{
  GValue row = G_VALUE_INIT;

  g_value_init (&row, GST_TYPE_ARRAY);
  for (guint i = 0; i < n; i++) {
    GValue value = G_VALUE_INIT;

    g_value_init (&value, G_TYPE_DOUBLE);
    g_value_set_double (&value, weight);
    gst_value_array_append_and_take_value (&row, &value);
  }
  gst_value_array_append_and_take_value (array, &row);
}

static void
set_rows (GstElement * element, guint width, guint height, gdouble weight)
{
  GValue array = G_VALUE_INIT;

  g_value_init (&array, GST_TYPE_ARRAY);
  for (guint y = 0; y < height; y++)
    take_row (&array, width, weight);
  g_object_set_property (G_OBJECT (element), "kernel", &array);
  g_value_unset (&array);
}

GST_START_TEST (test_kernel_refused)
{
  static const struct
  {
    const gchar *name, *text, *part;
  } cases[] = {
    {"kernel", "<>", "kernel keeps its value: the array of rows is empty"},
    {"kernel", "<<>>", "row 1: a row is empty"},
    {"kernel", "<<1,2>,<3>>", "row 2 has 1 column "},
    {"kernel", "<1,2,1>", "row 1 is not an array"},
    {"kernel", "<<1,2>,3>", "row 2 is not an array"},
    {"kernel", "<<1,2>,<3,many>>", "row 2, column 2 is not a number"},
    {"kernel", "<<1,true>>", "row 1, column 2 is not a number"},
    {"kernel", "<<1,2>,<3,(double)inf>>", "row 2, column 2"},
    {"kernel", "<<(double)nan,2>>", "row 1, column 1"},
    {"kernel", "<<1,1000001>>", "row 1, column 2"},
    {"kernel", "<<<1>,<2>>,<<3>>>", "matrix 2: 1 row where the first one has "
          "2"},
    {"kernel", "<<<1,2>>,<<3>>>", "matrix 2: row 1 has 1 column where"},
    {"kernel", "<<<1>,<2>>,3>", "matrix 2: not an array of rows"},
    {"kernel", "<<<1>,<2>>,<3,4>>", "matrix 2: row 1 is not an array"},
    {"kernel", "<<<1>,<2>>,<>>", "matrix 2: the array of rows is empty"},
    {"kernel", "<<<1>>,<<2000000>>>",
        "matrix 2: the weight in row 1, column 1"},
    {"kernel-x", "<>", "kernel-x keeps its value"},
    {"kernel-x", "<1,x>", "column 2 is not a number"},
    {"kernel-y", "<<1>>", "not a number"},
    {"kernel-t", "<1,x>", "kernel-t keeps its value: row 1, column 2 is not a "
          "number"},
    {"kernel-t", "<1,(double)inf>", "not a finite number"},
    {"kernel-t", "<<1>>", "not a number"},
    {"kernel-location", "/nonexistent/kernel.txt", "/nonexistent/kernel.txt"},
    {"kernel-location", "/dev/zero", "regular file"},
    {"kernel-location", "/", "regular file"},
  };
  GstHarness *h = gst_harness_new ("videoconvolve");
  GstBus *bus = bus_of (h);

  set_text (h->element, "kernel-x", "<7,8>");
  set_text (h->element, "kernel-y", "<9>");
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    /* Where a value is unset, an empty one changes nothing: see presets. */
    if (i == 0)
      set_text (h->element, "kernel", "<<7,8>>");
    if (g_str_has_prefix (cases[i].name, "kernel-x")) {
      set_text (h->element, "kernel-x", "<7,8>");
      set_text (h->element, "kernel-y", "<9>");
    }
    set_text (h->element, cases[i].name, cases[i].text);
    assert_refused (bus, cases[i].part);
    if (g_str_has_prefix (cases[i].name, "kernel-"))
      assert_value (h->element, "kernel-x", "< (double)7, (double)8 >");
    else
      assert_value (h->element, "kernel",
          "< (array)< (double)7, (double)8 > >");
  }
  bus_done (h, bus);
  gst_harness_teardown (h);
}

GST_END_TEST;

/* Whatever an application puts in the array; the text names it and is short. */
GST_START_TEST (test_strange_values_refused)
{
  static const gchar *const names[] = { "kernel-x", "rois" };
  GType types[] = { GST_TYPE_STRUCTURE, GST_TYPE_CAPS, GST_TYPE_LIST,
    GST_TYPE_FRACTION_RANGE, G_TYPE_POINTER, G_TYPE_OBJECT, G_TYPE_STRING
  };
  GstHarness *h = gst_harness_new ("videoconvolve");
  GstBus *bus = bus_of (h);

  for (guint i = 0; i < G_N_ELEMENTS (types); i++) {
    for (guint k = 0; k < G_N_ELEMENTS (names); k++) {
      GValue row = G_VALUE_INIT, rows = G_VALUE_INIT;

      g_value_init (&row, GST_TYPE_ARRAY);
      g_value_init (&rows, GST_TYPE_ARRAY);
      for (guint n = 0; n < 4; n++) {
        GValue value = G_VALUE_INIT;

        g_value_init (&value, types[i]);
        gst_value_array_append_and_take_value (&row, &value);
      }
      gst_value_array_append_value (&rows, &row);
      g_object_set_property (G_OBJECT (h->element), names[k],
          k == 0 ? &row : &rows);
      assert_refused (bus, types[i] == G_TYPE_STRING ? "NULL" :
          g_type_name (types[i]));
      g_value_unset (&row);
      g_value_unset (&rows);
    }
  }
  bus_done (h, bus);
  gst_harness_teardown (h);
}

GST_END_TEST;

GST_START_TEST (test_long_text_refused)
{
  GstHarness *h = gst_harness_new ("videoconvolve");
  GstBus *bus = bus_of (h);
  gchar *word = g_strnfill (5000, 'x');
  gchar *text = g_strdup_printf ("<1,%s>", word);
  GstMessage *message;
  GError *error;

  set_text (h->element, "kernel-x", text);
  message = gst_bus_pop_filtered (bus, GST_MESSAGE_WARNING);
  fail_unless (message != NULL);
  gst_message_parse_warning (message, &error, NULL);
  fail_unless (strstr (error->message, "xx...") != NULL);
  fail_unless (strlen (error->message) < 200);
  g_error_free (error);
  gst_message_unref (message);
  g_free (text);
  g_free (word);
  bus_done (h, bus);
  gst_harness_teardown (h);
}

GST_END_TEST;

GST_START_TEST (test_kernel_sizes)
{
  static const struct
  {
    guint width, height;
    gboolean ok;
  } cases[] = {
    {129, 129, TRUE}, {130, 129, FALSE}, {129, 130, FALSE}, {2049, 1, TRUE},
    {1, 2049, TRUE}, {2050, 1, FALSE}, {1, 2050, FALSE}, {3000, 3000, FALSE},
    {130, 2, FALSE},
  };
  GstHarness *h = gst_harness_new ("videoconvolve");
  GstBus *bus = bus_of (h);

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    set_rows (h->element, cases[i].width, cases[i].height, 1);
    if (cases[i].ok)
      assert_no_message (bus, GST_MESSAGE_WARNING);
    else
      assert_refused (bus, "kernel keeps its value");
  }
  set_rows (h->element, 1, 1, NAN);
  assert_refused (bus, "row 1, column 1");
  set_rows (h->element, 1, 1, -INFINITY);
  assert_refused (bus, "row 1, column 1");
  bus_done (h, bus);
  gst_harness_teardown (h);
}

GST_END_TEST;

GST_START_TEST (test_kernel_location)
{
  gchar *dir = g_dir_make_tmp ("videoconvolve-XXXXXX", NULL);
  gchar *path = g_build_filename (dir, "kernel.txt", NULL);
  GstHarness *h = gst_harness_new ("videoconvolve");
  GstBus *bus = bus_of (h);

  fail_unless (g_file_set_contents (path, "# shift\n0 0 1\n", -1, NULL));
  set_text (h->element, "kernel-location", path);
  assert_value (h->element, "filter", "custom");
  assert_value (h->element, "kernel",
      "< (array)< (double)0, (double)0, (double)1 > >");

  /* A bad file: the weights and the name of the good one stay. */
  fail_unless (g_file_set_contents (path, "1 2\n3\n", -1, NULL));
  set_text (h->element, "kernel-location", path);
  assert_refused (bus, "line 2");
  assert_value (h->element, "kernel",
      "< (array)< (double)0, (double)0, (double)1 > >");

  set_text (h->element, "kernel", "<<1>>");
  g_object_set (h->element, "kernel-location", NULL, NULL);
  assert_value (h->element, "kernel", "< (array)< (double)1 > >");
  g_remove (path);
  g_rmdir (dir);
  g_free (path);
  g_free (dir);
  bus_done (h, bus);
  gst_harness_teardown (h);
}

GST_END_TEST;

/* What was refused before there was a bus is said at start. */
GST_START_TEST (test_refused_before_start)
{
  GstElement *element = gst_element_factory_make ("videoconvolve", NULL);
  GstBus *bus = gst_bus_new ();

  set_text (element, "kernel", "<<1,2>,<3>>");
  set_text (element, "kernel-x", "<x>");
  gst_element_set_bus (element, bus);
  assert_no_message (bus, GST_MESSAGE_WARNING);
  gst_element_set_state (element, GST_STATE_PAUSED);
  assert_refused (bus, "row 2 has 1 column ");
  assert_refused (bus, "kernel-x keeps its value");
  gst_element_set_state (element, GST_STATE_NULL);
  gst_element_set_bus (element, NULL);
  gst_bus_set_flushing (bus, TRUE);
  gst_object_unref (bus);
  gst_object_unref (element);
}

GST_END_TEST;

static Suite *
weights_suite (void)
{
  Suite *s = suite_create ("weights");
  TCase *tc = tcase_create ("weights");

  suite_add_tcase (s, tc);
  tcase_add_test (tc, test_kernel_forms);
  tcase_add_test (tc, test_kernels_replace_each_other);
  tcase_add_test (tc, test_kernel_refused);
  tcase_add_test (tc, test_strange_values_refused);
  tcase_add_test (tc, test_long_text_refused);
  tcase_add_test (tc, test_kernel_sizes);
  tcase_add_test (tc, test_kernel_location);
  tcase_add_test (tc, test_refused_before_start);
  return s;
}

GST_CHECK_MAIN (weights);
