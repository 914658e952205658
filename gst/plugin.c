/* SPDX-License-Identifier: LGPL-2.1-or-later */
/**
 * plugin-convolve:
 *
 * Convolutions and stencils on video, on NVIDIA GPUs or on the CPU.
 */
#include "config.h"

#include "gstvideoconvolve.h"

/* Where a driver or GStreamer's CUDA library may come to lie, beside the folder
 * of GStreamer's own libraries and LD_LIBRARY_PATH: distributions, WSL, CUDA's
 * compatibility package, NixOS. */
#define LIBRARY_FOLDERS \
  GST_LIBDIR ":/usr/lib64:/usr/lib:/usr/lib/wsl/lib:/usr/local/cuda/compat:" \
  "/run/opengl-driver/lib"

/* Registers, and touches nothing else: a registry scan neither wakes a GPU
 * nor fails where there is none. Pads offer CUDA memory only where libgstcuda
 * is, so what the registry remembers must be looked at again when one of the
 * libraries appears, changes or goes. */
static gboolean
plugin_init (GstPlugin * plugin)
{
  gst_plugin_add_dependency_simple (plugin, "LD_LIBRARY_PATH", LIBRARY_FOLDERS,
      "libcuda.so.1,libgstcuda-1.0.so.0", GST_PLUGIN_DEPENDENCY_FLAG_NONE);
  return GST_ELEMENT_REGISTER (videoconvolve, plugin);
}

GST_PLUGIN_DEFINE (GST_VERSION_MAJOR, GST_VERSION_MINOR, convolve,
    "Convolution filters for video", plugin_init, PACKAGE_VERSION, "LGPL",
    PACKAGE_NAME, PACKAGE_ORIGIN)
