# SPDX-License-Identifier: Apache-2.0
"""One rank of bench_dist.py: every row, rounds of ours and of Heat in turn, in one MPI job.

usage (under mpirun): ranks.py OUT.json WHAT FIRST   with WHAT: rows, redistribution, memory, unordered
Rank 0 appends one line of JSON per row to OUT.json; FIRST is the number of the row to begin with,
mebibytes, or thousands of numbers."""

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
import unordered  # noqa: E402
from model import Layout  # noqa: E402
from slate import Slate  # noqa: E402

import tessera as ts  # noqa: E402

try:
    import heat as ht
except Exception:  # not installed, or not able to load: our rows alone
    ht = None

SLATE = Slate()
ALONE, ROUNDS, PATIENCE = 5, 25, 4.0  # rounds of ours, then in turn with Heat's; fewer where they take more seconds


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


def prepared(lib, row, numbers):
    """A fresh x, key and value: nothing that was cached for another round helps."""
    x = lib.array(numbers, row.split)
    made = lambda o: lib.array(o.array, o.split) if isinstance(o, table.Distributed) else o
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


class Turns:
    """Rounds of one library: seconds of the slowest rank, what was sent by all in the last one, and its result."""

    def __init__(self, lib, row, numbers, counter):
        self.lib, self.row, self.numbers, self.counter = lib, row, numbers, counter
        self.times, self.sent, self.result = [], [0, 0, 0, 0], None

    def turn(self):
        x, key, value = prepared(self.lib, self.row, self.numbers)
        meet()
        ts.dist.world.barrier()  # behind what the slate costs where ranks share a core
        self.counter.reset()
        before = ts.dist.world.traffic
        start = time.perf_counter()
        y = act(self.lib, x, key, value)
        spent = time.perf_counter() - start
        own = ts.dist.world.traffic - before
        everybody = SLATE.everybody((*self.counter.read(), own.messages, own.bytes, spent))
        self.times.append(max(m[-1] for m in everybody))
        self.sent = [sum(m[i] for m in everybody) for i in range(4)]
        self.result = y

    def verdict(self):
        expected = table.reference(self.row)
        got = np.asarray(self.lib.whole(self.result))
        right = got.shape == expected.shape and np.array_equal(got, expected)
        return "ok" if all(SLATE.everybody(right)) else "wrong"

    def seconds(self, prefix=""):
        return {f"{prefix}seconds": min(self.times), f"{prefix}median": statistics.median(self.times)}


def in_turn(libraries):
    """Rounds until there are enough, or until patience ends by rank 0's clock."""
    until = time.monotonic() + PATIENCE
    for _ in range(ROUNDS):
        for library in libraries:
            library.turn()
        if not SLATE.everybody(time.monotonic() < until)[0]:
            return


def verdict_on_heat(heat):
    """Heat may refuse, on all ranks or on some; then its group cannot be used any further."""
    problem = ""
    try:
        heat.turn()
    except Exception as error:
        problem = f"raises {type(error).__name__}"
    said = SLATE.everybody(problem)
    if not any(said):
        return heat.verdict()
    return next(filter(None, said)) + ("" if len(set(said)) == 1 else " on some ranks")


def run_rows(out, first):
    counter = Counter()
    for number, row in enumerate(table.rows()):
        if number < first:
            continue
        if SLATE.rank == 0:
            out.with_suffix(".running").write_text(str(number))
        numbers = table.numbers(row)
        ours = Turns(Ours(), row, numbers, counter)
        for _ in range(ALONE):
            ours.turn()
        line = {"row": number, "name": row.name, "ranks": SLATE.size, "verdict": ours.verdict()}
        layout = Ours().layout(ours.result) if row.value is None else None
        line["bound"] = table.lower_bound(row, SLATE.size, layout)
        line |= {"messages": ours.sent[2], "bytes": ours.sent[3], "bytes_seen_by_mpi": ours.sent[1]}
        libraries = [ours]
        if ht is not None:
            say(out, {**line, **ours.seconds()})  # should Heat end the job
            heat = Turns(Heats(), row, numbers, counter)
            line |= {"heat_verdict": verdict_on_heat(heat), "heat_bytes": heat.sent[1], "heat_calls": heat.sent[0]}
            if line["heat_verdict"] == "ok":
                libraries.append(heat)
        in_turn(libraries)
        line |= ours.seconds()
        if len(libraries) > 1:
            line |= heat.seconds("heat_")
        say(out, line)
        if "raises" in line.get("heat_verdict", ""):
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


def best_of(rounds, f):
    """Seconds of the slowest rank in the best round, and in the median one; f gives its own seconds."""
    times = [max(SLATE.everybody(f())) for _ in range(rounds)]
    return min(times), statistics.median(times)


def timed(f):
    meet()
    start = time.perf_counter()
    kept = f()
    spent = time.perf_counter() - start
    del kept
    return spent


def extra_of(f, result_bytes):
    """Bytes beside what was there and the result, by what the kernel counts as resident; the largest of the ranks.
    Pages of the result that only other ranks have written to do not count here: neither as result then."""
    ts.trim_pool("cpu")
    meet()
    forget()
    held = resident()
    y = f()
    most = peak()
    ts.trim_pool("cpu")
    extra = most - min(held + result_bytes(y), resident())
    del y
    return max(SLATE.everybody(extra))


def run_redistribution(out, mebibytes):
    """split 0 to 1 of a square of float64 beside Alltoallv with the packing that it needs: from the same rows to the
    same columns. What it receives is the result, so that nothing is unpacked."""
    ranks, me = SLATE.size, SLATE.rank
    side = int((mebibytes * 2**20 / 8) ** 0.5) // ranks * ranks
    rows = side // ranks
    source = np.arange(rows * side, dtype="float64").reshape(rows, side) + me * 1e9
    x = ts.dist.array(source, is_split=0)
    del source
    y = x.resplit(1)
    part = y.local.numpy()
    right = True
    for r in range(ranks):
        here = slice(me * rows, (me + 1) * rows)
        base = np.arange(rows * side, dtype="float64").reshape(rows, side)[:, here] + r * 1e9
        right &= np.array_equal(part[r * rows : (r + 1) * rows], base)
    del y, part, base
    line = {"name": "split 0 to 1", "ranks": ranks, "bytes": side * side * 8}
    line["verdict"] = "ok" if all(SLATE.everybody(right)) else "wrong"
    line["extra_memory"] = extra_of(lambda: x.resplit(1), lambda y: rows * side * 8)
    line["seconds"], line["seconds_median"] = best_of(9, lambda: timed(lambda: x.resplit(1)))

    def first_time():
        ts.trim_pool("cpu")
        return timed(lambda: x.resplit(1))

    line["seconds_new"], _ = best_of(9, first_time)
    ts.trim_pool("cpu")
    try:
        from mpi4py import MPI
    except Exception:
        say(out, line)
        return
    source = x.local.numpy()
    counts = [rows * rows] * ranks

    def pack(send):
        for r in range(ranks):
            block = send[r * rows * rows : (r + 1) * rows * rows].reshape(rows, rows)
            block[...] = source[:, r * rows : (r + 1) * rows]

    def exchange(send, receive):
        MPI.COMM_WORLD.Alltoallv([send, counts, MPI.DOUBLE], [receive, counts, MPI.DOUBLE])
        return receive

    def packed_here(send, receive):
        pack(send)
        return exchange(send, receive)

    def room():
        return np.empty(rows * side)

    send, receive = room(), room()
    pack(send)
    receive[:] = 0
    peers = {
        "alltoallv_packed": lambda: exchange(send, receive),
        "alltoallv_packing": lambda: packed_here(send, receive),
        "alltoallv_new": lambda: packed_here(room(), room()),
        "copy": lambda: np.copyto(receive, send),
    }
    for name, f in peers.items():
        line[f"{name}_seconds"], _ = best_of(9, lambda f=f: timed(f))
    say(out, line)


def memory_rows(megabytes):
    """Functions of 512 MiB over all ranks (or less), by name: an operand, made when it is needed, and what is done."""
    n = megabytes * 2**20 // 8
    normal = lambda *shape: ts.dist.array(np.random.default_rng(SLATE.rank).normal(size=share(*shape)), is_split=0)
    share = lambda first, *rest: (first // SLATE.size, *rest)
    high = n // 4096
    line, lines = (lambda: normal(n)), (lambda: normal(high, 4096))
    half = n // 2
    return [
        ("resplit", lines, lambda x: x.resplit(1)),
        ("x[::-1]", lines, lambda x: x[::-1]),
        ("roll", lines, lambda x: ts.dist.roll(x, 5, 0)),
        ("sort of a line", line, lambda x: ts.dist.sort(x)),
        ("sort of columns", lines, lambda x: ts.dist.sort(x, 0)),
        ("argsort of a line", line, lambda x: ts.dist.argsort(x)),
        ("median of a line", line, lambda x: ts.dist.median(x)),
        ("unique of a line", line, lambda x: ts.dist.unique(x)),
        ("topk of a line", line, lambda x: ts.dist.topk(x, 10)[0]),
        ("fft of columns", lines, lambda x: ts.dist.fft.fft(x, axis=0)),
        ("fft2", lines, lambda x: ts.dist.fft.fft2(x)),
        ("fft of a line", line, lambda x: ts.dist.fft.fft(x)),
        ("rfft of a line", line, lambda x: ts.dist.fft.rfft(x)),
        ("irfft of a line", lambda: normal(half) + 1j * normal(half), lambda x: ts.dist.fft.irfft(x)),
        ("mask", line, lambda x: x[x > 0]),
        ("matmul", lines, lambda x: x @ ts.dist.array(np.eye(4096, 64), split=None)),
    ]


def run_memory(out, mebibytes):
    """What functions hold beside operand and result, and how long they take."""
    only = os.environ.get("TESSERA_MEMORY_ROWS", "")
    for name, make, f in memory_rows(mebibytes):
        if only not in name:
            continue
        x = make()
        spent = []

        def call(x=x, f=f, spent=spent):
            start = time.perf_counter()
            y = f(x)
            y.local  # noqa: B018
            spent.append(time.perf_counter() - start)
            return y

        extra = extra_of(call, lambda y: int(np.prod(y.lshape)) * y.itemsize)
        say(out, {"name": name, "ranks": SLATE.size, "extra_memory": extra, "seconds": max(SLATE.everybody(spent[0]))})
        del x
        ts.trim_pool("cpu")


if __name__ == "__main__":
    programs = {"rows": run_rows, "redistribution": run_redistribution, "memory": run_memory}
    programs["unordered"] = lambda out, thousands: say(out, unordered.run_unordered(SLATE, thousands))
    what = programs[sys.argv[2]]
    what(Path(sys.argv[1]), int(sys.argv[3]))
