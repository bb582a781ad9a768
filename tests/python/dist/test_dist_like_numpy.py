# SPDX-License-Identifier: Apache-2.0
"""Small things in which distributed arrays answered otherwise than NumPy, or by another name."""

import numpy as np
import pytest
from checks import outcome, settle
from layouts import check

import tessera as ts

D = ts.dist
WRONG_KEYS = [
    [10**30],
    np.array([1, None], dtype=object),
    np.array(["a", "b"]),
    np.array(["2020-01-01"], dtype="datetime64[D]"),
    np.array([b"a"]),
    np.array([1.5]),
    10**30,
]


@pytest.mark.parametrize("key", WRONG_KEYS, ids=lambda k: repr(k)[:30])
@pytest.mark.parametrize("split", [None, 0])
def test_keys_that_are_no_positions(key, split, slate):
    x, n = D.array(np.arange(10), split=split), np.arange(10)
    wanted, got = outcome(lambda: n[key]), outcome(lambda: x[key])
    written = outcome(lambda: x.__setitem__(key, 1))
    assert wanted[1] is IndexError and issubclass(got[1], IndexError) and issubclass(written[1], IndexError)
    settle(slate, None, (got[1].__name__, got[2]))
    check(x, n, split)


@pytest.mark.parametrize(
    "data", [[-np.inf, 1, 2, 3], [np.inf, 1, 2], [-np.inf, np.inf, 1], [np.nan, 1, np.inf], [5, 2, 9]]
)
@pytest.mark.parametrize("q", [0, 1, [0, 1], 0.0, 1.0, 0.5, 0.25, [0.0, 0.5]])
def test_quantiles_at_infinities(data, q):
    with np.errstate(invalid="ignore"):
        wanted = np.quantile(np.array(data, float), q)
    got = D.quantile(D.array(np.array(data, float), split=0), q).numpy()
    assert np.array_equal(got, wanted, equal_nan=True), f"{got} instead of {wanted}"


@pytest.mark.parametrize("split", [None, 0])
def test_elements_in_place(split):
    x, n = D.array(np.arange(12).reshape(4, 3), split=split), np.arange(12).reshape(4, 3)
    for a in (x, n):
        a[1, 2] += 0.5
        a[2, 0] /= 2
        a[3] += 2
        a[::-1] *= 2
    check(x, n, split)
    assert issubclass(outcome(lambda: x.__setitem__(1, x[1].__iadd__(0.5)))[1], TypeError)  # a row is an array


def test_numbers_are_formatted_and_rounded():
    x = D.array(np.array([1.0, 2.0, 4.5]), split=0)
    assert f"{x.mean():.3f}" == "2.500" and f"{x[2]:>6}" == "   4.5" and f"{x.sum()}" == "7.5"
    assert round(x.mean()) == 2 and round(x[2] / 7, 2) == 0.64 and f"{x}" == str(x)
    assert isinstance(round(x.mean()), int)
    with pytest.raises(TypeError):
        f"{x:.3f}"


@pytest.mark.parametrize("split", [None, 0, 1])
def test_nonzero_as_one_array(split):
    n = np.array([[0, 1, 0, 2], [3, 0, 0, 0], [0, 0, 5, 6]])
    x = D.array(n, split=split)
    for got, wanted in zip(D.nonzero(x, as_tuple=True), n.nonzero(), strict=True):
        check(got, wanted)
    check(x.nonzero(as_tuple=False), np.argwhere(n))
    check(D.nonzero(x * 0, as_tuple=False), np.argwhere(n * 0))


def test_split_errors_are_runtime_errors_too():
    x = D.array(np.zeros((4, 3)), split=0)
    before = ts.config.strict
    ts.config.strict = True
    try:
        with pytest.raises(RuntimeError, match=r"ts\.config\.strict"):
            x[:] = D.array(np.ones((4, 3)), split=1)
    finally:
        ts.config.strict = before
    assert issubclass(ts.SplitError, ValueError) and issubclass(ts.SplitError, RuntimeError)
