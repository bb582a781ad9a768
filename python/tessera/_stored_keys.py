# SPDX-License-Identifier: Apache-2.0
"""Keys of arrays on disk: the box that a key needs, and the key within it."""

from __future__ import annotations

import operator
from typing import Any

from . import _tessera as _core
from ._tessera import StoredArray


def _expanded(key: Any, ndim: int) -> list[Any]:
    parts = list(key) if isinstance(key, tuple) else [key]
    used = sum(p is not None and p is not Ellipsis for p in parts)
    dots = [i for i, p in enumerate(parts) if p is Ellipsis]
    if used > ndim or len(dots) > 1:
        raise _core.IndexError(f"StoredArray: {used} indices for an array of {ndim} axes")
    at = dots[0] if dots else len(parts)
    return parts[:at] + [slice(None)] * (ndim - used) + parts[at + 1 :]


def located(x: StoredArray, key: Any) -> tuple[list[int], list[int], tuple[Any, ...], bool]:
    """Where the box begins, its shape, the key within the box, and whether that takes all of it."""
    begin: list[int] = []
    shape: list[int] = []
    inner: list[Any] = []
    whole, axis = True, 0
    for part in _expanded(key, x.ndim):
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
            whole = whole and (n == 0 or abs(step) == 1)
            inner.append(slice(None, None, step) if n else slice(None))
        else:
            try:
                i = operator.index(part)
            except TypeError:
                raise _core.IndexError(
                    f"StoredArray: a key is made of integers, slices, ... and None, got {type(part).__name__}"
                ) from None
            if not -size <= i < size:
                raise _core.IndexError(f"StoredArray: index {i} is out of bounds for axis {axis} with size {size}")
            begin.append(i % size)
            shape.append(1)
            inner.append(0)
        axis += 1
    return begin, shape, tuple(inner), whole


def get(self: StoredArray, key: Any) -> _core.Array:
    begin, shape, inner, _ = located(self, key)
    return self._read(begin, shape)[inner]


def set_(self: StoredArray, key: Any, value: Any) -> None:
    begin, shape, inner, whole = located(self, key)
    if whole and isinstance(value, bool | int | float | complex):
        return self._write(begin, shape, value)
    box = _core.empty(shape, self.dtype) if whole else self._read(begin, shape)
    box[inner] = value[...] if isinstance(value, StoredArray) else value
    self._write(begin, shape, box)
