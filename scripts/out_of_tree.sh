#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: out_of_tree.sh PRESET [RESULTS_DIR]: installs a preset's library into a folder of its own, builds the project
# in examples/own_operator_project against it, shared and as an archive, and runs its tests; then one program with what
# pkg-config says, with g++ and, where it is, clang++.
. "$(dirname "$0")/common.sh"
preset=$1
results=${2:-$ROOT/build/$preset/results}
prefix=$ROOT/build/$preset/installed
project=$ROOT/build/$preset/own_operator_project
mkdir -p "$results"
say "an operator of somebody else's, outside of this tree"
check() {
  build "$preset" tessera tessera_static tessera_testing tessera_cli && rm -rf "$prefix" "$project" &&
    cmake --install "build/$preset" --prefix "$prefix" --component library >/dev/null &&
    cmake -S examples/own_operator_project -B "$project" -G Ninja -DCMAKE_BUILD_TYPE=Release \
      "-DCMAKE_PREFIX_PATH=$prefix" >/dev/null &&
    cmake --build "$project" -j "$JOBS" && ctest --test-dir "$project" --output-on-failure && stands_alone && with_pkg_config
}
# The program that was linked with the archive asks for no libtessera.so.
stands_alone() {
  local needs
  needs=$(readelf -d "$project/slope_alone" | grep '(NEEDED)') || return 1
  if [[ $needs == *libtessera* ]]; then echo "slope_alone needs libtessera.so"; return 1; fi
}
with_pkg_config() {
  local description libraries flags compiler
  if ! command -v pkg-config >/dev/null; then echo "no pkg-config here: tessera.pc is not tried"; return; fi
  description=$(find "$prefix" -name tessera.pc)
  libraries=$(PKG_CONFIG_PATH=$(dirname "$description") pkg-config --variable=libdir tessera) &&
    flags=$(PKG_CONFIG_PATH=$(dirname "$description") pkg-config --cflags --libs tessera) || return 1
  for compiler in "${CXX:-g++}" clang++; do
    if ! command -v "$compiler" >/dev/null; then continue; fi
    # shellcheck disable=SC2086
    "$compiler" examples/cpp/hello.cpp $flags "-Wl,-rpath,$libraries" -o "$project/hello" && "$project/hello" >/dev/null ||
      return 1
  done
}
if check; then verdict=passed; else verdict=failed; fi
echo "$verdict out_of_tree" >"$results/out_of_tree.count"
[ $verdict = passed ]
