#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Set-up, Release build, every test that runs without special hardware; ends with 'N passed, N failed'.
. "$(dirname "$0")/common.sh"
scripts/setup.sh
scripts/setup_neighbours.sh
with_python release
say "building (Release)"
build release all everything
link_package release
results=$ROOT/build/release/results
rm -rf "$results"
mkdir -p "$results"

programs="ctest --test-dir build/release --output-on-failure --output-junit '$results/ctest.xml' -j $JOBS"
runs=("scripts/dist_tests.sh '$results'" "scripts/python_tests.sh '$results'")
# Few cores are busy with the C++ programs alone. Many wait for the longest of them, so all runs side by side.
if [ "$JOBS" -lt 8 ]; then
  say "C++ tests"
  bash -c "$programs" || true
else
  runs=("$programs" "${runs[@]}")
fi
scripts/out_of_tree.sh release "$results" || true
# What is left keeps one core busy each: run side by side, the longest first.
say "tests over ranks, Python tests, all again under tests/configs, fuzzers"
for config in tests/configs/*.json; do
  runs+=("scripts/configs.sh release '$results' $(basename "$config" .json)")
done
together "${runs[@]}" "scripts/fuzz.sh ${TESSERA_FUZZ_SECONDS:-60} '$results'" || true
say "sum"
exec "$PY" tools/count_results.py "$results"
