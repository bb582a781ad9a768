# SPDX-License-Identifier: Apache-2.0
"""Arrays that memory or its budget has no room for, on disk instead.

The rule: a folder that was named (``ts.set_backing_dir``, ``ts.set_memory_budget(disk_dir=...)`` or
TESSERA_BACKING_DIR) is leave to use the disk. Then ``ts.zeros``, ``ones``, ``full``, ``empty`` and
``ts.random.normal``, ``uniform`` and ``integers``, called on the host, give a ``ts.stored.StoredArray`` where they
would raise ``OutOfMemory``. Without a folder they raise, and say what to set. Functions of this package that ask for
memory get it or the error: only what people call themselves is put on disk.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from typing import Any

from . import _tessera as _core
from ._tessera import StoredArray

_Shape = int | Sequence[int]


def may_use_disk() -> bool:
    return bool(_core._backing_dir_set() or os.environ.get("TESSERA_BACKING_DIR"))


def _bytes(shape: _Shape, dtype: Any) -> int:
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    return math.prod(int(n) for n in sizes) * _core.empty(0, dtype).itemsize


def on_disk(error: Exception, shape: _Shape, dtype: Any, device: Any, make: Callable[[], StoredArray]) -> StoredArray:
    """What ``make`` gives, where the disk may be used and has room; otherwise the error, with what would help."""
    if device is not None and _core.Device(device) != "cpu":
        raise error
    if not may_use_disk():
        text = f"{error}; with a folder set by ts.set_backing_dir it would be created on disk"
        raise _core.OutOfMemory(text) from None
    needed, left = _bytes(shape, dtype), _core._memory_left("disk")
    if needed > left:
        text = f"{error}; nor does it fit on disk: {_core._bytes_text(left)} are left in '{_core.backing_dir()}'"
        raise _core.OutOfMemory(text) from None
    return make()


def _zeros(error: Exception, shape: _Shape, dtype: Any = None, device: Any = None) -> StoredArray:
    dtype = "float64" if dtype is None else dtype
    return on_disk(error, shape, dtype, device, lambda: _core._stored_zeros(shape, dtype))


def _ones(error: Exception, shape: _Shape, dtype: Any = None, device: Any = None) -> StoredArray:
    return _full(error, shape, 1, "float64" if dtype is None else dtype, device)


def _full(error: Exception, shape: _Shape, fill_value: Any, dtype: Any = None, device: Any = None) -> StoredArray:
    dtype = _core.asarray(fill_value).dtype if dtype is None else dtype
    return on_disk(error, shape, dtype, device, lambda: _core._stored_full(shape, fill_value, dtype))


_makers: dict[str, Callable[..., StoredArray]] = {"zeros": _zeros, "empty": _zeros, "ones": _ones, "full": _full}


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
