#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Real video through the element, from decoder to sink, against a reference in Python.

    clips.py FOLDER-FOR-CLIPS

Every clip must come out of a filter with as many frames as it has, at the same times, each changed. The frames of the
small clips are compared with what docs/filters.md says, sample by sample (within 1). Exit status 77 if the
clips or the programs can't be had."""
import importlib.util
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile

CHECKED_FRAMES = 2
HERE = os.path.dirname(os.path.abspath(__file__))


def skip(reason):
    print("SKIP:", reason)
    sys.exit(77)


def gst(*parts):
    result = subprocess.run(["gst-launch-1.0", *parts], capture_output=True, text=True, timeout=300)
    if result.returncode or "ERROR" in result.stderr or "WARNING" in result.stderr:
        sys.exit(f"FAILED: gst-launch-1.0 {' '.join(parts)}\n{result.stdout}{result.stderr}")
    return result.stdout


def source(clip):
    return ["filesrc", f"location={clip}", "!", "decodebin", "caps=video/x-raw(ANY)", "expose-all-streams=false", "!",
            "videoconvert", "!", "video/x-raw,format=I420"]


def stamps(clip, *filters):
    """Presentation time and checksum of every frame."""
    text = gst("-q", *source(clip), "!", *filters, "checksumsink", "hash=md5")
    return re.findall(r"^(\d+:\d\d:\d\d\.\d+) ([0-9a-f]{32})$", text, re.M)


def clip_size(clip):
    text = gst("-v", *source(clip), "!", "fakesink", "num-buffers=1")
    sizes = re.findall(r"fakesink0.GstPad:sink: caps = .*?width=\(int\)(\d+), height=\(int\)(\d+)", text)
    return tuple(map(int, sizes[0]))


def raw_frames(clip, path, size, count, *filters):
    """The first count frames as lists of planes; a plane is a list of rows of bytes."""
    gst(*source(clip), "!", "identity", f"eos-after={count + 1}", "!", *filters, "filesink", f"location={path}")
    width, height = size
    planes = [(width, height)] + [((width + 1) // 2, (height + 1) // 2)] * 2
    with open(path, "rb") as file:
        data = file.read()
    # GStreamer's I420: each plane's rows start at multiples of 4 bytes, chroma after an even number of luma rows.
    strides = [-(-w // 4) * 4 for w, _ in planes]
    rows = [-(-height // 2) * 2] + [(-(-height // 2) * 2) // 2] * 2
    frame_bytes = sum(s * r for s, r in zip(strides, rows))
    # A decoder may push a frame too many before it learns that the stream ended.
    if len(data) < count * frame_bytes or len(data) % frame_bytes:
        sys.exit(f"FAILED: {path} has {len(data)} bytes, not {count} frames of {width}x{height}")
    frames = []
    for start in range(0, count * frame_bytes, frame_bytes):
        frame, at = [], start
        for (w, h), stride, n in zip(planes, strides, rows):
            frame.append([data[at + y * stride:at + y * stride + w] for y in range(h)])
            at += stride * n
        frames.append(frame)
    return frames


def correlate(plane, matrix, zero, bias=0.0):
    """The rule of docs/filters.md with border replicate, before rounding."""
    height, width = len(plane), len(plane[0])
    ay, ax = len(matrix) // 2, len(matrix[0]) // 2
    taps = [(j - ay, i - ax, k) for j, row in enumerate(matrix) for i, k in enumerate(row) if k]
    out = []
    for y in range(height):
        line = [0.0] * width
        for dy, dx, k in taps:
            row = plane[min(max(y + dy, 0), height - 1)]
            for x in range(width):
                line[x] += k * (row[min(max(x + dx, 0), width - 1)] - zero)
        out.append([zero + bias + v for v in line])
    return out


def gaussian_weights(sigma):
    reach = math.ceil(3 * sigma)
    weights = [math.exp(-i * i / (2 * sigma * sigma)) for i in range(-reach, reach + 1)]
    return [w / sum(weights) for w in weights]


def gaussian(plane, zero, chroma):
    weights = gaussian_weights(1.0 if chroma else 2.0)
    across = correlate(plane, [weights], zero)
    return correlate(across, [[w] for w in weights], zero)


def sobel(plane, zero, chroma):
    if chroma:
        return [[128] * len(row) for row in plane]
    gx = correlate(plane, [[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]], 0)
    gy = correlate(plane, [[-1, -2, -1], [0, 0, 0], [1, 2, 1]], 0)
    return [[zero + math.hypot(a, b) for a, b in zip(ra, rb)] for ra, rb in zip(gx, gy)]


def sharpen(plane, zero, chroma):
    return correlate(plane, [[0, -1, 0], [-1, 5, -1], [0, -1, 0]], zero)


def custom(plane, zero, chroma):
    # Divided by its sum, 2; bias is a tenth of luma's nominal range, 219.
    return correlate(plane, [[1.0, 0.0], [0.5, -0.5]], zero, 0 if chroma else 21.9)


FILTERS = [
    (["filter=gaussian", "sigma=2"], gaussian),
    (["filter=sobel"], sobel),
    (["filter=sharpen", "amount=1"], sharpen),
    (["kernel=<<2,0>,<1,-1>>", "bias=0.1"], custom),
]


def check_pixels(clip, size, work):
    before = raw_frames(clip, os.path.join(work, "before.raw"), size, CHECKED_FRAMES)
    for settings, reference in FILTERS:
        after = raw_frames(clip, os.path.join(work, "after.raw"), size, CHECKED_FRAMES, "videoconvolve", *settings, "!")
        worst = 0.0
        for n, (old, new) in enumerate(zip(before, after)):
            for p, (plane, result) in enumerate(zip(old, new)):
                expected = reference(plane, 16 if p == 0 else 128, p > 0)
                for y, (want, have) in enumerate(zip(expected, result)):
                    for x, (a, b) in enumerate(zip(want, have)):
                        off = abs(min(max(a, 0), 255) - b)
                        worst = max(worst, off)
                        if off > 1:
                            sys.exit(f"FAILED: {settings}: frame {n}, plane {p}, ({x}, {y}): {b}, expected {a:.3f}")
        print(f"  {' '.join(settings)}: {len(after)} frames, largest difference to the exact value {worst:.3f}")


def main():
    folder = sys.argv[1]
    for program in ("gst-launch-1.0", "gst-inspect-1.0"):
        if not shutil.which(program):
            skip(f"{program} is not installed")
    spec = importlib.util.spec_from_file_location("fetch", os.path.join(HERE, "fetch-clips.py"))
    fetch = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(fetch)
    reason = fetch.fetch(folder)
    if reason:
        skip(reason)
    decoders = [subprocess.run(["gst-inspect-1.0", d], capture_output=True).returncode == 0
                for d in ("avdec_h264", "openh264dec")]
    if subprocess.run(["gst-inspect-1.0", "checksumsink"], capture_output=True).returncode:
        skip("the element checksumsink is not installed")
    if not any(decoders):
        skip("no H.264 decoder is installed")

    clips = sorted(os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(".mp4"))
    compared = 0
    for clip in clips:
        size = clip_size(clip)
        before = stamps(clip)
        after = stamps(clip, "videoconvolve", "filter=gaussian", "sigma=2", "!")
        print(f"{os.path.basename(clip)}: {size[0]}x{size[1]}, {len(before)} frames")
        if not before or [time for time, _ in before] != [time for time, _ in after]:
            sys.exit(f"FAILED: {len(before)} frames went in, {len(after)} came out, or time stamps differ")
        if set(before) & set(after):
            sys.exit("FAILED: a frame came out as it went in")
        if size[0] * size[1] <= 352 * 288:
            with tempfile.TemporaryDirectory(dir=folder) as work:
                check_pixels(clip, size, work)
            compared += 1
    if not compared:
        sys.exit("FAILED: no clip was small enough to be compared")


if __name__ == "__main__":
    main()
