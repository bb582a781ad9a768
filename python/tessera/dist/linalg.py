# SPDX-License-Identifier: Apache-2.0
"""Dense linear algebra over ranks with NumPy's names: large matrices by ScaLAPACK, small ones on every rank; stacks of
matrices are distributed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from .. import _dist
from .._checked import axes_of
from .._dist import (
    Communicator,
    DNDarray,
    _cholesky,
    _det,
    _eigh,
    _inverse,
    _linalg_backend,
    _lstsq,
    _matmul,
    _qr,
    _slogdet,
    _solve,
    _svd,
)
from .._dtypes import finfo, result_type
from .._matrices import Matrices
from ..linalg import qr as _core_qr

__all__ = [
    "backend",
    "cholesky",
    "cond",
    "cross",
    "det",
    "diagonal",
    "eigh",
    "eigvalsh",
    "inv",
    "inverse",
    "lstsq",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "norm",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "svdvals",
    "tensordot",
    "trace",
    "vecdot",
    "vector_norm",
]


class QRResult(NamedTuple):
    Q: DNDarray
    R: DNDarray


class EighResult(NamedTuple):
    eigenvalues: DNDarray
    eigenvectors: DNDarray


class SVDResult(NamedTuple):
    U: DNDarray
    S: DNDarray
    Vh: DNDarray


class SlogdetResult(NamedTuple):
    sign: DNDarray
    logabsdet: DNDarray


class LstsqResult(NamedTuple):
    x: DNDarray
    residuals: DNDarray
    rank: int
    s: DNDarray


def backend(comm: Communicator | None = None) -> str:
    """What factors large matrices of these ranks: "ScaLAPACK", or why it is not used.

    >>> isinstance(ts.dist.linalg.backend(), str)
    True
    """
    return _linalg_backend(comm)


def matmul(a: Any, b: Any) -> DNDarray:
    """The product of two matrices, by ScaLAPACK where it is large; ``a @ b`` takes all shapes.

    >>> ts.dist.linalg.matmul(ts.dist.ones((2, 3), split=0), ts.dist.ones((3, 1), split=0)).tolist()
    [[3.0], [3.0]]
    """
    return _matmul(a, b)


def solve(a: Any, b: Any) -> DNDarray:
    """The x of a x = b; b is a vector or a matrix.

    >>> ts.dist.linalg.solve(ts.dist.array([[2.0, 0.0], [0.0, 4.0]], split=0), [2.0, 2.0]).tolist()
    [1.0, 0.5]
    """
    return _solve(a, b)


def inverse(a: Any) -> DNDarray:
    """The inverse of a square matrix.

    >>> (ts.dist.linalg.inverse(ts.dist.array([[2.0, 0.0], [0.0, 4.0]], split=0)) * 4).diagonal().tolist()
    [2.0, 1.0]
    """
    return _inverse(a)


def inv(a: Any) -> DNDarray:
    """NumPy's name of ``inverse``.

    >>> ts.dist.linalg.inv(ts.dist.array([[2.0]], split=0)).tolist()
    [[0.5]]
    """
    return _inverse(a)


def cholesky(a: Any, *, upper: bool = False) -> DNDarray:
    """The lower triangle L with L Lᴴ = a, or the upper one U with Uᴴ U = a; only that triangle of a is read.

    >>> ts.dist.linalg.cholesky(ts.dist.array([[4.0, 0.0], [2.0, 10.0]], split=0)).tolist()
    [[2.0, 0.0], [1.0, 3.0]]
    """
    if not upper:
        return _cholesky(a)
    a = a if isinstance(a, DNDarray) else _dist.array(a)
    return _cholesky(a.mT.conj()).mT.conj()


def qr(a: Any, mode: str = "reduced") -> QRResult:
    """Orthonormal columns Q and an upper triangle R with Q R = a: the reduced form, which is the only ``mode``.

    >>> q, r = ts.dist.linalg.qr(ts.dist.random.normal((5, 2), split=0)); q.shape, r.shape
    ((5, 2), (2, 2))
    """
    if mode != "reduced":
        raise NotImplementedError(f"qr: over ranks there is mode 'reduced' only, got '{mode}'")
    return QRResult(*_qr(a))


def eigh(a: Any) -> EighResult:
    """Eigenvalues, ascending, and eigenvectors, as columns, of a symmetric or Hermitian matrix.

    >>> w, v = ts.dist.linalg.eigh(ts.dist.array([[2.0, 0.0], [0.0, 1.0]], split=0)); w.tolist()
    [1.0, 2.0]
    """
    return EighResult(*_eigh(a))


def eigvalsh(a: Any) -> DNDarray:
    """The eigenvalues of a symmetric or Hermitian matrix, ascending.

    >>> ts.dist.linalg.eigvalsh(ts.dist.array([[2.0, 0.0], [0.0, 1.0]], split=0)).tolist()
    [1.0, 2.0]
    """
    return _eigh(a)[0]


def svd(a: Any, full_matrices: bool = True) -> SVDResult:
    """Singular values, descending, and vectors: a = (U * S) @ Vh with what belongs to the singular values. The vectors
    beyond, of matrices that are not square, are found by every rank from the gathered others: ``full_matrices=False``
    leaves them out.

    >>> u, s, vh = ts.dist.linalg.svd(ts.dist.array([[3.0, 0.0], [0.0, 4.0], [0.0, 0.0]], split=0)); s.tolist()
    [4.0, 3.0]
    >>> u.shape, vh.shape
    ((3, 3), (2, 2))
    """
    u, s, vh = _svd(a)
    if full_matrices:
        u, vh = _completed(u), _completed(vh.mT).mT
    return SVDResult(u, s, vh)


def _completed(columns: DNDarray) -> DNDarray:
    """Orthonormal columns and behind them others, as many as there are rows."""
    rows, n = columns.shape[-2:]
    if rows == n:
        return columns
    others = _core_qr(columns.resplit(None).local, mode="complete").Q[..., n:]
    whole = _dist.concatenate([columns.resplit(None), _dist.array(others, comm=columns.comm)], axis=-1)
    return whole.resplit(columns.split)


def svdvals(a: Any) -> DNDarray:
    """The singular values, descending.

    >>> ts.dist.linalg.svdvals(ts.dist.array([[3.0, 0.0], [0.0, 4.0]], split=0)).tolist()
    [4.0, 3.0]
    """
    return _svd(a)[1]


def det(a: Any) -> DNDarray:
    """The determinant.

    >>> abs(ts.dist.linalg.det(ts.dist.array([[2.0, 0.0], [0.0, 4.0]], split=0)).item() - 8) < 1e-12
    True
    """
    return _det(a)


def slogdet(a: Any) -> SlogdetResult:
    """The sign of the determinant and the logarithm of its magnitude.

    >>> ts.dist.linalg.slogdet(ts.dist.array([[-1.0, 0.0], [0.0, 1.0]], split=0)).sign.item()
    -1.0
    """
    return SlogdetResult(*_slogdet(a))


def lstsq(a: Any, b: Any, rcond: float | None = None) -> LstsqResult:
    """The x of least |b - a x|, and of those the shortest; residuals, rank and singular values.

    >>> abs(ts.dist.linalg.lstsq(ts.dist.array([[1.0], [1.0]], split=0), [1.0, 3.0]).x.item() - 2) < 1e-12
    True
    """
    return LstsqResult(*_lstsq(a, b, -1.0 if rcond is None else rcond))


def _vector_norm(x: DNDarray, order: float, axis: int | tuple[int, ...], keepdims: bool) -> DNDarray:
    size = abs(x)
    if order == float("inf"):
        return size.max(axis, keepdims=keepdims)
    if order == float("-inf"):
        return size.min(axis, keepdims=keepdims)
    if order == 0:
        return (x != 0).sum(axis, keepdims=keepdims).astype(size.dtype)
    return (size**order).sum(axis, keepdims=keepdims) ** (1.0 / order)


def _matrix_norm(x: DNDarray, order: Any, axes: tuple[int, int], keepdims: bool) -> DNDarray:
    row, column = (a % x.ndim for a in axes)
    if order in (1, -1, float("inf"), float("-inf")):
        first, second = (row, column) if abs(order) == 1 else (column, row)
        sums = abs(x).sum(first, keepdims=True)
        found = sums.max(second, keepdims=True) if order > 0 else sums.min(second, keepdims=True)
    elif order in (2, -2, "nuc"):
        values = svdvals(_dist.moveaxis(x, (row, column), (-2, -1)))
        found = values.sum(-1) if order == "nuc" else values.max(-1) if order == 2 else values.min(-1)
        for axis in sorted((row, column)):
            found = _dist.expand_dims(found, axis)
    else:
        raise ValueError("Invalid norm order for matrices.")
    return found if keepdims else found.squeeze((row, column))


def norm(x: Any, ord: Any = None, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> DNDarray:
    """NumPy's norms of vectors and matrices; the square root of the sum of |x|**2 unless told.

    >>> x = ts.dist.array([3.0, -4.0], split=0)
    >>> ts.dist.linalg.norm(x).item(), ts.dist.linalg.norm(x, 1).item(), ts.dist.linalg.norm(x, float("inf")).item()
    (5.0, 7.0, 4.0)
    """
    x = x if isinstance(x, DNDarray) else _dist.array(x)
    x = x if x.dtype.kind in "fc" else x.astype("float64")
    if ord is None:
        return _dist.norm(x, axis, keepdims)
    axes = axes_of(axis, x.ndim)
    if len(axes) == 1:
        if isinstance(ord, str):
            raise ValueError(f"Invalid norm order '{ord}' for vectors")
        return _dist.norm(x, axes, keepdims) if ord == 2 else _vector_norm(x, ord, axes[0], keepdims)
    if len(axes) != 2:
        raise ValueError("Improper number of dimensions to norm.")
    if ord in ("fro", "f"):
        return _dist.norm(x, axes, keepdims)
    return _matrix_norm(x, ord, (axes[0], axes[1]), keepdims)


def vector_norm(
    x: Any, *, axis: int | Sequence[int] | None = None, keepdims: bool = False, ord: float | None = 2
) -> DNDarray:
    """The norm of vectors along one axis, or of all the numbers in several; without an axis, of all there are.

    >>> ts.dist.linalg.vector_norm(ts.dist.array([[3.0, 4.0]], split=1), ord=1).item()
    7.0
    >>> ts.dist.linalg.vector_norm(ts.dist.ones((2, 2, 3), split=0), axis=(0, 1)).tolist()
    [2.0, 2.0, 2.0]
    """
    x = x if isinstance(x, DNDarray) else _dist.array(x)
    axes = tuple(range(x.ndim)) if axis is None else tuple(axis) if isinstance(axis, Sequence) else (axis,)
    if len(axes) == 1:
        return norm(x, ord, axes[0], keepdims)
    if isinstance(ord, str):
        raise ValueError(f"Invalid norm order '{ord}' for vectors")
    x = x if x.dtype.kind in "fc" else x.astype("float64")
    if not axes:
        return abs(x) if ord != 0 else (x != 0).astype(abs(x).dtype)
    return _dist.norm(x, list(axes), keepdims) if ord in (None, 2) else _vector_norm(x, ord, axes, keepdims)


def matrix_norm(x: Any, *, keepdims: bool = False, ord: Any = "fro") -> DNDarray:
    """The norm of the matrices in the last two axes.

    >>> ts.dist.linalg.matrix_norm(ts.dist.array([[3.0, 4.0], [0.0, 0.0]], split=0)).item()
    5.0
    """
    return norm(x, ord, (-2, -1), keepdims)


def trace(a: Any, *, offset: int = 0, dtype: Any = None) -> DNDarray:
    """The sum of the diagonal of the last two axes, computed in ``dtype``.

    >>> ts.dist.linalg.trace(ts.dist.array([[2, 0], [0, 3]], split=0)).item()
    5
    """
    return diagonal(a, offset=offset).sum(-1, dtype=dtype)


def _tolerance(a: DNDarray, rtol: Any) -> Any:
    """A number, or one for each matrix of a stack, beside its singular values."""
    if rtol is None:
        return max(a.shape[-2:]) * finfo(result_type(a.dtype, "float32")).eps
    if isinstance(rtol, (int, float)):
        return rtol
    rtol = rtol if isinstance(rtol, DNDarray) else _dist.array(rtol)
    return _dist.expand_dims(rtol, -1) if rtol.ndim > 0 else rtol.item()


def _largest(s: DNDarray) -> DNDarray:
    """The largest singular values; zero where there are none."""
    return s.max(-1, keepdims=True) if s.shape[-1] else s.sum(-1, keepdims=True)


def pinv(a: Any, rcond: Any = None, *, rtol: Any = None) -> DNDarray:
    """The pseudo-inverse; singular values at most ``rtol`` times the largest count as zero: a number, or an array with
    one for each matrix of a stack.

    >>> ts.dist.linalg.pinv(ts.dist.array([[2.0], [0.0]], split=0)).numpy().round(6).tolist()
    [[0.5, 0.0]]
    """
    u, s, vh = svd(a, full_matrices=False)
    least = _largest(s) * _tolerance(u, rcond if rtol is None else rtol)
    shares = _dist.where(s > least, 1 / _dist.where(s > least, s, 1), 0)
    return (vh.mT.conj() * _dist.expand_dims(shares, -2)) @ u.mT.conj()


def matrix_rank(a: Any, *, rtol: Any = None) -> DNDarray:
    """The number of singular values above ``rtol`` times the largest, a number or an array with one for each matrix of
    a stack; 1 for a vector that is not zero.

    >>> ts.dist.linalg.matrix_rank(ts.dist.array([[1.0, 2.0], [2.0, 4.0]], split=0)).item()
    1
    """
    a = a if isinstance(a, DNDarray) else _dist.array(a)
    if a.ndim < 2:
        return _dist.any(a != 0).astype("int64")
    s = svdvals(a)
    return (s > _largest(s) * _tolerance(a, rtol)).sum(-1)


def cond(a: Any, p: Any = None) -> DNDarray:
    """The condition of matrices: the ratio of singular values, or norm(a, p) times norm(inverse, p).

    >>> round(ts.dist.linalg.cond(ts.dist.array([[4.0, 7.0], [2.0, 6.0]], split=0), "fro").item(), 6)
    10.5
    """
    if p is None:
        s = svdvals(a)
        return s.max(-1) / s.min(-1)
    return norm(a, p, (-2, -1)) * norm(inverse(a), p, (-2, -1))


_matrices: Matrices[DNDarray] = Matrices(_dist, DNDarray, inverse)
cross = _matrices.cross
diagonal = _matrices.diagonal
matrix_power = _matrices.matrix_power
matrix_transpose = _matrices.matrix_transpose
outer = _matrices.outer
tensordot = _matrices.tensordot
vecdot = _matrices.vecdot
