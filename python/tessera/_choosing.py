# SPDX-License-Identifier: Apache-2.0
"""Choosing among arrays, calling functions on parts of them, and positions in several axes, with NumPy's arguments,
once for all kinds of arrays."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

from ._checked import whole_numbers
from ._functions import Functions, T, common_dtype, known_axis
from ._standard import Standard


class Choosing(Functions[T]):
    """Those that choose."""

    def select(self, condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> T:
        """At every place the first choice whose condition holds there, else the default.

        >>> x = ts.arange(5); ts.select([x < 2, x > 3], [x, x**2], 42).tolist()
        [0, 1, 42, 42, 16]
        """
        home = self._home
        if len(condlist) != len(choicelist):
            raise ValueError("list of cases must be same length as list of conditions")
        if len(condlist) == 0:
            raise ValueError("select with an empty condition list is not possible")
        conditions = self._arrays(*condlist)
        for i, condition in enumerate(conditions):
            if condition.dtype.kind != "b":
                raise TypeError(f"invalid entry {i} in condlist: should be boolean ndarray")
        plain = (int, float, complex)
        choices = [c if type(c) in plain else self._near(c, conditions[0]) for c in [*choicelist, default]]
        dtype = common_dtype(*choices)
        arrays = [home.full_like(conditions[0], c, dtype=dtype) if type(c) in plain else c for c in choices]
        parts: list[Any] = Standard(home, self._kind).broadcast_arrays(*conditions, *arrays)
        found: Any = parts[-1].astype(dtype)
        for condition, choice in reversed(list(zip(parts, parts[len(conditions) : -1], strict=False))):
            found = home.where(condition, choice.astype(dtype), found)
        return found

    def piecewise(self, x: Any, condlist: Any, funclist: Sequence[Any], *args: Any, **kw: Any) -> T:
        """Functions, or numbers, each where its condition holds; one more than conditions is for the rest.

        >>> x = ts.array([-2.0, 0.0, 3.0]); ts.piecewise(x, [x < 0, x > 1], [-1, lambda v: 2 * v, 7]).tolist()
        [-1.0, 7.0, 6.0]
        """
        home = self._home
        x = self._array(x)
        kind: Any = self._kind
        single = isinstance(condlist, kind) and condlist.ndim == x.ndim or isinstance(condlist, bool)
        if not single and not isinstance(condlist, self._kind) and x.ndim:
            single = not isinstance(condlist[0], (list, tuple)) and not hasattr(condlist[0], "shape")
        conditions = [self._near(c, x).astype("bool") for c in ([condlist] if single else condlist)]
        n = len(conditions)
        if n == len(funclist) - 1:
            rest = conditions[0]
            for condition in conditions[1:]:
                rest = rest | condition
            conditions.append(~rest)
        elif n != len(funclist):
            raise ValueError(f"with {n} condition(s), either {n} or {n + 1} functions are expected")
        y = home.zeros_like(x)
        for condition, function in zip(conditions, funclist, strict=True):
            if not callable(function):
                y[condition] = function
                continue
            values = x[condition]
            if values.size > 0:
                y[condition] = function(values, *args, **kw)
        return y

    def apply_along_axis(self, func1d: Callable[..., Any], axis: int, arr: Any, *args: Any, **kwargs: Any) -> T:
        """What a function gives of every line along an axis; its axes take the place of that one.

        >>> ts.apply_along_axis(lambda line: line[::2], 1, [[1, 2, 3], [4, 5, 6]]).tolist()
        [[1, 3], [4, 6]]
        """
        home = self._home
        x = self._array(arr)
        axis = known_axis(axis, x.ndim)
        lines = home.moveaxis(x, axis, -1)
        outer = tuple(lines.shape[:-1])
        if math.prod(outer) == 0:
            raise ValueError("Cannot apply_along_axis when any iteration dimensions are 0")
        found: list[Any] = []
        for at in itertools.product(*map(range, outer)):
            y = self._near(func1d(lines[at], *args, **kwargs), x)
            found.append(y if not found else y.astype(found[0].dtype))
        inner = tuple(found[0].shape)
        result = home.reshape(home.stack(found), outer + inner)
        places = range(len(outer), len(outer) + len(inner))
        return home.moveaxis(result, list(places), [axis + i for i, _ in enumerate(inner)]) if inner else result

    def unravel_index(self, indices: Any, shape: int | Sequence[int], order: str = "C") -> tuple[T, ...]:
        """Positions in the flattened array as positions along each axis.

        >>> [i.tolist() for i in ts.unravel_index([5, 1], (2, 3))]
        [[1, 0], [2, 1]]
        """
        at = self._integers(indices)
        sizes = whole_numbers(shape)
        total = math.prod(sizes)
        if at.size:
            low, high = int(self._home.min(at)), int(self._home.max(at))
            if low < 0 or high >= total:
                wrong = low if low < 0 else high
                raise ValueError(f"index {wrong} is out of bounds for array with size {total}")
        found = []
        fast = sizes if self._forwards(order) else sizes[::-1]
        for n in fast[:-1]:
            rest = at // max(n, 1)
            found.append(at - rest * max(n, 1))
            at = rest
        found += [at] if fast else []
        return tuple(found) if self._forwards(order) else tuple(reversed(found))

    def ravel_multi_index(
        self, multi_index: Any, dims: Sequence[int], mode: str | Sequence[str] = "raise", order: str = "C"
    ) -> T:
        """Positions along each axis as positions in the flattened array; what lies outside is an error ("raise"),
        counted on ("wrap") or moved to the end ("clip"), the same along all axes or as each says.

        >>> ts.ravel_multi_index(([1, 0], [2, 1]), (2, 3)).tolist()
        [5, 1]
        """
        home = self._home
        sizes = whole_numbers(dims)
        given = list(multi_index)
        if len(given) != len(sizes):
            raise ValueError(f"parameter multi_index must be a sequence of length {len(sizes)}")
        modes = [mode] * len(sizes) if isinstance(mode, str) else list(mode)
        if math.prod(sizes) >= 2**63:
            raise ValueError("invalid dims: array size defined by dims is larger than the maximum possible size.")
        lines = Standard(home, self._kind).broadcast_arrays(*(self._integers(i) for i in self._arrays(*given)))
        place: Any = None
        each = list(zip(lines, sizes, modes, strict=True))
        for at, n, how in reversed(each) if self._forwards(order) else each:
            at = self._within(at, n, how)
            place = at if place is None else place * n + at
        return place

    def _forwards(self, order: str) -> bool:
        if order not in ("C", "F"):
            raise ValueError("only 'C' or 'F' order is permitted")
        return order == "F"

    def _integers(self, indices: Any) -> Any:
        at = self._array(indices)
        if at.size == 0 and not isinstance(indices, self._kind):
            at = at.astype("int64")
        if at.dtype.kind not in "iu":
            raise TypeError("only int indices permitted")
        return at.astype("int64")

    def _within(self, at: Any, n: int, mode: str) -> Any:
        if mode == "wrap":
            return at % n
        if mode == "clip":
            return self._home.clip(at, 0, n - 1)
        if mode != "raise":
            raise ValueError(f"clipmode must be one of 'clip', 'raise', or 'wrap' (got {mode!r})")
        if at.size and (int(self._home.min(at)) < 0 or int(self._home.max(at)) >= n):
            raise ValueError("invalid entry in coordinates array")
        return at
