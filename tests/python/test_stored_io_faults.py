# SPDX-License-Identifier: Apache-2.0
"""Every call to the disk of every kind of job fails once: a sentence, inputs as they were, nothing left but what the
same call goes on from, and then the bits of a run that nobody disturbed."""

from __future__ import annotations

import os

import numpy as np
import pytest
from support import host_memory

import tessera as ts

MIB = 1 << 20
N = 300


@pytest.fixture
def folders(tmp_path):
    """A folder of operands and results, and the backing folder; marks are made wherever they can be."""
    (tmp_path / "backing").mkdir()
    ts.set_backing_dir(str(tmp_path / "backing"))
    ts._tessera._stored_mark_interval(0.0)
    rng = np.random.default_rng(1)
    a = rng.standard_normal((N, N))
    for name, x in {"a": a, "p": a @ a.T + N * np.eye(N), "b": rng.standard_normal((N, 40))}.items():
        ts.stored.array(x, tmp_path / name)
    ts.stored.array((np.triu(rng.random((N, N)), 1)) / N, tmp_path / "u")
    yield tmp_path
    ts._tessera._stored_faults("", 0)
    ts._tessera._stored_mark_interval(1.0)
    ts.set_backing_dir(None)


def opened(folder):
    return [ts.stored.open(folder / name) for name in ("a", "p", "b", "u")]


def triangle(u):
    return ts.stored.matrix(u, "Triangular", strict=True)


def smooth(n):
    return (
        ts.FFT(1, ("X",), ("Y", "K")).H
        @ ts.Diagonal(1.0 / (1 + np.arange(n)), ("X", "K"))
        @ ts.FFT(1, ("X",), ("Y", "K"))
    )


def matrix_of(a):
    """Of columns, which is cut along its rows and columns."""
    return ts.Dense(a, ("M", "N"), ("N", "T"), ("M", "T")).rename({"M": "N1"})


# Calls of a job that are made to fail, spread over it; all of them with TESSERA_LARGE=1.
MOST = {"disk full": 10, "error": 10, "ended": 4, "short": 4}


JOBS = {
    "save": lambda a, p, b, u, path: (a * 2 + p).save(path),
    "transpose": lambda a, p, b, u, path: a.transpose(path=path),
    "matmul": lambda a, p, b, u, path: ts.stored.matmul(a, b, path),
    "cholesky": lambda a, p, b, u, path: ts.stored.cholesky(p, path=path),
    "solve": lambda a, p, b, u, path: ts.stored.solve(a, b, path=path),
    "inverse": lambda a, p, b, u, path: ts.stored.inverse(p, path=path),
    "sort": lambda a, p, b, u, path: ts.stored.sort(a, path=path),
    "columns": lambda a, p, b, u, path: ts.stored.sort(b, axis=0, path=path),
    "fft": lambda a, p, b, u, path: ts.stored.fft2(b, path=path),
    "apply": lambda a, p, b, u, path: ts.stored.apply(smooth(N), a, path=path),
    "form": lambda a, p, b, u, path: triangle(u).save(path),
    "product": lambda a, p, b, u, path: ts.stored.matmul(triangle(u), triangle(u), path),
    "compute_k": lambda a, p, b, u, path: ts.matrix.compute_k(triangle(u), 2.0, path),
}
# Solves go on from a checkpoint, and their result is no file of their own.
SOLVES = {
    "cg": lambda a, p, b, u, path: ts.solve.cg(matrix_of(p), b, maxiter=3, rtol=0.0, checkpoint=path),
    "lsmr": lambda a, p, b, u, path: ts.solve.lsmr(matrix_of(a), b, maxiter=3, rtol=0.0, checkpoint=path),
}
# Work without a path leaves nothing at all.
OTHERS = {
    "sum": lambda a, p, b, u, path: (a * p).sum(axis=0),
    "qr": lambda a, p, b, u, path: ts.linalg.qr(b)[0],
    "svd": lambda a, p, b, u, path: ts.linalg.svd(b, full_matrices=False)[0],
    "randomized_svd": lambda a, p, b, u, path: ts.solve.randomized_svd(a, k=3, maxiter=2).U,
    "product here": lambda a, p, b, u, path: a @ b,
    "solve here": lambda a, p, b, u, path: ts.linalg.solve(a, b),
    "fft here": lambda a, p, b, u, path: ts.fft.rfftn(b),
}
CALLS = {
    **{name: (call, "job") for name, call in JOBS.items()},
    **{name: (lambda *x, call=call: call(*x).x, "solve") for name, call in SOLVES.items()},
    **{name: (call, "none") for name, call in OTHERS.items()},
}


def bits_of(x):
    return np.asarray(x).tobytes()


def run(name, folder, path, fault="", nth=0):
    """The bits of the result and the calls that there were; what goes wrong is raised."""
    call, _ = CALLS[name]
    with host_memory(2 * MIB):
        operands = opened(folder)
        ts._tessera._stored_faults(fault, nth)
        try:
            found = call(*operands, path)
        finally:
            calls = ts._tessera._stored_faults("", 0)
    return bits_of(found), calls


def leftovers(folder, inputs):
    return {p.name for p in folder.iterdir() if p.name not in inputs}


@pytest.mark.parametrize("fault", ["disk full", "error", "ended", "short"])
@pytest.mark.parametrize("name", CALLS)
def test_every_call_fails_once(folders, name, fault):
    kind = CALLS[name][1]
    inputs = {p.name: p.read_bytes() for p in folders.iterdir() if p.is_file()}
    known = {*inputs, "backing"}
    whole, calls = run(name, folders, folders / "whole", fault)
    for made in leftovers(folders, known):
        (folders / made).unlink()
    failed = 0
    tried = calls if os.environ.get("TESSERA_LARGE") else min(calls, MOST[fault])
    for nth in np.unique(np.linspace(1, calls, tried).astype(int)).tolist():
        path = folders / f"c{nth}"
        try:
            bits, _ = run(name, folders, path, fault, nth)
            assert bits == whole, (nth, "it came through, with other bits")
        except OSError as error:
            failed += 1
            assert fault != "short" and len(str(error)) > 20, error
            if kind == "job":  # all but its last act, to look at the file: the same call finds it
                assert not path.exists() or (folders / f"{path.name}.job").exists()
            if kind == "none":
                assert leftovers(folders, known) == set(), nth
            bits, _ = run(name, folders, path)
            assert bits == whole, (nth, "the second run gave other bits")
        assert list((folders / "backing").iterdir()) == [], nth
        made = leftovers(folders, known)
        assert all(p.startswith(path.name) for p in made), made
        if kind == "job":
            assert made == {path.name}, made
        for left in made:
            (folders / left).unlink()
    assert {p.name: p.read_bytes() for p in folders.iterdir() if p.is_file()} == inputs
    assert failed > 0 or fault == "short" or calls == 0, calls
