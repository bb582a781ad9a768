# SPDX-License-Identifier: Apache-2.0
"""Arrays on disk beside dask.array and NumPy's memmap: the same work on the same .npy files, results into files.

Each library works in a process of its own, in turn, with as many threads; what counts is its processor time, the wall
time beside it, and the most memory that its process held above what it held before (mapped pages of files included:
that is where memmap has its numbers). Ours gets a host budget of an eighth of the operands; dask gets chunks of an
eighth of a side (SVD: strips of rows), so that it need not hold more. Numbers are compared after each row. dask is left
out where it is not installed. TESSERA_BENCH_SIDE sets the side of the matrices, TESSERA_BENCH_ROUNDS the rounds.
"""

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

SIDE = int(os.environ.get("TESSERA_BENCH_SIDE", "4096"))
ROUNDS = int(os.environ.get("TESSERA_BENCH_ROUNDS", "3"))
COLUMNS = 128  # of tall data
LIBRARIES = ("ours", "dask", "memmap")
GOAL = 5.0  # times dask


def operand(folder, name):
    return os.path.join(folder, f"{name}.npy")


def rows_of(number):
    return max(1, number // 8)


class Ours:
    def __init__(self, folder, operands):
        import tessera as ts

        self.ts, self.folder = ts, folder
        ts.set_backing_dir(folder)
        self.held = sum(os.path.getsize(operand(folder, x)) for x in operands) // 8

    def budgeted(self):
        return self.ts.memory_budget(host=self.ts.memory_stats("cpu")["in_use"] + self.held)

    def array(self, name):
        return self.ts.stored.open(operand(self.folder, name))

    def product(self, out):
        with self.budgeted():
            self.ts.stored.matmul(self.array("a"), self.array("b"), path=out)

    def chain(self, out):
        with self.budgeted():
            value = ((self.array("a") - self.array("b")) ** 2).sum(axis=0)
        np.save(out, value.numpy())

    def transpose(self, out):
        with self.budgeted():
            self.array("a").transpose(path=out)

    def tall(self, out):
        with self.budgeted():
            left, values, right = self.ts.linalg.svd(self.array("t"), full_matrices=False)
        np.save(out, values.numpy())


class Dask:
    def __init__(self, folder, operands):
        import dask
        import dask.array

        self.da, self.folder = dask.array, folder
        dask.config.set(scheduler="threads", num_workers=int(os.environ["TESSERA_NUM_THREADS"]))

    def array(self, name, chunks=None):
        mapped = np.load(operand(self.folder, name), mmap_mode="r")
        return self.da.from_array(mapped, chunks=chunks or tuple(rows_of(n) for n in mapped.shape))

    def into(self, value, out):
        to = np.lib.format.open_memmap(out, "w+", value.dtype, value.shape)
        self.da.store(value, to)
        to.flush()

    def product(self, out):
        self.into(self.array("a") @ self.array("b"), out)

    def chain(self, out):
        np.save(out, ((self.array("a") - self.array("b")) ** 2).sum(axis=0).compute())

    def transpose(self, out):
        self.into(self.array("a").T, out)

    def tall(self, out):
        x = self.array("t", chunks=(rows_of(np.load(operand(self.folder, "t"), mmap_mode="r").shape[0]), COLUMNS))
        left, values, right = self.da.linalg.svd(x)
        to = np.lib.format.open_memmap(out + ".left", "w+", left.dtype, left.shape)
        found = np.empty(values.shape, values.dtype)
        self.da.store([left, values], [to, found])
        to.flush()
        np.save(out, found)


class Memmap:
    def __init__(self, folder, operands):
        self.folder = folder

    def array(self, name):
        return np.load(operand(self.folder, name), mmap_mode="r")

    def into(self, out, shape, dtype):
        return np.lib.format.open_memmap(out, "w+", dtype, shape)

    def product(self, out):
        a, b = self.array("a"), self.array("b")
        to = self.into(out, (a.shape[0], b.shape[1]), a.dtype)
        np.matmul(a, b, out=to)
        to.flush()

    def chain(self, out):
        np.save(out, ((self.array("a") - self.array("b")) ** 2).sum(axis=0))

    def transpose(self, out):
        a = self.array("a")
        to = self.into(out, a.shape[::-1], a.dtype)
        to[...] = a.T
        to.flush()

    def tall(self, out):
        left, values, right = np.linalg.svd(self.array("t"), full_matrices=False)
        to = self.into(out + ".left", left.shape, left.dtype)
        to[...] = left
        to.flush()
        np.save(out, values)


def status(field):
    for line in open("/proc/self/status"):
        if line.startswith(field + ":"):
            return int(line.split()[1]) << 10
    return 0


def processor_seconds():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def work(library, task, folder, out, operands):
    """In a process of its own: seconds and bytes, as a line of JSON."""
    for name in operands:  # from the disk, not from the page cache
        with open(operand(folder, name), "rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    peer = {"ours": Ours, "dask": Dask, "memmap": Memmap}[library](folder, operands)
    np.ones((64, 64)) @ np.ones((64, 64))  # libraries that are opened at their first use
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")  # the peak is counted from here
    before, start, used = status("VmRSS"), time.perf_counter(), processor_seconds()
    getattr(peer, task)(out)
    figures = {"processor": processor_seconds() - used, "wall": time.perf_counter() - start}
    print(json.dumps(figures | {"peak": max(status("VmHWM") - before, 0)}))


def measured(library, task, folder, operands):
    """Figures and the numbers that were found; None where the library is not there."""
    out = os.path.join(folder, "out.npy")
    threads = str(len(os.sched_getaffinity(0)))
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1" if library == "dask" else threads}
    environment |= {"TESSERA_NUM_THREADS": threads, "OMP_NUM_THREADS": environment["OPENBLAS_NUM_THREADS"]}
    command = [sys.executable, __file__, library, task, folder, out, *operands]
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        if done.returncode:
            return done.stderr.strip().splitlines()[-1], None
        found = np.load(out, mmap_mode="r")
        return json.loads(done.stdout), (found.shape, float(found[..., ::97].sum()), float(abs(found[..., ::97]).sum()))
    finally:
        for path in (out, out + ".left"):
            if os.path.exists(path):
                os.unlink(path)


def row(name, task, folder, operands):
    rounds, sums = {x: [] for x in LIBRARIES}, {}
    for _ in range(ROUNDS):
        for library in LIBRARIES:
            figures, found = measured(library, task, folder, operands)
            if found is None:
                print(f"{name:30s} {library}: left out ({figures})", flush=True)
                continue
            rounds[library].append(figures)
            sums[library] = found
    for library, (shape, total, size) in sums.items():
        error = abs(total - sums["ours"][1])
        assert shape == sums["ours"][0] and not error > 1e-9 * size, (library, "found other numbers", sums)
    texts, used = [], {}
    for library in LIBRARIES:
        if rounds[library]:
            median = {k: statistics.median(f[k] for f in rounds[library]) for k in ("processor", "wall", "peak")}
            used[library] = median["processor"]
            peak = f"{median['peak'] / 2**20:5.0f} MiB"
            texts.append(f"{library} {median['processor']:7.2f} s ({median['wall']:7.2f} s by the clock) {peak}")
    print(f"{name:30s} " + "; ".join(texts), flush=True)
    for peer in ("dask", "memmap"):
        if peer in used:
            speed = used[peer] / used["ours"]
            goal = "" if peer != "dask" else f"  goal {GOAL:g}: {'reached' if speed >= GOAL else 'MISSED'}"
            print(f"{'':30s} {speed:5.2f} times as fast as {peer} by processor time{goal}", flush=True)


def main():
    rng = np.random.default_rng(5)
    with tempfile.TemporaryDirectory(dir=os.environ.get("TESSERA_BACKING_DIR")) as folder:
        for name in "ab":
            np.save(operand(folder, name), rng.standard_normal((SIDE, SIDE)))
        np.save(operand(folder, "t"), rng.standard_normal((SIDE * SIDE // COLUMNS, COLUMNS)))
        row(f"matmul {SIDE}", "product", folder, ["a", "b"])
        row(f"sum of (a - b)^2 over rows, {SIDE}", "chain", folder, ["a", "b"])
        row(f"transpose {SIDE}", "transpose", folder, ["a"])
        row(f"svd {SIDE * SIDE // COLUMNS} x {COLUMNS}", "tall", folder, ["t"])


if __name__ == "__main__":
    if len(sys.argv) > 1:
        work(*sys.argv[1:5], sys.argv[5:])
    else:
        main()
