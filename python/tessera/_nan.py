# SPDX-License-Identifier: Apache-2.0
"""Reductions that pass NaNs over, with NumPy's names and arguments, once for all kinds of arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ._checked import is_whole
from ._functions import Functions, T
from ._tessera import result_type

_Axes = int | Sequence[int] | None


def _are_integers(q: Any) -> bool:
    """Shares 0 and 1 as integers mean the ends themselves, as NumPy has it: infinities stay there what they are."""
    kind = getattr(getattr(q, "dtype", None), "kind", None)
    if kind is not None:
        return kind in "iub"
    return all(is_whole(share) for share in q) if isinstance(q, (list, tuple)) else is_whole(q)


class NanReductions(Functions[T]):
    """Those that pass NaNs over."""

    def _known(self, x: Any, instead: complex) -> tuple[Any, Any]:
        """The array with a number in place of its NaNs, and where they were: nothing where there can be none."""
        x = self._array(x)
        if x.dtype.kind not in "fc":
            return x, None
        nan = self._home.isnan(x)
        return self._home.where(nan, instead, x), nan

    def nansum(
        self,
        x: Any,
        axis: _Axes = None,
        dtype: Any = None,
        keepdims: bool = False,
        *,
        out: Any = None,
        initial: Any = None,
        where: Any = None,
    ) -> T:
        """The sum of what is not NaN.

        >>> ts.nansum([1.0, ts.nan, 2.0]).item()
        3.0
        """
        known = self._known(x, 0)[0]
        return self._home.sum(known, axis, dtype, out, keepdims, initial=initial, where=where)

    def nanprod(
        self,
        x: Any,
        axis: _Axes = None,
        dtype: Any = None,
        keepdims: bool = False,
        *,
        out: Any = None,
        initial: Any = None,
        where: Any = None,
    ) -> T:
        """The product of what is not NaN.

        >>> ts.nanprod([3.0, ts.nan, 2.0]).item()
        6.0
        """
        known = self._known(x, 1)[0]
        return self._home.prod(known, axis, dtype, out, keepdims, initial=initial, where=where)

    def nancumsum(self, x: Any, axis: int | None = None, dtype: Any = None, out: Any = None) -> T:
        """Running sums of what is not NaN.

        >>> ts.nancumsum([1.0, ts.nan, 2.0]).tolist()
        [1.0, 1.0, 3.0]
        """
        return self._home.cumsum(self._known(x, 0)[0], axis, dtype, out)

    def nancumprod(self, x: Any, axis: int | None = None, dtype: Any = None, out: Any = None) -> T:
        """Running products of what is not NaN.

        >>> ts.nancumprod([3.0, ts.nan, 2.0]).tolist()
        [3.0, 3.0, 6.0]
        """
        return self._home.cumprod(self._known(x, 1)[0], axis, dtype, out)

    def nanmax(
        self,
        x: Any,
        axis: _Axes = None,
        keepdims: bool = False,
        *,
        out: Any = None,
        initial: Any = None,
        where: Any = None,
    ) -> T:
        """The largest of what is not NaN; NaN where there is nothing else.

        >>> ts.nanmax([1.0, ts.nan, 2.0]).item()
        2.0
        """
        found = self._extremum(self._home.max, x, -1, axis, keepdims, initial, where)
        return self._into(found, out, "nanmax")

    def nanmin(
        self,
        x: Any,
        axis: _Axes = None,
        keepdims: bool = False,
        *,
        out: Any = None,
        initial: Any = None,
        where: Any = None,
    ) -> T:
        """The smallest of what is not NaN; NaN where there is nothing else.

        >>> ts.nanmin([1.0, ts.nan, 2.0]).item()
        1.0
        """
        found = self._extremum(self._home.min, x, 1, axis, keepdims, initial, where)
        return self._into(found, out, "nanmin")

    def _extremum(
        self, reduce: Any, x: Any, sign: int, axis: _Axes, keepdims: bool, initial: Any = None, where: Any = None
    ) -> T:
        known, nan = self._known(x, self._infinity(x, sign))
        found = reduce(known, axis, keepdims=keepdims, initial=initial, where=where)
        if nan is None or initial is not None:
            return found
        return self._home.where(self._home.all(nan, axis, keepdims=keepdims), float("nan"), found)

    def _infinity(self, x: Any, sign: int) -> complex:
        infinity = sign * float("inf")
        return complex(infinity, infinity) if getattr(getattr(x, "dtype", None), "kind", "f") == "c" else infinity

    def nanargmax(self, x: Any, axis: int | None = None, keepdims: bool = False) -> T:
        """Where the largest of what is not NaN is; a ValueError where there is nothing else.

        >>> ts.nanargmax([1.0, ts.nan, 2.0]).item()
        2
        """
        return self._position(self._home.argmax, x, -1, axis, keepdims)

    def nanargmin(self, x: Any, axis: int | None = None, keepdims: bool = False) -> T:
        """Where the smallest of what is not NaN is; a ValueError where there is nothing else.

        >>> ts.nanargmin([ts.nan, 1.0, 2.0]).item()
        1
        """
        return self._position(self._home.argmin, x, 1, axis, keepdims)

    def _position(self, reduce: Any, x: Any, sign: int, axis: int | None, keepdims: bool) -> T:
        known, nan = self._known(x, self._infinity(x, sign))
        if nan is not None and bool(self._home.any(self._home.all(nan, axis))):
            raise ValueError("All-NaN slice encountered")
        return reduce(known, axis, keepdims=keepdims)

    def nanmean(
        self,
        x: Any,
        axis: _Axes = None,
        dtype: Any = None,
        keepdims: bool = False,
        *,
        out: Any = None,
        where: Any = None,
    ) -> T:
        """The mean of what is not NaN; NaN where there is nothing else.

        >>> ts.nanmean([1.0, ts.nan, 2.0]).item()
        1.5
        """
        known, nan = self._known(x, 0)
        if nan is None:
            return self._home.mean(known, axis, dtype, out, keepdims, where=where)
        total = self._home.sum(known, axis, dtype, keepdims=keepdims, where=where)
        return self._into((total / self._count(nan, axis, keepdims, where)).astype(total.dtype), out, "nanmean")

    def _count(self, nan: Any, axis: _Axes, keepdims: bool, where: Any = None) -> Any:
        return self._home.sum(~nan, axis, keepdims=keepdims, where=where)

    def nanvar(
        self,
        x: Any,
        axis: _Axes = None,
        dtype: Any = None,
        ddof: float = 0,
        keepdims: bool = False,
        *,
        out: Any = None,
        where: Any = None,
    ) -> T:
        """The variance of what is not NaN; NaN where there are ``ddof`` numbers or fewer.

        >>> ts.nanvar([1.0, ts.nan, 5.0]).item()
        4.0
        """
        known, nan = self._known(x, 0)
        if nan is None:
            return self._home.var(known, axis, dtype, out, ddof, keepdims, where=where)
        known = known if dtype is None else known.astype(dtype)
        apart = self._home.abs(known - self.nanmean(x, axis, dtype, True, where=where))
        squares = self._home.sum(self._home.where(nan, 0, apart * apart), axis, keepdims=keepdims, where=where)
        free = self._count(nan, axis, keepdims, where) - ddof
        return self._into(self._home.where(free > 0, squares / free, float("nan")).astype(squares.dtype), out, "nanvar")

    def nanstd(
        self,
        x: Any,
        axis: _Axes = None,
        dtype: Any = None,
        ddof: float = 0,
        keepdims: bool = False,
        *,
        out: Any = None,
        where: Any = None,
    ) -> T:
        """The standard deviation of what is not NaN.

        >>> ts.nanstd([1.0, ts.nan, 5.0]).item()
        2.0
        """
        return self._home.sqrt(self.nanvar(x, axis, dtype, ddof, keepdims, where=where), out=out)

    def nanmedian(self, x: Any, axis: _Axes = None, keepdims: bool = False) -> T:
        """The middle of what is not NaN; NaN where there is nothing else.

        >>> ts.nanmedian([7.0, ts.nan, 1.0, 2.0]).item()
        2.0
        """
        x = self._array(x)
        if x.dtype.kind in "fc" or x.size == 0:
            return self._quantiles(x, None, axis, keepdims)
        return self._home.median(x, axis, keepdims)

    def _nanquantile(self, x: Any, q: Any, axis: _Axes, keepdims: bool) -> T:
        x = self._array(x)
        if x.dtype.kind == "c":
            raise TypeError("a must be an array of real numbers")
        return self._quantiles(x, q, axis, keepdims)

    def _quantiles(self, x: Any, q: Any, axis: Any, keepdims: bool) -> T:
        """Quantiles of numbers of any kind; without a share the medians, which complex numbers have as well."""
        several = hasattr(q, "__len__") and getattr(q, "shape", None) != ()
        shares = list(q) if several else [q]
        if q is not None and not all(0 <= float(share) <= 1 for share in shares):
            raise ValueError("Quantiles must be in the range [0, 1]")
        if x.size == 0:  # as NumPy, which has no axis for several shares there
            return self.nanmean(x, axis, keepdims=keepdims)
        if axis is not None and not is_whole(axis):
            return self._over(x, q, axis, keepdims)
        known, nan = self._known(x, float("inf"))
        if nan is None:
            return self._home.quantile(known, q, axis, keepdims)
        shape = [1] * known.ndim
        if axis is None:
            known, nan = known.ravel(), nan.ravel()
        else:
            shape = list(known.shape)
            shape[axis] = 1
        whole = q is not None and _are_integers(q)
        if several and not whole:  # a number adapts to the array, several have a dtype of their own
            known = known.astype(result_type(known.dtype, getattr(getattr(q, "dtype", None), "name", "float64")))
        along = 0 if axis is None else axis
        lines, many = self._home.sort(known, along), self._count(nan, along, True)
        found = [self._at(lines, many, share if q is None or whole else float(share), along) for share in shares]
        found = [self._home.reshape(f, shape) if keepdims else self._home.squeeze(f, along) for f in found]
        return self._home.stack(found) if several else found[0]

    def _over(self, x: Any, q: Any, axes: Sequence[int], keepdims: bool) -> T:
        """Quantiles over several axes, which are made one."""
        kept = x.ndim - len(axes)
        lines = self._home.moveaxis(x, axes, range(kept, x.ndim))
        found: Any = self._quantiles(self._home.reshape(lines, [*lines.shape[:kept], -1]), q, -1, False)
        if not keepdims:
            return found
        over = [a % x.ndim for a in axes]
        shape = [1 if a in over else n for a, n in enumerate(x.shape)]
        return self._home.reshape(found, [*found.shape[: found.ndim - kept], *shape])

    def _at(self, lines: Any, many: Any, share: Any, along: int) -> Any:
        """Numbers at a share of the first ``many`` of sorted lines: the mean of the two in the middle without one, the
        end itself where it is an integer (0 or 1), and otherwise what lies between two of them."""
        last = self._home.maximum(many - 1, 0)
        if share is None:
            pair = [self._home.take_along_axis(lines, place, along) for place in (last // 2, last - last // 2)]
            middle = self._home.mean(self._home.concatenate(pair, along), along, keepdims=True)
            found = self._home.where(last % 2 == 0, pair[0], middle)
            return self._home.where(many > 0, found, float("nan"))
        if not isinstance(share, float):
            found = self._home.take_along_axis(lines, last * int(share), along)
            return self._home.where(many > 0, found, float("nan"))
        place = last * share
        low = self._home.floor(place).astype("int64")
        below = self._home.take_along_axis(lines, low, along)
        above = self._home.take_along_axis(lines, self._home.minimum(low + 1, last), along)
        weight = (place - low).astype(lines.dtype)
        step = self._home.where(above == below, 0, above - below)  # infinities have no difference
        found = self._home.where(weight < 0.5, below + step * weight, above - step * (1 - weight))
        return self._home.where(many > 0, found, float("nan"))
