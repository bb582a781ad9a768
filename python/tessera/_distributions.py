# SPDX-License-Identifier: Apache-2.0
"""Random numbers with the names and arguments of NumPy's generators, once for all kinds of arrays: made of uniform and
normal numbers, so that they depend on the seed and on the order of the calls alone."""

from __future__ import annotations

import math
import operator
import sys
from typing import Any

from . import _tessera as _core
from ._functions import Functions, T

_Size = Any


def are_numbers(*parameters: Any) -> bool:
    """Whether all are numbers of 64 bits with a sign, which the generator takes as they are."""
    return all(
        not (isinstance(p, list | tuple) or getattr(p, "ndim", 0) != 0)
        and not (is_whole(p) and not -(2**63) <= operator.index(p) < 2**63)
        for p in parameters
    )


def is_whole(p: Any) -> bool:
    """Whether it is a whole number, of Python or of NumPy."""
    numpy = sys.modules.get("numpy")  # whoever gives one of its numbers has imported it
    return isinstance(p, int) or numpy is not None and isinstance(p, numpy.integer)


def _limits(dtype: str) -> tuple[int, int]:
    """The least and the largest number of a dtype."""
    if dtype == "bool":
        return 0, 1
    bits = int(dtype.lstrip("uint"))
    return (0, 2**bits - 1) if dtype.startswith("u") else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


class Distributions(Functions[T]):
    """What ``default_rng`` gives: draws of a generator. ``size`` is the shape; parameters may be arrays of it. Further
    arguments say where the array is: ``device``, and of distributed arrays ``split`` and ``comm``.

    >>> ts.random.default_rng(3).exponential(2.0, size=(2, 3)).shape
    (2, 3)
    """

    def __init__(self, home: Any, kind: type[T], generator: Any) -> None:
        super().__init__(home, kind)
        self._generator = generator

    def _beside(self, x: Any, place: dict[str, Any]) -> Any:
        """An array as it is; whatever else can be one, on the device and of the ranks of the draw."""
        where = {name: place[name] for name in ("device", "comm") if place.get(name) is not None}
        return x if isinstance(x, self._kind) else self._home.array(x, **where)

    def _shape(self, size: _Size, *parameters: Any, **place: Any) -> tuple[tuple[int, ...], list[Any]]:
        """The shape of a draw, and its parameters as arrays or numbers."""
        found: list[Any] = [
            operator.index(p) if is_whole(p) else p if isinstance(p, float) else self._beside(p, place)
            for p in parameters
        ]
        if size is not None:
            given = (operator.index(size),) if is_whole(size) else tuple(size)
            for p in found:
                own = tuple(getattr(p, "shape", ()))
                if len(own) > len(given) or any(n not in (1, m) for n, m in zip(own[::-1], given[::-1], strict=False)):
                    raise ValueError(f"a parameter of shape {own} does not broadcast to the size {given}")
            return given, found
        shape: tuple[int, ...] = ()
        for p in found:
            if getattr(p, "ndim", 0):
                shape = tuple((self._home.zeros(shape) + self._home.zeros(tuple(p.shape))).shape)
        return shape, found

    def _all(self, condition: Any) -> bool:
        return condition if isinstance(condition, bool) else bool(self._home.all(self._array(condition)))

    def _need(self, condition: Any, text: str) -> None:
        if not self._all(condition):
            raise ValueError(text)

    def _open(self, shape: Any, dtype: Any, place: dict[str, Any]) -> Any:
        """Uniform numbers of (0, 1]: their logarithm is finite."""
        return 1 - self._generator.uniform(shape, dtype, **place)

    def random(self, size: _Size = None, dtype: Any = "float64", **place: Any) -> T:
        """Uniform numbers in [0, 1).

        >>> x = ts.random.default_rng(1).random((2, 3)); x.shape, bool(((x >= 0) & (x < 1)).all())
        ((2, 3), True)
        """
        return self._generator.uniform(self._shape(size)[0], dtype, **place)

    def uniform(self, low: Any = 0.0, high: Any = 1.0, size: _Size = None, **place: Any) -> T:
        """Uniform numbers in [low, high).

        >>> x = ts.random.default_rng(1).uniform(2, 3, 100); bool(((x >= 2) & (x < 3)).all())
        True
        """
        shape, (low, high) = self._shape(size, low, high, **place)
        return low + (high - low) * self._generator.uniform(shape, "float64", **place)

    def integers(
        self,
        low: Any,
        high: Any = None,
        size: _Size = None,
        dtype: Any = "int64",
        endpoint: bool = False,
        **place: Any,
    ) -> T:
        """Integers in [low, high), or in [0, low) when high is not given; with ``endpoint`` high is one of them. Bounds
        may be all that the dtype holds.

        >>> x = ts.random.default_rng(1).integers(1, 6, 100, endpoint=True); x.min().item(), x.max().item()
        (1, 6)
        >>> ts.random.default_rng(1).integers([0, 10, 20], [1, 11, 21]).tolist()
        [0, 10, 20]
        """
        low, high = (0, low) if high is None else (low, high)
        shape, (low, high) = self._shape(size, low, high, **place)
        kinds = [str(getattr(p, "dtype", type(p).__name__)) for p in (low, high)]
        if not all(kind.startswith(("int", "uint", "bool")) for kind in kinds):
            raise TypeError(f"integers: bounds are {' and '.join(kinds)}, expected integers")
        dtype = str(_core.result_type(dtype))
        if not dtype.startswith(("int", "uint", "bool")):
            raise _core.DTypeError(f"integers: expected an integer dtype, got {dtype}")
        least, most = _limits(dtype)
        self._need((low >= least) & (low <= most), f"low is out of bounds for {dtype}")
        self._need((high >= least) & (high <= most + (not endpoint)), f"high is out of bounds for {dtype}")
        self._need((high > least) | bool(endpoint), "low >= high")
        if not hasattr(low, "ndim") and not hasattr(high, "ndim") and are_numbers(low, high + endpoint):
            return self._generator.integers(low, high + endpoint, shape, dtype, **place)
        # Modulo 2**64 from here on: no difference of bounds is too large.
        first, last = self._words(low, place), self._words(high, place) - int(not endpoint)
        base = self._words(least, place)
        self._need(first - base <= last - base, "low >= high")
        return (first + self._up_to(last - first, shape, place)).astype(dtype)

    def _up_to(self, most: Any, shape: Any, place: dict[str, Any]) -> Any:
        """Whole numbers from 0 up to and with ``most``, all of 64 bits without a sign."""
        home, count = self._home, self._home.maximum(most + 1, 1)
        if self._all(most < 2**32):  # all remainders are equally likely, but for a part in 2**31
            return self._generator.integers(0, 2**63 - 1, shape, "int64", **place).astype("uint64") % count
        past = ~most % count  # 2**64 modulo count: so many words would favour small remainders, and are drawn again
        found = self._bits(shape, place)
        while self._any(found > ~past):
            found = home.where(found > ~past, self._bits(shape, place), found)
        return home.where(most + 1 == 0, found, found % count)  # 0 stands for 2**64

    def _bits(self, shape: Any, place: dict[str, Any]) -> Any:
        high, low = (self._generator.integers(0, 2**32, shape, "uint64", **place) for _ in range(2))
        return high * 2**32 + low

    def _words(self, x: Any, place: dict[str, Any]) -> Any:
        """Whole numbers modulo 2**64."""
        return (x if hasattr(x, "ndim") else self._beside(x % 2**64, place)).astype("uint64")

    def standard_normal(self, size: _Size = None, dtype: Any = "float64", **place: Any) -> T:
        """Normal numbers of mean 0 and deviation 1.

        >>> ts.random.default_rng(1).standard_normal((2, 3)).shape
        (2, 3)
        """
        return self._generator.normal(self._shape(size)[0], dtype, **place)

    def normal(self, loc: Any = 0.0, scale: Any = 1.0, size: _Size = None, **place: Any) -> T:
        """Normal numbers of this mean and deviation.

        >>> ts.random.default_rng(1).normal([10.0, 100.0], 0.1).numpy().round(-1).tolist()
        [10.0, 100.0]
        """
        shape, (loc, scale) = self._shape(size, loc, scale, **place)
        self._need(scale >= 0, "scale < 0")
        return loc + scale * self._generator.normal(shape, "float64", **place)

    def lognormal(self, mean: Any = 0.0, sigma: Any = 1.0, size: _Size = None, **place: Any) -> T:
        """Numbers whose logarithm is normal.

        >>> bool((ts.random.default_rng(1).lognormal(size=5) > 0).all())
        True
        """
        return self._home.exp(self.normal(mean, sigma, size, **place))

    def standard_exponential(self, size: _Size = None, dtype: Any = "float64", **place: Any) -> T:
        """Exponential numbers of mean 1.

        >>> bool((ts.random.default_rng(1).standard_exponential(5) >= 0).all())
        True
        """
        return -self._home.log(self._open(self._shape(size)[0], dtype, place))

    def exponential(self, scale: Any = 1.0, size: _Size = None, **place: Any) -> T:
        """Exponential numbers of this mean.

        >>> ts.random.default_rng(1).exponential(2.0, 3).shape
        (3,)
        """
        shape, (scale,) = self._shape(size, scale, **place)
        self._need(scale >= 0, "scale < 0")
        return scale * self.standard_exponential(shape, **place)

    def laplace(self, loc: Any = 0.0, scale: Any = 1.0, size: _Size = None, **place: Any) -> T:
        """Numbers with exponential tails on both sides.

        >>> ts.random.default_rng(1).laplace(size=3).shape
        (3,)
        """
        shape, (loc, scale) = self._shape(size, loc, scale, **place)
        self._need(scale >= 0, "scale < 0")
        u = self._open(shape, "float64", place) - 0.5  # in (-0.5, 0.5]
        tail = self._home.maximum(1 - 2 * abs(u), 2.0**-60)
        return loc - scale * self._home.sign(u) * self._home.log(tail)

    def logistic(self, loc: Any = 0.0, scale: Any = 1.0, size: _Size = None, **place: Any) -> T:
        """Numbers whose distribution is the logistic function.

        >>> ts.random.default_rng(1).logistic(size=3).shape
        (3,)
        """
        shape, (loc, scale) = self._shape(size, loc, scale, **place)
        self._need(scale >= 0, "scale < 0")
        u = self._open(shape, "float64", place)
        return loc + scale * (self._home.log(u) - self._home.log(self._home.maximum(1 - u, 2.0**-60)))

    def gumbel(self, loc: Any = 0.0, scale: Any = 1.0, size: _Size = None, **place: Any) -> T:
        """Largest values of many.

        >>> ts.random.default_rng(1).gumbel(size=3).shape
        (3,)
        """
        shape, (loc, scale) = self._shape(size, loc, scale, **place)
        self._need(scale >= 0, "scale < 0")
        e = self._home.maximum(self.standard_exponential(shape, **place), 2.0**-60)
        return loc - scale * self._home.log(e)

    def rayleigh(self, scale: Any = 1.0, size: _Size = None, **place: Any) -> T:
        """Lengths of vectors of two normal numbers.

        >>> bool((ts.random.default_rng(1).rayleigh(size=3) >= 0).all())
        True
        """
        shape, (scale,) = self._shape(size, scale, **place)
        self._need(scale >= 0, "scale < 0")
        e: Any = self.standard_exponential(shape, **place)
        return scale * self._home.sqrt(2 * e)

    def weibull(self, a: Any, size: _Size = None, **place: Any) -> T:
        """Weibull's numbers of this shape.

        >>> bool((ts.random.default_rng(1).weibull(2.0, 3) >= 0).all())
        True
        """
        shape, (a,) = self._shape(size, a, **place)
        self._need(a >= 0, "a < 0")
        e: Any = self.standard_exponential(shape, **place)
        return e ** (1.0 / a)

    def pareto(self, a: Any, size: _Size = None, **place: Any) -> T:
        """Pareto's numbers of the second kind, from 0 on.

        >>> bool((ts.random.default_rng(1).pareto(2.0, 3) >= 0).all())
        True
        """
        shape, (a,) = self._shape(size, a, **place)
        self._need(a > 0, "a <= 0")
        e: Any = self.standard_exponential(shape, **place)
        return self._home.expm1(e / a)

    def power(self, a: Any, size: _Size = None, **place: Any) -> T:
        """Numbers of [0, 1] with the density a x**(a - 1).

        >>> bool((ts.random.default_rng(1).power(2.0, 3) <= 1).all())
        True
        """
        shape, (a,) = self._shape(size, a, **place)
        self._need(a > 0, "a <= 0")
        return self._open(shape, "float64", place) ** (1.0 / a)

    def standard_cauchy(self, size: _Size = None, **place: Any) -> T:
        """Quotients of two normal numbers.

        >>> ts.random.default_rng(1).standard_cauchy(3).shape
        (3,)
        """
        return self._home.tan(math.pi * (self._open(self._shape(size)[0], "float64", place) - 0.5))

    def triangular(self, left: Any, mode: Any, right: Any, size: _Size = None, **place: Any) -> T:
        """Numbers whose density is a triangle over [left, right] with its tip at the mode.

        >>> x = ts.random.default_rng(1).triangular(0, 1, 4, 50); bool(((x >= 0) & (x <= 4)).all())
        True
        """
        shape, (left, mode, right) = self._shape(size, left, mode, right, **place)
        self._need(left <= mode, "left > mode")
        self._need(mode <= right, "mode > right")
        self._need(left < right, "left == right")
        u = self._generator.uniform(shape, "float64", **place)
        cut = (mode - left) / (right - left)
        low = left + self._home.sqrt(u * (right - left) * (mode - left))
        return self._home.where(u <= cut, low, right - self._home.sqrt((1 - u) * (right - left) * (right - mode)))

    def geometric(self, p: Any, size: _Size = None, **place: Any) -> T:
        """How many trials it takes until one succeeds.

        >>> bool((ts.random.default_rng(1).geometric(0.5, 5) >= 1).all())
        True
        """
        shape, (p,) = self._shape(size, p, **place)
        self._need((p > 0) & (p <= 1) if hasattr(p, "ndim") else 0 < p <= 1, "p <= 0, p > 1 or p contains NaNs")
        log = self._home.log(self._home.maximum(1 - p, 1e-300)) if hasattr(p, "ndim") else math.log(max(1 - p, 1e-300))
        tries = self._home.ceil(self._home.log(self._open(shape, "float64", place)) / log)
        return self._home.maximum(tries, 1.0).astype("int64")

    def standard_gamma(self, shape: Any, size: _Size = None, **place: Any) -> T:
        """Gamma numbers of this shape and scale 1, by Marsaglia and Tsang's rejection.

        >>> bool((ts.random.default_rng(1).standard_gamma(2.5, 4) > 0).all())
        True
        """
        home = self._home
        lengths, (a,) = self._shape(size, shape, **place)
        self._need((a >= 0) & (a < math.inf), "shape is negative or not finite")
        # Below 1 by a power of a uniform number of what is drawn for a shape larger by one.
        small = a < 1
        big = a + small * 1.0 if hasattr(a, "ndim") else (a + 1 if small else a)
        d = big - 1.0 / 3
        c = 1 / (3 * (home.sqrt(d) if hasattr(d, "ndim") else math.sqrt(d)))
        found: Any = None
        while True:
            x = self._generator.normal(lengths, "float64", **place)
            u = self._open(lengths, "float64", place)
            v = (1 + c * x) ** 3
            safe = home.maximum(v, 1e-300)
            fits = (v > 0) & (home.log(u) < 0.5 * x * x + d - d * v + d * home.log(safe))
            drawn = home.where(fits, d * v, float("nan"))
            found = drawn if found is None else home.where(home.isnan(found), drawn, found)
            if not bool(home.any(home.isnan(found))):
                break
        if self._all(a >= 1):
            return found
        least = home.maximum(a, 1e-300) if hasattr(a, "ndim") else max(a, 1e-300)
        power = self._open(lengths, "float64", place) ** (1.0 / least)
        return home.where(small, found * power, found) if hasattr(a, "ndim") else found * power

    def gamma(self, shape: Any, scale: Any = 1.0, size: _Size = None, **place: Any) -> T:
        """Gamma numbers of this shape and scale.

        >>> bool((ts.random.default_rng(1).gamma(2.5, 3.0, 4) > 0).all())
        True
        """
        lengths, (shape, scale) = self._shape(size, shape, scale, **place)
        self._need(scale >= 0, "scale < 0")
        return scale * self.standard_gamma(shape, lengths, **place)

    def chisquare(self, df: Any, size: _Size = None, **place: Any) -> T:
        """Sums of the squares of df normal numbers.

        >>> bool((ts.random.default_rng(1).chisquare(3, 4) > 0).all())
        True
        """
        lengths, (df,) = self._shape(size, df, **place)
        self._need(df > 0, "df <= 0")
        g: Any = self.standard_gamma(df / 2, lengths, **place)
        return 2 * g

    def beta(self, a: Any, b: Any, size: _Size = None, **place: Any) -> T:
        """Beta numbers: x / (x + y) of two gamma numbers.

        >>> x = ts.random.default_rng(1).beta(2.0, 3.0, 9); bool(((x > 0) & (x < 1)).all())
        True
        """
        lengths, (a, b) = self._shape(size, a, b, **place)
        self._need(a > 0, "a <= 0")
        self._need(b > 0, "b <= 0")
        x: Any = self.standard_gamma(a, lengths, **place)
        y: Any = self.standard_gamma(b, lengths, **place)
        return x / (x + y)

    def standard_t(self, df: Any, size: _Size = None, **place: Any) -> T:
        """Student's t with df degrees of freedom.

        >>> ts.random.default_rng(1).standard_t(3, 4).shape
        (4,)
        """
        lengths, (df,) = self._shape(size, df, **place)
        x: Any = self.standard_normal(lengths, **place)
        return x / self._home.sqrt(self.chisquare(df, lengths, **place) / df)

    def poisson(self, lam: Any = 1.0, size: _Size = None, **place: Any) -> T:
        """How often something happens that happens ``lam`` times on average, by the inverse of its distribution: the
        work grows with lam.

        >>> bool((ts.random.default_rng(1).poisson(2.5, 4) >= 0).all())
        True
        """
        shape, (lam,) = self._shape(size, lam, **place)
        if self._empty(shape, lam):
            return self._home.zeros(shape, dtype="int64", **place)
        self._need((lam >= 0) & (lam < 1e6), f"poisson: lam is {lam}, expected 0 to 1e6")
        many = max(1, math.ceil(self._largest(lam) / 400))
        part, total = lam / many, None
        first = self._home.exp(-part) if hasattr(part, "ndim") else math.exp(-part)
        for _ in range(many):  # sums of smaller ones, whose first term does not vanish
            drawn = self._inverted(shape, first, lambda k: part / (k + 1), place)
            total = drawn if total is None else total + drawn
        return total  # type: ignore[return-value]

    def binomial(self, n: Any, p: Any, size: _Size = None, **place: Any) -> T:
        """How many of n trials succeed, by the inverse of the distribution: the work grows with n p.

        >>> x = ts.random.default_rng(1).binomial(10, 0.5, 20); bool(((x >= 0) & (x <= 10)).all())
        True
        """
        shape, (n, p) = self._shape(size, n, p, **place)
        if self._empty(shape, n, p):
            return self._home.zeros(shape, dtype="int64", **place)
        self._need(n >= 0, "n < 0")
        self._need((p >= 0) & (p <= 1), "p < 0, p > 1 or p is NaN")
        if hasattr(n, "ndim") or hasattr(p, "ndim"):
            return self._binomials(shape, self._whole(n, place), p, place)
        if p > 0.5:
            rest: Any = self.binomial(n, 1 - p, size, **place)
            return n - rest
        many = max(1, math.ceil(-n * math.log1p(-p) / 400))
        total: Any = None
        for i in range(many):
            m = n // many + (i < n % many)

            def ratio(k: int, m: int = m) -> float:
                return (m - k) / (k + 1) * p / (1 - p) if k < m else 0.0

            drawn = self._inverted(shape, (1 - p) ** m, ratio, place)
            total = drawn if total is None else total + drawn
        return total

    def _binomials(self, shape: Any, n: Any, p: Any, place: dict[str, Any]) -> Any:
        """The same of arrays."""
        home = self._home
        p = p if hasattr(p, "ndim") else self._beside(float(p), place)
        often = p > 0.5
        q = home.where(often, 1 - p, p)
        many, total = max(1, math.ceil(self._largest(-n * home.log1p(-q)) / 400)), None
        for i in range(many):
            m = n // many + (n % many > i).astype("int64")

            def ratio(k: int, m: Any = m) -> Any:
                return home.maximum(m - k, 0) / (k + 1) * q / (1 - q)

            drawn = self._inverted(shape, (1 - q) ** m, ratio, place)
            total = drawn if total is None else total + drawn
        return home.where(often, n - total, total)

    def _inverted(self, shape: Any, first: Any, ratio: Any, place: dict[str, Any]) -> Any:
        """Whole numbers whose probabilities begin with ``first`` and go on by ratios."""
        home = self._home
        u = self._generator.uniform(shape, "float64", **place)
        found = home.zeros_like(u, dtype="int64")
        probability, below, k = first, 0.0 * first, 0
        while self._any((probability > 0) & (below + probability > below) | (below < 0.5)):
            below = below + probability
            found = found + (u >= below).astype("int64")
            probability = probability * ratio(k)
            k += 1
        return found

    def _whole(self, x: Any, place: dict[str, Any]) -> Any:
        return (x if hasattr(x, "ndim") else self._beside(int(x), place)).astype("int64")

    def _any(self, condition: Any) -> bool:
        return condition if isinstance(condition, bool) else bool(self._home.any(condition))

    def _largest(self, x: Any) -> float:
        return float(self._home.max(x)) if hasattr(x, "ndim") else float(x)

    def _empty(self, shape: tuple[int, ...], *parameters: Any) -> bool:
        return math.prod(shape) == 0 and any(hasattr(p, "ndim") for p in parameters)

    def permutation(self, x: Any, **place: Any) -> T:
        """The numbers 0 … x-1 in random order, or the elements of x along its first axis.

        >>> sorted(ts.random.default_rng(1).permutation(4).tolist())
        [0, 1, 2, 3]
        """
        if is_whole(x):
            return self._generator.permutation(operator.index(x), **place)
        x = self._beside(x, place)
        return self._home.take(x, self._order(x), 0)

    def _order(self, x: Any) -> Any:
        split = {"split": None if x.split is None else 0, "comm": x.comm} if hasattr(x, "comm") else {}
        return self._generator.permutation(x.shape[0], device=x.device, **split)

    def shuffle(self, x: Any) -> None:
        """Brings the entries along the first axis into random order, in place.

        >>> x = ts.arange(5); ts.random.default_rng(1).shuffle(x); sorted(x.tolist())
        [0, 1, 2, 3, 4]
        """
        kind: Any = self._kind
        if not isinstance(x, kind) or x.ndim == 0:
            raise TypeError(f"shuffle: expected {kind.__name__} of one axis or more, got {type(x).__name__}")
        x[...] = self._home.take(x, self._order(x), 0)

    def choice(self, a: Any, size: _Size = None, replace: bool = True, p: Any = None, **place: Any) -> T:
        """Elements of a vector, or numbers below ``a``, drawn at random; with ``p`` by these probabilities.

        >>> x = ts.random.default_rng(1).choice([5, 6, 7], 10); bool(((x >= 5) & (x <= 7)).all())
        True
        """
        home = self._home
        shape = self._shape(size)[0]
        a = operator.index(a) if is_whole(a) else self._beside(a, place)
        n = a if isinstance(a, int) else a.shape[0]
        many = math.prod(shape)
        if n <= 0 and many:
            raise ValueError("a cannot be empty unless no samples are taken")
        if not replace and many > n:
            raise ValueError("Cannot take a larger sample than population when replace is False")
        if p is not None:
            at = self._weighted(n, shape, many, replace, self._beside(p, place).astype("float64"), place)
        elif replace:
            at = self._generator.integers(0, n, shape, "int64", **place)
        else:
            at = home.reshape(self._generator.permutation(n, **place)[:many], shape)
        return at if isinstance(a, int) else home.take(a, at)

    def _weighted(self, n: int, shape: Any, many: int, replace: bool, p: Any, place: dict[str, Any]) -> Any:
        home = self._home
        if p.shape != (n,):
            raise ValueError("'a' and 'p' must have same size")
        if bool(home.any(p < 0)):
            raise ValueError("Probabilities are not non-negative")
        if abs(home.sum(p).item() - 1) > 1e-8:
            raise ValueError("Probabilities do not sum to 1")
        if replace:
            steps = home.cumsum(p)
            at = home.searchsorted(steps / steps[-1:], self._generator.uniform(shape, "float64", **place), "right")
            return home.minimum(at, n - 1)
        if int(home.count_nonzero(p)) < many:
            raise ValueError("Fewer non-zero entries in p than size")
        # The first of independent clocks that tick at these rates.
        clocks = home.where(p > 0, -home.log(self._open((n,), "float64", place)) / home.where(p > 0, p, 1.0), math.inf)
        return home.reshape(home.argsort(clocks)[:many], shape)
