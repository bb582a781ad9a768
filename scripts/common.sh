# SPDX-License-Identifier: Apache-2.0
# Sourced by every script: the root of the tree, the number of jobs, and how a preset is built.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
ROOT=$PWD
PY=$ROOT/.venv/bin/python
# With these ccache also keeps what was compiled with precompiled headers. It goes by the files themselves and not
# by what the preprocessor makes of them: else a header of which a comment changed is taken for the one that was
# precompiled, and g++, which is not deceived, reads it a second time.
export CCACHE_SLOPPINESS=${CCACHE_SLOPPINESS:-pch_defines,time_macros,include_file_mtime,include_file_ctime}
export CCACHE_DEPEND=1

# One job per core, fewer where memory is short (about 1.5 GiB each).
job_count() {
  if [ -n "${TESSERA_JOBS:-}" ]; then echo "$TESSERA_JOBS"; return; fi
  local cores memory
  cores=$(nproc)
  memory=$(awk '/MemAvailable/ {print int($2 / 1572864)}' /proc/meminfo)
  if [ "$memory" -lt 1 ]; then memory=1; fi
  echo $((cores < memory ? cores : memory))
}
JOBS=$(job_count)

# together COMMAND...: command lines, as many at a time as there are jobs, the first ones first; what each one
# says is printed when it ends. Fails when any of them failed.
together() {
  printf '%s\0' "$@" |
    xargs -0 -P "$JOBS" -I{} bash -c 'said=$({} 2>&1); ended=$?; printf "%s\n" "$said"; exit $ended'
}

say() { printf '\n== %s\n' "$*"; }

# configure PRESET [cmake arguments]: quiet when all is well; CMake runs again only if something changed.
configure() {
  local preset=$1 log
  shift
  mkdir -p build
  log=build/configure-$preset.log
  if ! cmake --preset "$preset" "$@" >"$log" 2>&1; then cat "$log"; return 1; fi
}

# with_python PRESET [cmake arguments]: configure with the Python module for .venv.
with_python() {
  local preset=$1
  shift
  configure "$preset" -DTESSERA_PYTHON=ON "-DPython_EXECUTABLE=$PY" "$@"
}

# choose_preset: the variables `preset` and `options` (of CMake) for this machine: `cuda`, compiled for its GPUs, where nvcc
# and one of them answer, else `release`. TESSERA_CUDA=OFF asks for the latter.
choose_preset() {
  local kinds
  preset=release
  options=()
  if [ "${TESSERA_CUDA:-ON}" = OFF ]; then return; fi
  if ! command -v nvcc >/dev/null && [ ! -x /usr/local/cuda/bin/nvcc ]; then return; fi
  kinds=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | sed -n 's/^ *\([0-9]*\)\.\([0-9]\) *$/\1\2-real/p' |
    sort -u | paste -sd ';') || true  # without nvidia-smi
  if [ -z "$kinds" ]; then return; fi
  preset=cuda
  options=(-DTESSERA_PCH=ON "-DTESSERA_CUDA_ARCHITECTURES=$kinds")
  say "a GPU answers (${kinds//-real/}): the CUDA plug-in is built for it (TESSERA_CUDA=OFF leaves it away)"
}

# announce PRESET targets: says how many files there are to compile, and how long that takes: about five seconds of a core each.
announce() {
  local preset=$1 files minutes
  shift
  files=$(ninja -C "build/$preset" -t commands "$@" | sed -n 's/.* -o \([^ ]*\.o\) -c .*/\1/p' |
    while read -r object; do [ -e "build/$preset/$object" ] || echo; done | wc -l)
  minutes=$(((files * 5 / JOBS + 30) / 60))
  if [ "$files" -eq 0 ]; then say "building (Release): what has changed since the last time"; return; fi
  say "building (Release): $files files to compile, about $((minutes > 0 ? minutes : 1)) min with $JOBS jobs (less with a warm ccache)"
}

# build PRESET [targets]: what is shipped when no target is named; `all everything` is that, tests and benchmarks.
build() {
  local preset=$1
  shift
  NINJA_STATUS=${NINJA_STATUS:-[%f/%t, %p, %e s] } cmake --build "build/$preset" -j "$JOBS" ${1:+--target "$@"}
}

# link_package PRESET: .venv imports tessera from that preset's build folder.
link_package() {
  local site
  site=$("$PY" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
  echo "$ROOT/build/$1/python" >"$site/tessera.pth"
}
