# SPDX-License-Identifier: Apache-2.0
"""Arrays on disk in programs of several ranks: each rank has its files, in one folder or in its own, and what ranks
compute from them is put together by distributed arrays."""

import hashlib
import os

import numpy as np
import pytest
from checks import outcome, settle
from layouts import WORLD

import tessera as ts

RANK, SIZE = WORLD.rank, WORLD.size


@pytest.fixture(params=["one folder", "a folder of each rank"])
def backing(request, folder):
    path = folder / "backing" if request.param == "one folder" else folder / f"backing{RANK}"
    ts.set_backing_dir(path)
    yield path
    ts.set_backing_dir(None)


def matrix(seed, rows=60, columns=40):
    return np.random.default_rng(seed).standard_normal((rows, columns))


def work(a, b):
    """Every kind of file: operands, results, what is between passes."""
    p = a @ b
    with ts.memory_budget(host=ts.memory_stats("cpu")["in_use"] + (300 << 10)):
        results = [p, p.T, (p * 2 - 1).compute(), ts.sort(p), ts.fft.fft2(p), ts.linalg.qr(a)[0]]
        results += [ts.linalg.solve(b @ a + 99 * ts.stored.array(np.eye(len(b))), b)]
    return [hashlib.sha256(np.asarray(x).tobytes()).hexdigest() for x in results], p.numpy()


def test_files_of_ranks_do_not_meet(slate, backing):
    """The same calls at the same time: the numbers of each rank are its own, and its files go."""
    a, b = matrix(RANK), matrix(100 + RANK, 40, 60)
    got, product = work(ts.stored.array(a), ts.stored.array(b))
    assert not abs(product - a @ b).max() > 1e-12
    said = slate.everybody(got)
    assert len({bits for other in said for bits in other}) == SIZE * len(got)  # no file is another rank's
    assert work(ts.stored.array(a), ts.stored.array(b))[0] == got
    slate.everybody(None)
    assert list(backing.iterdir()) == []
    settle(slate, None)


def test_files_of_the_living_stay(slate, backing):
    """Whoever names the folder later removes nothing of the others."""
    x = ts.stored.array(np.full(1000, float(RANK)))
    slate.everybody(None)
    ts.set_backing_dir(backing)
    slate.everybody(None)
    assert x.sum().item() == 1000 * RANK
    settle(slate, None)


def test_a_job_of_each_rank(slate, folder):
    """Paths that tell the ranks apart; one file may be an operand of all."""
    shared = folder / "b.tiles"
    if RANK == 0:
        ts.stored.array(matrix(1, 40, 30), shared)
    slate.everybody(None)
    a = matrix(2 + RANK)
    c = ts.stored.matmul(ts.stored.array(a), ts.stored.open(shared), path=folder / f"c.{RANK}.tiles")
    assert not abs(c.numpy() - a @ matrix(1, 40, 30)).max() > 1e-12
    settle(slate, None)
    assert sorted(os.listdir(folder)) == sorted(["b.tiles", *(f"c.{r}.tiles" for r in range(SIZE))])


def test_one_path_for_all_ranks_is_made_once(slate, folder):
    """One of them does the work, the others are told so; none spoils it."""
    a = matrix(3)
    got = outcome(lambda: ts.stored.array(a).transpose(path=folder / "t.tiles"))
    said = slate.everybody(got[0] if got[0] == "value" else (got[1].__name__, got[2]))
    assert said.count("value") == 1
    for other in said:
        assert other == "value" or (other[0] == "IoError" and ("exists" in other[1] or "another process" in other[1]))
    assert np.array_equal(ts.stored.open(folder / "t.tiles").numpy(), a.T)
    settle(slate, None)
    assert os.listdir(folder) == ["t.tiles"]


def test_rows_on_the_disk_of_each_rank(slate, backing):
    """A tall matrix whose rows lie with the ranks: sums, a Gram matrix and least squares of all of it."""
    a, b = np.vstack([matrix(r, 50 + r, 7) for r in range(SIZE)]), np.arange(50.0 * SIZE + SIZE * (SIZE - 1) / 2)
    first = sum(50 + r for r in range(RANK))
    mine = slice(first, first + 50 + RANK)
    here, right = ts.stored.array(a[mine]), ts.stored.array(b[mine])

    def gathered(part):
        return ts.dist.array(part, is_split=0)

    total = gathered(here.sum(axis=0, keepdims=True)).sum(axis=0)
    assert not abs(total.numpy() - a.sum(axis=0)).max() > 1e-11
    gram = gathered((here.T @ here).numpy()[None]).sum(axis=0)
    assert not abs(gram.numpy() - a.T @ a).max() > 1e-11
    # Of each rank's rows the triangle, of all triangles the answer.
    q, r = ts.linalg.qr(here)
    image = q.T @ right.numpy()[:, None]
    x = ts.linalg.lstsq(gathered(r).numpy(), gathered(image.numpy()).numpy()).x
    assert not abs(x.numpy()[:, 0] - np.linalg.lstsq(a, b, rcond=None)[0]).max() > 1e-10
    settle(slate, None, x.numpy().tobytes())
