#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The plugin may export its entry points and nothing else.

    exported-symbols.py libgstconvolve.so"""
import shutil
import subprocess
import sys

WANTED = {"gst_plugin_convolve_get_desc", "gst_plugin_convolve_register"}

if not shutil.which("nm"):
    print("SKIP: nm is not installed")
    sys.exit(77)
listing = subprocess.run(["nm", "-D", "--defined-only", sys.argv[1]], capture_output=True, text=True, check=True).stdout
names = {line.split()[-1].split("@")[0] for line in listing.splitlines() if line.strip()}
# Sanitizers and coverage bring symbols of their own.
names = {name for name in names if not name.startswith(("__asan", "__ubsan", "__odr_asan", "__gcov", "mangle_path"))}
if names != WANTED:
    print("missing:", sorted(WANTED - names), "too many:", sorted(names - WANTED))
    sys.exit(1)
print("exported:", ", ".join(sorted(names)))
