# SPDX-License-Identifier: Apache-2.0
"""What calls on arrays on disk will do, before they do it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import _tessera as _core
from ._tessera import StoredPlan


def plan(call: str | Callable[..., Any], /, *operands: Any, **options: Any) -> StoredPlan:
    """What `call(*operands, **options)` will read, write, hold and take: its plans are made and none is run.

    `call` is any function or method on arrays on disk, or the name of one of `ts`, `ts.linalg` or `ts.fft`. While plans
    are made no file is, nothing is read or written, writes into arrays on disk included, and numbers that would be read
    or computed are zeros; a function that looks at them to go on is planned as for zeros. Arrays on disk that the call
    makes are refused by whoever reads them afterwards, other plans included; numbers of it in memory that are kept are
    NaN from then on (integers have all bits set, booleans stay false), but not what was made of them. Checkpoints of
    solvers are left alone. All of this holds for the thread that plans: work of others is done, and files that other
    libraries write are written.

    >>> x = ts.stored.ones((50, 80)); (x + 1).is_formula
    True
    >>> p = ts.stored.plan(ts.matmul, x + 1, ts.stored.ones((80, 20)))
    >>> p.passes, p.disk_written == (50 * 80 + 50 * 20) * 8  # the formula is computed into a file first
    (2, True)
    >>> ts.stored.plan((x + 1).compute).disk_read == 50 * 80 * 8
    True
    >>> ts.stored.plan(lambda: x.__setitem__(0, 5.0)).disk_written, x[0, 0].item()
    (640, 1.0)
    >>> kept = []; ts.stored.plan(lambda: kept.append(x.sum(axis=0))).disk_read, bool(np.isnan(kept[0].numpy()).all())
    (32000, True)
    """
    function = _by_name(call) if isinstance(call, str) else call
    return _core._stored_plan(lambda: function(*operands, **options))


def explain(call: str | Callable[..., Any], /, *operands: Any, **options: Any) -> str:
    """The same as text, pass by pass and store by store, with bytes, peaks, steps and seconds.

    >>> text = ts.stored.explain("cholesky", ts.stored.ones((100, 100)))
    >>> "disk: reads 80000 bytes, writes 80000 bytes" in text
    True
    """
    return plan(call, *operands, **options).explain()


def _by_name(name: str) -> Callable[..., Any]:
    import tessera

    for place in (tessera, tessera.linalg, tessera.fft):
        if not name.startswith("_") and callable(found := getattr(place, name, None)):
            return found
    raise _core.ArgumentError(f"explain: none of ts, ts.linalg and ts.fft has a function {name!r}")
