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


class Dealt(NamedTuple):
    """A distributed operand."""

    array: np.ndarray
    split: int


class Row(NamedTuple):
    name: str
    shape: tuple
    split: int | None
    key: tuple
    value: object = None  # None: read


def rows():
    rng = np.random.default_rng(11)
    order = rng.permutation(N)
    few = rng.integers(0, 1000, 50_000)
    mask1, mask2 = rng.random(N) < 0.3, rng.random((1562, 64)) < 0.3
    vector = lambda n: rng.normal(size=n)
    wide = (1562, 64)
    every = slice(None)
    return [
        Row("an integer on the split axis", (2000, 1024), 0, (700,)),
        Row("ascending slice", (N, 16), 0, (slice(10, -10, 3),)),
        Row("whole reversed", (N, 16), 0, (slice(None, None, -1),)),
        Row("descending slice of the middle", (N, 16), 0, (slice(3 * N // 4, N // 4, -1),)),
        Row("ascending key, replicated", (N, 16), 0, (np.sort(order[: N // 2]),)),
        Row("unordered key, replicated, 1 column", (N,), 0, (order,)),
        Row("unordered key, replicated, 16 columns", (N, 16), 0, (order,)),
        Row("distributed key, 1 column", (N,), 0, (Dealt(order, 0),)),
        Row("distributed key, 16 columns", (N, 16), 0, (Dealt(order, 0),)),
        Row("distributed key, 1000 rows 50 times", (1000, 16), 0, (Dealt(few, 0),)),
        Row("mask dealt out alike", (N,), 0, (Dealt(mask1, 0),)),
        Row("mask, split 1", wide, 1, (Dealt(mask2, 1),)),
        Row("mask, replicated", (N,), 0, (mask1,)),
        Row("mask, another split", wide, 0, (Dealt(mask2, 1),)),
        Row("distributed key, other axis", (2000, 1024), 1, (Dealt(order[:500] % 2000, 0),)),
        Row("slice = scalar", (N, 16), 0, (slice(5, -5),), 3.0),
        Row("slice = replicated array", (N, 16), 0, (slice(5, -5),), vector((N - 10, 16))),
        Row("half = distributed array", (N, 16), 0, (slice(N // 2, None),), Dealt(vector((N // 2, 16)), 0)),
        Row("block = distributed array, other split", (1500, 64), 0, (every,), Dealt(vector((1500, 64)), 1)),
        Row("integer = distributed row", (2000, 1024), 0, (700,), Dealt(vector(1024), 0)),
        Row("replicated key = distributed array", (N, 16), 0, (order,), Dealt(vector((N, 16)), 0)),
        Row("distributed key = scalar", (N,), 0, (Dealt(order, 0),), 3.0),
        Row("distributed key = replicated array", (N,), 0, (Dealt(order, 0),), vector(N)),
        Row("distributed key = distributed array", (N, 16), 0, (Dealt(order, 0),), Dealt(vector((N, 16)), 0)),
        Row("mask = replicated vector", (N,), 0, (Dealt(mask1, 0),), vector(int(mask1.sum()))),
        Row("mask = distributed vector, split 1", wide, 1, (Dealt(mask2, 1),), Dealt(vector(int(mask2.sum())), 0)),
        Row(
            "replicated array, distributed key and value", (N,), None, (Dealt(order[:1000], 0),), Dealt(vector(1000), 0)
        ),
    ]


def plain(operand):
    return operand.array if isinstance(operand, Dealt) else operand


def layout(operand, ranks):
    if not isinstance(operand, Dealt):
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
    """A dealt mask: its bits where they are needed elsewhere, and the numbers of elements that are picked."""
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
        if not model.is_dealt(item):
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
        if row.value is not None and not isinstance(row.value, (Dealt, int, float)):
            bits += 64 * np.count_nonzero(holders != place)  # the number that goes there, or where it stands
    return bits
