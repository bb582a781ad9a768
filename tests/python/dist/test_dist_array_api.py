# SPDX-License-Identifier: Apache-2.0
"""What the array API standard asks of indexing, with the strategies that hypothesis has for it; and the standard's own
test suite (array-api-tests, which is not on the package index) where ARRAY_API_TESTS names a checkout of it."""

import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from array_api_calls import CALLS, flat, operands
from checks import outcome, settle
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.array_api import make_strategies_namespace
from layouts import WORLD, check, digest, distribute
from slate import Slate

import tessera as ts

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    xps = make_strategies_namespace(np, api_version="2024.12")  # shapes and keys only

shapes = xps.array_shapes(min_dims=1, max_dims=4, min_side=0, max_side=6)
EXAMPLES = 60 if WORLD.size in (1, 3) else 20
SUITE = os.environ.get("ARRAY_API_TESTS")
INDEXING = ["test_array_object.py", "test_indexing_functions.py", "test_searching_functions.py"]


def numbers(shape):
    return np.arange(int(np.prod(shape)), dtype="int32").reshape(shape)


def splits(shape):
    return st.sampled_from([None, 0, len(shape) - 1])


def same(slate, act, numpys):
    """Both give equal arrays, or both refuse with an IndexError; on all ranks alike."""
    got, wanted = outcome(act), outcome(numpys)
    problem = None
    try:
        if wanted[0] == "error":
            assert got[0] == "error" and issubclass(got[1], (IndexError, ValueError)), f"{got} instead of {wanted}"
        else:
            assert got[0] == "value", f"{got} instead of {wanted[1]}"
            check(got[1], np.asarray(wanted[1]))
    except AssertionError as found:
        problem = str(found)
    settle(slate, problem, digest(got[1]) if got[0] == "value" else got[1].__name__)


@pytest.mark.parametrize("name", CALLS)
def test_standard(name, slate):
    """Every function of the standard, with its arguments, of operands split along each of their axes."""
    wanted = flat(CALLS[name](np, operands(lambda x: x)))
    for split in (None, 0, -1):
        act = outcome(
            lambda split=split: flat(CALLS[name](ts.dist, operands(lambda x: distribute(x, split and split % x.ndim))))
        )
        problem, notes = None, []
        try:
            assert act[0] == "value", f"raises {act[1:]}"
            assert len(act[1]) == len(wanted)
            for mine, theirs in zip(act[1], wanted, strict=True):
                if isinstance(mine, ts.dist.DNDarray):
                    check(mine, np.asarray(theirs), tol=1e-10 if np.asarray(theirs).dtype.kind in "fc" else 0.0)
                    notes.append(digest(mine))
                else:
                    assert mine == theirs and not isinstance(theirs, np.ndarray)
        except AssertionError as found:
            problem = f"split {split}: {found}"
        settle(slate, problem, str(notes), name)


@settings(max_examples=EXAMPLES)
@given(data=st.data())
def test_getitem(data, slate):
    shape = data.draw(shapes)
    split = data.draw(splits(shape))
    key = data.draw(xps.indices(shape, allow_newaxis=True))
    same(slate, lambda: distribute(numbers(shape), split)[key], lambda: numbers(shape)[key])


@settings(max_examples=EXAMPLES)
@given(data=st.data())
def test_setitem(data, slate):
    shape = data.draw(shapes)
    split = data.draw(splits(shape))
    key = data.draw(xps.indices(shape))
    target = numbers(shape)[key].shape
    value = np.full(target, 77, dtype="int32") if data.draw(st.booleans()) else 77

    def assign(x, v):
        x[key] = v
        return x

    distributed = (
        distribute(value, data.draw(splits(target)) if target else None) if isinstance(value, np.ndarray) else value
    )
    same(slate, lambda: assign(distribute(numbers(shape), split), distributed), lambda: assign(numbers(shape), value))


@settings(max_examples=EXAMPLES)
@given(data=st.data())
def test_masks_of_any_shape(data, slate):
    """Also those that do not fit: an IndexError on every rank."""
    shape = data.draw(shapes)
    split = data.draw(splits(shape))
    form = data.draw(st.one_of(st.sampled_from([shape, shape[:1], ()]), shapes))
    mask = np.arange(int(np.prod(form))).reshape(form) % 3 == 1
    distributed = distribute(mask, data.draw(splits(form)) if form else None)

    def assign(x, k):
        x[k] = 5
        return x

    same(slate, lambda: distribute(numbers(shape), split)[distributed], lambda: numbers(shape)[mask])
    same(slate, lambda: assign(distribute(numbers(shape), split), distributed), lambda: assign(numbers(shape), mask))


@settings(max_examples=EXAMPLES)
@given(data=st.data())
def test_integer_arrays_and_integers(data, slate):
    shape = data.draw(xps.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=6))
    split = data.draw(splits(shape))
    form = data.draw(xps.array_shapes(min_dims=1, max_dims=2, min_side=1, max_side=4))
    parts = []
    for n in shape:
        if data.draw(st.booleans()):
            parts.append(data.draw(st.integers(-n, n - 1)))
        else:
            parts.append(
                np.array(
                    data.draw(
                        st.lists(st.integers(-n, n - 1), min_size=int(np.prod(form)), max_size=int(np.prod(form)))
                    )
                ).reshape(form)
            )
    distributed = tuple(distribute(p, data.draw(splits(form))) if isinstance(p, np.ndarray) else p for p in parts)
    same(
        slate, lambda: distribute(numbers(shape), split)[distributed], lambda: np.asarray(numbers(shape)[tuple(parts)])
    )


def test_the_namespace_knows_itself():
    x = distribute(numbers((3, 2)), 0)
    space = x.__array_namespace__()
    assert space.asarray(x).shape == (3, 2) if hasattr(space, "asarray") else space.array(x).shape == (3, 2)
    element = x[1, 1]
    assert isinstance(element, ts.dist.DNDarray) and element.shape == ()
    assert (bool(element), int(element), float(element)) == (True, 3, 3.0)


@pytest.mark.skipif(SUITE is None or WORLD.size > 1, reason="ARRAY_API_TESTS names no checkout of array-api-tests")
@pytest.mark.parametrize("name", INDEXING)
def test_suite(name):
    """On one rank: the suite draws examples of its own, not alike on several."""
    command = [sys.executable, "-m", "pytest", "-q", "--disable-deadline", "--max-examples", "50"]
    env = {**os.environ, "ARRAY_API_TESTS_MODULE": "tessera.dist"}
    path = Path(SUITE or ".") / "array_api_tests" / name
    ended = subprocess.run([*command, str(path)], cwd=SUITE, env=env, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stdout[-3000:]


def test_two_slates_do_not_disturb_each_other(tmp_path):
    """The tests' own channel: alone it returns what it is given."""
    lone = Slate(str(tmp_path), 0, 1)
    assert lone.total(3, 4) == [3, 4] and lone.everybody("x") == ["x"]
