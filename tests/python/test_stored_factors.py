# SPDX-License-Identifier: Apache-2.0
"""QR, singular values, least squares and few eigenvalues of arrays that are not in memory, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from support import drawn, host_memory

import tessera as ts

DTYPES = ["float32", "float64", "complex64", "complex128", "int32", "float16"]
SHAPES = [(1, 1), (7, 7), (8, 7), (300, 20), (1000, 3), (5, 0), (0, 0)]


def working(*dtypes):
    return np.result_type(*({"int32": "float64", "float16": "float32"}.get(str(d), d) for d in dtypes))


def assert_near(got, wanted, dtype, factor=1.0):
    got, wanted = np.asarray(got), np.asarray(wanted)
    scale = max(1.0, np.abs(wanted).max(initial=0)) * max(1, np.sqrt(got.size)) * factor
    np.testing.assert_allclose(got, wanted, rtol=0, atol=50 * np.finfo(dtype).eps * scale)


def stored(x):
    return isinstance(x, ts.stored.StoredArray)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_qr(dtype, shape):
    a = drawn(shape, dtype, 1)
    q, r = ts.linalg.qr(ts.stored.array(a))
    assert stored(q) and isinstance(r, ts.Array)
    t = working(dtype)
    assert q.dtype == t and r.dtype == t and q.shape == shape and r.shape == (shape[1], shape[1])
    q, r = q.numpy(), r.numpy()
    assert_near(q @ r, a.astype(t), t)
    assert_near(q.conj().T @ q, np.eye(shape[1]), t)
    np.testing.assert_array_equal(r, np.triu(r))
    assert (np.diagonal(r).real >= 0).all() and (np.diagonal(r).imag == 0).all()
    assert_near(np.abs(r), np.abs(np.linalg.qr(a.astype(t), mode="r")), t, 20)
    alone = ts.linalg.qr(ts.stored.array(a), mode="r")
    assert isinstance(alone, ts.Array)
    assert_near(alone.numpy(), r, t)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [*SHAPES, (20, 300), (1, 9)])
def test_svd(dtype, shape):
    a = drawn(shape, dtype, 2)
    t = working(dtype)
    u, s, vh = ts.linalg.svd(ts.stored.array(a), full_matrices=False)
    wanted = np.linalg.svd(a.astype(t), compute_uv=False)
    assert stored(u) == (shape[0] >= shape[1]) and stored(vh) == (shape[0] < shape[1])
    assert s.dtype == wanted.dtype and u.dtype == t and vh.dtype == t
    assert_near(s.numpy(), wanted, t)
    assert_near(ts.linalg.svdvals(ts.stored.array(a)).numpy(), wanted, t)
    u, s, vh = u.numpy(), s.numpy(), vh.numpy()
    assert_near((u * s) @ vh, a.astype(t), t)
    few = min(shape)
    assert_near(u.conj().T @ u, np.eye(few), t)
    assert_near(vh @ vh.conj().T, np.eye(few), t)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(7, 7), (60, 5), (40, 1)])
@pytest.mark.parametrize("sides", [(), (1,), (4,)])
@pytest.mark.parametrize("full_rank", [True, False])
def test_lstsq(dtype, shape, sides, full_rank):
    a, b = drawn(shape, dtype, 3), drawn((shape[0], *sides), dtype, 4)
    if not full_rank:
        a[:, -1] = a[:, 0] if shape[1] > 1 else 0
    t = working(dtype)
    wanted = np.linalg.lstsq(a.astype(t), b.astype(t), rcond=None)
    for left, right in ((ts.stored.array(a), b), (a, ts.stored.array(b)), (ts.stored.array(a), ts.stored.array(b))):
        got = ts.linalg.lstsq(left, right)
        assert isinstance(got.x, ts.Array) and got.x.dtype == t and got.x.shape == wanted[0].shape
        assert got.rank == wanted[2]
        assert_near(got.x.numpy(), wanted[0], t, 1000)
        assert_near(got.s.numpy(), wanted[3], t)
        assert got.residuals.size == (wanted[1].size if shape[0] > shape[1] else 0)
        if got.residuals.size:
            assert_near(got.residuals.numpy(), wanted[1], t, 20)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(7, 7), (60, 5), (5, 60), (3, 0)])
def test_pinv(dtype, shape):
    a = drawn(shape, dtype, 5)
    t = working(dtype)
    got = ts.linalg.pinv(ts.stored.array(a))
    assert stored(got) and got.dtype == t and got.shape == shape[::-1]
    assert_near(got.numpy(), np.linalg.pinv(a.astype(t)), t, 1000)
    if shape[1]:
        a[:, 0] = 0
        assert_near(ts.linalg.pinv(ts.stored.array(a), rtol=1e-3).numpy(), np.linalg.pinv(a.astype(t), 1e-3), t, 1000)


def test_columns_that_are_nearly_dependent():
    m, n = 4000, 30
    a = drawn((m, n), "float64", 6) @ np.diag(np.logspace(0, -12, n)) @ drawn((n, n), "float64", 7)
    with host_memory(2**19):
        q, r = ts.linalg.qr(ts.stored.array(a))
    q = q.numpy()
    assert np.abs(q.T @ q - np.eye(n)).max() < 1e-14 * n
    assert_near(q @ r.numpy(), a, "float64")


def test_work_stays_within_the_budget():
    a, b = drawn((20000, 40), "float64", 8) / np.arange(1, 41), drawn((20000, 2), "float64", 9)  # 6.4 MB
    matrix, right = ts.stored.array(a), ts.stored.array(b)
    with host_memory(2**21):
        q, r = ts.linalg.qr(matrix)
        u, s, vh = ts.linalg.svd(matrix, full_matrices=False)
        x = ts.linalg.lstsq(matrix, right)
        low = ts.solve.randomized_svd(matrix, 5, maxiter=30)
    assert_near(q.numpy() @ r.numpy(), a, "float64")
    assert_near((u.numpy() * s.numpy()) @ vh.numpy(), a, "float64")
    assert_near(x.x.numpy(), np.linalg.lstsq(a, b, rcond=None)[0], "float64", 100)
    np.testing.assert_allclose(low.S.numpy(), s.numpy()[:5], rtol=1e-5)


def test_formulas_are_factored():
    a = drawn((50, 6), "float64", 10)
    q, r = ts.linalg.qr(ts.stored.array(a) * 2 + 1)
    assert_near(q.numpy() @ r.numpy(), 2 * a + 1, "float64")


@pytest.mark.parametrize("dtype", DTYPES[:4])
@pytest.mark.parametrize("shape", [(90, 40), (40, 90), (30, 30), (6, 4)])
def test_randomized_svd(dtype, shape):
    k = 4
    u, vh = np.linalg.qr(drawn((shape[0], min(shape)), dtype, 11))[0], drawn((min(shape), shape[1]), dtype, 12)
    vh = np.linalg.qr(vh.conj().T)[0].conj().T
    a = ((u * 10.0 ** -np.arange(min(shape))) @ vh).astype(dtype)
    got = ts.solve.randomized_svd(ts.stored.array(a), k, oversample=6, maxiter=8, rtol=1e-4)
    assert got.converged and 1 <= got.iterations == len(got.history) <= 8
    u, s, vh = got
    assert stored(u) and stored(vh) and u.shape == (shape[0], k) and vh.shape == (k, shape[1])
    u, s, vh = u.numpy(), s.numpy(), vh.numpy()
    assert_near(s, 10.0 ** -np.arange(k), dtype)
    assert_near(u.conj().T @ u, np.eye(k), dtype)
    assert_near(vh @ vh.conj().T, np.eye(k), dtype)
    assert np.abs((u * s) @ vh - a).max() < 2e-4
    again = ts.solve.randomized_svd(ts.stored.array(a), k, oversample=6, maxiter=8, rtol=1e-4)
    np.testing.assert_array_equal(again.U.numpy(), u)


@pytest.mark.parametrize("dtype", [*DTYPES[:4], "int32"])
def test_few_eigenvalues(dtype):
    n = 60
    x = drawn((n, n), dtype, 13)
    a = x + x.conj().T
    t, wanted = working(dtype), np.linalg.eigvalsh(a.astype(working(dtype)))
    matrix = ts.stored.array(a)
    tolerance = 1e-4 if t in ("float32", "complex64") else 1e-8
    top = ts.solve.lanczos(matrix, 3, which="LA", rtol=tolerance)
    assert top.converged
    np.testing.assert_allclose(np.sort(top.eigenvalues.numpy())[::-1], wanted[::-1][:3], rtol=10 * tolerance)
    largest = wanted[np.argsort(-np.abs(wanted))][:3]
    for block in (1, 3):
        values, vectors = ts.linalg.eigs(matrix, 3, block=block, rtol=tolerance)
        np.testing.assert_allclose(np.sort(values.numpy().real), np.sort(largest), rtol=10 * tolerance)
        v = vectors.numpy()
        assert np.abs(a @ v - v * values.numpy()).max() < 100 * tolerance * np.abs(largest).max()


def test_refusals():
    wide, cube = ts.stored.zeros((3, 4)), ts.stored.zeros((2, 3, 3))
    with pytest.raises(ts.ShapeError, match="fewer rows than columns; transpose it"):
        ts.linalg.qr(wide)
    with pytest.raises(ts.ShapeError, match="fewer rows than columns"):
        ts.linalg.lstsq(wide, ts.stored.ones(3))
    for function in (ts.linalg.qr, ts.linalg.svdvals, ts.linalg.pinv, ts.solve.randomized_svd):
        with pytest.raises(ts.ShapeError, match="takes a matrix on disk"):
            function(cube)
    tall = ts.stored.ones((4, 3))
    with pytest.raises(ValueError, match="'reduced' or 'r'"):
        ts.linalg.qr(tall, mode="complete")
    with pytest.raises(ValueError, match="leave pivoting away"):
        ts.linalg.qr(tall, pivoting=True)
    with pytest.raises(ValueError, match="pass full_matrices=False"):
        ts.linalg.svd(tall)
    with pytest.raises(ts.ShapeError, match="do not fit"):
        ts.linalg.lstsq(tall, ts.stored.ones(3))
    with pytest.raises(ts.ShapeError, match="takes a square matrix"):
        ts.linalg.eigs(tall)
    with pytest.raises(ts.BackendError, match="there are no smallest values"):
        ts.linalg.eigs(ts.stored.ones((3, 3)), 1, "SM")
    with pytest.raises(ValueError, match="no callbacks and checkpoints"):
        ts.solve.randomized_svd(tall, 1, callback=print)
    with pytest.raises(ValueError, match="expected k from 1 to 3"):
        ts.solve.randomized_svd(tall, 5)
    with host_memory(2**16), pytest.raises(ts.OutOfMemory, match="qr: a budget of"):
        ts.linalg.qr(ts.stored.zeros((500, 200)))
