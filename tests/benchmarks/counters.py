#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the device's units are busy with in rows of the benchmark kernels, read by Nsight Compute (ncu), as a table in
Markdown.

    counters.py KERNELS [ROW...]

KERNELS is the program tests/benchmarks/kernels of a build. A ROW is FORMAT:ROW:NUMBER, as in RGBA:separable:2; without
any, those are taken whose figures are wanted for docs/kernels.md. All is of 4K. Of each kernel of a row the longest
launch is shown; the profiler holds no clock. Exit status 77 where ncu is not installed or may not read counters."""
import csv
import re
import shutil
import subprocess
import sys

ROWS = ['RGBA:separable:2', 'RGBA:separable:8', 'RGBA:separable:16', 'RGBA:separable:32', 'RGBA:weighted:2',
        'RGBA:direct:1', 'RGBA:direct:4', 'RGBA:direct:16', 'RGBA:box:64', 'RGBA:temporal-gaussian:2',
        'NV12:separable:2', 'NV12:direct:4', 'NV12:box:64', 'NV12:temporal-gaussian:2',
        'P010_10LE:separable:4', 'P010_10LE:separable:16', 'RGBA64_LE:separable:4', 'RGBA64_LE:separable:8']
# Column, and the counters that may have it: the first that this ncu and device know. Percentages are of the peak.
COLUMNS = [
    ('us', ['gpu__time_duration.sum']),
    ('memory', ['gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed',
                'dram__throughput.avg.pct_of_peak_sustained_elapsed']),
    ('L2', ['lts__throughput.avg.pct_of_peak_sustained_elapsed']),
    ('shared', ['l1tex__data_pipe_lsu_wavefronts_mem_shared.avg.pct_of_peak_sustained_elapsed',
                'l1tex__throughput.avg.pct_of_peak_sustained_active']),
    ('tensor', ['sm__pipe_tensor_op_hmma_cycles_active.avg.pct_of_peak_sustained_active',
                'sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active',
                'sm__inst_executed_pipe_tensor_op_hmma.avg.pct_of_peak_sustained_active',
                'sm__inst_executed_pipe_tensor.avg.pct_of_peak_sustained_active']),
    ('ALU', ['sm__inst_executed_pipe_alu.avg.pct_of_peak_sustained_active']),
    ('FMA', ['sm__inst_executed_pipe_fma.avg.pct_of_peak_sustained_active']),
    ('issued', ['smsp__issue_active.avg.pct_of_peak_sustained_active']),
    ('warps', ['smsp__warps_active.avg.per_cycle_active']),
    ('ready', ['smsp__warps_eligible.avg.per_cycle_active']),
]
STALL = re.compile(r'^smsp__average_warps_issue_stalled_(\w+)_per_issue_active\b', re.M)
OURS = 'regex:^(stencil|separable|matrix|banded|plain|words|weighted|direct|folded|sums|stage|steps|lines|coarse)'
LAUNCHES = 12
# To microseconds, by the unit that ncu names.
SCALES = {'ns': 1e-3, 'nsecond': 1e-3, 'us': 1.0, 'usecond': 1.0, 'ms': 1e3, 'msecond': 1e3}


def known_counters():
    result = subprocess.run(['ncu', '--query-metrics'], capture_output=True, text=True, check=False)
    names = set(re.findall(r'^(\w+__\w+)', result.stdout, re.M))
    columns = []
    for title, choices in COLUMNS:
        found = [name for name in choices if name.split('.')[0] in names]
        if found:
            columns.append((title, found[0]))
    stalls = sorted({match.group(0) + '.ratio' for match in STALL.finditer(result.stdout)})
    return columns, [name for name in stalls if '_not_issued' not in name and '_selected_' not in name]


def profile(program, row, counters):
    """The rows of ncu's own table: a dictionary a launch."""
    pixel_format, name, number = row.split(':')
    result = subprocess.run(['ncu', '--csv', '--page', 'raw', '--clock-control', 'none', '-k', OURS, '--launch-count',
                             str(LAUNCHES), '--metrics', ','.join(counters), program, '--formats', pixel_format,
                             '--sizes', '4K', '--rows', name, '--numbers', number], capture_output=True, text=True,
                            check=False)
    start = result.stdout.find('"ID"')
    if start < 0:
        print(result.stdout[-2000:], result.stderr[-2000:], sep='\n', file=sys.stderr)
        return []
    lines = [line for line in result.stdout[start:].splitlines() if line.startswith('"')]
    launches = list(csv.DictReader(lines))
    units = launches.pop(0) if launches and not launches[0]['ID'] else {}
    scale = SCALES.get(units.get(counters[0], 'ns'), 1e-3)
    for launch in launches:
        launch[counters[0]] = str(value_of(launch, counters[0]) * scale)
    return launches


def value_of(launch, counter):
    text = launch[counter].replace(',', '')
    return float(text) if re.match(r'^[-+.\de]+$', text) else 0.0


def cells(launch, columns, stalls):
    texts = []
    for title, counter in columns:
        value = value_of(launch, counter)
        if title == 'us':
            texts.append(f'{value:.1f}')
        elif title in ('warps', 'ready'):
            texts.append(f'{value:.2f}')
        else:
            texts.append(f'{value:.0f} %')
    waits = sorted(((value_of(launch, name), STALL.match(name).group(1)) for name in stalls), reverse=True)[:2]
    texts.append(', '.join(f'{why.replace("_", " ")} {value:.1f}' for value, why in waits))
    return texts


def main():
    if len(sys.argv) < 2 or sys.argv[1].startswith('-'):
        print(__doc__)
        return 2
    program, rows = sys.argv[1], sys.argv[2:] or ROWS
    if not shutil.which('ncu'):
        print('SKIP: ncu is not installed')
        return 77
    columns, stalls = known_counters()
    if not columns:
        print('SKIP: ncu knows no counters here')
        return 77
    titles = ['4K', 'kernel'] + [title for title, _ in columns] + ['waits, cycles an instruction']
    print('| ' + ' | '.join(titles) + ' |')
    print('| ' + ' | '.join(['---'] * len(titles)) + ' |')
    shown = 0
    for row in rows:
        longest = {}
        for launch in profile(program, row, [name for _, name in columns] + stalls):
            name = launch['Kernel Name'].split('(')[0]
            if name not in longest or value_of(launch, columns[0][1]) > value_of(longest[name], columns[0][1]):
                longest[name] = launch
        for name, launch in longest.items():
            print('| ' + ' | '.join([row.replace(':', ' '), name] + cells(launch, columns, stalls)) + ' |', flush=True)
            shown += 1
    return 0 if shown else 77


if __name__ == '__main__':
    sys.exit(main())
