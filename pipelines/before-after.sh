#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Shows a video and its filtered self side by side. FILTER is any setting of videoconvolve.
#   [FILTER='filter=gaussian sigma=6'] ./pipelines/before-after.sh [FILE | camera | test]
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=pipelines/lib.sh
. "$root/pipelines/lib.sh"
choose_input "${1:-}"
use_plugin

# Both halves are scaled to one size, so that the right one's place is known whatever the input is.
half='videoscale ! video/x-raw,width=640,height=360,pixel-aspect-ratio=1/1'
# shellcheck disable=SC2086
launch compositor name=both sink_1::xpos=640 ! videoconvert ! @display \
  @input ! tee name=t \
  t. ! queue ! $half ! both.sink_0 \
  t. ! queue ! videoconvolve ${FILTER:-filter=gaussian sigma=6} ! $half ! both.sink_1
