# SPDX-License-Identifier: Apache-2.0
"""Dense linear algebra against NumPy and SciPy: random shapes, stacks, strides and dtypes, and what cannot be done."""

import itertools
import math

import numpy as np
import pytest
import scipy.linalg
from hypothesis import given
from hypothesis import strategies as st

import tessera as ts

la = ts.linalg
DTYPES = ["float32", "float64", "complex64", "complex128"]


def numbers(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    x = rng.standard_normal(shape)
    if dtype.startswith("complex"):
        x = x + 1j * rng.standard_normal(shape)
    return x.astype(dtype)


def eps(x: np.ndarray) -> float:
    return float(np.finfo(x.dtype).eps)


def near(a: object, b: object, scale: float = 100.0) -> None:
    """Equal but for rounding, with the dtype and shape of NumPy's answer."""
    x, y = np.asarray(a), np.asarray(b)
    assert x.shape == y.shape and x.dtype == y.dtype, (x.shape, x.dtype, y.shape, y.dtype)
    size = 1 + float(np.abs(y).max(initial=0))
    worst = float(np.abs(x - y).max(initial=0))
    assert worst <= scale * eps(y) * size, worst


@st.composite
def stacks(draw: st.DrawFn, square: bool = True) -> np.ndarray:
    """Matrices of any dtype, along any leading axes, with awkward strides."""
    lead = draw(st.lists(st.integers(0, 3), max_size=2))
    m = draw(st.integers(0, 24))
    n = m if square else draw(st.integers(0, 24))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    dtype = draw(st.sampled_from(DTYPES))
    how = draw(st.sampled_from(["plain", "turned", "stepped", "reversed"]))
    if how == "turned":
        return np.swapaxes(numbers(rng, (*lead, n, m), dtype), -1, -2)
    if how == "stepped":
        return numbers(rng, (*lead, 2 * m, 3 * n), dtype)[..., ::2, 1::3]
    if how == "reversed":
        return numbers(rng, (*lead, m, n), dtype)[..., ::-1, ::-1]
    return numbers(rng, (*lead, m, n), dtype)


def dominant(a: np.ndarray) -> np.ndarray:
    """The same with a heavy diagonal: safely not singular."""
    return a + (2 * a.shape[-1] + 1) * np.eye(a.shape[-1], dtype=a.dtype)


@given(stacks(), st.integers(0, 3))
def test_solve_inverse_and_determinants(a: np.ndarray, columns: int) -> None:
    m = dominant(a)
    b = numbers(np.random.default_rng(0), (*m.shape[:-1], columns), str(m.dtype))
    v = numbers(np.random.default_rng(1), m.shape[-1:], str(m.dtype))
    x = ts.asarray(m)
    near(la.solve(x, ts.asarray(b)), np.linalg.solve(m, b))
    near(la.solve(x, ts.asarray(v)), np.linalg.solve(m, v[:, None])[..., 0])
    near(la.inverse(x), np.linalg.inv(m))
    sign, logs = np.linalg.slogdet(m)
    near(la.slogdet(x).sign, sign)
    near(la.slogdet(x).logabsdet, logs)
    near(la.det(ts.asarray(m[..., :3, :3])), np.linalg.det(m[..., :3, :3]))
    factored = la.lu_factor(x)
    near(factored.solve(ts.asarray(b)), np.linalg.solve(m, b))
    near(factored.solve(ts.asarray(b), "T"), np.linalg.solve(np.swapaxes(m, -1, -2), b))
    near(factored.solve(ts.asarray(b), "C"), np.linalg.solve(np.swapaxes(m, -1, -2).conj(), b))


@given(stacks(square=False))
def test_lu(a: np.ndarray) -> None:
    p, lower, upper = la.lu(ts.asarray(a))
    near(p.astype(str(a.dtype)) @ lower @ upper, a)
    if a.size:
        ours = (p, lower, upper)
        for x, y in zip(ours, scipy.linalg.lu(a), strict=True):
            near(x.astype(str(a.dtype)), y.astype(a.dtype), 5000)


@given(stacks(), st.sampled_from([0, "T", 2]), st.booleans(), st.booleans())
def test_solve_triangular(a: np.ndarray, trans: int | str, lower: bool, unit: bool) -> None:
    m = dominant(a) / (2 * a.shape[-1] + 1)
    b = numbers(np.random.default_rng(2), (*m.shape[:-1], 2), str(m.dtype))
    t = np.tril(m) if lower else np.triu(m)
    if unit:
        t = t * (1 - np.eye(t.shape[-1], dtype=t.dtype)) + np.eye(t.shape[-1], dtype=t.dtype)
    if trans != 0:
        t = np.swapaxes(t, -1, -2)
    if trans == 2:
        t = t.conj()
    x = la.solve_triangular(ts.asarray(m), ts.asarray(b), trans, lower, unit)
    near(x, np.linalg.solve(t, b), 1000)


@given(stacks())
def test_hermitian(a: np.ndarray) -> None:
    h = a + np.swapaxes(a, -1, -2).conj()
    for uplo in "LU":
        one = np.tril(h) if uplo == "L" else np.triu(h)
        w, v = la.eigh(ts.asarray(one), uplo)
        near(w, np.linalg.eigvalsh(h), 400)
        near(la.eigvalsh(ts.asarray(one), uplo), np.linalg.eigvalsh(h), 400)
        near(ts.asarray(h) @ v, np.asarray(v) * np.asarray(w)[..., None, :], 400)
    near(la.eigvals(ts.asarray(h)), np.linalg.eigvalsh(h).astype(np.result_type(h.dtype, np.complex64)), 400)
    positive = dominant(a) @ np.swapaxes(dominant(a), -1, -2).conj()
    low = np.linalg.cholesky(positive)
    near(la.cholesky(ts.asarray(np.tril(positive))), low)
    near(la.cholesky(ts.asarray(np.triu(positive)), upper=True), np.swapaxes(low, -1, -2).conj())
    b = numbers(np.random.default_rng(3), a.shape, str(a.dtype))
    factored = la.cholesky_factor(ts.asarray(positive))
    near(factored.L, low)
    near(factored.solve(ts.asarray(b)), np.linalg.solve(positive, b), 1000)


@given(stacks(square=False))
def test_qr_and_svd(a: np.ndarray) -> None:
    x = ts.asarray(a)
    for mode in ("reduced", "complete"):
        q, r = la.qr(x, mode)
        theirs = np.linalg.qr(a, mode) if a.ndim == 2 or mode == "reduced" else None
        near(q @ r, a)
        near(
            np.swapaxes(np.asarray(q), -1, -2).conj() @ np.asarray(q),
            np.broadcast_to(np.eye(q.shape[-1], dtype=a.dtype), (*a.shape[:-2], q.shape[-1], q.shape[-1])),
        )
        if theirs is not None:
            assert q.shape == theirs[0].shape and r.shape == theirs[1].shape
    near(la.qr(x, "r"), np.asarray(la.qr(x).R))
    if a.ndim == 2 and a.size:
        q, r, order = la.qr(x, pivoting=True)
        near(q @ r, a[:, np.asarray(order)])
        assert np.array_equal(np.asarray(order), scipy.linalg.qr(a, mode="economic", pivoting=True)[2])
    for full in (False, True):
        u, s, vh = la.svd(x, full)
        theirs = np.linalg.svd(a, full)
        assert u.shape == theirs[0].shape and vh.shape == theirs[2].shape
        near(s, theirs[1])
        k = s.shape[-1]
        near((np.asarray(u)[..., :k] * np.asarray(s)[..., None, :]) @ np.asarray(vh)[..., :k, :], a)
    near(la.svdvals(x), np.linalg.svd(a, compute_uv=False))
    if a.size:
        near(la.pinv(x), np.linalg.pinv(a, rtol=max(a.shape[-2:]) * eps(a)), 1e5)
        assert np.array_equal(np.asarray(la.matrix_rank(x)), np.linalg.matrix_rank(a))


@given(stacks())
def test_general_eigenvalues(a: np.ndarray) -> None:
    w, v = la.eig(ts.asarray(a))
    theirs = np.linalg.eigvals(a)
    dtype = np.result_type(a.dtype, np.complex64)  # whatever the numbers; NumPy's depends on them before 2.5
    assert np.asarray(w).dtype == dtype and np.asarray(v).dtype == dtype
    x, y = np.asarray(v), np.asarray(w)
    near(a.astype(x.dtype) @ x, x * y[..., None, :], 400)
    values = np.asarray(la.eigvals(ts.asarray(a)))
    if a.size == 0:
        return
    for ours, numpy_s in zip(values.reshape(-1, a.shape[-1]), theirs.reshape(-1, a.shape[-1]), strict=True):
        far = np.abs(ours[:, None] - numpy_s[None, :]).min(axis=1, initial=math.inf)
        assert np.all(far < 1e4 * eps(a) * (1 + np.abs(numpy_s).max(initial=0)))
    if a.ndim == 2 and a.size:
        w, v, left = la.eig(ts.asarray(a), left=True)
        near(np.asarray(left).conj().T @ a, np.asarray(w)[:, None] * np.asarray(left).conj().T, 400)


@given(stacks(square=False), st.sampled_from([None, "fro", "nuc", 1, -1, 2, -2, math.inf, -math.inf]))
def test_matrix_norms(a: np.ndarray, order: object) -> None:
    if 0 in a.shape:
        return
    near(la.norm(ts.asarray(a), order, axis=(-2, -1)), np.linalg.norm(a, order, axis=(-2, -1)))
    near(la.matrix_norm(ts.asarray(a), ord=order, keepdims=True), np.linalg.norm(a, order, (-2, -1), keepdims=True))
    near(la.norm(ts.asarray(a)), np.linalg.norm(a))


@pytest.mark.parametrize("order", [None, 0, 1, 2, 3, 0.5, -1, math.inf, -math.inf])
@pytest.mark.parametrize("dtype", DTYPES)
def test_vector_norms(order: float | None, dtype: str) -> None:
    x = numbers(np.random.default_rng(4), (3, 5, 2), dtype)
    near(la.norm(ts.asarray(x), order, axis=1), np.linalg.norm(x, order, axis=1))
    near(
        la.vector_norm(ts.asarray(x), ord=2 if order is None else order, axis=-1, keepdims=True),
        np.linalg.norm(x, 2 if order is None else order, axis=-1, keepdims=True),
    )
    near(la.vector_norm(ts.asarray(x)), np.linalg.norm(x.reshape(-1)))


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int64", "float16"])
def test_other_dtypes_are_widened(dtype: str) -> None:
    a = np.array([[3, 1, 0], [1, 2, 1], [0, 1, 1]]).astype(dtype)
    wide = a.astype("float32" if dtype == "float16" else "float64")
    near(la.solve(ts.asarray(a), ts.asarray(a)), np.linalg.solve(wide, wide))
    near(la.inv(ts.asarray(a)), np.linalg.inv(wide))
    near(la.svdvals(ts.asarray(a)), np.linalg.svd(wide, compute_uv=False))
    assert la.solve(ts.asarray(a), ts.ones(3, "complex64")).dtype == np.promote_types(wide.dtype, "complex64").name


def test_lstsq() -> None:
    rng = np.random.default_rng(5)
    for dtype in DTYPES:
        for m, n in [(7, 4), (4, 7), (5, 5), (6, 1)]:
            a = numbers(rng, (m, n), dtype)
            for b in (numbers(rng, (m,), dtype), numbers(rng, (m, 3), dtype)):
                ours, theirs = la.lstsq(ts.asarray(a), ts.asarray(b)), np.linalg.lstsq(a, b, rcond=None)
                near(ours.x, theirs[0], 1000)
                assert ours.rank == theirs[2]
                near(ours.s, theirs[3])
                if b.ndim == 2:
                    near(ours.residuals, theirs[1], 1000)
    short = rng.standard_normal((6, 2)) @ rng.standard_normal((2, 4))
    ours = la.lstsq(short, np.ones(6))
    assert ours.rank == 2 and ours.residuals.shape == (0,)
    near(ours.x, np.linalg.lstsq(short, np.ones(6), rcond=None)[0], 1e4)
    stack = rng.standard_normal((3, 6, 2))
    near(la.lstsq(stack, rng.standard_normal((3, 6, 1)) * 0).x, np.zeros((3, 2, 1)))


def test_sizes_of_nothing() -> None:
    for shape in [(0, 0), (0, 3), (3, 0)]:
        for order in (None, "fro", "nuc", 1, 2, np.inf):
            assert la.norm(ts.zeros(shape), order).item() == 0
            assert la.norm(ts.zeros((2, *shape)), order or "fro", axis=(-2, -1)).tolist() == [0, 0]
        with pytest.raises(ValueError, match="minimum"):
            la.norm(ts.zeros((0, 0)), -1)
        with pytest.raises(ValueError, match="cond"):
            la.cond(ts.zeros(shape))
    for order in (0, 1, 2, 3, np.inf):
        assert la.norm(ts.zeros(0), order).item() == 0
    assert la.norm(ts.zeros((4, 0)), np.inf, axis=1, keepdims=True).tolist() == [[0]] * 4
    assert la.norm(ts.matrix.Dense((0, 0)), 2).item() == 0
    for order in (None, 1, -2, np.inf, "fro"):
        assert la.cond(ts.zeros((0, 2, 2)), order).shape == (0,)


def test_ill_conditioned() -> None:
    h = scipy.linalg.hilbert(10)
    x = la.solve(h, h @ np.ones(10)).numpy()
    assert np.abs(h @ x - h @ np.ones(10)).max() < 1e-14  # the residual is small though x is not exact
    assert 1e12 < la.cond(h).item() < 1e14
    near(la.cond(h[:4, :4], 1), np.linalg.cond(h[:4, :4], 1), 1e6)
    assert la.cond(np.ones((2, 2)), 1).item() == math.inf
    assert la.matrix_rank(h, rtol=1e-5).item() == np.linalg.matrix_rank(h, rtol=1e-5)


def test_numbers_that_are_not_finite() -> None:
    a = np.eye(20)
    a[3, 4] = math.nan
    assert np.isnan(la.inverse(a).numpy()).any() and np.isnan(la.det(a).item())
    assert np.isnan(la.solve(a, np.ones(20)).numpy()).any()
    for f in (la.eig, la.eigvals, la.svd, la.svdvals):
        with pytest.raises(ValueError):
            f(a)


@pytest.mark.parametrize("n", [3, 30])
def test_singular_matrices_are_named(n: int) -> None:
    a = np.broadcast_to(np.eye(n), (2, 2, n, n)).copy()
    a[1, 0, 2] = 0
    for f in (
        la.inverse,
        lambda x: la.solve(x, np.ones(n)),
        lambda x: la.lu_factor(x).solve(np.ones(n)),
        lambda x: la.solve_triangular(x, np.ones(n)),
    ):
        with pytest.raises(ValueError, match=r"Singular matrix.*\(1, 0\).* 3$"):
            f(a)
    with pytest.raises(ValueError, match=r"not positive definite.*\(1, 0\).*order 3$"):
        la.cholesky(a)
    assert la.det(a).tolist() == [[1, 1], [0, 1]]


def test_shapes_that_do_not_fit() -> None:
    for f in (la.inverse, la.det, la.eig, la.eigh, la.cholesky):
        with pytest.raises(ts.ShapeError):
            f(np.ones((2, 3)))
        with pytest.raises(ts.ShapeError):
            f(np.ones(3))
    with pytest.raises(ts.ShapeError, match=r"\(2, 2\).*\(3,\)"):
        la.solve(np.eye(2), np.ones(3))
    for wrong in (
        lambda: la.norm(np.eye(2), "max"),
        lambda: la.qr(np.eye(2), "full"),
        lambda: la.eigh(np.eye(2), "X"),
        lambda: la.norm(np.ones(2), "fro", axis=0),
        lambda: la.norm(np.ones((2, 2, 2)), 1),
    ):
        with pytest.raises(ValueError):
            wrong()


@pytest.mark.parametrize("device", ["sim:0"])
def test_results_stay_on_their_device(device: str) -> None:
    a = dominant(numbers(np.random.default_rng(6), (2, 20, 20), "float64"))
    x = ts.array(a, device=device)
    results = [
        la.solve(x, x),
        la.inv(x),
        la.det(x),
        *la.svd(x),
        *la.eig(x),
        *la.qr(x),
        la.norm(x),
        la.cond(x),
        la.lu_factor(x).solve(x),
        la.pinv(x),
        la.lstsq(x, x).x,
    ]
    assert all(str(r.device) == device for r in results)
    near(results[1].to("cpu"), np.linalg.inv(a))
    with pytest.raises(ts.DeviceError):
        la.solve(x, ts.asarray(a))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("which", ["LM", "LR", "SR", "LI"])
def test_few_eigenvalues(dtype: str, which: str) -> None:
    a = numbers(np.random.default_rng(11), (60, 60), dtype)
    tolerance = 1e-4 if eps(a) > 1e-8 else 1e-8
    values, vectors = la.eigs(ts.asarray(a), 5, which, rtol=tolerance / 100, ncv=30)
    w, v = values.numpy(), vectors.numpy()
    assert np.abs(a @ v - v * w).max() < tolerance * 10 and np.allclose(np.linalg.norm(v, axis=0), 1, atol=1e-4)
    rank = {"LM": np.abs, "LR": np.real, "SR": lambda x: -x.real}.get(
        which, lambda x: np.abs(x.imag) if a.dtype.kind == "f" else x.imag
    )
    best = np.sort(rank(np.linalg.eigvals(a)))[::-1][:5]
    assert np.abs(np.sort(rank(w))[::-1] - best).max() < tolerance * 100


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_smallest_eigenvalues_of_a_matrix(dtype: str) -> None:
    a = numbers(np.random.default_rng(12), (50, 50), dtype)
    w, v = la.eigs(ts.asarray(a), 4, "SM", ncv=25)
    best = np.sort(np.abs(np.linalg.eigvals(a)))[:4]
    assert np.abs(np.sort(np.abs(w.numpy())) - best).max() < 1e-8
    assert np.abs(a @ v.numpy() - v.numpy() * w.numpy()).max() < 1e-7
    with pytest.raises(ValueError, match="(?i)singular"):
        la.eigs(np.zeros((9, 9)), 2, "SM")


def test_more_rows_than_lapack_counts() -> None:
    tall = ts.broadcast_to(ts.ones((1, 1)), (2**31, 1))
    for f in (la.svd, la.qr, la.lu, la.pinv):
        with pytest.raises(ts.ShapeError, match="32-bit"):
            f(tall)


def test_few_eigenvalues_of_operators_and_failures() -> None:
    n = 64
    shift = ts.Dense(np.roll(np.eye(n), 1, axis=0) * 2.0)
    w = la.eigs(shift, 4, ncv=40, shape=n).eigenvalues.numpy()
    assert np.abs(np.abs(w) - 2).max() < 1e-8
    with pytest.raises(RuntimeError, match="maxiter"):
        la.eigs(np.diag(np.linspace(1, 1.001, 500)), 3, maxiter=25)
    with pytest.raises(ValueError, match="which"):
        la.eigs(np.eye(9), 2, "XX")
    with pytest.raises(ValueError, match="expected 1 to 4"):
        la.eigs(np.eye(4), 5)
    with pytest.raises(ValueError, match="block 0; expected one vector or more"):
        la.eigs(np.eye(9), 2, block=0)
    with pytest.raises(ValueError, match=r"ncv 9 must exceed k \+ block = 9"):
        la.eigs(np.eye(90), 6, ncv=9, block=3)


def near_defective(rng: np.random.Generator, n: int) -> np.ndarray:
    """Three eigenvalues that are almost one, with almost one vector."""
    j = np.diag(np.linspace(0, 1, n))
    j[:3, :3] = [[2, 1e-3, 0], [0, 2 + 1e-6, 1e-3], [0, 0, 2]]
    u = np.linalg.qr(rng.standard_normal((n, n)))[0]
    return u @ j @ u.T


def three_times(rng: np.random.Generator, n: int) -> np.ndarray:
    """Not normal, its largest eigenvalue there three times."""
    x = np.eye(n) + 0.3 / np.sqrt(n) * rng.standard_normal((n, n))
    return x @ np.diag(np.concatenate([[5, 5, 5], np.linspace(0, 4, n - 3)])) @ np.linalg.inv(x)


KINDS = {
    "symmetric": lambda rng, n: (lambda a: a + a.T)(rng.standard_normal((n, n))),
    "any": lambda rng, n: rng.standard_normal((n, n)),
    "complex": lambda rng, n: rng.standard_normal((n, n)) + 1j * rng.standard_normal((n, n)),
    "multiple": three_times,
    "near defective": near_defective,
    "identity": lambda rng, n: np.eye(n),
    "zero": lambda rng, n: np.zeros((n, n)),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("block", [1, 3, 4])
def test_few_eigenvalues_in_blocks(kind: str, block: int) -> None:
    a = KINDS[kind](np.random.default_rng(3), 120)
    size = max(1.0, np.abs(a).max())
    for k, which in ((1, "LM"), (4, "LR"), (5, "LM")):
        values, vectors = (x.numpy() for x in la.eigs(a, k, which, block=block))
        rank = np.abs if which == "LM" else np.real
        best = np.sort(rank(np.linalg.eigvals(a)))[::-1][:k]
        assert np.abs(np.sort(rank(values))[::-1] - best).max() < 1e-6 * size
        assert np.abs(a @ vectors - vectors * values).max() < 1e-8 * size


@pytest.mark.parametrize("n", [1, 2, 3, 8, 24])
@pytest.mark.parametrize("which", ["LM", "SM"])
def test_all_eigenvalues_of_small_matrices_in_blocks(n: int, which: str) -> None:
    for block, dtype in itertools.product((1, 2, 9), ("float64", "complex128")):
        a = numbers(np.random.default_rng(5), (n, n), dtype)
        values, vectors = (x.numpy() for x in la.eigs(a, n, which, block=block))
        expected = np.sort(np.abs(np.linalg.eigvals(a)))
        assert np.abs(np.sort(np.abs(values)) - expected).max() < 1e-9
        assert np.abs(a @ vectors - vectors * values).max() < 1e-9


def test_blocks_of_operators_that_take_one_vector_at_a_time() -> None:
    d = np.concatenate([np.full(3, 7.0), np.linspace(0, 5, 97)])
    seen = []

    def times(x: ts.Array) -> ts.Array:
        seen.append(x.shape)
        return x * ts.asarray(d)

    for operator in (ts.Diagonal(d, ("X",)), ts.SimpleLinop(times, times)):
        values = la.eigs(operator, 4, block=3, shape=100).eigenvalues.numpy()
        assert np.abs(values - [7, 7, 7, 5]).max() < 1e-8
    assert set(seen) == {(100,)}
    seen.clear()
    values = la.eigs(ts.SimpleLinop(times, times, None, ("...", "X")), 4, block=3, shape=100).eigenvalues.numpy()
    assert np.abs(values - [7, 7, 7, 5]).max() < 1e-8 and (3, 100) in seen


def close(a: object, b: object, tolerance: float = 1e-12) -> None:
    assert np.abs(np.asarray(a) - np.asarray(b)).max() <= tolerance


def causal_set(n: int) -> np.ndarray:
    return np.triu(np.random.default_rng(7).random((n, n)) < 0.3, 1).astype(float)


class TestNumberedCases:
    """Cases 36 to 65 of the acceptance list that are about plain arrays."""

    def test_36_to_41_inverse(self) -> None:
        a = np.array([[4.0, 7.0], [2.0, 6.0]])
        close(la.inverse(a), [[0.6, -0.7], [-0.2, 0.4]])
        close(la.inverse([[2.0]]), [[0.5]])
        close(ts.array([[2.0]]) @ ts.array([[3.0]]), [[6.0]])
        for singular in (np.zeros((10, 10)), np.array([[1.0, 2.0], [2.0, 4.0]]), np.triu(np.ones((4, 4)), 1)):
            with pytest.raises(ts.Error, match="(?i)singular"):
                la.inverse(singular)
        close(la.inverse(3 * a), la.inverse(a).numpy() / 3)

    def test_42_43_large_in_memory(self) -> None:
        rng = np.random.default_rng(8)
        a = rng.random((512, 512)) + 2 * np.eye(512)
        close(ts.asarray(a) @ la.inverse(a), np.eye(512), 1e-8)
        p, lower, upper = la.lu(a)
        close(p @ lower @ upper, a, 1e-10)
        logs = np.log(np.abs(np.diagonal(np.asarray(upper)))).sum()
        close(logs, la.slogdet(a).logabsdet.item(), 1e-9)

    def test_44_to_48_systems(self) -> None:
        close(la.solve([[4.0, 1.0], [2.0, 3.0]], [1.0, 0.0]), [0.3, -0.2])
        close(la.solve(np.eye(3), [1.0, 2.0, 3.0]), [1, 2, 3])
        with pytest.raises(ValueError, match="(?i)singular"):
            la.solve(np.zeros((3, 3)), np.ones(3))
        close(la.lstsq([[1, 1], [1, 2], [1, 3]], [1, 2, 2]).x, [2 / 3, 0.5])
        sign, logs = la.slogdet([[4.0, 7.0], [2.0, 6.0]])
        close([sign.item(), logs.item()], [1, math.log(10)])
        close(la.cond([[4.0, 7.0], [2.0, 6.0]], "fro"), 10.5)
        sign, logs = la.slogdet(10 * np.eye(400))
        close([sign.item(), logs.item()], [1, 400 * math.log(10)], 1e-9)

    def test_49_50_symmetric(self) -> None:
        close(la.eigvalsh([[2.0, 1.0], [1.0, 2.0]]), [1, 3])
        g = np.random.default_rng(9).standard_normal((50, 50))
        a = g + g.T
        w, v = la.eigh(a)
        close((np.asarray(v) * np.asarray(w)) @ np.asarray(v).T, a, 1e-10)
        close(w, scipy.linalg.eigvalsh(a), 1e-10 * np.linalg.norm(a))

    def test_51_arnoldi(self) -> None:
        a = np.diag(np.arange(200.0)) + 0.1 * (np.eye(200, k=1) + np.eye(200, k=-1))
        values, vectors = la.eigs(a, 10)
        assert values.shape == (10,) and np.abs(values.numpy()).max() > 198
        close(np.sort(values.numpy().real), np.sort(np.linalg.eigvalsh(a))[-10:], 1e-8)
        close(a @ vectors.numpy(), vectors.numpy() * values.numpy(), 1e-7)

    def test_52_skew(self) -> None:
        m = np.random.default_rng(42).standard_normal((100, 100))
        a = m - m.T
        w = la.eigvals(a).numpy()
        assert np.abs(w.real).max() == 0
        close(np.sort(np.abs(w))[-10:], np.sort(np.abs(np.linalg.eigvals(a)))[-10:], 1e-10)

    def test_53_causal_set(self) -> None:
        c = causal_set(60)
        w = la.eigvals(1j * (c - c.T)).numpy()
        assert np.abs(w.imag).max() < 1e-10
        close(np.sort(w.real), -np.sort(w.real)[::-1], 1e-8)
        assert la.matrix_rank(1j * (c - c.T)).item() % 2 == 0
        assert abs(w.sum()) < 1e-8

    def test_55_to_57_sizes(self) -> None:
        assert la.trace(np.diag([2.0, 3.0, 4.0])).item() == 9
        assert la.det(np.diag([2.0, 3.0, 4.0])).item() == 24
        assert la.det(5 * np.eye(3)).item() == 125
        assert la.norm([3.0, 4.0]).item() == 5 and la.norm([6.0, 8.0]).item() == 10
        assert la.norm([[3.0, 4.0], [0.0, 0.0]], "fro").item() == 5

    def test_58_59_sums_and_products(self) -> None:
        assert ts.array([[1, 2], [3, 4]]).sum().item() == 10
        v = ts.array([1 + 2j, 3 - 1j])
        assert v.conj().sum().item() == v.sum().item().conjugate()
        assert ts.dot([1, 2, 3], [1, 2, 3]).item() == 14
        assert ts.dot(v, v).item() == (1 + 2j) ** 2 + (3 - 1j) ** 2

    def test_61_to_65_products(self) -> None:
        v, m = ts.array([1, 2]), ts.array([[1, 2], [3, 4]])
        assert (m @ v).tolist() == [5, 11] and (v @ m).tolist() == [7, 10]
        assert (ts.array([[1], [2], [3]]) @ ts.array([[4, 5, 6]]))[2, 2].item() == 18
        assert la.matmul([1, 2, 3], [4, 5, 6]).item() == 32
        assert la.matmul([1, 2, 3], [1.5, 2.0, 3.5]).item() == 16.0
        a = numbers(np.random.default_rng(10), (5, 5), "complex128")
        x = ts.asarray(a)
        close(x.conj() @ x, a.conj() @ a)
        low = np.tril(a.real)
        close(ts.asarray(np.diag([1.0, 2, 3, 4, 5])) @ ts.asarray(low).T, np.diag([1.0, 2, 3, 4, 5]) @ low.T)
        close(ts.asarray(low) @ ts.asarray(low).T, low @ low.T)
        close(x.T @ x, a.T @ a)
        with pytest.raises(ValueError):
            la.matmul(np.ones((2, 3)), np.ones((2, 3)))
        with pytest.raises(IndexError):
            m[2, 0]
        assert (ts.ones((2, 3)) + ts.arange(3)).tolist() == [[1, 2, 3], [1, 2, 3]]
        assert (ts.ones((2, 3)) + ts.ones((1, 3))).shape == (2, 3)


def test_each_trace_tells_of_the_other(tmp_path):
    for wrong in (np.eye(3), ts.eye(3), ts.matrix.Dense(np.eye(3)), [[1.0]], 3):
        with pytest.raises(TypeError, match=r"ts\.linalg\.trace"):
            ts.trace(wrong)
    for wrong in ("run.json", tmp_path / "run.json"):
        with pytest.raises(TypeError, match=r"ts\.trace\(path\)"):
            la.trace(wrong)
    with ts.trace(tmp_path / "run.json"):
        assert la.trace(ts.eye(3)).item() == 3
    assert (tmp_path / "run.json").stat().st_size > 0
