# SPDX-License-Identifier: Apache-2.0
"""Functions of arrays on disk that can be given a path: then they are jobs, which go on where they were ended."""

from __future__ import annotations

import operator
import os
from typing import Any

from . import _tessera as _core
from ._checked import Operand
from ._tessera import NamedLinop, StoredArray

_Path = str | os.PathLike[str] | None


def apply(A: NamedLinop, x: Operand, /, *, path: _Path = None) -> StoredArray:
    """`A(x)` on disk, whatever its size; with a `path` as a job (see `matmul`) that knows the operator by its numbers.

    >>> A = ts.Diagonal([1.0, 10.0], ("X",))
    >>> ts.stored.apply(A, [3.0, 4.0])[:].tolist()
    [3.0, 40.0]
    """
    to = _core._stored_path(path)
    return _core._stored_apply(A, _core._stored_operand(x, "apply"), to)


def cholesky(a: Operand, /, *, upper: bool = False, path: _Path = None) -> StoredArray:
    """The factor of a positive matrix, as `ts.linalg.cholesky` gives it; with a `path` as a job (see `matmul`).

    >>> a = ts.stored.array([[4.0, 2.0], [2.0, 5.0]])
    >>> ts.stored.cholesky(a)[:].tolist()
    [[2.0, 0.0], [1.0, 2.0]]
    """
    to = _core._stored_path(path)
    return _core._stored_cholesky(_core._stored_operand(a, "cholesky"), upper, to)


def _refuse_two_places(who: str, out: Any, path: _Path) -> None:
    if out is not None and path is not None:
        raise _core.ArgumentError(f"{who}: the result goes to `out` or into a file at `path`, not to both")


def solve(a: Operand, b: Operand, /, *, path: _Path = None, out: Any = None, device: Any = None) -> Any:
    """What solves a x = b, as `ts.linalg.solve` gives it; with a `path` as a job (see `matmul`).

    Until it ends, PATH.partial.factors, as large as the matrix, holds the factors. `out` and `device` are those of
    `matmul`: blocks are factored and solved with on the device, within its budget.

    >>> a = ts.stored.array([[2.0, 0.0], [0.0, 4.0]])
    >>> ts.stored.solve(a, [2.0, 2.0])[:].tolist()
    [1.0, 0.5]
    """
    _refuse_two_places("solve", out, path)
    if out is not None:
        _core._stored_solve_into(out, a, b, device)
        return out
    to = _core._stored_path(path)
    a, b = (_core._stored_in_place(x, "solve") for x in (a, b))
    return _core._stored_solve(a, b, to, device)


def inverse(a: Operand, /, *, path: _Path = None, out: Any = None, device: Any = None) -> Any:
    """The inverse, as `ts.linalg.inv` gives it; with a `path` as a job (see `solve`).

    >>> x = ts.zeros((2, 2))
    >>> ts.stored.inverse([[2.0, 0.0], [0.0, 4.0]], out=x, device="sim:0") is x, x[1, 1].item()
    (True, 0.25)

    >>> ts.stored.inverse(ts.stored.array([[2.0, 0.0], [0.0, 4.0]]))[:].tolist()
    [[0.5, 0.0], [0.0, 0.25]]
    """
    _refuse_two_places("inverse", out, path)
    if out is not None:
        _core._stored_inverse_into(out, a, device)
        return out
    return _core._stored_inverse(_core._stored_in_place(a, "inverse"), _core._stored_path(path), device)


def sort(x: Operand, /, *, axis: int = -1, path: _Path = None) -> StoredArray:
    """The elements in order along an axis (stable, NaN last); with a `path` as a job (see `matmul`).

    Along the last axis all of the work goes on after a kill; along another one only the copy that comes last does.

    >>> ts.stored.sort(ts.stored.array([3, 1, 2]))[:].tolist()
    [1, 2, 3]
    """
    to = _core._stored_path(path)
    return _core._stored_sort(_core._stored_operand(x, "sort"), operator.index(axis), to)
