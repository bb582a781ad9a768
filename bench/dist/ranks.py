# SPDX-License-Identifier: Apache-2.0
"""One rank of bench_dist.py: every row, ours and Heat's in turn, in one MPI job.

usage (under mpirun): ranks.py OUT.json WHAT FIRST   with WHAT: rows, redistribution
Rank 0 appends one line of JSON per row to OUT.json; FIRST is the number of the row to begin with."""

import ctypes
import json
import os
import statistics
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))
import rows as table  # noqa: E402
from model import Layout  # noqa: E402
from slate import Slate  # noqa: E402

import tessera as ts  # noqa: E402

try:
    import heat as ht
except Exception:  # not installed, or not able to load: our rows alone
    ht = None

SLATE = Slate()
ROUNDS = 5


class Counter:
    """bench/dist/mpi_sent.c, loaded before MPI: what any library hands to MPI. None where it was not compiled."""

    def __init__(self):
        path = os.environ.get("TESSERA_MPI_SENT")
        self.lib = ctypes.CDLL(path) if path else None
        if self.lib:
            self.lib.sent_calls.restype = self.lib.sent_bytes.restype = ctypes.c_longlong

    def reset(self):
        if self.lib:
            self.lib.sent_reset()

    def read(self):
        return (self.lib.sent_calls(), self.lib.sent_bytes()) if self.lib else (0, 0)


class Ours:
    name = "tessera"

    def array(self, a, split):
        return ts.dist.array(a, split=split)

    def look(self, y):
        return y.local

    def whole(self, y):
        return y.numpy()

    def layout(self, y):
        return Layout(None, (0,) * SLATE.size) if y.split is None else Layout(y.split, tuple(y.counts))


class Heats:
    name = "Heat"

    def array(self, a, split):
        return ht.array(a, split=split)

    def look(self, y):
        return y.larray

    def whole(self, y):
        return y.numpy()


def prepared(lib, row):
    """A fresh x, key and value: nothing that was cached for another round helps."""
    x = lib.array(table.numbers(row), row.split)
    made = lambda o: lib.array(o.array, o.split) if isinstance(o, table.Dealt) else o
    key = tuple(made(k) for k in row.key)
    return x, key[0] if len(key) == 1 else key, made(row.value)


def act(lib, x, key, value):
    if value is None:
        y = x[key]
        lib.look(y)
        return y
    x[key] = value
    return x


def meet():
    SLATE.exchange(b"C", 120)


def one(lib, row, counter, rounds):
    """Seconds (of the slowest rank) by round, what was sent in all, and the last result."""
    times, sent = [], None
    for _ in range(rounds):
        x, key, value = prepared(lib, row)
        meet()
        counter.reset()
        before = ts.dist.world.traffic
        start = time.perf_counter()
        y = act(lib, x, key, value)
        spent = time.perf_counter() - start
        own = ts.dist.world.traffic - before
        mine = (*counter.read(), own.messages, own.bytes, spent)
        everybody = SLATE.everybody(mine)
        times.append(max(m[-1] for m in everybody))
        sent = [sum(m[i] for m in everybody) for i in range(4)]
    return times, sent, y


def verdict_of(lib, row, y):
    expected = table.reference(row)
    got = np.asarray(lib.whole(y))
    return "ok" if got.shape == expected.shape and np.array_equal(got, expected) else "wrong"


def heats_turn(row, counter):
    """Heat may refuse, on all ranks or on some; then its group cannot be used any further."""
    lib = Heats()
    problem, times, sent, verdict = "", [], [0, 0, 0, 0], "ok"
    try:
        times, sent, y = one(lib, row, counter, ROUNDS)
        verdict = verdict_of(lib, row, y)
    except Exception as error:
        problem = f"raises {type(error).__name__}"
    said = SLATE.everybody(problem or verdict)
    verdict = next((s for s in said if s.startswith("raises")), "wrong" if "wrong" in said else "ok")
    if len(set(said)) > 1 and verdict.startswith("raises"):
        verdict += " on some ranks"
    return times, sent, verdict


def run_rows(out, first):
    counter = Counter()
    for number, row in enumerate(table.rows()):
        if number < first:
            continue
        if SLATE.rank == 0:
            out.with_suffix(".running").write_text(str(number))
        times, sent, y = one(Ours(), row, counter, ROUNDS)
        line = {
            "row": number,
            "name": row.name,
            "ranks": SLATE.size,
            "seconds": statistics.median(times),
            "messages": sent[2],
            "bytes": sent[3],
            "bytes_seen_by_mpi": sent[1],
            "verdict": verdict_of(Ours(), row, y),
        }
        layout = Ours().layout(y) if row.value is None else None
        line["bound"] = table.lower_bound(row, SLATE.size, layout)
        say(out, line)
        if ht is not None:
            times, sent, verdict = heats_turn(row, counter)
            found = {"row": number, "heat_verdict": verdict, "heat_bytes": sent[1], "heat_calls": sent[0]}
            say(out, {**found, "heat_seconds": statistics.median(times) if times else None})
            if "raises" in verdict:
                os._exit(5)  # what is on its way in Heat's group would meet the next row


def say(out, line):
    if SLATE.rank == 0:
        with open(out, "a") as file:
            file.write(json.dumps(line) + "\n")


def peak():
    """Bytes that this process has had in memory at most, since forget()."""
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmHWM"))


def forget():
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def run_redistribution(out, mebibytes):
    """split 0 to 1 of a square of float32, beside Alltoallv of as many bytes, packed, and with packing."""
    ranks, me = SLATE.size, SLATE.rank
    side = int((mebibytes * 2**20 / 4) ** 0.5) // ranks * ranks
    rows = side // ranks
    mine = np.arange(rows * side, dtype="float32").reshape(rows, side) + me
    x = ts.dist.array(mine, is_split=0)
    del mine
    times, extra = [], 0
    for _ in range(3):
        forget()
        held = resident()
        meet()
        start = time.perf_counter()
        y = x.resplit(1)
        y.local  # noqa: B018
        times.append(max(SLATE.everybody(time.perf_counter() - start)))
        extra = max(extra, max(SLATE.everybody(peak() - held - rows * side * 4)))
        part = y.local.numpy()
        base = np.arange(rows * side, dtype="float32").reshape(rows, side)[:, me * rows : (me + 1) * rows]
        right = all(np.array_equal(part[r * rows : (r + 1) * rows], base + r) for r in range(ranks))
        del y, part, base
    line = {"name": "split 0 to 1", "ranks": ranks, "bytes": side * side * 4, "seconds": statistics.median(times)}
    line |= {"extra_memory": extra, "verdict": "ok" if all(SLATE.everybody(right)) else "wrong"}
    try:
        from mpi4py import MPI
    except Exception:
        say(out, line)
        return
    source = x.local.numpy()
    plain, packed = [], []
    counts = [rows * rows] * ranks
    for _ in range(3):
        send, receive = np.empty(rows * side, "float32"), np.empty(rows * side, "float32")
        result = np.empty((side, rows), "float32")
        receive[:] = 0
        meet()
        start = time.perf_counter()
        for r in range(ranks):
            send[r * rows * rows : (r + 1) * rows * rows].reshape(rows, rows)[...] = source[
                :, r * rows : (r + 1) * rows
            ]
        middle = time.perf_counter()
        MPI.COMM_WORLD.Alltoallv([send, counts, MPI.FLOAT], [receive, counts, MPI.FLOAT])
        after = time.perf_counter()
        result[...] = receive.reshape(side, rows)
        plain.append(max(SLATE.everybody(after - middle)))
        packed.append(max(SLATE.everybody(time.perf_counter() - start)))
    line |= {"alltoallv_seconds": statistics.median(plain), "alltoallv_packed_seconds": statistics.median(packed)}
    say(out, line)


if __name__ == "__main__":
    if sys.argv[2] == "rows":
        run_rows(Path(sys.argv[1]), int(sys.argv[3]))
    else:
        run_redistribution(Path(sys.argv[1]), int(sys.argv[3]))
