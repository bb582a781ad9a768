# SPDX-License-Identifier: Apache-2.0
"""Operators in tiles over devices: what cuts and places them, under one import path. ``ts.split`` itself is NumPy's
function of arrays, and has these as attributes.

>>> from tessera.split import BatchSpec, create_batched_linop
>>> A = create_batched_linop(ts.Diagonal(ts.arange(4.0), ("X",)), BatchSpec({"X": 2}, ["sim:0", "sim:1"]))
>>> A(ts.ones(4)).tolist(), [part.tolist() for part in ts.split(ts.arange(4), 2)]
([0.0, 1.0, 2.0, 3.0], [[0, 1], [2, 3]])
"""

from ._tessera import (
    AsyncStreamer,
    BatchSpec,
    DeviceSpec,
    Fitted,
    RepeatedEvent,
    ToDevice,
    create_batched_linop,
    fit,
    split_linop,
)

__all__ = [
    "AsyncStreamer",
    "BatchSpec",
    "DeviceSpec",
    "Fitted",
    "RepeatedEvent",
    "ToDevice",
    "create_batched_linop",
    "fit",
    "split_linop",
]
