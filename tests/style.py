#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Checks the style of the source tree.

    style.py CHECK ROOT

CHECK is one of text (SPDX line, tabs, blanks at line ends, last newline, line length), indent (GNU indent on .c files),
clang-format (CUDA files), headers (each header compiles alone), scripts (shellcheck, Python's compiler). Exit status 77
if the program that a check needs is missing, or formats otherwise than the version that formatted the tree. INDENT,
CLANG_FORMAT and CC name other programs, CUDA_INCLUDE the folder of cuda.h: headers that need it are left out where
there is none."""
import difflib
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

INDENT_OPTIONS = """--braces-on-if-line --case-brace-indentation0 --case-indentation2 --braces-after-struct-decl-line
  --line-length80 --no-tabs --cuddle-else --dont-line-up-parentheses --continuation-indentation4 --honour-newlines
  --tab-size8 --indent-level2 --leave-preprocessor-space""".split()
FOLDERS = ("gst", "cuda", "tests", "pipelines", "docs", ".ci")
TEXT = (".c", ".h", ".cu", ".cuh", ".py", ".sh", ".md", ".build", ".prs", ".txt", ".supp")
SOURCES = (".c", ".h", ".cu", ".cuh", ".py", ".sh", ".build")
SPDX = "SPDX-License-Identifier: LGPL-2.1-or-later"
LONGEST = {".c": 80, ".h": 120, ".cu": 120, ".cuh": 120, ".py": 120, ".sh": 120, ".build": 120}


def tree(root, *endings):
    """Files of the tree with these endings, relative to root; .ci/run counts as a shell script."""
    found = [f for f in os.listdir(root) if os.path.isfile(os.path.join(root, f))]
    for folder in FOLDERS:
        for where, folders, files in os.walk(os.path.join(root, folder)):
            folders[:] = [d for d in folders if d != "__pycache__"]
            found += [os.path.relpath(os.path.join(where, f), root) for f in files]
    return sorted(f for f in found if f.endswith(endings) or (f == ".ci/run" and ".sh" in endings))


def read(root, name):
    with open(os.path.join(root, name), encoding="utf-8", newline="") as file:
        return file.read()


def need(variable, program):
    command = shlex.split(os.environ.get(variable, program))
    if not shutil.which(command[0]):
        print(f"SKIP: {command[0]} is not installed")
        sys.exit(77)
    return command


def need_version(variable, program, version):
    """The formatters of Debian 12: others put some blanks elsewhere."""
    command = need(variable, program)
    said = subprocess.run([*command, "--version"], capture_output=True, text=True).stdout.strip()
    if not re.search(rf" {re.escape(version)}\b", said):
        print(f"SKIP: the tree is formatted by {program} {version}, and this is {said}")
        sys.exit(77)
    return command


def cannot_break(line):
    """Strings and the lines of documentation that are meant to be pasted."""
    return '"' in line or "gst-launch-1.0" in line


def check_text(root):
    faults = []
    for name in tree(root, *TEXT):
        text = read(root, name)
        ending = ".sh" if name == ".ci/run" else os.path.splitext(name)[1]
        lines = text.split("\n")
        if ending in SOURCES or name == "meson_options.txt":
            if not any(SPDX in line for line in lines[:2]):
                faults.append(f"{name}:1: no line '{SPDX}'")
        if not text.endswith("\n") or text.endswith("\n\n"):
            faults.append(f"{name}:{len(lines)}: the file must end with one newline")
        for number, line in enumerate(lines, 1):
            if "\t" in line:
                faults.append(f"{name}:{number}: tab")
            if line != line.rstrip():
                faults.append(f"{name}:{number}: blanks or a carriage return at the end of the line")
            if len(line) > LONGEST.get(ending, len(line)) and not cannot_break(line):
                faults.append(f"{name}:{number}: {len(line)} columns, at most {LONGEST[ending]}")
    return faults


def differences(root, name, formatted):
    text = read(root, name)
    if text == formatted:
        return []
    lines = text.splitlines(True), formatted.splitlines(True)
    return ["".join(difflib.unified_diff(*lines, name, name + " (formatted)"))]


def check_indent(root):
    indent = need_version("INDENT", "indent", "2.2.12")
    faults = []
    for name in tree(root, ".c"):
        with tempfile.NamedTemporaryFile(suffix=".c") as copy:
            # Two runs: GNU indent sometimes needs the second one to settle.
            source = os.path.join(root, name)
            for _ in range(2):
                result = subprocess.run([*indent, "-npro", *INDENT_OPTIONS, source, "-o", copy.name],
                                        capture_output=True, text=True)
                if result.returncode:
                    faults.append(f"{name}: {result.stderr}")
                    break
                first = copy.name + ".1"
                shutil.copyfile(copy.name, first)
                source = first
            with open(copy.name, encoding="utf-8", newline="") as file:
                faults += differences(root, name, file.read())
            if os.path.exists(copy.name + ".1"):
                os.remove(copy.name + ".1")
    return faults


def check_clang_format(root):
    names = tree(root, ".cu", ".cuh")
    if not names:
        print("SKIP: there are no CUDA files")
        sys.exit(77)
    command = need_version("CLANG_FORMAT", "clang-format", "14")
    faults = []
    for name in names:
        result = subprocess.run([*command, "--style=file", os.path.join(root, name)], capture_output=True, text=True)
        faults += [f"{name}: {result.stderr}"] if result.returncode else differences(root, name, result.stdout)
    return faults


def check_headers(root):
    compiler = need("CC", "cc")
    packages = ["gstreamer-1.0", "gstreamer-base-1.0", "gstreamer-video-1.0", "gstreamer-check-1.0"]
    flags = subprocess.run(["pkg-config", "--cflags", *packages], capture_output=True, text=True)
    if flags.returncode:
        print("SKIP: pkg-config does not know", *packages)
        sys.exit(77)
    base = [*compiler, "-x", "c", "-std=gnu11", "-fsyntax-only", "-Wall", "-Werror", "-I", root,
            "-I", os.path.join(root, "gst"), *shlex.split(flags.stdout)]
    if os.environ.get("CUDA_INCLUDE"):
        base += ["-isystem", os.environ["CUDA_INCLUDE"]]
    base.append("-")
    cuda = not subprocess.run(base, input="#include <cuda.h>\n", capture_output=True, text=True).returncode
    faults = []
    for name in tree(root, ".h"):
        if "#pragma once" not in read(root, name):  # a part of the .c file that includes it, perhaps several times
            continue
        twice = f'#include "{name}"\n' * 2
        result = subprocess.run(base, input=twice, capture_output=True, text=True)
        if result.returncode and not cuda and "fatal error: cuda.h:" in result.stderr:
            print(f"{name} was not checked: there is no cuda.h")
        elif result.returncode:
            faults.append(f"{name} does not compile alone:\n{result.stderr}")
    return faults


def check_scripts(root):
    faults = []
    for name in tree(root, ".py"):
        try:
            compile(read(root, name), name, "exec")
        except SyntaxError as error:
            faults.append(f"{name}:{error.lineno}: {error.msg}")
    shellcheck = need("SHELLCHECK", "shellcheck") if not faults else None
    if shellcheck:
        scripts = tree(root, ".sh")
        result = subprocess.run([*shellcheck, "--severity=warning", "--external-sources", "--source-path=.", *scripts],
                                cwd=root, capture_output=True, text=True)
        if result.returncode:
            faults.append(result.stdout + result.stderr)
    return faults


CHECKS = {"text": check_text, "indent": check_indent, "clang-format": check_clang_format, "headers": check_headers,
          "scripts": check_scripts}

if __name__ == "__main__":
    found = CHECKS[sys.argv[1]](sys.argv[2])
    for fault in found:
        print(fault)
    sys.exit(1 if found else 0)
