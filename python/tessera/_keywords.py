# SPDX-License-Identifier: Apache-2.0
"""NumPy's further arguments (``out=``, ``mode=``, ``dtype=``, ``equal_nan=``) of functions that the core has with
fewer, once for all kinds of arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from ._functions import Functions, T, known_axis
from ._standard import Standard
from ._tessera import StoredArray

_ORDER = "buifc"  # a kind is cast to those behind it


class Keywords(Functions[T]):
    """Those with more arguments."""

    def _cast(self, x: Any, dtype: Any, casting: str, who: str) -> Any:
        if dtype is None:
            return x
        y = x[:0] if x.ndim else x
        kind = y.astype(dtype).dtype.kind
        if casting in ("same_kind", "safe", "no", "equiv") and _ORDER.index(x.dtype.kind) > _ORDER.index(kind):
            raise TypeError(f"{who}: cannot cast from {x.dtype.name} to {dtype} according to the rule '{casting}'")
        return x.astype(dtype)

    def concatenate(
        self,
        arrays: Sequence[Any],
        axis: int | None = 0,
        out: Any = None,
        *,
        dtype: Any = None,
        casting: str = "same_kind",
    ) -> T:
        """Arrays one after another along an axis they have, or flattened; as a ``dtype``, or into ``out``.

        >>> ts.concatenate([[1], [2, 3]]).tolist(), ts.concatenate([[1], [2]], dtype="float32").tolist()
        ([1, 2, 3], [1.0, 2.0])
        """
        if out is None and dtype is None:
            return self._home.concatenate(arrays, axis)  # type: ignore[no-any-return]
        if out is not None and dtype is not None:
            raise TypeError("concatenate() only takes `out` or `dtype` as an argument, but both were provided.")
        found = self._cast(self._home.concatenate(arrays, axis), dtype, casting, "concatenate")
        return self._into(found, out, "concatenate")

    def stack(
        self, arrays: Sequence[Any], axis: int = 0, out: Any = None, *, dtype: Any = None, casting: str = "same_kind"
    ) -> T:
        """Arrays of one shape along a new axis; as a ``dtype``, or into ``out``.

        >>> ts.stack([[1, 2], [3, 4]], axis=1).tolist()
        [[1, 3], [2, 4]]
        """
        if out is None and dtype is None:
            return self._home.stack(arrays, axis)  # type: ignore[no-any-return]
        found = self._cast(self._home.stack(arrays, axis), dtype, casting, "stack")
        return self._into(found, out, "stack")

    def take(self, x: Any, indices: Any, axis: int | None = None, out: Any = None, mode: str = "raise") -> T:
        """Elements at positions along an axis, or of the flattened array; what lies outside is an error ("raise"),
        counted on ("wrap") or moved to the end ("clip").

        >>> ts.take([5, 6, 7], [2, 0]).tolist(), ts.take([5, 6, 7], [4, -9], mode="clip").tolist()
        ([7, 5], [7, 5])
        """
        if mode == "raise":
            found = self._home.take(x, indices, axis)
            return found if out is None else self._into(found, out, "take")  # type: ignore[no-any-return]
        self._known_mode(mode)
        x = self._array(x)
        n = x.size if axis is None else x.shape[known_axis(axis, x.ndim)]
        return self._into(self._home.take(x, self._moved(indices, n, mode, x), axis), out, "take")

    def put(self, x: Any, indices: Any, values: Any, mode: str = "raise") -> None:
        """Writes values at positions of the flattened array; few values are repeated. ``mode`` as in ``take``.

        >>> x = ts.zeros(4); ts.put(x, [3, 0], [5, 6]); ts.put(x, 9, 1, mode="wrap"); x.tolist()
        [6.0, 1.0, 0.0, 5.0]
        """
        if mode != "raise" and isinstance(x, self._kind):
            target: Any = x
            indices = self._moved(indices, target.size, mode, target)
        self._home.put(x, indices, values)

    def _moved(self, indices: Any, n: int, mode: str, x: Any) -> Any:
        self._known_mode(mode)
        at = self._near(indices, x)
        if at.dtype.kind not in "iub":
            raise TypeError(f"Cannot cast array data from {at.dtype.name} to int64 according to the rule 'safe'")
        if n == 0 and at.size:
            raise IndexError("cannot do a non-empty take from an empty axes.")
        at = at.astype("int64")
        return at % max(n, 1) if mode == "wrap" else self._home.clip(at, 0, max(n - 1, 0))

    def _known_mode(self, mode: str) -> None:
        if mode not in ("clip", "raise", "wrap"):
            raise ValueError(f"clipmode must be one of 'clip', 'raise', or 'wrap' (got {mode!r})")

    def compress(self, condition: Any, x: Any, axis: int | None = None, out: Any = None) -> T:
        """Slices along an axis where a condition is not zero.

        >>> ts.compress([0, 1, 1], [5, 6, 7]).tolist()
        [6, 7]
        """
        return self._into(self._home.compress(condition, x, axis), out, "compress")

    def dot(self, a: Any, b: Any, out: Any = None) -> T:
        """NumPy's dot: inner products of vectors, products of matrices.

        >>> ts.dot([1, 2], [3, 4]).item()
        11
        """
        found = self._home.dot(a, b)
        return found if out is None else self._into(found, out, "dot")

    def hstack(self, arrays: Sequence[Any], *, dtype: Any = None, casting: str = "same_kind") -> T:
        """Arrays beside each other.

        >>> ts.hstack([[1, 2], [5]]).tolist()
        [1, 2, 5]
        """
        return self._cast(self._home.hstack(arrays), dtype, casting, "hstack")

    def vstack(self, arrays: Sequence[Any], *, dtype: Any = None, casting: str = "same_kind") -> T:
        """Arrays on top of each other.

        >>> ts.vstack([[1, 2], [5, 6]]).tolist()
        [[1, 2], [5, 6]]
        """
        return self._cast(self._home.vstack(arrays), dtype, casting, "vstack")

    def choose(self, a: Any, choices: Any, out: Any = None, mode: str = "raise") -> T:
        """At every place the entry of the array that a number there names; ``mode`` as in ``take``.

        >>> ts.choose([0, 1, 1], [[1, 2, 3], [7, 8, 9]]).tolist()
        [1, 8, 9]
        """
        home = self._home
        self._known_mode(mode)
        parts = self._arrays(a, *choices)
        if len(parts) < 2:
            raise ValueError("choose: no choices")
        which, n = parts[0], len(parts) - 1
        if which.dtype.kind not in "iub":
            raise TypeError(f"Cannot cast array data from {which.dtype.name} to int64 according to the rule 'safe'")
        which = which.astype("int64")
        if mode != "raise":
            which = self._moved(which, n, mode, which)
        elif which.size and not (int(home.min(which)) >= 0 and int(home.max(which)) < n):
            raise ValueError("invalid entry in choice array")
        which, *lines = Standard(home, self._kind).broadcast_arrays(which, *parts[1:])
        found: Any = lines[0]
        for k, line in enumerate(lines[1:], 1):
            found = home.where(which == k, line, found)
        return self._into(found if n > 1 else found.copy(), out, "choose")

    def unique(
        self,
        x: Any,
        return_index: bool = False,
        return_inverse: bool = False,
        return_counts: bool = False,
        axis: int | None = None,
        *,
        equal_nan: bool = True,
        sorted: bool = True,
    ) -> Any:
        """The distinct elements in order, or the distinct slices along an axis; NaNs are one unless ``equal_nan`` is
        false.

        >>> ts.unique([2, 1, 2]).tolist(), ts.unique([[1, 2], [1, 2]], axis=0).tolist()
        ([1, 2], [[1, 2]])
        """
        if equal_nan or axis is not None:
            return self._home.unique(x, return_index, return_inverse, return_counts, axis)
        found = Standard(self._home, self._kind)._unique(x, return_index, return_inverse, return_counts)
        return found if len(found) > 1 else found[0]

    def round(self, x: Any, /, decimals: int = 0, out: Any = None) -> T:
        """The nearest numbers with so many decimals, halves to the even one; integers are what they were.

        >>> ts.round([0.5, 1.5, 2.4]).tolist(), ts.round([2.345], 1).tolist()
        ([0.0, 2.0, 2.0], [2.3])
        """
        if isinstance(x, StoredArray):
            return cast(T, x.round(decimals, out))
        return self._into(Standard(self._home, self._kind).round(x, decimals), out, "round")
