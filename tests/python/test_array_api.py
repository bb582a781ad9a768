# SPDX-License-Identifier: Apache-2.0
"""The array API standard's functions with the standard's arguments, and NumPy's that are made of them, beside NumPy."""

import warnings

import numpy as np
import pytest
from array_api_calls import CALLS, flat, operands
from numpy_edges import EDGES, FLAGS
from support import ALL, FLOATS, check, draw_numbers, on, same_outcome, strided

import tessera as ts

LOOSE = {"float16": 5e-3, "float32": 1e-5, "float64": 1e-11, "complex64": 1e-5, "complex128": 1e-11}


def compare(got, expected, exact_dtype=True):
    got, expected = flat(got), flat(expected)
    assert len(got) == len(expected)
    for mine, theirs in zip(got, expected, strict=True):
        if isinstance(mine, ts.Array):
            check(mine, theirs, tol=LOOSE.get(str(np.asarray(theirs).dtype)), exact_dtype=exact_dtype)
        else:
            assert mine == theirs and not isinstance(theirs, np.ndarray)


@pytest.mark.parametrize("name", CALLS)
def test_standard(name, device):
    xp = ts.zeros(1).__array_namespace__()
    call = CALLS[name]
    compare(call(xp, operands(lambda x: on(device, x))), call(np, operands(lambda x: x)))


def test_the_namespace_knows_itself():
    for xp in (ts, ts.dist):
        assert xp.zeros(2).__array_namespace__(api_version=xp.__array_api_version__) is xp
        assert xp.zeros(2).__array_namespace__(api_version="2022.12") is xp.zeros(2).__array_namespace__() is xp
        for unknown in ("2020", "2020.12", "", "latest", 2024.12):
            with pytest.raises(ValueError, match="expected an api_version of"):
                xp.zeros(2).__array_namespace__(api_version=unknown)
        info = xp.__array_namespace_info__()
        assert info.capabilities()["boolean indexing"] and info.default_device() in info.devices()
        assert set(info.dtypes(kind="real floating")) == {"float32", "float64"}
        assert info.default_dtypes()["real floating"] == xp.float64


A, V, AA = [(4, 5, 3)], [(23,)], [(4, 5), (4, 5)]
REAL, ANY = ("float64", "int32"), ("float32", "complex64", "int64", "bool")
INEXACT = ("float32", "float64")
LINES = {
    "allclose": (AA, ("float64",), lambda ns, a, b: [bool(ns.allclose(a, b)), bool(ns.allclose(a, a + 1e-12))]),
    "argwhere": (A, ANY, lambda ns, a: ns.argwhere(a)),
    "array_equal": (AA, ANY, lambda ns, a, b: [bool(ns.array_equal(a, b)), bool(ns.array_equal(a, a))]),
    "array_split": (A, ANY, lambda ns, a: ns.array_split(a, 3, axis=1)),
    "average": ([(4, 5), (5,)], REAL, lambda ns, a, b: (ns.average(a, 1, abs(b) + 1), ns.average(a, 0))),
    "column_stack": ([(4,), (4, 2)], ANY, lambda ns, a, b: ns.column_stack([a, b])),
    "compress": (A, ANY, lambda ns, a: (ns.compress([1, 0, 1], a, axis=1), ns.compress([0, 1, 1], a))),
    "cross": ([(6, 3), (6, 3)], REAL, lambda ns, a, b: ns.cross(a, b)),
    "diag": ([(4,), (4, 5)], ANY, lambda ns, a, b: (ns.diag(a, 1), ns.diag(b, -1))),
    "diagonal": (A, ANY, lambda ns, a: ns.diagonal(a, 1, 2, 0)),
    "diff": (A, REAL, lambda ns, a: (ns.diff(a), ns.diff(a, 2, 0), ns.diff(a, prepend=0, append=1, axis=1))),
    "expand_dims": (A, ANY, lambda ns, a: (ns.expand_dims(a, (0, -1)), ns.expand_dims(a, 2))),
    "extract": (AA, ANY, lambda ns, a, b: ns.extract(a != b, a)),
    "flatnonzero": (A, ANY, lambda ns, a: ns.flatnonzero(a)),
    "hstack vstack": (AA, ANY, lambda ns, a, b: (ns.hstack([a, b]), ns.vstack([a, b]))),
    "inner": ([(4, 5), (3, 5)], ("float64", "int64"), lambda ns, a, b: (ns.inner(a, b), ns.inner(a[0], b[0]))),
    "isclose": (AA, ("float64", "complex64"), lambda ns, a, b: ns.isclose(a, b + 1e-9, rtol=0.1)),
    "isin": ([(4, 5), (6,)], REAL, lambda ns, a, b: (ns.isin(a, b), ns.isin(a, b, invert=True), ns.isin(a, b[:0]))),
    "kron": ([(2, 3), (4,)], ANY, lambda ns, a, b: (ns.kron(a, b), ns.kron(b, a))),
    "median": (A, REAL, lambda ns, a: (ns.median(a), ns.median(a, axis=1), ns.median(a, axis=0, keepdims=True))),
    "moveaxis": (A, ANY, lambda ns, a: ns.moveaxis(a, 0, -1)),
    "outer": ([(4,), (2, 3)], ANY, lambda ns, a, b: ns.outer(a, b)),
    "pad": (A, ANY, lambda ns, a: (ns.pad(a, ((2, 1), (0, 0), (1, 0))), ns.pad(a, 1, constant_values=1))),
    "pad by mode": (A, ANY, lambda ns, a: [ns.pad(a, 2, mode=m) for m in ("edge", "reflect", "symmetric", "wrap")]),
    "percentile": (A, REAL, lambda ns, a: (ns.percentile(a, 30), ns.percentile(a, [0, 77.5], axis=1))),
    "ptp": (A, REAL, lambda ns, a: (ns.ptp(a), ns.ptp(a, axis=1))),
    "quantile": (A, REAL, lambda ns, a: (ns.quantile(a, 0.3), ns.quantile(a, [0, 0.5, 1], axis=2, keepdims=True))),
    "ravel": (A, ANY, lambda ns, a: ns.ravel(a)),
    "repeat": (A, ANY, lambda ns, a: (ns.repeat(a, 2), ns.repeat(a, [1, 0, 2], axis=2))),
    "rot90": (A, ANY, lambda ns, a: [ns.rot90(a, k, axes=(0, 2)) for k in range(-1, 5)]),
    "round to decimals": (A, ("float64",), lambda ns, a: [ns.round(a * 12.3456, d) for d in (0, 2, -1)]),
    "round complex": (A, ("complex64",), lambda ns, a: ns.round(a)),
    "split": (A, ANY, lambda ns, a: [*ns.split(a, [1, 3]), *ns.split(a, 2)]),
    "squeeze": ([(1, 5, 1)], ANY, lambda ns, a: (ns.squeeze(a), ns.squeeze(a, 2), ns.squeeze(a, (0, 2)))),
    "swapaxes transpose": (A, ANY, lambda ns, a: (ns.swapaxes(a, 0, 2), ns.transpose(a), ns.transpose(a, (1, 2, 0)))),
    "take_along_axis": (A, ANY, lambda ns, a: ns.take_along_axis(a, ns.argsort(ns.asarray(a), axis=0), axis=0)),
    "tile": (A, ANY, lambda ns, a: (ns.tile(a, 2), ns.tile(a, (2, 1, 1, 3)))),
    "unique along": (A, ANY, lambda ns, a: [ns.unique(a, axis=i) for i in range(3)]),
    "unique along, all": ([(12, 2)], ANY, lambda ns, a: ns.unique(ns.abs(a) > 3, True, True, True, axis=0)),
}


@pytest.mark.parametrize("name", LINES)
def test_functions(name, device, rng):
    shapes, dtypes, act = LINES[name]
    for dtype in dtypes:
        arrays = [strided(rng, draw_numbers(rng, shape, dtype)) for shape in shapes]
        same_outcome(
            lambda arrays=arrays: act(ts, *[on(device, a) for a in arrays]),
            lambda arrays=arrays: act(np, *arrays),
            compare,
            text=False,
        )


@pytest.mark.parametrize("name", EDGES)
def test_edges(name, device):
    same_outcome(lambda: EDGES[name](ts, lambda x: on(device, x)), lambda: EDGES[name](np, lambda x: x), compare)


@pytest.mark.parametrize("expected", [True, False])
def test_allclose_of_booleans(expected, device):
    assert ts.allclose(on(device, FLAGS[0]), on(device, FLAGS[not expected])) is expected


def with_nans(rng, shape, dtype):
    x = draw_numbers(rng, shape, dtype)
    if x.dtype.kind in "fc":
        x[rng.random(shape) < 0.3] = np.nan
    return x


@pytest.mark.parametrize("axes", [(0, 4), (0, 3), (0, -3), (0, 1, 2, 2)])
@pytest.mark.parametrize("ns", [ts, ts.dist])
def test_medians_refuse_axes(ns, axes):
    for median in (ns.median, ns.nanmedian):
        with pytest.raises(ValueError, match="axis"):
            median(ns.ones((2, 3, 4)), axis=axes)


NAN = {
    **{
        name: lambda ns, a, name=name: [
            getattr(ns, name)(a, **k) for k in ({}, {"axis": 1}, {"axis": 0, "keepdims": True})
        ]
        for name in "nansum nanprod nanmax nanmin nanmean nanmedian".split()
    },
    "nansum over two": lambda ns, a: ns.nansum(a, axis=(0, 2)),
    "nanmedian over two": lambda ns, a: (ns.nanmedian(a, axis=(2, 0)), ns.nanmedian(a, axis=(0, 1), keepdims=True)),
    "nanvar": lambda ns, a: (ns.nanvar(a), ns.nanvar(a, axis=1, ddof=1), ns.nanvar(a, axis=(0, 2), keepdims=True)),
    "nanstd": lambda ns, a: (ns.nanstd(a), ns.nanstd(a, axis=2, ddof=2)),
    "nancumsum": lambda ns, a: (ns.nancumsum(a), ns.nancumsum(a, axis=1)),
    "nancumprod": lambda ns, a: ns.nancumprod(a, axis=0),
    "nanargmax": lambda ns, a: (ns.nanargmax(a), ns.nanargmax(a, axis=1)),
    "nanargmin": lambda ns, a: (ns.nanargmin(a), ns.nanargmin(a, axis=0)),
    "nanquantile": lambda ns, a: (ns.nanquantile(a, 0.3), ns.nanquantile(a, [0.1, 0.5, 1.0], axis=1, keepdims=True)),
    "nanpercentile": lambda ns, a: (ns.nanpercentile(a, 30), ns.nanpercentile(a, [10, 99], axis=0)),
    "nan_to_num": lambda ns, a: (ns.nan_to_num(a), ns.nan_to_num(a / 0.0, nan=3, posinf=5, neginf=-5)),
}


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
@pytest.mark.parametrize("name", NAN)
def test_nans_are_passed_over(name, dtype, device, rng):
    lone = with_nans(rng, (3, 4, 2), dtype)
    lone[0, :, 0] = np.nan if lone.dtype.kind == "f" else 0  # a line of nothing else
    for x in (with_nans(rng, (6, 7, 5), dtype), lone):
        # NumPy takes the dtype of all quantiles from the first line, and has another one for lines of NaNs.
        exact = "tile" not in name or x is not lone
        with np.errstate(all="ignore"):
            same_outcome(
                lambda x=x: NAN[name](ts, on(device, x)),
                lambda x=x: NAN[name](np, x),
                lambda got, expected, exact=exact: compare(got, expected, exact),
                text=False,
            )


@pytest.mark.parametrize("dtype", FLOATS)
def test_nextafter(dtype, device, rng):
    info = np.finfo(dtype)
    edges = [
        0.0,
        1,
        2,
        info.tiny,
        info.smallest_subnormal,
        info.tiny * 3,
        info.max,
        np.inf,
        np.nan,
        info.tiny / info.eps,
    ]
    steps = np.asarray(edges, dtype)
    scattered = np.ldexp(rng.uniform(0.5, 1, 400), rng.integers(info.minexp - info.nmant, info.maxexp, 400)).astype(
        dtype
    )
    x = np.concatenate([steps, -steps, scattered, np.nextafter(scattered, np.asarray(0, dtype))])
    for towards in (np.inf, -np.inf, 0.0, -0.0, np.nan, 1.0):
        y = np.full_like(x, towards)
        with np.errstate(over="ignore"):
            expected = np.nextafter(x, y)
        got = ts.nextafter(on(device, x), on(device, y)).numpy()
        assert got.dtype == expected.dtype
        assert np.array_equal(got, expected, equal_nan=True)
        known = ~np.isnan(expected) & ((x != y) | (dtype != "float16"))  # of halves NumPy gives x where both are equal
        assert np.array_equal(np.signbit(got[known]), np.signbit(expected[known]))


def test_logaddexp_of_special_numbers(device):
    parts = np.array([0.0, -np.inf, np.inf, np.nan, 1000, -1000, 1e-300])
    a, b = np.meshgrid(parts, parts)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(ts.logaddexp(on(device, a), on(device, b)), np.logaddexp(a, b), tol=1e-14)


@pytest.mark.parametrize("dtype", ALL)
def test_writers(dtype, device, rng):
    x = draw_numbers(rng, (4, 5), dtype)
    values = draw_numbers(rng, 3, dtype)
    for write in (
        lambda ns, a, v: ns.put(a, [3, 19, -2], v),
        lambda ns, a, v: ns.put_along_axis(a, np.array([[4, 0], [1, 1], [2, 3], [0, 4]]), v[:2], 1),
    ):
        mine, theirs = on(device, x.copy()), x.copy()
        write(ts, mine, on(device, values))
        write(np, theirs, values)
        check(mine, theirs)
    with pytest.raises(TypeError):
        ts.put([1, 2], [0], [5])


def test_views_stay_views():
    x = ts.zeros((2, 3, 1))
    for view in (
        ts.transpose(x),
        ts.moveaxis(x, 0, 1),
        ts.squeeze(x),
        ts.ravel(x),
        ts.reshape(x, (3, 2)),
        *ts.split(x, 2),
    ):
        assert ts.may_share_memory(view, x)
    assert not ts.may_share_memory(ts.reshape(x, (3, 2), copy=True), x)


def test_asarray_with_and_without_copies():
    a = np.arange(3.0)
    assert ts.may_share_memory(ts.asarray(a, copy=False), ts.asarray(a))
    assert not ts.may_share_memory(ts.asarray(a, copy=True), ts.asarray(a))
    for bad in (lambda: ts.asarray([1, 2], copy=False), lambda: ts.asarray(a, dtype="int32", copy=False)):
        with pytest.raises(ValueError, match="cannot be had without a copy"):
            bad()


def test_topk(device, rng):
    x = draw_numbers(rng, (4, 30), "float64")
    values, places = ts.topk(on(device, x), 5, axis=1)
    check(values, -np.sort(-x, axis=1)[:, :5])
    check(ts.take_along_axis(on(device, x), places, axis=1), values.numpy())
