# SPDX-License-Identifier: Apache-2.0
"""Random cases (draw.py) whose array or value is a row of another one: its memory is one rank's, and travels when it is
read. Values, errors and what explain() says of it."""

import numpy as np
import pytest
from checks import apply, build, explained, outcome
from draw import draw_case, plain
from layouts import WORLD, distribute, traffic
from support import is_like

CASES = 400 if WORLD.size <= 4 else 160


def row_of(array, number):
    """`array` as a row that one rank has."""
    return distribute(np.stack([array] * WORLD.size), 0)[number % WORLD.size]


def problem_of(case, number, rows):
    """rows: whether x, the value, or both are such rows."""
    op = "get" if case.op == "get" else "set"
    x = row_of(case.x, number) if "x" in rows else distribute(case.x, case.layout.split, case.layout.counts)
    value = None
    if op == "set":
        value = row_of(case.value.obj, number // 3) if "value" in rows else build(case.value)
    parts = [build(k) for k in case.key]
    key = parts[0] if case.bare else tuple(parts)
    whole = case.x.copy()
    wanted = outcome(lambda: np.asarray(apply(op, whole, plain(case.key, case.bare), case.value and case.value.obj)))
    said = explained(x, key, value, op)
    before = traffic()
    got = outcome(lambda: apply(op, x, key, value))
    if got[0] == "value":
        got[1].local  # noqa: B018  (rows travel when they are read)
    sent = traffic()[1] - before[1] if op == "get" else None
    if wanted[0] == "error":
        return None if got[0] == "error" and is_like(got[1], wanted[1]) else f"{got[1:]} instead of {wanted[1:]}"
    if got[0] == "error":
        return f"we raise {got[1:]}"
    if not np.array_equal(got[1].numpy(), wanted[1], equal_nan=case.x.dtype.kind in "fc"):
        return f"{got[1].numpy()} instead of {wanted[1]}"
    if said[0] == "error":
        return f"explain raises {said[1:]}"
    if sent is not None and (sent > said[1].sent[WORLD.rank] or (said[1].exact and sent < said[1].sent[WORLD.rank])):
        return f"sent {sent} bytes, explain said {said[1].sent[WORLD.rank]}: {said[1]}"
    return None


@pytest.mark.parametrize("rows", [("x",), ("value",), ("x", "value")], ids="-".join)
def test_rows_of_one_rank(rows, slate):
    wrong = {}
    for number in range(CASES):
        case = draw_case(9, number, WORLD.size)
        if "value" in rows and (case.op == "get" or not isinstance(case.value.obj, np.ndarray)):
            continue
        if found := problem_of(case, number, rows):
            wrong[number] = f"{found[:400]}\n{case.text()}"
    said = slate.everybody(str(wrong)[:4000])
    assert not any(text != "{}" for text in said), next(text for text in said if text != "{}")
