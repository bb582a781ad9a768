# SPDX-License-Identifier: Apache-2.0
"""Heat's DNDarray: a name for one of our distributed arrays, so that ``resplit_`` and its like can change which."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ... import _tessera as _core
from ... import dist as _dist
from ..._checked import shown
from .._absent import Absent
from ._types import canonical, datatype


class Communication:
    """A group of ranks; ``handle`` is ours. Messages of one's own are sent by mpi4py.

    >>> ht.get_comm().rank, ht.get_comm().chunk((5, 2), 0)[1]
    (0, (5, 2))
    """

    def __init__(self, handle: _dist.Communicator) -> None:
        self.handle = handle

    @property
    def rank(self) -> int:
        """This rank's number."""
        return self.handle.rank

    @property
    def size(self) -> int:
        """How many ranks there are."""
        return self.handle.size

    def is_distributed(self) -> bool:
        """Whether there are others."""
        return self.size > 1

    def chunk(
        self, shape: Sequence[int], split: int | None, rank: int | None = None
    ) -> tuple[int, tuple[int, ...], tuple[slice, ...]]:
        """Where a rank's part starts, its shape, and its slices."""
        shape, rank = tuple(shape), self.rank if rank is None else rank
        whole = tuple(slice(0, n) for n in shape)
        if split is None:
            return 0, shape, whole
        split %= len(shape)
        each, more = divmod(shape[split], self.size)
        start = rank * each + min(rank, more)
        count = each + (rank < more)
        part = (*whole[:split], slice(start, start + count), *whole[split + 1 :])
        return start, (*shape[:split], count, *shape[split + 1 :]), part

    def counts_displs_shape(
        self, shape: Sequence[int], axis: int
    ) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
        """How many entries each rank has, where they start, and this rank's shape."""
        parts = [self.chunk(shape, axis, rank) for rank in range(self.size)]
        return tuple(part[1][axis] for part in parts), tuple(part[0] for part in parts), parts[self.rank][1]

    def Barrier(self) -> None:
        """Waits for all ranks."""
        self.handle.barrier()

    def Split(self, color: int = 0, key: int = 0) -> Communication:
        """The group of those that say the same color."""
        return Communication(self.handle.split(color, key))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Communication) and self.handle == other.handle

    def __hash__(self) -> int:
        return hash(self.handle)

    def __getattr__(self, name: str) -> Any:
        if name[:1].isupper():
            raise Absent(
                f"ht.Communication.{name} is not offered: functions of arrays send what they need; "
                "for messages of your own use mpi4py"
            )
        raise AttributeError(f"'Communication' has no attribute '{name}'")


class Device:
    """A kind of device and its number.

    >>> str(ht.cpu), ht.cpu.device_type
    ('cpu:0', 'cpu')
    """

    def __init__(self, device_type: str, device_id: int = 0) -> None:
        self.device_type, self.device_id = device_type, device_id

    @property
    def ours(self) -> str:
        """The device as we write it."""
        return (
            "cpu"
            if self.device_type == "cpu"
            else f"{'cuda' if self.device_type == 'gpu' else self.device_type}:{self.device_id}"
        )

    def __str__(self) -> str:
        return f"{self.device_type}:{self.device_id}"

    def __repr__(self) -> str:
        return f"device({self})"

    def __eq__(self, other: object) -> bool:
        return str(self) == str(other) or str(other) == self.device_type

    def __hash__(self) -> int:
        return hash(str(self))


def as_device(device: Any) -> Device:
    """What people call a device: a Device, "cpu", "gpu", "gpu:1", or one of ours."""
    if isinstance(device, Device):
        return device
    kind, _, number = str(device).partition(":")
    if not kind.isidentifier() or not (number or "0").isdecimal():
        raise ValueError(f"ht: device is {shown(device)}; expected a Device, or text such as 'cpu' or 'gpu:1'")
    return Device("gpu" if kind == "cuda" else kind, int(number or 0))


class _LocalIndex:
    """x.lloc[...]: elements of this rank's part."""

    def __init__(self, array: DNDarray) -> None:
        self.array = array

    def __getitem__(self, key: Any) -> Any:
        return self.array.larray[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        self.array.larray[key] = value


class DNDarray:
    """An array whose axis ``split`` is distributed over the ranks; ``x.dist`` is ours, with everything that it can do.

    >>> x = ht.arange(6, split=0).reshape(2, 3)
    >>> x.resplit_(1).split, (x + 1.5).dtype, x[1].tolist()
    (1, ht.float32, [3, 4, 5])

    Functions are methods too, and those ending in ``_`` change the array itself.
    """

    __array_priority__ = 1000
    __array_ufunc__ = None

    def __init__(self, array: _dist.DNDarray) -> None:
        if not isinstance(array, _dist.DNDarray):
            raise TypeError(f"ht.DNDarray: make one with ht.array(...), not of a {type(array).__name__}")
        self.dist = array
        self._halos: tuple[Any, Any] | None = None

    # What it is

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape over all ranks."""
        return tuple(self.dist.shape)

    gshape = shape

    @property
    def lshape(self) -> tuple[int, ...]:
        """The shape of this rank's part."""
        return tuple(self.dist.lshape)

    @property
    def split(self) -> int | None:
        """The axis that is distributed, or None."""
        return self.dist.split

    @property
    def dtype(self) -> datatype:
        """The dtype, one of Heat's."""
        return canonical(str(self.dist.dtype))

    @property
    def device(self) -> Device:
        """Where the parts are."""
        return as_device(self.dist.device)

    @property
    def comm(self) -> Communication:
        """The ranks over which it is distributed."""
        return Communication(self.dist.comm)

    @property
    def ndim(self) -> int:
        """How many axes there are."""
        return self.dist.ndim

    @property
    def size(self) -> int:
        """How many elements there are over all ranks."""
        return self.dist.size

    gnumel = size

    @property
    def lnumel(self) -> int:
        """How many elements this rank has."""
        return math.prod(self.lshape)

    @property
    def nbytes(self) -> int:
        """Bytes over all ranks."""
        return self.dist.nbytes

    gnbytes = nbytes

    @property
    def lnbytes(self) -> int:
        """Bytes of this rank."""
        return self.lnumel * self.dist.itemsize

    @property
    def strides(self) -> tuple[int, ...]:
        """Steps of this rank's part, in elements."""
        return tuple(self.larray.stride())

    @property
    def balanced(self) -> bool:
        """Whether the ranks have equally much."""
        return self.dist.balanced

    def is_balanced(self, force_check: bool = False) -> bool:
        """Whether the ranks have equally much."""
        return self.dist.balanced

    def is_distributed(self) -> bool:
        """Whether it is split over several ranks."""
        return self.split is not None and self.comm.is_distributed()

    @property
    def lshape_map(self) -> Any:
        """The shapes of all ranks' parts, as a tensor."""
        return self.create_lshape_map()

    def create_lshape_map(self, force_check: bool = False) -> Any:
        """The shapes of all ranks' parts, as a tensor."""
        shapes = [list(self.shape) for _ in range(self.comm.size)]
        if self.split is not None:
            for shape, count in zip(shapes, self.dist.counts, strict=True):
                shape[self.split] = count
        return _torch().tensor(shapes)

    def counts_displs(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """How many entries of the split axis each rank has, and where they start."""
        if self.split is None:
            raise ValueError("DNDarray.counts_displs: the array is not split")
        counts = tuple(self.dist.counts)
        return counts, tuple(sum(counts[:rank]) for rank in range(len(counts)))

    # This rank's part

    @property
    def larray(self) -> Any:
        """This rank's part as a tensor of PyTorch over the same memory. After writing into it every rank calls
        ``touch()``; set, it replaces the part."""
        if min(self.dist.local.strides, default=0) < 0:  # a flipped view: PyTorch knows no such strides
            self.dist = self.dist.copy()
        return _torch().from_dlpack(self.dist.local)

    @larray.setter
    def larray(self, tensor: Any) -> None:
        if tuple(tensor.shape) != self.lshape:
            raise ValueError(f"DNDarray.larray: expected a tensor of shape {self.lshape}, got {tuple(tensor.shape)}")
        self.dist.local[...] = _core.asarray(tensor.detach().resolve_conj())
        self.dist.touch()

    def touch(self) -> None:
        """Says that parts were written into; every rank calls it."""
        self.dist.touch()

    @property
    def lloc(self) -> _LocalIndex:
        """Elements of this rank's part by their place in it."""
        return _LocalIndex(self)

    def get_halo(self, halo_size: int, prev: bool = True, next: bool = True) -> None:
        """Fetches entries beside this rank's part: ``halo_prev``, ``halo_next``, ``array_with_halos``."""
        self._halos = self.dist.halo(halo_size, prev, next)

    def _halo(self, which: int) -> Any:
        if self._halos is None or 0 in self._halos[which].shape:
            return None
        return _torch().from_dlpack(self._halos[which])

    @property
    def halo_prev(self) -> Any:
        """What get_halo fetched of the rank before, or None."""
        return self._halo(0)

    @property
    def halo_next(self) -> Any:
        """What get_halo fetched of the rank behind, or None."""
        return self._halo(1)

    @property
    def array_with_halos(self) -> Any:
        """This rank's part between its halos."""
        parts = [part for part in (self.halo_prev, self.larray, self.halo_next) if part is not None]
        return _torch().cat(parts, self.split or 0)

    # Other places, other forms

    def resplit(self, axis: int | None = None) -> DNDarray:
        """A copy split along another axis."""
        return DNDarray(self.dist.copy() if axis == self.split else self.dist.resplit(axis))

    def resplit_(self, axis: int | None = None) -> DNDarray:
        """Splits this array along another axis."""
        self.dist = self.dist.resplit(axis)
        return self

    def balance_(self) -> DNDarray:
        """Gives all ranks equally much."""
        self.dist = self.dist.balance()
        return self

    def redistribute_(self, lshape_map: Any = None, target_map: Any = None) -> DNDarray:
        """Gives the ranks what ``target_map`` says: one row for each, its shape."""
        if target_map is None or self.split is None:
            return self.balance_()
        self.dist = self.dist.redistribute([int(row[self.split]) for row in target_map])
        return self

    def collect_(self, target_rank: int = 0) -> DNDarray:
        """Gives one rank everything."""
        if self.split is not None:
            everything = [self.shape[self.split] if rank == target_rank else 0 for rank in range(self.comm.size)]
            self.dist = self.dist.redistribute(everything)
        return self

    def astype(self, dtype: Any, copy: bool = True) -> DNDarray:
        """The same numbers in another dtype; in place where ``copy`` is false."""
        made = self.dist.astype(canonical(dtype).__name__)
        if copy:
            return DNDarray(made)
        self.dist = made
        return self

    def cpu(self) -> DNDarray:
        """The array in host memory."""
        return DNDarray(self.dist.to("cpu"))

    def gpu(self) -> DNDarray:
        """The array on the first CUDA device."""
        return DNDarray(self.dist.to("cuda:0"))

    def numpy(self) -> Any:
        """The whole, on every rank, as an array of NumPy."""
        return self.dist.numpy()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return self.dist.__array__(dtype, copy)

    def tolist(self, keepsplit: bool = False) -> Any:
        """The whole as lists; with ``keepsplit`` this rank's part."""
        return self.larray.tolist() if keepsplit else self.dist.tolist()

    def item(self) -> Any:
        """The only element."""
        return self.dist.item()

    def fill_diagonal(self, value: float) -> DNDarray:
        """Writes a value along the diagonal."""
        _dist.fill_diagonal(self.dist, value)
        return self

    @property
    def T(self) -> DNDarray:
        """The array with its axes reversed."""
        return DNDarray(self.dist.T)

    @property
    def real(self) -> DNDarray:
        """The real part."""
        return DNDarray(self.dist.real)

    @property
    def imag(self) -> DNDarray:
        """The imaginary part."""
        return DNDarray(self.dist.imag)

    def __getitem__(self, key: Any) -> DNDarray:
        return DNDarray(self.dist[_key(key, self.ndim)])

    def __setitem__(self, key: Any, value: Any) -> None:
        key, value = _key(key, self.ndim), ours(value)
        try:
            self.dist[key] = value
        except _core.ArgumentError as error:
            if "read-only" not in str(error):
                raise
            # Made by a reshape or a flip that moved elements: a copy, which nobody else writes into.
            self.dist = self.dist.copy()
            self.dist[key] = value

    def __len__(self) -> int:
        return len(self.dist)

    def __bool__(self) -> bool:
        return bool(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __float__(self) -> float:
        return float(self.item())

    def __complex__(self) -> complex:
        return complex(self.item())

    def __index__(self) -> int:
        return self.item().__index__()  # type: ignore[no-any-return]

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        inside = repr(self.dist.numpy()).removeprefix("array(").rpartition("]")
        text = inside[0] + inside[1] if inside[1] else str(self.item())
        return f"DNDarray({text}, dtype=ht.{self.dtype.__name__}, device={self.device}, split={self.split})"


def _torch() -> Any:
    from ... import torch

    return torch.torch


def ours(value: Any) -> Any:
    """What our functions take: arrays without Heat's name around them, also in lists."""
    if isinstance(value, DNDarray):
        return value.dist
    if isinstance(value, datatype):
        return value.__name__
    if isinstance(value, Communication):
        return value.handle
    if isinstance(value, (list, tuple)) and any(isinstance(each, DNDarray) for each in value):
        return type(value)(ours(each) for each in value)
    if type(value).__module__ == "torch" and hasattr(value, "detach"):
        return value.detach().resolve_conj().cpu().numpy()
    return value


def _key(key: Any, ndim: int) -> Any:
    """A key; the rows of positions that ht.nonzero gives are taken apart, as there."""
    if isinstance(key, tuple):
        return tuple(ours(part) for part in key)
    if isinstance(key, DNDarray) and key.ndim == 2 and key.shape[1] == ndim > 1 and key.dist.dtype.kind in "iu":
        return tuple(key.dist[:, axis] for axis in range(ndim))
    return ours(key)


def theirs(value: Any) -> Any:
    """Results under Heat's name, also in lists."""
    if isinstance(value, _dist.DNDarray):
        return DNDarray(value)
    if isinstance(value, (list, tuple)):
        made = [theirs(each) for each in value]
        return type(value)(*made) if hasattr(value, "_fields") else type(value)(made)
    return value
