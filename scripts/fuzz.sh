#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: fuzz.sh [SECONDS in all [RESULTS_DIR]]: each fuzzer gets an equal share, as `fuzz_NAME SECONDS`.
# fuzz_calls (every public callable of the Python package) takes the same cases for RESULTS_DIR, others each time without;
# where build/asan has the package (cmake --preset asan -DTESSERA_PYTHON=ON) it is that one's, under AddressSanitizer.
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
fuzzers+=(fuzz_matrix fuzz_calls fuzz_dist)
share=$((seconds / ${#fuzzers[@]}))
if [ "$share" = 0 ]; then share=1; fi
bound=("$share" "${results:-build}/fuzz_dist.json")
if [ $# = 0 ]; then bound=(10800 build/fuzz_dist.json 1000000); fi
status=0
fuzz() {
  case $1 in
    fuzz_dist) "$PY" tests/python/dist/fuzz_dist.py "${bound[@]}" ;;
    fuzz_matrix) "$PY" tests/python/fuzz_matrix.py "$share" ;;
    fuzz_calls) fuzz_calls ;;
    *) "build/release/bin/$1" "$share" ;;
  esac
}
fuzz_calls() {
  local seed=${TESSERA_FUZZ_SEED:-$((RANDOM * 32768 + RANDOM))} package=build/asan/python
  if [ -n "$results" ]; then seed=1; fi
  if [ -z "$results" ] && compgen -G "$package/tessera/_tessera*.so" >/dev/null; then
    LD_PRELOAD=$("${CXX:-g++}" -print-file-name=libasan.so) TESSERA_FUZZ_PYTHONPATH=$ROOT/$package \
      ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1:max_allocation_size_mb=4096:hard_rss_limit_mb=6144 \
      "$PY" tests/python/fuzz/fuzz_calls.py "$share" "$seed"
  else
    "$PY" tests/python/fuzz/fuzz_calls.py "$share" "$seed"
  fi
}
for name in "${fuzzers[@]}"; do
  if fuzz "$name"; then verdict=passed; else verdict=failed; status=1; fi
  echo "$verdict $name"
  if [ -n "$results" ]; then echo "$verdict $name" >"$results/$name.count"; fi
done
exit $status
