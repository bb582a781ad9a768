#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Layers, file rules, formatting, ruff, and clang-tidy on the files changed since main (TIDY=all: every file).
. "$(dirname "$0")/common.sh"
scripts/setup.sh
status=0
check() { say "$1"; shift; "$@" || status=1; }

check "layers" "$PY" tools/check_layers.py
check "files" "$PY" tools/check_files.py
check "names" "$PY" tools/check_names.py
check "clang-format" scripts/format.sh --check
if "$PY" -c 'import ruff' 2>/dev/null; then check "ruff" "$PY" -m ruff check .; fi

# Changed against main where there is a main to compare with, else against the commit before; at most 24 files.
tidy_files() {
  local base
  if [ "${TIDY:-}" = all ]; then git ls-files 'src/*.cpp' 'cli/*.cpp' | grep -vE '/device/cuda/|/nccl/plugin_entry'; return; fi
  base=$(git merge-base HEAD origin/main 2>/dev/null || true)
  if [ -z "$base" ] || [ "$base" = "$(git rev-parse HEAD)" ]; then base=HEAD~1; fi
  git diff --name-only --diff-filter=d "$base" -- 'src/*.cpp' 'cli/*.cpp' 2>/dev/null |
    grep -vE '/device/cuda/|/nccl/plugin_entry' | grep -v '_test\.cpp$' | head -n "${TIDY_MAX:-24}" || true
}
if command -v clang-tidy >/dev/null; then
  mapfile -t files < <(tidy_files)
  if [ ${#files[@]} -gt 0 ]; then
    configure dev
    tidy() { printf '%s\n' "${files[@]}" | xargs -P "$JOBS" -n 1 clang-tidy --quiet -p build/dev 2>/dev/null; }
    check "clang-tidy (${#files[@]} files)" tidy
  fi
fi
if [ $status = 0 ]; then say "lint: all clean"; else say "lint: faults above"; fi
exit $status
