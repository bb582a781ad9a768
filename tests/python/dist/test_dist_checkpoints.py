# SPDX-License-Identifier: Apache-2.0
"""Checkpoints of solvers over ranks, from Python: a solve that was stopped goes on bit for bit, eigenvalues too, and
what belongs to another problem is refused by all ranks."""

import numpy as np
import pytest
from checks import outcome, settle

import tessera as ts

D = ts.dist
RNG = np.random.default_rng(12)
A = ts.Dense(0.4 * RNG.normal(size=(5, 8, 6)), "BMN", "BNX", "BMX")
SQUARE = A.N + 0.5 * ts.Identity()
prox = ts.solve.prox
B = np.linspace(-1, 2, 90).reshape(5, 6, 3)
C = np.linspace(1, -1, 120).reshape(5, 8, 3) ** 3
SOLVERS = {
    "cg": lambda b, c, **o: D.cg(SQUARE, b, **o),
    "minres": lambda b, c, **o: D.minres(SQUARE, b, shift=0.1, **o),
    "gmres": lambda b, c, **o: D.gmres(SQUARE, b, restart=4, **o),
    "lsqr": lambda b, c, **o: D.lsqr(A, c, damp=0.1, **o),
    "lsmr": lambda b, c, **o: D.lsmr(A, c, **o),
    "fista": lambda b, c, **o: D.fista(A, c, prox.l1(0.2), **o),
    "pdhg": lambda b, c, **o: D.pdhg(A, c, prox.l2(1.0), prox.l1(0.1), **o),
    "admm": lambda b, c, **o: D.admm(A, c, prox.l1(0.1), inner=3, **o),
    "power_method": lambda b, c, **o: D.power_method(SQUARE, b, **o),
    "lanczos": lambda b, c, **o: D.lanczos(SQUARE, b, 3, ncv=7, **o),
    "svd": lambda b, c, **o: D.svd(A, b, 3, ncv=7, **o),
    "randomized_svd": lambda b, c, **o: D.randomized_svd(A, b, 3, oversample=4, **o),
}
FOUND = ("x", "eigenvalues", "eigenvectors", "U", "S", "Vh")


def bits(result):
    """Everything that a result holds, byte for byte."""
    arrays = {name: getattr(result, name, None) for name in FOUND}
    return {name: a.numpy().tobytes() for name, a in arrays.items() if a is not None}


@pytest.mark.parametrize("split", [0, 2, None])
@pytest.mark.parametrize("name", SOLVERS)
def test_goes_on_where_it_stopped(slate, folder, name, split):
    run = lambda **o: SOLVERS[name](D.array(B, split=split), D.array(C, split=split), rtol=0.0, maxiter=11, **o)  # noqa: E731
    whole = run()
    saved = ts.solve.Checkpoint(str(folder / "run.npz"), every=1)
    stopped = run(checkpoint=saved, callback=lambda i, r: i < 4)
    assert stopped.iterations == 4 < whole.iterations
    numbers = []
    again = run(checkpoint=saved, callback=lambda i, r: numbers.append(i))
    assert numbers[0] == 5 and numbers[-1] == again.iterations == whole.iterations  # it did not begin again
    assert again.history == whole.history
    assert bits(again) == bits(whole) and len(bits(whole)) > 0
    settle(slate, None, (again.history, sorted(bits(again))))


OTHER = {  # operators
    "cg": lambda b, **o: D.cg(SQUARE + ts.Identity(), b, **o),
    "lanczos": lambda b, **o: D.lanczos(SQUARE + ts.Identity(), b, 3, ncv=7, **o),
    "svd": lambda b, **o: D.svd(2.0 * A, b, 3, ncv=7, **o),
}


@pytest.mark.parametrize("name", OTHER)
def test_another_problem_is_refused_by_all(slate, folder, name):
    path = str(folder / "run.npz")
    b, c = D.array(B, split=0), D.array(C, split=0)
    SOLVERS[name](b, c, rtol=0.0, maxiter=3, checkpoint=path)
    refused = [
        outcome(lambda: OTHER[name](b, rtol=0.0, checkpoint=path)),
        outcome(lambda: SOLVERS["minres"](b, c, rtol=0.0, checkpoint=path)),
    ]
    if name == "cg":
        other = B.copy()
        other[0, 0, 0] += 1  # what the first rank has
        refused.append(outcome(lambda: SOLVERS[name](D.array(other, split=0), c, rtol=0.0, checkpoint=path)))
    for said in refused:
        assert said[0] == "error" and issubclass(said[1], ValueError) and "another problem" in said[2], said
    settle(slate, None, len(refused))


def test_a_folder_that_is_not_there(slate, folder):
    path = str(folder / "no" / "run.npz")
    said = outcome(lambda: D.lanczos(SQUARE, D.array(B, split=0), 2, maxiter=5, checkpoint=path))
    assert said[0] == "error" and issubclass(said[1], OSError), said
    settle(slate, None, said[1].__name__)
