# SPDX-License-Identifier: Apache-2.0
"""usage: fuzz_nufft.py SECONDS [FIRST [CASES]]: random NUFFTs made for a tolerance, beside direct sums.

At most three results, or one of a thousand, may miss their tolerance, and none by more than three times. One to
three axes, both precisions, grids of 1 to 60 points along an axis, points drawn uniformly, clustered, on spokes and
on edges. Without FIRST it begins anywhere; results that miss name the number of their case.
"""

import os
import sys
import time

import numpy as np
from test_nufft_tolerance import LARGEST, error, exact_matrix, locations, noise

import tessera as ts

KINDS = ("uniform", "clustered", "radial", "edge")


def run_case(number):
    """(error / tolerance, what it was) for forward and adjoint."""
    rng = np.random.default_rng(number)
    axes, kind = int(rng.integers(1, 4)), KINDS[number % 4]
    dtype = ("complex128", "complex64")[int(rng.integers(2))]
    tol = 10 ** rng.uniform(-12 if dtype == "complex128" else -5, -2)
    grid = tuple(int(n) for n in rng.integers(1, LARGEST[axes], axes))
    locs = locations(rng, kind, int(rng.integers(60, 400)), grid)
    if kind == "edge":  # on one edge or the other all would be one or two numbers
        locs[::2] = locations(rng, "uniform", len(locs[::2]), grid)
    A = ts.NUFFT(locs, grid, ("K",), batch_shape=(), tol=tol)
    matrix = exact_matrix(locs, grid)
    for name, op, m, shape in (("forward", A, matrix, grid), ("adjoint", A.H, matrix.conj().T, (len(locs),))):
        x = noise(rng, shape).astype(dtype)
        ratio = error(op(x), m @ x.ravel().astype("complex128")) / tol
        yield ratio, f"case {number}: {name} {dtype} tol {tol:.1e} grid {grid} {len(locs)} points {kind}"


def main(seconds, first, cases):
    end, number, results, over, wrong, worst = time.monotonic() + seconds, first, 0, 0, 0, 0.0
    while time.monotonic() < end and number < first + cases:
        for ratio, what in run_case(number):
            results += 1
            worst = max(worst, ratio)
            if not ratio <= 1:
                over += 1
                wrong += not ratio <= 3
                print(f"{ratio:.2f} times its tolerance: {what}", flush=True)
        number += 1
    print(
        f"fuzz_nufft: {results} results of {number - first} cases from {first} on, "
        f"{over} above their tolerance, {wrong} above three times that, worst {worst:.2f}"
    )
    return 1 if wrong or over > max(3, results // 1000) else 0


if __name__ == "__main__":
    start = int(sys.argv[2]) if len(sys.argv) > 2 else int.from_bytes(os.urandom(4), "little")
    sys.exit(main(float(sys.argv[1]), start, int(sys.argv[3]) if len(sys.argv) > 3 else sys.maxsize))
