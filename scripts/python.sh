#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Leaves .venv/bin/python with `import tessera` working: built in place, found through one .pth file.
. "$(dirname "$0")/common.sh"
scripts/setup.sh
choose_preset
with_python "$preset" "${options[@]}"
say "building the Python module (Release)"
build "$preset" tessera_wheel
link_package "$preset"
"$PY" -c 'import tessera; print("tessera", tessera.__version__, "from", tessera.__file__)'
