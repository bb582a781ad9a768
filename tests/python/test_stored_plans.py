# SPDX-License-Identifier: Apache-2.0
"""What is said before work on arrays on disk is what it does: bytes of files, peaks of memory and disk."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from support import drawn, host_memory

import tessera as ts

MIB = 1 << 20


@pytest.fixture(autouse=True)
def folder(tmp_path):
    ts.set_backing_dir(str(tmp_path))
    yield tmp_path
    ts.set_backing_dir(None)


def positive(n, dtype):
    a = drawn((n, n), dtype, 5)
    return (a @ a.conj().T / n + 4 * np.eye(n)).astype(dtype)


def square(n, dtype):
    return drawn((n, n), dtype, 6) + (4 * n * np.eye(n)[::-1]).astype(dtype)


# Arrays on disk of about n * n numbers, and a call on them.
CASES = {
    "formula": lambda n, t: (lambda a, b: (a * 2 - b).compute(), drawn((n, n), t, 1), drawn((n, n), t, 2)),
    "broadcast": lambda n, t: (lambda a, b: (a + b).compute(), drawn((n, n + 3), t, 1), drawn((n + 3,), t, 2)),
    "sum": lambda n, t: (lambda a, b: ((a - b) * a).sum(), drawn((n, n), t, 1), drawn((n, n), t, 2)),
    "sum over rows": lambda n, t: (lambda a: a.sum(axis=0), drawn((n + 1, n), t, 1)),
    "transpose": lambda n, t: (lambda a: a.T, drawn((n + 5, n), t, 1)),
    "axes": lambda n, t: (lambda a: a.transpose((1, 2, 0)), drawn((7, n, n // 5 + 1), t, 1)),
    "matmul": lambda n, t: (ts.matmul, drawn((n, n + 9), t, 1), drawn((n + 9, n - 11), t, 2)),
    "formula times": lambda n, t: (lambda a, b: (a + 1) @ b, drawn((n, n // 2), t, 1), drawn((n // 2, n), t, 2)),
    "cholesky": lambda n, t: (ts.linalg.cholesky, positive(n, t)),
    "solve": lambda n, t: (ts.linalg.solve, square(n, t), drawn((n, 9), t, 2)),
    "inverse": lambda n, t: (ts.linalg.inv, square(n, t)),
    "solve_triangular": lambda n, t: (
        lambda a, b: ts.linalg.solve_triangular(a, b, lower=True),
        square(n, t) + np.eye(n, dtype=t) * n,
        drawn((n, 7), t, 2),
    ),
    "qr": lambda n, t: (ts.linalg.qr, drawn((20 * n, n // 20), t, 1)),
    "qr, R": lambda n, t: (lambda a: ts.linalg.qr(a, mode="r"), drawn((20 * n, n // 20), t, 1)),
    "svd": lambda n, t: (lambda a: ts.linalg.svd(a, full_matrices=False), drawn((20 * n, n // 20), t, 1)),
    "svd, wide": lambda n, t: (lambda a: ts.linalg.svd(a, full_matrices=False), drawn((n // 20, 20 * n), t, 1)),
    "svdvals": lambda n, t: (ts.linalg.svdvals, drawn((20 * n, n // 20), t, 1)),
    "pinv": lambda n, t: (ts.linalg.pinv, drawn((20 * n, n // 20), t, 1)),
    "lstsq": lambda n, t: (ts.linalg.lstsq, drawn((20 * n, n // 20), t, 1), drawn((20 * n,), t, 2)),
}
SORTS = {
    "sort": lambda n, t: (ts.sort, drawn((n, n), t, 1)),
    "sort of one row": lambda n, t: (ts.sort, drawn((n * n,), t, 1)),
    "sort, axis 0": lambda n, t: (lambda a: ts.sort(a, axis=0), drawn((n, n), t, 1)),
}


def planned_and_measured(function, arrays, budget):
    """The plan, the bytes that files gave and took, and the peaks above what was there before."""
    with host_memory(budget):
        plan = ts.stored.plan(function, *arrays)
        held, there = ts.memory_stats("cpu")["in_use"], ts.memory_tiers()["disk"]["in_use"]
        ts.reset_peak("cpu")
        before = ts._tessera._stored_traffic()
        result = function(*arrays)
        after = ts._tessera._stored_traffic()
        peak = ts.memory_stats("cpu")["peak"] - held
        here = ts.memory_tiers()["disk"]["in_use"] - there
        del result
    return plan, (after[0] - before[0], after[1] - before[1]), peak, here


HEADER = 4096  # of each new file, which is written with it


def check(function, arrays, budget):
    plan, (read, written), peak, kept = planned_and_measured(function, arrays, budget)
    assert abs(read - plan.disk_read) <= 0.02 * plan.disk_read, (read, plan.disk_read)
    files = 4 * plan.passes + 8
    assert plan.disk_written <= written <= 1.02 * plan.disk_written + files * HEADER
    assert peak <= budget
    assert plan.host_peak <= budget
    assert kept <= plan.disk_peak
    assert plan.steps >= plan.passes >= 1


@pytest.mark.parametrize("budget", [3 * MIB, 16 * MIB, 200 * MIB])
@pytest.mark.parametrize("dtype", ["float32", "complex128"])
@pytest.mark.parametrize("case", CASES)
def test_what_is_said_is_done(case, dtype, budget):
    function, *operands = CASES[case](400 if dtype == "complex128" else 700, dtype)
    check(function, [ts.stored.array(x) for x in operands], budget)


@pytest.mark.parametrize("budget", [1 * MIB, 4 * MIB, 200 * MIB])
@pytest.mark.parametrize("dtype", ["int16", "float64"])
@pytest.mark.parametrize("case", SORTS)
def test_what_is_said_of_sorts_is_done(case, dtype, budget):
    function, *operands = SORTS[case](600, dtype)
    check(function, [ts.stored.array(x) for x in operands], budget)


@pytest.mark.parametrize("case", ["formula", "transpose", "matmul", "cholesky", "solve"])
def test_npy_files(case, tmp_path):
    function, *operands = CASES[case](500, "float64")
    for k, x in enumerate(operands):
        np.save(tmp_path / f"{k}.npy", x)
    check(function, [ts.stored.open(tmp_path / f"{k}.npy") for k in range(len(operands))], 6 * MIB)


@pytest.mark.parametrize("shape", [(0, 5), (1, 1), (3, 0)])
def test_small_and_empty(shape):
    x = ts.stored.create(shape)
    for call in (lambda: (x + 1).compute(), lambda: x.T, lambda: x.sum(), lambda: x.T @ x, lambda: ts.sort(x)):
        plan = ts.stored.plan(call)
        assert plan.disk_read == plan.disk_read
        assert plan.explain().endswith("\n")


def test_a_plan_makes_no_file_and_computes_nothing(folder):
    x = ts.stored.array(np.ones((100, 100)))
    f = x * 2
    before, files = ts._tessera._stored_traffic(), sorted(folder.iterdir())
    plan = ts.stored.plan(lambda: (f @ f, f.T, ts.linalg.cholesky(f), ts.linalg.svd(f, full_matrices=False)))
    assert ts._tessera._stored_traffic() == before
    assert sorted(folder.iterdir()) == files
    assert f.is_formula
    assert plan.passes >= 6


def test_a_job_is_planned_as_it_begins(tmp_path):
    a = ts.stored.array(np.ones((300, 300)), tmp_path / "a.tiles")
    path = tmp_path / "c.tiles"
    plan = ts.stored.plan(ts.stored.matmul, a, a, path=path)
    assert not list(tmp_path.glob("c.tiles*"))
    before = ts._tessera._stored_traffic()
    ts.stored.matmul(a, a, path=path)
    after = ts._tessera._stored_traffic()
    assert abs(after[0] - before[0] - plan.disk_read) <= 3 * HEADER
    assert str(path) in plan.explain() and "goes on where it was ended" in plan.explain()


def test_names_and_refusals():
    x = ts.stored.ones((40, 40))
    assert ts.stored.plan("matmul", x, x).disk_read == ts.stored.plan(ts.matmul, x, x).disk_read
    assert "about" in ts.stored.explain("cholesky", x)
    with pytest.raises(ts.ArgumentError, match="'no_such'"):
        ts.stored.plan("no_such", x)
    with pytest.raises(ts.ArgumentError, match="within another explain"):
        ts.stored.plan(lambda: ts.stored.plan(ts.matmul, x, x))
    with pytest.raises(ts.ShapeError, match="cannot be multiplied"):
        ts.stored.plan(ts.matmul, x, ts.stored.ones((3, 3)))
    assert (x @ x)[0, 0].item() == 40  # and after a failure calls do their work again
    with host_memory(1000), pytest.raises(ts.OutOfMemory, match="budget"):
        ts.stored.plan(ts.linalg.cholesky, ts.stored.ones((2000, 2000)))


def test_seconds():
    x = ts.stored.ones((64, 64))
    small, large = ts.stored.plan(ts.matmul, x, x), ts.stored.plan(ts.matmul, *[ts.stored.zeros((4096, 4096))] * 2)
    assert 0 < small.seconds < large.seconds


@pytest.mark.parametrize("call", [lambda a: ts.linalg.solve(a, a), ts.linalg.inv])
def test_factors_stay_in_memory_where_they_have_room(call):
    a = ts.stored.array(square(300, "float64"))  # 0.7 MB
    with host_memory(64 * MIB):
        plan = ts.stored.plan(call, a)
        assert "from host memory" in plan.explain()
        assert plan.host_written >= a.nbytes and plan.disk_written == a.nbytes
        roomy = call(a).numpy()
    with host_memory(600_000):  # less than the factors
        text = ts.stored.explain(call, a)
        assert "from disk" in text and "from host memory" not in text
        narrow = call(a)
    np.testing.assert_allclose(narrow.numpy(), roomy, rtol=0, atol=1e-12)


def test_the_factors_of_a_job_are_in_a_file(tmp_path):
    a = ts.stored.array(square(100, "float64"), tmp_path / "a")
    assert "a job are in a file" in ts.stored.explain(ts.stored.solve, a, a, path=tmp_path / "x")


HELD = """
import tessera as ts
x = ts.stored.zeros((4000, 4000))
left = ts.memory_tiers()["cpu"]["left"]
print(ts.stored.plan(ts.matmul, x, x).host_peak, left)
"""


def test_ranks_of_a_machine_share_its_memory(folder):
    """Without a budget each plans for its share of what there is."""
    for ranks in (1, 4096):
        environment = dict(os.environ, OMPI_COMM_WORLD_LOCAL_SIZE=str(ranks), TESSERA_BACKING_DIR=str(folder))
        done = subprocess.run([sys.executable, "-c", HELD], env=environment, capture_output=True, text=True, check=True)
        peak, left = map(int, done.stdout.split())
        assert 0 < ranks * peak <= left
