/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which pools buffers come from. Pools of our own are GstVideoBufferPools
 * with no upper limit: an element downstream may keep any number of buffers. */
#include "config.h"

#include <gst/video/gstvideopool.h>

#include "gstvideoconvolve-private.h"

#define GST_CAT_DEFAULT gst_video_convolve_debug

/* Buffers that the element itself holds at a time. */
static guint
own_buffers (GstVideoConvolve * self)
{
  return gst_video_convolve_depth (self);
}

static GstBufferPool *
new_pool (GstVideoConvolve * self, GstCaps * caps, guint size, guint minimum,
    gboolean video_meta)
{
  GstBufferPool *pool = gst_video_buffer_pool_new ();
  GstStructure *config = gst_buffer_pool_get_config (pool);

  gst_buffer_pool_config_set_params (config, caps, size, minimum, 0);
  if (self->pinned != NULL)
    gst_buffer_pool_config_set_allocator (config, self->pinned, NULL);
  if (video_meta)
    gst_buffer_pool_config_add_option (config,
        GST_BUFFER_POOL_OPTION_VIDEO_META);
  if (!gst_buffer_pool_set_config (pool, config)) {
    GST_WARNING_OBJECT (self, "the pool refuses %" GST_PTR_FORMAT, caps);
    gst_clear_object (&pool);
  }
  return pool;
}

gboolean
gst_video_convolve_propose_allocation (GstBaseTransform * trans,
    GstQuery * decide_query, GstQuery * query)
{
  GstVideoConvolve *self = GST_VIDEO_CONVOLVE (trans);
  GstBaseTransformClass *parent_class =
      g_type_class_peek (g_type_parent (GST_TYPE_VIDEO_CONVOLVE));
  g_autoptr (GstBufferPool) pool = NULL;
  GstVideoInfo info;
  GstCaps *caps;
  gboolean need_pool;

  if (!parent_class->propose_allocation (trans, decide_query, query))
    return FALSE;
  /* Passthrough: the answer is downstream's. */
  if (decide_query == NULL)
    return TRUE;
  if (gst_cuda_interop_propose_allocation (self->interop, query,
          own_buffers (self)))
    return TRUE;

  gst_query_parse_allocation (query, &caps, &need_pool);
  if (caps == NULL || !gst_video_info_from_caps (&info, caps))
    return FALSE;
  if (need_pool) {
    pool = new_pool (self, caps, GST_VIDEO_INFO_SIZE (&info),
        own_buffers (self), TRUE);
    if (pool == NULL)
      return FALSE;
  }
  gst_query_add_allocation_pool (query, pool, GST_VIDEO_INFO_SIZE (&info),
      own_buffers (self), 0);
  gst_query_add_allocation_meta (query, GST_VIDEO_META_API_TYPE, NULL);
  if (self->pinned != NULL)
    gst_query_add_allocation_param (query, self->pinned, NULL);
  return TRUE;
}

/* TRUE if a pool from downstream takes the caps and has buffers enough: waiting
 * for one that a job of ours holds would be waiting for ever. */
static gboolean
pool_fits (GstVideoConvolve * self, GstBufferPool * pool, GstCaps * caps,
    guint size, guint minimum, guint maximum, gboolean video_meta)
{
  GstStructure *config;

  if (maximum != 0 && maximum < minimum + own_buffers (self))
    return FALSE;
  config = gst_buffer_pool_get_config (pool);
  gst_buffer_pool_config_set_params (config, caps, size, minimum, maximum);
  if (video_meta
      && gst_buffer_pool_has_option (pool, GST_BUFFER_POOL_OPTION_VIDEO_META))
    gst_buffer_pool_config_add_option (config,
        GST_BUFFER_POOL_OPTION_VIDEO_META);
  if (gst_buffer_pool_set_config (pool, config))
    return TRUE;
  /* It may have corrected the numbers, which is as good if it keeps caps and
   * size. */
  config = gst_buffer_pool_get_config (pool);
  if (gst_buffer_pool_config_validate_params (config, caps, size, minimum,
          maximum))
    return gst_buffer_pool_set_config (pool, config);
  gst_structure_free (config);
  return FALSE;
}

/* The base class gives the pool the query's allocator in place of its own one:
 * downstream's, or else the one that makes page-locked memory. */
static void
choose_allocator (GstVideoConvolve * self, GstQuery * query)
{
  GstAllocator *allocator = NULL;
  GstAllocationParams params;

  if (self->pinned == NULL)
    return;
  if (gst_query_get_n_allocation_params (query) == 0) {
    gst_query_add_allocation_param (query, self->pinned, NULL);
    return;
  }
  gst_query_parse_nth_allocation_param (query, 0, &allocator, &params);
  if (allocator == NULL)
    gst_query_set_nth_allocation_param (query, 0, self->pinned, &params);
  gst_clear_object (&allocator);
}

gboolean
gst_video_convolve_decide_allocation (GstBaseTransform * trans,
    GstQuery * query)
{
  GstVideoConvolve *self = GST_VIDEO_CONVOLVE (trans);
  GstBaseTransformClass *parent_class =
      g_type_class_peek (g_type_parent (GST_TYPE_VIDEO_CONVOLVE));
  g_autoptr (GstBufferPool) pool = NULL;
  guint size = 0, minimum = 0, maximum = 0;
  gboolean offered, video_meta;
  GstVideoInfo info;
  GstCaps *caps;

  if (gst_cuda_interop_decide_allocation (self->interop, query,
          own_buffers (self)))
    return parent_class->decide_allocation (trans, query);

  gst_query_parse_allocation (query, &caps, NULL);
  if (caps == NULL || !gst_video_info_from_caps (&info, caps))
    return FALSE;
  offered = gst_query_get_n_allocation_pools (query) > 0;
  if (offered)
    gst_query_parse_nth_allocation_pool (query, 0, &pool, &size, &minimum,
        &maximum);
  size = MAX (size, GST_VIDEO_INFO_SIZE (&info));
  /* Without it downstream expects the strides that the caps imply. */
  video_meta = gst_query_find_allocation_meta (query, GST_VIDEO_META_API_TYPE,
      NULL);

  if (pool == NULL || !pool_fits (self, pool, caps, size, minimum, maximum,
          video_meta)) {
    gst_clear_object (&pool);
    minimum += own_buffers (self);
    maximum = 0;
    pool = new_pool (self, caps, size, minimum, video_meta);
    if (pool == NULL)
      return FALSE;
    choose_allocator (self, query);
  }
  if (offered)
    gst_query_set_nth_allocation_pool (query, 0, pool, size, minimum, maximum);
  else
    gst_query_add_allocation_pool (query, pool, size, minimum, maximum);
  return parent_class->decide_allocation (trans, query);
}
