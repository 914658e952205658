/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gstvideoconvolveenums.h"

#include "core/settings.h"

#include <gst/gst.h>

#define DEFINE_TYPE(function, Name, register_type, ...)                       \
GType                                                                         \
function (void)                                                               \
{                                                                             \
  static gsize type = 0;                                                      \
                                                                              \
  if (g_once_init_enter (&type)) {                                            \
    GType created = register_type (Name, __VA_ARGS__);                        \
                                                                              \
    gst_type_mark_as_plugin_api (created, 0);                                 \
    g_once_init_leave (&type, created);                                       \
  }                                                                           \
  return type;                                                                \
}

static const GEnumValue backends[] = {
  {GST_VIDEO_CONVOLVE_BACKEND_AUTO, "CUDA if it works here, else the CPU",
      "auto"},
  {GST_VIDEO_CONVOLVE_BACKEND_CUDA, "CUDA, an error where it does not work",
      "cuda"},
  {GST_VIDEO_CONVOLVE_BACKEND_CPU, "The CPU", "cpu"},
  {0, NULL, NULL}
};

static const GEnumValue filters[] = {
  {CONVOLVE_FILTER_IDENTITY, "The picture as it is", "identity"},
  {CONVOLVE_FILTER_CUSTOM, "The weights of the kernel properties", "custom"},
  {CONVOLVE_FILTER_GAUSSIAN, "Gaussian blur (sigma, sigma-y)", "gaussian"},
  {CONVOLVE_FILTER_BOX, "Box blur: the mean of a square (radius)", "box"},
  {CONVOLVE_FILTER_DISK, "Lens blur: the mean of a disk (radius)", "disk"},
  {CONVOLVE_FILTER_MOTION, "Motion blur: the mean of a line (radius, angle)",
      "motion"},
  {CONVOLVE_FILTER_SHARPEN, "Sharpening, 3x3 (amount)", "sharpen"},
  {CONVOLVE_FILTER_UNSHARP, "Unsharp mask (sigma, amount, threshold)",
      "unsharp"},
  {CONVOLVE_FILTER_LAPLACIAN, "Laplacian of 4 neighbours (amount)",
      "laplacian"},
  {CONVOLVE_FILTER_LAPLACIAN8, "Laplacian of 8 neighbours (amount)",
      "laplacian8"},
  {CONVOLVE_FILTER_LOG, "Laplacian of Gaussian (sigma, amount)", "log"},
  {CONVOLVE_FILTER_DOG, "Difference of Gaussians (sigma, amount)", "dog"},
  {CONVOLVE_FILTER_SOBEL, "Sobel gradient (gradient)", "sobel"},
  {CONVOLVE_FILTER_SCHARR, "Scharr gradient (gradient)", "scharr"},
  {CONVOLVE_FILTER_PREWITT, "Prewitt gradient (gradient)", "prewitt"},
  {CONVOLVE_FILTER_ROBERTS, "Roberts gradient (gradient)", "roberts"},
  {CONVOLVE_FILTER_EMBOSS, "Emboss around mid grey (angle, amount)", "emboss"},
  {CONVOLVE_FILTER_DETAIL, "Local contrast, a Laplacian pyramid (levels, "
        "detail-gains, amount, threshold)", "detail"},
  {CONVOLVE_FILTER_DIFFUSE, "Edge-stopping diffusion (iterations, threshold, "
        "amount)", "diffuse"},
  {0, NULL, NULL}
};

G_STATIC_ASSERT (G_N_ELEMENTS (filters) == CONVOLVE_N_FILTERS + 1);

static const GEnumValue gradients[] = {
  {CONVOLVE_GRADIENT_MAGNITUDE, "Length of the gradient", "magnitude"},
  {CONVOLVE_GRADIENT_X, "Slope to the right", "x"},
  {CONVOLVE_GRADIENT_Y, "Slope downwards", "y"},
  {0, NULL, NULL}
};

static const GEnumValue borders[] = {
  {CONVOLVE_BORDER_REPLICATE, "aaa|abcd|ddd", "replicate"},
  {CONVOLVE_BORDER_REFLECT, "cba|abcd|dcb", "reflect"},
  {CONVOLVE_BORDER_MIRROR, "dcb|abcd|cba", "mirror"},
  {CONVOLVE_BORDER_WRAP, "bcd|abcd|abc", "wrap"},
  {CONVOLVE_BORDER_CONSTANT, "kkk|abcd|kkk, k is border-color", "constant"},
  {0, NULL, NULL}
};

G_STATIC_ASSERT (G_N_ELEMENTS (borders) == CONVOLVE_N_BORDERS + 1);

static const GFlagsValue channels[] = {
  {CONVOLVE_CHANNEL_LUMA, "Luma and grey", "luma"},
  {CONVOLVE_CHANNEL_CHROMA, "Both chroma components", "chroma"},
  {CONVOLVE_CHANNEL_RGB, "Red, green and blue", "rgb"},
  {CONVOLVE_CHANNEL_ALPHA, "Alpha", "alpha"},
  {CONVOLVE_CHANNEL_ALL, "Everything", "all"},
  {0, NULL, NULL}
};

static const GEnumValue alpha_modes[] = {
  {CONVOLVE_ALPHA_AUTO, "Weighted for filters without negative weights",
      "auto"},
  {CONVOLVE_ALPHA_STRAIGHT, "Every component by itself", "straight"},
  {CONVOLVE_ALPHA_WEIGHTED, "Colors count as much as they are opaque",
      "weighted"},
  {0, NULL, NULL}
};

static const GEnumValue clamps[] = {
  {CONVOLVE_CLAMP_FORMAT, "To what the format holds", "format"},
  {CONVOLVE_CLAMP_NOMINAL, "To the nominal range where the caps limit it",
      "nominal"},
  {0, NULL, NULL}
};

static const GEnumValue fields[] = {
  {GST_VIDEO_CONVOLVE_FIELDS_AUTO, "As the video is marked", "auto"},
  {GST_VIDEO_CONVOLVE_FIELDS_FRAME, "The frame as a whole", "frame"},
  {GST_VIDEO_CONVOLVE_FIELDS_FIELD, "Each field by itself", "field"},
  {0, NULL, NULL}
};

static const GEnumValue roi_modes[] = {
  {GST_VIDEO_CONVOLVE_ROI_MODE_OFF, "The whole frame", "off"},
  {GST_VIDEO_CONVOLVE_ROI_MODE_INSIDE, "Inside the regions alone", "inside"},
  {GST_VIDEO_CONVOLVE_ROI_MODE_OUTSIDE, "Outside the regions alone",
      "outside"},
  {0, NULL, NULL}
};

static const GEnumValue methods[] = {
  {CONVOLVE_METHOD_AUTO, "The plan chooses", "auto"},
  {CONVOLVE_METHOD_DIRECT, "One sum over the whole matrix", "direct"},
  {CONVOLVE_METHOD_SEPARABLE, "Rows, then columns", "separable"},
  {CONVOLVE_METHOD_LOWRANK, "A sum of rows, then columns", "lowrank"},
  {CONVOLVE_METHOD_SUMS, "Running sums, for boxes", "sums"},
  {CONVOLVE_METHOD_PYRAMID, "Coarser pictures (detail, gaussian)", "pyramid"},
  {0, NULL, NULL}
};

G_STATIC_ASSERT (G_N_ELEMENTS (methods) == CONVOLVE_N_METHODS + 1);

static const GEnumValue temporal_modes[] = {
  {CONVOLVE_TEMPORAL_CENTERED, "As many newer frames as older ones",
      "centered"},
  {CONVOLVE_TEMPORAL_CAUSAL, "Older frames alone, with no latency", "causal"},
  {0, NULL, NULL}
};

/* *INDENT-OFF* */
DEFINE_TYPE (gst_video_convolve_backend_get_type, "GstVideoConvolveBackend",
    g_enum_register_static, backends)
DEFINE_TYPE (gst_video_convolve_filter_get_type, "GstVideoConvolveFilter",
    g_enum_register_static, filters)
DEFINE_TYPE (gst_video_convolve_gradient_get_type, "GstVideoConvolveGradient",
    g_enum_register_static, gradients)
DEFINE_TYPE (gst_video_convolve_border_get_type, "GstVideoConvolveBorder",
    g_enum_register_static, borders)
DEFINE_TYPE (gst_video_convolve_channels_get_type, "GstVideoConvolveChannels",
    g_flags_register_static, channels)
DEFINE_TYPE (gst_video_convolve_alpha_mode_get_type,
    "GstVideoConvolveAlphaMode", g_enum_register_static, alpha_modes)
DEFINE_TYPE (gst_video_convolve_clamp_get_type, "GstVideoConvolveClamp",
    g_enum_register_static, clamps)
DEFINE_TYPE (gst_video_convolve_fields_get_type, "GstVideoConvolveFields",
    g_enum_register_static, fields)
DEFINE_TYPE (gst_video_convolve_roi_mode_get_type, "GstVideoConvolveRoiMode",
    g_enum_register_static, roi_modes)
DEFINE_TYPE (gst_video_convolve_method_get_type, "GstVideoConvolveMethod",
    g_enum_register_static, methods)
DEFINE_TYPE (gst_video_convolve_temporal_mode_get_type,
    "GstVideoConvolveTemporalMode", g_enum_register_static, temporal_modes)
/* *INDENT-ON* */
