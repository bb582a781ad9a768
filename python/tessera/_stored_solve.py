# SPDX-License-Identifier: Apache-2.0
"""Solvers whose vectors are on disk: those of :mod:`tessera.solve` come here when the right side, or an array of the
operator, is there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from . import _tessera as _core
from ._tessera import Array, NamedLinop, StoredArray


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


@dataclass(frozen=True)
class StoredEigenResult(StoredSolveResult):
    """The same with an eigenvalue; `x` is its vector, on disk.

    >>> r = ts.solve.power_method(ts.Diagonal([1.0, 2.0, 5.0], ("X",)), ts.stored.ones(3))
    >>> round(r.eigenvalue.item(), 2), r.x.shape
    (5.0, (3,))
    """

    eigenvalue: Array

    @property
    def eigenvalues(self) -> Array:
        """The same as eigenvalue."""
        return self.eigenvalue

    @property
    def eigenvectors(self) -> StoredArray:
        """The same as x."""
        return self.x


def solve(
    who: str, A: NamedLinop | Sequence[NamedLinop], b: Any, x0: Any, options: Any, *settings: Any
) -> StoredSolveResult:
    """By the solver of that name; `options` have no first guess, which may be on disk."""
    terms = isinstance(A, Sequence)  # of pdhg; where there is no b, it is zero
    right = [v if v is None else _core._stored_operand(v, who) for v in b] if terms else _core._stored_operand(b, who)
    first = None if x0 is None else _core._stored_operand(x0, who)
    return StoredSolveResult(*getattr(_core, f"_stored_{who}")(A, right, first, options, *settings))


def power_method(
    A: NamedLinop, x0: Any, options: Any, shape: int | Sequence[int] | None, dtype: Any, seed: int
) -> StoredEigenResult:
    first = None if x0 is None else _core._stored_operand(x0, "power_method")
    if first is None and shape is None:
        sizes = [A.size(d) for d in A.ishape if d != "..."]
        if None in sizes:
            raise _core.DimError(f"power_method: not all sizes are known to {A}; give x0 or shape=")
        shape = sizes  # type: ignore[assignment]
    value, told = _core._stored_power_method(A, first, options, () if shape is None else shape, dtype, seed)
    return StoredEigenResult(*told, value)
