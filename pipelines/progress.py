#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs a gst-launch-1.0 line that has `identity name=progress silent=false` in it, and shows frames and frame rate.

    progress.py LABEL gst-launch-1.0 ...

Its exit status is the command's own. What the command writes, less the messages of the counted frames, goes to
standard error if it fails."""
import subprocess
import sys
import time


def main():
    label, command = sys.argv[1], sys.argv[2:]
    command.insert(1, "-v")
    on_terminal = sys.stdout.isatty()
    frames = 0
    first = shown = None
    other = []

    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    for line in process.stdout:
        if ":progress: last-message = chain" not in line:
            other.append(line)
            continue
        now = time.monotonic()
        frames += 1
        if first is None:
            first = shown = now
        elif now - shown >= 1:
            shown = now
            rate = (frames - 1) / (now - first)
            end = "\r" if on_terminal else "\n"
            print(f"  {label:<10} {frames:6d} frames  {rate:7.1f} frames/s", end=end, flush=True)
    status = process.wait()
    took = time.monotonic() - first if first is not None else 0
    rate = f"{frames / took:7.1f} frames/s" if took > 0 else ""
    print(f"  {label:<10} {frames:6d} frames  {rate}  {'done' if status == 0 else 'FAILED'}", flush=True)
    if status:
        sys.stderr.writelines(line for line in other if "caps = " not in line)
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
