#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Drawings and plots in docs/images are what their scripts make of docs/data.

    drawings.py ROOT"""
import os
import subprocess
import sys
import tempfile


def main():
    root = sys.argv[1]
    data = os.path.join(root, "docs/data")
    images = os.path.join(root, "docs/images")
    plot = [sys.executable, os.path.join(root, "tests/benchmarks/plot.py")]
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, os.path.join(root, "docs/figures.py"), folder], check=True)
        for option, name in (("--cpu", "cpu-opencv.csv"), ("--gpu", "gpu-kernels.csv")):
            path = os.path.join(data, name)
            if os.path.exists(path):
                subprocess.run(plot + [option, path, folder], check=True)
        made = {name for name in os.listdir(folder) if name.endswith(".svg")}
        kept = {name for name in os.listdir(images) if name.endswith(".svg")}
        faults = [f"docs/images/{name} is made by no script" for name in sorted(kept - made)]
        faults += [f"docs/images/{name} is missing" for name in sorted(made - kept)]
        for name in sorted(made & kept):
            with open(os.path.join(folder, name), "rb") as new, open(os.path.join(images, name), "rb") as old:
                if new.read() != old.read():
                    faults.append(f"docs/images/{name} is not what its script makes")
    print(f"{len(made)} drawings compared")
    for fault in faults:
        print(fault)
    sys.exit(1 if faults or not made else 0)


if __name__ == "__main__":
    main()
