# SPDX-License-Identifier: Apache-2.0
"""Pickles and deep copies over ranks: each rank its own part, and nothing is sent."""

import copy
import pickle

import numpy as np
import pytest
from layouts import WORLD, check, distribute, traffic, uneven

import tessera as ts

X = np.arange(60.0).reshape(12, 5)


@pytest.mark.parametrize("split, counts", [(None, None), (0, None), (1, None), (0, uneven(12, WORLD.size))])
def test_each_rank_gets_its_part_back(split, counts):
    x = distribute(X, split, counts)
    before = traffic()
    again = pickle.loads(pickle.dumps(x))
    twin = copy.deepcopy([x, x])
    assert traffic() == before and twin[0] is twin[1]
    for y in (again, twin[0]):
        check(y, X, split)
        assert y.counts == x.counts and y.comm == WORLD
        y[3] = -1
        check(x, X, split)


def test_rows_of_one_rank_are_read():
    row = pickle.loads(pickle.dumps(distribute(X, 0)[-1]))
    check(row, X[-1], None)


def test_parts_of_others_are_refused(slate):
    parts = slate.everybody(pickle.dumps(distribute(X, 0)))
    other = (WORLD.rank + 1) % WORLD.size
    if other == WORLD.rank:
        check(pickle.loads(parts[0]), X, 0)
        return
    with pytest.raises(ts.CommError, match=f"rank {other} of {WORLD.size}"):
        pickle.loads(parts[other])
