# SPDX-License-Identifier: Apache-2.0
"""Sorting, searching, joining, products, transforms and random numbers against NumPy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import (
    ALL,
    COMPLEX,
    FLOATS,
    NUMERIC,
    check,
    draw_numbers,
    on,
    same_outcome,
    seeds,
    shapes,
    strided,
)

import tessera as ts

LOOSE = {"float16": 2e-2, "float32": 1e-5, "float64": 1e-12, "complex64": 1e-5, "complex128": 1e-12}


def compare(got, expected):
    check(got, expected, tol=LOOSE.get(str(np.asarray(expected).dtype)))


@pytest.mark.parametrize("dtype", ALL)
def test_sort_argsort_unique(dtype, device, rng):
    x = strided(rng, draw_numbers(rng, (4, 30), dtype))
    mine = on(device, x)
    for axis in (-1, 0, None):
        check(ts.sort(mine, axis=axis), np.sort(x, axis=axis))
        check(ts.argsort(mine, axis=axis), np.argsort(x, axis=axis, kind="stable"))
    check(ts.unique(mine), np.unique(x))
    got = ts.unique(mine, return_index=True, return_inverse=True, return_counts=True)
    expected = np.unique(x, return_index=True, return_inverse=True, return_counts=True)
    for g, e in zip(got, expected, strict=True):
        check(g, e)


def test_sort_puts_nan_last(device):
    x = np.array([3.0, np.nan, -np.inf, 1.0, np.inf, np.nan, -0.0])
    check(ts.sort(on(device, x)), np.sort(x))
    check(ts.argsort(on(device, x)), np.argsort(x, kind="stable"))
    mine = on(device, x.copy())
    mine.sort()
    check(mine, np.sort(x))


@given(seed=seeds, dtype=st.sampled_from(["int32", "float64", "bool"]), side=st.sampled_from(["left", "right"]))
def test_searchsorted(seed, dtype, side, main_device):
    rng = np.random.default_rng(seed)
    a, v = np.sort(draw_numbers(rng, 20, dtype)), draw_numbers(rng, (3, 4), dtype)
    check(ts.searchsorted(on(main_device, a), on(main_device, v), side=side), np.searchsorted(a, v, side=side))


@given(seed=seeds, shape=shapes, dtype=st.sampled_from(["bool", "int16", "complex64"]))
def test_nonzero(seed, shape, dtype, main_device):
    rng = np.random.default_rng(seed)
    x = strided(rng, draw_numbers(rng, shape, dtype))

    def ours():
        return ts.nonzero(on(main_device, x))

    def compare_all(got, expected):
        assert len(got) == len(expected)
        for g, e in zip(got, expected, strict=True):
            check(g, e)

    if x.ndim:  # NumPy refuses numbers, we give no arrays
        same_outcome(ours, lambda: np.nonzero(x), compare_all)


@given(seed=seeds, data=st.data())
def test_concatenate_stack(seed, data, main_device):
    rng = np.random.default_rng(seed)
    base = data.draw(st.lists(st.integers(0, 3), min_size=1, max_size=3))
    axis = data.draw(st.integers(-4, 3))
    parts = []
    for _ in range(data.draw(st.integers(1, 4))):
        shape = list(base)
        if -len(base) <= axis < len(base):
            shape[axis] = data.draw(st.integers(0, 3))
        if data.draw(st.integers(0, 9)) == 0:
            shape = shape[:-1]
        parts.append(strided(rng, draw_numbers(rng, shape, data.draw(st.sampled_from(ALL)))))
    mine = [on(main_device, p) for p in parts]
    same_outcome(lambda: ts.concatenate(mine, axis=axis), lambda: np.concatenate(parts, axis=axis), check, text=False)
    same_outcome(lambda: ts.stack(mine, axis=axis), lambda: np.stack(parts, axis=axis), check, text=False)
    same_outcome(lambda: ts.concatenate(mine, axis=None), lambda: np.concatenate(parts, axis=None), check)


@pytest.mark.parametrize("dtype", ALL)
def test_matmul(dtype, device, rng):
    cases = [
        ((4,), (4,)),
        ((3, 4), (4,)),
        ((4,), (4, 5)),
        ((3, 4), (4, 5)),
        ((2, 3, 4), (4, 5)),
        ((2, 1, 3, 4), (5, 4, 2)),
        ((0, 4), (4, 3)),
        ((3, 0), (0, 2)),
        ((3, 4), (3, 4)),
        ((), (3,)),
    ]
    for first, second in cases:
        a = strided(rng, draw_numbers(rng, first, dtype))
        b = strided(rng, draw_numbers(rng, second, dtype))
        same_outcome(lambda: on(device, a) @ on(device, b), lambda: np.matmul(a, b), compare, text=False)  # noqa: B023
    a, b = draw_numbers(rng, (3, 4), dtype), draw_numbers(rng, (4, 5), dtype)
    out = ts.empty((3, 5), dtype, device)
    assert ts.matmul(on(device, a), on(device, b), out=out) is out
    compare(out, a @ b)


EINSUM = [
    "ij,jk->ik",
    "ij,jk",
    "ii->i",
    "ii",
    "ij->ji",
    "bij,bjk->bik",
    "...i,...i->...",
    "i,j->ij",
    "ij,ij->",
    "ijk->k",
    "ij,jk,kl->il",
    "ab...,b->a...",
]


@pytest.mark.parametrize("subscripts", EINSUM)
@pytest.mark.parametrize("dtype", ["int32", "float32", "complex128"])
def test_einsum(subscripts, dtype, device, rng):
    sizes = dict(zip("abijkl", (2, 4, 3, 4, 5, 2), strict=True))
    if "ii" in subscripts:
        sizes["i"] = 3
    operands = []
    for part in subscripts.split("->")[0].split(","):
        shape = [n for c in part.replace("...", "?") for n in ([2, 3] if c == "?" else [sizes[c]])]
        operands.append(strided(rng, draw_numbers(rng, shape, dtype)))
    mine = [on(device, x) for x in operands]
    same_outcome(lambda: ts.einsum(subscripts, *mine), lambda: np.einsum(subscripts, *operands), compare, text=False)


def test_einsum_refuses(device):
    x = ts.ones((2, 3), device=device)
    for bad in ["ij,jk->ik", "i->i", "ij->ijk", "i?->i", ""]:
        with pytest.raises(ValueError):
            ts.einsum(bad, x)


def test_dot(device, rng):
    for first, second in [
        ((3,), (3,)),
        ((2, 3), (3,)),
        ((2, 3), (3, 4)),
        ((2, 2, 3), (3,)),
        ((2, 3), (5, 3, 4)),
        ((), (3,)),
    ]:
        a, b = draw_numbers(rng, first, "float64"), draw_numbers(rng, second, "float64")
        compare(ts.dot(on(device, a), on(device, b)), np.dot(a, b))


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128", "int16"])
@pytest.mark.parametrize("norm", [None, "ortho", "forward"])
def test_fft(dtype, norm, device, rng):
    x = strided(rng, draw_numbers(rng, (3, 6, 7), dtype))
    mine = on(device, x)
    tol = 1e-5 if dtype in ("float32", "complex64") else 1e-12
    for name, kwargs in [
        ("fft", {}),
        ("ifft", {"axis": 0}),
        ("fft", {"n": 9, "axis": 1}),
        ("fft", {"n": 4}),
        ("fft2", {}),
        ("ifft2", {"s": (4, 8)}),
        ("fftn", {}),
        ("fftn", {"axes": (0, 2)}),
        ("ifftn", {"s": (5,), "axes": (1,)}),
    ]:
        got = getattr(ts.fft, name)(mine, norm=norm, **kwargs)
        check(got, getattr(np.fft, name)(x, norm=norm, **kwargs), tol=tol)
    if np.dtype(dtype).kind != "c":
        check(ts.fft.rfft(mine, norm=norm), np.fft.rfft(x, norm=norm), tol=tol)
        check(ts.fft.rfftn(mine, axes=(0, 1), norm=norm), np.fft.rfftn(x, axes=(0, 1), norm=norm), tol=tol)
    half = np.fft.rfft(x.real, axis=-1).astype("complex64" if tol > 1e-10 else "complex128")
    for n in (None, 7, 6):
        expected = np.fft.irfft(half, n=n, norm=norm)
        check(ts.fft.irfft(on(device, half), n=n, norm=norm), expected, tol=tol, exact_dtype=False)


def test_fft_errors(device):
    x = ts.ones((2, 3), device=device)
    for bad in [dict(n=0), dict(n=-1), dict(axis=5), dict(norm="none")]:
        with pytest.raises((ValueError, IndexError)):
            ts.fft.fft(x, **bad)
    with pytest.raises(ValueError, match="different lengths"):
        ts.fft.fftn(x, s=(2,), axes=(0, 1))


def test_fftshift(device, rng):
    x = draw_numbers(rng, (4, 5), "float32")
    for axes in (None, 0, (0, 1), ()):
        check(ts.fft.fftshift(on(device, x), axes), np.fft.fftshift(x, axes))
        check(ts.fft.ifftshift(on(device, x), axes), np.fft.ifftshift(x, axes))


@pytest.mark.parametrize("n", [2, 3, 4, 6, 8, 12])
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_nothing_is_left_of_constants_but_their_sum(n, dtype, device):
    if device != "cpu" and not device.startswith("sim"):
        pytest.skip("the roots of other libraries are theirs")
    want = np.zeros(n)
    want[0] = n
    for axis, shape in ((0, (n, 5)), (1, (5, n))):
        got = ts.fft.fft(ts.ones(shape, dtype=dtype, device=device), axis=axis).numpy()
        assert np.array_equal(got, np.broadcast_to(want[:, None] if axis == 0 else want, shape))


@pytest.mark.parametrize("dtype", ALL)
def test_creation(dtype, device):
    for ours, numpys in [
        (ts.zeros((2, 3), dtype, device), np.zeros((2, 3), dtype)),
        (ts.ones(3, dtype, device), np.ones(3, dtype)),
        (ts.full((2,), 1, dtype, device), np.full((2,), 1, dtype)),
        (ts.eye(3, 4, 1, dtype, device), np.eye(3, 4, 1, dtype)),
    ]:
        check(ours, numpys)
        assert ours.device == device
    if dtype != "bool":
        check(ts.arange(2, 9, 3, dtype, device), np.arange(2, 9, 3, dtype))


def test_ranges(device):
    for args in [(5,), (2, 5), (5, 2, -1), (0, 1, 0.1), (3, 3), (1.5, 4)]:
        check(ts.arange(*args, device=device), np.arange(*args), tol=1e-15)
    check(ts.linspace(0, 1, 7, device=device), np.linspace(0, 1, 7), tol=1e-15)
    check(ts.linspace(2, -1, 5, endpoint=False, device=device), np.linspace(2, -1, 5, endpoint=False), tol=1e-15)
    with pytest.raises(ZeroDivisionError):
        ts.arange(0, 1, 0)
    x = ts.ones((2, 3), "float32", device)
    for y in (ts.zeros_like(x), ts.ones_like(x), ts.full_like(x, 7), ts.empty_like(x)):
        assert (y.shape, str(y.dtype), y.device) == ((2, 3), "float32", x.device)


def test_casts(device, rng):
    for first in ALL:
        x = strided(rng, draw_numbers(rng, (3, 4), first))
        x = np.abs(x) if x.dtype.kind in "if" else x
        for second in ALL:
            if np.dtype(first).kind == "c" and np.dtype(second).kind not in "cb":
                continue
            check(on(device, x).astype(second), x.astype(second))


def test_bfloat16(device):
    x = np.array([1.0, 1.5, -3.140625, 1e30, np.inf], np.float32)
    b = on(device, x).astype("bfloat16")
    assert str(b.dtype) == "bfloat16" and b.itemsize == 2
    assert (b + b).dtype == ts.bfloat16
    assert abs(b.astype("float32")[2].item() + 3.140625) < 0.02
    assert "bfloat16" in repr(b)


def test_random_does_not_depend_on_the_device(rng):
    results = []
    for place in ("cpu", "sim:0"):
        ts.random.seed(11)
        results.append(
            [
                ts.random.normal((3, 5), "float32", place).numpy(),
                ts.random.uniform(7, "float64", place, 2, 3).numpy(),
                ts.random.integers(-3, 9, (50,), device=place).numpy(),
                ts.random.permutation(20, place).numpy(),
            ]
        )
    for a, b in zip(*results, strict=True):
        assert np.array_equal(a, b)
    u, k, p = results[0][1:]
    assert ((u >= 2) & (u < 3)).all() and k.min() >= -3 and k.max() < 9 and sorted(p) == list(range(20))


def test_random_moments():
    ts.random.seed(5)
    n = 200_000
    x = ts.random.normal(n, mean=1.0, deviation=2.0).numpy()
    assert abs(x.mean() - 1) < 5 * 2 / np.sqrt(n) and abs(x.std() - 2) < 0.05
    z = ts.random.normal(n, "complex128").numpy()
    assert abs((np.abs(z) ** 2).mean() - 1) < 0.02
    assert abs(ts.random.uniform(n).numpy().mean() - 0.5) < 0.01
    assert abs(np.bincount(ts.random.integers(0, 4, n).numpy()) / n - 0.25).max() < 0.01
    shuffled = ts.random.permutation(ts.arange(6).reshape(3, 2)).tolist()
    assert sorted(shuffled) == [[0, 1], [2, 3], [4, 5]]


@given(seed=seeds, shape=shapes, data=st.data())
def test_shapes_of_views(seed, shape, data, main_device):
    rng = np.random.default_rng(seed)
    x = strided(rng, draw_numbers(rng, shape, "int32"))
    mine = on(main_device, x)
    order = data.draw(st.permutations(range(x.ndim)))
    check(mine.transpose(order) if order else mine.transpose(), x.transpose(order))
    check(mine.T, x.T)
    check(mine.reshape(-1) if x.size else mine.ravel(), x.reshape(-1) if x.size else x.ravel())
    check(mine.squeeze(), x.squeeze())
    check(ts.flip(mine), np.flip(x))
    if x.ndim:
        axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
        check(ts.flip(mine, axis), np.flip(x, axis))
        check(ts.roll(mine, 2, axis), np.roll(x, 2, axis))
        check(ts.expand_dims(mine, axis), np.expand_dims(x, axis))
    new = data.draw(st.lists(st.integers(-1, 6), max_size=3).map(tuple))
    same_outcome(lambda: mine.reshape(new), lambda: x.reshape(new), check, text=False)
    same_outcome(lambda: ts.broadcast_to(mine, (2, *shape)), lambda: np.broadcast_to(x, (2, *shape)), check)


def test_numeric_lists_cover_the_dtypes():
    assert len(ALL) == 14 and set(FLOATS) | set(COMPLEX) < set(NUMERIC)
