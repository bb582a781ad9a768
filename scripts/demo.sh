#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Set-up, Release build of the command line tool, and the main job: an image reconstruction into out/, on a GPU where one is.
. "$(dirname "$0")/common.sh"
scripts/setup.sh
choose_preset
configure "$preset" "${options[@]}"
say "building (Release)"
targets=(tessera_cli)
device=()
if [ "$preset" = cuda ]; then
  targets+=(tessera_cuda)
  if [[ " $* " != *" --device"* ]]; then device=(--device cuda:0); fi
fi
build "$preset" "${targets[@]}"
mkdir -p out
exec "build/$preset/bin/tessera" demo --out out "${device[@]}" "$@"
