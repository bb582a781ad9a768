# SPDX-License-Identifier: Apache-2.0
"""ts.fit: an operator under budgets of bytes."""

import numpy as np
import pytest

import tessera as ts


def coils(rng, n=6, grid=16):
    maps = (rng.normal(size=(n, grid, grid)) + 1j * rng.normal(size=(n, grid, grid))).astype(np.complex64)
    return ts.FFT(2, batch_shape="C", grid_shapes=("NxNy", "KxKy")) @ ts.Dense(maps, "CNxNy", "NxNy", "CNxNy")


@pytest.mark.parametrize("budget", [60_000, 30_000, 20_000])
def test_equals_the_operator_and_keeps_the_budget(budget):
    rng = np.random.default_rng(0)
    A = coils(rng)
    x = rng.normal(size=(16, 16)).astype(np.complex64)
    F = ts.fit(A, x, budget={"sim:0": budget, "sim:1": budget})
    assert isinstance(F, ts.NamedLinop)
    np.testing.assert_allclose(np.asarray(F(x)), np.asarray(A(x)), atol=1e-4)
    y = np.asarray(A(x))
    np.testing.assert_allclose(np.asarray(F.H(y)), np.asarray(A.H(y)), atol=1e-3)
    for held in F.forecast["memory"].values():
        assert held["total"] == held["arrays"] + held["workspace"] + held["data"]
        assert held["budget"] is None or held["total"] <= held["budget"]
    assert F.forecast["seconds"] > 0
    assert any(r.startswith("chosen") for r in F.reasons)
    assert "sim:0" in F.explain()


def test_specs_make_the_same_operator():
    rng = np.random.default_rng(1)
    A = coils(rng)
    F = ts.fit(A, shape=(16, 16), dtype="complex64", budget={"sim:0": "30kB"})
    B = ts.create_batched_linop(A, F.specs)
    x = rng.normal(size=(16, 16)).astype(np.complex64)
    np.testing.assert_array_equal(np.asarray(F(x)), np.asarray(B(x)))


def test_a_solver_takes_it():
    rng = np.random.default_rng(2)
    A = coils(rng)
    N = A.N + 0.1 * ts.Identity()
    b = rng.normal(size=(16, 16)).astype(np.complex64)
    F = ts.fit(N, b, budget={"sim:0": "60kB"})
    got, expected = ts.solve.cg(F, b, rtol=1e-5), ts.solve.cg(N, b, rtol=1e-5)
    np.testing.assert_allclose(np.asarray(got.x), np.asarray(expected.x), atol=1e-3)


def test_what_is_refused():
    A = ts.FFT(1)
    with pytest.raises(ts.OutOfMemory, match="the smallest budget that would do is [0-9]+ bytes"):
        ts.fit(A, shape=(3, 4096), dtype="complex64", budget={"sim:0": "10kB"})
    with pytest.raises(MemoryError):
        ts.fit(A, shape=(3, 4096), dtype="complex64", budget={"sim:0": "10kB"})
    with pytest.raises(ts.ArgumentError, match="no device and no budget"):
        ts.fit(A, shape=8)
    with pytest.raises(ts.ArgumentError, match="give an input array or shape="):
        ts.fit(A, budget={"sim:0": 1000})
    with pytest.raises(ts.ArgumentError, match="positive"):
        ts.fit(A, shape=8, budget={"sim:0": 0})
    with pytest.raises(TypeError, match="budget is a dict"):
        ts.fit(A, shape=8, budget="2GiB")
