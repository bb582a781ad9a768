# SPDX-License-Identifier: Apache-2.0
"""Sampled functions: convolution, interpolation, derivatives and integrals, with NumPy's arguments, once for all kinds
of arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ._functions import Functions, T, known_axis
from ._tessera import result_type

_SHORT = 32  # up to here a kernel is applied tap by tap
_BLOCK = 512  # and in pieces of this length when it is longer


class Signals(Functions[T]):
    """Those of sampled functions."""

    def convolve(self, a: Any, v: Any, mode: str = "full") -> T:
        """The convolution of two vectors: all of it ("full"), as long as the longer one ("same"), or where they
        overlap whole ("valid").

        >>> ts.convolve([1, 2, 3], [0, 1, 1]).tolist(), ts.convolve([1, 2, 3], [0, 1, 1], "same").tolist()
        ([0, 1, 3, 5, 3], [1, 3, 5])
        """
        if self._host and (found := self._host.convolve(a, v, mode)) is not None:
            return found  # type: ignore[no-any-return]
        a, v = self._vectors(a, v)
        for name, x in (("a", a), ("v", v)):
            if x.size == 0:
                raise ValueError(f"{name} cannot be empty")
        a, v = (a, v) if v.size <= a.size else (v, a)
        return self._correlated(a, self._home.flip(v, 0), mode)

    def correlate(self, a: Any, v: Any, mode: str = "valid") -> T:
        """The correlation of two vectors: sums of a[n + k] * conj(v[n]).

        >>> ts.correlate([1, 2, 3], [0, 1, 2]).tolist(), ts.correlate([1, 2, 3], [0, 1, 2], "full").tolist()
        ([8], [2, 5, 8, 3, 0])
        """
        if self._host and (found := self._host.correlate(a, v, mode)) is not None:
            return found  # type: ignore[no-any-return]
        a, v = self._vectors(a, v)
        for name, x in (("first", a), ("second", v)):
            if x.size == 0:
                raise ValueError(f"{name} array argument cannot be empty")
        v = self._home.conj(v) if v.dtype.kind == "c" else v
        if v.size <= a.size:
            return self._correlated(a, v, mode)
        return self._home.flip(self._correlated(v, a, mode), 0)

    def _vectors(self, a: Any, v: Any) -> list[Any]:
        both = self._arrays(a, v)
        if any(x.ndim > 1 for x in both):
            raise ValueError("object too deep for desired array")
        dtype = result_type(both[0].dtype, both[1].dtype)
        lines = [x if x.ndim == 1 else self._home.reshape(x, (-1,)) for x in both]
        return [x if x.dtype == dtype else x.astype(dtype) for x in lines]

    def _correlated(self, a: Any, v: Any, mode: str) -> Any:
        """Sums of a[n + k] v[n] for a vector v that is no longer than a."""
        m = v.shape[0]
        if mode not in ("valid", "same", "full"):
            raise ValueError(f"mode must be one of 'valid', 'same', or 'full' (got {mode!r})")
        before = {"valid": 0, "same": m // 2, "full": m - 1}[mode]
        behind = {"valid": 0, "same": m - m // 2 - 1, "full": m - 1}[mode]
        if m <= _SHORT or not self._finite(a) or not self._finite(v):
            return self._tap_by_tap(a, v, before, behind)
        padded = self._home.pad(a, (before, behind))
        n = padded.shape[0] - m + 1
        found = None
        for at in range(0, m, _BLOCK):
            taps = v[at : at + _BLOCK]
            part = self._by_blocks(padded[at : at + n + taps.shape[0] - 1], taps, n)
            found = part if found is None else found + part
        return found

    def _finite(self, x: Any) -> bool:
        return x.dtype.kind not in "fc" or bool(self._home.all(self._home.isfinite(x)))

    def _tap_by_tap(self, a: Any, v: Any, before: int, behind: int) -> Any:
        """Every product is one of two numbers that are there: no zero meets an infinity."""
        m, n = v.shape[0], a.shape[0]
        length = n - m + 1 + before + behind
        found = self._home.zeros_like(a[:1]) + self._home.zeros_like(v[:1])
        found = self._home.broadcast_to(found, (length,)).copy()
        for k in range(m):  # found[i] takes a[i - before + k] v[k]
            begin, end = max(0, before - k), min(length, n + before - k)
            if begin >= end:
                continue
            part = found[begin:end]
            if a.dtype.kind == "b":
                part |= a[begin - before + k : end - before + k] & v[k]
            else:
                self._home.multiply_add(a[begin - before + k : end - before + k], v[k], part, out=part)
        return found

    def _by_blocks(self, a: Any, v: Any, n: int) -> Any:
        """The same as a product of matrices: blocks of the signal with the taps shifted from column to column."""
        home = self._home
        m = v.shape[0]
        rows = -(-n // m)
        a = home.pad(a, (0, (rows + 1) * m - a.shape[0]))
        lines = home.reshape(a, (rows + 1, m))
        blocks = home.concatenate([lines[:-1], lines[1:]], 1)
        ranks = {"comm": v.comm} if hasattr(v, "comm") else {}
        shift = home.arange(2 * m, device=v.device, **ranks)
        at = home.reshape(shift, (-1, 1)) - home.reshape(shift[:m], (1, -1))
        taps = home.where((at >= 0) & (at < m), home.take(v, home.clip(at, 0, m - 1)), home.zeros_like(v[:1]))
        return home.reshape(home.matmul(blocks, taps), (-1,))[:n]

    def interp(self, x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: float | None = None) -> T:
        """Values between given ones, by lines: fp at the rising places xp. Before and behind them ``left`` and
        ``right``, unless told the first and the last value; with ``period`` everything repeats.

        >>> ts.interp([0.5, 2.5, 9.0], [0, 1, 2, 3], [0.0, 10.0, 20.0, 0.0]).tolist()
        [5.0, 10.0, 0.0]
        """
        home = self._home
        if self._host and period is None and (found := self._host.interp(x, xp, fp, left, right)) is not None:
            return found  # type: ignore[no-any-return]
        x, xp, fp = self._arrays(x, xp, fp)
        if x.dtype.kind == "c" or xp.dtype.kind == "c":
            raise TypeError("Cannot cast array data from complex128 to float64 according to the rule 'safe'")
        x, xp = x.astype("float64"), xp.astype("float64")
        fp = fp.astype("complex128" if fp.dtype.kind == "c" else "float64")
        if xp.ndim != 1 or fp.ndim != 1:
            raise ValueError("Data points must be 1-D sequences" if period is not None else "object too deep")
        if xp.shape[0] != fp.shape[0]:
            raise ValueError("fp and xp are not of the same length.")
        if period is not None:
            left = right = None
            x, xp, fp = self._periodic(x, xp, fp, period)
            if self._host and (found := self._host.interp(x, xp, fp, None, None)) is not None:
                return found  # type: ignore[no-any-return]
        if xp.shape[0] == 0:
            raise ValueError("array of sample points is empty")
        left, right = fp[0] if left is None else left, fp[-1] if right is None else right
        if fp.dtype.kind != "c":
            return self._between(x, xp, fp, left, right)
        found = home.zeros_like(x, dtype="complex128")
        found.real[...] = self._between(x, xp, fp.real, left.real, right.real)
        imag = self._between(x, xp, fp.imag, left.imag, right.imag)
        found.imag[...] = imag if xp.shape[0] == 1 else home.where(home.isnan(x), 0.0, imag)
        return found

    def _between(self, x: Any, xp: Any, fp: Any, left: Any, right: Any) -> Any:
        home, n = self._home, xp.shape[0]
        at = home.clip(home.searchsorted(xp, x, "right") - 1, 0, n - 1)
        behind = home.minimum(at + 1, n - 1)
        x0, x1, y0, y1 = (home.take(v, i) for v, i in ((xp, at), (xp, behind), (fp, at), (fp, behind)))
        exact = (x0 == x) | (at == n - 1)
        slope = (y1 - y0) / home.where(exact, 1.0, x1 - x0)
        found = slope * (x - x0) + y0
        other = slope * (x - x1) + y1
        found = home.where(home.isnan(found), other, found)
        found = home.where(home.isnan(found) & (y0 == y1), y0, found)
        found = home.where(exact, y0, found)
        found = home.where(x < xp[0], left, found)
        found = home.where(x > xp[-1], right, found)
        return found if n == 1 else home.where(home.isnan(x), x, found)

    def _periodic(self, x: Any, xp: Any, fp: Any, period: float) -> tuple[Any, Any, Any]:
        if period == 0:
            raise ValueError("period must be a non-zero value")
        home, period = self._home, abs(period)
        x, xp = x % period, xp % period
        order = home.argsort(xp)
        xp, fp = home.take(xp, order), home.take(fp, order)
        xp = home.concatenate([xp[-1:] - period, xp, xp[:1] + period])
        return x, xp, home.concatenate([fp[-1:], fp, fp[:1]])

    def trapezoid(self, y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> T:
        """The integral along an axis of what is given at places x, or at steps dx, by trapezoids.

        >>> ts.trapezoid([1.0, 2.0, 3.0]).item(), ts.trapezoid([1.0, 2.0, 3.0], x=[4, 6, 8]).item()
        (4.0, 8.0)
        """
        y = self._array(y)
        axis = known_axis(axis, y.ndim)
        step: Any = dx
        if x is not None:
            x = self._near(x, y)
            step = self._home.diff(x) if x.ndim == 1 else self._home.diff(x, axis=axis - y.ndim)
            if x.ndim == 1:
                step = self._home.reshape(step, [-1 if i == axis else 1 for i in range(y.ndim)])
        n = y.shape[axis]
        return self._home.sum(step * (self._cut(y, axis, 1, n) + self._cut(y, axis, 0, max(n - 1, 0))) / 2.0, axis)

    def _cut(self, x: Any, axis: int, begin: int, end: int) -> Any:
        return x[(slice(None),) * axis + (slice(begin, end),)]

    def gradient(
        self, f: Any, *varargs: Any, axis: int | Sequence[int] | None = None, edge_order: int = 1
    ) -> T | tuple[T, ...]:
        """The derivatives along each axis, by differences of both neighbours, at the ends by those of one side, of
        first or second order. What follows f is the distance of neighbours, or the places, of all or of each axis.

        >>> ts.gradient([1.0, 2.0, 4.0, 7.0]).tolist(), ts.gradient([1.0, 2.0, 4.0], 2.0).tolist()
        ([1.0, 1.5, 2.5, 3.0], [0.5, 0.75, 1.0])
        """
        f = self._array(f)
        given: Any = range(f.ndim) if axis is None else axis if isinstance(axis, Sequence) else [axis]
        axes = [known_axis(a, f.ndim) for a in given]
        if len(set(axes)) != len(axes):
            raise ValueError("repeated axis")
        if edge_order > 2:
            raise ValueError("'edge_order' greater than 2 not supported")
        steps = self._steps(f, varargs, axes)
        if f.dtype.kind in "iu":
            f = f.astype("float64")
        for a in axes:
            if f.shape[a] < edge_order + 1:
                raise ValueError(
                    "Shape of array too small to calculate a numerical gradient, "
                    "at least (edge_order + 1) elements are required."
                )
        found = [self._slopes(f, a, step, edge_order) for a, step in zip(axes, steps, strict=True)]
        return found[0] if len(found) == 1 else tuple(found)

    def _steps(self, f: Any, given: tuple[Any, ...], axes: list[int]) -> list[Any]:
        """The distance of neighbours along each axis: a number, or the array of the distances."""
        if not given:
            return [1.0] * len(axes)
        values: list[Any] = [v if isinstance(v, (int, float, complex)) else self._near(v, f) for v in given]
        flat = [not hasattr(v, "ndim") or v.ndim == 0 for v in values]
        if len(values) == 1 and flat[0]:
            return values * len(axes)
        if len(values) != len(axes):
            raise TypeError("invalid number of arguments")
        steps: list[Any] = []
        for v, one, a in zip(values, flat, axes, strict=True):
            if one:
                steps.append(v)
                continue
            if v.ndim != 1:
                raise ValueError("distances must be either scalars or 1d")
            if v.shape[0] != f.shape[a]:
                raise ValueError("when 1d, distances must match the length of the corresponding dimension")
            apart = self._home.diff(v.astype("float64") if v.dtype.kind in "iu" else v)
            even = apart.size > 0 and bool(self._home.all(apart == apart[0]))
            steps.append(apart[0] if even else apart)
        return steps

    def _slopes(self, f: Any, axis: int, step: Any, order: int) -> Any:
        n = f.shape[axis]
        even = not hasattr(step, "ndim") or step.ndim == 0

        def at(begin: int, end: int) -> Any:
            return self._cut(f, axis, begin, end)

        if even:
            inner = (at(2, n) - at(0, n - 2)) / (2.0 * step) if n > 2 else at(0, 0)
        else:
            d1, d2 = (self._along(step[i : n - 2 + i], f.ndim, axis) for i in (0, 1))
            inner = -d2 / (d1 * (d1 + d2)) * at(0, n - 2) + (d2 - d1) / (d1 * d2) * at(1, n - 1)
            inner = inner + d1 / (d2 * (d1 + d2)) * at(2, n)
        if order == 1:
            first, last = (step, step) if even else (step[0], step[-1])
            ends = (at(1, 2) - at(0, 1)) / first, (at(n - 1, n) - at(n - 2, n - 1)) / last
        else:
            ends = self._second_order(at, step, n, even)
        dtype = f.dtype if f.dtype.kind in "fc" else "float64"
        return self._home.concatenate([p.astype(dtype) for p in (ends[0], inner, ends[1])], axis)

    def _second_order(self, at: Any, step: Any, n: int, even: bool) -> tuple[Any, Any]:
        if even:
            front = -1.5 / step, 2.0 / step, -0.5 / step
            back = 0.5 / step, -2.0 / step, 1.5 / step
        else:
            d1, d2 = step[0], step[1]
            front = -(2.0 * d1 + d2) / (d1 * (d1 + d2)), (d1 + d2) / (d1 * d2), -d1 / (d2 * (d1 + d2))
            d1, d2 = step[-2], step[-1]
            back = d2 / (d1 * (d1 + d2)), -(d2 + d1) / (d1 * d2), (2.0 * d2 + d1) / (d2 * (d1 + d2))
        first = front[0] * at(0, 1) + front[1] * at(1, 2) + front[2] * at(2, 3)
        last = back[0] * at(n - 3, n - 2) + back[1] * at(n - 2, n - 1) + back[2] * at(n - 1, n)
        return first, last

    def _along(self, x: Any, ndim: int, axis: int) -> Any:
        return self._home.reshape(x, [-1 if i == axis else 1 for i in range(ndim)])
