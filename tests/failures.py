#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Prints which tests of a run of meson test failed, and the last lines that each of them wrote.

usage: failures.py LABEL BUILD/meson-logs/testlog.json
"""
import json
import sys

GOOD = ('OK', 'SKIP', 'EXPECTEDFAIL')
LINES = 12


def main():
    label, log = sys.argv[1:]
    with open(log, encoding='utf-8', errors='replace') as lines:
        tests = [json.loads(line) for line in lines]
    for test in tests:
        if test['result'] in GOOD:
            continue
        print(f'{label}: {test["name"]}: {test["result"]} after {test["duration"]:.1f} s')
        written = (test.get('stdout') or '').splitlines() + (test.get('stderr') or '').splitlines()
        print(''.join(f'    {line}\n' for line in written[-LINES:]), end='')


if __name__ == '__main__':
    main()
