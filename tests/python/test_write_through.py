# SPDX-License-Identifier: Apache-2.0
"""Writing through every kind of view does to the source what NumPy does, or raises: random chains of views, and every
function whose result could share memory with its argument. ``TESSERA_LARGE=1`` draws a hundred times as many."""

import os

import numpy as np
import pytest
from support import on, outcome

import tessera as ts

SEEDS = 100000 if "TESSERA_LARGE" in os.environ else 1000
SIZE_ONE = (2, 3), (5,), (3, 1, 4), (2, 3, 2), (6, 4), (1,), (4, 0, 2)


class Indexed:
    """An integer to those who ask for one, and nothing else."""

    def __init__(self, value):
        self.value = value

    def __index__(self):
        return self.value


# What is an integer in a key, beside the one that NumPy has in its place.
INTEGERS = {
    "int": (int, int),
    "int64": (np.int64, np.int64),
    "int8": (np.int8, np.int8),
    "__index__": (Indexed, Indexed),
    "bool-like int": (lambda i: type("I", (int,), {})(i), int),
    "array of rank 0": (lambda i: ts.array(i), np.int64),
    "argmax": (lambda i: ts.argmax(ts.eye(abs(i) + 1)[-1]) * (-1 if i < 0 else 1), np.int64),
    "NumPy's array of rank 0": (np.array, np.int64),  # with NumPy a copy, to which what is written is lost
}


def draw_integer(rng, size):
    ours, numpys = INTEGERS[rng.choice(list(INTEGERS))]
    i = int(rng.integers(-size, size))
    return ours(i), numpys(i)


def draw_slice(rng, size):
    bounds = [None if rng.integers(3) == 0 else int(rng.integers(-size - 1, size + 2)) for _ in range(2)]
    step = [None, 1, 2, -1, -2][rng.integers(5)]
    return slice(*bounds, step)


def draw_key(rng, shape):
    """A basic key with an integer of every kind, and now and then one that copies; (ours, NumPy's)."""
    ours, numpys = [], []
    for size in shape[: rng.integers(len(shape) + 1)]:
        kind = rng.integers(8)
        if kind < 3 and size > 0:
            a, b = draw_integer(rng, size)
        elif kind == 7 and size > 0:
            a = b = [int(i) for i in rng.integers(-size, size, 2)] if rng.integers(2) else rng.integers(0, 2, size) > 0
        else:
            a = b = draw_slice(rng, size)
        ours.append(a)
        numpys.append(b)
    for extra in (None, ...):
        if rng.integers(4) == 0:
            place = len(ours) if extra is ... else int(rng.integers(len(ours) + 1))
            ours.insert(place, extra)
            numpys.insert(place, extra)
    if len(ours) == 1 and rng.integers(2):
        return ours[0], numpys[0]
    return tuple(ours), tuple(numpys)


def factors(rng, n):
    """A random shape of n elements."""
    if n == 0:
        return (0, int(rng.integers(1, 4)))
    shape = []
    while n > 1:
        divisors = [d for d in range(2, n + 1) if n % d == 0]
        shape.append(int(rng.choice(divisors)))
        n //= shape[-1]
    return tuple(shape)


def draw_step(rng, x):
    """One way to look at x, for both libraries: a function of the namespace and the array."""
    kind = rng.integers(12)
    if kind < 5:
        ours, numpys = draw_key(rng, x.shape)
        return lambda xp, a: a[ours if xp is ts else numpys]
    if kind == 5:
        shape = factors(rng, x.size)
        return (lambda xp, a: a.reshape(shape)) if rng.integers(2) else (lambda xp, a: xp.reshape(a, shape))
    if kind == 6:
        return (lambda xp, a: a.ravel()) if rng.integers(2) else (lambda xp, a: xp.ravel(a))
    if kind == 7:
        axes = tuple(int(i) for i in rng.permutation(x.ndim))
        return (lambda xp, a: a.transpose(axes)) if rng.integers(2) else (lambda xp, a: xp.transpose(a, axes))
    if kind == 8:
        return (lambda xp, a: a.T) if rng.integers(2) else (lambda xp, a: xp.squeeze(a))
    if kind == 9:
        return (lambda xp, a: a.real) if rng.integers(2) else (lambda xp, a: a.imag)
    if kind == 10:
        shape = tuple(int(rng.integers(1, 4)) if n == 1 else n for n in x.shape)
        shape = (2, *shape) if rng.integers(2) else shape
        return lambda xp, a: xp.broadcast_to(a, shape)
    return (lambda xp, a: xp.flip(a)) if x.ndim and rng.integers(2) else (lambda xp, a: xp.expand_dims(a, 0))


WRITES = {
    "all": lambda a: a.__setitem__(..., 77),
    "slice": lambda a: a.__setitem__(slice(None, None, 2), 77),
    "element": lambda a: a.__setitem__((0,) * a.ndim, 77),
    "fill": lambda a: a.fill(77),
    "in place": lambda a: a.__iadd__(50),
}


def written(write, array):
    """What happened: nothing was raised, or an error of this kind."""
    try:
        write(array)
        return None
    except (ValueError, IndexError, TypeError) as error:
        return error


@pytest.mark.parametrize("block", range(10))
def test_chains_of_views(block, device):
    outcomes = {"written": 0, "refused": 0, "copies": 0}
    for seed in range(block * SEEDS // 10, (block + 1) * SEEDS // 10):
        rng = np.random.default_rng(seed)
        shape = SIZE_ONE[rng.integers(len(SIZE_ONE))]
        dtype = ["float64", "int32", "complex64"][rng.integers(3)]
        source = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
        before = source.copy()
        ours = on(device, source.copy())
        mine, theirs = ours, source
        for _ in range(rng.integers(1, 5)):
            step = draw_step(rng, theirs)
            if outcome(lambda s=step, a=theirs: s(np, a))[0] == "error":  # arrays in a key that do not fit each other
                with pytest.raises((IndexError, ValueError)):
                    step(ts, mine)
                break
            mine, theirs = step(ts, mine), step(np, theirs)
            if not isinstance(theirs, np.ndarray):  # a number of NumPy's, which nothing can be written to
                break
        assert mine.shape == np.shape(theirs), seed
        write = WRITES[list(WRITES)[rng.integers(len(WRITES))]]
        error = written(write, mine)
        if isinstance(theirs, np.ndarray):
            expected = written(write, theirs)
            lost = expected is None and np.array_equal(source, before)  # NumPy wrote into a copy: we may refuse
            assert (error is None) == (expected is None) or (error and lost), (
                f"seed {seed}: {error!r}, not {expected!r}"
            )
            if error is None:
                assert np.array_equal(mine.numpy(), theirs), seed
        assert np.array_equal(ours.numpy(), source), f"seed {seed}: the source is another than NumPy's"
        outcomes["refused" if error else "copies" if np.array_equal(source, before) else "written"] += 1
    assert all(outcomes.values()), outcomes


FUNCTIONS = {
    "asarray": lambda xp, x: xp.asarray(x),
    "array": lambda xp, x: xp.array(x),
    "astype": lambda xp, x: x.astype(x.dtype, copy=True),
    "abs": lambda xp, x: xp.abs(x),
    "positive": lambda xp, x: xp.positive(x),
    "conj": lambda xp, x: xp.conj(x),
    "real": lambda xp, x: xp.real(x),
    "imag": lambda xp, x: xp.imag(x),
    "round": lambda xp, x: xp.round(x),
    "clip": lambda xp, x: xp.clip(x, None, None),
    "nan_to_num": lambda xp, x: xp.nan_to_num(x),
    "ravel": lambda xp, x: xp.ravel(x),
    "ravel of columns": lambda xp, x: xp.ravel(x[:, :2]),
    "flatten": lambda xp, x: x.flatten(),
    "reshape": lambda xp, x: xp.reshape(x, (4, 3)),
    "reshape of columns": lambda xp, x: xp.reshape(x.T, (2, 6)),
    "transpose": lambda xp, x: xp.transpose(x),
    "permute_dims": lambda xp, x: xp.permute_dims(x, (1, 0)),
    "matrix_transpose": lambda xp, x: xp.matrix_transpose(x),
    "swapaxes": lambda xp, x: xp.swapaxes(x, 0, 1),
    "moveaxis": lambda xp, x: xp.moveaxis(x, 0, 1),
    "squeeze": lambda xp, x: xp.squeeze(x[:1]),
    "expand_dims": lambda xp, x: xp.expand_dims(x, (0, 2)),
    "flip": lambda xp, x: xp.flip(x, 1),
    "rot90": lambda xp, x: xp.rot90(x),
    "rot90 four times": lambda xp, x: xp.rot90(x, 4),
    "split": lambda xp, x: xp.split(x, 3)[1],
    "array_split": lambda xp, x: xp.array_split(x, 2, axis=1)[0],
    "unstack": lambda xp, x: xp.unstack(x)[1],
    "broadcast_to": lambda xp, x: xp.broadcast_to(x, (2, 3, 4)),
    "broadcast_to its own shape": lambda xp, x: xp.broadcast_to(x, x.shape),
    "a line of broadcast_to": lambda xp, x: xp.broadcast_to(x, (2, 3, 4))[0, 1:],
    "meshgrid": lambda xp, x: xp.meshgrid(x[0], x[1])[0],
    "meshgrid ij": lambda xp, x: xp.meshgrid(x[0], x[1], indexing="ij")[1],
    "meshgrid of one": lambda xp, x: xp.meshgrid(x[0])[0],
    "roll": lambda xp, x: xp.roll(x, 0),
    "concatenate": lambda xp, x: xp.concatenate([x]),
    "stack": lambda xp, x: xp.stack([x])[0],
    "hstack": lambda xp, x: xp.hstack([x]),
    "vstack": lambda xp, x: xp.vstack([x]),
    "column_stack": lambda xp, x: xp.column_stack([x]),
    "tile": lambda xp, x: xp.tile(x, 1),
    "repeat": lambda xp, x: xp.repeat(x, 1, axis=0),
    "pad": lambda xp, x: xp.pad(x, 0),
    "tril": lambda xp, x: xp.tril(x, 9),
    "triu": lambda xp, x: xp.triu(x, -9),
    "sort": lambda xp, x: xp.sort(x),
    "take": lambda xp, x: xp.take(x, xp.arange(3), axis=0),
    "compress": lambda xp, x: xp.compress([True] * 3, x, axis=0),
    "where": lambda xp, x: xp.where(x == x, x, 0),
    "mask": lambda xp, x: x[x == x],
    "cumsum of a line": lambda xp, x: xp.cumsum(x[:, :1], axis=1),
    "matrix_power": lambda xp, x: xp.linalg.matrix_power(x[:, :3], 0),
    "linalg.matrix_power once": lambda xp, x: xp.linalg.matrix_power(x[:, :3], 1),
    "sum over nothing": lambda xp, x: xp.sum(x, axis=()),
    "max over one": lambda xp, x: xp.max(x[:1], axis=0),
    "fft of one point": lambda xp, x: xp.fft.fft(x[:, :1]),
    "nansum over nothing": lambda xp, x: xp.nansum(x[:1], axis=0),
    "einsum": lambda xp, x: xp.einsum("ij->ij", x),
}
# Views of NumPy's where we give copies: real and imag are functions of elements here (x.real is the view).
COPIES = {"real", "imag", "linalg.matrix_power once"}


@pytest.mark.parametrize("dtype", ["float64", "int64", "complex128"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name, dtype, device):
    source = (np.arange(12).reshape(3, 4) + 1).astype(dtype)
    ours = on(device, source.copy())
    before = source.copy()
    mine, theirs = FUNCTIONS[name](ts, ours), FUNCTIONS[name](np, source)
    error, expected = written(WRITES["all"], mine), written(WRITES["all"], theirs)
    if name in COPIES:
        assert error is None and np.array_equal(ours.numpy(), before)
        return
    assert (error is None) == (expected is None), f"{name}: {error!r}, NumPy: {expected!r}"
    assert np.array_equal(ours.numpy(), source), name


BROADCAST = {
    "of one": lambda x: ts.broadcast_to(x[:1], (3,)),
    "of its own shape": lambda x: ts.broadcast_to(x, x.shape),
    "broadcast_arrays": lambda x: ts.broadcast_arrays(x, ts.zeros((2, 1)))[0],
    "a line": lambda x: ts.broadcast_to(x, (2, 4))[1],
    "a column": lambda x: ts.broadcast_to(x, (2, 4))[:, 2],
    "turned": lambda x: ts.broadcast_to(x, (2, 4)).T[1:],
    "reshaped": lambda x: ts.broadcast_to(x, (1, 4)).reshape(2, 2),
    "a part of numbers": lambda x: ts.broadcast_to(x.astype("complex64"), (2, 4)).real,
}
WAYS = {
    **WRITES,
    "key": lambda a: a.__setitem__(([0],), 1),
    "mask": lambda a: a.__setitem__(a == a, 1),
    "multiplied": lambda a: a.__imul__(2),
    "sort": lambda a: a.sort(),
    "out=": lambda a: ts.add(a, a, out=a),
    "out= of a sum": lambda a: ts.sum(ts.stack([a, a]), axis=0, out=a),
    "out= of clip": lambda a: ts.clip(a, 0, 1, out=a),
    "out= of a product": lambda a: ts.matmul(ts.eye(a.shape[0], dtype=a.dtype, device=a.device), a, out=a),
    "put": lambda a: ts.put(a, [0], [1]),
    "real": lambda a: setattr(a, "real", 1),
    "random": lambda a: ts.asarray(a, copy=False).fill(1),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("view", BROADCAST)
def test_broadcast_views_are_read_only(view, way, device):
    x = on(device, np.arange(4.0))
    a = BROADCAST[view](x)
    assert not a.writable
    with pytest.raises((ValueError, TypeError)):
        WAYS[way](a)
    assert np.array_equal(x.numpy(), np.arange(4.0))
    copy = a.copy()
    copy[...] = 7
    assert copy.writable and np.array_equal(x.numpy(), np.arange(4.0))


def written_through(value):
    """Tries to write to an array of somebody else's, whatever it says of itself."""
    try:
        value[...] = 7
    except (ValueError, TypeError, RuntimeError):
        return


EXPORTS = {
    "__dlpack__ to NumPy": np.from_dlpack,
    "__dlpack__ to NumPy, copied": lambda a: np.from_dlpack(a, copy=True),
    "__dlpack__ to NumPy, not copied": lambda a: np.from_dlpack(a, copy=False),
    "__dlpack__ to PyTorch": lambda a: pytest.importorskip("torch").from_dlpack(a),
    "PyTorch's as_tensor": lambda a: pytest.importorskip("torch").as_tensor(a),
    "__dlpack__ to us": ts.from_dlpack,
    "__array__": np.asarray,
    "__array__, by its name": lambda a: a.__array__(),
    "__array__, copied": lambda a: np.array(a, copy=True),
    "__array_interface__": lambda a: np.asarray(type("Of", (), {"__array_interface__": a.__array_interface__})()),
    "buffer": lambda a: np.asarray(memoryview(a)),
    "numpy()": lambda a: a.numpy(),
    "asarray": ts.asarray,
}


@pytest.mark.parametrize("dtype", ["float64", "int8", "bool", "complex64"])
@pytest.mark.parametrize("view", BROADCAST)
@pytest.mark.parametrize("export", EXPORTS)
def test_nobody_writes_through_a_broadcast_view(export, view, dtype):
    """Whoever gets one by any protocol reads its numbers, and changes nothing but a copy of his own."""
    x = ts.arange(4).astype(dtype)
    before, a = x.numpy().copy(), BROADCAST[view](x)
    numbers = a.copy().numpy()
    try:
        given = EXPORTS[export](a)
    except BufferError as refused:
        assert "not copied" in export and "repeats elements" in str(refused)
        return
    assert np.array_equal(np.asarray(given), numbers)
    written_through(given)
    assert np.array_equal(x.numpy(), before) and np.array_equal(a.copy().numpy(), numbers)


def test_read_only_memory_goes_to_others_as_a_copy_unless_they_insist():
    frozen = np.arange(3.0)
    frozen.flags.writeable = False
    x = ts.asarray(frozen)
    assert not np.shares_memory(np.from_dlpack(x), frozen) and not np.from_dlpack(x).flags.writeable
    assert np.shares_memory(np.from_dlpack(x, copy=False), frozen)
    assert np.from_dlpack(x, copy=True).flags.writeable
    A = ts.Diagonal(np.ones(3), ("X",))
    written_through(np.from_dlpack(A.weight))
    assert A([1.0, 1, 1]).tolist() == [1, 1, 1]
    with pytest.raises(BufferError, match="repeats elements"):
        np.from_dlpack(ts.broadcast_to(x[:1], (3,)), copy=False)


def test_broadcast_views_are_read_only_to_others():
    a = ts.broadcast_to(ts.zeros(1), (3,))
    assert not a.numpy().flags.writeable and not np.asarray(a).flags.writeable
    assert memoryview(a).readonly and not np.from_dlpack(a).flags.writeable
    assert not ts.from_dlpack(a).writable and not ts.asarray(a).writable
    assert a.__array_interface__["data"][1] is True
    with pytest.raises(BufferError):
        a.__dlpack__()  # without a version nobody would know
    kept = ts.broadcast_to(ts.arange(3), (1000, 3))  # the memory stays as long as the view
    assert kept.sum(axis=0).tolist() == [0, 1000, 2000]


def test_expanded_tensors_of_others_are_read_only():
    torch = pytest.importorskip("torch")
    a = ts.asarray(torch.zeros(1).expand(3))
    assert not a.writable and a.tolist() == [0, 0, 0]
    assert ts.asarray(torch.zeros(3)).writable


def test_loops_over_numpys_integers_write(device):
    x = ts.zeros((4, 3), device=device)
    for i in np.arange(4):
        x[i][:] = float(i)
    assert x.tolist() == [[i] * 3 for i in range(4)]
    x[np.int64(1)][0] = 5
    x[ts.argmax(ts.array([0, 3, 9], device=device))][:] = 7
    x[:, np.uint8(2)][np.int16(-1)] = 8
    assert x.tolist() == [[0, 0, 0], [5, 1, 1], [7, 7, 7], [3, 3, 8]]


def test_keys_of_other_libraries_write():
    torch = pytest.importorskip("torch")
    x = ts.zeros((4, 3))
    x[torch.tensor(2)][:] = 1
    assert x[2].tolist() == [1, 1, 1] and x[torch.tensor([2, 0])].shape == (2, 3)
    for beyond in (np.uint64(2**64 - 1), ts.array(2**64 - 1, dtype="uint64"), 10**30, Indexed(2**70)):
        with pytest.raises(IndexError):
            x[beyond]
