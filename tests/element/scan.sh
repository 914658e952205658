#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# A registry scan as a new user's machine does it: quiet, nothing refused, no CUDA library opened.
# Usage: scan.sh PLUGIN-FOLDER EMPTY-REGISTRY
set -eu

command -v gst-inspect-1.0 >/dev/null || {
  echo "SKIP: gst-inspect-1.0 is not installed"
  exit 77
}
export GST_PLUGIN_PATH_1_0="$1" GST_PLUGIN_SYSTEM_PATH_1_0='' GST_REGISTRY_1_0="$2"
export G_DEBUG=fatal-criticals LD_DEBUG=files LD_DEBUG_OUTPUT="$2.libraries"
rm -f "$2" "$2".libraries.*

status=0
said=$(gst-inspect-1.0 videoconvolve 2>&1 >"$2.txt") || status=$?
unset LD_DEBUG LD_DEBUG_OUTPUT
if [ "$status" != 0 ]; then
  echo "gst-inspect-1.0 videoconvolve ended with status $status and says: $said"
  cat "$2.txt"
  gst-inspect-1.0 -b || true
  exit 1
fi
if [ -n "$said" ]; then
  echo "the scan says: $said"
  exit 1
fi
if ! grep -q 'GstVideoConvolve' "$2.txt"; then
  echo "gst-inspect-1.0 does not describe the element; it wrote:"
  cat "$2.txt"
  exit 1
fi
if ! grep -q 'libgstconvolve' "$2".libraries.*; then
  echo "the loader's log does not name the plugin: nothing can be told from it"
  exit 1
fi
if grep -l 'libcuda\|libnvidia' "$2".libraries.*; then
  echo "a CUDA library was opened"
  exit 1
fi
refused=$(gst-inspect-1.0 -b)
case "$refused" in
  *libgstconvolve*)
    echo "$refused"
    exit 1 ;;
esac
rm -f "$2" "$2.txt" "$2".libraries.*
