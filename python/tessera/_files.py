# SPDX-License-Identifier: Apache-2.0
""".tessera files: operators, arrays, names, shapes, specs, results, and lists and dicts of them.

A file is a .npz archive: "description" holds JSON in UTF-8, the other entries its arrays by number. Reading one runs
no code of the file's: every object is made by its class, which checks what it is given.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

from . import _pickle  # noqa: F401
from . import _tessera as _core

_VERSION = 1


class _Writer:
    def __init__(self) -> None:
        self.arrays: list[_core.Array] = []

    def array(self, x: Any) -> dict[str, Any]:
        self.arrays.append(x)
        return {"array": len(self.arrays) - 1, "device": str(x.device)}

    def value(self, x: Any) -> Any:
        if x is None or isinstance(x, bool | int | str):
            return x
        if isinstance(x, float):
            return x if math.isfinite(x) else {"float": str(x)}
        if isinstance(x, complex):
            return {"complex": [self.value(x.real), self.value(x.imag)]}
        if isinstance(x, list):
            return [self.value(v) for v in x]
        if isinstance(x, tuple):
            return {"tuple": [self.value(v) for v in x]}
        if isinstance(x, dict):
            return {"dict": [[self.value(k), self.value(v)] for k, v in x.items()]}
        if isinstance(x, _core.Array):
            return self.array(x)
        if isinstance(x, _core.NamedLinop):
            text, arrays, functions = _core._linop_state(x)
            if functions:
                raise TypeError(f"save: {x!r} is made of Python functions; pickle it, or save what they are made of")
            return {"operator": text, "arrays": [self.array(a) for a in arrays]}
        for name, (cls, parts, _) in _classes.items():
            if type(x) is cls:
                return {name: [self.value(v) for v in parts(x)]}
        raise TypeError(
            "save: a .tessera file takes operators, arrays, names, shapes, specs and results, lists and dicts of "
            f"them, and numbers; got {type(x).__name__}"
        )


class _Reader:
    def __init__(self, arrays: dict[str, _core.Array], device: Any) -> None:
        self.arrays, self.device = arrays, device

    def array(self, d: dict[str, Any]) -> _core.Array:
        x = self.arrays[str(d["array"])]
        return x.to(d["device"] if self.device is None else self.device)

    def value(self, x: Any) -> Any:
        if isinstance(x, list):
            return [self.value(v) for v in x]
        if not isinstance(x, dict):
            return x
        if "operator" in x:
            return _core._restore_linop(x["operator"], [self.array(a) for a in x["arrays"]], [])
        if "array" in x:
            return self.array(x)
        (name, parts), *_ = x.items()
        if name == "float":
            return float(parts)
        if name == "complex":
            return complex(*(self.value(v) for v in parts))
        if name == "tuple":
            return tuple(self.value(v) for v in parts)
        if name == "dict":
            return {self.value(k): self.value(v) for k, v in parts}
        return _classes[name][2](*(self.value(v) for v in parts))


_Row = tuple[type, Callable[[Any], tuple[Any, ...]], Callable[..., Any]]


def _from_reduce(cls: type) -> _Row:
    """Parts and maker of a class, as its pickles have them."""
    return cls, lambda x: x.__reduce_ex__(2)[1], lambda *parts: cls(*parts)


def _result_row(cls: Any) -> _Row:
    def made(*parts: Any) -> Any:
        result = cls.__new__(cls)
        result.__setstate__(parts)
        return result

    return cls, lambda x: x.__getstate__(), made


_classes: dict[str, _Row] = {
    "dim": _from_reduce(_core.NamedDimension),
    "device": _from_reduce(_core.Device),
    "shape": (_core.NamedShape, lambda s: (s.ishape, s.oshape, s.others), _pickle._named_shape),
    "collection": (_core.NamedDimCollection, lambda c: (c.shapes,), _pickle._collection),
    "batch spec": (_core.BatchSpec, lambda s: _pickle._reduced_batch_spec(s)[1], _core.BatchSpec),
    "device spec": (_core.DeviceSpec, lambda s: _pickle._reduced_device_spec(s)[1], _core.DeviceSpec),
    "solve result": _result_row(_core.SolveResult),
    "eigen result": _result_row(_core.EigenResult),
    "svd result": _result_row(_core.SvdResult),
}


def saved(path: str, obj: Any, compressed: bool) -> None:
    """Writes a .tessera file; the old one stays until the new one is whole."""
    writer = _Writer()
    text = json.dumps({"tessera": _VERSION, "value": writer.value(obj)}, allow_nan=False)
    entries = {"description": _core.asarray(bytearray(text.encode()), dtype="uint8")}
    entries |= {str(i): x for i, x in enumerate(writer.arrays)}
    _core._save_npz(path, entries, compressed)


def loaded(path: str, device: Any) -> Any:
    """What a .tessera file holds; arrays on the devices where they were, or all on one."""
    entries = _core._load_npz(path)
    try:
        whole = json.loads(bytes(entries.pop("description").tolist()).decode())
        if whole["tessera"] != _VERSION:
            raise ValueError(f"version {whole['tessera']}")
        return _Reader(entries, device).value(whole["value"])
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError) as error:
        if isinstance(error, _core.Error):
            raise
        raise _core.IoError(f"load: '{path}' is no .tessera file that this version reads: {error}") from error
