# SPDX-License-Identifier: Apache-2.0
"""NumPy's functions beyond the standard on distributed arrays, beside NumPy: every split, even and uneven."""

import numpy as np
import pytest
import scipy.stats
from checks import outcome, settle
from draw import numbers
from layouts import WORLD, Counted, check, distribute, uneven
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

EDITS = [
    Line("append", [(7, 6), (2, 6)], REAL, lambda ns, a, b: ns.append(a, b, axis=0)),
    Line("append flattened", [(7, 6), (3,)], REAL, lambda ns, a, b: ns.append(a, b)),
    Line("insert a row", [(7, 6), (6,)], REAL, lambda ns, a, b: ns.insert(a, 3, b, axis=0)),
    Line("insert several", M, REAL, lambda ns, a: ns.insert(a, [0, 5, 5, -1], 9, axis=0)),
    Line("insert columns", M, REAL, lambda ns, a: ns.insert(a, [1, 4], 7, axis=1)),
    Line("delete one", M, REAL, lambda ns, a: ns.delete(a, -2, axis=0)),
    Line("delete several", M, REAL, lambda ns, a: ns.delete(a, [0, 3, 3], axis=1)),
    Line("delete a slice", V, REAL, lambda ns, a: ns.delete(a, slice(1, 20, 3))),
    Line("delete by a mask", V, REAL, lambda ns, a: ns.delete(a, np.arange(23) % 4 == 1)),
    Line("block", [(7, 6), (7, 2), (1, 6), (1, 2)], REAL, lambda ns, a, b, c, d: ns.block([[a, b], [c, d]])),
    Line("hsplit", M, REAL, lambda ns, a: ns.hsplit(a, 3)),
    Line("vsplit", M, REAL, lambda ns, a: ns.vsplit(a, [2, 3])),
    Line("dsplit", A, REAL, lambda ns, a: ns.dsplit(a, 3)),
    Line("fliplr", M, REAL, lambda ns, a: ns.fliplr(a)),
    Line("flipud", M, REAL, lambda ns, a: ns.flipud(a)),
    Line("union1d", [(23,), (7, 6)], REAL, lambda ns, a, b: ns.union1d(a, b)),
    Line("intersect1d", [(23,), (42,)], REAL, lambda ns, a, b: ns.intersect1d(a // 9, b // 9, return_indices=True)),
    Line("setdiff1d", [(23,), (42,)], REAL, lambda ns, a, b: ns.setdiff1d(a // 9, b // 9)),
    Line("setxor1d", [(23,), (42,)], REAL, lambda ns, a, b: ns.setxor1d(a // 9, b // 9)),
    Line("fill_diagonal", M, REAL, lambda ns, a: wrote(ns.fill_diagonal, a, [4, 5])),
    Line("fill_diagonal on and on", [(11, 3)], REAL, lambda ns, a: wrote(ns.fill_diagonal, a, 4, True)),
    Line("putmask", M, REAL, lambda ns, a: wrote(ns.putmask, a, a > 2, [1, 2, 3, 4])),
    Line("place", M, REAL, lambda ns, a: wrote(ns.place, a, a > 2, [1, 2, 3])),
    Line("copyto", [(7, 6), (6,)], REAL, lambda ns, a, b: wrote(ns.copyto, a, b, "same_kind", a < b)),
    Line("put clipped", V, REAL, lambda ns, a: wrote(ns.put, a, [3, 99, -50], [1, 2, 4], "clip")),
]


def wrote(function, a, *args):
    """What a function leaves in a copy of its first argument, called by NumPy's name as well."""
    b = a.copy()
    function(b, *args)
    c = a.copy()
    getattr(np, function.__name__)(c, *args)
    return b, c


PRODUCTS = [
    Line(f"einsum {text}", shapes, ("float64", "int64"), lambda ns, *x, text=text: ns.einsum(text, *x), 16)
    for text, shapes in [
        ("ij,jk->ik", [(7, 6), (6, 5)]),
        ("ij,jk", [(7, 6), (6, 5)]),
        ("ij->j", [(7, 6)]),
        ("ij->", [(7, 6)]),
        ("ii->i", [(6, 6)]),
        ("ii", [(6, 6)]),
        ("ij,ij->ij", [(7, 6), (7, 6)]),
        ("bij,bjk->bik", [(5, 3, 4), (5, 4, 2)]),
        ("...ij,jk->...ik", [(5, 3, 4), (4, 2)]),
        ("i,j,k->ijk", [(5,), (4,), (3,)]),
        ("ij,j,i->", [(7, 6), (6,), (7,)]),
        ("...i,...i", [(5, 4), (1, 4)]),
        ("ijk->kji", [(5, 3, 4)]),
    ]
]
PRODUCTS.append(
    Line("einsum by lists", [(7, 6), (6, 5)], ("float64",),
         lambda ns, a, b: ns.einsum(a, [0, 1], b, [1, 2], [2, 0]), 16)
)  # fmt: skip

TABLE = [*COUNTING, *SAMPLES, *ORDERS, *SIGNALS, *EDITS, *PRODUCTS]


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


@pytest.mark.parametrize("split", [None, 0, 1])
def test_numpys_functions_stay_distributed(split):
    """Nothing is gathered in silence: the results are distributed arrays, and writes arrive."""
    n = np.arange(42.0).reshape(7, 6)
    x = distribute(n, split)
    check(np.einsum("ij,kj->ik", x, x), np.einsum("ij,kj->ik", n, n), tol=1e-12)
    check(np.histogram(x, 5)[0], np.histogram(n, 5)[0])
    check(np.quantile(x, 0.3, method="weibull"), np.quantile(n, 0.3, method="weibull"), tol=1e-12)
    check(np.insert(x, 2, 5, axis=1), np.insert(n, 2, 5, axis=1))
    check(np.cov(x), np.cov(n), tol=1e-10)
    check(np.add(x, n, where=n > 7, out=distribute(n, split)), np.add(n, n, where=n > 7, out=n.copy()))
    target = n.copy()
    np.copyto(x, -n, where=n > 9)
    np.copyto(target, -n, where=n > 9)
    np.putmask(x, n < 3, 50.0)
    np.putmask(target, n < 3, 50.0)
    np.place(x, n == 20, [7.0])
    np.place(target, n == 20, [7.0])
    check(x, target, split=split)
    with pytest.raises(TypeError):
        np.copyto(target, x)  # into an array of NumPy: that would gather


@pytest.mark.parametrize(
    "start, stop, num, end", [(0, 3, 7, True), (1, 8, 50, False), (-2, 2, 1, True), (0, 1, 0, True)]
)
def test_spacing(start, stop, num, end):
    for split in (None, 0):
        check(ts.dist.logspace(start, stop, num, end, split=split), np.logspace(start, stop, num, end), tol=1e-13)
        got = ts.dist.geomspace(start + 3, stop + 5, num, end, split=split)
        check(got, np.geomspace(start + 3, stop + 5, num, end), tol=1e-13)


def three_point(block):
    return block[:-2] + 2 * block[1:-1] + block[2:]


@pytest.mark.parametrize("n", [1, 2, 5, 23])
@pytest.mark.parametrize("boundary", ["edge", "reflect", "symmetric", "wrap", 7.0, None])
def test_map_overlap(n, boundary, slate):
    x = np.arange(float(n)) ** 2
    if boundary == "reflect" and n == 1:
        return
    for counts in (None, uneven(n, WORLD.size)):
        mine = distribute(x, 0, counts)
        for depth in (1, 2):

            def smooth(block, depth=depth):
                """As long as the block: zeros where entries are missing."""
                wide = ts.concatenate([block[:0], block])
                total = ts.zeros_like(wide)
                for k in range(-depth, depth + 1):
                    a, b = max(0, k), min(wide.shape[0], wide.shape[0] + k)
                    total[max(0, -k) : max(0, -k) + b - a] += wide[a:b]
                return total

            if isinstance(boundary, str):
                wide = np.pad(x, depth, boundary)
            else:
                wide = np.pad(x, depth) if boundary is None else np.pad(x, depth, constant_values=boundary)
            expected = np.convolve(wide, np.ones(2 * depth + 1), "valid")
            got = outcome(lambda f=smooth, x=mine, depth=depth: ts.dist.map_overlap(f, x, depth, boundary))
            settle(slate, None if got[0] == "value" else str(got), got[0])
            check(got[1], expected, split=0, tol=1e-12)
    if boundary not in (None,):
        got = ts.dist.map_overlap(three_point, distribute(x, 0), 1, boundary, trim=False)
        wide = np.pad(x, 1, boundary) if isinstance(boundary, str) else np.pad(x, 1, constant_values=boundary)
        check(got, three_point(wide), tol=1e-12)


def test_map_overlap_of_columns():
    x = np.arange(60.0).reshape(4, 15)
    got = ts.dist.map_overlap(lambda b: b[:, 1:-1] - b[:, :-2], distribute(x, 1), 1, "wrap", trim=False)
    check(got, x - np.roll(x, 1, 1), split=1)


@pytest.mark.parametrize("split", [None, 0, 1])
def test_map_blocks(split):
    x, y = np.arange(42.0).reshape(7, 6), np.arange(6.0)
    for counts in (None, None if split is None else uneven(x.shape[split], WORLD.size)):
        mine = distribute(x, split, counts)
        check(ts.dist.map_blocks(lambda a: a * 2 + 1, mine), x * 2 + 1, split=split)
        check(ts.dist.map_blocks(lambda a, b, k: a * b + k, mine, distribute(x), k=3), x * x + 3, split=split)
    if split == 0:
        check(ts.dist.map_blocks(lambda a, b: a @ b, distribute(x, 0), distribute(y, 0)), x @ y, split=0)


@pytest.mark.parametrize("split", [None, 0, 1])
@pytest.mark.parametrize("dtype", ["float64", "int64", "complex128", "float32"])
def test_csv(split, dtype, folder, slate):
    rng = np.random.default_rng(5)
    x = numbers(rng, (13, 3), dtype)
    if dtype == "float64":
        x[2, 1], x[5, 0] = np.inf, np.nan
    path = folder / f"{split}{dtype}.csv"
    ts.dist.save_csv(path, distribute(x, split), header="a,b,c")
    check(ts.dist.load_csv(path, 1, dtype=dtype, split=split), x, split=split)
    ts.dist.save_csv(path, distribute(x[:, 0], None if split is None else 0), sep=";")
    check(ts.dist.load_csv(path, sep=";", dtype=dtype), x[:, :1], split=0)


def test_csv_as_others_write_it(folder):
    path = folder / "lines.csv"
    if WORLD.rank == 0:
        path.write_text("# head\n\n" + "\n".join(f"{i}, {i * i} # {i}" for i in range(29)))
    WORLD.barrier()
    expected = np.array([[i, i * i] for i in range(29)], float)
    check(ts.dist.load_csv(path), expected, split=0)
    for wrong, error in (("1,2\n3\n", ValueError), ("1,x\n", ValueError), (None, OSError)):
        WORLD.barrier()
        if WORLD.rank == 0:
            path.unlink() if wrong is None else path.write_text(wrong)
        WORLD.barrier()
        with pytest.raises(error):
            ts.dist.load_csv(path)
    with pytest.raises(OSError):
        ts.dist.save_csv(folder / "no" / "such", ts.dist.zeros(3, split=0))
    with pytest.raises(ValueError, match="table"):
        ts.dist.save_csv(path, ts.dist.zeros((2, 2, 2), split=0))


@pytest.mark.parametrize(
    "name", ["exponential", "standard_gamma", "poisson", "laplace", "choice", "beta", "permutation"]
)
def test_random_numbers_do_not_depend_on_ranks_or_splits(name):
    arguments = {"standard_gamma": (0.7,), "choice": (9,), "beta": (2.0, 3.0), "permutation": (17,)}.get(name, ())
    size = {} if name == "permutation" else {"size": (17, 3)}
    expected = getattr(ts.random.default_rng(8), name)(*arguments, **size).numpy()
    for split in (None, 0) if name == "permutation" else (None, 0, 1):
        got = getattr(ts.dist.random.default_rng(8), name)(*arguments, **size, split=split)
        check(got, expected, split=split)


def test_shuffle():
    x = distribute(np.arange(34.0).reshape(17, 2), 0)
    ts.dist.random.default_rng(2).shuffle(x)
    assert sorted(x.tolist()) == np.arange(34.0).reshape(17, 2).tolist()


FEW = {  # bytes of all ranks together: counts, sums and ends, never the array
    "histogram": lambda x, y: ts.dist.histogram(x, 20),
    "bincount": lambda x, y: ts.dist.bincount((x % 10).astype("int64"), y),
    "digitize": lambda x, y: ts.dist.digitize(x, [0.0, 100.0, 5000.0]),
    "interp": lambda x, y: ts.dist.interp(x, [0.0, 9000.0], [1.0, 2.0]),
    "einsum of a sum": lambda x, y: np.einsum("i,i->", x, y),
    "einsum along": lambda x, y: np.einsum("i,i->i", x, y),
    "copyto": lambda x, y: np.copyto(y, x, where=x > 7),
    "putmask": lambda x, y: np.putmask(y, x > 7, 3.0),
    "where": lambda x, y: np.sum(x, where=y > 7, initial=3),
    "add": lambda x, y: np.add(x, y, where=x > 7, out=y),
    "skew": lambda x, y: ts.dist.skew(x),
    "gradient": lambda x, y: ts.dist.trapezoid(x),
    "map_blocks": lambda x, y: ts.dist.map_blocks(lambda a, b: a + b, x, y),
    "map_overlap": lambda x, y: ts.dist.map_overlap(lambda b: b * 2, x, 2, "edge"),
    "exponential": lambda x, y: ts.dist.random.default_rng(1).exponential(size=9000, split=0),
}


@pytest.mark.parametrize("name", FEW)
def test_little_is_sent(name, slate):
    x, y = ts.dist.arange(9000.0, split=0), ts.dist.arange(9000.0, split=0) / 2
    with Counted(slate) as sent:
        FEW[name](x, y)
    assert sent.bytes <= 4000 * WORLD.size, sent.bytes
