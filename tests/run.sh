#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Installs what is missing, builds, and runs the tests; needs Debian 12 or 13 and root or sudo.
#   ./tests/run.sh           every set-up: plain, leaks, valgrind, and a build with sanitizers
#   ./tests/run.sh --quick   the plain suite alone
# The last line is "N passed, N failed, N skipped"; the exit status is 0 only if nothing failed.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=pipelines/lib.sh
. "$root/pipelines/lib.sh"
sanitized=$build-asan
quick=
case ${1:-} in
  '') ;;
  --quick) quick=yes ;;
  *) sed -n '3,6s/^# //p' "$0"; exit 2 ;;
esac

passed=0
failed=0
skipped=0
failures=$(mktemp)
finished=
summarize () {
  status=$?
  [ -n "$finished" ] || failed=$((failed + 1))
  cat "$failures"
  rm "$failures"
  say "$passed passed, $failed failed, $skipped skipped"
  [ "$status" != 0 ] || [ "$failed" = 0 ] || status=1
  exit "$status"
}
trap summarize EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# suite LABEL FOLDER ARGUMENT...: one run of meson test, its figures added to the sums. Arguments go to meson test.
suite () {
  label=$1
  folder=$2
  shift 2
  say "== $label"
  output=$folder/run-$label.txt
  {
    status=0
    meson test -C "$folder" --no-rebuild --print-errorlogs "$@" 2>&1 || status=$?
    echo "$status" >"$output.status"
  } | tee "$output"
  status=$(cat "$output.status")
  # shellcheck disable=SC2046
  set -- $(awk '/^(Ok|Expected Fail): +[0-9]+/ { ok += $NF } /^Skipped: +[0-9]+/ { skip += $NF }
    /^(Fail|Unexpected Pass|Timeout): +[0-9]+/ { bad += $NF } END { print ok + 0, bad + 0, skip + 0 }' "$output")
  passed=$((passed + $1))
  failed=$((failed + $2))
  skipped=$((skipped + $3))
  if [ "$2" = 0 ] && [ "$status" != 0 ]; then
    say "meson test ended with status $status"
    failed=$((failed + 1))
  elif [ "$1" = 0 ] && [ "$2" = 0 ]; then
    say "No test of '$label' ran"
    failed=$((failed + 1))
  fi
  # Once more at the very end: whoever sees only the last of a long log needs them there.
  if [ "$2" != 0 ]; then
    log=$folder/meson-logs/testlog-$label.json  # of the set-up that has the label's name
    [ -e "$log" ] || log=$folder/meson-logs/testlog.json
    python3 "$root/tests/failures.py" "$label" "$log" >>"$failures"
  fi
}

# shellcheck disable=SC2086
need_packages $packages_build $packages_run $packages_test
set_up "$build"
ninja -C "$build"
suite plain "$build"
if [ -z "$quick" ]; then
  suite leaks "$build" --setup leaks --suite element --no-suite simcuda-pictures
  suite valgrind "$build" --setup valgrind --suite unit --suite element --no-suite simcuda --no-suite deadlines
  # The kernels are the same, and take the longest.
  images=
  [ ! -e "$build/cuda/stage.fatbin" ] || images=$build/cuda
  set_up "$sanitized" -Db_sanitize=address,undefined -Db_lundef=false -Dcuda-images="$images"
  ninja -C "$sanitized"
  suite sanitizers "$sanitized" --setup sanitizers --suite unit --suite check --suite element --no-suite simcuda-pictures
fi

finished=yes
[ "$failed" = 0 ]
