# SPDX-License-Identifier: Apache-2.0
"""Reductions and scans against NumPy: dtypes, axes, keepdims, strides, empty arrays."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import ALL, check, draw_numbers, on, same_outcome, seeds, shapes, strided

import tessera as ts

NAMES = ["sum", "prod", "max", "min", "any", "all", "mean", "var", "std", "argmax", "argmin", "count_nonzero"]
LOOSE = {"float16": 2e-2, "float32": 1e-5, "float64": 1e-12, "complex64": 1e-5, "complex128": 1e-12}


def compare(got, expected):
    check(got, expected, tol=LOOSE.get(str(np.asarray(expected).dtype)))


@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("name", NAMES)
def test_every_dtype(name, dtype, device, rng):
    x = draw_numbers(rng, (3, 4, 5), dtype)
    if name == "prod" and dtype == "float16":
        x = np.abs(x) / 8 + np.float16(1)
        x = x[:1]
    x = strided(rng, x)
    for axis in (None, 0, -1, (0, 2)):
        if name.startswith("arg") and isinstance(axis, tuple):
            continue

        def ours(axis=axis):
            return getattr(ts, name)(on(device, x), axis=axis)

        same_outcome(ours, lambda axis=axis: getattr(np, name)(x, axis=axis), compare, text=False)


@given(seed=seeds, shape=shapes, data=st.data())
def test_shapes_and_axes(seed, shape, data, main_device):
    rng = np.random.default_rng(seed)
    x = strided(rng, draw_numbers(rng, shape, data.draw(st.sampled_from(["int32", "float64", "bool"]))))
    axes = st.one_of(st.none(), st.integers(-4, 4), st.lists(st.integers(-3, 3), max_size=3, unique=True).map(tuple))
    axis = data.draw(axes)
    keepdims = data.draw(st.booleans())
    name = data.draw(st.sampled_from(["sum", "max", "any", "all", "prod", "min"]))

    def ours():
        return getattr(ts, name)(on(main_device, x), axis=axis, keepdims=keepdims)

    same_outcome(ours, lambda: getattr(np, name)(x, axis=axis, keepdims=keepdims), compare, text=False)


@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
def test_scans(name, device, rng):
    for dtype in ALL:
        x = strided(rng, draw_numbers(rng, (3, 4), dtype))
        for axis in (None, 0, 1, -1):

            def ours(axis=axis, x=x):
                return getattr(ts, name)(on(device, x), axis=axis)

            same_outcome(ours, lambda axis=axis, x=x: getattr(np, name)(x, axis=axis), compare, text=False)


def test_empty_extrema_have_numpys_errors(device):
    x = on(device, np.zeros((0, 3)))
    for name in ("max", "min"):
        with pytest.raises(ValueError, match="zero-size array to reduction operation"):
            getattr(x, name)()
    with pytest.raises(ValueError, match="empty sequence"):
        x.argmax()


def test_accuracy_of_long_sums(main_device):
    x = np.full(1_000_003, 0.1, np.float32)
    got = on(main_device, x).sum().item()
    assert abs(got - 0.1 * x.size) < 1e-6 * 0.1 * x.size * 20


def test_nan(device):
    x = np.array([1.0, np.nan, 3.0])
    mine = on(device, x)
    assert np.isnan(mine.max().item()) and np.isnan(mine.min().item()) and np.isnan(mine.sum().item())
    assert mine.argmax().item() == 1 and mine.argmin().item() == 1


def test_methods_out_and_dtype(device, rng):
    x = draw_numbers(rng, (3, 4), "int8")
    mine = on(device, x)
    check(mine.sum(axis=0, dtype="float32"), x.sum(axis=0, dtype=np.float32))
    out = ts.empty(4, "int64", device)
    assert mine.sum(axis=0, out=out) is out
    check(out, x.sum(axis=0))
    check(mine.mean(axis=1, keepdims=True), x.mean(axis=1, keepdims=True))
    check(mine.var(axis=1, ddof=1), x.var(axis=1, ddof=1), tol=1e-12)


def test_numpys_functions_call_ours(rng):
    x = draw_numbers(rng, (3, 4), "float64")
    assert isinstance(np.sum(ts.asarray(x), axis=0), ts.Array)
    check(np.mean(ts.asarray(x), axis=0), x.mean(axis=0))


def test_norm_vdot(device, rng):
    z = strided(rng, draw_numbers(rng, (3, 4), "complex64"))
    w = draw_numbers(rng, (3, 4), "complex64")
    check(ts.norm(on(device, z)), np.float32(np.linalg.norm(z)), tol=1e-6)
    check(ts.norm(on(device, z), axis=1), np.linalg.norm(z, axis=1), tol=1e-6)
    check(ts.vdot(on(device, z), on(device, w)), np.vdot(z, w), tol=1e-6)
