# SPDX-License-Identifier: Apache-2.0
"""check_calls(): a rank that makes another call is named, on all ranks, and the group goes on."""

import numpy as np
import pytest
from layouts import WORLD

import tessera as ts

D = ts.dist


@pytest.fixture(autouse=True)
def watched():
    D.check_calls()
    yield
    D.check_calls(False)


def test_equal_calls_go_on():
    x = D.arange(12, dtype="float64", split=0)
    x[3:5] = 7
    x += 1
    y = (x * 2).reshape(3, 4)
    assert y.sum(axis=0).tolist() == ((np.r_[:3, 7, 7, 5:12] + 1.0) * 2).reshape(3, 4).sum(axis=0).tolist()
    assert D.sort(-x)[0].item() == -12.0


@pytest.mark.skipif(WORLD.size < 2, reason="one rank always agrees with itself")
@pytest.mark.parametrize(
    "other", [lambda x: x.max(), lambda x: x.sum(axis=0), lambda x: x[2], lambda x: x + 1, lambda x: D.zeros(3)]
)
def test_another_call_is_named(other):
    x = D.arange(12, split=0)
    last = WORLD.size - 1
    with pytest.raises(ts.CommError) as caught:
        if WORLD.rank == last:
            other(x)
        else:
            x.sum()
    text = str(caught.value)
    assert (
        f"rank {last} calls " in text and "DNDarray.sum(DNDarray(12,) of int64 split 0) at test_dist_same_calls" in text
    )
    assert x.sum().item() == 66  # the group still works


def test_off_is_off():
    before = D.sum
    D.check_calls(False)
    assert D.sum is not before and D.sum is D.__dict__["sum"]
    x = D.arange(3, split=0)
    assert (x + x).tolist() == [0, 2, 4]
