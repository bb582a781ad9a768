# SPDX-License-Identifier: Apache-2.0
"""When lists of named dimensions can mean the same dims; "..." is any number of them, "()" exactly one."""

from __future__ import annotations

from typing import Any

from ._tessera import (
    ANY,
    ELLIPSES,
    ND,
    NS,
    Dim,
    NamedDimension,
    NamedShape,
    _iscompatible,
    _isequal,
    _resolve_wildcards,
)

__all__ = [
    "ANY",
    "Dim",
    "ELLIPSES",
    "ND",
    "NS",
    "NamedDimension",
    "NamedShape",
    "iscompatible",
    "isequal",
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
    (ND('C'), ND('Kx'), ND('Ky'))
    """
    return _resolve_wildcards(shape, target)
