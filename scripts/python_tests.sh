#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: python_tests.sh RESULTS_DIR [no-types | PART/PARTS]: pytest over tests/python (documentation blocks included),
# mypy. PART/PARTS: of the files every PARTS-th, from number PART on (1 to PARTS); the types go with the first part.
# What is in tests/python/dist runs over ranks: dist_tests.sh.
. "$(dirname "$0")/common.sh"
results=$1
part=${2:-}
types=$([ "$part" = no-types ] || [[ "$part" == [2-9]/* ]] || echo yes)
status=0
if ls tests/python/test_*.py >/dev/null 2>&1; then
  say "Python tests"
  # Where there are cores for it, files are distributed over several processes; six share a GPU without waiting for it.
  if [[ "$part" == */* ]]; then
    groups=${part#*/} chosen=$((${part%/*} - 1))
  else
    groups=$([ "$JOBS" -ge 8 ] && echo 6 || echo 1) chosen=$(seq 0 $((groups - 1)))
  fi
  commands=()
  for group in $chosen; do
    mapfile -t files < <(printf '%s\n' tests/python/test_*.py | awk "NR % $groups == $group")
    xml=$results/pytest.$group.xml
    commands+=("$PY -m pytest -q ${files[*]} --junitxml $xml; ended=\$?; [ -e $xml ] || echo failed pytest >${xml%.xml}.count; exit \$ended")
  done
  together "${commands[@]}" || status=1
fi
if [ "$types" = yes ] && [ -d python/tessera ] && "$PY" -c 'import mypy' 2>/dev/null; then
  say "type check of the package and its stubs"
  if MYPYPATH=$(dirname "$results")/python "$PY" -m mypy --config-file pyproject.toml -p tessera; then verdict=passed; else verdict=failed; status=1; fi
  echo "$verdict mypy" >"$results/mypy.count"
fi
exit $status
