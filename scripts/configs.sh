#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: configs.sh PRESET RESULTS_DIR NAME...: test programs and Python tests again under tests/configs/NAME.json,
#   {"why": "...", "env": {"TESSERA_NUM_THREADS": "1"}, "programs": ["tessera_laws"], "python": ["test_io.py"]}
# Of the ways in which the laws cut each operator they take a share each, not the same for all operators; of the other programs'
# tests, which have run without settings before, one in TESSERA_TEST_SHARE (1), in each configuration others.
. "$(dirname "$0")/common.sh"
preset=$1
results=$2
status=0
share=${TESSERA_TEST_SHARE:-1}
for name in "${@:3}"; do
  file=tests/configs/$name.json
  place=$(printf '%s\n' tests/configs/*.json | grep -nxF "$file" | cut -d: -f1)
  mapfile -t settings < <("$PY" -c 'import json, sys
for item in json.load(open(sys.argv[1]))["env"].items(): print("=".join(item))' "$file")
  mapfile -t programs < <("$PY" -c 'import json, sys
print("\n".join(json.load(open(sys.argv[1]))["programs"]))' "$file")
  echo "-- $name: ${settings[*]}"
  for program in "${programs[@]}"; do
    if [ ! -x "build/$preset/bin/$program" ]; then continue; fi
    of_share=()
    if [ "$program" != tessera_laws ]; then of_share=("GTEST_TOTAL_SHARDS=$share" "GTEST_SHARD_INDEX=$((place % share))"); fi
    # Faults, and solves that are spread over sim devices or ranks, have settings of their own, and every spec is
    # the patterns of BatchesEqualTheWhole many times over, and some kernels are called without arrays or devices: once is
    # enough.
    if ! env "${settings[@]}" "${of_share[@]}" "build/$preset/bin/$program" --gtest_brief=1 '--gtest_filter=-*Faults*:DistributedSolve*:DistributedGrid*:*OverRanks*:*EverySpec*:*OwnPlans*:*SmoothLines*:*Registers*:Avx512*' \
      "--gtest_output=xml:$results/$program.$name.xml" >"$results/$program.$name.log" 2>&1; then
      status=1
      cat "$results/$program.$name.log"
      # A program that ended before GoogleTest wrote its file counts as one failure.
      if [ ! -e "$results/$program.$name.xml" ]; then
        echo "failed $program ($name)" >"$results/$program.$name.count"
      fi
    fi
  done
  mapfile -t python < <("$PY" -c 'import json, sys
for name in json.load(open(sys.argv[1])).get("python", []): print("tests/python/" + name)' "$file")
  if [ ${#python[@]} -gt 0 ] && [ -e "build/$preset/python/tessera/__init__.py" ]; then
    if ! env "${settings[@]}" "$PY" -m pytest -q "${python[@]}" \
      --junitxml "$results/pytest.$name.xml" >"$results/pytest.$name.log" 2>&1; then
      status=1
      cat "$results/pytest.$name.log"
      if [ ! -e "$results/pytest.$name.xml" ]; then
        echo "failed pytest ($name)" >"$results/pytest.$name.count"
      fi
    fi
  fi
done
exit $status
