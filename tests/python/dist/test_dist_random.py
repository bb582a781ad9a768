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
@pytest.mark.parametrize("holder", ["owner", "first", "distributed"])
def test_a_value_does_not_visit_its_key(columns, holder, slate):
    """Seed 14, number 6414 on 3 ranks: the owner of the places has the value, others have the key."""
    rng, last = np.random.default_rng(2), WORLD.size - 1
    x = numbers(rng, (39 * columns,), "float64")
    at = Operand(
        rng.integers(-x.size, x.size, (3, columns)), Layout(1, (*even(columns, max(1, last)), 0)[: WORLD.size])
    )
    counts = {"owner": all_on(last, columns), "first": all_on(0, columns), "distributed": even(columns, WORLD.size)}[
        holder
    ]
    value = Operand(numbers(rng, (3, columns), "complex64"), Layout(1, counts))
    run_case(Case("set", x, Layout(0, all_on(last, x.size)), (at,), True, value, None), slate)


def mask_of(rng, shape, share, split, counts):
    return Operand(rng.random(shape) < share, Layout(split, counts))


@pytest.mark.parametrize("share", [0.05, 0.6, 1.0])
@pytest.mark.parametrize("beside", ["a mask", "positions", "distributed positions"])
@pytest.mark.parametrize("owners", ["last", "even"])
def test_owners_list_what_a_mask_picks_when_it_is_read(share, beside, owners, slate):
    """Seed 41, number 88056 on 2 ranks: elements stay with their owners, only bits and counts of the mask travel."""
    rng, p = np.random.default_rng(4), WORLD.size
    x = numbers(rng, (14, 6, 7, 8), "uint16")
    mask = mask_of(rng, (14, 6, 7), share, 1, even(6, p))
    whole = Layout(None, (0,) * p)
    others = {
        "a mask": Operand(np.arange(8) == 5, whole),
        "positions": Operand(np.array([[3], [-8]]), whole),
        "distributed positions": Operand(np.array([[3], [-8]]), Layout(0, even(2, p))),
    }
    layout = Layout(0, all_on(p - 1, 14) if owners == "last" else even(14, p))
    run_case(Case("get", x, layout, (mask, others[beside]), False, None, None), slate)


@pytest.mark.parametrize("share", [0.05, 1.0])
def test_a_mask_distributes_what_repeats_along_it(share, slate):
    """Seed 54, number 20188 on 2 ranks: one distributed position stands before the mask, which has as many as are read."""
    rng, p = np.random.default_rng(5), WORLD.size
    x = numbers(rng, (4, 7, 7, 3), "bool")
    first = Operand(np.array([3], "int32"), Layout(0, all_on(0, 1)))
    mask = mask_of(rng, (7, 7, 3), share, 1, even(7, p))
    run_case(Case("get", x, Layout(None, (0,) * p), (first, mask), False, None, None), slate)


@pytest.mark.parametrize("share", [0.02, 0.9])
@pytest.mark.parametrize("split", [0, 1])
def test_all_ranks_get_a_mask_as_bits_or_as_positions(share, split, slate):
    """Seed 72, number 14140 on 2 ranks: the result is distributed as the positions before the mask, along another axis
    than its elements, so that all ranks need what it picks: the positions of few, else the bits."""
    rng, p = np.random.default_rng(8), WORLD.size
    x = numbers(rng, (5, 8, 10, 12), "int8")
    first = Operand(np.array([[-5], [4], [-5]]), Layout(0, even(3, p)))
    mask = mask_of(rng, (8, 10, 12), share, split, even((8, 10)[split], p))
    run_case(Case("get", x, Layout(None, (0,) * p), (first, mask), False, None, None), slate)


@pytest.mark.parametrize("holder", ["owner", "other"])
@pytest.mark.parametrize("owners", ["first", "even"])
def test_a_value_of_one_rank_goes_to_the_owners_of_interleaving_elements(owners, holder, slate):
    """The holder looks up which elements are whose: nobody gets all of the value."""
    rng, p = np.random.default_rng(6), WORLD.size
    x = numbers(rng, (10, 32), "complex64")
    mask = mask_of(rng, (10, 32), 1.0, 0, all_on(min(1, p - 1), 10))
    value = Operand(numbers(rng, (1, 320, 1), "complex64"), Layout(0, all_on(0 if holder == "owner" else p - 1, 1)))
    layout = Layout(1, all_on(0, 32) if owners == "first" else even(32, p))
    run_case(Case("set", x, layout, (mask, Operand(None)), False, value, None), slate)


@pytest.mark.parametrize("rows", ["at one", "distributed"])
def test_owners_ask_for_rows_of_a_value_that_repeats(rows, slate):
    """Seed 15, number 41946 on 3 ranks: the value repeats along the split axis of the key, its rows are in pieces."""
    rng, middle = np.random.default_rng(3), min(1, WORLD.size - 1)
    x = numbers(rng, (4, 4, 8, 6), "bool")
    first = Operand(np.array([[[-3, -3]], [[-1, -1]], [[-3, -4]]]), Layout(1, all_on(middle, 1)))
    counts = all_on(middle, 4) if rows == "at one" else even(4, WORLD.size)
    value = Operand(numbers(rng, (1, 3, 1, 2, 4, 8, 6), "bool"), Layout(4, counts))
    run_case(Case("set", x, Layout(0, even(4, WORLD.size)), (first,), False, value, None), slate)


@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize("columns", [1, 7])
def test_owners_ask_for_rows_where_each_needs_few(columns, times, slate):
    """Seed 7117, number 3718 on 3 ranks: the last rank has the value, the first one the key, which is not longer along
    the axis that is split, or a little."""
    rng, p = np.random.default_rng(9), WORLD.size
    x = numbers(rng, (8, columns, 3), "uint16")
    at = Operand(rng.integers(-8, 8, (3, times, 2)), Layout(1, all_on(0, times)))
    value = Operand(numbers(rng, (3, 1, 2, columns, 3), "uint16"), Layout(3, all_on(p - 1, columns)))
    run_case(Case("set", x, Layout(0, even(8, p)), (at, Operand(...)), False, value, None), slate)


@pytest.mark.parametrize("columns", [3, 40])
def test_rows_in_pieces_go_straight_to_places(columns, slate):
    """Each rank has some columns of all rows, and another rank the key."""
    rng = np.random.default_rng(4)
    x = numbers(rng, (30, columns), "float64")
    at = Operand(rng.integers(-30, 30, (2, 20)), Layout(1, even(20, WORLD.size)))
    value = Operand(numbers(rng, (2, 20, columns), "float64"), Layout(2, even(columns, WORLD.size)))
    run_case(Case("set", x, Layout(0, even(30, WORLD.size)), (at,), True, value, None), slate)


def test_ranks_without_positions_are_silent(slate):
    """Seed 13, number 50518 on 2 ranks: nobody waits for a word of a rank that has no position of the key."""
    rng, last = np.random.default_rng(5), WORLD.size - 1
    x = numbers(rng, (6, 6, 2, 8), "bool")
    pairs = Layout(0, all_on(0, 2))
    key = (
        Operand(np.array([[2], [5]]), pairs),
        Operand(np.ones((6, 2), bool), Layout(None, (0,) * WORLD.size)),
        Operand(np.array([[-2], [-4]], "int8"), pairs),
    )
    run_case(Case("get", x, Layout(3, even(8, WORLD.size)), key, False, None, None), slate)
    wrong = Operand(np.array([[-2], [9]], "int8"), Layout(0, all_on(last, 2)))
    run_case(Case("get", x, Layout(3, even(8, WORLD.size)), (*key[:2], wrong), False, None, None), slate)


@pytest.mark.parametrize("value", ["at the owner", "along the mask", "whole", "one"])
@pytest.mark.parametrize("beside", ["rows", "entries"])
def test_a_mask_beside_other_arrays_is_listed_by_the_owners(beside, value, slate):
    """Seed 21, number 12804 on 3 and 4 ranks: the owner knows what it picks and has the value. The other array is the
    same for all elements of the mask, or has an entry for each."""
    rng, middle = np.random.default_rng(7), min(1, WORLD.size - 1)
    x = numbers(rng, (6, 8, 5, 6), "uint16")
    mask = rng.random((8, 5, 6)) < 0.9
    picked = int(mask.sum())
    first = rng.integers(-6, 6, (2, 1) if beside == "rows" else (3, picked))
    key = (Operand(first, Layout(0, even(len(first), WORLD.size))), Operand(mask, Layout(0, even(8, WORLD.size))))
    layouts = {
        "at the owner": Layout(0, all_on(middle, 1)),
        "along the mask": Layout(2, even(picked, WORLD.size)),
        "whole": Layout(None, (0,) * WORLD.size),
    }
    given = Operand(7) if value == "one" else Operand(numbers(rng, (1, len(first), picked), "uint16"), layouts[value])
    for counts in (all_on(middle, 5), even(5, WORLD.size)):
        run_case(Case("set", x, Layout(2, counts), key, False, given, None), slate)


@pytest.mark.parametrize("shape", [(1, 7), (1, 1), (3, 0, 7)])
def test_nothing_is_sent_to_an_empty_selection(shape, slate):
    """Seed 13, number 55604 on 2 ranks; with 0: NumPy takes what has no elements and too many axes."""
    rng = np.random.default_rng(6)
    x = numbers(rng, (7, 7), "complex64")
    mask = Operand(np.ones(7, bool), Layout(0, all_on(0, 7)))
    value = Operand(numbers(rng, shape, "complex64"), Layout(0, even(shape[0], WORLD.size)))
    run_case(
        Case("set", x, Layout(1, all_on(WORLD.size - 1, 7)), (Operand(slice(0, 0)), mask), False, value, None), slate
    )


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
