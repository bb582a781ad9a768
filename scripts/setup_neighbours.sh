#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# PyTorch and JAX for the tests and benches beside them: big, and not needed to build or use anything. Where they cannot be
# installed the tests that hand operators to them are skipped, and the run says so.
. "$(dirname "$0")/common.sh"
stamp=build/.neighbours-$(cksum <requirements-neighbours.txt | cut -d' ' -f1)
if [ -e "$stamp" ]; then exit 0; fi
say "PyTorch and JAX"
export PIP_DEFAULT_TIMEOUT=${PIP_DEFAULT_TIMEOUT:-60}
missing=()
# A call of pip installs all that it is given or nothing: what is small comes first and on its own, then what needs
# PyTorch, whose download is the one that may not arrive.
install() { # NAME ARGUMENTS...: its messages go to build/pip-NAME.log
  "$PY" -m pip install -q --disable-pip-version-check --retries 2 "${@:2}" 2>"build/pip-$1.log" ||
    missing+=("$1 (build/pip-$1.log)")
}
needs_torch='^(torch|torchvision)([^a-z-]|$)'
grep -vE "$needs_torch" requirements-neighbours.txt >build/neighbours-small.txt
grep -E "$needs_torch" requirements-neighbours.txt >build/neighbours-torch.txt
install small -r build/neighbours-small.txt
install torch -r build/neighbours-torch.txt
# Without what they would rather have: another PyTorch, and Triton where there is none.
install compat --no-deps torch-named-linops==0.8.3 heat==1.8.0
if [ ${#missing[@]} = 0 ]; then
  rm -f build/.neighbours-*
  touch "$stamp"
else
  printf -v list ', %s' "${missing[@]}"
  echo "not installed: ${list:2}; the tests beside them are skipped, and the next call tries again"
fi
