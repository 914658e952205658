#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs latency.sh on the test picture and looks at its table: frames are counted, the element takes a part of the whole,
and a filter that needs more arithmetic takes longer.

    latency-smoke.py SCRIPT"""
import os
import re
import subprocess
import sys

FRAMES = 40


def fail(*text):
    print("FAILED:", *text)
    sys.exit(1)


def measure(*properties):
    env = dict(os.environ, FRAMES=str(FRAMES), WIDTH="640", HEIGHT="360", CONVOLVE_AS_BUILT="yes")
    result = subprocess.run([sys.argv[1], "test", *properties], env=env, capture_output=True, text=True, timeout=60,
                            stdin=subprocess.DEVNULL)
    print(" ".join(properties), result.stdout, result.stderr, sep="\n")
    if "tracer of this GStreamer hangs" in result.stderr:
        print("SKIP: GStreamer's latency tracer hangs without the element, too")
        sys.exit(77)
    if result.returncode:
        fail("exit status", result.returncode)
    rows = re.findall(r"^(in \w+|source to sink) +(\d+) +([\d.]+) +([\d.]+) +([\d.]+)$", result.stdout, re.M)
    table = {label: (int(count), float(median)) for label, count, median, _, _ in rows}
    if set(table) != {"in before", "in videoconvolve", "in behind", "source to sink"}:
        fail("rows:", list(table))
    return table


def main():
    for element in ("videotestsrc", "videoconvert"):
        if subprocess.run(["gst-inspect-1.0", element], capture_output=True).returncode:
            print("SKIP: the element", element, "is not installed")
            sys.exit(77)
    quick = measure("filter=gaussian", "sigma=1")
    slow = measure("filter=disk", "radius=12", "method=direct", "n-threads=1", "backend=cpu")
    for table in (quick, slow):
        count, median = table["in videoconvolve"]
        if not 5 <= count <= FRAMES or not 0 < median <= table["source to sink"][1]:
            fail("the element's row:", table)
    if slow["in videoconvolve"][1] < 2 * quick["in videoconvolve"][1]:
        fail("a disk of 25 pixels takes no longer than a small blur")


if __name__ == "__main__":
    main()
