# SPDX-License-Identifier: Apache-2.0
"""Operators applied to distributed arrays: the local result, and no message where the split dim is not mixed."""

import numpy as np
import pytest
from checks import settle
from layouts import WORLD, Counted, check, digest, distribute, tolerance, uneven

import tessera as ts

RNG = np.random.default_rng(4)


def complex_numbers(*shape):
    return (RNG.normal(size=shape) + 1j * RNG.normal(size=shape)).astype("complex64")


# name, operator, shape of its input, splits for which nothing may be sent
OPERATORS = [
    ("Diagonal", lambda: ts.Diagonal(complex_numbers(6, 5, 4), "ABC"), (6, 5, 4), (0, 1, 2)),
    ("FFT over the last two", lambda: ts.FFT(2, batch_shape=("A",)), (7, 6, 4), (0,)),
    ("SumReduce", lambda: ts.SumReduce(("A", "B"), ("B",), {"A": 9}), (9, 4), (1,)),
    ("Dense", lambda: ts.Dense(complex_numbers(5, 6), ("M", "N"), ("N",), ("M",)), (6,), ()),
    (
        "chain",
        lambda: ts.Diagonal(complex_numbers(7, 4), "AX") @ ts.Diagonal(complex_numbers(7, 4), "AX"),
        (7, 4),
        (0, 1),
    ),
]


@pytest.mark.parametrize("name, make, shape, silent", OPERATORS, ids=[o[0] for o in OPERATORS])
def test_operator(name, make, shape, silent, slate):
    A = make()
    for op in (A, A.H):
        x = complex_numbers(*shape) if op is A else complex_numbers(*A(ts.asarray(complex_numbers(*shape))).shape)
        expected = op(ts.asarray(x)).numpy()
        for split in (None, *range(x.ndim)):
            for odd in (False, True):
                counts = uneven(x.shape[split], WORLD.size) if odd and split is not None else None
                distributed = distribute(x, split, counts)
                with Counted(slate) as sent:
                    y = op(distributed)
                settle(slate, None, digest(y), f"{name} split {split}")
                check(y, expected, tol=64 * tolerance("complex64", x.size))
                if op is A and split in silent or split is None:
                    assert (sent.messages, sent.bytes) == (0, 0), f"{name}, split {split}: {sent.messages} messages"
