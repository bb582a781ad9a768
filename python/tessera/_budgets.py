# SPDX-License-Identifier: Apache-2.0
"""Who may hold how many bytes where: budgets of devices, pinned memory and the disk, and what they hold."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from . import _tessera as _core

__all__ = ["MemoryTiers", "memory_budget", "memory_tiers", "set_backing_dir", "set_memory_budget"]

_Amount = int | str
_Folder = str | os.PathLike[str]


def set_backing_dir(path: _Folder | None) -> None:
    """The folder for files of arrays that memory does not hold; None takes back what was set.

    It is made where it is not there. Files that exist stay where they are; those of processes that were killed are
    removed, those of living ones never. With a folder set, ``ts.zeros`` and its like give an array on disk where the
    memory or its budget has no room (see ``ts.stored``).

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ts.set_backing_dir(folder)
    ...     ts.stored.zeros(3).is_formula
    ...     ts.set_backing_dir(None)
    False
    """
    _core._set_backing_dir(path)


def set_memory_budget(
    host: _Amount | None = None,
    device: _Amount | dict[str, _Amount] | None = None,
    disk_dir: _Folder | None = None,
    *,
    pinned: _Amount | None = None,
    disk: _Amount | None = None,
) -> None:
    """Bytes that arrays may hold: on the host, on every other device or by device, in pinned memory, and in files of
    the backing folder.

    An amount is a number of bytes, text (``"2GiB"``), a share of what the tier has (``"50%"``, counted now), 0 for no
    limit, or ``"default"`` for what ``ts.config`` says; what is not given stays. ``disk_dir`` is that of
    ``ts.set_backing_dir``. Where an argument is wrong, nothing is changed.

    What exists stays valid, also where it is more than the new budget: only further requests are refused. Before the
    first call budgets come from the environment: TESSERA_HOST_BUDGET, TESSERA_DEVICE_BUDGET (each other device),
    TESSERA_PINNED_BUDGET, TESSERA_DISK_BUDGET and TESSERA_BACKING_DIR.

    >>> ts.set_memory_budget(device={"sim:0": "64MiB"}); ts.memory_stats("sim:0")["budget"]
    67108864
    >>> ts.set_memory_budget(host="half of it")
    Traceback (most recent call last):
        ...
    tessera.ArgumentError: set_memory_budget: host: 'half of it' is not a number of bytes; write for example 4096,
    "512MB" or "2GiB"
    >>> ts.set_memory_budget(device="default"); ts.memory_stats("sim:0")["budget"]
    0
    """
    budgets = _core._budgets_of(host, device, pinned, disk)
    if disk_dir is not None:
        set_backing_dir(disk_dir)
    for tier, amount in budgets:
        _core._set_budget(tier, amount)


def memory_budget(
    host: _Amount | None = None,
    device: _Amount | dict[str, _Amount] | None = None,
    disk_dir: _Folder | None = None,
    *,
    pinned: _Amount | None = None,
    disk: _Amount | None = None,
) -> AbstractContextManager[None]:
    """Budgets for the length of a ``with`` block, for all threads; those from before come back.

    Arguments are those of ``ts.set_memory_budget``.

    >>> with ts.memory_budget(device={"sim:0": "1MiB"}):
    ...     ts.memory_stats("sim:0")["budget"]
    1048576
    >>> ts.memory_stats("sim:0")["budget"]
    0
    """
    return _scope(_core._budgets_of(host, device, pinned, disk), disk_dir)


@contextmanager
def _scope(budgets: list[tuple[str, int]], disk_dir: _Folder | None) -> Iterator[None]:
    before = [(tier, _core._budget_set(tier)) for tier, _ in budgets]
    folder = _core._backing_dir_set() or None
    if disk_dir is not None:
        set_backing_dir(disk_dir)
    try:
        for tier, amount in budgets:
            _core._set_budget(tier, amount)
        yield
    finally:
        for tier, amount in before:
            _core._set_budget(tier, amount)
        if disk_dir is not None:
            _core._set_backing_dir(folder)


class MemoryTiers(dict[str, dict[str, int]]):
    """Bytes by tier: ``in_use``, ``peak``, ``reserved``, ``budget`` (0: none) and ``left``; printed as a table.

    >>> with ts.memory_budget(host="1GiB"): print(str(ts.memory_tiers()).splitlines()[0])
    tier    in use    peak    reserved    budget    left
    """

    def __repr__(self) -> str:
        columns = ("in_use", "peak", "reserved", "budget", "left")
        rows = [("tier", *(c.replace("_", " ") for c in columns))]
        for tier, numbers in self.items():
            texts = [_core._bytes_text(numbers[c]) if numbers[c] or c != "budget" else "none" for c in columns]
            rows.append((tier, *texts))
        widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        lines = ["  ".join(text.ljust(w) for text, w in zip(row, widths, strict=True)).rstrip() for row in rows]
        return "\n".join([*lines, f"disk: files in {_core.backing_dir()}"])


def memory_tiers() -> MemoryTiers:
    """What each tier holds, held at most and may hold: the host, devices, pinned memory and the disk.

    ``reserved`` is what was taken from the tier, with blocks that are kept for later. ``left`` is what a request could
    still get: the rest of the budget, and no more than the machine has to give (memory that is available, also under
    limits of a cgroup; free space of the backing folder). Sim devices are listed once they were used.

    >>> with ts.memory_budget(host="1GiB"): ts.memory_tiers()["cpu"]["budget"]
    1073741824
    >>> [t for t in ts.memory_tiers() if not t.startswith(("sim", "cuda"))]
    ['cpu', 'pinned', 'disk']
    """
    tiers = MemoryTiers()
    for name in ("cpu", "pinned", *(str(d) for d in _core.devices() if d != "cpu"), "disk"):
        numbers: dict[str, Any] = _core.memory_stats(name)
        if name.startswith("sim") and not (numbers["peak"] or numbers["budget"]):
            continue
        tiers[name] = {**numbers, "left": _core._memory_left(name)}
    return tiers
