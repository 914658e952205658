/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The only file that knows gst-cuda. Its library is an unstable one: only what
 * is equal in all series since 1.22 is used, through a table filled at run
 * time, so that the plugin loads without it. Build and run time must be the
 * same series: an allocator of another one is not called. */
#define GST_USE_UNSTABLE_API

#include "config.h"

#include "gstcudainterop.h"

#include "core/matrix.h"
#include "gstvideoconvolveframe.h"

#include <gmodule.h>
#include <gst/cuda/gstcudabufferpool.h>
#include <gst/cuda/gstcudacontext.h>
#include <gst/cuda/gstcudaloader.h>
#include <gst/cuda/gstcudamemory.h>
#include <gst/cuda/gstcudautils.h>

GST_DEBUG_CATEGORY_EXTERN (gst_video_convolve_debug);
#define GST_CAT_DEFAULT gst_video_convolve_debug

/* ---- the library ---- */

#define LIBRARY "libgstcuda-1.0.so.0"

#define FUNCTIONS(X) \
  X (gst_cuda_load_library) \
  X (gst_cuda_memory_init_once) \
  X (gst_cuda_ensure_element_context) \
  X (gst_cuda_handle_set_context) \
  X (gst_cuda_handle_context_query) \
  X (gst_cuda_context_get_handle) \
  X (gst_cuda_buffer_pool_get_type) \
  X (gst_cuda_buffer_pool_new) \
  X (gst_is_cuda_memory)
#if GST_CHECK_VERSION (1, 24, 0)
#define SYNC_FUNCTION(X) X (gst_cuda_memory_sync)
#else
#define SYNC_FUNCTION(X)
#endif

typedef struct
{
#define MEMBER(name) __typeof__ (name) *name;
  FUNCTIONS (MEMBER)
  SYNC_FUNCTION (MEMBER)
#undef MEMBER
} Library;

static gpointer
open_library (gpointer unused)
{
  static Library library;
  GModule *module = g_module_open (LIBRARY, G_MODULE_BIND_LAZY);
  guint major, minor, micro, nano;

  gst_version (&major, &minor, &micro, &nano);
  if (module == NULL || major != GST_VERSION_MAJOR
      || minor != GST_VERSION_MINOR) {
    GST_INFO ("no CUDA memory: %s", module == NULL ? g_module_error () :
        "the plugin was built for another series of GStreamer");
    g_clear_pointer (&module, g_module_close);
    return NULL;
  }
  g_module_make_resident (module);
/* *INDENT-OFF* */
#define LOOK_UP(name) \
  if (!g_module_symbol (module, #name, (gpointer *) & library.name)) { \
    GST_WARNING ("no CUDA memory: " LIBRARY " lacks " #name); \
    return NULL; \
  }
  FUNCTIONS (LOOK_UP)
  SYNC_FUNCTION (LOOK_UP)
#undef LOOK_UP
/* *INDENT-ON* */
  return &library;
}

/* NULL where gst-cuda is not installed. Opening it touches no driver. */
static const Library *
get_library (void)
{
  static GOnce once = G_ONCE_INIT;

  return g_once (&once, open_library, NULL);
}

/* The same where the driver is there too: anything that makes a context aborts
 * the process without it. */
static const Library *
get_driver (void)
{
  static gsize loaded = 0;
  const Library *library = get_library ();

  if (library != NULL && g_once_init_enter (&loaded)) {
    gboolean ok = library->gst_cuda_load_library ();

    if (ok)
      library->gst_cuda_memory_init_once ();
    g_once_init_leave (&loaded, ok ? 2 : 1);
  }
  return library != NULL && loaded == 2 ? library : NULL;
}

/* ---- contexts ---- */

struct _GstCudaInterop
{
  GstElement *element;          /* which owns this */
  gint device_id;

  /* Under the lock, which is recursive: looking for a context posts messages,
   * and an application answers them from the same thread. */
  GRecMutex lock;
  GstCudaContext *context;
};

GstCudaInterop *
gst_cuda_interop_new (GstElement * element)
{
  GstCudaInterop *interop = g_new0 (GstCudaInterop, 1);

  interop->element = element;
  interop->device_id = -1;
  g_rec_mutex_init (&interop->lock);
  return interop;
}

void
gst_cuda_interop_free (GstCudaInterop * interop)
{
  gst_clear_object (&interop->context);
  g_rec_mutex_clear (&interop->lock);
  g_free (interop);
}

static gint
device_of (GstCudaContext * context)
{
  gint id = -1;

  g_object_get (context, "cuda-device-id", &id, NULL);
  return id;
}

void
gst_cuda_interop_start (GstCudaInterop * interop, gint device_id)
{
  g_rec_mutex_lock (&interop->lock);
  interop->device_id = device_id;
  if (interop->context != NULL && device_id >= 0
      && device_of (interop->context) != device_id)
    gst_clear_object (&interop->context);
  g_rec_mutex_unlock (&interop->lock);
}

void
gst_cuda_interop_stop (GstCudaInterop * interop)
{
  g_rec_mutex_lock (&interop->lock);
  gst_clear_object (&interop->context);
  g_rec_mutex_unlock (&interop->lock);
}

void
gst_cuda_interop_set_context (GstCudaInterop * interop, GstContext * context)
{
  const Library *library;

  /* Other contexts, such as that of a display, are none of our business. */
  if (g_strcmp0 (gst_context_get_context_type (context),
          GST_CUDA_CONTEXT_TYPE) != 0)
    return;
  library = get_driver ();
  if (library == NULL)
    return;
  g_rec_mutex_lock (&interop->lock);
  library->gst_cuda_handle_set_context (interop->element, context,
      interop->device_id, &interop->context);
  g_rec_mutex_unlock (&interop->lock);
}

gboolean
gst_cuda_interop_query_context (GstCudaInterop * interop, GstQuery * query)
{
  GstCudaContext *context;
  const gchar *type;
  gboolean answered = FALSE;

  gst_query_parse_context_type (query, &type);
  if (g_strcmp0 (type, GST_CUDA_CONTEXT_TYPE) != 0)
    return FALSE;
  g_rec_mutex_lock (&interop->lock);
  context = interop->context ? gst_object_ref (interop->context) : NULL;
  g_rec_mutex_unlock (&interop->lock);
  if (context == NULL)
    return FALSE;
  answered = get_library ()->gst_cuda_handle_context_query (interop->element,
      query, context);
  gst_object_unref (context);
  return answered;
}

gpointer
gst_cuda_interop_get_context (GstCudaInterop * interop)
{
  gpointer handle = NULL;

  g_rec_mutex_lock (&interop->lock);
  if (interop->context != NULL)
    handle = get_library ()->gst_cuda_context_get_handle (interop->context);
  g_rec_mutex_unlock (&interop->lock);
  return handle;
}

static gboolean
has_cuda_memory (GstCaps * caps)
{
  return caps != NULL && !gst_caps_is_empty (caps) && !gst_caps_is_any (caps)
      && gst_caps_features_contains (gst_caps_get_features (caps, 0),
      GST_CAPS_FEATURE_MEMORY_CUDA_MEMORY);
}

gboolean
gst_cuda_interop_negotiate (GstCudaInterop * interop, GstCaps * incaps,
    GstCaps * outcaps, GError ** error)
{
  const Library *library;
  gboolean ok;

  if (!has_cuda_memory (incaps) && !has_cuda_memory (outcaps))
    return TRUE;
  library = get_driver ();
  if (library != NULL) {
    g_rec_mutex_lock (&interop->lock);
    ok = library->gst_cuda_ensure_element_context (interop->element,
        interop->device_id, &interop->context);
    g_rec_mutex_unlock (&interop->lock);
    if (ok)
      return TRUE;
  }
  g_set_error (error, CONVOLVE_ERROR, CONVOLVE_ERROR_NO_DEVICE,
      "CUDA memory was negotiated, but there is no CUDA context for device %d; "
      "check the driver and cuda-device-id, or use system memory",
      interop->device_id);
  return FALSE;
}

static GstCudaMemory *
cuda_memory_of (GstBuffer * buffer)
{
  const Library *library = get_library ();
  GstMemory *memory;

  if (library == NULL || gst_buffer_n_memory (buffer) != 1)
    return NULL;
  memory = gst_buffer_peek_memory (buffer, 0);
  /* The type's name first: it tells without a call into the library. */
  if (!gst_memory_is_type (memory, GST_CUDA_MEMORY_TYPE_NAME)
      || !library->gst_is_cuda_memory (memory))
    return NULL;
  return GST_CUDA_MEMORY_CAST (memory);
}

gboolean
gst_cuda_interop_follow (GstCudaInterop * interop, GstBuffer * buffer)
{
  GstCudaMemory *memory = cuda_memory_of (buffer);
  gboolean followed = FALSE;

  if (memory == NULL)
    return FALSE;
  g_rec_mutex_lock (&interop->lock);
  if (memory->context != interop->context && (interop->device_id < 0
          || device_of (memory->context) == interop->device_id)) {
    GST_INFO_OBJECT (interop->element, "following the input's context %"
        GST_PTR_FORMAT, memory->context);
    gst_object_replace ((GstObject **) & interop->context,
        GST_OBJECT (memory->context));
    followed = TRUE;
  }
  g_rec_mutex_unlock (&interop->lock);
  return followed;
}

/* ---- caps ---- */

/* What the allocator of each series takes; names, since some are newer than the
 * oldest GStreamer that builds this file. */
static const struct
{
  guint minor;
  const gchar *formats;
} cuda_formats[] = {
  {22, "I420 YV12 NV12 NV21 P010_10LE P016_LE I420_10LE Y444 Y444_16LE Y42B "
        "I422_10LE I422_12LE YUY2 UYVY RGBA BGRA RGBx BGRx ARGB ABGR RGB BGR "
        "RGB10A2_LE BGR10A2_LE RGBP BGRP GBR GBRA"},
  {24, "P012_LE I420_12LE Y444_10LE Y444_12LE GBR_10LE GBR_12LE GBR_16LE"},
  {26, "VUYA"},
};

static gboolean
is_cuda_format (const gchar * name)
{
  guint major, minor, micro, nano;

  gst_version (&major, &minor, &micro, &nano);
  for (guint i = 0; i < G_N_ELEMENTS (cuda_formats); i++) {
    g_auto (GStrv) names = g_strsplit (cuda_formats[i].formats, " ", -1);

    if (minor >= cuda_formats[i].minor
        && g_strv_contains ((const gchar * const *) names, name))
      return TRUE;
  }
  return FALSE;
}

/* The formats of a structure that CUDA memory can hold; FALSE if there are
 * none. */
static gboolean
keep_cuda_formats (GstStructure * structure)
{
  const GValue *value = gst_structure_get_value (structure, "format");
  GValue list = G_VALUE_INIT;

  if (value == NULL)
    return TRUE;
  if (G_VALUE_HOLDS_STRING (value))
    return is_cuda_format (g_value_get_string (value));
  if (!GST_VALUE_HOLDS_LIST (value))
    return FALSE;
  g_value_init (&list, GST_TYPE_LIST);
  for (guint i = 0; i < gst_value_list_get_size (value); i++) {
    const GValue *one = gst_value_list_get_value (value, i);

    if (G_VALUE_HOLDS_STRING (one) && is_cuda_format (g_value_get_string (one)))
      gst_value_list_append_value (&list, one);
  }
  if (gst_value_list_get_size (&list) == 0) {
    g_value_unset (&list);
    return FALSE;
  }
  gst_structure_take_value (structure, "format", &list);
  return TRUE;
}

/* A structure of caps in CUDA memory, appended to result unless no format of it
 * can be. */
static void
append_in_cuda_memory (GstCaps * result, GstCaps * caps, guint i)
{
  GstStructure *structure =
      gst_structure_copy (gst_caps_get_structure (caps, i));
  GstCaps *one;

  if (!keep_cuda_formats (structure)) {
    gst_structure_free (structure);
    return;
  }
  one = gst_caps_new_full (structure, NULL);
  gst_caps_set_features (one, 0,
      gst_caps_features_new (GST_CAPS_FEATURE_MEMORY_CUDA_MEMORY, NULL));
  gst_caps_append (result, one);
}

static gboolean
is_in_system_memory (GstCaps * caps, guint i)
{
  GstCapsFeatures *features = gst_caps_get_features (caps, i);

  return !gst_caps_features_is_any (features)
      && gst_caps_features_is_equal (features,
      GST_CAPS_FEATURES_MEMORY_SYSTEM_MEMORY);
}

GstCaps *
gst_cuda_interop_template_caps (GstCaps * system_caps)
{
  GstCaps *result;

  if (get_library () == NULL)
    return system_caps;
  result = gst_caps_new_empty ();
  for (guint i = 0; i < gst_caps_get_size (system_caps); i++)
    if (is_in_system_memory (system_caps, i))
      append_in_cuda_memory (result, system_caps, i);
  gst_caps_append (result, system_caps);
  return result;
}

GstCaps *
gst_cuda_interop_transform_caps (GstCaps * caps)
{
  GstCaps *result;

  if (get_library () == NULL || gst_caps_is_any (caps))
    return caps;
  /* What needs no transfer comes first. */
  result = gst_caps_copy (caps);
  for (guint i = 0; i < gst_caps_get_size (caps); i++) {
    if (is_in_system_memory (caps, i)) {
      append_in_cuda_memory (result, caps, i);
    } else if (gst_caps_features_contains (gst_caps_get_features (caps, i),
            GST_CAPS_FEATURE_MEMORY_CUDA_MEMORY)) {
      gst_caps_append_structure (result,
          gst_structure_copy (gst_caps_get_structure (caps, i)));
    }
  }
  gst_caps_unref (caps);
  return result;
}

/* ---- pools ---- */

/* A pool in the present context, configured for caps; *size is what its buffers
 * really take. */
static GstBufferPool *
new_pool (GstCudaInterop * interop, GstCaps * caps, guint * size, guint minimum)
{
  const Library *library = get_driver ();
  GstBufferPool *pool = NULL;
  GstStructure *config;

  g_rec_mutex_lock (&interop->lock);
  if (library != NULL && interop->context != NULL)
    pool = library->gst_cuda_buffer_pool_new (interop->context);
  g_rec_mutex_unlock (&interop->lock);
  if (pool == NULL)
    return NULL;

  config = gst_buffer_pool_get_config (pool);
  gst_buffer_pool_config_add_option (config, GST_BUFFER_POOL_OPTION_VIDEO_META);
  gst_buffer_pool_config_set_params (config, caps, *size, minimum, 0);
  if (!gst_buffer_pool_set_config (pool, config)) {
    gst_object_unref (pool);
    return NULL;
  }
  config = gst_buffer_pool_get_config (pool);
  gst_buffer_pool_config_get_params (config, NULL, size, NULL, NULL);
  gst_structure_free (config);
  return pool;
}

gboolean
gst_cuda_interop_propose_allocation (GstCudaInterop * interop,
    GstQuery * query, guint minimum)
{
  GstBufferPool *pool = NULL;
  GstVideoInfo info;
  gboolean need_pool;
  GstCaps *caps;
  guint size;

  gst_query_parse_allocation (query, &caps, &need_pool);
  if (!has_cuda_memory (caps) || !gst_video_info_from_caps (&info, caps))
    return FALSE;
  size = GST_VIDEO_INFO_SIZE (&info);
  if (need_pool) {
    pool = new_pool (interop, caps, &size, minimum);
    if (pool == NULL)
      return FALSE;
  }
  gst_query_add_allocation_pool (query, pool, size, minimum, 0);
  gst_query_add_allocation_meta (query, GST_VIDEO_META_API_TYPE, NULL);
  gst_clear_object (&pool);
  return TRUE;
}

/* A pool from downstream serves if it is of our context and has no end. */
static gboolean
pool_serves (GstCudaInterop * interop, GstBufferPool * pool, guint maximum)
{
  const Library *library = get_driver ();

  return library != NULL && maximum == 0
      && G_TYPE_CHECK_INSTANCE_TYPE (pool,
      library->gst_cuda_buffer_pool_get_type ())
      && ((GstCudaBufferPool *) pool)->context == interop->context;
}

gboolean
gst_cuda_interop_decide_allocation (GstCudaInterop * interop,
    GstQuery * query, guint minimum)
{
  GstBufferPool *pool = NULL;
  guint size = 0, offered_minimum = 0, maximum = 0;
  GstVideoInfo info;
  gboolean offered;
  GstCaps *caps;

  gst_query_parse_allocation (query, &caps, NULL);
  if (!has_cuda_memory (caps) || !gst_video_info_from_caps (&info, caps))
    return FALSE;
  offered = gst_query_get_n_allocation_pools (query) > 0;
  if (offered)
    gst_query_parse_nth_allocation_pool (query, 0, &pool, &size,
        &offered_minimum, &maximum);
  minimum += offered_minimum;
  size = MAX (size, GST_VIDEO_INFO_SIZE (&info));
  if (pool != NULL && pool_serves (interop, pool, maximum)) {
    GstStructure *config = gst_buffer_pool_get_config (pool);

    gst_buffer_pool_config_set_params (config, caps, size, minimum, 0);
    gst_buffer_pool_config_add_option (config,
        GST_BUFFER_POOL_OPTION_VIDEO_META);
    if (!gst_buffer_pool_set_config (pool, config))
      gst_clear_object (&pool);
  } else {
    gst_clear_object (&pool);
  }
  if (pool == NULL)
    pool = new_pool (interop, caps, &size, minimum);
  if (pool == NULL)
    return FALSE;
  if (offered)
    gst_query_set_nth_allocation_pool (query, 0, pool, size, minimum, 0);
  else
    gst_query_add_allocation_pool (query, pool, size, minimum, 0);
  gst_object_unref (pool);
  return TRUE;
}

/* ---- frames ---- */

gboolean
gst_cuda_interop_is_ours (GstCudaInterop * interop, GstBuffer * buffer)
{
  GstCudaMemory *memory = cuda_memory_of (buffer);

  return memory != NULL && memory->context == interop->context;
}

gboolean
gst_cuda_interop_map (GstCudaInterop * interop, GstCudaInteropFrame * frame,
    GstBuffer * buffer, const GstVideoInfo * info, GstMapFlags flags,
    GError ** error)
{
  GstMemory *memory = gst_buffer_peek_memory (buffer, 0);

  frame->memory = NULL;
  if (!gst_memory_map (memory, &frame->map, flags | GST_MAP_CUDA)) {
    g_set_error (error, CONVOLVE_ERROR, CONVOLVE_ERROR_FAILED,
        "the buffer's CUDA memory cannot be mapped for %s: the GPU's memory "
        "may have run out, or its context is gone; GST_DEBUG=cuda*:4 tells",
        flags & GST_MAP_WRITE ? "writing" : "reading");
    return FALSE;
  }
  frame->memory = memory;
#if GST_CHECK_VERSION (1, 24, 0)
  /* What neighbours wrote in its stream must be there; and what they still read
   * there must be over before it is written, which mapping for it demands. */
  get_library ()->gst_cuda_memory_sync (GST_CUDA_MEMORY_CAST (memory));
#endif
  if (!gst_video_convolve_frame_place (&frame->frame, buffer, info,
          frame->map.data, frame->map.size, error)) {
    gst_cuda_interop_unmap (frame);
    return FALSE;
  }
  frame->frame.memory = CONVOLVE_MEMORY_DEVICE;
  return TRUE;
}

void
gst_cuda_interop_unmap (GstCudaInteropFrame * frame)
{
  if (frame->memory != NULL)
    gst_memory_unmap (frame->memory, &frame->map);
  frame->memory = NULL;
}
