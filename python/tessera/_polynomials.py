# SPDX-License-Identifier: Apache-2.0
"""Polynomials by their coefficients, the highest power first, with NumPy's arguments, once for all kinds of arrays."""

from __future__ import annotations

import warnings
from typing import Any

from ._dtypes import finfo
from ._functions import Functions, T
from ._tessera import result_type


class Polynomials(Functions[T]):
    """Those of polynomials; ``algebra()`` is the module with ``lstsq`` and ``inv``."""

    def __init__(self, home: Any, kind: type[T], algebra: Any) -> None:
        super().__init__(home, kind)
        self._algebra = algebra

    def vander(self, x: Any, N: int | None = None, increasing: bool = False) -> T:
        """The powers of numbers, each number a row: falling powers unless told.

        >>> ts.vander([1, 2, 3], 3).tolist()
        [[1, 1, 1], [4, 2, 1], [9, 3, 1]]
        """
        x = self._array(x)
        if x.ndim != 1:
            raise ValueError("x must be a one-dimensional array or sequence.")
        n = x.shape[0] if N is None else N
        x = x.astype(result_type(x.dtype, "int64"))
        columns = [self._home.ones_like(x)]
        while len(columns) < n:
            columns.append(columns[-1] * x)
        table = self._home.stack(columns, axis=1)[:, :n]
        return table if increasing else self._home.flip(table, 1)

    def polyval(self, p: Any, x: Any) -> T:
        """The values of a polynomial, by Horner's scheme.

        >>> ts.polyval([3, 0, 1], [5, 2]).tolist()
        [76, 13]
        """
        p, x = self._arrays(p, x)
        y = self._home.zeros_like(x)
        for k in range(p.shape[0]):
            y = y * x + p[k]
        return y

    def polyfit(
        self,
        x: Any,
        y: Any,
        deg: int,
        rcond: float | None = None,
        full: bool = False,
        w: Any = None,
        cov: bool | str = False,
    ) -> Any:
        """The polynomial of least squares of degree ``deg`` through points; y may have columns. With ``full`` also
        residuals, rank, singular values and rcond, with ``cov`` the covariances of the coefficients.

        >>> ts.polyfit([0.0, 1.0, 2.0, 3.0], [1.0, 3.0, 5.0, 7.0], 1).numpy().round(6).tolist()
        [2.0, 1.0]
        """
        home = self._home
        order = int(deg) + 1
        x, y = self._arrays(x, y)
        x, y = (v if v.dtype.kind in "fc" else v.astype("float64") for v in (x, y))
        self._check(x, y, deg)
        rcond = x.shape[0] * finfo(x.dtype).eps if rcond is None else rcond
        left: Any = self.vander(x, order)
        right = y
        if w is not None:
            w = self._near(w, x)
            w = w if w.dtype.kind in "fc" else w.astype("float64")
            if w.ndim != 1:
                raise TypeError("expected a 1-d array for weights")
            if w.shape[0] != y.shape[0]:
                raise TypeError("expected w and y to have the same length")
            column = home.reshape(w, (-1, 1))
            left, right = left * column, (right * (column if y.ndim == 2 else w)).astype(y.dtype)
        scale = home.sqrt(home.sum(left * left, 0))
        left = left / scale
        found, rest, rank, s = self._algebra().lstsq(left, right, rcond)
        found = (found.T / scale).T
        if rank != order and not full:
            warnings.warn("Polyfit may be poorly conditioned", RuntimeWarning, stacklevel=2)
        if full:
            return found, rest, rank, s, rcond
        if not cov:
            return found
        base = self._algebra().inv(left.T @ left) / (home.reshape(scale, (-1, 1)) * scale)
        factor: Any = 1
        if cov != "unscaled":
            if x.shape[0] <= order:
                raise ValueError("the number of data points must exceed order to scale the covariance matrix")
            factor = rest / (x.shape[0] - order)
        return found, base * factor if y.ndim == 1 else home.reshape(base, (order, order, 1)) * factor

    def _check(self, x: Any, y: Any, deg: int) -> None:
        if deg < 0:
            raise ValueError("expected deg >= 0")
        if x.ndim != 1:
            raise TypeError("expected 1D vector for x")
        if x.size == 0:
            raise TypeError("expected non-empty vector for x")
        if y.ndim < 1 or y.ndim > 2:
            raise TypeError("expected 1D or 2D array for y")
        if x.shape[0] != y.shape[0]:
            raise TypeError("expected x and y to have same length")
