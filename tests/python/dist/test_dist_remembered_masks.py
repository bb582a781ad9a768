# SPDX-License-Identifier: Apache-2.0
"""A mask remembers what the ranks told each other about it, until it is written to: counts and bits travel once."""

import numpy as np
import pytest
from layouts import WORLD, Counted, check, distribute, uneven

import tessera as ts

P = WORLD.size
alone = pytest.mark.skipif(P == 1, reason="one rank")


def mask_layouts():
    """Array, mask and how they are distributed: in place and interleaving, alike and not."""
    rng = np.random.default_rng(8)
    line, wide = rng.random(301) < 0.3, rng.random((700, 3 * P)) < 0.4
    block = rng.random((9, 8)) < 0.5
    return [
        ("alike", (301, 2), 0, line, 0, None),
        ("alike, uneven", (301,), 0, line, 0, uneven(301, P)),
        ("two axes", (9, 8, 2), 0, block, 0, None),
        ("another split", (700, 3 * P), 0, wide, 1, None),
        ("interleaving", (700, 3 * P), 1, wide, 1, None),
        ("interleaving, another split", (9, 8, 2), 1, block, 0, None),
    ]


@pytest.mark.parametrize("number", range(6))
def test_the_same_mask_again_sends_no_counts(slate, number):
    """Neither counts nor bits, on whatever is distributed alike; read, and written to in every way."""
    name, shape, split, mask, mask_split, counts = mask_layouts()[number]
    a = np.arange(float(np.prod(shape))).reshape(shape)
    m = distribute(mask, mask_split, counts)
    make = lambda: distribute(a, split, counts)
    picked = a[mask]
    assert P == 1 or make().explain(m).index_bytes > 0, name
    check(make()[m], picked, 0)
    for _ in range(2):
        x = make()
        said = x.explain(m)
        with Counted(slate) as sent:
            y = x[m]
        check(y, picked, 0)
        assert said.exact and said.index_bytes == 0, f"{name}: {said}"
        assert (sent.messages, sent.bytes) == (said.messages, said.data_bytes), name
        assert P == 1 or (said.shape, said.counts) == (picked.shape, y.counts), f"{name}: {said}"
        if number < 4:  # elements stay
            assert sent.messages == 0, name
    values = {
        "number": -1.0,
        "replicated": -picked,
        "as it was read": -make()[m],
        "distributed": distribute(-picked, 0),
    }
    for how, value in values.items():
        for turn in range(2):
            x = make()
            said = x.explain(m, value)
            with Counted(slate) as sent:
                x[m] = value
            expected = a.copy()
            expected[mask] = -1.0 if how == "number" else -picked
            check(x, expected, split)
            assert said.exact or turn == 0, f"{name}, {how}: {said}"
            if said.exact:
                assert (sent.messages, sent.bytes) == (said.messages, said.index_bytes + said.data_bytes), (name, how)
            if turn:
                assert said.index_bytes == 0, f"{name}, {how}: {said}"
                if how in ("number", "replicated") or (number < 4 and how == "as it was read"):
                    assert sent.messages == 0, f"{name}, {how}: {sent.messages} messages"


WRITES = {
    "an element": lambda m: m.__setitem__((0,) * m.ndim, not m[(0,) * m.ndim].item()),
    "a slice": lambda m: m.__setitem__(slice(2, 5), True),
    "a view": lambda m: m[1:].__setitem__(slice(0, 3), False),
    "a row": lambda m: m[3, ...].__setitem__(..., True),
    "by a mask": lambda m: m.__setitem__(m, False),
    "by positions": lambda m: m.__setitem__(distribute(np.array([6, 1, 6]), 0), True),
    "in place": lambda m: m.__ior__(distribute(np.ones(m.shape, bool), m.split)),
    "out": lambda m: ts.dist.logical_not(m, out=m),
    "fill": lambda m: m.fill(True),
    "transposed": lambda m: m.T.__setitem__(Ellipsis, True),
    "put": lambda m: m.put([3, 0], [True, False]),
    "sort": lambda m: m.sort(),
    "local": lambda m: (m.local.fill(True), m.touch()),
}


@pytest.mark.parametrize("write", WRITES)
def test_a_mask_that_is_written_to_is_told_again(slate, write):
    for name, shape, split, mask, mask_split, counts in mask_layouts():
        a = np.arange(float(np.prod(shape))).reshape(shape)
        m = distribute(mask, mask_split, counts)
        for _ in range(2):
            check(distribute(a, split, counts)[m], a[mask], 0)
            x = distribute(a, split, counts)
            x[m] = -a[mask]
        WRITES[write](m)
        mask = m.numpy()
        x = distribute(a, split, counts)
        said = x.explain(m)
        assert P == 1 or said.index_bytes > 0, f"{name}: {said}"
        with Counted(slate) as sent:
            y = x[m]
        check(y, a[mask], 0)
        assert P == 1 or sent.bytes > 0, name
        x[m] = -a[mask]
        expected = a.copy()
        expected[mask] = -a[mask]
        check(x, expected, split)


def test_a_mask_that_is_written_by_its_own_assignment():
    rng = np.random.default_rng(9)
    for split in (0, 1):
        for _ in range(3):
            a = rng.random((40, 2 * P)) < 0.5
            x = distribute(a, split)
            check(x[x], a[a], 0)
            x[x] = np.arange(a.sum()) % 3 == 0
            a[a] = np.arange(a.sum()) % 3 == 0
            check(x, a, split)
            check(x[x], a[a], 0)
            column = x[:, 0]  # a view: it is written to as well
            check(x[column], a[a[:, 0]], split if split else 0)
            x[column] = False
            a[a[:, 0].copy()] = False
            check(x, a, split)
            check(x[column], a[a[:, 0]], split if split else 0)
            check(x[x], a[a], 0)
            x[x] = True
            x[x] = False
            check(x, np.zeros_like(a), split)


def test_the_same_mask_beside_the_split_is_told_once(slate):
    a = np.random.default_rng(10).normal(size=(30, 90))
    mask = np.random.default_rng(11).random(90) < 0.4
    m = distribute(mask, 0)
    check(distribute(a, 0)[:, m], a[:, mask], 0)
    for b in (a, 2 * a):
        x = distribute(b, 0)
        said = x.explain((slice(None), m))
        with Counted(slate) as sent:
            y = x[:, m]
            x[:, m] = 0
        check(y, b[:, mask], 0)
        assert (sent.messages, said.messages, said.exact) == (0, 0, True)
    m[7] = not mask[7]
    mask[7] = not mask[7]
    assert P == 1 or distribute(a, 0).explain((slice(None), m)).index_bytes > 0
    check(distribute(a, 0)[:, m], a[:, mask], 0)


def test_the_same_mask_beside_positions_that_distribute_the_result_is_sent_once(slate):
    """All ranks need what it picks of an array that they have: they get bits of many elements, and keep them."""
    rng = np.random.default_rng(12)
    a, rows, mask = rng.normal(size=(5, 40, 30)), np.array([[3], [-5], [0]]), rng.random((40, 30)) < 0.8
    key, m, x = distribute(rows, 0), distribute(mask, 1), distribute(a, None)
    for turn in range(2):
        said = x.explain((key, m))
        with Counted(slate) as sent:
            y = x[key, m]
        check(y, a[rows, mask], 0)
        assert sent.mine[1] <= said.sent[WORLD.rank], f"sent {sent.mine[1]} bytes, explain said {said}"
        assert turn == 0 or sent.bytes <= P * (P - 1), "more than whether positions are within bounds"


@alone
def test_a_large_mask_is_redistributed_each_time(slate):
    """Four mebibytes are remembered at most of its bits on one rank, by sizes that all ranks know."""
    most = (4 << 20) // P * P
    for rows, remembered in ((most, True), (most + 1, False)):
        m = ts.dist.zeros((rows, P), dtype="bool", split=1)
        m[5] = True
        x = ts.dist.zeros((rows, P), dtype="int8", split=0)
        for turn in range(2):
            said = x.explain(m)
            with Counted(slate) as sent:
                assert x[m].shape == (P,)
            assert said.exact and sent.bytes == said.index_bytes
            assert (sent.bytes == 0) == (remembered and turn == 1)


BEHIND = {
    "every rank, other counts": (lambda rank: True, np.logical_not),
    "every rank, the same counts": (lambda rank: True, lambda part: np.roll(part.ravel(), 1).reshape(part.shape)),
    "one rank, another count": (lambda rank: rank == 0, np.ones_like),
    "one rank, the same count": (lambda rank: rank == 0, lambda part: np.roll(part.ravel(), 1).reshape(part.shape)),
}


def use_in_every_way(slate, a, make, m, mask, context):
    """x[m], and x[m] = v for every kind of value: as explain() says, and on every rank as NumPy with `mask`."""
    picked = a[mask]
    values = {"read": None, "number": -1.0, "replicated": -picked, "distributed": distribute(-picked, 0)}
    for how, value in values.items():
        expected = a.copy()
        expected[mask] = -1.0 if how == "number" else -picked
        for _ in range(2):
            x = make()
            said = x.explain(m) if value is None else x.explain(m, value)
            with Counted(slate) as sent:
                if value is None:
                    y = x[m]
                else:
                    x[m] = value
            if value is None:
                check(y, picked, 0)
            else:
                check(x, expected, x.split)
            most = (said.messages, said.index_bytes + said.data_bytes)
            assert (sent.messages, sent.bytes) == most if said.exact else sent.bytes <= most[1], (context, how)
        assert said.exact and said.index_bytes == 0, f"{context}, {how}: {said}"


@alone
@pytest.mark.parametrize("write", BEHIND)
@pytest.mark.parametrize("number", range(6))
def test_a_mask_written_behind_everybodys_back_is_used_as_it_was_until_touch(slate, number, write):
    """No rank knows what another one wrote: all of them go on with the bits that were counted."""
    name, shape, split, mask, mask_split, counts = mask_layouts()[number]
    who, new = BEHIND[write]
    a = np.arange(1.0, 1.0 + np.prod(shape)).reshape(shape)
    make = lambda: distribute(a, split, counts)
    for used in ("read", "written"):
        m = distribute(mask, mask_split, counts)
        if used == "read":
            make()[m]
        else:
            make()[m] = -a[mask]
        if who(WORLD.rank):
            m.local[...] = new(m.local.numpy())
        use_in_every_way(slate, a, make, m, mask, f"{name}, {write}, {used}")
        m.touch()
        assert not np.array_equal(m.numpy(), mask)
        use_in_every_way(slate, a, make, m, m.numpy(), f"{name}, {write}, {used}, touched")


@alone
def test_a_mask_that_is_too_large_to_keep_is_counted_anew(slate):
    """Four mebibytes of bits are kept at most on one rank, even where only others have so many."""
    limit = 4 << 20
    for most, kept in ((limit, True), (limit + 1, False)):
        counts = (most,) + (10,) * (P - 1)
        m, x = (ts.dist.zeros(sum(counts), dtype=dtype, split=0).redistribute(counts) for dtype in ("bool", "int8"))
        assert x[m].shape == (0,)
        if P - 1 == WORLD.rank:
            m.local[3] = True
        said = x.explain(m)
        with Counted(slate) as sent:
            y = x[m]
        assert y.shape == (0 if kept else 1,)
        assert said.exact and sent.bytes == said.index_bytes and (sent.bytes == 0) == kept
        m.touch()
        assert x[m].shape == (1,)
