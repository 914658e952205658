/* SPDX-License-Identifier: LGPL-2.1-or-later */
/**
 * plugin-convolve:
 *
 * Convolutions and stencils on video, on NVIDIA GPUs or on the CPU.
 */
#include "config.h"

#include "gstvideoconvolve.h"

/* Registers, and touches nothing else: a registry scan neither wakes a GPU
 * nor fails where there is none. */
static gboolean
plugin_init (GstPlugin * plugin)
{
  return GST_ELEMENT_REGISTER (videoconvolve, plugin);
}

GST_PLUGIN_DEFINE (GST_VERSION_MAJOR, GST_VERSION_MINOR, convolve,
    "Convolution filters for video", plugin_init, PACKAGE_VERSION, "LGPL",
    PACKAGE_NAME, PACKAGE_ORIGIN)
