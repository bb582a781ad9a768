# SPDX-License-Identifier: Apache-2.0
"""Functions of local arrays on the block of each rank, with the entries of its neighbours or without."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import _dist
from .. import _tessera as _core
from .._dist import DNDarray

__all__ = ["map_blocks", "map_overlap"]


def map_blocks(
    function: Callable[..., Any], x: DNDarray, *args: Any, split: int | None = -1, **kwargs: Any
) -> DNDarray:
    """What a function of local arrays gives of every rank's block, joined along the split of x, or along ``split``.
    Further distributed arrays are cut as x is where they have its shape along the split; others go to all ranks.

    >>> x = ts.dist.arange(6, split=0); ts.dist.map_blocks(lambda block: 2 * block, x).tolist()
    [0, 2, 4, 6, 8, 10]
    """
    _require(x, function, "map_blocks")
    parts = [_like(a, x) if isinstance(a, DNDarray) else a for a in args]
    mine = _core.asarray(function(x.local, *parts, **kwargs))
    if x.split is None:
        return _dist.array(mine, comm=x.comm)
    return _dist.array(mine, is_split=x.split if split == -1 else split, comm=x.comm)


def _require(x: Any, function: Any, who: str) -> None:
    if not isinstance(x, DNDarray) or not callable(function):
        raise TypeError(f"{who}: expected a function and a distributed array, got {function!r:.60} and {x!r:.60}")


def _like(a: DNDarray, x: DNDarray) -> Any:
    """This rank's part of an array, cut as x is where the two go together."""
    if x.split is None or a.ndim <= x.split or a.shape[x.split] != x.shape[x.split]:
        return a.resplit(None).local
    a = a.resplit(x.split)
    return (a if a.counts == x.counts else a.redistribute(x.counts)).local


def map_overlap(
    function: Callable[..., Any],
    x: DNDarray,
    depth: int,
    boundary: str | complex | None = None,
    trim: bool = True,
    **kwargs: Any,
) -> DNDarray:
    """What a function of local arrays gives of every rank's block with ``depth`` entries of its neighbours on both
    sides, joined along the split without what it gave for those (``trim``). At both ends of the array stand none
    (``boundary`` None), a number, or what ``pad`` puts there by this mode.

    >>> x = ts.dist.arange(6.0, split=0)
    >>> ts.dist.map_overlap(lambda b: b[:-2] + b[1:-1] + b[2:], x, 1, boundary=0, trim=False).tolist()
    [1.0, 3.0, 6.0, 9.0, 12.0, 9.0]
    """
    _require(x, function, "map_overlap")
    if depth < 0:
        raise ValueError(f"map_overlap: depth is {depth}, expected 0 or more")
    if x.split is None or depth == 0:
        return _alone(function, x, 0, depth, boundary, trim, kwargs)
    axis, n = x.split, x.shape[x.split]
    if any(0 < c < depth for c in x.counts):  # a neighbour must have what is asked of it
        ranks = max(1, min(x.comm.size, n // depth))
        x = x.redistribute([n // ranks + (r < n % ranks) if r < ranks else 0 for r in range(x.comm.size)])
    full = [r for r, c in enumerate(x.counts) if c > 0]
    if len(full) < 2:
        whole = _alone(function, x.resplit(None), axis, depth, boundary, trim, kwargs)
        return whole.resplit(axis)
    rank = x.comm.rank
    first, last = rank == full[0], rank == full[-1]
    ends = None if boundary is None else _ends(x, depth, boundary)
    block = x.with_halo(depth)
    if ends is not None and (first or last):
        parts = [ends[0], block] if first else [block, ends[1]]
        block = _core.concatenate(parts, axis)
    before = 0 if first and ends is None else depth
    behind = 0 if last and ends is None else depth
    mine = _core.asarray(function(block, **kwargs)) if x.counts[rank] else None
    if mine is not None and trim:
        mine = mine[(slice(None),) * axis + (slice(before, mine.shape[axis] - behind),)]
    return _joined(mine, x, axis)


def _alone(
    function: Callable[..., Any], x: DNDarray, axis: int, depth: int, boundary: Any, trim: bool, kwargs: dict[str, Any]
) -> DNDarray:
    """Where every rank has the whole array, with its ends along an axis."""
    if depth == 0 or x.ndim == 0:
        return map_blocks(function, x, **kwargs)
    widths = [(depth, depth) if a == axis else (0, 0) for a in range(x.ndim)]
    wide = x if boundary is None else _padded(x, widths, boundary)
    found = map_blocks(function, wide, **kwargs)
    if not trim or boundary is None:
        return found
    return found[(slice(None),) * axis + (slice(depth, found.shape[axis] - depth),)]


def _padded(x: DNDarray, widths: list[tuple[int, int]], boundary: Any) -> DNDarray:
    if isinstance(boundary, str):
        return _dist.pad(x, widths, boundary)
    return _dist.pad(x, widths, "constant", boundary)


def _ends(x: DNDarray, depth: int, boundary: Any) -> tuple[Any, Any]:
    """What stands before the first entry and behind the last, whole on every rank."""
    axis = x.split or 0
    n = x.shape[axis]
    widths = [(depth, depth) if a == axis else (0, 0) for a in range(x.ndim)]
    wide = _padded(x, widths, boundary)
    lead = (slice(None),) * axis
    before, behind = wide[lead + (slice(0, depth),)], wide[lead + (slice(depth + n, None),)]  # noqa: RUF005
    return before.resplit(None).local, behind.resplit(None).local


def _joined(mine: Any, x: DNDarray, axis: int) -> DNDarray:
    """Blocks along an axis; ranks without one need the shape and the dtype of the others."""
    comm = x.comm
    facts = [] if mine is None else [ord(c) for c in mine.dtype.name + "|" + ",".join(map(str, mine.shape))] + [10]
    told = _dist.array(_core.array(facts, dtype="uint8"), is_split=0, comm=comm).numpy().tobytes().decode()
    name, _, text = told.splitlines()[0].partition("|")
    if mine is None:
        shape = [int(n) for n in text.split(",")]
        shape[axis] = 0
        mine = _core.zeros(shape, dtype=name, device=x.device)
    return _dist.array(mine, is_split=axis, comm=comm)
