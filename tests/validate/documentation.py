#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The tables of properties in docs/element.md and README.md against what gst-inspect-1.0 says: names, types, ranges,
defaults and flags, none missing and none too many; and the list of formats in docs/element.md against the pads.

    documentation.py SOURCE-ROOT"""
import os
import re
import subprocess
import sys

FROM_BASE_CLASSES = {"name", "parent", "qos"}
# Documented, but not in every version of GStreamer that is supported.
NEWER_FORMATS = {"GBR_16LE", "GBR_16BE"}


def inspect():
    return subprocess.run(["gst-inspect-1.0", "--no-colors", "videoconvolve"], capture_output=True, text=True,
                          check=True).stdout


def properties(text):
    """name -> (type, range, default, changes) as the tables write them."""
    section = text[text.index("Element Properties:"):]
    found = {}
    for block in re.split(r"\n(?=  [a-z][a-z0-9-]* +: )", section)[1:]:
        name = re.match(r"  ([a-z0-9-]+)", block).group(1)
        if name in FROM_BASE_CLASSES:
            continue
        flags = re.search(r"flags: (.*)", block).group(1)
        if "writable" not in flags:
            changes = "read only"
        elif "PLAYING" in flags:
            changes = "playing"
        elif "READY" in flags:
            changes = "ready"
        else:
            changes = "?"
        if "controllable" in flags:
            changes += ", c"
        kind = re.search(r"^ +(Boolean|Integer|Unsigned Integer|Double|String|Enum|Flags|GstValueArray|Boxed pointer|"
                         r"GstStructure|Array)\b(.*)$", block, re.M)
        if not kind:
            sys.exit(f"FAILED: no type found in\n{block}")
        rest = kind.group(2)
        numbers = re.search(r"Range: +(\S+) - +(\S+)", rest)
        default = re.search(r"Default: +(.*?)\s*$", rest)
        default = default.group(1).strip('"') if default else ""
        values = re.findall(r"^ +\((?:0x)?[0-9a-f]+\): (\S+)", block, re.M)
        span = ""
        if kind.group(1) in ("Enum", "Flags"):
            span = ", ".join(values)
            quoted = re.search(r'Default: \S+, "([^"]*)"', rest)
            default = quoted.group(1) if quoted else default
        elif numbers:
            span = f"{numbers.group(1)} .. {numbers.group(2)}"
        words = {"Boolean": "boolean", "Integer": "int", "Unsigned Integer": "uint", "Double": "double",
                 "String": "string", "Enum": "enum", "Flags": "flags", "Boxed pointer": "structure",
                 "GstStructure": "structure"}
        found[name] = [words.get(kind.group(1), "array"), tidy(span), tidy(default), changes]
    return found


def tidy(text):
    """Numbers as whole as they are; gst-inspect-1.0 writes some as 1e+06."""
    def number(match):
        value = float(match.group(0))
        return str(int(value)) if value == int(value) else f"{value:g}"
    return re.sub(r"-?\d+(\.\d+)?(e[+-]?\d+)?", number, text)


def table(path, columns):
    """The rows of the first table of the file whose head begins with `property`, by name."""
    rows = {}
    inside = False
    with open(path, encoding="utf-8") as file:
        for line in file:
            if line.startswith("| property |"):
                inside = True
            elif inside and not line.startswith("|"):
                break
            elif inside and not line.startswith("| ---"):
                cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
                if len(cells) != columns:
                    sys.exit(f"FAILED: {path}: a row of {len(cells)} cells, not {columns}: {line}")
                rows[cells[0].strip("`")] = cells[1:]
    return rows


def main():
    root = sys.argv[1]
    text = inspect()
    real = properties(text)
    faults = []

    documented = table(os.path.join(root, "docs/element.md"), 5)
    for name in sorted(set(real) | set(documented)):
        if name not in documented:
            faults.append(f"docs/element.md lacks the property {name}: {real[name]}")
        elif name not in real:
            faults.append(f"docs/element.md has a property {name} that the element lacks")
        else:
            cells = documented[name][:]
            cells[0] = "array" if cells[0].startswith("array") else cells[0]
            if cells != real[name]:
                faults.append(f"docs/element.md, {name}: {cells}\n    the element says: {real[name]}")

    short = table(os.path.join(root, "README.md"), 3)
    for name in sorted(set(real) | set(short)):
        if name not in short or name not in real:
            faults.append(f"README.md: the property {name} is {'missing' if name in real else 'not one of the element'}")
        elif short[name][0] != real[name][2]:
            faults.append(f"README.md: {name}: default {short[name][0]!r}, the element says {real[name][2]!r}")

    caps = re.search(r"SRC template.*?video/x-raw\n.*? format: (.*?)\n", text, re.S)
    formats = set(re.findall(r"\w+", caps.group(1).replace("(string)", "")))
    with open(os.path.join(root, "docs/element.md"), encoding="utf-8") as file:
        page = file.read()
    section = page[page.index("## Formats"):page.index("## Buffers")]
    listed = set(re.findall(r"`(\w+)`", section))
    for name in sorted((formats ^ listed) - NEWER_FORMATS):
        faults.append(f"docs/element.md: the format {name} is {'missing' if name in formats else 'not one of the pads'}")

    entry = text[text.index("\n  stats "):].split("\n\n")[0]
    fields = set(re.findall(r"^ +([a-z-]+): \S", entry, re.M)) - {"flags"}
    rows = page[page.index("| field of `stats`"):].split("\n\n")[0].splitlines()[2:]
    documented = {name for row in rows for name in re.findall(r"`([a-z-]+)`", row.split("|")[1])}
    for name in sorted(fields ^ documented):
        faults.append(f"docs/element.md: {name} is a field of stats in only one of page and element")

    if not real or not formats:
        faults.append("gst-inspect-1.0 was not understood")
    print(f"{len(real)} properties, {len(formats)} formats compared")
    for fault in faults:
        print(fault)
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
