# SPDX-License-Identifier: Apache-2.0
"""NumPy's ``pad`` with all of its modes, once for all kinds of arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ._functions import Functions, T

_CORE = ("edge", "symmetric", "wrap", "reflect", "constant")
_ALLOWED = {
    "constant": {"constant_values"},
    "edge": set(),
    "empty": set(),
    "linear_ramp": {"end_values"},
    "maximum": {"stat_length"},
    "mean": {"stat_length"},
    "median": {"stat_length"},
    "minimum": {"stat_length"},
    "reflect": {"reflect_type"},
    "symmetric": {"reflect_type"},
    "wrap": set(),
}


def _pairs(given: Any, ndim: int, who: str) -> list[tuple[Any, Any]]:
    """(before, after) of each axis, from a number, one pair or a pair for each."""
    if hasattr(given, "tolist"):
        given = given.tolist()
    if not isinstance(given, (list, tuple)):
        return [(given, given)] * ndim
    rows = [v.tolist() if hasattr(v, "tolist") else v for v in given]
    if not any(isinstance(v, (list, tuple)) for v in rows):
        if len(rows) == 1:
            return [(rows[0], rows[0])] * ndim
        if len(rows) == 2:
            return [(rows[0], rows[1])] * ndim
        raise ValueError(f"{who}: {given!r} does not fit an array of {ndim} axes")
    rows = [(v[0], v[-1]) for v in rows]
    if len(rows) not in (1, ndim):
        raise ValueError(f"{who}: {given!r} does not fit an array of {ndim} axes")
    return rows * ndim if len(rows) == 1 else rows


class Padding(Functions[T]):
    """What is put around an array."""

    def pad(self, x: Any, pad_width: Any, mode: Any = "constant", constant_values: Any = None, **kwargs: Any) -> T:
        """Entries put before and after along every axis: ``constant_values``, by mode "edge", "reflect", "symmetric"
        (``reflect_type`` "odd" turns them about the edge) or "wrap", lines to ``end_values`` ("linear_ramp"), the
        "maximum", "minimum", "mean" or "median" of the first and last ``stat_length`` entries, "empty", or what a
        function writes into each line.

        >>> ts.pad([1, 2, 3], (1, 2), "reflect").tolist(), ts.pad([1.0, 4.0], 1, "mean").tolist()
        ([2, 1, 2, 3, 2, 1], [2.5, 1.0, 4.0, 2.5])
        >>> ts.pad([4.0, 8.0], (2, 1), "linear_ramp", end_values=(0.0, 6.0)).tolist()
        [0.0, 2.0, 4.0, 8.0, 6.0]
        """
        x = self._array(x)
        if constant_values is not None:
            kwargs["constant_values"] = constant_values
        widths = self._widths(pad_width, x.ndim)
        if callable(mode):
            return self._by_function(x, widths, mode, kwargs)
        if mode not in _ALLOWED:
            raise ValueError(f"mode '{mode}' is not supported")
        extra = set(kwargs) - _ALLOWED[mode]
        if extra:
            raise ValueError(f"unsupported keyword arguments for mode '{mode}': {extra}")
        kind = kwargs.get("reflect_type", "even")
        if mode == "constant":
            return self._constant(x, widths, kwargs.get("constant_values", 0))
        if mode in _CORE and kind == "even":
            return self._home.pad(x, widths, mode)
        if mode == "empty":
            return self._home.pad(x, widths, "constant")
        axes = [(a, w) for a, w in enumerate(widths) if w != (0, 0)]
        if any(x.shape[a] == 0 for a, _ in axes):
            raise ValueError(f"can't extend empty axis {axes[0][0]} using modes other than 'constant' or 'empty'")
        for axis, width in axes:
            x = self._along(x, axis, width, mode, kwargs)
        return x

    def _widths(self, given: Any, ndim: int) -> list[tuple[int, int]]:
        if isinstance(given, dict):
            each: list[Any] = [(0, 0)] * ndim
            for axis, width in given.items():
                each[axis] = width if isinstance(width, tuple) else (width, width)
            given = each
        found = []
        for before, after in _pairs(given, ndim, "pad_width"):
            if not all(float(v) == int(v) and not isinstance(v, float) for v in (before, after)):
                raise TypeError("`pad_width` must be of integral type.")
            if before < 0 or after < 0:
                raise ValueError("index can't contain negative values")
            found.append((int(before), int(after)))
        return found

    def _constant(self, x: Any, widths: list[tuple[int, int]], values: Any) -> Any:
        pairs = _pairs(values, x.ndim, "constant_values")
        for value in {v for pair in pairs for v in pair if isinstance(v, float)}:
            self._written(value, x)  # refused where the array cannot hold it
        if len({v for pair in pairs for v in pair}) <= 1:
            return self._home.pad(x, widths, "constant", pairs[0][0]) if pairs else x.copy()
        for axis, (pair, width) in enumerate(zip(pairs, widths, strict=True)):
            for side, value, n in ((0, pair[0], width[0]), (1, pair[1], width[1])):
                x = self._home.pad(x, self._one(x.ndim, axis, side, n), "constant", value)
        return x

    def _one(self, ndim: int, axis: int, side: int, n: int) -> list[tuple[int, int]]:
        return [((n, 0) if side == 0 else (0, n)) if a == axis else (0, 0) for a in range(ndim)]

    def _along(self, x: Any, axis: int, width: tuple[int, int], mode: str, kwargs: dict[str, Any]) -> Any:
        if mode == "linear_ramp":
            ends = _pairs(kwargs.get("end_values", 0), x.ndim, "end_values")[axis]
            sides = [self._ramp(x, axis, side, width[side], ends[side]) for side in (0, 1)]
        elif mode in ("maximum", "minimum", "mean", "median"):
            lengths = _pairs(kwargs.get("stat_length"), x.ndim, "stat_length")[axis]
            sides = [self._statistic(x, axis, side, width[side], mode, lengths[side]) for side in (0, 1)]
        else:
            return self._turned(x, axis, width, mode)
        return self._home.concatenate([sides[0], x, sides[1]], axis)

    def _cut(self, x: Any, axis: int, begin: int, end: int) -> Any:
        return x[(slice(None),) * axis + (slice(begin, end),)]

    def _repeated(self, line: Any, axis: int, n: int) -> Any:
        shape = list(line.shape)
        shape[axis] = n
        return self._home.broadcast_to(line, shape)

    def _ramp(self, x: Any, axis: int, side: int, n: int, end: Any) -> Any:
        """From the end's value up to the edge, which is not repeated."""
        home = self._home
        edge = self._cut(x, axis, 0, 1) if side == 0 else self._cut(x, axis, x.shape[axis] - 1, x.shape[axis])
        wide = edge if edge.dtype.kind in "fc" else edge.astype("float64")
        ranks = {"comm": x.comm} if hasattr(x, "comm") else {}
        steps = home.arange(n, dtype="float64", device=x.device, **ranks)
        steps = home.reshape(steps, [-1 if a == axis else 1 for a in range(x.ndim)]).astype(wide.dtype)
        line = end + steps * ((wide - end) / max(n, 1))
        line = home.floor(line) if x.dtype.kind in "iu" else line
        line = line.astype(x.dtype)
        return line if side == 0 else home.flip(line, axis)

    def _statistic(self, x: Any, axis: int, side: int, n: int, mode: str, length: int | None) -> Any:
        home, size = self._home, x.shape[axis]
        if length is not None and length < 0:
            raise ValueError("index can't contain negative values")
        many = size if length is None else min(length, size)
        if many == 0 and mode in ("maximum", "minimum"):
            raise ValueError("stat_length of 0 yields no value for padding")
        part = self._cut(x, axis, 0, many) if side == 0 else self._cut(x, axis, size - many, size)
        short = {"maximum": "max", "minimum": "min"}.get(mode, mode)
        found = getattr(home, short)(part, axis, keepdims=True)
        if x.dtype.kind in "iu" and mode in ("mean", "median"):
            found = home.rint(found)
        return self._repeated(found.astype(x.dtype), axis, n)

    def _turned(self, x: Any, axis: int, width: tuple[int, int], mode: str) -> Any:
        """``reflect_type`` "odd": what is mirrored is also turned about the edge's value, as often as it takes."""
        home = self._home
        skip = 1 if mode == "reflect" else 0
        before, after = width
        if x.shape[axis] == 1:
            return home.pad(x, [width if a == axis else (0, 0) for a in range(x.ndim)], "edge")
        while before > 0 or after > 0:
            size = x.shape[axis]
            most = size - skip
            front, back = min(before, most), min(after, most)
            first, last = self._cut(x, axis, 0, 1), self._cut(x, axis, size - 1, size)
            left = 2 * first - home.flip(self._cut(x, axis, skip, skip + front), axis)
            right = 2 * last - home.flip(self._cut(x, axis, size - skip - back, size - skip), axis)
            x = home.concatenate([left.astype(x.dtype), x, right.astype(x.dtype)], axis)
            before, after = before - front, after - back
        return x

    def _by_function(
        self, x: Any, widths: list[tuple[int, int]], function: Callable[..., Any], kwargs: dict[str, Any]
    ) -> Any:
        import itertools

        padded = self._home.pad(x, widths, "constant")
        for axis, width in enumerate(widths):
            lines = self._home.moveaxis(padded, axis, -1)
            for at in itertools.product(*map(range, lines.shape[:-1])):
                function(lines[at], width, axis, kwargs)
        return padded
