/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Properties: one table, read by class_init and by both accessors. They may be
 * set from any thread at any time; gstvideoconvolvechanges.c brings them to the
 * streaming thread. */
#include "config.h"

#include <string.h>

#include "gstvideoconvolvechanges.h"
#include "gstvideoconvolvevalues.h"

#define GST_CAT_DEFAULT gst_video_convolve_debug

/* No filter comes near to it, and a backend takes as many as it can use. */
#define MAX_THREADS 256
/* Messages kept for start: the latest. */
#define MAX_REFUSED 16

typedef enum
{
  KIND_BOOLEAN,
  KIND_INT,
  KIND_UINT,
  KIND_DOUBLE,
  KIND_ENUM,
  KIND_FLAGS,
  KIND_ROWS,                    /* an array of rows */
  KIND_ROW,                     /* an array: a matrix of one row */
  KIND_COLUMN,
  KIND_GAINS,                   /* an array: a matrix of one row, or none */
  KIND_TAPS,                    /* an array: weights of frames */
  KIND_LOCATION,
  KIND_STRING,
  KIND_ROIS,
  KIND_STATS,
  KIND_PLAN,
} Kind;

typedef struct
{
  const gchar *name, *nick, *blurb;
  Kind kind;
  gsize offset;                 /* in GstVideoConvolveValues */
  gdouble minimum, maximum;
    GType (*type) (void);       /* of enumerations */
  guint flags;                  /* beyond readable and writable */
} Property;

#define VALUE(field) G_STRUCT_OFFSET (GstVideoConvolveValues, field)
#define SETTING(field) VALUE (settings.field)
#define READY GST_PARAM_MUTABLE_READY
#define PLAYING GST_PARAM_MUTABLE_PLAYING
#define CONTROLLED (GST_PARAM_MUTABLE_PLAYING | GST_PARAM_CONTROLLABLE)
#define WEIGHT CONVOLVE_MATRIX_MAX_WEIGHT

/* A property's id is its place in this table plus 1. A preset sets them in
 * this order, and a custom kernel selects filter=custom, so kernels stand
 * before filter. */
static const Property properties[] = {
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

#define AT(type, values, property) \
    (*(type *) ((guint8 *) (values) + (property)->offset))

/* ---- refused values ---- */

static void
post_refused (GstVideoConvolve * self, const gchar * text)
{
  GST_ELEMENT_WARNING (self, LIBRARY, SETTINGS, ("%s", text), (NULL));
}

/* Before the element is in a pipeline nobody would hear the message, as when
 * gst-launch sets properties; it is kept for start. */
static void
refuse (GstVideoConvolve * self, const gchar * name, const gchar * why)
{
  g_autofree gchar *text =
      g_strdup_printf ("%s keeps its value: %s", name, why);
  GstBus *bus;

  GST_WARNING_OBJECT (self, "%s", text);
  bus = gst_element_get_bus (GST_ELEMENT (self));
  if (bus != NULL) {
    gst_object_unref (bus);
    post_refused (self, text);
    return;
  }
  GST_OBJECT_LOCK (self);
  g_queue_push_tail (&self->refused, g_steal_pointer (&text));
  if (self->refused.length > MAX_REFUSED)
    text = g_queue_pop_head (&self->refused);
  GST_OBJECT_UNLOCK (self);
}

void
gst_video_convolve_post_refused (GstVideoConvolve * self)
{
  GQueue refused;
  gchar *text;

  GST_OBJECT_LOCK (self);
  refused = self->refused;
  g_queue_init (&self->refused);
  GST_OBJECT_UNLOCK (self);
  while ((text = g_queue_pop_head (&refused)) != NULL) {
    post_refused (self, text);
    g_free (text);
  }
}

/* ---- set ---- */

/* Puts a matrix where the property keeps it. A whole kernel and the two lines
 * of a separable one exclude each other: the last one set counts. So do a
 * kernel of several frames and weights of frames. */
static void
apply_matrix (GstVideoConvolveValues * values,
    const GstVideoConvolveChange * change)
{
  const Property *property = change->property;
  ConvolveSettings *settings = &values->settings;

  if (property->kind != KIND_COLUMN)
    gst_video_convolve_put_matrix (&settings->kernel_x, NULL);
  if (property->kind != KIND_ROW)
    gst_video_convolve_put_matrix (&settings->kernel_y, NULL);
  gst_video_convolve_put_matrix (&settings->kernel, NULL);
  if (property->kind == KIND_LOCATION)
    gst_video_convolve_put_matrix (&settings->kernel, change->weights[0]);
  else
    gst_video_convolve_put_matrix (&AT (ConvolveMatrix *, values, property),
        change->weights[0]);
  if (change->weights[0]->depth > 1)
    gst_video_convolve_put_matrix (&settings->kernel_t, NULL);
  settings->filter = CONVOLVE_FILTER_CUSTOM;
}

static void
apply_taps (GstVideoConvolveValues * values,
    const GstVideoConvolveChange * change)
{
  ConvolveSettings *settings = &values->settings;

  gst_video_convolve_put_matrix (&settings->kernel_t, change->weights[0]);
  if (settings->kernel_t != NULL && settings->kernel != NULL
      && settings->kernel->depth > 1)
    gst_video_convolve_put_matrix (&settings->kernel, NULL);
}

/* Takes matrix and location. */
static void
store_matrix (GstVideoConvolve * self, const Property * property,
    ConvolveMatrix * matrix, gchar * location)
{
  GstVideoConvolveChange *change =
      gst_video_convolve_change_new (property, apply_matrix);
  g_autofree gchar *old = NULL;

  change->weights[0] = matrix;
  GST_OBJECT_LOCK (self);
  old = self->kernel_location;
  self->kernel_location = location;
  GST_OBJECT_UNLOCK (self);
  gst_video_convolve_change (self, change);
  g_object_notify (G_OBJECT (self), "filter");
}

static void
set_matrix (GstVideoConvolve * self, const Property * property,
    const GValue * value)
{
  g_autoptr (GError) error = NULL;
  ConvolveMatrix *matrix;
  gboolean unset;

  GST_OBJECT_LOCK (self);
  unset = AT (ConvolveMatrix *, &self->pending, property) == NULL;
  GST_OBJECT_UNLOCK (self);
  /* A stored preset has every property: empty stays empty. */
  if (unset && gst_value_array_get_size (value) == 0)
    return;

  if (property->kind == KIND_ROWS)
    matrix = gst_video_convolve_matrix_from_rows (value, &error);
  else
    matrix = gst_video_convolve_matrix_from_line (value,
        property->kind == KIND_COLUMN, &error);
  if (matrix != NULL)
    store_matrix (self, property, matrix, NULL);
  else
    refuse (self, property->name, error->message);
}

static void
set_taps (GstVideoConvolve * self, const Property * property,
    const GValue * value)
{
  GstVideoConvolveChange *change;
  g_autoptr (GError) error = NULL;
  ConvolveMatrix *matrix = NULL;

  if (gst_value_array_get_size (value) > 0) {
    matrix = gst_video_convolve_matrix_from_taps (value, &error);
    if (matrix == NULL) {
      refuse (self, property->name, error->message);
      return;
    }
  }
  change = gst_video_convolve_change_new (property, apply_taps);
  change->weights[0] = matrix;
  gst_video_convolve_change (self, change);
}

/* No file: the weights stay, they just have no file any more. */
static void
set_location (GstVideoConvolve * self, const Property * property,
    const GValue * value)
{
  g_autoptr (GError) error = NULL;
  g_autofree gchar *old = NULL;
  const gchar *location = g_value_get_string (value);
  ConvolveMatrix *matrix;

  if (location == NULL || *location == '\0') {
    GST_OBJECT_LOCK (self);
    old = g_steal_pointer (&self->kernel_location);
    GST_OBJECT_UNLOCK (self);
    return;
  }
  matrix = convolve_matrix_load (location, &error);
  if (matrix != NULL)
    store_matrix (self, property, matrix, g_strdup (location));
  else
    refuse (self, property->name, error->message);
}

static void
apply_value (GstVideoConvolveValues * values,
    const GstVideoConvolveChange * change)
{
  const Property *property = change->property;
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
apply_gains (GstVideoConvolveValues * values,
    const GstVideoConvolveChange * change)
{
  gst_video_convolve_put_matrix (&values->settings.detail_gains,
      change->weights[0]);
}

/* Empty: the default. */
static void
set_gains (GstVideoConvolve * self, const Property * property,
    const GValue * value)
{
  g_autoptr (GError) error = NULL;
  guint n = gst_value_array_get_size (value);
  ConvolveMatrix *gains = NULL;
  GstVideoConvolveChange *change;

  if (n > CONVOLVE_MAX_LEVELS)
    g_set_error (&error, CONVOLVE_ERROR, CONVOLVE_ERROR_INVALID,
        "there are %u gains, more than %d", n, CONVOLVE_MAX_LEVELS);
  else if (n > 0)
    gains = gst_video_convolve_matrix_from_line (value, FALSE, &error);
  if (error != NULL) {
    refuse (self, property->name, error->message);
    return;
  }
  change = gst_video_convolve_change_new (property, apply_gains);
  change->weights[0] = gains;
  gst_video_convolve_change (self, change);
}

static void
apply_rois (GstVideoConvolveValues * values,
    const GstVideoConvolveChange * change)
{
  g_clear_pointer (&values->rois, g_array_unref);
  values->rois = g_array_ref (change->rois);
}

static void
set_rois (GstVideoConvolve * self, const Property * property,
    const GValue * value)
{
  g_autoptr (GError) error = NULL;
  GArray *rois = gst_video_convolve_rois_from_value (value, &error);
  GstVideoConvolveChange *change;

  if (rois == NULL) {
    refuse (self, property->name, error->message);
    return;
  }
  change = gst_video_convolve_change_new (property, apply_rois);
  change->rois = rois;
  gst_video_convolve_change (self, change);
}

static void
gst_video_convolve_set_property (GObject * object, guint id,
    const GValue * value, GParamSpec * pspec)
{
  GstVideoConvolve *self = GST_VIDEO_CONVOLVE (object);
  const Property *property = &properties[id - 1];
  GstVideoConvolveChange *change;

  switch (property->kind) {
    case KIND_LOCATION:
      set_location (self, property, value);
      break;
    case KIND_ROWS:
    case KIND_ROW:
    case KIND_COLUMN:
      set_matrix (self, property, value);
      break;
    case KIND_GAINS:
      set_gains (self, property, value);
      break;
    case KIND_TAPS:
      set_taps (self, property, value);
      break;
    case KIND_ROIS:
      set_rois (self, property, value);
      break;
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
  const Property *property = &properties[id - 1];
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
make_array_spec (const Property * p, GParamFlags flags)
{
  return gst_param_spec_array (p->name, p->nick, p->blurb, NULL, flags);
}

static GParamSpec *
make_spec (const Property * p, const GstVideoConvolveValues * defaults)
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
