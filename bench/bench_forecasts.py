# SPDX-License-Identifier: Apache-2.0
"""What `ts.context()` foretells of systems, inverses and determinants beside what they take.

    python bench/bench_forecasts.py                    sizes 4 to 2000, all dtypes and forms
    python bench/bench_forecasts.py --only 'det'       those whose text a regular expression finds
    python bench/bench_forecasts.py --most 500         no larger matrices

Costs are measured anew, into a folder of their own. A row has the forecast over the processor time of one thread at
each size; the last line counts those that are off by more than a factor of two.
"""

import argparse
import math
import os
import re
import tempfile
import time

for name in ("TESSERA_NUM_THREADS", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ[name] = "1"  # before the libraries are loaded
folder = tempfile.TemporaryDirectory()
os.environ["XDG_CACHE_HOME"] = folder.name

import numpy as np  # noqa: E402

import tessera as ts  # noqa: E402

SIZES = (4, 10, 20, 30, 50, 100, 200, 300, 500, 1000, 2000)
DTYPES = ("float32", "float64", "complex64", "complex128")
FAULT = 2.0
SPENT = 0.05  # seconds for each measurement, at least four calls


def full(n, dtype):
    """Normal numbers, of a size at which determinants neither overflow nor vanish."""
    rng = np.random.default_rng(n)
    x = rng.standard_normal((n, n)) + (1j * rng.standard_normal((n, n)) if "complex" in dtype else 0)
    return (x * (math.e / n / (2 if "complex" in dtype else 1)) ** 0.5).astype(dtype)


def triangle(n, dtype):
    return np.triu(full(n, dtype), 1) + np.eye(n, dtype=dtype)


def symmetric(n, dtype):
    x = full(n, dtype)
    return (x + x.T) / 2**0.5


# Matrices by form, and calls by the name of the function that is foretold.
FORMS = {
    "array": lambda n, t: ts.asarray(full(n, t)),
    "Dense": lambda n, t: ts.matrix.Dense(full(n, t)),
    "Triangular": lambda n, t: ts.matrix.Triangular(triangle(n, t)),
    "Symmetric": lambda n, t: ts.matrix.Symmetric(symmetric(n, t)),
    "Diagonal": lambda n, t: ts.matrix.Diagonal(1 + full(n, t)[0] / n),
}
CALLS = {
    "solve": lambda a, b: ts.linalg.solve(a, b),
    "solve 50": lambda a, b: ts.linalg.solve(a, b),
    "inverse": lambda a, b: ts.linalg.inv(a),
    "det": lambda a, b: ts.linalg.det(a),
}


def seconds_of(run):
    """The quickest of some calls: what other programs do on the machine adds time, it takes none away."""
    run()
    best, spent, calls = float("inf"), 0.0, 0
    while spent < SPENT or calls < 4:
        many = max(1, min(1000, int(1e-3 / best))) if calls else 1
        start = time.thread_time()
        for _ in range(many):
            run()
        took = time.thread_time() - start
        best, spent, calls = min(best, took / many), spent + took, calls + 1
    return best


def first_seconds(makes, run, matrices):
    """The quickest first call over several matrices: a matrix remembers its determinant."""
    best = float("inf")
    for a in [makes() for _ in range(matrices)]:
        start = time.thread_time()
        run(a)
        best = min(best, time.thread_time() - start)
    return best


def both(call, form, dtype, n):
    """Forecast and measured time in seconds."""
    a = FORMS[form](n, dtype)
    b = ts.ones((n, 50) if call.endswith("50") else n, dtype=dtype)
    operands = (a, b) if call.startswith("solve") else (a,)
    forecast = ts.context().choose(call.split()[0], *operands).compute_seconds
    if call == "det" and form != "array":
        return forecast, first_seconds(lambda: FORMS[form](n, dtype), ts.linalg.det, 64 if n <= 100 else 8)
    return forecast, seconds_of(lambda: CALLS[call](a, b))


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--only", default="", help="a regular expression over call, form and dtype")
    options.add_argument("--most", type=int, default=SIZES[-1])
    options.add_argument("--times", action="store_true", help="also the two times in microseconds")
    given = options.parse_args()
    sizes = [n for n in SIZES if n <= given.most]
    print(f"{'forecast / measured':34}" + "".join(f"{n:>8}" for n in sizes))
    off = cases = 0
    for call in CALLS:
        for form in FORMS:
            for dtype in DTYPES:
                text = f"{call} {form} {dtype}"
                if not re.search(given.only, text):
                    continue
                pairs = [both(call, form, dtype, n) for n in sizes]
                ratios = [forecast / measured for forecast, measured in pairs]
                off += sum(not 1 / FAULT <= r <= FAULT for r in ratios)
                cases += len(ratios)
                print(f"{text:34}" + "".join(f"{r:8.2f}" for r in ratios), flush=True)
                if given.times:
                    for side in (0, 1):
                        print(f"{'':34}" + "".join(f"{p[side] * 1e6:8.0f}" for p in pairs), flush=True)
    print(f"{cases} forecasts, {off} off by more than {FAULT:g}")


if __name__ == "__main__":
    main()
