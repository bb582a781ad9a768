# SPDX-License-Identifier: Apache-2.0
"""What functions that are written once for all kinds of arrays stand on: ``ts`` and ``ts.dist``."""

from __future__ import annotations

import operator
from importlib import import_module
from typing import Any, Generic, TypeVar

from ._tessera import result_type

T = TypeVar("T")


def known_axis(axis: Any, ndim: int) -> int:
    """An axis counted from the front; NumPy's error (an IndexError and a ValueError) where there is none."""
    at = operator.index(axis)
    if not -ndim <= at < ndim:
        from ._tessera import AxisError

        raise AxisError(f"axis {at} is out of bounds for array of dimension {ndim}")
    return at % ndim


def refusal(text: str) -> TypeError:
    """An error that says: these arguments are not for us. NumPy's protocols go on to NumPy's own function then."""
    error = TypeError(text)
    vars(error)["arguments_refused"] = True
    return error


def common_dtype(*values: Any) -> Any:
    """The dtype of arrays and Python's numbers together; those have a kind and no width, as in NumPy."""
    dtypes = [v.dtype for v in values if hasattr(v, "dtype")]
    numbers = "".join("bifc"[(bool, int, float, complex).index(type(v))] for v in values if not hasattr(v, "dtype"))
    found = result_type(*dtypes) if dtypes else None
    for kind, wide in (("i", "int64"), ("f", "float64"), ("c", "complex128")):
        if kind not in numbers:
            continue
        if found is None or "buifc".index(found.kind) < "buifc".index(kind) and found.kind not in "uif":
            found = result_type(wide)
        elif kind == "f" and found.kind in "ui":
            found = result_type("float64")
        elif kind == "c" and found.kind in "uif":
            found = result_type(found, "complex64") if found.kind == "f" else result_type("complex128")
    return result_type("bool") if found is None else found


def shared(module: str, name: str) -> Any:
    """That of the objects that :func:`tessera._shared.share` was given for a module."""
    return import_module(module)._parts_shared[name]


def remade(cls: type[Any], home: str, state: dict[str, Any]) -> Any:
    """An object of a class whose functions are methods, from its pickle."""
    made: Any = object.__new__(cls)
    module = import_module(home)
    vars(made).update(state, _home=module, _host=getattr(module, "_host", None))
    return made


class Shareable:
    """Whose methods a module may have as functions. A pickle of one names that module, so that another process uses
    its own (and its own generator of random numbers); one that no module has goes along with what it holds."""

    _home: Any
    _shared_in: tuple[str, str] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        if self._shared_in is not None:
            return shared, self._shared_in
        state = {name: value for name, value in vars(self).items() if name not in ("_home", "_host")}
        return remade, (type(self), self._home.__name__, state)


class Functions(Shareable, Generic[T]):
    """The functions of arrays of the class ``kind``; the module ``home`` has the others that they need, and perhaps as
    ``_host`` those that the core has whole."""

    def __init__(self, home: Any, kind: type[T]) -> None:
        self._home = home
        self._host: Any = getattr(home, "_host", None)
        self._kind = kind

    def _array(self, x: Any) -> Any:
        return x if isinstance(x, self._kind) else self._home.array(x)

    def _near(self, v: Any, x: Any) -> Any:
        """``v`` as an array on the device, and of the ranks, of the array ``x``."""
        if isinstance(v, self._kind):
            return v
        ranks = {"comm": x.comm} if hasattr(x, "comm") else {}
        return self._home.array(v, device=x.device, **ranks)

    def _written(self, v: Any, x: Any) -> Any:
        """``v`` beside the array ``x`` and of its dtype: numbers of Python that it cannot hold are refused, as where
        they are assigned."""
        kind: Any = self._kind
        if isinstance(v, kind):
            return v.astype(x.dtype)
        ranks = {"comm": x.comm} if hasattr(x, "comm") else {}
        return self._home.array(v, dtype=x.dtype, device=x.device, **ranks)

    def _arrays(self, *values: Any) -> list[Any]:
        """All as arrays: what is none yet beside the first that is one."""
        first = next((v for v in values if isinstance(v, self._kind)), None)
        return [self._array(v) if first is None else self._near(v, first) for v in values]

    def _into(self, result: Any, out: Any, who: str) -> Any:
        """The result, written into ``out`` where there is one."""
        if out is None:
            return result
        kind: Any = self._kind
        if not isinstance(out, kind):
            raise refusal(f"{who}: return arrays must be of {kind.__name__}, got {type(out).__name__}")
        if out.shape != result.shape:
            raise ValueError(f"{who}: output array has shape {out.shape}, expected {result.shape}")
        out[...] = result
        return out
