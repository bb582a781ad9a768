# SPDX-License-Identifier: Apache-2.0
"""Watching that all ranks make the same calls: what differs is an error of all that names the rank, not a hang."""

from __future__ import annotations

import builtins
import functools
import os
import sys
from collections.abc import Callable
from typing import Any

from .. import _dist
from .._tessera import CommError

TEXT = 480  # bytes of a call's text that the ranks compare
# Of a DNDarray: known to each rank without the others.
PLAIN = {"explain", "touch", "numpy_dtype"}
# Slots that Python looks up on the class; the reflected ones end in the same functions.
OPERATORS = [
    f"__{name}__"
    for stem in "add sub mul truediv floordiv mod pow and or xor lshift rshift matmul".split()
    for name in (stem, "r" + stem, "i" + stem)
] + [f"__{name}__" for name in "getitem setitem lt le eq ne gt ge neg pos abs invert bool int float index".split()]

_inside = False  # calls that a call makes are not compared again
_kept: list[tuple[Any, str, Any]] = []


def _brief(value: Any) -> str:
    if isinstance(value, _dist.DNDarray):
        return f"DNDarray{value.shape} of {value.dtype} split {value.split}"
    if isinstance(value, (builtins.bool, int, float, complex, str, slice, type(None), type(...))):
        return repr(value)
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_brief, value[:8]))}{', …' if len(value) > 8 else ''}]"
    shape = getattr(value, "shape", "")
    return f"{type(value).__name__}{shape if isinstance(shape, tuple) else ''}"


def _caller() -> str:
    frame = sys._getframe(2)
    package = os.path.dirname(os.path.dirname(__file__))
    while frame.f_back is not None and frame.f_code.co_filename.startswith(package):
        frame = frame.f_back
    return f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}"


def _group(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if kwargs.get("comm") is not None:
        return kwargs["comm"]
    for value in (*args, *kwargs.values()):
        if isinstance(value, _dist.DNDarray):
            return value.comm
    return _dist._world()


def _compare(call: str, where: str, comm: Any) -> None:
    words = f"{call}\n{where}".encode()[:TEXT]
    mine = _plain_array([[*words.ljust(TEXT, b"\0")]], is_split=0, dtype="uint8", comm=comm)
    everybody = [bytes(row).rstrip(b"\0").decode(errors="replace") for row in mine.tolist()]
    calls = [text.split("\n") for text in everybody]
    first = max((c[0] for c in calls), key=[c[0] for c in calls].count)  # what most ranks do, or the first of them
    others = [rank for rank, c in enumerate(calls) if c[0] != first]
    if not others:
        return
    rank = others[0]
    usual = next(r for r, c in enumerate(calls) if c[0] == first)
    raise CommError(
        f"the ranks do not make the same call: rank {rank} calls {' at '.join(calls[rank])}, "
        f"rank {usual} calls {' at '.join(calls[usual])}"
    )


_plain_array = _dist.array


def _watched(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        global _inside
        if _inside:
            return function(*args, **kwargs)
        _inside = True
        try:
            comm = _group(args, kwargs)
            if comm.size > 1:
                said = ", ".join([*map(_brief, args), *(f"{k}={_brief(v)}" for k, v in kwargs.items())])
                _compare(f"{name}({said})", _caller(), comm)
            return function(*args, **kwargs)
        finally:
            _inside = False

    return call


def check_calls(on: bool = True) -> None:
    """From now on, all ranks tell each other which call they make before they make it: where one makes another, all
    raise ``CommError`` with both calls and their lines instead of waiting for each other. For finding such a line:
    each call costs two small collectives. ``TESSERA_CHECK_CALLS=1`` switches it on at the start.

    >>> ts.dist.check_calls(); int(ts.dist.arange(4, split=0).sum())
    6
    >>> ts.dist.check_calls(False)
    """
    module = sys.modules[__package__]
    while _kept:
        owner, name, function = _kept.pop()
        setattr(owner, name, function)
    if not on:
        return
    for owner, prefix in ((module, "ts.dist."), (module.linalg, "ts.dist.linalg."), (module.fft, "ts.dist.fft.")):
        for name in dir(owner):
            function = getattr(owner, name)
            if name.startswith("_") or isinstance(function, type) or not callable(function) or name == "check_calls":
                continue
            if name not in ("run_ranks", "finfo", "iinfo", "isdtype", "can_cast", "result_type"):
                _keep(owner, name, _watched(prefix + name, function))
    for name in [n for n in dir(_dist.DNDarray) if not n.startswith("_")] + OPERATORS:
        function = _dist.DNDarray.__dict__.get(name)
        if callable(function) and name not in PLAIN:
            _keep(_dist.DNDarray, name, _watched(f"DNDarray.{name}", function))


def _keep(owner: Any, name: str, function: Any) -> None:
    _kept.append((owner, name, owner.__dict__[name]))
    setattr(owner, name, function)
