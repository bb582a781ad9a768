# SPDX-License-Identifier: Apache-2.0
"""Factorisations, solves and inverses of arrays that are not in memory, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from support import drawn, host_memory

import tessera as ts

DTYPES = ["float32", "float64", "complex64", "complex128", "int32", "float16"]
SIZES = [0, 1, 2, 33, 150]


def regular(n, dtype, seed):
    """Far from singular, and in need of exchanges."""
    a = drawn((n, n), dtype, seed) + (4 * n * np.eye(n)[::-1]).astype(dtype)
    return a.astype(dtype)


def working(*dtypes):
    return np.result_type(*({"int32": "float64", "float16": "float32"}.get(str(d), d) for d in dtypes))


def assert_near(got, wanted, dtype):
    scale = max(1.0, np.abs(wanted).max(initial=0)) * max(1, len(got))
    np.testing.assert_allclose(got, wanted, rtol=0, atol=50 * np.finfo(dtype).eps * scale)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("upper", [False, True])
def test_cholesky(dtype, n, upper):
    x = drawn((n, n), dtype, 1).astype(working(dtype))
    a = x @ x.conj().T + n * np.eye(n, dtype=x.dtype)
    a = (a / 16).astype("float16") if dtype == "float16" else a.astype(dtype if dtype == "int32" else x.dtype)
    a = a + np.eye(n, dtype=a.dtype)
    got = ts.linalg.cholesky(ts.stored.array(a), upper=upper)
    assert isinstance(got, ts.stored.StoredArray)
    assert got.dtype == working(dtype)
    f = got.numpy()
    np.testing.assert_array_equal(f, np.triu(f) if upper else np.tril(f))
    wide = a.astype(working(dtype))
    half = np.triu(wide) if upper else np.tril(wide)  # the other one is not read
    back = f.conj().T @ f if upper else f @ f.conj().T
    assert_near(np.triu(back) if upper else np.tril(back), half, f.dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", SIZES)
def test_solve_and_inverse(dtype, n):
    a = regular(n, dtype, 2)
    for columns in [(), (1,), (7,), (0,)]:
        for other in (dtype, "float64"):
            b = drawn((n, *columns), other, 3)
            x = ts.linalg.solve(ts.stored.array(a), ts.stored.array(b))
            assert isinstance(x, ts.stored.StoredArray)
            assert (x.shape, x.dtype) == (b.shape, working(dtype, other))
            assert_near(a.astype(x.dtype) @ x.numpy(), b, x.dtype)
    y = ts.linalg.inv(ts.stored.array(a))
    assert y.dtype == working(dtype)
    assert_near(a.astype(y.dtype) @ y.numpy(), np.eye(n), y.dtype)
    assert_near(ts.linalg.inverse(ts.stored.array(a)).numpy(), y.numpy(), y.dtype)


@pytest.mark.parametrize("dtype", DTYPES[:4])
@pytest.mark.parametrize("trans", [0, "T", 2])
@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("unit", [False, True])
def test_solve_triangular(dtype, trans, lower, unit):
    a = drawn((40, 40), dtype, 4) / 40 + np.eye(40, dtype=dtype)
    a, b = a.astype(dtype), drawn((40, 3), dtype, 5)
    got = ts.linalg.solve_triangular(ts.stored.array(a), ts.stored.array(b), trans, lower, unit)
    assert_near(got.numpy(), ts.linalg.solve_triangular(a, b, trans, lower, unit).numpy(), dtype)


def test_operands_in_memory_and_formulas():
    a, b = regular(30, "float64", 6), drawn((30, 4), "float64", 7)
    stored = ts.stored.array(a)
    for x in (
        ts.linalg.solve(stored, b),
        ts.linalg.solve(a, ts.stored.array(b)),
        ts.linalg.solve(stored * 2, ts.array(b) * 2),
        ts.linalg.solve(stored, b.tolist()),
    ):
        assert isinstance(x, ts.stored.StoredArray)
        assert_near(a @ x.numpy(), b, "float64")
    assert_near(ts.linalg.inv(stored * 2).numpy() * 2, np.linalg.inv(a), "float64")


def test_work_stays_within_the_budget():
    n, more = 700, 2**20
    a = regular(n, "float64", 8)
    p = a @ a.T / n
    stored, positive, b = ts.stored.array(a), ts.stored.array(p), ts.stored.array(drawn((n, 90), "float64", 9))
    with host_memory(more):
        results = ts.linalg.cholesky(positive), ts.linalg.solve(stored, b), ts.linalg.inv(stored)
    factor, x, y = (r.numpy() for r in results)
    assert_near(factor @ factor.T, p, "float64")
    assert_near(a @ x, b.numpy(), "float64")
    assert_near(a @ y, np.eye(n), "float64")


def test_matrices_that_cannot_be_treated():
    zero = ts.stored.zeros((5, 5))
    with pytest.raises(ts.linalg.LinAlgError, match="inverse: Singular matrix: zero pivot 1"):
        ts.linalg.inv(zero)
    with pytest.raises(ts.linalg.LinAlgError, match="solve: Singular matrix: zero pivot 1"):
        ts.linalg.solve(zero, ts.stored.ones(5))
    with pytest.raises(ts.linalg.LinAlgError, match="Singular matrix: zero on the diagonal, row 1"):
        ts.linalg.solve_triangular(zero, ts.stored.ones(5))
    a = np.diag([1.0, 2.0, -1.0, 4.0])
    with pytest.raises(ts.linalg.LinAlgError, match="not positive definite: leading minor of order 3"):
        ts.linalg.cholesky(ts.stored.array(a))


def test_refusals():
    tall, cube = ts.stored.zeros((4, 3)), ts.stored.zeros((2, 3, 3))
    for wrong in (tall, cube, ts.stored.zeros(4)):
        for function in (ts.linalg.cholesky, ts.linalg.inv, lambda a: ts.linalg.solve(a, ts.stored.ones(4))):
            with pytest.raises(ts.ShapeError, match="takes a square matrix"):
                function(wrong)
    with pytest.raises(ts.ShapeError, match="the sizes do not match"):
        ts.linalg.solve(ts.stored.ones((3, 3)), ts.stored.ones(4))


@pytest.mark.parametrize("dtype", ["float64", "complex64", "int64", "float16"])
@pytest.mark.parametrize("m, k, n", [(700, 600, 800), (300, 1500, 400), (1, 900, 700), (900, 3, 800), (801, 700, 1)])
def test_products_of_files_by_rows_read_rows(dtype, m, k, n, tmp_path):
    """Blocks of columns of a .npy file are read with what lies between: where that is more than whole rows of B for
    each part of A, rows pass. Bytes stay those of the plan, which are less than blocks would read."""
    rng = np.random.default_rng([m, k, n])
    parts = [rng.integers(-3, 4, s).astype(dtype) for s in ((m, k), (k, n))]
    if dtype.startswith("complex"):
        parts = [p * (1 + 1j) for p in parts]
    for name, part in zip("ab", parts, strict=True):
        np.save(tmp_path / f"{name}.npy", part.astype(dtype))
    a, b = (ts.stored.open(str(tmp_path / f"{name}.npy")) for name in "ab")
    wide = "complex128" if dtype.startswith("complex") else "float64"
    want = parts[0].astype(wide) @ parts[1].astype(wide)
    if dtype == "float16":
        want = want.astype("float16")
    for room in (1_500_000, 4_000_000):
        with host_memory(room):
            planned = ts.stored.plan(lambda: a @ b)
            found = a @ b
        assert planned.host_peak <= room
        np.testing.assert_array_equal(found.numpy().astype(wide), want.astype(wide))
    if (m, dtype) == (700, "float64"):
        with host_memory(1_500_000):
            planned = ts.stored.plan(lambda: a @ b)
        assert planned.disk_read <= 8 * (m * k + 9 * k * n)  # rows of B for each of nine parts of A


@pytest.mark.parametrize("orders", ["CC", "CF", "FC", "FF"])
@pytest.mark.parametrize("room", [700_000, 1_100_000, 3_000_000])
def test_products_of_files_of_either_order_read_the_less(orders, room, tmp_path):
    """Rows of a file by columns are read with what lies between: rows pass only where both files together say so."""
    rng = np.random.default_rng(room)
    parts = [rng.integers(-3, 4, (600, 600)).astype("float64") for _ in "ab"]
    for name, order, part in zip("ab", orders, parts, strict=True):
        np.save(tmp_path / f"{name}.npy", np.asarray(part, order=order))
    a, b = (ts.stored.open(tmp_path / f"{name}.npy") for name in "ab")
    with host_memory(room):
        planned = ts.stored.plan(lambda: a @ b)
        found = a @ b
    np.testing.assert_array_equal(found.numpy(), parts[0] @ parts[1])
    # Two files by columns are read with much that lies between, by blocks too; rows would read ten times as much.
    assert planned.disk_read <= (200 if orders == "FF" else 40) * parts[0].nbytes


def test_an_output_that_is_an_operand_opened_twice_is_refused(tmp_path):
    values = np.random.default_rng(0).standard_normal((60, 60))
    other = ts.stored.array(values)
    for name, opened in (("x.npy", ts.stored.open), ("x.tiles", ts.stored.open)):
        ts.stored.array(values, tmp_path / name)
        x, y = opened(tmp_path / name), opened(tmp_path / name, "r+")
        for call in (
            lambda x=x, y=y: ts.stored.matmul(x, other, out=y),
            lambda x=x, y=y: ts.stored.matmul(other, x, out=y, device="sim:0"),
            lambda x=x, y=y: ts.stored.solve(x, other, out=y),
            lambda x=x, y=y: ts.stored.solve(other, x, out=y),
            lambda x=x, y=y: ts.stored.inverse(x, out=y),
        ):
            with pytest.raises(ValueError, match="the output is one of the"):
                call()
        np.testing.assert_array_equal(ts.load(tmp_path / name).numpy(), values)


@pytest.mark.parametrize("call", ["matmul", "solve", "inverse"])
def test_jobs_of_memory_in_any_order_know_their_numbers(call, tmp_path):
    """A job begun with an array goes on with the same numbers in another order, and holds no copy of them."""
    a = np.random.default_rng(0).standard_normal((400, 400)) + 400 * np.eye(400)
    want = {"matmul": lambda: a @ a, "solve": lambda: np.eye(400), "inverse": lambda: np.linalg.inv(a)}[call]()
    run = getattr(ts.stored, call)
    operands = [a] if call == "inverse" else [a, a]
    for turned in (np.asfortranarray, lambda x: np.repeat(x, 2, 0)[::2], ts.stored.array):
        path = tmp_path / f"{call}{len(list(tmp_path.iterdir()))}.tiles"
        with host_memory(1_200_000 if turned is np.asfortranarray else 6_000_000):
            found = run(*map(turned, operands), path=path)
        np.testing.assert_allclose(found.numpy(), want, atol=1e-9)
