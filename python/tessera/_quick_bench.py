# SPDX-License-Identifier: Apache-2.0
"""`tessera bench --quick`: the usual operations in a few seconds, beside NumPy where it is installed.

For a look at an installation (is the BLAS a good one, do threads help); claims are made by bench/ of the source tree.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, NamedTuple


class Row(NamedTuple):
    """One operation: its name, its work per call in units of `unit`, ours, and NumPy's where it has one."""

    name: str
    work: float
    unit: str
    ours: Callable[[], Any]
    numpy: Callable[[], Any] | None


def seconds(call: Callable[[], Any], budget: float) -> float:
    """The median of repeated calls, the first left away, within about so many seconds."""
    call()
    times: list[float] = []
    began = time.perf_counter()
    while not times or (time.perf_counter() - began < budget and len(times) < 50):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def rows(scale: int = 1) -> list[Row]:
    """The operations; sizes are divided by `scale`, for tests."""
    import tessera as ts

    n, m, f = (1 << 22) // scale, 768 // scale, 512 // scale
    x, a = ts.random.normal((n,)).astype("float32"), ts.random.normal((m, m)).astype("float32")
    v, z = ts.random.normal((m,)).astype("float32"), ts.random.normal((f, f)).astype("complex64")
    weights = (ts.random.uniform((f, f)) < 0.4).astype("float32")
    transform = ts.FFT(2, grid_shapes=(ts.Dim("NxNy"), ts.Dim("KxKy")))
    normal = (ts.Diagonal(weights, ts.Dim("KxKy")) @ transform).N
    flops = 10 * f * f * (f - 1).bit_length() / 1e9
    numpy = numpy_calls(*(array.numpy() for array in (x, a, v, z))) if find_spec("numpy") else {}
    table: list[tuple[str, float, str, Callable[[], Any]]] = [
        ("copy", 8 * n / 1e9, "GB/s", lambda: x.copy()),
        ("x * x + x", 12 * n / 1e9, "GB/s", lambda: x * x + x),
        ("sum", 4 * n / 1e9, "GB/s", lambda: x.sum()),
        ("matrix product", 2 * m**3 / 1e9, "Gflop/s", lambda: a @ a),
        ("matrix by vector", 4 * m * m / 1e9, "GB/s", lambda: a @ v),
        ("fft of two axes", flops, "Gflop/s", lambda: ts.fft.fft2(z)),
        ("normal of mask @ FFT", 2 * flops, "Gflop/s", lambda: normal(z)),
    ]
    return [Row(name, work, unit, call, numpy.get(name)) for name, work, unit, call in table]


def numpy_calls(x: Any, a: Any, v: Any, z: Any) -> dict[str, Callable[[], Any]]:
    import numpy as np

    return {
        "copy": lambda: x.copy(),
        "x * x + x": lambda: x * x + x,
        "sum": lambda: x.sum(),
        "matrix product": lambda: a @ a,
        "matrix by vector": lambda: a @ v,
        "fft of two axes": lambda: np.fft.fft2(z),
    }


def run(budget: float = 0.3, scale: int = 1) -> int:
    """Prints the table; each side of a row gets `budget` seconds."""
    import tessera as ts

    out = sys.stdout.write
    out(f"tessera {ts.__version__}, {ts.num_threads()} threads, medians\n")
    out(f"{'':<22}{'tessera':>10}{'NumPy':>10}\n")
    for row in rows(scale):
        ours = f"{row.work / seconds(row.ours, budget):.1f}"
        theirs = f"{row.work / seconds(row.numpy, budget):.1f}" if row.numpy else "-"
        out(f"{row.name:<22}{ours:>10}{theirs:>10}  {row.unit}\n")
    return 0
