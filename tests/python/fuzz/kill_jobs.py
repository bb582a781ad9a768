# SPDX-License-Identifier: Apache-2.0
"""Jobs on arrays on disk that are killed at random moments and begun again: the bits of the end are those of a run that
nobody disturbed, and nothing is left beside them.

usage: kill_jobs.py KILLS [SEED [KIND ...]]: so many kills of each kind of job. Without kinds all of them.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import tessera as ts

BUDGET = 2 << 20


def weighed_rows(columns):
    """An operator on rows, of which no part is as large as what it is applied to."""
    rng = np.random.default_rng(7)
    weights, mixing = rng.standard_normal((1, columns)), rng.standard_normal((60, columns))
    return ts.Dense(mixing, ("M", "N"), ("B", "N"), ("B", "M")) @ ts.Diagonal(weights, ("B", "N"))


def solved(solver, A, *right, c, **options):
    """The solution as a file; states of the solver are beside it until it is there."""
    state, part = c.with_name("c.state"), c.with_name("c.part")
    found = solver(A, *right, maxiter=12, rtol=0.0, checkpoint=ts.solve.Checkpoint(str(state), every=1), **options)
    file = np.lib.format.open_memmap(part, "w+", "f8", found.x.shape)
    for row in range(0, len(file), 100):
        file[row : row + 100] = found.x[row : row + 100].numpy()
    del file
    os.replace(part, c)
    for left in c.parent.glob("c.state*"):
        left.unlink()


def weights(columns):
    """A positive operator, the same for each row."""
    return ts.Diagonal(1 + np.random.default_rng(7).random((1, columns)), ("B", "N"))


KINDS = {
    "matmul": lambda a, b, c: ts.stored.matmul(a, b, c),
    "transpose": lambda a, b, c: a.transpose(path=c),
    "formula": lambda a, b, c: (ts.sqrt(ts.abs(a)) * 2 - a).save(c),
    "cholesky": lambda a, b, c: ts.stored.cholesky(a, path=c),
    "solve": lambda a, b, c: ts.stored.solve(a, b, path=c),
    "inverse": lambda a, b, c: ts.stored.inverse(a, path=c),
    "sort": lambda a, b, c: ts.stored.sort(a, path=c),
    "compute_k": lambda a, b, c: ts.matrix.compute_k(ts.stored.matrix(a, "Triangular", strict=True), 900.0, c),
    "fft": lambda a, b, c: ts.stored.fft(a, path=c),
    "ifftn": lambda a, b, c: ts.stored.ifftn(a, path=c),
    "rfft": lambda a, b, c: ts.stored.rfft(a, axis=0, norm="ortho", path=c),
    "fftshift": lambda a, b, c: ts.stored.fftshift(a, path=c),
    "apply": lambda a, b, c: ts.stored.apply(weighed_rows(a.shape[1]), a, path=c),
    "apply_fft": lambda a, b, c: ts.stored.apply(ts.FFT(1, ("B",), (("X",), ("K",))), a, path=c),
    "bits": lambda a, b, c: ts.matrix.boolean_product(a, b, c),
    "form": lambda a, b, c: a.save(c),
    "cg": lambda a, b, c: solved(ts.solve.cg, weights(a.shape[1]), a, c=c),
    "lsqr": lambda a, b, c: solved(ts.solve.lsqr, weights(a.shape[1]), a, c=c),
    "fista": lambda a, b, c: solved(ts.solve.fista, weights(a.shape[1]), a, ts.solve.prox.l1(0.1), c=c, step=0.1),
}
SOLVES = ("cg", "lsqr", "fista")  # whose states may be there beside a result, until the call has ended


def operands(kind, rng):
    if kind == "bits":
        return tuple(ts.matrix.Bit(rng.random(shape) < 0.01) for shape in ((1500, 3000), (3000, 1200)))
    if kind == "form":
        return ts.matrix.Triangular(np.triu(rng.standard_normal((900, 900)))), np.zeros(1)
    if kind in ("sort", "fft"):
        return rng.standard_normal(600_000), np.zeros(1)
    if kind in ("cholesky", "solve", "inverse", "compute_k"):
        a = rng.standard_normal((500, 500))
        return a @ a.T + np.eye(500), rng.standard_normal((500, 300))
    return rng.standard_normal((900, 700)), rng.standard_normal((700, 800))


def begin(kind, folder):
    """A child that works on the job; what it says of a failure goes to a file beside the folder."""
    child = os.fork()
    if child:
        return child
    try:
        ts.set_memory_budget(host=ts.memory_stats("cpu")["in_use"] + BUDGET)
        ts._tessera._stored_mark_interval(0.0)
        a, b = ts.stored.open(folder / "a"), ts.stored.open(folder / "b")
        KINDS[kind](a, b, folder / "c")
        os._exit(0)
    except BaseException as error:  # whatever it is, the parent says it
        (folder.parent / "failure").write_text(f"{type(error).__name__}: {error}")
        os._exit(1)


def ended(child, folder):
    """Whether a child came to its end."""
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
        return False
    if status:
        failure = folder.parent / "failure"
        raise AssertionError(failure.read_text() if failure.exists() else f"ended with status {status}")
    return True


def check(kind, kills, seed, folder):
    """Kills a kind of job so often; the number of times that it came to its end."""
    folder.mkdir()
    # Files are made by a child: the parent forks, and has no threads.
    if not (child := os.fork()):
        for name, x in zip("ab", operands(kind, np.random.default_rng(5)), strict=True):
            (ts.stored.array if isinstance(x, np.ndarray) else ts.stored.matrix)(x, path=folder / name)
        os._exit(0)
    assert ended(child, folder)
    began = time.monotonic()
    assert ended(begin(kind, folder), folder)
    seconds = time.monotonic() - began
    result = folder / "c"
    wanted = result.read_bytes()
    result.unlink()
    draw, done, whole, since = random.Random(f"{seed} {kind}"), 0, 0, 0
    while done < kills:
        child = begin(kind, folder)
        if since < 20:  # then it may end
            time.sleep(draw.random() * seconds / 2)
            os.kill(child, signal.SIGKILL)
        at_end = ended(child, folder)
        done, since = (done, 0) if at_end else (done + 1, since + 1)
        if not at_end and (kind in SOLVES or not result.exists()):
            continue
        if (folder / "c.job").exists():  # between its last two acts: the same call once more
            assert ended(begin(kind, folder), folder)
        assert result.read_bytes() == wanted, f"{kind}: other bits after {done} kills"
        left = sorted(p.name for p in folder.iterdir())
        assert left == ["a", "b", "c"], f"{kind}: left are {left}"
        result.unlink()
        whole, since = whole + 1, 0
    while not ended(begin(kind, folder), folder):
        pass
    assert result.read_bytes() == wanted, f"{kind}: other bits after {done} kills"
    return whole + 1


def main(arguments):
    kills = int(arguments[0]) if arguments else 200
    seed = int(arguments[1]) if len(arguments) > 1 else 1
    for kind in arguments[2:] or KINDS:
        with tempfile.TemporaryDirectory() as home:
            whole = check(kind, kills, seed, Path(home) / "files")
        print(f"{kind}: {kills} kills, {whole} times at its end, the same bits each time", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
