#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Set-up, Release build of the command line tool, and the main job: an image reconstruction into out/.
. "$(dirname "$0")/common.sh"
scripts/setup.sh
configure release
say "building (Release)"
build release tessera_cli
mkdir -p out
exec build/release/bin/tessera demo --out out "$@"
