#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the compiler says of the kernels: none spills registers but the stencil, the baseline, and one a little; none
computes in double precision; none is missing. Usage: ptxas.py variants.h REPORT... (those of cuda/compile.py)."""
import re
import sys

# Bytes that a kernel may store, by architecture (None: any). The largest of the tensor kernels keeps within its
# registers on 9.0, for which its warps are counted; elsewhere it lacks 15 or 22 of 168. Running sums of three
# components lack 2 of 96 on 7.5, sums over frames of few taps 2 of 128 on 8.6 and 8.9.
SPILLING = {('stencil', None): 1 << 20, ('plain_u8_n65', 'sm_80'): 64, ('plain_u8_n65', 'sm_86'): 88,
            ('plain_u8_n65', 'sm_89'): 88, ('sums_mean_u8_n3', 'sm_75'): 8, ('folded_u8_n9', 'sm_86'): 8,
            ('folded_u8_n9', 'sm_89'): 8}
KERNEL = re.compile(r"Compiling entry function '(\w+)' for '(\w+)'")
PROPERTIES = re.compile(r'Function properties for (\S+)')
SPILL = re.compile(r'(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads')
REGISTERS = re.compile(r'Used (\d+) registers')
VARIANT = re.compile(r'^ *X \((\w+), \w+, \w+, \w+, \d+, \d+\)', re.MULTILINE)


def read_report(path, kernels, faults):
    """Adds (kernel, architecture) -> registers to kernels."""
    kernel = None
    with open(path, encoding='utf-8') as report:
        for line in report:
            found = KERNEL.search(line)
            if found:
                kernel = found.groups()
                kernels[kernel] = 0
            found = SPILL.search(line)
            if found and kernel and int(found.group(2)) > SPILLING.get(kernel, SPILLING.get((kernel[0], None), 0)):
                faults.append(f'{kernel[0]} for {kernel[1]} spills: {line.strip()}')
            found = REGISTERS.search(line)
            if found and kernel:
                kernels[kernel] = int(found.group(1))
            if line.startswith('f64 '):
                faults.append(f'double precision: {line[4:].strip()}')


def main():
    kernels, faults = {}, []
    with open(sys.argv[1], encoding='utf-8') as header:
        wanted = VARIANT.findall(header.read())
    for path in sys.argv[2:]:
        read_report(path, kernels, faults)
    seen = {name for name, _ in kernels}
    faults += [f'{name} is in no report' for name in wanted if name not in seen]
    if not wanted:
        faults.append(f'{sys.argv[1]} names no variant')
    for (name, architecture), registers in sorted(kernels.items()):
        print(f'{name:24} {architecture:8} {registers:4} registers')
    print('\n'.join(faults) or f'{len(kernels)} kernels, no fault')
    return 1 if faults else 0


if __name__ == '__main__':
    sys.exit(main())
