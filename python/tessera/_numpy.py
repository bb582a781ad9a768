# SPDX-License-Identifier: Apache-2.0
"""NumPy's functions on our arrays: those we have run here, the others on the host through NumPy."""

from __future__ import annotations

from typing import Any

from . import _tessera as _core


def _plain(x: Any) -> Any:
    return x.__array__() if isinstance(x, _core.Array) else x


def array_ufunc(self: _core.Array, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
    """What ``np.add(x, y)`` and ``ndarray + x`` call; the result is a tessera array unless out= says else."""
    out = kwargs.get("out") or ()
    targets = [o for o in out if o is not None]
    ours = all(isinstance(o, _core.Array) for o in targets)
    function = getattr(_core, ufunc.__name__, None)
    if method == "__call__" and callable(function) and ours and set(kwargs) <= {"out"} and len(targets) < 2:
        return function(*inputs, **({"out": targets[0]} if targets else {}))
    if out:
        kwargs["out"] = tuple(_plain(o) for o in out)
    result = getattr(ufunc, method)(*(_plain(x) for x in inputs), **kwargs)
    if targets:
        return targets[0] if len(targets) == 1 else tuple(targets)
    if result is None or result is NotImplemented:
        return result
    if isinstance(result, tuple):
        return tuple(_core.asarray(r) for r in result)
    return _core.asarray(result)
