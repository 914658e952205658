#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Blurs what a detector found, here a region that the example moving-region.c moves around, and nothing else.
#   ./pipelines/blur-region.sh [FILE | camera | test]
# MODE=outside blurs all but the region; TYPES=plate,person blurs other things than faces (the example marks a face).
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=pipelines/lib.sh
. "$root/pipelines/lib.sh"
choose_input "${1:-}"
use_plugin

# The example stands for gst-launch-1.0 and a detector: it runs the line and marks a region behind "regions".
LAUNCHER=$build/pipelines/moving-region
[ -x "$LAUNCHER" ] || fail "$LAUNCHER is missing. Run ./pipelines/demo.sh once, or build as docs/building.md says."
launch @input ! queue ! \
  identity name=regions ! \
  videoconvolve filter=disk radius="${RADIUS:-12}" roi-mode="${MODE:-inside}" roi-types="${TYPES:-face}" ! \
  videoconvert ! @display
