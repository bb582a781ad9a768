# SPDX-License-Identifier: Apache-2.0
"""The routes of distributed indexing as cases at sizes where bytes and time tell something, and their lower bounds."""

import math
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests/python/dist"))
import model  # noqa: E402
from model import Layout, even  # noqa: E402

N = 100_000
WIDE = (1562, 64)  # as many numbers in two dimensions


class Distributed(NamedTuple):
    """A distributed operand."""

    array: np.ndarray
    split: int


class Row(NamedTuple):
    name: str
    shape: tuple
    split: int | None
    key: tuple
    value: object = None  # None: read


def by_columns(columns, rng):
    """The routes along axis 0 of N numbers, or of N rows of some columns."""
    rest = (columns,) if columns > 1 else ()
    named = lambda route: f"{route}, {columns} columns" if columns > 1 else route
    order = rng.permutation(N)
    numbers = lambda n: rng.normal(size=(n, *rest))
    row = lambda route, key, value=None: Row(named(route), (N, *rest), 0, (key,), value)
    return [
        row("ascending slice", slice(10, -10, 3)),
        row("whole reversed", slice(None, None, -1)),
        row("descending slice of the middle", slice(3 * N // 4, N // 4, -1)),
        row("ascending key, replicated", np.sort(order[: N // 2])),
        row("unordered key, replicated", order),
        row("distributed key", Distributed(order, 0)),
        row("slice = scalar", slice(5, -5), 3.0),
        row("slice = replicated array", slice(5, -5), numbers(N - 10)),
        row("half = distributed array", slice(N // 2, None), Distributed(numbers(N // 2), 0)),
        row("replicated key = distributed array", order, Distributed(numbers(N), 0)),
        row("distributed key = scalar", Distributed(order, 0), 3.0),
        row("distributed key = replicated array", Distributed(order, 0), numbers(N)),
        row("distributed key = distributed array", Distributed(order, 0), Distributed(numbers(N), 0)),
    ]


def by_shape(shape, rng):
    """The routes of two dimensions that take whole rows."""
    named = lambda route: route if shape == WIDE else f"{route}, {shape[0]} x {shape[1]}"
    few = Distributed(rng.permutation(shape[0])[:500], 0)
    return [
        Row(named("an integer on the split axis"), shape, 0, (700,)),
        Row(named("distributed key, other axis"), shape, 1, (few,)),
        Row(named("integer = distributed row"), shape, 0, (700,), Distributed(rng.normal(size=shape[1]), 0)),
    ]


def rows():
    """Each route at N numbers; those that move rows, at some megabytes too."""
    rng = np.random.default_rng(11)
    few = rng.integers(0, 1000, 50_000)
    mask, wide_mask = Distributed(rng.random(N) < 0.3, 0), Distributed(rng.random(WIDE) < 0.3, 1)
    vector = lambda n: rng.normal(size=n)
    picks = lambda mask: int(mask.array.sum())
    some = Distributed(rng.permutation(N)[:1000], 0)
    return [
        *by_columns(1, rng),
        *by_shape(WIDE, rng),
        Row("distributed key, 1000 rows 50 times", (1000, 16), 0, (Distributed(few, 0),)),
        Row("mask distributed alike", (N,), 0, (mask,)),
        Row("mask, replicated", (N,), 0, (mask.array,)),
        Row("mask, split 1", WIDE, 1, (wide_mask,)),
        Row("mask, another split", WIDE, 0, (wide_mask,)),
        Row("mask = replicated vector", (N,), 0, (mask,), vector(picks(mask))),
        Row("mask = distributed vector, split 1", WIDE, 1, (wide_mask,), Distributed(vector(picks(wide_mask)), 0)),
        Row("block = distributed array, other split", WIDE, 0, (slice(None),), Distributed(vector(WIDE), 1)),
        Row("replicated array, distributed key and value", (N,), None, (some,), Distributed(vector(1000), 0)),
        *by_columns(16, rng),
        *by_shape((2000, 1024), rng),
    ]


def plain(operand):
    return operand.array if isinstance(operand, Distributed) else operand


def layout(operand, ranks):
    if not isinstance(operand, Distributed):
        return None
    return Layout(operand.split, even(operand.array.shape[operand.split], ranks))


def numbers(row):
    return np.random.default_rng(3).normal(size=row.shape)


def reference(row):
    x = numbers(row)
    key = tuple(plain(k) for k in row.key)
    if row.value is None:
        return x[key]
    x[key] = plain(row.value)
    return x


def subset_bits(n, k):
    """Bits that tell which k of n were chosen."""
    return (math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)) / math.log(2)


def lower_bound(row, ranks, result_layout):
    """Bytes that have to leave the ranks: numbers that are not where they are wanted, each once per rank, and what
    the ranks have to hear of a distributed key: owners, which of their entries are meant, as few bits as can say it;
    where a key is needed whole, it in the smallest type; of a mask, how many each rank picked."""
    x = Layout(row.split, even(row.shape[row.split], ranks) if row.split is not None else (0,) * ranks)
    items = model.normal_form([(plain(k), layout(k, ranks)) for k in row.key], len(row.shape))
    if row.value is None:
        data = model.get_bound(row.shape, x, items, result_layout, 8).data
    else:
        value = np.asarray(plain(row.value))
        data = model.set_bound(row.shape, x, items, value.shape, layout(row.value, ranks), 8, 8).data
    return data + math.ceil(key_bits(row, x, items, ranks) / 8)


def mask_bits(row, x, item, ranks):
    """A distributed mask: its bits where they are needed elsewhere, and the numbers of elements that are picked."""
    if row.split is None:
        return (ranks - 1) * item.obj.size
    axis = row.split - item.axes[0]
    bits = 0.0
    if item.layout.split != axis:
        to = model.owners(item.obj.shape, Layout(axis, x.counts))
        bits += np.count_nonzero(model.owners(item.obj.shape, item.layout) != to)
    if axis == 0:  # every rank knows the result's layout, so it hears the other ranks' counts
        return bits + sum((ranks - 1) * 8 * np.min_scalar_type(c).itemsize for c in x.counts)
    lines = math.prod(item.obj.shape[:axis])  # of each, how many the ranks before picked
    return bits + (ranks - 1) * lines * math.log2(max(x.counts) + 1)


def key_bits(row, x, items, ranks):
    bits = 0.0
    for item in items:
        if not model.is_distributed(item):
            continue
        holders = model.owners(np.shape(item.obj), item.layout)
        if item.kind == "mask":
            bits += mask_bits(row, x, item, ranks)
            continue
        indices = np.asarray(item.obj).ravel()
        if row.split not in item.axes:  # everybody needs all of it, in order
            bits += (ranks - 1) * indices.size * 8 * np.min_scalar_type(row.shape[item.axes[0]] - 1).itemsize
            continue
        place = np.repeat(np.arange(ranks), x.counts)[indices]
        for asks in range(ranks):
            for owns in range(ranks):
                if asks != owns:
                    chosen = len(np.unique(indices[(holders == asks) & (place == owns)]))
                    bits += subset_bits(x.counts[owns], chosen)
        if row.value is not None and not isinstance(row.value, (Distributed, int, float)):
            told = min(8 * math.prod(row.shape[1:]), np.min_scalar_type(indices.size - 1).itemsize)
            bits += 8 * told * np.count_nonzero(holders != place)  # what goes there, or where it stands in the value
    return bits
