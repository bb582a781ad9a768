# SPDX-License-Identifier: Apache-2.0
"""Covariances, correlations and higher moments, with NumPy's and SciPy's arguments, once for all kinds of arrays."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from ._functions import Functions, T, known_axis
from ._tessera import result_type


class Statistics(Functions[T]):
    """Those of samples."""

    def cov(
        self,
        m: Any,
        y: Any = None,
        rowvar: bool = True,
        bias: bool = False,
        ddof: int | None = None,
        fweights: Any = None,
        aweights: Any = None,
        *,
        dtype: Any = None,
    ) -> T:
        """The covariances of variables, which are rows (``rowvar``) or columns; ``fweights`` count observations,
        ``aweights`` weigh them. The sum is divided by n - ``ddof``: n - 1, or n with ``bias``.

        >>> ts.cov([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]]).tolist()
        [[1.0, -1.0], [-1.0, 1.0]]
        """
        home = self._home
        if ddof is not None and ddof != int(ddof):
            raise ValueError("ddof must be integer")
        x, y = (self._array(m), None) if y is None else self._arrays(m, y)
        for name, part in (("m", x), ("y", y)):
            if part is not None and part.ndim > 2:
                raise ValueError(f"{name} has more than 2 dimensions")
        dtype = result_type(*(p.dtype for p in (x, y) if p is not None), "float64") if dtype is None else dtype
        table = self._rows(x.astype(dtype), not rowvar and x.ndim != 1)
        if table.shape[0] == 0:
            return home.zeros((0, 0), device=table.device)
        if y is not None:
            other = self._rows(y.astype(dtype), False)
            other = other.T if not rowvar and other.shape[0] != 1 else other
            table = home.concatenate([table, other], 0)
        ddof = (0 if bias else 1) if ddof is None else ddof
        w = self._frequencies(fweights, table)
        a = self._weights("aweights", aweights, table)
        w = a if w is None else w if a is None else w * a
        apart, factor = self._centred(table, w, a, ddof)
        if factor <= 0:
            warnings.warn("Degrees of freedom <= 0 for slice", RuntimeWarning, stacklevel=2)
        other = (apart if w is None else apart * w).T
        c = home.matmul(apart, home.conj(other) if other.dtype.kind == "c" else other)
        scale = 1 / factor if factor > 0 else float("inf")
        return home.squeeze(c * scale)

    def _rows(self, x: Any, turn: bool) -> Any:
        x = self._home.reshape(x, (1,) * (2 - x.ndim) + tuple(x.shape)) if x.ndim < 2 else x
        return x.T if turn else x

    def _frequencies(self, fweights: Any, table: Any) -> Any:
        w = self._weights("fweights", fweights, table, whole=True)
        return w

    def _weights(self, name: str, weights: Any, table: Any, whole: bool = False) -> Any:
        if weights is None:
            return None
        w = self._near(weights, table).astype("float64")
        if whole and not bool(self._home.all(w == self._home.rint(w))):
            raise TypeError(f"{name} must be integer")
        if w.ndim > 1:
            raise RuntimeError(f"cannot handle multidimensional {name}")
        if w.shape[0] != table.shape[1]:
            raise RuntimeError(f"incompatible numbers of samples and {name}")
        if bool(self._home.any(w < 0)):
            raise ValueError(f"{name} cannot be negative")
        return w

    def _centred(self, table: Any, w: Any, a: Any, ddof: int) -> tuple[Any, float]:
        """The table less its means, and what its products are divided by."""
        home = self._home
        if w is None:
            return table - home.mean(table, 1, keepdims=True), table.shape[1] - ddof
        total = home.sum(w).item()
        if total == 0:
            raise ZeroDivisionError("Weights sum to zero, can't be normalized")
        mean = home.sum(table * w, 1, keepdims=True) / total
        if ddof == 0:
            return table - mean, total
        return table - mean, total - (ddof if a is None else ddof * home.sum(w * a).item() / total)

    def corrcoef(self, x: Any, y: Any = None, rowvar: bool = True, *, dtype: Any = None) -> T:
        """The correlations of variables: their covariances, each variable divided by its deviation.

        >>> ts.corrcoef([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]]).numpy().round(6).tolist()
        [[1.0, -1.0], [-1.0, 1.0]]
        """
        home = self._home
        c: Any = self.cov(x, y, rowvar, dtype=dtype)
        if c.ndim == 0:
            return c / c
        deviation = home.sqrt(home.real(home.diagonal(c)))
        c = c / home.reshape(deviation, (-1, 1)) / home.reshape(deviation, (1, -1))
        if c.dtype.kind != "c":
            return home.clip(c, -1, 1)
        c.real[...], c.imag[...] = home.clip(c.real, -1, 1), home.clip(c.imag, -1, 1)
        return c

    def skew(self, x: Any, axis: int | None = 0, bias: bool = True) -> T:
        """The skewness: the third moment about the mean over the cube of the deviation, as SciPy's; NaN where all
        numbers are equal. Without ``bias`` it is corrected for the number of them.

        >>> ts.dist.skew([1.0, 2.0, 3.0, 10.0]).item() > 0
        True
        """
        x, axis, n = self._sample(x, axis)
        second, third, degenerate = self._moments(x, axis, (2, 3))
        found = third / second**1.5
        if not bias and n > 2:
            found = ((n - 1.0) * n) ** 0.5 / (n - 2.0) * found
        return self._home.where(degenerate, float("nan"), found)

    def kurtosis(self, x: Any, axis: int | None = 0, fisher: bool = True, bias: bool = True) -> T:
        """The kurtosis: the fourth moment about the mean over the square of the variance, less the 3 of normal
        numbers (``fisher``), as SciPy's.

        >>> ts.dist.kurtosis([1.0, 1.0, 2.0, 2.0]).item()
        -2.0
        """
        x, axis, n = self._sample(x, axis)
        second, fourth, degenerate = self._moments(x, axis, (2, 4))
        found = fourth / second**2
        if not bias and n > 3:
            found = 1.0 / (n - 2) / (n - 3) * ((n**2 - 1.0) * found - 3 * (n - 1) ** 2.0) + 3.0
        found = self._home.where(degenerate, float("nan"), found)
        return found - 3 if fisher else found

    def _sample(self, x: Any, axis: int | None) -> tuple[Any, int, int]:
        x = self._array(x)
        x = x if x.dtype.kind in "fc" else x.astype("float64")
        if axis is None:
            x, axis = x.ravel(), 0
        axis = known_axis(axis, x.ndim)
        return x, axis, x.shape[axis]

    def _moments(self, x: Any, axis: int, orders: Sequence[int]) -> tuple[Any, ...]:
        """Moments about the mean, and where the numbers differ by rounding alone."""
        home = self._home
        mean = home.mean(x, axis, keepdims=True)
        apart = x - mean
        found = [home.mean(apart**k, axis) for k in orders]
        eps = 2.0**-52 if x.dtype.name in ("float64", "complex128") else 2.0**-23
        return *found, found[0] <= (eps * home.squeeze(mean, axis)) ** 2
