#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# A test that takes videoconvolve on the GPU for granted; without one it is skipped.
#   if-gpu.sh GPU-ELEMENT TEST ARGUMENT...   GPU-ELEMENT: the test program that knows --probe
set -eu
probe=$1
shift
if ! "$probe" --probe; then
  echo "no GPU that videoconvolve can use: skipped"
  exit 77
fi
exec "$@"
