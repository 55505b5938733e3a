#!/bin/bash
# run.sh [ARGUMENT...]: after a build, checks what is promised about time and memory around the
# graphs, then prints the times of the single steps; all on one core. The arguments go to Google
# Benchmark. The build is in build/, or in the folder that BUILD names.
set -eu
cd "$(dirname "$0")/.."
bin=${BUILD:-build}/bin
for program in outside_graphs_report outside_graphs; do
  if ! [ -x "$bin/$program" ]; then
    echo "run.sh: $bin/$program is missing; build first, with SAM3_BUILD_BENCHMARKS=ON" >&2
    exit 2
  fi
done

pinned=()
if command -v taskset >/dev/null; then
  allowed=$(taskset -cp $$)  # "pid 7's current affinity list: 0,2-5"
  pinned=(taskset -c "${allowed##*[ ,-]}")  # the last: the first one serves most interrupts
fi

status=0
"${pinned[@]}" "$bin/outside_graphs_report" || status=$?
echo
"${pinned[@]}" "$bin/outside_graphs" "$@"
exit "$status"
