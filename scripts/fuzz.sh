#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: fuzz.sh [SECONDS in all [RESULTS_DIR]]: each fuzzer gets an equal share, as `fuzz_NAME SECONDS`.
# With RESULTS_DIR all take the same cases each time; without, fuzz_matrix, fuzz_nufft (NUFFTs beside direct sums) and
# fuzz_calls (every public callable of the Python package) take others each time (TESSERA_FUZZ_SEED names those of fuzz_calls), and fuzz_calls calls a package
# under AddressSanitizer, which is built for it in build/asan, unless TESSERA_FUZZ_ASAN=0. `fuzz.sh calls SECONDS SEED` is fuzz_calls alone, with what build/asan has.
# The one of distributed arrays goes on where the last run ended (build/fuzz_dist.json), from the start for RESULTS_DIR;
# without SECONDS it goes on until its next million of cases is whole: half an hour on two cores, three hours at most.
# Examples are called with one argument that is wrong, all cases or, for RESULTS_DIR, one in 29 (one_wrong.py).
# Jobs on arrays on disk are killed 200 times of each kind, a few times for RESULTS_DIR (kill_jobs.py).
. "$(dirname "$0")/common.sh"
# calls SECONDS SEED: under AddressSanitizer. Python itself is not instrumented, so the sanitizer comes first, and the
# library of C++ with it: what throws is looked up when the sanitizer starts. Nothing is spread over addresses at
# which it keeps its books (.ci/run). Memory beyond the limits is refused, as it is without the sanitizer.
calls_under_asan() {
  local compiler=${CXX:-g++} alone=()
  if setarch "$(uname -m)" -R true 2>/dev/null; then alone=(setarch "$(uname -m)" -R); fi
  LD_PRELOAD="$("$compiler" -print-file-name=libasan.so) $("$compiler" -print-file-name=libstdc++.so.6)" \
    ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1:max_allocation_size_mb=4096:soft_rss_limit_mb=5120:hard_rss_limit_mb=8192:detect_stack_use_after_return=0 \
    UBSAN_OPTIONS=print_stacktrace=1 TESSERA_FUZZ_PYTHONPATH=$ROOT/build/asan/python \
    "${alone[@]}" "$PY" tests/python/fuzz/fuzz_calls.py "$@"
}
if [ "${1:-}" = calls ]; then
  shift
  calls_under_asan "$@"
  exit
fi
seconds=${1:-600}
results=${2:-}
if [ -z "$results" ]; then
  scripts/setup.sh
  with_python release
  build release all everything
  link_package release
  if [ "${TESSERA_FUZZ_ASAN:-1}" != 0 ]; then
    with_python asan
    build asan _tessera tessera_package
  fi
fi
shopt -s nullglob
fuzzers=()
for source in tests/fuzz/fuzz_*.cpp; do fuzzers+=("$(basename "$source" .cpp)"); done
fuzzers+=(fuzz_matrix fuzz_nufft fuzz_calls one_wrong kill_jobs fuzz_dist)
share=$((seconds / ${#fuzzers[@]}))
if [ "$share" = 0 ]; then share=1; fi
bound=("$share" "${results:-build}/fuzz_dist.json")
kills=4
if [ -z "$results" ]; then kills=200; fi
if [ $# = 0 ]; then bound=(10800 build/fuzz_dist.json 1000000); fi
status=0
fuzz() {
  case $1 in
    fuzz_dist) "$PY" tests/python/dist/fuzz_dist.py "${bound[@]}" ;;
    fuzz_matrix) "$PY" tests/python/fuzz_matrix.py "$share" ${results:+0} ;;
    fuzz_nufft) "$PY" tests/python/fuzz_nufft.py "$share" ${results:+0} ;;
    fuzz_calls) fuzz_calls ;;
    one_wrong) one_wrong ;;
    kill_jobs) "$PY" tests/python/fuzz/kill_jobs.py "$kills" ;;
    *) "build/release/bin/$1" "$share" ;;
  esac
}
one_wrong() {
  local home failed=0 of=1
  if [ -n "$results" ]; then of=29; fi
  for home in imaging split stored scipy torch jax; do "$PY" tests/python/fuzz/one_wrong.py $of 1 "ts.$home." || failed=1; done
  # Some ninety thousand calls: Heat has many names for few functions.
  for home in heat torchlinops; do "$PY" tests/python/fuzz/one_wrong.py $((5 * of)) 1 "ts.compat.$home." || failed=1; done
  return $failed
}
fuzz_calls() {
  local seed=${TESSERA_FUZZ_SEED:-$((RANDOM * 32768 + RANDOM))}
  if [ -n "$results" ]; then seed=1; fi
  if [ -z "$results" ] && [ "${TESSERA_FUZZ_ASAN:-1}" != 0 ]; then
    calls_under_asan "$share" "$seed"
  else
    "$PY" tests/python/fuzz/fuzz_calls.py "$share" "$seed"
  fi
}
said=$(mktemp)
trap 'rm -f "$said"' EXIT
for name in "${fuzzers[@]}"; do
  if fuzz "$name" 2>&1 | tee "$said"; then verdict=passed; else verdict=failed; status=1; fi
  echo "$verdict $name"
  if [ -n "$results" ]; then { echo "$verdict $name"; tail -c 2000 "$said"; } >"$results/$name.count"; fi
done
exit $status
