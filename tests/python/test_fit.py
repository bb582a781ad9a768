# SPDX-License-Identifier: Apache-2.0
"""ts.fit: an operator under budgets of bytes."""

import re

import numpy as np
import pytest

import tessera as ts


def coils(rng, n=6, grid=16):
    maps = (rng.normal(size=(n, grid, grid)) + 1j * rng.normal(size=(n, grid, grid))).astype(np.complex64)
    return ts.FFT(2, batch_shape="C", grid_shapes=("NxNy", "KxKy")) @ ts.Dense(maps, "CNxNy", "NxNy", "CNxNy")


@pytest.mark.parametrize("budget", [60_000, 30_000, 21_000])
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


def test_devices_of_different_room():
    # One that can hold nothing is no reason to refuse the other.
    A = ts.Dense(np.ones((40, 30), np.float32), "MN", "N", "M")
    x = np.ones(30, np.float32)
    F = ts.fit(A, x, budget={"sim:0": 10, "sim:1": "2kB"})
    assert "sim:0" not in F.forecast["memory"] and F.forecast["memory"]["sim:1"]["total"] <= 2000
    np.testing.assert_allclose(F(x), np.full(40, 30.0))


def test_refusal_names_a_budget_for_each_device():
    A = ts.FFT(1, batch_shape="C", grid_shapes=("X", "K"))
    budget = {"sim:0": 700, "sim:1": 300}
    with pytest.raises(ts.OutOfMemory) as refused:
        ts.fit(A, shape=(4, 64), dtype="complex64", budget=budget)
    asked = {d: int(n) for n, d in re.findall(r"(\d+) bytes on (sim:\d)", str(refused.value))}
    assert asked
    F = ts.fit(A, shape=(4, 64), dtype="complex64", budget=budget | asked)
    for device in asked:
        with pytest.raises(ts.OutOfMemory):
            ts.fit(A, shape=(4, 64), dtype="complex64", budget=budget | asked | {device: asked[device] - 1})
    x = np.random.default_rng(3).normal(size=(4, 64)).astype(np.complex64)
    np.testing.assert_allclose(F(x), A(x), atol=1e-5)


def test_a_refusal_does_not_take_all_day():
    # Single elements of a large array are too many tiles to look at.
    A = ts.Diagonal(np.ones((1200, 1200), np.float32), "XY")
    with pytest.raises(ts.OutOfMemory, match="would do is [0-9]+ bytes on sim:0, in tiles few enough to plan"):
        ts.fit(A, shape=(1200, 1200), dtype="float32", budget={"sim:0": 100})


def test_weights_that_plans_form_are_counted():
    # Phases of a centred transform merge with weights: an array that no operator holds.
    rng = np.random.default_rng(5)
    locs = (rng.random((40, 2)) * 8 - 4).astype(np.float32)
    A = ts.NUFFT(locs, (8, 8), ("K",), batch_shape=("C",))
    x = rng.normal(size=(4, 8, 8)).astype(np.complex64)
    for budget in ("1MB", "12kB", "8kB"):
        before = ts.memory_stats("sim:7")["in_use"]
        F = ts.fit(A, x, budget={"sim:7": budget})
        ts.trim_pool("sim:7")
        ts.reset_peak("sim:7")
        np.testing.assert_allclose(F(x), A(x), atol=1e-4)
        assert ts.memory_stats("sim:7")["peak"] - before == F.forecast["memory"]["sim:7"]["total"]
        del F


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
