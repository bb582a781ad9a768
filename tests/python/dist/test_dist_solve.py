# SPDX-License-Identifier: Apache-2.0
"""Solvers over ranks: the iterations of one rank, vectors that stay with their ranks, one end for all."""

import numpy as np
import pytest
from checks import settle
from layouts import WORLD, traffic

import tessera as ts

D = ts.dist
RNG = np.random.default_rng(12)
A = ts.Dense(0.4 * RNG.normal(size=(5, 8, 6)), "BMN", "BNX", "BMX")
SQUARE = A.N + 0.5 * ts.Identity()
prox = ts.solve.prox
SOLVERS = {
    "cg": lambda s, b, c, **o: s.cg(SQUARE, b, **o),
    "minres": lambda s, b, c, **o: s.minres(SQUARE, b, shift=0.1, **o),
    "gmres": lambda s, b, c, **o: s.gmres(SQUARE, b, restart=4, **o),
    "lsqr": lambda s, b, c, **o: s.lsqr(A, c, damp=0.1, **o),
    "lsmr": lambda s, b, c, **o: s.lsmr(A, c, **o),
    "fista": lambda s, b, c, **o: s.fista(A, c, prox.group(0.2, [0]), **o),
    "fista that searches": lambda s, b, c, **o: s.fista(A, c, prox.l1(0.2), step="search", **o),
    # With a larger weight x stays 0 and the dual variable is its own projection: whether that ends the iterations of
    # rtol = 0 is a matter of the last bit.
    "pdhg": lambda s, b, c, **o: s.pdhg(A, c, prox.l2(1.0), prox.l1(0.001), **o),
    "pdhg of two terms": lambda s, b, c, **o: s.pdhg([A, SQUARE], [c, b], [None, prox.l1(0.1)], prox.l1(0.001), **o),
    "admm": lambda s, b, c, **o: s.admm(A, c, prox.l1(0.1), inner=3, **o),
}


@pytest.mark.parametrize("split", [0, 1, 2, None])
@pytest.mark.parametrize("name", SOLVERS)
def test_as_one_rank(slate, name, split):
    run = SOLVERS[name]
    b, c = np.linspace(-1, 2, 90).reshape(5, 6, 3), np.linspace(1, -1, 120).reshape(5, 8, 3) ** 3
    expected = run(ts.solve, b, c, rtol=0.0, maxiter=7)
    found = run(D, D.array(b, split=split), D.array(c, split=split), rtol=0.0, maxiter=7)
    x = found.x.numpy()
    assert found.iterations == expected.iterations and len(found.history) == len(expected.history)
    assert not np.abs(x - expected.x.numpy()).max() > 1e-8
    # The first rank alone has enough: all stop.
    enough = lambda i, r: WORLD.rank > 0 or i < 3  # noqa: E731
    stopped = run(D, D.array(b, split=split), D.array(c, split=split), rtol=0.0, callback=enough)
    assert stopped.iterations == 3
    settle(slate, None, (x.tobytes(), found.history))


@pytest.mark.parametrize("name", [n for n in SOLVERS if n != "fista"])  # whose groups lie across ranks
def test_vectors_stay(slate, name):
    sent = []
    for width in (2, 50):
        b, c = D.array(np.ones((5, 6, width)), split=0), D.array(np.ones((5, 8, width)), split=0)
        marks = [traffic()[1]]
        for iterations in (5, 8):
            assert SOLVERS[name](D, b, c, rtol=0.0, maxiter=iterations).iterations == iterations
            marks.append(traffic()[1])
        sent.append(marks[2] - 2 * marks[1] + marks[0])  # of three iterations
    assert sent[0] == sent[1]
    settle(slate, None, None)
