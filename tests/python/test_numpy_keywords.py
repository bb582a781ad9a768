# SPDX-License-Identifier: Apache-2.0
"""NumPy's further arguments beside NumPy: initial=, where=, out=, mode=, method=, weights=, equal_nan=, pad's modes."""

import inspect

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import ALL, check, draw_numbers, on, same_outcome, seeds, shapes, strided

import tessera as ts

LOOSE = {"float16": 3e-2, "float32": 2e-5, "float64": 1e-11, "complex64": 2e-5, "complex128": 1e-11}
METHODS = [
    "inverted_cdf", "averaged_inverted_cdf", "closest_observation", "interpolated_inverted_cdf", "hazen", "weibull",
    "linear", "median_unbiased", "normal_unbiased", "lower", "higher", "midpoint", "nearest", "none",
]  # fmt: skip


def compare(got, expected):
    if isinstance(expected, (tuple, list)):
        assert len(got) == len(expected)
        for g, e in zip(got, expected, strict=True):
            compare(g, e)
        return
    expected = np.asarray(expected)
    check(got, expected, tol=LOOSE.get(expected.dtype.name))


def beside(name, *args, device="cpu", **kw):
    """ts.name(*args) is np.name(*args), or both refuse; ``out`` holds what NumPy's holds, written or not."""

    def ours(x):
        if isinstance(x, np.ndarray):
            return on(device, x.copy())
        return type(x)(ours(y) for y in x) if type(x) in (list, tuple) else x

    mine, keys = [ours(a) for a in args], {k: ours(v) for k, v in kw.items()}
    same_outcome(lambda: getattr(ts, name)(*mine, **keys), lambda: getattr(np, name)(*args, **kw), compare, text=False)
    if isinstance(kw.get("out"), np.ndarray):
        check(keys["out"], kw["out"], tol=LOOSE.get(kw["out"].dtype.name))


def draw_axis(data, ndim):
    return data.draw(
        st.one_of(
            st.none(),
            st.integers(-ndim - 1, ndim),
            st.lists(st.integers(0, max(0, ndim - 1)), max_size=2, unique=True).map(tuple),
        )
    )


@given(seed=seeds, dtype=st.sampled_from(ALL), shape=shapes, data=st.data())
def test_reductions(seed, dtype, shape, data, main_device):
    rng = np.random.default_rng(seed)
    x = strided(rng, draw_numbers(rng, shape, dtype))
    axis = draw_axis(data, len(shape)) if shape else None
    mask = draw_numbers(rng, shape[1:] if data.draw(st.booleans()) else shape, "bool")
    mask = data.draw(st.sampled_from([mask, True, False, draw_numbers(rng, (2, *shape), "bool")]))
    initial = data.draw(st.sampled_from([None, 0, 2, -3, 1.5, 400, 1j]))
    keep = data.draw(st.booleans())
    options = {"axis": axis, "keepdims": keep, "device": main_device}
    for name in ("sum", "prod", "max", "min"):
        given_initial = {} if initial is None else {"initial": initial}
        if initial == 1j and (dtype == "bool" or dtype.startswith("complex") and name in ("max", "min")):
            continue
        beside(name, x, where=mask, **given_initial, **options)
        beside(name, x, **given_initial, **options)
    for name in ("any", "all"):
        beside(name, x, where=mask, **options)
    for name in ("mean", "var", "std"):
        if dtype == "float16" and name != "mean":
            continue
        beside(name, x, where=mask, **options)
        if name != "mean":
            beside(name, x, where=mask, ddof=1, **options)


def test_reductions_into_and_as_methods(rng, device):
    x = draw_numbers(rng, (4, 5), "float64")
    mask = draw_numbers(rng, (4, 5), "bool")
    beside("sum", x, axis=0, where=mask, out=np.full(5, 7.0), device=device)
    beside("max", x, axis=1, where=mask, initial=-20, out=np.full(4, 7.0), device=device)
    beside("mean", x, axis=1, where=mask, out=np.full(3, 7.0), device=device)
    mine = on(device, x)
    check(mine.sum(axis=0, initial=3.0), x.sum(axis=0, initial=3.0))
    check(mine.std(axis=0, where=on(device, mask)), x.std(axis=0, where=mask), tol=1e-12)
    check(mine.min(initial=-40), x.min(initial=-40))


@given(seed=seeds, dtype=st.sampled_from(["float64", "float32", "complex128", "int16"]), data=st.data())
def test_reductions_past_nans(seed, dtype, data, main_device):
    rng = np.random.default_rng(seed)
    x = draw_numbers(rng, (3, 4), dtype)
    if x.dtype.kind in "fc":
        x[rng.random((3, 4)) < 0.3] = np.nan
    mask = draw_numbers(rng, data.draw(st.sampled_from([(3, 4), (4,), (3, 1)])), "bool")
    axis = data.draw(st.sampled_from([None, 0, -1]))
    initial = data.draw(st.sampled_from([0, 2, -3]))
    result = {} if axis is None else {"out": np.zeros(4 if axis == 0 else 3, dtype)}
    for name in ("nansum", "nanprod", "nanmax", "nanmin"):
        beside(name, x, axis=axis, initial=initial, where=mask, device=main_device)
        beside(name, x, axis=axis, device=main_device, **{k: v.copy() for k, v in result.items()})
    for name in ("nanmean", "nanvar", "nanstd"):
        if dtype != "complex128" or name == "nanmean":
            beside(name, x, axis=axis, where=mask, device=main_device)
            if dtype == "float64":
                beside(name, x, axis=axis, device=main_device, **{k: v.copy() for k, v in result.items()})
    if axis is not None and dtype != "int16":
        beside("nancumsum", x, axis=axis, out=np.zeros((3, 4), dtype), device=main_device)


@given(seed=seeds, dtype=st.sampled_from(ALL), data=st.data())
def test_element_wise_where(seed, dtype, data, main_device):
    rng = np.random.default_rng(seed)
    x, y = draw_numbers(rng, (3, 4), dtype), draw_numbers(rng, 4, dtype)
    mask = draw_numbers(rng, data.draw(st.sampled_from([(3, 4), (4,), (3, 1), ()])), "bool")
    out = draw_numbers(rng, data.draw(st.sampled_from([(3, 4), (4,)])), data.draw(st.sampled_from([dtype, "int8"])))
    for name in ("add", "multiply", "maximum", "equal", "power" if np.dtype(dtype).kind in "fc" else "minimum"):
        beside(name, x, y, where=mask, out=out.copy(), device=main_device)
    beside("negative", x, where=mask, out=out.copy(), device=main_device)
    got = ts.add(on(main_device, x), on(main_device, y), where=on(main_device, np.asarray(mask)))
    at = np.broadcast_to(mask, x.shape)
    assert np.array_equal(got.numpy()[at], (x + y)[at])
    # Through NumPy's protocol. A mask of NumPy's goes where it is needed, as an index does; an operand does not.
    got = np.add(on(main_device, x), on(main_device, y), where=mask)
    assert isinstance(got, ts.Array) and str(got.device) == main_device
    assert np.array_equal(got.numpy()[at], (x + y)[at])
    if main_device == "cpu":
        assert np.array_equal(np.add(on(main_device, x), y, where=mask).numpy()[at], (x + y)[at])
    else:
        with pytest.raises(ts.DeviceError, match=f"add: operands on {main_device} and cpu"):
            np.add(on(main_device, x), y, where=mask)


@given(seed=seeds, dtype=st.sampled_from([d for d in ALL if "complex" not in d and d != "float16"]), data=st.data())
def test_quantile_methods(seed, dtype, data, main_device):
    rng = np.random.default_rng(seed)
    shape = data.draw(st.sampled_from([(1,), (7,), (4, 5), (2, 3, 4)]))
    x = draw_numbers(rng, shape, dtype)
    if x.dtype.kind == "f" and data.draw(st.booleans()):
        x.reshape(-1)[0] = np.nan
    axis = draw_axis(data, len(shape))
    axis = None if axis == () else axis
    q = data.draw(st.sampled_from([0.3, 0.0, 1.0, 1.5, np.array([0, 0.25, 0.5, 1]), [0.1, 0.77], np.linspace(0, 1, 9)]))
    keep, method = data.draw(st.booleans()), data.draw(st.sampled_from(METHODS))
    if dtype != "bool":
        beside("quantile", x, q, axis=axis, keepdims=keep, method=method, device=main_device)
        beside("percentile", x, 100 * np.asarray(q) if np.ndim(q) else 100 * q, axis=axis, method=method,
               device=main_device)  # fmt: skip
    weights = abs(draw_numbers(rng, shape, "float64"))
    if isinstance(axis, int) and -len(shape) <= axis < len(shape) and data.draw(st.booleans()):
        weights = rng.integers(0, 3, shape[axis])
    beside("quantile", x, q, axis=axis, keepdims=keep, method="inverted_cdf", weights=weights, device=main_device)
    beside("quantile", x, 0.5, axis=axis, weights=weights, device=main_device)


@given(seed=seeds, dtype=st.sampled_from(["float64", "float32", "int8"]), data=st.data())
def test_quantiles_past_nans(seed, dtype, data, main_device):
    rng = np.random.default_rng(seed)
    shape = data.draw(st.sampled_from([(7,), (4, 5), (2, 3, 4)]))
    x = draw_numbers(rng, shape, dtype)
    if dtype != "int8":
        x[rng.random(shape) < 0.4] = np.nan
        x.reshape(-1)[0] = 1
    axis = data.draw(st.sampled_from([None, 0, -1]))
    q = data.draw(st.sampled_from([0.3, 0.5, np.array([0.1, 0.9, 0.5])]))
    keep, method = data.draw(st.booleans()), data.draw(st.sampled_from(METHODS))
    beside("nanquantile", x, q, axis=axis, keepdims=keep, method=method, device=main_device)
    beside("nanpercentile", x, 100 * q, axis=axis, keepdims=keep, method=method, device=main_device)
    weights = 1 + abs(draw_numbers(rng, shape, "float64"))
    if not (dtype != "int8" and np.isnan(x).all(axis=axis).any()):  # NumPy reads from nothing there
        beside("nanquantile", x, q, axis=axis, method="inverted_cdf", weights=weights, device=main_device)


def test_quantiles_into(rng, device):
    x = rng.standard_normal((4, 5))
    beside("quantile", x, 0.25, axis=1, out=np.zeros(4), device=device)
    beside("median", x, axis=0, out=np.zeros(5), device=device)
    beside("quantile", x, 0.25, axis=1, method="hazen", out=np.zeros(4), device=device)
    beside("percentile", x, [3, 40], axis=1, method="lower", out=np.zeros((2, 4)), device=device)


@given(seed=seeds, dtype=st.sampled_from(ALL), data=st.data())
def test_pad(seed, dtype, data, main_device):
    rng = np.random.default_rng(seed)
    shape = data.draw(st.lists(st.integers(0, 4), min_size=1, max_size=3))
    x = strided(rng, draw_numbers(rng, shape, dtype))
    pair = st.tuples(st.integers(0, 7), st.integers(0, 7))
    width = data.draw(
        st.one_of(st.integers(-1, 3), pair, st.lists(pair, min_size=len(shape), max_size=len(shape)), st.just(1.5),
                  st.just({0: 2, -1: (1, 3)}))
    )  # fmt: skip
    for mode, options in (
        ("constant", {"constant_values": data.draw(st.sampled_from([0, 3, (1, 2), [(4, 5)] * len(shape)]))}),
        ("linear_ramp", {"end_values": data.draw(st.sampled_from([0, 5, (-3, 4)]))} if dtype != "bool" else {}),
        ("maximum", {"stat_length": data.draw(st.sampled_from([None, 1, 2, (1, 3)]))}),
        ("minimum", {}),
        ("mean", {"stat_length": data.draw(st.sampled_from([None, 1, 3]))}),
        ("median", {}),
        ("reflect", {"reflect_type": data.draw(st.sampled_from(["even", "odd"]))}),
        ("symmetric", {"reflect_type": data.draw(st.sampled_from(["even", "odd"]))}),
        ("edge", {}),
        ("wrap", {}),
        ("none", {}),
        ("edge", {"stat_length": 1}),
    ):
        if dtype == "bool" and (mode in ("mean", "median", "linear_ramp") or options.get("reflect_type") == "odd"):
            continue
        if mode == "linear_ramp" and np.dtype(dtype).kind == "u":
            options["end_values"] = 0
        if dtype in ("float16", "complex64", "complex128") and mode == "median":
            continue
        beside("pad", x, width, mode, device=main_device, **options)


def test_pad_with_a_function(device):
    def write(line, width, axis, options):
        line[: width[0]] = options.get("value", 7)
        line[line.shape[0] - width[1] :] = axis

    x = np.arange(6.0).reshape(2, 3)
    check(ts.pad(on(device, x), ((1, 2), (2, 1)), write, value=9), np.pad(x, ((1, 2), (2, 1)), write, value=9))
    assert ts.pad(on(device, x), 1, "empty").shape == (4, 5)


@given(seed=seeds, dtype=st.sampled_from(ALL), data=st.data())
def test_take_put(seed, dtype, data, main_device):
    rng = np.random.default_rng(seed)
    shape = data.draw(st.sampled_from([(5,), (3, 4), (2, 0), (2, 3, 4)]))
    x = strided(rng, draw_numbers(rng, shape, dtype))
    at = rng.integers(-9, 9, data.draw(st.sampled_from([(), (3,), (2, 2), (0,)])))
    axis = data.draw(st.sampled_from([None, 0, -1, 3]))
    for mode in ("raise", "wrap", "clip", "none"):
        beside("take", x, at, axis, mode=mode, device=main_device)
        if np.prod(shape):
            target = x.copy()
            mine = on(main_device, x.copy())
            values = draw_numbers(rng, 2, dtype)

            def ours(mine=mine, mode=mode, values=values):
                ts.put(mine, on(main_device, np.asarray(at)), on(main_device, values), mode=mode)
                return mine

            def numpys(target=target, mode=mode, values=values):
                np.put(target, at, values, mode=mode)
                return target

            same_outcome(ours, numpys, check, text=False)
    if np.prod(shape):
        beside("take", x, np.array([0, 0]), axis, out=np.zeros(3, dtype), device=main_device)


@given(seed=seeds, dtype=st.sampled_from(ALL), other=st.sampled_from(ALL))
def test_joins_and_products_into(seed, dtype, other, main_device):
    rng = np.random.default_rng(seed)
    parts = [draw_numbers(rng, (2, 3), dtype) for _ in range(2)]
    beside("concatenate", parts, 1, dtype=other, device=main_device)
    beside("stack", parts, -1, dtype=other, device=main_device)
    beside("concatenate", parts, 0, np.zeros((4, 3), dtype), device=main_device)
    beside("stack", parts, 0, np.zeros((2, 2, 3), dtype), device=main_device)
    beside("concatenate", parts, 0, np.zeros((3, 3), dtype), device=main_device)
    beside("dot", parts[0], parts[1].T, out=np.zeros((2, 2), dtype), device=main_device)
    beside("compress", np.array([True, False]), parts[0], 0, out=np.zeros((1, 3), dtype), device=main_device)
    beside("hstack", parts, dtype=other, device=main_device)
    beside("vstack", parts, dtype=other, device=main_device)
    for lengths in ((3, 3), (0, 0), (1, 4)):
        lines = [draw_numbers(rng, (n,), dtype) for n in lengths]
        for name in ("hstack", "vstack"):
            beside(name, lines, device=main_device)
            beside(name, (*lines, parts[0]), device=main_device)
        beside("inner", *lines, device=main_device)
        beside("dot", *lines, device=main_device)
    beside("outer", parts[0], parts[1], out=np.zeros((6, 6), dtype), device=main_device)
    beside("einsum", "ij,kj->ik", *parts, out=np.zeros((2, 2), dtype), optimize=True, device=main_device)
    beside("einsum", parts[0], [0, 1], parts[1], [2, 1], [2, 0], device=main_device)
    beside("einsum", parts[0], [0, 77], device=main_device)
    for kind in (None, "sort", "table", "none"):
        if np.dtype(dtype).kind in "biu":
            beside("isin", parts[0], parts[1], kind=kind, device=main_device)
    at = rng.integers(-1, 3, (2, 3))
    for mode in ("raise", "wrap", "clip", "none"):
        beside("choose", at, parts, mode=mode, device=main_device)
        beside("choose", at % 2, parts, mode=mode, out=np.zeros((2, 3), dtype), device=main_device)
    if dtype != "bool":
        beside("ptp", parts[0], 0, out=np.zeros(3, dtype), device=main_device)
        beside("round", parts[0], 1, out=np.zeros((2, 3), dtype), device=main_device)


@given(seed=seeds, dtype=st.sampled_from(["float64", "float32", "complex128", "int8"]))
def test_unique_with_nans(seed, dtype, main_device):
    rng = np.random.default_rng(seed)
    x = draw_numbers(rng, 12, dtype)
    if x.dtype.kind in "fc":
        x[rng.integers(0, 12, 4)] = np.nan
    for equal in (True, False):
        beside("unique", x, equal_nan=equal, device=main_device)
        beside("unique", x, True, False, True, equal_nan=equal, device=main_device)


@given(seed=seeds, dtype=st.sampled_from([d for d in ALL if d != "float16"]), data=st.data())
def test_average(seed, dtype, data, main_device):
    rng = np.random.default_rng(seed)
    x = draw_numbers(rng, (3, 4, 2), dtype)
    axis = data.draw(st.sampled_from([None, 0, 1, -1, (0, 2), (2, 0), 3]))
    shape = data.draw(st.sampled_from([(3, 4, 2), (3,), (4,), (3, 2), (2, 3)]))
    weights = 1 + abs(draw_numbers(rng, shape, data.draw(st.sampled_from(["int32", "float32", "float64"]))))
    for returned in (False, True):
        beside("average", x, axis, weights, returned, device=main_device)
        beside("average", x, axis, None, returned, keepdims=True, device=main_device)
    beside("average", x, axis, 0 * weights, device=main_device)


@pytest.mark.parametrize("kind", ["quicksort", "mergesort", "heapsort", "stable", None])
def test_kinds_of_sorts(kind, rng, device):
    x = rng.standard_normal((3, 8))
    beside("sort", x, 0, kind, device=device)
    mine = on(device, x.copy())
    check(mine.argsort(kind=kind), x.argsort(kind="stable"))
    mine.sort(axis=0, kind=kind)
    check(mine, np.sort(x, 0))


POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
HOMES = [(ts, np), (ts.linalg, np.linalg), (ts.fft, np.fft), (ts.dist, np), (ts.dist.linalg, np.linalg)]
# Where a name that NumPy has too lies elsewhere: no retstep=, out= or order= comes before it, or device= and split= do.
ELSEWHERE = {
    "linspace": {"dtype"},
    "array": {"dtype"},
    **dict.fromkeys(["empty_like", "full_like", "ones_like", "zeros_like"], {"shape"}),
    **dict.fromkeys(["median", "percentile", "ptp", "quantile"], {"keepdims"}),
    **{f"nan{name}": {"keepdims"} for name in "max mean median min percentile prod quantile sum".split()},
    **dict.fromkeys(["nanstd", "nanvar"], {"ddof", "keepdims"}),
}


def positional(f):
    try:
        return [p.name for p in inspect.signature(f).parameters.values() if p.kind in POSITIONAL]
    except (TypeError, ValueError):
        return []


@pytest.mark.parametrize("home,other", HOMES, ids=lambda home: home.__name__)
def test_positions_are_those_of_numpy(home, other):
    """A parameter that NumPy knows by the same name is at the same place among those given by position."""
    compared = 0
    for name in dir(home):
        ours, theirs = getattr(home, name), getattr(other, name, None)
        if name.startswith("_") or isinstance(ours, type) or not callable(ours) or not callable(theirs):
            continue
        mine, known = positional(ours), positional(theirs)
        compared += bool(mine and known)
        moved = {p for i, p in enumerate(mine) if p in known and known.index(p) != i}
        assert moved <= ELSEWHERE.get(name, set()), f"{home.__name__}.{name}: {mine}, NumPy has {known}"
    assert compared > 10


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128", "int16"])
def test_nan_to_num_copies_or_writes_in_place(dtype, device):
    x = np.array([[1, 2, 3], [4, 5, 6]], dtype)
    if dtype != "int16":
        x[0] = np.nan, np.inf, -np.inf
    for args in ((), (True,), (False,), (True, 7.0), (False, 7.0, 8.0, 9.0)):
        for part in (np.s_[:], np.s_[:, ::2]):
            theirs, ours = x.copy()[part], on(device, x.copy())[part]
            want, got = np.nan_to_num(theirs, *args), ts.nan_to_num(ours, *args)
            check(got, want)
            check(ours, theirs)
            assert (got is ours) == (want is theirs)
    split = ts.dist.array(x, split=0)
    got = ts.dist.nan_to_num(split, True, 7.0)
    assert np.array_equal(got.numpy(), np.nan_to_num(x, True, 7.0)) and got is not split
    assert np.array_equal(split.numpy(), x, equal_nan=True)
    assert ts.dist.nan_to_num(split, False, 7.0) is split
    assert np.array_equal(split.numpy(), np.nan_to_num(x, True, 7.0))
    assert np.array_equal(ts.nan_to_num([np.nan, 1.0], False).numpy(), [0, 1])
