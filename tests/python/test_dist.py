# SPDX-License-Identifier: Apache-2.0
"""Distributed arrays on one rank, everything against NumPy; some of it again with ranks as threads of the process.

What the ranks say to each other is tested in tests/python/dist and beside the C++."""

import copy
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import check, draw_numbers, outcome, same_outcome, seeds, shapes
from test_indexing import keys, text_is_comparable, value_for

import tessera as ts

D = ts.dist
RANKS = [1, 2, 3, 4]
DTYPES = ["bool", "int8", "int64", "uint16", "float32", "float64", "complex64"]


def same(got, expected, **options):
    """got (distributed) is expected (NumPy): shape, dtype, numbers."""
    assert isinstance(got, D.DNDarray)
    assert got.shape == np.shape(expected)
    check(ts.asarray(got.numpy()), expected, **options)


def splits(shape):
    return st.sampled_from([None, *range(len(shape))])


def every_rank(ranks, function):
    """What each rank gives back is the same."""
    results = D.run_ranks(ranks, function)
    assert all(repr(r) == repr(results[0]) for r in results)
    return results[0]


# --- what there is


def test_world_is_one_rank_without_mpirun():
    assert (D.world.rank, D.world.size) == (0, 1)
    assert repr(D.world) == "<Communicator: rank 0 of 1 (self)>"
    assert D.world == D.zeros(3).comm and hash(D.world) == hash(D.zeros(3).comm)
    assert D.world.traffic == D.world.traffic


def test_attributes():
    n = np.arange(24.0).reshape(2, 3, 4)
    x = D.array(n, split=1)
    assert (x.shape, x.lshape, x.split, x.counts) == ((2, 3, 4), (2, 3, 4), 1, (3,))
    assert (x.ndim, x.size, x.nbytes, x.itemsize, x.balanced) == (3, 24, 192, 8, True)
    assert x.dtype == "float64" and x.device == "cpu" and x.comm == D.world and x.owner is None
    assert isinstance(x.local, ts.Array)
    x.local[0, 0, 0] = 7
    assert x[0, 0, 0].item() == 7
    same(x.T, x.numpy().T)
    assert x.T.split == 1 and x.mT.split == 2
    z = D.array(n + 1j * n, split=0)
    same(z.real, n)
    same(z.imag, n)
    z.imag = 5
    z.real[1] = 2
    assert (z.numpy().imag == 5).all() and (z.numpy().real[1] == 2).all()
    same(x.imag, np.zeros_like(n))


def test_memory_of_numpy_is_not_shared():
    n = np.zeros(3)
    for split in (None, 0):
        x = D.array(n, split=split)
        x.numpy()[0] = 5
        np.asarray(x)[0] = 6
        assert x.tolist() == [0, 0, 0]
        x[1] = 1
        assert n.tolist() == [0, 0, 0]
    block = D.array(n, is_split=0)
    block[0] = 3
    assert n.tolist() == [0, 0, 0]
    with pytest.raises(ValueError, match="Unable to avoid copy"):
        np.asarray(block, copy=False)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("split", [None, 0, 1, -1])
def test_factories(dtype, split):
    shape = (3, 5)
    same(D.zeros(shape, dtype, split=split), np.zeros(shape, dtype))
    same(D.ones(shape, dtype, split), np.ones(shape, dtype))
    same(D.full(shape, 1, dtype, split), np.full(shape, 1, dtype))
    x = D.empty(shape, dtype, split=split)
    assert x.split == (None if split is None else split % 2) and x.dtype == dtype
    same(D.zeros_like(x), np.zeros(shape, dtype))
    same(D.ones_like(x, "int16"), np.ones(shape, "int16"))
    same(D.full_like(x, 1), np.full(shape, 1, dtype))
    assert D.empty_like(x).split == x.split
    same(D.eye(4, 6, -1, dtype, split), np.eye(4, 6, -1, dtype))


def test_ranges():
    same(D.arange(7, split=0), np.arange(7))
    same(D.arange(2, 9.5, 0.75, split=0), np.arange(2, 9.5, 0.75))
    same(D.arange(9, 0, -2, dtype="int8", split=0), np.arange(9, 0, -2, dtype="int8"))
    same(D.linspace(0, 1, 7, split=0), np.linspace(0, 1, 7))
    same(D.linspace(0, 1, 7, endpoint=False, split=0), np.linspace(0, 1, 7, endpoint=False))
    with pytest.raises(ZeroDivisionError):
        D.arange(0, 5, 0)
    with pytest.raises(OverflowError):
        D.full(3, 300, "int8")


def test_array_of_everything():
    n = np.arange(6).reshape(2, 3)
    for obj in (n, n.tolist(), ts.array(n), D.array(n, split=0), D.array(n), range(4), 5, [True, False]):
        plain = obj.numpy() if isinstance(obj, (ts.Array, D.DNDarray)) else obj
        same(D.array(obj), np.array(plain))
    x = D.array(n, split=0)
    assert D.array(x).split == 0 and D.array(x, split=1).split == 1
    y = D.array(x)
    y[0] = 9
    assert x.tolist() == n.tolist()
    assert D.array(n, dtype="float32", split=1).dtype == "float32"
    assert D.asarray(x) is x and D.asarray(x, dtype="int8").dtype == "int8"
    with pytest.raises(ValueError, match="not both"):
        D.array(n, split=0, is_split=0)
    with pytest.raises(IndexError):
        D.array(n, split=2)
    with pytest.raises(TypeError):
        D.array(object())


def test_layouts():
    n = np.arange(30).reshape(5, 6)
    x = D.array(n, split=0)
    for y in (x.resplit(1), x.resplit(), x.resplit(-1), x.balance(), x.redistribute([5]), x[1:].balance()):
        assert y.balanced
    same(x.resplit(1), n)
    assert (x.resplit(1).split, x.resplit(None).split, x.split) == (1, None, 0)
    with pytest.raises(ValueError):
        x.redistribute([4])
    with pytest.raises(IndexError):
        x.resplit(2)


# --- numbers in and out


def test_conversions():
    x = D.arange(6, split=0).reshape(2, 3)
    assert x.tolist() == [[0, 1, 2], [3, 4, 5]] and len(x) == 2
    assert [row.tolist() for row in x] == [[0, 1, 2], [3, 4, 5]]
    assert x.item(4) == 4 and x.item(1, 2) == 5 and x.item((0, 1)) == 1 and x.item(-1) == 5
    one = x[1, 1]
    assert (int(one), float(one), complex(one), bool(one), [7, 8, 9, 1, 2][one]) == (4, 4.0, 4 + 0j, True, 2)
    assert type(int(one)) is int and type(float(one)) is float
    assert 5 in x and 6 not in x
    with pytest.raises(ValueError, match="ambiguous"):
        bool(x)
    with pytest.raises(TypeError):
        int(x)
    with pytest.raises(ValueError):
        x.item()
    with pytest.raises(IndexError, match="out of bounds"):
        x.item(6)
    for function in (len, iter):
        with pytest.raises(TypeError):
            function(one)
    with pytest.raises(TypeError):
        hash(x)
    y = copy.copy(x)
    y[0, 0] = 9
    assert x[0, 0].item() == 0 and copy.deepcopy(x).tolist() == x.tolist()
    x.fill(3)
    assert x.sum().item() == 18
    with pytest.raises(OverflowError):
        D.zeros(2, "int8").fill(300)


def test_dlpack_is_the_local_part():
    x = D.arange(5, split=0)
    assert np.from_dlpack(x).tolist() == [0, 1, 2, 3, 4]
    assert x.__dlpack_device__() == (1, 0)


def test_text():
    x = D.arange(3000, split=0)
    assert str(x) == str(np.arange(3000))
    assert repr(x).startswith("DNDarray(") and "3000" in repr(x) and "split=0" in repr(x)
    card = x._repr_html_()
    assert "DNDarray" in card and "(3000,)" in card and "axis 0" in card
    assert "whole on each" in D.arange(3)._repr_html_()


# --- keys


@settings(max_examples=300)
@given(seed=seeds, shape=st.lists(st.integers(0, 5), max_size=4).map(tuple), data=st.data())
def test_get(seed, shape, data):
    rng = np.random.default_rng(seed)
    n = draw_numbers(rng, shape, data.draw(st.sampled_from(DTYPES)))
    x = D.array(n, split=data.draw(splits(shape)))
    key = data.draw(keys(shape))
    text = text_is_comparable(outcome(lambda: n[key]))
    same_outcome(lambda: x[key], lambda: np.asarray(n[key]), same, text=text)


@settings(max_examples=300)
@given(seed=seeds, shape=st.lists(st.integers(0, 5), max_size=4).map(tuple), data=st.data())
def test_set(seed, shape, data):
    rng = np.random.default_rng(seed)
    dtype = data.draw(st.sampled_from(["int64", "float32", "complex64"]))
    n = draw_numbers(rng, shape, dtype)
    x = D.array(n, split=data.draw(splits(shape)))
    key = data.draw(keys(shape))
    found = outcome(lambda: n[key].shape)
    value = value_for(data, rng, found[1] if found[0] == "value" else (), dtype)
    if np.iscomplexobj(value) and dtype != "complex64":
        value = np.real(value)
    if dtype == "complex64" and found == ("value", ()) and np.ndim(value) > 0:
        value = 1
    expected = n.copy()
    kind = data.draw(st.sampled_from(["plain", "local", "distributed"])) if isinstance(value, np.ndarray) else "plain"
    given_value = {
        "plain": lambda: value,
        "local": lambda: ts.array(value),
        "distributed": lambda: D.array(value, split=data.draw(splits(value.shape))),
    }[kind]()

    def ours():
        x[key] = given_value
        return x

    def numpys():
        expected[key] = value
        return expected

    plan = outcome(lambda: expected.copy().__setitem__(key, value))
    same_outcome(ours, numpys, same, text=text_is_comparable(plan))
    if plan[0] == "error":
        same(x, n)


def test_distributed_members_of_keys():
    n = np.arange(60).reshape(10, 6)
    rows, columns, mask = np.array([7, 2, 8, 2]), np.array([0, 5, 5, 1]), n % 7 == 0
    for split in (None, 0, 1):
        x = D.array(n, split=split)
        for where in (None, 0):
            r, c = D.array(rows, split=where), D.array(columns, split=where)
            same(x[r], n[rows])
            same(x[:, c], n[:, columns])
            same(x[r, c], n[rows, columns])
            same(x[r, None, 1:4], n[rows, None, 1:4])
            same(x[D.array(mask, split=where)], n[mask])
            same(x[D.array(mask[:, 0], split=where)], n[mask[:, 0]])
            same(x[r[0]], n[7])
            same(x[r[1] : r[2]], n[2:8])
            y = x.copy()
            y[r, c] = D.array([1, 2, 3, 4], split=where)
            expected = n.copy()
            expected[rows, columns] = [1, 2, 3, 4]
            same(y, expected)
        same(x[[r[0], r[1]]], n[[7, 2]])


def test_scalars_go_their_short_way():
    n = np.arange(12, dtype="float32").reshape(3, 4)
    for split in (None, 0, 1):
        x = D.array(n, split=split)
        assert x[1, 2].item() == 6 and x[-1, -4].item() == 8 and x[1, 2].shape == ()
        x[1, 2] = 5
        x[-1, 0] = np.float64(2.5)
        x[0, True] = 1
        assert x[1, 2].item() == 5 and x[2, 0].item() == 2.5
        for key in [(3, 0), (0, 4), (-4, 0), (0, 0, 0)]:
            same_outcome(lambda x=x, key=key: x[key], lambda key=key: n[key], same)
            same_outcome(lambda x=x, key=key: x.__setitem__(key, 1), lambda key=key: n.copy().__setitem__(key, 1), same)
    y = D.zeros(3, "int8", split=0)
    with pytest.raises(OverflowError):
        y[0] = 300
    with pytest.raises(TypeError):
        y[0] = 1j
    with pytest.raises(ValueError, match="cannot delete"):
        del y[0]
    assert y.tolist() == [0, 0, 0]


def test_an_element_is_a_number_a_row_is_a_view():
    x = D.zeros((3, 2), split=0)
    element, row = x[1, 1], x[1]
    x[1, 1] = 5
    assert element.item() == 0 and row.tolist() == [0, 5]
    row[0] = 7
    assert x[1, 0].item() == 7


@pytest.mark.parametrize("key", [1.5, "a", [1.5], None.__class__, {}, (..., ...), 10**30])
def test_what_is_no_key(key):
    n, x = np.arange(5), D.arange(5, split=0)
    got, expected = outcome(lambda: x[key]), outcome(lambda: n[key])
    assert got[0] == expected[0] == "error" and issubclass(got[1], IndexError)


def test_explain():
    x = D.arange(10, split=0)
    e = x.explain(slice(2, 8, 3))
    assert (e.route, e.shape, e.split, e.counts, e.messages, e.exact) == ("local", (2,), 0, (2,), 0, True)
    assert e.sent == (0,) and e.index_bytes == e.data_bytes == 0 and e.reason
    assert str(e) and repr(e).startswith("<")
    assert x.explain(3).route == "scalar" and x.explain(3).split is None
    assert x.explain([7, 2, 8]).route == "unordered"
    assert x.explain((slice(None, None, -1),)).route == "descending_slice"
    assert x.explain(slice(0, 3), D.array([1, 2, 3], split=0)).messages == 0
    assert x.explain(None).shape == (1, 10)
    with pytest.raises(IndexError):
        x.explain(99)
    assert x.tolist() == list(range(10))


# --- arithmetic

BINARY = ["+", "-", "*", "/", "//", "%", "**", "==", "!=", "<", "<=", ">", ">="]


@settings(max_examples=100)
@given(seed=seeds, shape=shapes, op=st.sampled_from([*BINARY, "@"]), data=st.data())
def test_operators(seed, shape, op, data):
    rng = np.random.default_rng(seed)
    dtype = data.draw(st.sampled_from(["int32", "float64", "complex128"]))
    a, b = draw_numbers(rng, shape, dtype), draw_numbers(rng, shape, dtype)
    if dtype == "complex128" and op in ("//", "%") or op == "**":
        op = "*"
    if op == "@":
        a, b = a.reshape(-1), b.reshape(-1)
    x, y = (D.array(v, split=data.draw(splits(v.shape))) for v in (a, b))

    def value(p, q):
        with np.errstate(all="ignore"):
            return eval(f"p {op} q", {"p": p, "q": q})

    def close(got, expected):
        same(got, expected, n=max(a.size, 1), tol=None if np.asarray(expected).dtype.kind in "fc" else 0)

    expected = lambda: np.asarray(value(a, b))
    for left, right in [(x, y), (x, ts.array(b)), (ts.array(a), y), (x, b), (a, y)]:
        same_outcome(lambda left=left, right=right: value(left, right), expected, close, text=False)


def test_numbers_adapt():
    x = D.array([1, 2], split=0, dtype="int8")
    assert (x + 1).dtype == "int8" and (1 + x).dtype == "int8" and (x + 1.5).dtype == "float64"
    with pytest.raises(OverflowError):
        x + 300
    assert (x + np.int16(1)).dtype == "int16"
    assert divmod(x, 2)[1].tolist() == [1, 0] and (2**x).tolist() == [2, 4] and (x**2).tolist() == [1, 4]
    assert (-x).tolist() == [-1, -2] and (~x).tolist() == [-2, -3] and abs(-x).tolist() == [1, 2]
    with pytest.raises(TypeError):
        x + "a"
    assert (x == "a") is False


def test_in_place():
    n = np.arange(6.0).reshape(2, 3)
    x = D.array(n, split=1)
    view = x[:, 1:]
    x += 1
    x *= D.array([1.0, 2.0, 3.0])
    view -= ts.array([1.0, 2.0])
    n += 1
    n *= [1, 2, 3]
    n[:, 1:] -= [1, 2]
    same(x, n)
    assert x.split == 1
    i = D.arange(3, split=0)
    with pytest.raises(TypeError):
        i += 0.5
    x[0] += 10
    n[0] += 10
    same(x, n)


# --- functions


@pytest.mark.parametrize("split", [None, 0, 1, 2])
def test_reductions(split, rng):
    n = draw_numbers(rng, (3, 4, 5), "float64")
    x = D.array(n, split=split)
    for name in ["sum", "prod", "mean", "std", "var", "max", "min", "any", "all", "count_nonzero"]:
        for axis in [None, 0, -1, (0, 2)]:
            expected = getattr(np, name)(n, axis=axis)
            same(getattr(D, name)(x, axis=axis), expected, n=60)
            same(getattr(x, name)(axis, keepdims=True), getattr(np, name)(n, axis=axis, keepdims=True), n=60)
    for name in ["argmax", "argmin"]:
        for axis in [None, 1]:
            same(getattr(x, name)(axis), getattr(np, name)(n, axis=axis))
    for name in ["cumsum", "cumprod"]:
        for axis in [None, 0, 2]:
            same(getattr(x, name)(axis), getattr(np, name)(n, axis=axis), n=60)
    out = D.zeros((3, 5))
    assert x.sum(axis=1, out=out) is out
    same(out, n.sum(axis=1), n=4)
    same(x.sum(dtype="float32"), n.sum(dtype="float32"), n=60)
    same(D.norm(x), np.linalg.norm(n), n=60)
    same(D.vdot(x, x), np.vdot(n, n), n=60)
    with pytest.raises(IndexError, match="axis 5"):
        x.sum(axis=5)


@pytest.mark.parametrize("split", [None, 0, 1])
def test_shapes_and_moves(split, rng):
    n = draw_numbers(rng, (4, 6), "int32")
    x = D.array(n, split=split)
    pairs = [
        (x.reshape(3, 8), n.reshape(3, 8)),
        (x.reshape((2, -1), new_split=1), n.reshape(2, -1)),
        (D.reshape(x, -1), n.reshape(-1)),
        (x.ravel(), n.ravel()),
        (x.flatten(), n.flatten()),
        (x.transpose(1, 0), n.T),
        (D.transpose(x), n.T),
        (x.swapaxes(0, 1), n.T),
        (D.moveaxis(x, 0, -1), n.T),
        (D.expand_dims(x, 1).squeeze(1), n),
        (D.broadcast_to(x, (2, 4, 6)), np.broadcast_to(n, (2, 4, 6))),
        (D.flip(x), np.flip(n)),
        (D.flip(x, 1), np.flip(n, 1)),
        (D.roll(x, 2), np.roll(n, 2)),
        (D.roll(x, (1, -2), (0, 1)), np.roll(n, (1, -2), (0, 1))),
        (D.pad(x, 1), np.pad(n, 1)),
        (D.pad(x, (1, 2), "edge"), np.pad(n, (1, 2), "edge")),
        (D.pad(x, ((1, 2), (0, 3)), constant_values=7), np.pad(n, ((1, 2), (0, 3)), constant_values=7)),
        (x.repeat(2), n.repeat(2)),
        (x.repeat([1, 0, 2, 1], 0), n.repeat([1, 0, 2, 1], 0)),
        (D.tile(x, (2, 1)), np.tile(n, (2, 1))),
        (D.diff(x, axis=0), np.diff(n, axis=0)),
        (x.diagonal(1), n.diagonal(1)),
        (D.diag(x), np.diag(n)),
        (D.tril(x), np.tril(n)),
        (D.triu(x, 1), np.triu(n, 1)),
    ]
    for got, expected in pairs:
        same(got, expected)
    same(D.diag(x[0]), np.diag(n[0]))
    for mode in ("reflect", "symmetric", "wrap"):
        same(D.pad(x, 2, mode), np.pad(n, 2, mode))
    with pytest.raises(ValueError, match="mode"):
        D.pad(x, 1, "mirror")
    with pytest.raises(ValueError):
        x.reshape(5, 5)


@pytest.mark.parametrize("split", [None, 0, 1])
def test_joining_and_cutting(split, rng):
    a, b = draw_numbers(rng, (4, 6), "float32"), draw_numbers(rng, (4, 6), "float64")
    x, y = D.array(a, split=split), D.array(b, split=0)
    for axis in (0, 1, None):
        same(D.concatenate([x, y, ts.array(b)], axis), np.concatenate([a, b, b], axis))
    for axis in (0, 1, 2):
        same(D.stack([x, y], axis), np.stack([a, b], axis))
    same(D.hstack([x, y]), np.hstack([a, b]))
    same(D.vstack([x, y]), np.vstack([a, b]))
    same(D.column_stack([x[0], y[1]]), np.column_stack([a[0], b[1]]))
    for got, expected in [
        (D.split(x, 2), np.split(a, 2)),
        (D.split(x, [1, 3], 1), np.split(a, [1, 3], 1)),
        (D.array_split(x, 4, 1), np.array_split(a, 4, 1)),
    ]:
        assert len(got) == len(expected)
        for g, e in zip(got, expected, strict=True):
            same(g, e)
    with pytest.raises(ValueError):
        D.split(x, 3)
    with pytest.raises(ValueError, match="at least one"):
        D.concatenate([])
    same(x @ y.T, a @ b.T, n=6)
    same(D.matmul(x, D.array(b.T, split=1)), a @ b.T, n=6)
    same(D.dot(x[0], y[0]), a[0] @ b[0], n=6)
    same(x.dot(y.T), a.dot(b.T), n=6)
    same(ts.array(a) @ y.T, a @ b.T, n=6)


@pytest.mark.parametrize("split", [None, 0, 1])
def test_sorting_and_selecting(split, rng):
    n = draw_numbers(rng, (5, 7), "int64")
    x = D.array(n, split=split)
    for axis in (0, 1, -1, None):
        same(D.sort(x, axis), np.sort(n, axis))
        same(x.argsort(axis), np.argsort(n, axis, kind="stable"))
    y = x.copy()
    y.sort(0)
    same(y, np.sort(n, 0))
    values, where = x.topk(3, axis=1)
    same(values, -np.sort(-n, axis=1)[:, :3])
    same(D.take_along_axis(x, where, 1), values.numpy())
    same(D.topk(x, 2, 0, largest=False)[0], np.sort(n, 0)[:2])
    same(D.unique(x), np.unique(n))
    for got, expected in zip(D.unique(x, True, True, True), np.unique(n, True, True, True), strict=True):
        same(got, expected.reshape(got.shape))
    for got, expected in zip(x.nonzero(), n.nonzero(), strict=True):
        same(got, expected)
    same(D.where(x > 0, x, -1), np.where(n > 0, n, -1))
    same(D.where([True] * 7, x, 0.5), np.where([True] * 7, n, 0.5))
    same(D.where(x)[0], np.where(n)[0])
    same(x.take([3, 0, 34]), n.take([3, 0, 34]))
    same(D.take(x, [[1, 0]], 1), np.take(n, [[1, 0]], 1))
    same(D.take(x, [], 0), np.take(n, np.empty(0, int), 0))
    same(D.searchsorted(D.sort(x, None), [3, -9, 4]), np.searchsorted(np.sort(n, None), [3, -9, 4]))
    same(D.searchsorted([1, 3], x, "right"), np.searchsorted([1, 3], n, "right"))
    same(x.clip(-1, 3), n.clip(-1, 3))
    same(D.clip(x, max=2), np.minimum(n, 2))
    same(D.compress([1, 0, 1], x, 0), np.compress([1, 0, 1], n, 0))
    same(D.extract(x > 2, x), np.extract(n > 2, n))
    y, m = x.copy(), n.copy()
    y.put([3, 0, 3], [9, 8, 7])
    np.put(m, [3, 0, 3], [9, 8, 7])
    same(y, m)
    D.put_along_axis(y, [[1], [2], [0], [0], [6]], 99, 1)
    np.put_along_axis(m, np.array([[1], [2], [0], [0], [6]]), 99, 1)
    same(y, m)
    with pytest.raises(IndexError):
        x.take([99])
    with pytest.raises(ValueError):
        D.where(x, x)


@pytest.mark.parametrize("split", [None, 0, 1])
def test_fft(split, rng):
    n = draw_numbers(rng, (6, 8), "complex128")
    x = D.array(n, split=split)
    for name in ["fft", "ifft"]:
        for axis in (0, 1):
            same(getattr(D.fft, name)(x, axis=axis), getattr(np.fft, name)(n, axis=axis), n=8)
    for name in ["fft2", "ifft2", "fftn", "ifftn"]:
        same(getattr(D.fft, name)(x, norm="ortho"), getattr(np.fft, name)(n, norm="ortho"), n=48)
    same(D.fft.rfft(x.real), np.fft.rfft(n.real), n=8)
    same(D.fft.irfft(x, n=9, axis=0), np.fft.irfft(n, n=9, axis=0), n=9)
    same(D.fft.rfftn(x.real), np.fft.rfftn(n.real), n=48)
    same(D.fft.irfftn(x), np.fft.irfftn(n), n=48)
    same(D.fft.fftshift(x), np.fft.fftshift(n))
    same(D.fft.ifftshift(x, 1), np.fft.ifftshift(n, 1))
    same(np.fft.fft(x), np.fft.fft(n), n=8)


@pytest.mark.parametrize("split", [None, 0, 1])
def test_linalg(split, rng):
    n = rng.standard_normal((5, 5)) + 5 * np.eye(5)
    b = rng.standard_normal((5, 3))
    x = D.array(n, split=split)
    la = D.linalg
    same(la.solve(x, D.array(b, split=split)), np.linalg.solve(n, b), tol=1e-12)
    same(la.solve(x, b[:, 0]), np.linalg.solve(n, b[:, 0]), tol=1e-12)
    same(la.inv(x), np.linalg.inv(n), tol=1e-12)
    same(la.matmul(x, b), n @ b, tol=1e-12)
    same(la.cholesky(x @ x.T), np.linalg.cholesky(n @ n.T), tol=1e-12)
    same(la.det(x), np.linalg.det(n), tol=1e-12)
    sign, log = la.slogdet(x)
    assert sign.item() == np.linalg.slogdet(n)[0] and abs(log.item() - np.linalg.slogdet(n)[1]) < 1e-12
    q, r = la.qr(D.array(b, split=split))
    same(q @ r, b, tol=1e-12)
    w, v = la.eigh(x + x.T)
    same((v * w) @ v.T, n + n.T, tol=1e-11)
    same(la.eigvalsh(x + x.T), np.linalg.eigvalsh(n + n.T), tol=1e-12)
    u, s, vh = la.svd(D.array(b, split=split))
    same((u * s) @ vh, b, tol=1e-12)
    same(la.svdvals(x), np.linalg.svd(n)[1], tol=1e-12)
    found, expected = la.lstsq(x[:, :2], b), np.linalg.lstsq(n[:, :2], b)
    same(found.x, expected[0], tol=1e-12)
    assert found.rank == expected[2]
    for order in (None, "fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf):
        same(la.norm(x, order), np.linalg.norm(n, order), tol=1e-12)
    for order in (None, 0, 1, 2, 3, -1, np.inf, -np.inf):
        same(la.norm(x, order, axis=1, keepdims=True), np.linalg.norm(n, order, 1, True), tol=1e-12)
    same(np.linalg.solve(x, b), np.linalg.solve(n, b), tol=1e-12)
    same(np.linalg.norm(x, 1), np.linalg.norm(n, 1), tol=1e-12)
    with pytest.raises(ValueError, match="ingular"):
        la.solve(D.zeros((2, 2), split=0), [1.0, 2.0])
    with pytest.raises(ValueError):
        la.norm(x, "bad")
    assert isinstance(la.backend(), str)


def test_elementwise_functions(rng):
    n = draw_numbers(rng, (3, 4), "float64")
    x = D.array(n, split=1)
    same(D.add(x, 1), n + 1)
    same(D.hypot(x, x), np.hypot(n, n), n=4)
    same(D.exp(x), np.exp(n), n=4)
    same(D.multiply_add(x, 2, x), n * 3)
    out = D.zeros((3, 4), split=0)
    assert D.subtract(x, 1, out=out) is out and out.split == 0
    same(out, n - 1)
    same(D.add([1, 2], 3), np.array([4, 5]))
    same(D.add(1, 2), np.array(3))
    with pytest.raises(TypeError, match="DNDarray"):
        D.add(x, 1, out=ts.zeros((3, 4)))
    with pytest.raises(ValueError):
        D.add(x, D.zeros(5))


def test_random():
    D.random.seed(5)
    ts.random.seed(5)
    same(D.random.normal((3, 5), split=1), ts.random.normal((3, 5)).numpy())
    same(D.random.uniform(7, "float32", split=0), ts.random.uniform(7, "float32").numpy())
    same(D.random.integers(0, 9, (2, 3), split=0), ts.random.integers(0, 9, (2, 3)).numpy())
    same(D.random.permutation(6, split=0), ts.random.permutation(6).numpy())
    p = D.random.permutation(D.arange(6, split=0).reshape(3, 2))
    assert sorted(p.tolist()) == [[0, 1], [2, 3], [4, 5]]
    g = D.random.Generator(3)
    assert g.normal(3, split=0).tolist() == ts.random.Generator(3).normal(3).tolist()


def test_files(tmp_path):
    n = np.arange(35.0).reshape(5, 7)
    name = tmp_path / "x.npy"
    D.save(name, D.array(n, split=1))
    assert (np.load(name) == n).all()
    for split in (None, 0, 1):
        x = D.load(name, split=split)
        same(x, n)
        assert x.split == split
    same(D.load(str(name), split=0, slices=[slice(1, 4), slice(None, None, 2)]), n[1:4, ::2])
    same(D.load(name, slices=slice(3)), n[:3])
    with pytest.raises(OSError):
        D.load(tmp_path / "none.npy")
    with pytest.raises(TypeError):
        D.load(name, slices=[3])


# --- NumPy's own functions


def test_numpy_functions(rng):
    n = draw_numbers(rng, (4, 5), "float64")
    x = D.array(n, split=0)
    for function in (np.sqrt, np.negative, np.exp):
        with np.errstate(all="ignore"):
            same(function(x * x), function(n * n), n=4)
    same(np.add(x, n), n + n)
    same(n + x, n + n)
    same(np.float64(2) * x, 2 * n)
    same(np.sum(x, axis=0), n.sum(axis=0), n=4)
    same(np.sort(x, axis=0), np.sort(n, axis=0))
    same(np.concatenate([x, n]), np.concatenate([n, n]))
    same(np.where(x > 0, x, 0), np.where(n > 0, n, 0))
    same(np.logaddexp(x, x), np.logaddexp(n, n))  # not ours: gathered
    same(np.add.reduce(x), np.add.reduce(n))
    assert np.shape(x) == (4, 5) and np.ndim(x) == 2 and np.size(x, 0) == 4
    assert np.median(x) == np.median(n) and np.array_equal(x, n) and np.allclose(x, n)
    assert isinstance(np.sum(x, where=n > 0), np.floating)  # an argument that only NumPy has
    np.testing.assert_array_equal(x, n)
    out = D.zeros((4, 5), split=1)
    assert np.add(x, 1, out=out) is out
    same(out, n + 1)
    same(np.logaddexp(x, x, out=out), np.logaddexp(n, n))
    n2 = n.copy()
    n2 += x
    assert isinstance(n2, np.ndarray) and (n2 == 2 * n).all()
    with pytest.raises(TypeError):
        np.copyto(x, n)
    assert isinstance(ts.array(n) + x, D.DNDarray) and isinstance(np.add(ts.array(n), x), D.DNDarray)


def test_functions_of_local_arrays_take_what_every_rank_has():
    x = D.arange(3)
    assert ts.sum(x).item() == 3 and ts.asarray(x[1]).item() == 1
    with pytest.raises(TypeError, match="ts.dist"):
        ts.sum(D.arange(3, split=0))
    with pytest.raises(TypeError, match="x.local"):
        ts.array(D.arange(3, split=0))


def test_array_namespace():
    x = D.arange(3, split=0)
    xp = x.__array_namespace__()
    assert xp is D and xp.__array_api_version__ == "2024.12"
    info = xp.__array_namespace_info__()
    assert set(info.dtypes(kind="integral")) == {f"{u}int{b}" for u in ("", "u") for b in (8, 16, 32, 64)}
    assert info.default_dtypes()["integral"] == xp.int64 and info.default_device() in info.devices()
    assert xp.isdtype(x.dtype, "signed integer") and not xp.isdtype(x.dtype, ("bool", "complex floating"))
    for name in ("float16", "float32", "float64"):
        assert xp.finfo(name).max == float(np.finfo(name).max) and xp.finfo(name).eps == float(np.finfo(name).eps)
        assert xp.finfo(name).smallest_normal == float(np.finfo(name).smallest_normal)
    for name in ("int8", "uint64"):
        assert (xp.iinfo(name).min, xp.iinfo(name).max) == (np.iinfo(name).min, np.iinfo(name).max)
    assert xp.result_type(x, xp.float32) == "float64"
    with pytest.raises(TypeError):
        xp.finfo("int8")


# --- operators, devices


def test_operators_take_distributed_arrays(rng):
    A = ts.FFT(1, batch_shape=ts.Dim("C"), grid_shapes=(ts.Dim("Nx"), ts.Dim("Kx")))
    n = draw_numbers(rng, (4, 6), "complex128")
    for split in (None, 0, 1):
        x = D.array(n, split=split)
        same(A(x), np.asarray(A(ts.array(n))), n=6)
        same(A @ x, np.asarray(A(ts.array(n))), n=6)
    with pytest.raises(ValueError):
        A(D.zeros(3, "complex128", split=0))


def test_other_devices():
    n = np.arange(12.0).reshape(3, 4)
    x = D.array(n, split=0, device="sim:0")
    assert x.device == "sim:0" and x.local.device == "sim:0"
    same(x[[2, 0]], n[[2, 0]])
    same(x + 1, n + 1)
    x[1, 2] = 50
    x[:, 0] = [7, 8, 9]
    assert x[1, 2].item() == 50 and x.to("cpu")[:, 0].tolist() == [7, 8, 9]
    assert x.sum(axis=0).device == "sim:0"
    with pytest.raises(RuntimeError, match="sim:0"):
        x + D.array(n, split=0)


# --- ranks as threads


@pytest.mark.parametrize("ranks", RANKS)
def test_ranks_as_threads(ranks):
    n = np.arange(40).reshape(10, 4)

    def work(comm):
        x = D.array(n, split=0, comm=comm)
        before = comm.traffic
        part = x[2:9:3]
        assert comm.traffic == before and part.split == 0
        x[[7, 2]] = [[1], [2]]
        return [part.tolist(), x[[9, 0, 7]].tolist(), x[3].tolist(), (x.T @ x).tolist(), x.counts, str(x)]

    m = n.copy()
    m[[7, 2]] = [[1], [2]]
    part, some, row, product, counts, text = every_rank(ranks, work)
    assert some == m[[9, 0, 7]].tolist() and row == m[3].tolist() and product == (m.T @ m).tolist()
    assert part == m[2:9:3].tolist() and text == str(m)
    assert counts == tuple(10 // ranks + (r < 10 % ranks) for r in range(ranks))


@pytest.mark.parametrize("ranks", [2, 3])
def test_blocks_of_ranks(ranks):
    def work(comm):
        x = D.array(np.full((comm.rank, 2), comm.rank), is_split=0, comm=comm)
        return [x.tolist(), x.counts, x.balanced]

    rows, counts, balanced = every_rank(ranks, work)
    assert rows == [[r, r] for r in range(ranks) for _ in range(r)]
    assert counts == tuple(range(ranks)) and not balanced

    def ragged(comm):
        return D.array([[1, 2], [3]] if comm.rank == 1 else [[1, 2]], is_split=0, comm=comm)

    with pytest.raises(ValueError, match="rank 1"):
        D.run_ranks(ranks, ragged)


def test_halo():
    def work(comm):
        x = D.arange(10, split=0, comm=comm)
        before, after = x.halo(1)
        return [before.tolist(), after.tolist(), x.with_halo(1).tolist()]

    assert D.run_ranks(2, work) == [[[], [5], [0, 1, 2, 3, 4, 5]], [[4], [], [4, 5, 6, 7, 8, 9]]]


def test_scalars_between_ranks():
    def work(comm):
        x = D.zeros(7, split=0, comm=comm)
        before = comm.traffic
        for i in range(7):
            x[i] = i * i
        x[-1] = 5
        assert comm.traffic == before  # the owner writes, the others know where
        row = x[3]
        x[3] = -1
        return [x.tolist(), int(x[3]), float(x[-2]), row.item()]

    values, third, last, row = every_rank(3, work)
    assert values == [0, 1, 4, -1, 16, 25, 5] and (third, last, row) == (-1, 25.0, 9)


def test_errors_are_those_of_all_ranks():
    def work(comm):
        x = D.arange(10, split=0, comm=comm)
        seen = []
        for key in (99, D.array([0, 99], split=0, comm=comm), (0, 0), 1.5):
            try:
                x[key] = 5
            except IndexError as error:
                seen.append(str(error))
        return [seen, x.tolist()]

    seen, values = every_rank(3, work)
    assert len(seen) == 4 and values == list(range(10))


def test_an_exception_of_one_rank_ends_the_others():
    def work(comm):
        if comm.rank == 1:
            raise KeyError("mine")
        D.zeros(5, split=0, comm=comm).resplit(None)

    with pytest.raises(KeyError, match="mine"):
        D.run_ranks(3, work)


# --- programs


def run_script(code, **env):
    path = str(Path(ts.__file__).parents[1])
    code = f"import sys; sys.path.insert(0, {path!r})\n" + code
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, **env}, timeout=120
    )


def test_example_runs():
    example = Path(__file__).resolve().parents[2] / "examples" / "python" / "distributed.py"
    done = run_script(f"import runpy; runpy.run_path({str(example)!r}, run_name='__main__')")
    assert done.returncode == 0, done.stderr
    assert "rank 0 of 1" in done.stdout
