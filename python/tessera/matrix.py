# SPDX-License-Identifier: Apache-2.0
"""Matrices of any form: full, of bits, or packed by what is known of them.

>>> c = ts.matrix.TriangularBit([[0, 1, 1], [0, 0, 1], [0, 0, 0]])
>>> c.shape, c.nbytes < ts.matrix.Dense((1000, 1000)).nbytes, (2.0 * c.T)[2, 0]
((3, 3), True, 2.0)
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, MutableMapping
from typing import Any

from . import _stored_forms
from . import random as _random
from ._checked import is_whole
from ._matrix import (
    AntiSymmetric,
    AnyMatrix,
    Bit,
    Dense,
    Diagonal,
    Identity,
    Symmetric,
    Triangular,
    TriangularBit,
    _property_names,
    _random_bits,
    _restore,
    bit_counts,
    cross,
    dot,
    outer,
    transitive_closure,
)
from ._matrix import boolean_product as _boolean_product
from ._tessera import Array, Generator, OutOfMemory, StoredMatrix, _compute_k, asarray, zeros

__all__ = [
    "AntiSymmetric",
    "AnyMatrix",
    "Bit",
    "Dense",
    "Diagonal",
    "Identity",
    "Properties",
    "Symmetric",
    "Triangular",
    "TriangularBit",
    "asmatrix",
    "bit_counts",
    "boolean_product",
    "compute_k",
    "cross",
    "dot",
    "outer",
    "random_bits",
    "transitive_closure",
    "unit_vector",
    "vector",
]

_names = _property_names()


def _restored(*state: Any) -> AnyMatrix:
    """What a pickle calls, which cannot name a compiled function."""
    return _restore(*state)


class Properties(MutableMapping[str, Any]):
    """What is known of a matrix: its form, what was declared and what follows from it, and values that were computed.

    Declarations are trusted: a matrix that is declared diagonal is multiplied by its diagonal alone. ``m.check(name)``
    looks at the elements. Iterating gives the names of what is known; names of which nothing is known give None.
    ValueError where a declaration contradicts the shape or another one.

    >>> m = ts.matrix.Dense([[1., 0.], [0., 4.]])
    >>> m.properties["is_diagonal"] = True
    >>> m.properties["is_symmetric"], m.properties["is_unitary"], list(m.properties)
    (True, None, ['is_diagonal', 'is_upper_triangular', 'is_lower_triangular', 'is_symmetric'])
    >>> m[0, 1] = 2.0; m.properties["is_diagonal"]
    False
    """

    __slots__ = ("_matrix",)

    def __init__(self, matrix: AnyMatrix) -> None:
        self._matrix = matrix

    def __getitem__(self, name: str) -> Any:
        return self._matrix._property(name)

    def __setitem__(self, name: str, value: Any) -> None:
        self._matrix._declare(name, value)

    def __delitem__(self, name: str) -> None:
        self._matrix._declare(name, None)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in _names and self[name] is not None

    def __iter__(self) -> Iterator[str]:
        return (name for name in _names if self[name] is not None)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __repr__(self) -> str:
        return f"Properties({dict(self)})"


def compute_k(c: Any, a: float, path: Any = None) -> Any:
    """K = C (a I + C)⁻¹ of a strictly triangular matrix of bits or numbers: strictly triangular, float64.

    The propagator of a causal set. Solved in blocks; the inverse is never formed. Arrays have to be strictly upper
    triangular, ValueError. On disk where C is, or where memory has no room and there is a backing folder; with a
    `path` it is a job.

    >>> ts.matrix.compute_k(ts.matrix.TriangularBit([[0, 1], [0, 0]]), 2.0).numpy().tolist()
    [[0.0, 0.5], [0.0, 0.0]]
    """
    if not isinstance(c, AnyMatrix | StoredMatrix):
        elements = asarray(c)
        c = TriangularBit(elements) if elements.dtype == "bool" else Triangular(elements, strict=True)
    if isinstance(c, StoredMatrix) or path is not None:
        return _stored_forms.compute_k(c, float(a), path)
    try:
        return _compute_k(c, float(a))
    except OutOfMemory as error:
        return _stored_forms.compute_k(c, float(a), None, error)


def asmatrix(obj: Any) -> AnyMatrix:
    """A matrix of what is like an array of two axes: bools become a Bit, everything else a Dense of its dtype.

    Matrices are given back as they are.

    >>> ts.matrix.asmatrix(np.eye(2, dtype=bool)).form, ts.matrix.asmatrix(np.ones((2, 3), "float32")).dtype
    ('Bit', tessera.float32)
    """
    if isinstance(obj, AnyMatrix):
        return obj
    elements = asarray(obj)
    return Bit(elements) if elements.dtype == "bool" else Dense(elements)


def boolean_product(a: Any, b: Any, path: Any = None) -> Any:
    """Whether there is a k with a[i, k] and b[k, j] that are not zero: a Bit, or a TriangularBit of two of one side.

    On disk where one of both is: then a `path` makes it a job.

    >>> ts.matrix.boolean_product(np.array([[0, 2], [0, 0]]), np.eye(2)).numpy().tolist()
    [[False, True], [False, False]]
    """
    if isinstance(a, StoredMatrix) or isinstance(b, StoredMatrix):
        return _stored_forms.boolean_product(a, b, path)
    return _boolean_product(a, b)


def random_bits(
    shape: int | tuple[int, int],
    p: float = 0.5,
    *,
    triangular: bool = False,
    device: Any = None,
    generator: Generator | None = None,
) -> AnyMatrix | StoredMatrix:
    """Bits of which each is one with probability p: a Bit, or (``triangular``) a TriangularBit.

    Numbers are drawn for a few rows at a time: a matrix takes an eighth of a byte for each element, not eight bytes.
    Without a generator that of :mod:`tessera.random` is taken. Where memory has no room for them and there is a backing
    folder, they are drawn on disk: the same bits.

    >>> ts.random.seed(1)
    >>> c = ts.matrix.random_bits(1000, 0.1, triangular=True)
    >>> c.form, abs(c.sum() - 49950) < 1000
    ('TriangularBit', True)
    """
    size: Any = shape
    rows, cols = (size, size) if is_whole(size) else size
    source = _random._generator if generator is None else generator
    try:
        return _random_bits(source, rows, cols, p, triangular, device)
    except OutOfMemory as error:
        if device is not None and str(device) != "cpu":
            raise
        return _stored_forms.random_bits(error, source, rows, cols, p, triangular)


def vector(obj: Any, dtype: Any = None, device: Any = None) -> Array:
    """An array of one axis to be multiplied with matrices; float32 is taken as float64 unless a dtype is given.

    A float32 vector would shorten what a float64 matrix gives; matrices and ``ts.array`` keep their dtype.

    >>> ts.matrix.vector(np.ones(3, "float32")).dtype, ts.matrix.vector([1, 2], "float32").dtype
    (tessera.float64, tessera.float32)
    """
    elements = asarray(obj, dtype=dtype, device=device)
    if elements.ndim != 1:
        raise ValueError(f"vector: an array of shape {elements.shape}; expected one axis")
    return elements.astype("float64") if dtype is None and elements.dtype == "float32" else elements


def unit_vector(n: int, index: int, dtype: Any = "float64", device: Any = None) -> Array:
    """n numbers of which one is 1 and the others are 0.

    >>> e = ts.matrix.unit_vector(5, 2)
    >>> (e + e).tolist()
    [0.0, 0.0, 2.0, 0.0, 0.0]
    """
    n, index = operator.index(n), operator.index(index)
    if not -n <= index < n:
        raise IndexError(f"unit_vector: index {index} of {n} elements")
    elements = zeros(n, dtype=dtype, device=device)
    elements[index] = 1
    return elements
