# SPDX-License-Identifier: Apache-2.0
"""Pickles of operators, names, shapes and specs: with them multiprocessing, joblib and torch.save take them along.

Importing this module tells :mod:`copyreg`, and so :mod:`copy` too, how classes without a ``__reduce__`` of their own
are made again.
"""

from __future__ import annotations

import copyreg
from typing import Any

from . import _tessera as _core

__all__ = ["restored"]


def restored(text: str, arrays: list[_core.Array], functions: list[tuple[Any, ...]]) -> _core.NamedLinop:
    """The operator of a description; what is made of Python functions comes as its arguments."""
    return _core._restore_linop(text, arrays, [_core.SimpleLinop(*given) for given in functions])


def _named_shape(ishape: Any, oshape: Any, others: dict[str, Any]) -> _core.NamedShape:
    return _core.NamedShape(ishape, oshape, **others)


def _collection(shapes: dict[str, Any]) -> _core.NamedDimCollection:
    return _core.NamedDimCollection(**shapes)


def _reduced_shape(s: _core.NamedShape) -> tuple[Any, ...]:
    return _named_shape, (s.ishape, s.oshape, s.others)


def _reduced_collection(c: _core.NamedDimCollection) -> tuple[Any, ...]:
    return _collection, (c.shapes,)


def _reduced_batch_spec(s: _core.BatchSpec) -> tuple[Any, ...]:
    matrix = None if s.device_matrix is None else s.device_matrix.tolist()
    return _core.BatchSpec, (s.batch_sizes, matrix, s.base_device, s.resident)


def _reduced_device_spec(s: _core.DeviceSpec) -> tuple[Any, ...]:
    if s.compute_stream is not None or s.transfer_stream is not None:
        raise TypeError(f"{s!r} holds streams, which are of this process and cannot be pickled")
    return _core.DeviceSpec, (s.device,)


def _reduced_checkpoint(c: _core.Checkpoint) -> tuple[Any, ...]:
    return _core.Checkpoint, (c.path, c.every, c.seconds)


copyreg.pickle(_core.NamedShape, _reduced_shape)
copyreg.pickle(_core.NamedDimCollection, _reduced_collection)
copyreg.pickle(_core.BatchSpec, _reduced_batch_spec)
copyreg.pickle(_core.DeviceSpec, _reduced_device_spec)
copyreg.pickle(_core.Checkpoint, _reduced_checkpoint)
