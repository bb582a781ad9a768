#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Set-up, Release build, every test that runs without special hardware; ends with 'N passed, N failed'.
. "$(dirname "$0")/common.sh"
scripts/setup.sh
scripts/setup_neighbours.sh
with_python release
say "building (Release)"
build release
link_package release
results=$ROOT/build/release/results
rm -rf "$results"
mkdir -p "$results"

say "C++ tests"
ctest --test-dir build/release --output-on-failure --output-junit "$results/ctest.xml" -j "$JOBS" || true
say "C++ tests again, under tests/configs"
scripts/configs.sh release "$results" || true
scripts/python_tests.sh "$results" || true
scripts/out_of_tree.sh release "$results" || true
say "fuzzers"
scripts/fuzz.sh "${TESSERA_FUZZ_SECONDS:-60}" "$results" || true
say "sum"
exec "$PY" tools/count_results.py "$results"
