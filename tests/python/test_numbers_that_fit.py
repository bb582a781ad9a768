# SPDX-License-Identifier: Apache-2.0
"""Numbers of Python beside every dtype, in every function that makes an array of them or writes them: where NumPy refuses
one so does this, with the same kind of error, and the array is as it was; where NumPy takes it the result is NumPy's."""

import warnings

import numpy as np
import pytest

import tessera as ts

NUMBERS = [0, 1, -1, 2, 127, 128, 255, 256, 300, -128, -129, 65535, 65536, 2**31, 2**40, -(2**63), 2**63, 2**64, 2**70]
NUMBERS += [True, 2.5, -0.5, 1e300, float("nan"), float("inf"), -float("inf"), 1j]
DTYPES = [
    "bool",
    "int8",
    "uint8",
    "int16",
    "uint16",
    "int32",
    "uint32",
    "int64",
    "uint64",
    "float32",
    "float64",
    "complex64",
]

# Of an array x of shape (3, 3), which is ones, and a number: what xp makes of both.
CALLS = {
    "array": lambda xp, x, v: xp.array(v, dtype=x.dtype),
    "asarray": lambda xp, x, v: xp.asarray(v, dtype=x.dtype),
    "array of a list": lambda xp, x, v: xp.array([v, v], dtype=x.dtype),
    "full": lambda xp, x, v: xp.full((2,), v, dtype=x.dtype),
    "full_like": lambda xp, x, v: xp.full_like(x, v),
    "element": lambda xp, x, v: x.__setitem__((0, 1), v) or x,
    "slice": lambda xp, x, v: x.__setitem__((slice(None), 1), v) or x,
    "mask": lambda xp, x, v: x.__setitem__(x == x, v) or x,
    "fill": lambda xp, x, v: x.fill(v) or x,
    "insert": lambda xp, x, v: xp.insert(x, 1, v),
    "insert a list": lambda xp, x, v: xp.insert(x, 1, [v, v, v], axis=0),
    "fill_diagonal": lambda xp, x, v: xp.fill_diagonal(x, v) or x,
    "fill_diagonal with a list": lambda xp, x, v: xp.fill_diagonal(x, [1, v]) or x,
    "copyto": lambda xp, x, v: xp.copyto(x, v) or x,
    "place": lambda xp, x, v: xp.place(x, x == x, [v]) or x,
    "initial of a sum": lambda xp, x, v: xp.sum(x, initial=v),
    "initial of a product": lambda xp, x, v: xp.prod(x, initial=v),
    "initial of a maximum": lambda xp, x, v: xp.max(x, initial=v),
    "initial of a minimum": lambda xp, x, v: xp.min(x, initial=v, where=x == x),
}
HOMES = {"ts": ts, "dist": ts.dist}


def outcome(call, xp, x, value):
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            made = call(xp, x, value)
        except Exception as error:
            return type(error)
    return np.asarray(made.numpy() if hasattr(made, "numpy") else made)


def kind_of(error):
    return next((kind for kind in (OverflowError, ValueError, TypeError, IndexError) if issubclass(error, kind)), error)


def holds(dtype, value):
    """Whether a dtype has this number, but for what is behind its point."""
    if np.dtype(dtype).kind == "b":
        return value in (0, 1)
    if isinstance(value, complex):
        return np.dtype(dtype).kind == "c"
    if np.dtype(dtype).kind in "fc":
        return True
    return bool(np.isfinite(value)) and np.iinfo(dtype).min <= int(value) <= np.iinfo(dtype).max


@pytest.mark.parametrize("home", HOMES)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", CALLS)
def test_numbers_are_held_or_refused_as_by_numpy(name, dtype, home):
    call, xp = CALLS[name], HOMES[home]
    for value in NUMBERS:
        want = outcome(call, np, np.ones((3, 3), dtype), value)
        x = xp.asarray(np.ones((3, 3), dtype))
        got = outcome(call, xp, x, value)
        where = f"{name} of {value!r} with {dtype}: {got}, NumPy {want}"
        if isinstance(got, type):
            # NumPy fills with what C makes of a float that is no integer of the dtype: refused here.
            alike = (
                kind_of(got) is kind_of(want) or dtype == "bool" if isinstance(want, type) else not holds(dtype, value)
            )
            assert alike, where
            np.testing.assert_array_equal(np.asarray(x.numpy()), np.ones((3, 3), dtype), err_msg=where)
        elif isinstance(want, type):
            assert dtype == "bool" and isinstance(value, int), where  # every one is true here
        elif want.dtype.kind in "bfc" or holds(dtype, value):
            np.testing.assert_array_equal(got.astype(want.dtype), want, err_msg=where)


@pytest.mark.parametrize("home", HOMES)
@pytest.mark.parametrize("dtype", [t for t in DTYPES if np.dtype(t).kind in "iu"])
def test_ranges(dtype, home):
    for start, stop, step in [
        (298, 302, 1),
        (-1, 3, 1),
        (0, 300, 100),
        (250, 260, 3),
        (5, -3, -4),
        (300, 300, 1),
        (0, 9, 2),
    ]:
        got, want = (
            outcome(lambda xp, a, b: xp.arange(*a, dtype=b), xp, (start, stop, step), dtype) for xp in (HOMES[home], np)
        )
        if isinstance(want, type) or isinstance(got, type):
            assert got is not None and isinstance(got, type) and issubclass(got, want), (start, stop, step)
        else:
            np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("home", HOMES)
@pytest.mark.parametrize("dtype", [t for t in DTYPES if np.dtype(t).kind in "iu"])
def test_bounds_beyond_the_dtype_ask_for_nothing(dtype, home):
    xp, ends = HOMES[home], np.iinfo(dtype)
    x = np.asarray([3, 2, ends.max, ends.min], dtype)
    for low, high in [
        (-2, 5),
        (None, 70000),
        (ends.min - 1, ends.max + 1),
        (-(2**70), 2**70),
        (ends.max + 1, None),
        (None, ends.min - 1),
        (1, 2**40),
    ]:
        want = outcome(lambda xp, x, b: xp.clip(x, *b), np, x, (low, high))
        got = outcome(lambda xp, x, b: xp.clip(x, *b), xp, xp.asarray(x), (low, high))
        if isinstance(want, type) or isinstance(got, type):
            assert isinstance(got, type) and isinstance(want, type) and issubclass(got, want), (low, high, got, want)
        else:
            np.testing.assert_array_equal(got, want)
            assert got.dtype == want.dtype
        if home == "ts":
            stored = outcome(lambda xp, x, b: xp.clip(x, *b), ts, ts.stored.array(x), (low, high))
            assert isinstance(stored, type) == isinstance(want, type)
            if not isinstance(want, type):
                np.testing.assert_array_equal(stored, want)


@pytest.mark.parametrize("home", HOMES)
def test_arrays_without_axes(home):
    xp = HOMES[home]
    for dtype in ("float16", "float64", "int32"):
        x = np.asarray(3, dtype)
        counts, edges = xp.histogram(xp.asarray(x), 5)
        wanted = np.histogram(x, 5)
        np.testing.assert_array_equal(counts.numpy(), wanted[0])
        np.testing.assert_allclose(edges.numpy(), wanted[1], rtol=1e-3)
        assert xp.cumulative_sum(xp.asarray(x)).tolist() == [3]
    half = xp.nan_to_num(xp.asarray(np.float16([np.nan, 2])), nan=np.float32(1.5))
    assert half.dtype == ts.float16 and half.tolist() == [1.5, 2]
