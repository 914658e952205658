/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "pipelinetest.h"

#include <gst/app/gstappsink.h>

#define CUDA "video/x-raw(memory:CUDAMemory)"

/* ---- frames ---- */

void
fail_on_error (GstElement * pipeline, const gchar * line)
{
  GstBus *bus = gst_element_get_bus (pipeline);
  GstMessage *message = gst_bus_pop_filtered (bus, GST_MESSAGE_ERROR);

  if (message != NULL) {
    GError *error;
    gchar *debug;

    gst_message_parse_error (message, &error, &debug);
    fail ("%s: %s (%s)", line, error->message, debug);
  }
  gst_object_unref (bus);
}

void
append_frame (GByteArray * bytes, GstSample * sample)
{
  GstVideoInfo info;
  GstVideoFrame frame;

  fail_unless (gst_video_info_from_caps (&info, gst_sample_get_caps (sample)));
  fail_unless (gst_video_frame_map (&frame, &info,
          gst_sample_get_buffer (sample), GST_MAP_READ));
  for (guint p = 0; p < GST_VIDEO_FRAME_N_PLANES (&frame); p++) {
    gint components[GST_VIDEO_MAX_COMPONENTS];
    guint c, width, height;

    gst_video_format_info_component (info.finfo, p, components);
    c = components[0];
    width = GST_VIDEO_FRAME_COMP_WIDTH (&frame, c) *
        GST_VIDEO_FRAME_COMP_PSTRIDE (&frame, c);
    height = GST_VIDEO_FRAME_COMP_HEIGHT (&frame, c);
    for (guint y = 0; y < height; y++)
      g_byte_array_append (bytes,
          (guint8 *) GST_VIDEO_FRAME_PLANE_DATA (&frame, p) +
          y * GST_VIDEO_FRAME_PLANE_STRIDE (&frame, p), width);
  }
  gst_video_frame_unmap (&frame);
}

void
assert_close (const gchar * what, GByteArray * a, GByteArray * b, guint word,
    guint step, guint limit)
{
  guint64 different = 0;
  guint worst_at = 0;
  gint worst = 0;

  fail_unless_equals_int (a->len, b->len);
  for (guint i = 0; i + word <= a->len; i += word) {
    gint x = word == 1 ? a->data[i] : GST_READ_UINT16_LE (a->data + i);
    gint y = word == 1 ? b->data[i] : GST_READ_UINT16_LE (b->data + i);

    different += x != y;
    if (ABS (x - y) > worst) {
      worst = ABS (x - y);
      worst_at = i / word;
    }
  }
  fail_unless (worst <= (gint) (limit * step), "%s: sample %u is %d off", what,
      worst_at, worst);
  GST_INFO ("%s: %" G_GUINT64_FORMAT " of %u differ", what, different,
      a->len / word);
  g_byte_array_unref (a);
  g_byte_array_unref (b);
}

/* ---- running ---- */

static GstElement *
launch (const gchar * line)
{
  gchar *whole = g_strconcat (line, " ! appsink name=sink sync=false", NULL);
  GError *error = NULL;
  GstElement *pipeline = gst_parse_launch (whole, &error);

  fail_unless (pipeline != NULL && error == NULL, "%s: %s", line,
      error ? error->message : "no pipeline");
  g_free (whole);
  return pipeline;
}

/* Takes the pipeline. */
static GByteArray *
pull_all (GstElement * pipeline, const gchar * line)
{
  GByteArray *bytes = g_byte_array_new ();
  GstElement *sink = gst_bin_get_by_name (GST_BIN (pipeline), "sink");
  GstSample *sample;
  guint n = 0;

  if (gst_element_set_state (pipeline, GST_STATE_PLAYING)
      == GST_STATE_CHANGE_FAILURE) {
    fail_on_error (pipeline, line);
    fail ("%s: does not start", line);
  }
  while ((sample = gst_app_sink_pull_sample (GST_APP_SINK (sink)))) {
    append_frame (bytes, sample);
    gst_sample_unref (sample);
    n++;
  }
  fail_on_error (pipeline, line);
  fail_unless (n > 0, "%s: no frame came out", line);
  gst_element_set_state (pipeline, GST_STATE_NULL);
  gst_object_unref (sink);
  gst_object_unref (pipeline);
  return bytes;
}

GByteArray *
pipeline_run (const gchar * format, ...)
{
  GByteArray *bytes;
  va_list args;
  gchar *line;

  va_start (args, format);
  line = g_strdup_vprintf (format, args);
  va_end (args);
  bytes = pull_all (launch (line), line);
  g_free (line);
  return bytes;
}

/* ---- memories ---- */

const PipelineFormat pipeline_formats[] = {
  {"NV12", 1, 1}, {"I420", 1, 1}, {"RGBA", 1, 1}, {"BGR", 1, 1},
  {"YUY2", 1, 1}, {"P010_10LE", 2, 64}, {"I420_10LE", 2, 1},
  {"Y444_16LE", 2, 1}, {"GBR", 1, 1},
};

const guint n_pipeline_formats = G_N_ELEMENTS (pipeline_formats);

/* What stands before and after the element, and the memory that this brings to
 * its pads. */
typedef struct
{
  const gchar *type, *text;
} Side;

enum
{ ORDINARY, PINNED, DEVICE, N_MEMORIES };

static const Side sources[N_MEMORIES] = {
  {GST_ALLOCATOR_SYSMEM, "! identity drop-allocation=true"},
  {"PinnedHostMemory", ""},
  {"gst.cuda.memory", "! cudaupload ! " CUDA},
};

/* Ordinary memory: answer_with_ordinary_pool(). */
static const Side sinks[N_MEMORIES] = {
  {GST_ALLOCATOR_SYSMEM, "! video/x-raw"},
  {"PinnedHostMemory", "! video/x-raw"},
  {"gst.cuda.memory", "! " CUDA " ! cudadownload"},
};

static GstPadProbeReturn
check_memory_type (GstPad * pad, GstPadProbeInfo * info, gpointer type)
{
  GstMemory *memory =
      gst_buffer_peek_memory (GST_PAD_PROBE_INFO_BUFFER (info), 0);

  fail_unless_equals_string (memory->allocator->mem_type, type);
  return GST_PAD_PROBE_OK;
}

static GstPadProbeReturn
answer_with_ordinary_pool (GstPad * pad, GstPadProbeInfo * info, gpointer data)
{
  GstQuery *query = GST_PAD_PROBE_INFO_QUERY (info);
  GstBufferPool *pool;
  GstVideoInfo video;
  GstCaps *caps;

  if (GST_QUERY_TYPE (query) != GST_QUERY_ALLOCATION)
    return GST_PAD_PROBE_OK;
  gst_query_parse_allocation (query, &caps, NULL);
  fail_unless (gst_video_info_from_caps (&video, caps));
  pool = gst_video_buffer_pool_new ();
  gst_query_add_allocation_pool (query, pool, video.size, 0, 0);
  gst_object_unref (pool);
  return GST_PAD_PROBE_HANDLED;
}

static void
add_probe (GstElement * pipeline, const gchar * name, const gchar * pad_name,
    GstPadProbeType type, GstPadProbeCallback callback, const gchar * data)
{
  GstElement *element = gst_bin_get_by_name (GST_BIN (pipeline), name);
  GstPad *pad = gst_element_get_static_pad (element, pad_name);

  gst_pad_add_probe (pad, type, callback, (gpointer) data, NULL);
  gst_object_unref (pad);
  gst_object_unref (element);
}

static GByteArray *
run_between (const gchar * source, const gchar * filter, guint in, guint out)
{
  gchar *line = g_strdup_printf ("%s %s ! videoconvolve name=v backend=cuda %s "
      "%s", source, sources[in].text, filter, sinks[out].text);
  GstElement *pipeline = launch (line);
  GByteArray *bytes;

  add_probe (pipeline, "v", "sink", GST_PAD_PROBE_TYPE_BUFFER,
      check_memory_type, sources[in].type);
  add_probe (pipeline, "v", "src", GST_PAD_PROBE_TYPE_BUFFER,
      check_memory_type, sinks[out].type);
  if (out == ORDINARY)
    add_probe (pipeline, "sink", "sink", GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM,
        answer_with_ordinary_pool, NULL);
  bytes = pull_all (pipeline, line);
  g_free (line);
  return bytes;
}

void
check_memories (const PipelineFormat * format, gint width, gint height,
    guint n_frames, const gchar * filter, gboolean every)
{
  gchar *source = g_strdup_printf ("videotestsrc num-buffers=%u "
      "pattern=zone-plate kx2=20 ky2=20 kt=1 "
      "! video/x-raw,format=%s,width=%d,height=%d", n_frames, format->format,
      width, height);
  GByteArray *first = run_between (source, filter, ORDINARY, ORDINARY);

  for (guint in = ORDINARY; in < N_MEMORIES; in++)
    for (guint out = ORDINARY; out < N_MEMORIES; out++) {
      gchar *what = g_strdup_printf ("%s, %s, from %s to %s", format->format,
          filter, sources[in].type, sinks[out].type);

      if (in + out > 0 && (every || (in > ORDINARY && out > ORDINARY)))
        assert_close (what, g_byte_array_ref (first),
            run_between (source, filter, in, out), 1, 1, 0);
      g_free (what);
    }
  assert_close (filter, first, pipeline_run ("%s ! videoconvolve backend=cpu "
          "%s ! video/x-raw", source, filter), format->word, format->step, 1);
  g_free (source);
}
