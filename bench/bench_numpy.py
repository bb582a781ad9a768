# SPDX-License-Identifier: Apache-2.0
"""Functions of local arrays beside NumPy: over 700 pairs of an expression and a size, processor time of one thread.

    python bench/bench_numpy.py                     all pairs, the slowest first, and how many are below 0.8
    python bench/bench_numpy.py --only 'sort|fft'   those whose text a regular expression finds
    python bench/bench_numpy.py --json out.json     beside the table as numbers

The two sides take turns and the best round of each counts: what other programs do on the machine adds time, it takes
none away. A ratio is NumPy's time over ours; below 0.8 is a fault.
"""

import argparse
import json
import os
import re
import time

for name in ("TESSERA_NUM_THREADS", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ[name] = "1"  # before the libraries are loaded

import numpy as np  # noqa: E402

import tessera as ts  # noqa: E402

SIZES = (10, 1_000, 30_000, 1_000_000)
FAULT = 0.8
ROUNDS, SLICE = 7, 2e-3  # seconds that one side runs in a round, at least one call

# One text for both where `m` is the module, else ours and NumPy's. The names are those of `operands`.
CALLS = (
    # element by element
    *("x + y", "x * 2.0", "x / y", "f + g", "i + i", "i // 7", "i % 7", "x ** 2", "p ** 1.5", "-x", "abs(x)"),
    *("x < y", "i == 3", "b & s", "~b", "x > 0.5", "m.logical_and(x, y)", "z * w", "abs(z)", "z.conj()", "c + c"),
    *("m.sqrt(p)", "m.exp(x)", "m.log(p)", "m.sin(x)", "m.cos(x)", "m.tan(x)", "m.tanh(x)", "m.tanh(f)", "m.exp(f)"),
    *("m.log(q)", "m.sin(f)", "m.cos(f)", "m.arctan(x)", "m.sinh(x)", "m.expm1(x)", "m.log1p(p)", "m.arctan2(x, y)"),
    *("m.hypot(x, y)", "m.floor(x)", "m.sign(x)", "m.isnan(x)", "m.isfinite(f)", "m.maximum(x, y)", "m.minimum(f, g)"),
    *("m.where(b, x, y)", "m.clip(x, -0.5, 0.5)", "m.square(f)", "m.log2(p)", "m.log10(p)", "m.cbrt(x)", "m.exp(z)"),
    # reductions
    *("m.sum(x)", "m.sum(f)", "m.sum(i)", "m.sum(b)", "m.prod(x)", "m.mean(x)", "m.std(x)", "m.var(f)", "m.max(x)"),
    *("m.min(x)", "m.max(f)", "m.min(i)", "m.max(j)", "m.argmax(x)", "m.argmin(x)", "m.argmin(f)", "m.argmax(i)"),
    *("m.any(none)", "m.all(full)", "m.any(s)", "m.all(b)", "m.any(zero)", "m.all(p)", "m.count_nonzero(b)"),
    *("m.count_nonzero(x)", "m.sum(a, axis=0)", "m.sum(a, axis=1)", "m.max(a, axis=0)", "m.max(a, axis=1)"),
    *("m.argmax(a, axis=0)", "m.argmin(a, axis=1)", "m.any(e, axis=0)", "m.all(e, axis=1)", "m.mean(a, axis=1)"),
    *("m.cumsum(x)", "m.cumprod(x)", "m.cumsum(a, axis=0)", "m.diff(x)", "m.linalg.norm(x)", "m.vdot(x, y)"),
    # order
    *("m.sort(x)", "m.sort(i)", "m.argsort(x)", "m.argsort(i)", "m.sort(a, axis=0)", "m.unique(i)", "m.median(x)"),
    *("m.median(a, axis=1)", "m.quantile(x, 0.3)", "m.percentile(a, 90, axis=0)", "m.searchsorted(o, y)"),
    ("m.topk(x, k)", "m.partition(x, n - k)[n - k:], m.argpartition(x, n - k)[n - k:]"),
    ("m.topk(a, 3)", "m.partition(a, -3)[:, -3:], m.argpartition(a, -3)[:, -3:]"),
    # keys
    *("m.nonzero(b)", "m.nonzero(s)", "m.nonzero(x)", "m.nonzero(e)", "x[b]", "x[s]", "a[e]", "x[t]", "x[[1, 2, 3]]"),
    *("x[5]", "a[1, 2]", "x[2:8]", "a[1]", "x[::2].copy()", "a[:, 1]", "m.take(x, t)", "a[r]", "x.take(t)"),
    *("u.__setitem__(b, 0.5)", "u.__setitem__(t, 0.5)", "u.__setitem__(slice(1, 9), 0.5)", "u.__setitem__(5, 0.5)"),
    # making and moving
    *("m.zeros(n)", "m.empty(n)", "m.ones(n)", "m.full(n, 0.5)", "m.arange(n)", "m.linspace(0.0, 1.0, n)", "x.copy()"),
    *("m.repeat(x, 3)", "m.repeat(x, v)", "m.repeat(a, 2, axis=0)", "m.repeat(a, 2, axis=1)", "m.tile(x, 3)"),
    *("x.astype('float32')", "f.astype('int32')", "b.astype('float64')", "a.T.copy()", "m.concatenate([x, y])"),
    *("m.stack([x, y])", "m.roll(x, 3)", "m.flip(x, 0).copy()", "x.reshape(-1, 2)", "a.T", "m.pad(x, 3)", "m.eye(l)"),
    # what else people write
    *("m.round(x)", "m.exp2(x)", "m.logaddexp(x, y)", "m.copysign(x, y)", "i << 2", "m.isclose(x, y)", "m.nansum(x)"),
    *("m.std(a, axis=0)", "m.prod(a, axis=1)", "m.all(e, axis=0)", "m.ptp(x)", "m.allclose(x, x)", "m.argwhere(b)"),
    *("m.bincount(i)", "m.histogram(x, 20)", "m.interp(x, o, y)", "m.isin(i, i[:5])", "m.sort(f)", "m.unique(x)"),
    *("m.triu(a)", "m.hstack([x, y])", "m.vstack([x, y])", "m.inner(x, y)", "m.dot(x, y)", "m.gradient(x)"),
    *("m.convolve(x, y[:5])", "m.einsum('ij,ij->i', a, a)", "m.zeros_like(x)", "u.__iadd__(1.0)", "m.fft.fft2(a)"),
    # algebra, transforms, random numbers
    *("a @ a.T", "x @ y", "a @ a[0]", "m.fft.fft(z)", "m.fft.ifft(c)", "m.fft.rfft(x)", "m.fft.fft(d)"),
    ("m.random.uniform(n)", "rng.random(n)"),
    ("m.random.normal(n)", "rng.standard_normal(n)"),
    ("m.random.normal(n, dtype='float32')", "rng.standard_normal(n, dtype='float32')"),
    ("m.random.integers(0, 100, n)", "rng.integers(0, 100, n)"),
    ("m.random.integers(0, 1 << 40, n)", "rng.integers(0, 1 << 40, n)"),
    ("m.random.permutation(n)", "rng.permutation(n)"),
)
# A side of their own: what has sizes of its own.
OTHERS = tuple(("m.fft.fft(z)", n) for n in (256, 512, 1024, 2048, 4096, 8192, 65_536, 1 << 20)) + tuple(
    ("m.fft.fft(z)", n) for n in (1001, 4095, 10_007, 100_000)
)


def operands(n):
    """Arrays of n elements under the names that the expressions use, none of them special."""
    rng = np.random.default_rng(n)
    rows = max(2, int(n**0.5) * 3 // 4)
    x = rng.standard_normal(n)
    z = rng.standard_normal(n) + 1j * rng.standard_normal(n)
    prime = max((p for p in (7, 997, 29_989, 999_983) if p <= n), default=n)
    made = {
        "x": x,
        "y": rng.standard_normal(n),
        "p": rng.random(n) + 0.01,
        "i": rng.integers(0, 1000, n),
        "z": z,
        "w": z[::-1].copy(),
        "b": rng.random(n) < 0.5,
        "s": rng.random(n) < 0.01,
        "none": np.zeros(n, bool),
        "full": np.ones(n, bool),
        "zero": np.zeros(n),
        "o": np.sort(x),
        "t": rng.integers(0, n, max(1, n // 2)),
        "v": rng.integers(0, 4, n),
        "a": rng.standard_normal((rows, n // rows)),
        "d": z[:prime].copy(),
        "u": x.copy(),
    }
    made |= {"f": x.astype("float32"), "g": made["y"].astype("float32"), "j": made["i"].astype("int32")}
    made |= {"q": made["p"].astype("float32"), "c": z.astype("complex64"), "e": made["a"] > 1.0}
    made["r"] = rng.integers(0, rows, max(1, rows // 2))
    return made, {"n": n, "k": min(10, n), "l": max(2, int(n**0.5))}


def sides(made, numbers):
    theirs = {"m": np, "rng": np.random.default_rng(1), **numbers, **made}
    return {"m": ts, **numbers, **{name: ts.asarray(v.copy()) for name, v in made.items()}}, theirs


def calls_in(seconds, run):
    """How many calls take so long; also warms up."""
    calls = 1
    while True:
        took = timed(run, calls)
        if took >= seconds / 4 or calls >= 1 << 16:
            return max(1, int(calls * seconds / max(took, 1e-9)))
        calls *= 4


def timed(run, calls):
    start = time.thread_time()
    for _ in range(calls):
        run()
    return time.thread_time() - start


def measured(text, ours, theirs):
    """Seconds of a call on both sides: the best of several rounds in turn."""
    mine, other = (text, text) if isinstance(text, str) else text
    runs = [eval(f"lambda: ({code})", names) for code, names in ((mine, ours), (other, theirs))]
    for run in runs:
        run()
    calls = [calls_in(SLICE, run) for run in runs]
    rounds = [[timed(run, n) / n for run, n in zip(runs, calls, strict=True)] for _ in range(ROUNDS)]
    return [min(r[side] for r in rounds) for side in (0, 1)]


def table(only):
    pairs = [(text, n) for n in SIZES for text in CALLS] + list(OTHERS)
    found, at = [], None
    for text, n in pairs:
        label = text if isinstance(text, str) else text[0]
        if not re.search(only, f"{label} {n}") or (n > 100_000 and label.startswith("a @ a.T")):
            continue
        if at != n:
            at, (ours, theirs) = n, sides(*operands(n))
        mine, peer = measured(text, ours, theirs)
        found.append({"call": re.sub(r"\bm\.", "", label), "n": n, "ours": mine, "numpy": peer, "ratio": peer / mine})
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="a regular expression over 'call size'")
    parser.add_argument("--json", help="a file for the numbers")
    options = parser.parse_args()
    found = sorted(table(options.only), key=lambda row: row["ratio"])
    for row in found:
        verdict = "  BELOW 0.8" if row["ratio"] < FAULT else ""
        print(
            f"{row['call']:38s} n {row['n']:8d} ours {row['ours'] * 1e6:11.3f} us   NumPy {row['numpy'] * 1e6:11.3f} us"
            f"   ratio {row['ratio']:6.2f}{verdict}"
        )
    slow = sum(row["ratio"] < FAULT for row in found)
    print(f"{len(found)} pairs, {slow} below {FAULT}")
    if options.json:
        with open(options.json, "w") as file:
            json.dump(found, file, indent=1)


if __name__ == "__main__":
    main()
