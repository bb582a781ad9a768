# SPDX-License-Identifier: Apache-2.0
"""Matrices of every form on disk: how they are made, their keys, operators and methods."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

from . import _larger
from . import _tessera as _core
from ._matrix import AnyMatrix
from ._stored_keys import integer
from ._tessera import StoredArray, StoredMatrix

_Path = str | os.PathLike[str] | None
_halves = ("Triangular", "Symmetric", "AntiSymmetric")


def _in_memory(x: Any) -> bool:
    """Arrays, NumPy's too, which is not imported for that."""
    numpy = sys.modules.get("numpy")
    return isinstance(x, _core.Array) or (numpy is not None and isinstance(x, numpy.ndarray))


def has_form(x: Any) -> bool:
    """Whether it is a matrix of a known form, on disk or in memory."""
    return isinstance(x, StoredMatrix | AnyMatrix)


def matrix(
    x: Any, form: str | None = None, path: _Path = None, *, lower: bool | None = None, strict: bool | None = None
) -> StoredMatrix:
    """A matrix on disk: a copy of one in memory, or an array on disk looked at as one of a form.

    A matrix of ``ts.matrix`` keeps its form, and goes to the backing folder or, as a job, to a file at `path`. An array
    on disk of two axes is taken for what `form` says ("Triangular", "Symmetric" or "AntiSymmetric") where it lies: the
    upper half alone is read from then on (`lower`: the lower one, of a transposed copy), and nobody looks at the other
    one; `strict` says that the diagonal is zero. A matrix on disk is given back as it is where `form`, and `lower` and
    `strict` if they are given, are its own, and refused where they are not. With a `path` there is a copy in any case.

    >>> s = ts.stored.matrix(ts.matrix.Symmetric([[1.0, 2.0], [2.0, 5.0]]))
    >>> s.form, s[1].tolist()
    ('Symmetric', [2.0, 5.0])
    >>> u = ts.stored.matrix(ts.stored.array([[1.0, 2.0], [7.0, 3.0]]), "Triangular")
    >>> (u @ [1.0, 1.0]).tolist()
    [3.0, 3.0]
    """
    if isinstance(x, StoredArray):
        if form not in _halves:
            raise ValueError(f"stored.matrix: an array on disk is taken for one of {', '.join(_halves)}, not {form}")
        x = _core._stored_form_of(x.transpose() if lower else x, form, bool(lower), bool(strict))
    elif isinstance(x, StoredMatrix):
        if form is not None and form != x.form:
            raise ValueError(f"stored.matrix: the matrix on disk is a {x.form}, it cannot be taken for a {form}")
        for name, given, there in (("lower", lower, x.is_lower), ("strict", strict, x._strict)):
            if given is not None and bool(given) != there:
                raise ValueError(f"stored.matrix: the {x.form} on disk has {name}={there}, got {name}={given}")
    elif form is not None:
        raise ValueError(f"stored.matrix: the form of a matrix in memory is its class, not {form!r}: convert it first")
    elif not has_form(x):
        raise TypeError(f"stored.matrix: expected a matrix of ts.matrix or an array on disk, got {type(x).__name__}")
    elif lower is not None or strict is not None:
        raise ValueError(
            f"stored.matrix: a matrix in memory knows its half and its diagonal, got lower={lower}, strict={strict}"
        )
    if form is not None and path is None:
        return x
    return _core._stored_form_copy(x, _core._stored_path(path))


def product(a: Any, b: Any, path: _Path = None) -> Any:
    """The product where one of both has a form and one is on disk."""
    if path is None and (_is_vector(a) or _is_vector(b)):
        return _with_vector(a, b)
    if path is None and (_in_memory(a) or _in_memory(b)):
        try:  # a few vectors: one pass over the matrix for all of them
            return _core._stored_form_times(a, b)
        except (_core.OutOfMemory, _core.ArgumentError):
            pass
    return _core._stored_form_product(a, b, False, _core._stored_path(path))


def _is_vector(x: Any) -> bool:
    if isinstance(x, StoredArray):
        return x.ndim == 1
    return not has_form(x) and _core.asarray(x).ndim == 1


def _with_vector(a: Any, b: Any) -> Any:
    """One pass over the matrix; the vector is in memory, and so is the result."""
    left, right = _is_vector(a), _is_vector(b)
    a = _core.asarray(a[...] if isinstance(a, StoredArray) else a).reshape(1, -1) if left else a
    b = _core.asarray(b[...] if isinstance(b, StoredArray) else b).reshape(-1, 1) if right else b
    return _core._stored_form_times(a, b).reshape(-1)


def boolean_product(a: Any, b: Any, path: _Path = None) -> StoredMatrix:
    return _core._stored_form_product(a, b, True, _core._stored_path(path))


def compute_k(c: Any, a: float, path: _Path, error: Exception | None = None) -> StoredMatrix:
    """On disk; where memory had no room (`error`), if there is a folder for it."""
    if error is not None:
        _larger.require_disk(error, (c.shape[0], c.shape[0] // 2 + 1), "float64", c.device)
    return _core._stored_compute_k(c, a, _core._stored_path(path))


def explain(a: Any, b: Any) -> str:
    return _core._stored_form_explain(a, b, False)


def _other(x: Any) -> bool:
    return has_form(x) or isinstance(x, StoredArray | list) or _in_memory(x)


def _product(turned: bool) -> Callable[..., Any]:
    def method(self: StoredMatrix, other: Any) -> Any:
        if not _other(other):
            return NotImplemented
        return product(other, self) if turned else product(self, other)

    return method


def _number(x: Any) -> bool:
    """Numbers, and arrays without axes, of NumPy too."""
    return isinstance(x, int | float | complex) or (getattr(x, "shape", None) == () and not has_form(x))


def _times(combined: Callable[..., Any], divides: bool) -> Callable[..., Any]:
    """With a number a view, which moves nothing."""

    def method(self: StoredMatrix, other: Any) -> Any:
        return self._scaled(other, divides) if _number(other) else combined(self, other)

    return method


def _combined(which: str, turned: bool = False) -> Callable[..., Any]:
    def method(self: StoredMatrix, other: Any) -> Any:
        if not _other(other):
            return NotImplemented
        return _core._stored_form_map(which, "", *((other, self) if turned else (self, other)))

    return method


def _range_of(part: Any, size: int, axis: int) -> tuple[int, int, Any]:
    """First and last element that a key needs, and the key among these."""
    if isinstance(part, slice):
        start, stop, step = part.indices(size)
        n = len(range(start, stop, step))
        low, high = sorted((start, start + (n - 1) * step)) if n else (0, -1)
        return low, high + 1, slice(None, None, step) if n else slice(0, 0)
    i = integer(part, "StoredMatrix: a key is made of integers and slices")
    if not -size <= i < size:
        raise _core.IndexError(f"StoredMatrix: index {i} is out of bounds for axis {axis} with size {size}")
    return i % size, i % size + 1, 0


def _get(self: StoredMatrix, key: Any) -> Any:
    parts = key if isinstance(key, tuple) else (key, slice(None))
    if len(parts) != 2:
        raise _core.IndexError(f"StoredMatrix: {len(parts)} indices for a matrix")
    top, bottom, row = _range_of(parts[0], self.shape[0], 0)
    left, right, column = _range_of(parts[1], self.shape[1], 1)
    found = self._read(top, bottom, left, right)
    return found if row == slice(None, None, 1) and column == row else found[row, column]


def _to_numpy(self: Any, dtype: Any = None, copy: Any = None) -> Any:
    if copy is False:
        raise ValueError("StoredMatrix: its elements are on disk, so that NumPy gets a copy")
    whole = self[:, :].numpy()
    return whole if dtype is None else whole.astype(dtype)


class _Methods:
    """Members of StoredMatrix by a name of their own."""

    def sum(self: Any, axis: int | None = None) -> Any:
        """The sum of all elements, or those of each column (0) or row (1): bits are counted, each block is read once.

        >>> ts.stored.matrix(ts.matrix.Symmetric([[1, 2], [2, 5]])).sum(axis=1).tolist()
        [3, 7]
        """
        return _core.sum(self._sums(1)).item() if axis is None else self._sums(axis)

    def array(self: Any) -> _core.Array:
        """All elements in memory.

        >>> ts.stored.matrix(ts.matrix.Triangular([[1.0, 2.0], [0.0, 3.0]])).array().tolist()
        [[1.0, 2.0], [0.0, 3.0]]
        """
        return self[:, :].array()

    def numpy(self: Any) -> Any:
        """All elements in memory, as an array of NumPy.

        >>> ts.stored.matrix(ts.matrix.Bit([[1, 0]])).numpy().tolist()
        [[True, False]]
        """
        return self[:, :].numpy()

    def save(self: Any, path: str | os.PathLike[str]) -> StoredMatrix:
        """A copy in a file at `path`, which stays: a job, which goes on where it was interrupted or killed.

        The file is a tiled file of the whole square (of words for bits) whose other half is never written: it takes no
        space there. It says of which form the matrix is, so that `ts.stored.open(path)` is the matrix again. A .npy
        file does not say it, and is refused.

        >>> import os, tempfile; path = os.path.join(tempfile.mkdtemp(), "u.tiles")
        >>> u = ts.stored.matrix(ts.matrix.Triangular([[1.0, 2.0], [0.0, 3.0]])).save(path)
        >>> again = ts.stored.open(path); again.form, again[0].tolist()
        ('Triangular', [1.0, 2.0])
        """
        return _core._stored_form_copy(self, _core._stored_path(path))

    def explain(self: Any, other: Any) -> str:
        """What the product with another matrix reads, writes and holds.

        >>> u = ts.stored.matrix(ts.matrix.Triangular([[1.0, 2.0], [0.0, 3.0]]))
        >>> print(u.explain(u).splitlines()[0])
        matmul: a Triangular of shape (2, 2) times a Triangular of shape (2, 2), float64
        """
        return explain(self, other)


def complete() -> None:
    """Gives the class its operators and methods."""
    found: dict[str, Any] = {"__matmul__": _product(False), "__rmatmul__": _product(True)}
    names = {"and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor"}
    names |= {"add": "add", "sub": "subtract", "mul": "multiply"}
    for name, which in names.items():
        found |= {f"__{name}__": _combined(which), f"__r{name}__": _combined(which, turned=True)}
    found |= {name: _times(found[name], False) for name in ("__mul__", "__rmul__")}
    found["__truediv__"] = _times(_combined("divide"), True)
    found["__neg__"] = lambda self: self._scaled(-1, False)
    found["__invert__"] = lambda self: _core._stored_form_map("invert", "", self)
    found |= {"__getitem__": _get, "__array__": _to_numpy, "__array_ufunc__": None}
    found["__len__"] = lambda self: self.shape[0]
    found["__bool__"] = lambda self: bool(_core.zeros(2) if self.shape != (1, 1) else self[0, 0])
    found |= {name: member for name, member in vars(_Methods).items() if not name.startswith("_")}
    for name, member in found.items():
        setattr(StoredMatrix, name, member)


def random_bits(error: Exception, generator: Any, rows: int, cols: int, p: float, triangular: bool) -> StoredMatrix:
    """Bits that memory has no room for: those that there would be in memory."""
    stored = (rows, (cols + 511) // 512 * 8)
    _larger.require_disk(error, stored, "uint64", None)
    return _core._stored_random_bits(generator, rows, cols, p, triangular)


complete()
