# SPDX-License-Identifier: Apache-2.0
"""Functions with the array API standard's names and arguments, once for all kinds of arrays: ``ts`` and ``ts.dist``.
What NumPy calls otherwise, or gives fewer arguments, is made of what the module of a kind of arrays has."""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import index
from typing import Any, NamedTuple

from ._checked import is_whole, whole_numbers
from ._functions import Functions, T
from ._tessera import AxisError, _check_host_memory


class UniqueAll(NamedTuple):
    values: Any
    indices: Any
    inverse_indices: Any
    counts: Any


class UniqueCounts(NamedTuple):
    values: Any
    counts: Any


class UniqueInverse(NamedTuple):
    values: Any
    inverse_indices: Any


class Standard(Functions[T]):
    """Those of the standard."""

    def round(self, x: Any, /, decimals: int = 0) -> T:
        """The nearest numbers with so many decimals, halves to the even one; integers are what they were.

        >>> ts.round([0.5, 1.5, 2.4]).tolist(), ts.round([2.345], 1).tolist()
        ([0.0, 2.0, 2.0], [2.3])
        """
        x = self._array(x)
        if x.dtype.kind == "c":
            y = x.copy()
            y.real[...], y.imag[...] = self.round(x.real, decimals), self.round(x.imag, decimals)
            return y
        if x.dtype.kind != "f" and decimals >= 0:
            return x.copy()
        if decimals == 0:
            return self._home.rint(x)
        scale = 10.0 ** abs(decimals)
        y = self._home.rint(x * scale) / scale if decimals > 0 else self._home.rint(x / scale) * scale
        return y.astype(x.dtype)

    def sort(
        self, x: Any, axis: int | None = -1, kind: str | None = None, *, descending: bool = False, stable: bool = True
    ) -> T:
        """The elements in order, as a new array; always stable, NaN last (first when descending).

        >>> ts.sort([3, 1, 2]).tolist(), ts.sort([3, 1, 2], descending=True).tolist()
        ([1, 2, 3], [3, 2, 1])
        """
        y = self._home.sort(x, axis)
        return self._home.flip(y, 0 if axis is None else axis) if descending else y

    def argsort(
        self, x: Any, axis: int | None = -1, kind: str | None = None, *, descending: bool = False, stable: bool = True
    ) -> T:
        """The positions that sort the array; always stable.

        >>> ts.argsort([3, 1, 2]).tolist(), ts.argsort([1, 3, 3], descending=True).tolist()
        ([1, 2, 0], [1, 2, 0])
        """
        if not descending:
            return self._home.argsort(x, axis)
        x = self._array(x) if axis is not None else self._array(x).ravel()
        axis = 0 if axis is None else axis
        # Turned round, equal elements stand in the opposite order; turned back, in theirs again.
        turned = self._home.argsort(self._home.flip(x, axis), axis)
        return (x.shape[axis] - 1) - self._home.flip(turned, axis)

    def searchsorted(self, a: Any, v: Any, side: str = "left", sorter: Any = None) -> T:
        """Where values would be inserted into a sorted array, or into one that ``sorter`` sorts.

        >>> ts.searchsorted([1, 3, 5], [4, 0]).tolist(), ts.searchsorted([5, 1, 3], 4, sorter=[1, 2, 0]).item()
        ([2, 0], 2)
        """
        return self._home.searchsorted(a if sorter is None else self._home.take(a, sorter), v, side)

    def reshape(
        self, x: Any, shape: int | Sequence[int], new_split: int | None = None, *, copy: bool | None = None
    ) -> T:
        """Another shape of the same elements: a view where it can be one, unless ``copy`` is true. The split of a
        distributed array follows its axis unless ``new_split`` says where to.

        >>> ts.reshape([0, 1, 2, 3], (2, -1)).tolist()
        [[0, 1], [2, 3]]
        """
        x = self._array(x)
        split = () if new_split is None else (new_split,)
        return self._home.reshape(x.copy() if copy else x, shape, *split)

    def expand_dims(self, x: Any, axis: int | Sequence[int] = 0) -> T:
        """New axes of size 1, at these places of the result: a view.

        >>> ts.expand_dims([1, 2], 1).shape, ts.expand_dims([1, 2], (0, 2)).shape
        ((2, 1), (1, 2, 1))
        """
        if not isinstance(axis, Sequence):
            return self._home.expand_dims(x, index(axis))
        y = self._array(x)
        ndim = y.ndim + len(axis)
        if ndim > 64:  # before any of them is looked at
            raise AxisError(f"expand_dims: {len(axis)} new axes; an array has 64 at most")
        if not all(-ndim <= a < ndim for a in axis):
            raise AxisError(f"expand_dims: axes {tuple(axis)} of a result of {ndim} axes")
        places = {a % ndim for a in axis}
        if len(places) != len(axis):
            raise ValueError("repeated axis")
        for place in sorted(places):
            y = self._home.expand_dims(y, place)
        return y

    def permute_dims(self, x: Any, /, axes: Sequence[int]) -> T:
        """The axes in another order: a view.

        >>> ts.permute_dims(ts.zeros((2, 3, 4)), (2, 0, 1)).shape
        (4, 2, 3)
        """
        return self._home.transpose(x, axes)

    def matrix_transpose(self, x: Any, /) -> T:
        """The last two axes swapped: a view.

        >>> ts.matrix_transpose(ts.zeros((5, 2, 3))).shape
        (5, 3, 2)
        """
        return self._array(x).mT

    def unstack(self, x: Any, /, *, axis: int = 0) -> tuple[T, ...]:
        """The parts of an array along an axis, which they lose.

        >>> [p.tolist() for p in ts.unstack(ts.eye(2), axis=1)]
        [[1.0, 0.0], [0.0, 1.0]]
        """
        parts = self._home.moveaxis(self._array(x), axis, 0)
        if hasattr(parts, "_parts"):
            return parts._parts()
        _check_host_memory("unstack", 512 * len(parts))
        return tuple(parts)

    def broadcast_arrays(self, *arrays: Any) -> list[T]:
        """Arrays repeated to one common shape: views for reading.

        >>> [a.shape for a in ts.broadcast_arrays(ts.zeros((3, 1)), ts.zeros(2))]
        [(3, 2), (3, 2)]
        """
        found = [self._array(a) for a in arrays]
        ndim = max((a.ndim for a in found), default=0)
        shape = [1] * ndim
        for a in found:
            for i, n in enumerate(a.shape, ndim - a.ndim):
                if 1 not in (n, shape[i]) and n != shape[i]:
                    raise ValueError(f"broadcast_arrays: {a.shape} does not fit the other shapes")
                shape[i] = n if n != 1 else shape[i]
        return [self._home.broadcast_to(a, shape) for a in found]

    def meshgrid(self, *arrays: Any, indexing: str = "xy") -> list[T]:
        """Grids of coordinates from one vector for each axis: copies, which may be written.

        >>> x, y = ts.meshgrid([0, 1], [0, 1, 2]); x.shape, y.tolist()
        ((3, 2), [[0, 0], [1, 1], [2, 2]])
        """
        if indexing not in ("xy", "ij"):
            raise ValueError("Valid values for `indexing` are 'xy' and 'ij'.")
        n = len(arrays)
        lines = [self._home.reshape(a, [-1 if i == k else 1 for i in range(n)]) for k, a in enumerate(arrays)]
        grids = self.broadcast_arrays(*lines)
        turned: list[Any] = [self._home.swapaxes(g, 0, 1) for g in grids] if indexing == "xy" and n > 1 else grids
        return [g.copy() for g in turned]

    def diff(self, x: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> T:
        """Differences of neighbours, n times over, of the array with what is put before and behind it.

        >>> ts.diff([1, 4, 9]).tolist(), ts.diff([1, 4, 9], prepend=0).tolist()
        ([3, 5], [1, 3, 5])
        """
        x = self._array(x)
        if n > 0 and not (prepend is None and append is None):
            parts = [self._beside(x, prepend, axis), x, self._beside(x, append, axis)]
            x = self._home.concatenate([p for p in parts if p is not None], axis)
        return self._home.diff(x, n, axis)

    def _beside(self, x: Any, more: Any, axis: int) -> Any:
        """What is joined to x along an axis; a number is one entry."""
        if more is None:
            return None
        more = more if isinstance(more, self._kind) else self._home.array(more, device=x.device)
        shape = list(x.shape)
        shape[axis] = 1
        return self._home.broadcast_to(more, shape) if more.ndim == 0 else more

    def vecdot(self, x1: Any, x2: Any, /, *, axis: int = -1) -> T:
        """Sums of conj(x1) * x2 along an axis.

        >>> ts.vecdot([[1j, 2], [3, 4]], [1j, 1]).tolist()
        [(3+0j), (4+3j)]
        """
        x1, x2 = self._array(x1), self._array(x2)
        if not all(-x.ndim <= axis < x.ndim for x in (x1, x2)):
            raise AxisError(f"vecdot: axis {axis} of arrays of shapes {x1.shape} and {x2.shape}")
        if x1.shape[axis] != x2.shape[axis]:
            raise ValueError(f"vecdot: shapes {x1.shape} and {x2.shape} differ along axis {axis}")
        products = self._home.multiply(self._home.conj(x1) if x1.dtype.kind == "c" else x1, x2)
        return self._home.sum(products, axis=axis, dtype=products.dtype)

    def tensordot(self, x1: Any, x2: Any, /, axes: Any = 2) -> T:
        """Sums of products over axes of both: the last and first so many, or those of two lists.

        >>> ts.tensordot(ts.ones((2, 3, 4)), ts.ones((4, 3)), axes=([1, 2], [1, 0])).tolist()
        [12.0, 12.0]
        """
        a, b = self._array(x1), self._array(x2)
        if is_whole(axes):
            n = index(axes)
            axes = list(range(a.ndim - n, a.ndim)), list(range(n))
        of_a, of_b = (whole_numbers(one) for one in axes)
        of_a, of_b = [i % a.ndim for i in of_a], [i % b.ndim for i in of_b]
        if [a.shape[i] for i in of_a] != [b.shape[i] for i in of_b]:
            raise ValueError("shape-mismatch for sum")
        kept_a, kept_b = ([i for i in range(x.ndim) if i not in of] for x, of in ((a, of_a), (b, of_b)))
        summed = math.prod(a.shape[i] for i in of_a)
        shape = [a.shape[i] for i in kept_a], [b.shape[i] for i in kept_b]
        left = self._home.reshape(self._home.transpose(a, kept_a + of_a), (math.prod(shape[0]), summed))
        right = self._home.reshape(self._home.transpose(b, of_b + kept_b), (summed, math.prod(shape[1])))
        return self._home.reshape(self._home.matmul(left, right), shape[0] + shape[1])

    def cumulative_sum(
        self, x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
    ) -> T:
        """Running sums along an axis, with the zero before the first if asked for.

        >>> ts.cumulative_sum(ts.arange(4), include_initial=True).tolist()
        [0, 0, 1, 3, 6]
        """
        return self._cumulative(self._home.cumsum, self._home.zeros_like, x, axis, dtype, include_initial)

    def cumulative_prod(
        self, x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
    ) -> T:
        """Running products along an axis, with the one before the first if asked for.

        >>> ts.cumulative_prod(ts.arange(1, 4), include_initial=True).tolist()
        [1, 1, 2, 6]
        """
        return self._cumulative(self._home.cumprod, self._home.ones_like, x, axis, dtype, include_initial)

    def _cumulative(self, scan: Any, start: Any, x: Any, axis: int | None, dtype: Any, include_initial: bool) -> T:
        x = self._array(x)
        if axis is None:
            if x.ndim > 1:
                raise ValueError("cumulative: an array of several axes needs axis=")
            x = self._home.reshape(x, (-1,)) if x.ndim == 0 else x
            axis = 0
        y = scan(x, axis, dtype)
        if not include_initial:
            return y
        first = self._home.sum(y, axis=axis, keepdims=True, dtype=y.dtype)
        return self._home.concatenate([start(first), y], axis)

    def unique_all(self, x: Any, /) -> UniqueAll:
        """Distinct elements, where each occurs first, which of them every element is, and how often; every NaN is
        another one.

        >>> ts.unique_all([2, 1, 2]).counts.tolist()
        [1, 2]
        """
        return UniqueAll(*self._unique(x, True, True, True))

    def unique_counts(self, x: Any, /) -> UniqueCounts:
        """Distinct elements and how often each occurs.

        >>> ts.unique_counts([2, 1, 2]).counts.tolist()
        [1, 2]
        """
        return UniqueCounts(*self._unique(x, False, False, True))

    def unique_inverse(self, x: Any, /) -> UniqueInverse:
        """Distinct elements, and which of them every element is.

        >>> ts.unique_inverse([2, 1, 2]).inverse_indices.tolist()
        [1, 0, 1]
        """
        return UniqueInverse(*self._unique(x, False, True, False))

    def unique_values(self, x: Any, /) -> T:
        """Distinct elements.

        >>> ts.unique_values([2, 1, 2]).tolist()
        [1, 2]
        """
        return self._unique(x, False, False, False)[0]

    def _unique(self, x: Any, index: bool, inverse: bool, counts: bool) -> tuple[Any, ...]:
        """Slices of an array differ where a NaN is: elements as slices of one element each."""
        x = self._array(x)
        if x.dtype.kind not in "fc":
            found = self._home.unique(x, index, inverse, counts)
            return found if isinstance(found, tuple) else (found,)
        found = self._home.unique(self._home.reshape(x, (-1, 1)), index, inverse, counts, axis=0)
        values, *others = found if isinstance(found, tuple) else (found,)
        if inverse:
            others[index] = self._home.reshape(others[index], x.shape)
        return self._home.squeeze(values, 1), *others
