# SPDX-License-Identifier: Apache-2.0
"""The acceptance cases of distributed indexing (cases.json): value, shape, split, error, and what is sent.

A case: x = arange of its shape unless it says otherwise, split as it says (counts "uneven": N - 3, 2, 1). In keys and
values D(a, s) is a distributed array (s None: a replicated one), A(a) a NumPy array, nz nonzero. "weighted" is the sum
of (i + 1) v_i over the result, or over x after an assignment. "bytes3": the fewest bytes on 3 ranks.

What may be sent: 1.05 times the bound of model.py for the layouts at hand. Keys that are the same on every rank get
nothing on top. Distributed keys get what finding the elements costs (model.index_bytes): 8 bytes per pair of ranks
for counts and the error flag, indices in the narrowest type, masks as bits, counts of rows before the split axis."""

import json
import warnings
from pathlib import Path

import numpy as np
import pytest
from checks import Watch, outcome, settle
from layouts import WORLD, check, digest, distribute, layout_of, traffic, uneven
from model import Layout, even, get_bound, normal_form, result_splits, set_bound
from support import is_like

import tessera as ts

CASES = json.loads((Path(__file__).parent / "cases.json").read_text())
SILENT = ("none",)


class Recorder:
    """R[a][b] remembers its keys."""

    def __init__(self, keys=()):
        self.keys = keys

    def __getitem__(self, key):
        return Recorder((*self.keys, key))


def names(case, distributed):
    """What the texts of a case may use, for us or for NumPy."""
    space = {"np": np, "A": lambda a, dtype=None: np.array(a, dtype=dtype), "R": Recorder()}
    if distributed:
        space["D"] = lambda a, split: distribute(a, split)
        space["nz"] = ts.dist.nonzero
    else:
        space["D"] = lambda a, split: np.asarray(a)
        space["nz"] = np.nonzero
    exec(case.get("with", ""), space)
    return space


def numbers_of(case, space):
    x = eval(case["x"], space) if "x" in case else np.arange(int(np.prod(case["shape"]))).reshape(case["shape"])
    return x.astype(case.get("dtype", "int64"))


def run(case, x, space):
    """Keys first: what is made on the way to a key is not part of the operation. (result, keys, value, traffic)"""
    space["x"] = x
    keys = eval("R" + case["key"], space).keys
    value = eval(case["value"], space) if "value" in case else None
    steps = []
    result = x
    for n, key in enumerate(keys):
        source, before = result, traffic()
        if "value" in case and n == len(keys) - 1:
            source[key] = value
        else:
            result = source[key]
        after = traffic()
        steps.append((source, key, result, (after[0] - before[0], after[1] - before[1])))
    return (x if "value" in case else result), steps, value


def items_of(key, ndim):
    """A key of ours as the model takes it; gathers its distributed arrays."""
    parts = key if isinstance(key, tuple) else (key,)
    plain = lambda k: (k.numpy(), layout_of(k)) if isinstance(k, ts.dist.DNDarray) else (k, None)
    return normal_form([plain(k) for k in parts], ndim)


def bounds(case, steps, value):
    """One for each step of the key."""
    for source, key, result, _ in steps:
        items = items_of(key, source.ndim)
        items = [i._replace(obj=slice(*map(whole, bounds_of(i.obj)))) if i.kind == "slice" else i for i in items]
        size = np.dtype(str(source.dtype)).itemsize
        if "value" not in case:
            yield get_bound(source.shape, layout_of(source), items, layout_of(result), size)
        elif isinstance(value, ts.dist.DNDarray):
            own = np.dtype(str(value.dtype)).itemsize
            yield set_bound(source.shape, layout_of(source), items, value.shape, layout_of(value), size, own)
        else:
            yield set_bound(source.shape, layout_of(source), items, np.shape(value), None, size, size)


def bounds_of(s):
    return s.start, s.stop, s.step


def whole(bound):
    return int(bound) if isinstance(bound, ts.dist.DNDarray) else bound


def expected_of(case):
    """NumPy's outcome; the numbers that the case names are checked on the way."""
    space = names(case, False)
    x = numbers_of(case, space)
    space["x"] = x

    def act():
        if "value" in case:
            exec(f"x{case['key']} = {case['value']}", space)
            return x
        return np.asarray(eval(f"x{case['key']}", space))

    wanted = outcome(act)
    if wanted[0] == "value":
        result = wanted[1]
        assert list(result.shape) == case["result"]["shape"]
        weighted = (np.arange(1, result.size + 1) * result.ravel().astype(float)).sum()
        assert weighted == case["result"]["weighted"]
    else:
        assert wanted[1].__name__ == case["error"]
    return wanted


@pytest.mark.parametrize("case", CASES, ids=[c["id"] for c in CASES])
def test_case(case, slate):
    wanted = expected_of(case)
    space = names(case, True)
    start = numbers_of(case, names(case, False))
    counts = uneven(case["shape"][case["split"]], WORLD.size) if case.get("counts") == "uneven" else None
    x = distribute(start, case["split"], counts)
    layout, before = layout_of(x), traffic()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        got = outcome(lambda: run(case, x, space))
    sent_by_all = slate.total(*(a - b for a, b in zip(traffic(), before, strict=True)))
    assert layout_of(x) == layout, "the layout of x changed"
    if wanted[0] == "error":
        assert got[0] == "error" and is_like(got[1], wanted[1]), f"{got[1:]} instead of {wanted[1:]}"
        settle(slate, None, (got[1].__name__, got[2]))
        check(x, start, case["split"])
        pairs = WORLD.size * (WORLD.size - 1)
        assert sent_by_all[1] <= (0 if case["moves"] in SILENT else 256 * pairs), "an error sent data"
        return
    assert got[0] == "value", f"raises {got[1:]}, NumPy gives {wanted[1]}"
    result, steps, value = got[1]
    settle(slate, None, digest(result))
    check(result, wanted[1], case["split"] if "value" in case else case["result"]["split"])
    if "value" not in case:
        check(x, start, case["split"])
    read_by_all = slate.total(*(a - b for a, b in zip(traffic(), before, strict=True)))
    check_sent(case, steps, value, slate)
    if case["moves"] == "broadcast":
        check(result, wanted[1])  # read twice, sent once
        again = slate.total(*(a - b for a, b in zip(traffic(), before, strict=True)))
        assert again == read_by_all, "a second look sent something"
        bound = (WORLD.size - 1) * wanted[1].nbytes
        assert read_by_all[1] <= bound, f"{read_by_all[1]} bytes to make and read it, {bound} are enough"
    assert np.array_equal(result.numpy(), wanted[1])


def check_sent(case, steps, value, slate):
    """Messages and bytes of each step, summed over the ranks."""
    for (_, _, _, mine), limit in zip(steps, bounds(case, steps, value), strict=True):
        messages, sent = slate.total(*mine)
        if case["moves"] in SILENT:
            assert (messages, sent) == (0, 0), f"{messages} messages, {sent} bytes where none is needed"
        assert sent <= 1.05 * limit.data + limit.extra, f"{sent} bytes, {limit}"
        ranks = WORLD.size
        if case["moves"] == "intervals":
            assert messages <= 2 * ranks - 1 + (ranks * (ranks - 1) if limit.extra else 0), f"{messages} messages"
        elif limit.extra == 0:
            assert messages <= limit.pairs, f"{messages} messages between {limit.pairs} pairs"
        if ranks == 3 and case["bytes3"] is not None and len(steps) == 1 and limit.extra == 0:
            if case["moves"] not in ("everything to all",):
                assert sent <= 1.05 * case["bytes3"], f"{sent} bytes, the case says {case['bytes3']}"


@pytest.mark.parametrize("case", CASES, ids=[c["id"] for c in CASES])
def test_case_uneven(case, slate):
    """The same with x, keys and values distributed unevenly (V19): values, shape, split and error."""
    wanted = expected_of(case)
    space = names(case, True)
    space["D"] = lambda a, split: distribute(
        a, split, None if split is None else uneven(np.shape(a)[split], WORLD.size)
    )
    start = numbers_of(case, names(case, False))
    split = case["split"]
    x = distribute(start, split, None if split is None else uneven(start.shape[split], WORLD.size)[::-1])
    watch = Watch([("x", x)])
    got = outcome(lambda: run(case, x, space)[0])
    watch.unchanged(data="value" not in case)
    if wanted[0] == "error":
        assert got[0] == "error" and is_like(got[1], wanted[1]), f"{got[1:]} instead of {wanted[1:]}"
        settle(slate, None, (got[1].__name__, got[2]))
        check(x, start, split)
        return
    assert got[0] == "value", f"raises {got[1:]}, NumPy gives {wanted[1]}"
    settle(slate, None, digest(got[1]))
    check(got[1], wanted[1], split if "value" in case else case["result"]["split"])


def test_bounds_of_the_model_are_those_of_the_cases():
    """The arithmetic of model.py on three ranks gives the bytes that the cases name: no library involved."""
    ranks = 3
    skipped = 0
    for case in CASES:
        if (
            "error" in case
            or case["bytes3"] is None
            or "x" in case["key"]
            or case["key"].count("][")
            or "D(" in case["key"]
        ):
            skipped += 1
            continue
        if "value" in case or case["moves"] not in ("data", "intervals", "broadcast", "none"):
            skipped += 1
            continue
        shape = tuple(case["shape"])
        split = case["split"]
        space = names(case, False)
        key = eval("R" + case["key"], space).keys[0]
        items = normal_form([(k, None) for k in (key if isinstance(key, tuple) else (key,))], len(shape))
        counts = even(shape[split], ranks) if split is not None else (0,) * ranks
        if case.get("counts") == "uneven":
            counts = uneven(shape[split], ranks)
        assert result_splits(split, items) == {case["result"]["split"]}, case["id"]
        if case["moves"] == "none":
            continue
        out = case["result"]["split"]
        distributed = Layout(out, even(case["result"]["shape"][out], ranks) if out is not None else (0,) * ranks)
        limit = get_bound(shape, Layout(split, counts), items, distributed, 8)
        assert limit.data == case["bytes3"], (case["id"], limit)
    assert skipped < 140
