# SPDX-License-Identifier: Apache-2.0
"""Arrays that memory or its budget has no room for are made on disk, where a folder for it was named."""

import os
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tessera as ts

SHAPE = (1100, 1003)
ROOM = 4 << 20  # less than any of these arrays has


@pytest.fixture
def little(tmp_path):
    """A budget of the host that holds little more than there is, and a folder."""
    with ts.memory_budget(host=ts.memory_stats()["in_use"] + ROOM, disk_dir=tmp_path):
        yield tmp_path
    assert not list(tmp_path.iterdir()), "files are left"


def whole(x):
    """In memory, where the budget ends."""
    assert isinstance(x, ts.stored.StoredArray)
    with ts.memory_budget(host=0):
        return x.numpy()


CALLS = [
    (lambda: ts.zeros(SHAPE), np.zeros(SHAPE)),
    (lambda: ts.zeros(SHAPE, "complex64"), np.zeros(SHAPE, "complex64")),
    (lambda: ts.zeros(shape=SHAPE, dtype=ts.float64, device="cpu"), np.zeros(SHAPE)),
    (lambda: ts.zeros(3 * 10**6), np.zeros(3 * 10**6)),
    (lambda: ts.zeros((7, 300, 400), device=ts.Device("cpu")), np.zeros((7, 300, 400))),
    (lambda: ts.empty(SHAPE), np.zeros(SHAPE)),
    (lambda: ts.empty(10**6), np.zeros(10**6)),
    (lambda: ts.ones(SHAPE), np.ones(SHAPE)),
    (lambda: ts.ones(SHAPE, dtype="complex128"), np.ones(SHAPE, "complex128")),
    (lambda: ts.full(SHAPE, 2.5), np.full(SHAPE, 2.5)),
    (lambda: ts.full(SHAPE, 7), np.full(SHAPE, 7)),
    (lambda: ts.full(SHAPE, fill_value=1 + 2j), np.full(SHAPE, 1 + 2j)),
    (lambda: ts.full(SHAPE, -3, dtype="float64"), np.full(SHAPE, -3.0)),
    (lambda: ts.zeros_like(ts.ones(3), shape=SHAPE), np.zeros(SHAPE)),
    (lambda: ts.zeros_like(ts.zeros(SHAPE)), np.zeros(SHAPE)),
    (lambda: ts.empty_like(ts.ones(3, "int64"), shape=SHAPE), np.zeros(SHAPE, "int64")),
    (lambda: ts.ones_like(ts.zeros(SHAPE), dtype="complex64"), np.ones(SHAPE, "complex64")),
    (lambda: ts.full_like(ts.ones(3), 2.5, shape=SHAPE), np.full(SHAPE, 2.5)),
    (lambda: ts.full_like(ts.zeros(SHAPE), fill_value=3), np.full(SHAPE, 3.0)),
    (lambda: ts.arange(10**6), np.arange(10**6)),
    (lambda: ts.arange(5, 10**6, 0.75), np.arange(5, 10**6, 0.75)),
    (lambda: ts.arange(10**6, 0, -1, dtype="float64"), np.arange(10**6, 0, -1, dtype="float64")),
    (lambda: ts.linspace(-1, 3, 10**6), np.linspace(-1, 3, 10**6)),
    (lambda: ts.linspace(0, 1, 10**6 + 7, endpoint=False), np.linspace(0, 1, 10**6 + 7, endpoint=False)),
    (lambda: ts.eye(1100), np.eye(1100)),
    (lambda: ts.eye(1100, 1003, -70, dtype="complex64"), np.eye(1100, 1003, -70, dtype="complex64")),
    (lambda: ts.eye(1100, 1003, k=5000), np.eye(1100, 1003, k=5000)),
]


@pytest.mark.parametrize("case", range(len(CALLS)))
def test_arrays_beyond_the_budget_are_on_disk(little, case):
    make, expected = CALLS[case]
    found = make()
    assert (found.shape, found.dtype) == (expected.shape, ts.asarray(expected[..., :0]).dtype)
    assert not found.is_formula
    assert np.array_equal(whole(found), expected)
    found[0] = 9  # an array like any other
    assert (whole(found)[0] == 9).all()


DRAWS = [
    lambda r: r.normal(SHAPE),
    lambda r: r.normal(SHAPE, "complex64", mean=1, deviation=3),
    lambda r: r.normal(size=(2, 700, 901), loc=5.0, scale=0.5),
    lambda r: r.uniform(SHAPE, low=2, high=3),
    lambda r: r.uniform(3 * 10**6, "float32"),
    lambda r: r.integers(0, 10, SHAPE),
    lambda r: r.integers(1000, shape=(3 * 10**6,), dtype="int32"),
]


@pytest.mark.parametrize("case", range(len(DRAWS)))
def test_random_numbers_are_those_of_memory(tmp_path, case):
    draw = DRAWS[case]
    ts.random.seed(11)
    expected = [draw(ts.random).numpy(), ts.random.normal(5).numpy()]
    ts.random.seed(11)
    with ts.memory_budget(host=ts.memory_stats()["in_use"] + ROOM, disk_dir=tmp_path):
        found = draw(ts.random)
        assert np.array_equal(whole(found), expected[0])
        assert np.array_equal(ts.random.normal(5).numpy(), expected[1])  # the next draw is the next there, too


def test_draws_that_are_refused_take_no_number():
    ts.random.seed(4)
    expected = ts.random.normal(5).tolist()
    ts.random.seed(4)
    with ts.memory_budget(host=1), pytest.raises(ts.OutOfMemory, match="set_backing_dir"):
        ts.random.normal(SHAPE)
    assert ts.random.normal(5).tolist() == expected


def test_without_a_folder_the_refusal_says_what_to_set():
    with ts.memory_budget(host=ts.memory_stats()["in_use"] + ROOM):
        for make, _ in CALLS:
            with pytest.raises(ts.OutOfMemory, match="budget of .*ts.set_backing_dir it would be created on disk"):
                make()
    with pytest.raises(ts.OutOfMemory, match="are left.*ts.set_backing_dir"):
        ts.zeros(2**42)


def test_what_the_disk_cannot_hold_is_refused(little):
    for n in (2**44, 2**62, 2**63 - 1):
        for make in (ts.zeros, ts.empty, ts.ones, lambda n: ts.full(n, 2), ts.random.normal):
            with pytest.raises((ts.OutOfMemory, ts.ShapeError)) as caught:
                make(n)
            assert isinstance(caught.value, ts.ShapeError) or "nor does it fit on disk" in str(caught.value)
    with ts.memory_budget(disk="1MiB"), pytest.raises(ts.OutOfMemory, match="1.00 MiB are left"):
        ts.zeros(SHAPE)


def test_other_devices_and_calls_of_the_package_are_refused_as_before(little):
    with ts.memory_budget(device={"sim:0": "1MiB"}):
        with pytest.raises(ts.OutOfMemory, match="sim:0") as caught:
            ts.zeros(SHAPE, device="sim:0")
        assert "disk" not in str(caught.value)
    for call in (lambda: ts.bincount([10**7]), lambda: ts.tile([1.0], 10**7)):
        with pytest.raises(ts.OutOfMemory):
            call()
    with pytest.raises((TypeError, ts.Error)):
        ts.zeros("many")
    assert ts.zeros(10).tolist() == [0] * 10  # what fits is in memory


def occupied():
    return ts.memory_tiers()["disk"]["reserved"]


def test_zeros_take_no_disk_before_they_are_written(little):
    x = ts.zeros((2**14, 2**14))  # 2 GiB
    assert isinstance(x, ts.stored.StoredArray)
    tiers = ts.memory_tiers()["disk"]
    assert tiers["in_use"] >= 2 << 30 and tiers["reserved"] < 1 << 20
    assert x[5000, 6000].item() == 0
    x[1:3, 10:20] = 4
    assert tiers["reserved"] <= occupied() < 64 << 20
    assert float(x[:4].sum()) == 80
    del x
    assert occupied() == 0


def test_formulas_and_reductions_go_on_from_there(little):
    ts.random.seed(1)
    a, b = ts.random.normal(SHAPE), ts.ones(SHAPE)
    ts.reset_peak()
    error = ((a - b) ** 2).mean().item()
    assert abs(error - 2) < 0.02
    assert ts.memory_stats()["peak"] <= ts.memory_stats()["budget"]


BEYOND_MEMORY = """
import resource, tessera as ts
most = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize() + (300 << 20)
resource.setrlimit(resource.RLIMIT_AS, (most, most))
x = ts.zeros((2**13, 2**13 + 5))  # 512 MiB
assert isinstance(x, ts.stored.StoredArray), x
x[4096] = 1
print(float(x.sum()), len(list(__import__("pathlib").Path(ts.backing_dir()).iterdir())))
"""


def test_memory_that_ends_and_a_folder_of_the_environment(tmp_path):
    few = dict(os.environ, OPENBLAS_NUM_THREADS="1", TESSERA_NUM_THREADS="2", TESSERA_POISON="0")
    few["MALLOC_ARENA_MAX"] = "1"  # else malloc sets 64 MiB of addresses aside for each thread that reads files
    folder = tmp_path / "made" / "when needed"
    command = [sys.executable, "-c", BEYOND_MEMORY]
    few["TESSERA_BACKING_DIR"] = str(folder)
    ended = subprocess.run(command, capture_output=True, text=True, timeout=300, env=few)
    assert ended.stdout.split() == [f"{2.0**13 + 5}", "1"], ended.stderr[-2000:]
    assert not list(folder.iterdir())


MEANWHILE = """
import threading, tessera as ts
with ts.memory_budget(host="16MiB"):
    drawing = threading.Thread(target=lambda: ts.random.normal((3000, 1500)))
    drawing.start()
    while drawing.is_alive():
        ts.random.normal(3)
    y = ts.stored.ones((3000, 1500)) * 2
    computing = threading.Thread(target=y.transpose)
    computing.start()
    while computing.is_alive():
        assert "3000" in repr(y + 1) + repr(y)
print(float(y.max()))
"""


def test_threads_look_and_draw_while_another_computes(tmp_path):
    """Who works on disk looks for Ctrl-C, for which it needs the interpreter: nobody waits for it with that in hand."""
    command, where = [sys.executable, "-c", MEANWHILE], dict(os.environ, TESSERA_BACKING_DIR=str(tmp_path))
    ended = subprocess.run(command, capture_output=True, text=True, timeout=300, env=where)
    assert ended.stdout.strip() == "2.0", ended.stderr[-2000:]


def test_resident_memory_stays_small(little):
    def resident():
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()

    before = resident()
    x = ts.random.uniform((3000, 2500), "float64")  # 57 MiB
    assert 0.49 < x.mean().item() < 0.51
    assert resident() - before < 48 << 20


@pytest.mark.parametrize("shape", [np.int64(10**7), np.array([10**4, 10**3]), [np.int32(10**4), 10**3]])
def test_sizes_of_numpy(little, shape):
    assert ts.zeros(shape).shape == ts.stored.zeros(shape).shape
    assert isinstance(ts.zeros(shape), ts.stored.StoredArray)
