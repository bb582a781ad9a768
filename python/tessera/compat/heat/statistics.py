# SPDX-License-Identifier: Apache-2.0
"""Heat's statistics.

>>> ht.statistics.mean(ht.arange(4, split=0)).item()
1.5

What Heat gives as a number of Python where everything is reduced is an array of one element here, as with an axis.
"""

from __future__ import annotations

from typing import Any

from ... import dist as _dist
from ._array import DNDarray
from ._calls import _array, call, into
from ._functions import FUNCTIONS, methods

__all__ = [
    "argmax",
    "argmin",
    "average",
    "bincount",
    "bucketize",
    "cov",
    "digitize",
    "histc",
    "histogram",
    "kurtosis",
    "max",
    "maximum",
    "mean",
    "median",
    "min",
    "minimum",
    "percentile",
    "ptp",
    "skew",
    "std",
    "var",
]
max, min, maximum, minimum = (FUNCTIONS[name] for name in ("max", "min", "maximum", "minimum"))


def argmax(x: Any, axis: int | None = None, out: Any = None, keepdims: bool = False) -> Any:
    """Where the largest element is.

    >>> ht.argmax(ht.array([1, 5, 2], split=0)).item()
    1
    """
    return into(out, call(_dist.argmax, _array(x), axis, keepdims=keepdims))


def argmin(x: Any, axis: int | None = None, out: Any = None, keepdims: bool = False) -> Any:
    """Where the smallest element is.

    >>> ht.argmin(ht.array([1, 5, 0], split=0)).item()
    2
    """
    return into(out, call(_dist.argmin, _array(x), axis, keepdims=keepdims))


def mean(x: Any, axis: Any = None) -> DNDarray:
    """The mean over axes.

    >>> ht.mean(ht.arange(4, split=0)).dtype
    ht.float32
    """
    return call(_dist.mean, _array(x), axis)  # type: ignore[no-any-return]


def var(x: Any, axis: Any = None, ddof: float = 0, **kwargs: Any) -> DNDarray:
    """The variance over axes; ``ddof=1`` for that of a sample, as ``bessel=True`` says too.

    >>> ht.var(ht.array([1.0, 3.0]), ddof=1).item()
    2.0
    """
    return call(_dist.var, _array(x), axis, ddof=1 if kwargs.get("bessel") else ddof)  # type: ignore[no-any-return]


def std(x: Any, axis: Any = None, ddof: float = 0, **kwargs: Any) -> DNDarray:
    """The standard deviation over axes.

    >>> ht.std(ht.array([1.0, 3.0])).item()
    1.0
    """
    return call(_dist.std, _array(x), axis, ddof=1 if kwargs.get("bessel") else ddof)  # type: ignore[no-any-return]


def median(
    x: Any, axis: Any = None, keepdims: bool = False, sketched: bool = False, sketch_size: float | None = 1.0
) -> DNDarray:
    """The middle of the elements in order; always of all of them, whatever ``sketched`` says.

    >>> ht.median(ht.array([7.0, 1.0, 5.0], split=0)).item()
    5.0
    """
    return call(_dist.median, _array(x), axis, keepdims)  # type: ignore[no-any-return]


def percentile(
    x: Any,
    q: Any,
    axis: Any = None,
    out: Any = None,
    interpolation: str = "linear",
    keepdims: bool = False,
    sketched: bool = False,
    sketch_size: float | None = 1.0,
) -> Any:
    """Quantiles counted from 0 to 100; always of all elements.

    >>> ht.percentile(ht.arange(5, split=0), 50).item()
    2.0
    """
    return into(out, call(_dist.percentile, _array(x), q, axis, keepdims, method=interpolation))


def average(x: Any, axis: Any = None, weights: Any = None, returned: bool = False) -> Any:
    """The mean with weights, and their sum where ``returned`` is true.

    >>> ht.average(ht.array([1.0, 4.0]), weights=ht.array([2.0, 1.0])).item()
    2.0
    """
    return call(_dist.average, _array(x), axis, weights, returned)


def cov(m: Any, y: Any = None, rowvar: bool = True, bias: bool = False, ddof: int | None = None) -> DNDarray:
    """The covariance of rows.

    >>> ht.cov(ht.array([[1.0, 3.0], [2.0, 0.0]])).tolist()
    [[2.0, -2.0], [-2.0, 2.0]]
    """
    return call(_dist.cov, _array(m), y, rowvar, bias, ddof)  # type: ignore[no-any-return]


def skew(x: Any, axis: int | None = None, unbiased: bool = True) -> DNDarray:
    """How lopsided the numbers are.

    >>> ht.skew(ht.array([1.0, 2.0, 3.0])).item()
    0.0
    """
    return call(_dist.skew, _array(x), axis, not unbiased)  # type: ignore[no-any-return]


def kurtosis(x: Any, axis: int | None = None, unbiased: bool = True, Fischer: bool = True) -> DNDarray:
    """How heavy the tails are; three less where ``Fischer`` is true.

    >>> round(ht.kurtosis(ht.array([1.0, 2.0, 5.0, 7.0]), unbiased=False).item(), 3)
    -1.604
    """
    return call(_dist.kurtosis, _array(x), axis, Fischer, not unbiased)  # type: ignore[no-any-return]


def ptp(a: Any, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    """The largest less the smallest element.

    >>> ht.ptp(ht.array([1, 5, 2])).item()
    4
    """
    return into(out, call(_dist.ptp, _array(a), axis, keepdims=keepdims))


def histogram(
    a: Any, bins: int = 10, range: Any = (0, 0), normed: Any = None, weights: Any = None, density: Any = None
) -> Any:
    """How many numbers fall into each bin, as numbers of the array's dtype; the edges come from ``ts.dist.histogram``.

    >>> ht.histogram(ht.array([1.0, 2.0, 2.5, 4.0]), 3).tolist()
    [1.0, 2.0, 1.0]
    """
    a = _array(a)
    limits = None if range[0] == range[1] else tuple(range)
    counts = call(_dist.histogram, a, bins, limits, density, weights)[0]
    return counts.astype(a.dtype) if weights is None and not density else counts


def histc(input: Any, bins: int = 100, min: float = 0, max: float = 0, out: Any = None) -> Any:
    """A histogram between two bounds, those of the numbers where they are equal.

    >>> ht.histc(ht.array([1.0, 2.0, 3.0]), 3).tolist()
    [1.0, 1.0, 1.0]
    """
    return into(out, histogram(input, bins, (min, max)))


def bincount(x: Any, weights: Any = None, minlength: int = 0) -> DNDarray:
    """How often each number comes.

    >>> ht.bincount(ht.array([0, 2, 2])).tolist()
    [1, 0, 2]
    """
    return call(_dist.bincount, _array(x), weights=weights, minlength=minlength)  # type: ignore[no-any-return]


def digitize(x: Any, bins: Any, right: bool = False) -> DNDarray:
    """The bin in which each number is.

    >>> ht.digitize(ht.array([1.0, 2.5]), ht.array([1.0, 2.0, 3.0])).tolist()
    [1, 2]
    """
    return call(_dist.digitize, _array(x), bins, right)  # type: ignore[no-any-return]


def bucketize(input: Any, boundaries: Any, out_int32: bool = False, right: bool = False, out: Any = None) -> Any:
    """Where numbers would stand among boundaries that are in order.

    >>> ht.bucketize(ht.array([1.0, 2.5]), ht.array([1.0, 2.0, 3.0])).tolist()
    [0, 2]
    """
    made = call(_dist.searchsorted, _array(boundaries), _array(input), "right" if right else "left")
    return into(out, made.astype("int32") if out_int32 else made)


FUNCTIONS |= {name: globals()[name] for name in __all__}
methods("argmax argmin average kurtosis mean median ptp skew std var", FUNCTIONS)
