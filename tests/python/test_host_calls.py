# SPDX-License-Identifier: Apache-2.0
"""Functions that the core has whole for arrays on the host are those that are composed for all devices, and NumPy's:
every dtype, sizes around those of blocks and of threads' parts, strides, and numbers that are none."""

import itertools

import numpy as np
import pytest
from support import ALL, check
from tessera._api import add_up
from tessera._composed import Composed
from tessera._histogram import Histograms
from tessera._signal import Signals

import tessera as ts

SIZES = (1, 2, 15, 16, 17, 255, 513, 4099, 150_001)
SPECIAL = (np.nan, np.inf, -np.inf, -0.0, 5e-324, 1.7e308, -1.7e308)
LOOSE = {"float16": 3e-2, "float32": 2e-5, "float64": 1e-11, "complex64": 2e-5, "complex128": 1e-11}


def general(function):
    """The same function without the core's."""
    kinds = (Composed(ts._local, ts.Array), Signals(ts._local, ts.Array), Histograms(ts._local, ts.Array, add_up))
    for kind in kinds:
        kind._host = None
        if hasattr(kind, function):
            return getattr(kind, function)
    raise AssertionError(function)


def layouts(x):
    """The same elements dense, with gaps, and backwards."""
    yield x
    yield np.repeat(x, 2, axis=-1)[..., ::2]
    yield np.ascontiguousarray(x[..., ::-1])[..., ::-1]


def drawn(rng, n, dtype, special=False):
    kind = np.dtype(dtype).kind
    if kind in "biu":
        return rng.integers(0, 2 if kind == "b" else 100, n).astype(dtype)
    x = 3 * rng.standard_normal(n)
    if special:
        x[rng.random(n) < 0.2] = np.nan
        x[: len(SPECIAL)] = SPECIAL[:n]
        x = rng.permutation(x)
    with np.errstate(all="ignore"):
        return (x + 1j * rng.standard_normal(n) if kind == "c" else x).astype(dtype)


def agree(name, *args, tol=None, **named):
    """ts.name on the host, by its general way, and NumPy's, for arguments that NumPy takes."""
    with np.errstate(all="ignore"):
        expected = getattr(np, name)(*args, **named)
    for call in (getattr(ts, name), general(name)):
        mine = [ts.asarray(a) if isinstance(a, np.ndarray) else a for a in args]
        keys = {k: ts.asarray(v) if isinstance(v, np.ndarray) else v for k, v in named.items()}
        got = call(*mine, **keys)
        for g, e in zip(*((v if isinstance(v, tuple) else (v,)) for v in (got, expected)), strict=True):
            if isinstance(g, bool):
                assert g == bool(e), (name, named)
            else:
                check(g, e, tol=tol or LOOSE.get(np.asarray(e).dtype.name))


@pytest.mark.parametrize("of_values", ["float64", "float32", "int16", "complex64", "complex128"])
@pytest.mark.parametrize("n", [1, 2, 3, 40])
def test_interp(n, of_values):
    rng = np.random.default_rng(n)
    places = np.sort(rng.standard_normal(n))
    places[n // 2 : n // 2 + 2] = places[n // 2]
    for size in SIZES[:-1]:
        x = drawn(rng, size, "float64", special=True)
        x[:n:2] = places[: min(n, size) : 2]
        for values in (drawn(rng, n, of_values), drawn(rng, n, of_values, special=True)):
            for xs, xp in zip(layouts(x), layouts(places), strict=True):
                agree("interp", xs, xp, values)
            agree("interp", x, places, values, left=-3.5, right=2)
            if of_values.startswith("complex"):
                agree("interp", x, places, values, left=1j)
            agree("interp", x[np.isfinite(x)], np.arange(n, dtype="float32") / 8, values, period=7.5)
    agree("interp", np.ones((2, 3), "int8"), places, drawn(rng, n, of_values))


def test_interp_of_many_and_of_lists():
    rng = np.random.default_rng(5)
    agree("interp", rng.standard_normal(SIZES[-1]), np.sort(rng.standard_normal(999)), rng.standard_normal(999))
    check(ts.interp([0.5, 9], (0, 1), [1.0, 2.0]), np.array([1.5, 2.0]))
    check(ts.interp(0.25, [0, 1], [0.0, 4.0]), np.array(1.0))
    check(ts.interp(np.array([]), [0, 1], [0.0, 4.0]), np.array([]))
    for wrong in (([1.0], [], []), ([1.0], [1.0, 2.0], [1.0]), ([1.0], [[1.0]], [[1.0]]), ([1j], [1.0], [1.0])):
        with pytest.raises((ValueError, TypeError)):
            ts.interp(*wrong)


@pytest.mark.parametrize("dtype", [d for d in ALL if np.dtype(d).kind in "iu" and d != "uint64"])
def test_bincount(dtype):
    rng = np.random.default_rng(1)
    for size in SIZES:
        for x in layouts(drawn(rng, size, dtype)):
            agree("bincount", x)
        agree("bincount", x, minlength=7)
        agree("bincount", x, minlength=1000)
        for weights in ("float64", "float32", "int8"):
            agree("bincount", x, weights=drawn(rng, size, weights))
    agree("bincount", x, weights=drawn(rng, len(x), "float64", special=True))
    if dtype.startswith("int"):
        x[-1] = -1
        with pytest.raises(ValueError, match="negative"):
            ts.bincount(ts.asarray(x))
    with pytest.raises(ValueError):
        ts.bincount(ts.asarray(abs(x)), minlength=-1)
    with pytest.raises(ValueError):
        ts.bincount(ts.asarray(abs(x)), weights=ts.ones(3))


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int64", "uint8"])
def test_histogram(dtype):
    rng = np.random.default_rng(2)
    for size, bins in itertools.product(SIZES, (1, 3, 20, 300)):
        if dtype != "float16" or (bins < 300 and size < 10_000):  # which has no such edges, and sums no such numbers
            agree("histogram", drawn(rng, size, dtype), bins)
    for bins in (20, [-2.5, 0.0, 0.0, 1.0, 6.0], [0, 3, 50], [1.0]):
        for x in layouts(drawn(rng, 4099, dtype, special=True)):
            agree("histogram", x, bins, range=(-2, 2.5))
            for weights in ("float64", "float32", "int64", "complex128"):
                named = {"range": (-2, 2.5), "weights": drawn(rng, 4099, weights)}
                agree("histogram", x, bins, **named, tol=1e-3 if weights == "float32" else None)  # NumPy adds those
    agree("histogram", x, 7, range=(0, 1), density=True)


def test_numbers_on_edges_fall_into_the_bins_of_the_edges():
    for n in (3, 7, 10, 49, 1000):
        for low, high in ((0.0, 1.0), (-0.3, 0.7), (1e10, 1e10 + 1), (-1e-300, 1e-300)):
            edges = np.linspace(low, high, n + 1)
            if len(np.unique(edges)) == n + 1:
                x = np.concatenate([edges, np.nextafter(edges, np.inf), np.nextafter(edges, -np.inf)])
                agree("histogram", x, n, range=(low, high))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", [1, 4, 8, 300])
def test_bins_wider_than_the_largest_number(n, dtype):
    """Edges whose distance overflows: numbers fall where comparisons with the edges put them."""
    most = np.finfo(dtype).max
    edges = (most / 10 * 9 * np.linspace(-1, 1, n + 1)).astype(dtype)
    x = np.concatenate([edges, edges / 2, [0, most, -most, np.inf, -np.inf]]).astype(dtype)
    inside = x[(x >= edges[0]) & (x <= edges[-1])]
    places = np.minimum(np.searchsorted(edges, inside, side="right") - 1, n - 1)
    found, _ = ts.histogram(ts.asarray(x), ts.asarray(edges))
    assert found.tolist() == np.bincount(places, minlength=n).tolist()
    for kind in (Histograms(ts._local, ts.Array, add_up), ts):
        found, _ = kind.histogram(ts.asarray(x), n, (float(edges[0]), float(edges[-1])))
        assert int(found.sum().item()) == len(inside)


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
def test_histogram_over_nearly_all_numbers(dtype):
    rng = np.random.default_rng(12)
    most = float(np.finfo(dtype).max)
    for size, special in itertools.product((1, 40, 1000), (False, True)):
        x = (np.clip(drawn(rng, size, "float64", special), -8, 8) * (most / 9)).astype(dtype)
        for bins in (1, 2, 3, 7, 20):
            agree("histogram", x, bins, range=(-most / 2, most / 2))
            agree("histogram", x, bins, range=(-most / 2, most / 4), weights=drawn(rng, size, "float64"))
            if dtype == "float32":  # the limits are numbers, their distance is none: NumPy fails
                for call in (ts.histogram, general("histogram")):
                    counts, edges = call(ts.asarray(x), bins, range=(-0.9 * most, 0.9 * most))
                    check(counts, np.histogram(x, edges.numpy())[0])
    for bins, kind in itertools.product((1, 2, 5), (Histograms(ts._local, ts.Array, add_up), ts)):
        if dtype != "float64":
            with pytest.raises(ValueError, match="finite-sized bins"):
                kind.histogram(ts.asarray(x), bins, range=(-1e300, 1e300))


@pytest.mark.parametrize("of_weights", [d for d in ALL if np.dtype(d).kind in "iu"])
def test_integer_weights_are_added_exactly(of_weights):
    rng = np.random.default_rng(13)
    bounds = np.iinfo(of_weights)
    for size in (1, 16, 255, 4099, 150_001):
        weights = rng.integers(bounds.min, bounds.max, size, dtype=of_weights, endpoint=True)
        for dtype, edges in itertools.product(("float64", "float32", "int16"), ([-2.5, 0.0, 0.5, 6.0], [1, 50])):
            agree("histogram", drawn(rng, size, dtype), edges, weights=weights)
    for density in (False, True):  # no bins
        agree("histogram", drawn(rng, 5, "float32"), [1.0], weights=weights[:5], density=density)
        agree("histogram", drawn(rng, 5, "float32"), [1.0], weights=1j * weights[:5], density=density)


def test_narrow_floats_are_rounded_once_by_logaddexp():
    rng = np.random.default_rng(14)
    for dtype, size in itertools.product(("float16", "bfloat16"), (1, 10, 700)):
        a, b = (ts.asarray(drawn(rng, size, "float32", special=size > 10)).astype(dtype) for _ in range(2))
        for x, y in ((a, b), (a, b[:1]), (a[:1], b), (a[::-1], b), (a, -a)):
            for call in (ts.logaddexp, ts.logaddexp2):
                once = call(x.astype("float32"), y.astype("float32")).astype(dtype)
                assert call(x, y).dtype == once.dtype
                check(call(x, y).astype("float64"), once.astype("float64").numpy(), tol=0.0)


@pytest.mark.parametrize("name", ["logaddexp", "logaddexp2"])
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int32"])
def test_logaddexp(name, dtype):
    rng = np.random.default_rng(3)
    for size in SIZES:
        a, b = drawn(rng, size, dtype, special=True), drawn(rng, size, dtype, special=True)
        b[::3] = a[::3]
        for x, y in zip(layouts(a), layouts(b), strict=True):
            agree(name, x, y)
        agree(name, a, b[:1])
        agree(name, a[0], b)
        agree(name, a, 1.5)
        agree(name, 2.0, b)
    pairs = np.array([*itertools.product([*SPECIAL, 0.0, 1.0, 700.0, 1e4], repeat=2)])
    if dtype.startswith("float"):
        with np.errstate(all="ignore"):
            agree(name, *pairs.T.astype(dtype))
    agree(name, a[:12].reshape(3, 4), b[:4])
    agree(name, a[:12].reshape(3, 4), b[:12].astype("float64").reshape(3, 4))


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "complex128"])
def test_close(dtype):
    rng = np.random.default_rng(4)
    for size, equal_nan in itertools.product(SIZES, (False, True)):
        a = drawn(rng, size, dtype, special=dtype != "complex128")
        b = (a + np.array(rng.choice([0.0, 1e-9, 2e-5, 1.0], size))).astype(dtype)
        for x, y in zip(layouts(a), layouts(b), strict=True):
            for limits in ({}, {"rtol": 1e-3}, {"rtol": 0, "atol": 1}, {"rtol": 0.0, "atol": 0.0}):
                agree("isclose", x, y, equal_nan=equal_nan, **limits)
                agree("allclose", x, y, equal_nan=equal_nan, **limits)
        agree("allclose", a, a, equal_nan=equal_nan)
        far = a.copy()
        far[-1] = 50
        agree("allclose", a, far, equal_nan=equal_nan)
    agree("isclose", a[:1], b)


def test_limits_of_closeness_are_rounded_as_by_numpy():
    b = np.random.default_rng(6).standard_normal(20_000)
    limit = 1e-8 + 1e-5 * abs(b)
    for a in (b + limit, np.nextafter(b + limit, np.inf), b - limit, np.nextafter(b - limit, -np.inf)):
        agree("isclose", a, b)
        agree("isclose", a.astype("float32"), b.astype("float32"))


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("name", ["convolve", "correlate"])
@pytest.mark.parametrize("dtype", [d for d in ALL if d not in ("bool", "float16")])
def test_convolve(name, mode, dtype):
    rng = np.random.default_rng(7)
    with np.errstate(all="ignore"):
        for n, m in itertools.product((1, 2, 7, 16, 33, 700), (1, 2, 3, 5, 31, 64, 65, 700)):
            a, v = drawn(rng, n, dtype), drawn(rng, m, dtype)
            for x, y in zip(layouts(a), layouts(v), strict=True):
                agree(name, x, y, mode, tol=1e-3 if dtype in ("float32", "complex64") else None)
        a = drawn(rng, 3001, dtype)
        agree(name, a, v[:9], mode, tol=1e-3 if dtype in ("float32", "complex64") else None)
        if np.dtype(dtype).kind == "f":
            a[[5, 700, 2990]] = np.inf, np.nan, -np.inf
            agree(name, a, v[:9], mode, tol=1e-3 if dtype == "float32" else None)


def test_convolve_of_many_and_of_two_dtypes():
    rng = np.random.default_rng(8)
    agree("convolve", rng.standard_normal(SIZES[-1]), rng.standard_normal(5))
    agree("convolve", drawn(rng, 40, "int8"), drawn(rng, 3, "float32"))
    agree("correlate", drawn(rng, 40, "complex64"), drawn(rng, 3, "float64"), "same")
    check(ts.convolve([1, 2, 3], [1]), np.array([1, 2, 3]))
    check(ts.convolve(2, [1, 2]), np.array([2, 4]))
    for wrong in (([], [1.0], "full"), ([1.0], [], "full"), ([1.0], [1.0], "all"), ([[1.0]], [1.0], "full")):
        with pytest.raises(ValueError):
            ts.convolve(*wrong)


@pytest.mark.parametrize("dtype", ["float64", "float32", "int32", "complex64"])
def test_inner_products(dtype):
    rng = np.random.default_rng(9)
    tol = 1e-4 if dtype in ("float32", "complex64") else 1e-11
    for n in (0, 1, 7, 1000, 8192, 8193, 65_536, 65_537):
        for a, b in zip(layouts(drawn(rng, n, dtype)), layouts(drawn(rng, n, dtype)), strict=True):
            agree("inner", a, b, tol=tol)
            x, y = ts.asarray(a), ts.asarray(b)
            for found in (ts.dot(x, y), x @ y, ts.matmul(x, y)):
                check(found, np.dot(a, b), tol=tol)
            check(ts.vdot(x, y), np.vdot(a, b), tol=tol)
    for shape in ((3, 4), (1, 9000), (129, 232), (5, 0), (0, 5), (2, 3, 4)):
        a, b = (drawn(rng, int(np.prod(shape)), dtype).reshape(shape) for _ in range(2))
        letters = "ijk"[: len(shape)]
        for kept in range(len(shape) + 1):
            text = f"{letters},{letters}->{letters[:kept]}"
            for x, y in zip(layouts(a), layouts(b), strict=True):
                check(ts.einsum(text, ts.asarray(x), ts.asarray(y)), np.einsum(text, x, y), tol=tol)
    for text in ("ij,ij->j", "ij,ji->i", "ii,ii->i", "ij,ij->ji"):
        square = drawn(rng, 49, dtype).reshape(7, 7)
        check(ts.einsum(text, ts.asarray(square), ts.asarray(square)), np.einsum(text, square, square), tol=tol)
    for wrong in ("ij,ij->ik", "ij,ij->iji", "ij,ijk->i", "i.,i.->i"):
        with pytest.raises(ValueError):
            ts.einsum(wrong, ts.asarray(square), ts.asarray(square))


@pytest.mark.parametrize("dtype", [d for d in ALL if np.dtype(d).kind in "iuf"])
def test_ptp(dtype):
    rng = np.random.default_rng(10)
    for size in SIZES:
        for x in layouts(drawn(rng, size, dtype)):
            agree("ptp", x)
        agree("ptp", x.reshape(1, -1), axis=1)
        if dtype.startswith("float"):
            for at, odd in itertools.product((0, size // 2, size - 1), (np.nan, np.inf, -np.inf)):
                y = x.copy()
                y[at] = odd
                agree("ptp", y)
        else:
            y = x.copy()
            y[0], y[-1] = np.iinfo(dtype).min, np.iinfo(dtype).max  # the difference wraps around
            agree("ptp", y)
    out = ts.full((), 7, dtype=dtype)
    assert ts.ptp(ts.asarray(x), out=out) is out
    check(out, np.ptp(x))
    with pytest.raises(ValueError):
        ts.ptp(ts.zeros(0, dtype=dtype))


@pytest.mark.parametrize("dtype", ALL)
def test_distinct_numbers_in_blocks(dtype):
    rng = np.random.default_rng(15)
    for size, special in itertools.product((1, 2, 511, 512, 513, 514, 1025, 1537, 5000), (False, True)):
        x = drawn(rng, size, dtype, special)
        equal = np.sort(x)
        for at in (0, size // 2, size - 1):  # one number twice, beside and at the bounds of blocks
            equal[max(0, at - 1) : at + 1] = equal[at]
        for y in (x, equal, np.zeros_like(x), np.arange(size).astype(dtype)):
            for each in layouts(y):
                check(ts.unique(ts.asarray(each)), np.unique(each), tol=0.0)


@pytest.mark.parametrize("dtype", ["bool", "int16", "float32", "float64", "complex128"])
def test_one_number_at_many_positions(dtype):
    rng = np.random.default_rng(11)
    for size, many in itertools.product((7, 5000), (1, 31, 32, 33, 100, 5000, 40_000)):
        at = rng.integers(-size, size, many)
        for expected in layouts(drawn(rng, size, dtype)):
            expected = expected.copy() if expected.strides[0] == expected.itemsize else expected
            x = ts.asarray(np.repeat(expected, 3))[1::3]
            expected[at] = 1
            x[ts.asarray(at)] = 1
            check(x, expected)
    with pytest.raises(IndexError):
        x[ts.asarray(np.append(at, size))] = 0
    check(x, expected)


@pytest.mark.parametrize("device", ["cpu", "sim:0"])
def test_what_is_elsewhere_stays_there(device):
    x, y = ts.asarray([0.5, 2.0, 1.0]).to(device), ts.asarray([1.0, 2.0, 4.0]).to(device)
    found = [ts.interp(x, y, y), ts.logaddexp(x, y), ts.logaddexp(x, 1.0), ts.isclose(x, y), ts.convolve(x, y)]
    found += [ts.correlate(x, y), ts.histogram(x, 2)[0], ts.bincount(x.astype("int64")), ts.inner(x, y), ts.dot(x, y)]
    assert {str(f.device) for f in found} == {device}
    assert ts.allclose(x, x) and not ts.allclose(x, y)
