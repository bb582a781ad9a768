# SPDX-License-Identifier: Apache-2.0
"""Counting what falls where: ``bincount``, ``digitize`` and histograms, with NumPy's arguments, once for all kinds of
arrays."""

from __future__ import annotations

import math
import operator
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from ._dtypes import finfo
from ._functions import Functions, T, common_dtype
from ._tessera import result_type

_Range = tuple[float, float] | None


def _many(bins: Any) -> bool:
    """Edges are given, not their number."""
    return isinstance(bins, (list, tuple)) or getattr(bins, "ndim", 0) > 0


def _finite_range(low: Any, high: Any, found: bool) -> tuple[Any, Any]:
    if not (math.isfinite(low) and math.isfinite(high)):
        raise ValueError(f"{'autodetected' if found else 'supplied'} range of [{low}, {high}] is not finite")
    return (low - 0.5, high + 0.5) if low == high else (low, high)


class Histograms(Functions[T]):
    """Those that count. ``add(n, positions, weights)`` gives an array of n sums: of the weights of each position."""

    def __init__(self, home: Any, kind: type[T], add: Callable[[int, Any, Any], Any]) -> None:
        super().__init__(home, kind)
        self._add = add

    def bincount(self, x: Any, /, weights: Any = None, minlength: int = 0) -> T:
        """How often each of the numbers 0, 1, 2, … occurs, or the sums of the weights of each.

        >>> ts.bincount([0, 1, 1, 3]).tolist(), ts.bincount([0, 1, 1], weights=[0.5, 1.0, 2.0]).tolist()
        ([1, 2, 0, 1], [0.5, 3.0])
        """
        if self._host and (found := self._host.bincount(x, weights, minlength)) is not None:
            return found  # type: ignore[no-any-return]
        given = isinstance(x, self._kind)
        (x,) = self._arrays(x)
        if x.ndim != 1:
            raise ValueError("object too deep for desired array" if x.ndim else "object of too small depth")
        if x.size == 0 and not given:
            x = x.astype("int64")
        if x.dtype.kind not in "biu":
            raise TypeError(f"Cannot cast array data from {x.dtype.name} to int64 according to the rule 'safe'")
        if operator.index(minlength) < 0:
            raise ValueError("'minlength' must not be negative")
        if x.size == 0:  # as NumPy, which looks at no weights then
            return self._add(operator.index(minlength), x.astype("int64"), None)
        x = x if x.dtype.name == "int64" else x.astype("int64")
        if int(self._home.min(x)) < 0:
            raise ValueError("'list' argument must have no negative elements")
        if weights is not None:
            weights = self._near(weights, x)
            if weights.shape != x.shape:
                raise ValueError("The weights and list don't have the same length.")
            if weights.dtype.kind == "c":
                raise TypeError("Cannot cast array data from complex to float64 according to the rule 'safe'")
            weights = weights.astype("float64")
        return self._add(max(int(self._home.max(x)) + 1, operator.index(minlength)), x, weights)

    def digitize(self, x: Any, bins: Any, right: bool = False) -> T:
        """The bin that each number falls into; of bins that rise, bin i holds bins[i-1] <= x < bins[i], or with
        ``right`` bins[i-1] < x <= bins[i].

        >>> ts.digitize([0.5, 2.0, 9.0], [1.0, 2.0, 3.0]).tolist()
        [0, 2, 3]
        """
        x, bins = self._arrays(x, bins)
        if x.dtype.kind == "c":
            raise TypeError("x may not be complex")
        if bins.ndim != 1:
            raise ValueError("object too deep for desired array" if bins.ndim else "object of too small depth")
        before, behind = bins[:-1], bins[1:]
        side = "left" if right else "right"
        if not bool(self._home.any(before > behind)):
            return self._searched(bins, x, side)
        if bool(self._home.any(before < behind)):
            raise ValueError("bins must be monotonically increasing or decreasing")
        return bins.shape[0] - self._searched(self._home.flip(bins, 0), x, side)

    def _searched(self, edges: Any, x: Any, side: str) -> Any:
        dtype = result_type(edges.dtype, x.dtype)
        return self._home.searchsorted(edges.astype(dtype), x.astype(dtype), side)

    def histogram_bin_edges(self, a: Any, bins: Any = 10, range: _Range = None, weights: Any = None) -> T:
        """The edges that ``histogram`` cuts at: of so many equal bins, by the rule of a name ("auto", "fd", "doane",
        "scott", "stone", "rice", "sturges", "sqrt"), or those given.

        >>> ts.histogram_bin_edges([0.0, 4.0], 4).tolist()
        [0.0, 1.0, 2.0, 3.0, 4.0]
        """
        return self._edges(*self._checked(a, weights), bins, range)

    def histogram(
        self, a: Any, bins: Any = 10, range: _Range = None, density: bool | None = None, weights: Any = None
    ) -> tuple[T, T]:
        """How many numbers, or what weight of them, falls into each bin, and the edges of the bins. The last bin
        holds its upper edge, too; ``density`` makes the sum times the widths one.

        >>> counts, edges = ts.histogram([1.0, 2.0, 2.5, 4.0], bins=3, range=(1, 4))
        >>> counts.tolist(), edges.tolist()
        ([1, 2, 1], [1.0, 2.0, 3.0, 4.0])
        """
        home = self._home
        a, weights = self._checked(a, weights)
        edges = self._edges(a, weights, bins, range)
        n = edges.shape[0] - 1
        dtype = result_type(edges.dtype, a.dtype)
        x, cuts = a.astype(dtype), edges.astype(dtype)
        if n < 1:
            kind = result_type("int64") if weights is None else weights.dtype
            kind = result_type(kind, "float64") if density else kind
            return home.zeros(max(n, 0), dtype=kind, device=a.device), edges
        counts = self._counts(x, cuts, not _many(bins), weights)
        if density:
            return counts / home.diff(edges).astype("float64") / home.sum(counts), edges
        return counts, edges

    def _counts(self, x: Any, cuts: Any, even: bool, weights: Any) -> Any:
        """How many numbers, or what weight of them, falls into each bin."""
        home, n = self._home, cuts.shape[0] - 1
        if self._host and (found := self._host.counts(x, cuts, even, weights)) is not None:
            return found if weights is None else found.astype(weights.dtype)
        keep = (x >= cuts[0]) & (x <= cuts[-1])
        if even:
            places = self._even_places(home.where(keep, x, cuts[0]), cuts, n)
        else:
            places = home.minimum(home.searchsorted(cuts, x, "right") - 1, n - 1)
        # What lies outside goes into one bin more, which is then left out.
        places = home.where(keep, places, n)
        if weights is None:
            return self._add(n + 1, places, None)[:-1]
        wide = {"c": "complex128", "f": "float64"}.get(weights.dtype.kind, "int64")  # integers wrap around
        return self._add(n + 1, places, weights.astype(wide))[:-1].astype(weights.dtype)

    def _even_places(self, x: Any, cuts: Any, n: int) -> Any:
        """The bin of each number by a division, which rounding puts at most one bin beside what the edges say. Of
        halves, whose differences do not overflow."""
        home = self._home
        low, high = cuts[0] / 2, cuts[-1] / 2
        places = home.minimum(((x / 2 - low) / (high - low) * n).astype("int64"), n - 1)
        places = places - (x < home.take(cuts, places))
        return places + ((x >= home.take(cuts, places + 1)) & (places < n - 1))

    def _checked(self, a: Any, weights: Any) -> tuple[Any, Any]:
        a = self._array(a)
        if a.dtype.kind == "b":
            warnings.warn("Converting input from bool to uint8 for compatibility.", RuntimeWarning, stacklevel=3)
            a = a.astype("uint8")
        if weights is not None:
            weights = self._near(weights, a)
            if weights.shape != a.shape:
                raise ValueError("weights should have the same shape as a.")
        return a, weights

    def _outer(self, a: Any, range: _Range) -> tuple[Any, Any]:
        if range is not None:
            low, high = range
            if low > high:
                raise ValueError("max must be larger than min in range parameter.")
            return _finite_range(low, high, False)
        if a.size == 0:
            return 0, 1
        return _finite_range(self._home.min(a).item(), self._home.max(a).item(), True)

    def _edges(self, a: Any, weights: Any, bins: Any, range: _Range) -> Any:
        if isinstance(bins, str):
            if bins not in _RULES:
                raise ValueError(f"{bins!r} is not a valid estimator for `bins`")
            if weights is not None:
                raise TypeError("Automated estimation of the number of bins is not supported for weighted data")
            low, high = self._outer(a, range)
            bins = self._number_of_bins(bins, a, low, high, range is not None)
        elif not _many(bins):
            try:
                bins = operator.index(bins)
            except TypeError as error:
                raise TypeError("`bins` must be an integer, a string, or an array") from error
            if bins < 1:
                raise ValueError("`bins` must be positive, when an integer")
            low, high = self._outer(a, range)
        else:
            edges = self._near(bins, a)
            if edges.ndim != 1:
                raise ValueError("`bins` must be 1d, when an array")
            if bool(self._home.any(edges[:-1] > edges[1:])):
                raise ValueError("`bins` must increase monotonically, when an array")
            return edges
        dtype = common_dtype(low, high, a) if range is not None else a.dtype
        dtype = dtype if dtype.kind in "fc" else result_type("float64")
        edges = self._even(low, high, bins, dtype, a, range is None)
        rise = self._home.all(edges[:-1] < edges[1:])
        if not (bool(rise) and bool(self._home.all(self._home.isfinite(edges)))):
            raise ValueError(f"Too many bins for data range. Cannot create {bins} finite-sized bins.")
        return edges

    def _even(self, low: Any, high: Any, n: int, dtype: Any, like: Any, found: bool) -> Any:
        """n + 1 edges, rounded as NumPy's linspace rounds: in the dtype where the limits are numbers that were found
        in the array, else in float64."""
        ranks = {"comm": like.comm} if hasattr(like, "comm") else {}
        wide = dtype if found else result_type("float64")
        if float(high) - float(low) > finfo(wide).max:  # a distance that is no number
            return 2 * self._even(low / 2, high / 2, n, dtype, like, found)
        edges = self._home.arange(n + 1, dtype=wide, device=like.device, **ranks)
        if wide.name == "float64":
            edges = edges * ((float(high) - float(low)) / n) + float(low)
        else:
            ends = self._near([float(low), float(high)], like).astype(wide)
            edges = edges * ((ends[1] - ends[0]) / n) + ends[0]
        edges[-1] = high
        return edges if wide == dtype else edges.astype(dtype)

    def _number_of_bins(self, rule: str, a: Any, low: Any, high: Any, cut: bool) -> int:
        if cut:
            a = a[(a >= low) & (a <= high)]
        if a.size == 0:
            return 1
        width = float(_RULES[rule](self, a, low, high))
        if a.dtype.kind in "iu" and 0 < width < 1:
            width = 1
        return math.ceil((high - low) / width) if width else 1

    def _spread(self, x: Any) -> float:
        return self._home.max(x).item() - self._home.min(x).item()

    def _sqrt(self, x: Any, low: Any, high: Any) -> float:
        return self._spread(x) / math.sqrt(x.size)

    def _sturges(self, x: Any, low: Any, high: Any) -> float:
        return self._spread(x) / (math.log2(x.size) + 1)

    def _rice(self, x: Any, low: Any, high: Any) -> float:
        return self._spread(x) / (2 * x.size ** (1 / 3))

    def _scott(self, x: Any, low: Any, high: Any) -> float:
        return (24 * math.pi**0.5 / x.size) ** (1 / 3) * self._home.std(x).item()

    def _fd(self, x: Any, low: Any, high: Any) -> float:
        quarters = self._home.quantile(x, [0.25, 0.75])
        return 2 * (quarters[1] - quarters[0]).item() * x.size ** (-1 / 3)

    def _doane(self, x: Any, low: Any, high: Any) -> float:
        n, sigma = x.size, self._home.std(x).item()
        if n <= 2 or not sigma > 0:
            return 0.0
        skewness = self._home.mean(((x - self._home.mean(x)) / sigma) ** 3).item()
        unit = math.sqrt(6 * (n - 2) / ((n + 1) * (n + 3)))
        return self._spread(x) / (1 + math.log2(n) + math.log2(1 + abs(skewness) / unit))

    def _auto(self, x: Any, low: Any, high: Any) -> float:
        return min(max(self._fd(x, low, high), self._sqrt(x, low, high) / 2), self._sturges(x, low, high))

    def _stone(self, x: Any, low: Any, high: Any) -> float:
        """The number of bins of least squared error, each bin tested against the others."""
        n, spread = x.size, self._spread(x)
        if n <= 1 or spread == 0:
            return 0.0

        def error(bins: int) -> float:
            share = self.histogram(x, bins, (low, high))[0] / n
            return (2 - (n + 1) * self._home.sum(share * share).item()) * bins / spread

        most = max(100, int(math.sqrt(n)))
        best = min(range(1, most + 1), key=error)
        if best == most:
            warnings.warn("The number of bins estimated may be suboptimal.", RuntimeWarning, stacklevel=3)
        return spread / best

    def histogram2d(
        self,
        x: Any,
        y: Any,
        bins: Any = 10,
        range: Sequence[_Range] | None = None,
        density: bool | None = None,
        weights: Any = None,
    ) -> tuple[T, T, T]:
        """How many points (x, y) fall into each bin of a grid, and the edges along both axes.

        >>> counts, xedges, yedges = ts.histogram2d([0.0, 1.0, 1.0], [0.0, 0.0, 3.0], bins=(2, 3))
        >>> counts.tolist()
        [[1.0, 0.0, 0.0], [1.0, 0.0, 1.0]]
        """
        x, y = self._arrays(x, y)
        if x.shape[0] != y.shape[0]:
            raise ValueError("x and y must have the same length.")
        if _many(bins) and len(bins) not in (1, 2):
            bins = [bins, bins]
        counts, edges = self.histogramdd([x, y], bins, range, density, weights)
        return counts, edges[0], edges[1]

    def histogramdd(
        self,
        sample: Any,
        bins: Any = 10,
        range: Sequence[_Range] | None = None,
        density: bool | None = None,
        weights: Any = None,
    ) -> tuple[T, tuple[T, ...]]:
        """How many points fall into each bin of a grid, and the edges along each axis. The points are the rows of an
        array, or their coordinates are the entries of a list.

        >>> counts, edges = ts.histogramdd([[0.0, 1.0, 1.0], [0.0, 2.0, 2.0]], bins=2)
        >>> counts.tolist(), len(edges)
        ([[1.0, 0.0], [0.0, 2.0]], 2)
        """
        home = self._home
        lines = self._coordinates(sample)
        many = len(lines)
        if _many(bins) and len(bins) != many:
            raise ValueError("The dimension of bins must be equal to the dimension of the sample x.")
        each = list(bins) if _many(bins) else many * [bins]
        if range is not None and len(range) != many:
            raise ValueError("range argument must have one entry per dimension")
        limits = many * [None] if range is None else list(range)
        edges = [self._edges_along(i, x, b, r) for i, (x, b, r) in enumerate(zip(lines, each, limits, strict=True))]
        shape = [e.shape[0] - 1 for e in edges]
        total = math.prod(shape)
        place: Any = None
        inside: Any = None
        for x, e, n in zip(lines, edges, shape, strict=True):
            dtype = result_type(e.dtype, x.dtype)
            x, e = x.astype(dtype), e.astype(dtype)
            at = home.minimum(home.searchsorted(e, x, "right") - 1, n - 1)
            within = (x >= e[0]) & (x <= e[-1])
            place = at if place is None else place * n + at
            inside = within if inside is None else inside & within
        if weights is not None:
            weights = self._near(weights, lines[0])
            if weights.shape != lines[0].shape:
                raise ValueError("The weights and list don't have the same length.")
            weights = weights.astype("float64")
        counts = self._add(total + 1, home.where(inside, place, total), weights)[:-1]
        counts = home.reshape(counts.astype("float64"), shape)
        if density:
            sum_of_all = home.sum(counts)
            for i, e in enumerate(edges):
                counts = counts / home.reshape(home.diff(e), [-1 if i == k else 1 for k, _ in enumerate(shape)])
            counts = counts / sum_of_all
        return counts, tuple(edges)

    def _coordinates(self, sample: Any) -> list[Any]:
        """One array of numbers for each axis of the grid, of one dtype."""
        if hasattr(sample, "shape"):
            table = self._array(sample)
        elif any(isinstance(x, self._kind) for x in sample):
            table = self._home.stack(self._arrays(*sample), axis=1)
        else:
            table = self._array(sample)
            table = table.T if table.ndim == 2 else table
        if table.ndim != 2:
            table = self._home.reshape(table, (-1, 1))
        if table.dtype.kind == "c":
            raise TypeError("histogramdd: expected real numbers, got complex ones")
        return [table[:, i] for i in range(table.shape[1])]

    def _edges_along(self, i: int, x: Any, bins: Any, range: _Range) -> Any:
        if not _many(bins):
            if bins < 1:
                raise ValueError(f"`bins[{i}]` must be positive, when an integer")
            low, high = self._outer(x, range)
            try:
                n = operator.index(bins)
            except TypeError as error:
                raise TypeError(f"`bins[{i}]` must be an integer, when a scalar") from error
            dtype = x.dtype if range is None and x.size and x.dtype.kind == "f" else result_type("float64")
            return self._even(low, high, n, dtype, x, range is None)
        edges = self._near(bins, x)
        if edges.ndim != 1:
            raise ValueError(f"`bins[{i}]` must be a scalar or 1d array")
        if bool(self._home.any(edges[:-1] > edges[1:])):
            raise ValueError(f"`bins[{i}]` must be monotonically increasing, when an array")
        return edges


_RULES: dict[str, Callable[[Any, Any, Any, Any], float]] = {
    "auto": Histograms._auto,
    "doane": Histograms._doane,
    "fd": Histograms._fd,
    "rice": Histograms._rice,
    "scott": Histograms._scott,
    "sqrt": Histograms._sqrt,
    "stone": Histograms._stone,
    "sturges": Histograms._sturges,
}
