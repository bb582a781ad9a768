# SPDX-License-Identifier: Apache-2.0
"""When lists of named dimensions can mean the same dims; "..." is any number of them, "()" exactly one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ._checked import check_arguments as _check_arguments
from ._named_arrays import NamedArray
from ._tessera import (
    ANY,
    ELLIPSES,
    ND,
    NS,
    Dim,
    NamedDimCollection,
    NamedDimension,
    NamedShape,
    _iscompatible,
    _isequal,
    _max_shape,
    _nd_shape,
    _resolve_wildcards,
)

__all__ = [
    "ANY",
    "AnyDim",
    "Dim",
    "ELLIPSES",
    "ND",
    "NS",
    "NamedArray",
    "NamedDimCollection",
    "NamedDimension",
    "NamedShape",
    "get_nd_shape",
    "iscompatible",
    "isequal",
    "max_shape",
    "resolve_wildcards",
]


def isequal(a: Any, b: Any) -> tuple[bool, dict[int, list[int]] | None]:
    """Some list of plain names satisfies both; and which names of b each name of a stands for.

    >>> ts.names.isequal(("...", "K"), ("B", "C", "K"))
    (True, {0: [0, 1], 1: [2]})
    """
    return _isequal(a, b)


def iscompatible(a: Any, b: Any) -> tuple[bool, dict[int, list[int]] | None]:
    """The same when only the numbers of dims need to agree.

    >>> ts.names.iscompatible(("A", "B"), ("C", "D"))[0]
    True
    """
    return _iscompatible(a, b)


def resolve_wildcards(shape: Any, target: Any) -> tuple[NamedDimension, ...]:
    """Wildcards of a list replaced by what they match in another; unchanged when they do not match.

    >>> ts.names.resolve_wildcards(("C", "..."), ("C", "Kx", "Ky"))
    (C, Kx, Ky)
    """
    return _resolve_wildcards(shape, target)


def max_shape(shapes: Iterable[Any]) -> tuple[NamedDimension, ...]:
    """The most definite of several shapes: plain names win over wildcards, of one word the larger number wins.

    >>> ts.names.max_shape([("N", "..."), ("N", "Q1"), ("N", "Q")])
    (N, Q1)
    """
    return _max_shape(shapes)


def get_nd_shape(ndim: int, kspace: bool = False) -> tuple[NamedDimension, ...]:
    """The usual names of a grid of one to three dims, in space or in the frequency domain.

    >>> ts.names.get_nd_shape(2), ts.names.get_nd_shape(2, kspace=True)
    ((Nx, Ny), (Kx, Ky))
    """
    return _nd_shape(ndim, kspace)


def AnyDim(i: int | None = None) -> NamedDimension:
    """The wildcard for one dim; with different numbers, different wildcards.

    >>> ts.names.AnyDim(), ts.names.AnyDim(2)
    ((), (2))
    """
    return ND(ANY, i or 0)


_FUNCTIONS = ["AnyDim", "get_nd_shape", "iscompatible", "isequal", "max_shape", "resolve_wildcards"]
_check_arguments(globals(), _FUNCTIONS, "ts.names.", guard=True)
