#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: check.sh [BASE]: for who changed a line: what the changes since main concern, and a quick core of tests, within five
# minutes of two cores (TESSERA_CHECK_SECONDS) once the library has been built. `make test` is all.
. "$(dirname "$0")/common.sh"
scripts/setup.sh
with_python release
JOBS=$JOBS exec "$PY" tools/check_changed.py "$@"
