# SPDX-License-Identifier: Apache-2.0
"""What the array API standard wants to know of dtypes and of a library, the same for all kinds of arrays."""

from __future__ import annotations

import builtins
import math
from typing import Any, NamedTuple

from . import _dist
from . import _tessera as _core
from ._tessera import Device, DType, result_type

__all__ = ["can_cast", "finfo", "iinfo", "isdtype"]

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
    return x.dtype if isinstance(x, (_dist.DNDarray, _core.Array)) else result_type(x)


def isdtype(dtype: Any, kind: Any) -> builtins.bool:
    """A dtype is another one, or of a kind.

    >>> ts.isdtype(ts.float32, "real floating"), ts.isdtype(ts.int8, ("bool", ts.int8))
    (True, True)
    """
    if isinstance(kind, tuple):
        return any(isdtype(dtype, k) for k in kind)
    if isinstance(kind, str) and kind in _KINDS:
        return _dtype(dtype).kind in _KINDS[kind]
    return _dtype(dtype) == kind


def can_cast(from_: Any, to: Any, /) -> builtins.bool:
    """Numbers of one dtype keep their values in another.

    >>> ts.can_cast(ts.int32, ts.float64), ts.can_cast(ts.int64, ts.int32)
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

    >>> ts.finfo("float32").eps == 2.0**-23, ts.finfo("complex128").bits
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

    >>> ts.iinfo("int8").max, ts.iinfo("uint16").max
    (127, 65535)
    """
    dtype = _dtype(type)
    if dtype.kind not in "iu":
        raise TypeError(f"iinfo: {dtype.name} is not an integer dtype")
    bits = 8 * dtype.itemsize
    signed = dtype.kind == "i"
    return IntegerInfo(bits, 2 ** (bits - signed) - 1, -(2 ** (bits - 1)) if signed else 0, dtype)


class NamespaceInfo:
    """What ``__array_namespace_info__()`` of ts and ts.dist tells of devices, dtypes and abilities."""

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
