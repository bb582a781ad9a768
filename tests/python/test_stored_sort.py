# SPDX-License-Identifier: Apache-2.0
"""Sorting arrays on disk under budgets, beside NumPy: the same bits as a stable sort."""

import numpy as np
import pytest
from test_stored_files import DTYPES, memory_budget, numbers

import tessera as ts


def same_bits(a, b):
    return a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("budget", [100 << 10, 1 << 20, 64 << 20])
def test_lines_are_sorted_as_numpy_does(dtype, budget):
    for n in (0, 1, 2, 1000, 70001):
        x = numbers((n,), dtype)
        if x.dtype.kind in "fc" and n > 10:
            x[::7], x[1::5], x[3::11] = 0, -0.0, np.nan
        a = ts.stored.array(x)
        with memory_budget(budget):
            y = ts.sort(a)
        assert isinstance(y, ts.StoredArray)
        assert same_bits(y[...].numpy(), np.sort(x, kind="stable"))
        assert same_bits(a[...].numpy(), x)


@pytest.mark.parametrize("axis", [-1, 0, 1, -3])
@pytest.mark.parametrize("budget", [300 << 10, 64 << 20])
def test_axes_of_arrays(axis, budget):
    for shape in [(3, 40, 5), (2, 3, 20000), (1, 0, 4)]:
        x = numbers(shape, "float32")
        a = ts.stored.array(x)
        with memory_budget(budget):
            y = ts.sort(a * 2, axis=axis)
        assert same_bits(y[...].numpy(), np.sort(x * 2, axis=axis, kind="stable"))


def test_lines_of_npy_files_and_orders_that_are_there(tmp_path):
    for x in (np.arange(50000.0), np.arange(50000.0)[::-1], np.ones(50000), np.arange(50000) % 3):
        path = str(tmp_path / f"{x[1]}{x.dtype}.npy")
        np.save(path, x)
        with memory_budget(200 << 10):
            y = ts.sort(ts.stored.open(path), None)
        assert same_bits(y[...].numpy(), np.sort(x))
        np.testing.assert_array_equal(np.load(path), x)


def test_refusals():
    a = ts.stored.zeros((4, 5))
    with pytest.raises(ts.Error, match="flattened"):
        ts.sort(a, None)
    with pytest.raises(ts.Error, match="axis 2"):
        ts.sort(a, 2)
    with pytest.raises(ts.Error):
        ts.sort(ts.stored.create((), "float32"))
    with memory_budget(4096), pytest.raises(ts.Error, match="too small"):
        ts.sort(ts.stored.zeros(100000))
