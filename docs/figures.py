#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The drawings of docs/stencils.md.

    figures.py FOLDER

The same text each time."""
import os
import sys

TILE, HALO, OUTSIDE, WORK, LINE, INK = "#8ec5ea", "#d5e9f7", "#f3d7a8", "#3f8f5f", "#8a8a8a", "#222222"


class Drawing:
    def __init__(self, width, height):
        self.width, self.height = width, height
        self.parts = []

    def box(self, x, y, width, height, fill, stroke=LINE, dashed=False):
        dash = ' stroke-dasharray="5 3"' if dashed else ""
        self.parts.append(f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" fill="{fill}" '
                          f'stroke="{stroke}"{dash}/>')

    def text(self, x, y, words, size=12, anchor="start", colour=INK):
        self.parts.append(f'<text x="{x:g}" y="{y:g}" font-family="sans-serif" font-size="{size}" '
                          f'text-anchor="{anchor}" fill="{colour}">{words}</text>')

    def arrow(self, x1, y1, x2, y2, colour=INK):
        self.parts.append(f'<path d="M{x1:g} {y1:g}L{x2:g} {y2:g}" stroke="{colour}" stroke-width="1.5" '
                          'marker-end="url(#head)" fill="none"/>')

    def write(self, folder, name):
        with open(os.path.join(folder, name), "w", encoding="utf-8", newline="\n") as file:
            file.write(f'<svg xmlns="http://www.w3.org/2000/svg" width="{self.width}" height="{self.height}" '
                       f'viewBox="0 0 {self.width} {self.height}">\n'
                       '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
                       'orient="auto"><path d="M0 0L8 4L0 8z"/></marker></defs>\n'
                       f'<rect width="{self.width}" height="{self.height}" fill="#ffffff"/>\n')
            file.write("\n".join(self.parts) + "\n</svg>\n")
        print(os.path.join(folder, name))


def cells(d, x, y, columns, rows, side, fill):
    for j in range(rows):
        for i in range(columns):
            d.box(x + i * side, y + j * side, side, side, fill(i, j))


def tile():
    """Two tiles of a picture, one at its corner."""
    d = Drawing(760, 300)
    side = 20

    def corner(i, j):
        if i < 2 or j < 2:
            return OUTSIDE
        return TILE if 2 <= i <= 7 and 2 <= j <= 7 else HALO

    d.text(20, 24, "in the middle of the picture", 13)
    cells(d, 20, 40, 10, 10, side, lambda i, j: TILE if 2 <= i <= 7 and 2 <= j <= 7 else HALO)
    d.text(280, 24, "at its upper left corner", 13)
    cells(d, 280, 40, 10, 10, side, corner)
    d.box(320, 80, 160, 160, "none", INK)
    for k, (fill, words) in enumerate(((TILE, "tile: what a block writes"), (HALO, "halo: read as well, radius 2"),
                                       (OUTSIDE, "outside: made by the border rule"))):
        d.box(510, 50 + 30 * k, 18, 18, fill)
        d.text(536, 64 + 30 * k, words)
    d.text(510, 160, "6 x 6 written, 10 x 10 read: 2.8 times.")
    d.text(510, 180, "30 x 30 written, 34 x 34 read: 1.3 times.")
    d.text(20, 270, "The picture's edge is the black frame; a block at the edge fills its halo by the rule while it loads.")
    return d, "stencil-tile.svg"


def loading():
    """Threads numbered over the tile with its halo."""
    d = Drawing(760, 250)
    side = 26
    d.text(20, 24, "one thread a pixel of the tile, then the halo", 13)
    for j in range(6):
        for i in range(8):
            halo = i in (0, 7) or j in (0, 5)
            d.box(20 + i * side, 40 + j * side, side, side, HALO if halo else TILE)
            number = (j - 1) * 6 + i - 1
            d.text(20 + i * side + side / 2, 40 + j * side + 17, "?" if halo else f"{number}", 10, "middle")
    d.text(20, 220, "? : who loads these? ifs, and idle threads in each")
    d.text(400, 24, "flat: pixel n of tile and halo is loaded by thread n", 13)
    for j in range(6):
        for i in range(8):
            halo = i in (0, 7) or j in (0, 5)
            d.box(400 + i * side, 40 + j * side, side, side, HALO if halo else TILE)
            d.text(400 + i * side + side / 2, 40 + j * side + 17, f"{(j * 8 + i) % 32}", 10, "middle")
    d.text(400, 220, "neighbours load neighbours; only the last turn is not full")
    d.text(620, 120, "turn 1: rows 1 - 4")
    d.text(620, 172, "turn 2: rows 5, 6")
    return d, "stencil-loading.svg"


def banks():
    """Which banks eight lanes meet in."""
    d = Drawing(760, 250)
    side = 22
    d.text(20, 24, "shared memory: word n is in bank n mod 32 (here: mod 8, for 8 lanes)", 13)
    for case, (top, words, stride) in enumerate(((50, "neighbouring lanes, neighbouring words: 1 turn", 1),
                                                 (110, "lanes a row of 8 words apart: 8 turns", 8),
                                                 (170, "rows of 9 words: 1 turn again", 9))):
        for bank in range(8):
            lanes = [lane for lane in range(8) if lane * stride % 8 == bank]
            d.box(20 + bank * 50, top, 46, side, TILE if len(lanes) == 1 else HALO if not lanes else OUTSIDE)
            label = f"{lanes[0]}" if len(lanes) == 1 else "0 - 7" if lanes else ""
            d.text(20 + bank * 50 + 23, top + 15, label, 11, "middle")
        d.text(440, top + 15, words)
    d.text(20, 225, "Boxes are banks, numbers the lanes that want a word of them at the same time.")
    return d, "stencil-banks.svg"


def registers():
    """A ring row that serves four output rows."""
    d = Drawing(760, 300)
    d.text(20, 24, "filtered rows in shared memory", 13)
    d.text(420, 24, "sums of one thread, in registers", 13)
    for j in range(8):
        d.box(20, 40 + 28 * j, 240, 24, WORK if j == 3 else TILE)
        d.text(30, 57 + 28 * j, f"row {j}", 11)
    for q in range(4):
        d.box(420, 70 + 45 * q, 240, 30, HALO)
        d.text(430, 90 + 45 * q, f"output {q} += weight {3 - q} x row 3", 12)
        d.arrow(262, 136, 416, 85 + 45 * q)
    d.text(20, 285, "Each row is loaded once and multiplied into four sums: 4 multiply-adds a load, not 1 "
           "(5 taps: 8 loads for 4 rows, not 20).")
    return d, "stencil-registers.svg"


def blocking():
    """Iterations: through memory each time, or in a tile that shrinks."""
    d = Drawing(760, 330)
    d.text(20, 24, "today: each iteration reads and writes the picture", 13)
    for k in range(4):
        d.box(60, 45 + 62 * k, 240, 22, TILE)
        d.text(180, 61 + 62 * k, "frame" if k == 0 else f"after iteration {k}", 11, "middle")
        if k < 3:
            d.arrow(180, 67 + 62 * k, 180, 105 + 62 * k)
            d.text(190, 92 + 62 * k, "memory", 11)
    d.text(400, 24, "temporal blocking: 3 iterations within a block", 13)
    for k in range(4):
        d.box(420 + 25 * k, 45 + 62 * k, 300 - 50 * k, 22, HALO if k < 3 else TILE)
        if k < 3:
            d.box(495, 45 + 62 * k, 150, 22, TILE)
            d.arrow(570, 67 + 62 * k, 570, 105 + 62 * k)
            d.text(580, 92 + 62 * k, "on the chip", 11)
    d.text(570, 61, "tile, halo 3 x radius", 11, "middle")
    d.text(570, 61 + 62 * 3, "tile", 11, "middle")
    d.text(20, 290, "3 reads and 3 writes of the picture")
    d.text(400, 290, "1 read and 1 write; the halo is computed several times,")
    d.text(400, 307, "which is what limits the number of iterations")
    return d, "stencil-iterations.svg"


def pyramid():
    """Down and up again."""
    d = Drawing(760, 335)
    sizes = [(200, 112), (100, 56), (50, 28)]
    top = 40
    d.text(20, 24, "down: low-pass, every second pixel", 13)
    d.text(420, 24, "up: what each level adds, from the coarsest on", 13)
    for k, (width, height) in enumerate(sizes):
        d.box(60, top, width, height, TILE)
        d.text(60 + width / 2, top + height / 2 + 4, f"G({k})", 12, "middle")
        d.box(440, top, width, height, HALO)
        d.text(440 + width / 2, top + height / 2 + 4, f"Q({k})", 12, "middle")
        if k < 2:
            d.arrow(85, top + height, 85, top + height + 22)
            d.arrow(465, top + height + 24, 465, top + height + 2)
            d.text(480, top + height + 17, f"E(Q({k + 1}))", 11)
        d.arrow(60 + width + 6, top + height / 2, 434, top + height / 2)
        d.text(300, top + height / 2 - 5, f"gain x (G({k}) - E(G({k + 1})))", 11)
        top += height + 26
    d.text(20, 318, "Sizes 1, 1/4, 1/16, ...: all levels together are a third more than the finest one.")
    return d, "stencil-pyramid.svg"


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    for draw in (tile, loading, banks, registers, blocking, pyramid):
        drawing, name = draw()
        drawing.write(sys.argv[1], name)


if __name__ == "__main__":
    main()
