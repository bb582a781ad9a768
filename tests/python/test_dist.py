# SPDX-License-Identifier: Apache-2.0
"""Distributed arrays on one rank, everything against NumPy; some of it again with ranks as threads of the process.

What the ranks say to each other is tested in tests/python/dist and beside the C++."""

import copy
import os
import pickle
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from dist_support import every_rank, same, splits
from hypothesis import given, settings
from hypothesis import strategies as st
from support import draw_numbers, outcome, same_outcome, seeds, shapes
from test_indexing import keys, text_is_comparable, value_for

import tessera as ts

D = ts.dist
RANKS = [1, 2, 3, 4]
DTYPES = ["bool", "int8", "int64", "uint16", "float32", "float64", "complex64"]


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


@pytest.mark.parametrize("split", [None, 0, 1])
def test_pickles(split):
    x = D.array(np.arange(6.0).reshape(2, 3), split=split)
    for y in (pickle.loads(pickle.dumps(x)), copy.deepcopy({"x": x})["x"]):
        assert (y.split, y.counts, y.dtype) == (x.split, x.counts, x.dtype) and y.tolist() == x.tolist()
        y[0] = 9
        assert x.item(0) == 0
    assert pickle.loads(pickle.dumps(x[1])).tolist() == [3, 4, 5]
    assert pickle.loads(pickle.dumps(x[:, ::2])).tolist() == [[0, 2], [3, 5]]

    def work(comm):
        return pickle.dumps(D.arange(5, split=0, comm=comm))

    for rank, part in enumerate(D.run_ranks(2, work)):  # the parts of two ranks are no array of one
        with pytest.raises(ts.CommError, match=f"rank {rank} of 2"):
            pickle.loads(part)


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


@pytest.mark.parametrize("make", [ts.array, lambda a: D.array(a, split=0)])
def test_lists_are_no_deeper_than_the_view_they_go_to(make):
    for key, value in [
        (slice(1, 3), [[7, 8]]),
        (slice(1, 3), [[[7, 8]]]),
        (slice(1, 3), ([7], [8])),
        (slice(1, 3), [[7j]]),
        (slice(1, 3), [np.arange(2)]),
        (slice(1, 3), [[]]),
        (..., [7, 8, 9, 10]),
        (slice(1, 3), np.array([[7, 8]])),
        ([1, 2], [[7, 8]]),
        (1, [7]),
    ]:
        ours, theirs = make(np.arange(4.0)), np.arange(4.0)
        both = [partial(x.__setitem__, key, value) for x in (ours, theirs)]
        same_outcome(*both, lambda *_: None)
        np.testing.assert_array_equal(ours.numpy(), theirs)


# NumPy looks at the key, then converts the value, then broadcasts index arrays, then looks into them.
@pytest.mark.parametrize(
    ("key", "value"),
    [((7,), [1j]), ((0, 9), [1j]), (([0, 1], [0, 1, 2]), [1j]), (([0, 9],), [1j]), (([0, 9], [0, 1, 2]), [1.0])],
)
def test_order_of_errors(key, value):
    ours, theirs = D.array(np.zeros((4, 4)), split=0), np.zeros((4, 4))
    assert outcome(lambda: theirs.__setitem__(key, value))[0] == "error"
    same_outcome(lambda: ours.__setitem__(key, value), lambda: theirs.__setitem__(key, value), lambda *_: None)


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
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, **env}, timeout=900
    )


def test_example_runs():
    example = Path(__file__).resolve().parents[2] / "examples" / "python" / "distributed.py"
    done = run_script(f"import runpy; runpy.run_path({str(example)!r}, run_name='__main__')")
    assert done.returncode == 0, done.stderr
    assert "rank 0 of 1" in done.stdout
