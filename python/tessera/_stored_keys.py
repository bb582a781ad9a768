# SPDX-License-Identifier: Apache-2.0
"""Keys of arrays on disk: the box that a key needs, and the key within it."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator, Sequence
from typing import Any

from . import _tessera as _core
from ._tessera import StoredArray


def integer(part: Any, otherwise: str) -> int:
    """Of a key; a truth value is a mask of no axes and no number."""
    try:
        if not isinstance(part, bool):
            return operator.index(part)
    except TypeError:
        pass
    raise _core.IndexError(f"{otherwise}, got {type(part).__name__}")


def expanded(key: Any, ndim: int) -> list[Any]:
    """The parts of a key, with a slice for each axis that it leaves out."""
    parts = list(key) if isinstance(key, tuple) else [key]
    used = sum(p is not None and p is not Ellipsis for p in parts)
    dots = [i for i, p in enumerate(parts) if p is Ellipsis]
    if used > ndim or len(dots) > 1:
        raise _core.IndexError(f"StoredArray: {used} indices for an array of {ndim} axes")
    at = dots[0] if dots else len(parts)
    return parts[:at] + [slice(None)] * (ndim - used) + parts[at + 1 :]


def located(x: StoredArray, parts: list[Any]) -> tuple[list[int], list[int], tuple[Any, ...], bool]:
    """Where the box begins, its shape, the key within the box, and whether that takes all of it."""
    begin: list[int] = []
    shape: list[int] = []
    inner: list[Any] = []
    whole, axis = True, 0
    for part in parts:
        if part is None:
            inner.append(None)
            continue
        size = x.shape[axis]
        if isinstance(part, slice):
            start, stop, step = part.indices(size)
            n = len(range(start, stop, step))
            low = start if step > 0 else start + (n - 1) * step
            begin.append(low if n else 0)
            shape.append((n - 1) * abs(step) + 1 if n else 0)
            whole = whole and (n <= 1 or abs(step) == 1)
            inner.append(slice(None, None, step) if n else slice(None))
        else:
            i = integer(part, "StoredArray: a key is made of integers, slices, ... and None")
            if not -size <= i < size:
                raise _core.IndexError(f"StoredArray: index {i} is out of bounds for axis {axis} with size {size}")
            begin.append(i % size)
            shape.append(1)
            inner.append(0)
        axis += 1
    return begin, shape, tuple(inner), whole


def _result_shape(x: StoredArray, parts: list[Any]) -> list[int]:
    sizes = iter(x.shape)
    shape = []
    for part in parts:
        size = 1 if part is None else next(sizes)
        if part is None or isinstance(part, slice):
            shape.append(1 if part is None else len(range(*part.indices(size))))
    return shape


def _has_room(x: StoredArray, shape: Sequence[int]) -> bool:
    """Beside what else a call holds."""
    needed = math.prod(shape) * _core.empty(0, x.dtype).itemsize
    return needed <= 65536 or needed <= _core._memory_left("cpu") // 4


def _halves(x: StoredArray, parts: list[Any]) -> Iterator[tuple[list[Any], int, slice]]:
    """The key cut in two along its first slice, with the axis of the result and what a half is there; nothing where
    it names one element."""
    axis = at = 0
    for k, part in enumerate(parts):
        if isinstance(part, slice):
            taken = range(*part.indices(x.shape[axis]))
            if len(taken) > 1:
                middle = len(taken) // 2
                for first, last in ((0, middle), (middle, len(taken))):
                    some = taken[first:last]
                    half = slice(some.start, some.stop if some.stop >= 0 else None, some.step)
                    yield [*parts[:k], half, *parts[k + 1 :]], at, slice(first, last)
                return
        at += part is None or isinstance(part, slice)
        axis += part is not None


def get(self: StoredArray, key: Any) -> _core.Array:
    parts = expanded(key, self.ndim)
    begin, shape, inner, whole = located(self, parts)
    if whole or _has_room(self, shape):
        return self._read(begin, shape)[inner]
    out = _core.empty(_result_shape(self, parts), self.dtype)
    _read_into(self, parts, out)
    return out


def _read_into(x: StoredArray, parts: list[Any], out: _core.Array) -> None:
    """What lies between the elements that a key names need not fit memory."""
    begin, shape, inner, _ = located(x, parts)
    if _has_room(x, shape) or max(out.shape, default=1) <= 1:
        out[...] = x._read(begin, shape)[inner]
        return
    for half, axis, place in _halves(x, parts):
        _read_into(x, half, out[(slice(None),) * axis + (place,)])


def set_(self: StoredArray, key: Any, value: Any) -> None:
    parts = expanded(key, self.ndim)
    begin, shape, _, whole = located(self, parts)
    if whole and isinstance(value, bool | int | float | complex):
        return self._write(begin, shape, value)
    if _has_room(self, shape) and not (isinstance(value, StoredArray) and not _has_room(value, value.shape)):
        return _write_box(self, parts, value[...] if isinstance(value, StoredArray) else value)
    if isinstance(value, StoredArray):  # of itself perhaps, which changes while it is read
        value = value.transpose(range(value.ndim))
    elif not isinstance(value, bool | int | float | complex):
        value = _core.asarray(value)
    given = getattr(value, "shape", ())
    _require_broadcast(given, _result_shape(self, parts))
    _write_halves(self, parts, value, [slice(0, n) for n in given])


def _write_box(x: StoredArray, parts: list[Any], value: Any) -> None:
    begin, shape, inner, whole = located(x, parts)
    box = _core.empty(shape, x.dtype) if whole else x._read(begin, shape)
    box[inner] = value
    x._write(begin, shape, box)


def _require_broadcast(given: Sequence[int], wanted: Sequence[int]) -> None:
    """Before anything is written."""
    extra = max(0, len(given) - len(wanted))
    pairs = zip(reversed(given[extra:]), reversed(wanted), strict=False)
    if any(n != 1 for n in given[:extra]) or any(n not in (1, m) for n, m in pairs):
        texts = (str(tuple(s)).replace(" ", "") for s in (given, wanted))
        raise _core.ShapeError("could not broadcast input array from shape {} into shape {}".format(*texts))


def _write_halves(x: StoredArray, parts: list[Any], value: Any, window: list[slice]) -> None:
    """The window is what is wanted of the value, along each of its axes."""
    shape = _result_shape(x, parts)
    if _has_room(x, located(x, parts)[1]) or max(shape, default=1) <= 1:
        return _write_box(x, parts, value[tuple(window)] if hasattr(value, "shape") else value)
    for half, at, place in _halves(x, parts):
        some, axis = list(window), len(window) - (len(shape) - at)
        if axis >= 0 and value.shape[axis] != 1:
            first = window[axis].start
            some[axis] = slice(first + place.start, first + place.stop)
        _write_halves(x, half, value, some)
