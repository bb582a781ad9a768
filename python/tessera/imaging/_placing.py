# SPDX-License-Identifier: Apache-2.0
"""Where an operator from an image to the samples of coils runs: its coils are what is shared out."""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

import tessera as ts

from .. import ArgumentError, NamedLinop

_VECTORS = 10  # of the size of the image: what solvers keep beside the operator, at most


def devices_of(device: Any) -> list[str]:
    """One device or several, as their names."""
    several = device if isinstance(device, Sequence) and not isinstance(device, str) else [device]
    if not several:
        raise ArgumentError("imaging: device=[]; expected a device, or a list of at least one")
    return ["cpu" if one is None else str(one) for one in several]


def bytes_of(budget: Any) -> int:
    """A number of bytes, or text such as "4GiB"."""
    found = re.fullmatch(r"\s*([0-9]*\.?[0-9]+)\s*([kKMGT]?)(i?)B?\s*", str(budget))
    if not found or float(found[1]) <= 0:
        raise ArgumentError(f"imaging: a budget of {budget!r}; expected bytes, as a number or as text such as '4GiB'")
    power = " KMGT".index(found[2].upper() or " ")
    return int(float(found[1]) * (1024 if found[3] else 1000) ** power)


def placed(
    operator: NamedLinop,
    *,
    device: Any = None,
    budget: Any = None,
    ranks: bool = False,
    dtype: Any = "complex64",
) -> NamedLinop:
    """The operator on one device; with its coils, dim C, shared out among several devices or among all ranks of mpirun;
    or in tiles of as many coils as fit ``budget`` bytes on each device while a solver applies its normal."""
    devices, specs = devices_of(device), []
    coils = operator.size("C")
    size = ts.dist.world.size if ranks else 1
    if coils is None:
        raise ArgumentError(f"imaging: {operator} has no number of coils, dim C, to share out")
    if size > 1:
        each = math.ceil(coils / size)
        holders = [f"rank{rank}/cpu" for rank in range(math.ceil(coils / each))]
        specs.append(ts.BatchSpec({"C": each}, holders))
        coils = each
    if budget is not None:
        specs += _fitted(operator, coils, devices, budget, dtype).specs
    elif len(devices) > 1:
        specs.append(ts.BatchSpec({"C": math.ceil(coils / len(devices))}, devices))
    elif size > 1 and devices != ["cpu"]:
        specs.append(ts.BatchSpec({"C": coils}, devices))
    if specs:
        try:
            return ts.create_batched_linop(operator, specs)
        except ts.SplitError as error:
            if budget is None:
                raise
            raise ts.OutOfMemory(
                f"imaging: a budget of {bytes_of(budget)} bytes; the normal of {operator} fits it only when it is cut "
                f"where the operator is not: {error}; give more"
            ) from None
    return operator if devices == ["cpu"] else operator.to(devices[0])


def brought(data: ts.Array, *, device: Any, budget: Any, ranks: bool = False) -> ts.Array:
    """Data where an operator of :func:`placed` takes them: on its device; tiles fetch theirs from where these are."""
    devices = devices_of(device)
    tiled = budget is not None or len(devices) > 1 or (ranks and ts.dist.world.size > 1)
    there = "cpu" if tiled else devices[0]
    moves = (tiled or device is not None) and isinstance(data, ts.Array) and str(data.device) != there
    return data.to(there) if moves else data


def _kept(image: Sequence[int], samples: Sequence[int], dtype: Any) -> int:
    """Bytes that a reconstruction takes beside its operator, in memory."""
    return np.dtype(str(dtype)).itemsize * (_VECTORS * math.prod(image) + 2 * math.prod(samples))


def is_stored(*arrays: Any) -> bool:
    """Whether one of them is on disk."""
    return any(isinstance(a, ts.stored.StoredArray) for a in arrays)


def may_go_to_disk(*, device: Any, budget: Any, ranks: bool) -> bool:
    """Whether what a budget does not hold may be on disk: the host alone computes."""
    return budget is not None and devices_of(device) == ["cpu"] and not (ranks and ts.dist.world.size > 1)


def goes_to_disk(
    image: Sequence[int], samples: Sequence[int], *, dtype: Any = "complex64", device: Any, budget: Any, ranks: bool
) -> bool:
    """Whether samples, maps and the vectors of a solver are on disk: a budget of the host does not hold them."""
    if not may_go_to_disk(device=device, budget=budget, ranks=ranks):
        return False
    return bytes_of(budget) <= _kept(image, samples, dtype)


def precision_of(maps: Any) -> Any:
    """The dtype of an operator with these maps."""
    return np.result_type(np.dtype(str(maps.dtype)) if hasattr(maps, "dtype") else np.asarray(maps).dtype, np.complex64)


@contextlib.contextmanager
def within(budget: Any) -> Iterator[None]:
    """No more than ``budget`` bytes of the host beside what is in use; a narrower one that is set stays."""
    if budget is None:
        yield
        return
    ts.synchronize()
    stats = ts.memory_stats("cpu")
    most = stats["in_use"] + bytes_of(budget)
    with ts.memory_budget(host=min(most, stats["budget"]) if stats["budget"] > 0 else most):
        yield


def has_room_for_table(shape: Sequence[int]) -> bool:
    """Whether the budget of the host leaves room to make what a convolution along a trajectory reads: the doubled grid
    of an image, and the finer one that it comes from, a few times each."""
    stats = ts.memory_stats("cpu")
    if stats["budget"] <= 0:
        return True
    doubled = 16 * math.prod(2 * n for n in shape)
    return bool(stats["budget"] - stats["in_use"] >= 4 * (1 + 1.5 ** len(shape)) * doubled)


def _fitted(operator: NamedLinop, coils: int, devices: list[str], budget: Any, dtype: Any) -> ts.Fitted:
    sizes = [operator.size(dim) or 1 for dim in operator.ishape]
    samples = [operator.size(dim) or 1 for dim in operator.oshape]
    room = bytes_of(budget)
    kept = _kept(sizes, samples, dtype)
    if "cpu" in devices and room <= kept:
        raise ArgumentError(
            f"imaging: a budget of {room} bytes; the samples {tuple(samples)} and {_VECTORS} images of {tuple(sizes)} "
            f"take {kept}"
        )
    rooms: dict[Any, int | str] = {name: room - kept if name == "cpu" else room for name in devices}
    part = operator if coils == operator.size("C") else operator.split({"C": slice(0, coils)})
    fitted = ts.fit(part.N, shape=tuple(sizes), dtype=dtype, budget=rooms)
    alone = [str(dim) for spec in fitted.specs for dim in spec.batch_sizes if operator.size(dim) is None]
    if alone:
        raise ts.OutOfMemory(
            f"imaging: a budget of {room} bytes; the normal of {operator} fits it only when it is cut along {alone}, "
            "of its output alone, and then it is the normal of no operator: give more"
        )
    return fitted
