#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Shows the picture of a camera that PipeWire shares between programs, sharpened.
#   ./pipelines/camera-pipewire.sh [YUY2 | UYVY | NV12 | MJPEG]
# CAMERA is a name or serial that 'wpctl status' or 'pw-cli ls Node' lists, WIDTH=640, HEIGHT=480 and RATE=30/1 choose
# size and frame rate. CAMERA=test takes a live test picture instead. PRINT=yes prints the line, and does not ask for
# a camera.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=pipelines/lib.sh
. "$root/pipelines/lib.sh"
show_help "${1:-}"
use_plugin
camera_format "${1:-YUY2}"
if [ "${CAMERA:-}" = test ]; then
  # shellcheck disable=SC2086
  set -- $live_picture
else
  need_element pipewiresrc gstreamer1.0-pipewire
  socket=${PIPEWIRE_RUNTIME_DIR:-${XDG_RUNTIME_DIR:-/run/user/$(id -u)}}/${PIPEWIRE_REMOTE:-pipewire-0}
  [ -n "${PRINT:-}" ] || [ -S "$socket" ] || fail "PipeWire does not run for this user: there is no $socket. Start it," \
    "as in 'systemctl --user start pipewire wireplumber', or use camera-v4l2.sh or CAMERA=test."
  set -- pipewiresrc do-timestamp=true ${CAMERA:+"target-object=$CAMERA"}
fi

# There is no videoconvert before the filter: it takes these formats itself. leaky drops old frames rather than falling
# behind.
# shellcheck disable=SC2086
launch "$@" ! "$caps" $decode ! queue max-size-buffers=2 leaky=downstream ! \
  videoconvolve filter=unsharp sigma=1.5 amount=1 channels=luma ! \
  videoconvert ! @display ||
  fail "PipeWire shares no camera, or none with $format at ${WIDTH}x$HEIGHT and $RATE. 'wpctl status' lists cameras" \
    "under Video, Sources."
