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
  "$PY" -m pytest -q tests/python --ignore tests/python/dist --junitxml "$results/pytest.xml" || status=1
  if [ ! -e "$results/pytest.xml" ]; then echo "failed pytest" >"$results/pytest.count"; fi
fi
if [ "$types" = yes ] && [ -d python/tessera ] && "$PY" -c 'import mypy' 2>/dev/null; then
  say "type check of the package and its stubs"
  if MYPYPATH=$(dirname "$results")/python "$PY" -m mypy --config-file pyproject.toml -p tessera; then verdict=passed; else verdict=failed; status=1; fi
  echo "$verdict mypy" >"$results/mypy.count"
fi
exit $status
