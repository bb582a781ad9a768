#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Set-up, Release build of the tool and the Python module, and the main job into out/, on a GPU where one is: a scan is made and
# reconstructed in four ways. Arguments go to `tessera demo`: demo.sh --size 3d
. "$(dirname "$0")/common.sh"
scripts/setup.sh
choose_preset
with_python "$preset" "${options[@]}"
targets=(tessera_cli tessera_wheel)
device=()
if [ "$preset" = cuda ]; then
  targets+=(tessera_cuda)
  if [[ " $* " != *" --device"* ]]; then device=(--device cuda:0); fi
fi
announce "$preset" "${targets[@]}"
build "$preset" "${targets[@]}"
say "tessera demo"
PYTHONPATH=build/$preset/python exec "$PY" -m tessera demo --out out "${device[@]}" "$@"
