# SPDX-License-Identifier: Apache-2.0
"""Functions of square matrices (exponential, logarithm, root), products of many and solves of tensors."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from operator import index
from typing import Any

from . import _local
from ._tessera import (
    Array,
    LinAlgError,
    NotAvailable,
    _as_working,
    _inverse,
    _schur,
    _solve,
    _solve_triangular,
    asarray,
)

__all__ = ["expm", "logm", "multi_dot", "sqrtm", "tensorinv", "tensorsolve"]

# Higham's bounds: where a Padé approximant of exp of this degree is exact to the last bit of float64.
_EXP_DEGREES = ((3, 1.495585217958292e-2), (5, 2.53939833006323e-1), (7, 9.504178996162932e-1), (9, 2.097847961257068))
_EXP_LARGEST = 4.25
_EXP_ERROR = 1.1325077560602111e35  # 1 over the first coefficient of its error, of degree 13
_LOG_NEAR_ONE = 0.25  # of degree 7 below
# Gauss's nodes and weights on [0, 1]: partial fractions of the Padé approximant of log(1 + x) of degree 7.
_LOG_NODES = tuple(0.5 + 0.5 * x for x in (-0.9491079123427585, -0.7415311855993945, -0.4058451513773972, 0.0))
_LOG_NODES += tuple(1 - x for x in reversed(_LOG_NODES[:3]))
_LOG_WEIGHTS = tuple(w / 2 for w in (0.1294849661688697, 0.27970539148927664, 0.3818300505051189, 0.4179591836734694))
_LOG_WEIGHTS += tuple(reversed(_LOG_WEIGHTS[:3]))


def _square(a: Any, who: str) -> Array:
    x = _as_working(a)
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise ValueError(f"{who}: expected square matrices, got shape {tuple(x.shape)}")
    return x


def _one(x: Array) -> Array:
    return _local.eye(x.shape[-1], dtype=x.dtype, device=x.device)


def _size(x: Array) -> Array:
    """The largest sum of a column."""
    return _local.max(_local.sum(abs(x), -2), -1)


def expm(a: Any) -> Array:
    """The exponential of square matrices, by a Padé approximant after halving and squared again.

    >>> ts.linalg.expm([[0.0, 1.0], [0.0, 0.0]]).tolist()
    [[1.0, 1.0], [0.0, 1.0]]
    """
    x = _square(a, "expm")
    if x.size == 0:
        return x.copy()
    size = _size(x)
    most = float(_local.max(_local.where(_local.isfinite(size), size, 0.0)))
    degree = next((m for m, bound in _EXP_DEGREES if most <= bound), 13)
    if degree < 13:
        return _exp_of_small(x, degree)
    halvings = _halvings(x, size)
    y = _exp_of_small(x * _local.exp2(-halvings), 13)
    for k in range(int(_local.max(halvings))):
        y = _local.where(halvings > k, y @ y, y)
    return y


def _halvings(x: Array, size: Array) -> Array:
    """How often each matrix of a stack must be halved for the approximant of degree 13 (Al-Mohy and Higham, 2009): by
    the sizes of its powers, since too many halvings cost digits where those are smaller than powers of its size."""
    square = x @ x
    fourth = square @ square
    sixth = fourth @ square
    d6, d8, d10 = _size(sixth) ** (1 / 6), _size(fourth @ fourth) ** (1 / 8), _size(fourth @ sixth) ** (1 / 10)
    eta = _local.minimum(_local.maximum(d6, d8), _local.maximum(d8, d10))
    finite = _local.isfinite(eta)
    eta = _local.where(finite, eta, 0.0)
    halvings = _local.maximum(_local.ceil(_local.log2(_local.maximum(eta, 1e-30) / _EXP_LARGEST)), 0.0)
    # And by the error of the approximant, which powers of the absolute values bound.
    small = abs(x) * _local.exp2(-halvings.reshape(*halvings.shape, 1, 1))
    ones = _local.ones_like(small[..., :1, :])
    line = ones
    for _ in range(27):
        line = line @ small
    ratio = _local.max(line, (-2, -1)) / (_local.maximum(size, 1e-30) * _local.exp2(-halvings) * _EXP_ERROR)
    ratio = _local.where(finite & _local.isfinite(ratio), ratio, 0.0)
    more = _local.ceil(_local.log2(_local.maximum(ratio, 1e-30) * 2.0**53) / 26)
    halvings = halvings + _local.maximum(more, 0.0)
    return halvings.reshape(*halvings.shape, 1, 1)


def _exp_of_small(x: Array, degree: int) -> Array:
    """q(x)⁻¹ p(x), with the odd and even parts of p and q shared."""
    c = [math.comb(degree, k) / math.comb(2 * degree, k) / math.factorial(k) for k in range(degree + 1)]
    one, square = _one(x), x @ x
    powers = [square]
    while len(powers) < degree // 2:
        powers.append(powers[-1] @ square)
    odd: Any = c[1] * one
    even: Any = c[0] * one
    for k, power in enumerate(powers, 1):
        even = even + c[2 * k] * power
        odd = odd + c[2 * k + 1] * power
    odd = x @ odd
    return _solve(even - odd, even + odd)


def sqrtm(a: Any) -> Array:
    """The principal square root of square matrices, by Schur's form; complex where a real one has none.

    >>> ts.linalg.sqrtm([[4.0, 1.0], [0.0, 9.0]]).numpy().round(6).tolist()
    [[2.0, 0.2], [0.0, 3.0]]
    """
    return _by_triangles(a, "sqrtm", _root_of_triangle)


def logm(a: Any) -> Array:
    """The principal logarithm of square matrices, by roots of Schur's form until it is near one; complex where a real
    matrix has none that is real.

    >>> ts.linalg.logm(ts.linalg.expm([[0.0, 1.0], [0.0, 0.0]])).numpy().round(6).tolist()
    [[0.0, 1.0], [0.0, 0.0]]
    """
    return _by_triangles(a, "logm", _log_of_triangle)


def _by_triangles(a: Any, who: str, function: Callable[[Array], Array]) -> Array:
    """A function of each matrix of a stack, from that of its triangular Schur form."""
    x = _square(a, who)
    if x.size == 0:
        return x.copy()
    n = x.shape[-1]
    try:
        triangles, vectors = _schur(x, True)
    except (LinAlgError, NotAvailable) as error:  # of the function that was called
        raise type(error)(f"{who}: {error}") from None
    triangles, vectors = triangles.reshape(-1, n, n), vectors.reshape(-1, n, n)
    found = []
    for i in range(triangles.shape[0]):
        z = vectors[i]
        found.append(z @ function(triangles[i]) @ _local.conj(z).T)
    result = _local.stack(found).reshape(x.shape)
    if x.dtype.kind == "c":
        return result
    values = _local.diagonal(triangles, 0, 1, 2)
    rounding = 1e3 * n * (2.0**-52 if x.dtype.name == "float64" else 2.0**-23) * _local.max(abs(values))
    negative = (values.real < 0) & (abs(values.imag) <= rounding)
    return result if bool(_local.any(negative)) else result.real.copy()


def _root_of_triangle(t: Array) -> Array:
    """Björck and Hammarling: column j solves (R + r_jj) r_j = t_j with the columns before it."""
    n = t.shape[-1]
    values = _local.sqrt(_local.diagonal(t))
    r = _local.diag(values)
    one = _one(t)
    exists = True
    for j in range(1, n):
        left = r[:j, :j] + values[j] * one[:j, :j]
        zero = _local.diagonal(left) == 0
        if bool(_local.any(zero)):  # equal zeros on the diagonal: there is a root only where what meets them is zero
            exists = False
            left = left + _local.diag(zero.astype(t.dtype))
        r[:j, j] = _solve_triangular(left, t[:j, j], 0, False, False)
    if not exists and float(_local.max(abs(r @ r - t))) > 1e-6 * float(_local.max(abs(t))):
        raise LinAlgError("sqrtm: the matrix is singular and has no square root")
    return r


def _log_of_triangle(t: Array) -> Array:
    values = _local.diagonal(t)
    if bool(_local.any(values == 0)):
        raise LinAlgError("logm: the matrix is singular")
    one, roots = _one(t), 0
    r = t
    while float(_size(r - one)) > _LOG_NEAR_ONE:
        r = _root_of_triangle(r)
        roots += 1
    x = r - one
    terms = [
        w * _solve_triangular(one + node * x, x, 0, False, False)
        for node, w in zip(_LOG_NODES, _LOG_WEIGHTS, strict=True)
    ]
    found = terms[0]
    for term in terms[1:]:
        found = found + term
    found = found * 2.0**roots
    return found - _local.diag(_local.diagonal(found)) + _local.diag(_local.log(values))


def multi_dot(arrays: Sequence[Any], *, out: Any = None) -> Array:
    """The product of several matrices in the cheapest order; the first and the last may be vectors.

    >>> ts.linalg.multi_dot([ts.ones((2, 30)), ts.ones((30, 4)), ts.ones(4)]).tolist()
    [120.0, 120.0]
    """
    parts = [asarray(x) for x in arrays]
    if len(parts) < 2:
        raise ValueError("Expecting at least two arrays.")
    first, last = parts[0].ndim == 1, parts[-1].ndim == 1
    if first:
        parts[0] = parts[0].reshape(1, -1)
    if last:
        parts[-1] = parts[-1].reshape(-1, 1)
    for x in parts:
        if x.ndim != 2:
            raise LinAlgError(f"multi_dot: {x.ndim}-dimensional array given. Array must be two-dimensional")
    result = _product(parts, _cheapest([x.shape[0] for x in parts] + [parts[-1].shape[1]]), 0, len(parts) - 1)
    result = result.reshape([n for n, gone in zip(result.shape, (first, last), strict=True) if not gone])
    if out is None:
        return result
    if tuple(out.shape) != tuple(result.shape):
        raise ValueError(f"multi_dot: output array has shape {tuple(out.shape)}, expected {tuple(result.shape)}")
    out[...] = result
    return out


def _cheapest(sizes: list[int]) -> list[list[int]]:
    """Where to cut the product i … j so that the fewest numbers are multiplied."""
    n = len(sizes) - 1
    cost = [[0] * n for _ in range(n)]
    cut = [[0] * n for _ in range(n)]
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            options = [cost[i][k] + cost[k + 1][j] + sizes[i] * sizes[k + 1] * sizes[j + 1] for k in range(i, j)]
            cost[i][j] = min(options)
            cut[i][j] = i + options.index(cost[i][j])
    return cut


def _product(parts: list[Any], cut: list[list[int]], i: int, j: int) -> Any:
    if i == j:
        return parts[i]
    return _local.matmul(_product(parts, cut, i, cut[i][j]), _product(parts, cut, cut[i][j] + 1, j))


def tensorsolve(a: Any, b: Any, axes: Sequence[int] | None = None) -> Array:
    """The x with tensordot(a, x, x.ndim) = b; ``axes`` of a are moved to its end first.

    >>> a = ts.eye(6).reshape(2, 3, 6); ts.linalg.tensorsolve(a, ts.ones((2, 3))).tolist()
    [1.0, 1.0, 1.0, 1.0, 1.0, 1.0]
    """
    a, b = asarray(a), asarray(b)
    if axes is not None:
        order = list(range(a.ndim))
        for k in axes:
            order.remove(k)
            order.append(k)
        a = _local.transpose(a, order)
    shape = tuple(a.shape[-(a.ndim - b.ndim) :]) if a.ndim > b.ndim else ()
    n = math.prod(shape)
    if a.size != n**2:
        raise LinAlgError("Input arrays must satisfy the requirement prod(a.shape[b.ndim:]) == prod(a.shape[:b.ndim])")
    return _solve(a.reshape(n, n), b.reshape(-1)).reshape(shape)


def tensorinv(a: Any, ind: int = 2) -> Array:
    """The inverse of tensordot with a over its last axes, of which the first ``ind`` are not.

    >>> ts.linalg.tensorinv(ts.eye(6).reshape(6, 2, 3), ind=1).shape
    (2, 3, 6)
    """
    x = asarray(a)
    if index(ind) <= 0:
        raise ValueError("Invalid ind argument.")
    shape = tuple(x.shape)
    return _inverse(x.reshape(math.prod(shape[:ind]), -1)).reshape(shape[ind:] + shape[:ind])
