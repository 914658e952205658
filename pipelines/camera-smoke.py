#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Checks one of the scripts pipelines/camera-*.sh without a camera.

    camera-smoke.py SCRIPT PARSE-LINE

For each format: the line that it prints is one that GStreamer can build (PARSE-LINE is a program that tries), nothing
converts between camera and filter, and with a live test picture in the camera's place the filter gets and gives that
format, and frames come out filtered. What is missing must be named, with a remedy."""
import os
import re
import shlex
import subprocess
import sys

FRAMES = 12
FORMATS = ("YUY2", "UYVY", "NV12", "MJPEG")


def fail(*text):
    print("FAILED:", *text)
    sys.exit(1)


def run(command, **variables):
    env = {name: value for name, value in os.environ.items() if name not in ("DISPLAY", "WAYLAND_DISPLAY")}
    env.update(variables, CONVOLVE_AS_BUILT="yes")
    return subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, env=env, timeout=60)


def printed(script, name, **variables):
    """The line as words, or None where an element is missing and the script says so."""
    result = run([script, name], PRINT="yes", **variables)
    if result.returncode and re.search(r"The element \w+ was not found\. Install it", result.stderr):
        return None
    if result.returncode or not result.stdout.startswith("gst-launch-1.0 -e "):
        fail(script, name, result.stdout, result.stderr)
    return shlex.split(result.stdout)


def elements(line):
    """Names of elements, caps left out, in their order."""
    words = " ".join(line[2:]).split(" ! ")
    return [word.split()[0] for word in words if "/" not in word.split()[0].split(",")[0]]


def check_line(script, parse, name):
    line = printed(script, name, CAMERA="/dev/video0" if "v4l2" in script else "")
    if line is None:
        print(f"{name}: the camera's element is not installed here: not parsed")
        return False
    before = elements(line)[:elements(line).index("videoconvolve")]
    if before[1:] != (["jpegdec"] if name == "MJPEG" else []) + ["queue"]:
        fail("between camera and filter:", before)
    result = run([parse, *line[2:]])
    if result.returncode:
        fail(shlex.join(line), result.stderr)
    print(f"{name}: {' ! '.join(elements(line))}")
    return True


def checksums(text):
    return re.findall(r"^\d+:\d\d:\d\d\.\d+ ([0-9a-f]{32})$", text, re.M)


def check_live(script, name):
    variables = {"CAMERA": "test", "FRAMES": str(FRAMES), "WIDTH": "320", "HEIGHT": "180", "SINK": "checksumsink hash=md5"}
    line = printed(script, name, **variables)
    # Behind the filter only that format may pass, and nothing before it could have converted.
    gives = "I420" if name == "MJPEG" else name
    end = line.index("!", line.index("videoconvolve"))
    line[end:end] = ["!", f"video/x-raw,format={gives}"]
    result = run(line)
    sums = checksums(result.stdout)
    # A live pipeline may drop frames where the machine is busy.
    if result.returncode or not 3 <= len(sums) <= FRAMES or len(set(sums)) < 2:
        fail(f"{name}: {len(sums)} frames\n{result.stdout}\n{result.stderr}")
    line[line.index("videoconvolve") + 1] = "filter=identity"
    if set(sums) & set(checksums(run(line).stdout)):
        fail(f"{name}: a frame came out as it went in")
    print(f"{name}: {len(sums)} of {FRAMES} frames, {gives} in and out")


def check_refusals(script):
    result = run([script, "RGB"])
    if not result.returncode or "'RGB' is not one of" not in result.stderr:
        fail("RGB was not refused:", result.stderr)
    result = run([script], CAMERA="/nonexistent", PIPEWIRE_RUNTIME_DIR="/nonexistent")
    wanted = r"There is no camera|PipeWire does not run|was not found\. Install it|libcamera found no camera"
    if not result.returncode or not re.search(wanted, result.stderr):
        fail("no camera:", result.stdout, result.stderr)
    print(result.stderr.strip())
    if not re.search(r"^Shows", run([script, "--help"]).stdout):
        fail("--help does not help")


def main():
    script, parse = sys.argv[1:3]
    for element in ("checksumsink", "jpegenc", "jpegdec", "videoconvert", "videotestsrc"):
        if run(["gst-inspect-1.0", element]).returncode:
            print("SKIP: the element", element, "is not installed")
            sys.exit(77)
    check_refusals(script)
    for name in FORMATS:
        check_live(script, name)
    if not all([check_line(script, parse, name) for name in FORMATS]):
        print("SKIP: all but the line with the camera's own element was checked")
        sys.exit(77)


if __name__ == "__main__":
    main()
