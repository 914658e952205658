/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tries whether the arguments are a pipeline that GStreamer can build, without
 * running it. */
#include <gst/gst.h>

int
main (int argc, char **argv)
{
  GError *error = NULL;
  GstElement *pipeline;

  gst_init (NULL, NULL);
  pipeline = gst_parse_launchv_full ((const gchar **) argv + 1, NULL,
      GST_PARSE_FLAG_FATAL_ERRORS, &error);
  if (pipeline == NULL) {
    g_printerr ("%s\n", error->message);
    g_clear_error (&error);
    return 1;
  }
  gst_object_unref (gst_object_ref_sink (pipeline));
  return 0;
}
