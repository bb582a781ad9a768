# SPDX-License-Identifier: Apache-2.0
"""Arrays with entries put in, taken out, joined in blocks, cut apart or written over, and as sets, with NumPy's
arguments, once for all kinds of arrays."""

from __future__ import annotations

import operator
from typing import Any

from ._composed import Composed
from ._functions import Functions, T, known_axis, refusal

_ORDER = "buifc"


class Editing(Functions[T]):
    """Those that change what an array holds."""

    def append(self, arr: Any, values: Any, axis: int | None = None) -> T:
        """Values behind an array, along an axis or flattened.

        >>> ts.append([1, 2], [[3], [4]]).tolist(), ts.append([[1, 2]], [[3, 4]], axis=0).tolist()
        ([1, 2, 3, 4], [[1, 2], [3, 4]])
        """
        x, more = self._arrays(arr, values)
        return self._home.concatenate([x.ravel(), more.ravel()] if axis is None else [x, more], axis or 0)

    def _line(self, arr: Any, axis: int | None) -> tuple[Any, int]:
        x = self._array(arr)
        return (x.ravel(), 0) if axis is None else (x, known_axis(axis, x.ndim))

    def _cut(self, x: Any, axis: int, key: Any) -> Any:
        return x[(slice(None),) * axis + (key,)]

    def _places(self, obj: Any, n: int, x: Any) -> Any:
        """Positions as a slice, a number or an array, of whatever says where."""
        if isinstance(obj, slice):
            return obj
        if isinstance(obj, bool) or not hasattr(obj, "__len__") and hasattr(obj, "__index__"):
            return operator.index(obj)
        at = self._near(obj, x)
        if at.dtype.kind == "b":
            if at.shape != (n,):
                raise ValueError(f"boolean array argument obj must be one dimensional and match the axis length of {n}")
            return self._home.nonzero(at)[0]
        if at.size == 0:
            return at.astype("int64")
        if at.dtype.kind not in "iu":
            raise IndexError("arrays used as indices must be of integer (or boolean) type")
        return at.ravel().astype("int64")

    def delete(self, arr: Any, obj: Any, axis: int | None = None) -> T:
        """An array without the entries at some positions of an axis, or of the flattened array.

        >>> ts.delete([5, 6, 7, 8], [0, 2]).tolist(), ts.delete([[1, 2], [3, 4]], 0, axis=1).tolist()
        ([6, 8], [[2], [4]])
        """
        home = self._home
        x, axis = self._line(arr, axis)
        n = x.shape[axis]
        at = self._places(obj, n, x)
        if isinstance(at, int):
            if not -n <= at < n:
                raise IndexError(f"index {at} is out of bounds for axis {axis} with size {n}")
            at = slice(at % n, at % n + 1)
        if isinstance(at, slice):
            gone = range(*at.indices(n))
            if len(gone) == 0:
                return x.copy()
            first, last = min(gone[0], gone[-1]), max(gone[0], gone[-1])
            if abs(gone.step) == 1 or len(gone) == 1:
                parts = [self._cut(x, axis, slice(0, first)), self._cut(x, axis, slice(last + 1, n))]
                return home.concatenate(parts, axis)
        keep = self._near([True], x)
        keep = home.broadcast_to(keep, (n,)).copy()
        keep[at] = False
        return self._cut(x, axis, keep)

    def insert(self, arr: Any, obj: Any, values: Any, axis: int | None = None) -> T:
        """An array with values put before positions of an axis, or of the flattened array.

        >>> ts.insert([1, 2, 3], 1, 9).tolist(), ts.insert([1, 2, 3], [0, 2], [7, 8]).tolist()
        ([1, 9, 2, 3], [7, 1, 2, 8, 3])
        """
        home = self._home
        x, axis = self._line(arr, axis)
        n = x.shape[axis]
        at = self._places(obj, n, x)
        if isinstance(at, slice):
            steps = list(range(*at.indices(n)))
            at = self._near(steps, x) if steps else self._near([], x).astype("int64")
        values = self._written(values, x)
        if isinstance(at, int) or at.size == 1:
            place = at if isinstance(at, int) else int(at[0])
            if not -n <= place <= n:
                raise IndexError(f"index {place} is out of bounds for axis {axis} with size {n}")
            return self._insert_one(x, axis, place + n if place < 0 else place, values, isinstance(at, int))
        if at.size and not (int(home.min(at)) >= -n and int(home.max(at)) <= n):
            raise IndexError(f"index {int(home.max(at))} is out of bounds for axis {axis} with size {n}")
        at = home.where(at < 0, at + n, at)
        many = at.shape[0]
        order = home.argsort(at)
        shift = home.zeros_like(at)
        shift[order] = self._near(list(range(many)), x) if many else shift
        at = at + shift
        shape = list(x.shape)
        shape[axis] = n + many
        old = home.broadcast_to(self._near([True], x), (n + many,)).copy()
        old[at] = False
        ranks = {"comm": x.comm, "split": x.split} if hasattr(x, "comm") else {}
        found = home.zeros(shape, dtype=x.dtype, device=x.device, **ranks)
        lead = (slice(None),) * axis
        found[lead + (at,)] = values  # noqa: RUF005
        found[lead + (old,)] = x  # noqa: RUF005
        return found

    def _insert_one(self, x: Any, axis: int, place: int, values: Any, number: bool) -> Any:
        home = self._home
        values = home.reshape(values, (1,) * max(0, x.ndim - values.ndim) + tuple(values.shape))
        if number:
            values = home.moveaxis(values, 0, axis)
        shape = list(x.shape)
        shape[axis] = values.shape[axis]
        middle = home.broadcast_to(values, shape)
        n = x.shape[axis]
        parts = [self._cut(x, axis, slice(0, place)), middle, self._cut(x, axis, slice(place, n))]
        return home.concatenate(parts, axis)

    def block(self, arrays: Any) -> T:
        """An array of blocks: those of an innermost list beside each other, lists of them on top of each other.

        >>> ts.block([[ts.eye(2), ts.zeros((2, 1))], [ts.ones((1, 2)), 5.0]]).tolist()
        [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 1.0, 5.0]]
        """
        depth = self._depth(arrays)
        leaves = self._leaves(arrays)
        first = next((v for v in leaves if isinstance(v, self._kind)), None)
        place = self._array if first is None else lambda v: self._near(v, first)
        ndim = max(depth, *(place(v).ndim for v in leaves))
        return self._blocks(arrays, depth, ndim, place)

    def _depth(self, arrays: Any) -> int:
        if isinstance(arrays, tuple):
            raise TypeError("block: arrays is a tuple. Only lists can be used to arrange blocks")
        if not isinstance(arrays, list):
            return 0
        if not arrays:
            raise ValueError("List at arrays cannot be empty")
        depths = {self._depth(v) for v in arrays}
        if len(depths) > 1:
            raise ValueError("List depths are mismatched")
        return depths.pop() + 1

    def _leaves(self, arrays: Any) -> list[Any]:
        return [leaf for v in arrays for leaf in self._leaves(v)] if isinstance(arrays, list) else [arrays]

    def _blocks(self, arrays: Any, depth: int, ndim: int, place: Any) -> Any:
        if isinstance(arrays, list):
            return self._home.concatenate([self._blocks(v, depth - 1, ndim, place) for v in arrays], -depth)
        x = place(arrays)
        return self._home.reshape(x, (1,) * (ndim - x.ndim) + tuple(x.shape)) if x.ndim < ndim else x.copy()

    def hsplit(self, ary: Any, indices_or_sections: Any) -> list[T]:
        """Parts beside each other.

        >>> [p.tolist() for p in ts.hsplit([[1, 2], [3, 4]], 2)]
        [[[1], [3]], [[2], [4]]]
        """
        x = self._array(ary)
        if x.ndim == 0:
            raise ValueError("hsplit only works on arrays of 1 or more dimensions")
        return self._home.split(x, indices_or_sections, 1 if x.ndim > 1 else 0)

    def vsplit(self, ary: Any, indices_or_sections: Any) -> list[T]:
        """Parts on top of each other.

        >>> [p.tolist() for p in ts.vsplit([[1, 2], [3, 4]], 2)]
        [[[1, 2]], [[3, 4]]]
        """
        x = self._array(ary)
        if x.ndim < 2:
            raise ValueError("vsplit only works on arrays of 2 or more dimensions")
        return self._home.split(x, indices_or_sections, 0)

    def dsplit(self, ary: Any, indices_or_sections: Any) -> list[T]:
        """Parts along the third axis.

        >>> [p.shape for p in ts.dsplit(ts.zeros((2, 3, 4)), 2)]
        [(2, 3, 2), (2, 3, 2)]
        """
        x = self._array(ary)
        if x.ndim < 3:
            raise ValueError("dsplit only works on arrays of 3 or more dimensions")
        return self._home.split(x, indices_or_sections, 2)

    def fliplr(self, m: Any) -> T:
        """The second axis in the opposite direction.

        >>> ts.fliplr([[1, 2], [3, 4]]).tolist()
        [[2, 1], [4, 3]]
        """
        x = self._array(m)
        if x.ndim < 2:
            raise ValueError("Input must be >= 2-d.")
        return self._home.flip(x, 1)

    def flipud(self, m: Any) -> T:
        """The first axis in the opposite direction.

        >>> ts.flipud([[1, 2], [3, 4]]).tolist()
        [[3, 4], [1, 2]]
        """
        x = self._array(m)
        if x.ndim < 1:
            raise ValueError("Input must be >= 1-d.")
        return self._home.flip(x, 0)

    def _target(self, x: Any, who: str) -> Any:
        kind: Any = self._kind
        if not isinstance(x, kind):
            raise refusal(f"{who}: expected {kind.__name__} to write into, got {type(x).__name__}")
        return x

    def _repeated(self, values: Any, x: Any, n: int) -> Any:
        """n values, repeated from the front where they are fewer."""
        values = self._written(values, x).ravel()
        if values.size in (0, 1):
            return values
        ranks = {"comm": x.comm} if hasattr(x, "comm") else {}
        return self._home.take(values, self._home.arange(n, device=x.device, **ranks) % values.size)

    def fill_diagonal(self, a: Any, val: Any, wrap: bool = False) -> None:
        """Writes a number, or several in turn, onto the main diagonal; with ``wrap`` that of a tall matrix goes on.

        >>> x = ts.zeros((3, 3)); ts.fill_diagonal(x, [1, 2, 3]); x.tolist()[1]
        [0.0, 2.0, 0.0]
        """
        x = self._target(a, "fill_diagonal")
        if x.ndim < 2:
            raise ValueError("array must be at least 2-d")
        if x.ndim > 2 and len(set(x.shape)) > 1:
            raise ValueError("All dimensions of input must be of equal length")
        ranks = {"comm": x.comm} if hasattr(x, "comm") else {}
        rows, columns = x.shape[0], x.shape[1]
        if x.ndim > 2 or not wrap:
            at = self._home.arange(min(x.shape), device=x.device, **ranks)
            key: tuple[Any, ...] = (at,) * x.ndim
        else:
            flat = self._home.arange(0, rows * columns, columns + 1, device=x.device, **ranks)
            at, key = flat, (flat // columns, flat % columns)
        if at.shape[0]:
            x[key] = self._repeated(val, x, at.shape[0])

    def copyto(self, dst: Any, src: Any, casting: str = "same_kind", where: Any = True) -> None:
        """Writes one array into another, where a condition holds.

        >>> x = ts.zeros(3); ts.copyto(x, [1, 2, 3], where=[True, False, True]); x.tolist()
        [1.0, 0.0, 3.0]
        """
        x = self._target(dst, "copyto")
        whole = isinstance(src, int) and not (isinstance(src, bool) or x.dtype.kind == "b")
        source = self._written(src, x) if whole else self._near(src, x)
        late = _ORDER.index(source.dtype.kind) > _ORDER.index(x.dtype.kind)
        if casting not in ("unsafe", "same_value") and late:
            raise TypeError(
                f"Cannot cast array data from {source.dtype.name} to {x.dtype.name} according to the rule '{casting}'"
            )
        source = source.astype(x.dtype)
        while source.ndim > x.ndim and source.shape[0] == 1:
            source = source[0]
        source = self._home.broadcast_to(source, x.shape)
        if where is True:
            x[...] = source
            return
        mask = self._near(where, x)
        if mask.dtype.kind != "b":
            raise TypeError(f"Cannot cast array data from {mask.dtype.name} to bool according to the rule 'safe'")
        x[...] = self._home.where(self._home.broadcast_to(mask, x.shape), source, x)

    def putmask(self, a: Any, mask: Any, values: Any) -> None:
        """Writes values where a mask holds, each at its own place; few are repeated over the whole array.

        >>> x = ts.arange(5); ts.putmask(x, x > 1, [-1, -2]); x.tolist()
        [0, 1, -1, -2, -1]
        """
        x = self._target(a, "putmask")
        mask = self._near(mask, x).astype("bool")
        if mask.size != x.size:
            raise ValueError("putmask: mask and data must be the same size")
        values = self._near(values, x)
        if values.size == 0:
            return
        if _ORDER.index(values.dtype.kind) > _ORDER.index(x.dtype.kind):
            raise TypeError(
                f"Cannot cast array data from {values.dtype.name} to {x.dtype.name} according to the rule 'safe'"
            )
        if values.shape != x.shape:
            values = self._home.reshape(
                self._repeated(values, x, x.size), x.shape if values.size > 1 else (1,) * x.ndim
            )
        x[...] = self._home.where(self._home.reshape(mask, x.shape), values.astype(x.dtype), x)

    def place(self, arr: Any, mask: Any, vals: Any) -> None:
        """Writes values one after another where a mask holds; few are repeated.

        >>> x = ts.arange(5); ts.place(x, x > 1, [-1, -2]); x.tolist()
        [0, 1, -1, -2, -1]
        """
        x = self._target(arr, "place")
        mask = self._near(mask, x).astype("bool")
        if mask.size != x.size:
            raise ValueError("place: mask and data must be the same size")
        mask = self._home.reshape(mask, x.shape)
        many = int(self._home.count_nonzero(mask))
        values = self._written(vals, x)
        if many and values.size == 0:
            raise ValueError("Cannot insert from an empty array!")
        if many:
            x[mask] = self._repeated(values, x, many)


class Sets(Functions[T]):
    """Arrays as sets: what is equal counts once, results are sorted."""

    def union1d(self, ar1: Any, ar2: Any) -> T:
        """What is in either of two arrays.

        >>> ts.union1d([3, 1], [2, 1]).tolist()
        [1, 2, 3]
        """
        return self._home.unique(self._home.concatenate([x.ravel() for x in self._arrays(ar1, ar2)], 0))

    def intersect1d(self, ar1: Any, ar2: Any, assume_unique: bool = False, return_indices: bool = False) -> Any:
        """What is in both of two arrays; with ``return_indices`` also where it first is in each.

        >>> ts.intersect1d([3, 1, 3], [3, 4, 1]).tolist()
        [1, 3]
        """
        home = self._home
        a, b = (x.ravel() for x in self._arrays(ar1, ar2))
        first: Any = None
        second: Any = None
        if not assume_unique:
            (a, first), (b, second) = (home.unique(x, True)[:2] for x in (a, b))
        n = a.shape[0]
        both = home.concatenate([a, b], 0)
        order = home.argsort(both)
        line = home.take(both, order)
        equal = line[1:] == line[:-1]
        found = line[:-1][equal]
        if not return_indices:
            return found
        of_a, of_b = order[:-1][equal], order[1:][equal] - n
        if not assume_unique:
            of_a, of_b = home.take(first, of_a), home.take(second, of_b)
        return found, of_a, of_b

    def setdiff1d(self, ar1: Any, ar2: Any, assume_unique: bool = False) -> T:
        """What is in the first array and not in the second.

        >>> ts.setdiff1d([3, 1, 2], [1]).tolist()
        [2, 3]
        """
        a, b = self._arrays(ar1, ar2)
        a = a.ravel() if assume_unique else self._home.unique(a)
        return a[Composed(self._home, self._kind).isin(a, b, invert=True)]

    def setxor1d(self, ar1: Any, ar2: Any, assume_unique: bool = False) -> T:
        """What is in one of two arrays and not in both.

        >>> ts.setxor1d([3, 1, 2], [1, 5]).tolist()
        [2, 3, 5]
        """
        home = self._home
        a, b = (x.ravel() if assume_unique else home.unique(x) for x in self._arrays(ar1, ar2))
        line = home.sort(home.concatenate([a, b], 0))
        if line.size < 2:
            return line
        edge = line[1:] != line[:-1]
        end = home.ones_like(edge[:1])
        return line[home.concatenate([end, edge], 0) & home.concatenate([edge, end], 0)]
