# SPDX-License-Identifier: Apache-2.0
"""What is known of the reads to come, said to arrays on disk."""

from __future__ import annotations

from typing import Any

from . import _tessera as _core
from ._pickle import refuse
from ._stored_keys import expanded, located

__all__ = ["IOAccelerator"]


class IOAccelerator:
    """Prefetching, discarding and hints for an array on disk (``ts.stored``); of a formula its sources are meant.

    Nothing of it changes a result. It works in whole tiles, through the system's page cache: what was brought near is
    read from there, everything else past it. ``ts.debug.last_io_trace()`` and ``ts.trace`` show ``io.prefetch`` and
    ``io.discard``.

    >>> x = ts.stored.array(np.arange(6.0).reshape(2, 3)); io = ts.IOAccelerator(x)
    >>> io.prefetch(); ts.debug.last_io_trace()
    'io.prefetch'
    >>> x[1].tolist()
    [3.0, 4.0, 5.0]
    >>> io.discard(); ts.debug.last_io_trace()
    'io.discard'
    """

    __slots__ = ("_array", "_io")

    def __init__(self, array: _core.StoredArray) -> None:
        if not isinstance(array, _core.StoredArray):
            raise TypeError(f"IOAccelerator: expected an array of ts.stored, got {type(array).__name__}")
        self._array = array
        self._io = _core._IOAccelerator(array)

    def _box(self, key: Any, stop: int | None) -> tuple[list[int], list[int]]:
        parts = expanded(key if stop is None else slice(key, stop), self._array.ndim)
        begin, shape, _, _ = located(self._array, parts)
        return begin, shape

    def prefetch(self, key: Any = ..., stop: int | None = None) -> None:
        """Begins to read a part, ``key`` as in ``x[key]`` or the rows from one to another; does not wait for it.

        >>> x = ts.stored.zeros((4, 5)); io = ts.IOAccelerator(x)
        >>> io.prefetch(np.s_[:, 2]); io.prefetch(0, 2); io.prefetch(0, 1000)
        """
        self._io.prefetch(*self._box(key, stop))

    def discard(self, key: Any = ..., stop: int | None = None) -> None:
        """A part is not needed soon: what was written goes to disk, and its memory is given back, but for pages that
        are still being read.

        >>> x = ts.stored.zeros((4, 5)); io = ts.IOAccelerator(x)
        >>> x[1:3] = 7; io.discard(1, 3); x[1:3, 0].tolist()
        [7.0, 7.0]
        """
        self._io.discard(*self._box(key, stop))

    def hint(self, pattern: str) -> None:
        """The order of the reads to come.

        ``"sequential"``, ``"reverse"`` and ``"strided"``: as a tile is read, the one that follows in that order is
        brought near; ``"once"``: a tile is let go as the next one is read; ``"random"``: nothing is read ahead;
        ``"normal"`` takes the hint back.

        >>> io = ts.IOAccelerator(ts.stored.zeros((4, 5))); io.hint("sequential")
        >>> io.hint("sideways")
        Traceback (most recent call last):
            ...
        tessera.ArgumentError: hint: expected normal, sequential, strided, reverse, random or once, got 'sideways'
        """
        self._io.hint(pattern)

    def resident(self, key: Any = ..., stop: int | None = None) -> int:
        """Bytes of the tiles of a part that are in memory now, in whole pages: the system is asked (``mincore``).

        >>> ts.IOAccelerator(ts.stored.array([1.0, 2.0])).resident() % 4096
        0
        """
        return self._io.resident(*self._box(key, stop))

    def flush(self) -> None:
        """What was written before is on disk when this returns.

        >>> x = ts.stored.zeros(3); x[0] = 1; ts.IOAccelerator(x).flush()
        """
        self._io.flush()

    def __repr__(self) -> str:
        return f"IOAccelerator({self._array!r})"


refuse(IOAccelerator, "it belongs to an array on disk of this process")
