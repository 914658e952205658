#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Shows a V4L2 camera's picture, sharpened. Raw formats go from the camera into the filter as they are.
#   ./pipelines/camera-v4l2.sh [YUY2 | UYVY | NV12 | MJPEG]
# CAMERA=/dev/video0, WIDTH=640, HEIGHT=480 and RATE=30/1 choose device, size and frame rate. CAMERA=test takes a live
# test picture instead. IO_MODE is v4l2src's io-mode: auto, mmap, userptr, dmabuf (docs/camera.md tells what they do).
# PRINT=yes prints the line, and does not ask for a camera.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=pipelines/lib.sh
. "$root/pipelines/lib.sh"
show_help "${1:-}"
camera=${CAMERA:-/dev/video0}
use_plugin
camera_format "${1:-YUY2}"
if [ "$camera" = test ]; then
  # shellcheck disable=SC2086
  set -- $live_picture
else
  need_element v4l2src gstreamer1.0-plugins-good
  [ -n "${PRINT:-}" ] || need_camera CAMERA=test
  set -- v4l2src "device=$camera" "io-mode=${IO_MODE:-auto}"
fi

# There is no videoconvert before the filter: it takes these formats itself. The one behind it does nothing where the
# display takes them, too. leaky drops old frames rather than falling behind.
# shellcheck disable=SC2086
launch "$@" ! "$caps" $decode ! queue max-size-buffers=2 leaky=downstream ! \
  videoconvolve filter=unsharp sigma=1.5 amount=1 channels=luma ! \
  videoconvert ! @display ||
  fail "If it was 'not-negotiated', $camera has no $format at ${WIDTH}x$HEIGHT and $RATE: what it has is listed by" \
    "'v4l2-ctl --device $camera --list-formats-ext' (package v4l-utils)."
