# SPDX-License-Identifier: Apache-2.0
"""NumPy's functions on our arrays: those we have run here, the others on the host through NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import _dist
from . import _tessera as _core

# Write into an argument: through a gathered copy nothing would arrive.
_WRITERS = {"copyto", "fill_diagonal", "place", "put", "put_along_axis", "putmask"}
# How functions of Python say that they do not take an argument; those of C++ mark the error.
_REFUSALS = ("unexpected keyword argument", "positional argument", "pad: mode is", "pad: expected a number")
# Write files, or take NumPy's own objects, by names that mean something else here.
_OTHERS = {"array2string", "array_repr", "array_str", "may_share_memory", "put", "save", "savetxt", "savez"}
# Speak of NumPy's dtypes, and look at no elements.
_TYPES = {"can_cast", "common_type", "result_type"}
# Known without the elements.
_FACTS: dict[str, Callable[..., Any]] = {
    "iscomplexobj": lambda x: x.dtype.kind == "c",
    "isrealobj": lambda x: x.dtype.kind != "c",
    "ndim": lambda a: a.ndim,
    "shape": lambda a: a.shape,
    "size": lambda a, axis=None: a.size if axis is None else a.shape[axis],
}


def _plain(x: Any) -> Any:
    return x.__array__() if isinstance(x, (_core.Array, _dist.DNDarray)) else x


def _call(ours: Any, back: Callable[[Any], Any], ufunc: Any, method: str, inputs: Any, kwargs: dict[str, Any]) -> Any:
    """Through the module ``ours`` where it can, else through NumPy with ``back`` for the results."""
    out = kwargs.get("out") or ()
    targets = [o for o in out if o is not None]
    kind = _dist.DNDarray if ours is _dist else _core.Array
    function = getattr(ours, ufunc.__name__, None)
    here = all(isinstance(o, kind) for o in targets) and set(kwargs) <= {"out", "where"} and len(targets) < 2
    if method == "__call__" and callable(function) and here:
        options = {"where": kwargs["where"]} if "where" in kwargs else {}
        return function(*inputs, **({"out": targets[0]} if targets else {}), **options)
    plain = tuple(_plain(o) for o in out)
    kwargs = {key: _plain(value) for key, value in kwargs.items()}  # where= may be ours, too
    if out:
        kwargs["out"] = plain
    operands = [_plain(x) for x in inputs]
    result = getattr(ufunc, method)(*operands, **kwargs)
    if method == "at" and isinstance(inputs[0], kind):  # writes into its first operand, here into a copy of it
        inputs[0][...] = operands[0]
    if targets:
        for target, values in zip(out, plain, strict=True):
            if isinstance(target, _dist.DNDarray):
                target[...] = values
        return targets[0] if len(targets) == 1 else tuple(targets)
    if result is None or result is NotImplemented:
        return result
    return tuple(back(r) for r in result) if isinstance(result, tuple) else back(result)


def array_ufunc(self: _core.Array, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
    """What ``np.add(x, y)`` and ``ndarray + x`` call; the result is a tessera array unless out= says else."""
    if any(isinstance(x, _dist.DNDarray) for x in inputs):
        return NotImplemented
    return _call(_core, _core.asarray, ufunc, method, inputs, kwargs)


def _ours(func: Any, ts: Any) -> Any:
    """Our function of NumPy's name; a few names mean something else here."""
    if func.__name__ in _OTHERS:
        return None
    if func.__name__ == "trace":  # of an array: ts.trace is the record of what ran
        return ts._api.trace if func.__module__ == "numpy" else ts.linalg.trace
    home: Any = {"numpy": ts, "numpy.fft": ts.fft, "numpy.linalg": ts.linalg}.get(func.__module__)
    ours = getattr(home, func.__name__, None)
    return ours if callable(ours) else None


def array_function(self: _core.Array, func: Any, types: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """What ``np.sort(x)`` and its like call: our function of that name, else NumPy's on the same memory."""
    import tessera

    if any(issubclass(t, _dist.DNDarray) for t in types):
        return NotImplemented
    name = func.__name__
    if name in _FACTS and isinstance(args[0] if args else None, _core.Array):
        return _FACTS[name](*args, **kwargs)
    ours = None if name in _TYPES else _ours(func, tessera)
    if ours is not None:
        try:
            return ours(*args, **kwargs)
        except NotImplementedError:
            pass
        except (TypeError, ValueError) as error:  # arguments that only NumPy's function takes
            if not _refused(error):
                raise
    return func(*_gathered(args), **{key: _gathered(value) for key, value in kwargs.items()})


def _of_version(module: Any, version: str | None) -> Any:
    known = ("2021.12", "2022.12", "2023.12", "2024.12")
    if version is not None and version not in known:
        raise ValueError(f"__array_namespace__: expected an api_version of {', '.join(known)}, got {version!r}")
    return module


def array_namespace(self: _core.Array, *, api_version: str | None = None) -> Any:
    """The module whose functions take local arrays, for code that is written for the array API."""
    import tessera

    return _of_version(tessera, api_version)


def dist_ufunc(self: _dist.DNDarray, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
    """The same for distributed arrays; what we do not have is computed by every rank from the gathered array."""
    return _call(_dist, _dist.array, ufunc, method, inputs, kwargs)


def _gathered(x: Any) -> Any:
    if isinstance(x, (list, tuple)):
        return type(x)(_gathered(y) for y in x) if type(x) in (list, tuple) else x
    return _plain(x)


def _empty(x: Any) -> Any:
    """An array of NumPy without elements, of the same dtype."""
    import numpy as np

    return np.empty(0, x.dtype.name) if isinstance(x, _dist.DNDarray) else x


def _refused(error: Exception) -> bool:
    """The call did not take its arguments, and nothing has happened yet."""
    return getattr(error, "arguments_refused", False) or any(text in str(error) for text in _REFUSALS)


def dist_function(self: _dist.DNDarray, func: Any, types: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """What ``np.sort(x)`` and its like call: our function of that name, else NumPy's on the gathered array."""
    from . import dist

    name = func.__name__
    if name in _FACTS:
        return _FACTS[name](*args, **kwargs)
    if name in _TYPES:
        return func(*(_empty(x) for x in args), **kwargs)
    home: Any = {"numpy": dist, "numpy.fft": dist.fft, "numpy.linalg": dist.linalg}.get(func.__module__)
    ours: Any = getattr(home, name, None)
    if name in _WRITERS:
        return ours(*args, **kwargs) if isinstance(args[0], _dist.DNDarray) else NotImplemented
    if callable(ours):
        try:
            return ours(*args, **kwargs)
        except NotImplementedError:
            pass
        except (TypeError, ValueError) as error:  # arguments that only NumPy's function takes: nothing has happened yet
            if not _refused(error):
                raise
    return func(*_gathered(args), **{key: _gathered(value) for key, value in kwargs.items()})


def dist_namespace(self: _dist.DNDarray, *, api_version: str | None = None) -> Any:
    """The module whose functions take distributed arrays, for code that is written for the array API."""
    from . import dist

    return _of_version(dist, api_version)
