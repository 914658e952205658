#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Shows the edges of a video: the length of the Sobel gradient, grey on black.
#   ./pipelines/edges.sh [FILE | camera | test]
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=pipelines/lib.sh
. "$root/pipelines/lib.sh"
choose_input "${1:-}"
use_plugin

# scale makes weak edges visible without a second pass; other operators: scharr, prewitt, roberts, laplacian, log, dog.
launch @input ! queue ! \
  videoconvolve filter=sobel gradient=magnitude scale="${SCALE:-0.5}" ! \
  videoconvert ! @display
