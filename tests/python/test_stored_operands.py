# SPDX-License-Identifier: Apache-2.0
"""A formula stays what it was when it was written, whatever becomes of its operands in memory."""

from __future__ import annotations

import numpy as np
import pytest
from support import drawn, host_memory

import tessera as ts

FORMULAS = {
    "x + h": lambda x, h: x + h,
    "h - x": lambda x, h: h - x,
    "h > x": lambda x, h: h > x,
    "function": lambda x, h: ts.maximum(x, h),
    "where": lambda x, h: ts.where(x > 0, h, x),
    "clip": lambda x, h: ts.clip(x, None, h),
    "twice": lambda x, h: (x + h) * h,
    "numpy": lambda x, h: np.add(x, h),
}
OPERANDS = {
    "row": lambda a: a[0].copy(),
    "column": lambda a: a[:, :1].copy(),
    "whole": lambda a: a.copy(),
    "strided": lambda a: np.repeat(a, 2, axis=1)[:, ::2],
    "one number": lambda a: np.array(a[0, 0]),
    "one element": lambda a: a[:1, :1].copy(),
}


@pytest.mark.parametrize("home", ["numpy", "tessera"])
@pytest.mark.parametrize("operand", OPERANDS)
@pytest.mark.parametrize("formula", FORMULAS)
def test_operands_are_those_of_the_moment(formula, operand, home):
    a = drawn((20, 30), "float64", 1)
    x, h = ts.stored.array(a), OPERANDS[operand](drawn((20, 30), "float64", 2))
    given = ts.array(h) if home == "tessera" else h
    wanted = np.asarray(FORMULAS[formula](ts.array(a), ts.array(h.copy())))
    f = FORMULAS[formula](x, given)
    assert f.is_formula
    given[...] = 77
    np.testing.assert_array_equal(f.numpy(), wanted)
    np.testing.assert_array_equal(f.compute().numpy(), wanted)


def test_large_operands_are_kept_on_disk():
    x = ts.stored.zeros((300, 1000))
    h = np.ones((300, 1000))
    with host_memory(4 << 20):
        held, there = ts.memory_stats("cpu")["in_use"], ts.memory_tiers()["disk"]["in_use"]
        f = x + h  # 2.3 MiB, more than a quarter
        assert ts.memory_stats("cpu")["in_use"] - held < 1 << 20
        assert ts.memory_tiers()["disk"]["in_use"] - there >= h.nbytes
        h[:] = 5
        assert f.sum().item() == 300000
        del f
        assert ts.memory_tiers()["disk"]["in_use"] == there


def test_budgets_say_byte_and_bytes():
    x = ts.stored.ones((4, 4))
    with host_memory(1), pytest.raises(ts.OutOfMemory, match=r"a budget of 1 byte is too small.* is \d+ bytes \("):
        x.sum()
    with host_memory(2), pytest.raises(ts.OutOfMemory, match="a budget of 2 bytes is too small"):
        x.sum()
    text = ts.stored.explain(lambda: ts.stored.ones(1, "int8").sum())
    assert "reads 1 byte (1 B)" in text and " 1 bytes" not in text and " 1 steps" not in text
