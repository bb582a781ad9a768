# SPDX-License-Identifier: Apache-2.0
"""Solvers whose vectors are on disk: those of :mod:`tessera.solve` come here when the right side, or an array of the
operator, is there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from . import _tessera as _core
from ._tessera import NamedLinop, StoredArray


@dataclass(frozen=True)
class StoredSolveResult:
    """What a solver with vectors on disk found.

    >>> b = ts.stored.array([1.0, 2.0])
    >>> result = ts.solve.cg(ts.Diagonal([1.0, 4.0], ("X",)), b)
    >>> result.x.numpy().round(6).tolist(), result.converged
    ([1.0, 0.5], True)
    """

    x: StoredArray
    iterations: int
    converged: bool
    reason: str
    history: list[float]


def cg(
    A: NamedLinop, b: Any, x0: Any, M: NamedLinop | None, rtol: float, atol: float, maxiter: int
) -> StoredSolveResult:
    right = _core._stored_operand(b, "cg")
    first = None if x0 is None else _core._stored_operand(x0, "cg")
    return StoredSolveResult(*_core._stored_cg(A, right, first, M, rtol, atol, maxiter))
