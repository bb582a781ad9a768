# SPDX-License-Identifier: Apache-2.0
"""Places that name ranks: one BatchSpec for the devices of one process and for those of many."""

import numpy as np
import pytest
from checks import settle
from layouts import WORLD, distribute, traffic

import tessera as ts

P = WORLD.size
RNG = np.random.default_rng(11)
W = RNG.normal(size=(3, 10, 7)) + 1j * RNG.normal(size=(3, 10, 7))
X = RNG.normal(size=(3, 7))


def matrices():
    return ts.Dense(W, "BMN", "BN", "BM")


def places(device=lambda rank: "cpu"):
    return [f"rank{r}/{device(r)}" for r in range(P)]


def sims(rank):
    return f"sim:{rank % 2}"


SPECS = {
    "rows": lambda: ts.BatchSpec({"M": 3}, places()),
    "columns": lambda: ts.BatchSpec({"N": 2}, places(sims)),
    "blocks": lambda: ts.BatchSpec({"B": 1}, places()[::-1]),
    "grid": lambda: ts.BatchSpec({"M": 4, "N": 3}, [[p] for p in places(sims)]),
    "the last rank alone": lambda: ts.BatchSpec({"M": 3}, places()[-1]),
    "arrays that stay": lambda: ts.BatchSpec({"M": 3}, places(sims), resident=False),
    "two levels": lambda: [ts.BatchSpec({"B": 2}, places()), ts.BatchSpec({"M": 3}, ["sim:0", "sim:1"])],
}


@pytest.mark.parametrize("name", SPECS)
def test_equals_the_operator(name, slate):
    A, specs = matrices(), SPECS[name]()
    B = ts.create_batched_linop(A, specs, comm=WORLD)
    y = A(X).numpy()
    assert np.allclose(B(X), y) and np.allclose(B.H(y), A.H(y)) and np.allclose(B.N(X), A.N(X))
    assert np.allclose((2 * B + A)(X), 3 * y)
    for split in (None, 0, 1):
        assert np.allclose(B(distribute(X, split)).numpy(), y)
    settle(slate, None, B(X).numpy().tobytes())


def test_each_rank_holds_its_own_tiles():
    A = ts.Dense(RNG.normal(size=(4 * P, 50)), "MN", "N", "M")
    device = sims(WORLD.rank)
    before = ts.memory_stats(device)["in_use"]
    B = ts.create_batched_linop(A, ts.BatchSpec({"M": 4}, places(sims)), comm=WORLD)
    assert ts.memory_stats(device)["in_use"] - before == 4 * 50 * 8
    x = RNG.normal(size=50)
    sent = traffic()[1]
    y = B(x)
    assert traffic()[1] - sent == (P - 1) * (4 * 8 + 1)  # its rows to each other rank, and that all is well
    assert np.allclose(y, A(x))


def test_solvers_take_it(slate):
    M = RNG.normal(size=(9, 9))
    A = ts.Dense(M @ M.T + 9 * np.eye(9), "MN", "N", "M").rename({"M": "N1"})
    B = ts.create_batched_linop(A, ts.BatchSpec({"N": 2}, places()), comm=WORLD)
    b = RNG.normal(size=9)
    x = ts.solve.cg(B, b, rtol=1e-10, maxiter=50).x
    assert np.allclose(x, np.linalg.solve(M @ M.T + 9 * np.eye(9), b))
    settle(slate, None, x.numpy().tobytes())


def test_errors_are_everybodys(slate):
    for place, error in ((f"rank{P}/cpu", ts.CommError), (f"rank{P - 1}/sim:999", ts.DeviceError)):
        with pytest.raises(error) as caught:
            ts.create_batched_linop(matrices(), ts.BatchSpec({"M": 3}, ["rank0/cpu", place]), comm=WORLD)
        settle(slate, None, str(caught.value))
