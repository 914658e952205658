#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Frames a second of a Gaussian blur of sigma 2 at 1080p, beside GStreamer's gaussianblur (AYUV) and FFmpeg's gblur
# (I420).
#   [FRAMES=200] [ROUNDS=3] ./tests/benchmarks/compare.sh
# Every program reads the same raw frames from a file that fits in the page cache. What a run without any filter takes
# is measured too and taken off. Each figure is the best of ROUNDS rounds, in which the programs take turns.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=pipelines/lib.sh
. "$root/pipelines/lib.sh"
use_plugin

frames=${FRAMES:-200}
slow_frames=${SLOW_FRAMES:-10}
rounds=${ROUNDS:-3}
distinct=10
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

size='width=1920,height=1080,framerate=30/1'
for format in AYUV I420; do
  # Half noise, half picture: blurring must not depend on what is in it.
  gst-launch-1.0 -q videotestsrc pattern=smpte75 num-buffers=$distinct horizontal-speed=8 ! \
    "video/x-raw,format=$format,$size" ! filesink location="$work/$format"
done

# blocks FORMAT: bytes of one frame
blocks () {
  case $1 in
    AYUV) echo $((1920 * 1080 * 4)) ;;
    I420) echo $((1920 * 1080 * 3 / 2)) ;;
  esac
}

# gst FORMAT COUNT FILTER...: COUNT frames of the file, over and over.
gst () {
  format=$1
  count=$2
  shift 2
  lower=$(echo "$format" | tr A-Z a-z)
  gst-launch-1.0 -q multifilesrc location="$work/$format" loop=true num-buffers=$((count / distinct)) \
    blocksize=$(($(blocks "$format") * distinct)) ! \
    rawvideoparse format="$lower" width=1920 height=1080 framerate=30/1 ! "$@" fakesink sync=false
}

ffmpeg_run () {
  ffmpeg -nostdin -v error -f rawvideo -pixel_format yuv420p -video_size 1920x1080 \
    -stream_loop $((frames / distinct - 1)) -i "$work/I420" -vf "$1" -f null -
}

# seconds NAME COMMAND...: keeps the smallest time of a name.
seconds () {
  name=$1
  shift
  start=$(date +%s%N)
  "$@"
  end=$(date +%s%N)
  took=$((end - start))
  if [ ! -f "$work/$name.ns" ] || [ "$took" -lt "$(cat "$work/$name.ns")" ]; then
    echo "$took" >"$work/$name.ns"
  fi
}

has_blur=
has_gblur=
gst-inspect-1.0 gaussianblur >/dev/null 2>&1 && has_blur=yes
command -v ffmpeg >/dev/null && has_gblur=yes

round=0
while [ "$round" -lt "$rounds" ]; do
  seconds source-ayuv gst AYUV "$frames"
  seconds ours-ayuv gst AYUV "$frames" videoconvolve backend=cpu filter=gaussian sigma=2 !
  seconds straight-ayuv gst AYUV "$frames" videoconvolve backend=cpu filter=gaussian sigma=2 alpha-mode=straight !
  if [ -n "$has_blur" ]; then
    seconds source-slow gst AYUV "$slow_frames"
    seconds blur-ayuv gst AYUV "$slow_frames" gaussianblur sigma=2 !
  fi
  seconds source-i420 gst I420 "$frames"
  seconds ours-i420 gst I420 "$frames" videoconvolve backend=cpu filter=gaussian sigma=2 !
  if [ -n "$has_gblur" ]; then
    seconds source-ffmpeg ffmpeg_run null
    seconds gblur ffmpeg_run gblur=sigma=2
  fi
  round=$((round + 1))
done

# row LABEL SOURCE NAME COUNT
row () {
  awk -v label="$1" -v source="$(cat "$work/$2.ns")" -v all="$(cat "$work/$3.ns")" -v count="$4" 'BEGIN {
    net = all - source
    if (net <= 0) { printf "%-42s too fast to tell\n", label; exit }
    printf "%-42s %9.2f %11.1f\n", label, net / count / 1e6, count * 1e9 / net }'
}

say "Cores: $(nproc); frames a measurement: $frames ($slow_frames for gaussianblur); best of $rounds"
printf '%-42s %9s %11s\n' '1080p, sigma 2, source taken off' 'ms/frame' 'frames/s'
row 'AYUV  videoconvolve, CPU' source-ayuv ours-ayuv "$frames"
row 'AYUV  the same, alpha-mode=straight' source-ayuv straight-ayuv "$frames"
[ -z "$has_blur" ] || row 'AYUV  GStreamer gaussianblur' source-slow blur-ayuv "$slow_frames"
row 'I420  videoconvolve, CPU' source-i420 ours-i420 "$frames"
[ -z "$has_gblur" ] || row 'I420  FFmpeg gblur' source-ffmpeg gblur "$frames"
[ -n "$has_gblur" ] || say "FFmpeg is not installed: no row for gblur"
