# SPDX-License-Identifier: Apache-2.0
"""Small functions of names that torch-named-linops exports beside those of ``tessera.names``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ... import _tessera as _core

Shape = Sequence[Any]


def is_any(dim: Any) -> bool:
    """Whether a name stands for any one dim.

    >>> is_any("()"), is_any("(1)"), is_any("A")
    (True, True, False)
    """
    text = str(dim)
    return text.startswith("(") and text.endswith(")") and (text == "()" or text[1:-1].isdigit())


def partition(seq: Sequence[Any], val: Any) -> tuple[Sequence[Any], Sequence[Any], Sequence[Any]]:
    """What stands before the first ``val``, it, and what stands behind.

    >>> partition(("A", "...", "B"), "...")
    (('A',), ('...',), ('B',))
    """
    at = seq.index(val) if val in seq else len(seq)
    return seq[:at], seq[at : at + 1], seq[at + 1 :]


def fake_dims(letter: str, n: int) -> tuple[str, ...]:
    """Names that nobody else uses.

    >>> fake_dims("x", 2)
    ('x_0', 'x_1')
    """
    return tuple(f"{letter}_{i}" for i in range(n))


def _swapped(names: Any, one: str, other: str) -> Any:
    def of(dim: Any) -> Any:
        text = str(dim)
        spatial = any(axis in text for axis in "xyz")
        return _core.NamedDimension.infer(text.replace(one, other)) if spatial else dim

    return tuple(of(dim) for dim in names)


def N2K(tup: Any) -> Any:
    """Names of an image's axes as those of its spectrum.

    >>> N2K(("C", "Nx"))
    ('C', Kx)
    """
    return _swapped(tup, "N", "K")


def K2N(tup: Any) -> Any:
    """Names of a spectrum's axes as those of its image.

    >>> K2N(("Kx", "Ky"))
    (Nx, Ny)
    """
    return _swapped(tup, "K", "N")


__all__ = ["K2N", "N2K", "fake_dims", "is_any", "partition"]
