# SPDX-License-Identifier: Apache-2.0
"""Quantiles by all of NumPy's methods and with weights, once for all kinds of arrays."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ._checked import axes_of
from ._functions import Functions, T, known_axis
from ._nan import NanReductions

_Axes = int | Sequence[int] | None


def _place(alpha: float, beta: float) -> Callable[[int, float], tuple[int, float]]:
    """Hyndman and Fan: between the entries floor(i) and floor(i) + 1, by a line."""

    def at(n: int, q: float) -> tuple[int, float]:
        i = n * q + (alpha + q * (1 - alpha - beta)) - 1
        return math.floor(i), i - math.floor(i)

    return at


def _averaged(n: int, q: float) -> tuple[int, float]:
    i = n * q - 1
    return math.floor(i), 0.5 if i == math.floor(i) else 1.0


def _midpoint(n: int, q: float) -> tuple[int, float]:
    i = 0.5 * (math.floor((n - 1) * q) + math.ceil((n - 1) * q))
    return math.floor(i), 0.0 if i % 1 == 0 else 0.5


def _closest(n: int, q: float) -> int:
    i = n * q - 1.5
    below = math.floor(i)
    return below if i == below and below % 2 == 1 else below + 1


# Between two entries, and the methods that take one of them.
_BETWEEN: dict[str, Callable[[int, float], tuple[int, float]]] = {
    "averaged_inverted_cdf": _averaged,
    "hazen": _place(0.5, 0.5),
    "interpolated_inverted_cdf": _place(0, 1),
    "median_unbiased": _place(1 / 3, 1 / 3),
    "midpoint": _midpoint,
    "normal_unbiased": _place(3 / 8, 3 / 8),
    "weibull": _place(0, 0),
}
_ENTRY: dict[str, Callable[[int, float], int]] = {
    "closest_observation": _closest,
    "higher": lambda n, q: math.ceil((n - 1) * q),
    "inverted_cdf": lambda n, q: math.ceil(n * q - 1),
    "lower": lambda n, q: math.floor((n - 1) * q),
    "nearest": lambda n, q: round((n - 1) * q),
}


class Quantiles(Functions[T]):
    """Those of sorted samples."""

    def quantile(
        self,
        x: Any,
        q: Any,
        axis: _Axes = None,
        keepdims: bool = False,
        *,
        out: Any = None,
        overwrite_input: bool = False,
        method: str = "linear",
        weights: Any = None,
    ) -> T:
        """What a share q (0 to 1) of the elements lies below, between two elements by a line or by another of NumPy's
        methods: "inverted_cdf" (with ``weights`` too), "averaged_inverted_cdf", "closest_observation",
        "interpolated_inverted_cdf", "hazen", "weibull", "median_unbiased", "normal_unbiased", "lower", "higher",
        "midpoint", "nearest".

        >>> ts.quantile([0, 1, 2, 3, 4], [0.25, 0.9]).tolist(), ts.quantile([1, 2, 5], 0.7, method="lower").item()
        ([1.0, 3.6], 2)
        """
        if method == "linear" and weights is None:
            return self._into(self._home.quantile(x, q, axis, keepdims), out, "quantile")
        return self._found(x, q, axis, keepdims, out, method, weights, 1, "Quantiles must be in the range [0, 1]")

    def percentile(
        self,
        x: Any,
        q: Any,
        axis: _Axes = None,
        keepdims: bool = False,
        *,
        out: Any = None,
        overwrite_input: bool = False,
        method: str = "linear",
        weights: Any = None,
    ) -> T:
        """Quantiles counted from 0 to 100.

        >>> ts.percentile([0, 1, 2, 3, 4], 50).item(), ts.percentile([1, 2, 5], 70, method="higher").item()
        (2.0, 5)
        """
        if method == "linear" and weights is None:
            return self._into(self._home.percentile(x, q, axis, keepdims), out, "percentile")
        return self._found(x, q, axis, keepdims, out, method, weights, 100, "Percentiles must be in the range [0, 100]")

    def nanquantile(
        self,
        x: Any,
        q: Any,
        axis: _Axes = None,
        keepdims: bool = False,
        *,
        out: Any = None,
        overwrite_input: bool = False,
        method: str = "linear",
        weights: Any = None,
    ) -> T:
        """What a share q (0 to 1) of what is not NaN lies below; NaN where there is nothing else. ``q`` is a number or
        numbers in a list or an array of one axis, the same on every rank; methods and weights as in ``quantile``.

        >>> ts.nanquantile([0.0, ts.nan, 1.0, 2.0], [0.5, 1.0]).tolist()
        [1.0, 2.0]
        """
        if method == "linear" and weights is None:
            found = NanReductions(self._home, self._kind)._nanquantile(x, q, axis, keepdims)
            return self._into(found, out, "nanquantile")
        return self._past_nans(x, q, axis, keepdims, out, method, weights, 1)

    def nanpercentile(
        self,
        x: Any,
        q: Any,
        axis: _Axes = None,
        keepdims: bool = False,
        *,
        out: Any = None,
        overwrite_input: bool = False,
        method: str = "linear",
        weights: Any = None,
    ) -> T:
        """Quantiles of what is not NaN, counted from 0 to 100.

        >>> ts.nanpercentile([0.0, ts.nan, 1.0, 2.0], 50).item()
        1.0
        """
        if method == "linear" and weights is None:
            share = [v / 100 for v in q] if isinstance(q, (list, tuple)) else q / 100
            found = NanReductions(self._home, self._kind)._nanquantile(x, share, axis, keepdims)
            return self._into(found, out, "nanpercentile")
        return self._past_nans(x, q, axis, keepdims, out, method, weights, 100)

    def _past_nans(
        self, x: Any, q: Any, axis: _Axes, keepdims: bool, out: Any, method: str, weights: Any, whole: float
    ) -> Any:
        """Line by line where there are NaNs: each has as many numbers as it has."""
        home, x = self._home, self._array(x)
        refusal = "Quantiles must be in the range [0, 1]" if whole == 1 else "Percentiles must be in the range [0, 100]"
        nan = home.isnan(x) if x.dtype.kind in "fc" else None
        if nan is None or not bool(home.any(nan)):
            return self._found(x, q, axis, keepdims, out, method, weights, whole, refusal)
        # Refusals, shapes and dtypes are those without NaNs.
        result = self._found(home.where(nan, 0, x), q, axis, keepdims, None, method, weights, whole, refusal)
        axes = [known_axis(a, x.ndim) for a in axes_of(axis, x.ndim)]
        w = None if weights is None else self._lines(self._weights(weights, x, axis, axes, method), axes)
        lines = self._lines(x, axes)
        count = math.prod(lines.shape[1:])
        lines = home.reshape(lines, (lines.shape[0], count))
        w = None if w is None else home.reshape(w, (lines.shape[0], count))
        found = []
        for i in range(count):
            known = ~home.isnan(lines[:, i])
            line = lines[:, i][known]
            if line.size == 0:
                line = lines[:1, i]
                found.append(self._found(line, q, None, False, None, method, None, whole, refusal))
            else:
                of_line = None if w is None else w[:, i][known]
                found.append(self._found(line, q, None, False, None, method, of_line, whole, refusal))
        return self._into(home.reshape(home.stack(found, axis=-1), result.shape), out, "nanquantile")

    def median(
        self, x: Any, axis: _Axes = None, keepdims: bool = False, *, out: Any = None, overwrite_input: bool = False
    ) -> T:
        """The middle of the elements in order; NaN where there is a NaN.

        >>> ts.median([7, 1, 5, 2]).item()
        3.5
        """
        return self._into(self._home.median(x, axis, keepdims), out, "median")

    def _found(
        self,
        x: Any,
        q: Any,
        axis: _Axes,
        keepdims: bool,
        out: Any,
        method: str,
        weights: Any,
        whole: float,
        refusal: str,
    ) -> Any:
        x = self._array(x)
        if x.dtype.kind == "c":
            raise TypeError("a must be an array of real numbers")
        if method != "linear" and method not in _BETWEEN and method not in _ENTRY:
            known = sorted(["linear", *_BETWEEN, *_ENTRY])
            raise ValueError(f"{method!r} is not a valid method. Use one of: {known}")
        shares = q.tolist() if hasattr(q, "tolist") else q
        flat = shares if isinstance(shares, (list, tuple)) else [shares]
        if any(isinstance(v, (list, tuple)) for v in flat):
            raise ValueError("quantile: q is a number or an array of one axis")
        flat = [float(v) / whole for v in flat]
        if not all(0 <= v <= 1 for v in flat):
            raise ValueError(refusal)
        axes = [known_axis(a, x.ndim) for a in axes_of(axis, x.ndim)]
        if len(set(axes)) != len(axes):
            raise ValueError("repeated axis")
        if weights is not None:
            weights = self._lines(self._weights(weights, x, axis, axes, method), axes)
        lines = self._lines(x, axes)
        several = isinstance(shares, (list, tuple))
        if several and weights is None and method in _BETWEEN:
            lines = lines.astype("float64")  # a number adapts to the array, several have a dtype of their own
        of_one = self._by_method(lines, method) if weights is None else self._by_weights(lines, weights)
        found = [of_one(v) for v in flat]
        if keepdims:
            shape = [1 if a in axes else n for a, n in enumerate(x.shape)]
            found = [self._home.reshape(f, shape) for f in found]
        result = self._home.stack(found) if several else found[0]
        return self._into(result, out, "quantile")

    def _lines(self, x: Any, axes: list[int]) -> Any:
        """The axes as one, in front."""
        kept = [a for a in range(x.ndim) if a not in axes]
        turned = self._home.transpose(x, [*axes, *kept])
        return self._home.reshape(turned, [math.prod(x.shape[a] for a in axes), *(x.shape[a] for a in kept)])

    def _weights(self, weights: Any, x: Any, axis: _Axes, axes: list[int], method: str) -> Any:
        if method != "inverted_cdf":
            raise ValueError(f"Only method 'inverted_cdf' supports weights. Got: {method}.")
        w = self._near(weights, x)
        if w.shape != x.shape:
            if axis is None:
                raise TypeError("Axis must be specified when shapes of a and weights differ.")
            if tuple(w.shape) != tuple(x.shape[a] for a in axes):
                raise ValueError("Shape of weights must be consistent with shape of a along specified axis.")
            order = sorted(range(len(axes)), key=lambda i: axes[i])
            w = self._home.transpose(w, order)
            w = self._home.reshape(w, [n if a in axes else 1 for a, n in enumerate(x.shape)])
            w = self._home.broadcast_to(w, x.shape)
        if bool(self._home.any(w < 0)):
            raise ValueError("Weights must be non-negative.")
        return w

    def _by_method(self, lines: Any, method: str) -> Callable[[float], Any]:
        home, n = self._home, lines.shape[0]
        if n == 0:
            raise IndexError("index -1 is out of bounds for axis 0 with size 0")
        ordered = home.sort(lines, 0)
        last = ordered[-1]
        nan = home.isnan(last) if lines.dtype.kind == "f" else None

        def entry(q: float) -> Any:
            return ordered[min(max(_ENTRY[method](n, q), 0), n - 1)]

        def between(q: float) -> Any:
            i, share = _BETWEEN[method](n, q)
            below, above = ordered[min(max(i, 0), n - 1)], ordered[min(max(i + 1, 0), n - 1)]
            step = home.where(above == below, 0, above - below)  # infinities have no difference
            return below + step * share if share < 0.5 else above - step * (1 - share)

        find = entry if method in _ENTRY else between
        return find if nan is None else lambda q: home.where(nan, last, find(q))

    def _by_weights(self, lines: Any, weights: Any) -> Callable[[float], Any]:
        home, n = self._home, lines.shape[0]
        order = home.argsort(lines, 0)
        ordered = home.take_along_axis(lines, order, 0)
        share = home.cumsum(home.take_along_axis(weights, order, 0), 0, "float64")
        share = share / share[-1:]
        if bool(home.any(home.isnan(share[-1]))):
            raise ValueError("Weights included NaN, inf or were all zero.")
        share = home.where(share == 0, -1.0, share)  # what weighs nothing is never chosen
        last = ordered[-1]
        nan = home.isnan(last) if lines.dtype.kind == "f" else None

        def find(q: float) -> Any:
            at = home.minimum(home.sum(share < q, 0, keepdims=True), n - 1)
            found = home.squeeze(home.take_along_axis(ordered, at, 0), 0)
            return found if nan is None else home.where(nan, last, found)

        return find
