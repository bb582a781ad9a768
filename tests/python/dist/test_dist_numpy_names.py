# SPDX-License-Identifier: Apache-2.0
"""NumPy's functions beyond the standard on distributed arrays, beside NumPy: every split, even and uneven."""

import numpy as np
import pytest
import scipy.stats
from checks import settle
from draw import numbers
from test_dist_functions import Line, compare, layouts

import tessera as ts

REAL = ("float64", "int32")
A = [(11, 4, 3)]
M = [(7, 6)]
V = [(23,)]


def of(ns, name):
    """SciPy's where NumPy has none."""
    return getattr(ns if ns is ts.dist else scipy.stats, name)


COUNTING = [
    Line("bincount", V, ("int64", "uint8"), lambda ns, a: ns.bincount(abs(a) % 7)),
    Line("bincount with weights", [(23,), (23,)], ("float64",),
         lambda ns, a, w: ns.bincount((abs(a) % 5).astype("int64"), w, 9), 4),
    Line("digitize", A, REAL, lambda ns, a: ns.digitize(a, [-20, -3, 0, 5, 30])),
    Line("digitize falling", A, REAL, lambda ns, a: ns.digitize(a, [30, 5, 0, -3], right=True)),
    Line("histogram", A, REAL, lambda ns, a: ns.histogram(a, 7), 2),
    Line("histogram of edges", A, REAL, lambda ns, a: ns.histogram(a, [-9, 0, 3, 30], density=True), 4),
    Line("histogram with weights", [(11, 4), (11, 4)], ("float64",),
         lambda ns, a, w: ns.histogram(a, 5, (-30, 30), weights=w), 8),
    Line("histogram by a rule", V, ("float64",), lambda ns, a: ns.histogram(a, "auto"), 2),
    Line("histogram2d", [(23,), (23,)], REAL, lambda ns, a, b: ns.histogram2d(a, b, (3, 4)), 2),
    Line("histogramdd", [(19, 3)], ("float64",), lambda ns, a: ns.histogramdd(a, 3)[0]),
]  # fmt: skip

SAMPLES = [
    Line("cov", M, REAL, lambda ns, a: ns.cov(a), 8),
    Line("cov of columns", M, ("float64",), lambda ns, a: ns.cov(a, rowvar=False, bias=True), 8),
    Line("cov of two", [(23,), (23,)], ("float64",), lambda ns, a, b: ns.cov(a, b), 8),
    Line("corrcoef", M, ("float64", "complex128"), lambda ns, a: ns.corrcoef(a), 16),
    Line("skew", M, ("float64",), lambda ns, a: of(ns, "skew")(a, axis=0), 16),
    Line("skew of all", M, ("float64",), lambda ns, a: of(ns, "skew")(a, axis=None, bias=False), 16),
    Line("kurtosis", M, ("float64",), lambda ns, a: of(ns, "kurtosis")(a, axis=1), 16),
    Line("kurtosis without bias", M, ("float64",), lambda ns, a: of(ns, "kurtosis")(a, axis=0, bias=False), 16),
    Line("average by weights", [(7, 6), (7, 6)], ("float64",),
         lambda ns, a, w: ns.average(a, 0, abs(w) + 1), 8),
    Line("quantile by hazen", M, REAL, lambda ns, a: ns.quantile(a, [0.1, 0.5, 0.99], axis=0, method="hazen"), 4),
    Line("quantile lower", M, REAL, lambda ns, a: ns.quantile(a, 0.3, axis=1, method="lower")),
    Line("quantile with weights", [(7, 6), (7, 6)], ("float64",),
         lambda ns, a, w: ns.quantile(a, 0.4, axis=0, method="inverted_cdf", weights=abs(w) + 1)),
    Line("sum where", M, REAL, lambda ns, a: ns.sum(a, axis=0, where=a > 0, initial=5), 4),
    Line("max where", M, REAL, lambda ns, a: ns.max(a, where=a < 3, initial=-100)),
    Line("std where", M, ("float64",), lambda ns, a: ns.std(a, axis=1, where=a > -90), 8),
]  # fmt: skip

ORDERS = [
    Line("lexsort", [(23,), (23,)], REAL, lambda ns, a, b: ns.lexsort((a, b // 20))),
    Line("partition", V, REAL, lambda ns, a: ns.partition(a, 5)[5]),
    Line("partition along", M, REAL, lambda ns, a: ns.partition(a, 2, axis=0)[2]),
    Line("unravel_index", V, ("int64",), lambda ns, a: ns.unravel_index(abs(a) % 24, (2, 3, 4))),
    Line("ravel_multi_index", [(23,), (23,)], ("int64",),
         lambda ns, a, b: ns.ravel_multi_index((a, b), (5, 6), mode=("wrap", "clip"))),
]  # fmt: skip

SIGNALS = [
    Line("gradient", M, REAL, lambda ns, a: ns.gradient(a), 4),
    Line("gradient of second order", A, ("float64",), lambda ns, a: ns.gradient(a, 0.5, axis=0, edge_order=2), 8),
    Line("gradient at places", M, ("float64",), lambda ns, a: ns.gradient(a, np.arange(7.0) ** 2, axis=0), 8),
    Line("interp", [(11, 4), (6,)], REAL, lambda ns, a, f: ns.interp(a, [-30, -5, 0, 1, 7, 40], f), 8),
    Line("interp with a period", V, ("float64",), lambda ns, a: ns.interp(a, [0.5, 2, 5], [1, 2, 3.5], period=6), 16),
    Line("trapezoid", M, REAL, lambda ns, a: ns.trapezoid(a, axis=0), 8),
    Line("convolve", V, REAL, lambda ns, a: ns.convolve(a, [1, 2, -1], "same"), 4),
    Line("polyval", V, ("float64",), lambda ns, a: ns.polyval([1.5, -2, 3], a / 40), 8),
    Line("polyfit", V, ("float64",), lambda ns, a: ns.polyfit(a / 40, a**2, 2), 1e6),
    Line("select", M, REAL, lambda ns, a: ns.select([a < -3, a > 3], [a, a * 2], 7)),
    Line("piecewise", M, REAL, lambda ns, a: ns.piecewise(a, [a < 0, a > 9], [-1, abs, 5])),
    Line("apply_along_axis", M, REAL, lambda ns, a: ns.apply_along_axis(lambda v: v[::-1], 0, a)),
    *(
        Line(f"pad {mode}", M, REAL, lambda ns, a, mode=mode: ns.pad(a, ((2, 1), (0, 3)), mode), 4)
        for mode in ("maximum", "minimum", "mean", "median", "linear_ramp")
    ),
    Line("pad odd", M, REAL, lambda ns, a: ns.pad(a, ((2, 9), (1, 3)), "reflect", reflect_type="odd"), 4),
    Line("pad with several constants", M, REAL, lambda ns, a: ns.pad(a, 2, constant_values=((1, 2), (3, 4)))),
]

TABLE = [*COUNTING, *SAMPLES, *ORDERS, *SIGNALS]


@pytest.mark.parametrize("line", TABLE, ids=[line.name for line in TABLE])
def test_line(line, slate):
    for dtype in line.dtypes:
        rng = np.random.default_rng(len(line.name))
        arrays = [numbers(rng, shape, dtype) for shape in line.shapes]
        problem, notes = None, []
        for splits, odd in layouts(line.shapes):
            try:
                notes.append(compare(line, arrays, splits, odd, dtype))
            except AssertionError as found:
                problem = problem or f"splits {splits}{', uneven' if odd else ''}: {found}"
        settle(slate, problem, hash(str(notes)), f"{line.name}, {dtype}")
