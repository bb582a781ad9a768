# SPDX-License-Identifier: Apache-2.0
"""The subscripts of ``einsum`` in NumPy's other form: einsum(a, [0, 1], b, [1, 2], [0, 2])."""

from __future__ import annotations

import string
from collections.abc import Sequence
from typing import Any

LETTERS = string.ascii_lowercase + string.ascii_uppercase


def subscripts_of(operands: Sequence[Any]) -> tuple[str, tuple[Any, ...]]:
    """The same as text, and the arrays."""
    arrays, lists = tuple(operands[: len(operands) // 2 * 2 : 2]), operands[1::2]

    def text(labels: Sequence[Any]) -> str:
        for k in labels:
            if k is not Ellipsis and not 0 <= k < len(LETTERS):
                raise ValueError(f"einsum: subscript {k} is not within the valid range [0, {len(LETTERS)})")
        return "".join("..." if k is Ellipsis else LETTERS[k] for k in labels)

    found = ",".join(map(text, lists))
    return (f"{found}->{text(operands[-1])}" if len(operands) % 2 else found), arrays
