# SPDX-License-Identifier: Apache-2.0
"""How a call of Heat becomes one of ours, and the dtype that its result has there."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from ... import dist as _dist
from ..._checked import shown
from ._array import DNDarray, ours, theirs

_SINGLE = {"float64": "float32", "complex128": "complex64"}


def arrays_in(values: Any) -> list[DNDarray]:
    """The arrays among arguments."""
    found: list[DNDarray] = []
    for value in values:
        if isinstance(value, DNDarray):
            found.append(value)
        elif isinstance(value, (list, tuple)):
            found += arrays_in(value)
    return found


def narrowed(result: Any, inputs: list[DNDarray], wide_integers: bool = True) -> Any:
    """Results in the precision that they have there: double where an array that went in was double or, but for
    divisions and numbers of Python, int64; sums of unsigned numbers are int64."""
    if isinstance(result, (list, tuple)):
        made = [narrowed(each, inputs, wide_integers) for each in result]
        return type(result)(*made) if hasattr(result, "_fields") else type(result)(made)
    if not isinstance(result, _dist.DNDarray):
        return result
    kinds = [each.dtype.__name__ for each in inputs]
    name = str(result.dtype)
    if name in ("uint16", "uint32", "uint64"):
        return result.astype("int64")
    wide = ("float64", "complex128", "int64") if wide_integers else ("float64", "complex128")
    if name in _SINGLE and not any(kind in wide for kind in kinds):
        return result.astype(_SINGLE[name])
    return result


def into(out: DNDarray | None, result: Any) -> Any:
    """The result, written into an array that was given for it."""
    if out is None:
        return result
    if not isinstance(out, DNDarray):
        raise TypeError(f"ht: out is {shown(out)}; expected a DNDarray or None")
    if out.shape != result.shape:
        raise ValueError(f"ht: out has shape {out.shape}, the result {result.shape}")
    out[...] = result
    return out


def into_where(name: str, out: DNDarray | None, where: Any, result: Any) -> Any:
    """The same, only where a condition holds."""
    if where is True:
        return into(out, result)
    if out is None:
        raise ValueError(f"ht.{name}: where= leaves elements of out as they are, so out is needed")
    return into(out, call(_dist.where, where, result, out))


def call(function: Callable[..., Any], *args: Any, wide_integers: bool = True, **kwargs: Any) -> Any:
    """One of our functions over Heat's arrays."""
    result = function(*(ours(a) for a in args), **{key: ours(value) for key, value in kwargs.items()})
    return theirs(narrowed(result, arrays_in((*args, *kwargs.values())), wide_integers))


def described(function: Callable[..., Any], name: str, text: str | None) -> Callable[..., Any]:
    """A function that was made from one of ours, under its name and with its description."""
    function.__name__ = function.__qualname__ = name
    function.__doc__ = text
    return function


def rounding(x: DNDarray) -> DNDarray:
    """Whole numbers as those that round, which is what most functions make of them there before they begin."""
    kind = x.dtype.__name__
    if kind[0] in "fc":
        return x
    return x.astype("float64" if kind == "int64" else "float32")


_EXACT = frozenset(
    "abs absolute bitwise_not conj conjugate fabs imag invert logical_not neg negative pos positive real".split()
)


def unary(name: str, ours_name: str | None = None) -> Callable[..., Any]:
    """f(x, out=None) of one of our element-wise functions."""
    compute = getattr(_dist, ours_name or name)

    def function(x: Any, out: DNDarray | None = None) -> Any:
        return into(out, call(compute, _array(x) if name in _EXACT else rounding(_array(x))))

    return described(function, name, compute.__doc__)


def binary(name: str, ours_name: str | None = None) -> Callable[..., Any]:
    """f(t1, t2, out=None, where=True) of one of our element-wise functions of two arrays."""
    compute = getattr(_dist, ours_name or name)
    divides = (ours_name or name) in ("divide", "true_divide")

    def function(t1: Any, t2: Any, /, out: DNDarray | None = None, *, where: Any = True) -> Any:
        t1, t2 = operands(t1, t2)
        if name in ("arctan2", "atan2", "copysign", "hypot", "logaddexp"):
            t1, t2 = (rounding(t) if isinstance(t, DNDarray) else t for t in (t1, t2))
        inputs = arrays_in((t1, t2))
        if not inputs:
            t1 = _array(t1)
            inputs = [t1]
        numbers = [t for t in (t1, t2) if isinstance(t, (bool, int, float, complex)) and not hasattr(t, "dtype")]
        result = compute(ours(t1), ours(t2))
        if str(result.dtype) == "int64" and [each.dtype.__name__ for each in inputs] == ["bool"] and numbers:
            result = result.astype("int32")
        made = theirs(narrowed(result, inputs, wide_integers=not (divides or numbers)))
        return into_where(name, out, where, made)

    return described(function, name, compute.__doc__)


def reduction(name: str, *, keepdims: bool = True) -> Callable[..., Any]:
    """f(x, axis=None, out=None, keepdims=None) of one of our reductions."""
    compute = getattr(_dist, name)

    def function(x: Any, axis: Any = None, out: DNDarray | None = None, keepdims: bool | None = None) -> Any:
        return into(out, call(compute, _array(x), axis=axis, keepdims=bool(keepdims)))

    return described(function, name, compute.__doc__)


def same(name: str, ours_name: str | None = None, copies: bool = False) -> Callable[..., Any]:
    """A function that takes there what it takes here; with ``copies`` it gives memory of its own, as there."""
    compute = getattr(_dist, ours_name or name)

    def function(*args: Any, **kwargs: Any) -> Any:
        made = call(compute, *args, **kwargs)
        return DNDarray(made.dist.copy()) if copies else made

    with contextlib.suppress(ValueError):  # of functions that C++ has, which say it in their text
        known = inspect.signature(compute)
        bare = [p.replace(annotation=p.empty) for p in known.parameters.values()]  # whose words mean other arrays
        function.__signature__ = known.replace(parameters=bare)  # type: ignore[attr-defined]
    return described(function, name, compute.__doc__)


def operands(*given: Any) -> list[Any]:
    """Arrays, and numbers of Python, which adapt themselves to the other's dtype. So do numbers of NumPy, as there, but
    for those that round beside arrays that do not, and complex ones beside real arrays: they bring their own."""
    kept = [x if isinstance(x, (DNDarray, bool, int, float, complex, np.generic)) else _array(x) for x in given]
    kinds = [x.dist.dtype.kind for x in kept if isinstance(x, DNDarray)]
    adapt = "biuf" + "c" * ("c" in kinds) if {"f", "c"} & {*kinds} else "biu"
    return [x if not isinstance(x, np.generic) else x.item() if x.dtype.kind in adapt else _array(x) for x in kept]


def _array(x: Any) -> DNDarray:
    from ._factories import asarray

    return x if isinstance(x, DNDarray) else asarray(x)
