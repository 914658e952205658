#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# What the registry remembers is looked at again when a CUDA driver or GStreamer's CUDA library appears, changes or
# goes, and only then.
# Usage: rescan.sh PLUGIN-FOLDER WORK-FOLDER yes|no
#   yes: the build has CUDA memory, so its pads offer it where GStreamer's CUDA library can be opened.
set -eu

command -v gst-inspect-1.0 >/dev/null || {
  echo "SKIP: gst-inspect-1.0 is not installed"
  exit 77
}
work=$2
rm -rf "$work"
mkdir -p "$work/libraries"
export GST_PLUGIN_PATH_1_0="$1" GST_PLUGIN_SYSTEM_PATH_1_0='' GST_REGISTRY_1_0="$work/registry"
export LD_LIBRARY_PATH="$work/libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"

# look again|not WHAT: whether the next start of GStreamer writes a new registry, which takes the old one's place.
look () {
  before=$(ls -i "$GST_REGISTRY_1_0" 2>/dev/null || true)
  gst-inspect-1.0 videoconvolve >"$work/said"
  after=$(ls -i "$GST_REGISTRY_1_0")
  if [ "$before" = "$after" ]; then did=not; else did=again; fi
  if [ "$did" != "$1" ]; then
    echo "$2: the plugin was looked at: $did; expected: $1"
    exit 1
  fi
}

# offers yes|no WHAT: whether pads offer CUDA memory.
offers () {
  if grep -q 'memory:CUDAMemory' "$work/said"; then does=yes; else does=no; fi
  if [ "$does" != "$1" ]; then
    echo "$2: CUDA memory is offered: $does; expected: $1"
    exit 1
  fi
}

look again "the first start"
offers "$3" "the first start"
look not "the second start"

echo 1 >"$work/libraries/libcuda.so.1"
look again "a driver appeared"
look not "a driver is there"
echo another >"$work/libraries/libcuda.so.1"
look again "the driver changed"
rm "$work/libraries/libcuda.so.1"
look again "the driver went"
look not "the driver is gone"

# One that cannot be opened hides the real one.
: >"$work/libraries/libgstcuda-1.0.so.0"
look again "GStreamer's CUDA library broke"
offers no "GStreamer's CUDA library broke"
look not "GStreamer's CUDA library is broken"
rm "$work/libraries/libgstcuda-1.0.so.0"
look again "GStreamer's CUDA library is whole again"
offers "$3" "GStreamer's CUDA library is whole again"
rm -rf "$work"
