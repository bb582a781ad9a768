# SPDX-License-Identifier: Apache-2.0
"""Keys exactly as NumPy's: reading, assigning and computing in place, with equal errors and equal texts."""

import itertools
from functools import partial

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from support import check, draw_numbers, on, outcome, same_outcome, seeds, strided

import tessera as ts

DTYPES = ["bool", "int8", "int64", "uint16", "float32", "float64", "complex64"]


@st.composite
def index_arrays(draw, size):
    shape = draw(st.sampled_from([(), (1,), (3,), (2, 1), (2, 3), (0,)]))
    low, high = (-size, size - 1) if size else (0, 0)
    if draw(st.integers(0, 12)) == 0:
        high += 1  # out of bounds now and then
    count = int(np.prod(shape))
    values = draw(st.lists(st.integers(low, high), min_size=count, max_size=count))
    array = np.array(values, dtype=draw(st.sampled_from(["int64", "int32", "int8"]))).reshape(shape)
    return array.tolist() if draw(st.booleans()) and array.ndim else array


def slices(size):
    bound = st.one_of(st.none(), st.integers(-size - 2, size + 2))
    step = st.one_of(st.none(), st.integers(-3, 3).filter(bool))
    return st.builds(slice, bound, bound, step)


@st.composite
def keys(draw, shape):
    """Mixtures of everything NumPy takes; a few that it refuses."""
    items = []
    axis = 0
    ellipsis = False
    while axis < len(shape) + (draw(st.integers(0, 15)) == 0):
        kind = draw(st.sampled_from("iissaamnebx"))
        size = shape[axis] if axis < len(shape) else 3
        if kind == "i":
            items.append(draw(st.integers(-size, max(size - 1, 0))))
        elif kind == "s":
            items.append(draw(slices(size)))
        elif kind == "a":
            items.append(draw(index_arrays(size)))
        elif kind == "m":
            rank = draw(st.integers(1, max(1, len(shape) - axis)))
            mask_shape = shape[axis : axis + rank]
            seed = draw(st.integers(0, 2**31))
            items.append(np.random.default_rng(seed).integers(0, 2, mask_shape).astype(bool))
            axis += len(mask_shape) - 1
        elif kind == "n":
            items.append(None)
            continue
        elif kind == "e" and not ellipsis:
            ellipsis = True
            items.append(...)
            axis = len(shape) - draw(st.integers(0, max(len(shape) - axis, 0)))
            continue
        elif kind == "b":
            if draw(st.integers(0, 3)) == 0:
                items.append(draw(st.booleans()))
            continue
        elif kind == "x" and draw(st.booleans()):
            break
        axis += 1
    return items[0] if len(items) == 1 and draw(st.booleans()) else tuple(items)


def text_is_comparable(expected):
    """NumPy's texts that depend on its own internals are not repeated."""
    return not (expected[0] == "error" and ("np." in expected[2] or "NumPy" in expected[2]))


@settings(max_examples=400)
@given(seed=seeds, shape=st.lists(st.integers(0, 5), max_size=4).map(tuple), data=st.data())
def test_get(seed, shape, data, main_device):
    rng = np.random.default_rng(seed)
    x = strided(rng, draw_numbers(rng, shape, data.draw(st.sampled_from(DTYPES))))
    key = data.draw(keys(shape))
    text = text_is_comparable(outcome(lambda: x[key]))
    same_outcome(lambda: on(main_device, x)[key], lambda: np.asarray(x[key]), check, text=text)


def value_for(data, rng, target, dtype):
    """A number, or an array whose shape broadcasts to the target (or, rarely, does not)."""
    kind = data.draw(st.integers(0, 6))
    if kind == 0:
        return data.draw(st.sampled_from([True, 3, 2.5, -1]))
    shape = target
    if kind == 1:
        shape = target[1:]
    elif kind == 2:
        shape = tuple(1 if rng.integers(0, 2) else n for n in target)
    elif kind == 3:
        shape = (1, *target)
    elif kind == 4:
        shape = (*target, 2)
    value = draw_numbers(rng, shape, data.draw(st.sampled_from(DTYPES)))
    return value if kind % 2 else strided(rng, value)


@settings(max_examples=400)
@given(seed=seeds, shape=st.lists(st.integers(0, 5), max_size=4).map(tuple), data=st.data())
def test_set(seed, shape, data, main_device):
    rng = np.random.default_rng(seed)
    dtype = data.draw(st.sampled_from(DTYPES))
    x = draw_numbers(rng, shape, dtype)
    key = data.draw(keys(shape))
    found = outcome(lambda: x[key].shape)
    value = value_for(data, rng, found[1] if found[0] == "value" else (), dtype)
    if np.iscomplexobj(value) and np.dtype(dtype).kind != "c":
        value = np.real(value)
    # Negative numbers in unsigned elements: an error for Python's, up to the machine for NumPy's floats.
    if np.dtype(dtype).kind == "u" and np.asarray(value).dtype.kind == "f" and np.ndim(value):
        value = abs(value)
    # An array for one element: what NumPy does depends on the dtype (truth value, TypeError, ValueError).
    assume(not (dtype in ("bool", "complex64") and found == ("value", ()) and np.ndim(value) > 0))
    expected = x.copy()
    mine = strided(rng, x.copy())
    mine = on(main_device, mine) if main_device == "cpu" else on(main_device, x.copy())

    def assign_ours():
        mine[key] = on(main_device, value) if isinstance(value, np.ndarray) else value
        return mine

    def assign_numpys():
        expected[key] = value
        return expected

    plan = outcome(lambda: expected.copy().__setitem__(key, value))
    same_outcome(assign_ours, assign_numpys, check, text=text_is_comparable(plan))
    if plan[0] == "error":
        check(mine, x)  # a refused assignment changes nothing


@settings(max_examples=150)
@given(seed=seeds, shape=st.lists(st.integers(1, 5), min_size=1, max_size=3).map(tuple), data=st.data())
def test_in_place_through_keys(seed, shape, data, main_device):
    rng = np.random.default_rng(seed)
    x = draw_numbers(rng, shape, data.draw(st.sampled_from(["int64", "float32", "complex64"])))
    key = data.draw(keys(shape))
    expected, mine = x.copy(), on(main_device, x.copy())

    def add(target):
        target[key] += 3
        return target

    text = text_is_comparable(outcome(lambda: add(x.copy())))
    same_outcome(lambda: add(mine), lambda: add(expected), check, text=text)


PRODUCT = [
    0,
    -1,
    2,
    slice(None),
    slice(1, 3),
    slice(None, None, -2),
    None,
    ...,
    [0, 2],
    np.array([[1], [0]]),
    True,
    np.array([True, False, True]),
    np.array(1),
    [],
    slice(5, 1),
    7,
]


def test_product_of_keys(main_device):
    """Every pair and every triple from one list of keys, on a small array, as NumPy's own index tests do."""
    x = np.arange(3 * 4 * 5).reshape(3, 4, 5)
    mine = on(main_device, x)
    for n in (1, 2, 3):
        for key in itertools.product(PRODUCT, repeat=n):
            if n == 3 and hash(str(key)) % 4:
                continue
            same_outcome(lambda key=key: mine[key], lambda key=key: np.asarray(x[key]), check)


def test_refused_keys_say_what_numpy_says(main_device):
    x = np.arange(12).reshape(3, 4)
    mine = on(main_device, x)
    bad = [
        1.5,
        "a",
        (0, 0, 0),
        3,
        -4,
        (..., ...),
        [1.5],
        np.zeros(2),
        np.ones((2, 4), bool),
        ([0, 1], [0, 1, 2]),
        (0, 9),
        [[0, 9]],
        {},
        2**70,
        np.ones((3, 4, 1), bool),
    ]
    for key in bad:
        same_outcome(lambda key=key: mine[key], lambda key=key: x[key], check)


def test_values_without_elements_fit_as_in_numpy(main_device):
    """Of their axes arrays in a key look at the last ones only, if those are empty; slices look at all."""

    def assign(array, key, value):
        array[key] = value
        return array

    x = np.zeros((4, 5))
    some = [np.zeros(0, int), np.array([1, 2]), np.array([1, 9]), np.zeros((2, 0), int), np.array([True, False] * 2)]
    taken = [(k, slice(0, n)) for k in some for n in (0, 3)] + [slice(0, 0), (True, slice(0, 0)), (False,)]
    for key, shape in itertools.product(taken, itertools.product((0, 1, 3), (0, 1, 2), (0, 1, 2), (0, 3))):
        value = np.ones(shape)
        ours = partial(assign, on(main_device, x.copy()), key, on(main_device, value))
        same_outcome(ours, partial(assign, x.copy(), key, value), check)


def test_views_share_and_copies_do_not(device):
    x = ts.zeros((3, 4), device=device)
    x[1][2] = 5
    x[:, 0][2] = 6
    view = x[::2, 1:3]
    view += 1
    copy = x[[0, 1]]
    copy[:] = 100
    expected = np.zeros((3, 4))
    expected[1, 2], expected[2, 0] = 5, 6
    expected[::2, 1:3] += 1
    check(x, expected)


def test_a_full_integer_key_gives_a_snapshot(device):
    x = ts.arange(3, device=device)
    first = x[0]
    x[0] = 9
    assert first.shape == () and first.item() == 0 and x[0].item() == 9


def test_last_assignment_wins(main_device, rng):
    positions = rng.integers(0, 50, 5000)
    values = np.arange(5000)
    mine = ts.zeros(50, "int64", main_device)
    mine[on(main_device, positions)] = on(main_device, values)
    expected = np.zeros(50, "int64")
    expected[positions] = values
    check(mine, expected)


def test_assignment_from_itself(main_device):
    x = np.arange(10)
    mine = on(main_device, x.copy())
    mine[1:] = mine[:-1]
    x[1:] = x[:-1].copy()
    check(mine, x)
    mine[::-1] = mine
    check(mine, x[::-1])


def test_numbers_that_do_not_fit(main_device):
    x = ts.zeros(3, "int8", main_device)
    for key in (0, slice(None), [0, 1]):
        with pytest.raises(OverflowError, match="Python integer 300 out of bounds for int8"):
            x[key] = 300
        with pytest.raises(TypeError):
            x[key] = 1j
        with pytest.raises(ValueError, match="NaN"):
            x[key] = float("nan")
    check(x, np.zeros(3, "int8"))


NUMBERS = [300.5, -128.9, -129.0, -0.5, -3.5, 255.99, 256.0, 2**53, 1e19, -1e30, 2**63, -(2**63), 2**70, -(2**200)]


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int64", "uint64", "float16", "float64", "complex64"])
def test_any_python_number_fits_or_is_refused_as_by_numpy(dtype, main_device):
    def assigned(x, key, value):
        x[key] = value
        return x

    for value in NUMBERS:
        for key, number in [(0, value), (slice(None), value), ([0, 1], value), (slice(None), [value])]:
            mine = ts.zeros(3, dtype, main_device)
            with np.errstate(over="ignore"):
                same_outcome(
                    lambda mine=mine, key=key, number=number: assigned(mine, key, number),
                    lambda key=key, number=number: assigned(np.zeros(3, dtype), key, number),
                    check,
                    text=False,
                )
        with np.errstate(over="ignore"):
            same_outcome(lambda v=value: ts.array([v], dtype), lambda v=value: np.array([v], dtype), check, text=False)


def test_integers_beyond_64_bits_meet_floats(main_device):
    x = np.array([1.5, -2.0], "float32")
    for f in (lambda a: a * 2**70, lambda a: 10**25 - a, lambda a: a < 2**70, lambda a: a ** -(2**70)):
        check(f(on(main_device, x)), f(x))
    check(ts.multiply(on(main_device, x), 2**70), np.multiply(x, 2**70))
    check(ts.full(2, 2**70, "float64", main_device), np.full(2, 2**70, "float64"))
    check(ts.array([2**63, -1]), np.array([2**63, -1]))
    with pytest.raises(OverflowError):
        on(main_device, np.ones(2, "int64")) + 2**70
    with pytest.raises(OverflowError, match="too large to convert to float"):
        on(main_device, x) + 10**400


def test_read_only_memory():
    a = np.arange(3)
    a.flags.writeable = False
    x = ts.asarray(a)
    assert not x.writable
    with pytest.raises(ValueError, match="assignment destination is read-only"):
        x[0] = 1
    with pytest.raises(ValueError):
        x[:] = 1
    with pytest.raises(ValueError):
        x += 1


def test_iteration_length_contains(device):
    x = on(device, np.arange(6).reshape(2, 3))
    assert [row.tolist() for row in x] == [[0, 1, 2], [3, 4, 5]]
    assert len(x) == 2 and 5 in x and 6 not in x
    with pytest.raises(TypeError, match="0-d"):
        iter(x[0, 0])
    with pytest.raises(TypeError, match="unsized"):
        len(x[0, 0])


def test_take(device, rng):
    x = draw_numbers(rng, (3, 4), "float32")
    for axis in (None, 0, 1, -1):
        check(ts.take(on(device, x), [2, 0, -1], axis=axis), np.take(x, [2, 0, -1], axis=axis))
    with pytest.raises(IndexError):
        ts.take(on(device, x), [7], axis=0)


@pytest.mark.parametrize("device", ["cpu", "sim:0"])  # CUDA writes to at most eight axes
def test_more_index_arrays_than_a_kernel_has_operands(device, rng):
    a = rng.normal(size=(2,) * 16)[(slice(None, None, -1),) * 16].transpose(rng.permutation(16))
    x = on(device, a)
    key = tuple(rng.integers(-2, 2, size=5) for _ in range(16))
    check(x[tuple(on(device, k) for k in key)], a[key])
    b, y = a.copy(), x.copy()
    b[key] = np.arange(5.0)
    y[tuple(on(device, k) for k in key)] = on(device, np.arange(5.0))
    check(y, b)
