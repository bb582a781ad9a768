# SPDX-License-Identifier: Apache-2.0
"""Solvers over ranks: those of ts.solve with a distributed right-hand side."""

import numpy as np
import pytest

import tessera as ts

D = ts.dist


@pytest.mark.parametrize("ranks", [1, 3])
def test_cg(ranks, rng):
    n = rng.standard_normal((7, 5))
    b = rng.standard_normal(5)
    A = ts.Dense(ts.array(n), ts.Dim("MN"), ts.Dim("N"), ts.Dim("M")).N
    expected = np.linalg.solve(n.T @ n, b)

    def work(comm):
        seen = []
        found = D.cg(
            A, D.array(b, split=0, comm=comm), rtol=1e-12, maxiter=50, callback=lambda i, r: seen.append((i, r))
        )
        assert found.converged and len(found.history) >= found.iterations == len(seen) and found.reason
        stopped = D.cg(A, D.array(b, split=0, comm=comm), callback=lambda i, r: i < 1)
        assert not stopped.converged and "SolveResult" in repr(stopped)
        return found.x.numpy()

    for x in D.run_ranks(ranks, work):
        assert np.abs(x - expected).max() < 1e-8 * np.abs(expected).max()

    def fails(comm):
        D.cg(A, D.array(b, split=0, comm=comm), callback=lambda i, r: 1 / 0)

    with pytest.raises(ZeroDivisionError):
        D.run_ranks(ranks, fails)


@pytest.mark.parametrize("name", ["minres", "gmres", "lsqr", "lsmr", "fista", "pdhg", "admm"])
def test_solvers_over_ranks(name, rng):
    n = rng.standard_normal((5, 6, 4))
    A = ts.Dense(ts.array(n), ts.Dim("BMN"), ts.Dim("BN"), ts.Dim("BM"))
    square = name in ("minres", "gmres")
    if square:
        A = A.N + 0.5 * ts.Identity()
    b = rng.standard_normal((5, 4 if square else 6))
    p = ts.solve.prox
    more = {"fista": (p.l1(0.1),), "pdhg": (None, p.l1(0.1)), "admm": (p.l1(0.1),)}.get(name, ())
    expected = getattr(ts.solve, name)(A, b, *more, rtol=0.0, maxiter=6)

    def work(comm):
        seen = []
        found = getattr(D, name)(
            A, D.array(b, split=0, comm=comm), *more, rtol=0.0, maxiter=6, callback=lambda i, r: seen.append(i)
        )
        assert len(seen) == found.iterations == expected.iterations and found.x.split == 0
        stopped = getattr(D, name)(A, D.array(b, split=0, comm=comm), *more, rtol=0.0, callback=lambda i, r: i < 2)
        assert stopped.iterations == 2 and "callback" in stopped.reason
        return found.x.numpy()

    for x in D.run_ranks(3, work):
        assert not np.abs(x - expected.x.numpy()).max() > 1e-8
