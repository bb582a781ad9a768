#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The site, in build/docs/html: pages of docs/, the reference from the package that was built, the gallery as it runs.
# Warnings are errors.
. "$(dirname "$0")/common.sh"
if [ ! -d build/release/python/tessera ] && [ ! -d build/cuda/python/tessera ]; then scripts/python.sh; fi
package=build/release/python
if [ ! -d "$package/tessera" ]; then package=build/cuda/python; fi
if ! "$PY" -c 'import furo, matplotlib, myst_parser, sphinx' 2>/dev/null; then
  "$PY" -m pip install -q --disable-pip-version-check -r requirements-docs.txt
fi
export PYTHONPATH=$ROOT/$package
say "gathering pages, running the gallery"
rm -rf build/docs/source
"$PY" docs/site/assemble.py build/docs/source
say "sphinx"
"$PY" -m sphinx -q -W --keep-going -b html -c docs/site -d build/docs/doctrees -j "$JOBS" build/docs/source build/docs/html
say "docs: build/docs/html/index.html"
