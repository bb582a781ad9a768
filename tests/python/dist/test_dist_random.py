# SPDX-License-Identifier: Apache-2.0
"""Random arrays, keys and values in every layout beside NumPy: reading, assigning, computing in place.

Cases are drawn by number (draw.py), the same on every rank; TESSERA_DIST_CASES of them for each number of ranks, else
ten thousand in all (tessera_test_dist adds 35 000 over ranks as threads, beside local arrays). A failing one is run again with:  launch.py -n RANKS test_dist_random.py -k numbered  and TESSERA_DIST_CASE=SEED,NUMBER."""

import os

import numpy as np
import pytest
from checks import run_case, run_cases
from draw import Case, Operand, draw_case, draw_key, draw_layout, draw_value, numbers, plain
from hypothesis import given, settings
from hypothesis import strategies as st
from layouts import WORLD
from model import Layout, even

CASES = int(os.environ.get("TESSERA_DIST_CASES", {1: 4000, 2: 2400, 3: 1600, 4: 1200}.get(WORLD.size, 800)))
EXAMPLES = 60 if WORLD.size in (1, 3) else 20
PARTS = 8
BATCH = 16  # cases between two meetings of the ranks


@pytest.mark.parametrize("part", range(PARTS))
def test_cases(part, slate):
    numbers = range(part * CASES // PARTS, (part + 1) * CASES // PARTS)
    wrong = {}
    for at in range(0, len(numbers), BATCH):
        batch = [
            (f"TESSERA_DIST_CASE=1,{n}", draw_case(1, n, WORLD.size), n % 2 == 0) for n in numbers[at : at + BATCH]
        ]
        wrong |= run_cases(batch, slate)
    assert not wrong, f"{len(wrong)} of {len(numbers)}:\n" + "\n".join(
        f"{name}: {text}" for name, text in wrong.items()
    )


@pytest.mark.skipif("TESSERA_DIST_CASE" not in os.environ, reason="no TESSERA_DIST_CASE")
def test_numbered(slate):
    seed, number = map(int, os.environ["TESSERA_DIST_CASE"].split(","))
    run_case(draw_case(seed, number, WORLD.size), slate)


def all_on(rank, n):
    return tuple(n if r == rank else 0 for r in range(WORLD.size))


def test_rows_that_are_written_over_at_one_owner_stay_at_home(slate):
    """Seed 11, number 25508 on 4 ranks: each row of the value is needed somewhere, but not by every owner."""
    x = numbers(np.random.default_rng(1), (5, 5, 6, 2), "bool")
    first = Operand(np.array([[0, 1, 3], [1, 4, 1]], "uint8"), Layout(None, (0,) * WORLD.size))
    value = Operand(np.array([[[0, 1], [1, 0], [1, 1]]], "float64"), Layout(2, all_on(min(1, WORLD.size - 1), 2)))
    key = (first, Operand(np.array(2)), Operand([[4], [5]]))
    run_case(Case("set", x, Layout(2, even(6, WORLD.size)), key, False, value, None), slate)


@pytest.mark.parametrize("columns", [2, 250])
@pytest.mark.parametrize("holder", ["owner", "first", "dealt"])
def test_a_value_does_not_visit_its_key(columns, holder, slate):
    """Seed 14, number 6414 on 3 ranks: the owner of the places has the value, others have the key."""
    rng, last = np.random.default_rng(2), WORLD.size - 1
    x = numbers(rng, (39 * columns,), "float64")
    at = Operand(
        rng.integers(-x.size, x.size, (3, columns)), Layout(1, (*even(columns, max(1, last)), 0)[: WORLD.size])
    )
    counts = {"owner": all_on(last, columns), "first": all_on(0, columns), "dealt": even(columns, WORLD.size)}[holder]
    value = Operand(numbers(rng, (3, columns), "complex64"), Layout(1, counts))
    run_case(Case("set", x, Layout(0, all_on(last, x.size)), (at,), True, value, None), slate)


@st.composite
def cases(draw, op):
    """The same kinds of cases, from hypothesis: it makes a failing one smaller (on all ranks alike)."""
    shape = draw(st.lists(st.integers(0, 6), max_size=3).map(tuple))
    dtype = draw(st.sampled_from(["int64", "float32", "complex64", "uint8"]))
    rng = np.random.Generator(np.random.Philox(key=[7, draw(st.integers(0, 2**20))]))
    x = numbers(rng, shape, dtype)
    layout = draw_layout(rng, shape, WORLD.size, 8)
    key = draw_key(rng, shape, WORLD.size)
    bare = len(key) == 1 and draw(st.booleans())
    value = None
    if op != "get":
        try:
            target = x[plain(key, bare)].shape
        except (IndexError, ValueError, TypeError):
            target = shape
        op = op if target else "set"
        value = draw_value(rng, target, WORLD.size, dtype) if target else Operand(numbers(rng, (), dtype))
    return Case(op, x, layout, key, bare, value, None)


@settings(max_examples=EXAMPLES)
@given(case=cases("get"))
def test_get(case, slate):
    run_case(case, slate)


@settings(max_examples=EXAMPLES)
@given(case=cases("set"))
def test_set(case, slate):
    run_case(case, slate)


@settings(max_examples=EXAMPLES)
@given(case=cases("+="))
def test_in_place(case, slate):
    run_case(case, slate)
