# SPDX-License-Identifier: LGPL-2.1-or-later
# Shell functions shared by the scripts in pipelines/ and tests/. Source it with $root set to the top of the source
# tree; it sets $build, the build folder (CONVOLVE_BUILD overrides it).
# shellcheck shell=sh disable=SC2034

root=${root:?set root before sourcing lib.sh}
build=${CONVOLVE_BUILD:-$root/build}
# CONVOLVE_AS_BUILT set: nothing is installed or built; the tests use what their own build made.

# Debian's packages, by what needs them.
packages_build='gcc libc6-dev meson ninja-build pkg-config python3
  libgstreamer1.0-dev libgstreamer-plugins-base1.0-dev'
packages_run='gstreamer1.0-tools gstreamer1.0-plugins-base gstreamer1.0-plugins-good
  gstreamer1.0-plugins-bad gstreamer1.0-libav gstreamer1.0-x'
packages_test='valgrind indent clang-format shellcheck python3-pip binutils libgstreamer-plugins-bad1.0-dev
  python3-gi gir1.2-gstreamer-1.0 gir1.2-gst-plugins-base-1.0 gstreamer1.0-gl'

say () {
  printf '%s\n' "$*"
}

fail () {
  printf '%s\n' "$*" >&2
  exit 1
}

# Installs those of the packages that are missing. Asks only dpkg when nothing is.
need_packages () {
  [ -z "${CONVOLVE_AS_BUILT:-}" ] || return 0
  if ! command -v dpkg-query >/dev/null; then
    say "Not a Debian system: these packages or their like must be there already:" "$@"
    return 0
  fi
  missing=
  for package in "$@"; do
    case $(dpkg-query -W -f='${db:Status-Status} ' "$package" 2>/dev/null) in
      installed\ * | *\ installed\ *) ;;
      *) missing="$missing $package" ;;
    esac
  done
  [ -n "$missing" ] || return 0

  say "Installing with apt-get (a bare system downloads about 250 MB):$missing"
  if [ "$(id -u)" = 0 ]; then
    as_root=
  elif command -v sudo >/dev/null; then
    as_root=sudo
  else
    fail "These packages are missing and neither root nor sudo is at hand:$missing"
  fi
  log=$($as_root apt-get update -qq 2>&1) || say "$log" "apt-get update failed; trying with the lists that are there"
  # shellcheck disable=SC2086
  log=$($as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing 2>&1) \
    || fail "$log" "Could not install:$missing"
}

# The architecture to make CUDA code for: this machine's GPU's, or one that stands for all where there is none. Code for
# every architecture takes many minutes; installing from a release does that (docs/building.md).
cuda_arch () {
  nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null \
    | head -n 1 | tr -d . | grep '^[0-9]*$' || echo 90
}

# set_up FOLDER [ARGUMENT...]: makes the build folder unless it is there; arguments go to meson setup.
set_up () {
  folder=$1
  shift
  [ -f "$folder/build.ninja" ] || meson setup "$folder" "$root" "-Dcuda-arch=$(cuda_arch)" "$@"
}

# The plugin of the build folder first, an installed one otherwise. Keeps a registry of its own, so that the user's
# is left alone.
use_plugin () {
  if [ -f "$build/gst/libgstconvolve.so" ]; then
    export GST_PLUGIN_PATH="$build/gst${GST_PLUGIN_PATH:+:$GST_PLUGIN_PATH}"
    export GST_REGISTRY="$build/pipelines.registry"
  fi
  if ! gst-inspect-1.0 videoconvolve >/dev/null 2>&1; then
    fail "The element videoconvolve was not found. Run ./pipelines/demo.sh once: it installs what is" \
      "missing and builds."
  fi
}

# --help prints the comment at the top of the script.
show_help () {
  case ${1:-} in
    -h | --help)
      sed -n '3,$ { /^#/!q; s/^# //p; }' "$0"
      exit 0
      ;;
  esac
}

# need_element ELEMENT PACKAGE: ends with what to install if GStreamer lacks the element.
need_element () {
  command -v gst-inspect-1.0 >/dev/null || fail "gst-inspect-1.0 was not found. Install gstreamer1.0-tools."
  gst-inspect-1.0 "$1" >/dev/null 2>&1 || fail "The element $1 was not found. Install it, on Debian with" \
    "'apt-get install $2'."
}

# need_camera INSTEAD: ends with a remedy unless $camera is a device that may be opened.
need_camera () {
  [ -c "$camera" ] || fail "There is no camera at $camera. Plug one in, name another one as in" \
    "CAMERA=/dev/video2, or use $1 instead."
  [ -r "$camera" ] && [ -w "$camera" ] || fail "$camera may not be opened by this user. Add the user to the" \
    "group 'video' and log in anew, or run as root."
}

# Sets $kind to file, camera or test, from the first argument of a script.
choose_input () {
  input=${1:-test}
  show_help "$input"
  case $input in
    camera | test) kind=$input ;;
    *) kind='file' ;;
  esac
  case $kind in
    camera)
      camera=${CAMERA:-/dev/video0}
      need_camera "'test' or a file"
      ;;
    file)
      [ -f "$input" ] && [ -r "$input" ] || fail "'$input' is not a file that can be read. Give a video file," \
        "'camera' or 'test'."
      ;;
  esac
}

# keep_input OUTPUT: ends where the file to be written is the input.
keep_input () {
  [ "$kind" = file ] && [ -e "$1" ] || return 0
  [ "$(readlink -f "$1")" != "$(readlink -f "$input")" ] || fail "'$input' is the input, and would be overwritten." \
    "Name another output, or another folder with OUT=folder."
}

# Sets $encode, the end of a pipeline that writes a file (append location=...), and $suffix, that file's ending.
choose_encoder () {
  if gst-inspect-1.0 openh264enc >/dev/null 2>&1; then
    # The encoder fails, without an error, on odd sizes: those become even.
    encode='videoconvert ! videoscale ! video/x-raw,format=I420,width=[2,8192,2],height=[2,8192,2] !
      openh264enc complexity=low multi-thread=0 rate-control=quality bitrate=6000000 ! h264parse ! mp4mux ! filesink'
    suffix=mp4
  else
    encode='videoconvert ! jpegenc quality=90 ! matroskamux ! filesink'
    suffix=mkv
  fi
}

# camera_format FORMAT: for a camera's FORMAT, of raw video or MJPEG, sets $caps, $decode (what turns them into raw
# video, with its '!'), and $live_picture, a live test picture of that format, cut after $FRAMES frames. WIDTH, HEIGHT
# and RATE choose size and frame rate.
camera_format () {
  format=$1
  size=width=${WIDTH:=640},height=${HEIGHT:=480},framerate=${RATE:=30/1}
  live_picture='videotestsrc is-live=true pattern=smpte horizontal-speed=4'
  [ "${FRAMES:-0}" = 0 ] || live_picture="$live_picture num-buffers=$FRAMES"
  case $format in
    YUY2 | UYVY | NV12)
      caps=video/x-raw,format=$format,$size
      decode=
      ;;
    MJPEG)
      need_element jpegdec gstreamer1.0-plugins-good
      caps=image/jpeg,$size
      decode='! jpegdec'
      live_picture="$live_picture ! video/x-raw,format=I420,$size ! jpegenc"
      ;;
    *) fail "'$format' is not one of YUY2, UYVY, NV12, MJPEG." ;;
  esac
}

# The words as a line that a shell reads back as the same words.
quote_words () {
  line=
  for word in "$@"; do
    case $word in
      ! ) ;;
      '' | *[!A-Za-z0-9_=./,:@-]*) word="'$(printf %s "$word" | sed "s/'/'\\\\''/g")'" ;;
    esac
    line="$line${line:+ }$word"
  done
  say "$line"
}

# launch PART...: runs gst-launch-1.0 with some parts replaced:
#   @input     raw video of the chosen input, cut after $FRAMES frames (0 or unset: all of it)
#   @display   a window, or where there is no display (or HEADLESS is set) a sink that drops the frames; SINK names
#              another sink
# $PROGRESS is a label: the frames that pass `identity name=progress silent=false` are counted and shown with it.
# $LAUNCHER is a program that takes such a line in place of gst-launch-1.0.
# $COMMANDS is a file that gets the line as well. With $PRINT the line is printed and not run.
launch () {
  for part in "$@"; do
    case $part in
      @input)
        case $kind in
          file)
            set -- "$@" filesrc "location=$input" ! \
              decodebin 'caps=video/x-raw(ANY)' expose-all-streams=false ! videoconvert
            ;;
          camera) set -- "$@" v4l2src "device=$camera" ! decodebin ! videoconvert ;;
          test)
            set -- "$@" videotestsrc pattern=smpte horizontal-speed=4 "is-live=${LIVE:-false}" ! \
              "video/x-raw,format=I420,width=${WIDTH:-1280},height=${HEIGHT:-720},framerate=30/1"
            ;;
        esac
        # identity ends the stream in place of the frame that it counts to, but lets pass what a decoder then still
        # hands out: incomplete frames. The queue keeps those back, all but one that may be waiting for room in it; the
        # second identity ends at that one.
        [ "${FRAMES:-0}" = 0 ] || set -- "$@" ! queue ! identity "eos-after=$((FRAMES + 1))" ! \
          identity "eos-after=$((FRAMES + 1))"
        ;;
      @display)
        if [ -n "${SINK:-}" ]; then
          # shellcheck disable=SC2086
          set -- "$@" $SINK
        elif [ -n "${HEADLESS:-}" ]; then
          set -- "$@" fakesink sync=false
        elif [ -z "${DISPLAY:-}${WAYLAND_DISPLAY:-}" ]; then
          say "There is no display: frames are filtered and dropped, until the input ends or Ctrl-C. Set DISPLAY, or" \
            "SINK to another sink, as in SINK='jpegenc ! multifilesink location=%04d.jpg'." >&2
          set -- "$@" fakesink sync=false
        else
          set -- "$@" autovideosink
        fi
        ;;
      *) set -- "$@" "$part" ;;
    esac
    shift
  done
  [ -z "${COMMANDS:-}" ] || quote_words gst-launch-1.0 -e "$@" >>"$COMMANDS"
  if [ -n "${PRINT:-}" ]; then
    quote_words gst-launch-1.0 -e "$@"
  elif [ -n "${PROGRESS:-}" ]; then
    python3 "$root/pipelines/progress.py" "$PROGRESS" gst-launch-1.0 -e "$@"
  else
    # shellcheck disable=SC2086
    ${LAUNCHER:-gst-launch-1.0 -e} "$@"
  fi
}
