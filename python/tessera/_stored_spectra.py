# SPDX-License-Identifier: Apache-2.0
"""Orthogonal factors, singular values and eigenvalues of arrays on disk, behind the names of ts.linalg and ts.solve."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from . import _tessera as _core
from ._tessera import Array, StoredArray, StoredMatrix


def of_two(who: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Of a matrix and right sides, of which one may be in memory."""

    def call(a: Any, b: Any, *options: Any) -> Any:
        a, b = (_core._stored_operand(x, who) for x in (a, b))
        return function(a, b, *options)

    return call


def _qr(a: StoredArray, mode: str, pivoting: bool) -> tuple[StoredArray | None, Array, None]:
    if pivoting:
        raise _core.ArgumentError("qr: columns of a stored matrix are not exchanged; leave pivoting away")
    if mode == "r":
        return None, _core._stored_qr_triangle(a), None
    if mode != "reduced":
        raise _core.ArgumentError(f"qr: of a stored matrix mode is 'reduced' or 'r', got {mode!r}")
    return (*_core._stored_qr(a), None)


def _is_wide(a: StoredArray) -> bool:
    return a.ndim == 2 and a.shape[0] < a.shape[1]


def _svd(a: StoredArray, full_matrices: bool) -> tuple[Any, Array, Any]:
    if full_matrices:
        raise _core.ArgumentError("svd: of a stored matrix there is no square U; pass full_matrices=False")
    if not _is_wide(a):
        return _core._stored_svd(a)
    left, values, right = _core._stored_svd(a.transpose())
    return right.T, values, left.transpose()


def _svdvals(a: StoredArray) -> Array:
    return _core._stored_svdvals(a.transpose() if _is_wide(a) else a)


functions: dict[str, Callable[..., Any]] = {"_qr": _qr, "_svd_of": _svd, "_svdvals": _svdvals}
functions |= {"_lstsq": of_two("lstsq", _core._stored_lstsq), "_pinv": _core._stored_pinv}


@dataclass(frozen=True)
class StoredSvdResult:
    """Some singular values of an array on disk; unpacks to U, S, Vh, of which U and Vh are on disk.

    >>> U, S, Vh = ts.solve.randomized_svd(ts.stored.array(np.diag([3.0, 1.0, 2.0])), k=2)
    >>> U.shape, S.numpy().round(6).tolist(), Vh.shape
    ((3, 2), [3.0, 2.0], (2, 3))
    """

    U: StoredArray
    S: Array
    Vh: StoredArray
    history: list[float]
    converged: bool

    @property
    def iterations(self) -> int:
        """Passes, each of which read the array twice."""
        return len(self.history)

    def __iter__(self) -> Iterator[Any]:
        return iter((self.U, self.S, self.Vh))


def randomized_svd(
    a: StoredArray, k: int, oversample: int, passes: int, rtol: float, atol: float, seed: int
) -> StoredSvdResult:
    """The k largest singular values, by passes over the array on disk."""
    return StoredSvdResult(*_core._stored_randomized_svd(a, k, oversample, passes, rtol, atol, seed))


def as_operator(a: StoredArray | StoredMatrix, who: str) -> tuple[_core.NamedLinop, tuple[int], Any]:
    """A square matrix on disk, of any form, as an operator on vectors in memory, their shape and their dtype; each
    application to a block of vectors reads the matrix once."""
    if len(a.shape) != 2 or a.shape[0] != a.shape[1]:
        raise _core.ShapeError(f"{who}: takes a square matrix, got a stored array of shape {a.shape}")
    if isinstance(a, StoredMatrix):
        return _form_as_operator(a)
    dtype = _core._as_working(_core.zeros(0, dtype=a.dtype)).dtype
    matrix = a._as(dtype).compute() if a.dtype != dtype or a.is_formula else a

    def through(x: Array, trans: str) -> Array:
        rows = x.reshape(-1, x.shape[-1])  # vectors lie one above the other
        return _core._stored_multiply(matrix, rows.T, trans).T.reshape(*x.shape)

    both = (lambda x: through(x, "N")), (lambda y: through(y, "C"))
    return _core.SimpleLinop(*both, None, ("...", "N"), name="stored"), (a.shape[0],), dtype


def _form_as_operator(a: StoredMatrix) -> tuple[_core.NamedLinop, tuple[int], Any]:
    dtype = _core._as_working(_core.zeros(0, dtype=a.dtype)).dtype

    def through(matrix: StoredMatrix, x: Array) -> Array:
        rows = x.reshape(-1, x.shape[-1])
        return _core._stored_form_times(matrix, rows.T).T.reshape(*x.shape).astype(x.dtype)

    both = (lambda x: through(a, x)), (lambda y: through(a.H, y))
    return _core.SimpleLinop(*both, None, ("...", "N"), name="stored"), (a.shape[0],), dtype
