# SPDX-License-Identifier: Apache-2.0
"""Functions of ts for arrays on disk, by their names, and what the class of such arrays has."""

from __future__ import annotations

import operator
import os
import sys
from collections.abc import Callable
from typing import Any

from . import _larger
from . import _stored_forms as _forms
from . import _stored_keys as _keys
from . import _stored_spectra as _spectra
from . import _stored_transforms as _transforms
from . import _tessera as _core
from ._tessera import StoredArray


def matmul(a: Any, b: Any, path: str | os.PathLike[str] | None = None) -> StoredArray:
    """The product of two matrices on disk: in the backing folder, or in a file at `path`, which stays.

    With a path it is a job: PATH.partial and PATH.job are there while it is computed, and when it was interrupted or
    killed the same call goes on from there.

    >>> a = ts.stored.array(np.eye(3) * 2)
    >>> ts.stored.matmul(a, a)[0].tolist()
    [4.0, 0.0, 0.0]
    """
    if _forms.has_form(a) or _forms.has_form(b):
        return _forms.product(a, b, path)
    a, b = (_core._stored_operand(x, "matmul") for x in (a, b))
    return _core._stored_matmul(a, b, path)


def _applied(op: str) -> Callable[..., Any]:
    return lambda *inputs: _core._stored_apply(op, *inputs)


def _is_operand(x: Any) -> bool:
    """Arrays and numbers, NumPy's too, which is not imported for that."""
    if isinstance(x, StoredArray | _core.Array | bool | int | float | complex):
        return True
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(x, numpy.ndarray | numpy.generic)


def _operator(op: str, turned: bool = False) -> Callable[..., Any]:
    def method(self: StoredArray, other: Any) -> Any:
        if not _is_operand(other):
            return NotImplemented
        return _core._stored_apply(op, other, self) if turned else _core._stored_apply(op, self, other)

    return method


def _reduced(which: str) -> Callable[..., Any]:
    def reduction(x: StoredArray, axis: Any = None, *, keepdims: bool = False) -> _core.Array:
        return _core._stored_reduce(which, x, axis, keepdims)

    reduction.__name__ = which
    return reduction


def _transpose(x: StoredArray, axes: Any = None) -> StoredArray:
    return x.transpose(axes)


def _sort(x: StoredArray, axis: int | None = -1) -> StoredArray:
    """The elements in order along an axis, in a file of the backing folder; stable, NaN last."""
    if axis is None:
        if x.ndim != 1:
            raise _core.ArgumentError(f"sort: a stored array of {x.ndim} axes cannot be flattened; name the axis")
        axis = 0
    return _core._stored_sort(x, operator.index(axis))


_unary = (
    "negative positive square sign conj reciprocal sqrt exp exp2 expm1 log log2 log10 log1p sin cos tan arcsin arccos"
)
_unary += (
    " arctan sinh cosh tanh arcsinh arccosh arctanh cbrt floor ceil trunc rint isnan isinf isfinite signbit absolute"
)
_unary += " real imag angle logical_not invert"
_binary = (
    "add subtract multiply divide floor_divide remainder power maximum minimum fmax fmin arctan2 hypot copysign equal"
)
_binary += " not_equal less less_equal greater greater_equal logical_and logical_or logical_xor bitwise_and bitwise_or"
_binary += " bitwise_xor left_shift right_shift"
_functions: dict[str, Callable[..., Any]] = {op: _applied(op) for op in (_unary + " " + _binary).split()}
_functions |= {"where": _applied("where"), "abs": _applied("absolute"), "pow": _applied("power")}
_functions |= {"conjugate": _applied("conj"), "true_divide": _applied("divide"), "mod": _applied("remainder")}
_functions |= {
    "acos": _applied("arccos"),
    "asin": _applied("arcsin"),
    "atan": _applied("arctan"),
    "atan2": _applied("arctan2"),
}
_functions |= {
    "acosh": _applied("arccosh"),
    "asinh": _applied("arcsinh"),
    "atanh": _applied("arctanh"),
    "round": _applied("rint"),
}
_functions |= {name: _reduced(name) for name in ("sum", "mean", "min", "max")}
_functions |= {"amin": _functions["min"], "amax": _functions["max"], "matmul": matmul, "sort": _sort}
_functions |= {"_cholesky": _core._stored_cholesky, "_inverse": _core._stored_inverse}  # of ts.linalg
_functions |= {
    "_solve": _spectra.of_two("solve", _core._stored_solve),
    "_solve_triangular": _spectra.of_two("solve_triangular", _core._stored_solve_triangular),
}
_functions |= _spectra.functions | _larger.like_functions | _transforms.functions
_functions |= {"transpose": _transpose, "permute_dims": _transpose}


def twin(name: str) -> Callable[..., Any] | None:
    """The function for stored arrays of a name in ts."""
    return _functions.get(name)


def _ufunc(self: StoredArray, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
    function = _functions.get(ufunc.__name__)
    if method != "__call__" or options or function is None:
        return NotImplemented
    return function(*inputs)


def _to_numpy(self: StoredArray, dtype: Any = None, copy: Any = None) -> Any:
    if copy is False:
        raise ValueError("StoredArray: its numbers are on disk, so that NumPy gets a copy")
    whole = self._whole().numpy()
    return whole if dtype is None else whole.astype(dtype)


def _reduced_to_path(self: StoredArray) -> tuple[Any, ...]:
    """For pickles: where the file is. What lies nowhere that others could open is refused."""
    if not self._path:
        what = "a formula" if self.is_formula else "a dataset of a file, or lies in the backing folder of this process,"
        raise TypeError(
            f"tessera.StoredArray cannot be pickled or copied: it is {what} and cannot be found by others; pickle "
            "x.save(path), which refers to its file, or write the numbers with ts.save('x.tessera', x)"
        )
    from . import stored

    return stored.open, (os.path.abspath(self._path), "r+" if self._writable else "r")


def _length(self: StoredArray) -> int:
    if self.ndim == 0:
        raise TypeError("len() of an array without axes")
    return self.shape[0]


def _operators() -> dict[str, Any]:
    names = {"add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide", "floordiv": "floor_divide"}
    names |= {"mod": "remainder", "pow": "power", "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor"}
    found: dict[str, Any] = {}
    for name, op in names.items():
        found[f"__{name}__"] = _operator(op)
        found[f"__r{name}__"] = _operator(op, turned=True)
    for name, op in {"lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal"}.items():
        found[f"__{name}__"] = _operator(op)
    found |= {"__eq__": _operator("equal"), "__ne__": _operator("not_equal"), "__hash__": None}
    found |= {"__neg__": _applied("negative"), "__abs__": _applied("absolute"), "__invert__": _applied("invert")}
    found["__matmul__"] = lambda self, other: matmul(self, other)
    found["__rmatmul__"] = lambda self, other: matmul(other, self)
    found |= {"__getitem__": _keys.get, "__setitem__": _keys.set_, "__len__": _length}
    return found | {"__array__": _to_numpy, "__array_ufunc__": _ufunc, "__reduce__": _reduced_to_path}


class _Methods:
    """Members of StoredArray that are other functions by a name of their own."""

    def sum(self: Any, axis: Any = None, *, keepdims: bool = False) -> _core.Array:
        """The sum over all axes or some, in memory; what it is over is read once.

        >>> ts.stored.ones((2, 3)).sum(axis=0).tolist()
        [2.0, 2.0, 2.0]
        """
        return _core._stored_reduce("sum", self, axis, keepdims)

    def mean(self: Any, axis: Any = None, *, keepdims: bool = False) -> _core.Array:
        """The mean over all axes or some.

        >>> ts.stored.ones((2, 3)).mean().item()
        1.0
        """
        return _core._stored_reduce("mean", self, axis, keepdims)

    def min(self: Any, axis: Any = None, *, keepdims: bool = False) -> _core.Array:
        """The smallest element over all axes or some.

        >>> ts.stored.array([3, 1, 2]).min().item()
        1
        """
        return _core._stored_reduce("min", self, axis, keepdims)

    def max(self: Any, axis: Any = None, *, keepdims: bool = False) -> _core.Array:
        """The largest element over all axes or some.

        >>> ts.stored.array([3, 1, 2]).max().item()
        3
        """
        return _core._stored_reduce("max", self, axis, keepdims)

    def conj(self: Any) -> StoredArray:
        """The complex conjugate, as a formula.

        >>> ts.stored.array([1 + 2j]).conj()[0].item()
        (1-2j)
        """
        return _core._stored_apply("conj", self)

    def astype(self: Any, dtype: Any) -> StoredArray:
        """The elements in another dtype, as a formula.

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


def complete() -> None:
    """Gives the class its operators and methods."""
    methods = {name: member for name, member in vars(_Methods).items() if not name.startswith("_")}
    whole = {"_whole": lambda self: self._read([0] * self.ndim, self.shape), "_hermitian": _transforms.hermitian}
    for name, member in (_operators() | methods | whole).items():
        setattr(StoredArray, name, member)
