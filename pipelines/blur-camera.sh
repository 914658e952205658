#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Blurs a camera's picture and shows it: a live source, with no frame of latency added.
#   ./pipelines/blur-camera.sh [camera | FILE | test]
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=pipelines/lib.sh
. "$root/pipelines/lib.sh"
choose_input "${1:-}"
use_plugin

# A test picture comes at its own pace as well, as a camera's does. The queue lets the camera go on while a frame is
# filtered; leaky drops old frames rather than falling behind.
LIVE=true
launch @input ! queue max-size-buffers=2 leaky=downstream ! \
  videoconvolve filter=gaussian sigma="${SIGMA:-4}" ! \
  videoconvert ! @display
