#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""That the kernels' tests see faults: runs `check` on PTX in which one thing is wrong. Each mutant must fail, and the
same without a change must not. Usage: mutants.py CHECK FOLDER, FOLDER being that of the *.ptx files."""
import os
import re
import subprocess
import sys
import tempfile

FLOATS = ['--format', 'RGBA', '--filter', 'gaussian,box']
BYTES = ['--format', 'NV12,BGRx', '--filter', 'gaussian,box']
WORDS = ['--format', 'P010_10LE', '--filter', 'gaussian,box']
# What is wrong; the file and where in it; what stands there instead; the route; what to check.
MUTANTS = [
    ('samples are stored beside their place', 'stencil', r'(st\.global\.u8 \s*\[%\w+)(?:\+\d+)?\]', r'\1+1]', 'stencil',
     ['--format', 'GRAY8', '--filter', 'gaussian']),
    ('samples are read beside their place', 'stencil', r'(ld\.global\.nc\.u8 \s*%\w+, \[%\w+)(?:\+\d+)?\]', r'\1+3]',
     'stencil', ['--format', 'GRAY8', '--filter', 'gaussian']),
    ('the block does not wait for its tile', 'separable', r'bar\.sync\s+0;', '', 'float', FLOATS),
    ('nobody waits for a stage', 'banded', r'@!done bra again\w*;', '', '', BYTES),
    ('nobody waits for a stage of words', 'words', r'@!done bra again\w*;', '', '', WORDS),
    ('copies do not tell that they have come', 'banded', r'cp\.async\.mbarrier\.arrive\.noinc\.shared\.b64 \[%\w+\];',
     '', '', BYTES),
    ('warps do not wait for the weights', 'words', r'bar\.sync 1, %\w+;', '', '', WORDS),
    ('warps do not wait for pixels outside', 'banded', r'bar\.sync 2, %\w+;', '', '',
     ['--format', 'BGRx', '--filter', 'gaussian,box', '--size', '233x40', '--border', 'mirror']),
    ('bytes of a word are swapped', 'banded', r'(cvt\.pack\.sat\.u8\.s32\.b32 %\w+), (\w+), (\w+)', r'\1, \3, \2', '',
     BYTES),
    ('products are of the wrong matrix', 'banded',
     r'(mma\.sync\.aligned\.m16n8k16\S+ \{[^}]*\}, \{[^}]*\}), \{(%\w+),\s*(%\w+)\}', r'\1, {\3,\2}', '', BYTES),
]


def run(check, folder, route, arguments, repeat):
    """Whether all of it was right."""
    environment = dict(os.environ, SIMCUDA_PTX=folder, CONVOLVE_CUDA_ROUTE=route)
    command = [check, '--backend', 'cuda', '--repeat', str(repeat), '--max-failures', '1', *arguments]
    return subprocess.run(command, env=environment, capture_output=True, timeout=200, check=False).returncode == 0


def main():
    check, original = sys.argv[1:]
    faults = 0
    for what, name, pattern, instead, route, arguments in MUTANTS:
        with tempfile.TemporaryDirectory() as folder:
            for file in sorted(os.listdir(original)):
                if file.endswith('.ptx'):
                    os.symlink(os.path.join(os.path.abspath(original), file), os.path.join(folder, file))
            if not run(check, folder, route, arguments, 2):
                print(f'not ok: {" ".join(arguments)} fails without a change')
                faults += 1
            path = os.path.join(folder, name + '.ptx')
            with open(path, encoding='utf-8') as ptx:
                text, n = re.subn(pattern, instead, ptx.read())
            os.remove(path)
            with open(path, 'w', encoding='utf-8') as ptx:
                ptx.write(text)
            seen = n > 0 and not run(check, folder, route, arguments, 30)
            print(f'{"ok" if seen else "not ok"}: {what} ({name}, {n} places)')
            faults += not seen
    return 1 if faults else 0


if __name__ == '__main__':
    sys.exit(main())
