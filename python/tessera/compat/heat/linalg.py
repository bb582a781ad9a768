# SPDX-License-Identifier: Apache-2.0
"""Heat's linear algebra.

>>> ht.linalg.det(ht.array([[1.0, 2.0], [3.0, 5.0]], split=0)).round().item()
-1.0
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ... import dist as _dist
from .._absent import refuse
from ._array import DNDarray
from ._calls import _array, call, into
from ._functions import FUNCTIONS, methods

__all__ = [
    "cross",
    "det",
    "dot",
    "eigh",
    "inv",
    "matmul",
    "matrix_norm",
    "norm",
    "outer",
    "projection",
    "qr",
    "rsvd",
    "solve",
    "svd",
    "trace",
    "transpose",
    "tril",
    "triu",
    "vdot",
    "vecdot",
    "vector_norm",
]
transpose, tril, triu = (FUNCTIONS[name] for name in ("transpose", "tril", "triu"))


class QR(NamedTuple):
    """Q and R.

    >>> ht.linalg.qr(ht.eye(2)).R.shape
    (2, 2)
    """

    Q: Any
    R: Any


def matmul(a: Any, b: Any, allow_resplit: bool = False) -> DNDarray:
    """The product of matrices; what must be moved is moved, whatever ``allow_resplit`` says.

    >>> (ht.ones((2, 3), split=0) @ ht.ones((3, 2), split=1)).tolist()
    [[3.0, 3.0], [3.0, 3.0]]
    """
    return call(_dist.matmul, _array(a), _array(b))  # type: ignore[no-any-return]


def dot(a: Any, b: Any, out: Any = None) -> Any:
    """The product of vectors or matrices.

    >>> ht.dot(ht.ones(3), ht.ones(3)).item()
    3.0
    """
    return into(out, call(_dist.dot, _array(a), _array(b)))


def vdot(x1: Any, x2: Any) -> DNDarray:
    """The sum of conj(a) b.

    >>> ht.vdot(ht.array([1j]), ht.array([1j])).item()
    (1+0j)
    """
    return call(_dist.vdot, _array(x1), _array(x2))  # type: ignore[no-any-return]


def vecdot(x1: Any, x2: Any, axis: int | None = None, keepdims: bool | None = None) -> DNDarray:
    """The sum of conj(a) b along an axis, the last unless told.

    >>> ht.vecdot(ht.ones((2, 3)), ht.ones((2, 3))).tolist()
    [3.0, 3.0]
    """
    made = call(_dist.vecdot, _array(x1), _array(x2), axis=-1 if axis is None else axis)
    return FUNCTIONS["expand_dims"](made, -1 if axis is None else axis) if keepdims else made  # type: ignore[no-any-return]


def outer(a: Any, b: Any, out: Any = None, split: int | None = None) -> Any:
    """All products of elements of two vectors.

    >>> ht.outer(ht.arange(2), ht.arange(2)).tolist()
    [[0, 0], [0, 1]]
    """
    made = call(_dist.outer, _array(a), _array(b))
    return into(out, made if split is None else made.resplit(split))


def projection(a: Any, b: Any) -> DNDarray:
    """What of a points in the direction of b.

    >>> ht.projection(ht.array([1.0, 2.0]), ht.array([3.0, 0.0])).tolist()
    [1.0, 0.0]
    """
    return dot(a, b) / dot(b, b) * _array(b)  # type: ignore[no-any-return]


def cross(a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int = -1) -> DNDarray:
    """The cross product of vectors with three entries along one axis.

    >>> ht.cross(ht.array([1.0, 0.0, 0.0]), ht.array([0.0, 1.0, 0.0])).tolist()
    [0.0, 0.0, 1.0]
    """
    if axis == -1 and (axisa, axisb, axisc) != (-1, -1, -1):
        raise NotImplementedError("ht.cross: axisa, axisb and axisc are not offered; use axis, or ht.moveaxis before")
    return call(_dist.cross, _array(a), _array(b), axis=axis)  # type: ignore[no-any-return]


def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: Any = None) -> Any:
    """The sum of a diagonal.

    >>> ht.trace(ht.eye(3, split=0)).item()
    3.0
    """
    return into(out, call(_dist.trace, _array(a), offset, axis1, axis2, dtype))


def norm(x: Any, axis: Any = None, keepdims: bool = False, ord: Any = None) -> DNDarray:
    """The norm of a vector or a matrix.

    >>> ht.norm(ht.array([3.0, 4.0], split=0)).item()
    5.0
    """
    return call(_dist.linalg.norm, _array(x), ord, axis, keepdims)  # type: ignore[no-any-return]


def vector_norm(x: Any, axis: Any = None, keepdims: bool = False, ord: Any = None) -> DNDarray:
    """The norm of vectors.

    >>> ht.linalg.vector_norm(ht.array([3.0, 4.0]), ord=1).item()
    7.0
    """
    ord = 2 if ord is None else ord
    return call(_dist.linalg.vector_norm, _array(x), axis=axis, keepdims=keepdims, ord=ord)  # type: ignore[no-any-return]


def matrix_norm(x: Any, axis: Any = None, keepdims: bool = False, ord: Any = None) -> DNDarray:
    """The norm of a matrix, Frobenius's unless told.

    >>> ht.linalg.matrix_norm(ht.ones((2, 2))).item()
    2.0
    """
    x = _array(x)
    axes = (x.ndim - 2, x.ndim - 1) if axis is None else axis
    return call(_dist.linalg.norm, x, "fro" if ord is None else ord, axes, keepdims)  # type: ignore[no-any-return]


def qr(A: Any, mode: str = "reduced", procs_to_merge: int = 2) -> QR:
    """Q and R with Q R = A; with ``mode="r"`` Q is None.

    >>> Q, R = ht.linalg.qr(ht.eye(2, split=0)); ht.allclose(Q @ R, ht.eye(2))
    True
    """
    A = _array(A)
    Q, R = call(_dist.linalg.qr, A, "reduced" if mode == "r" else mode)
    return QR(None if mode == "r" else Q, R)


def svd(
    A: Any, full_matrices: bool = False, compute_uv: bool = True, qr_procs_to_merge: int = 2, r_max_zolopd: int = 8
) -> Any:
    """U, S and Vh with U diag(S) Vh = A; only S unless ``compute_uv``.

    >>> ht.linalg.svd(ht.diag(ht.array([3.0, 2.0])), compute_uv=False).round(3).tolist()
    [3.0, 2.0]
    """
    A = _array(A)
    if not compute_uv:
        return call(_dist.linalg.svdvals, A)
    return tuple(call(_dist.linalg.svd, A, full_matrices))


def rsvd(A: Any, rank: int, n_oversamples: int = 10, power_iter: int = 0, qr_procs_to_merge: int = 2) -> Any:
    """The largest singular values with their vectors: U, S, V. Here they are those of the whole decomposition.

    >>> U, S, V = ht.linalg.rsvd(ht.diag(ht.array([3.0, 2.0])), 1); S.round(3).tolist()
    [3.0]
    """
    U, S, Vh = svd(A)
    return U[:, :rank], S[:rank], FUNCTIONS["conj"](Vh).T[:, :rank]


def eigh(A: Any, r_max_zolopd: int = 8, silent: bool = True) -> Any:
    """Eigenvalues, in order, and eigenvectors of a Hermitian matrix.

    >>> ht.linalg.eigh(ht.diag(ht.array([3.0, 2.0])))[0].round(3).tolist()
    [2.0, 3.0]
    """
    return tuple(call(_dist.linalg.eigh, _array(A)))


def inv(a: Any) -> DNDarray:
    """The inverse.

    >>> ht.linalg.inv(ht.diag(ht.array([2.0, 4.0]))).tolist()
    [[0.5, 0.0], [0.0, 0.25]]
    """
    return call(_dist.linalg.inv, _array(a))  # type: ignore[no-any-return]


def det(a: Any) -> DNDarray:
    """The determinant.

    >>> ht.linalg.det(ht.eye(3)).item()
    1.0
    """
    return call(_dist.linalg.det, _array(a))  # type: ignore[no-any-return]


def solve(A: Any, b: Any, out: Any = None) -> Any:
    """x with A x = b.

    >>> ht.linalg.solve(ht.diag(ht.array([2.0, 4.0])), ht.ones(2)).tolist()
    [0.5, 0.25]
    """
    return into(out, call(_dist.linalg.solve, _array(A), _array(b)))


FUNCTIONS |= {name: globals()[name] for name in __all__}
methods("norm trace", FUNCTIONS)
REFUSED = {
    "cg": "ts.dist.cg solves with operators: ts.dist.cg(ts.Dense(...), b), or ht.linalg.solve(A, b)",
    "condest": "ts.dist.linalg.cond(x.dist) computes the condition number",
    "expm": "ts.dist has no exponential of matrices; eigenvalues of Hermitian ones come from ht.linalg.eigh",
    "hsvd": "ht.linalg.rsvd, ts.dist.randomized_svd and ht.linalg.svd give singular values",
    "hsvd_rank": "ht.linalg.rsvd, ts.dist.randomized_svd and ht.linalg.svd give singular values",
    "hsvd_rtol": "ht.linalg.rsvd, ts.dist.randomized_svd and ht.linalg.svd give singular values",
    "isvd": "ht.linalg.svd of all rows gives the same",
    "lanczos": "ts.dist.lanczos gives eigenvalues of operators, ht.linalg.eigh those of matrices",
    "matrix_exp": "ts.dist has no exponential of matrices; eigenvalues of Hermitian ones come from ht.linalg.eigh",
    "polar": "U @ Vh of ht.linalg.svd is the unitary factor",
    "reigh": "ht.linalg.eigh gives all eigenvalues",
    "solve_triangular": "ht.linalg.solve takes triangular matrices too",
}
__getattr__: Callable[[str], Any] = refuse("tessera.compat.heat.linalg", REFUSED)
