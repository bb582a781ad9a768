# SPDX-License-Identifier: Apache-2.0
"""NumPy's functions that are made of others, once for all kinds of arrays: products, comparisons, conveniences."""

from __future__ import annotations

import math
from typing import Any

from ._dtypes import finfo, result_type
from ._functions import Functions, T, known_axis


def _is_number(x: Any) -> bool:
    """Of Python: it adapts to the arrays that it meets."""
    return type(x) in (bool, int, float, complex)


class Composed(Functions[T]):
    """Those that are made of others."""

    def logaddexp(self, x1: Any, x2: Any, /) -> T:
        """log(exp(x1) + exp(x2)), without overflow between.

        >>> round(ts.logaddexp([1000.0], [1000.0]).item() - 1000, 6)
        0.693147
        """
        if self._host and (found := self._host.logaddexp(x1, x2)) is not None:
            return found  # type: ignore[no-any-return]
        larger, apart = self._apart(x1, x2)
        return larger + self._home.log1p(self._home.exp(apart))

    def logaddexp2(self, x1: Any, x2: Any, /) -> T:
        """log2(2**x1 + 2**x2), without overflow between.

        >>> ts.logaddexp2([2000.0], [2000.0]).item()
        2001.0
        """
        if self._host and (found := self._host.logaddexp2(x1, x2)) is not None:
            return found  # type: ignore[no-any-return]
        larger, apart = self._apart(x1, x2)
        return larger + self._home.log1p(self._home.exp2(apart)) * math.log2(math.e)

    def _apart(self, x1: Any, x2: Any) -> tuple[Any, Any]:
        """The larger of two numbers, as floats, and by how much the other is less."""
        larger, smaller = self._home.maximum(x1, x2), self._home.minimum(x1, x2)
        if larger.dtype.kind not in "fc":  # differences of integers wrap around
            dtype = self._home.exp(self._home.zeros(0, dtype=larger.dtype)).dtype
            larger, smaller = larger.astype(dtype), smaller.astype(dtype)
        return larger, self._home.where(self._home.equal(larger, smaller), 0, smaller - larger)

    def nextafter(self, x1: Any, x2: Any, /) -> T:
        """The next number of the dtype after x1 in the direction of x2.

        >>> ts.nextafter([1.0], [2.0]).item() == 1 + 2.0**-52
        True
        """
        home, dtype = self._home, result_type(*(x if _is_number(x) else self._array(x).dtype for x in (x1, x2)))
        arrays = [x if _is_number(x) else self._array(x) for x in (x1, x2)]
        device = next((x.device for x in arrays if not _is_number(x)), None)
        a, b = (home.array(x, dtype=dtype, device=device) if _is_number(x) else x for x in arrays)
        if dtype.kind != "f":
            raise TypeError(f"nextafter: expected floating numbers, got {dtype.name}")
        x = a.astype(dtype)
        info = finfo(dtype)
        unit, tiny = info.eps / 2, info.smallest_normal * info.eps
        # One rounding of x + e, where e is a bit more than half of a step, is the next number; near zero all steps are
        # equal, and just above that the same is done in larger numbers.
        size, sign, part = abs(x), home.where(b > a, 1, -1).astype(dtype), unit * (1 + info.eps)
        large, small = size >= tiny / unit / unit / 2, size < tiny / unit
        scaled = home.where(large | small, 0, x) / unit
        found = home.where(large, x + sign * (size * part), (scaled + sign * (abs(scaled) * part)) * unit)
        found = home.where(small, x + sign * tiny, found)
        found = home.where((found == 0) & (x != 0), home.copysign(found, x), found)
        found = home.where(home.isinf(x), home.copysign(info.max, x), found)
        found = home.where(home.equal(a, b), b, found)
        return home.where(home.isnan(a) | home.isnan(b), float("nan"), found).astype(dtype)

    def outer(self, x1: Any, x2: Any, /, out: Any = None) -> T:
        """The products of all elements of one array with all of another.

        >>> ts.outer([1, 2], [3, 4]).tolist()
        [[3, 4], [6, 8]]
        """
        a, b = self._array(x1).ravel(), self._array(x2).ravel()
        return self._home.multiply(self._home.reshape(a, (-1, 1)), self._home.reshape(b, (1, -1)), out=out)

    def inner(self, x1: Any, x2: Any, /) -> T:
        """Sums of products along the last axes of both.

        >>> ts.inner([1, 2], [3, 4]).item()
        11
        """
        if self._host and (found := self._host.inner(x1, x2)) is not None:
            return found  # type: ignore[no-any-return]
        a, b = self._array(x1), self._array(x2)
        if a.ndim == 0 or b.ndim == 0:
            return self._home.multiply(a, b)
        if a.shape[-1] != b.shape[-1]:
            raise ValueError(f"inner: shapes {a.shape} and {b.shape} do not end alike")
        if a.ndim == b.ndim == 1:
            return self._home.matmul(a, b)
        left, right = (self._home.reshape(x, (math.prod(x.shape[:-1]), x.shape[-1])) for x in (a, b))
        product = self._home.matmul(left, self._home.transpose(right))
        return self._home.reshape(product, (*a.shape[:-1], *b.shape[:-1]))

    def kron(self, x1: Any, x2: Any, /) -> T:
        """Kronecker's product: the second array times every element of the first.

        >>> ts.kron([1, 10], [[1, 2]]).tolist()
        [[1, 2, 10, 20]]
        """
        a, b = self._array(x1), self._array(x2)
        ndim = max(a.ndim, b.ndim)
        of_a, of_b = (1,) * (ndim - a.ndim) + tuple(a.shape), (1,) * (ndim - b.ndim) + tuple(b.shape)
        left = self._home.reshape(a, [n for pair in zip(of_a, (1,) * ndim, strict=True) for n in pair])
        right = self._home.reshape(b, [n for pair in zip((1,) * ndim, of_b, strict=True) for n in pair])
        return self._home.reshape(left * right, [n * m for n, m in zip(of_a, of_b, strict=True)])

    def cross(self, x1: Any, x2: Any, /, *, axis: int = -1) -> T:
        """The products of vectors in space, which lie along an axis.

        >>> ts.cross([1, 0, 0], [0, 1, 0]).tolist()
        [0, 0, 1]
        """
        a, b = self._array(x1), self._array(x2)
        if a.shape[axis] != 3 or b.shape[axis] != 3:
            raise ValueError(f"cross: expected three entries along axis {axis}, got shapes {a.shape} and {b.shape}")
        a, b = self._home.moveaxis(a, axis, -1), self._home.moveaxis(b, axis, -1)
        turned = [a[..., i] * b[..., j] - a[..., j] * b[..., i] for i, j in ((1, 2), (2, 0), (0, 1))]
        return self._home.stack(turned, axis=axis)

    def trace(self, x: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None) -> T:
        """The sums of the diagonals of two axes.

        >>> ts.dist.trace([[2, 0], [0, 3]]).item()
        5
        """
        return self._home.sum(self._home.diagonal(x, offset, axis1, axis2), axis=-1, dtype=dtype)

    def isclose(self, a: Any, b: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> T:
        """Elements differ by at most atol + rtol * abs(b).

        >>> ts.isclose([1.0, 2.0], [1.0 + 1e-9, 3.0]).tolist()
        [True, False]
        """
        if self._host and (found := self._host.isclose(a, b, rtol, atol, equal_nan)) is not None:
            return found  # type: ignore[no-any-return]
        a, b = self._array(a), self._array(b)
        if b.dtype.kind not in "fc":  # differences of integers wrap around, those of booleans do not exist
            b = b.astype("float64")
        near = self._home.isfinite(b) & (abs(self._home.subtract(a, b)) <= atol + rtol * abs(b))
        near = near | self._home.equal(a, b)
        return near | (self._home.isnan(a) & self._home.isnan(b)) if equal_nan else near

    def allclose(self, a: Any, b: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool:
        """All elements are close; see ``isclose``.

        >>> ts.allclose([1.0, 2.0], [1.0, 2.0 + 1e-9])
        True
        """
        if self._host and (found := self._host.allclose(a, b, rtol, atol, equal_nan)) is not None:
            return found  # type: ignore[no-any-return]
        return bool(self._home.all(self.isclose(a, b, rtol, atol, equal_nan)))

    def array_equal(self, a1: Any, a2: Any, equal_nan: bool = False) -> bool:
        """Two arrays have one shape and equal elements.

        >>> ts.array_equal([1, 2], [1, 2]), ts.array_equal([1, 2], [1, 2, 3])
        (True, False)
        """
        a, b = self._array(a1), self._array(a2)
        if a.shape != b.shape:
            return False
        same = self._home.equal(a, b)
        return bool(self._home.all(same | (self._home.isnan(a) & self._home.isnan(b)) if equal_nan else same))

    def nan_to_num(
        self, x: Any, copy: bool = True, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None
    ) -> T:
        """Numbers in place of NaNs and infinities: the largest of the dtype unless told. With ``copy=False`` they are
        written into an array that is given, which is returned.

        >>> ts.nan_to_num([ts.nan, 1.0, ts.inf], posinf=9.0).tolist()
        [0.0, 1.0, 9.0]
        """
        given, x = x, self._array(x)
        if x.dtype.kind not in "fc":
            return x.copy() if copy or x is not given else x
        if x.dtype.kind == "c":
            y = x.copy() if copy or x is not given else x
            y.real[...], y.imag[...] = (self.nan_to_num(p, True, nan, posinf, neginf) for p in (x.real, x.imag))
            return y
        top = finfo(x.dtype).max
        home = self._home
        y = home.where(home.isnan(x), nan, x)
        y = home.where(y == float("inf"), top if posinf is None else posinf, y)
        y = home.where(y == float("-inf"), -top if neginf is None else neginf, y)
        if copy or x is not given:
            return y.astype(x.dtype) if y.dtype != x.dtype else y
        x[...] = y
        return x

    def isin(
        self,
        element: Any,
        test_elements: Any,
        assume_unique: bool = False,
        *,
        invert: bool = False,
        kind: str | None = None,
    ) -> T:
        """Elements that are among others. NumPy's kinds of search ("sort", "table") give the same; this one sorts.

        >>> ts.isin([1, 2, 3], [3, 1]).tolist()
        [True, False, True]
        """
        if kind not in (None, "sort", "table"):
            raise ValueError(f"Invalid kind: '{kind}'. Please use None, 'sort' or 'table'.")
        x, others = self._array(element), self._home.unique(test_elements)
        n = others.shape[0]
        if n == 0:
            return self._home.full_like(x, invert, dtype="bool")
        place = self._home.minimum(self._home.searchsorted(others, x), n - 1)
        found = self._home.equal(self._home.take(others, place), x)
        return ~found if invert else found

    def argwhere(self, x: Any) -> T:
        """The positions of the elements that are not zero, one row each.

        >>> ts.argwhere([[0, 1], [1, 0]]).tolist()
        [[0, 1], [1, 0]]
        """
        return self._home.stack(self._home.nonzero(x), axis=1)

    def flatnonzero(self, x: Any) -> T:
        """The positions in the flattened array of the elements that are not zero.

        >>> ts.flatnonzero([[0, 1], [1, 0]]).tolist()
        [1, 2]
        """
        return self._home.nonzero(self._home.ravel(x))[0]

    def ptp(self, x: Any, axis: Any = None, keepdims: bool = False, *, out: Any = None) -> T:
        """The largest element less the smallest.

        >>> ts.ptp([3, 9, 5]).item()
        6
        """
        if self._host and axis is None and not keepdims and (whole := self._host.ptp(x)) is not None:
            return self._into(whole, out, "ptp")  # type: ignore[no-any-return]
        found = self._home.max(x, axis, keepdims=keepdims) - self._home.min(x, axis, keepdims=keepdims)
        return self._into(found, out, "ptp")

    def average(
        self, x: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: bool = False
    ) -> Any:
        """The mean with weights: of x's shape, or one for each entry of the axis or axes; with ``returned`` also the
        sums of the weights.

        >>> ts.average([1.0, 5.0], weights=[3.0, 1.0]).item()
        2.0
        """
        home, x = self._home, self._array(x)
        axes = None if axis is None else [known_axis(a, x.ndim) for a in (axis if isinstance(axis, tuple) else (axis,))]
        over = axis
        if weights is None:
            mean = home.mean(x, over, keepdims=keepdims)
            many = x.size / mean.size if mean.size else 0.0
            return (mean, home.full_like(mean, many)) if returned else mean
        w = self._near(weights, x)
        if w.shape != x.shape:
            if axes is None:
                raise TypeError("Axis must be specified when shapes of a and weights differ.")
            if tuple(w.shape) != tuple(x.shape[a] for a in axes):
                raise ValueError("Shape of weights must be consistent with shape of a along specified axis.")
            w = home.transpose(w, sorted(range(len(axes)), key=lambda i: axes[i]))
            w = home.reshape(w, [n if a in axes else 1 for a, n in enumerate(x.shape)])
        w = home.broadcast_to(w, x.shape)
        product = home.multiply(x.astype("float64") if x.dtype.kind in "biu" else x, w)
        scale = home.sum(w, over, keepdims=keepdims).astype(product.dtype)
        if bool(home.any(scale == 0)):
            raise ZeroDivisionError("Weights sum to zero, can't be normalized")
        mean = home.sum(product, over, keepdims=keepdims) / scale
        return (mean, scale) if returned else mean

    def rot90(self, x: Any, k: int = 1, axes: tuple[int, int] = (0, 1)) -> T:
        """A plane of two axes turned by quarters.

        >>> ts.rot90([[1, 2], [3, 4]]).tolist()
        [[2, 4], [1, 3]]
        """
        x = self._array(x)
        if len(axes) != 2:
            raise ValueError("len(axes) must be 2.")
        first, second = axes
        if first == second or abs(first - second) == x.ndim:
            raise ValueError("Axes must be different.")
        if not all(-x.ndim <= axis < x.ndim for axis in axes):
            raise ValueError(f"Axes={tuple(axes)} out of range for array of ndim={x.ndim}.")
        if k % 4 == 2:
            return self._home.flip(x, (first, second))
        if k % 4 == 0:
            return self._home.flip(x, ())
        turned = self._home.swapaxes(x, first, second)
        return self._home.flip(turned, first if k % 4 == 1 else second)
