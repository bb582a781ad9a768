# SPDX-License-Identifier: Apache-2.0
"""Decompositions with SciPy's names that LAPACK alone has (CUDA arrays are refused): Schur's form, L D L.T, bands and
pairs of matrices."""

from __future__ import annotations

from typing import Any, NamedTuple

from . import _local
from ._tessera import (
    Array,
    _cholesky,
    _eig_pair,
    _eigh,
    _ldl,
    _schur,
    _solve_banded,
    _solve_triangular,
    _solveh_banded,
    asarray,
)

__all__ = ["LDLResult", "SchurResult", "ldl", "schur", "solve_banded", "solveh_banded"]


class SchurResult(NamedTuple):
    """What :func:`schur` gives.

    >>> ts.linalg.schur([[2.0]]).T.tolist()
    [[2.0]]
    """

    T: Array
    Z: Array


class LDLResult(NamedTuple):
    """What :func:`ldl` gives.

    >>> ts.linalg.ldl([[2.0]]).d.tolist()
    [[2.0]]
    """

    lu: Array
    d: Array
    perm: Array


def schur(a: Any, output: str = "real") -> SchurResult:
    """Schur's form a = Z T Z.H with Z unitary and T upper triangular; of a real matrix T stays real, with blocks of two
    on its diagonal, unless ``output`` is "complex".

    >>> T, Z = ts.linalg.schur([[1.0, 2.0], [3.0, 4.0]])
    >>> (Z @ T @ Z.T).numpy().round(6).tolist(), abs(T[1, 0].item()) < 1e-12
    ([[1.0, 2.0], [3.0, 4.0]], True)
    """
    if output not in ("real", "complex", "r", "c"):
        raise ValueError(f"schur: output is 'real' or 'complex', got {output!r}")
    return SchurResult(*_schur(a, output[0] == "c"))


def ldl(a: Any, lower: bool = True, hermitian: bool = True) -> LDLResult:
    """The factors of a = lu d lu.H (of complex symmetric matrices, not ``hermitian``, lu d lu.T), for indefinite ones
    too: lu[perm] is triangular with ones on its diagonal, d has blocks of one and two. One triangle of a is read.

    >>> lu, d, perm = ts.linalg.ldl([[0.0, 1.0], [1.0, 0.0]])
    >>> (lu @ d @ lu.T).tolist(), d.tolist()
    ([[0.0, 1.0], [1.0, 0.0]], [[0.0, 1.0], [1.0, 0.0]])
    """
    return LDLResult(*_ldl(a, lower, hermitian))


def solve_banded(l_and_u: tuple[int, int], ab: Any, b: Any) -> Array:
    """The x of a x = b where a has l diagonals below and u above its main one: ab[u + i - j, j] = a[i, j].

    >>> ts.linalg.solve_banded((1, 0), [[2.0, 2.0], [1.0, 0.0]], [2.0, 5.0]).tolist()
    [1.0, 2.0]
    """
    below, above = l_and_u
    return _solve_banded(below, above, ab, b)


def solveh_banded(ab: Any, b: Any, lower: bool = False) -> Array:
    """The x of a x = b where a is positive and has bands: ab[u + i - j, j] = a[i, j] for i <= j, or with ``lower``
    ab[i - j, j] = a[i, j] for i >= j.

    >>> ts.linalg.solveh_banded([[4.0, 4.0], [1.0, 0.0]], [5.0, 5.0], lower=True).numpy().round(6).tolist()
    [1.0, 1.0]
    """
    return _solveh_banded(ab, b, lower)


def eigh_pair(a: Any, b: Any, lower: bool) -> tuple[Array, Array]:
    """Eigenvalues of a v = w b v with b positive: those of L⁻¹ a L⁻ᴴ, where b = L Lᴴ; the vectors have v.H b v = 1."""
    a, factor = asarray(a), _cholesky(b, not lower)
    if not lower:
        factor = _local.conj(factor).mT if factor.dtype.kind == "c" else factor.mT
    # One triangle of a is what it is known by.
    if a.shape[-1] != a.shape[-2]:
        raise ValueError(f"eigh: expected square matrices, got shape {tuple(a.shape)}")
    half = _local.tril(a, -1) if lower else _local.triu(a, 1)
    other = _local.conj(half) if half.dtype.kind == "c" else half
    whole = half + other.mT + a * _local.eye(a.shape[-1], dtype=a.dtype, device=a.device)
    left = _solve_triangular(factor, whole, 0, True, False)
    turned = _local.conj(left).mT if left.dtype.kind == "c" else left.mT
    values, vectors = _eigh(_solve_triangular(factor, turned, 0, True, False), True)
    return values, _solve_triangular(factor, vectors, 2, True, False)


def eig_pair(a: Any, b: Any, left: bool) -> tuple[Array, Array, Array | None]:
    """Eigenvalues of a v = w b v, infinite where b is singular, and vectors of length one."""
    alpha, beta, right, other = _eig_pair(a, b, left)
    values = _local.where(beta == 0, complex("inf"), alpha / _local.where(beta == 0, 1.0, beta))
    return values, _unit(right), None if other is None else _unit(other)


def _unit(x: Array) -> Array:
    length = _local.sqrt(_local.sum(_local.abs2(x), -2, keepdims=True))
    return x / length
