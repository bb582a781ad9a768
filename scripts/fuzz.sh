#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: fuzz.sh [SECONDS in all [RESULTS_DIR]]: each fuzzer gets an equal share, as `fuzz_NAME SECONDS`.
. "$(dirname "$0")/common.sh"
seconds=${1:-600}
results=${2:-}
if [ -z "$results" ]; then
  scripts/setup.sh
  configure release
  build release
fi
shopt -s nullglob
fuzzers=()
for source in tests/fuzz/fuzz_*.cpp; do fuzzers+=("$(basename "$source" .cpp)"); done
if [ ${#fuzzers[@]} = 0 ]; then echo "no fuzzers"; exit 0; fi
share=$((seconds / ${#fuzzers[@]}))
status=0
for name in "${fuzzers[@]}"; do
  if "build/release/bin/$name" "$((share > 0 ? share : 1))"; then verdict=passed; else verdict=failed; status=1; fi
  echo "$verdict $name"
  if [ -n "$results" ]; then echo "$verdict $name" >"$results/$name.count"; fi
done
exit $status
