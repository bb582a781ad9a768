#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: fuzz.sh [SECONDS in all [RESULTS_DIR]]: each fuzzer gets an equal share, as `fuzz_NAME SECONDS`.
# The one of distributed arrays goes on where the last run ended (build/fuzz_dist.json), from the start for RESULTS_DIR;
# without SECONDS it goes on until its next million of cases is whole: half an hour on two cores, three hours at most.
. "$(dirname "$0")/common.sh"
seconds=${1:-600}
results=${2:-}
if [ -z "$results" ]; then
  scripts/setup.sh
  with_python release
  build release all everything
  link_package release
fi
shopt -s nullglob
fuzzers=()
for source in tests/fuzz/fuzz_*.cpp; do fuzzers+=("$(basename "$source" .cpp)"); done
fuzzers+=(fuzz_matrix fuzz_dist)
share=$((seconds / ${#fuzzers[@]}))
if [ "$share" = 0 ]; then share=1; fi
bound=("$share" "${results:-build}/fuzz_dist.json")
if [ $# = 0 ]; then bound=(10800 build/fuzz_dist.json 1000000); fi
status=0
fuzz() {
  if [ "$1" = fuzz_dist ]; then
    "$PY" tests/python/dist/fuzz_dist.py "${bound[@]}"
  elif [ "$1" = fuzz_matrix ]; then
    "$PY" tests/python/fuzz_matrix.py "$share"
  else
    "build/release/bin/$1" "$share"
  fi
}
for name in "${fuzzers[@]}"; do
  if fuzz "$name"; then verdict=passed; else verdict=failed; status=1; fi
  echo "$verdict $name"
  if [ -n "$results" ]; then echo "$verdict $name" >"$results/$name.count"; fi
done
exit $status
