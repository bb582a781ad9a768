# SPDX-License-Identifier: Apache-2.0
"""Writing through views: the source becomes what NumPy makes of it, or all ranks refuse and nothing changes; the same
on every number of ranks.

Chains of views are drawn by number, the same on every rank; TESSERA_DIST_CASE=NUMBER with -k numbered runs one alone.
Beside the world each rank makes the same chain on a group of its own: what a view is must not depend on how many ranks
there are."""

import os

import numpy as np
import pytest
from checks import outcome, settle
from layouts import WORLD, distribute, uneven
from support import is_like

import tessera as ts

CASES = int(os.environ.get("TESSERA_DIST_WRITES", "420"))
PARTS = 6
BATCH = 20
ALONE = WORLD.split(WORLD.rank) if WORLD.size > 1 else WORLD


class Pointing:
    """An integer to Python only."""

    def __init__(self, value):
        self.value = value

    def __index__(self):
        return self.value


def draw_shape(rng):
    return tuple(int(n) for n in rng.integers(1, 7, size=rng.integers(1, 4)))


def as_some_integer(rng, i, comm):
    """The same number in one of the forms that count as integers."""
    forms = (
        lambda: i,
        lambda: np.int64(i),
        lambda: np.int16(i),
        lambda: np.array(i),
        lambda: Pointing(i),
        lambda: ts.array(i),
        lambda: ts.dist.array(i, comm=comm),
        lambda: ts.dist.array([i, 99], split=0, comm=comm).min(),
    )
    return forms[rng.integers(len(forms))]()


def draw_key(rng, shape, comm):
    """(key for us, key for NumPy): integers in every form, slices, new axes, an ellipsis."""
    ours, theirs = [], []
    for n in shape[: rng.integers(0, len(shape) + 1)]:
        kind = rng.integers(0, 5)
        if kind < 2 and n > 0:
            i = int(rng.integers(-n, n))
            ours.append(as_some_integer(rng, i, comm))
            theirs.append(i)
            continue
        start, stop = sorted(int(i) for i in rng.integers(0, n + 1, size=2))
        part = [slice(start, stop), slice(None), slice(start, None, 2), slice(None, None, -1)][rng.integers(0, 4)]
        ours.append(part)
        theirs.append(part)
        if rng.integers(0, 6) == 0:
            ours.append(None)
            theirs.append(None)
    theirs.append(Ellipsis)  # elements stay arrays, as ours do
    ours.append(Ellipsis)
    return tuple(ours), tuple(theirs)


def factored(rng, n):
    shape = []
    while n > 1 and len(shape) < 3:
        divisors = [d for d in range(1, n + 1) if n % d == 0]
        shape.append(divisors[rng.integers(len(divisors))])
        n //= shape[-1]
    return (*shape, n)


def draw_step(rng, shape, comm):
    """A function for us and one for NumPy that make a view of an array of this shape."""
    kind = rng.integers(0, 12)
    ndim, size = len(shape), int(np.prod(shape))
    if kind < 4:
        ours, theirs = draw_key(rng, shape, comm)
        return (lambda x: x[ours]), (lambda x: x[theirs])
    if kind == 4:
        to = factored(rng, size) if size else shape
        return (lambda x: x.reshape(to)), (lambda x: x.reshape(to))
    if kind == 5:
        return (lambda x: x.ravel()), (lambda x: x.ravel())
    if kind == 6:
        order = tuple(int(a) for a in rng.permutation(ndim))
        return (lambda x: x.transpose(order) if order else x), (lambda x: x.transpose(order))
    if kind == 7:
        wide = (int(rng.integers(1, 4)), *shape)
        return (lambda x: ts.dist.broadcast_to(x, wide)), (lambda x: np.broadcast_to(x, wide))
    if kind == 8:
        axes = tuple(a for a in range(ndim) if rng.integers(0, 2))
        turned = (*(slice(None, None, -1 if a in axes else 1) for a in range(ndim)), ...)  # np.flip makes () a scalar
        return (lambda x: ts.dist.flip(x, axes)), (lambda x: x[turned])
    if kind == 9:
        return (lambda x: ts.dist.squeeze(x)), (lambda x: np.squeeze(x))
    if kind == 10 and ndim:
        axis, at = int(rng.integers(ndim)), int(rng.integers(0, 2))
        return (lambda x: ts.dist.array_split(x, 2, axis)[at]), (lambda x: np.array_split(x, 2, axis)[at])
    return (lambda x: x.real), (lambda x: x.real)


def draw_write(rng, shape):
    """A function for us and one for NumPy that writes into what it is given."""
    value = float(rng.integers(100, 200))
    many = rng.integers(200, 300, size=shape).astype(float)

    def whole(x):
        x[...] = value

    def array(x):
        x[...] = many

    def fill(x):
        x.fill(value)

    def in_place(x):
        x += value

    def element(x):
        x[tuple(0 for _ in shape)] = value

    def part(x):
        x[:1] = value

    forms = [(f, f) for f in (whole, array, fill, in_place)]
    forms.append((lambda x: ts.dist.multiply(x, value, out=x), lambda x: np.multiply(x, value, out=x)))
    if 0 not in shape:
        forms.append((element, element))
    if shape:
        forms.append((part, part))
        forms.append(
            (
                lambda x: ts.dist.put_along_axis(x, np.zeros((1,) * x.ndim, int), value, 0),
                lambda x: np.put_along_axis(x, np.zeros((1,) * x.ndim, int), value, 0),
            )
        )
    return forms[rng.integers(len(forms))]


class Chain:
    """One case: a source and views of views of it, ours and NumPy's, and what a write does to both sources."""

    def __init__(self, number, comm):
        rng = np.random.default_rng([18, number])
        shape = draw_shape(rng)
        split = [None, *range(len(shape))][rng.integers(len(shape) + 1)]
        spread, complexes = rng.integers(0, 3), rng.integers(0, 4) == 0
        self.theirs = rng.integers(0, 50, size=shape).astype(complex if complexes else float)
        counts = uneven(shape[split], comm.size) if spread == 0 and split is not None else None
        if comm is WORLD:
            self.ours = distribute(self.theirs, split, counts)
        else:
            self.ours = ts.dist.array(self.theirs, split=split, comm=comm)
        views, steps = [self.ours, self.theirs], int(rng.integers(1, 5))
        self.text = f"{shape} split {split}"
        for _ in range(steps):
            ours, theirs = draw_step(rng, views[1].shape, comm)
            views = [ours(views[0]), theirs(views[1])]
            self.text += f" -> {views[1].shape}"
        self.views = views
        self.write = draw_write(rng, views[1].shape)

    def examine(self):
        """What happened, as all numbers of ranks must have it; AssertionError where NumPy has another."""
        before = self.theirs.copy()
        assert np.array_equal(self.views[0].numpy(), self.views[1]), f"{self.text}: other elements"
        writable = self.views[0].writable
        wanted = outcome(lambda: self.write[1](self.views[1]))
        got = outcome(lambda: self.write[0](self.views[0]))
        if got[0] == "error" and wanted[0] == "value":  # what has no place in the source may be refused
            assert not writable and issubclass(got[1], ValueError) and "read-only" in got[2], f"{self.text}: {got}"
        elif got[0] == "error":
            assert is_like(got[1], wanted[1]) or (not writable and "read-only" in got[2]), (
                f"{self.text}: {got}, {wanted}"
            )
        else:
            assert wanted[0] == "value", f"{self.text}: NumPy raises {wanted}"
        expected = before if got[0] == "error" else self.theirs
        assert np.array_equal(self.ours.numpy(), expected), (
            f"{self.text}: the source is\n{self.ours.numpy()}\nnot\n{expected}"
        )
        return got[0], writable


def run(numbers, slate):
    """Number of writes that reached an array; fails on all ranks where one finds something."""
    problem, notes = None, []
    for number in numbers:
        try:
            found = [Chain(number, comm).examine() for comm in (WORLD, ALONE)]
            assert found[0] == found[1], f"{WORLD.size} ranks: {found[0]}, one: {found[1]}: {Chain(number, ALONE).text}"
            notes.append(found[0])
        except AssertionError as error:
            problem = problem or f"TESSERA_DIST_CASE={number}: {error}"
    settle(slate, problem, notes)
    return sum(kind == "value" for kind, _ in notes)


@pytest.mark.parametrize("part", range(PARTS))
def test_writes(part, slate):
    numbers = range(part * CASES // PARTS, (part + 1) * CASES // PARTS)
    written = sum(run(numbers[at : at + BATCH], slate) for at in range(0, len(numbers), BATCH))
    assert written > len(numbers) // 3  # most are views, and most of those can be written


@pytest.mark.skipif("TESSERA_DIST_CASE" not in os.environ, reason="no TESSERA_DIST_CASE")
def test_numbered(slate):
    run([int(os.environ["TESSERA_DIST_CASE"])], slate)


WRITES = {
    "element": lambda y: y.__setitem__((1, 0), 5),
    "whole": lambda y: y.__setitem__(..., 7),
    "mask": lambda y: y.__setitem__(y == 0, 7),
    "array": lambda y: y.__setitem__([0, 1], 7),
    "fill": lambda y: y.fill(3),
    "in place": lambda y: y.__iadd__(1),
    "out": lambda y: ts.dist.add(y, 1, out=y),
    "out of a sum": lambda y: ts.dist.sum(ts.dist.zeros((2, 3, 2), split=1), axis=0, out=y),
    "put_along_axis": lambda y: ts.dist.put_along_axis(y, ts.dist.zeros((1, 2), dtype=int, split=0), 4, 0),
    "put": lambda y: ts.dist.put(y, [0], [4]),
    "view": lambda y: y[1:].__setitem__(0, 4),
    "real": lambda y: y.real.fill(4),
}


@pytest.mark.parametrize("way", WRITES)
@pytest.mark.parametrize("split", [None, 0])
def test_broadcast_views_are_read_only_on_all_ranks(way, split, slate):
    x = ts.dist.array(np.zeros(2), split=split)
    y = ts.dist.broadcast_to(x, (3, 2))
    assert not y.writable
    got = outcome(lambda: WRITES[way](y))
    note = got[0] == "error" and (got[1].__name__, got[2])
    settle(slate, None if note and "read-only" in got[2] else f"{way}: {got}", note)
    assert x.sum().item() == 0  # a collective right behind it: nobody is left waiting


def test_a_passing_value_may_be_written():
    y = ts.dist.zeros(8, split=0).reshape(2, 4)
    y[0] = 1
    assert y.writable and y.sum().item() == 4
    z = ts.dist.arange(5, split=0)[::-1]
    z[0] = 7
    assert z.tolist() == [7, 3, 2, 1, 0]
    x = ts.dist.zeros(8, split=0)
    again = x  # another name
    assert not x.reshape(2, 4).writable and again.reshape(2, 4).copy().writable
    assert not x[:].reshape(2, 4).writable  # x has this memory, too
    assert ts.dist.reshape(x, (2, 4), copy=True).writable


def test_rows_by_argmax_are_views():
    x = ts.dist.zeros((4, 3), split=0)
    x[ts.dist.argmax(ts.dist.array([1, 5, 2, 0], split=0))][:] = 7
    for i in np.arange(2, 4):
        x[i][:] = i
    assert x.tolist() == [[0, 0, 0], [7, 7, 7], [2, 2, 2], [3, 3, 3]]


def test_other_spreads_are_copies():
    x = ts.dist.zeros(9, split=0)
    for y in (
        ts.dist.take(x, 3),
        x.flatten(),
        x.balance(),
        x[3:].balance(),
        x.redistribute(x.counts),
        x.resplit(),
        x.copy(),
    ):
        y[...] = 1
    assert x.sum().item() == 0
