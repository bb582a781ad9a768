# SPDX-License-Identifier: Apache-2.0
"""Arguments of public functions are what their annotations say: otherwise a sentence names the function, the argument,
what was given and what was expected, before the function begins.

>>> from tessera._checked import checked
>>> def radial(spokes: int, turn: float = 0.0): ...
>>> checked(radial)("many")
Traceback (most recent call last):
tessera.ArgumentError: radial: spokes is 'many'; expected a whole number
"""

from __future__ import annotations

import collections.abc
import functools
import inspect
import numbers
import operator
import sys
import types
import typing
from collections.abc import Callable, Iterable
from typing import Annotated, Any, NamedTuple

from . import _tessera as _core

Numbers = Annotated[Any, "numbers"]
"""An array with an axis at least, or what one is made of, of numbers."""

Operand = Annotated[Any, "operand"]
"""An array, on disk or in memory, or a number: not None."""

_MOST = 64  # of a sequence of sizes or axes: no array has more
_Union = (typing.Union, types.UnionType)


class Kind(NamedTuple):
    """Whether a value is of a kind, the words for that kind, what is raised where it is of another, and what the
    function is given in its place."""

    holds: Callable[[Any], bool]
    words: str
    error: type[Exception] = _core.ArgumentError
    made: Callable[[Any], Any] | None = None


def _is_whole(x: Any) -> bool:
    try:
        return -(2**63) <= operator.index(x) < 2**63
    except TypeError:
        return False


def _kind_letter(x: Any) -> str:
    """Of the dtype of an array without axes, of NumPy or of ours."""
    return getattr(getattr(x, "dtype", None), "kind", "") if getattr(x, "shape", None) == () else ""


def _is_number(x: Any) -> bool:
    if isinstance(x, int):
        return _is_whole(x)  # no double is that exact beyond
    return isinstance(x, numbers.Real) or _kind_letter(x) in tuple("iuf")


def _is_flag(x: Any) -> bool:
    return _kind_letter(x) == "b" or (isinstance(x, int) and x in (0, 1))


def _are_numbers(x: Any) -> bool:
    """Of lists and the like an array is made; what is one already, on whatever device, is not looked at."""
    if isinstance(x, str | bytes | bytearray | memoryview | dict | set | type) or not hasattr(x, "__len__"):
        return False
    if not hasattr(x, "dtype"):
        if isinstance(x, collections.abc.Sized) and not isinstance(x, list | tuple) and len(x) > 2**32:
            return False
        import numpy

        try:
            x = numpy.asarray(x)
        except (TypeError, ValueError, OverflowError, RecursionError):
            return False
    kind = getattr(x.dtype, "kind", None)
    if getattr(x, "shape", None) == ():
        return False
    return kind is None or kind in tuple("biufc")  # those of other libraries have names of their own


def _are(one: Kind, most: int) -> Callable[[Any], bool]:
    def holds(x: Any) -> bool:
        if isinstance(x, str | bytes | collections.abc.Mapping | collections.abc.Set) or not hasattr(x, "__len__"):
            return False
        try:
            return len(x) <= most and all(one.holds(part) for part in x)
        except TypeError:  # an array without axes
            return False

    return holds


_NAMES = {"PathLike": "a path", "Array": "an array", "NamedLinop": "an operator", "StoredArray": "an array on disk"}
WHOLE = Kind(_is_whole, "a whole number", made=operator.index)  # NumPy's have not all that those of Python have
NUMBER = Kind(_is_number, "a number")
_NAMED = {
    "numbers": Kind(_are_numbers, "an array of numbers"),
    "operand": Kind(lambda x: x is not None, "an array or a number"),
}
_PLAIN = {
    int: WHOLE,
    float: NUMBER,
    bool: Kind(_is_flag, "True or False"),
    str: Kind(lambda x: isinstance(x, str), "text"),
    types.NoneType: Kind(lambda x: x is None, "None"),
}


def kind_of(annotation: Any) -> Kind | None:
    """What an annotation asks for; None where that is anything."""
    if annotation in _PLAIN:
        return _PLAIN[annotation]
    if annotation is None:
        return _PLAIN[types.NoneType]
    origin, parts = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is Annotated:
        return _NAMED.get(parts[-1])
    if origin in _Union:
        return _one_of([kind_of(part) for part in parts])
    if origin in (collections.abc.Sequence, collections.abc.Iterable):
        one = kind_of(parts[0])
        return one and Kind(_are(one, _MOST if one is WHOLE else 2**24), f"a list, of each element {one.words}")
    if origin is collections.abc.Callable:
        return Kind(callable, "a function")
    kind = origin or annotation
    if not isinstance(kind, type) or kind in (Any, object):
        return None
    if kind.__name__ == "ndarray":
        return _NAMED["numbers"]
    return Kind(lambda x: isinstance(x, kind), _NAMES.get(kind.__name__, f"a {kind.__name__}"), _core.DTypeError)


def _one_of(kinds: list[Kind | None]) -> Kind | None:
    known = [kind for kind in kinds if kind is not None]
    if len(known) < len(kinds):
        return None
    words = [kind.words for kind in known if kind.words != "None"]
    words = ["a path"] if words == ["text", "a path"] else words
    told = words if len(words) == len(known) else [*words, "None"]
    errors = {kind.error for kind in known if kind.words != "None"}
    error = errors.pop() if len(errors) == 1 else _core.ArgumentError
    made = (lambda x: x if x is None else operator.index(x)) if words == [WHOLE.words] else None
    return Kind(lambda x: any(kind.holds(x) for kind in known), " or ".join(told), error, made)


def shown(x: Any, parts: int = 4) -> str:
    """A value in few words; of what is not Python's own, its type."""
    if x is None or isinstance(x, bool | int | float | complex | str | bytes):
        text = ascii(x) if isinstance(x, str) and not x.isprintable() else repr(x)
        return text if len(text) <= 60 else f"{text[:56]}..."
    if isinstance(x, type):
        return f"the type {x.__name__}"
    if type(x) in (tuple, list) and parts:
        text = ", ".join([shown(part, 0) for part in x[:parts]] + ["..."] * (len(x) > parts))
        return f"[{text}]" if isinstance(x, list) else f"({text},)" if len(x) == 1 else f"({text})"
    shape, dtype = getattr(x, "shape", None), getattr(x, "dtype", None)
    described = f" of {dtype}, shape {tuple(shape)}" if isinstance(shape, tuple) and dtype is not None else ""
    return f"a {type(x).__name__}{described}"


def _kinds_of(function: Callable[..., Any], signature: inspect.Signature) -> dict[str, Kind]:
    """Of the parameters that ask for something; None is always right where it is the default."""
    found = {}
    space = vars(sys.modules[function.__module__]) if function.__module__ in sys.modules else {}
    for name, parameter in signature.parameters.items():
        annotation = parameter.annotation
        if isinstance(annotation, str):
            try:
                annotation = eval(annotation, dict(space))
            except NameError:  # a name that only type checkers see
                continue
        kind = None if annotation is parameter.empty else kind_of(annotation)
        if kind is not None and parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            found[name] = kind if parameter.default is not None or kind.holds(None) else _one_of([kind, kind_of(None)])
    return {name: kind for name, kind in found.items() if kind is not None}


def checked(function: Callable[..., Any], who: str | None = None) -> Callable[..., Any]:
    """The function, whose arguments are looked at before it is called; itself where its annotations ask for nothing."""
    signature = inspect.signature(function)
    kinds, told = _kinds_of(function, signature), who or function.__name__
    if not kinds:
        return function

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError:  # Python says it by the name of the function
            return function(*args, **kwargs)
        given = bound.arguments
        for name in given.keys() & kinds.keys():
            kind, value = kinds[name], given[name]
            if not kind.holds(value):
                raise kind.error(f"{told}: {name} is {shown(value)}; expected {kind.words}")
            if kind.made:
                given[name] = kind.made(value)
        return function(*bound.args, **bound.kwargs)

    call._is_checked = True  # type: ignore[attr-defined]
    return call


def check_arguments(module: dict[str, Any], names: Iterable[str], prefix: str = "") -> None:
    """Has the calls of functions, constructors and methods of these names of a module looked at; sentences begin with
    the prefix."""
    for name in names:
        value = module[name]
        if inspect.isfunction(value) and not hasattr(value, "_is_checked"):
            module[name] = made = checked(value, prefix + name)
            home = sys.modules[value.__module__]
            if getattr(home, name, None) is value:
                setattr(home, name, made)  # where pickles look for it
        elif inspect.isclass(value) and value.__module__.startswith("tessera"):
            for key, member in list(vars(value).items()):
                if inspect.isfunction(member) and (key == "__init__" or not key.startswith("_")):
                    setattr(value, key, checked(member, prefix + (name if key == "__init__" else f"{name}.{key}")))
