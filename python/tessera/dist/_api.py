# SPDX-License-Identifier: Apache-2.0
"""What the array API standard calls by other names than NumPy, and what it wants to know of a library."""

from __future__ import annotations

import builtins
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from .. import _tessera as _core
from .._dist import (
    Communicator,
    DNDarray,
    array,
    broadcast_to,
    concatenate,
    cumprod,
    cumsum,
    invert,
    left_shift,
    moveaxis,
    multiply,
    ones,
    reshape,
    right_shift,
    rint,
    swapaxes,
    transpose,
    unique,
    zeros,
)
from .._dist import argsort as _argsort
from .._dist import conj as _conj
from .._dist import flip as _flip
from .._dist import sort as _sort
from .._dist import sum as _sum
from .._tessera import Device, DType, result_type

__all__ = [
    "argsort",
    "asarray",
    "astype",
    "bitwise_invert",
    "bitwise_left_shift",
    "bitwise_right_shift",
    "broadcast_arrays",
    "can_cast",
    "concat",
    "cumulative_prod",
    "cumulative_sum",
    "finfo",
    "from_dlpack",
    "iinfo",
    "isdtype",
    "matrix_transpose",
    "meshgrid",
    "permute_dims",
    "result_type",
    "round",
    "sort",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
    "unstack",
    "vecdot",
]

bitwise_invert = invert
bitwise_left_shift = left_shift
bitwise_right_shift = right_shift
concat = concatenate


def round(x: DNDarray, /) -> DNDarray:
    """The nearest whole numbers, halves to the even one; integers are what they were.

    >>> ts.dist.round(ts.dist.array([0.5, 1.5, 2.4], split=0)).tolist()
    [0.0, 2.0, 2.0]
    """
    return x.copy() if x.dtype.kind in "iu" else rint(x)


def asarray(
    obj: Any,
    dtype: Any = None,
    device: Any = None,
    copy: bool | None = None,
    split: int | None = None,
    comm: Communicator | None = None,
) -> DNDarray:
    """A distributed array as it is, unless something else is asked of it; anything else as ``ts.dist.array`` has it.

    >>> x = ts.dist.arange(3, split=0); ts.dist.asarray(x) is x, ts.dist.asarray([1, 2]).split
    (True, None)
    """
    same = (
        isinstance(obj, DNDarray)
        and (dtype is None or obj.dtype == dtype)
        and (device is None or obj.device == device)
        and (split is None or obj.split == split)
    )
    if same and not copy:
        return obj
    if copy is False:
        raise ValueError("asarray: what was asked for cannot be had without a copy")
    return array(obj, split, dtype=dtype, device=device, comm=comm)


def from_dlpack(x: Any, /, *, split: int | None = None, comm: Communicator | None = None) -> DNDarray:
    """An array of what anything with ``__dlpack__`` holds, the same on every rank: a copy.

    >>> ts.dist.from_dlpack(np.arange(3), split=0).tolist()
    [0, 1, 2]
    """
    return array(_core.from_dlpack(x), split, comm=comm)


def astype(x: DNDarray, dtype: Any, /, *, copy: bool = True, device: Any = None) -> DNDarray:
    """The elements converted as NumPy converts.

    >>> ts.dist.astype(ts.dist.arange(3, split=0), "float32").tolist()
    [0.0, 1.0, 2.0]
    """
    y = x.astype(dtype, copy=copy)
    return y if device is None else y.to(device)


def sort(
    x: Any, axis: int | None = -1, kind: str | None = None, *, descending: bool = False, stable: bool = True
) -> DNDarray:
    """The elements in order, as a new array; always stable, NaN last (first when descending).

    >>> ts.dist.sort(ts.dist.array([3, 1, 2], split=0)).tolist()
    [1, 2, 3]
    >>> ts.dist.sort([3, 1, 2], descending=True).tolist()
    [3, 2, 1]
    """
    y = _sort(x, axis)
    return _flip(y, 0 if axis is None else axis) if descending else y


def argsort(
    x: Any, axis: int | None = -1, kind: str | None = None, *, descending: bool = False, stable: bool = True
) -> DNDarray:
    """The positions that sort the array; always stable.

    >>> ts.dist.argsort(ts.dist.array([3, 1, 2], split=0)).tolist()
    [1, 2, 0]
    >>> ts.dist.argsort([1, 3, 3], descending=True).tolist()
    [1, 2, 0]
    """
    if not descending:
        return _argsort(x, axis)
    x = asarray(x) if axis is not None else asarray(x).ravel()
    axis = 0 if axis is None else axis
    # Turned round, equal elements stand in the opposite order; turned back, in theirs again.
    return (x.shape[axis] - 1) - _flip(_argsort(_flip(x, axis), axis), axis)


def permute_dims(x: DNDarray, /, axes: Sequence[int]) -> DNDarray:
    """The axes in another order: a view.

    >>> ts.dist.permute_dims(ts.dist.zeros((2, 3, 4), split=0), (2, 0, 1)).split
    1
    """
    return transpose(x, axes)


def matrix_transpose(x: DNDarray, /) -> DNDarray:
    """The last two axes swapped: a view.

    >>> ts.dist.matrix_transpose(ts.dist.zeros((5, 2, 3), split=0)).shape
    (5, 3, 2)
    """
    return x.mT


def unstack(x: DNDarray, /, *, axis: int = 0) -> tuple[DNDarray, ...]:
    """The parts of an array along an axis, which they lose.

    >>> [p.tolist() for p in ts.dist.unstack(ts.dist.eye(2, split=0), axis=1)]
    [[1.0, 0.0], [0.0, 1.0]]
    """
    return tuple(moveaxis(x, axis, 0))


def broadcast_arrays(*arrays: DNDarray) -> list[DNDarray]:
    """Arrays repeated to one common shape: views.

    >>> [a.shape for a in ts.dist.broadcast_arrays(ts.dist.zeros((3, 1), split=0), ts.dist.zeros(2))]
    [(3, 2), (3, 2)]
    """
    ndim = max((a.ndim for a in arrays), default=0)
    shape = [1] * ndim
    for a in arrays:
        for i, n in enumerate(a.shape, ndim - a.ndim):
            if 1 not in (n, shape[i]) and n != shape[i]:
                raise ValueError(f"broadcast_arrays: {a.shape} does not fit the other shapes")
            shape[i] = n if n != 1 else shape[i]
    return [broadcast_to(a, shape) for a in arrays]


def meshgrid(*arrays: DNDarray, indexing: str = "xy") -> list[DNDarray]:
    """Grids of coordinates from one vector for each axis.

    >>> x, y = ts.dist.meshgrid(ts.dist.arange(2, split=0), ts.dist.arange(3, split=0))
    >>> x.shape, y.tolist()
    ((3, 2), [[0, 0], [1, 1], [2, 2]])
    """
    if indexing not in ("xy", "ij"):
        raise ValueError("Valid values for `indexing` are 'xy' and 'ij'.")
    n = len(arrays)
    lines = [reshape(a, [-1 if i == k else 1 for i in range(n)]) for k, a in enumerate(arrays)]
    grids = broadcast_arrays(*lines)
    return [swapaxes(g, 0, 1) for g in grids] if indexing == "xy" and n > 1 else grids


def vecdot(x1: DNDarray, x2: DNDarray, /, *, axis: int = -1) -> DNDarray:
    """Sums of conj(x1) * x2 along an axis.

    >>> x = ts.dist.ones((2, 3), split=0); ts.dist.vecdot(x, x).tolist()
    [3.0, 3.0]
    """
    return _sum(multiply(_conj(x1), x2), axis=axis)


def _cumulative(scan: Any, start: Any, x: DNDarray, axis: int | None, dtype: Any, include_initial: bool) -> DNDarray:
    if axis is None:
        if x.ndim != 1:
            raise ValueError("cumulative: an array of several axes needs axis=")
        axis = 0
    y = scan(x, axis, dtype)
    if not include_initial:
        return y
    shape = list(x.shape)
    shape[axis] = 1
    return concatenate([start(shape, y.dtype, device=x.device, comm=x.comm), y], axis)


def cumulative_sum(
    x: DNDarray, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> DNDarray:
    """Running sums along an axis, with the zero before the first if asked for.

    >>> ts.dist.cumulative_sum(ts.dist.arange(4, split=0), include_initial=True).tolist()
    [0, 0, 1, 3, 6]
    """
    return _cumulative(cumsum, zeros, x, axis, dtype, include_initial)


def cumulative_prod(
    x: DNDarray, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> DNDarray:
    """Running products along an axis, with the one before the first if asked for.

    >>> ts.dist.cumulative_prod(ts.dist.arange(1, 4, split=0), include_initial=True).tolist()
    [1, 1, 2, 6]
    """
    return _cumulative(cumprod, ones, x, axis, dtype, include_initial)


class UniqueAll(NamedTuple):
    values: DNDarray
    indices: DNDarray
    inverse_indices: DNDarray
    counts: DNDarray


class UniqueCounts(NamedTuple):
    values: DNDarray
    counts: DNDarray


class UniqueInverse(NamedTuple):
    values: DNDarray
    inverse_indices: DNDarray


def unique_all(x: DNDarray, /) -> UniqueAll:
    """Distinct elements, where each occurs first, which of them every element is, and how often.

    >>> ts.dist.unique_all(ts.dist.array([2, 1, 2], split=0)).counts.tolist()
    [1, 2]
    """
    return UniqueAll(*unique(x, True, True, True))


def unique_counts(x: DNDarray, /) -> UniqueCounts:
    """Distinct elements and how often each occurs.

    >>> ts.dist.unique_counts(ts.dist.array([2, 1, 2], split=0)).counts.tolist()
    [1, 2]
    """
    return UniqueCounts(*unique(x, return_counts=True))


def unique_inverse(x: DNDarray, /) -> UniqueInverse:
    """Distinct elements, and which of them every element is.

    >>> ts.dist.unique_inverse(ts.dist.array([2, 1, 2], split=0)).inverse_indices.tolist()
    [1, 0, 1]
    """
    return UniqueInverse(*unique(x, return_inverse=True))


def unique_values(x: DNDarray, /) -> DNDarray:
    """Distinct elements.

    >>> ts.dist.unique_values(ts.dist.array([2, 1, 2], split=0)).tolist()
    [1, 2]
    """
    return unique(x)


_KINDS = {
    "bool": "b",
    "signed integer": "i",
    "unsigned integer": "u",
    "integral": "iu",
    "real floating": "f",
    "complex floating": "c",
    "numeric": "iufc",
}


def _dtype(x: Any) -> DType:
    return x.dtype if isinstance(x, (DNDarray, _core.Array)) else result_type(x)


def isdtype(dtype: Any, kind: Any) -> builtins.bool:
    """A dtype is another one, or of a kind.

    >>> ts.dist.isdtype(ts.float32, "real floating"), ts.dist.isdtype(ts.int8, ("bool", ts.int8))
    (True, True)
    """
    if isinstance(kind, tuple):
        return any(isdtype(dtype, k) for k in kind)
    if isinstance(kind, str) and kind in _KINDS:
        return _dtype(dtype).kind in _KINDS[kind]
    return _dtype(dtype) == kind


def can_cast(from_: Any, to: Any, /) -> builtins.bool:
    """Numbers of one dtype keep their values in another.

    >>> ts.dist.can_cast(ts.int32, ts.float64), ts.dist.can_cast(ts.int64, ts.int32)
    (True, False)
    """
    return result_type(_dtype(from_), to) == to


class FloatInfo(NamedTuple):
    """Limits of a floating dtype."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: DType


class IntegerInfo(NamedTuple):
    """Limits of an integer dtype."""

    bits: int
    max: int
    min: int
    dtype: DType


_FLOATS = {"float16": (16, 10, 15), "bfloat16": (16, 7, 127), "float32": (32, 23, 127), "float64": (64, 52, 1023)}


def finfo(type: Any, /) -> FloatInfo:
    """Limits of a floating dtype; of a complex one those of its parts.

    >>> ts.dist.finfo("float32").eps == 2.0**-23, ts.dist.finfo("complex128").bits
    (True, 64)
    """
    dtype = _dtype(type)
    name = {"complex64": "float32", "complex128": "float64"}.get(dtype.name, dtype.name)
    if name not in _FLOATS:
        raise TypeError(f"finfo: {dtype.name} is not a floating dtype")
    bits, digits, exponent = _FLOATS[name]
    largest = math.ldexp(2.0 - math.ldexp(1.0, -digits), exponent)
    return FloatInfo(
        bits, math.ldexp(1.0, -digits), largest, -largest, math.ldexp(1.0, 1 - exponent), getattr(_core, name)
    )


def iinfo(type: Any, /) -> IntegerInfo:
    """Limits of an integer dtype.

    >>> ts.dist.iinfo("int8").max, ts.dist.iinfo("uint16").max
    (127, 65535)
    """
    dtype = _dtype(type)
    if dtype.kind not in "iu":
        raise TypeError(f"iinfo: {dtype.name} is not an integer dtype")
    bits = 8 * dtype.itemsize
    signed = dtype.kind == "i"
    return IntegerInfo(bits, 2 ** (bits - signed) - 1, -(2 ** (bits - 1)) if signed else 0, dtype)


class NamespaceInfo:
    """What ``ts.dist.__array_namespace_info__()`` tells of devices, dtypes and abilities."""

    def capabilities(self) -> dict[str, Any]:
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 32}

    def default_device(self) -> Device:
        return _core.devices()[0]

    def devices(self) -> list[Device]:
        return list(_core.devices())

    def default_dtypes(self, *, device: Any = None) -> dict[str, DType]:
        return {
            "real floating": _core.float64,
            "complex floating": _core.complex128,
            "integral": _core.int64,
            "indexing": _core.int64,
        }

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, DType]:
        names = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
        names += ["float32", "float64", "complex64", "complex128"]
        every = {"bool": _core.bool_, **{name: getattr(_core, name) for name in names}}
        return {name: t for name, t in every.items() if kind is None or isdtype(t, kind)}
