# SPDX-License-Identifier: Apache-2.0
"""Operators in SciPy and SciPy's in here: ``LinearOperator`` and sparse matrices, in both directions.

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
from ._checked import check_arguments as _check_arguments
from ._checked import whole_numbers

try:
    import scipy.sparse
    from scipy.sparse.linalg import LinearOperator
except ImportError as error:
    raise needs("scipy", error) from error

__all__ = ["aslinearoperator", "from_linearoperator"]


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
    if shape is None:
        sizes = [A.size(d) for d in A.ishape if d != "..."]
        if None in sizes:
            raise _core.DimError(f"ts.scipy.aslinearoperator: {A} does not know all sizes of its input; give shape=")
        shape = [n for n in sizes if n is not None]
    given = tuple(whole_numbers(shape))
    return _Matrix(A, given, np.float64 if dtype is None else dtype)


def _sizes(who: str, names: Sequence[Any], sizes: Sequence[int] | None, total: int) -> tuple[int, ...]:
    if sizes is None and len(names) == 1:
        return (total,)
    if sizes is None or len(sizes) != len(names) or math.prod(sizes) != total:
        raise _core.ShapeError(
            f"ts.scipy.from_linearoperator: {who} are the sizes of {tuple(names)}, {total} elements in all, got {sizes}"
        )
    return tuple(sizes)


def from_linearoperator(
    L: Any, ishape: Any, oshape: Any, isizes: Sequence[int] | None = None, osizes: Sequence[int] | None = None
) -> _core.NamedLinop:
    """An operator with names from a ``LinearOperator``, a sparse matrix or anything that SciPy takes for one.

    ``isizes`` and ``osizes`` say how the flattened sides are cut into dims; one name needs none. What
    ``aslinearoperator`` made comes back as it was, under the new names.

    >>> import scipy.sparse
    >>> A = ts.scipy.from_linearoperator(scipy.sparse.diags_array([1.0, 2.0]), "N", "M")
    >>> A([1.0, 1.0]).tolist(), A.H.ishape
    ([1.0, 2.0], (M,))
    """
    names_in = _core.Dim(ishape) if isinstance(ishape, str) else _core.ND.infer(tuple(ishape))
    names_out = _core.Dim(oshape) if isinstance(oshape, str) else _core.ND.infer(tuple(oshape))
    if isinstance(L, _Matrix):
        before = [*L.linop.ishape, *L.linop.oshape]
        after = [*names_in, *names_out]
        if len(before) == len(after) and "..." not in before:
            return L.linop.rename(dict(zip(before, after, strict=True)))
    shape = tuple(L.shape)
    inputs = _sizes("isizes", names_in, isizes, shape[1])
    outputs = _sizes("osizes", names_out, osizes, shape[0])
    if scipy.sparse.issparse(L):
        return _core.Sparse(L, names_in, names_out, inputs, outputs, ())
    operator = scipy.sparse.linalg.aslinearoperator(L)

    def through(product: Any, result: tuple[int, ...]) -> Any:
        def run(x: _core.Array) -> _core.Array:
            y = np.asarray(product(x.to("cpu").numpy().reshape(-1)))
            return _core.asarray(y.reshape(result)).to(x.device)

        return run

    sizes = dict(zip((*names_in, *names_out), (*inputs, *outputs), strict=True))
    least = operator.dtype if np.issubdtype(operator.dtype, np.inexact) else None
    forward, adjoint = through(operator.matvec, outputs), through(operator.rmatvec, inputs)
    return _core.SimpleLinop(forward, adjoint, None, names_in, names_out, type(L).__name__, sizes, least)


_check_arguments(globals(), __all__, "ts.scipy.", guard=True)
