/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Properties: one table, read by class_init and by both accessors. They may be
 * set from any thread at any time; gstvideoconvolvechanges.c brings them to the
 * streaming thread. Arrays and files are set by gstvideoconvolvechecked.c. */
#include "config.h"

#include "gstvideoconvolvechanges.h"
#include "gstvideoconvolveproperties.h"
#include "gstvideoconvolvevalues.h"

#define GST_CAT_DEFAULT gst_video_convolve_debug

/* No filter comes near to it, and a backend takes as many as it can use. */
#define MAX_THREADS 256

#define VALUE(field) G_STRUCT_OFFSET (GstVideoConvolveValues, field)
#define SETTING(field) VALUE (settings.field)
#define READY GST_PARAM_MUTABLE_READY
#define PLAYING GST_PARAM_MUTABLE_PLAYING
#define CONTROLLED (GST_PARAM_MUTABLE_PLAYING | GST_PARAM_CONTROLLABLE)
#define WEIGHT CONVOLVE_MATRIX_MAX_WEIGHT

/* A property's id is its place in this table plus 1. A preset sets them in
 * this order, and a custom kernel selects filter=custom, so kernels stand
 * before filter. */
static const GstVideoConvolveProperty properties[] = {
  {"backend", "Backend", "Where frames are filtered", KIND_ENUM,
      VALUE (backend), 0, 0, gst_video_convolve_backend_get_type, READY},
  {"cuda-device-id", "CUDA device", "Number of the GPU (-1: that of neighbours "
        "or of the input, else the first)", KIND_INT, VALUE (cuda_device_id),
      -1, G_MAXINT, NULL, READY},
  {"kernel", "Kernel", "Weights of filter=custom, an array of rows as in "
        "<<0,-1,0>,<-1,5,-1>,<0,-1,0>>, or an array of such arrays, one a "
        "frame, the oldest first; selects filter=custom", KIND_ROWS,
      SETTING (kernel), 0, 0, NULL, PLAYING},
  {"kernel-x", "Kernel, horizontal", "Row of weights of a separable "
        "filter=custom, as in <1,2,1>; selects filter=custom", KIND_ROW,
      SETTING (kernel_x), 0, 0, NULL, PLAYING},
  {"kernel-y", "Kernel, vertical", "Column of weights of a separable "
        "filter=custom, as in <1,2,1>; selects filter=custom", KIND_COLUMN,
      SETTING (kernel_y), 0, 0, NULL, PLAYING},
  {"kernel-t", "Kernel, temporal", "Weights of neighbouring frames, the "
        "oldest first, as in <1,2,1>; with any filter (empty: none)",
      KIND_TAPS, SETTING (kernel_t), 0, 0, NULL, PLAYING},
  {"kernel-location", "Kernel location", "Text file with the weights of "
        "filter=custom, one row a line, a blank line between frames; selects "
        "filter=custom", KIND_LOCATION, 0, 0, 0, NULL, PLAYING},
  {"temporal-mode", "Temporal mode", "Which frames the weights of frames are "
        "laid on; centered adds latency", KIND_ENUM, SETTING (temporal_mode),
      0, 0, gst_video_convolve_temporal_mode_get_type, PLAYING},
  {"filter", "Filter", "Which filter", KIND_ENUM, SETTING (filter), 0, 0,
      gst_video_convolve_filter_get_type, PLAYING},
  {"normalize", "Normalize", "Divide custom kernels by the sum of their "
        "weights if that is not 0", KIND_BOOLEAN, SETTING (normalize), 0, 1,
      NULL, PLAYING},
  {"scale", "Scale", "Factor of the result", KIND_DOUBLE, SETTING (scale),
      -WEIGHT, WEIGHT, NULL, CONTROLLED},
  {"bias", "Bias", "Added to the result, in nominal ranges (0.5: mid grey)",
      KIND_DOUBLE, SETTING (bias), -WEIGHT, WEIGHT, NULL, CONTROLLED},
  {"sigma", "Sigma", "Standard deviation in luma pixels", KIND_DOUBLE,
      SETTING (sigma), 0, 1000, NULL, CONTROLLED},
  {"sigma-y", "Sigma, vertical", "Vertical standard deviation in luma pixels "
        "(-1: sigma)", KIND_DOUBLE, SETTING (sigma_y), -1, 1000, NULL,
      CONTROLLED},
  {"radius", "Radius", "Half size of box, disk and motion in luma pixels "
        "(-1: from sigma)", KIND_INT, SETTING (radius), -1, 1024, NULL,
      CONTROLLED},
  {"amount", "Amount", "Strength of sharpening, edge filters, emboss, detail "
        "and diffuse",
      KIND_DOUBLE, SETTING (amount), -WEIGHT, WEIGHT, NULL, CONTROLLED},
  {"threshold", "Threshold", "Difference from which on unsharp and detail "
        "enlarge and diffuse sees an edge, in nominal ranges (-1: unsharp and "
        "detail 0, diffuse 0.04)", KIND_DOUBLE, SETTING (threshold), -1, 1,
      NULL, CONTROLLED},
  {"angle", "Angle", "Direction of motion and emboss in degrees, counter-"
        "clockwise, 0 is to the right", KIND_DOUBLE, SETTING (angle), -WEIGHT,
      WEIGHT, NULL, CONTROLLED},
  {"gradient", "Gradient", "What sobel, scharr, prewitt and roberts show",
        KIND_ENUM, SETTING (gradient), 0, 0,
        gst_video_convolve_gradient_get_type,
      PLAYING},
  {"border", "Border", "What lies outside the picture", KIND_ENUM,
      SETTING (border), 0, 0, gst_video_convolve_border_get_type, PLAYING},
  {"border-color", "Border color", "Color outside for border=constant "
        "(big endian ARGB)", KIND_UINT, SETTING (border_color), 0,
      G_MAXUINT32, NULL, CONTROLLED},
  {"channels", "Channels", "What is filtered, the rest passes unchanged",
        KIND_FLAGS, SETTING (channels), 0, 0,
        gst_video_convolve_channels_get_type,
      PLAYING},
  {"alpha-mode", "Alpha mode", "Whether colors count as much as they are "
        "opaque", KIND_ENUM, SETTING (alpha_mode), 0, 0,
      gst_video_convolve_alpha_mode_get_type, PLAYING},
  {"clamp", "Clamp", "Which range results are limited to", KIND_ENUM,
      SETTING (clamp), 0, 0, gst_video_convolve_clamp_get_type, PLAYING},
  {"fields", "Fields", "Whether each field is a picture of its own",
        KIND_ENUM, VALUE (fields), 0, 0, gst_video_convolve_fields_get_type,
      PLAYING},
  {"roi-mode", "Region mode", "Which part of a frame is filtered, the rest "
        "passes unchanged", KIND_ENUM, VALUE (roi_mode), 0, 0,
      gst_video_convolve_roi_mode_get_type, PLAYING},
  {"roi-types", "Region types", "Which region-of-interest metas count: types "
        "parted by commas (empty: all)", KIND_STRING, VALUE (roi_types), 0, 0,
      NULL, PLAYING},
  {"rois", "Regions", "Fixed regions besides those of metas, an array of "
        "<x,y,width,height> as in <<10,20,64,64>>", KIND_ROIS, VALUE (rois),
      0, 0, NULL, PLAYING},
  {"iterations", "Iterations", "How often the filter is applied", KIND_UINT,
      SETTING (iterations), 1, 1024, NULL, CONTROLLED},
  {"levels", "Levels", "How many levels of detail, each twice as coarse as "
        "the one before", KIND_INT, SETTING (levels), 1, CONVOLVE_MAX_LEVELS,
      NULL, PLAYING},
  {"detail-gains", "Detail gains", "Gain of each level of detail from the "
        "finest on, as in <2,1.5,1>; the last is that of all coarser ones "
        "(empty: 2)", KIND_GAINS, SETTING (detail_gains), 0, 0, NULL, PLAYING},
  {"method", "Method", "Force an algorithm", KIND_ENUM, SETTING (method), 0, 0,
      gst_video_convolve_method_get_type, PLAYING},
  {"frames-in-flight", "Frames in flight", "Frames that overlap on the GPU; n "
        "adds n-1 frames of latency", KIND_UINT, VALUE (frames_in_flight), 1,
      GST_VIDEO_CONVOLVE_MAX_JOBS, NULL, PLAYING},
  {"bands", "Bands", "Pieces of a frame whose upload, filtering and download "
        "overlap on the GPU (0: by size)", KIND_UINT, VALUE (bands), 0, 64,
      NULL, PLAYING},
  {"n-threads", "Threads", "Threads of the CPU backend (0: one a core)",
      KIND_UINT, VALUE (n_threads), 0, MAX_THREADS, NULL, PLAYING},
  {"stats", "Statistics", "What runs, frames, bytes, arithmetic, and times in "
        "nanoseconds", KIND_STATS, 0, 0, 0, NULL, 0},
  {"plan", "Plan", "What runs for the current caps and properties", KIND_PLAN,
      0, 0, 0, NULL, 0},
};

/* The streaming thread copies enumerations as they are, through guint. */
G_STATIC_ASSERT (sizeof (ConvolveFilter) == sizeof (guint));
G_STATIC_ASSERT (sizeof (ConvolveChannels) == sizeof (guint));

/* ---- set ---- */

static void
apply_value (GstVideoConvolveValues * values,
    const GstVideoConvolveChange * change)
{
  const GstVideoConvolveProperty *property = change->property;
  const GValue *value = &change->value;

  switch (property->kind) {
    case KIND_BOOLEAN:
      AT (gboolean, values, property) = g_value_get_boolean (value);
      break;
    case KIND_INT:
      AT (gint, values, property) = g_value_get_int (value);
      break;
    case KIND_UINT:
      AT (guint, values, property) = g_value_get_uint (value);
      break;
    case KIND_DOUBLE:
      AT (gdouble, values, property) = g_value_get_double (value);
      break;
    case KIND_ENUM:
      AT (guint, values, property) = g_value_get_enum (value);
      break;
    case KIND_FLAGS:
      AT (guint, values, property) = g_value_get_flags (value);
      break;
    case KIND_STRING:
      g_free (AT (gchar *, values, property));
      AT (gchar *, values, property) = g_value_dup_string (value);
      break;
    default:
      g_assert_not_reached ();
  }
}

static void
gst_video_convolve_set_property (GObject * object, guint id,
    const GValue * value, GParamSpec * pspec)
{
  GstVideoConvolve *self = GST_VIDEO_CONVOLVE (object);
  const GstVideoConvolveProperty *property = &properties[id - 1];
  GstVideoConvolveChange *change;

  if (gst_video_convolve_set_checked (self, property, value))
    return;
  switch (property->kind) {
    case KIND_STATS:
    case KIND_PLAN:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
      break;
    default:
      change = gst_video_convolve_change_new (property, apply_value);
      g_value_init (&change->value, G_VALUE_TYPE (value));
      g_value_copy (value, &change->value);
      gst_video_convolve_change (self, change);
  }
}

/* ---- get ---- */

static void
gst_video_convolve_get_property (GObject * object, guint id, GValue * value,
    GParamSpec * pspec)
{
  GstVideoConvolve *self = GST_VIDEO_CONVOLVE (object);
  const GstVideoConvolveProperty *property = &properties[id - 1];
  GstVideoConvolveValues *pending = &self->pending;

  GST_OBJECT_LOCK (self);
  switch (property->kind) {
    case KIND_BOOLEAN:
      g_value_set_boolean (value, AT (gboolean, pending, property));
      break;
    case KIND_INT:
      g_value_set_int (value, AT (gint, pending, property));
      break;
    case KIND_UINT:
      g_value_set_uint (value, AT (guint, pending, property));
      break;
    case KIND_DOUBLE:
      g_value_set_double (value, AT (gdouble, pending, property));
      break;
    case KIND_ENUM:
      g_value_set_enum (value, AT (guint, pending, property));
      break;
    case KIND_FLAGS:
      g_value_set_flags (value, AT (guint, pending, property));
      break;
    case KIND_ROWS:
      gst_video_convolve_matrix_to_rows (AT (ConvolveMatrix *, pending,
              property), value);
      break;
    case KIND_ROW:
    case KIND_COLUMN:
    case KIND_GAINS:
    case KIND_TAPS:
      gst_video_convolve_matrix_to_line (AT (ConvolveMatrix *, pending,
              property), value);
      break;
    case KIND_LOCATION:
      g_value_set_string (value, self->kernel_location);
      break;
    case KIND_STRING:
      g_value_set_string (value, AT (gchar *, pending, property));
      break;
    case KIND_ROIS:
      gst_video_convolve_rois_to_value (pending->rois, value);
      break;
    case KIND_STATS:
      g_value_take_boxed (value, gst_video_convolve_make_stats (self));
      break;
    case KIND_PLAN:
      g_value_set_string (value, self->plan_text);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
      break;
  }
  GST_OBJECT_UNLOCK (self);
}

/* ---- class ---- */

/* Rows are arrays of numbers of any kind: the element converts them itself, so
 * that it can say which one it cannot use. */
static GParamSpec *
make_array_spec (const GstVideoConvolveProperty * p, GParamFlags flags)
{
  return gst_param_spec_array (p->name, p->nick, p->blurb, NULL, flags);
}

static GParamSpec *
make_spec (const GstVideoConvolveProperty * p,
    const GstVideoConvolveValues * defaults)
{
  GParamFlags flags = p->flags | G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS;
  GParamFlags readable = G_PARAM_READABLE | G_PARAM_STATIC_STRINGS;

  switch (p->kind) {
    case KIND_BOOLEAN:
      return g_param_spec_boolean (p->name, p->nick, p->blurb,
          AT (gboolean, defaults, p), flags);
    case KIND_INT:
      return g_param_spec_int (p->name, p->nick, p->blurb, (gint) p->minimum,
          (gint) p->maximum, AT (gint, defaults, p), flags);
    case KIND_UINT:
      return g_param_spec_uint (p->name, p->nick, p->blurb,
          (guint) p->minimum, (guint) p->maximum, AT (guint, defaults, p),
          flags);
    case KIND_DOUBLE:
      return g_param_spec_double (p->name, p->nick, p->blurb, p->minimum,
          p->maximum, AT (gdouble, defaults, p), flags);
    case KIND_ENUM:
      return g_param_spec_enum (p->name, p->nick, p->blurb, p->type (),
          AT (guint, defaults, p), flags);
    case KIND_FLAGS:
      return g_param_spec_flags (p->name, p->nick, p->blurb, p->type (),
          AT (guint, defaults, p), flags);
    case KIND_LOCATION:
    case KIND_STRING:
      return g_param_spec_string (p->name, p->nick, p->blurb, NULL, flags);
    case KIND_STATS:
      return g_param_spec_boxed (p->name, p->nick, p->blurb,
          GST_TYPE_STRUCTURE, readable);
    case KIND_PLAN:
      return g_param_spec_string (p->name, p->nick, p->blurb, NULL, readable);
    default:
      return make_array_spec (p, flags);
  }
}

void
gst_video_convolve_install_properties (GObjectClass * klass)
{
  GstVideoConvolveValues defaults;

  klass->set_property = gst_video_convolve_set_property;
  klass->get_property = gst_video_convolve_get_property;
  klass->dispatch_properties_changed =
      gst_video_convolve_dispatch_properties_changed;

  gst_video_convolve_values_init (&defaults);
  for (guint i = 0; i < G_N_ELEMENTS (properties); i++)
    g_object_class_install_property (klass, i + 1,
        make_spec (&properties[i], &defaults));
}
