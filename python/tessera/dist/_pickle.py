# SPDX-License-Identifier: Apache-2.0
"""Pickles of distributed arrays: each rank pickles its own part, and gets it back where the ranks are the same."""

from __future__ import annotations

from typing import Any

from .. import _dist
from .._tessera import Array, CommError


def reduced(x: _dist.DNDarray) -> tuple[Any, ...]:
    """What pickle keeps of an array. Nothing is sent, except by a row that one rank owns: it is read, by all."""
    counts = None if x.split is None else x.counts
    return restored, (x.local, x.shape, x.split, counts, x.comm.rank, x.comm.size)


def restored(
    local: Array, shape: tuple[int, ...], split: int | None, counts: tuple[int, ...] | None, rank: int, ranks: int
) -> _dist.DNDarray:
    """The array over all ranks of this program. Nothing is sent."""
    world = _dist._world()
    if split is None or counts is None or ranks == 1:
        return _dist.array(local, split, comm=world)
    if (world.rank, world.size) != (rank, ranks):
        raise CommError(
            f"unpickling: this is the part of rank {rank} of {ranks}, and here is rank {world.rank} of {world.size}; "
            "ts.dist.save writes files that any number of ranks can read"
        )
    return _dist._of_part(local, shape, split, counts)
