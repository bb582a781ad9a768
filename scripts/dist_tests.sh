#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: dist_tests.sh RESULTS_DIR [RANKS,RANKS...]: tests/python/dist under mpirun, some of them on three hosts (where
# name spaces may be made), ranks and hosts that come to grief, programs that know MPI themselves.
# TESSERA_DIST_WHOLE=1: NumPy's whole product of keys on every number of ranks.
. "$(dirname "$0")/common.sh"
results=$1
ranks=${2:-1,2,3,4,7}
if ! command -v mpirun >/dev/null; then
  echo "no mpirun here: the tests over ranks are skipped (Open MPI: apt-get install openmpi-bin libopenmpi-dev)"
  exit 0
fi
say "tests over ranks"
status=0
"$PY" tests/python/dist/launch.py -n "$ranks" --limit "${TESSERA_RANKS_LIMIT:-1800}" --results "$results" || status=1
suites=()
for name in cases random functions operators solve files scenarios writes; do
  suites+=("tests/python/dist/test_dist_$name.py")
done
"$PY" tests/python/dist/launch.py --hosts 3 -n 6 --limit "${TESSERA_RANKS_LIMIT:-1800}" --results "$results" "${suites[@]}" || status=1
began=$SECONDS
"$PY" -m pytest -q tests/python/dist/test_dist_{failures,several_hosts,between_machines,programs,endings}.py --junitxml "$results/ranks.failures.xml" || status=1
if [ ! -e "$results/ranks.failures.xml" ]; then echo "failed ranks.failures" >"$results/ranks.failures.count"; fi
echo "ranks that come to grief, programs: $((SECONDS - began)) s; all: $SECONDS s"
exit $status
