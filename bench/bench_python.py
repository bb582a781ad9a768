# SPDX-License-Identifier: Apache-2.0
"""What a call from Python costs beside NumPy and SciPy, in one run: the two sides take turns, medians are shown."""

import statistics
import subprocess
import sys
import time
import timeit

import numpy as np
import scipy.fft

import tessera as ts

ROUNDS = 15


def seconds(statement, names):
    timer = timeit.Timer(statement, globals=names)
    calls, _ = timer.autorange()
    calls = max(1, calls // 10)
    return lambda: timer.timeit(calls) / calls


def compare(name, ours, theirs, limit=None):
    """Ours and theirs are (statement, names); prints medians, their ratio and a limit where one is set."""
    a, b = seconds(*ours), seconds(*theirs)
    pairs = [(a(), b()) for _ in range(ROUNDS)]
    mine, peer = (statistics.median(p[i] for p in pairs) for i in (0, 1))
    verdict = "" if limit is None else f"  limit {limit * 1e6:.2f} us: {'reached' if mine <= limit else 'MISSED'}"
    print(
        f"{name:36s} {mine * 1e6:11.3f} us   peer {peer * 1e6:11.3f} us   speed {peer / mine:5.2f}{verdict}", flush=True
    )


def bench_calls():
    x, a = ts.zeros(1000, dtype="float64"), np.zeros(1000)
    compare("x[5]", ("x[5]", {"x": x}), ("x[5]", {"x": a}), 0.3e-6)
    compare("x[5] = 1.0", ("x[5] = 1.0", {"x": x}), ("x[5] = 1.0", {"x": a}), 0.3e-6)
    compare("x[2:100]", ("x[2:100]", {"x": x}), ("x[2:100]", {"x": a}), 0.5e-6)
    compare("x[::2] of 2-d", ("x[::2, 1]", {"x": x.reshape(10, 100)}), ("x[::2, 1]", {"x": a.reshape(10, 100)}))
    compare("x + x of 1000", ("x + x", {"x": x}), ("x + x", {"x": a}))
    compare("x.sum() of 1000", ("x.sum()", {"x": x}), ("x.sum()", {"x": a}))


def bench_keys():
    """x[key] with an index array: a list, an array of NumPy's, one of ours; the goal is twice NumPy's time."""
    rng = np.random.default_rng(0)
    a = rng.standard_normal(10**6)
    x = ts.asarray(a)
    for count in (1, 10, 1000, 10**5, 10**6):
        k = rng.integers(0, a.size, count)
        for kind, ours, theirs in (("list", k.tolist(), k.tolist()), ("NumPy", k, k), ("ours", ts.asarray(k), k)):
            if kind == "list" and count > 10**5:
                continue
            compare(f"x[{count} positions, {kind}]", ("x[k]", {"x": x, "k": ours}), ("x[k]", {"x": a, "k": theirs}))


def bench_operators():
    """Operators called again and again, beside what their plans cost."""
    rng = np.random.default_rng(0)
    with ts.config.using(rewrite_diagonals=False):
        A = ts.Diagonal(rng.random(64), ("N",))
        for _ in range(19):
            A = ts.Diagonal(rng.random(64), ("N",)) @ A
    x = ts.ones(64)
    y = A(x)
    names = {"A": A, "x": x, "y": y, "p": A.plan(x)}
    planned = ("p(x, y)", names)
    for call, limit in (("A(x)", 2e-6), ("A(x, out=y)", 2e-6), ("A.H(x)", 2e-6), ("A.N(x)", 4e-6), ("A @ x", 2e-6)):
        compare(f"20 Diagonal of 64, {call}", (call, names), planned, limit)


def bench_fft():
    for batch, n in ((16, 256), (32, 512)):
        a = np.random.default_rng(0).normal(size=(batch, n, n, 2)).view(np.complex128)[..., 0].astype(np.complex64)
        x = ts.asarray(a)
        compare(
            f"fft2 of {batch} x {n}^2 complex64",
            ("ts.fft.fftn(x, axes=(1, 2))", {"ts": ts, "x": x}),
            ("f(a, axes=(1, 2), workers=2)", {"f": scipy.fft.fftn, "a": a}),
        )


def bench_import():
    best = []
    for _ in range(7):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", "pass"], check=True)
        plain = time.perf_counter() - start
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", "import tessera"], check=True)
        best.append(time.perf_counter() - start - plain)
    print(f"import tessera {statistics.median(best) * 1e3:.1f} ms (limit 60 ms)")


if __name__ == "__main__":
    bench_import()
    bench_calls()
    bench_keys()
    bench_operators()
    bench_fft()
