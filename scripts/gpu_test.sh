#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the CUDA plug-in and runs what needs a CUDA device; says so and ends well where there is none.
. "$(dirname "$0")/common.sh"
if ! nvidia-smi -L >/dev/null 2>&1; then
  echo "No CUDA device answers on this machine (nvidia-smi finds none), so there is nothing for gpu-test to run."
  exit 0
fi
scripts/setup.sh
with_python cuda -DTESSERA_PCH=ON
say "building (CUDA)"
build cuda
link_package cuda
results=$ROOT/build/cuda/results
rm -rf "$results"
mkdir -p "$results"
export TESSERA_TEST_DEVICE=${TESSERA_TEST_DEVICE:-cuda:0}
export TESSERA_CUDA_DEVICES=${TESSERA_CUDA_DEVICES:-4}  # a GPU stands for several, each with streams of its own

say "tests on $TESSERA_TEST_DEVICE, side by side"
# part_of_dist I N: that part of the longest program, whose ranks wait for one another more than they compute.
part_of_dist() {
  local results=$ROOT/build/cuda/results/tessera_test_dist_$1
  GTEST_TOTAL_SHARDS=$2 GTEST_SHARD_INDEX=$1 build/cuda/bin/tessera_test_dist --gtest_brief=1 \
    "--gtest_output=xml:$results.xml" || { [ -e "$results.xml" ] || echo "failed $(basename "$results")" >"$results.count"; }
}
programs() {
  ctest --test-dir build/cuda --output-on-failure --output-junit "$results/ctest.xml" -j 4 \
    -R '^tessera_(laws|ladder|test_(device|comm|kernels|array|plan|compute|linop|matrix|split|solve))$'
}
export -f part_of_dist programs
export ROOT results
JOBS=5 together "part_of_dist 0 3" "part_of_dist 1 3" "part_of_dist 2 3" programs \
  "$("$PY" -c 'import pytest' 2>/dev/null && echo "scripts/python_tests.sh $results no-types" || echo true)" || true
say "sum"
exec "$PY" tools/count_results.py "$results"
