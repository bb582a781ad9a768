# SPDX-License-Identifier: Apache-2.0
"""What indexing promises beyond one call: views, purity, errors on all ranks, caches, groups side by side."""

import numpy as np
import pytest
from checks import outcome, settle
from layouts import WORLD, Counted, check, digest, distribute, layout_of, uneven
from model import Layout, even, get_bound, normal_form

import tessera as ts

P, ME = WORLD.size, WORLD.rank
alone = pytest.mark.skipif(P == 1, reason="one rank")


def test_slices_are_views_and_arrays_are_copies():
    x = distribute(np.arange(20), 0)
    part = x[4:9]
    part[0] = -7
    assert int(x[4]) == -7
    copy = x[[5, 6]]
    copy[0] = 99
    expected = np.arange(20)
    expected[4] = -7
    check(x, expected, 0)
    whole = x[...]
    assert whole is not x
    whole[1] = 50
    assert int(x[1]) == 50


def test_rows_are_handles_of_their_owner(slate):
    """Replicas of a row never differ, and writing to the row reaches the array."""
    x = distribute(np.arange(12).reshape(4, 3), 0)
    row = x[1]
    check(row, [3, 4, 5], None)
    x[1, 0] = -5
    check(row, [-5, 4, 5], None)
    row[2] = 77
    expected = np.arange(12).reshape(4, 3)
    expected[1] = [-5, 4, 77]
    check(x, expected, 0)
    row += 1
    expected[1] += 1
    check(x, expected, 0)
    assert slate.agree(row.numpy().tobytes())


def test_rows_in_place():
    """`x[i] op= v` reads and writes with the owner alone; whoever reads next agrees with the others."""
    expected = np.arange(32.0).reshape(16, 2)
    x = distribute(expected, 0)
    for at in (0, 7, -1):
        x[at] *= 3
        x[..., at, None, 1] += 0.5
        x[at, 0] -= 1
        expected[at] *= 3
        expected[at, 1] += 0.5
        expected[at, 0] -= 1
        x[at - 1 if at else 5] = x[at]
        expected[at - 1 if at else 5] = expected[at]
    check(x, expected, 0)
    check(x[[3, 1]], expected[[3, 1]], 0)


def test_operands_keep_their_layouts(slate):
    x = distribute(np.arange(20), 0)
    value = distribute(np.arange(10) * 3, 0, uneven(10, P))
    before = layout_of(value)
    x[3:13] = value
    assert layout_of(value) == before
    lopsided = distribute(np.arange(30), 0, uneven(30, P))
    before = layout_of(lopsided)
    assert str(lopsided) is not None
    repr(lopsided)
    assert layout_of(lopsided) == before
    one = distribute(np.array([[41]]), 0)
    assert one.item() == 41 and one.split == 0
    np.asarray(lopsided)
    lopsided.numpy()
    assert layout_of(lopsided) == before


@alone
def test_an_error_of_one_rank_is_everybodys_and_the_group_lives(slate):
    """Only one rank's part of the key is bad; the next operation works."""
    x = distribute(np.arange(40), 0)
    for bad_place in range(0, 3 * P, 3):
        indices = np.arange(3 * P) % 40
        indices[bad_place] = 99
        for act in (
            lambda k: x[k],
            lambda k: x.__setitem__(k, 1),
            lambda k: x.__setitem__(k, distribute(np.arange(3 * P), 0)),
        ):
            got = outcome(lambda act=act, indices=indices: act(distribute(indices, 0)))
            settle(
                slate, None, (got[0], got[1].__name__ if got[0] == "error" else "", got[2] if got[0] == "error" else "")
            )
            assert got[0] == "error" and issubclass(got[1], IndexError)
            check(x, np.arange(40), 0)
    check(x[distribute(np.array([39, 0, 7]), 0)], [39, 0, 7], 0)


@pytest.mark.parametrize("at", [0, 1, 1022, 1023, 1024, 2998, 2999])
@pytest.mark.parametrize("odd", [-(2**63), 2**63 - 1, -3001, 3000, -3000, -1, 0, 2999])
def test_one_position_out_of_order_or_bounds(at, odd):
    """Among ascending ones, wherever it stands: NumPy's result, or its error."""
    numbers = np.arange(3000.0)
    key = np.arange(3000)
    key[at] = odd
    kind, *expected = outcome(lambda: numbers[key])
    for array in (distribute(numbers, 0), ts.array(numbers)):
        got = outcome(lambda array=array: array[key].numpy())
        assert got[0] == kind
        if kind == "value":
            np.testing.assert_array_equal(got[1], expected[0])
        else:
            assert issubclass(got[1], IndexError) and got[2] == expected[1]


def test_the_same_key_again_sends_no_indices(slate):
    """Also on another array that is distributed alike, and when assigning."""
    rng = np.random.default_rng(3)
    a, b = rng.normal(size=(200, 3)), rng.normal(size=(200, 3))
    indices = rng.integers(0, 200, 60)
    x, y, key = distribute(a, 0), distribute(b, 0), distribute(indices, 0)
    check(x[key], a[indices], 0)
    items = normal_form([(indices, Layout(0, even(60, P)))], 2)
    data = get_bound((200, 3), layout_of(x), items, Layout(0, even(60, P)), 8).data
    for array, numbers in ((x, a), (y, b)):
        with Counted(slate) as sent:
            result = array[key]
        check(result, numbers[indices], 0)
        assert sent.bytes <= data, f"{sent.bytes} bytes, the data alone are {data}"


@pytest.mark.skipif(P == 1, reason="one rank tells nobody")
@pytest.mark.parametrize("writers", ["every rank", "one rank"])
@pytest.mark.parametrize("used", ["read", "one number", "many numbers"])
def test_positions_written_behind_everybodys_back_are_used_as_they_were_until_touch(used, writers):
    """No rank knows what another one wrote: whatever was told, as a set or one by one, all go on with it."""
    a = np.arange(300.0)
    indices = np.random.default_rng(12).integers(0, 200, 160)
    key = distribute(indices, 0)
    if used == "read":
        distribute(a, 0)[key]
    else:
        distribute(a, 0)[key] = -1.0 if used == "one number" else distribute(-a[indices], 0)
    if writers == "every rank" or WORLD.rank == 0:
        key.local[...] = 200 + WORLD.rank
    for touched in (False, True):
        if touched:
            key.touch()
            indices = key.numpy()
        for value in (None, -1.0, distribute(-a[indices], 0)):
            x = distribute(a, 0)
            if value is None:
                check(x[key], a[indices], 0)
                continue
            x[key] = value
            expected = a.copy()
            expected[indices] = -1.0 if isinstance(value, float) else -a[indices]
            check(x, expected, 0)


def test_the_same_keys_of_several_arrays_again_send_no_indices(slate):
    rng = np.random.default_rng(4)
    a, b = rng.normal(size=(90, 7)), rng.normal(size=(90, 7))
    rows, columns = rng.integers(0, 90, 40), rng.integers(-7, 7, 40)
    x, y, r, c = distribute(a, 0), distribute(b, 0), distribute(rows, 0), distribute(columns, 0)
    owner = np.repeat(np.arange(P), even(90, P))
    asker = np.repeat(np.arange(P), even(40, P))
    wanted = {(q, int(i), int(j) % 7) for q, i, j in zip(asker, rows, columns, strict=True) if owner[i] != q}
    check(x[r, c], a[rows, columns], 0)
    for array, numbers in ((x, a), (y, b)):
        with Counted(slate) as sent:
            result = array[r, c]
        check(result, numbers[rows, columns], 0)
        assert sent.bytes == 8 * len(wanted), f"{sent.bytes} bytes, the data alone are {8 * len(wanted)}"
    swapped = rng.integers(0, 7, 40)
    s = distribute(swapped, 0)
    check(x[s, c], a[swapped, columns], 0)  # other arrays in the same places are other keys
    check(x[s, s], a[swapped, swapped], 0)
    c[:] = 3
    check(x[r, c], a[rows, 3], 0)  # and so are those that were written to


def test_the_same_key_beside_the_split_is_told_once(slate):
    a = np.random.default_rng(6).normal(size=(30, 300))
    columns = np.random.default_rng(7).integers(-300, 300, 50)
    x, y, key = distribute(a, 0), distribute(2 * a, 0), distribute(columns, 0)
    check(x[:, key], a[:, columns], 0)
    for array, numbers in ((x, a), (y, 2 * a)):
        told = array.explain((slice(None), key))
        with Counted(slate) as sent:
            result = array[:, key]
            array[:, key] = 0
        check(result, numbers[:, columns], 0)
        assert sent.bytes == 0 and told.exact and told.messages == 0
    key[0] = 5
    columns[0] = 5
    x = distribute(a, 0)
    check(x[:, key], a[:, columns], 0)
    for bad in (distribute(np.array([1, 299, 300]), 0), distribute(np.array([-301]), 0)):
        for _ in range(2):
            assert outcome(lambda bad=bad: x[:, bad])[1] is ts.IndexError


def test_a_remembered_key_beside_a_mask_is_foreseen(slate):
    """Of an array that every rank has, the mask distributes the result, and all ranks are told the key at each use."""
    a, rows = np.arange(30.0).reshape(6, 5), np.arange(300).reshape(300, 1) % 5
    mask = np.array([True, True, False, True, True, True])
    key, m = distribute(rows, 0), distribute(mask, 0)
    distribute(np.zeros((5, 3)), None)[key] = 1.0  # it remembers all of itself
    x = distribute(a, None)
    said = x.explain((m, key))
    with Counted(slate) as sent:
        result = x[m, key]
    check(result, a[mask, rows], 1)
    assert sent.mine[1] <= said.sent[ME], f"sent {sent.mine[1]} bytes, explain said {said}"


def test_float32_arrays_beyond_24_bits_take_exact_indices():
    n = 2**24 + 64
    x = ts.dist.zeros((n,), dtype="float32", split=0)
    places = np.array([n - 1, 3, 2**24 + 1, 7])
    x[distribute(places, 0)] = distribute(np.array([1, 2, 3, 4], dtype="float32"), 0)
    check(x[np.sort(places)], np.array([2, 4, 3, 1], dtype="float32"))
    assert float(x.sum()) == 10.0


@alone
def test_repeated_requests_travel_once(slate):
    """50 000 requests to 1000 rows: at most 1000 rows between two ranks."""
    rng = np.random.default_rng(5)
    array = rng.normal(size=(1000, 8))
    requests = rng.integers(0, 1000, 50_000)
    x, key = distribute(array, 0), distribute(requests, 0)
    with Counted(slate) as sent:
        result = x[key]
    check(result, array[requests], 0)
    rows = (P - 1) * 1000
    assert sent.bytes <= 1.05 * rows * 8 * 8 + rows * 2 + 8 * P * (P - 1), sent.bytes


def test_where_does_not_mix():
    got = ts.dist.where(
        distribute(np.array([True, False]), 0),
        distribute(np.array([1.0, 2.0]), 0),
        distribute(np.array([np.nan, 3.0]), 0),
    )
    check(got, [1.0, 3.0])


def test_iteration_gives_rows():
    array = np.arange(24).reshape(4, 6)
    for split in (None, 0, 1):
        rows = list(distribute(array, split))
        assert len(rows) == 4
        for row, expected in zip(rows, array, strict=True):
            check(row, expected)


def test_slices_of_slices_send_nothing(slate):
    array = np.arange(4000).reshape(1000, 4)
    for split in (0, 1):
        x = distribute(array, split, uneven(array.shape[split], P))
        y, expected = x, array
        with Counted(slate) as sent:
            for step in range(100):
                key = (slice(step % 3, None, 1 + step % 2 if len(expected) > 200 else None),)
                y, expected = y[key], expected[key]
                y.counts, y.balanced, y.lshape  # noqa: B018
        assert (sent.messages, sent.bytes) == (0, 0)
        check(y, expected, split)


@alone
def test_two_groups_side_by_side(slate):
    """Disjoint groups index at their own pace; the world is unharmed."""
    half = WORLD.split(ME % 2)
    rng = np.random.default_rng(100 + ME % 2)
    array = rng.integers(0, 1000, (30 + ME % 2, 3))
    problem = None
    try:
        x = ts.dist.array(array, split=0, comm=half)
        assert x.comm == half and x.comm.size == (P + 1 - ME % 2) // 2
        for _ in range(20 + 30 * (ME % 2)):
            key = rng.integers(0, len(array), 17)
            got = x[ts.dist.array(key, split=0, comm=half)]
            assert np.array_equal(got.numpy(), array[key])
    except AssertionError as found:
        problem = str(found)
    settle(slate, problem)
    check(distribute(np.arange(9), 0)[distribute(np.array([8, 1]), 0)], [8, 1], 0)


@alone
def test_operands_of_different_groups_are_refused(slate):
    half = WORLD.split(0 if ME == 0 else 1)
    got = outcome(lambda: distribute(np.arange(8), 0)[ts.dist.array(np.arange(3), split=0, comm=half)], ts.CommError)
    assert got[0] == "error", got
    settle(slate, None, got[1].__name__)


def test_keys_are_values():
    """What happens to a key after the call does not matter, and the call does not change it."""
    x = distribute(np.arange(10), 0)
    raw = np.array([-1, 3, -2])
    got = x[raw]
    assert raw.tolist() == [-1, 3, -2]
    raw[:] = 0
    check(got, [9, 3, 8])
    key = distribute(np.array([-1, 3, -2]), 0)
    got = x[key]
    check(key, [-1, 3, -2], 0)
    key[0] = 0
    check(got, [9, 3, 8])
    check(x[key], [0, 3, 8])  # a changed key is another key


@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_fewer_entries_than_ranks(n, slate):
    """Every kind of key on an axis that leaves ranks empty."""
    array = np.arange(n * 3).reshape(n, 3)
    mask = np.arange(n) % 2 == 0
    some = np.array([n - 1, 0, n - 1][: 3 if n else 0], dtype=int)
    for split in (0, 1):
        for key in (
            slice(None), slice(None, None, -1), slice(1, None, 2), mask, some, (some, 1), (slice(None), [2, 0]), [], None, ...,
            distribute(some, 0), distribute(mask, 0), (distribute(some, 0), slice(None, None, -1)), np.zeros((n, 3), bool), distribute(np.ones((n, 3), bool), split),
        ):  # fmt: skip
            plain = tuple(
                k.numpy() if isinstance(k, ts.dist.DNDarray) else k for k in (key if isinstance(key, tuple) else (key,))
            )
            x = distribute(array, split)
            got = x[key]
            settle(slate, None, digest(got))
            check(got, array[plain])
            x[key] = 5
            expected = array.copy()
            expected[plain] = 5
            check(x, expected, split)


def test_splits_do_not_depend_on_the_number_of_ranks():
    """The rules, spelled out."""
    x = {s: distribute(np.zeros((4, 5, 6, 7)), s) for s in (0, 1, 2, 3)}
    a, b = np.array([1, 2]), np.array([3, 4])
    columns = np.array([[0], [1]])
    for got, split in (
        (x[1][0], 0), (x[1][:, None], 2), (x[3][:, a, b, :], 2), (x[3][a, :, b, :], 2), (x[1][a, :, b, :], 1),
        (x[0][0], None), (x[2][..., 0], 2), (x[0][[3, 1, 0]], 0), (x[0][[3]], 0), (x[0][np.zeros((2, 3, 4), int)], 2),
        (x[0][columns, a], 0), (x[1][columns, a], 1), (x[0][distribute(a, 0)], 0), (x[0][distribute(columns, 1)], 1),
        (x[2][distribute(a, 0)], 2), (x[1][np.ones((4, 5), bool)], 0), (x[3][np.ones((4, 5), bool)], 2), (x[0][::-1], 0),
    ):  # fmt: skip
        assert got.split == split, f"{got.split} instead of {split} for shape {got.shape}"


ROUTES = [
    (lambda: distribute(np.arange(10), 0), lambda: 3, "scalar"),
    (lambda: distribute(np.arange(10), 0), lambda: slice(2, 8, 2), "local"),
    (lambda: distribute(np.arange(10), 0), lambda: [1, 4, 4, 9], "local"),
    (lambda: distribute(np.arange(10), 0), lambda: slice(8, 2, -2), "descending_slice"),
    (lambda: distribute(np.arange(10), 0), lambda: [7, 2, 8], "unordered"),
    (lambda: distribute(np.arange(10), 0), lambda: distribute(np.array([7, 2, 8]), 0), "unordered"),
    (lambda: distribute(np.arange(10), 0), lambda: np.arange(10) % 3 == 0, "local_mask"),
    (lambda: distribute(np.arange(10), 0), lambda: distribute(np.arange(10) % 3 == 0, 0), "distributed_mask"),
]


@pytest.mark.parametrize("number", range(len(ROUTES)))
def test_explain_names_the_route(number, slate):
    x, key = ROUTES[number][0](), ROUTES[number][1]()
    with Counted(slate) as sent:
        said = x.explain(key)
    assert (sent.messages, sent.bytes) == (0, 0)
    assert said.route == ROUTES[number][2], str(said)
    assert said.reason and len(said.sent) == P


@alone
def test_strict_refuses_values_in_another_layout(slate):
    """A setting, off by default: the seed's exceptions instead of moving the value."""
    x = distribute(np.arange(100).reshape(10, 10), 0)
    value = distribute(np.arange(64).reshape(8, 8), 1)
    with ts.config.using(strict=True):
        got = outcome(lambda: x.__setitem__((slice(1, -1), slice(1, -1)), value), ts.CommError)
    settle(slate, None, got[1:] and str(got[1:]))
    assert got[0] == "error", "accepted"
    check(x, np.arange(100).reshape(10, 10), 0)
    x[1:-1, 1:-1] = value
    expected = np.arange(100).reshape(10, 10)
    expected[1:-1, 1:-1] = np.arange(64).reshape(8, 8)
    check(x, expected, 0)
