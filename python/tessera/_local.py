# SPDX-License-Identifier: Apache-2.0
"""Functions of local arrays: those of the core, and beside them those that distributed arrays have as well. A local
array is a distributed one of a single rank, so each of them is written once, in ``ts.dist``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from . import _dist
from ._dist import _alone
from ._tessera import *  # noqa: F403
from ._tessera import Array, _best_few, _distinct_few, _repeat_few, asarray

__all__ = [
    "array_split",
    "column_stack",
    "compress",
    "diag",
    "diagonal",
    "extract",
    "hstack",
    "median",
    "moveaxis",
    "pad",
    "percentile",
    "put",
    "put_along_axis",
    "quantile",
    "ravel",
    "repeat",
    "split",
    "squeeze",
    "swapaxes",
    "take_along_axis",
    "tile",
    "topk",
    "transpose",
    "tril",
    "triu",
    "unique",
    "vstack",
]

_Axes = int | Sequence[int]


def _here(result: Any) -> Any:
    """Results as local arrays; those of several parts keep their kind."""
    return type(result)(map(_here, result)) if isinstance(result, (tuple, list)) else result.local


def _target(x: Any, who: str) -> Any:
    if not isinstance(x, Array):
        raise TypeError(f"{who}: expected a tessera array to write into, got {type(x).__name__}")
    return _alone(x)


def reshape(x: Any, shape: _Axes) -> Array:
    """Another shape of the same elements: a view where strides allow it.

    >>> ts.reshape([0, 1, 2, 3], (2, -1)).tolist()
    [[0, 1], [2, 3]]
    """
    return asarray(x).reshape(shape)


def ravel(x: Any) -> Array:
    """One axis: a view of a contiguous array, a copy of any other.

    >>> ts.ravel([[1, 2], [3, 4]]).tolist()
    [1, 2, 3, 4]
    """
    return asarray(x).ravel()


def transpose(x: Any, axes: Sequence[int] | None = None) -> Array:
    """The axes in another order, reversed unless told: a view.

    >>> ts.transpose(ts.zeros((2, 3, 4)), (2, 0, 1)).shape
    (4, 2, 3)
    """
    return _here(_dist.transpose(_alone(x), axes))


def swapaxes(x: Any, axis1: int, axis2: int) -> Array:
    """Two axes exchanged: a view.

    >>> ts.swapaxes(ts.zeros((2, 3, 4)), 0, 2).shape
    (4, 3, 2)
    """
    return _here(_dist.swapaxes(_alone(x), axis1, axis2))


def moveaxis(x: Any, source: _Axes, destination: _Axes) -> Array:
    """Axes in other places: a view.

    >>> ts.moveaxis(ts.zeros((2, 3, 4)), 0, -1).shape
    (3, 4, 2)
    """
    return _here(_dist.moveaxis(_alone(x), source, destination))


def squeeze(x: Any, axis: _Axes | None = None) -> Array:
    """Without axes of size 1: a view.

    >>> ts.squeeze(ts.zeros((1, 3, 1)), 0).shape
    (3, 1)
    """
    return _here(_dist.squeeze(_alone(x), axis))


def pad(x: Any, pad_width: Any, mode: str = "constant", constant_values: complex = 0) -> Array:
    """Entries put before and after along every axis: a constant, or by mode "edge", "reflect", "symmetric" or "wrap".

    >>> ts.pad([1, 2, 3], (1, 2), "reflect").tolist()
    [2, 1, 2, 3, 2, 1]
    """
    return _here(_dist.pad(_alone(x), pad_width, mode, constant_values))


def repeat(x: Any, repeats: Any, axis: int | None = None) -> Array:
    """Entries several times, one after the other.

    >>> ts.repeat([1, 2], [2, 1]).tolist()
    [1, 1, 2]
    """
    few: Any = _repeat_few(x, repeats, axis)
    return _here(_dist.repeat(_alone(x), repeats, axis)) if few is None else few


def tile(x: Any, repeats: _Axes) -> Array:
    """The array several times beside itself.

    >>> ts.tile([1, 2], 2).tolist()
    [1, 2, 1, 2]
    """
    return _here(_dist.tile(_alone(x), repeats))


def diff(x: Any, n: int = 1, axis: int = -1) -> Array:
    """Differences of neighbours, n times over.

    >>> ts.diff([1, 4, 9]).tolist()
    [3, 5]
    """
    return _here(_dist.diff(_alone(x), n, axis))


def diagonal(x: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Array:
    """The diagonal of two axes, as a last axis: a view.

    >>> ts.diagonal([[1, 2], [3, 4]]).tolist()
    [1, 4]
    """
    return _here(_dist.diagonal(_alone(x), offset, axis1, axis2))


def diag(x: Any, k: int = 0) -> Array:
    """The matrix with this diagonal, or the diagonal of a matrix.

    >>> ts.diag([1, 2]).tolist()
    [[1, 0], [0, 2]]
    """
    return _here(_dist.diag(_alone(x), k))


def tril(x: Any, k: int = 0) -> Array:
    """Zeros above a diagonal.

    >>> ts.tril(ts.ones((2, 2))).tolist()
    [[1.0, 0.0], [1.0, 1.0]]
    """
    return _here(_dist.tril(_alone(x), k))


def triu(x: Any, k: int = 0) -> Array:
    """Zeros below a diagonal.

    >>> ts.triu(ts.ones((2, 2))).tolist()
    [[1.0, 1.0], [0.0, 1.0]]
    """
    return _here(_dist.triu(_alone(x), k))


def split(x: Any, indices_or_sections: _Axes, axis: int = 0) -> list[Array]:
    """Parts of equal length, or cut before the given positions: views.

    >>> [p.tolist() for p in ts.split([1, 2, 3, 4], 2)]
    [[1, 2], [3, 4]]
    """
    return _here(_dist.split(_alone(x), indices_or_sections, axis))


def array_split(x: Any, indices_or_sections: _Axes, axis: int = 0) -> list[Array]:
    """Parts of lengths that differ by one at most: views.

    >>> [p.tolist() for p in ts.array_split([1, 2, 3], 2)]
    [[1, 2], [3]]
    """
    return _here(_dist.array_split(_alone(x), indices_or_sections, axis))


def hstack(arrays: Sequence[Any]) -> Array:
    """Arrays beside each other.

    >>> ts.hstack([[1, 2], [5]]).tolist()
    [1, 2, 5]
    """
    return _here(_dist.hstack([_alone(x) for x in arrays]))


def vstack(arrays: Sequence[Any]) -> Array:
    """Arrays on top of each other.

    >>> ts.vstack([[1, 2], [5, 6]]).tolist()
    [[1, 2], [5, 6]]
    """
    return _here(_dist.vstack([_alone(x) for x in arrays]))


def column_stack(arrays: Sequence[Any]) -> Array:
    """Vectors as the columns of a matrix.

    >>> ts.column_stack([[1, 2], [5, 6]]).tolist()
    [[1, 5], [2, 6]]
    """
    return _here(_dist.column_stack([_alone(x) for x in arrays]))


def take_along_axis(x: Any, indices: Any, axis: int | None = -1) -> Array:
    """Elements at positions along an axis that differ from line to line.

    >>> ts.take_along_axis([[3, 1], [4, 9]], [[1], [0]], axis=1).tolist()
    [[1], [4]]
    """
    return _here(_dist.take_along_axis(_alone(x), indices, axis))


def put(x: Array, indices: Any, values: Any) -> None:
    """Writes values at positions of the flattened array; few values are repeated.

    >>> x = ts.zeros(4); ts.put(x, [3, 0], [5, 6]); x.tolist()
    [6.0, 0.0, 0.0, 5.0]
    """
    _dist.put(_target(x, "put"), indices, values)


def put_along_axis(x: Array, indices: Any, values: Any, axis: int | None) -> None:
    """Writes values at positions along an axis that differ from line to line.

    >>> x = ts.zeros((2, 2)); ts.put_along_axis(x, [[1], [0]], 5, 1); x.tolist()
    [[0.0, 5.0], [5.0, 0.0]]
    """
    _dist.put_along_axis(_target(x, "put_along_axis"), indices, values, axis)


def compress(condition: Any, x: Any, axis: int | None = None) -> Array:
    """Slices along an axis where a condition is not zero.

    >>> ts.compress([0, 1, 1], [5, 6, 7]).tolist()
    [6, 7]
    """
    return _here(_dist.compress(condition, _alone(x), axis))


def extract(condition: Any, x: Any) -> Array:
    """The elements where a condition is not zero.

    >>> ts.extract([[1, 0], [0, 1]], [[1, 2], [3, 4]]).tolist()
    [1, 4]
    """
    return _here(_dist.extract(condition, _alone(x)))


def topk(x: Any, k: int, axis: int = -1, largest: bool = True) -> tuple[Array, Array]:
    """The k largest or smallest elements along an axis, in order, and where they are.

    >>> values, where = ts.topk([3, 9, 5], 2); values.tolist(), where.tolist()
    ([9, 5], [1, 2])
    """
    few: Any = _best_few(x, k, axis, largest)
    return _here(_dist.topk(_alone(x), k, axis, largest)) if few is None else few


def unique(
    x: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
) -> Any:
    """The distinct elements in order, or the distinct slices along an axis.

    >>> ts.unique([2, 1, 2]).tolist(), ts.unique([[1, 2], [1, 2]], axis=0).tolist()
    ([1, 2], [[1, 2]])
    """
    if axis is None and not (return_index or return_inverse or return_counts):
        few = _distinct_few(x)
        if few is not None:
            return few
    return _here(_dist.unique(_alone(x), return_index, return_inverse, return_counts, axis))


def median(x: Any, axis: _Axes | None = None, keepdims: bool = False) -> Array:
    """The middle of the elements in order; NaN where there is a NaN.

    >>> ts.median([7, 1, 5, 2]).item()
    3.5
    """
    return _here(_dist.median(_alone(x), axis, keepdims))


def quantile(x: Any, q: Any, axis: _Axes | None = None, keepdims: bool = False) -> Array:
    """What a share q (0 to 1) of the elements lies below, between two elements by a line.

    >>> ts.quantile([0, 1, 2, 3, 4], [0.25, 0.9]).tolist()
    [1.0, 3.6]
    """
    return _here(_dist.quantile(_alone(x), q, axis, keepdims))


def percentile(x: Any, q: Any, axis: _Axes | None = None, keepdims: bool = False) -> Array:
    """Quantiles counted from 0 to 100.

    >>> ts.percentile([0, 1, 2, 3, 4], 50).item()
    2.0
    """
    return _here(_dist.percentile(_alone(x), q, axis, keepdims))
