# SPDX-License-Identifier: Apache-2.0
"""One case of indexing on all ranks beside NumPy: values, shape, dtype, split, errors, layouts of the operands, what
explain() said, and what was sent. settle() makes one rank's finding everybody's."""

import operator
import warnings

import numpy as np
from draw import plain
from layouts import WORLD, check, digest, distribute, layout_of, traffic
from model import Layout, get_bound, normal_form, result_splits, set_bound
from support import is_like

import tessera as ts

IN_PLACE = {"+=": operator.iadd, "-=": operator.isub, "*=": operator.imul}


def outcome(function, refuses=()):
    """('value', result) or ('error', type, text). A CommError means that the group is lost and is passed on, unless
    it is one that the call `refuses` with."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return "value", function()
        except Exception as error:
            if isinstance(error, ts.CommError) and not isinstance(error, refuses):
                raise
            return "error", type(error), str(error)


def comparable(text):
    """NumPy's texts that speak of its own types are not repeated."""
    return "np." not in text and "NumPy" not in text and "numpy" not in text and "ufunc" not in text


def settle(slate, problem, note=None, context=""):
    """Ends a case: all ranks say what they found. Fails everywhere if one found a problem, or if notes differ."""
    said = slate.everybody((problem and problem[:6000], note))
    for rank, (other, _) in enumerate(said):
        if other:
            raise AssertionError(f"rank {rank}: {other}\n{context}")
    for rank, (_, other) in enumerate(said):
        if other != said[0][1]:
            raise AssertionError(f"ranks 0 and {rank} differ: {said[0][1]} and {other}\n{context}")


def build(operand):
    return (
        operand.obj if operand.layout is None else distribute(operand.obj, operand.layout.split, operand.layout.counts)
    )


def apply(op, x, key, value):
    if op == "get":
        return x[key]
    if op == "set":
        x[key] = value
    else:
        item = IN_PLACE[op](x[key], value)
        x[key] = item
    return x


class Watch:
    """Distributed operands with what they were before."""

    def __init__(self, named):
        self.kept = [(n, a, layout_of(a), a.local.numpy().copy()) for n, a in named if isinstance(a, ts.dist.DNDarray)]

    def unchanged(self, data=True):
        for name, array, layout, numbers in self.kept:
            assert layout_of(array) == layout, f"the layout of {name} became {layout_of(array)}, was {layout}"
            if data:
                assert np.array_equal(array.local.numpy(), numbers, equal_nan=numbers.dtype.kind in "fc"), (
                    f"{name} changed"
                )


def model_key(case_key):
    return [(k.obj, k.layout) for k in case_key]


def explained(x, key, value, op):
    """explain() sends nothing; None where the call itself is refused."""
    before = traffic()
    said = outcome(lambda: x.explain(key) if op == "get" else x.explain(key, value))
    assert traffic() == before, "explain() sent something"
    return said


def check_explained(said, result, op, mine):
    """The prediction: exactly what this rank sent where it says so, an upper bound elsewhere."""
    assert said[0] == "value", f"explain raises {said[1:]}, the call does not"
    said = said[1]
    if op == "get":
        known = [-1 if n < 0 else m for n, m in zip(said.shape, result.shape, strict=True)]  # -1: as many as are true
        assert tuple(said.shape) == tuple(known), f"explain: shape {said.shape}, is {result.shape}"
        assert said.split == result.split, f"explain: split {said.split}, is {result.split}"
        if said.counts is not None:
            assert tuple(said.counts) == tuple(result.counts), f"explain: counts {said.counts}, are {result.counts}"
    assert sum(said.sent) == said.index_bytes + said.data_bytes, f"explain does not add up: {said}"
    predicted = said.sent[WORLD.rank]
    fits = mine[1] == predicted if said.exact else mine[1] <= predicted
    assert fits, f"sent {mine[1]} bytes, explain said {predicted}{'' if said.exact else ' at most'}: {said}"


def bound_of(case, items, result, value):
    size = case.x.dtype.itemsize
    if case.op == "get":
        return get_bound(case.x.shape, case.layout, items, layout_of(result), size)
    if isinstance(value, ts.dist.DNDarray):
        return set_bound(
            case.x.shape, case.layout, items, value.shape, layout_of(value), size, np.dtype(str(value.dtype)).itemsize
        )
    return set_bound(case.x.shape, case.layout, items, np.shape(value), None, size, size)


def examine(case, bound):
    """One case from draw.py on this rank: (problem, what all ranks must know alike, traffic, bound and prediction)."""
    parts = [build(k) for k in case.key]
    key = parts[0] if case.bare else tuple(parts)
    x = distribute(case.x, case.layout.split, case.layout.counts)
    value = None
    if case.op != "get":
        value = x[case.alias] if case.alias else build(case.value)
    try:
        return None, *compare(case, x, key, parts, value, bound)
    except AssertionError as found:
        return str(found)[:600], None, None, None


def run_cases(cases, slate):
    """(name, case, whether bytes are bounded) of each; the ranks meet once, behind the last. {name: what is wrong}, the
    same on all ranks. Behind a case that only some ranks finished the next ones may fail, too: run it alone."""
    mine = [(name, case, *examine(case, bound)) for name, case, bound in cases]
    said = slate.everybody([entry[2:5] for entry in mine])
    wrong = {}
    for n, (name, case, _, _, _, expectations) in enumerate(mine):
        try:
            compare_ranks([theirs[n] for theirs in said])
            if expectations is not None:
                check_totals([theirs[n][2] for theirs in said], expectations)
        except AssertionError as found:
            wrong[name] = f"{found}\n{case.text()}"
    return wrong


def compare_ranks(said):
    for rank, (problem, _, _) in enumerate(said):
        assert problem is None, f"rank {rank}: {problem}"
    for rank, (_, note, _) in enumerate(said):
        assert note == said[0][1], f"ranks 0 and {rank} differ: {said[0][1]} and {note}"


def run_case(case, slate, bound=True):
    wrong = run_cases([("", case, bound)], slate)
    assert not wrong, wrong[""]


def compare(case, x, key, parts, value, bound):
    """This rank's view; returns (what all ranks must know alike, traffic of this rank, bound and prediction)."""
    expected = case.x.copy()
    numpys = plain(case.key, case.bare)
    wanted = outcome(lambda: np.asarray(apply(case.op, expected, numpys, case.value.obj if case.value else None)))
    watch = Watch([*((f"key {n}", k) for n, k in enumerate(parts)), *([] if case.alias else [("the value", value)])])
    said = explained(x, key, value, case.op) if case.op in ("get", "set") else None
    before = traffic()
    got = outcome(lambda: apply(case.op, x, key, value))
    if case.op == "get" and got[0] == "value":
        got[1].local  # noqa: B018  (rows of one owner travel when they are read)
    after = traffic()
    mine = (after[0] - before[0], after[1] - before[1])
    assert layout_of(x) == case.layout, f"the layout of x became {layout_of(x)}"
    watch.unchanged()
    if wanted[0] == "error":
        assert got[0] == "error", f"NumPy raises {wanted[1].__name__}: {wanted[2]}; we return {got[1]}"
        assert is_like(got[1], wanted[1]), f"{got[1:]} instead of {wanted[1:]}"
        if comparable(wanted[2]) and case.op in ("get", "set"):
            assert got[2] == wanted[2], f"says {got[2]!r}, NumPy says {wanted[2]!r}"
        if case.op == "set":
            check(x, case.x, case.layout.split)  # refused: nothing was written
        return (got[1].__name__, got[2]), None, None
    assert got[0] == "value", f"we raise {got[1].__name__}: {got[2]}; NumPy returns {wanted[1]!r}"
    items = normal_form(model_key(case.key), case.x.ndim)
    if case.op == "get":
        result = got[1]
        splits = result_splits(case.layout.split, items)
        assert result.split in splits, f"split {result.split}, the rules say {splits}"
        check(result, wanted[1])
        check(x, case.x, case.layout.split)
    else:
        result = x
        check(x, expected, case.layout.split)
    if case.op in ("get", "set"):
        check_explained(said, result, case.op, mine)
        if not case.alias and any(isinstance(k, ts.dist.DNDarray) for k in parts):
            check_again(case, key, value, wanted[1] if case.op == "get" else expected)
    limits = None
    if bound and case.op in ("get", "set"):
        limits = bound_of(case, items, result, value)
    return digest(result), mine, (limits, (said[1].messages, said[1].exact) if said else None)


def check_again(case, key, value, expected):
    """The same key on another array that is distributed alike: it may remember what the first use told."""
    x = distribute(case.x, case.layout.split, case.layout.counts)
    said = explained(x, key, value, case.op)
    before = traffic()
    result = apply(case.op, x, key, value)
    if case.op == "get":
        result.local  # noqa: B018
    else:
        result = x
    after = traffic()
    check(result, expected)
    check_explained(said, result, case.op, (after[0] - before[0], after[1] - before[1]))


def check_totals(traffic_of_ranks, expectations):
    """Sums over all ranks: the messages that explain() said, and no more bytes than 1.05 times the bound."""
    limits, predicted = expectations
    messages, sent = map(sum, zip(*traffic_of_ranks, strict=True))
    if predicted is not None:
        most, exact = predicted
        fits = messages == most if exact else messages <= most
        assert fits, f"{messages} messages, explain said {most}{'' if exact else ' at most'}"
    if limits is not None:
        assert sent <= 1.05 * limits.data + limits.extra, f"{sent} bytes, {limits}"
        if limits.data + limits.extra == 0:
            assert messages == 0, f"{messages} messages where none is needed"


__all__ = ["Layout", "run_case", "run_cases", "settle", "outcome", "comparable"]
