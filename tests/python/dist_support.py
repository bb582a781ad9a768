# SPDX-License-Identifier: Apache-2.0
"""What the tests of distributed arrays share."""

import numpy as np
from hypothesis import strategies as st
from support import check

import tessera as ts

D = ts.dist


def same(got, expected, **options):
    """got (distributed) is expected (NumPy): shape, dtype, numbers."""
    assert isinstance(got, D.DNDarray)
    assert got.shape == np.shape(expected)
    check(ts.asarray(got.numpy()), expected, **options)


def splits(shape):
    return st.sampled_from([None, *range(len(shape))])


def every_rank(ranks, function):
    """What each rank gives back is the same."""
    results = D.run_ranks(ranks, function)
    assert all(repr(r) == repr(results[0]) for r in results)
    return results[0]
