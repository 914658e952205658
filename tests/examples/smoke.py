#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs an example application with no display and a script of keys, and compares each frame that it writes with what
gst-launch-1.0 makes of the settings that are due then.

    smoke.py FOLDER-FOR-OUTPUT PROGRAM [ARGUMENT...]

An argument python3 stands for an interpreter that has gi; exit status 77 where there is none."""
import hashlib
import os
import re
import shutil
import subprocess
import sys

FRAMES = 40
WIDTH, HEIGHT = 640, 360
# Keys, and what has to be in effect from that frame on.
SCRIPT = [(0, "", "filter=gaussian sigma=2"), (5, "f", "filter=box radius=3"), (10, "+", "filter=box radius=5"),
          (15, "b", "filter=identity radius=5"), (20, "b", "filter=box radius=5"), (25, "d", "filter=gaussian sigma=2"),
          (30, "-", "filter=gaussian sigma=1.33333")]
REGION = [(0, "", "filter=gaussian sigma=2"),
          (4, "r", "filter=gaussian sigma=2 roi-mode=inside rois=<<160,90,320,180>>"),
          (8, "h", "filter=gaussian sigma=2 roi-mode=inside rois=<<120,90,320,180>>"),
          (12, "[", "filter=gaussian sigma=2 roi-mode=inside rois=<<160,113,240,135>>"),
          (16, "r", "filter=gaussian sigma=2 roi-mode=outside rois=<<160,113,240,135>>"),
          (20, "r", "filter=gaussian sigma=2")]


def fail(*text):
    print("FAILED:", *text)
    sys.exit(1)


def skip(text):
    print("SKIP:", text)
    sys.exit(77)


def interpreter():
    for python in (sys.executable, "/usr/bin/python3"):
        code = "import gi; gi.require_version('Gst', '1.0'); gi.require_version('GstVideo', '1.0');" \
            "from gi.repository import Gst, GstVideo"
        if os.path.exists(python) and not subprocess.run([python, "-c", code], capture_output=True).returncode:
            return python
    return skip("no Python with gi and GStreamer's introspection (python3-gi, gir1.2-gst-plugins-base-1.0)")


def has(element):
    return not subprocess.run(["gst-inspect-1.0", element], capture_output=True).returncode


def run(command, *arguments):
    env = {name: value for name, value in os.environ.items() if name not in ("DISPLAY", "WAYLAND_DISPLAY")}
    return subprocess.run([*command, *arguments], capture_output=True, text=True, timeout=100, env=env,
                          stdin=subprocess.DEVNULL)


def read_y4m(path):
    """The frames of 4:2:0 video, as bytes."""
    with open(path, "rb") as file:
        head = file.readline()
        if f"W{WIDTH} H{HEIGHT}".encode() not in head or b"C420" not in head:
            fail("head of the file:", head)
        frames = []
        while file.readline().startswith(b"FRAME"):
            frames.append(file.read(WIDTH * HEIGHT * 3 // 2))
        return frames


def expected_sums(settings, frames):
    line = f"videotestsrc num-buffers={frames} pattern=smpte horizontal-speed=4 ! " \
        f"video/x-raw,format=I420,width={WIDTH},height={HEIGHT},framerate=30/1 ! videoconvolve {settings} ! " \
        "checksumsink hash=md5"
    result = subprocess.run(["gst-launch-1.0", "-q", *line.split()], capture_output=True, text=True)
    if result.returncode:
        fail(line, result.stderr)
    return re.findall(r"^\S+ ([0-9a-f]{32})$", result.stdout, re.M)


def check_script(command, folder, script):
    path = os.path.join(folder, "out.y4m")
    keys = " ".join(f"{frame}:{key}" for frame, key, _ in script if key)
    result = run(command, "--output", path, "--frames", str(FRAMES), "--keys", keys)
    if result.returncode:
        fail(f"exit status {result.returncode}\n{result.stdout}\n{result.stderr}")
    said = re.findall(r"^frame (\d+): (.*)$", result.stdout, re.M)
    if said != [(str(frame), settings) for frame, _, settings in script]:
        fail(f"{keys}: said\n{result.stdout}")

    frames = read_y4m(path)
    if len(frames) != FRAMES:
        fail(f"{len(frames)} frames in the file, not {FRAMES}")
    ends = [frame for frame, _, _ in script[1:]] + [FRAMES]
    strength = re.compile(r"filter=identity.*|sigma=1.33333")  # printed with six digits
    for (first, _, settings), end in zip(script, ends):
        exact = strength.sub(lambda m: "sigma=1.3333333333333333" if "sigma" in m.group() else "filter=identity", settings)
        wanted = expected_sums(exact, end)
        for i in range(first, end):
            if hashlib.md5(frames[i]).hexdigest() != wanted[i]:
                fail(f"frame {i} is not that of {exact}")
        print(f"frames {first} to {end - 1}: {exact}")
    os.remove(path)


def check_refusals(command):
    for arguments, status, text in ((["--keys", "3:x", "--output", "none"], 2, "3:x"),
                                    (["--input", "/nonexistent.mkv", "--output", "none"], 1, "not found"),
                                    (["--output", "none", "clip.mkv"], 2, "clip.mkv"),
                                    (["--output", "none", "--frames=-5"], 2, "less than 0"),
                                    (["--output", "none", "--backend", "gpu"], 2, "gpu"),
                                    (["--output", "window"], 1, "There is no display"),
                                    (["--output", "/nonexistent/out.y4m"], 1, "/nonexistent/out.y4m")):
        result = run(command, *arguments)
        if result.returncode != status or text not in result.stderr:
            fail(f"{arguments}: exit status {result.returncode}, wanted {status} and '{text}'\n{result.stderr}")


def check_matroska(command, folder):
    path = os.path.join(folder, "out.mkv")
    result = run(command, "--output", path, "--frames", "10", "--backend", "cpu")
    if result.returncode or "10 frames filtered on CPU" not in result.stdout:
        fail(f"{result.stdout}\n{result.stderr}")
    # A file as input: what came out goes in.
    result = run(command, "--input", path, "--output", "none", "--keys", "2:f")
    if result.returncode or "10 frames filtered" not in result.stdout or "frame 2: filter=box" not in result.stdout:
        fail(f"{path}: {result.stdout}\n{result.stderr}")
    os.remove(path)


def main():
    folder, command = sys.argv[1], sys.argv[2:]
    for element in ("y4menc", "checksumsink", "jpegenc", "jpegdec", "matroskamux", "uridecodebin", "videoconvert"):
        if not shutil.which("gst-inspect-1.0") or not has(element):
            skip(f"the element {element} is not installed")
    if command[0] == "python3":
        command[0] = interpreter()
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    check_script(command, folder, SCRIPT)
    check_script(command, folder, REGION)
    check_matroska(command, folder)
    check_refusals(command)


if __name__ == "__main__":
    main()
