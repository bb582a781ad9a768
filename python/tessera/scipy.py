# SPDX-License-Identifier: Apache-2.0
"""Operators in SciPy: as a ``LinearOperator`` on flattened arrays.

>>> import scipy.sparse.linalg as sla
>>> L = ts.scipy.aslinearoperator(ts.Diagonal([2.0, 4.0], ("X",)))
>>> float(sla.cg(L, [2.0, 2.0])[0][1])
0.5
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from . import _tessera as _core
from ._batched import apply_batched, needs

try:
    from scipy.sparse.linalg import LinearOperator
except ImportError as error:
    raise needs("scipy", error) from error

__all__ = ["aslinearoperator"]


class _Matrix(LinearOperator):
    """The matrix of an operator between flattened arrays, without its numbers being written down."""

    def __init__(self, A: _core.NamedLinop, shape: tuple[int, ...], dtype: Any) -> None:
        self.linop = A
        self.input_shape, self.output_shape = shape, A.output_shape(shape)
        self._lowest = np.dtype(dtype)
        super().__init__(
            np.dtype(str(A.output_dtype(dtype))), (math.prod(self.output_shape), math.prod(self.input_shape))
        )

    def _columns(self, A: _core.NamedLinop, shape: tuple[int, ...], X: np.ndarray) -> np.ndarray:
        X = np.asarray(X)
        X = X.astype(np.result_type(X.dtype, self._lowest), copy=False)
        Y = apply_batched(A, _core.asarray(X.T.reshape((X.shape[1], *shape))), 1)
        return Y.reshape((X.shape[1], -1)).numpy().T

    def _matmat(self, X: np.ndarray) -> np.ndarray:
        return self._columns(self.linop, self.input_shape, X)

    def _rmatmat(self, X: np.ndarray) -> np.ndarray:
        return self._columns(self.linop.H, self.output_shape, X)

    def _matvec(self, x: np.ndarray) -> np.ndarray:
        return self._matmat(np.reshape(x, (-1, 1)))[:, 0]

    def _rmatvec(self, x: np.ndarray) -> np.ndarray:
        return self._rmatmat(np.reshape(x, (-1, 1)))[:, 0]


def aslinearoperator(A: _core.NamedLinop, shape: int | Sequence[int] | None = None, dtype: Any = None) -> _Matrix:
    """The operator on flattened arrays, for SciPy's solvers and its algebra of operators.

    ``shape`` is the input's shape where the operator does not know its sizes, ``dtype`` that of the input (float64).
    ``linop`` of the result is the operator.

    >>> ts.scipy.aslinearoperator(ts.FFT(1), shape=8).shape
    (8, 8)
    """
    if not isinstance(A, _core.NamedLinop):
        raise _core.DTypeError(f"ts.scipy.aslinearoperator: expected an operator, got {type(A).__name__}")
    if shape is None:
        sizes = [A.size(d) for d in A.ishape if d != "..."]
        if None in sizes:
            raise _core.DimError(f"ts.scipy.aslinearoperator: {A} does not know all sizes of its input; give shape=")
        shape = [n for n in sizes if n is not None]
    given = (shape,) if isinstance(shape, int) else tuple(shape)
    return _Matrix(A, given, np.float64 if dtype is None else dtype)
