#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Ours beside the peers: out/bench.json (C++) and, where bench/*.py exist, their tables.
. "$(dirname "$0")/common.sh"
scripts/setup.sh
with_python release
say "building (Release)"
build release
link_package release
mkdir -p out
if [ -x build/release/bin/tessera_bench ]; then
  build/release/bin/tessera_bench out/bench.json
fi
shopt -s nullglob
for script in bench/bench_*.py; do say "$script"; "$PY" "$script"; done
