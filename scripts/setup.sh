#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes a machine ready: system packages (installed when we may, else the exact line is printed) and .venv.
# A second call with nothing changed returns at once. Works without a network when everything is there.
. "$(dirname "$0")/common.sh"

stamp=build/.setup-$(cat scripts/setup.sh requirements.txt | cksum | cut -d' ' -f1)
if [ -e "$stamp" ] && [ -x "$PY" ]; then exit 0; fi

# package : probe. A probe is a command, a <header>, or a <header> with the library that must link: several packages
# bring a cblas.h. We ask the compiler, not the package database.
needed="g++:g++ make:make cmake:cmake ninja-build:ninja
  libopenblas-dev:<cblas.h>openblas liblapacke-dev:<lapacke.h>lapacke libfmt-dev:<fmt/format.h>
  libcli11-dev:<CLI/CLI.hpp> nlohmann-json3-dev:<nlohmann/json.hpp> zlib1g-dev:<zlib.h>z
  libgtest-dev:<gtest/gtest.h> python3-dev:@python"
# Useful, but nothing stops without them (a .venv without pip borrows the packages of the machine's Python).
wanted="python3-venv:@venv ccache:ccache clang-tidy:clang-tidy libopenmpi-dev:mpicxx openmpi-bin:mpirun
  libhdf5-dev:<hdf5.h> libscalapack-openmpi-dev:@scalapack libfftw3-dev:<fftw3.h>fftw3f liburing-dev:<liburing.h>uring"

python_ok() {
  "${PYTHON:-python3}" - <<'EOF' 2>/dev/null
import os, sys, sysconfig
assert sys.version_info >= (3, 10)
assert os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h"))
EOF
}

# compiles HEADER, links LIBRARY: what a build will ask of this machine.
compiles() {
  echo "#include $1" | g++ -std=c++20 -E -x c++ -I/usr/include/openblas -I/usr/include/hdf5/serial - >/dev/null 2>&1
}
links() { echo 'int main() {}' | g++ -x c++ - "-l$1" -o /dev/null 2>/dev/null; }

present() {
  case $1 in
    @python) python_ok ;;
    @venv) "${PYTHON:-python3}" -c 'import venv, ensurepip' 2>/dev/null || [ -x "$PY" ] ;;
    @scalapack) links scalapack-openmpi ;;
    "<"*">") compiles "$1" ;;
    "<"*) compiles "${1%>*}>" && links "${1##*>}" ;;
    *) command -v "$1" >/dev/null ;;
  esac
}

missing_of() {
  local pair
  for pair in $1; do present "${pair#*:}" || printf '%s ' "${pair%%:*}"; done
}

install_packages() {
  local missing extra run="" quick="-o Acquire::Retries=0 -o Acquire::http::Timeout=15"
  missing=$(missing_of "$needed")
  extra=$(missing_of "$wanted")
  if [ -z "$missing$extra" ]; then return; fi
  local line="apt-get install -y --no-install-recommends $missing$extra"
  if [ "$(id -u)" != 0 ]; then run="sudo -n"; fi
  if command -v apt-get >/dev/null && { [ -z "$run" ] || sudo -n true 2>/dev/null; }; then
    say "installing $missing$extra"
    # shellcheck disable=SC2086
    { $run apt-get $quick update -qq && DEBIAN_FRONTEND=noninteractive $run $line; } >build/apt.log 2>&1 ||
      echo "apt-get could not install all of these (build/apt.log)"
    missing=$(missing_of "$needed")
  fi
  if [ -n "$missing" ]; then
    echo "These packages are missing and could not be installed from here: $missing"
    echo "Please run:  sudo apt-get update && sudo $line"
    exit 1
  fi
}

# Without a package index, .venv borrows what the machine's own Python already holds.
borrow_packages() {
  local site
  say "no package index within reach: .venv uses the packages of ${PYTHON:-python3}"
  site=$("$PY" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
  "${PYTHON:-python3}" - >"$site/borrowed.pth" <<'EOF'
import sys
for path in sys.path:
    if path.endswith(("site-packages", "dist-packages")):
        print(f"import site; site.addsitedir({path!r})")
EOF
  "$PY" -c 'import numpy, nanobind' || {
    cat build/pip.log
    echo "numpy and nanobind are neither installable (see above) nor installed in ${PYTHON:-python3}."
    echo "What is needed: apt-get install python3-venv, and pip install -r requirements.txt within reach of an index."
    exit 1
  }
}

make_venv() {
  if [ ! -x "$PY" ]; then
    "${PYTHON:-python3}" -m venv .venv 2>/dev/null || "${PYTHON:-python3}" -m venv --clear --without-pip .venv
  fi
  say "Python packages"
  if ! PIP_DEFAULT_TIMEOUT=20 "$PY" -m pip install -q --disable-pip-version-check --retries 1 \
      -r requirements.txt 2>build/pip.log; then
    borrow_packages
  fi
}

mkdir -p build
install_packages
make_venv
rm -f build/.setup-*
touch "$stamp"
