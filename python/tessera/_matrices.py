# SPDX-License-Identifier: Apache-2.0
"""The array API standard's functions of matrices that are made of others, for ``ts.linalg`` and ``ts.dist.linalg``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ._composed import Composed
from ._functions import Functions, T
from ._standard import Standard


class Matrices(Functions[T]):
    """Those of matrices; ``inverse`` is that of square ones."""

    def __init__(self, home: Any, kind: type[T], inverse: Callable[[Any], Any]) -> None:
        super().__init__(home, kind)
        self._inverse = inverse
        self._standard: Standard[T] = Standard(home, kind)
        self._composed: Composed[T] = Composed(home, kind)

    def cross(self, x1: Any, x2: Any, /, *, axis: int = -1) -> T:
        """The products of vectors in space, which lie along an axis.

        >>> ts.linalg.cross([1, 0, 0], [0, 1, 0]).tolist()
        [0, 0, 1]
        """
        return self._composed.cross(x1, x2, axis=axis)

    def diagonal(self, x: Any, /, *, offset: int = 0) -> T:
        """The diagonals of the matrices in the last two axes, as a last axis: a view.

        >>> ts.linalg.diagonal([[1, 2], [3, 4]]).tolist()
        [1, 4]
        """
        return self._home.diagonal(x, offset, -2, -1)

    def matrix_power(self, x: Any, n: int, /) -> T:
        """A square matrix multiplied with itself; negative powers are those of its inverse.

        >>> ts.linalg.matrix_power([[1, 1], [0, 1]], 5).tolist()
        [[1, 5], [0, 1]]
        """
        x = self._array(x)
        if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
            raise ValueError(f"matrix_power: expected square matrices, got shape {x.shape}")
        if n == 0:
            one = self._home.eye(x.shape[-1], dtype=x.dtype, device=x.device)
            return self._home.zeros_like(x) + one
        factor, n = (x, n) if n > 0 else (self._inverse(x), -n)
        power: Any = None
        while n:
            if n % 2:
                power = factor if power is None else power @ factor
            n //= 2
            factor = factor @ factor if n else factor
        return power.copy() if power is x else power

    def matrix_transpose(self, x: Any, /) -> T:
        """The last two axes swapped: a view.

        >>> ts.linalg.matrix_transpose([[1, 2], [3, 4]]).tolist()
        [[1, 3], [2, 4]]
        """
        return self._standard.matrix_transpose(x)

    def outer(self, x1: Any, x2: Any, /) -> T:
        """The products of all elements of one vector with all of another.

        >>> ts.linalg.outer([1, 2], [3, 4]).tolist()
        [[3, 4], [6, 8]]
        """
        return self._composed.outer(x1, x2)

    def tensordot(self, x1: Any, x2: Any, /, *, axes: int | Sequence[Sequence[int]] = 2) -> T:
        """Sums of products over axes of both: the last and first so many, or those of two lists.

        >>> ts.linalg.tensordot([[1, 2], [3, 4]], [[1, 1], [1, 1]]).item()
        10
        """
        return self._standard.tensordot(x1, x2, axes)

    def vecdot(self, x1: Any, x2: Any, /, *, axis: int = -1) -> T:
        """Sums of conj(x1) * x2 along an axis.

        >>> ts.linalg.vecdot([1, 2], [3, 4]).item()
        11
        """
        return self._standard.vecdot(x1, x2, axis=axis)
