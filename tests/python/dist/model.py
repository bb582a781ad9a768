# SPDX-License-Identifier: Apache-2.0
"""What distributed indexing has to do, computed with NumPy alone: layouts, keys in normal form, the split of a
result, and the fewest bytes that have to leave the ranks. Knows nothing of tessera: the tests compare both."""

import math
import operator
from typing import NamedTuple

import numpy as np


class Layout(NamedTuple):
    """split: the axis that is split, or None. counts: entries of it on each rank."""

    split: int | None
    counts: tuple[int, ...]


def even(n, ranks):
    """The first n mod p ranks hold one more."""
    return tuple(n // ranks + (r < n % ranks) for r in range(ranks))


def layout_of(shape, split, ranks):
    return Layout(split, even(shape[split], ranks) if split is not None else (0,) * ranks)


def block(shape, layout, rank):
    """The slices that cut a rank's part out of the whole."""
    if layout.split is None:
        return (slice(None),) * len(shape)
    start = sum(layout.counts[:rank])
    part = slice(start, start + layout.counts[rank])
    return tuple(part if axis == layout.split else slice(None) for axis in range(len(shape)))


def owners(shape, layout):
    """The rank of every element (flat, C order); None where every rank has all."""
    if layout.split is None:
        return None
    line = np.repeat(np.arange(len(layout.counts)), layout.counts)
    form = [-1 if axis == layout.split else 1 for axis in range(len(shape))]
    return np.broadcast_to(line.reshape(form), shape).ravel()


class Item(NamedTuple):
    kind: str  # int, slice, new, bool, array, mask, dots (an ellipsis, even of length 0)
    obj: object
    layout: Layout | None  # of a distributed array or mask
    axes: tuple[int, ...]  # of x, that it consumes


def kind_of(obj):
    if obj is None:
        return "new"
    if obj is Ellipsis:
        return "dots"
    if isinstance(obj, slice):
        return "slice"
    if isinstance(obj, (bool, np.bool_)):
        return "bool"
    array = obj if isinstance(obj, np.ndarray) else None
    if array is None:
        try:
            operator.index(obj)
            return "int"
        except TypeError:
            array = as_index(obj)
    if array.dtype.kind == "b":
        return "mask" if array.ndim else "bool"
    return "array" if array.ndim else "int"


def as_index(obj):
    array = np.asarray(obj)
    return array.astype(np.intp) if array.size == 0 and not isinstance(obj, np.ndarray) else array


def normal_form(key, ndim):
    """key: list of (object as NumPy takes it, layout or None), valid. Every axis is named by one item."""
    kinds = [kind_of(obj) for obj, _ in key]
    takes = [
        as_index(obj).ndim if kind == "mask" else int(kind in ("int", "slice", "array"))
        for kind, (obj, _) in zip(kinds, key, strict=True)
    ]
    rest = ndim - sum(takes)
    items, axis = [], 0
    for kind, (obj, layout), n in zip(kinds, key, takes, strict=True):
        n = rest if kind == "dots" else n
        items.append(Item(kind, obj, layout, tuple(range(axis, axis + n))))
        axis += n
    if "dots" not in kinds and rest:
        items.append(Item("dots", ..., None, tuple(range(axis, ndim))))
    return items


class Form(NamedTuple):
    """Where things land: the block of the advanced items starts at `at` and has `rank` axes; the axes of x that
    slices keep are at `kept`."""

    advanced: list
    at: int
    rank: int
    kept: dict


def form_of(items):
    arrays = [i for i in items if i.kind in ("array", "mask", "bool")]
    advanced = [i for i in items if i.kind in ("array", "mask", "bool") or (arrays and i.kind == "int")]
    places = [n for n, i in enumerate(items) if any(i is a for a in advanced)]
    adjacent = places and places[-1] - places[0] == len(places) - 1
    rank = max([np.ndim(as_index(i.obj)) if i.kind == "array" else int(i.kind != "int") for i in advanced], default=0)
    at, kept, out = 0, {}, 0 if adjacent or not places else rank
    for n, item in enumerate(items):
        if adjacent and n == places[0]:
            at, out = out, out + rank
        if item.kind == "new":
            out += 1
        elif item.kind in ("slice", "dots"):
            for axis in item.axes:
                kept[axis] = out
                out += 1
    return Form(advanced, at, rank, kept)


def landing(item, form):
    """The axis of the result along which the entries of a key lie that decides the split."""
    if item.kind == "mask":
        return form.at + form.rank - 1
    array = as_index(item.obj)
    if item.layout is not None and item.layout.split is not None:
        return form.at + form.rank - array.ndim + item.layout.split
    long = [j for j, n in enumerate(array.shape) if n > 1]
    return form.at + form.rank - array.ndim + long[-1] if long else form.at


def result_splits(split, items):
    """The splits that the rules allow for x[key]: one, save where several distributed keys meet a replicated x."""
    form = form_of(items)
    if split is None:
        distributed = [i for i in items if i.layout is not None and i.layout.split is not None]
        return {landing(i, form) for i in distributed} or {None}
    item = next(i for i in items if split in i.axes)
    if item.kind == "int":
        return {None}
    return {form.kept[split] if item.kind in ("slice", "dots") else landing(item, form)}


def is_distributed(item):
    return item.layout is not None and item.layout.split is not None


def distinct(*columns):
    """How many different rows, and the rows."""
    rows = np.unique(np.stack([np.asarray(c, np.int64).ravel() for c in columns], axis=1), axis=0)
    return len(rows), rows


class Bound(NamedTuple):
    data: int  # bytes of numbers that have to change ranks
    pairs: int  # pairs of ranks between which they do
    extra: int  # bytes of indices, bitmaps and counts that may be needed to find them


def width(n):
    """Bytes of the smallest unsigned integer that tells n things apart."""
    return next(b for b in (1, 2, 4, 8) if n <= 256**b)


def plain(items):
    return tuple(i.obj for i in items)


def movement(wanted, source, target, ranks):
    """Distinct elements `wanted` (numbers of elements) whose owner by `source` is not `target`: how many, over how
    many pairs. None as a source: everybody has them. None as a target: everybody wants all of them, as often as they
    are named (a broadcast)."""
    if source is None or wanted.size == 0:
        return 0, 0
    if target is None:
        return (ranks - 1) * wanted.size, (ranks - 1) * len(np.unique(source[wanted]))
    away = source[wanted] != target
    count, rows = distinct(wanted[away], target[away])
    return count, distinct(source[rows[:, 0]], rows[:, 1])[0] if count else 0


def index_bytes(shape, split, items, seekers, layout, ranks):
    """What finding costs at most when keys are distributed (see `extra` of get_bound): seekers is the rank that asks
    for each entry of the advanced block, or None where everybody does."""
    distributed = [i for i in items if is_distributed(i)]
    if not distributed or ranks == 1:
        return 0
    pairs = ranks * (ranks - 1)
    total = 8 * pairs  # counts and the error flag
    on_split = next((i for i in items if split is not None and split in i.axes), None)
    form = form_of(items)
    for item in distributed:
        array = as_index(item.obj)
        if item is on_split and item.kind == "mask":
            before = math.prod(shape[a] for a in item.axes if a < split)
            total += 8 * before * pairs  # how many of each row lie before
            if item.layout != Layout(split - item.axes[0], layout.counts):
                total += (array.size + 7) // 8 + pairs  # the bits in the layout of x
        elif item is on_split:
            total += array.size * width(math.prod(shape[a] for i in form.advanced for a in i.axes))
        elif item.kind == "mask":
            total += ((array.size + 7) // 8 + ranks) * (ranks - 1)  # everybody sees the bits
        else:
            total += array.size * width(shape[item.axes[0]]) * (ranks - 1)
    return total


def get_bound(shape, layout, items, result_layout, itemsize):
    """x[key]. data: every element that a rank needs and does not have, once. extra, for distributed keys only: 8
    bytes per pair for counts; per index the narrowest integer; masks as bits; 8 bytes per pair and row before the
    split axis for masks over several axes."""
    ranks = len(layout.counts)
    numbers = np.arange(math.prod(shape)).reshape(shape)[plain(items)]
    wanted = numbers.ravel()
    target = owners(numbers.shape, result_layout)
    count, pairs = movement(wanted, owners(shape, layout), target, ranks)
    return Bound(count * itemsize, pairs, index_bytes(shape, layout.split, items, target, layout, ranks))


def last_writes(targets):
    """Positions in key order of the assignments that stay: the last one of each target."""
    flat = targets.ravel()[::-1]
    _, first = np.unique(flat, return_index=True)
    return flat.size - 1 - first


def set_bound(shape, layout, items, value_shape, value_layout, itemsize, value_itemsize):
    """x[key] = value. data: every number that stays and that the owner of its place does not have (or, x replicated,
    every rank), once, in the narrower of both types."""
    ranks = len(layout.counts)
    narrow = min(itemsize, value_itemsize)
    targets = np.arange(math.prod(shape)).reshape(shape)[plain(items)]
    extra = index_bytes(shape, layout.split, items, None, layout, ranks)
    if value_layout is None or value_layout.split is None:
        if extra and targets.size:
            extra += targets.size * min(8, narrow)  # the number, or where it stands, rides with its index
        return Bound(0, 0, extra)
    value_shape = tuple(value_shape)
    numbers = np.arange(math.prod(value_shape)).reshape(value_shape)
    if numbers.ndim > targets.ndim:
        numbers = numbers.reshape(value_shape[numbers.ndim - targets.ndim :])
    used = np.broadcast_to(numbers, targets.shape).ravel()
    keep = last_writes(targets)
    place = owners(shape, layout)
    target = None if place is None else place[targets.ravel()[keep]]
    count, pairs = movement(used[keep], owners(value_shape, value_layout), target, ranks)
    if extra:  # the value may have to meet its key first
        extra += used.size * narrow + 8 * ranks * (ranks - 1)
    return Bound(count * narrow, pairs, extra)
