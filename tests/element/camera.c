/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* As behind a camera: its formats without conversion, and its ways to hand over
 * memory. Runs on the plugin as it is, and on the one whose backend has
 * page-locked memory. */
#define _GNU_SOURCE             /* memfd_create */
#include "framewatch.h"

#include <gst/allocators/gstdmabuf.h>
#include <gst/base/gstpushsrc.h>
#include <gst/check/gstcheck.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define N_FRAMES 30
#define TIMEOUT (20 * GST_SECOND)

/* ---- a source that hands over memory as v4l2src does ---- */

typedef enum
{
  MODE_RW,                      /* reads into buffers of downstream's pool */
  MODE_USERPTR,                 /* the driver writes into several of them */
  MODE_MMAP,                    /* the driver's own memory */
  MODE_DMABUF,                  /* the same as DMABuf */
} Mode;

/* Buffers that the driver has, as many as v4l2src asks for. */
#define N_QUEUED 4

typedef struct
{
  GstPushSrc parent;
  Mode mode;
  GstVideoInfo info;
  GstBufferPool *pool;          /* downstream's */
  GstAllocator *dmabuf;
  GQueue queued;                /* GstBuffer, written when they come out */
  guint n_frames;
  GHashTable *blocks;           /* addresses that frames were written to */
  guint n_pinned;
} CameraSrc;

typedef GstPushSrcClass CameraSrcClass;

static GType camera_src_get_type (void);
G_DEFINE_TYPE (CameraSrc, camera_src, GST_TYPE_PUSH_SRC);

static gboolean
camera_src_set_caps (GstBaseSrc * base, GstCaps * caps)
{
  return gst_video_info_from_caps (&((CameraSrc *) base)->info, caps);
}

/* v4l2src 1.22: with io-mode rw and userptr it takes downstream's pool, with
 * others its own. Both configure the pool with the allocator that was offered
 * first, and have video metas. */
static gboolean
camera_src_decide_allocation (GstBaseSrc * base, GstQuery * query)
{
  CameraSrc *self = (CameraSrc *) base;
  GstAllocator *allocator = NULL;
  GstAllocationParams params;
  GstStructure *config;
  guint size, minimum, maximum;
  GstCaps *caps;

  if (self->mode == MODE_MMAP || self->mode == MODE_DMABUF)
    return TRUE;
  fail_unless (gst_query_get_n_allocation_pools (query) > 0);
  fail_unless (gst_query_find_allocation_meta (query, GST_VIDEO_META_API_TYPE,
          NULL));
  gst_query_parse_allocation (query, &caps, NULL);
  gst_query_parse_nth_allocation_pool (query, 0, &self->pool, &size, &minimum,
      &maximum);
  fail_unless (self->pool != NULL, "no pool is offered");
  gst_allocation_params_init (&params);
  if (gst_query_get_n_allocation_params (query) > 0)
    gst_query_parse_nth_allocation_param (query, 0, &allocator, &params);
  minimum = MAX (minimum, 2) + N_QUEUED;
  if (maximum != 0)
    maximum = MAX (maximum, minimum);

  config = gst_buffer_pool_get_config (self->pool);
  gst_buffer_pool_config_set_allocator (config, allocator, &params);
  gst_buffer_pool_config_set_params (config, caps, self->info.size, minimum,
      maximum);
  gst_buffer_pool_config_add_option (config, GST_BUFFER_POOL_OPTION_VIDEO_META);
  fail_unless (gst_buffer_pool_set_config (self->pool, config));
  fail_unless (gst_buffer_pool_set_active (self->pool, TRUE));
  gst_clear_object (&allocator);
  return TRUE;
}

static GstBuffer *
dmabuf_buffer (CameraSrc * self)
{
  GstBuffer *buffer = gst_buffer_new ();
  int fd = memfd_create ("frame", 0);

  fail_unless (fd >= 0 && ftruncate (fd, self->info.size) == 0);
  if (self->dmabuf == NULL)
    self->dmabuf = gst_dmabuf_allocator_new ();
  gst_buffer_append_memory (buffer, gst_dmabuf_allocator_alloc (self->dmabuf,
          fd, self->info.size));
  gst_buffer_add_video_meta (buffer, GST_VIDEO_FRAME_FLAG_NONE,
      self->info.finfo->format, self->info.width, self->info.height);
  return buffer;
}

static GstBuffer *
acquire (CameraSrc * self)
{
  GstBuffer *buffer = NULL;

  if (self->mode == MODE_MMAP)
    return gst_buffer_new_allocate (NULL, self->info.size, NULL);
  if (self->mode == MODE_DMABUF)
    return dmabuf_buffer (self);
  fail_unless_equals_int (gst_buffer_pool_acquire_buffer (self->pool, &buffer,
          NULL), GST_FLOW_OK);
  return buffer;
}

/* A picture that is another one each time. */
static void
write_frame (CameraSrc * self, GstBuffer * buffer)
{
  GstMemory *memory = gst_buffer_peek_memory (buffer, 0);
  GstMapInfo map;

  /* A driver takes one address, of a whole frame with the strides of the
   * caps. */
  fail_unless_equals_int (gst_buffer_n_memory (buffer), 1);
  self->n_pinned += gst_memory_is_type (memory, "PinnedHostMemory");
  if (self->mode == MODE_USERPTR || self->mode == MODE_RW) {
    GstVideoMeta *meta = gst_buffer_get_video_meta (buffer);

    fail_unless (meta != NULL && meta->stride[0] == self->info.stride[0]);
  }
  fail_unless (gst_buffer_map (buffer, &map, GST_MAP_WRITE));
  fail_unless (map.size >= self->info.size);
  g_hash_table_add (self->blocks, map.data);
  for (gsize i = 0; i < self->info.size; i++)
    map.data[i] = (i * 37 ^ i >> 5) + self->n_frames * 11;
  gst_buffer_unmap (buffer, &map);
}

static GstFlowReturn
camera_src_create (GstPushSrc * push, GstBuffer ** buffer)
{
  CameraSrc *self = (CameraSrc *) push;
  guint depth = self->mode == MODE_RW ? 1 : N_QUEUED;

  if (self->n_frames == N_FRAMES)
    return GST_FLOW_EOS;
  while (self->queued.length < depth)
    g_queue_push_tail (&self->queued, acquire (self));
  *buffer = g_queue_pop_head (&self->queued);
  write_frame (self, *buffer);
  GST_BUFFER_PTS (*buffer) = self->n_frames++ * 40 * GST_MSECOND;
  return GST_FLOW_OK;
}

static gboolean
camera_src_stop (GstBaseSrc * base)
{
  CameraSrc *self = (CameraSrc *) base;

  g_queue_clear_full (&self->queued, (GDestroyNotify) gst_buffer_unref);
  if (self->pool != NULL)
    gst_buffer_pool_set_active (self->pool, FALSE);
  gst_clear_object (&self->pool);
  gst_clear_object (&self->dmabuf);
  return TRUE;
}

static void
camera_src_finalize (GObject * object)
{
  g_hash_table_unref (((CameraSrc *) object)->blocks);
  G_OBJECT_CLASS (camera_src_parent_class)->finalize (object);
}

static void
camera_src_class_init (CameraSrcClass * klass)
{
  GstBaseSrcClass *base_class = GST_BASE_SRC_CLASS (klass);
  GstCaps *caps = gst_caps_from_string ("video/x-raw");

  G_OBJECT_CLASS (klass)->finalize = camera_src_finalize;
  gst_element_class_add_pad_template (GST_ELEMENT_CLASS (klass),
      gst_pad_template_new ("src", GST_PAD_SRC, GST_PAD_ALWAYS, caps));
  gst_element_class_set_static_metadata (GST_ELEMENT_CLASS (klass), "camera",
      "Source/Video", "hands over memory as v4l2src does", "tests");
  gst_caps_unref (caps);
  base_class->set_caps = camera_src_set_caps;
  base_class->decide_allocation = camera_src_decide_allocation;
  base_class->stop = camera_src_stop;
  klass->create = camera_src_create;
}

static void
camera_src_init (CameraSrc * self)
{
  self->blocks = g_hash_table_new (NULL, NULL);
  gst_base_src_set_format (GST_BASE_SRC (self), GST_FORMAT_TIME);
}

/* ---- running ---- */

static void
wait_for_end (GstElement * pipeline)
{
  GstBus *bus = gst_element_get_bus (pipeline);
  GstMessage *message = gst_bus_timed_pop_filtered (bus, TIMEOUT,
      GST_MESSAGE_EOS | GST_MESSAGE_ERROR);

  fail_unless (message != NULL, "no end came");
  fail_unless_equals_int (GST_MESSAGE_TYPE (message), GST_MESSAGE_EOS);
  gst_message_unref (message);
  gst_object_unref (bus);
}

static FrameWatch *
watch_gaussian (GstElement * convolve, gdouble sigma)
{
  ConvolveSettings settings;

  convolve_settings_init (&settings);
  settings.sigma = sigma;
  g_object_set (convolve, "sigma", sigma, NULL);
  return frame_watch_new (convolve, &settings);
}

static void
check_camera (Mode mode, const gchar * format)
{
  GstElement *pipeline = gst_parse_launch ("capsfilter name=caps ! "
      "videoconvolve name=convolve ! fakesink sync=false", NULL);
  GstElement *convolve = gst_bin_get_by_name (GST_BIN (pipeline), "convolve");
  GstElement *filter = gst_bin_get_by_name (GST_BIN (pipeline), "caps");
  CameraSrc *camera = g_object_new (camera_src_get_type (), NULL);
  FrameWatch *watch = watch_gaussian (convolve, 1.1);
  gchar *caps = g_strdup_printf ("video/x-raw,format=%s,width=64,height=32,"
      "framerate=25/1", format);
  gboolean is_pinned;
  gchar *device;
  GstStructure *stats;

  camera->mode = mode;
  gst_util_set_object_arg (G_OBJECT (filter), "caps", caps);
  gst_bin_add (GST_BIN (pipeline), GST_ELEMENT (camera));
  fail_unless (gst_element_link (GST_ELEMENT (camera), filter));
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  wait_for_end (pipeline);

  fail_unless (frame_watch_fault (watch) == NULL, "%s, mode %d: %s", format,
      mode, frame_watch_fault (watch));
  fail_unless_equals_int (frame_watch_out (watch), N_FRAMES);
  fail_unless_equals_string (frame_watch_format (watch), format);
  /* Buffers come back: the same few are written again and again. */
  if (mode == MODE_USERPTR || mode == MODE_RW)
    fail_unless (g_hash_table_size (camera->blocks) <= N_QUEUED + 6,
        "%u blocks for %d frames", g_hash_table_size (camera->blocks),
        N_FRAMES);
  /* Where the backend has page-locked memory the camera wrote into that. */
  g_object_get (convolve, "stats", &stats, NULL);
  device = g_strdup (gst_structure_get_string (stats, "device"));
  is_pinned = strstr (device, "CPU") == NULL
      && (mode == MODE_USERPTR || mode == MODE_RW);
  fail_unless_equals_int (camera->n_pinned, is_pinned ? N_FRAMES : 0);
  gst_structure_free (stats);
  g_free (device);

  gst_element_set_state (pipeline, GST_STATE_NULL);
  frame_watch_free (watch);
  gst_object_unref (filter);
  gst_object_unref (convolve);
  gst_object_unref (pipeline);
  g_free (caps);
}

static const gchar *const formats[] = { "YUY2", "UYVY", "NV12" };

GST_START_TEST (test_rw)
{
  check_camera (MODE_RW, formats[__i__]);
}

GST_END_TEST;

GST_START_TEST (test_userptr)
{
  check_camera (MODE_USERPTR, formats[__i__]);
}

GST_END_TEST;

GST_START_TEST (test_mmap)
{
  check_camera (MODE_MMAP, formats[__i__]);
}

GST_END_TEST;

GST_START_TEST (test_dmabuf)
{
  check_camera (MODE_DMABUF, formats[__i__]);
}

GST_END_TEST;

/* A camera's format stays, without a converter in the pipeline: the element
 * offers it, and offers to keep it. */
GST_START_TEST (test_native_formats)
{
  gchar *line = g_strdup_printf ("videotestsrc is-live=true num-buffers=5 ! "
      "video/x-raw,format=%s,width=64,height=32,framerate=50/1 ! "
      "videoconvolve name=convolve ! fakesink", formats[__i__]);
  GstElement *pipeline = gst_parse_launch (line, NULL);
  GstElement *convolve = gst_bin_get_by_name (GST_BIN (pipeline), "convolve");
  FrameWatch *watch = watch_gaussian (convolve, 1.1);

  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  wait_for_end (pipeline);
  fail_unless_equals_string (frame_watch_format (watch), formats[__i__]);
  fail_unless (frame_watch_fault (watch) == NULL, "%s",
      frame_watch_fault (watch));
  fail_unless_equals_int (frame_watch_out (watch), 5);
  gst_element_set_state (pipeline, GST_STATE_NULL);
  frame_watch_free (watch);
  gst_object_unref (convolve);
  gst_object_unref (pipeline);
  g_free (line);
}

GST_END_TEST;

static Suite *
camera_suite (void)
{
  Suite *s = suite_create ("camera");
  TCase *tc = tcase_create ("camera");

  suite_add_tcase (s, tc);
  tcase_add_loop_test (tc, test_rw, 0, G_N_ELEMENTS (formats));
  tcase_add_loop_test (tc, test_userptr, 0, G_N_ELEMENTS (formats));
  tcase_add_loop_test (tc, test_mmap, 0, G_N_ELEMENTS (formats));
  tcase_add_loop_test (tc, test_dmabuf, 0, G_N_ELEMENTS (formats));
  tcase_add_loop_test (tc, test_native_formats, 0, G_N_ELEMENTS (formats));
  return s;
}

GST_CHECK_MAIN (camera);
