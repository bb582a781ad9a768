#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# PyTorch and JAX for the tests and benches beside them: big, and not needed to build or use anything. Where they cannot be
# installed the tests that hand operators to them are skipped, and the run says so.
. "$(dirname "$0")/common.sh"
stamp=build/.neighbours-$(cksum <requirements-neighbours.txt | cut -d' ' -f1)
if [ -e "$stamp" ]; then exit 0; fi
say "PyTorch and JAX"
if PIP_DEFAULT_TIMEOUT=20 "$PY" -m pip install -q --disable-pip-version-check --retries 1 \
    -r requirements-neighbours.txt 2>build/pip-neighbours.log; then
  rm -f build/.neighbours-*
  touch "$stamp"
  # Without what they would rather have: another PyTorch, and Triton where there is none.
  PIP_DEFAULT_TIMEOUT=20 "$PY" -m pip install -q --disable-pip-version-check --retries 1 --no-deps \
    torch-named-linops==0.8.3 heat==1.8.0 2>build/pip-compat.log ||
    echo "not installed (build/pip-compat.log): tests beside torch-named-linops and Heat are skipped"
else
  echo "not installed (build/pip-neighbours.log): tests with PyTorch and JAX are skipped"
fi
