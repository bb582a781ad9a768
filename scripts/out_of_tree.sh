#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: out_of_tree.sh PRESET [RESULTS_DIR]: installs a preset's library into a folder of its own, builds the project
# in examples/own_operator_project against it, and runs its tests.
. "$(dirname "$0")/common.sh"
preset=$1
results=${2:-$ROOT/build/$preset/results}
prefix=$ROOT/build/$preset/installed
project=$ROOT/build/$preset/own_operator_project
mkdir -p "$results"
say "an operator of somebody else's, outside of this tree"
check() {
  build "$preset" tessera tessera_testing tessera_cli && rm -rf "$prefix" "$project" &&
    cmake --install "build/$preset" --prefix "$prefix" --component library >/dev/null &&
    cmake -S examples/own_operator_project -B "$project" -G Ninja -DCMAKE_BUILD_TYPE=Release \
      "-DCMAKE_PREFIX_PATH=$prefix" >/dev/null &&
    cmake --build "$project" -j "$JOBS" && ctest --test-dir "$project" --output-on-failure
}
if check; then verdict=passed; else verdict=failed; fi
echo "$verdict out_of_tree" >"$results/out_of_tree.count"
[ $verdict = passed ]
