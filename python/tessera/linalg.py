# SPDX-License-Identifier: Apache-2.0
"""Dense linear algebra with NumPy's names, for stacks of matrices along leading axes, on the device of the arrays.

Integers are taken as float64, short floats as float32. Singular matrices and the like are a
:class:`tessera.LinAlgError`, a ``ValueError`` and a ``RuntimeError``, that names the matrix of the stack and its pivot.

All functions take matrices of :mod:`tessera.matrix` too and use what is known of them; inverses, pseudo-inverses and
Cholesky factors of those are matrices again. All other factors (``lu``, ``qr``, ``svd``, ``eig``, ``eigh``) are arrays.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import index
from os import PathLike
from typing import Any, NamedTuple

from . import _local
from ._checked import axes_of
from ._decompositions import LDLResult, SchurResult, eig_pair, eigh_pair, ldl, schur, solve_banded, solveh_banded
from ._few_eigenvalues import few_eigenvalues as _few_eigenvalues
from ._matrices import Matrices
from ._matrix import AnyMatrix
from ._matrix_functions import expm, logm, multi_dot, sqrtm, tensorinv, tensorsolve
from ._tessera import (
    Array,
    Cholesky,
    LinAlgError,
    Lu,
    _cholesky,
    _cholesky_factor,
    _cond,
    _det,
    _eig,
    _eigh,
    _eigvals,
    _eigvalsh,
    _inverse,
    _lstsq,
    _lu_factor,
    _matrix_power,
    _matrix_rank,
    _norm,
    _pinv,
    _qr,
    _slogdet,
    _solve,
    _solve_options,
    _solve_triangular,
    _svd_of,
    _svdvals,
    _trace,
    asarray,
)
from ._tessera import matmul as _matmul

__all__ = [
    "Cholesky",
    "EigResult",
    "EighResult",
    "LDLResult",
    "LUResult",
    "LinAlgError",
    "LstsqResult",
    "Lu",
    "QRResult",
    "SVDResult",
    "SchurResult",
    "SlogdetResult",
    "cholesky",
    "cholesky_factor",
    "cond",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigs",
    "eigvals",
    "eigvalsh",
    "expm",
    "inv",
    "inverse",
    "ldl",
    "logm",
    "lstsq",
    "lu",
    "lu_factor",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "multi_dot",
    "norm",
    "outer",
    "pinv",
    "qr",
    "schur",
    "slogdet",
    "solve",
    "solve_banded",
    "solve_triangular",
    "solveh_banded",
    "sqrtm",
    "svd",
    "svdvals",
    "tensordot",
    "tensorinv",
    "tensorsolve",
    "trace",
    "vecdot",
    "vector_norm",
]


class LUResult(NamedTuple):
    """What :func:`lu` gives.

    >>> ts.linalg.lu([[2.0]]).U.tolist()
    [[2.0]]
    """

    P: Array
    L: Array
    U: Array


class QRResult(NamedTuple):
    """What :func:`qr` gives; with ``pivoting`` a third, the order of the columns, stands behind it.

    >>> ts.linalg.qr(ts.ones((3, 2))).R.shape
    (2, 2)
    """

    Q: Array
    R: Array


class EighResult(NamedTuple):
    """What :func:`eigh` gives.

    >>> ts.linalg.eigh([[2.0]]).eigenvalues.tolist()
    [2.0]
    """

    eigenvalues: Array
    eigenvectors: Array


class EigResult(NamedTuple):
    """What :func:`eig` gives.

    >>> ts.linalg.eig([[2.0]]).eigenvalues.tolist()
    [(2+0j)]
    """

    eigenvalues: Array
    eigenvectors: Array


class SVDResult(NamedTuple):
    """What :func:`svd` gives.

    >>> ts.linalg.svd([[2.0]]).S.tolist()
    [2.0]
    """

    U: Array
    S: Array
    Vh: Array


class SlogdetResult(NamedTuple):
    """What :func:`slogdet` gives.

    >>> ts.linalg.slogdet([[-1.0]]).sign.item()
    -1.0
    """

    sign: Array
    logabsdet: Array


class LstsqResult(NamedTuple):
    """What :func:`lstsq` gives.

    >>> ts.linalg.lstsq([[2.0], [0.0]], [4.0, 0.0]).rank
    1
    """

    x: Array
    residuals: Array
    rank: int
    s: Array


def matmul(a: Any, b: Any) -> Any:
    """The product of matrices, NumPy's ``a @ b``; of matrices of a known form as :mod:`tessera.matrix` has it.

    >>> ts.linalg.matmul([[1, 2], [3, 4]], [1, 2]).tolist()
    [5, 11]
    """
    return a @ b if isinstance(a, AnyMatrix) or isinstance(b, AnyMatrix) else _matmul(a, b)


def inverse(a: Any) -> Any:
    """The inverse of square matrices. To solve a x = b, :func:`solve` is quicker and more exact.

    >>> ts.linalg.inverse([[4.0, 7.0], [2.0, 6.0]]).numpy().round(6).tolist()
    [[0.6, -0.7], [-0.2, 0.4]]
    """
    return _inverse(a)


def inv(a: Any) -> Any:
    """NumPy's name of :func:`inverse`.

    >>> ts.linalg.inv([[2.0]]).tolist()
    [[0.5]]
    """
    return _inverse(a)


def matrix_power(a: Any, n: int) -> Any:
    """The product of n square matrices a; of 0 the identity, of negative n powers of the inverse.

    ``**`` raises each element instead, as NumPy's does.

    >>> ts.linalg.matrix_power([[1, 1], [0, 1]], 5).tolist(), ts.linalg.matrix_power([[2.0]], -2).tolist()
    ([[1, 5], [0, 1]], [[0.25]])
    >>> ts.linalg.matrix_power(ts.matrix.Diagonal([1.0, 3.0]), 4)
    Diagonal (2, 2) float64 on cpu, 16 bytes
    [[ 1.  0.]
     [ 0. 81.]]
    """
    return _matrix_power(a, index(n))


def solve(a: Any, b: Any) -> Array:
    """The x of a x = b, by LU with exchanges of rows; b is a vector or a stack of matrices.

    >>> ts.linalg.solve([[4.0, 1.0], [2.0, 3.0]], [1.0, 0.0]).numpy().round(6).tolist()
    [0.3, -0.2]
    """
    return _solve(a, b)


def solve_triangular(a: Any, b: Any, trans: int | str = 0, lower: bool = False, unit_diagonal: bool = False) -> Array:
    """The x of a x = b with a triangular: only that triangle is read.

    ``trans`` 1 or 'T' solves with the transpose, 2 or 'C' with the adjoint; ``unit_diagonal`` takes ones for the
    diagonal.

    >>> ts.linalg.solve_triangular([[2.0, 0.0], [1.0, 1.0]], [2.0, 3.0], lower=True).tolist()
    [1.0, 2.0]
    """
    return _solve_triangular(a, b, trans, lower, unit_diagonal)


def lstsq(a: Any, b: Any, rcond: float | None = None) -> LstsqResult:
    """The x of least \\|b - a x\\|, of those the shortest, by singular values; b is a vector or a stack of matrices.

    Singular values below ``rcond`` times the largest count as zero (None: the precision times max(m, n)). Of a stack,
    the rank is the least; residuals are empty where it is below n or m <= n. A matrix on disk with many rows is read
    once, together with b.

    >>> ts.linalg.lstsq([[1, 1], [1, 2], [1, 3]], [1, 2, 2]).x.numpy().round(4).tolist()
    [0.6667, 0.5]
    """
    return LstsqResult(*_lstsq(a, b, rcond))


def lu(a: Any) -> LUResult:
    """The factors of a = P L U: a permutation, a lower triangle with ones on its diagonal, an upper triangle.

    >>> P, L, U = ts.linalg.lu([[1.0, 2.0], [4.0, 4.0]])
    >>> (P @ L @ U).tolist(), U.tolist()
    ([[1.0, 2.0], [4.0, 4.0]], [[4.0, 4.0], [0.0, 1.0]])
    """
    f = _lu_factor(a)
    return LUResult(f.P, f.L, f.U)


def lu_factor(a: Any) -> Lu:
    """The factored form of matrices, to solve with many right sides: ``f.solve(b)``.

    >>> f = ts.linalg.lu_factor([[4.0, 1.0], [2.0, 3.0]])
    >>> f.solve([1.0, 0.0]).numpy().round(6).tolist(), f.solve([1.0, 0.0], trans="T").numpy().round(6).tolist()
    ([0.3, -0.2], [0.3, -0.1])
    """
    return _lu_factor(a)


def cholesky(a: Any, *, upper: bool = False) -> Any:
    """The lower triangle L with a = L L.H, or the upper one U with a = U.H U; only that triangle of a is read.

    >>> ts.linalg.cholesky([[4.0, 2.0], [2.0, 5.0]]).tolist()
    [[2.0, 0.0], [1.0, 2.0]]
    """
    return _cholesky(a, upper)


def cholesky_factor(a: Any) -> Cholesky:
    """The factored form of positive matrices, to solve with many right sides.

    >>> ts.linalg.cholesky_factor([[4.0, 0.0], [0.0, 2.0]]).solve([2.0, 1.0]).numpy().round(6).tolist()
    [0.5, 0.5]
    """
    return _cholesky_factor(a)


def qr(a: Any, mode: str = "reduced", *, pivoting: bool = False) -> Any:
    """Orthonormal columns Q and an upper triangle R with a = Q R; ``mode`` is "reduced", "complete" or "r" (R alone).

    With ``pivoting`` a third result is the order of the columns, a[:, order] = Q R, in which \\|diagonal of R\\| falls.

    Of a matrix on disk with many rows and few columns Q is on disk and R, with no negative number on its diagonal, in
    memory; "r" reads it once.

    >>> Q, R = ts.linalg.qr([[3.0], [4.0]])
    >>> np.abs(R.numpy()).round(6).tolist()
    [[5.0]]
    """
    q, r, order = _qr(a, mode, pivoting)
    if q is None:  # mode "r"
        return (r, order) if pivoting else r
    return (q, r, order) if pivoting else QRResult(q, r)


def eigh(a: Any, UPLO: str = "L", *, b: Any = None) -> EighResult:
    """Eigenvalues, ascending, and eigenvectors (columns) of Hermitian matrices; one triangle is read.

    With a positive ``b`` those of a v = w b v; the vectors have v.H b v = 1.

    >>> ts.linalg.eigh([[2.0, 1.0], [1.0, 2.0]]).eigenvalues.numpy().round(6).tolist()
    [1.0, 3.0]
    >>> ts.linalg.eigh([[2.0, 0.0], [0.0, 6.0]], b=[[1.0, 0.0], [0.0, 2.0]]).eigenvalues.numpy().round(6).tolist()
    [2.0, 3.0]
    """
    return EighResult(*(_eigh(a, _lower(UPLO)) if b is None else eigh_pair(a, b, _lower(UPLO))))


def eigvalsh(a: Any, UPLO: str = "L") -> Array:
    """Eigenvalues of Hermitian matrices, ascending.

    >>> ts.linalg.eigvalsh([[2.0, 1.0], [1.0, 2.0]]).numpy().round(6).tolist()
    [1.0, 3.0]
    """
    return _eigvalsh(a, _lower(UPLO))


def _lower(uplo: str) -> bool:
    if uplo.upper() not in ("L", "U"):
        raise ValueError(f"UPLO argument must be 'L' or 'U', got {uplo!r}")
    return uplo.upper() == "L"


def eig(a: Any, *, left: bool = False, b: Any = None) -> Any:
    """Eigenvalues and eigenvectors (columns) of square matrices; with ``left`` a third result, the left vectors.

    With ``b`` those of a v = w b v, infinite where b is singular.
    Values and vectors are complex whatever the matrix. Hermitian and skew-Hermitian matrices are noticed: their values
    are exactly real or exactly imaginary.

    >>> ts.linalg.eig([[0.0, 1.0], [-1.0, 0.0]]).eigenvalues.numpy().imag.round(6).tolist()
    [1.0, -1.0]
    """
    values, vectors, other = _eig(a, left) if b is None else eig_pair(a, b, left)
    return (values, vectors, other) if left else EigResult(values, vectors)


def eigvals(a: Any) -> Array:
    """Eigenvalues of square matrices, complex, in no particular order.

    >>> ts.linalg.eigvals([[1.0, 5.0], [0.0, 2.0]]).tolist()
    [(1+0j), (2+0j)]
    """
    return _eigvals(a)


def eigs(
    A: Any,
    k: int = 6,
    which: str = "LM",
    *,
    x0: Any = None,
    ncv: int | None = None,
    block: int = 1,
    shape: int | Sequence[int] | None = None,
    dtype: Any = None,
    device: Any = None,
    seed: int = 0,
    rtol: float = 1e-10,
    atol: float = 0.0,
    maxiter: int = 10000,
) -> EigResult:
    """A few eigenvalues of a large square matrix or a :class:`tessera.NamedLinop`, by the block Krylov-Schur method.

    ``which`` is LM, SM (magnitude), LR, SR (real part), LI or SI (imaginary part), as in SciPy; the basis has ``ncv``
    vectors. Values and vectors (*ishape, k) are complex. The smallest values of a matrix are found by its factors; of
    an operator they need many applications. ``maxiter`` counts applications of A, each to ``block`` vectors; a
    RuntimeError says when they were not enough.

    An eigenvalue that is one ``m`` times is sure to be found ``m`` times with a ``block`` of ``m`` vectors or more. A
    matrix is read once for all vectors of a block. One on disk is taken with vectors in memory, and not for SM.

    >>> values, vectors = ts.linalg.eigs(ts.Diagonal([1.0, 2.0, 5.0, -3.0, 0.5], ("X",)), 2)
    >>> values.numpy().real.round(6).tolist()
    [5.0, -3.0]
    >>> values, vectors = ts.linalg.eigs(ts.Diagonal([7.0, 7.0] + [1.0] * 40, ("X",)), 2, block=2)
    >>> values.numpy().real.round(6).tolist()
    [7.0, 7.0]
    """
    options = _solve_options(x0, rtol, atol, maxiter, None, False, None, 0)
    return EigResult(*_few_eigenvalues(A, options, k, which, ncv or 0, block, shape, dtype, device, seed))


def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True) -> Any:
    """Singular values, descending, and vectors: a = (U * S) @ Vh.

    Of a matrix on disk with many rows and few columns, or the other way round, the large factor is on disk; it takes
    ``full_matrices=False``. For those with many of both there is :func:`tessera.solve.randomized_svd`.

    >>> U, S, Vh = ts.linalg.svd([[3.0, 0.0], [0.0, 4.0]])
    >>> S.tolist()
    [4.0, 3.0]
    """
    return SVDResult(*_svd_of(a, full_matrices)) if compute_uv else _svdvals(a)


def svdvals(a: Any) -> Array:
    """Singular values, descending.

    >>> ts.linalg.svdvals([[3.0, 0.0], [0.0, 4.0]]).tolist()
    [4.0, 3.0]
    """
    return _svdvals(a)


def _ndim(x: Any) -> int:
    return 0 if x is None else asarray(x).ndim


def _above(s: Array, rtol: Any) -> Array:
    """Which singular values of each matrix of a stack are above its own share of the largest."""
    if s.shape[-1] == 0:
        return s > 0
    return s > asarray(rtol, dtype=s.dtype, device=s.device)[..., None] * s.max(axis=-1, keepdims=True)


def pinv(a: Any, rcond: Any = None, *, rtol: Any = None) -> Any:
    """The pseudo-inverse; singular values at most ``rtol`` times the largest count as zero: a number, or an array with
    one for each matrix of a stack.

    >>> ts.linalg.pinv([[2.0], [0.0]]).numpy().round(6).tolist()
    [[0.5, 0.0]]
    >>> ts.linalg.pinv([[[2.0]], [[4.0]]], rtol=[0.0, 1.0]).tolist()
    [[[0.5]], [[0.0]]]
    """
    rtol = rcond if rtol is None else rtol
    if _ndim(rtol) == 0:
        return _pinv(a, rtol if rtol is None else float(rtol))
    u, s, vh = _svd_of(a, False)
    large = _above(s, rtol)
    inverse = _local.where(large, 1 / _local.where(large, s, 1), 0)
    return _matmul(_local.conj(vh.mT) * inverse[..., None, :], _local.conj(u.mT))


def matrix_rank(a: Any, *, rtol: Any = None) -> Array:
    """The number of singular values above ``rtol`` times the largest: a number, or an array with one for each matrix of
    a stack.

    >>> ts.linalg.matrix_rank([[1.0, 2.0], [2.0, 4.0]]).item()
    1
    >>> ts.linalg.matrix_rank([[[4.0, 0.0], [0.0, 1.0]]] * 2, rtol=[0.1, 0.5]).tolist()
    [2, 1]
    """
    if _ndim(rtol) == 0:
        return _matrix_rank(a, rtol if rtol is None else float(rtol))
    return _above(_svdvals(a), rtol).sum(axis=-1)


def det(a: Any) -> Array:
    """Determinants; what lies between does not overflow.

    >>> round(ts.linalg.det([[4.0, 7.0], [2.0, 6.0]]).item(), 9)
    10.0
    """
    return _det(a)


def slogdet(a: Any) -> SlogdetResult:
    """The sign of determinants and the logarithm of their size.

    >>> ts.linalg.slogdet(10 * ts.eye(400)).logabsdet.numpy().round(4).item()
    921.034
    """
    return SlogdetResult(*_slogdet(a))


def trace(a: Any, *, offset: int = 0, dtype: Any = None) -> Array:
    """The sum of the diagonal of the last two axes, computed in ``dtype``.

    >>> ts.linalg.trace([[2, 0], [0, 3]]).item(), ts.linalg.trace([[2, 0], [0, 3]], dtype="float32").dtype
    (5, tessera.float32)

    A timeline of what runs is written by :func:`tessera.trace`.
    """
    if isinstance(a, str | PathLike):
        raise TypeError("linalg.trace: expected a matrix, got a path; ts.trace(path) writes a timeline of what runs")
    return _trace(a, offset) if dtype is None else _trace(asarray(a).astype(dtype), offset).astype(dtype)


def norm(x: Any, ord: Any = None, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Array:
    """Norms of vectors (one axis) or matrices (two); ``ord`` is a number, infinity too, "fro" or "nuc", as NumPy's.

    >>> ts.linalg.norm([3.0, 4.0]).item(), ts.linalg.norm([[3.0, 4.0], [0.0, 0.0]], 1).item()
    (5.0, 4.0)
    """
    return _norm(x, ord, axis, keepdims)


def vector_norm(
    x: Any, *, axis: int | Sequence[int] | None = None, keepdims: bool = False, ord: float | None = 2
) -> Array:
    """The norm of vectors along one axis, or of all the numbers in several; without an axis, of all there are.

    >>> ts.linalg.vector_norm([[3.0, 4.0]], ord=1).item()
    7.0
    >>> ts.linalg.vector_norm(ts.ones((2, 2, 3)), axis=(0, 1)).tolist(), ts.linalg.vector_norm([-3.0], axis=()).tolist()
    ([2.0, 2.0, 2.0], [3.0])
    """
    whole = asarray(x)
    axes = axes_of(axis, whole.ndim)
    if len(axes) == 1:
        return _norm(whole, ord, axes[0], keepdims)
    kept = whole.ndim - len(axes)
    lines = _local.moveaxis(whole, axes, range(kept, whole.ndim))
    value = _norm(lines.reshape(*lines.shape[:kept], math.prod(lines.shape[kept:])), ord, -1, False)
    if not keepdims:
        return value
    over = [a % whole.ndim for a in axes]
    return value.reshape(tuple(1 if i in over else n for i, n in enumerate(whole.shape)))


def matrix_norm(x: Any, *, keepdims: bool = False, ord: Any = "fro") -> Array:
    """The norm of the matrices in the last two axes.

    >>> ts.linalg.matrix_norm([[3.0, 4.0], [0.0, 0.0]]).item()
    5.0
    """
    return _norm(x, ord, (-2, -1), keepdims)


def cond(a: Any, p: Any = None) -> Array:
    """The condition of matrices: the ratio of singular values, or norm(a, p) times norm(inverse, p).

    >>> round(ts.linalg.cond([[4.0, 7.0], [2.0, 6.0]], "fro").item(), 6)
    10.5
    """
    return _cond(a, p)


_matrices: Matrices[Array] = Matrices(_local, Array, inverse)
cross = _matrices.cross
diagonal = _matrices.diagonal
matrix_transpose = _matrices.matrix_transpose
outer = _matrices.outer
tensordot = _matrices.tensordot
vecdot = _matrices.vecdot
