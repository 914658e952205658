#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Runs camera-pipewire.sh against a PipeWire of its own, with a test picture as its camera.
#   ./pipelines/pipewire-smoke.sh
# Exit status 77 where PipeWire, its session manager or its elements are not installed.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)

skip () {
  echo "SKIP: $*"
  exit 77
}

for program in pipewire wireplumber wpctl dbus-daemon gst-launch-1.0; do
  command -v "$program" >/dev/null || skip "$program is not installed"
done
for element in pipewiresrc pipewiresink checksumsink; do
  gst-inspect-1.0 "$element" >/dev/null 2>&1 || skip "the element $element is not installed"
done

XDG_RUNTIME_DIR=$(mktemp -d)
export XDG_RUNTIME_DIR DBUS_SESSION_BUS_ADDRESS="unix:path=$XDG_RUNTIME_DIR/bus"
unset PIPEWIRE_REMOTE PIPEWIRE_RUNTIME_DIR DISPLAY WAYLAND_DISPLAY
started=
clean_up () {
  # shellcheck disable=SC2086
  [ -z "$started" ] || kill $started 2>/dev/null || :
  wait
  rm -rf "$XDG_RUNTIME_DIR"
}
trap clean_up EXIT

start () {
  "$@" >>"$XDG_RUNTIME_DIR/log" 2>&1 &
  started="$! $started"
}

# wait_for TEXT COMMAND...: until the command's output has the text, 10 seconds at most.
wait_for () {
  text=$1
  shift
  i=0
  until "$@" 2>/dev/null | grep -q "$text"; do
    i=$((i + 1))
    if [ "$i" = 100 ]; then
      cat "$XDG_RUNTIME_DIR/log"
      skip "PipeWire does not run here: '$*' never said $text"
    fi
    sleep 0.1
  done
}

start dbus-daemon --session --nofork "--address=$DBUS_SESSION_BUS_ADDRESS"
wait_for bus ls "$XDG_RUNTIME_DIR"
start pipewire
wait_for pipewire-0 ls "$XDG_RUNTIME_DIR"
start wireplumber
wait_for WirePlumber wpctl status
start gst-launch-1.0 videotestsrc is-live=true pattern=ball ! \
  video/x-raw,format=YUY2,width=320,height=240,framerate=30/1 ! pipewiresink mode=provide \
  stream-properties=props,media.class=Video/Source,node.name=test-camera,node.description=test-camera
wait_for test-camera wpctl status

# Until ten frames have come: the first may take seconds where plugins have to be scanned before. timeout passes on what
# ends it to all that it has started.
sums=$XDG_RUNTIME_DIR/sums
CAMERA=test-camera WIDTH=320 HEIGHT=240 SINK='checksumsink hash=md5' CONVOLVE_AS_BUILT=yes \
  timeout 40 "$root/pipelines/camera-pipewire.sh" YUY2 >"$sums" 2>&1 &
started="$! $started"
frames=0
i=0
while [ "$frames" -lt 10 ] && [ "$i" -lt 400 ] && kill -0 "${started%% *}" 2>/dev/null; do
  sleep 0.1
  i=$((i + 1))
  frames=$(grep -cE '^[0-9:.]+ [0-9a-f]{32}$' "$sums" || :)
done
different=$(grep -E '^[0-9:.]+ [0-9a-f]{32}$' "$sums" | cut -d ' ' -f 2 | sort -u | wc -l)
echo "$frames frames, $different different"
if [ "$frames" -lt 10 ] || [ "$different" -lt 5 ]; then
  cat "$sums"
  exit 1
fi
