# SPDX-License-Identifier: Apache-2.0
"""Distributed arrays for tests, and comparing them with NumPy's: each rank looks at its own part, nobody gathers."""

import math

import numpy as np
from model import Layout, block, even

import tessera as ts

WORLD = ts.dist.world


def distribute(array, split=None, counts=None):
    """array (the same on every rank) as a distributed one with these counts; even ones without."""
    array = np.asarray(array)
    whole = ts.dist.array(array, split=split)
    if split is None or counts is None or tuple(counts) == even(array.shape[split], WORLD.size):
        return whole
    mine = array[block(array.shape, Layout(split, tuple(counts)), WORLD.rank)]
    return ts.dist.array(mine, is_split=split)


def layout_of(x):
    """As the array says, without asking other ranks."""
    return Layout(None, (0,) * WORLD.size) if x.split is None else Layout(x.split, tuple(x.counts))


def uneven(n, ranks):
    """All but three entries on the first rank, then 2 and 1; the rest empty. Even for one or two ranks."""
    if ranks < 3 or n < 3:
        return even(n, ranks)
    return (n - 3, 2, 1) + (0,) * (ranks - 3)


def tolerance(dtype, n):
    return 0.0 if np.dtype(dtype).kind not in "fc" else 16 * np.finfo(dtype).eps * max(1.0, math.log2(max(2, n)))


def same_numbers(got, expected, tol):
    if tol == 0.0 or expected.size == 0:
        return got.shape == expected.shape and np.array_equal(got, expected, equal_nan=expected.dtype.kind in "fc")
    if got.shape != expected.shape or not np.array_equal(np.isnan(got), np.isnan(expected)):
        return False
    fine = np.isfinite(expected)
    if not np.array_equal(got[~fine & ~np.isnan(expected)], expected[~fine & ~np.isnan(expected)]):
        return False
    scale = max(1.0, float(np.max(np.abs(expected[fine]), initial=0.0)))
    return not np.any(~(np.abs(got[fine] - expected[fine]) <= tol * scale))


def check(x, expected, split="any", tol=0.0, dtype=True):
    """x is `expected`: shape, dtype, split if given, counts that fit, and this rank's numbers."""
    expected = np.asarray(expected)
    assert isinstance(x, ts.dist.DNDarray), f"{type(x)}"
    assert tuple(x.shape) == expected.shape, f"shape {x.shape}, NumPy has {expected.shape}"
    if dtype:
        assert str(x.dtype) == str(expected.dtype), f"dtype {x.dtype}, NumPy has {expected.dtype}"
    if split != "any":
        assert x.split == split, f"split {x.split}, expected {split}"
    layout = layout_of(x)
    if layout.split is not None:
        assert len(layout.counts) == WORLD.size and sum(layout.counts) == expected.shape[layout.split], f"{layout}"
    part = expected[block(expected.shape, layout, WORLD.rank)]
    assert tuple(x.lshape) == part.shape, f"lshape {x.lshape}, its counts say {part.shape}"
    mine = x.local.numpy()
    assert same_numbers(mine, part, tol), f"rank {WORLD.rank} of split {layout}:\n{mine}\nexpected\n{part}"


def digest(x):
    """What all ranks must know alike."""
    return repr((tuple(x.shape), str(x.dtype), x.split, tuple(x.counts) if x.split is not None else None)).encode()


def traffic():
    now = WORLD.traffic
    return now.messages, now.bytes


class Counted:
    """with Counted(slate) as sent: …   then sent.messages, sent.bytes of all ranks, sent.mine of this one."""

    def __init__(self, slate):
        self.slate = slate

    def __enter__(self):
        self.before = traffic()
        return self

    def __exit__(self, kind, *_):
        after = traffic()
        self.mine = (after[0] - self.before[0], after[1] - self.before[1])
        if kind is None:
            self.messages, self.bytes = self.slate.total(*self.mine)
