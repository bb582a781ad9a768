# SPDX-License-Identifier: Apache-2.0
"""ts.fit: an operator under budgets of bytes."""

import re

import numpy as np
import pytest
from random_linops import numbers, pick, random_linop

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


# --- random operators


@pytest.mark.parametrize("block", range(2))
def test_random_operators_get_what_they_are_offered_and_stay_below_their_forecast(block):
    """Offers are accepted, results equal the whole's, and no device holds more than its forecast."""
    offers = fitted = 0
    for seed in range(block * 40, block * 40 + 40):
        rng = np.random.default_rng(seed)
        dtype = pick(rng, "float32", "float64", "complex64", "complex128")
        A, shape = random_linop(rng, dtype)
        x = numbers(rng, shape, dtype)
        most = 4096 + 4 * A.nbytes
        budget = {f"sim:{i}": 1 + int(rng.random() ** 2 * most) for i in range(1 + rng.integers(2))}
        empty = {d: ts.memory_stats(d)["in_use"] for d in budget}
        try:
            F = ts.fit(A, x, budget=budget)
        except ts.OutOfMemory as e:
            asked = re.findall(r"(\d+) bytes on (sim:\d)", str(e).split("would do is")[1])
            budget |= {d: int(n) for n, d in asked}
            F = ts.fit(A, x, budget=budget)
            offers += 1
        fitted += 1
        for d in budget:
            ts.trim_pool(d)
            ts.reset_peak(d)
        expected, got = A(x).numpy(), F(x).numpy()
        scale = max(1, np.abs(expected).max())
        assert (
            np.abs(got - expected).max(initial=0) <= (1e-10 if dtype in ("float64", "complex128") else 1e-3) * scale
        ), seed
        for d in budget:
            held = F.forecast["memory"].get(d, {"total": 0})["total"]
            assert ts.memory_stats(d)["peak"] - empty[d] <= held <= budget[d], (seed, d, F.explain())
        del F
    assert fitted == 40 and 3 < offers < 37


@pytest.mark.parametrize("budget", ["1MB", "400kB", 3 * 100 * 100 * 8])
def test_both_operands_of_a_product_stream(budget):
    rng = np.random.default_rng(7)
    W, x = rng.normal(size=(300, 500)), rng.normal(size=(500, 350))  # 1.2 MB and 1.4 MB
    A = ts.Dense(W, "MN", "NK", "MK")
    before = ts.memory_stats("sim:5")["in_use"]
    F = ts.fit(A, x, budget={"sim:5": budget})
    ts.trim_pool("sim:5")
    ts.reset_peak("sim:5")
    np.testing.assert_allclose(F(x), W @ x, rtol=1e-10, atol=1e-10)
    held = F.forecast["memory"]["sim:5"]
    assert ts.memory_stats("sim:5")["peak"] - before <= held["total"] <= held["budget"]
    y = rng.normal(size=(300, 350))
    np.testing.assert_allclose(F.H(y), W.T @ y, rtol=1e-10, atol=1e-10)


def test_tiles_that_fetch_keep_what_the_next_one_needs():
    """A row of tiles shares its panel of W; the panels of x are sent again for each row."""
    W, x = np.ones((60, 50)), np.ones((50, 40))
    A = ts.Dense(W, "MN", "NK", "MK")
    spec = ts.BatchSpec({"K": 10, "M": 20}, ["sim:0"], resident=False)
    B = ts.create_batched_linop(A, spec, shape=x.shape)
    plan = B.plan(x)
    np.testing.assert_allclose(plan(x), W @ x)
    panel_w, panel_x, tile = 20 * 50 * 8, 50 * 10 * 8, 20 * 10 * 8
    # Two of each at most: one that is used, one on its way; each starts at a multiple of 256 bytes.
    assert plan.workspace["sim:0"] <= 2 * (panel_w + panel_x + tile) + 6 * 256
    assert plan.workspace["sim:0"] < W.nbytes + x.nbytes
    whole = ts.create_batched_linop(A, ts.BatchSpec({"M": 20}, ["sim:0"], resident=False)).plan(x)
    assert whole.transferred_bytes == W.nbytes + x.nbytes + 60 * 40 * 8  # along one dim nothing is sent twice
