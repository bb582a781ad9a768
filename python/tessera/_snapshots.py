# SPDX-License-Identifier: Apache-2.0
"""The arrays of a .tessera file by name, read in parts: keys become ranges, and only what they touch is read."""

from __future__ import annotations

import math
import operator
import os
import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from . import _tessera as _core

if TYPE_CHECKING:
    import numpy as np

__all__ = ["Snapshot", "SnapshotArray", "open_snapshot"]

_Range = tuple[int, int, int]  # begin, count, step


def open_snapshot(path: str | os.PathLike[str]) -> Snapshot:
    """The arrays of a .tessera file by their names, without reading them: a key reads what it names.

    What replaces the file later is not seen. It is closed when nobody holds it or its arrays any more.

    >>> import os, tempfile; path = os.path.join(tempfile.mkdtemp(), "run.tessera")
    >>> ts.save(path, {"x": ts.arange(1000).reshape(100, 10), "steps": 7})
    >>> ts.open_snapshot(path)["x"][10:12, ::5].tolist()
    [[100, 105], [110, 115]]
    """
    return Snapshot(path)


class Snapshot(Mapping[str, "SnapshotArray"]):
    """A .tessera file that is open: a mapping of names to arrays on disk. Made by :func:`open_snapshot`.

    An array of a dict is named by its keys, joined by "/"; those of an operator, a matrix or a result by what they are.

    >>> import os, tempfile; path = os.path.join(tempfile.mkdtemp(), "run.tessera")
    >>> ts.save(path, {"x": ts.ones(3), "fit": ts.solve.cg(ts.Scalar(2.0), [4.0])})
    >>> list(ts.open_snapshot(path))
    ['x', 'fit/x']
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = os.fsdecode(path)
        self._file = _core._Snapshot(path)
        entries = enumerate(self._file.entries)
        where = (self._file, self._path)
        self._arrays = {name: SnapshotArray(where, i, name, dtype, shape) for i, (name, dtype, shape) in entries}

    def __reduce__(self) -> tuple[Any, ...]:
        return Snapshot, (os.path.abspath(self._path),)  # which is opened where it arrives

    def __copy__(self) -> Snapshot:
        return self  # as nothing of it changes

    def __deepcopy__(self, memo: Any) -> Snapshot:
        return self

    def __getitem__(self, name: str) -> SnapshotArray:
        if name not in self._arrays:
            known = ", ".join(repr(k) for k in list(self._arrays)[:20])
            raise KeyError(f"'{self._path}' holds no array {name!r}; it has {known or 'none'}")
        return self._arrays[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrays)

    def __len__(self) -> int:
        return len(self._arrays)

    def __repr__(self) -> str:
        return f"Snapshot('{self._path}', arrays={list(self._arrays.values())})"

    def check(self) -> None:
        """Reads all arrays and compares them with their checksums; IoError names what is damaged.

        >>> import os, tempfile; path = os.path.join(tempfile.mkdtemp(), "x.tessera")
        >>> ts.save(path, ts.ones(3)); ts.open_snapshot(path).check()
        """
        self._file.check()


class SnapshotArray:
    """An array of a .tessera file: ``x[key]`` reads what the key names, and checks it.

    Keys are integers, slices, ``...`` and ``None``.

    >>> import os, tempfile; path = os.path.join(tempfile.mkdtemp(), "x.tessera")
    >>> ts.save(path, {"x": ts.arange(12).reshape(3, 4)})
    >>> x = ts.open_snapshot(path)["x"]; x.shape, x[-1, ::-2].tolist()
    ((3, 4), [11, 9])
    """

    def __init__(
        self, where: tuple[_core._Snapshot, str], entry: int, name: str, dtype: _core.DType, shape: tuple[int, ...]
    ) -> None:
        self._file, self._path = where
        self._entry, self._name, self._dtype, self._shape = entry, name, dtype, shape

    def __reduce__(self) -> tuple[Any, ...]:
        return _array_of, (os.path.abspath(self._path), self._name)

    def __copy__(self) -> SnapshotArray:
        return self

    def __deepcopy__(self, memo: Any) -> SnapshotArray:
        return self

    @property
    def name(self) -> str:
        """What it is called in the file."""
        return self._name

    @property
    def dtype(self) -> _core.DType:
        """The element type."""
        return self._dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes of the axes."""
        return self._shape

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self._shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self._shape)

    @property
    def nbytes(self) -> int:
        """Bytes of the elements."""
        return self.size * self._dtype.itemsize

    def __getitem__(self, key: Any) -> _core.Array:
        ranges, within = _located(self._name, self._shape, key)
        return self._file.read(self._entry, ranges)[within]

    def __len__(self) -> int:
        if not self._shape:
            raise TypeError("len() of an array without axes")
        return self._shape[0]

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        if copy is False:
            raise ValueError("SnapshotArray: its numbers are on disk, so that NumPy gets a copy")
        whole = self.numpy()
        return whole if dtype is None else whole.astype(dtype)

    def __repr__(self) -> str:
        return f"SnapshotArray({self._name!r}, shape={self._shape}, dtype={self._dtype})"

    def numpy(self) -> np.ndarray:
        """All of it as an array of NumPy.

        >>> import os, tempfile; path = os.path.join(tempfile.mkdtemp(), "x.tessera")
        >>> ts.save(path, {"x": ts.arange(3)}); ts.open_snapshot(path)["x"].numpy().sum().item()
        3
        """
        return self[...].numpy()


def _array_of(path: str, name: str) -> SnapshotArray:
    return Snapshot(path)[name]


def _located(name: str, shape: tuple[int, ...], key: Any) -> tuple[list[_Range], tuple[Any, ...]]:
    """The range of each axis that is read, and the key within what was read."""
    ranges: list[_Range] = []
    within: list[Any] = []
    for part in _expanded(name, len(shape), key):
        if part is None:
            within.append(None)
            continue
        axis, size = len(ranges), shape[len(ranges)]
        if isinstance(part, slice):
            start, stop, step = part.indices(size)
            n = len(range(start, stop, step))
            first = start if step > 0 else start + (n - 1) * step
            ranges.append((first, n, abs(step)) if n else (0, 0, 1))
            within.append(slice(None, None, 1 if step > 0 else -1))
        else:
            ranges.append((_position(name, part, axis, size), 1, 1))
            within.append(0)
    return ranges, tuple(within)


def _expanded(name: str, ndim: int, key: Any) -> list[Any]:
    """One part of the key for each axis, and its Nones."""
    parts = list(key) if isinstance(key, tuple) else [key]
    dots = [i for i, part in enumerate(parts) if part is Ellipsis]
    used = sum(part is not None and part is not Ellipsis for part in parts)
    if used > ndim or len(dots) > 1:
        raise _core.IndexError(f"array '{name}': a key of {used} indices and {len(dots)} ellipses for {ndim} axes")
    at = dots[0] if dots else len(parts)
    return parts[:at] + [slice(None)] * (ndim - used) + parts[at + 1 :]


def _position(name: str, part: Any, axis: int, size: int) -> int:
    try:
        if isinstance(part, bool) or "numpy" in sys.modules and isinstance(part, sys.modules["numpy"].bool_):
            raise TypeError
        i = operator.index(part)
    except TypeError:
        raise _core.IndexError(
            f"array '{name}': a key is made of integers, slices, ... and None, got {type(part).__name__}; "
            "read a slice, and index that"
        ) from None
    if not -size <= i < size:
        raise _core.IndexError(f"array '{name}': index {i} is out of bounds for axis {axis} with size {size}")
    return i % size
