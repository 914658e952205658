#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs one of the scripts in pipelines/ on a few frames of the moving test picture, with no display.

    smoke.py SCRIPT FOLDER-FOR-OUTPUT

Passes if as many frames arrive as went in, neither all alike nor unchanged. A script that writes a file is judged by
what a decoder finds in it. demo.sh must leave everything that it names. A file that is cut after some frames must give
exactly these, whole, whatever its decoder does at the end."""
import os
import re
import shutil
import subprocess
import sys

FRAMES = 12


def fail(*text):
    print("FAILED:", *text)
    sys.exit(1)


def checksums(lines):
    """Lines of checksumsink: time stamp and checksum."""
    return re.findall(r"^\d+:\d\d:\d\d\.\d+ ([0-9a-f]{32})$", lines, re.M)


def count_frames(lines, what, at_least=FRAMES):
    sums = checksums(lines)
    if not at_least <= len(sums) <= FRAMES:
        fail(f"{what}: {len(sums)} frames, expected {FRAMES}\n{lines}")
    if len(set(sums)) < 2:
        fail(f"{what}: all frames are alike")
    print(f"{what}: {len(sums)} frames, {len(set(sums))} different")


def source_sums():
    """Checksums of the frames that go in."""
    command = ["gst-launch-1.0", "-q", "videotestsrc", "pattern=smpte", "horizontal-speed=4", f"num-buffers={FRAMES}", "!",
               "video/x-raw,format=I420,width=320,height=180,framerate=30/1", "!", "checksumsink", "hash=md5"]
    return set(checksums(subprocess.run(command, capture_output=True, text=True, check=True).stdout))


def check_video(path):
    command = ["gst-launch-1.0", "-q", "filesrc", f"location={path}", "!", "decodebin", "!", "checksumsink", "hash=md5"]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode:
        fail(path, result.stderr)
    count_frames(result.stdout, os.path.basename(path))


def check_cut(script, env, folder):
    """A longer clip, cut in the middle, against the same clip with no cut."""
    clip = os.path.join(folder, "clip")
    subprocess.run([script, "test", clip], env=dict(env, FRAMES="60"), check=True, stdout=subprocess.DEVNULL)
    edges = os.path.join(os.path.dirname(script), "edges.sh")
    sums = {}
    for frames in ("0", "25"):
        result = subprocess.run([edges, clip], env=dict(env, FRAMES=frames), capture_output=True, text=True)
        if result.returncode:
            fail("the clip", result.stdout, result.stderr)
        sums[frames] = checksums(result.stdout)
    os.remove(clip)
    if len(sums["0"]) != 60 or sums["25"] != sums["0"][:25]:
        fail(f"cut after 25 of {len(sums['0'])} frames: {len(sums['25'])} frames came, or not the first ones")
    print("cut after 25 of 60 frames: the first 25, whole")


def check_input_kept(script, env, path, *more):
    """A script whose output would overwrite its input refuses, and leaves all files as they are."""
    folder = os.path.dirname(path)

    def contents():
        found = {}
        for name in os.listdir(folder):
            with open(os.path.join(folder, name), "rb") as file:
                found[name] = file.read()
        return found

    before = contents()
    result = subprocess.run([script, path, *more], env=env, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if not result.returncode or "would be overwritten" not in result.stderr:
        fail("the input was not kept:", result.stdout, result.stderr)
    if contents() != before:
        fail("files changed though the script refused; there are", sorted(os.listdir(folder)))
    print(f"{os.path.basename(path)} as input and output: refused")


def main():
    script, folder = sys.argv[1], sys.argv[2]
    name = os.path.splitext(os.path.basename(script))[0]
    for program in ("gst-launch-1.0", "gst-inspect-1.0"):
        if not shutil.which(program):
            print("SKIP:", program, "is not installed")
            sys.exit(77)
    for element in ("checksumsink", "compositor", "videoscale", "pngenc", "multifilesink", "textoverlay"):
        if subprocess.run(["gst-inspect-1.0", element], capture_output=True).returncode:
            print("SKIP: the element", element, "is not installed")
            sys.exit(77)

    out = os.path.join(folder, name)
    shutil.rmtree(out, ignore_errors=True)
    os.makedirs(out)
    env = dict(os.environ, FRAMES=str(FRAMES), WIDTH="320", HEIGHT="180", OUT=out, SINK="checksumsink hash=md5",
               CONVOLVE_AS_BUILT="yes")
    result = subprocess.run([script, "test"], env=env, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if result.returncode:
        fail(f"exit status {result.returncode}\n{result.stdout}\n{result.stderr}")

    files = sorted(os.listdir(out))
    videos = [f for f in files if f.endswith((".mp4", ".mkv"))]
    if name == "demo":
        for wanted in ("before-after.png", "commands.txt"):
            if wanted not in files or not os.path.getsize(os.path.join(out, wanted)):
                fail(wanted, "is missing; there are", files)
        if len(videos) != 5 or result.stdout.count(f"{FRAMES} frames") != 5:
            fail("five filters should have run\n", result.stdout)
        check_input_kept(script, env, os.path.join(out, videos[-1]))
    elif name == "sharpen-file":
        if len(videos) != 1:
            fail("no video was written")
        check_cut(script, env, out)
        check_input_kept(script, env, os.path.join(out, videos[0]))
        check_input_kept(script, env, os.path.join(out, videos[0]), os.path.join(out, videos[0]))
    else:
        # A live pipeline may drop frames where the machine is busy.
        count_frames(result.stdout, name, 3 if name == "blur-camera" else FRAMES)
        if source_sums() & set(checksums(result.stdout)):
            fail(f"{name}: a frame came out as it went in")
    for video in videos:
        check_video(os.path.join(out, video))


if __name__ == "__main__":
    main()
