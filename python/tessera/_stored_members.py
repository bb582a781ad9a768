# SPDX-License-Identifier: Apache-2.0
"""Members of arrays on disk by a name of their own, and what they are where Python wants one number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import _stored_reductions as _reductions
from . import _tessera as _core
from ._tessera import StoredArray


def only(x: StoredArray) -> Any:
    """The only element; of several the error that arrays in memory raise."""
    if x.size != 1:
        raise TypeError("only arrays of one element can be converted to a number of Python")
    return x._whole().item()


def truth(x: StoredArray) -> bool:
    """As of arrays in memory: of one element only."""
    return bool(x._whole() if x.size == 1 else _core.zeros(min(x.size, 2)))


def number(kind: type) -> Callable[[StoredArray], Any]:
    return lambda x: kind(only(x))


class Members:
    """Members of StoredArray that are other functions by a name of their own."""

    def sum(self: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> _core.Array:
        """The sum over all axes or some, in memory; what it is over is read once.

        >>> ts.stored.ones((2, 3)).sum(axis=0).tolist()
        [2.0, 2.0, 2.0]
        """
        return _reductions.functions["sum"](self, axis, dtype, out, keepdims)

    def mean(self: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> _core.Array:
        """The mean over all axes or some.

        >>> ts.stored.ones((2, 3)).mean().item()
        1.0
        """
        return _reductions.functions["mean"](self, axis, dtype, out, keepdims)

    def min(self: Any, axis: Any = None, out: Any = None, keepdims: bool = False) -> _core.Array:
        """The smallest element over all axes or some.

        >>> ts.stored.array([3, 1, 2]).min().item()
        1
        """
        return _reductions.functions["min"](self, axis, out, keepdims)

    def max(self: Any, axis: Any = None, out: Any = None, keepdims: bool = False) -> _core.Array:
        """The largest element over all axes or some.

        >>> ts.stored.array([3, 1, 2]).max().item()
        3
        """
        return _reductions.functions["max"](self, axis, out, keepdims)

    def var(
        self: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: float = 0, keepdims: bool = False
    ) -> _core.Array:
        """The mean square of what is beside the mean, in two passes.

        >>> ts.stored.array([1.0, 3.0]).var().item()
        1.0
        """
        return _reductions.var(self, axis, dtype, out, ddof, keepdims)

    def std(
        self: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: float = 0, keepdims: bool = False
    ) -> _core.Array:
        """The square root of `var`.

        >>> ts.stored.array([1.0, 5.0]).std().item()
        2.0
        """
        return _reductions.std(self, axis, dtype, out, ddof, keepdims)

    def any(self: Any, axis: Any = None, out: Any = None, keepdims: bool = False) -> _core.Array:
        """Whether an element is not zero.

        >>> ts.stored.array([0, 2]).any().item()
        True
        """
        return _reductions.any_(self, axis, out, keepdims)

    def all(self: Any, axis: Any = None, out: Any = None, keepdims: bool = False) -> _core.Array:
        """Whether no element is zero.

        >>> ts.stored.array([0, 2]).all().item()
        False
        """
        return _reductions.all_(self, axis, out, keepdims)

    def clip(self: Any, min: Any = None, max: Any = None, out: Any = None) -> StoredArray:  # noqa: A002
        """The elements within bounds, as a formula.

        >>> ts.stored.array([1, 5, 9]).clip(2, 6)[:].tolist()
        [2, 5, 6]
        """
        return _reductions.clip(self, min, max, out)

    def round(self: Any, decimals: int = 0, out: Any = None) -> StoredArray:
        """The nearest numbers with so many decimals, as a formula.

        >>> ts.stored.array([1.24]).round(1)[:].tolist()
        [1.2]
        """
        return _reductions.round_(self, decimals, out)

    def conj(self: Any) -> StoredArray:
        """The complex conjugate, as a formula.

        >>> ts.stored.array([1 + 2j]).conj()[0].item()
        (1-2j)
        """
        return _core._stored_apply("conj", self)

    def copy(self: Any) -> StoredArray:
        """The same numbers in another file of the backing folder.

        >>> ts.stored.ones(2).copy()[:].tolist()
        [1.0, 1.0]
        """
        return self.transpose(range(self.ndim))

    def astype(self: Any, dtype: Any, copy: bool = True) -> StoredArray:
        """The elements in another dtype, as a formula, which copies nothing.

        >>> str(ts.stored.ones(3).astype("int8").dtype)
        'int8'
        """
        return self._as(dtype)

    def item(self: Any) -> Any:
        """The only element, as a number of Python.

        >>> ts.stored.array([[7]]).item()
        7
        """
        return self._whole().item()

    def numpy(self: Any) -> Any:
        """All elements in memory, as an array of NumPy.

        >>> ts.stored.ones(2).numpy().tolist()
        [1.0, 1.0]
        """
        return self._whole().numpy()

    def explain(self: Any, operation: str = "sum", axis: Any = None) -> str:
        """What a reduction over this array reads and holds; `ts.stored.explain` tells it of any call.

        >>> print(ts.stored.ones((2, 3)).explain("max").splitlines()[0])
        max: (2, 3) float64 over axes (0, 1)
        """
        return _core._stored_explain(operation, self, axis)

    @property
    def T(self: Any) -> StoredArray:  # noqa: N802
        """A copy on disk with the axes in reverse order."""
        return self.transpose()

    @property
    def real(self: Any) -> StoredArray:
        """The real part, as a formula."""
        return _core._stored_apply("real", self)

    @property
    def imag(self: Any) -> StoredArray:
        """The imaginary part, as a formula."""
        return _core._stored_apply("imag", self)
