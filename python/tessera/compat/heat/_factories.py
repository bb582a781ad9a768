# SPDX-License-Identifier: Apache-2.0
"""Arrays from nothing and from other things, with Heat's defaults: float32, and int32 for arange."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import dist as _dist
from ..._checked import shown
from ..._distributions import is_whole
from ._array import Communication, Device, DNDarray, as_device, ours
from ._types import canonical

MPI_WORLD = Communication(_dist.world)
cpu = Device("cpu")
_now: dict[str, Any] = {"comm": MPI_WORLD, "device": cpu}


def get_comm() -> Communication:
    """The ranks that new arrays are distributed over.

    >>> ht.get_comm().size
    1
    """
    return _now["comm"]  # type: ignore[no-any-return]


def use_comm(comm: Communication | None = None) -> None:
    """Sets the ranks of new arrays; all of them again where none are given.

    >>> ht.use_comm(ht.MPI_WORLD)
    """
    _now["comm"] = MPI_WORLD if comm is None else sanitize_comm(comm)


def sanitize_comm(comm: Communication | None) -> Communication:
    """The given ranks, or those of new arrays.

    >>> ht.sanitize_comm(None).rank
    0
    """
    if comm is not None and not isinstance(comm, Communication):
        raise TypeError(f"ht: comm is {shown(comm)}; expected a Communication or None")
    return get_comm() if comm is None else comm


def get_device() -> Device:
    """The device of new arrays.

    >>> ht.get_device()
    device(cpu:0)
    """
    return _now["device"]  # type: ignore[no-any-return]


def use_device(device: Any = None) -> None:
    """Sets the device of new arrays: "cpu", "gpu", or one of ours.

    >>> ht.use_device("cpu")
    """
    _now["device"] = cpu if device is None else as_device(device)


def sanitize_device(device: Any = None) -> Device:
    """The given device, or that of new arrays.

    >>> ht.sanitize_device("cpu")
    device(cpu:0)
    """
    return get_device() if device is None else as_device(device)


def place(split: int | None, device: Any, comm: Any) -> dict[str, Any]:
    """The arguments of ours that say where an array is."""
    return {"split": split, "device": sanitize_device(device).ours, "comm": sanitize_comm(comm).handle}


def _natural(obj: Any) -> Any:
    """Numbers with the dtype that they get there: floats of Python are float32, complex numbers complex64."""
    if hasattr(obj, "dtype"):
        return obj
    made = np.asarray(obj)
    return made.astype({"f": np.float32, "c": np.complex64}.get(made.dtype.kind, made.dtype), copy=False)


def array(
    obj: Any,
    dtype: Any = None,
    copy: bool | None = None,
    ndmin: int = 0,
    order: str = "C",
    split: int | None = None,
    is_split: int | None = None,
    device: Any = None,
    comm: Any = None,
) -> DNDarray:
    """A distributed array of what every rank has (``split``), or of the parts that ranks bring (``is_split``).

    >>> ht.array([[1.0, 2.0], [3.0, 4.0]], split=0)
    DNDarray([[1., 2.],
           [3., 4.]], dtype=ht.float32, device=cpu:0, split=0)
    """
    if isinstance(obj, DNDarray):
        if split is None and is_split is None:
            split = obj.split
        made = obj.dist if split == obj.split and dtype is None and copy is not True else obj.dist.resplit(split)
        made = made.copy() if copy and made is obj.dist else made
        return DNDarray(made if dtype is None else made.astype(canonical(dtype).__name__))
    values = _natural(ours(obj))
    if ndmin > np.ndim(values):
        values = np.asarray(values).reshape(np.shape(values) + (1,) * (ndmin - np.ndim(values)))  # behind, as there
    where = place(split, device, comm)
    kind = None if dtype is None else canonical(dtype).__name__
    return DNDarray(_dist.array(values, is_split=is_split, dtype=kind, **where))


def asarray(
    obj: Any,
    dtype: Any = None,
    copy: bool | None = None,
    order: str = "C",
    is_split: int | None = None,
    device: Any = None,
) -> DNDarray:
    """array, without a copy of an array that is one already.

    >>> x = ht.arange(2); ht.asarray(x).dist is x.dist
    True
    """
    return array(obj, dtype, copy, 0, order, None, is_split, device)


def _filled(kind: str, shape: Any, dtype: Any, split: int | None, device: Any, comm: Any) -> DNDarray:
    return DNDarray(getattr(_dist, kind)(shape, canonical(dtype).__name__, **place(split, device, comm)))


def zeros(
    shape: Any, dtype: Any = "float32", split: int | None = None, device: Any = None, comm: Any = None, order: str = "C"
) -> DNDarray:
    """Zeros.

    >>> ht.zeros((2, 3), split=1).dtype
    ht.float32
    """
    return _filled("zeros", shape, dtype, split, device, comm)


def ones(
    shape: Any, dtype: Any = "float32", split: int | None = None, device: Any = None, comm: Any = None, order: str = "C"
) -> DNDarray:
    """Ones.

    >>> ht.ones(2, dtype=ht.int8).tolist()
    [1, 1]
    """
    return _filled("ones", shape, dtype, split, device, comm)


def empty(
    shape: Any, dtype: Any = "float32", split: int | None = None, device: Any = None, comm: Any = None, order: str = "C"
) -> DNDarray:
    """Memory as it comes.

    >>> ht.empty((2, 3)).shape
    (2, 3)
    """
    return _filled("empty", shape, dtype, split, device, comm)


def full(
    shape: Any,
    fill_value: Any,
    dtype: Any = "float32",
    split: int | None = None,
    device: Any = None,
    comm: Any = None,
    order: str = "C",
) -> DNDarray:
    """One value everywhere.

    >>> ht.full(2, 7).tolist()
    [7.0, 7.0]
    """
    return DNDarray(_dist.full(shape, fill_value, canonical(dtype).__name__, **place(split, device, comm)))


def _like(kind: str, a: Any, dtype: Any, split: int | None, device: Any, comm: Any) -> DNDarray:
    a = asarray(a)
    return _filled(
        kind, a.shape, dtype or a.dtype, a.split if split is None else split, device or a.device, comm or a.comm
    )


def zeros_like(
    a: Any, dtype: Any = None, split: int | None = None, device: Any = None, comm: Any = None, order: str = "C"
) -> DNDarray:
    """Zeros of another array's shape, dtype and split.

    >>> ht.zeros_like(ht.arange(2)).dtype
    ht.int32
    """
    return _like("zeros", a, dtype, split, device, comm)


def ones_like(
    a: Any, dtype: Any = None, split: int | None = None, device: Any = None, comm: Any = None, order: str = "C"
) -> DNDarray:
    """Ones of another array's shape, dtype and split.

    >>> ht.ones_like(ht.arange(2)).tolist()
    [1, 1]
    """
    return _like("ones", a, dtype, split, device, comm)


def empty_like(
    a: Any, dtype: Any = None, split: int | None = None, device: Any = None, comm: Any = None, order: str = "C"
) -> DNDarray:
    """Memory of another array's shape, dtype and split.

    >>> ht.empty_like(ht.arange(2)).shape
    (2,)
    """
    return _like("empty", a, dtype, split, device, comm)


def full_like(
    a: Any,
    fill_value: Any,
    dtype: Any = "float32",
    split: int | None = None,
    device: Any = None,
    comm: Any = None,
    order: str = "C",
) -> DNDarray:
    """One value in another array's shape and split, as float32 unless told.

    >>> ht.full_like(ht.arange(2), 3).tolist()
    [3.0, 3.0]
    """
    a = asarray(a)
    return full(a.shape, fill_value, dtype, a.split if split is None else split, device or a.device, comm or a.comm)


def arange(*args: Any, dtype: Any = None, split: int | None = None, device: Any = None, comm: Any = None) -> DNDarray:
    """Evenly spaced values up to, not including, the end; int32 of whole numbers, else float32.

    >>> ht.arange(1, 7, 2, split=0).tolist(), ht.arange(2.0).dtype
    ([1, 3, 5], ht.float32)
    """
    if not 1 <= len(args) <= 3:
        raise TypeError(f"ht.arange: expected one to three positional arguments, got {len(args)}")
    kind = canonical(dtype or ("int32" if all(isinstance(a, (int, np.integer)) for a in args) else "float32")).__name__
    start, stop, step = (0, args[0], 1) if len(args) == 1 else (*args, 1)[:3]
    return DNDarray(_dist.arange(start, stop, step, kind, **place(split, device, comm)))


def linspace(
    start: float,
    stop: float,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    split: int | None = None,
    device: Any = None,
    comm: Any = None,
) -> Any:
    """Evenly spaced values from start to stop, with their step where ``retstep`` is true.

    >>> ht.linspace(0, 1, 3, retstep=True)[1]
    0.5
    """
    kind = canonical(dtype or "float32").__name__
    made = DNDarray(_dist.linspace(start, stop, num, endpoint, kind, **place(split, device, comm)))
    return (made, (stop - start) / max(1, num - bool(endpoint))) if retstep else made


def logspace(
    start: float,
    stop: float,
    num: int = 50,
    endpoint: bool = True,
    base: float = 10.0,
    dtype: Any = None,
    split: int | None = None,
    device: Any = None,
    comm: Any = None,
) -> DNDarray:
    """Values whose logarithms are evenly spaced.

    >>> ht.logspace(0, 2, 3).tolist()
    [1.0, 10.0, 100.0]
    """
    kind = canonical(dtype or "float32").__name__
    return DNDarray(_dist.logspace(start, stop, num, endpoint, base, **place(split, device, comm)).astype(kind))


def eye(
    shape: Any,
    dtype: Any = "float32",
    split: int | None = None,
    device: Any = None,
    comm: Any = None,
    order: str = "C",
) -> DNDarray:
    """Ones on the diagonal.

    >>> ht.eye((2, 3), split=0).sum().item()
    2.0
    """
    rows, columns = (shape, shape) if is_whole(shape) else (*shape, *shape)[:2]
    return DNDarray(_dist.eye(rows, columns, dtype=canonical(dtype).__name__, **place(split, device, comm)))


__all__ = [
    "MPI_WORLD",
    "arange",
    "array",
    "asarray",
    "cpu",
    "empty",
    "empty_like",
    "eye",
    "full",
    "full_like",
    "get_comm",
    "get_device",
    "linspace",
    "logspace",
    "ones",
    "ones_like",
    "sanitize_comm",
    "sanitize_device",
    "use_comm",
    "use_device",
    "zeros",
    "zeros_like",
]
