#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Sharpens a video and writes the result to a file. Sound is left out.
#   ./pipelines/sharpen-file.sh [FILE | camera | test] [OUTPUT]
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=pipelines/lib.sh
. "$root/pipelines/lib.sh"
choose_input "${1:-}"
[ "$kind" = file ] || FRAMES=${FRAMES:-150}
use_plugin
choose_encoder
output=${2:-${OUT:-$root/out}/sharpened.$suffix}
mkdir -p "$(dirname "$output")"
keep_input "$output"

# Unsharp masking of luma alone: noise in the colours is left as it is, and small differences stay below the threshold.
# With PROGRESS the frames that pass identity are counted and shown.
PROGRESS=sharpen
# shellcheck disable=SC2086
launch @input ! queue ! \
  videoconvolve filter=unsharp sigma=1.5 amount=1 threshold=0.01 channels=luma ! \
  identity name=progress silent=false ! queue ! $encode "location=$output"
say "Wrote $output"
