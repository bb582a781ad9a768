# SPDX-License-Identifier: Apache-2.0
"""Sums of several terms in pdhg: against minimisers that are known, optimality conditions, and the same problem with its
operators stacked."""

import numpy as np
import pytest
from support import on
from test_solvers import dense, random_matrix, random_vector

import tessera as ts

solve = ts.solve
p = solve.prox


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_quadratic_terms_are_one_linear_system(device, rng, dtype):
    sizes = [9, 4, 1]
    mats = [random_matrix(rng, m, 6, dtype) for m in sizes]
    bs = [random_vector(rng, m, dtype) for m in sizes]
    weights = [1.0, 0.7, 2.0]
    left = sum(w * a.conj().T @ a for w, a in zip(weights, mats, strict=True)) + 0.3 * np.eye(6)
    right = sum(w * a.conj().T @ b for w, a, b in zip(weights, mats, bs, strict=True))
    found = solve.pdhg(
        [dense(device, a) for a in mats], [on(device, b) for b in bs], [None, p.l2_squared(0.7), p.l2_squared(2.0)],
        p.l2_squared(0.3), rtol=1e-12, maxiter=20000,
    )  # fmt: skip
    assert found.converged and str(found.x.device) == device
    np.testing.assert_allclose(found.x.numpy(), np.linalg.solve(left, right), atol=1e-7)
    # Without f all terms are squares; one in a list is the call without lists.
    plain = solve.pdhg([dense(device, mats[0])], [on(device, bs[0])], maxiter=7)
    assert plain.x.tolist() == solve.pdhg(dense(device, mats[0]), on(device, bs[0]), maxiter=7).x.tolist()


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_a_data_term_with_total_variation_as_by_admm(device, rng, dtype):
    a, truth = random_matrix(rng, 24, 20, dtype), np.repeat([0.0, 2.0, 1.0, 3.0], 5).astype(dtype)
    y = (a @ truth + 0.05 * random_vector(rng, 24, dtype)).astype(dtype)
    A, lam = dense(device, a), 0.3
    D = ts.FiniteDifference(A.ishape[0], A.ishape)
    narrow = dtype in ("float32", "complex64")
    rtol = 1e-6 if narrow else 1e-10
    one = solve.pdhg([A, D], [on(device, y), None], [None, p.l1(lam)], rtol=rtol, maxiter=30000)
    two = solve.admm(A, on(device, y), p.l1(lam), G=D, rtol=rtol, maxiter=3000, inner=20)
    assert str(one.x.dtype) == dtype
    np.testing.assert_allclose(one.x.numpy(), two.x.numpy(), atol=2e-3 if narrow else 1e-6)
    bounded = solve.pdhg([A, D], [on(device, y), None], [None, p.l1(lam)], p.nonneg(), rtol=rtol, maxiter=30000)
    assert bounded.x.numpy().real.min() >= 0


def test_terms_side_by_side_are_their_sum_by_blocks(rng):
    # Two operators of one shape in one Concat with one f for both, and as two terms.
    a, b = random_matrix(rng, 5, 6, "float64"), random_matrix(rng, 7, 6, "float64")
    ya, yb = random_vector(rng, 5, "float64"), random_vector(rng, 7, "float64")
    A, B = dense("cpu", a), dense("cpu", b)
    whole = solve.pdhg(
        ts.Concat(A, B, odim=A.oshape[0]), np.concatenate([ya, yb]), p.l1(0.3), p.l2_squared(0.5), rtol=1e-12,
        maxiter=50000,
    )  # fmt: skip
    apart = solve.pdhg([A, B], [ya, yb], [p.l1(0.3), p.l1(0.3)], p.l2_squared(0.5), rtol=1e-12, maxiter=50000)
    np.testing.assert_allclose(apart.x.numpy(), whole.x.numpy(), atol=1e-7)


def test_steps_that_are_given(rng):
    a, b = random_matrix(rng, 8, 6, "float64"), random_vector(rng, 8, "float64")
    A = dense("cpu", a)
    D = ts.FiniteDifference(A.ishape[0], A.ishape)
    best = solve.pdhg([A, D], [b, None], [None, p.l1(0.2)], rtol=1e-12, maxiter=50000).x.numpy()
    norm = np.linalg.norm(a, 2) ** 2 + 4
    for steps in ({"tau": 0.05}, {"sigma": 0.2}, {"tau": 0.5 / np.sqrt(norm), "sigma": 0.5 / np.sqrt(norm)}):
        found = solve.pdhg([A, D], [b, None], [None, p.l1(0.2)], rtol=1e-12, maxiter=50000, **steps)
        np.testing.assert_allclose(found.x.numpy(), best, atol=1e-7)
    wild = solve.pdhg([A, D], [b, None], [None, p.l1(0.2)], tau=1e9, sigma=1e9, rtol=0, maxiter=2000)
    assert not wild.converged and "smaller tau" in wild.reason


def test_a_second_solve_records_nothing(rng):
    A = dense("cpu", random_matrix(rng, 8, 6, "float64"))
    y, extra = rng.standard_normal(8), rng.standard_normal(6)

    def run(scale, lam=0.2):
        terms = [None, p.l1(lam), p.l2(0.1)]
        return solve.pdhg([A, D, eye], [scale * y, None, scale * extra], terms, tau=0.1, sigma=0.1, maxiter=9)

    D = ts.FiniteDifference(A.ishape[0], A.ishape)
    eye = ts.Identity(A.ishape)
    run(1.0)
    before = ts.counters()["plans"]
    second = run(2.0)
    assert ts.counters()["plans"] == before
    eye = ts.Identity(A.ishape)
    assert run(2.0).x.tolist() == second.x.tolist() and ts.counters()["plans"] > before
    assert run(2.0, 0.002).x.tolist() != second.x.tolist()


def test_a_checkpoint_knows_every_term(rng, tmp_path):
    A = dense("cpu", random_matrix(rng, 8, 6, "float64"))
    D, y, z = ts.FiniteDifference(A.ishape[0], A.ishape), rng.standard_normal(8), rng.standard_normal(6)

    def run(K=D, b=z, f=p.l1(0.2), **options):  # noqa: B008
        return solve.pdhg([A, K], [y, b], [None, f], rtol=0.0, **options)

    whole = run(maxiter=20)
    run(maxiter=9, checkpoint=tmp_path / "c.npz")
    again = run(maxiter=20, checkpoint=tmp_path / "c.npz")
    assert again.history == whole.history and again.x.tolist() == whole.x.tolist()
    for other, what in (({"K": 2 * D}, "operator 1"), ({"b": 2 * z}, "b 1"), ({"f": p.l1(0.3)}, "f 1")):
        with pytest.raises(ValueError, match=f"another problem: {what}"):
            run(checkpoint=tmp_path / "c.npz", **other)


def test_bad_terms_are_named(rng):
    A = dense("cpu", random_matrix(rng, 8, 6, "float64"))
    y = rng.standard_normal(8)
    with pytest.raises(ValueError, match="2 operators beside 1 of b"):
        solve.pdhg([A, A], [y])
    with pytest.raises(ValueError, match="2 operators beside 0 of b"):
        solve.pdhg([A, A], y)
    with pytest.raises(ValueError, match="and 1 of f"):
        solve.pdhg([A, A], [y, y], [None])
    with pytest.raises(ValueError, match="no operators"):
        solve.pdhg([], [])
    with pytest.raises(ValueError, match="first b is None"):
        solve.pdhg([A, A], [None, y])
    with pytest.raises(ValueError, match="operator 1.*beside a b of"):
        solve.pdhg([A, A], [y, y[:3]])
    with pytest.raises(TypeError, match="adjoint of operator 1"):
        solve.pdhg([A, 1j * A], [y, None])
    with pytest.raises((TypeError, ValueError)):
        solve.pdhg([A, 3.0], [y, y])
