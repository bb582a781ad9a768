# SPDX-License-Identifier: Apache-2.0
"""Systems, inverses, determinants and spectra of matrices of every form: the numbered acceptance cases, and every form
against NumPy on all elements."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import tessera as ts

la, tm = ts.linalg, ts.matrix


def close(a: Any, b: Any, tolerance: float = 1e-12) -> None:
    x, y = np.asarray(a), np.asarray(b)
    assert x.shape == y.shape, (x.shape, y.shape)
    worst = np.abs(x - y).max(initial=0)
    assert worst <= tolerance, worst


def links(n: int, p: float = 0.5, seed: int = 7) -> np.ndarray:
    return np.triu(np.random.default_rng(seed).random((n, n)) < p, 1)


def heavy(n: int, dtype: str = "float64", seed: int = 1) -> np.ndarray:
    rng = np.random.default_rng(seed)
    a = rng.standard_normal((n, n)) + (1j * rng.standard_normal((n, n)) if dtype.startswith("c") else 0)
    return (a + 3 * n * np.eye(n)).astype(dtype)


def forms(n: int, dtype: str = "float64") -> dict[str, tuple[Any, np.ndarray]]:
    a = heavy(n, dtype)
    upper, lower = np.triu(a), np.tril(a)
    even, odd = upper + np.triu(a, 1).T, np.triu(a, 1) - np.triu(a, 1).T
    return {
        "dense": (tm.Dense(a), a),
        "upper": (tm.Triangular(upper), upper),
        "lower": (tm.Triangular(lower, lower=True), lower),
        "symmetric": (tm.Symmetric(even), even),
        "antisymmetric": (tm.AntiSymmetric(odd), odd),
        "diagonal": (tm.Diagonal(np.diagonal(a)), np.diag(np.diagonal(a))),
        "identity": (tm.Identity(n, dtype=dtype), np.eye(n, dtype=dtype)),
    }


FORMS = list(forms(2))
VIEWS = {
    "plain": (lambda m: m, lambda a: a),
    "adjoint": (lambda m: m.H, lambda a: a.conj().T),
    "scaled": (lambda m: -2.5 * m, lambda a: -2.5 * a),
    "complex scale of the transpose": (lambda m: (0.5 - 2j) * m.T, lambda a: (0.5 - 2j) * a.T),
}


def views(form: str, view: str, n: int, dtype: str) -> tuple[Any, np.ndarray]:
    (m, a), (of_m, of_a) = forms(n, dtype)[form], VIEWS[view]
    return of_m(m), of_a(a)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("form", FORMS)
class TestEveryForm:
    def test_systems(self, form: str, view: str, dtype: str) -> None:
        m, a = views(form, view, 70, dtype)
        rng = np.random.default_rng(2)
        v, b = rng.standard_normal(70), rng.standard_normal((70, 3))
        close(la.solve(m, v), np.linalg.solve(a, v), 1e-9)
        close(la.solve(m, b), np.linalg.solve(a, b), 1e-9)
        stack = rng.standard_normal((2, 3, 70, 2))
        close(la.solve(m, stack), np.linalg.solve(a, stack), 1e-9)
        x = la.inverse(m)
        assert type(x) is type(m)
        close(x, np.linalg.inv(a), 1e-9)
        sign, logs = la.slogdet(m)
        expected = np.linalg.slogdet(a)
        close(sign, expected[0], 1e-9)
        close(logs, expected[1], 1e-8)
        close(la.lstsq(m, v).x, np.linalg.solve(a, v), 1e-8)

    def test_spectra(self, form: str, view: str, dtype: str) -> None:
        m, a = views(form, view, 36, dtype)
        size = np.linalg.norm(a)
        w, v = la.eig(m)
        assert w.dtype == ts.complex128
        close(a @ v.numpy(), v.numpy() * w.numpy(), 1e-10 * size)
        close(np.sort(np.abs(la.eigvals(m))), np.sort(np.abs(np.linalg.eigvals(a))), 1e-8 * size)
        close(la.svdvals(m), np.linalg.svd(a, compute_uv=False), 1e-11 * size)
        close(la.eigvalsh(m), np.linalg.eigvalsh(a), 1e-11 * size)
        close(la.norm(m), size, 1e-12 * size)
        close(la.norm(m, 1), np.linalg.norm(a, 1), 1e-11 * size)
        close(la.cond(m), np.linalg.cond(a), 1e-8 * np.linalg.cond(a))
        close(la.pinv(m), np.linalg.pinv(a), 1e-9)
        assert la.matrix_rank(m).item() == 36

    def test_as_an_operator(self, form: str, view: str, dtype: str) -> None:
        m, a = views(form, view, 37, dtype)
        A = ts.Matrix(m, ("C", "N"), ("C", "M"))
        x = np.random.default_rng(3).standard_normal((2, 37)).astype(a.dtype)
        close(A(x), x @ a.T, 1e-10 * np.linalg.norm(a))
        close(A.H(x), x @ a.conj(), 1e-10 * np.linalg.norm(a))
        part = A.split({"M": slice(3, 20), "N": slice(5, 30)})
        close(part(x[:, 5:30]), x[:, 5:30] @ a[3:20, 5:30].T, 1e-10 * np.linalg.norm(a))


@pytest.mark.parametrize("kind", [tm.Bit, tm.TriangularBit])
def test_bits_as_an_operator(kind: Any) -> None:
    c = links(600)
    A = ts.Matrix(kind(c), ("N",), ("M",))
    x = np.arange(600)
    assert A(x).dtype == ts.int64 and A(x).tolist() == (c @ x).tolist()
    assert A.H(x).tolist() == (c.T @ x).tolist()
    close(A(x.astype("float32")), (c @ x).astype("float32"), 1)
    assert A.nbytes < 600 * 600


class TestNumberedCases:
    """Cases 36 to 56 and 61 to 64 of the acceptance list."""

    def test_36_inverse(self) -> None:
        close(la.inverse(tm.Dense([[4.0, 7.0], [2.0, 6.0]])), [[0.6, -0.7], [-0.2, 0.4]])

    def test_37_one_by_one(self) -> None:
        close(tm.Dense([[2.0]]) @ tm.Dense([[3.0]]), [[6.0]])
        close(la.inverse(tm.Dense([[2.0]])), [[0.5]])

    def test_38_to_40_singular(self) -> None:
        strict = tm.Triangular(np.triu(np.ones((4, 4)), 1), strict=True)
        for m in (tm.Dense(np.zeros((10, 10))), tm.Dense([[1.0, 2.0], [2.0, 4.0]]), strict, tm.TriangularBit(links(5))):
            for kind in (ValueError, RuntimeError, ts.LinAlgError):
                with pytest.raises(kind, match="(?i)singular"):
                    la.inverse(m)

    def test_41_inverse_of_a_multiple(self) -> None:
        m = tm.Dense(heavy(20))
        x = la.inverse(4 * m)
        assert np.array_equal(x.numpy(), la.inverse(m).numpy() / 4)

    @pytest.mark.parametrize("n", [512, 1024, 2048])
    def test_42_inverse_in_memory(self, n: int) -> None:
        a = np.random.default_rng(8).random((n, n)) + 2 * np.eye(n)
        close(a @ la.inverse(tm.Dense(a)).numpy(), np.eye(n), 1e-8)

    def test_43_lu_in_memory(self) -> None:
        a = np.random.default_rng(9).random((2048, 2048))
        p, lower, upper = la.lu(tm.Dense(a))
        close(p.numpy().T @ a, (lower @ upper).numpy(), 1e-10)
        logs = np.log(np.abs(np.diagonal(upper.numpy()))).sum()
        assert math.isclose(logs, la.slogdet(tm.Dense(a)).logabsdet.item(), rel_tol=1e-9)

    def test_44_solve(self) -> None:
        close(la.solve(tm.Dense([[4.0, 1.0], [2.0, 3.0]]), [1.0, 0.0]), [0.3, -0.2])

    def test_45_declared(self) -> None:
        m = tm.Dense([[4.0, 1.0], [2.0, 3.0]])
        m.properties["is_identity"] = True
        assert la.solve(m, [1.0, 7.0]).tolist() == [1.0, 7.0]
        z = tm.Dense([[4.0, 1.0], [2.0, 3.0]])
        z.properties["is_zero"] = True
        with pytest.raises(ValueError, match="(?i)singular"):
            la.solve(z, [1.0, 0.0])

    def test_46_lstsq(self) -> None:
        close(la.lstsq(tm.Dense([[1, 1], [1, 2], [1, 3]]), [1, 2, 2]).x, [2 / 3, 0.5])

    def test_47_slogdet_and_cond(self) -> None:
        m = tm.Dense([[4.0, 7.0], [2.0, 6.0]])
        sign, logs = la.slogdet(m)
        close([sign.item(), logs.item()], [1, math.log(10)])
        close(la.cond(m, "fro"), 10.5)

    def test_48_no_overflow(self) -> None:
        for m in (10 * tm.Identity(400), tm.Dense(10 * np.eye(400)), 10 * tm.Dense(np.eye(400))):
            sign, logs = la.slogdet(m)
            close([sign.item(), logs.item()], [1, 400 * math.log(10)], 1e-9)

    def test_49_eigh(self) -> None:
        m = tm.Symmetric([[2.0, 1.0], [1.0, 2.0]])
        close(la.eigvalsh(m), [1, 3])
        w, v = la.eigh(m)
        close((v.numpy() * w.numpy()) @ v.numpy().T, m, 1e-8)

    def test_50_symmetric(self) -> None:
        g = np.random.default_rng(10).standard_normal((50, 50))
        a = g + g.T
        w = la.eigvals(tm.Symmetric(a)).numpy()
        assert np.abs(w.imag).max() == 0
        close(np.sort(w.real), np.linalg.eigvalsh(a), 1e-10 * np.linalg.norm(a))

    def test_51_arnoldi(self) -> None:
        a = np.diag(np.arange(200.0)) + 0.1 * (np.eye(200, k=1) + np.eye(200, k=-1))
        values, _ = la.eigs(tm.Symmetric(a), 10)
        assert values.shape == (10,) and np.abs(values.numpy()).max() > 198

    def test_52_skew(self) -> None:
        g = np.random.default_rng(42).standard_normal((100, 100))
        a = g - g.T
        w = la.eigvals(tm.AntiSymmetric(a)).numpy()
        assert np.abs(w.real).max() == 0 and np.array_equal(w, -w[::-1])
        close(np.sort(np.abs(w))[-10:], np.sort(np.abs(np.linalg.eigvals(a)))[-10:], 1e-10)

    def test_53_causal_set(self) -> None:
        n = 60
        k = tm.compute_k(tm.TriangularBit(links(n, 0.3)), 2.0).numpy()
        delta = 1j * tm.AntiSymmetric(k - k.T)
        w = la.eigvals(delta).numpy()
        assert np.abs(w.imag).max() < 1e-10
        close(np.sort(w.real), -np.sort(w.real)[::-1], 1e-8)
        assert la.matrix_rank(delta).item() % 2 == 0
        assert abs(w.sum()) < 1e-8

    def test_54_compute_k(self) -> None:
        for c, a in ((links(100), 2.0), (links(10, 1.1), 1.0), (links(20, -1), 1.0)):
            k = tm.compute_k(tm.TriangularBit(c), a)
            assert isinstance(k, tm.Triangular) and k.dtype == ts.float64
            close(k, c @ np.linalg.inv(a * np.eye(len(c)) + c), 1e-6)
            assert np.array_equal(tm.compute_k(c, a), k) and np.array_equal(tm.compute_k(c.astype(float), a), k)
        assert not tm.compute_k(tm.TriangularBit(np.zeros((9, 9))), 3.0).numpy().any()
        c = np.triu(np.random.default_rng(11).standard_normal((600, 600)), 1)
        k = tm.compute_k(tm.Triangular(c, strict=True), 700.0).numpy()
        close(k @ (700 * np.eye(600) + c), c, 1e-10)

    def test_55_diagonal(self) -> None:
        m = tm.Diagonal([2.0, 3.0, 4.0])
        assert la.trace(m).item() == 9 and la.det(m).item() == 24
        assert m.properties["trace"] == 9 and m.properties["determinant"] == 24

    def test_56_multiple_of_one(self) -> None:
        assert la.det(5 * tm.Identity(3)).item() == 125

    def test_61_vectors(self) -> None:
        m, v = tm.Dense([[1, 2], [3, 4]]), ts.array([1, 2])
        assert (m @ v).tolist() == [5, 11]
        assert np.asarray(v @ m).ravel().tolist() == [7, 10]
        assert tm.outer([1, 2, 3], [4, 5, 6])[2, 2] == 18

    def test_62_numbers(self) -> None:
        assert (ts.array([1, 2, 3]) @ ts.array([4, 5, 6])).item() == 32
        assert tm.dot([1, 2, 3], [4, 5, 6]) == 32 and isinstance(tm.dot([1, 2, 3], [4, 5, 6]), int)
        value = (ts.array([1, 2, 3]) @ ts.array([4.0, 5.0, 1.0])).item()
        assert value == 17.0 and isinstance(value, float)

    def test_63_views_in_products(self) -> None:
        rng = np.random.default_rng(12)
        a = rng.standard_normal((5, 5)) + 1j * rng.standard_normal((5, 5))
        m = tm.Dense(a)
        close(m.conj() @ m, a.conj() @ a)
        d, low = np.diag(np.arange(1.0, 6)), np.tril(rng.standard_normal((5, 5)))
        close(tm.Diagonal(np.diagonal(d)) @ m.T, d @ a.T)
        lower = tm.Triangular(low, lower=True)
        close(lower @ lower.T, low @ low.T)

    def test_64_transposed(self) -> None:
        rng = np.random.default_rng(13)
        a, b = rng.standard_normal((7, 4)), rng.standard_normal((7, 3))
        close(tm.Dense(a).T @ tm.Dense(b), a.T @ b)


def test_factors() -> None:
    g = np.random.default_rng(14).standard_normal((40, 40))
    a = g @ g.T + np.eye(40)
    m = tm.Symmetric(a, check=False)
    low = la.cholesky(m)
    assert isinstance(low, tm.Triangular)
    close(low.numpy() @ low.numpy().T, a, 1e-9)
    close(la.cholesky(m, upper=True), low.numpy().T)
    close(la.cholesky(tm.Diagonal([4.0, 9.0])), np.diag([2.0, 3.0]))
    q, r = la.qr(m)
    close(q @ r, a, 1e-9)
    u, s, vh = la.svd(m)
    close((u.numpy() * s.numpy()) @ vh.numpy(), a, 1e-9)
    close(la.lu_factor(m).solve(np.ones(40)), np.linalg.solve(a, np.ones(40)), 1e-9)


def test_products_count() -> None:
    c = links(70)
    product = la.matmul(tm.Bit(c), tm.Bit(c))
    assert product.dtype == ts.int32 and np.array_equal(product, c.astype(int) @ c.astype(int))
    assert la.matmul(tm.Identity(2), [1.0, 2.0]).tolist() == [1.0, 2.0]
    assert la.trace(tm.Dense([[1, 2], [3, 4]]), offset=1).item() == 2


@pytest.mark.parametrize(
    ("function", "tag"),
    [
        (la.inverse, "inverse.f64"),
        (lambda m: la.solve(m, np.ones(2)), "solve.f64"),
        (la.det, "determinant.f64"),
        (la.eigvals, "eigvals.f64"),
        (la.svd, "svd.f64"),
        (lambda m: la.lstsq(m, np.ones(2)), "lstsq.f64"),
    ],
)
def test_tags(function: Any, tag: str) -> None:
    ts.debug.clear_kernel_trace()
    function(tm.Dense([[4.0, 7.0], [2.0, 6.0]]))
    assert ts.debug.last_kernel_trace() == f"cpu.{tag}"


def test_results_stay_on_their_device() -> None:
    a = heavy(40)
    m = tm.Symmetric(np.triu(a), check=False).to("sim:0")
    for result in (
        la.inverse(m),
        la.svdvals(m),
        la.eigvalsh(m),
        tm.compute_k(tm.TriangularBit(links(9)).to("sim:0"), 2),
    ):
        assert str(result.device) == "sim:0"
    assert str(la.solve(m, np.ones(40)).device) == "cpu"
    A = ts.Matrix(m, ("N",), ("M",))
    assert str(A(ts.ones(40, device="sim:0")).device) == "sim:0"


def test_refusals() -> None:
    with pytest.raises(ts.ShapeError, match="square"):
        la.inverse(tm.Dense(np.ones((2, 3))))
    with pytest.raises(ts.ShapeError):
        la.solve(tm.Identity(3), np.ones(4))
    with pytest.raises(ValueError, match="triangular"):
        tm.compute_k(tm.Dense(np.ones((3, 3))), 1.0)
    with pytest.raises(ValueError, match="singular"):
        tm.compute_k(tm.TriangularBit(links(3)), 0.0)
    for a in (math.nan, math.inf):
        with pytest.raises(ValueError, match="expected a finite number"):
            tm.compute_k(tm.TriangularBit(links(3)), a)
    with pytest.raises(TypeError, match="complex"):
        tm.compute_k(tm.TriangularBit(links(3)), 1j)
    with pytest.raises(ValueError, match="(?i)strictly upper triangular"):
        tm.compute_k(np.ones((3, 3)), 2.0)
    with pytest.raises(ts.DimError):
        ts.Matrix(tm.Identity(3), ("N",), ("N",))


@pytest.mark.parametrize("trans", [0, 1, 2])
@pytest.mark.parametrize("unit", [False, True])
@pytest.mark.parametrize("lower", [False, True])
def test_one_triangle_of_any_form(lower: bool, unit: bool, trans: int) -> None:
    n, rng = 40, np.random.default_rng(11)
    a = rng.standard_normal((n, n)) + 1j * rng.standard_normal((n, n)) + 8 * np.eye(n)
    b = rng.standard_normal((n, 2))
    forms = {
        "Dense": (tm.Dense(a), a),
        "upper": (tm.Triangular(a, check=False), np.triu(a)),
        "lower": (3 * tm.Triangular(a, lower=True, check=False), 3 * np.tril(a)),
        "strict": (tm.Triangular(a, strict=True, check=False), np.triu(a, 1)),
        "Symmetric": (tm.Symmetric(a, check=False).conj(), (np.triu(a) + np.triu(a, 1).T).conj()),
        "Diagonal": (tm.Diagonal(np.diag(a)), np.diag(np.diag(a))),
    }
    for name, (m, full) in forms.items():
        t = np.tril(full) if lower else np.triu(full)
        if unit:
            t = t - np.diag(np.diag(t)) + np.eye(n)
        elif name == "strict":
            with pytest.raises(ValueError, match="Singular"):
                la.solve_triangular(m, b, trans, lower)
            continue
        want = [t, t.T, t.conj().T][trans]
        x = la.solve_triangular(m, b, trans, lower, unit)
        residual = np.linalg.norm(want @ x.numpy() - b)
        assert residual < 1e-10 * max(1, np.linalg.norm(x.numpy())), (name, residual)
    with pytest.raises(ValueError, match="square"):
        la.solve_triangular(tm.Dense((2, 3)), [1.0, 2.0])


def test_matrices_are_arrays_where_they_lie() -> None:
    m = tm.Symmetric([[4.0, 1.0], [1.0, 3.0]], device="sim:0")
    assert str(ts.asarray(m).device) == "sim:0"
    factor = la.cholesky_factor(m)
    x = factor.solve(ts.array([1.0, 2.0], device="sim:0"))
    np.testing.assert_allclose(x.to("cpu"), np.linalg.solve([[4, 1], [1, 3]], [1, 2]))
    short = tm.Triangular(ts.array([[2.0, 1.0], [0.0, 4.0]]).astype("bfloat16"))
    assert ts.asarray(short).dtype == "bfloat16"
    np.testing.assert_allclose(la.solve_triangular(short, [4.0, 4.0]), [1.5, 1.0])


@pytest.mark.parametrize("n", [4, 5, 8, 19, 21, 22])
def test_few_eigenvalues_of_small_and_packed_matrices(n: int) -> None:
    for seed in range(4):
        a = np.random.default_rng(seed).integers(0, 4, (n, n)).astype("uint8")
        bits = a > 1
        for m, full in [
            (tm.Dense(a), a),
            (tm.Bit(bits), bits),
            (tm.Symmetric(a, check=False), np.triu(a) + np.triu(a, 1).T),
        ]:
            full = full.astype(float)
            values, vectors = la.eigs(m, 2, seed=seed)
            np.testing.assert_allclose(full @ vectors.numpy(), vectors.numpy() * values.numpy(), atol=1e-7)
            every = np.sort(np.abs(np.linalg.eigvals(full)))[::-1]
            np.testing.assert_allclose(np.abs(values.numpy()), every[:2], rtol=1e-7, atol=1e-7)


def test_what_is_kept_is_never_stale() -> None:
    x = np.diag([2.0, 3.0])
    m = tm.Dense(x, copy=False)  # NumPy may write to it at any time
    for first in (2.0, 7.0, 5.0):
        x[0, 0] = first
        assert (m.trace(), m.sum()) == (first + 3, first + 3)
        assert math.isclose(la.det(m).item(), 3 * first) and math.isclose(la.norm(m).item(), math.hypot(first, 3))
        close(np.sort(la.eigvals(m).numpy().real), sorted([3.0, first]))
    m = tm.Dense(x)
    values = la.eigvals(m)
    values[0] = 99
    close(np.sort(la.eigvals(m).numpy().real), [3.0, 5.0])
