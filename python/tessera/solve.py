# SPDX-License-Identifier: Apache-2.0
"""Iterative solvers on operators. Vectors stay on their device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ._tessera import Iteration, NamedLinop, SolveResult, _cg

__all__ = ["Iteration", "SolveResult", "cg"]


def cg(
    A: NamedLinop,
    b: Any,
    x0: Any = None,
    *,
    rtol: float = 1e-6,
    atol: float = 0.0,
    maxiter: int = 100,
    callback: Callable[[Iteration], Any] | None = None,
    progress: bool = False,
) -> SolveResult:
    """Conjugate gradients for A x = b with A Hermitian and positive (semi)definite, for example ``A.N``.

    ``callback`` is called after each iteration; when it returns False, the solver stops.

    >>> A = ts.Diagonal([1.0, 4.0], ("X",))
    >>> result = ts.solve.cg(A, [1.0, 2.0])
    >>> result.x.numpy().round(6).tolist(), result.converged
    ([1.0, 0.5], True)
    """
    return _cg(A, b, x0, rtol, atol, maxiter, callback, progress)
