# SPDX-License-Identifier: Apache-2.0
"""Calls at the edges of NumPy's functions: integers that wrap around, booleans, arrays without elements, wrong axes. A
function of the namespace and of what makes an array of NumPy's."""

import operator

import numpy as np

BYTES = np.array([3, 200, 7], "uint8"), np.array([4, 100, 7], "uint8")
FLAGS = np.array([True, False, True]), np.array([True, True, False])
COMPARISONS = ("less", "less_equal", "equal", "not_equal", "greater_equal", "greater")
SIGNS = (operator.lt, operator.le, operator.eq, operator.ne, operator.ge, operator.gt)
# The smallest, the largest and one between: neighbours of the numbers that they are compared with.
ENDS = [np.array([np.iinfo(t).min, 7, np.iinfo(t).max], t) for t in ("int8", "uint8", "int64", "uint64")]
BEYOND = (2**63, 2**64, 10**20, 10**400, -(2**63) - 1, -(10**20))
CUBE = np.random.default_rng(3).normal(size=(3, 4, 5))

EDGES = {
    "vecdot of bytes": lambda ns, of: (ns.vecdot(of(BYTES[0]), of(BYTES[1])), ns.linalg.vecdot(*map(of, BYTES))),
    "vecdot of booleans": lambda ns, of: (ns.vecdot(*map(of, FLAGS)), ns.vecdot(of(FLAGS[0]), of(~FLAGS[0]))),
    "vecdot of both": lambda ns, of: ns.vecdot(of(BYTES[0]), of(FLAGS[0])),
    "isclose of bytes": lambda ns, of: ns.isclose(*map(of, BYTES), rtol=0.5),
    "isclose of booleans": lambda ns, of: (ns.isclose(*map(of, FLAGS)), ns.isclose(of(FLAGS[0]), of(BYTES[0]))),
    "median of nothing": lambda ns, of: [
        ns.nanmedian(of(np.zeros(shape, dtype)), **options)
        for dtype in ("float32", "int64", "complex64")
        for shape, options in (
            ((0,), {}),
            ((3, 0), {"axis": 1, "keepdims": True}),
            ((3, 0), {"axis": 0}),
            ((1, 0, 0), {"axis": (2,)}),
            ((1, 0, 0), {"axis": (0, 2), "keepdims": True}),
        )
    ],
    "median of booleans": lambda ns, of: [
        ns.nanmedian(of(np.stack([*FLAGS, FLAGS[0]])), axis=axis, keepdims=keep)
        for axis in (None, 0, 1, (0, 1), ())
        for keep in (False, True)
    ],
    "medians over axes": lambda ns, of: [
        median(of(x), axis=axis, keepdims=keep)
        for median in (ns.median, ns.nanmedian)
        for x in (CUBE, (9 * CUBE).astype("int32"))
        for axis in ((0, 2), (2, 1), (-1, 0, 1), [1, 0], (1,), ())
        for keep in (False, True)
    ],
    "quantiles over axes": lambda ns, of: [
        quantile(of(CUBE), q, axis=axis, keepdims=keep)
        for quantile in (ns.quantile, ns.percentile, ns.nanquantile, ns.nanpercentile)
        for q in (0.3, [0.2, 1.0])
        for axis in ((0, 2), (2, 1), (-1, 0, 1))
        for keep in (False, True)
    ],
    "median over axes of nothing": lambda ns, of: ns.median(of(np.zeros((2, 0, 3))), axis=(0, 1)),
    "median over an axis twice": lambda ns, of: ns.median(of(CUBE), axis=(0, -3)),
    "median over an axis that is not there": lambda ns, of: ns.median(of(CUBE), axis=(0, 3)),
    "integers beside those beyond 64 bits": lambda ns, of: [
        answer for sign in SIGNS for x in ENDS for n in BEYOND for answer in (sign(of(x), n), sign(n, of(x)))
    ],
    "comparisons with integers beyond 64 bits": lambda ns, of: [
        answer
        for compare in (getattr(ns, name) for name in COMPARISONS)
        for x in ENDS
        for n in BEYOND
        for answer in (compare(of(x), n), compare(n, of(x)))
    ],
    "booleans beside an integer beyond 64 bits": lambda ns, of: of(FLAGS[0]) < 10**20,
    "the sum with an integer beyond 64 bits": lambda ns, of: of(ENDS[2]) + 10**20,
    "quantiles of nothing": lambda ns, of: ns.nanquantile(of(np.zeros((0, 3))), 0.3, axis=0),
    "a share too large of nothing": lambda ns, of: ns.nanquantile(of(np.zeros((0, 3))), 1.5, axis=0),
    "median of complex numbers": lambda ns, of: ns.nanmedian(of(np.array([3, 2 + 1j, np.nan, 1, 2]))),
    "quantiles of complex numbers": lambda ns, of: ns.nanquantile(of(np.ones(3, "complex64")), 0.5),
    "percentiles of complex numbers": lambda ns, of: ns.nanpercentile(of(np.ones(3, "complex64")), 50),
    "inner without terms": lambda ns, of: (
        ns.inner(of(np.zeros(0)), of(np.zeros((3, 0)))),
        ns.inner(of(np.zeros((2, 0))), of(np.zeros((3, 0)))),
    ),
    "norms of integers": lambda ns, of: [
        ns.linalg.norm(of(np.array([1, 2, 4])), order) for order in (-1, -2, 0, 1, 3, np.inf, -np.inf)
    ],
    "pinv without singular values": lambda ns, of: [
        ns.linalg.pinv(of(np.zeros(shape))) for shape in ((0, 0), (0, 3), (3, 0), (2, 0, 3))
    ],
    "rank without singular values": lambda ns, of: [
        ns.linalg.matrix_rank(of(np.zeros(shape))) for shape in ((0, 0), (0, 3), (3, 0), (2, 0, 3))
    ],
    "rank of vectors": lambda ns, of: [
        ns.linalg.matrix_rank(of(np.asarray(x))) for x in ([0.0, 2.0], [0.0, 0.0], np.zeros(0))
    ],
    "rot90 of one axis": lambda ns, of: ns.rot90(of(np.ones((2, 3))), 1, (0, 0)),
    "rot90 of one axis by two names": lambda ns, of: ns.rot90(of(np.ones((2, 3))), 4, (1, -1)),
    "rot90 of an axis that is not there": lambda ns, of: ns.rot90(of(np.ones((2, 3))), 0, (0, 3)),
    "rot90 of three axes": lambda ns, of: ns.rot90(of(np.ones((2, 3, 4))), 1, (0, 1, 2)),
    "irfftn as long as its input": lambda ns, of: (
        ns.fft.irfftn(of(np.arange(4.0)), s=(-1,), axes=(0,)),
        ns.fft.irfftn(of(np.arange(12.0).reshape(3, 4)), s=(-1, -1), axes=(1, 0)),
    ),
}
