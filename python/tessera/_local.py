# SPDX-License-Identifier: Apache-2.0
"""Functions of local arrays: those of the core, and beside them those that distributed arrays have as well. A local
array is a distributed one of a single rank, so each of them is written once, in ``ts.dist``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from . import _dist, _host  # noqa: F401
from ._dist import _alone
from ._tessera import *  # noqa: F403
from ._tessera import Array, _best_few, _distinct_few, _repeat_few, asarray, concatenate, stack

__all__ = [
    "array_split",
    "column_stack",
    "diag",
    "diagonal",
    "extract",
    "moveaxis",
    "put_along_axis",
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
]

_Axes = int | Sequence[int]


def _here(result: Any) -> Any:
    """Results as local arrays; those of several parts keep their kind, and arrays on disk stay there."""
    return type(result)(map(_here, result)) if isinstance(result, (tuple, list)) else getattr(result, "local", result)


def _target(x: Any, who: str) -> Any:
    if not isinstance(x, Array):
        raise TypeError(f"{who}: expected a tessera array to write into, got {type(x).__name__}")
    return _alone(x)


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


def put_along_axis(x: Array, indices: Any, values: Any, axis: int | None) -> None:
    """Writes values at positions along an axis that differ from line to line.

    >>> x = ts.zeros((2, 2)); ts.put_along_axis(x, [[1], [0]], 5, 1); x.tolist()
    [[0.0, 5.0], [5.0, 0.0]]
    """
    _dist.put_along_axis(_target(x, "put_along_axis"), indices, values, axis)


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


# What functions of ts with more arguments stand on (_keywords, _padding, _quantiles, _standard).


def _of_first(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, *args, **options: _here(function(_alone(x), *args, **options))


diff = _of_first(_dist.diff)
median = _of_first(_dist.median)
pad = _of_first(_dist.pad)
percentile = _of_first(_dist.percentile)
quantile = _of_first(_dist.quantile)


def reshape(x: Any, shape: _Axes) -> Array:
    return asarray(x).reshape(shape)


def _lines(arrays: Any) -> bool:
    """Arrays of one axis, which are joined as they are."""
    return isinstance(arrays, (list, tuple)) and {type(x) is Array and x.ndim for x in arrays} == {1}


def hstack(arrays: Sequence[Any]) -> Array:
    return concatenate(arrays) if _lines(arrays) else _here(_dist.hstack([_alone(x) for x in arrays]))


def vstack(arrays: Sequence[Any]) -> Array:
    if _lines(arrays) and len({x.shape for x in arrays}) == 1:
        return stack(arrays)
    return _here(_dist.vstack([_alone(x) for x in arrays]))


def put(x: Array, indices: Any, values: Any) -> None:
    _dist.put(_target(x, "put"), indices, values)


def compress(condition: Any, x: Any, axis: int | None = None) -> Array:
    return _here(_dist.compress(condition, _alone(x), axis))


def unique(x: Any, index: bool = False, inverse: bool = False, counts: bool = False, axis: int | None = None) -> Any:
    few = None if index or inverse or counts or axis is not None else _distinct_few(x)
    return _here(_dist.unique(_alone(x), index, inverse, counts, axis)) if few is None else few
