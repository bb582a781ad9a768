# SPDX-License-Identifier: Apache-2.0
"""Operators cut into tiles and computed on several devices, with the names of torch-named-linops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ... import _tessera as _core
from ._base import Built, NamedLinop, device_name, torch


@dataclass(frozen=True)
class DeviceSpec:
    """A device, and streams on it where somebody cares.

    >>> DeviceSpec("cpu").device.type
    'cpu'
    """

    device: Any = "cpu"
    compute_stream: Any = None
    transfer_stream: Any = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "device", torch.device(self.device))


@dataclass(frozen=True)
class ResolvedBatchSpec:
    """A BatchSpec whose devices are those of the tiles.

    >>> BatchSpec({"X": 2}).resolve(Diagonal(torch.ones(4), ("X",)), "cpu").device_matrix.shape
    (2,)
    """

    batch_sizes: dict[Any, int]
    device_matrix: Any
    base_device: Any


@dataclass(frozen=True)
class BatchSpec:
    """The largest tile along each dim, the devices of the tiles and the device of input and output.

    >>> BatchSpec({"X": 2}, ["cpu"]).batch_sizes
    {'X': 2}
    """

    batch_sizes: dict[Any, int]
    device_matrix: Any = None
    base_device: Any = None

    def _ours(self, default_device: Any) -> _core.BatchSpec:
        base = device_name(self.base_device or default_device or "cpu")
        matrix = np.asarray([base] if self.device_matrix is None else self.device_matrix, dtype=object)
        names = np.asarray([device_name(d) for d in matrix.ravel()], dtype=object).reshape(matrix.shape)
        return _core.BatchSpec(dict(self.batch_sizes), names.tolist(), base)

    def resolve(self, linop: NamedLinop, default_device: Any) -> ResolvedBatchSpec:
        """The same with one device for each tile of an operator."""
        found = np.asarray(self._ours(default_device).broadcast_device_matrix(linop.linop), dtype=object)
        devices = np.empty(found.shape, dtype=object)
        for place, device in np.ndenumerate(found):
            devices[place] = torch.device(str(device))
        return ResolvedBatchSpec(self.batch_sizes, devices, torch.device(self.base_device or default_device))


def create_batched_linop(
    linop: NamedLinop, batch_specs: BatchSpec | Sequence[BatchSpec], default_device: Any = None, **options: Any
) -> NamedLinop:
    """The same operator, tile by tile on the devices of the specs; several specs cut the tiles further.

    >>> A = create_batched_linop(Diagonal(torch.arange(5.0), ("X",)), BatchSpec({"X": 2}))
    >>> A(torch.ones(5)).tolist()
    [0.0, 1.0, 2.0, 3.0, 4.0]
    """
    specs = [batch_specs] if isinstance(batch_specs, BatchSpec) else list(batch_specs)
    if not specs:
        return linop
    return Built(_core.create_batched_linop(linop.linop, [spec._ours(default_device) for spec in specs]))


def split_linop(linop: NamedLinop, batch_sizes: dict[Any, int]) -> tuple[Any, Any, Any]:
    """Arrays of tiles, of what each takes of the input and of what it gives of the output.

    >>> tiles, ins, outs = split_linop(Diagonal(torch.arange(5.0), ("X",)), {"X": 2})
    >>> tiles.shape, ins[2], tiles[2](torch.ones(1)).tolist()
    ((3,), (slice(4, 5, None),), [4.0])
    """
    tiles, ins, outs = _core.split_linop(linop.linop, batch_sizes)
    built = np.empty(tiles.shape, dtype=object)
    for place in np.ndindex(tiles.shape):
        built[place] = Built(tiles[place])
    return built, ins, outs


__all__ = ["BatchSpec", "DeviceSpec", "ResolvedBatchSpec", "create_batched_linop", "split_linop"]
