# SPDX-License-Identifier: Apache-2.0
"""Solvers beside SciPy's on a battery of problems, and known answers."""

import numpy as np
import pytest
import scipy.sparse.linalg as sla
from support import on

import tessera as ts

solve = ts.solve
DTYPES = ["float32", "float64", "complex64", "complex128"]


def is_wide(dtype):
    return np.dtype(dtype) in (np.float64, np.complex128)


def random_matrix(rng, m, n, dtype):
    a = rng.standard_normal((m, n))
    if np.dtype(dtype).kind == "c":
        a = a + 1j * rng.standard_normal((m, n))
    return (a / np.sqrt(m)).astype(dtype)


def random_vector(rng, n, dtype):
    return random_matrix(rng, n, 1, dtype)[:, 0]


def with_singular_values(rng, m, n, values, dtype="complex128"):
    """An m x n matrix with these singular values and random singular vectors."""
    u = np.linalg.qr(random_matrix(rng, m, len(values), dtype))[0]
    v = np.linalg.qr(random_matrix(rng, n, len(values), dtype))[0]
    return (u * np.asarray(values)) @ v.conj().T


def with_eigenvalues(rng, values, dtype="complex128"):
    q = np.linalg.qr(random_matrix(rng, len(values), len(values), dtype))[0]
    a = (q * np.asarray(values)) @ q.conj().T
    return (a + a.conj().T) / 2


def dense(device, a):
    return ts.Dense(on(device, a), ("M", "N"), ("N",), ("M",))


def residual(a, x, b):
    return np.linalg.norm(b - a @ x) / np.linalg.norm(b)


# --- all systems ----------------------------------------------------------------------------------

SYSTEMS = ["cg", "minres", "gmres", "lsqr", "lsmr"]


@pytest.mark.parametrize("name", SYSTEMS)
@pytest.mark.parametrize("scale_a, scale_b", [(1, 1e12), (1, 1e-12), (1e9, 1), (1e-9, 1), (1e-9, 1e12)])
@pytest.mark.parametrize("dtype", ["float32", "complex128"])
def test_units_do_not_matter(device, rng, name, scale_a, scale_b, dtype):
    a = with_eigenvalues(rng, np.linspace(1, 4, 12), dtype).astype(dtype) * np.dtype(dtype).type(scale_a)
    b = random_vector(rng, 12, dtype) * np.dtype(dtype).type(scale_b)
    r = getattr(solve, name)(dense(device, a), on(device, b), rtol=1e-5)
    assert r.converged and residual(a, r.x.numpy(), b) < 1e-4


@pytest.mark.parametrize("name", SYSTEMS)
@pytest.mark.parametrize("number", [np.nan, np.inf, 1e200])
def test_numbers_that_are_not_finite_never_converge(device, name, number):
    A, ones, bad = dense(device, np.eye(3)), on(device, np.ones(3)), on(device, np.full(3, number))
    f = getattr(solve, name)
    runs = [f(A, bad), f(A, ones, x0=bad)]
    if not np.isfinite(number):
        runs.append(f(dense(device, np.full((3, 3), number)), ones))
    for r in runs:
        assert not r.converged and r.iterations <= 1 and r.reason.startswith("breakdown"), r
    assert all("not finite" in r.reason for r in runs[:2])


# --- square systems -----------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
def test_cg_in_every_precision(device, rng, dtype):
    a = with_eigenvalues(rng, np.linspace(1, 20, 41), dtype).astype(dtype)
    b = random_vector(rng, 41, dtype)
    rtol = 1e-10 if is_wide(dtype) else 1e-5
    r = solve.cg(dense(device, a), on(device, b), rtol=rtol, maxiter=200)
    assert r.converged and str(r.x.dtype) == dtype
    assert residual(a, r.x.numpy(), b) < 10 * rtol
    assert r.history[-1] <= rtol and len(r.history) == r.iterations + 1


def test_cg_takes_the_steps_of_scipys(device, rng):
    a = with_eigenvalues(rng, np.geomspace(1, 100, 60), "float64")
    b = random_vector(rng, 60, "float64")
    theirs = []
    sla.cg(a, b, rtol=1e-9, maxiter=15, callback=lambda x: theirs.append(np.linalg.norm(b - a @ x)))
    r = solve.cg(dense(device, a), on(device, b), rtol=0, maxiter=15)
    assert np.allclose(r.history[1:], np.array(theirs) / np.linalg.norm(b), rtol=1e-6)


@pytest.mark.parametrize("values", ["well", "ill", "singular"])
def test_cg_battery(device, rng, values):
    n = 50
    spectrum = {
        "well": np.linspace(1, 5, n),
        "ill": np.geomspace(1e-6, 1, n),
        "singular": np.r_[np.zeros(10), np.linspace(1, 3, n - 10)],
    }[values]
    a = with_eigenvalues(rng, spectrum)
    x = random_vector(rng, n, "complex128")
    b = a @ x
    r = solve.cg(dense(device, a), on(device, b), rtol=1e-9, maxiter=2000)
    theirs, info = sla.cg(a, b, rtol=1e-9, maxiter=2000)
    assert r.converged and info == 0
    assert residual(a, r.x.numpy(), b) < 1e-8
    if values != "ill":
        assert np.allclose(r.x.numpy(), theirs, atol=1e-6)


def test_cg_case_135(device):
    r = solve.cg(ts.Scalar(2.0), on(device, np.ones(10)))
    assert r.iterations == 1 and r.converged and r.x.tolist() == [0.5] * 10


def test_cg_stops_at_negative_curvature(device):
    r = solve.cg(ts.Diagonal(on(device, np.array([1.0, -1.0])), ("X",)), on(device, np.array([1.0, 1.0])))
    assert not r.converged and "breakdown" in r.reason and "positive definite" in r.reason
    assert r.x.tolist() == [0.0, 0.0]


def test_cg_preconditioned(device, rng):
    scale = np.geomspace(1, 1e4, 80)
    a = with_eigenvalues(rng, np.linspace(1, 2, 80), "float64") * np.sqrt(np.outer(scale, scale))
    b = random_vector(rng, 80, "float64")
    A, M = dense(device, a), ts.Diagonal(on(device, 1 / np.diag(a)), ("X",))
    plain = solve.cg(A, on(device, b), rtol=1e-8, maxiter=3000)
    helped = solve.cg(A, on(device, b), M=M, rtol=1e-8, maxiter=3000)
    assert helped.converged and helped.iterations < plain.iterations / 3
    theirs = []
    sla.cg(a, b, rtol=1e-8, M=np.diag(1 / np.diag(a)), callback=lambda x: theirs.append(1))
    assert abs(helped.iterations - len(theirs)) <= 1
    bad = solve.cg(A, on(device, b), M=ts.Scalar(-1.0))
    assert not bad.converged and "preconditioner" in bad.reason


def test_cg_in_several_dims_and_promotions(device, rng):
    w = rng.uniform(1, 2, (3, 4))
    F = ts.FFT(2).to(device)
    A = F.H @ ts.Diagonal(on(device, w), ("Kx", "Ky")) @ F
    b = rng.standard_normal((3, 4))  # real: the operator makes it complex
    r = solve.cg(A, on(device, b), rtol=1e-12)
    assert r.x.dtype == ts.complex128 and r.x.shape == (3, 4)
    assert np.allclose(A(r.x).numpy(), b)
    assert np.allclose(solve.cg(ts.Scalar(2.0), on(device, np.arange(3))).x.numpy(), [0, 0.5, 1])


@pytest.mark.parametrize("values", ["indefinite", "ill", "singular", "incompatible"])
def test_minres_battery(device, rng, values):
    n = 46
    spectrum = {
        "indefinite": np.r_[-np.linspace(1, 3, 20), np.linspace(1, 5, 26)],
        "ill": np.r_[-np.geomspace(1e-3, 1, 20), np.geomspace(1e-3, 1, 26)],
        "singular": np.r_[np.zeros(6), -np.linspace(1, 2, 20), np.linspace(1, 2, 20)],
        "incompatible": np.r_[np.zeros(6), -np.linspace(1, 2, 20), np.linspace(1, 2, 20)],
    }[values]
    a = with_eigenvalues(rng, spectrum, "float64")
    b = random_vector(rng, n, "float64")
    if values != "incompatible":
        b = a @ b
    # |A r| of an incompatible system falls to about the root of the rounding unit.
    r = solve.minres(dense(device, a), on(device, b), rtol=1e-8 if values == "incompatible" else 1e-9, maxiter=2000)
    assert r.converged, r.reason
    x = r.x.numpy()
    if values == "incompatible":
        assert np.linalg.norm(a @ (b - a @ x)) < 1e-6
    else:
        assert residual(a, x, b) < 2e-9
        theirs = sla.minres(a, b, rtol=1e-12, maxiter=2000)[0]
        assert residual(a, x, b) < 10 * residual(a, theirs, b) + 1e-8
    assert (np.diff(r.history) <= 1e-12).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize(
    "spectrum",
    [
        np.r_[np.zeros(6), -np.linspace(1, 2, 20), np.linspace(1, 2, 20)],
        np.r_[np.zeros(50), np.linspace(0.1, 1, 150)],
        np.r_[np.zeros(3), np.linspace(1, 1.5, 30)],
        np.r_[np.zeros(30), np.ones(10), 2 * np.ones(10)],
    ],
    ids=["indefinite", "many", "definite", "few values"],
)
def test_minres_ends_at_a_least_squares_solution(device, dtype, seed, spectrum):
    """However small the tolerance: steps that only follow rounding errors into the null space are not taken."""
    rng = np.random.default_rng(seed)
    a = with_eigenvalues(rng, spectrum, dtype).astype(dtype)
    b = random_vector(rng, len(spectrum), dtype).astype(dtype)
    r = solve.minres(dense(device, a), on(device, b), rtol=0, atol=0, maxiter=500)
    x, best = r.x.numpy(), np.linalg.pinv(a, rcond=1e-4) @ b
    unit = np.sqrt(np.finfo(dtype).eps)
    assert r.iterations < 200 and "least-squares" in r.reason, r.reason
    rest = b - a @ x
    assert np.linalg.norm(a @ rest) < 20 * unit * np.linalg.norm(a, 2) * np.linalg.norm(rest)
    assert np.linalg.norm(rest) < (1 + unit) * np.linalg.norm(b - a @ best)
    assert np.linalg.norm(x) < 100 * np.linalg.norm(best)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("seed", range(12))
def test_minres_of_small_incompatible_systems(device, dtype, seed):
    """The search ends within a few steps, and at once: what is left then is rounding errors only."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(5, 30))
    values = rng.uniform(-1, 1, n) if seed % 3 else rng.uniform(1, 2, n)
    values[: int(rng.integers(1, max(2, n // 3)))] = 0
    a, b = with_eigenvalues(rng, values, dtype).astype(dtype), random_vector(rng, n, dtype).astype(dtype)
    best = np.linalg.pinv(a, rcond=1e-10) @ b
    for rtol in (0, 1e-20):
        r = solve.minres(dense(device, a), on(device, b), rtol=rtol, atol=0, maxiter=20 * n)
        x = r.x.numpy()
        assert np.linalg.norm(b - a @ x) < (1 + 1e-6) * np.linalg.norm(b - a @ best), r.reason
        assert np.linalg.norm(x) < 1e3 * np.linalg.norm(best), r.reason


def test_minres_shift_and_complex(device, rng):
    a = with_eigenvalues(rng, np.linspace(1, 9, 30))
    b = random_vector(rng, 30, "complex128")
    r = solve.minres(dense(device, a), on(device, b), shift=3.1, rtol=1e-11, maxiter=300)
    assert r.converged and np.allclose((a - 3.1 * np.eye(30)) @ r.x.numpy(), b)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("restart", [10, 60])
def test_gmres_battery(device, rng, dtype, restart):
    n = 55
    a = (np.eye(n) + 0.5 * random_matrix(rng, n, n, dtype)).astype(dtype)
    b = random_vector(rng, n, dtype)
    rtol = 1e-10 if is_wide(dtype) else 1e-5
    r = solve.gmres(dense(device, a), on(device, b), restart=restart, rtol=rtol, maxiter=500)
    assert r.converged and residual(a, r.x.numpy(), b) < 2 * rtol
    if dtype == "float64":
        theirs = []
        sla.gmres(a, b, rtol=rtol, restart=restart, callback=theirs.append, callback_type="pr_norm")
        assert abs(len(theirs) - r.iterations) <= 2
        k = min(8, len(theirs))
        assert np.allclose(r.history[1 : k + 1], theirs[:k], rtol=1e-6)


def test_gmres_ill_conditioned_and_preconditioned(device, rng):
    d = np.geomspace(1, 1e6, 60)
    a = np.diag(d) + 0.1 * np.triu(rng.standard_normal((60, 60)), 1)
    b = random_vector(rng, 60, "float64")
    M = ts.Diagonal(on(device, 1 / d), ("X",))
    r = solve.gmres(dense(device, a), on(device, b), M=M, rtol=1e-10, restart=60, maxiter=200)
    assert r.converged and residual(a, r.x.numpy(), b) < 1e-9


# --- least squares ------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", [solve.lsqr, solve.lsmr], ids=["lsqr", "lsmr"])
@pytest.mark.parametrize("shape", [(60, 25), (25, 60), (40, 40)])
@pytest.mark.parametrize("dtype", ["float64", "complex128", "float32"])
def test_least_squares_battery(device, rng, solver, shape, dtype):
    m, n = shape
    a = with_singular_values(rng, m, n, np.linspace(1, 8, min(m, n)), dtype).astype(dtype)
    b = random_vector(rng, m, dtype)
    tol = 1e-12 if is_wide(dtype) else 1e-6
    r = solver(dense(device, a), on(device, b), rtol=tol, maxiter=500)
    assert r.converged, r.reason
    expected = np.linalg.lstsq(a.astype("complex128"), b, rcond=None)[0]
    assert np.allclose(r.x.numpy(), expected, atol=1e-8 if is_wide(dtype) else 1e-3)


@pytest.mark.parametrize("name", ["lsqr", "lsmr"])
def test_least_squares_damped_and_singular_as_scipys(device, rng, name):
    a = with_singular_values(rng, 40, 30, np.r_[np.geomspace(1e-2, 5, 20)], "float64")  # rank 20
    b = random_vector(rng, 40, "float64")
    ours, theirs = getattr(solve, name), getattr(sla, name)
    limit = {"lsqr": "iter_lim", "lsmr": "maxiter"}[name]
    for damp in [0.0, 0.3]:
        x = theirs(a, b, damp=damp, atol=1e-13, btol=1e-13, conlim=0, **{limit: 2000})[0]
        r = ours(dense(device, a), on(device, b), damp=damp, rtol=1e-13, conlim=0, maxiter=2000)
        assert np.allclose(r.x.numpy(), x, atol=1e-5), r.reason
    s = ours(dense(device, a), on(device, b), rtol=1e-13, conlim=30, maxiter=2000)
    assert not s.converged and "conlim" in s.reason


@pytest.mark.parametrize("name", ["lsqr", "lsmr"])
def test_least_squares_history_is_the_residual(device, rng, name):
    a = random_matrix(rng, 50, 35, "float64")
    b = random_vector(rng, 50, "float64")
    seen = []
    getattr(solve, name)(
        dense(device, a), on(device, b), rtol=0, maxiter=12,
        callback=lambda i: seen.append((i.residual, residual(a, i.x.numpy(), b))),
    )  # fmt: skip
    assert len(seen) == 12
    estimated, true = np.array(seen).T
    assert np.allclose(estimated, true, rtol=1e-8)


# --- proximal methods ---------------------------------------------------------------------------


def lasso_objective(a, b, x, lam):
    return 0.5 * np.linalg.norm(a @ x - b) ** 2 + lam * np.abs(x).sum()


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_three_ways_to_the_lasso(device, rng, dtype):
    a, lam = random_matrix(rng, 30, 50, dtype), 0.1
    b = random_vector(rng, 30, dtype) * 5
    A, y, g = dense(device, a), on(device, b), solve.prox.l1(lam)
    best = solve.fista(A, y, g, rtol=1e-11, maxiter=20000)
    assert best.converged
    x = best.x.numpy()
    assert (np.abs(x) == 0).sum() > 10  # exact zeros
    gradient = a.conj().T @ (b - a @ x)
    on_support = np.abs(x) > 0
    assert np.allclose(gradient[on_support], lam * x[on_support] / np.abs(x[on_support]), atol=1e-7)
    assert np.abs(gradient).max() <= lam * (1 + 1e-6)
    value = lasso_objective(a, b, x, lam)
    for other in [
        solve.fista(A, y, g, momentum=False, rtol=1e-9, maxiter=20000),
        solve.fista(A, y, g, step="search", rtol=1e-9, maxiter=20000),
        solve.fista(A, y, g, step="search", momentum=False, rtol=1e-9, maxiter=20000),
        solve.fista(A, y, g, restart=False, rtol=1e-9, maxiter=20000),
        solve.pdhg(A, y, None, g, rtol=1e-9, maxiter=20000),
        solve.admm(A, y, g, rho=0.3, inner=30, rtol=1e-9, maxiter=5000),
        solve.fista(A, y, lambda v, t: ts.array(soft(v.numpy(), lam * t), device=device), rtol=1e-9, maxiter=20000),
    ]:
        assert lasso_objective(a, b, other.x.numpy(), lam) <= value * (1 + 1e-6), other


def soft(v, t):
    size = np.abs(v)
    return v * np.maximum(size - t, 0) / np.maximum(size, 1e-300)


def test_constraints(device, rng):
    from scipy.optimize import lsq_linear, nnls

    a = random_matrix(rng, 40, 12, "float64")
    b = random_vector(rng, 40, "float64")
    A, y = dense(device, a), on(device, b)
    positive = nnls(a, b)[0]
    boxed = lsq_linear(a, b, (-0.05, 0.1), tol=1e-12).x
    for solver in [solve.fista, lambda *k, **o: solve.pdhg(k[0], k[1], None, k[2], **o), solve.admm]:
        r = solver(A, y, solve.prox.nonneg(), rtol=1e-10, maxiter=20000)
        assert np.allclose(r.x.numpy(), positive, atol=1e-6)
        r = solver(A, y, solve.prox.box(-0.05, 0.1), rtol=1e-10, maxiter=20000)
        assert np.allclose(r.x.numpy(), boxed, atol=1e-6)


def test_total_variation_two_ways(device, rng):
    n = 40
    clean = np.repeat([0.0, 2.0, 1.0, 3.0], n // 4)
    noisy = clean + 0.2 * rng.standard_normal(n)
    g = np.diff(np.eye(n), axis=0)
    G = ts.Dense(on(device, g), ("D", "N"), ("N",), ("D",))
    lam = 0.4
    one = solve.admm(ts.Identity(("N",)), on(device, noisy), solve.prox.l1(lam), G=G, rho=1.0, rtol=1e-9, maxiter=5000)
    two = solve.pdhg(
        G, on(device, np.zeros(n - 1)), solve.prox.l1(lam), solve.prox.l2_squared(1, on(device, noisy)),
        rtol=1e-10, maxiter=50000,
    )  # fmt: skip
    assert np.allclose(one.x.numpy(), two.x.numpy(), atol=1e-4)
    assert np.linalg.norm(one.x.numpy() - clean) < np.linalg.norm(noisy - clean)


def test_prox_values(device):
    p = solve.prox
    v = on(device, np.array([[3.0, 0.0], [4.0, 0.1]]))
    assert np.allclose(p.group(1.0, 0)(v, 2.0).numpy(), [[1.8, 0], [2.4, 0]])
    assert np.allclose(p.l2(5.0)(v, 10.0).numpy(), 0)
    assert p.nonneg()(on(device, np.array([1 - 2j, -1 + 1j]))).tolist() == [1 + 0j, 0j]
    assert p.l2_squared(1.0, on(device, np.ones((2, 2))))(v, 1.0).tolist() == [[2.0, 0.5], [2.5, 0.55]]
    assert "l1" in repr(p.l1(0.5)) and p.none()(v).tolist() == v.tolist()
    with pytest.raises(ValueError, match="negative"):
        p.l1(-1)
    with pytest.raises(TypeError, match="complex"):
        p.box(0, 1)(on(device, np.array([1j])))
    with pytest.raises(TypeError, match="function"):
        solve.fista(ts.Scalar(1.0), on(device, np.ones(3)), 3)
    with pytest.raises(ValueError, match="step 'seek'; expected a number, 'search', or None"):
        solve.fista(ts.Scalar(1.0), on(device, np.ones(3)), step="seek")


# --- eigenvalues and singular values --------------------------------------------------------------


def test_power_method_case_137(device):
    assert abs(solve.power_method(ts.Scalar(2.0), on(device, np.ones(7))).eigenvalue.item() - 2) < 1e-12
    A = ts.Diagonal(on(device, np.arange(1.0, 6)), ("X",))
    r = solve.power_method(A, on(device, np.ones(5)))
    assert abs(r.eigenvalue.item() - 5) < 1e-3 and r.converged and 20 <= r.iterations <= 24
    assert abs(np.linalg.norm(r.x.numpy()) - 1) < 1e-12
    B = ts.Diagonal(on(device, np.arange(1.0, 16).reshape(3, 5)), ("B", "X"))
    for dim in [1, -1, (1,), "X"]:
        r = solve.power_method(B, on(device, np.ones((3, 5))), dim=dim, maxiter=500, rtol=1e-9)
        assert r.eigenvalue.shape == (3,) and np.allclose(r.eigenvalue.numpy(), [5, 10, 15], atol=1e-4)
    C = ts.Diagonal(on(device, np.arange(1.0, 6)), ("X",))
    assert abs(solve.power_method(C, on(device, np.ones(5) + 1j)).eigenvalue.item() - 5) < 0.1
    assert abs(solve.power_method(ts.Scalar(-3.0), on(device, np.ones(4))).eigenvalue.item() + 3) < 1e-12
    assert abs(solve.power_method(A).eigenvalue.item() - 5) < 0.1  # a random start of the size that A knows


@pytest.mark.parametrize("which", ["LM", "LA", "SA", "BE"])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_lanczos_as_eigsh(device, rng, which, dtype):
    a = random_matrix(rng, 90, 90, dtype)
    a = a + a.conj().T
    r = solve.lanczos(dense(device, a), 5, which=which, dtype=dtype, rtol=1e-10)
    assert r.converged, r.reason
    values = np.linalg.eigvalsh(a)
    order = {
        "LM": np.argsort(-np.abs(values))[:5],
        "LA": np.arange(85, 90),
        "SA": np.arange(5),
        "BE": np.array([0, 1, 2, 88, 89]) if np.isclose(r.eigenvalues.numpy()[2], values[2]) else [0, 1, 87, 88, 89],
    }[which]
    assert np.allclose(r.eigenvalues.numpy(), np.sort(values[order]), atol=1e-8)
    v = r.eigenvectors.numpy()
    assert v.shape == (90, 5) and np.allclose(v.conj().T @ v, np.eye(5), atol=1e-8)
    assert np.allclose(a @ v, v * r.eigenvalues.numpy(), atol=1e-7)


def test_lanczos_small_precision_and_subspace(device, rng):
    a = with_eigenvalues(rng, np.r_[np.linspace(0, 1, 197), 3, 4, 5], "float32").astype("float32")
    r = solve.lanczos(dense(device, a), 3, which="LA", dtype="float32", rtol=1e-5)
    assert r.converged and np.allclose(r.eigenvalues.numpy(), [3, 4, 5], atol=1e-4)
    with pytest.raises(ValueError, match="which"):
        solve.lanczos(dense(device, a), which="XX")
    with pytest.raises(ValueError, match="k = 300"):
        solve.lanczos(dense(device, a), 300)
    with pytest.raises(ts.DimError, match="give x0 or shape"):
        solve.lanczos(ts.Identity(("N",)))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(10, 5), (5, 10), (30, 30)])
def test_svd_case_138(device, rng, dtype, shape):
    a = random_matrix(rng, *shape, dtype)
    k = min(shape) if min(shape) < 20 else 7
    U, S, Vh = solve.svd(dense(device, a), k, dtype=dtype)
    assert U.shape == (shape[0], k) and S.shape == (k,) and Vh.shape == (k, shape[1])
    expected = np.linalg.svd(a, compute_uv=False)[:k]
    tol = 1e-8 if is_wide(dtype) else 1e-4
    assert np.allclose(S.numpy(), expected, atol=tol) and (np.diff(S.numpy()) <= 0).all()
    if k == min(shape):
        assert np.allclose(U.numpy() * S.numpy() @ Vh.numpy(), a, atol=tol)


def test_svd_values_and_dims(device, rng):
    assert np.allclose(solve.svd(ts.Diagonal(on(device, np.array([3.0, 1.0, 2.0])), ("X",)), 3).S.numpy(), [3, 2, 1])
    small = with_singular_values(rng, 12, 9, [10, 1, 0.1, 0.01], "float64")
    r = solve.svd(dense(device, small), 4)
    assert np.allclose(r.S.numpy(), [10, 1, 0.1, 0.01], rtol=1e-6) and r.converged
    a = random_matrix(rng, 12, 20, "complex128").reshape(3, 4, 4, 5)
    A = ts.Dense(on(device, a), ("P", "Q", "M", "N"), ("M", "N"), ("P", "Q"))
    U, S, Vh = solve.svd(A, 12, dtype="complex128")
    assert U.shape == (3, 4, 12) and Vh.shape == (12, 4, 5)
    assert np.allclose(np.einsum("pqk,k,kmn->pqmn", U.numpy(), S.numpy(), Vh.numpy()), a)


def test_svd_as_svds(device, rng):
    a = with_singular_values(rng, 120, 80, np.geomspace(1, 1e-3, 80))
    r = solve.svd(dense(device, a), 6, rtol=1e-10, dtype="complex128")
    assert r.converged and np.allclose(r.S.numpy(), np.sort(sla.svds(a, 6)[1])[::-1], rtol=1e-8)
    q = solve.randomized_svd(dense(device, a), 6, maxiter=12, rtol=1e-8, dtype="complex128")
    assert np.allclose(q.S.numpy(), r.S.numpy(), rtol=1e-4)
    u = q.U.numpy()
    assert np.allclose(u.conj().T @ u, np.eye(6), atol=1e-10)
    assert isinstance(q, ts.SvdResult) and "SvdResult" in repr(q)


def test_polynomial_case_139():
    c = solve.polynomial_coefficients
    assert np.allclose(c(0), [1.5]) and np.allclose(c(1), [4, -10 / 3]) and np.allclose(c(2), [7.5, -15, 8.75])
    assert np.allclose(c(0, "l_2", 0.1, 1), [1.4864865], atol=1e-7)
    assert np.allclose(c(1, "l_2", 0.1, 1), [3.8321920, -3.1247922], atol=1e-7)
    assert np.allclose(c(0, "l_inf"), [2]) and np.allclose(c(1, "l_inf"), [8, -8])
    assert [c(d, "ifista") for d in (1, 2, 3)] == [[2, -1], [3, -3, 1], [4, -6, 4, -1]]
    T = ts.Diagonal([0.5, 1.0], ("X",))
    assert solve.polynomial_preconditioner(T, -1).name == "Identity" and c(2, "l2") == c(2, "l_2")
    with pytest.raises(ValueError, match="norm"):
        solve.polynomial_preconditioner(T, 2, "l_3")


def test_polynomial_minimises(rng):
    """Of 1 - x p(x): no other polynomial of the degree has a smaller square integral, or maximum."""
    x = np.linspace(0.05, 1, 20001)
    for norm, measure in [("l_2", lambda e: np.mean(e**2)), ("l_inf", lambda e: np.abs(e).max())]:
        for degree in [0, 1, 3, 6]:
            best = np.array(solve.polynomial_coefficients(degree, norm, 0.05, 1))
            least = measure(1 - x * np.polyval(best[::-1], x))
            for _ in range(20):
                other = best * (1 + 1e-3 * rng.standard_normal(degree + 1))
                assert measure(1 - x * np.polyval(other[::-1], x)) >= least * (1 - 1e-6)


def test_polynomial_shortens_cg(device, rng):
    a = with_eigenvalues(rng, np.linspace(0.02, 1, 120), "float64")
    b = random_vector(rng, 120, "float64")
    A, y = dense(device, a), on(device, b)
    plain = solve.cg(A, y, rtol=1e-8, maxiter=500)
    for norm in ["l_2", "l_inf", "ifista"]:
        M = solve.polynomial_preconditioner(A, 3, norm, 0.02, 1.0)
        r = solve.cg(A, y, M=M, rtol=1e-8, maxiter=500)
        assert r.converged and r.iterations < plain.iterations and residual(a, r.x.numpy(), b) < 1e-7
