#!/bin/bash
# fuzz.sh [SECONDS]: builds the fuzzers (preset "fuzz") and runs each over its seeds, then all of them, two at a time, for
# about SECONDS together (60). Up to a minute, as in CI, it tries the same inputs everywhere: a fixed seed and a bounded
# number for each; longer runs go on to new ones. What makes one fail is kept in build-fuzz/found/. Its last line is "N passed, N failed".
set -u
cd "$(dirname "$0")/.." || exit 1
seconds=${1:-60}
case $seconds in '' | *[!0-9]*) echo "usage: scripts/fuzz.sh [SECONDS]" >&2; exit 2 ;; esac
{ scripts/setup.sh fuzz && scripts/build.sh fuzz; } >&2 || { echo "0 passed, 1 failed"; exit 1; }

programs=(build-fuzz/bin/fuzz_*)
found=build-fuzz/found
mkdir -p "$found"
memory=/dev/shm
[ -w "$memory" ] || memory=${TMPDIR:-/tmp}
TMPDIR=$(mktemp -d "$memory/sam3-fuzz-run-XXXXXX") || exit 1
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT
export UBSAN_OPTIONS=print_stacktrace=1
each=$((seconds * 2 / ${#programs[@]}))
which=
[ "$seconds" -gt 60 ] || which="-seed=1 -runs=40000"

# run PROGRAM: seeds and findings of before as they are (some are longer than what is tried), then new inputs.
run() {
  local name=${1##*/fuzz_} corpus common
  corpus=$TMPDIR/$name
  mkdir -p "$corpus"
  cp build-fuzz/fuzz/seeds/"$name"/* "$corpus"
  [ ! -d "fuzz/seeds/$name" ] || cp fuzz/seeds/"$name"/* "$corpus"
  common=(-timeout=30 -rss_limit_mb=3000 -artifact_prefix="$found/$name-")
  "$1" "${common[@]}" "$corpus"/* && "$1" "${common[@]}" $which -max_len=6000 -max_total_time=$((each > 0 ? each : 1)) "$corpus"
}

# finish NAME: counts a run; shows what it said if it failed.
passed=0
failed=0
finish() {
  if [ "$(cat "$TMPDIR/$1.status")" = 0 ]; then
    passed=$((passed + 1))
    echo "$1: $(grep -o 'Done [0-9]* runs' "$TMPDIR/$1.log" | tail -n 1)"
  else
    failed=$((failed + 1))
    echo "$1: FAILED"
    tail -n 60 "$TMPDIR/$1.log"
  fi
}

for ((i = 0; i < ${#programs[@]}; i += 2)); do
  for program in "${programs[@]:i:2}"; do
    name=${program##*/fuzz_}
    { run "$program"; echo $? >"$TMPDIR/$name.status"; } >"$TMPDIR/$name.log" 2>&1 &
  done
  wait
  for program in "${programs[@]:i:2}"; do finish "${program##*/fuzz_}"; done
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
