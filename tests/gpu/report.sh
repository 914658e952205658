#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Everything that needs a GPU, in one go: the suite gpu, compute-sanitizer, the benchmarks. For docs/testing.md.
#   ./tests/gpu/report.sh BUILD [FOLDER]   BUILD: a build with CUDA; FOLDER: where logs go (BUILD/gpu-report)
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
build=$(cd "${1:?usage: report.sh BUILD [FOLDER]}" && pwd)
logs=${2:-$build/gpu-report}
mkdir -p "$logs"
logs=$(cd "$logs" && pwd)
export GST_PLUGIN_PATH="$build/gst${GST_PLUGIN_PATH:+:$GST_PLUGIN_PATH}"
status=0

say () {
  printf '%s\n' "$*"
}

# run LOG COMMAND...: the command's output goes to a log; its last lines are shown if it fails.
run () {
  log=$logs/$1.txt
  shift
  code=0
  "$@" >"$log" 2>&1 || code=$?
  if [ "$code" = 77 ]; then
    say "skipped: $*"
  elif [ "$code" != 0 ]; then
    say "failed: $*"
    tail -20 "$log"
    status=1
  fi
}

say "== $(date -u +%F), commit $(git -C "$root" rev-parse --short HEAD 2>/dev/null || echo unknown)"
nvidia-smi --query-gpu=name,driver_version --format=csv,noheader
command -v nvcc >/dev/null && nvcc --version | sed -n 's/.*release \([0-9.]*\).*/toolkit \1/p'

say "== suite gpu"
run suite meson test -C "$build" --no-rebuild --num-processes 2 --suite gpu
grep -E '^ *[0-9]+/|^(Ok|Fail|Skipped|Timeout):' "$logs/suite.txt" || true

say "== compute-sanitizer"
if command -v compute-sanitizer >/dev/null; then
  for tool in memcheck racecheck synccheck initcheck; do
    # initcheck takes what is copied for a kernel while another one waits for something that was never written.
    pieces=
    [ "$tool" != initcheck ] || pieces=--whole
    # shellcheck disable=SC2086
    run "$tool" compute-sanitizer --tool "$tool" --error-exitcode 9 "$build/tests/check/check" --backend cuda \
      --format RGBA,RGBx,GRAY16_LE,YUY2 --seed 7 --size 65x39 --border mirror $pieces
    say "$tool: $(sed -n 's/=* *\([A-Z]* *SUMMARY: .*\)/\1/p' "$logs/$tool.txt" | tail -1)," \
      "$(grep 'cases,' "$logs/$tool.txt" || echo 'no result')"
  done
else
  say "not installed"
fi

say "== transfers"
run overlap "$build/tests/benchmarks/overlap"
cat "$logs/overlap.txt"
run overlap-straight "$build/tests/benchmarks/overlap" 3840 2160 RGBA '2 alpha-mode=straight'
cat "$logs/overlap-straight.txt"

say "== element"
run element "$build/tests/benchmarks/element" --csv "$logs/element.csv"
cat "$logs/element.txt"

say "== kernels"
run kernels "$build/tests/benchmarks/kernels" --csv "$logs/kernels.csv"
cat "$logs/kernels.txt"

say "== counters"
if command -v ncu >/dev/null; then
  run counters "$root/tests/benchmarks/counters.py" "$build/tests/benchmarks/kernels"
  cat "$logs/counters.txt"
else
  say "not installed"
fi

say "== plots"
run plots "$root/tests/benchmarks/plot.py" --gpu "$logs/kernels.csv" --table "$logs/roofline.md" "$logs"
cat "$logs/plots.txt"
exit "$status"
