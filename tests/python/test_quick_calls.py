# SPDX-License-Identifier: Apache-2.0
"""Calls on few elements have ways of their own: they give what the general ways give, and what NumPy gives. The same
numbers, dtypes, shapes and strides, the same errors; and objects that are used again know nothing of their past."""

import gc
import weakref

import numpy as np
import pytest

import tessera as ts

DTYPES = ("bool", "int8", "uint16", "int64", "float16", "float32", "float64", "complex64", "complex128")
SHAPES = ((), (0,), (1,), (7,), (1024,), (4097,), (3, 4), (2, 0, 3), (2, 3, 5))


def drawn(shape, dtype, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.integers(-3, 4, shape)
    return np.asarray(x + 1j * rng.integers(-1, 2, shape) if np.dtype(dtype).kind == "c" else abs(x), dtype)


def layouts(x):
    """The same elements dense, with gaps, backwards and with their axes in another order."""
    wide = np.repeat(x, 2, axis=-1) if x.ndim else x
    yield x
    if x.ndim:
        yield wide[..., ::2]
        yield np.ascontiguousarray(x[::-1])[::-1]
    if x.ndim > 1:
        yield np.ascontiguousarray(x.T).T


def outcome(call, *args, **named):
    """What a call gives, or what it raises."""
    try:
        found = call(*args, **named)
    except Exception as error:
        return type(error).__name__, str(error)
    parts = found if isinstance(found, tuple) else (found,)
    return [(p.shape, p.strides, p.dtype.name, p.numpy().tobytes()) for p in parts]


def ufuncs(arity):
    """Those of the core; others are made of them."""
    for name in sorted(set(ts.__all__)):
        theirs = getattr(np, name, None)
        if isinstance(theirs, np.ufunc) and theirs.nin == arity and theirs.nout == 1 and name != "matmul":
            if type(getattr(ts, name)).__name__ == "nb_func":
                yield name


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [*ufuncs(1)])
def test_one_operand(name):
    f = getattr(ts, name)
    for dtype in DTYPES:
        for shape in SHAPES:
            for x in layouts(drawn(shape, dtype)):
                a = ts.asarray(x)
                assert outcome(f, a) == outcome(f, a, where=True), (dtype, shape)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [*ufuncs(2)])
def test_two_operands(name):
    f = getattr(ts, name)
    for one in DTYPES:
        for other in {one, "int64", "float64"}:
            for left, right in (((7,), (7,)), ((1500,), (1500,)), ((3, 4), (4,)), ((3,), (4,)), ((), (5,))):
                a, b = ts.asarray(drawn(left, one, 1)), ts.asarray(drawn(right, other, 2))
                assert outcome(f, a, b) == outcome(f, a, b, where=True), (one, other, left, right)
    assert outcome(f, ts.ones(2)) == outcome(f, ts.ones(2), where=True)


@pytest.mark.parametrize(
    "shape", [0, 3, -1, 2**70, True, (2, 3), (0, 2), (-2, 2), (2, -1), [2, 2], (2, 2.0), "a", None]
)
def test_making(shape):
    for name, value in (("zeros", 0.0), ("ones", 1.0)):
        f = getattr(ts, name)
        assert outcome(f, shape) == outcome(f, shape=shape)
        if shape in (3, (2, 3)):
            assert f(shape).tolist() == np.full(shape, value).tolist()
    assert outcome(ts.full, shape, 0.5) == outcome(ts.full, shape, fill_value=0.5)
    quick, general = outcome(ts.empty, shape), outcome(ts.empty, shape=shape)
    assert [p[:3] for p in quick] == [p[:3] for p in general] if isinstance(quick, list) else quick == general
    assert outcome(ts.arange, shape) == outcome(ts.arange, start=shape)


def test_views():
    for shape in SHAPES:
        for x in layouts(drawn(shape, "float64")):
            a = ts.asarray(x)
            assert a.T.strides == x.T.strides or a.size < 2
            assert a.T.tolist() == x.T.tolist()
            for to in ((-1,), (7, 1), (1, -1), (2, 6), (3, -2), (-1, -1), (4, 3, 1)):
                few = tuple(map(np.int64, to))  # no plain integers
                assert outcome(a.reshape, *to) == outcome(a.reshape, *few)
                assert outcome(a.reshape, to) == outcome(a.reshape, few)


@pytest.mark.parametrize("dtype", DTYPES)
def test_what_is_not_zero(dtype):
    for shape in SHAPES[1:]:
        for x in layouts(drawn(shape, dtype)):
            a = ts.asarray(x)
            assert [p.tolist() for p in ts.nonzero(a)] == [p.tolist() for p in np.nonzero(x)]
            assert ts.count_nonzero(a).item() == np.count_nonzero(x)
            assert ts.count_nonzero(a).dtype == "int64"


def test_every_byte_is_counted():
    for dtype in ("bool", "int8", "uint8"):
        for n in (8, 2040, 2047, 2048, 4096):
            x = np.arange(n, dtype="int64").astype(dtype)
            for y in (x, np.ones(n, dtype), np.full(n, 128).astype(dtype), np.zeros(n, dtype)):
                assert ts.count_nonzero(ts.asarray(y)).item() == np.count_nonzero(y)
                assert ts.nonzero(ts.asarray(y))[0].tolist() == np.nonzero(y)[0].tolist()


def test_nan_and_signed_zero_are_counted():
    x = np.array([np.nan, -0.0, 0.0, np.inf, 5e-324])
    for dtype in ("float32", "float64"):
        with np.errstate(all="ignore"):
            y = x.astype(dtype)
        assert ts.nonzero(ts.asarray(y))[0].tolist() == np.nonzero(y)[0].tolist()


def error_of(call):
    try:
        call()
    except Exception as error:
        return error
    return None


KEYS = (
    *(0, -1, 7, -8, slice(1, 5), slice(None, None, -2), slice(9, 2), slice(3, 3), slice(None, None, 2**62)),
    *(np.array([1, 3]), np.array([-7, 6, 1, 1]), np.array([7]), np.array([-8]), np.array([], "int64")),
    *(
        np.array([1, 3], "int32"),
        np.array([[0, 1], [2, 3]]),
        np.arange(7) % 3 == 0,
        np.zeros(7, bool),
        np.ones(6, bool),
    ),
    *(np.ones(7, bool)[::-1], np.arange(12)[::4], slice(None, None, 0), np.array([1.5])),
)


@pytest.mark.parametrize("key", KEYS, ids=repr)
@pytest.mark.parametrize("step", [1, 2, -1])
def test_reading_and_writing(key, step):
    ours = ts.asarray(key) if isinstance(key, np.ndarray) else key
    for dtype in DTYPES:
        x = np.ascontiguousarray(drawn((14,), dtype)[: 7 * abs(step)])[::step]
        a = ts.asarray(x.copy()) if step == 1 else ts.asarray(np.concatenate([x, x])[::step])[:7]
        x = a.numpy().copy()
        refused = error_of(lambda x=x: x[key])
        if refused is not None:
            with pytest.raises(type(refused)):
                a[ours]
            with pytest.raises(type(refused)):
                a[ours] = 1
            assert a.tolist() == x.tolist()
            continue
        assert a[ours].tolist() == x[key].tolist()
        assert a[ours].dtype == x.dtype.name
        for value in (0, 1, True, 2.5):
            x[key] = value
            a[ours] = value
            assert a.tolist() == x.tolist()


def test_a_mask_of_a_matrix():
    x = drawn((5, 6), "int64")
    assert ts.asarray(x)[ts.asarray(x > 1)].tolist() == x[x > 1].tolist()
    assert ts.asarray(x)[ts.asarray(x > 9)].shape == (0,)


def test_writing_at_positions_that_are_written():
    x = np.array([2, 0, 1, 3])
    a = ts.asarray(x.copy())
    a[a] = 1
    x[x.copy()] = 1
    assert a.tolist() == x.tolist()


@pytest.mark.parametrize("key", [slice(0, 2), np.array([0, 1]), 1], ids=repr)
def test_views_that_repeat_elements_are_not_written(key):
    once = ts.zeros(1)
    repeated = ts.broadcast_to(once, (3,))
    for view in (repeated, ts.asarray(np.lib.stride_tricks.as_strided(np.zeros(1), (3,), (0,)))):
        kept = view.tolist()
        if view is not repeated and isinstance(key, int):
            continue  # one element, and it is there once
        with pytest.raises(ValueError, match="read-only"):
            view[ts.asarray(key) if isinstance(key, np.ndarray) else key] = 5
        assert view.tolist() == kept


@pytest.mark.parametrize("value", [300, -1, 2**70, float("nan"), float("inf"), 1j])
@pytest.mark.parametrize("key", [2, slice(0, 2), np.array([0, 1])], ids=repr)
def test_numbers_that_do_not_fit_change_nothing(key, value):
    x, a = np.zeros(4, "uint8"), ts.zeros(4, "uint8")
    refused = error_of(lambda: x.__setitem__(key, value))
    if refused is None:
        pytest.skip("NumPy takes it")
    with pytest.raises((type(refused), OverflowError)):
        a[ts.asarray(key) if isinstance(key, np.ndarray) else key] = value
    assert a.tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize("dtype", DTYPES)
def test_repeats(dtype):
    for shape in SHAPES[1:]:
        for x in layouts(drawn(shape, dtype)):
            a = ts.asarray(x)
            for axis in (None, *range(-1, 3)):
                many = x.size if axis is None else x.shape[axis] if -x.ndim <= axis < x.ndim else 1
                for times in (0, 2, -1, np.arange(many) % 3, np.array([2]), np.arange(many + 2), -np.ones(many, int)):
                    ours = ts.asarray(times) if isinstance(times, np.ndarray) else times
                    if x.size == 0 and np.any(np.asarray(times) < 0):
                        continue  # NumPy does not look at them
                    try:
                        wanted = np.repeat(x, times, axis)
                    except ValueError:
                        with pytest.raises(ValueError):
                            ts.repeat(a, ours, axis)
                        continue
                    found = ts.repeat(a, ours, axis)
                    assert (found.shape, found.dtype.name) == (wanted.shape, wanted.dtype.name)
                    assert found.tolist() == wanted.tolist()


@pytest.mark.parametrize("dtype", DTYPES[:-2])
def test_the_best_and_the_distinct(dtype):
    for shape in ((1,), (9,), (1024,), (3, 5), (2, 3, 4)):
        for x in layouts(drawn(shape, dtype)):
            a = ts.asarray(x)
            assert ts.unique(a).tolist() == np.unique(x).tolist()
            for axis in range(-x.ndim, x.ndim):
                for k in {1, 2 % x.shape[axis] + 1, x.shape[axis]}:
                    for largest in (True, False):
                        found = ts.topk(a, k, axis, largest)
                        general = ts.topk(a, np.int64(k), axis, largest)
                        assert [f.tolist() for f in found] == [g.tolist() for g in general]
                        ordered = np.sort(x, axis)
                        best = np.flip(ordered, axis) if largest else ordered
                        assert found[0].tolist() == best.take(range(k), axis).tolist()
    for call in (lambda: ts.topk(ts.ones(3), 4), lambda: ts.topk(ts.ones(3), 1, 1), lambda: ts.topk(ts.ones(()), 1)):
        with pytest.raises(ValueError):
            call()


def test_nan_among_the_best():
    x = np.array([1.0, np.nan, -np.inf, 3.0, np.nan, np.inf, -0.0, 0.0])
    for k in range(1, 9):
        for largest in (True, False):
            found = ts.topk(ts.asarray(x), k, -1, largest)
            general = ts.topk(ts.asarray(x), np.int64(k), -1, largest)
            assert [repr(f.tolist()) for f in found] == [repr(g.tolist()) for g in general]


def test_joining():
    x, y = drawn((3, 4), "float64"), drawn((3, 4), "int64", 1)
    for axis in (0, 1, -1):
        wanted = np.concatenate([x, y], axis)
        for parts in ([ts.asarray(x), ts.asarray(y)], (ts.asarray(x), ts.asarray(y)), [x, ts.asarray(y)]):
            found = ts.concatenate(parts, axis)
            assert (found.tolist(), found.dtype.name) == (wanted.tolist(), wanted.dtype.name)
    with pytest.raises(ValueError, match="same number of dimensions"):
        ts.concatenate([ts.ones(2), ts.ones((2, 2))])
    with pytest.raises(ValueError, match="at least one"):
        ts.concatenate([])


def test_several_arrays():
    for n in (0, 1, 9, 3000):
        x, y, c = drawn((n,), "float64", 1), drawn((n,), "float64", 2), drawn((n,), "bool", 3)
        a, b, m = map(ts.asarray, (x, y, c))
        assert ts.where(m, a, b).tolist() == np.where(c, x, y).tolist()
        assert ts.vdot(a, b).item() == np.vdot(x, y)
        at = np.arange(n)[::-1].copy()
        assert a.take(ts.asarray(at)).tolist() == x.take(at).tolist()
    with pytest.raises(IndexError):
        ts.ones(3).take(ts.asarray([3]))
    with pytest.raises(ValueError, match="cannot pair"):
        ts.vdot(ts.ones(2), ts.ones(3))
    with pytest.raises(ValueError, match="broadcast"):
        ts.where(ts.ones(3, "bool"), ts.ones(3), ts.ones(2))


def test_objects_that_are_used_again():
    x = ts.arange(600)
    alive = [x[i] for i in range(600)]  # more than are kept
    assert [v.item() for v in alive] == list(range(600))
    told = []
    watched = [weakref.ref(v, told.append) for v in alive]
    alive.clear()
    gc.collect()
    assert len(told) == 600
    assert all(w() is None for w in watched)
    again = [x[i : i + 2] for i in range(300)]
    assert all(w() is None for w in watched)
    assert [v.tolist() for v in again] == [[i, i + 1] for i in range(300)]
    assert not any(gc.is_tracked(v) and gc.get_referents(v) not in ([], [ts.Array]) for v in again)


def test_repeats_of_large_blocks():
    for shape, axis in (((129, 232), 0), ((3, 40, 100), 1), ((100, 300), -2), ((129, 300), 0)):
        x = drawn(shape, "float64")
        for times in (0, 1, 2, np.arange(x.shape[axis]) % 3):
            ours = ts.asarray(times) if isinstance(times, np.ndarray) else times
            assert np.array_equal(ts.repeat(ts.asarray(x), ours, axis=axis).numpy(), np.repeat(x, times, axis=axis))


def test_numbers_that_are_used_again():
    arrays = [ts.arange(20).astype(t) for t in ("float64", "float32", "bool", "complex128", "int64")]
    for turn in range(30):  # one after the other, of several types
        x = arrays[turn % len(arrays)]
        assert x[turn % 20].dtype == x.dtype and x[turn % 20].item() == x.tolist()[turn % 20]
    x = arrays[0]
    one, told = x[2], []
    watched = weakref.ref(one, told.append)
    del one
    assert watched() is None and len(told) == 1
    seen = x[3].numpy()  # its memory is looked at
    alive = [x[i] for i in range(20)]
    assert seen == 3.0 and [v.item() for v in alive] == list(range(20))
    changed = x[5]
    changed += 1
    assert changed.item() == 6 and x[5].item() == 5
    del changed, alive
    assert [x[i].item() for i in range(20)] == list(range(20))
    moved = [x[i].to("sim:0") for i in range(20)]  # read by another device while the next is written
    assert [v.to("cpu").item() for v in moved] == list(range(20))


def test_objects_that_are_used_again_hold_no_memory():
    for many in (3, 5000):
        before = ts.memory_stats()["in_use"]
        held = [ts.ones(many) + i for i in range(400)]
        assert ts.memory_stats()["in_use"] >= before + 400 * many * 8
        del held
        assert ts.memory_stats()["in_use"] == before


def test_a_failed_call_leaves_a_whole_object():
    for _ in range(600):
        with pytest.raises(ValueError):
            ts.ones(3).reshape(2, 2)
        with pytest.raises(IndexError):
            ts.ones(3)[5]
        with pytest.raises(ValueError):
            ts.add(ts.ones(3), ts.ones(2))
    assert ts.ones(3).tolist() == [1.0, 1.0, 1.0]


def keys_of_others(n):
    """Positions along an axis of n as lists and as arrays of NumPy's in every layout, also some that lie outside."""
    at = np.random.default_rng(1).integers(-n, n, 60) if n else np.zeros(0, "int64")
    frozen = at.copy()
    frozen.flags.writeable = False
    yield from (at, at[:1], at[::2], at[::-1], at.reshape(-1, 5), at.reshape(5, -1).T, at[:0], frozen)
    yield from (at.astype("int32"), at.astype(">i8"), at.astype("float64"), at % 2 == 0, at[0] if n else at)
    yield from (at.tolist(), at[:1].tolist(), [], [at[:3].tolist()] * 2, np.tile(at, 20).tolist())
    yield from ([True] * n, [0.5], [0, True], [10**30], [n], [-n - 1], np.array([0, n]), np.ma.array(at))


@pytest.mark.parametrize("dtype", ("bool", "int16", "float32", "float64", "complex128"))
def test_keys_of_others(dtype):
    for shape in ((1,), (7,), (4097,), (3, 4), (2, 3, 5), (4, 0), (0, 4)):
        for x in layouts(drawn(shape, dtype)):
            ours = ts.asarray(x)
            for key in keys_of_others(shape[0]):
                try:
                    expected = x[key]
                except IndexError:
                    with pytest.raises(IndexError):
                        ours[key]
                    continue
                found = ours[key]
                assert found.shape == expected.shape and found.dtype.name == dtype
                assert found.numpy().tobytes() == np.ascontiguousarray(expected).tobytes()
                if isinstance(key, np.ndarray) and not np.shares_memory(x, np.asarray(expected)):
                    assert ours[ts.asarray(np.asarray(key))].numpy().tobytes() == found.numpy().tobytes()


def test_a_second_call_of_an_operator_makes_no_plan():
    A = ts.FFT(1, (), ("X", "K")) @ ts.Diagonal(np.arange(8.0), ("X",))
    x = ts.ones(8, dtype="complex128")
    first, y = A(x), ts.empty(8, dtype="complex128")
    _ = A.H(x), A.N(x)
    before = ts.counters()["plans"]
    for _ in range(5):
        assert A(x).tolist() == first.tolist() == (A @ x).tolist() == A(x, out=y).tolist()
        _ = A.H(x), A.N(x)
    assert ts.counters()["plans"] == before
    with ts.config.using(reuse_in_place=False):
        assert A(x).tolist() == first.tolist()
    assert ts.counters()["plans"] == before + 1


def test_operators_called_on_the_same_arrays_become_graphs():
    A = ts.Diagonal(np.arange(8.0), ("X",)) @ ts.FFT(1, (), ("K", "X")) @ ts.Diagonal(np.arange(8.0), ("K",))
    A = A.to("sim:0")
    x = ts.ones(8, dtype="complex128").to("sim:0")
    expected = A(x).tolist()
    before = ts.counters()["graph_launches"]
    with ts.config.using(graph_after=0):
        assert all(A(x).tolist() == expected for _ in range(10))
    assert ts.counters()["graph_launches"] == before
    assert all(A(x).tolist() == expected for _ in range(10))
    assert ts.counters()["graph_launches"] > before
