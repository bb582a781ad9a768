# SPDX-License-Identifier: Apache-2.0
"""Complex functions at zeros, infinities and NaN: the product of special values for every function, beside NumPy, which
keeps Annex G of C99. Signs that Annex G leaves open are not compared."""

import itertools

import numpy as np
import pytest
from support import on

import tessera as ts

INF, NAN = float("inf"), float("nan")
PARTS = [0.0, -0.0, 1e-200, -1e-200, 1.0, -1.0, 0.5, -2.5, 70.0, -70.0, 1e30, -1e30, INF, -INF, NAN]
FUNCTIONS = ["sqrt", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "arcsin", "arccos"]
FUNCTIONS += ["arctan", "sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh", "square", "reciprocal", "conj"]
FUNCTIONS += ["negative", "absolute", "isnan", "isinf", "isfinite", "real", "imag", "angle", "rint", "sign"]
EXPONENTS = [0.0, -0.0, 1.0, -1.0, 2.0, 3.0, 0.5, INF, -INF, NAN]
# sinh, cosh and exp of an infinite number in no direction, and what is made of them: an infinity of either sign, or a
# zero of either sign beside a NaN.
OPEN = {"sinh", "cosh", "sin", "cos", "exp", "exp2", "expm1", "tanh", "tan", "arccos", "arcsinh", "arcsin", "arctan"}


def products(parts, dtype):
    z = np.empty(len(parts) ** 2, dtype)
    z.real, z.imag = np.repeat(parts, len(parts)), np.tile(parts, len(parts))
    return z


def parts_of(x):
    x = np.asarray(x)
    return (x.real, x.imag) if x.dtype.kind == "c" else (x,)


def standard_expm1(z):
    """NumPy's own has NaN where the array API wants inf + 0j or -1 + 0j, and negative zeros; exp keeps the rules."""
    w = np.expm1(z)
    w.real += 0.0
    special = ~(np.isfinite(z.real) & np.isfinite(z.imag)) | ((z.imag == 0) & np.isinf(np.exp(z.real)))
    w[special] = np.exp(z[special])
    w.real[special] -= 1
    return w


def same(got, want, size, open_signs, tolerance):
    """Elements of real arrays that agree, signs of zeros and infinities included; ``size`` of the whole numbers."""
    if want.dtype == bool:
        return got == want
    with np.errstate(all="ignore"):
        near = np.abs(got - want) <= tolerance * np.maximum(1, np.where(np.isfinite(size), size, np.abs(want)))
    agree = np.where(np.isnan(want), np.isnan(got), np.where(np.isinf(want), got == want, near))
    signed = np.signbit(got) == np.signbit(want)
    return agree & (signed | np.isnan(want) | (want != 0)) | (open_signs & (np.abs(got) == np.abs(want)))


def compare(name, got, want, arguments, dtype):
    assert str(got.dtype) == str(want.dtype)
    with np.errstate(all="ignore"):
        size = np.abs(want)
    got, want = parts_of(got.numpy()), parts_of(want)
    tolerance = 30 * np.finfo(dtype).eps
    agree = np.ones(want[0].shape, bool)
    beside = [np.isnan(w) for w in reversed(want)] if len(want) == 2 else [np.zeros(want[0].shape, bool)]
    infinite = np.isinf(arguments[0].real) | np.isinf(arguments[0].imag)
    for g, w, nan in zip(got, want, beside, strict=True):
        agree &= same(g, w, size, (nan | infinite) if name in OPEN | {"power"} else np.zeros(w.shape, bool), tolerance)
    wrong = [tuple(a[i] for a in arguments) for i in np.flatnonzero(~agree)]
    values = [(tuple(g[i] for g in got), tuple(w[i] for w in want)) for i in np.flatnonzero(~agree)]
    assert not wrong, f"{name}: {list(zip(wrong, values, strict=True))[:10]}"


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name, dtype, device):
    # Of large angles that exp2 multiplies by log(2) first nothing is left to compare, and whether the difference of two
    # squares that overflow is NaN depends on the machine's instructions.
    # NumPy's log1p adds one before it takes the logarithm: of a tiny step it leaves nothing.
    left_out = {"exp2": 1e30, "square": 1e30, "log1p": 1e-200}.get(name)
    z = products([p for p in PARTS if abs(p) != left_out], dtype)
    with np.errstate(all="ignore"):
        want = standard_expm1(z) if name == "expm1" else getattr(np, name)(z)
    compare(name, getattr(ts, name)(on(device, z)), want, (z,), dtype)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_power(dtype, device):
    z = products(EXPONENTS, dtype)
    a, b = np.repeat(z, len(z)), np.tile(z, len(z))
    with np.errstate(all="ignore"):
        want = a**b
    compare("power", on(device, a) ** on(device, b), want, (a, b), dtype)


@pytest.mark.parametrize("operation", ["multiply", "divide", "add", "subtract"])
def test_arithmetic(operation, device):
    z = products(EXPONENTS, "complex128")
    a, b = (np.array(x) for x in zip(*itertools.product(z, z), strict=True))
    with np.errstate(all="ignore"):
        want = getattr(np, operation)(a, b)
    compare(operation, getattr(ts, operation)(on(device, a), on(device, b)), want, (a, b), "complex128")
