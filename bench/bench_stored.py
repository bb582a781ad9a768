# SPDX-License-Identifier: Apache-2.0
"""Arrays on disk beside the same work in memory, and beside the disk's own speed, in one run.

Products, factorisations and solves get a host budget of an eighth of their matrices; a row's peer is the same function
of arrays in memory, or the disk alone where that is what takes longer. Passes over files are judged by the time in
which the disk reads or writes as many bytes in order. TESSERA_BENCH_SIDE sets the side of the matrices.
TESSERA_BENCH_CLOCK=processor counts processor time of all threads instead, for machines with other work; then nobody
waits for the disk, so that only what is computed and copied is compared.
"""

import gc
import mmap
import os
import statistics
import tempfile
import time

import numpy as np

import tessera as ts

SIDE = int(os.environ.get("TESSERA_BENCH_SIDE", "4096"))
BLOCK = 8 << 20
clock = time.process_time if os.environ.get("TESSERA_BENCH_CLOCK") == "processor" else time.perf_counter


def once(function):
    gc.collect()
    start = clock()
    function()
    return clock() - start


def past_the_cache(path, flags):
    try:
        return os.open(path, flags | os.O_DIRECT, 0o600)
    except OSError:  # a file system that has no such thing
        return os.open(path, flags, 0o600)


def moved(path, count, flags, move):
    """Bytes a second with which whole blocks come or go, in order, one at a time."""
    block = mmap.mmap(-1, BLOCK)  # aligned as direct transfers want it
    block[:] = np.random.default_rng(1).bytes(BLOCK)
    handle = past_the_cache(path, flags)
    os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
    start = clock()
    for _ in range(count):
        assert move(handle, [block]) == BLOCK
    os.fdatasync(handle)
    seconds = clock() - start
    os.close(handle)
    return count * BLOCK / seconds


def disk_speed(folder, size):
    path, count = os.path.join(folder, "disk"), max(4, size // BLOCK)
    written = moved(path, count, os.O_RDWR | os.O_CREAT, os.writev)
    read = moved(path, count, os.O_RDONLY, os.readv)
    os.unlink(path)
    return read, written


def row(name, ours, other, theirs, goal):
    """Above 1 we are faster."""
    speed = theirs / ours
    verdict = f"goal {goal:g}: {'reached' if speed >= goal else 'MISSED'}"
    print(f"{name:38s} {ours:8.3f} s   {other:26s} {theirs:8.3f} s   speed {speed:5.2f}  {verdict}", flush=True)


def beside_memory(name, call, in_core, moved_bytes, held, disk, goal, rounds=3):
    """Both take turns; the peer is the disk where it could not be quicker."""
    pairs = []
    for _ in range(rounds):
        with ts.memory_budget(host=ts.memory_stats("cpu")["in_use"] + held):
            pairs.append((once(call), once(in_core)))
    ours, core = (statistics.median(p[i] for p in pairs) for i in (0, 1))
    transfers = moved_bytes / min(disk)
    row(name, ours, "in memory" if core >= transfers else "the disk alone", max(core, transfers), goal)


def bench_algebra(folder, disk):
    rng = np.random.default_rng(2)
    a, b = rng.standard_normal((SIDE, SIDE)), rng.standard_normal((SIDE, SIDE))
    sides = rng.standard_normal((SIDE, 64))
    symmetric = a + a.T + 4 * SIDE * np.eye(SIDE)
    with ts.memory_budget(host=ts.memory_stats("cpu")["in_use"] + a.nbytes // 8):  # which their tiles are cut for
        A, B, S, R = (
            ts.stored.array(x, os.path.join(folder, n)) for x, n in zip((a, b, symmetric, sides), "ABSR", strict=True)
        )
    n, size = f"{SIDE}", a.nbytes
    product = lambda: (A @ B).compute()  # noqa: E731
    beside_memory(f"matmul {n}, 1/8", product, lambda: np.matmul(a, b), 3 * size, 2 * size // 8, disk, 0.9)
    factor = lambda: ts.linalg.cholesky(S)  # noqa: E731
    beside_memory(f"cholesky {n}, 1/8", factor, lambda: np.linalg.cholesky(symmetric), 2 * size, size // 8, disk, 0.8)
    solution = lambda: ts.linalg.solve(A, R)  # noqa: E731
    beside_memory(f"solve {n}, 1/8", solution, lambda: np.linalg.solve(a, sides), 3 * size, size // 8, disk, 0.75)
    inverse = lambda: ts.linalg.inv(A)  # noqa: E731
    beside_memory(f"inverse {n}, 1/8", inverse, lambda: np.linalg.inv(a), 5 * size, size // 8, disk, 0.75)


def bench_passes(folder):
    shape = (2 * SIDE, 2 * SIDE)
    ts.random.seed(3)
    with ts.memory_budget(host=ts.memory_stats("cpu")["in_use"] + (64 << 20)):
        x, y = ts.random.normal(shape), ts.random.normal(shape)
    if not isinstance(x, ts.stored.StoredArray):  # small sides fit
        x, y = ts.stored.array(x), ts.stored.array(y)
    with ts.memory_budget(host=ts.memory_stats("cpu")["in_use"] + (256 << 20)):
        size = x.nbytes
        calls = [
            ("sum of (x - y)^2", lambda: ((x - y) ** 2).sum().item(), 2 * size, 0, 0.9),
            ("x * 2 + y into a file", lambda: (x * 2 + y).compute(), 2 * size, size, 0.9),
            ("transpose of a file", lambda: x.transpose(), size, 0, 0.45),
        ]
        for name, call, read, written, goal in calls:
            seconds = []
            for _ in range(3):
                reads, writes = disk_speed(folder, size)
                seconds.append((once(call), read / reads + written / writes))
            ours, disk = (statistics.median(s[i] for s in seconds) for i in (0, 1))
            row(f"{name}, {size >> 20} MiB", ours, "the disk, in order", disk, goal)


def bench_transforms(disk):
    """Beside the same transform in memory, or the disk where each pass takes longer there."""
    ts.random.seed(4)
    x = ts.random.normal((2 * SIDE, 2 * SIDE), dtype="float32").astype("complex64")
    z = ts.stored.array(x)
    for axes, passes in ((1,), 1), ((0,), 1), ((0, 1), 2):
        pairs = []
        for _ in range(3):
            with ts.memory_budget(host=ts.memory_stats("cpu")["in_use"] + z.nbytes // 4):
                ours = once(lambda axes=axes: ts.fft.fftn(z, axes=axes))
            pairs.append((ours, once(lambda axes=axes: ts.fft.fftn(x, axes=axes))))
        ours, core = (statistics.median(p[i] for p in pairs) for i in (0, 1))
        transfers = passes * (z.nbytes / disk[0] + z.nbytes / disk[1])
        other = "in memory" if core >= transfers else "the disk alone"
        row(f"fft along {axes}, {z.nbytes >> 20} MiB, 1/4", ours, other, max(core, transfers), 0.7)


def main():
    with tempfile.TemporaryDirectory(dir=os.environ.get("TESSERA_BACKING_DIR")) as folder:
        ts.set_backing_dir(folder)
        disk = disk_speed(folder, 8 * SIDE * SIDE)
        print(f"the disk reads {disk[0] / 1e9:.2f} GB/s and writes {disk[1] / 1e9:.2f} GB/s in order")
        bench_algebra(folder, disk)
        bench_passes(folder)
        bench_transforms(disk)
        ts.set_backing_dir(None)


if __name__ == "__main__":
    main()
