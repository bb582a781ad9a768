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
build cuda all everything
link_package cuda
results=$ROOT/build/cuda/results
rm -rf "$results"
mkdir -p "$results"
export TESSERA_TEST_DEVICE=${TESSERA_TEST_DEVICE:-cuda:0}
export TESSERA_CUDA_DEVICES=${TESSERA_CUDA_DEVICES:-4}  # a GPU stands for several, each with streams of its own
export TESSERA_TEST_RANKS=${TESSERA_TEST_RANKS:-1,3}  # every small kernel is a launch to wait for
export OPENBLAS_NUM_THREADS=${OPENBLAS_NUM_THREADS:-1} OMP_WAIT_POLICY=${OMP_WAIT_POLICY:-passive}  # as test.sh

say "tests on $TESSERA_TEST_DEVICE, side by side"
# Each program has a context of its own, between which the GPU takes turns: more at once do not end sooner.
programs() {
  ctest --test-dir build/cuda --output-on-failure --output-junit "$results/ctest.xml" -j 5 \
    -R '^tessera_(laws|ladder|test_(device|comm|kernels|array|plan|compute|linop|matrix|split|distributed|solve))$'
}
export -f programs
export results
JOBS=2 together programs \
  "$("$PY" -c 'import pytest' 2>/dev/null && echo "scripts/python_tests.sh $results no-types" || echo true)" || true
# Memory of the device: the program in which streams and logical devices share most.
if command -v compute-sanitizer >/dev/null; then
  say "compute-sanitizer"
  if compute-sanitizer --error-exitcode 9 build/cuda/bin/tessera_test_split --gtest_brief=1 >build/cuda/sanitizer.log 2>&1; then
    verdict=passed
  else
    verdict=failed
  fi
  tail -n 3 build/cuda/sanitizer.log
  echo "$verdict compute-sanitizer" >"$results/compute-sanitizer.count"
fi
say "sum"
exec "$PY" tools/count_results.py "$results"
