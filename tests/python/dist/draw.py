# SPDX-License-Identifier: Apache-2.0
"""Random cases of indexing, by number: case(seed, i, ranks) is the same on every rank. NumPy alone.

A case is an array, a key and, for assignments, a value, each with a layout; most are valid."""

from typing import NamedTuple

import numpy as np
from model import Layout, even

DTYPES = ["int64", "float64", "float32", "int8", "uint16", "complex64", "bool"]
INDEX_DTYPES = ["int64", "int64", "int32", "int8", "uint8", "uint64"]


class Operand(NamedTuple):
    """An object as NumPy takes it; a layout makes it a distributed array."""

    obj: object
    layout: Layout | None = None


class Case(NamedTuple):
    op: str  # get, set, += …
    x: np.ndarray
    layout: Layout
    key: tuple  # of Operands
    bare: bool  # x[k] instead of x[k,]
    value: Operand | None
    alias: tuple | None  # the value is x[alias] itself

    def text(self):
        key = ", ".join(map(describe, self.key))
        value = (
            "" if self.op == "get" else f" value {'x[' + str(self.alias) + ']' if self.alias else describe(self.value)}"
        )
        return (
            f"{self.op} x {self.x.dtype}{self.x.shape} {self.layout} key {'' if self.bare else 'tuple '}[{key}]{value}"
        )


def describe(operand):
    obj, layout = operand
    text = repr(obj)
    if isinstance(obj, np.ndarray) and obj.dtype == bool and obj.size > 8:
        text = f"mask{obj.shape} of {int(obj.sum())}"
    elif isinstance(obj, np.ndarray):
        text = f"{obj.dtype}{obj.shape} {obj.tolist() if obj.size <= 24 else '...'}"
    return text if layout is None else f"{text} distributed {tuple(layout)}"


def numbers(rng, shape, dtype):
    dtype = np.dtype(dtype)
    values = rng.integers(0 if dtype.kind in "ub" else -50, 2 if dtype.kind == "b" else 100, shape)
    if dtype.kind in "fc":
        values = values / 4
    if dtype.kind == "c":
        values = values + 1j * rng.integers(-9, 9, shape)
    return np.asarray(values).astype(dtype)


def draw_counts(rng, n, ranks):
    kind = rng.integers(0, 4)
    if kind < 2 or ranks == 1:
        return even(n, ranks)
    if kind == 2:  # all on one rank
        counts = [0] * ranks
        counts[rng.integers(0, ranks)] = n
        return tuple(counts)
    cuts = np.sort(rng.integers(0, n + 1, ranks - 1))
    return tuple(int(c) for c in np.diff([0, *cuts, n]))


def draw_layout(rng, shape, ranks, replicated=4):
    """Replicated once in `replicated` draws."""
    if not shape or rng.integers(0, replicated) == 0:
        return Layout(None, (0,) * ranks)
    split = int(rng.integers(0, len(shape)))
    return Layout(split, draw_counts(rng, shape[split], ranks))


def draw_slice(rng, n):
    bound = lambda: None if rng.integers(0, 3) == 0 else int(rng.integers(-n - 2, n + 3))
    step = [None, 1, 1, 2, 3, -1, -2, 7][rng.integers(0, 8)]
    return slice(bound(), bound(), step)


def draw_indices(rng, n, ranks):
    shape = [(), (1,), (4,), (7,), (13,), (2, 1), (3, 2), (2, 3), (0,), (3, 1, 2)][rng.integers(0, 10)]
    if n == 0:
        shape = (0,)
    dtype = INDEX_DTYPES[rng.integers(0, len(INDEX_DTYPES))]
    low = 0 if dtype[0] == "u" else -n
    array = rng.integers(low, max(n, 1), shape)
    kind = rng.integers(0, 6)
    if kind == 0:
        array = np.sort(array % max(n, 1), axis=None).reshape(shape)
    elif kind == 1 and array.size:
        array = np.full(shape, array.flat[0])
    if rng.integers(0, 40) == 0 and array.size:
        array = np.array(array)
        array.flat[rng.integers(0, array.size, 2)] = n + rng.integers(0, 2, 2)  # out of bounds
    array = np.asarray(array).astype(dtype)
    form = rng.integers(0, 3)
    if form == 0 and array.ndim:
        return Operand(array, draw_layout(rng, array.shape, ranks, 5))
    if form == 1 and array.ndim and array.size:
        return Operand(array.tolist())
    return Operand(array)


def draw_mask(rng, shape, ranks):
    shape = tuple(shape)
    density = [0.0, 0.1, 0.5, 0.9, 1.0][rng.integers(0, 5)]
    if rng.integers(0, 40) == 0 and shape:
        shape = (shape[0] + 1, *shape[1:])
    mask = rng.random(shape) < density
    if rng.integers(0, 2):
        return Operand(mask, draw_layout(rng, shape, ranks, 5))
    return Operand(mask)


def draw_key(rng, shape, ranks):
    """Mixtures of everything that NumPy takes, a few that it refuses."""
    key, axis, dots, arrays = [], 0, False, 0
    end = len(shape) + (rng.integers(0, 40) == 0)
    while axis < end:
        kind = "iisssaaammnebx"[rng.integers(0, 14)]
        n = shape[axis] if axis < len(shape) else 3
        if kind == "i":
            value = int(rng.integers(-n, n)) if n else 0
            if rng.integers(0, 40) == 0:
                value = n
            form = rng.integers(0, 4)
            key.append(Operand(value if form < 2 else np.int64(value) if form == 2 else np.array(value)))
        elif kind == "s":
            key.append(Operand(draw_slice(rng, n)))
        elif kind == "a" and arrays < 3:
            key.append(draw_indices(rng, n, ranks))
            arrays += 1
        elif kind == "m" and arrays < 2 and axis < len(shape):
            rank = int(rng.integers(1, len(shape) - axis + 1))
            key.append(draw_mask(rng, shape[axis : axis + rank], ranks))
            arrays += 1
            axis += rank - 1
        elif kind == "n":
            if len(key) < 6:
                key.append(Operand(None))
            continue
        elif kind == "e":
            if not dots:
                dots = True
                key.append(Operand(...))
                axis += int(rng.integers(0, len(shape) - axis + 1)) if axis < len(shape) else 0
            continue
        elif kind == "b":
            if rng.integers(0, 6) == 0:
                key.append(Operand(bool(rng.integers(0, 2))))
            continue
        elif kind == "x":
            if rng.integers(0, 2):
                break
            continue
        axis += 1
    return tuple(key)


def plain(key, bare):
    """The key as NumPy takes it."""
    objects = tuple(k.obj for k in key)
    return objects[0] if bare else objects


def draw_value(rng, target, ranks, dtype):
    """Something that broadcasts to `target`, now and then not."""
    if rng.integers(0, 4) == 0:
        kind = np.dtype(dtype).kind
        scalar = int(rng.integers(0, 100)) if kind != "b" else bool(rng.integers(0, 2))
        return Operand(float(scalar) / 2 if kind in "fc" and rng.integers(0, 2) else scalar)
    shape = [1 if rng.integers(0, 5) == 0 else n for n in target]
    shape = shape[int(rng.integers(0, len(shape) + 1)) if rng.integers(0, 3) == 0 else 0 :]
    if rng.integers(0, 8) == 0:
        shape = [1, *shape]
    if rng.integers(0, 25) == 0:
        shape = [n + 1 for n in shape]
    other = dtype if rng.integers(0, 2) else DTYPES[rng.integers(0, len(DTYPES))]
    array = numbers(rng, tuple(shape), other)
    if np.dtype(dtype).kind == "u" and array.dtype.kind in "fc":
        array = np.abs(array)  # what negative floats become is up to the machine
    form = rng.integers(0, 5)
    if form == 0:
        return Operand(array.tolist())
    if form == 1:
        return Operand(array)
    return Operand(array, draw_layout(rng, array.shape, ranks, 4))


def draw_case(seed, number, ranks):
    rng = np.random.Generator(np.random.Philox(key=[seed, number]))
    shape = tuple(int(n) for n in rng.integers(0 if rng.integers(0, 6) == 0 else 1, 9, rng.integers(0, 5)))
    if len(shape) == 1:
        shape = (int(rng.integers(1, 40)),) if rng.integers(0, 4) else shape
    dtype = DTYPES[rng.integers(0, len(DTYPES))]
    x = numbers(rng, shape, dtype)
    layout = draw_layout(rng, shape, ranks, 8)
    key = draw_key(rng, shape, ranks)
    bare = len(key) == 1 and bool(rng.integers(0, 2))
    op = ["get", "get", "set", "set", "set", "+=", "*=", "-="][rng.integers(0, 8)]
    value = alias = None
    if op != "get":
        try:
            target = x[plain(key, bare)].shape
        except (IndexError, ValueError, TypeError):
            target = shape
        # NumPy's x[key] is a number then, not an array: `+=` would not be in place, arrays of one element are special.
        if target == ():
            op, value = "set", Operand(numbers(rng, (), dtype))
        else:
            value = draw_value(rng, target, ranks, dtype)
        if rng.integers(0, 12) == 0 and op == "set" and len(target) == len(shape):
            alias = tuple(slice(0, t) if rng.integers(0, 2) else slice(None, None, -1) for t in target)
            value = Operand(x[alias].copy(), Layout(None, (0,) * ranks))
    return Case(op, x, layout, key, bare, value, alias)
