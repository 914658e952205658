#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The element on the CPU beside FFmpeg's filters and GStreamer's gaussianblur, one thread each.

    cpu-peers.py [--rounds N] [--height N] [--csv FILE]

What counts is the CPU time of a process with the filter less that of one without, a frame; peer and element take
turns, and of each kind of process the best of all rounds is taken. GST_PLUGIN_PATH has to lead to the plugin;
CONVOLVE_CPU may ask for an instruction set. Peers that are not installed are left out, and if none is the exit status is 77."""
import argparse
import resource
import shutil
import subprocess
import sys

MATRIX3 = [1, 2, 1, 2, 5, 2, 1, 2, 2]
MATRIX5 = [1, 2, 3, 2, 1, 2, 4, 6, 4, 2, 3, 6, 10, 6, 3, 2, 4, 6, 4, 2, 1, 2, 3, 2, 2]
MATRIX7 = [1 + (7 * i * i + 3 * i) % 11 for i in range(49)]


def custom(weights):
    side = int(len(weights) ** 0.5)
    rows = [",".join(str(w) for w in weights[i:i + side]) for i in range(0, len(weights), side)]
    return "filter=custom kernel=" + "<" + ",".join(f"<{row}>" for row in rows) + ">"


def convolution(weights):
    return "convolution='" + " ".join(map(str, weights)) + f"':0rdiv=1/{sum(weights)}"


# Name, format, the element's properties, the peer, its filter. gblur is recursive and avgblur and boxblur have borders
# of their own, so these are not the same sums; the others are but for the border.
JOBS = [
    ("Gaussian, r = 8", "GRAY8", "filter=gaussian sigma=2.66", "ffmpeg", "gblur=sigma=2.66:steps=1"),
    ("Gaussian, r = 32", "GRAY8", "filter=gaussian sigma=10.66", "ffmpeg", "gblur=sigma=10.66:steps=1"),
    ("3x3 matrix", "GRAY8", custom(MATRIX3), "ffmpeg", convolution(MATRIX3)),
    ("5x5 matrix", "GRAY8", custom(MATRIX5), "ffmpeg", convolution(MATRIX5)),
    ("7x7 matrix", "GRAY8", custom(MATRIX7), "ffmpeg", convolution(MATRIX7)),
    ("box, r = 8", "GRAY8", "filter=box radius=8", "ffmpeg", "avgblur=sizeX=8"),
    ("box, r = 8", "GRAY8", "filter=box radius=8", "ffmpeg", "boxblur=luma_radius=8:luma_power=1"),
    # Of 11 taps, as gaussianblur has for this sigma, and of the 13 that ours has.
    ("Gaussian, r = 5", "AYUV", "filter=gaussian sigma=1.66 alpha-mode=straight", "gst", "gaussianblur sigma=2"),
    ("Gaussian, r = 6", "AYUV", "filter=gaussian sigma=2 alpha-mode=straight", "gst", "gaussianblur sigma=2"),
]
FFMPEG_FORMATS = {"GRAY8": "gray"}


def cpu_ms(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1e3 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def ffmpeg(options, pixel_format, effect, frames):
    size = f"{options.height * 16 // 9}x{options.height}"
    chain = f"testsrc2=s={size}:r=30,format={FFMPEG_FORMATS[pixel_format]},loop=loop=-1:size=1"
    return cpu_ms(["ffmpeg", "-nostdin", "-v", "error", "-filter_threads", "1", "-filter_complex_threads", "1",
                   "-f", "lavfi", "-i", chain + ("," + effect if effect else ""), "-frames:v", str(frames),
                   "-threads", "1", "-c:v", "wrapped_avframe", "-f", "null", "-"])


def gst(options, pixel_format, effect, frames):
    caps = f"video/x-raw,format={pixel_format},width={options.height * 16 // 9},height={options.height}"
    return cpu_ms(["gst-launch-1.0", "-q", "videotestsrc", "num-buffers=1", "pattern=smpte75", "!", caps, "!",
                   "imagefreeze", f"num-buffers={frames}", "!"] + (effect.split() + ["!"] if effect else [])
                  + ["fakesink", "sync=false"])


def compare(options, job):
    _, pixel_format, properties, tool, effect = job
    run = {"ffmpeg": ffmpeg, "gst": gst}[tool]
    sides = [(gst, "videoconvolve backend=cpu n-threads=1 " + properties, 600),
             (run, effect, 10 if tool == "gst" else 30)]
    best = [[float("inf"), float("inf")] for _ in sides]
    for _ in range(options.rounds):
        for side, (program, name, frames) in enumerate(sides):
            for bare in (0, 1):
                took = program(options, pixel_format, None if bare else name, frames)
                best[side][bare] = min(best[side][bare], took)
    return [(best[side][0] - best[side][1]) / sides[side][2] for side in (0, 1)]


def available():
    found = set()
    if shutil.which("ffmpeg"):
        found.add("ffmpeg")
    if shutil.which("gst-inspect-1.0") and not subprocess.run(["gst-inspect-1.0", "--exists", "gaussianblur"]).returncode:
        found.add("gst")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--height", type=int, default=1080)
    parser.add_argument("--csv")
    options = parser.parse_args()
    found = available()
    if not found or not shutil.which("gst-launch-1.0"):
        print("SKIP: neither ffmpeg nor GStreamer's gaussianblur is installed")
        return 77
    lines = ["height,job,format,peer,ours_ms,peer_ms"]
    for job in JOBS:
        if job[3] not in found:
            continue
        ours, theirs = compare(options, job)
        peer = job[4].split("=", maxsplit=1)[0] if job[3] == "ffmpeg" else job[4].split()[0]
        print(f"{job[0]:18} {job[1]:6} | ours {ours:.3f} | {peer} {theirs:.3f} = {theirs / ours:.1f} x", flush=True)
        lines.append(f"{options.height},\"{job[0]}\",{job[1]},{peer},{ours:.4f},{theirs:.4f}")
    if options.csv:
        with open(options.csv, "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
