# SPDX-License-Identifier: Apache-2.0
""".tessera files: arrays, matrices, operators, names, shapes, specs, results, and lists and dicts of them.

The file (docs/guide/file-format.md) holds arrays by name, and a description in JSON of what they are parts of. Reading
one runs no code of the file's: every object is made by its class, which checks what it is given.
"""

from __future__ import annotations

import itertools
import json
import math
import operator
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from . import _array_prox, _pickle
from . import _tessera as _core
from . import matrix as _matrix

_VERSION = 1
AT_A_TIME = 4 << 20  # bytes of an array on disk that are in memory


class _Writer:
    """Describes a value, and collects its arrays under the keys that lead to them."""

    def __init__(self) -> None:
        self.arrays: dict[str, _core.Array | _core.StoredArray] = {}
        self.numbers: dict[int, int] = {}  # of those that were met, by their id: an array is written once

    def number(self, x: Any, keys: tuple[str, ...]) -> int:
        if id(x) not in self.numbers:
            self.numbers[id(x)] = len(self.arrays)
            self.arrays[self.name(keys)] = x
        return self.numbers[id(x)]

    def array(self, x: Any, keys: tuple[str, ...]) -> dict[str, Any]:
        return {"array": self.number(x, keys), "device": str(x.device)}

    def name(self, keys: tuple[str, ...]) -> str:
        first = name = "/".join(keys).encode("utf-8", "backslashreplace").decode() or "value"
        count = 1
        while name in self.arrays:
            count += 1
            name = f"{first} ({count})"
        return name

    def value(self, x: Any, keys: tuple[str, ...] = ()) -> Any:
        if x is None or isinstance(x, bool | int | str):
            return x
        if isinstance(x, float):
            return x if math.isfinite(x) else {"float": str(x)}
        if isinstance(x, complex):
            return {"complex": [self.value(x.real), self.value(x.imag)]}
        if isinstance(x, list):
            return self.items(x, keys)
        if isinstance(x, tuple):
            return {"tuple": self.items(x, keys)}
        if isinstance(x, dict):
            return {"dict": [[self.value(k), self.value(v, (*keys, str(k)))] for k, v in x.items()]}
        if isinstance(x, np.ndarray | np.generic):
            x = _core.asarray(x)
        if isinstance(x, _core.Array):
            return self.array(x, keys)
        if isinstance(x, _core.StoredArray):
            return {"stored": self.number(x, keys)}
        if isinstance(x, _core.NamedLinop):
            text, arrays, functions = _core._linop_state(x)
            if functions:
                raise TypeError(f"save: {x!r} is made of Python functions; pickle it, or save what they are made of")
            return {"operator": text, "arrays": [self.array(a, (*keys, str(i))) for i, a in enumerate(arrays)]}
        for name, row in _classes.items():
            if type(x) in row.classes:
                parts = zip(row.fields, row.parts(x), strict=True)
                return {name: {field: self.value(v, (*keys, field)) for field, v in parts}}
        raise TypeError(
            "save: a .tessera file takes arrays, matrices, operators, names, shapes, specs, results, factored "
            "matrices, proximal maps and generators, lists and "
            f"dicts of them, and numbers; got {type(x).__name__}"
        )

    def items(self, x: list[Any] | tuple[Any, ...], keys: tuple[str, ...]) -> list[Any]:
        return [self.value(v, (*keys, str(i))) for i, v in enumerate(x)]


def parts(shape: tuple[int, ...], elements: int) -> Iterator[tuple[list[int], list[int]]]:
    """Where parts of an array of so many elements at most begin, and their shapes."""
    by = [1] * len(shape)
    for axis in reversed(range(len(shape))):
        by[axis] = min(max(1, elements), max(1, shape[axis]))
        elements //= by[axis]
    for begin in itertools.product(*(range(0, n, k) for n, k in zip(shape, by, strict=True))):
        yield list(begin), [min(k, n - b) for b, k, n in zip(begin, by, shape, strict=True)]


class _Reader:
    def __init__(self, file: _core._Snapshot, device: Any) -> None:
        self.file, self.device = file, device
        self.arrays: dict[tuple[int, str], _core.Array] = {}  # each is read once, however often it is named
        self.on_disk: dict[int, _core.StoredArray] = {}

    def array(self, d: dict[str, Any]) -> _core.Array:
        number, device = d["array"], d["device"] if self.device is None else self.device
        if (number, str(device)) not in self.arrays:
            self.arrays[number, str(device)] = self.file.read(number, []).to(device)
        return self.arrays[number, str(device)]

    def stored(self, number: int) -> _core.StoredArray:
        """Into the backing folder, a few megabytes at a time."""
        if number not in self.on_disk:
            _, dtype, shape = self.file.entries[number]
            self.on_disk[number] = x = _core._stored_create(shape, dtype, "")
            for begin, part in parts(shape, AT_A_TIME // dtype.itemsize):
                ranges = [(b, n, 1) for b, n in zip(begin, part, strict=True)]
                x._write(begin, part, self.file.read(number, ranges))
        return self.on_disk[number]

    def value(self, x: Any) -> Any:
        if isinstance(x, list):
            return [self.value(v) for v in x]
        if not isinstance(x, dict):
            return x
        if "operator" in x:
            return _core._restore_linop(x["operator"], [self.array(a) for a in x["arrays"]], [])
        if "array" in x:
            return self.array(x)
        if "stored" in x:
            return self.stored(operator.index(x["stored"]))
        ((name, parts),) = x.items()
        if name == "float":
            return float(parts)
        if name == "complex":
            return complex(*(self.value(v) for v in parts))
        if name == "tuple":
            return tuple(self.value(v) for v in parts)
        if name == "dict":
            return {self.value(k): self.value(v) for k, v in parts}
        row = _classes[name]
        if sorted(parts) != sorted(row.fields):
            raise ValueError(f"a {name} of {', '.join(parts)}; expected {', '.join(row.fields)}")
        return row.made(*(self.value(parts[field]) for field in row.fields))


class _Row(NamedTuple):
    """How objects of some classes are taken apart, as their pickles have it, and made again."""

    classes: tuple[type, ...]
    fields: tuple[str, ...]
    parts: Callable[[Any], tuple[Any, ...]]
    made: Callable[..., Any]


def _text_row(cls: Any) -> _Row:
    return _Row((cls,), ("text",), lambda x: x.__reduce_ex__(2)[1], lambda text: cls(text))


def _state_row(cls: Any, *fields: str) -> _Row:
    """Of a class whose pickle is a tuple of these fields."""

    def made(*parts: Any) -> Any:
        again = cls.__new__(cls)
        again.__setstate__(parts)
        return again

    return _Row((cls,), fields, lambda x: x.__getstate__(), made)


def _prox_parts(p: _core.Prox | _array_prox.ArrayProx) -> tuple[Any, ...]:
    made: Any = p.__reduce__()
    maker, arguments = made
    return maker.__name__.removeprefix("_prox_"), list(arguments)


def _made_prox(maker: str, arguments: list[Any]) -> Any:
    makers = ("none", "l1", "l2", "l2_squared", "nonneg", "box", "group", "simplex", "blocks", "low_rank", "wavelet")
    if maker not in makers:
        raise ValueError(f"a proximal map {maker!r}; known are {', '.join(makers)}")
    return getattr(_array_prox if hasattr(_array_prox, f"_prox_{maker}") else _core, f"_prox_{maker}")(*arguments)


_forms = tuple(cls for cls in vars(_matrix).values() if isinstance(cls, type) and issubclass(cls, _matrix.AnyMatrix))
_matrix_fields = ("form", "rows", "cols", "dtype", "strict", "data", "scale", "transposed", "conjugated", "known")
_result_fields = ("x", "iterations", "converged", "reason", "history")
_batch_fields = ("batch_sizes", "device_matrix", "base_device", "resident")

_classes: dict[str, _Row] = {
    "matrix": _Row(_forms, _matrix_fields, lambda m: m.__reduce__()[1], _matrix._restored),
    "dim": _text_row(_core.NamedDimension),
    "device": _text_row(_core.Device),
    "shape": _Row(
        (_core.NamedShape,),
        ("ishape", "oshape", "others"),
        lambda s: _pickle._reduced_shape(s)[1],
        _pickle._named_shape,
    ),
    "collection": _Row(
        (_core.NamedDimCollection,), ("shapes",), lambda c: _pickle._reduced_collection(c)[1], _pickle._collection
    ),
    "batch spec": _Row((_core.BatchSpec,), _batch_fields, lambda s: _pickle._reduced_batch_spec(s)[1], _core.BatchSpec),
    "device spec": _Row(
        (_core.DeviceSpec,), ("device",), lambda s: _pickle._reduced_device_spec(s)[1], _core.DeviceSpec
    ),
    "solve result": _state_row(_core.SolveResult, *_result_fields),
    "eigen result": _state_row(_core.EigenResult, *_result_fields, "eigenvalues", "eigenvectors"),
    "svd result": _state_row(_core.SvdResult, *_result_fields, "U", "S", "Vh"),
    "lu": _state_row(_core.Lu, "triangles", "pivots", "info"),
    "cholesky": _state_row(_core.Cholesky, "factor"),
    "generator": _state_row(_core.Generator, "seed", "draw"),
    "prox": _Row((_core.Prox, _array_prox.ArrayProx), ("maker", "arguments"), _prox_parts, _made_prox),
}


def saved(path: str, obj: Any) -> None:
    """Writes a .tessera file; the old one stays until the new one is whole."""
    writer = _Writer()
    text = json.dumps({"tessera": _VERSION, "value": writer.value(obj)}, allow_nan=False)
    _core._save_snapshot(path, list(writer.arrays.items()), text)


def loaded(path: str, device: Any) -> Any:
    """What a .tessera file holds; arrays on the devices where they were, or all on one."""
    file = _core._Snapshot(path)
    try:
        whole = json.loads(file.description)
        if whole["tessera"] != _VERSION:
            raise ValueError(f"its description is of version {whole['tessera']}")
        return _Reader(file, device).value(whole["value"])
    except (ValueError, LookupError, TypeError, ArithmeticError, AttributeError, RuntimeError) as error:
        if isinstance(error, _core.Error):
            raise
        raise _core.IoError(f"load: '{path}' is no .tessera file that this version reads: {error}") from error
