# SPDX-License-Identifier: Apache-2.0
"""Arrays that are not in memory: files that are read and written in place, and formulas over them.

>>> a = ts.stored.array(np.arange(12.0).reshape(3, 4))
>>> b = ts.sqrt(a) * 2          # a formula: nothing is computed
>>> b.sum().item() == (np.sqrt(np.arange(12.0)) * 2).sum()
True
>>> (a @ a.T)[1, :].tolist()
[14.0, 126.0, 302.0...]
"""

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import _tessera as _core
from ._tessera import StoredArray

__all__ = ["StoredArray", "array", "create", "full", "matmul", "ones", "open", "zeros"]


def create(
    shape: int | Sequence[int], dtype: Any = "float64", path: str | os.PathLike[str] | None = None
) -> StoredArray:
    """A new array of zeros on disk: at `path`, where it stays, or in the backing folder, where it goes with the array.

    A `path` that ends in .npy makes a file of that format, any other a tiled file.

    >>> ts.stored.create((2, 3), "complex64").dtype
    dtype('complex64')
    """
    return _core._stored_create(shape, dtype, "" if path is None else os.fsdecode(path))


def zeros(shape: int | Sequence[int], dtype: Any = "float64") -> StoredArray:
    """Zeros in the backing folder, which take nothing of the disk before they are written.

    >>> ts.stored.zeros(3)[:].tolist()
    [0.0, 0.0, 0.0]
    """
    return _core._stored_zeros(shape, dtype)


def full(shape: int | Sequence[int], value: Any, dtype: Any = "float64") -> StoredArray:
    """One number on disk, as often as the shape says.

    >>> ts.stored.full(2, 7, "int8")[:].tolist()
    [7, 7]
    """
    return _core._stored_full(shape, value, dtype)


def ones(shape: int | Sequence[int], dtype: Any = "float64") -> StoredArray:
    """Ones on disk.

    >>> ts.stored.ones(2)[:].tolist()
    [1.0, 1.0]
    """
    return full(shape, 1, dtype)


def array(obj: Any, path: str | os.PathLike[str] | None = None) -> StoredArray:
    """The numbers of an array in a file: at `path`, which stays, or in the backing folder.

    >>> ts.stored.array([1, 2, 3])[1:].tolist()
    [2, 3]
    """
    return _core._stored_from(obj, "" if path is None else os.fsdecode(path))


def open(path: str | os.PathLike[str], mode: str = "r") -> StoredArray:
    """A tiled file or a .npy file, read in place ("r"), or written as well ("r+").

    Which of them it is, its first bytes say. Of a .npy file the header stays as it is; C and Fortran order and numbers of
    the other byte order are taken as they lie.

    >>> import os, tempfile; path = os.path.join(tempfile.mkdtemp(), "x.npy")
    >>> np.save(path, np.arange(6).reshape(2, 3))
    >>> x = ts.stored.open(path, "r+")
    >>> x[:, 1] = 7; np.load(path).tolist()
    [[0, 7, 2], [3, 7, 5]]
    """
    if mode not in ("r", "r+"):
        raise ValueError(f"stored.open: mode is 'r' or 'r+', got {mode!r}")
    return _core._stored_open(os.fsdecode(path), mode == "r+")


def matmul(a: Any, b: Any, path: str | os.PathLike[str] | None = None) -> StoredArray:
    """The product of two matrices on disk: in the backing folder, or in a file at `path`, which stays.

    With a path it is a job: PATH.partial and PATH.job are there while it is computed, and when it was interrupted or
    killed the same call goes on from there.

    >>> a = ts.stored.array(np.eye(3) * 2)
    >>> ts.stored.matmul(a, a)[0].tolist()
    [4.0, 0.0, 0.0]
    """
    a, b = (x if isinstance(x, StoredArray) else array(x) for x in (a, b))
    return _core._stored_matmul(a, b, path)


# --- keys: the box that a key needs, and the key within it


def _expanded(key: Any, ndim: int) -> list[Any]:
    parts = list(key) if isinstance(key, tuple) else [key]
    used = sum(p is not None and p is not Ellipsis for p in parts)
    dots = [i for i, p in enumerate(parts) if p is Ellipsis]
    if used > ndim or len(dots) > 1:
        raise _core.IndexError(f"StoredArray: {used} indices for an array of {ndim} axes")
    at = dots[0] if dots else len(parts)
    return parts[:at] + [slice(None)] * (ndim - used) + parts[at + 1 :]


def _located(x: StoredArray, key: Any) -> tuple[list[int], list[int], tuple[Any, ...], bool]:
    """Where the box begins, its shape, the key within the box, and whether that takes all of it."""
    begin, shape, inner, whole, axis = [], [], [], True, 0
    for part in _expanded(key, x.ndim):
        if part is None:
            inner.append(None)
            continue
        size = x.shape[axis]
        if isinstance(part, slice):
            start, stop, step = part.indices(size)
            n = len(range(start, stop, step))
            low = start if step > 0 else start + (n - 1) * step
            begin.append(low if n else 0)
            shape.append((n - 1) * abs(step) + 1 if n else 0)
            whole = whole and (n == 0 or abs(step) == 1)
            inner.append(slice(None, None, step) if n else slice(None))
        else:
            try:
                i = operator.index(part)
            except TypeError:
                raise _core.IndexError(
                    f"StoredArray: a key is made of integers, slices, ... and None, got {type(part).__name__}"
                ) from None
            if not -size <= i < size:
                raise _core.IndexError(f"StoredArray: index {i} is out of bounds for axis {axis} with size {size}")
            begin.append(i % size)
            shape.append(1)
            inner.append(0)
        axis += 1
    return begin, shape, tuple(inner), whole


def _get(self: StoredArray, key: Any) -> _core.Array:
    begin, shape, inner, _ = _located(self, key)
    return self._read(begin, shape)[inner]


def _set(self: StoredArray, key: Any, value: Any) -> None:
    begin, shape, inner, whole = _located(self, key)
    if whole and not isinstance(value, StoredArray) and np.ndim(value) == 0:
        return self._write(begin, shape, value)
    box = _core.empty(shape, self.dtype) if whole else self._read(begin, shape)
    box[inner] = value[...] if isinstance(value, StoredArray) else value
    self._write(begin, shape, box)


# --- operators and functions


def _applied(op: str) -> Callable[..., Any]:
    return lambda *inputs: _core._stored_apply(op, *inputs)


def _operator(op: str, turned: bool = False) -> Callable[..., Any]:
    def method(self: StoredArray, other: Any) -> Any:
        if not isinstance(other, StoredArray | _core.Array | np.ndarray | np.generic | int | float | complex):
            return NotImplemented
        return _core._stored_apply(op, other, self) if turned else _core._stored_apply(op, self, other)

    return method


def _reduced(which: str) -> Callable[..., Any]:
    def reduction(x: StoredArray, axis: Any = None, *, keepdims: bool = False) -> _core.Array:
        return _core._stored_reduce(which, x, axis, keepdims)

    reduction.__name__ = which
    return reduction


def _sort(x: StoredArray, axis: int | None = -1) -> StoredArray:
    """The elements in order along an axis, in a file of the backing folder; stable, NaN last."""
    if axis is None:
        if x.ndim != 1:
            raise _core.ArgumentError(f"sort: a stored array of {x.ndim} axes cannot be flattened; name the axis")
        axis = 0
    return _core._stored_sort(x, operator.index(axis))


def _of_two(function: Callable[..., StoredArray]) -> Callable[..., StoredArray]:
    """Of a matrix and right sides, of which one may be in memory."""

    def call(a: Any, b: Any, *options: Any) -> StoredArray:
        a, b = (x if isinstance(x, StoredArray) else array(x) for x in (a, b))
        return function(a, b, *options)

    return call


def _explain(self: StoredArray, operation: str = "sum", axis: Any = None) -> str:
    """What a reduction over this array reads, writes and holds."""
    return _core._stored_explain(operation, self, axis)


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
_functions |= {"_solve": _of_two(_core._stored_solve), "_solve_triangular": _of_two(_core._stored_solve_triangular)}
_functions |= {"transpose": lambda x, axes=None: x.transpose(axes), "permute_dims": lambda x, axes: x.transpose(axes)}


def _twin(name: str) -> Callable[..., Any] | None:
    """The function for stored arrays of a name in ts."""
    return _functions.get(name)


def _ufunc(self: StoredArray, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
    function = _functions.get(ufunc.__name__)
    if method != "__call__" or options or function is None:
        return NotImplemented
    return function(*inputs)


def _to_numpy(self: StoredArray, dtype: Any = None, copy: Any = None) -> np.ndarray:
    if copy is False:
        raise ValueError("StoredArray: its numbers are on disk, so that NumPy gets a copy")
    whole = self[...].numpy()
    return whole if dtype is None else whole.astype(dtype)


def _length(self: StoredArray) -> int:
    if self.ndim == 0:
        raise TypeError("len() of an array without axes")
    return self.shape[0]


def _complete() -> None:
    """Operators and methods of the class, by the functions above."""
    operators = {"add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide", "floordiv": "floor_divide"}
    operators |= {"mod": "remainder", "pow": "power", "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor"}
    members: dict[str, Any] = {}
    for name, op in operators.items():
        members[f"__{name}__"] = _operator(op)
        members[f"__r{name}__"] = _operator(op, turned=True)
    for name, op in {"lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal"}.items():
        members[f"__{name}__"] = _operator(op)
    members |= {"__eq__": _operator("equal"), "__ne__": _operator("not_equal"), "__hash__": None}
    members |= {"__neg__": _applied("negative"), "__abs__": _applied("absolute"), "__invert__": _applied("invert")}
    members |= {
        "__matmul__": lambda self, other: matmul(self, other),
        "__rmatmul__": lambda self, other: matmul(other, self),
    }
    members |= {"__getitem__": _get, "__setitem__": _set, "__len__": _length}
    members |= {"__array__": _to_numpy, "__array_ufunc__": _ufunc, "explain": _explain}
    members |= {name: _functions[name] for name in ("sum", "mean", "min", "max", "conj")}
    members |= {"T": property(lambda self: self.transpose()), "real": property(_applied("real"))}
    members |= {"imag": property(_applied("imag")), "numpy": lambda self: self[...].numpy()}
    members |= {"astype": lambda self, dtype: self._as(dtype), "item": lambda self: self[...].item()}
    for name, member in members.items():
        setattr(StoredArray, name, member)


_complete()
