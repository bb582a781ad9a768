# SPDX-License-Identifier: Apache-2.0
"""Arrays over the ranks that mpirun started; without mpirun there is one rank, and everything works the same.

One axis of an array, its split, is distributed over the ranks; without a split every rank has the whole array. All
functions are called by every rank of the array's group, in the same order. Results and errors are NumPy's, and do not
depend on the number of ranks.

>>> x = ts.dist.arange(10, split=0)
>>> x[[7, 2, 8]].tolist(), int((x * x).sum())
([7, 2, 8], 285)
"""

import os as _os
import typing as _typing
from math import e, inf, nan, pi
from typing import Any as _Any

from .. import _dist
from .._dist import *  # noqa: F403
from .._dtypes import NamespaceInfo as _NamespaceInfo
from .._tessera import ArgumentError as _ArgumentError
from .._tessera import (
    bool_,
    complex64,
    complex128,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)
from . import _api, _blocks, _csv, _einsum, _ending, fft, linalg, random
from ._api import *  # noqa: F403
from ._blocks import *  # noqa: F403
from ._csv import *  # noqa: F403
from ._einsum import *  # noqa: F403
from ._same_calls import check_calls

if _typing.TYPE_CHECKING:
    from .._dist import Communicator as _Communicator

    world: _Communicator

newaxis = None
bool = bool_  # noqa: A001
__array_api_version__ = "2024.12"

__all__ = [_name for _name in dir(_dist) if not _name.startswith("_")]
__all__ += [_name for _name in _api.__all__ if _name not in __all__]
__all__ += [*_blocks.__all__, *_csv.__all__, *_einsum.__all__]
__all__ += ["check_calls", "e", "fft", "inf", "linalg", "nan", "newaxis", "pi", "random"]
__all__ += ["bool", "complex128", "complex64", "float32", "float64", "int16", "int32", "int64", "int8"]
__all__ += ["uint16", "uint32", "uint64", "uint8"]


def __array_namespace_info__() -> _NamespaceInfo:
    """Devices, dtypes and abilities, for code that is written for the array API."""
    return _NamespaceInfo()


if not _typing.TYPE_CHECKING:  # to which every other name would be one of ours

    def __getattr__(name: str) -> _Any:
        """world starts MPI where mpirun started the program, so it is made when it is first asked for."""
        if name != "world":
            raise AttributeError(f"module 'tessera.dist' has no attribute '{name}'")
        globals()["world"] = group = _dist._world()
        return group


_ending.watch()
match _os.environ.get("TESSERA_CHECK_CALLS", ""):  # the words of truth of the settings (base/config.cpp)
    case "1" | "true" | "True" | "on":
        check_calls()
    case "" | "0" | "false" | "False" | "off":
        pass
    case _said:
        raise _ArgumentError(f"TESSERA_CHECK_CALLS: {_said!r} is not a truth value; write true or false")


def __dir__() -> list[str]:
    return sorted({*globals(), "world"})
