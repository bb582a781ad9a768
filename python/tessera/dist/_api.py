# SPDX-License-Identifier: Apache-2.0
"""Functions of the array API standard and of NumPy beyond the core's, of distributed arrays."""

from __future__ import annotations

from typing import Any

from .. import _dist
from .. import _tessera as _core
from .._api import add_up
from .._dist import Communicator, DNDarray, array, concatenate, invert, left_shift, right_shift
from .._dtypes import can_cast, finfo, iinfo, isdtype, result_type
from .._shared import array_functions, share


def _add_up(n: int, positions: DNDarray, weights: DNDarray | None) -> DNDarray:
    """Every rank adds up what it has; the sums of all ranks are added."""
    if weights is not None:
        weights = weights.resplit(positions.split)
        if positions.split is not None and weights.counts != positions.counts:
            weights = weights.redistribute(positions.counts)
    mine = add_up(n, positions.local, None if weights is None else weights.local)
    if positions.split is None:
        return _dist.array(mine, comm=positions.comm)
    return _dist.sum(_dist.array(mine.reshape(1, n), is_split=0, comm=positions.comm), 0, mine.dtype)


def _algebra() -> Any:
    from . import linalg

    return linalg


bitwise_invert = invert
bitwise_left_shift = left_shift
bitwise_right_shift = right_shift
concat = concatenate

__all__ = ["asarray", "astype", "bitwise_invert", "bitwise_left_shift", "bitwise_right_shift", "can_cast", "concat"]
__all__ += ["finfo", "from_dlpack", "iinfo", "isdtype", "result_type"]
__all__ += share(globals(), *array_functions(_dist, DNDarray, _add_up, _algebra))


def asarray(
    obj: Any,
    dtype: Any = None,
    device: Any = None,
    copy: bool | None = None,
    split: int | None = None,
    comm: Communicator | None = None,
) -> DNDarray:
    """A distributed array as it is, unless something else is asked of it; anything else as ``ts.dist.array`` has it.

    >>> x = ts.dist.arange(3, split=0); ts.dist.asarray(x) is x, ts.dist.asarray([1, 2]).split
    (True, None)
    """
    same = (
        isinstance(obj, DNDarray)
        and (dtype is None or obj.dtype == dtype)
        and (device is None or obj.device == device)
        and (split is None or obj.split == split)
    )
    if same and not copy:
        return obj
    if copy is False:
        raise ValueError("asarray: what was asked for cannot be had without a copy")
    return array(obj, split, dtype=dtype, device=device, comm=comm)


def from_dlpack(
    x: Any,
    /,
    *,
    device: Any = None,
    copy: bool | None = None,
    split: int | None = None,
    comm: Communicator | None = None,
) -> DNDarray:
    """An array of what anything with ``__dlpack__`` holds, the same on every rank: a copy, and so a BufferError where
    none is wanted.

    >>> ts.dist.from_dlpack(np.arange(3), split=0).tolist()
    [0, 1, 2]
    """
    if copy is False:
        raise BufferError("dist.from_dlpack: a distributed array holds a copy; copy=False cannot be had")
    return array(_core.from_dlpack(x, device=device), split, comm=comm)


def astype(x: DNDarray, dtype: Any, /, *, copy: bool = True, device: Any = None) -> DNDarray:
    """The elements converted as NumPy converts.

    >>> ts.dist.astype(ts.dist.arange(3, split=0), "float32").tolist()
    [0.0, 1.0, 2.0]
    """
    y = x.astype(dtype, copy=copy)
    return y if device is None else y.to(device)
