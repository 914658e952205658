#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Plots of what the benchmarks wrote down, as SVG; the same numbers give the same text.

    plot.py [--cpu CSV] [--gpu CSV] [--table FILE] [--page PAGE] FOLDER

--cpu is the CSV of cpu-benchmark: FOLDER gets cpu-separable.svg, cpu-matrix.svg and cpu-box.svg, time against radius
beside OpenCV and a copy. --gpu is that of kernels: gpu-separable.svg and gpu-direct.svg, beside the copy and the other
library where it was measured, and gpu-roofline-FORMAT.svg; --table gets the roofline as a table in Markdown, and in
--page (as docs/performance.md) that table and references to the plots take the place of what is between two marks. What
a CSV lacks is left out of its plots, and a plot that would be empty is not written."""
import argparse
import csv
import math
import os
import sys

COLOURS = ["#0b6fb8", "#69b3e7", "#d1495b", "#e08e45", "#6a994e", "#7d5ba6"]
FLOOR = "#777777"
FONT = 'font-family="sans-serif" font-size="%d"'


def log_ticks(low, high):
    """1, 2 and 5 times powers of ten; only powers where there are many."""
    ticks = []
    for power in range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 1):
        ticks += [m * 10.0 ** power for m in (1, 2, 5)]
    ticks = [t for t in ticks if low * 0.999 <= t <= high * 1.001]
    return ticks if len(ticks) <= 7 else [t for t in ticks if round(math.log10(t), 6) % 1 == 0]


def text_of(number):
    return f"{number:g}" if number < 1e4 else f"{number / 1000:g}k"


def escape(text):
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


class Axes:
    """A pair of logarithmic axes."""

    def __init__(self, left, top, width, height, xs, ys, x_ticks=None):
        self.left, self.top, self.width, self.height = left, top, width, height
        self.x = (math.log(min(xs)) - 0.05, math.log(max(xs)) + 0.05)
        self.y = (math.log(min(ys)) - 0.1, math.log(max(ys)) + 0.1)
        self.x_ticks = x_ticks or log_ticks(min(xs), max(xs))
        self.y_ticks = log_ticks(min(ys), max(ys))
        self.parts = []

    def place(self, x, y):
        u = (math.log(x) - self.x[0]) / (self.x[1] - self.x[0])
        v = (math.log(y) - self.y[0]) / (self.y[1] - self.y[0])
        return self.left + u * self.width, self.top + (1 - v) * self.height

    def frame(self, title, x_name, y_name):
        parts = self.parts
        bottom, right = self.top + self.height, self.left + self.width
        for tick in self.x_ticks:
            x = self.place(tick, math.exp(self.y[0]))[0]
            parts.append(f'<path d="M{x:.1f} {self.top}V{bottom}" stroke="#e4e4e4"/>')
            parts.append(f'<text x="{x:.1f}" y="{bottom + 15}" text-anchor="middle" {FONT % 11}>{text_of(tick)}</text>')
        for tick in self.y_ticks:
            y = self.place(math.exp(self.x[0]), tick)[1]
            parts.append(f'<path d="M{self.left} {y:.1f}H{right}" stroke="#e4e4e4"/>')
            parts.append(f'<text x="{self.left - 5}" y="{y + 4:.1f}" text-anchor="end" {FONT % 11}>{text_of(tick)}</text>')
        parts.append(f'<rect x="{self.left}" y="{self.top}" width="{self.width}" height="{self.height}" fill="none" '
                     'stroke="#999999"/>')
        parts.append(f'<text x="{self.left}" y="{self.top - 8}" {FONT % 13} font-weight="bold">{escape(title)}</text>')
        parts.append(f'<text x="{self.left + self.width / 2:.1f}" y="{bottom + 31}" text-anchor="middle" '
                     f'{FONT % 11}>{escape(x_name)}</text>')
        x, y = self.left - 42, self.top + self.height / 2
        parts.append(f'<text x="{x}" y="{y:.1f}" text-anchor="middle" transform="rotate(-90 {x} {y:.1f})" '
                     f'{FONT % 11}>{escape(y_name)}</text>')

    def line(self, points, colour, dashed=False, marks=True):
        places = [self.place(x, y) for x, y in points]
        path = "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
        self.parts.append(f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="2"'
                          + (' stroke-dasharray="6 4"' if dashed else "") + "/>")
        for x, y in places if marks else []:
            self.parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>')


def legend(names, left, top):
    """(name, colour, dashed) in a row."""
    parts = []
    for name, colour, dashed in names:
        dash = ' stroke-dasharray="6 4"' if dashed else ""
        parts.append(f'<path d="M{left} {top}h26" stroke="{colour}" stroke-width="3"{dash}/>')
        parts.append(f'<text x="{left + 32}" y="{top + 4}" {FONT % 12}>{escape(name)}</text>')
        left += 50 + 7 * len(name)
    return parts


BEGIN, END = "<!-- plot.py: begin -->\n", "<!-- plot.py: end -->\n"
written = []


def write(path, width, height, parts):
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        file.write(f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
                   f'viewBox="0 0 {width} {height}">\n<rect width="{width}" height="{height}" fill="#ffffff"/>\n')
        file.write("\n".join(parts) + "\n</svg>\n")
    print(path)
    written.append(path)


PANEL_WIDTH, PANEL_HEIGHT = 340, 230


def panels(path, charts, x_name, y_name):
    """charts: {title: {name: (points, dashed)}}, two a row; the same name has the same colour in all."""
    names = []
    for lines in charts.values():
        names += [(name, dashed) for name, (_, dashed) in lines.items() if (name, dashed) not in names]
    solid = [name for name, dashed in names if not dashed]
    colours = {name: FLOOR if dashed else COLOURS[solid.index(name) % len(COLOURS)] for name, dashed in names}
    if not names:
        return
    parts = legend([(name, colours[name], dashed) for name, dashed in names], 20, 20)
    for i, (title, lines) in enumerate(charts.items()):
        left, top = 60 + i % 2 * (PANEL_WIDTH + 75), 60 + i // 2 * (PANEL_HEIGHT + 75)
        points = [point for line, _ in lines.values() for point in line]
        xs = sorted({x for x, _ in points})
        axes = Axes(left, top, PANEL_WIDTH, PANEL_HEIGHT, xs, [y for _, y in points], xs)
        axes.frame(title, x_name, y_name)
        for name, (line, dashed) in lines.items():
            axes.line(sorted(line), colours[name], dashed, not dashed)
        parts += axes.parts
    rows = (len(charts) + 1) // 2
    write(path, 60 + min(len(charts), 2) * (PANEL_WIDTH + 75), 60 + rows * (PANEL_HEIGHT + 75), parts)


# ---- CPU ----

CPU_NAMES = {"avx2": "ours, AVX2", "best": "ours, AVX-512", "copy": "a copy"}


def plot_cpu(rows, folder):
    height = rows[0]["height"] if rows else ""
    for job in ("separable", "matrix", "box"):
        charts = {}
        for row in rows:
            if row["job"] != job or int(row["size"]) < 3:
                continue
            lines = charts.setdefault(f"{row['format']}, {height} lines", {})
            name = CPU_NAMES.get(row["who"], row["who"])
            line = lines.setdefault(name, ([], row["who"] == "copy"))
            line[0].append((int(row["size"]) // 2, float(row["cpu_ms"])))
        panels(os.path.join(folder, f"cpu-{job}.svg"), charts, "radius", "ms a frame, one core")


# ---- GPU ----

def gpu_charts(rows, method):
    charts = {}
    for row in rows:
        if row["method"] != method or row["size"] not in ("4K", "8K") or row["check"] != "right":
            continue
        if row["size"] == "8K" and row["format"] != "RGBA":
            continue
        lines = charts.setdefault(f"{row['size']} {row['format']}", {})
        radius = int(row["radius"])
        for name, column, dashed in (("ours", "cold_us", False), ("ours, warm", "warm_us", False),
                                     ("NPP, its quickest way", "peer_us", False), ("a copy", "copy_cold_us", True)):
            if row.get(column):
                lines.setdefault(name, ([], dashed))[0].append((radius, float(row[column])))
    return charts


def roof_row(row):
    """(multiply-adds a byte, 10^9 multiply-adds a second) of a row that does arithmetic."""
    return int(row["multiply_adds"]) / int(row["moved"]), float(row["gmads"])


def multiplies(row):
    """Running sums add: the multiply-adds that a box stands for are not done."""
    return "running sums" not in row["plan"]


def plot_roofline(rows, path, label):
    """Both ceilings, the slope of the copy, and a mark for each row."""
    if not rows:
        return
    points = [roof_row(row) for row in rows]
    copy = max(float(row["copy_gbs"]) for row in rows)
    tops = {row["ceiling"]: float(row["ceiling_gmads"]) for row in rows if float(row["ceiling_gmads"]) > 0}
    low, high = min(x for x, _ in points) / 1.5, max(max(x for x, _ in points), max(tops.values()) / copy) * 2.2
    axes = Axes(70, 50, 720, 400, [low, high], [min(y for _, y in points) / 1.5, max(tops.values()) * 1.2])
    axes.frame(f"Roofline, {label}", "multiply-adds a byte that has to be moved", "10^9 multiply-adds a second")
    for name, top in sorted(tops.items()):
        knee = top / copy
        axes.line([(max(knee, low), top), (high, top)], FLOOR, True, False)
        x, y = axes.place(high, top)
        axes.parts.append(f'<text x="{x - 4:.1f}" y="{y - 6:.1f}" text-anchor="end" {FONT % 12} fill="{FLOOR}">'
                          f"{name}: {text_of(round(top, -2))}</text>")
    knee = max(tops.values()) / copy
    axes.line([(low, low * copy), (knee, knee * copy)], FLOOR, True, False)
    x, y = axes.place(low, low * copy)
    axes.parts.append(f'<text x="{x + 12:.1f}" y="{y - 18:.1f}" {FONT % 12} fill="{FLOOR}">'
                      f"a copy: {copy:.0f} GB/s</text>")
    methods = []
    for row in rows:
        if row["method"] not in methods:
            methods.append(row["method"])
    # Labels of neighbours go below and above by turns.
    order = sorted(range(len(rows)), key=lambda i: points[i])
    for turn, i in enumerate(order):
        row, (intensity, rate) = rows[i], points[i]
        colour = COLOURS[methods.index(row["method"]) % len(COLOURS)]
        x, y = axes.place(intensity, rate)
        shape = f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{colour}"/>' if methods.index(row["method"]) < 6 else \
            f'<rect x="{x - 4:.1f}" y="{y - 4:.1f}" width="8" height="8" fill="{colour}"/>'
        axes.parts.append(shape)
        axes.parts.append(f'<text x="{x + 6:.1f}" y="{y + (13 if turn % 2 else -6):.1f}" {FONT % 10}>'
                          f"{escape(row['method'])} {row['radius']}</text>")
    write(path, 820, 500, axes.parts)


def roofline_table(rows):
    lines = ["| row | moved, MB | 10^6 multiply-adds | us | GB/s | of the copy's | 10^9 multiply-adds a second | of the ceiling's |",
             "| --- | --- | --- | --- | --- | --- | --- | --- |"]
    for row in rows:
        arithmetic = (f"| {float(row['gmads']):.0f} | {100 * float(row['ceiling_share']):.1f} % {row['ceiling']} |"
                      if multiplies(row) else "| running sums | |")
        lines.append(f"| {row['size']} {row['format']} {row['method']} {row['radius']} | {int(row['moved']) / 1e6:.1f} "
                     f"| {int(row['multiply_adds']) / 1e6:.0f} | {float(row['cold_us']):.1f} | {float(row['gbs']):.0f} "
                     f"| {100 * float(row['copy_share']):.0f} % " + arithmetic)
    return "\n".join(lines) + "\n"


def fill_page(page, table):
    with open(page, encoding="utf-8") as file:
        text = file.read()
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        sys.exit(f"{page} lacks the marks {BEGIN.strip()} and {END.strip()}")
    folder = os.path.dirname(os.path.abspath(page))
    plots = [os.path.relpath(path, folder) for path in written if os.path.basename(path).startswith("gpu-")]
    images = "".join(f"![{os.path.splitext(os.path.basename(plot))[0].replace('-', ' ')}]({plot})\n\n" for plot in plots)
    with open(page, "w", encoding="utf-8") as file:
        file.write(text[:text.index(BEGIN)] + BEGIN + "\n" + images + table + "\n" + text[text.index(END):])
    print(page)


def plot_gpu(rows, folder, table_file, page):
    for method in ("separable", "direct"):
        panels(os.path.join(folder, f"gpu-{method}.svg"), gpu_charts(rows, method), "radius", "us a frame")
    roof = [row for row in rows if row.get("moved") and int(row["multiply_adds"]) > 0 and row["check"] == "right"]
    for size, form in (("4K", "RGBA"), ("4K", "P010_10LE"), ("4K", "RGBA64_LE")):
        plot_roofline([row for row in roof if (row["size"], row["format"]) == (size, form) and multiplies(row)],
                      os.path.join(folder, f"gpu-roofline-{form.split('_')[0].lower()}.svg"), f"{size} {form}")
    table = roofline_table([row for row in roof if row["size"] == "4K"])
    if table_file:
        with open(table_file, "w", encoding="utf-8") as file:
            file.write(table)
        print(table_file)
    if page:
        fill_page(page, table)


def read(path, needed):
    with open(path, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    missing = [name for name in needed if rows and name not in rows[0]]
    if not rows or missing:
        sys.exit(f"{path}: " + (f"no column {', '.join(missing)}" if missing else "no rows"))
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cpu")
    parser.add_argument("--gpu")
    parser.add_argument("--table")
    parser.add_argument("--page")
    parser.add_argument("folder")
    options = parser.parse_args()
    os.makedirs(options.folder, exist_ok=True)
    if options.cpu:
        plot_cpu(read(options.cpu, ("format", "height", "job", "size", "who", "cpu_ms")), options.folder)
    if options.gpu:
        rows = read(options.gpu, ("size", "format", "method", "radius", "cold_us", "warm_us", "copy_cold_us", "check"))
        plot_gpu(rows, options.folder, options.table, options.page)


if __name__ == "__main__":
    main()
