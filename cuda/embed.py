#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Writes a file of GPU code as a C array: embed.py NAME FATBIN OUTPUT.c

The same input gives the same output, byte by byte.
"""
import sys


def main():
    name, source, target = sys.argv[1:]
    with open(source, 'rb') as file:
        data = file.read()
    data += bytes(-len(data) % 8)
    with open(target, 'w', encoding='ascii', newline='\n') as file:
        file.write('/* Made by embed.py. */\n')
        # The driver reads words from it.
        file.write('__attribute__ ((aligned (8), visibility ("hidden")))\n')
        file.write(f'const unsigned char convolve_cuda_{name}[{len(data)}] = {{\n')
        for i in range(0, len(data), 24):
            file.write(','.join(str(byte) for byte in data[i:i + 24]) + ',\n')
        file.write('};\n')


main()
