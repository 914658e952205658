#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Filters with a matrix of one's own: KERNEL, rows from top to bottom, each in its own brackets.
#   [KERNEL='<<0,-1,0>,<-1,5,-1>,<0,-1,0>>'] ./pipelines/custom-kernel.sh [FILE | camera | test]
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=pipelines/lib.sh
. "$root/pipelines/lib.sh"
choose_input "${1:-}"
use_plugin

# Setting kernel selects filter=custom. Weights are divided by their sum unless that is 0 (normalize=false keeps them).
launch @input ! queue ! \
  videoconvolve "kernel=${KERNEL:-<<-2,-1,0>,<-1,1,1>,<0,1,2>>}" ! \
  videoconvert ! @display
