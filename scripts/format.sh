#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: format.sh [--check]: formats every C++, CUDA and Python file of ours, or says which are not.
. "$(dirname "$0")/common.sh"
if [ -x .venv/bin/clang-format ]; then clang_format=.venv/bin/clang-format; else clang_format=clang-format; fi
if ! command -v "$clang_format" >/dev/null; then
  echo "no clang-format here (requirements.txt names it): formatting is not looked at"
  exit 0
fi
mapfile -t sources < <(git ls-files --cached --others --exclude-standard \
  '*.cpp' '*.hpp' '*.cu' '*.cuh' | while read -r f; do [ -f "$f" ] && echo "$f"; done)
if [ "${1:-}" = --check ]; then
  bad=$(printf '%s\0' "${sources[@]}" | xargs -0 -r -P "$JOBS" -n 50 "$clang_format" --dry-run 2>&1 |
    sed -n 's/:[0-9]*:[0-9]*: warning: code should be clang-formatted.*//p' | sort -u)
  if [ -z "$bad" ]; then exit 0; fi
  printf 'not formatted (make format does it):\n%s\n' "$bad"
  exit 1
fi
if [ ${#sources[@]} -gt 0 ]; then "$clang_format" -i "${sources[@]}"; fi
if "$PY" -c 'import ruff' 2>/dev/null; then "$PY" -m ruff format -q .; fi
