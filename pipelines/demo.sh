#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Shows what videoconvolve does, from a bare Debian 12 or 13 machine on: installs what is missing, builds, and filters.
#   ./pipelines/demo.sh [FILE | camera | test]
# FILE is any video that GStreamer can decode, camera is a V4L2 camera (CAMERA=/dev/video0), test is a moving test
# picture, the default. FRAMES=n sets how many frames are filtered: 150 unless set, 0 for all of a file.
# Results are in out/ (OUT=folder): filtered videos, before-after.png, and commands.txt with every line that was run.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=pipelines/lib.sh
. "$root/pipelines/lib.sh"

choose_input "${1:-}"
# shellcheck disable=SC2086
need_packages $packages_build $packages_run
if [ -z "${CONVOLVE_AS_BUILT:-}" ]; then
  # The plugin, and what blur-region.sh takes for a detector.
  targets='gst/libgstconvolve.so pipelines/moving-region'
  # shellcheck disable=SC2086
  if [ ! -f "$build/build.ninja" ] || ! ninja -C "$build" -n $targets | grep -q 'no work to do'; then
    say "Building"
    log=$(set_up "$build" 2>&1 && ninja -C "$build" $targets 2>&1) || fail "$log" "The build failed."
  fi
fi
use_plugin
choose_encoder

out=${OUT:-$root/out}
FRAMES=${FRAMES:-150}
if [ "$kind" != file ] && [ "$FRAMES" = 0 ]; then
  fail "FRAMES=0 needs a file: '$kind' never ends."
fi
mkdir -p "$out"

# Name and settings of each filter that is shown.
filters='blur|filter=gaussian sigma=4
sharpen|filter=unsharp sigma=2 amount=1.5 channels=luma
edges|filter=sobel gradient=magnitude scale=0.5
emboss|filter=emboss angle=315 amount=1
custom|kernel=<<-2,-1,0>,<-1,1,1>,<0,1,2>>'

keep_input "$out/before-after.png"
while IFS='|' read -r name settings; do
  keep_input "$out/$name.mp4"
  keep_input "$out/$name.mkv"
done <<LIST
$filters
LIST
# What an earlier run left would be taken for this one's.
rm -f "$out/before-after.png"
while IFS='|' read -r name settings; do
  rm -f "$out/$name.mp4" "$out/$name.mkv"
done <<LIST
$filters
LIST

COMMANDS=$out/commands.txt
printf '# Run these after:\nexport GST_PLUGIN_PATH=%s\n\n' "$(quote_words "$build/gst")" >"$COMMANDS"

say "Input: $input${camera:+ ($camera)}"
say "Filtering and encoding:"
status=0
while IFS='|' read -r name settings; do
  PROGRESS=$name
  # shellcheck disable=SC2086
  launch @input ! queue ! videoconvolve $settings ! identity name=progress silent=false ! \
    queue ! $encode "location=$out/$name.$suffix" </dev/null || status=1
  [ "$status" = 0 ] || { rm -f "$out/$name.$suffix"; break; }
done <<LIST
$filters
LIST
[ "$status" = 0 ] || fail "The pipeline failed; the messages above say why."

# The picture: the last of a few frames of the first three seconds, scaled, filtered, and put into cells of one size.
scaled='videoscale ! video/x-raw,width=480,pixel-aspect-ratio=1/1'
cell='videoscale add-borders=true ! video/x-raw,width=480,height=270,pixel-aspect-ratio=1/1'
text='textoverlay valignment=top halignment=left shaded-background=true font-desc=Sans,20'
set -- compositor name=grid
i=0
while [ "$i" -lt 6 ]; do
  set -- "$@" "sink_$i::xpos=$((i % 3 * 480))" "sink_$i::ypos=$((i / 3 * 270))"
  i=$((i + 1))
done
# shellcheck disable=SC2086
set -- "$@" ! videoconvert ! pngenc ! multifilesink "location=$out/before-after.png" \
  @input ! videorate drop-only=true ! video/x-raw,framerate=2/1 ! $scaled ! videoconvert ! tee name=t \
  t. ! queue ! $cell ! $text text=before ! grid.sink_0
i=1
while IFS='|' read -r name settings; do
  # shellcheck disable=SC2086
  set -- "$@" t. ! queue ! videoconvolve $settings ! $cell ! $text "text=$name" ! "grid.sink_$i"
  i=$((i + 1))
done <<LIST
$filters
LIST
PROGRESS=
[ "$FRAMES" != 0 ] && [ "$FRAMES" -lt 90 ] || FRAMES=90
log=$(launch "$@" 2>&1) || fail "$log" "The picture could not be made."

say "Filtered videos: $(cd "$out" && ls -- *."$suffix" | tr '\n' ' ')"
say "Before and after: before-after.png"
say "The lines that were run: commands.txt"
say "All of it is in $out"
