#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: python_tests.sh RESULTS_DIR [no-types]: pytest over tests/python (documentation blocks included), mypy.
# What is in tests/python/dist runs over ranks: dist_tests.sh.
. "$(dirname "$0")/common.sh"
results=$1
types=$([ "${2:-}" = no-types ] || echo yes)
status=0
if ls tests/python/test_*.py >/dev/null 2>&1; then
  say "Python tests"
  # Where there are cores for it, and no GPU to take turns on, files are distributed over several processes.
  groups=$([ "$JOBS" -ge 8 ] && [ -n "$types" ] && echo 6 || echo 1)
  commands=()
  for ((group = 0; group < groups; group++)); do
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
