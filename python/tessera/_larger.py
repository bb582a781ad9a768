# SPDX-License-Identifier: Apache-2.0
"""Arrays that memory or its budget has no room for, on disk instead.

The rule: a folder that was named (``ts.set_backing_dir``, ``ts.set_memory_budget(disk_dir=...)`` or
TESSERA_BACKING_DIR) is leave to use the disk. Then ``ts.zeros``, ``ones``, ``full``, ``empty``, their ``_like`` forms,
``arange``, ``linspace``, ``eye`` and ``ts.random.normal``, ``uniform`` and ``integers``, called on the host, give a
``ts.stored.StoredArray`` where they would raise ``OutOfMemory``. Without a folder they raise, and say what to set.
Functions of this package that ask for memory get it or the error: only what people call themselves is put on disk.
"""

from __future__ import annotations

import math
import operator
import os
from collections.abc import Callable, Sequence
from typing import Any

from . import _tessera as _core
from ._tessera import StoredArray

_Shape = int | Sequence[int]


def may_use_disk() -> bool:
    return bool(_core._backing_dir_set() or os.environ.get("TESSERA_BACKING_DIR"))


def _bytes(shape: Any, dtype: Any) -> int:
    sizes = tuple(shape) if hasattr(shape, "__iter__") else (operator.index(shape),)
    return math.prod(int(n) for n in sizes) * _core.empty(0, dtype).itemsize


def require_disk(error: Exception, shape: _Shape, dtype: Any, device: Any) -> None:
    """Raises the error, with what would help, unless the disk may be used and has room."""
    if device is not None and _core.Device(device) != "cpu":
        raise error
    if not may_use_disk():
        text = f"{error}; with a folder set by ts.set_backing_dir it would be created on disk"
        raise _core.OutOfMemory(text) from None
    needed, left = _bytes(shape, dtype), _core._memory_left("disk")
    if needed > left:
        text = f"{error}; nor does it fit on disk: {_core._bytes_text(left)} are left in '{_core.backing_dir()}'"
        raise _core.OutOfMemory(text) from None


def on_disk(error: Exception, shape: _Shape, dtype: Any, device: Any, make: Callable[[], StoredArray]) -> StoredArray:
    """What ``make`` gives, where the disk may be used and has room; otherwise the error, with what would help."""
    require_disk(error, shape, dtype, device)
    return make()


def _zeros(error: Exception, shape: _Shape, dtype: Any = None, device: Any = None) -> StoredArray:
    dtype = "float64" if dtype is None else dtype
    return on_disk(error, shape, dtype, device, lambda: _core._stored_zeros(shape, dtype))


def _ones(error: Exception, shape: _Shape, dtype: Any = None, device: Any = None) -> StoredArray:
    return _full(error, shape, 1, "float64" if dtype is None else dtype, device)


def _full(error: Exception, shape: _Shape, fill_value: Any, dtype: Any = None, device: Any = None) -> StoredArray:
    dtype = _core.asarray(fill_value).dtype if dtype is None else dtype
    return on_disk(error, shape, dtype, device, lambda: _core._stored_full(shape, fill_value, dtype))


def _like(
    error: Exception, x: Any, value: Any, dtype: Any = None, device: Any = None, shape: _Shape | None = None
) -> StoredArray:
    x = _core.asarray(x)
    device = x.device if device is None else device
    shape, dtype = x.shape if shape is None else shape, x.dtype if dtype is None else dtype
    if value is None:
        return _zeros(error, shape, dtype, device)
    return _full(error, shape, value, dtype, device)


def _zeros_like(error: Exception, x: Any, *rest: Any, **options: Any) -> StoredArray:
    return _like(error, x, None, *rest, **options)


def _ones_like(error: Exception, x: Any, *rest: Any, **options: Any) -> StoredArray:
    return _like(error, x, 1, *rest, **options)


def _full_like(error: Exception, x: Any, fill_value: Any, *rest: Any, **options: Any) -> StoredArray:
    return _like(error, x, fill_value, *rest, **options)


def _arange(
    error: Exception, start: Any, stop: Any = None, step: Any = 1, dtype: Any = None, device: Any = None
) -> StoredArray:
    first, last = (0, start) if stop is None else (start, stop)
    dtype = _core.arange(first, first, step).dtype if dtype is None else dtype
    count = max(0, math.ceil((last - first) / step))
    return on_disk(error, count, dtype, device, lambda: _core._stored_arange(first, last, step, dtype))


def _linspace(
    error: Exception,
    start: float,
    stop: float,
    num: int = 50,
    endpoint: bool = True,
    dtype: Any = None,
    device: Any = None,
) -> StoredArray:
    dtype = "float64" if dtype is None else dtype
    return on_disk(error, num, dtype, device, lambda: _core._stored_linspace(start, stop, num, endpoint, dtype))


def _eye(
    error: Exception,
    N: int,  # noqa: N803
    M: int | None = None,  # noqa: N803
    k: int = 0,
    dtype: Any = None,
    device: Any = None,
) -> StoredArray:
    columns, dtype = N if M is None else M, "float64" if dtype is None else dtype
    k = max(-N, min(columns, k))  # one beyond the matrix, however far, is empty
    return on_disk(error, (N, columns), dtype, device, lambda: _core._stored_eye(N, columns, k, dtype))


_makers: dict[str, Callable[..., StoredArray]] = {"zeros": _zeros, "empty": _zeros, "ones": _ones, "full": _full}
_makers |= {"zeros_like": _zeros_like, "empty_like": _zeros_like, "ones_like": _ones_like, "full_like": _full_like}
_makers |= {"arange": _arange, "linspace": _linspace, "eye": _eye}


def _stored_like(value: Any) -> Callable[..., StoredArray]:
    def like(x: StoredArray, dtype: Any = None, device: Any = None, shape: _Shape | None = None) -> StoredArray:
        if device is not None and _core.Device(device) != "cpu":
            raise _core.DeviceError(f"like: an array on disk has none like it on {device}")
        shape, dtype = x.shape if shape is None else shape, x.dtype if dtype is None else dtype
        return _core._stored_zeros(shape, dtype) if value is None else _core._stored_full(shape, value, dtype)

    return like


def _stored_full_like(x: StoredArray, fill_value: Any, *rest: Any, **options: Any) -> StoredArray:
    return _stored_like(fill_value)(x, *rest, **options)


# Like an array on disk: on disk.
like_functions: dict[str, Callable[..., StoredArray]] = {
    "zeros_like": _stored_like(None),
    "empty_like": _stored_like(None),
    "ones_like": _stored_like(1),
    "full_like": _stored_full_like,
}


def _instead(name: str, error: Exception, args: tuple[Any, ...], options: dict[str, Any]) -> StoredArray | None:
    """For a function of the core that was called by people and raised the error; None where there is nothing to do."""
    make = _makers.get(name)
    return None if make is None else make(error, *args, **options)


def drawn(
    error: Exception, which: str, generator: Any, shape: _Shape, dtype: Any, device: Any, *how: Any
) -> StoredArray:
    """Random numbers: those that there would be in memory."""
    draw = {"normal": _core._stored_normal, "uniform": _core._stored_uniform, "integers": _core._stored_integers}[which]
    return on_disk(error, shape, dtype, device, lambda: draw(generator, shape, dtype, *how))
