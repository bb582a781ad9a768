# SPDX-License-Identifier: Apache-2.0
"""Functions whose loops go by registers, blocks and samples, beside NumPy on lengths around all of them, on lines that
lie densely, backwards and with gaps, with NaNs anywhere."""

import numpy as np
import pytest

import tessera as ts

DTYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
DTYPES += ["float16", "float32", "float64", "complex64", "complex128"]
LENGTHS = [1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 63, 65, 97, 127, 129, 255, 257, 1023, 1025, 2100, 4097, 33_001]


def line(dtype, n, rng):
    """Few different numbers, or one that stands out, at times with a NaN."""
    v = rng.integers(0, 3, n).astype(float)
    if rng.random() < 0.5:
        v[:] = rng.integers(0, 2)
        v[rng.integers(n)] = 1 - v[0]
    if dtype[0] in "fc" or dtype[:3] == "int":
        v -= rng.integers(0, 2)
    x = v.astype(dtype)
    if dtype[0] == "c":
        x += (1j * rng.integers(0, 2, n)).astype(dtype)
    if dtype[0] in "fc" and rng.random() < 0.4:
        x[rng.integers(n)] = np.nan
    return x


def lines(dtype, n, rng):
    """The same elements as they may lie: pairs of ours and NumPy's."""
    x = line(dtype, n, rng)
    wide = np.zeros((n, 3), dtype)
    wide[:, 1] = x
    return [(ts.asarray(x), x), (ts.asarray(x[::-1].copy())[::-1], x), (ts.asarray(wide)[:, 1], x)]


def same(got, want, what):
    got, want = got.numpy(), np.asarray(want)
    assert got.dtype == want.dtype and got.shape == want.shape, what
    assert np.array_equal(got, want, equal_nan=want.dtype.kind in "fc"), what


@pytest.mark.parametrize("dtype", DTYPES)
def test_reductions_of_every_length(dtype):
    rng = np.random.default_rng(1)
    for n in LENGTHS:
        for y, x in lines(dtype, n, rng):
            for f in ("any", "all", "max", "min", "argmax", "argmin", "count_nonzero"):
                same(getattr(ts, f)(y), getattr(np, f)(x), (f, n))


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int32", "float16", "float32", "float64", "complex128"])
def test_reductions_of_rows_and_columns(dtype):
    rng = np.random.default_rng(2)
    for rows, columns in ((5, 700), (300, 11), (1025, 3), (17, 33)):
        x = line(dtype, rows * columns, rng).reshape(rows, columns)
        for y, z in ((ts.asarray(x), x), (ts.asarray(x).T, x.T), (ts.asarray(x)[:, ::-2], x[:, ::-2])):
            for axis in (0, 1):
                for f in ("any", "all", "max", "min", "argmax", "argmin", "count_nonzero"):
                    same(getattr(ts, f)(y, axis=axis), getattr(np, f)(z, axis=axis), (f, z.shape, axis))
            for a, b in zip(ts.nonzero(y), np.nonzero(z), strict=True):
                same(a, b, ("nonzero", z.shape))


@pytest.mark.parametrize("dtype", DTYPES)
def test_keys_and_repeats_of_every_length(dtype):
    rng = np.random.default_rng(3)
    for n in LENGTHS:
        for y, x in lines(dtype, n, rng):
            same(ts.nonzero(y)[0], np.nonzero(x)[0], n)
            mask = rng.random(n) < rng.choice([0.01, 0.5, 0.99])
            same(y[ts.asarray(mask)], x[mask], n)
            at = rng.integers(-n, n, rng.integers(0, 70))
            same(y[ts.asarray(at)], x[at], n)
            same(ts.take(y, at), np.take(x, at), n)
            same(y[at.tolist()], x[at.tolist()] if at.size else x[:0], n)
            times = rng.integers(0, 7, n) if n < 3000 else rng.integers(0, 2, n)
            same(ts.repeat(y, times), np.repeat(x, times), n)
            for k in (0, 2, 3, 4, 5):
                same(ts.repeat(y, k), np.repeat(x, k), (n, k))
            same(y.copy(), x, n)
            same(y.astype("bool"), x.astype("bool"), n)


def test_positions_outside_are_named():
    x = ts.arange(5)
    for at in ([5], [0, -6], [2, 1 << 62]):
        with pytest.raises(IndexError, match="out of bounds for axis 0 with size 5"):
            x[at]
        with pytest.raises(IndexError, match="out of bounds"):
            ts.take(x, at)


def test_counts_beyond_all_bounds_are_refused():
    for times in ([1 << 62, 1 << 62], [1 << 62, 1]):
        with pytest.raises((ValueError, MemoryError)):
            ts.repeat(ts.arange(2), times)


@pytest.mark.parametrize("dtype", [t for t in DTYPES if t[0] in "iuf"])
def test_order_of_every_length(dtype):
    rng = np.random.default_rng(4)
    for n in LENGTHS:
        for kind in ("few", "many", "sorted"):
            x = line(dtype, n, rng) if kind == "few" else (rng.standard_normal(n) * 60).astype("int16").astype(dtype)
            x = np.sort(x) if kind == "sorted" else x
            y = ts.asarray(x)
            for q in (0.0, 0.13, 0.5, 0.98, 1.0):
                got, want = ts.quantile(y, q, axis=0).numpy(), np.quantile(x.astype(float), q)
                assert np.isclose(got, want, rtol=2e-3 if dtype == "float16" else 1e-5, equal_nan=True), (n, q)
            with np.errstate(over="ignore"):
                same(ts.median(y), np.median(x), (n, kind)) if dtype != "float16" else None
            for k in {1, max(1, n // 9), n}:
                values, where = ts.topk(y, k)
                key = np.where(np.isnan(x), np.inf, x) if dtype[0] == "f" else x.astype(object)
                order = np.array(sorted(range(n), key=lambda i: (-key[i], i))[:k])
                same(where, order, (n, kind, k))
                same(values, x[order], (n, kind, k))


def test_medians_of_rows_and_columns():
    rng = np.random.default_rng(5)
    for shape in ((5, 700), (300, 11), (3, 40, 50), (1000, 3)):
        x = rng.standard_normal(shape)
        x[(0,) * len(shape)] = np.nan
        for y, z in ((ts.asarray(x), x), (ts.asarray(x).T, x.T), (ts.asarray(x)[:, ::-2], x[:, ::-2])):
            for axis in range(x.ndim):
                same(ts.median(y, axis=axis), np.median(z, axis=axis), (shape, axis))
                got = ts.percentile(y, [10, 90.5, 100], axis=axis).numpy()
                assert np.allclose(got, np.percentile(z, [10, 90.5, 100], axis=axis), 1e-13, 0, True)


@pytest.mark.parametrize("dtype, units", [("float64", 3), ("float32", 3), ("float16", 1)])
def test_functions_in_registers(dtype, units):
    """Within units of the last place of the exact result, and what is special as it should be."""
    rng = np.random.default_rng(6)
    x = (rng.standard_normal(5003) * 10.0 ** rng.integers(-8, 3, 5003)).astype(dtype)
    x = np.concatenate([x, np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 6e4, -6e4], dtype)])
    if dtype != "float16":
        x = np.concatenate([x, np.array([1e6, 4e7, 1e30, -3.5e8, 1e-40], dtype)])
    with np.errstate(all="ignore"):
        for f in ("tanh", "sin", "cos"):
            for n in (3, 64, x.size):
                a = x[-n:]
                got, want = getattr(ts, f)(ts.asarray(a)).numpy(), getattr(np, f)(a.astype(np.longdouble))
                assert got.dtype == a.dtype
                bound = units * np.abs(np.spacing(want.astype(dtype))).astype(np.longdouble)
                off = np.abs(got.astype(np.longdouble) - want)
                assert ((off <= bound) | (np.isnan(got) & np.isnan(want))).all(), (f, n, a[~(off <= bound)])
                zero = a == 0
                assert (np.signbit(got[zero]) == np.signbit(want[zero])).all()


def test_bits_become_bytes():
    rng = np.random.default_rng(7)
    for n in (1, 7, 8, 63, 64, 65, 130, 200):
        b = np.triu(rng.random((n, n)) < 0.5, 1)
        assert np.array_equal(ts.matrix.TriangularBit(b).numpy(), b)


SPECIAL = [np.nan, np.inf, -np.inf, -0.0, 0.5, -0.5, -1.0, 128.0, -129.0, 255.0, 256.0, 300.0, 65535.5, 70000.0]
SPECIAL += [sign * 2.0**n + more for n in (31, 32, 33, 62, 63, 64, 65) for sign in (1, -1) for more in (0, -1, 1, 5)]
SPECIAL += [3e9, -3e9, 1e10, -1e10, 1.8e19, 1e19, 1e300, -1e300]


@pytest.mark.parametrize("to", DTYPES)
@pytest.mark.parametrize("source", DTYPES)
def test_casts_of_special_numbers_do_not_depend_on_the_length(source, to):
    """What becomes of a number that the other dtype does not hold may be the processor's choice; it is one choice: in
    vector registers, in what is left over at the end of a line, with gaps, backwards, and alone."""
    with np.errstate(all="ignore"):
        numbers = np.array(SPECIAL).astype(source)
    alone = np.array([ts.asarray(numbers[i : i + 1]).astype(to).numpy()[0] for i in range(len(numbers))])
    for n in (*range(1, 41), 67, 131):
        start = n % len(numbers)
        x, want = (np.resize(np.roll(v, -start), n) for v in (numbers, alone))
        wide = np.zeros((n, 3), source)
        wide[:, 1] = x
        for lies in (ts.asarray(x), ts.asarray(wide)[:, 1], ts.asarray(x[::-1].copy())[::-1]):
            out = np.full(n, 77).astype(to)
            ts.asarray(out)[...] = lies.astype(to)
            same(ts.asarray(out), want, (source, to, n))


@pytest.mark.parametrize("source", ["float16", "float32", "float64", "complex64", "complex128"])
def test_what_becomes_of_numbers_beyond_integers(source):
    """Of uint64: the lower half exactly, the upper half too, negative numbers wrapped as those of int64."""
    if source == "float16":
        x = np.array([0, 1, 2048, 65504, -1, -65504]).astype(source)
    else:
        x = np.array([0, 1, 2.0**62, 2.0**63, 2.0**63 + 2.0**41, 2.0**64 - 2.0**40, -1, -(2.0**40), -(2.0**63)]).astype(
            source
        )
    want = np.array([int(v.real) % 2**64 for v in x], dtype=np.uint64)
    for n in range(1, 3 * len(x)):
        same(ts.asarray(np.resize(x, n)).astype("uint64"), np.resize(want, n), (source, n))
