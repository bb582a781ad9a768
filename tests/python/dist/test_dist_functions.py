# SPDX-License-Identifier: Apache-2.0
"""Everything else that distributed arrays do, beside NumPy: one table, every split of every operand, even and uneven.

A line: name, shapes of the operands, dtypes, function of (namespace, operands), tolerance in units of the dtype's.
`silent` lines send nothing when the operands are distributed alike."""

import itertools
import math
from typing import NamedTuple

import numpy as np
import pytest
from checks import Watch, outcome, settle
from draw import numbers
from layouts import WORLD, check, digest, distribute, layout_of, tolerance, traffic, uneven
from numpy_edges import EDGES, FLAGS
from support import is_like, same_outcome

import tessera as ts

REAL = ("float64", "int32")
ANY = ("float32", "complex64", "int64")
INT = ("int64", "uint8")


class Line(NamedTuple):
    name: str
    shapes: list
    dtypes: tuple
    act: object
    tol: float = 0.0
    silent: object = None  # of the split: whether nothing may be sent


def always(split):
    return True


def other_than(*axes):
    return lambda split: split not in axes


A = [(11, 4, 3)]
V = [(23,)]
AA = [(7, 6), (7, 6)]

ELEMENTWISE = [
    Line("negative", A, ANY, lambda ns, a: -a, 0, always),
    Line("abs", A, ANY, lambda ns, a: abs(a), 1, always),
    Line("exp of half", A, ("float32", "complex64"), lambda ns, a: ns.exp(a / 50), 4, always),
    Line("sqrt", A, ("float64",), lambda ns, a: ns.sqrt(ns.abs(a)), 2, always),
    Line("sin", A, ("float64",), lambda ns, a: ns.sin(a), 4, always),
    Line("floor", A, ("float64",), lambda ns, a: ns.floor(a), 0, always),
    Line("round", A, ANY, lambda ns, a: ns.round(a), 0, always),
    Line("isnan", A, ("float64",), lambda ns, a: ns.isnan(a), 0, always),
    Line("conj real imag", A, ("complex64",), lambda ns, a: ns.conj(a) + a.real * a.imag, 2, always),
    Line("astype", A, ("float64",), lambda ns, a: a.astype("int16"), 0, always),
    Line("scalar on either side", A, ANY, lambda ns, a: 3 * a - 1, 1, always),
    Line("comparison", A, REAL, lambda ns, a: (a > 2) & ~(a == 5) | (a <= -3), 0, always),
    Line("add", AA, ANY, lambda ns, a, b: a + b, 0),
    Line("subtract row", [(7, 6), (6,)], ANY, lambda ns, a, b: a - b, 0),
    Line("multiply column", [(7, 6), (7, 1)], ANY, lambda ns, a, b: b * a, 4),
    Line("outer by broadcast", [(5, 1), (1, 9)], INT, lambda ns, a, b: a * b, 0),
    Line("divide", AA, ("float64",), lambda ns, a, b: a / (abs(b) + 1), 2),
    Line("floor divide, remainder", AA, ("int64",), lambda ns, a, b: a // (abs(b) + 1) + a % (abs(b) + 1), 0),
    Line("power", AA, ("float64",), lambda ns, a, b: (abs(a) + 1) ** (b / 50), 8),
    Line("maximum", AA, REAL, lambda ns, a, b: ns.maximum(a, b), 0),
    Line("less", AA, REAL, lambda ns, a, b: a < b, 0),
    Line("where", AA, ANY, lambda ns, a, b: ns.where(abs(a) > abs(b), a, b), 0),
    Line("clip", A, REAL, lambda ns, a: ns.clip(a, -5, 7), 0, always),
]

REDUCTIONS = [
    *(
        Line(f"{f} {axis}{' kept' if keep else ''}", A, ("float64", "int64"), act, 4, silent)
        for f in ("sum", "max", "min", "mean", "prod", "any", "all", "argmax", "argmin", "count_nonzero", "std", "var")
        for axis, keep in ((None, False), (0, False), (2, True), ((0, 2), False), (-2, False))
        if not (isinstance(axis, tuple) and f.startswith("arg"))
        for act in [
            lambda ns, a, f=f, axis=axis, keep=keep: getattr(ns, f)(
                a / 4 if f == "prod" else a, axis=axis, keepdims=keep
            )
        ]
        for silent in [None if axis is None else other_than(*(x % 3 for x in np.atleast_1d(axis)))]
    ),
    Line("sum of complex", A, ("complex64",), lambda ns, a: a.sum(1), 4, other_than(1)),
    Line(
        "cumsum along the split or not", A, ("float64", "int64"), lambda ns, a: ns.cumsum(a, axis=0), 4, other_than(0)
    ),
    Line("cumprod", A, ("float64",), lambda ns, a: ns.cumprod(a / 40, axis=1), 8, other_than(1)),
    Line("diff", A, REAL, lambda ns, a: ns.diff(a, axis=0), 1),
    Line("norm", V, ("float64",), lambda ns, a: (ns if ns is ts.dist else np.linalg).norm(a), 4),
    Line("vdot", [(23,), (23,)], ("complex64",), lambda ns, a, b: ns.vdot(a, b), 8),
]

ORDER = [
    Line("sort", A, REAL, lambda ns, a: ns.sort(a, axis=0), 0, other_than(0)),
    Line("sort last", A, REAL, lambda ns, a: ns.sort(a, axis=-1), 0, other_than(2)),
    Line("sort of many equals", V, INT, lambda ns, a: ns.sort(a // 20), 0),
    Line("argsort", A, ("float64",), lambda ns, a: stable_argsort(ns, a, 0), 0),
    Line("unique", V, INT, lambda ns, a: ns.unique(a // 9), 0),
    Line(
        "unique with all",
        V,
        INT,
        lambda ns, a: ns.unique(a // 9, return_index=True, return_inverse=True, return_counts=True),
        0,
    ),
    Line("unique along an axis", [(11, 3, 2)], INT, lambda ns, a: ns.unique(a % 3 // 2, True, True, True, axis=0), 0),
    Line(
        "unique along the others",
        [(2, 5, 6)],
        ("int8", "bool", "float64"),
        lambda ns, a: tuple(ns.unique(a > 0, axis=i) for i in (1, 2)),
        0,
    ),
    Line(
        "unique with NaN",
        [(12, 2)],
        ("float64", "complex64"),
        lambda ns, a: ns.unique(some_nans(ns, a), True, True, True, axis=0),
        0,
    ),
    Line("searchsorted", [(23,), (9,)], REAL, lambda ns, a, b: ns.searchsorted(ns.sort(a), b), 0),
    Line("nonzero", [(7, 6)], REAL, lambda ns, a: ns.nonzero(a > 10), 0),
    Line("take", [(7, 6)], ANY, lambda ns, a: ns.take(a, np.array([5, 0, 3, 3]), axis=0), 0),
    Line("take other", [(7, 6)], ANY, lambda ns, a: ns.take(a, np.array([5, 0, 3]), axis=1), 0),
    Line("take_along_axis", [(7, 6)], ANY, lambda ns, a: ns.take_along_axis(a, indices(ns, (7, 6), 7), axis=0), 0),
    Line("compress", [(7, 6)], ANY, lambda ns, a: ns.compress(np.array([1, 0, 1, 1, 0, 0, 1], bool), a, axis=0), 0),
]

MOVES = [
    Line("reshape", A, ANY, lambda ns, a: ns.reshape(a, (4, 33)), 0),
    Line("reshape to one line", A, ANY, lambda ns, a: a.reshape(-1), 0),
    Line("ravel", A, ANY, lambda ns, a: ns.ravel(a), 0),
    Line("transpose", A, ANY, lambda ns, a: ns.transpose(a, (2, 0, 1)), 0, always),
    Line("T", A, ANY, lambda ns, a: a.T, 0, always),
    Line("swapaxes", A, ANY, lambda ns, a: ns.swapaxes(a, 0, 2), 0, always),
    Line("moveaxis", A, ANY, lambda ns, a: ns.moveaxis(a, 0, -1), 0, always),
    Line("expand_dims", A, ANY, lambda ns, a: ns.expand_dims(a, 1), 0, always),
    Line("squeeze", [(5, 1, 3)], ANY, lambda ns, a: ns.squeeze(a, 1), 0, other_than(1)),
    Line("flip", A, ANY, lambda ns, a: ns.flip(a, 0), 0, other_than(0)),
    Line("roll", A, ANY, lambda ns, a: ns.roll(a, 4, axis=0), 0, other_than(0)),
    Line("roll back", A, ANY, lambda ns, a: ns.roll(a, -1, axis=1), 0, other_than(1)),
    Line("pad", A, ANY, lambda ns, a: ns.pad(a, ((2, 1), (0, 0), (1, 0))), 0),
    Line("pad edge", [(7, 6)], ANY, lambda ns, a: ns.pad(a, 2, mode="edge"), 0),
    Line("pad wrap", [(7, 6)], ANY, lambda ns, a: ns.pad(a, 2, mode="wrap"), 0),
    Line("repeat", A, ANY, lambda ns, a: ns.repeat(a, 2, axis=0), 0),
    Line("tile", [(7, 6)], ANY, lambda ns, a: ns.tile(a, (2, 3)), 0),
    Line("broadcast_to", [(1, 6)], ANY, lambda ns, a: ns.broadcast_to(a, (4, 6)), 0),
    Line("diagonal", [(7, 6)], ANY, lambda ns, a: ns.diagonal(a, 1), 0),
    Line("tril triu", [(7, 6)], ANY, lambda ns, a: ns.tril(a) - ns.triu(a, 1), 0, always),
    Line("concatenate", [(7, 6), (4, 6)], ANY, lambda ns, a, b: ns.concatenate([a, b, a]), 0),
    Line("concatenate across", AA, ANY, lambda ns, a, b: ns.concatenate([a, b], axis=1), 0),
    Line("stack", AA, ANY, lambda ns, a, b: ns.stack([a, b], axis=1), 0),
    Line("vstack hstack", AA, ANY, lambda ns, a, b: (ns.vstack([a, b]), ns.hstack([a, b])), 0),
    Line("split", [(9, 4)], ANY, lambda ns, a: tuple(ns.split(a, [2, 5])), 0),
]

PRODUCTS = [
    Line("matmul", [(7, 6), (6, 5)], ("float64", "complex64"), lambda ns, a, b: a @ b, 8),
    Line("matrix times vector", [(7, 6), (6,)], ("float64",), lambda ns, a, b: a @ b, 8),
    Line("vector times matrix", [(7,), (7, 6)], ("float64",), lambda ns, a, b: a @ b, 8),
    Line("batches", [(5, 3, 4), (5, 4, 2)], ("float32",), lambda ns, a, b: ns.matmul(a, b), 8),
    Line("dot", [(23,), (23,)], ("float64",), lambda ns, a, b: a @ b, 8),
    Line("integers", [(7, 6), (6, 5)], ("int64",), lambda ns, a, b: a @ b, 0),
]

FFTS = [
    Line("fft", [(9, 6)], ("complex64", "float64"), lambda ns, a: ns.fft.fft(a), 16, other_than(1)),
    Line("fft along the first", [(9, 6)], ("complex64",), lambda ns, a: ns.fft.fft(a, axis=0), 16, other_than(0)),
    Line("ifft", [(9, 6)], ("complex64",), lambda ns, a: ns.fft.ifft(a, axis=0), 16, other_than(0)),
    Line("fftn", [(5, 6, 4)], ("complex64",), lambda ns, a: ns.fft.fftn(a), 16),
    Line("fft2 of a batch", [(5, 6, 4)], ("complex64",), lambda ns, a: ns.fft.fft2(a), 16, other_than(1, 2)),
    Line("rfft", [(9, 6)], ("float64",), lambda ns, a: ns.fft.rfft(a, axis=0), 16, other_than(0)),
    Line("fft of zeros", [(0, 3)], ("float64",), lambda ns, a: ns.fft.fft(a, n=5, axis=0), 16),
    Line("hfft", [(9, 6)], ("complex64",), lambda ns, a: ns.fft.hfft(a, axis=0, norm="ortho"), 16, other_than(0)),
    Line("ihfft", [(9, 6)], ("float64",), lambda ns, a: ns.fft.ihfft(a, n=7), 16, other_than(1)),
    Line("fftshift", [(9, 6)], ("float64",), lambda ns, a: ns.fft.fftshift(a), 0),
]

NANS = [
    *(
        Line(
            f"{f} {axis}",
            [(11, 4)],
            ("float64", "int32"),
            lambda ns, a, f=f, axis=axis: getattr(ns, f)(some_nans(ns, a), axis=axis),
            8,
        )
        for f in "nansum nanprod nanmax nanmin nanmean nanvar nanstd nanmedian nancumsum nanargmax nanargmin".split()
        for axis in (None, 0, 1)
    ),
    Line("nanquantile", [(11, 4)], ("float64",), lambda ns, a: ns.nanquantile(some_nans(ns, a), [0.2, 0.7], axis=0), 8),
    Line(
        "nanmedian over two",
        [(5, 4, 3)],
        ("float64", "int32"),
        lambda ns, a: ns.nanmedian(some_nans(ns, a), axis=(0, 2)),
        8,
    ),
    Line("nan_to_num", [(11, 4)], ("float64",), lambda ns, a: ns.nan_to_num(some_nans(ns, a), nan=7), 0),
]

COMPOSED = [
    Line(
        "tensordot", [(4, 3, 5), (5, 3, 2)], ("float64",), lambda ns, a, b: ns.tensordot(a, b, axes=([1, 2], [1, 0])), 8
    ),
    Line("outer inner", [(7,), (7,)], INT, lambda ns, a, b: (ns.outer(a, b), ns.inner(a, b)), 0),
    Line("kron", [(3, 2), (4,)], INT, lambda ns, a, b: ns.kron(a, b), 0),
    Line("cross", [(7, 3), (7, 3)], ("int64",), lambda ns, a, b: ns.cross(a, b), 0),
    Line("trace", [(7, 6)], INT, lambda ns, a: (ns.trace(a), ns.trace(a, 1)), 0),
    Line("isin", [(7, 6), (9,)], INT, lambda ns, a, b: ns.isin(a, b), 0),
    Line("argwhere", [(7, 6)], INT, lambda ns, a: (ns.argwhere(a > 5), ns.flatnonzero(a > 5)), 0),
    Line("average", [(7, 6), (7,)], ("float64",), lambda ns, a, b: ns.average(a, axis=0, weights=abs(b) + 1), 8),
    Line("isclose", AA, ("float64",), lambda ns, a, b: ns.isclose(a, b, rtol=0.5), 0),
    Line("rot90", [(7, 6)], ANY, lambda ns, a: tuple(ns.rot90(a, k) for k in range(4)), 0),
    Line("ptp", [(7, 6)], REAL, lambda ns, a: (ns.ptp(a), ns.ptp(a, axis=0)), 0),
    Line("diff with more", [(7, 6)], REAL, lambda ns, a: ns.diff(a, axis=0, prepend=0, append=a), 1),
    Line("round to decimals", A, ("float64", "complex64"), lambda ns, a: ns.round(a / 7, 2), 4, always),
]

TABLE = [*ELEMENTWISE, *REDUCTIONS, *ORDER, *MOVES, *PRODUCTS, *FFTS, *NANS, *COMPOSED]


def some_nans(ns, a):
    """NaN where an element is divisible by three."""
    return a if a.dtype.kind in "iu" else ns.where(a.real // 1 % 3 == 0, np.nan, a)


def stable_argsort(ns, a, axis):
    return np.argsort(a, axis=axis, kind="stable") if ns is np else ns.argsort(a, axis=axis)


def indices(ns, shape, n):
    found = np.arange(math.prod(shape)).reshape(shape) * 5 % n
    return found if ns is np else distribute(found, 0)


def layouts(shapes):
    """Every split of every operand, in turn even and not."""
    choices = [[None, *range(len(s))] for s in shapes]
    for number, splits in enumerate(itertools.product(*choices)):
        yield splits, False
        if any(s is not None for s in splits) and (len(shapes) == 1 or number % 2):
            yield splits, True


def flat(result):
    return list(result) if isinstance(result, (tuple, list)) else [result]


def compare(line, arrays, splits, odd, dtype):
    """One layout of the operands on this rank; returns what all ranks must know alike."""
    operands = [
        distribute(a, s, uneven(a.shape[s], WORLD.size) if odd and s is not None else None)
        for a, s in zip(arrays, splits, strict=True)
    ]
    watch = Watch([(f"operand {n}", o) for n, o in enumerate(operands)])
    wanted = outcome(lambda: line.act(np, *[a.copy() for a in arrays]))
    before = traffic()
    got = outcome(lambda: line.act(ts.dist, *operands))
    sent = traffic() != before
    watch.unchanged()
    if wanted[0] == "error":
        assert got[0] == "error" and is_like(got[1], wanted[1]), f"{got[1:]} instead of {wanted[1:]}"
        return got[1].__name__
    assert got[0] == "value", f"raises {got[1:]}"
    results, expected = flat(got[1]), flat(wanted[1])
    assert len(results) == len(expected)
    n = max(a.size for a in arrays)
    for mine, theirs in zip(results, expected, strict=True):
        theirs = np.asarray(theirs)
        check(mine, theirs, tol=line.tol * tolerance(theirs.dtype, n) if theirs.dtype.kind in "fc" else 0.0)
    if line.silent and line.silent(splits[0]) and len(set(splits)) == 1:
        assert not sent, "sent something that nobody needs"
    return [digest(r) for r in results]


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


def test_nothing_is_tested_that_does_not_exist():
    assert len({line.name for line in TABLE}) == len(TABLE)


@pytest.mark.parametrize("split", [None, 0, 1])
def test_layout_changes(split, slate):
    array = np.arange(60.0).reshape(10, 6)
    x = distribute(array, split)
    for to in (None, 0, 1):
        y = x.resplit(to)
        check(y, array, to)
        assert y.balanced and layout_of(x).split == split
    if split is not None:
        counts = uneven(array.shape[split], WORLD.size)
        y = x.redistribute(counts)
        check(y, array, split)
        assert tuple(y.counts) == counts
        z = y.balance()
        check(z, array, split)
        assert z.balanced
        got = outcome(lambda: x.redistribute([1] * WORLD.size))
        assert got[0] == "error" or sum([1] * WORLD.size) == array.shape[split]
    assert np.array_equal(np.asarray(x), array) and np.array_equal(x.numpy(), array)
    settle(slate, None, digest(x))


def test_factories_do_not_depend_on_ranks():
    for split in (None, 0):
        check(ts.dist.zeros((7,), dtype="float32", split=split), np.zeros(7, "float32"), split)
        check(ts.dist.ones((7, 2), dtype="int16", split=split), np.ones((7, 2), "int16"), split)
        check(ts.dist.full((7,), 4.5, split=split), np.full(7, 4.5), split)
        check(ts.dist.arange(3, 40, 5, split=split), np.arange(3, 40, 5), split)
        check(ts.dist.linspace(0, 1, 11, split=split), np.linspace(0, 1, 11), split, tol=1e-15)
        check(ts.dist.eye(5, 8, split=split), np.eye(5, 8), split)


def test_random_numbers_do_not_depend_on_ranks_or_splits():
    """They are those of the local generator with the same seed."""
    for make in (
        lambda r, **k: r.normal((9, 4), **k),
        lambda r, **k: r.uniform((9, 4), dtype="float32", **k),
        lambda r, **k: r.integers(0, 1000, (9, 4), **k),
        lambda r, **k: r.permutation(37, **k),
    ):
        ts.random.seed(12)
        expected = make(ts.random).numpy()
        for split in (None, 0):
            ts.dist.random.seed(12)
            check(make(ts.dist.random, split=split), expected, split)


def test_numpys_functions_take_distributed_arrays():
    array = np.arange(12.0).reshape(4, 3)
    x = distribute(array, 0)
    assert np.array_equal(np.asarray(np.sin(x)), np.asarray(ts.dist.sin(x)))
    assert float(np.sum(x)) == 66.0
    assert np.array_equal(np.concatenate([x, x]), np.concatenate([array, array]))
    assert x.__array_namespace__() is not None
    assert np.array_equal(np.from_dlpack(x.local), x.local.numpy())
    for values in ((1, 2), [(1, 2), (3, 4)]):  # of numpy.pad alone
        assert np.array_equal(np.pad(x, 1, constant_values=values), np.pad(array, 1, constant_values=values))


def test_printing_shows_numpys_text_on_every_rank_or_one(slate):
    """The text does not depend on the layout, and the array stays as it is."""
    array = np.arange(12).reshape(4, 3)
    texts = {str(distribute(array, split)) for split in (None, 0, 1)}
    assert len(texts) == 1
    big = ts.dist.arange(10**6, split=0)
    before = traffic()
    text = str(big)
    assert traffic()[1] - before[1] < 10_000 and "..." in text
    settle(slate, None, text)


def test_halo():
    array = np.arange(40).reshape(20, 2)
    x = distribute(array, 0)
    before, after = x.halo(1)
    start = sum(x.counts[: WORLD.rank])
    end = start + x.counts[WORLD.rank]
    assert np.array_equal(before.numpy(), array[max(0, start - 1) : start])
    assert np.array_equal(after.numpy(), array[end : end + 1])


def well_posed(n):
    rng = np.random.default_rng(n)
    a = rng.normal(size=(n, n))
    return a @ a.T + n * np.eye(n)


LINALG = {
    "solve": lambda la, a, b: la.solve(a, b),
    "inverse": lambda la, a, b: getattr(la, "inverse", getattr(la, "inv", None))(a),
    "cholesky": lambda la, a, b: la.cholesky(a),
    "eigenvalues": lambda la, a, b: la.eigvalsh(a) if hasattr(la, "eigvalsh") else la.eigh(a)[0],
    "singular values": lambda la, a, b: np.asarray(la.svd(a)[1]),
    "q times r": lambda la, a, b: np.asarray(la.qr(a)[0]) @ np.asarray(la.qr(a)[1]),
}


@pytest.mark.parametrize("name", LINALG)
def test_linear_algebra(name, slate):
    a, b = well_posed(13), np.random.default_rng(1).normal(size=(13, 3))
    expected = LINALG[name](np.linalg, a, b)
    for split in (None, 0, 1):
        got = outcome(lambda split=split: LINALG[name](ts.dist.linalg, distribute(a, split), distribute(b, split)))
        assert got[0] == "value", got
        settle(slate, None, got[0])
        values = np.asarray(got[1])
        assert values.shape == np.shape(expected)
        assert not np.any(~(np.abs(values - expected) < 1e-9 * np.max(np.abs(expected)))), f"{name}, split {split}"


def last_wrong(n):
    """Matrices of which the last one alone is singular and not positive definite."""
    stack = np.tile(np.eye(3), (n, 1, 1))
    stack[-1] = 0
    return stack


BAD_MATRICES = {
    "solve": (np.zeros((5, 5)), lambda la, a: la.solve(a, np.ones(5))),
    "large solve": (np.zeros((70, 70)), lambda la, a: la.solve(a, np.ones(70))),
    "inverse": (np.zeros((5, 5)), lambda la, a: la.inv(a)),
    "large inverse": (np.zeros((70, 70)), lambda la, a: la.inv(a)),
    "cholesky": (-np.eye(5), lambda la, a: la.cholesky(a)),
    "large cholesky": (-np.eye(70), lambda la, a: la.cholesky(a)),
    "svd": (np.full((5, 5), np.nan), lambda la, a: la.svd(a)),
    "inverse of a stack": (last_wrong(6), lambda la, a: la.inv(a)),
    "cholesky of a stack": (last_wrong(6), lambda la, a: la.cholesky(a)),
    "solve of a stack": (last_wrong(6), lambda la, a: la.solve(a, np.ones((6, 3, 1)))),
}


@pytest.mark.parametrize("name", BAD_MATRICES)
def test_linear_algebra_fails_on_all_ranks(name, slate):
    a, call = BAD_MATRICES[name]
    for split in (None, *range(a.ndim)):
        kind, *said = outcome(lambda split=split: call(ts.dist.linalg, distribute(a, split)))
        problem = None
        if kind != "error" or said[0] is not ts.LinAlgError:
            problem = f"{name}, split {split}: expected LinAlgError, got {kind} {said[0]}"
        elif a.ndim == 3 and "matrix (5,) of the stack" not in said[1]:
            problem = f"{name}, split {split}: {said[1]!r} does not name matrix (5,)"
        settle(slate, problem, said[-1] if kind == "error" else None)


def test_a_numpy_copy_of_a_row_is_nobody_elses(slate):
    """Also where the row lies on another rank and its reading is kept."""
    x = distribute(np.arange(12).reshape(4, 3), 0)
    for part, expected in ((x[3], [9, 10, 11]), (x[0, 1], 1)):
        part.numpy()[...] = -1
        np.asarray(part)[...] = -1
        check(part, np.asarray(expected))
        assert slate.agree(part.numpy().tobytes())


@pytest.mark.parametrize("split", [None, 0])
def test_ufuncs_at_positions_write_into_the_array(split):
    x, expected = distribute(np.arange(5), split), np.arange(5)
    np.add.at(x, [0, 4, 4], [10, 20, 30])
    np.add.at(expected, [0, 4, 4], [10, 20, 30])
    check(x, expected, split)


@pytest.mark.parametrize("split", [None, 0])
def test_repeats_may_be_distributed(split):
    array, repeats = np.arange(6).reshape(3, 2), np.array([2, 0, 3])
    check(ts.dist.repeat(distribute(array, 0), distribute(repeats, split), axis=0), np.repeat(array, repeats, axis=0))


def test_logaddexp_of_unsigned_integers():
    a, b = np.array([3, 1, 3], "uint16"), np.array([7, 2, 1], "uint16")
    check(ts.dist.logaddexp(distribute(a, 0), distribute(b, 0)), np.logaddexp(a, b), tol=1e-6)


def same_edges(got, expected):
    got, expected = ([x] if not isinstance(x, (list, tuple)) else x for x in (got, expected))
    for mine, theirs in zip(got, expected, strict=True):
        check(mine, theirs, tol=tolerance(np.asarray(theirs).dtype, 1))


@pytest.mark.parametrize("split", [None, 0, 1, 2])
@pytest.mark.parametrize("name", EDGES)
def test_edges(name, split):
    def of(array):
        return distribute(array, split if split is None or split < array.ndim else None)

    same_outcome(lambda: EDGES[name](ts.dist, of), lambda: EDGES[name](np, lambda x: x), same_edges)


@pytest.mark.parametrize("expected", [True, False])
def test_allclose_of_booleans(expected):
    assert ts.dist.allclose(distribute(FLAGS[0], 0), distribute(FLAGS[not expected], 0)) is expected
