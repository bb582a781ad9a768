# SPDX-License-Identifier: Apache-2.0
"""Pickles of operators, names, shapes, specs and functions: with them multiprocessing, joblib and torch.save take them
along.

Importing this module tells :mod:`copyreg`, and so :mod:`copy` too, how classes without a ``__reduce__`` of their own
are made again.
"""

from __future__ import annotations

import copy
import copyreg
from typing import Any

from . import _dist
from . import _tessera as _core

__all__ = ["foreign", "refuse", "restored"]


def restored(text: str, arrays: list[_core.Array], functions: list[tuple[Any, ...]]) -> _core.NamedLinop:
    """The operator of a description; what is made of Python functions comes as it is made again."""
    return _core._restore_linop(text, arrays, [foreign(given) for given in functions])


def foreign(given: tuple[str, Any, tuple[Any, Any]]) -> _core.NamedLinop:
    """An operator of Python functions: its form, what it is made of, its names now."""
    form, of, (ishape, oshape) = given
    if form == "written":
        A = written(*of)
    elif form == "functions":
        A = _core.SimpleLinop(*of)
    else:
        A = getattr(foreign(of), form)
    if A.ishape == ishape and A.oshape == oshape:
        return A
    if form == "written":  # an object of its class under other names
        A.ishape, A.oshape = ishape, oshape
        return A
    names = dict(zip((*A.ishape, *A.oshape), (*ishape, *oshape), strict=True))
    return A.rename({old: new for old, new in names.items() if old != new})


def written(
    cls: type[_core.NamedLinop], attributes: dict[str, Any], ishape: Any, oshape: Any, name: str, dtype: Any
) -> _core.NamedLinop:
    """An object of a class written in Python with these attributes, without its own ``__init__``."""
    A = _core.NamedLinop.__new__(cls)
    A.__dict__ = attributes
    _core.NamedLinop.__init__(A, _core.NamedShape(ishape, oshape), name, dtype=dtype)
    return A


def copied(A: _core.NamedLinop, memo: dict[int, Any] | None = None) -> _core.NamedLinop:
    """A copy of an object of a class written in Python; with a memo, a deep one."""
    form, (cls, attributes, *rest), names = A.__reduce__()[1][0]
    own = dict(attributes) if memo is None else copy.deepcopy(attributes, memo)
    return foreign((form, (cls, own, *rest), names))


def _named_shape(ishape: Any, oshape: Any, others: dict[str, Any]) -> _core.NamedShape:
    return _core.NamedShape(ishape, oshape, **others)


def _collection(shapes: dict[str, Any]) -> _core.NamedDimCollection:
    return _core.NamedDimCollection(**shapes)


def _reduced_shape(s: _core.NamedShape) -> tuple[Any, ...]:
    return _named_shape, (s.ishape, s.oshape, s.others)


def _reduced_collection(c: _core.NamedDimCollection) -> tuple[Any, ...]:
    return _collection, (c.shapes,)


def _refuse_streams(spec: Any, *streams: _core.Stream | None) -> None:
    if any(stream is not None for stream in streams):
        raise TypeError(f"{spec!r} holds streams, which are of this process and cannot be pickled")


def _reduced_batch_spec(s: _core.BatchSpec) -> tuple[Any, ...]:
    _refuse_streams(s, s.base_stream, s.transfer_stream)
    matrix = None if s.device_matrix is None else s.device_matrix.tolist()
    return _core.BatchSpec, (s.batch_sizes, matrix, s.base_device, s.resident)


def _reduced_device_spec(s: _core.DeviceSpec) -> tuple[Any, ...]:
    _refuse_streams(s, s.compute_stream, s.transfer_stream)
    return _core.DeviceSpec, (s.device,)


def _reduced_checkpoint(c: _core.Checkpoint) -> tuple[Any, ...]:
    return _core.Checkpoint, (c.path, c.every, c.seconds)


def _planned(A: _core.NamedLinop, shape: tuple[int, ...], dtype: str, device: str) -> _core.Plan:
    return A.plan(shape=shape, dtype=dtype, device=device)


def _reduced_plan(p: _core.Plan) -> tuple[Any, ...]:
    return _planned, p._recipe  # planned again where it arrives: memory and streams are of one process


def _reduced_function(f: Any) -> str:
    return str(f.__qualname__)  # of its module, where it is found again


def _reduced_method(f: Any) -> tuple[Any, ...]:
    return getattr, (f.__self__, f.__func__.__name__)


def refuse(cls: type[Any], why: str) -> None:
    """Pickles and copies of what is of this process alone end in a sentence."""

    def refused(x: Any) -> Any:
        raise TypeError(f"{cls.__module__.split('.')[0]}.{cls.__name__} cannot be pickled or copied: {why}")

    copyreg.pickle(cls, refused)


copyreg.pickle(type(_core.zeros), _reduced_function)
copyreg.pickle(type(_core.Array.reshape), _reduced_function)
copyreg.pickle(type(_core.Device("cpu").__repr__), _reduced_method)
refuse(_core.Stream, "a stream is a queue of this process")
refuse(_core.Event, "an event is a mark on a stream of this process")
refuse(_core.RepeatedEvent, "it marks streams of this process")
refuse(_core.StoredMatrix, "its numbers are in files of this process; m.save(path) keeps them")
refuse(_core.StoredPlan, "it describes files of this process; take its text")
refuse(_core.ModuleMemoryMap, "it moves arrays of this process")
refuse(_dist.Communicator, "it stands for the ranks of this run")
refuse(_dist.Traffic, "it counts what this run has sent; take its numbers")
refuse(_dist.Explanation, "it describes the ranks of this run; take its text")
refuse(_dist.ApplyRoute, "it describes the ranks of this run; take its text")
for _result in (_dist.SolveResult, _dist.EigenResult, _dist.SvdResult):
    refuse(_result, "it was found by all ranks together; pickle its arrays")
copyreg.pickle(_core.NamedShape, _reduced_shape)
copyreg.pickle(_core.NamedDimCollection, _reduced_collection)
copyreg.pickle(_core.BatchSpec, _reduced_batch_spec)
copyreg.pickle(_core.DeviceSpec, _reduced_device_spec)
copyreg.pickle(_core.Checkpoint, _reduced_checkpoint)
copyreg.pickle(_core.Plan, _reduced_plan)
