/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the tests of the element share: buffers with known samples, and a harness that speaks videoconvolve. */
#pragma once

#include <gst/check/gstcheck.h>
#include <gst/check/gstharness.h>
#include <gst/video/video.h>

/* A harness of launch's element ("videoconvolve filter=box") with an accepting sink and src caps set. Properties in the
 * environment's ELEMENT_TEST_PROPERTIES hold where launch does not name them. With ELEMENT_TEST_KEEPS_DEVICE set, an
 * element that does nothing keeps the device open as long as the process lives. */
GstHarness *element_harness (const gchar * launch, const gchar * caps);

/* A buffer of size bytes, each of them value, with a timestamp of n frames at 25 a second. */
GstBuffer *filled_buffer (gsize size, guint8 value, guint n);
/* GRAY8 rows of width x height (width a multiple of 4) from samples, or black with one pixel of 10 in the middle. */
GstBuffer *grey_buffer (guint width, guint height, const guint8 * samples, guint n);
GstBuffer *impulse_buffer (guint width, guint height, guint n);

/* Fails unless the buffer's picture of GRAY8 width x height is expected; honours a video meta. Takes the buffer. */
void assert_grey (GstBuffer * buffer, guint width, guint height, const guint8 * expected);
/* Fails unless all bytes of the buffer are value. Takes it. */
void assert_filled (GstBuffer * buffer, guint8 value);

/* Pushes and pulls one. */
GstBuffer *filter_one (GstHarness * h, GstBuffer * buffer);

/* A bus for the harness's element, and away with it: messages on it hold the element. */
GstBus *bus_of (GstHarness * h);
void bus_done (GstHarness * h, GstBus * bus);
/* Fails unless the next message is of that type, domain and code, and its text has part in it. */
void assert_message (GstBus * bus, GstMessageType type, GQuark domain, gint code, const gchar * part);
void assert_no_message (GstBus * bus, GstMessageType types);

/* The longest that a test of threads runs. */
#define STRESS_SECONDS 0.3
/* The value of a property as text; the caller frees it. */
gchar *text_of (GstElement * element, const gchar * name);
void assert_value (GstElement * element, const gchar * name, const gchar * expected);
/* Sets a property as gst-launch does. */
void set_text (GstElement * element, const gchar * name, const gchar * text);
/* The warning about a value that the element does not take, with part in its text. */
void assert_refused (GstBus * bus, const gchar * part);
