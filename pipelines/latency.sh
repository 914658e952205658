#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Measures how long frames take through a live pipeline, by GStreamer's latency tracer: in videoconvolve, in the queues
# before and behind it, and from the camera to the display. In the second queue they wait until it is time to be shown.
#   ./pipelines/latency.sh [camera | test] [PROPERTY=VALUE...]
# Further arguments are properties of videoconvolve: filter=gaussian sigma=4 unless given. CAMERA=/dev/video0,
# FORMAT=YUY2, WIDTH=1280, HEIGHT=720 and RATE=30/1 choose camera, format, size and frame rate, FRAMES=150 how many
# frames.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=pipelines/lib.sh
. "$root/pipelines/lib.sh"
choose_input "${1:-}"
[ "$kind" != file ] || fail "A file is not live: choose camera or test."
[ $# = 0 ] || shift
[ $# != 0 ] || set -- filter=gaussian sigma=4
use_plugin
WIDTH=${WIDTH:-1280}
HEIGHT=${HEIGHT:-720}
FRAMES=${FRAMES:-150}
camera_format "${FORMAT:-YUY2}"
[ "$kind" = test ] || live_picture="v4l2src device=$camera num-buffers=$FRAMES"

records=$(mktemp)
trap 'rm -f "$records"' EXIT
# The records of the tracer are debug messages. The sink waits for each frame's time, as a display does.
export GST_TRACERS='latency(flags=pipeline+element)' GST_DEBUG='GST_TRACER:7' GST_DEBUG_FILE="$records"
export GST_DEBUG_NO_COLOR=1
# The tracer of GStreamer 1.26.2 (Debian 13) waits for itself for ever, in any pipeline.
status=0
timeout -k 1 10 gst-launch-1.0 -q videotestsrc num-buffers=3 ! identity ! fakesink >/dev/null 2>&1 || status=$?
[ "$status" != 124 ] || fail "The latency tracer of this GStreamer hangs, also without videoconvolve: use another version."
# shellcheck disable=SC2086
log=$(SINK=${SINK:-fakesink sync=true} launch $live_picture ! "$caps" $decode ! \
  queue name=before max-size-buffers=2 leaky=downstream ! videoconvolve name=videoconvolve "$@" ! \
  queue name=behind max-size-buffers=3 ! videoconvert ! @display 2>&1) || fail "$log"
[ -z "${PRINT:-}" ] || say "$log"
[ -n "${PRINT:-}" ] || python3 "$root/pipelines/latency.py" "$records" before videoconvolve behind
