#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Shows a video as a relief that is lit from the upper left.
#   ./pipelines/emboss.sh [FILE | camera | test]
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=pipelines/lib.sh
. "$root/pipelines/lib.sh"
choose_input "${1:-}"
use_plugin

# The relief is bright where the picture gets brighter in the direction of angle (degrees, counter-clockwise).
launch @input ! queue ! \
  videoconvolve filter=emboss angle="${ANGLE:-315}" amount=1 ! \
  videoconvert ! @display
