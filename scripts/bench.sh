#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Ours beside the peers: out/bench.json (C++) and, where bench/*.py exist, their tables.
. "$(dirname "$0")/common.sh"
scripts/setup.sh
scripts/setup_neighbours.sh
stamp=build/.peers-$(cksum <requirements-peers.txt | cut -d' ' -f1)
if [ ! -e "$stamp" ]; then
  say "peers"
  pip=("$PY" -m pip install -q --disable-pip-version-check --retries 1)
  if PIP_DEFAULT_TIMEOUT=20 "${pip[@]}" -r requirements-peers.txt 2>build/pip-peers.log &&
    PIP_DEFAULT_TIMEOUT=20 "${pip[@]}" --no-deps torch-named-linops 2>>build/pip-peers.log; then
    touch "$stamp"
  else
    echo "not all peers could be installed (build/pip-peers.log): their rows are left out"
  fi
  # Heat beside the distributed arrays: with the PyTorch that is here, whatever it would rather have.
  "$PY" -m pip freeze 2>/dev/null | grep -i '^torch==' >build/torch.txt || true
  PIP_DEFAULT_TIMEOUT=20 "${pip[@]}" -c build/torch.txt heat mpi4py 2>build/pip-heat.log ||
    echo "Heat could not be installed (build/pip-heat.log): its rows are left out"
fi
# Where a GPU answers its rows are taken too: the same Release build with the plug-in.
preset=$(nvidia-smi -L >/dev/null 2>&1 && echo cuda || echo release)
with_python "$preset" -DTESSERA_PCH=ON
say "building (Release)"
build "$preset" all everything
link_package "$preset"
mkdir -p out
if [ -x "build/$preset/bin/tessera_bench" ]; then
  "build/$preset/bin/tessera_bench" out/bench.json
fi
shopt -s nullglob
# Calls of a quarter of a microsecond first: in the seconds after others gave gigabytes back they take half as long again.
say bench/bench_python.py; "$PY" bench/bench_python.py
say bench/bench_numpy.py; "$PY" bench/bench_numpy.py --json out/bench_numpy.json
GLOBIGNORE=bench/bench_python.py:bench/bench_numpy.py
for script in bench/bench_*.py; do say "$script"; "$PY" "$script"; done
