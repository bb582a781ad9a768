# SPDX-License-Identifier: Apache-2.0
"""Orders by several keys and in part, with NumPy's arguments, once for all kinds of arrays."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from ._functions import Functions, T, known_axis


class Ordering(Functions[T]):
    """Those that put in order."""

    def lexsort(self, keys: Any, axis: int = -1) -> T:
        """The positions that sort by the last key, what is equal there by the one before it, and so on; stable.

        >>> ts.lexsort(([2, 1, 0], [5, 3, 5])).tolist()
        [1, 2, 0]
        """
        home = self._home
        lines = self._arrays(*keys)
        if not lines:
            raise TypeError("need sequence of keys with len > 0 in lexsort")
        if any(k.shape != lines[0].shape for k in lines):
            raise ValueError("all keys need to be the same shape")
        if lines[0].ndim == 0:
            return home.zeros_like(lines[0], dtype="int64")
        axis = known_axis(axis, lines[0].ndim)
        order = home.argsort(lines[0], axis)
        for key in lines[1:]:
            step = home.argsort(home.take_along_axis(key, order, axis), axis)
            order = home.take_along_axis(order, step, axis)
        return order

    def partition(self, a: Any, kth: int | Sequence[int], axis: int | None = -1, kind: str = "introselect") -> T:
        """The elements with those at the places ``kth`` where sorting puts them, smaller ones before, larger ones
        behind. All of them are sorted here: radix sorts are linear, as selecting is, and the order of the rest is
        then known.

        >>> ts.partition([3, 1, 2, 0], 1).tolist()[:2]
        [0, 1]
        """
        x, axis = self._line(a, kth, axis, kind)
        return x.copy() if x.ndim == 0 else self._home.sort(x, axis)

    def argpartition(self, a: Any, kth: int | Sequence[int], axis: int | None = -1, kind: str = "introselect") -> T:
        """The positions that bring an array into the order of ``partition``.

        >>> ts.argpartition([3, 1, 2, 0], 1).tolist()[:2]
        [3, 1]
        """
        x, axis = self._line(a, kth, axis, kind)
        return self._home.zeros_like(x, dtype="int64") if x.ndim == 0 else self._home.argsort(x, axis)

    def _line(self, a: Any, kth: Any, axis: int | None, kind: str) -> tuple[Any, int]:
        if kind != "introselect":
            raise ValueError(f"select kind must be 'introselect' (got {kind!r})")
        x = self._array(a)
        if axis is None:
            x, axis = x.ravel(), 0
        at = kth.tolist() if hasattr(kth, "tolist") else kth
        places = at if isinstance(at, (list, tuple)) else [at]
        if any(isinstance(k, bool) for k in places):
            raise ValueError("Booleans unacceptable as partition index")
        try:
            places = [operator.index(k) for k in places]
        except TypeError as error:
            raise TypeError("Partition index must be integer") from error
        axis = known_axis(axis, max(x.ndim, 1))
        n = x.shape[axis] if x.ndim else 1
        for k in places:
            if not -n <= k < n and x.size:
                raise ValueError(f"kth(={k}) out of bounds ({n})")
        return x, axis
