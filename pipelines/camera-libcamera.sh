#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Shows the picture of a camera that libcamera drives, as on laptops and single-board computers, sharpened.
#   ./pipelines/camera-libcamera.sh [NV12 | YUY2 | UYVY | MJPEG]
# CAMERA is a name that 'cam -l' lists (package libcamera-tools), WIDTH=640, HEIGHT=480 and RATE=30/1 choose size and
# frame rate. CAMERA=test takes a live test picture instead. PRINT=yes prints the line, and does not ask for a camera.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=pipelines/lib.sh
. "$root/pipelines/lib.sh"
show_help "${1:-}"
use_plugin
camera_format "${1:-NV12}"
if [ "${CAMERA:-}" = test ]; then
  # shellcheck disable=SC2086
  set -- $live_picture
else
  need_element libcamerasrc gstreamer1.0-libcamera
  # libcamera finds cameras through these nodes.
  set -- /dev/media*
  if [ -z "${PRINT:-}" ]; then
    [ -c "$1" ] || fail "There is no camera for libcamera: no /dev/media0. Plug one in, or use camera-v4l2.sh or" \
      "CAMERA=test."
    [ -r "$1" ] && [ -w "$1" ] || fail "$1 may not be opened by this user. Add the user to the group 'video' and log" \
      "in anew, or run as root."
  fi
  set -- libcamerasrc ${CAMERA:+"camera-name=$CAMERA"}
fi

# There is no videoconvert before the filter: it takes these formats itself. leaky drops old frames rather than falling
# behind.
# shellcheck disable=SC2086
launch "$@" ! "$caps" $decode ! queue max-size-buffers=2 leaky=downstream ! \
  videoconvolve filter=unsharp sigma=1.5 amount=1 channels=luma ! \
  videoconvert ! @display ||
  fail "libcamera found no camera, or none with $format at ${WIDTH}x$HEIGHT and $RATE. 'cam -l' lists cameras," \
    "'cam -c 1 -I' what the first one has (package libcamera-tools)."
