# SPDX-License-Identifier: Apache-2.0
"""Element-wise functions against NumPy: operations, dtypes, broadcasting, strides, weak numbers, out=."""

import operator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import ALL, COMPLEX, FLOATS, INTEGERS, check, draw_numbers, on, same_outcome, seeds, strided

import tessera as ts

UNARY = """negative positive square sign conj reciprocal logical_not invert sqrt exp exp2 expm1 log log2 log10
log1p sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh cbrt floor ceil trunc rint isnan
isinf isfinite signbit absolute""".split()
BINARY = """add subtract multiply floor_divide remainder power maximum minimum fmax fmin equal not_equal less
less_equal greater greater_equal logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_xor
left_shift right_shift divide arctan2 hypot copysign""".split()
LOOSE = {"float16": 5e-3, "float32": 5e-6, "float64": 1e-12, "complex64": 2e-5, "complex128": 1e-11}


def tolerance_of(expected):
    return LOOSE.get(str(np.asarray(expected).dtype))


def compare(got, expected):
    check(got, expected, tol=tolerance_of(expected))


@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("name", UNARY)
def test_unary(name, dtype, device, rng):
    x = draw_numbers(rng, (3, 5), dtype)
    if name == "reciprocal" and x.dtype.kind in "biu":
        x = np.where(x == 0, np.ones_like(x), x)  # 1 // 0 means nothing
    x = strided(rng, x)

    def ours():
        return getattr(ts, name)(on(device, x))

    same_outcome(ours, lambda: getattr(np, name)(x), compare, text=False)


def numbers_for(name, rng, shape, dtype):
    x = draw_numbers(rng, shape, dtype)
    # Shifts and integer powers are defined for small non-negative second operands only.
    return np.abs(x) % 7 if name in ("left_shift", "right_shift", "power") and x.dtype.kind in "iu" else x


@pytest.mark.parametrize("name", BINARY)
def test_binary_dtypes(name, main_device):
    rng = np.random.default_rng(len(name))
    for first in ALL:
        for second in ALL:
            a = strided(rng, draw_numbers(rng, (2, 1, 5), first))
            b = strided(rng, numbers_for(name, rng, (3, 1), second).astype(second))
            if name in ("floor_divide", "remainder", "divide"):
                b = np.where(b == 0, np.ones_like(b), b)
            if name == "power" and a.dtype.kind in "fc":
                a = np.abs(a) + a.dtype.type(1)  # branch cuts and poles have tests of their own

            def ours(a=a, b=b):
                return getattr(ts, name)(on(main_device, a), on(main_device, b))

            same_outcome(ours, lambda a=a, b=b: getattr(np, name)(a, b), compare, text=False)


WEAK = [True, 0, 3, -2, 2.5, -0.5, 1 + 2j]


@pytest.mark.parametrize("symbol", ["add", "sub", "mul", "truediv", "lt", "eq", "pow"])
def test_python_numbers_are_weak(symbol, device, rng):
    f = getattr(operator, symbol)
    for dtype in ALL:
        x = draw_numbers(rng, (4,), dtype)
        if symbol == "pow":
            x = np.abs(x) + x.dtype.type(1) if x.dtype.kind in "fc" else x
        for number in WEAK:
            # NumPy itself raises for these two; ours are tested below.
            if symbol == "pow" and (np.dtype(dtype).kind in "biu"):
                continue
            same_outcome(lambda: f(on(device, x), number), lambda: f(x, number), compare, text=False)  # noqa: B023
            same_outcome(lambda: f(number, on(device, x)), lambda: f(number, x), compare, text=False)  # noqa: B023


@pytest.mark.parametrize("dtype", INTEGERS)
def test_numbers_that_do_not_fit(dtype, device):
    x = on(device, np.ones(3, dtype))
    info = np.iinfo(dtype)
    for number in (info.max + 1, info.min - 1):
        if -(2**63) <= number < 2**64:
            with pytest.raises(OverflowError, match=f"Python integer {number} out of bounds for {dtype}"):
                _ = x + number
    with pytest.raises(OverflowError):
        _ = x + 2**70


@given(seed=seeds, data=st.data())
def test_broadcasting(seed, data, main_device):
    rng = np.random.default_rng(seed)
    full = tuple(data.draw(st.lists(st.integers(0, 4), min_size=0, max_size=4)))
    parts = []
    for _ in range(2):
        keep = data.draw(st.integers(0, len(full)))
        parts.append(tuple(n if rng.integers(0, 3) else 1 for n in full[keep:]))
    a = strided(rng, draw_numbers(rng, parts[0], data.draw(st.sampled_from(ALL))))
    b = strided(rng, draw_numbers(rng, parts[1], data.draw(st.sampled_from(ALL))))
    for symbol in (operator.add, operator.mul, operator.le):

        def ours(symbol=symbol):
            return symbol(on(main_device, a), on(main_device, b))

        same_outcome(ours, lambda symbol=symbol: symbol(a, b), compare)


@given(
    seed=seeds,
    dtypes=st.tuples(*[st.sampled_from(ALL)] * 3),
    name=st.sampled_from(["add", "multiply", "divide", "less"]),
)
def test_out(seed, dtypes, name, main_device):
    rng = np.random.default_rng(seed)
    a, b = (strided(rng, draw_numbers(rng, (3, 4), t)) for t in dtypes[:2])
    if name == "divide":
        b = np.where(b == 0, np.ones_like(b), b)
    target = draw_numbers(rng, (3, 4), dtypes[2])
    expected = target.copy()
    out = on(main_device, target.copy())

    def ours():
        result = getattr(ts, name)(on(main_device, a), on(main_device, b), out=out)
        assert result is out
        return result

    # NumPy rounds to the dtype of the operands before it converts; we convert the exact result.
    natural = LOOSE.get(str(np.result_type(a, b)), 0.0)

    def close(got, want):
        check(got, want, tol=max(natural, tolerance_of(want) or 0.0))

    same_outcome(ours, lambda: getattr(np, name)(a, b, out=expected), close, text=False)


def test_out_must_fit(main_device):
    x = ts.ones((2, 3), device=main_device)
    with pytest.raises(ts.ShapeError):
        ts.add(x, x, out=ts.empty((3, 2), device=main_device))
    with pytest.raises(TypeError):
        ts.add(x, x, out=np.empty((2, 3)))
    with pytest.raises(TypeError):
        ts.sqrt(x, out=ts.empty((2, 3), "int32", device=main_device))


@pytest.mark.parametrize("symbol", ["iadd", "isub", "imul", "itruediv", "ifloordiv", "imod", "iand", "ior", "ixor"])
def test_in_place(symbol, device, rng):
    f = getattr(operator, symbol)
    for dtype in ALL:
        x = draw_numbers(rng, (3, 4), dtype)
        y = draw_numbers(rng, (4,), dtype)
        y = np.where(y == 0, np.ones_like(y), y)
        mine = on(device, x.copy())

        def ours(mine=mine, y=y):
            same = mine
            result = f(same, on(device, y))
            assert result is mine
            return result

        same_outcome(ours, lambda x=x, y=y: f(x.copy(), y), compare, text=False)


def test_overlapping_out(device):
    x = np.arange(12.0)
    mine = on(device, x.copy())
    ts.add(mine[:-1], 10, out=mine[1:])
    expected = x.copy()
    np.add(expected[:-1], 10, out=expected[1:])
    check(mine, expected)


def test_complex_parts(device, rng):
    z = strided(rng, draw_numbers(rng, (4, 3), "complex64"))
    mine = on(device, z)
    check(mine.real, z.real)
    check(mine.imag, z.imag)
    check(ts.angle(mine), np.angle(z), tol=1e-6)
    check(ts.abs2(mine), np.abs(z) ** 2, tol=1e-6)
    check(ts.conj_multiply(mine, mine), np.conj(z) * z)
    check(ts.multiply_add(mine, 2, 1), z * 2 + 1)
    mine = on(device, z.copy())
    mine.imag = 0
    check(mine, z.real.astype("complex64"))


@given(seed=seeds, dtype=st.sampled_from([*FLOATS, *COMPLEX]))
def test_special_numbers(seed, dtype, main_device):
    rng = np.random.default_rng(seed)
    kind = np.dtype(dtype)
    real = "float32" if kind == np.complex64 else "float64" if kind == np.complex128 else dtype
    x = rng.choice(np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan]), 8).astype(real)
    y = rng.choice(np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan]), 8).astype(real)
    with np.errstate(all="ignore"):
        for name in ["add", "multiply", "maximum", "minimum", "fmax", "fmin", "less", "equal"]:
            check(getattr(ts, name)(on(main_device, x), on(main_device, y)), getattr(np, name)(x, y))
        for name in ["sqrt", "isnan", "isinf", "signbit", "floor", "exp"]:
            check(getattr(ts, name)(on(main_device, x)), getattr(np, name)(x))
        z = (x + 1j * y).astype(dtype) if kind.kind == "c" else x
        check(ts.isnan(on(main_device, z)), np.isnan(z))


@pytest.mark.parametrize("dtype", COMPLEX)
def test_complex_quotients_of_special_numbers(dtype, device):
    real = np.finfo(dtype).dtype
    parts = np.array([0.0, -0.0, 1, -2.5, np.inf, -np.inf, np.nan, np.finfo(real).tiny / 8, np.finfo(real).max], real)
    numbers = np.empty((parts.size, parts.size), dtype)
    numbers.real, numbers.imag = parts[:, None], parts
    a, b = numbers.reshape(-1, 1), numbers.reshape(1, -1)

    def kinds(z):  # which of zero, finite, infinite, NaN each part is, with its sign
        return [(np.isnan(p), np.isinf(p), p == 0, np.signbit(p) & ~np.isnan(p)) for p in (z.real, z.imag)]

    with np.errstate(all="ignore"):
        expected = a / b
    got = np.asarray((on(device, a) / on(device, b)).to("cpu"))
    assert np.array_equal(kinds(got), kinds(expected))
    finite = np.isfinite(expected)
    with np.errstate(over="ignore"):
        error, size = np.abs(got[finite] - expected[finite]), np.abs(expected[finite])
    assert not np.any(~(error <= 4 * np.finfo(real).eps * size + np.finfo(real).smallest_subnormal))
    for one in (0.0, -0.0, complex(-0.0, 0.0)):  # a number that is not an array
        with np.errstate(all="ignore"):
            assert np.array_equal(
                kinds(np.asarray((on(device, a) / one).to("cpu"))), kinds(a / np.dtype(dtype).type(one))
            )


def test_where_and_clip(device, rng):
    mask = rng.integers(0, 2, (3, 4)).astype(bool)
    a, b = draw_numbers(rng, (3, 4), "float32"), draw_numbers(rng, (4,), "int16")
    check(ts.where(on(device, mask), on(device, a), on(device, b)), np.where(mask, a, b))
    check(ts.where(on(device, mask), on(device, a), 0.0), np.where(mask, a, np.float32(0)))
    check(ts.clip(on(device, a), -1, 2), np.clip(a, -1, 2))
    check(on(device, a).clip(min=0), np.clip(a, 0, None))
