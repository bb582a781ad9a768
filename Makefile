# SPDX-License-Identifier: Apache-2.0
# The people's face of the build. Each target is one script; `make demo` and `make test` need nothing before them.
.PHONY: demo check test python wheel docs bench lint gpu-test fuzz format clean setup
.DEFAULT_GOAL := demo

demo:      ; @scripts/demo.sh $(if $(SIZE),--size $(SIZE))
check:     ; @scripts/check.sh
test:      ; @scripts/test.sh
python:    ; @scripts/python.sh
wheel:     ; @scripts/wheel.sh
docs:      ; @scripts/docs.sh
bench:     ; @scripts/bench.sh
lint:      ; @scripts/lint.sh
gpu-test:  ; @scripts/gpu_test.sh
fuzz:      ; @scripts/fuzz.sh
format:    ; @scripts/format.sh
setup:     ; @scripts/setup.sh
clean:     ; rm -rf build out
