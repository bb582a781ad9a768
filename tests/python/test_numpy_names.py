# SPDX-License-Identifier: Apache-2.0
"""NumPy's functions beyond the standard, beside NumPy: histograms, orders, samples, polynomials, choices."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import ALL, COMPLEX, FLOATS, INTEGERS, check, draw_numbers, on, same_outcome, seeds, strided

import tessera as ts

REAL = [*INTEGERS, *FLOATS]
LOOSE = {"float16": 3e-2, "float32": 2e-5, "float64": 1e-11, "complex64": 2e-5, "complex128": 1e-11}


def compare(got, expected):
    """Arrays, numbers, or tuples of them."""
    if isinstance(expected, (tuple, list)):
        assert len(got) == len(expected)
        for g, e in zip(got, expected, strict=True):
            compare(g, e)
        return
    expected = np.asarray(expected)
    check(got, expected, tol=LOOSE.get(expected.dtype.name))


def beside(name, *args, device="cpu", **kw):
    """ts.name(*args) is np.name(*args), or both refuse; arrays go to the device, in lists too."""

    def ours(x):
        if isinstance(x, np.ndarray):
            return on(device, x)
        return type(x)(ours(y) for y in x) if type(x) in (list, tuple) else x

    mine, keys = [ours(a) for a in args], {k: ours(v) for k, v in kw.items()}
    same_outcome(lambda: getattr(ts, name)(*mine, **keys), lambda: getattr(np, name)(*args, **kw), compare, text=False)


def spiced(rng, x):
    """A few numbers that are not finite."""
    x = np.array(x)
    if x.dtype.kind in "fc" and x.size:
        x.reshape(-1)[rng.integers(0, x.size, 2)] = rng.choice([np.nan, np.inf, -np.inf], 2)
    return x


@given(seed=seeds, dtype=st.sampled_from(ALL), n=st.integers(0, 40), minlength=st.integers(-1, 15))
def test_bincount(seed, dtype, n, minlength, main_device):
    rng = np.random.default_rng(seed)
    x = np.abs(draw_numbers(rng, n, dtype)) if rng.integers(4) else draw_numbers(rng, n, dtype)
    x = strided(rng, np.asarray(x))
    beside("bincount", x, None, minlength, device=main_device)
    beside("bincount", x, draw_numbers(rng, n, rng.choice(ALL)), minlength, device=main_device)
    beside("bincount", x.tolist() if x.dtype.kind in "biu" else x, device=main_device)
    beside("bincount", x, draw_numbers(rng, n + 1, "float32"), device=main_device)
    beside("bincount", x.reshape(1, -1), device=main_device)


@given(seed=seeds, dtype=st.sampled_from(REAL), of_bins=st.sampled_from(REAL), right=st.booleans())
def test_digitize(seed, dtype, of_bins, right, main_device):
    rng = np.random.default_rng(seed)
    x = spiced(rng, draw_numbers(rng, (3, 4), dtype))
    bins = draw_numbers(rng, rng.integers(0, 7), of_bins)
    for edges in (np.sort(bins), np.sort(bins)[::-1], bins):
        beside("digitize", x, edges, right, device=main_device)


@given(seed=seeds, dtype=st.sampled_from([*REAL, "bool"]), n=st.integers(0, 60), data=st.data())
def test_histogram(seed, dtype, n, data, main_device):
    rng = np.random.default_rng(seed)
    x = strided(rng, draw_numbers(rng, (n,), dtype))
    if data.draw(st.booleans()):
        x = spiced(rng, x)
    bins = data.draw(
        st.sampled_from([1, 7, 10, 0, 2.5, [1, 2, 4], [-3.5, 0, 0, 6.25], [3, 1], np.arange(5.0), [[1, 2]], []])
    )
    limits = data.draw(st.sampled_from([None, (0, 5), (-2.25, 3.5), (4, 4), (5, 1), (0, np.inf)]))
    density = data.draw(st.booleans())
    beside("histogram", x, bins, limits, density, device=main_device)
    beside("histogram_bin_edges", x, bins, limits, device=main_device)
    w = draw_numbers(rng, (n,), data.draw(st.sampled_from(["int32", "float32", "float64", "complex128"])))
    beside("histogram", x, bins, limits, weights=w, device=main_device)


@pytest.mark.parametrize("rule", ["auto", "fd", "doane", "scott", "rice", "sturges", "sqrt", "stone", "none"])
@pytest.mark.parametrize("dtype", ["float64", "int32"])
def test_histogram_rules(rule, dtype, rng, device):
    for n in (0, 1, 2, 57) if rule != "stone" else (0, 1, 37):
        x = (10 * rng.standard_normal(n)).astype(dtype)
        beside("histogram", x, rule, device=device)
        beside("histogram", x, rule, (-5, 5), device=device)
    beside("histogram", np.ones(5), rule, weights=np.ones(5), device=device)


@given(seed=seeds, dtype=st.sampled_from(["float64", "float32", "int16"]), n=st.integers(0, 30), data=st.data())
def test_histograms_of_points(seed, dtype, n, data, main_device):
    rng = np.random.default_rng(seed)
    x, y, z = (draw_numbers(rng, n, dtype) for _ in range(3))
    bins = data.draw(st.sampled_from([3, (2, 4), ([0, 1, 5], 3), ([1, 2], [-2.5, 0, 4]), (0, 2), np.arange(4.0)]))
    limits = data.draw(st.sampled_from([None, ((0, 4), (-3, 3)), (None, (0, 1)), ((0, 1),)]))
    density = bool(n) and data.draw(st.booleans())
    beside("histogram2d", x, y, bins, limits, density, device=main_device)
    beside("histogram2d", x, y, bins, weights=draw_numbers(rng, n, "float64"), device=main_device)
    beside("histogramdd", np.stack([x, y, z], 1), 2, density=density, device=main_device)
    beside("histogramdd", [x, y], bins, limits, device=main_device)


@given(
    seed=seeds, dtype=st.sampled_from(ALL), shape=st.lists(st.integers(0, 5), min_size=1, max_size=3), data=st.data()
)
def test_orders(seed, dtype, shape, data, main_device):
    rng = np.random.default_rng(seed)
    axis = data.draw(st.integers(-len(shape) - 1, len(shape)))
    keys = [draw_numbers(rng, shape, data.draw(st.sampled_from([dtype, "int8"]))) // 3 if dtype not in COMPLEX
            else draw_numbers(rng, shape, dtype) for _ in range(data.draw(st.integers(1, 3)))] if dtype != "bool" else [
        draw_numbers(rng, shape, dtype)]  # fmt: skip
    beside("lexsort", tuple(keys), axis, device=main_device)
    x = spiced(rng, keys[0])
    n = x.shape[axis] if -x.ndim <= axis < x.ndim else 3
    kth = data.draw(st.one_of(st.integers(-n - 1, n), st.lists(st.integers(0, max(0, n - 1)), min_size=1, max_size=2)))
    mine = on(main_device, x)

    def placed(got, expected):
        assert got.shape == expected.shape and str(got.dtype) == str(x.dtype)
        if x.size:
            at = np.atleast_1d(kth)
            check(ts.take(got, at % n, axis), np.take(expected, at % n, axis))
            check(ts.sort(got, axis), np.sort(x, axis))

    same_outcome(lambda: ts.partition(mine, kth, axis), lambda: np.partition(x, kth, axis), placed, text=False)

    def ours():
        return ts.take_along_axis(mine, ts.argpartition(mine, kth, axis), axis)

    same_outcome(ours, lambda: np.partition(x, kth, axis), placed, text=False)


@given(seed=seeds, dtype=st.sampled_from(ALL), m=st.integers(0, 70), n=st.integers(0, 70))
def test_convolve_correlate(seed, dtype, m, n, main_device):
    rng = np.random.default_rng(seed)
    a, v = draw_numbers(rng, m, dtype), draw_numbers(rng, n, rng.choice([dtype, "float32"]))
    for mode in ("full", "same", "valid", "none"):
        beside("convolve", strided(rng, a), v, mode, device=main_device)
        beside("correlate", strided(rng, a), v, mode, device=main_device)


def test_convolve_long_and_infinite(rng, device):
    a, v = rng.standard_normal(3001), rng.standard_normal(1111)
    beside("convolve", a, v, device=device)
    beside("convolve", v, a, "same", device=device)
    a[77] = np.inf
    beside("convolve", a, np.ones(40), device=device)
    beside("correlate", np.ones(50), a[:100], "full", device=device)
    beside("convolve", np.ones((2, 2)), v, device=device)
    beside("convolve", 3.0, v, device=device)


@given(seed=seeds, n=st.integers(0, 9), kind=st.sampled_from(["float64", "int32", "complex128"]), data=st.data())
def test_interp(seed, n, kind, data, main_device):
    rng = np.random.default_rng(seed)
    xp = np.sort(draw_numbers(rng, n, data.draw(st.sampled_from(["float64", "int16"]))))
    fp, x = draw_numbers(rng, n, kind), spiced(rng, draw_numbers(rng, (3, 5), "float64"))
    if data.draw(st.booleans()):
        fp = spiced(rng, fp)
    left, right = data.draw(st.sampled_from([(None, None), (-7.5, None), (1, 2.5)]))
    beside("interp", x, xp, fp, left, right, device=main_device)
    period = data.draw(st.sampled_from([3.5, -4, 0]))
    if period and len(np.unique(xp % period)) < n:  # NumPy's order of equal positions is its machine's
        xp = np.arange(n, dtype=xp.dtype) / 8
    if kind != "complex128" or n:
        beside("interp", x, xp, draw_numbers(rng, n, kind), period=period, device=main_device)
    beside("interp", 1.25, xp, draw_numbers(rng, n + 1, kind), device=main_device)


@given(
    seed=seeds, dtype=st.sampled_from(ALL), shape=st.lists(st.integers(0, 5), min_size=1, max_size=3), data=st.data()
)
def test_gradient_trapezoid(seed, dtype, shape, data, main_device):
    rng = np.random.default_rng(seed)
    f = strided(rng, draw_numbers(rng, shape, dtype))
    axis = data.draw(st.sampled_from([None, *range(-len(shape) - 1, len(shape) + 1), (0, -1)]))
    order = data.draw(st.integers(1, 3))
    beside("gradient", f, axis=axis, edge_order=order, device=main_device)
    beside("gradient", f, 2.5, axis=axis, edge_order=order, device=main_device)
    axes = range(f.ndim) if axis is None else axis if isinstance(axis, tuple) else [axis]
    places = [
        np.cumsum(1 + abs(draw_numbers(rng, shape[a], data.draw(st.sampled_from(["float64", "int64"]))))) / 2
        if -f.ndim <= a < f.ndim and shape[a] > 1
        else 3
        for a in axes
    ]
    beside("gradient", f, *places, axis=axis, edge_order=order, device=main_device)
    along = data.draw(st.integers(-len(shape) - 1, len(shape)))
    beside("trapezoid", f, axis=along, device=main_device)
    beside("trapezoid", f, dx=0.25, axis=along, device=main_device)
    if -f.ndim <= along < f.ndim and dtype != "bool":
        beside("trapezoid", f, draw_numbers(rng, shape[along], "float32"), axis=along, device=main_device)
        beside("trapezoid", f, draw_numbers(rng, shape, "float64"), axis=along, device=main_device)


@given(seed=seeds, dtype=st.sampled_from([d for d in ALL if d != "float16"]), data=st.data())
def test_cov_corrcoef(seed, dtype, data, main_device):
    rng = np.random.default_rng(seed)
    shape = data.draw(st.sampled_from([(7,), (3, 6), (1, 5), (4, 1), (0, 3), (2, 3, 2), ()]))
    m = draw_numbers(rng, shape, dtype)
    rowvar, bias = data.draw(st.booleans()), data.draw(st.booleans())
    ddof = data.draw(st.sampled_from([None, 0, 1, 2, 1.5]))
    beside("cov", m, None, rowvar, bias, ddof, device=main_device)
    if len(shape) < 3 and shape:
        beside("cov", m, draw_numbers(rng, shape, "float32"), rowvar, device=main_device)
        n = shape[-1] if rowvar or len(shape) == 1 else shape[0]
        f, a = rng.integers(0, 4, n), rng.random(n)
        beside("cov", m, fweights=f, rowvar=rowvar, device=main_device)
        beside("cov", m, aweights=a, rowvar=rowvar, ddof=0, device=main_device)
        beside("cov", m, fweights=f, aweights=a, rowvar=rowvar, device=main_device)
        beside("cov", m, fweights=a, rowvar=rowvar, device=main_device)
        beside("cov", m, aweights=-a, rowvar=rowvar, device=main_device)
    if 1 not in shape and 0 not in shape:
        spread = m if dtype == "bool" else m + rng.standard_normal(shape)
        beside("corrcoef", spread, None, rowvar, device=main_device)


@given(seed=seeds, data=st.data())
def test_polynomials(seed, data, main_device):
    rng = np.random.default_rng(seed)
    dtype = data.draw(st.sampled_from(["float64", "float32", "int32", "complex128"]))
    p = draw_numbers(rng, data.draw(st.integers(0, 4)), dtype)
    beside("polyval", p, draw_numbers(rng, (2, 3), data.draw(st.sampled_from(ALL))), device=main_device)
    beside("vander", draw_numbers(rng, 4, dtype), data.draw(st.sampled_from([None, 0, 1, 3, 6])), device=main_device)
    n = data.draw(st.integers(5, 12))
    x = rng.permutation(np.arange(n, dtype="float32" if dtype == "float32" else "float64")) / 4 - 1
    y = draw_numbers(rng, data.draw(st.sampled_from([(n,), (n, 2), (n + 1,), ()])), dtype)
    deg = data.draw(st.integers(-1, 3))
    beside("polyfit", x, y, deg, device=main_device)
    if y.shape[:1] == (n,):
        beside("polyfit", x, y, deg, w=1 + rng.random(n), device=main_device)
        if dtype != "complex128":
            beside("polyfit", x, y, deg, cov=True, device=main_device)
            beside("polyfit", x, y, deg, cov="unscaled", device=main_device)
        if deg >= 0:
            got, expected = (
                ts.polyfit(on(main_device, x), on(main_device, y), deg, full=True),
                np.polyfit(x, y, deg, full=True),
            )
            compare(got[:2], expected[:2])
            assert got[2] == expected[2]
            compare(got[3], expected[3])


@given(seed=seeds, data=st.data())
def test_select_piecewise(seed, data, main_device):
    rng = np.random.default_rng(seed)
    shape = data.draw(st.sampled_from([(), (4,), (2, 3), (0,)]))
    many = data.draw(st.integers(0, 3))
    conditions = [draw_numbers(rng, shape, "bool") for _ in range(many)]
    choices = [
        data.draw(st.sampled_from([3, 2.5, 1j, draw_numbers(rng, shape, rng.choice(ALL)), np.float32(3)]))
        for _ in range(many)
    ]
    choices = [np.asarray(c) if isinstance(c, np.generic) else c for c in choices]
    default = data.draw(st.sampled_from([0, 1.5, draw_numbers(rng, shape, "float32")]))
    beside("select", conditions, choices, default, device=main_device)
    beside("select", conditions, [*choices, 1], default, device=main_device)
    beside("select", [np.ones(shape, "int8")], [1], device=main_device)
    if shape != ():
        x = draw_numbers(rng, shape, data.draw(st.sampled_from(ALL)))
        functions = [data.draw(st.sampled_from([3, abs, lambda v: v * v])) for _ in range(many)]
        if many:
            beside("piecewise", x, conditions, functions, device=main_device)
            beside("piecewise", x, conditions, [*functions, 2], device=main_device)
            beside("piecewise", x, conditions, [*functions, 2, 1], device=main_device)


@given(
    seed=seeds, dtype=st.sampled_from(ALL), shape=st.lists(st.integers(0, 4), min_size=1, max_size=3), data=st.data()
)
def test_apply_along_axis(seed, dtype, shape, data, main_device):
    rng = np.random.default_rng(seed)
    x = strided(rng, draw_numbers(rng, shape, dtype))
    axis = data.draw(st.integers(-len(shape) - 1, len(shape)))
    for function in (lambda v: v.max(), lambda v: v[::-1], lambda v, k=2: v.reshape(1, -1), lambda v: v.sum()):
        if x.size == 0 and function(np.ones(2)).ndim == 0:
            continue
        beside("apply_along_axis", function, axis, x, device=main_device)


@given(seed=seeds, shape=st.lists(st.integers(0, 5), min_size=1, max_size=4), order=st.sampled_from("CFA"))
def test_positions(seed, shape, order, main_device):
    rng = np.random.default_rng(seed)
    total = int(np.prod(shape))
    flat = rng.integers(-1 if rng.integers(4) == 0 else 0, max(1, total) + (rng.integers(4) == 0), (2, 3))
    beside("unravel_index", flat, tuple(shape), order, device=main_device)
    beside("unravel_index", flat.astype("float64"), tuple(shape), device=main_device)
    for mode in ("raise", "wrap", "clip", "none", tuple(rng.choice(["raise", "wrap", "clip"], len(shape)).tolist())):
        if mode != "raise" and 0 in shape:
            continue
        high = 8 if mode != "raise" else 1
        at = tuple(rng.integers(-high + 1, n + high, 4) if n else np.zeros(4, int) for n in shape)
        beside("ravel_multi_index", at, tuple(shape), mode, order, device=main_device)
    beside("ravel_multi_index", at[1:], tuple(shape), device=main_device)


@given(
    seed=seeds, dtype=st.sampled_from(ALL), shape=st.lists(st.integers(0, 4), min_size=1, max_size=3), data=st.data()
)
def test_insert_delete_append(seed, dtype, shape, data, main_device):
    rng = np.random.default_rng(seed)
    x = strided(rng, draw_numbers(rng, shape, dtype))
    axis = data.draw(st.sampled_from([None, *range(-len(shape) - 1, len(shape) + 1)]))
    n = x.size if axis is None else shape[axis] if -len(shape) <= axis < len(shape) else 3
    at = data.draw(
        st.one_of(
            st.integers(-n - 1, n + 1),
            st.lists(st.integers(-n, max(0, n - 1)), max_size=3),
            st.just(rng.integers(0, 2, n).astype(bool)),
            st.builds(slice, st.integers(-n, n), st.integers(-n, n), st.sampled_from([None, 1, 2, -1, -3])),
        )
    )
    beside("delete", x, at, axis, device=main_device)
    beside("insert", x, at, data.draw(st.sampled_from([3, 0])), axis, device=main_device)
    if axis is not None and -len(shape) <= axis < len(shape):
        row = list(shape)
        row.pop(axis)
        if isinstance(at, int):
            beside("insert", x, at, draw_numbers(rng, row, dtype), axis, device=main_device)
        beside("append", x, draw_numbers(rng, shape, "float32"), axis, device=main_device)
    beside("append", x, draw_numbers(rng, (2, 2), dtype), device=main_device)


@given(seed=seeds, dtype=st.sampled_from(ALL), data=st.data())
def test_blocks_and_parts(seed, dtype, data, main_device):
    rng = np.random.default_rng(seed)
    a, b, c, d = (draw_numbers(rng, shape, dtype) for shape in ((2, 3), (2, 1), (1, 3), (1, 1)))
    for blocks in ([[a, b], [c, d]], [a, b], [[a], [c]], [[a, b], [c]], [[a, c]], [], [[a, b], c], [[[a]], [[a]]], a,
                   [a, (b, b)], [1, 2, 3]):  # fmt: skip
        beside("block", blocks, device=main_device)
    x = draw_numbers(rng, data.draw(st.sampled_from([(4,), (4, 2), (2, 4, 6), ()])), dtype)
    parts = data.draw(st.sampled_from([1, 2, 3, (1, 3), [2]]))
    for name in ("hsplit", "vsplit", "dsplit"):
        beside(name, x, parts, device=main_device)
    for name in ("fliplr", "flipud"):
        beside(name, x, device=main_device)


def test_arrays_of_others_are_refused():
    """With the mark by which NumPy's protocols know that nothing has happened."""
    for call in (
        lambda: ts.copyto(np.zeros(2), 1),
        lambda: ts.putmask([1, 2], [True, False], 1),
        lambda: ts.quantile([1.0, 2.0], 0.5, out=np.zeros(())),
        lambda: ts.dist.fill_diagonal(ts.zeros((2, 2)), 1),
    ):
        with pytest.raises(TypeError) as said:
            call()
        assert said.value.arguments_refused


def written(name, x, *args, device):
    """What a function that writes into its first argument leaves there, beside NumPy's."""
    mine, theirs = on(device, x.copy()), x.copy()
    ours = [on(device, a) if isinstance(a, np.ndarray) else a for a in args]

    def call(module, target, args):
        getattr(module, name)(target, *args)
        return target

    same_outcome(lambda: call(ts, mine, ours), lambda: call(np, theirs, args), check, text=False)


@given(seed=seeds, dtype=st.sampled_from(ALL), data=st.data())
def test_writers(seed, dtype, data, main_device):
    rng = np.random.default_rng(seed)
    shape = data.draw(st.sampled_from([(3, 4), (5, 2), (3, 3, 3), (2, 3, 2), (4,)]))
    x = draw_numbers(rng, shape, dtype)
    written("fill_diagonal", x, draw_numbers(rng, data.draw(st.sampled_from([(), (2,), (1,), (2, 2)])), dtype),
            data.draw(st.booleans()), device=main_device)  # fmt: skip
    mask = draw_numbers(rng, shape, "bool")
    values = draw_numbers(rng, data.draw(st.sampled_from([(), (2,), shape, (0,), (3, 3)])), dtype)
    written("putmask", x, mask, values, device=main_device)
    written("place", x, mask, values, device=main_device)
    written("putmask", x, mask[:1], values, device=main_device)
    source = draw_numbers(rng, data.draw(st.sampled_from([shape, shape[1:], (1, *shape), (7,)])),
                          data.draw(st.sampled_from(ALL)))  # fmt: skip
    written("copyto", x, source, device=main_device)
    written("copyto", x, source, "same_kind", draw_numbers(rng, shape[-1:], "bool"), device=main_device)
    if np.dtype(dtype).kind != "u":  # what negative floats become there is the processor's choice
        written("copyto", x, source, "unsafe", device=main_device)


@given(seed=seeds, dtype=st.sampled_from(ALL), unique=st.booleans())
def test_sets(seed, dtype, unique, main_device):
    rng = np.random.default_rng(seed)
    a, b = (draw_numbers(rng, rng.integers(0, 9), dtype) for _ in range(2))
    if unique:
        a, b = np.unique(a), np.unique(b)
    beside("union1d", a, b, device=main_device)
    beside("setdiff1d", a, b, unique, device=main_device)
    beside("setxor1d", a, b, unique, device=main_device)
    beside("intersect1d", a, b, unique, device=main_device)
    beside("intersect1d", a, b, unique, True, device=main_device)
