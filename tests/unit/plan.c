/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Plans: what every component becomes, and the geometry of passes. */
#include <math.h>
#include <string.h>

#include "core/plan.h"

static GstVideoInfo
info_for (GstVideoFormat format, gint width, gint height,
    const gchar * colorimetry)
{
  GstVideoInfo info;

  g_assert_true (gst_video_info_set_format (&info, format, width, height));
  if (colorimetry != NULL)
    g_assert_true (gst_video_colorimetry_from_string (&info.colorimetry,
            colorimetry));
  return info;
}

static ConvolveSettings
settings_for (ConvolveFilter filter)
{
  ConvolveSettings settings;

  convolve_settings_init (&settings);
  settings.filter = filter;
  return settings;
}

static ConvolvePlan *
make (GstVideoFormat format, gint width, gint height,
    const gchar * colorimetry, const ConvolveSettings * settings,
    gboolean fields)
{
  GstVideoInfo info = info_for (format, width, height, colorimetry);
  g_autoptr (GError) error = NULL;
  ConvolvePlan *plan = convolve_plan_new (&info, settings, fields, &error);

  g_assert_no_error (error);
  return plan;
}

/* The component with that role, wherever it lies. */
static const ConvolvePassComponent *
find (const ConvolvePlan * plan, ConvolveRole role)
{
  for (guint i = 0; i < plan->n_passes; i++)
    for (guint c = 0; c < plan->pass[i].layout.n_components; c++)
      if (plan->pass[i].layout.component[c].role == role)
        return &plan->pass[i].component[c];
  g_assert_not_reached ();
}

static void
check_text (GstVideoFormat format, gint width, gint height,
    const ConvolveSettings * settings, gboolean fields, const gchar * expected)
{
  g_autoptr (ConvolvePlan) plan =
      make (format, width, height, NULL, settings, fields);
  g_autofree gchar *text = convolve_plan_describe (plan);

  g_assert_cmpstr (text, ==, expected);
}

static void
test_print (void)
{
  ConvolveSettings settings = settings_for (CONVOLVE_FILTER_GAUSSIAN);

  check_text (GST_VIDEO_FORMAT_I420, 1920, 1080, &settings, FALSE,
      "plane 0 luma 1920x1080 u8: separable 13x13, replicate, single\n"
      "plane 1 U 960x540 u8: separable 7x7, replicate, single\n"
      "plane 2 V 960x540 u8: separable 7x7, replicate, single");
  check_text (GST_VIDEO_FORMAT_YUY2, 5, 2, &settings, FALSE,
      "plane 0 luma 5x2 u8: separable 13x13, replicate, single\n"
      "plane 0 U V 3x2 u8: separable 7x13, replicate, single");
  check_text (GST_VIDEO_FORMAT_RGBA, 4, 4, &settings, FALSE,
      "plane 0 R G B alpha 4x4 u8: separable 13x13, replicate, single, "
      "weighted by alpha");
  settings.channels = CONVOLVE_CHANNEL_LUMA;
  settings.iterations = 3;
  settings.border = CONVOLVE_BORDER_WRAP;
  check_text (GST_VIDEO_FORMAT_NV12, 6, 3, &settings, TRUE,
      "plane 0 luma 6x2 u8 field 0: separable 37x37, wrap, single\n"
      "plane 1 U V 3x1 u8 field 0: copy\n"
      "plane 0 luma 6x1 u8 field 1: separable 37x37, wrap, single\n"
      "plane 1 U V 3x1 u8 field 1: copy");
  settings.border = CONVOLVE_BORDER_REPLICATE;
  check_text (GST_VIDEO_FORMAT_GRAY8, 6, 3, &settings, FALSE,
      "plane 0 grey 6x3 u8: separable 13x13 3 times, replicate, single");
  settings = settings_for (CONVOLVE_FILTER_SOBEL);
  check_text (GST_VIDEO_FORMAT_NV12, 4, 4, &settings, FALSE,
      "plane 0 luma 4x4 u8: magnitude of separable 3x3, separable 3x3, "
      "replicate, single\n" "plane 1 U V 2x2 u8: fill U V");
  check_text (GST_VIDEO_FORMAT_xRGB, 4, 4, &settings, FALSE,
      "plane 0 padding R G B 4x4 u8: magnitude of separable 3x3, separable "
      "3x3, replicate, single, copy padding");
}

/* Fields: which rows of memory each pass takes, for every height. */
static void
test_fields (void)
{
  ConvolveSettings settings = settings_for (CONVOLVE_FILTER_BOX);

  for (gint height = 1; height <= 9; height++) {
    g_autoptr (ConvolvePlan) plan = make (GST_VIDEO_FORMAT_I420, 4, height,
        NULL, &settings, TRUE);
    guint seen[3] = { 0, 0, 0 };        /* a bit for each row of a plane */

    g_assert_true (plan->fields);
    for (guint i = 0; i < plan->n_passes; i++) {
      const ConvolvePass *pass = &plan->pass[i];

      g_assert_cmpint (pass->height, >=, 1);
      g_assert_cmpuint (pass->row_step, ==, 2);
      for (gint y = 0; y < pass->height; y++) {
        guint bit = 1u << (pass->row_first + 2 * y);

        g_assert_false (seen[pass->layout.plane] & bit);
        seen[pass->layout.plane] |= bit;
      }
    }
    g_assert_cmpuint (seen[0], ==, (1u << height) - 1);
    g_assert_cmpuint (seen[1], ==, (1u << (height + 1) / 2) - 1);
    g_assert_cmpuint (seen[2], ==, seen[1]);
  }
}

static void
test_offsets (void)
{
  ConvolveSettings settings = settings_for (CONVOLVE_FILTER_LAPLACIAN);
  g_autoptr (ConvolvePlan) plan = NULL, deep = NULL, full = NULL, rgb = NULL;
  const ConvolvePassComponent *c;

  settings.scale = 2;
  settings.bias = 0.25;
  plan = make (GST_VIDEO_FORMAT_I420, 8, 8, "bt601", &settings, FALSE);
  c = find (plan, CONVOLVE_ROLE_LUMA);
  g_assert_cmpfloat (c->gain, ==, 2);
  g_assert_cmpfloat (c->offset, ==, 16 + 0.25 * 219);
  g_assert_cmpfloat (c->lo, ==, 0);
  g_assert_cmpfloat (c->hi, ==, 255);
  c = find (plan, CONVOLVE_ROLE_CHROMA_V);
  g_assert_cmpfloat (c->gain, ==, 2);
  g_assert_cmpfloat (c->offset, ==, 128);

  /* The sum of sharpen is 1: black and neutral stay where they are at scale 1,
   * and move by zero - scale x zero else. */
  settings.filter = CONVOLVE_FILTER_SHARPEN;
  settings.bias = 0;
  deep = make (GST_VIDEO_FORMAT_I420_10LE, 8, 8, "bt601", &settings, FALSE);
  g_assert_cmpfloat (find (deep, CONVOLVE_ROLE_LUMA)->offset, ==, 64 - 128);
  g_assert_cmpfloat (find (deep, CONVOLVE_ROLE_CHROMA_U)->offset, ==,
      512 - 1024);
  g_assert_cmpfloat (find (deep, CONVOLVE_ROLE_LUMA)->hi, ==, 1023);
  full = make (GST_VIDEO_FORMAT_I420, 8, 8, "1:4:0:0", &settings, FALSE);
  g_assert_cmpfloat (find (full, CONVOLVE_ROLE_LUMA)->offset, ==, 0);

  settings.filter = CONVOLVE_FILTER_EMBOSS;
  rgb = make (GST_VIDEO_FORMAT_ARGB64, 8, 8, NULL, &settings, FALSE);
  g_assert_cmpfloat (find (rgb, CONVOLVE_ROLE_GREEN)->offset, ==, 65535 * 0.5);
  g_assert_cmpint (find (rgb, CONVOLVE_ROLE_ALPHA)->action, ==,
      CONVOLVE_ACTION_COPY);
}

static void
test_clamp (void)
{
  ConvolveSettings settings = settings_for (CONVOLVE_FILTER_SHARPEN);
  g_autoptr (ConvolvePlan) limited = NULL, full = NULL, rgb = NULL;

  settings.clamp = CONVOLVE_CLAMP_NOMINAL;
  limited = make (GST_VIDEO_FORMAT_A420_10LE, 8, 8, "bt709", &settings, FALSE);
  g_assert_cmpfloat (find (limited, CONVOLVE_ROLE_LUMA)->lo, ==, 64);
  g_assert_cmpfloat (find (limited, CONVOLVE_ROLE_LUMA)->hi, ==, 940);
  g_assert_cmpfloat (find (limited, CONVOLVE_ROLE_CHROMA_U)->lo, ==, 64);
  g_assert_cmpfloat (find (limited, CONVOLVE_ROLE_CHROMA_U)->hi, ==, 960);
  g_assert_cmpfloat (find (limited, CONVOLVE_ROLE_ALPHA)->hi, ==, 1023);
  full = make (GST_VIDEO_FORMAT_I420, 8, 8, "1:4:0:0", &settings, FALSE);
  g_assert_cmpfloat (find (full, CONVOLVE_ROLE_LUMA)->lo, ==, 0);
  g_assert_cmpfloat (find (full, CONVOLVE_ROLE_LUMA)->hi, ==, 255);
  rgb = make (GST_VIDEO_FORMAT_RGB, 8, 8, "2:1:7:1", &settings, FALSE);
  g_assert_cmpfloat (find (rgb, CONVOLVE_ROLE_RED)->hi, ==, 235);
  /* Limited RGB still counts from 0. */
  g_assert_cmpfloat (find (rgb, CONVOLVE_ROLE_RED)->offset, ==, 0);
}

static void
test_edge (void)
{
  ConvolveSettings settings = settings_for (CONVOLVE_FILTER_BOX);
  g_autoptr (ConvolvePlan) yuv = NULL, full = NULL, rgb = NULL, grey = NULL;
  g_autoptr (ConvolvePlan) bits = NULL;

  /* Pure red; the well-known values of BT.601 red are 81, 90, 240. */
  settings.border_color = 0x80ff0000;
  yuv = make (GST_VIDEO_FORMAT_I420, 8, 8, "bt601", &settings, FALSE);
  g_assert_cmpfloat (find (yuv, CONVOLVE_ROLE_LUMA)->edge, ==, 81);
  g_assert_cmpfloat (find (yuv, CONVOLVE_ROLE_CHROMA_U)->edge, ==, 90);
  g_assert_cmpfloat (find (yuv, CONVOLVE_ROLE_CHROMA_V)->edge, ==, 240);
  full = make (GST_VIDEO_FORMAT_I420, 8, 8, "1:4:0:0", &settings, FALSE);
  g_assert_cmpfloat (find (full, CONVOLVE_ROLE_LUMA)->edge, ==, 76);
  g_assert_cmpfloat (find (full, CONVOLVE_ROLE_CHROMA_U)->edge, ==, 85);
  /* 255.5 is more than a byte holds. */
  g_assert_cmpfloat (find (full, CONVOLVE_ROLE_CHROMA_V)->edge, ==, 255);
  rgb = make (GST_VIDEO_FORMAT_RGBA, 8, 8, NULL, &settings, FALSE);
  g_assert_cmpfloat (find (rgb, CONVOLVE_ROLE_RED)->edge, ==, 255);
  g_assert_cmpfloat (find (rgb, CONVOLVE_ROLE_BLUE)->edge, ==, 0);
  g_assert_cmpfloat (find (rgb, CONVOLVE_ROLE_ALPHA)->edge, ==, 128);
  g_assert_cmpfloat (rgb->pass[0].alpha.edge, ==, 128);
  bits = make (GST_VIDEO_FORMAT_RGB10A2_LE, 8, 8, NULL, &settings, FALSE);
  g_assert_cmpfloat (find (bits, CONVOLVE_ROLE_RED)->edge, ==, 1023);
  g_assert_cmpfloat (find (bits, CONVOLVE_ROLE_ALPHA)->edge, ==, 2);
  g_assert_cmpfloat (find (bits, CONVOLVE_ROLE_ALPHA)->hi, ==, 3);
  settings.border_color = 0xffffffff;
  grey = make (GST_VIDEO_FORMAT_GRAY16_LE, 8, 8, NULL, &settings, FALSE);
  g_assert_cmpfloat (find (grey, CONVOLVE_ROLE_GREY)->edge, ==, 65535);
}

static void
test_channels (void)
{
  ConvolveSettings settings = settings_for (CONVOLVE_FILTER_SOBEL);
  g_autoptr (ConvolvePlan) all = NULL, luma = NULL, rgb = NULL, none = NULL;

  all = make (GST_VIDEO_FORMAT_A420, 8, 8, NULL, &settings, FALSE);
  g_assert_cmpint (find (all, CONVOLVE_ROLE_LUMA)->action, ==,
      CONVOLVE_ACTION_FILTER);
  g_assert_cmpint (find (all, CONVOLVE_ROLE_CHROMA_U)->action, ==,
      CONVOLVE_ACTION_FILL);
  g_assert_cmpfloat (find (all, CONVOLVE_ROLE_CHROMA_U)->fill, ==, 128);
  g_assert_cmpint (find (all, CONVOLVE_ROLE_ALPHA)->action, ==,
      CONVOLVE_ACTION_COPY);
  g_assert_false (all->identity);

  settings.channels = CONVOLVE_CHANNEL_LUMA;
  luma = make (GST_VIDEO_FORMAT_A420, 8, 8, NULL, &settings, FALSE);
  g_assert_cmpint (find (luma, CONVOLVE_ROLE_CHROMA_U)->action, ==,
      CONVOLVE_ACTION_COPY);
  g_assert_null (luma->pass[1].operation);
  g_assert_cmpuint (luma->n_operations, ==, 1);
  rgb = make (GST_VIDEO_FORMAT_RGBx, 8, 8, NULL, &settings, FALSE);
  g_assert_true (rgb->identity);
  g_assert_null (rgb->pass[0].operation);

  settings = settings_for (CONVOLVE_FILTER_GAUSSIAN);
  settings.channels = 0;
  none = make (GST_VIDEO_FORMAT_I420, 8, 8, NULL, &settings, FALSE);
  g_assert_true (none->identity);
  g_assert_cmpuint (none->n_operations, ==, 0);
}

static void
test_alpha (void)
{
  ConvolveSettings settings = settings_for (CONVOLVE_FILTER_GAUSSIAN);
  g_autoptr (ConvolvePlan) planar = NULL, gbra = NULL, sharp = NULL;
  g_autoptr (ConvolvePlan) forced = NULL, unsharp = NULL, straight = NULL;
  g_autoptr (ConvolvePlan) opaque = NULL, fields = NULL;

  planar = make (GST_VIDEO_FORMAT_A420, 7, 5, NULL, &settings, FALSE);
  g_assert_cmpuint (planar->n_operations, ==, 2);
  g_assert_true (planar->pass[1].alpha.weighted);
  g_assert_cmpuint (planar->pass[1].alpha.layout.plane, ==, 3);
  g_assert_cmpint (planar->pass[1].alpha.width, ==, 7);
  g_assert_cmpint (planar->pass[1].alpha.height, ==, 5);
  g_assert_cmpuint (planar->pass[1].alpha.w_sub, ==, 1);
  g_assert_cmpuint (planar->pass[1].alpha.h_sub, ==, 1);
  g_assert_cmpuint (planar->pass[0].alpha.w_sub, ==, 0);
  g_assert_false (planar->pass[3].alpha.weighted);      /* alpha itself */
  g_assert_nonnull (planar->pass[3].operation);
  fields = make (GST_VIDEO_FORMAT_A420, 7, 5, NULL, &settings, TRUE);
  g_assert_cmpint (fields->pass[1].alpha.height, ==, 3);
  g_assert_cmpint (fields->pass[5].alpha.height, ==, 2);
  gbra = make (GST_VIDEO_FORMAT_GBRA, 7, 5, NULL, &settings, FALSE);
  g_assert_cmpuint (gbra->pass[0].alpha.layout.plane, ==, 3);
  g_assert_cmpuint (gbra->n_operations, ==, 1);
  opaque = make (GST_VIDEO_FORMAT_RGBx, 7, 5, NULL, &settings, FALSE);
  g_assert_false (opaque->pass[0].alpha.weighted);

  settings.filter = CONVOLVE_FILTER_SHARPEN;
  sharp = make (GST_VIDEO_FORMAT_RGBA, 7, 5, NULL, &settings, FALSE);
  g_assert_false (sharp->pass[0].alpha.weighted);
  settings.alpha_mode = CONVOLVE_ALPHA_WEIGHTED;
  forced = make (GST_VIDEO_FORMAT_RGBA, 7, 5, NULL, &settings, FALSE);
  g_assert_true (forced->pass[0].alpha.weighted);
  g_assert_cmpuint (forced->pass[0].alpha.component, ==, 3);
  g_assert_cmpint (forced->pass[0].precision, ==, CONVOLVE_PRECISION_DOUBLE);
  settings.filter = CONVOLVE_FILTER_UNSHARP;
  unsharp = make (GST_VIDEO_FORMAT_RGBA, 7, 5, NULL, &settings, FALSE);
  g_assert_false (unsharp->pass[0].alpha.weighted);
  settings.filter = CONVOLVE_FILTER_BOX;
  settings.alpha_mode = CONVOLVE_ALPHA_STRAIGHT;
  straight = make (GST_VIDEO_FORMAT_RGBA, 7, 5, NULL, &settings, FALSE);
  g_assert_false (straight->pass[0].alpha.weighted);
}

static void
test_identity (void)
{
  static const struct
  {
    ConvolveFilter filter;
    gdouble sigma, scale, bias;
    ConvolveClamp clamp;
    gboolean identity;
  } cases[] = {
    {CONVOLVE_FILTER_IDENTITY, 2, 1, 0, CONVOLVE_CLAMP_FORMAT, TRUE},
    {CONVOLVE_FILTER_CUSTOM, 2, 1, 0, CONVOLVE_CLAMP_FORMAT, TRUE},
    {CONVOLVE_FILTER_GAUSSIAN, 0, 1, 0, CONVOLVE_CLAMP_FORMAT, TRUE},
    {CONVOLVE_FILTER_GAUSSIAN, 1, 1, 0, CONVOLVE_CLAMP_FORMAT, FALSE},
    {CONVOLVE_FILTER_IDENTITY, 2, 1, 0, CONVOLVE_CLAMP_NOMINAL, FALSE},
    {CONVOLVE_FILTER_IDENTITY, 2, 0.5, 0, CONVOLVE_CLAMP_FORMAT, FALSE},
    {CONVOLVE_FILTER_IDENTITY, 2, 1, 0.1, CONVOLVE_CLAMP_FORMAT, FALSE},
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    ConvolveSettings settings = settings_for (cases[i].filter);
    g_autoptr (ConvolvePlan) plan = NULL;

    settings.sigma = cases[i].sigma;
    settings.scale = cases[i].scale;
    settings.bias = cases[i].bias;
    settings.clamp = cases[i].clamp;
    settings.iterations = 5;
    plan = make (GST_VIDEO_FORMAT_I420, 8, 8, "bt601", &settings, FALSE);
    g_assert_true (plan->identity == cases[i].identity);
  }
}

static ConvolvePrecision
precision (GstVideoFormat format, const ConvolveSettings * settings)
{
  g_autoptr (ConvolvePlan) plan = make (format, 64, 64, NULL, settings, FALSE);

  return plan->pass[0].precision;
}

static void
test_precision (void)
{
  ConvolveSettings settings = settings_for (CONVOLVE_FILTER_GAUSSIAN);

  g_assert_cmpint (precision (GST_VIDEO_FORMAT_GRAY8, &settings), ==,
      CONVOLVE_PRECISION_SINGLE);
  g_assert_cmpint (precision (GST_VIDEO_FORMAT_GRAY16_LE, &settings), ==,
      CONVOLVE_PRECISION_SINGLE);
  settings.iterations = 1024;
  g_assert_cmpint (precision (GST_VIDEO_FORMAT_GRAY16_LE, &settings), ==,
      CONVOLVE_PRECISION_DOUBLE);
  settings.iterations = 1;
  settings.sigma = 1000;
  g_assert_cmpint (precision (GST_VIDEO_FORMAT_GRAY16_LE, &settings), ==,
      CONVOLVE_PRECISION_DOUBLE);
  settings.scale = 1e6;
  g_assert_cmpint (precision (GST_VIDEO_FORMAT_GRAY8, &settings), ==,
      CONVOLVE_PRECISION_DOUBLE);
  settings = settings_for (CONVOLVE_FILTER_LAPLACIAN);
  settings.iterations = 1024;   /* 8^1024 is more than a double holds */
  g_assert_cmpint (precision (GST_VIDEO_FORMAT_GRAY8, &settings), ==,
      CONVOLVE_PRECISION_DOUBLE);
  settings = settings_for (CONVOLVE_FILTER_UNSHARP);
  g_assert_cmpint (precision (GST_VIDEO_FORMAT_GRAY8, &settings), ==,
      CONVOLVE_PRECISION_SINGLE);
  settings.threshold = 0.02;
  g_assert_cmpint (precision (GST_VIDEO_FORMAT_GRAY8, &settings), ==,
      CONVOLVE_PRECISION_DOUBLE);
}

static void
check_refused (const GstVideoInfo * info, const ConvolveSettings * settings,
    const gchar * words)
{
  g_autoptr (GError) error = NULL;

  g_assert_null (convolve_plan_new (info, settings, FALSE, &error));
  g_assert_nonnull (error);
  g_assert_true (error->domain == CONVOLVE_ERROR);
  g_assert_nonnull (strstr (error->message, words));
}

static void
test_refused (void)
{
  ConvolveSettings settings = settings_for (CONVOLVE_FILTER_GAUSSIAN);
  GstVideoInfo info = info_for (GST_VIDEO_FORMAT_I420, 8, 8, NULL);
  GstVideoInfo empty = info;
  GstVideoInfo tiled = info_for (GST_VIDEO_FORMAT_NV12_64Z32, 64, 64, NULL);

  empty.width = 0;
  check_refused (&empty, &settings, "0 x 8");
  check_refused (&tiled, &settings, "NV12_64Z32");
  settings.iterations = 0;
  check_refused (&info, &settings, "iterations");
  settings.iterations = 1;
  settings.scale = NAN;
  check_refused (&info, &settings, "scale");
  settings.scale = 1;
  settings.threshold = 2;
  check_refused (&info, &settings, "threshold");
  settings.threshold = 0;
  settings.sigma = -1;
  check_refused (&info, &settings, "sigma");
  settings.sigma = 1000;
  settings.method = CONVOLVE_METHOD_DIRECT;
  check_refused (&info, &settings, "method");
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/plan/print", test_print);
  g_test_add_func ("/plan/fields", test_fields);
  g_test_add_func ("/plan/offsets", test_offsets);
  g_test_add_func ("/plan/clamp", test_clamp);
  g_test_add_func ("/plan/edge", test_edge);
  g_test_add_func ("/plan/channels", test_channels);
  g_test_add_func ("/plan/alpha", test_alpha);
  g_test_add_func ("/plan/identity", test_identity);
  g_test_add_func ("/plan/precision", test_precision);
  g_test_add_func ("/plan/refused", test_refused);
  return g_test_run ();
}
