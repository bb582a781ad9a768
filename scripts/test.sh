#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: test.sh [PART...]: set-up, Release build, every test that runs without special hardware, or some parts of them (programs outside
# ranks python configs fuzz); ends with 'N passed, N failed'.
. "$(dirname "$0")/common.sh"
parts="programs outside ranks python configs fuzz"
wanted=" ${*:-$parts} "
for part in $wanted; do
  if [[ " $parts " != *" $part "* ]]; then echo "test.sh: '$part' is none of: $parts" >&2; exit 2; fi
done
want() { [[ $wanted == *" $1 "* ]]; }
scripts/setup.sh
mkdir -p build
scripts/setup_neighbours.sh >build/neighbours.log 2>&1 &  # big downloads, while the compiler is busy
neighbours=$!
with_python release
say "building (Release)"
build release all everything
link_package release
wait $neighbours || true  # it says what is missing; tests beside that are skipped
cat build/neighbours.log
# Processes run side by side, and threads that wait for one that has no core hold up all of theirs. NumPy's BLAS waits
# without rest: six tests with matrices of 200 rows took 28 s instead of 0.7 beside busy cores.
export OPENBLAS_NUM_THREADS=${OPENBLAS_NUM_THREADS:-1} OMP_WAIT_POLICY=${OMP_WAIT_POLICY:-passive}
if [ "$JOBS" -ge 8 ]; then export TESSERA_NUM_THREADS=${TESSERA_NUM_THREADS:-4}; fi
results=$ROOT/build/release/results
rm -rf "$results"
mkdir -p "$results"

programs="ctest --test-dir build/release --output-on-failure --output-junit '$results/ctest.xml' -j $JOBS"
runs=()
if want ranks; then runs+=("scripts/dist_tests.sh '$results'"); fi
# In parts, which a few cores share more evenly than the whole; many cores take all parts at once.
if want python && [ "$JOBS" -lt 8 ]; then
  for part in 1 2 3 4; do runs+=("scripts/python_tests.sh '$results' $part/4"); done
elif want python; then
  runs+=("scripts/python_tests.sh '$results'")
fi
# Few cores are busy with the C++ programs alone. Many wait for the longest of them, so all runs side by side.
if want programs && [ "$JOBS" -lt 8 ]; then
  say "C++ tests"
  bash -c "$programs" || true
elif want programs; then
  runs=("$programs" "${runs[@]}")
fi
if want outside; then scripts/out_of_tree.sh release "$results" || true; fi
# What is left keeps one core busy each: run side by side, the longest first.
if want configs; then
  for config in tests/configs/*.json; do
    runs+=("scripts/configs.sh release '$results' $(basename "$config" .json)")
  done
fi
if want fuzz; then runs+=("scripts/fuzz.sh ${TESSERA_FUZZ_SECONDS:-60} '$results'"); fi
if [ ${#runs[@]} -gt 0 ]; then
  say "tests over ranks, Python tests, all again under tests/configs, fuzzers"
  together "${runs[@]}" || true
fi
say "sum"
exec "$PY" tools/count_results.py "$results"
