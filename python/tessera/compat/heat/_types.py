# SPDX-License-Identifier: Apache-2.0
"""Heat's dtypes: objects that compare with ours and cast what they are called with."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import dist as _dist


class datatype:
    """A dtype; called with numbers, an array of it.

    >>> ht.float32([1, 2]).dtype is ht.float32, ht.float32 == "float32"
    (True, True)
    """

    def __init__(self, name: str) -> None:
        self.__name__ = name

    def __call__(self, *value: Any, device: Any = None, comm: Any = None) -> Any:
        from ._factories import array

        return array(value[0] if value else 0, dtype=self, device=device, comm=comm)

    def __eq__(self, other: object) -> bool:
        try:
            return canonical(other).__name__ == self.__name__
        except TypeError:
            return False

    def __hash__(self) -> int:
        return hash(self.__name__)

    def __repr__(self) -> str:
        return f"ht.{self.__name__}"

    def char(self) -> str:
        """NumPy's letter of it."""
        return np.dtype(self.__name__).char

    def torch_type(self) -> Any:
        """PyTorch's dtype of it."""
        import torch

        return getattr(torch, self.__name__)

    def __reduce__(self) -> Any:
        return canonical, (self.__name__,)


_NAMES = ("bool", "uint8", "int8", "int16", "int32", "int64", "float32", "float64", "complex64", "complex128")
TYPES = {name: datatype(name) for name in _NAMES}
ALIASES = {
    "bool_": "bool",
    "ubyte": "uint8",
    "byte": "int8",
    "short": "int16",
    "int": "int32",
    "long": "int64",
    "float": "float32",
    "float_": "float32",
    "double": "float64",
    "csingle": "complex64",
    "cfloat": "complex64",
    "cdouble": "complex128",
}
_PYTHON = {bool: "bool", int: "int32", float: "float32", complex: "complex64"}


def canonical(dtype: Any) -> datatype:
    """A dtype of Heat, ours, NumPy's, PyTorch's or Python's as Heat's; Python's int and float are 32 bits wide there.

    >>> ht.canonical_heat_type("f8"), ht.canonical_heat_type(int)
    (ht.float64, ht.int32)
    """
    if isinstance(dtype, datatype):
        return dtype
    name = _PYTHON[dtype] if isinstance(dtype, type) and dtype in _PYTHON else str(dtype).removeprefix("torch.")
    if name not in TYPES:
        name = ALIASES.get(name) or np.dtype(dtype).name
    if name not in TYPES:
        raise TypeError(f"ht: there is no dtype {dtype!r}; there are {', '.join(TYPES)}")
    return TYPES[name]


def promote_types(type1: Any, type2: Any) -> datatype:
    """The dtype that holds both.

    >>> ht.promote_types(ht.int64, ht.float32), ht.promote_types(ht.uint8, ht.int8)
    (ht.float64, ht.int16)
    """
    return canonical(str(_dist.result_type(canonical(type1).__name__, canonical(type2).__name__)))


def result_type(*arrays_and_types: Any) -> datatype:
    """The dtype of what these make together.

    >>> ht.result_type(ht.arange(2), ht.float64)
    ht.float64
    """
    kinds = [canonical(getattr(each, "dtype", each)) for each in arrays_and_types]
    found = kinds[0]
    for kind in kinds[1:]:
        found = promote_types(found, kind)
    return found


def heat_type_of(obj: Any) -> datatype:
    """The dtype of numbers.

    >>> ht.heat_type_of([1.5])
    ht.float32
    """
    from ._factories import array

    return canonical(obj.dtype) if hasattr(obj, "dtype") else array(obj).dtype


def can_cast(from_: Any, to: Any, casting: str = "safe") -> bool:
    """Whether values of one dtype fit another; by NumPy's rules.

    >>> ht.can_cast(ht.int32, ht.float64), ht.can_cast(ht.float64, ht.int32)
    (True, False)
    """
    return bool(np.can_cast(canonical(from_).__name__, canonical(to).__name__, casting))  # type: ignore[arg-type]


def heat_type_is_exact(dtype: Any) -> bool:
    """Whether a dtype has whole numbers only.

    >>> ht.heat_type_is_exact(ht.int8)
    True
    """
    return np.dtype(canonical(dtype).__name__).kind in "iu"


def heat_type_is_inexact(dtype: Any) -> bool:
    """Whether a dtype rounds.

    >>> ht.heat_type_is_inexact(ht.complex64)
    True
    """
    return np.dtype(canonical(dtype).__name__).kind in "fc"


def heat_type_is_realfloating(dtype: Any) -> bool:
    """Whether a dtype is real and rounds.

    >>> ht.heat_type_is_realfloating(ht.complex64)
    False
    """
    return np.dtype(canonical(dtype).__name__).kind == "f"


def heat_type_is_complexfloating(dtype: Any) -> bool:
    """Whether a dtype is complex.

    >>> ht.heat_type_is_complexfloating(ht.complex64)
    True
    """
    return np.dtype(canonical(dtype).__name__).kind == "c"


def finfo(dtype: Any) -> Any:
    """Limits of a dtype that rounds.

    >>> ht.finfo(ht.float32).bits
    32
    """
    return _dist.finfo(canonical(dtype).__name__)


def iinfo(dtype: Any) -> Any:
    """Limits of a dtype of whole numbers.

    >>> ht.iinfo(ht.int8).max
    127
    """
    return _dist.iinfo(canonical(dtype).__name__)


canonical_heat_type = canonical
FUNCTIONS = [
    "can_cast",
    "canonical_heat_type",
    "datatype",
    "finfo",
    "heat_type_is_complexfloating",
    "heat_type_is_exact",
    "heat_type_is_inexact",
    "heat_type_is_realfloating",
    "heat_type_of",
    "iinfo",
    "promote_types",
    "result_type",
]
