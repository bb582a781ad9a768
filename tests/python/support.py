# SPDX-License-Identifier: Apache-2.0
"""Comparing with NumPy: inputs with odd strides, tolerances from dtype and length, errors side by side."""

import gc
import importlib
import warnings
from contextlib import contextmanager

import numpy as np
import pytest
from hypothesis import strategies as st

import tessera as ts


class Absent:
    """Stands for a library that is not installed: a test that comes to use it is skipped there."""

    def __init__(self, name):
        self._name = name

    def __getattr__(self, attribute):
        if attribute.startswith(("_", "pytest")):  # pytest looks at all that a module holds
            raise AttributeError(attribute)
        pytest.skip(f"{self._name} is not installed")


def optional(name):
    """The library, or what skips the tests that use it: the others of a file run without it."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return Absent(name)


INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float16", "float32", "float64"]
COMPLEX = ["complex64", "complex128"]
NUMERIC = [*INTEGERS, *FLOATS, *COMPLEX]
ALL = ["bool", *NUMERIC]


def draw_numbers(rng, shape, dtype):
    """Numbers that overflow nothing in simple arithmetic, zeros, signs and (for floats) halves included."""
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return np.asarray(rng.integers(0, 2, shape)).astype(bool)
    low = 0 if dtype.kind == "u" else -9
    values = np.asarray(rng.integers(low, 10, shape))
    if dtype.kind in "iu":
        return values.astype(dtype)
    values = np.asarray(values / 2)
    if dtype.kind == "c":
        values = values + 0.5j * rng.integers(-9, 10, shape)
    return np.asarray(values).astype(dtype)


@contextmanager
def host_memory(more):
    """No more of the host than is in use now, and a little: what nobody holds any more goes before."""
    gc.collect()
    ts.synchronize()
    old = ts.memory_stats("cpu")["budget"]
    ts.set_memory_budget(host=ts.memory_stats("cpu")["in_use"] + more)
    try:
        yield
    finally:
        ts.set_memory_budget(host=old)


def drawn(shape, dtype, seed):
    """Normal numbers, rounded to the dtype."""
    rng = np.random.default_rng(seed)
    x = 3 * rng.standard_normal(shape)
    return (x + 1j * rng.standard_normal(shape)).astype(dtype) if "complex" in dtype else x.astype(dtype)


def strided(rng, array):
    """The same numbers in memory with gaps, reversed or permuted axes."""
    kind = rng.integers(0, 4)
    if kind == 0 or array.ndim == 0:
        return array
    if kind == 1:
        big = np.full(tuple(2 * n + 1 for n in array.shape), 99).astype(array.dtype)
        view = big[tuple(slice(1, 2 * n + 1, 2) for n in array.shape)]
    elif kind == 2:
        view = np.empty(array.shape, array.dtype)[tuple(slice(None, None, -1) for _ in array.shape)]
    else:
        order = rng.permutation(array.ndim)
        view = np.empty([array.shape[i] for i in order], array.dtype).transpose(np.argsort(order))
    view[...] = array
    return view


def on(device, array):
    """A tessera array with these numbers and, on the cpu, these strides."""
    shared = ts.asarray(array)
    return shared if device == "cpu" else shared.to(device)


def tolerance(dtype, n=1):
    dtype = np.dtype(dtype)
    if dtype.kind not in "fc":
        return 0.0
    return 8 * np.finfo(dtype).eps * max(1.0, np.log2(max(2, n)))


def check(got, expected, n=1, exact_dtype=True, tol=None):
    """got (tessera) is expected (NumPy): shape, dtype, numbers, NaN where NaN."""
    expected = np.asarray(expected)
    assert isinstance(got, ts.Array)
    assert got.shape == expected.shape
    if exact_dtype:
        assert str(got.dtype) == str(expected.dtype)
    values = got.numpy()
    if expected.size == 0:
        return
    if expected.dtype.kind not in "fc":
        assert np.array_equal(values, expected), f"\n{values}\n{expected}"
        return
    tol = tolerance(expected.dtype, n) if tol is None else tol
    wide = np.complex128 if expected.dtype.kind == "c" else np.float64
    values, expected = values.astype(wide), expected.astype(wide)
    special = ~np.isfinite(expected)
    assert np.array_equal(values[special], expected[special], equal_nan=True) or expected.dtype.kind == "c"
    assert np.array_equal(np.isnan(values), np.isnan(expected))
    finite = np.isfinite(expected) & np.isfinite(values)
    scale = max(1.0, float(np.max(np.abs(expected[finite]), initial=0.0)))
    error = float(np.max(np.abs(values[finite] - expected[finite]), initial=0.0))
    assert error <= tol * scale, f"error {error}, tolerance {tol * scale}\n{values}\n{expected}"
    assert np.array_equal(np.isfinite(values), np.isfinite(expected))


def outcome(function):
    """('value', result) or ('error', type, text); NumPy's warnings are not ours to repeat."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return "value", function()
        except Exception as error:
            return "error", type(error), str(error)


BUILTINS = (IndexError, ValueError, TypeError, OverflowError, ZeroDivisionError, MemoryError, RuntimeError)


def is_like(error_type, numpys):
    """A handler for NumPy's error catches ours: AxisError is a ValueError and an IndexError."""
    bases = [b for b in BUILTINS if issubclass(numpys, b)] or [numpys]
    return any(issubclass(error_type, b) for b in bases)


def same_outcome(ours, numpys, compare, text=True):
    """Both give equal values, or both raise the same built-in error with the same text."""
    got, expected = outcome(ours), outcome(numpys)
    if expected[0] == "error":
        assert got[0] == "error", f"NumPy raises {expected[1].__name__}: {expected[2]}; we return {got[1]}"
        assert is_like(got[1], expected[1]), f"{got[1:]} instead of {expected[1:]}"
        if text:
            assert got[2] == expected[2]
    else:
        assert got[0] == "value", f"we raise {got[1].__name__}: {got[2]}; NumPy returns {expected[1]!r}"
        compare(got[1], expected[1])


shapes = st.lists(st.integers(0, 5), min_size=0, max_size=4).map(tuple)
seeds = st.integers(0, 2**32 - 1)


def relative(got, want):
    got = got.numpy() if isinstance(got, ts.Array) else np.asarray(got)
    want = np.asarray(want)
    assert got.shape == want.shape
    return np.linalg.norm(got - want) / np.linalg.norm(want)


def close(got, want, tol):
    error = relative(got, want)
    assert error < tol, error  # NaN fails
