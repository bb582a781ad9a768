# SPDX-License-Identifier: Apache-2.0
"""Products of what is larger than a device's memory, computed there by blocks, against NumPy."""

from __future__ import annotations

import os
import re

import numpy as np
import pytest
from support import drawn, host_memory, relative

import tessera as ts

DEVICE = "sim:2"
SHAPES = [(37, 41, 29), (64, 64, 64), (1, 50, 33), (90, 3, 80), (5, 200, 1), (0, 4, 3), (4, 0, 3)]
VIEWS = {
    "plain": lambda x: x,
    "turned": lambda x: np.asfortranarray(x),
    "gaps": lambda x: np.repeat(np.repeat(x, 2, 0), 3, 1)[::2, ::3],
    "backwards": lambda x: np.ascontiguousarray(x[::-1, ::-1])[::-1, ::-1],
}


def least(call):
    """The smallest budget, as the refusal of one byte says it."""
    with ts.memory_budget(device={DEVICE: ts.memory_stats(DEVICE)["in_use"] + 1}):
        with pytest.raises(ts.OutOfMemory, match="matmul: a budget of 1 byte is too small") as refused:
            call()
    return int(re.search(r"the least for these operands is (\d+)", str(refused.value))[1])


def near(got, want, dtype):
    if np.dtype(dtype).kind in "biu":
        return np.testing.assert_array_equal(got, want)
    wide = np.result_type(dtype, "float64")
    got, want = np.asarray(got).astype(wide), want.astype(wide)
    eps = 1e-3 if dtype == "float16" else np.finfo(dtype).eps
    assert np.linalg.norm(got - want) <= 60 * eps * np.linalg.norm(want)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128", "float16", "int32", "uint8"])
@pytest.mark.parametrize("shape", SHAPES)
def test_products_of_every_budget(shape, dtype):
    m, k, n = shape
    views = list(VIEWS)
    a, b = drawn((m, k), dtype, 1), drawn((k, n), dtype, 2)
    work = "float32" if dtype == "float16" else dtype
    want = (a.astype(work) @ b.astype(work)).astype(dtype)
    everything = a.nbytes + b.nbytes + want.nbytes
    place = VIEWS[views[(m + n) % 4]](np.zeros((m, n), dtype))
    out = ts.asarray(place)

    def call():
        return ts.stored.matmul(a, b, out=out, device=DEVICE)

    smallest = 1 if 0 in (m, n) else least(call)
    # The least that can be takes as many steps as there are multiplications.
    budgets = [smallest] if m * k * n < 4000 else []
    budgets += [smallest + everything // part for part in (20, 4, 1)] + [10 * smallest + 10 * everything]
    for number, budget in enumerate(budgets):
        x, y = (VIEWS[views[(number + shift) % 4]](z) for shift, z in ((0, a), (2, b)))
        place[...] = 77
        held = ts.memory_stats(DEVICE)["in_use"]
        with ts.memory_budget(device={DEVICE: held + budget}):
            plan = ts.stored.plan(ts.stored.matmul, x, y, out=out, device=DEVICE)
            assert (place == 77).all()
            ts.reset_peak(DEVICE)
            assert ts.stored.matmul(x, y, out=out, device=DEVICE) is out
        peak = ts.memory_stats(DEVICE)["peak"] - held
        assert peak <= plan.device_peak <= budget
        assert plan.host_written == want.nbytes or 0 in shape
        near(place, want, dtype)


@pytest.mark.parametrize("mixed", [("float32", "float64"), ("int32", "complex64")])
def test_dtypes_meet_as_on_the_host(mixed):
    a, b = drawn((20, 30), mixed[0], 1), drawn((30, 25), mixed[1], 2)
    got = ts.stored.matmul(a, b, device=DEVICE)
    want = a @ b
    assert str(got.dtype) == want.dtype.name
    near(got.numpy(), want, want.dtype)


def test_disk_on_every_side(tmp_path):
    a, b = drawn((150, 130), "float64", 1), drawn((130, 140), "float64", 2)
    sides = {
        "memory": lambda x, name: x,
        "tiles": lambda x, name: ts.stored.array(x, tmp_path / (name + ".tiles")),
        "npy": lambda x, name: ts.stored.array(x, tmp_path / (name + ".npy")),
        "formula": lambda x, name: ts.stored.array(x) * 1.0,
    }
    with ts.memory_budget(device={DEVICE: ts.memory_stats(DEVICE)["in_use"] + 60000}):
        for i, left in enumerate(sides):
            for j, right in enumerate(sides):
                x, y = sides[left](a, f"a{i}{j}"), sides[right](b, f"b{i}{j}")
                path = tmp_path / f"c{i}{j}.tiles" if (i + j) % 2 else None
                c = ts.stored.matmul(x, y, path, device=DEVICE)
                near(c.numpy(), a @ b, "float64")
        place = ts.stored.create((150, 140), path=tmp_path / "out.npy")
        assert ts.stored.matmul(a, b, out=place, device=DEVICE) is place
        near(np.load(tmp_path / "out.npy"), a @ b, "float64")


def test_the_forced_device_computes():
    a, b = drawn((60, 50), "float32", 1), drawn((50, 40), "float32", 2)
    x = ts.stored.array(a)
    ts.reset_peak(DEVICE)
    before = ts.memory_stats(DEVICE)["peak"]
    assert ts.stored.plan(ts.matmul, x, b).device_peak == 0
    ts.context().force(DEVICE)
    try:
        assert ts.stored.plan(ts.matmul, x, b).device_peak > 0
        near((x @ b).numpy(), a @ b, "float32")
        assert ts.memory_stats(DEVICE)["peak"] > before
        assert DEVICE in ts.stored.explain(ts.matmul, x, b)
        assert ts.stored.plan(ts.stored.matmul, x, b, device="cpu").device_peak == 0
    finally:
        ts.context().force(None)


def test_refusals_come_before_anything_is_written():
    a = drawn((20, 20), "float64", 1)
    place = np.full((20, 20), 5.0)
    out, fixed = ts.asarray(place), np.ones((20, 20))
    fixed.flags.writeable = False
    for wrong, error, text in [
        ({"out": ts.zeros((20, 21)), "device": DEVICE}, ValueError, "the sizes do not match"),
        ({"out": ts.zeros((20, 20), dtype="float32"), "device": DEVICE}, TypeError, "the output float32"),
        ({"out": out, "device": "sim:99"}, ts.DeviceError, "sim:99"),
        ({"out": out.to("sim:1"), "device": DEVICE}, ts.DeviceError, "out is on sim:1"),
        ({"out": ts.asarray(fixed), "device": DEVICE}, ValueError, "read-only"),
        ({"out": out, "path": "x.tiles"}, ValueError, "not to both"),
    ]:
        with pytest.raises(error, match=text):
            ts.stored.matmul(a, a, **wrong)
    with pytest.raises(ValueError, match="shares memory"):
        ts.stored.matmul(out, a, out=out, device=DEVICE)
    with pytest.raises(ValueError, match="an operand has a form"):
        ts.stored.matmul(ts.stored.matrix(ts.matrix.Symmetric(a + a.T)), a, out=out)
    assert (place == 5).all()


def test_long_arrays_travel_through_pinned_buffers():
    x = drawn((3, 700, 600), "float32", 1)  # 5 MB: more than one piece
    plain = ts.asarray(x)
    assert not plain.is_pinned
    there = plain.to(DEVICE)
    assert (np.asarray(there.to("cpu")) == x).all()
    A = ts.Diagonal(x, ("C", "X", "Y"))
    S = ts.AsyncStreamer(A, {"C": 1}, DEVICE)
    for _ in range(2):
        assert (np.asarray(S(plain)) == x * x).all()
    assert (np.asarray(S(plain.pin_memory())) == x * x).all()


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("n", [1, 2, 75])
def test_solves_and_inverses_of_every_budget(n, dtype):
    a = drawn((n, n), dtype, 1) + (4 * n * np.eye(n)[::-1]).astype(dtype)  # in need of exchanges
    b = drawn((n, 7), dtype, 2)
    place, inverse = np.empty_like(b), np.empty_like(a)
    x, inv = ts.asarray(place), ts.asarray(inverse)
    calls = {
        "solve": lambda a: ts.stored.solve(a, b, out=x, device=DEVICE),
        "inverse": lambda a: ts.stored.inverse(a, out=inv, device=DEVICE),
    }
    held = ts.memory_stats(DEVICE)["in_use"]
    for budget in (60000 + 40 * a.nbytes // n, 60000 + 2 * a.nbytes, 60000 + 20 * a.nbytes):
        for name, call in calls.items():
            place[...], inverse[...] = np.nan, np.nan
            with ts.memory_budget(device={DEVICE: held + budget}):
                plan = ts.stored.plan(call, a)
                ts.reset_peak(DEVICE)
                call(np.asfortranarray(a) if budget % 2 else a)
            assert ts.memory_stats(DEVICE)["peak"] - held <= plan.device_peak <= budget, name
            got, want = (place, np.linalg.solve(a, b)) if name == "solve" else (inverse, np.linalg.inv(a))
            assert relative(got, want) < 200 * np.finfo(dtype).eps


def test_solves_on_disk_and_jobs(tmp_path):
    a, b = drawn((90, 90), "float64", 1) + 90 * np.eye(90), drawn((90,), "float64", 2)
    with ts.memory_budget(device={DEVICE: ts.memory_stats(DEVICE)["in_use"] + 40000}):
        x = ts.stored.solve(ts.stored.array(a), b, path=tmp_path / "x.tiles", device=DEVICE)
        assert relative(x.numpy(), np.linalg.solve(a, b)) < 1e-12
        inv = ts.stored.inverse(ts.stored.array(a), device=DEVICE)
        assert relative(inv.numpy(), np.linalg.inv(a)) < 1e-12
    with ts.memory_budget(device={DEVICE: ts.memory_stats(DEVICE)["in_use"] + 100}):
        with pytest.raises(ts.OutOfMemory, match="inverse: a budget of 100 bytes is too small"):
            ts.stored.inverse(a, device=DEVICE)
    singular = np.zeros((9, 9))
    out = ts.ones((9, 9))
    with pytest.raises(ts.LinAlgError, match="inverse: Singular matrix: zero pivot 1"):
        ts.stored.inverse(singular, out=out, device=DEVICE)
    assert out.sum().item() == 81


@pytest.mark.parametrize("turned", [False, True])
def test_vectors_are_multiplied_where_they_are_asked_for(turned):
    a, v = drawn((40, 40), "float64", 1), drawn((40,), "float64", 2)
    operands = (v, ts.stored.array(a)) if turned else (ts.stored.array(a), v)
    assert ts.stored.plan(ts.stored.matmul, *operands, device=DEVICE).device_peak > 0
    near(ts.stored.matmul(*operands, device=DEVICE).numpy(), v @ a if turned else a @ v, "float64")
    with pytest.raises(ts.DeviceError, match="sim:99"):
        ts.stored.matmul(*operands, device="sim:99")


@pytest.fixture
def faults():
    """Marks of jobs wherever they can be; a function that makes the n-th write of a call fail."""
    ts._tessera._stored_mark_interval(0.0)
    yield lambda nth: ts._tessera._stored_faults("disk full" if nth else "", nth)
    ts._tessera._stored_faults("", 0)
    ts._tessera._stored_mark_interval(1.0)


@pytest.mark.parametrize("call", ["matmul", "solve", "inverse"])
@pytest.mark.parametrize("begun, on", [("cpu", DEVICE), (DEVICE, "cpu")])
def test_jobs_are_of_one_kind_of_device(call, begun, on, faults, tmp_path):
    """Steps and bits follow from it: a job is not ended elsewhere, and says where it was begun."""
    n = 300
    a = drawn((n, n), "float64", 1) + n * np.eye(n)
    x, path = ts.stored.array(a), tmp_path / "y.tiles"
    operands = [x] if call == "inverse" else [x, x]

    def run(device):
        with host_memory(600_000), ts.memory_budget(device={DEVICE: ts.memory_stats(DEVICE)["in_use"] + 300_000}):
            return getattr(ts.stored, call)(*operands, path=path, device=device)

    for nth in range(1, 60):
        faults(nth)
        try:
            run(begun)
        except OSError:
            pass
        finally:
            faults(0)
        if os.path.exists(f"{path}.job"):
            break
        assert not path.exists(), "no write of the call left a job"
    with pytest.raises(ValueError, match=f"{call}.* on sim"):
        run(on)
    found = run(begun)
    want = {"matmul": a @ a, "solve": np.eye(n), "inverse": np.linalg.inv(a)}[call]
    assert relative(found.numpy(), want) < 1e-12


@pytest.mark.parametrize("n", [3, 60, 400])
def test_the_host_holds_what_the_plan_says(n):
    a = drawn((n, n), "float64", 1) + n * np.eye(n)
    out = ts.zeros((n, n))
    plan = ts.stored.plan(ts.stored.inverse, a, out=out, device=DEVICE)
    ts.stored.inverse(a, out=out, device=DEVICE)  # what stays: plans, rings of pinned memory
    held = ts.memory_stats("cpu")["in_use"]
    ts.reset_peak("cpu")
    ts.stored.inverse(a, out=out, device=DEVICE)
    assert ts.memory_stats("cpu")["peak"] - held <= plan.host_peak
