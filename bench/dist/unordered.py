# SPDX-License-Identifier: Apache-2.0
"""x[key] with a distributed, unordered key, beside the few lines that a program would write with mpi4py: owners are
asked by one Alltoallv of indices and answer by another. Every round has new arrays; both take turns.

usage (under mpirun): ranks.py OUT.json unordered THOUSANDS"""

import time

import numpy as np

import tessera as ts


def read_by_mpi4py(comm, mine, counts, key):
    """What this rank's part of x[key] is, from its parts `mine` of x, distributed by `counts`, and `key`."""
    starts = np.concatenate([[0], np.cumsum(counts)])
    owner = np.searchsorted(starts, key, side="right") - 1
    order = np.argsort(owner, kind="stable")
    sends = np.bincount(owner, minlength=comm.size)
    receives = np.empty_like(sends)
    comm.Alltoall(sends, receives)
    wanted = np.empty(receives.sum(), key.dtype)
    comm.Alltoallv([key[order], sends], [wanted, receives])
    answer = mine[wanted - starts[comm.rank]]
    came = np.empty(len(key), mine.dtype)
    comm.Alltoallv([answer, receives], [came, sends])
    result = np.empty_like(came)
    result[order] = came
    return result


def run_unordered(slate, thousands, rounds=5):
    """Seconds of the slowest rank, the best of some rounds: the first read of a key, the second, and mpi4py's."""
    n, ranks, me = 1000 * thousands, slate.size, slate.rank
    whole = np.random.default_rng(1).permutation(n)
    counts = [len(part) for part in np.array_split(whole, ranks)]
    here = slice(sum(counts[:me]), sum(counts[: me + 1]))
    key, values = whole[here].copy(), np.arange(n, dtype="float64")[here] * 1.5
    expected = key * 1.5
    del whole
    times, right = {}, []

    def clocked(name, read):
        slate.exchange(b"C", 120)
        start = time.perf_counter()
        y = read()
        spent = time.perf_counter() - start
        right.append(np.array_equal(np.asarray(y if isinstance(y, np.ndarray) else y.local), expected))
        times.setdefault(name, []).append(max(slate.everybody(spent)))

    try:
        from mpi4py import MPI
    except Exception:
        MPI = None
    for _ in range(rounds):
        x, k = ts.dist.array(values, is_split=0), ts.dist.array(key, is_split=0)
        clocked("seconds", lambda x=x, k=k: x[k])
        clocked("seconds_again", lambda x=x, k=k: x[k])
        if MPI is not None:
            clocked("mpi4py_seconds", lambda: read_by_mpi4py(MPI.COMM_WORLD, values, counts, key))
    verdict = "ok" if all(slate.everybody(all(right))) else "wrong"
    line = {"name": "unordered", "ranks": ranks, "bytes": n * 8, "verdict": verdict}
    return line | {name: min(seconds) for name, seconds in times.items()}
