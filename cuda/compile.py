#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs nvcc, writes down what it says of the kernels and keeps their PTX. Usage: compile.py REPORT PTX nvcc ARGUMENT...

PTX gets that of the newest architecture, which tests run. The report is ptxas's own (registers, stack, spills), then a
line for each instruction of double precision in the PTX: "f64 FUNCTION: INSTRUCTION". tests/ptxas.py reads it.
"""
import os
import re
import subprocess
import sys
import tempfile

# Moving 64 bits is not arithmetic.
DOUBLE = re.compile(r'^\s*(?:@\S+\s+)?(?!(?:ld|st|mov|\.)\b)([a-z][\w.]*\.f64[\w.]*)\b')
TARGET = re.compile(r'^\.target sm_(\d+)', re.MULTILINE)
ENTRY = re.compile(r'\.(?:entry|func)\s+(?:\([^)]*\)\s*)?(\w+)')


def texts(folder):
    """The PTX of each architecture, the oldest first."""
    found = []
    for name in sorted(os.listdir(folder)):
        if name.endswith('.ptx'):
            with open(os.path.join(folder, name), encoding='utf-8') as ptx:
                text = ptx.read()
            found.append((int(TARGET.search(text).group(1)), text))
    return [text for _, text in sorted(found)]


def doubles(text):
    """Names of functions and instructions of double precision in PTX."""
    function = '?'
    for line in text.splitlines():
        entry = ENTRY.search(line)
        function = entry.group(1) if entry else function
        found = DOUBLE.match(line)
        if found:
            yield function, found.group(1)


def main():
    report, kept, command = sys.argv[1], sys.argv[2], sys.argv[3:]
    with tempfile.TemporaryDirectory() as folder:
        result = subprocess.run(command + ['-Xptxas', '-v', '--keep', '--keep-dir', folder], stderr=subprocess.PIPE,
                                text=True, check=False)
        ptx = texts(folder)
    found = sorted({double for text in ptx for double in doubles(text)})
    with open(kept, 'w', encoding='utf-8') as out:
        out.write(ptx[-1] if ptx else '')
    with open(report, 'w', encoding='utf-8') as out:
        out.write(result.stderr)
        for function, instruction in found:
            out.write(f'f64 {function}: {instruction}\n')
    for line in result.stderr.splitlines():
        if result.returncode != 0 or ('info' not in line and 'bytes stack frame' not in line and line.strip()):
            print(line, file=sys.stderr)
    return result.returncode


if __name__ == '__main__':
    sys.exit(main())
