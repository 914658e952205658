#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the records of GStreamer's latency tracer say, in milliseconds.

    latency.py FILE ELEMENT...

FILE is a debug log with the records of latency(flags=pipeline+element)."""
import re
import sys

FIRST = 5  # frames at the start, when memory and code are fetched for the first time


def times(text, record, name):
    """Milliseconds of the records of an element, or from source to sink."""
    found = re.findall(rf" {record}, .*?\b{name}.*? time=\(guint64\)(\d+)", text)
    return [int(time) / 1e6 for time in found][FIRST:]


def row(label, values):
    values = sorted(values)
    count = len(values)
    print(f"{label:<24}{count:8}{values[count // 2]:10.2f}{values[min(count * 95 // 100, count - 1)]:10.2f}"
          f"{values[-1]:10.2f}")


def main():
    with open(sys.argv[1], encoding="utf-8", errors="replace") as file:
        text = file.read()
    rows = [(f"in {name}", times(text, "element-latency", rf"element=\(string\){name},")) for name in sys.argv[2:]]
    rows.append(("source to sink", times(text, "latency", r"src-element=")))
    if not all(values for _, values in rows):
        sys.exit("The tracer left no records: does the pipeline run, and is the tracer 'latency' installed?")
    print(f"{'milliseconds':<24}{'frames':>8}{'median':>10}{'95 %':>10}{'most':>10}")
    for label, values in rows:
        row(label, values)


if __name__ == "__main__":
    main()
