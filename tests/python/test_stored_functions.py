# SPDX-License-Identifier: Apache-2.0
"""Functions of ts and of NumPy on arrays on disk: the numbers of memory, or a sentence that says what to do."""

from __future__ import annotations

import numpy as np
import pytest

import tessera as ts

RNG = np.random.default_rng(3)
NUMBERS = {
    "float64": RNG.standard_normal((4, 5)),
    "float32": RNG.standard_normal((4, 5)).astype("float32"),
    "complex128": RNG.standard_normal((4, 5)) + 1j * RNG.standard_normal((4, 5)),
    "int32": RNG.integers(-2, 3, (4, 5)).astype("int32"),
    "bool": RNG.random((4, 5)) < 0.8,
}


@pytest.fixture(autouse=True)
def folder(tmp_path):
    ts.set_backing_dir(str(tmp_path))
    yield tmp_path
    ts.set_backing_dir(None)


def test_truth_is_that_of_memory():
    for value in (0.0, 2.0, [0.0], [3], [[True]], [], [0.0, 0.0], [[1, 2]]):
        here, there = ts.asarray(value), ts.stored.array(ts.asarray(value))
        if here.size == 1:
            assert bool(there) is bool(here) and float(there) == here.item()
            continue
        with pytest.raises(ValueError, match="truth value") as expected:
            bool(here)
        with pytest.raises(ValueError, match="truth value") as found:
            bool(there)
        assert str(found.value) == str(expected.value)
    x = ts.stored.array([1, 2])
    with pytest.raises(ValueError, match="truth value"):
        assert x == x
    with pytest.raises(ValueError, match="truth value"):
        bool(ts.stored.matrix(ts.matrix.Symmetric(np.eye(3))))


@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize("exponent", [2, 2.0, 3, 0.5, True, np.int64(2)], ids=repr)
def test_powers_have_the_bits_of_memory(dtype, exponent):
    a = np.abs(np.resize(NUMBERS[dtype], 5000) * np.arange(1, 5001) / 7).astype(dtype)  # of many sizes
    expected = None
    try:
        expected = ts.asarray(a) ** exponent
    except (TypeError, ts.Error) as error:
        with pytest.raises(type(error)):
            ts.stored.array(a) ** exponent
        return
    found = (ts.stored.array(a) ** exponent).numpy()
    assert found.dtype == expected.numpy().dtype
    np.testing.assert_array_equal(found, expected.numpy())


@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize("axis", [None, 0, -1, (0, 1)])
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("name", ["sum", "mean", "std", "var", "any", "all", "count_nonzero", "min", "max"])
def test_reductions(name, dtype, axis, keepdims):
    if dtype in ("complex128", "bool") and name in ("min", "max"):
        pytest.skip("no order, or no such reduction")
    a = NUMBERS[dtype]
    x = ts.stored.array(a)
    expected = getattr(ts, name)(ts.asarray(a), axis=axis, keepdims=keepdims)
    found = getattr(ts, name)(x, axis=axis, keepdims=keepdims)
    assert found.dtype == expected.dtype and found.shape == expected.shape
    np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-5)
    if name != "count_nonzero":  # of which arrays have no method
        np.testing.assert_allclose(
            np.asarray(getattr(np, name)(x, axis=axis, keepdims=keepdims)), expected.numpy(), rtol=1e-5
        )


def test_arguments_of_numpy():
    a = NUMBERS["int32"]
    x = ts.stored.array(a)
    out = np.zeros(5)
    assert np.sum(x, axis=0, out=out) is out and out.tolist() == a.sum(axis=0).tolist()
    assert str(ts.sum(x, dtype="float32").dtype) == "float32"
    assert np.isclose(np.std(x, ddof=1), a.std(ddof=1)) and np.isclose(ts.var(x, correction=2).item(), a.var(ddof=2))
    with pytest.raises(ts.ArgumentError, match="sum: an array on disk is reduced without where"):
        ts.sum(x, where=True)
    with pytest.raises(ts.ShapeError, match="sum: out has shape"):
        ts.sum(x, axis=0, out=ts.zeros(3))


@pytest.mark.parametrize("ord", [None, 0, 1, 2, 3, np.inf, -np.inf, "fro", "nuc", -1, -2])
@pytest.mark.parametrize("axis", [None, 0, 1, (0, 1), (1, 0)])
def test_norms(ord, axis):
    a = NUMBERS["complex128"]
    x = ts.stored.array(a)
    matrix = axis is None or isinstance(axis, tuple)
    if (
        (matrix and ord in (0, 3))
        or (not matrix and isinstance(ord, str))
        or (axis == (1, 0) and ord in (2, -2, "nuc"))
    ):
        with pytest.raises(ts.ArgumentError, match="norm: of an array on disk"):
            ts.linalg.norm(x, ord, axis)
        return
    np.testing.assert_allclose(ts.linalg.norm(x, ord, axis).numpy(), np.linalg.norm(a, ord, axis))


@pytest.mark.parametrize("dtype", ["float64", "complex128", "int32", "bool"])
def test_products_with_vectors(dtype):
    a, b = NUMBERS[dtype], NUMBERS[dtype]
    v, w = b[0], b[:, 0]
    x = ts.stored.array(a)
    for right in (v, ts.asarray(v), ts.stored.array(v)):
        np.testing.assert_allclose((x @ right).numpy(), a @ v)
    for left in (ts.asarray(w), ts.stored.array(w)):
        np.testing.assert_allclose((left @ x).numpy(), w @ a)
    assert (ts.stored.array(v) @ ts.stored.array(v)).shape == ()
    with pytest.raises(ts.ShapeError, match="cannot be multiplied"):
        x @ np.ones(3)


def test_axes_rounding_and_dtypes():
    a = NUMBERS["float64"] * 100
    x = ts.stored.array(a)
    assert np.array_equal(ts.transpose(x), a.T) and np.array_equal(ts.permute_dims(x, (1, 0)), a.T)
    assert np.array_equal(ts.round(x), a.round()) and np.allclose(ts.round(x, 2), a.round(2))
    assert np.allclose(np.round(x, -1), a.round(-1)) and ts.round(ts.stored.array([1, 2]))[:].tolist() == [1, 2]
    with pytest.raises(ts.DTypeError, match="^round: an array on disk"):
        ts.round(ts.stored.array(NUMBERS["complex128"]))
    assert np.array_equal(ts.astype(x, "float32"), a.astype("float32"))
    assert np.array_equal(ts.clip(x, -1, 1), a.clip(-1, 1)) and np.array_equal(np.clip(x, 0, None), a.clip(0))


@pytest.mark.parametrize("name", ["cumsum", "prod", "argmax", "flip", "ravel", "squeeze", "nansum", "median", "diff"])
def test_what_is_of_memory_says_so(name):
    with pytest.raises(ts.DTypeError, match=rf"^{name}: an array on disk; x\[\.\.\.\] brings it to memory"):
        getattr(ts, name)(ts.stored.ones((2, 3)))


def test_factors_of_a_matrix_of_a_form():
    a = NUMBERS["float64"] @ NUMBERS["float64"].T + np.eye(4)
    s = ts.stored.matrix(ts.matrix.Symmetric(a))
    np.testing.assert_allclose(ts.linalg.svdvals(s).numpy(), np.linalg.svd(a, compute_uv=False))
    np.testing.assert_allclose(ts.linalg.inv(s).numpy(), np.linalg.inv(a))
    np.testing.assert_allclose(ts.linalg.cholesky(s).numpy(), np.linalg.cholesky(a))
    np.testing.assert_allclose(ts.linalg.solve(s, np.ones(4)).numpy(), np.linalg.solve(a, np.ones(4)))
    q, r = ts.linalg.qr(s)
    np.testing.assert_allclose(q.numpy() @ r.numpy(), a)
    for name in ("det", "eigh", "eigvalsh"):
        with pytest.raises(ts.DTypeError, match=f"^{name}: a matrix of the form Symmetric on disk"):
            getattr(ts.linalg, name)(s)
