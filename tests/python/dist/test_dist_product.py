# SPDX-License-Identifier: Apache-2.0
"""The product of keys that NumPy tests its own indexing with, re-created: 17 x 6 x 4 keys in 3 positions on two arrays
(2448), reading and assigning, for every split and number of ranks. On 1 and 3 ranks all of them, elsewhere each third
one, another third for each split; TESSERA_DIST_WHOLE=1: all of them everywhere."""

import itertools
import os

import numpy as np
import pytest
from checks import comparable, outcome, settle
from layouts import WORLD, check, digest, distribute
from model import normal_form, result_splits
from support import is_like

SKIP = "skip"
STEP = 1 if WORLD.size in (1, 3) or "TESSERA_DIST_WHOLE" in os.environ else 3
SHAPES = [(3, 1, 5, 6), (3, 0, 5, 6)]


def hard_keys():
    """One of everything that can go wrong: eaten axes, empty and broadcast arrays, foreign byte order, a wrong dtype."""
    return [
        SKIP,
        ...,
        0,
        np.array([True, False, False]),
        np.array([[True, False], [False, True]]),
        np.array([[[False, False], [False, False]]]),
        slice(-5, 5, 2),
        slice(1, 1, 100),
        slice(4, -1, -2),
        slice(None, None, -3),
        np.empty((0, 1, 1), dtype=np.intp),
        np.array([0, 1, -2]),
        np.array([[2], [0], [1]]),
        np.array([[0, -1], [0, 1]], dtype=np.dtype(np.intp).newbyteorder()),
        np.array([2, -1], dtype=np.int8),
        np.zeros([1] * 31, dtype=int),
        np.array([0.0, 1.0]),
    ]


def all_keys():
    easy = [..., None, -1, [1], np.array([True]), SKIP]
    fill = [slice(None), 0]
    for position in (0, 2, 3):
        lists = [fill, hard_keys(), fill, fill]
        lists[position] = easy
        for key in itertools.product(*lists):
            yield tuple(k for k in key if not (isinstance(k, str) and k == SKIP))


KEYS = list(all_keys())


def test_there_are_as_many_keys_as_numpy_has():
    assert len(KEYS) * len(SHAPES) == 2448


def numpys(array, key, value=None):
    if value is None:
        return outcome(lambda: np.asarray(array[key]))
    copy = array.copy()

    def assign():
        copy[key] = value
        return copy

    return outcome(assign)


def compare(x, array, split, key, value, distributed):
    """One key on this rank; returns what all ranks must know alike. The value is `distributed` where that is not None."""
    wanted = numpys(array, key, value)

    def assign():
        x[key] = value if distributed is None else distributed
        return x

    got = outcome(lambda: x[key]) if value is None else outcome(assign)
    if wanted[0] == "error":
        assert got[0] == "error", f"NumPy raises {wanted[1:]}, we return {got[1]}"
        assert is_like(got[1], wanted[1]), f"{got[1:]} instead of {wanted[1:]}"
        if comparable(wanted[2]):
            assert got[2] == wanted[2]
        return got[1].__name__, got[2]
    assert got[0] == "value", f"we raise {got[1:]}, NumPy returns {wanted[1]}"
    if value is None:
        splits = result_splits(split, normal_form([(k, None) for k in key], array.ndim))
        assert got[1].split in splits, f"split {got[1].split}, the rules say {splits}"
        check(got[1], wanted[1])
    else:
        check(x, wanted[1], split)
        x[...] = array
    return digest(got[1])


def value_for(array, key):
    """As many different numbers as the key names places; one number where NumPy refuses the key."""
    found = outcome(lambda: array[key].shape)
    return np.arange(1000, 1000 + int(np.prod(found[1]))).reshape(found[1]) if found[0] == "value" else np.array(7)


@pytest.mark.parametrize("shape", SHAPES, ids=["full", "empty"])
@pytest.mark.parametrize("split", [None, 0, 1, 2, 3])
@pytest.mark.parametrize("op", ["get", "set", "set distributed"])
def test_product(shape, split, op, slate):
    array = np.arange(int(np.prod(shape))).reshape(shape)
    x = distribute(array, split)
    failures, notes = [], []
    keys = KEYS[(0 if split is None else split + 1) % STEP :: STEP]
    for n, key in enumerate(keys):
        value = None if op == "get" else value_for(array, key)
        distributed = distribute(value, n % value.ndim) if op == "set distributed" and value.ndim else None
        problem = note = None
        try:
            note = compare(x, array, split, key, value, distributed)
        except AssertionError as found:
            problem = str(found)[:300]
            failures.append(f"{key}: {problem}")
        notes.append(note)
        if n % 64 == 63 or n == len(keys) - 1:
            context = f"{len(failures)} of {n + 1} keys:\n" + "\n".join(failures[:10])
            settle(slate, context if failures else None, hash(str(notes)), f"split {split} on {WORLD.size} ranks")
            notes = []
