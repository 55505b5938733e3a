#!/bin/bash
# The whole suite: static checks, all tests of the release build, all tests with the address and
# undefined-behaviour sanitizers, then the fuzzers for a minute. Its last line is "N passed, N failed", over everything that ran.
set -u
cd "$(dirname "$0")/.." || exit 1
exec </dev/null
jobs=$(nproc)
passed=0
failed=0

count() { # count PASSED FAILED
  passed=$((passed + $1))
  failed=$((failed + $2))
}

finish() {
  echo "$passed passed, $failed failed"
  [ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
  exit
}

# step COMMAND...: what everything after it needs; its failure counts as one and ends the run.
step() {
  "$@" && return
  echo "failed: $*"
  count 0 1
  finish
}

build() { # build PRESET
  echo "== build: $1"
  step scripts/build.sh "$1"
}

# counted NAME COMMAND...: a script whose last line is "N passed, N failed".
counted() {
  echo "== $1"
  shift
  local report last
  report=$("$@" 2>&1)
  echo "$report"
  last=${report##*$'\n'}
  if [[ $last =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed$ ]]; then
    count "${BASH_REMATCH[1]}" "${BASH_REMATCH[2]}"
  else
    count 0 1
  fi
}

run_tests() { # run_tests PRESET
  echo "== tests: $1"
  local report total bad status
  report=$(mktemp)
  ctest --preset "$1" --parallel "$jobs" --timeout 600 --no-tests=error --output-junit "$report"
  status=$?
  # One <testcase> each; status="run" is a pass. Skipped and not-run ones count as failed.
  total=$(grep -c '<testcase ' "$report")
  bad=$((total - $(grep -c '<testcase .*status="run"' "$report")))
  rm -f "$report"
  [ "$status" -eq 0 ] || [ "$bad" -gt 0 ] || bad=1
  count $((total - bad > 0 ? total - bad : 0)) "$bad"
}

step scripts/setup.sh
build release
counted "static checks" scripts/check.sh
run_tests release
step scripts/setup.sh fuzz
build fuzz
run_tests fuzz
counted "fuzzers" scripts/fuzz.sh 60
finish
