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
from . import _stored_members as _members
from . import _stored_reductions as _reductions
from . import _stored_spectra as _spectra
from . import _stored_transforms as _transforms
from . import _stored_twins as _twins
from . import _tessera as _core
from ._checked import Operand
from ._tessera import StoredArray


def matmul(
    a: Operand,
    b: Operand,
    path: str | os.PathLike[str] | None = None,
    *,
    out: Any = None,
    device: Any = None,
) -> Any:
    """The product of two matrices on disk: in the backing folder, or in a file at `path`, which stays.

    With `out`, an array on disk or of the host (`ts.asarray` shares that of NumPy), it is written there, and `out` is
    returned; operands may lie in memory too, and are not copied. `device` is where blocks are multiplied, within its
    budget (`ts.memory_budget`): what is larger than its memory passes through it while it computes. Without one it is
    what `ts.context().force` says, else the host.

    >>> b, c = np.arange(6.0).reshape(2, 3), np.empty((2, 2))
    >>> with ts.memory_budget(device={"sim:0": "1MiB"}):
    ...     ts.stored.matmul(b, b.T, out=ts.asarray(c), device="sim:0").tolist()
    [[5.0, 14.0], [14.0, 50.0]]
    >>> c[1, 1].item()
    50.0

    With a path it is a job: PATH.partial and PATH.job are there while it is computed, and when it was interrupted or
    killed the same call goes on from there.

    >>> a = ts.stored.array(np.eye(3) * 2)
    >>> ts.stored.matmul(a, a)[0].tolist()
    [4.0, 0.0, 0.0]

    The product with an array of one axis has one axis less, and comes to memory.

    >>> (a @ [1.0, 2.0, 3.0]).tolist()
    [2.0, 4.0, 6.0]
    """
    path = _core._stored_path(path) or None  # refused before anything is computed
    if out is not None and path is not None:
        raise _core.ArgumentError("matmul: the product goes to `out` or into a file at `path`, not to both")
    if _forms.has_form(a) or _forms.has_form(b):
        if out is not None or device is not None:
            raise _core.ArgumentError("matmul: `out` and `device` are for products of arrays, an operand has a form")
        return _forms.product(a, b, path)
    a, b = (x if isinstance(x, StoredArray) else _core.asarray(x) for x in (a, b))
    if out is not None:
        if a.ndim != 2 or b.ndim != 2:
            raise _core.ShapeError(
                f"matmul: `out` is for a product of two matrices, got shapes {a.shape} and {b.shape}"
            )
        _core._stored_matmul_into(out, a, b, device)
        return out
    if 1 in (a.ndim, b.ndim) and 0 not in (a.ndim, b.ndim):
        return _times_vector(a, b, path, device)
    a, b = (_core._stored_in_place(x, "matmul") for x in (a, b))
    return _core._stored_matmul(a, b, path, device)


def _as_row(x: Any) -> Any:
    """An array of one axis as a matrix of one row; on disk a formula, as a sum with a zero that has two axes."""
    if not isinstance(x, StoredArray):
        return x.reshape(1, -1)
    return _core._stored_apply("add", x, _core.zeros((1, 1), dtype=x.dtype))


def _times_vector(a: Any, b: Any, path: Any, device: Any) -> Any:
    if path is not None:
        raise _core.ArgumentError("matmul: a file at a path is for a product of two matrices, one operand has one axis")
    if a.shape[-1] != b.shape[0]:
        shapes = f"{a.shape} and {b.shape}"
        raise _core.ShapeError(f"matmul: arrays of shapes {shapes} cannot be multiplied")
    shape = a.shape[:-1] + b.shape[1:]
    a, b = _as_row(a) if a.ndim == 1 else a, _as_row(b).transpose((1, 0)) if b.ndim == 1 else b
    a, b = (_core._stored_operand(x, "matmul") for x in (a, b))
    return _core._stored_matmul(a, b, None, device)[...].reshape(shape)


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


def _power(self: StoredArray, other: Any) -> Any:
    """x ** 2 is x * x, as that of arrays in memory is."""
    if type(other) is int and other == 2:
        return _core._stored_apply("square", self)
    return _operator("power")(self, other)


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
    "bitwise_not": _applied("invert"),
}
_functions |= _reductions.functions | {"matmul": matmul, "sort": _sort}
_functions |= {"_cholesky": _core._stored_cholesky, "_inverse": _core._stored_inverse}  # of ts.linalg
_functions |= {
    "_solve": _spectra.of_two("solve", _core._stored_solve),
    "_solve_triangular": _spectra.of_two("solve_triangular", _core._stored_solve_triangular),
}
_functions |= _spectra.functions | _larger.like_functions | _transforms.functions
_functions |= {"transpose": _transpose, "permute_dims": _transpose}
_twins_by_name = _twins.complete(_functions)


def twin(name: str) -> Callable[..., Any] | None:
    """The function for stored arrays of a name in ts."""
    return _twins_by_name.get(name)


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
    found["__pow__"] = _power
    for name, op in {"lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal"}.items():
        found[f"__{name}__"] = _operator(op)
    found |= {"__eq__": _operator("equal"), "__ne__": _operator("not_equal"), "__hash__": None}
    found |= {"__neg__": _applied("negative"), "__abs__": _applied("absolute"), "__invert__": _applied("invert")}
    found["__matmul__"] = lambda self, other: matmul(self, other)
    found["__rmatmul__"] = lambda self, other: matmul(other, self)
    found |= {"__getitem__": _keys.get, "__setitem__": _keys.set_, "__len__": _length, "__bool__": _members.truth}
    found |= {f"__{kind.__name__}__": _members.number(kind) for kind in (int, float, complex)}
    found["__index__"] = lambda self: operator.index(_members.only(self))
    return found | {"__array__": _to_numpy, "__array_ufunc__": _ufunc, "__reduce__": _reduced_to_path}


def complete() -> None:
    """Gives the class its operators and methods."""
    methods = {name: member for name, member in vars(_members.Members).items() if not name.startswith("_")}
    whole = {"_whole": lambda self: self._read([0] * self.ndim, self.shape), "_hermitian": _transforms.hermitian}
    for name, member in (_operators() | methods | whole).items():
        setattr(StoredArray, name, member)
